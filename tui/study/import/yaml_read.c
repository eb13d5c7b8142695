/*
 * yaml_read.c - libyaml's events as a JSON value.
 *
 * An alias shares the value of its anchor, and counts as all of its nodes, so
 * that a small file cannot stand for a huge value.
 */
#include "tui/study/import/yaml_read.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "core/base/alloc.h"

enum { ANCHORS_MAX = 10000 };

typedef struct anchor {
    char *name;
    json_t *value;
    size_t n_nodes, height; /* levels of lists and mappings in it */
} anchor;

typedef struct reader {
    yaml_parser_t parser;
    yaml_event_t event;
    bool has_event;
    const char *name;
    cf_yaml *out;
    anchor *anchor;
    size_t n_anchor, cap_anchor;
    size_t n_nodes;
    size_t depth, deepest; /* of the node at hand, and below it */
} reader;

static cf_status fail_at(const reader *r, cf_status st, yaml_mark_t mark, const char *text,
                         cf_error *err)
{
    return cf_fail(err, st, "%.160s:%zu: %s", r->name, mark.line + 1, text);
}

static cf_status fail_here(const reader *r, cf_status st, const char *text, cf_error *err)
{
    return fail_at(r, st, r->event.start_mark, text, err);
}

static cf_status no_memory(cf_error *err)
{
    return cf_oom_for(err, "the document");
}

/* The next event, which takes the place of the one before. */
static cf_status next(reader *r, cf_error *err)
{
    if (r->has_event) {
        yaml_event_delete(&r->event);
        r->has_event = false;
    }
    if (yaml_parser_parse(&r->parser, &r->event) != 0) {
        r->has_event = true;
        return CF_OK;
    }
    if (r->parser.error == YAML_MEMORY_ERROR) {
        return no_memory(err);
    }
    return fail_at(r, CF_EFORMAT, r->parser.problem_mark,
                   r->parser.problem != NULL ? r->parser.problem : "this is not YAML", err);
}

/* ---- scalars ------------------------------------------------------------ */

static bool is_one_of(cf_str s, const char *const *words)
{
    for (; *words != NULL; words++) {
        if (cf_str_is(s, *words)) {
            return true;
        }
    }
    return false;
}

static size_t digits(const char *p)
{
    return strspn(p, "0123456789");
}

/* A number of the core schema; NULL: it is a text. */
static json_t *number_of(const char *p)
{
    const char *s = p + (*p == '+' || *p == '-');
    size_t n = digits(s);
    char *end;
    errno = 0;
    if (p[0] == '0' && (p[1] == 'x' || p[1] == 'o')) {
        bool is_hex = p[1] == 'x';
        const char *all = is_hex ? "0123456789abcdefABCDEF" : "01234567";
        bool fits = p[2] != '\0' && p[2 + strspn(p + 2, all)] == '\0';
        long long v = fits ? strtoll(p + 2, &end, is_hex ? 16 : 8) : 0;
        return fits && errno == 0 ? json_integer(v) : NULL;
    }
    if (n > 0 && s[n] == '\0') {
        long long v = strtoll(p, &end, 10);
        if (errno == 0) {
            return json_integer(v);
        }
    } else {
        size_t n_after = 0;
        s += n;
        if (*s == '.') {
            n_after = digits(s + 1);
            s += 1 + n_after;
        }
        if (n + n_after > 0 && (*s == 'e' || *s == 'E')) {
            const char *e = s + 1 + (s[1] == '+' || s[1] == '-');
            n_after = digits(e) > 0 ? n_after : 0;
            n = digits(e) > 0 ? n : 0;
            s = e + digits(e);
        }
        if (n + n_after == 0 || *s != '\0') {
            return NULL;
        }
    }
    double v = strtod(p, &end);
    return isfinite(v) ? json_real(v) : NULL;
}

/* The value of a plain scalar. */
static json_t *plain(cf_str s)
{
    static const char *const nulls[] = {"", "~", "null", "Null", "NULL", NULL};
    static const char *const trues[] = {"true", "True", "TRUE", NULL};
    static const char *const falses[] = {"false", "False", "FALSE", NULL};
    if (is_one_of(s, nulls)) {
        return json_null();
    }
    if (is_one_of(s, trues)) {
        return json_true();
    }
    if (is_one_of(s, falses)) {
        return json_false();
    }
    json_t *v = memchr(s.p, '\0', s.n) == NULL ? number_of(s.p) : NULL;
    return v != NULL ? v : json_stringn(s.p, s.n);
}

static cf_status scalar(reader *r, json_t **out, cf_error *err)
{
    const char *tag = (const char *)r->event.data.scalar.tag;
    cf_str text =
        cf_str_make((const char *)r->event.data.scalar.value, r->event.data.scalar.length);
    bool is_plain = r->event.data.scalar.plain_implicit != 0 &&
                    r->event.data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
    if (tag != NULL && strcmp(tag, YAML_STR_TAG) != 0 && strcmp(tag, "!") != 0) {
        static const char *const core[] = {YAML_NULL_TAG, YAML_BOOL_TAG, YAML_INT_TAG,
                                           YAML_FLOAT_TAG, NULL};
        if (!is_one_of(cf_str_from(tag), core)) {
            return fail_here(r, CF_EFORMAT, "this tag is not supported", err);
        }
        is_plain = true;
    }
    *out = is_plain ? plain(text) : json_stringn(text.p, text.n);
    return *out != NULL ? CF_OK : fail_here(r, CF_EFORMAT, "a text that is not UTF-8", err);
}

