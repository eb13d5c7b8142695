/*
 * tool.h - tools that a model may call, how each family of models writes a
 * call, and the checks of a call.
 *
 * Place in the flow:  reply bytes --> [tool parser] --> calls --> validation
 *                     --> result --> next turn.
 * Knows: declarations, call syntax, schemas.  Does not know: engines, turns.
 *
 * A parse covers the raw bytes of one reply: every byte lies in exactly one
 * segment, and calls, arguments and findings refer to it by offset.  A failed
 * block is kept as it is, with the place and what was expected there; a repair
 * is offered with it and never applied.
 *
 * Threads:  a tool set is constant once made; a parser belongs to one thread.
 * Memory:   results live in the parser until it is freed.
 */
#ifndef CF_CORE_API_TOOL_H
#define CF_CORE_API_TOOL_H

#include "core/api/channel.h"
#include "core/base/arena.h"
#include "core/base/decls.h"
#include "core/base/status.h"
#include "core/base/str.h"
#include "core/json/json.h"

CF_BEGIN_DECLS

/* ---- declarations ------------------------------------------------------- */

typedef struct cf_tool {
    cf_str name, description;
    const json_t *parameters; /* JSON Schema of an object; NULL: none */
    const json_t *raw;        /* the declaration unchanged */
    size_t index;             /* of the item of the given list that has it */
    cf_str path;              /* in that item: ".functionDeclarations[1]"; may be empty */
} cf_tool;

typedef struct cf_tool_set cf_tool_set;

/*
 * Reads declarations: an array, or one of, {"type":"function","function":
 * {...}} (OpenAI), {"name",...} (FunctionDeclaration), {"function_declarations"
 * or "functionDeclarations":[...]} (a Tool of the function-calling SDK), or
 * an object that holds such an array under "tools".  Schema types may be in
 * upper case.  `v` NULL or null makes an empty set.
 * CF_EFORMAT with the index of the first bad declaration, CF_ENOMEM.
 */
CF_MUST_USE cf_status cf_tool_set_new(cf_tool_set **out, const json_t *v, cf_error *err);
void cf_tool_set_free(cf_tool_set *set);

/* The declarations in order; borrowed. */
const cf_tool *cf_tool_set_items(const cf_tool_set *set, size_t *n);

/* NULL when no tool has that name. */
const cf_tool *cf_tool_set_find(const cf_tool_set *set, cf_str name);

/* All of them in OpenAI's form, as chat templates read them; a new
 * reference, NULL when memory ran out. */
json_t *cf_tool_set_openai(const cf_tool_set *set);

/* ---- families ----------------------------------------------------------- */

/* In the order in which a template is searched for their marks.  What they
 * write is in docs/models/tool-formats.md. */
