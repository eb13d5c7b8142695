/*
 * test_lint.c - each rule finds its planted fault and is silent on the same
 * template without it; capabilities; memory running out.
 */
#include "tests/support/t.h"
#include "templates/builtin.h"
#include "templates/lint_output.h"
#include "templates/template_lint.h"
#include "tests/support/fault.h"

/* A template without a fault that any rule knows. */
static const char clean[] =
    "{{- bos_token }}\n"
    "{%- if tools %}\n"
    "{{- '<|im_start|>tools\\n' }}\n"
    "{%- for tool in tools %}{{- tool | tojson + '\\n' }}{%- endfor %}\n"
    "{{- '<|im_end|>\\n' }}\n"
    "{%- endif %}\n"
    "{%- for message in messages %}\n"
    "{{- '<|im_start|>' + message.role + '\\n' }}\n"
    "{%- if message.reasoning_content %}\n"
    "{{- '<think>' + message.reasoning_content + '</think>' }}\n"
    "{%- endif %}\n"
    "{%- if message.content is string %}{{- message.content }}{%- endif %}\n"
    "{%- for call in message.tool_calls or [] %}\n"
    "{{- '<tool_call>\\n{\"name\": \"' + call.function.name + "
    "'\", \"arguments\": ' + call.function.arguments | tojson + "
    "'}\\n</tool_call>' }}\n"
    "{%- endfor %}\n"
    "{{- '<|im_end|>\\n' }}\n"
    "{%- endfor %}\n"
    "{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n' }}"
    "{%- endif %}\n";

/* The clean template with one part of it replaced. */
static char *planted(const char *was, const char *is)
{
    const char *at = strstr(clean, was);
    assert_non_null(at);
    size_t n = strlen(clean) + strlen(is) + 1;
    char *out = malloc(n);
    assert_non_null(out);
    snprintf(out, n, "%.*s%s%s", (int)(at - clean), clean, is, at + strlen(was));
    return out;
}

static bool has_rule(const cf_lint_report *r, const char *rule)
{
    for (size_t i = 0; i < r->n; i++) {
        if (strcmp(r->v[i].rule, rule) == 0) {
            return true;
        }
    }
    return false;
}

static void lint(const char *source, cf_arena *arena, cf_lint_report *out)
{
    cf_error err;
    cf_arena_init(arena, 0);
    T_OK(cf_template_lint(cf_str_from(source), NULL, arena, out, &err), err);
}

static void test_clean__no_finding(void **state)
{
    (void)state;
    cf_arena arena;
    cf_lint_report r;
    lint(clean, &arena, &r);
    for (size_t i = 0; i < r.n; i++) {
        printf("%s %.*s\n", r.v[i].rule, (int)r.v[i].message.n, r.v[i].message.p);
    }
    assert_int_equal(r.n, 0);
    for (size_t i = 0; i < r.n_stability; i++) {
        assert_true(r.stability[i].is_rendered);
        assert_true(r.stability[i].is_stable);
    }
    cf_arena_deinit(&arena);
}

static void finds(const char *rule, const char *was, const char *is)
{
    cf_arena arena;
    cf_lint_report r;
    char *source = planted(was, is);
    lint(source, &arena, &r);
    if (!has_rule(&r, rule)) {
        fail_msg("%s is not found in: %s", rule, source);
    }
    cf_arena_deinit(&arena);
    free(source);
}

