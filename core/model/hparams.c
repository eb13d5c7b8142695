/*
 * hparams.c - reads a model's sizes and constants and checks them against each
 * other.
 */
#include "core/model/hparams.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/api/engine.h"
#include "core/base/alloc.h"
#include "core/model/meta_reader.h"

/* Things a file can ask for that would change the result and that confab does
 * not compute. */
static cf_status refuse_unknown_parts(cf_meta_reader *r, const cf_arch *arch)
{
    uint32_t n = 0;
    bool causal;
    CF_TRY(cf_meta__opt_u32(r, "expert_count", 0, UINT32_MAX, &n));
    if (n > 0 && !arch->has_experts) {
        return cf_fail(r->err, CF_EUNSUPPORTED, "mixture of experts (%s = %u) is not supported",
                       r->key, n);
    }
    causal = !arch->is_encoder;
    cf_meta__opt_bool(r, "attention.causal", &causal);
    if (causal == arch->is_encoder) {
        return cf_fail(r->err, CF_EUNSUPPORTED, "%s attention in %s is not supported",
                       causal ? "causal" : "bidirectional", arch->name);
    }
    return CF_OK;
}

/* ---- rotary positions --------------------------------------------------- */

static cf_status read_rope_kind(cf_meta_reader *r, cf_rope_params *p)
{
    cf_str type = {NULL, 0};
    cf_meta__find(r, "rope.scaling.type");
    bool has_type = cf_gguf_get_str(r->g, r->key, &type);
    double factor = 1;
    /* the old name first */
    CF_TRY(cf_meta__opt_f64(r, "rope.scale_linear", 1e-6, 1e6, &factor));
    CF_TRY(cf_meta__opt_f64(r, "rope.scaling.factor", 0, 1e6, &factor));
    if (factor != 0 && factor < 1e-3) {
        return cf_fail(r->err, CF_EFORMAT, "%s is %g", r->key, factor);
    }
    p->factor = factor > 0 ? factor : 1; /* 0 means "none" in files */
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
        return cf_fail(r->err, CF_EUNSUPPORTED, "rotary scaling \"%.*s\" is not supported",
                       type.n < 32 ? (int)type.n : 32, type.p);
    }
    return CF_OK;
}

static cf_status read_rope_scaling(cf_meta_reader *r, const cf_arch *arch, cf_rope_params *p)
{
    double log_multiplier = 0;
    CF_TRY(read_rope_kind(r, p));
    CF_TRY(cf_meta__opt_f64(r, "rope.scaling.attn_factor", 0, 1e3, &p->attn_factor));
    if (p->attn_factor == 0) {
        p->attn_factor = 1;
    }
    CF_TRY(cf_meta__opt_f64(r, "rope.scaling.yarn_ext_factor", 0, 1, &p->ext_factor));
    CF_TRY(cf_meta__opt_f64(r, "rope.scaling.yarn_beta_fast", 1e-3, 1e6, &p->beta_fast));
    CF_TRY(cf_meta__opt_f64(r, "rope.scaling.yarn_beta_slow", 1e-3, 1e6, &p->beta_slow));
    CF_TRY(cf_meta__opt_f64(r, "rope.scaling.yarn_log_multiplier", 0, 1e3, &log_multiplier));
    if (arch->has_temperature && log_multiplier > 0 && p->factor > 1) {
        p->magnitude = (0.1 * log(p->factor) + 1) / (0.1 * log_multiplier * log(p->factor) + 1);
    }
    p->is_exact = arch->has_exact_yarn;
    return cf_meta__opt_u32(r, "rope.scaling.original_context_length", 1, CF_CTX_MAX,
                            &p->n_ctx_orig);
}

/* The base grows with a factor that suits a longer context ("NTK-aware"). */
static cf_status read_rope_alpha(cf_meta_reader *r, uint32_t head_size, cf_rope_params *p)
{
    double alpha = 0;
    CF_TRY(cf_meta__opt_f64(r, "rope.scaling.alpha", 0, 1e6, &alpha));
    if (alpha > 0 && head_size > 2) {
        p->base *= pow(alpha, (double)head_size / ((double)head_size - 2));
    }
    return CF_OK;
}

/* M-RoPE: how many pairs turn by each number of a position. */
static cf_status read_sections(cf_meta_reader *r, const cf_arch *arch, cf_rope_params *p)
{
    uint32_t sum = 0;
    const cf_gguf_value *v = cf_meta__find(r, "rope.dimension_sections");
    for (uint32_t i = 0; v != NULL && i < CF_ROPE_AXES; i++) {
        if (v->type == CF_GGUF_ARRAY && i >= v->n && i == CF_ROPE_AXES - 1) {
            break; /* three are enough */
        }
        CF_TRY(
            cf_meta__layer_u32(r, "rope.dimension_sections", i, 0, CF_WIDTH_MAX, &p->section[i]));
        sum += p->section[i];
    }
    if (sum > p->n_rot / 2) {
        return cf_fail(r->err, CF_EFORMAT, "%s: %u pairs of a rotated part of %u dimensions",
                       r->key, sum, p->n_rot);
    }
    p->is_interleaved = arch->has_interleaved_axes;
    return CF_OK;
}

