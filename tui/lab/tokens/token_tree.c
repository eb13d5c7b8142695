/*
 * token_tree.c - the best alternatives at a token, each followed greedily.
 *
 * All branches are forks of one timeline that share its cache; a level of the
 * tree is one pass over the weights.
 */
#include <float.h>
#include <math.h>
#include <string.h>

#include "core/api/batch.h"
#include "core/base/alloc.h"
#include "tui/lab/reply/lab_reply.h"
#include "tui/lab/state/lab_task.h"
#include "tui/lab/tokens/token_study.h"
#include "tui/lab/tokens/token_walk.h"

/* A branch while it grows. */
typedef struct branch {
    cf_session *session;
    cf_constraint *c; /* NULL: free */
    bool has_ended;
} branch;

typedef struct job {
    cf_token_tree *tree; /* the interface thread's */
    cf_walk walk;
    cf_session *session; /* a fork: the worker's */
    cf_token *ids;       /* [n_ids] up to where the tree begins */
    size_t n_ids;
    uint32_t width, depth;
    uint32_t *mask; /* [(n_vocab + 31) / 32] */
    size_t n_vocab;
    const cf_tokenizer *tok;
    bool is_held; /* the constraint takes what the tree grows */
    branch branch[CF_TREE_WIDTH_MAX];
} job;

/* Handed over by the task. */
typedef struct item {
    bool is_node;
    uint32_t branch;
    cf_tree_node node;
    uint64_t n_done, n_total;
} item;

static void free_job(void *ud)
{
    job *j = ud;
    for (size_t i = 0; i < CF_TREE_WIDTH_MAX; i++) {
        cf_session_free(j->branch[i].session);
        cf_constraint_free(j->branch[i].c);
    }
    cf_session_free(j->session);
    cf_walk_deinit(&j->walk);
    cf_free(j->ids);
    cf_free(j->mask);
    cf_free(j);
}

/* ---- on the worker's thread --------------------------------------------- */

static void tell(cf_runner *runner, const item *what)
{
    item *copy = cf_alloc(sizeof *copy);
    if (copy != NULL) { /* else: a node that is not shown */
        *copy = *what;
        cf_runner_tell(runner, copy);
    }
}

static void on_prefill(void *ud, size_t done, size_t total)
{
    tell(ud, &(item){.n_done = done, .n_total = total});
}

static bool is_allowed(const job *j, bool is_masked, size_t id)
{
    return !is_masked || (j->mask[id / 32] >> id % 32 & 1) != 0;
}

/* The `n` most likely allowed tokens, best first; how many there are. */
static size_t best_of(const job *j, const float *logits, bool is_masked, cf_tree_node *out,
                      size_t n)
{
    float top = -FLT_MAX;
    double sum = 0;
    size_t found = 0;
    for (size_t i = 0; i < j->n_vocab; i++) {
        top = logits[i] > top ? logits[i] : top;
    }
    for (size_t i = 0; i < j->n_vocab; i++) {
        float v = logits[i];
        sum += v > -FLT_MAX ? exp((double)v - (double)top) : 0;
        if (!is_allowed(j, is_masked, i) || !(v > -FLT_MAX)) {
            continue;
        }
        size_t at = found < n ? found : n;
        while (at > 0 && logits[out[at - 1].id] < v) {
            at--;
        }
        if (at < n) {
            size_t tail = (found < n ? found : n - 1) - at;
            memmove(out + at + 1, out + at, tail * sizeof *out);
            out[at].id = (cf_token)i;
            found += found < n;
        }
    }
    for (size_t i = 0; i < found; i++) {
        out[i].p = (float)(exp((double)logits[out[i].id] - (double)top) / sum);
    }
    return found;
}

/* Adds a node to a branch; false when the branch ends with it. */
static cf_status add_node(job *j, cf_runner *runner, uint32_t at, cf_tree_node node, cf_error *err)
{
    branch *br = &j->branch[at];
    tell(runner, &(item){.is_node = true, .branch = at, .node = node});
    br->has_ended = cf_tokenizer_is_end(j->tok, node.id);
    if (br->c == NULL || br->has_ended) {
        return CF_OK;
    }
    CF_TRY(cf_constraint_token(br->c, node.id, err));
    br->has_ended = cf_constraint_may_end(br->c) && !cf_constraint_may_continue(br->c);
    return CF_OK;
}

