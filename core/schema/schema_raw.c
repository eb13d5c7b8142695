/*
 * schema_raw.c - emits values between tags: a string is its own text, without
 * quotes and escapes.
 */
#include <string.h>

#include "core/schema/schema.h"

static bool holds_any(cf_str text, const cf_str *stops, size_t n)
{
    for (size_t k = 0; k < n; k++) {
        for (size_t i = 0; i + stops[k].n <= text.n; i++) {
            if (memcmp(text.p + i, stops[k].p, stops[k].n) == 0) {
                return true;
            }
        }
    }
    return false;
}

/* The texts of a string atom that hold none of the stops. */
static void emit_texts(cf_schema *s, const cf_atom *a, const cf_str *stops, size_t n, uint32_t from,
                       uint32_t to)
{
    cf_rx_pool *rx = &s->rx;
    cf_rx all = cf_rx_all(rx);
    cf_rx text = a->text;
    if (a->min > 0 || a->max != CF_RX_INF) {
        text = cf_rx_and2(rx, text, cf_rx_loop(rx, cf_rx_any(rx), a->min, a->max));
    }
    for (size_t k = 0; k < n; k++) {
        cf_rx in = cf_rx_cat(rx, all, cf_rx_cat(rx, cf_rx_text(rx, stops[k]), all));
        text = cf_rx_and2(rx, text, cf_rx_not(rx, in));
    }
    cf_dfa d;
    cf_rx_dfa(rx, text, &d);
    cf_dfa_emit(s->b, &d, CF_SPELL_RAW, -1, from, to);
    cf_dfa_deinit(&d);
}

void cf_emit_between_tags(cf_schema *s, cf_conj value, const cf_str *stops, size_t n_stops,
                          uint32_t from, uint32_t to)
{
    const cf_dnf *d = cf_conj_expand(s, value);
    bool has_text = false, has_null = false;
    for (size_t i = 0; i < d->n && cf_schema_ok(s); i++) {
        const cf_atom *a = d->v[i];
        has_null = has_null || a->kind == CF_ATOM_NULL;
        if (a->kind == CF_ATOM_STR) {
            has_text = true;
            emit_texts(s, a, stops, n_stops, from, to);
        } else if (a->kind == CF_ATOM_LIT && json_is_string(a->lit)) {
            cf_str text = cf_schema__text(a->lit);
            has_text = true;
            if (!holds_any(text, stops, n_stops)) {
                cf_g_jump(s->b, cf_g_bytes(s->b, from, text.p, text.n), 0, to);
            }
        }
    }
    if (!has_text) {
        cf_g_call(s->b, from, cf_conj__rule(s, value), 0, to);
    } else if (has_null) {
        cf_g_jump(s->b, cf_g_bytes(s->b, from, "null", 4), 0, to);
    }
}