/* ---- anchors ------------------------------------------------------------ */

static cf_status add_anchor(reader *r, const char *name, json_t *value, size_t n_nodes,
                            size_t height, cf_error *err)
{
    if (r->n_anchor == ANCHORS_MAX) {
        return fail_here(r, CF_ELIMIT, "more than 10000 anchors", err);
    }
    if (!cf_grow(&r->anchor, &r->cap_anchor, r->n_anchor + 1, sizeof *r->anchor)) {
        return no_memory(err);
    }
    r->anchor[r->n_anchor] = (anchor){cf_strdup(name), json_incref(value), n_nodes, height};
    return r->anchor[r->n_anchor++].name != NULL ? CF_OK : no_memory(err);
}

static cf_status count(reader *r, size_t n, cf_error *err)
{
    r->n_nodes += n;
    return r->n_nodes <= CF_YAML_NODES_MAX
               ? CF_OK
               : fail_here(r, CF_ELIMIT, "more than 1000000 nodes, aliases written out", err);
}

static cf_status too_deep(const reader *r, cf_error *err)
{
    return fail_here(r, CF_ELIMIT, "nested deeper than 64", err);
}

static cf_status alias(reader *r, json_t **out, cf_error *err)
{
    const char *name = (const char *)r->event.data.alias.anchor;
    for (size_t i = r->n_anchor; i-- > 0;) {
        if (strcmp(r->anchor[i].name, name) == 0) {
            CF_TRY(count(r, r->anchor[i].n_nodes, err));
            r->deepest = r->depth + r->anchor[i].height;
            if (r->deepest > CF_YAML_DEPTH_MAX) {
                return too_deep(r, err);
            }
            *out = json_incref(r->anchor[i].value);
            return CF_OK;
        }
    }
    return fail_here(r, CF_EFORMAT, "an alias without its anchor before it", err);
}

/* ---- lists and mappings ------------------------------------------------- */

static cf_status node(reader *r, json_t **out, cf_error *err);

static cf_status list(reader *r, json_t *into, cf_error *err)
{
    CF_TRY(next(r, err));
    while (r->event.type != YAML_SEQUENCE_END_EVENT) {
        json_t *item = NULL;
        CF_TRY(node(r, &item, err));
        if (json_array_append_new(into, item) != 0) {
            return no_memory(err);
        }
        CF_TRY(next(r, err));
    }
    return CF_OK;
}

/* Takes over what "<<" names: a mapping, or a list of them. */
static cf_status merge(reader *r, json_t *into, json_t *from, cf_error *err)
{
    size_t n = json_is_array(from) ? json_array_size(from) : 1;
    for (size_t i = 0; i < n; i++) {
        json_t *v = json_is_array(from) ? json_array_get(from, i) : from;
        if (!json_is_object(v)) {
            return fail_here(r, CF_EFORMAT, "<< takes a mapping", err);
        }
        if (json_object_update_missing(into, v) != 0) {
            return no_memory(err);
        }
    }
    return CF_OK;
}

static cf_status key(reader *r, char **out, cf_error *err)
{
    if (r->event.type != YAML_SCALAR_EVENT) {
        return fail_here(r, CF_EFORMAT, "a key that is not a text", err);
    }
    const char *text = (const char *)r->event.data.scalar.value;
    if (strlen(text) != r->event.data.scalar.length) {
        return fail_here(r, CF_EFORMAT, "a key with a NUL byte", err);
    }
    *out = cf_strdup(text);
    return *out != NULL ? CF_OK : no_memory(err);
}

/* One key with its value; the mappings of "<<" are added to `merged`. */
static cf_status pair(reader *r, json_t *into, json_t **merged, cf_error *err)
{
    char *name = NULL;
    json_t *value = NULL;
    yaml_mark_t mark = r->event.start_mark;
    CF_TRY(key(r, &name, err));
    cf_status st = next(r, err);
    CF_THEN(st, node(r, &value, err));
    if (st == CF_OK && strcmp(name, "<<") == 0) {
        json_decref(*merged);
        *merged = value;
    } else if (st == CF_OK && json_object_get(into, name) != NULL) {
        json_decref(value);
        st = fail_at(r, CF_EFORMAT, mark, "this key is here twice", err);
    } else if (st == CF_OK && json_object_set_new(into, name, value) != 0) {
        st = fail_at(r, CF_EFORMAT, mark, "a key that is not UTF-8", err);
    }
    cf_free(name);
    return st;
}

