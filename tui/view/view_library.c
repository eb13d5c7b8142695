/*
 * view_library.c - saved conversations: a list with a preview and counts.
 *
 * Two lists share the screen: conversations (filtered with "\"), and the hits
 * of a search ("/") when there was one; "back" leaves the hits first.
 *
 * With many conversations a list and its counts take longer than a key may: a
 * key reads the first rows, the workbench's reader the rest and then the counts.
 */
#include <stdio.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/os.h"
#include "storage/store.h"
#include "tui/app/app.h"
#include "tui/grid/wrap.h"
#include "tui/lab/diff_model.h"
#include "tui/lab/lab_conversation.h"
#include "tui/lab/lab_task.h"
#include "tui/sys/when.h"
#include "tui/view/moves.h"
#include "tui/view/view_diff.h"
#include "tui/widget/list.h"

enum { ROWS_MAX = 2000, ROWS_FIRST = 150 };

/* The kinds of reads: a long list, or the counts of each facet. */
typedef struct reading {
    cf_arena arena;
    cf_store *store;
    cf_store_query query; /* its text is `filter` */
    char filter[256];
    bool is_stale;             /* a list that is no longer shown */
    const cf_store_conv *rows; /* [n_rows] */
    size_t n_rows;
    const cf_store_facet *v; /* [n] */
    size_t n, total;
} reading;

typedef struct library {
    cf_arena arena;            /* the first rows, or hits */
    cf_arena preview;          /* the tree under the cursor */
    const cf_store_conv *rows; /* in arena or in whole->arena */
    size_t n_rows;
    reading *whole;  /* the list that is shown; NULL: the first rows are all */
    reading *known;  /* counts that are shown; NULL: none yet */
    reading *next;   /* being read, the reader's */
    bool reads_rows; /* next is a list and not counts */
    bool wants_rows, wants_counts; /* after that */
    char mark_title[2][80];
    cf_store_hits hits;
    bool shows_hits;
    cf_list list;
    cf_store_query query;
    char filter[256];
    cf_store_tree tree; /* of shown_id */
    cf_uuid shown_id;
} library;

static library *state(cf_app *app)
{
    return app->state[CF_VIEW_LIBRARY];
}

/* ---- the reader --------------------------------------------------------- */

static void free_reading(reading *r)
{
    if (r != NULL) {
        cf_arena_deinit(&r->arena);
        cf_free(r);
    }
}

/* On the reader's thread. */
static cf_status run_rows(void *ud, cf_lab *lab, cf_error *err)
{
    reading *r = ((library *)ud)->next;
    (void)lab;
    return cf_store_list(r->store, &r->query, &r->arena, &r->rows, &r->n_rows,
                         err);
}

static cf_status run_count(void *ud, cf_lab *lab, cf_error *err)
{
    reading *r = ((library *)ud)->next;
    (void)lab;
    return cf_store_facets(r->store, r->query.place, &r->arena, &r->v, &r->n,
                           &r->total, err);
}

static void end_reading(void *ud, cf_status status, const cf_error *err)
{
    library *s = ud;
    reading *r = s->next;
    (void)err; /* the workbench reports it */
    s->next = NULL;
    if (status != CF_OK || (s->reads_rows && r->is_stale)) {
        free_reading(r);
    } else if (!s->reads_rows) {
        free_reading(s->known);
        s->known = r;
    } else {
        s->whole = r;
        s->rows = r->rows;
        s->n_rows = r->n_rows;
        cf_list_set(&s->list, s->n_rows, s->list.height);
    }
}

/* Begins the next reading that is wanted; what is known stays in sight until
 * its end, or for good where there is no memory for it. */
