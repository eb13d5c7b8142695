/*
 * draft.c - guesses tokens, and keeps account of what guessing brings.
 *
 * Rules that always hold between begin and end:
 *   1. tokens [0, length) of the session are the reply's timeline, those from
 *      length on are guesses, with their logits kept.
 *   2. The look-up has the sources first, then the tokens given so far.
 *   3. The guesses that are left are all the draft model's, or none is.
 */
#include "core/api/draft.h"

#include <assert.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/infer/engine_impl.h"
#include "core/infer/proposer.h"
#include "core/infer/recall.h"

/* Passes saved, less what guesses cost. */
typedef struct account {
    double balance;
    double price;       /* of a guess */
    double loss, share; /* what may be lost at all, and for each token */
    double most;        /* what is remembered of what was won */
} account;

struct cf_draft {
    cf_session *session; /* NULL: none begun */
    cf_recall recall;
    size_t n_source; /* tokens of sources in the look-up */
    size_t n_max;
    size_t length;
    size_t n_given;         /* tokens since the beginning */
    account look_up, model; /* of the two ways to guess */
    cf_engine *engine;      /* of the draft model; NULL: none */
    cf_proposer *proposer;  /* made where a reply begins */
    double step_price;      /* of its pass over one token, in passes of the session */
    double hit_rate;        /* how often it was right lately */
    bool is_models;         /* the guesses that are left */
    bool is_prepared;       /* for the reply that begins next */
    cf_draft_counts counts;
    cf_token row[CF_KEPT_ROWS_MAX]; /* of the part under way */
};

/* What a further row costs, as a share of a pass of one row (docs/speed.md);
 * with recurrent layers its state is copied too. */
static const double ROW_PRICE = 0.4, STATE_PRICE = 0.5;

/* What may be lost: part of a pass, and a share of the tokens.  What was won is
 * remembered up to a few passes, so that guessing ends soon after it ceases to
 * be useful. */
static const double LOSS = 0.4, LOSS_SHARE = 0.01, BALANCE_MAX = 3;

/* Of a draft model, which is right less often when it is and is asked for more
 * of the reply. */
static const double MODEL_LOSS = 1.5, MODEL_SHARE = 0.02, MODEL_BALANCE_MAX = 6;

/* A row costs its products and a pass the weights' way from memory, so rows of
 * large weights are cheap beside it; ROW_PRICE is that of so many bytes each. */
static const double ROW_BYTES = 0.5625;

/* Tokens that a draft model computes together, each as a share of a step. */
static const double FOLLOW_PRICE = 0.3;

/* The draft model's hit rate at the beginning, and what one guess weighs. */
static const double FIRST_RATE = 0.75, RATE_STEP = 0.1;

cf_status cf_draft_new(cf_draft **out, size_t n_max, cf_error *err)
{
    cf_draft *d = cf_calloc(1, sizeof *d);
    if (d == NULL) {
        return cf_oom_for(err, "a draft");
    }
    d->n_max = n_max < CF_DRAFT_MAX ? n_max : CF_DRAFT_MAX;
    cf_status st = cf_recall_init(&d->recall, err);
    if (st != CF_OK) {
        cf_free(d);
        return st;
    }
    *out = d;
    return CF_OK;
}

void cf_draft_free(cf_draft *d)
{
    if (d != NULL) {
        cf_draft_end(d);
        cf_proposer_free(d->proposer);
        cf_recall_deinit(&d->recall);
        cf_free(d);
    }
}

cf_status cf_draft_source(cf_draft *d, const cf_token *ids, size_t n, cf_error *err)
{
    static const cf_token between = CF_TOKEN_NONE;
    cf_recall_truncate(&d->recall, d->n_source);
    CF_TRY(cf_recall_add(&d->recall, ids, n, err));
    CF_TRY(cf_recall_add(&d->recall, &between, 1, err));
    d->n_source = d->recall.n;
    return CF_OK;
}

