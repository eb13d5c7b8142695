/*
 * message_shape.c - the steps, each of them only where the template's
 * capabilities ask for it.
 *
 *   1. Messages and declarations of every form get the one form
 *      (message_form.h); a content is a row of segments from there on.
 *   2. Pictures and sounds that the template does not write are left out.
 *   3. A result that is an object becomes its JSON text.
 *   4. Calls without ids get some, where the template wants them; arguments
 *      that are a string of JSON become the object.
 *   5. Calls that the template does not write are written into the content,
 *      results become messages of the user, both in the family's syntax.
 *   6. Messages of one role in a row become one where roles must alternate, and
 *      a system message that the template does not take the beginning of the
 *      user's first one.
 *   7. Declarations that it does not write go into the system message.
 *   8. Segments become a string, or a list where there is more than text.
 *
 * Always true: each byte of a shaped content lies in one piece, which says
 * where it is from.
 */
#include "templates/shape/message_shape.h"

#include <stdio.h>
#include <string.h>

#include "core/api/message.h"
#include "core/json/json_builder.h"
#include "templates/shape/shape_impl.h"

/* ---- what is needed ----------------------------------------------------- */

static bool is_missing(cf_cap cap)
{
    return cap == CF_CAP_NO || cap == CF_CAP_DROPPED;
}

bool cf_shape_is_needed(const json_t *context)
{
    const json_t *messages = json_object_get(context, "messages");
    cf_str last = {NULL, 0};
    if (json_object_get(context, "tools") != NULL || !json_is_array(messages)) {
        return true;
    }
    for (size_t i = 0; i < json_array_size(messages); i++) {
        const json_t *m = json_array_get(messages, i);
        cf_str role = cf_json_get_str(m, "role");
        const bool is_plain = json_object_size(m) == 2 &&
                              json_is_string(json_object_get(m, "content")) &&
                              (cf_str_is(role, "user") || cf_str_is(role, "assistant"));
        if (!is_plain || cf_str_eq(role, last)) {
            return true;
        }
        last = role;
    }
    return false;
}

/* ---- segments ----------------------------------------------------------- */

static const char no_calls[] = CF_ADDED_CALLS;
static const char no_call_text[] = CF_ADDED_CALLS_BESIDE_TEXT;
static const char no_results[] = "added by confab: the template writes no results";
static const char no_tools[] = "added by confab: the template writes no tools";
static const char no_system[] = "added by confab: the template takes no system message";
static const char alternates[] = "added by confab: roles must alternate";

static bool role_is(const cf_shape__message *m, const char *role)
{
    return cf_str_is(cf_json_get_str(m->m, "role"), role);
}

static void set(cf_shaper *s, json_t *m, const char *key, json_t *v)
{
    cf_jb_set(&s->tree, m, key, v);
}

static void check(cf_shaper *s, cf_status st)
{
    if (st == CF_ENOMEM) {
        cf_jb_fail(&s->tree);
    }
}

/* The contents of a buffer that was filled; without memory everything fails. */
static cf_str filled(cf_shaper *s, const cf_buf *b)
{
    if (b->failed) {
        cf_jb_fail(&s->tree);
    }
    return cf_buf_str(b);
}

static void add_segment(cf_shaper *s, cf_shape__message *m, const cf_shape__segment *segment)
{
    if (segment->text.n > 0 || segment->part != NULL) {
        cf_buf_add(&m->segments, segment, sizeof *segment);
        (void)filled(s, &m->segments);
    }
}

static cf_str keep(cf_shaper *s, cf_str text)
{
    char *p = cf_arena_strndup(&s->out->arena, text.p, text.n);
    return cf_str_make(p, p != NULL ? text.n : 0);
}

/* Text that confab wrote, for message `origin`. */
static void add_ours(cf_shaper *s, cf_shape__message *m, cf_str text, const char *why)
{
    const cf_shape__segment segment = {
        .text = keep(s, text), .origin = m->origin, .why = why, .is_tools = why == no_tools};
    add_segment(s, m, &segment);
}

/* All segments of `from` after those of `to`. */
static void add_all(cf_shaper *s, cf_shape__message *to, const cf_shape__message *from)
{
    cf_buf_add(&to->segments, from->segments.p, from->segments.n);
    (void)filled(s, &to->segments);
}