static cf_status read_n_rot(cf_meta_reader *r, const char *name, uint32_t head_size, uint32_t *out)
{
    CF_TRY(cf_meta__opt_u32(r, name, 2, head_size, out));
    if (*out % 2 != 0) {
        return cf_fail(r->err, CF_EFORMAT, "%s is odd (%u)", r->key, *out);
    }
    return CF_OK;
}

/* The first layer's head size that a set applies to. */
static uint32_t rope_head_size(const cf_hparams *hp, uint32_t set)
{
    for (uint32_t i = 0; i < hp->n_layer; i++) {
        if (hp->layer[i].n_head != 0 && hp->layer[i].rope_set == set) {
            return hp->layer[i].head_size;
        }
    }
    return 0;
}

/* With latent attention YaRN leaves sine and cosine as long as they are and
 * multiplies scores: by (1 + 0.1 m ln factor)^2, where the file has 0.1 m. */
static cf_status stretch_scores(cf_meta_reader *r, cf_hparams *hp)
{
    cf_rope_params *p = &hp->rope[CF_ROPE_GLOBAL];
    double multiplier = 0;
    if (hp->latent.n == 0 || p->scaling != CF_ROPE_YARN) {
        return CF_OK;
    }
    CF_TRY(cf_meta__opt_f64(r, "rope.scaling.yarn_log_multiplier", 0, 1e3, &multiplier));
    double m = 1 + multiplier * log(p->factor);
    p->magnitude = 1;
    for (uint32_t i = 0; i < hp->n_layer; i++) {
        hp->layer[i].attn_scale *= (float)(m * m);
    }
    return CF_OK;
}

static cf_status read_rope(cf_meta_reader *r, cf_hparams *hp)
{
    const cf_arch *arch = hp->arch;
    cf_rope_params *p = &hp->rope[CF_ROPE_GLOBAL];
    uint32_t size = rope_head_size(hp, CF_ROPE_GLOBAL);
    uint32_t size_local = rope_head_size(hp, CF_ROPE_LOCAL);
    size = size != 0 ? size : size_local;
    if (size == 0) { /* no attention at all */
        return CF_OK;
    }
    *p = (cf_rope_params){.n_rot = size,
                          .base = 10000,
                          .factor = 1,
                          .attn_factor = 1,
                          .ext_factor = 1,
                          .beta_fast = 32,
                          .beta_slow = 1,
                          .n_ctx_orig = hp->n_ctx_train};
    CF_TRY(read_n_rot(r, "rope.dimension_count", size, &p->n_rot));
    CF_TRY(cf_meta__opt_f64(r, "rope.freq_base", 1.0001, 1e15, &p->base));
    CF_TRY(read_rope_alpha(r, size, p));
    CF_TRY(read_rope_scaling(r, arch, p));
    CF_TRY(read_sections(r, arch, p));
    CF_TRY(stretch_scores(r, hp));
    cf_rope_params *local = &hp->rope[CF_ROPE_LOCAL];
    *local = *p;
    if (arch->rope_base_local > 0 || arch->has_plain_rope_local) {
        local->scaling = CF_ROPE_NONE;
        local->factor = 1;
        local->attn_factor = 1;
    }
    if (arch->rope_base_local > 0) {
        local->base = (double)arch->rope_base_local;
        CF_TRY(cf_meta__opt_f64(r, "rope.freq_base_swa", 1.0001, 1e15, &local->base));
        if (size_local != 0 && size_local < local->n_rot) {
            local->n_rot = size_local;
        }
        CF_TRY(read_n_rot(r, "rope.dimension_count_swa", size_local != 0 ? size_local : size,
                          &local->n_rot));
    }
    for (uint32_t i = 0; i < hp->n_layer; i++) {
        const cf_layer_hparams *l = &hp->layer[i];
        if (l->n_head != 0 && l->head_size < hp->rope[l->rope_set].n_rot) {
            return cf_fail(r->err, CF_EFORMAT,
                           "layer %u: heads of %u are smaller than the %u "
                           "rotated dimensions",
                           i, l->head_size, hp->rope[l->rope_set].n_rot);
        }
    }
    return CF_OK;
}

/* ---- layers ------------------------------------------------------------- */

/* Whether layer i sees only a window, by the file's pattern (a period, or a
 * flag by layer) or the family's. */
static cf_status is_windowed(cf_meta_reader *r, const cf_hparams *hp, uint32_t i, bool *out)
{
    uint32_t period = hp->arch->window_period;
    bool is_there = false;
    *out = false;
    if (period == 0) {
        return CF_OK;
    }
    CF_TRY(cf_meta__layer_flag(r, "attention.sliding_window_pattern", i, &is_there, out));
    if (!is_there) {
        CF_TRY(cf_meta__opt_u32(r, "attention.sliding_window_pattern", 1, CF_EVERY_LAYER, &period));
        *out = i % period != (hp->arch->has_full_first ? 0 : period - 1);
    }
    return CF_OK;
}