static void start_reading(library *s, cf_lab *lab, cf_store *store)
{
    if (s->next != NULL || !(s->wants_rows || s->wants_counts)) {
        return;
    }
    bool is_rows = s->wants_rows;
    *(is_rows ? &s->wants_rows : &s->wants_counts) = false;
    reading *r = cf_calloc(1, sizeof *r);
    if (r == NULL) {
        return;
    }
    cf_arena_init(&r->arena, 0);
    r->store = store;
    r->query = s->query;
    memcpy(r->filter, s->filter, sizeof r->filter);
    r->query.text = cf_str_from(r->filter);
    r->query.limit = ROWS_MAX;
    s->next = r;
    s->reads_rows = is_rows;
    const cf_lab_task task = {.name = is_rows ? "listing" : "counting",
                              .run = is_rows ? run_rows : run_count,
                              .end = end_reading,
                              .ud = s};
    cf_error err;
    cf_status st = cf_lab_start_reading(lab, &task, &err);
    if (st != CF_OK) {
        *(is_rows ? &s->wants_rows : &s->wants_counts) = st == CF_EBUSY;
        s->next = NULL;
        free_reading(r);
    }
}

static bool library_step(cf_app *app)
{
    start_reading(state(app), app->lab, app->store);
    return false;
}

/* Waits for the rows that are still to come: a few milliseconds. */
static void wait_for_rows(cf_app *app)
{
    library *s = state(app);
    while (app->lab != NULL &&
           (s->wants_rows || (s->next != NULL && s->reads_rows))) {
        cf_lab_end_reading(app->lab, NULL);
        start_reading(s, app->lab, app->store);
    }
}

static cf_status library_open(cf_app *app, cf_error *err)
{
    library *s = cf_calloc(1, sizeof *s);
    if (s == NULL) {
        return cf_oom(err);
    }
    cf_arena_init(&s->arena, 0);
    cf_arena_init(&s->preview, 0);
    app->state[CF_VIEW_LIBRARY] = s;
    return CF_OK;
}

static void library_close(cf_app *app)
{
    library *s = state(app);
    if (s != NULL) {
        if (s->next != NULL) {
            cf_lab_end_reading(app->lab, s);
        }
        free_reading(s->whole);
        free_reading(s->known);
        cf_arena_deinit(&s->arena);
        cf_arena_deinit(&s->preview);
        cf_free(s);
        app->state[CF_VIEW_LIBRARY] = NULL;
    }
}

static void forget_rows(library *s)
{
    cf_arena_reset(&s->arena);
    free_reading(s->whole);
    s->whole = NULL;
    s->rows = NULL;
    s->n_rows = 0;
    s->wants_rows = false;
    if (s->next != NULL) {
        s->next->is_stale = true;
    }
}

/* Reads the list again; the cursor stays on its row as far as it can. */
static void reload(cf_app *app)
{
    library *s = state(app);
    cf_error err;
    forget_rows(s);
    s->shows_hits = false;
    s->shown_id = (cf_uuid){{0}};
    if (app->store == NULL) {
        return;
    }
    s->query.text = cf_str_from(s->filter);
    size_t first = app->lab != NULL ? s->list.cursor + ROWS_FIRST : ROWS_MAX;
    s->query.limit = first < ROWS_MAX ? first : ROWS_MAX;
    if (cf_store_list(app->store, &s->query, &s->arena, &s->rows, &s->n_rows,
                      &err) != CF_OK) {
        cf_app_error(app, &err);
    }
    if (app->lab != NULL) {
        s->wants_rows = first < ROWS_MAX && s->n_rows == first;
        s->wants_counts = true;
        start_reading(s, app->lab, app->store);
    }
    cf_list_set(&s->list, s->n_rows, s->list.height);
}

/* ---- what the cursor is on ---------------------------------------------- */

static bool current_conv(const library *s, cf_uuid *out)
{
    if (s->shows_hits) {
        if (s->list.cursor >= s->hits.n) {
            return false;
        }
        *out = s->hits.v[s->list.cursor].conversation;
        return true;
    }
    if (s->list.cursor >= s->n_rows) {
        return false;
    }
    *out = s->rows[s->list.cursor].id;
    return true;
}

static void load_preview(cf_app *app)
{
    library *s = state(app);
    cf_uuid id;
    if (!current_conv(s, &id) || cf_uuid_eq(id, s->shown_id)) {
        return;
    }
    cf_error err;
    cf_arena_reset(&s->preview);
    s->tree = (cf_store_tree){0};
    s->shown_id = id;
    if (cf_store_get_tree(app->store, id, 0, &s->preview, &s->tree, &err) !=
        CF_OK) {
        s->tree.n = 0;
        cf_app_error(app, &err);
    }
}

