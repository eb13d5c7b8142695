/*
 * promptfoo_text.c - texts with variables, and the files that texts name.
 */
#include <string.h>

#include "core/base/os.h"
#include "templates/template.h"
#include "tui/study/import/promptfoo_impl.h"

bool cf_promptfoo__ends(const char *name, const char *end)
{
    size_t n = strlen(name), n_end = strlen(end);
    return n >= n_end && strcmp(name + n - n_end, end) == 0;
}

static bool has_tag(cf_str text)
{
    for (size_t i = 0; i + 1 < text.n; i++) {
        if (text.p[i] == '{' && strchr("{%#", text.p[i + 1]) != NULL && text.p[i + 1] != '\0') {
            return true;
        }
    }
    return false;
}

/* The text with Nunjucks' filter `dump` under its name in Jinja. */
static void translate(cf_str text, cf_buf *out)
{
    const cf_str dump = cf_str_from("dump");
    bool is_tag = false, is_filter = false; /* after | and blanks */
    for (size_t i = 0; i < text.n; i++) {
        cf_str left = cf_str_make(text.p + i, text.n - i);
        char c = text.p[i];
        if (cf_str_starts(left, cf_str_from("{{"))) {
            is_tag = true;
        } else if (cf_str_starts(left, cf_str_from("}}"))) {
            is_tag = false;
        }
        if (is_tag && is_filter && cf_str_starts(left, dump)) {
            cf_buf_adds(out, "tojson");
            i += dump.n - 1;
            is_filter = false;
            continue;
        }
        is_filter = c == '|' || (is_filter && c == ' ');
        cf_buf_addc(out, c);
    }
}

cf_status cf_promptfoo__render(cf_str text, const json_t *vars, cf_buf *out, cf_error *err)
{
    /* Nunjucks keeps blanks and line ends around tags. */
    const cf_template_options options = {
        .no_trim_blocks = true, .no_lstrip_blocks = true, .keep_trailing_newline = true};
    const cf_render_options plain = {.no_spans = true};
    cf_template *tpl = NULL;
    cf_context *context;
    cf_render done;
    cf_arena arena;
    if (!has_tag(text)) {
        cf_buf_add(out, text.p, text.n);
        return cf_buf_check(out, err);
    }
    cf_buf source = CF_BUF_INIT;
    cf_arena_init(&arena, 0);
    translate(text, &source);
    cf_status st = cf_buf_check(&source, err);
    CF_THEN(st, cf_template_compile(&tpl, cf_buf_str(&source), &options, NULL, NULL, err));
    CF_THEN(st, cf_context_from_json(&context, vars, &arena, err));
    CF_THEN(st, cf_template_render(tpl, context, &plain, &arena, &done, err));
    if (st == CF_OK) {
        cf_buf_add(out, done.prompt.text.p, done.prompt.text.n);
        st = cf_buf_check(out, err);
    }
    cf_template_free(tpl);
    cf_buf_deinit(&source);
    cf_arena_deinit(&arena);
    return st;
}

static cf_status render_text(json_t **out, const json_t *v, const json_t *vars, cf_error *err)
{
    cf_buf text = CF_BUF_INIT;
    cf_status st = cf_promptfoo__render(cf_str_make(json_string_value(v), json_string_length(v)),
                                        vars, &text, err);
    *out = st == CF_OK ? json_stringn(cf_buf_cstr(&text), text.n) : NULL;
    cf_buf_deinit(&text);
    return st == CF_OK && *out == NULL ? cf_oom_for(err, "the prompts") : st;
}

cf_status cf_promptfoo__render_all(json_t **out, const json_t *v, const json_t *vars, cf_error *err)
{
    const char *key;
    json_t *item;
    cf_status st = CF_OK;
    bool failed = false;
    if (json_is_string(v)) {
        return render_text(out, v, vars, err);
    }
    if (!json_is_array(v) && !json_is_object(v)) {
        *out = json_incref(cf_json_ref(v));
        return CF_OK;
    }
    json_t *made = json_is_array(v) ? json_array() : json_object();
    for (size_t i = 0; st == CF_OK && i < json_array_size(v); i++) {
        st = cf_promptfoo__render_all(&item, json_array_get(v, i), vars, err);
        failed = failed || (st == CF_OK && json_array_append_new(made, item) != 0);
    }
    json_object_foreach(cf_json_ref(v), key, item)
    {
        json_t *done = NULL;
        st = st == CF_OK ? cf_promptfoo__render_all(&done, item, vars, err) : st;
        failed = failed || (st == CF_OK && json_object_set_new(made, key, done) != 0);
    }
    st = st == CF_OK && (failed || made == NULL) ? cf_oom_for(err, "the prompts") : st;
    if (st != CF_OK) {
        json_decref(made);
        return st;
    }
    *out = made;
    return CF_OK;
}

bool cf_promptfoo__text_of(const json_t *v, cf_buf *out)
{
    if (json_is_string(v)) {
        cf_buf_add(out, json_string_value(v), json_string_length(v));
    } else if (json_is_number(v) || json_is_boolean(v)) {
        cf_json_write(out, v);
    } else {
        return false;
    }
    return true;
}

bool cf_promptfoo__is_file(const cf_promptfoo *f, cf_str text, const char **path)
{
    cf_str prefix = cf_str_from("file://");
    if (!cf_str_starts(text, prefix)) {
        return false;
    }
    text = cf_str_make(text.p + prefix.n, text.n - prefix.n);
    if (cf_str_starts(text, cf_str_from("./"))) {
        text = cf_str_make(text.p + 2, text.n - 2);
    }
    *path = cf_plan__find_file(f->r, text);
    return true;
}

cf_status cf_promptfoo__load(json_t **out, const char *path, cf_error *err)
{
    cf_buf text = CF_BUF_INIT;
    cf_yaml doc;
    if (cf_promptfoo__ends(path, ".json")) {
        return cf_json_read_file(out, path, err);
    }
    if (!cf_promptfoo__ends(path, ".yaml") && !cf_promptfoo__ends(path, ".yml")) {
        return cf_fail(err, CF_EUNSUPPORTED, "%.120s: only JSON and YAML files can be read here",
                       path);
    }
    cf_status st = cf_os_read_file(&text, path, CF_PLAN__FILE_MAX, err);
    if (st == CF_OK) {
        st = cf_yaml_read(&doc, path, cf_buf_str(&text), err);
    }
    if (st == CF_OK) {
        *out = json_incref(doc.root);
        cf_yaml_deinit(&doc);
    }
    cf_buf_deinit(&text);
    return st;
}
