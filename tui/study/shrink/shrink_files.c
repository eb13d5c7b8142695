/*
 * shrink_files.c - the files, each written from one text with places to fill.
 */
#include "tui/study/shrink/shrink_files.h"

#include <string.h>

#include "core/api/about.h"
#include "core/base/os.h"
#include "templates/template.h"

typedef struct files {
    const cf_shrink *s;
    const char *folder;
    cf_buf *names;
    json_t *context; /* with the special tokens that the template saw */
    cf_buf calls;    /* JSON: what confab reads in the reply */
} files;

static cf_status write_file(const files *f, const char *name, const cf_buf *b, cf_error *err)
{
    cf_buf path = CF_BUF_INIT;
    cf_status st = cf_buf_check(b, err);
    cf_buf_addf(&path, "%s/%s", f->folder, name);
    CF_THEN(st, cf_buf_check(&path, err));
    CF_THEN(st, cf_os_write_file(cf_buf_cstr(&path), cf_buf_cstr(b), b->n, 0644, err));
    cf_buf_deinit(&path);
    cf_buf_addf(f->names, "%s\n", name);
    return st;
}

/* ---- pieces ------------------------------------------------------------- */

static void put_pretty(cf_buf *out, const json_t *v)
{
    char *text = json_dumps(v, JSON_INDENT(2) | JSON_ENCODE_ANY);
    cf_buf_adds(out, text != NULL ? text : "");
    out->failed = out->failed || text == NULL;
    if (text != NULL) {
        json_free_t give;
        json_get_alloc_funcs(NULL, &give);
        give(text);
    }
}

/* A string literal of C++: control characters as octal escapes, which never
 * take up what follows. */
static void put_cpp(cf_buf *out, cf_str s)
{
    cf_buf_addc(out, '"');
    for (size_t i = 0; i < s.n; i++) {
        unsigned char c = (unsigned char)s.p[i];
        if (c == '"' || c == '\\') {
            cf_buf_addf(out, "\\%c", c);
        } else if (c == '\n') {
            cf_buf_adds(out, i + 1 < s.n ? "\\n\"\n        \"" : "\\n");
        } else if (c < 32 || c == 127) {
            cf_buf_addf(out, "\\%03o", c);
        } else {
            cf_buf_addc(out, (char)c);
        }
    }
    cf_buf_addc(out, '"');
}

static void put_cpp_json(cf_buf *out, const json_t *v)
{
    cf_buf text = CF_BUF_INIT;
    if (v != NULL) {
        cf_json_write_spaced(&text, v);
    } else {
        cf_buf_adds(&text, "[]");
    }
    put_cpp(out, cf_buf_str(&text));
    out->failed = out->failed || text.failed;
    cf_buf_deinit(&text);
}

/* ---- jinja2 ------------------------------------------------------------- */

static const char py_head[] =
    "#!/usr/bin/env python3\n"
    "\"\"\"Reproduces the failure of ISSUE.md.  Status 0: it is there.\"\"\"\n"
    "import json\n"
    "import os\n"
    "import sys\n"
    "\n"
    "HERE = os.path.dirname(os.path.abspath(__file__))\n"
    "\n"
    "\n"
    "def read(name):\n"
    "    with open(os.path.join(HERE, name), encoding=\"utf-8\", newline=\"\") "
    "as f:\n"
    "        return f.read()\n"
    "\n"
    "\n"
    "CONTEXT = json.loads(read(\"context.json\"))\n"
    "\n";

/* As transformers compiles chat templates. */
static const char py_render[] =
    "\n"
    "def compiled():\n"
    "    from jinja2.sandbox import ImmutableSandboxedEnvironment\n"
    "    import datetime\n"
    "\n"
    "    def tojson(x, ensure_ascii=False, indent=None, separators=None,\n"
    "               sort_keys=False):\n"
    "        return json.dumps(x, ensure_ascii=ensure_ascii, indent=indent,\n"
    "                          separators=separators, sort_keys=sort_keys)\n"
    "\n"
    "    def raise_exception(message):\n"
    "        raise ValueError(message)\n"
    "\n"
    "    env = ImmutableSandboxedEnvironment(\n"
    "        trim_blocks=True, lstrip_blocks=True,\n"
    "        extensions=[\"jinja2.ext.loopcontrols\"])\n"
    "    env.filters[\"tojson\"] = tojson\n"
    "    env.globals[\"raise_exception\"] = raise_exception\n"
    "    env.globals[\"strftime_now\"] = (\n"
    "        lambda form: datetime.datetime.now().strftime(form))\n"
    "    return env.from_string(read(\"template.jinja\"))\n"
    "\n"
    "\n"
    "def render(context):\n"
    "    return compiled().render(**context)\n"
    "\n"
    "\n";

