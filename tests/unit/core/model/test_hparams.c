/*
 * test_hparams.c - metadata to sizes: what is read, what is refused.
 */
#include <math.h>

#include "core/model/hparams.h"
#include "core/model/weights.h"
#include "tests/support/t.h"
#include "tests/support/tiny_gguf.h"

/* One key of a file; a null text and no number leaves the key out. */
typedef struct entry {
    const char *key;
    enum { U32, F32, TEXT, FLAG, COUNTS, ABSENT } kind;
    double number;
    const char *text;
    uint32_t counts[4];
} entry;

static const entry base[] = {
    {.key = "general.architecture", .kind = TEXT, .text = "llama"},
    {.key = "llama.context_length", .kind = U32, .number = 1024},
    {.key = "llama.embedding_length", .kind = U32, .number = 64},
    {.key = "llama.block_count", .kind = U32, .number = 3},
    {.key = "llama.feed_forward_length", .kind = U32, .number = 96},
    {.key = "llama.attention.head_count", .kind = U32, .number = 4},
    {.key = "llama.attention.head_count_kv", .kind = U32, .number = 2},
    {.key = "llama.attention.layer_norm_rms_epsilon", .kind = F32, .number = 1e-5},
};
enum { N_BASE = sizeof base / sizeof *base };

/* `e` with the keys of `arch` in place of llama's. */
static void put(cf_tiny_buf *b, const char *arch, const entry *of, uint64_t *n)
{
    char key[96];
    entry own = *of;
    const entry *e = &own;
    if (e->kind == ABSENT) {
        return;
    }
    if (strncmp(e->key, "llama.", 6) == 0) {
        snprintf(key, sizeof key, "%s.%s", arch, of->key + 6);
        own.key = key;
    } else if (strcmp(e->key, "general.architecture") == 0 && strcmp(e->text, "llama") == 0) {
        own.text = arch;
    }
    (*n)++;
    if (e->kind == TEXT) {
        cf_tiny_kv_str(b, e->key, e->text);
    } else if (e->kind == U32) {
        cf_tiny_kv_u32(b, e->key, (uint32_t)e->number);
    } else if (e->kind == F32) {
        cf_tiny_kv_f32(b, e->key, (float)e->number);
    } else if (e->kind == FLAG) {
        cf_tiny_str(b, e->key);
        cf_tiny_uint(b, CF_GGUF_BOOL, 4);
        cf_tiny_uint(b, (uint64_t)e->number, 1);
    } else {
        cf_tiny_str(b, e->key);
        cf_tiny_uint(b, CF_GGUF_ARRAY, 4);
        cf_tiny_uint(b, CF_GGUF_U32, 4);
        cf_tiny_uint(b, (uint64_t)e->number, 8);
        for (uint32_t i = 0; i < (uint32_t)e->number; i++) {
            cf_tiny_uint(b, e->counts[i], 4);
        }
    }
}

/* The base file with `change` in place of, or after, its keys. */
static cf_status read_arch(const char *arch, const entry *change, size_t n_change, cf_hparams *out,
                           cf_error *err)
{
    cf_tiny_buf body = {NULL, 0, 0};
    cf_tiny_buf b = {NULL, 0, 0};
    cf_gguf *g = NULL;
    uint64_t n = 1;
    for (size_t i = 0; i < N_BASE; i++) {
        bool is_changed = false;
        for (size_t j = 0; j < n_change; j++) {
            is_changed |= strcmp(base[i].key, change[j].key) == 0;
        }
        if (!is_changed) {
            put(&body, arch, &base[i], &n);
        }
    }
    for (size_t j = 0; j < n_change; j++) {
        put(&body, arch, &change[j], &n);
    }
    cf_tiny_str(&body, "tokenizer.ggml.tokens");
    cf_tiny_uint(&body, CF_GGUF_ARRAY, 4);
    cf_tiny_uint(&body, CF_GGUF_STRING, 4);
    cf_tiny_uint(&body, 2, 8);
    cf_tiny_str(&body, "a");
    cf_tiny_str(&body, "b");
    cf_tiny_head(&b, 3, 0, n);
    cf_tiny_bytes(&b, body.p, body.n);
    T_OK(cf_gguf_open_memory(&g, b.p, b.n, err), *err);
    cf_status st = cf_hparams_init(out, g, err);
    cf_gguf_close(g);
    cf_tiny_free(b.p);
    cf_tiny_free(body.p);
    return st;
}

