/*
 * trail_open.c - which agent wrote a file, and the sessions of a folder.
 */
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "storage/trail/trail_build.h"

/* ---- recognition --------------------------------------------------------- */

static bool has(const json_t *v, const char *key)
{
    return json_object_get(v, key) != NULL;
}

static bool is_claude(const json_t *v)
{
    static const char *const types[] = {
        "queue-operation", "last-prompt", "attachment", "system", "permission-mode", "mode",
        "custom-title",    "ai-title",    "agent-name", "tag",    "pr-link"};
    bool is_typed = has(json_object_get(v, "message"), "content");
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        is_typed = is_typed || trail_is(v, "type", types[i]);
    }
    return (has(v, "sessionId") && is_typed) ||
           (trail_is(v, "type", "summary") && has(v, "leafUuid"));
}

static bool is_codex(const json_t *v)
{
    cf_str type = cf_json_get_str(v, "type");
    if (json_is_object(json_object_get(v, "payload"))) {
        return cf_str_is(type, "session_meta") || cf_str_is(type, "response_item") ||
               cf_str_is(type, "event_msg") || cf_str_is(type, "turn_context") ||
               cf_str_is(type, "token_usage_record");
    }
    return type.n == 0 && has(v, "id") && has(v, "timestamp") && has(v, "instructions");
}

static bool is_qwen(const json_t *v)
{
    return has(v, "uuid") && has(v, "sessionId") &&
           (json_is_array(trail_get(v, "message", "parts", NULL)) || has(v, "systemPayload"));
}

static bool is_gemini(const json_t *v)
{
    return has(v, "$set") || has(v, "$rewindTo") ||
           (has(v, "sessionId") && (has(v, "projectHash") || has(v, "messages")));
}

/* The format of a record or a document; NULL: it says nothing. */
static const char *format_of(const json_t *v)
{
    if (has(v, "resourceSpans")) {
        return "otel";
    }
    if (trail_is(v, "type", "session") && has(v, "id") && (has(v, "cwd") || has(v, "version"))) {
        return "pi";
    }
    if (json_is_object(json_object_get(v, "info")) &&
        json_is_array(json_object_get(v, "messages"))) {
        return "opencode";
    }
    return is_codex(v)    ? "codex"
           : is_gemini(v) ? "gemini"
           : is_qwen(v)   ? "qwen"
           : is_claude(v) ? "claude-code"
                          : NULL;
}

static const char sqlite_magic[] = "SQLite format 3";

/* The first lines decide; a text whose lines say nothing may be one document. */
static cf_status sniff(const char **out, const char *path, cf_str text, cf_error *err)
{
    enum { LINES = 200, LOOK = 4 << 20 };
    trail_lines l = {.p = text.p, .n = text.n};
    cf_status st = CF_OK;
    json_t *v = NULL;
    *out = NULL;
    if (cf_str_begins(text, sqlite_magic)) {
        *out = trail_is_opencode_db(path) ? "opencode" : NULL;
        return CF_OK;
    }
    while (*out == NULL && l.line < LINES && (l.at < LOOK || l.line == 0) &&
           trail_next(&l, NULL, &v, &st, err)) {
        *out = format_of(v);
        json_decref(v);
    }
    if (st == CF_OK && *out == NULL && text.n != 0 && cf_str_trim(text).n != 0 &&
        cf_str_trim(text).p[0] == '{') {
        cf_status got = trail_parse(&v, text, err);
        *out = got == CF_OK ? format_of(v) : NULL;
        st = got == CF_ENOMEM ? got : CF_OK;
        json_decref(got == CF_OK ? v : NULL);
    }
    return st;
}

cf_status trail_open(cf_os_map *map, const char *path, const cf_trail_options *opts, cf_str *text,
                     cf_error *err)
{
    CF_TRY(cf_os_map_open(map, path, err));
    size_t n = map->n;
    if (opts != NULL && opts->max_bytes != 0 && n > opts->max_bytes) {
        n = opts->max_bytes;
        while (n > 0 && map->p[n - 1] != '\n') {
            n--;
        }
    }
    *text = cf_str_make((const char *)map->p, n);
    return CF_OK;
}

const char *cf_trail_sniff(const char *path)
{
    cf_os_map map;
    cf_str text;
    const char *format = NULL;
    if (trail_open(&map, path, &(cf_trail_options){.max_bytes = 4 << 20}, &text, NULL) == CF_OK) {
        cf_ignore(
            sniff(&format, path, text, NULL)); /* a file that cannot be read is of no format */
        cf_os_map_close(&map);
    }
    return format;
}

/* ---- files --------------------------------------------------------------- */

