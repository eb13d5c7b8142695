/*
 * report_svg.c - a part of a report as a picture: text in a grid of cells with
 * a coloured box under each token, which has its origin or its probability as
 * a tool tip.
 *
 * The boxes of a run are laid out by cells; textLength fits the letters into
 * them, whatever font there is.
 */
#include "core/base/alloc.h"
#include "core/base/utf8.h"
#include "tui/page/report_text.h"
#include "tui/study/report/report_impl.h"

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

static bool is_wide(uint32_t cp)
{
    static const uint32_t wide[][2] = {{0x1100, 0x115F},   {0x2E80, 0xA4CF},  {0xAC00, 0xD7A3},
                                       {0xF900, 0xFAFF},   {0xFE30, 0xFE6F},  {0xFF00, 0xFF60},
                                       {0x1F300, 0x1FAFF}, {0x20000, 0x3FFFD}};
    for (size_t i = 0; i < sizeof wide / sizeof wide[0]; i++) {
        if (cp >= wide[i][0] && cp <= wide[i][1]) {
            return true;
        }
    }
    return false;
}

/* Cells of the character at p, and its bytes. */
static int measure(const char *p, size_t n, size_t *len)
{
    uint32_t cp;
    *len = cf_utf8_decode(&cp, p, n);
    if (cp == CF_UTF8_BAD) {
        return 4; /* \xNN */
    }
    if (cp != '\n' && cp != '\t' && cf_report_hides(cp)) {
        return cp < 0x80 ? 4 : cp < 0x1000 ? 7 : cp < 0x10000 ? 8 : 9;
    }
    return is_wide(cp) ? 2 : 1;
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
    cf_report_xml(p->out, text);
    cf_buf_adds(p->out, "</text>");
    p->x += cells;
}

