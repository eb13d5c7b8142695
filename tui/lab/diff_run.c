/*
 * diff_run.c - one turn answered twice.
 *
 * Both sides run one after the other on one clone of the engine: the second
 * keeps what both prompts begin with.  The draws are a function of the seed
 * and the number of the draw, so neither side disturbs the other.
 */
#include "tui/lab/diff_run.h"
#include "tui/lab/lab_reply.h"
#include "tui/lab/lab_task.h"
#include "tui/lab/lab_template.h"

#include <stdio.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/utf8.h"

typedef struct cf_diff_run_job {
    cf_diff_pair pair; /* it must not move */
    cf_conversation *conv[2];
    cf_uuid parent[2];
    json_t *message, *vars;
    cf_backend *backend;
    cf_turn_options options;
    cf_lab *lab;
    cf_diff_run *run; /* the interface thread's */
    int at;           /* the side that runs */
} job_state;

/* Handed over by the thread: the begin of a side, an event, or its end. */
typedef struct item {
    int side;
    cf_chat_event *event; /* owned; NULL: begin or end */
    bool is_end;
    cf_sent sent; /* of the end, as the next three */
    cf_status status;
    cf_error err;
    cf_tool_family family;
} item;

/* ---- sides -------------------------------------------------------------- */

static void clear_side(cf_run_side *s)
{
    cf_reply_deinit(&s->reply);
    *s = (cf_run_side){.is_begun = false};
}

static void free_job(void *ud)
{
    job_state *j = ud;
    cf_diff_pair_close(&j->pair);
    for (int i = 0; i < 2; i++) {
        cf_conversation_free(j->conv[i]);
    }
    json_decref(j->message);
    json_decref(j->vars);
    cf_backend_free(j->backend);
    cf_free(j);
}

void cf_diff_run_deinit(cf_diff_run *run)
{
    if (run->is_on) {
        cf_lab_end_task(run->lab, run->job);
    }
    for (int i = 0; i < 2; i++) {
        clear_side(&run->side[i]);
    }
    memset(run, 0, sizeof *run);
}

/* ---- where they differ ---------------------------------------------------- */

static bool is_same_token(const cf_reply *a, const cf_reply *b, size_t i)
{
    cf_token x = a->token[i].id, y = b->token[i].id;
    return x != CF_TOKEN_NONE && y != CF_TOKEN_NONE
               ? x == y
               : cf_str_eq(cf_reply_token_text(a, i),
                           cf_reply_token_text(b, i));
}

static void part_by_token(cf_diff_run *run)
{
    const cf_reply *a = &run->side[0].reply, *b = &run->side[1].reply;
    size_t n = 0;
    while (n < a->n_token && n < b->n_token && is_same_token(a, b, n)) {
        n++;
    }
    run->n_same = n;
    run->is_same = n == a->n_token && n == b->n_token;
    for (int i = 0; i < 2; i++) {
        const cf_reply *s = &run->side[i].reply;
        run->first[i].off = n < s->n_token ? s->token[n].raw_off : s->raw.n;
        run->first[i].len = cf_reply_token_text(s, n).n;
    }
}

/* Without tokens: the first character that differs. */
static void part_by_byte(cf_diff_run *run)
{
    cf_str text[2];
    size_t n = 0;
    for (int i = 0; i < 2; i++) {
        text[i] = cf_buf_str(&run->side[i].reply.raw);
    }
    while (n < text[0].n && n < text[1].n && text[0].p[n] == text[1].p[n]) {
        n++;
    }
    n -= cf_utf8_incomplete_tail(text[0].p, n);
    run->is_same = n == text[0].n && n == text[1].n;
    for (int i = 0; i < 2; i++) {
        uint32_t cp;
        run->first[i].off = n;
        run->first[i].len =
            n < text[i].n ? cf_utf8_decode(&cp, text[i].p + n, text[i].n - n)
                          : 0;
    }
}

void cf_diff_run_compare(cf_diff_run *run)
{
    run->by_token =
        run->side[0].reply.n_token != 0 && run->side[1].reply.n_token != 0;
    run->n_same = 0;
    if (run->by_token) {
        part_by_token(run);
    } else {
        part_by_byte(run);
    }
}

/* ---- on the worker's thread --------------------------------------------- */

