/*
 * test_torn_writes.c - the power fails before every write, truncation and sync
 * of a session (while the database is made, before every third), and the disk
 * tears, reorders and loses what was not synced.
 *
 * What docs/store.md promises: the file is sound; turns are there in the order
 * in which they were written, without a hole; a failing program loses nothing
 * that was acknowledged, a power failure nothing that was acknowledged before
 * the last checkpoint.
 */
#include <dirent.h>
#include <unistd.h>

#include "tests/support/crash_vfs.h"
#include "tests/support/slow.h"
#include "tests/support/store_dir.h"
#include "tests/support/t.h"

#include "storage/db/store_int.h"
#include "storage/store.h"

enum { TURNS = 6, STEP = T_IS_SLOW ? 9 : 1 };

static const cf_uuid nil;

/* What was acknowledged. */
typedef struct said {
    size_t n;      /* turns */
    size_t n_sure; /* of them before the database was closed well */
    size_t n_made; /* writes, truncations and syncs that made the empty database */
} said;

static cf_store *open_at(const char *path)
{
    cf_store *s = NULL;
    cf_error err;
    const cf_store_options o = {.flags = CF_STORE_CREATE, .patience_ms = 2000, .busy_ms = 1};
    return cf_store_open(&s, path, &o, &err) == CF_OK ? s : NULL;
}

static cf_uuid number(uint8_t kind, size_t i)
{
    cf_uuid id = {{0}};
    id.b[0] = kind;
    id.b[15] = (uint8_t)(i + 1);
    return id;
}

/* Half of the turns, each the child of the one before. */
static bool put_turns(cf_store *s, size_t from, size_t to, said *x)
{
    static char text[3000];
    cf_error err;
    memset(text, 'x', sizeof text - 1);
    for (size_t i = from; i < to; i++) {
        char json[3200];
        snprintf(json, sizeof json, "{\"role\":\"user\",\"content\":\"%zu %s\"}", i, text);
        const cf_store_turn t = {.id = number(2, i),
                                 .conversation = number(1, 0),
                                 .parent = i > 0 ? number(2, i - 1) : nil,
                                 .message = cf_str_from(json),
                                 .status = CF_TURN_OK};
        if (cf_store_put_turn(s, &t, NULL, &err) != CF_OK) {
            return false;
        }
        x->n = i + 1;
    }
    return true;
}

/* Two openings of the database; stops at the first failure, and when the power
 * is cut, before call `cut` (0: never). */
static void session(const char *path, size_t cut, said *x)
{
    cf_error err;
    *x = (said){0};
    cf_store *s = open_at(path);
    const cf_store_conv conv = {.id = number(1, 0), .title = {"torn", 4}};
    if (s == NULL) {
        return;
    }
    x->n_made = crash_vfs_count();
    bool goes_on =
        cf_store_put_conv(s, &conv, NULL, &err) == CF_OK && put_turns(s, 0, TURNS / 2, x);
    cf_store_close(s);
    if (!goes_on || (cut != 0 && crash_vfs_count() >= cut)) {
        return;
    }
    x->n_sure = x->n; /* the last to close has copied the log and synced */
    s = open_at(path);
    if (s == NULL) {
        return;
    }
    (void)put_turns(s, TURNS / 2, TURNS, x);
    cf_store_close(s);
}

static void print_finding(void *ud, const char *line)
{
    print_message("%s: %s\n", (const char *)ud, line);
}

/* The turns in the database: the first n, or the test fails. */
static size_t count_turns(cf_store *s)
{
    cf_error err;
    cf_arena arena;
    cf_store_tree tree = {0};
    cf_arena_init(&arena, 0);
    cf_status st = cf_store_get_tree(s, number(1, 0), 0, &arena, &tree, &err);
    size_t n = st == CF_OK ? tree.n : 0;
    for (size_t i = 0; i < n; i++) {
        const cf_uuid want = number(2, i);
        assert_memory_equal(tree.turns[i].id.b, want.b, sizeof want.b);
    }
    cf_arena_deinit(&arena);
    return n;
}

