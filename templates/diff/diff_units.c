/*
 * diff_units.c - a prompt as lines or tokens, each with what it shows.
 */
#include <string.h>

#include "templates/diff/diff_steps.h"

static cf_status too_many(cf_error *err, const char *what)
{
    return cf_fail(err, CF_ELIMIT, "more than %d %s to compare", (int)CF_DIFF_MAX_UNITS, what);
}

static bool is_from_outside(const cf_prompt_span *s)
{
    return s->source == CF_SPAN_MESSAGE || s->source == CF_SPAN_TOOL;
}

/* Fills in where units come from.  Units are in order, and so are spans; a
 * span may reach over several units and the other way round. */
static void add_sources(cf_diff_unit *v, uint32_t n, const cf_prompt *p)
{
    for (uint32_t i = 0; i < n; i++) {
        cf_diff_unit *u = &v[i];
        uint32_t end = u->off + u->len + (u->has_newline ? 1 : 0), best = 0;
        const cf_prompt_span *s = cf_prompt_span_at(p, u->off);
        u->template_line = s != NULL && u->off < end ? s->line : 0;
        u->cause = s != NULL && u->off < end ? s->cause : NULL;
        for (; s != NULL && s < p->spans + p->n_spans && s->off < end; s++) {
            uint32_t from = s->off > u->off ? s->off : u->off;
            uint32_t to = s->off + s->len < end ? s->off + s->len : end;
            if (is_from_outside(s) && to > from && to - from > best) {
                best = to - from;
                u->source = s->source;
                u->index = s->index;
            }
        }
    }
}

cf_status cf_diff__lines(cf_diff_side *out, cf_str text, const cf_prompt *prompt, cf_arena *arena,
                         cf_error *err)
{
    if (text.n > INT32_MAX) {
        return cf_fail(err, CF_ELIMIT, "a text of 2 GiB or more");
    }
    uint32_t n = 0;
    for (size_t i = 0; i < text.n; i++) {
        n += text.p[i] == '\n';
    }
    n += text.n > 0 && text.p[text.n - 1] != '\n';
    if (n > CF_DIFF_MAX_UNITS) {
        return too_many(err, "lines");
    }
    cf_diff_unit *v = cf_arena_calloc(arena, n, sizeof *v);
    if (v == NULL) {
        return cf_oom_for(err, "lines");
    }
    size_t at = 0;
    for (uint32_t i = 0; i < n; i++) {
        const char *end = memchr(text.p + at, '\n', text.n - at);
        size_t len = end != NULL ? (size_t)(end - text.p) - at : text.n - at;
        v[i] = (cf_diff_unit){.off = (uint32_t)at,
                              .len = (uint32_t)len,
                              .id = CF_TOKEN_NONE,
                              .has_newline = end != NULL};
        at += len + 1;
    }
    if (prompt != NULL) {
        add_sources(v, n, prompt);
    }
    *out = (cf_diff_side){cf_str_make(text.p != NULL ? text.p : "", text.n), v, n};
    return CF_OK;
}

cf_status cf_diff__tokens(cf_diff_side *out, const cf_prompt *prompt, const cf_token_list *tokens,
                          cf_arena *arena, cf_error *err)
{
    cf_str text = prompt->text;
    if (tokens->n > CF_DIFF_MAX_UNITS) {
        return too_many(err, "tokens");
    }
    cf_diff_unit *v = cf_arena_calloc(arena, tokens->n, sizeof *v);
    if (v == NULL) {
        return cf_oom_for(err, "tokens");
    }
    for (size_t i = 0; i < tokens->n; i++) {
        const cf_token_span *t = &tokens->v[i];
        CF_ASSERT(t->off <= text.n && t->len <= text.n - t->off);
        v[i] = (cf_diff_unit){.off = t->off, .len = t->len, .id = t->id};
    }
    add_sources(v, (uint32_t)tokens->n, prompt);
    *out =
        (cf_diff_side){cf_str_make(text.p != NULL ? text.p : "", text.n), v, (uint32_t)tokens->n};
    return CF_OK;
}
