/*
 * sweep_table.c - runs a sweep on the worker, sorts its rows, and saves cells
 * as conversations.
 */
#include "tui/study/sweep/sweep_table.h"
#include "tui/study/import/plan_load.h"
#include "tui/study/plan/plan_trust.h"
#include "tui/study/sweep/sweep_past.h"

#include <stdlib.h>

#include "core/base/alloc.h"
#include "core/json/json_writer.h"
#include "tui/lab/state/lab_marks.h"
#include "tui/lab/state/lab_task.h"
#include "tui/lab/talk/lab_conversation.h"

/* ---- on the worker's thread --------------------------------------------- */

/* Sent by the task: the number of cells done so far; 0: the cells exist. */
typedef struct item {
    size_t n_told;
    bool is_reused, is_failed;
} item;

static void tell(const cf_sweep_table *t, item from)
{
    item *it = cf_alloc(sizeof *it);
    if (it != NULL) {
        *it = from;
        cf_lab_tell(t->lab, it);
    }
}

static void on_cell(void *ud, const cf_sweep *s, size_t cell)
{
    const cf_sweep_table *t = ud;
    const cf_sweep_cell *c = &s->cell[cell];
    tell(t, (item){cell + 1, c->is_reused, c->result == NULL});
}

/* As the command line decides, but nobody is asked here. */
static cf_status trust_plan(cf_sweep_table *t, cf_error *err)
{
    cf_trust trust = {.key = NULL};
    if (t->trust != NULL) {
        trust = *t->trust;
    }
    trust.ask = NULL;
    trust.accepted = (cf_buf)CF_BUF_INIT;
    cf_status st = cf_sweep_plan_trust(&t->plan, &trust, err);
    cf_trust_deinit(&trust);
    return st;
}

static cf_status run(void *ud, cf_runner *runner, cf_error *err)
{
    cf_sweep_table *t = ud;
    const cf_sweep_saved saved = {.store = t->store, .ticked = t->ticked, .n_ticked = t->n_ticked};
    const cf_sweep_options o = {.open = {.model = t->model},
                                .store = t->store,
                                .cancel = cf_runner_cancel_flag(runner),
                                .fn = on_cell,
                                .ud = t};
    CF_TRY(cf_plan_load(&t->plan, t->path, &saved, err));
    t->has_plan = true;
    CF_TRY(trust_plan(t, err));
    CF_TRY(cf_sweep_init(&t->sweep, &t->plan, &o, err));
    t->has_sweep = true;
    tell(t, (item){.n_told = 0});
    return cf_sweep_run(&t->sweep, err);
}

/* ---- groups ------------------------------------------------------------- */

/* The value of the axis that the columns are grouped by. */
static size_t group_of(const cf_sweep_table *t, size_t col)
{
    return t->group != CF_SWEEP_NONE ? cf_sweep_axis_value(cf_sweep_table_column(t, col), t->group)
                                     : col;
}

static void group_by(cf_sweep_table *t, size_t axis)
{
    t->group = axis;
    t->n_shown = 0;
    for (size_t col = 0; t->is_ready && col < t->n_col; col++) {
        size_t i = 0;
        while (i < t->n_shown && !cf_sweep_table_is_in(t, i, col)) {
            i++;
        }
        if (i == t->n_shown) {
            t->first[t->n_shown++] = col;
        }
    }
}

bool cf_sweep_table_is_in(const cf_sweep_table *t, size_t shown, size_t col)
{
    return group_of(t, t->first[shown]) == group_of(t, col);
}

void cf_sweep_table_group(cf_sweep_table *t)
{
    size_t axis = t->group != CF_SWEEP_NONE ? t->group + 1 : 0;
    for (; t->is_ready && axis < CF_SWEEP_AXES; axis++) {
        group_by(t, axis);
        if (t->n_shown > 1 && t->n_shown < t->n_col) {
            return;
        }
    }
    group_by(t, CF_SWEEP_NONE);
}

