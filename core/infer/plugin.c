/*
 * plugin.c - sessions on the sequences of an engine plug-in's helper process.
 *
 * Rules that always hold between calls:
 *   1. Sequence i of the helper holds the tokens slot[i].ids[0..n).
 *   2. At most one slot of a session is not a kept state.  A kept state, a copy for
 *      engines that cannot cut a sequence, does not change while its session lives.
 */
#include "core/infer/plugin.h"

#include <assert.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/process.h"
#include "core/helper/helper_wire.h"

enum { LOOK_MS = 20, SAID_MAX = 160, ROWS = CF_BATCH_DEFAULT };

typedef struct slot {
    cf_token *ids; /* [cap] */
    size_t cap;
    uint32_t n;              /* tokens, with those that this pass adds */
    uint32_t n_done;         /* of them, that are computed */
    uint64_t used;           /* the pass that used it last; 0: nobody needs it */
    const cf_session *owner; /* or NULL */
    bool is_kept;
} slot;

struct cf_plugin {
    cf_process process;
    char *program;
    cf_helper_open model;
    cf_plugin_info info;
    char engine[2 * CF_PLUGIN_NAME + 4];
    char said[SAID_MAX]; /* the last line that the helper wrote to standard error */
    size_t n_said;
    slot slot[CF_PLUGIN_SEQS];
    uint64_t n_pass;
    cf_plugin_row row[ROWS]; /* of the request that is being made */
    uint32_t n_row;
    float *logits; /* [cap_out, n_vocab] of the pass, n_out of which are there */
    uint32_t n_out, cap_out;
};

/* ---- the process --------------------------------------------------------- */

/* Waits until a stream is ready, and keeps the last line of what the helper says. */
static void wait_for(cf_plugin *p, int fd, short events, int ms)
{
    struct pollfd fds[2] = {{.fd = fd, .events = events}, {.fd = p->process.err, .events = POLLIN}};
    char block[4096];
    poll(fds, 2, ms);
    size_t n = cf_process_read(&p->process.err, block, sizeof block);
    for (size_t i = 0; i < n; i++) {
        if (block[i] == '\n') {
            p->n_said = 0; /* the next byte begins a line */
        } else if (p->n_said + 1 < sizeof p->said) {
            p->said[p->n_said++] = block[i];
            p->said[p->n_said] = '\0';
        }
    }
}

/* The helper has ended, or does not speak as it should. */
static cf_status ended(cf_plugin *p, cf_error *err)
{
    cf_buf how = CF_BUF_INIT;
    for (int i = 0; i < 25 && (p->process.err >= 0 || !cf_process_has_ended(&p->process)); i++) {
        wait_for(p, -1, 0, LOOK_MS);
    }
    bool by_itself = cf_process_has_ended(&p->process);
    cf_process_how(&p->process, &how);
    cf_process_end(&p->process, 0);
    for (size_t i = 0; i < CF_PLUGIN_SEQS; i++) {
        p->slot[i].n = p->slot[i].n_done = 0;
    }
    if (by_itself) {
        cf_fail(err, CF_EBUSY, "the engine's helper process ended (%.40s)%s%.150s",
                cf_buf_cstr(&how), p->said[0] != '\0' ? ": " : "", p->said);
    } else {
        cf_fail(err, CF_EBUSY,
                "%.120s is not of this version of confab: run make engine-llama again", p->program);
    }
    cf_buf_deinit(&how);
    return CF_EBUSY;
}

static bool write_all(cf_plugin *p, const void *from, size_t n)
{
    for (const char *at = from; n > 0 && p->process.in >= 0;) {
        size_t put = cf_process_write(&p->process, at, n);
        at += put;
        n -= put;
        if (put == 0 && p->process.in >= 0) {
            wait_for(p, p->process.in, POLLOUT, -1);
        }
    }
    return n == 0;
}

/* With `cancel`, asks the helper once to stop when it is set. */
static bool read_all(cf_plugin *p, void *to, size_t n, const cf_cancel *cancel)
{
    const cf_helper_request stop = {.op = CF_HELPER_STOP};
    for (char *at = to; n > 0 && p->process.out >= 0;) {
        size_t got = cf_process_read(&p->process.out, at, n);
        at += got;
        n -= got;
        if (got == 0 && cancel != NULL && atomic_load_explicit(cancel, memory_order_relaxed)) {
            (void)write_all(p, &stop, sizeof stop);
            cancel = NULL;
        }
        if (got == 0 && p->process.out >= 0) {
            wait_for(p, p->process.out, POLLIN, cancel != NULL ? LOOK_MS : -1);
        }
    }
    return n == 0;
}

