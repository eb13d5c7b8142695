/*
 * diff_survey.c - one conversation after the other with both templates.
 */
#include "tui/lab/compare/diff_survey.h"
#include "tui/lab/state/lab_task.h"
#include "tui/lab/talk/lab_conversation.h"
#include "tui/lab/talk/lab_template.h"

#include <stdio.h>
#include <string.h>

#include "core/base/alloc.h"

enum { PAGE = 5000 };

typedef struct cf_survey_job {
    cf_diff_pair pair; /* it must not move */
    cf_scorer scorer;
    cf_tool_family family[2];
    cf_diff_level level;
    bool has_scores;
    cf_uuid *id; /* [n], owned */
    size_t n;
    cf_store *store;
    /* Copies of the workbench's: the tools for conversations that do not say
     * theirs, and its own conversation with its variables; may be NULL. */
    json_t *tools;
    cf_conversation *current; /* the one at hand, where it is compared; NULL: it is not */
    cf_uuid current_id;
    json_t *vars;
    cf_lab *lab;
    cf_survey *to; /* the interface thread's */
    cf_arena arena;
} job_state;

static void free_job(void *ud)
{
    job_state *j = ud;
    cf_scorer_deinit(&j->scorer);
    cf_diff_pair_close(&j->pair);
    cf_arena_deinit(&j->arena);
    cf_conversation_free(j->current);
    json_decref(j->tools);
    json_decref(j->vars);
    cf_free(j->id);
    cf_free(j);
}

void cf_survey_deinit(cf_survey *s)
{
    if (s->is_on) {
        cf_lab_end_task(s->lab, s->job);
    }
    cf_free(s->row);
    memset(s, 0, sizeof *s);
}

/* ---- one conversation, on the worker's thread --------------------------- */

/* Kept in order, each once. */
static void add_line(cf_survey_row *row, int side, uint32_t line)
{
    uint32_t *v = row->line[side];
    size_t *n = &row->n_line[side];
    size_t at = 0;
    while (at < *n && v[at] < line) {
        at++;
    }
    if (line == 0 || (at < *n && v[at] == line)) {
        return;
    }
    if (*n == CF_SURVEY_LINES) {
        row->has_more_lines[side] = true;
        return;
    }
    memmove(v + at + 1, v + at, (*n - at) * sizeof *v);
    v[at] = line;
    (*n)++;
}

static void count(cf_survey_row *row, const cf_diff *d)
{
    row->differs = !cf_diff_is_equal(d);
    row->n_removed = d->n_of[CF_DIFF_REMOVED];
    row->n_added = d->n_of[CF_DIFF_ADDED];
    row->n_changed = d->n_of[CF_DIFF_CHANGED];
    for (size_t i = 0; i < d->n_rows; i++) {
        const cf_diff_row *r = &d->rows[i];
        if (r->kind != CF_DIFF_KEPT && r->a != CF_DIFF_NONE) {
            add_line(row, 0, d->a.v[r->a].template_line);
        }
        if (r->kind != CF_DIFF_KEPT && r->b != CF_DIFF_NONE) {
            add_line(row, 1, d->b.v[r->b].template_line);
        }
    }
}

static cf_status compare(job_state *j, const cf_diff_renders *r, cf_survey_row *row, cf_error *err)
{
    const cf_prompt *p = r->prompt;
    cf_token_list tokens[2] = {{NULL, 0}, {NULL, 0}};
    cf_diff d = {.n_rows = 0};
    for (int i = 0; j->pair.tok != NULL && i < 2; i++) {
        CF_TRY(cf_diff_pair_tokens(&j->pair, &p[i], &tokens[i], &j->arena, err));
        row->n_tokens[i] = tokens[i].n;
    }
    if (j->level == CF_DIFF_LEVEL_TOKENS) {
        CF_TRY(cf_diff_tokens(&d, &p[0], &tokens[0], &p[1], &tokens[1], &j->arena, err));
    } else {
        CF_TRY(cf_diff_prompts(&d, &p[0], &p[1], &j->arena, err));
    }
    count(row, &d);
    return CF_OK;
}

