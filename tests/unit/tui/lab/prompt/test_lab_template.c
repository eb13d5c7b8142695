/*
 * test_lab_template.c - another template in the workbench, its lint findings
 * and variables; other tools; and replies that the user wrote.
 */
#include "storage/store.h"
#include "templates/chat_template.h"
#include "tests/support/fault.h"
#include "tests/support/store_dir.h"
#include "tests/support/t.h"
#include "tests/support/tiny_gguf.h"
#include "tui/lab/lab.h"
#include "tui/lab/prompt/lab_lint.h"
#include "tui/lab/prompt/lab_prompt.h"
#include "tui/lab/talk/lab_conversation.h"
#include "tui/lab/talk/lab_options.h"
#include "tui/lab/talk/lab_send.h"
#include "tui/lab/talk/lab_template.h"
#include "tui/lab/tools/lab_tools.h"

static const char first[] = "{%- for m in messages %}<{{ m.role }}>{{ m.content }}\n{% endfor %}";

static const char second[] = "{%- for m in messages %}[{{ m.role }}]{{ m.content }}\n{% endfor %}"
                             "{%- if mood is defined %}({{ mood }}){% endif %}{{ unset }}";

static const char script[] = "{\"replies\":[{\"text\":\"Yes.\",\"chunk\":2},{\"text\":\"No.\"}]}";

typedef struct desk {
    cf_template *tpl;
    cf_backend *backend;
    cf_store *store;
    cf_lab *lab;
} desk;

static void set_up(desk *d, const char *db)
{
    cf_error err;
    json_t *replies;
    memset(d, 0, sizeof *d);
    T_OK(cf_template_compile(&d->tpl, cf_str_from(first), NULL, NULL, NULL, &err), err);
    const cf_script_options o = {.renderer = cf_renderer_template(d->tpl)};
    T_OK(cf_json_read(&replies, script, strlen(script), &err), err);
    T_OK(cf_backend_script_new(&d->backend, replies, &o, &err), err);
    json_decref(replies);
    if (db != NULL) {
        const cf_store_options so = {.flags = CF_STORE_CREATE};
        T_OK(cf_store_open(&d->store, store_dir_file(db), &so, &err), err);
    }
    const cf_lab_engine e = {
        .backend = d->backend, .template_name = "first", .template_source = cf_str_from(first)};
    T_OK(cf_lab_new(&d->lab, &e, d->store, &err), err);
}

static void tear_down(desk *d)
{
    cf_lab_free(d->lab);
    cf_store_close(d->store);
    cf_backend_free(d->backend);
    cf_template_free(d->tpl);
}

static void say(desk *d, const char *text)
{
    cf_error err;
    size_t n;
    const cf_turn *const *path = cf_lab_path(d->lab, &n);
    cf_uuid parent = n > 0 ? path[n - 1]->id : (cf_uuid){{0}};
    T_OK(cf_lab_send(d->lab, cf_str_from(text), parent, &err), err);
    cf_lab_settle(d->lab, &err);
    assert_int_equal(err.code, CF_OK);
}

static void assert_prompt(desk *d, const char *want)
{
    const cf_prompt_model *m = cf_lab_prompt(d->lab);
    assert_non_null(m);
    T_TEXT(m->prompt.text.p, m->prompt.text.n, want);
}

static void use(desk *d, const char *name, const char *source)
{
    cf_error err;
    T_OK(cf_lab_set_template(d->lab, name, cf_str_from(source), &err), err);
}

static void test_template__another_one_renders_at_once(void **state)
{
    (void)state;
    desk d;
    cf_error err;
    set_up(&d, NULL);
    say(&d, "Is it?");
    assert_prompt(&d, "<user>Is it?\n<assistant>Yes.\n");
    uint64_t before = cf_lab_generation(d.lab);
    char source[sizeof second]; /* the workbench keeps a copy */
    memcpy(source, second, sizeof second);
    use(&d, "second", source);
    memset(source, 'x', sizeof source - 1);
    assert_true(cf_lab_generation(d.lab) > before);
    assert_string_equal(cf_lab_template_name(d.lab), "second");
    assert_prompt(&d, "[user]Is it?\n[assistant]Yes.\n");
    T_OK(cf_lab_set_var(d.lab, "mood=\"calm\"", &err), err);
    assert_prompt(&d, "[user]Is it?\n[assistant]Yes.\n(calm)");
    const char *name;
    cf_str start;
    cf_lab_first_template(d.lab, &name, &start);
    T_OK(cf_lab_set_template(d.lab, name, start, &err), err);
    assert_prompt(&d, "<user>Is it?\n<assistant>Yes.\n");
    tear_down(&d);
}

