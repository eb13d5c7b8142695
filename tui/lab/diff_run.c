/*
 * diff_run.c - one turn answered twice.
 *
 * Both sides run one after the other on one clone of the engine: the second
 * keeps what both prompts begin with.  The draws are a function of the seed
 * and the number of the draw, so neither side disturbs the other.
 */
#include "tui/lab/diff_run.h"

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
    int at; /* the side that runs */
} job_state;

typedef enum item_kind {
    ITEM_BEGIN,
    ITEM_PREFILL,
    ITEM_TOKEN,
    ITEM_TEXT,
    ITEM_END
} item_kind;

typedef struct item {
    item_kind kind;
    int side;
    uint64_t n_done, n_total;
    cf_run_token token;
    char *text; /* [n], owned */
    size_t n;
    cf_run_side result; /* END: raw, status, figures; its buffers are owned */
} item;

/* ---- sides -------------------------------------------------------------- */

static void clear_side(cf_run_side *s)
{
    cf_buf_deinit(&s->raw);
    cf_free(s->token);
    memset(s, 0, sizeof *s);
}

static void free_job(job_state *j)
{
    if (j == NULL) {
        return;
    }
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
        cf_lab_end_task(run->lab, run);
    }
    for (int i = 0; i < 2; i++) {
        clear_side(&run->side[i]);
    }
    free_job(run->job);
    memset(run, 0, sizeof *run);
}

static bool add_token(cf_run_side *s, cf_run_token token)
{
    if (s->n_token == s->cap_token) {
        size_t cap = s->cap_token != 0 ? s->cap_token * 2 : 64;
        cf_run_token *v = cf_realloc(s->token, cap, sizeof *v);
        if (v == NULL) {
            return false;
        }
        s->token = v;
        s->cap_token = cap;
    }
    s->token[s->n_token++] = token;
    return true;
}

cf_str cf_diff_run_token(const cf_run_side *side, size_t i)
{
    if (i >= side->n_token || side->token[i].off > side->raw.n) {
        return cf_str_make("", 0);
    }
    size_t from = side->token[i].off;
    size_t to = i + 1 < side->n_token ? side->token[i + 1].off : side->raw.n;
    to = to < from ? from : to > side->raw.n ? side->raw.n : to;
    return cf_str_make(cf_buf_cstr(&side->raw) + from, to - from);
}

/* ---- where they part ---------------------------------------------------- */

static bool is_same_token(const cf_run_side *a, const cf_run_side *b, size_t i)
{
    cf_token x = a->token[i].id, y = b->token[i].id;
    return x != CF_TOKEN_NONE && y != CF_TOKEN_NONE
               ? x == y
               : cf_str_eq(cf_diff_run_token(a, i), cf_diff_run_token(b, i));
}

static void part_by_token(cf_diff_run *run)
{
    const cf_run_side *a = &run->side[0], *b = &run->side[1];
    size_t n = 0;
    while (n < a->n_token && n < b->n_token && is_same_token(a, b, n)) {
        n++;
    }
    run->n_same = n;
    run->is_same = n == a->n_token && n == b->n_token;
    for (int i = 0; i < 2; i++) {
        const cf_run_side *s = &run->side[i];
        run->first[i].off = n < s->n_token ? s->token[n].off : s->raw.n;
        run->first[i].len = cf_diff_run_token(s, n).n;
    }
}