/* `first` before the segments of m. */
static void add_before(cf_shaper *s, cf_shape__message *m, cf_shape__message *first)
{
    add_all(s, first, m);
    cf_buf swap = m->segments;
    m->segments = first->segments;
    first->segments = swap;
}

static bool has_text(const cf_shape__message *m)
{
    size_t n;
    const cf_shape__segment *v = cf_shape__segments(m, &n);
    return n > 0 && v != NULL;
}

/* The text of all segments. */
static void put_text(cf_buf *out, const cf_shape__message *m)
{
    size_t n;
    const cf_shape__segment *v = cf_shape__segments(m, &n);
    for (size_t i = 0; i < n; i++) {
        cf_buf_add(out, v[i].text.p, v[i].text.n);
    }
}

/* ---- 1 to 3: content ---------------------------------------------------- */

/* Whether the template writes a mark for a medium in such a message. */
static bool takes_medium(const cf_shaper *s, const cf_shape__message *m, const char *kind)
{
    const cf_template_caps *c = s->caps;
    cf_cap cap = strcmp(kind, "image") == 0   ? c->image_parts
                 : strcmp(kind, "audio") == 0 ? c->audio_parts
                 : strcmp(kind, "video") == 0 ? c->video_parts
                                              : CF_CAP_DROPPED;
    cf_cap list = role_is(m, "tool")     ? c->typed_results
                  : role_is(m, "system") ? c->typed_system
                                         : c->typed_content;
    return cap == CF_CAP_YES && list == CF_CAP_YES;
}

/* A medium under the type that templates look for. */
static void add_medium(cf_shaper *s, cf_shape__message *m, const cf_item *item)
{
    const char *kind = cf_part_medium(item->value);
    if (kind == NULL || !takes_medium(s, m, kind)) {
        return;
    }
    json_t *part = cf_json_copy(item->value);
    set(s, part, "type", json_string(kind));
    cf_jb_append(&s->tree, s->kept, part);
    const cf_shape__segment segment = {
        .part = part, .origin = item->origin, .path = item->path, .is_copy = true};
    add_segment(s, m, &segment);
}

static void add_text(cf_shaper *s, cf_shape__message *m, const cf_item *item)
{
    const cf_shape__segment segment = {
        .text = item->text, .origin = item->origin, .path = item->path, .is_copy = true};
    add_segment(s, m, &segment);
}

/* The JSON in a string; NULL where it is none. */
static json_t *read_json(cf_shaper *s, cf_str text)
{
    json_t *v = NULL;
    cf_error why;
    check(s, cf_json_read(&v, text.p, text.n, &why));
    return v;
}

/* A result that is JSON: the value where the template has a form for it, else
 * its text. */
static void add_value(cf_shaper *s, cf_shape__message *m, const cf_item *item)
{
    cf_buf text = CF_BUF_INIT;
    if (json_is_object(item->value) && s->caps->object_results == CF_CAP_YES) {
        m->value = item->value;
        m->value_path = item->path;
        return;
    }
    cf_json_write_spaced(&text, item->value);
    const cf_shape__segment segment = {
        .text = keep(s, filled(s, &text)), .origin = item->origin, .path = item->path};
    add_segment(s, m, &segment);
    cf_buf_deinit(&text);
}

/* A text that is a JSON object, for a template that has a form for objects. */
static void read_value(cf_shaper *s, cf_shape__message *m)
{
    size_t n;
    const cf_shape__segment *v = cf_shape__segments(m, &n);
    if (n != 1 || v[0].part != NULL || !role_is(m, "tool") ||
        s->caps->object_results != CF_CAP_YES) {
        return;
    }
    json_t *value = read_json(s, v[0].text);
    if (json_is_object(value)) {
        m->value = value;
        m->value_path = v[0].path;
        m->segments.n = 0;
        cf_jb_append(&s->tree, s->kept, json_incref(value));
    }
    json_decref(value);
}

