/*
 * media_prompt.c - replaces parts, finds markers, places rows.
 *
 * The medium that comes n-th in the messages goes where the template wrote its
 * n-th marker of that kind.  Only text of the template can be a marker: one
 * that a user wrote stays text.
 */
#include "core/backend/media_prompt.h"

#include "core/api/attachment.h"
#include "core/backend/backend_impl.h"
#include "core/base/alloc.h"
#include "core/base/base64.h"

/* ---- one at a time ------------------------------------------------------ */

static void hold(const cf_chat__media *m)
{
    if (m->cache != NULL && m->core != NULL && m->core->hold != NULL) {
        m->core->hold(m->core->pass_ud);
    }
}

static void release(const cf_chat__media *m)
{
    if (m->cache != NULL && m->core != NULL && m->core->hold != NULL) {
        m->core->release(m->core->pass_ud);
    }
}

/* ---- messages ----------------------------------------------------------- */

static cf_status in_message(cf_error *err, cf_status st, size_t message)
{
    char where[32];
    snprintf(where, sizeof where, "message %zu", message + 1);
    return cf_fail_in(err, st, where);
}

/* The bytes of an attachment, and what the projector makes of them. */
static cf_status read_one(cf_chat__media *m, cf_attachment *a, cf_chat__medium *to,
                          const cf_cancel *cancel, cf_error *err)
{
    if (a->url.n > 0) {
        return cf_fail(err, CF_EUNSUPPORTED, "%.*s: a local model gets files, not addresses",
                       (int)(a->url.n < 100 ? a->url.n : 100), a->url.p);
    }
    CF_TRY(cf_attachment_load(a, err));
    if (!cf_base64_get(&to->bytes, a->base64)) {
        return to->bytes.failed ? cf_oom_for(err, "an attachment")
                                : cf_fail(err, CF_EFORMAT, "the %s is not base64",
                                          cf_attachment_kind_name(a->kind));
    }
    return cf_media_cache_get(&to->input, m->cache, cf_buf_str(&to->bytes), false, cancel, err);
}

/* Reads the part and puts what templates look for in its place. */
static cf_status take_part(cf_chat__media *m, json_t *content, size_t message, size_t part,
                           const cf_cancel *cancel, cf_error *err)
{
    cf_attachment a;
    if (!cf_attachment_read(&a, json_array_get(content, part))) {
        cf_attachment_deinit(&a);
        return CF_OK;
    }
    cf_chat__medium to = {.bytes = CF_BUF_INIT,
                          .is_sound = a.kind == CF_ATTACHMENT_AUDIO,
                          .message = (uint32_t)message,
                          .part = (uint32_t)part};
    cf_status st = read_one(m, &a, &to, cancel, err);
    if (st == CF_OK &&
        json_array_set_new(content, part,
                           json_pack("{s:s}", "type", cf_attachment_kind_name(a.kind))) != 0) {
        st = cf_oom_for(err, "the messages");
    }
    if (st == CF_OK && !cf_grow(&m->v, &m->cap, m->n + 1, sizeof *m->v)) {
        st = cf_oom_for(err, "the messages");
    }
    cf_attachment_deinit(&a);
    if (st != CF_OK) {
        cf_media_cache_release(m->cache, to.input);
        cf_buf_deinit(&to.bytes);
        return st == CF_ENOMEM || st == CF_ECANCELLED ? st : in_message(err, st, message);
    }
    m->v[m->n++] = to;
    return CF_OK;
}

static bool has_media(const json_t *content)
{
    bool found = false;
    for (size_t i = 0; i < json_array_size(content) && !found; i++) {
        cf_attachment a;
        found = cf_attachment_read(&a, json_array_get(content, i));
        cf_attachment_deinit(&a);
    }
    return found;
}

static void leave_out(json_t *content)
{
    for (size_t k = json_array_size(content); k-- > 0;) {
        cf_attachment a;
        if (cf_attachment_read(&a, json_array_get(content, k))) {
            json_array_remove(content, k);
        }
        cf_attachment_deinit(&a);
    }
}

