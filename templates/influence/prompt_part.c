/*
 * prompt_part.c - finds the parts of a context and its prompt.
 */
#include "templates/prompt_part.h"

#include <string.h>

#include "core/api/message.h"
#include "core/base/alloc.h"
#include "core/base/text_cut.h"

static const char *const names[CF_PART_KINDS] = {
    "message", "tool", "sentence", "word", "field", "template",
};

const char *cf_part_kind_name(cf_part_kind kind)
{
    return names[kind];
}

bool cf_part_kind_parse(cf_part_kind *out, cf_str name)
{
    for (int i = 0; i < CF_PART_KINDS; i++) {
        if (cf_str_is(name, names[i])) {
            *out = (cf_part_kind)i;
            return true;
        }
    }
    return false;
}

cf_status cf_part_kinds_read(uint32_t *out, const char *text, const char *what, cf_error *err)
{
    *out = 0;
    for (const char *at = text; *at != '\0';) {
        size_t n = strcspn(at, ",");
        cf_part_kind kind;
        if (!cf_part_kind_parse(&kind, cf_str_make(at, n))) {
            return cf_fail(err, CF_EINVAL,
                           "%s takes message, tool, sentence, word, field or "
                           "template, or several with commas, not '%.40s'",
                           what, at);
        }
        *out |= 1u << kind;
        at += n + (at[n] == ',');
    }
    return CF_OK;
}

/* ---- the list ----------------------------------------------------------- */

typedef struct adding {
    cf_part_list *out;
    cf_arena *arena;
    cf_part part; /* what all of a text have in common */
    cf_str text;
    size_t n; /* of the message so far */
    cf_status st;
} adding;

/* Appends a part whose text is `text`, copied. */
static cf_status add(cf_part_list *out, cf_part part, cf_str text, cf_arena *arena)
{
    if (out->n >= CF_PARTS_MAX) {
        return CF_ELIMIT;
    }
    char *copy = cf_arena_strndup(arena, text.p != NULL ? text.p : "", text.n);
    if (copy == NULL || !cf_grow(&out->v, &out->cap, out->n + 1, sizeof *out->v)) {
        return CF_ENOMEM;
    }
    part.text = cf_str_make(copy, text.n);
    out->v[out->n++] = part;
    return CF_OK;
}

static bool add_cut(void *ud, size_t off, size_t len)
{
    adding *a = ud;
    a->part.index = a->n++;
    a->part.off = off;
    a->part.len = len;
    a->st = add(a->out, a->part, cf_str_trim(cf_str_make(a->text.p + off, len)), a->arena);
    return a->st == CF_OK;
}

static cf_status add_texts(adding *a, const json_t *message, bool words)
{
    const json_t *content = json_object_get(message, "content");
    a->n = 0;
    if (json_is_string(content)) {
        a->part.item = SIZE_MAX;
        a->text = cf_json_get_str(message, "content");
        cf_text_cut(a->text, words, add_cut, a);
    }
    for (size_t i = 0; a->st == CF_OK && i < json_array_size(content); i++) {
        a->part.item = i;
        a->text = cf_json_get_str(json_array_get(content, i), "text");
        cf_text_cut(a->text, words, add_cut, a);
    }
    return a->st;
}

static cf_status add_fields(cf_part_list *out, const json_t *tool, size_t index, cf_arena *arena)
{
    const json_t *f = json_object_get(tool, "function");
    const json_t *all = json_object_get(json_object_get(f, "parameters"), "properties");
    cf_str description = cf_json_get_str(f, "description");
    cf_part part = {.kind = CF_PART_FIELD, .index = index, .path = cf_str_from("description")};
    if (description.n > 0) {
        CF_TRY(add(out, part, description, arena));
    }
    void *iter = json_object_iter(cf_json_ref(all));
    for (; iter != NULL; iter = json_object_iter_next(cf_json_ref(all), iter)) {
        cf_buf path = CF_BUF_INIT;
        cf_buf_addf(&path, "parameters.%s", json_object_iter_key(iter));
        char *copy = path.failed ? NULL : cf_arena_strndup(arena, path.p, path.n);
        part.path = cf_str_make(copy, path.n);
        cf_buf_deinit(&path);
        if (copy == NULL) {
            return CF_ENOMEM;
        }
        cf_str text = cf_json_get_str(json_object_iter_value(iter), "description");
        CF_TRY(add(out, part, text, arena));
    }
    return CF_OK;
}

static cf_status add_pieces(cf_part_list *out, const cf_prompt *prompt, cf_arena *arena)
{
    size_t n = 0;
    for (size_t i = 0; i < prompt->n_spans; i++) {
        const cf_prompt_span *s = &prompt->spans[i];
        bool is_known = s->source != CF_SPAN_TEMPLATE || s->len == 0 || cf_prompt_span_is_added(s);
        for (size_t k = 0; k < out->n && !is_known; k++) {
            is_known = out->v[k].kind == CF_PART_PIECE && out->v[k].line == s->line &&
                       out->v[k].col == s->col;
        }
        if (is_known) {
            continue;
        }
        const cf_part part = {.kind = CF_PART_PIECE,
                              .index = n++,
                              .off = s->off,
                              .len = s->len,
                              .line = s->line,
                              .col = s->col};
        CF_TRY(add(out, part, cf_str_make(prompt->text.p + s->off, s->len), arena));
    }
    return CF_OK;
}

