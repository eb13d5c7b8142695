/*
 * tool_so_far.c - the calls of a block that is still being written.
 *
 * The open strings and brackets of the block are closed, and its grammar reads
 * the result.  Of the last call's arguments the end is left out as far as it
 * is due to the closing, or may change with the next byte: what is given is the
 * beginning of what the finished call will have.
 */
#include <string.h>

#include "core/tools/tool_rules.h"

enum { DEPTH_MAX = CF_TOOL_DEPTH_MAX * 2 };

/* What is open at the end of a body. */
typedef struct open_marks {
    char bracket[DEPTH_MAX]; /* the ones that close, outermost first */
    size_t n;
    char quote[16]; /* that ends the open string */
    size_t n_quote; /* 0: no string is open */
} open_marks;

static bool push(open_marks *o, char c)
{
    if (o->n == DEPTH_MAX) {
        return false;
    }
    o->bracket[o->n++] = c;
    return true;
}

/* The mark that begins a string at p[0..n), which also ends it: its length. */
static size_t quote_at(cf_tool__lexer lexer, const char *p, size_t n)
{
    bool is_partial = false;
    if (lexer == CF_LEX_FC) {
        return cf_tool__fc_escape(p, n, &is_partial);
    }
    const bool is_quote = p[0] == '"' || (p[0] == '\'' && lexer != CF_LEX_JSON);
    if (!is_quote) {
        return 0;
    }
    return lexer != CF_LEX_JSON && n >= 3 && p[1] == p[0] && p[2] == p[0] ? 3 : 1;
}

/* Walks over body[0..n); false for what cannot be closed. */
static bool find_open(open_marks *o, cf_tool__lexer lexer, const char *body, size_t n)
{
    for (size_t i = 0; i < n;) {
        const char c = body[i];
        if (o->n_quote > 0) {
            const bool ends = n - i >= o->n_quote && memcmp(body + i, o->quote, o->n_quote) == 0;
            i += ends ? o->n_quote : c == '\\' && lexer != CF_LEX_FC ? 2 : 1;
            o->n_quote = ends ? 0 : o->n_quote;
            if (i > n) {
                return false; /* half an escape */
            }
            continue;
        }
        o->n_quote = quote_at(lexer, body + i, n - i);
        if (o->n_quote > sizeof o->quote) {
            return false;
        }
        memcpy(o->quote, body + i, o->n_quote);
        if ((c == '{' || c == '[' || c == '(') && !push(o, (char)(c == '{'   ? '}'
                                                                  : c == '[' ? ']'
                                                                             : ')'))) {
            return false;
        }
        if ((c == '}' || c == ']' || c == ')') && o->n > 0) {
            o->n--;
        }
        i += o->n_quote > 0 ? o->n_quote : 1;
    }
    return true;
}

/* After the last place of a literal; 0: it is not there. */
static size_t after_last(const char *p, size_t n, cf_str literal)
{
    for (size_t i = n; literal.n > 0 && i >= literal.n; i--) {
        if (memcmp(p + i - literal.n, literal.p, literal.n) == 0) {
            return i;
        }
    }
    return 0;
}

/* With `ends_value` the value of a call between tags that `text` ends in is ended;
 * else what follows the last value is left out.  False where there is none. */
static bool close_tags(cf_buf *text, const cf_tool__syntax *y, size_t off, bool ends_value)
{
    const char *body = text->p + off;
    const size_t n = text->n - off;
    const size_t value = after_last(body, n, cf_tool__trim(y->value_end));
    const size_t param = after_last(body, n, cf_tool__trim(y->param));
    if (ends_value) {
        const cf_str mark = cf_tool__trim(y->value_end);
        for (size_t i = n > mark.n ? n - mark.n : 0; i < n; i++) {
            if (cf_tool__partial(cf_buf_str(text), off + i, mark) > 0) {
                text->n = off + i; /* its beginning is there already */
                break;
            }
        }
        cf_buf_adds(text, y->value_end);
        return !y->keys_are_tags && param > value;
    }
    text->n = off + value;
    return value > 0;
}

/* Closes the body of `text`, which begins at `off`; false for what cannot be
 * closed. */
static bool close_body(cf_buf *text, const cf_tool__block *b, size_t off, bool ends_value)
{
    open_marks open = {.n = 0};
    if (b->rule->lexer == CF_LEX_TAGS) {
        return close_tags(text, b->rule->syntax, off, ends_value);
    }
    if (!find_open(&open, b->rule->lexer, text->p + off, text->n - off)) {
        return false;
    }
    cf_buf_add(text, open.quote, open.n_quote);
    while (open.n > 0) {
        cf_buf_addc(text, open.bracket[--open.n]);
    }
    return true;
}

static bool is_escaped(cf_str s, size_t at)
{
    size_t n = 0;
    while (n < at && s.p[at - 1 - n] == '\\') {
        n++;
    }
    return n % 2 == 1;
}

/* Where the part of a string ends that stays: white space, the beginning of a tag
 * and "]]" of "]]>" may belong to what ends it, half a character to the next. */
