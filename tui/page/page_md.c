/*
 * page_md.c - a page as Markdown: what HTML shows, without hovering.
 */
#include "core/base/version.h"
#include "tui/page/page_escape.h"
#include "tui/page/page_form.h"

static const cf_page_form forms[CF_PAGE_KINDS] = {
    [CF_PAGE_TITLE] = {"# $t\n\nReport by confab " CF_VERSION ".\n\n", "", NULL},
    [CF_PAGE_FIGURES] = {"| | |\n| --- | --- |\n", "\n", NULL},
    [CF_PAGE_FIGURE] = {"| $t | $n |\n", "", NULL},
    [CF_PAGE_SECTION] = {"## $t\n\n$(*$n*\n\n$)", "", NULL},
    [CF_PAGE_BOX] = {"$(### $t ($n)\n\n$)", "", NULL},
    [CF_PAGE_TURN] = {"**$t** ($n)\n\n", "", NULL},
    [CF_PAGE_PART] = {"**$t** ($n)\n\n", "", NULL},
    [CF_PAGE_STAGES] = {"", "", NULL},
    [CF_PAGE_STAGE] = {"$t: $n\n\n", "", NULL},
    [CF_PAGE_TEXT] = {"", "", NULL},
    [CF_PAGE_PRE] = {"", "", NULL},
    [CF_PAGE_DIFF] = {"", "", NULL},
    [CF_PAGE_LINE] = {"$t", "\n", NULL},
    [CF_PAGE_REMARK] = {"", "\n\n", NULL},
    [CF_PAGE_WARNING] = {"", "\n\n", NULL},
    [CF_PAGE_TABLE] = {"", "\n", NULL},
    [CF_PAGE_ROW] = {"|", "\n", NULL},
    [CF_PAGE_HEADING] = {" ", " |", NULL},
    [CF_PAGE_CELL] = {" ", " |", NULL},
    [CF_PAGE_CHOICES] = {"", "", NULL},
    [CF_PAGE_CHOICE] = {"", "", ", "},
    [CF_PAGE_FOLD] = {"$t:\n\n", "", NULL},
};

static void put_as_is(cf_buf *out, cf_str text)
{
    cf_buf_add(out, text.p, text.n);
}

/* Where the texts of a page go. */
typedef struct writer {
    cf_buf *out;
    cf_buf fence; /* what is in the code block at hand */
    bool is_fenced;
    cf_buf rule; /* below the headings of a table */
} writer;

static void put_run(writer *w, const cf_page *p, const cf_page_item *it)
{
    if (it->look == CF_LOOK_PICTURE || it->look == CF_LOOK_BAR) {
        return;
    }
    if (w->is_fenced) {
        put_as_is(&w->fence, cf_page_title(p, it));
    } else if (it->look == CF_LOOK_NUMBER) { /* of a candidate, after its text */
        cf_buf_addc(w->out, ' ');
        put_as_is(w->out, cf_page_title(p, it));
    } else {
        cf_escape_md_line(w->out, cf_page_title(p, it));
    }
}

static void put_block(writer *w, const cf_page *p, size_t i)
{
    const cf_page_item *it = &p->v[i];
    const cf_page_form *f = &forms[it->kind];
    const bool is_fence =
        it->kind == CF_PAGE_TEXT || it->kind == CF_PAGE_PRE || it->kind == CF_PAGE_DIFF;
    if (i > 0 && !it->is_end && p->v[i - 1].kind == it->kind && p->v[i - 1].is_end) {
        cf_buf_adds(w->out, f->between != NULL ? f->between : "");
    }
    cf_page__fill(w->is_fenced ? &w->fence : w->out, it->is_end ? f->close : f->open, p, it, NULL,
                  w->is_fenced ? put_as_is : cf_escape_md_line);
    if (it->kind == CF_PAGE_HEADING && !it->is_end) {
        cf_buf_adds(&w->rule, it->look == CF_LOOK_NUMBER ? " ---: |" : " --- |");
    }
    if (it->kind == CF_PAGE_ROW && it->is_end && w->rule.n > 0) {
        cf_buf_addf(w->out, "|%s\n", cf_buf_cstr(&w->rule));
        cf_buf_reset(&w->rule);
    }
    if (is_fence && it->is_end) {
        cf_escape_md_block(w->out, it->kind == CF_PAGE_DIFF ? "diff" : "text",
                           cf_buf_str(&w->fence));
        cf_buf_reset(&w->fence);
    }
    w->is_fenced = is_fence ? !it->is_end : w->is_fenced;
}

void cf_page_markdown(cf_buf *out, const cf_page *p)
{
    writer w = {.out = out};
    for (size_t i = 0; i < p->n; i++) {
        if (p->v[i].kind == CF_PAGE_RUN) {
            put_run(&w, p, &p->v[i]);
        } else if (forms[p->v[i].kind].open == NULL) {
            i = cf_page__end_of(p, i);
        } else {
            put_block(&w, p, i);
        }
    }
    out->failed = out->failed || w.fence.failed || w.rule.failed;
    cf_buf_deinit(&w.fence);
    cf_buf_deinit(&w.rule);
}
