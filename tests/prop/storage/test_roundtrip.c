/*
 * test_roundtrip.c - laws of export and import, on generated conversations.
 */
#include "core/base/os.h"
#include "storage/exchange.h"
#include "tests/support/slow.h"
#include "tests/support/store_dir.h"
#include "tests/support/store_gen.h"
#include "tests/support/t.h"

enum { ROUNDS = T_IS_SLOW ? 6 : 25, TREES = 8, TURNS = 25 };

static cf_store *open_new(const char *name)
{
    cf_store *s;
    cf_error err;
    T_OK(cf_store_open(&s, store_dir_file(name), &(cf_store_options){.flags = CF_STORE_CREATE},
                       &err),
         err);
    return s;
}

static void print_finding(void *ud, const char *line)
{
    (void)ud;
    printf("finding: %s\n", line);
}

static void check_sound(cf_store *s)
{
    size_t n;
    cf_error err;
    T_OK(cf_store_check(s, print_finding, NULL, &n, &err), err);
    assert_int_equal(n, 0);
}

static void export_all(cf_store *s, const cf_store_tree *trees, size_t n, cf_format f, cf_buf *out)
{
    cf_exporter *ex;
    cf_error err;
    cf_export_options opts = {.format = f};
    T_OK(cf_export_begin(&ex, s, &opts, &err), err);
    for (size_t i = 0; i < n; i++) {
        T_OK(cf_export_conv(ex, trees[i].conv.id, out, &err), err);
    }
    cf_export_end(ex);
}

static void print_note(void *ud, uint64_t line, const char *text)
{
    (void)ud;
    printf("note: line %d: %s\n", (int)line, text);
}

static cf_import_report import(cf_store *s, cf_format f, const cf_buf *text)
{
    cf_import_report report;
    cf_error err;
    cf_import_options opts = {.format = f, .note = print_note};
    T_OK(cf_import_bytes(s, text->p, text->n, &opts, &report, &err), err);
    return report;
}

typedef struct world {
    cf_rand r;
    cf_arena a;
    char hashes[2][65];
    cf_str templates[2];
    cf_store_tree trees[TREES];
} world;

static void fill(world *w, cf_store *s, uint64_t seed)
{
    cf_error err;
    w->r.s = seed;
    cf_arena_init(&w->a, 0);
    T_OK(cf_store_put_template(s, cf_str_from("one"), cf_str_from("{{ x }}"), cf_str_make(NULL, 0),
                               w->hashes[0], &err),
         err);
    T_OK(cf_store_put_template(s, cf_str_from("two"), cf_str_from("{{ y\n }}"),
                               cf_str_from(w->hashes[0]), w->hashes[1], &err),
         err);
    for (int i = 0; i < 2; i++) {
        w->templates[i] = cf_str_from(w->hashes[i]);
    }
    for (size_t i = 0; i < TREES; i++) {
        const cf_store_tree *p = &w->trees[i];
        cf_store_put_report report;
        cf_error why = {0};
        w->trees[i] = store_gen_tree(&w->r, &w->a, TURNS, w->templates, 2);
        T_OK(cf_store_put_trees(s, &p, 1, NULL, &report, &why, &err), err);
        if (why.code != CF_OK) {
            fail_msg("seed %d: %s", (int)seed, why.text);
        }
        assert_int_equal(report.n_added, w->trees[i].n);
    }
}

static void same_run(const cf_store_run *a, const cf_store_run *b)
{
    assert_true(cf_str_eq(a->raw, b->raw));
    assert_true(cf_str_eq(a->vars, b->vars));
    assert_true(cf_str_eq(a->trace, b->trace));
    assert_true(cf_str_eq(a->template_hash, b->template_hash));
    assert_int_equal(a->n_threads, b->n_threads);
    assert_true(a->seed == b->seed && a->has_seed == b->has_seed);
    assert_int_equal(a->n_reply_ids, b->n_reply_ids);
    if (a->n_reply_ids != 0) {
        assert_memory_equal(a->reply_ids, b->reply_ids, a->n_reply_ids * sizeof *a->reply_ids);
    }
    assert_int_equal(a->n_token_us, b->n_token_us);
    if (a->n_token_us != 0) {
        assert_memory_equal(a->token_us, b->token_us, a->n_token_us * sizeof *a->token_us);
    }
    assert_int_equal(a->decode_us, b->decode_us);
    assert_int_equal(a->n_tools, b->n_tools);
}

