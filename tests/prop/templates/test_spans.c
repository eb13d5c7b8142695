/*
 * test_spans.c - what holds for every render: spans cover the output, a copy
 * is the source's bytes, the same input gives the same output.
 */
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

static const char *const contents[] = {
    "Hello, a world", " \\u00e9a\\u6f22 b\\n c ", "", "<|im_end|> a {{ x }}",
    "\\\"q\\\" \\\\ \\u0001 aaa"};

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
        i += s->path.p[i] == '.';
        size_t end = i;
        while (end < s->path.n && s->path.p[end] != '.') {
            end++;
        }
        snprintf(name, sizeof name, "%.*s", (int)(end - i), s->path.p + i);
        at = json_object_get(at, name);
        i = end;
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
        cf_str s = cf_str_make(cf_buf_cstr(&source), source.n);
        T_OK(cf_json_read(&json, text.p, text.n, &err), err);
        T_OK(cf_template_compile(&tpl, s, NULL, NULL, NULL, &err), err);
        T_OK(cf_context_read(&c1, cf_str_make(text.p, text.n), &arena, &err),
             err);
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
        T_OK(cf_context_read(
                 &context,
                 cf_str_from(
                     "{\"messages\":[{\"role\":\"~~\",\"content\":\"~~~~ ~"
                     "~~\"},{\"role\":\"~\",\"content\":\"~~ ~~~~\","
                     "\"n\":1}],\"tools\":[{\"name\":\"~\","
                     "\"parameters\":{\"k\":\"~~\"}}],\"bos_token\":"
                     "\"~\"}"),
                 &arena, &err),
             err);
        T_OK(cf_template_compile(&tpl, cf_str_make(source.p, source.n), NULL,
                                 NULL, NULL, &err),
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_spans__random_templates),
        cmocka_unit_test(test_spans__messages_are_never_template),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
