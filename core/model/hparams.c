/*
 * hparams.c - metadata keys to checked numbers.
 *
 * Keys are "ARCH.name".  A key that is absent gives its default; one that is
 * there must be of the right kind and in range.
 */
#include "core/model/hparams.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "core/base/alloc.h"

typedef struct reader {
    const cf_gguf *g;
    const char *arch;
    cf_error *err;
    char key[160]; /* the last one looked up */
} reader;

static const cf_gguf_value *look_up(reader *r, const char *name)
{
    snprintf(r->key, sizeof r->key, "%s.%s", r->arch, name);
    return cf_gguf_find(r->g, r->key);
}

static cf_status missing(reader *r)
{
    return cf_fail(r->err, CF_EFORMAT, "%s is missing", r->key);
}

/* An integer in lo..hi; absent leaves *out. */
static cf_status opt_u32(reader *r, const char *name, uint32_t lo, uint32_t hi,
                         uint32_t *out)
{
    const cf_gguf_value *v = look_up(r, name);
    uint64_t n = 0;
    if (v == NULL) {
        return CF_OK;
    }
    if (!cf_gguf_get_u64(r->g, r->key, &n)) {
        return cf_fail_at(r->err, CF_EFORMAT, v->off,
                          "%s at byte %" PRIu64 " is %s, not a count", r->key,
                          v->off, cf_gguf_type_name(v->type));
    }
    if (n < lo || n > hi) {
        return cf_fail_at(r->err, CF_EFORMAT, v->off,
                          "%s at byte %" PRIu64 " is %" PRIu64
                          ", must be %u to %u",
                          r->key, v->off, n, lo, hi);
    }
    *out = (uint32_t)n;
    return CF_OK;
}

static cf_status need_u32(reader *r, const char *name, uint32_t lo, uint32_t hi,
                          uint32_t *out)
{
    if (look_up(r, name) == NULL) {
        return missing(r);
    }
    return opt_u32(r, name, lo, hi, out);
}

/* A finite number in lo..hi; absent leaves *out. */
static cf_status opt_f64(reader *r, const char *name, double lo, double hi,
                         double *out)
{
    const cf_gguf_value *v = look_up(r, name);
    double d = 0;
    if (v == NULL) {
        return CF_OK;
    }
    if (!cf_gguf_get_f64(r->g, r->key, &d) || !(d >= lo && d <= hi)) {
        return cf_fail_at(r->err, CF_EFORMAT, v->off,
                          "%s at byte %" PRIu64
                          " must be a number from %g to %g",
                          r->key, v->off, lo, hi);
    }
    *out = d;
    return CF_OK;
}

static cf_status opt_f32(reader *r, const char *name, double lo, double hi,
                         float *out)
{
    double d = (double)*out;
    CF_TRY(opt_f64(r, name, lo, hi, &d));
    *out = (float)d;
    return CF_OK;
}

/* Item `i` of a key that is one number for all layers or an array by layer.
 * Absent gives `otherwise`; 0 there means that the key is needed. */
static cf_status layer_u32(reader *r, const char *name, uint32_t i, uint32_t hi,
                           uint32_t otherwise, uint32_t *out)
{
    const cf_gguf_value *v = look_up(r, name);
    *out = otherwise;
    if (v == NULL) {
        return otherwise != 0 ? CF_OK : missing(r);
    }
    if (v->type != CF_GGUF_ARRAY) {
        return opt_u32(r, name, 1, hi, out);
    }
    if (i >= v->n || v->item == CF_GGUF_STRING || v->item == CF_GGUF_F32 ||
        v->item == CF_GGUF_F64) {
        return cf_fail_at(r->err, CF_EFORMAT, v->off,
                          "%s at byte %" PRIu64
                          " must be counts, one for each layer",
                          r->key, v->off);
    }
    int64_t n = cf_gguf_item_i64(v, i);
    if (n < 1 || n > (int64_t)hi) {
        return cf_fail_at(r->err, CF_EFORMAT, v->off,
                          "%s at byte %" PRIu64 ": item %u is %" PRId64
                          ", must be 1 to %u",
                          r->key, v->off, i, n, hi);
    }
    *out = (uint32_t)n;
    return CF_OK;
}

/* ---- parts -------------------------------------------------------------- */

/* Things a file can ask for that would change the result and that confab does
 * not compute. */