static void test_template__a_broken_one_changes_nothing(void **state)
{
    (void)state;
    desk d;
    cf_error err;
    set_up(&d, NULL);
    say(&d, "Is it?");
    use(&d, "second", second);
    T_FAILS(cf_lab_set_template(d.lab, "bad", cf_str_from("{% for %}\n{{ x"), &err), CF_EFORMAT);
    assert_true(strstr(err.text, "line 1") != NULL);
    assert_string_equal(cf_lab_template_name(d.lab), "second");
    assert_prompt(&d, "[user]Is it?\n[assistant]Yes.\n");
    tear_down(&d);
}

static void test_template__not_while_a_reply_is_written(void **state)
{
    (void)state;
    desk d;
    cf_error err;
    set_up(&d, NULL);
    T_OK(cf_lab_send(d.lab, cf_str_from("Is it?"), (cf_uuid){{0}}, &err), err);
    T_FAILS(cf_lab_set_template(d.lab, "second", cf_str_from(second), &err), CF_EBUSY);
    T_FAILS(cf_lab_set_tools(d.lab, NULL, &err), CF_EBUSY);
    cf_lab_settle(d.lab, &err);
    use(&d, "second", second);
    tear_down(&d);
}

static void test_template__lines_of_the_one_in_use(void **state)
{
    (void)state;
    desk d;
    cf_buf line = CF_BUF_INIT;
    set_up(&d, NULL);
    use(&d, "lines", "one\n\t two\nthree");
    cf_lab_template_line(d.lab, 2, &line);
    assert_string_equal(cf_buf_cstr(&line), "two");
    cf_buf_reset(&line);
    cf_lab_template_line(d.lab, 3, &line);
    assert_string_equal(cf_buf_cstr(&line), "three");
    cf_buf_reset(&line);
    cf_lab_template_line(d.lab, 0, &line);
    cf_lab_template_line(d.lab, 4, &line);
    assert_int_equal(line.n, 0);
    cf_buf_deinit(&line);
    tear_down(&d);
}

/* ---- the linter --------------------------------------------------------- */

static const cf_lab_lint *look(desk *d, const char *source)
{
    cf_error err;
    const cf_lab_lint *lint = cf_lab_lint_of(d->lab, cf_str_from(source));
    for (int i = 0; lint == NULL && i < 3; i++) {
        cf_lab_settle(d->lab, &err);
        lint = cf_lab_lint_of(d->lab, cf_str_from(source));
    }
    assert_non_null(lint);
    assert_int_equal(lint->status, CF_OK);
    return lint;
}

static bool has_rule(const cf_lab_lint *lint, const char *rule, uint32_t line)
{
    for (size_t i = 0; i < lint->report.n; i++) {
        const cf_lint_finding *f = &lint->report.v[i];
        if (strcmp(f->rule, rule) == 0 && f->line == line) {
            assert_true(strlen(f->fix) > 0);
            return true;
        }
    }
    return false;
}

static void test_lint__findings_and_variables(void **state)
{
    (void)state;
    desk d;
    set_up(&d, NULL);
    const cf_lab_lint *lint = look(&d, second);
    assert_true(has_rule(lint, "I008", 2));
    assert_int_equal(lint->n_variables, 3);
    T_TEXT(lint->variable[0].name.p, lint->variable[0].name.n, "messages");
    assert_int_equal(lint->variable[0].line, 1);
    T_TEXT(lint->variable[1].name.p, lint->variable[1].name.n, "mood");
    assert_false(lint->variable[2].is_guarded);
    lint = look(&d, "{% for %}");
    assert_true(has_rule(lint, "E005", 1));
    assert_int_equal(lint->n_variables, 0);
    /* More than are remembered, and the first one again. */
    char source[64];
    for (int i = 0; i < 9; i++) {
        snprintf(source, sizeof source, "{{ v%d }}", i);
        assert_int_equal(look(&d, source)->n_variables, 1);
    }
    assert_int_equal(look(&d, second)->n_variables, 3);
    tear_down(&d);
}

/* A model file without weights answers nothing; its vocabulary is known all the same. */
static void test_lint__uses_the_vocabulary_without_weights(void **state)
{
    (void)state;
    desk d;
    cf_error err;
    cf_engine *engine;
    size_t n;
    static const char marked[] =
        "{% for m in messages %}<|made_up|>{{ m.role }}\n{{ m.content }}\n{% endfor %}";
    set_up(&d, NULL);
    assert_false(has_rule(look(&d, marked), "W008", 1));
    cf_lab_free(d.lab);
    unsigned char *bytes = cf_tiny_gguf(&(cf_tiny_options){.seed = 5}, &n);
    T_OK(cf_engine_open_memory(&engine, bytes, n, &(cf_engine_options){.n_threads = 1}, &err), err);
    const cf_lab_engine e = {.backend = d.backend,
                             .tokenizer = cf_engine_tokenizer(engine),
                             .template_name = "first",
                             .template_source = cf_str_from(first)};
    T_OK(cf_lab_new(&d.lab, &e, NULL, &err), err);
    assert_true(has_rule(look(&d, marked), "W008", 1));
    tear_down(&d);
    cf_engine_close(engine);
    cf_tiny_free(bytes);
}

