/*
 * report_html.c - a report as one page of HTML: head, conversation,
 * differences, source; the parts with tokens are in report_html_tokens.c.
 *
 * The page has no script and no address, says so in its content security
 * policy, and takes untrusted text only through report_text.h.
 */
#include <math.h>
#include <string.h>

#include "core/api/attachment.h"
#include "core/base/alloc.h"
#include "core/base/base64.h"
#include "core/base/os.h"
#include "core/base/utf8.h"
#include "core/base/version.h"
#include "tui/page/report_text.h"
#include "tui/study/report/report_impl.h"

extern const unsigned char cf_embed_tui_study_report_report_css[];
extern const size_t cf_embed_tui_study_report_report_css_size;

/* ---- head --------------------------------------------------------------- */

static void put_head(cf_buf *out, const cf_report_facts *f)
{
    cf_buf title = CF_BUF_INIT;
    cf_report__title(&title, f);
    cf_buf_adds(out, "<!doctype html>\n<html lang=en>\n<head>\n<meta charset=utf-8>\n"
                     "<meta name=viewport content=\"width=device-width, "
                     "initial-scale=1\">\n"
                     "<meta name=color-scheme content=\"light dark\">\n"
                     "<meta http-equiv=Content-Security-Policy content=\"default-src "
                     "'none'; style-src 'unsafe-inline'; img-src data:; form-action "
                     "'none'; base-uri 'none'\">\n<meta name=referrer "
                     "content=no-referrer>\n<title>");
    cf_report_html(out, cf_buf_str(&title));
    cf_buf_adds(out, " - confab report</title>\n<style>\n");
    cf_buf_add(out, cf_embed_tui_study_report_report_css,
               cf_embed_tui_study_report_report_css_size);
    cf_buf_adds(out, "</style>\n</head>\n<body>\n<header>\n"
                     "<div class=kicker>confab report</div>\n<h1>");
    cf_report_html(out, cf_buf_str(&title));
    cf_buf_adds(out, "</h1>\n");
    cf_buf_deinit(&title);
}

static void put_nav(cf_buf *out, const cf_report_facts *f)
{
    static const char *const names[] = {"Conversation", "Prompt",      "Reply",
                                        "Calls",        "Differences", "Influence"};
    size_t n = sizeof names / sizeof names[0];
    n -= !f->from.influences || f->turn == NULL; /* the last one */
    cf_buf_adds(out, "<nav>");
    for (size_t i = 0; i < n; i++) {
        cf_buf_addf(out, "<a href=\"#%s\">%s</a>", names[i], names[i]);
    }
    cf_buf_adds(out, "</nav>\n");
}

static void put_card(cf_buf *out, const char *value, const char *what, int percent)
{
    cf_buf_adds(out, "<div class=card><b>");
    cf_report_html(out, cf_str_from(value));
    cf_buf_adds(out, "</b><span>");
    cf_report_html(out, cf_str_from(what));
    cf_buf_adds(out, "</span>");
    if (percent >= 0) {
        cf_buf_addf(out, "<div class=meter><i style=\"width:%d%%\"></i></div>", percent);
    }
    cf_buf_adds(out, "</div>\n");
}

static void put_prompt_cards(cf_buf *out, const cf_report_facts *f)
{
    const cf_prompt_model *m = &f->prompt;
    char value[64], what[64];
    if (!f->has_prompt || m->n == 0) {
        return;
    }
    snprintf(value, sizeof value, "%zu", m->n);
    put_card(out, value, "tokens of prompt", -1);
    if (f->cache != CF_REPORT_CACHE_NONE) {
        int percent = (int)(m->n_kept * 100 / m->n);
        snprintf(value, sizeof value, "%d%%", percent);
        snprintf(what, sizeof what, "%zu from the cache", m->n_kept);
        put_card(out, value, what, percent);
    }
}

static void put_call_card(cf_buf *out, const cf_report_facts *f)
{
    char value[64];
    size_t n_bad = 0;
    for (size_t i = 0; i < f->calls.n_row; i++) {
        const uint8_t *o = f->calls.row[i].outcome;
        n_bad += o[CF_STAGE_PARSED] == CF_OUTCOME_FAIL || o[CF_STAGE_VALID] == CF_OUTCOME_FAIL;
    }
    if (f->calls.n_row > 0) {
        snprintf(value, sizeof value, "%zu", f->calls.n_row);
        char what[64] = "calls, all sound";
        if (n_bad > 0) {
            snprintf(what, sizeof what, "calls, %zu faulty", n_bad);
        }
        put_card(out, value, what, -1);
    }
}

