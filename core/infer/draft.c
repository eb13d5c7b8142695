/*
 * draft.c - guesses tokens, and keeps account of what guessing brings.
 *
 * Rules that always hold between begin and end:
 *   1. tokens [0, length) of the session are the reply's timeline, those from
 *      length on are guesses, with their logits kept.
 *   2. The look-up has the sources first, then the tokens given so far.
 */
#include "core/api/draft.h"

#include <assert.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/infer/recall.h"

struct cf_draft {
    cf_session *session; /* NULL: none begun */
    cf_recall recall;
    size_t n_source; /* tokens of sources in the look-up */
    size_t n_max;
    size_t length;
    size_t n_given; /* tokens since the beginning */
    double balance; /* passes saved, less what guesses cost */
    double price;   /* of a guess, in passes */
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

cf_status cf_draft_begin(cf_draft *d, cf_session *session, cf_error *err)
{
    size_t n;
    const cf_token *ids = cf_session_tokens(session, &n);
    cf_recall_truncate(&d->recall, d->n_source);
    if (d->n_max > 0) {
        CF_TRY(cf_recall_add(&d->recall, ids, n, err));
    }
    d->session = session;
    d->length = n;
    d->n_given = 0;
    d->balance = 0;
    d->counts = (cf_draft_counts){0};
    d->price = cf_session_is_recurrent(session) ? STATE_PRICE : ROW_PRICE;
    return CF_OK;
}

/* How many guesses the account allows. */
static size_t allowance(const cf_draft *d)
{
    double most = d->balance + LOSS + LOSS_SHARE * (double)d->n_given;
    double n = most > 0 ? most / d->price : 0;
    return n < (double)d->n_max ? (size_t)n : d->n_max;
}

/* Fills the row after its n tokens with guesses; returns how many. */
static size_t guess(cf_draft *d, size_t n)
{
    size_t n_vocab = cf_tokenizer_n_vocab(cf_engine_tokenizer(cf_session_engine(d->session)));
    size_t room = cf_session_n_ctx(d->session) - d->length - n;
    size_t n_rows = cf_batch_rows(d->session);
    size_t cap = allowance(d);
    size_t match = 0;
    n_rows = n_rows < CF_KEPT_ROWS_MAX ? n_rows : CF_KEPT_ROWS_MAX;
    cap = cap < room ? cap : room;
    if (n >= n_rows || cap == 0) {
        return 0;
    }
    cap = cap < n_rows - n ? cap : n_rows - n;
    size_t k = cf_recall_find(&d->recall, d->row + n, cap, &match);
    /* A short match promises little. */
    size_t trust = match > 0 ? 2 * match - CF_RECALL_GRAM : 0;
    k = k < trust ? k : trust;
    for (size_t i = 0; i < k; i++) { /* a source may be another model's */
        if (d->row[n + i] < 0 || (size_t)d->row[n + i] >= n_vocab) {
            k = i;
        }
    }
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
    d->balance += (double)k;
    d->balance = d->balance < BALANCE_MAX ? d->balance : BALANCE_MAX;
    return k;
}

cf_status cf_draft_next(cf_draft *d, const cf_token *ids, size_t n, cf_advance *part,
                        bool *needs_pass, cf_error *err)
{
    *part = (cf_advance){.session = d->session};
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
        d->balance -= (double)n_guess * d->price;
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