static void test_lint__ends_with_the_lab(void **state)
{
    (void)state;
    desk d;
    set_up(&d, NULL);
    /* A hundred renders of four million steps: it must not be waited for. */
    static const char slow[] = "{% for i in range(90000) %}{% for j in range(40) %}{% set x = i %}"
                               "{% endfor %}{% endfor %}{{ messages[0].content }}";
    assert_null(cf_lab_lint_of(d.lab, cf_str_from(slow)));
    assert_null(cf_lab_lint_of(d.lab, cf_str_from(second)));
    tear_down(&d);
}

static const cf_lab_variable *find(const cf_lab_variable *v, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++) {
        if (cf_str_is(v[i].name, name)) {
            return &v[i];
        }
    }
    fail_msg("no variable '%s'", name);
    return NULL;
}

static void test_variables__value_and_origin(void **state)
{
    (void)state;
    desk d;
    cf_error err;
    cf_lab_variable *v;
    size_t n;
    set_up(&d, NULL);
    say(&d, "Is it?");
    use(&d, "second", second);
    T_FAILS(cf_lab_variables(d.lab, &v, &n, &err), CF_EBUSY);
    look(&d, second);
    T_OK(cf_lab_set_var(d.lab, "mood={\"a\":[1,true]}", &err), err);
    T_OK(cf_lab_set_var(d.lab, "other=1", &err), err);
    T_OK(cf_lab_variables(d.lab, &v, &n, &err), err);
    assert_int_equal(n, 4);
    const cf_lab_variable *row = find(v, n, "messages");
    T_TEXT(row->value.p, row->value.n, "2");
    row = find(v, n, "mood");
    T_TEXT(row->value.p, row->value.n, "{\"a\":[1,true]}");
    assert_string_equal(row->origin, ":var");
    assert_int_equal(row->line, 2);
    row = find(v, n, "unset");
    assert_int_equal(row->value.n, 0);
    assert_string_equal(row->origin, "not set");
    row = find(v, n, "other");
    assert_int_equal(row->line, 0); /* the template does not use it */
    cf_lab_variables_free(v, n);
    tear_down(&d);
}

/* ---- tools and edited replies ------------------------------------------- */

static void test_tools__others_for_the_turns_to_come(void **state)
{
    (void)state;
    desk d;
    cf_error err;
    size_t n;
    set_up(&d, NULL);
    json_t *tools = json_pack("[{s:s}]", "name", "f");
    json_t *bad = json_pack("[{s:i}]", "name", 1);
    T_OK(cf_lab_set_tools(d.lab, tools, &err), err);
    json_decref(tools);
    cf_tool_set_items(cf_lab_tools(d.lab), &n);
    assert_int_equal(n, 1);
    T_FAILS(cf_lab_set_tools(d.lab, bad, &err), CF_EFORMAT);
    json_decref(bad);
    cf_tool_set_items(cf_lab_tools(d.lab), &n);
    assert_int_equal(n, 1); /* as they were */
    cf_lab_new_conv(d.lab);
    cf_tool_set_items(cf_lab_tools(d.lab), &n);
    assert_int_equal(n, 1); /* of the next conversation, too */
    T_OK(cf_lab_set_tools(d.lab, NULL, &err), err);
    cf_tool_set_items(cf_lab_tools(d.lab), &n);
    assert_int_equal(n, 0);
    tear_down(&d);
}

static void test_preview__sends_nothing(void **state)
{
    (void)state;
    desk d;
    cf_error err;
    cf_arena arena;
    cf_prompt prompt;
    size_t n;
    set_up(&d, NULL);
    say(&d, "Is it?");
    const cf_turn *const *path = cf_lab_path(d.lab, &n);
    json_t *more = json_pack("[{s:s,s:s}]", "role", "tool", "content", "4");
    cf_arena_init(&arena, 0);
    T_OK(cf_lab_preview(d.lab, path[0]->id, more, &arena, &prompt, &err), err);
    T_TEXT(prompt.text.p, prompt.text.n, "<user>Is it?\n<tool>4\n");
    cf_arena_deinit(&arena);
    json_decref(more);
    cf_lab_path(d.lab, &n);
    assert_int_equal(n, 2);
    tear_down(&d);
}

