/*
 * test_diff_fault.c - memory runs out while two templates are compared, asked
 * and scored: no crash, no leak, and the waiting side learns of it.
 *
 * The allocations of the worker's thread count like those of the interface.
 */
#include <unistd.h>

#include "core/base/os.h"
#include "storage/store.h"
#include "templates/chat_template.h"
#include "tests/support/fault.h"
#include "tests/support/store_dir.h"
#include "tests/support/t.h"
#include "tests/support/tiny_gguf.h"
#include "tui/lab/compare/diff_likely.h"
#include "tui/lab/compare/diff_model.h"
#include "tui/lab/compare/diff_run.h"
#include "tui/lab/compare/diff_survey.h"
#include "tui/lab/lab.h"
#include "tui/lab/talk/lab_conversation.h"
#include "tui/lab/talk/lab_send.h"

static const char template_b[] =
    "{%- for m in messages %}{{- '[' + m.role + '] ' + m.content + '\n' }}"
    "{%- endfor %}{%- if add_generation_prompt %}{{- '[assistant] ' }}"
    "{%- endif %}";

static const char story[] = "{\"replies\":[{\"tokens\":[{\"text\":\"It\"},{\"text\":\" is\"}]},"
                            "{\"text\":\"<tool_call>\\n{\\\"name\\\":\\\"f\\\","
                            "\\\"arguments\\\":{}}\\n</tool_call>\"}]}";

static const char talk[] = "[{\"role\":\"user\",\"content\":\"How is it?\"},"
                           "{\"role\":\"assistant\",\"content\":\"It rains.\"}]";

static char path_b[64], path_db[64];
static void *bytes;
static cf_engine *engine;
static json_t *script, *messages; /* read once: jansson's own errors do not
                                     always tell that memory ran out */

static int make(void **state)
{
    cf_error err;
    size_t n;
    const cf_engine_options o = {.n_threads = 1, .kernel_set = "ref"};
    cf_fault_install();
    if (store_dir_make(state) != 0) {
        return -1;
    }
    snprintf(path_b, sizeof path_b, "%s", store_dir_file("b.jinja"));
    snprintf(path_db, sizeof path_db, "%s", store_dir_file("t.db"));
    bytes = cf_tiny_gguf(&(cf_tiny_options){.n_layer = 1}, &n);
    return cf_os_write_file(path_b, template_b, sizeof template_b - 1, 0600, &err) == CF_OK &&
                   cf_engine_open_memory(&engine, bytes, n, &o, &err) == CF_OK &&
                   cf_json_read(&script, story, sizeof story - 1, &err) == CF_OK &&
                   cf_json_read(&messages, talk, sizeof talk - 1, &err) == CF_OK
               ? 0
               : -1;
}

static int drop(void **state)
{
    json_decref(script);
    json_decref(messages);
    cf_engine_close(engine);
    cf_tiny_free(bytes);
    return store_dir_remove(state);
}

/* A workbench with a short conversation, and the model of its comparison. */
typedef struct desk {
    cf_backend *backend;
    cf_store *store;
    cf_lab *lab;
    cf_diff_model m;
} desk;

static cf_status open_backend(desk *d, bool has_model, cf_error *err)
{
    if (has_model) {
        const cf_core_options core = {.renderer = cf_renderer_plain(),
                                      .session = {.n_ctx = 128, .n_batch = 32}};
        return cf_backend_core_new(&d->backend, engine, &core, err);
    }
    const cf_script_options o = {.renderer = cf_renderer_plain()};
    return cf_backend_script_new(&d->backend, script, &o, err);
}

static cf_status add_talk(desk *d, cf_error *err)
{
    return cf_lab_add(d->lab, messages, (cf_uuid){{0}}, false, err);
}

static cf_status open_desk(desk *d, bool has_model, cf_error *err)
{
    *d = (desk){.backend = NULL};
    CF_TRY(open_backend(d, has_model, err));
    const cf_lab_engine e = {.backend = d->backend,
                             .engine = has_model ? engine : NULL,
                             .tokenizer = has_model ? cf_engine_tokenizer(engine) : NULL,
                             .template_name = "plain",
                             .max_tokens = 3};
    CF_TRY(cf_lab_new(&d->lab, &e, NULL, err));
    CF_TRY(add_talk(d, err));
    cf_diff_model_init(&d->m, d->lab, NULL);
    return cf_diff_model_with(&d->m, path_b, err);
}

static void close_desk(desk *d)
{
    if (d->m.lab != NULL) {
        cf_diff_model_deinit(&d->m);
    }
    cf_lab_free(d->lab);
    cf_backend_free(d->backend);
}

static cf_status settle(desk *d)
{
    cf_error err = {0};
    cf_lab_settle(d->lab, &err);
    return err.code;
}

/* ---- the model ---------------------------------------------------------- */