/* Brings the timeline and the constraint to where the tree begins. */
static cf_status go_there(job *j, cf_runner *runner, cf_error *err)
{
    const cf_run run = {
        .cancel = cf_runner_cancel_flag(runner), .progress = on_prefill, .ud = runner};
    cf_sync_result unused;
    CF_TRY(cf_walk_begin(&j->walk, err));
    for (size_t i = 0; i + 1 < j->walk.n; i++) {
        CF_TRY(cf_walk_step(&j->walk, i, err));
    }
    return cf_session_sync(j->session, j->ids, j->n_ids, &run, &unused, err);
}

static cf_status plant(job *j, cf_runner *runner, uint32_t *n, cf_tree_node *first, cf_error *err)
{
    bool is_masked = j->is_held && j->walk.c != NULL;
    if (is_masked) {
        CF_TRY(cf_constraint_mask(j->walk.c, j->mask, err));
    }
    *n = (uint32_t)best_of(j, cf_session_logits(j->session), is_masked, first, j->width);
    for (uint32_t i = 0; i < *n; i++) {
        branch *br = &j->branch[i];
        CF_TRY(cf_session_fork(&br->session, j->session, err));
        if (is_masked) {
            CF_TRY(cf_constraint_copy(&br->c, j->walk.c, err));
        }
        CF_TRY(add_node(j, runner, i, first[i], err));
    }
    return CF_OK;
}

/* One more token for every branch that goes on; *n_open of them. */
static cf_status grow(job *j, cf_runner *runner, uint32_t n, cf_tree_node *last, size_t *n_open,
                      cf_error *err)
{
    cf_session *sessions[CF_TREE_WIDTH_MAX];
    cf_token ids[CF_TREE_WIDTH_MAX];
    uint32_t of[CF_TREE_WIDTH_MAX];
    *n_open = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (!j->branch[i].has_ended) {
            sessions[*n_open] = j->branch[i].session;
            ids[*n_open] = last[i].id;
            of[(*n_open)++] = i;
        }
    }
    if (*n_open == 0) {
        return CF_OK;
    }
    const cf_run run = {.cancel = cf_runner_cancel_flag(runner)};
    CF_TRY(cf_session_step_many(sessions, ids, *n_open, &run, err));
    for (size_t k = 0; k < *n_open; k++) {
        branch *br = &j->branch[of[k]];
        if (br->c != NULL) {
            CF_TRY(cf_constraint_mask(br->c, j->mask, err));
        }
        if (best_of(j, cf_session_logits(br->session), br->c != NULL, &last[of[k]], 1) == 0) {
            br->has_ended = true;
            continue;
        }
        CF_TRY(add_node(j, runner, of[k], last[of[k]], err));
    }
    return CF_OK;
}

static cf_status run(void *ud, cf_runner *runner, cf_error *err)
{
    job *j = ud;
    cf_tree_node last[CF_TREE_WIDTH_MAX] = {{0}};
    uint32_t n;
    CF_TRY(go_there(j, runner, err));
    CF_TRY(plant(j, runner, &n, last, err));
    size_t n_open = n;
    for (uint32_t level = 1; level < j->depth && n_open > 0; level++) {
        CF_TRY(grow(j, runner, n, last, &n_open, err));
    }
    return CF_OK;
}

/* ---- on the interface thread -------------------------------------------- */

static void take(void *ud, void *what)
{
    job *j = ud;
    item *it = what;
    cf_token_tree *t = j->tree;
    if (!it->is_node) {
        t->n_done = it->n_done;
        t->n_total = it->n_total;
    } else if (it->branch < t->width && t->n[it->branch] < t->depth) {
        t->node[it->branch][t->n[it->branch]++] = it->node;
        t->n_branch = it->branch + 1 > t->n_branch ? it->branch + 1 : t->n_branch;
    }
    cf_free(it);
}

