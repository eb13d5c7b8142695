/*
 * hf_config.c - reads config.json in the spellings of its time.
 *
 * A key is written once: what a family writes first, the common part leaves
 * alone.
 */
#include "core/hub/hf_config.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/model/hparams.h"

enum { KEYS_MAX = 96, KEY_BYTES = 64 };

/* ---- members ------------------------------------------------------------- */

static const json_t *member(const json_t *v, const char *key)
{
    const json_t *m = json_object_get(v, key);
    return m == NULL || json_is_null(m) ? NULL : m;
}

double cf_hf_config_num(const cf_hf_config *c, const char *key, double otherwise)
{
    const json_t *m = member(c->v, key);
    return json_is_number(m) ? json_number_value(m) : otherwise;
}

/* v as a size, or 0 if it is not a valid one. */
static uint32_t as_u32(const json_t *v)
{
    double n = json_is_number(v) ? json_number_value(v) : 0;
    return n >= 1 && n <= (double)UINT32_MAX ? (uint32_t)n : 0;
}

uint32_t cf_hf_config_u32(const cf_hf_config *c, const char *key)
{
    return as_u32(member(c->v, key));
}

static bool is_true(const cf_hf_config *c, const char *key)
{
    return json_is_true(member(c->v, key));
}

static uint32_t head_size(const cf_hf_config *c)
{
    uint32_t n = cf_hf_config_u32(c, "head_dim");
    uint32_t n_head = cf_hf_config_u32(c, "num_attention_heads");
    n = n != 0 ? n : cf_hf_config_u32(c, "attention_head_dim");
    return n != 0 ? n : n_head != 0 ? cf_hf_config_u32(c, "hidden_size") / n_head : 0;
}

uint32_t cf_hf_config_n_layer(const cf_hf_config *c)
{
    const json_t *types = member(c->v, "layers_block_type");
    cf_str pattern = cf_json_get_str(c->v, "hybrid_override_pattern");
    uint32_t n = cf_hf_config_u32(c, "num_hidden_layers");
    return n != 0 ? n : types != NULL ? (uint32_t)json_array_size(types) : (uint32_t)pattern.n;
}

/* The kind of layer i: an item of "layer_types", or a letter of
 * Nemotron-H's pattern; {NULL, 0} when the file does not say. */
static cf_str layer_type(const cf_hf_config *c, uint32_t i)
{
    static const char *const lists[] = {"layer_types", "layers_block_type"};
    for (size_t k = 0; k < 2; k++) {
        const json_t *one = json_array_get(member(c->v, lists[k]), i);
        if (json_is_string(one)) {
            return cf_str_make(json_string_value(one), json_string_length(one));
        }
    }
    cf_str pattern = cf_json_get_str(c->v, "hybrid_override_pattern");
    return i < pattern.n ? cf_str_make(pattern.p + i, 1) : cf_str_make(NULL, 0);
}

static bool type_is(const cf_hf_config *c, uint32_t i, const char *a, const char *b)
{
    cf_str t = layer_type(c, i);
    return t.p != NULL && (cf_str_is(t, a) || cf_str_is(t, b));
}

static bool is_attention(const cf_hf_config *c, uint32_t i)
{
    return type_is(c, i, "full_attention", "attention") || type_is(c, i, "*", "*");
}

/* ---- the family ---------------------------------------------------------- */

/* The members of the text model: those of "text_config" if present. */
static json_t *text_members(const json_t *config)
{
    static const char *const outer[] = {"tie_word_embeddings", "vocab_size", "vision_config"};
    const json_t *inner = member(config, "text_config");
    json_t *v = cf_json_copy(inner != NULL ? inner : config);
    for (size_t i = 0; v != NULL && inner != NULL && i < 3; i++) {
        const json_t *m = member(config, outer[i]);
        if (m != NULL && member(v, outer[i]) == NULL) {
            json_object_set(v, outer[i], cf_json_ref(m));
        }
    }
    return v;
}

static const cf_hf_family *find_family(const json_t *config, const json_t *v)
{
    const cf_hf_family *f = cf_hf_family_find(cf_json_get_str(v, "model_type"));
    return f != NULL ? f : cf_hf_family_find(cf_json_get_str(config, "model_type"));
}

/* Whether it is a model that classifies texts, or pairs of them. */
static bool is_ranker(const cf_hf_config *c)
{
    const json_t *name = json_array_get(member(c->v, "architectures"), 0);
    return json_is_string(name) &&
           strstr(json_string_value(name), "ForSequenceClassification") != NULL;
}

static bool is_encoder(const cf_hf_config *c)
{
    const cf_arch *arch = cf_arch_find(cf_str_from(c->family->arch));
    return arch != NULL && arch->is_encoder;
}

/* Encoders of token ids whose positions begin after the padding's. */
static bool is_roberta(const cf_hf_config *c)
{
    return strstr(c->family->types, "roberta") != NULL;
}

