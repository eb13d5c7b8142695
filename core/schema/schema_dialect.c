/*
 * schema_dialect.c - emits strings and words as Python and FC calls write them.
 */
#include <string.h>

#include "core/schema/schema.h"

const char *cf_dialect__word(const cf_schema *s, int which)
{
    static const char *const json[] = {"null", "true", "false"};
    static const char *const python[] = {"None", "True", "False"};
    return s->dialect == CF_DIALECT_PYTHON ? python[which] : json[which];
}

static cf_str delimiter(const cf_schema *s)
{
    return s->dialect == CF_DIALECT_FC_ESCAPE ? cf_str_from("<escape>") : cf_str_from("<|\"|>");
}

static uint32_t emit_delimiter(cf_schema *s, uint32_t from)
{
    cf_str d = delimiter(s);
    bool was = s->b->is_fence;
    s->b->is_fence = true;
    from = cf_g_bytes(s->b, from, d.p, d.n);
    s->b->is_fence = was;
    return from;
}

static void python_text(cf_buf *out, cf_str text, char quote)
{
    cf_buf_addc(out, quote);
    for (size_t i = 0; i < text.n; i++) {
        char c = text.p[i];
        if (c == '\n' || c == '\r' || c == '\t') {
            cf_buf_addc(out, '\\');
            cf_buf_addc(out, c == '\n' ? 'n' : c == '\r' ? 'r' : 't');
            continue;
        }
        if (c == '\\' || c == quote) {
            cf_buf_addc(out, '\\');
        }
        cf_buf_addc(out, c);
    }
    cf_buf_addc(out, quote);
}

static bool contains(cf_str text, cf_str part)
{
    for (size_t i = 0; i + part.n <= text.n; i++) {
        if (memcmp(text.p + i, part.p, part.n) == 0) {
            return true;
        }
    }
    return false;
}

uint32_t cf_emit_text(cf_schema *s, uint32_t from, cf_str text)
{
    cf_gbuild *b = s->b;
    if (cf_dialect__is_fc(s)) {
        if (contains(text, delimiter(s))) {
            return cf_g_node(b); /* cannot be written, so no edge leads there */
        }
        from = cf_g_bytes(b, emit_delimiter(s, from), text.p, text.n);
        return emit_delimiter(s, from);
    }
    uint32_t to = cf_g_node(b);
    static const char quotes[] = "\"'";
    int n = s->dialect == CF_DIALECT_PYTHON ? 2 : 1;
    for (int i = 0; i < n && b->st == CF_OK; i++) {
        cf_buf t = CF_BUF_INIT;
        if (n == 2) {
            python_text(&t, text, quotes[i]);
        } else {
            cf_json_write_str(&t, text);
        }
        if (t.failed) {
            cf_gbuild_oom(b);
        } else {
            cf_g_bytes_to(b, from, t.p, t.n, to);
        }
        cf_buf_deinit(&t);
    }
    return to;
}

cf_rx cf_dialect__texts(cf_schema *s, cf_rx text)
{
    cf_rx_pool *rx = &s->rx;
    cf_rx all = cf_rx_all(rx);
    if (cf_dialect__is_fc(s)) {
        cf_rx in = cf_rx_cat(rx, all, cf_rx_cat(rx, cf_rx_text(rx, delimiter(s)), all));
        return cf_rx_and2(rx, text, cf_rx_not(rx, in));
    }
    return text;
}

void cf_dialect__string(cf_schema *s, uint32_t rule, const cf_dfa *d)
{
    cf_gbuild *b = s->b;
    b->rule = rule;
    uint32_t end = cf_g_node(b);
    cf_g_end(b, end, 0);
    if (cf_dialect__is_fc(s)) {
        uint32_t body = emit_delimiter(s, cf_g_start(b, rule));
        uint32_t stop = cf_g_node(b);
        cf_dfa_emit(b, d, CF_SPELL_RAW, -1, body, stop);
        cf_g_jump(b, emit_delimiter(s, stop), 0, end);
        return;
    }
    for (int i = 0; i < 2; i++) {
        uint8_t quote = i == 0 ? '"' : '\'';
        uint32_t body = cf_g_node(b);
        cf_g_byte(b, cf_g_start(b, rule), quote, quote, body);
        cf_dfa_emit(b, d, i == 0 ? CF_SPELL_PYTHON2 : CF_SPELL_PYTHON1, quote, body, end);
    }
}
