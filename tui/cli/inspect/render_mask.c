/*
 * render_mask.c - finds the assistant's bytes, by provenance and by the tokens that
 * end a reply.
 */
#include "tui/cli/inspect/render_mask.h"

#include <string.h>

static bool is_assistant(const json_t *message)
{
    cf_str role = cf_json_get_str(message, "role");
    return cf_str_is(role, "assistant") || cf_str_is(role, "model");
}

/* Whether the assistant wrote the text of the span. */
static bool is_written(const cf_prompt_span *s, const json_t *messages)
{
    return s->source == CF_SPAN_MESSAGE && !cf_str_is(s->path, ".role") &&
           is_assistant(json_array_get(messages, s->index));
}

/* ---- where a reply begins and ends -------------------------------------- */

static bool same_at(cf_str text, size_t at, cf_str what)
{
    return what.n <= text.n - at && memcmp(text.p + at, what.p, what.n) == 0;
}

/* The place after the last `what` in text[from..to); SIZE_MAX without one. */
static size_t after_last(cf_str text, size_t from, size_t to, cf_str what)
{
    for (size_t at = to; what.n > 0 && what.n <= to && at-- > from;) {
        if (at + what.n <= to && same_at(text, at, what)) {
            return at + what.n;
        }
    }
    return SIZE_MAX;
}

/* Where the model begins to write: after what asks for a reply, all of it or its
 * first lines (the rest, such as an empty thought, is not written later). */
static size_t begin_of(cf_str text, size_t from, size_t to, cf_str asks)
{
    size_t at = after_last(text, from, to, asks);
    for (size_t n = asks.n; at == SIZE_MAX && n > 0; n--) {
        if (asks.p[n - 1] == '\n') {
            at = after_last(text, from, to, cf_str_make(asks.p, n));
        }
    }
    return at;
}

/* The end of the first token in [from, to) that ends a reply; SIZE_MAX without. */
static size_t end_of(const cf_mask_prompt *p, size_t from, size_t to)
{
    size_t lo = 0, hi = p->tokens->n; /* the first token at `from` or after */
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (p->tokens->v[mid].off < from) {
            lo = mid + 1;
        } else {
            hi = mid;
        }
    }
    for (; lo < p->tokens->n && p->tokens->v[lo].off < to; lo++) {
        const cf_token_span *t = &p->tokens->v[lo];
        if (t->len > 0 && cf_tokenizer_is_end(p->tok, t->id)) {
            return t->off + t->len;
        }
    }
    return SIZE_MAX;
}

/* The item of the outermost loop that a span was written for: of the template's
 * loop over the messages; NULL: none. */
static const cf_prompt_cause *round_of(const cf_prompt_span *s)
{
    const cf_prompt_cause *round = NULL;
    for (const cf_prompt_cause *c = s->cause; c != NULL; c = c->outer) {
        round = c->kind == CF_CAUSE_ROUND ? c : round;
    }
    return round;
}

/* Whether the template wrote a span for the same message as `of`. */
static bool is_beside(const cf_prompt_span *s, const cf_prompt_span *of)
{
    return s->source != CF_SPAN_MESSAGE && round_of(of) != NULL && round_of(s) == round_of(of);
}

/* Whether the same place of the template wrote for the message before, too: it
 * heads messages of every role. */
static bool is_header(const cf_prompt_span *s, size_t at)
{
    const cf_prompt_cause *own = round_of(&s[at]), *other = NULL;
    for (size_t i = at; i-- > 0;) {
        const cf_prompt_cause *round = round_of(&s[i]);
        if (round != own && other != NULL && round != other) {
            break;
        }
        other = round != own ? round : NULL;
        if (round != own && s[i].line == s[at].line && s[i].col == s[at].col) {
            return true;
        }
    }
    return false;
}

/* Where a template that asks for a reply with nothing begins it: with what it
 * writes for this message only. */
static size_t begin_beside(const cf_mask_prompt *p, size_t first, size_t from)
{
    const cf_prompt_span *s = p->prompt->spans;
    size_t k = first;
    while (p->asks.n == 0 && k > 0 && s[k - 1].off >= from && is_beside(&s[k - 1], &s[first]) &&
           !is_header(s, k - 1)) {
        k--;
    }
    return s[k].off;
}

/* The end of what the template writes after span `last` for the same message:
 * its eos_token, else all but blanks; that of the span itself without any. */