/* The items of formed message i as segments. */
static void add_items(cf_shaper *s, cf_shape__message *m, size_t i)
{
    size_t n;
    const cf_item *items = cf_formed_items(&s->out->formed, &n);
    const size_t first = s->item;
    for (; s->item < n && items[s->item].message == i; s->item++) {
        const cf_item *item = &items[s->item];
        if (item->kind == CF_ITEM_TEXT) {
            add_text(s, m, item);
        } else if (item->kind == CF_ITEM_MEDIA) {
            add_medium(s, m, item);
        } else if (item->kind == CF_ITEM_VALUE) {
            add_value(s, m, item);
        } else if (item->kind == CF_ITEM_CALL) {
            cf_shape__move(s, m, "tool_calls", item->at, item->path);
        } else if (item->kind == CF_ITEM_REASONING) {
            cf_shape__move(s, m, "reasoning_content", UINT32_MAX, item->path);
        }
    }
    for (size_t k = first; k < s->item && !has_text(m) && m->value == NULL; k++) {
        if (items[k].kind == CF_ITEM_REFUSAL) {
            add_text(s, m, &items[k]);
        }
    }
    read_value(s, m);
}

/* ---- 4: ids ------------------------------------------------------------- */

static bool is_nine(cf_str id)
{
    for (size_t i = 0; i < id.n; i++) {
        char c = id.p[i];
        if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'))) {
            return false;
        }
    }
    return id.n == 9;
}

static bool id_fits(const cf_shaper *s, cf_str id)
{
    return s->caps->call_id_rule == CF_CALL_ID_FREE ||
           (s->caps->call_id_rule == CF_CALL_ID_NEEDED ? id.n > 0 : is_nine(id));
}

/* The ids that calls have now, in order and by the ids that they had. */
static void name_calls(cf_shaper *s, json_t *m)
{
    const json_t *calls = json_object_get(m, "tool_calls");
    if (json_array_size(calls) == 0 || s->caps->call_id_rule == CF_CALL_ID_FREE) {
        return;
    }
    json_t *list = json_array();
    json_array_clear(s->ids);
    json_object_clear(s->new_ids);
    s->next_id = 0;
    for (size_t i = 0; i < json_array_size(calls); i++) {
        json_t *call = cf_json_copy(json_array_get(calls, i));
        const char *old = json_string_value(json_object_get(json_array_get(calls, i), "id"));
        if (json_is_object(call) && !id_fits(s, cf_json_get_str(call, "id"))) {
            char made[16];
            snprintf(made, sizeof made, "call%05u", ++s->n_ids % 100000);
            set(s, call, "id", json_string(made));
        }
        json_t *id = cf_json_str(cf_json_get_str(call, "id"));
        if (old != NULL) {
            set(s, s->new_ids, old, json_incref(id));
        }
        cf_jb_append(&s->tree, s->ids, id);
        cf_jb_append(&s->tree, list, call);
    }
    set(s, m, "tool_calls", list);
}

/* The result's id: that of the call it names, else of the next in order. */
static void name_result(cf_shaper *s, json_t *m)
{
    cf_str id = cf_json_get_str(m, "tool_call_id");
    if (s->caps->call_id_rule == CF_CALL_ID_FREE) {
        return;
    }
    json_t *now = id.n > 0 ? json_object_get(s->new_ids, id.p) : NULL;
    now = now != NULL ? now : json_array_get(s->ids, s->next_id);
    s->next_id++;
    if (now != NULL) {
        set(s, m, "tool_call_id", json_incref(now));
    }
}

/* Arguments that are JSON in a string, as objects: OpenAI's interface has the
 * one, templates read the other. */
static void read_arguments(cf_shaper *s, json_t *m)
{
    const json_t *calls = json_object_get(m, "tool_calls");
    json_t *list = json_array();
    for (size_t i = 0; i < json_array_size(calls); i++) {
        json_t *call = cf_json_copy(json_array_get(calls, i));
        const json_t *function = json_object_get(call, "function");
        cf_str text = cf_json_get_str(function, "arguments");
        json_t *v = text.p == NULL             ? NULL
                    : cf_str_trim(text).n == 0 ? json_object()
                                               : read_json(s, text);
        if (json_is_object(v)) {
            json_t *copy = cf_json_copy(function);
            set(s, copy, "arguments", json_incref(v));
            set(s, call, "function", copy);
        }
        json_decref(v);
        cf_jb_append(&s->tree, list, call);
    }
    set(s, m, "tool_calls", list);
}

