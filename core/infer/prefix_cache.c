/*
 * prefix_cache.c - keeps lists of cache blocks by the tokens in them.
 *
 * Rules that always hold:
 *   1. A prompt has n tokens, a multiple of a block's, and their blocks; with
 *      recurrent layers, also states at positions up to n.
 *   2. No prompt is the beginning of another one of its layout and context.
 *   3. bytes is the sum over all prompts, at most max_bytes.
 */
#include "core/infer/prefix_cache.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/buf.h"
#include "core/base/hash.h"
#include "core/base/os.h"

enum { PROMPTS_MAX = 64 };

/* One prompt. */
typedef struct prompt {
    uint64_t number; /* its name; never used again */
    uint64_t used;   /* when, in calls */
    bool is_sure;
    uint32_t rope_variant;
    uint32_t n;
    cf_token *ids; /* [n] */
    cf_kv kv;
    cf_states states;
} prompt;

struct cf_prefix_cache {
    const cf_engine *engine;
    pthread_mutex_t lock;
    uint64_t max_bytes, bytes, n_calls, n_numbers;
    prompt *v[PROMPTS_MAX];
    size_t n;
};

cf_status cf_prefix_cache_new(cf_prefix_cache **out, const cf_engine *engine, uint64_t max_bytes,
                              cf_error *err)
{
    cf_prefix_cache *c = cf_calloc(1, sizeof *c);
    if (c == NULL) {
        return cf_oom_for(err, "the cache of prompts");
    }
    if (pthread_mutex_init(&c->lock, NULL) != 0) {
        cf_free(c);
        return cf_fail(err, CF_ENOMEM, "no memory for a lock");
    }
    c->engine = engine;
    c->max_bytes = max_bytes;
    *out = c;
    return CF_OK;
}

static void free_prompt(prompt *p)
{
    if (p != NULL) {
        if (p->kv.page != NULL) {
            cf_kv_deinit(&p->kv);
        }
        cf_states_deinit(&p->states);
        cf_free(p->ids);
        cf_free(p);
    }
}

void cf_prefix_cache_free(cf_prefix_cache *c)
{
    if (c == NULL) {
        return;
    }
    for (size_t i = 0; i < c->n; i++) {
        free_prompt(c->v[i]);
    }
    pthread_mutex_destroy(&c->lock);
    cf_free(c);
}

static uint64_t bytes_of(const prompt *p)
{
    uint64_t kv, states, shared;
    cf_kv_memory(&p->kv, &kv, &shared);
    cf_states_memory(&p->states, &states, &shared);
    return kv + states + p->n * sizeof(cf_token);
}

size_t cf_prefix_cache_count(cf_prefix_cache *c, uint64_t *bytes)
{
    pthread_mutex_lock(&c->lock);
    size_t n = c->n;
    *bytes = c->bytes;
    pthread_mutex_unlock(&c->lock);
    return n;
}

/* ---- with the lock held ------------------------------------------------- */

static void remove_at(cf_prefix_cache *c, size_t i)
{
    c->bytes -= bytes_of(c->v[i]);
    free_prompt(c->v[i]);
    c->v[i] = c->v[--c->n];
}

static size_t least_used(const cf_prefix_cache *c)
{
    size_t at = 0;
    for (size_t i = 1; i < c->n; i++) {
        at = c->v[i]->used < c->v[at]->used ? i : at;
    }
    return at;
}

static bool is_alike(const prompt *p, const cf_kv_layout *layout, uint32_t rope_variant)
{
    return p->kv.layout == layout && p->rope_variant == rope_variant;
}

static uint32_t n_common(const prompt *p, const cf_token *ids, size_t n)
{
    uint32_t k = 0;
    while (k < p->n && k < n && p->ids[k] == ids[k]) {
        k++;
    }
    return k;
}

/* Takes over a prompt; those that are its beginning go.  It is freed where
 * there is no room for it, or where a longer one has it. */
