/*
 * pipeline.c - takes a text through the steps of a tokenizer.
 *
 * Each token gets two places in the text.  Its offsets are those that the
 * model's own library reports: they may overlap, and every byte token of a
 * character has all of the character.  Its span is confab's: spans are in
 * order and share no byte, and where the text reaches the vocabulary byte by
 * byte they are exact to the byte.
 */
#include "core/token/pipeline.h"

#include <string.h>

#include "core/base/alloc.h"
#include "core/base/utf8.h"
#include "core/token/tokenizer_impl.h"
#include "core/token/unicode.h"

enum { GROWTH_MAX = 16, SPARE_BYTES = 1 << 20 };

cf_pipeline *cf_pipeline_new(void)
{
    cf_pipeline *p = cf_calloc(1, sizeof *p);
    if (p != NULL) {
        cf_arena_init(&p->arena, 0);
    }
    return p;
}

cf_status cf_pipeline_wrap(cf_pipeline *p, const cf_special_tokens *s, cf_error *err)
{
    cf_token *ids = cf_arena_calloc(&p->arena, 2, sizeof *ids);
    if (ids == NULL) {
        return cf_oom(err);
    }
    ids[0] = s->bos;
    ids[1] = s->eos;
    p->wrap[p->n_wrap++] = (cf_wrap_step){
        .before = ids, .after = ids + 1, .n_before = s->add_bos, .n_after = s->add_eos};
    return CF_OK;
}

void cf_pipeline_free(cf_pipeline *p)
{
    if (p == NULL) {
        return;
    }
    for (size_t i = 0; i < CF_PIPE_STEPS_MAX; i++) {
        cf_pattern_deinit(&p->norm[i].pattern);
        cf_pattern_deinit(&p->split[i].pattern);
        cf_pattern_deinit(&p->decode[i].pattern);
    }
    cf_subword_deinit(&p->model);
    cf_trie_deinit(&p->raw);
    cf_trie_deinit(&p->normal);
    cf_arena_deinit(&p->arena);
    cf_free(p);
}

/* ---- making -------------------------------------------------------------- */

/* A token's content as it looks in normalised text. */
static cf_status normal_content(cf_pipeline *p, cf_normalizing *z, cf_str *s, cf_error *err)
{
    cf_view in = {s->p, NULL, s->n, 0};
    cf_view out;
    CF_TRY(cf_normalize(&out, z, p->norm, p->n_norm, &in, SPARE_BYTES, err));
    if (out.p == in.p) {
        return CF_OK;
    }
    char *copy = cf_arena_strndup(&p->arena, out.p, out.n);
    if (copy == NULL) {
        return cf_oom(err);
    }
    *s = cf_str_make(copy, out.n);
    return CF_OK;
}

/* Collects the added tokens of one kind; the others stay empty. */
static cf_status index_added(cf_pipeline *p, cf_trie *set, cf_str *key, bool normalized,
                             cf_error *err)
{
    cf_normalizing z = {0};
    cf_status st = CF_OK;
    for (size_t i = 0; st == CF_OK && i < p->n_added; i++) {
        const cf_added_token *t = &p->added[i];
        key[i] = (cf_str){NULL, 0};
        if (t->normalized == normalized) {
            key[i] = t->content;
            st = normalized ? normal_content(p, &z, &key[i], err) : CF_OK;
        }
    }
    cf_normalizing_deinit(&z);
    CF_THEN(st, cf_trie_init(set, key, p->n_added, false, err));
    return st;
}

cf_status cf_pipeline__finish(cf_pipeline *p, const cf_vocab *v, const cf_vocab_desc *desc,
                              cf_error *err)
{
    /* The last step is left out where the model looks at bytes itself. */
    p->model.raw_bytes = p->n_split != 0 && p->model.kind == CF_SUBWORD_BPE &&
                         p->split[p->n_split - 1].kind == CF_SPLIT_LETTERS;
    CF_TRY(cf_subword_init(&p->model, v, desc, err));
    p->n_split -= p->model.raw_bytes;
    for (size_t i = 0; i < p->n_wrap; i++) {
        p->trims |= p->wrap[i].trims;
    }
    cf_str *key = cf_calloc(p->n_added + 1, sizeof *key);
    if (key == NULL) {
        return cf_oom(err);
    }
    cf_status st = index_added(p, &p->raw, key, false, err);
    CF_THEN(st, index_added(p, &p->normal, key, true, err));
    cf_free(key);
    return st;
}

/* ---- encoding ------------------------------------------------------------ */

typedef struct hit {
    cf_token id;
    cf_range offsets, span;
    uint32_t lead, trail; /* white space in the token's text */
} hit;

typedef struct walk {
    const cf_tokenizer *tok;
    const cf_pipeline *p;
    cf_normalizing norm;
    cf_splitting split;
    cf_subwording words;
    cf_rewrite repaired;
    cf_str text;
    cf_special_walk raw, normal;
    const cf_view *piece; /* at hand */
    hit *hit;             /* [n_hit] */
    size_t n_hit, cap_hit;
    size_t limit;
    cf_error *err;
} walk;

