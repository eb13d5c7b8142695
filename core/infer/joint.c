/*
 * joint.c - gathers waiting sessions and computes a pass for all of them.
 *
 * Rules:
 *  1. is_busy is set while a pass is computed, by the thread that computes it,
 *     without the lock; no session is read or changed by others meanwhile.
 *  2. A waiting entry is on the list from its sync until it is done, and only
 *     the computing thread, or nobody, changes it.
 *  3. A prompt of more than LONG tokens is computed in pieces beside replies, as
 *     long as the costs allow that were measured: see plan().
 *  4. A failure of a pass is tried again entry by entry, so that one request
 *     cannot fail another.
 */
#include "core/api/joint.h"

#include <math.h>
#include <pthread.h>
#include <string.h>
#include <time.h>

#include "core/base/alloc.h"
#include "core/base/os.h"

enum {
    PARTS_MAX = 64,
    LONG = 1024, /* tokens of a prompt that is cut */
    PIECE_MAX = 512,
    MOST_FIRST = 8,           /* rows beyond the first, of a first piece */
    ROUND = 16,               /* passes, of which two measure what others cost */
    GATHER_NS = 2000000,      /* longest wait for replies that are sampling */
    GATHER_LONG_NS = 10000000 /* while a long prompt could go on without them */
};

typedef struct waiting waiting;
struct waiting {
    waiting *next;
    cf_advance part;
    cf_cancel *cancel; /* may be NULL */
    bool is_whole;     /* done when all of the part is taken, not some of it */
    bool is_reply;     /* a token after the other */
    bool is_long;      /* rule 3 */
    bool is_done;
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
    bool is_busy, was_idle; /* since the last pass */
    /* Of the thread that computes.  From the end of a pass to the end of the next
     * a reply has to wait: without a long prompt, with one row of it more than
     * that, and more for each further row. */
    cost usual, first_row, row;
    size_t piece, turn;   /* rows of long prompts in a pass, and its place in a round */
    size_t most;          /* rows that a piece has at most beyond the first */
    uint64_t previous_us; /* when a pass with replies ended; 0: no reply went on since */
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
    j->was_idle = j->was_idle || j->n_active == 0;
    pthread_cond_broadcast(&j->changed);
    pthread_mutex_unlock(&j->lock);
}

void cf_joint_hold(cf_joint *j)
{
    pthread_mutex_lock(&j->lock);
    j->n_holding++; /* the next pass waits for it */
    while (j->is_busy) {
        pthread_cond_wait(&j->changed, &j->lock);
    }
    j->n_holding--;
}