static void add(cf_prefix_cache *c, prompt *p)
{
    uint64_t need = bytes_of(p);
    for (size_t i = c->n; i-- > 0;) {
        prompt *other = c->v[i];
        if (!is_alike(other, p->kv.layout, p->rope_variant)) {
            continue;
        }
        uint32_t k = n_common(other, p->ids, p->n);
        if (k == p->n) {
            other->used = ++c->n_calls;
            free_prompt(p);
            return;
        }
        if (k == other->n) {
            remove_at(c, i);
        }
    }
    while (c->n > 0 && (c->n == PROMPTS_MAX || c->bytes + need > c->max_bytes)) {
        remove_at(c, least_used(c));
    }
    if (need > c->max_bytes) {
        free_prompt(p);
        return;
    }
    p->number = ++c->n_numbers;
    p->used = ++c->n_calls;
    c->bytes += need;
    c->v[c->n++] = p;
}

/* The prompt with most of ids[0..n), in whole blocks. */
static prompt *best_of(const cf_prefix_cache *c, const cf_session *s, const cf_token *ids, size_t n,
                       bool is_sure, uint32_t *len)
{
    prompt *best = NULL;
    *len = 0;
    for (size_t i = 0; i < c->n; i++) {
        prompt *p = c->v[i];
        if (!is_alike(p, s->kv.layout, s->rope_variant) || (is_sure && !p->is_sure)) {
            continue;
        }
        uint32_t k = n_common(p, ids, n) / CF_KV_BLOCK * CF_KV_BLOCK;
        if (k > *len) {
            *len = k;
            best = p;
        }
    }
    return best;
}

/* ---- lending ------------------------------------------------------------ */

/* Where a session with these states would go on. */
static uint32_t ready_at(const cf_states *states, uint32_t len)
{
    uint32_t pos = 0;
    if (states->n_float == 0) {
        return len;
    }
    for (uint32_t i = 0; i < states->n; i++) {
        pos = states->kept[i]->pos <= len ? states->kept[i]->pos : pos;
    }
    return pos;
}

/* The session's timeline becomes p's first `len` tokens. */
static bool take(cf_session *s, const prompt *p, uint32_t len)
{
    cf_kv kv = {.page = NULL};
    cf_states states = {0};
    if (len > s->n_ctx || cf_kv_init(&kv, s->kv.layout, s->n_ctx, NULL) != CF_OK) {
        return false;
    }
    if (cf_states_fork(&states, &p->states, NULL) != CF_OK) {
        cf_kv_deinit(&kv);
        return false;
    }
    cf_kv_share(&kv, &p->kv, len / CF_KV_BLOCK);
    cf_kv_deinit(&s->kv);
    cf_states_deinit(&s->states);
    s->kv = kv;
    s->states = states;
    memcpy(s->tokens, p->ids, len * sizeof *s->tokens);
    s->n = s->n_ready = cf_states_rewind(&s->states, len);
    cf_kv_truncate(&s->kv, s->n);
    s->n_row = 0;
    s->has_logits = false;
    return true;
}

cf_prefix_loan cf_prefix__borrow(cf_session *s, const cf_token *ids, size_t n, bool is_sure)
{
    cf_prefix_cache *c = s->prefixes;
    cf_prefix_loan loan = {0};
    uint32_t len = 0;
    if (c == NULL || n == 0 || s->place != NULL) {
        return loan;
    }
    pthread_mutex_lock(&c->lock);
    prompt *p = best_of(c, s, ids, n - 1, is_sure, &len);
    if (p != NULL && ready_at(&p->states, len) > s->n_ready && p->states.step == s->states.step &&
        take(s, p, len)) {
        p->used = ++c->n_calls;
        loan = (cf_prefix_loan){s->n, p->number, p->is_sure};
    }
    pthread_mutex_unlock(&c->lock);
    return loan;
}

