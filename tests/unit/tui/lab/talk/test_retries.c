/*
 * test_retries.c - several replies side by side on the workbench: each is the
 * one that its seed gives alone, a sibling, and in the history.
 */
#include "tests/support/t.h"

#include "storage/store.h"
#include "tests/support/store_dir.h"
#include "tests/support/tiny_desk.h"
#include "tui/lab/talk/lab_conversation.h"
#include "tui/lab/talk/lab_send.h"

typedef cf_tiny_desk desk;

static void set_up(desk *d, const char *db)
{
    cf_tiny_desk_open(d, &(cf_tiny_desk_options){.engine = {.n_threads = 2},
                                                 .core = {.session = {.n_ctx = 256}},
                                                 .max_tokens = 20,
                                                 .db = db});
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
    cf_tiny_desk_settle(&one);
    cf_tiny_desk_settle(&many);
    for (size_t i = 0; i < N; i++) {
        const cf_turn *const *path = cf_lab_path(one.lab, &n);
        T_OK(cf_lab_retry(one.lab, path[n - 1]->id, &err), err);
        cf_tiny_desk_settle(&one);
        n_want[i] = shown(&one, want[i], MAX);
    }
    const cf_turn *const *path = cf_lab_path(many.lab, &n);
    T_FAILS(cf_lab_retries(many.lab, path[n - 1]->id, 9, &err), CF_ELIMIT);
    T_FAILS(cf_lab_retries(many.lab, path[n - 1]->id, 0, &err), CF_ELIMIT);
    T_OK(cf_lab_retries(many.lab, path[n - 1]->id, N, &err), err);
    assert_int_equal(cf_lab_n_live(many.lab), N);
    cf_tiny_desk_settle(&many);
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
    cf_tiny_desk_close(&one);
    cf_tiny_desk_close(&many);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_retries__are_single_retries),
    };
    return cmocka_run_group_tests(tests, store_dir_make, store_dir_remove);
}
