/*
 * test_spans.c - laws of every render: spans cover the output, a copy is the
 * source's bytes, the same input gives the same output.
 */
#include <stdlib.h>

#include "templates/builtin.h"
#include "templates/template.h"
#include "tests/support/rand.h"
#include "tests/support/t.h"

static const char *const pieces[] = {
    "{{ messages[0].content }}",
    "{{ messages[0].content | trim }}",
    "{{ messages[0].content | upper }}",
    "{{ messages[0].content[1:5] }}",
    "{{ messages[0].content[::-1] }}",
    "{{ messages[0].content.replace('a', tools[0].name) }}",
    "{{ messages[0].content.split(' ') | join(bos_token) }}",
    "{{ messages[0].content | tojson }}",
    "{{ messages | tojson(indent=1) }}",
    "{{ messages[1] }}",
    "{{ '%s-%5d' % (messages[1].content, messages[1].n) }}",
    "{{ '{0:>9}|{1}'.format(messages[1].content, tools[0].name) }}",
    "{{ messages[0].content ~ messages[1].content ~ 5 }}",
    "{{ (messages[0].content + 'x')[2:9] | lower }}",
    "{% for m in messages %}{{ loop.index }}{{ m.role }}: {{ m.content }}\n"
    "{% endfor %}",
    "{% set x %}<{{ messages[0].content }}>{% endset %}{{ x | title }}{{ x }}",
    "{% macro f(a) %}({{ a }}){% endmacro %}{{ f(messages[1].content) | e }}",
    "{% filter replace('e', 'E') %}text {{ messages[0].content }}{% endfilter "
    "%}",
    "{{ messages[0].content | indent(2) | wordwrap(6) }}",
    "{{ messages[0].content | truncate(5, true) | center(20) }}",
    "{{ messages[1].n * 2 }}{{ messages | length }}{{ tools[0].name | length "
    "}}",
    "{{ tools[0].parameters.items() | list }}",
    "{% generation %}{{ messages[1].content | striptags }}{% endgeneration %}",
    "plain <b> text\n",
    "  {# c #}{{- bos_token -}}\n ",
};

static const char *const contents[] = {"Hello, a world", " \\u00e9a\\u6f22 b\\n c ", "",
                                       "<|im_end|> a {{ x }}", "\\\"q\\\" \\\\ \\u0001 aaa"};

enum { N_PIECES = sizeof pieces / sizeof *pieces };

static void make_template(cf_buf *b, cf_rand *r)
{
    size_t n = 1 + cf_rand_below(r, 6);
    for (size_t i = 0; i < n; i++) {
        cf_buf_adds(b, pieces[cf_rand_below(r, N_PIECES)]);
        if (cf_rand_below(r, 2) != 0) {
            cf_buf_adds(b, " | ");
        }
    }
}

static void make_context(cf_buf *b, cf_rand *r)
{
    cf_buf_addf(b,
                "{\"messages\":[{\"role\":\"user\",\"content\":\"%s\"},"
                "{\"role\":\"assistant\",\"content\":\"%s\",\"n\":%d}],"
                "\"tools\":[{\"name\":\"get_it\",\"parameters\":{\"k\":\"%s\"}}"
                "],\"bos_token\":\"<s>\"}",
                contents[cf_rand_below(r, 5)], contents[cf_rand_below(r, 5)],
                (int)cf_rand_below(r, 100), contents[cf_rand_below(r, 5)]);
}

/* The string that a span says it shows; NULL when it cannot be told here. */
static const json_t *source_of(const json_t *context, const cf_prompt_span *s)
{
    const json_t *at = context;
    if (s->source == CF_SPAN_MESSAGE) {
        at = json_array_get(json_object_get(context, "messages"), s->index);
    } else if (s->source == CF_SPAN_TOOL) {
        at = json_array_get(json_object_get(context, "tools"), s->index);
    }
    char name[64];
    for (size_t i = 0; i < s->path.n;) {
        bool is_index = s->path.p[i] == '[';
        i += is_index || s->path.p[i] == '.';
        size_t end = i;
        while (end < s->path.n && memchr(".[]", s->path.p[end], 3) == NULL) {
            end++;
        }
        snprintf(name, sizeof name, "%.*s", (int)(end - i), s->path.p + i);
        at = is_index ? json_array_get(at, (size_t)strtoul(name, NULL, 10))
                      : json_object_get(at, name);
        i = end + is_index;
    }
    return at;
}

static void check(const cf_prompt *p, cf_str source, const json_t *context)
{
    size_t at = 0;
    for (size_t i = 0; i < p->n_spans; i++) {
        const cf_prompt_span *s = &p->spans[i];
        assert_int_equal(s->off, at);
        assert_true(s->len > 0 && s->line > 0 && s->col > 0);
        at += s->len;
        if (!s->is_copy) {
            continue;
        }
        const char *from = source.p;
        size_t n = source.n;
        if (s->source != CF_SPAN_TEMPLATE) {
            const json_t *v = source_of(context, s);
            assert_true(json_is_string(v));
            from = json_string_value(v);
            n = json_string_length(v);
        }
        assert_true(s->src_off + (size_t)s->len <= n);
        assert_memory_equal(p->text.p + s->off, from + s->src_off, s->len);
    }
    assert_int_equal(at, p->text.n);
}

