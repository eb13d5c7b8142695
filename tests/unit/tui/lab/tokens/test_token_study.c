/*
 * test_token_study.c - the constraint along a reply, trees of other ways, and
 * forks from them, on the workbench with a small random model.
 */
#include "tests/support/t.h"

#include <math.h>

#include "storage/store.h"
#include "tests/support/fault.h"
#include "tests/support/store_dir.h"
#include "tests/support/tiny_desk.h"
#include "tui/lab/state/lab_task.h"
#include "tui/lab/talk/lab_constraint.h"
#include "tui/lab/talk/lab_conversation.h"
#include "tui/lab/talk/lab_send.h"
#include "tui/lab/tokens/token_study.h"

typedef struct desk {
    cf_tiny_desk on;
    /* the outcome of a study */
    cf_token_study *study;
    cf_error err;
    int n_done;
} desk;

static void set_up(desk *d, const char *db)
{
    *d = (desk){.n_done = 0};
    cf_tiny_desk_open(&d->on, &(cf_tiny_desk_options){.engine = {.n_threads = 1},
                                                      .core = {.session = {.n_ctx = 256}},
                                                      .max_tokens = 20,
                                                      .db = db});
}

static void tear_down(desk *d)
{
    cf_token_study_free(d->study);
    cf_tiny_desk_close(&d->on);
}

static void settle(desk *d)
{
    cf_tiny_desk_settle(&d->on);
}

/* The newest reply of the path. */
static const cf_reply *last(desk *d)
{
    size_t n;
    const cf_turn *const *path = cf_lab_path(d->on.lab, &n);
    assert_true(n > 0);
    const cf_reply *r = cf_lab_reply(d->on.lab, path[n - 1]->id);
    assert_non_null(r);
    return r;
}

static const cf_reply *say(desk *d, const char *text)
{
    cf_error err;
    T_OK(cf_lab_send(d->on.lab, cf_str_from(text), (cf_uuid){{0}}, &err), err);
    settle(d);
    return last(d);
}

static void constrain(desk *d, const char *words)
{
    cf_error err;
    T_OK(cf_lab_constrain(d->on.lab, words, &err), err);
}

static void set(desk *d, const char *name, const char *value)
{
    cf_error err;
    T_OK(cf_reply_settings_set(cf_lab_settings(d->on.lab),
                               cf_reply_setting_find(name, strlen(name)), value, "set", &err),
         err);
}

static void take_study(void *ud, cf_token_study *study, const cf_error *err)
{
    desk *d = ud;
    d->n_done++;
    cf_token_study_free(d->study);
    d->study = study;
    d->err = *err;
}

static const cf_token_study *study_of(desk *d, const cf_reply *r)
{
    cf_error err;
    int before = d->n_done;
    T_OK(cf_lab_study(d->on.lab, r, take_study, d, &err), err);
    settle(d);
    assert_int_equal(d->n_done, before + 1);
    assert_non_null(d->study);
    return d->study;
}

/* ---- trees -------------------------------------------------------------- */

static void grow(desk *d, cf_token_tree *tree, const cf_reply *r, size_t token, uint32_t width,
                 uint32_t depth)
{
    cf_error err;
    T_OK(cf_lab_grow_tree(d->on.lab, tree, r, token, width, depth, &err), err);
    settle(d);
    assert_false(tree->is_running);
    assert_int_equal(tree->why.code, CF_OK);
}

/* The first nodes are the best candidates of the draw; each is followed by
 * the text that a fork with it writes. */
