/*
 * test_keys.c - docs/keys.md agrees with the program: every key of every view
 * is in its tables, and a key with several commands says what they have in
 * common.
 *
 * UPDATE_KEYS=1 writes the tables; the column "meaning" is written by hand.
 */
#include <stdlib.h>
#include <string.h>

#include "core/base/os.h"
#include "tests/support/t.h"
#include "tui/app/bind.h"

static const char file[] = "docs/keys.md";

enum { ROWS_MAX = 256, N_MAIN = CF_VIEW_TEMPLATES + 1 };

typedef struct key_row {
    char key[40];
    const char *command[CF_VIEW_COUNT]; /* NULL: nothing there */
    bool has_one;                       /* command, in all views that have it */
} key_row;

typedef struct table {
    cf_app app;
    key_row row[ROWS_MAX];
    size_t n;
} table;

static void name_of(const cf_binding *b, char out[40])
{
    cf_buf name = CF_BUF_INIT;
    cf_binding_keys(b, &name);
    snprintf(out, 40, "%s", cf_buf_cstr(&name));
    cf_buf_deinit(&name);
}

static key_row *row_of(table *t, const char *key)
{
    for (size_t i = 0; i < t->n; i++) {
        if (strcmp(t->row[i].key, key) == 0) {
            return &t->row[i];
        }
    }
    assert_true(t->n < ROWS_MAX);
    snprintf(t->row[t->n].key, sizeof t->row[t->n].key, "%s", key);
    return &t->row[t->n++];
}

/* Later bindings win, as in the program. */
static void open_table(table *t)
{
    cf_error err;
    memset(t, 0, sizeof *t);
    T_OK(cf_app_init(&t->app, NULL, &err), err);
    for (size_t i = 0; i < t->app.keymap.n; i++) {
        const cf_binding *b = &t->app.keymap.v[i];
        char key[40];
        name_of(b, key);
        for (int v = 0; v < CF_VIEW_COUNT; v++) {
            if (b->views & CF_IN(v)) {
                row_of(t, key)->command[v] = b->row->name;
            }
        }
    }
    for (size_t i = 0; i < t->n; i++) {
        const char *first = NULL;
        t->row[i].has_one = true;
        for (int v = 0; v < CF_VIEW_COUNT; v++) {
            const char *c = t->row[i].command[v];
            first = first != NULL ? first : c;
            t->row[i].has_one &= c == NULL || strcmp(c, first) == 0;
        }
    }
}

/* ---- the tables as they should be --------------------------------------- */

static void add_cell(cf_buf *out, const char *text)
{
    for (; *text != '\0'; text++) {
        cf_buf_adds(out, *text == '|' ? "\\" : "");
        cf_buf_addc(out, *text);
    }
}

static void add_key(cf_buf *out, const char *key)
{
    cf_buf_adds(out, "| `");
    add_cell(out, key);
    cf_buf_adds(out, "` |");
}

static void add_where(cf_buf *out, const key_row *r)
{
    size_t n = 0;
    cf_buf names = CF_BUF_INIT;
    for (int v = 0; v < CF_VIEW_COUNT; v++) {
        if (r->command[v] != NULL) {
            cf_buf_addf(&names, "%s%s", n++ != 0 ? ", " : "", cf_views[v]->title);
        }
    }
    cf_buf_adds(out, n == CF_VIEW_COUNT ? "everywhere" : cf_buf_cstr(&names));
    cf_buf_deinit(&names);
}

static void write_single(cf_buf *out, const table *t)
{
    cf_buf_adds(out, "| key | command | where |\n| --- | --- | --- |\n");
    for (size_t i = 0; i < t->n; i++) {
        const key_row *r = &t->row[i];
        int v = 0;
        while (r->command[v] == NULL) {
            v++;
        }
        if (r->has_one) {
            add_key(out, r->key);
            cf_buf_addf(out, " %s | ", r->command[v]);
            add_where(out, r);
            cf_buf_adds(out, " |\n");
        }
    }
}

