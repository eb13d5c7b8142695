/*
 * parts.c - finds parts, and takes them out.
 *
 * A part is named by where it is in the context; a change copies only what
 * lies on the way to it.
 */
#include "tui/study/influence/parts.h"

#include <string.h>

#include "core/base/alloc.h"
#include "core/base/text_cut.h"
#include "tui/study/ask/predicate.h"

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

cf_status cf_part_kinds_read(uint32_t *out, const char *text, cf_error *err)
{
    *out = 0;
    for (const char *at = text; *at != '\0';) {
        size_t n = strcspn(at, ",");
        cf_part_kind kind;
        if (!cf_part_kind_parse(&kind, cf_str_make(at, n))) {
            return cf_fail(err, CF_EINVAL,
                           "--by takes message, tool, sentence, word, field or "
                           "template, or several with commas, not '%.40s'",
                           at);
        }
        *out |= 1u << kind;
        at += n + (at[n] == ',');
    }
    return CF_OK;
}

/* ---- text --------------------------------------------------------------- */

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
    if (out->n >= CF_INFLUENCE_PARTS_MAX) {
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

static cf_str tool_name(const json_t *tool)
{
    return cf_json_get_str(json_object_get(tool, "function"), "name");
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
        cf_buf_adds(&path, "parameters.");
        cf_buf_adds(&path, json_object_iter_key(iter));
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
            CF_TRY(add(out, part, tool_name(tool), arena));
        } else if (only == SIZE_MAX || only == i) {
            CF_TRY(add_fields(out, tool, i, arena));
        }
    }
    return CF_OK;
}

cf_status cf_parts_add(cf_part_list *out, cf_part_kind kind, const cf_study_context *c,
                       const cf_prompt *prompt, const cf_influence_options *o, cf_arena *arena,
                       cf_error *err)
{
    cf_status st = CF_OK;
    switch (kind) {
    case CF_PART_MESSAGE:
    case CF_PART_SENTENCE:
    case CF_PART_WORD:
        st = add_messages(out, kind, c->messages, o->message, arena);
        break;
    case CF_PART_TOOL:
    case CF_PART_FIELD:
        st = add_tools(out, kind, c->tools, o->tool, arena);
        break;
    case CF_PART_PIECE:
        st = add_pieces(out, prompt, arena);
        break;
    case CF_PART_KINDS:
        break;
    }
    return st == CF_ELIMIT   ? cf_fail(err, st, "more than %d parts: choose one message or tool",
                                       (int)CF_INFLUENCE_PARTS_MAX)
           : st == CF_ENOMEM ? cf_oom_for(err, "the parts")
                             : st;
}

/* ---- contexts ----------------------------------------------------------- */

void cf_parts_drop(cf_study_context *c)
{
    json_decref(cf_json_ref(c->messages));
    json_decref(cf_json_ref(c->tools));
    json_decref(cf_json_ref(c->extra));
    *c = (cf_study_context){.messages = NULL};
}

/* The list with item i replaced (NULL: removed). */
static json_t *with_item(const json_t *list, size_t i, const json_t *instead)
{
    json_t *copy = cf_json_copy(list);
    int bad = copy == NULL      ? 1
              : instead == NULL ? json_array_remove(copy, i)
                                : json_array_set(copy, i, cf_json_ref(instead));
    if (bad != 0) {
        json_decref(copy);
        return NULL;
    }
    return copy;
}

/* The text without bytes [off, off + len), or with others in their place.  The
 * last sentence takes the white space before it along. */
static json_t *with_text(cf_str t, size_t off, size_t len, const json_t *instead)
{
    cf_buf b = CF_BUF_INIT;
    size_t end = off + len < t.n ? off + len : t.n;
    cf_str middle = cf_str_make("", 0);
    if (instead != NULL) {
        middle = cf_str_make(json_string_value(instead), json_string_length(instead));
        while (end > off && cf_is_blank(t.p[end - 1])) {
            end--;
        }
    }
    while (instead == NULL && end == t.n && off > 0 && cf_is_blank(t.p[off - 1])) {
        off--;
    }
    cf_buf_add(&b, t.p, off);
    cf_buf_add(&b, middle.p, middle.n);
    cf_buf_add(&b, t.p + end, t.n - end);
    json_t *v = b.failed ? NULL : json_stringn(cf_buf_cstr(&b), b.n);
    cf_buf_deinit(&b);
    return v;
}

