/*
 * page_svg.c - a page as a picture: text in a grid of cells with a coloured box
 * under each run, which has its tip as a tool tip.
 *
 * The boxes of a run are laid out by cells; textLength fits the letters into
 * them, whatever font there is.
 */
#include "core/base/utf8.h"
#include "tui/grid/cluster.h"
#include "tui/page/page_escape.h"
#include "tui/page/page_form.h"

enum { COLS = 100, CELL_W = 8, CELL_H = 19, MARGIN = 20 };

/* A picture while it is drawn; the size is known at the end. */
typedef struct pen {
    cf_buf *out;
    int x, y; /* in cells */
} pen;

static const char style[] =
    "<style>svg{background:#fcfcfa}text{font:13px ui-monospace,'DejaVu Sans "
    "Mono',Menlo,Consolas,monospace;fill:#1f2430;white-space:pre}"
    ".h{font-weight:600}.d{fill:#667085}.s0{fill:#ece8f8}.s1{fill:#e4eefb}"
    ".s2{fill:#fbeeda}.s3{fill:#e2f3e4}.s4{fill:#fbe4ee}.s9{fill:none}"
    ".add{fill:#dff5e3}.del{fill:#fde2e2}.given{fill:#d4d4cc}.k{fill:#2c9a6a}"
    ".q{fill:#d6303e}@media(prefers-color-scheme:dark){svg{background:#14161b}"
    "text{fill:#dfe3ea}.d{fill:#8f99a8}.s0{fill:#2b2740}.s1{fill:#1d2c44}"
    ".s2{fill:#3b2d16}.s3{fill:#1b3424}.s4{fill:#3d2130}.add{fill:#17321f}"
    ".del{fill:#3d1d20}.given{fill:#3c424d}.k{fill:#3fbf8a}.q{fill:#ff5460}}"
    "</style>\n";

/* Cells of the character at p, and its bytes. */
static int measure(const char *p, size_t n, size_t *len)
{
    uint32_t cp;
    *len = cf_utf8_decode(&cp, p, n);
    if (cp == CF_UTF8_BAD) {
        return 4; /* \xNN */
    }
    if (cp == '\n' || cp == '\t') {
        return 1; /* an arrow */
    }
    if (cf_escape_hides(cp)) {
        return cp < 0x80 ? 4 : cp < 0x1000 ? 7 : cp < 0x10000 ? 8 : 9;
    }
    return cf_text_width(p, *len) > 1 ? 2 : 1;
}

static void new_line(pen *p)
{
    p->x = 0;
    p->y++;
}

/* One box on one line. */
static void put_box(pen *p, cf_str text, int cells, const char *box, double opacity,
                    const char *letters)
{
    int x = MARGIN + p->x * CELL_W, y = MARGIN + p->y * CELL_H;
    cf_buf_addf(p->out,
                "<rect class=\"%s\" x=\"%d\" y=\"%d\" width=\"%d\" "
                "height=\"%d\" rx=\"2\" fill-opacity=\"%.2f\"/><text "
                "class=\"%s\" x=\"%d\" y=\"%d\" textLength=\"%d\" "
                "lengthAdjust=\"spacingAndGlyphs\">",
                box, x, y, cells * CELL_W - 1, CELL_H - 2, opacity, letters, x, y + 13,
                cells * CELL_W - 1);
    cf_escape_xml(p->out, text);
    cf_buf_adds(p->out, "</text>");
    p->x += cells;
}

/* A run of text with a box under it and a tool tip, broken at the margin. */
static void put_boxes(pen *p, cf_str text, const char *box, double opacity, const char *letters,
                      cf_str tip)
{
    size_t from = 0, at = 0;
    int cells = 0;
    cf_buf_adds(p->out, "<g>");
    if (tip.n > 0) {
        cf_buf_adds(p->out, "<title>");
        cf_escape_attr(p->out, tip);
        cf_buf_adds(p->out, "</title>");
    }
    while (at < text.n) {
        size_t len;
        int w = measure(text.p + at, text.n - at, &len);
        if (p->x + cells + w > COLS) {
            if (cells > 0) {
                put_box(p, cf_str_make(text.p + from, at - from), cells, box, opacity, letters);
            }
            new_line(p);
            from = at;
            cells = 0;
        }
        cells += w;
        at += len;
        if (text.p[at - 1] == '\n') {
            put_box(p, cf_str_make(text.p + from, at - from), cells, box, opacity, letters);
            new_line(p);
            from = at;
            cells = 0;
        }
    }
    if (cells > 0) {
        put_box(p, cf_str_make(text.p + from, at - from), cells, box, opacity, letters);
    }
    cf_buf_adds(p->out, "</g>\n");
}

static void put_heading(pen *p, cf_str text)
{
    if (p->x > 0) {
        new_line(p);
    }
    p->y += p->y > 0;
    put_boxes(p, text, "s9", 0, "h", cf_str_make("", 0));
    new_line(p);
}

