/*
 * tool_search.c - finds where an open block of calls ends, while its bytes
 * arrive.
 *
 * Always true:
 *   1. What lies before `scan` is decided: bytes that follow cannot change it.
 *   2. An end literal inside a string of the body does not count; the lexer
 *      of the block's rule knows the strings.
 */
#include <stdio.h>
#include <string.h>

#include "core/tools/tool_rules.h"

enum { HEADER_MAX = 1024 }; /* bytes from the start of a call to arguments */

/* Whether `text` is at raw[at], whole or as far as raw goes. */
static bool literal_at(const cf_tool__search *s, size_t at, cf_str text, bool *is_partial)
{
    size_t end;
    cf_tool__match m = cf_tool__literal(s->raw, at, s->is_final, text, &end);
    *is_partial = *is_partial || m == CF_MATCH_MORE;
    return m == CF_MATCH_YES;
}

/* Moves over one lexical unit at `scan`; false: more bytes are needed. */
static bool lex_json(cf_tool__search *s)
{
    char c = s->raw.p[s->scan];
    if (s->lex.quote != '\0') {
        if (c == '\\') {
            if (s->scan + 1 >= s->raw.n && !s->is_final) {
                return false;
            }
            s->scan++;
        } else if (c == '"') {
            s->lex.quote = '\0';
        }
    } else if (c == '"') {
        s->lex.quote = c;
    } else if (c == '[' || c == '{') {
        s->lex.depth++;
    } else if ((c == ']' || c == '}') && s->lex.depth > 0) {
        s->lex.depth--;
    }
    s->scan++;
    return true;
}

static bool is_triple(const cf_tool__search *s, char quote)
{
    return s->raw.n - s->scan >= 3 && s->raw.p[s->scan + 1] == quote &&
           s->raw.p[s->scan + 2] == quote;
}

static bool lex_python(cf_tool__search *s)
{
    char c = s->raw.p[s->scan];
    bool needs_three = c == '"' || c == '\'';
    if (needs_three && s->raw.n - s->scan < 3 && !s->is_final) {
        return false;
    }
    if (s->lex.quote != '\0') {
        if (c == '\\') {
            if (s->scan + 1 >= s->raw.n && !s->is_final) {
                return false;
            }
            s->scan++;
        } else if (c == '\n' && !s->lex.is_long && s->block->rule->lexer == CF_LEX_PYTHON) {
            s->lex.quote = '\0'; /* a short string ends with its line */
        } else if (c == s->lex.quote && (!s->lex.is_long || is_triple(s, c))) {
            s->scan += s->lex.is_long ? 2 : 0;
            s->lex.quote = '\0';
        }
    } else if (needs_three) {
        s->lex.quote = c;
        s->lex.is_long = is_triple(s, c);
        s->scan += s->lex.is_long ? 2 : 0;
    } else if (c == '[' || c == '{' || c == '(') {
        s->lex.depth++;
    } else if ((c == ']' || c == '}' || c == ')') && s->lex.depth > 0) {
        s->lex.depth--;
    }
    s->scan++;
    return true;
}

static bool lex_fc(cf_tool__search *s)
{
    bool is_partial = false;
    const char *at = s->raw.p + s->scan;
    size_t n = cf_tool__fc_escape(at, s->raw.n - s->scan, &is_partial);
    if (n == 0) {
        if (is_partial && !s->is_final) {
            return false;
        }
        s->scan++;
        return true;
    }
    if (s->lex.quote == '\0') {
        s->lex.quote = '<';
        s->lex.esc_off = s->scan;
        s->lex.esc_len = n;
    } else if (n == s->lex.esc_len && memcmp(at, s->raw.p + s->lex.esc_off, n) == 0) {
        s->lex.quote = '\0';
    }
    s->scan += n;
    return true;
}

static bool lex_step(cf_tool__search *s)
{
    switch (s->block->rule->lexer) {
    case CF_LEX_JSON:
        return lex_json(s);
    case CF_LEX_PYTHON:
    case CF_LEX_PYTHON_LINES:
        return lex_python(s);
    case CF_LEX_FC:
        return lex_fc(s);
    case CF_LEX_TAGS:
        break;
    }
    return false;
}

/* The name of a call whose arguments follow it; false: more are needed. */
static bool read_header(cf_tool__search *s)
{
    const cf_tool__syntax *y = s->block->rule->syntax;
    cf_str mark = cf_tool__trim(y->header_end != NULL ? y->header_end : y->name_end);
    bool is_partial = false;
    for (; s->scan < s->raw.n; s->scan++) {
        if (s->scan - s->block->body_off > HEADER_MAX) {
            break;
        }
        if (literal_at(s, s->scan, mark, &is_partial)) {
            cf_tool__read_header(s->raw, s->block->body_off, s->scan, s->block);
            s->scan += mark.n;
            s->block->body_off = s->scan;
            s->block->in_header = false;
            return true;
        }
        if (is_partial) {
            return false;
        }
    }
    if (s->is_final || s->scan < s->raw.n) {
        s->block->is_bad = true;
        s->block->err_off = s->scan;
        snprintf(s->block->expected, sizeof s->block->expected, "'%.*s'", (int)mark.n, mark.p);
        s->block->in_header = false;
        return true;
    }
    return false;
}