/* ---- drawing ------------------------------------------------------------ */

static void short_id(char out[9], cf_uuid id)
{
    char text[CF_UUID_TEXT + 1];
    cf_uuid_format(text, id);
    snprintf(out, 9, "%s", text + CF_UUID_TEXT - 8);
}

static void draw_row(cf_app *app, cf_grid *g, cf_rect r, const cf_store_conv *c,
                     bool is_on)
{
    cf_style style = is_on ? CF_STYLE_SELECTED : CF_STYLE_NORMAL;
    cf_grid_fill(g, r, ' ', style);
    char when[CF_WHEN_TEXT], id[9];
    cf_when_format(when, c->updated_ms, cf_os_now_ms());
    short_id(id, c->id);
    char mark = cf_lab_mark_of(app->lab, c->id);
    char tick = cf_lab_is_ticked(app->lab, c->id) ? '*' : ' ';
    int wide = r.w >= 90;
    int tail = wide ? 44 : 16;
    int title_w = r.w - 24 - tail;
    cf_grid_putf(g, r.x, r.y, 2, style, "%c%c", mark, tick);
    cf_grid_puts(g, r.x + 2, r.y, 10, when, style);
    cf_grid_puts(g, r.x + 13, r.y, 9, id, style);
    cf_str title = c->title.n != 0 ? c->title : c->preview;
    cf_grid_put(g, r.x + 23, r.y, title_w, title, style);
    int x = r.x + 24 + title_w;
    cf_grid_putf(g, x, r.y, 5, style, "%4u", (unsigned)c->n_turns);
    cf_grid_putf(g, x + 5, r.y, 4, style, "%3u", (unsigned)c->n_forks);
    if (wide) {
        cf_grid_put(g, x + 10, r.y, 14, c->model, style);
        int at = x + 25;
        for (size_t i = 0; i < c->n_tags && at < r.x + r.w - 1; i++) {
            at +=
                1 + cf_grid_put(g, at, r.y, r.x + r.w - at, c->tags[i], style);
        }
    }
}

static void draw_hit(cf_grid *g, cf_rect r, const cf_store_hit *h, bool is_on)
{
    cf_style style = is_on ? CF_STYLE_SELECTED : CF_STYLE_NORMAL;
    cf_grid_fill(g, r, ' ', style);
    char when[CF_WHEN_TEXT];
    cf_when_format(when, h->created_ms, cf_os_now_ms());
    cf_grid_puts(g, r.x + 2, r.y, 10, when, style);
    if (h->title.n != 0) {
        cf_grid_put(g, r.x + 13, r.y, 20, h->title, style);
    } else {
        char id[9];
        short_id(id, h->conversation);
        cf_grid_puts(g, r.x + 13, r.y, 20, id, style);
    }
    int x = r.x + 34;
    if (h->role.n != 0) {
        x += 1 + cf_grid_put(g, x, r.y, 10, h->role, style | CF_BOLD);
    }
    cf_grid_put(g, x, r.y, r.x + r.w - x, h->snippet, style);
    for (size_t i = 0; i < h->n_marks; i++) {
        int from = (int)cf_text_width(h->snippet.p, h->marks[i].off);
        int w =
            (int)cf_text_width(h->snippet.p + h->marks[i].off, h->marks[i].len);
        if (x + from + w < r.x + r.w) {
            cf_grid_restyle(g, (cf_rect){x + from, r.y, w, 1}, CF_STYLE_MATCH);
        }
    }
}

