/*
 * joint.c - gathers waiting sessions and computes a pass for all of them.
 *
 * Rules:
 *  1. is_busy is set while a pass is computed, by the thread that computes it,
 *     without the lock; no session is read or changed by others meanwhile, but
 *     for those that are not in the pass while is_paused is set, too.
 *  2. A waiting entry is on the list from its sync until it is done, and only
 *     the computing thread, or nobody, changes it.
 *  3. A prompt of more than LONG tokens is computed in pieces beside replies that
 *     had begun when it came, and a pass over a piece pauses within layers for
 *     what else there is, so that a reply waits at most about WAIT times as long
 *     as for a pass of its own.  Replies that began while it waited go along in
 *     its passes: all waits are shorter when the prompts are read first.
 *  4. A prompt that begins like an earlier one waits until that has computed what
 *     they have in common, and goes on from there.
 *  5. A failure of a pass is tried again entry by entry, so that one request
 *     cannot fail another.
 */
#include "core/api/joint.h"

#include <math.h>
#include <pthread.h>
#include <string.h>
#include <time.h>

#include "core/base/alloc.h"
#include "core/base/os.h"
#include "core/infer/session_impl.h"

enum {
    PARTS_MAX = 64,
    LONG = 16,      /* tokens of a prompt that is cut */
    SHORT_ROWS = 4, /* of other prompts, in a pause */
    ALONG = 256,    /* of prompts, in passes that replies go along in */
    PIECE_FIRST = 32,
    PIECE_MAX = 512,
    GATHER_US = 2000, /* longest wait for replies that are sampling, */
    GATHER_PART = 50, /* or this part of the pass before */
    ALIKE = 32        /* tokens that are worth waiting for */
};

/* In times of a pass of the replies alone.  WAIT: how long a reply waits at most
 * between the steps of a piece, which are halves of layers; WAIT_BEFORE: before the
 * first step, where more is done at a time; STEP: how long a step should take. */
static const double WAIT = 0.65, WAIT_BEFORE = 0.45, STEP = 0.25;

typedef struct waiting waiting;
struct waiting {
    waiting *next;
    cf_advance part;
    const cf_token *ids; /* [n] of a whole prompt; NULL: something else */
    size_t n;
    size_t n_lent;     /* of them, taken over from another prompt */
    cf_cancel *cancel; /* may be NULL */
    bool is_reply;     /* a token after the other */
    bool is_long;      /* rule 3 */
    bool can_share;    /* rule 4 */
    bool is_done;
    uint64_t asked_us; /* of a prompt: when its request came */
    uint64_t turn;     /* of a long prompt: when it had its last piece */
    cf_status st;
    cf_error err;
};

/* The latest microseconds of something. */
typedef struct cost {
    double v[3];
    size_t n;
} cost;

struct cf_joint {
    pthread_mutex_t lock;
    pthread_cond_t changed; /* an entry came or is done, a pass is over */
    waiting *first;
    size_t n_active, n_holding;
    bool is_busy, is_paused;
    uint64_t eldest; /* when the first of the latest replies began */
    /* Of the thread that computes. */
    cost usual;         /* passes of replies alone, beside no piece if it can be */
    uint64_t served_us; /* when the last pass with replies ended */
    double took_us;     /* the last pass, but for a piece */
    uint64_t turn;      /* counts pieces */
    size_t piece;       /* rows of a long prompt in a pass */
    double step;        /* seven of eight steps take less for each row of a piece */
};

cf_status cf_joint_new(cf_joint **out, cf_error *err)
{
    cf_joint *j = cf_calloc(1, sizeof *j);
    if (j == NULL) {
        return cf_oom(err);
    }
    pthread_mutex_init(&j->lock, NULL);
    pthread_cond_init(&j->changed, NULL);
    j->piece = PIECE_FIRST;
    j->eldest = UINT64_MAX;
    *out = j;
    return CF_OK;
}

void cf_joint_free(cf_joint *j)
{
    if (j != NULL) {
        pthread_cond_destroy(&j->changed);
        pthread_mutex_destroy(&j->lock);
        cf_free(j);
    }
}

void cf_joint_enter(cf_joint *j)
{
    pthread_mutex_lock(&j->lock);
    j->n_active++;
    pthread_mutex_unlock(&j->lock);
}

