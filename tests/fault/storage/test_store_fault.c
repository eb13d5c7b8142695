/*
 * test_store_fault.c - memory, disk, locks and sudden ends.
 *
 * After every fault the file is sound and holds all that was acknowledged.
 */
#include <signal.h>
#include <sqlite3.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/os.h"
#include "storage/exchange.h"
#include "tests/support/fault.h"
#include "tests/support/fault_vfs.h"
#include "tests/support/rand.h"
#include "tests/support/slow.h"
#include "tests/support/store_dir.h"
#include "tests/support/t.h"

static const cf_uuid nil;

static void print_finding(void *ud, const char *line)
{
    (void)ud;
    printf("finding: %s\n", line);
}

static cf_status open_flags(cf_store **s, const char *path, uint32_t flags, cf_error *err)
{
    cf_store_options opts = {.flags = CF_STORE_CREATE | flags, .patience_ms = 1000, .busy_ms = 50};
    return cf_store_open(s, path, &opts, err);
}

static cf_store *open_at(const char *path)
{
    cf_store *s;
    cf_error err;
    T_OK(open_flags(&s, path, 0, &err), err);
    return s;
}

static void check_sound(cf_store *s)
{
    size_t n;
    cf_error err;
    T_OK(cf_store_check(s, print_finding, NULL, &n, &err), err);
    assert_int_equal(n, 0);
}

static void remove_db(const char *path)
{
    static const char *const ends[] = {"", "-wal", "-shm", "-journal"};
    char name[600];
    for (size_t i = 0; i < 4; i++) {
        snprintf(name, sizeof name, "%s%s", path, ends[i]);
        (void)unlink(name);
    }
}

/* A new, empty database as a copy: making one needs many syncs. */
static void fresh_db(const char *path)
{
    static cf_buf bytes;
    cf_error err;
    if (bytes.n == 0) {
        const char *first = store_dir_file("first.db");
        cf_store_close(open_at(first));
        T_OK(cf_os_read_file(&bytes, first, SIZE_MAX, &err), err);
    }
    remove_db(path);
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes.p, 1, bytes.n, f), bytes.n);
    assert_int_equal(fclose(f), 0);
}

/* ---- a session ---------------------------------------------------------- */

/* The writes of a scenario, and which were acknowledged. */
typedef struct session {
    const char *path;
    cf_uuid conv, a, b, c;
    bool has_conv, has_a, has_b, has_c, has_title;
    int n_pieces;    /* of c that were taken: a refused one is not recorded */
    cf_status worst; /* the last status that was no success */
    cf_error why;
} session;

static bool took(session *x, cf_status st, const cf_error *err)
{
    if (st != CF_OK) {
        x->worst = st;
        x->why = *err;
    }
    return st == CF_OK;
}

static cf_store_turn say(const session *x, cf_uuid id, cf_uuid parent, const char *json)
{
    return (cf_store_turn){.id = id,
                           .conversation = x->conv,
                           .parent = parent,
                           .message = cf_str_from(json),
                           .status = CF_TURN_OK};
}

static void stream(session *x, cf_store *s)
{
    cf_error err;
    cf_stream *st = NULL;
    cf_store_run run = cf_store_run_none();
    run.options = cf_str_from("{\"top_k\":1}");
    cf_store_turn t = say(x, x->c, x->a, "{\"role\":\"assistant\",\"content\":\"\"}");
    t.run = &run;
    cf_status begun = cf_store_begin(s, &t, &st, &err);
    if (begun != CF_OK && begun != CF_EBUSY) {
        took(x, begun, &err);
        return;
    }
    took(x, begun, &err);
    cf_token id = 5;
    cf_stream_piece p = {.raw = {"abc", 3}, .ids = &id, .n_ids = 1};
    x->n_pieces += took(x, cf_stream_append(st, &p, &err), &err);
    took(x, cf_store_flush(s, 200, &err), &err);
    x->n_pieces += took(x, cf_stream_append(st, &p, &err), &err);
    cf_stream_end end = {.status = CF_TURN_OK};
    x->has_c = took(x, cf_store_finish(st, &end, &err), &err);
}

