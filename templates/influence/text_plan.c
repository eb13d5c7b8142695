/*
 * text_plan.c - tokens that agree with a text, and the sum over them.
 */
#include "templates/text_plan.h"

#include <math.h>
#include <string.h>

#include "core/base/alloc.h"

/* Bytes of different masks: a text under a constraint has few. */
static const size_t masks_max = (size_t)256 << 20;

/* ---- pieces ------------------------------------------------------------- */

cf_status cf_text_pieces_init(cf_text_pieces *p, const cf_tokenizer *tok, cf_error *err)
{
    *p = (cf_text_pieces){.tok = tok, .n_vocab = cf_tokenizer_n_vocab(tok)};
    size_t at[256] = {0}, n = p->n_vocab;
    p->off = cf_calloc(n + 1, sizeof *p->off);
    p->sorted = cf_calloc(n + 1, sizeof *p->sorted);
    for (size_t id = 0; p->off != NULL && id < n; id++) {
        cf_tokenizer_piece(&p->bytes, tok, (cf_token)id, true);
        p->off[id + 1] = p->bytes.n;
    }
    if (p->off == NULL || p->sorted == NULL || p->bytes.failed) {
        cf_text_pieces_deinit(p);
        return cf_oom_for(err, "the vocabulary");
    }
    for (size_t id = 0; id < n; id++) {
        bool has = p->off[id + 1] > p->off[id];
        p->start[has ? (unsigned char)p->bytes.p[p->off[id]] + 1 : 0] += has;
    }
    for (size_t b = 0; b < 256; b++) {
        at[b] = p->start[b];
        p->start[b + 1] += p->start[b];
    }
    for (size_t id = 0; id < n; id++) {
        if (p->off[id + 1] > p->off[id]) {
            p->sorted[at[(unsigned char)p->bytes.p[p->off[id]]]++] = (cf_token)id;
        }
    }
    return CF_OK;
}

void cf_text_pieces_deinit(cf_text_pieces *p)
{
    cf_buf_deinit(&p->bytes);
    cf_free(p->off);
    cf_free(p->sorted);
    *p = (cf_text_pieces){.tok = NULL};
}

static cf_str piece(const cf_text_pieces *p, cf_token id)
{
    return cf_str_make(cf_buf_cstr(&p->bytes) + p->off[id], p->off[id + 1] - p->off[id]);
}

/* ---- making a plan ------------------------------------------------------ */

void cf_text_plan_init(cf_text_plan *p)
{
    *p = (cf_text_plan){.n = 0};
}

void cf_text_plan_deinit(cf_text_plan *p)
{
    cf_free(p->step);
    cf_free(p->way);
    cf_buf_deinit(&p->text);
    cf_buf_deinit(&p->certain);
    *p = (cf_text_plan){.n = 0};
}

static bool is_in(const uint32_t *mask, cf_token id)
{
    return mask == NULL || (mask[id / 32] >> (id % 32) & 1) != 0;
}

/* The constraint's mask, or an earlier step's that is equal. */
static cf_status take_mask(cf_text_plan *p, cf_constraint *c, size_t n_vocab, cf_arena *arena,
                           const uint32_t **out, cf_error *err)
{
    size_t words = (n_vocab + 31) / 32, n_different = 0;
    uint32_t *mask = cf_calloc(words, sizeof *mask);
    *out = NULL;
    if (mask == NULL) {
        return cf_oom_for(err, "the mask");
    }
    cf_status st = cf_constraint_mask(c, mask, err);
    for (size_t i = p->n; st == CF_OK && i-- > 0 && *out == NULL;) {
        const uint32_t *was = p->step[i].mask;
        n_different += was != NULL && (i == 0 || was != p->step[i - 1].mask);
        if (was != NULL && memcmp(was, mask, words * sizeof *mask) == 0) {
            *out = was;
        }
    }
    if (st == CF_OK && *out == NULL) {
        uint32_t *copy = NULL;
        if (n_different > masks_max / (words * sizeof *mask)) {
            st = cf_fail(err, CF_ELIMIT, "the reply has too many different masks");
        } else if ((copy = cf_arena_calloc(arena, words, sizeof *copy)) == NULL) {
            st = cf_oom_for(err, "the mask");
        } else {
            memcpy(copy, mask, words * sizeof *mask);
            *out = copy;
        }
    }
    cf_free(mask);
    return st;
}

