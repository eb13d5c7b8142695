/*
 * prompt_model.c - joining spans, tokens and cache by walking them together.
 */
#include "tui/lab/prompt/prompt_model.h"

#include <stdio.h>
#include <string.h>

#include "core/api/media.h"
#include "core/base/alloc.h"

void cf_prompt_model_deinit(cf_prompt_model *m)
{
    cf_free(m->token);
    cf_free(m->part);
    cf_free(m->row);
    *m = (cf_prompt_model){0};
}

cf_str cf_prompt_model_text(const cf_prompt_model *m, size_t token)
{
    const cf_token_span *t = &m->ids[token];
    return cf_str_make(m->prompt.text.p + t->off, t->len);
}

enum { GAP = INT32_MIN, HEAD_MAX = 8 };

/* Assigns what a token's own span says: a message, the tools, or nothing. */
static void assign_own(cf_prompt_model *m)
{
    const cf_prompt_span *s = m->prompt.n_spans != 0 ? m->prompt.spans : NULL;
    for (size_t i = 0; i < m->n; i++) {
        const cf_prompt_span *at = cf_prompt_span_at(&m->prompt, m->ids[i].off);
        s = at != NULL ? at : s;
        m->token[i].span = s != NULL ? (uint32_t)(s - m->prompt.spans) : 0;
        m->token[i].message = GAP;
        if (s != NULL && s->source == CF_SPAN_MESSAGE) {
            m->token[i].message = (int32_t)s->index;
        } else if (s != NULL && (s->source == CF_SPAN_TOOL || cf_prompt_span_is_added(s))) {
            m->token[i].message = CF_PART_TOOLS;
        }
    }
}

/* Whether the token closes what is open, as "</tool_call>" does. */
static bool closes(const cf_prompt_model *m, size_t token)
{
    cf_str text = cf_prompt_model_text(m, token);
    return text.n >= 2 && text.p[0] == '<' && text.p[1] == '/';
}

/* Where the next message is opened as the first one was: at the last of the
 * tokens that the prompt begins with, [0, n_head), that is in the gap;
 * `to` when none does. */
static size_t opens_at(const cf_prompt_model *m, size_t n_head, size_t from, size_t to)
{
    for (size_t h = 0; h < n_head && h < HEAD_MAX; h++) {
        for (size_t i = to; !m->token[h].ends_line && i-- > from;) {
            if (m->ids[i].id == m->ids[h].id) {
                return i;
            }
        }
    }
    return to;
}

/* After the first line end, and lines that close more; without line ends
 * after the first token. */
static size_t closed_at(const cf_prompt_model *m, size_t from, size_t to)
{
    size_t cut = from + 1;
    for (size_t i = from; i < to; i++) {
        if (m->token[i].ends_line) {
            cut = i + 1;
            if (cut == to || !closes(m, cut)) {
                break;
            }
        }
    }
    return cut;
}

/* Where the first message is opened when the template opens one of its own
 * before, with the same token; 0 when it does not. */
static size_t head_end(const cf_prompt_model *m, size_t to)
{
    size_t at = to - 1;
    while (at > 0 && m->ids[at].id != m->ids[0].id) {
        at--;
    }
    return at;
}

/* Template text between two messages closes the one and opens the other. */
static void fill_gap(cf_prompt_model *m, size_t n_head, size_t from, size_t to)
{
    int32_t before = from > 0 ? m->token[from - 1].message : CF_PART_HEAD;
    int32_t after = to < m->n ? m->token[to].message : CF_PART_GENERATION;
    size_t cut = from;
    if (from == 0 && after >= 0) {
        cut = head_end(m, to);
    } else if (before == after) {
        cut = to;
    } else if (from > 0) {
        cut = closed_at(m, from, to);
        size_t opens = opens_at(m, n_head, from, to);
        bool has_dropped = before >= 0 && after > before + 1;
        if (has_dropped && opens < to && opens > cut) {
            /* The marks of a message of which nothing else was written. */
            for (size_t i = cut; i < opens; i++) {
                m->token[i].message = before + 1;
            }
            for (size_t i = opens; i < to; i++) {
                m->token[i].message = after;
            }
            to = cut;
        } else if (opens < to && (opens > cut || cut == to)) {
            cut = opens; /* more is closed, or a header ends the gap */
        }
    }
    for (size_t i = from; i < to; i++) {
        m->token[i].message = i < cut ? before : after;
    }
}

