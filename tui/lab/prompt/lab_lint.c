/*
 * lab_lint.c - templates linted on a thread of their own, the last few results
 * kept; and the variables of the template in use.
 *
 * Always true:
 *   1. While linter.job points at a slot, that slot is the thread's.
 *   2. A slot with is_made does not change until its source is replaced.
 */
#include <string.h>

#include "core/base/alloc.h"
#include "tui/lab/prompt/lab_lint.h"
#include "tui/lab/prompt/prompt_impl.h"
#include "tui/lab/talk/lab_conversation.h"
#include "tui/lab/talk/lab_messages.h"
#include "tui/lab/talk/lab_options.h"

/* A template that has been linted, or is being linted. */
typedef struct cf_lab_linted {
    cf_buf source;
    bool is_made;
    uint64_t used; /* the call that asked for it last; 0: never */
    cf_arena arena;
    cf_lab_lint lint;
} cf_lab_linted;

enum { CF_LAB_LINTED = 4 };

/* Lints on a thread of its own, so that a long reply does not delay them. */
typedef struct cf_lab_linter {
    cf_lab_linted slot[CF_LAB_LINTED];
    cf_lab_linted *job; /* the thread's; NULL: none runs */
    uint64_t n_calls;
    bool has_options;
    cf_lint_options options;
    cf_arena arena; /* of their texts */
} cf_lab_linter;

cf_status cf_lab_linter_open(cf_lab *lab, cf_error *err)
{
    cf_lab_linter *d = lab->linter = cf_calloc(1, sizeof *d);
    if (d == NULL) {
        return cf_oom(err);
    }
    cf_arena_init(&d->arena, 0);
    for (size_t i = 0; i < CF_LAB_LINTED; i++) {
        cf_arena_init(&d->slot[i].arena, 0);
    }
    return CF_OK;
}

void cf_lab_linter_close(cf_lab *lab)
{
    cf_lab_linter *d = lab->linter;
    if (d == NULL) {
        return;
    }
    for (size_t i = 0; i < CF_LAB_LINTED; i++) {
        cf_buf_deinit(&d->slot[i].source);
        cf_arena_deinit(&d->slot[i].arena);
    }
    cf_arena_deinit(&d->arena);
    cf_free(d);
}

/* ---- on the linter's thread --------------------------------------------- */

/* The template's variables, their names in the arena; a template that does
 * not compile has none. */
static cf_status find_variables(cf_lab_linted *s, cf_error *err)
{
    cf_template *tpl;
    const cf_template_variable *v;
    size_t n = 0;
    if (cf_template_compile(&tpl, cf_buf_str(&s->source), NULL, NULL, NULL, NULL) != CF_OK) {
        return CF_OK; /* the report says why */
    }
    cf_template_variable *copy = NULL;
    cf_status st = cf_template_variables(tpl, &s->arena, &v, &n, err);
    if (st == CF_OK) {
        copy = cf_arena_alloc(&s->arena, (n + 1) * sizeof *copy);
        st = copy != NULL ? CF_OK : cf_oom(err);
    }
    for (size_t i = 0; st == CF_OK && i < n; i++) {
        copy[i] = v[i];
        copy[i].name.p = cf_arena_strndup(&s->arena, v[i].name.p, v[i].name.n);
        if (copy[i].name.p == NULL) {
            st = cf_oom(err);
        }
    }
    cf_template_free(tpl);
    if (st == CF_OK) {
        s->lint.variable = copy;
        s->lint.n_variables = n;
    }
    return st;
}

static cf_status lint(void *ud, cf_runner *runner, cf_error *err)
{
    cf_lab_linter *d = ud;
    cf_lab_linted *s = d->job;
    cf_lint_options options = d->options;
    (void)err; /* the result says it */
    options.cancel = cf_runner_cancel_flag(runner);
    s->lint.status = cf_template_lint(cf_buf_str(&s->source), &options, &s->arena, &s->lint.report,
                                      &s->lint.err);
    CF_THEN(s->lint.status, find_variables(s, &s->lint.err));
    return CF_OK;
}