/* The database, and what was made beside it. */
static void remove_db(const char *path)
{
    char *slash = strrchr(path, '/'), name[700];
    const size_t n = (size_t)(slash - path);
    snprintf(name, sizeof name, "%.*s", (int)n, path);
    DIR *d = opendir(name);
    assert_non_null(d);
    for (struct dirent *e; (e = readdir(d)) != NULL;) {
        if (strncmp(e->d_name, slash + 1, strlen(slash + 1)) == 0) {
            snprintf(name, sizeof name, "%.*s/%s", (int)n, path, e->d_name);
            (void)unlink(name);
        }
    }
    closedir(d);
}

/* Whether it is the first time that this was left, and that so much was promised. */
static bool is_new(uint64_t left, size_t n_least)
{
    static uint64_t seen[1 << 12];
    static size_t n_seen;
    left += n_least;
    for (size_t i = 0; i < n_seen; i++) {
        if (seen[i] == left) {
            return false;
        }
    }
    assert_true(n_seen < sizeof seen / sizeof seen[0]);
    seen[n_seen++] = left;
    return true;
}

/* Opens what is left: it is sound and holds at least `n_least` turns. */
static void check_left(const char *path, size_t cut, const char *what, size_t n_least)
{
    cf_error err;
    size_t n_found = 0;
    crash_vfs_begin(0);
    cf_store *s = open_at(path);
    if (s == NULL) {
        fail_msg("cut before %zu, %s: the database does not open", cut, what);
    }
    cf_store_state state;
    cf_store_get_state(s, &state);
    if (state.is_read_only) {
        fail_msg("cut before %zu, %s: %s", cut, what, state.why.text);
    }
    char label[64];
    snprintf(label, sizeof label, "cut before %zu, %s", cut, what);
    T_OK(cf_store_check(s, print_finding, label, &n_found, &err), err);
    assert_int_equal(n_found, 0);
    size_t n = count_turns(s);
    if (n < n_least) {
        fail_msg("%s: %zu turns, %zu were promised", label, n, n_least);
    }
    /* It can be written to again. */
    const cf_store_conv conv = {.id = number(3, 0), .title = {"new", 3}};
    T_OK(cf_store_put_conv(s, &conv, NULL, &err), err);
    cf_store_close(s);
}

/* One session, and every image of what it may have left. */
static void cut_before(size_t cut, cf_rand *r)
{
    static const struct {
        crash_loss loss;
        const char *name;
    } losses[] = {{CRASH_PROCESS, "the program died"},
                  {CRASH_NOTHING, "nothing was kept"},
                  {CRASH_ANY, "anything was kept"}};
    enum { N = sizeof losses / sizeof losses[0] };
    char path[512], left[N][512];
    uint64_t image[N];
    said x;
    snprintf(path, sizeof path, "%s", store_dir_file("torn.db"));
    remove_db(path);
    crash_vfs_begin(cut);
    session(path, cut, &x);
    for (size_t i = 0; i < N; i++) {
        char name[32];
        snprintf(name, sizeof name, "left%zu.db", i);
        snprintf(left[i], sizeof left[i], "%s", store_dir_file(name));
        remove_db(left[i]);
        image[i] = crash_vfs_image(path, left[i], losses[i].loss, r);
    }
    for (size_t i = 0; i < N; i++) {
        size_t n_least = losses[i].loss == CRASH_PROCESS ? x.n : x.n_sure;
        if (is_new(image[i], n_least)) {
            check_left(left[i], cut, losses[i].name, n_least);
        }
    }
}

static void test_torn__every_write(void **state)
{
    (void)state;
    cf_rand r = {20};
    said x;
    const char *path = store_dir_file("torn.db");
    crash_vfs_begin(0);
    session(path, 0, &x);
    assert_int_equal(x.n, TURNS);
    assert_int_equal(x.n_sure, TURNS / 2);
    size_t n = crash_vfs_count();
    print_message("%zu writes, truncations and syncs\n", n);
    for (size_t cut = 1; cut <= n; cut += cut < x.n_made ? 3 * STEP : STEP) {
        cut_before(cut, &r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_torn__every_write),
    };
    crash_vfs_install();
    return cmocka_run_group_tests(tests, store_dir_make, store_dir_remove);
}