/* Reasoning under the name that the template reads. */
static void name_reasoning(cf_shaper *s, json_t *m)
{
    const char *to = s->caps->reasoning_field;
    json_t *v = json_object_get(m, "reasoning_content");
    if (v != NULL && to != NULL && strcmp(to, "reasoning_content") != 0 &&
        json_object_get(m, to) == NULL) {
        set(s, m, to, json_incref(v));
    }
}

/* ---- 5: calls and results ----------------------------------------------- */

/* The calls of a message in the family's syntax. */
static bool written_calls(cf_shaper *s, const json_t *message, cf_buf *out)
{
    const size_t n = json_array_size(json_object_get(message, "tool_calls"));
    cf_tool_call *v = cf_arena_alloc(&s->out->arena, n * sizeof *v);
    cf_message_call call;
    cf_error ignored;
    for (size_t i = 0; v != NULL && cf_message_call_at(&call, message, i); i++) {
        cf_buf args = CF_BUF_INIT;
        if (json_is_string(call.arguments) || json_is_object(call.arguments)) {
            cf_message_put_arguments(&args, &call, "");
        } else {
            cf_buf_adds(&args, "{}");
        }
        v[i] = (cf_tool_call){
            .name = call.name, .id = call.id, .arguments = keep(s, filled(s, &args))};
        cf_buf_deinit(&args);
    }
    if (v == NULL) {
        return false; /* the arena remembers */
    }
    cf_status st = cf_tool_format_calls(out, s->family, v, n, &ignored);
    if (st == CF_EUNSUPPORTED && s->family != CF_TOOLS_GENERIC) {
        st = cf_tool_format_calls(out, CF_TOOLS_GENERIC, v, n, &ignored);
    }
    check(s, st);
    return st == CF_OK;
}

/* Why confab writes the calls of a message; NULL where the template does. */
static const char *why_calls(const cf_shaper *s, const cf_shape__message *m, size_t n)
{
    const cf_template_caps *c = s->caps;
    if (is_missing(c->tool_calls)) {
        return cf_shape__needs_null(c) && !has_text(m) ? NULL : no_calls;
    }
    const bool may_write = c->loose_results == CF_CAP_YES;
    return may_write && has_text(m) && is_missing(c->call_text) ? no_call_text
           : may_write && n > 1 && is_missing(c->several_calls) ? no_calls
                                                                : NULL;
}

static void write_calls(cf_shaper *s, cf_shape__message *m)
{
    size_t n = json_array_size(json_object_get(m->m, "tool_calls"));
    const char *why = n > 0 ? why_calls(s, m, n) : NULL;
    if (why == NULL) {
        return;
    }
    cf_buf text = CF_BUF_INIT;
    cf_buf_adds(&text, has_text(m) ? "\n" : "");
    if (written_calls(s, m->m, &text)) {
        add_ours(s, m, filled(s, &text), why);
        json_object_del(m->m, "tool_calls");
    }
    cf_buf_deinit(&text);
}

/* The segments of a result as they are, and what the family's syntax has around
 * them.  A value that the syntax writes anew is not found in it. */
static void note_result(cf_shaper *s, cf_shape__message *m, cf_str own, cf_str text)
{
    size_t at = 0, n;
    const bool is_found = own.n > 0 && cf_str_find(text, own, &at);
    cf_shape__message out = {.origin = m->origin};
    const cf_shape__segment *v = cf_shape__segments(m, &n);
    if (is_found) {
        add_ours(s, &out, cf_str_make(text.p, at), no_results);
        add_all(s, &out, m);
        at += own.n;
        add_ours(s, &out, cf_str_make(text.p + at, text.n - at), no_results);
    } else {
        const cf_shape__segment all = {.text = keep(s, text),
                                       .origin = m->origin,
                                       .path = n > 0 ? v[0].path : cf_str_from("")};
        add_segment(s, &out, &all);
    }
    cf_buf_deinit(&m->segments);
    m->segments = out.segments;
}

