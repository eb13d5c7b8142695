/*
 * losses.c - finds what of a context is not in its prompt, by the spans.
 *
 * A message is taken apart as templates get it (message_form.h); each of its
 * items knows the place that spans name.  A picture or a sound leaves a mark
 * of the template's own, written where the template found the type of a part
 * to be that kind: those marks are counted.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/api/message_form.h"
#include "core/base/alloc.h"
#include "core/base/safe_text.h"
#include "core/chat/conversation_impl.h"

/* Whether `path` is `field` or lies in it: ".content[1]" holds
 * ".content[1].text", not ".content[10]". */
static bool is_inside(cf_str path, cf_str field)
{
    return cf_str_starts(path, field) &&
           (path.n == field.n || path.p[field.n] == '.' || path.p[field.n] == '[');
}

static const char added[] = "added by confab";

bool cf_prompt_span_is_added(const cf_prompt_span *span)
{
    size_t n = sizeof added - 1;
    return span->path.n > n && memcmp(span->path.p, added, n) == 0;
}

/* Whether a computed span has a value of messages[i] or tools[i] among its
 * inputs. */
static bool is_input(const cf_prompt_span *s, cf_span_source source, size_t i)
{
    char name[40];
    snprintf(name, sizeof name, "%s[%zu]", source == CF_SPAN_TOOL ? "tools" : "messages", i);
    return cf_str_find(s->path, cf_str_from(name), NULL);
}

/* Whether confab wrote the calls of message i in this span. */
static bool has_calls(const cf_prompt_span *s, size_t i)
{
    return s->source == CF_SPAN_MESSAGE && s->index == i &&
           (cf_str_is(s->path, CF_ADDED_CALLS) || cf_str_is(s->path, CF_ADDED_CALLS_BESIDE_TEXT));
}

/* Whether the span shows the value at `path`, or a part of it, or was made of
 * it together with what is around it. */
static bool shows(const cf_prompt_span *s, cf_span_source source, size_t i, cf_str path)
{
    if (s->len == 0) {
        return false;
    }
    if (s->source == CF_SPAN_COMPUTED) {
        return is_input(s, source, i);
    }
    if (source == CF_SPAN_TOOL && s->source == CF_SPAN_VARIABLE) {
        return cf_prompt_span_is_added(s); /* declarations that confab wrote */
    }
    return s->source == source && s->index == i &&
           (is_inside(s->path, path) || (!s->is_copy && s->path.n > 0 && is_inside(path, s->path)));
}

bool cf_prompt_shows(const cf_prompt *p, cf_span_source source, size_t i, cf_str path)
{
    const cf_str calls = cf_str_from(".tool_calls");
    bool found = p->n_spans == 0 || (p->is_foreign && (source != CF_SPAN_TOOL || p->shows_tools));
    for (size_t k = 0; !found && k < p->n_spans; k++) {
        const cf_prompt_span *s = &p->spans[k];
        found = shows(s, source, i, path) || (is_inside(path, calls) && has_calls(s, i));
    }
    return found;
}

/* Whether the spans say where the prompt's bytes are from. */
static bool is_known(const cf_prompt *p)
{
    return p->n_spans > 0 && !p->is_foreign;
}

/* ---- marks of media ----------------------------------------------------- */

/* Whether a span was written because a part was found to be of this kind. */
static bool is_mark_of(const cf_prompt_span *s, const char *kind)
{
    if (s->source != CF_SPAN_TEMPLATE || s->cause == NULL || !s->cause->is_true) {
        return false;
    }
    return (s->cause->kind == CF_CAUSE_IF || s->cause->kind == CF_CAUSE_CHOICE) &&
           cf_str_find(s->cause->test, cf_str_from(kind), NULL);
}

/* The marks of a kind: spans that one decision wrote are one mark. */
static size_t count_marks(const cf_prompt *p, const char *kind)
{
    size_t n = 0;
    const cf_prompt_cause *last = NULL;
    for (size_t k = 0; k < p->n_spans; k++) {
        const cf_prompt_span *s = &p->spans[k];
        if (is_mark_of(s, kind) && s->cause != last) {
            n++;
            last = s->cause;
        }
    }
    return n;
}

/* ---- the search --------------------------------------------------------- */

