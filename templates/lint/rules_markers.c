/*
 * rules_markers.c - E003 E010 W008: the marks of turns.
 *
 * A mark is a word in angle or square brackets that the template writes:
 * <|im_start|>, <end_of_turn>, [INST], <|turn>.
 */
#include <stdio.h>
#include <string.h>

#include "templates/lint/lint_impl.h"

enum { MARKS_MAX = 64, MARK_MAX = 40 };

typedef struct mark {
    char text[MARK_MAX];
    size_t n;   /* times seen */
    size_t off; /* first place */
} mark;

typedef struct marks {
    mark v[MARKS_MAX];
    size_t n;
} marks;

static bool is_mark_byte(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '|' || c == '/' || c == '-' || (unsigned char)c >= 0x80;
}

/* Length of the mark at text[at], 0 when there is none. */
static size_t mark_length(cf_str text, size_t at)
{
    char open = text.p[at];
    char close = open == '<' ? '>' : ']';
    if (open != '<' && open != '[') {
        return 0;
    }
    size_t n = 1;
    while (at + n < text.n && n < MARK_MAX && is_mark_byte(text.p[at + n])) {
        n++;
    }
    bool ends = at + n < text.n && text.p[at + n] == close && n > 2;
    /* Square brackets count only around capitals: [INST], not [0]. */
    for (size_t i = 1; ends && open == '[' && i < n; i++) {
        char c = text.p[at + i];
        ends = (c >= 'A' && c <= 'Z') || c == '_' || c == '/';
    }
    return ends && n + 1 < MARK_MAX ? n + 1 : 0;
}

static void count_mark(marks *m, cf_str text, size_t at, size_t n)
{
    for (size_t i = 0; i < m->n; i++) {
        if (strlen(m->v[i].text) == n && memcmp(m->v[i].text, text.p + at, n) == 0) {
            m->v[i].n++;
            return;
        }
    }
    if (m->n < MARKS_MAX) {
        mark *k = &m->v[m->n++];
        memcpy(k->text, text.p + at, n);
        k->text[n] = '\0';
        k->n = 1;
        k->off = at;
    }
}

static void find_marks(const cf_shot *s, marks *m)
{
    cf_str text = s->render.prompt.text;
    for (size_t at = 0; at < text.n;) {
        size_t n = mark_length(text, at);
        if (n != 0) {
            count_mark(m, text, at, n);
        }
        at += n != 0 ? n : 1;
    }
}

/* Writes the mark that closes `open`; false when it opens nothing. */
static bool closing(const char *open, char out[MARK_MAX + 8])
{
    size_t n = strlen(open);
    static const char *const swaps[][2] = {
        {"start", "end"}, {"begin", "end"}, {"_start|", "_end|"}};
    if (open[1] == '/') {
        return false;
    }
    for (size_t i = 0; i < sizeof swaps / sizeof swaps[0]; i++) {
        const char *at = strstr(open, swaps[i][0]);
        /* <|begin_of_text|> opens a sequence, not a turn. */
        if (at != NULL && strstr(open, "of_text") == NULL && strstr(open, "of_sentence") == NULL) {
            snprintf(out, MARK_MAX + 8, "%.*s%s%s", (int)(at - open), open, swaps[i][1],
                     at + strlen(swaps[i][0]));
            return true;
        }
    }
    if (open[0] == '<' && open[1] == '|' && open[n - 2] != '|') {
        snprintf(out, MARK_MAX + 8, "<%.*s|>", (int)(n - 3), open + 2);
        return true;
    }
    if ((open[0] == '<' && open[1] != '|') || open[0] == '[') {
        snprintf(out, MARK_MAX + 8, "%c/%s", open[0], open + 1);
        return true;
    }
    return false;
}

static const mark *look_up(const marks *m, const char *text)
{
    for (size_t i = 0; i < m->n; i++) {
        if (strcmp(m->v[i].text, text) == 0) {
            return &m->v[i];
        }
    }
    return NULL;
}

