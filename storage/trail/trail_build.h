/*
 * trail_build.h - what the readers of agents' files share.
 *
 * A reader puts items into lanes: the main path, sub-agents, side branches.
 * trail_finish() numbers what they hold and makes the trail of it.  Memory
 * that runs out is remembered in the arenas and reported at the end.
 *
 * Threads:  one thread at a time.
 * Memory:   what a trail keeps lies in its arena, what ends with reading in
 *           the reader's.
 */
#ifndef CF_STORAGE_TRAIL_TRAIL_BUILD_H
#define CF_STORAGE_TRAIL_TRAIL_BUILD_H

#include "core/base/os.h"
#include "core/json/json.h"
#include "storage/trail.h"

/* ---- lists and names ----------------------------------------------------- */

/* A new zeroed item at the end of the list *v of *n items.  Without memory the
 * arena has failed, and what is returned is not part of the trail. */
void *trail_push(cf_arena *a, void *v, size_t *n, size_t size);
/* A zeroed item, as above. */
void *trail_new(cf_arena *a, size_t size);

#define TRAIL_NONE SIZE_MAX

typedef struct trail_index {
    struct trail_index_cell {
        cf_str key; /* borrowed; p NULL: empty */
        size_t value;
        uint64_t hash; /* of the key */
    } * cells;         /* [size], in an arena, which is always the same */
    size_t size, used;
} trail_index;

size_t trail_find(const trail_index *ix, cf_str key); /* TRAIL_NONE: not there */
/* Sets a key's value; an index holds no empty key. */
void trail_put(cf_arena *a, trail_index *ix, cf_str key, size_t value);
/* The main agent's name is empty. */
static inline cf_str trail_agent_key(cf_str agent)
{
    return agent.n != 0 ? agent : cf_str_make("\n", 1);
}

/* ---- the trail that is read ---------------------------------------------- */

/* A lane keeps its order of items. */
typedef struct trail_lane {
    cf_trail_event *items; /* [n] */
    size_t n;
    cf_str agent;          /* of all its items */
    cf_trail_agent *begun; /* of a sub-agent: what began it */
    size_t next;           /* of the same call; for trail_order() */
    bool is_placed;
    bool is_automatic; /* of the compaction that was asked for */
    bool is_branch;
    const cf_trail_message *from; /* what a branch leaves from; NULL: nothing */
} trail_lane;

typedef struct trail_reader {
    cf_trail *t;
    cf_arena scratch;   /* ends with reading */
    trail_lane **lanes; /* [n_lanes], in the order of the output */
    size_t n_lanes;
    cf_trail_left_out *left_out;
    size_t n_left_out;
    size_t n_kept, kept_bytes; /* of all compactions */
    cf_str *models;
    size_t n_models;
    trail_index model_places;
    trail_index begun; /* an agent's id -> place in calls */
    cf_str *calls;     /* [n_calls], ids of calls that began agents */
    size_t n_calls;
    json_t **values; /* [n_values], owned until the end */
    size_t n_values;
    cf_str file; /* where left_out counts its lines; empty: the session's own */
    bool failed;
} trail_reader;

CF_MUST_USE cf_status trail_begin(trail_reader *r, const char *format, const char *path,
                                  cf_error *err);
/* The trail, added to `out`, or a failure, also where reading ended with one;
 * the reader is empty after. */
CF_MUST_USE cf_status trail_finish(trail_reader *r, cf_status st, cf_trails *out, cf_error *err);
void trail_drop(trail_reader *r);
bool trail_failed(const trail_reader *r); /* memory ran out */

trail_lane *trail_add_lane(trail_reader *r, cf_str agent);
trail_lane *trail_add_branch(trail_reader *r, cf_str agent, const cf_trail_message *from);
/* A sub-agent's lane, with its first event. */
trail_lane *trail_add_agent(trail_reader *r, cf_str id, cf_str title);
/* Notes the call that began an agent, unless one is known. */
void trail_began(trail_reader *r, cf_str agent, cf_str call_id);
/* Puts the lanes in the order of the output: the first, sub-agents by the
 * calls that began them, those without a known call, branches. */
void trail_order(trail_reader *r);

cf_str trail_copy(trail_reader *r, cf_str s);
cf_str trail_take(trail_reader *r, cf_buf *b);          /* a copy; the buffer is released */
cf_str trail_pair(trail_reader *r, cf_str a, cf_str b); /* "A B" */
cf_str trail_hash(cf_arena *a, cf_buf *b); /* of the text, as hex; the buffer is released */
cf_str trail_json_str(trail_reader *r, const json_t *obj, const char *key);
/* obj[key] into *to, where that is empty. */
void trail_fill(trail_reader *r, cf_str *to, const json_t *obj, const char *key);
/* Another reference to a value, until the reader ends. */
const json_t *trail_hold(trail_reader *r, const json_t *v);
/* JSON text of a value; arguments that come as text are values where that is JSON. */
cf_str trail_json(trail_reader *r, const json_t *v);
cf_str trail_arguments(trail_reader *r, const json_t *v);
/* A result: a string as it is, another value as JSON. */
cf_str trail_value_text(trail_reader *r, const json_t *v);

/* New items at the end of a lane. */
cf_trail_message *trail_message(trail_reader *r, trail_lane *lane, cf_trail_role role);
void trail_add_message(trail_reader *r, trail_lane *lane, cf_trail_message *m);
cf_trail_step *trail_step(trail_reader *r, trail_lane *lane, cf_trail_message *reply);
cf_trail_compaction *trail_compaction(trail_reader *r, trail_lane *lane);
void trail_aborted(trail_reader *r, trail_lane *lane);
/* The first event of a sub-agent that has no lane of its own. */
cf_trail_agent *trail_agent(trail_reader *r, trail_lane *lane, cf_str id, cf_str title);
/* Adds a call to a reply. */
void trail_call(trail_reader *r, cf_trail_message *m, cf_str id, cf_str name, cf_str arguments);
/* Adds a text (empty: nothing) to what a compaction kept; false when the
 * session's compactions have kept so much that no more is taken, which is said. */
