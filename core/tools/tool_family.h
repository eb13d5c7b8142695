/*
 * tool_family.h - everything that is particular to a family of models: its
 * names, how it is detected, how its replies mark calls, and how calls,
 * declarations and results are written for it.
 *
 * The rows are in families.c; adding a family is adding a row.  All other
 * files of this folder read rows and know no family by name.
 *
 * Literals are given as models write them, with their line ends.  Readers
 * ignore the white space around a literal, and take any amount of it, or
 * none, where a literal has some inside.
 */
#ifndef CF_CORE_TOOLS_TOOL_FAMILY_H
#define CF_CORE_TOOLS_TOOL_FAMILY_H

#include "core/api/channel.h"
#include "core/api/tool.h"

/* A sign in a chat template or in a model's metadata. */
typedef struct cf_tool__sign {
    const char *text;
    const char *also; /* a second text that must also occur, or NULL */
    const char *why;  /* one phrase for the user */
} cf_tool__sign;

/* ---- reading ------------------------------------------------------------ */

typedef enum cf_tool__rule_kind {
    CF_RULE_NONE,
    CF_RULE_FENCE,       /* start and end literal */
    CF_RULE_JSON_FENCE,  /* the same, where JSON follows the start */
    CF_RULE_CODE_FENCE,  /* the same, the start followed by a space */
    CF_RULE_MARKDOWN,    /* ``` or ```json around a JSON call or list */
    CF_RULE_BARE_LIST,   /* a JSON list of calls at the start of a line */
    CF_RULE_BARE_OBJECT, /* a JSON call */
    CF_RULE_PYTHON_LINE, /* f(x=1) at the start of a line; the start is empty */
    CF_RULE_BARE_PYTHON, /* [f(x=1)] at the start of a line, or f is declared */
    CF_RULE_MISTRAL,     /* [TOOL_CALLS] and JSON, or name and JSON */
    CF_RULE_PREFIX,      /* a literal, then a JSON list */
    CF_RULE_SECTION,     /* literals around calls that have their own */
    CF_RULE_CALL,        /* one call as the syntax's form says */
    CF_RULE_MARKER,      /* a control token, not text */
    CF_RULE_SEPARATOR    /* ';' between two calls */
} cf_tool__rule_kind;

/* The lexer that finds the end of a block: it decides whether an end literal
 * is inside a string. */
typedef enum cf_tool__lexer {
    CF_LEX_JSON,
    CF_LEX_PYTHON,
    CF_LEX_PYTHON_LINES, /* Python whose short strings may span lines */
    CF_LEX_FC,
    CF_LEX_TAGS
} cf_tool__lexer;

/* Where in a reply a rule may apply. */
typedef enum cf_tool__place {
    CF_PLACE_ANY,
    CF_PLACE_MARK, /* at the start and after a marker or a block, but for space */
    CF_PLACE_NAME  /* anywhere; there a name, which is no text, may stand before it */
} cf_tool__place;

/* Start NULL: start and end are those of the syntax. */
typedef struct cf_tool__rule_row {
    cf_tool__rule_kind kind;
    cf_tool__lexer lexer;
    const char *start, *end; /* end NULL: brackets in balance */
    cf_tool__place place;
} cf_tool__rule_row;

/* ---- writing ------------------------------------------------------------ */

typedef enum cf_tool__form {
    CF_FORM_NONE,
    CF_FORM_JSON,   /* {"name": ..., "arguments": ...} */
    CF_FORM_KEYED,  /* {"NAME": {ARGUMENTS}} */
    CF_FORM_PYTHON, /* NAME(KEY=VALUE, ...) */
    CF_FORM_FC,     /* call:NAME{KEY:VALUE} */
    CF_FORM_NAMED,  /* [ID id_end] NAME name_end JSON */
    CF_FORM_TAGS    /* NAME name_end (param KEY key_end VALUE value_end)* */
} cf_tool__form;

/* How values are written where the form leaves it open. */
typedef enum cf_tool__values {
    CF_VALUES_JSON,  /* as Python's json.dumps: ", " and ": " */
    CF_VALUES_PYTHON /* True, None, 'x' */
} cf_tool__values;