typedef enum cf_tool_family {
    CF_TOOLS_NONE,    /* nothing is a call */
    CF_TOOLS_GENERIC, /* a JSON call or list of calls, fenced or bare */
    CF_TOOLS_GEMMA4,
    CF_TOOLS_FUNCTIONGEMMA,
    CF_TOOLS_INKLING,
    CF_TOOLS_PANGU, /* LFM2's marks around a JSON list; named by its metadata */
    CF_TOOLS_LFM2,  /* <|tool_call_start|>[f(x=1)] */
    CF_TOOLS_HY_V4,
    CF_TOOLS_HY3,
    CF_TOOLS_SEED_OSS,
    CF_TOOLS_MUSE_GLIMMER, /* messages to recipients */
    CF_TOOLS_MINIMAX_M3,   /* arguments in nested tags */
    CF_TOOLS_MINIMAX_M2,
    CF_TOOLS_DEEPSEEK_V41,
    CF_TOOLS_DEEPSEEK_V32,
    CF_TOOLS_GIGACHAT35,
    CF_TOOLS_STEP3,
    CF_TOOLS_DEEPSEEK_V3,
    CF_TOOLS_DEEPSEEK_V31,
    CF_TOOLS_KIMI_K2,
    CF_TOOLS_KIMI_K3,
    CF_TOOLS_HARMONY, /* gpt-oss */
    CF_TOOLS_MINICPM5,
    CF_TOOLS_SOLAR_OPEN2,
    CF_TOOLS_SOLAR_OPEN,
    CF_TOOLS_PLAMO3,
    CF_TOOLS_K2_HORIZON,
    CF_TOOLS_LONGCAT,
    CF_TOOLS_INTERNLM2,
    CF_TOOLS_DOTS,
    CF_TOOLS_IQUEST_CODER,
    CF_TOOLS_IQUEST_Q1,
    CF_TOOLS_RWKV,
    CF_TOOLS_FIREFUNCTION,
    CF_TOOLS_GRANITE_20B,      /* <function_call> JSON */
    CF_TOOLS_GRANITE_PYTHONIC, /* f(x=1), a call a line */
    CF_TOOLS_GIGACHAT3,
    CF_TOOLS_COHERE, /* <|START_ACTION|> */
    CF_TOOLS_COMMAND_R,
    CF_TOOLS_APERTUS,
    CF_TOOLS_NEMOTRON,
    CF_TOOLS_OLMO3,
    CF_TOOLS_GRANITE,
    CF_TOOLS_QWEN3_CODER, /* <function=NAME><parameter=KEY> */
    CF_TOOLS_FUNCTIONARY, /* <function=NAME>{JSON}</function> */
    CF_TOOLS_SPARK,
    CF_TOOLS_HYPERCLOVAX, /* GLM's tags around JSON values */
    CF_TOOLS_GLM45,
    CF_TOOLS_MISTRAL,  /* [TOOL_CALLS] */
    CF_TOOLS_HAMMER,   /* ``` JSON list */
    CF_TOOLS_XLAM,     /* a JSON list in one of four wrappings */
    CF_TOOLS_ERNIE45,  /* hermes; the answer in <response> */
    CF_TOOLS_KIMI_K15, /* thinking alone */
    CF_TOOLS_APRIEL,
    CF_TOOLS_MINIMAX_M1,
    CF_TOOLS_HUNYUAN,
    CF_TOOLS_HERMES,         /* Qwen 2.5, Qwen 3, Hermes: <tool_call> JSON */
    CF_TOOLS_GEMMA3,         /* ```tool_code, Python calls */
    CF_TOOLS_PHI4_MINI,      /* <|tool_call|>[...] and functools[...] */
    CF_TOOLS_LLAMA_PYTHONIC, /* [f(x=1)] */
    CF_TOOLS_LLAMA_JSON,     /* {"name","parameters"} */
    CF_TOOL_FAMILY_N
} cf_tool_family;

/* "hermes", "llama-json" ... */
const char *cf_tool_family_name(cf_tool_family family);
/* Its thinking channel, unless the chat template names one. */
cf_channel_set cf_tool_family_channels(cf_tool_family family);
/* The marks that begin calls and end messages, which end thinking that does not
 * end itself; at most CF_CHANNEL_STOPS_MAX of constant texts.  How many. */
size_t cf_tool_family_stops(cf_tool_family family, cf_str *out);
/* By that name; false when there is no such family. */
bool cf_tool_family_parse(cf_tool_family *out, cf_str name);
/* The same, where a name that is not known is CF_EINVAL, with the nearest one. */
CF_MUST_USE cf_status cf_tool_family_read(cf_tool_family *out, cf_str name, cf_error *err);

/*
 * The family that a model most likely writes, from its chat template and its
 * metadata (either may be empty).  *why is a constant text naming what
 * decided it.
 */
cf_tool_family cf_tool_family_detect(cf_str chat_template, cf_str arch, cf_str model_name,
                                     const char **why);

/* ---- results ------------------------------------------------------------ */