/* Compares a stored tree with the original. */
static void same_tree(cf_store *s, const cf_store_tree *want)
{
    cf_error err;
    cf_arena a;
    cf_store_tree got;
    cf_arena_init(&a, 0);
    T_OK(cf_store_get_tree(s, want->conv.id, CF_TREE_RUNS | CF_TREE_TRACE, &a, &got, &err), err);
    assert_int_equal(got.n, want->n);
    assert_true(cf_str_eq(got.conv.title, want->conv.title));
    assert_true(cf_uuid_eq(got.conv.head, want->conv.head));
    for (size_t i = 0; i < got.n; i++) {
        const cf_store_turn *x = &want->turns[i], *y = &got.turns[i];
        assert_true(cf_uuid_eq(x->id, y->id));
        assert_true(cf_uuid_eq(x->parent, y->parent));
        if (!cf_str_eq(x->message, y->message)) {
            fail_msg("%s\n%s", x->message.p, y->message.p);
        }
        assert_int_equal(x->status, y->status);
        assert_int_equal(x->n_calls, y->n_calls);
        assert_int_equal(x->rating, y->rating);
        assert_int_equal(x->run != NULL, y->run != NULL);
        if (x->run != NULL) {
            same_run(x->run, y->run);
        }
    }
    cf_arena_deinit(&a);
}

static void test_confab__out_and_in_is_the_same(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= ROUNDS; seed++) {
        static world w;
        char name[40];
        snprintf(name, sizeof name, "a%d.db", (int)seed);
        cf_store *a = open_new(name);
        snprintf(name, sizeof name, "b%d.db", (int)seed);
        cf_store *b = open_new(name);
        fill(&w, a, seed);
        cf_buf first = CF_BUF_INIT, second = CF_BUF_INIT;
        export_all(a, w.trees, TREES, CF_FORMAT_CONFAB, &first);
        cf_import_report report = import(b, CF_FORMAT_CONFAB, &first);
        assert_int_equal(report.n_bad, 0);
        assert_int_equal(report.n_new, TREES);
        for (size_t i = 0; i < TREES; i++) {
            same_tree(a, &w.trees[i]);
            same_tree(b, &w.trees[i]);
        }
        export_all(b, w.trees, TREES, CF_FORMAT_CONFAB, &second);
        for (size_t i = 0; i < first.n && i < second.n; i++) {
            if (first.p[i] != second.p[i]) {
                size_t from = i > 200 ? i - 200 : 0;
                fail_msg("seed %d, byte %d:\n%.300s\n%.300s", (int)seed, (int)i, first.p + from,
                         second.p + from);
            }
        }
        assert_int_equal(first.n, second.n);
        assert_memory_equal(first.p, second.p, first.n);
        /* Once more adds nothing. */
        report = import(b, CF_FORMAT_CONFAB, &first);
        assert_int_equal(report.n_new + report.n_turns + report.n_bad, 0);
        check_sound(a);
        check_sound(b);
        cf_buf_deinit(&first);
        cf_buf_deinit(&second);
        cf_arena_deinit(&w.a);
        cf_store_close(a);
        cf_store_close(b);
    }
}

