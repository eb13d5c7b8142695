/*
 * promptfoo_assert.c - assertions as checks.
 */
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/os.h"
#include "tui/study/import/promptfoo_impl.h"

enum { NAME_MAX_BYTES = 120 };

/* What an assertion's value is. */
typedef enum value_form {
    FORM_NONE,
    FORM_TEXT,
    FORM_LIST,  /* of texts, or one text with commas */
    FORM_EQUAL, /* a text, or a JSON value */
    FORM_REGEX,
    FORM_SCHEMA, /* optional */
    FORM_RUBRIC
} value_form;

static const struct {
    const char *type, *predicate;
    value_form form;
} kinds[] = {
    {"equals", "equals", FORM_EQUAL},
    {"contains", "contains", FORM_TEXT},
    {"icontains", "icontains", FORM_TEXT},
    {"contains-all", "contains-all", FORM_LIST},
    {"contains-any", "contains-any", FORM_LIST},
    {"icontains-all", "icontains-all", FORM_LIST},
    {"icontains-any", "icontains-any", FORM_LIST},
    {"starts-with", "starts-with", FORM_TEXT},
    {"regex", "regex", FORM_REGEX},
    {"is-json", "json", FORM_SCHEMA},
    {"contains-json", "contains-json", FORM_SCHEMA},
    {"is-valid-function-call", "calls-valid", FORM_NONE},
    {"is-valid-openai-function-call", "calls-valid", FORM_NONE},
    {"is-valid-openai-tools-call", "calls-valid", FORM_NONE},
    {"llm-rubric", NULL, FORM_RUBRIC},
    {"model-graded-closedqa", NULL, FORM_RUBRIC},
};

enum { N_KINDS = sizeof kinds / sizeof kinds[0] };

/* One test's assertions being read. */
typedef struct asserting {
    cf_promptfoo *f;
    const json_t *test, *vars;
    cf_sweep_item *item;
} asserting;

static cf_status no_kind(const cf_promptfoo *f, const json_t *at, cf_str type, cf_error *err)
{
    cf_buf list = CF_BUF_INIT;
    for (size_t i = 0; i < N_KINDS; i++) {
        cf_buf_addf(&list, "%s%s", i > 0 ? ", " : "", kinds[i].type);
    }
    cf_status st =
        cf_promptfoo__fail(f, at, CF_EUNSUPPORTED, err,
                           "the assertion '%.*s' is not supported: use one of %s, or not- one",
                           (int)(type.n < 40 ? type.n : 40), type.p, cf_buf_cstr(&list));
    cf_buf_deinit(&list);
    return st;
}

/* ---- values ------------------------------------------------------------- */

/* The text of a value, rendered, or read from its file. */
static cf_status text_value(const asserting *a, const json_t *v, cf_buf *out, cf_error *err)
{
    cf_buf text = CF_BUF_INIT;
    const char *path;
    if (!cf_promptfoo__text_of(v, &text)) {
        cf_buf_deinit(&text);
        return cf_fail(err, CF_EINVAL, "value: expected a text");
    }
    cf_status st;
    if (cf_promptfoo__is_file(a->f, cf_buf_str(&text), &path)) {
        st = path != NULL ? cf_os_read_file(out, path, CF_PLAN__FILE_MAX, err)
                          : cf_oom_for(err, "the plan");
        while (out->n > 0 && strchr("\r\n", out->p[out->n - 1]) != NULL) {
            cf_buf_rewind(out, out->n - 1);
        }
    } else {
        st = cf_promptfoo__render(cf_buf_str(&text), a->vars, out, err);
    }
    cf_buf_deinit(&text);
    return st;
}

static cf_status list_value(const asserting *a, const json_t *v, cf_buf *out, cf_error *err)
{
    if (!json_is_array(v)) {
        return text_value(a, v, out, err);
    }
    cf_status st = CF_OK;
    cf_buf_addc(out, '[');
    for (size_t i = 0; st == CF_OK && i < json_array_size(v); i++) {
        cf_buf text = CF_BUF_INIT;
        st = text_value(a, json_array_get(v, i), &text, err);
        cf_buf_adds(out, i > 0 ? "," : "");
        cf_json_write_str(out, cf_buf_str(&text));
        cf_buf_deinit(&text);
    }
    cf_buf_addc(out, ']');
    return st;
}

