/*
 * tool_write.h - values, calls and declarations as text, shared by the
 * writers of this folder.
 *
 * Values are read by the JSON grammar of the parser and rewritten from its
 * canonical text, so integers of any size and the order of keys come through.
 */
#ifndef CF_CORE_TOOLS_TOOL_WRITE_H
#define CF_CORE_TOOLS_TOOL_WRITE_H

#include "core/tools/tool_emit.h"
#include "core/tools/tool_family.h"

typedef enum cf_tool__style {
    CF_STYLE_JSON,   /* as Python's json.dumps: ", " and ": " */
    CF_STYLE_PYTHON, /* True, None */
    CF_STYLE_FC      /* strings between escape markers, bare keys */
} cf_tool__style;

typedef struct cf_tool__writer {
    cf_buf *out;
    cf_tool__style style;
    const char *esc;    /* FC: the marker that the family uses */
    const char *p;      /* canonical JSON text, a NUL after it */
    bool upper_types;   /* declarations of FC: "type" values in upper case */
    const char *cannot; /* the reason if the syntax cannot express the value */
    bool oom;
    cf_buf str; /* the string read last, decoded */
} cf_tool__writer;

/* Canonical text of a JSON value; must be an object when `object`. */
cf_status cf_tool__canonical(cf_buf *out, cf_str json, bool object, cf_error *err);

/* Reads the JSON string at w->p into w->str. */
void cf_tool__read_string(cf_tool__writer *w);
/* Writes the value at w->p and moves over it. */
void cf_tool__put_value(cf_tool__writer *w);
/* Releases the writer and returns its first failure, including that of w->out. */
cf_status cf_tool__writer_finish(cf_tool__writer *w, cf_status st, cf_error *err);

/* A whole value; `esc` for FC. */
cf_status cf_tool__put_json(cf_buf *out, cf_tool__style how, const char *esc, bool upper_types,
                            cf_str json, cf_error *err);
cf_status cf_tool__put_tree(cf_buf *out, cf_tool__style how, const char *esc, bool upper_types,
                            const json_t *v, cf_error *err);

/* After a failure removes what was appended to `out`. */
cf_status cf_tool__undo(cf_buf *out, size_t mark, cf_status st, cf_error *err);

#endif
