/*
 * session_text.c - an agent's session for a person and for scripts.
 */
#include "tui/cli/answers/session_text.h"

#include <string.h>

#include "core/base/safe_text.h"
#include "core/json/json_writer.h"

/* ---- the table ----------------------------------------------------------- */

static void put_safe(cf_buf *out, cf_str s, size_t max)
{
    cf_safe_line(out, s.p, s.n < max ? s.n : max);
}

static void put_head(cf_buf *out, const cf_trail *t)
{
    cf_str title = cf_trail_name(t);
    cf_buf_adds(out, t->format);
    cf_buf_adds(out, " ");
    put_safe(out, t->id, 80);
    if (t->folder.n != 0) {
        cf_buf_adds(out, " in ");
        put_safe(out, t->folder, 200);
    }
    cf_buf_addc(out, '\n');
    put_safe(out, title, 100);
    cf_buf_adds(out, "\n\n");
}

static void put_sum(cf_buf *out, const cf_trail_sum *s, bool has_cost)
{
    cf_buf_addf(out, "%9lld %9lld %9lld %8lld %8lld %8.1f %4zu", (long long)s->used.input,
                (long long)s->used.cache_read, (long long)s->used.cache_creation, (long long)s->used.output,
                (long long)s->used.reasoning, (double)s->ms / 1000, s->n_calls);
    if (s->n_failed != 0) {
        cf_buf_addf(out, "/%zu", s->n_failed);
    } else {
        cf_buf_adds(out, "  ");
    }
    if (has_cost) {
        cf_buf_addf(out, " %9.4f", s->cost);
    }
}

static void put_tools(cf_buf *out, const cf_trail_message *m)
{
    for (size_t i = 0; m != NULL && i < m->n_calls && i < 3; i++) {
        cf_buf_adds(out, i == 0 ? "  " : ", ");
        put_safe(out, m->calls[i].name, 30);
    }
    if (m != NULL && m->n_calls > 3) {
        cf_buf_adds(out, ", ..");
    }
}

static void put_row(cf_buf *out, const cf_trail *t, const cf_trail_steps *s,
                    const cf_trail_row *row, bool has_cost)
{
    const cf_trail_event *e = &t->events[row->at];
    int64_t prompt = cf_trail_prompt(&row->sum.used);
    cf_buf_addf(out, "%5zu %c ", e->as.step->n, e->is_branch ? '~' : row->agent != 0 ? '+' : ' ');
    put_sum(out, &row->sum, has_cost);
    if (row->window != 0) {
        cf_buf_addf(out, " %3lld%%", (long long)(prompt * 100 / row->window));
    } else {
        cf_buf_adds(out, "     ");
    }
    cf_buf_adds(out, row->n_findings != 0 ? " !" : "  ");
    if (row->agent != 0) {
        cf_buf_adds(out, "  ");
        put_safe(out, s->agents[row->agent].title, 30);
    }
    put_tools(out, e->as.step->message);
    cf_buf_addc(out, '\n');
}

static void put_groups(cf_buf *out, const cf_trail_steps *s, bool has_cost)
{
    cf_buf_adds(out, "  sum   ");
    put_sum(out, &s->sum, has_cost);
    cf_buf_addc(out, '\n');
    for (size_t i = 0; s->n_agents > 1 && i < s->n_agents; i++) {
        cf_buf_adds(out, "        ");
        put_sum(out, &s->agents[i].sum, has_cost);
        cf_buf_adds(out, "        ");
        put_safe(out, i == 0 ? cf_str_from("main agent") : s->agents[i].title, 60);
        cf_buf_addc(out, '\n');
    }
    for (size_t i = 0; i < s->n_tools; i++) {
        cf_buf_adds(out, i == 0 ? "\ntools: " : ", ");
        put_safe(out, s->tools[i].name, 60);
        cf_buf_addf(out, " %zu", s->tools[i].sum.n_calls);
        if (s->tools[i].sum.n_failed != 0) {
            cf_buf_addf(out, " (%zu failed)", s->tools[i].sum.n_failed);
        }
    }
    cf_buf_adds(out, s->n_tools != 0 ? "\n" : "");
}

static void put_findings(cf_buf *out, const cf_trail_findings *found)
{
    for (size_t i = 0; i < found->n; i++) {
        const cf_trail_finding *f = &found->v[i];
        cf_buf_addf(out, i == 0 ? "\n%s: " : "%s: ", cf_trail_finding_name(f->kind));
        put_safe(out, f->text, f->text.n);
        cf_buf_addc(out, '\n');
        for (size_t k = 1; k < f->n_lost; k++) {
            cf_buf_adds(out, "    also: ");
            put_safe(out, f->lost[k], 160);
            cf_buf_addc(out, '\n');
        }
    }
}

static void put_left_out(cf_buf *out, const cf_trail *t)
{
    enum { SHOWN = 8 };
    for (size_t i = 0; i < t->n_left_out && i < SHOWN; i++) {
        const cf_trail_left_out *x = &t->left_out[i];
        cf_buf_adds(out, i == 0 ? "\nleft out: " : "          ");
        if (x->file.n != 0) {
            put_safe(out, x->file, 80);
            cf_buf_adds(out, ", ");
        }
        cf_buf_addf(out, "line %llu: ", (unsigned long long)x->line);
        put_safe(out, x->why, x->why.n);
        cf_buf_addc(out, '\n');
    }
    if (t->n_left_out > SHOWN) {
        cf_buf_addf(out, "          and %zu more records\n", t->n_left_out - SHOWN);
    }
}

