/*
 * test_pty.c - the program in a real pseudo-terminal, its screen read back by
 * a terminal emulator: what the user sees at the start, while writing, after
 * a resize, and once it ended, well or by a signal.
 */
#include <errno.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <vterm.h>

#include "core/base/os.h"
#include "tests/support/program.h"
#include "tests/support/store_dir.h"
#include "tests/support/t.h"

enum { PATIENCE_MS = 20000 };

typedef struct terminal {
    pid_t pid;
    int fd;
    VTerm *vt;
    VTermScreen *screen;
    int w, h;
    bool is_alternate, shows_cursor, is_closed;
    cf_buf out; /* the last bytes that came, for what no cell shows */
    int apc;    /* 1: after ESC; 2: in "ESC _ ...", which the emulator would
                   show; 3: after an ESC there */
} terminal;

static int on_property(VTermProp prop, VTermValue *value, void *ud)
{
    terminal *t = ud;
    if (prop == VTERM_PROP_ALTSCREEN) {
        t->is_alternate = value->boolean != 0;
    } else if (prop == VTERM_PROP_CURSORVISIBLE) {
        t->shows_cursor = value->boolean != 0;
    }
    return 1;
}

/* The emulator's answers to queries go back to the program. */
static void answer(terminal *t)
{
    char reply[256];
    size_t n;
    while ((n = vterm_output_read(t->vt, reply, sizeof reply)) > 0) {
        if (write(t->fd, reply, n) < 0) {
            return;
        }
    }
}

/* Feeds the emulator, without the bytes of kitty's graphics. */
static void feed(terminal *t, const char *p, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        bool is_esc = p[i] == '\033';
        if (t->apc >= 2) {
            t->apc = is_esc ? 3 : t->apc == 3 ? 0 : 2;
            continue;
        }
        if (t->apc == 1 && p[i] == '_') {
            t->apc = 2;
            continue;
        }
        if (t->apc == 1) {
            vterm_input_write(t->vt, "\033", 1);
        }
        t->apc = is_esc ? 1 : 0;
        if (!is_esc) {
            vterm_input_write(t->vt, &p[i], 1);
        }
    }
}

/* Takes what the program wrote within `ms`; false when nothing came. */
static bool pump(terminal *t, int ms)
{
    struct pollfd p = {.fd = t->fd, .events = POLLIN};
    char block[4096];
    if (t->is_closed || poll(&p, 1, ms) <= 0) {
        return false;
    }
    ssize_t n = read(t->fd, block, sizeof block);
    if (n <= 0) {
        t->is_closed = n == 0 || errno != EINTR;
        return false;
    }
    feed(t, block, (size_t)n);
    cf_buf_add(&t->out, block, (size_t)n);
    answer(t);
    return true;
}

static void row_text(const terminal *t, int y, char *out, size_t cap)
{
    size_t n = 0;
    for (int x = 0; x < t->w && n + 1 < cap; x++) {
        VTermScreenCell cell;
        VTermPos at = {.row = y, .col = x};
        uint32_t cp = vterm_screen_get_cell(t->screen, at, &cell) != 0
                          ? cell.chars[0]
                          : 0;
        out[n++] = cp >= ' ' && cp < 0x7F ? (char)cp : ' ';
    }
    out[n] = '\0';
}

static bool shows(const terminal *t, const char *text)
{
    char row[512];
    for (int y = 0; y < t->h; y++) {
        row_text(t, y, row, sizeof row);
        if (strstr(row, text) != NULL) {
            return true;
        }
    }
    return false;
}

static void print_screen(const terminal *t)
{
    for (int y = 0; y < t->h; y++) {
        char row[512];
        row_text(t, y, row, sizeof row);
        printf("|%s|\n", row);
    }
}

static void wait_for(terminal *t, const char *text)
{
    for (int left = PATIENCE_MS; !shows(t, text); left -= 20) {
        if (left <= 0 || t->is_closed) {
            print_screen(t);
            fail_msg("'%s' never came", text);
        }
        pump(t, 20);
    }
}

static void type(terminal *t, const char *keys)
{
    assert_int_equal(write(t->fd, keys, strlen(keys)), (ssize_t)strlen(keys));
}