void cf_joint_leave(cf_joint *j)
{
    pthread_mutex_lock(&j->lock);
    j->n_active--;
    if (j->n_active == 0) {
        j->eldest = UINT64_MAX;
    }
    pthread_cond_broadcast(&j->changed);
    pthread_mutex_unlock(&j->lock);
}

void cf_joint_asked(cf_session *session, uint64_t us)
{
    session->asked_us = us;
}

void cf_joint_hold(cf_joint *j)
{
    pthread_mutex_lock(&j->lock);
    j->n_holding++; /* the next pass waits for it */
    pthread_cond_broadcast(&j->changed);
    while (j->is_busy && !j->is_paused) {
        pthread_cond_wait(&j->changed, &j->lock);
    }
    j->n_holding--;
}

void cf_joint_release(cf_joint *j)
{
    pthread_cond_broadcast(&j->changed);
    pthread_mutex_unlock(&j->lock);
}

/* ---- prompts that begin alike -------------------------------------------- */

static size_t n_common(const waiting *a, const waiting *b)
{
    const size_t most = a->n < b->n ? a->n : b->n;
    size_t n = 0;
    while (n < most && a->ids[n] == b->ids[n]) {
        n++;
    }
    return n;
}

/* The entry before w that has, or will have, most of its beginning and more than
 * it has itself; NULL: none.  A recurrent state is not to be had in the middle of
 * a prompt. */
static const waiting *alike(const cf_joint *j, const waiting *w, size_t *n)
{
    const waiting *found = NULL;
    *n = w->n - w->part.n + ALIKE;
    for (const waiting *e = j->first; e != w; e = e->next) {
        const bool is_one = e->ids != NULL && (!e->is_done || e->st == CF_OK);
        const size_t k = is_one ? n_common(e, w) : 0;
        if (k > *n) {
            found = e;
            *n = k;
        }
    }
    return found;
}

static bool waits_for_alike(const cf_joint *j, const waiting *w)
{
    size_t n;
    return w->ids != NULL && w->can_share && alike(j, w, &n) != NULL;
}

/* Takes over what another entry has computed, if that is all that both have.
 * Without memory it is computed twice. */
static void take_over(const cf_joint *j, waiting *w)
{
    size_t n, n_have;
    cf_sync_result now;
    cf_session *s = w->part.session;
    const waiting *from = alike(j, w, &n);
    if (from == NULL || cf_session_tokens(from->part.session, &n_have) == NULL || n_have < n) {
        return;
    }
    if (cf_session_adopt(s, from->part.session, NULL) != CF_OK ||
        cf_session_match(s, w->ids, w->n, &now, NULL) != CF_OK) {
        w->can_share = false;
        return;
    }
    w->n_lent = now.n_kept;
    w->part.ids = w->ids + now.n_kept;
    w->part.n = w->n - now.n_kept;
}

/* Rule 4.  Locked, between passes. */
static void share(cf_joint *j, const waiting *but)
{
    for (waiting *w = j->first; w != NULL; w = w->next) {
        if (w != but && !w->is_done && w->ids != NULL && w->can_share) {
            take_over(j, w);
        }
    }
}

/* ---- a pass ------------------------------------------------------------- */

/* Entries that are to be computed: done ones stay until their threads wake. */
static size_t n_open(const cf_joint *j)
{
    size_t n = 0;
    for (const waiting *w = j->first; w != NULL; w = w->next) {
        n += !w->is_done;
    }
    return n;
}

/* Lets those in who hold the others' sessions.  Locked. */
static void let_in(cf_joint *j)
{
    j->is_paused = true;
    while (j->n_holding > 0) {
        pthread_cond_broadcast(&j->changed);
        pthread_cond_wait(&j->changed, &j->lock);
    }
    j->is_paused = false;
}

/* Waits a moment for replies that have not come back for their next token.
 * Locked. */
static void gather(cf_joint *j)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += 1000 * (long)fmax(GATHER_US, fmin(j->took_us, 1e6) / GATHER_PART);
    if (until.tv_nsec >= 1000000000) {
        until.tv_sec++;
        until.tv_nsec -= 1000000000;
    }
    j->is_paused = true;
    while (n_open(j) < j->n_active && pthread_cond_timedwait(&j->changed, &j->lock, &until) == 0) {
    }
    j->is_paused = false;
}

static bool is_cancelled(const waiting *w)
{
    return w->cancel != NULL && atomic_load(w->cancel);
}

static void finish(waiting *w, cf_status st)
{
    w->st = st;
    w->is_done = true;
}

