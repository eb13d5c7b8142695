/*
 * report_page.c - a report as a page: head, conversation, differences,
 * influence, source; the sections with tokens are in report_tokens.c.
 */
#include <math.h>
#include <string.h>

#include "core/api/attachment.h"
#include "core/base/alloc.h"
#include "core/base/base64.h"
#include "core/base/os.h"
#include "core/base/utf8.h"
#include "tui/page/page_diff.h"
#include "tui/study/report/report_impl.h"

void cf_report__section(cf_page *p, const char *name, const char *about)
{
    cf_page_begin(p, CF_PAGE_SECTION, CF_LOOK_PLAIN, cf_str_from(name));
    cf_page_note(p, "%s", about);
}

void cf_report__remark(cf_page *p, const char *text)
{
    cf_page_say(p, CF_PAGE_REMARK, CF_LOOK_DIM, cf_str_from(text));
}

/* ---- head --------------------------------------------------------------- */

static void put_nav(cf_page *p, const cf_report_facts *f)
{
    static const char *const names[] = {"Conversation", "Prompt",    "Reply", "Calls",
                                        "Differences",  "Influence", "Inside"};
    const bool is_in[] = {true,
                          true,
                          true,
                          true,
                          true,
                          f->from.influences && f->turn != NULL,
                          f->from.looks && f->turn != NULL};
    size_t n = sizeof names / sizeof names[0];
    cf_page_begin(p, CF_PAGE_NAV, CF_LOOK_PLAIN, cf_str_from(""));
    for (size_t i = 0; i < n; i++) {
        if (is_in[i]) {
            cf_page_run(p, CF_LOOK_LINK, cf_str_from(names[i]));
        }
    }
    cf_page_end(p, CF_PAGE_NAV);
}

/* Begins a card; cf_page_note() says of what. */
static void begin_card(cf_page *p, size_t value, const char *unit)
{
    char text[32];
    snprintf(text, sizeof text, "%zu%s", value, unit);
    cf_page_begin(p, CF_PAGE_CARD, CF_LOOK_PLAIN, cf_str_from(text));
}

static void put_card(cf_page *p, size_t value, const char *what)
{
    begin_card(p, value, "");
    cf_page_note(p, "%s", what);
    cf_page_end(p, CF_PAGE_CARD);
}

static void put_prompt_cards(cf_page *p, const cf_report_facts *f)
{
    const cf_prompt_model *m = &f->prompt;
    if (!f->has_prompt || m->n == 0) {
        return;
    }
    put_card(p, m->n, "tokens of prompt");
    if (f->cache != CF_REPORT_CACHE_NONE) {
        size_t percent = m->n_kept * 100 / m->n;
        begin_card(p, percent, "%");
        cf_page_note(p, "%zu from the cache", m->n_kept);
        cf_page_run(p, CF_LOOK_METER, cf_str_from(""));
        cf_page_share(p, (double)percent / 100);
        cf_page_end(p, CF_PAGE_CARD);
    }
}

static void put_call_card(cf_page *p, const cf_report_facts *f)
{
    char what[64] = "calls, all sound";
    size_t n_bad = 0;
    for (size_t i = 0; i < f->calls.n_row; i++) {
        const uint8_t *o = f->calls.row[i].outcome;
        n_bad += o[CF_STAGE_PARSED] == CF_OUTCOME_FAIL || o[CF_STAGE_VALID] == CF_OUTCOME_FAIL;
    }
    if (n_bad > 0) {
        snprintf(what, sizeof what, "calls, %zu faulty", n_bad);
    }
    if (f->calls.n_row > 0) {
        put_card(p, f->calls.n_row, what);
    }
}

static void put_cards(cf_page *p, const cf_report_facts *f)
{
    cf_page_begin(p, CF_PAGE_CARDS, CF_LOOK_PLAIN, cf_str_from(""));
    put_card(p, f->n_path, f->n_path == 1 ? "turn" : "turns");
    put_prompt_cards(p, f);
    if (f->reply != NULL && f->reply->n_token > 0) {
        put_card(p, f->reply->n_token, "tokens of reply");
    }
    put_call_card(p, f);
    if (f->n_all > 1) {
        put_card(p, f->n_all, "replies to the same turn");
    }
    cf_page_end(p, CF_PAGE_CARDS);
}