static cf_status add_messages(cf_part_list *out, cf_part_kind kind, const json_t *messages,
                              size_t only, cf_arena *arena)
{
    adding a = {.out = out, .arena = arena};
    for (size_t i = 0; i < json_array_size(messages); i++) {
        const json_t *m = json_array_get(messages, i);
        a.part = (cf_part){.kind = kind, .index = i, .message = i};
        if (kind == CF_PART_MESSAGE) {
            cf_buf text = CF_BUF_INIT;
            cf_message_text(&text, m, "");
            cf_status st = text.failed ? CF_ENOMEM : add(out, a.part, cf_buf_str(&text), arena);
            cf_buf_deinit(&text);
            CF_TRY(st);
        } else if (only == SIZE_MAX || only == i) {
            CF_TRY(add_texts(&a, m, kind == CF_PART_WORD));
        }
    }
    return CF_OK;
}

static cf_status add_tools(cf_part_list *out, cf_part_kind kind, const json_t *tools, size_t only,
                           cf_arena *arena)
{
    for (size_t i = 0; i < json_array_size(tools); i++) {
        const json_t *tool = json_array_get(tools, i);
        if (kind == CF_PART_TOOL) {
            const cf_part part = {.kind = kind, .index = i};
            CF_TRY(
                add(out, part, cf_json_get_str(json_object_get(tool, "function"), "name"), arena));
        } else if (only == SIZE_MAX || only == i) {
            CF_TRY(add_fields(out, tool, i, arena));
        }
    }
    return CF_OK;
}

static cf_status add_kind(cf_part_list *out, cf_part_kind kind, const cf_part_choice *choice,
                          const cf_part_context *c, const cf_prompt *prompt, cf_arena *arena)
{
    switch (kind) {
    case CF_PART_MESSAGE:
    case CF_PART_SENTENCE:
    case CF_PART_WORD:
        return add_messages(out, kind, c->messages, choice->message, arena);
    case CF_PART_TOOL:
    case CF_PART_FIELD:
        return add_tools(out, kind, c->tools, choice->tool, arena);
    case CF_PART_PIECE:
        return prompt != NULL ? add_pieces(out, prompt, arena) : CF_OK;
    case CF_PART_KINDS:
        break;
    }
    return CF_OK;
}

cf_status cf_parts_add(cf_part_list *out, const cf_part_choice *choice, const cf_part_context *c,
                       const cf_prompt *prompt, cf_arena *arena, cf_error *err)
{
    cf_status st = CF_OK;
    for (int k = 0; st == CF_OK && k < CF_PART_KINDS; k++) {
        if ((choice->kinds & 1u << k) != 0) {
            st = add_kind(out, (cf_part_kind)k, choice, c, prompt, arena);
        }
    }
    return st == CF_ELIMIT   ? cf_fail(err, st, "more than %d parts: choose one message or tool",
                                       (int)CF_PARTS_MAX)
           : st == CF_ENOMEM ? cf_oom_for(err, "the parts")
                             : st;
}

/* ---- one part ----------------------------------------------------------- */

void cf_part_write(const cf_part *p, cf_jw *w)
{
    cf_jw_uint(w, "index", p->index);
    if (p->kind == CF_PART_SENTENCE || p->kind == CF_PART_WORD) {
        cf_jw_uint(w, "message", p->message);
    }
    if (p->kind == CF_PART_FIELD) {
        cf_jw_str(w, "path", p->path);
    }
    if (p->kind == CF_PART_PIECE) {
        cf_jw_uint(w, "line", p->line);
        cf_jw_uint(w, "column", p->col);
    }
}

bool cf_part_contains(const cf_part *outer, const cf_part *inner)
{
    bool is_text = inner->kind == CF_PART_SENTENCE || inner->kind == CF_PART_WORD;
    switch (outer->kind) {
    case CF_PART_MESSAGE:
        return is_text && inner->message == outer->index;
    case CF_PART_SENTENCE:
        return inner->kind == CF_PART_WORD && inner->message == outer->message &&
               inner->item == outer->item && inner->off >= outer->off &&
               inner->off < outer->off + outer->len;
    case CF_PART_TOOL:
        return inner->kind == CF_PART_FIELD && inner->index == outer->index;
    default:
        return false;
    }
}

static bool has_item_path(const cf_prompt_span *s, size_t item)
{
    cf_buf want = CF_BUF_INIT;
    if (item == SIZE_MAX) {
        return cf_str_is(s->path, ".content");
    }
    cf_buf_addf(&want, ".content[%zu].text", item);
    bool is = cf_str_eq(s->path, cf_buf_str(&want));
    cf_buf_deinit(&want);
    return is;
}

bool cf_parts_has_byte(const cf_prompt *prompt, const cf_part *p, size_t off)
{
    const cf_prompt_span *s = cf_prompt_span_at(prompt, off);
    if (s == NULL) {
        return false;
    }
    size_t src = s->src_off + (off - s->off);
    switch (p->kind) {
    case CF_PART_MESSAGE:
        return s->source == CF_SPAN_MESSAGE && s->index == p->index && !cf_str_is(s->path, ".role");
    case CF_PART_TOOL:
        return s->source == CF_SPAN_TOOL && s->index == p->index;
    case CF_PART_SENTENCE:
    case CF_PART_WORD:
        return s->source == CF_SPAN_MESSAGE && s->index == p->message && s->is_copy &&
               has_item_path(s, p->item) && src >= p->off && src < p->off + p->len;
    case CF_PART_PIECE:
        return s->source == CF_SPAN_TEMPLATE && s->line == p->line && s->col == p->col;
    case CF_PART_FIELD:
    case CF_PART_KINDS:
        break;
    }
    return false;
}