double cf_sweep_table_mean(const cf_sweep_table *t, size_t row, size_t shown)
{
    double sum = 0;
    size_t n = 0;
    for (size_t col = 0; col < t->n_col; col++) {
        const cf_sweep_cell *c =
            cf_sweep_table_is_in(t, shown, col) ? cf_sweep_table_cell(t, row, col) : NULL;
        double score = c != NULL ? cf_sweep_score(&t->sweep, c) : -1;
        sum += score >= 0 ? score : 0;
        n += score >= 0;
    }
    return n > 0 ? sum / (double)n : -1;
}

double cf_sweep_table_sum(const cf_sweep_table *t, size_t shown)
{
    double sum = 0;
    size_t n = 0;
    for (size_t row = 0; row < t->n_row; row++) {
        double mean = cf_sweep_table_mean(t, row, shown);
        sum += mean >= 0 ? mean : 0;
        n += mean >= 0;
    }
    return n > 0 ? sum / (double)n : -1;
}

/* ---- the verdict -------------------------------------------------------- */

/* Whether `name` is never the worse one of its pairs. */
static bool is_best(const cf_sweep_versus *v, size_t n, cf_str name)
{
    for (size_t i = 0; i < n; i++) {
        if ((cf_str_eq(v[i].a, name) && v[i].found.mean > 0) ||
            (cf_str_eq(v[i].b, name) && v[i].found.mean < 0)) {
            return false;
        }
    }
    return true;
}

/* " is best, clear against X", " leads, open against Y (about 9 prompts needed)",
 * " is as good as Z" */
static void put_against(cf_buf *out, const cf_sweep_versus *v, size_t n, cf_str best)
{
    bool is_clear = true, is_ahead = false, has_one = false;
    for (size_t i = 0; i < n; i++) {
        if (cf_str_eq(v[i].a, best) || cf_str_eq(v[i].b, best)) {
            is_clear = is_clear && (v[i].is_clear || v[i].found.mean == 0);
            is_ahead = is_ahead || v[i].found.mean != 0;
        }
    }
    cf_buf_adds(out, !is_ahead ? " is" : is_clear ? " is best," : " leads,");
    for (size_t i = 0; i < n; i++) {
        bool is_a = cf_str_eq(v[i].a, best);
        cf_str other = is_a ? v[i].b : v[i].a;
        if (!is_a && !cf_str_eq(v[i].b, best)) {
            continue;
        }
        cf_buf_adds(out, has_one ? ", " : " ");
        cf_buf_adds(out, v[i].found.mean == 0 ? "as good as "
                         : v[i].is_clear      ? "clear against "
                                              : "open against ");
        cf_buf_add(out, other.p, other.n);
        if (v[i].needed > 0) {
            cf_buf_addf(out, " (about %zu prompts needed)", v[i].needed);
        }
        has_one = true;
    }
    cf_buf_addc(out, '\n');
}

void cf_sweep_table_put_verdict(const cf_sweep_table *t, cf_buf *out)
{
    if (t->n_versus > 0 && t->plan.n_check == 0) {
        cf_buf_adds(out, "No check says which is better: :sweep contains TEXT adds one (or regex, "
                         "calls-valid, schema ...).\n");
        return;
    }
    for (size_t i = 0, n; i < t->n_versus; i += n) {
        const cf_sweep_versus *v = &t->versus[i];
        for (n = 1; i + n < t->n_versus && t->versus[i + n].axis == v->axis; n++) {
        }
        cf_str best = v->a;
        for (size_t k = 0; k < n && !is_best(v, n, best); k++) {
            best = v[k].b;
        }
        cf_buf_addf(out, "%s: ", v->axis);
        cf_buf_add(out, best.p, best.n);
        put_against(out, v, n, best);
    }
}

/* ---- on the interface thread -------------------------------------------- */

