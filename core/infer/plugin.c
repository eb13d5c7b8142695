/*
 * plugin.c - sessions on the sequences of an engine plug-in's helper process.
 *
 * Rules that always hold between calls:
 *   1. A slot with a ticket is a sequence of the helper's with `n` positions; the
 *      session that has the same ticket and number is at least that long, or was
 *      since its last pass.
 *   2. A slot whose `of` is not 0 is a kept state of the slot with that ticket: a
 *      shorter copy, for engines that cannot cut a sequence.
 */
#include "core/infer/plugin.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/process.h"
#include "core/helper/helper_wire.h"

enum { LOOK_MS = 20, SAID_MAX = 160, TEXT_MAX = 4096, ROWS = CF_BATCH_DEFAULT };

typedef struct slot {
    uint64_t ticket, of; /* 0: none */
    uint64_t used;       /* the pass that used it last */
    uint32_t n;          /* positions that it has or that this pass adds */
    uint32_t n_done;     /* of them, that are computed */
} slot;

struct cf_plugin {
    cf_process process;
    char *program, *model;
    cf_plugin_options options;
    cf_plugin_info info;
    char engine[2 * CF_PLUGIN_NAME + 4];
    char said[SAID_MAX]; /* the last line that the helper wrote to standard error */
    size_t n_said;
    slot slot[CF_PLUGIN_SEQS];
    uint64_t n_ticket, n_pass;
    cf_plugin_row row[ROWS]; /* of the request that is being made */
    uint32_t n_row;
    bool is_wanted[ROWS]; /* of the pass */
    uint32_t out[ROWS];   /* where a wanted row's logits are */
    float *logits;        /* [cap_out, n_vocab] */
    uint32_t n_out, cap_out;
};

/* ---- the process --------------------------------------------------------- */

/* Keeps the last line of what the helper says. */
static void listen(cf_plugin *p)
{
    char block[512];
    size_t n;
    while ((n = cf_process_read(&p->process.err, block, sizeof block)) > 0) {
        for (size_t i = 0; i < n; i++) {
            if (block[i] == '\n') {
                p->n_said = 0; /* the next byte begins a line */
            } else if (p->n_said + 1 < sizeof p->said) {
                p->said[p->n_said++] = block[i];
                p->said[p->n_said] = '\0';
            }
        }
    }
}

/* The helper has ended, or does not speak as it should. */
static cf_status ended(cf_plugin *p, cf_error *err)
{
    cf_buf how = CF_BUF_INIT;
    for (int i = 0; i < 50 && !cf_process_has_ended(&p->process); i++) {
        listen(p);
        poll(NULL, 0, LOOK_MS);
    }
    listen(p);
    bool by_itself = cf_process_has_ended(&p->process);
    cf_process_how(&p->process, &how);
    cf_process_end(&p->process, 0);
    memset(p->slot, 0, sizeof p->slot);
    cf_fail(err, CF_EBUSY, "the engine's helper process ended (%.40s)%s%.150s",
            by_itself ? cf_buf_cstr(&how) : "it was not understood", p->said[0] != '\0' ? ": " : "",
            p->said);
    cf_buf_deinit(&how);
    return CF_EBUSY;
}

/* Waits until a stream is ready, and hears the helper meanwhile. */
static void wait_for(cf_plugin *p, bool is_writing, int ms)
{
    struct pollfd fds[2] = {{.fd = is_writing ? p->process.in : p->process.out,
                             .events = (short)(is_writing ? POLLOUT : POLLIN)},
                            {.fd = p->process.err, .events = POLLIN}};
    poll(fds, 2, ms);
    listen(p);
}

static bool write_all(cf_plugin *p, const void *from, size_t n)
{
    const char *at = from;
    while (n > 0 && p->process.in >= 0) {
        size_t put = cf_process_write(&p->process, at, n);
        at += put;
        n -= put;
        if (put == 0 && p->process.in >= 0) {
            wait_for(p, true, -1);
        }
    }
    return n == 0;
}