static cf_status read_with(const entry *change, size_t n_change, cf_hparams *out, cf_error *err)
{
    return read_arch("llama", change, n_change, out, err);
}

static void test_hparams__defaults(void **state)
{
    cf_hparams hp;
    cf_error err;
    (void)state;
    T_OK(read_with(NULL, 0, &hp, &err), err);
    assert_string_equal(hp.arch->name, "llama");
    assert_int_equal(hp.n_layer, 3);
    assert_int_equal(hp.n_vocab, 2);
    assert_int_equal(hp.n_ctx_train, 1024);
    const cf_layer_hparams *l = &hp.layer[2];
    assert_int_equal(l->n_head, 4);
    assert_int_equal(l->n_head_kv, 2);
    assert_int_equal(l->head_size, 16);
    assert_int_equal(l->head_size_v, 16);
    assert_int_equal(l->n_ff, 96);
    assert_int_equal(l->window, 0);
    assert_true(l->has_rope);
    assert_true(l->attn_scale == 0.25f);
    assert_int_equal(hp.rope[0].n_rot, 16);
    assert_true(hp.rope[0].base == 10000.0);
    assert_int_equal(hp.rope[0].scaling, CF_ROPE_NONE);
    cf_hparams_deinit(&hp);
}

static void test_hparams__by_layer(void **state)
{
    static const entry change[] = {
        {.key = "llama.attention.head_count", .kind = COUNTS, .number = 3, .counts = {4, 2, 8}},
        {.key = "llama.attention.head_count_kv", .kind = COUNTS, .number = 3, .counts = {1, 2, 4}},
        {.key = "llama.feed_forward_length", .kind = COUNTS, .number = 3, .counts = {64, 32, 160}},
        {.key = "llama.attention.key_length", .kind = U32, .number = 8},
    };
    cf_hparams hp;
    cf_error err;
    (void)state;
    T_OK(read_with(change, 4, &hp, &err), err);
    assert_int_equal(hp.layer[1].n_head, 2);
    assert_int_equal(hp.layer[2].n_head_kv, 4);
    assert_int_equal(hp.layer[2].n_ff, 160);
    assert_int_equal(hp.layer[2].head_size, 8);
    cf_hparams_deinit(&hp);
}

static void test_hparams__refused(void **state)
{
#define KEY(name) .key = "llama." name
    static const struct {
        entry change;
        cf_status status;
        const char *says;
    } cases[] = {
        {{.key = "general.architecture", .kind = ABSENT}, CF_EFORMAT, "general.architecture"},
        {{.key = "general.architecture", .kind = TEXT, .text = "mamba"},
         CF_EUNSUPPORTED,
         "architecture mamba is not supported"},
        {{KEY("block_count"), .kind = ABSENT}, CF_EFORMAT, "missing"},
        {{KEY("block_count"), .kind = U32, .number = 0}, CF_EFORMAT, "is 0"},
        {{KEY("block_count"), .kind = U32, .number = 1e6}, CF_EFORMAT, "must be"},
        {{KEY("block_count"), .kind = TEXT, .text = "3"}, CF_EFORMAT, "not a count"},
        {{KEY("embedding_length"), .kind = U32, .number = 4e9}, CF_EFORMAT, "must be"},
        {{KEY("attention.head_count"), .kind = U32, .number = 0}, CF_EFORMAT, "is 0"},
        {{KEY("attention.head_count_kv"), .kind = U32, .number = 3}, CF_EFORMAT, "cannot share"},
        {{KEY("attention.head_count_kv"), .kind = U32, .number = 0}, CF_EFORMAT, "is 0"},
        {{KEY("attention.head_count"), .kind = U32, .number = 6}, CF_EFORMAT, "do not divide"},
        {{KEY("attention.head_count"), .kind = COUNTS, .number = 2, .counts = {4, 4}},
         CF_EFORMAT,
         "one for each layer"},
        {{KEY("attention.head_count"), .kind = COUNTS, .number = 3, .counts = {4, 0, 4}},
         CF_EFORMAT,
         "item 1 is 0"},
        {{KEY("attention.key_length"), .kind = U32, .number = 1 << 20}, CF_EFORMAT, "wider"},
        {{KEY("attention.key_length"), .kind = U32, .number = 7}, CF_EFORMAT, "odd"},
        {{KEY("rope.dimension_count"), .kind = U32, .number = 18}, CF_EFORMAT, "must be 2 to 16"},
        {{KEY("rope.dimension_count"), .kind = U32, .number = 5}, CF_EFORMAT, "odd"},
        {{KEY("rope.freq_base"), .kind = F32, .number = 0}, CF_EFORMAT, "rope.freq_base"},
        {{KEY("rope.freq_base"), .kind = F32, .number = (double)NAN}, CF_EFORMAT, "rope.freq_base"},
        {{KEY("rope.scaling.type"), .kind = TEXT, .text = "spiral"}, CF_EUNSUPPORTED, "spiral"},
        {{KEY("attention.layer_norm_rms_epsilon"), .kind = ABSENT}, CF_EFORMAT, "missing"},
        {{KEY("attention.layer_norm_rms_epsilon"), .kind = F32, .number = -1},
         CF_EFORMAT,
         "epsilon"},
        {{KEY("attention.causal"), .kind = FLAG, .number = 0}, CF_EUNSUPPORTED, "bidirectional"},
    };
#undef KEY
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cf_hparams hp;
        cf_error err = {.text = ""};
        cf_status st = read_with(&cases[i].change, 1, &hp, &err);
        if (st != cases[i].status || strstr(err.text, cases[i].says) == NULL) {
            fail_msg("case %zu: %s: %s", i, cf_status_name(st), err.text);
        }
    }
}

