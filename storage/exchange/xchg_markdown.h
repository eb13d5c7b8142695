/*
 * xchg_markdown.h - what the writer and the readers of Markdown agree on, and
 * lines of text.
 */
#ifndef CF_STORAGE_EXCHANGE_XCHG_MARKDOWN_H
#define CF_STORAGE_EXCHANGE_XCHG_MARKDOWN_H

#include <string.h>

#include "storage/exchange/xchg.h"

typedef struct cf_md {
    cf_str text;
    size_t at;
    uint64_t line;
} cf_md;

static inline cf_str cf_md__cut(cf_str s, size_t front, size_t back)
{
    return cf_str_make(s.p + front, s.n - front - back);
}

/* The next line without its end; false at the end of the text. */
static inline bool cf_md__next_line(cf_md *m, cf_str *line)
{
    if (m->at >= m->text.n) {
        *line = cf_str_make(m->text.p, 0);
        return false;
    }
    const char *from = m->text.p + m->at;
    const char *end = memchr(from, '\n', m->text.n - m->at);
    size_t n = end != NULL ? (size_t)(end - from) : m->text.n - m->at;
    m->at += n + (end != NULL);
    m->line++;
    *line = cf_str_make(from, n);
    if (n != 0 && from[n - 1] == '\r') {
        line->n--;
    }
    return true;
}

static inline cf_str cf_md__peek_line(const cf_md *m)
{
    cf_md copy = *m;
    cf_str line = {NULL, 0};
    (void)cf_md__next_line(&copy, &line);
    return line;
}

/* A line of text that begins like a comment or a front matter of ours, after
 * any number of backslashes: the writer puts one more before it, the reader
 * takes one away. */
bool cf_md__needs_escape(cf_str line);

/* A branch as Markdown. */
CF_MUST_USE cf_status cf_md__write(const cf_store_tree *tree, const size_t *at, size_t n,
                                   cf_buf *out, cf_error *err);

/* A chat that confab did not write; *n is 1, or 0 where nobody speaks. */
CF_MUST_USE cf_status cf_md__read_chat(cf_import *im, cf_md *in, size_t *n, cf_error *err);

#endif
