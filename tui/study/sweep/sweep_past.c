/*
 * sweep_past.c - a list of records under the plan's path, in the history.
 *
 * A record: {"at","inputs","rates":[{"row","check","passed","prompts"}],
 * "scores":{ROW:{PROMPT:score}}}.
 */
#include "tui/study/sweep/sweep_past.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <time.h>

#include "core/base/alloc.h"
#include "core/base/os.h"
#include "core/base/safe_text.h"
#include "core/json/json_builder.h"
#include "core/json/json_writer.h"

enum { DATE = 20, SHOWN = 60 };

/* ---- the history -------------------------------------------------------- */

static cf_status key_of(const char *plan, char key[CF_HASH_TEXT + 1], cf_error *err)
{
    cf_buf b = CF_BUF_INIT;
    char path[PATH_MAX];
    cf_buf_addf(&b, "sweeps of a plan 1\n%s", realpath(plan, path) != NULL ? path : plan);
    cf_status st = cf_buf_check(&b, err);
    cf_hash_hex(key, cf_buf_cstr(&b), b.n);
    cf_buf_deinit(&b);
    return st;
}

/* The records of a plan; a new list where there are none. */
static cf_status load(cf_store *store, const char *key, json_t **out, cf_error *err)
{
    cf_arena arena;
    cf_str text;
    cf_arena_init(&arena, 0);
    cf_status st = cf_store_get_cell(store, cf_str_from(key), &arena, &text, err);
    if (st == CF_ENOTFOUND) {
        *out = json_array();
        st = *out != NULL ? CF_OK : cf_oom_for(err, "the sweeps");
    } else if (st == CF_OK) {
        st = cf_json_read(out, text.p, text.n, err);
    }
    cf_arena_deinit(&arena);
    return st;
}

/* ---- a record ----------------------------------------------------------- */

/* The mean score of each prompt of a row. */
static void put_scores(cf_jb *b, const cf_sweep *s, size_t first, const char *row)
{
    const size_t n_item = s->plan->n_item, n = cf_sweep_row_length(s, first);
    cf_jb_object(b, row);
    for (size_t item = 0; item < n_item; item++) {
        double sum = 0;
        size_t known = 0;
        for (size_t i = first + item; i < first + n; i += n_item) {
            double score = cf_sweep_score(s, &s->cell[i]);
            sum += score >= 0 ? score : 0;
            known += score >= 0;
        }
        if (known > 0) {
            cf_jb_key(b, s->plan->item[item].name);
            cf_jb_double(b, NULL, sum / (double)known);
        }
    }
    cf_jb_end(b);
}

/* Calls `fn` for each row with its name. */
static void each_row(cf_jb *b, const cf_sweep *s,
                     void (*fn)(cf_jb *b, const cf_sweep *s, size_t first, const char *row))
{
    for (size_t i = 0; i < s->n; i += cf_sweep_row_length(s, i)) {
        cf_buf row = CF_BUF_INIT;
        cf_sweep_put_row_name(&row, s, &s->cell[i]);
        fn(b, s, i, cf_buf_cstr(&row));
        if (row.failed) {
            cf_jb_fail(b);
        }
        cf_buf_deinit(&row);
    }
}

static void put_rates(cf_jb *b, const cf_sweep *s, size_t first, const char *row)
{
    for (size_t k = 0; k < s->plan->n_check; k++) {
        const cf_sweep_rate r = cf_sweep_rate_of(s, first, k);
        cf_jb_object(b, NULL);
        cf_jb_text(b, "row", row);
        cf_jb_str(b, "check", s->plan->check[k].name);
        cf_jb_double(b, "passed", r.passed);
        cf_jb_int(b, "prompts", (int64_t)r.n);
        cf_jb_end(b);
    }
}

static cf_status make_record(const cf_sweep *s, json_t **out, cf_error *err)
{
    cf_jb b = CF_JB_INIT;
    cf_buf keys = CF_BUF_INIT;
    char inputs[CF_HASH_TEXT + 1];
    for (size_t i = 0; i < s->n; i++) {
        cf_buf_adds(&keys, s->cell[i].key);
    }
    cf_status st = cf_buf_check(&keys, err);
    cf_hash_hex(inputs, cf_buf_cstr(&keys), keys.n);
    cf_buf_deinit(&keys);
    CF_TRY(st);
    cf_jb_object(&b, NULL);
    cf_jb_text(&b, "inputs", inputs);
    cf_jb_array(&b, "rates");
    each_row(&b, s, put_rates);
    cf_jb_end(&b);
    cf_jb_object(&b, "scores");
    each_row(&b, s, put_scores);
    cf_jb_end(&b);
    cf_jb_end(&b);
    return cf_jb_finish(&b, out, err);
}

