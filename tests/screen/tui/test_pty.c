/*
 * test_pty.c - the program in a real pseudo-terminal, its screen read back by
 * a terminal emulator: what the user sees at the start, while writing, after
 * a resize, and once it ended, well or by a signal.
 */
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/os.h"
#include "tests/support/program.h"
#include "tests/support/pty.h"
#include "tests/support/store_dir.h"
#include "tests/support/t.h"

enum { PATIENCE_MS = 20000 };

/* `db` NULL: nothing is stored. */
static void start_as(cf_pty *t, int w, int h, const char *script, const char *db, const char *term)
{
    char path[500], model[600];
    cf_error err;
    snprintf(path, sizeof path, "%s", store_dir_file("script.json"));
    snprintf(model, sizeof model, "script:%s", path);
    T_OK(cf_os_write_file(path, script, strlen(script), 0600, &err), err);
    const char *const words[] = {"chat", "-m", model, db != NULL ? "--db" : "--no-store", db, NULL};
    cf_pty_start(t, w, h, words, term);
}

static void start_with(cf_pty *t, int w, int h, const char *script, const char *db)
{
    start_as(t, w, h, script, db, "xterm-256color");
}

static void start_on(cf_pty *t, int w, int h, const char *db)
{
    start_with(t, w, h, "{\"replies\":[{\"text\":\"It rains in Oslo.\",\"chunk\":3}]}", db);
}

static void start(cf_pty *t, int w, int h)
{
    start_on(t, w, h, NULL);
}

