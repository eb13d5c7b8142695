/*
 * report_md.c - a report as Markdown: what a page shows, without hovering.
 */
#include "core/base/alloc.h"
#include "core/base/version.h"
#include "tui/page/report_text.h"
#include "tui/study/report/report_impl.h"

static void put_heading(cf_buf *out, const char *name)
{
    cf_buf_addf(out, "## %s\n\n", name);
}

static void put_figures(cf_buf *out, const cf_report_facts *f)
{
    cf_report_figure v[CF_REPORT_FIGURES];
    size_t n = cf_report__figures(f, v);
    cf_buf_adds(out, "| | |\n| --- | --- |\n");
    for (size_t i = 0; i < n; i++) {
        cf_buf_addf(out, "| %s | ", v[i].name);
        cf_report_md_line(out, cf_str_from(v[i].value));
        cf_buf_adds(out, " |\n");
    }
    cf_buf_addc(out, '\n');
}

static void put_message(cf_buf *out, const json_t *message, const char *note)
{
    cf_buf text = CF_BUF_INIT;
    cf_buf_adds(out, "**");
    cf_report_md_line(out, cf_json_get_str(message, "role"));
    cf_buf_addf(out, "**%s\n\n", note);
    cf_report__message(&text, message);
    cf_report_md_block(out, "text", cf_buf_str(&text));
    cf_buf_deinit(&text);
}

static void put_conversation(cf_buf *out, const cf_report_facts *f)
{
    const json_t *before = cf_conversation_preface(f->from.conv)->messages;
    put_heading(out, "Conversation");
    if (f->n_path == 0 || !cf_turn_is_system(f->path[0])) {
        for (size_t i = 0; i < json_array_size(before); i++) {
            put_message(out, json_array_get(before, i), "");
        }
    }
    for (size_t i = 0; i < f->n_path; i++) {
        put_message(out, f->path[i]->message, f->path[i] == f->turn ? " (this reply)" : "");
    }
    if (f->losses.n > 0) {
        cf_buf_adds(out, "Not in the prompt:\n\n");
        cf_report_md_block(out, "text", cf_buf_str(&f->losses));
    }
}

static void put_prompt(cf_buf *out, const cf_report_facts *f)
{
    const cf_prompt_model *m = &f->prompt;
    put_heading(out, "Prompt");
    if (!f->has_prompt) {
        cf_report_md_line(out, cf_str_from(f->prompt_why.text));
        cf_buf_adds(out, "\n\n");
        return;
    }
    if (m->n > 0) {
        cf_buf_addf(out, "%zu tokens", m->n);
        if (f->cache != CF_REPORT_CACHE_NONE) {
            cf_buf_addf(out, ", %zu from the cache", m->n_kept);
        }
        cf_buf_adds(out, ".\n\n| part | tokens | from the cache |\n"
                         "| --- | ---: | ---: |\n");
        for (size_t i = 0; i < m->n_part; i++) {
            cf_buf title = CF_BUF_INIT;
            cf_report__part_title(&title, f, m->part[i].message);
            cf_buf_adds(out, "| ");
            cf_report_md_line(out, cf_buf_str(&title));
            cf_buf_addf(out, " | %zu | %zu |\n", m->part[i].n_tokens, m->part[i].n_kept);
            cf_buf_deinit(&title);
        }
        cf_buf_addc(out, '\n');
    }
    cf_report_md_block(out, "text", m->prompt.text);
}

static void put_alternatives(cf_buf *out, const cf_report_facts *f, size_t i)
{
    enum { SHOWN = 4 };
    cf_buf text = CF_BUF_INIT;
    double p;
    bool is_chosen;
    for (size_t k = 0; k < SHOWN && cf_report__candidate(f, i, k, &text, &p, &is_chosen); k++) {
        cf_buf_adds(out, k > 0 ? ", " : "");
        cf_report_md_line(out, cf_buf_str(&text));
        cf_buf_addf(out, " %.4f", p);
        cf_buf_reset(&text);
    }
    cf_buf_deinit(&text);
}

static void put_worst(cf_buf *out, const cf_report_facts *f)
{
    enum { SHOWN = 16 };
    size_t v[SHOWN];
    size_t n = cf_report__worst(f, v, SHOWN);
    if (n == 0) {
        return;
    }
    cf_buf_adds(out, "Where it was least certain:\n\n| token | text | "
                     "probability | alternatives |\n| ---: | --- | ---: | --- "
                     "|\n");
    for (size_t i = 0; i < n; i++) {
        cf_buf_addf(out, "| %zu | ", v[i] + 1);
        cf_report_md_line(out, cf_reply_token_text(f->reply, v[i]));
        cf_buf_addf(out, " | %.4f | ", cf_report__p(f, v[i]));
        put_alternatives(out, f, v[i]);
        cf_buf_adds(out, " |\n");
    }
    cf_buf_addc(out, '\n');
}

