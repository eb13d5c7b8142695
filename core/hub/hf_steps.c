/*
 * hf_steps.c - reads normalisers and pre-tokenisers.
 *
 * A row of each table is a type of the file and the function that turns it
 * into steps; some types are several steps.
 * Source: tokenizers, src/normalizers/ and src/pre_tokenizers/.
 */
#include "core/hub/hf_steps.h"

#include <stdio.h>
#include <string.h>

#include "core/base/base64.h"
#include "core/base/utf8.h"

/* ---- shared -------------------------------------------------------------- */

cf_str cf_hf__type(const json_t *o)
{
    return cf_json_get_str(o, "type");
}

static cf_status not_supported(const char *what, const json_t *o, cf_error *err)
{
    cf_str type = cf_hf__type(o);
    return cf_fail(err, CF_EUNSUPPORTED, "the %s '%.*s' is not supported", what,
                   type.n > 60 ? 60 : (int)type.n, type.p != NULL ? type.p : "");
}

cf_status cf_hf__text(cf_pipeline *p, const json_t *o, const char *key, cf_str *out, cf_error *err)
{
    cf_str s = cf_json_get_str(o, key);
    char *copy = cf_arena_strndup(&p->arena, s.p != NULL ? s.p : "", s.n);
    if (copy == NULL) {
        return cf_oom(err);
    }
    *out = cf_str_make(copy, s.n);
    return CF_OK;
}

cf_status cf_hf__pattern(cf_pipeline *p, const json_t *o, cf_pattern *out, cf_error *err)
{
    cf_str regex = cf_json_get_str(o, "Regex");
    if (regex.p != NULL) {
        return cf_pattern_init_foreign(out, regex, err);
    }
    if (!json_is_string(json_object_get(o, "String"))) {
        return cf_fail(err, CF_EFORMAT, "a pattern is neither \"String\" nor \"Regex\"");
    }
    cf_str text;
    CF_TRY(cf_hf__text(p, o, "String", &text, err));
    cf_pattern_init_literal(out, text);
    return CF_OK;
}

bool cf_hf__flag(const json_t *o, const char *key, bool otherwise)
{
    const json_t *v = json_object_get(o, key);
    return json_is_boolean(v) ? json_is_true(v) : otherwise;
}

/* Reads `v` by the table's row of its type; "Sequence" and its members. */
static cf_status read_nested(cf_hf_reading *r, const json_t *v, const cf_hf_row *rows, size_t n,
                             const char *what, const char *members, unsigned depth)
{
    if (v == NULL || json_is_null(v)) {
        return CF_OK;
    }
    cf_str type = cf_hf__type(v);
    if (depth > CF_HF_NEST_MAX) {
        return cf_fail(r->err, CF_ELIMIT, "%ss are nested too deeply", what);
    }
    if (cf_str_is(type, "Sequence")) {
        const json_t *list = json_object_get(v, members);
        for (size_t i = 0; i < json_array_size(list); i++) {
            CF_TRY(read_nested(r, json_array_get(list, i), rows, n, what, members, depth + 1));
        }
        return CF_OK;
    }
    for (size_t i = 0; i < n; i++) {
        if (cf_str_is(type, rows[i].type)) {
            return rows[i].read(r, v);
        }
    }
    return not_supported(what, v, r->err);
}

cf_status cf_hf__read(cf_pipeline *p, const json_t *v, const cf_hf_row *rows, size_t n,
                      const char *what, const char *members, cf_error *err)
{
    cf_hf_reading r = {p, err};
    return read_nested(&r, v, rows, n, what, members, 0);
}

/* ---- normalisers --------------------------------------------------------- */

static cf_status add_norm(cf_hf_reading *r, cf_norm_kind kind, cf_norm_step **out)
{
    if (r->p->n_norm == CF_PIPE_STEPS_MAX) {
        return cf_fail(r->err, CF_ELIMIT, "more than %d normalizers", CF_PIPE_STEPS_MAX);
    }
    cf_norm_step *step = &r->p->norm[r->p->n_norm++];
    step->kind = kind;
    if (out != NULL) {
        *out = step;
    }
    return CF_OK;
}

