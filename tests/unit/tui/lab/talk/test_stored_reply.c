/*
 * test_stored_reply.c - a reply loaded from the history shows the same as while
 * it was written: its tokens, their candidates, and the steps that removed
 * them.
 */
#include "storage/store.h"
#include "tests/support/store_dir.h"
#include "tests/support/t.h"
#include "tests/support/tiny_gguf.h"
#include "tui/lab/lab.h"
#include "tui/lab/talk/lab_conversation.h"
#include "tui/lab/talk/lab_send.h"

typedef struct desk {
    cf_backend *backend;
    cf_lab_engine engine;
    cf_store *store;
} desk;

static void same_draw(const cf_draw *a, const cf_draw *b)
{
    assert_int_equal(a->id, b->id);
    assert_int_equal(a->n_top, b->n_top);
    for (size_t i = 0; i < a->n_top; i++) {
        assert_int_equal(a->top[i].id, b->top[i].id);
        assert_int_equal(a->top[i].removed_by, b->top[i].removed_by);
    }
    assert_int_equal(a->n_step, b->n_step);
    for (size_t i = 0; i < a->n_step; i++) {
        assert_string_equal(a->step[i].name, b->step[i].name);
        assert_int_equal(a->step[i].n_left, b->step[i].n_left);
    }
}

/* Uses the stack that cf_lab_reply() had: nothing may point there. */
static void scribble(void)
{
    volatile char stack[32768];
    for (size_t i = 0; i < sizeof stack; i++) {
        stack[i] = 'x';
    }
}

/* Writes a reply in one workbench and compares it with what a second one reads. */
static void check(desk *d)
{
    cf_error err;
    cf_lab *writes, *reads;
    size_t n;
    T_OK(cf_lab_new(&writes, &d->engine, d->store, &err), err);
    T_OK(cf_lab_send(writes, cf_str_from("How is it in Oslo?"), (cf_uuid){{0}}, &err), err);
    cf_lab_settle(writes, &err);
    assert_int_equal(err.code, CF_OK);
    const cf_turn *const *path = cf_lab_path(writes, &n);
    cf_uuid turn = path[n - 1]->id;
    const cf_reply *written = cf_lab_reply(writes, turn);
    assert_true(written != NULL && written->n_token > 4);

    T_OK(cf_lab_new(&reads, &d->engine, d->store, &err), err);
    const cf_reply *read = cf_lab_reply(reads, turn);
    assert_non_null(read);
    scribble();
    assert_int_equal(read->n_token, written->n_token);
    size_t n_draws = 0;
    for (size_t i = 0; i < read->n_token; i++) {
        assert_int_equal(read->token[i].id, written->token[i].id);
        assert_int_equal(read->token[i].draw != NULL, written->token[i].draw != NULL);
        if (read->token[i].draw != NULL) {
            same_draw(read->token[i].draw, written->token[i].draw);
            n_draws++;
        }
    }
    assert_true(n_draws > 4);
    cf_lab_free(reads);
    cf_lab_free(writes);
}

static void test_stored_reply__has_its_candidates(void **state)
{
    (void)state;
    cf_error err;
    desk d;
    size_t n;
    cf_engine *engine;
    const cf_engine_options o = {.n_threads = 1, .kernel_set = "ref"};
    const cf_core_options core = {.renderer = cf_renderer_plain()};
    const cf_store_options flags = {.flags = CF_STORE_CREATE};
    static const float temperatures[] = {0, 0.8f};
    void *bytes = cf_tiny_gguf(&(cf_tiny_options){.seed = 3}, &n);
    T_OK(cf_engine_open_memory(&engine, bytes, n, &o, &err), err);
    T_OK(cf_store_open(&d.store, store_dir_file("replies.db"), &flags, &err), err);
    for (size_t i = 0; i < 2; i++) {
        T_OK(cf_backend_core_new(&d.backend, engine, &core, &err), err);
        d.engine = (cf_lab_engine){
            .backend = d.backend,
            .engine = engine,
            .tokenizer = cf_engine_tokenizer(engine),
            .template_name = "plain",
            .sampling = {.temperature = temperatures[i], .top_k = 40, .top_p = 0.95f, .seed = 11},
            .has_sampling = true,
            .max_tokens = 12};
        check(&d);
        cf_backend_free(d.backend);
    }
    cf_store_close(d.store);
    cf_engine_close(engine);
    cf_tiny_free(bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stored_reply__has_its_candidates),
    };
    return cmocka_run_group_tests(tests, store_dir_make, store_dir_remove);
}