/* ---- on the interface thread -------------------------------------------- */

static void linted(void *ud, cf_status status, const cf_error *err)
{
    cf_lab_linter *d = ud;
    (void)status;
    (void)err;
    d->job->is_made = true;
    d->job = NULL;
}

/* Describes the model to the linter, once. */
static cf_status set_options(cf_lab *lab, cf_error *err)
{
    cf_lab_linter *d = lab->linter;
    if (d->has_options) {
        return CF_OK;
    }
    const cf_media_cache *cache = cf_backend_core_media(lab->engine.backend);
    CF_TRY(cf_lint_describe_model(&d->options, lab->engine.tokenizer, lab->engine.engine,
                                  cache != NULL ? cf_media_cache_media(cache) : NULL, &d->arena,
                                  err));
    d->has_options = true;
    return CF_OK;
}

/* Begins with a source; a failure to begin is its result. */
static void begin(cf_lab *lab, cf_lab_linted *s, cf_str source)
{
    cf_lab_linter *d = lab->linter;
    const cf_task task = {.name = "linting", .run = lint, .end = linted, .ud = d};
    cf_buf_restart(&s->source);
    cf_arena_reset(&s->arena);
    s->lint = (cf_lab_lint){0};
    s->is_made = false;
    cf_buf_add(&s->source, source.p, source.n);
    cf_status st = cf_buf_check(&s->source, &s->lint.err);
    CF_THEN(st, set_options(lab, &s->lint.err));
    if (st == CF_OK) {
        d->job = s;
        st = cf_runner_start(&lab->lints, &task, &s->lint.err);
    }
    if (st != CF_OK) {
        d->job = NULL;
        s->is_made = true;
        s->lint.status = st;
    }
}

const cf_lab_lint *cf_lab_lint_of(cf_lab *lab, cf_str source)
{
    cf_lab_linter *d = lab->linter;
    cf_lab_linted *oldest = &d->slot[0];
    d->n_calls++;
    for (size_t i = 0; i < CF_LAB_LINTED; i++) {
        cf_lab_linted *s = &d->slot[i];
        if (s->used != 0 && cf_str_eq(cf_buf_str(&s->source), source)) {
            s->used = d->n_calls;
            return s->is_made ? &s->lint : NULL;
        }
        if (s->used < oldest->used) {
            oldest = s;
        }
    }
    if (d->job != NULL) {
        return NULL; /* one at a time */
    }
    oldest->used = d->n_calls;
    begin(lab, oldest, source);
    return oldest->is_made ? &oldest->lint : NULL;
}

/* ---- variables ---------------------------------------------------------- */

typedef struct variables {
    cf_lab *lab;
    cf_lab_variable *v;
    size_t n, cap;
} variables;

/* The new row, or NULL. */
static cf_lab_variable *add(variables *l, cf_str name, uint32_t line)
{
    if (!cf_grow(&l->v, &l->cap, l->n + 1, sizeof *l->v)) {
        return NULL;
    }
    char *copy = cf_strndup(name.p, name.n);
    if (copy == NULL) {
        return NULL;
    }
    cf_lab_variable *row = &l->v[l->n++];
    *row = (cf_lab_variable){.name = cf_str_make(copy, name.n), .origin = "", .line = line};
    return row;
}

static const json_t *value_in(const json_t *object, cf_str name)
{
    const char *key;
    json_t *v;
    json_object_foreach(cf_json_ref(object), key, v)
    {
        if (cf_str_is(name, key)) {
            return v;
        }
    }
    return NULL;
}

static void token_value(const cf_lab *lab, cf_lab_variable *row, bool is_bos)
{
    cf_buf piece = CF_BUF_INIT;
    cf_token id = CF_TOKEN_NONE;
    if (lab->engine.tokenizer != NULL) {
        cf_special_tokens special = cf_tokenizer_special(lab->engine.tokenizer);
        id = is_bos ? special.bos : special.eos;
    }
    if (id == CF_TOKEN_NONE) {
        return;
    }
    cf_tokenizer_piece(&piece, lab->engine.tokenizer, id, true);
    cf_json_write_str(&row->value, cf_buf_str(&piece));
    cf_buf_deinit(&piece);
    row->origin = "the vocabulary";
}

