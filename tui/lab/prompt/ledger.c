/*
 * ledger.c - adds up tokens and bytes by origin.
 *
 * A row for each span and token is made first, then rows of one origin are
 * brought together by sorting.
 */
#include "tui/lab/prompt/ledger.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/safe_text.h"
#include "core/base/utf8.h"

enum { NAME_MAX_BYTES = 200, NAME_SHOWN = 60 /* bytes */ };

static const char *const kind_names[] = {"message", "tool", "template", "variable", "tokenizer"};

/* ---- origins ------------------------------------------------------------ */

/* The round of a message or tool in which a span was written, else its
 * condition; NULL: neither. */
static const cf_prompt_cause *group_of(const cf_prompt_span *s)
{
    const cf_prompt_cause *c = s->cause;
    while (c != NULL && (c->kind != CF_CAUSE_ROUND || (c->message == 0 && c->tool == 0))) {
        c = c->outer;
    }
    return c != NULL ? c : s->cause;
}

static bool is_item(const cf_prompt_span *s)
{
    return s->source == CF_SPAN_MESSAGE || s->source == CF_SPAN_TOOL;
}

static cf_ledger_row row_of_source(const cf_prompt_span *s)
{
    switch (s->source) {
    case CF_SPAN_MESSAGE:
        return (cf_ledger_row){.kind = CF_LEDGER_MESSAGE, .index = s->index};
    case CF_SPAN_TOOL:
        return (cf_ledger_row){.kind = CF_LEDGER_TOOL, .index = s->index};
    case CF_SPAN_TEMPLATE:
        return (cf_ledger_row){.kind = CF_LEDGER_TEMPLATE, .index = s->line};
    default:
        return (cf_ledger_row){.kind = CF_LEDGER_VARIABLE, .name = s->path};
    }
}

static cf_str line_of(cf_str source, uint32_t line)
{
    const char *p = source.p, *end = source.p + source.n;
    for (uint32_t i = 1; i < line && p < end; i++) {
        const char *nl = memchr(p, '\n', (size_t)(end - p));
        p = nl != NULL ? nl + 1 : end;
    }
    const char *nl = p < end ? memchr(p, '\n', (size_t)(end - p)) : NULL;
    const char *to = nl != NULL ? nl : end;
    while (p < to && (*p == ' ' || *p == '\t')) {
        p++;
    }
    return cf_str_make(p, (size_t)(to - p));
}

static cf_str tool_name(const json_t *tool)
{
    cf_str name = cf_json_get_str(json_object_get(tool, "function"), "name");
    return name.n > 0 ? name : cf_json_get_str(tool, "name");
}

/* Names a row, in the arena. */
static void name_row(cf_ledger_row *r, const json_t *messages, const json_t *tools, cf_str source,
                     cf_arena *arena)
{
    cf_str name = r->name;
    if (r->kind == CF_LEDGER_MESSAGE) {
        name = cf_json_get_str(json_array_get(messages, r->index), "role");
    } else if (r->kind == CF_LEDGER_TOOL) {
        name = tool_name(json_array_get(tools, r->index));
    } else if (r->kind == CF_LEDGER_TEMPLATE && source.n > 0) {
        name = line_of(source, r->index);
    }
    size_t n = name.n < NAME_MAX_BYTES ? name.n : NAME_MAX_BYTES;
    const char *copy = cf_arena_strndup(arena, n > 0 ? name.p : "", n);
    r->name = cf_str_make(copy, copy != NULL ? n : 0);
}

/* ---- adding up ---------------------------------------------------------- */

static int compare_origins(const void *x, const void *y)
{
    const cf_ledger_row *a = x, *b = y;
    if (a->kind != b->kind || a->index != b->index) {
        return a->kind != b->kind ? (a->kind > b->kind) - (a->kind < b->kind)
                                  : (a->index > b->index) - (a->index < b->index);
    }
    size_t n = a->name.n < b->name.n ? a->name.n : b->name.n;
    int c = n > 0 ? memcmp(a->name.p, b->name.p, n) : 0;
    return c != 0 ? c : (a->name.n > b->name.n) - (a->name.n < b->name.n);
}