/* Experts, states, shared keys: sizes that do not suit each other. */
static void test_hparams__parts_refused(void **state)
{
#define KEY(name) .key = "llama." name
#define EXPERTS                                            \
    {KEY("expert_count"), .kind = U32, .number = 8},       \
    {                                                      \
        KEY("expert_used_count"), .kind = U32, .number = 2 \
    }
#define STATES                                                 \
    {KEY("ssm.conv_kernel"), .kind = U32, .number = 4},        \
        {KEY("ssm.state_size"), .kind = U32, .number = 16},    \
        {KEY("ssm.time_step_rank"), .kind = U32, .number = 4}, \
        {KEY("ssm.group_count"), .kind = U32, .number = 2},    \
    {                                                          \
        KEY("ssm.inner_size"), .kind = U32, .number = 64       \
    }
    static const struct {
        const char *arch;
        entry change[8]; /* later ones win */
        cf_status status;
        const char *says;
    } cases[] = {
        {"gemma",
         {{KEY("expert_count"), .kind = U32, .number = 8}},
         CF_EUNSUPPORTED,
         "mixture of experts"},
        {"qwen3moe",
         {{KEY("expert_count"), .kind = U32, .number = 8}},
         CF_EFORMAT,
         "expert_used_count is missing"},
        {"qwen3moe",
         {{KEY("expert_count"), .kind = U32, .number = 8},
          {KEY("expert_used_count"), .kind = U32, .number = 9}},
         CF_EFORMAT,
         "must be 1 to 8"},
        {"qwen3moe",
         {{KEY("expert_count"), .kind = U32, .number = 1e6}},
         CF_EFORMAT,
         "must be 0 to"},
        {"qwen3moe",
         {EXPERTS, {KEY("expert_gating_func"), .kind = U32, .number = 7}},
         CF_EUNSUPPORTED,
         "expert_gating_func 7"},
        {"qwen3moe",
         {EXPERTS, {KEY("expert_group_count"), .kind = U32, .number = 4}},
         CF_EFORMAT,
         "expert_group_used_count is missing"},
        {"qwen3moe",
         {EXPERTS,
          {KEY("expert_group_count"), .kind = U32, .number = 3},
          {KEY("expert_group_used_count"), .kind = U32, .number = 2}},
         CF_EFORMAT,
         "do not suit 2 of 8 experts"},
        {"qwen3moe",
         {EXPERTS,
          {KEY("expert_group_count"), .kind = U32, .number = 8},
          {KEY("expert_group_used_count"), .kind = U32, .number = 1}},
         CF_EFORMAT,
         "do not suit 2 of 8 experts"},
        {"apertus",
         {{KEY("context_length"), .kind = U32, .number = 64}},
         CF_EFORMAT,
         "xielu.alpha_n is missing"},
        {"deepseek2",
         {{KEY("attention.kv_lora_rank"), .kind = U32, .number = 16}},
         CF_EFORMAT,
         "rope.dimension_count is missing"},
        {"deepseek2",
         {{KEY("attention.kv_lora_rank"), .kind = U32, .number = 16},
          {KEY("rope.dimension_count"), .kind = U32, .number = 16},
          {KEY("attention.value_length_mla"), .kind = U32, .number = 8},
          {KEY("attention.key_length_mla"), .kind = U32, .number = 16}},
         CF_EFORMAT,
         "with 16 rotated"},
        {"cohere2",
         {{KEY("context_length"), .kind = U32, .number = 64}},
         CF_EFORMAT,
         "attention.layer_norm_epsilon is missing"},
        {"qwen3moe",
         {EXPERTS, {KEY("expert_weights_scale"), .kind = F32, .number = (double)NAN}},
         CF_EFORMAT,
         "must be a number"},
        {"qwen35",
         {{KEY("ssm.conv_kernel"), .kind = U32, .number = 4}},
         CF_EFORMAT,
         "ssm.inner_size is missing"},
        {"qwen35",
         {{KEY("ssm.conv_kernel"), .kind = U32, .number = 17}},
         CF_EFORMAT,
         "must be 2 to 16"},
        {"qwen35",
         {STATES, {KEY("ssm.state_size"), .kind = U32, .number = 8}},
         CF_EFORMAT,
         "does not suit"},
        {"qwen35",
         {STATES, {KEY("ssm.group_count"), .kind = U32, .number = 3}},
         CF_EFORMAT,
         "does not suit"},
        {"qwen35",
         {STATES, {KEY("ssm.inner_size"), .kind = U32, .number = 1 << 20}},
         CF_EFORMAT,
         "does not suit"},
        {"qwen35",
         {STATES, {KEY("full_attention_interval"), .kind = U32, .number = 0}},
         CF_EFORMAT,
         "must be 1"},
        {"qwen35",
         {STATES,
          {KEY("full_attention_interval"), .kind = U32, .number = 2},
          {KEY("rope.dimension_sections"), .kind = COUNTS, .number = 4, .counts = {4, 4, 4, 0}}},
         CF_EFORMAT,
         "12 pairs"},
        {"lfm2",
         {{KEY("attention.causal"), .kind = FLAG, .number = 1}},
         CF_EFORMAT,
         "shortconv.l_cache is missing"},
        {"lfm2", {{KEY("shortconv.l_cache"), .kind = U32, .number = 1}}, CF_EFORMAT, "must be 2"},
        {"gemma4",
         {{KEY("attention.shared_kv_layers"), .kind = U32, .number = 3}},
         CF_EFORMAT,
         "must be 0 to 2"},
        {"gemma4",
         {{KEY("attention.shared_kv_layers"), .kind = U32, .number = 1},
          {KEY("attention.sliding_window"), .kind = U32, .number = 8},
          {KEY("attention.sliding_window_pattern"), .kind = COUNTS, .number = 3,
           .counts = {1, 1, 0}}},
         CF_EFORMAT,
         "no earlier layer of its kind"},
        {"gemma4",
         {{KEY("embedding_length_per_layer_input"), .kind = U32, .number = 1 << 20}},
         CF_EFORMAT,
         "must be 0"},
        {"gemma3n",
         {{KEY("embedding_length_per_layer_input"), .kind = U32, .number = 8}},
         CF_EFORMAT,
         "altup.num_inputs is missing"},
        {"gemma3n",
         {{KEY("attention.causal"), .kind = FLAG, .number = 1}},
         CF_EFORMAT,
         "per_layer_input"},
        {"granite", {{KEY("logit_scale"), .kind = F32, .number = 0}}, CF_EFORMAT, "logit_scale"},
        {"glm4",
         {{KEY("nextn_predict_layers"), .kind = U32, .number = 3}},
         CF_EFORMAT,
         "must be 0 to 2"},
    };
#undef STATES
#undef EXPERTS
#undef KEY
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cf_hparams hp;
        cf_error err = {.text = ""};
        entry change[8];
        size_t n = 0;
        for (size_t j = 0; j < 8 && cases[i].change[j].key != NULL; j++) {
            size_t at = 0;
            while (at < n && strcmp(change[at].key, cases[i].change[j].key) != 0) {
                at++;
            }
            change[at] = cases[i].change[j];
            n = at == n ? n + 1 : n;
        }
        cf_status st = read_arch(cases[i].arch, change, n, &hp, &err);
        if (st != cases[i].status || strstr(err.text, cases[i].says) == NULL ||
            strchr(err.text, '\n') != NULL) {
            fail_msg("case %zu: %s: %s", i, cf_status_name(st), err.text);
        }
    }
}

