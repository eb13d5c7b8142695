/*
 * test_screen_torture.c - `confab chat` and `confab watch` with their n-th
 * allocation failing, for many n: a session that said nothing else than the
 * good one has left the same history behind and shows the same at its end, or
 * its exit status says that something is not saved.  However it was, the
 * history is sound.
 *
 * The commands run in this process with keys from a list in place of a
 * terminal.  The worker's allocations fail like those of the interface; the
 * memory is back before the last screen.
 */
#include "tests/support/t.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/base/os.h"
#include "storage/exchange.h"
#include "storage/store.h"
#include "storage/traffic.h"
#include "tests/support/drive.h"
#include "tests/support/fault.h"
#include "tests/support/slow.h"
#include "tests/support/store_dir.h"
#include "tui/app/workbench.h"
#include "tui/cli/shell/cli.h"
#include "tui/lab/state/lab_task.h"

enum { WORDS_MAX = 12, KEYS_MAX = 12, RUNS_MAX = T_IS_SLOW ? 12 : 60 };

static const char script_text[] =
    "{\"replies\":[{\"text\":\"An answer w\u00f6rth\",\"thinking\":\"hm\"},"
    "{\"text\":\"Another\"}]}";
static const char conversation[] = "{\"messages\":[{\"role\":\"user\",\"content\":\"hello\"},"
                                   "{\"role\":\"assistant\",\"content\":\"w\xC3\xB6rld\"},"
                                   "{\"role\":\"user\",\"content\":\"more\"},"
                                   "{\"role\":\"assistant\",\"content\":\"less\"}]}\n";

typedef struct session {
    const char *name;
    const char *words[WORDS_MAX]; /* "@x": a file of the test */
    const char *keys[KEYS_MAX];   /* each until nothing runs any more */
    const char *end;              /* when the memory is back; may be NULL */
} session;

/* What one run left, in text without figures. */
typedef struct outcome {
    int status;
    cf_buf told; /* the lines that were said, in their order */
    cf_buf screen;
    cf_buf history;
} outcome;

static const session *current;
static outcome *into;
static bool has_fired;
static int real_err = -1, null_fd = -1; /* commands say their errors there */
static char head[CF_UUID_TEXT + 1];

/* ---- one run ------------------------------------------------------------ */

static void note_said(const cf_app *app)
{
    if (app->notice.text[0] != '\0') {
        cf_buf_addf(&into->told, "%s\n", app->notice.text);
    }
}

static void settle(cf_app *app)
{
    cf_error err;
    do {
        cf_lab_settle(app->lab, &err);
        if (err.code != CF_OK) {
            cf_app_error(app, &err);
        }
        cf_app_draw(app);
        while (cf_app_step(app)) {
        }
        note_said(app);
    } while (cf_lab_is_busy(app->lab) || cf_lab_task_name(app->lab) != NULL);
}

static cf_status press_keys(cf_app *app, const cf_start *start, cf_error *err)
{
    (void)start;
    (void)err;
    cf_app_event(app, &(cf_event){.kind = CF_EVENT_RESIZE, .w = 100, .h = 30});
    note_said(app); /* of the start */
    for (size_t i = 0; current->keys[i] != NULL; i++) {
        cf_drive_press(app, current->keys[i]);
        note_said(app);
        settle(app);
    }
    has_fired = cf_fault_disarm();
    if (app->store != NULL) { /* what was lost is tried again */
        cf_ignore(cf_store_flush(app->store, 10000, err));
    }
    if (current->end != NULL) {
        cf_drive_press(app, current->end);
    }
    cf_app_event(app, &(cf_event){.kind = CF_EVENT_RESIZE, .w = 101, .h = 30});
    settle(app);
    cf_grid_dump(&app->grid, &into->screen);
    if (strstr(cf_buf_cstr(&into->screen), "out of memory") != NULL) {
        cf_buf_adds(&into->told, "a pane says so\n");
    }
    return CF_OK;
}

static cf_status run_keys(const cf_start *start, cf_error *err)
{
    return cf_workbench_run_by(start, press_keys, err);
}

static cf_status check_nothing(cf_error *err)
{
    (void)err;
    return CF_OK;
}

static int call(const char *const *words)
{
    static const cf_cli_screen screen = {
        .check = check_nothing, .run = run_keys, .defaults = cf_workbench_defaults};
    char text[WORDS_MAX + 1][300];
    char *argv[WORDS_MAX + 2] = {NULL};
    int argc = 1;
    snprintf(text[0], sizeof text[0], "confab");
    argv[0] = text[0];
    for (; words[argc - 1] != NULL; argc++) {
        const char *word = words[argc - 1], *at = strchr(word, '@');
        snprintf(text[argc], sizeof text[argc], "%.*s%s",
                 at != NULL ? (int)(at - word) : (int)strlen(word), word,
                 at != NULL ? store_dir_file(at + 1) : "");
        argv[argc] = text[argc];
    }
    dup2(null_fd, STDERR_FILENO);
    int status = cf_cli_main(argc, argv, &screen);
    dup2(real_err, STDERR_FILENO);
    return status;
}