static void put_cards(cf_buf *out, const cf_report_facts *f)
{
    char value[64];
    cf_buf_adds(out, "<div class=cards>\n");
    snprintf(value, sizeof value, "%zu", f->n_path);
    put_card(out, value, f->n_path == 1 ? "turn" : "turns", -1);
    put_prompt_cards(out, f);
    if (f->reply != NULL && f->reply->n_token > 0) {
        snprintf(value, sizeof value, "%zu", f->reply->n_token);
        put_card(out, value, "tokens of reply", -1);
    }
    put_call_card(out, f);
    if (f->n_all > 1) {
        snprintf(value, sizeof value, "%zu", f->n_all);
        put_card(out, value, "replies to the same turn", -1);
    }
    cf_buf_adds(out, "</div>\n");
}

static void put_figures(cf_buf *out, const cf_report_facts *f)
{
    cf_report_figure v[CF_REPORT_FIGURES];
    size_t n = cf_report__figures(f, v);
    cf_buf_adds(out, "<dl>\n");
    for (size_t i = 0; i < n; i++) {
        cf_buf_adds(out, "<dt>");
        cf_report_html(out, cf_str_from(v[i].name));
        cf_buf_adds(out, "</dt><dd>");
        cf_report_html(out, cf_str_from(v[i].value));
        cf_buf_adds(out, "</dd>\n");
    }
    cf_buf_adds(out, "</dl>\n");
}

static void put_section(cf_buf *out, const char *name, const char *about)
{
    cf_buf_addf(out, "<section id=%s>\n<h2>%s <small>", name, name);
    cf_report_html(out, cf_str_from(about));
    cf_buf_adds(out, "</small></h2>\n");
}

/* ---- conversation ------------------------------------------------------- */

/* Base64 in which no two slashes meet, so that nothing in the page looks like
 * an address; a newline within a URL counts for nothing (URL Standard, "remove
 * all ASCII tab or newline"). */
static void put_base64(cf_buf *out, cf_str bytes)
{
    cf_buf text = CF_BUF_INIT;
    cf_base64_put(&text, bytes);
    for (size_t i = 0; i < text.n; i++) {
        bool meets = i > 0 && text.p[i] == '/' && text.p[i - 1] == '/';
        cf_buf_adds(out, meets ? "\n" : "");
        cf_buf_addc(out, text.p[i]);
    }
    out->failed = out->failed || text.failed;
    cf_buf_deinit(&text);
}

/* The pictures that a message carries, as data.  A file that it names, and an
 * address, stay names: what is sent on must be what was in the conversation. */
static void put_pictures(cf_buf *out, const json_t *message)
{
    enum { PAGE_MAX = 64 << 20 };
    const json_t *content = json_object_get(message, "content");
    for (size_t i = 0; i < json_array_size(content); i++) {
        cf_attachment a;
        cf_buf bytes = CF_BUF_INIT;
        bool is = cf_attachment_read(&a, json_array_get(content, i)) &&
                  a.kind == CF_ATTACHMENT_IMAGE &&
                  a.base64.n < PAGE_MAX - (out->n < PAGE_MAX ? out->n : 0) && out->n < PAGE_MAX &&
                  cf_base64_get(&bytes, a.base64) && !bytes.failed && bytes.n > 0;
        const char *mime = is ? cf_attachment_sniff(cf_buf_str(&bytes)) : NULL;
        if (mime != NULL && strncmp(mime, "image/", 6) == 0) {
            cf_buf_addf(out, "<img alt=picture src=\"data:%s;base64,", mime);
            put_base64(out, cf_buf_str(&bytes));
            cf_buf_adds(out, "\">");
        }
        cf_buf_deinit(&bytes);
        cf_attachment_deinit(&a);
    }
}

static void put_turn(cf_buf *out, const cf_report_facts *f, const char *number, const cf_turn *turn,
                     const json_t *message)
{
    cf_buf text = CF_BUF_INIT;
    cf_buf_addf(out, "<div class=\"turn%s\"><div class=role>",
                turn != NULL && turn == f->turn ? " here" : "");
    cf_report_html(out, cf_json_get_str(message, "role"));
    cf_buf_adds(out, "<small>");
    cf_report_html(out, cf_str_from(number));
    if (turn != NULL && turn->status != CF_TURN_OK && turn->status != CF_TURN_IMPORTED) {
        cf_buf_addf(out, ", %s", cf_turn_status_name(turn->status));
    }
    cf_buf_adds(out, turn != NULL && turn == f->turn ? ", this reply" : "");
    cf_buf_adds(out, "</small></div><div class=text>");
    cf_report__message(&text, message);
    cf_report_html(out, cf_buf_str(&text));
    out->failed = out->failed || text.failed;
    cf_buf_deinit(&text);
    put_pictures(out, message);
    cf_buf_adds(out, "</div></div>\n");
}