static void assign_messages(cf_prompt_model *m)
{
    size_t n_head = 0;
    assign_own(m);
    while (n_head < m->n && m->token[n_head].message == GAP) {
        n_head++;
    }
    for (size_t i = 0; i < m->n;) {
        size_t end = i;
        while (end < m->n && m->token[end].message == GAP) {
            end++;
        }
        if (end > i) {
            fill_gap(m, n_head, i, end);
        }
        i = end > i ? end : i + 1;
    }
}

static size_t run_end(const cf_prompt_model *m, size_t from)
{
    size_t end = from;
    while (end < m->n && m->token[end].message == m->token[from].message) {
        end++;
    }
    return end;
}

/* Whether nothing of the message itself is in [from, to) but its role. */
static bool is_header(const cf_prompt_model *m, size_t from, size_t to)
{
    for (size_t i = from; i < to && m->prompt.n_spans != 0; i++) {
        const cf_prompt_span *s = &m->prompt.spans[m->token[i].span];
        if (s->source == CF_SPAN_MESSAGE && !cf_str_is(s->path, ".role")) {
            return false;
        }
    }
    return m->token[from].message >= 0;
}

/* A message that is written into another one, as the system prompt at the
 * beginning of the first user message: the header before it is its own, so that
 * every message is one part. */
static void join_headers(cf_prompt_model *m)
{
    for (size_t i = 0; i < m->n;) {
        size_t end = run_end(m, i), next = end < m->n ? run_end(m, end) : end;
        if (next < m->n && m->token[next].message == m->token[i].message && is_header(m, i, end)) {
            for (size_t k = i; k < end; k++) {
                m->token[k].message = m->token[end].message;
            }
            end = next;
        }
        i = end;
    }
}

static void mark_reuse(cf_prompt_model *m, const cf_token *cache, size_t n_cache)
{
    while (m->n_kept < m->n && m->n_kept < n_cache && m->ids[m->n_kept].id == cache[m->n_kept]) {
        m->n_kept++;
    }
    m->n_state = m->n_kept;
    m->n_lost = n_cache - m->n_kept;
    m->has_break = m->n_lost > 0 && m->n_kept < m->n;
    for (size_t i = 0; i < m->n; i++) {
        m->token[i].reuse = i < m->n_kept ? CF_REUSE_KEPT : CF_REUSE_NEW;
    }
    if (m->has_break && cache != NULL) {
        m->token[m->n_kept].reuse = CF_REUSE_BREAK;
        m->cached = cache[m->n_kept];
    }
}

static cf_status make_parts(cf_prompt_model *m, cf_error *err)
{
    size_t n = 0;
    for (size_t i = 0; i < m->n; i++) {
        n += i == 0 || m->token[i].message != m->token[i - 1].message;
    }
    m->part = cf_calloc(n != 0 ? n : 1, sizeof *m->part);
    if (m->part == NULL) {
        return cf_oom_for(err, "the prompt view");
    }
    for (size_t i = 0; i < m->n; i++) {
        if (i == 0 || m->token[i].message != m->token[i - 1].message) {
            m->part[m->n_part++] = (cf_prompt_part){.message = m->token[i].message, .first = i};
        }
        cf_prompt_part *p = &m->part[m->n_part - 1];
        p->n_tokens++;
        p->n_kept += m->token[i].reuse == CF_REUSE_KEPT;
    }
    return CF_OK;
}

cf_status cf_prompt_model_build(cf_prompt_model *m, const cf_prompt *prompt,
                                const cf_token_list *tokens, const cf_token *cache, size_t n_cache,
                                cf_error *err)
{
    cf_prompt_model_deinit(m);
    cf_prompt_model made = {.prompt = *prompt, .ids = tokens->v};
    made.token = cf_calloc(tokens->n != 0 ? tokens->n : 1, sizeof *made.token);
    if (made.token == NULL) {
        return cf_oom_for(err, "the prompt view");
    }
    made.n = tokens->n;
    for (size_t i = 0; i < made.n; i++) {
        cf_str text = cf_prompt_model_text(&made, i);
        made.token[i].ends_line = text.n != 0 && text.p[text.n - 1] == '\n';
    }
    assign_messages(&made);
    join_headers(&made);
    mark_reuse(&made, cache, cache != NULL ? n_cache : 0);
    cf_status st = make_parts(&made, err);
    if (st != CF_OK) {
        cf_prompt_model_deinit(&made);
        return st;
    }
    *m = made;
    return CF_OK;
}