/* Counts what a family finds in a reply's bytes. */
static cf_status parse(const cf_conversation *conv, cf_tool_family family, cf_str raw,
                       size_t *n_calls, size_t *n_bad, cf_error *err)
{
    cf_tool_parser *parser;
    const cf_tool_parse *result = NULL;
    CF_TRY(cf_tool_parser_new(&parser, family, cf_conversation_tools(conv), NULL, NULL, err));
    cf_status st = cf_tool_parser_feed(parser, raw.p, raw.n, err);
    CF_THEN(st, cf_tool_parser_finish(parser, &result, err));
    for (size_t i = 0; st == CF_OK && i < result->n_findings; i++) {
        *n_bad += result->findings[i].status != CF_TOOL_VALID;
    }
    *n_calls += st == CF_OK ? result->n_calls : 0;
    cf_tool_parser_free(parser);
    return st;
}

static cf_status count_calls(job_state *j, const cf_conversation *conv, cf_survey_row *row,
                             cf_error *err)
{
    const cf_turn **path;
    size_t n = 0;
    CF_TRY(cf_conversation_path(conv, cf_conversation_head(conv), &j->arena, &path, &n, err));
    for (size_t i = 0; i < n; i++) {
        for (int k = 0; path[i]->raw.n != 0 && k < 2; k++) {
            CF_TRY(parse(conv, j->family[k], path[i]->raw, &row->n_calls[k], &row->n_bad[k], err));
        }
    }
    if (row->n_calls[0] != row->n_calls[1] || row->n_bad[0] != row->n_bad[1]) {
        row->differs = true;
    }
    return CF_OK;
}

/* Counts the calls on the path that a prompt does not have. */
static void count_lost(const json_t *message, size_t index, const cf_diff_renders *r,
                       cf_survey_row *row)
{
    cf_message_call call;
    for (size_t k = 0; cf_message_call_at(&call, message, k); k++) {
        char path[40];
        snprintf(path, sizeof path, ".tool_calls[%zu]", k);
        for (int i = 0; i < 2; i++) {
            row->n_lost[i] +=
                !cf_prompt_shows(&r->prompt[i], CF_SPAN_MESSAGE, index, cf_str_from(path));
        }
    }
}

static cf_status find_lost(job_state *j, const cf_conversation *conv, const cf_diff_renders *r,
                           cf_survey_row *row, cf_error *err)
{
    const cf_turn **path;
    size_t n = 0;
    size_t n_before = json_array_size(cf_conversation_preface(conv)->messages);
    CF_TRY(cf_conversation_path(conv, cf_conversation_head(conv), &j->arena, &path, &n, err));
    for (size_t i = 0; i < n; i++) {
        count_lost(path[i]->message, n_before + i, r, row);
    }
    return CF_OK;
}

static void on_score(void *ud, const cf_reply_score *score, size_t i, size_t n)
{
    (void)i;
    (void)n;
    cf_score_sum_add(ud, score);
}

static void set_failure(cf_survey_row *row, const cf_diff_renders *r)
{
    int bad = r->status[0] != CF_OK ? 0 : 1;
    row->failed = (r->status[0] != CF_OK ? 1 : 0) | (r->status[1] != CF_OK ? 2 : 0);
    row->differs = row->failed != 0 && !cf_diff_renders_fail_alike(r);
    if (row->failed != 0) {
        snprintf(row->why, sizeof row->why, "%.119s", r->err[bad].text);
    }
}

static cf_status render_both(job_state *j, cf_conversation *conv, cf_diff_renders *out,
                             cf_error *err)
{
    const cf_turn_options options = {.extra_context = conv == j->current ? j->vars : NULL};
    const cf_send send = {.options = &options};
    memset(out, 0, sizeof *out);
    for (int i = 0; i < 2; i++) {
        CF_TRY(cf_diff_pair_one(&j->pair, i, conv, &send, out, &j->arena, err));
    }
    return CF_OK;
}