static void put_figures(cf_page *p, const cf_report_facts *f)
{
    cf_report_figure v[CF_REPORT_FIGURES];
    size_t n = cf_report__figures(f, v);
    cf_page_begin(p, CF_PAGE_FIGURES, CF_LOOK_PLAIN, cf_str_from(""));
    for (size_t i = 0; i < n; i++) {
        cf_page_begin(p, CF_PAGE_FIGURE, CF_LOOK_PLAIN, cf_str_from(v[i].name));
        cf_page_note(p, "%s", v[i].value);
        cf_page_end(p, CF_PAGE_FIGURE);
    }
    cf_page_end(p, CF_PAGE_FIGURES);
}

static void put_head(cf_page *p, const cf_report_facts *f, bool is_all)
{
    cf_buf title = CF_BUF_INIT;
    cf_report__title(&title, f);
    cf_page_begin(p, CF_PAGE_TITLE, CF_LOOK_PLAIN, cf_buf_str(&title));
    p->text.failed = p->text.failed || title.failed;
    cf_buf_deinit(&title);
    if (is_all) {
        put_nav(p, f);
    }
    cf_page_end(p, CF_PAGE_TITLE);
    put_cards(p, f);
    put_figures(p, f);
}

/* ---- conversation ------------------------------------------------------- */

/* The pictures embedded in a message, as data.  A file or an address stays a
 * name: the report contains only what the conversation contains. */
static void put_pictures(cf_page *p, const json_t *message)
{
    enum { PAGE_MAX = 64 << 20 };
    const json_t *content = json_object_get(message, "content");
    for (size_t i = 0; i < json_array_size(content); i++) {
        cf_attachment a;
        cf_buf bytes = CF_BUF_INIT, text = CF_BUF_INIT;
        bool is_image = cf_attachment_read(&a, json_array_get(content, i)) &&
                        a.kind == CF_ATTACHMENT_IMAGE && p->text.n < PAGE_MAX &&
                        a.base64.n < PAGE_MAX - p->text.n && cf_base64_get(&bytes, a.base64) &&
                        bytes.n > 0;
        const char *mime = is_image ? cf_attachment_sniff(cf_buf_str(&bytes)) : NULL;
        if (mime != NULL && strncmp(mime, "image/", 6) == 0) {
            cf_base64_put(&text, cf_buf_str(&bytes));
            cf_page_run(p, CF_LOOK_PICTURE, cf_str_from(mime));
            cf_page_add_note(p, cf_buf_str(&text));
        }
        p->text.failed = p->text.failed || bytes.failed || text.failed || a.own.failed;
        cf_buf_deinit(&bytes);
        cf_buf_deinit(&text);
        cf_attachment_deinit(&a);
    }
}

void cf_report__text(cf_page *p, const json_t *message)
{
    cf_buf text = CF_BUF_INIT;
    cf_report__message(&text, message);
    cf_page_begin(p, CF_PAGE_TEXT, CF_LOOK_PLAIN, cf_str_from(""));
    cf_page_run(p, CF_LOOK_PLAIN, cf_buf_str(&text));
    put_pictures(p, message);
    cf_page_end(p, CF_PAGE_TEXT);
    p->text.failed = p->text.failed || text.failed;
    cf_buf_deinit(&text);
}

static void put_turn(cf_page *p, const cf_report_facts *f, size_t number)
{
    const cf_turn *turn = f->path[number];
    const bool is_here = turn == f->turn;
    cf_page_begin(p, CF_PAGE_TURN, is_here ? CF_LOOK_HERE : CF_LOOK_PLAIN,
                  cf_json_get_str(turn->message, "role"));
    cf_page_note(p, "%zu", number + 1);
    if (turn->status != CF_TURN_OK && turn->status != CF_TURN_IMPORTED) {
        cf_page_note(p, ", %s", cf_turn_status_name(turn->status));
    }
    cf_page_note(p, "%s", is_here ? ", this reply" : "");
    cf_report__text(p, turn->message);
    cf_page_end(p, CF_PAGE_TURN);
}