static void use(session *x, cf_store *s)
{
    cf_error err;
    cf_store_conv conv = {.id = x->conv, .title = {"first", 5}};
    x->has_conv = took(x, cf_store_put_conv(s, &conv, NULL, &err), &err);
    cf_store_turn t = say(x, x->a, nil, "{\"role\":\"user\",\"content\":\"\xE6\x97\xA5 hi\"}");
    x->has_a = took(x, cf_store_put_turn(s, &t, NULL, &err), &err);
    t = say(x, x->b, x->a,
            "{\"role\":\"assistant\",\"content\":[{\"type\":\"text\",\"text\":"
            "\"yes\"}],\"x\":1}");
    x->has_b = took(x, cf_store_put_turn(s, &t, NULL, &err), &err);
    stream(x, s);
    x->has_title = took(x, cf_store_set_title(s, x->conv, cf_str_from("second"), &err), &err);
    cf_arena a;
    cf_arena_init(&a, 0);
    const cf_store_conv *rows;
    size_t n;
    cf_store_query q = {.limit = 10};
    took(x, cf_store_list(s, &q, &a, &rows, &n, &err), &err);
    cf_store_hits hits;
    q.text = cf_str_from("hi");
    took(x, cf_store_search(s, &q, &a, &hits, &err), &err);
    cf_exporter *ex = NULL;
    cf_buf out = CF_BUF_INIT;
    cf_export_options opts = {.format = CF_FORMAT_CONFAB};
    if (took(x, cf_export_begin(&ex, s, &opts, &err), &err)) {
        took(x, cf_export_conv(ex, x->conv, &out, &err), &err);
    }
    cf_export_end(ex);
    cf_buf_deinit(&out);
    cf_arena_deinit(&a);
}

static session new_session(const char *path)
{
    return (session){.path = path,
                     .conv = cf_uuid_new(),
                     .a = cf_uuid_new(),
                     .b = cf_uuid_new(),
                     .c = cf_uuid_new()};
}

static void check_turn(cf_store *s, cf_uuid id, bool must_be_there, const char *text)
{
    cf_arena a;
    cf_error err;
    cf_store_turn t;
    cf_arena_init(&a, 0);
    cf_status st = cf_store_get_turn(s, id, &a, &t, &err);
    if (must_be_there || st == CF_OK) {
        T_OK(st, err);
        assert_non_null(strstr(t.message.p, text));
    } else {
        T_FAILS(st, CF_ENOTFOUND);
    }
    cf_arena_deinit(&a);
}

/* A reply whose end was not acknowledged is absent, or has a beginning of its
 * pieces. */
static void check_beginning(cf_store *s, cf_uuid id)
{
    static const char *const beginnings[] = {"\"content\":\"\"", "\"content\":\"abc\"",
                                             "\"content\":\"abcabc\""};
    cf_arena a;
    cf_error err;
    cf_store_turn t;
    cf_arena_init(&a, 0);
    cf_status st = cf_store_get_turn(s, id, &a, &t, &err);
    bool is_one = st == CF_ENOTFOUND;
    for (size_t i = 0; st == CF_OK && i < 3; i++) {
        is_one = is_one || strstr(t.message.p, beginnings[i]) != NULL;
    }
    assert_true(is_one);
    cf_arena_deinit(&a);
}

static void check_kept(const session *x, cf_store *s, bool all)
{
    check_sound(s);
    check_turn(s, x->a, x->has_a || all, "hi");
    check_turn(s, x->b, x->has_b || all, "yes");
    if (x->has_c || all) {
        static const char *const texts[] = {"\"\"", "\"abc\"", "\"abcabc\""};
        check_turn(s, x->c, true, texts[all ? 2 : x->n_pieces]);
    } else {
        check_beginning(s, x->c);
    }
    if (x->has_title) {
        cf_arena a;
        cf_error err;
        cf_store_tree tree;
        cf_arena_init(&a, 0);
        T_OK(cf_store_get_tree(s, x->conv, 0, &a, &tree, &err), err);
        assert_string_equal(tree.conv.title.p, "second");
        cf_arena_deinit(&a);
    }
}

/* ---- memory ------------------------------------------------------------- */

