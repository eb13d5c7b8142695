/*
 * page.h - a page: blocks and styled runs of text, made once and painted on
 * any paper.
 *
 * Place in the flow:  facts of a report, a difference, a call --> [page] -->
 *                     HTML, Markdown, a picture, plain text, cells of a grid.
 * Knows: what a block or a run is.  Does not know: what it is about.
 *
 * A page is a flat list: a block's begin, what is in it, its end.  Each paper
 * has a table with a row for each kind of block (page_form.h); a paper omits the kinds
 * that it cannot show, with everything in them.
 *
 * Threads:  one thread at a time.
 * Memory:   a page owns copies of all texts; when memory runs out it stays
 *           failed until cf_page_deinit(), as a cf_buf does.
 */
#ifndef CF_TUI_PAGE_PAGE_H
#define CF_TUI_PAGE_PAGE_H

#include "core/base/buf.h"

typedef enum cf_page_kind {
    CF_PAGE_RUN, /* the only one that is not a block */
    CF_PAGE_TITLE,
    CF_PAGE_NAV,     /* links to sections */
    CF_PAGE_CARDS,   /* figures in large type */
    CF_PAGE_CARD,    /* title: the figure, note: of what */
    CF_PAGE_FIGURES, /* names and values */
    CF_PAGE_FIGURE,  /* title: the name, note: the value */
    CF_PAGE_SECTION,
    CF_PAGE_BOX,    /* with a heading where it has a note */
    CF_PAGE_TURN,   /* title: the role */
    CF_PAGE_PART,   /* of a prompt */
    CF_PAGE_STAGES, /* side by side */
    CF_PAGE_STAGE,
    CF_PAGE_TEXT,   /* prose that keeps its line breaks */
    CF_PAGE_PRE,    /* likewise, of tokens or code */
    CF_PAGE_DIFF,   /* lines of a difference */
    CF_PAGE_LINE,   /* title: its sign */
    CF_PAGE_REMARK, /* a paragraph about the page itself */
    CF_PAGE_WARNING,
    CF_PAGE_LEGEND,
    CF_PAGE_KEY, /* of a legend */
    CF_PAGE_TABLE,
    CF_PAGE_ROW,
    CF_PAGE_HEADING, /* of a column */
    CF_PAGE_CELL,
    CF_PAGE_WIDE_HEADING, /* of a column that only a wide paper has */
    CF_PAGE_WIDE_CELL,
    CF_PAGE_CHOICES, /* candidates of a token */
    CF_PAGE_CHOICE,
    CF_PAGE_FOLD,   /* can be folded away */
    CF_PAGE_SOURCE, /* likewise; for those who want all of it */
    CF_PAGE_KINDS
} cf_page_kind;

typedef enum cf_look {
    CF_LOOK_PLAIN,
    CF_LOOK_DIM,
    CF_LOOK_MARK, /* changed, within a line that did */
    CF_LOOK_CODE,
    CF_LOOK_CHOSEN, /* code: the candidate that was drawn */
    CF_LOOK_NUMBER,
    CF_LOOK_LINK,    /* to the section that the text names */
    CF_LOOK_PICTURE, /* the text is a media type, the tip base64 */
    CF_LOOK_BAR,     /* as long as `share` says; negative: in full colour */
    CF_LOOK_METER,
    /* Blocks. */
    CF_LOOK_HERE, /* what the page is about */
    CF_LOOK_LOST,
    CF_LOOK_REMOVED,
    CF_LOOK_ADDED,
    CF_LOOK_NONE, /* this and the next three: how a stage ended */
    CF_LOOK_OK,
    CF_LOOK_FAILED,
    CF_LOOK_WAITING,
    /* Tokens. */
    CF_LOOK_TOKEN,
    CF_LOOK_GIVEN,
    CF_LOOK_CHANCE, /* shaded by `share`, its probability */
    CF_LOOK_SOURCE, /* this and the next four: where its bytes come from */
    CF_LOOK_SOURCE_LAST = CF_LOOK_SOURCE + 4,
    CF_LOOKS
} cf_look;

/* More about a token. */
enum { CF_TOKEN_SPECIAL = 1, CF_TOKEN_KEPT = 2, CF_TOKEN_BREAK = 4 };

typedef struct cf_page_item {
    uint8_t kind, look, flags;
    bool is_end;
    float share;
    size_t title, n_title; /* bytes of the page's text; of a run: its text */
    size_t note, n_note;   /* likewise; of a run: its tip */
} cf_page_item;

typedef struct cf_page {
    cf_page_item *v;
    size_t n, cap;
    cf_buf text;
} cf_page;

void cf_page_deinit(cf_page *p);
/* CF_ENOMEM where memory ran out while the page was made. */
CF_MUST_USE cf_status cf_page_check(const cf_page *p, cf_error *err);

/* Begins a block; its title is copied. */
void cf_page_begin(cf_page *p, cf_page_kind kind, cf_look look, cf_str title);
/* Adds to the note of the item added last. */
void cf_page_note(cf_page *p, const char *fmt, ...) CF_PRINTF(2, 3);
void cf_page_add_note(cf_page *p, cf_str text);
void cf_page_end(cf_page *p, cf_page_kind kind);

void cf_page_run(cf_page *p, cf_look look, cf_str text);
void cf_page_runf(cf_page *p, cf_look look, const char *fmt, ...) CF_PRINTF(3, 4);
/* Sets what a shade, bar or row added last shows, of 0 to 1. */
void cf_page_share(cf_page *p, double share);
/* CF_TOKEN_* of the run added last. */
void cf_page_flags(cf_page *p, int flags);
/* A block with a run in it. */
void cf_page_say(cf_page *p, cf_page_kind kind, cf_look look, cf_str text);

static inline cf_str cf_page_title(const cf_page *p, const cf_page_item *it)
{
    return cf_str_make(cf_buf_cstr(&p->text) + it->title, it->n_title);
}

static inline cf_str cf_page_tip(const cf_page *p, const cf_page_item *it)
{
    return cf_str_make(cf_buf_cstr(&p->text) + it->note, it->n_note);
}

/* ---- papers ------------------------------------------------------------- */

/* A whole document without scripts and addresses. */
void cf_page_html(cf_buf *out, const cf_page *p);
void cf_page_markdown(cf_buf *out, const cf_page *p);
void cf_page_svg(cf_buf *out, const cf_page *p);

/* A page of lines only (CF_PAGE_LINE).  In colour marks are reversed; without,
 * a line that begins with '?' has a '^' below each marked cell.  `is_safe`
 * escapes what could steer a terminal. */
void cf_page_text(cf_buf *out, const cf_page *p, bool is_color, bool is_safe);

#endif