/* What the text says that a key means; "" when it says nothing. */
static void find_meaning(const cf_buf *text, const char *key, cf_buf *out)
{
    cf_buf row = CF_BUF_INIT;
    cf_buf_adds(&row, "\n");
    add_key(&row, key);
    const char *at = strstr(cf_buf_cstr(text), "<!-- keys with several commands -->");
    at = at != NULL ? strstr(at, cf_buf_cstr(&row)) : NULL;
    if (at != NULL) {
        at += row.n + 1;
        cf_buf_add(out, at, strcspn(at, "|\n"));
        while (out->n > 0 && out->p[out->n - 1] == ' ') {
            out->p[--out->n] = '\0';
        }
    }
    cf_buf_deinit(&row);
}

static void write_several(cf_buf *out, const table *t, const cf_buf *text)
{
    cf_buf_adds(out, "| key | meaning |");
    for (int v = 0; v < N_MAIN; v++) {
        cf_buf_addf(out, " %s |", cf_views[v]->title);
    }
    cf_buf_adds(out, " other views |\n| --- | --- |");
    for (int v = 0; v <= N_MAIN; v++) {
        cf_buf_adds(out, " --- |");
    }
    cf_buf_adds(out, "\n");
    for (size_t i = 0; i < t->n; i++) {
        const key_row *r = &t->row[i];
        cf_buf meaning = CF_BUF_INIT;
        if (r->has_one) {
            continue;
        }
        find_meaning(text, r->key, &meaning);
        add_key(out, r->key);
        cf_buf_addf(out, " %s |", cf_buf_cstr(&meaning));
        for (int v = 0; v < N_MAIN; v++) {
            cf_buf_addf(out, " %s |", r->command[v] != NULL ? r->command[v] : "");
        }
        const char *sep = " ";
        for (int v = N_MAIN; v < CF_VIEW_COUNT; v++) {
            if (r->command[v] != NULL) {
                cf_buf_addf(out, "%s%s: %s", sep, cf_views[v]->title, r->command[v]);
                sep = ", ";
            }
        }
        cf_buf_adds(out, " |\n");
        cf_buf_deinit(&meaning);
    }
}

/* ---- the tables as they are --------------------------------------------- */

/* Puts `want` between the mark and the next empty line; false when something
 * else was there. */
static bool put(cf_buf *text, const char *mark, const cf_buf *want)
{
    char *at = strstr(cf_buf_cstr(text), mark);
    if (at == NULL) {
        fail_msg("%s lacks '%s'", file, mark);
        return false;
    }
    at += strlen(mark) + 1;
    const char *end = strstr(at, "\n\n");
    size_t from = (size_t)(at - text->p);
    size_t len = end != NULL ? (size_t)(end - at) + 1 : text->n - from;
    bool is_same = len == want->n && memcmp(at, cf_buf_cstr(want), want->n) == 0;
    cf_buf out = CF_BUF_INIT;
    cf_buf_add(&out, text->p, from);
    cf_buf_add(&out, cf_buf_cstr(want), want->n);
    cf_buf_add(&out, text->p + from + len, text->n - from - len);
    cf_buf_deinit(text);
    *text = out;
    return is_same;
}

static void test_keys__document_agrees(void **state)
{
    (void)state;
    static table t;
    static const char *const marks[] = {"<!-- keys with one command -->",
                                        "<!-- keys with several commands -->"};
    cf_error err;
    cf_buf text = CF_BUF_INIT;
    bool is_same = true;
    open_table(&t);
    T_OK(cf_os_read_file(&text, file, 1 << 20, &err), err);
    for (int i = 0; i < 2; i++) {
        cf_buf want = CF_BUF_INIT;
        if (i == 0) {
            write_single(&want, &t);
        } else {
            write_several(&want, &t, &text);
        }
        is_same = put(&text, marks[i], &want) && is_same;
        cf_buf_deinit(&want);
    }
    if (getenv("UPDATE_KEYS") != NULL) {
        T_OK(cf_os_write_file(file, cf_buf_cstr(&text), text.n, 0644, &err), err);
    } else if (!is_same) {
        fail_msg("%s and the tables of keys differ (UPDATE_KEYS=1 writes it)", file);
    }
    cf_buf_deinit(&text);
    cf_app_deinit(&t.app);
}

/* A line of confabrc is bound to the row that it means, in each view to its
 * own; what means no row is a mistake of that line. */