/* With `cancel`, asks the helper once to stop when it is set. */
static bool read_all(cf_plugin *p, void *to, size_t n, const cf_cancel *cancel)
{
    const cf_helper_request stop = {.op = CF_HELPER_STOP};
    char *at = to;
    while (n > 0 && p->process.out >= 0) {
        size_t got = cf_process_read(&p->process.out, at, n);
        at += got;
        n -= got;
        if (got == 0 && p->process.out >= 0) {
            if (cancel != NULL && atomic_load_explicit(cancel, memory_order_relaxed)) {
                (void)write_all(p, &stop, sizeof stop);
                cancel = NULL;
            }
            wait_for(p, false, cancel != NULL ? LOOK_MS : -1);
        }
    }
    return n == 0;
}

static cf_status failure(cf_plugin *p, const cf_helper_reply *r, cf_error *err)
{
    char text[TEXT_MAX] = "";
    if (r->n_bytes >= sizeof text || !read_all(p, text, (size_t)r->n_bytes, NULL)) {
        return ended(p, err);
    }
    switch (r->result) {
    case CF_PLUGIN_FULL:
        return cf_fail(err, CF_ELIMIT,
                       "the engine's cache of %u tokens, which all its sequences share, is full "
                       "(--ctx)",
                       p->info.n_ctx);
    case CF_PLUGIN_STOPPED:
        return cf_fail(err, CF_ECANCELLED, "cancelled");
    default:
        return cf_fail(err, CF_EUNSUPPORTED, "the engine refuses: %.180s", text);
    }
}

/* Reads a reply of exactly n bytes into `to`. */
static cf_status take_reply(cf_plugin *p, void *to, size_t n, const cf_cancel *cancel,
                            cf_error *err)
{
    cf_helper_reply r = {.magic = 0};
    if (!read_all(p, &r, sizeof r, cancel) || r.magic != CF_HELPER_MAGIC) {
        return ended(p, err);
    }
    if (r.result != CF_PLUGIN_OK) {
        return failure(p, &r, err);
    }
    return r.n_bytes == n && read_all(p, to, n, NULL) ? CF_OK : ended(p, err);
}

/* Makes a request without waiting for the reply. */
static bool ask(cf_plugin *p, cf_helper_op op, uint32_t from, uint32_t to, uint32_t length,
                uint64_t n_bytes)
{
    const cf_helper_request q = {
        .op = op, .from = from, .to = to, .length = length, .n_bytes = n_bytes};
    return write_all(p, &q, sizeof q);
}

/* The helper's first words: the engine's name, or why it cannot be used. */
static cf_status greet(cf_plugin *p, cf_buf *name, cf_error *err)
{
    cf_helper_reply r = {.magic = 0};
    char text[CF_PLUGIN_NAME] = "";
    if (!read_all(p, &r, sizeof r, NULL) || r.magic != CF_HELPER_MAGIC) {
        return ended(p, err);
    }
    if (r.abi != CF_PLUGIN_ABI) {
        return cf_fail(err, CF_EUNSUPPORTED,
                       "%.120s is of another version of confab: run make engine-llama again",
                       p->program);
    }
    if (r.result != CF_PLUGIN_OK) {
        return failure(p, &r, err);
    }
    if (r.n_bytes >= sizeof text || !read_all(p, text, (size_t)r.n_bytes, NULL)) {
        return ended(p, err);
    }
    if (name != NULL) {
        cf_buf_adds(name, text);
    }
    return CF_OK;
}

static cf_status start(cf_plugin *p, cf_buf *name, cf_error *err)
{
    const char *const argv[] = {p->program, NULL};
    p->said[0] = '\0';
    p->n_said = 0;
    CF_TRY(cf_process_start(&p->process, &(cf_process_spec){.argv = argv}, err));
    return greet(p, name, err);
}