/* Ids, hexadecimal numbers and what surrounds them become '#'. */
static void blur(cf_buf *b)
{
    size_t k = 0;
    for (size_t i = 0; i < b->n;) {
        cf_uuid id;
        bool is_id = i + CF_UUID_TEXT <= b->n && cf_uuid_parse(&id, b->p + i, CF_UUID_TEXT);
        bool is_figure = is_id || strchr("0123456789abcdef. -:", b->p[i]) != NULL;
        char c = is_figure ? '#' : b->p[i];
        i += is_id ? CF_UUID_TEXT : 1;
        if (c != '#' || k == 0 || b->p[k - 1] != '#') {
            b->p[k++] = c;
        }
    }
    cf_buf_rewind(b, k);
}

static void copy_file(const char *to, const char *from)
{
    static const char *const ends[] = {"", "-wal", "-shm"};
    cf_buf b = CF_BUF_INIT;
    cf_error err;
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        char name[64];
        snprintf(name, sizeof name, "%s%s", to, ends[i]);
        (void)remove(store_dir_file(name));
    }
    T_OK(cf_os_read_file(&b, store_dir_file(from), 1 << 24, &err), err);
    T_OK(cf_os_write_file(store_dir_file(to), b.p, b.n, 0600, &err), err);
    cf_buf_deinit(&b);
}

/* All conversations, and that the file is sound. */
static void read_history(cf_buf *out)
{
    cf_error err;
    cf_store *s;
    cf_arena arena;
    cf_exporter *ex;
    const cf_store_conv *rows;
    size_t n;
    cf_arena_init(&arena, 0);
    const cf_store_options how = {.flags = CF_STORE_READ_ONLY};
    const cf_store_query all = {.sort = CF_SORT_CREATED};
    const cf_export_options o = {.format = CF_FORMAT_CONFAB};
    T_OK(cf_store_open(&s, store_dir_file("scratch"), &how, &err), err);
    T_OK(cf_store_list(s, &all, &arena, &rows, &n, &err), err);
    T_OK(cf_export_begin(&ex, s, &o, &err), err);
    for (size_t i = 0; i < n; i++) {
        T_OK(cf_export_conv(ex, rows[i].id, out, &err), err);
    }
    cf_export_end(ex);
    cf_arena_deinit(&arena);
    cf_store_close(s);
}

static void run_once(outcome *o, const session *s, size_t nth)
{
    *o = (outcome){.told = CF_BUF_INIT};
    copy_file("scratch", "db");
    current = s;
    into = o;
    has_fired = false;
    if (nth > 0) {
        cf_fault_arm(nth, false);
    }
    o->status = call(s->words);
    has_fired = cf_fault_disarm() || has_fired;
    read_history(&o->history);
    blur(&o->told);
    blur(&o->screen);
    blur(&o->history);
}

static void drop(outcome *o)
{
    cf_buf_deinit(&o->told);
    cf_buf_deinit(&o->screen);
    cf_buf_deinit(&o->history);
}

/* ---- torture ------------------------------------------------------------ */

static bool is_same(const cf_buf *a, const cf_buf *b)
{
    return cf_str_eq(cf_buf_str(a), cf_buf_str(b));
}

static void differ(const session *s, size_t nth, const char *what, const cf_buf *got,
                   const cf_buf *want)
{
    size_t at = 0;
    while (at < got->n && at < want->n && got->p[at] == want->p[at]) {
        at++;
    }
    size_t from = at < 120 ? 0 : at - 120;
    fail_msg("%s, allocation %zu failed, and nothing was said: the %s differs "
             "at %zu:\n%.500s\nwant\n%.500s",
             s->name, nth, what, at, cf_buf_cstr(got) + from, cf_buf_cstr(want) + from);
}

static void check(const session *s, size_t nth, const outcome *o, const outcome *good)
{
    bool is_silent = is_same(&o->told, &good->told);
    if (o->status != good->status && o->status <= CF_EXIT_FINDING) {
        fail_msg("%s, allocation %zu failed: status %d, want %d", s->name, nth, o->status,
                 good->status);
    }
    if (o->status != good->status || !is_silent) {
        return; /* it said so */
    }
    if (!is_same(&o->history, &good->history)) {
        differ(s, nth, "history", &o->history, &good->history);
    }
    if (!is_same(&o->screen, &good->screen)) {
        differ(s, nth, "screen", &o->screen, &good->screen);
    }
}

