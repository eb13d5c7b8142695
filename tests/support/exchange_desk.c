/*
 * exchange_desk.c - every desk has a database of its own.
 */
#include "tests/support/exchange_desk.h"

#include "tests/support/store_dir.h"
#include "tests/support/t.h"

void cf_exchange_open(cf_exchange_desk *d)
{
    static unsigned n_files;
    char name[20];
    cf_error err;
    snprintf(name, sizeof name, "x%u.db", n_files++);
    memset(d, 0, sizeof *d);
    cf_arena_init(&d->a, 0);
    T_OK(cf_store_open(&d->s, store_dir_file(name), &(cf_store_options){.flags = CF_STORE_CREATE},
                       &err),
         err);
}

void cf_exchange_close(cf_exchange_desk *d)
{
    cf_arena_deinit(&d->a);
    cf_store_close(d->s);
}

void cf_exchange_note(void *ud, uint64_t line, const char *text)
{
    cf_exchange_desk *d = ud;
    char one[400];
    if (d->first_line == 0) {
        d->first_line = line;
    }
    snprintf(one, sizeof one, "%d:%s;", (int)line, text);
    strncat(d->notes, one, sizeof d->notes - strlen(d->notes) - 1);
}

void cf_exchange_import(cf_exchange_desk *d, const char *text, cf_import_options o)
{
    cf_error err;
    o.note = cf_exchange_note;
    o.ud = d;
    T_OK(cf_import_bytes(o.is_dry ? NULL : d->s, text, strlen(text), &o, &d->report, &err), err);
}

void cf_exchange_export(cf_exchange_desk *d, cf_format format, cf_buf *out)
{
    cf_error err;
    cf_exporter *ex;
    const cf_store_conv *rows;
    cf_export_options opts = {.format = format};
    size_t n = cf_exchange_list(d, &rows);
    T_OK(cf_export_begin(&ex, d->s, &opts, &err), err);
    for (size_t i = n; i > 0; i--) {
        T_OK(cf_export_conv(ex, rows[i - 1].id, out, &err), err);
    }
    cf_export_end(ex);
}

size_t cf_exchange_list(cf_exchange_desk *d, const cf_store_conv **rows)
{
    size_t n;
    cf_error err;
    cf_store_query q = {.sort = CF_SORT_CREATED, .limit = 1000};
    T_OK(cf_store_list(d->s, &q, &d->a, rows, &n, &err), err);
    return n;
}

cf_store_tree cf_exchange_tree(cf_exchange_desk *d)
{
    cf_error err;
    const cf_store_conv *rows;
    cf_store_tree tree;
    assert_int_equal(cf_exchange_list(d, &rows), 1);
    T_OK(cf_store_get_tree(d->s, rows[0].id, CF_TREE_RUNS, &d->a, &tree, &err), err);
    return tree;
}

void cf_exchange_says(const cf_store_tree *t, size_t i, const char *json)
{
    assert_true(i < t->n);
    assert_string_equal(t->turns[i].message.p, json);
}