static cf_status put(walk *w, hit h)
{
    if (!cf_grow(&w->hit, &w->cap_hit, w->n_hit + 1, sizeof *w->hit)) {
        return cf_oom(w->err);
    }
    w->hit[w->n_hit++] = h;
    return CF_OK;
}

/* White space, or the letter that stands for a space. */
static bool is_space(uint32_t cp)
{
    return cp == 0x120 || cf_unicode_is_white(cp);
}

static void count_space(hit *h, cf_str s)
{
    uint32_t cp;
    size_t n;
    for (size_t i = 0; i < s.n; i += n, h->lead++) {
        n = cf_utf8_decode(&cp, s.p + i, s.n - i);
        if (!is_space(cp)) {
            break;
        }
    }
    for (size_t i = s.n; i > 0; i -= n, h->trail++) {
        n = cf_unicode_last(s, i, &cp);
        if (!is_space(cp)) {
            break;
        }
    }
}

static cf_status on_token(void *ud, cf_token id, size_t from, size_t to)
{
    walk *w = ud;
    hit h = {.id = id, .offsets = cf_view_range(w->piece, from, to)};
    h.span = h.offsets;
    if (w->piece->map == NULL) {
        h.span.from = w->piece->base + (uint32_t)from;
        h.span.to = w->piece->base + (uint32_t)to;
    }
    if (w->p->trims) {
        count_space(&h, cf_vocab__spelling(&w->tok->vocab, id));
    }
    return put(w, h);
}

static cf_status on_piece(void *ud, const cf_view *piece)
{
    walk *w = ud;
    w->piece = piece;
    return cf_subword_encode(&w->words, cf_view_str(piece));
}

typedef cf_status (*plain_fn)(walk *w, const cf_view *text);

/* Cuts the added tokens of `set` out of `text` and hands what is between
 * them on. */
static cf_status cut_added(walk *w, const cf_trie *set, cf_special_walk *rule, const cf_view *text,
                           plain_fn plain)
{
    size_t done = 0;
    for (size_t at = 0;;) {
        cf_added_hit h = cf_added__next(w->p, set, rule, text, at, done);
        if (h.from > done) {
            cf_view part = cf_view_sub(text, done, h.from);
            CF_TRY(plain(w, &part));
        }
        if (h.token == NULL) {
            return CF_OK;
        }
        cf_range r = cf_view_range(text, h.from, h.to);
        hit made = {.id = h.token->id, .offsets = r, .span = r};
        count_space(&made, cf_str_make(text->p + h.from, h.to - h.from));
        CF_TRY(put(w, made));
        done = h.to;
        at = h.next;
    }
}

static cf_status split_plain(walk *w, const cf_view *text)
{
    return cf_split_text(&w->split, text);
}

static cf_status normalize_plain(walk *w, const cf_view *text)
{
    cf_view out;
    CF_TRY(cf_normalize(&out, &w->norm, w->p->norm, w->p->n_norm, text, w->limit, w->err));
    return cut_added(w, &w->p->normal, &w->normal, &out, split_plain);
}

/* The text as a view; bytes that are not UTF-8 count as U+FFFD. */
static cf_status view_text(walk *w, cf_str text, cf_view *out)
{
    *out = (cf_view){text.n != 0 ? text.p : "", NULL, text.n, 0};
    if (cf_utf8_valid_prefix(out->p, text.n) == text.n) {
        return CF_OK;
    }
    for (size_t i = 0; i < text.n;) {
        uint32_t cp;
        size_t n = cf_utf8_decode(&cp, text.p + i, text.n - i);
        cf_range r = {(uint32_t)i, (uint32_t)(i + n)};
        cf_rewrite_add_cp(&w->repaired, cp == CF_UTF8_BAD ? 0xFFFD : cp, r);
        i += n;
    }
    *out = cf_rewrite_view(&w->repaired);
    return cf_rewrite_check(&w->repaired, w->err);
}

static cf_status walk_text(walk *w, cf_str text)
{
    cf_view all;
    w->limit = text.n * GROWTH_MAX + SPARE_BYTES;
    w->limit = w->limit < UINT32_MAX ? w->limit : UINT32_MAX;
    w->repaired.limit = w->split.limit = w->limit;
    CF_TRY(view_text(w, text, &all));
    return cut_added(w, &w->p->raw, &w->raw, &all, normalize_plain);
}

/* ---- after the model ----------------------------------------------------- */

/* The place n characters after `at`, or before it, in the text. */
static uint32_t chars_after(cf_str s, uint32_t at, uint32_t n)
{
    for (; n > 0 && at < s.n; n--) {
        uint32_t cp;
        at += (uint32_t)cf_utf8_decode(&cp, s.p + at, s.n - at);
    }
    return at;
}

static uint32_t chars_before(cf_str s, uint32_t at, uint32_t n)
{
    for (; n > 0 && at > 0; n--) {
        uint32_t cp;
        at -= (uint32_t)cf_unicode_last(s, at, &cp);
    }
    return at;
}