static size_t stable_text(cf_str s, size_t n, bool has_marks)
{
    for (size_t i = n; has_marks && i > 0 && n - i < 32 && s.p[i - 1] != '>'; i--) {
        if (s.p[i - 1] == '<') {
            n = i - 1;
            break;
        }
    }
    for (;;) {
        const bool is_space = n > 0 && (s.p[n - 1] == ' ' || (has_marks && s.p[n - 1] == ']'));
        const bool is_line = n > 1 && strchr("nrt", s.p[n - 1]) != NULL && is_escaped(s, n - 1);
        const bool is_half = n > 2 && memcmp(s.p + n - 3, "\xEF\xBF\xBD", 3) == 0;
        if (!is_space && !is_line && !is_half) {
            return n;
        }
        n -= is_half ? 3 : is_line ? 2 : 1;
    }
}

/* The beginning of arguments that more bytes cannot change. */
static cf_str stable(cf_str s, bool has_marks)
{
    size_t n = s.n;
    while (n > 1 && (s.p[n - 1] == '}' || s.p[n - 1] == ']')) {
        n--;
    }
    if (n > 1 && s.p[n - 1] == '"') {
        return cf_str_make(s.p, stable_text(s, n - 1, has_marks));
    }
    while (n > 1 && strchr("0123456789+-.eEtrufalsn", s.p[n - 1]) != NULL) {
        n--;
    }
    return cf_str_make(s.p, n);
}

/* Whether the last value of a call between tags is declared as a text: another
 * one may be of another type when more of it is there. */
static bool ends_in_text(const cf_tool__emit *e, const cf_tool__block *block,
                         const cf_tool_set *tools)
{
    const cf_tool__raw_call *c = e->n_calls > 0 ? &e->calls[e->n_calls - 1] : NULL;
    if (c == NULL || c->n_spans == 0 || tools == NULL ||
        block->rule->syntax->typing == CF_TYPING_JSON) {
        return false;
    }
    const cf_str key = e->spans[c->first_span + c->n_spans - 1].path;
    const cf_tool *tool = cf_tool_set_find(tools, c->name);
    const json_t *all = json_object_get(tool != NULL ? tool->parameters : NULL, "properties");
    cf_str type = cf_json_get_str(json_object_getn(all, key.p, key.n), "type");
    return cf_str_is(type, "string") || cf_str_is(type, "STRING");
}

/* The calls of a body that was closed, in the arena.  The last one counts when
 * its arguments have begun after its name. */
static bool take(const cf_tool__emit *e, bool has_marks, cf_arena *arena, cf_tool_so_far **out,
                 size_t *n)
{
    cf_tool_so_far *v = cf_arena_calloc(arena, e->n_calls + 1, sizeof *v);
    if (v == NULL) {
        return false;
    }
    *n = 0;
    for (size_t i = 0; i < e->n_calls; i++) {
        const cf_tool__raw_call *c = &e->calls[i];
        const bool is_last = i + 1 == e->n_calls;
        /* Between tags half a name looks like a call without arguments. */
        const bool has_begun = c->has_args && c->name_off <= c->args_off &&
                               (!has_marks || c->arguments.n > strlen("{}"));
        if (c->name.n > 0 && (!is_last || has_begun)) {
            v[(*n)++] = (cf_tool_so_far){.name = c->name,
                                         .id = c->id,
                                         .arguments = is_last ? stable(c->arguments, has_marks)
                                                              : c->arguments};
        }
    }
    *out = v;
    return true;
}

/* One reading of the block; *n is 0 where it says nothing. */
static cf_status read_closed(const cf_tool__block *block, cf_str raw, bool ends_value,
                             const cf_tool_set *tools, cf_arena *arena, cf_tool_so_far **out,
                             size_t *n, cf_error *err)
{
    const bool is_tags = block->rule->lexer == CF_LEX_TAGS;
    const bool has_marks = is_tags || block->rule->lexer == CF_LEX_FC;
    cf_buf text = CF_BUF_INIT;
    cf_buf_add(&text, raw.p, raw.n);
    cf_status st = cf_buf_check(&text, err);
    if (st == CF_OK && close_body(&text, block, block->body_off, ends_value) && !text.failed) {
        cf_tool__emit e;
        cf_tool__emit_init(&e, text.p, block->body_off, text.n, arena);
        const bool is_read = cf_tool__parse_body(&e, block, is_tags, tools) &&
                             (!is_tags || !ends_value || ends_in_text(&e, block, tools));
        if (e.oom || (is_read && !take(&e, has_marks, arena, out, n))) {
            st = cf_oom(err);
        }
        cf_tool__emit_deinit(&e);
    }
    st = st == CF_OK ? cf_buf_check(&text, err) : st;
    cf_buf_deinit(&text);
    return st;
}

cf_status cf_tool__so_far(const cf_tool__block *block, cf_str raw, const cf_tool_set *tools,
                          cf_arena *arena, cf_tool_so_far **out, size_t *n, cf_error *err)
{
    *n = 0;
    if (block->is_bad || block->in_header || !block->is_sure || block->body_off > raw.n) {
        return CF_OK;
    }
    CF_TRY(read_closed(block, raw, true, tools, arena, out, n, err));
    return *n == 0 && block->rule->lexer == CF_LEX_TAGS
               ? read_closed(block, raw, false, tools, arena, out, n, err)
               : CF_OK;
}