static void test_tree__is_what_forks_write(void **state)
{
    (void)state;
    static cf_token_tree tree;
    desk d;
    cf_error err;
    set_up(&d, NULL);
    const cf_reply *r = say(&d, "hello");
    cf_uuid turn = r->turn;
    assert_true(r->n_token > 10);
    grow(&d, &tree, r, 3, 3, 6);
    r = cf_lab_reply(d.on.lab, turn);
    assert_int_equal(tree.n_branch, 3);
    for (size_t b = 0; b < 3; b++) {
        const cf_candidate *c = &r->token[3].draw->top[b];
        assert_int_equal(tree.node[b][0].id, c->id);
        assert_true(fabsf(tree.node[b][0].p - c->p_raw) < 1e-5f);
        double joint = 1;
        for (size_t i = 0; i < tree.n[b]; i++) {
            joint *= (double)tree.node[b][i].p;
            assert_true(fabs(cf_token_tree_joint(&tree, b, i) - joint) < 1e-12);
        }
    }
    for (size_t i = 0; i < 6; i++) { /* the reply is greedy itself */
        assert_int_equal(tree.node[0][i].id, r->token[3 + i].id);
    }
    for (size_t b = 0; b < 3; b++) {
        cf_token id = tree.node[b][0].id;
        T_OK(cf_lab_fork(d.on.lab, turn, 3, &id, 1, 0, &err), err);
        settle(&d);
        const cf_reply *fork = last(&d);
        assert_int_equal(fork->n_start, 4);
        for (size_t i = 0; i < tree.n[b]; i++) {
            assert_int_equal(fork->token[3 + i].id, tree.node[b][i].id);
        }
    }
    tear_down(&d);
}

/* A fork from the middle of a branch starts with all of it. */
static void test_tree__fork_from_a_node(void **state)
{
    (void)state;
    static cf_token_tree tree;
    desk d;
    cf_error err;
    set_up(&d, NULL);
    const cf_reply *r = say(&d, "hello");
    cf_uuid turn = r->turn;
    grow(&d, &tree, r, 2, 2, 4);
    cf_token ids[3];
    for (size_t i = 0; i < 3; i++) {
        ids[i] = tree.node[1][i].id;
    }
    T_OK(cf_lab_fork(d.on.lab, turn, 2, ids, 3, 1, &err), err);
    settle(&d);
    const cf_reply *fork = last(&d);
    assert_int_equal(fork->n_start, 5);
    assert_int_equal(fork->n_token, 6); /* and one more */
    assert_int_equal(fork->token[2].id, ids[0]);
    assert_int_equal(fork->token[4].id, ids[2]);
    assert_true(fork->token[4].is_forced);
    assert_false(fork->token[5].is_forced);
    assert_int_equal(fork->token[5].id, tree.node[1][3].id);
    tear_down(&d);
}

static void test_tree__refused(void **state)
{
    (void)state;
    static cf_token_tree tree;
    static const uint32_t bad[][2] = {{0, 1}, {1, 0}, {9, 1}, {1, 65}};
    desk d;
    cf_error err;
    set_up(&d, NULL);
    const cf_reply *r = say(&d, "hello");
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_int_equal(cf_lab_grow_tree(d.on.lab, &tree, r, 0, bad[i][0], bad[i][1], &err),
                         CF_EINVAL);
    }
    assert_int_equal(cf_lab_grow_tree(d.on.lab, &tree, r, r->n_token, 1, 1, &err), CF_EUNSUPPORTED);
    /* Past the end of the context it ends, and says why. */
    set(&d, "max_tokens", "0");
    T_OK(cf_lab_retry(d.on.lab, r->turn, &err), err);
    settle(&d);
    r = last(&d);
    if (r->n_token + r->n_prompt_ids >= 256) {
        T_OK(cf_lab_grow_tree(d.on.lab, &tree, r, r->n_token - 1, 2, 8, &err), err);
        cf_lab_settle(d.on.lab, &err);
        assert_int_equal(err.code, CF_ELIMIT); /* told, */
        assert_int_equal(tree.why.code, CF_ELIMIT);
        assert_int_equal(tree.n_branch, 2);
    }
    tear_down(&d);
}

/* A send goes before work that is only looked at. */
static void test_tree__gives_way(void **state)
{
    (void)state;
    static cf_token_tree tree;
    desk d;
    cf_error err;
    set_up(&d, NULL);
    const cf_reply *r = say(&d, "hello");
    cf_uuid turn = r->turn;
    T_OK(cf_lab_grow_tree(d.on.lab, &tree, r, 1, 8, 64, &err), err);
    T_OK(cf_lab_retry(d.on.lab, turn, &err), err);
    assert_false(tree.is_running);
    assert_true(tree.why.code == CF_OK || tree.why.code == CF_ECANCELLED);
    settle(&d);
    const cf_reply *again = last(&d);
    r = cf_lab_reply(d.on.lab, turn);
    assert_int_equal(again->n_token, r->n_token);
    for (size_t i = 0; i < r->n_token; i++) {
        assert_int_equal(again->token[i].id, r->token[i].id);
    }
    tear_down(&d);
}