static void test_rules__find_what_was_planted(void **state)
{
    (void)state;
    finds("E001", "{{- bos_token }}", "{{- bos_token + bos_token }}");
    finds("E003", "{{- '<|im_end|>\\n' }}\n{%- endfor %}\n{%- if add",
          "{{- '<|im_end|>\\n' if not loop.last }}\n{%- endfor %}\n{%- if add");
    finds("E004", "{{- '<|im_start|>assistant\\n' }}", "{{- '' }}");
    finds("E004", "{%- if add_generation_prompt %}",
          "{{- '' if add_generation_prompt else eos_token }}"
          "{%- if add_generation_prompt %}");
    finds("E005",
          "{%- if message.content is string %}{{- message.content }}"
          "{%- endif %}",
          "{{- message.content + '' }}");
    finds("E005", "{{- bos_token }}",
          "{{- bos_token }}{%- if messages[0].role == 'x' %}{%- endif %}");
    finds("E006", "{\"name\": \"", "{\"tool\": \"");
    finds("E007", "tool | tojson", "''");
    finds("E008", "message.tool_calls or []", "[]");
    finds("E009", "{%- for message in messages %}",
          "{%- for message in messages if message.role != 'tool' %}");
    finds("E011", "{%- for message in messages %}",
          "{%- for message in messages if message.role != 'assistant' %}");
    finds("E010", "'<|im_start|>' + message.role + '\\n'", "'<|' + message.role + '|>'");
    finds("E012", "{%- if message.reasoning_content %}",
          "{%- if message.reasoning_content and loop.last %}");
    finds("W003", "'<|im_start|>' + message.role + '\\n'",
          "'<|im_start|>' + ('user' if message.role == 'tool' else "
          "message.role) + '\\n'");
    finds("W004", "{%- if message.reasoning_content %}",
          "{%- if message.reasoning_content and loop.last %}");
    finds("W004", "{%- if message.reasoning_content %}", "{%- if false %}");
    finds("W005", "{{- '<|im_start|>' + message.role + '\\n' }}",
          "{%- if message.role == 'system' %}{%- continue %}{%- endif %}"
          "{{- '<|im_start|>' + message.role + '\\n' }}");
    finds("W006", "call.function.arguments | tojson", "call.function.arguments | tojson | tojson");
    finds("W007", "{{- '<|im_start|>assistant\\n' }}", "{{- '<|im_start|>assistant: ' }}");
    finds("W009", "{{- bos_token }}", "{% include 'other' %}");
    finds("W009", "{{- bos_token }}",
          "{{- bos_token }}{%- set x = [] %}{%- set y = x.append(1) %}");
    finds("I007", "{{- bos_token }}", "{{- bos_token + strftime_now('%d') }}");
    finds("I008", "{{- bos_token }}", "{{- bos_token ~ date_string }}");
}

static void is_silent(const char *rule, const char *was, const char *is)
{
    cf_arena arena;
    cf_lint_report r;
    char *source = planted(was, is);
    lint(source, &arena, &r);
    if (has_rule(&r, rule)) {
        fail_msg("%s is found in: %s", rule, source);
    }
    cf_arena_deinit(&arena);
    free(source);
}

/* What is nearly a fault, on both sides. */
static void test_rules__nearly(void **state)
{
    (void)state;
    static const char role[] = "'<|im_start|>' + message.role + '\\n'";
    static const char begin[] = "{{- '<|im_start|>' + message.role + '\\n' }}\n";
    finds("W003", role, "'<|' + ('user' if message.role == 'tool' else message.role) + '|>\\n'");
    is_silent("W003", role,
              "'<|' + ('users' if message.role == 'tool' else message.role) + '|>\\n'");
    is_silent("W003", role,
              "'<|' + ('superuser' if message.role == 'tool' else message.role) + '|>\\n'");
    finds("E010", role, "'<' + message.role[:2] + '>\\n'");
    is_silent("E010", role, "'<' + message.role[:1] + '>\\n'");
    finds("E010", role, "'[' + message.role[:2] | upper + ']\\n'");
    is_silent("E010", role, "'[' + message.role[:2] + ']\\n'");
    finds("I007", begin,
          "{%- if message.role == 'tool' %}{{- strftime_now('%d') }}{%- endif %}"
          "{{- '<|im_start|>' + message.role + '\\n' }}\n");
}

/* A mark that is made of a role is found where the role is written. */
static void test_finding__where_a_mark_is_glued(void **state)
{
    (void)state;
    cf_arena arena;
    cf_lint_report r;
    size_t n = 0;
    uint32_t line = 1;
    char *source = planted("'<|im_start|>' + message.role + '\\n'", "'<|' + message.role + '|>'");
    for (const char *p = source, *end = strstr(source, "'<|' + message"); p < end; p++) {
        line += *p == '\n';
    }
    lint(source, &arena, &r);
    for (size_t i = 0; i < r.n; i++) {
        if (strcmp(r.v[i].rule, "E010") == 0) {
            assert_int_equal(r.v[i].line, line);
            n++;
        }
    }
    assert_true(n > 0);
    cf_arena_deinit(&arena);
    free(source);
}