static void draw_list(cf_app *app, cf_grid *g, cf_rect r)
{
    library *s = state(app);
    size_t n = s->shows_hits ? s->hits.n : s->n_rows;
    cf_list_set(&s->list, n, (size_t)(r.h > 0 ? r.h : 0));
    if (n == 0) {
        cf_grid_puts(g, r.x + 2, r.y, r.w - 2,
                     s->shows_hits       ? "nothing found"
                     : s->filter[0] != 0 ? "no conversation passes the filter"
                                         : "no conversation yet; 1 and i "
                                           "begin one",
                     CF_STYLE_DIM);
        return;
    }
    for (int y = 0; y < r.h && s->list.top + (size_t)y < n; y++) {
        size_t i = s->list.top + (size_t)y;
        cf_rect row = {r.x, r.y + y, r.w, 1};
        cf_grid_spot(g, row, 0, i);
        if (s->shows_hits) {
            draw_hit(g, row, &s->hits.v[i], i == s->list.cursor);
        } else {
            draw_row(app, g, row, &s->rows[i], i == s->list.cursor);
        }
    }
    g->cursor_x = r.x;
    g->cursor_y = r.y + (int)(s->list.cursor - s->list.top);
}

static void library_click(cf_app *app, int what, size_t row)
{
    (void)what; /* there is one kind */
    cf_list_go(&state(app)->list, row);
}

static cf_style role_style(cf_str role)
{
    return cf_str_is(role, "user")        ? CF_STYLE_USER
           : cf_str_is(role, "assistant") ? CF_STYLE_ASSISTANT
           : cf_str_is(role, "system")    ? CF_STYLE_SYSTEM
                                          : CF_STYLE_TOOL;
}

/* The text of a turn, over as many lines as it needs, at most `max`; returns
 * how many. */
static int draw_turn(cf_grid *g, cf_rect r, const cf_store_turn *t, int max)
{
    cf_buf text = CF_BUF_INIT;
    cf_wrapped lines = {0};
    cf_lab_plain_text(&text, t->message);
    cf_str all = cf_buf_str(&text);
    cf_grid_put(g, r.x, r.y, 1, cf_str_make(t->role.p, t->role.n != 0),
                role_style(t->role));
    cf_grid_putf(g, r.x + 2, r.y, 4, CF_STYLE_DIM, "%02u",
                 (unsigned)t->ordinal);
    int y = 0, w = r.w - 6;
    bool fits = w > 2 && cf_wrapped_update(&lines, all, w, NULL) == CF_OK &&
                lines.n <= (size_t)max;
    for (size_t i = 0; fits && i < lines.n; i++, y++) {
        cf_grid_put(g, r.x + 6, r.y + y, w,
                    cf_str_make(all.p + lines.v[i].off, lines.v[i].len),
                    CF_STYLE_NORMAL);
    }
    if (!fits) { /* its beginning, and that there is more */
        for (; y < max && (size_t)y < lines.n; y++) {
            bool is_last = y + 1 == max;
            size_t off = lines.v[y].off;
            cf_grid_put(g, r.x + 6, r.y + y, w,
                        cf_str_make(all.p + off,
                                    is_last ? all.n - off : lines.v[y].len),
                        CF_STYLE_NORMAL);
        }
    }
    cf_wrapped_deinit(&lines);
    cf_buf_deinit(&text);
    return y > 0 ? y : 1;
}

/* "2025-01-02  4 turns, 1 fork  llama  template a41f" */
static void draw_about(cf_grid *g, cf_rect r, const cf_store_conv *c)
{
    cf_buf text = CF_BUF_INIT;
    char created[25];
    cf_os_format_time(created, c->created_ms);
    cf_buf_add(&text, created, 10);
    cf_buf_addf(&text, "  %u turn%s, %u fork%s", (unsigned)c->n_turns,
                c->n_turns == 1 ? "" : "s", (unsigned)c->n_forks,
                c->n_forks == 1 ? "" : "s");
    if (c->model.n != 0) {
        cf_buf_addf(&text, "  %.*s", (int)c->model.n, c->model.p);
    }
    if (c->template_hash.n != 0) {
        cf_buf_addf(&text, "  template %.*s",
                    (int)(c->template_hash.n < 8 ? c->template_hash.n : 8),
                    c->template_hash.p);
    }
    cf_grid_put(g, r.x, r.y, r.w, cf_buf_str(&text), CF_STYLE_DIM);
    cf_buf_deinit(&text);
}

