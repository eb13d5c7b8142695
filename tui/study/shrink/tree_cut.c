/*
 * tree_cut.c - walks that count units and rebuild without some.
 *
 * Counting is rebuilding with nothing to build, so that both number alike.
 */
#include "tui/study/shrink/tree_cut.h"

#include <string.h>

#include "core/base/text_cut.h"

typedef enum place { IN_ROOT, IN_MESSAGES, IN_TOOLS, IN_OTHER } place;

typedef struct walk {
    unsigned depth;   /* of the units */
    const bool *gone; /* NULL: only count */
    size_t n;         /* units so far */
    bool failed;
} walk;

static bool is_one_of(const char *key, const char *const *names)
{
    while (*names != NULL && strcmp(*names, key) != 0) {
        names++;
    }
    return *names != NULL;
}

/* What a context is not one without. */
static bool is_needed(place in, unsigned depth, const char *key)
{
    static const char *const root[] = {"messages", "add_generation_prompt", NULL};
    static const char *const message[] = {"role", "content", NULL};
    static const char *const inside[] = {"type", "function", "name", "arguments",
                                         "text", "id",       NULL};
    static const char *const tool[] = {"type", "function", "name", NULL};
    switch (in) {
    case IN_ROOT:
        return is_one_of(key, root);
    case IN_MESSAGES:
        return is_one_of(key, depth == 3 ? message : inside);
    case IN_TOOLS:
        return is_one_of(key, tool);
    case IN_OTHER:
        break;
    }
    return false;
}

static place inside_of(place in, const char *key)
{
    return in != IN_ROOT                  ? in
           : strcmp(key, "messages") == 0 ? IN_MESSAGES
           : strcmp(key, "tools") == 0    ? IN_TOOLS
                                          : IN_OTHER;
}

/* Whether this unit stays; counts it. */
static bool stays(walk *w, unsigned depth, bool needed)
{
    if (depth != w->depth || needed) {
        return true;
    }
    size_t i = w->n++;
    return w->gone == NULL || !w->gone[i];
}

/* Names that lost their property are required no longer. */
static void mend_required(walk *w, const json_t *old, json_t *v)
{
    const json_t *before = json_object_get(old, "properties");
    const json_t *after = json_object_get(v, "properties");
    const json_t *list = json_object_get(v, "required");
    if (!json_is_object(before) || !json_is_array(list)) {
        return;
    }
    json_t *kept = json_array();
    for (size_t i = 0; i < json_array_size(list); i++) {
        json_t *name = json_array_get(list, i);
        const char *key = json_string_value(name);
        bool was = key != NULL && json_object_get(before, key) != NULL;
        bool is = key != NULL && json_object_get(after, key) != NULL;
        if ((!was || is) && json_array_append(kept, name) != 0) {
            w->failed = true;
        }
    }
    if (json_object_set_new(v, "required", kept) != 0) {
        w->failed = true;
    }
}

static json_t *rebuild(walk *w, const json_t *v, place in, unsigned depth);

static json_t *rebuild_object(walk *w, const json_t *v, place in, unsigned depth)
{
    json_t *out = json_object();
    void *iter = json_object_iter(cf_json_ref(v));
    for (; iter != NULL && out != NULL; iter = json_object_iter_next(cf_json_ref(v), iter)) {
        const char *key = json_object_iter_key(iter);
        if (!stays(w, depth, is_needed(in, depth, key))) {
            continue;
        }
        json_t *one = rebuild(w, json_object_iter_value(iter), inside_of(in, key), depth + 1);
        if (json_object_set_new(out, key, one) != 0) {
            w->failed = true;
        }
    }
    if (out != NULL && w->gone != NULL) {
        mend_required(w, v, out);
    }
    return out;
}

static json_t *rebuild_array(walk *w, const json_t *v, place in, unsigned depth)
{
    json_t *out = json_array();
    for (size_t i = 0; i < json_array_size(v) && out != NULL; i++) {
        if (!stays(w, depth, false)) {
            continue;
        }
        json_t *one = rebuild(w, json_array_get(v, i), in, depth + 1);
        if (json_array_append_new(out, one) != 0) {
            w->failed = true;
        }
    }
    return out;
}

static json_t *rebuild(walk *w, const json_t *v, place in, unsigned depth)
{
    json_t *out = depth > w->depth    ? cf_json_deep_copy(v)
                  : json_is_object(v) ? rebuild_object(w, v, in, depth)
                  : json_is_array(v)  ? rebuild_array(w, v, in, depth)
                                      : cf_json_deep_copy(v);
    w->failed = w->failed || out == NULL;
    return out;
}

