/*
 * tool_family.c - names families and statuses, and finds the family of a model.
 */
#include "core/tools/tool_family.h"

#include <stdio.h>
#include <string.h>

#include "core/base/edit_distance.h"

cf_str cf_tool__trim(const char *text)
{
    cf_str s = cf_str_from(text != NULL ? text : "");
    while (s.n > 0 && strchr(" \t\r\n", s.p[0]) != NULL) {
        s.p++;
        s.n--;
    }
    while (s.n > 0 && strchr(" \t\r\n", s.p[s.n - 1]) != NULL) {
        s.n--;
    }
    return s;
}

const char *cf_tool_family_name(cf_tool_family family)
{
    return cf_tool__row_of(family)->name;
}

cf_channel_set cf_tool_family_channels(cf_tool_family family)
{
    return cf_tool__row_of(family)->channels;
}

bool cf_tool_family_parse(cf_tool_family *out, cf_str name)
{
    for (int i = 0; i < CF_TOOL_FAMILY_N; i++) {
        const cf_tool__row *row = cf_tool__row_of((cf_tool_family)i);
        bool is_it = cf_str_is(name, row->name);
        for (size_t k = 0; k < 3 && row->also[k] != NULL; k++) {
            is_it = is_it || cf_str_is(name, row->also[k]);
        }
        if (is_it) {
            *out = (cf_tool_family)i;
            return true;
        }
    }
    return false;
}

cf_status cf_tool_family_read(cf_tool_family *out, cf_str name, cf_error *err)
{
    char asked[CF_EDIT_DISTANCE_MAX + 1];
    cf_nearest near = {.asked = asked};
    if (cf_tool_family_parse(out, name)) {
        return CF_OK;
    }
    snprintf(asked, sizeof asked, "%.*s", (int)(name.n < sizeof asked ? name.n : 0), name.p);
    for (int i = 0; i < CF_TOOL_FAMILY_N; i++) {
        cf_nearest_offer(&near, cf_tool_family_name((cf_tool_family)i));
    }
    return cf_nearest_suggest(
        &near,
        cf_fail(err, CF_EINVAL, "no tool family '%.*s'", (int)(name.n < 60 ? name.n : 60), name.p),
        err);
}

const char *cf_tool_status_name(cf_tool_status status)
{
    switch (status) {
    case CF_TOOL_VALID:
        return "VALID";
    case CF_TOOL_PARSE_ERROR:
        return "PARSE_ERROR";
    case CF_TOOL_INVALID_FUNCTION_NAME:
        return "INVALID_FUNCTION_NAME";
    case CF_TOOL_INVALID_PARAMETER_NAME:
        return "INVALID_PARAMETER_NAME";
    case CF_TOOL_MISSING_REQUIRED_PARAMETER:
        return "MISSING_REQUIRED_PARAMETER";
    case CF_TOOL_INVALID_PARAMETER_TYPE:
        return "INVALID_PARAMETER_TYPE";
    case CF_TOOL_INVALID_PARAMETER_VALUE:
        return "INVALID_PARAMETER_VALUE";
    }
    return "VALID";
}

/* ---- detection ---------------------------------------------------------- */

static bool has(cf_str text, const char *what)
{
    size_t n = strlen(what);
    for (size_t i = 0; i + n <= text.n; i++) {
        if (text.p[i] == what[0] && memcmp(text.p + i, what, n) == 0) {
            return true;
        }
    }
    return false;
}

/* Whether `text` holds `what` (lower case), letters of either case. */
static bool has_word(cf_str text, const char *what)
{
    size_t n = strlen(what);
    for (size_t i = 0; i + n <= text.n; i++) {
        size_t k = 0;
        while (k < n) {
            char c = text.p[i + k];
            c = (char)(c >= 'A' && c <= 'Z' ? c + 32 : c);
            if (c != what[k]) {
                break;
            }
            k++;
        }
        if (k == n) {
            return true;
        }
    }
    return false;
}

/* The first sign of the row that the template contains, or NULL. */
static const char *by_template(const cf_tool__row *row, cf_str source)
{
    for (size_t i = 0; i < 3 && row->marks[i].text != NULL; i++) {
        const cf_tool__sign *s = &row->marks[i];
        if (has(source, s->text) && (s->also == NULL || has(source, s->also))) {
            return s->why;
        }
    }
    return NULL;
}

static const char *by_metadata(const cf_tool__row *row, cf_str arch, cf_str model_name)
{
    for (size_t i = 0; i < 4 && row->hints[i].text != NULL; i++) {
        if (has_word(model_name, row->hints[i].text) || has_word(arch, row->hints[i].text)) {
            return row->hints[i].why;
        }
    }
    return NULL;
}

cf_tool_family cf_tool_family_detect(cf_str chat_template, cf_str arch, cf_str model_name,
                                     const char **why)
{
    const cf_str none = {NULL, 0};
    for (int pass = 0; pass < 3; pass++) {
        for (int i = 0; i < CF_TOOL_FAMILY_N; i++) {
            const cf_tool__row *row = cf_tool__row_of((cf_tool_family)i);
            const char *said = pass == 0
                                   ? row->name_first ? by_metadata(row, none, model_name) : NULL
                               : pass == 1 ? by_template(row, chat_template)
                                           : by_metadata(row, arch, model_name);
            if (said != NULL) {
                *why = said;
                return (cf_tool_family)i;
            }
        }
    }
    *why = "neither template nor metadata names a syntax";
    return CF_TOOLS_GENERIC;
}