static void draw_preview(cf_app *app, cf_grid *g, cf_rect r)
{
    library *s = state(app);
    load_preview(app);
    cf_uuid id;
    if (!current_conv(s, &id) || r.h < 1) {
        return;
    }
    /* Each turn gets its share of the lines, and what others left over. */
    bool has_about = r.h > 6;
    int room = r.h - (has_about ? 2 : 0), y = 0;
    for (size_t i = 0; i < s->tree.n && y < room; i++) {
        int left =
            (int)(s->tree.n - i < (size_t)room ? s->tree.n - i : (size_t)room);
        int share = (room - y) / left;
        y += draw_turn(g, (cf_rect){r.x, r.y + y, r.w, room - y},
                       &s->tree.turns[i], share > 0 ? share : 1);
    }
    if (has_about) {
        draw_about(g, (cf_rect){r.x, r.y + r.h - 1, r.w, 1}, &s->tree.conv);
    }
}

/* The conversations marked A and B, and how many are ticked. */
static void draw_marks(cf_app *app, cf_grid *g, cf_rect r)
{
    library *s = state(app);
    int y = 0;
    size_t n_ticked;
    (void)cf_lab_ticked(app->lab, &n_ticked);
    for (int i = 0; i < 2; i++) {
        cf_uuid id = cf_lab_marked(app->lab, i);
        if (!cf_uuid_is_nil(id) && y < r.h) {
            char text[9];
            short_id(text, id);
            cf_grid_putf(g, r.x, r.y + y, r.w, CF_STYLE_MARKED, "%c %s %s",
                         'A' + i, text, s->mark_title[i]);
            y++;
        }
    }
    if (n_ticked != 0 && y < r.h) {
        cf_grid_putf(g, r.x, r.y + y, r.w, CF_STYLE_MARKED,
                     "* %zu ticked, for X and =", n_ticked);
    }
}

static void draw_facets(cf_app *app, cf_grid *g, cf_rect r)
{
    static const char *const names[] = {"model", "template", "tag", "status",
                                        "year"};
    const reading *c = state(app)->known;
    int y = r.y - 1, x = 0;
    int last = -1;
    for (size_t i = 0; c != NULL && i < c->n; i++) {
        const cf_store_facet *f = &c->v[i];
        if ((int)f->kind != last) {
            last = (int)f->kind;
            y++;
            x = r.x + cf_grid_putf(g, r.x, y, r.w, CF_STYLE_DIM, "%-9s",
                                   names[f->kind]);
        }
        char text[80];
        snprintf(text, sizeof text, " %.*s %zu",
                 (int)(f->value.n < 40 ? f->value.n : 40),
                 f->value.n != 0 ? f->value.p : "-", f->n);
        if (y < r.y + r.h && x + (int)strlen(text) < r.x + r.w) {
            x += cf_grid_puts(g, x, y, r.x + r.w - x, text, CF_STYLE_NORMAL);
        }
    }
    int under = y + 2 - r.y;
    if (under < r.h) {
        draw_marks(app, g, (cf_rect){r.x, r.y + under, r.w, r.h - under});
    }
}

static void library_draw(cf_app *app, cf_grid *g, cf_rect r)
{
    library *s = state(app);
    if (app->store == NULL) {
        cf_grid_puts(g, r.x + 2, r.y + 1, r.w - 4,
                     "History is off: there is no database.", CF_STYLE_WARNING);
        return;
    }
    bool has_preview = !app->is_maximized && !app->config.a11y;
    int list_h = has_preview ? r.h / 2 : r.h;
    char title[300];
    if (s->shows_hits) {
        snprintf(title, sizeof title, "Found  %zu%s  /%s", s->hits.n,
                 s->hits.has_more ? "+" : "", app->search);
    } else {
        size_t total = s->known != NULL ? s->known->total : s->n_rows;
        snprintf(title, sizeof title, "Library  %zu of %zu%s%s", s->n_rows,
                 total > s->n_rows ? total : s->n_rows,
                 s->filter[0] != '\0' ? "  \\" : "", s->filter);
    }
    cf_grid_box(g, (cf_rect){r.x, r.y, r.w, list_h}, title, CF_STYLE_BORDER,
                CF_STYLE_FOCUS);
    draw_list(app, g, (cf_rect){r.x + 1, r.y + 1, r.w - 2, list_h - 2});
    if (!has_preview) {
        return;
    }
    int facets_w = cf_app_is_narrow(app) ? 0 : r.w * 2 / 5;
    cf_rect p = {r.x, r.y + list_h, r.w - facets_w, r.h - list_h};
    cf_grid_box(g, p, "Preview", CF_STYLE_BORDER, CF_STYLE_TITLE);
    draw_preview(app, g, (cf_rect){p.x + 1, p.y + 1, p.w - 2, p.h - 2});
    if (facets_w > 0) {
        cf_rect f = {p.x + p.w, p.y, facets_w, p.h};
        cf_grid_box(g, f, "Facets", CF_STYLE_BORDER, CF_STYLE_TITLE);
        draw_facets(app, g, (cf_rect){f.x + 1, f.y + 1, f.w - 2, f.h - 2});
    }
}

