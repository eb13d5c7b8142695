/*
 * view_sweep.c - a sweep as a table of shades: a row a prompt, a column a
 * combination of model, template, system prompt and sampler, and beside it
 * the cell under the cursor.
 */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "tui/app/app.h"
#include "tui/lab/state/lab_marks.h"
#include "tui/lab/talk/lab_conversation.h"
#include "tui/study/plan/ticked_plan.h"
#include "tui/study/sweep/sweep_output.h"
#include "tui/study/sweep/sweep_table.h"
#include "tui/view/kit/moves.h"
#include "tui/view/kit/pane.h"
#include "tui/widget/note.h"
#include "tui/widget/pager.h"

enum { CELL_W = 6, CELL_MAX = 16, NAME_MIN = 14, SIDE_FROM = 96, HEAD_ROWS = 3, PLOT_ROWS = 3 };

typedef struct sweep_view {
    cf_sweep_table table;
    cf_list list; /* of rows */
    size_t col, col_top;
    size_t axis[HEAD_ROWS], n_axis; /* that the columns shown differ on */
    int cell_w;
    cf_pager detail;
    size_t shown;    /* what the detail is about, as `place` gives it */
    cf_buf written;  /* the plan that was made of ticks, with its prompts */
    char check[256]; /* of it */
    cf_uuid opened;  /* the conversation of a cell that was opened last */
} sweep_view;

static sweep_view *state(const cf_app *app)
{
    return app->state[CF_VIEW_SWEEP];
}

static void sweep_close(cf_app *app)
{
    sweep_view *v = state(app);
    cf_sweep_table_deinit(&v->table);
    cf_pager_deinit(&v->detail);
    cf_buf_deinit(&v->written);
}

static void sweep_enter(cf_app *app)
{
    state(app)->shown = SIZE_MAX;
}

static void start(cf_app *app, const char *path)
{
    sweep_view *v = state(app);
    cf_error err;
    v->col = v->col_top = 0;
    cf_list_go(&v->list, 0);
    if (cf_sweep_table_start(&v->table, app->lab, app->store, app->trust, path, &err) != CF_OK) {
        cf_app_error(app, &err);
    }
}

/* Writes a plan of what is ticked and runs it, with the check that was named last;
 * the one that ran last is shown. */
static void start_ticked(cf_app *app, const char *check)
{
    sweep_view *v = state(app);
    if (check[0] != '\0') {
        snprintf(v->check, sizeof v->check, "%s", check);
    }
    cf_buf folder = CF_BUF_INIT, path = CF_BUF_INIT, text = CF_BUF_INIT;
    cf_error err;
    cf_buf_addf(&folder, "%s/sweep", app->state_folder != NULL ? app->state_folder : "");
    cf_status st = app->state_folder != NULL
                       ? cf_app_may(app, &err)
                       : cf_fail(&err, CF_ENOTFOUND, "there is no folder for a plan");
    CF_THEN(st, cf_ticked_plan_write(app->lab, cf_buf_cstr(&folder), v->check, &path, &text, &err));
    if (st != CF_OK) {
        v->check[0] = '\0';
        cf_app_error(app, &err);
    } else if (!cf_str_eq(cf_buf_str(&text), cf_buf_str(&v->written)) || v->table.was_stopped ||
               strcmp(v->table.path, cf_buf_cstr(&path)) != 0) {
        cf_buf_deinit(&v->written);
        v->written = text;
        text = (cf_buf)CF_BUF_INIT;
        start(app, cf_buf_cstr(&path));
    }
    cf_buf_deinit(&folder);
    cf_buf_deinit(&path);
    cf_buf_deinit(&text);
}

/* The plan that ":sweep" named; a check, or nothing: what is ticked. */
static void sweep_start(cf_app *app, const cf_target *target)
{
    char folder[200];
    size_t n_saved, n_choice;
    struct stat s;
    const char *arg = target->text.p;
    bool is_word = strchr(arg, ' ') != NULL || strpbrk(arg, "./") == NULL;
    (void)cf_lab_ticked(app->lab, &n_saved);
    (void)cf_lab_choices(app->lab, &n_choice);
    cf_app_open_view(app, CF_VIEW_SWEEP);
    if (arg[0] != '\0' && stat(arg, &s) == 0) {
        start(app, arg);
    } else if (arg[0] != '\0' && !is_word) {
        if (getcwd(folder, sizeof folder) == NULL) {
            snprintf(folder, sizeof folder, "the current folder");
        }
        cf_app_say(app, CF_STYLE_ERROR, "no plan '%s' in %s; a check is such as contains TEXT", arg,
                   folder);
    } else if (arg[0] != '\0' || (n_saved + n_choice > 0 &&
                                  !cf_uuid_eq(cf_lab_conv_id(app->lab), state(app)->opened))) {
        start_ticked(app, arg);
    }
}