/* A file of a folder.  It is open only while it is looked at or read: a folder
 * may have more files than a process may open. */
typedef struct opened {
    char *path; /* heap */
    const char *format;
    bool is_database;
} opened;

typedef struct folder {
    opened *v; /* [n], heap */
    size_t n, cap;
} folder;

static void free_folder(folder *f)
{
    for (size_t i = 0; i < f->n; i++) {
        cf_free(f->v[i].path);
    }
    cf_free(f->v);
}

/* Adds a file whose format is known; others are passed over. */
static cf_status add_file(folder *f, const char *path, const cf_trail_options *opts, cf_error *err)
{
    opened o = {.path = cf_strdup(path)};
    if (o.path == NULL || !cf_grow(&f->v, &f->cap, f->n + 1, sizeof *f->v)) {
        cf_free(o.path);
        return cf_oom(err);
    }
    cf_os_map map;
    cf_str text;
    cf_status st = trail_open(&map, path, opts, &text, err);
    if (st == CF_OK) {
        st = sniff(&o.format, path, text, err);
        o.is_database = cf_str_begins(text, sqlite_magic);
        cf_os_map_close(&map);
        if (st == CF_OK && o.format != NULL) {
            f->v[f->n++] = o;
            return CF_OK;
        }
    }
    cf_free(o.path);
    return st;
}

static bool is_session_name(cf_str name)
{
    return cf_str_ends(name, ".jsonl") || cf_str_ends(name, ".json") || cf_str_ends(name, ".db");
}

enum { DEPTH = 8, FILES_MAX = 100000 };

static cf_status add_folder(folder *f, const char *path, int depth, const cf_trail_options *opts,
                            cf_error *err)
{
    cf_buf names = CF_BUF_INIT;
    cf_status st = cf_os_list_dir(&names, path, FILES_MAX, err);
    for (size_t at = 0; st == CF_OK && at < names.n; at += strlen(names.p + at) + 1) {
        const char *name = names.p + at;
        cf_buf sub = CF_BUF_INIT;
        cf_buf_addf(&sub, "%s/%s", path, name);
        st = trail_stops(opts) ? cf_fail(err, CF_ECANCELLED, "interrupted")
                               : cf_buf_check(&sub, err);
        if (st != CF_OK || strcmp(name, "subagents") == 0) {
            cf_buf_deinit(&sub);
            continue;
        }
        if (cf_os_is_dir(sub.p)) {
            st = depth < DEPTH ? add_folder(f, sub.p, depth + 1, opts, err) : CF_OK;
        } else if (is_session_name(cf_str_from(name))) {
            cf_status got = add_file(f, sub.p, opts, err);
            st = got == CF_ENOMEM ? got : CF_OK; /* one that cannot be opened is not a session */
        }
        cf_buf_deinit(&sub);
    }
    cf_buf_deinit(&names);
    return st;
}

/* ---- reading ------------------------------------------------------------- */

static cf_status read_alone(cf_trails *out, const opened *o, const cf_trail_options *opts,
                            cf_error *err)
{
    static const struct {
        const char *format;
        trail_read_fn read;
    } readers[] = {{"claude-code", trail_read_claude},
                   {"gemini", trail_read_gemini},
                   {"qwen", trail_read_qwen},
                   {"pi", trail_read_pi},
                   {"otel", trail_read_otel}};
    if (o->is_database) {
        return trail_read_opencode_db(out, o->path, opts, err);
    }
    cf_os_map map;
    cf_str text;
    CF_TRY(trail_open(&map, o->path, opts, &text, err));
    cf_status st = CF_OK;
    for (size_t i = 0; i < sizeof readers / sizeof *readers; i++) {
        if (strcmp(o->format, readers[i].format) == 0) {
            st = readers[i].read(out, o->path, text, opts, err);
        }
    }
    cf_os_map_close(&map);
    return st;
}

static bool is_shared(const opened *o, const char *format)
{
    return strcmp(o->format, format) == 0 && !o->is_database;
}

/* Those of a folder whose sessions may lie in several files. */
static cf_status read_shared(cf_trails *out, const folder *f, const char *format, const char *only,
                             const cf_trail_options *opts, cf_error *err)
{
    size_t n = 0;
    const char **paths = cf_alloc((f->n + 1) * sizeof *paths);
    if (paths == NULL) {
        return cf_oom(err);
    }
    for (size_t i = 0; i < f->n; i++) {
        if (is_shared(&f->v[i], format)) {
            paths[n++] = f->v[i].path;
        }
    }
    cf_status st = CF_OK;
    if (n != 0) {
        st = strcmp(format, "codex") == 0 ? trail_read_codex(out, paths, n, only, opts, err)
                                          : trail_read_opencode(out, paths, n, opts, err);
    }
    cf_free(paths);
    return st;
}

