/*
 * tool_emit.h - what the call grammars share: a cursor over raw bytes, and
 * the JSON text they write while reading.
 *
 * Every grammar (JSON, Python, FC) turns a value into compact JSON text and
 * notes where each value stood.  A function that returns false has set
 * err_off and expected, or oom.
 */
#ifndef CF_CORE_TOOLS_TOOL_EMIT_H
#define CF_CORE_TOOLS_TOOL_EMIT_H

#include "core/api/tool.h"
#include "core/base/arena.h"
#include "core/base/buf.h"

enum {
    CF_TOOL_DEPTH_MAX = 64,     /* nested values */
    CF_TOOL_MEMBERS_MAX = 4096, /* of one object */
    CF_TOOL_SPANS_MAX = 8192,   /* of one reply */
    CF_TOOL_PATH_MAX = 240,     /* bytes of a path that are kept */
    CF_TOOL_CALLS_MAX = 4096    /* of one reply */
};

/* A call before it is validated; arguments are JSON text in the arena. */
typedef struct cf_tool__raw_call {
    cf_str name, id, arguments;
    size_t off, len, name_off, name_len, args_off, args_len;
    size_t first_span, n_spans;
    bool has_args;
} cf_tool__raw_call;

typedef struct cf_tool__note {
    size_t off, call;
    cf_str text;
} cf_tool__note;

typedef struct cf_tool__emit {
    const char *p;  /* the raw bytes */
    size_t at, end; /* cursor, and where the body ends */
    cf_buf json;    /* values read so far */
    cf_buf str;     /* the string read last, decoded */
    cf_buf path;
    cf_arena *arena; /* of the results */

    cf_tool_span *spans;
    size_t n_spans, cap_spans;
    cf_tool__raw_call *calls;
    size_t n_calls, cap_calls;
    cf_tool__note *notes;
    size_t n_notes, cap_notes;

    unsigned depth;
    unsigned quiet;   /* > 0: record no spans */
    bool spans_lines; /* Python: short strings may hold line ends */
    bool oom;
    bool not_calls; /* well-formed, but nothing that looks like a call */
    size_t err_off;
    size_t open_off; /* of the string that never ends, when that is it */
    char expected[96];
} cf_tool__emit;

void cf_tool__emit_init(cf_tool__emit *e, const char *p, size_t at, size_t end, cf_arena *arena);
void cf_tool__emit_deinit(cf_tool__emit *e);

/* Sets where the grammar broke and returns false. */
bool cf_tool__expect(cf_tool__emit *e, size_t off, const char *what);
bool cf_tool__oom(cf_tool__emit *e);

/* Spans: open before a value, close after it. */
size_t cf_tool__span_open(cf_tool__emit *e);
void cf_tool__span_close(cf_tool__emit *e, size_t span);

/* The path of the current value; push returns the mark that pop takes. */
size_t cf_tool__path_key(cf_tool__emit *e, cf_str key);
size_t cf_tool__path_index(cf_tool__emit *e, size_t i);
void cf_tool__path_pop(cf_tool__emit *e, size_t mark);

bool cf_tool__enter(cf_tool__emit *e);
void cf_tool__leave(cf_tool__emit *e);
void cf_tool__note_add(cf_tool__emit *e, size_t off, const char *text);

/* Members of one object, so that a repeated key is found. */
typedef struct cf_tool__members {
    struct cf_tool__member {
        size_t off, key_len; /* in json: the key as written, with quotes */
    } * v;
    size_t n, cap;
} cf_tool__members;

typedef enum cf_tool__dup {
    CF_TOOL_DUP_NO,
    CF_TOOL_DUP_YES,
    CF_TOOL_DUP_FAILED /* set when memory runs out or there are too many members */
} cf_tool__dup;

/* Writes a comma where one is needed, the key and ':'.  Tells whether the
 * key was there before; *which is then the earlier member's index. */
cf_tool__dup cf_tool__member_begin(cf_tool__emit *e, cf_tool__members *m, cf_str key,
                                   size_t *which);
/* Removes the earlier member `which` from the text, because the last one wins. */
void cf_tool__member_drop(cf_tool__emit *e, cf_tool__members *m, size_t which);
void cf_tool__members_deinit(cf_tool__members *m);

/* Appends raw digits as a JSON number in its canonical spelling: integers
 * digit for digit, others the shortest double.  False: out of range. */
bool cf_tool__number(cf_tool__emit *e, const char *p, size_t n, bool is_real);

/* Adds a call; name and arguments are copied into the arena. */
bool cf_tool__call_add(cf_tool__emit *e, const cf_tool__raw_call *call);

static inline bool cf_tool__is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static inline bool cf_tool__is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static inline bool cf_tool__is_name_start(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (unsigned char)c >= 0x80;
}

static inline bool cf_tool__is_name(char c)
{
    return cf_tool__is_name_start(c) || cf_tool__is_digit(c);
}

/* A tree of the canonical text that the grammars write; integers over 64 bits
 * become doubles.  NULL when memory ran out. */
json_t *cf_tool__tree(cf_str text);

/* ---- the grammars ------------------------------------------------------- */

/* Reads one member at the cursor, "key:value", or one value. */
typedef bool (*cf_tool__member_fn)(cf_tool__emit *e, cf_tool__members *m);
typedef bool (*cf_tool__value_fn)(cf_tool__emit *e);

/* An object or an array at the cursor, which is on its bracket; commas and
 * spaces are as in JSON, members as the function reads them. */
bool cf_tool__object(cf_tool__emit *e, cf_tool__member_fn member);
bool cf_tool__array(cf_tool__emit *e, cf_tool__value_fn value);

/* One JSON value at the cursor, spaces before it skipped. */
bool cf_tool__json_value(cf_tool__emit *e);
/* One Python value, in the syntax of tool_python.c. */
bool cf_tool__python_value(cf_tool__emit *e);
/* Decodes the JSON string at the cursor into e->str. */
bool cf_tool__json_string(cf_tool__emit *e);
void cf_tool__json_space(cf_tool__emit *e);

/* The accepted forms of a body of JSON calls. */
enum {
    CF_TOOL_JSON_LOOSE = 1, /* anything without a name and arguments is not a
                               call (not_calls), rather than an error */
    CF_TOOL_JSON_KEYED = 2, /* {"NAME": {ARGUMENTS}} */
    CF_TOOL_JSON_LINES = 4  /* a line that is no call is passed over */
};

/* Readers of a whole body, from the cursor to e->end. */
bool cf_tool__json_calls(cf_tool__emit *e, unsigned flags, const cf_tool_set *tools);
bool cf_tool__python_calls(cf_tool__emit *e, const cf_tool_set *tools, bool spans_lines);
bool cf_tool__fc_calls(cf_tool__emit *e);
/* One JSON object of arguments; the name was read before. */
bool cf_tool__json_arguments(cf_tool__emit *e, cf_tool__raw_call *call);

/* The escape marker of the FC syntax that starts at p[0..n): its length, or
 * 0; *is_partial when the bytes end inside what may become one. */
size_t cf_tool__fc_escape(const char *p, size_t n, bool *is_partial);

#endif