cf_status cf_draft_clone(cf_draft **out, const cf_draft *from, cf_error *err)
{
    cf_draft *d = NULL;
    CF_TRY(cf_draft_new(&d, from->n_max, err));
    assert(d != NULL);
    cf_status st = cf_recall_add(&d->recall, from->recall.ids, from->n_source, err);
    if (st != CF_OK) {
        cf_draft_free(d);
        return st;
    }
    d->n_source = from->n_source;
    d->engine = from->engine;
    *out = d;
    return CF_OK;
}

void cf_draft_set_max(cf_draft *d, size_t n_max)
{
    d->n_max = n_max < CF_DRAFT_MAX ? n_max : CF_DRAFT_MAX;
}

size_t cf_draft_get_max(const cf_draft *d)
{
    return d->n_max;
}

size_t cf_draft_n_source(const cf_draft *d)
{
    return d->n_source;
}

void cf_draft_forget(cf_draft *d)
{
    cf_recall_truncate(&d->recall, 0);
    d->n_source = 0;
}

cf_status cf_draft_use_model(cf_draft *d, cf_engine *engine, const cf_engine *of, cf_error *err)
{
    CF_TRY(cf_proposer_check(engine, of, err));
    cf_proposer_free(d->proposer);
    d->proposer = NULL;
    d->engine = engine;
    return CF_OK;
}

/* ---- accounts ----------------------------------------------------------- */

/* A row of a session's pass.  An expert's weights are another's for every
 * row. */
static double row_price(const cf_session *s)
{
    cf_engine_info info = cf_engine_get_info(cf_session_engine(s));
    double price = cf_session_is_recurrent(s) ? STATE_PRICE : ROW_PRICE;
    double by_size = ROW_BYTES * (double)info.n_param / (double)(info.weight_bytes + 1);
    return info.n_expert == 0 && by_size < 1 ? price * by_size : price;
}

static void open_accounts(cf_draft *d)
{
    double row = cf_session_is_recurrent(d->session) ? STATE_PRICE : ROW_PRICE;
    d->look_up = (account){0, row, LOSS, LOSS_SHARE, BALANCE_MAX};
    if (d->proposer != NULL) {
        d->step_price = cf_proposer_step_price(d->proposer, cf_session_engine(d->session));
        d->hit_rate = FIRST_RATE;
        d->model = (account){0, row_price(d->session) + d->step_price, MODEL_LOSS, MODEL_SHARE,
                             MODEL_BALANCE_MAX};
    }
}

/* How many guesses an account allows after another cost. */
static size_t allowance(const cf_draft *d, const account *a, double cost)
{
    double most = a->balance + a->loss + a->share * (double)d->n_given - cost;
    double n = most > 0 ? most / a->price : 0;
    return n < (double)d->n_max ? (size_t)n : d->n_max;
}

static void win(account *a, size_t k)
{
    a->balance += (double)k;
    a->balance = a->balance < a->most ? a->balance : a->most;
}

/* ---- a reply ------------------------------------------------------------ */

/* The timeline with what was given: look-up without sources. */
static const cf_token *timeline(const cf_draft *d, size_t *n)
{
    *n = d->recall.n - d->n_source;
    return d->recall.ids + d->n_source;
}

/* Whether a timeline is all tokens: a draft model reads no pictures. */
static bool is_text(const cf_token *ids, size_t n)
{
    size_t i = 0;
    while (i < n && !cf_token_is_row(ids[i])) {
        i++;
    }
    return i == n;
}

cf_status cf_draft_prepare(cf_draft *d, const cf_session *session, cf_error *err)
{
    const cf_engine *of = cf_session_engine(session);
    uint32_t n_ctx = cf_session_n_ctx(session);
    if (d->proposer != NULL && !cf_proposer_suits(d->proposer, of, n_ctx)) {
        cf_proposer_free(d->proposer);
        d->proposer = NULL;
    }
    d->is_prepared = true;
    if (d->proposer == NULL && d->n_max > 0) {
        return cf_proposer_new(&d->proposer, d->engine, of, n_ctx, err);
    }
    return CF_OK;
}