static const cf_hf_family *variant(const cf_hf_config *c)
{
    bool has_experts = false;
    char name[48];
    if (is_encoder(c) && is_ranker(c)) {
        cf_str type = cf_json_get_str(c->v, "model_type");
        snprintf(name, sizeof name, "%.*s+rank", type.n < 40 ? (int)type.n : 40, type.p);
        const cf_hf_family *f = cf_hf_family_find(cf_str_from(name));
        return f != NULL ? f : c->family;
    }
    if (strcmp(c->family->arch, "gemma3") == 0 && is_true(c, "use_bidirectional_attention")) {
        return cf_hf_family_find(cf_str_from("gemma3_text+both-ways"));
    }
    if (strcmp(c->family->arch, "nemotron_h") == 0) {
        for (uint32_t i = 0; i < cf_hf_config_n_layer(c) && i < CF_LAYER_MAX; i++) {
            has_experts |= type_is(c, i, "E", "moe");
        }
        return has_experts ? cf_hf_family_find(cf_str_from("nemotron_h+moe")) : c->family;
    }
    if (strcmp(c->family->arch, "granitehybrid") == 0 &&
        cf_hf_config_u32(c, "num_local_experts") == 0) {
        return cf_hf_family_find(cf_str_from("granitemoehybrid+dense"));
    }
    return c->family;
}

/* Names that only some encoders have for common members. */
static cf_status rename_members(cf_hf_config *c, cf_error *err)
{
    static const char *const names[][2] = {
        {"hidden_size", "n_embd"},
        {"num_hidden_layers", "n_layer"},
        {"num_attention_heads", "n_head"},
        {"intermediate_size", "n_inner"},
        {"max_position_embeddings", "max_trained_positions"},
        {"max_position_embeddings", "n_positions"},
        {"rope_theta", "rotary_emb_base"},
        {"rope_theta", "global_rope_theta"},
        {"rope_local_base_freq", "local_rope_theta"},
        {"sliding_window", "local_attention"},
        {"sliding_window_pattern", "global_attn_every_n_layers"},
    };
    bool ok = true;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const json_t *m = member(c->v, names[i][1]);
        if (m != NULL && member(c->v, names[i][0]) == NULL) {
            ok = ok && json_object_set(c->v, names[i][0], cf_json_ref(m)) == 0;
        }
    }
    return ok ? CF_OK : cf_oom(err);
}

/* Fills in the defaults of the configuration class for members that the file omits. */
static cf_status add_defaults(cf_hf_config *c, cf_error *err)
{
    json_t *d = NULL;
    const char *key;
    json_t *m;
    CF_TRY(cf_json_read_doubles(&d, c->family->defaults, strlen(c->family->defaults), err));
    bool ok = true;
    json_object_foreach(d, key, m)
    {
        if (json_object_get(c->v, key) == NULL) {
            ok = ok && json_object_set(c->v, key, m) == 0;
        }
    }
    json_decref(d);
    return ok ? CF_OK : cf_oom(err);
}

cf_status cf_hf_config_init(cf_hf_config *out, const json_t *config, cf_error *err)
{
    cf_hf_config c = {text_members(config), NULL};
    if (c.v == NULL) {
        return cf_oom(err);
    }
    c.family = find_family(config, c.v);
    cf_status st = c.family != NULL && is_encoder(&c) ? rename_members(&c, err) : CF_OK;
    if (st == CF_OK && c.family != NULL) {
        st = add_defaults(&c, err);
    }
    if (st == CF_OK && c.family != NULL) {
        c.family = variant(&c);
    }
    *out = c;
    if (st != CF_OK) {
        cf_hf_config_deinit(out);
    }
    return st;
}

void cf_hf_config_deinit(cf_hf_config *c)
{
    json_decref(c->v);
    *c = (cf_hf_config){NULL, NULL};
}

/* ---- writing ------------------------------------------------------------- */

typedef struct put {
    const cf_hf_config *c;
    const cf_arch *arch;
    cf_meta_writer *w;
    cf_error *err;
    char done[KEYS_MAX][KEY_BYTES];
    size_t n_done;
    char key[KEY_BYTES + 32];
} put;

/* Sets p->key; false if the key has been written before. */
static bool begin(put *p, const char *name)
{
    for (size_t i = 0; i < p->n_done; i++) {
        if (strcmp(p->done[i], name) == 0) {
            return false;
        }
    }
    CF_ASSERT(p->n_done < KEYS_MAX);
    snprintf(p->done[p->n_done++], KEY_BYTES, "%s", name);
    snprintf(p->key, sizeof p->key, "%s.%s", p->arch->name, name);
    return true;
}

static void put_u32(put *p, const char *name, uint32_t v)
{
    if (begin(p, name)) {
        cf_meta_put_u32(p->w, p->key, v);
    }
}

static void put_f32(put *p, const char *name, double v)
{
    if (begin(p, name)) {
        cf_meta_put_f32(p->w, p->key, (float)v);
    }
}

static void put_bool(put *p, const char *name, bool v)
{
    if (begin(p, name)) {
        cf_meta_put_bool(p->w, p->key, v);
    }
}