/* Makes a request and reads the head of its reply, or all of one that refuses. */
static cf_status ask(cf_plugin *p, cf_helper_request q, const void *payload, uint64_t *n_reply,
                     const cf_cancel *cancel, cf_error *err)
{
    cf_helper_reply r = {.magic = 0};
    char why[CF_PLUGIN_WHY] = "";
    if (!write_all(p, &q, sizeof q) || !write_all(p, payload, q.n_bytes) ||
        !read_all(p, &r, sizeof r, cancel) || r.magic != CF_HELPER_MAGIC ||
        (r.result != CF_PLUGIN_OK &&
         (r.n_bytes != sizeof why || !read_all(p, why, sizeof why, NULL)))) {
        return ended(p, err);
    }
    *n_reply = r.n_bytes;
    why[sizeof why - 1] = '\0';
    switch (r.result) {
    case CF_PLUGIN_OK:
        return CF_OK;
    case CF_PLUGIN_FULL:
        return cf_fail(err, CF_ELIMIT,
                       "the engine's cache of %u tokens, which all its sequences share, is full "
                       "(--ctx)",
                       p->info.n_ctx);
    case CF_PLUGIN_STOPPED:
        return cf_fail(err, CF_ECANCELLED, "cancelled");
    default:
        return cf_fail(err, CF_EUNSUPPORTED, "the engine refuses: %s", why);
    }
}

/* The same, with a reply of n bytes. */
static cf_status ask_for(cf_plugin *p, cf_helper_request q, const void *payload, void *to, size_t n,
                         const cf_cancel *cancel, cf_error *err)
{
    uint64_t n_reply = 0;
    CF_TRY(ask(p, q, payload, &n_reply, cancel, err));
    return n_reply == n && read_all(p, to, n, NULL) ? CF_OK : ended(p, err);
}

/* A request without a reply; where the helper has ended, the next pass says so. */
static void tell(cf_plugin *p, cf_helper_op op, const slot *s, uint32_t to)
{
    const cf_helper_request q = {.op = op, .from = (uint32_t)(s - p->slot), .to = to};
    (void)write_all(p, &q, sizeof q);
}

static cf_status new_plugin(cf_plugin **out, const char *program, cf_error *err)
{
    cf_plugin *p = cf_calloc(1, sizeof *p);
    if (p != NULL) {
        p->process = (cf_process)CF_PROCESS_INIT;
        p->program = cf_strndup(program, strlen(program));
    }
    if (p == NULL || p->program == NULL) {
        cf_free(p);
        return cf_oom_for(err, "an engine");
    }
    *out = p;
    return CF_OK;
}

static cf_status start(cf_plugin *p, cf_error *err)
{
    const char *const argv[] = {p->program, NULL};
    p->said[0] = '\0';
    p->n_said = 0;
    return cf_process_start(&p->process, &(cf_process_spec){.argv = argv}, err);
}

/* Starts the helper with the model, unless it runs; one that cannot is ended. */
static cf_status need_helper(cf_plugin *p, cf_error *err)
{
    const cf_plugin_info *i = &p->info;
    if (p->process.pid != 0) {
        return CF_OK;
    }
    cf_status st = start(p, err);
    CF_THEN(st, ask_for(p, (cf_helper_request){.op = CF_HELPER_OPEN, .n_bytes = sizeof p->model},
                        &p->model, &p->info, sizeof p->info, NULL, err));
    if (st == CF_OK &&
        (i->n_vocab == 0 || i->n_vocab > CF_VOCAB_MAX || i->n_ctx == 0 || i->n_ctx > CF_CTX_MAX ||
         i->n_batch == 0 || i->n_seq == 0 || i->n_seq > CF_PLUGIN_SEQS)) {
        st = cf_fail(err, CF_EUNSUPPORTED, "the engine gives sizes that are out of range");
    }
    if (st != CF_OK) {
        cf_process_end(&p->process, 0);
    }
    return st;
}