size_t cf_tree_units(const json_t *context, unsigned depth)
{
    walk w = {.depth = depth};
    json_decref(rebuild(&w, context, IN_ROOT, 1));
    return w.n;
}

json_t *cf_tree_without(const json_t *context, unsigned depth, const bool *gone)
{
    walk w = {.depth = depth, .gone = gone};
    json_t *v = rebuild(&w, context, IN_ROOT, 1);
    if (w.failed) {
        json_decref(v);
        return NULL;
    }
    return v;
}

/* ---- sentences ---------------------------------------------------------- */

typedef struct cutting {
    const bool *gone; /* NULL: only count */
    size_t n;
    cf_str text;
    cf_buf out;
} cutting;

static bool on_sentence(void *ud, size_t off, size_t len)
{
    cutting *c = ud;
    size_t i = c->n++;
    if (c->gone == NULL || !c->gone[i]) {
        cf_buf_add(&c->out, c->text.p + off, len);
    }
    return true;
}

/* The text without its marked sentences; {NULL, 0} as the value when only
 * counting. */
static json_t *cut_text(cutting *c, const json_t *text)
{
    c->text = cf_str_make(json_string_value(text), json_string_length(text));
    size_t before = c->n;
    cf_buf_reset(&c->out);
    cf_text_cut(c->text, false, on_sentence, c);
    bool has_gap = false;
    for (size_t i = before; c->gone != NULL && i < c->n; i++) {
        has_gap = has_gap || c->gone[i];
    }
    if (!has_gap) {
        return json_incref(cf_json_ref(text));
    }
    while (c->out.n > 0 && strchr(" \t\r\n", c->out.p[c->out.n - 1]) != NULL) {
        c->out.n--;
    }
    return c->out.failed ? NULL : json_stringn(cf_buf_cstr(&c->out), c->out.n);
}

static json_t *cut_item(cutting *c, const json_t *item)
{
    json_t *copy = cf_json_copy(item);
    const json_t *text = json_object_get(item, "text");
    if (json_is_string(text) && json_object_set_new(copy, "text", cut_text(c, text)) != 0) {
        json_decref(copy);
        return NULL;
    }
    return copy;
}

static json_t *cut_message(cutting *c, const json_t *message)
{
    json_t *copy = cf_json_copy(message);
    const json_t *content = json_object_get(message, "content");
    json_t *v = NULL;
    if (json_is_string(content)) {
        v = cut_text(c, content);
    } else if (json_is_array(content)) {
        v = json_array();
        for (size_t i = 0; i < json_array_size(content); i++) {
            json_t *item = cut_item(c, json_array_get(content, i));
            if (json_array_append_new(v, item) != 0) {
                json_decref(v);
                v = NULL;
            }
        }
    } else {
        return copy;
    }
    if (json_object_set_new(copy, "content", v) != 0) {
        json_decref(copy);
        return NULL;
    }
    return copy;
}

static json_t *cut_messages(cutting *c, const json_t *context)
{
    const json_t *messages = json_object_get(context, "messages");
    json_t *copy = cf_json_copy(context), *list = json_array();
    bool ok = copy != NULL && list != NULL;
    for (size_t i = 0; ok && i < json_array_size(messages); i++) {
        json_t *m = cut_message(c, json_array_get(messages, i));
        ok = json_array_append_new(list, m) == 0;
    }
    if (!ok) {
        json_decref(list);
        json_decref(copy);
        return NULL;
    }
    if (json_object_set_new(copy, "messages", list) != 0) {
        json_decref(copy);
        return NULL;
    }
    return copy;
}

size_t cf_sentence_units(const json_t *context)
{
    cutting c = {.n = 0};
    json_decref(cut_messages(&c, context));
    cf_buf_deinit(&c.out);
    return c.n;
}

json_t *cf_sentence_without(const json_t *context, const bool *gone)
{
    cutting c = {.gone = gone};
    json_t *v = cut_messages(&c, context);
    cf_buf_deinit(&c.out);
    return v;
}

/* ---- lines -------------------------------------------------------------- */

static size_t line_end(cf_str text, size_t at)
{
    const char *end = memchr(text.p + at, '\n', text.n - at);
    return end != NULL ? (size_t)(end - text.p) + 1 : text.n;
}

size_t cf_line_units(cf_str text)
{
    size_t n = 0;
    for (size_t at = 0; at < text.n; at = line_end(text, at)) {
        n++;
    }
    return n;
}

void cf_line_without(cf_str text, const bool *gone, cf_buf *out)
{
    size_t i = 0;
    for (size_t at = 0; at < text.n;) {
        size_t end = line_end(text, at);
        if (!gone[i++]) {
            cf_buf_add(out, text.p + at, end - at);
        }
        at = end;
    }
}