static void test_keys__lines_are_bound_once(void **state)
{
    (void)state;
    static cf_app app;
    cf_error err;
    const cf_binding *b;
    const cf_key key = 'Z';
    T_OK(cf_app_init(&app, NULL, &err), err);
    T_OK(cf_bind_line(&app.keymap, "all", "Z", ":retry 3", &err), err);
    assert_int_equal(cf_keymap_find(&app.keymap, CF_IN(CF_VIEW_CHAT), &key, 1, &b),
                     CF_LOOKUP_FOUND);
    assert_ptr_equal(b->row, cf_command_named(CF_VIEW_CHAT, "retry"));
    assert_string_equal(b->arg, "3");
    assert_int_equal(cf_keymap_find(&app.keymap, CF_IN(CF_VIEW_TOOLS), &key, 1, &b),
                     CF_LOOKUP_FOUND);
    assert_ptr_equal(b->row, cf_command_named(CF_VIEW_TOOLS, "retry"));
    assert_int_equal(cf_keymap_find(&app.keymap, CF_IN(CF_VIEW_LOG), &key, 1, &b), CF_LOOKUP_NONE);
    T_OK(cf_bind_line(&app.keymap, "chat", "Z", "!wc %(turn)", &err), err);
    assert_int_equal(cf_keymap_find(&app.keymap, CF_IN(CF_VIEW_CHAT), &key, 1, &b),
                     CF_LOOKUP_FOUND);
    assert_null(b->row);
    assert_string_equal(b->arg, "!wc %(turn)");
    T_FAILS(cf_bind_line(&app.keymap, "nowhere", "Z", "retry", &err), CF_EINVAL);
    T_FAILS(cf_bind_line(&app.keymap, "log", "Z", "retry", &err), CF_EINVAL);
    T_FAILS(cf_bind_line(&app.keymap, "chat", "Z", "re", &err), CF_EINVAL);
    T_FAILS(cf_bind_line(&app.keymap, "chat", "Z", ":", &err), CF_EINVAL);
    cf_app_deinit(&app);
}

/* A key with several commands has one meaning, and the document says which. */
static void test_keys__meanings_are_written(void **state)
{
    (void)state;
    static table t;
    cf_error err;
    cf_buf text = CF_BUF_INIT;
    open_table(&t);
    T_OK(cf_os_read_file(&text, file, 1 << 20, &err), err);
    for (size_t i = 0; i < t.n; i++) {
        cf_buf meaning = CF_BUF_INIT;
        if (!t.row[i].has_one) {
            find_meaning(&text, t.row[i].key, &meaning);
            if (meaning.n == 0) {
                fail_msg("%s does not say what '%s' means", file, t.row[i].key);
            }
        }
        cf_buf_deinit(&meaning);
    }
    cf_buf_deinit(&text);
    cf_app_deinit(&t.app);
}

/* Whether the keys of one begin those of the other, or are the same. */
static bool hides(const cf_binding *a, const cf_binding *b)
{
    size_t n = a->n_keys < b->n_keys ? a->n_keys : b->n_keys;
    return (a->views & b->views) != 0 && memcmp(a->keys, b->keys, n * sizeof a->keys[0]) == 0;
}

/* In each view, with the keys that work everywhere: every sequence of keys can
 * be pressed to its end. */
static void test_keys__no_row_hides_another(void **state)
{
    (void)state;
    static table t;
    size_t n_hidden = 0;
    open_table(&t);
    const cf_keymap *m = &t.app.keymap;
    for (size_t i = 0; i < m->n; i++) {
        for (size_t k = i + 1; k < m->n; k++) {
            if (hides(&m->v[i], &m->v[k])) {
                char a[40], b[40];
                name_of(&m->v[i], a);
                name_of(&m->v[k], b);
                print_error("%s (%s) and %s (%s) in the same view\n", a, m->v[i].row->name, b,
                            m->v[k].row->name);
                n_hidden++;
            }
        }
    }
    assert_int_equal(n_hidden, 0);
    cf_app_deinit(&t.app);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_keys__document_agrees),
        cmocka_unit_test(test_keys__lines_are_bound_once),
        cmocka_unit_test(test_keys__meanings_are_written),
        cmocka_unit_test(test_keys__no_row_hides_another),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