bool trail_kept(trail_reader *r, cf_trail_compaction *c, cf_str text);

/* Says that a record is left out: `why`, and a name after it (p NULL: none). */
void trail_left_out(trail_reader *r, uint64_t line, const char *why, cf_str what);
void trail_model(trail_reader *r, cf_str model);

/* ms of obj[key], a time with a zone, or 0; trail_seen() widens the session's span. */
int64_t trail_time(const json_t *obj, const char *key);
void trail_seen(trail_reader *r, int64_t ms);

int64_t trail_int(const json_t *obj, const char *key);
/* The same for a count of tokens: at most 2^40 from 0. */
int64_t trail_tokens(const json_t *obj, const char *key);
/* obj[a][b] ..., the last argument NULL. */
const json_t *trail_get(const json_t *obj, ...);
bool trail_is(const json_t *obj, const char *key, const char *value);
/* Whether a text is, or begins with, one of names, of which NULL is the last. */
bool trail_is_one_of(cf_str s, const char *const *names);
bool trail_begins_with(cf_str s, const char *const *heads);

/* The fields of a usage (NULL: it has none). */
typedef struct trail_usage_keys {
    const char *input, *cache_read, *cache_creation, *output, *reasoning;
    bool has_cache;       /* the input holds what was read and written */
    bool is_total;        /* the output holds the whole input */
    bool lacks_reasoning; /* the output is without it */
} trail_usage_keys;

cf_trail_usage trail_usage(const json_t *u, const trail_usage_keys *keys);

/* ---- lines --------------------------------------------------------------- */

static inline bool trail_stops(const cf_trail_options *opts)
{
    return opts != NULL && opts->cancel != NULL && atomic_load(opts->cancel);
}

/* One line of a file, or a whole document. */
typedef struct trail_lines {
    const char *p;
    size_t n, at;
    uint64_t line; /* of the last one, 1-based */
    const cf_trail_options *opts;
} trail_lines;

/* The next line's JSON object, owned (*v), false at the end; lines that are
 * none are left out with a reason.  trail_reader may be NULL (nothing is said). */
bool trail_next(trail_lines *l, trail_reader *r, json_t **v, cf_status *st, cf_error *err);
/* All lines of a text, each handed to `read`. */
typedef void (*trail_line_fn)(void *reader, json_t *v, uint64_t line);
CF_MUST_USE cf_status trail_each_line(trail_reader *r, cf_str text, const cf_trail_options *opts,
                                      trail_line_fn read, void *reader, cf_error *err);
/* A whole text; half pairs and bytes that are not UTF-8 become U+FFFD. */
CF_MUST_USE cf_status trail_parse(json_t **out, cf_str text, cf_error *err);

/* ---- files --------------------------------------------------------------- */

/* Paths of the files in a folder and in those below it, down to a depth; a
 * folder is looked into once, whatever leads to it.  Strings lie in the arena. */
typedef struct trail_paths {
    cf_arena arena;
    const char **v; /* [n] */
    size_t n;
    const char *without; /* the name of folders that are not looked into; NULL: none */
    trail_index seen;
} trail_paths;

CF_MUST_USE cf_status trail_list(trail_paths *out, const char *folder, int depth,
                                 const cf_trail_options *opts, cf_error *err);
/* The part of a path after its last '/'. */
const char *trail_file_name(const char *path);

/* Opens a file for a reader. */
CF_MUST_USE cf_status trail_open(cf_os_map *map, const char *path, const cf_trail_options *opts,
                                 cf_str *text, cf_error *err);

/* ---- the formats --------------------------------------------------------- */

/* What a reader gets: one file, or for formats whose sessions lie in several
 * all of a folder. */
typedef struct trail_source {
    const char *const *paths; /* [n] */
    size_t n;
    const char *only; /* of several the path whose session alone is wanted; NULL: all */
    cf_str text;      /* of the first file */
    const cf_trail_options *opts;
} trail_source;

typedef cf_status (*trail_read_fn)(cf_trails *out, const trail_source *s, cf_error *err);
cf_status trail_read_claude(cf_trails *out, const trail_source *s, cf_error *err);
cf_status trail_read_codex(cf_trails *out, const trail_source *s, cf_error *err);
cf_status trail_read_gemini(cf_trails *out, const trail_source *s, cf_error *err);
cf_status trail_read_opencode(cf_trails *out, const trail_source *s, cf_error *err);
cf_status trail_read_opencode_db(cf_trails *out, const trail_source *s, cf_error *err);
cf_status trail_read_otel(cf_trails *out, const trail_source *s, cf_error *err);
cf_status trail_read_pi(cf_trails *out, const trail_source *s, cf_error *err);
cf_status trail_read_qwen(cf_trails *out, const trail_source *s, cf_error *err);
cf_status trail_read_traffic(cf_trails *out, const trail_source *s, cf_error *err);
/* Whether a database is opencode's, or a history of ours. */
bool trail_is_opencode_db(const char *path);
bool trail_is_history(const char *path);

/* Whether a database has three tables: "('a', 'b', 'c')". */
bool trail_has_tables(const char *path, const char *names);
/* Opens one to be read, whoever wrote it. */
typedef struct cf_sql cf_sql;
CF_MUST_USE cf_status trail_open_db(cf_sql *sql, const trail_source *s, cf_error *err);

#endif