/* A copy of message i with another content, in the list. */
static cf_status take_message(cf_chat__media *m, json_t *messages, size_t i,
                              const cf_cancel *cancel, cf_error *err)
{
    const json_t *old = json_array_get(messages, i);
    json_t *copy = cf_json_copy(old);
    json_t *content = cf_json_copy(json_object_get(old, "content"));
    if (copy == NULL || content == NULL || json_object_set_new(copy, "content", content) != 0 ||
        json_array_set_new(messages, i, copy) != 0) {
        return cf_oom_for(err, "the messages");
    }
    bool is_result = cf_str_is(cf_json_get_str(old, "role"), "tool");
    cf_status st = CF_OK;
    if (is_result && m->skips_results) {
        leave_out(content);
        return CF_OK;
    }
    m->n_result += is_result ? 1 : 0;
    for (size_t k = 0; st == CF_OK && k < json_array_size(content); k++) {
        st = take_part(m, content, i, k, cancel, err);
    }
    return st;
}

cf_status cf_chat__media_take(cf_chat__media *m, json_t *context, const cf_cancel *cancel,
                              cf_error *err)
{
    const json_t *old = json_object_get(context, "messages");
    json_t *messages = NULL;
    for (size_t i = 0; m->cache != NULL && i < json_array_size(old); i++) {
        const json_t *content = json_object_get(json_array_get(old, i), "content");
        if (!has_media(content)) {
            continue;
        }
        if (messages == NULL) {
            messages = cf_json_copy(old);
            if (messages == NULL || json_object_set_new(context, "messages", messages) != 0) {
                return cf_oom_for(err, "the messages");
            }
            old = messages;
        }
        hold(m);
        cf_status st = take_message(m, messages, i, cancel, err);
        release(m);
        CF_TRY(st);
    }
    return CF_OK;
}

void cf_chat__media_release(cf_chat__media *m)
{
    if (m->n > 0) {
        hold(m);
    }
    for (size_t i = 0; i < m->n; i++) {
        cf_media_cache_release(m->cache, m->v[i].input);
        cf_buf_deinit(&m->v[i].bytes);
    }
    if (m->n > 0) {
        release(m);
    }
    cf_free(m->v);
    cf_free(m->slot);
    *m = (cf_chat__media){.cache = NULL};
}

bool cf_chat__media_skip(cf_chat__media *m, cf_status st)
{
    const cf_chat__media old = *m;
    if (st == CF_OK || st == CF_ENOMEM || st == CF_ECANCELLED || old.n_result == 0) {
        return false;
    }
    cf_chat__media_release(m);
    *m = (cf_chat__media){.cache = old.cache,
                          .core = old.core,
                          .arena = old.arena,
                          .folds = old.folds,
                          .skips_results = true};
    return true;
}

/* ---- the prompt --------------------------------------------------------- */

/* A prompt on its way from one with markers to one with expansions. */
typedef struct expander {
    cf_chat__media *m;
    const cf_prompt *from;
    cf_buf text;
    cf_prompt_span *span;
    size_t n_span, cap_span;
} expander;

static cf_status add_span(expander *x, const cf_prompt_span *s, cf_error *err)
{
    if (!cf_grow(&x->span, &x->cap_span, x->n_span + 1, sizeof *x->span)) {
        return cf_oom_for(err, "the prompt's spans");
    }
    x->span[x->n_span++] = *s;
    return CF_OK;
}

/* Bytes lo..hi of the prompt as they are, with their spans. */
static cf_status add_range(expander *x, uint32_t lo, uint32_t hi, cf_error *err)
{
    for (size_t i = 0; i < x->from->n_spans; i++) {
        cf_prompt_span s = x->from->spans[i];
        uint32_t a = s.off > lo ? s.off : lo;
        uint32_t b = s.off + s.len < hi ? s.off + s.len : hi;
        if (a < b) {
            s.src_off += s.is_copy ? a - s.off : 0;
            s.off = (uint32_t)x->text.n + (a - lo);
            s.len = b - a;
            CF_TRY(add_span(x, &s, err));
        }
    }
    cf_buf_add(&x->text, x->from->text.p + lo, hi - lo);
    return CF_OK;
}