static void library_status(cf_app *app, cf_buf *out)
{
    static const char *const sorts[] = {"updated", "created", "title", "turns"};
    library *s = state(app);
    if (app->store == NULL) {
        return;
    }
    cf_buf_addf(out, "%zu of %zu  sorted by %s",
                s->list.n != 0 ? s->list.cursor + 1 : 0, s->list.n,
                sorts[s->query.sort]);
}

/* ---- commands ----------------------------------------------------------- */

static void library_search(cf_app *app, const char *text, int direction)
{
    library *s = state(app);
    if (direction != 0 && s->shows_hits) {
        cf_list_move(&s->list, direction > 0 ? CF_MOVE_DOWN : CF_MOVE_UP);
        return;
    }
    if (app->store == NULL) {
        return;
    }
    cf_error err;
    cf_store_query q = {.text = cf_str_from(text), .limit = 500};
    forget_rows(s);
    s->shows_hits = true;
    s->hits = (cf_store_hits){0};
    s->list.cursor = s->list.top = 0;
    if (cf_store_search(app->store, &q, &s->arena, &s->hits, &err) != CF_OK) {
        reload(app);
        cf_app_error(app, &err);
    }
}

static void cmd_filter(cf_app *app, const char *arg)
{
    library *s = state(app);
    snprintf(s->filter, sizeof s->filter, "%s", arg);
    s->list.cursor = 0;
    reload(app);
}

/* Begins a ":" line, for commands that need a word. */
static void ask(cf_app *app, const char *start)
{
    cf_edit_set(&app->command_line, cf_str_from(start));
    app->mode = CF_MODE_COMMAND;
}

static void cmd_filter_line(cf_app *app)
{
    ask(app, "filter ");
}

static void cmd_all(cf_app *app)
{
    if (state(app)->shows_hits || state(app)->filter[0] != '\0') {
        cmd_filter(app, "");
    }
}

static void cmd_sort(cf_app *app)
{
    library *s = state(app);
    s->query.sort = (cf_store_sort)((s->query.sort + 1) % (CF_SORT_TURNS + 1));
    reload(app);
}

static void cmd_open(cf_app *app)
{
    library *s = state(app);
    cf_uuid id;
    if (!current_conv(s, &id)) {
        return;
    }
    cf_uuid turn = {{0}};
    if (s->shows_hits) {
        turn = s->hits.v[s->list.cursor].turn;
    }
    cf_error err;
    if (cf_lab_open_conv(app->lab, id, turn, &err) != CF_OK) {
        cf_app_error(app, &err);
        return;
    }
    cf_app_open_view(app, CF_VIEW_CHAT);
}

static void cmd_new(cf_app *app)
{
    cf_lab_new_conv(app->lab);
    cf_app_open_view(app, CF_VIEW_CHAT);
}

/* Runs a change of the current conversation and reads the list again. */
static void change(cf_app *app,
                   cf_status (*fn)(cf_store *, cf_uuid, cf_str, cf_error *),
                   const char *arg)
{
    cf_uuid id;
    cf_error err;
    if (!current_conv(state(app), &id)) {
        return;
    }
    if (fn(app->store, id, cf_str_from(arg), &err) != CF_OK) {
        cf_app_error(app, &err);
        return;
    }
    reload(app);
}