uint32_t cf_prefix__would_lend(const cf_session *s, const cf_token *ids, size_t n)
{
    cf_prefix_cache *c = s->prefixes;
    uint32_t len = 0;
    uint32_t ready = 0;
    if (c == NULL || n == 0 || s->place != NULL) {
        return 0;
    }
    pthread_mutex_lock(&c->lock);
    const prompt *p = best_of(c, s, ids, n - 1, false, &len);
    if (p != NULL && len <= s->n_ctx && p->states.step == s->states.step) {
        ready = ready_at(&p->states, len);
    }
    pthread_mutex_unlock(&c->lock);
    return ready;
}

void cf_prefix__judge(cf_prefix_cache *c, uint64_t of, bool is_good)
{
    pthread_mutex_lock(&c->lock);
    for (size_t i = 0; i < c->n; i++) {
        if (c->v[i]->number != of) {
            continue;
        }
        c->v[i]->is_sure = is_good;
        if (!is_good) {
            remove_at(c, i);
        }
        break;
    }
    pthread_mutex_unlock(&c->lock);
}

/* An empty prompt with room for n tokens; NULL without memory. */
static prompt *new_prompt(const cf_kv_layout *layout, uint32_t rope_variant, uint32_t n)
{
    prompt *p = cf_calloc(1, sizeof *p);
    if (p == NULL) {
        return NULL;
    }
    p->n = n;
    p->rope_variant = rope_variant;
    p->ids = cf_calloc(n, sizeof *p->ids);
    if (p->ids == NULL || cf_kv_init(&p->kv, layout, n, NULL) != CF_OK) {
        free_prompt(p);
        return NULL;
    }
    return p;
}

void cf_prefix__offer(const cf_session *s)
{
    uint32_t n = s->n_ready / CF_KV_BLOCK * CF_KV_BLOCK;
    if (s->prefixes == NULL || n == 0 || s->place != NULL) {
        return;
    }
    prompt *p = new_prompt(s->kv.layout, s->rope_variant, n);
    if (p == NULL || cf_states_fork(&p->states, &s->states, NULL) != CF_OK) {
        free_prompt(p); /* it costs time later, and nothing else */
        return;
    }
    p->is_sure = true;
    memcpy(p->ids, s->tokens, n * sizeof *p->ids);
    cf_kv_share(&p->kv, &s->kv, n / CF_KV_BLOCK);
    pthread_mutex_lock(&s->prefixes->lock);
    add(s->prefixes, p);
    pthread_mutex_unlock(&s->prefixes->lock);
}

/* ---- the file ----------------------------------------------------------- */

/* Numbers are in the machine's order, which `order` tells. */
typedef struct file_head {
    char magic[8];
    uint32_t version, order;
    char model[64];
    uint32_t arithmetic, n_prompt;
} file_head;

typedef struct prompt_head {
    uint32_t n, rope_variant, type, reserved; /* type: a cf_dtype */
    uint64_t page_bytes;
} prompt_head;

enum { VERSION = 1, ORDER = 0x01020304, SUM = 64 };

static file_head make_head(const cf_engine *e, size_t n)
{
    char hash[65];
    file_head h = {.magic = {'C', 'F', 'P', 'R', 'E', 'F', 'I', 'X'},
                   .version = VERSION,
                   .order = ORDER,
                   .arithmetic = (uint32_t)e->arithmetic,
                   .n_prompt = (uint32_t)n};
    cf_engine_hash(e, hash);
    memcpy(h.model, hash, sizeof h.model);
    return h;
}

static void write_prompt(cf_buf *out, const prompt *p)
{
    const prompt_head h = {.n = p->n,
                           .rope_variant = p->rope_variant,
                           .type = (uint32_t)p->kv.layout->type,
                           .page_bytes = p->kv.layout->page_bytes};
    cf_buf_add(out, &h, sizeof h);
    cf_buf_add(out, p->ids, p->n * sizeof *p->ids);
    for (uint32_t i = 0; i < p->kv.n; i++) {
        cf_buf_add(out, cf_kv_page_data(&p->kv, i), p->kv.layout->page_bytes);
    }
}