cf_status cf_plugin_open(cf_plugin **out, const char *program, const char *model,
                         const cf_plugin_options *o, cf_error *err)
{
    cf_plugin *p = NULL;
    if (strlen(model) >= sizeof p->model.path) {
        return cf_fail(err, CF_EINVAL, "%.80s...: the name is too long", model);
    }
    CF_TRY(new_plugin(&p, program, err));
    assert(p != NULL);
    p->model.options = *o;
    memcpy(p->model.path, model, strlen(model));
    cf_status st = need_helper(p, err);
    if (st != CF_OK) {
        cf_plugin_close(p);
        return st;
    }
    snprintf(p->engine, sizeof p->engine, "%.*s (%.*s)", CF_PLUGIN_NAME - 1, p->info.engine,
             CF_PLUGIN_NAME - 1, p->info.device);
    *out = p;
    return CF_OK;
}

void cf_plugin_close(cf_plugin *p)
{
    for (size_t i = 0; p != NULL && i < CF_PLUGIN_SEQS; i++) {
        cf_free(p->slot[i].ids);
    }
    if (p != NULL) {
        cf_process_end(&p->process, 0);
        cf_free(p->program);
        cf_free_aligned(p->logits);
        cf_free(p);
    }
}

cf_status cf_engine_plugin_name(cf_buf *out, const char *program, cf_error *err)
{
    cf_plugin *p = NULL;
    char text[CF_PLUGIN_NAME] = "";
    CF_TRY(new_plugin(&p, program, err));
    assert(p != NULL);
    cf_status st = start(p, err);
    CF_THEN(st, ask_for(p, (cf_helper_request){.op = CF_HELPER_NAME}, NULL, text, sizeof text, NULL,
                        err));
    if (st == CF_OK) {
        cf_buf_addf(out, "%.*s", CF_PLUGIN_NAME - 1, text);
    }
    cf_plugin_close(p);
    return st;
}

const cf_plugin_info *cf_plugin_about(const cf_plugin *p)
{
    return &p->info;
}

const char *cf_plugin_engine(const cf_plugin *p)
{
    return p->engine;
}

/* ---- sequences ----------------------------------------------------------- */

static void cut(cf_plugin *p, slot *s, uint32_t n)
{
    if (s->n > n) {
        tell(p, CF_HELPER_CUT, s, n);
        s->n = s->n_done = n;
    }
}

void cf_plugin_forget(cf_plugin *p, const cf_session *s)
{
    for (size_t i = 0; i < CF_PLUGIN_SEQS; i++) {
        if (p->slot[i].owner == s) {
            p->slot[i].owner = NULL;
            p->slot[i].used = 0;
        }
    }
}

/* The slot with at least n tokens that was used longest ago; NULL: this pass uses
 * all of them. */
static slot *oldest(cf_plugin *p, uint32_t n, const slot *except)
{
    slot *best = NULL;
    for (uint32_t i = 0; i < p->info.n_seq; i++) {
        slot *s = &p->slot[i];
        if (s->n >= n && s != except && s->used < p->n_pass &&
            (best == NULL || s->used < best->used)) {
            best = s;
        }
    }
    return best;
}

static cf_status need_ids(slot *s, size_t n, cf_error *err)
{
    return cf_grow(&s->ids, &s->cap, n, sizeof *s->ids) ? CF_OK : cf_oom_for(err, "a sequence");
}

/* An empty slot, whose sequence may be another's until now; NULL: there is none. */
static slot *new_slot(cf_plugin *p, const slot *except)
{
    slot *s = oldest(p, 0, except);
    if (s != NULL) {
        cut(p, s, 0);
    }
    return s;
}

/* Makes a sequence a copy of another, whose first n tokens it will keep. */
static void copy(cf_plugin *p, slot *to, const slot *from, uint32_t n)
{
    tell(p, CF_HELPER_FORK, from, (uint32_t)(to - p->slot));
    memcpy(to->ids, from->ids, n * sizeof *to->ids);
    to->n = to->n_done = from->n;
}

/* Keeps the state of a sequence as it is now, where there is room. */
static cf_status keep_state(cf_plugin *p, const slot *s, cf_error *err)
{
    slot *to = new_slot(p, s);
    if (to != NULL) {
        CF_TRY(need_ids(to, s->n, err));
        copy(p, to, s, s->n);
        to->used = p->n_pass;
        to->owner = s->owner;
        to->is_kept = true;
    }
    return CF_OK;
}