/* Starts the helper and opens the model; a helper that cannot is ended. */
static cf_status begin(cf_plugin *p, cf_error *err)
{
    size_t n_path = strlen(p->model) + 1;
    cf_status st = start(p, NULL, err);
    if (st == CF_OK &&
        (!ask(p, CF_HELPER_OPEN, 0, 0, 0, sizeof p->options + n_path) ||
         !write_all(p, &p->options, sizeof p->options) || !write_all(p, p->model, n_path))) {
        st = ended(p, err);
    }
    CF_THEN(st, take_reply(p, &p->info, sizeof p->info, NULL, err));
    const cf_plugin_info *i = &p->info;
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
    cf_plugin *p = cf_calloc(1, sizeof *p);
    if (p == NULL) {
        return cf_oom_for(err, "an engine");
    }
    p->process = (cf_process)CF_PROCESS_INIT;
    p->options = *o;
    p->program = cf_strndup(program, strlen(program));
    p->model = cf_strndup(model, strlen(model));
    cf_status st = p->program != NULL && p->model != NULL ? begin(p, err) : cf_oom(err);
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
    if (p == NULL) {
        return;
    }
    cf_process_end(&p->process, 0);
    cf_free(p->program);
    cf_free(p->model);
    cf_free_aligned(p->logits);
    cf_free(p);
}