static cf_status look_at(job_state *j, cf_conversation *conv, cf_survey_row *row, cf_error *err)
{
    cf_diff_renders r;
    CF_TRY(render_both(j, conv, &r, err));
    set_failure(row, &r);
    if (row->failed != 0) {
        return CF_OK;
    }
    CF_TRY(compare(j, &r, row, err));
    CF_TRY(count_calls(j, conv, row, err));
    CF_TRY(find_lost(j, conv, &r, row, err));
    if (!j->has_scores) {
        return CF_OK;
    }
    cf_conversation *const both[2] = {conv, conv};
    return cf_scorer_run(&j->scorer, both, NULL, on_score, &row->score, err);
}

static cf_status do_one(job_state *j, cf_uuid id, cf_survey_row *row, cf_error *err)
{
    cf_conversation *conv = NULL;
    cf_arena_reset(&j->arena);
    row->id = id;
    CF_TRY(cf_diff_load(j->store, id, j->tools, &j->arena, &conv, row->title, err));
    bool is_current = j->current != NULL && cf_uuid_eq(id, j->current_id);
    cf_status st = look_at(j, is_current ? j->current : conv, row, err);
    cf_conversation_free(conv);
    return st;
}

/* ---- all of them, on the worker's thread -------------------------------- */

/* Newest first, as the library lists them. */
static cf_status list_all(job_state *j, cf_error *err)
{
    size_t n = PAGE, cap = 0;
    for (size_t offset = 0; n == PAGE; offset += PAGE) {
        const cf_store_query q = {.sort = CF_SORT_UPDATED, .limit = PAGE, .offset = offset};
        const cf_store_conv *rows;
        cf_arena_reset(&j->arena);
        CF_TRY(cf_store_list(j->store, &q, &j->arena, &rows, &n, err));
        if (j->n + n > cap) {
            cap = (j->n + n) * 2;
            cf_uuid *v = cf_realloc(j->id, cap, sizeof *v);
            if (v == NULL) {
                return cf_oom_for(err, "the conversations");
            }
            j->id = v;
        }
        for (size_t i = 0; i < n; i++) {
            j->id[j->n++] = rows[i].id;
        }
    }
    return CF_OK;
}

typedef struct item {
    size_t n_all;
    cf_survey_row row;
} item;

static cf_status run(void *ud, cf_runner *runner, cf_error *err)
{
    job_state *j = ud;
    cf_cancel *cancel = cf_runner_cancel_flag(runner);
    if (j->n == 0) {
        CF_TRY(list_all(j, err));
    }
    for (size_t i = 0; i < j->n; i++) {
        if (atomic_load(cancel)) {
            return cf_fail(err, CF_ECANCELLED, "stopped");
        }
        item *it = cf_calloc(1, sizeof *it);
        cf_error why = {0};
        if (it == NULL) {
            return cf_oom_for(err, "the comparison");
        }
        cf_status st = do_one(j, j->id[i], &it->row, &why);
        if (st == CF_ENOMEM || st == CF_ECANCELLED) {
            cf_free(it);
            *err = why;
            return st;
        }
        if (st != CF_OK) { /* one that cannot be read is reported and left out */
            it->row.failed = 3;
            it->row.differs = st != CF_ENOTFOUND;
            snprintf(it->row.why, sizeof it->row.why, "%.119s", why.text);
        }
        it->n_all = j->n;
        cf_runner_tell(runner, it);
    }
    return CF_OK;
}

/* ---- on the interface thread -------------------------------------------- */

static void add_row(cf_survey *s, const cf_survey_row *row)
{
    if (s->n_row == CF_SURVEY_ROWS) {
        return; /* counted, not listed */
    }
    if (cf_grow(&s->row, &s->cap_row, s->n_row + 1, sizeof *s->row)) {
        s->row[s->n_row++] = *row;
    }
}

static void take(void *ud, void *p)
{
    cf_survey *s = ((job_state *)ud)->to;
    const item *it = p;
    const cf_survey_row *row = &it->row;
    s->n = it->n_all;
    s->n_done++;
    s->n_differ += row->differs;
    s->n_failed += row->failed != 0;
    s->n_lose += row->n_lost[0] + row->n_lost[1] != 0;
    for (int i = 0; i < 2; i++) {
        s->has_calls = s->has_calls || row->n_calls[i] + row->n_bad[i] + row->n_lost[i] != 0;
        s->n_lose_on[i] += row->n_lost[i] != 0;
        s->n_tokens[i] += row->n_tokens[i];
        s->score.n[i] += row->score.n[i];
        s->score.sum[i] += row->score.sum[i];
    }
    s->score.n_replies += row->score.n_replies;
    s->score.n_left_out += row->score.n_left_out;
    bool loses = row->n_lost[0] + row->n_lost[1] != 0;
    if (row->differs || loses || (s->has_scores && row->score.n_replies != 0)) {
        add_row(s, row);
    }
    cf_free(p);
}