static cf_token id_at(const cf_part *part, uint32_t pos)
{
    return pos < part->s->n_ready ? part->s->tokens[pos] : cf_source_id(&part->src, pos);
}

/* How many of the first `limit` tokens of a part's timeline a sequence can give. */
static uint32_t usable(const cf_plugin *p, const slot *s, const cf_part *part, uint32_t limit)
{
    uint32_t n = 0;
    while (n < s->n && n < limit && s->ids[n] == id_at(part, n)) {
        n++;
    }
    return p->info.is_recurrent != 0 && n < s->n ? 0 : n;
}

/* The sequence of a part's session, with what it has or another one has of the
 * timeline before the first logits that are wanted. */
static cf_status bring_slot(cf_plugin *p, const cf_part *part, slot **out, cf_error *err)
{
    uint32_t limit = part->s->n_ready;
    slot *own = NULL, *best = NULL;
    while (limit - part->s->n_ready < part->m && !cf_part_wants(part, limit - part->s->n_ready)) {
        limit++;
    }
    for (uint32_t i = 0; i < p->info.n_seq; i++) {
        own = p->slot[i].owner == part->s && !p->slot[i].is_kept ? &p->slot[i] : own;
    }
    uint32_t n = own != NULL ? usable(p, own, part, part->s->n_ready) : 0;
    for (uint32_t i = 0; n < limit && i < p->info.n_seq; i++) {
        uint32_t k = &p->slot[i] != own ? usable(p, &p->slot[i], part, limit) : 0;
        best = k > n ? &p->slot[i] : best;
        n = k > n ? k : n;
    }
    if (own == NULL) { /* a sequence that nobody needs is taken as it is */
        own = best != NULL && best->owner == NULL ? best : new_slot(p, best);
    }
    if (own == NULL) {
        return cf_fail(err, CF_ELIMIT, "more than %u sessions in one pass", p->info.n_seq);
    }
    CF_TRY(need_ids(own, part->s->n_ready + (size_t)part->m, err));
    if (best != NULL && best != own) {
        copy(p, own, best, n);
        best->used = best->is_kept ? p->n_pass - 1 : best->used;
    }
    cut(p, own, n);
    own->used = p->n_pass;
    own->owner = part->s;
    own->is_kept = false;
    *out = own;
    return CF_OK;
}

/* ---- a pass -------------------------------------------------------------- */

const float *cf_plugin_logits(const cf_plugin *p, size_t i)
{
    return p->logits + i * p->info.n_vocab;
}

static cf_status need_logits(cf_plugin *p, const cf_part *parts, size_t n, cf_error *err)
{
    uint32_t n_out = 0;
    for (size_t i = 0; i < n; i++) {
        for (uint32_t k = 0; k < parts[i].m; k++) {
            n_out += cf_part_wants(&parts[i], k);
        }
    }
    if (n_out > p->cap_out) {
        cf_free_aligned(p->logits);
        p->logits = cf_alloc_aligned(64, (size_t)n_out * p->info.n_vocab * sizeof *p->logits);
        p->cap_out = p->logits != NULL ? n_out : 0;
    }
    return n_out <= p->cap_out ? CF_OK : cf_oom_for(err, "the logits of a pass");
}

/* Has the rows that were added computed. */
static cf_status flush(cf_plugin *p, const cf_cancel *cancel, cf_error *err)
{
    uint32_t n_out = 0;
    const cf_helper_request q = {.op = CF_HELPER_PASS,
                                 .n_bytes = (uint32_t)(p->n_row * sizeof p->row[0])};
    for (uint32_t i = 0; i < p->n_row; i++) {
        n_out += p->row[i].wants_logits;
    }
    if (p->n_row > 0) {
        float *to = p->logits + (size_t)p->n_out * p->info.n_vocab;
        size_t n_bytes = (size_t)n_out * p->info.n_vocab * sizeof *to;
        CF_TRY(ask_for(p, q, p->row, to, n_bytes, cancel, err));
    }
    for (uint32_t i = 0; i < p->n_row; i++) {
        p->slot[p->row[i].seq].n_done = p->row[i].pos + 1;
    }
    p->n_out += n_out;
    p->n_row = 0;
    return CF_OK;
}