/* Sizes of heads; windowed layers may have their own. */
static cf_status read_head_sizes(cf_meta_reader *r, const cf_hparams *hp, uint32_t i, bool windowed,
                                 cf_layer_hparams *l)
{
    CF_TRY(cf_meta__opt_u32(r, "attention.key_length", 1, CF_WIDTH_MAX, &l->head_size));
    if (l->head_size == 0 && hp->n_embd % l->n_head != 0) {
        return cf_fail(r->err, CF_EFORMAT, "layer %u: %u heads do not divide a width of %u", i,
                       l->n_head, hp->n_embd);
    }
    l->head_size = l->head_size != 0 ? l->head_size : hp->n_embd / l->n_head;
    l->head_size_v = l->head_size;
    CF_TRY(cf_meta__opt_u32(r, "attention.value_length", 1, CF_WIDTH_MAX, &l->head_size_v));
    if (windowed) {
        CF_TRY(cf_meta__opt_u32(r, "attention.key_length_swa", 1, CF_WIDTH_MAX, &l->head_size));
        CF_TRY(cf_meta__opt_u32(r, "attention.value_length_swa", 1, CF_WIDTH_MAX, &l->head_size_v));
    }
    uint64_t per_head = l->head_size * (hp->arch->has_q_gate ? 2ULL : 1ULL);
    uint64_t per_value = l->head_size_v;
    if (hp->latent.n != 0) { /* as they are, and compressed */
        const cf_latent_hparams *m = &hp->latent;
        per_head = (m->n > m->n_plain ? m->n : m->n_plain) + m->n_rot;
        per_value = m->n > m->n_value ? m->n : m->n_value;
        l->head_size = m->n + m->n_rot;
        l->head_size_v = m->n;
    }
    if (l->n_head * per_head > CF_WIDTH_MAX || l->n_head * per_value > CF_WIDTH_MAX) {
        return cf_fail(r->err, CF_EFORMAT, "layer %u: %u heads of %u are wider than %d", i,
                       l->n_head, l->head_size, CF_WIDTH_MAX);
    }
    if ((hp->arch->has_q_gate || hp->arch->is_encoder) && l->head_size != l->head_size_v) {
        return cf_fail(r->err, CF_EFORMAT, "layer %u: keys of %u and values of %u in %s", i,
                       l->head_size, l->head_size_v, hp->arch->name);
    }
    return CF_OK;
}

static cf_status read_attention(cf_meta_reader *r, const cf_hparams *hp, uint32_t window,
                                uint32_t i, cf_layer_hparams *l)
{
    const cf_arch *arch = hp->arch;
    bool windowed = false;
    bool is_rotated = true;
    if (l->n_head % l->n_head_kv != 0) {
        return cf_fail(r->err, CF_EFORMAT,
                       "layer %u: %u query heads cannot share %u key/value "
                       "heads",
                       i, l->n_head, l->n_head_kv);
    }
    CF_TRY(is_windowed(r, hp, i, &windowed));
    CF_TRY(read_head_sizes(r, hp, i, windowed, l));
    l->window = windowed ? window : 0;
    l->rope_set = l->window != 0 && (arch->rope_base_local > 0 || arch->has_plain_rope_local)
                      ? CF_ROPE_LOCAL
                      : CF_ROPE_GLOBAL;
    if (arch->recurrent == CF_MIX_MAMBA2) {
        cf_meta__opt_bool(r, "rope.scaling.finetuned", &is_rotated);
    }
    l->sees_blocks = !arch->has_layer_scale || (hp->n_per_layer == 0 && l->window != 0);
    l->has_rope = is_rotated && (arch->nope_period == 0 || (i + 1) % arch->nope_period != 0) &&
                  (!arch->has_nope_full || window == 0 || windowed);
    uint32_t per_head = hp->n_layer == arch->n_layer_embd_scaled ? hp->n_embd / l->n_head
                        : hp->latent.n != 0 ? hp->latent.n_plain + hp->latent.n_rot
                                            : l->head_size;
    l->attn_scale = (float)(1.0 / sqrt(per_head > 0 ? (double)per_head : 1));
    l->attn_scale = arch->attn_scale > 0 ? arch->attn_scale : l->attn_scale;
    return cf_meta__opt_f32(r, "attention.scale", 1e-6, 1e6, &l->attn_scale);
}

/* Whether layer i has the family's recurrent mixer. */
static cf_status is_recurrent(cf_meta_reader *r, const cf_arch *arch, uint32_t i,
                              uint32_t n_head_kv, bool *out)
{
    bool is_there = false;
    uint32_t interval = 4;
    *out = arch->recurrent != CF_MIX_ATTENTION &&
           (n_head_kv == 0 || arch->recurrent_rule == CF_RECURRENT_ALL);
    if (arch->recurrent == CF_MIX_ATTENTION || arch->recurrent_rule != CF_RECURRENT_INTERVAL) {
        return CF_OK;
    }
    CF_TRY(cf_meta__layer_flag(r, "attention.recurrent_layers", i, &is_there, out));
    if (!is_there) {
        CF_TRY(cf_meta__opt_u32(r, "full_attention_interval", 1, CF_LAYER_MAX, &interval));
        *out = (i + 1) % interval != 0;
    }
    return CF_OK;
}

/* Width of layer i's shared experts, which are one block.  Families count them
 * by different keys; where there is a number of them, their matrix tells. */
