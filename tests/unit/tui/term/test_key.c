/*
 * test_key.c - keys: their names, and the sequences that terminals send for
 * keys with modifiers.
 */
#include <string.h>

#include "tests/support/t.h"
#include "tui/term/key.h"

static void test_key__names_round_trip(void **state)
{
    static const char *const names[] = {"a",         "<Space>",    "<lt>",      "<Enter>",
                                        "<S-Enter>", "<C-Left>",   "<M-Right>", "<M-x>",
                                        "<C-d>",     "<S-Tab>",    "<C-Home>",  "<C-S-End>",
                                        "<M-C-Del>", "<M-C-Left>", "<F12>"};
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        cf_key key;
        size_t at = 0, n = strlen(names[i]);
        cf_buf out = CF_BUF_INIT;
        assert_true(cf_key_parse(&key, names[i], n, &at));
        assert_int_equal(at, n);
        cf_key_format(&out, key);
        assert_string_equal(cf_buf_cstr(&out), names[i]);
        cf_buf_deinit(&out);
    }
}

/* However the modifiers of a character are ordered, the key is the one that a
 * terminal sends, and its name is read back. */
static void test_key__modifiers_in_any_order(void **state)
{
    static const char letters[] = "SMC"; /* xterm's 1, 2 and 4 */
    static const int orders[][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                    {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    (void)state;
    for (int c = 33; c < 127; c++) {
        for (int mods = 1; mods < 8 && c != '<' && c != '>'; mods++) {
            cf_key sent, again;
            char text[32];
            int n = snprintf(text, sizeof text, "%d;%d", c, 1 + mods);
            assert_true(cf_key_from_csi(&sent, text, (size_t)n, 'u'));
            for (size_t o = 0; o < sizeof orders / sizeof *orders; o++) {
                cf_key key;
                size_t at = 0, from = 0;
                cf_buf name = CF_BUF_INIT, out = CF_BUF_INIT;
                cf_buf_addc(&name, '<');
                for (int i = 0; i < 3; i++) {
                    if (mods & 1 << orders[o][i]) {
                        cf_buf_addf(&name, "%c-", letters[orders[o][i]]);
                    }
                }
                cf_buf_addf(&name, "%c>", c);
                assert_true(cf_key_parse(&key, cf_buf_cstr(&name), name.n, &at));
                assert_int_equal(key, sent);
                cf_key_format(&out, key);
                assert_true(cf_key_parse(&again, cf_buf_cstr(&out), out.n, &from));
                assert_int_equal(again, key);
                cf_buf_deinit(&name);
                cf_buf_deinit(&out);
            }
        }
    }
}

static void test_key__unknown_names_are_refused(void **state)
{
    static const char *const names[] = {"<", "<X>", "<C->", "<Q-Left>", "<>"};
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        cf_key key;
        size_t at = 0;
        assert_false(cf_key_parse(&key, names[i], strlen(names[i]), &at));
    }
}

typedef struct sequence {
    const char *bytes; /* after "ESC [" */
    const char *name;  /* NULL: not a key */
} sequence;

static void test_key__control_sequences(void **state)
{
    static const sequence cases[] = {
        {"1;5D", "<C-Left>"},
        {"1;3C", "<M-Right>"},
        {"1;2A", "<S-Up>"},
        {"1;5H", "<C-Home>"},
        {"1;6F", "<C-S-End>"},
        {"3;5~", "<C-Del>"},
        {"5;2~", "<S-PgUp>"},
        {"13;2u", "<S-Enter>"},
        {"13;5u", "<C-Enter>"},
        {"27;2;13~", "<S-Enter>"},
        {"9;2u", "<S-Tab>"},
        {"127;5u", "<C-BS>"},
        {"97;5u", "<C-a>"},
        {"97;3u", "<M-a>"},
        {"97;2u", "A"},
        {"27u", "<Esc>"},
        {"13;2:1u", "<S-Enter>"},
        {"57441;2u", NULL},
        {"?2026;2$y", NULL},
        {"<0;1;1M", NULL},
        {"99~", NULL},
        {"0u", NULL},
        {"99999999999u", NULL},
        {";;;;;;u", NULL},
        {"1;999999999D", "<Left>"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        cf_key key = 0;
        size_t n = strlen(cases[i].bytes) - 1;
        bool is_key = cf_key_from_csi(&key, cases[i].bytes, n, cases[i].bytes[n]);
        if (cases[i].name == NULL) {
            assert_false(is_key);
            continue;
        }
        cf_buf out = CF_BUF_INIT;
        assert_true(is_key);
        cf_key_format(&out, key);
        assert_string_equal(cf_buf_cstr(&out), cases[i].name);
        cf_buf_deinit(&out);
    }
}

static void test_key__extended_capabilities(void **state)
{
    cf_key key;
    (void)state;
    assert_true(cf_key_from_capability(&key, "kLFT5"));
    assert_int_equal(key, CF_KEY_LEFT | CF_KEY_CTRL);
    assert_true(cf_key_from_capability(&key, "kDC3"));
    assert_int_equal(key, CF_KEY_DELETE | CF_KEY_ALT);
    assert_false(cf_key_from_capability(&key, "kLFT9"));
    assert_false(cf_key_from_capability(&key, "KEY_F(70)"));
}

static void test_key__mouse(void **state)
{
    (void)state;
    static const struct {
        const char *params;
        char final;
        bool is_one;
        cf_key key;
        int x, y;
    } cases[] = {{"<0;1;1", 'M', true, 0, 0, 0},
                 {"<0;300;80", 'M', true, 0, 299, 79},
                 {"<64;5;6", 'M', true, CF_KEY_MOUSE_UP, 4, 5},
                 {"<65;5;6", 'M', true, CF_KEY_MOUSE_DOWN, 4, 5},
                 {"<0;5;6", 'm', true, CF_KEY_MOUSE_RELEASED, 4, 5},
                 {"<32;5;6", 'M', true, CF_KEY_MOUSE_MOVED, 4, 5},
                 {"<32;5;6", 'm', false, 0, 0, 0},
                 {"<64;5;6", 'm', false, 0, 0, 0},
                 {"<35;5;6", 'M', false, 0, 0, 0},
                 {"<2;5;6", 'M', false, 0, 0, 0},
                 {"<4;5;6", 'M', false, 0, 0, 0},
                 {"<0;0;6", 'M', false, 0, 0, 0},
                 {"<0;5", 'M', false, 0, 0, 0},
                 {"<", 'M', false, 0, 0, 0},
                 {"0;5;6", 'M', false, 0, 0, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        cf_key key = 0;
        int x = 0, y = 0;
        assert_int_equal(cf_mouse_from_csi(&key, &x, &y, cases[i].params, strlen(cases[i].params),
                                           cases[i].final),
                         cases[i].is_one);
        assert_int_equal(key, cases[i].key);
        assert_int_equal(x, cases[i].x);
        assert_int_equal(y, cases[i].y);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_key__names_round_trip),
        cmocka_unit_test(test_key__modifiers_in_any_order),
        cmocka_unit_test(test_key__unknown_names_are_refused),
        cmocka_unit_test(test_key__control_sequences),
        cmocka_unit_test(test_key__extended_capabilities),
        cmocka_unit_test(test_key__mouse),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