static void put_str(put *p, const char *name, const char *v)
{
    if (begin(p, name)) {
        cf_meta_put_str(p->w, p->key, cf_str_from(v));
    }
}

/* One row for each key whose value is a single number of the file. */
typedef struct number_row {
    const char *to, *from;
} number_row;

static void put_numbers(put *p, const number_row *rows, bool as_float)
{
    for (; rows->to != NULL; rows++) {
        const json_t *m = member(p->c->v, rows->from);
        if (as_float && json_is_number(m)) {
            put_f32(p, rows->to, json_number_value(m));
        } else if (!as_float && as_u32(m) != 0) {
            put_u32(p, rows->to, as_u32(m));
        }
    }
}

/* A size by layer: the same for all, or an array of them. */
static void put_by_layer(put *p, const char *name,
                         uint32_t (*size)(const cf_hf_config *c, uint32_t i))
{
    uint32_t n = cf_hf_config_n_layer(p->c);
    if (n <= CF_LAYER_MAX && begin(p, name)) {
        cf_meta_put_array(p->w, p->key, CF_GGUF_U32, n);
        for (uint32_t i = 0; i < n; i++) {
            cf_meta_add_u32(p->w, size(p->c, i));
        }
    }
}

/* Flags by layer: whether its type is `type`. */
static void put_types(put *p, const char *name, const char *type)
{
    uint32_t n = cf_hf_config_n_layer(p->c);
    if (n <= CF_LAYER_MAX && begin(p, name)) {
        cf_meta_put_array(p->w, p->key, CF_GGUF_BOOL, n);
        for (uint32_t i = 0; i < n; i++) {
            cf_meta_add_bool(p->w, type_is(p->c, i, type, type));
        }
    }
}

/* ---- rotary positions ---------------------------------------------------- */

const json_t *cf_hf_config_rope(const cf_hf_config *c)
{
    const json_t *now = member(c->v, "rope_parameters");
    const json_t *full = member(now, "full_attention");
    const json_t *then = member(c->v, "rope_scaling");
    return full != NULL ? full : now != NULL ? now : then;
}

/* A number from the rotary settings, in whichever place the file keeps it. */
static double rope_num(const cf_hf_config *c, const char *key, double otherwise)
{
    const json_t *m = member(cf_hf_config_rope(c), key);
    return json_is_number(m) ? json_number_value(m) : cf_hf_config_num(c, key, otherwise);
}

static cf_str rope_type(const cf_hf_config *c)
{
    const json_t *r = cf_hf_config_rope(c);
    cf_str type = cf_json_get_str(r, "rope_type");
    type = type.p != NULL ? type : cf_json_get_str(r, "type");
    return type.p != NULL ? type : cf_str_from("default");
}

static double local_theta(const cf_hf_config *c)
{
    const json_t *local = member(member(c->v, "rope_parameters"), "sliding_attention");
    const json_t *m = member(local, "rope_theta");
    return json_is_number(m) ? json_number_value(m)
                             : cf_hf_config_num(c, "rope_local_base_freq", 1e4);
}

/* YaRN's attention factor, if the file sets one that differs from the formula. */
static void put_yarn(put *p)
{
    const cf_hf_config *c = p->c;
    double factor = rope_num(c, "factor", 1);
    double usual = 1 + 0.1 * log(factor);
    double given = rope_num(c, "attention_factor", 0);
    put_str(p, "rope.scaling.type", "yarn");
    put_f32(p, "rope.scaling.factor", factor);
    put_f32(p, "rope.scaling.yarn_beta_fast", rope_num(c, "beta_fast", 32));
    put_f32(p, "rope.scaling.yarn_beta_slow", rope_num(c, "beta_slow", 1));
    put_u32(p, "rope.scaling.original_context_length",
            (uint32_t)fmin(fmax(rope_num(c, "original_max_position_embeddings",
                                         cf_hf_config_num(c, "max_position_embeddings", 0)),
                                0),
                           CF_CTX_MAX));
    if (p->arch->has_temperature) {
        put_f32(p, "rope.scaling.yarn_log_multiplier", rope_num(c, "mscale_all_dim", 0));
        put_f32(p, "attention.temperature_scale", rope_num(c, "llama_4_scaling_beta", 0));
    } else if (given > 0 && fabs(given / usual - 1) > 1e-9) {
        put_f32(p, "rope.scaling.attn_factor", given / usual);
    }
}

static void put_longrope(put *p)
{
    const cf_hf_config *c = p->c;
    double now = cf_hf_config_num(c, "max_position_embeddings", 0);
    double then = rope_num(c, "original_max_position_embeddings", now);
    double given = rope_num(c, "attention_factor", 0);
    double scale = then > 0 ? now / then : 1;
    double usual = scale > 1 ? sqrt(1 + log(scale) / log(then)) : 1;
    put_str(p, "rope.scaling.type", "longrope");
    put_u32(p, "rope.scaling.original_context_length", (uint32_t)fmin(fmax(then, 0), CF_CTX_MAX));
    put_f32(p, "rope.scaling.attn_factor", given > 0 ? given : usual);
}

