/*
 * promptfoo.c - a configuration as a whole, its variables and its tests.
 *
 * Always true:
 *   1. Every prompt of the plan has a list of messages for each wording.
 *   2. The file at hand (`name`, `doc`, `line`) is the one that a value came
 *      from while it is read.
 */
#include "tui/study/import/promptfoo.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/os.h"
#include "tui/study/import/promptfoo_impl.h"

/* ---- messages ----------------------------------------------------------- */

cf_status cf_promptfoo__fail(const cf_promptfoo *f, const json_t *at, cf_status st, cf_error *err,
                             const char *fmt, ...)
{
    char text[CF_ERROR_TEXT_MAX];
    va_list ap;
    const char *name = f->name;
    size_t line = f->doc != NULL ? cf_yaml_line(f->doc, at) : 0;
    size_t of_config = line == 0 ? cf_yaml_line(f->config, at) : 0;
    if (of_config > 0) { /* what defaultTest has, asked of a file's test */
        name = f->r->p->path;
        line = of_config;
    }
    line = line > 0 ? line : f->line;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    return line > 0 ? cf_fail(err, st, "%.160s:%zu: %s", name, line, text)
                    : cf_fail(err, st, "%.160s: %s", name, text);
}

cf_status cf_promptfoo__keys(const cf_promptfoo *f, const json_t *v, const char *const *known,
                             cf_error *err)
{
    const char *key;
    json_t *item;
    json_object_foreach(cf_json_ref(v), key, item)
    {
        size_t i = 0;
        while (known[i] != NULL && strcmp(known[i], key) != 0) {
            i++;
        }
        if (known[i] == NULL) {
            bool has_line = f->doc != NULL && cf_yaml_line(f->doc, item) > 0;
            return cf_promptfoo__fail(f, has_line ? item : v, CF_EUNSUPPORTED, err,
                                      "'%.60s' is not supported here", key);
        }
    }
    return CF_OK;
}

/* ---- variables ---------------------------------------------------------- */

/* The value of a variable, read from its file if it names one. */
static cf_status var_value(cf_promptfoo *f, const json_t *v, json_t **out, cf_error *err)
{
    const char *path;
    cf_str text = cf_str_make(json_string_value(v), json_string_length(v));
    if (!json_is_string(v) || !cf_promptfoo__is_file(f, text, &path)) {
        *out = json_incref(cf_json_ref(v));
        return CF_OK;
    }
    if (path == NULL) {
        return cf_oom_for(err, "the plan");
    }
    if (cf_promptfoo__ends(path, ".json") || cf_promptfoo__ends(path, ".yaml") ||
        cf_promptfoo__ends(path, ".yml")) {
        return cf_promptfoo__load(out, path, err);
    }
    cf_buf b = CF_BUF_INIT;
    cf_status st = cf_os_read_file(&b, path, CF_PLAN__FILE_MAX, err);
    *out = st == CF_OK ? json_stringn(cf_buf_cstr(&b), b.n) : NULL;
    cf_buf_deinit(&b);
    return st == CF_OK && *out == NULL
               ? cf_fail(err, CF_EFORMAT, "%.120s is not a text in UTF-8", path)
               : st;
}

/* Puts the variables of a test over those that are there. */
static cf_status add_vars(cf_promptfoo *f, json_t *into, const json_t *test, cf_error *err)
{
    const json_t *given = json_object_get(test, "vars");
    cf_error why = {0};
    json_t *vars = NULL, *item;
    const char *key;
    if (given == NULL || json_is_null(given)) {
        return CF_OK;
    }
    cf_status st = var_value(f, given, &vars, &why);
    if (st == CF_OK && !json_is_object(vars)) {
        st = cf_fail(&why, CF_EINVAL, "vars: expected a mapping");
    }
    json_object_foreach(vars, key, item)
    {
        json_t *value = NULL;
        st = st == CF_OK ? var_value(f, item, &value, &why) : st;
        if (st == CF_OK && json_object_set_new(into, key, value) != 0) {
            st = cf_oom_for(&why, "the plan");
        }
    }
    json_decref(vars);
    return st == CF_OK ? st : cf_promptfoo__fail(f, given, st, err, "%s", why.text);
}

/* Choice number `choice` of the variables: of a list one item, the last list
 * changes fastest.  *n_all: how many choices there are. */
