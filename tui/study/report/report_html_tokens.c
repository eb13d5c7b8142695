/*
 * report_html_tokens.c - the sections of the page that show tokens and calls.
 */
#include <math.h>

#include "tui/page/report_text.h"
#include "tui/study/report/report_impl.h"

static void put_tip(cf_buf *out, cf_buf *tip)
{
    cf_buf_adds(out, " data-tip=\"");
    cf_report_attr(out, cf_buf_str(tip));
    cf_buf_adds(out, "\">");
    out->failed = out->failed || tip->failed;
    cf_buf_reset(tip);
}

/* ---- prompt ------------------------------------------------------------- */

static void put_legend(cf_buf *out, const cf_report_facts *f)
{
    static const cf_span_source sources[] = {CF_SPAN_TEMPLATE, CF_SPAN_MESSAGE, CF_SPAN_TOOL,
                                             CF_SPAN_VARIABLE, CF_SPAN_COMPUTED};
    cf_buf_adds(out, "<div class=legend>");
    for (size_t i = 0; i < sizeof sources / sizeof sources[0]; i++) {
        cf_buf_addf(out, "<span><span class=\"t s%d\">%s</span></span>", (int)sources[i],
                    cf_span_source_name(sources[i]));
    }
    if (f->cache != CF_REPORT_CACHE_NONE) {
        cf_buf_adds(out, "<span><span class=\"t k\">in the cache</span>"
                         "</span>");
    }
    if (f->cache != CF_REPORT_CACHE_NONE && f->prompt.has_break) {
        cf_buf_adds(out, "<span><span class=\"t br\">the cache has another "
                         "token</span></span>");
    }
    cf_buf_adds(out, "</div>\n");
}

static void put_token(cf_buf *out, const cf_report_facts *f, size_t i, cf_buf *tip)
{
    const cf_prompt_token *t = &f->prompt.token[i];
    const cf_prompt *p = &f->prompt.prompt;
    int source = t->span < p->n_spans ? (int)p->spans[t->span].source : 0;
    bool knows = f->cache != CF_REPORT_CACHE_NONE;
    cf_buf_addf(out, "<i class=\"t s%d%s%s%s\"", source, t->is_special ? " sp" : "",
                knows && t->reuse == CF_REUSE_KEPT ? " k" : "",
                knows && t->reuse == CF_REUSE_BREAK ? " br" : "");
    cf_report__prompt_tip(tip, f, i);
    put_tip(out, tip);
    cf_report_html_token(out, cf_prompt_model_text(&f->prompt, i));
    cf_buf_adds(out, "</i>");
}

static void put_part(cf_buf *out, const cf_report_facts *f, const cf_prompt_part *part, cf_buf *tip)
{
    cf_buf title = CF_BUF_INIT;
    cf_report__part_title(&title, f, part->message);
    cf_buf_addf(out, "<div class=\"part%s\">\n<h3>", part->is_lost ? " lost" : "");
    cf_report_html(out, cf_buf_str(&title));
    cf_buf_addf(out, " <small>%zu token%s", part->n_tokens, part->n_tokens == 1 ? "" : "s");
    if (f->cache != CF_REPORT_CACHE_NONE) {
        cf_buf_addf(out, ", %zu from the cache", part->n_kept);
    }
    cf_buf_adds(out, part->is_lost ? ", nothing of its text" : "");
    cf_buf_adds(out, "</small></h3>\n<pre>");
    for (size_t i = 0; i < part->n_tokens; i++) {
        put_token(out, f, part->first + i, tip);
    }
    cf_buf_adds(out, "</pre>\n</div>\n");
    cf_buf_deinit(&title);
}

/* A prompt without tokens: its spans. */
static void put_spans(cf_buf *out, const cf_report_facts *f, cf_buf *tip)
{
    const cf_prompt *p = &f->prompt.prompt;
    cf_buf_adds(out, "<pre>");
    for (size_t i = 0; i < p->n_spans; i++) {
        const cf_prompt_span *s = &p->spans[i];
        cf_buf_addf(out, "<i class=\"t s%d\"", (int)s->source);
        cf_buf_addf(tip, "%s ", cf_span_source_name(s->source));
        cf_buf_add(tip, s->path.p, s->path.n);
        cf_buf_addf(tip, "\ntemplate line %u:%u", (unsigned)s->line, (unsigned)s->col);
        put_tip(out, tip);
        cf_report_html_token(out, cf_str_make(p->text.p + s->off, s->len));
        cf_buf_adds(out, "</i>");
    }
    if (p->n_spans == 0) {
        cf_report_html_token(out, p->text);
    }
    cf_buf_adds(out, "</pre>\n");
}