static cf_status add_tag(cf_store *store, cf_uuid id, cf_str tag, cf_error *err)
{
    bool is_on = tag.n == 0 || tag.p[0] != '-';
    if (!is_on) {
        tag = cf_str_make(tag.p + 1, tag.n - 1);
    }
    if (tag.n == 0) {
        return cf_fail(err, CF_EINVAL, "tag needs a name");
    }
    return cf_store_set_tag(store, id, tag, is_on, err);
}

static void cmd_tag(cf_app *app, const char *arg)
{
    if (arg[0] == '\0') {
        ask(app, "tag ");
        return;
    }
    change(app, add_tag, arg);
}

static void cmd_rename(cf_app *app, const char *arg)
{
    if (arg[0] == '\0') {
        ask(app, "rename ");
        return;
    }
    change(app, cf_store_set_title, arg);
}

static cf_status archive(cf_store *store, cf_uuid id, cf_str arg, cf_error *err)
{
    (void)arg;
    return cf_store_set_place(store, id, CF_PLACE_ARCHIVED, err);
}

static void cmd_archive(cf_app *app, const char *arg)
{
    change(app, archive, arg);
    cf_app_say(app, CF_STYLE_DIM, "archived; u takes it back");
}

static void cmd_undo(cf_app *app)
{
    if (app->store == NULL) {
        return;
    }
    cf_buf what = CF_BUF_INIT;
    cf_error err;
    if (cf_store_undo(app->store, &what, &err) != CF_OK) {
        cf_app_error(app, &err);
    } else {
        reload(app);
        cf_app_say(app, CF_STYLE_OK, "took back: %s", cf_buf_cstr(&what));
    }
    cf_buf_deinit(&what);
}

/* ---- marks and ticks ---------------------------------------------------- */

static bool library_current(cf_app *app, cf_uuid *id, char title[80])
{
    const library *s = state(app);
    if (!current_conv(s, id)) {
        return false;
    }
    if (title != NULL && s->shows_hits) {
        cf_str t = s->hits.v[s->list.cursor].title;
        cf_diff_title(title, &(cf_store_conv){.title = t});
    } else if (title != NULL) {
        cf_diff_title(title, &s->rows[s->list.cursor]);
    }
    return true;
}

static void library_changed(cf_app *app)
{
    if (cf_app_view(app) == CF_VIEW_LIBRARY && !state(app)->shows_hits) {
        reload(app);
    }
}

/* A conversation is A or B, not both. */
static void mark(cf_app *app, int which)
{
    cf_uuid id;
    if (library_current(app, &id, state(app)->mark_title[which])) {
        if (cf_uuid_eq(cf_lab_marked(app->lab, 1 - which), id)) {
            cf_lab_mark(app->lab, 1 - which, (cf_uuid){{0}});
        }
        cf_lab_mark(app->lab, which, id);
    }
}

/* Ticks it, or takes the tick off, and goes on to the next. */
static void cmd_tick(cf_app *app)
{
    cf_uuid id;
    if (current_conv(state(app), &id) && cf_lab_tick(app->lab, id)) {
        cf_list_move(&state(app)->list, CF_MOVE_DOWN);
    }
}

/* All that are listed; none when all of them are ticked. */
static void cmd_tick_all(cf_app *app)
{
    const library *s = state(app);
    size_t n_new = 0, n_ticked;
    wait_for_rows(app);
    for (size_t i = 0; !s->shows_hits && i < s->n_rows; i++) {
        if (!cf_lab_is_ticked(app->lab, s->rows[i].id) &&
            cf_lab_tick(app->lab, s->rows[i].id)) {
            n_new++;
        }
    }
    if (n_new == 0) {
        cf_lab_untick_all(app->lab);
    }
    (void)cf_lab_ticked(app->lab, &n_ticked);
    cf_app_say(app, CF_STYLE_DIM, "%zu ticked", n_ticked);
}