static json_t *choose(const json_t *vars, size_t choice, size_t *n_all)
{
    json_t *out = json_object(), *item;
    const char *key;
    *n_all = 1;
    json_object_foreach(cf_json_ref(vars), key, item)
    {
        size_t n = json_array_size(item);
        *n_all *= n > 0 && *n_all <= CF_SWEEP_ITEMS_MAX ? n : 1;
    }
    size_t left = *n_all;
    json_object_foreach(cf_json_ref(vars), key, item)
    {
        size_t n = json_array_size(item);
        left /= n > 0 ? n : 1;
        json_t *v = n > 0 && left > 0 ? json_array_get(item, choice / left % n) : item;
        if (json_object_set(out, key, v) != 0) {
            json_decref(out);
            return NULL;
        }
    }
    return out;
}

/* ---- tests -------------------------------------------------------------- */

/* "French, Hello world": the variables that are short enough to say. */
static cf_status name_test(cf_promptfoo *f, const json_t *test, const json_t *vars,
                           bool has_choices, cf_str *out, cf_error *err)
{
    cf_buf b = CF_BUF_INIT;
    cf_str about = cf_json_get_str(test, "description");
    const char *key;
    json_t *item;
    cf_buf_add(&b, about.p, about.n);
    json_object_foreach(cf_json_ref(vars), key, item)
    {
        if (about.n == 0 || has_choices) {
            cf_buf_adds(&b, b.n > 0 ? ", " : "");
            (void)cf_promptfoo__text_of(item, &b);
        }
    }
    if (b.n == 0) {
        cf_buf_addf(&b, "%zu", f->r->p->n_item + 1);
    }
    cf_status st = cf_promptfoo__name(f, cf_buf_str(&b), out, err);
    cf_buf_deinit(&b);
    return st;
}

/* One wording with the variables: a list of messages. */
static cf_status word(const json_t *wording, const json_t *vars, json_t **out, cf_error *err)
{
    cf_buf text = CF_BUF_INIT;
    if (json_is_array(wording)) {
        return cf_promptfoo__render_all(out, wording, vars, err);
    }
    cf_status st = cf_promptfoo__render(
        cf_str_make(json_string_value(wording), json_string_length(wording)), vars, &text, err);
    if (st == CF_OK) {
        *out = cf_promptfoo__messages_in(cf_buf_str(&text));
        if (*out == NULL) {
            *out = json_pack("[{s:s,s:s%}]", "role", "user", "content", cf_buf_cstr(&text), text.n);
        }
        st = *out != NULL ? CF_OK : cf_oom_for(err, "the prompts");
    }
    cf_buf_deinit(&text);
    return st;
}

/* Bytes of the texts of messages. */
static size_t bytes_of(const json_t *messages)
{
    cf_buf b = CF_BUF_INIT;
    cf_json_write(&b, messages);
    size_t n = b.n;
    cf_buf_deinit(&b);
    return n;
}

static cf_status word_all(cf_promptfoo *f, const json_t *vars, cf_sweep_item *item, cf_error *err)
{
    item->messages = json_array();
    for (size_t i = 0; i < json_array_size(f->wording); i++) {
        json_t *messages = NULL;
        cf_error why = {0};
        cf_status st = word(json_array_get(f->wording, i), vars, &messages, &why);
        if (st != CF_OK) {
            cf_str name = f->r->p->wording[i];
            return st == CF_ENOMEM ? cf_oom_for(err, "the prompts")
                                   : cf_fail(err, st, "the prompt '%.*s': %s",
                                             (int)(name.n < 60 ? name.n : 60), name.p, why.text);
        }
        f->n_bytes += bytes_of(messages);
        if (json_array_append_new(item->messages, messages) != 0) {
            return cf_oom_for(err, "the prompts");
        }
        if (f->n_bytes > CF_PLAN__PROMPTS_MAX) {
            return cf_fail(err, CF_ELIMIT, "more than 512 MiB of prompts");
        }
    }
    return CF_OK;
}

/* A test with one value for each variable becomes a prompt of the plan. */
static cf_status add_test(cf_promptfoo *f, const json_t *test, json_t *chosen, bool has_choices,
                          cf_error *err)
{
    cf_sweep_item item = {.messages = NULL};
    json_t *vars = NULL;
    cf_error why = {0};
    cf_status st = cf_promptfoo__render_all(&vars, chosen, chosen, &why);
    CF_THEN(st, name_test(f, test, vars, has_choices, &item.name, &why));
    CF_THEN(st, word_all(f, vars, &item, &why));
    if (st != CF_OK) {
        st = cf_promptfoo__fail(f, test, st, err, "%s", why.text);
    }
    CF_THEN(st, cf_promptfoo__asserts(f, test, vars, &item, err));
    json_decref(vars);
    if (st != CF_OK) {
        json_decref(item.messages);
        return st;
    }
    return cf_plan__add_item(f->r, &item, err);
}

