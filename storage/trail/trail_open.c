/*
 * trail_open.c - which agent wrote a file, and the sessions of a folder.
 */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "storage/db/store_sql.h"
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
        "custom-title",    "ai-title",    "agent-name", "tag",    "pr-link",         NULL};
    return (has(v, "sessionId") && (has(json_object_get(v, "message"), "content") ||
                                    trail_is_one_of(cf_json_get_str(v, "type"), types))) ||
           (trail_is(v, "type", "summary") && has(v, "leafUuid"));
}

static bool is_codex(const json_t *v)
{
    static const char *const types[] = {"session_meta", "response_item",      "event_msg",
                                        "turn_context", "token_usage_record", NULL};
    cf_str type = cf_json_get_str(v, "type");
    return json_is_object(json_object_get(v, "payload"))
               ? trail_is_one_of(type, types)
               : type.n == 0 && has(v, "id") && has(v, "timestamp") && has(v, "instructions");
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

static bool is_otel(const json_t *v)
{
    return has(v, "resourceSpans");
}

static bool is_pi(const json_t *v)
{
    return trail_is(v, "type", "session") && has(v, "id") && (has(v, "cwd") || has(v, "version"));
}

static bool is_opencode(const json_t *v)
{
    return json_is_object(json_object_get(v, "info")) &&
           json_is_array(json_object_get(v, "messages"));
}

/* In the order in which they are asked. */
typedef struct format {
    const char *name;
    bool (*is)(const json_t *v); /* a record or a document; NULL: a database */
    trail_read_fn read;
    bool is_shared; /* its sessions may lie in several files */
} format;

static const format formats[] = {{"otel", is_otel, trail_read_otel, false},
                                 {"pi", is_pi, trail_read_pi, false},
                                 {"opencode", is_opencode, trail_read_opencode, true},
                                 {"codex", is_codex, trail_read_codex, true},
                                 {"gemini", is_gemini, trail_read_gemini, false},
                                 {"qwen", is_qwen, trail_read_qwen, false},
                                 {"claude-code", is_claude, trail_read_claude, false}};
static const format opencode_db = {"opencode", NULL, trail_read_opencode_db, false};
static const format history_db = {"proxy", NULL, trail_read_traffic, false};

/* NULL: it says nothing. */
static const format *format_of(const json_t *v)
{
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        if (formats[i].is(v)) {
            return &formats[i];
        }
    }
    return NULL;
}

