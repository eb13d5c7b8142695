/*
 * view_systems.c - the system prompts of the conversation: a list, and below it
 * the one in effect beside the one under the cursor, their texts and what was
 * answered under each.
 */
#include <stdio.h>
#include <string.h>

#include "storage/store.h"
#include "tui/app/app.h"
#include "tui/app/command_system.h"
#include "tui/lab/state/lab_marks.h"
#include "tui/lab/talk/lab_conversation.h"
#include "tui/lab/talk/lab_system.h"
#include "tui/lab/talk/undo_stack.h"
#include "tui/view/kit/moves.h"
#include "tui/view/kit/pane.h"
#include "tui/view/kit/side_text.h"
#include "tui/widget/note.h"

enum { HERE_SPOT = 1 };

typedef struct systems {
    cf_lab_versions all;
    cf_arena arena; /* of marks */
    const cf_store_turn_mark *mark;
    size_t n_mark;
    cf_list list;
    cf_side_text text[2], reply[2]; /* of the one in effect, and under the cursor */
    size_t shown;                   /* the row they are of; SIZE_MAX: of none */
    uint64_t generation;
} systems;

static systems *state(const cf_app *app)
{
    return app->state[CF_VIEW_SYSTEMS];
}

static void systems_open(void *state)
{
    systems *s = state;
    s->shown = SIZE_MAX;
    s->generation = UINT64_MAX;
    cf_arena_init(&s->arena, 0);
}

static void clear_sides(systems *s)
{
    for (size_t i = 0; i < 2; i++) {
        cf_side_text_deinit(&s->text[i]);
        cf_side_text_deinit(&s->reply[i]);
    }
    s->shown = SIZE_MAX;
}

static void systems_close(cf_app *app)
{
    systems *s = state(app);
    clear_sides(s);
    cf_lab_versions_deinit(&s->all);
    cf_arena_deinit(&s->arena);
}

static void systems_stale(cf_app *app)
{
    state(app)->generation = UINT64_MAX;
}

/* ---- what is shown ------------------------------------------------------ */

static size_t row_in_effect(const systems *s)
{
    size_t i = 0;
    while (i + 1 < s->all.n && !s->all.v[i].is_now) {
        i++;
    }
    return i;
}

static void load(cf_app *app)
{
    systems *s = state(app);
    cf_error err;
    if (s->generation == cf_lab_generation(app->lab)) {
        return;
    }
    bool is_first = s->generation == UINT64_MAX && s->all.v == NULL;
    s->generation = cf_lab_generation(app->lab);
    clear_sides(s);
    cf_lab_versions_deinit(&s->all);
    cf_arena_reset(&s->arena);
    s->mark = NULL;
    s->n_mark = 0;
    cf_status st = cf_lab_find_versions(app->lab, &s->all, &err);
    if (st == CF_OK && app->store != NULL) {
        st = cf_store_turn_marks(app->store, cf_lab_conv_id(app->lab), &s->arena, &s->mark,
                                 &s->n_mark, &err);
    }
    if (st != CF_OK) {
        cf_app_error(app, &err);
    }
    cf_list_set(&s->list, s->all.n, s->list.height);
    if (is_first) {
        cf_list_go(&s->list, row_in_effect(s));
    }
}

/* Texts and replies of both sides, and what differs. */
static void fill(systems *s)
{
    size_t row = s->list.cursor;
    if (s->shown == row || row >= s->all.n) {
        return;
    }
    clear_sides(s);
    s->shown = row;
    const cf_lab_version *side[2] = {&s->all.v[row_in_effect(s)], &s->all.v[row]};
    for (size_t i = 0; i < 2; i++) {
        cf_buf_add(&s->text[i].text, cf_buf_cstr(&side[i]->text), side[i]->text.n);
        if (side[i]->reply != NULL) {
            cf_lab_message_text(&s->reply[i].text, side[i]->reply->message);
        }
    }
    if (side[0] != side[1]) {
        cf_side_text_compare(&s->text[0], &s->text[1]);
        cf_side_text_compare(&s->reply[0], &s->reply[1]);
    }
}

static int rating_of(const systems *s, const cf_turn *turn)
{
    for (size_t i = 0; turn != NULL && i < s->n_mark; i++) {
        if (cf_uuid_eq(s->mark[i].turn, turn->id)) {
            return s->mark[i].rating;
        }
    }
    return 0;
}

static bool is_ticked(const cf_app *app, const cf_lab_version *v)
{
    return cf_lab_has_choice(app->lab, CF_TICK_SYSTEM, cf_buf_str(&v->text));
}

/* ---- drawing ------------------------------------------------------------ */