static cf_status mapping(reader *r, json_t *into, cf_error *err)
{
    json_t *merged = NULL;
    cf_status st = next(r, err);
    while (st == CF_OK && r->event.type != YAML_MAPPING_END_EVENT) {
        st = pair(r, into, &merged, err);
        CF_THEN(st, next(r, err));
    }
    if (st == CF_OK && merged != NULL) {
        st = merge(r, into, merged, err);
    }
    json_decref(merged);
    return st;
}

static cf_status container(reader *r, bool is_list, json_t **out, cf_error *err)
{
    if (r->depth == CF_YAML_DEPTH_MAX) {
        return too_deep(r, err);
    }
    *out = is_list ? json_array() : json_object();
    if (*out == NULL) {
        return no_memory(err);
    }
    r->deepest = ++r->depth;
    cf_status st = is_list ? list(r, *out, err) : mapping(r, *out, err);
    r->depth--;
    return st;
}

static cf_status add_place(reader *r, const json_t *value, size_t line, cf_error *err)
{
    cf_yaml *y = r->out;
    if (!cf_grow(&y->place, &y->cap_place, y->n_place + 1, sizeof *y->place)) {
        return no_memory(err);
    }
    y->place[y->n_place++] = (cf_yaml_place){value, line};
    return CF_OK;
}

/* The value that begins with the event at hand; on failure *out is NULL. */
static cf_status node(reader *r, json_t **out, cf_error *err)
{
    const size_t before = r->n_nodes, deepest = r->deepest, line = r->event.start_mark.line + 1;
    const char *given = NULL;
    char *name = NULL;
    json_t *v = NULL;
    r->deepest = r->depth;
    cf_status st = count(r, 1, err);
    yaml_event_type_t type = r->event.type;
    if (type == YAML_SCALAR_EVENT) {
        given = (const char *)r->event.data.scalar.anchor;
    } else if (type == YAML_SEQUENCE_START_EVENT) {
        given = (const char *)r->event.data.sequence_start.anchor;
    } else if (type == YAML_MAPPING_START_EVENT) {
        given = (const char *)r->event.data.mapping_start.anchor;
    }
    if (st == CF_OK && given != NULL) {
        name = cf_strdup(given);
        st = name != NULL ? CF_OK : no_memory(err);
    }
    if (st == CF_OK) {
        st = type == YAML_ALIAS_EVENT    ? alias(r, &v, err)
             : type == YAML_SCALAR_EVENT ? scalar(r, &v, err)
                                         : container(r, type == YAML_SEQUENCE_START_EVENT, &v, err);
    }
    if (st == CF_OK && type != YAML_ALIAS_EVENT &&
        (json_is_string(v) || json_is_array(v) || json_is_object(v))) {
        st = add_place(r, v, line, err);
    }
    if (st == CF_OK && name != NULL) {
        st = add_anchor(r, name, v, r->n_nodes - before, r->deepest - r->depth, err);
    }
    r->deepest = r->deepest > deepest ? r->deepest : deepest;
    cf_free(name);
    if (st != CF_OK) {
        json_decref(v);
        return st;
    }
    *out = v;
    return CF_OK;
}

/* ---- documents ---------------------------------------------------------- */

static cf_status document(reader *r, cf_error *err)
{
    CF_TRY(next(r, err)); /* the stream's start */
    CF_TRY(next(r, err));
    if (r->event.type == YAML_STREAM_END_EVENT) {
        r->out->root = json_null();
        return CF_OK;
    }
    CF_TRY(next(r, err)); /* after the document's start */
    CF_TRY(node(r, &r->out->root, err));
    CF_TRY(next(r, err)); /* its end */
    CF_TRY(next(r, err));
    return r->event.type == YAML_STREAM_END_EVENT
               ? CF_OK
               : fail_here(r, CF_EFORMAT, "a second document", err);
}

cf_status cf_yaml_read(cf_yaml *out, const char *name, cf_str text, cf_error *err)
{
    reader r = {.name = name, .out = out};
    *out = (cf_yaml){.root = NULL};
    if (yaml_parser_initialize(&r.parser) == 0) {
        return no_memory(err);
    }
    yaml_parser_set_input_string(&r.parser, (const unsigned char *)(text.n > 0 ? text.p : ""),
                                 text.n);
    cf_status st = document(&r, err);
    if (r.has_event) {
        yaml_event_delete(&r.event);
    }
    yaml_parser_delete(&r.parser);
    for (size_t i = 0; i < r.n_anchor; i++) {
        cf_free(r.anchor[i].name);
        json_decref(r.anchor[i].value);
    }
    cf_free(r.anchor);
    if (st != CF_OK) {
        cf_yaml_deinit(out);
    }
    return st;
}

void cf_yaml_deinit(cf_yaml *y)
{
    json_decref(y->root);
    cf_free(y->place);
    *y = (cf_yaml){.root = NULL};
}

size_t cf_yaml_line(const cf_yaml *y, const json_t *value)
{
    for (size_t i = 0; i < y->n_place; i++) {
        if (y->place[i].value == value) {
            return y->place[i].line;
        }
    }
    return 0;
}
