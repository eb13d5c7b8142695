/*
 * promptfoo_prompts.c - prompts as wordings: texts, files of texts, lists of
 * messages.
 */
#include <string.h>

#include "core/base/os.h"
#include "tui/study/import/promptfoo_impl.h"

enum { NAME_BYTES = 60 };

/* ---- prompts ------------------------------------------------------------ */

/* Whether a value is a list of messages. */
static bool are_messages(const json_t *v)
{
    for (size_t i = 0; i < json_array_size(v); i++) {
        if (cf_json_get_str(json_array_get(v, i), "role").n == 0) {
            return false;
        }
    }
    return json_array_size(v) > 0;
}

json_t *cf_promptfoo__messages_in(cf_str text)
{
    cf_error ignored;
    json_t *v = NULL;
    size_t at = 0;
    while (at < text.n && strchr(" \t\r\n", text.p[at]) != NULL) {
        at++;
    }
    if (at == text.n || text.p[at] != '[' ||
        cf_json_read(&v, text.p + at, text.n - at, &ignored) != CF_OK) {
        return NULL;
    }
    if (!are_messages(v)) {
        json_decref(v);
        return NULL;
    }
    return v;
}

cf_status cf_promptfoo__name(cf_promptfoo *f, cf_str text, cf_str *out, cf_error *err)
{
    cf_buf b = CF_BUF_INIT;
    size_t n = text.n < NAME_BYTES ? text.n : NAME_BYTES;
    while (n < text.n && n > 0 && ((unsigned char)text.p[n] & 0xC0) == 0x80) {
        n--;
    }
    for (size_t i = 0; i < n; i++) {
        bool is_blank = (unsigned char)text.p[i] <= ' ';
        if (!is_blank) {
            cf_buf_addc(&b, text.p[i]);
        } else if (b.n > 0 && b.p[b.n - 1] != ' ') {
            cf_buf_addc(&b, ' ');
        }
    }
    cf_buf_adds(&b, n < text.n ? "..." : "");
    cf_status st = cf_buf_check(&b, err);
    CF_THEN(st, cf_plan__copy(f->r, out, cf_buf_str(&b), err));
    cf_buf_deinit(&b);
    return st;
}

/* Takes over the reference. */
static cf_status add_wording(cf_promptfoo *f, cf_str name, json_t *wording, const json_t *at,
                             cf_error *err)
{
    cf_sweep_plan *p = f->r->p;
    if (p->n_wording == CF_SWEEP_VALUES_MAX) {
        json_decref(wording);
        return cf_promptfoo__fail(f, at, CF_ELIMIT, err, "more than %d prompts",
                                  CF_SWEEP_VALUES_MAX);
    }
    if (json_array_append_new(f->wording, wording) != 0) {
        return cf_promptfoo__fail(f, at, CF_EFORMAT, err, "a prompt that is not UTF-8");
    }
    return cf_promptfoo__name(f, name, &p->wording[p->n_wording++], err);
}

static cf_status add_text(cf_promptfoo *f, cf_str label, cf_str text, const json_t *at,
                          cf_error *err)
{
    json_t *messages = cf_promptfoo__messages_in(text);
    return add_wording(f, label.n > 0 ? label : text,
                       messages != NULL ? messages : json_stringn(text.p, text.n), at, err);
}

/* The prompts of a text file, which lines of --- set apart. */
static cf_status add_parts(cf_promptfoo *f, cf_str label, cf_str text, const json_t *at,
                           cf_error *err)
{
    size_t first = 0, n_parts = 0;
    for (size_t i = 0; i <= text.n;) {
        const char *end = i < text.n ? memchr(text.p + i, '\n', text.n - i) : NULL;
        size_t stop = end != NULL ? (size_t)(end - text.p) : text.n;
        cf_str line = cf_str_make(text.p + i, stop - i);
        bool is_last = stop == text.n;
        if (cf_str_is(line, "---") || cf_str_is(line, "---\r") || is_last) {
            size_t to = is_last && !cf_str_is(line, "---") ? text.n : i;
            while (to > first && strchr(" \t\r\n", text.p[to - 1]) != NULL) {
                to--;
            }
            while (first < to && strchr(" \t\r\n", text.p[first]) != NULL) {
                first++;
            }
            if (to > first) {
                cf_str part = cf_str_make(text.p + first, to - first);
                CF_TRY(add_text(f, n_parts == 0 && is_last ? label : part, part, at, err));
                n_parts++;
            }
            first = stop + 1;
        }
        i = stop + 1;
    }
    return n_parts > 0 ? CF_OK
                       : cf_promptfoo__fail(f, at, CF_EINVAL, err, "the file of prompts is empty");
}