void cf_joint_release(cf_joint *j)
{
    pthread_cond_broadcast(&j->changed);
    pthread_mutex_unlock(&j->lock);
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

/* Waits a moment for replies that have not come back for their next token.
 * Locked. */
static void gather(cf_joint *j)
{
    struct timespec until;
    bool has_long = false;
    for (const waiting *w = j->first; w != NULL; w = w->next) {
        has_long = has_long || (w->is_long && !w->is_done);
    }
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += has_long ? GATHER_LONG_NS : GATHER_NS;
    if (until.tv_nsec >= 1000000000) {
        until.tv_sec++;
        until.tv_nsec -= 1000000000;
    }
    while (n_open(j) < j->n_active && pthread_cond_timedwait(&j->changed, &j->lock, &until) == 0) {
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
            if (!w->is_done && w->is_reply == !is_prompt) {
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

static void compute(waiting *const *v, cf_advance *parts, size_t n)
{
    cf_error err;
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

/* The parts of a pass: beside replies at most `piece` rows of long prompts, and
 * those that get none wait.  Returns how many there are; *n_rows are of long
 * prompts. */
static size_t cut(const cf_joint *j, waiting **v, cf_advance *parts, size_t n, bool has_replies,
                  size_t *n_rows)
{
    size_t n_kept = 0;
    *n_rows = 0;
    for (size_t i = 0; i < n; i++) {
        cf_advance part = v[i]->part;
        if (has_replies && v[i]->is_long) {
            const size_t left = j->piece - *n_rows;
            part.n = part.n < left ? part.n : left;
            *n_rows += part.n;
        }
        if (part.n > 0) {
            v[n_kept] = v[i];
            parts[n_kept++] = part;
        }
    }
    return n_kept;
}

static void note(cost *c, double us)
{
    c->v[c->n++ % 3] = us;
}

/* The middle one of three: a pass that was interrupted does not count. */
static double middle(const cost *c)
{
    const double a = c->v[0], b = c->n > 1 ? c->v[1] : a, d = c->n > 2 ? c->v[2] : b;
    return fmax(fmin(a, b), fmin(fmax(a, b), d));
}

/* Chooses the rows of this pass.  A reply may wait two and a half times as long
 * as usual.  Deep in a prompt the first row alone can take longer than that, by
 * reading the whole cache: then the others get as much time as it has. */
static void plan(cf_joint *j)
{
    const double first = middle(&j->first_row), room = 1.5 * middle(&j->usual) - first;
    const double n = (room >= 0 ? room : first) / fmax(middle(&j->row), 1e-3);
    if (j->turn < 2) {
        j->piece = j->turn;
    } else {
        j->piece = 1 + (size_t)fmin(n, (double)j->most);
        j->most = j->piece < PIECE_MAX / 2 ? 2 * j->piece : PIECE_MAX - 1;
    }
    j->turn = (j->turn + 1) % ROUND;
}

/* Without a long prompt the next one starts with what its own rows cost. */
static void forget(cf_joint *j)
{
    j->first_row = j->row = (cost){.n = 0};
    j->turn = 0;
    j->most = MOST_FIRST;
}

/* Notes how long replies waited for a pass with so many rows of long prompts. */
static void measure(cf_joint *j, size_t n_rows, uint64_t us)
{
    const double more = fmax((double)us - middle(&j->usual), 0);
    if (n_rows == 0) {
        note(&j->usual, (double)us);
    } else if (n_rows == 1) {
        note(&j->first_row, more);
    } else {
        note(&j->row, fmax(more - middle(&j->first_row), 0) / (double)(n_rows - 1));
    }
}

/* `has_replies`: some are active, waiting or on their way back. */
static void run_pass(cf_joint *j, waiting **v, size_t n, bool has_replies)
{
    cf_advance parts[PARTS_MAX];
    size_t n_rows = 0, n_replies = 0, n_long = 0;
    for (size_t i = 0; i < n; i++) {
        n_replies += v[i]->is_reply;
        n_long += v[i]->is_long;
    }
    if (n_long == 0) {
        forget(j);
    } else if (has_replies) {
        plan(j);
    }
    const bool is_alone = n == n_replies + n_long; /* no other prompt */
    const size_t n_parts = cut(j, v, parts, n, has_replies, &n_rows);
    compute(v, parts, n_parts);
    const uint64_t now = cf_os_monotonic_us();
    if (n_replies > 0 && is_alone && j->previous_us > 0) {
        measure(j, n_rows, now - j->previous_us);
    }
    j->previous_us = n_replies > 0 ? now : 0;
}

static size_t n_prompts(const cf_joint *j)
{
    size_t n = 0;
    for (const waiting *w = j->first; w != NULL; w = w->next) {
        n += !w->is_reply && !w->is_done;
    }
    return n;
}

/* One pass for all that wait.  Locked before and after. */
static void lead(cf_joint *j)
{
    waiting *v[PARTS_MAX];
    j->is_busy = true;
    gather(j);
    j->previous_us = j->was_idle ? 0 : j->previous_us;
    j->was_idle = false;
    for (waiting *w = j->first; w != NULL; w = w->next) {
        if (!w->is_done && is_cancelled(w)) {
            finish(w, cf_fail(&w->err, CF_ECANCELLED, "cancelled"));
        }
    }
    size_t n = choose(j, v);
    const bool has_replies = j->n_active > n_prompts(j);
    pthread_mutex_unlock(&j->lock);
    run_pass(j, v, n, has_replies);
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

/* Puts an entry on the list until it is done.  Locked before and after. */
static void wait_for(cf_joint *j, waiting *w)
{
    waiting **at = &j->first;
    while (*at != NULL) { /* what came first is computed first */
        at = &(*at)->next;
    }
    *at = w;
    pthread_cond_broadcast(&j->changed);
    while (!w->is_done) {
        if (!j->is_busy && j->n_holding == 0) {
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
        w.is_long = w.part.n > LONG;
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
    waiting w = {
        .cancel = cancel, .part = *part, .is_reply = part->n == 1, .is_long = part->n > LONG};
    pthread_mutex_lock(&j->lock);
    wait_for(j, &w);
    pthread_mutex_unlock(&j->lock);
    part->n_done = w.part.n_done;
    return result(&w, err);
}
