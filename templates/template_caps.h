/*
 * template_caps.h - the capabilities of a chat template: which roles,
 * content, tools, calls, results and reasoning it writes.
 *
 * Place in the flow:  template --> renders of made-up conversations -->
 *                     [capabilities] --> lint, and the code that prepares
 *                     messages for the template.
 * Knows: templates, and what a probe's words look like in the output.
 * Does not know: models, tokenizers, real conversations.
 *
 * Nothing is read off the source: a capability is what a render showed.
 *
 * Threads:  no state; a template is constant.
 * Memory:   needs none of the caller's; all text in the result is constant.
 */
#ifndef CF_TEMPLATES_TEMPLATE_CAPS_H
#define CF_TEMPLATES_TEMPLATE_CAPS_H

#include "core/api/session.h"
#include "core/base/decls.h"
#include "templates/template.h"

CF_BEGIN_DECLS

typedef enum cf_cap {
    CF_CAP_NO,      /* refused with an error */
    CF_CAP_DROPPED, /* accepted, but no byte of it is written */
    CF_CAP_GARBLED, /* written as the source text of a value: a list of parts
                       as "[{'type': ...", JSON with escaped quotes */
    CF_CAP_MERGED,  /* written inside another message's turn */
    CF_CAP_YES
} cf_cap;

/* "no", "dropped", "garbled", "merged", "yes" */
const char *cf_cap_name(cf_cap cap);

/* Whether its bytes are in the prompt in any form. */
static inline bool cf_cap_is_written(cf_cap cap)
{
    return cap >= CF_CAP_GARBLED;
}

/* The ids that a template accepts for tool calls and their results. */
typedef enum cf_call_id_rule {
    CF_CALL_ID_FREE,   /* any id, or none */
    CF_CALL_ID_NEEDED, /* a call or result without id is refused */
    CF_CALL_ID_NINE    /* refused unless it is nine letters and digits */
} cf_call_id_rule;

/* "free", "needed", "nine" */
const char *cf_call_id_rule_name(cf_call_id_rule rule);

typedef struct cf_template_caps {
    /* roles */
    cf_cap system;          /* a system message at the start */
    cf_cap late_system;     /* one after the first reply */
    cf_cap closed_system;   /* one at the start, where a reply is the last message */
    cf_cap developer;       /* role "developer" at the start */
    cf_cap reply;           /* an assistant message in the history */
    cf_cap tool_role;       /* a tool's result, text */
    cf_cap unknown_role;    /* any other role */
    bool needs_alternation; /* two user messages in a row are refused */
    bool needs_user_first;  /* an assistant message at the start is refused */

    /* content */
    cf_cap text_content;   /* of a user: a string */
    cf_cap typed_content;  /* of a user: a list of text parts */
    cf_cap typed_system;   /* of a system message: a list of text parts */
    cf_cap typed_results;  /* of a tool's result: a list of text parts */
    cf_cap object_results; /* of a tool's result: an object */
    cf_cap null_content;   /* of an assistant message that only calls: null */
    cf_cap call_text;      /* text of an assistant message that also calls */
    cf_cap image_parts;    /* a part of type "image" leaves a mark */
    cf_cap audio_parts;    /* one of type "audio" */
    cf_cap video_parts;    /* one of type "video" */

    /* tools */
    cf_cap tools;         /* declarations reach the prompt */
    cf_cap bare_tools;    /* the same of one with a name only */
    cf_cap tool_calls;    /* calls in the history, arguments an object */
    cf_cap string_args;   /* the same, arguments a string of JSON */
    cf_cap several_calls; /* the second call of one message, too */
    cf_cap loose_results; /* a result after a reply without "tool_calls" */
    cf_cap call_ids;      /* ids of calls are written */
    cf_call_id_rule call_id_rule;

    /* reasoning */
    cf_cap reasoning;            /* of a reply that is the last message */
    cf_cap reasoning_calls;      /* of a message that calls, before results */
    cf_cap reasoning_history;    /* of a reply before the last question */
    const char *reasoning_field; /* "reasoning_content", "reasoning" or
                                    "thinking"; NULL: none is written */
    bool thinking_switch;        /* enable_thinking changes the prompt */

    bool generation_prompt; /* add_generation_prompt changes the prompt */
    bool uses_bos;          /* the prompt begins with bos_token */
    bool has_generation_blocks;
} cf_template_caps;

/*
 * Renders about forty made-up conversations.  cancel may be NULL; it is
 * looked at between and inside renders.
 *
 * Returns CF_OK, CF_ENOMEM, CF_ECANCELLED, or CF_ELIMIT when a render
 * reached a limit of steps, memory or depth (then the template cannot be
 * trusted with any conversation).
 * Cost    all renders together are bounded as lint's are (template_lint.h).
 */
CF_MUST_USE cf_status cf_template_get_caps(const cf_template *tpl, cf_cancel *cancel,
                                           cf_template_caps *out, cf_error *err);

/* ---- as a list, for printing -------------------------------------------- */

/* One capability in words. */
typedef struct cf_cap_row {
    const char *key;   /* "late_system": its name in JSON */
    const char *label; /* "system message later" */
    const char *value; /* its value: "yes", "dropped", "nine" ... */
    bool is_flag;      /* "yes" or "no" of a bool: JSON true or false */
} cf_cap_row;

/* Row i of `caps`; false past the last. */
bool cf_template_caps_row(const cf_template_caps *caps, size_t i, cf_cap_row *out);

CF_END_DECLS

#endif