/* ---- the cell under the cursor ------------------------------------------ */

/* The cell under the cursor, the first one of a group; NULL: not done yet. */
static const cf_sweep_cell *cell_here(const sweep_view *v)
{
    const cf_sweep_table *t = &v->table;
    return v->col < t->n_shown ? cf_sweep_table_cell(t, v->list.cursor, t->first[v->col]) : NULL;
}

/* Which cell, whether it is done, and whether the sweep has ended. */
static size_t place(const sweep_view *v)
{
    const cf_sweep_table *t = &v->table;
    size_t cell = v->list.cursor * t->n_col + v->col;
    size_t group = t->group != CF_SWEEP_NONE ? t->group + 1 : 0;
    bool is_done = cell_here(v) != NULL;
    cell = cell * (CF_SWEEP_AXES + 1) + group;
    cell = group > 0 ? cell * (t->n_row * t->n_col + 1) + t->n_told : cell;
    return (cell * CF_SWEEP_ORDERS + t->order) * 4 + (size_t)is_done * 2 + (t->n_versus > 0);
}

static void put_line(cf_buf *out, const char *name, cf_str value)
{
    if (value.n > 0) {
        cf_buf_addf(out, "%-9s ", name);
        cf_buf_add(out, value.p, value.n);
        cf_buf_addc(out, '\n');
    }
}

static void put_column(cf_buf *out, const sweep_view *v)
{
    const cf_sweep *s = &v->table.sweep;
    const cf_sweep_cell *c = cf_sweep_table_column(&v->table, v->table.first[v->col]);
    cf_buf_addf(out, "# Column %zu\n", v->col + 1);
    put_line(out, "model", cf_sweep_model_name(s, c));
    put_line(out, "adapter", cf_sweep_adapter_name(s, c));
    put_line(out, "template", cf_sweep_template_name(s, c));
    put_line(out, "system", cf_sweep_system_name(s, c));
    put_line(out, "wording", cf_sweep_wording_name(s, c));
    put_line(out, "sampler", cf_sweep_sampler_name(s, c));
    const uint32_t n_repeat = cf_sweep_sampler_of(s, c)->n_repeat;
    if (n_repeat > 1) {
        cf_buf_addf(out, "repeat    %zu of %u\n", c->repeat + 1, n_repeat);
    }
}

static void put_cell(cf_buf *out, const sweep_view *v)
{
    const cf_sweep_table *t = &v->table;
    const cf_sweep_cell *c = cell_here(v);
    if (c == NULL) {
        cf_buf_adds(out, "\nnot done yet\n");
        return;
    }
    cf_buf_adds(out, "\n# Checks\n");
    for (size_t k = 0; k < t->plan.n_check; k++) {
        const cf_sweep_answer *a = &c->answer[k];
        cf_str name = t->plan.check[k].name;
        if (a->is_absent) {
            continue;
        }
        cf_buf_adds(out, !a->is_known ? "?    " : a->passes ? "ok   " : "FAIL ");
        cf_buf_add(out, name.p, name.n);
        if (a->has_value) {
            cf_buf_addf(out, " %.3f", a->value);
        }
        if (a->why != NULL && a->why[0] != '\0') {
            cf_buf_addf(out, ": %s", a->why);
        }
        cf_buf_addc(out, '\n');
    }
    if (t->plan.n_check == 0) {
        cf_buf_adds(out, "the plan has none\n");
    }
    cf_buf_addf(out, "\n# Reply%s\n", c->is_reused ? ", known before" : "");
    if (c->result != NULL) {
        cf_sweep_reply(c, out);
    } else {
        cf_buf_adds(out, c->error != NULL ? c->error : "out of memory");
    }
    cf_buf_addc(out, '\n');
}

static void put_score(cf_buf *out, double score)
{
    if (score < 0) {
        cf_buf_adds(out, "   ?  ");
    } else {
        cf_buf_addf(out, "%4.0f%% ", 100 * score);
    }
}