/* The first end literal from `scan` on, regardless of its surroundings. */
static cf_tool__found find_literal_end(cf_tool__search *s, size_t *body_end, size_t *end)
{
    cf_str text = s->block->rule->end;
    for (; s->scan < s->raw.n; s->scan++) {
        bool is_partial = false;
        if (text.n > 0 && literal_at(s, s->scan, text, &is_partial)) {
            *body_end = s->scan;
            *end = s->scan + text.n;
            return CF_FOUND_END;
        }
        if (is_partial) {
            return CF_FOUND_NOT_YET;
        }
    }
    return CF_FOUND_NOT_YET;
}

static cf_tool__found find_tags_end(cf_tool__search *s, size_t *body_end, size_t *end)
{
    cf_tool__step step = CF_STEP_ON;
    while (step != CF_STEP_MORE && step != CF_STEP_BAD) {
        step = cf_tool__walk_step(s->block->rule->syntax, s->raw, s->is_final, false, &s->walk);
        s->scan = s->walk.at;
        if (s->walk.state == CF_WALK_DONE) {
            *body_end = s->walk.at;
            *end = s->walk.end;
            return CF_FOUND_END;
        }
    }
    if (step == CF_STEP_BAD && s->walk.err_off < s->raw.n) {
        s->block->is_bad = true;
        s->block->err_off = s->walk.err_off;
        memcpy(s->block->expected, s->walk.expected, sizeof s->block->expected);
        return find_literal_end(s, body_end, end);
    }
    return CF_FOUND_NOT_YET;
}

/* Whether the next call begins after the arguments, which ended at `scan`, the
 * mark between them left out; *needs_more when that is not decided yet. */
static bool next_begins(const cf_tool__search *s, bool *needs_more)
{
    const cf_tool__rule *rule = s->block->rule;
    size_t at = s->scan;
    if (rule->kind != CF_RULE_CALL || !rule->syntax->is_self_ended) {
        return false;
    }
    while (at < s->raw.n && cf_tool__is_space(s->raw.p[at])) {
        at++;
    }
    return literal_at(s, at, rule->start, needs_more);
}

cf_tool__found cf_tool__find_end(cf_tool__search *s, cf_str raw, bool is_final, size_t *body_end,
                                 size_t *end)
{
    const cf_tool__rule *rule = s->block->rule;
    s->raw = raw;
    s->is_final = is_final;
    if (s->block->in_header && !read_header(s)) {
        return CF_FOUND_NOT_YET;
    }
    if (s->block->is_bad) {
        return find_literal_end(s, body_end, end);
    }
    if (rule->lexer == CF_LEX_TAGS) {
        return find_tags_end(s, body_end, end);
    }
    while (s->scan < s->raw.n) {
        if (rule->end.n > 0 && s->lex.quote == '\0') {
            bool is_partial = false;
            if (s->lex.is_whole && next_begins(s, &is_partial)) {
                *body_end = *end = s->scan;
                return CF_FOUND_END;
            }
            if (literal_at(s, s->scan, rule->end, &is_partial)) {
                *body_end = s->scan;
                *end = s->scan + rule->end.n;
                return CF_FOUND_END;
            }
            if (rule->kind == CF_RULE_FENCE && literal_at(s, s->scan, rule->start, &is_partial)) {
                return CF_FOUND_RESTART;
            }
            if (is_partial) {
                return CF_FOUND_NOT_YET;
            }
        }
        size_t depth = s->lex.depth;
        if (!lex_step(s)) {
            return CF_FOUND_NOT_YET;
        }
        if (s->scan > s->raw.n) {
            s->scan = s->raw.n;
        }
        s->lex.is_whole = depth == 1 && s->lex.depth == 0;
        if (rule->end.n == 0 && s->lex.is_whole) {
            *body_end = *end = s->scan;
            return CF_FOUND_END;
        }
    }
    return CF_FOUND_NOT_YET;
}

bool cf_tool__find_plain_end(cf_tool__search *s, size_t *body_end, size_t *end)
{
    size_t was = s->scan;
    s->scan = s->block->body_off;
    bool is_there = find_literal_end(s, body_end, end) == CF_FOUND_END;
    s->scan = was;
    return is_there;
}