static cf_status put_rope(put *p)
{
    const cf_hf_config *c = p->c;
    cf_str type = rope_type(c);
    double part = rope_num(c, "partial_rotary_factor", 1);
    double n_rot = (double)head_size(c) * part;
    put_f32(p, "rope.freq_base", rope_num(c, "rope_theta", 1e4));
    put_u32(p, "rope.dimension_count", n_rot >= 2 && n_rot <= CF_WIDTH_MAX ? (uint32_t)n_rot : 0);
    if (p->arch->rope_base_local > 0) {
        put_f32(p, "rope.freq_base_swa", local_theta(c));
    }
    if (cf_str_is(type, "linear")) {
        put_str(p, "rope.scaling.type", "linear");
        put_f32(p, "rope.scaling.factor", rope_num(c, "factor", 1));
    } else if (cf_str_is(type, "yarn")) {
        put_yarn(p);
    } else if (cf_str_is(type, "longrope") || cf_str_is(type, "su")) {
        put_longrope(p);
    } else if (!cf_str_is(type, "default") && !cf_str_is(type, "llama3") &&
               !cf_str_is(type, "mrope") && !cf_str_is(type, "proportional")) {
        return cf_fail(p->err, CF_EUNSUPPORTED,
                       "config.json: rotary scaling \"%.*s\" is not supported",
                       type.n < 32 ? (int)type.n : 32, type.p);
    }
    return CF_OK;
}

static size_t listed_factors(const json_t *list, float *out, size_t max)
{
    size_t n = json_array_size(list);
    for (size_t i = 0; i < n && i < max; i++) {
        out[i] = (float)json_number_value(json_array_get(list, i));
    }
    return n;
}

/* Llama 3.1: slow waves are stretched, fast ones not, a ramp between (the
 * arithmetic of the converters is in single precision). */
static float llama3_factor(const cf_hf_config *c, float freq)
{
    const float two_pi = 6.2831853071795864769f;
    float factor = (float)rope_num(c, "factor", 8);
    float low = (float)rope_num(c, "low_freq_factor", 1);
    float high = (float)rope_num(c, "high_freq_factor", 4);
    float old = (float)rope_num(c, "original_max_position_embeddings", 8192);
    float wave = two_pi / freq;
    if (wave < old / high) {
        return 1;
    }
    if (wave > old / low) {
        return factor;
    }
    float smooth = (old / wave - low) / (high - low);
    return 1 / ((1 - smooth) / factor + smooth);
}

size_t cf_hf_config_factors(const cf_hf_config *c, cf_hf_factors which, float *out, size_t max)
{
    cf_str type = rope_type(c);
    const json_t *r = cf_hf_config_rope(c);
    if (which != CF_HF_FACTORS) {
        return listed_factors(
            member(r, which == CF_HF_FACTORS_LONG ? "long_factor" : "short_factor"), out, max);
    }
    if (cf_str_is(type, "llama3")) {
        size_t n = head_size(c) / 2;
        double base = rope_num(c, "rope_theta", 1e4);
        for (size_t i = 0; i < n && i < max; i++) {
            out[i] = llama3_factor(c, (float)(1 / pow(base, (double)i / (double)n)));
        }
        return n;
    }
    if (cf_str_is(type, "proportional")) { /* the rest is not rotated */
        size_t n = cf_hf_config_u32(c, "global_head_dim") / 2;
        double part = rope_num(c, "partial_rotary_factor", 1);
        for (size_t i = 0; i < n && i < max; i++) {
            out[i] = (double)i < floor((double)n * part) ? 1.0f : 1e30f;
        }
        return n;
    }
    return 0;
}

/* ---- parts of families --------------------------------------------------- */

static uint32_t kv_of_attention(const cf_hf_config *c, uint32_t i)
{
    return is_attention(c, i) ? cf_hf_config_u32(c, "num_key_value_heads") : 0;
}

static uint32_t kv_of_gemma4(const cf_hf_config *c, uint32_t i)
{
    uint32_t full = cf_hf_config_u32(c, "num_global_key_value_heads");
    return full != 0 && is_attention(c, i) ? full : cf_hf_config_u32(c, "num_key_value_heads");
}

static uint32_t ff_of_layer(const cf_hf_config *c, uint32_t i)
{
    const json_t *m = member(c->v, "intermediate_size");
    uint32_t n = as_u32(json_is_array(m) ? json_array_get(m, i) : m);
    uint32_t n_shared = cf_hf_config_u32(c, "num_kv_shared_layers");
    bool is_shared = n_shared != 0 && i + n_shared >= cf_hf_config_n_layer(c);
    return is_true(c, "use_double_wide_mlp") && is_shared ? 2 * n : n;
}

static uint32_t ff_of_nemotron(const cf_hf_config *c, uint32_t i)
{
    return type_is(c, i, "-", "mlp")   ? cf_hf_config_u32(c, "intermediate_size")
           : type_is(c, i, "E", "moe") ? cf_hf_config_u32(c, "moe_intermediate_size")
                                       : 0;
}