/* Formats with room for UUIDs give the tree again. */
static void test_trees__come_back_by_uuid(void **state)
{
    (void)state;
    static const cf_format formats[] = {CF_FORMAT_CONVERSE, CF_FORMAT_LLAMA_APP};
    for (uint64_t seed = 100; seed < 110; seed++) {
        static world w;
        char name[40];
        snprintf(name, sizeof name, "c%d.db", (int)seed);
        cf_store *a = open_new(name);
        fill(&w, a, seed);
        for (size_t f = 0; f < 2; f++) {
            snprintf(name, sizeof name, "d%d-%d.db", (int)seed, (int)f);
            cf_store *b = open_new(name);
            for (size_t i = 0; i < TREES; i++) {
                if (w.trees[i].n == 0) {
                    continue;
                }
                cf_buf text = CF_BUF_INIT;
                export_all(a, &w.trees[i], 1, formats[f], &text);
                cf_import_report report = import(b, formats[f], &text);
                assert_int_equal(report.n_bad, 0);
                assert_int_equal(report.n_turns, w.trees[i].n);
                cf_buf_deinit(&text);
            }
            for (size_t i = 0; i < TREES; i++) {
                for (size_t k = 0; k < w.trees[i].n; k++) {
                    cf_arena arena;
                    cf_error err;
                    cf_store_turn t;
                    cf_arena_init(&arena, 0);
                    T_OK(cf_store_get_turn(b, w.trees[i].turns[k].id, &arena, &t, &err), err);
                    assert_true(cf_uuid_eq(t.parent, w.trees[i].turns[k].parent));
                    cf_arena_deinit(&arena);
                }
            }
            check_sound(b);
            cf_store_close(b);
        }
        cf_arena_deinit(&w.a);
        cf_store_close(a);
    }
}