static const char py_error[] = "try:\n"
                               "    render(CONTEXT)\n"
                               "except ImportError:\n"
                               "    raise\n"
                               "except Exception as error:\n"
                               "    print(\"reproduced:\", type(error).__name__, error)\n"
                               "    sys.exit(0)\n"
                               "print(\"not reproduced: the template renders\")\n"
                               "sys.exit(1)\n";

static const char py_cache[] =
    "def first(n):\n"
    "    return render(dict(CONTEXT, messages=CONTEXT[\"messages\"][:n],\n"
    "                       add_generation_prompt=True))\n"
    "\n"
    "\n"
    "def is_reply(i):\n"
    "    return CONTEXT[\"messages\"][i][\"role\"] in (\"assistant\", "
    "\"model\", \"agent\")\n"
    "\n"
    "\n"
    "n = len(CONTEXT[\"messages\"])\n"
    "for i in range(n - 1):\n"
    "    if not is_reply(i):\n"
    "        continue\n"
    "    after = i + 1\n"
    "    while after < n and not is_reply(after):\n"
    "        after += 1\n"
    "    before, later = first(i), first(after)\n"
    "    message = CONTEXT[\"messages\"][i]\n"
    "    rest = later[len(before):]\n"
    "    thinking = message.get(\"reasoning_content\") or \"\"\n"
    "    if not later.startswith(before):\n"
    "        kept = False\n"
    "    elif thinking:\n"
    "        kept = thinking in rest\n"
    "    else:\n"
    "        content = message.get(\"content\")\n"
    "        kept = (\"tool_calls\" in message or not isinstance(content, "
    "str)\n"
    "                or rest.startswith(content))\n"
    "    if not kept:\n"
    "        print(\"reproduced: the prompt and reply\", i, \"are not kept\")\n"
    "        sys.exit(0)\n"
    "print(\"not reproduced: every prompt is the beginning of the next\")\n"
    "sys.exit(1)\n";

/* A model is not at hand: that it gets the same bytes is what can be shown. */
static const char py_prompt[] =
    "if render(CONTEXT) == read(\"prompt.txt\"):\n"
    "    print(\"reproduced: jinja2 renders the prompt that was answered with "
    "reply.txt\")\n"
    "    sys.exit(0)\n"
    "print(\"not reproduced: jinja2 renders another prompt than prompt.txt\")\n"
    "sys.exit(1)\n";

static const char py_command[] =
    "import subprocess\n"
    "\n"
    "done = subprocess.run(COMMAND, shell=True, input=json.dumps(CONTEXT) + "
    "\"\\n\",\n"
    "                      encoding=\"utf-8\")\n"
    "print(\"status\", done.returncode)\n"
    "sys.exit(0 if done.returncode == 0 else 1)\n";

static cf_status write_jinja2(const files *f, cf_error *err)
{
    uint32_t needs = cf_predicate_needs(f->s->asker->predicate);
    cf_str text = cf_predicate_text(f->s->asker->predicate);
    cf_buf b = CF_BUF_INIT;
    cf_buf_adds(&b, py_head);
    if ((needs & CF_SEE_COMMAND) != 0) {
        size_t skip = strlen("command:");
        cf_buf_adds(&b, "COMMAND = ");
        cf_json_write_str(&b, cf_str_make(text.p + skip, text.n - skip));
        cf_buf_addc(&b, '\n');
        cf_buf_adds(&b, py_command);
    } else {
        cf_buf_adds(&b, py_render);
        cf_buf_adds(&b, (needs & CF_SEE_RENDER) != 0  ? py_error
                        : (needs & CF_SEE_CACHE) != 0 ? py_cache
                                                      : py_prompt);
    }
    cf_status st = write_file(f, "test_jinja2.py", &b, err);
    cf_buf_deinit(&b);
    return st;
}

