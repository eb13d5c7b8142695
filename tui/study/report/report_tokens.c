/*
 * report_tokens.c - the sections of a report that show tokens and calls.
 */
#include "tui/study/report/report_impl.h"

static void begin(cf_page *p, cf_page_kind kind)
{
    cf_page_begin(p, kind, CF_LOOK_PLAIN, cf_str_from(""));
}

/* Adds a tip to the run added last. */
static void add_tip(cf_page *p, cf_buf *tip)
{
    cf_page_add_note(p, cf_buf_str(tip));
    p->text.failed = p->text.failed || tip->failed;
    cf_buf_reset(tip);
}

static void put_key(cf_page *p, cf_look look, int flags, const char *text)
{
    begin(p, CF_PAGE_KEY);
    cf_page_run(p, look, cf_str_from(text));
    cf_page_flags(p, flags);
    cf_page_end(p, CF_PAGE_KEY);
}

void cf_report__headings(cf_page *p, const char *const *names)
{
    begin(p, CF_PAGE_ROW);
    for (; *names != NULL; names++) {
        bool is_wide = **names == '*', is_number = **names == '#';
        cf_page_kind kind = is_wide ? CF_PAGE_WIDE_HEADING : CF_PAGE_HEADING;
        cf_page_begin(p, kind, is_number ? CF_LOOK_NUMBER : CF_LOOK_PLAIN, cf_str_from(""));
        cf_page_run(p, CF_LOOK_PLAIN, cf_str_from(*names + (is_wide || is_number)));
        cf_page_end(p, kind);
    }
    cf_page_end(p, CF_PAGE_ROW);
}

/* ---- prompt ------------------------------------------------------------- */

static void put_prompt_legend(cf_page *p, const cf_report_facts *f)
{
    begin(p, CF_PAGE_LEGEND);
    for (int i = CF_SPAN_TEMPLATE; i <= CF_SPAN_COMPUTED; i++) {
        put_key(p, (cf_look)(CF_LOOK_SOURCE + i), 0, cf_span_source_name((cf_span_source)i));
    }
    if (f->cache != CF_REPORT_CACHE_NONE) {
        put_key(p, CF_LOOK_TOKEN, CF_TOKEN_KEPT, "in the cache");
    }
    if (f->cache != CF_REPORT_CACHE_NONE && f->prompt.has_break) {
        put_key(p, CF_LOOK_TOKEN, CF_TOKEN_BREAK, "the cache has another token");
    }
    cf_page_end(p, CF_PAGE_LEGEND);
}

static void put_token(cf_page *p, const cf_report_facts *f, size_t i, cf_buf *tip)
{
    const cf_prompt_token *t = &f->prompt.token[i];
    const cf_prompt *prompt = &f->prompt.prompt;
    int source = t->span < prompt->n_spans ? (int)prompt->spans[t->span].source : 0;
    bool knows = f->cache != CF_REPORT_CACHE_NONE;
    cf_page_run(p, (cf_look)(CF_LOOK_SOURCE + source), cf_prompt_model_text(&f->prompt, i));
    cf_page_flags(p, (t->is_special ? CF_TOKEN_SPECIAL : 0) |
                         (knows && t->reuse == CF_REUSE_KEPT ? CF_TOKEN_KEPT : 0) |
                         (knows && t->reuse == CF_REUSE_BREAK ? CF_TOKEN_BREAK : 0));
    cf_report__prompt_tip(tip, f, i);
    add_tip(p, tip);
}

static void put_part(cf_page *p, const cf_report_facts *f, const cf_prompt_part *part, cf_buf *tip)
{
    cf_report__part_title(tip, f, part->message);
    cf_page_begin(p, CF_PAGE_PART, part->is_lost ? CF_LOOK_LOST : CF_LOOK_PLAIN, cf_buf_str(tip));
    cf_buf_reset(tip);
    cf_page_note(p, "%zu token%s", part->n_tokens, part->n_tokens == 1 ? "" : "s");
    if (f->cache != CF_REPORT_CACHE_NONE) {
        cf_page_note(p, ", %zu from the cache", part->n_kept);
    }
    cf_page_note(p, "%s", part->is_lost ? ", nothing of its text" : "");
    begin(p, CF_PAGE_PRE);
    for (size_t i = 0; i < part->n_tokens; i++) {
        put_token(p, f, part->first + i, tip);
    }
    cf_page_end(p, CF_PAGE_PRE);
    cf_page_end(p, CF_PAGE_PART);
}