/* "*x 2  +  4 turns, 2 copied  You are terse." */
static void draw_row(const cf_app *app, cf_grid *g, cf_rect r, size_t i, bool is_on)
{
    const systems *s = state(app);
    const cf_lab_version *v = &s->all.v[i];
    cf_style style = is_on ? CF_STYLE_SELECTED : CF_STYLE_NORMAL;
    int rating = rating_of(s, v->reply);
    char turns[40];
    int n = snprintf(turns, sizeof turns, "%zu turn%s", v->n_turns, v->n_turns == 1 ? "" : "s");
    if (v->n_copied > 0) {
        snprintf(turns + n, sizeof turns - (size_t)n, ", %zu copied", v->n_copied);
    }
    cf_grid_fill(g, r, ' ', style);
    cf_grid_putf(g, r.x, r.y, r.w, style, "%c%c%2zu %c %-20s", v->is_now ? '>' : ' ',
                 is_ticked(app, v) ? '*' : ' ', i + 1,
                 rating > 0   ? '+'
                 : rating < 0 ? '-'
                              : ' ',
                 turns);
    cf_str text = v->text.n > 0 ? cf_buf_str(&v->text) : cf_str_from("(no system prompt)");
    const char *nl = memchr(text.p, '\n', text.n);
    text.n = nl != NULL ? (size_t)(nl - text.p) : text.n;
    cf_grid_put(g, r.x + 28, r.y, r.w - 28, text, style);
}

static void draw_side(cf_grid *g, cf_rect r, const char *title, cf_side_text *t, cf_style differs)
{
    cf_rect in = cf_pane(g, r, title, false);
    size_t n = in.w >= 2 ? cf_side_text_wrap(t, in.w) : 0;
    for (int y = 0; y < in.h && (size_t)y < n; y++) {
        cf_side_text_draw(t, (size_t)y, g, (cf_rect){in.x, in.y + y, in.w, 1}, differs, 0, 0);
    }
    if ((int)n > in.h && in.h > 0) {
        cf_grid_puts(g, in.x + in.w - 4, in.y + in.h - 1, 4, " ...", CF_STYLE_DIM);
    }
}

/* Text above, reply below. */
static void draw_version(systems *s, cf_grid *g, cf_rect r, size_t side, size_t row)
{
    const cf_lab_version *v = &s->all.v[row];
    cf_style differs = side == 0 ? CF_STYLE_REMOVED : CF_STYLE_ADDED;
    char title[64];
    int h = r.h / 2;
    snprintf(title, sizeof title, "System %zu%s", row + 1, v->is_now ? "  in effect" : "");
    draw_side(g, (cf_rect){r.x, r.y, r.w, h}, title, &s->text[side], differs);
    snprintf(title, sizeof title, "Reply %zu%s", row + 1,
             v->reply == NULL ? "  none yet: r asks"
             : v->is_copied   ? "  copied: r asks again"
                              : "");
    draw_side(g, (cf_rect){r.x, r.y + h, r.w, r.h - h}, title, &s->reply[side], differs);
}

static void systems_draw(cf_app *app, cf_grid *g, cf_rect r)
{
    systems *s = state(app);
    load(app);
    if (s->all.n == 0) {
        cf_note_puts(g, (cf_rect){r.x + 2, r.y + 1, r.w - 4, r.h - 1},
                     "No system prompt yet. Press ge or use :system TEXT to write one.", CF_STYLE_DIM);
        return;
    }
    char title[64];
    int rows = (int)s->all.n + 2 < r.h / 3 ? (int)s->all.n + 2 : r.h / 3;
    snprintf(title, sizeof title, "Systems  %zu", s->all.n);
    cf_rect in = cf_pane(g, (cf_rect){r.x, r.y, r.w, rows}, title, true);
    cf_rows at = cf_rows_begin(g, in, &s->list, s->all.n, true);
    while (cf_rows_next(&at, HERE_SPOT)) {
        draw_row(app, g, at.at, at.i, at.is_on);
    }
    fill(s);
    cf_rect below = {r.x, r.y + rows, r.w, r.h - rows};
    size_t now = row_in_effect(s);
    if (now == s->list.cursor) {
        draw_version(s, g, below, 1, now);
    } else {
        draw_version(s, g, (cf_rect){below.x, below.y, below.w / 2, below.h}, 0, now);
        draw_version(s, g,
                     (cf_rect){below.x + below.w / 2, below.y, below.w - below.w / 2, below.h}, 1,
                     s->list.cursor);
    }
}

