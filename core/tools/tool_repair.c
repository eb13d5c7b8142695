/*
 * tool_repair.c - finds the nearest text that parses for a block that does not.
 *
 * Greedy: at the place where the grammar broke, each small edit (insert a
 * bracket, a quote, a comma; delete a byte; respell or quote a word) is tried
 * and the one that lets the grammar get furthest is taken, up to a bound.
 * The result is only ever offered.
 */
#include <string.h>

#include "core/tools/tool_rules.h"

enum {
    BLOCK_MAX = 32 << 10, /* bytes of a block that is tried */
    ROUNDS_MAX = 12,      /* edits */
    TRY_ARENA_MAX = 4 << 20
};

/* Replaces cut bytes at `off` by `put`. */
typedef struct edit {
    size_t off, cut;
    char put[48];
    size_t n_put;
} edit;

typedef struct repair {
    const cf_tool__block *block;
    const cf_tool_set *tools;
    cf_buf text, trial;
    size_t base; /* raw offset of text[0] */
    cf_arena arena;
    edit best, first;
    size_t best_score;
    size_t error_at; /* of the text scored last */
    unsigned n_edits;
} repair;

/* How far the grammar can read `text`; SIZE_MAX if it accepts all of it. An unterminated
 * string counts as failing at its start. */
static size_t score(repair *r, const cf_buf *text)
{
    cf_tool__block block = *r->block;
    block.body_off -= r->base;
    block.off -= r->base;
    if (block.is_named) {
        block.name_off -= r->base;
        block.id_off -= block.id_len > 0 ? r->base : 0;
    }
    cf_arena_reset(&r->arena);
    cf_tool__emit e;
    cf_tool__emit_init(&e, cf_buf_cstr(text), block.body_off, text->n, &r->arena);
    e.quiet = 1;
    bool ok = cf_tool__parse_body(&e, &block, true, r->tools);
    size_t reached = ok ? SIZE_MAX : e.oom || e.not_calls ? 0 : e.open_off + 1;
    r->error_at = e.err_off;
    cf_tool__emit_deinit(&e);
    return reached;
}

static void apply(cf_buf *to, const cf_buf *from, const edit *e)
{
    cf_buf_reset(to);
    cf_buf_add(to, from->p, e->off);
    cf_buf_add(to, e->put, e->n_put);
    cf_buf_add(to, from->p + e->off + e->cut, from->n - e->off - e->cut);
}

static void try_edit(repair *r, size_t off, size_t cut, const char *put, size_t n_put)
{
    edit e = {.off = off, .cut = cut, .n_put = n_put};
    if (n_put > sizeof e.put || off + cut > r->text.n || r->best_score == SIZE_MAX) {
        return;
    }
    memcpy(e.put, put, n_put);
    apply(&r->trial, &r->text, &e);
    if (r->trial.failed) {
        return;
    }
    size_t s = score(r, &r->trial);
    /* Inserted bytes do not count as progress. */
    if (s != SIZE_MAX && s > off) {
        s = s > n_put ? s - n_put + cut : 0;
    }
    if (s > r->best_score) {
        r->best_score = s;
        r->best = e;
    }
}

static void try_insert(repair *r, size_t at, const char *put)
{
    try_edit(r, at, 0, put, strlen(put));
}

/* A word in another language's spelling, or without quotes. */
static void try_word(repair *r, size_t at)
{
    static const char *const words[][2] = {
        {"True", "true"},   {"False", "false"}, {"None", "null"}, {"true", "True"},
        {"false", "False"}, {"null", "None"},   {"NaN", "null"},  {"nan", "None"},
    };
    const char *p = r->text.p;
    size_t n = 0;
    while (at + n < r->text.n &&
           (cf_tool__is_name(p[at + n]) || p[at + n] == '-' || p[at + n] == '.')) {
        n++;
    }
    for (size_t i = 0; n > 0 && i < sizeof words / sizeof words[0]; i++) {
        if (strlen(words[i][0]) == n && memcmp(p + at, words[i][0], n) == 0) {
            try_edit(r, at, n, words[i][1], strlen(words[i][1]));
        }
    }
    const char *quote = r->block->rule->lexer == CF_LEX_FC ? "<|\"|>" : "\"";
    char put[48];
    size_t q = strlen(quote);
    if (n > 0 && n + 2 * q <= sizeof put) {
        memcpy(put, quote, q);
        memcpy(put + q, p + at, n);
        memcpy(put + q + n, quote, q);
        try_edit(r, at, n, put, n + 2 * q);
    }
}

/* '...' or, for FC, "...": the quotes become what the grammar has. */
static void try_quotes(repair *r, size_t at)
{
    const char *p = r->text.p;
    bool is_fc = r->block->rule->lexer == CF_LEX_FC;
    const char *quote = is_fc ? "<|\"|>" : "\"";
    if (at >= r->text.n || (p[at] != '\'' && !(is_fc && p[at] == '"'))) {
        return;
    }
    const char *close = memchr(p + at + 1, p[at], r->text.n - at - 1);
    size_t n = close != NULL ? (size_t)(close - p) - at - 1 : 0;
    size_t q = strlen(quote);
    char put[48];
    if (close != NULL && n + 2 * q <= sizeof put) {
        memcpy(put, quote, q);
        memcpy(put + q, p + at + 1, n);
        memcpy(put + q + n, quote, q);
        try_edit(r, at, n + 2, put, n + 2 * q);
    }
}