/* ---- llama.cpp ---------------------------------------------------------- */

/* As tests/test-chat.cpp of llama.cpp is in 2026: templates by
 * read_templates(), JSON as `json`, replies read by the parser that comes with
 * the prompt (common/chat.h). */
static const char cpp_head[] =
    "// For tests/test-chat.cpp of llama.cpp: put template.jinja into\n"
    "// models/templates/confab-case.jinja and call this from main().\n"
    "static void test_confab_case() {\n"
    "    auto tmpls = read_templates("
    "\"models/templates/confab-case.jinja\");\n"
    "    common_chat_templates_inputs inputs;\n"
    "    inputs.messages = common_chat_msgs_parse_oaicompat(json::parse(\n"
    "        ";
static const char cpp_fails[] = "    // The template fails.\n"
                                "    bool failed = tmpls == nullptr;\n"
                                "    try {\n"
                                "        if (!failed) {\n"
                                "            common_chat_templates_apply(tmpls.get(), inputs);\n"
                                "        }\n"
                                "    } catch (const std::exception &) {\n"
                                "        failed = true;\n"
                                "    }\n"
                                "    assert_equals(true, failed);\n"
                                "}\n";
static const char cpp_parse[] =
    "    // Before 2026: common_chat_syntax with .format in place of these.\n"
    "    common_chat_parser_params parser_params(params);\n"
    "    if (!params.parser.empty()) {\n"
    "        parser_params.parser.load(params.parser);\n"
    "    }\n"
    "    auto msg = common_chat_parse(\n"
    "        ";
static const char cpp_compare[] =
    ");\n"
    "    assert_equals(expected.size(), msg.tool_calls.size());\n"
    "    for (size_t i = 0; i < expected.size(); i++) {\n"
    "        assert_equals(expected[i].at(\"name\").get<std::string>(),\n"
    "                      msg.tool_calls[i].name);\n"
    "        assert_equals(expected[i].at(\"arguments\").dump(),\n"
    "                      json::parse(msg.tool_calls[i].arguments).dump());\n"
    "    }\n";

/* The prompt that the template gives where the model thinks, or does not; false:
 * another one than the predicate saw. */
static bool gives_prompt(const files *f, bool thinks)
{
    cf_error ignored;
    cf_arena arena;
    cf_template *tpl = NULL;
    cf_context *context;
    cf_render done;
    json_t *v = cf_json_copy(f->context);
    cf_arena_init(&arena, 0);
    bool same =
        v != NULL && json_object_set_new(v, "enable_thinking", json_boolean(thinks)) == 0 &&
        cf_template_compile(&tpl, cf_buf_str(&f->s->source), NULL, NULL, NULL, &ignored) == CF_OK &&
        cf_context_from_json(&context, v, &arena, &ignored) == CF_OK &&
        cf_template_render(tpl, context, NULL, &arena, &done, &ignored) == CF_OK &&
        cf_str_eq(done.prompt.text, cf_buf_str(&f->s->asker->prompt));
    cf_template_free(tpl);
    cf_arena_deinit(&arena);
    json_decref(v);
    return same;
}

/* llama.cpp tells every template whether the model thinks, and unless told
 * otherwise that it does; a context without it may mean either. */
static bool llama_thinks(const files *f)
{
    const json_t *given = json_object_get(f->context, "enable_thinking");
    return json_is_boolean(given) ? json_is_true(given)
                                  : gives_prompt(f, true) || !gives_prompt(f, false);
}