static cf_status read_test(cf_promptfoo *f, const json_t *test, cf_error *err)
{
    static const char *const known[] = {"description", "vars",     "assert",
                                        "options",     "metadata", NULL};
    static const char *const options[] = {"provider", NULL};
    if (!json_is_object(test)) {
        return cf_promptfoo__fail(f, test, CF_EINVAL, err, "a test is a mapping, or file://...");
    }
    CF_TRY(cf_promptfoo__keys(f, test, known, err));
    if (json_object_get(test, "options") != NULL) {
        CF_TRY(cf_promptfoo__keys(f, json_object_get(test, "options"), options, err));
    }
    json_t *vars = json_object();
    cf_status st = vars != NULL ? add_vars(f, vars, f->defaults, err) : cf_oom_for(err, "the plan");
    CF_THEN(st, add_vars(f, vars, test, err));
    size_t n_all = 1;
    for (size_t i = 0; st == CF_OK && i < n_all; i++) {
        json_t *chosen = choose(vars, i, &n_all);
        if (chosen == NULL) {
            st = cf_oom_for(err, "the plan");
        } else if (n_all > CF_SWEEP_ITEMS_MAX) {
            st = cf_promptfoo__fail(f, test, CF_ELIMIT, err, "more than %d prompts",
                                    CF_SWEEP_ITEMS_MAX);
        } else {
            st = add_test(f, test, chosen, n_all > 1, err);
        }
        json_decref(chosen);
    }
    json_decref(vars);
    return st;
}

static cf_status read_tests(cf_promptfoo *f, const json_t *v, bool allows_files, cf_error *err);

/* A test a line, each a JSON object. */
static cf_status read_lines(cf_promptfoo *f, const char *path, cf_str text, cf_error *err)
{
    size_t n;
    for (size_t at = 0; at < text.n; at += n + 1) {
        const char *end = memchr(text.p + at, '\n', text.n - at);
        json_t *test = NULL;
        cf_error why = {0};
        n = end != NULL ? (size_t)(end - text.p) - at : text.n - at;
        f->line++;
        if (n == 0 || text.p[at] == '\r') {
            continue;
        }
        cf_status st = cf_json_read(&test, text.p + at, n, &why);
        st = st == CF_OK ? read_test(f, test, err)
                         : cf_fail(err, st, "%.160s:%zu: %s", path, f->line, why.text);
        json_decref(test);
        CF_TRY(st);
    }
    return CF_OK;
}

/* A file of tests, which is the file at hand while it is read. */
static cf_status read_test_file(cf_promptfoo *f, const char *path, const json_t *at, cf_error *err)
{
    cf_buf text = CF_BUF_INIT;
    cf_promptfoo inside = *f;
    cf_yaml doc = {.root = NULL};
    cf_error why = {0};
    json_t *v = NULL;
    cf_status st = path != NULL ? cf_os_read_file(&text, path, CF_PLAN__FILE_MAX, &why)
                                : cf_oom_for(&why, "the plan");
    if (st != CF_OK) {
        return cf_promptfoo__fail(f, at, st, err, "%s", why.text);
    }
    inside.name = path;
    inside.doc = NULL;
    inside.line = 0;
    if (cf_promptfoo__ends(path, ".jsonl")) {
        st = read_lines(&inside, path, cf_buf_str(&text), err);
    } else if (cf_promptfoo__ends(path, ".json")) {
        st = cf_json_read(&v, cf_buf_cstr(&text), text.n, &why);
        st = st == CF_OK ? read_tests(&inside, v, false, err)
                         : cf_fail(err, st, "%.160s: %s", path, why.text);
        json_decref(v);
    } else if (cf_promptfoo__ends(path, ".yaml") || cf_promptfoo__ends(path, ".yml")) {
        st = cf_yaml_read(&doc, path, cf_buf_str(&text), err);
        inside.doc = &doc;
        CF_THEN(st, read_tests(&inside, doc.root, false, err));
        cf_yaml_deinit(&doc);
    } else {
        st = cf_promptfoo__fail(f, at, CF_EUNSUPPORTED, err,
                                "tests are read from .yaml, .json and .jsonl "
                                "files, not from %.100s",
                                path);
    }
    f->n_bytes = inside.n_bytes;
    cf_buf_deinit(&text);
    return st;
}

static cf_status read_tests(cf_promptfoo *f, const json_t *v, bool allows_files, cf_error *err)
{
    const char *path;
    cf_str text = cf_str_make(json_string_value(v), json_string_length(v));
    if (json_is_string(v) && allows_files) {
        if (!cf_promptfoo__is_file(f, text, &path)) {
            path = cf_plan__find_file(f->r, text);
        }
        return read_test_file(f, path, v, err);
    }
    if (!json_is_array(v)) {
        return read_test(f, v, err);
    }
    for (size_t i = 0; i < json_array_size(v); i++) {
        const json_t *test = json_array_get(v, i);
        CF_TRY(json_is_string(test) && allows_files ? read_tests(f, test, true, err)
                                                    : read_test(f, test, err));
    }
    return CF_OK;
}