/* Appends the record with its date, unless the last one is the same. */
static cf_status append(json_t *list, json_t *record, cf_error *err)
{
    cf_jb b = CF_JB_INIT;
    json_t *last = cf_json_copy(json_array_get(list, json_array_size(list) - 1));
    (void)json_object_del(last, "at");
    if (!json_equal(last, record)) {
        cf_jb_set(&b, record, "at", json_integer(cf_os_now_ms()));
        cf_jb_append(&b, list, json_incref(record));
    }
    json_decref(last);
    while (json_array_size(list) > CF_SWEEP_PAST_MAX) {
        (void)json_array_remove(list, 0);
    }
    return cf_jb_check(&b, err);
}

cf_status cf_sweep_past_add(const cf_sweep *s, cf_error *err)
{
    char key[CF_HASH_TEXT + 1];
    json_t *list = NULL, *record = NULL;
    cf_buf text = CF_BUF_INIT;
    if (s->o.store == NULL || s->n == 0 || s->plan->n_check == 0) {
        return CF_OK;
    }
    CF_TRY(key_of(s->plan->path, key, err));
    cf_status st = load(s->o.store, key, &list, err);
    CF_THEN(st, make_record(s, &record, err));
    CF_THEN(st, append(list, record, err));
    if (st == CF_OK) {
        cf_json_write(&text, list);
        st = cf_buf_check(&text, err);
    }
    CF_THEN(st, cf_store_put_cell(s->o.store, cf_str_from(key), cf_buf_str(&text), err));
    cf_buf_deinit(&text);
    json_decref(list);
    json_decref(record);
    return st;
}

/* ---- showing ------------------------------------------------------------ */

static void put_date(char out[DATE], const json_t *record)
{
    time_t s = (time_t)(json_integer_value(json_object_get(record, "at")) / 1000);
    struct tm t = {.tm_year = 0};
    localtime_r(&s, &t);
    strftime(out, DATE, "%Y-%m-%d %H:%M", &t);
}

static double rate_in(const json_t *record, cf_str row, cf_str check)
{
    const json_t *rates = json_object_get(record, "rates");
    for (size_t i = 0; i < json_array_size(rates); i++) {
        const json_t *r = json_array_get(rates, i);
        double n = json_number_value(json_object_get(r, "prompts"));
        if (cf_str_eq(cf_json_get_str(r, "row"), row) &&
            cf_str_eq(cf_json_get_str(r, "check"), check) && n > 0) {
            return fmin(1, json_number_value(json_object_get(r, "passed")) / n);
        }
    }
    return -1;
}