static void put_reply(cf_buf *out, const cf_report_facts *f)
{
    put_heading(out, "Reply");
    if (f->turn == NULL) {
        cf_buf_adds(out, "The path has no reply.\n\n");
        return;
    }
    if (f->reply->raw.n > 0) {
        cf_report_md_block(out, "text", cf_buf_str(&f->reply->raw));
    } else {
        put_message(out, f->turn->message, "");
    }
    if (f->is_read) {
        cf_buf_adds(out, "Probabilities are those of the model at hand.\n\n");
    }
    put_worst(out, f);
}

static void put_calls(cf_buf *out, const cf_report_facts *f)
{
    put_heading(out, "Calls");
    for (size_t i = 0; i < f->calls.n_row; i++) {
        const cf_call_row *row = &f->calls.row[i];
        const cf_tool_call *c = cf_tool_model_call(&f->calls, row);
        cf_buf_adds(out, "### ");
        cf_report_md_line(out, c != NULL ? c->name
                                         : cf_str_from("a call that does not "
                                                       "parse"));
        cf_buf_adds(out, "\n\n");
        for (int s = 0; s < CF_STAGE_COUNT; s++) {
            cf_buf text = CF_BUF_INIT;
            cf_buf_addf(out, "%s: %s\n\n", cf_report__stages[s],
                        cf_report__outcome((cf_outcome)row->outcome[s]));
            cf_report__stage(&text, f, row, (cf_stage)s);
            cf_report_md_block(out, "text", cf_buf_str(&text));
            cf_buf_deinit(&text);
        }
    }
    cf_buf_adds(out, f->calls.n_row == 0 ? "There are none.\n\n" : "");
}

static void put_diff_line(cf_buf *to, const cf_diff_side *side, uint32_t unit, char sign)
{
    if (unit != CF_DIFF_NONE) {
        cf_str text = cf_diff_text_of(side, unit);
        cf_buf_addc(to, sign);
        cf_buf_add(to, text.p, text.n);
        cf_buf_addc(to, '\n');
    }
}

static void put_differences(cf_buf *out, const cf_report_facts *f)
{
    put_heading(out, "Differences");
    for (size_t i = 0; i < f->n_sibling; i++) {
        const cf_diff *d = &f->sibling[i].diff;
        char id[CF_UUID_TEXT + 1];
        cf_buf text = CF_BUF_INIT;
        cf_uuid_format(id, f->sibling[i].turn->id);
        cf_buf_addf(out, "From %s:\n\n", id);
        for (size_t k = 0; k < d->n_rows; k++) {
            const cf_diff_row *r = &d->rows[k];
            bool is_kept = r->kind == CF_DIFF_KEPT;
            if (!is_kept) {
                put_diff_line(&text, &d->a, r->a, '-');
            }
            put_diff_line(&text, &d->b, r->b, is_kept ? ' ' : '+');
        }
        cf_report_md_block(out, "diff", cf_buf_str(&text));
        cf_buf_deinit(&text);
    }
    cf_buf_adds(out, f->n_sibling == 0 ? "There are no other replies.\n\n" : "");
}

static void put_influence(cf_buf *out, const cf_report_facts *f)
{
    size_t *order;
    double most;
    size_t n = cf_report__influence(f, &order, &most);
    if (!f->from.influences || f->turn == NULL) {
        return;
    }
    put_heading(out, "Influence");
    if (!f->has_influence) {
        cf_report_md_line(out, cf_str_from(f->influence_why.text));
        cf_buf_adds(out, "\n\n");
    }
    for (size_t i = 0; i < n; i++) {
        const cf_influence_row *row = &f->influence.row[order[i]];
        cf_buf label = CF_BUF_INIT;
        cf_report__influence_label(&label, f, &row->part);
        cf_buf_adds(out, i == 0 ? "| part | change of the reply's "
                                  "log-likelihood without it, in nats |\n"
                                  "| --- | ---: |\n"
                                : "");
        cf_buf_adds(out, "| ");
        cf_report_md_line(out, cf_buf_str(&label));
        if (row->has_delta) {
            cf_buf_addf(out, " | %+.3f |\n", row->delta);
        } else {
            cf_buf_adds(out, " | |\n");
        }
        cf_buf_deinit(&label);
    }
    cf_buf_adds(out, n > 0 ? "\n" : "");
    cf_free(order);
}

void cf_report__markdown(cf_buf *out, const cf_report_facts *f, cf_report_part part)
{
    static const cf_report_section sections[] = {{CF_REPORT_CONVERSATION, put_conversation},
                                                 {CF_REPORT_PROMPT, put_prompt},
                                                 {CF_REPORT_REPLY, put_reply},
                                                 {CF_REPORT_CALLS, put_calls},
                                                 {CF_REPORT_DIFFERENCES, put_differences},
                                                 {CF_REPORT_INFLUENCE, put_influence}};
    cf_buf title = CF_BUF_INIT;
    cf_buf_adds(out, "# ");
    cf_report__title(&title, f);
    cf_report_md_line(out, cf_buf_str(&title));
    cf_buf_deinit(&title);
    cf_buf_adds(out, "\n\nReport by confab " CF_VERSION ".\n\n");
    put_figures(out, f);
    cf_report__sections(out, f, part, sections, sizeof sections / sizeof sections[0]);
}
