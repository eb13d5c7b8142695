/*
 * test_tokenize.c - confab tokenize over a small vocabulary in a file.
 */
#include "tests/support/t.h"

#include "core/base/os.h"
#include "tests/support/program.h"
#include "tests/support/store_dir.h"
#include "tests/support/vocab_file.h"

static store_path vocab, batch;

static int set_up(void **state)
{
    if (store_dir_make(state) != 0) {
        return -1;
    }
    store_dir_path(vocab, "vocab.gguf");
    store_dir_path(batch, "batch.jsonl");
    cf_vocab_file f;
    cf_vocab_file_small_spm(&f, true);
    return cf_vocab_file_write(&f, vocab) ? 0 : -1;
}

static void test_tokenize__columns(void **state)
{
    (void)state;
    NEED_PROGRAM();
    cf_program p;
    CF_PROGRAM(&p, "tokenize", "-m", vocab, "--bos", "--special", "hello</s>\n\n");
    cf_program_expect(&p, 0,
                      " id  from    to  type     piece\n"
                      "  1     0     0  control  '<s>'\n"
                      "280     0     5  normal   ' hello'\n"
                      "  2     5     9  control  '</s>'\n"
                      "295     9    11  user     '\\n\\n'\n"
                      "4 tokens, 11 bytes\n");
}

/* Whatever could steer a terminal is written out. */
static void test_tokenize__hostile_text(void **state)
{
    (void)state;
    NEED_PROGRAM();
    static const char text[] = "\033\xFF\xC2\x9B";
    const char *const argv[] = {"tokenize", "-m", vocab, "-", NULL};
    cf_program p;
    cf_program_run(&p, argv, text, sizeof text - 1);
    cf_program_expect(&p, 0,
                      " id  from    to  type     piece\n"
                      "260     0     0  normal   ' '\n"
                      " 31     0     1  byte     '\\x1b'\n"
                      "259     1     2  byte     '\\xff'\n"
                      "198     2     4  byte     '\\xc2'\n"
                      "159     4     4  byte     '\\x9b'\n"
                      "5 tokens, 4 bytes\n");
}

static void test_tokenize__json(void **state)
{
    (void)state;
    NEED_PROGRAM();
    const char *const argv[] = {"tokenize", "-m", vocab, "--json", NULL};
    cf_program p;
    cf_program_run(&p, argv, "a\xFF", 2);
    cf_program_expect(&p, 0,
                      "{\"ids\":[293,259],\"tokens\":["
                      "{\"id\":293,\"type\":\"normal\",\"off\":0,\"len\":1,"
                      "\"piece\":\" a\"},"
                      "{\"id\":259,\"type\":\"byte\",\"off\":1,\"len\":1,"
                      "\"piece\":\"\\uFFFD\",\"piece_hex\":\"ff\"}]}\n");
    CF_PROGRAM(&p, "tokenize", "-m", vocab, "--json", "--ids", "280, 1,2");
    cf_program_expect(&p, 0, "{\"text\":\"hello<s></s>\"}\n");
}

static void test_tokenize__ids(void **state)
{
    (void)state;
    NEED_PROGRAM();
    cf_program p;
    CF_PROGRAM(&p, "tokenize", "-m", vocab, "--ids", "280,259,295");
    cf_program_expect(&p, 0, "hello\xFF\n\n");
    CF_PROGRAM(&p, "tokenize", "-m", vocab, "--ids", "280,9999");
    assert_non_null(strstr(cf_buf_cstr(&p.err), "9999"));
    cf_program_expect(&p, 2, "");
    CF_PROGRAM(&p, "tokenize", "-m", vocab, "--ids", "1", "text");
    cf_program_expect(&p, 2, "");
}

static void test_tokenize__batch(void **state)
{
    (void)state;
    NEED_PROGRAM();
    static const char lines[] = "{\"name\":\"a\",\"text\":\"hello\",\"add_special\":true}\n"
                                "{\"name\":\"b\",\"hex\":\"ff00\"}\n"
                                "{\"name\":\"c\",\"text\":\"</s>\",\"parse_special\":true}\n"
                                "{\"name\":\"d\",\"hex\":\"f\"}\n"
                                "{\"name\":\"e\"}\n"
                                "{\"name\":\"f\",\"text\":\"\",\"add_special\":true}\n";
    cf_error err;
    T_OK(cf_os_write_file(batch, lines, sizeof lines - 1, 0600, &err), err);
    cf_program p;
    CF_PROGRAM(&p, "tokenize", "-m", vocab, "--batch", batch);
    cf_program_expect(&p, 0,
                      "{\"name\":\"a\",\"ids\":[1,280],\"detok\":\"hello\"}\n"
                      "{\"name\":\"b\",\"ids\":[260,259,4],\"detok_hex\":\"ff00\"}\n"
                      "{\"name\":\"c\",\"ids\":[2],\"detok\":\"</s>\"}\n"
                      "{\"name\":\"d\",\"error\":{\"message\":"
                      "\"hex: an odd number of digits\"}}\n"
                      "{\"name\":\"e\",\"error\":{\"message\":"
                      "\"neither \\\"text\\\" nor \\\"hex\\\" nor \\\"ids\\\"\"}}\n"
                      "{\"name\":\"f\",\"ids\":[1],\"detok\":\"\"}\n");
}

static void test_tokenize__failures(void **state)
{
    (void)state;
    NEED_PROGRAM();
    cf_program p;
    CF_PROGRAM(&p, "tokenize", "-m", vocab, "a", "b");
    cf_program_expect(&p, 2, "");
    CF_PROGRAM(&p, "tokenize", "-m", "/nonexistent.gguf", "a");
    cf_program_expect(&p, 3, "");
    CF_PROGRAM(&p, "tokenize", "-m", vocab, "--batch", "/nonexistent");
    cf_program_expect(&p, 3, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tokenize__columns), cmocka_unit_test(test_tokenize__hostile_text),
        cmocka_unit_test(test_tokenize__json),    cmocka_unit_test(test_tokenize__ids),
        cmocka_unit_test(test_tokenize__batch),   cmocka_unit_test(test_tokenize__failures),
    };
    return cmocka_run_group_tests(tests, set_up, store_dir_remove);
}