static void test_hparams__rope_scaling(void **state)
{
    cf_hparams hp;
    cf_error err;
    (void)state;
    const entry yarn[] = {
        {.key = "llama.rope.scaling.type", .kind = TEXT, .text = "yarn"},
        {.key = "llama.rope.scaling.factor", .kind = F32, .number = 4},
        {.key = "llama.rope.scaling.original_context_length", .kind = U32, .number = 256},
    };
    T_OK(read_with(yarn, 3, &hp, &err), err);
    assert_int_equal(hp.rope[0].scaling, CF_ROPE_YARN);
    assert_true(hp.rope[0].factor == 4.0);
    assert_int_equal(hp.rope[0].n_ctx_orig, 256);
    assert_true(hp.rope[0].beta_fast == 32 && hp.rope[0].beta_slow == 1);
    assert_true(hp.rope[0].attn_factor == 1 && hp.rope[0].ext_factor == 1);
    cf_hparams_deinit(&hp);
    /* A factor without a type is linear; factor 0 means none. */
    T_OK(read_with(yarn + 1, 1, &hp, &err), err);
    assert_int_equal(hp.rope[0].scaling, CF_ROPE_LINEAR);
    cf_hparams_deinit(&hp);
    const entry zero = {.key = "llama.rope.scaling.factor", .kind = F32, .number = 0};
    T_OK(read_with(&zero, 1, &hp, &err), err);
    assert_int_equal(hp.rope[0].scaling, CF_ROPE_NONE);
    cf_hparams_deinit(&hp);
}

