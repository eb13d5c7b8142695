/*
 * diff_run.c - one turn answered twice.
 *
 * Each side has a clone of the engine, and both are written side by side; the
 * second keeps what both prompts begin with.  The draws are a function of the
 * seed and the number of the draw, so neither side disturbs the other.  A
 * server or a script answers one side after the other, on one clone.
 */
#include "tui/lab/compare/diff_run.h"
#include "tui/lab/reply/lab_reply.h"
#include "tui/lab/state/lab_task.h"
#include "tui/lab/talk/lab_template.h"

#include <stdio.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/utf8.h"

typedef struct cf_diff_run_job {
    cf_diff_pair pair; /* it must not move */
    cf_conversation *conv[2];
    cf_uuid parent[2];
    json_t *message, *vars;
    cf_backend *backend[2]; /* the second one only where both run at once */
    cf_turn_options options;
    cf_lab *lab;
    cf_diff_run *run; /* the interface thread's */
} job_state;

/* A side, for its events. */
typedef struct side_ref {
    const job_state *job;
    int side;
} side_ref;

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
        cf_backend_free(j->backend[i]);
    }
    json_decref(j->message);
    json_decref(j->vars);
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
               : cf_str_eq(cf_reply_token_text(a, i), cf_reply_token_text(b, i));
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
        run->first[i].len = n < text[i].n ? cf_utf8_decode(&cp, text[i].p + n, text[i].n - n) : 0;
    }
}