/* Headings; a block without one has "". */
static const cf_page_form forms[CF_PAGE_KINDS] = {
    [CF_PAGE_SECTION] = {"", NULL, NULL}, [CF_PAGE_BOX] = {"$($t$)", NULL, NULL},
    [CF_PAGE_TURN] = {"$t", NULL, NULL},  [CF_PAGE_PART] = {"$t", NULL, NULL},
    [CF_PAGE_STAGES] = {"", NULL, NULL},  [CF_PAGE_STAGE] = {"$t: $n", NULL, NULL},
    [CF_PAGE_TEXT] = {"", NULL, NULL},    [CF_PAGE_PRE] = {"", NULL, NULL},
    [CF_PAGE_DIFF] = {"", NULL, NULL},    [CF_PAGE_LINE] = {"", NULL, NULL},
    [CF_PAGE_REMARK] = {"", NULL, NULL},  [CF_PAGE_WARNING] = {"", NULL, NULL},
    [CF_PAGE_TABLE] = {"", NULL, NULL},   [CF_PAGE_ROW] = {"", NULL, NULL},
    [CF_PAGE_CELL] = {"", NULL, NULL},
};

static void put_as_is(cf_buf *out, cf_str text)
{
    cf_buf_add(out, text.p, text.n);
}

static void put_run(pen *p, const cf_page *page, const cf_page_item *it, const cf_page_item *in)
{
    static const char *const boxes[CF_LOOKS] = {
        [CF_LOOK_REMOVED] = "del",   [CF_LOOK_ADDED] = "add",     [CF_LOOK_GIVEN] = "given",
        [CF_LOOK_CHANCE] = "q",      [CF_LOOK_SOURCE] = "s0",     [CF_LOOK_SOURCE + 1] = "s1",
        [CF_LOOK_SOURCE + 2] = "s2", [CF_LOOK_SOURCE + 3] = "s3", [CF_LOOK_SOURCE_LAST] = "s4"};
    const cf_page_item *of = in != NULL ? in : it;
    double share = (double)(of->share < 0 ? -of->share : of->share);
    if (it->look == CF_LOOK_PICTURE || it->look == CF_LOOK_BAR) {
        return;
    }
    put_boxes(p, cf_page_title(page, it), boxes[of->look] != NULL ? boxes[of->look] : "s9",
              of->look == CF_LOOK_CHANCE ? 0.03 + 0.62 * (1 - share)
              : of->kind == CF_PAGE_ROW  ? share
              : boxes[of->look] != NULL  ? 1
                                         : 0,
              it->look == CF_LOOK_DIM ? "d" : "", cf_page_tip(page, it));
}

/* The blocks of a page; `in` is the row or line at hand, whose look its runs
 * have. */
static void put_blocks(pen *p, const cf_page *page)
{
    const cf_page_item *in = NULL;
    cf_buf heading = CF_BUF_INIT;
    for (size_t i = 0; i < page->n; i++) {
        const cf_page_item *it = &page->v[i];
        const bool is_line = it->kind == CF_PAGE_LINE || it->kind == CF_PAGE_ROW;
        if (it->kind == CF_PAGE_RUN) {
            put_run(p, page, it, in);
        } else if (forms[it->kind].open == NULL) {
            i = cf_page__end_of(page, i);
        } else if (it->is_end) {
            if (p->x > 0 && is_line) {
                new_line(p);
            }
            in = is_line ? NULL : in;
        } else {
            in = is_line ? it : in;
            cf_page__fill(&heading, forms[it->kind].open, page, it, NULL, put_as_is);
            if (heading.n > 0) {
                put_heading(p, cf_buf_str(&heading));
            }
            if (it->kind == CF_PAGE_LINE) {
                put_run(p, page,
                        &(cf_page_item){
                            .look = CF_LOOK_DIM, .title = it->title, .n_title = it->n_title},
                        it);
                p->x++;
            } else if (it->kind == CF_PAGE_CELL && p->x > 0) {
                p->x += 2;
            }
            cf_buf_reset(&heading);
        }
    }
    p->out->failed = p->out->failed || heading.failed;
    cf_buf_deinit(&heading);
}

void cf_page_svg(cf_buf *out, const cf_page *page)
{
    cf_buf body = CF_BUF_INIT;
    pen p = {.out = &body};
    put_blocks(&p, page);
    int w = 2 * MARGIN + COLS * CELL_W;
    int h = 2 * MARGIN + (p.y + 1) * CELL_H;
    cf_buf_addf(out,
                "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" "
                "height=\"%d\" viewBox=\"0 0 %d %d\" role=\"img\">\n<title>A reply in confab"
                "</title>\n%s",
                w, h, w, h, style);
    cf_buf_add(out, cf_buf_cstr(&body), body.n);
    cf_buf_adds(out, "</svg>\n");
    out->failed = out->failed || body.failed;
    cf_buf_deinit(&body);
}