/* A report of three findings: of a whole template, of a line, of a place. */
static void put_three(const char *format, cf_buf *out)
{
    static const char *const ids[] = {"E001", "E003", "W007"};
    static const uint32_t at[][2] = {{0, 0}, {1, 0}, {7, 3}};
    cf_lint_finding v[3];
    cf_arena arena;
    cf_lint_report r;
    lint(clean, &arena, &r);
    memset(v, 0, sizeof v);
    for (size_t i = 0; i < 3; i++) {
        v[i] = (cf_lint_finding){.rule = ids[i],
                                 .line = at[i][0],
                                 .col = at[i][1],
                                 .message = cf_str_from("m"),
                                 .effect = "e",
                                 .fix = "f"};
    }
    r.v = v;
    r.n = 3;
    cf_lint_output o = {.format = cf_lint_format_find(format), .out = out};
    cf_lint_output_begin(&o);
    cf_lint_output_one(&o, "t.jinja", &r);
    cf_lint_output_end(&o);
    assert_false(out->failed);
    cf_arena_deinit(&arena);
}

static void test_output__places(void **state)
{
    (void)state;
    static const int want[][2] = {{1, 0}, {1, 0}, {7, 3}};
    cf_buf out = CF_BUF_INIT;
    cf_error err;
    json_t *v;
    put_three("sarif", &out);
    T_OK(cf_json_read(&v, out.p, out.n, &err), err);
    const json_t *run = json_array_get(json_object_get(v, "runs"), 0);
    const json_t *results = json_object_get(run, "results");
    assert_int_equal(json_array_size(results), 3);
    for (size_t i = 0; i < 3; i++) {
        int line = 0, col = 0;
        json_t *one = json_array_get(results, i);
        assert_int_equal(json_unpack(one, "{s:[{s:{s:{s:i, s?i}}}]}", "locations",
                                     "physicalLocation", "region", "startLine", &line,
                                     "startColumn", &col),
                         0);
        assert_int_equal(line, want[i][0]);
        assert_int_equal(col, want[i][1]);
    }
    json_decref(v);
    cf_buf_reset(&out);
    put_three("table", &out);
    assert_non_null(strstr(cf_buf_cstr(&out), "| E001 E003 W007 |"));
    cf_buf_deinit(&out);
}

/* A system text is merged where only blanks, or nothing, part it from the user's. */
static void test_caps__merged(void **state)
{
    (void)state;
    static const struct {
        const char *between;
        cf_cap want;
    } rows[] = {{"", CF_CAP_MERGED}, {" \n", CF_CAP_MERGED}, {"|", CF_CAP_YES}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char source[128];
        cf_arena arena;
        cf_lint_report r;
        snprintf(source, sizeof source,
                 "{%% for m in messages %%}{{ m.content }}{{ '%s' }}{%% endfor %%}",
                 i == 1 ? " \\n" : rows[i].between);
        lint(source, &arena, &r);
        assert_int_equal(r.caps.system, rows[i].want);
        cf_arena_deinit(&arena);
    }
}

/* A guarded variable is a switch, not a fault. */
static void test_i008__guards_are_understood(void **state)
{
    (void)state;
    static const char *const fine[] = {
        "{{- bos_token }}{%- if style is defined %}{{- style }}{%- endif %}",
        "{{- bos_token ~ (style | default('')) }}",
        "{{- bos_token }}{%- if style %}{{- style }}{%- endif %}",
        "{{- bos_token }}{%- set style = 'x' %}{{- style if false }}"};
    for (size_t i = 0; i < sizeof fine / sizeof fine[0]; i++) {
        cf_arena arena;
        cf_lint_report r;
        char *source = planted("{{- bos_token }}", fine[i]);
        lint(source, &arena, &r);
        if (has_rule(&r, "I008")) {
            fail_msg("I008 is found in: %s", fine[i]);
        }
        cf_arena_deinit(&arena);
        free(source);
    }
}

static void test_finding__place_and_context(void **state)
{
    (void)state;
    cf_arena arena;
    cf_lint_report r;
    char *source = planted("{%- if message.reasoning_content %}",
                           "{%- if message.reasoning_content and loop.last %}");
    lint(source, &arena, &r);
    const cf_lint_finding *f = NULL;
    for (size_t i = 0; i < r.n && f == NULL; i++) {
        f = strcmp(r.v[i].rule, "E012") == 0 ? &r.v[i] : NULL;
    }
    assert_non_null(f);
    assert_true(f->line >= 8 && f->line <= 18);
    json_t *context;
    cf_error err;
    T_OK(cf_json_read(&context, f->context.p, f->context.n, &err), err);
    assert_true(json_is_array(json_object_get(context, "messages")));
    json_decref(context);
    cf_arena_deinit(&arena);
    free(source);
}