/* The combinations of a group with what each passes of this prompt. */
static void put_group(cf_buf *out, const sweep_view *v)
{
    const cf_sweep_table *t = &v->table;
    const cf_sweep_cell *first = cf_sweep_table_column(t, t->first[v->col]);
    cf_str name = cf_sweep_axis_label(&t->sweep, first, t->group);
    cf_buf_addf(out, "# %s ", cf_sweep_axis_name(t->group));
    cf_buf_add(out, name.p, name.n);
    cf_buf_adds(out, "\n\n");
    for (size_t col = 0; col < t->n_col; col++) {
        if (!cf_sweep_table_is_in(t, v->col, col)) {
            continue;
        }
        const cf_sweep_cell *c = cf_sweep_table_cell(t, v->list.cursor, col);
        put_score(out, c != NULL ? cf_sweep_score(&t->sweep, c) : -1);
        bool has_one = false;
        for (size_t a = 0; a < CF_SWEEP_AXES; a++) {
            cf_str label = cf_sweep_axis_label(&t->sweep, cf_sweep_table_column(t, col), a);
            if (a != t->group && label.n > 0) {
                cf_buf_adds(out, has_one ? ", " : "");
                cf_buf_add(out, label.p, label.n);
                has_one = true;
            }
        }
        cf_buf_addc(out, '\n');
    }
}

static void update_detail(sweep_view *v)
{
    const cf_sweep_table *t = &v->table;
    if (v->shown == place(v)) {
        return;
    }
    v->shown = place(v);
    cf_buf out = CF_BUF_INIT;
    if (t->group != CF_SWEEP_NONE) {
        put_group(&out, v);
    } else {
        put_column(&out, v);
        put_cell(&out, v);
    }
    if (t->n_versus > 0) {
        cf_buf_adds(&out, "\n# Comparisons\n");
    }
    for (size_t i = 0; i < t->n_versus; i++) {
        cf_sweep_put_versus(&out, &t->versus[i]);
        cf_buf_addc(&out, '\n');
    }
    cf_pager_set(&v->detail, cf_buf_str(&out));
    cf_buf_deinit(&out);
}

/* ---- drawing ------------------------------------------------------------ */

/* A cell as "2/3", or the share that a group passes, and its shade. */
static cf_style shade(const cf_sweep_table *t, size_t row, size_t shown, char text[CELL_W])
{
    static const cf_style steps[] = {CF_STYLE_HEAT_3, CF_STYLE_HEAT_2, CF_STYLE_HEAT_1,
                                     CF_STYLE_HEAT_0};
    const cf_sweep_cell *c = cf_sweep_table_cell(t, row, t->first[shown]);
    if (t->group != CF_SWEEP_NONE) {
        double mean = cf_sweep_table_mean(t, row, shown);
        if (mean >= 0) {
            snprintf(text, CELL_W, "%3.0f%%", 100 * mean);
            return steps[mean >= 1 ? 3 : mean >= 0.5 ? 2 : mean > 0 ? 1 : 0];
        }
    }
    if (c == NULL) {
        snprintf(text, CELL_W, "  .  ");
        return CF_STYLE_DIM;
    }
    if (c->result == NULL) {
        snprintf(text, CELL_W, " err ");
        return CF_STYLE_ERROR;
    }
    double score = cf_sweep_score(&t->sweep, c);
    size_t n = 0, n_all = 0;
    for (size_t k = 0; k < t->plan.n_check; k++) {
        n += c->answer[k].is_known && c->answer[k].passes;
        n_all += !c->answer[k].is_absent;
    }
    if (score < 0) {
        snprintf(text, CELL_W, " done");
        return CF_STYLE_NORMAL;
    }
    snprintf(text, CELL_W, "%2u/%-2u", (unsigned)(n % 100), (unsigned)(n_all % 100));
    return steps[score >= 1 ? 3 : score >= 0.5 ? 2 : score > 0 ? 1 : 0];
}

static void draw_row(const sweep_view *v, cf_grid *g, cf_rect r, int name_w, size_t row,
                     size_t n_cols)
{
    const cf_sweep_table *t = &v->table;
    cf_str name = t->plan.item[t->row[row]].name;
    bool is_on = row == v->list.cursor;
    cf_grid_put(g, r.x, r.y, name_w - 1, name, is_on ? CF_STYLE_SELECTED : CF_STYLE_NORMAL);
    for (size_t k = 0; k < n_cols; k++) {
        char text[CELL_W];
        size_t col = v->col_top + k;
        cf_style style = shade(t, row, col, text);
        if (is_on && col == v->col) {
            style |= CF_REVERSE;
        }
        cf_grid_put(g, r.x + name_w + (int)k * v->cell_w, r.y, CELL_W - 1, cf_str_from(text),
                    style);
    }
}

