/*
 * joint.c - gathers waiting sessions and computes a pass for all of them.
 *
 * Rules:
 *  1. is_busy is set while a pass is computed, by the thread that computes it,
 *     without the lock; no session is read or changed by others meanwhile.
 *  2. A waiting entry is on the list from its sync until it is done, and only
 *     the computing thread, or nobody, changes it.
 *  3. A failure of a pass is tried again entry by entry, so that one request
 *     cannot fail another.
 */
#include "core/api/joint.h"

#include <pthread.h>
#include <string.h>
#include <time.h>

#include "core/base/alloc.h"

enum {
    PARTS_MAX = 64,
    GATHER_NS = 2000000 /* longest wait for replies that are sampling */
};

typedef struct waiting waiting;
struct waiting {
    waiting *next;
    cf_advance part;
    cf_cancel *cancel; /* may be NULL */
    bool is_whole;     /* done when all of the part is taken, not some of it */
    bool is_done;
    cf_status st;
    cf_error err;
};

struct cf_joint {
    pthread_mutex_t lock;
    pthread_cond_t changed; /* an entry came or is done, a pass is over */
    waiting *first;
    size_t n_waiting, n_active;
    bool is_busy;
};

cf_status cf_joint_new(cf_joint **out, cf_error *err)
{
    cf_joint *j = cf_calloc(1, sizeof *j);
    if (j == NULL) {
        return cf_oom(err);
    }
    pthread_mutex_init(&j->lock, NULL);
    pthread_cond_init(&j->changed, NULL);
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
    pthread_cond_broadcast(&j->changed);
    pthread_mutex_unlock(&j->lock);
}

void cf_joint_hold(cf_joint *j)
{
    pthread_mutex_lock(&j->lock);
    while (j->is_busy) {
        pthread_cond_wait(&j->changed, &j->lock);
    }
}

void cf_joint_release(cf_joint *j)
{
    pthread_mutex_unlock(&j->lock);
}

/* ---- a pass ------------------------------------------------------------- */

/* Waits a moment for replies that have not come back for their next token.
 * Locked. */
static void gather(cf_joint *j)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += GATHER_NS;
    if (until.tv_nsec >= 1000000000) {
        until.tv_sec++;
        until.tv_nsec -= 1000000000;
    }
    while (j->n_waiting < j->n_active &&
           pthread_cond_timedwait(&j->changed, &j->lock, &until) == 0) {
    }
}

static bool is_cancelled(const waiting *w)
{
    return w->cancel != NULL && atomic_load(w->cancel);
}

static void finish(waiting *w, cf_status st)
{
    w->is_done = true;
    w->st = st;
}

/* Replies, which take one row each, come before prompts.  Locked. */
static size_t choose(const cf_joint *j, waiting *v[PARTS_MAX])
{
    size_t n = 0;
    for (int is_prompt = 0; is_prompt < 2; is_prompt++) {
        for (waiting *w = j->first; w != NULL && n < PARTS_MAX; w = w->next) {
            if (!w->is_done && (w->part.n > 1) == is_prompt) {
                v[n++] = w;
            }
        }
    }
    return n;
}

static void take_done(waiting *w, const cf_advance *part)
{
    w->part.n_done = part->n_done;
    if (w->is_whole) {
        w->part.ids += part->n_done;
        w->part.n -= part->n_done;
    }
    if (w->is_whole ? w->part.n == 0 : part->n_done > 0) {
        finish(w, CF_OK);
    }
}

static void compute(waiting *const *v, size_t n)
{
    cf_advance parts[PARTS_MAX];
    cf_error err;
    for (size_t i = 0; i < n; i++) {
        parts[i] = v[i]->part;
    }
    if (cf_batch_pass(parts, n, NULL, &err) == CF_OK) {
        for (size_t i = 0; i < n; i++) {
            take_done(v[i], &parts[i]);
        }
        return;
    }
    for (size_t i = 0; i < n; i++) {
        cf_status st = cf_batch_pass(&parts[i], 1, NULL, &v[i]->err);
        if (st != CF_OK) {
            finish(v[i], st);
        } else {
            take_done(v[i], &parts[i]);
        }
    }
}

/* One pass for all that wait.  Locked before and after. */
static void lead(cf_joint *j)
{
    waiting *v[PARTS_MAX];
    j->is_busy = true;
    gather(j);
    for (waiting *w = j->first; w != NULL; w = w->next) {
        if (!w->is_done && is_cancelled(w)) {
            finish(w, cf_fail(&w->err, CF_ECANCELLED, "cancelled"));
        }
    }
    size_t n = choose(j, v);
    pthread_mutex_unlock(&j->lock);
    compute(v, n);
    pthread_mutex_lock(&j->lock);
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
    j->n_waiting--;
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

/* Puts an entry on the list until it is done.  Held before and after. */
static void wait_for(cf_joint *j, waiting *w)
{
    w->next = j->first;
    j->first = w;
    j->n_waiting++;
    pthread_cond_broadcast(&j->changed);
    while (!w->is_done) {
        if (!j->is_busy) {
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
    waiting w = {.cancel = run != NULL ? run->cancel : NULL, .is_whole = true};
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
                              .keep_at = run != NULL ? run->keep_at : 0};
        wait_for(j, &w);
        st = result(&w, err);
    }
    if (st == CF_OK) {
        cf_session_offer(session);
    }
    cf_joint_release(j);
    return st;
}

cf_status cf_joint_pass(void *ud, cf_advance *part, cf_cancel *cancel, cf_error *err)
{
    cf_joint *j = ud;
    waiting w = {.cancel = cancel, .part = *part};
    cf_joint_hold(j);
    wait_for(j, &w);
    cf_joint_release(j);
    part->n_done = w.part.n_done;
    return result(&w, err);
}