static bool same(const cf_prompt *a, const cf_prompt *b)
{
    if (!cf_str_eq(a->text, b->text) || a->n_spans != b->n_spans) {
        return false;
    }
    for (size_t i = 0; i < a->n_spans; i++) {
        const cf_prompt_span *x = &a->spans[i], *y = &b->spans[i];
        if (x->len != y->len || x->source != y->source || x->line != y->line ||
            x->src_off != y->src_off || !cf_str_eq(x->path, y->path)) {
            return false;
        }
    }
    return true;
}

static void test_spans__random_templates(void **state)
{
    (void)state;
    cf_rand r = {7};
    for (int round = 0; round < 2000; round++) {
        cf_buf source = CF_BUF_INIT, text = CF_BUF_INIT;
        cf_arena arena;
        cf_template *tpl = NULL, *fresh = NULL;
        cf_context *c1 = NULL, *c2 = NULL;
        cf_render a, b, c;
        cf_error err;
        json_t *json = NULL;
        cf_arena_init(&arena, 0);
        make_template(&source, &r);
        make_context(&text, &r);
        cf_str s = cf_buf_str(&source);
        T_OK(cf_json_read(&json, text.p, text.n, &err), err);
        T_OK(cf_template_compile(&tpl, s, NULL, NULL, NULL, &err), err);
        T_OK(cf_context_read(&c1, cf_str_make(text.p, text.n), &arena, &err), err);
        T_OK(cf_context_from_json(&c2, json, &arena, &err), err);
        T_OK(cf_template_render(tpl, c1, NULL, &arena, &a, &err), err);
        T_OK(cf_template_render(tpl, c2, NULL, &arena, &b, &err), err);
        T_OK(cf_template_compile(&fresh, s, NULL, NULL, NULL, &err), err);
        T_OK(cf_template_render(fresh, c1, NULL, &arena, &c, &err), err);
        check(&a.prompt, s, json);
        assert_true(same(&a.prompt, &b.prompt));
        assert_true(same(&a.prompt, &c.prompt));
        cf_template_free(tpl);
        cf_template_free(fresh);
        json_decref(json);
        cf_arena_deinit(&arena);
        cf_buf_deinit(&source);
        cf_buf_deinit(&text);
    }
}

/* Nothing that a message says is ever called template text. */
static void test_spans__messages_are_never_template(void **state)
{
    (void)state;
    cf_rand r = {99};
    for (int round = 0; round < 500; round++) {
        cf_buf source = CF_BUF_INIT;
        cf_arena arena;
        cf_template *tpl = NULL;
        cf_context *context = NULL;
        cf_render out;
        cf_error err;
        cf_arena_init(&arena, 0);
        make_template(&source, &r);
        T_OK(cf_context_read(&context,
                             cf_str_from("{\"messages\":[{\"role\":\"~~\",\"content\":\"~~~~ ~"
                                         "~~\"},{\"role\":\"~\",\"content\":\"~~ ~~~~\","
                                         "\"n\":1}],\"tools\":[{\"name\":\"~\","
                                         "\"parameters\":{\"k\":\"~~\"}}],\"bos_token\":"
                                         "\"~\"}"),
                             &arena, &err),
             err);
        T_OK(cf_template_compile(&tpl, cf_str_make(source.p, source.n), NULL, NULL, NULL, &err),
             err);
        T_OK(cf_template_render(tpl, context, NULL, &arena, &out, &err), err);
        for (size_t i = 0; i < out.prompt.n_spans; i++) {
            const cf_prompt_span *s = &out.prompt.spans[i];
            if (s->source == CF_SPAN_TEMPLATE) {
                assert_null(memchr(out.prompt.text.p + s->off, '~', s->len));
            }
        }
        cf_template_free(tpl);
        cf_arena_deinit(&arena);
        cf_buf_deinit(&source);
    }
}

/* ---- the templates that come with confab -------------------------------- */

static void add_text(cf_buf *b, cf_rand *r)
{
    cf_buf_addf(b, "\"%s\"", contents[cf_rand_below(r, 5)]);
}

/* A text, typed parts, or nothing. */
static void add_content(cf_buf *b, cf_rand *r)
{
    switch (cf_rand_below(r, 8)) {
    case 0:
        cf_buf_adds(b, "[{\"type\":\"text\",\"text\":");
        add_text(b, r);
        cf_buf_adds(b, "},{\"type\":\"text\",\"text\":\"two\"}]");
        break;
    case 1:
        cf_buf_adds(b, "null");
        break;
    case 2:
        cf_buf_adds(b, "\"<think>\\nwhy not\\n</think>\\n\\nso it is\"");
        break;
    default:
        add_text(b, r);
    }
}