/* What the spans say of a message as a whole. */
typedef struct told {
    bool is_input;  /* something was computed of it */
    bool has_calls; /* confab wrote its calls */
} told;

typedef struct search {
    const cf_prompt *prompt;
    const cf_prompt_span **own; /* [n_own] of messages, in the order of their paths */
    size_t n_own;
    told *told; /* [n_told], of each given message */
    size_t n_told;
    const cf_formed *formed;
    cf_loss_fn fn;
    void *ud;
    cf_buf what, path, line;
    cf_status st;
} search;

static int compare_numbers(size_t a, size_t b)
{
    return (a > b) - (a < b);
}

/* The order of spans and paths; with `next`, of a path and that byte after it,
 * which any longer path with both equals. */
static int compare_path(const cf_prompt_span *s, size_t index, cf_str path, char next)
{
    size_t n = s->path.n < path.n ? s->path.n : path.n;
    int c = compare_numbers(s->index, index);
    c = c == 0 && n > 0 ? memcmp(s->path.p, path.p, n) : c;
    if (c != 0 || next == '\0' || s->path.n <= path.n) {
        return c != 0 ? c : compare_numbers(s->path.n, path.n + (next != '\0'));
    }
    return compare_numbers((unsigned char)s->path.p[path.n], (unsigned char)next);
}

static int compare_spans(const void *a, const void *b)
{
    const cf_prompt_span *x = *(const cf_prompt_span *const *)a;
    const cf_prompt_span *y = *(const cf_prompt_span *const *)b;
    return compare_path(x, y->index, y->path, '\0');
}

/* Notes the messages in the inputs of a computed span: "messages[3].content". */
static void note_inputs(search *s, cf_str path)
{
    static const char head[] = "messages[";
    size_t at;
    while (cf_str_find(path, cf_str_from(head), &at)) {
        size_t i = 0;
        path = cf_str_make(path.p + at + sizeof head - 1, path.n - at - (sizeof head - 1));
        for (; path.n > 0 && *path.p >= '0' && *path.p <= '9' && i < s->n_told;
             path.p++, path.n--) {
            i = i * 10 + (size_t)(*path.p - '0');
        }
        if (path.n > 0 && *path.p == ']' && i < s->n_told) {
            s->told[i].is_input = true;
        }
    }
}

static cf_status find_spans(search *s, size_t n_messages, cf_error *err)
{
    s->told = cf_calloc(n_messages + 1, sizeof *s->told);
    s->own = cf_calloc(s->prompt->n_spans + 1, sizeof *s->own);
    if (s->told == NULL || s->own == NULL) {
        return cf_oom_for(err, "the losses");
    }
    s->n_told = n_messages;
    for (size_t k = 0; k < s->prompt->n_spans; k++) {
        const cf_prompt_span *span = &s->prompt->spans[k];
        if (span->len > 0 && span->source == CF_SPAN_COMPUTED) {
            note_inputs(s, span->path);
        } else if (span->source == CF_SPAN_MESSAGE && span->index < n_messages) {
            s->told[span->index].has_calls |= has_calls(span, span->index);
            s->own[s->n_own] = span;
            s->n_own += span->len > 0;
        }
    }
    qsort(s->own, s->n_own, sizeof *s->own, compare_spans);
    return CF_OK;
}

/* The first span that is not before a path. */
static size_t first_span(const search *s, size_t index, cf_str path, char next)
{
    size_t lo = 0, hi = s->n_own;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (compare_path(s->own[mid], index, path, next) < 0) {
            lo = mid + 1;
        } else {
            hi = mid;
        }
    }
    return lo;
}

/* What spans show of an item. */
typedef struct view {
    bool is_here;
    bool is_whole; /* as far as anybody knows: changed on its way */
    size_t end;    /* of the bytes that are shown as they are */
} view;

/* Adds the spans of one path; `next` as in compare_path(). */
static void add_spans(const search *s, view *v, const cf_item *item, cf_str path, char next)
{
    const bool is_around = path.n < item->path.n; /* what holds the item: made of it? */
    for (size_t i = first_span(s, item->origin, path, next); i < s->n_own && !v->is_whole; i++) {
        const cf_prompt_span *span = s->own[i];
        if (compare_path(span, item->origin, path, next) != 0) {
            break;
        }
        const size_t end = (size_t)span->src_off + span->len;
        v->is_here |= !is_around || !span->is_copy;
        v->is_whole |= !span->is_copy;
        v->end = !is_around && span->is_copy && end > v->end ? end : v->end;
    }
}