static cf_status read_shared_n_ff(cf_meta_reader *r, uint32_t i, cf_layer_hparams *l)
{
    char name[64];
    if (cf_meta__find(r, "expert_shared_count") == NULL) {
        return cf_meta__opt_u32(r, "expert_shared_feed_forward_length", 0, CF_WIDTH_MAX, &l->n_ff);
    }
    snprintf(name, sizeof name, "blk.%u.ffn_up_shexp.weight", i);
    const cf_gguf_tensor *t = cf_gguf_find_tensor(r->g, name);
    if (t != NULL && t->dim[1] > CF_WIDTH_MAX) {
        return cf_fail_at(r->err, CF_EFORMAT, t->file_off, "tensor %s is wider than %d", name,
                          CF_WIDTH_MAX);
    }
    l->n_ff = t != NULL ? (uint32_t)t->dim[1] : 0;
    return CF_OK;
}

/* Width of layer i's one block or shared expert. */
static cf_status read_n_ff(cf_meta_reader *r, const cf_hparams *hp, uint32_t i, cf_layer_hparams *l)
{
    uint32_t n_dense = 0;
    uint32_t step = 1;
    CF_TRY(cf_meta__opt_u32(r, "leading_dense_block_count", 0, CF_LAYER_MAX, &n_dense));
    CF_TRY(cf_meta__opt_u32(r, "interleave_moe_layer_step", 1, CF_LAYER_MAX, &step));
    l->has_experts = hp->expert.n != 0 && i >= n_dense && (i + 1) % step == 0;
    if (hp->arch->has_single_parts) {
        CF_TRY(cf_meta__layer_u32(r, "feed_forward_length", i, 0, CF_WIDTH_MAX, &l->n_ff));
        l->has_experts = l->has_experts && l->n_ff != 0;
        l->n_ff = l->has_experts ? 0 : l->n_ff;
    }
    if (hp->arch->has_single_parts && !l->has_experts) {
        return CF_OK;
    }
    if (l->has_experts && !hp->arch->has_dense_beside) {
        return read_shared_n_ff(r, i, l);
    }
    CF_TRY(cf_meta__layer_u32(r, "feed_forward_length", i, 1, CF_WIDTH_MAX, &l->n_ff));
    return l->n_ff != 0 ? CF_OK : cf_meta__missing(r);
}

static cf_status read_layer(cf_meta_reader *r, const cf_hparams *hp, uint32_t window, uint32_t i,
                            cf_layer_hparams *l)
{
    uint32_t least = hp->arch->recurrent != CF_MIX_ATTENTION ? 0 : 1;
    bool recurrent = false;
    CF_TRY(cf_meta__layer_u32(r, "attention.head_count", i, least, CF_HEAD_MAX, &l->n_head));
    l->n_head_kv = l->n_head;
    if (cf_meta__find(r, "attention.head_count") == NULL) {
        return cf_meta__missing(r);
    }
    CF_TRY(cf_meta__layer_u32(r, "attention.head_count_kv", i, least, CF_HEAD_MAX, &l->n_head_kv));
    l->n_head_kv = hp->latent.n != 0 ? 1 : l->n_head_kv;
    CF_TRY(read_n_ff(r, hp, i, l));
    l->kv_layer = i;
    CF_TRY(is_recurrent(r, hp->arch, i, l->n_head_kv, &recurrent));
    bool is_draft = hp->is_draft && i + hp->n_draft_layer >= hp->n_layer;
    recurrent = recurrent && !is_draft; /* draft layers have attention */
    bool has_ffn = l->n_ff != 0 || l->has_experts;
    bool is_ffn = hp->arch->has_single_parts && has_ffn && l->n_head_kv == 0;
    if (recurrent && !is_ffn) {
        l->mixer = hp->arch->recurrent;
    }
    if (is_ffn || (recurrent && hp->arch->recurrent_rule != CF_RECURRENT_ALL)) {
        l->n_head = l->n_head_kv = 0;
        return CF_OK;
    }
    if (hp->arch->has_single_parts && has_ffn) {
        return cf_fail(r->err, CF_EFORMAT, "layer %u: both attention and feed-forward", i);
    }
    if (l->n_head == 0 || l->n_head_kv == 0) {
        return cf_fail(r->err, CF_EFORMAT, "layer %u: attention without heads", i);
    }
    return read_attention(r, hp, window, i, l);
}

/* The last layers may read the keys and values of the last one before them
 * that has the same kind of window. */
static cf_status share_keys(cf_meta_reader *r, cf_hparams *hp)
{
    uint32_t n_shared = 0;
    if (hp->arch->has_per_layer) {
        CF_TRY(cf_meta__opt_u32(r, "attention.shared_kv_layers", 0, hp->n_layer - 1, &n_shared));
    }
    for (uint32_t i = hp->n_layer - n_shared; i < hp->n_layer; i++) {
        cf_layer_hparams *l = &hp->layer[i];
        uint32_t from = hp->n_layer - n_shared;
        while (from > 0 && (hp->layer[from - 1].window != 0) != (l->window != 0)) {
            from--;
        }
        const cf_layer_hparams *own = from > 0 ? &hp->layer[from - 1] : NULL;
        if (own == NULL || own->n_head_kv != l->n_head_kv || own->head_size != l->head_size ||
            own->head_size_v != l->head_size_v) {
            return cf_fail(r->err, CF_EFORMAT,
                           "layer %u: no earlier layer of its kind has keys "
                           "and values to share",
                           i);
        }
        l->kv_layer = from - 1;
    }
    return CF_OK;
}

static double softplus(double x)
{
    return x > 30 ? x : log1p(exp(x));
}