static cf_status refuse_unknown_parts(reader *r)
{
    uint64_t n = 0;
    bool causal = true;
    look_up(r, "expert_count");
    if (cf_gguf_get_u64(r->g, r->key, &n) && n > 0) {
        return cf_fail(r->err, CF_EUNSUPPORTED,
                       "mixture of experts (%s = %" PRIu64 ") is not supported",
                       r->key, n);
    }
    look_up(r, "attention.causal");
    if (cf_gguf_get_bool(r->g, r->key, &causal) && !causal) {
        return cf_fail(r->err, CF_EUNSUPPORTED,
                       "attention that is not causal is not supported");
    }
    return CF_OK;
}

static cf_status read_rope_scaling(reader *r, cf_rope_params *p)
{
    cf_str type = {NULL, 0};
    look_up(r, "rope.scaling.type");
    bool has_type = cf_gguf_get_str(r->g, r->key, &type);
    double factor = 1;
    CF_TRY(opt_f64(r, "rope.scale_linear", 1e-6, 1e6, &factor)); /* old name */
    CF_TRY(opt_f64(r, "rope.scaling.factor", 0, 1e6, &factor));
    if (factor != 0 && factor < 1e-3) {
        return cf_fail(r->err, CF_EFORMAT, "%s is %g", r->key, factor);
    }
    p->factor = factor > 0 ? factor : 1; /* 0 stands for "none" in files */
    if (!has_type || cf_str_is(type, "linear")) {
        p->scaling = p->factor != 1 ? CF_ROPE_LINEAR : CF_ROPE_NONE;
    } else if (cf_str_is(type, "none")) {
        p->scaling = CF_ROPE_NONE;
        p->factor = 1;
    } else if (cf_str_is(type, "yarn")) {
        p->scaling = CF_ROPE_YARN;
    } else if (cf_str_is(type, "longrope")) {
        p->scaling = CF_ROPE_LONGROPE;
    } else {
        return cf_fail(r->err, CF_EUNSUPPORTED,
                       "rotary scaling \"%.*s\" is not supported",
                       type.n < 32 ? (int)type.n : 32, type.p);
    }
    CF_TRY(opt_f64(r, "rope.scaling.attn_factor", 0, 1e3, &p->attn_factor));
    if (p->attn_factor == 0) {
        p->attn_factor = 1;
    }
    CF_TRY(opt_f64(r, "rope.scaling.yarn_ext_factor", 0, 1, &p->ext_factor));
    CF_TRY(opt_f64(r, "rope.scaling.yarn_beta_fast", 1e-3, 1e6, &p->beta_fast));
    CF_TRY(opt_f64(r, "rope.scaling.yarn_beta_slow", 1e-3, 1e6, &p->beta_slow));
    return opt_u32(r, "rope.scaling.original_context_length", 1, CF_CTX_MAX,
                   &p->n_ctx_orig);
}

static cf_status read_rope(reader *r, cf_hparams *hp, uint32_t head_size)
{
    cf_rope_params *p = &hp->rope[CF_ROPE_GLOBAL];
    *p = (cf_rope_params){.n_rot = head_size,
                          .base = 10000,
                          .factor = 1,
                          .attn_factor = 1,
                          .ext_factor = 1,
                          .beta_fast = 32,
                          .beta_slow = 1,
                          .n_ctx_orig = hp->n_ctx_train};
    CF_TRY(opt_u32(r, "rope.dimension_count", 2, head_size, &p->n_rot));
    if (p->n_rot % 2 != 0) {
        return cf_fail(r->err, CF_EFORMAT, "%s is odd (%u)", r->key, p->n_rot);
    }
    CF_TRY(opt_f64(r, "rope.freq_base", 1.0001, 1e15, &p->base));
    CF_TRY(read_rope_scaling(r, p));
    /* Windowed layers may turn at their own pace, and are never stretched. */
    cf_rope_params *local = &hp->rope[CF_ROPE_LOCAL];
    *local = *p;
    if (hp->arch->rope_base_local > 0) {
        local->base = (double)hp->arch->rope_base_local;
        local->scaling = CF_ROPE_NONE;
        local->factor = 1;
        local->attn_factor = 1;
        CF_TRY(opt_f64(r, "rope.freq_base_swa", 1.0001, 1e15, &local->base));
    }
    return CF_OK;
}

/* Whether layer i sees only a window, by the file's pattern (a period, or a
 * flag by layer) or the family's. */