/* A prompt without tokens: its spans. */
static void put_spans(cf_page *p, const cf_report_facts *f, cf_buf *tip)
{
    const cf_prompt *prompt = &f->prompt.prompt;
    begin(p, CF_PAGE_PRE);
    for (size_t i = 0; i < prompt->n_spans; i++) {
        const cf_prompt_span *s = &prompt->spans[i];
        cf_page_run(p, (cf_look)(CF_LOOK_SOURCE + (int)s->source),
                    cf_str_make(prompt->text.p + s->off, s->len));
        cf_buf_addf(tip, "%s ", cf_span_source_name(s->source));
        cf_buf_add(tip, s->path.p, s->path.n);
        cf_buf_addf(tip, "\ntemplate line %u:%u", (unsigned)s->line, (unsigned)s->col);
        add_tip(p, tip);
    }
    if (prompt->n_spans == 0) {
        cf_page_run(p, CF_LOOK_PLAIN, prompt->text);
    }
    cf_page_end(p, CF_PAGE_PRE);
}

void cf_report__prompt(cf_page *p, const cf_report_facts *f)
{
    static const char *const about[] = {
        [CF_REPORT_CACHE_NONE] = "what the model read",
        [CF_REPORT_CACHE_RUN] = "what the model read; the cache as the run found it",
        [CF_REPORT_CACHE_EARLIER] = "what the model reads; the cache as the "
                                    "reply before this one leaves it"};
    cf_buf tip = CF_BUF_INIT;
    cf_report__section(p, "Prompt", about[f->cache]);
    if (!f->has_prompt) {
        begin(p, CF_PAGE_WARNING);
        cf_page_run(p, CF_LOOK_PLAIN, cf_str_from("It cannot be shown: "));
        cf_page_run(p, CF_LOOK_PLAIN, cf_str_from(f->prompt_why.text));
        cf_page_end(p, CF_PAGE_WARNING);
        cf_page_end(p, CF_PAGE_SECTION);
        return;
    }
    put_prompt_legend(p, f);
    begin(p, CF_PAGE_BOX);
    for (size_t i = 0; i < f->prompt.n_part; i++) {
        put_part(p, f, &f->prompt.part[i], &tip);
    }
    if (f->prompt.n == 0) {
        put_spans(p, f, &tip);
    }
    cf_page_end(p, CF_PAGE_BOX);
    cf_page_end(p, CF_PAGE_SECTION);
    p->text.failed = p->text.failed || tip.failed;
    cf_buf_deinit(&tip);
}

/* ---- reply -------------------------------------------------------------- */

static void put_reply_legend(cf_page *p)
{
    static const struct {
        cf_look look;
        double chance;
        const char *text;
    } keys[] = {{CF_LOOK_CHANCE, 0, "unlikely"},
                {CF_LOOK_CHANCE, 0.5, "even"},
                {CF_LOOK_CHANCE, 1, "certain"},
                {CF_LOOK_GIVEN, 0, "given"}};
    begin(p, CF_PAGE_LEGEND);
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        begin(p, CF_PAGE_KEY);
        cf_page_run(p, keys[i].look, cf_str_from(keys[i].text));
        cf_page_share(p, keys[i].chance);
        cf_page_end(p, CF_PAGE_KEY);
    }
    cf_page_end(p, CF_PAGE_LEGEND);
}

static void put_reply_tokens(cf_page *p, const cf_report_facts *f)
{
    cf_buf tip = CF_BUF_INIT;
    put_reply_legend(p);
    begin(p, CF_PAGE_BOX);
    begin(p, CF_PAGE_PRE);
    for (size_t i = 0; i < f->reply->n_token; i++) {
        double chance = cf_report__p(f, i);
        cf_page_run(p,
                    f->reply->token[i].is_forced ? CF_LOOK_GIVEN
                    : chance < 0                 ? CF_LOOK_TOKEN
                                                 : CF_LOOK_CHANCE,
                    cf_reply_token_text(f->reply, i));
        cf_page_share(p, chance < 0 ? 0 : chance);
        cf_report__reply_tip(&tip, f, i);
        add_tip(p, &tip);
    }
    cf_page_end(p, CF_PAGE_PRE);
    cf_page_end(p, CF_PAGE_BOX);
    cf_buf_deinit(&tip);
}

static void put_choices(cf_page *p, const cf_report_facts *f, size_t i)
{
    enum { SHOWN = 5 };
    cf_buf text = CF_BUF_INIT;
    double chance;
    bool is_chosen;
    begin(p, CF_PAGE_CHOICES);
    for (size_t k = 0; k < SHOWN && cf_report__candidate(f, i, k, &text, &chance, &is_chosen);
         k++) {
        double share = chance > 0 && chance <= 1 ? chance : 0;
        begin(p, CF_PAGE_CHOICE);
        cf_page_run(p, is_chosen ? CF_LOOK_CHOSEN : CF_LOOK_CODE, cf_buf_str(&text));
        cf_page_runf(p, CF_LOOK_NUMBER, "%.4f", chance);
        cf_page_run(p, CF_LOOK_BAR, cf_str_from(""));
        cf_page_share(p, is_chosen ? -share : share);
        cf_page_end(p, CF_PAGE_CHOICE);
        cf_buf_reset(&text);
    }
    cf_page_end(p, CF_PAGE_CHOICES);
    p->text.failed = p->text.failed || text.failed;
    cf_buf_deinit(&text);
}