/* The program's arguments in place of the usual ones; NULL at the end. */
static const char *const *other_words;

/* `db` NULL: nothing is stored. */
static void exec_program(const char *script, const char *db, const char *term)
{
    const char *program = cf_program_path();
    char model[600];
    snprintf(model, sizeof model, "script:%s", script);
    setenv("TERM", term, 1);
    setenv("LC_ALL", "C.UTF-8", 1);
    setenv("HOME", store_dir_file("home"), 1);
    setenv("XDG_CONFIG_HOME", store_dir_file("config"), 1);
    setenv("XDG_STATE_HOME", store_dir_file("state"), 1);
    setenv("XDG_DATA_HOME", store_dir_file("data"), 1);
    unsetenv("LINES");
    unsetenv("COLUMNS");
    unsetenv("NO_COLOR");
    if (other_words != NULL) {
        char *argv[12] = {strdup(program)};
        for (size_t i = 0; i < 10 && other_words[i] != NULL; i++) {
            bool is_model = strcmp(other_words[i], "MODEL") == 0;
            argv[i + 1] = strdup(is_model ? model : other_words[i]);
        }
        execv(program, argv);
        _exit(127);
    }
    execl(program, program, "chat", "-m", model,
          db != NULL ? "--db" : "--no-store", db, (char *)NULL);
    _exit(127);
}

static void start_as(terminal *t, int w, int h, const char *script,
                     const char *db, const char *term)
{
    static const VTermScreenCallbacks callbacks = {.settermprop = on_property};
    char path[500];
    snprintf(path, sizeof path, "%s", store_dir_file("script.json"));
    cf_error err;
    *t = (terminal){.w = w, .h = h, .shows_cursor = true};
    T_OK(cf_os_write_file(path, script, strlen(script), 0600, &err), err);
    t->vt = vterm_new(h, w);
    assert_non_null(t->vt);
    vterm_set_utf8(t->vt, 1);
    t->screen = vterm_obtain_screen(t->vt);
    vterm_screen_set_callbacks(t->screen, &callbacks, t);
    vterm_screen_enable_altscreen(t->screen, 1);
    vterm_screen_reset(t->screen, 1);
    struct winsize size = {.ws_row = (unsigned short)h,
                           .ws_col = (unsigned short)w};
    t->pid = forkpty(&t->fd, NULL, NULL, &size);
    assert_true(t->pid >= 0);
    if (t->pid == 0) {
        exec_program(path, db, term);
    }
}

static void start_with(terminal *t, int w, int h, const char *script,
                       const char *db)
{
    start_as(t, w, h, script, db, "xterm-256color");
}

static void start_on(terminal *t, int w, int h, const char *db)
{
    start_with(t, w, h,
               "{\"replies\":[{\"text\":\"It rains in Oslo.\",\"chunk\":3}]}",
               db);
}

static void start(terminal *t, int w, int h)
{
    start_on(t, w, h, NULL);
}

/* Waits for the end, checks that the terminal is as it was, and returns the
 * program's wait status. */
static int finish(terminal *t)
{
    int status = -1;
    for (int left = PATIENCE_MS; waitpid(t->pid, &status, WNOHANG) == 0;
         left -= 20) {
        if (left <= 0) {
            kill(t->pid, SIGKILL);
            waitpid(t->pid, &status, 0);
            print_screen(t);
            fail_msg("the program does not end");
        }
        if (!pump(t, 20) && t->is_closed) {
            poll(NULL, 0, 20); /* it is about to end */
        }
    }
    while (pump(t, 100)) {
    }
    struct termios tty;
    if (tcgetattr(t->fd, &tty) == 0) {
        assert_true((tty.c_lflag & ECHO) != 0);
        assert_true((tty.c_lflag & ICANON) != 0);
    }
    assert_false(t->is_alternate);
    assert_true(t->shows_cursor);
    close(t->fd);
    vterm_free(t->vt);
    cf_buf_deinit(&t->out);
    return status;
}