/* Medium i with its markers; the bytes are the message's part's. */
static cf_status add_expansion(expander *x, size_t i, const cf_prompt_span *at, cf_error *err)
{
    cf_chat__media *m = x->m;
    const cf_media_input *in = m->v[i].input;
    uint32_t start = (uint32_t)x->text.n;
    char path[40], words[CF_MEDIA_WORDS_MAX];
    cf_media_words(words, sizeof words, in);
    if (m->folds) {
        cf_buf_addf(&x->text, "[%s: %zu tokens]", words, cf_media_n_position(in));
    }
    for (size_t k = 0; k < in->n_piece && !m->folds; k++) {
        const cf_media_piece *p = &in->piece[k];
        if (p->ids == NULL) {
            if (!cf_grow(&m->slot, &m->cap_slot, m->n_slot + 1, sizeof *m->slot)) {
                return cf_oom_for(err, "the prompt");
            }
            m->slot[m->n_slot++] =
                (cf_chat__slot){(uint32_t)x->text.n, (uint32_t)p->text.n, (uint32_t)i, p->block};
        }
        cf_buf_add(&x->text, p->text.p, p->text.n);
    }
    int n = snprintf(path, sizeof path, ".content[%u]", (unsigned)m->v[i].part);
    char *kept = cf_arena_strndup(m->arena, path, (size_t)n);
    char *what = cf_arena_strndup(m->arena, words, strlen(words));
    if (kept == NULL || what == NULL) {
        return cf_oom_for(err, "the prompt's spans");
    }
    const cf_prompt_span s = {.off = start,
                              .len = (uint32_t)x->text.n - start,
                              .source = CF_SPAN_MESSAGE,
                              .index = m->v[i].message,
                              .media = cf_str_from(what),
                              .line = at->line,
                              .col = at->col,
                              .path = cf_str_make(kept, (size_t)n)};
    return add_span(x, &s, err);
}

/* Whether bytes off.. of the prompt, all written by the template, are one of
 * the markers. */
static bool is_marker(const cf_prompt *p, uint32_t off, uint32_t end, const char *const *markers,
                      uint32_t *len)
{
    for (; markers != NULL && *markers != NULL; markers++) {
        size_t n = strlen(*markers);
        if (end - off >= n && memcmp(p->text.p + off, *markers, n) == 0) {
            *len = (uint32_t)n;
            return true;
        }
    }
    return false;
}

/* The next medium of a kind from `from` on; m->n: none is left. */
static size_t next_of(const cf_chat__media *m, bool is_sound, size_t from)
{
    while (from < m->n && m->v[from].is_sound != is_sound) {
        from++;
    }
    return from;
}

/* Goes through the template's text from span i on, as far as it is without a
 * gap, and puts expansions in.  *done: bytes that are in the new prompt. */
static cf_status expand_run(expander *x, size_t i, uint32_t end, size_t next[2], uint32_t *done,
                            cf_error *err)
{
    const cf_media *media = cf_media_cache_media(x->m->cache);
    uint32_t at = x->from->spans[i].off;
    while (at < end) {
        uint32_t len = 0;
        size_t k = 0;
        while (k < 2 && (next[k] == x->m->n ||
                         !is_marker(x->from, at, end, cf_media_markers(media, k == 1), &len))) {
            k++;
        }
        if (k == 2) {
            at++;
            continue;
        }
        CF_TRY(add_range(x, *done, at, err));
        CF_TRY(add_expansion(x, next[k], cf_prompt_span_at(x->from, at), err));
        next[k] = next_of(x->m, k == 1, next[k] + 1);
        at += len;
        *done = at;
    }
    return CF_OK;
}

static cf_status no_marker(const cf_chat__media *m, size_t i, cf_error *err)
{
    const cf_chat__medium *v = &m->v[i];
    const char *const *w = cf_media_markers(cf_media_cache_media(m->cache), v->is_sound);
    return cf_fail(err, CF_EUNSUPPORTED,
                   "the template writes no place for the %s of message %u: it "
                   "would be %s",
                   v->is_sound ? "sound" : "image", (unsigned)v->message + 1,
                   w != NULL ? w[0] : "a marker");
}

static cf_status expand(expander *x, cf_error *err)
{
    size_t next[2] = {next_of(x->m, false, 0), next_of(x->m, true, 0)};
    uint32_t done = 0;
    const cf_prompt *p = x->from;
    for (size_t i = 0; i < p->n_spans;) {
        size_t k = i;
        uint32_t end = p->spans[i].off + p->spans[i].len;
        while (k < p->n_spans && p->spans[k].source == CF_SPAN_TEMPLATE) {
            end = p->spans[k].off + p->spans[k].len;
            k++;
        }
        if (k > i) {
            CF_TRY(expand_run(x, i, end, next, &done, err));
        }
        i = k > i ? k : i + 1;
    }
    for (int k = 0; k < 2; k++) {
        if (next[k] < x->m->n) {
            return no_marker(x->m, next[k], err);
        }
    }
    return add_range(x, done, (uint32_t)p->text.n, err);
}

