/*
 * tiny_lora.c - writes the adapter.
 */
#include "tests/support/tiny_lora.h"

#include "core/base/os.h"
#include "tests/support/rand.h"
#include "tests/support/t.h"
#include "tests/support/tiny_gguf.h"

const struct cf_tiny_mat cf_tiny_mats[CF_TINY_MATS] = {
    {"attn_q.weight", "self_attn.q_proj", 64, 64},
    {"attn_v.weight", "self_attn.v_proj", 32, 64},
    {"ffn_down.weight", "mlp.down_proj", 64, 128},
};

void cf_tiny_pair_fill(cf_tiny_pair *p, uint64_t seed, uint32_t layer, size_t mat)
{
    cf_rand r = {.s = seed * 1000 + layer * 10 + mat};
    for (size_t k = 0; k < CF_TINY_RANK * 128; k++) {
        p->a[k] = cf_rand_float(&r) * 0.2f;
    }
    for (size_t k = 0; k < (size_t)64 * CF_TINY_RANK; k++) {
        p->b[k] = cf_rand_float(&r) * 0.2f;
    }
}

void cf_tiny_lora_write(const char *path, const char *arch, uint64_t seed)
{
    cf_tiny_buf head = {0}, tensors = {0}, data = {0}, all = {0};
    cf_tiny_pair p;
    cf_error err = {0};
    uint64_t n = 0;
    for (uint32_t l = 0; l < CF_TINY_LORA_LAYERS; l++) {
        for (size_t i = 0; i < CF_TINY_MATS; i++, n += 2) {
            char name[64];
            uint64_t da[2] = {cf_tiny_mats[i].n_col, CF_TINY_RANK};
            uint64_t db[2] = {CF_TINY_RANK, cf_tiny_mats[i].n_row};
            cf_tiny_pair_fill(&p, seed, l, i);
            cf_tiny_pad(&data, 32);
            snprintf(name, sizeof name, "blk.%u.%s.lora_a", l, cf_tiny_mats[i].name);
            cf_tiny_tensor(&tensors, name, 2, da, CF_F32, data.n);
            cf_tiny_bytes(&data, p.a, 4 * da[0] * CF_TINY_RANK);
            cf_tiny_pad(&data, 32);
            snprintf(name, sizeof name, "blk.%u.%s.lora_b", l, cf_tiny_mats[i].name);
            cf_tiny_tensor(&tensors, name, 2, db, CF_F32, data.n);
            cf_tiny_bytes(&data, p.b, 4 * db[1] * CF_TINY_RANK);
        }
    }
    cf_tiny_head(&head, 3, n, 4);
    cf_tiny_kv_str(&head, "general.type", "adapter");
    cf_tiny_kv_str(&head, "adapter.type", "lora");
    cf_tiny_kv_str(&head, "general.architecture", arch);
    cf_tiny_kv_f32(&head, "adapter.lora.alpha", (float)CF_TINY_ALPHA);
    cf_tiny_bytes(&all, head.p, head.n);
    cf_tiny_bytes(&all, tensors.p, tensors.n);
    cf_tiny_pad(&all, 32);
    cf_tiny_bytes(&all, data.p, data.n);
    T_OK(cf_os_write_file(path, all.p, all.n, 0600, &err), err);
    cf_tiny_free(head.p);
    cf_tiny_free(tensors.p);
    cf_tiny_free(data.p);
    cf_tiny_free(all.p);
}