/* ---- families ----------------------------------------------------------- */

static void open_tiny(const cf_tiny_options *o, void **p, cf_gguf **g, cf_hparams *hp)
{
    cf_error err;
    size_t n = 0;
    *p = cf_tiny_gguf(o, &n);
    T_OK(cf_gguf_open_memory(g, *p, n, &err), err);
    T_OK(cf_hparams_init(hp, *g, &err), err);
}

static void test_hparams__families(void **state)
{
    void *p = NULL;
    cf_gguf *g = NULL;
    cf_hparams hp;
    (void)state;
    /* gemma2: windows on even layers, caps, queries as the head's size. */
    open_tiny(&(cf_tiny_options){.arch = "gemma2"}, &p, &g, &hp);
    assert_int_equal(hp.layer[0].window, 12);
    assert_int_equal(hp.layer[1].window, 0);
    assert_int_equal(hp.layer[0].rope_set, CF_ROPE_GLOBAL);
    assert_true(hp.attn_soft_cap == 50.0f && hp.final_soft_cap == 30.0f);
    assert_true(hp.embd_scale == 8.0f);
    cf_hparams_deinit(&hp);
    cf_gguf_close(g);
    cf_tiny_free(p);
    /* gemma3: every sixth layer sees all and is stretched, the others not. */
    open_tiny(&(cf_tiny_options){.arch = "gemma3", .rope_scaling = "linear"}, &p, &g, &hp);
    for (uint32_t i = 0; i < 6; i++) {
        assert_int_equal(hp.layer[i].window, i == 5 ? 0 : 12);
        assert_int_equal(hp.layer[i].rope_set, i == 5 ? 0 : 1);
    }
    assert_int_equal(hp.rope[CF_ROPE_GLOBAL].scaling, CF_ROPE_LINEAR);
    assert_int_equal(hp.rope[CF_ROPE_LOCAL].scaling, CF_ROPE_NONE);
    cf_hparams_deinit(&hp);
    cf_gguf_close(g);
    cf_tiny_free(p);
    /* smollm3: every fourth layer has no rotary embedding. */
    open_tiny(&(cf_tiny_options){.arch = "smollm3"}, &p, &g, &hp);
    for (uint32_t i = 0; i < 6; i++) {
        assert_int_equal(hp.layer[i].has_rope, i != 3);
    }
    cf_hparams_deinit(&hp);
    cf_gguf_close(g);
    cf_tiny_free(p);
    /* phi3: a window on every layer. */
    open_tiny(&(cf_tiny_options){.arch = "phi3"}, &p, &g, &hp);
    assert_int_equal(hp.layer[0].window, 12);
    assert_int_equal(hp.layer[1].window, 12);
    cf_hparams_deinit(&hp);
    cf_gguf_close(g);
    cf_tiny_free(p);
}

