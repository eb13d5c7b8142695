/*
 * shape_spans.c - contents of segments, and the spans of a prompt of shaped
 * messages as those of the messages that were given.
 */
#include <stdio.h>
#include <string.h>

#include "core/base/alloc.h"
#include "templates/shape/shape_impl.h"

/* ---- messages in the making --------------------------------------------- */

const cf_shape__segment *cf_shape__segments(const cf_shape__message *m, size_t *n)
{
    *n = m->segments.n / sizeof(cf_shape__segment);
    return (const cf_shape__segment *)(const void *)m->segments.p;
}

cf_shape__message *cf_shape__add(cf_shaper *s)
{
    if (!cf_grow(&s->v, &s->cap, s->n + 1, sizeof *s->v)) {
        cf_jb_fail(&s->tree);
        return NULL;
    }
    s->v[s->n] = (cf_shape__message){.m = NULL};
    return &s->v[s->n++];
}

void cf_shape__free(cf_shape__message *m)
{
    json_decref(m->m);
    cf_buf_deinit(&m->segments);
    cf_buf_deinit(&m->moves);
}

void cf_shape__drop(cf_shaper *s)
{
    for (size_t i = 0; i < s->n; i++) {
        cf_shape__free(&s->v[i]);
    }
    cf_free(s->v);
}

void cf_shape__move(cf_shaper *s, cf_shape__message *m, const char *key, uint32_t at, cf_str from)
{
    char to[48];
    int n = at == UINT32_MAX ? snprintf(to, sizeof to, ".%s", key)
                             : snprintf(to, sizeof to, ".%s[%u]", key, (unsigned)at);
    if (cf_str_is(from, to)) {
        return;
    }
    char *kept = cf_arena_strndup(&s->out->arena, to, (size_t)n);
    const cf_shape_move move = {.to = cf_str_make(kept, kept != NULL ? (size_t)n : 0),
                                .from = from};
    cf_buf_add(&m->moves, &move, sizeof move);
}

void cf_shape__move_all(cf_shaper *s, const cf_shape__message *from, cf_shape__message *to)
{
    cf_buf_add(&to->moves, from->moves.p, from->moves.n);
    if (to->moves.failed) {
        cf_jb_fail(&s->tree);
    }
}

/* ---- contents ----------------------------------------------------------- */

/* A content in the making. */
typedef struct maker {
    cf_shaper *s;
    cf_buf text;    /* of the string, or of the open part */
    json_t *list;   /* NULL: the content is a string */
    uint32_t index; /* of the message */
} maker;

static uint32_t open_part(const maker *k)
{
    return k->list != NULL ? (uint32_t)json_array_size(k->list) : (uint32_t)CF_SHAPE_TEXT;
}

static void end_text(maker *k)
{
    if (k->text.failed) {
        cf_jb_fail(&k->s->tree);
    }
    if (k->list != NULL && k->text.n > 0) {
        cf_jb_append(&k->s->tree, k->list,
                     json_pack("{s:s, s:o}", "type", "text", "text", cf_json_buf(&k->text)));
        cf_buf_reset(&k->text);
    }
}

static void put_segment(maker *k, const cf_shape__segment *v)
{
    if (v->part != NULL) {
        end_text(k);
    }
    const cf_shape_piece piece = {.message = k->index,
                                  .part = open_part(k),
                                  .from = (uint32_t)k->text.n,
                                  .to = (uint32_t)(k->text.n + v->text.n),
                                  .origin = v->origin,
                                  .path = v->path,
                                  .is_copy = v->is_copy && v->part == NULL,
                                  .is_tools = v->is_tools,
                                  .why = v->why};
    cf_buf_add(&k->s->out->pieces, &piece, sizeof piece);
    if (v->part != NULL) {
        cf_jb_append(&k->s->tree, k->list, json_incref(cf_json_ref(v->part)));
    } else {
        cf_buf_add(&k->text, v->text.p, v->text.n);
    }
}

/* Whether content that is a string is written; templates of models with
 * pictures may look through parts only. */
static bool takes_text(const cf_template_caps *c, cf_str role)
{
    if (cf_str_is(role, "user")) {
        return c->text_content == CF_CAP_YES;
    }
    return cf_str_is(role, "system")      ? cf_cap_is_written(c->system)
           : cf_str_is(role, "assistant") ? cf_cap_is_written(c->reply)
                                          : cf_cap_is_written(c->text_content);
}

static bool needs_list(const cf_shaper *s, const cf_shape__message *m)
{
    cf_str role = cf_json_get_str(m->m, "role");
    size_t n;
    const cf_shape__segment *v = cf_shape__segments(m, &n);
    for (size_t i = 0; i < n; i++) {
        if (v[i].part != NULL) {
            return true;
        }
    }
    cf_cap typed = cf_str_is(role, "system") ? s->caps->typed_system : s->caps->typed_content;
    return n > 0 && !cf_str_is(role, "tool") && typed == CF_CAP_YES && !takes_text(s->caps, role);
}