static void quit_with(terminal *t, const char *keys)
{
    type(t, keys);
    int status = finish(t);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void quit(terminal *t)
{
    quit_with(t, "Q");
}

/* A container may come without /dev/pts. */
static bool has_terminals(void)
{
    int ours, theirs;
    if (openpty(&ours, &theirs, NULL, NULL, NULL) != 0) {
        return false;
    }
    close(ours);
    close(theirs);
    return true;
}

#define NEED_TERMINALS()                                      \
    do {                                                      \
        if (cf_program_path() == NULL) {                      \
            T_SKIP("CONFAB_BIN is not set");                  \
        }                                                     \
        if (!has_terminals()) {                               \
            T_SKIP("this machine gives no pseudo-terminals"); \
        }                                                     \
    } while (0)

static void test_pty__from_start_to_end(void **state)
{
    (void)state;
    terminal t;
    NEED_TERMINALS();
    start(&t, 120, 36);
    wait_for(&t, "Write a message");
    assert_true(t.is_alternate);
    assert_true(shows(&t, "[1 Chat]"));
    type(&t, "i");
    wait_for(&t, "INSERT");
    type(&t, "Hello");
    wait_for(&t, "Hello");
    type(&t, "\r");
    wait_for(&t, "It rains in Oslo.");
    wait_for(&t, "turn 2 of 2");

    struct winsize size = {.ws_row = 16, .ws_col = 60};
    t.w = 60;
    t.h = 16;
    vterm_set_size(t.vt, t.h, t.w);
    assert_int_equal(ioctl(t.fd, TIOCSWINSZ, &size), 0);
    wait_for(&t, "[1 Chat] 2");
    wait_for(&t, "It rains in Oslo.");
    type(&t, "\t?");
    wait_for(&t, "[Help]");
    type(&t, "q");
    wait_for(&t, "[1 Chat]");
    type(&t, "Q");
    int status = finish(&t);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void test_pty__a_paste_is_text(void **state)
{
    (void)state;
    terminal t;
    NEED_TERMINALS();
    start(&t, 80, 24);
    wait_for(&t, "Write a message");
    type(&t, "\033[200~Quit? Q\rno\033[201~");
    wait_for(&t, "Quit? Q");
    wait_for(&t, "INSERT");
    assert_true(t.is_alternate);
    type(&t, "\003\003\003");
    finish(&t);
}

static void test_pty__signals_give_the_terminal_back(void **state)
{
    (void)state;
    static const int signals[] = {SIGTERM, SIGHUP, SIGQUIT, SIGSEGV};
    NEED_TERMINALS();
    for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++) {
        terminal t;
        start(&t, 80, 24);
        wait_for(&t, "Write a message");
        assert_true(t.is_alternate);
        assert_int_equal(kill(t.pid, signals[i]), 0);
        finish(&t);
    }
}

/* The guide is there once; the next start is an empty workbench. */
static void test_pty__first_start(void **state)
{
    (void)state;
    terminal t;
    NEED_TERMINALS();
    const char *db = store_dir_file("first.db");
    start_on(&t, 120, 36, db);
    wait_for(&t, "Welcome to confab");
    type(&t, "6");
    wait_for(&t, "A tool round");
    wait_for(&t, "A broken template beside its fix");
    type(&t, "1i"); /* the user's own model gets nothing of the example */
    wait_for(&t, "a new conversation");
    assert_false(shows(&t, "Welcome to confab"));
    type(&t, "\t"); /* leaves the composer */
    quit(&t);
    start_on(&t, 120, 36, db);
    wait_for(&t, "Write a message");
    assert_false(shows(&t, "Welcome to confab"));
    quit(&t);
}

/* The fault is reported at once, and the workbench opens all the same. */
static void test_pty__trouble_at_the_start(void **state)
{
    (void)state;
    terminal t;
    cf_error err;
    NEED_TERMINALS();
    static const char text[] = "this is a text, and no database at all\n";
    const char *db = store_dir_file("text.db");
    T_OK(cf_os_write_file(db, text, sizeof text - 1, 0600, &err), err);
    start_on(&t, 120, 36, db);
    wait_for(&t, "history is off");
    type(&t, "@");
    wait_for(&t, "not a confab database");
    wait_for(&t, "names another file");
    quit(&t);

    start(&t, 50, 10);
    wait_for(&t, "needs 60 x 16 cells");
    wait_for(&t, "this is 50 x 10");
    quit_with(&t, "\x03\x03"); /* a letter does nothing here */
}

/* Killed in the middle of a reply, with no chance to tidy up: the message and
 * what had come are there at the next start. */
static void test_pty__a_killed_reply_is_kept(void **state)
{
    (void)state;
    terminal t;
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
    wait_for(&t, "NORMAL");
    type(&t, "c"); /* a new history begins with examples */
    wait_for(&t, "INSERT");
    type(&t, "Talk to me\r");
    wait_for(&t, "word99"); /* the store writes several times a second */
    assert_int_equal(kill(t.pid, SIGKILL), 0);
    int status = 0;
    assert_int_equal(waitpid(t.pid, &status, 0), t.pid);
    close(t.fd);
    vterm_free(t.vt);
    cf_buf_deinit(&t.out);

    start_with(&t, 120, 36, cf_buf_cstr(&script), db);
    wait_for(&t, "[1 Chat]");
    type(&t, "6");
    wait_for(&t, "Talk to me");
    type(&t, "\r");
    wait_for(&t, "word10 word11");
    wait_for(&t, "interrupted");
    assert_false(shows(&t, "word399"));
    type(&t, "Q");
    finish(&t);
    cf_buf_deinit(&script);
}

static bool wrote(const terminal *t, const char *bytes)
{
    size_t n = strlen(bytes);
    for (size_t i = 0; i + n <= t->out.n; i++) {
        if (memcmp(t->out.p + i, bytes, n) == 0) {
            return true;
        }
    }
    return false;
}

static void wait_for_bytes(terminal *t, const char *bytes)
{
    for (int left = PATIENCE_MS; !wrote(t, bytes); left -= 20) {
        if (left <= 0 || t->is_closed) {
            print_screen(t);
            fail_msg("the bytes '%s' never came", bytes + 1);
        }
        pump(t, 20);
    }
}

/* A terminal that answers as kitty does gets the picture of a message, and is
 * rid of it when the program ends; one that does not gets half blocks. */
static void test_pty__pictures_of_a_terminal_with_graphics(void **state)
{
    (void)state;
    static const char attach[] = ":attach tests/fuzz/corpus/picture/rgb.png\r";
    terminal t;
    NEED_TERMINALS();
    start(&t, 120, 36);
    wait_for(&t, "Write a message");
    wait_for_bytes(&t, "\033_Gi=31,s=1,v=1,a=q");
    type(&t, "\033_Gi=31;OK\033\\");
    type(&t, attach);
    wait_for(&t, "rgb.png");
    type(&t, "iLook\r");
    wait_for(&t, "It rains in Oslo.");
    wait_for_bytes(&t, "\033_Ga=t,f=100,");
    wait_for_bytes(&t, "\033_Ga=p,");
    cf_buf_restart(&t.out);
    type(&t, "\t:set graphics=blocks\r");
    wait_for_bytes(&t, "\033_Ga=d,d=I,");
    wait_for_bytes(&t, "\xE2\x96\x80"); /* upper half block */
    type(&t, ":set graphics=sixel\r");
    wait_for_bytes(&t, "\033P0;1;0q\"1;1;");
    type(&t, ":set graphics=auto\r");
    cf_buf_restart(&t.out);
    wait_for_bytes(&t, "\033_Ga=p,");
    cf_buf_restart(&t.out);
    type(&t, "Q");
    wait_for_bytes(&t, "\033_Ga=d,d=I,");
    assert_int_equal(finish(&t), 0);
}

/* A command of one's own has the terminal, and gives it back. */
static void test_pty__a_command_has_the_terminal(void **state)
{
    (void)state;
    terminal t;
    NEED_TERMINALS();
    start(&t, 80, 24);
    wait_for(&t, "Write a message");
    type(&t, ":");
    wait_for(&t, "<Tab> choose");
    type(&t, "!test -t 0 && test -t 1 && echo on a te''rminal\r");
    wait_for(&t, "on a terminal");
    assert_false(t.is_alternate);
    wait_for(&t, "Enter goes back");
    type(&t, "\r");
    wait_for(&t, "Write a message");
    assert_true(t.is_alternate);
    type(&t, ":");
    wait_for(&t, "<Tab> choose");
    type(&t, "@echo behind the scr''een; exit 4\r");
    wait_for(&t, "behind the screen");
    wait_for(&t, "status 4");
    type(&t, "Q");
    int status = finish(&t);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

/* A command that goes on does not keep the program when the terminal is gone,
 * even where it ignores the signals that say so. */
static void test_pty__a_command_without_its_terminal(void **state)
{
    (void)state;
    terminal t;
    int status;
    NEED_TERMINALS();
    start(&t, 80, 24);
    wait_for(&t, "Write a message");
    type(&t, ":");
    wait_for(&t, "<Tab> choose");
    type(&t, "!trap '' HUP TERM; echo beg''un; exec sleep 60 </dev/null\r");
    wait_for(&t, "begun");
    close(t.fd);
    for (int left = PATIENCE_MS; waitpid(t.pid, &status, WNOHANG) == 0;
         left -= 20) {
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
    static const char *const unknown[] = {"\033[57358;5u", "\033[27;5;9~",
                                          "\033[1;7P",     "\033[99;99Z",
                                          "\033O5x",       "\033[24;8~"};
    terminal t;
    NEED_TERMINALS();
    start(&t, 100, 24);
    wait_for(&t, "Write a message");
    type(&t, "i");
    wait_for(&t, "INSERT");
    type(&t, "one two three");
    type(&t, "\033[1;5D\033[1;3DX"); /* Ctrl-Left, Alt-Left */
    wait_for(&t, "one Xtwo three");
    type(&t, "\033[1;5CY"); /* Ctrl-Right */
    wait_for(&t, "one Xtwo");
    type(&t, "\033[1;5H!\033[1;2FZ"); /* Ctrl-Home, Shift-End */
    wait_for(&t, "!one");
    wait_for(&t, "threeZ");
    for (size_t i = 0; i < sizeof unknown / sizeof unknown[0]; i++) {
        char word[8];
        snprintf(word, sizeof word, "dd%zu", i);
        type(&t, unknown[i]);
        type(&t, word);
        wait_for(&t, word);
        assert_true(shows(&t, "INSERT"));
    }
    type(&t, "\033[13;2unext line\033[13;2~last"); /* Shift-Enter, twice */
    wait_for(&t, "next line");
    wait_for(&t, "INSERT");
    assert_true(shows(&t, "!one"));
    type(&t, "\033"
             "2"); /* Esc and a digit at once */
    wait_for(&t, "[2 Prompt]");
    quit(&t);
}

/* "yy" sends the object to the clipboard (OSC 52) and to the register. */
static void test_pty__yank(void **state)
{
    (void)state;
    terminal t;
    cf_buf file = CF_BUF_INIT;
    cf_error err;
    NEED_TERMINALS();
    start(&t, 80, 24);
    wait_for(&t, "Write a message");
    type(&t, "i");
    wait_for(&t, "INSERT");
    type(&t, "Hello\r");
    wait_for(&t, "turn 2 of 2");
    type(&t, "\tyy");
    wait_for(&t, "copied");
    cf_buf_addc(&t.out, '\0');
    assert_false(t.out.failed);
    /* "It rains in Oslo." */
    assert_non_null(strstr(t.out.p, "\033]52;c;SXQgcmFpbnMgaW4gT3Nsby4="));
    t.out.n--;
    T_OK(cf_os_read_file(&file, store_dir_file("state/confab/register"), 1000,
                         &err),
         err);
    assert_string_equal(cf_buf_cstr(&file), "It rains in Oslo.");
    cf_buf_deinit(&file);
    quit(&t);
}

/* Q while a reply runs asks; the second one leaves, and what came is kept. */
static void test_pty__quit_asks_while_a_reply_runs(void **state)
{
    (void)state;
    terminal t;
    cf_buf script = CF_BUF_INIT;
    const char *db = store_dir_file("asks.db");
    NEED_TERMINALS();
    cf_buf_adds(&script, "{\"replies\":[{\"text\":\"");
    for (int i = 10; i < 900; i++) {
        cf_buf_addf(&script, "word%d ", i);
    }
    cf_buf_adds(&script, "\",\"chunk\":7,\"delay_ms\":20}]}");
    start_with(&t, 120, 36, cf_buf_cstr(&script), db);
    wait_for(&t, "NORMAL");
    type(&t, "c");
    wait_for(&t, "INSERT");
    type(&t, "Talk to me\r");
    wait_for(&t, "word12");
    type(&t, "\tQ");
    wait_for(&t, "still working: Q again");
    wait_for(&t, "word60"); /* it still runs */
    assert_true(t.is_alternate);
    quit(&t);
    cf_buf_deinit(&script);
}

/* On a terminal that the system does not know, the missing entry is named. */
static void test_pty__an_unknown_terminal(void **state)
{
    (void)state;
    terminal t;
    NEED_TERMINALS();
    start_as(&t, 100, 24, "{\"replies\":[]}", NULL, "xterm-nonesuch");
    wait_for(&t, "no terminfo entry for 'xterm-nonesuch'");
    assert_false(t.is_alternate);
    int status = finish(&t);
    assert_true(WIFEXITED(status));
    assert_int_not_equal(WEXITSTATUS(status), 0);
}

/* ---- leaving ------------------------------------------------------------- */

/* Templates that work for as long as their limits let them. */
static const char *const bombs[] = {
    "{% for i in range(100000) %}{% for j in range(100000) %}"
    "{% set x = 'a' * 1000 + 'b' %}{% if x == 'c' %}{% endif %}"
    "{% endfor %}{% endfor %}",
    "{% set ns = namespace(t=(1,)) %}{% for i in range(60) %}"
    "{% set ns.t = (ns.t, ns.t) %}{% endfor %}{% set d = {ns.t: 1} %}",
    "{% set ns = namespace(l=[1]) %}{% for i in range(40) %}"
    "{% set ns.l = [ns.l, ns.l] %}{% endfor %}{{ ns.l | pprint }}",
    "{% for i in range(100000) %}{% set q = ('9' * 4300) | int %}"
    "{% set r = q * q // 7 %}{% endfor %}",
};

/* Ways to leave: keys, each after the program had time to begin, and a signal
 * in the end where there is one. */
static const struct way {
    const char *keys;
    int signal;
} ways[] = {
    {":quit!\r", 0}, {"\003\003\003", 0}, {NULL, SIGTERM}, {NULL, SIGHUP}};

static void pump_for(terminal *t, int ms)
{
    for (int left = ms; left > 0; left -= 20) {
        pump(t, 20);
    }
}

/* Begins work without an end in the view that `keys` opens, and leaves. */
static void leave(const char *bomb, const char *keys, const struct way *way)
{
    terminal t;
    char path[500];
    cf_error err;
    snprintf(path, sizeof path, "%s", store_dir_file("bomb.jinja"));
    T_OK(cf_os_write_file(path, bomb, strlen(bomb), 0600, &err), err);
    const char *const words[] = {"chat", "-m",         "MODEL", "-t",
                                 path,   "--no-store", NULL};
    other_words = words;
    start(&t, 100, 30);
    other_words = NULL;
    wait_for(&t, "Write a message");
    type(&t, keys);
    pump_for(&t, 200);
    /* The first keys may only stop the work, as users see it. */
    for (int i = 0; i < 10 && way->keys != NULL && !t.is_closed; i++) {
        type(&t, way->keys);
        pump_for(&t, 300);
    }
    if (way->signal != 0) {
        kill(t.pid, way->signal);
    }
    /* finish() fails where the program does not end. */
    (void)finish(&t);
}

static void test_pty__can_always_be_left(void **state)
{
    (void)state;
    /* Sending a message, the prompt, lint of the template. */
    static const char *const views[] = {"ihi\r", "2", "7"};
    NEED_TERMINALS();
    size_t n_ways = sizeof ways / sizeof ways[0];
    for (size_t i = 0; i < sizeof bombs / sizeof bombs[0]; i++) {
        for (size_t k = 0; k < sizeof views / sizeof views[0]; k++) {
            size_t w = (i + k) % n_ways;
            /* The composer, to which a failed message returns, would take
             * a command as text. */
            leave(bombs[i], views[k], &ways[k == 0 && w == 0 ? 1 : w]);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pty__from_start_to_end),
        cmocka_unit_test(test_pty__a_paste_is_text),
        cmocka_unit_test(test_pty__first_start),
        cmocka_unit_test(test_pty__can_always_be_left),
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