static void end(void *ud, cf_status status, const cf_error *err)
{
    job *j = ud;
    j->tree->is_running = false;
    j->tree->why = *err;
    j->tree->why.code = status;
}

static cf_status copy_ids(job *j, const cf_reply *reply, size_t token, cf_error *err)
{
    j->n_ids = reply->n_prompt_ids + token;
    j->ids = cf_calloc(j->n_ids + 1, sizeof *j->ids);
    if (j->ids == NULL) {
        return cf_oom_for(err, "the tree");
    }
    memcpy(j->ids, reply->prompt_ids, reply->n_prompt_ids * sizeof *j->ids);
    for (size_t i = 0; i < token; i++) {
        j->ids[reply->n_prompt_ids + i] = reply->token[i].id;
    }
    return CF_OK;
}

static cf_status prepare(job *j, cf_lab *lab, const cf_reply *reply, size_t token, cf_error *err)
{
    const cf_session *session = cf_backend_core_session(cf_lab_engine_of(lab)->backend);
    j->tok = cf_lab_engine_of(lab)->tokenizer;
    j->n_vocab = cf_tokenizer_n_vocab(j->tok);
    j->mask = cf_calloc(j->n_vocab / 32 + 1, sizeof *j->mask);
    if (j->mask == NULL) {
        return cf_oom_for(err, "the tree");
    }
    CF_TRY(copy_ids(j, reply, token, err));
    CF_TRY(cf_walk_init(&j->walk, lab, reply, token + 1, err));
    j->is_held = j->walk.token[token].is_held;
    return cf_session_fork(&j->session, session, err);
}

static cf_status check(cf_lab *lab, const cf_reply *reply, size_t token, uint32_t width,
                       uint32_t depth, cf_error *err)
{
    if (width < 1 || width > CF_TREE_WIDTH_MAX || depth < 1 || depth > CF_TREE_DEPTH_MAX) {
        return cf_fail(err, CF_EINVAL, "a tree has 1 to %d branches of 1 to %d tokens",
                       (int)CF_TREE_WIDTH_MAX, (int)CF_TREE_DEPTH_MAX);
    }
    if (cf_backend_core_session(cf_lab_engine_of(lab)->backend) == NULL ||
        cf_lab_engine_of(lab)->tokenizer == NULL) {
        return cf_fail(err, CF_EUNSUPPORTED, "only a model file can be asked for other ways");
    }
    if (token >= reply->n_token || reply->prompt_ids == NULL || reply->n_prompt_ids == 0) {
        return cf_fail(err, CF_EUNSUPPORTED,
                       "the tokens of this reply's prompt are not known here");
    }
    return CF_OK;
}

cf_status cf_lab_grow_tree(cf_lab *lab, cf_token_tree *tree, const cf_reply *reply, size_t token,
                           uint32_t width, uint32_t depth, cf_error *err)
{
    CF_TRY(check(lab, reply, token, width, depth, err));
    CF_TRY(cf_lab_need_idle(lab, err));
    job *j = cf_calloc(1, sizeof *j);
    if (j == NULL) {
        return cf_oom_for(err, "the tree");
    }
    j->tree = tree;
    j->width = width;
    j->depth = depth;
    cf_status st = prepare(j, lab, reply, token, err);
    if (st != CF_OK) {
        free_job(j);
        return st;
    }
    const cf_task task = {.name = "expanding",
                          .run = run,
                          .take = take,
                          .end = end,
                          .drop = free_job,
                          .free_item = cf_free,
                          .ud = j,
                          .gives_way = true};
    CF_TRY(cf_lab_start_task(lab, &task, err)); /* drops j where it fails */
    *tree = (cf_token_tree){
        .turn = reply->turn, .token = token, .width = width, .depth = depth, .is_running = true};
    return CF_OK;
}

double cf_token_tree_joint(const cf_token_tree *tree, size_t at, size_t depth)
{
    double p = 1;
    for (size_t i = 0; i <= depth && i < tree->n[at]; i++) {
        p *= (double)tree->node[at][i].p;
    }
    return p;
}