/* xIELU's numbers are under keys without the architecture's name. */
static cf_status read_xielu(const cf_meta_reader *r, uint32_t i, cf_layer_hparams *l)
{
    cf_meta_reader x = {r->g, "xielu", r->err, ""};
    float alpha_n = 0, alpha_p = 0;
    if (cf_meta__find(&x, "alpha_n") == NULL || cf_meta__find(&x, "alpha_p") == NULL ||
        cf_meta__find(&x, "beta") == NULL || cf_meta__find(&x, "eps") == NULL) {
        return cf_meta__missing(&x);
    }
    CF_TRY(cf_meta__layer_f32(&x, "alpha_n", i, -1e3, 1e3, &alpha_n));
    CF_TRY(cf_meta__layer_f32(&x, "alpha_p", i, -1e3, 1e3, &alpha_p));
    CF_TRY(cf_meta__layer_f32(&x, "beta", i, -1e3, 1e3, &l->xielu.beta));
    CF_TRY(cf_meta__layer_f32(&x, "eps", i, -1e3, 0, &l->xielu.eps));
    l->xielu.positive = (float)softplus((double)alpha_p);
    l->xielu.negative = (float)((double)l->xielu.beta + softplus((double)alpha_n));
    return CF_OK;
}

static cf_status read_layers(cf_meta_reader *r, cf_hparams *hp)
{
    uint32_t window = hp->arch->window_default;
    CF_TRY(cf_meta__opt_u32(r, "attention.sliding_window", 0, UINT32_MAX, &window));
    hp->layer = cf_calloc(hp->n_layer, sizeof *hp->layer);
    if (hp->layer == NULL) {
        return cf_fail(r->err, CF_ENOMEM, "out of memory for %u layers", hp->n_layer);
    }
    for (uint32_t i = 0; i < hp->n_layer; i++) {
        CF_TRY(read_layer(r, hp, window, i, &hp->layer[i]));
        if (hp->arch->has_altup) {
            CF_TRY(cf_meta__layer_f32(r, "activation_sparsity_scale", i, 0, 100,
                                      &hp->layer[i].sparsity));
        }
        if (hp->act == CF_ACT_XIELU) {
            CF_TRY(read_xielu(r, i, &hp->layer[i]));
        }
    }
    CF_TRY(share_keys(r, hp));
    return read_rope(r, hp);
}

/* ---- experts and states ------------------------------------------------- */

/* Groups from which experts are chosen. */
static cf_status read_expert_groups(cf_meta_reader *r, cf_expert_hparams *x)
{
    x->n_group = 0;
    CF_TRY(cf_meta__opt_u32(r, "expert_group_count", 0, x->n, &x->n_group));
    x->n_group = x->n_group > 1 ? x->n_group : 1;
    x->n_group_used = 1;
    if (x->n_group == 1) {
        return CF_OK;
    }
    CF_TRY(cf_meta__need_u32(r, "expert_group_used_count", 1, x->n_group, &x->n_group_used));
    if (x->n % x->n_group != 0 || x->n / x->n_group * x->n_group_used < x->n_used) {
        return cf_fail(r->err, CF_EFORMAT, "%u of %u groups do not suit %u of %u experts",
                       x->n_group_used, x->n_group, x->n_used, x->n);
    }
    return CF_OK;
}

static cf_status read_experts(cf_meta_reader *r, cf_hparams *hp)
{
    cf_expert_hparams *x = &hp->expert;
    uint32_t gating = hp->arch->has_sigmoid_gates ? CF_GATING_SIGMOID : CF_GATING_SOFTMAX;
    CF_TRY(cf_meta__opt_u32(r, "expert_count", 0, CF_EXPERT_MAX, &x->n));
    if (x->n == 0) {
        return CF_OK;
    }
    CF_TRY(cf_meta__need_u32(r, "expert_used_count", 1,
                             x->n < CF_EXPERT_USED_MAX ? x->n : CF_EXPERT_USED_MAX, &x->n_used));
    CF_TRY(cf_meta__opt_u32(r, "expert_feed_forward_length", 1, CF_WIDTH_MAX, &x->n_ff));
    if (x->n_ff == 0) {
        CF_TRY(cf_meta__need_u32(r, "feed_forward_length", 1, CF_WIDTH_MAX, &x->n_ff));
    }
    CF_TRY(cf_meta__opt_u32(r, "expert_gating_func", 0, UINT32_MAX, &gating));
    if (gating == 3) { /* softmax over the chosen: the same once normalised */
        gating = CF_GATING_SOFTMAX;
    }
    if (gating > CF_GATING_SIGMOID) {
        return cf_fail(r->err, CF_EUNSUPPORTED, "%s %u is not supported", r->key, gating);
    }
    x->gating = gating == 0 ? CF_GATING_SOFTMAX : (cf_expert_gating)gating;
    x->is_normalised = !hp->arch->has_raw_weights;
    cf_meta__opt_bool(r, "expert_weights_norm", &x->is_normalised);
    x->scale = 1;
    CF_TRY(cf_meta__opt_f32(r, "expert_weights_scale", 0, 1e6, &x->scale));
    x->scale = x->scale != 0 ? x->scale : 1; /* 0 means "none" in files */
    return read_expert_groups(r, x);
}

/* Sizes of heads before compression are under keys of their own; older files
 * have them where other families have theirs. */