static int by_use(const void *a, const void *b)
{
    const prompt *x = *(prompt *const *)a;
    const prompt *y = *(prompt *const *)b;
    return x->used < y->used ? 1 : x->used > y->used ? -1 : 0;
}

/* Whether those before have most of a prompt: only its end would be new. */
static bool is_known(const prompt *p, prompt *const *before, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (is_alike(before[i], p->kv.layout, p->rope_variant) &&
            n_common(before[i], p->ids, p->n) >= p->n - p->n / 4) {
            return true;
        }
    }
    return false;
}

/* Fills out with the prompts for a file, the one used last first. */
static size_t choose(cf_prefix_cache *c, prompt *out[PROMPTS_MAX])
{
    uint64_t total = sizeof(file_head) + SUM;
    size_t n = 0;
    qsort(c->v, c->n, sizeof(prompt *), by_use);
    for (size_t i = 0; i < c->n; i++) {
        uint64_t need = bytes_of(c->v[i]) + sizeof(prompt_head);
        if (total + need <= CF_PREFIX_FILE_MAX && !is_known(c->v[i], out, n)) {
            total += need;
            out[n++] = c->v[i];
        }
    }
    return n;
}

cf_status cf_prefix_cache_write(cf_prefix_cache *c, const char *path, cf_error *err)
{
    char sum[SUM + 1];
    cf_buf out = CF_BUF_INIT;
    if (cf_hparams_n_state(&c->engine->hp) != 0) {
        return cf_fail(err, CF_EUNSUPPORTED, "prompts of a recurrent model are not kept in a file");
    }
    pthread_mutex_lock(&c->lock);
    prompt *chosen[PROMPTS_MAX];
    size_t n = choose(c, chosen);
    const file_head h = make_head(c->engine, n);
    cf_buf_add(&out, &h, sizeof h);
    for (size_t i = 0; i < n; i++) {
        write_prompt(&out, chosen[i]);
    }
    pthread_mutex_unlock(&c->lock);
    cf_status st = cf_buf_check(&out, err);
    if (st == CF_OK) {
        cf_hash_hex(sum, out.p, out.n);
        cf_buf_add(&out, sum, SUM);
        st = cf_buf_check(&out, err);
    }
    CF_THEN(st, cf_os_write_file(path, out.p, out.n, 0600, err));
    cf_buf_deinit(&out);
    return st;
}

/* The next n bytes of a file; NULL past its end. */
static const unsigned char *next_bytes(cf_str *rest, uint64_t n)
{
    const unsigned char *p = (const unsigned char *)rest->p;
    if (n > rest->n) {
        return NULL;
    }
    rest->p += n;
    rest->n -= (size_t)n;
    return p;
}

static bool are_tokens(const cf_token *ids, uint32_t n, uint32_t n_vocab)
{
    for (uint32_t i = 0; i < n; i++) {
        if (ids[i] < 0 || (uint32_t)ids[i] >= n_vocab) {
            return false;
        }
    }
    return true;
}