/* Most tokens first; equal ones in the order of the prompt's parts. */
static int compare_sizes(const void *x, const void *y)
{
    const cf_ledger_row *a = x, *b = y;
    if (a->tokens != b->tokens) {
        return a->tokens < b->tokens ? 1 : -1;
    }
    if (a->bytes != b->bytes) {
        return a->bytes < b->bytes ? 1 : -1;
    }
    return compare_origins(x, y);
}

/* Gives span i, when it is the template's, to the last message or tool of its
 * group that was passed; *owner is that one. */
static void give_owner(cf_ledger_row *v, const cf_prompt *p, size_t i, const cf_prompt_span **owner)
{
    const cf_prompt_span *s = &p->spans[i];
    const cf_prompt_cause *group = group_of(s);
    if (is_item(s)) {
        *owner = s;
    } else if (*owner != NULL && (group == NULL || group_of(*owner) != group)) {
        *owner = NULL;
    } else if (*owner != NULL && v[i].kind == CF_LEDGER_TEMPLATE) {
        v[i] = row_of_source(*owner);
        v[i].bytes = v[i].template_bytes = s->len;
    }
}

/* A row for each span, with its bytes: the template's text belongs to the
 * message or tool after it, else before it, in its group. */
static void collect_spans(cf_ledger_row *v, const cf_prompt *p)
{
    const cf_prompt_span *owner = NULL;
    for (size_t i = 0; i < p->n_spans; i++) {
        v[i] = row_of_source(&p->spans[i]);
        v[i].bytes = p->spans[i].len;
    }
    for (size_t i = p->n_spans; i-- > 0;) {
        give_owner(v, p, i, &owner);
    }
    owner = NULL;
    for (size_t i = 0; i < p->n_spans; i++) {
        give_owner(v, p, i, &owner);
    }
}

/* The row of one token that a span wrote. */
static cf_ledger_row row_of_token(const cf_ledger_row *span)
{
    cf_ledger_row row = *span;
    row.tokens = 1;
    row.template_tokens = span->template_bytes > 0;
    row.bytes = row.template_bytes = 0;
    return row;
}

/* A row for each span with its bytes, then one for each token. */
static size_t collect(cf_ledger_row *v, const cf_prompt *prompt, const cf_token_span *tokens,
                      size_t n_tokens)
{
    size_t n = prompt->n_spans;
    collect_spans(v, prompt);
    size_t at = 0; /* the span of the token; tokens come in order */
    for (size_t i = 0; i < n_tokens; i++) {
        const cf_token_span *t = &tokens[i];
        while (at < prompt->n_spans && prompt->spans[at].off + prompt->spans[at].len <= t->off) {
            at++;
        }
        bool is_whole = t->len > 0;
        if (is_whole && at < prompt->n_spans) {
            v[n] = row_of_token(&v[at]);
        } else if (!is_whole && i > 0) {
            v[n] = v[n - 1];
        } else {
            v[n] = (cf_ledger_row){.kind = CF_LEDGER_TOKENIZER, .tokens = 1};
        }
        n++;
    }
    return n;
}

static size_t merge(cf_ledger_row *v, size_t n)
{
    size_t out = 0;
    qsort(v, n, sizeof *v, compare_origins);
    for (size_t i = 0; i < n; i++) {
        if (out > 0 && compare_origins(&v[out - 1], &v[i]) == 0) {
            v[out - 1].tokens += v[i].tokens;
            v[out - 1].bytes += v[i].bytes;
            v[out - 1].template_tokens += v[i].template_tokens;
            v[out - 1].template_bytes += v[i].template_bytes;
        } else {
            v[out++] = v[i];
        }
    }
    return out;
}

