/*
 * test_edit.c - writing, moving, undo, history; list; keymap; keys.
 */
#include "tests/support/t.h"
#include "tests/support/fault.h"
#include "tests/support/rand.h"
#include "tui/app/app.h"
#include "tui/widget/edit.h"
#include "tui/widget/list.h"

static void press(cf_edit *e, const char *keys)
{
    size_t n = strlen(keys);
    for (size_t at = 0; at < n;) {
        cf_key key;
        assert_true(cf_key_parse(&key, keys, n, &at));
        cf_edit_key(e, key, 20);
    }
}

static void edits(const char *keys, const char *want)
{
    cf_edit e;
    cf_edit_init(&e, false);
    press(&e, keys);
    assert_string_equal(cf_buf_cstr(&e.text), want);
    cf_edit_deinit(&e);
}

static void test_edit__table(void **state)
{
    (void)state;
    edits("hello", "hello");
    edits("hello<BS><BS>y", "hely");
    edits("ab<Left>c", "acb");
    edits("one two three<C-w>", "one two ");
    edits("one two<C-a><M-f><C-k>", "one");
    edits("one two<C-u>x", "x");
    edits("a<C-j>b<C-j>cd<C-u>x", "a\nb\nx");
    edits("a<C-j>b<C-j>cd<C-u><C-u>x", "x");
    edits("a<C-j>b<Up>c", "ac\nb");
    edits("abc<Home><Del>", "bc");
    edits("e\xCC\x81<BS>", ""); /* one cluster, one key */
    edits("a\xE6\x97\xA5<Left>x", "ax\xE6\x97\xA5");
    edits("word more<C-_>", "word"); /* a run of typing is one step */
    edits("a<C-w><C-_>", "a");
    edits("ab<M-b>x", "xab");
}

static void test_edit__paste_is_one_step(void **state)
{
    (void)state;
    cf_edit e;
    cf_edit_init(&e, false);
    press(&e, "x");
    cf_edit_insert(&e, cf_str_from("many\nlines\n"));
    assert_string_equal(cf_buf_cstr(&e.text), "xmany\nlines\n");
    press(&e, "<C-_>");
    assert_string_equal(cf_buf_cstr(&e.text), "x");
    cf_edit_deinit(&e);
    cf_edit_init(&e, true);
    cf_edit_insert(&e, cf_str_from("two\nlines"));
    assert_string_equal(cf_buf_cstr(&e.text), "two lines");
    cf_edit_deinit(&e);
}

static void test_edit__history_keeps_the_draft(void **state)
{
    (void)state;
    cf_edit e;
    cf_edit_init(&e, true);
    press(&e, "first");
    cf_edit_commit(&e);
    press(&e, "second");
    cf_edit_commit(&e);
    press(&e, "draft<Up>");
    assert_string_equal(cf_buf_cstr(&e.text), "second");
    press(&e, "<Up><Up>");
    assert_string_equal(cf_buf_cstr(&e.text), "first");
    press(&e, "<Down><Down>");
    assert_string_equal(cf_buf_cstr(&e.text), "draft");
    cf_edit_deinit(&e);
}

static void test_edit__draws_the_cursor_in_sight(void **state)
{
    (void)state;
    cf_edit e;
    cf_grid g;
    cf_error err;
    cf_edit_init(&e, false);
    cf_grid_init(&g);
    T_OK(cf_grid_resize(&g, 8, 2, &err), err);
    press(&e, "one two three four");
    cf_edit_draw(&e, &g, (cf_rect){0, 0, 8, 2}, true);
    cf_buf b = CF_BUF_INIT;
    cf_grid_dump(&g, &b);
    assert_string_equal(b.p, "three\nfour\n");
    assert_int_equal(g.cursor_x, 4);
    assert_int_equal(g.cursor_y, 1);
    cf_buf_deinit(&b);
    cf_grid_deinit(&g);
    cf_edit_deinit(&e);
}

/* Whatever is pressed, the cursor stays inside and between clusters, and
 * memory running out changes nothing. */
static void test_edit__random_keys(void **state)
{
    (void)state;
    static const char *const keys[] = {"a",      " ",     "\xE6\x97\xA5", "\xCC\x81", "<C-j>",
                                       "<Left>", "<Up>",  "<Down>",       "<BS>",     "<Del>",
                                       "<C-w>",  "<C-k>", "<C-_>",        "<Right>",  "<Home>",
                                       "<End>",  "<C-u>", "<M-d>"};
    cf_rand r = {3};
    for (int round = 0; round < 60; round++) {
        cf_edit e;
        cf_edit_init(&e, round % 2 == 0);
        for (int i = 0; i < 300; i++) {
            bool breaks = cf_rand_below(&r, 10) == 0;
            if (breaks) {
                cf_fault_arm(1, true);
            }
            press(&e, keys[cf_rand_below(&r, sizeof keys / sizeof *keys)]);
            if (breaks) {
                cf_fault_disarm();
            }
            assert_true(e.cursor <= e.text.n);
            assert_false(e.text.failed);
            if (cf_rand_below(&r, 40) == 0) {
                cf_edit_commit(&e);
            }
        }
        cf_edit_deinit(&e);
    }
}