/* The rows of a part that its sequence lacks. */
static cf_status add_part(cf_plugin *p, const cf_part *part, slot *s, const cf_cancel *cancel,
                          cf_error *err)
{
    uint32_t first = part->s->n_ready;
    while (s->n < first + part->m) {
        uint32_t pos = s->n++;
        s->ids[pos] = id_at(part, pos);
        p->row[p->n_row++] =
            (cf_plugin_row){.id = s->ids[pos],
                            .seq = (uint32_t)(s - p->slot),
                            .pos = pos,
                            .wants_logits = pos >= first && cf_part_wants(part, pos - first)};
        bool keeps = p->info.is_recurrent != 0 && pos >= first &&
                     (pos + 1 == part->keep[0] || pos + 1 == part->keep[1]);
        if (keeps || p->n_row == ROWS || p->n_row == p->info.n_batch) {
            CF_TRY(flush(p, cancel, err));
        }
        if (keeps) {
            CF_TRY(keep_state(p, s, err));
        }
    }
    return CF_OK;
}

/* All parts once.  After a failure slots of this pass hold what they had computed, or
 * nothing where they cannot be cut. */
static cf_status compute(cf_plugin *p, const cf_part *parts, size_t n, const cf_cancel *cancel,
                         cf_error *err)
{
    slot *s[CF_PLUGIN_SEQS];
    cf_status st = CF_OK;
    p->n_row = p->n_out = 0;
    p->n_pass++;
    for (size_t i = 0; st == CF_OK && i < n; i++) {
        st = bring_slot(p, &parts[i], &s[i], err);
    }
    for (size_t i = 0; st == CF_OK && i < n; i++) {
        st = add_part(p, &parts[i], s[i], cancel, err);
    }
    CF_THEN(st, flush(p, cancel, err));
    for (uint32_t i = 0; st != CF_OK && i < p->info.n_seq; i++) {
        slot *one = &p->slot[i];
        if (one->used == p->n_pass && one->n > one->n_done) {
            cut(p, one, p->info.is_recurrent != 0 ? 0 : one->n_done);
        }
    }
    return st;
}

cf_status cf_plugin_forward(cf_plugin *p, const cf_part *parts, size_t n, const cf_cancel *cancel,
                            cf_error *err)
{
    slot *other;
    cf_status st = CF_OK;
    for (size_t i = 0; i < n; i++) {
        if (parts[i].hidden != NULL || parts[i].s->probe != NULL || parts[i].src.in != NULL) {
            return cf_fail(err, CF_EUNSUPPORTED,
                           "states, pictures and sounds need confab's own engine (-m without "
                           "llama:)");
        }
    }
    CF_THEN(st, need_helper(p, err));
    CF_THEN(st, need_logits(p, parts, n, err));
    CF_THEN(st, compute(p, parts, n, cancel, err));
    while (st == CF_ELIMIT && (other = oldest(p, 1, NULL)) != NULL) {
        cut(p, other, 0); /* without it there may be room */
        st = compute(p, parts, n, cancel, err);
    }
    return st;
}

/* ---- looking -------------------------------------------------------------- */

cf_status cf_plugin_see(cf_plugin *p, cf_plugin_look what, const cf_token *ids, uint32_t n,
                        float **out, size_t *n_out, const cf_cancel *cancel, cf_error *err)
{
    uint64_t n_bytes = 0;
    float *v = NULL;
    CF_TRY(need_helper(p, err));
    for (size_t i = 0; i < CF_PLUGIN_SEQS; i++) {
        p->slot[i].n = p->slot[i].n_done = 0;
    }
    CF_TRY(ask(p,
               (cf_helper_request){.op = CF_HELPER_LOOK,
                                   .from = (uint32_t)what,
                                   .n_bytes = (uint32_t)(n * sizeof *ids)},
               ids, &n_bytes, cancel, err));
    v = cf_alloc((size_t)n_bytes);
    if (v == NULL) {
        cf_process_end(&p->process, 0);
        return cf_oom_for(err, "what was seen");
    }
    if (!read_all(p, v, (size_t)n_bytes, NULL)) {
        cf_free(v);
        return ended(p, err);
    }
    *out = v;
    *n_out = (size_t)n_bytes / sizeof *v;
    return CF_OK;
}
