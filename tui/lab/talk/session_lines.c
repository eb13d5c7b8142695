/*
 * session_lines.c - the columns of a session, and its contexts as a template
 * writes them.
 */
#include "tui/lab/talk/session_lines.h"

#include <stdio.h>
#include <string.h>

#include "core/api/backend.h"
#include "core/base/os.h"
#include "core/base/safe_text.h"
#include "core/json/json_builder.h"
#include "storage/exchange.h"
#include "templates/chat_template.h"
#include "tui/sys/paths.h"

void cf_session_text_line(cf_buf *out, cf_str text, size_t max)
{
    cf_safe_line(out, text.p, text.n < max ? text.n : max);
}

cf_status cf_session_prices(cf_trail_prices *out, const char *path, cf_error *err)
{
    cf_buf own = CF_BUF_INIT;
    cf_paths paths = {.config = NULL};
    *out = (cf_trail_prices){.n = 0};
    cf_status st = path != NULL ? CF_OK : cf_paths_find(&paths, err);
    st = st == CF_ENOMEM ? st : CF_OK; /* without a home there is no such file */
    if (st == CF_OK && path == NULL && paths.config != NULL) {
        const char *end = strrchr(paths.config, '/');
        cf_buf_add(&own, paths.config, end != NULL ? (size_t)(end - paths.config) : 0);
        cf_buf_adds(&own, "/session-prices.json");
        st = cf_buf_check(&own, err);
        path = cf_os_is_readable(cf_buf_cstr(&own)) ? cf_buf_cstr(&own) : NULL;
    }
    if (st == CF_OK && path != NULL) {
        st = cf_trail_prices_read(out, path, err);
    }
    cf_paths_deinit(&paths);
    cf_buf_deinit(&own);
    return st;
}

void cf_session_head(cf_buf *out, bool has_cost)
{
    cf_buf_addf(out, "step       input   cached  written  output thought   secs%s full   calls",
                has_cost ? "      cost" : "");
}

static void put_number(cf_buf *out, int width, int64_t n)
{
    if (n == 0) {
        cf_buf_addf(out, " %*s", width, "-");
    } else {
        cf_buf_addf(out, " %*lld", width, (long long)n);
    }
}

void cf_session_sum(cf_buf *out, const char *label, int depth, const cf_trail_sum *s, bool has_cost)
{
    depth = depth < 5 ? depth : 5;
    cf_buf_addf(out, "%*s%-*.*s", depth, "", 7 - depth, 7 - depth, label);
    put_number(out, 8, s->used.input);
    put_number(out, 8, s->used.cache_read);
    put_number(out, 8, s->used.cache_creation);
    put_number(out, 7, s->used.output);
    put_number(out, 7, s->used.reasoning);
    cf_buf_addf(out, " %6.1f", (double)s->ms / 1000);
    if (has_cost) {
        cf_buf_addf(out, " %9.4f", s->cost);
    }
}

void cf_session_full(cf_buf *out, int percent, bool is_marked)
{
    if (percent >= 0) {
        cf_buf_addf(out, " %3d%%", percent);
    } else {
        cf_buf_adds(out, "     ");
    }
    cf_buf_adds(out, is_marked ? " ! " : "   ");
}

void cf_session_row(cf_buf *out, const cf_trail *t, const cf_trail_row *row, int depth,
                    bool has_cost)
{
    enum { CALLS_SHOWN = 8 };
    const cf_trail_event *e = &t->events[row->at];
    const cf_trail_message *m = e->as.step->message;
    char label[24];
    int64_t full = row->window != 0 ? cf_trail_prompt(&row->sum.used) * 100 / row->window : -1;
    snprintf(label, sizeof label, "%zu%s", e->as.step->n, e->is_branch ? "~" : "");
    cf_session_sum(out, label, depth, &row->sum, has_cost);
    cf_session_full(out, full > 999 ? 999 : (int)full, row->n_findings != 0);
    for (size_t i = 0; m != NULL && i < m->n_calls && i < CALLS_SHOWN; i++) {
        cf_buf_adds(out, i == 0 ? "" : ", ");
        cf_session_text_line(out, m->calls[i].name, 40);
    }
    cf_buf_adds(out, m != NULL && m->n_calls > CALLS_SHOWN ? ", .." : "");
    if (row->sum.n_failed != 0) {
        cf_buf_addf(out, " (%zu failed)", row->sum.n_failed);
    }
}