static size_t end_beside(const cf_prompt *p, size_t last, size_t to)
{
    const cf_prompt_span *s = p->spans;
    const size_t own = (size_t)s[last].off + s[last].len;
    size_t end = own;
    for (size_t k = last + 1; k < p->n_spans && s[k].off < to && is_beside(&s[k], &s[last]); k++) {
        end = (size_t)s[k].off + s[k].len;
        if (s[k].source == CF_SPAN_VARIABLE && cf_str_is(s[k].path, "eos_token")) {
            return end;
        }
    }
    while (end > own && strchr(" \n\t\r", p->text.p[end - 1]) != NULL) {
        end--;
    }
    return end;
}

/* The next span of a message's content at `at` or after; n_spans without. */
static size_t next_content(const cf_prompt *p, size_t at)
{
    while (at < p->n_spans &&
           (p->spans[at].source != CF_SPAN_MESSAGE || cf_str_is(p->spans[at].path, ".role"))) {
        at++;
    }
    return at;
}

/* Whether span `at` is the name of a call that one of [first, at) has too: it is
 * written again where the call's result begins. */
static bool is_repeated(const cf_prompt_span *s, size_t first, size_t at)
{
    for (size_t i = first; i < at && s[at].is_copy && cf_str_ends(s[at].path, ".name"); i++) {
        if (s[i].source == CF_SPAN_MESSAGE && s[i].is_copy && s[i].src_off == s[at].src_off &&
            cf_str_eq(s[i].path, s[at].path)) {
            return true;
        }
    }
    return false;
}

/* Adds what the model wrote around the spans [first, last] of one message; the
 * content before ends at `from`, and what others wrote begins at `to`. */
static void add_reply(cf_mask_spans *out, cf_mask_span *v, const cf_mask_prompt *p, size_t first,
                      size_t last, size_t from, size_t to)
{
    const cf_prompt_span *s = p->prompt->spans;
    for (size_t i = first + 1; i <= last; i++) {
        if (is_repeated(s, first, i)) {
            to = s[i - 1].off; /* with what leads to the result */
            last = i - 1;
        }
    }
    const bool is_cut = last > first && to <= s[last].off;
    for (size_t i = first; i <= last;) {
        size_t begin = begin_of(p->prompt->text, from, s[i].off, p->asks);
        if (begin == SIZE_MAX && i > first) {
            return; /* after an end: written for a result, not by the model */
        }
        begin = begin != SIZE_MAX ? begin : begin_beside(p, i, from);
        size_t end = end_of(p, s[i].off, to);
        end = end != SIZE_MAX ? end : is_cut ? to : end_beside(p->prompt, last, to);
        v[out->n++] = (cf_mask_span){(uint32_t)begin, (uint32_t)end};
        while (i <= last && s[i].off < end) {
            i = next_content(p->prompt, i + 1);
        }
        from = end;
    }
}

cf_status cf_render_mask_spans(cf_mask_spans *out, const cf_mask_prompt *p, const json_t *context,
                               cf_arena *arena, cf_error *err)
{
    const json_t *messages = json_object_get(context, "messages");
    const cf_prompt_span *s = p->prompt->spans;
    cf_mask_span *v = cf_arena_alloc(arena, (p->prompt->n_spans + 1) * sizeof *v);
    if (v == NULL) {
        return cf_oom_for(err, "the mask");
    }
    *out = (cf_mask_spans){v, 0};
    size_t from = 0;
    for (size_t i = next_content(p->prompt, 0); i < p->prompt->n_spans;) {
        size_t last = i, next = next_content(p->prompt, i + 1);
        while (next < p->prompt->n_spans && s[next].index == s[i].index) {
            last = next;
            next = next_content(p->prompt, next + 1);
        }
        if (is_written(&s[i], messages)) {
            size_t to = next < p->prompt->n_spans ? s[next].off : p->prompt->text.n;
            add_reply(out, v, p, i, last, from, to);
        }
        from = (size_t)s[last].off + s[last].len;
        i = next;
    }
    return CF_OK;
}

bool cf_render_mask_has(const cf_mask_spans *spans, const cf_token_span *token)
{
    size_t lo = 0, hi = spans->n; /* the first span that ends after token->off */
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (spans->v[mid].to <= token->off) {
            lo = mid + 1;
        } else {
            hi = mid;
        }
    }
    return token->len != 0 && lo < spans->n && spans->v[lo].from < token->off + token->len;
}