static cf_status read_latent(cf_meta_reader *r, cf_hparams *hp)
{
    cf_latent_hparams *m = &hp->latent;
    uint32_t size = 0;
    if (!hp->arch->has_latent) {
        return CF_OK;
    }
    CF_TRY(cf_meta__need_u32(r, "attention.kv_lora_rank", 1, CF_WIDTH_MAX, &m->n));
    CF_TRY(cf_meta__opt_u32(r, "attention.q_lora_rank", 0, CF_WIDTH_MAX, &m->n_q));
    CF_TRY(cf_meta__need_u32(r, "rope.dimension_count", 2, CF_WIDTH_MAX, &m->n_rot));
    CF_TRY(cf_meta__opt_u32(r, "attention.value_length_mla", 1, CF_WIDTH_MAX, &m->n_value));
    if (m->n_value == 0) {
        CF_TRY(cf_meta__need_u32(r, "attention.value_length", 1, CF_WIDTH_MAX, &m->n_value));
    }
    CF_TRY(cf_meta__opt_u32(r, "attention.key_length_mla", 1, CF_WIDTH_MAX, &size));
    if (size == 0) {
        CF_TRY(cf_meta__need_u32(r, "attention.key_length", 1, CF_WIDTH_MAX, &size));
    }
    if (size <= m->n_rot) {
        return cf_fail(r->err, CF_EFORMAT, "%s is %u, with %u rotated dimensions", r->key, size,
                       m->n_rot);
    }
    m->n_plain = size - m->n_rot;
    return CF_OK;
}

/* The sizes of a Mamba-2 or DeltaNet layer, from keys that both share. */
static cf_status read_ssm(cf_meta_reader *r, cf_hparams *hp)
{
    cf_state_hparams *s = &hp->state;
    uint32_t inner = 0;
    uint64_t width = 0;
    CF_TRY(cf_meta__need_u32(r, "ssm.conv_kernel", 2, CF_TAP_MAX, &s->n_tap));
    CF_TRY(cf_meta__need_u32(r, "ssm.inner_size", 1, CF_WIDTH_MAX, &inner));
    CF_TRY(cf_meta__need_u32(r, "ssm.state_size", 1, CF_STATE_MAX, &s->n_key));
    CF_TRY(cf_meta__need_u32(r, "ssm.time_step_rank", 1, CF_HEAD_MAX, &s->n_head));
    CF_TRY(cf_meta__need_u32(r, "ssm.group_count", 1, CF_HEAD_MAX, &s->n_group));
    s->n_value = inner / s->n_head;
    bool is_delta = hp->arch->recurrent == CF_MIX_DELTA_NET;
    if (inner % s->n_head != 0 || s->n_head % s->n_group != 0 || s->n_value > CF_STATE_MAX ||
        (is_delta && s->n_value != s->n_key)) {
        return cf_fail(r->err, CF_EFORMAT,
                       "a recurrent width of %u does not suit %u heads in %u "
                       "groups with states of %u",
                       inner, s->n_head, s->n_group, s->n_key);
    }
    width = inner + 2ULL * s->n_group * s->n_key;
    if (width + inner + s->n_head > CF_WIDTH_MAX) {
        return cf_fail(r->err, CF_EFORMAT, "a recurrent layer's rows are wider than %d",
                       CF_WIDTH_MAX);
    }
    s->n_channel = (uint32_t)width;
    return CF_OK;
}

static cf_status read_state(cf_meta_reader *r, cf_hparams *hp)
{
    switch (hp->arch->recurrent) {
    case CF_MIX_DELTA_NET:
    case CF_MIX_MAMBA2:
        return read_ssm(r, hp);
    case CF_MIX_SHORT_CONV:
        hp->state.n_channel = hp->n_embd;
        return cf_meta__need_u32(r, "shortconv.l_cache", 2, CF_TAP_MAX, &hp->state.n_tap);
    case CF_MIX_ATTENTION:
        break;
    }
    return CF_OK;
}

uint32_t cf_hparams_n_in(const cf_hparams *hp, cf_mixer mixer)
{
    const cf_state_hparams *s = &hp->state;
    switch (mixer) {
    case CF_MIX_DELTA_NET:
        return s->n_channel;
    case CF_MIX_SHORT_CONV:
        return 3 * s->n_channel;
    case CF_MIX_MAMBA2:
        return s->n_head * s->n_value + s->n_channel + s->n_head;
    case CF_MIX_ATTENTION:
        break;
    }
    return 0;
}

/* Floats of one layer's state. */
static size_t n_layer_state(const cf_state_hparams *s)
{
    return s->n_tap == 0
               ? 0
               : (size_t)(s->n_tap - 1) * s->n_channel + (size_t)s->n_head * s->n_key * s->n_value;
}

size_t cf_hparams_n_state(const cf_hparams *hp)
{
    size_t n = 0;
    for (uint32_t i = 0; i < hp->n_layer; i++) {
        n += hp->layer[i].mixer != CF_MIX_ATTENTION ? n_layer_state(&hp->state) : 0;
    }
    return n;
}

static void place_states(cf_hparams *hp)
{
    size_t off = 0;
    for (uint32_t i = 0; i < hp->n_layer; i++) {
        hp->layer[i].state_off = off;
        off += hp->layer[i].mixer != CF_MIX_ATTENTION ? n_layer_state(&hp->state) : 0;
    }
}