static void systems_status(cf_app *app, cf_buf *out)
{
    size_t n = 0;
    for (size_t i = 0; i < state(app)->all.n; i++) {
        n += is_ticked(app, &state(app)->all.v[i]);
    }
    if (n > 0) {
        cf_buf_addf(out, "%zu ticked, :sweep compares them", n);
    }
}

/* ---- commands ----------------------------------------------------------- */

static const cf_lab_version *here(cf_app *app)
{
    const systems *s = state(app);
    load(app);
    return s->list.cursor < s->all.n ? &s->all.v[s->list.cursor] : NULL;
}

/* Shows its branch; false: it could not. */
static bool go_there(cf_app *app)
{
    const cf_lab_version *v = here(app);
    const cf_turn *to = v == NULL ? NULL : v->turn != NULL ? v->turn : v->reply;
    cf_error err;
    if (to == NULL) {
        cf_app_say(app, CF_STYLE_DIM, "nothing was said under it yet");
        return false;
    }
    if (cf_lab_set_head(app->lab, to->id, &err) != CF_OK) {
        cf_app_error(app, &err);
        return false;
    }
    return true;
}

static void cmd_use(cf_app *app)
{
    if (go_there(app)) {
        cf_app_open_view(app, CF_VIEW_CHAT);
    }
}

static void cmd_run(cf_app *app)
{
    const cf_lab_version *v = here(app);
    if (v != NULL && (v->is_now || go_there(app))) {
        cf_cmd_again(app);
    }
}

static void cmd_tick(cf_app *app)
{
    systems *s = state(app);
    const cf_lab_version *v = here(app);
    char name[48], slug[16];
    size_t n = 0;
    for (size_t i = 0; v != NULL && i < v->text.n && n + 1 < sizeof slug; i++) {
        char c = v->text.p[i];
        bool is_word = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        if (is_word || (n > 0 && slug[n - 1] != '-')) {
            slug[n++] = is_word ? c : '-';
        }
    }
    slug[n > 0 && slug[n - 1] == '-' ? n - 1 : n] = '\0';
    snprintf(name, sizeof name, "%zu-%s", s->list.cursor + 1, n > 0 ? slug : "none");
    if (v != NULL && cf_lab_tick_choice(app->lab, CF_TICK_SYSTEM, name, cf_buf_str(&v->text))) {
        cf_list_move(&s->list, CF_MOVE_DOWN);
    }
}

/* Rates the newest reply under it; the same key takes it off. */
static void cmd_rate(cf_app *app, int rating)
{
    systems *s = state(app);
    const cf_lab_version *v = here(app);
    cf_error err;
    if (v == NULL || v->reply == NULL || app->store == NULL) {
        return;
    }
    int to = rating_of(s, v->reply) == rating ? 0 : rating;
    if (cf_store_set_rating(app->store, v->reply->id, to, &err) != CF_OK) {
        cf_app_error(app, &err);
        return;
    }
    cf_lab_add_undo(app->lab, CF_LAB_UNDO_STORE, (cf_uuid){{0}});
    cf_app_stale(app);
}

static void systems_move(cf_app *app, int move)
{
    cf_list_move(&state(app)->list, move);
}

static void systems_click(cf_app *app, int what, size_t value)
{
    (void)what;
    cf_list_go(&state(app)->list, value);
}

static bool systems_text(cf_app *app, cf_buf *out)
{
    const cf_lab_version *v = here(app);
    if (v != NULL) {
        cf_buf_add(out, cf_buf_cstr(&v->text), v->text.n);
    }
    return v != NULL;
}

#define HERE CF_IN(CF_VIEW_SYSTEMS)

static const cf_command systems_commands[] = {
    {"use", HERE, "<Enter>", "", "go on under this one in Chat", CF_RUN(cmd_use)},
    {"run", HERE, "r", "", "ask everything again under this one, calls and all", CF_RUN(cmd_run)},
    {"tick", HERE, "<Space>", "", "tick it for :sweep", CF_RUN(cmd_tick)},
    {"good", HERE, "+", "", "rate its reply good", CF_BY(cmd_rate, 1)},
    {"bad", HERE, "-", "", "rate its reply bad", CF_BY(cmd_rate, -1)},
    CF_MOVE_ROWS(systems_move, HERE),
    {0},
};

const cf_view_ops cf_view_systems = {
    .name = "systems",
    .title = "Systems",
    .commands = systems_commands,
    .footer = "use run tick sweep system good bad undo back",
    .state_size = sizeof(systems),
    .open = systems_open,
    .close = systems_close,
    .draw = systems_draw,
    .status = systems_status,
    .click = systems_click,
    .text = systems_text,
    .stale = systems_stale,
};