/* ---- the whole ---------------------------------------------------------- */

static cf_status read_providers(cf_promptfoo *f, cf_error *err)
{
    const json_t *v = json_object_get(f->root, "providers");
    cf_sweep_plan *p = f->r->p;
    v = v != NULL ? v : json_object_get(f->root, "targets");
    size_t n = json_is_array(v) ? json_array_size(v) : v != NULL ? 1 : 0;
    for (size_t i = 0; i < n; i++) {
        const json_t *one = json_is_array(v) ? json_array_get(v, i) : v;
        if (p->n_model == CF_SWEEP_VALUES_MAX) {
            return cf_promptfoo__fail(f, v, CF_ELIMIT, err, "more than %d providers",
                                      CF_SWEEP_VALUES_MAX);
        }
        CF_TRY(cf_promptfoo__provider(f, one, &p->model[p->n_model], err));
        p->n_model++;
    }
    return CF_OK;
}

static cf_status check_options(const cf_promptfoo *f, cf_error *err)
{
    static const char *const known[] = {"maxConcurrency", "showProgressBar", "cache",  "delay",
                                        "timeoutMs",      "maxEvalTimeMs",   "repeat", NULL};
    const json_t *v = json_object_get(f->root, "evaluateOptions");
    const json_t *repeat = json_object_get(v, "repeat");
    if (v == NULL) {
        return CF_OK;
    }
    CF_TRY(cf_promptfoo__keys(f, v, known, err));
    return repeat == NULL || json_integer_value(repeat) == 1
               ? CF_OK
               : cf_promptfoo__fail(f, v, CF_EUNSUPPORTED, err,
                                    "evaluateOptions.repeat is not supported: "
                                    "a plan with several samplers answers "
                                    "prompts more than once");
}

static cf_status read_root(cf_promptfoo *f, cf_error *err)
{
    static const char *const known[] = {"description",
                                        "tags",
                                        "metadata",
                                        "$schema",
                                        "prompts",
                                        "providers",
                                        "targets",
                                        "tests",
                                        "defaultTest",
                                        "assertionTemplates",
                                        "evaluateOptions",
                                        "outputPath",
                                        "sharing",
                                        "writeLatestResults",
                                        NULL};
    static const char *const of_default[] = {"vars",     "assert",      "options",
                                             "metadata", "description", NULL};
    static const char *const of_options[] = {"provider", NULL};
    cf_sweep_plan *p = f->r->p;
    if (!json_is_object(f->root)) {
        return cf_promptfoo__fail(f, f->root, CF_EINVAL, err,
                                  "expected a mapping with prompts and tests");
    }
    CF_TRY(cf_promptfoo__keys(f, f->root, known, err));
    f->defaults = json_object_get(f->root, "defaultTest");
    if (f->defaults != NULL) {
        if (!json_is_object(f->defaults)) {
            return cf_promptfoo__fail(f, f->defaults, CF_EUNSUPPORTED, err,
                                      "defaultTest: expected a mapping");
        }
        CF_TRY(cf_promptfoo__keys(f, f->defaults, of_default, err));
        CF_TRY(cf_promptfoo__keys(f, json_object_get(f->defaults, "options"), of_options, err));
    }
    CF_TRY(check_options(f, err));
    CF_TRY(cf_promptfoo__prompts(f, err));
    CF_TRY(read_providers(f, err));
    const json_t *tests = json_object_get(f->root, "tests");
    json_t *none = json_object(); /* without tests the prompts are asked once */
    cf_status st = none != NULL ? read_tests(f, tests != NULL ? tests : none, true, err)
                                : cf_oom_for(err, "the plan");
    json_decref(none);
    if (st == CF_OK && p->n_item == 0) {
        st = cf_promptfoo__fail(f, tests, CF_EINVAL, err, "no test is here");
    }
    return st;
}

cf_status cf_promptfoo_read(cf_plan__reader *r, cf_str text, cf_error *err)
{
    cf_yaml doc;
    cf_promptfoo f = {.r = r, .name = r->p->path, .doc = &doc, .config = &doc};
    CF_TRY(cf_yaml_read(&doc, r->p->path, text, err));
    f.root = doc.root;
    f.wording = json_array();
    r->p->has_own = true;
    cf_status st = f.wording != NULL ? read_root(&f, err) : cf_oom_for(err, "the plan");
    json_decref(f.wording);
    cf_yaml_deinit(&doc);
    return st;
}