/* Locked. */
static void drop_cancelled(cf_joint *j, const waiting *but)
{
    for (waiting *w = j->first; w != NULL; w = w->next) {
        if (w != but && !w->is_done && is_cancelled(w)) {
            finish(w, cf_fail(&w->err, CF_ECANCELLED, "cancelled"));
        }
    }
}

/* Replies, which take a row or a few, come before prompts, which share the rows
 * that they may have beside replies; without `but`.  Locked. */
static size_t choose(const cf_joint *j, const waiting *but, waiting *v[PARTS_MAX])
{
    size_t n = 0, n_replies = 0, left = SIZE_MAX;
    for (int is_prompt = 0; is_prompt < 2; is_prompt++) {
        for (waiting *w = j->first; w != NULL && n < PARTS_MAX && left > 0; w = w->next) {
            const bool is_next = w != but && !w->is_done && w->is_reply == !is_prompt;
            if (is_next && !(but != NULL && w->is_long) && !waits_for_alike(j, w)) {
                v[n++] = w;
                if (is_prompt) {
                    left = n_replies > 0 && j->eldest <= w->asked_us && left > LONG ? LONG : left;
                    w->part.n_max = left < w->part.n ? left : 0;
                    left -= left < w->part.n ? left : w->part.n;
                }
            }
        }
        n_replies = n;
        left = but != NULL ? SHORT_ROWS : n > 0 ? ALONG : SIZE_MAX;
    }
    return n;
}

/* What a pass made of an entry.  Locked. */
static void settle(waiting *w, const cf_advance *part, cf_status st)
{
    w->part.n_done = part->n_done;
    if (st == CF_OK && w->ids != NULL) {
        w->part.ids += part->n_done;
        w->part.n -= part->n_done;
    }
    if (st != CF_OK || (w->ids != NULL ? w->part.n == 0 : part->n_done > 0)) {
        finish(w, st);
    }
}

/* st[i] is how part i ended.  Unlocked. */
static void compute(waiting *const *v, cf_advance *parts, cf_status *st, size_t n)
{
    cf_error *err = &v[0]->err;
    st[0] = cf_batch_pass(parts, n, n == 1 ? v[0]->cancel : NULL, err);
    for (size_t i = 0; i < n && n > 1; i++) {
        st[i] = i == 0 || st[0] == CF_OK ? st[0] : cf_batch_pass(&parts[i], 1, NULL, &v[i]->err);
    }
    if (n > 1 && st[0] != CF_OK) {
        st[0] = cf_batch_pass(parts, 1, NULL, err);
    }
}

/* A pass over others than `but`, a long prompt that is being read; NULL: none is.
 * Locked before and after. */
static void serve(cf_joint *j, const waiting *but, waiting *const *v, size_t n)
{
    cf_advance parts[PARTS_MAX];
    cf_status st[PARTS_MAX];
    size_t n_replies = 0;
    for (size_t i = 0; i < n; i++) {
        const uint64_t began = v[i]->part.session->began_us;
        parts[i] = v[i]->part;
        if (v[i]->is_reply) {
            j->eldest = n_replies == 0 || began < j->eldest ? began : j->eldest;
            n_replies++;
        }
    }
    pthread_mutex_unlock(&j->lock);
    const uint64_t from = cf_os_monotonic_us();
    compute(v, parts, st, n);
    const uint64_t now = cf_os_monotonic_us();
    j->took_us = (double)(now - from);
    if (n_replies == n && (but == NULL || j->usual.n == 0)) {
        j->usual.v[j->usual.n++ % 3] = j->took_us;
    }
    j->served_us = n_replies > 0 ? now : j->served_us;
    pthread_mutex_lock(&j->lock);
    for (size_t i = 0; i < n; i++) {
        settle(v[i], &parts[i], st[i]);
    }
    pthread_cond_broadcast(&j->changed);
}

/* ---- long prompts ------------------------------------------------------- */

/* The middle one of three: a pass that was interrupted does not count. */
static double middle(const cost *c)
{
    const double a = c->v[0], b = c->n > 1 ? c->v[1] : a, d = c->n > 2 ? c->v[2] : b;
    return fmax(fmin(a, b), fmin(fmax(a, b), d));
}

/* Whether replies would wait too long after another step. */
static bool is_due(const cf_joint *j, double wait)
{
    const double us = (double)(cf_os_monotonic_us() - j->served_us);
    return us + j->step * (double)j->piece > wait * middle(&j->usual);
}