cf_status cf_chat__media_expand(cf_chat__media *m, cf_prompt *prompt, cf_error *err)
{
    if (m->n == 0) {
        return CF_OK;
    }
    expander x = {.m = m, .from = prompt, .text = CF_BUF_INIT};
    cf_status st = expand(&x, err);
    CF_THEN(st, cf_buf_check(&x.text, err));
    if (st == CF_OK && x.text.n > UINT32_MAX) {
        st = cf_fail(err, CF_ELIMIT, "a prompt of 4 GiB");
    }
    char *text = st == CF_OK ? cf_arena_strndup(m->arena, x.text.p, x.text.n) : NULL;
    cf_prompt_span *spans =
        st == CF_OK ? cf_arena_calloc(m->arena, x.n_span + 1, sizeof *spans) : NULL;
    if (st == CF_OK && (text == NULL || spans == NULL)) {
        st = cf_oom_for(err, "the prompt");
    }
    if (st == CF_OK) {
        memcpy(spans, x.span, x.n_span * sizeof *spans);
        *prompt =
            (cf_prompt){.text = cf_str_make(text, x.text.n), .spans = spans, .n_spans = x.n_span};
    }
    cf_buf_deinit(&x.text);
    cf_free(x.span);
    return st;
}

static cf_status try_render(cf_chat__media *m, const cf_prompt_renderer *renderer,
                            const json_t *context, cf_prompt *out, cf_error *err)
{
    json_t *own = cf_json_copy(context);
    cf_status st = own != NULL ? CF_OK : cf_oom_for(err, "the context");
    CF_THEN(st, cf_chat__media_take(m, own, NULL, err));
    CF_THEN(st, renderer->render(renderer->ud, own, m->arena, out, err));
    CF_THEN(st, cf_chat__media_expand(m, out, err));
    json_decref(own);
    return st;
}

/* Renders with the media in place; where that fails, without those of tools'
 * results.  Release m after a failure, too. */
static cf_status render(cf_chat__media *m, const cf_prompt_renderer *renderer,
                        const json_t *context, cf_prompt *out, cf_error *err)
{
    cf_status st = try_render(m, renderer, context, out, err);
    if (cf_chat__media_skip(m, st)) {
        st = try_render(m, renderer, context, out, err);
    }
    return st;
}

cf_status cf_prompt_render_media(cf_prompt *out, cf_media_cache *cache,
                                 const cf_prompt_renderer *renderer, const json_t *context,
                                 cf_arena *arena, cf_error *err)
{
    cf_chat__media m = {.cache = cache, .arena = arena, .folds = true};
    cf_status st = render(&m, renderer, context, out, err);
    cf_chat__media_release(&m);
    return st;
}

/* The media of m, in the arena. */
static cf_status describe(cf_media_prompt *out, const cf_chat__media *m, cf_error *err)
{
    cf_prompt_medium *v = cf_arena_calloc(m->arena, m->n + 1, sizeof *v);
    if (v == NULL) {
        return cf_oom_for(err, "the prompt");
    }
    for (size_t i = 0; i < m->n; i++) {
        const cf_media_input *in = m->v[i].input;
        char words[CF_MEDIA_WORDS_MAX];
        cf_media_words(words, sizeof words, in);
        char *hash = cf_arena_strndup(m->arena, in->hash, strlen(in->hash));
        char *kept = cf_arena_strndup(m->arena, words, strlen(words));
        if (hash == NULL || kept == NULL) {
            return cf_oom_for(err, "the prompt");
        }
        v[i] = (cf_prompt_medium){.is_sound = m->v[i].is_sound,
                                  .message = m->v[i].message,
                                  .part = m->v[i].part,
                                  .n_token = cf_media_n_position(in),
                                  .n_row = in->n_row,
                                  .hash = hash,
                                  .words = cf_str_from(kept)};
    }
    out->v = v;
    out->n = m->n;
    return CF_OK;
}

cf_status cf_prompt_expand_media(cf_media_prompt *out, cf_media_cache *cache,
                                 const cf_prompt_renderer *renderer, const json_t *context,
                                 const cf_tokenizer *tok, cf_arena *arena, cf_error *err)
{
    const cf_str no_prefix = {NULL, 0};
    cf_chat__media m = {.cache = cache, .arena = arena};
    cf_media_prompt p = {.n = 0};
    cf_status st = render(&m, renderer, context, &p.prompt, err);
    CF_THEN(st, describe(&p, &m, err));
    CF_THEN(st, cf_chat__tokenise(&p.tokens, &p.prompt, &m, no_prefix, tok, arena, err));
    cf_chat__media_release(&m);
    if (st == CF_OK) {
        *out = p;
    }
    return st;
}