static json_t *with_sentence(const json_t *message, const cf_part *p, const json_t *instead)
{
    const json_t *content = json_object_get(message, "content");
    json_t *copy = cf_json_copy(message), *v = NULL;
    if (p->item == SIZE_MAX) {
        v = with_text(cf_json_get_str(message, "content"), p->off, p->len, instead);
    } else {
        const json_t *old = json_array_get(content, p->item);
        json_t *item = cf_json_copy(old);
        json_t *text = with_text(cf_json_get_str(old, "text"), p->off, p->len, instead);
        if (json_object_set_new(item, "text", text) == 0) {
            v = with_item(content, p->item, item);
        }
        json_decref(item);
    }
    if (json_object_set_new(copy, "content", v) != 0) {
        json_decref(copy);
        return NULL;
    }
    return copy;
}

/* Takes a name out of a schema's "required". */
static bool unrequire(json_t *schema, const char *name)
{
    json_t *old = json_object_get(schema, "required");
    if (!json_is_array(old)) {
        return true;
    }
    json_t *v = json_array();
    bool ok = v != NULL;
    for (size_t i = 0; ok && i < json_array_size(old); i++) {
        const char *one = json_string_value(json_array_get(old, i));
        if (one == NULL || strcmp(one, name) != 0) {
            ok = json_array_append(v, json_array_get(old, i)) == 0;
        }
    }
    return json_object_set_new(schema, "required", v) == 0 && ok;
}

static json_t *without_field(const json_t *tool, cf_str path)
{
    json_t *copy = cf_json_deep_copy(tool);
    json_t *f = json_object_get(copy, "function");
    static const char head[] = "parameters.";
    bool ok = copy != NULL;
    if (cf_str_is(path, "description")) {
        ok = ok && json_object_del(f, "description") == 0;
    } else {
        json_t *schema = json_object_get(f, "parameters");
        const char *name = path.p + (sizeof head - 1); /* ends with a NUL */
        ok = ok && json_object_del(json_object_get(schema, "properties"), name) == 0 &&
             unrequire(schema, name);
    }
    if (!ok) {
        json_decref(copy);
        return NULL;
    }
    return copy;
}

/* *out gets `c` with other messages and tools (new references, NULL: failed). */
static cf_status changed(cf_study_context *out, const cf_study_context *c, json_t *messages,
                         json_t *tools, cf_error *err)
{
    bool ok = messages != NULL && (tools != NULL || c->tools == NULL);
    *out = (cf_study_context){messages, tools, json_incref(cf_json_ref(c->extra)), c->as_is};
    if (!ok) {
        cf_parts_drop(out);
        return cf_oom_for(err, "the changed conversation");
    }
    if (json_array_size(tools) == 0) {
        json_decref(tools);
        out->tools = NULL;
    }
    return CF_OK;
}

cf_status cf_parts_change(cf_study_context *out, const cf_study_context *c, const cf_part *p,
                          const json_t *instead, cf_error *err)
{
    json_t *messages = json_incref(cf_json_ref(c->messages));
    json_t *tools = json_incref(cf_json_ref(c->tools));
    json_t *item = NULL;
    switch (p->kind) {
    case CF_PART_MESSAGE:
        json_decref(messages);
        messages = with_item(c->messages, p->index, instead);
        break;
    case CF_PART_SENTENCE:
    case CF_PART_WORD:
        json_decref(messages);
        item = with_sentence(json_array_get(c->messages, p->message), p, instead);
        messages = item != NULL ? with_item(c->messages, p->message, item) : NULL;
        break;
    case CF_PART_TOOL:
        json_decref(tools);
        tools = with_item(c->tools, p->index, instead);
        break;
    case CF_PART_FIELD:
        json_decref(tools);
        item = without_field(json_array_get(c->tools, p->index), p->path);
        tools = item != NULL ? with_item(c->tools, p->index, item) : NULL;
        break;
    case CF_PART_PIECE:
    case CF_PART_KINDS:
        json_decref(messages);
        json_decref(tools);
        return cf_fail(err, CF_EUNSUPPORTED, "what a template writes is not in the conversation");
    }
    json_decref(item);
    return changed(out, c, messages, tools, err);
}

