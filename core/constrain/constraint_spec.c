/*
 * constraint_spec.c - between JSON, words and grammars.
 */
#include "core/api/constraint_spec.h"

#include <string.h>

#include "core/base/os.h"
#include "core/base/utf8.h"

enum { GRAMMAR_MAX = 4 << 20 };

static const char *const kinds[] = {"schema", "regex", "grammar", "choice",
                                    "json",   "tools", "off",     NULL};
static const char *const modes[] = {"calls", "text-and", "text-until"};

const char *cf_constraint_kind(size_t i)
{
    return i < sizeof kinds / sizeof kinds[0] ? kinds[i] : NULL;
}

/* ---- compiling ---------------------------------------------------------- */

static cf_status no_spec(cf_error *err)
{
    return cf_fail(err, CF_EINVAL, "this constraint is not known here");
}

static cf_status from_choices(cf_grammar **out, const json_t *list, cf_error *err)
{
    cf_arena arena;
    size_t n = json_array_size(list);
    cf_arena_init(&arena, 0);
    cf_str *v = cf_arena_calloc(&arena, n + 1, sizeof *v);
    cf_status st = v != NULL ? CF_OK : cf_oom(err);
    for (size_t i = 0; st == CF_OK && i < n; i++) {
        const json_t *text = json_array_get(list, i);
        if (!json_is_string(text)) {
            st = no_spec(err);
        } else {
            v[i] = cf_str_make(json_string_value(text), json_string_length(text));
        }
    }
    CF_THEN(st, cf_grammar_from_choices(out, v, n, NULL, err));
    cf_arena_deinit(&arena);
    return st;
}

static bool find_mode(cf_str name, cf_tool_mode *out)
{
    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
        if (cf_str_is(name, modes[i])) {
            *out = (cf_tool_mode)i;
            return true;
        }
    }
    return false;
}

static cf_status from_tools(cf_grammar **out, const json_t *spec, const cf_tool_set *tools,
                            cf_error *err)
{
    cf_tool_constraint t = {.tools = tools, .otherwise = json_object_get(spec, "schema")};
    if (!find_mode(cf_json_get_str(spec, "tools"), &t.mode) ||
        !cf_tool_family_parse(&t.family, cf_json_get_str(spec, "family"))) {
        return no_spec(err);
    }
    if (tools == NULL) {
        return cf_fail(err, CF_EINVAL, "no tools are declared (--tools FILE)");
    }
    return cf_grammar_from_tools(out, &t, NULL, err);
}

/* An object or an array: what "JSON" means when nothing more is said. */
static cf_status from_json(cf_grammar **out, cf_error *err)
{
    json_t *schema = json_pack("{s:[s,s]}", "type", "object", "array");
    cf_status st = schema != NULL ? cf_grammar_from_schema(out, schema, NULL, err) : cf_oom(err);
    json_decref(schema);
    return st;
}

cf_status cf_constraint_spec_compile(cf_grammar **out, const json_t *spec, const cf_tool_set *tools,
                                     cf_error *err)
{
    const json_t *schema = json_object_get(spec, "schema");
    if (json_is_string(json_object_get(spec, "tools"))) {
        return from_tools(out, spec, tools, err);
    }
    if (schema != NULL) {
        return cf_grammar_from_schema(out, schema, NULL, err);
    }
    if (json_is_string(json_object_get(spec, "regex"))) {
        return cf_grammar_from_regex(out, cf_json_get_str(spec, "regex"), NULL, err);
    }
    if (json_is_string(json_object_get(spec, "grammar"))) {
        return cf_grammar_from_text(out, cf_json_get_str(spec, "grammar"), NULL, err);
    }
    if (json_is_array(json_object_get(spec, "choices"))) {
        return from_choices(out, json_object_get(spec, "choices"), err);
    }
    return json_is_true(json_object_get(spec, "json")) ? from_json(out, err) : no_spec(err);
}

/* ---- words -------------------------------------------------------------- */

static cf_status made(json_t **out, json_t *spec, cf_error *err)
{
    *out = spec;
    return spec != NULL ? CF_OK : cf_oom_for(err, "the constraint");
}

static cf_status need_utf8(const char *p, size_t n, cf_error *err)
{
    return cf_utf8_valid_prefix(p, n) == n ? CF_OK
                                           : cf_fail(err, CF_EINVAL, "the constraint is not UTF-8");
}