static cf_status write_llama(const files *f, cf_error *err)
{
    const cf_asker *a = f->s->asker;
    bool fails = (cf_predicate_needs(a->predicate) & CF_SEE_RENDER) != 0;
    cf_buf b = CF_BUF_INIT;
    cf_buf_adds(&b, cpp_head);
    put_cpp_json(&b, json_object_get(f->context, "messages"));
    cf_buf_adds(&b, "));\n    inputs.tools = common_chat_tools_parse_oaicompat("
                    "json::parse(\n        ");
    put_cpp_json(&b, json_object_get(f->context, "tools"));
    cf_buf_addf(&b, "));\n    inputs.enable_thinking = %s;\n", llama_thinks(f) ? "true" : "false");
    cf_buf_adds(&b, fails ? cpp_fails
                          : "    auto params = common_chat_templates_apply("
                            "tmpls.get(), inputs);\n");
    if (!fails && a->prompt.n > 0) {
        cf_buf_adds(&b, "    assert_equals(std::string(\n        ");
        put_cpp(&b, cf_buf_str(&a->prompt));
        cf_buf_adds(&b, "), params.prompt);\n");
    }
    if (!fails && a->reply.n > 0) {
        cf_buf_adds(&b, cpp_parse);
        put_cpp(&b, cf_buf_str(&a->reply));
        cf_buf_adds(&b, ",\n        /* is_partial= */ false, parser_params);"
                        "\n    // The calls that confab reads.\n    auto "
                        "expected = json::parse(\n        ");
        put_cpp(&b, cf_buf_str(&f->calls));
        cf_buf_adds(&b, cpp_compare);
    }
    cf_buf_adds(&b, fails ? "" : "}\n");
    cf_status st = write_file(f, "test_chat_llama.cpp", &b, err);
    cf_buf_deinit(&b);
    return st;
}

/* ---- vLLM --------------------------------------------------------------- */

/* vLLM's names of the parsers, where ours differ (docs of vLLM, "Tool Calling").
 */
static const char *vllm_parser(cf_tool_family family)
{
    static const char *const names[][2] = {{"llama-json", "llama3_json"},
                                           {"llama-pythonic", "pythonic"},
                                           {"harmony", "openai"},
                                           {"qwen3-coder", "qwen3_coder"},
                                           {"deepseek-v3", "deepseek_v3"},
                                           {"deepseek-v3.1", "deepseek_v31"},
                                           {"phi4-mini", "phi4_mini_json"},
                                           {"kimi-k2", "kimi_k2"},
                                           {"glm4.5", "glm45"},
                                           {"minimax-m2", "minimax_m2"},
                                           {"seed-oss", "seed_oss"},
                                           {"hunyuan", "hunyuan_a13b"}};
    const char *ours = cf_tool_family_name(family);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(ours, names[i][0]) == 0) {
            return names[i][1];
        }
    }
    return ours;
}

/* Both layouts of the packages: parsers moved out of entrypoints/openai at the
 * end of 2025. */
static const char vllm_head[] =
    "\"\"\"For tests/tool_parsers of vLLM: what the parser makes of this "
    "reply.\n"
    "TOOL_PARSER and MODEL choose the parser and its tokenizer.\"\"\"\n"
    "\n"
    "import json\n"
    "import os\n"
    "\n"
    "try:\n"
    "    from vllm.entrypoints.openai.chat_completion.protocol import (\n"
    "        ChatCompletionRequest)\n"
    "    from vllm.tokenizers import get_tokenizer\n"
    "    from vllm.tool_parsers import ToolParserManager\n"
    "except ImportError:  # before vLLM 0.13\n"
    "    from vllm.entrypoints.openai.protocol import ChatCompletionRequest\n"
    "    from vllm.entrypoints.openai.tool_parsers import ToolParserManager\n"
    "    from vllm.transformers_utils.tokenizer import get_tokenizer\n"
    "\n"
    "PARSER = os.environ.get(\"TOOL_PARSER\", ";
static const char vllm_test[] =
    ")  # the calls that confab reads\n"
    "\n"
    "\n"
    "def test_extract_tool_calls():\n"
    "    tokenizer = get_tokenizer(MODEL)\n"
    "    parser = ToolParserManager.get_tool_parser(PARSER)(tokenizer)\n"
    "    request = ChatCompletionRequest(\n"
    "        model=MODEL, messages=MESSAGES, tools=TOOLS or None)\n"
    "    found = parser.extract_tool_calls(MODEL_OUTPUT, request=request)\n"
    "    calls = [{\"name\": c.function.name,\n"
    "              \"arguments\": json.loads(c.function.arguments)}\n"
    "             for c in found.tool_calls]\n"
    "    assert calls == EXPECTED\n";