/* A prompt of the file; NULL with CF_EFORMAT or CF_ENOMEM. */
static prompt *read_prompt(const cf_engine *e, cf_str *rest, cf_error *err)
{
    prompt_head h;
    const unsigned char *head = next_bytes(rest, sizeof h);
    if (head == NULL) {
        (void)cf_fail(err, CF_EFORMAT, "the file ends inside a prompt");
        return NULL;
    }
    memcpy(&h, head, sizeof h);
    const cf_kv_layout *layout = cf_engine__kv_of_type(e, h.type);
    if (layout == NULL || h.n == 0 || h.n % CF_KV_BLOCK != 0 || h.n > CF_CTX_MAX ||
        h.rope_variant >= CF_ROPE_VARIANTS || h.page_bytes != layout->page_bytes ||
        h.n > rest->n / sizeof(cf_token) || h.n / CF_KV_BLOCK > rest->n / layout->page_bytes) {
        (void)cf_fail(err, CF_EFORMAT, "a prompt of %u tokens does not fit", h.n);
        return NULL;
    }
    prompt *p = new_prompt(layout, h.rope_variant, h.n);
    if (p == NULL || cf_kv_reserve(&p->kv, 0, h.n, err) != CF_OK) {
        free_prompt(p);
        (void)cf_oom_for(err, "a prompt");
        return NULL;
    }
    const unsigned char *ids = next_bytes(rest, h.n * sizeof(cf_token));
    bool is_whole = ids != NULL;
    if (is_whole) {
        memcpy(p->ids, ids, h.n * sizeof(cf_token));
        is_whole = are_tokens(p->ids, h.n, e->hp.n_vocab);
    }
    for (uint32_t i = 0; is_whole && i < p->kv.n; i++) {
        const unsigned char *page = next_bytes(rest, layout->page_bytes);
        is_whole = page != NULL;
        if (is_whole) {
            memcpy(cf_kv_page_data(&p->kv, i), page, layout->page_bytes);
        }
    }
    if (!is_whole) {
        free_prompt(p);
        (void)cf_fail(err, CF_EFORMAT, "a prompt is not whole");
        return NULL;
    }
    return p;
}

/* Everything but the prompts. */
static cf_status check_file(const cf_engine *e, cf_str *rest, uint32_t *n, cf_error *err)
{
    char sum[SUM + 1];
    file_head h;
    file_head want;
    if (rest->n < sizeof h + SUM) {
        return cf_fail(err, CF_EFORMAT, "too short for a file of prompts");
    }
    memcpy(&h, rest->p, sizeof h);
    want = make_head(e, h.n_prompt);
    if (memcmp(&h, &want, sizeof h) != 0) {
        return cf_fail(err, CF_EFORMAT, "it is of another model or another version");
    }
    rest->n -= SUM;
    cf_hash_hex(sum, rest->p, rest->n);
    if (memcmp(sum, rest->p + rest->n, SUM) != 0 || h.n_prompt > PROMPTS_MAX) {
        return cf_fail(err, CF_EFORMAT, "its checksum is wrong");
    }
    (void)next_bytes(rest, sizeof h);
    *n = h.n_prompt;
    return CF_OK;
}

static cf_status add_all(cf_prefix_cache *c, cf_str rest, cf_error *err)
{
    prompt *read[PROMPTS_MAX];
    uint32_t n = 0;
    uint32_t n_read = 0;
    CF_TRY(check_file(c->engine, &rest, &n, err));
    for (; n_read < n; n_read++) {
        read[n_read] = read_prompt(c->engine, &rest, err);
        if (read[n_read] == NULL) {
            break;
        }
    }
    cf_status st = CF_OK;
    if (n_read < n || rest.n != 0) {
        st = n_read < n ? err->code : cf_fail(err, CF_EFORMAT, "there is more at its end");
    }
    pthread_mutex_lock(&c->lock);
    for (uint32_t i = n_read; i-- > 0;) { /* the first one was used last */
        if (st == CF_OK) {
            add(c, read[i]);
        } else {
            free_prompt(read[i]);
        }
    }
    pthread_mutex_unlock(&c->lock);
    return st;
}

cf_status cf_prefix_cache_read(cf_prefix_cache *c, const char *path, cf_error *err)
{
    cf_buf bytes = CF_BUF_INIT;
    if (cf_hparams_n_state(&c->engine->hp) != 0) {
        return cf_fail(err, CF_ENOTFOUND, "none is kept for this model");
    }
    cf_status st = cf_os_read_file(&bytes, path, CF_PREFIX_FILE_MAX, err);
    cf_error why = {0};
    if (st == CF_OK) {
        st = add_all(c, cf_buf_str(&bytes), &why);
        if (st != CF_OK && err != NULL) {
            *err = why;
        }
    }
    cf_buf_deinit(&bytes);
    return st;
}
