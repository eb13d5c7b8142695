/*
 * tool_closest.c - measures how near a reply without calls came to a family's
 * call.
 */
#include "core/tools/tool_rules.h"

#include <string.h>

/* Appends the text in quotes, with white space collapsed. */
static void put_literal(cf_buf *out, cf_str text)
{
    cf_buf_addc(out, '\'');
    for (size_t i = 0; i < text.n; i++) {
        if (!cf_tool__is_space(text.p[i])) {
            cf_buf_addc(out, text.p[i]);
        } else if (!cf_tool__is_space(text.p[i - 1])) {
            cf_buf_addc(out, ' ');
        }
    }
    cf_buf_addc(out, '\'');
}

/* Describes what must follow the start of `rule`, or its whole literal. */
static void describe(const cf_tool__rule *rule, bool is_after, cf_buf *out)
{
    static const char *const bodies[] = {
        [CF_LEX_JSON] = "'{' or '[' of a call",
        [CF_LEX_PYTHON] = "a function's name or '['",
        [CF_LEX_PYTHON_LINES] = "a function's name or '['",
        [CF_LEX_FC] = "'call:'",
        [CF_LEX_TAGS] = "a function's name",
    };
    switch (rule->kind) {
    case CF_RULE_BARE_LIST:
        cf_buf_adds(out, "'[{\"name\"' at the start of a line");
        break;
    case CF_RULE_BARE_OBJECT:
        cf_buf_adds(out, "'{\"name\"'");
        break;
    case CF_RULE_BARE_PYTHON:
        cf_buf_adds(out, "'[NAME(' at the start of a line");
        break;
    case CF_RULE_MARKDOWN:
        cf_buf_adds(out, "'```json' and a call");
        break;
    default:
        if (is_after) {
            cf_buf_adds(out, bodies[rule->lexer]);
        } else {
            put_literal(out, rule->start);
        }
        break;
    }
}

/* The number of bytes of `rule`'s start literal that raw[i..) matches. */
static size_t common(cf_str raw, size_t i, cf_str text)
{
    size_t n = 0;
    while (n < text.n && i + n < raw.n && raw.p[i + n] == text.p[n]) {
        n++;
    }
    return n;
}

void cf_tool_family_closest(cf_tool_family family, cf_str raw, size_t *byte, cf_buf *expected)
{
    cf_tool__rule rules[CF_TOOL_RULES_MAX];
    size_t n = cf_tool__rules(family, rules);
    const cf_tool__rule *best = n > 0 ? &rules[0] : NULL;
    size_t best_n = 0;
    *byte = 0;
    while (*byte < raw.n && cf_tool__is_space(raw.p[*byte])) {
        ++*byte;
    }
    for (size_t i = *byte; i < raw.n; i++) {
        for (size_t k = 0; k < n; k++) {
            if (rules[k].kind == CF_RULE_MARKER || rules[k].kind == CF_RULE_SEPARATOR) {
                continue;
            }
            size_t same = common(raw, i, rules[k].start);
            if (same > best_n) {
                best_n = same;
                best = &rules[k];
                *byte = i + same;
            }
        }
    }
    if (best == NULL) {
        cf_buf_adds(expected, "nothing: this family has no calls");
        return;
    }
    bool is_after = best_n == best->start.n && best_n > 0;
    while (is_after && *byte < raw.n && cf_tool__is_space(raw.p[*byte])) {
        ++*byte;
    }
    describe(best, is_after, expected);
}