static cf_status add_row(cf_prompt_model *m, size_t first, cf_error *err)
{
    if (m->n_row == m->cap_row) {
        size_t cap = m->cap_row != 0 ? m->cap_row * 2 : 64;
        cf_prompt_row *row = cf_realloc(m->row, cap, sizeof *row);
        if (row == NULL) {
            m->n_row = 0;
            m->row_width = 0;
            return cf_oom_for(err, "the prompt view");
        }
        m->row = row;
        m->cap_row = cap;
    }
    int32_t message = first < m->n ? m->token[first].message : CF_PART_GENERATION;
    m->row[m->n_row++] = (cf_prompt_row){first, 0, message, false};
    return CF_OK;
}

/* A row for each message of which nothing was written and that comes before
 * token `first`, part `*part` being the next to look at. */
static cf_status add_lost_rows(cf_prompt_model *m, size_t *part, size_t first, cf_error *err)
{
    for (; *part < m->n_part && m->part[*part].first <= first; ++*part) {
        const cf_prompt_part *p = &m->part[*part];
        if (p->n_tokens == 0) {
            CF_TRY(add_row(m, p->first, err));
            m->row[m->n_row - 1].message = p->message;
            m->row[m->n_row - 1].is_lost = true;
        }
    }
    return CF_OK;
}

cf_status cf_prompt_model_mark_lost(cf_prompt_model *m, size_t message, cf_error *err)
{
    size_t at = 0;
    for (size_t i = 0; i < m->n_part; i++) {
        if (m->part[i].message == (int32_t)message) {
            m->part[i].is_lost = true;
            return CF_OK;
        }
        if (m->part[i].message < (int32_t)message && m->part[i].message != CF_PART_GENERATION) {
            at = i + 1;
        }
    }
    cf_prompt_part *v = cf_realloc(m->part, m->n_part + 1, sizeof *v);
    if (v == NULL) {
        return cf_oom_for(err, "the prompt view");
    }
    memmove(v + at + 1, v + at, (m->n_part - at) * sizeof *v);
    size_t first = at > 0 ? v[at - 1].first + v[at - 1].n_tokens : 0;
    v[at] = (cf_prompt_part){.message = (int32_t)message, .first = first, .is_lost = true};
    m->part = v;
    m->n_part++;
    m->row_width = 0;
    return CF_OK;
}

void cf_prompt_model_mark_other(cf_prompt_model *m)
{
    m->is_other = true;
    if (m->has_break) {
        m->token[m->n_kept].reuse = CF_REUSE_NEW;
    }
    m->has_break = false;
    m->n_lost = 0;
}

void cf_prompt_model_mark_states(cf_prompt_model *m, const uint32_t *pos, size_t n)
{
    size_t last = 0;
    for (size_t i = 0; i < n; i++) {
        if (pos[i] > 0 && pos[i] <= m->n_kept && pos[i] < m->n) {
            m->token[pos[i]].has_state = true;
        }
        last = pos[i] <= m->n_kept ? pos[i] : last;
    }
    if (n > 0 && m->n_lost > 0) {
        m->n_state = last;
    }
}

void cf_prompt_model_mark_specials(cf_prompt_model *m, const cf_tokenizer *tok)
{
    for (size_t i = 0; i < m->n; i++) {
        cf_token_type type = cf_tokenizer_type(tok, m->ids[i].id);
        m->token[i].is_special = type == CF_TOKEN_CONTROL || type == CF_TOKEN_USER_DEFINED;
    }
}

static const cf_prompt_span *span_of(const cf_prompt_model *m, size_t token)
{
    return m->prompt.n_spans != 0 ? &m->prompt.spans[m->token[token].span] : NULL;
}

bool cf_prompt_model_is_media(const cf_prompt_model *m, size_t token)
{
    const cf_prompt_span *s = span_of(m, token);
    return s != NULL && s->media.n > 0;
}