static bool add_way(cf_text_plan *p, cf_token id, size_t agrees, bool fits)
{
    if (!cf_grow(&p->way, &p->cap_way, p->n_way + 1, sizeof *p->way)) {
        return false;
    }
    p->way[p->n_way++] = (cf_text_way){id, (uint32_t)agrees, fits};
    p->step[p->n - 1].n_way++;
    return true;
}

static cf_status add_step(cf_text_plan *p, size_t len, const uint32_t *mask, cf_error *err)
{
    if (!cf_grow(&p->step, &p->cap, p->n + 1, sizeof *p->step)) {
        return cf_oom_for(err, "the tokens");
    }
    size_t off = p->n > 0 ? p->step[p->n - 1].off + p->step[p->n - 1].len : 0;
    p->step[p->n++] = (cf_text_step){.off = off, .len = len, .mask = mask, .way = p->n_way};
    return CF_OK;
}

/* A byte is certain where the constraint lets no other follow, nor an end. */
static cf_status add_certain(cf_text_plan *p, cf_constraint *c, cf_str bytes, cf_error *err)
{
    size_t n_taken = c != NULL ? 1 : 0, n_steps = 0;
    for (size_t i = 0; i < bytes.n; i++) {
        uint32_t set[8] = {0};
        unsigned n = 0;
        if (n_taken == 1) {
            cf_constraint_next_bytes(c, set);
            for (size_t b = 0; b < 256; b++) {
                n += set[b / 32] >> (b % 32) & 1;
            }
        }
        cf_buf_addc(&p->certain, n == 1 && !cf_constraint_may_end(c));
        if (n_taken == 1) {
            CF_TRY(cf_constraint_bytes(c, bytes.p + i, 1, &n_taken, err));
            n_steps += n_taken;
        }
    }
    if (c != NULL) {
        cf_constraint_rollback(c, n_steps);
    }
    return cf_buf_check(&p->certain, err);
}

cf_status cf_text_plan_add(cf_text_plan *p, const cf_text_pieces *pieces, cf_constraint *c,
                           cf_token id, bool is_given, cf_arena *arena, cf_error *err)
{
    const uint32_t *mask = NULL;
    if (id < 0 || (size_t)id >= pieces->n_vocab) {
        return cf_fail(err, CF_EINVAL, "no such token");
    }
    cf_str bytes = piece(pieces, id);
    if (c != NULL && !is_given) {
        CF_TRY(take_mask(p, c, pieces->n_vocab, arena, &mask, err));
        if (!is_in(mask, id)) {
            return cf_fail(err, CF_EINVAL, "the constraint of the reply does not allow it");
        }
    }
    CF_TRY(add_step(p, bytes.n, mask, err));
    CF_TRY(add_certain(p, c, bytes, err));
    cf_buf_add(&p->text, bytes.p, bytes.n);
    if (!is_given && !add_way(p, id, bytes.n, true)) {
        return cf_oom_for(err, "the tokens");
    }
    p->n_forced += is_given;
    CF_TRY(c != NULL ? cf_constraint_token(c, id, err) : CF_OK);
    return cf_buf_check(&p->text, err);
}

cf_status cf_text_plan_add_end(cf_text_plan *p, const cf_text_pieces *pieces, cf_constraint *c,
                               cf_arena *arena, cf_error *err)
{
    const uint32_t *mask = NULL;
    if (c != NULL && !cf_constraint_may_end(c)) {
        return cf_fail(err, CF_EINVAL, "the constraint of the reply does not let it end there");
    }
    if (c != NULL) {
        CF_TRY(take_mask(p, c, pieces->n_vocab, arena, &mask, err));
    }
    CF_TRY(add_step(p, 1, mask, err));
    p->n_end = 1;
    for (size_t id = 0; id < pieces->n_vocab; id++) {
        if (cf_tokenizer_is_end(pieces->tok, (cf_token)id) && is_in(mask, (cf_token)id) &&
            !add_way(p, (cf_token)id, 1, true)) {
            return cf_oom_for(err, "the tokens");
        }
    }
    return CF_OK;
}

/* Appends the tokens that agree with the text from a step on to the ways of
 * out's last step, its own ones first. */