static void put_conversation(cf_buf *out, const cf_report_facts *f)
{
    const json_t *before = cf_conversation_preface(f->from.conv)->messages;
    char number[32];
    put_section(out, "Conversation", "the path that is reported");
    cf_buf_adds(out, "<div class=box>\n");
    if (f->n_path == 0 || !cf_turn_is_system(f->path[0])) {
        for (size_t i = 0; i < json_array_size(before); i++) {
            put_turn(out, f, "before every turn", NULL, json_array_get(before, i));
        }
    }
    for (size_t i = 0; i < f->n_path; i++) {
        snprintf(number, sizeof number, "%zu", i + 1);
        put_turn(out, f, number, f->path[i], f->path[i]->message);
    }
    cf_buf_adds(out, "</div>\n");
    if (f->losses.n > 0) {
        cf_buf_adds(out, "<p class=note>Not in the prompt:</p>\n"
                         "<div class=\"box text note\">");
        cf_report_html(out, cf_buf_str(&f->losses));
        cf_buf_adds(out, "</div>\n");
    }
    cf_buf_adds(out, "</section>\n");
}

/* ---- differences -------------------------------------------------------- */

/* A line with its changed bytes marked. */
static void put_unit(cf_buf *out, const cf_diff *d, const cf_diff_side *side, uint32_t unit,
                     uint32_t mark, uint32_t n_mark)
{
    cf_str text = cf_diff_text_of(side, unit);
    size_t at = 0;
    for (uint32_t i = 0; i < n_mark; i++) {
        const cf_diff_mark *m = &d->marks[mark + i];
        cf_report_html(out, cf_str_make(text.p + at, m->off - at));
        cf_buf_adds(out, "<mark>");
        cf_report_html(out, cf_str_make(text.p + m->off, m->len));
        cf_buf_adds(out, "</mark>");
        at = (size_t)m->off + m->len;
    }
    cf_report_html(out, cf_str_make(text.p + at, text.n - at));
}

static void put_row(cf_buf *out, const cf_diff *d, const cf_diff_row *r)
{
    if (r->kind == CF_DIFF_KEPT) {
        cf_buf_adds(out, "<tr><td></td><td>");
        put_unit(out, d, &d->b, r->b, 0, 0);
        cf_buf_adds(out, "</td></tr>\n");
        return;
    }
    const bool is_changed = r->kind == CF_DIFF_CHANGED;
    if (r->a != CF_DIFF_NONE) {
        cf_buf_adds(out, "<tr class=del><td>-</td><td>");
        put_unit(out, d, &d->a, r->a, r->mark, is_changed ? r->n_mark_a : 0);
        cf_buf_adds(out, "</td></tr>\n");
    }
    if (r->b != CF_DIFF_NONE) {
        cf_buf_adds(out, "<tr class=add><td>+</td><td>");
        put_unit(out, d, &d->b, r->b, r->mark + (is_changed ? r->n_mark_a : 0),
                 is_changed ? r->n_mark_b : 0);
        cf_buf_adds(out, "</td></tr>\n");
    }
}

static void put_differences(cf_buf *out, const cf_report_facts *f)
{
    put_section(out, "Differences", "from other replies to the same turns");
    for (size_t i = 0; i < f->n_sibling; i++) {
        const cf_report_sibling *s = &f->sibling[i];
        char id[CF_UUID_TEXT + 1], when[25];
        cf_uuid_format(id, s->turn->id);
        cf_os_format_time(when, s->turn->created_ms);
        cf_buf_adds(out, "<div class=box>\n<h3>");
        cf_report_html(out, cf_str_from(id));
        cf_buf_adds(out, " <small>");
        cf_report_html(out, cf_str_from(when));
        cf_buf_addf(out, ", to turn %zu, %s%s</small></h3>\n<table class=diff>\n", s->place,
                    cf_turn_status_name(s->turn->status),
                    cf_diff_is_equal(&s->diff) ? ", the same text" : "");
        for (size_t k = 0; !cf_diff_is_equal(&s->diff) && k < s->diff.n_rows; k++) {
            put_row(out, &s->diff, &s->diff.rows[k]);
        }
        cf_buf_adds(out, "</table>\n</div>\n");
    }
    if (f->n_sibling == 0) {
        cf_buf_adds(out, "<p class=dim>There are no other replies.</p>\n");
    } else if (f->n_more > 0) {
        cf_buf_addf(out, "<p class=dim>%zu more are not shown.</p>\n", f->n_more);
    }
    cf_buf_adds(out, "</section>\n");
}

/* ---- influence ---------------------------------------------------------- */