/* A result that the template does not write, as a message of the user. */
static void write_result(cf_shaper *s, cf_shape__message *m)
{
    if (!role_is(m, "tool") || !is_missing(s->caps->tool_role)) {
        return;
    }
    cf_buf own = CF_BUF_INIT, text = CF_BUF_INIT;
    cf_error ignored;
    put_text(&own, m);
    json_t *value = read_json(s, cf_buf_str(&own)); /* often JSON in a string */
    json_t *said = value != NULL ? json_incref(value) : cf_json_buf(&own);
    cf_status st =
        said != NULL
            ? cf_tool_format_result(&text, s->family, cf_json_get_str(m->m, "name"), said, &ignored)
            : CF_ENOMEM;
    json_decref(value);
    json_decref(said);
    if (st == CF_OK) {
        note_result(s, m, filled(s, &own), filled(s, &text));
        set(s, m->m, "role", json_string("user"));
    }
    check(s, st);
    cf_buf_deinit(&own);
    cf_buf_deinit(&text);
}

/* ---- 6: messages that become one ---------------------------------------- */

static cf_shape__message *message_at(const cf_shaper *s, size_t i)
{
    return i < s->n ? &s->v[i] : NULL;
}

/* Takes the segments of `from` into `to`, with `between` if both have some. */
static void join(cf_shaper *s, cf_shape__message *to, const cf_shape__message *from,
                 const char *between, const char *why)
{
    if (has_text(to) && has_text(from)) {
        cf_shape__message middle = {.origin = from->origin};
        add_ours(s, &middle, cf_str_from(between), why);
        add_all(s, to, &middle);
        cf_buf_deinit(&middle.segments);
    }
    add_all(s, to, from);
}

static void remove_message(cf_shaper *s, size_t i)
{
    cf_shape__free(&s->v[i]);
    memmove(&s->v[i], &s->v[i + 1], (s->n - i - 1) * sizeof *s->v);
    s->n--;
}

/* Two messages of one role in a row are one where roles must alternate; the
 * last one was just added. */
static void join_last(cf_shaper *s)
{
    cf_shape__message *last = s->n > 1 ? &s->v[s->n - 2] : NULL;
    cf_shape__message *m = s->n > 1 ? &s->v[s->n - 1] : NULL;
    if (m == NULL || !s->caps->needs_alternation || last->value != NULL || m->value != NULL) {
        return;
    }
    static const char *const kept[] = {"tool_calls", "reasoning_content"};
    const bool is_user = role_is(m, "user") && role_is(last, "user");
    const bool is_reply = role_is(m, "assistant") && role_is(last, "assistant") &&
                          json_object_get(last->m, "tool_calls") == NULL;
    if (is_user || is_reply) {
        join(s, last, m, "\n", alternates);
        for (size_t i = 0; i < sizeof kept / sizeof kept[0]; i++) {
            json_t *v = json_object_get(m->m, kept[i]);
            if (v != NULL && json_object_get(last->m, kept[i]) == NULL) {
                set(s, last->m, kept[i], json_incref(v));
            }
        }
        cf_shape__move_all(s, m, last);
        remove_message(s, s->n - 1);
    }
}

/* System messages at the start are one where the template takes no later
 * one. */
static void join_systems(cf_shaper *s)
{
    size_t n = 0;
    while (n < s->n && role_is(&s->v[n], "system")) {
        n++;
    }
    if (n < 2 || !is_missing(s->caps->late_system)) {
        return;
    }
    for (size_t i = 1; i < n; i++) {
        join(s, &s->v[0], &s->v[i], "\n\n", no_system);
        cf_shape__free(&s->v[i]);
    }
    memmove(&s->v[1], &s->v[n], (s->n - n) * sizeof *s->v);
    s->n -= n - 1;
}

/* Whether the template writes no system message in this conversation. */
static bool is_without_system(const cf_shaper *s)
{
    return is_missing(s->caps->system) ||
           (is_missing(s->caps->closed_system) && s->n > 0 && !role_is(&s->v[s->n - 1], "user"));
}