static void take(void *ud, void *p)
{
    cf_sweep_table *t = ud;
    const item *it = p;
    if (it->n_told == 0) {
        t->n_row = t->plan.n_item;
        t->n_col = t->sweep.n / t->n_row;
        t->row = cf_calloc(t->n_row, sizeof *t->row);
        t->first = cf_calloc(t->n_col, sizeof *t->first);
        t->is_ready = t->row != NULL && t->first != NULL;
        group_by(t, CF_SWEEP_NONE);
        cf_sweep_table_sort(t, CF_SWEEP_BY_PLAN);
    } else {
        t->n_told = it->n_told;
        t->n_reused += it->is_reused;
        t->n_failed += it->is_failed;
    }
    cf_free(p);
}

static void progress(const void *ud, cf_buf *out)
{
    const cf_sweep_table *t = ud;
    if (t->is_ready) {
        cf_buf_addf(out, "%zu of %zu", t->n_told, t->n_row * t->n_col);
    }
}

static void on_end(void *ud, cf_status status, const cf_error *err)
{
    cf_sweep_table *t = ud;
    cf_error ignored;
    (void)err; /* cf_lab_poll() reports it */
    t->is_on = false;
    t->was_stopped = status != CF_OK;
    if (status == CF_OK && t->is_ready) {
        cf_ignore(cf_sweep_compare(&t->sweep, &t->versus, &t->n_versus, &ignored));
        cf_ignore(cf_sweep_past_add(&t->sweep, &ignored));
    }
}

static void clear(cf_sweep_table *t)
{
    if (t->has_sweep) {
        cf_sweep_deinit(&t->sweep);
    }
    if (t->has_plan) {
        cf_sweep_plan_deinit(&t->plan);
    }
    cf_free(t->ticked);
    cf_free(t->row);
    cf_free(t->first);
    cf_free(t->versus);
    *t = (cf_sweep_table){.lab = t->lab};
}

void cf_sweep_table_deinit(cf_sweep_table *t)
{
    if (t->is_on) {
        cf_lab_end_task(t->lab, t);
    }
    clear(t);
}

/* The model that the workbench answers with, by its name. */
static void name_model(cf_sweep_table *t)
{
    const cf_lab_engine *e = cf_lab_engine_of(t->lab);
    if (e->engine != NULL) {
        cf_engine_info info = cf_engine_get_info(e->engine);
        snprintf(t->model, sizeof t->model, "%s", info.path[0] != '\0' ? info.path : "bundled");
    } else {
        cf_str name = cf_lab_info(t->lab).name;
        snprintf(t->model, sizeof t->model, "%.*s", (int)name.n, name.n > 0 ? name.p : "");
    }
}

cf_status cf_sweep_table_start(cf_sweep_table *t, cf_lab *lab, cf_store *store,
                               const cf_trust *trust, const char *path, cf_error *err)
{
    if (t->is_on) {
        cf_lab_end_task(t->lab, t);
    }
    t->lab = lab;
    CF_TRY(cf_lab_need_idle(lab, err));
    clear(t);
    size_t n;
    const cf_uuid *ticked = cf_lab_ticked(lab, &n);
    t->ticked = cf_calloc(n + 1, sizeof *t->ticked);
    if (t->ticked == NULL) {
        return cf_oom_for(err, "the sweep");
    }
    if (n > 0) {
        memcpy(t->ticked, ticked, n * sizeof *t->ticked);
    }
    t->n_ticked = n;
    t->store = store;
    t->trust = trust;
    snprintf(t->path, sizeof t->path, "%s", path);
    name_model(t);
    const cf_task task = {.name = "sweeping",
                          .run = run,
                          .take = take,
                          .end = on_end,
                          .progress = progress,
                          .free_item = cf_free,
                          .ud = t};
    CF_TRY(cf_lab_start_task(lab, &task, err));
    t->is_on = true;
    return CF_OK;
}

/* ---- the table ---------------------------------------------------------- */

/* The cell of a prompt in a column; NULL: not done yet. */
static const cf_sweep_cell *cell_at(const cf_sweep_table *t, size_t prompt, size_t col)
{
    size_t i = col * t->n_row + prompt;
    return i < t->n_told ? &t->sweep.cell[i] : NULL;
}

