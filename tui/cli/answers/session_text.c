/*
 * session_text.c - an agent's session for a person and for scripts.
 */
#include "tui/cli/answers/session_text.h"

#include "core/json/json_writer.h"

/* ---- the table ----------------------------------------------------------- */

static void put_head(cf_buf *out, const cf_trail *t)
{
    cf_buf_adds(out, t->format);
    cf_buf_adds(out, " ");
    cf_session_text_line(out, t->id, 80);
    cf_buf_adds(out, t->folder.n != 0 ? " in " : "");
    cf_session_text_line(out, t->folder, 200);
    cf_buf_addc(out, '\n');
    cf_session_text_line(out, cf_trail_name(t), 100);
    cf_buf_adds(out, "\n\n");
}

static void put_groups(cf_buf *out, const cf_trail_steps *s, bool has_cost)
{
    cf_session_sum(out, "sum", 0, &s->sum, has_cost);
    cf_buf_addc(out, '\n');
    for (size_t i = 0; s->n_agents > 1 && i < s->n_agents; i++) {
        cf_session_sum(out, "", 0, &s->agents[i].sum, has_cost);
        cf_session_full(out, -1, false);
        cf_session_text_line(out, i == 0 ? cf_str_from("main agent") : s->agents[i].title, 60);
        cf_buf_addc(out, '\n');
    }
    for (size_t i = 0; i < s->n_tools; i++) {
        cf_buf_adds(out, i == 0 ? "\ntools: " : ", ");
        cf_session_text_line(out, s->tools[i].name, 60);
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
        cf_buf_adds(out, i == 0 ? "\n" : "");
        cf_session_finding(out, f);
        cf_buf_addc(out, '\n');
        for (size_t k = 1; k < f->n_lost; k++) {
            cf_buf_adds(out, "    also: ");
            cf_session_text_line(out, f->lost[k], 160);
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
        cf_session_text_line(out, x->file, 80);
        cf_buf_addf(out, "%sline %llu: ", x->file.n != 0 ? ", " : "", (unsigned long long)x->line);
        cf_session_text_line(out, x->why, x->why.n);
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
    cf_session_head(out, has_cost);
    cf_buf_addc(out, '\n');
    for (size_t i = 0; i < steps->n_rows; i++) {
        const cf_trail_row *row = &steps->rows[i];
        cf_session_row(out, t, row, row->agent != 0, has_cost);
        if (row->agent != 0) {
            cf_buf_adds(out, "  of ");
            cf_session_text_line(out, steps->agents[row->agent].title, 30);
        }
        cf_buf_addc(out, '\n');
    }
    put_groups(out, steps, has_cost);
    put_findings(out, found);
    put_left_out(out, t);
}

/* ---- difference ---------------------------------------------------------- */

void cf_session_diff_text(cf_buf *out, const cf_session_change *c)
{
    for (size_t i = 0; i < c->diff.n; i++) {
        if (c->diff.v[i].change != CF_TRAIL_SAME) {
            cf_session_change_line(out, c, i);
            cf_buf_addc(out, '\n');
        }
    }
    cf_buf_addf(out, "%zu messages are in both\n", c->n_same);
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

static void begin(cf_jw *w, cf_buf *out, const char *event)
{
    cf_jw_init(w, out);
    cf_jw_object(w, NULL);
    cf_jw_text(w, "event", event);
}

static void end(cf_jw *w, cf_buf *out)
{
    cf_jw_end(w);
    cf_buf_addc(out, '\n');
}

void cf_session_diff_json(cf_buf *out, const cf_session_change *c)
{
    cf_jw w;
    for (size_t i = 0; i < c->diff.n; i++) {
        const cf_trail_diff_row *row = &c->diff.v[i];
        if (row->change == CF_TRAIL_SAME) {
            continue;
        }
        begin(&w, out, "change");
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
        cf_jw_uint(&w, "bytes", cf_trail_item_text(cf_session_change_item(row)).n);
        if (c->marks[i].tokens >= 0) {
            cf_jw_int(&w, "tokens", c->marks[i].tokens);
        }
        if (c->marks[i].line != 0) {
            cf_jw_uint(&w, "template_line", c->marks[i].line);
        }
        end(&w, out);
    }
    begin(&w, out, "end");
    cf_jw_uint(&w, "same", c->n_same);
    end(&w, out);
}