void cf_report__html_prompt(cf_buf *out, const cf_report_facts *f)
{
    static const char *const about[] = {
        [CF_REPORT_CACHE_NONE] = "what the model read",
        [CF_REPORT_CACHE_RUN] = "what the model read; the cache as the run found it",
        [CF_REPORT_CACHE_EARLIER] = "what the model reads; the cache as the "
                                    "reply before this one leaves it"};
    cf_buf tip = CF_BUF_INIT;
    cf_buf_addf(out, "<section id=Prompt>\n<h2>Prompt <small>%s</small></h2>\n", about[f->cache]);
    if (!f->has_prompt) {
        cf_buf_adds(out, "<p class=note>It cannot be shown: ");
        cf_report_html(out, cf_str_from(f->prompt_why.text));
        cf_buf_adds(out, "</p>\n</section>\n");
        return;
    }
    put_legend(out, f);
    cf_buf_adds(out, "<div class=box>\n");
    for (size_t i = 0; i < f->prompt.n_part; i++) {
        put_part(out, f, &f->prompt.part[i], &tip);
    }
    if (f->prompt.n == 0) {
        put_spans(out, f, &tip);
    }
    cf_buf_adds(out, "</div>\n</section>\n");
    cf_buf_deinit(&tip);
}

/* ---- reply -------------------------------------------------------------- */

/* Ten shades; "" where nothing is known. */
static void put_shade(cf_buf *out, const cf_report_facts *f, size_t i)
{
    double p = cf_report__p(f, i);
    if (f->reply->token[i].is_forced) {
        cf_buf_adds(out, " given");
    } else if (p >= 0) {
        int shade = (int)(p * 10);
        cf_buf_addf(out, " q%d", shade > 9 ? 9 : shade);
    }
}

static void put_reply_tokens(cf_buf *out, const cf_report_facts *f)
{
    cf_buf tip = CF_BUF_INIT;
    cf_buf_adds(out, "<div class=legend><span><span class=\"t q0\">unlikely"
                     "</span></span><span><span class=\"t q5\">even</span>"
                     "</span><span><span class=\"t q9\">certain</span></span>"
                     "<span><span class=\"t given\">given</span></span></div>"
                     "\n<div class=box><pre>");
    for (size_t i = 0; i < f->reply->n_token; i++) {
        cf_buf_adds(out, "<i class=\"t");
        put_shade(out, f, i);
        cf_buf_addc(out, '"');
        cf_report__reply_tip(&tip, f, i);
        put_tip(out, &tip);
        cf_report_html_token(out, cf_reply_token_text(f->reply, i));
        cf_buf_adds(out, "</i>");
    }
    cf_buf_adds(out, "</pre></div>\n");
    cf_buf_deinit(&tip);
}

/* A token in a table, where spaces at its ends would not be seen. */
static void put_cell(cf_buf *out, cf_str text)
{
    size_t from = 0, end = text.n;
    while (from < end && text.p[from] == ' ') {
        from++;
    }
    while (end > from && text.p[end - 1] == ' ') {
        end--;
    }
    for (size_t i = 0; i < text.n; i++) {
        if (i == from) {
            cf_report_html_token(out, cf_str_make(text.p + from, end - from));
            i = end;
        }
        if (i < text.n) {
            cf_buf_adds(out, "<b class=n>\xe2\x90\xa3</b>");
        }
    }
}

static void put_alternatives(cf_buf *out, const cf_report_facts *f, size_t i)
{
    enum { SHOWN = 5 };
    cf_buf text = CF_BUF_INIT;
    double p;
    bool is_chosen;
    cf_buf_adds(out, "<div class=alts>");
    for (size_t k = 0; k < SHOWN && cf_report__candidate(f, i, k, &text, &p, &is_chosen); k++) {
        double width = p > 0 && p <= 1 ? p * 100 : 0;
        cf_buf_adds(out, is_chosen ? "<code><b>" : "<code>");
        put_cell(out, cf_buf_str(&text));
        cf_buf_addf(out,
                    "%s</code><span>%.4f</span><span class=\"bar%s\" "
                    "style=\"width:%.1f%%\"></span>",
                    is_chosen ? "</b>" : "", p, is_chosen ? " chosen" : "", width);
        cf_buf_reset(&text);
    }
    cf_buf_adds(out, "</div>");
    cf_buf_deinit(&text);
}