/* The first condition that a finding of `rule` names, with its outcome, in the
 * clean template with one part replaced. */
static void decided(const char *rule, const char *was, const char *is, const char *test,
                    const char *outcome)
{
    cf_arena arena;
    cf_lint_report r;
    char *source = planted(was, is);
    lint(source, &arena, &r);
    for (size_t i = 0; i < r.n; i++) {
        const cf_lint_finding *f = &r.v[i];
        if (strcmp(f->rule, rule) != 0) {
            continue;
        }
        for (size_t k = 0; k < f->n_because; k++) {
            if (cf_str_is(f->because[k].test, test) &&
                strstr(f->because[k].outcome, outcome) != NULL && f->because[k].line > 0) {
                rule = NULL;
                break;
            }
        }
        break;
    }
    if (rule != NULL) {
        fail_msg("%s does not name `%s` (%s)", rule, test, outcome);
    }
    cf_arena_deinit(&arena);
    free(source);
}

static void test_because__the_condition_is_named(void **state)
{
    (void)state;
    decided("E012", "{%- if message.reasoning_content %}",
            "{%- if message.reasoning_content and loop.last %}",
            "message.reasoning_content and loop.last",
            "is true in the shorter prompt, false in the longer");
    decided("E009", "{%- for message in messages %}",
            "{%- for message in messages if message.role != 'tool' %}", "message.role != 'tool'",
            "is false for this message");
    decided("E011", "{%- if message.content is string %}", "{%- if message.role != 'assistant' %}",
            "message.role != 'assistant'", "is false for this message");
    decided("E007", "{%- if tools %}", "{%- if tools and false %}", "tools and false", "is false");
    decided("E005", "{{- bos_token }}",
            "{{- bos_token }}{%- if messages | length == 0 %}{{- messages[0] "
            ".role }}{%- endif %}",
            "messages | length == 0", "is true");
}

/* A date that is read and not written is no fault. */
static void test_i007__only_a_date_that_is_written(void **state)
{
    (void)state;
    cf_arena arena;
    cf_lint_report r;
    char *source = planted("{{- bos_token }}", "{{- bos_token }}{%- set d = strftime_now('%d') %}");
    lint(source, &arena, &r);
    assert_false(has_rule(&r, "I007"));
    cf_arena_deinit(&arena);
    free(source);
    source = planted("{{- bos_token }}", "{{- bos_token }}{%- if tools %}{{- strftime_now('%d') }}"
                                         "{%- endif %}");
    lint(source, &arena, &r);
    assert_true(has_rule(&r, "I007"));
    cf_arena_deinit(&arena);
    free(source);
}

static void test_caps__of_families(void **state)
{
    (void)state;
    cf_arena arena;
    cf_lint_report r;
    cf_str qwen = cf_template_builtin("qwen3");
    cf_str gemma = cf_template_builtin("gemma3");
    cf_error err;
    cf_arena_init(&arena, 0);
    T_OK(cf_template_lint(qwen, NULL, &arena, &r, &err), err);
    assert_int_equal(r.caps.system, CF_CAP_YES);
    assert_int_equal(r.caps.tool_calls, CF_CAP_YES);
    assert_int_equal(r.caps.reasoning_history, CF_CAP_DROPPED);
    assert_true(r.caps.thinking_switch);
    assert_true(has_rule(&r, "W003"));
    assert_true(has_rule(&r, "E012"));
    T_OK(cf_template_lint(gemma, NULL, &arena, &r, &err), err);
    assert_int_equal(r.caps.system, CF_CAP_MERGED);
    assert_int_equal(r.caps.tools, CF_CAP_DROPPED);
    assert_true(r.caps.needs_alternation);
    assert_true(has_rule(&r, "W005"));
    cf_arena_deinit(&arena);
}

