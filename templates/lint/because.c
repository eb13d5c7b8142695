/*
 * because.c - the conditions of a template that decided a finding.
 *
 * A condition is found by comparing renders, not by reading the source: two
 * renders of one template reach the same conditions by the same outcomes
 * until one of them has another outcome (cf_prompt_cause.way).
 */
#include <string.h>

#include "core/base/utf8.h"
#include "templates/lint/lint_impl.h"

/* The maximum number of conditions that a finding names. */
enum { NAMED_MAX = 4, TEST_MAX = 160 };

void cf_lint__because(cf_linter *l, uint32_t line, uint32_t col, cf_str test, const char *outcome)
{
    if (l->n_because == CF_LINT_BECAUSE_MAX) {
        return;
    }
    for (size_t i = 0; i < l->n_because; i++) {
        if (l->because[i].line == line && l->because[i].col == col) {
            return;
        }
    }
    l->because[l->n_because++] = (cf_lint_because){line, col, test, outcome};
}

void cf_lint_because_text(cf_buf *out, const cf_lint_because *because)
{
    cf_buf_addf(out, "line %u: ", (unsigned)because->line);
    if (because->test.n != 0) {
        cf_buf_addc(out, '`');
        cf_buf_add(out, because->test.p, because->test.n);
        cf_buf_adds(out, "` ");
    }
    cf_buf_adds(out, because->outcome);
}

static void name_cause(cf_linter *l, const cf_prompt_cause *c, const char *outcome)
{
    cf_lint__because(l, c->line, c->col, c->test, outcome);
}

static bool is_condition(const cf_prompt_cause *c)
{
    return c->kind != CF_CAUSE_ROUND;
}

static const char *outcome_of(const cf_prompt_cause *c)
{
    return c->is_true ? "is true" : "is false";
}

void cf_lint__because_chain(cf_linter *l, const cf_prompt_cause *inner)
{
    for (size_t n = 0; inner != NULL && n < NAMED_MAX; inner = inner->outer) {
        if (is_condition(inner)) {
            name_cause(l, inner, outcome_of(inner));
            n++;
        }
    }
}

/* The outermost condition of a chain whose outcome differed in the other
 * render, where it was reached in the same way; NULL. */
static const cf_prompt_cause *fork_of(const cf_prompt_cause *chain, const cf_render *other)
{
    const cf_prompt_cause *fork = NULL;
    for (const cf_prompt_cause *c = chain; c != NULL; c = c->outer) {
        bool differs = false, is_same = false;
        for (size_t i = 0; i < other->n_causes; i++) {
            const cf_prompt_cause *o = &other->causes[i];
            if (!o->is_copy && o->way == c->way) {
                differs = differs || o->is_true != c->is_true;
                is_same = is_same || o->is_true == c->is_true;
            }
        }
        if (differs && !is_same) {
            fork = c;
        }
    }
    return fork;
}

static const cf_prompt_cause *cause_at(const cf_shot *s, size_t off)
{
    const cf_prompt_span *span = cf_prompt_span_at(&s->render.prompt, off);
    return span != NULL ? span->cause : NULL;
}

/* The innermost condition that is not a loop's; NULL when there is none. */
static const cf_prompt_cause *innermost(const cf_prompt_cause *c)
{
    while (c != NULL && !is_condition(c)) {
        c = c->outer;
    }
    return c;
}