typedef struct piece {
    cf_joint *joint;
    const waiting *prompt;
    size_t n_row;
    uint64_t step_from; /* when the step at hand began; 0: none has */
} piece;

/* The longest step says little: after a pass the first ones wait for replies that
 * are sampling.  The halves of a layer differ: of the longer ones, three of four
 * take less than the estimate at least. */
static void end_step(const piece *p)
{
    cf_joint *j = p->joint;
    const double us = (double)(cf_os_monotonic_us() - p->step_from) / (double)p->n_row;
    if (p->step_from != 0) {
        j->step = j->step == 0 ? us : j->step * (us > j->step ? 1.3 : 0.96);
    }
}

/* Between two steps of a piece. */
static void pause(void *ud)
{
    piece *p = ud;
    cf_joint *j = p->joint;
    waiting *v[PARTS_MAX];
    end_step(p);
    pthread_mutex_lock(&j->lock);
    let_in(j);
    drop_cancelled(j, p->prompt);
    share(j, p->prompt);
    if (is_due(j, WAIT)) {
        gather(j);
        const size_t n = choose(j, p->prompt, v);
        if (n > 0) {
            serve(j, p->prompt, v, n);
        }
    }
    pthread_mutex_unlock(&j->lock);
    p->step_from = cf_os_monotonic_us();
}

/* Computes the next rows of a long prompt, and chooses how many come after them:
 * as many as a step allows.  Locked before and after. */
static void run_piece(cf_joint *j, waiting *w)
{
    cf_advance part = w->part;
    part.n = part.n < j->piece ? part.n : j->piece;
    part.n_max = 0;
    piece p = {.joint = j, .prompt = w, .n_row = part.n};
    const cf_pause between = {pause, &p};
    pthread_mutex_unlock(&j->lock);
    const uint64_t from = cf_os_monotonic_us();
    cf_status st = cf_batch_pass_between(&part, 1, &between, w->cancel, &w->err);
    p.step_from = p.step_from != 0 ? p.step_from : from; /* there was no pause */
    end_step(&p);
    pthread_mutex_lock(&j->lock);
    settle(w, &part, st);
    w->turn = ++j->turn;
    const double rows = (double)part.n, usual = middle(&j->usual);
    const double fits = usual > 0 && j->step > 0 ? STEP * usual / j->step : rows;
    j->piece = (size_t)fmin(fmax(fmin(fmax(fits, rows / 2), 2 * rows), 1), PIECE_MAX);
}

/* The prompt whose turn it is to be computed in pieces, because somebody is active
 * who is no prompt: a reply, or one on its way back; NULL: none.  Locked. */
static waiting *long_prompt(const cf_joint *j)
{
    size_t n_prompts = 0;
    waiting *found = NULL;
    for (waiting *w = j->first; w != NULL; w = w->next) {
        const bool is_prompt = !w->is_reply && !w->is_done;
        n_prompts += is_prompt;
        if (is_prompt && w->is_long && (found == NULL || w->turn < found->turn) &&
            !waits_for_alike(j, w)) {
            found = w;
        }
    }
    const bool is_beside = found != NULL && j->n_active > n_prompts;
    return is_beside && j->eldest <= found->asked_us ? found : NULL;
}

/* One pass for all that wait.  Locked before and after. */
static void lead(cf_joint *j)
{
    waiting *v[PARTS_MAX];
    j->is_busy = true;
    if (long_prompt(j) == NULL) {
        gather(j);
    }
    drop_cancelled(j, NULL);
    share(j, NULL);
    waiting *prompt = long_prompt(j);
    j->piece = prompt != NULL ? j->piece : PIECE_FIRST;
    const size_t n = prompt == NULL || is_due(j, WAIT_BEFORE) ? choose(j, prompt, v) : 0;
    if (n > 0) {
        serve(j, prompt, v, n);
    } else if (prompt != NULL) {
        run_piece(j, prompt);
    }
    share(j, NULL);
    j->is_busy = false;
    pthread_cond_broadcast(&j->changed);
}

static void remove_entry(cf_joint *j, waiting *w)
{
    waiting **at = &j->first;
    while (*at != w) {
        at = &(*at)->next;
    }
    *at = w->next;
}

/* ---- a session ---------------------------------------------------------- */