cf_status cf_constraint_spec_file(json_t **out, const char *kind, const char *path, cf_error *err)
{
    if (strcmp(kind, "schema") == 0) {
        json_t *schema;
        CF_TRY(cf_json_read_small(&schema, path, CF_JSON_SMALL_MAX, err));
        return made(out, json_pack("{s:o}", "schema", schema), err);
    }
    cf_buf text = CF_BUF_INIT;
    cf_status st = cf_os_read_file(&text, path, GRAMMAR_MAX, err);
    CF_THEN(st, need_utf8(cf_buf_cstr(&text), text.n, err));
    if (st == CF_OK) {
        st = made(out, json_pack("{s:s%}", kind, cf_buf_cstr(&text), text.n), err);
    }
    cf_buf_deinit(&text);
    return st;
}

/* The texts between the bars. */
static cf_status choices(json_t **out, const char *text, cf_error *err)
{
    json_t *list = json_array();
    bool ok = list != NULL;
    for (const char *p = text; ok && p != NULL;) {
        size_t len = strcspn(p, "|");
        ok = json_array_append_new(list, json_stringn(p, len)) == 0;
        p = p[len] != '\0' ? p + len + 1 : NULL;
    }
    if (!ok) {
        json_decref(list);
        return cf_oom_for(err, "the choices");
    }
    return made(out, json_pack("{s:o}", "choices", list), err);
}

static cf_status tools(json_t **out, const char *mode, cf_tool_family family, cf_error *err)
{
    cf_tool_mode found;
    mode = mode[0] != '\0' ? mode : modes[0];
    if (!find_mode(cf_str_from(mode), &found)) {
        return cf_fail(err, CF_EINVAL, "tools: '%.40s' is not calls, text-and or text-until", mode);
    }
    return made(out, json_pack("{s:s,s:s}", "tools", mode, "family", cf_tool_family_name(family)),
                err);
}

cf_status cf_constraint_spec_parse(json_t **out, const char *text, cf_tool_family family,
                                   cf_error *err)
{
    CF_TRY(need_utf8(text, strlen(text), err));
    size_t n = strcspn(text, " ");
    const char *arg = text + n + strspn(text + n, " ");
    cf_str kind = cf_str_make(text, n);
    if (cf_str_is(kind, "json")) {
        return made(out, json_pack("{s:b}", "json", 1), err);
    }
    if (cf_str_is(kind, "tools")) {
        return tools(out, arg, family, err);
    }
    bool is_schema = cf_str_is(kind, "schema");
    bool is_known = is_schema || cf_str_is(kind, "grammar") || cf_str_is(kind, "regex") ||
                    cf_str_is(kind, "choice");
    if (!is_known) {
        return cf_fail(err, CF_EINVAL,
                       "'%.*s' is not schema, regex, grammar, choice, json, "
                       "tools or off",
                       (int)(n < 40 ? n : 40), text);
    }
    if (arg[0] == '\0' || strcmp(arg, "-") == 0) {
        return cf_fail(err, CF_EINVAL, "%.*s needs %s", (int)n, text,
                       is_schema || cf_str_is(kind, "grammar") ? "a file"
                       : cf_str_is(kind, "regex")              ? "a pattern"
                                                               : "texts, as in yes|no");
    }
    if (cf_str_is(kind, "regex")) {
        return made(out, json_pack("{s:s}", "regex", arg), err);
    }
    return cf_str_is(kind, "choice")
               ? choices(out, arg, err)
               : cf_constraint_spec_file(out, is_schema ? "schema" : "grammar", arg, err);
}

void cf_constraint_spec_label(const json_t *spec, cf_buf *out)
{
    const json_t *list = json_object_get(spec, "choices");
    cf_str regex = cf_json_get_str(spec, "regex");
    cf_str mode = cf_json_get_str(spec, "tools");
    if (json_object_get(spec, "schema") != NULL) {
        cf_str title = cf_json_get_str(json_object_get(spec, "schema"), "title");
        cf_buf_adds(out, title.n != 0 ? "schema " : "schema");
        cf_buf_add(out, title.p, title.n);
    } else if (regex.p != NULL) {
        cf_buf_adds(out, "regex ");
        cf_buf_add(out, regex.p, regex.n);
    } else if (mode.p != NULL) {
        cf_str family = cf_json_get_str(spec, "family");
        cf_buf_adds(out, "tools: ");
        cf_buf_add(out, mode.p, mode.n);
        cf_buf_adds(out, ", ");
        cf_buf_add(out, family.p, family.n);
    } else if (list != NULL) {
        cf_buf_addf(out, "choice of %zu", json_array_size(list));
    } else {
        cf_buf_adds(out, json_object_get(spec, "grammar") != NULL ? "grammar" : "json");
    }
}