static bool add_agreeing(const cf_text_plan *p, const cf_text_step *s, const cf_text_pieces *pieces,
                         cf_text_plan *out)
{
    cf_str rest = cf_str_make(cf_buf_cstr(&p->text) + s->off, p->text.n - s->off);
    bool ok = true;
    for (size_t k = 0; ok && k < s->n_way; k++) {
        ok = add_way(out, p->way[s->way + k].id, s->len, true);
    }
    if (s->mask == NULL || rest.n == 0) {
        return ok;
    }
    unsigned char head = (unsigned char)rest.p[0];
    for (size_t k = pieces->start[head]; ok && k < pieces->start[head + 1]; k++) {
        cf_token id = pieces->sorted[k];
        cf_str bytes = piece(pieces, id);
        size_t n = 0, most = bytes.n < rest.n ? bytes.n : rest.n;
        if (id == p->way[s->way].id || !is_in(s->mask, id)) {
            continue;
        }
        while (n < most && bytes.p[n] == rest.p[n]) {
            n++;
        }
        ok = add_way(out, id, n, n == bytes.n);
    }
    return ok;
}

static size_t count_bits(const uint32_t *mask, size_t n)
{
    size_t sum = 0;
    for (size_t i = 0; i < n; i++) {
        for (uint32_t w = mask[i]; w != 0; w &= w - 1) {
            sum++;
        }
    }
    return sum;
}

/* A name of what is read, for keeping it. */
static cf_status set_tag(cf_text_plan *p, size_t n_words, cf_error *err)
{
    cf_buf b = CF_BUF_INIT;
    bool is_plain = p->n_way == p->n && p->n_end == 0;
    char hash[CF_HASH_TEXT + 1] = "";
    const uint32_t *last = NULL;
    for (size_t i = 0; i < p->n; i++) {
        const cf_text_step *s = &p->step[i];
        is_plain = is_plain && s->mask == NULL;
        if (s->mask != NULL && s->mask != last) {
            cf_hash_hex(hash, s->mask, n_words * sizeof *s->mask);
            last = s->mask;
        }
        cf_buf_addf(&b, "%s", s->mask != NULL ? hash : "free");
        for (size_t k = 0; k < s->n_way; k++) {
            cf_buf_addf(&b, " %d", (int)p->way[s->way + k].id);
        }
        cf_buf_addc(&b, '\n');
    }
    cf_status st = cf_buf_check(&b, err);
    p->tag[0] = '\0';
    if (!is_plain) {
        cf_hash_hex(p->tag, cf_buf_cstr(&b), b.n);
    }
    cf_buf_deinit(&b);
    return st;
}

cf_status cf_text_plan_finish(cf_text_plan *p, const cf_text_pieces *pieces, cf_error *err)
{
    cf_text_plan out = {.step = p->step};
    size_t n_words = (pieces->n_vocab + 31) / 32;
    bool ok = true;
    for (size_t i = 0; ok && i < p->n; i++) {
        const cf_text_step was = p->step[i];
        out.n = i + 1;
        out.step[i].way = out.n_way;
        out.step[i].n_way = 0;
        ok = add_agreeing(p, &was, pieces, &out);
        p->n_forced += was.mask != NULL && count_bits(was.mask, n_words) == 1;
    }
    cf_free(p->way);
    p->way = out.way;
    p->n_way = out.n_way;
    p->cap_way = out.cap_way;
    return ok ? set_tag(p, n_words, err) : cf_oom_for(err, "the tokens");
}

/* ---- reading ------------------------------------------------------------ */

/* The logarithm of the sum over the tokens that may come. */
static double log_sum(const float *logits, const uint32_t *mask, size_t n_vocab)
{
    double top = -INFINITY, sum = 0;
    for (size_t i = 0; i < n_vocab; i++) {
        if ((double)logits[i] > top && is_in(mask, (cf_token)i)) {
            top = (double)logits[i];
        }
    }
    for (size_t i = 0; i < n_vocab; i++) {
        if (is_in(mask, (cf_token)i)) {
            sum += exp((double)logits[i] - top);
        }
    }
    return top + log(sum);
}

void cf_text_plan_read(const cf_text_plan *p, size_t i, const float *logits, size_t n_vocab,
                       float *read)
{
    const cf_text_step *s = &p->step[i];
    if (s->n_way == 0) {
        return;
    }
    double all = log_sum(logits, s->mask, n_vocab);
    for (size_t k = 0; k < s->n_way; k++) {
        read[s->way + k] = (float)((double)logits[p->way[s->way + k].id] - all);
    }
}