static void free_item(void *p)
{
    item *it = p;
    cf_sent_deinit(&it->sent);
    cf_free(it->event);
    cf_free(it);
}

static item *new_item(const job_state *j)
{
    item *it = cf_calloc(1, sizeof *it);
    if (it != NULL) {
        it->side = j->at;
        cf_sent_init(&it->sent);
    }
    return it;
}

/* An event that memory does not suffice for is in the response as well. */
static void on_event(const cf_chat_event *e, void *ud)
{
    const job_state *j = ud;
    item *it = e->kind != CF_CHAT_STOP ? new_item(j) : NULL;
    if (it == NULL) {
        return;
    }
    it->event = cf_reply_copy_event(e);
    if (it->event == NULL) {
        free_item(it);
        return;
    }
    cf_lab_tell(j->lab, it);
}

/* Gives the engine's clone a side's template. */
static cf_tool_family use_side(job_state *j, int i)
{
    const cf_diff_half *half = &j->pair.half[i];
    cf_conversation_set_roles(j->conv[i], &half->roles);
    return cf_lab_use_template(j->backend, cf_lab_engine_of(j->lab), half->tpl,
                               cf_diff_pair_source(&j->pair, i));
}

static cf_status run_side(job_state *j, int i, cf_error *err)
{
    j->at = i;
    item *begin = new_item(j), *end = new_item(j);
    if (begin == NULL || end == NULL) {
        cf_free(begin);
        cf_free(end);
        return cf_oom_for(err, "a reply");
    }
    cf_lab_tell(j->lab, begin);
    end->is_end = true;
    end->family = use_side(j, i);
    const cf_send send = {
        .message = j->message,
        .options = &j->options,
        .has_parent = true,
        .parent = j->parent[i],
        .fn = on_event,
        .ud = j,
        .cancel = cf_lab_cancel_flag(j->lab),
    };
    cf_status st = cf_conversation_send(j->conv[i], j->backend, &send,
                                        &end->sent, &end->err);
    bool ends_both = st == CF_ENOMEM || st == CF_ECANCELLED;
    end->status = st;
    if (ends_both) {
        *err = end->err;
    }
    cf_lab_tell(j->lab, end);
    return ends_both ? st : CF_OK;
}

/* A side that fails, say in its template, leaves the other one to run. */
static cf_status run_both(void *ud, cf_lab *lab, cf_error *err)
{
    job_state *j = ud;
    (void)lab;
    CF_TRY(run_side(j, 0, err));
    return run_side(j, 1, err);
}

/* ---- on the interface thread -------------------------------------------- */

/* Calls that are wrong, and blocks that are not calls. */
static size_t count_bad(const json_t *findings)
{
    size_t n = 0;
    for (size_t i = 0; i < json_array_size(findings); i++) {
        cf_str status = cf_json_get_str(json_array_get(findings, i), "status");
        n += !cf_str_is(status, cf_tool_status_name(CF_TOOL_VALID));
    }
    return n;
}

static void take_end(cf_run_side *s, const cf_tokenizer *tok, item *end)
{
    s->status = end->status;
    s->err = end->err;
    s->family = end->family;
    s->n_bad = count_bad(end->sent.response.findings);
    cf_reply_finish(&s->reply, tok, &end->sent.response);
    s->is_done = true;
}

static void take(void *ud, void *p)
{
    job_state *j = ud;
    item *it = p;
    cf_run_side *s = &j->run->side[it->side];
    const cf_tokenizer *tok = cf_lab_engine_of(j->lab)->tokenizer;
    if (it->event != NULL) {
        cf_reply_add(&s->reply, tok, it->event);
    } else if (it->is_end) {
        take_end(s, tok, it);
    } else {
        s->is_begun = true;
    }
    free_item(it);
}

static void progress(const void *ud, cf_buf *out)
{
    const job_state *j = ud;
    int i = j->run->side[0].is_done ? 1 : 0;
    const cf_reply *r = &j->run->side[i].reply;
    cf_buf_addf(out, "%c ", 'A' + i);
    if (r->n_token == 0) {
        cf_buf_addf(out, "prompt %llu of %llu", (unsigned long long)r->n_done,
                    (unsigned long long)r->n_total);
    } else {
        cf_buf_addf(out, "%zu tokens", r->n_token);
    }
}