void cf_shape__finish(cf_shaper *s, size_t i)
{
    cf_shape__message *m = &s->v[i];
    size_t n;
    const cf_shape__segment *v = cf_shape__segments(m, &n);
    maker k = {.s = s, .index = (uint32_t)i};
    k.list = needs_list(s, m) ? json_array() : NULL;
    if (m->value != NULL) {
        cf_shape__move(s, m, "content", UINT32_MAX, m->value_path);
        cf_jb_set(&s->tree, m->m, "content", json_incref(cf_json_ref(m->value)));
    } else {
        for (size_t at = 0; at < n; at++) {
            put_segment(&k, &v[at]);
        }
        end_text(&k);
        const bool is_null =
            n == 0 && cf_shape__needs_null(s->caps) && json_object_get(m->m, "tool_calls") != NULL;
        cf_jb_set(&s->tree, m->m, "content",
                  k.list != NULL ? k.list
                  : is_null      ? json_null()
                                 : cf_json_buf(&k.text));
    }
    cf_buf_add(&s->out->origins, &m->origin, sizeof m->origin);
    for (size_t at = 0; at < m->moves.n / sizeof(cf_shape_move); at++) {
        cf_shape_move move;
        memcpy(&move, m->moves.p + at * sizeof move, sizeof move);
        move.message = (uint32_t)i;
        cf_buf_add(&s->out->moves, &move, sizeof move);
    }
    if (m->segments.failed || m->moves.failed) {
        cf_jb_fail(&s->tree);
    }
    cf_buf_deinit(&k.text);
}

/* ---- spans -------------------------------------------------------------- */

static uint32_t origin_of(const cf_shape *s, uint32_t message)
{
    uint32_t v = 0;
    if (((size_t)message + 1) * sizeof v <= s->origins.n) {
        memcpy(&v, s->origins.p + message * sizeof v, sizeof v);
    }
    return v;
}

/* The pieces of one text of a message, [*n]. */
static const cf_shape_piece *pieces_of(const cf_shape *s, uint32_t message, uint32_t part,
                                       size_t *n)
{
    const cf_shape_piece *v = (const cf_shape_piece *)(const void *)s->pieces.p;
    size_t lo = 0, hi = s->pieces.n / sizeof *v, end = hi;
    while (lo < hi) { /* they are in the order of the messages */
        size_t mid = lo + (hi - lo) / 2;
        if (v[mid].message < message || (v[mid].message == message && v[mid].part < part)) {
            lo = mid + 1;
        } else {
            hi = mid;
        }
    }
    *n = 0;
    while (lo + *n < end && v[lo + *n].message == message && v[lo + *n].part == part) {
        ++*n;
    }
    return *n > 0 ? &v[lo] : NULL;
}

/* ".content" or ".content[3].text": the part, and whether the path is that of
 * its text. */
static bool read_path(cf_str path, uint32_t *part, bool *is_text)
{
    static const char head[] = ".content";
    size_t at = sizeof head - 1;
    *part = CF_SHAPE_TEXT;
    if (!cf_str_begins(path, head) || (path.n > at && path.p[at] != '[')) {
        return false;
    }
    *is_text = path.n == at;
    uint32_t v = 0;
    for (at++; at < path.n && path.p[at] >= '0' && path.p[at] <= '9' && v < 100000000; at++) {
        v = v * 10 + (uint32_t)(path.p[at] - '0');
    }
    if (!*is_text) {
        *part = v;
        *is_text = cf_str_is(cf_str_make(path.p + at, path.n - at), "].text");
    }
    return true;
}

/* Spans on their way. */
typedef struct writer {
    const cf_shape *s;
    cf_arena *arena;
    cf_prompt_span *v;
    size_t n, cap;
} writer;

static void put(writer *w, const cf_prompt_span *span)
{
    if (w->n == w->cap) {
        size_t cap = w->cap * 2 + 16;
        cf_prompt_span *v = cf_arena_alloc(w->arena, cap * sizeof *v);
        if (v == NULL) {
            return; /* the arena remembers */
        }
        if (w->n > 0) {
            memcpy(v, w->v, w->n * sizeof *v);
        }
        w->v = v;
        w->cap = cap;
    }
    w->v[w->n++] = *span;
}

static cf_str copy_path(const writer *w, cf_str path)
{
    char *p = cf_arena_strndup(w->arena, path.p, path.n);
    return cf_str_make(p, p != NULL ? path.n : 0);
}