/* How many columns fit, with the current one among them. */
static size_t fit_columns(sweep_view *v, int width)
{
    size_t n = width > v->cell_w ? (size_t)(width / v->cell_w) : 1;
    n = n < v->table.n_shown ? n : v->table.n_shown;
    if (v->col < v->col_top) {
        v->col_top = v->col;
    } else if (v->col >= v->col_top + n) {
        v->col_top = v->col + 1 - n;
    }
    if (v->col_top + n > v->table.n_shown) {
        v->col_top = v->table.n_shown - n;
    }
    return n;
}

/* The axes on which the columns shown differ, and cells that their names take. */
static void find_heads(sweep_view *v, int width)
{
    const cf_sweep_table *t = &v->table;
    int longest = CELL_W;
    v->n_axis = 0;
    for (size_t a = 0; a < CF_SWEEP_AXES && v->n_axis < HEAD_ROWS; a++) {
        bool differs = false;
        int w = 0;
        if (t->group != CF_SWEEP_NONE && a != t->group) {
            continue;
        }
        for (size_t i = 0; i < t->n_shown; i++) {
            const cf_sweep_cell *c = cf_sweep_table_column(t, t->first[i]);
            cf_str name = cf_sweep_axis_label(&t->sweep, c, a);
            int n = (int)cf_text_width(name.p != NULL ? name.p : "", name.n) + 1;
            differs = differs || cf_sweep_axis_value(c, a) !=
                                     cf_sweep_axis_value(cf_sweep_table_column(t, t->first[0]), a);
            w = n > w ? n : w;
        }
        if (differs) {
            v->axis[v->n_axis++] = a;
            longest = w > longest ? w : longest;
        }
    }
    int fits = t->n_shown > 0 ? width / (int)t->n_shown : width;
    longest = longest < CELL_MAX ? longest : CELL_MAX;
    v->cell_w = fits < CELL_W ? CELL_W : fits < longest ? fits : longest;
}

static void draw_heads(const sweep_view *v, cf_grid *g, cf_rect r, int name_w, size_t n_cols)
{
    const cf_sweep_table *t = &v->table;
    cf_grid_puts(g, r.x, r.y, name_w - 1, v->n_axis > 0 ? cf_sweep_axis_name(v->axis[0]) : "prompt",
                 CF_STYLE_TITLE);
    for (size_t row = 0; row < v->n_axis; row++) {
        cf_grid_puts(g, r.x, r.y + (int)row, name_w - 1, cf_sweep_axis_name(v->axis[row]),
                     CF_STYLE_DIM);
        for (size_t k = 0; k < n_cols; k++) {
            size_t col = v->col_top + k;
            cf_str name = cf_sweep_axis_label(&t->sweep, cf_sweep_table_column(t, t->first[col]),
                                              v->axis[row]);
            cf_grid_put(g, r.x + name_w + (int)k * v->cell_w, r.y + (int)row, v->cell_w - 1, name,
                        col == v->col ? CF_STYLE_FOCUS : CF_STYLE_TITLE);
        }
    }
}