/* The requirements of a template on ids, fields and forms. */
static void test_caps__of_ids_fields_and_forms(void **state)
{
    (void)state;
    cf_template *tpl;
    cf_template_caps c;
    cf_error err;
    T_OK(cf_template_compile(&tpl, cf_template_builtin("mistral"), NULL, NULL, NULL, &err), err);
    T_OK(cf_template_get_caps(tpl, NULL, &c, &err), err);
    assert_int_equal(c.call_id_rule, CF_CALL_ID_NINE);
    assert_true(c.needs_alternation);
    assert_true(c.needs_user_first);
    cf_template_free(tpl);
    T_OK(cf_template_compile(&tpl,
                             cf_str_from("{% for m in messages %}{{ m.role }}: {{ m.content }}"
                                         "{{ m.thinking }}{% if m.tool_calls %}"
                                         "{{ m.tool_calls[0].function | tojson }}{% endif %}"
                                         "\n{% endfor %}"),
                             NULL, NULL, NULL, &err),
         err);
    T_OK(cf_template_get_caps(tpl, NULL, &c, &err), err);
    assert_string_equal(c.reasoning_field, "thinking");
    assert_int_equal(c.reasoning, CF_CAP_YES);
    assert_int_equal(c.typed_content, CF_CAP_GARBLED);
    assert_int_equal(c.object_results, CF_CAP_GARBLED);
    assert_int_equal(c.string_args, CF_CAP_GARBLED);
    assert_int_equal(c.tool_calls, CF_CAP_YES);
    assert_int_equal(c.several_calls, CF_CAP_DROPPED);
    assert_int_equal(c.late_system, CF_CAP_YES);
    assert_int_equal(c.tools, CF_CAP_DROPPED);
    assert_int_equal(c.call_id_rule, CF_CALL_ID_FREE);
    cf_template_free(tpl);
}

/* Every row of the list has a key of its own and a value. */
static void test_caps__rows(void **state)
{
    (void)state;
    cf_template_caps c = {0};
    cf_cap_row a, b;
    size_t n = 0;
    for (; cf_template_caps_row(&c, n, &a); n++) {
        assert_true(a.value[0] != '\0' && a.label[0] != '\0');
        for (size_t k = 0; k < n; k++) {
            assert_true(cf_template_caps_row(&c, k, &b));
            assert_string_not_equal(a.key, b.key);
        }
    }
    assert_true(n > 25);
}

/* Rules are in the order of their ids, with words of their own. */
static void test_rules__in_order(void **state)
{
    (void)state;
    static const char levels[] = "EWI";
    const cf_lint_rule *last = NULL, *r;
    for (size_t i = 0; (r = cf_lint_rule_at(i)) != NULL; i++) {
        const char *level = strchr(levels, r->id[0]);
        assert_non_null(level);
        if (last != NULL) {
            const char *before = strchr(levels, last->id[0]);
            assert_true(before < level || (before == level && strcmp(last->id, r->id) < 0));
        }
        assert_true(r->title[0] != '\0' && r->effect[0] != '\0' && r->fix[0] != '\0');
        last = r;
    }
}

/* Shared lists: a line that prints one takes exponential text.  One lint has
 * one budget, says so once, and tries nothing more. */
static void test_limits__of_a_whole_lint(void **state)
{
    (void)state;
    static const char *const bombs[] = {
        "{% set ns = namespace(a=[1]) %}{% for i in range(18) %}"
        "{% set ns.a = [ns.a, ns.a] %}{% endfor %}{{ ns.a | pprint }}",
        "{% set ns = namespace(a=[1]) %}{% for i in range(40) %}"
        "{% set ns.a = [ns.a, ns.a] %}{% endfor %}{{ ns.a }}",
        "{% macro m(n) %}{% if n %}{{ m(n - 1) }}{{ m(n - 1) }}{% endif %}"
        "{% endmacro %}{{ m(40) }}",
        "{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}"
        "{% endfor %}"};
    for (size_t i = 0; i < sizeof bombs / sizeof bombs[0]; i++) {
        cf_arena arena;
        cf_lint_report r;
        lint(bombs[i], &arena, &r);
        assert_true(r.is_cut);
        assert_int_equal(r.n, 1);
        assert_string_equal(r.v[0].rule, "E005");
        assert_int_equal(r.n_errors, 1);
        assert_true(arena.total < 1 << 20);
        cf_arena_deinit(&arena);
    }
}