static cf_status add_file(cf_promptfoo *f, cf_str label, const char *path, const json_t *at,
                          cf_error *err)
{
    static const char *const texts[] = {".txt", ".md", ".j2", ".jinja", NULL};
    cf_buf text = CF_BUF_INIT;
    cf_error why = {0};
    size_t kind = 0;
    if (path == NULL) {
        return cf_oom_for(err, "the plan");
    }
    if (cf_promptfoo__ends(path, ".json") || cf_promptfoo__ends(path, ".yaml") ||
        cf_promptfoo__ends(path, ".yml")) {
        json_t *v = NULL;
        cf_status st = cf_promptfoo__load(&v, path, &why);
        if (st == CF_OK && !are_messages(v)) {
            json_decref(v);
            st = cf_fail(&why, CF_EFORMAT, "%.120s: expected a list of messages", path);
        }
        return st == CF_OK ? add_wording(f, label, v, at, err)
                           : cf_promptfoo__fail(f, at, st, err, "%s", why.text);
    }
    while (texts[kind] != NULL && !cf_promptfoo__ends(path, texts[kind])) {
        kind++;
    }
    if (texts[kind] == NULL) {
        return cf_promptfoo__fail(f, at, CF_EUNSUPPORTED, err,
                                  "prompts are read from .txt, .md, .j2, .json "
                                  "and .yaml files, not from %.100s",
                                  path);
    }
    cf_status st = cf_os_read_file(&text, path, CF_PLAN__FILE_MAX, &why);
    if (st != CF_OK) {
        st = cf_promptfoo__fail(f, at, st, err, "%s", why.text);
    } else if (kind == 0) {
        st = add_parts(f, label, cf_buf_str(&text), at, err);
    } else {
        st = add_text(f, label, cf_buf_str(&text), at, err);
    }
    cf_buf_deinit(&text);
    return st;
}

/* Whether a prompt that is not "file://..." is a file all the same, as
 * promptfoo guesses: one line that ends like one of its files. */
static bool looks_like_file(cf_str s)
{
    static const char *const ends[] = {".txt", ".json", ".yaml", ".yml", ".md",
                                       ".j2",  ".csv",  ".js",   ".py",  NULL};
    char tail[8];
    if (s.n < 4 || s.n > 1000 || memchr(s.p, '\n', s.n) != NULL || memchr(s.p, ' ', s.n) != NULL) {
        return false;
    }
    size_t n = s.n < sizeof tail - 1 ? s.n : sizeof tail - 1;
    memcpy(tail, s.p + s.n - n, n);
    tail[n] = '\0';
    for (size_t i = 0; ends[i] != NULL; i++) {
        if (cf_promptfoo__ends(tail, ends[i])) {
            return true;
        }
    }
    return false;
}

static cf_status read_prompt(cf_promptfoo *f, const json_t *v, cf_error *err)
{
    static const char *const known[] = {"id", "raw", "label", NULL};
    cf_str id = cf_json_get_str(v, "id"), raw = cf_json_get_str(v, "raw");
    cf_str label = cf_json_get_str(v, "label");
    cf_str text = json_is_string(v) ? cf_str_make(json_string_value(v), json_string_length(v))
                  : raw.n > 0       ? raw
                                    : id;
    const char *path;
    if (json_is_object(v)) {
        CF_TRY(cf_promptfoo__keys(f, v, known, err));
    }
    if (text.n == 0) {
        return cf_promptfoo__fail(f, v, CF_EINVAL, err,
                                  "a prompt is a text, or a mapping with id or "
                                  "raw");
    }
    if (cf_str_starts(text, cf_str_from("exec:"))) {
        return cf_promptfoo__fail(f, v, CF_EUNSUPPORTED, err,
                                  "prompts by programs (exec:) are not "
                                  "supported");
    }
    if (cf_promptfoo__is_file(f, text, &path)) {
        return add_file(f, label.n > 0 ? label : text, path, v, err);
    }
    if (looks_like_file(text)) {
        return add_file(f, label.n > 0 ? label : text, cf_plan__find_file(f->r, text), v, err);
    }
    return add_text(f, label, text, v, err);
}

cf_status cf_promptfoo__prompts(cf_promptfoo *f, cf_error *err)
{
    const json_t *v = json_object_get(f->root, "prompts");
    if (v == NULL) { /* the test's variable `prompt` is the prompt */
        cf_str prompt = cf_str_from("{{prompt}}");
        return add_text(f, prompt, prompt, f->root, err);
    }
    if (json_is_string(v)) {
        return read_prompt(f, v, err);
    }
    if (!json_is_array(v) || json_array_size(v) == 0) {
        return cf_promptfoo__fail(f, v, CF_EINVAL, err, "prompts: expected a text or a list");
    }
    for (size_t i = 0; i < json_array_size(v); i++) {
        CF_TRY(read_prompt(f, json_array_get(v, i), err));
    }
    return CF_OK;
}