/* ---- constraints -------------------------------------------------------- */

/* The study shows the constraint that the reply was written under. */
static void check_study(desk *d, const cf_reply *r)
{
    const cf_token_study *s = study_of(d, r);
    const cf_tokenizer *tok = cf_engine_tokenizer(d->on.engine);
    assert_int_equal(s->n, r->n_token);
    for (size_t i = 0; i < s->n; i++) {
        const cf_token_place *p = &s->place[i];
        const cf_chat_token *t = &r->token[i];
        assert_true(p->is_asked);
        assert_true(p->path.n > 0 && p->rule.n > 0);
        assert_true(p->n_listed <= p->n_allowed);
        if (t->n_allowed != 0) {
            assert_int_equal(p->n_allowed, t->n_allowed);
        }
        if (t->is_forced && i >= r->n_start) {
            cf_buf piece = CF_BUF_INIT;
            cf_tokenizer_piece(&piece, tok, t->id, true);
            assert_true(p->must.n >= piece.n);
            assert_memory_equal(p->must.p, cf_buf_cstr(&piece), piece.n);
            cf_buf_deinit(&piece);
        }
        if (p->refused != CF_TOKEN_NONE) {
            for (size_t k = 0; k < p->n_listed; k++) {
                assert_true(p->allowed[k] != p->refused);
            }
        }
    }
}

static void test_study__is_what_held(void **state)
{
    (void)state;
    desk d;
    cf_error err;
    set_up(&d, NULL);
    set(&d, "temperature", "1.5");
    constrain(&d, "regex yes or no: [ab]{3}[0-9]{2,5}!");
    assert_string_equal(cf_lab_constraint(d.on.lab), "regex yes or no: [ab]{3}[0-9]{2,5}!");
    const cf_reply *r = say(&d, "hello");
    cf_uuid turn = r->turn;
    assert_true(r->token[0].is_forced);
    assert_string_equal(cf_reply_constraint(r), "regex yes or no: [ab]{3}[0-9]{2,5}!");
    check_study(&d, r);
    /* A fork of it starts inside the constraint. */
    size_t at = r->n_token - 3;
    cf_token id = r->token[at].id;
    T_OK(cf_lab_fork(d.on.lab, turn, at, &id, 1, 0, &err), err);
    settle(&d);
    r = last(&d);
    assert_int_equal(r->n_start, at + 1);
    check_study(&d, r);
    /* A tree at what it was given is held, too. */
    static cf_token_tree tree;
    grow(&d, &tree, r, 0, 3, 1);
    assert_true(tree.n_branch > 0);
    for (size_t b = 0; b < tree.n_branch; b++) {
        cf_buf piece = CF_BUF_INIT;
        cf_tokenizer_piece(&piece, cf_engine_tokenizer(d.on.engine), tree.node[b][0].id, true);
        assert_true(piece.n > 0);
        assert_memory_equal(cf_buf_cstr(&piece), "yes or no: ", piece.n);
        cf_buf_deinit(&piece);
    }
    /* A token that the constraint refuses fails and changes nothing. */
    cf_token no = r->token[0].id + 1;
    T_OK(cf_lab_fork(d.on.lab, turn, 0, &no, 1, 0, &err), err);
    cf_lab_settle(d.on.lab, &err);
    assert_int_equal(err.code, CF_EINVAL);
    assert_true(cf_uuid_eq(last(&d)->turn, r->turn));
    /* A free reply has none. */
    constrain(&d, "off");
    T_OK(cf_lab_retry(d.on.lab, turn, &err), err);
    settle(&d);
    assert_int_equal(cf_lab_study(d.on.lab, last(&d), take_study, &d, &err), CF_ENOTFOUND);
    tear_down(&d);
}