static void progress(const void *ud, cf_buf *out)
{
    const cf_survey *s = ((const job_state *)ud)->to;
    cf_buf_addf(out, "%zu of %zu", s->n_done, s->n);
}

static void on_end(void *ud, cf_status status, const cf_error *err)
{
    cf_survey *s = ((job_state *)ud)->to;
    (void)err; /* cf_lab_poll() reports it */
    s->job = NULL;
    s->is_on = false;
    s->was_stopped = status != CF_OK;
}

static cf_status make_job(job_state *j, cf_diff_model *m, const cf_survey_options *o, cf_error *err)
{
    const cf_lab_engine *e = cf_lab_engine_of(m->lab);
    j->lab = m->lab;
    j->store = m->store;
    j->level = o->level;
    j->has_scores = o->scores;
    if (m->store == NULL) {
        return cf_fail(err, CF_ENOTFOUND, "history is off");
    }
    CF_TRY(cf_diff_model_templates(m, &j->pair, err));
    for (int i = 0; i < 2; i++) {
        j->family[i] = cf_lab_tool_family(e, cf_diff_pair_source(&j->pair, i));
    }
    if (o->scores) {
        CF_TRY(cf_scorer_init(&j->scorer, &j->pair, e->backend, cf_lab_cancel_flag(m->lab), err));
        for (int i = 0; i < 2; i++) {
            CF_TRY(cf_diff_model_use_lora(m, i, j->scorer.session[i], err));
        }
    }
    CF_TRY(cf_diff_current_vars(m->lab, &j->vars, err));
    j->current_id = cf_lab_conv_id(m->lab);
    if (cf_diff_is_current(m->lab, j->current_id)) {
        CF_TRY(cf_lab_clone_conv(m->lab, &j->current, err));
    }
    if (e->tools != NULL) {
        j->tools = cf_json_deep_copy(e->tools);
        if (j->tools == NULL) {
            return cf_oom(err);
        }
    }
    if (o->n_id != 0) {
        j->id = cf_calloc(o->n_id, sizeof *j->id);
        if (j->id == NULL) {
            return cf_oom(err);
        }
        memcpy(j->id, o->id, o->n_id * sizeof *j->id);
        j->n = o->n_id;
    }
    return CF_OK;
}

cf_status cf_survey_start(cf_survey *s, cf_diff_model *m, const cf_survey_options *o, cf_error *err)
{
    CF_TRY(cf_lab_need_idle(m->lab, err));
    job_state *j = cf_calloc(1, sizeof *j);
    if (j == NULL) {
        return cf_oom(err);
    }
    cf_arena_init(&j->arena, 0);
    cf_status st = make_job(j, m, o, err);
    if (st != CF_OK) {
        free_job(j);
        return st;
    }
    const cf_task task = {.name = "comparing saved conversations",
                          .run = run,
                          .take = take,
                          .progress = progress,
                          .end = on_end,
                          .drop = free_job,
                          .free_item = cf_free,
                          .ud = j};
    j->to = s;
    st = cf_lab_start_task(m->lab, &task, err); /* drops j where it fails */
    cf_survey_row *row = s->row;
    size_t cap = s->cap_row;
    *s = (cf_survey){.has = st == CF_OK,
                     .is_on = st == CF_OK,
                     .was_swapped = m->is_swapped,
                     .level = o->level,
                     .has_scores = o->scores,
                     .is_ticked = o->n_id != 0,
                     .n = o->n_id,
                     .row = row,
                     .cap_row = cap,
                     .job = st == CF_OK ? j : NULL,
                     .lab = m->lab};
    return st;
}
