/*
 * part_change.c - contexts and prompts without some parts.
 *
 * A part is named by where it is in the context; a change copies only what
 * lies on the way to it.
 */
#include <string.h>

#include "core/api/message.h"
#include "core/base/text_cut.h"
#include "templates/prompt_part.h"

/* ---- one part ----------------------------------------------------------- */

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

static json_t *without_content(const json_t *message)
{
    json_t *copy = cf_json_copy(message);
    if (json_object_set_new(copy, "content", json_string("")) != 0) {
        json_decref(copy);
        return NULL;
    }
    return copy;
}

/* ---- the same part elsewhere -------------------------------------------- */

/* The message with the same role that is the same one of its role. */
static const json_t *find_message(const cf_part_context *in, size_t index,
                                  const cf_part_context *other)
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

/* A new reference, a string for a sentence or word; NULL when the other context has none. */
static json_t *find_same(const cf_part_context *in, const cf_part *p, const cf_part_context *other)
{
    if (p->kind == CF_PART_MESSAGE) {
        return json_incref(cf_json_ref(find_message(in, p->index, other)));
    }
    if (p->kind == CF_PART_TOOL) {
        return json_incref(json_array_get(other->tools, p->index));
    }
    if (p->kind != CF_PART_SENTENCE && p->kind != CF_PART_WORD) {
        return NULL;
    }
    cf_buf whole = CF_BUF_INIT;
    cf_message_text(&whole, find_message(in, p->message, other), "");
    nth n = {.text = cf_buf_str(&whole), .left = p->index};
    cf_text_cut(n.text, p->kind == CF_PART_WORD, take_nth, &n);
    json_t *found = n.found.p != NULL ? json_stringn(n.found.p, n.found.n) : NULL;
    cf_buf_deinit(&whole);
    return found;
}

/* ---- several parts ------------------------------------------------------ */

/* Parts within texts change before the messages and tools that have them, and
 * later ones before earlier ones, so that each is still where it was. */
static bool goes_before(const cf_part *a, const cf_part *b)
{
    bool a_whole = a->kind == CF_PART_MESSAGE || a->kind == CF_PART_TOOL;
    bool b_whole = b->kind == CF_PART_MESSAGE || b->kind == CF_PART_TOOL;
    return a_whole != b_whole ? b_whole : a_whole ? a->index > b->index : a->off > b->off;
}

static void sort(const cf_part_set *set)
{
    for (size_t i = 1; i < set->n; i++) {
        const cf_part *p = set->part[i];
        size_t at = i;
        while (at > 0 && goes_before(p, set->part[at - 1])) {
            set->part[at] = set->part[at - 1];
            at--;
        }
        set->part[at] = p;
    }
}

/* Changes a context that holds references of its own. */
static cf_status change_one(cf_part_context *now, const cf_part_context *whole,
                            const cf_part_set *set, const cf_part *p, cf_error *err)
{
    bool is_tool = p->kind == CF_PART_TOOL || p->kind == CF_PART_FIELD;
    bool is_text = p->kind == CF_PART_SENTENCE || p->kind == CF_PART_WORD;
    bool empties = set->empties && p->kind == CF_PART_MESSAGE;
    const json_t **list = is_tool ? &now->tools : &now->messages;
    size_t at = is_text ? p->message : p->index;
    const json_t *was = json_array_get(*list, at);
    json_t *instead = NULL, *less = NULL;
    if (p->kind == CF_PART_PIECE) {
        return cf_fail(err, CF_EUNSUPPORTED, "what a template writes is not in the conversation");
    }
    if (set->other != NULL && !empties) {
        instead = find_same(whole, p, set->other);
        if (instead == NULL) {
            return cf_fail(err, CF_ENOTFOUND, "the other conversation has no such part");
        }
    }
    json_t *item = empties                    ? without_content(was)
                   : is_text                  ? with_sentence(was, p, instead)
                   : p->kind == CF_PART_FIELD ? without_field(was, p->path)
                                              : json_incref(instead);
    bool removes = instead == NULL && !empties && !is_text && p->kind != CF_PART_FIELD;
    if (item != NULL || removes) {
        less = with_item(*list, at, item);
    }
    json_decref(item);
    json_decref(instead);
    if (less == NULL) {
        return cf_oom_for(err, "the changed conversation");
    }
    json_decref(cf_json_ref(*list));
    *list = less;
    if (is_tool && json_array_size(less) == 0) {
        json_decref(less);
        *list = NULL;
    }
    return CF_OK;
}

void cf_parts_drop(cf_part_context *c)
{
    json_decref(cf_json_ref(c->messages));
    json_decref(cf_json_ref(c->tools));
    json_decref(cf_json_ref(c->extra));
    *c = (cf_part_context){.messages = NULL};
}

