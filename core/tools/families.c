/*
 * families.c - has one row for each family of models, with all that is
 * particular to it.
 *
 * The order of the enumeration in core/api/tool.h is the order in which a
 * template is searched for marks, the most telling first.
 *
 * Sources: the families' published chat templates, and what their models
 * write; docs/models/tool-formats.md has the grammars and the variants.
 */
#include "core/tools/channels.h"
#include "core/tools/family_macros.h"

static const cf_tool__syntax hy3_plain = {HY_PAIRS("", "<tool_sep>\n")};
/* a second call in one message */
static const cf_tool__syntax atem_next = {.form = CF_FORM_TAGS,
                                          .close = "</atem:function_calls>",
                                          .call_open = "<atem:invoke name=\"",
                                          .name_end = "\">",
                                          .is_doubled = true,
                                          ATEM_ARGUMENTS};
static const cf_tool__syntax hy_v4_plain = {HY_PAIRS("", "\n")};

static const cf_tool__row rows[CF_TOOL_FAMILY_N] =
    {
        [CF_TOOLS_NONE] = {.name = "none"},
        [CF_TOOLS_GENERIC] =
            {
                .name = "generic", /* any: a JSON call or list, fenced or bare */
                .rules = {{CF_RULE_FENCE, CF_LEX_JSON, "<tool_call>", "</tool_call>", CF_PLACE_ANY},
                          {CF_RULE_MARKDOWN, CF_LEX_JSON, "```", "```", CF_PLACE_ANY},
                          {CF_RULE_BARE_LIST, CF_LEX_JSON, "[", NULL, CF_PLACE_ANY},
                          {CF_RULE_BARE_OBJECT, CF_LEX_JSON, "{", NULL, false},
                          {CF_RULE_SEPARATOR, CF_LEX_JSON, ";", NULL, CF_PLACE_ANY}},
                .calls = {.form = CF_FORM_JSON,
                          .call_open = "<tool_call>\n",
                          .call_close = "\n</tool_call>",
                          .between = "\n"},
                .channels = CHANNEL(think),
            },
        [CF_TOOLS_GEMMA4] =
            {
                .name = "gemma4", /* Gemma 4 */
                .marks = {WRITES("<|tool_call>")},
                .hints = {HINT("gemma4")},
                .rules = {FENCE(CF_LEX_FC), MARKER("<|tool_response>"), MARKER("<turn|>"),
                          MARKER("<|channel>thought"), MARKER("<|channel>"), MARKER("<channel|>")},
                .calls = {.form = CF_FORM_FC,
                          .call_open = "<|tool_call>",
                          .call_close = "<tool_call|>",
                          .esc = "<|\"|>"},
                .declare = CF_DECLARE_FC,
                .declare_open = "<|tool>",
                .declare_close = "<tool|>",
                RESULT("<|tool_response>", "<tool_response|>"),
                .result_is_fc = true,
                .channels = CHANNEL(gemma4),
            },
        [CF_TOOLS_FUNCTIONGEMMA] =
            {
                .name = "functiongemma", /* FunctionGemma */
                .marks = {WRITES("<start_function_call>")},
                .hints = {HINT("functiongemma")},
                .rules = {FENCE(CF_LEX_FC), MARKER("<start_function_response>"),
                          MARKER("<end_of_turn>")},
                .calls = {.form = CF_FORM_FC,
                          .call_open = "<start_function_call>",
                          .call_close = "<end_function_call>",
                          .esc = "<escape>"},
                .declare = CF_DECLARE_FC,
                .declare_open = "<start_function_declaration>",
                .declare_close = "<end_function_declaration>",
                RESULT("<start_function_response>", "<end_function_response>"),
                .result_is_fc = true,
            },
        [CF_TOOLS_INKLING] =
            {
                .name = "inkling", /* Inkling */
                .marks = {WRITES("<|content_invoke_tool_json|>")},
                .hints = {HINT("inkling")},
                .rules = {{CF_RULE_FENCE, CF_LEX_JSON, "<|content_invoke_tool_json|>",
                           "<|end_message|>", CF_PLACE_NAME},
                          {CF_RULE_MARKER, CF_LEX_JSON, "<|message_model|>", NULL, CF_PLACE_MARK},
                          {CF_RULE_MARKER, CF_LEX_JSON, "<|content_text|>", NULL, CF_PLACE_MARK},
                          MARKER("<|end_message|>"),
                          MARKER("<|content_model_end_sampling|>")},
                .calls = {.form = CF_FORM_JSON,
                          .call_open = "<|content_invoke_tool_json|>",
                          .call_close = "<|end_message|>",
                          .between = "<|message_model|>",
                          .args_key = "args"},
                .channels = CHANNEL(inkling),
            },
        [CF_TOOLS_PANGU] =
            {
                .name = "pangu", /* openPangu */
                .also = {"openpangu"},
                .hints = {HINT("pangu")},
                .name_first = true,
                .rules = {FENCE(CF_LEX_JSON)},
                .calls = {.form = CF_FORM_JSON,
                          .open = "<|tool_call_start|>",
                          .close = "<|tool_call_end|>",
                          .list_open = "[",
                          .list_close = "]",
                          .between = ", "},
                .channels = CHANNEL(think),
            },
        [CF_TOOLS_LFM2] =
            {
                .name = "lfm2", /* LFM2, LFM2.5 */
                .marks = {WRITES("<|tool_call_start|>"), WRITES("<|tool_list_start|>"),
                          WRITES_BOTH("List of tools: [", "keep_past_thinking")},
                .hints = {HINT("lfm2")},
                .rules = {FENCE(CF_LEX_PYTHON_LINES),
                          {CF_RULE_BARE_PYTHON, CF_LEX_PYTHON_LINES, "[", NULL, CF_PLACE_ANY},
                          MARKER("<|im_end|>")},
                .calls = {.form = CF_FORM_PYTHON,
                          .values = CF_VALUES_PYTHON,
                          .open = "<|tool_call_start|>",
                          .close = "<|tool_call_end|>",
                          .list_open = "[",
                          .list_close = "]",
                          .between = ", "},
                .declare = CF_DECLARE_BARE,
                RESULT("<|tool_response_start|>", "<|tool_response_end|>"),
                .channels = CHANNEL(think),
            },
        [CF_TOOLS_HY_V4] =
            {
                .name = "hy-v4", /* Hunyuan 4 */
                .hints = {HINT("hy4"), HINT("hunyuan-4"), HINT("hy-v4")},
                .name_first = true,
                .rules = {SECTION(NULL, NULL), CALL(CF_LEX_TAGS)},
                .calls = {HY_PAIRS(":opensource", "\n")},
                .variant = &hy_v4_plain,
                .channels = CHANNEL(hy3),
            },
        [CF_TOOLS_HY3] =
            {
                .name = "hy3", /* Hunyuan 3; without the suffix its preview */
                .marks = {WRITES("tool_call:opensource>"), WRITES_BOTH("<tool_sep>", "<arg_key>")},
                .hints = {HINT("hy3"), HINT("hunyuan-3")},
                .rules = {SECTION(NULL, NULL), CALL(CF_LEX_TAGS),
                          MARKER("<" BAR "hy_eos:opensource" BAR ">")},
                .calls = {HY_PAIRS(":opensource", "<tool_sep:opensource>\n")},
                .variant = &hy3_plain,
                RESULT("<tool_responses:opensource>\n<tool_response:opensource>",
                       "</tool_response:opensource>\n"
                       "</tool_responses:opensource>"),
                .channels = CHANNEL(hy3),
            },
        [CF_TOOLS_SEED_OSS] =
            {
                .name = "seed-oss", /* Seed-OSS */
                .marks = {WRITES("<seed:tool_call>")},
                .hints = {HINT("seed_oss"), HINT("seed-oss")},
                .rules = {SECTION(NULL, NULL), CALL(CF_LEX_TAGS), MARKER("<seed:eos>")},
                .calls = {.form = CF_FORM_TAGS,
                          .values = CF_VALUES_PYTHON,
                          .open = "<seed:tool_call>\n",
                          .close = "\n</seed:tool_call>",
                          .each_opens = true,
                          .between = "\n",
                          .call_open = "<function=",
                          .name_end = ">\n",
                          .param = "<parameter=",
                          .key_end = ">",
                          .value_end = "</parameter>\n",
                          .call_close = "</function>"},
                .channels = CHANNEL(seed),
            },
        [CF_TOOLS_MUSE_GLIMMER] =
            {
                .name = "muse-glimmer", /* Muse Glimmer */
                .marks = {WRITES("<atem:function_calls>")},
                .hints = {HINT("muse-glimmer"), HINT("muse_glimmer")},
                .rules = {{CF_RULE_MARKER, CF_LEX_JSON, "to=user<|message|>", NULL, CF_PLACE_MARK},
                          {CF_RULE_MARKER, CF_LEX_JSON, "<|start|>assistant to=user<|message|>",
                           NULL, CF_PLACE_MARK},
                          {CF_RULE_CALL, CF_LEX_TAGS, NULL, NULL, CF_PLACE_MARK},
                          {CF_RULE_CALL, CF_LEX_TAGS, "<|start|>assistant to=", "</atem:invoke>",
                           CF_PLACE_MARK},
                          {CF_RULE_MARKER, CF_LEX_JSON, "</atem:function_calls>", NULL,
                           CF_PLACE_MARK},
                          MARKER("<|eom|>"),
                          MARKER("<|eot|>")},
                .calls = {.form = CF_FORM_TAGS,
                          .each_opens = true,
                          .close = "\n</atem:function_calls>",
                          .call_open = " to=",
                          .name_end = "<|message|><atem:function_calls>\n<atem:invoke name=\"",
                          .name_again = "\">\n",
                          .is_doubled = true,
                          .others = {" to=self<|message|>", " to=user<|message|>"},
                          .between = "<|eom|><|start|>assistant",
                          ATEM_ARGUMENTS},
                .variant = &atem_next,
                .channels = CHANNEL(muse),
            },
        [CF_TOOLS_MINIMAX_M3] =
            {
                .name = "minimax-m3", /* MiniMax M3 */
                .marks = {WRITES(MINIMAX)},
                .hints = {HINT("minimax-m3"), HINT("minimax_m3")},
                .rules = {SECTION(NULL, NULL), CALL(CF_LEX_TAGS), MARKER("[e~[")},
                .calls = {.form = CF_FORM_TAGS,
                          .open = MINIMAX "<tool_call>\n",
                          .close = "\n" MINIMAX "</tool_call>",
                          .between = "\n",
                          .call_open = MINIMAX "<invoke name=\"",
                          .name_end = "\">",
                          .param = MINIMAX "<",
                          .key_end = ">",
                          .keys_are_tags = true,
                          .value_end = MINIMAX "</",
                          .call_close = MINIMAX "</invoke>"},
                RESULT("<response>", "</response>"),
                .channels = CHANNEL(minimax_m3),
            },
        [CF_TOOLS_MINIMAX_M2] =
            {
                .name = "minimax-m2", /* MiniMax M2, M2.1, M2.5, M2.7 */
                .marks = {WRITES("<minimax:tool_call>")},
                .hints = {HINT("minimax-m2"), HINT("minimax_m2")},
                .rules = {SECTION(NULL, NULL), CALL(CF_LEX_TAGS), MARKER("[e~[")},
                .calls = {.form = CF_FORM_TAGS,
                          .open = "<minimax:tool_call>\n",
                          .close = "\n</minimax:tool_call>",
                          .between = "\n",
                          .call_open = "<invoke name=\"",
                          .name_end = "\">\n",
                          .param = "<parameter name=\"",
                          .key_end = "\">",
                          .value_end = "</parameter>\n",
                          .call_close = "</invoke>"},
                RESULT("<response>", "</response>"),
                .channels = CHANNEL(think),
            },
        [CF_TOOLS_DEEPSEEK_V41] =
            {
                .name = "deepseek-v4.1", /* DeepSeek V4.1: V4's tags with a blank after the bar */
                .marks = {WRITES(BAR "DSML" BAR " calls")},
                .hints = {HINT("deepseek-v4.1")},
                .rules = {SECTION(NULL, NULL), CALL(CF_LEX_TAGS),
                          MARKER(DS("end" LOW "of" LOW "sentence"))},
                .calls = {INVOKES(DSML, DSML_END, " ", "calls")},
                RESULT("<function_results>\n<result>", "</result>\n</function_results>"),
                .channels = CHANNEL(think),
            },
        [CF_TOOLS_DEEPSEEK_V32] =
            {
                .name = "deepseek-v3.2", /* DeepSeek V3.2 and V4 */
                .also = {"deepseek-v4", "dsml"},
                .marks = {WRITES(BAR "DSML" BAR)},
                .hints = {HINT("deepseek-v3.2"), HINT("deepseek-v4")},
                .rules = {SECTION(NULL, NULL),
                          SECTION(DSML("tool_calls>"), DSML_END("tool_calls>")), CALL(CF_LEX_TAGS),
                          MARKER(DS("end" LOW "of" LOW "sentence"))},
                .calls = {INVOKES(DSML, DSML_END, "", "function_calls")},
                RESULT("<function_results>\n<result>", "</result>\n</function_results>"),
                .channels = CHANNEL(think),
            },
        [CF_TOOLS_GIGACHAT35] =
            {
                .name = "gigachat3.5", /* GigaChat 3.5: DeepSeek's tags under another name */
                .marks = {WRITES(BAR "GCML" BAR)},
                .hints = {HINT("gigachat3.5"), HINT("gigachat-3.5")},
                .rules = {SECTION(NULL, NULL), CALL(CF_LEX_TAGS)},
                .calls = {INVOKES(GCML, GCML_END, "", "tool_calls")},
                .channels = CHANNEL(think),
            },
        [CF_TOOLS_STEP3] =
            {
                .name = "step3", /* Step 3 */
                .marks = {WRITES("<steptml:invoke")},
                .hints = {HINT("step3"), HINT("step-3")},
                .rules = {SECTION(NULL, NULL),
                          CALL(CF_LEX_TAGS),
                          {CF_RULE_CALL, CF_LEX_TAGS,
                           STEP("tool_call_begin") "<steptml:invoke name=\"",
                           "</steptml:invoke>" STEP("tool_call_end"), CF_PLACE_ANY}},
                .calls =
                    {
                        .form = CF_FORM_TAGS,
                        .open = STEP("tool_calls_begin") "\n",
                        .close = "\n" STEP("tool_calls_end"),
                        .between = "\n",
                        .call_open =
                            STEP("tool_call_begin") "function" STEP(
                                "tool_sep") "<steptml:invoke name=\"",
                        .name_end = "\">",
                        .param = "<steptml:parameter name=\"",
                        .key_end = "\">",
                        .value_end = "</steptml:parameter>",
                        .call_close = "</steptml:invoke>" STEP("tool_call_end")},
                .channels = CHANNEL(think),
            },
        [CF_TOOLS_DEEPSEEK_V3] =
            {
                .name = "deepseek-v3", /* DeepSeek V3, R1 and its distillates */
                .also = {"deepseek-r1"},
                .marks = {WRITES_BOTH(DS("tool" LOW "sep"), "```json")},
                .hints = {HINT("deepseek-v3-"), HINT("deepseek-r1")},
                .rules = {SECTION(NULL, NULL), CALL(CF_LEX_JSON),
                          MARKER(DS("end" LOW "of" LOW "sentence"))},
                .calls = {.form = CF_FORM_NAMED,
                          .open = DS("tool" LOW "calls" LOW "begin"),
                          .close = DS("tool" LOW "calls" LOW "end"),
                          .between = "\n",
                          .call_open =
                              DS("tool" LOW "call" LOW "begin") "function" DS("tool" LOW "sep"),
                          .name_end = "\n```json\n",
                          .call_close = "\n```" DS("tool" LOW "call" LOW "end")},
                RESULT(DS("tool" LOW "outputs" LOW "begin") DS("tool" LOW "output" LOW "begin"),
                       DS("tool" LOW "output" LOW "end") DS("tool" LOW "outputs" LOW "end")),
                .channels = CHANNEL(think),
            },
        [CF_TOOLS_DEEPSEEK_V31] =
            {
                .name = "deepseek-v3.1", /* DeepSeek V3.1 */
                .marks = {WRITES(DS("tool" LOW "sep"))},
                .hints = {HINT("deepseek-v3.1")},
                .rules = {SECTION(NULL, NULL), CALL(CF_LEX_JSON),
                          MARKER(DS("end" LOW "of" LOW "sentence"))},
                .calls = {.form = CF_FORM_NAMED,
                          .open = DS("tool" LOW "calls" LOW "begin"),
                          .close = DS("tool" LOW "calls" LOW "end"),
                          .call_open = DS("tool" LOW "call" LOW "begin"),
                          .name_end = DS("tool" LOW "sep"),
                          .call_close = DS("tool" LOW "call" LOW "end")},
                RESULT(DS("tool" LOW "output" LOW "begin"), DS("tool" LOW "output" LOW "end")),
                .channels = CHANNEL(think),
            },
        [CF_TOOLS_KIMI_K2] =
            {
                .name = "kimi-k2", /* Kimi K2, K2 Thinking, K2.5 */
                .marks = {WRITES("<|tool_call_argument_begin|>"),
                          WRITES("<|tool_calls_section_begin|>")},
                .hints = {HINT("kimi-k2")},
                .rules = {SECTION(NULL, NULL),
                          SECTION("<|tool_call_section_begin|>", "<|tool_call_section_end|>"),
                          CALL(CF_LEX_JSON), MARKER("<|im_end|>")},
                .calls = {.form = CF_FORM_NAMED,
                          .ids = CF_IDS_INDEX,
                          .is_self_ended = true,
                          .open = "<|tool_calls_section_begin|>",
                          .close = "<|tool_calls_section_end|>",
                          .call_open = "<|tool_call_begin|>",
                          .name_end = "<|tool_call_argument_begin|>",
                          .call_close = "<|tool_call_end|>"},
                RESULT("## Return of %n\n", ""),
                .channels = CHANNEL(think),
            },
        [CF_TOOLS_KIMI_K3] =
            {
                .name = "kimi-k3", /* Kimi K3 */
                .marks = {WRITES_BOTH("<|open|>", "<|close|>")},
                .hints = {HINT("kimi-k3")},
                .rules = {SECTION(NULL, NULL), CALL(CF_LEX_TAGS), MARKER("<|open|>response<|sep|>"),
                          MARKER("<|close|>response<|sep|>"), MARKER("<|close|>message<|sep|>"),
                          MARKER("<|end_of_msg|>")},
                .calls = {.form = CF_FORM_TAGS,
                          .open = "<|open|>tools<|sep|>",
                          .close = "<|close|>tools<|sep|>",
                          .call_open = "<|open|>call tool=\"",
                          .name_end = "\" index=\"",
                          .index_end = "\"<|sep|>",
                          .param = "<|open|>argument key=\"",
                          .key_end = "\" type=\"",
                          .attr_end = "\"<|sep|>",
                          .value_end = "<|close|>argument<|sep|>",
                          .call_close = "<|close|>call<|sep|>",
                          .xml_attrs = true},
                RESULT("<|open|>message role=\"tool\" tool=\"%n\"<|sep|>",
                       "<|close|>message<|sep|>"),
                .channels = CHANNEL(kimi_k3),
            },
        [CF_TOOLS_HARMONY] =
            {
                .name = "harmony", /* gpt-oss */
                .also = {"gpt-oss"},
                .marks = {WRITES_BOTH("<|channel|>", "<|message|>")},
                .hints = {HINT("gpt-oss"), HINT("gpt_oss")},
                .rules = {{CF_RULE_CALL, CF_LEX_JSON, "to=functions.", NULL, CF_PLACE_MARK},
                          {CF_RULE_CALL, CF_LEX_JSON, "<|channel|>commentary to=functions.", NULL,
                           CF_PLACE_ANY},
                          {CF_RULE_CALL, CF_LEX_JSON, "<|channel|>analysis to=functions.", NULL,
                           CF_PLACE_ANY},
                          {CF_RULE_MARKER, CF_LEX_JSON, "<|channel|>commentary to=assistant", NULL,
                           CF_PLACE_ANY},
                          {CF_RULE_CALL, CF_LEX_JSON, "to=", NULL, CF_PLACE_MARK},
                          MARKER("<|channel|>final <|constrain|>json<|message|>"),
                          MARKER("<|start|>assistant"),
                          MARKER("<|channel|>final<|message|>"),
                          MARKER("<|channel|>commentary<|message|>"),
                          MARKER("<|end|>"),
                          MARKER("<|call|>"),
                          MARKER("<|return|>")},
                .calls = {.form = CF_FORM_NAMED,
                          .call_open = " to=functions.",
                          .name_end = "<|channel|>commentary json<|message|>",
                          .header_end = "<|message|>",
                          .call_close = "<|call|>",
                          .between = "<|start|>assistant"},
                .declare = CF_DECLARE_TYPESCRIPT,
                RESULT("<|start|>functions.%n to=assistant<|channel|>commentary"
                       "<|message|>",
                       "<|end|>"),
                .channels = CHANNEL(harmony),
            },
        [CF_TOOLS_MINICPM5] =
            {
                .name = "minicpm5", /* MiniCPM 5 */
                .marks = {WRITES("<param name=")},
                .hints = {HINT("minicpm5")},
                .rules = {CALL(CF_LEX_TAGS), MARKER("<|im_end|>")},
                .calls = {.form = CF_FORM_TAGS,
                          .values = CF_VALUES_PYTHON,
                          .between = "\n",
                          .call_open = "<function name=\"",
                          .name_end = "\">",
                          .param = "<param name=\"",
                          .key_end = "\">",
                          .value_end = "</param>",
                          .call_close = "</function>",
                          .has_cdata = true},
                RESULT("<tool_response>\n", "\n</tool_response>"),
                .channels = CHANNEL(think),
            },
        [CF_TOOLS_SOLAR_OPEN2] =
            {
                .name = "solar-open2", /* Solar Open 2 */
                .marks = {WRITES("<|tool_call:start|>")},
                .hints = {HINT("solar-open2"), HINT("solar_open2")},
                .rules = {CALL(CF_LEX_TAGS)},
                .calls = {.form = CF_FORM_TAGS,
                          .between = "\n",
                          .call_open = "<|tool_call:start|>",
                          .name_end = "\n",
                          .param = "<|tool_arg:start|>",
                          .key_end = "<|tool_arg:value|>",
                          .value_end = "<|tool_arg:end|>\n",
                          .call_close = "<|tool_call:end|>"},
                .channels = CHANNEL(solar2),
            },
        [CF_TOOLS_SOLAR_OPEN] =
            {
                .name = "solar-open", /* Solar Open */
                .marks = {WRITES("<|tool_call:begin|>")},
                .hints = {HINT("solar-open"), HINT("solar_open")},
                .rules = {SECTION(NULL, NULL), CALL(CF_LEX_JSON), MARKER("<|content|>"),
                          MARKER("<|end|>"), MARKER("<|begin|>assistant"), MARKER("<|flush|>")},
                .calls = {.form = CF_FORM_NAMED,
                          .open = "<|tool_calls|>",
                          .close = "<|calls|>",
                          .call_open = "<|tool_call:begin|>",
                          .id_end = "<|tool_call:name|>",
                          .name_end = "<|tool_call:args|>",
                          .call_close = "<|tool_call:end|>"},
                RESULT("<|tool_response|>", ""),
                .channels = CHANNEL(solar),
            },
        [CF_TOOLS_PLAMO3] =
            {
                .name = "plamo3", /* PLaMo 3 */
                .marks = {WRITES(PLAMO("tool_requests"))},
                .hints = {HINT("plamo3"), HINT("plamo-3")},
                .rules = {SECTION(NULL, NULL), CALL(CF_LEX_JSON), MARKER("<|plamo:tag|>")},
                .calls = {.form = CF_FORM_NAMED,
                          .open = PLAMO("tool_requests"),
                          .close = PLAMO_END("tool_requests"),
                          .call_open = PLAMO("tool_request") PLAMO("tool_name"),
                          .name_end = PLAMO_END("tool_name") PLAMO("tool_arguments"),
                          .call_close = PLAMO_END("tool_arguments") PLAMO_END("tool_request")},
                .channels = CHANNEL(think),
            },
        [CF_TOOLS_K2_HORIZON] =
            {
                .name = "k2-horizon", /* K2 Horizon */
                .marks = {WRITES("<ifm|tool_call>")},
                .hints = {HINT("k2-horizon")},
                .rules = {SECTION(NULL, NULL),
                          {CF_RULE_JSON_FENCE, CF_LEX_JSON, "<ifm|tool_call>", "</ifm|tool_call>",
                           CF_PLACE_ANY},
                          CALL(CF_LEX_TAGS)},
                .calls = {.form = CF_FORM_TAGS,
                          .open = "<ifm|tool_calls>\n",
                          .close = "\n</ifm|tool_calls>",
                          .between = "\n",
                          .call_open = "<ifm|tool_call>",
                          .name_end = "",
                          .param = "<ifm|arg_key>",
                          .key_end = "</ifm|arg_key>",
                          .value_open = "<ifm|arg_value>",
                          .value_end = "</ifm|arg_value>",
                          .call_close = "</ifm|tool_call>",
                          .skipped = "<ifm|arg_type>",
                          .skipped_end = "</ifm|arg_type>"},
                .channels = CHANNEL(k2_horizon),
            },
        [CF_TOOLS_LONGCAT] =
            {
                .name = "longcat", /* LongCat Flash Chat */
                .marks = {WRITES("<longcat_tool_call>")},
                .hints = {HINT("longcat")},
                .rules = {FENCE(CF_LEX_JSON)},
                .calls = {.form = CF_FORM_JSON,
                          .call_open = "<longcat_tool_call>\n",
                          .call_close = "\n</longcat_tool_call>",
                          .between = "\n"},
                .channels = CHANNEL(longcat),
            },
        [CF_TOOLS_INTERNLM2] =
            {
                .name = "internlm2", /* InternLM 2.5 and 3, Intern-S1 */
                .also = {"internlm3", "intern-s1"},
                .marks = {WRITES("<|action_start|>")},
                .hints = {HINT("internlm"), HINT("intern-s1")},
                .rules = {{CF_RULE_FENCE, CF_LEX_JSON, "<|action_start|> <|plugin|>",
                           "<|action_end|>", CF_PLACE_ANY},
                          MARKER("<|im_end|>")},
                .calls = {.form = CF_FORM_JSON,
                          .call_open = "<|action_start|><|plugin|>\n",
                          .call_close = "<|action_end|>",
                          .between = "\n",
                          .args_key = "parameters"},
                .channels = CHANNEL(think),
            },
        [CF_TOOLS_DOTS] =
            {
                .name = "dots", /* dots */
                .marks = {WRITES("<dots_function_call>")},
                .hints = {HINT("dots1"), HINT("dots.")},
                .rules = {{CF_RULE_JSON_FENCE, CF_LEX_JSON, "<dots_function_call>",
                           "</dots_function_call>", CF_PLACE_ANY},
                          SECTION(NULL, NULL),
                          CALL(CF_LEX_TAGS)},
                .calls = {.form = CF_FORM_TAGS,
                          .open = "<dots_function_call>",
                          .close = "</dots_function_call>",
                          .each_opens = true,
                          .call_open = "<invoke name=\"",
                          .name_end = "\">",
                          .param = "<parameter name=\"",
                          .key_end = "\">",
                          .value_end = "</parameter>",
                          .call_close = "</invoke>"},
                .channels = CHANNEL(think),
            },
        [CF_TOOLS_IQUEST_CODER] =
            {
                .name = "iquest-coder-v2", /* IQuest-Coder V2 */
                .marks = {WRITES("<iquestcoder_tool_call>")},
                .hints = {HINT("iquest-coder")},
                .rules = {CALL(CF_LEX_TAGS)},
                .calls = {PAIRS("iquestcoder_tool_call", "\n")},
                .channels = CHANNEL(think),
            },
        [CF_TOOLS_IQUEST_Q1] =
            {
                .name = "iquest-q1", /* IQuest Q1 */
                .marks = {WRITES("<iquest_tool_call>")},
                .hints = {HINT("iquest-q1")},
                .rules = {CALL(CF_LEX_TAGS)},
                .calls = {PAIRS("iquest_tool_call", "\n")},
                .channels = CHANNEL(think),
            },
        [CF_TOOLS_RWKV] =
            {
                .name = "rwkv", /* RWKV 7 */
                .marks = {WRITES("**Tool Call:**")},
                .hints = {HINT("rwkv")},
                .rules = {FENCE(CF_LEX_JSON)},
                .calls = {.form = CF_FORM_JSON,
                          .open = "**Tool Call:**\n```json\n",
                          .close = "\n```",
                          .each_opens = true,
                          .between = "\n"},
                .channels = CHANNEL(think),
            },
        [CF_TOOLS_FIREFUNCTION] =
            {
                .name = "firefunction-v2", /* Firefunction v2 */
                .marks = {WRITES(" functools[")},
                .hints = {HINT("firefunction")},
                .rules = {{CF_RULE_PREFIX, CF_LEX_JSON, "functools", NULL, CF_PLACE_ANY},
                          MARKER("<|eot_id|>")},
                .calls = {.form = CF_FORM_JSON,
                          .open = " functools",
                          .list_open = "[",
                          .list_close = "]",
                          .between = ", "},
            },
        [CF_TOOLS_GRANITE_20B] =
            {
                .name = "granite-20b-fc", /* Granite 20B function calling */
                .marks = {WRITES("<function_call>")},
                .hints = {HINT("granite-20b")},
                .rules = {FENCE(CF_LEX_JSON), MARKER("<|endoftext|>")},
                .calls = {.form = CF_FORM_JSON, .call_open = "<function_call> ", .between = "\n"},
            },
        [CF_TOOLS_GRANITE_PYTHONIC] =
            {
                .name = "granite-pythonic", /* Granite that writes a Python call a line */
                .hints = {HINT("granite-pythonic")},
                .rules = {{CF_RULE_PYTHON_LINE, CF_LEX_PYTHON, "", NULL, CF_PLACE_ANY},
                          MARKER("<|end_of_text|>")},
                .calls = {.form = CF_FORM_PYTHON, .values = CF_VALUES_PYTHON, .between = "\n"},
                .channels = CHANNEL(think),
            },
        [CF_TOOLS_GIGACHAT3] =
            {
                .name = "gigachat3", /* GigaChat 3, 3.1 */
                .marks = {WRITES("<|function_call|>"), WRITES("function call<|role_sep|>"),
                          WRITES_BOTH("function call", "<|role_sep|>")},
                .hints = {HINT("gigachat")},
                .rules = {FENCE(CF_LEX_JSON),
                          {CF_RULE_FENCE, CF_LEX_JSON,
                           "<|message_sep|>\n\nfunction call<|role_sep|>", NULL, CF_PLACE_ANY},
                          MARKER("<|message_sep|>")},
                .calls = {.form = CF_FORM_JSON,
                          .open = "<|function_call|>",
                          .between = "<|function_call|>"},
            },
        [CF_TOOLS_COHERE] =
            {
                .name = "cohere", /* Command R7B, Command A, Cohere2 MoE */
                .marks = {WRITES("<|START_ACTION|>")},
                .hints = {HINT("cohere2"), HINT("command-a"), HINT("command-r7b")},
                .rules = {FENCE(CF_LEX_JSON), MARKER("<|START_TEXT|>"), MARKER("<|END_TEXT|>"),
                          MARKER("<|START_RESPONSE|>"), MARKER("<|END_RESPONSE|>"),
                          MARKER("<|END_OF_TURN_TOKEN|>")},
                .calls = {.form = CF_FORM_JSON,
                          .open = "<|START_ACTION|>[\n    ",
                          .close = "\n]<|END_ACTION|>",
                          .between = ",\n    ",
                          .name_key = "tool_name",
                          .args_key = "parameters",
                          .id_key = "tool_call_id",
                          .id_first = true},
                .declare = CF_DECLARE_BARE,
                RESULT("<|START_TOOL_RESULT|>[{\"tool_call_id\": \"0\", "
                       "\"results\": {\"0\": ",
                       "}}]<|END_TOOL_RESULT|>"),
                .channels = CHANNEL(cohere),
            },
        [CF_TOOLS_COMMAND_R] =
            {
                .name = "command-r", /* Command R, R+ */
                .marks = {WRITES("Action:```json"), WRITES("Action: ```json"),
                          WRITES("Action:\\n```json")},
                .hints = {HINT("command-r")},
                .rules = {{CF_RULE_FENCE, CF_LEX_JSON, "Action:\n```json", "```", CF_PLACE_ANY},
                          MARKER("<|CHATBOT_TOKEN|>"),
                          MARKER("<|END_OF_TURN_TOKEN|>")},
                .calls = {.form = CF_FORM_JSON,
                          .open = "Action:\n```json\n[\n    ",
                          .close = "\n]```",
                          .between = ",\n    ",
                          .name_key = "tool_name",
                          .args_key = "parameters"},
                .declare = CF_DECLARE_PYTHON,
                RESULT("<results>\n", "\n</results>"),
            },
        [CF_TOOLS_APERTUS] =
            {
                .name = "apertus", /* Apertus */
                .marks = {WRITES("<|tools_prefix|>")},
                .hints = {HINT("apertus")},
                .rules = {FENCE(CF_LEX_JSON), MARKER("<|assistant_end|>")},
                .calls = {.form = CF_FORM_KEYED,
                          .open = "<|tools_prefix|>",
                          .close = "<|tools_suffix|>",
                          .list_open = "[",
                          .list_close = "]",
                          .between = ", "},
                .declare = CF_DECLARE_TYPESCRIPT,
                RESULT("[", "]"),
                .channels = CHANNEL(apertus),
            },
        [CF_TOOLS_NEMOTRON] =
            {
                .name = "nemotron", /* Nemotron Nano v2 */
                .marks = {WRITES("<TOOLCALL>")},
                .hints = {HINT("nemotron-nano")},
                .rules = {FENCE(CF_LEX_JSON), MARKER("<SPECIAL_12>")},
                .calls = {.form = CF_FORM_JSON,
                          .open = "<TOOLCALL>",
                          .close = "</TOOLCALL>",
                          .list_open = "[",
                          .list_close = "]",
                          .between = ", "},
                .declare = CF_DECLARE_BARE,
                RESULT("<TOOL_RESPONSE>[", "]</TOOL_RESPONSE>"),
                .channels = CHANNEL(think),
            },
        [CF_TOOLS_OLMO3] =
            {
                .name = "olmo3", /* OLMo 3 */
                .marks = {WRITES("<function_calls>")},
                .hints = {HINT("olmo3"), HINT("olmo-3")},
                .rules = {FENCE(CF_LEX_PYTHON_LINES), MARKER("<|im_end|>")},
                .calls = {.form = CF_FORM_PYTHON,
                          .values = CF_VALUES_JSON,
                          .open = "<function_calls>\n",
                          .close = "\n</function_calls>",
                          .between = "\n"},
                .declare = CF_DECLARE_BARE,
                .channels = CHANNEL(think),
            },
        [CF_TOOLS_GRANITE] =
            {
                .name = "granite", /* Granite 3 */
                .marks = {WRITES_BOTH("<|tool_call|>", "<|start_of_role|>")},
                .hints = {HINT("granite-3")},
                .rules = {FENCE(CF_LEX_JSON),
                          {CF_RULE_FENCE, CF_LEX_JSON, "<tool_call>", NULL, CF_PLACE_ANY},
                          MARKER("<|end_of_text|>")},
                .calls = {.form = CF_FORM_JSON,
                          .open = "<|tool_call|>",
                          .list_open = "[",
                          .list_close = "]",
                          .between = ", "},
                .declare = CF_DECLARE_BARE,
                .channels = CHANNEL(granite),
            },
        [CF_TOOLS_QWEN3_CODER] =
            {
                .name = "qwen3-coder", /* Qwen3-Coder, Qwen 3.5 to 3.8, Nemotron 3, Step 3.5 */
                .also = {"qwen3.5"},
                .marks = {WRITES_BOTH("<function=", "<parameter=")},
                .hints = {HINT("qwen3-coder"), HINT("qwen35"), HINT("qwen3.5"), HINT("qwen3next")},
                .rules = {SECTION(NULL, NULL), CALL(CF_LEX_TAGS), MARKER("<|im_end|>")},
                .calls = {.form = CF_FORM_TAGS,
                          .open = "<tool_call>\n",
                          .close = "\n</tool_call>",
                          .each_opens = true,
                          .between = "\n",
                          .call_open = "<function=",
                          .name_end = ">\n",
                          .param = "<parameter=",
                          .key_end = ">\n",
                          .value_end = "\n</parameter>\n",
                          .call_close = "</function>"},
                RESULT("<tool_response>\n", "\n</tool_response>"),
                .channels = CHANNEL(think),
            },
        [CF_TOOLS_FUNCTIONARY] =
            {
                .name = "functionary", /* Functionary 3.1 */
                .marks = {WRITES_BOTH("<function=", "</function>")},
                .hints = {HINT("functionary")},
                .rules = {CALL(CF_LEX_JSON), MARKER("<|eom_id|>"), MARKER("<|eot_id|>")},
                .calls = {.form = CF_FORM_NAMED,
                          .call_open = "<function=",
                          .name_end = ">",
                          .call_close = "</function>"},
            },
        [CF_TOOLS_SPARK] =
            {
                .name = "spark", /* Spark X2.5 */
                .hints = {HINT("spark-x"), HINT("spark_x")},
                .name_first = true,
                .rules = {CALL(CF_LEX_TAGS)},
                .calls = {PAIRS("tool_call", ""), .typing = CF_TYPING_LOOSE},
                .channels = CHANNEL(think),
            },
        [CF_TOOLS_HYPERCLOVAX] =
            {
                .name = "hyperclovax-seed", /* HyperCLOVA X SEED Think */
                .hints = {HINT("hyperclovax")},
                .name_first = true,
                .rules = {CALL(CF_LEX_TAGS)},
                .calls = {PAIRS("tool_call", "\n"), .typing = CF_TYPING_JSON},
                .channels = CHANNEL(think),
            },
        [CF_TOOLS_GLM45] =
            {
                .name = "glm4.5", /* GLM 4.5 to 5, Laguna */
                .also = {"glm4.6", "glm4.7"},
                .marks = {WRITES("<arg_key>")},
                .hints = {HINT("glm4moe"), HINT("glm-4.5"), HINT("glm-4.6"), HINT("glm-4.7")},
                .rules = {CALL(CF_LEX_TAGS), MARKER("<|observation|>"), MARKER("<|user|>"),
                          MARKER("<|endoftext|>")},
                .calls = {PAIRS("tool_call", "\n")},
                RESULT("<tool_response>\n", "\n</tool_response>"),
                .channels = CHANNEL(think),
            },
        [CF_TOOLS_MISTRAL] =
            {
                .name = "mistral", /* Mistral, Devstral, Magistral, Ministral 3 */
                .marks = {WRITES("[TOOL_CALLS]")},
                .hints = {HINT("mistral"), HINT("ministral"), HINT("devstral")},
                .rules = {{CF_RULE_MISTRAL, CF_LEX_JSON, "[TOOL_CALLS]", NULL, CF_PLACE_ANY},
                          MARKER("</s>")},
                .calls = {.form = CF_FORM_JSON,
                          .open = "[TOOL_CALLS] ",
                          .list_open = "[",
                          .list_close = "]",
                          .between = ", ",
                          .id_key = "id"},
                .declare = CF_DECLARE_LIST,
                RESULT("[TOOL_RESULTS] {\"content\": ", "}[/TOOL_RESULTS]"),
                .channels = CHANNEL(mistral),
            },
        [CF_TOOLS_HAMMER] =
            {
                .name = "hammer", /* Hammer 2 */
                .marks = {WRITES("[BEGIN OF AVAILABLE_TOOLS]"),
                          WRITES("[BEGIN OF AVAILABLE TOOLS]")},
                .hints = {HINT("hammer")},
                .name_first = true,
                .rules = {{CF_RULE_MARKDOWN, CF_LEX_JSON, "```", "```", CF_PLACE_ANY},
                          {CF_RULE_BARE_LIST, CF_LEX_JSON, "[", NULL, CF_PLACE_ANY},
                          MARKER("<|im_end|>"),
                          MARKER("<|endoftext|>")},
                .calls = {.form = CF_FORM_JSON,
                          .open = "```\n",
                          .close = "\n```",
                          .list_open = "[",
                          .list_close = "]",
                          .between = ", "},
                .declare = CF_DECLARE_BARE,
            },
        [CF_TOOLS_XLAM] =
            {
                .name = "xlam", /* xLAM 2 */
                .hints = {HINT("xlam")},
                .name_first = true,
                .rules = {{CF_RULE_FENCE, CF_LEX_JSON, "<tool_call>", "</tool_call>", CF_PLACE_ANY},
                          {CF_RULE_PREFIX, CF_LEX_JSON, "[TOOL_CALLS]", NULL, CF_PLACE_ANY},
                          {CF_RULE_MARKDOWN, CF_LEX_JSON, "```", "```", CF_PLACE_ANY},
                          {CF_RULE_BARE_LIST, CF_LEX_JSON, "[", NULL, CF_PLACE_ANY},
                          MARKER("<|eot_id|>"),
                          MARKER("<|im_end|>")},
                .calls =
                    {.form = CF_FORM_JSON, .list_open = "[", .list_close = "]", .between = ", "},
                .channels = CHANNEL(think),
            },
        [CF_TOOLS_ERNIE45] =
            {
                .name = "ernie4.5", /* ERNIE 4.5 Thinking: hermes' calls, the answer between marks */
                .marks = {WRITES_BOTH("<tool_call>", "<response>")},
                .hints = {HINT("ernie-4.5"), HINT("ernie4_5")},
                .rules = {FENCE(CF_LEX_JSON), MARKER("<response>"), MARKER("</response>"),
                          MARKER("</s>")},
                .calls = {.form = CF_FORM_JSON,
                          .call_open = "<tool_call>\n",
                          .call_close = "\n</tool_call>",
                          .between = "\n"},
                .channels = CHANNEL(think),
            },
        [CF_TOOLS_KIMI_K15] =
            {
                .name = "kimi-k1.5", /* Kimi K1.5: thinking, no calls */
                .marks = {WRITES("\xE2\x97\x81think\xE2\x96\xB7")},
                .hints = {HINT("kimi-k1.5")},
                .channels = CHANNEL(kimi_k15),
            },
        [CF_TOOLS_HERMES] =
            {
                .name = "hermes", /* Hermes, Qwen 2.5 and 3, Granite 4, EXAONE 4, SmolLM 3 */
                .also = {"qwen", "qwen2.5", "qwen3"},
                .marks = {WRITES("<tool_call>")},
                .hints = {HINT("qwen"), HINT("hermes")},
                .rules = {FENCE(CF_LEX_JSON), MARKER("<|im_end|>")},
                .calls = {.form = CF_FORM_JSON,
                          .call_open = "<tool_call>\n",
                          .call_close = "\n</tool_call>",
                          .between = "\n"},
                RESULT("<tool_response>\n", "\n</tool_response>"),
                .channels = CHANNEL(think),
            },
        [CF_TOOLS_MINIMAX_M1] =
            {
                .name = "minimax-m1", /* MiniMax M1: a JSON object a line */
                .marks = {WRITES_BOTH("<tool_calls>", "<beginning_of_sentence>")},
                .hints = {HINT("minimax-m1"), HINT("minimax_m1")},
                .rules = {FENCE(CF_LEX_JSON), MARKER("<end_of_sentence>")},
                .calls = {.form = CF_FORM_JSON,
                          .open = "<tool_calls>\n",
                          .close = "\n</tool_calls>",
                          .between = "\n",
                          .skips_lines = true},
                .channels = CHANNEL(think),
            },
        [CF_TOOLS_APRIEL] =
            {
                .name = "apriel", /* Apriel 1.5 and 1.6 */
                .marks = {WRITES("[BEGIN FINAL RESPONSE]")},
                .hints = {HINT("apriel")},
                .rules = {FENCE(CF_LEX_JSON), MARKER("[BEGIN FINAL RESPONSE]"),
                          MARKER("[END FINAL RESPONSE]"), MARKER("<|end|>")},
                .calls = {.form = CF_FORM_JSON,
                          .open = "<tool_calls>",
                          .close = "</tool_calls>",
                          .list_open = "[",
                          .list_close = "]",
                          .between = ", "},
                .channels = CHANNEL(apriel),
            },
        [CF_TOOLS_HUNYUAN] =
            {
                .name = "hunyuan", /* Hunyuan A13B, Jamba */
                .also = {"jamba"},
                .marks = {WRITES("<tool_calls>")},
                .hints = {HINT("hunyuan"), HINT("jamba")},
                .rules = {FENCE(CF_LEX_JSON), MARKER("<answer>"), MARKER("</answer>")},
                .calls = {.form = CF_FORM_JSON,
                          .open = "<tool_calls>",
                          .close = "</tool_calls>",
                          .list_open = "[",
                          .list_close = "]",
                          .between = ", "},
                RESULT("<tool_response>", "</tool_response>"),
                .channels = CHANNEL(think),
            },
        [CF_TOOLS_GEMMA3] =
            {
                .name = "gemma3", /* Gemma 3, 3n */
                .also = {"gemma3n"},
                .marks = {WRITES("tool_code"), WRITES("<start_of_turn>")},
                .hints = {HINT("gemma3")},
                .rules = {{CF_RULE_CODE_FENCE, CF_LEX_PYTHON, "```tool_code", "```", CF_PLACE_ANY},
                          MARKER("<end_of_turn>")},
                .calls = {.form = CF_FORM_PYTHON,
                          .values = CF_VALUES_PYTHON,
                          .open = "```tool_code\n",
                          .close = "\n```",
                          .list_open = "[",
                          .list_close = "]",
                          .one_is_bare = true,
                          .python_api = true,
                          .between = ", "},
                .declare = CF_DECLARE_PYTHON,
                RESULT("```tool_outputs\n", "\n```"),
                .result_values = CF_VALUES_PYTHON,
            },
        [CF_TOOLS_PHI4_MINI] =
            {
                .name = "phi4-mini", /* Phi-4-mini */
                .also = {"phi4"},
                .marks = {WRITES("<|/tool|>")},
                .hints = {HINT("phi-4"), HINT("phi4")},
                .rules = {FENCE(CF_LEX_JSON),
                          {CF_RULE_PREFIX, CF_LEX_JSON, "functools", NULL, CF_PLACE_ANY},
                          {CF_RULE_BARE_LIST, CF_LEX_JSON, "[", NULL, CF_PLACE_ANY},
                          MARKER("<|end|>")},
                .calls = {.form = CF_FORM_JSON,
                          .open = "<|tool_call|>",
                          .close = "<|/tool_call|>",
                          .list_open = "[",
                          .list_close = "]",
                          .between = ", "},
                .declare = CF_DECLARE_BARE,
            },
        [CF_TOOLS_LLAMA_PYTHONIC] =
            {
                .name = "llama-pythonic", /* Llama 3.2, Llama 4 */
                .marks = {{"func_name1(params_name1", NULL,
                           "the template shows [func_name1(params_name1=...)]"}},
                .rules = {{CF_RULE_BARE_PYTHON, CF_LEX_PYTHON, "[", NULL, CF_PLACE_ANY},
                          MARKER("<|python_start|>"),
                          MARKER("<|python_end|>"),
                          MARKER("<|python_tag|>"),
                          MARKER("<|eot_id|>"),
                          MARKER("<|eom_id|>")},
                .calls = {.form = CF_FORM_PYTHON,
                          .values = CF_VALUES_PYTHON,
                          .list_open = "[",
                          .list_close = "]",
                          .between = ", "},
                .declare = CF_DECLARE_BARE,
            },
        [CF_TOOLS_LLAMA_JSON] =
            {
                .name = "llama-json", /* Llama 3.1 to 3.3 */
                .also = {"llama"},
                .marks = {WRITES("<|python_tag|>"),
                          {"\"parameters\": dictionary of argument", NULL,
                           "the template asks for name and parameters"}},
                .hints = {HINT("llama-3"), HINT("llama 3")},
                .rules = {{CF_RULE_BARE_OBJECT, CF_LEX_JSON, "{", NULL, false},
                          {CF_RULE_BARE_LIST, CF_LEX_JSON, "[", NULL, CF_PLACE_ANY},
                          {CF_RULE_SEPARATOR, CF_LEX_JSON, ";", NULL, CF_PLACE_ANY},
                          MARKER("<|python_tag|>"),
                          MARKER("<|eot_id|>"),
                          MARKER("<|eom_id|>")},
                .calls = {.form = CF_FORM_JSON, .between = "; ", .args_key = "parameters"},
            },
};

const cf_tool__row *cf_tool__row_of(cf_tool_family family)
{
    return &rows[(unsigned)family < CF_TOOL_FAMILY_N ? family : CF_TOOLS_NONE];
}