static cf_status norm_plain(cf_hf_reading *r, const json_t *o)
{
    static const struct {
        const char *type;
        cf_norm_kind kind;
    } kinds[] = {
        {"NFC", CF_NORM_NFC},
        {"NFD", CF_NORM_NFD},
        {"NFKC", CF_NORM_NFKC},
        {"NFKD", CF_NORM_NFKD},
        {"Lowercase", CF_NORM_LOWERCASE},
        {"StripAccents", CF_NORM_STRIP_ACCENTS},
        {"Nmt", CF_NORM_NMT},
        {"ByteLevel", CF_NORM_BYTE_LEVEL},
    };
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (cf_str_is(cf_hf__type(o), kinds[i].type)) {
            return add_norm(r, kinds[i].kind, NULL);
        }
    }
    return not_supported("normalizer", o, r->err);
}

static cf_status norm_strip(cf_hf_reading *r, const json_t *o)
{
    cf_norm_step *step = NULL;
    CF_TRY(add_norm(r, CF_NORM_STRIP, &step));
    step->left = cf_hf__flag(o, "strip_left", true);
    step->right = cf_hf__flag(o, "strip_right", true);
    return CF_OK;
}

static cf_status norm_replace(cf_hf_reading *r, const json_t *o)
{
    cf_norm_step *step = NULL;
    CF_TRY(add_norm(r, CF_NORM_REPLACE, &step));
    CF_TRY(cf_hf__text(r->p, o, "content", &step->text, r->err));
    return cf_hf__pattern(r->p, json_object_get(o, "pattern"), &step->pattern, r->err);
}

static cf_status norm_prepend(cf_hf_reading *r, const json_t *o)
{
    cf_norm_step *step = NULL;
    CF_TRY(add_norm(r, CF_NORM_PREPEND, &step));
    return cf_hf__text(r->p, o, "prepend", &step->text, r->err);
}

static cf_status norm_bert(cf_hf_reading *r, const json_t *o)
{
    bool lower = cf_hf__flag(o, "lowercase", true);
    if (cf_hf__flag(o, "clean_text", true)) {
        CF_TRY(add_norm(r, CF_NORM_CLEAN_TEXT, NULL));
    }
    if (cf_hf__flag(o, "handle_chinese_chars", true)) {
        CF_TRY(add_norm(r, CF_NORM_SPACE_CJK, NULL));
    }
    if (cf_hf__flag(o, "strip_accents", lower)) {
        CF_TRY(add_norm(r, CF_NORM_NFD, NULL));
        CF_TRY(add_norm(r, CF_NORM_DROP_NONSPACING, NULL));
    }
    return lower ? add_norm(r, CF_NORM_LOWERCASE, NULL) : CF_OK;
}

static cf_status norm_charsmap(cf_hf_reading *r, const json_t *o)
{
    cf_norm_step *step = NULL;
    cf_str text = cf_json_get_str(o, "precompiled_charsmap");
    CF_TRY(add_norm(r, CF_NORM_CHARSMAP, &step));
    cf_buf bytes = CF_BUF_INIT;
    cf_status st = cf_base64_get(&bytes, text)
                       ? cf_buf_check(&bytes, r->err)
                       : cf_fail(r->err, CF_EFORMAT, "precompiled_charsmap is not in base64");
    CF_THEN(st, cf_pipeline_charsmap(r->p, cf_buf_str(&bytes), &step->map, r->err));
    cf_buf_deinit(&bytes);
    return st;
}

cf_status cf_hf_steps_norm(cf_pipeline *p, const json_t *v, cf_error *err)
{
    static const cf_hf_row rows[] = {
        {"NFC", norm_plain},
        {"NFD", norm_plain},
        {"NFKC", norm_plain},
        {"NFKD", norm_plain},
        {"Lowercase", norm_plain},
        {"StripAccents", norm_plain},
        {"Nmt", norm_plain},
        {"ByteLevel", norm_plain},
        {"Strip", norm_strip},
        {"Replace", norm_replace},
        {"Prepend", norm_prepend},
        {"BertNormalizer", norm_bert},
        {"Precompiled", norm_charsmap},
    };
    return cf_hf__read(p, v, rows, sizeof rows / sizeof rows[0], "normalizer", "normalizers", err);
}

