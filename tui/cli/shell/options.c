/*
 * options.c - reads options by table.
 */
#include "tui/cli/shell/options.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/edit_distance.h"

size_t cf_options_bind(cf_opt *out, const cf_opt_row *rows, void *object)
{
    size_t n = 0;
    char *base = object;
    for (; rows != NULL && rows[n].name != NULL; n++) {
        const cf_opt_row *r = &rows[n];
        out[n] = (cf_opt){r->name,
                          r->letter,
                          r->kind,
                          base + r->at,
                          r->value,
                          r->help,
                          r->given != 0 ? (bool *)(base + r->given) : NULL};
    }
    out[n] = (cf_opt){.name = NULL};
    return n;
}

static const cf_opt *find_long(const cf_opt *t, const char *name, size_t n)
{
    for (; t != NULL && t->name != NULL; t++) {
        if (strlen(t->name) == n && memcmp(t->name, name, n) == 0) {
            return t;
        }
    }
    return NULL;
}

static const cf_opt *find_letter(const cf_opt *t, char letter)
{
    for (; t != NULL && t->name != NULL; t++) {
        if (t->letter == letter) {
            return t;
        }
    }
    return NULL;
}

static bool read_uint(uint64_t *out, const char *text, uint64_t max)
{
    char *end;
    errno = 0;
    unsigned long long v = strtoull(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end != '\0' || errno != 0 || v > max) {
        return false;
    }
    *out = v;
    return true;
}

static cf_status store(const cf_opt *o, const char *text, cf_error *err)
{
    uint64_t v = 0;
    switch (o->kind) {
    case CF_OPT_FLAG:
        *(bool *)o->to = true;
        break;
    case CF_OPT_STR:
        *(const char **)o->to = text;
        break;
    case CF_OPT_U32:
        if (!read_uint(&v, text, UINT32_MAX)) {
            return cf_fail(err, CF_EINVAL, "%s: '%s' is not a whole number", o->name, text);
        }
        *(uint32_t *)o->to = (uint32_t)v;
        break;
    case CF_OPT_U64:
        if (!read_uint(&v, text, UINT64_MAX)) {
            return cf_fail(err, CF_EINVAL, "%s: '%s' is not a whole number", o->name, text);
        }
        *(uint64_t *)o->to = v;
        break;
    case CF_OPT_F32: {
        char *end;
        float f = strtof(text, &end);
        if (end == text || *end != '\0' || !isfinite(f)) {
            return cf_fail(err, CF_EINVAL, "%s: '%s' is not a number", o->name, text);
        }
        *(float *)o->to = f;
        break;
    }
    case CF_OPT_LIST: {
        cf_opt_list *list = o->to;
        if (list->n == CF_OPT_LIST_MAX) {
            return cf_fail(err, CF_EINVAL, "%s: given more than %d times", o->name,
                           CF_OPT_LIST_MAX);
        }
        list->v[list->n++] = text;
        break;
    }
    }
    if (o->was_given != NULL) {
        *o->was_given = true;
    }
    return CF_OK;
}

static const cf_opt *find(const cf_opt *own, const cf_opt *more, const char *name, size_t n)
{
    if (name[0] != '-') {
        const cf_opt *o = find_letter(own, name[0]);
        return o != NULL ? o : find_letter(more, name[0]);
    }
    const cf_opt *o = find_long(own, name, n);
    return o != NULL ? o : find_long(more, name, n);
}

static bool is_option(const char *arg)
{
    return arg[0] == '-' && arg[1] != '\0' && strcmp(arg, "--") != 0;
}

/* The arguments that are left. */
typedef struct words {
    int argc, at;
    char **argv;
} words;

/* Stores `value`, or the next argument if it is NULL. */
static cf_status take(const cf_opt *o, const char *value, words *w, cf_error *err)
{
    if (value == NULL) {
        if (w->at == w->argc) {
            return cf_fail(err, CF_EINVAL, "%s needs a value", o->name);
        }
        value = w->argv[w->at++];
    }
    return store(o, value, err);
}

