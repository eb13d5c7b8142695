/*
 * diff_text.c - writes a difference as hunks, unified lines or JSON.
 */
#include "tui/cli/answers/diff_text.h"

#include <stdio.h>
#include <string.h>

#include "core/base/safe_text.h"
#include "tui/cli/answers/diff_side.h"
#include "tui/cli/answers/json_text.h"
#include "tui/page/page_diff.h"
#include "tui/sys/out.h"

/* ---- hunks -------------------------------------------------------------- */

typedef struct hunk {
    size_t from, to; /* rows */
} hunk;

/* The next hunk at or after row `from`; false if there is none. */
static bool next_hunk(hunk *h, const cf_diff *d, size_t from, size_t context)
{
    size_t i = from;
    while (i < d->n_rows && d->rows[i].kind == CF_DIFF_KEPT) {
        i++;
    }
    if (i == d->n_rows) {
        return false;
    }
    h->from = i - from > context ? i - context : from;
    size_t last = i;
    for (; i < d->n_rows && i - last <= context * 2; i++) {
        if (d->rows[i].kind != CF_DIFF_KEPT) {
            last = i;
        }
    }
    h->to = d->n_rows - last - 1 > context ? last + context + 1 : d->n_rows;
    return true;
}

/* "message 3", "tool 1" or the template's line. */
static void add_source(cf_buf *out, const char *sign, const cf_diff_unit *u)
{
    if (u == NULL || u->template_line == 0) { /* none, or of a source */
        return;
    }
    cf_buf_adds(out, sign);
    if (u->source == CF_SPAN_MESSAGE || u->source == CF_SPAN_TOOL) {
        cf_buf_addf(out, " %s %u", u->source == CF_SPAN_MESSAGE ? "message" : "tool",
                    (unsigned)u->index + 1);
    }
    cf_buf_addf(out, " template:%u", (unsigned)u->template_line);
}

static void add_range(cf_buf *out, char sign, const cf_diff *d, hunk h)
{
    uint32_t first = 0, n = 0;
    for (size_t i = h.from; i < h.to; i++) {
        uint32_t unit = sign == '-' ? d->rows[i].a : d->rows[i].b;
        if (unit != CF_DIFF_NONE) {
            first = n == 0 ? unit + 1 : first;
            n++;
        }
    }
    cf_buf_addf(out, "%c%u,%u ", sign, (unsigned)first, (unsigned)n);
}

static void add_header(cf_buf *out, const cf_diff *d, hunk h, bool is_color)
{
    cf_buf_adds(out, is_color ? CF_OUT_CYAN "@@ " : "@@ ");
    add_range(out, '-', d, h);
    add_range(out, '+', d, h);
    cf_buf_adds(out, "@@");
    const cf_diff_unit *a = NULL, *b = NULL; /* the first changed ones */
    for (size_t i = h.from; i < h.to && (a == NULL || b == NULL); i++) {
        const cf_diff_row *r = &d->rows[i];
        if (r->kind == CF_DIFF_KEPT) {
            continue;
        }
        a = a == NULL && r->a != CF_DIFF_NONE ? &d->a.v[r->a] : a;
        b = b == NULL && r->b != CF_DIFF_NONE ? &d->b.v[r->b] : b;
    }
    add_source(out, " -", a);
    add_source(out, " +", b);
    cf_buf_adds(out, is_color ? CF_OUT_PLAIN "\n" : "\n");
}

/* ---- unified ------------------------------------------------------------ */

static void unified_line(cf_page *p, const cf_diff *d, const cf_diff_row *r, char sign,
                         const cf_diff_style *style)
{
    (void)style;
    cf_page_add_line(p, d, r, sign);
    if (!(sign == '+' ? d->b.v[r->b] : d->a.v[r->a]).has_newline) {
        cf_page_begin_line(p, '\\');
        cf_page_run(p, CF_LOOK_PLAIN, cf_str_from(" no line end"));
        cf_page_end(p, CF_PAGE_LINE);
    }
}

/* "+  198  3714  ```" */
static void unified_token(cf_page *p, const cf_diff *d, const cf_diff_row *r, char sign,
                          const cf_diff_style *style)
{
    const cf_diff_side *side = sign == '+' ? &d->b : &d->a;
    uint32_t unit = sign == '+' ? r->b : r->a;
    cf_buf piece = CF_BUF_INIT, line = CF_BUF_INIT;
    cf_tokenizer_piece(&piece, style->tok, side->v[unit].id, true);
    cf_buf_addf(&line, "%6u %7d  ", (unsigned)unit, (int)side->v[unit].id);
    cf_safe_line(&line, cf_buf_cstr(&piece), piece.n);
    cf_page_begin_line(p, sign);
    cf_page_run(p, CF_LOOK_PLAIN, cf_buf_str(&line));
    cf_page_end(p, CF_PAGE_LINE);
    p->text.failed = p->text.failed || piece.failed || line.failed;
    cf_buf_deinit(&piece);
    cf_buf_deinit(&line);
}

static void unified_rows(cf_buf *out, const cf_diff *d, hunk h, const cf_diff_style *style)
{
    void (*add)(cf_page *, const cf_diff *, const cf_diff_row *, char, const cf_diff_style *) =
        style->tok != NULL ? unified_token : unified_line;
    cf_page p = {.n = 0};
    for (size_t i = h.from; i < h.to; i++) {
        const cf_diff_row *r = &d->rows[i];
        if (r->kind == CF_DIFF_KEPT) {
            add(&p, d, r, ' ', style);
        }
        if (r->kind == CF_DIFF_REMOVED || r->kind == CF_DIFF_CHANGED) {
            add(&p, d, r, '-', style);
        }
        if (r->kind == CF_DIFF_ADDED || r->kind == CF_DIFF_CHANGED) {
            add(&p, d, r, '+', style);
        }
    }
    cf_page_text(out, &p, style->is_color, style->is_safe);
    out->failed = out->failed || p.text.failed;
    cf_page_deinit(&p);
}