/* An item is shown by spans of its path, of paths in it, and of what is around
 * it if that was changed. */
static view view_of(const search *s, const cf_item *item)
{
    const bool is_known_of = item->origin < s->n_told;
    view v = {.is_here = is_known_of && s->told[item->origin].is_input};
    v.is_whole = v.is_here;
    add_spans(s, &v, item, item->path, '\0');
    add_spans(s, &v, item, item->path, '.');
    add_spans(s, &v, item, item->path, '[');
    for (size_t n = 1; n < item->path.n; n++) {
        if (item->path.p[n] == '.' || item->path.p[n] == '[') {
            add_spans(s, &v, item, cf_str_make(item->path.p, n), '\0');
        }
    }
    return v;
}

/* Whether the prompt has a byte of the item, or may have one. */
static bool has_item(const search *s, const cf_item *item)
{
    return !is_known(s->prompt) || view_of(s, item).is_here;
}

/* Whether the end of a text is missing, more than blanks; never where a span of
 * it was changed on its way. */
static bool is_cut(const search *s, const cf_item *item)
{
    const view v = view_of(s, item);
    return !v.is_whole && v.end > 0 && v.end < item->text.n &&
           cf_str_trim(cf_str_make(item->text.p + v.end, item->text.n - v.end)).n > 0;
}

/* A name from outside on one line. */
static void add_name(cf_buf *to, cf_str name)
{
    if (name.n > 0) {
        cf_safe_line(to, name.p, name.n);
    }
}

/* Reports what was begun in `what` and `path`. */
static void tell(search *s, cf_loss_kind kind, size_t index, const char *why)
{
    cf_buf_reset(&s->line);
    cf_buf_add(&s->line, s->what.p, s->what.n);
    cf_buf_addf(&s->line, " is lost: %s", why);
    if (s->line.failed || s->what.failed || s->path.failed) {
        s->st = CF_ENOMEM;
        return;
    }
    const cf_loss loss = {.kind = kind,
                          .index = index,
                          .what = cf_buf_str(&s->what),
                          .why = cf_str_from(why),
                          .path = cf_buf_str(&s->path),
                          .line = cf_buf_str(&s->line)};
    s->fn(s->ud, &loss);
}

/* Begins a report of an item: "message 2", and its path. */
static void begin(search *s, const cf_item *item)
{
    cf_buf_reset(&s->what);
    cf_buf_reset(&s->path);
    cf_buf_addf(&s->what, "message %zu", (size_t)item->origin + 1);
    cf_buf_addf(&s->path, "messages[%zu]", (size_t)item->origin);
    cf_buf_add(&s->path, item->path.p, item->path.n);
}

static const json_t *message_of(const search *s, const cf_item *item)
{
    return json_array_get(s->formed->messages, item->message);
}

static const char not_written[] = "the template does not write it";

/* ": part 2 (text)" of an item in a list, else " (user)". */
static void add_place(search *s, const cf_item *item)
{
    size_t n = item->path.n, digits = 0;
    cf_str kind =
        item->kind == CF_ITEM_TEXT ? cf_str_from("text") : cf_json_get_str(item->value, "type");
    const char *open = n > 0 ? memchr(item->path.p, '[', n) : NULL;
    unsigned part = 0;
    for (const char *c = open; c != NULL && c + 1 < item->path.p + n && c[1] >= '0' && c[1] <= '9';
         c++, digits++) {
        part = digits < 8 ? part * 10 + (unsigned)(c[1] - '0') : part;
    }
    if (digits == 0) {
        cf_buf_adds(&s->what, " (");
        add_name(&s->what, cf_json_get_str(message_of(s, item), "role"));
        cf_buf_addc(&s->what, ')');
        return;
    }
    cf_buf_addf(&s->what, ": part %u (", part + 1);
    add_name(&s->what, kind);
    cf_buf_addc(&s->what, ')');
}

static bool is_result(const search *s, const cf_item *item)
{
    return cf_role_is_result(cf_json_get_str(message_of(s, item), "role"));
}