static void test_weights__slices(void **state)
{
    void *p = NULL;
    cf_gguf *g = NULL;
    cf_hparams hp;
    cf_weights w;
    cf_error err;
    (void)state;
    open_tiny(&(cf_tiny_options){.arch = "phi3"}, &p, &g, &hp);
    T_OK(cf_weights_init(&w, g, &hp, &err), err);
    const cf_layer_weights *l = &w.layer[1];
    const cf_gguf_tensor *qkv = cf_gguf_find_tensor(g, "blk.1.attn_qkv.weight");
    assert_ptr_equal(l->q.p, qkv->p);
    assert_ptr_equal(l->k.p, qkv->p + 64 * l->q.row_bytes);
    assert_ptr_equal(l->v.p, qkv->p + 96 * l->q.row_bytes);
    assert_int_equal(l->v.n_row, 32);
    assert_int_equal(l->gate.n_row, l->up.n_row);
    assert_ptr_equal(w.output.p, w.embd.p); /* tied */
    cf_weights_deinit(&w);
    cf_hparams_deinit(&hp);
    cf_gguf_close(g);
    cf_tiny_free(p);
}

/* The file of one model, the sizes of another. */
static void test_weights__wrong_shapes(void **state)
{
    static const struct {
        cf_tiny_options file, sizes;
        cf_status status;
        const char *says;
    } cases[] = {
        {{.n_embd = 64}, {.n_embd = 32}, CF_EFORMAT, "must be [32, 320]"},
        {{.n_layer = 2}, {.n_layer = 3}, CF_EFORMAT, "blk.2.attn_norm"},
        {{.n_layer = 3}, {.n_layer = 2}, CF_EUNSUPPORTED, "blk.2"},
        {{.n_head_kv = 2}, {.n_head_kv = 4}, CF_EFORMAT, "attn_k.weight"},
        {{.arch = "llama"}, {.arch = "qwen3"}, CF_EFORMAT, "attn_q_norm"},
        {{.arch = "qwen3"}, {.arch = "llama"}, CF_EUNSUPPORTED, "attn_q_norm"},
        {{.arch = "qwen3"}, {.arch = "qwen3moe"}, CF_EFORMAT, "ffn_gate_inp"},
        {{.arch = "qwen3moe"}, {.arch = "qwen3"}, CF_EFORMAT, "ffn_gate.weight"},
        {{.arch = "qwen35", .n_layer = 4}, {.arch = "lfm2"}, CF_EFORMAT, "token_embd_norm"},
        {{.arch = "granite"}, {.arch = "granitehybrid", .n_layer = 2}, CF_EFORMAT, "ssm_in"},
        {{.arch = "gemma3"}, {.arch = "gemma4"}, CF_EFORMAT, "per_layer"},
        {{.arch = "gpt-oss"}, {.arch = "llama"}, CF_EFORMAT, "ffn_norm"},
        {{.has_rope_freqs = true}, {.n_rot = 8}, CF_EFORMAT, "rope_freqs"},
        {{.vocab_only = true}, {.n_layer = 2}, CF_EFORMAT, "no tensors"},
        {{.arch = "phi3"}, {.arch = "phi3", .rope_scaling = "longrope"}, CF_EFORMAT, "longrope"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        void *p = NULL;
        void *p2 = NULL;
        cf_gguf *g = NULL;
        cf_gguf *g2 = NULL;
        cf_hparams hp;
        cf_hparams hp2;
        cf_weights w;
        cf_error err = {.text = ""};
        open_tiny(&cases[i].file, &p, &g, &hp);
        open_tiny(&cases[i].sizes, &p2, &g2, &hp2);
        cf_status st = cf_weights_init(&w, g, &hp2, &err);
        if (st != cases[i].status || strstr(err.text, cases[i].says) == NULL) {
            fail_msg("case %zu: %s: %s", i, cf_status_name(st), err.text);
        }
        cf_hparams_deinit(&hp);
        cf_hparams_deinit(&hp2);
        cf_gguf_close(g);
        cf_gguf_close(g2);
        cf_tiny_free(p);
        cf_tiny_free(p2);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hparams__defaults),     cmocka_unit_test(test_hparams__by_layer),
        cmocka_unit_test(test_hparams__refused),      cmocka_unit_test(test_hparams__parts_refused),
        cmocka_unit_test(test_hparams__rope_scaling), cmocka_unit_test(test_hparams__families),
        cmocka_unit_test(test_weights__slices),       cmocka_unit_test(test_weights__wrong_shapes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