cf_status cf_ledger_make(cf_ledger *out, const cf_prompt *prompt, const cf_token_span *tokens,
                         size_t n_tokens, const json_t *messages, const json_t *tools,
                         cf_str source, cf_arena *arena, cf_error *err)
{
    cf_ledger_row *v = cf_arena_alloc(arena, (prompt->n_spans + n_tokens + 1) * sizeof *v);
    *out = (cf_ledger){0};
    if (v == NULL) {
        return cf_oom_for(err, "the ledger");
    }
    size_t n = merge(v, collect(v, prompt, tokens, n_tokens));
    for (size_t i = 0; i < n; i++) {
        name_row(&v[i], messages, tools, source, arena);
        out->tokens += v[i].tokens;
        out->bytes += v[i].bytes;
    }
    qsort(v, n, sizeof *v, compare_sizes);
    out->v = v;
    out->n = n;
    return arena->failed ? cf_oom_for(err, "the ledger") : CF_OK;
}

/* ---- writing ------------------------------------------------------------ */

static void text_row(cf_buf *out, uint64_t tokens, uint64_t bytes, double per_second)
{
    cf_buf_addf(out, "%8llu", (unsigned long long)tokens);
    if (per_second > 0) {
        cf_buf_addf(out, " %8.3f", (double)tokens / per_second);
    }
    cf_buf_addf(out, " %9llu  ", (unsigned long long)bytes);
}

void cf_ledger_text(cf_buf *out, const cf_ledger *ledger, double per_second)
{
    cf_buf_addf(out, "  tokens%s     bytes  what\n", per_second > 0 ? "  seconds" : "");
    for (size_t i = 0; i < ledger->n; i++) {
        const cf_ledger_row *r = &ledger->v[i];
        text_row(out, r->tokens, r->bytes, per_second);
        cf_buf_adds(out, kind_names[r->kind]);
        if (r->kind == CF_LEDGER_MESSAGE) {
            cf_buf_addf(out, " %u", (unsigned)r->index + 1);
        } else if (r->kind == CF_LEDGER_TEMPLATE) {
            cf_buf_addf(out, " line %u", (unsigned)r->index);
        }
        if (r->name.n > 0) {
            char name[NAME_SHOWN];
            size_t n = cf_utf8_copy(name, sizeof name, r->name);
            cf_buf_addc(out, ' ');
            cf_safe_line(out, name, n);
            cf_buf_adds(out, n < r->name.n ? "..." : "");
        }
        if (r->template_tokens > 0) {
            cf_buf_addf(out, "  (%llu by the template)", (unsigned long long)r->template_tokens);
        }
        cf_buf_addc(out, '\n');
    }
    text_row(out, ledger->tokens, ledger->bytes, per_second);
    cf_buf_adds(out, "all\n");
}

static void json_amounts(cf_jw *w, uint64_t tokens, uint64_t bytes, double per_second)
{
    cf_jw_uint(w, "tokens", tokens);
    cf_jw_uint(w, "bytes", bytes);
    if (per_second > 0) {
        cf_jw_format(w, "seconds", "%.4f", (double)tokens / per_second);
    } else {
        cf_jw_null(w, "seconds");
    }
}

void cf_ledger_json(cf_jw *w, const cf_ledger *ledger, double per_second)
{
    cf_jw_array(w, "rows");
    for (size_t i = 0; i < ledger->n; i++) {
        const cf_ledger_row *r = &ledger->v[i];
        cf_jw_object(w, NULL);
        cf_jw_text(w, "kind", kind_names[r->kind]);
        if (r->kind == CF_LEDGER_MESSAGE || r->kind == CF_LEDGER_TOOL) {
            cf_jw_uint(w, "index", r->index);
            cf_jw_uint(w, "template_tokens", r->template_tokens);
            cf_jw_uint(w, "template_bytes", r->template_bytes);
        } else if (r->kind == CF_LEDGER_TEMPLATE) {
            cf_jw_uint(w, "line", r->index);
        }
        cf_jw_str(w, "name", r->name);
        json_amounts(w, r->tokens, r->bytes, per_second);
        cf_jw_end(w);
    }
    cf_jw_end(w);
    json_amounts(w, ledger->tokens, ledger->bytes, per_second);
}