static void torture(const session *s)
{
    const char *asked = getenv("CONFAB_TORTURE");
    outcome good, o;
    run_once(&o, s, 0); /* what is made once is made now */
    drop(&o);
    size_t before = cf_fault_total();
    run_once(&good, s, 0);
    size_t n = cf_fault_total() - before;
    size_t runs = asked != NULL ? strtoul(asked, NULL, 10) : RUNS_MAX;
    assert_int_equal(good.status, CF_EXIT_OK);
    assert_true(good.screen.n > 0 && good.history.n > 0);
    has_fired = true;
    for (size_t nth = 1; has_fired; nth += n / runs + 1) {
        run_once(&o, s, nth);
        check(s, nth, &o, &good);
        drop(&o);
    }
    drop(&good);
}

static void test_screen_torture__chat(void **state)
{
    (void)state;
    const session sessions[] = {
        {"a new conversation",
         {"chat", "-m", "script:@script", "--no-examples", "--db", "@scratch"},
         {"ihello<Enter>", "<Esc>", "r", "2", "3", "6", "1"},
         NULL},
        {"one that is gone on with",
         {"chat", head, "-m", "script:@script", "--no-examples", "--db", "@scratch"},
         {"ifive<Enter>", "<Esc>", ":title A title<Enter>", ":tag one<Enter>"},
         "gl"},
        {"the library",
         {"chat", "-m", "script:@script", "--no-examples", "--db", "@scratch"},
         {"gl", "<Enter>", "4", "5", "7", "gl"},
         NULL},
    };
    for (size_t i = 0; i < sizeof sessions / sizeof sessions[0]; i++) {
        torture(&sessions[i]);
    }
}

static void test_screen_torture__watch(void **state)
{
    (void)state;
    static const session watch = {
        "watch", {"watch", "--db", "@scratch"}, {"j", "<Enter>", "gx", "k"}, NULL};
    torture(&watch);
}

/* ---- the files ---------------------------------------------------------- */

static void write_traffic(cf_store *s)
{
    cf_error err;
    for (int i = 0; i < 3; i++) {
        cf_exchange e = cf_exchange_none();
        e.id = cf_uuid_new();
        e.started_ms = 1767323045000 + i;
        e.total_us = 5;
        e.status = 200;
        e.method = cf_str_from("POST");
        e.path = cf_str_from("/v1/chat/completions");
        e.client = e.model = cf_str_from("m\xC3\xB6");
        e.api = cf_str_from("openai-chat");
        e.findings = cf_str_from("[{\"kind\":\"cut\",\"text\":\"it was cut\"}]");
        e.request = e.response = cf_str_from("{}");
        T_OK(cf_store_put_exchange(s, &e, NULL, NULL, 0, &err), err);
    }
}

static void write_history(void)
{
    cf_error err;
    cf_store *s;
    cf_arena arena;
    cf_import_report report;
    const cf_store_conv *rows;
    size_t n;
    const cf_import_options o = {.format = CF_FORMAT_OPENAI, .name = "c"};
    const cf_store_options how = {.flags = CF_STORE_CREATE};
    T_OK(cf_store_open(&s, store_dir_file("db"), &how, &err), err);
    T_OK(cf_import_bytes(s, conversation, sizeof conversation - 1, &o, &report, &err), err);
    write_traffic(s);
    T_OK(cf_store_flush(s, 10000, &err), err);
    cf_arena_init(&arena, 0);
    T_OK(cf_store_list(s, &(cf_store_query){.limit = 1}, &arena, &rows, &n, &err), err);
    assert_int_equal(n, 1);
    cf_uuid_format(head, rows[0].id);
    cf_arena_deinit(&arena);
    cf_store_close(s);
}

static int set_up(void **state)
{
    cf_error err;
    if (store_dir_make(state) != 0 ||
        cf_os_write_file(store_dir_file("script"), script_text, sizeof script_text - 1, 0600,
                         &err) != CF_OK) {
        return -1;
    }
    setenv("CONFAB_NOW", "2026-01-02T03:04:05Z", 1);
    setenv("CONFAB_SEED_IDS", "7", 1);
    setenv("HOME", store_dir_file("home"), 1);
    write_history();
    real_err = dup(STDERR_FILENO);
    null_fd = open("/dev/null", O_WRONLY);
    return real_err >= 0 && null_fd >= 0 ? 0 : -1;
}

static int tear_down(void **state)
{
    close(real_err);
    close(null_fd);
    return store_dir_remove(state);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_screen_torture__chat),
        cmocka_unit_test(test_screen_torture__watch),
    };
    cf_fault_install();
    cmocka_set_test_filter(argc > 1 ? argv[1] : NULL);
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