static void each_allocation(bool is_new, size_t stride)
{
    const char *path = store_dir_file("alloc.db");
    fresh_db(path);
    cf_store_close(open_at(path)); /* what SQLite keeps for the process */
    size_t before = cf_fault_live();
    stride = T_IS_SLOW ? stride / 3 : stride;
    /* All of the first ones, then fewer: the later ones repeat. */
    for (size_t nth = 1;; nth += 1 + nth / stride) {
        if (is_new) {
            remove_db(path);
        } else {
            fresh_db(path);
        }
        session x = new_session(path);
        cf_error err;
        cf_store *s = NULL;
        cf_fault_arm(nth, false);
        cf_status st = open_flags(&s, path, 0, &err);
        if (st == CF_OK && !is_new) {
            use(&x, s);
        } else if (st != CF_ENOMEM && st != CF_OK) {
            cf_fault_disarm();
            fail_msg("allocation %d: %s", (int)nth, err.text);
        }
        bool fired = cf_fault_disarm();
        cf_store_close(s);
        if (cf_fault_live() != before) {
            fail_msg("allocation %d: %d blocks left", (int)nth, (int)(cf_fault_live() - before));
        }
        /* jansson calls it bad syntax when memory runs out in a string. */
        bool is_jansson = x.worst == CF_EFORMAT && strstr(x.why.text, "not valid JSON") != NULL;
        if (x.worst != CF_OK && x.worst != CF_ENOMEM && x.worst != CF_EBUSY &&
            x.worst != CF_ENOTFOUND && !is_jansson) {
            fail_msg("allocation %d: %s: %s", (int)nth, cf_status_name(x.worst), x.why.text);
        }
        s = open_at(path);
        if (is_new) {
            check_sound(s);
        } else {
            check_kept(&x, s, !fired);
        }
        cf_store_close(s);
        if (!fired) {
            return;
        }
    }
}

static void test_memory__every_allocation(void **state)
{
    (void)state;
    each_allocation(false, 100);
}

/* The end of a reply, whose message is made of what was streamed. */
static void test_memory__end_of_a_reply(void **state)
{
    (void)state;
    const char *path = store_dir_file("alloc.db");
    fresh_db(path);
    cf_store *s = open_at(path);
    cf_error err;
    session x = new_session(path);
    use(&x, s);
    bool fired = true;
    for (size_t nth = 1; fired; nth++) {
        cf_stream *st;
        const cf_token id = 5;
        const cf_stream_piece p = {.raw = {"abc", 3}, .ids = &id, .n_ids = 1};
        const cf_stream_end end = {.status = CF_TURN_OK};
        cf_store_turn t = say(&x, cf_uuid_new(), x.a, "{\"role\":\"assistant\",\"content\":\"\"}");
        T_OK(cf_store_begin(s, &t, &st, &err), err);
        T_OK(cf_stream_append(st, &p, &err), err);
        T_OK(cf_store_flush(s, 5000, &err), err);
        cf_fault_arm(nth, false);
        cf_status ended = cf_store_finish(st, &end, &err);
        fired = cf_fault_disarm();
        cf_status kept = cf_store_flush(s, 5000, NULL); /* tries again what is not written */
        assert_true(kept == CF_OK || kept == CF_EBUSY);
        if (ended != CF_OK && ended != CF_ENOMEM && ended != CF_EBUSY) {
            fail_msg("allocation %zu: %s", nth, err.text);
        }
    }
    cf_store_close(s);
    check_sound(s = open_at(path));
    cf_store_close(s);
}

static void test_memory__creation(void **state)
{
    (void)state;
    each_allocation(true, 10);
}

/* ---- disk --------------------------------------------------------------- */

static void each_call_fails(unsigned kind, int code)
{
    const char *path = store_dir_file("disk.db");
    for (size_t nth = 1;; nth += 1 + nth / 60) {
        fresh_db(path);
        session x = new_session(path);
        cf_error err;
        cf_store *s;
        T_OK(open_flags(&s, path, 0, &err), err);
        fault_vfs_arm(kind, nth, false, code);
        use(&x, s);
        bool fired = fault_vfs_disarm();
        T_OK(cf_store_flush(s, 5000, &err), err);
        check_kept(&x, s, true); /* it was kept and is written now */
        cf_store_close(s);
        s = open_at(path);
        check_kept(&x, s, true);
        cf_store_close(s);
        if (!fired) {
            return;
        }
    }
}

static void test_disk__every_write(void **state)
{
    (void)state;
    each_call_fails(FAULT_WRITE, SQLITE_IOERR_WRITE);
    each_call_fails(FAULT_WRITE, SQLITE_FULL);
}