/* For a string that swallowed the rest: puts its quote before the last brackets. */
static void try_close_string(repair *r, size_t at)
{
    size_t to = at;
    while (to > 0 &&
           (strchr("]})", r->text.p[to - 1]) != NULL || cf_tool__is_space(r->text.p[to - 1]))) {
        to--;
    }
    if (to < at && r->block->rule->lexer != CF_LEX_FC) {
        try_insert(r, to, "\"");
        try_insert(r, to, "'");
    }
}

static void try_all(repair *r, size_t at)
{
    static const char *const json[] = {"\"", "}", "]", ",", ":", "{", NULL};
    static const char *const python[] = {"\"", ")", "]", "}", "'", ",", NULL};
    static const char *const fc[] = {"<|\"|>", "<escape>", "}", "]", ",", ":", NULL};
    static const char *const *const sets[] = {[CF_LEX_JSON] = json,
                                              [CF_LEX_PYTHON] = python,
                                              [CF_LEX_PYTHON_LINES] = python,
                                              [CF_LEX_FC] = fc,
                                              [CF_LEX_TAGS] = json};
    const char *const *set = sets[r->block->rule->lexer];
    size_t prev = at;
    while (prev > r->block->body_off - r->base && cf_tool__is_space(r->text.p[prev - 1])) {
        prev--;
    }
    if (prev > 0 && r->text.p[prev - 1] == ',') {
        try_edit(r, prev - 1, 1, "", 0);
    }
    try_word(r, at);
    try_quotes(r, at);
    try_close_string(r, at);
    if (at < r->text.n && r->block->rule->lexer == CF_LEX_JSON) {
        char c = r->text.p[at];
        const char *put = c == '\n' ? "\\n" : c == '\t' ? "\\t" : "\\r";
        if (c == '\n' || c == '\t' || c == '\r') {
            try_edit(r, at, 1, put, 2);
        }
    }
    for (; *set != NULL; set++) {
        try_insert(r, at, *set);
        if (prev != at) {
            try_insert(r, prev, *set);
        }
    }
    if (at < r->text.n) {
        try_edit(r, at, 1, "", 0);
    }
}

static void describe(const repair *r, cf_buf *out)
{
    const edit *e = &r->first;
    size_t off = e->off + r->base;
    if (e->cut == 0) {
        cf_buf_addf(out, "insert %.*s at byte %zu", (int)e->n_put, e->put, off);
    } else if (e->n_put == 0) {
        cf_buf_addf(out, "delete %zu byte%s at byte %zu", e->cut, e->cut == 1 ? "" : "s", off);
    } else {
        cf_buf_addf(out, "write %.*s for %zu byte%s at byte %zu", (int)e->n_put, e->put, e->cut,
                    e->cut == 1 ? "" : "s", off);
    }
    if (r->n_edits > 1) {
        cf_buf_addf(out, ", and %u more edit%s", r->n_edits - 1, r->n_edits == 2 ? "" : "s");
    }
}

static bool run(repair *r)
{
    size_t reached = score(r, &r->text);
    while (reached != SIZE_MAX) {
        if (reached == 0 || r->n_edits == ROUNDS_MAX) {
            return false;
        }
        r->best_score = reached;
        r->best.n_put = r->best.cut = 0;
        try_all(r, r->error_at);
        if (r->best_score == reached) {
            return false;
        }
        if (r->n_edits++ == 0) {
            r->first = r->best;
        }
        apply(&r->trial, &r->text, &r->best);
        cf_buf swap = r->text;
        r->text = r->trial;
        r->trial = swap;
        if (r->text.failed) {
            return false;
        }
        reached = r->best_score == SIZE_MAX ? SIZE_MAX : score(r, &r->text);
    }
    return r->n_edits > 0;
}

void cf_tool__repair(cf_str raw, const cf_tool__block *block, size_t body_end, size_t end,
                     const cf_tool_set *tools, cf_arena *arena, cf_str *out, cf_str *how)
{
    *out = *how = cf_str_make(NULL, 0);
    if (end - block->off > BLOCK_MAX) {
        return;
    }
    repair r = {.block = block, .tools = tools, .base = block->off};
    cf_arena_init(&r.arena, TRY_ARENA_MAX);
    cf_buf_add(&r.text, raw.p + block->off, body_end - block->off);
    cf_buf text = CF_BUF_INIT;
    if (!r.text.failed && run(&r)) {
        cf_buf_add(&r.text, raw.p + body_end, end - body_end);
        describe(&r, &text);
        if (!r.text.failed && !text.failed) {
            char *a = cf_arena_strndup(arena, r.text.p, r.text.n);
            char *b = cf_arena_strndup(arena, text.p, text.n);
            if (a != NULL && b != NULL) {
                *out = cf_str_make(a, r.text.n);
                *how = cf_str_make(b, text.n);
            }
        }
    }
    cf_buf_deinit(&text);
    cf_buf_deinit(&r.text);
    cf_buf_deinit(&r.trial);
    cf_arena_deinit(&r.arena);
}