/* ---- summing ------------------------------------------------------------ */

static double log_add(double a, double b)
{
    double top = a > b ? a : b, low = a > b ? b : a;
    return isinf(low) ? top : top + log1p(exp(low - top));
}

/* Logarithms, for each byte from the text's first to the one after its last. */
typedef struct forward {
    const cf_text_plan *p;
    const float *read;
    double *mass; /* of all that begins with the text up to there */
    double *edge; /* of these, where a token ends there */
    double *own;  /* scratch: the mass of one step alone */
} forward;

/* All tokens of a step, each as far as it agrees. */
static void take_ways(const forward *f, const cf_text_step *s)
{
    double w = f->edge[s->off];
    size_t most = 0;
    for (size_t k = 0; k < s->n_way; k++) {
        size_t agrees = f->p->way[s->way + k].agrees;
        most = agrees > most ? agrees : most;
    }
    for (size_t x = 0; x <= most; x++) {
        f->own[x] = -INFINITY;
    }
    for (size_t k = 0; k < s->n_way; k++) {
        const cf_text_way *v = &f->p->way[s->way + k];
        double q = (double)f->read[s->way + k];
        for (size_t x = 1; x <= v->agrees; x++) {
            f->own[x] = log_add(f->own[x], q);
        }
        if (v->fits && v->agrees > 0) {
            f->edge[s->off + v->agrees] = log_add(f->edge[s->off + v->agrees], w + q);
        }
    }
    for (size_t x = 1; x <= most; x++) {
        f->mass[s->off + x] = log_add(f->mass[s->off + x], w + f->own[x]);
    }
}

/* What ended inside the step's token goes on to the token's end: with
 * certainty as far as nothing else can follow, then as the step itself. */
static void close_up(const forward *f, const cf_text_step *s)
{
    const char *certain = cf_buf_cstr(&f->p->certain);
    for (size_t b = 1; b < s->len; b++) {
        double w = f->edge[s->off + b];
        size_t x = b;
        if (isinf(w)) {
            continue;
        }
        for (; x < s->len; x++) {
            bool is_certain = certain[s->off + x] != 0;
            w += is_certain ? 0 : f->own[x + 1] - f->own[x];
            f->mass[s->off + x + 1] = log_add(f->mass[s->off + x + 1], w);
        }
        f->edge[s->off + s->len] = log_add(f->edge[s->off + s->len], w);
    }
}

/* A token that was put there: all that is at its beginning, or ended inside it,
 * goes on to its end. */
static void pass_on(const forward *f, const cf_text_step *s)
{
    for (size_t b = 0; b < s->len; b++) {
        double w = f->edge[s->off + b];
        for (size_t x = b + 1; !isinf(w) && x <= s->len; x++) {
            f->mass[s->off + x] = log_add(f->mass[s->off + x], w);
        }
        f->edge[s->off + s->len] = log_add(f->edge[s->off + s->len], w);
    }
}

/* A step is one reading of its own tokens where nothing else agrees. */
static void run(const forward *f, float *log_p)
{
    double before = 0;
    for (size_t i = 0; i < f->p->n; i++) {
        const cf_text_step *s = &f->p->step[i];
        if (s->n_way == 0) {
            pass_on(f, s);
        } else if (s->len == 0) { /* a token without bytes */
            f->edge[s->off] += (double)f->read[s->way];
            f->mass[s->off] += (double)f->read[s->way];
        } else {
            take_ways(f, s);
            close_up(f, s);
        }
        log_p[i] = (float)(f->mass[s->off + s->len] - before);
        before = f->mass[s->off + s->len];
    }
}

cf_status cf_text_plan_sum(const cf_text_plan *p, const float *read, float *log_p, cf_error *err)
{
    if (p->tag[0] == '\0') {
        memcpy(log_p, read, p->n * sizeof *log_p);
        return CF_OK;
    }
    size_t n = p->text.n + p->n_end + 1;
    double *v = cf_calloc(3 * n, sizeof *v);
    if (v == NULL) {
        return cf_oom_for(err, "the scores");
    }
    const forward f = {p, read, v, v + n, v + 2 * n};
    for (size_t i = 0; i < 2 * n; i++) {
        v[i] = -INFINITY;
    }
    f.mass[0] = f.edge[0] = 0;
    run(&f, log_p);
    cf_free(v);
    return CF_OK;
}