static void put_worst(cf_buf *out, const cf_report_facts *f)
{
    enum { SHOWN = 8 };
    size_t v[SHOWN];
    size_t n = cf_report__worst(f, v, SHOWN);
    if (n == 0) {
        return;
    }
    cf_buf_adds(out, "<details open><summary>where it was least certain"
                     "</summary><div class=box>\n<table>\n<tr><th>token</th>"
                     "<th>text</th><th>alternatives</th></tr>\n");
    for (size_t i = 0; i < n; i++) {
        cf_buf_addf(out, "<tr><td>%zu</td><td><code>", v[i] + 1);
        put_cell(out, cf_reply_token_text(f->reply, v[i]));
        cf_buf_adds(out, "</code></td><td>");
        put_alternatives(out, f, v[i]);
        cf_buf_adds(out, "</td></tr>\n");
    }
    cf_buf_adds(out, "</table>\n</div></details>\n");
}

void cf_report__html_reply(cf_buf *out, const cf_report_facts *f)
{
    cf_buf_addf(out, "<section id=Reply>\n<h2>Reply <small>%s</small></h2>\n",
                f->turn == NULL ? "none"
                : f->is_read    ? "token by token, as the model at hand reads it"
                                : "token by token, shaded by probability");
    if (f->turn == NULL) {
        cf_buf_adds(out, "<p class=dim>The path has no reply.</p>\n");
    } else if (f->reply->n_token > 0) {
        put_reply_tokens(out, f);
        put_worst(out, f);
    } else {
        cf_buf text = CF_BUF_INIT;
        cf_report__message(&text, f->turn->message);
        cf_buf_adds(out, "<div class=\"box text\">");
        cf_report_html(out, cf_buf_str(&text));
        cf_buf_adds(out, "</div>\n<p class=dim>Its tokens are not known.</p>\n");
        cf_buf_deinit(&text);
    }
    cf_buf_adds(out, "</section>\n");
}

/* ---- calls -------------------------------------------------------------- */

static void put_stage(cf_buf *out, const cf_report_facts *f, const cf_call_row *row, cf_stage stage)
{
    cf_buf text = CF_BUF_INIT;
    const char *outcome = cf_report__outcome((cf_outcome)row->outcome[stage]);
    cf_buf_addf(out, "<div class=\"stage %s\"><h3>%s <small>%s</small></h3>", outcome,
                cf_report__stages[stage], outcome);
    cf_report__stage(&text, f, row, stage);
    cf_buf_adds(out, "<pre>");
    cf_report_html(out, cf_buf_str(&text));
    cf_buf_adds(out, "</pre></div>\n");
    out->failed = out->failed || text.failed;
    cf_buf_deinit(&text);
}

void cf_report__html_calls(cf_buf *out, const cf_report_facts *f)
{
    cf_buf_adds(out, "<section id=Calls>\n<h2>Calls <small>how far each came"
                     "</small></h2>\n");
    for (size_t i = 0; i < f->calls.n_row; i++) {
        const cf_call_row *row = &f->calls.row[i];
        const cf_tool_call *c = cf_tool_model_call(&f->calls, row);
        cf_buf_adds(out, "<div class=box>\n<h3>");
        cf_report_html(out, c != NULL ? c->name
                                      : cf_str_from("a call that does not "
                                                    "parse"));
        cf_buf_addf(out, " <small>turn %zu</small></h3>\n<div class=stages>\n",
                    f->calls.reply[row->reply].turn + 1);
        for (int s = 0; s < CF_STAGE_COUNT; s++) {
            put_stage(out, f, row, (cf_stage)s);
        }
        cf_buf_adds(out, "</div>\n</div>\n");
    }
    if (f->calls.n_row == 0) {
        cf_buf_adds(out, "<p class=dim>There are none.</p>\n");
    }
    cf_buf_adds(out, "</section>\n");
}
