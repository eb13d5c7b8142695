/*
 * family_macros.h - the words in which families.c writes its rows.
 */
#ifndef CF_CORE_TOOLS_FAMILY_MACROS_H
#define CF_CORE_TOOLS_FAMILY_MACROS_H

#include "core/tools/tool_family.h"

#define WRITES(mark)                            \
    {                                           \
        mark, NULL, "the template writes " mark \
    }
#define WRITES_BOTH(mark, also)                              \
    {                                                        \
        mark, also, "the template writes " mark " and " also \
    }
#define HINT(word)                                    \
    {                                                 \
        word, NULL, "the model's metadata says " word \
    }
#define MARKER(text)                                          \
    {                                                         \
        CF_RULE_MARKER, CF_LEX_JSON, text, NULL, CF_PLACE_ANY \
    }
#define FENCE(lexer)                                   \
    {                                                  \
        CF_RULE_FENCE, lexer, NULL, NULL, CF_PLACE_ANY \
    }
#define SECTION(start, end)                                    \
    {                                                          \
        CF_RULE_SECTION, CF_LEX_JSON, start, end, CF_PLACE_ANY \
    }
#define CALL(lexer)                                   \
    {                                                 \
        CF_RULE_CALL, lexer, NULL, NULL, CF_PLACE_ANY \
    }
#define CHANNEL(name)                                                              \
    {                                                                              \
        cf_channel__##name, sizeof cf_channel__##name / sizeof *cf_channel__##name \
    }
/* Results between two literals. */
#define RESULT(open, close) .result_open = open, .result_close = close

/* U+FF5C and U+2581 of DeepSeek's marks. */
#define BAR            "\xEF\xBD\x9C"
#define LOW            "\xE2\x96\x81"
#define DS(text)       "<" BAR text BAR ">"
#define DSML(text)     "<" BAR "DSML" BAR text
#define DSML_END(text) "</" BAR "DSML" BAR text
#define GCML(text)     "<" BAR "GCML" BAR text
#define GCML_END(text) "</" BAR "GCML" BAR text
#define STEP(text)     "<" BAR text BAR ">"

#define ATEM_ARGUMENTS                                                                        \
    .param = "<atem:parameter name=\"", .key_end = "\">", .value_end = "</atem:parameter>\n", \
    .call_close = "</atem:invoke>"
#define MINIMAX "]<]minimax[>["

#define PLAMO(text)     "<|plamo:begin_" text ":plamo|>"
#define PLAMO_END(text) "<|plamo:end_" text ":plamo|>"

/* GLM's pairs of key and value in a tag; `line` is "\n" or "". */
#define PAIRS(tag, line)                                                               \
    .form = CF_FORM_TAGS, .between = line, .call_open = "<" tag ">", .name_end = line, \
    .param = "<arg_key>", .key_end = "</arg_key>" line, .value_open = "<arg_value>",   \
    .value_end = "</arg_value>" line, .call_close = "</" tag ">"
/* DeepSeek's invocations; `blank` is what stands after the bar. */
#define INVOKES(open_tag, end_tag, blank, block)                                                \
    .form = CF_FORM_TAGS, .open = open_tag(blank block ">\n"),                                  \
    .close = "\n" end_tag(blank block ">"), .between = "\n",                                    \
    .call_open = open_tag(blank "invoke name=\""), .name_end = "\">\n",                         \
    .param = open_tag(blank "parameter name=\""), .key_end = "\" string=\"", .attr_end = "\">", \
    .attr_is_flag = true, .name_alone = "\"/>", .value_end = end_tag(blank "parameter>\n"),     \
    .call_close = end_tag(blank "invoke>")

/* Hunyuan's, whose tags may carry a suffix. */
#define HY_PAIRS(suffix, name_ends)                                                 \
    .form = CF_FORM_TAGS, .open = "<tool_calls" suffix ">\n",                       \
    .close = "\n</tool_calls" suffix ">", .call_open = "<tool_call" suffix ">",     \
    .call_close = "</tool_call" suffix ">", .between = "\n", .name_end = name_ends, \
    .param = "<arg_key" suffix ">", .key_end = "</arg_key" suffix ">\n",            \
    .value_open = "<arg_value" suffix ">", .value_end = "</arg_value" suffix ">\n"

#endif