/* Without tokens: the first character that differs. */
static void part_by_byte(cf_diff_run *run)
{
    cf_str text[2];
    size_t n = 0;
    for (int i = 0; i < 2; i++) {
        text[i] = cf_buf_str(&run->side[i].raw);
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
    run->by_token = run->side[0].n_token != 0 && run->side[1].n_token != 0;
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
    clear_side(&it->result);
    cf_free(it->text);
    cf_free(it);
}

static item *new_item(const job_state *j, item_kind kind)
{
    item *it = cf_calloc(1, sizeof *it);
    if (it != NULL) {
        it->kind = kind;
        it->side = j->at;
    }
    return it;
}

/* What cannot be told for want of memory is in the result all the same. */
static void on_event(const cf_chat_event *e, void *ud)
{
    const job_state *j = ud;
    item_kind kind = e->kind == CF_CHAT_PREFILL ? ITEM_PREFILL
                     : e->kind == CF_CHAT_TOKEN ? ITEM_TOKEN
                                                : ITEM_TEXT;
    bool is_text = e->kind == CF_CHAT_TEXT || e->kind == CF_CHAT_THINKING ||
                   e->kind == CF_CHAT_CALL_DELTA;
    item *it = is_text || kind != ITEM_TEXT ? new_item(j, kind) : NULL;
    if (it == NULL) {
        return;
    }
    it->n_done = e->n_done;
    it->n_total = e->n_total;
    it->token = (cf_run_token){e->token.id, (uint32_t)e->token.raw_off};
    if (is_text && e->text.n != 0) {
        it->text = cf_strndup(e->text.p, e->text.n);
        it->n = it->text != NULL ? e->text.n : 0;
    }
    cf_lab_tell(j->lab, it);
}

/* The calls of a reply, and what is wrong with them. */
static void count_calls(cf_run_side *out, const cf_chat_response *r)
{
    out->n_calls = json_array_size(json_object_get(r->message, "tool_calls"));
    for (size_t i = 0; i < json_array_size(r->findings); i++) {
        cf_str status =
            cf_json_get_str(json_array_get(r->findings, i), "status");
        if (!cf_str_is(status, cf_tool_status_name(CF_TOOL_VALID))) {
            out->n_bad++;
        }
    }
}

/* Makes the engine's clone speak with a side's template. */
static cf_tool_family use_side(job_state *j, int i)
{
    const cf_diff_half *half = &j->pair.half[i];
    cf_conversation_set_roles(j->conv[i], &half->roles);
    return cf_lab_use_template(j->backend, cf_lab_engine_of(j->lab), half->tpl,
                               cf_diff_pair_source(&j->pair, i));
}

/* Takes over what the response has of the reply. */
static void keep(cf_run_side *out, cf_chat_response *r)
{
    cf_buf none = CF_BUF_INIT;
    out->raw = r->raw;
    r->raw = none;
    out->stop = r->stop.reason;
    out->timings = r->timings;
    out->n_prompt = r->usage.is_known ? r->usage.n_prompt : 0;
    count_calls(out, r);
}

static cf_status run_side(job_state *j, int i, cf_error *err)
{
    cf_sent sent;
    j->at = i;
    item *begin = new_item(j, ITEM_BEGIN), *end = new_item(j, ITEM_END);
    if (begin == NULL || end == NULL) {
        cf_free(begin);
        cf_free(end);
        return cf_oom_for(err, "a reply");
    }
    cf_lab_tell(j->lab, begin);
    end->result.family = use_side(j, i);
    const cf_send send = {
        .message = j->message,
        .options = &j->options,
        .has_parent = true,
        .parent = j->parent[i],
        .fn = on_event,
        .ud = j,
        .cancel = cf_lab_cancel_flag(j->lab),
    };
    cf_sent_init(&sent);
    cf_status st = cf_conversation_send(j->conv[i], j->backend, &send, &sent,
                                        &end->result.err);
    end->result.status = st;
    keep(&end->result, &sent.response);
    cf_sent_deinit(&sent);
    if (st == CF_ENOMEM || st == CF_ECANCELLED) {
        *err = end->result.err;
    }
    cf_lab_tell(j->lab, end);
    return st == CF_ENOMEM || st == CF_ECANCELLED ? st : CF_OK;
}

/* A side that fails, say in its template, leaves the other one to run. */
static cf_status run_both(void *ud, cf_lab *lab, cf_error *err)
{
    const cf_diff_run *run = ud;
    (void)lab;
    CF_TRY(run_side(run->job, 0, err));
    return run_side(run->job, 1, err);
}

/* ---- on the interface thread -------------------------------------------- */

static void take_end(cf_run_side *s, cf_run_side *result)
{
    cf_buf none = CF_BUF_INIT;
    cf_buf_deinit(&s->raw);
    s->raw = result->raw;
    result->raw = none;
    s->status = result->status;
    s->err = result->err;
    s->stop = result->stop;
    s->timings = result->timings;
    s->family = result->family;
    s->n_calls = result->n_calls;
    s->n_bad = result->n_bad;
    s->n_prompt = result->n_prompt != 0 ? result->n_prompt : s->n_prompt;
    s->is_done = true;
}

static void take(void *ud, void *p)
{
    cf_diff_run *run = ud;
    item *it = p;
    cf_run_side *s = &run->side[it->side];
    switch (it->kind) {
    case ITEM_BEGIN:
        s->is_begun = true;
        break;
    case ITEM_PREFILL:
        s->n_prefilled = it->n_done;
        s->n_prompt = it->n_total;
        break;
    case ITEM_TOKEN:
        if (!add_token(s, it->token)) {
            break; /* compared as far as there are tokens */
        }
        break;
    case ITEM_TEXT:
        cf_buf_add(&s->raw, it->text != NULL ? it->text : "", it->n);
        break;
    case ITEM_END:
        take_end(s, &it->result);
        break;
    }
    free_item(it);
}

static void progress(const void *ud, cf_buf *out)
{
    const cf_diff_run *run = ud;
    int i = run->side[0].is_done ? 1 : 0;
    const cf_run_side *s = &run->side[i];
    cf_buf_addf(out, "%c ", 'A' + i);
    if (s->n_token == 0) {
        cf_buf_addf(out, "prompt %llu of %llu",
                    (unsigned long long)s->n_prefilled,
                    (unsigned long long)s->n_prompt);
    } else {
        cf_buf_addf(out, "%zu tokens", s->n_token);
    }
}

static void on_end(void *ud, cf_status status, const cf_error *err)
{
    cf_diff_run *run = ud;
    free_job(run->job);
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
                              .free_item = free_item,
                              .ud = run};
    /* Nothing of the last run may be lost when this one cannot start. */
    job_state *before = run->job;
    run->job = j;
    st = cf_lab_start_task(m->lab, &task, err);
    if (st != CF_OK) {
        run->job = before;
        free_job(j);
        return st;
    }
    for (int i = 0; i < 2; i++) {
        clear_side(&run->side[i]);
    }
    run->has = run->is_on = true;
    run->lab = m->lab;
    run->was_swapped = m->is_swapped;
    run->seed = j->options.chat.sampling.seed;
    run->max_tokens = j->options.chat.max_tokens;
    run->n_path = n_path;
    return CF_OK;
}