cf_status cf_engine_plugin_name(cf_buf *out, const char *program, cf_error *err)
{
    cf_plugin *p = cf_calloc(1, sizeof *p);
    if (p == NULL) {
        return cf_oom_for(err, "an engine");
    }
    p->process = (cf_process)CF_PROCESS_INIT;
    p->program = cf_strndup(program, strlen(program));
    cf_status st = p->program != NULL ? start(p, out, err) : cf_oom(err);
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

static uint32_t number_of(const cf_plugin *p, const slot *s)
{
    return (uint32_t)(s - p->slot);
}

/* Without its ticket a sequence is nobody's. */
static slot *slot_of(cf_plugin *p, const cf_session *s)
{
    slot *at = &p->slot[s->sequence.number];
    return s->sequence.ticket != 0 && at->ticket == s->sequence.ticket ? at : NULL;
}

/* Cuts a sequence; *was_cut is false where the engine refuses. */
static cf_status cut(cf_plugin *p, slot *s, uint32_t n, bool *was_cut, cf_error *err)
{
    cf_error refused;
    cf_status st = ask(p, CF_HELPER_CUT, number_of(p, s), 0, n, 0)
                       ? take_reply(p, NULL, 0, NULL, &refused)
                       : ended(p, &refused);
    *was_cut = st == CF_OK;
    if (st == CF_OK) {
        s->n = s->n_done = n;
    }
    if (st != CF_OK && st != CF_EUNSUPPORTED) {
        return cf_fail(err, st, "%s", refused.text);
    }
    return CF_OK;
}

static cf_status copy(cf_plugin *p, const slot *from, slot *to, cf_error *err)
{
    to->n = to->n_done = from->n;
    if (!ask(p, CF_HELPER_FORK, number_of(p, from), number_of(p, to), 0, 0)) {
        return ended(p, err);
    }
    return take_reply(p, NULL, 0, NULL, err);
}

/* An empty sequence: one that is free, or the one that was used longest ago.
 * NULL: this pass uses all of them. */
static cf_status new_slot(cf_plugin *p, slot **out, cf_error *err)
{
    slot *best = NULL;
    bool was_cut;
    for (uint32_t i = 0; i < p->info.n_seq; i++) {
        slot *s = &p->slot[i];
        if (s->ticket == 0 || s->used < p->n_pass) {
            best = best == NULL || (best->ticket != 0 && (s->ticket == 0 || s->used < best->used))
                       ? s
                       : best;
        }
    }
    if (best != NULL) {
        CF_TRY(cut(p, best, 0, &was_cut, err));
        *best = (slot){.ticket = ++p->n_ticket, .used = p->n_pass};
    }
    *out = best;
    return CF_OK;
}

/* The longest kept state of a sequence with at most n positions; longer ones are
 * given up, since what follows is another timeline. */
static slot *kept_state(cf_plugin *p, uint64_t ticket, uint32_t n)
{
    slot *best = NULL;
    for (uint32_t i = 0; i < p->info.n_seq; i++) {
        slot *s = &p->slot[i];
        if (s->of == ticket && s->n > n) {
            s->used = 0; /* the first to be taken */
            s->of = s->ticket;
        } else if (s->of == ticket && (best == NULL || s->n > best->n)) {
            best = s;
        }
    }
    return best;
}

/* Cuts a sequence to n positions, or to fewer where the engine cannot. */
static cf_status cut_or_go_back(cf_plugin *p, slot *s, uint32_t n, cf_error *err)
{
    bool was_cut = s->n <= n;
    slot *kept = p->info.is_recurrent ? kept_state(p, s->ticket, n) : NULL;
    if (!was_cut) {
        CF_TRY(cut(p, s, n, &was_cut, err));
    }
    if (!was_cut && kept != NULL) {
        kept->used = p->n_pass;
        return copy(p, kept, s, err);
    }
    return was_cut ? CF_OK : cut(p, s, 0, &was_cut, err);
}

/* Keeps the state of a sequence as it is now. */
static cf_status keep_state(cf_plugin *p, const slot *s, cf_error *err)
{
    slot *to = NULL;
    CF_TRY(new_slot(p, &to, err));
    if (to != NULL) {
        to->of = s->ticket;
        CF_TRY(copy(p, s, to, err));
    }
    return CF_OK;
}

void cf_plugin_fork(cf_plugin *p, const cf_session *from, cf_session *to)
{
    cf_error ignored;
    slot *s = slot_of(p, from), *fork = NULL;
    if (s == NULL || p->process.pid == 0) {
        return;
    }
    s->used = ++p->n_pass; /* so that it is not the one that is taken */
    const slot *source =
        s->n > from->n_ready && p->info.is_recurrent ? kept_state(p, s->ticket, from->n_ready) : s;
    if (source != NULL && new_slot(p, &fork, &ignored) == CF_OK && fork != NULL) {
        to->sequence.number = number_of(p, fork);
        to->sequence.ticket = fork->ticket;
        cf_ignore(copy(p, source, fork, &ignored));
    }
}

void cf_plugin_forget(cf_plugin *p, cf_session *s)
{
    cf_error ignored;
    bool was_cut;
    slot *at = slot_of(p, s);
    for (uint32_t i = 0; at != NULL && i < p->info.n_seq; i++) {
        slot *one = &p->slot[i];
        if (p->process.pid != 0 && (one == at || one->of == s->sequence.ticket) &&
            cut(p, one, 0, &was_cut, &ignored) == CF_OK) {
            *one = (slot){.n = 0};
        }
    }
    s->sequence.ticket = 0;
}

/* ---- a pass -------------------------------------------------------------- */

void cf_plugin_want(cf_plugin *p, uint32_t row)
{
    p->is_wanted[row] = true;
}

const float *cf_plugin_logits(const cf_plugin *p, uint32_t row)
{
    return p->logits + (size_t)p->out[row] * p->info.n_vocab;
}

static cf_status need_logits(cf_plugin *p, uint32_t n, cf_error *err)
{
    if (n <= p->cap_out) {
        return CF_OK;
    }
    cf_free_aligned(p->logits);
    p->cap_out = 0;
    p->logits = cf_alloc_aligned(64, (size_t)n * p->info.n_vocab * sizeof *p->logits);
    if (p->logits == NULL) {
        return cf_oom_for(err, "the logits of a pass");
    }
    p->cap_out = n;
    return CF_OK;
}

/* Has the rows that were added computed. */
static cf_status flush(cf_plugin *p, const cf_cancel *cancel, cf_error *err)
{
    uint32_t n_out = 0;
    size_t n_bytes = p->n_row * sizeof p->row[0];
    if (p->n_row == 0) {
        return CF_OK;
    }
    for (uint32_t i = 0; i < p->n_row; i++) {
        n_out += p->row[i].wants_logits;
    }
    if (!ask(p, CF_HELPER_PASS, 0, 0, 0, n_bytes) || !write_all(p, p->row, n_bytes)) {
        return ended(p, err);
    }
    float *to = p->logits + (size_t)p->n_out * p->info.n_vocab;
    CF_TRY(take_reply(p, to, (size_t)n_out * p->info.n_vocab * sizeof *to, cancel, err));
    for (uint32_t i = 0; i < p->n_row; i++) {
        p->slot[p->row[i].seq].n_done = p->row[i].pos + 1;
    }
    p->n_out += n_out;
    p->n_row = 0;
    return CF_OK;
}

/* Adds the next row of a sequence; `wanted` is where the row is in the pass. */
static cf_status add_row(cf_plugin *p, slot *s, cf_token id, const uint32_t *row,
                         const cf_cancel *cancel, cf_error *err)
{
    bool is_wanted = row != NULL && p->is_wanted[*row];
    if (is_wanted) {
        uint32_t before = p->n_out;
        for (uint32_t i = 0; i < p->n_row; i++) {
            before += p->row[i].wants_logits;
        }
        p->out[*row] = before;
    }
    p->row[p->n_row++] =
        (cf_plugin_row){.id = id, .seq = number_of(p, s), .pos = s->n++, .wants_logits = is_wanted};
    return p->n_row == ROWS || p->n_row == p->info.n_batch ? flush(p, cancel, err) : CF_OK;
}

/* The rows of a part, after those of its timeline that the helper lacks. */
static cf_status add_part(cf_plugin *p, const cf_part *part, slot *s, const cf_cancel *cancel,
                          cf_error *err)
{
    uint32_t first = part->s->n_ready;
    while (s->n < first) {
        CF_TRY(add_row(p, s, part->s->tokens[s->n], NULL, cancel, err));
    }
    for (uint32_t i = 0; i < part->m; i++) {
        uint32_t row = part->row0 + i, n = first + i + 1;
        CF_TRY(add_row(p, s, cf_source_id(&part->src, first + i), &row, cancel, err));
        if (p->info.is_recurrent && (n == part->keep[0] || n == part->keep[1])) {
            CF_TRY(flush(p, cancel, err));
            CF_TRY(keep_state(p, s, err));
        }
    }
    return CF_OK;
}

static cf_status check_part(const cf_part *part, cf_error *err)
{
    if (part->hidden != NULL || part->s->probe != NULL) {
        return cf_fail(err, CF_EUNSUPPORTED, "this needs states that only confab's own engine has");
    }
    for (uint32_t i = 0; part->src.in != NULL && i < part->m; i++) {
        if (part->src.in[part->s->n_ready - part->src.first + i].embd != NULL) {
            return cf_fail(err, CF_EUNSUPPORTED,
                           "pictures and sounds need confab's own engine (-m without llama:)");
        }
    }
    return CF_OK;
}

/* The sequence of a part's session, cut to what the timeline has ready. */
static cf_status bring_slot(cf_plugin *p, const cf_part *part, slot **out, cf_error *err)
{
    cf_session *s = part->s;
    CF_TRY(check_part(part, err));
    *out = slot_of(p, s);
    if (*out == NULL) {
        CF_TRY(new_slot(p, out, err));
        if (*out == NULL) {
            return cf_fail(err, CF_ELIMIT, "more than %u sessions in one pass", p->info.n_seq);
        }
        s->sequence.number = number_of(p, *out);
        s->sequence.ticket = (*out)->ticket;
    }
    (*out)->used = p->n_pass;
    return cut_or_go_back(p, *out, s->n_ready, err);
}

/* All parts once.  Slots of this pass have `used` set before rows are added, so
 * that none of them is taken for another. */
static cf_status compute(cf_plugin *p, const cf_part *parts, size_t n, const cf_cancel *cancel,
                         cf_error *err)
{
    slot *s = NULL;
    p->n_row = p->n_out = 0;
    p->n_pass++;
    for (size_t i = 0; i < n; i++) {
        CF_TRY(bring_slot(p, &parts[i], &s, err));
    }
    for (size_t i = 0; i < n; i++) {
        CF_TRY(add_part(p, &parts[i], slot_of(p, parts[i].s), cancel, err));
    }
    return flush(p, cancel, err);
}

/* Undoes a pass that failed.  With `is_full` the sequences of others go too. */
static void undo(cf_plugin *p, bool is_full)
{
    cf_error ignored;
    bool was_cut;
    for (uint32_t i = 0; i < p->info.n_seq && p->process.pid != 0; i++) {
        slot *s = &p->slot[i];
        if (s->ticket != 0 && s->used == p->n_pass) {
            s->n = UINT32_MAX; /* it may have any of them */
            cf_ignore(cut_or_go_back(p, s, s->n_done, &ignored));
        } else if (s->ticket != 0 && is_full && cut(p, s, 0, &was_cut, &ignored) == CF_OK) {
            *s = (slot){.n = 0};
        }
    }
}

cf_status cf_plugin_forward(cf_plugin *p, const cf_part *parts, size_t n, const cf_cancel *cancel,
                            cf_error *err)
{
    uint32_t n_wanted = 0;
    for (uint32_t i = 0; i < ROWS; i++) {
        n_wanted += p->is_wanted[i];
    }
    cf_status st = p->process.pid == 0 ? begin(p, err) : CF_OK;
    CF_THEN(st, need_logits(p, n_wanted, err));
    CF_THEN(st, compute(p, parts, n, cancel, err));
    if (st == CF_ELIMIT) { /* without the sequences of others it may fit */
        undo(p, true);
        st = compute(p, parts, n, cancel, err);
    }
    if (st != CF_OK) {
        undo(p, false);
    }
    memset(p->is_wanted, 0, sizeof p->is_wanted);
    return st;
}

/* ---- inside --------------------------------------------------------------- */

/* A pass of one row, whose reply has the logits, which it needs, and the streams. */
static cf_status take_layers(cf_plugin *p, slot *s, cf_token id, float *all, size_t n,
                             cf_error *err)
{
    const cf_plugin_row row = {.id = id,
                               .seq = number_of(p, s),
                               .pos = s->n++,
                               .wants_logits = true,
                               .wants_streams = true};
    if (!ask(p, CF_HELPER_PASS, 0, 0, 0, sizeof row) || !write_all(p, &row, sizeof row)) {
        return ended(p, err);
    }
    return take_reply(p, all, n * sizeof *all, NULL, err);
}

cf_status cf_plugin_layers(cf_plugin *p, cf_session *s, cf_token id, float *out, cf_error *err)
{
    const cf_part part = {.s = s, .src = {.ids = &id, .first = s->n_ready}};
    slot *at = NULL;
    size_t n = (size_t)p->info.n_layer * p->info.n_embd, n_vocab = p->info.n_vocab;
    float *all = cf_calloc(n_vocab + n, sizeof *all);
    cf_status st = all != NULL ? CF_OK : cf_oom_for(err, "layers");
    p->n_row = p->n_out = 0;
    p->n_pass++;
    if (st == CF_OK && p->process.pid == 0) {
        st = begin(p, err);
    }
    CF_THEN(st, bring_slot(p, &part, &at, err));
    CF_THEN(st, add_part(p, &part, at, NULL, err)); /* what the helper lacks */
    CF_THEN(st, flush(p, NULL, err));
    CF_THEN(st, take_layers(p, at, id, all, n_vocab + n, err));
    if (st == CF_OK) {
        memcpy(out, all + n_vocab, n * sizeof *out);
    }
    undo(p, false);
    cf_free(all);
    return st;
}
