/*
 * pass_probe.c - calls the probes of a row, one after the other.
 */
#include "core/infer/pass_probe.h"

void cf_probe_stream(const cf_probe *p, uint32_t l, uint32_t pos, float *const *x, size_t n)
{
    for (; p != NULL; p = p->next) {
        if (p->stream != NULL) {
            p->stream(p->ud, l, pos, x, n);
        }
    }
}

void cf_probe_part(const cf_probe *p, uint32_t layer, uint32_t pos, cf_layer_part kind, float *x)
{
    for (; p != NULL; p = p->next) {
        if (p->part != NULL) {
            p->part(p->ud, layer, pos, kind, x);
        }
    }
}

void cf_probe_heads(const cf_probe *p, uint32_t layer, uint32_t pos, float *out)
{
    for (; p != NULL; p = p->next) {
        if (p->heads != NULL) {
            p->heads(p->ud, layer, pos, out);
        }
    }
}

void cf_probe_expert(const cf_probe *p, uint32_t layer, uint32_t pos, uint32_t expert,
                     float *weight, const float *out)
{
    for (; p != NULL; p = p->next) {
        if (p->expert != NULL) {
            p->expert(p->ud, layer, pos, expert, weight, out);
        }
    }
}

void cf_probe_mixing(const cf_probe *p, uint32_t layer, uint32_t pos, const float *predict,
                     const float *correct)
{
    for (; p != NULL; p = p->next) {
        if (p->mixing != NULL) {
            p->mixing(p->ud, layer, pos, predict, correct);
        }
    }
}

const cf_attn_hide *cf_probe_hidden(const cf_probe *p, uint32_t layer, size_t *n)
{
    *n = 0;
    for (; p != NULL; p = p->next) {
        const cf_attn_hide *hide = p->hidden != NULL ? p->hidden(p->ud, layer, n) : NULL;
        if (hide != NULL) {
            return hide;
        }
    }
    return NULL;
}

void cf_probe_weights(const cf_probe *p, uint32_t layer, uint32_t pos, uint32_t head,
                      const cf_attn *a)
{
    for (; p != NULL; p = p->next) {
        if (p->weights != NULL) {
            p->weights(p->ud, layer, pos, head, a);
        }
    }
}

bool cf_probe_wants_rows(const cf_probe *p)
{
    while (p != NULL && !p->wants_rows) {
        p = p->next;
    }
    return p != NULL;
}