static void test_disk__every_sync(void **state)
{
    (void)state;
    each_call_fails(FAULT_SYNC, SQLITE_IOERR_FSYNC);
}

/* Creation is where a file is neither here nor there. */
static void test_disk__creation(void **state)
{
    (void)state;
    const char *path = store_dir_file("create.db");
    for (size_t nth = 1;; nth += 1 + nth / 10) {
        remove_db(path);
        cf_store *s = NULL;
        cf_error err;
        fault_vfs_arm(FAULT_WRITE | FAULT_SYNC, nth, false, SQLITE_IOERR_WRITE);
        cf_status st = open_flags(&s, path, 0, &err);
        bool fired = fault_vfs_disarm();
        cf_store_close(s);
        if (st != CF_OK) {
            assert_int_equal(st, CF_EIO);
        }
        s = open_at(path);
        check_sound(s);
        cf_store_close(s);
        if (!fired) {
            return;
        }
    }
}

static void test_disk__full_for_a_while(void **state)
{
    (void)state;
    const char *path = store_dir_file("full.db");
    cf_error err;
    cf_store *s = open_at(path);
    session x = new_session(path);
    fault_vfs_arm(FAULT_WRITE, 1, true, SQLITE_FULL);
    use(&x, s);
    assert_int_equal(x.has_a + x.has_b + x.has_c + x.has_title, 0);
    cf_store_state state_now;
    cf_store_get_state(s, &state_now);
    assert_true(state_now.is_failing);
    assert_true(state_now.n_waiting >= 4);
    assert_string_equal(state_now.why.text, "the disk is full");
    T_FAILS(cf_store_flush(s, 50, &err), CF_EBUSY);
    fault_vfs_disarm();
    T_OK(cf_store_flush(s, 5000, &err), err);
    check_kept(&x, s, true);
    cf_store_get_state(s, &state_now);
    assert_false(state_now.is_failing);
    assert_int_equal(state_now.n_waiting + state_now.n_lost, 0);
    cf_store_close(s);
}

/* A write that was lost is not forgotten when the next one succeeds. */
static void test_store__lost_is_not_forgotten(void **state)
{
    (void)state;
    const char *path = store_dir_file("lost.db");
    cf_error err, why;
    cf_store_state now;
    cf_store *s = open_at(path);
    cf_fail(&why, CF_ENOMEM, "out of memory for the reply");
    cf_store_note_lost(s, &why);
    session x = new_session(path);
    use(&x, s);
    T_OK(cf_store_flush(s, 5000, &err), err);
    cf_store_get_state(s, &now);
    assert_int_equal(now.n_lost, 1);
    assert_false(now.is_failing);
    assert_string_equal(now.lost_why.text, why.text);
    cf_store_close(s);
}

static void test_disk__file_cannot_be_opened(void **state)
{
    (void)state;
    const char *path = store_dir_file("cantopen.db");
    cf_error err;
    cf_store *s;
    fault_vfs_arm(FAULT_OPEN, 1, true, SQLITE_CANTOPEN);
    T_FAILS(open_flags(&s, path, 0, &err), CF_EIO);
    T_OK(open_flags(&s, path, CF_STORE_KEEP_GOING, &err), err);
    session x = new_session(path);
    use(&x, s);
    assert_false(x.has_a);
    fault_vfs_disarm();
    T_OK(cf_store_flush(s, 5000, &err), err);
    check_kept(&x, s, true);
    cf_store_close(s);
}

/* ---- locks -------------------------------------------------------------- */

