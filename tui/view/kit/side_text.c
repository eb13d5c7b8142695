/*
 * side_text.c - two texts as lists of words, compared as lines are.
 */
#include "tui/view/kit/side_text.h"

#include <string.h>

#include "core/base/alloc.h"
#include "core/base/utf8.h"
#include "templates/template_diff.h"

enum { WORDS_MAX = 20000 }; /* that are compared */

void cf_side_text_deinit(cf_side_text *t)
{
    cf_buf_deinit(&t->text);
    cf_free(t->differs);
    cf_wrapped_deinit(&t->lines);
    *t = (cf_side_text){.differs = NULL};
}

/* The end of the word, or single character, at `at`. */
static size_t word_end(const cf_buf *text, size_t at)
{
    size_t end = at + 1;
    while (cf_is_word(text->p[at]) && end < text->n && cf_is_word(text->p[end])) {
        end++;
    }
    return end;
}

/* A line for each word. */
static void add_words(cf_buf *out, const cf_buf *text)
{
    size_t n = 0;
    for (size_t at = 0; at < text->n && n < WORDS_MAX; n++) {
        size_t end = word_end(text, at);
        bool is_break = text->p[at] == '\n';
        cf_buf_add(out, is_break ? " " : text->p + at, end - at);
        cf_buf_addc(out, '\n');
        at = end;
    }
}

/* Marks the words of c that are not in the other text. */
static void mark_side(cf_side_text *c, const cf_diff *d, int side)
{
    size_t at = 0, word = 0;
    c->differs = cf_calloc(c->text.n + 1, 1);
    if (c->differs == NULL) {
        return;
    }
    memset(c->differs, 1, c->text.n);
    for (size_t i = 0; i < d->n_rows; i++) {
        uint32_t unit = side == 0 ? d->rows[i].a : d->rows[i].b;
        if (unit == CF_DIFF_NONE) {
            continue;
        }
        for (; word < unit && at < c->text.n; word++) {
            at = word_end(&c->text, at);
        }
        size_t end = at < c->text.n ? word_end(&c->text, at) : at;
        if (d->rows[i].kind == CF_DIFF_KEPT) {
            memset(c->differs + at, 0, end - at);
        }
    }
}

void cf_side_text_compare(cf_side_text *a, cf_side_text *b)
{
    cf_arena arena;
    cf_diff d;
    cf_buf x = CF_BUF_INIT, y = CF_BUF_INIT;
    cf_arena_init(&arena, 0);
    add_words(&x, &a->text);
    add_words(&y, &b->text);
    if (!x.failed && !y.failed &&
        cf_diff_texts(&d, cf_buf_str(&x), cf_buf_str(&y), &arena, NULL) == CF_OK) {
        if (a->differs == NULL) { /* against the first of the others */
            mark_side(a, &d, 0);
        }
        mark_side(b, &d, 1);
    }
    cf_buf_deinit(&x);
    cf_buf_deinit(&y);
    cf_arena_deinit(&arena);
}

size_t cf_side_text_wrap(cf_side_text *t, int width)
{
    return cf_wrapped_update(&t->lines, cf_buf_str(&t->text), width, NULL) == CF_OK ? t->lines.n
                                                                                    : 0;
}

void cf_side_text_draw(const cf_side_text *t, size_t line, cf_grid *g, cf_rect r, cf_style differs,
                       size_t from, size_t to)
{
    if (line >= t->lines.n) {
        return;
    }
    const cf_line *l = &t->lines.v[line];
    size_t at = l->off, end = at + l->len;
    int used = 0;
    cf_cluster k;
    while (at < end && cf_cluster_next(&k, t->text.p, end, &at, (size_t)used, CF_SPACE_PLAIN)) {
        bool is_other = t->differs != NULL && t->differs[k.off] != 0;
        cf_style style = is_other ? differs : CF_STYLE_NORMAL;
        if (k.off >= from && k.off < to) {
            style = (cf_style)(differs | CF_REVERSE);
        }
        used += cf_grid_put_cluster(g, r.x + used, r.y, r.w - used, &k, style);
    }
}