static void put_worst(cf_page *p, const cf_report_facts *f)
{
    enum { SHOWN = 12 };
    size_t v[SHOWN];
    size_t n = cf_report__worst(f, v, SHOWN);
    if (n == 0) {
        return;
    }
    cf_page_begin(p, CF_PAGE_FOLD, CF_LOOK_PLAIN, cf_str_from("Where it was least certain"));
    begin(p, CF_PAGE_TABLE);
    cf_report__headings(
        p, (const char *const[]){"#token", "text", "#probability", "alternatives", NULL});
    for (size_t i = 0; i < n; i++) {
        begin(p, CF_PAGE_ROW);
        begin(p, CF_PAGE_CELL);
        cf_page_runf(p, CF_LOOK_PLAIN, "%zu", v[i] + 1);
        cf_page_end(p, CF_PAGE_CELL);
        cf_page_say(p, CF_PAGE_CELL, CF_LOOK_CODE, cf_reply_token_text(f->reply, v[i]));
        begin(p, CF_PAGE_CELL);
        cf_page_runf(p, CF_LOOK_PLAIN, "%.4f", cf_report__p(f, v[i]));
        cf_page_end(p, CF_PAGE_CELL);
        begin(p, CF_PAGE_CELL);
        put_choices(p, f, v[i]);
        cf_page_end(p, CF_PAGE_CELL);
        cf_page_end(p, CF_PAGE_ROW);
    }
    cf_page_end(p, CF_PAGE_TABLE);
    cf_page_end(p, CF_PAGE_FOLD);
}

void cf_report__reply(cf_page *p, const cf_report_facts *f)
{
    cf_report__section(p, "Reply",
                       f->turn == NULL ? "none"
                       : f->is_read    ? "token by token, as the model at hand reads it"
                                       : "token by token, shaded by probability");
    if (f->turn == NULL) {
        cf_report__remark(p, "The path has no reply.");
    } else if (f->reply->n_token > 0) {
        put_reply_tokens(p, f);
        put_worst(p, f);
    } else {
        begin(p, CF_PAGE_BOX);
        cf_report__text(p, f->turn->message);
        cf_page_end(p, CF_PAGE_BOX);
        cf_report__remark(p, "Its tokens are not known.");
    }
    cf_page_end(p, CF_PAGE_SECTION);
}

/* ---- calls -------------------------------------------------------------- */

static void put_stage(cf_page *p, const cf_report_facts *f, const cf_call_row *row, cf_stage stage)
{
    static const cf_look looks[] = {[CF_OUTCOME_NONE] = CF_LOOK_NONE,
                                    [CF_OUTCOME_OK] = CF_LOOK_OK,
                                    [CF_OUTCOME_FAIL] = CF_LOOK_FAILED,
                                    [CF_OUTCOME_WAITS] = CF_LOOK_WAITING};
    cf_buf text = CF_BUF_INIT;
    cf_page_begin(p, CF_PAGE_STAGE, looks[row->outcome[stage]],
                  cf_str_from(cf_stage_titles[stage]));
    cf_page_note(p, "%s", cf_report__outcome((cf_outcome)row->outcome[stage]));
    cf_report__stage(&text, f, row, stage);
    cf_page_say(p, CF_PAGE_PRE, CF_LOOK_PLAIN, cf_buf_str(&text));
    cf_page_end(p, CF_PAGE_STAGE);
    p->text.failed = p->text.failed || text.failed;
    cf_buf_deinit(&text);
}

void cf_report__calls(cf_page *p, const cf_report_facts *f)
{
    cf_report__section(p, "Calls", "how far each came");
    for (size_t i = 0; i < f->calls.n_row; i++) {
        const cf_call_row *row = &f->calls.row[i];
        const cf_tool_call *c = cf_tool_model_call(&f->calls, row);
        cf_page_begin(p, CF_PAGE_BOX, CF_LOOK_PLAIN,
                      c != NULL ? c->name : cf_str_from("a call that does not parse"));
        cf_page_note(p, "turn %zu", f->calls.reply[row->reply].turn + 1);
        begin(p, CF_PAGE_STAGES);
        for (int s = 0; s < CF_STAGE_COUNT; s++) {
            put_stage(p, f, row, (cf_stage)s);
        }
        cf_page_end(p, CF_PAGE_STAGES);
        cf_page_end(p, CF_PAGE_BOX);
    }
    if (f->calls.n_row == 0) {
        cf_report__remark(p, "There are none.");
    }
    cf_page_end(p, CF_PAGE_SECTION);
}