/* A schema: a mapping, a file with one, or a text that is one. */
static cf_status schema_value(const asserting *a, const json_t *v, cf_buf *out, cf_error *err)
{
    const char *path;
    json_t *loaded = NULL;
    cf_str text = cf_str_make(json_string_value(v), json_string_length(v));
    if (json_is_object(v)) {
        cf_json_write(out, v);
        return cf_buf_check(out, err);
    }
    if (!json_is_string(v) || !cf_promptfoo__is_file(a->f, text, &path)) {
        return text_value(a, v, out, err);
    }
    cf_status st =
        path != NULL ? cf_promptfoo__load(&loaded, path, err) : cf_oom_for(err, "the plan");
    if (st == CF_OK && !json_is_object(loaded)) {
        st = cf_fail(err, CF_EINVAL, "%.120s: expected a schema", path);
    } else if (st == CF_OK) {
        cf_json_write(out, loaded);
        st = cf_buf_check(out, err);
    }
    json_decref(loaded);
    return st;
}

/* The value as a predicate takes it; `name` may become another predicate. */
static cf_status value_of(const asserting *a, size_t kind, const json_t *v, const char **name,
                          cf_buf *out, cf_error *err)
{
    value_form form = kinds[kind].form;
    if (form == FORM_NONE || (form == FORM_SCHEMA && v == NULL)) {
        return CF_OK;
    }
    if (v == NULL) {
        return cf_fail(err, CF_EINVAL, "%s: its value is missing", kinds[kind].type);
    }
    if (form == FORM_SCHEMA) {
        *name = strcmp(*name, "json") == 0 ? "schema" : *name;
        return schema_value(a, v, out, err);
    }
    if (form == FORM_LIST) {
        return list_value(a, v, out, err);
    }
    if (form == FORM_EQUAL && (json_is_object(v) || json_is_array(v))) {
        json_t *rendered = NULL;
        *name = "json-equals";
        CF_TRY(cf_promptfoo__render_all(&rendered, v, a->vars, err));
        cf_json_write(out, rendered);
        json_decref(rendered);
        return cf_buf_check(out, err);
    }
    /* ^ and $ are the ends of the text there, and of lines here. */
    cf_buf_adds(out, form == FORM_REGEX ? "(?-m)" : "");
    return text_value(a, v, out, err);
}

/* ---- judges ------------------------------------------------------------- */

/* Who judges: the assertion's provider, else the test's, else defaultTest's. */
static const json_t *judge_of(const asserting *a, const json_t *v)
{
    const json_t *own = json_object_get(v, "provider");
    const json_t *of_test = json_object_get(json_object_get(a->test, "options"), "provider");
    const json_t *of_all = json_object_get(json_object_get(a->f->defaults, "options"), "provider");
    return own != NULL ? own : of_test != NULL ? of_test : of_all;
}

static cf_status set_judge(const asserting *a, const json_t *v, cf_sweep_check *c, cf_error *err)
{
    const json_t *provider = judge_of(a, v);
    cf_sweep_model m;
    cf_buf text = CF_BUF_INIT;
    if (provider == NULL) {
        return cf_promptfoo__fail(a->f, v, CF_EINVAL, err,
                                  "who judges is not said: "
                                  "defaultTest.options.provider names a model");
    }
    CF_TRY(cf_promptfoo__provider(a->f, provider, &m, err));
    c->kind = CF_CHECK_JUDGE;
    c->model = m.address[0];
    c->server_model = m.server_model;
    c->key = m.key;
    c->key_variable = m.key_variable;
    c->is_service = m.is_service;
    cf_error why = {0};
    cf_buf_adds(&text, "Does the reply meet this requirement? ");
    const json_t *value = json_object_get(v, "value");
    cf_status st = value != NULL ? text_value(a, value, &text, &why)
                                 : cf_fail(&why, CF_EINVAL, "its value is missing");
    CF_THEN(st, cf_plan__copy(a->f->r, &c->value, cf_buf_str(&text), &why));
    cf_buf_deinit(&text);
    return st == CF_OK ? st : cf_promptfoo__fail(a->f, v, st, err, "%s", why.text);
}