/* The tree of a reply that was held keeps to the constraint. */
static void test_study__tree_is_held(void **state)
{
    (void)state;
    static cf_token_tree tree;
    desk d;
    cf_error err;
    set_up(&d, NULL);
    constrain(&d, "regex [abc]{2}[0-9]{4}");
    const cf_reply *r = say(&d, "hello");
    grow(&d, &tree, r, 0, 3, 8);
    assert_int_equal(tree.n_branch, 3);
    cf_grammar *g;
    T_OK(cf_grammar_from_regex(&g, cf_str_from("[abc]{2}[0-9]{4}"), NULL, &err), err);
    for (size_t b = 0; b < tree.n_branch; b++) {
        cf_constraint *c;
        cf_buf text = CF_BUF_INIT;
        size_t n;
        for (size_t i = 0; i < tree.n[b]; i++) {
            cf_tokenizer_piece(&text, cf_engine_tokenizer(d.on.engine), tree.node[b][i].id, true);
        }
        T_OK(cf_constraint_new(&c, g, NULL, &err), err);
        T_OK(cf_constraint_bytes(c, cf_buf_cstr(&text), text.n, &n, &err), err);
        assert_int_equal(n, text.n);
        assert_true(cf_constraint_may_end(c)); /* and there the branch ends */
        cf_constraint_free(c);
        cf_buf_deinit(&text);
    }
    cf_grammar_free(g);
    tear_down(&d);
}

/* A reply that comes back from the store shows the same. */
static void test_study__of_a_stored_reply(void **state)
{
    (void)state;
    static cf_token_tree tree, again;
    desk d;
    cf_error err;
    set_up(&d, "study.db");
    constrain(&d, "choice maybe tomorrow|maybe today|never");
    const cf_reply *r = say(&d, "hello");
    cf_uuid turn = r->turn, conv = cf_lab_conv_id(d.on.lab);
    size_t n = r->n_token;
    check_study(&d, r);
    grow(&d, &tree, cf_lab_reply(d.on.lab, turn), 0, 2, 4);
    T_OK(cf_store_flush(d.on.store, 10000, &err), err);
    cf_lab_new_conv(d.on.lab);
    T_OK(cf_lab_open_conv(d.on.lab, conv, turn, &err), err);
    r = cf_lab_reply(d.on.lab, turn);
    assert_non_null(r);
    assert_int_equal(r->n_token, n);
    assert_string_equal(cf_reply_constraint(r), "choice of 3");
    check_study(&d, r);
    grow(&d, &again, r, 0, 2, 4);
    assert_int_equal(tree.n[1], again.n[1]);
    for (size_t i = 0; i < tree.n[1]; i++) {
        assert_int_equal(tree.node[1][i].id, again.node[1][i].id);
    }
    tear_down(&d);
}

/* Ending it early still reports, and leaks nothing. */
static void test_study__gives_way(void **state)
{
    (void)state;
    size_t before = cf_fault_live();
    desk d;
    cf_error err;
    set_up(&d, NULL);
    constrain(&d, "json");
    const cf_reply *r = say(&d, "hello");
    T_OK(cf_lab_study(d.on.lab, r, take_study, &d, &err), err);
    cf_lab_make_way(d.on.lab);
    assert_int_equal(d.n_done, 1);
    assert_true(d.study != NULL || d.err.code == CF_ECANCELLED);
    tear_down(&d);
    assert_int_equal(cf_fault_live(), before);
}

int main(void)
{
    cf_fault_install();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tree__is_what_forks_write),
        cmocka_unit_test(test_tree__fork_from_a_node),
        cmocka_unit_test(test_tree__refused),
        cmocka_unit_test(test_tree__gives_way),
        cmocka_unit_test(test_study__is_what_held),
        cmocka_unit_test(test_study__tree_is_held),
        cmocka_unit_test(test_study__of_a_stored_reply),
        cmocka_unit_test(test_study__gives_way),
    };
    return cmocka_run_group_tests(tests, store_dir_make, store_dir_remove);
}