/* What each column passes of all prompts, as a number and above it as a bar. */
static void draw_sums(const sweep_view *v, cf_grid *g, cf_rect r, int name_w, size_t n_cols)
{
    static const char *const eighths[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    int last = r.y + r.h - 1;
    cf_grid_puts(g, r.x, last, name_w - 1, "all", CF_STYLE_TITLE);
    for (size_t k = 0; k < n_cols; k++) {
        double mean = cf_sweep_table_sum(&v->table, v->col_top + k);
        int x = r.x + name_w + (int)k * v->cell_w;
        if (mean < 0) {
            cf_grid_puts(g, x, last, CELL_W - 1, "   -", CF_STYLE_DIM);
            continue;
        }
        cf_grid_putf(g, x, last, CELL_W - 1, CF_STYLE_TITLE, "%3.0f%%", 100 * mean);
        int n = (int)(mean * 8 * (r.h - 1) + 0.5);
        for (int y = last - 1; y >= r.y; y--, n -= 8) {
            int part = n < 0 ? 0 : n > 8 ? 8 : n;
            for (int i = 0; i < 4; i++) {
                cf_grid_puts(g, x + i, y, 1, eighths[part], CF_STYLE_HEAT_0);
            }
        }
    }
}

static size_t draw_table(sweep_view *v, cf_grid *g, cf_rect r)
{
    const cf_sweep_table *t = &v->table;
    int name_w = r.w / 3 > NAME_MIN ? r.w / 3 : NAME_MIN;
    find_heads(v, r.w - name_w);
    size_t n_cols = fit_columns(v, r.w - name_w);
    int heads = v->n_axis > 0 ? (int)v->n_axis : 1;
    int sums = r.h - heads - (int)t->n_row > PLOT_ROWS ? PLOT_ROWS + 1 : r.h - heads > 2 ? 1 : 0;
    int rows_h = r.h - heads - sums;
    rows_h = rows_h > (int)t->n_row ? (int)t->n_row : rows_h;
    draw_heads(v, g, r, name_w, n_cols);
    cf_rows rows =
        cf_rows_begin(g, (cf_rect){r.x, r.y + heads, r.w, rows_h}, &v->list, t->n_row, false);
    while (cf_rows_next(&rows, 0)) {
        draw_row(v, g, rows.at, name_w, rows.i, n_cols);
    }
    if (sums > 0) {
        draw_sums(v, g, (cf_rect){r.x, r.y + heads + rows_h, r.w, sums}, name_w, n_cols);
    }
    return n_cols;
}

static void put_head(const sweep_view *v, size_t n_cols, cf_buf *out)
{
    static const char *const orders[] = {"in the plan's order", "worst first", "most apart first"};
    const cf_sweep_table *t = &v->table;
    cf_buf_adds(out, v->written.n > 0 ? "what is ticked" : t->path);
    if (t->is_ready) {
        cf_buf_addf(out, "  %zu of %zu cells", t->n_told, t->n_row * t->n_col);
        if (t->n_reused > 0) {
            cf_buf_addf(out, ", %zu known before", t->n_reused);
        }
        if (t->n_failed > 0) {
            cf_buf_addf(out, ", %zu failed", t->n_failed);
        }
        cf_buf_addf(out, ", %s", orders[t->order]);
        if (t->group != CF_SWEEP_NONE) {
            cf_buf_addf(out, ", by %s", cf_sweep_axis_name(t->group));
        }
        if (n_cols > 0 && n_cols < t->n_shown) {
            cf_buf_addf(out, ", %zu of %zu columns", n_cols, t->n_shown);
        }
    } else {
        cf_buf_adds(out, t->is_on ? "  reading the plan" : "");
    }
    cf_buf_adds(out, t->was_stopped && t->is_ready ? "; stopped, :sweep goes on" : "");
}

static void sweep_draw(cf_app *app, cf_grid *g, cf_rect r)
{
    sweep_view *v = state(app);
    cf_buf head = CF_BUF_INIT;
    r = (cf_rect){r.x + 1, r.y, r.w - 2, r.h};
    if (v->table.path[0] == '\0') {
        (void)cf_note_put(g, r,
                          cf_str_from("No sweep ran yet.  Tick what is to be compared with Space: "
                                      "system prompts (:systems), templates (7), conversations "
                                      "(6); :try adds a model or a sampler.  Then :sweep runs "
                                      "them, :sweep contains TEXT checks each reply; :sweep PLAN "
                                      "runs a file."),
                          CF_STYLE_DIM);
        return;
    }
    bool is_side = r.w >= SIDE_FROM, is_table = v->table.is_ready && r.h >= 6;
    cf_rect left = {r.x, r.y + 1, is_side ? r.w * 5 / 9 : r.w, is_side ? r.h - 1 : (r.h - 1) / 2};
    cf_buf verdict = CF_BUF_INIT;
    cf_sweep_table_put_verdict(&v->table, &verdict);
    int said = is_table ? cf_note_put(g, (cf_rect){r.x, r.y + 1, r.w, r.h / 4},
                                      cf_buf_str(&verdict), CF_STYLE_OK)
                        : 0;
    cf_buf_deinit(&verdict);
    left.y += said;
    left.h -= is_side ? said : 0;
    put_head(v, is_table ? draw_table(v, g, left) : 0, &head);
    cf_grid_put(g, r.x, r.y, r.w, cf_buf_str(&head), CF_STYLE_TITLE);
    cf_buf_deinit(&head);
    if (is_table) {
        update_detail(v);
        int below = left.y + left.h + 1;
        cf_pager_draw(&v->detail, g,
                      is_side ? (cf_rect){left.x + left.w + 2, left.y, r.w - left.w - 2, left.h}
                              : (cf_rect){left.x, below, r.w, r.y + r.h - below});
    }
}

/* ---- commands ----------------------------------------------------------- */

static void sweep_move(cf_app *app, int move)
{
    cf_list_move(&state(app)->list, (cf_move)move);
}

static void sweep_column(cf_app *app, int by)
{
    sweep_view *v = state(app);
    if (by < 0 && v->col > 0) {
        v->col--;
    } else if (by > 0 && v->col + 1 < v->table.n_shown) {
        v->col++;
    }
}

static void sweep_read(cf_app *app, int move)
{
    cf_pager_move(&state(app)->detail, (cf_move)move);
}

static void sweep_sort(cf_app *app)
{
    sweep_view *v = state(app);
    if (v->table.is_ready) {
        cf_sweep_table_sort(&v->table, (v->table.order + 1) % CF_SWEEP_ORDERS);
        cf_list_go(&v->list, 0);
    }
}

static void sweep_group(cf_app *app)
{
    sweep_view *v = state(app);
    if (!v->table.is_ready) {
        return;
    }
    bool was_grouped = v->table.group != CF_SWEEP_NONE;
    cf_sweep_table_group(&v->table);
    v->col = v->col_top = 0;
    if (v->table.group == CF_SWEEP_NONE) {
        cf_app_say(app, CF_STYLE_DIM,
                   was_grouped ? "each combination is a column"
                               : "the columns differ on one axis alone");
    }
}

static void sweep_show(cf_app *app)
{
    sweep_view *v = state(app);
    cf_uuid id;
    cf_error err;
    if (v->table.group != CF_SWEEP_NONE && v->table.is_ready) {
        size_t first = v->table.first[v->col]; /* its columns one by one */
        while (v->table.group != CF_SWEEP_NONE) {
            cf_sweep_table_group(&v->table);
        }
        v->col = first;
        return;
    }
    const cf_sweep_cell *c = cell_here(v);
    cf_status st = c != NULL ? cf_sweep_table_open(&v->table, c, &id, &err)
                             : cf_fail(&err, CF_ENOTFOUND, "this cell is not done yet");
    CF_THEN(st, cf_lab_open_conv(app->lab, id, (cf_uuid){{0}}, &err));
    if (st == CF_OK) {
        v->opened = id;
        cf_str tpl = cf_sweep_template_name(&v->table.sweep, c);
        cf_app_open_view(app, CF_VIEW_CHAT);
        if (tpl.n > 0) {
            cf_app_say(app, CF_STYLE_DIM, "written with the template %.*s; gT renders with it",
                       (int)(tpl.n < 80 ? tpl.n : 80), tpl.p);
        }
    } else {
        cf_app_error(app, &err);
    }
}

static void sweep_click(cf_app *app, int what, size_t value)
{
    (void)what;
    cf_list_go(&state(app)->list, value);
}

static bool sweep_text(cf_app *app, cf_buf *out)
{
    const sweep_view *v = state(app);
    if (!v->table.is_ready || v->table.is_on || v->table.was_stopped) {
        return false;
    }
    cf_sweep_put_table(out, &v->table.sweep, v->table.versus, v->table.n_versus);
    return true;
}

#define HERE CF_IN(CF_VIEW_SWEEP)

static const cf_command sweep_commands[] = {
    {"show", HERE, "<CR>", "", "open the conversation of the cell, or the columns of a group",
     CF_RUN(sweep_show)},
    {"left", HERE, "h <Left>", "", "previous column", CF_BY(sweep_column, -1)},
    {"right", HERE, "l <Right>", "", "the next column", CF_BY(sweep_column, 1)},
    {"sort", HERE, "s", "", "sort the rows: as in the plan, worst first, most apart first",
     CF_RUN(sweep_sort)},
    {"group", HERE, "gy", "", "group the columns: by model, by template ..., each combination",
     CF_RUN(sweep_group)},
    CF_READ_ROWS(sweep_read, HERE),
    CF_MOVE_ROWS(sweep_move, HERE),
    {0},
};

const cf_view_ops cf_view_sweep = {
    .name = "sweep",
    .title = "Sweep",
    .commands = sweep_commands,
    .footer = "down right show sort group page back",
    .state_size = sizeof(sweep_view),
    .close = sweep_close,
    .enter = sweep_enter,
    .draw = sweep_draw,
    .click = sweep_click,
    .show = sweep_start,
    .text = sweep_text,
};