/* ---- checks ------------------------------------------------------------- */

/* A column with the check's name in which the prompt has no check yet; a second
 * "contains" uses the column "contains 2". */
static cf_status column_of(const asserting *a, cf_str name, size_t *out, cf_error *err)
{
    cf_sweep_plan *p = a->f->r->p;
    char text[NAME_MAX_BYTES + 24];
    int n_name = (int)(name.n < NAME_MAX_BYTES ? name.n : NAME_MAX_BYTES);
    for (size_t times = 1;; times++) {
        size_t k = 0, i = 0;
        if (times == 1) {
            snprintf(text, sizeof text, "%.*s", n_name, name.p);
        } else {
            snprintf(text, sizeof text, "%.*s %zu", n_name, name.p, times);
        }
        while (k < p->n_check && !cf_str_is(p->check[k].name, text)) {
            k++;
        }
        while (i < a->item->n_own && p->own[a->item->first_own + i].column != k) {
            i++;
        }
        if (k == p->n_check && k == CF_SWEEP_VALUES_MAX) {
            return cf_fail(err, CF_ELIMIT, "more than %d assertions of different names",
                           CF_SWEEP_VALUES_MAX);
        }
        if (i == a->item->n_own) {
            *out = k;
            if (k == p->n_check) {
                p->check[k] = (cf_sweep_check){.name = cf_str_make("", 0)};
                CF_TRY(cf_plan__copy(a->f->r, &p->check[k].name, cf_str_from(text), err));
                p->n_check++;
            }
            return CF_OK;
        }
    }
}

static cf_status add_check(const asserting *a, cf_sweep_check *c, cf_error *err)
{
    cf_sweep_plan *p = a->f->r->p;
    size_t column = 0;
    cf_status st = column_of(a, c->name, &column, err);
    if (st == CF_OK && !cf_grow(&p->own, &p->cap_own, p->n_own + 1, sizeof *p->own)) {
        st = cf_oom_for(err, "the plan");
    }
    if (st != CF_OK) {
        cf_sweep_check_deinit(c);
        return st;
    }
    c->name = p->check[column].name;
    p->own[p->n_own++] = (cf_sweep_own_check){column, *c};
    a->item->n_own++;
    return CF_OK;
}

/* The metric's name, else the type's. */
static cf_status name_check(const asserting *a, const json_t *v, cf_str type, cf_sweep_check *c,
                            cf_error *err)
{
    cf_buf name = CF_BUF_INIT;
    cf_str metric = cf_json_get_str(v, "metric");
    cf_status st = metric.n > 0 ? cf_promptfoo__render(metric, a->vars, &name, err) : CF_OK;
    if (metric.n == 0) {
        cf_buf_add(&name, type.p, type.n);
    }
    CF_THEN(st, cf_plan__copy(a->f->r, &c->name, cf_buf_str(&name), err));
    cf_buf_deinit(&name);
    return st;
}

static cf_status read_predicate(const asserting *a, const json_t *v, size_t kind, bool is_negated,
                                cf_sweep_check *c, cf_error *err)
{
    cf_buf value = CF_BUF_INIT, full = CF_BUF_INIT;
    cf_error why = {0};
    const char *name = kinds[kind].predicate;
    cf_status st = value_of(a, kind, json_object_get(v, "value"), &name, &value, &why);
    cf_buf_addf(&full, "%s%s", is_negated ? "not-" : "", name);
    CF_THEN(st, cf_plan__copy(a->f->r, &c->predicate, cf_buf_str(&full), &why));
    CF_THEN(st, cf_predicate_new(&c->ready, cf_buf_str(&full), cf_buf_str(&value), &why));
    cf_buf_deinit(&full);
    cf_buf_deinit(&value);
    return st == CF_OK ? st : cf_promptfoo__fail(a->f, v, st, err, "%s", why.text);
}