const cf_sweep_cell *cf_sweep_table_cell(const cf_sweep_table *t, size_t row, size_t col)
{
    return t->is_ready && row < t->n_row && col < t->n_col ? cell_at(t, t->row[row], col) : NULL;
}

const cf_sweep_cell *cf_sweep_table_column(const cf_sweep_table *t, size_t col)
{
    return &t->sweep.cell[col * t->n_row];
}

/* The sort key of a row, ascending. */
static double rank(const cf_sweep_table *t, size_t prompt)
{
    double sum = 0, least = 2, most = -2;
    for (size_t k = 0; k < t->n_col; k++) {
        const cf_sweep_cell *c = cell_at(t, prompt, k);
        double score = c != NULL ? cf_sweep_score(&t->sweep, c) : 1;
        sum += score;
        least = score < least ? score : least;
        most = score > most ? score : most;
    }
    return t->order == CF_SWEEP_BY_PLAN ? 0 : t->order == CF_SWEEP_WORST_FIRST ? sum : least - most;
}

typedef struct ranked {
    double rank;
    size_t prompt;
} ranked;

static int by_rank(const void *a, const void *b)
{
    const ranked *x = a, *y = b;
    if (x->rank != y->rank) {
        return x->rank < y->rank ? -1 : 1;
    }
    return (x->prompt > y->prompt) - (x->prompt < y->prompt);
}

void cf_sweep_table_sort(cf_sweep_table *t, cf_sweep_order order)
{
    t->order = order;
    ranked *v = t->is_ready ? cf_calloc(t->n_row, sizeof *v) : NULL;
    if (v == NULL) {
        for (size_t i = 0; t->row != NULL && i < t->n_row; i++) {
            t->row[i] = i;
        }
        return;
    }
    for (size_t i = 0; i < t->n_row; i++) {
        v[i] = (ranked){rank(t, i), i};
    }
    qsort(v, t->n_row, sizeof *v, by_rank);
    for (size_t i = 0; i < t->n_row; i++) {
        t->row[i] = v[i].prompt;
    }
    cf_free(v);
}

/* ---- a cell as a conversation ------------------------------------------- */

/* A UUID that follows from the cell's key, of version 8 (RFC 9562). */
static cf_uuid id_of(const cf_sweep_cell *c, size_t number)
{
    char text[CF_HASH_TEXT + 32], hex[CF_HASH_TEXT + 1], id[CF_UUID_TEXT + 1];
    cf_uuid out = {{0}};
    int n = snprintf(text, sizeof text, "%s %zu", c->key, number);
    cf_hash_hex(hex, text, (size_t)n);
    snprintf(id, sizeof id, "%.8s-%.4s-8%.3s-a%.3s-%.12s", hex, hex + 8, hex + 12, hex + 15,
             hex + 18);
    (void)cf_uuid_parse(&out, id, CF_UUID_TEXT);
    return out;
}

static void put_title(const cf_sweep_table *t, const cf_sweep_cell *c, cf_buf *out)
{
    const cf_str parts[] = {t->plan.item[c->item].name, cf_sweep_model_name(&t->sweep, c),
                            cf_sweep_template_name(&t->sweep, c),
                            cf_sweep_system_name(&t->sweep, c),
                            cf_sweep_wording_name(&t->sweep, c)};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        if (parts[i].n > 0) {
            cf_buf_adds(out, i > 0 ? ", " : "");
            cf_buf_add(out, parts[i].p, parts[i].n);
        }
    }
}