void cf_session_finding(cf_buf *out, const cf_trail_finding *f)
{
    cf_session_text_line(out, cf_trail_finding_name(f), 40);
    cf_buf_adds(out, ": ");
    cf_session_text_line(out, f->text, f->text.n);
}

/* ---- contexts as a template writes them ---------------------------------- */

static json_t *context_json(const cf_trail_context *c)
{
    cf_jb b = CF_JB_INIT;
    cf_jb_object(&b, NULL);
    cf_jb_array(&b, "messages");
    for (size_t i = 0; i < c->n; i++) {
        if (c->v[i].message != NULL) {
            cf_jb_take(&b, NULL, cf_session_message(c->v[i].message));
        } else {
            cf_jb_pack(&b, NULL, "{s:s, s:o}", "role", "user", "content",
                       cf_json_str(c->v[i].summary->summary));
        }
    }
    cf_jb_end(&b);
    cf_jb_bool(&b, "add_generation_prompt", true);
    cf_jb_end(&b);
    return cf_jb_done(&b);
}

/* Gives each message its tokens and the line that writes its content, else its
 * first bytes. */
static void mark_spans(cf_session_mark *v, size_t n, const cf_prompt *p,
                       const cf_token_list *tokens)
{
    for (size_t i = p->n_spans; i-- > 0;) {
        const cf_prompt_span *s = &p->spans[i];
        if (s->source == CF_SPAN_MESSAGE && s->index < n) {
            v[s->index].line = s->line;
        }
    }
    for (size_t i = 0; i < n; i++) {
        v[i].tokens = tokens->n != 0 ? 0 : -1;
    }
    for (size_t i = 0; i < tokens->n; i++) {
        const cf_prompt_span *s = cf_prompt_span_at(p, tokens->v[i].off);
        if (s != NULL && s->source == CF_SPAN_MESSAGE && s->index < n) {
            v[s->index].tokens++;
        }
    }
}

/* Marks of a context's items, in the arena. */
static cf_status mark_context(cf_session_mark **out, const cf_trail_context *c,
                              const cf_session_how *how, const cf_template *tpl, cf_arena *a,
                              cf_error *err)
{
    cf_token_list tokens = {.n = 0};
    cf_prompt prompt;
    *out = cf_arena_calloc(a, c->n + 1, sizeof **out);
    json_t *v = tpl != NULL ? context_json(c) : NULL;
    if (*out == NULL || (tpl != NULL && v == NULL)) {
        json_decref(v);
        return cf_oom(err);
    }
    cf_status st = CF_OK;
    for (size_t i = 0; i < c->n; i++) {
        cf_str text = cf_trail_item_text(&c->v[i]);
        (*out)[i].tokens = -1;
        if (tpl == NULL && how->tokenizer != NULL && st == CF_OK) {
            st = cf_tokenizer_encode(&tokens, how->tokenizer, text, false, false, a, err);
            (*out)[i].tokens = (int64_t)tokens.n;
        }
    }
    if (tpl != NULL) {
        const cf_prompt_renderer r = cf_renderer_template(tpl);
        cf_error why;
        if (how->tokenizer != NULL) {
            st = cf_prompt_add_special(v, how->tokenizer, &why);
        }
        CF_THEN(st, r.render(r.ud, v, a, &prompt, &why));
        if (st == CF_OK && how->tokenizer != NULL) {
            st = cf_prompt_tokenise(&tokens, &prompt, cf_str_make("", 0), how->tokenizer, a, &why);
        }
        if (st == CF_OK) {
            mark_spans(*out, c->n, &prompt, &tokens);
        }
        st = st == CF_ENOMEM ? cf_oom(err) : CF_OK;
    }
    json_decref(v);
    return st;
}