static cf_status is_windowed(reader *r, const cf_hparams *hp, uint32_t i,
                             bool *out)
{
    const cf_gguf_value *v = look_up(r, "attention.sliding_window_pattern");
    uint32_t period = hp->arch->window_period;
    if (period == 0) {
        *out = false;
        return CF_OK;
    }
    if (v != NULL && v->type == CF_GGUF_ARRAY) {
        if (v->item == CF_GGUF_STRING || i >= v->n) {
            return cf_fail_at(r->err, CF_EFORMAT, v->off,
                              "%s at byte %" PRIu64
                              " must be flags, one for each layer",
                              r->key, v->off);
        }
        *out = cf_gguf_item_i64(v, i) != 0;
        return CF_OK;
    }
    CF_TRY(opt_u32(r, "attention.sliding_window_pattern", 1, CF_EVERY_LAYER,
                   &period));
    *out = i % period < period - 1;
    return CF_OK;
}

static cf_status read_layer(reader *r, const cf_hparams *hp, uint32_t window,
                            uint32_t i, cf_layer_hparams *l)
{
    const cf_arch *arch = hp->arch;
    bool windowed = false;
    CF_TRY(layer_u32(r, "attention.head_count", i, CF_HEAD_MAX, 0, &l->n_head));
    CF_TRY(layer_u32(r, "attention.head_count_kv", i, CF_HEAD_MAX, l->n_head,
                     &l->n_head_kv));
    CF_TRY(layer_u32(r, "feed_forward_length", i, CF_WIDTH_MAX, 0, &l->n_ff));
    assert(l->n_head != 0 && l->n_head_kv != 0);
    if (l->n_head % l->n_head_kv != 0) {
        return cf_fail(r->err, CF_EFORMAT,
                       "layer %u: %u query heads cannot share %u key/value "
                       "heads",
                       i, l->n_head, l->n_head_kv);
    }
    l->head_size = 0;
    CF_TRY(opt_u32(r, "attention.key_length", 1, CF_WIDTH_MAX, &l->head_size));
    if (l->head_size == 0) {
        if (hp->n_embd % l->n_head != 0) {
            return cf_fail(r->err, CF_EFORMAT,
                           "layer %u: %u heads do not divide a width of %u", i,
                           l->n_head, hp->n_embd);
        }
        l->head_size = hp->n_embd / l->n_head;
    }
    l->head_size_v = l->head_size;
    CF_TRY(
        opt_u32(r, "attention.value_length", 1, CF_WIDTH_MAX, &l->head_size_v));
    if ((uint64_t)l->n_head * l->head_size > CF_WIDTH_MAX ||
        (uint64_t)l->n_head * l->head_size_v > CF_WIDTH_MAX) {
        return cf_fail(r->err, CF_EFORMAT,
                       "layer %u: %u heads of %u are wider than %d", i,
                       l->n_head, l->head_size, CF_WIDTH_MAX);
    }
    CF_TRY(is_windowed(r, hp, i, &windowed));
    l->window = windowed ? window : 0;
    l->rope_set = l->window != 0 && arch->rope_base_local > 0 ? CF_ROPE_LOCAL
                                                              : CF_ROPE_GLOBAL;
    l->has_rope = arch->nope_period == 0 || (i + 1) % arch->nope_period != 0;
    uint32_t per_head = hp->n_layer == arch->n_layer_embd_scaled
                            ? hp->n_embd / l->n_head
                            : l->head_size;
    l->attn_scale = (float)(1.0 / sqrt(per_head > 0 ? (double)per_head : 1));
    return opt_f32(r, "attention.scale", 1e-6, 1e6, &l->attn_scale);
}

static cf_status read_layers(reader *r, cf_hparams *hp)
{
    uint32_t window = hp->arch->window_default;
    CF_TRY(opt_u32(r, "attention.sliding_window", 0, UINT32_MAX, &window));
    hp->layer = cf_calloc(hp->n_layer, sizeof *hp->layer);
    if (hp->layer == NULL) {
        return cf_fail(r->err, CF_ENOMEM, "out of memory for %u layers",
                       hp->n_layer);
    }
    for (uint32_t i = 0; i < hp->n_layer; i++) {
        CF_TRY(read_layer(r, hp, window, i, &hp->layer[i]));
    }
    CF_TRY(read_rope(r, hp, hp->layer[0].head_size));
    for (uint32_t i = 0; i < hp->n_layer; i++) {
        if (hp->layer[i].head_size < hp->rope[CF_ROPE_GLOBAL].n_rot) {
            return cf_fail(r->err, CF_EFORMAT,
                           "layer %u: heads of %u are smaller than the %u "
                           "rotated dimensions",
                           i, hp->layer[i].head_size,
                           hp->rope[CF_ROPE_GLOBAL].n_rot);
        }
    }
    return CF_OK;
}