static void fold_system(cf_shaper *s)
{
    cf_shape__message *first = message_at(s, 0), *user = message_at(s, 1);
    if (user == NULL || !role_is(first, "system") || !role_is(user, "user") ||
        !is_without_system(s)) {
        return;
    }
    if (has_text(first)) {
        add_ours(s, first, cf_str_from("\n\n"), no_system);
    }
    add_before(s, user, first);
    remove_message(s, 0);
}

/* ---- 7: declarations ---------------------------------------------------- */

static bool declaration_text(cf_shaper *s, cf_buf *out)
{
    static const cf_tool_call example = {.name = {"function_name", 13},
                                         .arguments = {"{\"parameter\":\"value\"}", 21}};
    cf_error err;
    cf_buf_adds(out, "You can call these functions:\n");
    cf_status st = cf_tool_format_declarations(out, s->family, s->out->tools, &err);
    cf_buf_adds(out, "\nWrite a call like this:\n");
    CF_THEN(st, cf_tool_format_calls(out, s->family, &example, 1, &err));
    check(s, st);
    return st == CF_OK;
}

/* In a system message of their own. */
static void tools_first(cf_shaper *s, cf_str text)
{
    cf_shape__message *m = cf_shape__add(s);
    if (m == NULL) {
        return;
    }
    cf_shape__message made = *m;
    made.m = json_pack("{s:s}", "role", "system");
    made.origin = 0;
    add_ours(s, &made, text, no_tools);
    memmove(&s->v[1], &s->v[0], (s->n - 1) * sizeof *s->v);
    s->v[0] = made;
}

/* Into the system message, else in front of the user's first message. */
static void write_tools(cf_shaper *s)
{
    cf_buf text = CF_BUF_INIT;
    size_t n_tools = 0, at = 0;
    if (s->out->tools != NULL) {
        cf_tool_set_items(s->out->tools, &n_tools);
    }
    if (n_tools == 0 || !is_missing(s->caps->tools) || !declaration_text(s, &text)) {
        cf_buf_deinit(&text);
        return;
    }
    cf_shape__message *first = message_at(s, 0);
    const bool takes_system = !is_without_system(s);
    if (takes_system && (first == NULL || !role_is(first, "system"))) {
        tools_first(s, filled(s, &text));
    } else if (takes_system) {
        cf_shape__message own = {.origin = 0};
        cf_buf both = CF_BUF_INIT;
        cf_buf_adds(&both, has_text(first) ? "\n\n" : "");
        cf_buf_add(&both, text.p, text.n);
        add_ours(s, &own, filled(s, &both), no_tools);
        add_all(s, first, &own);
        cf_buf_deinit(&both);
        cf_buf_deinit(&own.segments);
    } else {
        while (at < s->n && !role_is(&s->v[at], "user")) {
            at++;
        }
        if (at < s->n) {
            cf_shape__message own = {.origin = 0};
            cf_buf_adds(&text, "\n\n");
            add_ours(s, &own, filled(s, &text), no_tools);
            add_before(s, &s->v[at], &own);
            cf_buf_deinit(&own.segments);
        }
    }
    cf_buf_deinit(&text);
}

/* Members of a declaration that a template fails without. */
static void fill_tools(cf_shaper *s, json_t *tools)
{
    for (size_t i = 0; s->caps->bare_tools == CF_CAP_NO && i < json_array_size(tools); i++) {
        json_t *f = json_object_get(json_array_get(tools, i), "function");
        if (json_object_get(f, "description") == NULL) {
            set(s, f, "description", json_string(""));
        }
        json_t *schema = json_object_get(f, "parameters");
        if (schema == NULL) {
            set(s, f, "parameters", json_pack("{s:s, s:{}}", "type", "object", "properties"));
        } else if (json_object_get(schema, "properties") == NULL) {
            set(s, schema, "properties", json_object());
        }
    }
}

/* The declarations in OpenAI's form; what is none of any form stays. */
static void shape_tools(cf_shaper *s, const json_t *context)
{
    cf_error why;
    const json_t *given = json_object_get(context, "tools");
    cf_status st = given != NULL ? cf_tool_set_new(&s->out->tools, given, &why) : CF_OK;
    check(s, st);
    size_t n = 0;
    if (json_is_null(given)) {
        (void)json_object_del(s->out->context, "tools");
    }
    if (st == CF_OK && s->out->tools != NULL) {
        cf_tool_set_items(s->out->tools, &n);
    }
    if (n > 0) {
        json_t *tools = cf_tool_set_openai(s->out->tools);
        fill_tools(s, tools);
        set(s, s->out->context, "tools", tools);
    }
}