/* How the id of a call is determined. */
typedef enum cf_tool__ids {
    CF_IDS_KEEP, /* the call's own */
    CF_IDS_INDEX /* functions.NAME:INDEX; the name is inside it */
} cf_tool__ids;

/* TAGS: how the text of a value becomes a value of the declared type. */
typedef enum cf_tool__typing {
    CF_TYPING_DECLARED, /* a string is the text as it is; others are read */
    CF_TYPING_JSON,     /* strings are JSON too; text that is none is a string */
    CF_TYPING_LOOSE     /* 1 and 0 are booleans, null is null for a string */
} cf_tool__typing;

typedef struct cf_tool__syntax {
    cf_tool__form form;
    cf_tool__values values;
    const char *open, *close;           /* around all calls of a reply */
    const char *call_open, *call_close; /* around each */
    const char *between;                /* two calls */
    bool each_opens;                    /* open and close are around each call */
    bool one_is_bare;                   /* a single call has no list brackets */
    bool python_api;                    /* PYTHON: print(...), default_api. may stand around */
    bool is_self_ended;                 /* NAMED: call_close may be missing after the arguments */
    const char *list_open, *list_close;
    const char *name_key, *args_key, *id_key; /* JSON; NULL: name, arguments */
    bool id_first;
    cf_tool__ids ids;
    const char *id_end, *name_end; /* NAMED and TAGS */
    const char *header_end;        /* NAMED: all that a reader needs of name_end */
    const char *param, *key_end;   /* TAGS */
    /* An attribute after the key (or name): the text before and after its
     * value, which is the argument's type: "true"/"false" for is-a-string, or
     * a type of JSON Schema. */
    const char *attr_end;
    bool attr_is_flag;
    const char *index_end;  /* TAGS: the name is followed by a counter */
    const char *name_again; /* TAGS: the name stands again, and counts; this follows it, or NULL */
    bool is_doubled;        /* TAGS: f.f is f where only that is declared */
    const char *others[2];  /* starts of messages that are no call, for constraints */
    const char *name_alone; /* TAGS: in place of name_end, a call without arguments, or NULL */
    const char *value_open; /* TAGS: an own tag before the value, or NULL */
    const char *value_end;
    const char *skipped, *skipped_end; /* TAGS: a tag after the key that is passed over, or NULL */
    cf_tool__typing typing;            /* TAGS */
    bool skips_lines;                  /* JSON: a line that is no call is passed over */
    /* TAGS: KEY is the tag's name; after value_end it stands again, with key_end.
     * Objects and lists are nested tags. */
    bool keys_are_tags;
    bool has_cdata;  /* TAGS: <![CDATA[...]]> around strings with marks */
    bool xml_attrs;  /* TAGS: & and " of names are escaped as in XML */
    const char *esc; /* FC: the marker around strings */
} cf_tool__syntax;

typedef enum cf_tool__declare {
    CF_DECLARE_LINES, /* JSON lines, OpenAI's form */
    CF_DECLARE_LIST,  /* a JSON list of it */
    CF_DECLARE_BARE,  /* a JSON list of the functions alone */
    CF_DECLARE_PYTHON,
    CF_DECLARE_TYPESCRIPT,
    CF_DECLARE_FC
} cf_tool__declare;

typedef struct cf_tool__row {
    const char *name;
    const char *also[3];    /* other names for it */
    cf_tool__sign marks[3]; /* in a chat template */
    cf_tool__sign hints[4]; /* in lower case, in architecture or name */
    bool name_first;        /* hints beat what a template says */
    cf_tool__rule_row rules[12];
    cf_tool__syntax calls;
    const cf_tool__syntax *variant; /* another spelling that is read, or NULL */
    cf_tool__declare declare;
    const char *declare_open, *declare_close; /* FC: around each */
    const char *result_open, *result_close;   /* %n in open: the name */
    bool result_is_fc;
    cf_tool__values result_values;
    cf_channel_set channels; /* its delimiters of thinking, unless a template shows others */
} cf_tool__row;

const cf_tool__row *cf_tool__row_of(cf_tool_family family);

/* text without white space at its ends */
cf_str cf_tool__trim(const char *text);

#endif