/* ---- the whole model ---------------------------------------------------- */

/* The file's own factors of embeddings, of what parts add and of logits. */
static cf_status read_scales(cf_meta_reader *r, cf_hparams *hp)
{
    float divisor = 1;
    switch (hp->arch->multipliers) {
    case CF_MULTIPLY_NOTHING:
        return CF_OK;
    case CF_MULTIPLY_LOGITS:
        return cf_meta__opt_f32(r, "logit_scale", 1e-6, 1e6, &hp->logit_scale);
    case CF_MULTIPLY_MINICPM:
        hp->embd_scale = 12;
        hp->residual_scale = (float)(1.4 / sqrt((double)hp->n_layer));
        divisor = (float)hp->n_embd / 256;
        break;
    case CF_MULTIPLY_GRANITE:
        break;
    }
    CF_TRY(cf_meta__opt_f32(r, "embedding_scale", 1e-6, 1e6, &hp->embd_scale));
    CF_TRY(cf_meta__opt_f32(r, "residual_scale", 1e-6, 1e6, &hp->residual_scale));
    CF_TRY(cf_meta__opt_f32(r, "logit_scale", 1e-6, 1e6, &divisor));
    hp->logit_scale = 1 / divisor;
    return CF_OK;
}

/* Factors of a family's own at fixed places. */
static cf_status read_multipliers(cf_meta_reader *r, cf_hparams *hp)
{
    const cf_arch *arch = hp->arch;
    hp->embd_scale = arch->has_embd_scale ? (float)sqrt((double)hp->n_embd) : 1.0f;
    hp->residual_scale = 1;
    hp->logit_scale = 1;
    CF_TRY(read_scales(r, hp));
    hp->attn_soft_cap = arch->attn_soft_cap_default;
    hp->final_soft_cap = arch->final_soft_cap_default;
    if (arch->has_soft_caps) {
        CF_TRY(cf_meta__opt_f32(r, "attn_logit_softcapping", 0, 1e6, &hp->attn_soft_cap));
        CF_TRY(cf_meta__opt_f32(r, "final_logit_softcapping", 0, 1e6, &hp->final_soft_cap));
    }
    if (arch->has_temperature) {
        CF_TRY(cf_meta__opt_f64(r, "attention.temperature_scale", 0, 1e3, &hp->temperature));
    }
    return CF_OK;
}

/* Embeddings by layer, and gemma3n's streams. */
static cf_status read_per_layer(cf_meta_reader *r, cf_hparams *hp)
{
    if (!hp->arch->has_per_layer) {
        return CF_OK;
    }
    CF_TRY(cf_meta__opt_u32(r, "embedding_length_per_layer_input", 0, CF_WIDTH_MAX / hp->n_layer,
                            &hp->n_per_layer));
    if (!hp->arch->has_altup) {
        return CF_OK;
    }
    if (hp->n_per_layer == 0) {
        return cf_fail(r->err, CF_EFORMAT, "%s is missing or 0", r->key);
    }
    CF_TRY(cf_meta__need_u32(r, "altup.num_inputs", 1, CF_ALTUP_MAX, &hp->n_altup));
    return cf_meta__opt_u32(r, "altup.active_idx", 0, hp->n_altup - 1, &hp->altup_active);
}

/* How rows become one vector.  Converters leave it out for most rankers, which
 * their classifier gives away. */
static cf_status read_pooling(cf_meta_reader *r, cf_hparams *hp)
{
    bool is_ranker = cf_gguf_find_tensor(r->g, "cls.weight") != NULL ||
                     cf_gguf_find_tensor(r->g, "cls.output.weight") != NULL;
    hp->pooling = is_ranker              ? CF_POOLING_RANK
                  : hp->arch->is_encoder ? CF_POOLING_MEAN
                                         : CF_POOLING_NONE;
    return cf_meta__opt_u32(r, "pooling_type", 0, UINT32_MAX, &hp->pooling);
}

/* The family's activation, or that of ModernBERT's file. */
static cf_status read_activation(cf_meta_reader *r, cf_hparams *hp)
{
    cf_str name = {NULL, 0};
    hp->act = hp->arch->act;
    cf_meta__find(r, "hidden_activation");
    if (!hp->arch->is_encoder || !cf_gguf_get_str(r->g, r->key, &name) || cf_str_is(name, "gelu")) {
        return CF_OK;
    }
    if (!cf_str_is(name, "silu") || !cf_activation_has_gate(hp->act)) {
        return cf_fail(r->err, CF_EUNSUPPORTED, "%s \"%.*s\" is not supported", r->key,
                       name.n < 32 ? (int)name.n : 32, name.p);
    }
    hp->act = CF_ACT_SILU;
    return CF_OK;
}