/* LFM2's width, as its class adjusts it. */
static uint32_t ff_of_lfm2(const cf_hf_config *c)
{
    uint32_t n = cf_hf_config_u32(c, "block_ff_dim");
    uint32_t multiple = cf_hf_config_u32(c, "block_multiple_of");
    n = n != 0 ? n : cf_hf_config_u32(c, "intermediate_size");
    if (!is_true(c, "block_auto_adjust_ff_dim") || multiple == 0) {
        return n;
    }
    uint64_t all = (uint64_t)n * 2 / 3;
    all = (uint64_t)(cf_hf_config_num(c, "block_ffn_dim_multiplier", 1) * (double)all);
    all = (all + multiple - 1) / multiple * multiple;
    return all <= UINT32_MAX ? (uint32_t)all : 0;
}

/* The distance from the mean, in deviations, below which a share p of a normal
 * distribution lies. */
static double deviations(double p)
{
    double lo = -10, hi = 10;
    if (p <= 0) {
        return 0;
    }
    if (fabs(p - 0.95) < 1e-12) {
        return (double)1.6448533535f; /* as the models' own single precision
                                         arithmetic has it */
    }
    for (int i = 0; i < 100; i++) {
        double mid = (lo + hi) / 2;
        if (0.5 * erfc(-mid / sqrt(2.0)) < p) {
            lo = mid;
        } else {
            hi = mid;
        }
    }
    return hi;
}

static void put_gemma3n(put *p)
{
    static const number_row rows[] = {
        {"embedding_length_per_layer_input", "hidden_size_per_layer_input"},
        {"altup.num_inputs", "altup_num_inputs"},
        {NULL, NULL}};
    const cf_hf_config *c = p->c;
    const json_t *list = member(c->v, "activation_sparsity_pattern");
    uint32_t n = cf_hf_config_n_layer(c);
    put_numbers(p, rows, false);
    put_u32(p, "altup.active_idx", (uint32_t)cf_hf_config_num(c, "altup_active_idx", 0));
    if (n <= CF_LAYER_MAX && begin(p, "activation_sparsity_scale")) {
        cf_meta_put_array(p->w, p->key, CF_GGUF_F32, n);
        for (uint32_t i = 0; i < n; i++) {
            const json_t *one = json_is_array(list) ? json_array_get(list, i) : list;
            double share = one != NULL                        ? json_number_value(one)
                           : n > 10 && i < 10 && list == NULL ? 0.95
                                                              : 0;
            cf_meta_add_f32(p->w, (float)deviations(share));
        }
    }
}

static void put_gemma4(put *p)
{
    const cf_hf_config *c = p->c;
    uint32_t full = cf_hf_config_u32(c, "global_head_dim");
    uint32_t size = head_size(c);
    put_u32(p, "attention.key_length", full);
    put_u32(p, "attention.value_length", full);
    put_u32(p, "attention.key_length_swa", size);
    put_u32(p, "attention.value_length_swa", size);
    put_u32(p, "rope.dimension_count", full);
    put_u32(p, "rope.dimension_count_swa", size);
    put_u32(p, "embedding_length_per_layer_input",
            cf_hf_config_u32(c, "hidden_size_per_layer_input"));
    put_by_layer(p, "attention.head_count_kv", kv_of_gemma4);
    if (is_true(c, "enable_moe_block")) {
        put_u32(p, "expert_used_count", cf_hf_config_u32(c, "top_k_experts"));
    } else {
        put_u32(p, "expert_count", 0);
    }
}

static void put_delta_net(put *p)
{
    static const number_row rows[] = {{"ssm.conv_kernel", "linear_conv_kernel_dim"},
                                      {"ssm.state_size", "linear_key_head_dim"},
                                      {"ssm.group_count", "linear_num_key_heads"},
                                      {"ssm.time_step_rank", "linear_num_value_heads"},
                                      {"full_attention_interval", "full_attention_interval"},
                                      {NULL, NULL}};
    const cf_hf_config *c = p->c;
    put_numbers(p, rows, false);
    put_u32(p, "ssm.inner_size",
            (uint32_t)fmin(cf_hf_config_num(c, "linear_value_head_dim", 0) *
                               cf_hf_config_num(c, "linear_num_value_heads", 0),
                           CF_WIDTH_MAX));
    if (layer_type(c, 0).p != NULL) {
        put_types(p, "attention.recurrent_layers", "linear_attention");
    }
}

/* M-RoPE's sections, and the layers that take part in pictures. */
static void put_axes(put *p)
{
    static const uint32_t qwen35[] = {11, 11, 10}, qwen3vl[] = {24, 20, 20};
    const json_t *axes = member(cf_hf_config_rope(p->c), "mrope_section");
    const json_t *vision = member(p->c->v, "vision_config");
    bool is_vl = p->arch->has_deepstack;
    if (is_vl) {
        put_u32(p, "n_deepstack_layers",
                (uint32_t)json_array_size(member(vision, "deepstack_visual_indexes")));
    }
    if (!begin(p, "rope.dimension_sections")) {
        return;
    }
    cf_meta_put_array(p->w, p->key, CF_GGUF_U32, 4);
    for (size_t i = 0; i < 4; i++) {
        uint32_t usual = i == 3 ? 0 : is_vl ? qwen3vl[i] : qwen35[i];
        cf_meta_add_u32(p->w, axes != NULL ? as_u32(json_array_get(axes, i)) : usual);
    }
}

