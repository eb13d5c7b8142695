/*
 * test_takeover.c - the token of a bad model's reply after which a good model
 * cannot mend it: found where the failure is planted, at its first, a middle
 * and its last token.
 */
#include "tests/support/t.h"

#include "core/base/os.h"
#include "templates/open.h"
#include "tests/support/program.h"
#include "tests/support/store_dir.h"
#include "tui/study/shrink/takeover.h"

typedef struct scene {
    cf_opened good, bad;
    cf_study_engine engine[2];
    cf_asker asker[2];
    cf_predicate *predicate;
    json_t *context;
    cf_takeover t;
} scene;

static void begin(scene *s, const char *reply, const char *predicate)
{
    cf_error err;
    char script[300], model[400];
    memset(s, 0, sizeof *s);
    snprintf(script, sizeof script, "{\"replies\":[{\"text\":\"%s\"}]}", reply);
    const char *path = store_dir_file("script.json");
    T_OK(cf_os_write_file(path, script, strlen(script), 0600, &err), err);
    snprintf(model, sizeof model, "script:%s", path);
    const cf_open_options good = {.model = "bundled", .n_threads = 1};
    const cf_open_options bad = {.model = model};
    T_OK(cf_open_backend(&s->good, &good, NULL, &err), err);
    T_OK(cf_open_backend(&s->bad, &bad, NULL, &err), err);
    T_OK(cf_predicate_read(&s->predicate, cf_str_from(predicate), &err), err);
    s->engine[0] = (cf_study_engine){
        .backend = s->good.backend,
        .tok = cf_engine_tokenizer(s->good.engine),
        .engine = s->good.engine,
    };
    s->engine[1] = (cf_study_engine){.backend = s->bad.backend};
    for (int i = 0; i < 2; i++) {
        cf_asker_init(&s->asker[i], &s->engine[i], s->predicate, NULL);
        s->asker[i].max_tokens = 40;
    }
    s->context = json_pack("{s:[{s:s,s:s}],s:b}", "messages", "role", "user", "content",
                           "What is confab?", "add_generation_prompt", 1);
    cf_takeover_init(&s->t);
}

static cf_status run(scene *s, cf_error *err)
{
    const cf_takeover_side good = {&s->asker[0], cf_buf_str(&s->good.source)};
    const cf_takeover_side bad = {&s->asker[1], cf_str_make("", 0)};
    return cf_takeover_run(&s->t, good, bad, s->context, err);
}

static void end(scene *s)
{
    cf_takeover_deinit(&s->t);
    cf_asker_deinit(&s->asker[0]);
    cf_asker_deinit(&s->asker[1]);
    cf_predicate_free(s->predicate);
    json_decref(s->context);
    cf_opened_close(&s->good);
    cf_opened_close(&s->bad);
}

static void test_takeover__finds_the_token(void **state)
{
    (void)state;
    static const struct {
        const char *reply, *predicate;
    } cases[] = {
        {"zebras are not confab, I think.", "regex:\\Azebra"},
        {"confab is a zebra of prompts.", "contains:zebra"},
        {"I do not know that zebra", "contains:zebra"},
    };
    if (!cf_program_has_model()) {
        T_SKIP("no bundled model in this tree");
    }
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        scene s;
        cf_error err;
        begin(&s, cases[i].reply, cases[i].predicate);
        T_OK(run(&s, &err), err);
        /* The failure is complete with the token, and not before. */
        size_t ends = (size_t)(strstr(cases[i].reply, "zebra") + 5 - cases[i].reply);
        assert_in_range(ends, s.t.off + 1, s.t.off + s.t.len);
        assert_true(s.t.token < s.t.n_token);
        assert_null(strstr(cf_buf_cstr(&s.t.instead), "zebra"));
        assert_true(s.t.instead.n > 0);
        assert_in_range(s.t.n_runs, 3, 12);
        assert_string_equal(cf_buf_cstr(&s.t.bad), cases[i].reply);
        end(&s);
    }
}

static void test_takeover__refuses(void **state)
{
    (void)state;
    if (!cf_program_has_model()) {
        T_SKIP("no bundled model in this tree");
    }
    scene s;
    cf_error err;
    begin(&s, "Well.", "contains:zebra");
    T_FAILS(run(&s, &err), CF_EINVAL);
    assert_non_null(strstr(err.text, "does not hold for the bad"));
    end(&s);
    begin(&s, "Well.", "regex:.");
    T_FAILS(run(&s, &err), CF_EINVAL);
    assert_non_null(strstr(err.text, "the good model's reply, too"));
    end(&s);
    begin(&s, "Well.", "regex:.");
    s.engine[0].tok = NULL;
    T_FAILS(run(&s, &err), CF_EUNSUPPORTED);
    end(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_takeover__finds_the_token),
        cmocka_unit_test(test_takeover__refuses),
    };
    return cmocka_run_group_tests(tests, store_dir_make, store_dir_remove);
}