static void lint_for(const char *source, const char *client, cf_arena *arena, cf_lint_report *out)
{
    cf_error err;
    const cf_lint_options options = {.client = cf_str_from(client)};
    cf_arena_init(arena, 0);
    T_OK(cf_template_lint(cf_str_from(source), &options, arena, out, &err), err);
}

/* Whether a finding of the rule has both words. */
static bool says(const cf_lint_report *r, const char *rule, const char *client, const char *word)
{
    for (size_t i = 0; i < r->n; i++) {
        const char *text = r->v[i].message.p;
        if (strcmp(r->v[i].rule, rule) == 0 && strstr(text, client) != NULL &&
            strstr(text, word) != NULL) {
            return true;
        }
    }
    return false;
}

/* The requests of clients that the template cannot take, by client. */
static void test_clients__refused_and_lost(void **state)
{
    (void)state;
    cf_arena arena;
    cf_lint_report r;
    char *source = planted("{%- for message in messages %}",
                           "{%- for message in messages %}"
                           "{%- if message.role == 'system' and not loop.first "
                           "%}{{ raise_exception('first') }}{%- endif %}");
    lint(source, &arena, &r);
    assert_false(has_rule(&r, "E013")); /* without a client nothing is tried */
    assert_false(has_rule(&r, "E014"));
    cf_arena_deinit(&arena);
    lint_for(source, "all", &arena, &r);
    assert_true(says(&r, "E013", "opencode", "two system messages"));
    assert_true(says(&r, "E013", "claude-code", "in the middle"));
    assert_true(says(&r, "E014", "claude-code", "as a list of parts"));
    assert_false(says(&r, "E013", "goose", "in the middle"));
    cf_arena_deinit(&arena);
    lint_for(source, "goose", &arena, &r);
    assert_false(has_rule(&r, "E013"));
    assert_false(says(&r, "E014", "claude-code", ""));
    cf_arena_deinit(&arena);
    free(source);
    size_t n = 0;
    for (; cf_lint_client_at(n) != NULL; n++) {
    }
    assert_true(n >= 5);
}

/* A template that takes every shape satisfies every client. */
static void test_clients__can_all_be_served(void **state)
{
    (void)state;
    cf_arena arena;
    cf_lint_report r;
    static const char open_to_all[] =
        "{{- bos_token }}{%- for t in tools or [] %}{{- t | tojson }}"
        "{%- endfor %}"
        "{%- for m in messages %}{{- '[' + m.role + ']' }}"
        "{%- if m.content is string %}{{- m.content }}"
        "{%- elif m.content is mapping %}{{- m.content | tojson }}"
        "{%- elif m.content %}{%- for p in m.content %}{{- p.text }}"
        "{%- endfor %}{%- endif %}"
        "{%- for c in m.tool_calls or [] %}{{- c.function.name }}"
        "{%- if c.function.arguments is string %}{{- c.function.arguments }}"
        "{%- else %}{{- c.function.arguments | tojson }}{%- endif %}"
        "{%- endfor %}\n{% endfor %}"
        "{%- if add_generation_prompt %}{{- '[assistant]' }}{%- endif %}";
    lint_for(open_to_all, "all", &arena, &r);
    for (size_t i = 0; i < r.n; i++) {
        if (r.v[i].rule[0] == 'E' &&
            (strcmp(r.v[i].rule, "E013") == 0 || strcmp(r.v[i].rule, "E014") == 0)) {
            fail_msg("%s %s", r.v[i].rule, r.v[i].message.p);
        }
    }
    cf_arena_deinit(&arena);
}

static void test_cancel__ends_a_lint(void **state)
{
    (void)state;
    cf_arena arena;
    cf_lint_report r;
    cf_error err;
    cf_cancel cancel = true;
    cf_lint_options options = {.cancel = &cancel};
    cf_arena_init(&arena, 0);
    T_FAILS(cf_template_lint(cf_str_from(clean), &options, &arena, &r, &err), CF_ECANCELLED);
    cf_arena_deinit(&arena);
}

static cf_status lint_body(void *ud)
{
    (void)ud;
    cf_arena arena;
    cf_lint_report r;
    cf_arena_init(&arena, 0);
    cf_status st = cf_template_lint(cf_str_from(clean), NULL, &arena, &r, NULL);
    cf_arena_deinit(&arena);
    return st;
}