/* Cuts the session to what it or its cache of prefixes has of the ids, and says
 * how many that is.  A prompt that a file brought is checked before it is used
 * for the first time: a sync to it computes its last token. */
static cf_status keep_known(cf_session *s, const cf_token *ids, size_t n, cf_cancel *cancel,
                            cf_sync_result *out, size_t *n_have, cf_error *err)
{
    cf_sync_result lent;
    CF_TRY(cf_session_match(s, ids, n, out, err));
    *n_have = out->n_kept;
    size_t more = cf_session_would_sync(s, ids, n);
    if (more > out->n_kept) {
        const cf_run run = {.cancel = cancel};
        CF_TRY(cf_session_sync(s, ids, more, &run, &lent, err));
        out->n_common = lent.n_common;
        out->n_kept = lent.n_kept;
        out->n_new = n - lent.n_kept;
        *n_have = more;
    }
    return CF_OK;
}

/* Puts an entry on the list until it is done.  A pass over a piece outlasts those
 * that its pauses are for, so the prompt's own thread makes it.  run: of a prompt.
 * Locked before and after. */
static void wait_for(cf_joint *j, waiting *w, const cf_run *run)
{
    const size_t n_all = w->part.n;
    size_t n_left = n_all;
    waiting **at = &j->first;
    while (*at != NULL) { /* what came first is computed first */
        at = &(*at)->next;
    }
    *at = w;
    pthread_cond_broadcast(&j->changed);
    while (!w->is_done) {
        const waiting *prompt = long_prompt(j);
        if (run != NULL && run->progress != NULL && w->part.n < n_left) {
            n_left = w->part.n;
            pthread_mutex_unlock(&j->lock);
            run->progress(run->ud, n_all - n_left, n_all);
            pthread_mutex_lock(&j->lock);
        } else if (!j->is_busy && j->n_holding == 0 && (prompt == NULL || prompt == w)) {
            lead(j);
        } else {
            pthread_cond_wait(&j->changed, &j->lock);
        }
    }
    remove_entry(j, w);
}

static cf_status result(const waiting *w, cf_error *err)
{
    if (w->st != CF_OK && err != NULL) {
        *err = w->err;
    }
    return w->st;
}

cf_status cf_joint_sync(void *ud, cf_session *session, const cf_token *ids, size_t n,
                        const cf_run *run, cf_sync_result *out, cf_error *err)
{
    cf_joint *j = ud;
    size_t n_have;
    waiting w = {.cancel = run != NULL ? run->cancel : NULL,
                 .ids = ids,
                 .n = n,
                 .can_share = !cf_session_is_recurrent(session),
                 .asked_us = session->asked_us != 0 ? session->asked_us : cf_os_monotonic_us()};
    session->asked_us = 0;
    if (n == 0 || n > cf_session_n_ctx(session)) {
        return cf_fail(err, CF_ELIMIT, "%zu tokens do not fit the context of %u", n,
                       cf_session_n_ctx(session));
    }
    cf_joint_hold(j);
    cf_status st = keep_known(session, ids, n, w.cancel, out, &n_have, err);
    if (st == CF_OK) {
        w.part = (cf_advance){.session = session,
                              .ids = ids + n_have,
                              .n = n - n_have,
                              .keep_at = run != NULL ? run->keep_at : 0,
                              .hidden = run != NULL ? run->hidden : NULL,
                              .ud = run != NULL ? run->ud : NULL};
        w.is_long = w.part.n > LONG;
        wait_for(j, &w, run);
        st = result(&w, err);
    }
    if (st == CF_OK && w.n_lent > 0) {
        out->n_common = out->n_kept = w.n_lent;
        out->n_new = n - w.n_lent;
    }
    if (st == CF_OK) {
        cf_session_offer(session);
        session->began_us = cf_os_monotonic_us();
    }
    cf_joint_release(j);
    return st;
}

cf_status cf_joint_pass(void *ud, cf_advance *part, cf_cancel *cancel, cf_error *err)
{
    cf_joint *j = ud;
    const bool is_reply = part->n == 1 || part->keeps_rows;
    waiting w = {.cancel = cancel,
                 .part = *part,
                 .is_reply = is_reply,
                 .is_long = !is_reply && part->n > LONG,
                 .asked_us = cf_os_monotonic_us()};
    pthread_mutex_lock(&j->lock);
    wait_for(j, &w, NULL);
    pthread_mutex_unlock(&j->lock);
    part->n_done = w.part.n_done;
    return result(&w, err);
}
