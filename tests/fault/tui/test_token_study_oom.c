/* Every allocation of a study and of a tree fails once, on whichever thread:
 * no crash, no leak, and the error says so. */
#include "tests/support/t.h"

#include "tests/support/fault.h"
#include "tests/support/tiny_gguf.h"
#include "tui/lab/lab.h"
#include "tui/lab/talk/lab_constraint.h"
#include "tui/lab/talk/lab_conversation.h"
#include "tui/lab/talk/lab_send.h"
#include "tui/lab/tokens/token_study.h"

typedef struct desk {
    void *bytes;
    cf_engine *engine;
    cf_backend *backend;
    cf_lab *lab;
    const cf_reply *reply;
    cf_token_tree tree;
    cf_status told;
} desk;

static void set_up(desk *d)
{
    cf_error err;
    size_t n;
    const cf_tiny_options tiny = {.seed = 5};
    const cf_engine_options eo = {.n_threads = 1};
    const cf_core_options o = {.session = {.n_ctx = 128}};
    d->bytes = cf_tiny_gguf(&tiny, &n);
    T_OK(cf_engine_open_memory(&d->engine, d->bytes, n, &eo, &err), err);
    T_OK(cf_backend_core_new(&d->backend, d->engine, &o, &err), err);
    const cf_lab_engine e = {.backend = d->backend,
                             .engine = d->engine,
                             .tokenizer = cf_engine_tokenizer(d->engine),
                             .template_name = "plain",
                             .has_sampling = true,
                             .max_tokens = 8};
    T_OK(cf_lab_new(&d->lab, &e, NULL, &err), err);
    T_OK(cf_lab_constrain(d->lab, "regex [ab]{2}[0-9]{3}", &err), err);
    T_OK(cf_lab_send(d->lab, cf_str_from("hi"), (cf_uuid){{0}}, &err), err);
    cf_lab_settle(d->lab, &err);
    size_t n_path;
    const cf_turn *const *path = cf_lab_path(d->lab, &n_path);
    d->reply = cf_lab_reply(d->lab, path[n_path - 1]->id);
    assert_non_null(d->reply);
}

static void take_study(void *ud, cf_token_study *study, const cf_error *err)
{
    desk *d = ud;
    d->told = study != NULL ? CF_OK : err->code;
    cf_token_study_free(study);
}

static cf_status study(void *ud)
{
    desk *d = ud;
    cf_error err;
    d->told = CF_OK;
    cf_status st = cf_lab_study(d->lab, d->reply, take_study, d, &err);
    cf_lab_settle(d->lab, &err);
    return st != CF_OK ? st : d->told;
}

static cf_status tree(void *ud)
{
    desk *d = ud;
    cf_error err;
    cf_status st = cf_lab_grow_tree(d->lab, &d->tree, d->reply, 1, 2, 3, &err);
    cf_lab_settle(d->lab, &err);
    return st != CF_OK ? st : d->tree.why.code;
}

static void test_study__every_alloc(void **state)
{
    (void)state;
    static desk d;
    cf_error err;
    set_up(&d);
    assert_int_equal(study(&d), CF_OK); /* what is made once is there now */
    assert_int_equal(tree(&d), CF_OK);
    cf_fault_every_alloc(study, &d, false);
    cf_fault_every_alloc(tree, &d, false);
    cf_fault_every_alloc(tree, &d, true);
    cf_lab_settle(d.lab, &err);
    cf_lab_free(d.lab);
    cf_backend_free(d.backend);
    cf_engine_close(d.engine);
    cf_tiny_free(d.bytes);
}

int main(void)
{
    cf_fault_install();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_study__every_alloc),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