static void put_influence_row(cf_buf *out, const cf_report_facts *f, const cf_influence_row *row,
                              double most)
{
    enum { SHOWN = 120 };
    char line[SHOWN + 1];
    cf_buf label = CF_BUF_INIT;
    cf_report__influence_label(&label, f, &row->part);
    cf_buf_adds(out, "<tr><td>");
    cf_report_html(out, cf_buf_str(&label));
    cf_buf_adds(out, "</td><td>");
    if (row->has_delta) {
        double share = most > 0 ? row->delta / most : 0;
        bool is_small = fabs(row->delta) < 0.0005; /* no "-0.000" */
        cf_buf_addf(out, is_small ? "%.3f" : "%+.3f", is_small ? 0 : row->delta);
        cf_buf_addf(out,
                    "</td><td><div class=\"bar%s\" "
                    "style=\"width:%.1f%%\"></div>",
                    share < 0 ? " chosen" : "", (share < 0 ? -share : share) * 100);
    } else {
        cf_report_html(out, cf_str_from(row->why != NULL ? row->why : ""));
        cf_buf_adds(out, "</td><td>");
    }
    cf_buf_adds(out, "</td><td><code>");
    size_t n = cf_utf8_copy(line, sizeof line, row->part.text);
    cf_report_html(out, cf_str_make(line, n));
    cf_buf_adds(out,
                n < row->part.text.n ? "\xe2\x80\xa6</code></td></tr>\n" : "</code></td></tr>\n");
    cf_buf_deinit(&label);
}

static void put_influence(cf_buf *out, const cf_report_facts *f)
{
    size_t *order;
    double most;
    size_t n = cf_report__influence(f, &order, &most);
    if (!f->from.influences || f->turn == NULL) {
        return;
    }
    put_section(out, "Influence",
                "how the reply's log-likelihood changes without a part, in "
                "nats; below zero the part made it more likely");
    if (!f->has_influence) {
        cf_buf_adds(out, "<p class=note>");
        cf_report_html(out, cf_str_from(f->influence_why.text));
        cf_buf_adds(out, "</p>\n");
    } else {
        cf_buf_adds(out, "<div class=box>\n<table>\n<tr><th>part</th>"
                         "<th>change</th><th class=wide></th><th>text</th>"
                         "</tr>\n");
        for (size_t i = 0; i < n; i++) {
            put_influence_row(out, f, &f->influence.row[order[i]], most);
        }
        cf_buf_adds(out, "</table>\n</div>\n");
    }
    cf_buf_adds(out, "</section>\n");
    cf_free(order);
}

/* ---- what else made it -------------------------------------------------- */

static void put_details(cf_buf *out, const char *name, cf_str text)
{
    if (text.n == 0) {
        return;
    }
    cf_buf_adds(out, "<details><summary>");
    cf_report_html(out, cf_str_from(name));
    cf_buf_adds(out, "</summary><div class=box><pre>");
    cf_report_html(out, text);
    cf_buf_adds(out, "</pre></div></details>\n");
}

/* The template with its lines numbered, which tokens refer to. */
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

static void put_sources(cf_buf *out, const cf_report_facts *f)
{
    cf_buf text = CF_BUF_INIT;
    number_lines(&text, f->from.template_source);
    put_details(out, "The template", cf_buf_str(&text));
    cf_buf_reset(&text);
    json_t *tools = cf_tool_set_openai(cf_conversation_tools(f->from.conv));
    for (size_t i = 0; i < json_array_size(tools); i++) {
        cf_json_write_spaced(&text, json_array_get(tools, i));
        cf_buf_addc(&text, '\n');
    }
    json_decref(tools);
    put_details(out, "The tools, as JSON", cf_buf_str(&text));
    if (f->has_run) {
        put_details(out, "The options of the run, as JSON", f->stored.run->options);
        put_details(out, "The reply, byte by byte", f->stored.run->raw);
    }
    out->failed = out->failed || text.failed;
    cf_buf_deinit(&text);
}

void cf_report__html(cf_buf *out, const cf_report_facts *f, cf_report_part part)
{
    static const cf_report_section sections[] = {
        {CF_REPORT_CONVERSATION, put_conversation}, {CF_REPORT_PROMPT, cf_report__html_prompt},
        {CF_REPORT_REPLY, cf_report__html_reply},   {CF_REPORT_CALLS, cf_report__html_calls},
        {CF_REPORT_DIFFERENCES, put_differences},   {CF_REPORT_INFLUENCE, put_influence}};
    put_head(out, f);
    if (part == CF_REPORT_ALL) {
        put_nav(out, f);
    }
    cf_buf_adds(out, "</header>\n");
    put_cards(out, f);
    put_figures(out, f);
    cf_report__sections(out, f, part, sections, sizeof sections / sizeof sections[0]);
    if (part == CF_REPORT_ALL) {
        put_sources(out, f);
    }
    cf_buf_adds(out, "<footer>written by confab " CF_VERSION
                     "; hover over a token for its origin, its probability "
                     "and the alternatives</footer>\n</body>\n</html>\n");
}