static void tell_text(search *s, const cf_item *item, bool is_end)
{
    const bool of_tool = is_result(s, item);
    begin(s, item);
    if (of_tool) {
        cf_buf_adds(&s->what, is_end ? ": the end of the result" : ": the result");
    } else {
        add_place(s, item);
        cf_buf_adds(&s->what, is_end ? ": the end of its text" : "");
    }
    tell(s,
         of_tool                                           ? CF_LOSS_RESULT
         : memchr(item->path.p, '[', item->path.n) != NULL ? CF_LOSS_PART
                                                           : CF_LOSS_MESSAGE,
         item->origin, not_written);
}

static void check_field(search *s, const cf_item *item)
{
    static const struct {
        const char *what;
        cf_loss_kind kind;
    } fields[] = {[CF_ITEM_REASONING] = {": its reasoning", CF_LOSS_REASONING},
                  [CF_ITEM_REFUSAL] = {": its refusal", CF_LOSS_REFUSAL},
                  [CF_ITEM_CHANNEL] = {": its channel ", CF_LOSS_REASONING}};
    if (cf_str_trim(item->text).n == 0) {
        return;
    }
    begin(s, item);
    cf_buf_adds(&s->what, fields[item->kind].what);
    if (item->kind == CF_ITEM_CHANNEL) {
        size_t n = strlen(".channels.");
        add_name(&s->what, cf_str_make(item->path.p + n, item->path.n - n));
    }
    tell(s, fields[item->kind].kind, item->origin, not_written);
}

static void check_call(search *s, const cf_item *item)
{
    if (item->origin < s->n_told && s->told[item->origin].has_calls) {
        return;
    }
    begin(s, item);
    cf_buf_adds(&s->what, ": its call of ");
    add_name(&s->what, cf_json_get_str(json_object_get(item->value, "function"), "name"));
    tell(s, CF_LOSS_CALL, item->origin, not_written);
}

static void check_item(search *s, const cf_item *item)
{
    const bool is_here = has_item(s, item);
    switch (item->kind) {
    case CF_ITEM_TEXT:
        if (!is_here && cf_str_trim(item->text).n > 0) {
            tell_text(s, item, false);
        } else if (is_here && is_known(s->prompt) && is_cut(s, item)) {
            tell_text(s, item, true);
        }
        break;
    case CF_ITEM_VALUE:
        if (!is_here) {
            tell_text(s, item, false);
        }
        break;
    case CF_ITEM_CALL:
        if (!is_here) {
            check_call(s, item);
        }
        break;
    case CF_ITEM_REASONING:
    case CF_ITEM_REFUSAL:
    case CF_ITEM_CHANNEL:
        if (!is_here) {
            check_field(s, item);
        }
        break;
    case CF_ITEM_UNREAD:
        if (!is_here || !is_known(s->prompt)) {
            begin(s, item);
            cf_buf_adds(&s->what, item->path.n > 0 ? ": " : "");
            add_name(&s->what, item->path);
            tell(s, CF_LOSS_PART, item->origin, "no interface has such a thing here");
        }
        break;
    case CF_ITEM_MEDIA:
        break; /* counted apart */
    }
}

/* ---- media -------------------------------------------------------------- */

static bool is_medium(const cf_item *item, const char *kind)
{
    const char *own = item->kind == CF_ITEM_MEDIA ? cf_part_medium(item->value) : NULL;
    return own != NULL && strcmp(own, kind) == 0;
}

/* With fewer marks than media of a kind, those of the last messages are taken
 * for lost where no mark tells them apart. */
static void check_media(search *s, const char *kind)
{
    size_t n_items, n_here = 0;
    const cf_item *items = cf_formed_items(s->formed, &n_items);
    size_t n_marks = is_known(s->prompt) ? count_marks(s->prompt, kind) : n_items;
    char why[64];
    snprintf(why, sizeof why, "the template writes no %s here",
             strcmp(kind, "file") == 0 ? "file" : kind);
    for (size_t i = 0; i < n_items; i++) {
        if (!is_medium(&items[i], kind)) {
            continue;
        }
        if (!has_item(s, &items[i]) && n_here++ >= n_marks) {
            begin(s, &items[i]);
            add_place(s, &items[i]);
            tell(s, CF_LOSS_PART, items[i].origin, why);
        }
    }
}

/* ---- tools -------------------------------------------------------------- */