/* The turns of a cell: its messages, and the reply with its bytes. */
static cf_status make_turns(const cf_sweep_cell *c, const json_t *messages, cf_arena *arena,
                            cf_store_turn *turn, cf_error *err)
{
    const size_t n = json_array_size(messages);
    for (size_t i = 0; i <= n; i++) {
        const json_t *m =
            i < n ? json_array_get(messages, i) : json_object_get(c->result, "message");
        cf_buf text = CF_BUF_INIT;
        cf_json_write(&text, m);
        char *copy = cf_arena_strndup(arena, cf_buf_cstr(&text), text.n);
        turn[i] = (cf_store_turn){.id = id_of(c, i + 1),
                                  .parent = i > 0 ? id_of(c, i) : (cf_uuid){{0}},
                                  .message = cf_str_make(copy, text.n),
                                  .status = CF_TURN_OK,
                                  .fork_token = -1,
                                  .finished_ms = -1};
        bool failed = text.failed || copy == NULL;
        cf_buf_deinit(&text);
        if (failed) {
            return cf_oom_for(err, "the conversation");
        }
    }
    return CF_OK;
}

/* The preface of a cell: its tools and variables. */
static cf_status put_preface(const cf_sweep_table *t, const cf_sweep_cell *c, cf_buf *out,
                             cf_error *err)
{
    cf_jw w;
    const json_t *tools = cf_sweep_tools(&t->sweep, c);
    const json_t *extra = t->plan.item[c->item].extra;
    cf_jw_init(&w, out);
    cf_jw_object(&w, NULL);
    if (tools != NULL) {
        cf_jw_json(&w, "tools", tools);
    }
    if (extra != NULL) {
        cf_jw_json(&w, "extra_context", extra);
    }
    cf_jw_end(&w);
    return cf_jw_finish(&w, err);
}

static cf_status put_tree(const cf_sweep_table *t, const cf_sweep_cell *c, const json_t *messages,
                          cf_arena *arena, cf_error *err)
{
    const size_t n = json_array_size(messages) + 1;
    const cf_str tag = cf_str_from("sweep");
    cf_buf title = CF_BUF_INIT, preface = CF_BUF_INIT;
    cf_store_turn *turn = cf_arena_calloc(arena, n, sizeof *turn);
    cf_store_run written = cf_store_run_none();
    cf_store_put_report report;
    cf_error why = {0};
    if (turn == NULL) {
        return cf_oom_for(err, "the conversation");
    }
    cf_status st = make_turns(c, messages, arena, turn, err);
    CF_THEN(st, put_preface(t, c, &preface, err));
    put_title(t, c, &title);
    written.raw = cf_json_get_str(c->result, "raw");
    written.engine = cf_str_from("sweep");
    written.model = cf_sweep_model_name(&t->sweep, c);
    turn[n - 1].run = &written;
    const cf_store_tree tree = {.conv = {.id = id_of(c, 0),
                                         .title = cf_buf_str(&title),
                                         .head = turn[n - 1].id,
                                         .preface = cf_buf_str(&preface),
                                         .tags = &tag,
                                         .n_tags = 1},
                                .turns = turn,
                                .n = n};
    const cf_store_tree *list = &tree;
    CF_THEN(st, cf_store_put_trees(t->store, &list, 1, NULL, &report, &why, err));
    if (st == CF_OK && why.code != CF_OK) {
        st = why.code;
        *err = why;
    }
    cf_buf_deinit(&title);
    cf_buf_deinit(&preface);
    return st;
}

cf_status cf_sweep_table_open(const cf_sweep_table *t, const cf_sweep_cell *c, cf_uuid *out,
                              cf_error *err)
{
    if (t->store == NULL) {
        return cf_fail(err, CF_ENOTFOUND, "history is off");
    }
    if (c->result == NULL) {
        return cf_fail(err, CF_EINVAL, "this cell has no reply: %s",
                       c->error != NULL ? c->error : "out of memory");
    }
    cf_arena arena;
    json_t *messages = cf_sweep_messages(&t->sweep, c);
    cf_arena_init(&arena, 0);
    cf_status st = messages != NULL ? put_tree(t, c, messages, &arena, err)
                                    : cf_oom_for(err, "the conversation");
    json_decref(messages);
    cf_arena_deinit(&arena);
    *out = id_of(c, 0);
    return st;
}
