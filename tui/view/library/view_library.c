/*
 * view_library.c - saved conversations: a list with a preview and counts.
 *
 * Two lists share the screen: conversations (filtered with "\"), and the hits
 * of a search ("/") when there was one, both while they are typed; "back" leaves
 * the hits first.
 *
 * With many conversations a list and its counts take longer than a key may: a
 * key reads the first rows, the workbench's reader the rest and then the counts.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/os.h"
#include "tui/grid/wrap.h"
#include "tui/lab/compare/diff_model.h"
#include "tui/lab/state/lab_marks.h"
#include "tui/lab/state/lab_task.h"
#include "tui/lab/talk/lab_conversation.h"
#include "tui/sys/when.h"
#include "tui/view/kit/moves.h"
#include "tui/view/kit/pane.h"
#include "tui/view/library/library.h"
#include "tui/widget/pager.h"

enum {
    ROWS_MAX = 2000,
    ROWS_FIRST = 150,
    WIDE = 160, /* from here on the preview is beside the list */
    WITH_MODELS = 90,
    LIST_MAX_W = 140 /* cells of the list there */
};

typedef cf_library library;
typedef cf_library_reading reading;

static library *state(const cf_app *app)
{
    return cf_library__state(app);
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
static cf_status run_rows(void *ud, cf_runner *runner, cf_error *err)
{
    reading *r = ((library *)ud)->next;
    (void)runner;
    return cf_store_list(r->store, &r->query, &r->arena, &r->rows, &r->n_rows, err);
}

static cf_status run_count(void *ud, cf_runner *runner, cf_error *err)
{
    reading *r = ((library *)ud)->next;
    (void)runner;
    return cf_store_facets(r->store, r->query.place, &r->arena, &r->v, &r->n, &r->total, err);
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
    r->query.is_quick = false;
    s->next = r;
    s->reads_rows = is_rows;
    const cf_task task = {.name = is_rows ? "listing" : "counting",
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
    while (app->lab != NULL && (s->wants_rows || (s->next != NULL && s->reads_rows))) {
        cf_lab_end_reading(app->lab, NULL);
        start_reading(s, app->lab, app->store);
    }
}

static void library_open(void *state)
{
    library *s = state;
    cf_arena_init(&s->arena, 0);
    cf_arena_init(&s->preview, 0);
}

static void library_close(cf_app *app)
{
    library *s = state(app);
    if (s->next != NULL) {
        cf_lab_end_reading(app->lab, s);
    }
    free_reading(s->whole);
    free_reading(s->known);
    cf_arena_deinit(&s->arena);
    cf_arena_deinit(&s->preview);
}

void cf_library__forget(library *s)
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

void cf_library__reload(cf_app *app)
{
    library *s = state(app);
    cf_error err;
    cf_library__forget(s);
    s->shows_hits = false;
    s->shown_id = (cf_uuid){{0}};
    if (app->store == NULL) {
        return;
    }
    s->query.text = cf_str_from(s->filter);
    size_t first = app->lab != NULL ? s->list.cursor + ROWS_FIRST : ROWS_MAX;
    s->query.limit = first < ROWS_MAX ? first : ROWS_MAX;
    s->query.is_quick = s->filter[0] != '\0' && app->lab != NULL;
    if (cf_store_list(app->store, &s->query, &s->arena, &s->rows, &s->n_rows, &err) != CF_OK) {
        cf_app_error(app, &err);
    }
    if (app->lab != NULL) {
        s->wants_rows = s->query.is_quick || (first < ROWS_MAX && s->n_rows == first);
        s->wants_counts = true;
        start_reading(s, app->lab, app->store);
    }
    cf_list_set(&s->list, s->n_rows, s->list.height);
}

/* ---- what the cursor is on ---------------------------------------------- */

bool cf_library__current(const library *s, cf_uuid *out)
{
    if (s->shows_hits) {
        if (s->list.cursor >= s->n_group) {
            return false;
        }
        *out = s->group[s->list.cursor].first->conversation;
        return true;
    }
    if (s->list.cursor >= s->n_rows) {
        return false;
    }
    *out = s->rows[s->list.cursor].id;
    return true;
}

cf_str cf_library__title(const library *s)
{
    const size_t i = s->list.cursor;
    return s->shows_hits             ? s->group[i].first->title
           : s->rows[i].title.n != 0 ? s->rows[i].title
                                     : s->rows[i].preview;
}

static void load_preview(cf_app *app)
{
    library *s = state(app);
    cf_uuid id;
    if (!cf_library__current(s, &id) || cf_uuid_eq(id, s->shown_id)) {
        return;
    }
    cf_error err;
    cf_arena_reset(&s->preview);
    s->tree = (cf_store_tree){0};
    s->shown_id = id;
    if (cf_store_get_tree(app->store, id, 0, &s->preview, &s->tree, &err) != CF_OK) {
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

/* "+2 -1 n1": turns rated good and bad, and notes; returns its width. */
static int draw_ratings(cf_grid *g, int x, int y, const cf_store_conv *c, cf_style style)
{
    const uint32_t n[3] = {c->n_good, c->n_bad, c->n_notes};
    int at = x;
    for (int i = 0; i < 3; i++) {
        if (n[i] != 0) {
            at += 1 + cf_grid_putf(g, at, y, 5, style, "%c%u", "+-n"[i], (unsigned)n[i]);
        }
    }
    return at - x;
}

/* Cells of what is right of the titles: the two counts, and as far as the rows
 * have them models, ratings and tags. */
typedef struct columns {
    int model, rest;
} columns;

static columns columns_of(const library *s, bool is_wide)
{
    enum { MODEL_MAX = 14, REST_MAX = 19, RATING = 4 };
    columns c = {0, 0};
    for (size_t i = 0; is_wide && i < s->n_rows; i++) {
        const cf_store_conv *v = &s->rows[i];
        int rest = RATING * ((v->n_good != 0) + (v->n_bad != 0) + (v->n_notes != 0));
        for (size_t k = 0; k < v->n_tags && rest < REST_MAX; k++) {
            rest += 1 + (int)(v->tags[k].n < REST_MAX ? v->tags[k].n : REST_MAX);
        }
        int model = (int)(v->model.n < MODEL_MAX ? v->model.n : MODEL_MAX);
        c.model = model > c.model ? model : c.model;
        c.rest = rest > c.rest ? rest : c.rest;
    }
    c.rest = c.rest < REST_MAX ? c.rest : REST_MAX;
    return c;
}

static void draw_row(cf_app *app, cf_grid *g, cf_rect r, const cf_store_conv *c, columns col,
                     bool is_on)
{
    cf_style style = is_on ? CF_STYLE_SELECTED : CF_STYLE_NORMAL;
    cf_grid_fill(g, r, ' ', style);
    char when[CF_WHEN_TEXT], id[9];
    cf_when_format(when, c->updated_ms, cf_os_now_ms());
    short_id(id, c->id);
    char mark = cf_lab_mark_of(app->lab, c->id);
    char tick = cf_lab_is_ticked(app->lab, c->id) ? '*' : ' ';
    int tail = 10 + (col.model > 0 ? col.model + 1 : 0) + col.rest;
    int title_w = r.w - 24 - tail;
    cf_grid_putf(g, r.x, r.y, 2, style, "%c%c", mark, tick);
    cf_grid_puts(g, r.x + 2, r.y, 10, when, style);
    cf_grid_puts(g, r.x + 13, r.y, 9, id, style);
    cf_str title = c->title.n != 0     ? c->title
                   : c->preview.n != 0 ? c->preview
                                       : cf_str_from(CF_UNTITLED);
    cf_grid_put(g, r.x + 23, r.y, title_w, title, style);
    int x = r.x + 24 + title_w;
    cf_grid_putf(g, x, r.y, 5, style, "%4u", (unsigned)c->n_turns);
    cf_grid_putf(g, x + 5, r.y, 4, style, "%3u", (unsigned)c->n_forks);
    if (col.model > 0) {
        cf_grid_put(g, x + 10, r.y, col.model, c->model, style);
    }
    if (col.rest > 0) {
        int at = r.x + r.w - col.rest;
        at += draw_ratings(g, at, r.y, c, style);
        for (size_t i = 0; i < c->n_tags && at < r.x + r.w - 1; i++) {
            at += 1 + cf_grid_put(g, at, r.y, r.x + r.w - at, c->tags[i], style);
        }
    }
}

static void draw_list(cf_app *app, cf_grid *g, cf_rect r)
{
    library *s = state(app);
    size_t n = s->shows_hits ? s->n_group : s->n_rows;
    cf_rows rows = cf_rows_begin(g, r, &s->list, n, n > 0);
    if (n == 0) {
        cf_grid_puts(g, r.x + 2, r.y, r.w - 2,
                     s->shows_hits                                         ? "nothing found"
                     : s->wants_rows || (s->next != NULL && s->reads_rows) ? "searching"
                     : s->filter[0] != 0               ? "no conversation passes the filter"
                     : s->query.place != CF_PLACE_LIVE ? "nothing is here"
                                                       : "no conversation yet; 1 and i "
                                                         "begin one",
                     CF_STYLE_DIM);
        return;
    }
    columns col = columns_of(s, r.w >= WITH_MODELS);
    while (cf_rows_next(&rows, 0)) {
        if (s->shows_hits) {
            cf_library__draw_hit(g, rows.at, &s->group[rows.i], rows.is_on);
        } else {
            draw_row(app, g, rows.at, &s->rows[rows.i], col, rows.is_on);
        }
    }
}

static void library_click(cf_app *app, int what, size_t row)
{
    if (what == CF_LIBRARY_SPOT_FACET) {
        cf_library__press_facet(app, row);
    } else if (what == CF_LIBRARY_SPOT_SESSIONS) {
        cf_app_open_view(app, CF_VIEW_STEPS);
    } else {
        cf_list_go(&state(app)->list, row);
    }
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
    if (text.n == 0 && t->status != CF_TURN_OK) {
        cf_buf_addf(&text, "(%s)", cf_turn_status_name(t->status));
    }
    cf_str all = cf_buf_str(&text);
    cf_grid_put(g, r.x, r.y, 1, cf_str_make(t->role.p, t->role.n != 0), role_style(t->role));
    cf_grid_putf(g, r.x + 2, r.y, 4, CF_STYLE_DIM, "%02u", (unsigned)t->ordinal);
    int y = 0, w = r.w - 6 < CF_READ_WIDTH ? r.w - 6 : CF_READ_WIDTH;
    bool fits = w > 2 && cf_wrapped_update(&lines, all, w, NULL) == CF_OK && lines.n <= (size_t)max;
    for (size_t i = 0; fits && i < lines.n; i++, y++) {
        cf_grid_put(g, r.x + 6, r.y + y, w, cf_str_make(all.p + lines.v[i].off, lines.v[i].len),
                    CF_STYLE_NORMAL);
    }
    if (!fits) { /* its beginning, and that there is more */
        for (; y < max && (size_t)y < lines.n; y++) {
            bool is_last = y + 1 == max;
            size_t off = lines.v[y].off;
            cf_grid_put(g, r.x + 6, r.y + y, w,
                        cf_str_make(all.p + off, is_last ? all.n - off : lines.v[y].len),
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
    cf_buf_addf(&text, "  %u turn%s, %u fork%s", (unsigned)c->n_turns, c->n_turns == 1 ? "" : "s",
                (unsigned)c->n_forks, c->n_forks == 1 ? "" : "s");
    if (c->model.n != 0) {
        cf_buf_addf(&text, "  %.*s", (int)c->model.n, c->model.p);
    }
    if (c->template_hash.n != 0) {
        cf_buf_addf(&text, "  template %.*s",
                    (int)(c->template_hash.n < 8 ? c->template_hash.n : 8), c->template_hash.p);
    }
    cf_grid_put(g, r.x, r.y, r.w, cf_buf_str(&text), CF_STYLE_DIM);
    cf_buf_deinit(&text);
}

static void draw_preview(cf_app *app, cf_grid *g, cf_rect r)
{
    library *s = state(app);
    if (s->shows_hits) {
        cf_library__draw_group(app, g, r);
        return;
    }
    load_preview(app);
    cf_uuid id;
    if (!cf_library__current(s, &id) || r.h < 1) {
        return;
    }
    /* Each turn gets its share of the lines, and what others left over. */
    bool has_about = r.h > 6;
    int room = r.h - (has_about ? 2 : 0), y = 0;
    for (size_t i = 0; i < s->tree.n && y < room; i++) {
        int left = (int)(s->tree.n - i < (size_t)room ? s->tree.n - i : (size_t)room);
        int share = (room - y) / left;
        y += draw_turn(g, (cf_rect){r.x, r.y + y, r.w, room - y}, &s->tree.turns[i],
                       share > 0 ? share : 1);
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
            cf_grid_putf(g, r.x, r.y + y, r.w, CF_STYLE_MARKED, "%c %s %s", 'A' + i, text,
                         s->mark_title[i]);
            y++;
        }
    }
    if (n_ticked != 0 && y < r.h) {
        cf_grid_putf(g, r.x, r.y + y, r.w, CF_STYLE_MARKED,
                     "* %zu ticked, for T dd D X =", n_ticked);
    }
}

/* Where the panes are; those that are not shown have no width. */
typedef struct panes {
    cf_rect list, preview, facets;
} panes;

/* The preview is below the list, or on a wide screen beside it. */
static panes panes_of(const cf_app *app, cf_rect r)
{
    panes p = {.list = r};
    if (app->is_maximized || app->config.a11y) {
        return p;
    }
    if (r.w >= WIDE) {
        p.list.w = r.w * 11 / 20 < LIST_MAX_W ? r.w * 11 / 20 : LIST_MAX_W;
        p.preview = (cf_rect){r.x + p.list.w, r.y, r.w - p.list.w, r.h * 2 / 3};
        p.facets = p.preview;
        p.facets.y += p.preview.h;
        p.facets.h = r.h - p.preview.h;
        return p;
    }
    p.list.h = r.h / 2;
    int facets_w = cf_app_is_narrow(app) ? 0 : r.w * 2 / 5;
    p.preview = (cf_rect){r.x, r.y + p.list.h, r.w - facets_w, r.h - p.list.h};
    p.facets = (cf_rect){r.x + p.preview.w, p.preview.y, facets_w, p.preview.h};
    return p;
}

static void library_draw(cf_app *app, cf_grid *g, cf_rect r)
{
    library *s = state(app);
    if (app->store == NULL) {
        cf_grid_puts(g, r.x + 2, r.y + 1, r.w - 4, "History is off: there is no database.",
                     CF_STYLE_WARNING);
        return;
    }
    panes place = panes_of(app, r);
    char title[300];
    if (s->shows_hits) {
        bool is_typed = app->mode == CF_MODE_SEARCH;
        snprintf(title, sizeof title, "Found  %zu%s in %zu conversation%s%s%s", s->hits.n,
                 s->hits.has_more || s->hits.is_cut ? "+" : "", s->n_group,
                 s->n_group == 1 ? "" : "s", is_typed ? "" : "  /", is_typed ? "" : app->search);
    } else {
        static const char *const places[] = {"Library", "Archive", "Trash"};
        size_t total = s->known != NULL ? s->known->total : s->n_rows;
        snprintf(title, sizeof title, "%s  %zu of %zu%s%s", places[s->query.place], s->n_rows,
                 total > s->n_rows ? total : s->n_rows, s->filter[0] != '\0' ? "  \\" : "",
                 s->filter);
    }
    draw_list(app, g, cf_pane(g, place.list, title, true));
    if (place.preview.w > 0) {
        const char *head = s->shows_hits ? "Found here" : "Preview";
        draw_preview(app, g, cf_pane(g, place.preview, head, false));
    }
    if (place.facets.w > 0) {
        cf_rect f = cf_pane(g, place.facets, "Facets", false);
        int n = cf_library__draw_facets(app, g, f) + 1;
        if (n < f.h) {
            draw_marks(app, g, (cf_rect){f.x, f.y + n, f.w, f.h - n});
        }
    }
}

static void library_status(cf_app *app, cf_buf *out)
{
    static const char *const sorts[] = {"updated", "created", "title", "turns"};
    library *s = state(app);
    if (app->store == NULL) {
        return;
    }
    cf_buf_addf(out, "%zu of %zu  sorted by %s", s->list.n != 0 ? s->list.cursor + 1 : 0, s->list.n,
                sorts[s->query.sort]);
}

/* ---- commands ----------------------------------------------------------- */

void cf_library__filter(cf_app *app, const char *text)
{
    library *s = state(app);
    snprintf(s->filter, sizeof s->filter, "%s", text);
    s->list.cursor = 0;
    cf_library__reload(app);
}

bool cf_library__go_to(cf_app *app, cf_uuid id)
{
    library *s = state(app);
    wait_for_rows(app);
    size_t i = 0;
    while (i < s->n_rows && !cf_uuid_eq(s->rows[i].id, id)) {
        i++;
    }
    if (i < s->n_rows) {
        cf_list_go(&s->list, i);
    }
    return i < s->n_rows;
}

void cf_library__line(cf_app *app, const char *start)
{
    cf_edit_set(&app->command_line, cf_str_from(start));
    app->mode = CF_MODE_COMMAND;
}

static void cmd_filter_line(cf_app *app)
{
    library *s = state(app);
    char line[300];
    snprintf(line, sizeof line, "filter %s", s->filter);
    snprintf(s->filter_before, sizeof s->filter_before, "%s", s->filter);
    s->is_typing = true;
    cf_library__line(app, line);
}

/* The ":" line so far: a filter shows what passes it.  NULL: it was left. */
static void library_command_typed(cf_app *app, const char *line)
{
    library *s = state(app);
    static const char start[] = "filter ";
    bool is_filter = line != NULL && strncmp(line, start, sizeof start - 1) == 0;
    const char *to = is_filter      ? line + sizeof start - 1
                     : line == NULL ? s->filter_before
                                    : s->filter;
    if (!s->is_typing || app->store == NULL) {
        return;
    }
    if (strcmp(to, s->filter) != 0) {
        cf_library__filter(app, to);
    }
    s->is_typing = line != NULL;
}

static void cmd_all(cf_app *app)
{
    library *s = state(app);
    if (s->shows_hits || s->filter[0] != '\0') {
        cf_library__filter(app, "");
    } else if (s->query.place != CF_PLACE_LIVE) {
        s->query.place = CF_PLACE_LIVE;
        cf_library__filter(app, "");
    }
}

static void cmd_sort(cf_app *app)
{
    library *s = state(app);
    s->query.sort = (cf_store_sort)((s->query.sort + 1) % (CF_SORT_TURNS + 1));
    cf_library__reload(app);
}

static bool is_on_path(const cf_app *app, cf_uuid turn)
{
    size_t n;
    const cf_turn *const *path = cf_lab_path(app->lab, &n);
    while (n > 0 && !cf_uuid_eq(path[n - 1]->id, turn)) {
        n--;
    }
    return n > 0;
}

/* Opens a conversation where it was left; with `turn` (nil: none) on the path
 * through it, at that turn. */
static void open_conv(cf_app *app, cf_uuid id, cf_uuid turn)
{
    cf_error err;
    cf_status st = cf_lab_open_conv(app->lab, id, (cf_uuid){{0}}, &err);
    if (st == CF_OK && !cf_uuid_is_nil(turn) && !is_on_path(app, turn)) {
        st = cf_lab_set_head(app->lab, turn, &err);
    }
    if (st != CF_OK) {
        cf_app_error(app, &err);
        return;
    }
    if (!cf_uuid_is_nil(turn)) {
        cf_app_show(app, CF_VIEW_CHAT, &(cf_target){.kind = CF_TARGET_TURN, .id = turn});
    } else {
        cf_app_open_view(app, CF_VIEW_CHAT);
    }
}

/* The one under the cursor, number N of the list, or one by its UUID. */
static void cmd_open(cf_app *app, const char *arg)
{
    library *s = state(app);
    cf_uuid id, turn = {{0}};
    char *end;
    unsigned long row = strtoul(arg, &end, 10);
    if (arg[0] != '\0' && *end == '\0' && strlen(arg) < 8) {
        wait_for_rows(app);
        if (row == 0 || row > s->list.n) {
            cf_app_say(app, CF_STYLE_WARNING, "there are %zu, counted from 1", s->list.n);
            return;
        }
        cf_list_go(&s->list, row - 1);
    } else if (arg[0] != '\0') {
        cf_error err;
        cf_store_ref ref;
        if (cf_store_find(app->store, cf_str_from(arg), &ref, &err) != CF_OK) {
            cf_app_error(app, &err);
            return;
        }
        open_conv(app, ref.conversation, ref.turn);
        return;
    }
    if (cf_library__current(s, &id)) {
        if (s->shows_hits) {
            turn = s->group[s->list.cursor].first->turn;
        }
        open_conv(app, id, turn);
    }
}

/* The list, the archive, the trash. */
static void cmd_place(cf_app *app)
{
    library *s = state(app);
    s->query.place = (cf_store_place)((s->query.place + 1) % 3);
    s->list.cursor = s->list.top = 0;
    cf_lab_untick_all(app->lab);
    cf_library__reload(app);
}

static void cmd_new(cf_app *app)
{
    cf_lab_new_conv(app->lab);
    cf_app_open_view(app, CF_VIEW_CHAT);
}

/* ---- marks and ticks ---------------------------------------------------- */

static bool library_current(cf_app *app, cf_uuid *id, char title[80])
{
    const library *s = state(app);
    if (!cf_library__current(s, id)) {
        return false;
    }
    if (title != NULL && s->shows_hits) {
        cf_str t = s->group[s->list.cursor].first->title;
        cf_diff_title(title, &(cf_store_conv){.title = t});
    } else if (title != NULL) {
        cf_diff_title(title, &s->rows[s->list.cursor]);
    }
    return true;
}

static void library_changed(cf_app *app)
{
    if (cf_app_view(app) == CF_VIEW_LIBRARY && !state(app)->shows_hits) {
        cf_library__reload(app);
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
    if (cf_library__current(state(app), &id) && cf_lab_tick(app->lab, id)) {
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
        if (!cf_lab_is_ticked(app->lab, s->rows[i].id) && cf_lab_tick(app->lab, s->rows[i].id)) {
            n_new++;
        }
    }
    if (n_new == 0) {
        cf_lab_untick_all(app->lab);
    }
    (void)cf_lab_ticked(app->lab, &n_ticked);
    cf_app_say(app, CF_STYLE_DIM, "%zu ticked", n_ticked);
}

/* A and B where both are marked; else the two that are ticked, or a table of
 * more; else this one. */
static void cmd_compare(cf_app *app)
{
    cf_target target = {.kind = CF_TARGET_SAVED};
    size_t n_ticked;
    const cf_uuid *ticked = cf_lab_ticked(app->lab, &n_ticked);
    bool has_marks =
        !cf_uuid_is_nil(cf_lab_marked(app->lab, 0)) && !cf_uuid_is_nil(cf_lab_marked(app->lab, 1));
    if (has_marks || n_ticked == 2) {
        if (!has_marks) { /* the two that are ticked, the older tick is A */
            cf_lab_mark(app->lab, 0, ticked[0]);
            cf_lab_mark(app->lab, 1, ticked[1]);
        }
        target.kind = CF_TARGET_MARKED;
    } else if (n_ticked != 0) {
        target.kind = CF_TARGET_TICKED;
        target.id = ticked[0];
    } else if (!cf_library__current(state(app), &target.id)) {
        return;
    }
    cf_app_show(app, CF_VIEW_DIFF, &target);
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
    {"open", CF_IN(CF_VIEW_LIBRARY), "<Enter>", "[N|ID]",
     "open the conversation, number N of the list, or one by its UUID", CF_WITH(cmd_open)},
    {"new", CF_IN(CF_VIEW_LIBRARY), "c", "", "begin a new conversation", CF_RUN(cmd_new)},
    {"filter", CF_IN(CF_VIEW_LIBRARY), "", "WORDS",
     "parts of the title; tag: model: status: rating:good has:note ...",
     CF_WITH(cf_library__filter)},
    {"filter-line", CF_IN(CF_VIEW_LIBRARY), "\\", "", "filter the list while you type",
     CF_RUN(cmd_filter_line)},
    {"all", CF_IN(CF_VIEW_LIBRARY), "<Esc>", "", "leave filter and search, archive and trash",
     CF_RUN(cmd_all)},
    {"sort", CF_IN(CF_VIEW_LIBRARY), "s", "", "another order", CF_RUN(cmd_sort)},
    {"place", CF_IN(CF_VIEW_LIBRARY), "za", "", "the archive, the trash, the list again",
     CF_RUN(cmd_place)},
    {"tag", CF_IN(CF_VIEW_LIBRARY), "T", "[-]NAME",
     "add or remove a tag, of this one or the ticked ones", CF_WITH(cf_library__tag)},
    {"rename", CF_IN(CF_VIEW_LIBRARY), "R", "TITLE", "give it a title",
     CF_WITH(cf_library__rename)},
    {"archive", CF_IN(CF_VIEW_LIBRARY), "dd", "",
     "into the archive, this one or the ticked ones; there: back",
     CF_BY(cf_library__move, CF_PLACE_ARCHIVED)},
    {"delete", CF_IN(CF_VIEW_LIBRARY), "D", "",
     "into the trash, this one or the ticked ones; there: back",
     CF_BY(cf_library__move, CF_PLACE_TRASH)},
    {"export", CF_IN(CF_VIEW_LIBRARY), "X", "FILE [FORMAT]",
     "this one or the ticked ones, with all branches; .md is Markdown; confab, "
     "openai, sharegpt, converse, litert, llama-app",
     CF_WITH(cf_library__export)},
    {"mark-a", CF_IN(CF_VIEW_LIBRARY), "A", "", "mark as A, to compare", CF_BY(mark, 0)},
    {"mark-b", CF_IN(CF_VIEW_LIBRARY), "B", "", "mark as B", CF_BY(mark, 1)},
    {"tick", CF_IN(CF_VIEW_LIBRARY), "<Space>", "", "tick it, for what is done with several",
     CF_RUN(cmd_tick)},
    {"tick-all", CF_IN(CF_VIEW_LIBRARY), "*", "", "tick all listed, or none", CF_RUN(cmd_tick_all)},
    {"unmark", CF_IN(CF_VIEW_LIBRARY), "g*", "", "take marks and ticks off", CF_RUN(cmd_unmark)},
    {"compare", CF_IN(CF_VIEW_LIBRARY), "=", "",
     "compare A and B, or two ticked ones, or the templates over more, in Diff",
     CF_RUN(cmd_compare)},
    CF_MOVE_ROWS(library_move, CF_IN(CF_VIEW_LIBRARY)),
    {0},
};

const cf_view_ops cf_view_library = {
    .name = "library",
    .title = "Library",
    .commands = library_commands,
    .footer = "open search filter-line compare tick archive undo tag "
              "export import place sessions rename new sort",
    .state_size = sizeof(library),
    .open = library_open,
    .close = library_close,
    .enter = cf_library__reload,
    .draw = library_draw,
    .click = library_click,
    .search = cf_library__search,
    .typed = cf_library__typed,
    .command_typed = library_command_typed,
    .key = cf_library__key,
    .status = library_status,
    .conversation = library_current,
    .stale = library_changed,
    .step = library_step,
};
