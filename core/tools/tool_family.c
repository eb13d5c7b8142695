/*
 * tool_family.c - names of families and statuses, and which family a model
 * belongs to.
 */
#include <string.h>

#include "core/api/tool.h"

static const char *const family_names[CF_TOOL_FAMILY_N] = {
    [CF_TOOLS_NONE] = "none",
    [CF_TOOLS_GENERIC] = "generic",
    [CF_TOOLS_HERMES] = "hermes",
    [CF_TOOLS_GEMMA3] = "gemma3",
    [CF_TOOLS_FUNCTIONGEMMA] = "functiongemma",
    [CF_TOOLS_GEMMA4] = "gemma4",
    [CF_TOOLS_HAMMER] = "hammer",
    [CF_TOOLS_LLAMA_PYTHONIC] = "llama-pythonic",
    [CF_TOOLS_LLAMA_JSON] = "llama-json",
    [CF_TOOLS_MISTRAL] = "mistral",
    [CF_TOOLS_PHI4_MINI] = "phi4-mini",
    [CF_TOOLS_LFM2] = "lfm2",
};

const char *cf_tool_family_name(cf_tool_family family)
{
    return (unsigned)family < CF_TOOL_FAMILY_N ? family_names[family] : "none";
}

bool cf_tool_family_parse(cf_tool_family *out, cf_str name)
{
    static const struct {
        const char *name;
        cf_tool_family family;
    } more[] = {
        {"qwen", CF_TOOLS_HERMES},      {"qwen2.5", CF_TOOLS_HERMES},
        {"qwen3", CF_TOOLS_HERMES},     {"gemma3n", CF_TOOLS_GEMMA3},
        {"llama", CF_TOOLS_LLAMA_JSON}, {"phi4", CF_TOOLS_PHI4_MINI},
    };
    for (int i = 0; i < CF_TOOL_FAMILY_N; i++) {
        if (cf_str_is(name, family_names[i])) {
            *out = (cf_tool_family)i;
            return true;
        }
    }
    for (size_t i = 0; i < sizeof more / sizeof more[0]; i++) {
        if (cf_str_is(name, more[i].name)) {
            *out = more[i].family;
            return true;
        }
    }
    return false;
}

const char *cf_tool_status_name(cf_tool_status status)
{
    switch (status) {
    case CF_TOOL_VALID:
        return "VALID";
    case CF_TOOL_PARSE_ERROR:
        return "PARSE_ERROR";
    case CF_TOOL_INVALID_FUNCTION_NAME:
        return "INVALID_FUNCTION_NAME";
    case CF_TOOL_INVALID_PARAMETER_NAME:
        return "INVALID_PARAMETER_NAME";
    case CF_TOOL_MISSING_REQUIRED_PARAMETER:
        return "MISSING_REQUIRED_PARAMETER";
    case CF_TOOL_INVALID_PARAMETER_TYPE:
        return "INVALID_PARAMETER_TYPE";
    case CF_TOOL_INVALID_PARAMETER_VALUE:
        return "INVALID_PARAMETER_VALUE";
    }
    return "VALID";
}

static bool has(cf_str text, const char *what)
{
    size_t n = strlen(what);
    for (size_t i = 0; i + n <= text.n; i++) {
        if (text.p[i] == what[0] && memcmp(text.p + i, what, n) == 0) {
            return true;
        }
    }
    return false;
}

/* Whether `text` holds `what` (lower case), letters of either case. */
static bool has_word(cf_str text, const char *what)
{
    size_t n = strlen(what);
    for (size_t i = 0; i + n <= text.n; i++) {
        size_t k = 0;
        while (k < n) {
            char c = text.p[i + k];
            c = (char)(c >= 'A' && c <= 'Z' ? c + 32 : c);
            if (c != what[k]) {
                break;
            }
            k++;
        }
        if (k == n) {
            return true;
        }
    }
    return false;
}

cf_tool_family cf_tool_family_detect(cf_str chat_template, cf_str arch,
                                     cf_str model_name, const char **why)
{
    /* Marks in a template, the most telling first. */
    static const struct {
        const char *mark, *why;
        cf_tool_family family;
    } marks[] = {
        {"<|tool_call>", "the template writes <|tool_call>", CF_TOOLS_GEMMA4},
        {"<start_function_call>", "the template writes <start_function_call>",
         CF_TOOLS_FUNCTIONGEMMA},
        {"<|tool_call_start|>", "the template writes <|tool_call_start|>",
         CF_TOOLS_LFM2},
        {"[TOOL_CALLS]", "the template writes [TOOL_CALLS]", CF_TOOLS_MISTRAL},
        {"[BEGIN OF AVAILABLE TOOLS]",
         "the template writes [BEGIN OF AVAILABLE TOOLS]", CF_TOOLS_HAMMER},
        {"<tool_call>", "the template writes <tool_call>", CF_TOOLS_HERMES},
        {"tool_code", "the template writes tool_code", CF_TOOLS_GEMMA3},
        {"<|/tool|>", "the template writes <|/tool|>", CF_TOOLS_PHI4_MINI},
        {"func_name1(params_name1",
         "the template shows [func_name1(params_name1=...)]",
         CF_TOOLS_LLAMA_PYTHONIC},
        {"<|python_tag|>", "the template writes <|python_tag|>",
         CF_TOOLS_LLAMA_JSON},
        {"\"parameters\": dictionary of argument",
         "the template asks for name and parameters", CF_TOOLS_LLAMA_JSON},
    };
    static const struct {
        const char *name, *why;
        cf_tool_family family;
    } names[] = {
        {"hammer", "the model's name says hammer", CF_TOOLS_HAMMER},
        {"functiongemma", "the model's name says functiongemma",
         CF_TOOLS_FUNCTIONGEMMA},
        {"gemma4", "the architecture is gemma4", CF_TOOLS_GEMMA4},
        {"gemma3", "the architecture is gemma3", CF_TOOLS_GEMMA3},
        {"qwen", "the architecture is qwen", CF_TOOLS_HERMES},
        {"hermes", "the model's name says hermes", CF_TOOLS_HERMES},
        {"mistral", "the model's name says mistral", CF_TOOLS_MISTRAL},
        {"lfm2", "the architecture is lfm2", CF_TOOLS_LFM2},
        {"phi-4", "the model's name says phi-4", CF_TOOLS_PHI4_MINI},
        {"phi4", "the model's name says phi4", CF_TOOLS_PHI4_MINI},
        {"llama-3", "the model's name says llama-3", CF_TOOLS_LLAMA_JSON},
        {"llama 3", "the model's name says llama 3", CF_TOOLS_LLAMA_JSON},
    };
    if (has_word(model_name, "hammer")) {
        *why = names[0].why;
        return CF_TOOLS_HAMMER;
    }
    for (size_t i = 0; i < sizeof marks / sizeof marks[0]; i++) {
        if (has(chat_template, marks[i].mark)) {
            *why = marks[i].why;
            return marks[i].family;
        }
    }
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (has_word(model_name, names[i].name) ||
            has_word(arch, names[i].name)) {
            *why = names[i].why;
            return names[i].family;
        }
    }
    *why = "neither template nor metadata names a syntax";
    return CF_TOOLS_GENERIC;
}