static cf_status read_sizes(cf_meta_reader *r, cf_hparams *hp)
{
    double eps = 0;
    CF_TRY(read_activation(r, hp));
    CF_TRY(cf_meta__need_u32(r, "block_count", 1, CF_LAYER_MAX, &hp->n_layer));
    CF_TRY(cf_meta__opt_u32(r, "nextn_predict_layers", 0, hp->n_layer - 1, &hp->n_draft_layer));
    hp->n_layer -= hp->is_draft ? 0 : hp->n_draft_layer;
    CF_TRY(cf_meta__need_u32(r, "embedding_length", 1, CF_WIDTH_MAX, &hp->n_embd));
    CF_TRY(read_pooling(r, hp));
    CF_TRY(cf_meta__need_u32(r, "context_length", 1, UINT32_MAX, &hp->n_ctx_train));
    const char *eps_key = hp->arch->has_layer_norm ? "attention.layer_norm_epsilon"
                                                   : "attention.layer_norm_rms_epsilon";
    if (cf_meta__find(r, eps_key) == NULL) {
        return cf_meta__missing(r);
    }
    CF_TRY(cf_meta__opt_f64(r, eps_key, 0, 1, &eps));
    hp->norm_eps = (float)eps;
    if (hp->arch->has_deepstack) {
        CF_TRY(cf_meta__opt_u32(r, "n_deepstack_layers", 0, hp->n_layer, &hp->n_deepstack));
    }
    const cf_gguf_value *tokens = cf_gguf_find(r->g, "tokenizer.ggml.tokens");
    if (tokens == NULL) { /* the vocabulary lies beside the weights */
        return cf_meta__need_u32(r, "vocab_size", 1, CF_VOCAB_MAX, &hp->n_vocab);
    }
    if (tokens->type != CF_GGUF_ARRAY || tokens->n == 0 || tokens->n > CF_VOCAB_MAX) {
        return cf_fail(r->err, CF_EFORMAT, "tokenizer.ggml.tokens is not 1 to %d items",
                       CF_VOCAB_MAX);
    }
    hp->n_vocab = (uint32_t)tokens->n;
    return CF_OK;
}

static cf_status read_all(cf_meta_reader *r, cf_hparams *hp)
{
    CF_TRY(refuse_unknown_parts(r, hp->arch));
    CF_TRY(read_sizes(r, hp));
    CF_TRY(read_multipliers(r, hp));
    CF_TRY(read_per_layer(r, hp));
    CF_TRY(read_experts(r, hp));
    CF_TRY(read_state(r, hp));
    CF_TRY(read_latent(r, hp));
    CF_TRY(read_layers(r, hp));
    place_states(hp);
    return CF_OK;
}

/* Leaves the first draft layer of all that were read, as the only one. */
static void keep_draft(cf_hparams *hp)
{
    hp->first_block = hp->n_layer - hp->n_draft_layer;
    hp->layer[0] = hp->layer[hp->first_block];
    hp->layer[0].kv_layer = 0;
    hp->n_layer = 1;
    hp->n_deepstack = 0;
}

static cf_status init(cf_hparams *out, const cf_gguf *g, bool is_draft, cf_error *err)
{
    cf_str name = {NULL, 0};
    if (!cf_gguf_get_str(g, "general.architecture", &name)) {
        return cf_fail(err, CF_EFORMAT, "general.architecture is missing or not a string");
    }
    cf_hparams hp = {.arch = cf_arch_find(name), .is_draft = is_draft};
    if (hp.arch == NULL) {
        return cf_fail(err, CF_EUNSUPPORTED, "architecture %.*s is not supported",
                       name.n < 64 ? (int)name.n : 64, name.p);
    }
    cf_meta_reader r = {g, hp.arch->name, err, ""};
    cf_status st = read_all(&r, &hp);
    if (st != CF_OK) {
        cf_hparams_deinit(&hp);
        return st;
    }
    if (is_draft) {
        keep_draft(&hp);
    }
    *out = hp;
    return CF_OK;
}

cf_status cf_hparams_init(cf_hparams *out, const cf_gguf *g, cf_error *err)
{
    return init(out, g, false, err);
}

cf_status cf_hparams_init_draft(cf_hparams *out, const cf_gguf *g, cf_error *err)
{
    return init(out, g, true, err);
}

void cf_hparams_deinit(cf_hparams *hp)
{
    cf_free(hp->layer);
    hp->layer = NULL;
}

static uint32_t glance_u32(cf_meta_reader *r, const char *name)
{
    uint64_t n = 0;
    cf_meta__find(r, name);
    return cf_gguf_get_u64(r->g, r->key, &n) && n <= UINT32_MAX ? (uint32_t)n : 0;
}

void cf_hparams_glance(cf_hparams *out, const cf_gguf *g)
{
    cf_str name = {NULL, 0};
    char arch[96] = "";
    *out = (cf_hparams){0};
    if (cf_gguf_get_str(g, "general.architecture", &name) && name.n < sizeof arch) {
        memcpy(arch, name.p, name.n);
        out->arch = cf_arch_find(name);
    }
    cf_meta_reader r = {g, arch, NULL, ""};
    out->n_layer = glance_u32(&r, "block_count");
    out->n_embd = glance_u32(&r, "embedding_length");
    out->n_ctx_train = glance_u32(&r, "context_length");
    if (out->arch != NULL && out->arch->has_deepstack) {
        out->n_deepstack = glance_u32(&r, "n_deepstack_layers");
    }
    const cf_gguf_value *tokens = cf_gguf_find(g, "tokenizer.ggml.tokens");
    if (tokens != NULL && tokens->type == CF_GGUF_ARRAY && tokens->n <= CF_VOCAB_MAX) {
        out->n_vocab = (uint32_t)tokens->n;
    }
}