/* A span of a piece, as one of the message it belongs to. */
static void settle(const writer *w, cf_prompt_span *span, const cf_shape_piece *piece)
{
    span->index = piece->is_tools ? 0 : piece->origin;
    span->source = piece->is_tools ? CF_SPAN_VARIABLE : CF_SPAN_MESSAGE;
    if (piece->why != NULL) {
        span->path = cf_str_from(piece->why);
    } else {
        span->path = copy_path(w, piece->path);
    }
    span->is_copy = span->is_copy && piece->is_copy;
    span->src_off = span->is_copy ? span->src_off - piece->from : 0;
}

/* A span that shows bytes of a text as they are: cut at the text's pieces. */
static void put_copy(writer *w, cf_prompt_span span, const cf_shape_piece *v, size_t n)
{
    for (size_t i = 0; i < n && span.len > 0; i++) {
        if (span.src_off >= v[i].to) {
            continue;
        }
        cf_prompt_span one = span;
        one.len = v[i].to - span.src_off < span.len ? v[i].to - span.src_off : span.len;
        span.off += one.len;
        span.src_off += one.len;
        span.len -= one.len;
        settle(w, &one, &v[i]);
        put(w, &one);
    }
}

/* The only piece that is a message's own; NULL: none, or several. */
static const cf_shape_piece *only_own(const cf_shape_piece *v, size_t n)
{
    const cf_shape_piece *only = NULL;
    for (size_t i = 0; i < n; i++) {
        if (v[i].why == NULL && only != NULL) {
            return NULL;
        }
        only = v[i].why == NULL ? &v[i] : only;
    }
    return only;
}

static void put_content(writer *w, cf_prompt_span span, uint32_t part, bool is_text)
{
    size_t n;
    const cf_shape_piece *v = pieces_of(w->s, span.index, part, &n);
    if (n > 0 && span.is_copy && is_text && span.src_off + span.len <= v[n - 1].to) {
        put_copy(w, span, v, n);
        return;
    }
    const cf_shape_piece *only = only_own(v, n);
    if (only != NULL) {
        span.is_copy = false;
        settle(w, &span, only);
    } else {
        span.index = origin_of(w->s, span.index);
        span.path = n > 0 ? cf_str_from("") : span.path;
        span.is_copy = span.is_copy && n == 0;
    }
    put(w, &span);
}

/* Any other member of a message. */
static void put_member(writer *w, cf_prompt_span span)
{
    const cf_buf *b = &w->s->moves;
    for (size_t i = 0; i < b->n / sizeof(cf_shape_move); i++) {
        cf_shape_move move;
        memcpy(&move, b->p + i * sizeof move, sizeof move);
        if (move.message == span.index && cf_str_starts(span.path, move.to) &&
            (span.path.n == move.to.n || strchr(".[", span.path.p[move.to.n]) != NULL)) {
            span.path = copy_path(w, move.from);
            span.is_copy = false;
            span.src_off = 0;
            break;
        }
    }
    span.index = origin_of(w->s, span.index);
    put(w, &span);
}

/* A span of a declaration: the shaped list is flat. */
static void put_tool(writer *w, cf_prompt_span span)
{
    static const char inner[] = ".function";
    size_t n = 0;
    const cf_tool *v = w->s->tools != NULL ? cf_tool_set_items(w->s->tools, &n) : NULL;
    if (span.index < n) {
        const cf_tool *tool = &v[span.index];
        cf_str rest = span.path;
        if (json_object_get(tool->raw, "function") == NULL && cf_str_begins(rest, inner)) {
            rest = cf_str_make(rest.p + sizeof inner - 1, rest.n - (sizeof inner - 1));
        }
        char *path = cf_arena_alloc(w->arena, tool->path.n + rest.n + 1);
        if (path != NULL && tool->path.n + rest.n > 0) {
            snprintf(path, tool->path.n + rest.n + 1, "%.*s%.*s", (int)tool->path.n, tool->path.p,
                     (int)rest.n, rest.p);
        }
        span.path = cf_str_make(path, path != NULL ? tool->path.n + rest.n : 0);
        span.index = (uint32_t)tool->index;
    }
    put(w, &span);
}

cf_status cf_shape_spans(const cf_shape *s, cf_prompt *prompt, cf_arena *arena, cf_error *err)
{
    writer w = {.s = s, .arena = arena};
    for (size_t i = 0; i < prompt->n_spans; i++) {
        const cf_prompt_span span = prompt->spans[i];
        uint32_t part;
        bool is_text;
        if (span.source == CF_SPAN_TOOL) {
            put_tool(&w, span);
        } else if (span.source != CF_SPAN_MESSAGE) {
            put(&w, &span);
        } else if (read_path(span.path, &part, &is_text)) {
            put_content(&w, span, part, is_text);
        } else {
            put_member(&w, span);
        }
    }
    if (arena->failed) {
        return cf_oom_for(err, "spans");
    }
    prompt->spans = w.v;
    prompt->n_spans = w.n;
    return CF_OK;
}