static void test_list__moves_and_scrolls(void **state)
{
    (void)state;
    cf_list l = {0};
    cf_list_set(&l, 0, 5);
    cf_list_move(&l, CF_MOVE_DOWN);
    assert_int_equal(l.cursor, 0);
    cf_list_set(&l, 20, 5);
    cf_list_move(&l, CF_MOVE_LAST);
    assert_int_equal(l.cursor, 19);
    assert_int_equal(l.top, 15);
    cf_list_move(&l, CF_MOVE_PAGE_UP);
    assert_int_equal(l.cursor, 15);
    cf_list_move(&l, CF_MOVE_HALF_UP);
    assert_int_equal(l.cursor, 13);
    assert_int_equal(l.top, 13);
    cf_list_set(&l, 3, 5);
    assert_int_equal(l.cursor, 2);
    assert_int_equal(l.top, 0);
}

static void test_key__names_round_trip(void **state)
{
    (void)state;
    static const char *const names[] = {"a",      "G",        "<Enter>",   "<Esc>",   "<C-d>",
                                        "<M-x>",  "<S-Tab>",  "<F12>",     "<Space>", "<lt>",
                                        "<PgUp>", "\xC3\xA9", "<M-Enter>", "<C-j>"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        cf_key key;
        size_t at = 0;
        cf_buf b = CF_BUF_INIT;
        assert_true(cf_key_parse(&key, names[i], strlen(names[i]), &at));
        assert_int_equal(at, strlen(names[i]));
        cf_key_format(&b, key);
        assert_string_equal(cf_buf_cstr(&b), names[i]);
        cf_buf_deinit(&b);
    }
    cf_key key;
    size_t at = 0;
    assert_false(cf_key_parse(&key, "<Nonsense>", 10, &at));
}

static void test_keymap__sequences_views_and_users(void **state)
{
    (void)state;
    cf_keymap m = {0};
    cf_error err;
    const cf_binding *b;
    static const cf_command preview = {.name = "preview"}, cut = {.name = "cut"};
    const cf_binding rows[] = {{.views = 3, .row = &preview},
                               {.views = 1, .row = &cut},
                               {.views = 1, .row = &preview, .arg = "mine", .is_user = true}};
    T_OK(cf_keymap_add(&m, &rows[0], "gp", &err), err);
    T_OK(cf_keymap_add(&m, &rows[1], "x", &err), err);
    T_OK(cf_keymap_add(&m, &rows[2], "x", &err), err);
    T_FAILS(cf_keymap_add(&m, &rows[2], "<Foo>", &err), CF_EINVAL);
    T_FAILS(cf_keymap_add(&m, &rows[2], "", &err), CF_EINVAL);
    cf_key keys[2] = {'g', 'p'};
    assert_int_equal(cf_keymap_find(&m, 2, keys, 1, &b), CF_LOOKUP_PREFIX);
    assert_int_equal(cf_keymap_find(&m, 2, keys, 2, &b), CF_LOOKUP_FOUND);
    assert_ptr_equal(b->row, &preview);
    keys[0] = 'x';
    assert_int_equal(cf_keymap_find(&m, 2, keys, 1, &b), CF_LOOKUP_NONE);
    assert_int_equal(cf_keymap_find(&m, 1, keys, 1, &b), CF_LOOKUP_FOUND);
    assert_string_equal(b->arg, "mine");
    cf_buf text = CF_BUF_INIT;
    cf_keymap_describe(&m, 1, &preview, &text); /* without arguments */
    assert_string_equal(cf_buf_cstr(&text), "gp");
    cf_buf_reset(&text);
    cf_keymap_describe(&m, 1, &cut, &text); /* hidden by the user's */
    assert_string_equal(cf_buf_cstr(&text), "");
    cf_buf_deinit(&text);
    cf_keymap_deinit(&m);
}

int main(void)
{
    cf_fault_install();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_edit__table),
        cmocka_unit_test(test_edit__paste_is_one_step),
        cmocka_unit_test(test_edit__history_keeps_the_draft),
        cmocka_unit_test(test_edit__draws_the_cursor_in_sight),
        cmocka_unit_test(test_edit__random_keys),
        cmocka_unit_test(test_list__moves_and_scrolls),
        cmocka_unit_test(test_key__names_round_trip),
        cmocka_unit_test(test_keymap__sequences_views_and_users),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