/* Has the draft model read the prompt. */
static cf_status begin_model(cf_draft *d, cf_cancel *cancel, cf_error *err)
{
    size_t n;
    const cf_token *ids = timeline(d, &n);
    if (d->n_max == 0 || n == 0 || !is_text(ids, n)) {
        cf_proposer_free(d->proposer);
        d->proposer = NULL;
    }
    return d->proposer != NULL ? cf_proposer_follow(d->proposer, ids, n, cancel, err) : CF_OK;
}

bool cf_draft_wants_hidden(const cf_draft *d)
{
    return d->proposer != NULL && cf_proposer_wants_hidden(d->proposer);
}

void cf_draft_hidden(void *draft, uint32_t pos, const float *hidden)
{
    cf_draft *d = draft;
    cf_proposer_hidden(d->proposer, pos, hidden);
}

cf_status cf_draft_begin(cf_draft *d, cf_session *session, cf_cancel *cancel, cf_error *err)
{
    size_t n;
    const cf_token *ids = cf_session_tokens(session, &n);
    cf_recall_truncate(&d->recall, d->n_source);
    if (cf_session_engine(session)->plugin != NULL) {
        d->n_max = 0; /* the bits of its logits hang on a token's company */
    }
    if (d->n_max > 0) {
        CF_TRY(cf_recall_add(&d->recall, ids, n, err));
    }
    d->session = session;
    d->length = n;
    d->n_given = 0;
    d->is_models = false;
    d->counts = (cf_draft_counts){0};
    cf_status st = d->is_prepared ? CF_OK : cf_draft_prepare(d, session, err);
    d->is_prepared = false;
    CF_THEN(st, begin_model(d, cancel, err));
    open_accounts(d);
    return st;
}

/* Fills out[0..cap) with what followed the last tokens before. */
static size_t look_up(const cf_draft *d, cf_token *out, size_t cap)
{
    size_t match = 0;
    size_t k = cf_recall_find(&d->recall, out, cap, &match);
    /* A short match promises little. */
    size_t trust = match > 0 ? 2 * match - CF_RECALL_GRAM : 0;
    return k < trust ? k : trust;
}

/* The guesses that are likely enough to be worth their price. */
static size_t worth(const cf_draft *d)
{
    size_t n = 0;
    for (double p = d->hit_rate; n < d->n_max && p >= d->model.price; p *= d->hit_rate) {
        n++;
    }
    return n;
}

/* The draft model's guesses likewise, paid for what it computes. */
static size_t ask(cf_draft *d, cf_token *out, size_t cap)
{
    size_t n;
    const cf_token *ids = timeline(d, &n);
    double behind = (double)cf_proposer_n_behind(d->proposer, ids, n) - 1;
    double cost = behind > 0 ? behind * FOLLOW_PRICE * d->step_price : 0;
    size_t most = allowance(d, &d->model, cost), likely = worth(d);
    /* An account that has recovered is worth a try. */
    likely = likely == 0 ? 1 : likely;
    most = most < likely ? most : likely;
    cap = cap < most ? cap : most;
    if (cap == 0) {
        return 0;
    }
    d->model.balance -= cost;
    return cf_proposer_ask(d->proposer, ids, n, out, cap);
}

/* Fills the row after its n tokens with guesses; returns how many. */
static size_t guess(cf_draft *d, size_t n)
{
    size_t n_vocab = cf_tokenizer_n_vocab(cf_engine_tokenizer(cf_session_engine(d->session)));
    size_t cap = cf_session_n_ctx(d->session) - d->length - n;
    size_t n_rows = cf_batch_rows(d->session);
    n_rows = n_rows < CF_KEPT_ROWS_MAX ? n_rows : CF_KEPT_ROWS_MAX;
    if (n >= n_rows || d->n_max == 0) {
        return 0;
    }
    cap = cap < n_rows - n ? cap : n_rows - n;
    size_t most = allowance(d, &d->look_up, 0);
    size_t k = look_up(d, d->row + n, cap < most ? cap : most);
    d->is_models = k == 0 && d->proposer != NULL;
    if (d->is_models) {
        k = ask(d, d->row + n, cap);
    }
    for (size_t i = 0; i < k; i++) { /* a source may be another model's */
        if (d->row[n + i] < 0 || (size_t)d->row[n + i] >= n_vocab) {
            k = i;
        }
    }
    account *a = d->is_models ? &d->model : &d->look_up;
    a->balance -= (double)k * a->price;
    return k;
}