/* Moves the ends of a token's offsets over its white space, which is counted
 * in characters of the token.  One leading space may be the one that was put
 * in front; of several none was. */
static void trim(walk *w, const cf_wrap_step *step)
{
    for (size_t i = 0; i < w->n_hit; i++) {
        hit *h = &w->hit[i];
        cf_range *r = &h->offsets;
        uint32_t lead = h->lead;
        if (lead == 1 && step->prefix_space && (i == 0 || r->from == 0)) {
            lead = 0;
        }
        uint32_t from = chars_after(w->text, r->from, lead);
        r->from = from < r->to ? from : r->to;
        uint32_t to = chars_before(w->text, r->to, h->trail);
        r->to = to > r->from ? to : r->from;
    }
}

/* Puts tokens around the list; all of their text is at its ends. */
static cf_status wrap(walk *w, const cf_wrap_step *step, uint32_t end)
{
    size_t n = w->n_hit + step->n_before + step->n_after;
    if (!cf_grow(&w->hit, &w->cap_hit, n + 1, sizeof *w->hit)) {
        return cf_oom(w->err);
    }
    memmove(w->hit + step->n_before, w->hit, w->n_hit * sizeof *w->hit);
    for (size_t i = 0; i < step->n_before; i++) {
        w->hit[i] = (hit){.id = step->before[i]};
    }
    w->n_hit = n;
    for (size_t i = 0; i < step->n_after; i++) {
        w->hit[n - step->n_after + i] = (hit){.id = step->after[i], .span = {end, end}};
    }
    return CF_OK;
}

static cf_status post_process(walk *w, bool add_special, uint32_t end)
{
    for (size_t i = 0; i < w->p->n_wrap; i++) {
        const cf_wrap_step *step = &w->p->wrap[i];
        if (step->trims) {
            trim(w, step);
        }
        if (add_special) {
            CF_TRY(wrap(w, step, end));
        }
    }
    return CF_OK;
}

/* Spans in order: of tokens with the same bytes the first gets them, and one
 * whose bytes the next token has, and more, leaves them to it. */
static void set_spans(cf_token_span *v, const walk *w)
{
    uint32_t done = 0;
    for (size_t i = 0; i < w->n_hit; i++) {
        cf_range r = w->hit[i].span;
        uint32_t from = r.from > done ? r.from : done;
        uint32_t to = r.to > from ? r.to : from;
        if (i + 1 < w->n_hit) {
            cf_range next = w->hit[i + 1].span;
            if (next.from < to && next.to > r.to) {
                to = next.from > from ? next.from : from;
            }
        }
        v[i] = (cf_token_span){w->hit[i].id, from, to - from};
        done = to;
    }
}

static cf_status hand_over(cf_token_list *out, uint32_t **offsets, walk *w, cf_arena *arena)
{
    cf_token_span *v = cf_arena_alloc(arena, w->n_hit * sizeof *v + 1);
    uint32_t *pairs = NULL;
    if (v != NULL && offsets != NULL) {
        pairs = cf_arena_alloc(arena, 2 * w->n_hit * sizeof *pairs + 1);
    }
    if (v == NULL || (offsets != NULL && pairs == NULL)) {
        return cf_oom(w->err);
    }
    set_spans(v, w);
    for (size_t i = 0; pairs != NULL && i < w->n_hit; i++) {
        pairs[2 * i] = w->hit[i].offsets.from;
        pairs[2 * i + 1] = w->hit[i].offsets.to;
    }
    if (offsets != NULL) {
        *offsets = pairs;
    }
    *out = (cf_token_list){v, w->n_hit};
    return CF_OK;
}

cf_status cf_pipeline__encode(cf_token_list *out, uint32_t **offsets, const cf_tokenizer *tok,
                              cf_str text, const cf_text_span *spans, size_t n_spans,
                              bool add_special, cf_arena *arena, cf_error *err)
{
    const cf_pipeline *p = tok->pipe;
    walk *w = cf_calloc(1, sizeof *w);
    if (w == NULL) {
        return cf_oom(err);
    }
    w->tok = tok;
    w->p = p;
    w->err = err;
    w->text = text;
    w->raw = w->normal = (cf_special_walk){.span = spans, .n_span = n_spans};
    w->split =
        (cf_splitting){.steps = p->split, .n = p->n_split, .fn = on_piece, .ud = w, .err = err};
    w->words = (cf_subwording){
        .model = &p->model, .vocab = &tok->vocab, .fn = on_token, .ud = w, .err = err};
    cf_status st = walk_text(w, text);
    CF_THEN(st, post_process(w, add_special, (uint32_t)text.n));
    CF_THEN(st, hand_over(out, offsets, w, arena));
    cf_normalizing_deinit(&w->norm);
    cf_splitting_deinit(&w->split);
    cf_subwording_deinit(&w->words);
    cf_rewrite_deinit(&w->repaired);
    cf_free(w->hit);
    cf_free(w);
    return st;
}