typedef enum cf_tool_status {
    CF_TOOL_VALID,
    CF_TOOL_PARSE_ERROR,
    CF_TOOL_INVALID_FUNCTION_NAME,
    CF_TOOL_INVALID_PARAMETER_NAME,
    CF_TOOL_MISSING_REQUIRED_PARAMETER,
    CF_TOOL_INVALID_PARAMETER_TYPE,
    CF_TOOL_INVALID_PARAMETER_VALUE
} cf_tool_status;

/* "VALID", "PARSE_ERROR" ... */
const char *cf_tool_status_name(cf_tool_status status);

/* The position of a value of a call in the raw bytes. */
typedef struct cf_tool_span {
    cf_str path; /* "location", "filter.tags[2]" */
    size_t off, len;
} cf_tool_span;

#define CF_TOOL_NO_CALL SIZE_MAX

/* One thing that is wrong (status not CF_TOOL_VALID) or worth knowing. */
typedef struct cf_tool_finding {
    cf_tool_status status; /* CF_TOOL_VALID for a note */
    size_t call;           /* index, or CF_TOOL_NO_CALL */
    size_t off, len;       /* of the raw bytes it is about; len may be 0 */
    cf_str path;           /* of the argument; empty: the call itself */
    cf_str text;           /* one line for the user */
} cf_tool_finding;

typedef struct cf_tool_call {
    cf_str name;
    cf_str id;          /* empty where the syntax has none */
    cf_str arguments;   /* compact JSON object; integers of any size in
                           their own digits, doubles shortest */
    const json_t *json; /* the same; integers over 64 bits as doubles */
    size_t off, len;    /* of the raw bytes */
    size_t name_off, name_len;
    size_t args_off, args_len; /* of the arguments; len 0: there were none */
    const cf_tool_span *spans; /* every value inside the arguments */
    size_t n_spans;
    cf_tool_status status; /* of its first finding */
} cf_tool_call;

typedef enum cf_tool_segment_kind {
    CF_TOOL_SEG_TEXT,
    CF_TOOL_SEG_CALLS,  /* a block: fences and what they hold */
    CF_TOOL_SEG_FAILED, /* a block whose inside breaks its syntax */
    CF_TOOL_SEG_MARKER  /* control tokens and separators around calls */
} cf_tool_segment_kind;

/* Segments cover the raw bytes in order, with no gap and no overlap. */
typedef struct cf_tool_segment {
    cf_tool_segment_kind kind;
    size_t off, len;
    size_t body_off, body_len; /* without fences; a block only */
    size_t first_call, n_calls;
    size_t error_off;  /* FAILED: the byte where it broke */
    cf_str expected;   /* FAILED: what could have stood there */
    cf_str repair;     /* FAILED: the nearest text that parses, or empty */
    cf_str repair_how; /* "insert '}' at byte 40" */
} cf_tool_segment;

typedef struct cf_tool_parse {
    cf_str raw;
    const cf_tool_segment *segments;
    size_t n_segments;
    const cf_tool_call *calls;
    size_t n_calls;
    const cf_tool_finding *findings; /* in the order of the raw bytes */
    size_t n_findings;
    cf_tool_status status; /* of the first bad call or block, else VALID */
} cf_tool_parse;

/* ---- parsing ------------------------------------------------------------ */

typedef enum cf_tool_event_kind {
    CF_TOOL_EV_TEXT,   /* raw[off..off+len) is text */
    CF_TOOL_EV_DELTA,  /* raw[off..off+len) belongs to an open block, which
                          may still turn out to be text */
    CF_TOOL_EV_CALL,   /* parse->calls[index] is complete, and checked when
                          there is a tool set */
    CF_TOOL_EV_FAILED, /* parse->segments[index] is a failed block */
    CF_TOOL_EV_RETRACT /* the open block is text after all; its bytes follow
                          as CF_TOOL_EV_TEXT */
} cf_tool_event_kind;