static cf_status update_all(void *ud)
{
    cf_error err = {0};
    desk d;
    cf_status st = open_desk(&d, *(const bool *)ud, &err);
    for (int level = 0; st == CF_OK && level < 3; level++) {
        d.m.level = (cf_diff_level)level;
        cf_diff_model_update(&d.m);
        bool may_fail = level == CF_DIFF_LEVEL_TOKENS && !*(const bool *)ud;
        st = d.m.has_diff || may_fail ? CF_OK : d.m.err.code;
        if (may_fail && !d.m.has_diff && d.m.err.code != CF_EUNSUPPORTED) {
            st = d.m.err.code;
        }
    }
    close_desk(&d);
    return st;
}

static void test_model__every_alloc(void **state)
{
    (void)state;
    bool has_model = true;
    /* Once before: tables that are made at first use stay. */
    assert_int_equal(update_all(&has_model), CF_OK);
    has_model = false;
    cf_fault_every_alloc(update_all, &has_model, false);
    has_model = true;
    cf_fault_every_alloc(update_all, &has_model, false);
}

/* ---- replies ------------------------------------------------------------ */

/* A side that failed says so; whatever came is shown. */
static cf_status ask_both(void *ud)
{
    cf_error err = {0};
    desk d;
    cf_diff_run run = {.has = false};
    cf_status st = open_desk(&d, *(const bool *)ud, &err);
    CF_THEN(st, cf_diff_run_start(&run, &d.m, 0, &err));
    if (st == CF_OK) {
        st = settle(&d);
        assert_false(run.is_on);
        assert_true(run.side[0].is_done && run.side[1].is_done);
        if (st == CF_OK && run.side[0].status != CF_OK) {
            st = run.side[0].status;
        }
        if (st == CF_OK && run.side[1].status != CF_OK) {
            st = run.side[1].status;
        }
    }
    cf_diff_run_deinit(&run);
    close_desk(&d);
    return st;
}

static void test_run__every_alloc(void **state)
{
    (void)state;
    bool has_model = false;
    cf_fault_every_alloc(ask_both, &has_model, false);
    has_model = true;
    cf_fault_every_alloc(ask_both, &has_model, false);
}

/* ---- likelihood --------------------------------------------------------- */

static cf_status score(void *ud)
{
    cf_error err = {0};
    desk d;
    cf_likely l = {.has = false};
    (void)ud;
    cf_status st = open_desk(&d, true, &err);
    CF_THEN(st, cf_likely_start(&l, &d.m, &err));
    if (st == CF_OK) {
        st = settle(&d);
        assert_false(l.is_on);
        assert_true(l.n <= 1);
    }
    cf_likely_deinit(&l);
    close_desk(&d);
    return st;
}

static void test_likely__every_alloc(void **state)
{
    (void)state;
    cf_fault_every_alloc(score, NULL, false);
}

/* ---- many conversations ------------------------------------------------- */

/* The store stays open: memory that SQLite caches is not a leak, so blocks are
 * counted at the end alone. */
static cf_status survey(desk *d, cf_survey *s)
{
    cf_error err = {0};
    const cf_survey_options o = {.level = CF_DIFF_LEVEL_TOKENS, .scores = true};
    cf_status st = cf_survey_start(s, &d->m, &o, &err);
    if (st == CF_OK) {
        st = settle(d);
        assert_false(s->is_on);
        assert_true(s->n_row <= s->n_done && s->n_done <= 2);
    }
    return st;
}

static void test_survey__every_alloc(void **state)
{
    (void)state;
    cf_error err;
    desk d = {.backend = NULL};
    cf_survey s = {.has = false};
    size_t before = cf_fault_live();
    T_OK(open_backend(&d, true, &err), err);
    const cf_store_options flags = {.flags = CF_STORE_CREATE};
    T_OK(cf_store_open(&d.store, path_db, &flags, &err), err);
    const cf_lab_engine e = {.backend = d.backend,
                             .engine = engine,
                             .tokenizer = cf_engine_tokenizer(engine),
                             .template_name = "plain"};
    T_OK(cf_lab_new(&d.lab, &e, d.store, &err), err);
    T_OK(add_talk(&d, &err), err);
    cf_lab_new_conv(d.lab);
    T_OK(add_talk(&d, &err), err);
    cf_diff_model_init(&d.m, d.lab, d.store);
    T_OK(cf_diff_model_with(&d.m, path_b, &err), err);
    for (size_t nth = 1;; nth += 1 + nth / 32) {
        cf_fault_arm(nth, false);
        cf_status st = survey(&d, &s);
        if (!cf_fault_disarm()) {
            assert_int_equal(st, CF_OK);
            break;
        }
        assert_true(st == CF_OK || st == CF_ENOMEM);
    }
    assert_int_equal(s.n_done, 2);
    assert_int_equal(s.score.n_replies, 2);
    cf_survey_deinit(&s);
    cf_diff_model_deinit(&d.m);
    cf_lab_free(d.lab);
    cf_store_close(d.store);
    cf_backend_free(d.backend);
    assert_int_equal(cf_fault_live(), before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_model__every_alloc),
        cmocka_unit_test(test_run__every_alloc),
        cmocka_unit_test(test_likely__every_alloc),
        cmocka_unit_test(test_survey__every_alloc),
    };
    return cmocka_run_group_tests(tests, make, drop);
}