/* Names the option of the tables that is nearest to one that is in none. */
static cf_status unknown(const cf_opt *own, const cf_opt *more, const char *arg, size_t n,
                         cf_error *err)
{
    char asked[CF_EDIT_DISTANCE_MAX + 1];
    cf_nearest near = {.asked = asked};
    snprintf(asked, sizeof asked, "%.*s", (int)(n < sizeof asked ? n : 0), arg);
    for (int i = 0; i < 2; i++) {
        for (const cf_opt *t = i == 0 ? own : more; t != NULL && t->name != NULL; t++) {
            cf_nearest_offer(&near, t->name);
        }
    }
    return cf_nearest_suggest(&near, cf_fail(err, CF_EINVAL, "unknown option %s", arg), err);
}

static cf_status read_long(const cf_opt *own, const cf_opt *more, const char *arg, words *w,
                           cf_error *err)
{
    const char *eq = strchr(arg, '=');
    size_t n = eq != NULL ? (size_t)(eq - arg) : strlen(arg);
    const cf_opt *o = find(own, more, arg, n);
    if (o == NULL) {
        return unknown(own, more, arg, n, err);
    }
    if (o->kind != CF_OPT_FLAG) {
        return take(o, eq != NULL ? eq + 1 : NULL, w, err);
    }
    return eq == NULL ? store(o, NULL, err) : cf_fail(err, CF_EINVAL, "%s takes no value", o->name);
}

/* "-abN": the flags a and b, and b's or another letter's value. */
static cf_status read_short(const cf_opt *own, const cf_opt *more, const char *arg, words *w,
                            cf_error *err)
{
    for (const char *p = arg + 1; *p != '\0'; p++) {
        const cf_opt *o = find(own, more, p, 1);
        if (o == NULL) {
            return cf_fail(err, CF_EINVAL, "unknown option %s", arg);
        }
        if (o->kind != CF_OPT_FLAG) {
            return take(o, p[1] != '\0' ? p + 1 : NULL, w, err);
        }
        CF_TRY(store(o, NULL, err));
    }
    return CF_OK;
}

static cf_status read_option(const cf_opt *own, const cf_opt *more, words *w, cf_error *err)
{
    const char *arg = w->argv[w->at++];
    return arg[1] == '-' ? read_long(own, more, arg, w, err) : read_short(own, more, arg, w, err);
}

cf_status cf_options_read(const cf_opt *own, const cf_opt *more, int argc, char **argv, int *n_rest,
                          cf_error *err)
{
    int rest = 0;
    bool options_ended = false;
    words w = {argc, 0, argv};
    while (w.at < argc) {
        char *arg = argv[w.at];
        if (!options_ended && is_option(arg)) {
            CF_TRY(read_option(own, more, &w, err));
            continue;
        }
        w.at++;
        if (!options_ended && strcmp(arg, "--") == 0) {
            options_ended = true;
        } else {
            argv[rest++] = arg;
        }
    }
    *n_rest = rest;
    return CF_OK;
}

cf_status cf_options_lead(const cf_opt *table, int argc, char **argv, int *n_read, cf_error *err)
{
    words w = {argc, 0, argv};
    while (w.at < argc && is_option(argv[w.at])) {
        const char *arg = argv[w.at];
        bool is_long = arg[1] == '-';
        if (find(table, NULL, is_long ? arg : arg + 1, strcspn(arg, "=")) == NULL) {
            break;
        }
        CF_TRY(read_option(table, NULL, &w, err));
    }
    *n_read = w.at;
    return CF_OK;
}

void cf_options_print(FILE *to, const cf_opt *table)
{
    for (const cf_opt *o = table; o != NULL && o->name != NULL; o++) {
        char left[64];
        char letter[8] = "    ";
        if (o->letter != 0) {
            snprintf(letter, sizeof letter, "-%c, ", o->letter);
        }
        snprintf(left, sizeof left, "%s%s%s%s", letter, o->name, o->value != NULL ? " " : "",
                 o->value != NULL ? o->value : "");
        fprintf(to, "  %-28s %s\n", left, o->help);
    }
}
