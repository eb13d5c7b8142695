/*
 * shrink_files.c - the files.  Scripts and the report are templates beside this
 * file (*.jinja), rendered with what make_facts() collects.
 */
#include "tui/study/shrink/shrink_files.h"

#include <string.h>

#include "core/api/about.h"
#include "core/base/os.h"
#include "core/base/utf8.h"
#include "core/json/json_builder.h"
#include "templates/template.h"
#include "tui/page/page_escape.h"

#define EMBEDDED(name)                                                     \
    extern const unsigned char cf_embed_tui_study_shrink_##name##_jinja[]; \
    extern const size_t cf_embed_tui_study_shrink_##name##_jinja_size
EMBEDDED(test_jinja2_py);
EMBEDDED(test_chat_llama_cpp);
EMBEDDED(test_vllm_parser_py);
EMBEDDED(ISSUE_md);

typedef struct files {
    const cf_shrink *s;
    const char *folder;
    cf_buf *names;
    json_t *context; /* with the special tokens that the template saw */
    cf_buf calls;    /* JSON: what confab reads in the reply */
    json_t *facts;   /* what the templates are rendered with */
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

/* A string literal of C++: control characters, and bytes that are not UTF-8, as
 * octal escapes, which never take up what follows. */
static void put_cpp(cf_buf *out, cf_str s)
{
    cf_buf_addc(out, '"');
    for (size_t i = 0, n; i < s.n; i += n) {
        uint32_t cp;
        unsigned char c = (unsigned char)s.p[i];
        n = cf_utf8_decode(&cp, s.p + i, s.n - i);
        if (c == '"' || c == '\\') {
            cf_buf_addf(out, "\\%c", c);
        } else if (c == '\n') {
            cf_buf_adds(out, i + 1 < s.n ? "\\n\"\n        \"" : "\\n");
        } else if (c < 32 || c == 127 || cp == CF_UTF8_BAD) {
            cf_buf_addf(out, "\\%03o", c);
        } else {
            cf_buf_add(out, s.p + i, n);
        }
    }
    cf_buf_addc(out, '"');
}

/* ---- other programs ----------------------------------------------------- */

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

/* ---- facts -------------------------------------------------------------- */

typedef void (*put_fn)(cf_buf *out, cf_str s);
typedef void (*write_fn)(cf_buf *out, const json_t *v);

/* A member that is a literal of a language. */
static void add_literal(cf_jb *b, const char *key, put_fn put, cf_str s)
{
    cf_buf text = CF_BUF_INIT;
    put(&text, s);
    cf_jb_buf(b, key, &text);
    cf_buf_deinit(&text);
}

/* The same of a value as JSON text; NULL is an empty list. */
static void add_json(cf_jb *b, const char *key, put_fn put, write_fn write, const json_t *v)
{
    cf_buf text = CF_BUF_INIT;
    if (v != NULL) {
        write(&text, v);
    } else {
        cf_buf_adds(&text, "[]");
    }
    add_literal(b, key, put, cf_buf_str(&text));
    if (text.failed) {
        cf_jb_fail(b);
    }
    cf_buf_deinit(&text);
}

static void add_part(cf_jb *b, const char *title, const char *language, const cf_buf *text)
{
    cf_buf block = CF_BUF_INIT;
    if (text->n > 0) {
        cf_escape_md_block(&block, language, cf_buf_str(text));
        cf_jb_object(b, NULL);
        cf_jb_text(b, "title", title);
        cf_jb_buf(b, "text", &block);
        cf_jb_end(b);
    }
    cf_buf_deinit(&block);
}

/* The command of "command:CMD". */
static cf_str command_of(const cf_predicate *p)
{
    cf_str text = cf_predicate_text(p), name = cf_str_from("command:");
    return cf_str_starts(text, name) ? cf_str_make(text.p + name.n, text.n - name.n)
                                     : cf_str_from("");
}

/* What every script needs, as literals of its language. */
static void add_literals(cf_jb *b, const char *key, const files *f, put_fn put, write_fn write)
{
    const cf_asker *a = f->s->asker;
    cf_jb_object(b, key);
    add_json(b, "messages", put, write, json_object_get(f->context, "messages"));
    add_json(b, "tools", put, write, json_object_get(f->context, "tools"));
    if (a->prompt.n > 0) {
        add_literal(b, "prompt", put, cf_buf_str(&a->prompt));
    }
    if (a->reply.n > 0) {
        add_literal(b, "reply", put, cf_buf_str(&a->reply));
    }
    add_literal(b, "calls", put, cf_buf_str(&f->calls));
    add_literal(b, "parser", put, cf_str_from(vllm_parser(a->engine->family)));
    add_literal(b, "command", put, command_of(a->predicate));
    cf_jb_end(b);
}

static cf_status make_facts(files *f, cf_error *err)
{
    const cf_asker *a = f->s->asker;
    uint32_t needs = cf_predicate_needs(a->predicate);
    cf_jb b = CF_JB_INIT;
    cf_buf context = CF_BUF_INIT;
    put_pretty(&context, f->context);
    cf_jb_object(&b, NULL);
    cf_jb_text(&b, "sees",
               (needs & CF_SEE_COMMAND) != 0  ? "command"
               : (needs & CF_SEE_RENDER) != 0 ? "render"
               : (needs & CF_SEE_CACHE) != 0  ? "cache"
                                              : "reply");
    cf_jb_bool(&b, "thinks", llama_thinks(f));
    cf_jb_str(&b, "predicate", cf_predicate_text(a->predicate));
    add_literal(&b, "whole", cf_escape_md_line, cf_buf_str(&f->s->whole));
    add_literal(&b, "now", cf_escape_md_line, cf_buf_str(&a->why));
    cf_jb_int(&b, "n_messages", (int64_t)json_array_size(json_object_get(f->context, "messages")));
    cf_jb_int(&b, "n_tools", (int64_t)json_array_size(json_object_get(f->context, "tools")));
    cf_jb_int(&b, "n_bytes", (int64_t)f->s->source.n);
    add_literals(&b, "cpp", f, put_cpp, cf_json_write_spaced);
    add_literals(&b, "py", f, cf_json_write_str, cf_json_write); /* literals of Python, too */
    cf_jb_array(&b, "parts");
    add_part(&b, "What was seen", "text", &a->why);
    add_part(&b, "Context", "json", &context);
    add_part(&b, "Prompt", "text", &a->prompt);
    add_part(&b, "Raw reply", "text", &a->reply);
    cf_jb_end(&b);
    cf_jb_end(&b);
    cf_status st = cf_buf_check(&context, err);
    CF_THEN(st, cf_jb_finish(&b, &f->facts, err));
    cf_jb_deinit(&b);
    cf_buf_deinit(&context);
    return st;
}

static cf_status write_rendered(const files *f, const char *name, const unsigned char *source,
                                size_t n, cf_error *err)
{
    static const cf_template_options as_written = {.keep_trailing_newline = true};
    static const cf_render_options unbounded = {.limits = {.max_steps = UINT64_MAX,
                                                           .max_output_bytes = SIZE_MAX,
                                                           .max_memory_bytes = SIZE_MAX},
                                                .no_spans = true};
    cf_template *tpl = NULL;
    cf_context *context = NULL;
    cf_render done;
    cf_arena arena;
    cf_buf b = CF_BUF_INIT;
    cf_arena_init(&arena, 0);
    cf_status st = cf_template_compile(&tpl, cf_str_make((const char *)source, n), &as_written,
                                       NULL, NULL, err);
    CF_THEN(st, cf_context_from_json(&context, f->facts, &arena, err));
    CF_THEN(st, cf_template_render(tpl, context, &unbounded, &arena, &done, err));
    if (st == CF_OK) {
        cf_buf_add(&b, done.prompt.text.p, done.prompt.text.n);
        st = write_file(f, name, &b, err);
    }
    cf_buf_deinit(&b);
    cf_template_free(tpl);
    cf_arena_deinit(&arena);
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

#define WRITE(f, file, name, err)                                     \
    write_rendered(f, file, cf_embed_tui_study_shrink_##name##_jinja, \
                   cf_embed_tui_study_shrink_##name##_jinja_size, err)

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
    CF_THEN(st, make_facts(&f, err));
    CF_THEN(st, WRITE(&f, "test_jinja2.py", test_jinja2_py, err));
    CF_THEN(st, WRITE(&f, "test_chat_llama.cpp", test_chat_llama_cpp, err));
    if (st == CF_OK && s->asker->reply.n > 0) {
        st = WRITE(&f, "test_vllm_parser.py", test_vllm_parser_py, err);
    }
    CF_THEN(st, WRITE(&f, "ISSUE.md", ISSUE_md, err));
    CF_THEN(st, cf_buf_check(names, err));
    json_decref(f.context);
    json_decref(f.facts);
    cf_buf_deinit(&f.calls);
    return st;
}