/* A and B where both are marked; else the ticked ones; else this one. */
static void cmd_compare(cf_app *app)
{
    cf_uuid id;
    size_t n_ticked;
    const cf_uuid *ticked = cf_lab_ticked(app->lab, &n_ticked);
    bool has_marks = !cf_uuid_is_nil(cf_lab_marked(app->lab, 0)) &&
                     !cf_uuid_is_nil(cf_lab_marked(app->lab, 1));
    if (has_marks) {
        cf_diff_show_marks(app);
    } else if (n_ticked != 0) {
        cf_diff_show_saved(app, ticked[0]);
        cf_diff_survey(app);
    } else if (current_conv(state(app), &id)) {
        cf_diff_show_saved(app, id);
    } else {
        return;
    }
    cf_app_open_view(app, CF_VIEW_DIFF);
}

/* Takes marks and ticks off. */
static void cmd_unmark(cf_app *app)
{
    cf_lab_mark(app->lab, 0, (cf_uuid){{0}});
    cf_lab_mark(app->lab, 1, (cf_uuid){{0}});
    cf_lab_untick_all(app->lab);
}

static void library_move(cf_app *app, int move)
{
    if (move == CF_MOVE_LAST) {
        wait_for_rows(app);
    }
    cf_list_move(&state(app)->list, move);
}

static const cf_command library_commands[] = {
    {"open", CF_IN(CF_VIEW_LIBRARY), "<Enter>", "", "open the conversation",
     CF_RUN(cmd_open)},
    {"new", CF_IN(CF_VIEW_LIBRARY), "c", "", "begin a new conversation",
     CF_RUN(cmd_new)},
    {"filter", CF_IN(CF_VIEW_LIBRARY), "", "WORDS",
     "show those with these words in the title, or tag:, model:, status: ...",
     CF_WITH(cmd_filter)},
    {"filter-line", CF_IN(CF_VIEW_LIBRARY), "\\", "", "write a filter",
     CF_RUN(cmd_filter_line)},
    {"all", CF_IN(CF_VIEW_LIBRARY), "<Esc>", "", "leave filter and search",
     CF_RUN(cmd_all)},
    {"sort", CF_IN(CF_VIEW_LIBRARY), "s", "", "another order",
     CF_RUN(cmd_sort)},
    {"tag", CF_IN(CF_VIEW_LIBRARY), "T", "[-]NAME", "add or remove a tag",
     CF_WITH(cmd_tag)},
    {"rename", CF_IN(CF_VIEW_LIBRARY), "R", "TITLE", "give it a title",
     CF_WITH(cmd_rename)},
    {"archive", CF_IN(CF_VIEW_LIBRARY), "dd", "", "out of the list, not away",
     CF_WITH(cmd_archive)},
    {"undo", CF_IN(CF_VIEW_LIBRARY), "u", "", "take the last change back",
     CF_RUN(cmd_undo)},
    {"mark-a", CF_IN(CF_VIEW_LIBRARY), "A", "", "mark as A, to compare",
     CF_BY(mark, 0)},
    {"mark-b", CF_IN(CF_VIEW_LIBRARY), "B", "", "mark as B", CF_BY(mark, 1)},
    {"tick", CF_IN(CF_VIEW_LIBRARY), "<Space>", "",
     "tick it, for what is done with several", CF_RUN(cmd_tick)},
    {"tick-all", CF_IN(CF_VIEW_LIBRARY), "*", "", "tick all listed, or none",
     CF_RUN(cmd_tick_all)},
    {"unmark", CF_IN(CF_VIEW_LIBRARY), "M", "", "take marks and ticks off",
     CF_RUN(cmd_unmark)},
    {"compare", CF_IN(CF_VIEW_LIBRARY), "=", "",
     "compare A and B, or the ticked ones, or this one, in Diff",
     CF_RUN(cmd_compare)},
    CF_MOVE_ROWS(library_move, CF_IN(CF_VIEW_LIBRARY)),
    {0},
};

const cf_view_ops cf_view_library = {
    .name = "library",
    .title = "Library",
    .commands = library_commands,
    .footer = "open search filter-line compare tick export import new tag "
              "rename archive undo sort",
    .open = library_open,
    .close = library_close,
    .enter = reload,
    .draw = library_draw,
    .search = library_search,
    .click = library_click,
    .status = library_status,
    .conversation = library_current,
    .stale = library_changed,
    .step = library_step,
};