static void test_edited_reply__is_a_sibling_and_is_kept(void **state)
{
    (void)state;
    desk d;
    cf_error err;
    size_t n, index;
    set_up(&d, "edited.db");
    say(&d, "Is it?");
    const cf_turn *const *path = cf_lab_path(d.lab, &n);
    cf_uuid reply = path[1]->id, user = path[0]->id;
    json_t *message = json_pack("{s:s,s:s}", "role", "assistant", "content", "Maybe.");
    T_OK(cf_lab_add_reply(d.lab, reply, message, cf_str_from("<raw>Maybe."), &err), err);
    T_FAILS(cf_lab_add_reply(d.lab, user, message, cf_str_from(""), &err), CF_EINVAL);
    json_decref(message);
    path = cf_lab_path(d.lab, &n);
    assert_int_equal(n, 2);
    assert_int_equal(cf_lab_siblings(d.lab, path[1], &index), 2);
    assert_int_equal(index, 1);
    cf_uuid conv = cf_lab_conv_id(d.lab), edited = path[1]->id;
    const cf_call_note note = {.reply = reply,
                               .n = 0,
                               .state = "mock",
                               .is_mocked = true,
                               .duration_us = 5000,
                               .exit_code = -1,
                               .started_ms = 1};
    const cf_store_call call = cf_store_call_none();
    cf_lab_note_call(d.lab, &note, &call, cf_str_from("{}"));
    T_OK(cf_lab_open_conv(d.lab, conv, edited, &err), err);
    path = cf_lab_path(d.lab, &n);
    T_TEXT(path[1]->raw.p, path[1]->raw.n, "<raw>Maybe.");
    const cf_call_note *kept = cf_lab_call_note(d.lab, reply, 0);
    assert_non_null(kept);
    assert_string_equal(kept->state, "mock");
    assert_true(kept->is_mocked);
    assert_int_equal(kept->duration_us, 5000);
    assert_int_equal(cf_lab_call_note(d.lab, reply, 1)->state[0], '\0');
    tear_down(&d);
}

static void test_pieces__add_up_to_the_reply(void **state)
{
    (void)state;
    desk d;
    size_t n, sum = 0;
    set_up(&d, NULL);
    say(&d, "Is it?");
    const cf_turn *const *path = cf_lab_path(d.lab, &n);
    const cf_reply *r = cf_lab_reply(d.lab, path[1]->id);
    assert_non_null(r);
    size_t n_pieces = r->chunks.n / sizeof(uint32_t);
    assert_int_equal(n_pieces, 2);
    for (size_t i = 0; i < n_pieces; i++) {
        sum += ((const uint32_t *)(const void *)r->chunks.p)[i];
    }
    assert_int_equal(sum, path[1]->raw.n);
    tear_down(&d);
}

/* ---- memory ------------------------------------------------------------- */

static cf_status swap_templates(void *ud)
{
    desk *d = ud;
    CF_TRY(cf_lab_set_template(d->lab, "b", cf_str_from(second), NULL));
    return cf_lab_set_template(d->lab, "a", cf_str_from(""), NULL);
}

static void test_memory__runs_out_anywhere(void **state)
{
    (void)state;
    desk d;
    set_up(&d, NULL);
    say(&d, "Is it?");
    /* Nothing is in the workbench from before that a failure could leave. */
    use(&d, "none", "");
    for (size_t nth = 1;; nth++) {
        cf_fault_arm(nth, false);
        cf_status st = swap_templates(&d);
        bool was_hit = cf_fault_disarm();
        assert_true(st == CF_OK || st == CF_ENOMEM);
        if (!was_hit) {
            assert_int_equal(st, CF_OK);
            break;
        }
        assert_non_null(cf_lab_prompt(d.lab));
    }
    tear_down(&d);
}

int main(void)
{
    cf_fault_install();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_template__another_one_renders_at_once),
        cmocka_unit_test(test_template__a_broken_one_changes_nothing),
        cmocka_unit_test(test_template__not_while_a_reply_is_written),
        cmocka_unit_test(test_template__lines_of_the_one_in_use),
        cmocka_unit_test(test_lint__findings_and_variables),
        cmocka_unit_test(test_lint__uses_the_vocabulary_without_weights),
        cmocka_unit_test(test_lint__ends_with_the_lab),
        cmocka_unit_test(test_variables__value_and_origin),
        cmocka_unit_test(test_tools__others_for_the_turns_to_come),
        cmocka_unit_test(test_preview__sends_nothing),
        cmocka_unit_test(test_edited_reply__is_a_sibling_and_is_kept),
        cmocka_unit_test(test_pieces__add_up_to_the_reply),
        cmocka_unit_test(test_memory__runs_out_anywhere),
    };
    return cmocka_run_group_tests(tests, store_dir_make, store_dir_remove);
}