void cf_lint__because_differs(cf_linter *l, const cf_shot *shorter, const cf_shot *longer,
                              size_t off)
{
    const cf_prompt_cause *a = cause_at(shorter, off);
    const cf_prompt_cause *b = cause_at(longer, off);
    const cf_prompt_cause *fork = fork_of(a, &longer->render);
    bool is_true = fork != NULL && fork->is_true;
    if (fork == NULL || !is_condition(fork)) {
        const cf_prompt_cause *other = fork_of(b, &shorter->render);
        if (other != NULL && (fork == NULL || is_condition(other))) {
            fork = other;
            is_true = !other->is_true; /* in the shorter prompt */
        }
    }
    if (fork != NULL && is_condition(fork)) {
        name_cause(l, fork,
                   is_true ? "is true in the shorter prompt, false in the "
                             "longer"
                           : "is false in the shorter prompt, true in the "
                             "longer");
    } else { /* they were written by other rounds of a loop or from other values */
        const cf_prompt_cause *in_a = innermost(a), *in_b = innermost(b);
        if (in_a != NULL) {
            name_cause(l, in_a,
                       in_a->is_true ? "is true where the shorter prompt was "
                                       "written"
                                     : "is false where the shorter prompt was "
                                       "written");
        }
        if (in_b != NULL) {
            name_cause(l, in_b,
                       in_b->is_true ? "is true where the longer prompt was "
                                       "written"
                                     : "is false where the longer prompt was "
                                       "written");
        }
    }
    const cf_prompt_span *wrote = cf_prompt_span_at(&shorter->render.prompt, off);
    if (wrote != NULL) {
        cf_lint__because(l, wrote->line, wrote->col, cf_str_make("", 0),
                         "wrote the byte of the shorter prompt");
    }
}

static bool is_under(const cf_prompt_cause *c, const cf_prompt_cause *outer)
{
    while (c != NULL && c != outer) {
        c = c->outer;
    }
    return c != NULL;
}

void cf_lint__because_message(cf_linter *l, const cf_shot *s, size_t message)
{
    const cf_render *r = &s->render;
    for (size_t i = 0; i < r->n_causes; i++) {
        const cf_prompt_cause *item = &r->causes[i];
        if (item->is_copy || item->message != message + 1) {
            continue;
        }
        if (item->kind == CF_CAUSE_FILTER && !item->is_true) {
            name_cause(l, item, "is false for this message");
        }
        for (size_t k = i + 1; k < r->n_causes && item->is_true; k++) {
            const cf_prompt_cause *c = &r->causes[k];
            if (!c->is_copy && is_condition(c) && is_under(c, item)) {
                name_cause(l, c,
                           c->is_true ? "is true for this message" : "is false for this message");
            }
        }
    }
}

static bool has_word(cf_str s, const char *word)
{
    size_t n = strlen(word);
    for (size_t i = 0; i + n <= s.n; i++) {
        if (memcmp(s.p + i, word, n) == 0) {
            return true;
        }
    }
    return false;
}

void cf_lint__because_mentions(cf_linter *l, const cf_shot *s, const char *word)
{
    const cf_render *r = &s->render;
    for (size_t i = 0; i < r->n_causes; i++) {
        const cf_prompt_cause *c = &r->causes[i];
        if (is_condition(c) && has_word(c->test, word)) {
            name_cause(l, c, outcome_of(c));
        }
    }
}

size_t cf_lint__message_with(const cf_shot *s, const char *word)
{
    const json_t *messages = json_object_get(s->context, "messages");
    for (size_t i = 0; i < json_array_size(messages); i++) {
        cf_buf text = CF_BUF_INIT;
        cf_json_write(&text, json_array_get(messages, i));
        bool has = !text.failed && strstr(cf_buf_cstr(&text), word) != NULL;
        cf_buf_deinit(&text);
        if (has) {
            return i;
        }
    }
    return SIZE_MAX;
}

cf_status cf_lint__keep_because(cf_linter *l, cf_lint_finding *f, cf_error *err)
{
    size_t n = l->n_because;
    l->n_because = 0;
    if (n == 0) {
        return CF_OK;
    }
    cf_lint_because *v = cf_arena_alloc(l->arena, n * sizeof *v);
    if (v == NULL) {
        return cf_oom(err);
    }
    memcpy(v, l->because, n * sizeof *v);
    for (size_t i = 0; i < n; i++) {
        cf_str *test = &v[i].test;
        if (test->n > TEST_MAX) {
            test->n = cf_utf8_valid_prefix(test->p, TEST_MAX);
        }
        test->p = cf_arena_strndup(l->arena, test->p, test->n);
        if (test->p == NULL) {
            return cf_oom(err);
        }
    }
    f->because = v;
    f->n_because = n;
    return CF_OK;
}