/* Declarations that cannot be read, and that the template does not write either. */
static void tell_unread_tools(search *s, const char *why)
{
    bool is_here = !is_known(s->prompt);
    for (size_t k = 0; !is_here && k < s->prompt->n_spans; k++) {
        const cf_prompt_span *span = &s->prompt->spans[k];
        is_here =
            span->source == CF_SPAN_TOOL || (span->source == CF_SPAN_COMPUTED &&
                                             cf_str_find(span->path, cf_str_from("tools"), NULL));
    }
    if (!is_here) {
        cf_buf_reset(&s->what);
        cf_buf_reset(&s->path);
        cf_buf_adds(&s->what, "the list of tools");
        cf_buf_adds(&s->path, "tools");
        tell(s, CF_LOSS_TOOL, 0, why);
    }
}

static cf_status check_tools(search *s, const json_t *tools, cf_error *err)
{
    cf_error why = {0};
    cf_tool_set *set = NULL;
    size_t n;
    if (s->prompt->n_spans == 0 || tools == NULL) {
        return CF_OK;
    }
    cf_status st = cf_tool_set_new(&set, tools, &why);
    if (st == CF_ENOMEM) {
        return cf_oom_for(err, "the losses");
    }
    if (st != CF_OK) {
        tell_unread_tools(s, why.text);
        return CF_OK;
    }
    const cf_tool *v = cf_tool_set_items(set, &n);
    for (size_t i = 0; i < n; i++) {
        if (cf_prompt_shows(s->prompt, CF_SPAN_TOOL, v[i].index, v[i].path)) {
            continue;
        }
        cf_buf_reset(&s->what);
        cf_buf_reset(&s->path);
        cf_buf_adds(&s->what, "tool ");
        add_name(&s->what, v[i].name);
        cf_buf_addf(&s->path, "tools[%zu]", v[i].index);
        cf_buf_add(&s->path, v[i].path.p, v[i].path.n);
        tell(s, CF_LOSS_TOOL, i,
             s->prompt->is_foreign ? "the server writes the same prompt without it"
                                   : "the template does not write its declaration");
    }
    cf_tool_set_free(set);
    return CF_OK;
}

cf_status cf_prompt_each_loss(const cf_prompt *prompt, const json_t *messages, const json_t *tools,
                              cf_loss_fn fn, void *ud, cf_error *err)
{
    static const char *const kinds[] = {"image", "audio", "video", "file"};
    cf_formed formed;
    CF_TRY(cf_messages_form(&formed, messages, err));
    search s = {.prompt = prompt, .formed = &formed, .fn = fn, .ud = ud};
    size_t n;
    const cf_item *items = cf_formed_items(&formed, &n);
    cf_status st = find_spans(&s, json_is_array(messages) ? json_array_size(messages) : 1, err);
    for (size_t i = 0; st == CF_OK && i < n; i++) {
        check_item(&s, &items[i]);
    }
    for (size_t i = 0; st == CF_OK && i < sizeof kinds / sizeof kinds[0]; i++) {
        check_media(&s, kinds[i]);
    }
    CF_THEN(st, check_tools(&s, tools, err));
    cf_free(s.own);
    cf_free(s.told);
    cf_formed_deinit(&formed);
    cf_buf_deinit(&s.what);
    cf_buf_deinit(&s.path);
    cf_buf_deinit(&s.line);
    CF_TRY(st);
    return s.st == CF_OK ? CF_OK : cf_oom_for(err, "the losses");
}

cf_status cf_conversation_losses(const cf_conversation *conv, const cf_send *send,
                                 const cf_prompt *prompt, cf_loss_fn fn, void *ud, cf_error *err)
{
    cf_conversation__request q;
    json_t *list;
    cf_uuid parent;
    CF_TRY(cf_conversation__plan(&list, &parent, conv, send, err));
    cf_status st = cf_conversation__request_init(&q, conv, parent, list, send, err);
    json_decref(list);
    CF_TRY(st);
    json_t *tools = q.request.tools != NULL ? cf_tool_set_openai(q.request.tools) : json_array();
    st = tools != NULL ? cf_prompt_each_loss(prompt, q.messages, tools, fn, ud, err) : cf_oom(err);
    json_decref(tools);
    cf_conversation__request_deinit(&q);
    return st;
}