/* ---- pre-tokenisers ------------------------------------------------------ */

static cf_status add_split(cf_hf_reading *r, cf_split_kind kind, cf_split_behavior behavior,
                           cf_split_step **out)
{
    if (r->p->n_split == CF_SPLIT_STEPS_MAX) {
        return cf_fail(r->err, CF_ELIMIT, "more than %d pre-tokenizers", CF_SPLIT_STEPS_MAX);
    }
    cf_split_step *step = &r->p->split[r->p->n_split++];
    step->kind = kind;
    step->behavior = behavior;
    if (out != NULL) {
        *out = step;
    }
    return CF_OK;
}

static cf_status read_behavior(const cf_hf_reading *r, const json_t *o, cf_split_behavior otherwise,
                               cf_split_behavior *out)
{
    static const char *const names[] = {"Removed", "Isolated", "MergedWithPrevious",
                                        "MergedWithNext", "Contiguous"};
    cf_str name = cf_json_get_str(o, "behavior");
    *out = otherwise;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (cf_str_is(name, names[i])) {
            *out = (cf_split_behavior)i;
            return CF_OK;
        }
    }
    return name.p == NULL ? CF_OK
                          : cf_fail(r->err, CF_EUNSUPPORTED, "the behavior '%.*s' is not supported",
                                    name.n > 60 ? 60 : (int)name.n, name.p);
}

/* GPT-2's pattern, which "ByteLevel" brings along. */
#define GPT2                                       \
    "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+|" \
    " ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+"

static cf_status split_byte_level(cf_hf_reading *r, const json_t *o)
{
    cf_split_step *step = NULL;
    if (cf_hf__flag(o, "add_prefix_space", true)) {
        CF_TRY(add_split(r, CF_SPLIT_PREFIX_SPACE, CF_SPLIT_ISOLATED, NULL));
    }
    if (cf_hf__flag(o, "use_regex", true)) {
        CF_TRY(add_split(r, CF_SPLIT_PATTERN, CF_SPLIT_ISOLATED, &step));
        CF_TRY(cf_pattern_init_foreign(&step->pattern, cf_str_from(GPT2), r->err));
    }
    return add_split(r, CF_SPLIT_LETTERS, CF_SPLIT_ISOLATED, NULL);
}

cf_prepend cf_hf__prepend(const json_t *o)
{
    cf_str scheme = cf_json_get_str(o, "prepend_scheme");
    if (scheme.p == NULL) {
        return cf_hf__flag(o, "add_prefix_space", true) ? CF_PREPEND_ALWAYS : CF_PREPEND_NEVER;
    }
    return cf_str_is(scheme, "never")   ? CF_PREPEND_NEVER
           : cf_str_is(scheme, "first") ? CF_PREPEND_FIRST
                                        : CF_PREPEND_ALWAYS;
}

static cf_status split_metaspace(cf_hf_reading *r, const json_t *o)
{
    cf_split_step *step = NULL;
    CF_TRY(add_split(r, CF_SPLIT_METASPACE, CF_SPLIT_WITH_NEXT, &step));
    CF_TRY(cf_hf__text(r->p, o, "replacement", &step->text, r->err));
    if (step->text.n == 0) {
        step->text = cf_str_from("\xE2\x96\x81");
    }
    step->prepend = cf_hf__prepend(o);
    step->keep_whole = !cf_hf__flag(o, "split", true);
    return CF_OK;
}

static cf_status split_pattern(cf_hf_reading *r, const json_t *o)
{
    cf_split_step *step = NULL;
    CF_TRY(add_split(r, CF_SPLIT_PATTERN, CF_SPLIT_ISOLATED, &step));
    step->invert = cf_hf__flag(o, "invert", false);
    CF_TRY(read_behavior(r, o, CF_SPLIT_ISOLATED, &step->behavior));
    return cf_hf__pattern(r->p, json_object_get(o, "pattern"), &step->pattern, r->err);
}

