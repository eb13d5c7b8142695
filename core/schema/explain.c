/*
 * explain.c - what is wrong with a text under a schema, in words.
 */
#include <string.h>

#include "core/api/constraint.h"
#include "core/schema/validate.h"

enum { DEPTH_MAX = 500, FLAWS_SHOWN = 10 };

/* Completes truncated JSON: ends a string, adds a value after a colon, closes brackets.
 * False if that is not enough. */
static bool close_text(cf_buf *t)
{
    char open[DEPTH_MAX];
    size_t depth = 0;
    bool in_string = false;
    for (size_t i = 0; i < t->n; i++) {
        char c = t->p[i];
        if (in_string) {
            i += c == '\\' ? 1 : 0;
            in_string = c != '"';
        } else if (c == '"') {
            in_string = true;
        } else if (c == '{' || c == '[') {
            if (depth == DEPTH_MAX) {
                return false;
            }
            open[depth++] = c == '{' ? '}' : ']';
        } else if ((c == '}' || c == ']') && depth > 0) {
            depth--;
        }
    }
    if (in_string) {
        cf_buf_addc(t, '"');
    }
    while (t->n > 0 && strchr(" \t\r\n", t->p[t->n - 1]) != NULL) {
        t->n--;
    }
    if (t->n > 0 && t->p[t->n - 1] == ',') {
        t->n--;
    } else if (t->n > 0 && t->p[t->n - 1] == ':') {
        cf_buf_adds(t, "null");
    }
    while (depth > 0) {
        cf_buf_addc(t, open[--depth]);
    }
    return true;
}

typedef struct lines {
    cf_buf *out;
    bool is_whole;
} lines;

static void add_line(void *ud, const cf_flaw *flaw)
{
    lines *l = ud;
    if (flaw->kind == CF_FLAW_MISSING && !l->is_whole) {
        return;
    }
    cf_buf_addc(l->out, '`');
    if (flaw->path.n == 0) {
        cf_buf_addc(l->out, '$');
    }
    cf_buf_add(l->out, flaw->path.p, flaw->path.n);
    cf_buf_adds(l->out, "`: ");
    cf_buf_add(l->out, flaw->text.p, flaw->text.n);
    cf_buf_addc(l->out, '\n');
}

cf_status cf_schema_explain(cf_buf *out, const json_t *schema, const cf_grammar_options *grammar,
                            cf_str text, cf_error *err)
{
    const cf_validate_options opts = {.max_flaws = FLAWS_SHOWN,
                                      .schema_dir = grammar != NULL ? grammar->schema_dir : NULL};
    cf_buf t = CF_BUF_INIT;
    cf_validator *v = NULL;
    json_t *value = NULL;
    lines l = {out, true};
    bool is_valid = true;
    cf_error why;
    cf_buf_add(&t, text.p, text.n);
    cf_status st = cf_json_read(&value, cf_buf_cstr(&t), t.n, &why);
    if (st == CF_EFORMAT && close_text(&t)) {
        l.is_whole = false;
        st = cf_json_read(&value, cf_buf_cstr(&t), t.n, &why);
    }
    CF_THEN(st, cf_validator_new(&v, schema, &opts, &why));
    CF_THEN(st, cf_validator_run(v, value, add_line, &l, &is_valid, &why));
    cf_validator_free(v);
    json_decref(value);
    bool has_failed = t.failed || st == CF_ENOMEM;
    cf_buf_deinit(&t);
    return has_failed ? cf_oom(err) : cf_buf_check(out, err);
}