/* ---- all of it ---------------------------------------------------------- */

static void name_role(cf_shaper *s, json_t *m, const cf_role_map *map)
{
    cf_str role = cf_json_get_str(m, "role");
    cf_str to = cf_role_map_get(map, role);
    if (role.n > 0 && !cf_str_eq(role, to)) {
        set(s, m, "role", cf_json_str(to));
    }
}

/* Formed message i on its way into the list. */
static void shape_message(cf_shaper *s, size_t i)
{
    cf_shape__message *m = cf_shape__add(s);
    if (m == NULL) {
        return;
    }
    m->m = cf_json_copy(json_array_get(s->out->formed.messages, i));
    m->origin = cf_formed_origin(&s->out->formed, i);
    if (m->m == NULL) {
        cf_jb_fail(&s->tree);
        return;
    }
    name_role(s, m->m, &s->usual);
    add_items(s, m, i);
    name_calls(s, m->m);
    name_reasoning(s, m->m);
    if (json_object_get(m->m, "tool_calls") != NULL) {
        read_arguments(s, m->m);
    }
    if (role_is(m, "tool")) {
        name_result(s, m->m);
    }
    write_calls(s, m);
    write_result(s, m);
    join_last(s);
}

static cf_status shape_all(cf_shaper *s, const json_t *context, const cf_role_map *roles,
                           cf_error *err)
{
    for (size_t i = 0; !s->tree.failed && i < json_array_size(s->out->formed.messages); i++) {
        shape_message(s, i);
    }
    if (!s->tree.failed) {
        shape_tools(s, context);
        join_systems(s);
        fold_system(s);
        write_tools(s);
    }
    json_t *list = json_array();
    for (size_t i = 0; !s->tree.failed && i < s->n; i++) {
        cf_shape__finish(s, i);
        name_role(s, s->v[i].m, roles);
        cf_jb_append(&s->tree, list, json_incref(s->v[i].m));
    }
    set(s, s->out->context, "messages", list);
    CF_TRY(cf_jb_check(&s->tree, err));
    CF_TRY(cf_buf_check(&s->out->origins, err));
    CF_TRY(cf_buf_check(&s->out->moves, err));
    return s->out->arena.failed ? cf_oom(err) : cf_buf_check(&s->out->pieces, err);
}

cf_status cf_shape_init(cf_shape *out, const json_t *context, const cf_template_caps *caps,
                        const cf_role_map *roles, cf_tool_family family, cf_error *err)
{
    *out = (cf_shape){.context = cf_json_copy(context)};
    cf_arena_init(&out->arena, 0);
    cf_shaper s = {.out = out, .caps = caps, .family = family, .tree = CF_JB_INIT};
    cf_role_map_init(&s.usual, (cf_str){NULL, 0});
    s.ids = json_array();
    s.new_ids = json_object();
    s.kept = json_array();
    const bool is_made = s.ids != NULL && s.new_ids != NULL && s.kept != NULL;
    cf_status st = is_made && out->context != NULL ? CF_OK : cf_oom(err);
    json_t *messages = cf_context_messages(context);
    CF_THEN(st, cf_messages_form(&out->formed, messages, err));
    json_decref(messages);
    CF_THEN(st, shape_all(&s, context, roles, err));
    cf_shape__drop(&s);
    json_decref(s.ids);
    json_decref(s.new_ids);
    json_decref(s.kept);
    cf_jb_deinit(&s.tree);
    if (st != CF_OK) {
        cf_shape_deinit(out);
    }
    return st;
}

void cf_shape_deinit(cf_shape *s)
{
    json_decref(s->context);
    cf_tool_set_free(s->tools);
    cf_formed_deinit(&s->formed);
    cf_buf_deinit(&s->origins);
    cf_buf_deinit(&s->pieces);
    cf_buf_deinit(&s->moves);
    cf_arena_deinit(&s->arena);
    *s = (cf_shape){.context = NULL};
}