void cf_diff_run_compare(cf_diff_run *run)
{
    run->by_token = run->side[0].reply.n_token != 0 && run->side[1].reply.n_token != 0;
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

static item *new_item(int side)
{
    item *it = cf_calloc(1, sizeof *it);
    if (it != NULL) {
        it->side = side;
        cf_sent_init(&it->sent);
    }
    return it;
}

/* An event that memory does not suffice for is in the response as well. */
static void on_event(const cf_chat_event *e, void *ud)
{
    const side_ref *ref = ud;
    item *it = e->kind != CF_CHAT_STOP ? new_item(ref->side) : NULL;
    if (it == NULL) {
        return;
    }
    it->event = cf_reply_copy_event(e);
    if (it->event == NULL) {
        free_item(it);
        return;
    }
    cf_lab_tell(ref->job->lab, it);
}

/* Begins a side: gives its clone the template, and makes the send. */
static cf_status open_side(job_state *j, int i, cf_backend *backend, side_ref *ref,
                           cf_send_job *out, item **end, cf_error *err)
{
    const cf_diff_half *half = &j->pair.half[i];
    item *begin = new_item(i);
    *end = new_item(i);
    if (begin == NULL || *end == NULL) {
        cf_free(begin);
        return cf_oom_for(err, "a reply");
    }
    cf_lab_tell(j->lab, begin);
    (*end)->is_end = true;
    cf_conversation_set_roles(j->conv[i], &half->roles);
    (*end)->family = cf_lab_use_template(backend, cf_lab_engine_of(j->lab), half->tpl,
                                         cf_diff_pair_source(&j->pair, i));
    *ref = (side_ref){j, i};
    *out = (cf_send_job){.conv = j->conv[i],
                         .backend = backend,
                         .send = {.message = j->message,
                                  .options = &j->options,
                                  .has_parent = true,
                                  .parent = j->parent[i],
                                  .fn = on_event,
                                  .ud = ref,
                                  .cancel = cf_lab_cancel_flag(j->lab)}};
    cf_sent_init(&out->sent);
    return CF_OK;
}

/* Hands over what a side came to.  A side that fails, say in its template,
 * leaves the other one to run; a lack of memory and a stop end both. */
static cf_status close_side(const job_state *j, cf_send_job *job, item *end, cf_error *err)
{
    cf_status st = job->status;
    bool ends_both = st == CF_ENOMEM || st == CF_ECANCELLED;
    end->sent = job->sent;
    end->status = st;
    end->err = job->err;
    if (ends_both) {
        *err = end->err;
    }
    cf_lab_tell(j->lab, end);
    return ends_both ? st : CF_OK;
}

static cf_status run_together(job_state *j, cf_error *err)
{
    side_ref ref[2];
    cf_send_job jobs[2];
    item *end[2] = {NULL, NULL};
    cf_status st = CF_OK;
    for (int i = 0; st == CF_OK && i < 2; i++) {
        st = open_side(j, i, j->backend[i], &ref[i], &jobs[i], &end[i], err);
    }
    if (st != CF_OK) {
        cf_free(end[0]);
        cf_free(end[1]);
        return st;
    }
    cf_conversation_send_many(jobs, 2);
    for (int i = 0; i < 2; i++) {
        cf_status one = close_side(j, &jobs[i], end[i], err);
        st = st == CF_OK ? one : st;
    }
    return st;
}

static cf_status run_side(job_state *j, int i, cf_error *err)
{
    side_ref ref;
    cf_send_job job;
    item *end = NULL;
    cf_status st = open_side(j, i, j->backend[0], &ref, &job, &end, err);
    if (st != CF_OK) {
        cf_free(end);
        return st;
    }
    cf_conversation_send_many(&job, 1);
    return close_side(j, &job, end, err);
}

static cf_status run_both(void *ud, cf_runner *runner, cf_error *err)
{
    job_state *j = ud;
    (void)runner;
    if (j->backend[1] != NULL) {
        return run_together(j, err);
    }
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
    for (int i = 0; i < 2; i++) {
        const cf_run_side *s = &j->run->side[i];
        if (s->is_done || !s->is_begun) {
            continue;
        }
        cf_buf_addf(out, "%s%c ", out->n > 0 ? "  " : "", 'A' + i);
        if (s->reply.n_token == 0) {
            cf_buf_addf(out, "prompt %llu of %llu", (unsigned long long)s->reply.n_done,
                        (unsigned long long)s->reply.n_total);
        } else {
            cf_buf_addf(out, "%zu tokens", s->reply.n_token);
        }
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
    cf_status st =
        cf_conversation_path(j->conv[i], cf_conversation_head(j->conv[i]), &arena, &path, &n, err);
    while (st == CF_OK && j->message == NULL && n > 0) {
        cf_role role = cf_role_parse(cf_json_get_str(path[n - 1]->message, "role"));
        if (role != CF_ROLE_ASSISTANT && role != CF_ROLE_AGENT) {
            break;
        }
        n--;
    }
    if (st == CF_OK && n == 0 && j->message == NULL) {
        st = cf_fail(err, CF_ENOTFOUND, "there is nothing to answer: no turn before a reply");
    }
    if (st == CF_OK && n > 0) {
        j->parent[i] = path[n - 1]->id;
    }
    *n_path = n + (j->message != NULL);
    cf_arena_deinit(&arena);
    return st;
}

static cf_status make_job(job_state *j, cf_diff_model *m, uint32_t max_tokens, size_t *n_path,
                          cf_error *err)
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
    CF_TRY(cf_backend_clone(&j->backend[0], e->backend, err));
    if (cf_backend_core_session(e->backend) != NULL) {
        CF_TRY(cf_backend_clone(&j->backend[1], e->backend, err));
        for (int i = 0; i < 2; i++) {
            CF_TRY(cf_diff_model_use_lora(m, i, cf_backend_core_session(j->backend[i]), err));
        }
    }
    j->options.extra_context = j->vars;
    j->options.chat = cf_lab_settings(m->lab)->chat;
    if (max_tokens != 0) {
        j->options.chat.max_tokens = max_tokens;
    }
    return CF_OK;
}

cf_status cf_diff_run_start(cf_diff_run *run, cf_diff_model *m, uint32_t max_tokens, cf_error *err)
{
    size_t n_path = 0;
    if (!cf_lab_info(m->lab).shows_prompt) {
        return cf_fail(err, CF_EUNSUPPORTED, "this engine renders its prompt by itself");
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
    const cf_task task = {.name = "asking both templates",
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