static void test_lint__memory_may_run_out(void **state)
{
    (void)state;
    size_t live = cf_fault_live();
    for (size_t nth = 1; nth < 2000; nth += 7) {
        cf_fault_arm(nth, true);
        cf_status st = lint_body(NULL);
        cf_fault_disarm();
        assert_true(st == CF_ENOMEM || st == CF_OK);
        assert_int_equal(cf_fault_live(), live);
    }
    assert_int_equal(lint_body(NULL), CF_OK);
}

/* The clean template with content as parts; `image` is what it writes for a
 * picture, in the loop over parts; `first` before the loop. */
static char *with_parts(const char *first, const char *image)
{
    char body[1024];
    snprintf(body, sizeof body,
             "{%%- if message.content is string %%}{{- message.content }}"
             "{%%- else %%}%s{%%- for part in message.content or [] %%}"
             "{%%- if part.type == 'image' %%}%s"
             "{%%- elif part.type == 'text' %%}{{- part.text }}{%%- endif %%}"
             "{%%- endfor %%}{%%- endif %%}\n",
             first, image);
    return planted("{%- if message.content is string %}{{- message.content }}"
                   "{%- endif %}\n",
                   body);
}

static void check_media(const char *first, const char *image, const char *const *markers,
                        const char *rule)
{
    static const char *const rules[] = {"E015", "E016", "W010"};
    cf_arena arena;
    cf_lint_report r;
    cf_error err;
    char *source = with_parts(first, image);
    const cf_lint_options options = {.image_markers = markers};
    cf_arena_init(&arena, 0);
    T_OK(cf_template_lint(cf_str_from(source), &options, &arena, &r, &err), err);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(has_rule(&r, rules[i]), rule != NULL && strcmp(rules[i], rule) == 0);
    }
    cf_arena_deinit(&arena);
    free(source);
}

static void test_media__dropped_wrong_or_misplaced(void **state)
{
    (void)state;
    static const char *const gemma[] = {"<start_of_image>", NULL};
    static const char hoisted[] =
        "{%- for part in message.content or [] %}{%- if part.type == 'image' "
        "%}{{- '<start_of_image>' }}{%- endif %}{%- endfor %}";
    static const char marker[] = "{{- '<start_of_image>' }}";
    check_media("", marker, NULL, NULL);
    check_media("", marker, gemma, NULL);
    check_media("", "", NULL, "E015");
    check_media("", "{{- '<image>' }}", gemma, "E016");
    check_media("", "{{- '<image>' }}", NULL, NULL); /* it may be the one */
    check_media(hoisted, "", NULL, "W010");
    check_media(hoisted, "", gemma, "W010");
}

/* A template that names no such parts is for a model of text. */
static void test_media__of_a_model_of_text(void **state)
{
    (void)state;
    cf_arena arena;
    cf_lint_report r;
    lint(clean, &arena, &r);
    assert_false(has_rule(&r, "E015"));
    cf_arena_deinit(&arena);
}

int main(void)
{
    cf_fault_install();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_media__dropped_wrong_or_misplaced),
        cmocka_unit_test(test_media__of_a_model_of_text),
        cmocka_unit_test(test_clean__no_finding),
        cmocka_unit_test(test_rules__find_what_was_planted),
        cmocka_unit_test(test_i008__guards_are_understood),
        cmocka_unit_test(test_rules__nearly),
        cmocka_unit_test(test_finding__where_a_mark_is_glued),
        cmocka_unit_test(test_output__places),
        cmocka_unit_test(test_caps__merged),
        cmocka_unit_test(test_finding__place_and_context),
        cmocka_unit_test(test_i007__only_a_date_that_is_written),
        cmocka_unit_test(test_because__the_condition_is_named),
        cmocka_unit_test(test_caps__of_families),
        cmocka_unit_test(test_caps__of_ids_fields_and_forms),
        cmocka_unit_test(test_caps__rows),
        cmocka_unit_test(test_rules__in_order),
        cmocka_unit_test(test_limits__of_a_whole_lint),
        cmocka_unit_test(test_clients__refused_and_lost),
        cmocka_unit_test(test_clients__can_all_be_served),
        cmocka_unit_test(test_cancel__ends_a_lint),
        cmocka_unit_test(test_lint__memory_may_run_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