/* The rest: every leaf is a record that can be read. */
static void test_lines__are_read_back(void **state)
{
    (void)state;
    static const cf_format formats[] = {CF_FORMAT_OPENAI, CF_FORMAT_SHAREGPT, CF_FORMAT_LITERT};
    for (uint64_t seed = 200; seed < 206; seed++) {
        static world w;
        char name[40];
        snprintf(name, sizeof name, "e%d.db", (int)seed);
        cf_store *a = open_new(name);
        fill(&w, a, seed);
        for (size_t f = 0; f < 3; f++) {
            snprintf(name, sizeof name, "f%d-%d.db", (int)seed, (int)f);
            cf_store *b = open_new(name);
            cf_buf text = CF_BUF_INIT;
            export_all(a, w.trees, TREES, formats[f], &text);
            size_t lines = 0;
            for (size_t i = 0; i < text.n; i++) {
                lines += text.p[i] == '\n';
            }
            cf_import_report report = import(b, formats[f], &text);
            assert_int_equal(report.n_bad, 0);
            assert_int_equal(report.n_new, lines);
            check_sound(b);
            cf_buf_deinit(&text);
            cf_store_close(b);
        }
        cf_arena_deinit(&w.a);
        cf_store_close(a);
    }
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The lines of a text in the order of their bytes: records without an id of
 * their own have no other. */
static void sort_lines(cf_buf *text)
{
    const char *line[20000];
    size_t n = 0;
    cf_buf out = CF_BUF_INIT;
    char *p = text->n != 0 ? text->p : NULL;
    while (p != NULL && *p != '\0' && n < 20000) {
        char *end = strchr(p, '\n');
        line[n++] = p;
        if (end != NULL) {
            *end = '\0';
        }
        p = end != NULL ? end + 1 : NULL;
    }
    qsort(line, n, sizeof *line, by_text);
    for (size_t i = 0; i < n; i++) {
        cf_buf_adds(&out, line[i]);
        cf_buf_addc(&out, '\n');
    }
    cf_buf_deinit(text);
    *text = out;
}

/* Everything in the database. */
static void export_whole(cf_store *s, cf_format f, cf_buf *out)
{
    cf_exporter *ex;
    cf_error err;
    cf_arena a;
    const cf_store_conv *rows;
    size_t n;
    cf_export_options opts = {.format = f};
    cf_arena_init(&a, 0);
    T_OK(cf_export_begin(&ex, s, &opts, &err), err);
    for (int place = 0; place <= CF_PLACE_TRASH; place++) {
        cf_store_query q = {.limit = 5000, .place = (cf_store_place)place};
        T_OK(cf_store_list(s, &q, &a, &rows, &n, &err), err);
        for (size_t i = 0; i < n; i++) {
            T_OK(cf_export_conv(ex, rows[i].id, out, &err), err);
        }
    }
    cf_export_end(ex);
    cf_arena_deinit(&a);
}

/* What a format carries it carries again: written, read, written and read once
 * more, every file is the same, and so is what undo leaves: nothing. */
static void test_formats__lose_nothing_twice(void **state)
{
    (void)state;
    for (uint64_t seed = 400; seed < 403; seed++) {
        static world w;
        char name[40];
        snprintf(name, sizeof name, "g%d.db", (int)seed);
        cf_store *a = open_new(name);
        fill(&w, a, seed);
        for (int f = 0; f < CF_FORMAT_COUNT; f++) {
            if (!cf_format_writes((cf_format)f)) {
                continue;
            }
            cf_store *s[2];
            cf_buf text[3] = {CF_BUF_INIT, CF_BUF_INIT, CF_BUF_INIT};
            export_all(a, w.trees, TREES, (cf_format)f, &text[0]);
            for (int i = 0; i < 2; i++) {
                snprintf(name, sizeof name, "h%d-%d-%d.db", (int)seed, f, i);
                s[i] = open_new(name);
                cf_import_report report = import(s[i], (cf_format)f, &text[0]);
                assert_int_equal(report.n_bad, 0);
                cf_buf_reset(&text[0]);
                export_whole(s[i], (cf_format)f, &text[0]);
                cf_buf_add(&text[1 + i], text[0].p, text[0].n);
                sort_lines(&text[1 + i]);
                check_sound(s[i]);
            }
            if (strcmp(cf_buf_cstr(&text[1]), cf_buf_cstr(&text[2])) != 0) {
                fail_msg("seed %d, %s:\n%s\n----\n%s", (int)seed, cf_format_name((cf_format)f),
                         cf_buf_cstr(&text[1]), cf_buf_cstr(&text[2]));
            }
            for (int i = 0; i < 2; i++) {
                cf_error err;
                cf_buf what = CF_BUF_INIT;
                cf_store_size size;
                T_OK(cf_store_undo(s[i], &what, &err), err);
                T_OK(cf_store_get_size(s[i], &size, &err), err);
                assert_int_equal(size.n_convs, 0);
                check_sound(s[i]);
                cf_buf_deinit(&what);
                cf_store_close(s[i]);
            }
            for (int i = 0; i < 3; i++) {
                cf_buf_deinit(&text[i]);
            }
        }
        cf_arena_deinit(&w.a);
        cf_store_close(a);
    }
}

static void test_fork_and_purge__leave_nothing_behind(void **state)
{
    (void)state;
    static world w;
    cf_error err;
    cf_store *s = open_new("purge.db");
    fill(&w, s, 300);
    for (size_t i = 0; i < TREES; i++) {
        if (w.trees[i].n != 0) {
            cf_uuid copy;
            T_OK(cf_store_fork(s, w.trees[i].turns[w.trees[i].n - 1].id, &copy, &err), err);
        }
    }
    check_sound(s);
    for (size_t i = 0; i < TREES; i++) {
        T_OK(cf_store_purge(s, w.trees[i].conv.id, &err), err);
        check_sound(s);
    }
    cf_arena_reset(&w.a);
    const cf_store_conv *rows;
    size_t n;
    cf_store_query q = {.limit = 1000};
    T_OK(cf_store_list(s, &q, &w.a, &rows, &n, &err), err);
    for (size_t i = 0; i < n; i++) {
        T_OK(cf_store_purge(s, rows[i].id, &err), err);
    }
    check_sound(s);
    cf_store_size size;
    T_OK(cf_store_get_size(s, &size, &err), err);
    assert_int_equal(size.n_convs, 0);
    cf_arena_deinit(&w.a);
    cf_store_close(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_confab__out_and_in_is_the_same),
        cmocka_unit_test(test_trees__come_back_by_uuid),
        cmocka_unit_test(test_lines__are_read_back),
        cmocka_unit_test(test_formats__lose_nothing_twice),
        cmocka_unit_test(test_fork_and_purge__leave_nothing_behind),
    };
    return cmocka_run_group_tests(tests, store_dir_make, store_dir_remove);
}
