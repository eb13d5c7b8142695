/*
 * tool_model.h - the calls of a path and the stage that each one reached, as the Tools
 * view draws them.
 *
 * A reply's raw bytes are parsed again, so the view shows the result of the current
 * parser.  A reply that has calls but no bytes to parse (a server's, an imported one)
 * has its calls written out and parsed back, which validates them; its offsets then
 * mean that text.
 *
 * Threads:  one thread at a time.
 * Memory:   owns its arrays and parsers; turns are borrowed from the path.
 */
#ifndef CF_TUI_LAB_TOOLS_TOOL_MODEL_H
#define CF_TUI_LAB_TOOLS_TOOL_MODEL_H

#include "core/api/conversation.h"

typedef enum cf_stage {
    CF_STAGE_RAW,
    CF_STAGE_PARSED,
    CF_STAGE_VALID,
    CF_STAGE_RUN,
    CF_STAGE_BACK, /* the result as the prompt has it */
    CF_STAGE_COUNT
} cf_stage;

typedef enum cf_outcome {
    CF_OUTCOME_NONE, /* it did not come so far */
    CF_OUTCOME_OK,
    CF_OUTCOME_FAIL,
    CF_OUTCOME_WAITS /* for a result */
} cf_outcome;

/* A reply that calls, or tried to. */
/* "1 Raw reply", "2 Parsed" ... */
extern const char *const cf_stage_titles[CF_STAGE_COUNT];

typedef struct cf_call_reply {
    size_t turn; /* of the path */
    cf_buf text; /* the text parsed: the reply after its thinking */
    size_t skip; /* bytes of the raw reply before it */
    bool is_rewritten;
    cf_tool_parser *parser; /* owned */
    const cf_tool_parse *parse;
} cf_call_reply;

typedef struct cf_call_row {
    size_t reply;   /* index of its cf_call_reply */
    size_t call;    /* of the parse; CF_TOOL_NO_CALL: a block that failed */
    size_t segment; /* of the parse */
    size_t result;  /* turn of the path; SIZE_MAX: none */
    uint8_t outcome[CF_STAGE_COUNT];
} cf_call_row;

typedef struct cf_tool_model {
    cf_call_reply *reply; /* [n_reply] */
    size_t n_reply;
    cf_call_row *row; /* [n_row], in the order of the path */
    size_t n_row, cap_row;
} cf_tool_model;

/* CF_ENOMEM leaves an empty model. */
CF_MUST_USE cf_status cf_tool_model_build(cf_tool_model *m, const cf_turn *const *path, size_t n,
                                          cf_tool_family family, const cf_tool_set *tools,
                                          cf_str template_source, cf_error *err);
void cf_tool_model_deinit(cf_tool_model *m);

/* The call of a row, NULL for a failed block; its segment. */
const cf_tool_call *cf_tool_model_call(const cf_tool_model *m, const cf_call_row *row);
const cf_tool_segment *cf_tool_model_segment(const cf_tool_model *m, const cf_call_row *row);

/* The place of a row among those of its reply: 0, 1 ... */
size_t cf_tool_model_nth(const cf_tool_model *m, const cf_call_row *row);

/* Appends why a block does not parse or a call is not valid, in one line as a
 * model is told; nothing, and false, when it is sound. */
bool cf_tool_model_failure(const cf_tool_model *m, const cf_call_row *row, cf_buf *out);

/* Other arguments for a call. */
typedef struct cf_call_edit {
    const cf_call_row *row;
    const cf_turn *turn; /* the row's reply */
    cf_tool_family family;
    cf_str arguments; /* JSON text of an object */
} cf_call_edit;

/*
 * A reply like the edit's turn whose call has other arguments: its message (a
 * new reference), and its bytes in the syntax of the family.  `raw` stays empty
 * where that syntax cannot express it, or the bytes were not known before.
 * CF_EFORMAT for arguments that are not an object,
 * CF_EUNSUPPORTED for a call that the message does not list.
 */
CF_MUST_USE cf_status cf_tool_model_edit(const cf_tool_model *m, const cf_call_edit *edit,
                                         json_t **message, cf_buf *raw, cf_error *err);

/* A reply like `turn` without any call. */
CF_MUST_USE cf_status cf_tool_model_drop(const cf_tool_model *m, const cf_call_row *row,
                                         const cf_turn *turn, json_t **message, cf_buf *raw,
                                         cf_error *err);

/*
 * Checks arguments against the declaration of the tool `name`: what is wrong
 * is appended, one line each.  *is_valid also where no tools are declared.
 * CF_EFORMAT: no JSON object, with the place.
 */
CF_MUST_USE cf_status cf_tool_check_arguments(const cf_tool_set *tools, cf_str name,
                                              cf_str arguments, cf_buf *findings, bool *is_valid,
                                              cf_error *err);

/* Appends what a reply with calls says after its thinking, to be edited: its
 * bytes, or the content and the calls written out where they are not known. */
CF_MUST_USE cf_status cf_tool_reply_text(cf_buf *out, const cf_turn *turn, cf_str template_source,
                                         cf_error *err);

/* Whether a turn's role is that of a result. */
bool cf_turn_is_result(const cf_turn *turn);

/* The id of a reply's call; empty where it has none. */
cf_str cf_turn_call_id(const cf_turn *turn, size_t call);

/* The message that answers a call with `text` (as it is), without a name when
 * that is empty: a new reference, NULL when memory ran out or the text is no
 * UTF-8. */
json_t *cf_tool_result_message(cf_str name, cf_str id, cf_str text);

#endif