void cf_session_text(cf_buf *out, const cf_trail *t, const cf_trail_steps *steps,
                     const cf_trail_findings *found)
{
    bool has_cost = steps->sum.cost > 0;
    put_head(out, t);
    cf_buf_addf(out, "%5s   %9s %9s %9s %8s %8s %8s %6s%s %4s\n", "step", "input", "cached",
                "written", "output", "thought", "seconds", "calls", has_cost ? "      cost" : "",
                "full");
    for (size_t i = 0; i < steps->n_rows; i++) {
        put_row(out, t, steps, &steps->rows[i], has_cost);
    }
    put_groups(out, steps, has_cost);
    put_findings(out, found);
    put_left_out(out, t);
}

/* ---- difference ---------------------------------------------------------- */

static cf_status count(int64_t *n, const cf_tokenizer *tokenizer, cf_str text, cf_error *err)
{
    cf_arena a;
    cf_token_list tokens;
    *n = -1;
    if (tokenizer == NULL) {
        return CF_OK;
    }
    cf_arena_init(&a, 0);
    cf_status st = cf_tokenizer_encode(&tokens, tokenizer, text, false, false, &a, err);
    *n = st == CF_OK ? (int64_t)tokens.n : -1;
    cf_arena_deinit(&a);
    return st;
}

static const cf_trail_item *item_of(const cf_trail_diff_row *row)
{
    return row->change == CF_TRAIL_LEFT ? &row->before : &row->after;
}

static cf_status put_change(cf_buf *out, const cf_trail_diff_row *row,
                            const cf_tokenizer *tokenizer, cf_error *err)
{
    static const char signs[] = " -+~";
    const cf_trail_item *item = item_of(row);
    cf_str text = cf_trail_item_text(item);
    int64_t n;
    CF_TRY(count(&n, tokenizer, text, err));
    cf_buf_addf(out, "%c %6zu  %-9s %8zu bytes", signs[row->change],
                item->message != NULL ? item->message->n : 0,
                item->message != NULL ? cf_trail_role_name(item->message->role) : "summary",
                text.n);
    if (n >= 0) {
        cf_buf_addf(out, " %7lld tokens", (long long)n);
    }
    if (row->change == CF_TRAIL_CHANGED) {
        cf_buf_addf(out, "  differs from message %zu at byte %zu", row->before.message->n,
                    row->same_bytes);
    }
    cf_buf_adds(out, "  ");
    put_safe(out, text, 80);
    for (size_t i = 0; item->message != NULL && i < item->message->n_calls; i++) {
        cf_buf_adds(out, " [");
        put_safe(out, item->message->calls[i].name, 40);
        cf_buf_adds(out, "]");
    }
    cf_buf_addc(out, '\n');
    return CF_OK;
}

cf_status cf_session_diff_text(cf_buf *out, const cf_trail_diff *d, const cf_tokenizer *tokenizer,
                               cf_error *err)
{
    size_t n_same = 0;
    for (size_t i = 0; i < d->n; i++) {
        if (d->v[i].change == CF_TRAIL_SAME) {
            n_same++;
        } else {
            CF_TRY(put_change(out, &d->v[i], tokenizer, err));
        }
    }
    cf_buf_addf(out, "%zu messages are in both\n", n_same);
    return CF_OK;
}

static void put_item(cf_jw *w, const char *key, const cf_trail_item *item)
{
    const cf_trail_message *m = item->message;
    cf_jw_object(w, key);
    cf_jw_uint(w, "message", m != NULL ? m->n : 0);
    cf_jw_text(w, "role", m != NULL ? cf_trail_role_name(m->role) : "summary");
    cf_jw_str(w, "text", cf_trail_item_text(item));
    cf_jw_end(w);
}

cf_status cf_session_diff_json(cf_buf *out, const cf_trail_diff *d, const cf_tokenizer *tokenizer,
                               cf_error *err)
{
    size_t n_same = 0;
    cf_jw w;
    for (size_t i = 0; i < d->n; i++) {
        const cf_trail_diff_row *row = &d->v[i];
        int64_t n;
        if (row->change == CF_TRAIL_SAME) {
            n_same++;
            continue;
        }
        CF_TRY(count(&n, tokenizer, cf_trail_item_text(item_of(row)), err));
        cf_jw_init(&w, out);
        cf_jw_object(&w, NULL);
        cf_jw_text(&w, "event", "change");
        cf_jw_text(&w, "change", cf_trail_change_name(row->change));
        if (row->change != CF_TRAIL_ENTERED) {
            put_item(&w, "before", &row->before);
        }
        if (row->change != CF_TRAIL_LEFT) {
            put_item(&w, "after", &row->after);
        }
        if (row->change == CF_TRAIL_CHANGED) {
            cf_jw_uint(&w, "same_bytes", row->same_bytes);
        }
        cf_jw_uint(&w, "bytes", cf_trail_item_text(item_of(row)).n);
        if (n >= 0) {
            cf_jw_int(&w, "tokens", n);
        }
        cf_jw_end(&w);
        cf_buf_addc(out, '\n');
    }
    cf_jw_init(&w, out);
    cf_jw_object(&w, NULL);
    cf_jw_text(&w, "event", "end");
    cf_jw_uint(&w, "same", n_same);
    cf_jw_end(&w);
    cf_buf_addc(out, '\n');
    return CF_OK;
}
