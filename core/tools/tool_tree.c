/*
 * tool_tree.c - builds a tree of the canonical JSON text that the grammars
 * write.
 *
 * Not through jansson's reader, for two reasons: an integer over 64 bits
 * becomes a double here and leaves its neighbours integers, and a failed
 * allocation is an error here and not an assertion.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/tools/tool_emit.h"

typedef struct tree {
    cf_tool__emit e; /* the cursor over the text */
} tree;

static json_t *read_value(tree *t);

static bool at_char(const tree *t, char c)
{
    return t->e.at < t->e.end && t->e.p[t->e.at] == c;
}

static json_t *read_object(tree *t)
{
    json_t *v = json_object();
    bool ok = v != NULL;
    t->e.at++;
    while (ok && !at_char(t, '}')) {
        t->e.at += at_char(t, ',') ? 1 : 0;
        ok = cf_tool__json_string(&t->e) && at_char(t, ':');
        cf_buf key = t->e.str; /* kept while the value is read */
        memset(&t->e.str, 0, sizeof t->e.str);
        t->e.at++;
        ok = ok && json_object_set_new(v, cf_buf_cstr(&key), read_value(t)) == 0;
        cf_buf_deinit(&key);
    }
    t->e.at++;
    if (!ok) {
        json_decref(v);
        return NULL;
    }
    return v;
}

static json_t *read_array(tree *t)
{
    json_t *v = json_array();
    bool ok = v != NULL;
    t->e.at++;
    while (ok && !at_char(t, ']')) {
        t->e.at += at_char(t, ',') ? 1 : 0;
        ok = json_array_append_new(v, read_value(t)) == 0;
    }
    t->e.at++;
    if (!ok) {
        json_decref(v);
        return NULL;
    }
    return v;
}

/* A number or a word, up to the next delimiter. */
static json_t *read_scalar(tree *t)
{
    char text[352]; /* 300 digits at most, and doubles are shorter */
    size_t n = 0;
    while (t->e.at < t->e.end && n + 1 < sizeof text && strchr(",]}", t->e.p[t->e.at]) == NULL) {
        text[n++] = t->e.p[t->e.at++];
    }
    text[n] = '\0';
    if (strcmp(text, "true") == 0) {
        return json_true();
    }
    if (strcmp(text, "false") == 0) {
        return json_false();
    }
    if (strcmp(text, "null") == 0) {
        return json_null();
    }
    if (strpbrk(text, ".e") == NULL) {
        errno = 0;
        long long v = strtoll(text, NULL, 10);
        if (errno == 0) {
            return json_integer(v);
        }
    }
    return json_real(strtod(text, NULL));
}

static json_t *read_value(tree *t)
{
    if (at_char(t, '{')) {
        return read_object(t);
    }
    if (at_char(t, '[')) {
        return read_array(t);
    }
    if (at_char(t, '"')) {
        return cf_tool__json_string(&t->e) ? json_stringn(cf_buf_cstr(&t->e.str), t->e.str.n)
                                           : NULL;
    }
    return t->e.at < t->e.end ? read_scalar(t) : NULL;
}

json_t *cf_tool__tree(cf_str text)
{
    tree t;
    cf_tool__emit_init(&t.e, text.p, 0, text.n, NULL);
    json_t *v = read_value(&t);
    cf_tool__emit_deinit(&t.e);
    return v;
}