static cf_status mark_all(cf_session_change *c, const cf_session_how *how, cf_error *err)
{
    cf_template *tpl = NULL;
    cf_session_mark *before = NULL, *after = NULL;
    cf_arena *a = &c->diff.arena;
    c->marks = cf_arena_calloc(a, c->diff.n + 1, sizeof *c->marks);
    cf_status st = c->marks != NULL ? CF_OK : cf_oom(err);
    if (st == CF_OK && how->template_source.n != 0) {
        st = cf_template_compile(&tpl, how->template_source, NULL, NULL, NULL, err);
    }
    CF_THEN(st, mark_context(&before, &c->before, how, tpl, a, err));
    CF_THEN(st, mark_context(&after, &c->after, how, tpl, a, err));
    for (size_t i = 0; st == CF_OK && i < c->diff.n; i++) {
        const cf_trail_diff_row *row = &c->diff.v[i];
        c->n_same += row->change == CF_TRAIL_SAME;
        c->marks[i] = (row->change == CF_TRAIL_LEFT ? before : after)[row->place];
    }
    cf_template_free(tpl);
    return st;
}

cf_status cf_session_change_make(cf_session_change *out, const cf_trail *t, size_t before,
                                 size_t after, const cf_session_how *how, cf_error *err)
{
    *out = (cf_session_change){.n_same = 0};
    cf_status st = cf_trail_context_make(&out->before, t, before, err);
    CF_THEN(st, cf_trail_context_make(&out->after, t, after, err));
    CF_THEN(st, cf_trail_diff_make(&out->diff, &out->before, &out->after, err));
    CF_THEN(st, mark_all(out, how, err));
    if (st != CF_OK) {
        cf_session_change_deinit(out);
    }
    return st;
}

void cf_session_change_deinit(cf_session_change *c)
{
    cf_trail_diff_deinit(&c->diff);
    cf_trail_context_deinit(&c->before);
    cf_trail_context_deinit(&c->after);
    *c = (cf_session_change){.n_same = 0};
}

const cf_trail_item *cf_session_change_item(const cf_trail_diff_row *row)
{
    return row->change == CF_TRAIL_LEFT ? &row->before : &row->after;
}

void cf_session_change_line(cf_buf *out, const cf_session_change *c, size_t i)
{
    static const char signs[] = " -+~";
    const cf_trail_diff_row *row = &c->diff.v[i];
    const cf_trail_item *item = cf_session_change_item(row);
    const cf_trail_message *m = item->message;
    cf_str text = cf_trail_item_text(item);
    cf_buf_addf(out, "%c %6zu  %-9s %8zu bytes", signs[row->change], m != NULL ? m->n : 0,
                m != NULL ? cf_trail_role_name(m->role) : "summary", text.n);
    if (c->marks[i].tokens >= 0) {
        cf_buf_addf(out, " %7lld tokens", (long long)c->marks[i].tokens);
    }
    if (c->marks[i].line != 0) {
        cf_buf_addf(out, "  template line %u", c->marks[i].line);
    }
    if (row->change == CF_TRAIL_CHANGED) {
        cf_buf_addf(out, "  differs from message %zu at byte %zu", row->before.message->n,
                    row->same_bytes);
    }
    cf_buf_adds(out, "  ");
    cf_session_text_line(out, text, 80);
    for (size_t k = 0; m != NULL && k < m->n_calls; k++) {
        cf_buf_adds(out, " [");
        cf_session_text_line(out, m->calls[k].name, 40);
        cf_buf_adds(out, "]");
    }
}