static void put_mamba(put *p)
{
    static const number_row rows[] = {
        {"ssm.conv_kernel", "mamba_d_conv"},     {"ssm.conv_kernel", "conv_kernel"},
        {"ssm.state_size", "mamba_d_state"},     {"ssm.state_size", "ssm_state_size"},
        {"ssm.group_count", "mamba_n_groups"},   {"ssm.group_count", "n_groups"},
        {"ssm.time_step_rank", "mamba_n_heads"}, {"ssm.time_step_rank", "mamba_num_heads"},
        {"ssm.inner_size", "mamba_d_ssm"},       {NULL, NULL}};
    const cf_hf_config *c = p->c;
    double heads = cf_hf_config_num(c, "mamba_n_heads", cf_hf_config_num(c, "mamba_num_heads", 0));
    double size = cf_hf_config_num(c, "mamba_d_head", cf_hf_config_num(c, "mamba_head_dim", 0));
    double inner = heads * size;
    if (size == 0) { /* "auto" */
        inner = cf_hf_config_num(c, "mamba_expand", 2) * cf_hf_config_num(c, "hidden_size", 0);
    }
    put_numbers(p, rows, false);
    put_u32(p, "ssm.inner_size", (uint32_t)fmin(fmax(inner, 0), CF_WIDTH_MAX));
}

static void put_multipliers(put *p)
{
    static const number_row rows[] = {{"embedding_scale", "embedding_multiplier"},
                                      {"residual_scale", "residual_multiplier"},
                                      {"attention.scale", "attention_multiplier"},
                                      {"logit_scale", "logits_scaling"},
                                      {NULL, NULL}};
    put_numbers(p, rows, true);
    if (p->arch->recurrent != CF_MIX_ATTENTION) {
        cf_str kind = cf_json_get_str(p->c->v, "position_embedding_type");
        bool dense = cf_hf_config_u32(p->c, "num_local_experts") == 0;
        put_bool(p, "rope.scaling.finetuned", cf_str_is(kind, "rope"));
        if (dense) {
            put_u32(p, "feed_forward_length", cf_hf_config_u32(p->c, "shared_intermediate_size"));
        }
    }
}

static void put_experts(put *p)
{
    static const number_row rows[] = {
        {"expert_count", "num_experts"},
        {"expert_count", "num_local_experts"},
        {"expert_count", "n_routed_experts"},
        {"expert_used_count", "num_experts_per_tok"},
        {"expert_feed_forward_length", "moe_intermediate_size"},
        {"expert_feed_forward_length", "intermediate_size"},
        {"expert_shared_feed_forward_length", "shared_expert_intermediate_size"},
        {"expert_shared_feed_forward_length", "moe_shared_expert_intermediate_size"},
        {"expert_shared_feed_forward_length", "shared_intermediate_size"},
        {"leading_dense_block_count", "num_dense_layers"},
        {"expert_group_count", "n_group"},
        {"expert_group_used_count", "topk_group"},
        {NULL, NULL}};
    const cf_hf_config *c = p->c;
    const json_t *norm = member(c->v, "norm_topk_prob");
    bool is_sigmoid = p->arch->has_single_parts || p->arch->recurrent == CF_MIX_SHORT_CONV;
    put_numbers(p, rows, false);
    if (json_is_boolean(norm)) {
        put_bool(p, "expert_weights_norm", json_is_true(norm));
    }
    if (is_sigmoid) {
        put_u32(p, "expert_gating_func", CF_GATING_SIGMOID);
        put_f32(p, "expert_weights_scale", cf_hf_config_num(c, "routed_scaling_factor", 1));
    }
}

static void put_windows(put *p)
{
    const cf_hf_config *c = p->c;
    uint32_t period = cf_hf_config_u32(c, "sliding_window_pattern");
    put_u32(p, "attention.sliding_window", cf_hf_config_u32(c, "sliding_window"));
    if (p->arch->window_period == CF_EVERY_LAYER) {
        return;
    }
    if (layer_type(c, 0).p != NULL) {
        put_types(p, "attention.sliding_window_pattern", "sliding_attention");
    } else if (period != 0) {
        put_u32(p, "attention.sliding_window_pattern", period);
    } else if (cf_hf_config_u32(c, "sliding_window") == 0) {
        put_u32(p, "attention.sliding_window_pattern", 1); /* no layer */
    }
}

/* ---- what is refused ----------------------------------------------------- */

