/*
 * diff_words.c - what changed inside a line, by words.
 *
 * A line is cut into words (letters, digits, everything outside ASCII), runs
 * of blanks, and single other characters, so a mark never cuts a character in
 * two.  A blank between two changes belongs to them.
 */
#include <string.h>

#include "core/base/alloc.h"
#include "templates/diff/diff_steps.h"

enum { MAX_COST = 128 };

typedef struct word_list {
    cf_diff_mark *v; /* [n] where each word is */
    uint32_t *sym;   /* [n] */
    bool *changed;   /* [n] */
    uint32_t n;
} word_list;

static int class_of(char c)
{
    unsigned char u = (unsigned char)c;
    if (u == ' ' || u == '\t') {
        return 1;
    }
    bool is_word = (u >= '0' && u <= '9') || (u >= 'a' && u <= 'z') || (u >= 'A' && u <= 'Z') ||
                   u == '_' || u >= 0x80;
    return is_word ? 2 : 0;
}

static bool is_blank(const word_list *w, uint32_t i, cf_str s)
{
    return class_of(s.p[w->v[i].off]) == 1;
}

static cf_status cut(word_list *out, cf_str s, cf_match_names *names, cf_arena *tmp, cf_error *err)
{
    word_list w = {.n = 0};
    w.v = cf_arena_alloc(tmp, s.n * sizeof *w.v);
    w.sym = cf_arena_alloc(tmp, s.n * sizeof *w.sym);
    w.changed = cf_arena_alloc(tmp, s.n * sizeof *w.changed);
    if (w.v == NULL || w.sym == NULL || w.changed == NULL) {
        return cf_oom_for(err, "the words of a line");
    }
    for (size_t i = 0; i < s.n;) {
        size_t from = i++;
        int class = class_of(s.p[from]);
        while (class != 0 && i < s.n && class_of(s.p[i]) == class) {
            i++;
        }
        w.v[w.n] = (cf_diff_mark){(uint32_t)from, (uint32_t)(i - from)};
        w.sym[w.n] = cf_diff__names_get(names, cf_str_make(s.p + from, i - from), 0);
        w.changed[w.n++] = true;
    }
    *out = w;
    return CF_OK;
}

static bool is_alone(const word_list *w, uint32_t i)
{
    return i > 0 && i + 1 < w->n && w->changed[i - 1] && w->changed[i + 1];
}

/* pair[i]: the word of b that goes with word i of a. */
static void set_changed(word_list *a, word_list *b, const uint32_t *pair, cf_str text)
{
    for (uint32_t i = 0; i < a->n; i++) {
        if (pair[i] != CF_MATCH_NONE) {
            a->changed[i] = false;
            b->changed[pair[i]] = false;
        }
    }
    for (uint32_t i = 0; i < a->n; i++) {
        if (pair[i] != CF_MATCH_NONE && is_blank(a, i, text) && is_alone(a, i) &&
            is_alone(b, pair[i])) {
            a->changed[i] = true;
            b->changed[pair[i]] = true;
        }
    }
}

static cf_status add_marks(cf_diff_marks *out, const word_list *w, uint32_t *n, cf_error *err)
{
    size_t first = out->n;
    for (uint32_t i = 0; i < w->n; i++) {
        if (!w->changed[i]) {
            continue;
        }
        if (i > 0 && w->changed[i - 1]) {
            out->v[out->n - 1].len += w->v[i].len;
            continue;
        }
        if (out->n == out->cap) {
            size_t cap = out->cap == 0 ? 64 : out->cap * 2;
            cf_diff_mark *v = cf_realloc(out->v, cap, sizeof *v);
            if (v == NULL) {
                return cf_oom_for(err, "changes");
            }
            out->v = v;
            out->cap = cap;
        }
        out->v[out->n++] = w->v[i];
    }
    *n = (uint32_t)(out->n - first);
    return CF_OK;
}

static cf_status compare(cf_diff_marks *out, cf_str a, cf_str b, uint32_t *n_a, uint32_t *n_b,
                         cf_arena *tmp, cf_error *err)
{
    cf_match_names names;
    word_list in_a, in_b;
    CF_TRY(cf_diff__names_init(&names, a.n + b.n, tmp, err));
    CF_TRY(cut(&in_a, a, &names, tmp, err));
    CF_TRY(cut(&in_b, b, &names, tmp, err));
    uint32_t *pair = cf_arena_alloc(tmp, (size_t)in_a.n * sizeof *pair);
    if (pair == NULL) {
        return cf_oom_for(err, "the words of a line");
    }
    CF_TRY(cf_diff__match(pair, (cf_match_seq){in_a.sym, in_a.n}, (cf_match_seq){in_b.sym, in_b.n},
                          names.n, MAX_COST, tmp, err));
    set_changed(&in_a, &in_b, pair, a);
    CF_TRY(add_marks(out, &in_a, n_a, err));
    return add_marks(out, &in_b, n_b, err);
}

cf_status cf_diff__words(cf_diff_marks *out, cf_str a, cf_str b, uint32_t *n_a, uint32_t *n_b,
                         cf_arena *tmp, cf_error *err)
{
    cf_arena_mark start = cf_arena_get_mark(tmp);
    cf_status st = compare(out, a, b, n_a, n_b, tmp, err);
    cf_arena_release(tmp, start);
    return st;
}