static void put_conversation(cf_page *p, const cf_report_facts *f)
{
    const json_t *before = cf_conversation_preface(f->from.conv)->messages;
    bool has_system = f->n_path > 0 && cf_turn_is_system(f->path[0]);
    cf_report__section(p, "Conversation", "the path that is reported");
    cf_page_begin(p, CF_PAGE_BOX, CF_LOOK_PLAIN, cf_str_from(""));
    for (size_t i = 0; !has_system && i < json_array_size(before); i++) {
        const json_t *message = json_array_get(before, i);
        cf_page_begin(p, CF_PAGE_TURN, CF_LOOK_PLAIN, cf_json_get_str(message, "role"));
        cf_page_note(p, "before every turn");
        cf_report__text(p, message);
        cf_page_end(p, CF_PAGE_TURN);
    }
    for (size_t i = 0; i < f->n_path; i++) {
        put_turn(p, f, i);
    }
    cf_page_end(p, CF_PAGE_BOX);
    if (f->losses.n > 0) {
        cf_page_say(p, CF_PAGE_WARNING, CF_LOOK_PLAIN, cf_str_from("Not in the prompt:"));
        cf_page_begin(p, CF_PAGE_BOX, CF_LOOK_PLAIN, cf_str_from(""));
        cf_page_begin(p, CF_PAGE_TEXT, CF_LOOK_LOST, cf_str_from(""));
        cf_page_run(p, CF_LOOK_PLAIN, cf_buf_str(&f->losses));
        cf_page_end(p, CF_PAGE_TEXT);
        cf_page_end(p, CF_PAGE_BOX);
    }
    cf_page_end(p, CF_PAGE_SECTION);
}

/* ---- differences -------------------------------------------------------- */

static void put_diff(cf_page *p, const cf_diff *d)
{
    if (cf_diff_is_equal(d)) {
        return;
    }
    cf_page_begin(p, CF_PAGE_DIFF, CF_LOOK_PLAIN, cf_str_from(""));
    for (size_t i = 0; i < d->n_rows; i++) {
        const cf_diff_row *r = &d->rows[i];
        if (r->kind == CF_DIFF_KEPT) {
            cf_page_add_line(p, d, r, ' ');
        } else {
            cf_page_add_line(p, d, r, '-');
            cf_page_add_line(p, d, r, '+');
        }
    }
    cf_page_end(p, CF_PAGE_DIFF);
}

static void put_differences(cf_page *p, const cf_report_facts *f)
{
    cf_report__section(p, "Differences", "from other replies to the same turns");
    for (size_t i = 0; i < f->n_sibling; i++) {
        const cf_report_sibling *s = &f->sibling[i];
        char id[CF_UUID_TEXT + 1], when[25];
        cf_uuid_format(id, s->turn->id);
        cf_os_format_time(when, s->turn->created_ms);
        cf_page_begin(p, CF_PAGE_BOX, CF_LOOK_PLAIN, cf_str_from(id));
        cf_page_note(p, "%s, to turn %zu, %s%s", when, s->place,
                     cf_turn_status_name(s->turn->status),
                     cf_diff_is_equal(&s->diff) ? ", the same text" : "");
        put_diff(p, &s->diff);
        cf_page_end(p, CF_PAGE_BOX);
    }
    if (f->n_sibling == 0) {
        cf_report__remark(p, "There are no other replies.");
    } else if (f->n_more > 0) {
        cf_page_begin(p, CF_PAGE_REMARK, CF_LOOK_PLAIN, cf_str_from(""));
        cf_page_runf(p, CF_LOOK_DIM, "%zu more are not shown.", f->n_more);
        cf_page_end(p, CF_PAGE_REMARK);
    }
    cf_page_end(p, CF_PAGE_SECTION);
}

/* ---- influence ---------------------------------------------------------- */