/* Value and origin, by the rules of conversation.h. */
static void fill(const cf_lab *lab, cf_lab_variable *row)
{
    cf_thinking thinking = lab->settings.chat.thinking;
    const json_t *set = value_in(cf_lab_vars(lab), row->name);
    const json_t *saved =
        value_in(cf_conversation_preface(cf_lab_conv(lab))->extra_context, row->name);
    if (cf_str_is(row->name, "messages")) {
        cf_buf_addf(&row->value, "%zu", cf_lab_n_messages(lab) + (lab->prompt->unsent.n != 0));
        row->origin = "the conversation";
    } else if (set != NULL) {
        cf_json_write(&row->value, set);
        row->origin = ":var";
    } else if (saved != NULL &&
               !(cf_str_is(row->name, "enable_thinking") && thinking != CF_THINKING_DEFAULT)) {
        cf_json_write(&row->value, saved);
        row->origin = "saved with it";
    } else if (cf_str_is(row->name, "tools")) {
        size_t n = 0;
        cf_tool_set_items(cf_lab_tools(lab), &n);
        if (n > 0) {
            cf_buf_addf(&row->value, "%zu declared", n);
            row->origin = "the declarations";
        }
    } else if (cf_str_is(row->name, "add_generation_prompt")) {
        cf_buf_adds(&row->value, "true");
        row->origin = "a reply is asked for";
    } else if (cf_str_is(row->name, "bos_token")) {
        token_value(lab, row, true);
    } else if (cf_str_is(row->name, "eos_token")) {
        token_value(lab, row, false);
    } else if (cf_str_is(row->name, "enable_thinking") && thinking != CF_THINKING_DEFAULT) {
        cf_buf_adds(&row->value, thinking == CF_THINKING_ON ? "true" : "false");
        row->origin = ":set";
    }
    if (row->origin[0] == '\0') {
        row->origin = "not set";
    }
}

static bool is_listed(const variables *l, const char *name)
{
    for (size_t i = 0; i < l->n; i++) {
        if (cf_str_is(l->v[i].name, name)) {
            return true;
        }
    }
    return false;
}

cf_status cf_lab_variables(cf_lab *lab, cf_lab_variable **v, size_t *n, cf_error *err)
{
    variables l = {.lab = lab};
    const char *key;
    json_t *value;
    const cf_lab_lint *lint = cf_lab_lint_of(lab, lab->engine.template_source);
    *v = NULL;
    *n = 0;
    if (lint == NULL) {
        return cf_fail(err, CF_EBUSY, "the template is being linted");
    }
    bool ok = true;
    for (size_t i = 0; ok && i < lint->n_variables; i++) {
        const cf_template_variable *from = &lint->variable[i];
        ok = add(&l, from->name, from->line) != NULL;
    }
    const json_t *const set[] = {cf_lab_vars(lab),
                                 cf_conversation_preface(cf_lab_conv(lab))->extra_context};
    for (size_t i = 0; i < sizeof set / sizeof set[0]; i++) {
        json_object_foreach(cf_json_ref(set[i]), key, value)
        {
            ok = ok && (is_listed(&l, key) || add(&l, cf_str_from(key), 0) != NULL);
        }
    }
    for (size_t i = 0; ok && i < l.n; i++) {
        fill(lab, &l.v[i]);
        ok = !l.v[i].value.failed;
    }
    if (!ok) {
        cf_lab_variables_free(l.v, l.n);
        return cf_oom_for(err, "the variables");
    }
    *v = l.v;
    *n = l.n;
    return CF_OK;
}

void cf_lab_variables_free(cf_lab_variable *v, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        cf_buf_deinit(&v[i].value);
        cf_free((void *)(uintptr_t)v[i].name.p);
    }
    cf_free(v);
}