static cf_status read_all(reader *r, cf_hparams *hp)
{
    const cf_arch *arch = hp->arch;
    const cf_gguf_value *tokens = NULL;
    double eps = 0;
    CF_TRY(refuse_unknown_parts(r));
    CF_TRY(need_u32(r, "block_count", 1, CF_LAYER_MAX, &hp->n_layer));
    CF_TRY(need_u32(r, "embedding_length", 1, CF_WIDTH_MAX, &hp->n_embd));
    CF_TRY(need_u32(r, "context_length", 1, UINT32_MAX, &hp->n_ctx_train));
    if (look_up(r, "attention.layer_norm_rms_epsilon") == NULL) {
        return missing(r);
    }
    CF_TRY(opt_f64(r, "attention.layer_norm_rms_epsilon", 0, 1, &eps));
    hp->norm_eps = (float)eps;
    tokens = cf_gguf_find(r->g, "tokenizer.ggml.tokens");
    if (tokens == NULL || tokens->type != CF_GGUF_ARRAY || tokens->n == 0 ||
        tokens->n > CF_VOCAB_MAX) {
        return cf_fail(r->err, CF_EFORMAT,
                       "tokenizer.ggml.tokens is missing or not 1 to %d items",
                       CF_VOCAB_MAX);
    }
    hp->n_vocab = (uint32_t)tokens->n;
    hp->embd_scale =
        arch->has_embd_scale ? (float)sqrt((double)hp->n_embd) : 1.0f;
    hp->attn_soft_cap = arch->attn_soft_cap_default;
    hp->final_soft_cap = arch->final_soft_cap_default;
    if (arch->has_embd_scale) { /* the Gemma families */
        CF_TRY(
            opt_f32(r, "attn_logit_softcapping", 0, 1e6, &hp->attn_soft_cap));
        CF_TRY(
            opt_f32(r, "final_logit_softcapping", 0, 1e6, &hp->final_soft_cap));
    }
    return read_layers(r, hp);
}

cf_status cf_hparams_init(cf_hparams *out, const cf_gguf *g, cf_error *err)
{
    cf_str name = {NULL, 0};
    if (!cf_gguf_get_str(g, "general.architecture", &name)) {
        return cf_fail(err, CF_EFORMAT,
                       "general.architecture is missing or not a string");
    }
    cf_hparams hp = {.arch = cf_arch_find(name)};
    if (hp.arch == NULL) {
        return cf_fail(err, CF_EUNSUPPORTED,
                       "architecture %.*s is not supported",
                       name.n < 64 ? (int)name.n : 64, name.p);
    }
    reader r = {g, hp.arch->name, err, ""};
    cf_status st = read_all(&r, &hp);
    if (st != CF_OK) {
        cf_hparams_deinit(&hp);
        return st;
    }
    *out = hp;
    return CF_OK;
}

void cf_hparams_deinit(cf_hparams *hp)
{
    cf_free(hp->layer);
    hp->layer = NULL;
}

static uint32_t glance_u32(reader *r, const char *name)
{
    uint64_t n = 0;
    look_up(r, name);
    return cf_gguf_get_u64(r->g, r->key, &n) && n <= UINT32_MAX ? (uint32_t)n
                                                                : 0;
}

void cf_hparams_glance(cf_hparams *out, const cf_gguf *g)
{
    cf_str name = {NULL, 0};
    char arch[96] = "";
    *out = (cf_hparams){0};
    if (cf_gguf_get_str(g, "general.architecture", &name) &&
        name.n < sizeof arch) {
        memcpy(arch, name.p, name.n);
        out->arch = cf_arch_find(name);
    }
    reader r = {g, arch, NULL, ""};
    out->n_layer = glance_u32(&r, "block_count");
    out->n_embd = glance_u32(&r, "embedding_length");
    out->n_ctx_train = glance_u32(&r, "context_length");
    const cf_gguf_value *tokens = cf_gguf_find(g, "tokenizer.ggml.tokens");
    if (tokens != NULL && tokens->type == CF_GGUF_ARRAY &&
        tokens->n <= CF_VOCAB_MAX) {
        out->n_vocab = (uint32_t)tokens->n;
    }
}