static void put_influence_row(cf_page *p, const cf_report_facts *f, const cf_influence_row *row,
                              double most)
{
    enum { SHOWN = 120 };
    char line[SHOWN + 1];
    cf_buf label = CF_BUF_INIT;
    double share = row->has_delta && most > 0 ? row->delta / most : 0;
    cf_part_label(&row->part, &f->study, &label);
    cf_page_begin(p, CF_PAGE_ROW, share < 0 ? CF_LOOK_ADDED : CF_LOOK_REMOVED, cf_str_from(""));
    cf_page_share(p, share);
    cf_page_say(p, CF_PAGE_CELL, CF_LOOK_PLAIN, cf_buf_str(&label));
    cf_page_begin(p, CF_PAGE_CELL, CF_LOOK_PLAIN, cf_str_from(""));
    if (row->has_delta) {
        bool is_small = fabs(row->delta) < 0.0005; /* no "-0.000" */
        cf_page_runf(p, CF_LOOK_PLAIN, is_small ? "%.3f" : "%+.3f", is_small ? 0 : row->delta);
    } else {
        cf_page_run(p, CF_LOOK_PLAIN, cf_str_from(row->why != NULL ? row->why : ""));
    }
    cf_page_end(p, CF_PAGE_CELL);
    cf_page_begin(p, CF_PAGE_WIDE_CELL, CF_LOOK_PLAIN, cf_str_from(""));
    if (row->has_delta) {
        cf_page_run(p, CF_LOOK_BAR, cf_str_from(""));
        cf_page_share(p, share);
    }
    cf_page_end(p, CF_PAGE_WIDE_CELL);
    size_t n = cf_utf8_copy(line, sizeof line, row->part.text);
    cf_page_begin(p, CF_PAGE_WIDE_CELL, CF_LOOK_PLAIN, cf_str_from(""));
    cf_page_run(p, CF_LOOK_CODE, cf_str_make(line, n));
    cf_page_run(p, CF_LOOK_PLAIN, cf_str_from(n < row->part.text.n ? "\xe2\x80\xa6" : ""));
    cf_page_end(p, CF_PAGE_WIDE_CELL);
    cf_page_end(p, CF_PAGE_ROW);
    p->text.failed = p->text.failed || label.failed;
    cf_buf_deinit(&label);
}

static void put_influence_group(cf_page *p, const cf_report_facts *f, const cf_influence_group *g)
{
    cf_buf text = CF_BUF_INIT;
    cf_influence_group_label(&f->influence, g, &f->study, &text);
    cf_buf_addf(&text, " (%+.2f)", g->of.delta);
    p->text.failed = p->text.failed || text.failed;
    cf_page_say(p, CF_PAGE_REMARK, CF_LOOK_PLAIN, cf_buf_str(&text));
    cf_buf_deinit(&text);
}

static void put_influence(cf_page *p, const cf_report_facts *f)
{
    size_t *order;
    double most;
    if (!f->from.influences || f->turn == NULL) {
        return;
    }
    cf_report__section(p, "Influence",
                       "how the reply's log-likelihood changes without a part, in nats; below "
                       "zero the part made it more likely");
    if (!f->has_influence) {
        cf_page_say(p, CF_PAGE_WARNING, CF_LOOK_DIM, cf_str_from(f->influence_why.text));
        cf_page_end(p, CF_PAGE_SECTION);
        return;
    }
    if (f->influence.match_why.n > 0) {
        cf_page_say(p, CF_PAGE_WARNING, CF_LOOK_DIM, f->influence.match_why);
    }
    size_t n = cf_report__influence(f, &order, &most);
    p->text.failed = p->text.failed || order == NULL;
    cf_page_begin(p, CF_PAGE_BOX, CF_LOOK_PLAIN, cf_str_from(""));
    cf_page_begin(p, CF_PAGE_TABLE, CF_LOOK_PLAIN, cf_str_from(""));
    cf_report__headings(p, (const char *const[]){"part", "#change", "*", "*text", NULL});
    for (size_t i = 0; i < n; i++) {
        put_influence_row(p, f, &f->influence.row[order[i]], most);
    }
    cf_page_end(p, CF_PAGE_TABLE);
    cf_page_end(p, CF_PAGE_BOX);
    for (size_t i = 0; i < f->influence.n_group; i++) {
        put_influence_group(p, f, &f->influence.group[i]);
    }
    cf_page_end(p, CF_PAGE_SECTION);
    cf_free(order);
}

