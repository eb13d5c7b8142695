/*
 * trail_build.h - what the readers of agents' files share.
 *
 * A reader puts items into lanes: the main path, sub-agents, side branches.
 * trail_finish() numbers what they hold and makes the trail of it.  Memory
 * that runs out is remembered in the arena and reported at the end.
 *
 * Threads:  one thread at a time.
 * Memory:   items and lanes lie in the trail's arena.
 */
#ifndef CF_STORAGE_TRAIL_TRAIL_BUILD_H
#define CF_STORAGE_TRAIL_TRAIL_BUILD_H

#include "core/base/os.h"
#include "core/json/json.h"
#include "storage/trail.h"

typedef struct trail_index {
    struct trail_index_cell {
        cf_str key; /* borrowed; p NULL: empty */
        size_t value;
    } * cells; /* [size], heap */
    size_t size, used;
} trail_index;

/* A lane keeps its order of items. */
typedef struct trail_lane {
    cf_trail_event *items; /* [n], heap */
    size_t n, cap;
    cf_str agent;       /* of all its items */
    cf_str parent_call; /* that began it; empty: the main one, or unknown */
    size_t next;        /* of the same call; for trail_order() */
    bool is_placed;
    bool is_automatic; /* of the compaction that was asked for */
    bool is_branch;
    const cf_trail_message *from; /* what a branch leaves from; NULL: nothing */
} trail_lane;

typedef struct trail_text {
    cf_buf b;
    bool has_any; /* a part came, perhaps an empty one */
} trail_text;

typedef struct trail_reader {
    cf_trail *t;
    trail_lane **lanes; /* [n_lanes], heap; in the order of the output */
    size_t n_lanes, cap_lanes;
    size_t cap_left, cap_models;
    size_t n_kept, kept_bytes; /* of all compactions */
    cf_str *models;            /* heap */
    trail_index model_places;
    cf_str file; /* where left_out counts its lines; empty: the session's own */
    bool failed;
    cf_error *err;
} trail_reader;

CF_MUST_USE cf_status trail_begin(trail_reader *r, const char *format, const char *path,
                                  cf_error *err);
/* The trail, added to `out`, or a failure; the reader is empty after. */
CF_MUST_USE cf_status trail_finish(trail_reader *r, cf_trails *out, cf_error *err);
/* The same where reading ended with `st`, which may be a failure. */
CF_MUST_USE cf_status trail_end(trail_reader *r, cf_status st, cf_trails *out, cf_error *err);
void trail_drop(trail_reader *r);

trail_lane *trail_add_lane(trail_reader *r, cf_str agent);

/* Puts the lanes in the order of the output: the first, sub-agents by the
 * calls that began them, those without a known call, branches. */
void trail_order(trail_reader *r);

/* Zeroed memory of the trail; NULL when it ran out (trail_finish reports it). */
void *trail_alloc(trail_reader *r, size_t n, size_t size);
cf_str trail_copy(trail_reader *r, cf_str s);
cf_str trail_take(trail_reader *r, cf_buf *b); /* a copy; the buffer is released */
cf_str trail_json_str(trail_reader *r, const json_t *obj, const char *key);
/* JSON text of a value; of a string that holds JSON, that. */
cf_str trail_json(trail_reader *r, const json_t *v);
cf_str trail_arguments(trail_reader *r, const json_t *v);
/* A result: a string as it is, another value as JSON. */
cf_str trail_value_text(trail_reader *r, const json_t *v);

void trail_join(trail_text *t, cf_str piece);
cf_str trail_joined(trail_reader *r, trail_text *t);

/* New items at the end of a lane; never NULL unless memory ran out. */
cf_trail_message *trail_message(trail_reader *r, trail_lane *lane, cf_trail_role role);
void trail_add_message(trail_reader *r, trail_lane *lane, cf_trail_message *m);
cf_trail_step *trail_step(trail_reader *r, trail_lane *lane, cf_trail_message *reply);
cf_trail_compaction *trail_compaction(trail_reader *r, trail_lane *lane);
void trail_aborted(trail_reader *r, trail_lane *lane);
cf_trail_agent *trail_agent(trail_reader *r, trail_lane *lane, cf_str id);
/* Adds a call to a reply. */
void trail_call(trail_reader *r, cf_trail_message *m, cf_str id, cf_str name, cf_str arguments);
/* Adds a text (empty: nothing) to what a compaction kept; false when the
 * session's compactions have kept so much that no more is taken, which is said. */
bool trail_kept(trail_reader *r, cf_trail_compaction *c, cf_str text);

void trail_left_out(trail_reader *r, uint64_t line, const char *why, cf_str what);
void trail_model(trail_reader *r, cf_str model);

/* ms of a time with a zone, or 0; trail_seen() widens the session's span. */
int64_t trail_time(cf_str text);
void trail_seen(trail_reader *r, int64_t ms);

int64_t trail_int(const json_t *obj, const char *key);
/* obj[a][b] ..., the last argument NULL. */
const json_t *trail_get(const json_t *obj, ...);
bool trail_is(const json_t *obj, const char *key, const char *value);
/* Whether a text is, or begins with, one of names, of which NULL is the last. */
bool trail_is_one_of(cf_str s, const char *const *names);
bool trail_begins_with(cf_str s, const char *const *heads);

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

/* ---- names to numbers ---------------------------------------------------- */

#define TRAIL_NONE SIZE_MAX

size_t trail_find(const trail_index *ix, cf_str key); /* TRAIL_NONE: not there */
/* An index holds no empty key, and the main agent's name is empty. */
static inline cf_str trail_agent_key(cf_str agent)
{
    return agent.n != 0 ? agent : cf_str_make("\n", 1);
}
/* Sets a key's value. */
void trail_put(trail_reader *r, trail_index *ix, cf_str key, size_t value);
void trail_index_free(trail_index *ix);

/* ---- the formats --------------------------------------------------------- */

/* Reads a text that cf_trail_sniff() named; `path` is its file's. */
typedef cf_status (*trail_read_fn)(cf_trails *out, const char *path, cf_str text,
                                   const cf_trail_options *opts, cf_error *err);
cf_status trail_read_claude(cf_trails *out, const char *path, cf_str text,
                            const cf_trail_options *opts, cf_error *err);
cf_status trail_read_gemini(cf_trails *out, const char *path, cf_str text,
                            const cf_trail_options *opts, cf_error *err);
cf_status trail_read_qwen(cf_trails *out, const char *path, cf_str text,
                          const cf_trail_options *opts, cf_error *err);
cf_status trail_read_pi(cf_trails *out, const char *path, cf_str text, const cf_trail_options *opts,
                        cf_error *err);
cf_status trail_read_otel(cf_trails *out, const char *path, cf_str text,
                          const cf_trail_options *opts, cf_error *err);

/* These two may lie in several files: all of a folder that are theirs.
 * only: the path whose session alone is wanted; NULL: all. */
cf_status trail_read_codex(cf_trails *out, const char *const *paths, size_t n, const char *only,
                           const cf_trail_options *opts, cf_error *err);
cf_status trail_read_opencode(cf_trails *out, const char *const *paths, size_t n,
                              const cf_trail_options *opts, cf_error *err);
/* Whether a database is opencode's: it has sessions, messages and parts. */
bool trail_is_opencode_db(const char *path);
cf_status trail_read_opencode_db(cf_trails *out, const char *path, const cf_trail_options *opts,
                                 cf_error *err);

/* Opens a file as trail_read_fn wants it. */
CF_MUST_USE cf_status trail_open(cf_os_map *map, const char *path, const cf_trail_options *opts,
                                 cf_str *text, cf_error *err);

#endif