/* Whether a member is absent or has the one value that is computed, as text. */
static bool is_usual(const json_t *m, const char *usual)
{
    return m == NULL || (json_is_string(m)    ? strcmp(json_string_value(m), usual) == 0
                         : json_is_number(m)  ? strcmp(usual, "1") == 0 && json_number_value(m) == 1
                         : json_is_boolean(m) ? json_is_false(m) && strcmp(usual, "false") == 0
                                              : false);
}

/* What an encoder's configuration asks for that confab does not compute, or
 * NULL. */
static const char *unknown_of_encoder(const put *p)
{
    static const char *const rows[][2] = {{"position_embedding_type", "absolute"},
                                          {"prenorm", "false"},
                                          {"use_rms_norm", "false"},
                                          {"rotary_emb_interleaved", "false"},
                                          {"rotary_emb_fraction", "1"},
                                          {"rotary_scaling_factor", "null"},
                                          {"activation_function", "swiglu"},
                                          {"is_decoder", "false"}};
    const cf_hf_config *c = p->c;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (!is_usual(member(c->v, rows[i][0]), rows[i][1])) {
            return rows[i][0];
        }
    }
    return is_roberta(c) && !is_usual(member(c->v, "pad_token_id"), "1") ? "pad_token_id"
           : p->arch->has_positions && !is_usual(member(c->v, "hidden_act"), "gelu") ? "hidden_act"
           : is_ranker(c) && !is_usual(member(c->v, "classifier_pooling"), "mean")
               ? "classifier_pooling"
               : NULL;
}

/* Settings that change a model's answers and that confab does not implement. */
static cf_status refuse(put *p)
{
    const cf_hf_config *c = p->c;
    const json_t *dense = member(c->v, "mlp_only_layers");
    const json_t *no_rope = member(c->v, "no_rope_layers");
    const char *what = p->arch->is_encoder ? unknown_of_encoder(p) : NULL;
    if (is_true(c, "use_sliding_window") && p->arch->window_period == 0) {
        what = "use_sliding_window";
    } else if (json_array_size(dense) != 0) {
        what = "mlp_only_layers";
    } else if (cf_hf_config_num(c, "decoder_sparse_step", 1) > 1) {
        what = "decoder_sparse_step";
    } else if (member(c->v, "quantization_config") != NULL &&
               strcmp(p->arch->name, "gpt-oss") != 0) {
        what = "quantization_config";
    } else if (cf_hf_config_u32(c, "moe_latent_size") != 0) {
        what = "moe_latent_size";
    } else if (json_is_number(member(c->v, "clip_qkv"))) {
        what = "clip_qkv";
    }
    for (size_t i = 0; i < json_array_size(no_rope); i++) {
        bool turns = json_number_value(json_array_get(no_rope, i)) != 0;
        if (p->arch->nope_period > 1 && turns != ((i + 1) % p->arch->nope_period != 0)) {
            what = "no_rope_layers";
        }
    }
    return what == NULL ? CF_OK
                        : cf_fail(p->err, CF_EUNSUPPORTED,
                                  "config.json: \"%s\" as it is set here is not "
                                  "supported",
                                  what);
}

/* ---- all ----------------------------------------------------------------- */

static void put_encoder(put *p)
{
    static const number_row floats[] = {{"attention.layer_norm_epsilon", "layer_norm_eps"},
                                        {"attention.layer_norm_epsilon", "layer_norm_epsilon"},
                                        {"attention.layer_norm_epsilon", "norm_eps"},
                                        {NULL, NULL}};
    cf_str act = cf_json_get_str(p->c->v, "hidden_activation");
    char name[32];
    put_bool(p, "attention.causal", false);
    if (p->arch->has_layer_norm) {
        put_numbers(p, floats, true);
    }
    if (p->arch->ranking == CF_RANK_MEAN_GELU && act.n != 0) {
        snprintf(name, sizeof name, "%.*s", act.n < 31 ? (int)act.n : 31, act.p);
        put_str(p, "hidden_activation", name);
    }
    if (is_roberta(p->c)) {
        uint32_t n = cf_hf_config_u32(p->c, "max_position_embeddings");
        put_u32(p, "context_length", n > CF_HF_PAD_ROWS ? n - CF_HF_PAD_ROWS : 0);
        cf_meta_put_bool(p->w, "tokenizer.ggml.add_sep_token", true);
    }
}