static void on_end(void *ud, cf_status status, const cf_error *err)
{
    cf_diff_run *run = ((job_state *)ud)->run;
    run->job = NULL;
    run->is_on = false;
    for (int i = 0; i < 2; i++) {
        cf_run_side *s = &run->side[i];
        if (!s->is_done) {
            s->is_done = true;
            s->status = status;
            s->err = *err;
        }
    }
    cf_diff_run_compare(run);
}

/* ---- starting ----------------------------------------------------------- */

/* The turn to be answered: the head, or the one that the last reply answers.
 * With a message that follows, the head. */
static cf_status find_parent(job_state *j, int i, size_t *n_path, cf_error *err)
{
    cf_arena arena;
    const cf_turn **path = NULL;
    size_t n = 0;
    cf_arena_init(&arena, 0);
    cf_status st = cf_conversation_path(
        j->conv[i], cf_conversation_head(j->conv[i]), &arena, &path, &n, err);
    while (st == CF_OK && j->message == NULL && n > 0) {
        cf_role role =
            cf_role_parse(cf_json_get_str(path[n - 1]->message, "role"));
        if (role != CF_ROLE_ASSISTANT && role != CF_ROLE_AGENT) {
            break;
        }
        n--;
    }
    if (st == CF_OK && n == 0 && j->message == NULL) {
        st = cf_fail(err, CF_ENOTFOUND,
                     "there is nothing to answer: no turn before a reply");
    }
    if (st == CF_OK && n > 0) {
        j->parent[i] = path[n - 1]->id;
    }
    *n_path = n + (j->message != NULL);
    cf_arena_deinit(&arena);
    return st;
}

static cf_status make_job(job_state *j, cf_diff_model *m, uint32_t max_tokens,
                          size_t *n_path, cf_error *err)
{
    const cf_lab_engine *e = cf_lab_engine_of(m->lab);
    j->lab = m->lab;
    CF_TRY(cf_diff_model_pair(m, &j->pair, err));
    CF_TRY(cf_diff_model_message(m, &j->message, err));
    for (int i = 0; i < 2; i++) {
        CF_TRY(cf_diff_model_conv(m, i, &j->conv[i], err));
        CF_TRY(find_parent(j, i, n_path, err));
    }
    CF_TRY(cf_diff_model_vars(m, &j->vars, err));
    CF_TRY(cf_backend_clone(&j->backend, e->backend, err));
    j->options.extra_context = j->vars;
    j->options.chat = cf_lab_settings(m->lab)->chat;
    if (max_tokens != 0) {
        j->options.chat.max_tokens = max_tokens;
    }
    return CF_OK;
}

cf_status cf_diff_run_start(cf_diff_run *run, cf_diff_model *m,
                            uint32_t max_tokens, cf_error *err)
{
    size_t n_path = 0;
    if (!cf_lab_info(m->lab).shows_prompt) {
        return cf_fail(err, CF_EUNSUPPORTED,
                       "this engine renders its prompt by itself");
    }
    CF_TRY(cf_lab_need_idle(m->lab, err));
    job_state *j = cf_calloc(1, sizeof *j);
    if (j == NULL) {
        return cf_oom(err);
    }
    cf_status st = make_job(j, m, max_tokens, &n_path, err);
    if (st != CF_OK) {
        free_job(j);
        return st;
    }
    const cf_lab_task task = {.name = "asking both templates",
                              .run = run_both,
                              .take = take,
                              .progress = progress,
                              .end = on_end,
                              .drop = free_job,
                              .free_item = free_item,
                              .ud = j};
    uint64_t seed = j->options.chat.sampling.seed;
    uint32_t limit = j->options.chat.max_tokens;
    j->run = run;
    CF_TRY(cf_lab_start_task(m->lab, &task, err)); /* drops j where it fails */
    for (int i = 0; i < 2; i++) {
        clear_side(&run->side[i]);
    }
    run->job = j;
    run->has = run->is_on = true;
    run->lab = m->lab;
    run->was_swapped = m->is_swapped;
    run->seed = seed;
    run->max_tokens = limit;
    run->n_path = n_path;
    return CF_OK;
}
