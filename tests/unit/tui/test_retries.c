/*
 * test_retries.c - several replies side by side on the workbench: each is the
 * one that its seed gives alone, a sibling, and in the history.
 */
#include "tests/support/t.h"

#include "storage/store.h"
#include "tests/support/store_dir.h"
#include "tests/support/tiny_gguf.h"
#include "tui/lab/lab_conversation.h"
#include "tui/lab/lab_send.h"

typedef struct desk {
    void *bytes;
    cf_engine *engine;
    cf_backend *backend;
    cf_store *store;
    cf_lab *lab;
} desk;

static void set_up(desk *d, const char *db)
{
    cf_error err;
    size_t n;
    *d = (desk){.bytes = NULL};
    const cf_tiny_options tiny = {.seed = 5};
    const cf_engine_options eo = {.n_threads = 2};
    d->bytes = cf_tiny_gguf(&tiny, &n);
    T_OK(cf_engine_open_memory(&d->engine, d->bytes, n, &eo, &err), err);
    const cf_core_options o = {.session = {.n_ctx = 256}};
    T_OK(cf_backend_core_new(&d->backend, d->engine, &o, &err), err);
    const cf_store_options so = {.flags = CF_STORE_CREATE};
    T_OK(cf_store_open(&d->store, store_dir_file(db), &so, &err), err);
    const cf_lab_engine e = {.backend = d->backend,
                             .engine = d->engine,
                             .tokenizer = cf_engine_tokenizer(d->engine),
                             .template_name = "plain",
                             .has_sampling = true,
                             .max_tokens = 20};
    T_OK(cf_lab_new(&d->lab, &e, d->store, &err), err);
}

static void tear_down(desk *d)
{
    cf_lab_free(d->lab);
    cf_store_close(d->store);
    cf_backend_free(d->backend);
    cf_engine_close(d->engine);
    cf_tiny_free(d->bytes);
}

static void settle(desk *d)
{
    cf_error err;
    cf_lab_settle(d->lab, &err);
    assert_int_equal(err.code, CF_OK);
}

/* The ids of the reply that is shown. */
static size_t shown(const desk *d, cf_token *ids, size_t cap)
{
    size_t n;
    const cf_turn *const *path = cf_lab_path(d->lab, &n);
    const cf_reply *r = cf_lab_reply(d->lab, path[n - 1]->id);
    assert_non_null(r);
    assert_true(r->n_token <= cap);
    for (size_t i = 0; i < r->n_token; i++) {
        ids[i] = r->token[i].id;
    }
    return r->n_token;
}

enum { MAX = 32, N = 4 };

static void test_retries__are_single_retries(void **state)
{
    desk one, many;
    cf_error err;
    cf_token want[N][MAX], have[MAX];
    size_t n_want[N], n;
    const cf_uuid root = {{0}};
    (void)state;
    set_up(&one, "one.db");
    set_up(&many, "many.db");
    T_OK(cf_lab_send(one.lab, cf_str_from("hello"), root, &err), err);
    T_OK(cf_lab_send(many.lab, cf_str_from("hello"), root, &err), err);
    settle(&one);
    settle(&many);
    for (size_t i = 0; i < N; i++) {
        const cf_turn *const *path = cf_lab_path(one.lab, &n);
        T_OK(cf_lab_retry(one.lab, path[n - 1]->id, &err), err);
        settle(&one);
        n_want[i] = shown(&one, want[i], MAX);
    }
    const cf_turn *const *path = cf_lab_path(many.lab, &n);
    T_FAILS(cf_lab_retries(many.lab, path[n - 1]->id, 9, &err), CF_ELIMIT);
    T_FAILS(cf_lab_retries(many.lab, path[n - 1]->id, 0, &err), CF_ELIMIT);
    T_OK(cf_lab_retries(many.lab, path[n - 1]->id, N, &err), err);
    assert_int_equal(cf_lab_n_live(many.lab), N);
    settle(&many);
    assert_int_equal(cf_lab_n_live(many.lab), 0);
    /* The first is shown; the others follow it among its siblings. */
    n = shown(&many, have, MAX);
    assert_int_equal(n, n_want[0]);
    assert_memory_equal(have, want[0], n * sizeof *have);
    const cf_turn *const *all = cf_lab_turns(many.lab, &n);
    assert_int_equal(n, 2 + N);
    for (size_t i = 0; i < N; i++) {
        const cf_reply *r = cf_lab_reply(many.lab, all[2 + i]->id);
        assert_non_null(r);
        assert_int_equal(r->n_token, n_want[i]);
        for (size_t k = 0; k < r->n_token; k++) {
            assert_int_equal(r->token[k].id, want[i][k]);
        }
    }
    tear_down(&one);
    tear_down(&many);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_retries__are_single_retries),
    };
    return cmocka_run_group_tests(tests, store_dir_make, store_dir_remove);
}