cf_status cf_parts_empty(cf_study_context *out, const cf_study_context *c, size_t message,
                         cf_error *err)
{
    json_t *copy = cf_json_copy(json_array_get(c->messages, message));
    json_t *messages = NULL;
    if (copy != NULL && json_object_set_new(copy, "content", json_string("")) == 0) {
        messages = with_item(c->messages, message, copy);
    }
    json_decref(copy);
    return changed(out, c, messages, json_incref(cf_json_ref(c->tools)), err);
}

/* ---- the same part elsewhere -------------------------------------------- */

/* The message with the same role that is the same one of its role. */
static const json_t *find_message(const cf_study_context *in, size_t index,
                                  const cf_study_context *other)
{
    cf_str role = cf_json_get_str(json_array_get(in->messages, index), "role");
    size_t nth = 0;
    for (size_t i = 0; i < index; i++) {
        nth += cf_str_eq(cf_json_get_str(json_array_get(in->messages, i), "role"), role);
    }
    for (size_t i = 0; i < json_array_size(other->messages); i++) {
        const json_t *m = json_array_get(other->messages, i);
        if (cf_str_eq(cf_json_get_str(m, "role"), role) && nth-- == 0) {
            return m;
        }
    }
    return NULL;
}

typedef struct nth {
    cf_str text, found;
    size_t left;
} nth;

static bool take_nth(void *ud, size_t off, size_t len)
{
    nth *n = ud;
    if (n->left-- > 0) {
        return true;
    }
    n->found = cf_str_trim(cf_str_make(n->text.p + off, len));
    return false;
}

bool cf_parts_find(const cf_study_context *in, const cf_part *p, const cf_study_context *other,
                   const json_t **instead, cf_buf *text)
{
    *instead = NULL;
    if (p->kind == CF_PART_MESSAGE) {
        *instead = find_message(in, p->index, other);
        return *instead != NULL;
    }
    if (p->kind == CF_PART_TOOL) {
        *instead = json_array_get(other->tools, p->index);
        return *instead != NULL;
    }
    if (p->kind != CF_PART_SENTENCE && p->kind != CF_PART_WORD) {
        return false;
    }
    cf_buf whole = CF_BUF_INIT;
    cf_message_text(&whole, find_message(in, p->message, other), "");
    nth n = {.text = cf_buf_str(&whole), .left = p->index};
    cf_text_cut(n.text, p->kind == CF_PART_WORD, take_nth, &n);
    cf_buf_add(text, n.found.p, n.found.n);
    cf_buf_deinit(&whole);
    return n.found.p != NULL;
}

/* ---- prompts ------------------------------------------------------------ */

cf_status cf_parts_cut_prompt(cf_prompt *out, const cf_prompt *p, uint32_t line, uint32_t col,
                              cf_arena *arena, cf_error *err)
{
    char *text = cf_arena_alloc(arena, p->text.n + 1);
    out->spans = cf_arena_calloc(arena, p->n_spans + 1, sizeof *out->spans);
    out->n_spans = 0;
    if (text == NULL || out->spans == NULL) {
        return cf_oom_for(err, "the changed prompt");
    }
    uint32_t at = 0;
    for (size_t i = 0; i < p->n_spans; i++) {
        cf_prompt_span s = p->spans[i];
        if (s.source == CF_SPAN_TEMPLATE && s.line == line && s.col == col) {
            continue;
        }
        memcpy(text + at, p->text.p + s.off, s.len);
        s.off = at;
        at += s.len;
        out->spans[out->n_spans++] = s;
    }
    out->text = cf_str_make(text, at);
    return CF_OK;
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