/* Takes what was guessed right off the front of ids[0..n). */
static size_t accept(cf_draft *d, const cf_token *ids, size_t n)
{
    size_t n_have;
    const cf_token *have = cf_session_tokens(d->session, &n_have);
    size_t k = 0;
    while (k < n && d->length < n_have && have[d->length] == ids[k]) {
        d->length++;
        k++;
    }
    d->counts.n_accepted += k;
    win(d->is_models ? &d->model : &d->look_up, k);
    for (size_t i = 0; d->is_models && i < k; i++) {
        d->hit_rate += RATE_STEP * (1 - d->hit_rate);
    }
    if (d->is_models && k < n && d->length < n_have) {
        d->hit_rate -= RATE_STEP * d->hit_rate;
    }
    return k;
}

cf_status cf_draft_next(cf_draft *d, const cf_token *ids, size_t n, cf_advance *part,
                        bool *needs_pass, cf_error *err)
{
    *part = (cf_advance){.session = d->session,
                         .hidden = cf_draft_wants_hidden(d) ? cf_draft_hidden : NULL,
                         .ud = d};
    *needs_pass = false;
    if (d->n_max > 0) {
        CF_TRY(cf_recall_add(&d->recall, ids, n, err));
    }
    d->n_given += n;
    size_t k = accept(d, ids, n);
    if (k == n) {
        return CF_OK;
    }
    cf_session_rewind(d->session, d->length);
    if (n - k > cf_session_n_ctx(d->session) - d->length) {
        return cf_fail(err, CF_ELIMIT, "the context of %u tokens is full",
                       cf_session_n_ctx(d->session));
    }
    *needs_pass = true;
    part->ids = ids + k;
    part->n = n - k;
    if (part->n < CF_KEPT_ROWS_MAX) {
        memcpy(d->row, part->ids, part->n * sizeof *d->row);
        size_t n_guess = guess(d, part->n);
        part->ids = d->row;
        part->keeps_rows = n_guess > 0;
        d->length += part->n; /* once the pass is done */
        part->n += n_guess;
        d->counts.n_guessed += n_guess;
    } else {
        d->length += part->n;
    }
    return CF_OK;
}

bool cf_draft_took(cf_draft *d, cf_advance *part)
{
    d->counts.n_passes += part->n_done > 0;
    part->ids += part->n_done;
    part->n -= part->n_done;
    return part->n == 0;
}

cf_status cf_draft_step(cf_draft *d, const cf_token *ids, size_t n, cf_cancel *cancel,
                        cf_error *err)
{
    cf_advance part;
    bool needs_pass;
    CF_TRY(cf_draft_next(d, ids, n, &part, &needs_pass, err));
    while (needs_pass) {
        CF_TRY(cf_batch_pass(&part, 1, cancel, err));
        needs_pass = !cf_draft_took(d, &part);
    }
    return CF_OK;
}

const float *cf_draft_logits(const cf_draft *d)
{
    size_t n;
    cf_session_tokens(d->session, &n);
    return n == d->length ? cf_session_logits(d->session)
                          : cf_session_logits_at(d->session, (uint32_t)d->length - 1);
}

bool cf_draft_is_guessed(const cf_draft *d, const cf_token *ids, size_t n)
{
    size_t n_have;
    const cf_token *have = cf_session_tokens(d->session, &n_have);
    size_t k = 0;
    while (k < n && d->length + k < n_have && have[d->length + k] == ids[k]) {
        k++;
    }
    return k == n;
}

cf_draft_counts cf_draft_get_counts(const cf_draft *d)
{
    return d->counts;
}

void cf_draft_end(cf_draft *d)
{
    if (d->session != NULL) {
        cf_session_rewind(d->session, d->length);
        d->session = NULL;
    }
}