/* ---- sources ------------------------------------------------------------ */

static void put_source(cf_page *p, const char *name, cf_str text)
{
    if (text.n > 0) {
        cf_page_begin(p, CF_PAGE_SOURCE, CF_LOOK_PLAIN, cf_str_from(name));
        cf_page_say(p, CF_PAGE_PRE, CF_LOOK_PLAIN, text);
        cf_page_end(p, CF_PAGE_SOURCE);
    }
}

/* The template with line numbers, which the tips of tokens refer to. */
static void number_lines(cf_buf *out, cf_str source)
{
    size_t line = 1, from = 0;
    for (size_t i = 0; i <= source.n; i++) {
        if (i == source.n ? from < i : source.p[i] == '\n') {
            cf_buf_addf(out, "%4zu  ", line++);
            cf_buf_add(out, source.p + from, i - from);
            cf_buf_addc(out, '\n');
            from = i + 1;
        }
    }
}

static void put_sources(cf_page *p, const cf_report_facts *f)
{
    cf_buf text = CF_BUF_INIT;
    number_lines(&text, f->from.template_source);
    put_source(p, "The template", cf_buf_str(&text));
    cf_buf_reset(&text);
    json_t *tools = cf_tool_set_openai(cf_conversation_tools(f->from.conv));
    p->text.failed = p->text.failed || tools == NULL;
    for (size_t i = 0; i < json_array_size(tools); i++) {
        cf_json_write_spaced(&text, json_array_get(tools, i));
        cf_buf_addc(&text, '\n');
    }
    json_decref(tools);
    put_source(p, "The tools, as JSON", cf_buf_str(&text));
    if (f->has_run) {
        put_source(p, "The options of the run, as JSON", f->stored.run->options);
        put_source(p, "The reply, byte by byte", f->stored.run->raw);
    }
    p->text.failed = p->text.failed || text.failed;
    cf_buf_deinit(&text);
}

/* ---- the page ----------------------------------------------------------- */

static void make_page(cf_page *p, const cf_report_facts *f, cf_report_part part)
{
    static const struct {
        cf_report_part part;
        void (*put)(cf_page *p, const cf_report_facts *f);
    } sections[] = {
        {CF_REPORT_CONVERSATION, put_conversation}, {CF_REPORT_PROMPT, cf_report__prompt},
        {CF_REPORT_REPLY, cf_report__reply},        {CF_REPORT_CALLS, cf_report__calls},
        {CF_REPORT_DIFFERENCES, put_differences},   {CF_REPORT_INFLUENCE, put_influence},
        {CF_REPORT_INSIDE, cf_report__inside},      {CF_REPORT_ALL, put_sources}};
    put_head(p, f, part == CF_REPORT_ALL);
    for (size_t i = 0; i < sizeof sections / sizeof sections[0]; i++) {
        if (part == CF_REPORT_ALL || part == sections[i].part) {
            sections[i].put(p, f);
        }
    }
}

cf_status cf_report_write(cf_buf *out, const cf_report_facts *f, cf_report_part part,
                          const char *path, cf_error *err)
{
    static const struct {
        const char *ending;
        void (*paint)(cf_buf *out, const cf_page *p);
    } forms[] = {{".md", cf_page_markdown},
                 {".markdown", cf_page_markdown},
                 {".svg", cf_page_svg},
                 {"", cf_page_html}};
    const char *dot = strrchr(path, '.');
    cf_page p = {.n = 0};
    size_t i = 0;
    while (forms[i].ending[0] != '\0' && (dot == NULL || strcmp(dot, forms[i].ending) != 0)) {
        i++;
    }
    if (forms[i].paint == cf_page_svg && part == CF_REPORT_ALL) { /* a picture shows one part */
        part = f->turn != NULL ? CF_REPORT_REPLY : CF_REPORT_PROMPT;
    }
    make_page(&p, f, part);
    cf_status st = cf_page_check(&p, err);
    if (st == CF_OK) {
        forms[i].paint(out, &p);
        st = cf_buf_check(out, err);
    }
    cf_page_deinit(&p);
    return st;
}