/* A JSON value as a literal of Python that json.loads() reads. */
static void put_py_json(cf_buf *out, const json_t *v)
{
    cf_buf text = CF_BUF_INIT;
    if (v != NULL) {
        cf_json_write(&text, v);
    } else {
        cf_buf_adds(&text, "[]");
    }
    cf_json_write_str(out, cf_buf_str(&text));
    out->failed = out->failed || text.failed;
    cf_buf_deinit(&text);
}

static cf_status write_vllm(const files *f, cf_error *err)
{
    const cf_asker *a = f->s->asker;
    cf_buf b = CF_BUF_INIT;
    cf_buf_adds(&b, vllm_head);
    cf_json_write_str(&b, cf_str_from(vllm_parser(a->engine->family)));
    cf_buf_adds(&b, ")\nMODEL = os.environ.get(\"MODEL\", \"Qwen/Qwen3-0.6B\")"
                    "\n\nMESSAGES = json.loads(");
    put_py_json(&b, json_object_get(f->context, "messages"));
    cf_buf_adds(&b, ")\nTOOLS = json.loads(");
    put_py_json(&b, json_object_get(f->context, "tools"));
    cf_buf_adds(&b, ")\nMODEL_OUTPUT = ");
    cf_json_write_str(&b, cf_buf_str(&a->reply));
    cf_buf_adds(&b, "\nEXPECTED = json.loads(");
    cf_json_write_str(&b, cf_buf_str(&f->calls));
    cf_buf_adds(&b, vllm_test);
    cf_status st = write_file(f, "test_vllm_parser.py", &b, err);
    cf_buf_deinit(&b);
    return st;
}

/* ---- the report --------------------------------------------------------- */

/* A fence longer than any in the text. */
static void put_fenced(cf_buf *out, const char *language, cf_str text)
{
    size_t longest = 2, run = 0;
    for (size_t i = 0; i < text.n; i++) {
        run = text.p[i] == '`' ? run + 1 : 0;
        longest = run > longest ? run : longest;
    }
    for (int side = 0; side < 2; side++) {
        for (size_t i = 0; i <= longest; i++) {
            cf_buf_addc(out, '`');
        }
        if (side == 0) {
            cf_buf_addf(out, "%s\n", language);
            cf_buf_add(out, text.p, text.n);
            bool ended = text.n > 0 && text.p[text.n - 1] == '\n';
            cf_buf_adds(out, ended ? "" : "\n");
        }
    }
    cf_buf_addc(out, '\n');
}

static void put_section(cf_buf *out, const char *title, const char *language, const cf_buf *text)
{
    if (text->n > 0) {
        cf_buf_addf(out, "\n## %s\n\n", title);
        put_fenced(out, language, cf_buf_str(text));
    }
}

static cf_status write_issue(const files *f, cf_error *err)
{
    const cf_asker *a = f->s->asker;
    cf_str predicate = cf_predicate_text(a->predicate);
    cf_buf b = CF_BUF_INIT, context = CF_BUF_INIT;
    put_pretty(&context, f->context);
    cf_buf_adds(&b, "# ");
    cf_buf_add(&b, predicate.p, predicate.n);
    cf_buf_addf(&b,
                "\n\nThe smallest conversation that confab found for which "
                "this holds: %zu messages, %zu tools, template.jinja with %zu "
                "bytes.\n",
                json_array_size(json_object_get(f->context, "messages")),
                json_array_size(json_object_get(f->context, "tools")), f->s->source.n);
    cf_buf_adds(&b, "`python3 test_jinja2.py` ends with 0 when it is "
                    "reproduced.\n");
    put_section(&b, "What was seen", "text", &a->why);
    put_section(&b, "Context", "json", &context);
    put_section(&b, "Prompt", "text", &a->prompt);
    put_section(&b, "Raw reply", "text", &a->reply);
    cf_buf_adds(&b, "\n## Files\n\n");
    cf_buf_adds(&b, "- `context.json`, `template.jinja`: what goes in\n");
    if (a->prompt.n > 0) {
        cf_buf_adds(&b, "- `prompt.txt`: what the template renders\n");
    }
    if (a->reply.n > 0) {
        cf_buf_adds(&b, "- `reply.txt`: what the model wrote\n"
                        "- `test_vllm_parser.py`: a test of a vLLM parser\n");
    }
    cf_buf_adds(&b, "- `test_chat_llama.cpp`: a test in the form of "
                    "llama.cpp's\n");
    b.failed = b.failed || context.failed;
    cf_status st = write_file(f, "ISSUE.md", &b, err);
    cf_buf_deinit(&context);
    cf_buf_deinit(&b);
    return st;
}