/* "[bars]  67 67 33 %, now 1 of 3  right", the oldest first; '.': not there. */
static void put_line(cf_buf *out, const json_t *list, const json_t *now)
{
    static const char *const bars[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    const cf_str row = cf_json_get_str(now, "row"), check = cf_json_get_str(now, "check");
    size_t n = json_array_size(list), first = n > SHOWN ? n - SHOWN : 0;
    cf_buf_adds(out, "  ");
    for (size_t i = first; i < n; i++) {
        double rate = rate_in(json_array_get(list, i), row, check);
        cf_buf_adds(out, rate < 0 ? "." : bars[(size_t)(rate * 7 + 0.5)]);
    }
    cf_buf_adds(out, " ");
    for (size_t i = n > 8 ? n - 8 : 0; i < n; i++) {
        double rate = rate_in(json_array_get(list, i), row, check);
        cf_buf_addf(out, rate < 0 ? " -" : " %.0f", 100 * rate);
    }
    cf_buf_addf(out, " %%, now %g of %lld  ", json_number_value(json_object_get(now, "passed")),
                (long long)json_integer_value(json_object_get(now, "prompts")));
    cf_safe_line(out, row.p, row.n);
    cf_buf_adds(out, ": ");
    cf_safe_line(out, check.p, check.n);
    cf_buf_addc(out, '\n');
}

/* The newest scores of a row against those before, over the prompts of both. */
static cf_status compare_row(cf_paired *found, const json_t *before, const json_t *now,
                             cf_error *err)
{
    const char *prompt;
    json_t *score;
    size_t n = 0;
    double *v = cf_calloc(json_object_size(now) + 1, sizeof *v);
    if (v == NULL) {
        return cf_oom_for(err, "the comparison");
    }
    json_object_foreach(cf_json_ref(now), prompt, score)
    {
        const json_t *old = json_object_get(before, prompt);
        if (json_is_number(old)) {
            v[n++] = json_number_value(score) - json_number_value(old);
        }
    }
    *found = cf_paired_find(v, n);
    cf_free(v);
    return CF_OK;
}

/* The last two sweeps, row by row; *n rows, owned. */
static cf_status compare(const json_t *list, cf_sweep_versus **out, size_t *n, char date[2][DATE],
                         cf_error *err)
{
    size_t n_list = json_array_size(list);
    const json_t *now = json_array_get(list, n_list - 1);
    const json_t *before = n_list > 1 ? json_array_get(list, n_list - 2) : NULL;
    const json_t *scores = json_object_get(now, "scores");
    const char *row;
    json_t *v;
    *n = 0;
    *out = cf_calloc(json_object_size(scores) + 1, sizeof **out);
    double *p = cf_calloc(json_object_size(scores) + 1, sizeof *p);
    cf_status st = *out != NULL && p != NULL ? CF_OK : cf_oom_for(err, "the comparison");
    put_date(date[0], before);
    put_date(date[1], now);
    json_object_foreach(cf_json_ref(before != NULL ? scores : NULL), row, v)
    {
        cf_sweep_versus *to = &(*out)[*n];
        if (st != CF_OK) {
            break;
        }
        *to = (cf_sweep_versus){.axis = row,
                                .a = cf_str_from(date[0]),
                                .b = cf_str_from(date[1]),
                                .differ = CF_SWEEP_NONE};
        st = compare_row(&to->found, json_object_get(json_object_get(before, "scores"), row), v,
                         err);
        p[(*n)++] = to->found.p;
    }
    for (size_t i = 0; st == CF_OK && i < *n; i++) {
        (*out)[i].is_clear = cf_paired_is_clear(p[i], p, *n);
        (*out)[i].needed =
            (*out)[i].is_clear ? 0 : cf_paired_needed(&(*out)[i].found, 0.05 / (double)*n);
    }
    cf_free(p);
    return st;
}

static void put_text(cf_buf *out, const json_t *list, const cf_sweep_versus *v, size_t n)
{
    char from[DATE], to[DATE];
    size_t n_list = json_array_size(list);
    const json_t *rates = json_object_get(json_array_get(list, n_list - 1), "rates");
    put_date(from, json_array_get(list, 0));
    put_date(to, json_array_get(list, n_list - 1));
    cf_buf_addf(out, "%zu sweeps, %s to %s\n", n_list, from, to);
    for (size_t i = 0; i < json_array_size(rates); i++) {
        put_line(out, list, json_array_get(rates, i));
    }
    for (size_t i = 0; i < n; i++) {
        cf_sweep_put_versus(out, &v[i]);
        cf_buf_addc(out, '\n');
    }
}

static void put_json(cf_buf *out, const json_t *list, const cf_sweep_versus *v, size_t n)
{
    cf_jw w;
    for (size_t i = 0; i < json_array_size(list); i++) {
        cf_json_write(out, json_array_get(list, i));
        cf_buf_addc(out, '\n');
    }
    cf_jw_init(&w, out);
    cf_jw_object(&w, NULL);
    cf_sweep_put_compare(&w, v, n);
    cf_jw_end(&w);
    cf_buf_addc(out, '\n');
    out->failed = out->failed || cf_jw_finish(&w, NULL) != CF_OK;
}

cf_status cf_sweep_past_put(cf_buf *out, cf_store *store, const char *plan, bool is_json,
                            cf_error *err)
{
    char key[CF_HASH_TEXT + 1], date[2][DATE];
    json_t *list = NULL;
    cf_sweep_versus *v = NULL;
    size_t n = 0;
    CF_TRY(key_of(plan, key, err));
    CF_TRY(load(store, key, &list, err));
    cf_status st = json_array_size(list) > 0
                       ? compare(list, &v, &n, date, err)
                       : cf_fail(err, CF_ENOTFOUND, "%.200s: no sweep of it is kept", plan);
    if (st == CF_OK) {
        (is_json ? put_json : put_text)(out, list, v, n);
    }
    cf_free(v);
    json_decref(list);
    return st;
}
