/*
 * rules_prefix.c - E012: whether a longer conversation begins with the
 * shorter one, over {thinking on, off} x {plain, tool call, tool result, two
 * rounds} x {with, without system}.
 *
 * Two things are compared at each step, because the cache holds a prompt and
 * the reply that followed it: the prompt that asked for the reply, and the
 * reply as the last message, each against the next prompt.
 */
#include <stdio.h>
#include <string.h>

#include "core/base/utf8.h"
#include "templates/lint/lint_impl.h"

typedef struct step {
    const char *shorter;
    bool asks; /* the shorter one with the generation prompt */
    const char *longer;
} step;

typedef struct stage {
    const char *name;
    bool has_tools;
    step steps[3];
} stage;

static const stage stages[] = {
    {"plain", false, {{"u", true, "uaU"}, {"ua", false, "uaU"}, {0}}},
    {"tool call", true, {{"u", true, "uct"}, {"uc", false, "uct"}, {0}}},
    {"tool result", true, {{"uct", true, "uctaU"}, {"ucta", false, "uctaU"}, {0}}},
    {"two rounds", true, {{"uaU", true, "uaUaV"}, {"uctaUct", true, "uctaUctaV"}, {0}}},
};

/* With thinking on, replies contain reasoning. */
static void spell(char out[16], const char *letters, bool system, bool thinks)
{
    size_t n = 0;
    if (system) {
        out[n++] = 's';
    }
    for (; *letters != '\0' && n < 15; letters++) {
        char c = *letters;
        out[n++] = thinks && c == 'a' ? 'r' : thinks && c == 'c' ? 'C' : c;
    }
    out[n] = '\0';
}

static size_t count_tokens(const cf_linter *l, const char *p, size_t n)
{
    cf_token_list list;
    cf_arena arena;
    size_t count = n;
    cf_arena_init(&arena, 0);
    if (l->tokenizer != NULL && cf_tokenizer_encode(&list, l->tokenizer, cf_str_make(p, n), true,
                                                    false, &arena, NULL) == CF_OK) {
        count = list.n;
    }
    cf_arena_deinit(&arena);
    return count;
}

/* The message that byte `off` falls into: that of the last message span at or
 * before it. */
static uint32_t message_at(const cf_prompt *p, size_t off)
{
    const cf_prompt_span *s = cf_prompt_span_at(p, off);
    while (s != NULL && s->source != CF_SPAN_MESSAGE) {
        s = s > p->spans ? s - 1 : NULL;
    }
    return s != NULL ? s->index : 0;
}

/* Bytes of text from `off` that a message shows: whole characters. */
static size_t shown(cf_str text, size_t off)
{
    enum { SHOWN = 16 };
    size_t n = text.n - off;
    return n <= SHOWN ? n : SHOWN - cf_utf8_incomplete_tail(text.p + off, SHOWN);
}

static cf_status compare(cf_linter *l, const cf_shot *a, const cf_shot *b, cf_lint_stability *cell,
                         cf_error *err)
{
    cf_str shorter = a->render.prompt.text, longer = b->render.prompt.text;
    size_t off = cf_lint__diverge(shorter, longer);
    if (off == shorter.n) {
        return CF_OK;
    }
    size_t again = count_tokens(l, shorter.p + off, shorter.n - off);
    if (!cell->is_stable && again <= cell->n_again) {
        return CF_OK;
    }
    size_t place = off < longer.n || off == 0 ? off : longer.n - 1;
    const cf_prompt_span *span = cf_prompt_span_at(&b->render.prompt, place);
    cell->is_stable = false;
    cell->off = (uint32_t)off;
    cell->message = message_at(&a->render.prompt, off);
    cell->line = span != NULL ? span->line : 0;
    cell->n_again = again;
    cf_lint__because_differs(l, a, b, off);
    return cf_lint__add(l, b, place, err,
                        "%s%s, thinking %s: byte %zu (message %u) is '%.*s' in the shorter "
                        "prompt and '%.*s' in the longer; %zu %s are computed again",
                        cell->name, cell->with_system ? " with system" : "",
                        cell->thinking ? "on" : "off", off, (unsigned)cell->message + 1,
                        (int)shown(shorter, off), shorter.p + off, (int)shown(longer, off),
                        longer.p + off, again, l->tokenizer != NULL ? "tokens" : "bytes");
}

static cf_status check_step(cf_linter *l, const stage *st, const step *s, cf_lint_stability *cell,
                            cf_error *err)
{
    char shorter[16], longer[16];
    spell(shorter, s->shorter, cell->with_system, cell->thinking);
    spell(longer, s->longer, cell->with_system, cell->thinking);
    unsigned flags = (st->has_tools ? CF_PROBE_TOOLS : 0u) |
                     (cell->thinking ? CF_PROBE_THINK : CF_PROBE_NO_THINK);
    cf_shot a, b = {0};
    CF_TRY(cf_probe(&l->prober, shorter, flags | (s->asks ? CF_PROBE_GENERATE : 0u), &a, err));
    cf_status result = cf_probe(&l->prober, longer, flags | CF_PROBE_GENERATE, &b, err);
    if (result == CF_OK && a.status == CF_OK && b.status == CF_OK) {
        cell->is_rendered = true;
        result = compare(l, &a, &b, cell, err);
    }
    cf_shot_free(&l->prober, &a);
    cf_shot_free(&l->prober, &b);
    return result;
}

cf_status cf_lint__prefix(cf_linter *l, cf_error *err)
{
    cf_lint_report *out = l->report;
    for (size_t i = 0; i < sizeof stages / sizeof stages[0]; i++) {
        for (int variant = 0; variant < 4; variant++) {
            cf_lint_stability *cell = &out->stability[out->n_stability++];
            *cell = (cf_lint_stability){.name = stages[i].name,
                                        .with_system = variant & 1,
                                        .thinking = variant & 2,
                                        .is_stable = true};
            for (const step *s = stages[i].steps; s->shorter != NULL; s++) {
                CF_TRY(check_step(l, &stages[i], s, cell, err));
            }
        }
    }
    return CF_OK;
}