/* The first lines decide; a text whose lines say nothing may be one document. */
static cf_status sniff(const format **out, const char *path, cf_str text, cf_error *err)
{
    enum { LINES = 200, LOOK = 4 << 20 };
    trail_lines l = {.p = text.p, .n = text.n};
    cf_status st = CF_OK;
    json_t *v = NULL;
    *out = NULL;
    if (cf_str_begins(text, "SQLite format 3")) {
        *out = trail_is_opencode_db(path) ? &opencode_db
               : trail_is_history(path)   ? &history_db
                                          : NULL;
        return CF_OK;
    }
    while (*out == NULL && l.line < LINES && (l.at < LOOK || l.line == 0) &&
           trail_next(&l, NULL, &v, &st, err)) {
        *out = format_of(v);
        json_decref(v);
    }
    if (st == CF_OK && *out == NULL && text.n != 0 && cf_str_begins(cf_str_trim(text), "{")) {
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

/* The format of a file; NULL for one of none, or that cannot be read (said). */
static cf_status look(const format **out, const char *path, const cf_trail_options *opts,
                      cf_error *err)
{
    cf_os_map map;
    cf_str text;
    *out = NULL;
    CF_TRY(trail_open(&map, path, opts, &text, err));
    cf_status st = sniff(out, path, text, err);
    cf_os_map_close(&map);
    return st;
}

const char *cf_trail_sniff(const char *path)
{
    const format *f = NULL; /* a file that cannot be read is of no format */
    cf_ignore(look(&f, path, &(cf_trail_options){.max_bytes = 4 << 20}, NULL));
    return f != NULL ? f->name : NULL;
}

/* ---- databases ----------------------------------------------------------- */

/* Beside a live database its log is written; a read-only folder has none. */
static cf_status open_db(cf_sql *sql, const char *path, cf_error *err)
{
    cf_sql__setup();
    cf_status st = cf_sql__open(sql, path, CF_SQL_READ, 2000, err);
    return st == CF_OK || st == CF_ENOMEM ? st : cf_sql__open(sql, path, CF_SQL_FROZEN, 2000, err);
}

bool trail_has_tables(const char *path, const char *names)
{
    cf_sql sql = {0};
    int64_t n = 0;
    char text[160];
    snprintf(text, sizeof text,
             "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name IN %s", names);
    cf_status st = open_db(&sql, path, NULL);
    CF_THEN(st, cf_sql__int(&sql, &n, 0, NULL, text, ""));
    cf_sql__close(&sql);
    return st == CF_OK && n == 3;
}

cf_status trail_open_db(cf_sql *sql, const trail_source *s, cf_error *err)
{
    enum { VALUE_MAX = 128 << 20, HOUR_S = 3600 };
    CF_TRY(open_db(sql, s->paths[0], err));
    sql->deadline_us = cf_os_monotonic_us() + UINT64_C(1000000) * HOUR_S;
    sql->cancel = s->opts->cancel;
    (void)sqlite3_limit(sql->db, SQLITE_LIMIT_LENGTH, VALUE_MAX);
    cf_status st = cf_sql__refuse_computed(sql, err);
    if (st != CF_OK) {
        cf_sql__close(sql);
    }
    return st;
}

/* ---- folders ------------------------------------------------------------- */

const char *trail_file_name(const char *path)
{
    const char *end = strrchr(path, '/');
    return end != NULL ? end + 1 : path;
}

/* Whether a folder was looked into before, by another way. */
static bool is_again(trail_paths *p, const char *folder)
{
    struct stat s;
    char key[64];
    int n = stat(folder, &s) == 0
                ? snprintf(key, sizeof key, "%llu %llu", (unsigned long long)s.st_dev,
                           (unsigned long long)s.st_ino)
                : 0;
    bool is_known = trail_find(&p->seen, cf_str_make(key, (size_t)n)) != TRAIL_NONE;
    const char *copy = cf_arena_strndup(&p->arena, key, (size_t)n);
    if (copy != NULL) {
        trail_put(&p->arena, &p->seen, cf_str_make(copy, (size_t)n), 1);
    }
    return is_known || n == 0;
}

cf_status trail_list(trail_paths *out, const char *folder, int depth, const cf_trail_options *opts,
                     cf_error *err)
{
    enum { FILES_MAX = 100000 };
    cf_buf names = CF_BUF_INIT;
    cf_status st = is_again(out, folder) ? CF_OK : cf_os_list_dir(&names, folder, FILES_MAX, err);
    for (size_t at = 0; st == CF_OK && at < names.n; at += strlen(names.p + at) + 1) {
        cf_buf path = CF_BUF_INIT;
        cf_buf_addf(&path, "%s/%s", folder, names.p + at);
        const char *copy = cf_arena_strndup(&out->arena, cf_buf_cstr(&path), path.n);
        st = trail_stops(opts) ? cf_fail(err, CF_ECANCELLED, "interrupted")
             : path.failed || copy == NULL || out->n > FILES_MAX ? cf_oom(err)
                                                                 : CF_OK;
        cf_buf_deinit(&path);
        bool is_without = out->without != NULL && strcmp(names.p + at, out->without) == 0;
        if (st == CF_OK && cf_os_is_dir(copy)) {
            st = depth > 0 && !is_without ? trail_list(out, copy, depth - 1, opts, err) : CF_OK;
        } else if (st == CF_OK) {
            *(const char **)trail_push(&out->arena, &out->v, &out->n, sizeof copy) = copy;
        }
    }
    cf_buf_deinit(&names);
    return st == CF_OK && out->arena.failed ? cf_oom(err) : st;
}

/* ---- files --------------------------------------------------------------- */

/* Files of known formats.  A file is open only while it is looked at or read:
 * a folder may have more than a process may open. */
typedef struct files {
    struct opened {
        const char *path;
        const format *of;
    } * v; /* [n] */
    size_t n;
    cf_arena arena;
} files;

static cf_status add_file(files *f, const char *path, const cf_trail_options *opts, cf_error *err)
{
    const format *of;
    CF_TRY(look(&of, path, opts, err));
    if (of != NULL) {
        struct opened *o = trail_push(&f->arena, &f->v, &f->n, sizeof *o);
        *o = (struct opened){path, of};
    }
    return f->arena.failed ? cf_oom(err) : CF_OK;
}

static bool is_session_path(const char *path)
{
    cf_str s = cf_str_from(path);
    return cf_str_ends(s, ".jsonl") || cf_str_ends(s, ".json") || cf_str_ends(s, ".db");
}

static cf_status add_files(files *f, const trail_paths *paths, bool (*is)(const char *path),
                           const char *except, const cf_trail_options *opts, cf_error *err)
{
    for (size_t i = 0; i < paths->n; i++) {
        if (is(paths->v[i]) && (except == NULL || strcmp(paths->v[i], except) != 0)) {
            cf_status st = trail_stops(opts) ? cf_fail(err, CF_ECANCELLED, "interrupted")
                                             : add_file(f, paths->v[i], opts, err);
            if (st == CF_ENOMEM || st == CF_ECANCELLED) {
                return st; /* one that cannot be opened is not a session */
            }
        }
    }
    return CF_OK;
}

/* Reads the file at a place, with all others of its format where they belong
 * together. */
static cf_status read_at(cf_trails *out, files *f, size_t at, const char *only,
                         const cf_trail_options *opts, cf_error *err)
{
    const format *of = f->v[at].of;
    trail_source s = {.only = only, .opts = opts};
    const char **paths = cf_arena_calloc(&f->arena, f->n, sizeof *paths);
    cf_os_map map;
    if (paths == NULL) {
        return cf_oom(err);
    }
    for (size_t i = at; i < (of->is_shared ? f->n : at + 1); i++) {
        if (f->v[i].of == of) {
            paths[s.n++] = f->v[i].path;
            f->v[i].of = NULL;
        }
    }
    s.paths = paths;
    CF_TRY(trail_open(&map, paths[0], opts, &s.text, err));
    cf_status st = of->read(out, &s, err);
    cf_os_map_close(&map);
    return st;
}

static cf_status read_folder(cf_trails *out, const char *path, const cf_trail_options *opts,
                             cf_error *err)
{
    enum { DEPTH = 8 };
    files f = {.n = 0};
    trail_paths paths = {.without = "subagents"}; /* they belong to other files */
    cf_status st = trail_list(&paths, path, DEPTH, opts, err);
    CF_THEN(st, add_files(&f, &paths, is_session_path, NULL, opts, err));
    for (size_t i = 0; st == CF_OK && i < f.n; i++) {
        st = f.v[i].of != NULL ? read_at(out, &f, i, NULL, opts, err) : CF_OK;
    }
    /* Sessions of one file keep their order: only files are moved. */
    for (size_t i = 1; st == CF_OK && i < out->n; i++) {
        cf_trail *t = out->v[i];
        size_t k = i;
        for (; k > 0 && strcmp(out->v[k - 1]->path.p, t->path.p) > 0; k--) {
            out->v[k] = out->v[k - 1];
        }
        out->v[k] = t;
    }
    cf_arena_deinit(&f.arena);
    cf_arena_deinit(&paths.arena);
    return st;
}

static bool is_rollout(const char *path)
{
    return cf_str_begins(cf_str_from(trail_file_name(path)), "rollout-");
}

static cf_status read_file(cf_trails *out, const char *path, const cf_trail_options *opts,
                           cf_error *err)
{
    files f = {.n = 0};
    trail_paths beside = {.n = 0};
    cf_status st = add_file(&f, path, opts, err);
    const format *of = st == CF_OK && f.n != 0 ? f.v[0].of : NULL;
    if (st == CF_OK && of == NULL) {
        bool is_packed = cf_str_ends(cf_str_from(path), ".zst");
        st = cf_fail(err, CF_EFORMAT, "%s: %s", path,
                     is_packed ? "compressed; unpack it first: zstd -d"
                               : "not a session of an agent that is known");
    }
    bool is_codex_file = of != NULL && of->read == trail_read_codex;
    if (is_codex_file) { /* with those that it began */
        size_t n = (size_t)(trail_file_name(path) - path);
        char *dir = cf_arena_strndup(&beside.arena, n != 0 ? path : ".", n > 1 ? n - 1 : 1);
        st = dir == NULL ? cf_oom(err) : trail_list(&beside, dir, 0, opts, err);
        CF_THEN(st, add_files(&f, &beside, is_rollout, path, opts, err));
    }
    CF_THEN(st, read_at(out, &f, 0, is_codex_file ? path : NULL, opts, err));
    cf_arena_deinit(&f.arena);
    cf_arena_deinit(&beside.arena);
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