typedef struct cf_tool_event {
    cf_tool_event_kind kind;
    size_t off, len;
    size_t index;
    const cf_tool_parse *parse; /* so far; borrowed until the next feed */
} cf_tool_event;

typedef void (*cf_tool_event_fn)(const cf_tool_event *event, void *ud);

typedef struct cf_tool_parser cf_tool_parser;

/*
 * A parser for one reply.  `tools` (may be NULL) is borrowed; it decides
 * doubtful cases of the families without fences and is needed to validate.
 * `fn` may be NULL.
 */
CF_MUST_USE cf_status cf_tool_parser_new(cf_tool_parser **out, cf_tool_family family,
                                         const cf_tool_set *tools, cf_tool_event_fn fn, void *ud,
                                         cf_error *err);
void cf_tool_parser_free(cf_tool_parser *parser);

/*
 * Feeds the next bytes of the reply.  However a reply is cut into chunks, the
 * finished parse is the same, and so is the order of text, calls and failed
 * blocks.  Text is reported as soon as it can no longer be the start of a
 * call.  CF_ENOMEM, CF_ELIMIT (a reply over 16 MiB); after a failure the
 * parser can only be freed.
 */
CF_MUST_USE cf_status cf_tool_parser_feed(cf_tool_parser *parser, const char *p, size_t n,
                                          cf_error *err);

/* Ends the input: pending bytes become text or calls.  *out is borrowed from
 * the parser. */
CF_MUST_USE cf_status cf_tool_parser_finish(cf_tool_parser *parser, const cf_tool_parse **out,
                                            cf_error *err);

/* Whether a block is open, so that the last bytes may belong to a call. */
bool cf_tool_parser_in_block(const cf_tool_parser *parser);

/* A call of the open block, as far as it is written. */
typedef struct cf_tool_so_far {
    cf_str name;
    cf_str id;        /* empty where the syntax has none */
    cf_str arguments; /* of the last call the beginning of what it will have,
                         unless the block breaks its syntax later */
} cf_tool_so_far;

/*
 * The calls of the open block; *n is 0 where there is none, where its calls
 * cannot be told from text yet, and in the middle of what is not a value.  The
 * first is call *first of the reply.  In the arena.  CF_ENOMEM.
 * Cost: the length of the block.
 */
CF_MUST_USE cf_status cf_tool_parser_so_far(const cf_tool_parser *parser, cf_arena *arena,
                                            cf_tool_so_far **out, size_t *n, size_t *first,
                                            cf_error *err);

/* Appends the text of a finished parse: text segments, and failed blocks
 * with their fences, so that nothing disappears. */
void cf_tool_parse_text(const cf_tool_parse *parse, cf_buf *out);

/* For a reply in which the family finds no call: the byte up to which it could
 * be one, and what was expected there. */
void cf_tool_family_closest(cf_tool_family family, cf_str raw, size_t *byte, cf_buf *expected);

/* ---- formatting --------------------------------------------------------- */

/*
 * Appends one block with the calls as the family writes them.  `arguments` of
 * each call is JSON text of an object.  CF_EUNSUPPORTED when the syntax
 * cannot express a value (a string that holds every escape marker, a name
 * that is not an identifier), CF_EFORMAT if arguments are not a JSON object.
 */
CF_MUST_USE cf_status cf_tool_format_calls(cf_buf *out, cf_tool_family family,
                                           const cf_tool_call *calls, size_t n, cf_error *err);

/* Appends the declarations as text, in the form the family was trained on:
 * JSON lines, Python stubs, or declaration:NAME{...}. */
CF_MUST_USE cf_status cf_tool_format_declarations(cf_buf *out, cf_tool_family family,
                                                  const cf_tool_set *tools, cf_error *err);

/* Appends a tool's result as the family shows it to the model. */
CF_MUST_USE cf_status cf_tool_format_result(cf_buf *out, cf_tool_family family, cf_str name,
                                            const json_t *result, cf_error *err);

CF_END_DECLS

#endif