/* Compares the counts of the pairs that occur in `all`, the marks of every
 * probe: a mark that closes somewhere must close everywhere. */
static cf_status check_balance(cf_linter *l, const cf_shot *s, const marks *all, cf_error *err)
{
    marks m = {0};
    find_marks(s, &m);
    for (size_t i = 0; i < all->n; i++) {
        char close[MARK_MAX + 8];
        if (!closing(all->v[i].text, close) || look_up(all, close) == NULL) {
            continue;
        }
        const mark *o = look_up(&m, all->v[i].text);
        const mark *c = look_up(&m, close);
        size_t n_open = o != NULL ? o->n : 0, n_close = c != NULL ? c->n : 0;
        if (n_open != n_close) {
            CF_TRY(cf_lint__add(l, s, o != NULL ? o->off : c->off, err,
                                "%s appears %zu times, %s %zu times", all->v[i].text, n_open, close,
                                n_close));
        }
    }
    return CF_OK;
}

cf_status cf_lint__balance(cf_linter *l, cf_error *err)
{
    static const char *const probes[] = {"u", "ua", "su", "sua", "uaU", "ucta", "uaUa"};
    marks all = {0};
    for (int round = 0; round < 2; round++) {
        for (size_t i = 0; i < sizeof probes / sizeof probes[0]; i++) {
            cf_shot s;
            CF_TRY(cf_probe(&l->prober, probes[i], 0, &s, err));
            cf_status st = CF_OK;
            if (s.status == CF_OK && round == 0) {
                find_marks(&s, &all);
            } else if (s.status == CF_OK) {
                st = check_balance(l, &s, &all, err);
            }
            cf_shot_free(&l->prober, &s);
            CF_TRY(st);
        }
    }
    return CF_OK;
}

/* A mark that is partly made of a message's text. */
cf_status cf_lint__glued(cf_linter *l, cf_error *err)
{
    cf_shot s;
    cf_status st = CF_OK;
    CF_TRY(cf_probe(&l->prober, "sua", CF_PROBE_GENERATE, &s, err));
    cf_str text = s.status == CF_OK ? s.render.prompt.text : cf_str_make(NULL, 0);
    for (size_t at = 0; st == CF_OK && at < text.n;) {
        size_t n = mark_length(text, at);
        for (size_t i = 0; st == CF_OK && i < n; i++) {
            const cf_prompt_span *span = cf_prompt_span_at(&s.render.prompt, at + i);
            if (span != NULL && span->source == CF_SPAN_MESSAGE) {
                st = cf_lint__add(l, &s, at + i, err, "'%.*s' is made with message %u%.*s", (int)n,
                                  text.p + at, (unsigned)span->index + 1,
                                  (int)(span->path.n < 40 ? span->path.n : 40),
                                  span->path.n != 0 ? span->path.p : "");
                break;
            }
        }
        at += n != 0 ? n : 1;
    }
    cf_shot_free(&l->prober, &s);
    return st;
}

cf_status cf_lint__tokens(cf_linter *l, cf_error *err)
{
    const cf_tokenizer *tok = l->tokenizer;
    cf_shot s;
    cf_status st = CF_OK;
    if (tok == NULL) {
        return CF_OK;
    }
    CF_TRY(cf_probe(&l->prober, "sua", CF_PROBE_GENERATE, &s, err));
    marks m = {0};
    if (s.status == CF_OK) {
        find_marks(&s, &m);
    }
    for (size_t i = 0; st == CF_OK && i < m.n; i++) {
        /* Only marks with bars, or made for turns, claim to be tokens. */
        bool claims = strstr(m.v[i].text, "|") != NULL || strstr(m.v[i].text, "_of_turn") != NULL;
        if (claims && cf_tokenizer_find(tok, cf_str_from(m.v[i].text)) == CF_TOKEN_NONE) {
            st = cf_lint__add(l, &s, m.v[i].off, err, "'%s' is not one token of this vocabulary",
                              m.v[i].text);
        }
    }
    cf_shot_free(&l->prober, &s);
    return st;
}