/* Removed rows and the added ones after them share lines, though they do not
 * face each other. */
static void side_rows(cf_buf *out, const cf_diff *d, hunk h, const cf_diff_style *style)
{
    for (size_t i = h.from; i < h.to;) {
        size_t added = i, end;
        while (added < h.to && d->rows[added].kind == CF_DIFF_REMOVED) {
            added++;
        }
        end = added;
        while (end < h.to && d->rows[end].kind == CF_DIFF_ADDED) {
            end++;
        }
        if (end == i) {
            cf_diff_side_row(out, d, &d->rows[i++], style);
            continue;
        }
        for (size_t k = 0; i + k < added || added + k < end; k++) {
            cf_diff_row both = {.kind = CF_DIFF_REMOVED, .a = CF_DIFF_NONE, .b = CF_DIFF_NONE};
            if (i + k < added) {
                both.a = d->rows[i + k].a;
            }
            if (added + k < end) {
                both.b = d->rows[added + k].b;
            }
            cf_diff_side_row(out, d, &both, style);
        }
        i = end;
    }
}

void cf_diff_print(cf_buf *out, const cf_diff *d, const cf_diff_style *style)
{
    hunk h = {0, 0};
    while (next_hunk(&h, d, h.to, style->n_context)) {
        add_header(out, d, h, style->is_color);
        if (style->is_side) {
            side_rows(out, d, h, style);
        } else {
            unified_rows(out, d, h, style);
        }
    }
}

/* ---- JSON --------------------------------------------------------------- */

static void json_unit(cf_buf *out, const cf_diff *d, const cf_diff_row *r, bool is_b,
                      const cf_tokenizer *tok)
{
    const cf_diff_side *side = is_b ? &d->b : &d->a;
    uint32_t unit = is_b ? r->b : r->a;
    const cf_diff_unit *u = &side->v[unit];
    cf_buf_addf(out, ",\"%s\":{\"%s\":%u,", is_b ? "b" : "a", tok != NULL ? "token" : "line",
                (unsigned)unit + (tok != NULL ? 0 : 1));
    if (tok != NULL) {
        cf_buf piece = CF_BUF_INIT;
        cf_tokenizer_piece(&piece, tok, u->id, true);
        cf_buf_addf(out, "\"id\":%d,", (int)u->id);
        cf_json_text_bytes(out, "piece", cf_buf_str(&piece));
        out->failed = out->failed || piece.failed;
        cf_buf_deinit(&piece);
    } else {
        cf_json_text_bytes(out, "text", cf_diff_text_of(side, unit));
        cf_buf_addf(out, ",\"newline\":%s", u->has_newline ? "true" : "false");
    }
    cf_buf_addf(out, ",\"off\":%u", (unsigned)u->off);
    if (r->kind == CF_DIFF_CHANGED && tok == NULL) {
        const cf_diff_mark *m = d->marks + r->mark + (is_b ? r->n_mark_a : 0);
        uint32_t n = is_b ? r->n_mark_b : r->n_mark_a;
        cf_buf_adds(out, ",\"marks\":[");
        for (uint32_t i = 0; i < n; i++) {
            cf_buf_addf(out, "%s[%u,%u]", i > 0 ? "," : "", (unsigned)m[i].off, (unsigned)m[i].len);
        }
        cf_buf_addc(out, ']');
    }
    if (u->source == CF_SPAN_MESSAGE || u->source == CF_SPAN_TOOL) {
        cf_buf_addf(out, ",\"source\":\"%s\",\"index\":%u", cf_span_source_name(u->source),
                    (unsigned)u->index);
    }
    if (u->template_line != 0) {
        cf_buf_addf(out, ",\"template_line\":%u", (unsigned)u->template_line);
    }
    if (u->cause != NULL) {
        cf_buf because = CF_BUF_INIT;
        cf_prompt_cause_text(&because, u->cause);
        cf_buf_adds(out, ",\"because\":");
        cf_json_write_str(out, cf_buf_str(&because));
        out->failed = out->failed || because.failed;
        cf_buf_deinit(&because);
    }
    cf_buf_addc(out, '}');
}

void cf_diff_json(cf_buf *out, const cf_diff *d, const cf_tokenizer *tok)
{
    cf_buf_addf(out, "\"equal\":%s", cf_diff_is_equal(d) ? "true" : "false");
    for (int k = CF_DIFF_KEPT; k <= CF_DIFF_CHANGED; k++) {
        cf_buf_addf(out, ",\"%s\":%zu", cf_diff_kind_name((cf_diff_kind)k), d->n_of[k]);
    }
    cf_buf_adds(out, ",\"rows\":[");
    bool is_first = true;
    for (size_t i = 0; i < d->n_rows; i++) {
        const cf_diff_row *r = &d->rows[i];
        if (r->kind == CF_DIFF_KEPT) {
            continue;
        }
        cf_buf_addf(out, "%s{\"kind\":\"%s\"", is_first ? "" : ",", cf_diff_kind_name(r->kind));
        if (r->a != CF_DIFF_NONE) {
            json_unit(out, d, r, false, tok);
        }
        if (r->b != CF_DIFF_NONE) {
            json_unit(out, d, r, true, tok);
        }
        cf_buf_addc(out, '}');
        is_first = false;
    }
    cf_buf_addc(out, ']');
}