/* ---- tokens ------------------------------------------------------------- */

static size_t rows_of(const cf_chat__media *m, const cf_chat__slot *s)
{
    const cf_media_block *b = &m->v[s->input].input->block[s->block];
    return (size_t)b->cols * b->rows;
}

/* The slot that token i of the list begins; NULL: none. */
static const cf_chat__slot *slot_at(const cf_chat__media *m, const cf_token_list *list, size_t i,
                                    size_t *next)
{
    return *next < m->n_slot && i < list->n && cf_token_is_row(list->v[i].id) ? &m->slot[(*next)++]
                                                                              : NULL;
}

json_t *cf_chat__media_json(const cf_chat__media *m, const cf_token_list *list)
{
    json_t *out = json_array();
    size_t next = 0;
    for (size_t i = 0; i < list->n && out != NULL;) {
        const cf_chat__slot *s = slot_at(m, list, i, &next);
        if (s == NULL) {
            i++;
            continue;
        }
        const cf_chat__medium *v = &m->v[s->input];
        json_t *row =
            json_pack("{s:s, s:s, s:I, s:I, s:I}", "kind", v->is_sound ? "audio" : "image", "hash",
                      v->input->hash, "block", (json_int_t)s->block, "at", (json_int_t)i, "rows",
                      (json_int_t)rows_of(m, s));
        if (json_array_append_new(out, row) != 0) {
            json_decref(out);
            return NULL;
        }
        i += rows_of(m, s);
    }
    return out;
}

/* A list of tokens that grows in an arena's arrays. */
typedef struct gathering {
    cf_token_span *v;
    size_t n, cap;
} gathering;

static cf_status add_tokens(gathering *g, const cf_token_list *list, uint32_t by, cf_error *err)
{
    if (!cf_grow(&g->v, &g->cap, g->n + list->n, sizeof *g->v)) {
        return cf_oom_for(err, "the prompt's tokens");
    }
    for (size_t i = 0; i < list->n; i++) {
        g->v[g->n] = list->v[i];
        g->v[g->n++].off += by;
    }
    return CF_OK;
}

static cf_status add_rows(gathering *g, const cf_chat__media *m, const cf_chat__slot *s,
                          cf_error *err)
{
    const cf_media_input *in = m->v[s->input].input;
    size_t n = rows_of(m, s), row0 = in->block[s->block].row0;
    if (!cf_grow(&g->v, &g->cap, g->n + n, sizeof *g->v)) {
        return cf_oom_for(err, "the prompt's tokens");
    }
    for (size_t i = 0; i < n; i++) {
        cf_token id = cf_token_of_row(cf_media_row_key(in, row0 + i));
        g->v[g->n++] = (cf_token_span){id, s->off, i == 0 ? s->len : 0};
    }
    return CF_OK;
}

/* Bytes lo..hi as a text of their own: markers are control tokens, which
 * nothing merges with. */
static cf_status add_text(gathering *g, cf_str text, const cf_text_span *spans, size_t n_spans,
                          uint32_t lo, uint32_t hi, bool is_first, const cf_tokenizer *tok,
                          cf_arena *arena, cf_error *err)
{
    cf_text_span *own = cf_arena_calloc(arena, n_spans + 1, sizeof *own);
    size_t n = 0;
    if (own == NULL) {
        return cf_oom_for(err, "the prompt's spans");
    }
    for (size_t i = 0; i < n_spans; i++) {
        uint32_t a = spans[i].off > lo ? spans[i].off : lo;
        uint32_t b = spans[i].off + spans[i].len;
        b = b < hi ? b : hi;
        if (a < b) {
            own[n++] = (cf_text_span){a - lo, b - a, spans[i].parse_special};
        }
    }
    cf_token_list list = {NULL, 0};
    CF_TRY(cf_tokenizer_encode_spans(&list, tok, cf_str_make(text.p + lo, hi - lo), own, n,
                                     is_first, arena, err));
    cf_special_tokens special = cf_tokenizer_special(tok);
    if (is_first && special.add_eos && hi < text.n && list.n > 0 &&
        list.v[list.n - 1].id == special.eos && list.v[list.n - 1].len == 0) {
        list.n--; /* the text goes on */
    }
    return add_tokens(g, &list, lo, err);
}