static int by_path(const void *a, const void *b)
{
    const cf_trail *const *x = a, *const *y = b;
    size_t n = (*x)->path.n < (*y)->path.n ? (*x)->path.n : (*y)->path.n;
    int c = memcmp((*x)->path.p, (*y)->path.p, n);
    return c != 0 ? c : (*x)->path.n < (*y)->path.n ? -1 : (*x)->path.n > (*y)->path.n;
}

static cf_status read_folder(cf_trails *out, const char *path, const cf_trail_options *opts,
                             cf_error *err)
{
    folder f = {0};
    cf_status st = add_folder(&f, path, 0, opts, err);
    for (size_t i = 0; st == CF_OK && i < f.n; i++) {
        bool is_joint = is_shared(&f.v[i], "codex") || is_shared(&f.v[i], "opencode");
        st = is_joint ? CF_OK : read_alone(out, &f.v[i], opts, err);
    }
    CF_THEN(st, read_shared(out, &f, "codex", NULL, opts, err));
    CF_THEN(st, read_shared(out, &f, "opencode", NULL, opts, err));
    /* Sessions of one file keep their order: only files are moved. */
    for (size_t i = 1; st == CF_OK && i < out->n; i++) {
        for (size_t k = i; k > 0 && by_path(&out->v[k - 1], &out->v[k]) > 0; k--) {
            cf_trail *t = out->v[k];
            out->v[k] = out->v[k - 1];
            out->v[k - 1] = t;
        }
    }
    free_folder(&f);
    return st;
}

/* A Codex rollout with the ones that it began, which lie beside it. */
static cf_status read_codex_file(cf_trails *out, const opened *own, const cf_trail_options *opts,
                                 cf_error *err)
{
    folder f = {0};
    cf_buf dir = CF_BUF_INIT;
    const char *end = strrchr(own->path, '/');
    cf_buf_add(&dir, own->path, end != NULL ? (size_t)(end - own->path) : 0);
    if (end == NULL) {
        cf_buf_adds(&dir, ".");
    }
    cf_status st = cf_buf_check(&dir, err);
    CF_THEN(st, add_file(&f, own->path, opts, err));
    cf_buf names = CF_BUF_INIT;
    CF_THEN(st, cf_os_list_dir(&names, cf_buf_cstr(&dir), FILES_MAX, err));
    for (size_t at = 0; st == CF_OK && at < names.n; at += strlen(names.p + at) + 1) {
        cf_buf path = CF_BUF_INIT;
        cf_buf_addf(&path, "%s/%s", cf_buf_cstr(&dir), names.p + at);
        if (cf_str_begins(cf_str_from(names.p + at), "rollout-") && !path.failed &&
            strcmp(path.p, own->path) != 0 && !cf_os_is_dir(path.p)) {
            cf_status got = add_file(&f, path.p, NULL, err);
            st = got == CF_ENOMEM ? got : CF_OK; /* another's file that cannot be opened */
        }
        cf_buf_deinit(&path);
    }
    CF_THEN(st, read_shared(out, &f, "codex", own->path, opts, err));
    cf_buf_deinit(&names);
    cf_buf_deinit(&dir);
    free_folder(&f);
    return st;
}

static cf_status read_file(cf_trails *out, const char *path, const cf_trail_options *opts,
                           cf_error *err)
{
    folder f = {0};
    cf_status st = add_file(&f, path, opts, err);
    if (st == CF_OK && f.n == 0) {
        st = cf_fail(err, CF_EFORMAT, "%s: not a session of an agent that is known", path);
    } else if (st == CF_OK && is_shared(&f.v[0], "codex")) {
        st = read_codex_file(out, &f.v[0], opts, err);
    } else if (st == CF_OK && is_shared(&f.v[0], "opencode")) {
        st = read_shared(out, &f, "opencode", NULL, opts, err);
    } else if (st == CF_OK) {
        st = read_alone(out, &f.v[0], opts, err);
    }
    free_folder(&f);
    return st;
}

cf_status cf_trails_read(cf_trails *out, const char *path, const cf_trail_options *opts,
                         cf_error *err)
{
    static const cf_trail_options none;
    *out = (cf_trails){0};
    opts = opts != NULL ? opts : &none;
    cf_status st =
        cf_os_is_dir(path) ? read_folder(out, path, opts, err) : read_file(out, path, opts, err);
    if (st == CF_OK && out->n == 0) {
        st = cf_fail(err, CF_EFORMAT, "%s: no session of an agent that is known", path);
    }
    if (st != CF_OK) {
        cf_trails_deinit(out);
    }
    return st;
}