static void put_common(put *p)
{
    static const number_row sizes[] = {{"context_length", "max_position_embeddings"},
                                       {"embedding_length", "hidden_size"},
                                       {"attention.head_count", "num_attention_heads"},
                                       {"attention.head_count_kv", "num_key_value_heads"},
                                       {"attention.shared_kv_layers", "num_kv_shared_layers"},
                                       {"shortconv.l_cache", "conv_L_cache"},
                                       {NULL, NULL}};
    static const number_row floats[] = {{"attention.layer_norm_rms_epsilon", "rms_norm_eps"},
                                        {"attention.layer_norm_rms_epsilon", "norm_eps"},
                                        {"attention.layer_norm_rms_epsilon", "layer_norm_epsilon"},
                                        {NULL, NULL}};
    static const number_row caps[] = {{"attn_logit_softcapping", "attn_logit_softcapping"},
                                      {"final_logit_softcapping", "final_logit_softcapping"},
                                      {NULL, NULL}};
    const cf_hf_config *c = p->c;
    double scalar = cf_hf_config_num(c, "query_pre_attn_scalar", 0);
    put_u32(p, "block_count", cf_hf_config_n_layer(c));
    put_numbers(p, sizes, false);
    put_numbers(p, floats, true);
    if (head_size(c) != 0) {
        put_u32(p, "attention.key_length", head_size(c));
        put_u32(p, "attention.value_length", head_size(c));
    }
    if (p->arch->has_soft_caps) {
        put_numbers(p, caps, true);
        /* null turns off the family's default */
        put_f32(p, "attn_logit_softcapping", 0);
        put_f32(p, "final_logit_softcapping", 0);
    }
    if (scalar > 0) {
        put_f32(p, "attention.scale", 1 / sqrt(scalar));
    }
    put_by_layer(p, "feed_forward_length", ff_of_layer);
}

cf_status cf_hf_config_put(const cf_hf_config *c, cf_meta_writer *w, cf_error *err)
{
    put p = {.c = c, .arch = cf_arch_find(cf_str_from(c->family->arch)), .w = w, .err = err};
    CF_ASSERT(p.arch != NULL);
    if (cf_hf_config_n_layer(c) == 0 || cf_hf_config_n_layer(c) > CF_LAYER_MAX) {
        return cf_fail(err, CF_EFORMAT, "config.json: num_hidden_layers is not 1 to %d",
                       CF_LAYER_MAX);
    }
    CF_TRY(refuse(&p));
    if (p.arch->has_altup) {
        put_gemma3n(&p);
    } else if (p.arch->has_layer_scale) {
        put_gemma4(&p);
    }
    if (p.arch->recurrent == CF_MIX_DELTA_NET) {
        put_delta_net(&p);
    } else if (p.arch->recurrent == CF_MIX_MAMBA2) {
        put_mamba(&p);
    } else if (p.arch->recurrent == CF_MIX_SHORT_CONV && !p.arch->has_experts) {
        put_u32(&p, "feed_forward_length", ff_of_lfm2(c));
    }
    if (p.arch->has_interleaved_axes) {
        put_axes(&p);
    }
    if (p.arch->multipliers != CF_MULTIPLY_NOTHING) {
        put_multipliers(&p);
    }
    if (p.arch->has_single_parts) {
        put_by_layer(&p, "feed_forward_length", ff_of_nemotron);
    }
    if (p.arch->recurrent_rule == CF_RECURRENT_NO_KV) {
        put_by_layer(&p, "attention.head_count_kv", kv_of_attention);
    }
    if (p.arch->has_experts) {
        put_experts(&p);
    }
    if (p.arch->window_period != 0) {
        put_windows(&p);
    }
    if (p.arch->is_encoder) {
        put_encoder(&p);
    }
    put_common(&p);
    return put_rope(&p);
}

/* ---- Falcon-H1 ----------------------------------------------------------- */

static double listed(const cf_hf_config *c, const char *key, size_t i)
{
    const json_t *m = json_array_get(member(c->v, key), i);
    return json_is_number(m) ? json_number_value(m) : 1;
}

double cf_hf_config_times(const cf_hf_config *c, const char *to, uint64_t row)
{
    double in = cf_hf_config_num(c, "attention_in_multiplier", 1);
    if (strcmp(to, "ssm_in.weight") == 0) { /* z, x, B, C, dt */
        uint64_t inner = cf_hf_config_u32(c, "mamba_d_ssm");
        uint64_t side =
            (uint64_t)cf_hf_config_u32(c, "mamba_n_groups") * cf_hf_config_u32(c, "mamba_d_state");
        size_t part = row < inner                  ? 0
                      : row < 2 * inner            ? 1
                      : row < 2 * inner + side     ? 2
                      : row < 2 * inner + 2 * side ? 3
                                                   : 4;
        return cf_hf_config_num(c, "ssm_in_multiplier", 1) * listed(c, "ssm_multipliers", part);
    }
    const struct {
        const char *to;
        double value;
    } rows[] = {
        {"attn_q.weight", in},
        {"attn_k.weight", in * cf_hf_config_num(c, "key_multiplier", 1)},
        {"attn_v.weight", in},
        {"attn_output.weight", cf_hf_config_num(c, "attention_out_multiplier", 1)},
        {"ssm_out.weight", cf_hf_config_num(c, "ssm_out_multiplier", 1)},
        {"ffn_gate.weight", listed(c, "mlp_multipliers", 0)},
        {"ffn_down.weight", listed(c, "mlp_multipliers", 1)},
        {"token_embd.weight", cf_hf_config_num(c, "embedding_multiplier", 1)},
        {"output.weight", cf_hf_config_num(c, "lm_head_multiplier", 1)},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (strcmp(to, rows[i].to) == 0) {
            return rows[i].value;
        }
    }
    return 1;
}