cf_status cf_chat__media_encode_spans(cf_token_list *out, const cf_chat__media *m, cf_str text,
                                      const cf_text_span *spans, size_t n_spans, bool adds_special,
                                      const cf_tokenizer *tok, cf_arena *arena, cf_error *err)
{
    if (m == NULL || m->n_slot == 0) {
        return cf_tokenizer_encode_spans(out, tok, text, spans, n_spans, adds_special, arena, err);
    }
    gathering g = {NULL, 0, 0};
    uint32_t at = 0;
    cf_status st = CF_OK;
    for (size_t i = 0; st == CF_OK && i <= m->n_slot; i++) {
        uint32_t end = i < m->n_slot ? m->slot[i].off : (uint32_t)text.n;
        if (end > at || i == 0) {
            st = add_text(&g, text, spans, n_spans, at, end, adds_special && i == 0, tok, arena,
                          err);
        }
        if (i < m->n_slot) {
            CF_THEN(st, add_rows(&g, m, &m->slot[i], err));
            at = end + m->slot[i].len;
        }
    }
    cf_token_span *v = st == CF_OK ? cf_arena_calloc(arena, g.n + 1, sizeof *v) : NULL;
    if (st == CF_OK && v == NULL) {
        st = cf_oom_for(err, "the prompt's tokens");
    }
    if (st == CF_OK) {
        memcpy(v, g.v, g.n * sizeof *v);
        *out = (cf_token_list){v, g.n};
    }
    cf_free(g.v);
    return st;
}

/* ---- the session -------------------------------------------------------- */

static void make_inputs(const cf_chat__media *m, const cf_token_list *list, const cf_token *ids,
                        size_t n, cf_input *in)
{
    uint32_t at = 0;
    size_t next = 0;
    for (size_t i = 0; i < n;) {
        const cf_chat__slot *s = slot_at(m, list, i, &next);
        if (s != NULL) {
            cf_media_place_block(m->v[s->input].input, s->block, in + i, i, &at);
            i += rows_of(m, s);
            continue;
        }
        in[i] = (cf_input){.id = ids[i], .at = {at, at, at, at}};
        at++;
        i++;
    }
}

static cf_status encode(cf_chat__media *m, size_t i, const cf_cancel *cancel, cf_error *err)
{
    cf_chat__medium *v = &m->v[i];
    const cf_media_input *with_rows = NULL;
    if (v->input->rows != NULL) {
        return CF_OK;
    }
    CF_TRY(cf_media_cache_get(&with_rows, m->cache, cf_buf_str(&v->bytes), true, cancel, err));
    cf_media_cache_release(m->cache, v->input);
    v->input = with_rows;
    return CF_OK;
}

/* Which medium is being encoded. */
typedef struct encoding {
    const cf_chat__run *run;
    const cf_chat__media *m;
    size_t i;
} encoding;

static void on_encode(void *ud, size_t done, size_t total)
{
    const encoding *e = ud;
    cf_chat_event ev = {.kind = CF_CHAT_ENCODE,
                        .text = cf_str_from(e->m->v[e->i].is_sound ? "audio" : "image"),
                        .index = e->i,
                        .n_done = done,
                        .n_total = total};
    cf_chat__emit(e->run, &ev);
}

static cf_status sync_held(cf_chat__media *m, const cf_chat__run *run, cf_session *session,
                           const cf_token_list *list, const cf_token *ids, size_t n,
                           const cf_run *how, cf_sync_result *out, cf_error *err)
{
    cf_media *media = cf_media_cache_media(m->cache);
    encoding e = {run, m, 0};
    cf_status st = CF_OK;
    cf_media_watch(media, on_encode, &e);
    for (; st == CF_OK && e.i < m->n; e.i++) {
        st = encode(m, e.i, how->cancel, err);
    }
    cf_media_watch(media, NULL, NULL);
    CF_TRY(st);
    cf_input *in = cf_calloc(n, sizeof *in);
    if (in == NULL) {
        return cf_oom_for(err, "the prompt");
    }
    make_inputs(m, list, ids, n, in);
    st = cf_session_sync_inputs(session, in, n, how, out, err);
    cf_free(in);
    return st;
}

cf_status cf_chat__media_sync(cf_chat__media *m, const cf_chat__run *run, cf_session *session,
                              const cf_token_list *list, const cf_token *ids, size_t n,
                              const cf_run *how, cf_sync_result *out, cf_error *err)
{
    hold(m);
    cf_status st = sync_held(m, run, session, list, ids, n, how, out, err);
    release(m);
    return st;
}