cf_str cf_prompt_model_block(const cf_prompt_model *m, size_t token, char out[CF_PROMPT_BLOCK_MAX])
{
    size_t first, n = cf_prompt_model_run(m, token, &first);
    cf_str what = span_of(m, token)->media;
    int len = snprintf(out, CF_PROMPT_BLOCK_MAX, "[%.*s: %zu token%s]",
                       (int)(what.n < CF_MEDIA_WORDS_MAX ? what.n : CF_MEDIA_WORDS_MAX), what.p, n,
                       n == 1 ? "" : "s");
    return cf_str_make(out, (size_t)len);
}

bool cf_prompt_model_continues(const cf_prompt_model *m, size_t token)
{
    const cf_prompt_token *b = &m->token[token];
    const cf_prompt_token *a = token > 0 ? b - 1 : NULL;
    if (a != NULL &&
        (cf_prompt_model_is_media(m, token) || cf_prompt_model_is_media(m, token - 1))) {
        return a->span == b->span;
    }
    return a != NULL && !a->is_special && !b->is_special && a->message == b->message;
}

size_t cf_prompt_model_run(const cf_prompt_model *m, size_t token, size_t *first)
{
    *first = token;
    if (m->token[token].is_special && !cf_prompt_model_is_media(m, token)) {
        return 0;
    }
    while (cf_prompt_model_continues(m, *first)) {
        (*first)--;
    }
    size_t end = token + 1;
    while (end < m->n && cf_prompt_model_continues(m, end)) {
        end++;
    }
    return end - *first;
}

/* With the boundary mark after it. */
static int width_as(const cf_prompt_model *m, size_t i, cf_prompt_form form,
                    cf_prompt_measure measure)
{
    if (cf_prompt_model_is_media(m, i)) {
        char text[CF_PROMPT_BLOCK_MAX];
        return cf_prompt_model_continues(m, i) ? 0 : measure(cf_prompt_model_block(m, i, text)) + 1;
    }
    if (form == CF_PROMPT_AS_SPECIALS && !m->token[i].is_special) {
        size_t first;
        return cf_prompt_model_continues(m, i)
                   ? 0
                   : 1 + snprintf(NULL, 0, "..%zu..", cf_prompt_model_run(m, i, &first));
    }
    if (form == CF_PROMPT_AS_TEXT || form == CF_PROMPT_AS_SPECIALS) {
        return 1 + measure(cf_prompt_model_text(m, i));
    }
    return 1 + (form == CF_PROMPT_AS_HEX ? 2 * (int)m->ids[i].len
                                         : snprintf(NULL, 0, "%d", (int)m->ids[i].id));
}

cf_status cf_prompt_model_wrap(cf_prompt_model *m, int width, cf_prompt_form form,
                               cf_prompt_measure measure, cf_error *err)
{
    if (m->row_width == width && m->row_form == form) {
        return CF_OK;
    }
    m->n_row = 0;
    int used = 0;
    size_t part = 0;
    for (size_t i = 0; i < m->n; i++) {
        int w = width_as(m, i, form, measure);
        bool ends_line = i > 0 && m->token[i - 1].ends_line && form != CF_PROMPT_AS_SPECIALS &&
                         !(cf_prompt_model_is_media(m, i) && cf_prompt_model_continues(m, i));
        bool begins = i == 0 || ends_line || m->token[i].message != m->token[i - 1].message ||
                      (w > 0 && used + w > width);
        if (begins) {
            CF_TRY(add_lost_rows(m, &part, i, err));
            CF_TRY(add_row(m, i, err));
            m->row[m->n_row - 1].is_lost = part > 0 && m->part[part - 1].is_lost;
            used = 0;
        }
        m->row[m->n_row - 1].n++;
        used += w;
    }
    CF_TRY(add_lost_rows(m, &part, m->n, err));
    m->row_width = width;
    m->row_form = form;
    return CF_OK;
}

size_t cf_prompt_model_row_of(const cf_prompt_model *m, size_t token)
{
    size_t lo = 0, hi = m->n_row;
    while (lo + 1 < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (m->row[mid].first <= token) {
            lo = mid;
        } else {
            hi = mid;
        }
    }
    return lo;
}