static cf_status split_punctuation(cf_hf_reading *r, const json_t *o)
{
    cf_split_behavior behavior;
    CF_TRY(read_behavior(r, o, CF_SPLIT_ISOLATED, &behavior));
    return add_split(r, CF_SPLIT_PUNCT, behavior, NULL);
}

static cf_status split_digits(cf_hf_reading *r, const json_t *o)
{
    return add_split(
        r, CF_SPLIT_NUMERIC,
        cf_hf__flag(o, "individual_digits", false) ? CF_SPLIT_ISOLATED : CF_SPLIT_CONTIGUOUS, NULL);
}

static cf_status split_bert(cf_hf_reading *r, const json_t *o)
{
    (void)o;
    CF_TRY(add_split(r, CF_SPLIT_WHITE, CF_SPLIT_REMOVED, NULL));
    return add_split(r, CF_SPLIT_PUNCT, CF_SPLIT_ISOLATED, NULL);
}

static cf_status split_white(cf_hf_reading *r, const json_t *o)
{
    (void)o;
    return add_split(r, CF_SPLIT_WHITE, CF_SPLIT_REMOVED, NULL);
}

static cf_status split_words(cf_hf_reading *r, const json_t *o)
{
    (void)o;
    return add_split(r, CF_SPLIT_WORDS, CF_SPLIT_ISOLATED, NULL);
}

static cf_status split_delimiter(cf_hf_reading *r, const json_t *o)
{
    cf_split_step *step = NULL;
    cf_str s = cf_json_get_str(o, "delimiter");
    if (s.n == 0) {
        return cf_fail(r->err, CF_EFORMAT, "CharDelimiterSplit has no delimiter");
    }
    CF_TRY(add_split(r, CF_SPLIT_CHAR, CF_SPLIT_REMOVED, &step));
    cf_utf8_decode(&step->cp, s.p, s.n);
    return CF_OK;
}

/* Pieces of a fixed number of characters; the last one may be shorter. */
static cf_status split_length(cf_hf_reading *r, const json_t *o)
{
    enum { LENGTH = 5, LENGTH_MAX = 60000 };
    const json_t *given = json_object_get(o, "length");
    long long n = given != NULL ? json_integer_value(given) : LENGTH;
    char pattern[40];
    cf_split_step *step = NULL;
    if (n < 1 || n > LENGTH_MAX) {
        return cf_fail(r->err, CF_EFORMAT, "the length of FixedLength is not 1 to %d",
                       (int)LENGTH_MAX);
    }
    snprintf(pattern, sizeof pattern, "[\\s\\S]{1,%lld}", n);
    CF_TRY(add_split(r, CF_SPLIT_PATTERN, CF_SPLIT_ISOLATED, &step));
    return cf_pattern_init_foreign(&step->pattern, cf_str_from(pattern), r->err);
}

/* The pattern matches the runs to keep; everything else is dropped. */
static cf_status split_scripts(cf_hf_reading *r, const json_t *o)
{
    (void)o;
    cf_split_step *step = NULL;
    CF_TRY(add_split(r, CF_SPLIT_PATTERN, CF_SPLIT_REMOVED, &step));
    step->invert = true;
    return cf_split__scripts(&step->pattern, r->err);
}

cf_status cf_hf_steps_split(cf_pipeline *p, const json_t *v, cf_error *err)
{
    static const cf_hf_row rows[] = {
        {"ByteLevel", split_byte_level},
        {"Metaspace", split_metaspace},
        {"Split", split_pattern},
        {"Punctuation", split_punctuation},
        {"Digits", split_digits},
        {"BertPreTokenizer", split_bert},
        {"Whitespace", split_words},
        {"WhitespaceSplit", split_white},
        {"CharDelimiterSplit", split_delimiter},
        {"UnicodeScripts", split_scripts},
        {"FixedLength", split_length},
    };
    return cf_hf__read(p, v, rows, sizeof rows / sizeof rows[0], "pre-tokenizer", "pretokenizers",
                       err);
}