static void add_calls(cf_buf *b, cf_rand *r)
{
    size_t n = 1 + cf_rand_below(r, 2);
    cf_buf_adds(b, ",\"tool_calls\":[");
    for (size_t i = 0; i < n; i++) {
        cf_buf_addf(b,
                    "%s{\"id\":\"call%05d\",\"type\":\"function\","
                    "\"function\":{\"name\":\"look_up\",\"arguments\":",
                    i != 0 ? "," : "", (int)i);
        if (cf_rand_below(r, 4) == 0) {
            cf_buf_adds(b, "\"{\\\"city\\\": \\\"Rome\\\"}\"}}");
        } else {
            cf_buf_adds(b, "{\"city\":");
            add_text(b, r);
            cf_buf_addf(b, ",\"n\":%d,\"deep\":{\"l\":[1,true,null]}}}}", (int)cf_rand_below(r, 9));
        }
    }
    cf_buf_addc(b, ']');
}

static void add_reply(cf_buf *b, cf_rand *r, bool with_tools)
{
    cf_buf_adds(b, ",{\"role\":\"assistant\",\"content\":");
    add_content(b, r);
    if (cf_rand_below(r, 3) == 0) {
        cf_buf_adds(b, ",\"reasoning_content\":");
        add_text(b, r);
    }
    bool calls = with_tools && cf_rand_below(r, 2) == 0;
    if (calls) {
        add_calls(b, r);
    }
    cf_buf_addc(b, '}');
    if (calls) {
        cf_buf_adds(b, ",{\"role\":\"tool\",\"name\":\"look_up\","
                       "\"tool_call_id\":\"call00000\",\"content\":");
        add_text(b, r);
        cf_buf_adds(b, "},{\"role\":\"assistant\",\"content\":");
        add_text(b, r);
        cf_buf_addc(b, '}');
    }
}

static const char *truth(cf_rand *r)
{
    return cf_rand_below(r, 2) != 0 ? "true" : "false";
}

/* A conversation as templates expect it, most of the time. */
static void make_chat(cf_buf *b, cf_rand *r)
{
    bool with_tools = cf_rand_below(r, 2) != 0;
    size_t n = 1 + cf_rand_below(r, 3);
    cf_buf_adds(b, "{\"messages\":[");
    if (cf_rand_below(r, 2) != 0) {
        cf_buf_adds(b, "{\"role\":\"system\",\"content\":");
        add_text(b, r);
        cf_buf_adds(b, "},");
    }
    for (size_t i = 0; i < n; i++) {
        cf_buf_addf(b, "%s{\"role\":\"user\",\"content\":", i != 0 ? "," : "");
        add_content(b, r);
        cf_buf_addc(b, '}');
        if (i + 1 < n || cf_rand_below(r, 3) == 0) {
            add_reply(b, r, with_tools);
        }
    }
    cf_buf_addf(b, "],\"tools\":%s,",
                with_tools ? "[{\"type\":\"function\",\"function\":{\"name\":"
                             "\"look_up\",\"description\":\"Looks a city up.\","
                             "\"parameters\":{\"type\":\"object\",\"properties\":"
                             "{\"city\":{\"type\":\"string\",\"description\":"
                             "\"Its name\",\"enum\":[\"Rome\",\"Bonn\"]},\"n\":"
                             "{\"type\":\"integer\"}},\"required\":[\"city\"]}}}]"
                           : "null");
    cf_buf_addf(b,
                "\"bos_token\":\"<s>\",\"eos_token\":\"</s>\","
                "\"enable_thinking\":%s,\"add_generation_prompt\":%s}",
                truth(r), truth(r));
}

/* Renders one conversation; true when the template takes it. */
static bool renders(const cf_template *tpl, cf_rand *r)
{
    cf_buf text = CF_BUF_INIT;
    cf_arena arena;
    cf_context *context = NULL;
    cf_render out;
    cf_error err;
    json_t *json = NULL;
    cf_arena_init(&arena, 0);
    make_chat(&text, r);
    T_OK(cf_json_read(&json, text.p, text.n, &err), err);
    T_OK(cf_context_read(&context, cf_str_make(text.p, text.n), &arena, &err), err);
    cf_status st = cf_template_render(tpl, context, NULL, &arena, &out, &err);
    if (st == CF_OK) {
        check(&out.prompt, cf_template_source(tpl), json);
    } else {
        assert_int_equal(st, CF_EFORMAT);
    }
    json_decref(json);
    cf_arena_deinit(&arena);
    cf_buf_deinit(&text);
    return st == CF_OK;
}

static void test_spans__bundled_templates(void **state)
{
    (void)state;
    cf_rand r = {2024};
    const char *name;
    for (size_t i = 0; (name = cf_template_builtin_name(i)) != NULL; i++) {
        cf_template *tpl = NULL;
        cf_error err;
        int n = 0;
        T_OK(cf_template_compile(&tpl, cf_template_builtin(name), NULL, NULL, NULL, &err), err);
        for (int round = 0; round < 100; round++) {
            n += renders(tpl, &r);
        }
        if (n < 20) {
            fail_msg("%s takes %d of 100 conversations only", name, n);
        }
        cf_template_free(tpl);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_spans__random_templates),
        cmocka_unit_test(test_spans__messages_are_never_template),
        cmocka_unit_test(test_spans__bundled_templates),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