/* A run of text with a box under it and a tool tip, broken at the margin. */
static void put_run(pen *p, cf_str text, const char *box, double opacity, const char *letters,
                    const cf_buf *tip)
{
    size_t from = 0, at = 0;
    int cells = 0;
    cf_buf_adds(p->out, "<g>");
    if (tip != NULL) {
        cf_buf_adds(p->out, "<title>");
        cf_report_attr(p->out, cf_buf_str(tip));
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
    put_run(p, text, "s9", 0, "h", NULL);
    new_line(p);
}

/* ---- parts -------------------------------------------------------------- */

static void put_conversation(pen *p, const cf_report_facts *f)
{
    for (size_t i = 0; i < f->n_path; i++) {
        cf_buf text = CF_BUF_INIT;
        put_heading(p, cf_json_get_str(f->path[i]->message, "role"));
        cf_report__message(&text, f->path[i]->message);
        put_run(p, cf_buf_str(&text), "s9", 0, "", NULL);
        cf_buf_deinit(&text);
    }
}

static void put_prompt(pen *p, const cf_report_facts *f)
{
    static const char *const boxes[] = {"s0", "s1", "s2", "s3", "s4"};
    const cf_prompt_model *m = &f->prompt;
    int32_t message = INT32_MIN;
    for (size_t i = 0; f->has_prompt && i < m->n; i++) {
        cf_buf text = CF_BUF_INIT;
        if (m->token[i].message != message) {
            message = m->token[i].message;
            cf_report__part_title(&text, f, message);
            put_heading(p, cf_buf_str(&text));
            cf_buf_reset(&text);
        }
        size_t span = m->token[i].span;
        cf_report__prompt_tip(&text, f, i);
        put_run(p, cf_prompt_model_text(m, i),
                span < m->prompt.n_spans ? boxes[m->prompt.spans[span].source] : "s9", 1, "",
                &text);
        cf_buf_deinit(&text);
    }
    if (!f->has_prompt || m->n == 0) {
        put_run(p, f->has_prompt ? m->prompt.text : cf_str_from(f->prompt_why.text), "s9", 0, "",
                NULL);
    }
}

static void put_reply(pen *p, const cf_report_facts *f)
{
    cf_buf text = CF_BUF_INIT;
    if (f->turn == NULL) {
        put_run(p, cf_str_from("The path has no reply."), "s9", 0, "d", NULL);
    } else if (f->reply->n_token == 0) {
        cf_report__message(&text, f->turn->message);
        put_run(p, cf_buf_str(&text), "s9", 0, "", NULL);
    }
    for (size_t i = 0; f->turn != NULL && i < f->reply->n_token; i++) {
        double chance = cf_report__p(f, i);
        bool is_given = f->reply->token[i].is_forced;
        cf_buf_reset(&text);
        cf_report__reply_tip(&text, f, i);
        put_run(p, cf_reply_token_text(f->reply, i), is_given ? "given" : "q",
                is_given     ? 1
                : chance < 0 ? 0
                             : 0.03 + 0.62 * (1 - chance),
                "", &text);
    }
    cf_buf_deinit(&text);
}

static void put_calls(pen *p, const cf_report_facts *f)
{
    for (size_t i = 0; i < f->calls.n_row; i++) {
        for (int s = 0; s < CF_STAGE_COUNT; s++) {
            cf_buf text = CF_BUF_INIT;
            const cf_call_row *row = &f->calls.row[i];
            cf_buf_addf(&text, "%s: %s", cf_report__stages[s],
                        cf_report__outcome((cf_outcome)row->outcome[s]));
            put_heading(p, cf_buf_str(&text));
            cf_buf_reset(&text);
            cf_report__stage(&text, f, row, (cf_stage)s);
            put_run(p, cf_buf_str(&text), "s9", 0, "", NULL);
            cf_buf_deinit(&text);
        }
    }
    if (f->calls.n_row == 0) {
        put_run(p, cf_str_from("There are no calls."), "s9", 0, "d", NULL);
    }
}

static void put_diff_line(pen *p, const cf_diff_side *side, uint32_t unit, const char *sign,
                          const char *box)
{
    if (unit == CF_DIFF_NONE) {
        return;
    }
    put_run(p, cf_str_from(sign), box, 1, "d", NULL);
    put_run(p, cf_diff_text_of(side, unit), box, 1, "", NULL);
    new_line(p);
}

static void put_differences(pen *p, const cf_report_facts *f)
{
    for (size_t i = 0; i < f->n_sibling; i++) {
        const cf_diff *d = &f->sibling[i].diff;
        char id[CF_UUID_TEXT + 1];
        cf_uuid_format(id, f->sibling[i].turn->id);
        put_heading(p, cf_str_from(id));
        for (size_t k = 0; k < d->n_rows; k++) {
            const cf_diff_row *r = &d->rows[k];
            bool is_kept = r->kind == CF_DIFF_KEPT;
            if (!is_kept) {
                put_diff_line(p, &d->a, r->a, "- ", "del");
            }
            put_diff_line(p, &d->b, r->b, is_kept ? "  " : "+ ", is_kept ? "s9" : "add");
        }
    }
    if (f->n_sibling == 0) {
        put_run(p, cf_str_from("There are no other replies."), "s9", 0, "d", NULL);
    }
}

static void put_influence(pen *p, const cf_report_facts *f)
{
    size_t *order;
    double most;
    size_t n = cf_report__influence(f, &order, &most);
    for (size_t i = 0; i < n; i++) {
        const cf_influence_row *row = &f->influence.row[order[i]];
        cf_buf label = CF_BUF_INIT;
        double share = most > 0 && row->has_delta ? row->delta / most : 0;
        cf_buf_addf(&label, "%+9.3f  ", row->has_delta ? row->delta : 0);
        cf_report__influence_label(&label, f, &row->part);
        put_run(p, cf_buf_str(&label), share < 0 ? "add" : "del", share < 0 ? -share : share, "",
                NULL);
        new_line(p);
        cf_buf_deinit(&label);
    }
    if (n == 0) {
        put_run(p, cf_str_from("The influence is not known."), "s9", 0, "d", NULL);
    }
    cf_free(order);
}

void cf_report__svg(cf_buf *out, const cf_report_facts *f, cf_report_part part)
{
    cf_buf body = CF_BUF_INIT;
    pen p = {.out = &body};
    switch (part) {
    case CF_REPORT_CONVERSATION:
        put_conversation(&p, f);
        break;
    case CF_REPORT_PROMPT:
        put_prompt(&p, f);
        break;
    case CF_REPORT_CALLS:
        put_calls(&p, f);
        break;
    case CF_REPORT_DIFFERENCES:
        put_differences(&p, f);
        break;
    case CF_REPORT_INFLUENCE:
        put_influence(&p, f);
        break;
    case CF_REPORT_ALL:
    case CF_REPORT_REPLY:
        (f->turn != NULL ? put_reply : put_prompt)(&p, f);
        break;
    }
    int w = 2 * MARGIN + COLS * CELL_W;
    int h = 2 * MARGIN + (p.y + 1) * CELL_H;
    cf_buf_addf(out,
                "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" "
                "height=\"%d\" viewBox=\"0 0 %d %d\">\n%s",
                w, h, w, h, style);
    cf_buf_add(out, cf_buf_cstr(&body), body.n);
    cf_buf_adds(out, "</svg>\n");
    out->failed = out->failed || body.failed;
    cf_buf_deinit(&body);
}

/* ---- forms -------------------------------------------------------------- */

cf_status cf_report_write(cf_buf *out, const cf_report_facts *f, cf_report_part part,
                          const char *path, cf_error *err)
{
    static const struct {
        const char *ending;
        void (*write)(cf_buf *out, const cf_report_facts *f, cf_report_part part);
    } forms[] = {{".md", cf_report__markdown},
                 {".markdown", cf_report__markdown},
                 {".svg", cf_report__svg},
                 {"", cf_report__html}};
    const char *dot = strrchr(path, '.');
    const uint64_t failures = cf_alloc_failures();
    size_t i = 0;
    while (forms[i].ending[0] != '\0' && (dot == NULL || strcmp(dot, forms[i].ending) != 0)) {
        i++;
    }
    forms[i].write(out, f, part);
    CF_TRY(cf_alloc_check(failures, err));
    return cf_buf_check(out, err);
}