/* ---- all ---------------------------------------------------------------- */

/* The calls that the family reads in the reply, as a JSON array. */
static cf_status read_calls(files *f, cf_error *err)
{
    const cf_asker *a = f->s->asker;
    cf_tool_set *tools = NULL;
    cf_tool_parser *parser = NULL;
    const cf_tool_parse *parse = NULL;
    cf_error ignored;
    const json_t *v = json_object_get(f->context, "tools");
    if (json_array_size(v) > 0 && cf_tool_set_new(&tools, v, &ignored) != CF_OK) {
        tools = NULL; /* then nothing is checked */
    }
    cf_status st = cf_tool_parser_new(&parser, a->engine->family, tools, NULL, NULL, err);
    CF_THEN(st, cf_tool_parser_feed(parser, cf_buf_cstr(&a->reply), a->reply.n, err));
    CF_THEN(st, cf_tool_parser_finish(parser, &parse, err));
    cf_buf_addc(&f->calls, '[');
    for (size_t i = 0; st == CF_OK && i < parse->n_calls; i++) {
        cf_buf_adds(&f->calls, i > 0 ? ", {\"name\": " : "{\"name\": ");
        cf_json_write_str(&f->calls, parse->calls[i].name);
        cf_buf_adds(&f->calls, ", \"arguments\": ");
        cf_buf_add(&f->calls, parse->calls[i].arguments.p, parse->calls[i].arguments.n);
        cf_buf_addc(&f->calls, '}');
    }
    cf_buf_addc(&f->calls, ']');
    cf_tool_parser_free(parser);
    cf_tool_set_free(tools);
    return st;
}

static cf_status write_plain(const files *f, cf_error *err)
{
    const cf_asker *a = f->s->asker;
    cf_buf b = CF_BUF_INIT;
    put_pretty(&b, f->context);
    cf_buf_addc(&b, '\n');
    cf_status st = write_file(f, "context.json", &b, err);
    cf_buf_deinit(&b);
    CF_THEN(st, write_file(f, "template.jinja", &f->s->source, err));
    if (st == CF_OK && a->prompt.n > 0) {
        st = write_file(f, "prompt.txt", &a->prompt, err);
    }
    if (st == CF_OK && a->reply.n > 0) {
        st = write_file(f, "reply.txt", &a->reply, err);
    }
    return st;
}

cf_status cf_shrink_write(const cf_shrink *s, const char *folder, cf_buf *names, cf_error *err)
{
    files f = {.s = s, .folder = folder, .names = names};
    f.context = cf_json_copy(s->context);
    cf_status st = f.context != NULL ? CF_OK : cf_oom(err);
    if (st == CF_OK && s->asker->engine->tok != NULL && s->source.n > 0) {
        st = cf_prompt_add_special(f.context, s->asker->engine->tok, err);
    }
    CF_THEN(st, read_calls(&f, err));
    CF_THEN(st, write_plain(&f, err));
    CF_THEN(st, write_jinja2(&f, err));
    CF_THEN(st, write_llama(&f, err));
    if (st == CF_OK && s->asker->reply.n > 0) {
        st = write_vllm(&f, err);
    }
    CF_THEN(st, write_issue(&f, err));
    CF_THEN(st, cf_buf_check(names, err));
    json_decref(f.context);
    cf_buf_deinit(&f.calls);
    return st;
}