cf_status cf_parts_apply(cf_part_context *out, const cf_part_context *context,
                         const cf_part_set *set, cf_error *err)
{
    cf_status st = CF_OK;
    *out = (cf_part_context){json_incref(cf_json_ref(context->messages)),
                             json_incref(cf_json_ref(context->tools)),
                             json_incref(cf_json_ref(context->extra)), context->as_is};
    sort(set);
    for (size_t i = 0; st == CF_OK && i < set->n; i++) {
        st = change_one(out, context, set, set->part[i], err);
    }
    if (st != CF_OK) {
        cf_parts_drop(out);
    }
    return st;
}

/* ---- prompts ------------------------------------------------------------ */

cf_status cf_part_context_render(cf_backend *backend, const cf_part_context *context,
                                 const cf_chat_options *options, cf_arena *arena, cf_prompt *out,
                                 cf_error *err)
{
    cf_tool_set *tools = NULL;
    if (json_array_size(context->tools) > 0) {
        CF_TRY(cf_tool_set_new(&tools, context->tools, err));
    }
    cf_chat_options with = options != NULL ? *options : (cf_chat_options){.as_is = false};
    with.as_is = context->as_is;
    const cf_chat_request request = {.messages = context->messages,
                                     .tools = tools,
                                     .extra_context = context->extra,
                                     .options = &with};
    cf_status st = cf_backend_render(backend, &request, arena, out, err);
    cf_tool_set_free(tools);
    return st;
}

static bool has_kind(const cf_part_set *set, cf_part_kind kind)
{
    for (size_t i = 0; i < set->n; i++) {
        if (set->part[i]->kind == kind) {
            return true;
        }
    }
    return false;
}

static bool wrote(const cf_part_set *set, const cf_prompt_span *s)
{
    bool is = false;
    for (size_t i = 0; s->source == CF_SPAN_TEMPLATE && !is && i < set->n; i++) {
        is = s->line == set->part[i]->line && s->col == set->part[i]->col;
    }
    return is;
}

/* The prompt without what some places of the template wrote. */
static cf_status cut_pieces(cf_prompt *out, const cf_part_render *from, const cf_part_set *set,
                            cf_error *err)
{
    const cf_prompt *p = from->whole;
    char *text = cf_arena_alloc(from->arena, p->text.n + 1);
    *out = *p;
    out->spans = cf_arena_calloc(from->arena, p->n_spans + 1, sizeof *out->spans);
    out->n_spans = 0;
    for (size_t i = 0; i < set->n; i++) {
        if (set->other != NULL || set->part[i]->kind != CF_PART_PIECE) {
            return cf_fail(err, CF_EUNSUPPORTED, "what the template writes can only be left out");
        }
    }
    if (text == NULL || out->spans == NULL) {
        return cf_oom_for(err, "the changed prompt");
    }
    uint32_t at = 0;
    for (size_t i = 0; i < p->n_spans; i++) {
        cf_prompt_span s = p->spans[i];
        if (!wrote(set, &s)) {
            memcpy(text + at, p->text.p + s.off, s.len);
            s.off = at;
            at += s.len;
            out->spans[out->n_spans++] = s;
        }
    }
    out->text = cf_str_make(text, at);
    return CF_OK;
}

static cf_status render(cf_prompt *out, const cf_part_render *from, const cf_part_set *set,
                        cf_error *err)
{
    cf_part_context c;
    CF_TRY(cf_parts_apply(&c, from->context, set, err));
    cf_status st = cf_part_context_render(from->backend, &c, from->options, from->arena, out, err);
    cf_parts_drop(&c);
    return st;
}

cf_status cf_parts_prompt(cf_prompt *out, const cf_part_render *from, const cf_part_set *set,
                          bool *is_emptied, cf_error *err)
{
    *is_emptied = false;
    if (has_kind(set, CF_PART_PIECE)) {
        return cut_pieces(out, from, set, err);
    }
    cf_status st = render(out, from, set, err);
    bool is_lost = st == CF_OK ? out->text.n == 0 : st != CF_ENOMEM && st != CF_ECANCELLED;
    if (is_lost && has_kind(set, CF_PART_MESSAGE) && set->other == NULL) {
        cf_error ignored;
        cf_part_set emptied = *set;
        emptied.empties = true;
        cf_status again = render(out, from, &emptied, &ignored);
        *is_emptied = again == CF_OK;
        st = again == CF_OK ? again : again == CF_ENOMEM ? cf_oom_for(err, "the parts") : st;
    }
    return st;
}