static void quit_with(cf_pty *t, const char *keys)
{
    cf_pty_type(t, keys);
    int status = cf_pty_finish(t);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void quit(cf_pty *t)
{
    quit_with(t, "Q");
}

static void test_pty__from_start_to_end(void **state)
{
    (void)state;
    cf_pty t;
    NEED_TERMINALS();
    start(&t, 120, 36);
    cf_pty_wait(&t, "Write a message");
    assert_true(t.is_alternate);
    assert_true(cf_pty_shows(&t, "[1 Chat]"));
    cf_pty_type(&t, "i");
    cf_pty_wait(&t, "INSERT");
    cf_pty_type(&t, "Hello");
    cf_pty_wait(&t, "Hello");
    cf_pty_type(&t, "\r");
    cf_pty_wait(&t, "It rains in Oslo.");
    cf_pty_wait(&t, "turn 2 of 2");

    struct winsize size = {.ws_row = 16, .ws_col = 60};
    t.w = 60;
    t.h = 16;
    vterm_set_size(t.vt, t.h, t.w);
    assert_int_equal(ioctl(t.fd, TIOCSWINSZ, &size), 0);
    cf_pty_wait(&t, "[1 Chat] 2");
    cf_pty_wait(&t, "It rains in Oslo.");
    cf_pty_type(&t, "\t?");
    cf_pty_wait(&t, "[Help]");
    cf_pty_type(&t, "q");
    cf_pty_wait(&t, "[1 Chat]");
    cf_pty_type(&t, "Q");
    int status = cf_pty_finish(&t);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void test_pty__a_paste_is_text(void **state)
{
    (void)state;
    cf_pty t;
    NEED_TERMINALS();
    start(&t, 80, 24);
    cf_pty_wait(&t, "Write a message");
    cf_pty_type(&t, "\033[200~Quit? Q\rno\033[201~");
    cf_pty_wait(&t, "Quit? Q");
    cf_pty_wait(&t, "INSERT");
    assert_true(t.is_alternate);
    cf_pty_type(&t, "\003\003\003");
    cf_pty_finish(&t);
}

static void test_pty__signals_give_the_terminal_back(void **state)
{
    (void)state;
    static const int signals[] = {SIGTERM, SIGHUP, SIGQUIT, SIGSEGV};
    NEED_TERMINALS();
    for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++) {
        cf_pty t;
        start(&t, 80, 24);
        cf_pty_wait(&t, "Write a message");
        assert_true(t.is_alternate);
        assert_int_equal(kill(t.pid, signals[i]), 0);
        if (signals[i] == SIGSEGV) {
            cf_pty_wait(&t, "the database");
            assert_false(cf_pty_shows(&t, "log:")); /* it has none */
        }
        cf_pty_finish(&t);
    }
}

/* The guide is there once; the next start is an empty workbench. */
static void test_pty__first_start(void **state)
{
    (void)state;
    cf_pty t;
    NEED_TERMINALS();
    const char *db = store_dir_file("first.db");
    start_on(&t, 120, 36, db);
    cf_pty_wait(&t, "Welcome to confab");
    cf_pty_type(&t, "6");
    cf_pty_wait(&t, "A tool round");
    cf_pty_wait(&t, "A broken template beside its fix");
    cf_pty_type(&t, "1i"); /* the user's own model gets nothing of the example */
    cf_pty_wait(&t, "a new conversation");
    assert_false(cf_pty_shows(&t, "Welcome to confab"));
    cf_pty_type(&t, "\t"); /* leaves the composer */
    quit(&t);
    start_on(&t, 120, 36, db);
    cf_pty_wait(&t, "Write a message");
    assert_false(cf_pty_shows(&t, "Welcome to confab"));
    quit(&t);
}

/* The fault is reported at once, and the workbench opens all the same. */
static void test_pty__trouble_at_the_start(void **state)
{
    (void)state;
    cf_pty t;
    cf_error err;
    NEED_TERMINALS();
    static const char text[] = "this is a text, and no database at all\n";
    const char *db = store_dir_file("text.db");
    T_OK(cf_os_write_file(db, text, sizeof text - 1, 0600, &err), err);
    start_on(&t, 120, 36, db);
    cf_pty_wait(&t, "history is off");
    cf_pty_type(&t, "@");
    cf_pty_wait(&t, "not a confab database");
    cf_pty_wait(&t, "names another file");
    quit(&t);

    start(&t, 50, 10);
    cf_pty_wait(&t, "needs 60 x 16 cells");
    cf_pty_wait(&t, "this is 50 x 10");
    quit_with(&t, "\x03\x03"); /* a letter does nothing here */
}

/* Killed in the middle of a reply, with no chance to tidy up: the message and
 * what had come are there at the next start. */
static void test_pty__a_killed_reply_is_kept(void **state)
{
    (void)state;
    cf_pty t;
    cf_buf script = CF_BUF_INIT;
    char db[500];
    snprintf(db, sizeof db, "%s", store_dir_file("killed.db"));
    NEED_TERMINALS();
    cf_buf_adds(&script, "{\"replies\":[{\"text\":\"");
    for (int i = 10; i < 400; i++) {
        cf_buf_addf(&script, "word%d ", i);
    }
    cf_buf_adds(&script, "\",\"chunk\":7,\"delay_ms\":20}]}");
    start_with(&t, 120, 36, cf_buf_cstr(&script), db);
    cf_pty_wait(&t, "NORMAL");
    cf_pty_type(&t, "c"); /* a new history begins with examples */
    cf_pty_wait(&t, "INSERT");
    cf_pty_type(&t, "Talk to me\r");
    cf_pty_wait(&t, "word99"); /* the store writes several times a second */
    assert_int_equal(kill(t.pid, SIGKILL), 0);
    int status = 0;
    assert_int_equal(waitpid(t.pid, &status, 0), t.pid);
    close(t.fd);
    vterm_free(t.vt);
    cf_buf_deinit(&t.out);

    start_with(&t, 120, 36, cf_buf_cstr(&script), db);
    cf_pty_wait(&t, "[1 Chat]");
    cf_pty_type(&t, "6");
    cf_pty_wait(&t, "Talk to me");
    cf_pty_type(&t, "\r");
    cf_pty_wait(&t, "word10 word11");
    cf_pty_wait(&t, "interrupted");
    assert_false(cf_pty_shows(&t, "word399"));
    cf_pty_type(&t, "Q");
    cf_pty_finish(&t);
    cf_buf_deinit(&script);
}

static bool wrote(const cf_pty *t, const char *bytes)
{
    size_t n = strlen(bytes);
    for (size_t i = 0; i + n <= t->out.n; i++) {
        if (memcmp(t->out.p + i, bytes, n) == 0) {
            return true;
        }
    }
    return false;
}

static void wait_for_bytes(cf_pty *t, const char *bytes)
{
    for (int left = PATIENCE_MS; !wrote(t, bytes); left -= 20) {
        if (left <= 0 || t->is_closed) {
            cf_pty_print(t);
            fail_msg("the bytes '%s' never came", bytes + 1);
        }
        cf_pty_pump(t, 20);
    }
}

/* A terminal that answers as kitty does gets the picture of a message, and is
 * rid of it when the program ends; one that does not gets half blocks. */
static void test_pty__pictures_of_a_terminal_with_graphics(void **state)
{
    (void)state;
    static const char attach[] = ":attach tests/fuzz/corpus/picture/rgb.png\r";
    cf_pty t;
    NEED_TERMINALS();
    start(&t, 120, 36);
    cf_pty_wait(&t, "Write a message");
    wait_for_bytes(&t, "\033_Gi=31,s=1,v=1,a=q");
    cf_pty_type(&t, "\033_Gi=31;OK\033\\");
    cf_pty_type(&t, attach);
    cf_pty_wait(&t, "rgb.png");
    cf_pty_type(&t, "iLook\r");
    cf_pty_wait(&t, "It rains in Oslo.");
    wait_for_bytes(&t, "\033_Ga=t,f=100,");
    wait_for_bytes(&t, "\033_Ga=p,");
    cf_buf_restart(&t.out);
    cf_pty_type(&t, "\t:set graphics=blocks\r");
    wait_for_bytes(&t, "\033_Ga=d,d=I,");
    wait_for_bytes(&t, "\xE2\x96\x80"); /* upper half block */
    cf_pty_type(&t, ":set graphics=sixel\r");
    wait_for_bytes(&t, "\033P0;1;0q\"1;1;");
    cf_pty_type(&t, ":set graphics=auto\r");
    cf_buf_restart(&t.out);
    wait_for_bytes(&t, "\033_Ga=p,");
    cf_buf_restart(&t.out);
    cf_pty_type(&t, "Q");
    wait_for_bytes(&t, "\033_Ga=d,d=I,");
    assert_int_equal(cf_pty_finish(&t), 0);
}

/* A command of one's own has the terminal, and gives it back. */
static void test_pty__a_command_has_the_terminal(void **state)
{
    (void)state;
    cf_pty t;
    NEED_TERMINALS();
    start(&t, 80, 24);
    cf_pty_wait(&t, "Write a message");
    cf_pty_type(&t, ":");
    cf_pty_wait(&t, "<Tab> choose");
    cf_pty_type(&t, "!test -t 0 && test -t 1 && echo on a te''rminal\r");
    cf_pty_wait(&t, "on a terminal");
    assert_false(t.is_alternate);
    cf_pty_wait(&t, "Enter goes back");
    cf_pty_type(&t, "\r");
    cf_pty_wait(&t, "Write a message");
    assert_true(t.is_alternate);
    cf_pty_type(&t, ":");
    cf_pty_wait(&t, "<Tab> choose");
    cf_pty_type(&t, "@echo behind the scr''een; exit 4\r");
    cf_pty_wait(&t, "behind the screen");
    cf_pty_wait(&t, "status 4");
    cf_pty_type(&t, "Q");
    int status = cf_pty_finish(&t);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

/* A command that goes on does not keep the program when the terminal is gone,
 * even where it ignores the signals that say so. */
static void test_pty__a_command_without_its_terminal(void **state)
{
    (void)state;
    cf_pty t;
    int status;
    NEED_TERMINALS();
    start(&t, 80, 24);
    cf_pty_wait(&t, "Write a message");
    cf_pty_type(&t, ":");
    cf_pty_wait(&t, "<Tab> choose");
    cf_pty_type(&t, "!trap '' HUP TERM; echo beg''un; exec sleep 60 </dev/null\r");
    cf_pty_wait(&t, "begun");
    close(t.fd);
    for (int left = PATIENCE_MS; waitpid(t.pid, &status, WNOHANG) == 0; left -= 20) {
        if (left <= 0) {
            kill(t.pid, SIGKILL);
            waitpid(t.pid, &status, 0);
            fail_msg("the program waits for its command");
        }
        poll(NULL, 0, 20);
    }
    vterm_free(t.vt);
    cf_buf_deinit(&t.out);
}

/* What terminals send for keys with modifiers: the draft is edited, or nothing
 * happens; the mode never changes, and what is typed next is text. */
static void test_pty__keys_with_modifiers(void **state)
{
    (void)state;
    static const char *const unknown[] = {"\033[57358;5u", "\033[27;5;9~", "\033[1;7P",
                                          "\033[99;99Z",   "\033O5x",      "\033[24;8~"};
    cf_pty t;
    NEED_TERMINALS();
    start(&t, 100, 24);
    cf_pty_wait(&t, "Write a message");
    cf_pty_type(&t, "i");
    cf_pty_wait(&t, "INSERT");
    cf_pty_type(&t, "one two three");
    cf_pty_type(&t, "\033[1;5D\033[1;3DX"); /* Ctrl-Left, Alt-Left */
    cf_pty_wait(&t, "one Xtwo three");
    cf_pty_type(&t, "\033[1;5CY"); /* Ctrl-Right */
    cf_pty_wait(&t, "one Xtwo");
    cf_pty_type(&t, "\033[1;5H!\033[1;2FZ"); /* Ctrl-Home, Shift-End */
    cf_pty_wait(&t, "!one");
    cf_pty_wait(&t, "threeZ");
    for (size_t i = 0; i < sizeof unknown / sizeof unknown[0]; i++) {
        char word[8];
        snprintf(word, sizeof word, "dd%zu", i);
        cf_pty_type(&t, unknown[i]);
        cf_pty_type(&t, word);
        cf_pty_wait(&t, word);
        assert_true(cf_pty_shows(&t, "INSERT"));
    }
    cf_pty_type(&t, "\033[13;2unext line\033[13;2~last"); /* Shift-Enter, twice */
    cf_pty_wait(&t, "next line");
    cf_pty_wait(&t, "INSERT");
    assert_true(cf_pty_shows(&t, "!one"));
    cf_pty_type(&t, "\033"
                    "2"); /* Esc and a digit at once */
    cf_pty_wait(&t, "[2 Prompt]");
    quit(&t);
}

/* "yy" sends the object to the clipboard (OSC 52) and to the register. */
static void test_pty__yank(void **state)
{
    (void)state;
    cf_pty t;
    cf_buf file = CF_BUF_INIT;
    cf_error err;
    NEED_TERMINALS();
    start(&t, 80, 24);
    cf_pty_wait(&t, "Write a message");
    cf_pty_type(&t, "i");
    cf_pty_wait(&t, "INSERT");
    cf_pty_type(&t, "Hello\r");
    cf_pty_wait(&t, "turn 2 of 2");
    cf_pty_type(&t, "\tyy");
    cf_pty_wait(&t, "copied");
    cf_buf_addc(&t.out, '\0');
    assert_false(t.out.failed);
    /* "It rains in Oslo." */
    assert_non_null(strstr(t.out.p, "\033]52;c;SXQgcmFpbnMgaW4gT3Nsby4="));
    t.out.n--;
    T_OK(cf_os_read_file(&file, store_dir_file("state/confab/register"), 1000, &err), err);
    assert_string_equal(cf_buf_cstr(&file), "It rains in Oslo.");
    cf_buf_deinit(&file);
    quit(&t);
}

/* Q while a reply runs asks; the second one leaves, and what came is kept. */
static void test_pty__quit_asks_while_a_reply_runs(void **state)
{
    (void)state;
    cf_pty t;
    cf_buf script = CF_BUF_INIT;
    const char *db = store_dir_file("asks.db");
    NEED_TERMINALS();
    cf_buf_adds(&script, "{\"replies\":[{\"text\":\"");
    for (int i = 10; i < 900; i++) {
        cf_buf_addf(&script, "word%d ", i);
    }
    cf_buf_adds(&script, "\",\"chunk\":7,\"delay_ms\":20}]}");
    start_with(&t, 120, 36, cf_buf_cstr(&script), db);
    cf_pty_wait(&t, "NORMAL");
    cf_pty_type(&t, "c");
    cf_pty_wait(&t, "INSERT");
    cf_pty_type(&t, "Talk to me\r");
    cf_pty_wait(&t, "word12");
    cf_pty_type(&t, "\tQ");
    cf_pty_wait(&t, "still working: Q again");
    cf_pty_wait(&t, "word60"); /* it still runs */
    assert_true(t.is_alternate);
    quit(&t);
    cf_buf_deinit(&script);
}

/* On a terminal that the system does not know, the missing entry is named. */
static void test_pty__an_unknown_terminal(void **state)
{
    (void)state;
    cf_pty t;
    NEED_TERMINALS();
    start_as(&t, 100, 24, "{\"replies\":[]}", NULL, "xterm-nonesuch");
    cf_pty_wait(&t, "no terminfo entry for 'xterm-nonesuch'");
    assert_false(t.is_alternate);
    int status = cf_pty_finish(&t);
    assert_true(WIFEXITED(status));
    assert_int_not_equal(WEXITSTATUS(status), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pty__from_start_to_end),
        cmocka_unit_test(test_pty__a_paste_is_text),
        cmocka_unit_test(test_pty__first_start),
        cmocka_unit_test(test_pty__trouble_at_the_start),
        cmocka_unit_test(test_pty__signals_give_the_terminal_back),
        cmocka_unit_test(test_pty__a_killed_reply_is_kept),
        cmocka_unit_test(test_pty__pictures_of_a_terminal_with_graphics),
        cmocka_unit_test(test_pty__a_command_has_the_terminal),
        cmocka_unit_test(test_pty__a_command_without_its_terminal),
        cmocka_unit_test(test_pty__keys_with_modifiers),
        cmocka_unit_test(test_pty__yank),
        cmocka_unit_test(test_pty__quit_asks_while_a_reply_runs),
        cmocka_unit_test(test_pty__an_unknown_terminal),
    };
    return cmocka_run_group_tests(tests, store_dir_make, store_dir_remove);
}