static void test_lock__held_by_another(void **state)
{
    (void)state;
    const char *path = store_dir_file("locked.db");
    cf_error err;
    cf_store *s = open_at(path);
    sqlite3 *other;
    assert_int_equal(sqlite3_open(path, &other), SQLITE_OK);
    assert_int_equal(sqlite3_exec(other, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
    session x = new_session(path);
    use(&x, s);
    assert_int_equal(x.has_conv + x.has_a + x.has_b + x.has_c, 0);
    assert_int_equal(cf_store_set_title(s, x.conv, cf_str_from("no"), &err), CF_EBUSY);
    cf_arena a;
    cf_arena_init(&a, 0);
    const cf_store_conv *rows;
    size_t n;
    cf_store_query q = {.limit = 10};
    T_OK(cf_store_list(s, &q, &a, &rows, &n, &err), err); /* readers go on */
    cf_arena_deinit(&a);
    assert_int_equal(sqlite3_exec(other, "ROLLBACK", NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(other);
    T_OK(cf_store_flush(s, 5000, &err), err);
    check_kept(&x, s, true);
    cf_store_close(s);
}

/* ---- processes ---------------------------------------------------------- */

/* Streams numbers, telling through the pipe how far it is on disk. */
static void child_streams(const char *path, cf_uuid conv, cf_uuid turn, uint64_t seed, int to)
{
    cf_rand r = {seed};
    cf_store *s;
    cf_error err;
    cf_stream *st;
    session x = {.conv = conv, .c = turn};
    cf_store_turn t = say(&x, turn, nil, "{\"role\":\"assistant\",\"content\":\"\"}");
    if (open_flags(&s, path, 0, &err) != CF_OK || cf_store_begin(s, &t, &st, &err) != CF_OK) {
        _exit(1);
    }
    for (uint32_t n = 0;; n++) {
        char text[16];
        snprintf(text, sizeof text, "%u ", n);
        cf_token id = (cf_token)n;
        cf_stream_piece p = {.raw = cf_str_from(text), .ids = &id, .n_ids = 1};
        if (cf_stream_append(st, &p, &err) != CF_OK) {
            _exit(2);
        }
        if (cf_rand_below(&r, 10) == 0) {
            uint32_t done = n + 1;
            if (cf_store_flush(s, 5000, &err) != CF_OK ||
                write(to, &done, sizeof done) != sizeof done) {
                _exit(3);
            }
        }
    }
}

static void expected(cf_buf *b, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        cf_buf_addf(b, "%u ", i);
    }
}

/* The last number that came through the pipe. */
static uint32_t last_told(int from)
{
    uint32_t told = 0, v;
    while (read(from, &v, sizeof v) == sizeof v) {
        told = v;
    }
    return told;
}

static void check_interrupted(const char *path, cf_uuid turn, uint32_t told)
{
    cf_store *s = open_at(path);
    cf_arena a;
    cf_error err;
    cf_store_turn t;
    cf_arena_init(&a, 0);
    cf_status st = cf_store_get_turn(s, turn, &a, &t, &err);
    if (st == CF_ENOTFOUND) {
        assert_int_equal(told, 0); /* killed before it began */
    } else {
        T_OK(st, err);
        assert_int_equal(t.status, CF_TURN_INTERRUPTED);
        assert_true(t.run->n_reply_ids >= told);
        assert_int_equal(t.run->n_chunks, t.run->n_reply_ids);
        cf_buf want = CF_BUF_INIT;
        expected(&want, (uint32_t)t.run->n_reply_ids);
        T_TEXT(t.run->raw.p, t.run->raw.n, cf_buf_cstr(&want));
        cf_buf_deinit(&want);
    }
    cf_arena_deinit(&a);
    cf_store_close(s);
}

static void test_kill__at_any_moment(void **state)
{
    (void)state;
    const char *path = store_dir_file("kill.db");
    cf_store *s = open_at(path);
    cf_error err;
    cf_uuid conv;
    cf_store_conv c = {.title = {"kill", 4}};
    T_OK(cf_store_put_conv(s, &c, &conv, &err), err);
    cf_store_close(s);
    cf_rand r = {42};
    for (int i = 0; i < 200; i++) {
        int pipe_fd[2];
        cf_uuid turn = cf_uuid_new();
        assert_int_equal(pipe(pipe_fd), 0);
        fflush(stdout);
        pid_t pid = fork();
        if (pid == 0) {
            close(pipe_fd[0]);
            child_streams(path, conv, turn, (uint64_t)i, pipe_fd[1]);
        }
        close(pipe_fd[1]);
        usleep((unsigned)cf_rand_below(&r, 12000));
        kill(pid, SIGKILL);
        int status;
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFSIGNALED(status));
        uint32_t told = last_told(pipe_fd[0]);
        close(pipe_fd[0]);
        check_interrupted(path, turn, told);
    }
    s = open_at(path);
    check_sound(s);
    cf_store_close(s);
}

static void test_live__another_process_streams_on(void **state)
{
    (void)state;
    const char *path = store_dir_file("live.db");
    cf_store *s = open_at(path);
    cf_error err;
    cf_uuid conv, turn = cf_uuid_new();
    cf_store_conv c = {.title = {"live", 4}};
    T_OK(cf_store_put_conv(s, &c, &conv, &err), err);
    cf_store_close(s);
    int pipe_fd[2];
    assert_int_equal(pipe(pipe_fd), 0);
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        close(pipe_fd[0]);
        child_streams(path, conv, turn, 7, pipe_fd[1]);
    }
    close(pipe_fd[1]);
    uint32_t v;
    assert_int_equal(read(pipe_fd[0], &v, sizeof v), sizeof v);
    cf_arena a;
    cf_store_turn t;
    size_t before = cf_fault_live();
    cf_arena_init(&a, 0);
    s = open_at(path);
    T_OK(cf_store_get_turn(s, turn, &a, &t, &err), err);
    assert_int_equal(t.status, CF_TURN_STREAMING);
    assert_true(t.run->n_reply_ids >= v);
    cf_store_close(s);
    cf_arena_deinit(&a);
    assert_int_equal(cf_fault_live(), before);
    kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    v = last_told(pipe_fd[0]);
    close(pipe_fd[0]);
    check_interrupted(path, turn, v);
}

static void child_writes(const char *path, cf_uuid conv, cf_uuid turn, int n)
{
    cf_store *s;
    cf_error err;
    cf_store_options opts = {.flags = CF_STORE_CREATE};
    if (cf_store_open(&s, path, &opts, &err) != CF_OK) {
        _exit(1);
    }
    cf_store_conv c = {.id = conv};
    if (cf_store_put_conv(s, &c, NULL, &err) != CF_OK) {
        _exit(2);
    }
    session x = {.conv = conv};
    for (int i = 0; i < n; i++) {
        turn.b[15] = (uint8_t)i;
        cf_store_turn t = say(&x, turn, nil, "{\"role\":\"user\",\"content\":\"both\"}");
        if (cf_store_put_turn(s, &t, NULL, &err) != CF_OK) {
            _exit(3);
        }
    }
    cf_store_close(s);
    _exit(0);
}

static void test_two_processes__write_at_once(void **state)
{
    (void)state;
    const char *path = store_dir_file("two.db");
    enum { N = 60 };
    cf_uuid conv[2], turn[2];
    pid_t pid[2];
    fflush(stdout);
    for (int i = 0; i < 2; i++) {
        conv[i] = cf_uuid_new();
        turn[i] = cf_uuid_new();
        pid[i] = fork();
        if (pid[i] == 0) {
            child_writes(path, conv[i], turn[i], N);
        }
    }
    for (int i = 0; i < 2; i++) {
        int status;
        assert_int_equal(waitpid(pid[i], &status, 0), pid[i]);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 0);
    }
    cf_store *s = open_at(path);
    for (int i = 0; i < 2; i++) {
        for (int k = 0; k < N; k++) {
            turn[i].b[15] = (uint8_t)k;
            check_turn(s, turn[i], true, "both");
        }
    }
    check_sound(s);
    cf_store_close(s);
}

int main(int argc, char **argv)
{
    if (argc > 1) {
        cmocka_set_test_filter(argv[1]);
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kill__at_any_moment),
        cmocka_unit_test(test_live__another_process_streams_on),
        cmocka_unit_test(test_two_processes__write_at_once),
        cmocka_unit_test(test_lock__held_by_another),
        cmocka_unit_test(test_disk__full_for_a_while),
        cmocka_unit_test(test_store__lost_is_not_forgotten),
        cmocka_unit_test(test_disk__file_cannot_be_opened),
        cmocka_unit_test(test_disk__creation),
        cmocka_unit_test(test_disk__every_write),
        cmocka_unit_test(test_disk__every_sync),
        cmocka_unit_test(test_memory__creation),
        cmocka_unit_test(test_memory__end_of_a_reply),
        cmocka_unit_test(test_memory__every_allocation),
    };
    cf_fault_install();
    /* The store gives SQLite its allocator before anything else uses it. */
    cf_store *s;
    cf_error err;
    if (cf_store_open(&s, "/nonexistent/x.db", NULL, &err) == CF_OK) {
        return 1;
    }
    fault_vfs_install();
    return cmocka_run_group_tests(tests, store_dir_make, store_dir_remove);
}