/* "$ref: '#/assertionTemplates/NAME'" stands for that assertion. */
static cf_status follow(const cf_promptfoo *f, const json_t **v, cf_error *err)
{
    cf_str ref = cf_json_get_str(*v, "$ref");
    cf_str place = cf_str_from("#/assertionTemplates/");
    if (ref.p == NULL) {
        return CF_OK;
    }
    const json_t *all = json_object_get(f->root, "assertionTemplates");
    const json_t *found =
        cf_str_starts(ref, place) ? json_object_getn(all, ref.p + place.n, ref.n - place.n) : NULL;
    if (!json_is_object(found) || json_object_get(found, "$ref") != NULL) {
        return cf_promptfoo__fail(f, *v, CF_EINVAL, err, "no assertion '%.*s' is here",
                                  (int)(ref.n < 60 ? ref.n : 60), ref.p);
    }
    *v = found;
    return CF_OK;
}

static cf_status read_list(const asserting *a, const json_t *list, bool allows_sets, cf_error *err);

static cf_status read_one(const asserting *a, const json_t *v, bool allows_sets, cf_error *err)
{
    static const char *const known[] = {"type",     "value",       "metric", "weight",
                                        "provider", "description", NULL};
    static const char *const of_set[] = {"type", "assert", "metric", "weight", NULL};
    cf_promptfoo *f = a->f;
    CF_TRY(follow(f, &v, err));
    cf_str type = cf_json_get_str(v, "type"), plain = type;
    cf_str negation = cf_str_from("not-");
    const json_t *weight = json_object_get(v, "weight");
    if (type.n == 0) {
        return cf_promptfoo__fail(f, v, CF_EINVAL, err, "an assertion is a mapping with a type");
    }
    if (weight != NULL && !(json_number_value(weight) > 0)) {
        return cf_promptfoo__fail(f, v, CF_EUNSUPPORTED, err,
                                  "an assertion that does not count (weight "
                                  "0) is not supported");
    }
    if (allows_sets && cf_str_is(type, "assert-set")) {
        CF_TRY(cf_promptfoo__keys(f, v, of_set, err));
        return read_list(a, json_object_get(v, "assert"), false, err);
    }
    bool is_negated = cf_str_starts(type, negation);
    if (is_negated) {
        plain = cf_str_make(type.p + negation.n, type.n - negation.n);
    }
    size_t kind = 0;
    while (kind < N_KINDS && !cf_str_is(plain, kinds[kind].type)) {
        kind++;
    }
    if (kind == N_KINDS) {
        return no_kind(f, v, type, err);
    }
    CF_TRY(cf_promptfoo__keys(f, v, known, err));
    cf_sweep_check c = {.kind = CF_CHECK_PREDICATE, .is_negated = is_negated};
    CF_TRY(name_check(a, v, type, &c, err));
    CF_TRY(kinds[kind].form == FORM_RUBRIC ? set_judge(a, v, &c, err)
                                           : read_predicate(a, v, kind, is_negated, &c, err));
    return add_check(a, &c, err);
}

static cf_status read_list(const asserting *a, const json_t *list, bool allows_sets, cf_error *err)
{
    if (list != NULL && !json_is_array(list)) {
        return cf_promptfoo__fail(a->f, list, CF_EINVAL, err, "assert: expected a list");
    }
    for (size_t i = 0; i < json_array_size(list); i++) {
        CF_TRY(read_one(a, json_array_get(list, i), allows_sets, err));
    }
    return CF_OK;
}

cf_status cf_promptfoo__asserts(cf_promptfoo *f, const json_t *test, const json_t *vars,
                                cf_sweep_item *item, cf_error *err)
{
    const asserting a = {.f = f, .test = test, .vars = vars, .item = item};
    item->first_own = f->r->p->n_own;
    item->n_own = 0;
    CF_TRY(read_list(&a, json_object_get(f->defaults, "assert"), true, err));
    return read_list(&a, json_object_get(test, "assert"), true, err);
}
