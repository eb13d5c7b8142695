/*
 * view_diff.c - two prompts side by side (or, on a narrow screen, one below
 * the other): text, tokens, or the sources of the templates.
 *
 * Rows of the difference are broken into screen lines once for a width
 * (diff_lines.c); a frame draws the lines in sight (diff_draw.c).  Whatever
 * takes longer, replies, likelihoods and the comparison of all that is saved,
 * is shown below by diff_panels.c.
 */
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "tui/lab/prompt/kept_template.h"
#include "tui/lab/prompt/lab_prompt.h"
#include "tui/lab/state/lab_marks.h"
#include "tui/lab/talk/lab_conversation.h"
#include "tui/lab/talk/lab_messages.h"
#include "tui/lab/talk/lab_send.h"
#include "tui/lab/talk/lab_template.h"
#include "tui/view/diff/view_diff.h"
#include "tui/view/kit/moves.h"
#include "tui/widget/pager.h"

/* Rows of context, from few to many. */
static const size_t contexts[] = {0, 1, 3, 10, CF_DIFF_ALL};
#define N_CONTEXTS (sizeof contexts / sizeof contexts[0])

typedef cf_diff_line dline;
typedef cf_diff_view diff_view;

cf_diff_view *cf_diff_state(cf_app *app)
{
    return app->state[CF_VIEW_DIFF];
}

static diff_view *state(cf_app *app)
{
    return cf_diff_state(app);
}

static void diff_open(void *state)
{
    diff_view *s = state;
    s->is_stale = true;
    s->wants_hunk = true;
    s->context = CF_DIFF_ALL;
}

static void diff_close(cf_app *app)
{
    diff_view *s = state(app);
    cf_diff_run_deinit(&s->run);
    cf_likely_deinit(&s->likely);
    cf_survey_deinit(&s->survey);
    if (s->m.lab != NULL) {
        cf_diff_model_deinit(&s->m);
    }
    cf_buf_deinit(&s->kept);
    cf_free(s->line);
}

/* The workbench is there only after the view was opened. */
static cf_diff_model *model(cf_app *app)
{
    diff_view *s = state(app);
    if (s->m.lab == NULL) {
        cf_diff_model_init(&s->m, app->lab, app->store);
    }
    return &s->m;
}

static bool has_marks(const cf_app *app)
{
    return !cf_uuid_is_nil(cf_lab_marked(app->lab, 0)) &&
           !cf_uuid_is_nil(cf_lab_marked(app->lab, 1));
}

static void use_subject(cf_app *app, int subject);

static void show_panel(diff_view *s, cf_diff_panel panel, bool has_focus)
{
    s->panel = panel;
    s->in_panel = has_focus && panel != CF_PANEL_NONE;
}

/* Replies and likelihoods belong to what is compared. */
static void forget_answers(diff_view *s)
{
    cf_diff_run_deinit(&s->run);
    cf_likely_deinit(&s->likely);
    if (s->panel != CF_PANEL_SURVEY) {
        show_panel(s, CF_PANEL_NONE, false);
    }
}

static void diff_enter(cf_app *app)
{
    cf_diff_model *m = model(app);
    cf_error err;
    cf_buf_restart(&state(app)->kept); /* offered until side B is chosen */
    if (m->name[0] == '\0' &&
        cf_kept_template_names(&state(app)->kept, app->store, &err) != CF_OK) {
        cf_buf_restart(&state(app)->kept); /* the Library says what is wrong */
    }
    if (m->name[0] == '\0' && m->subject == CF_DIFF_CURRENT && has_marks(app)) {
        use_subject(app, CF_DIFF_MARKS);
    }
    state(app)->is_stale = true;
}

/* Brings the comparison up to date with what is in the workbench. */
static void refresh(cf_app *app)
{
    diff_view *s = state(app);
    cf_diff_model *m = model(app);
    bool has_moved = m->generation != cf_lab_generation(app->lab) && !cf_lab_is_busy(app->lab);
    if (s->is_stale || has_moved) {
        if (has_moved && m->generation != 0 && m->subject == CF_DIFF_CURRENT) {
            forget_answers(s); /* they were to what was said before */
        }
        cf_diff_model_update(m);
        s->is_stale = false;
        s->width = 0;
    }
}

static void diff_draw(cf_app *app, cf_grid *g, cf_rect r)
{
    refresh(app);
    cf_diff_draw(app, g, r);
}

/* The origin of the line under the cursor. */
static void diff_status(cf_app *app, cf_buf *out)
{
    const diff_view *s = state(app);
    if (s->m.lab == NULL || !s->m.has_diff || s->list.cursor >= s->n) {
        return;
    }
    const dline *l = &s->line[s->list.cursor];
    int side = l->side[0].is_there ? 0 : 1;
    /* Where there was no room to lay them out, the lines are those of an
     * earlier comparison. */
    size_t n = cf_diff_side_of(s, side)->n;
    size_t unit = l->row < s->m.diff.n_rows ? cf_diff_unit_of(&s->m.diff.rows[l->row], side) : n;
    if (unit >= n) {
        return;
    }
    const cf_diff_unit *u = &cf_diff_side_of(s, side)->v[unit];
    bool is_turn = u->source == CF_SPAN_MESSAGE && cf_diff_shows_current(&s->m);
    size_t number = is_turn ? cf_lab_number_of(app->lab, u->index) : (size_t)u->index + 1;
    if (is_turn && number == 0) {
        cf_buf_adds(out, "system prompt  ");
    } else if (u->source == CF_SPAN_MESSAGE || u->source == CF_SPAN_TOOL) {
        cf_buf_addf(out, "%s %zu  ", is_turn ? "turn" : cf_span_source_name(u->source), number);
    }
    if (u->template_line != 0) {
        cf_buf_addf(out, "template line %u of %c  ", (unsigned)u->template_line, 'A' + side);
    }
    cf_buf_addf(out, "line %zu of %zu", s->list.cursor + 1, s->n);
    if (u->cause != NULL) {
        cf_buf_adds(out, "  ");
        cf_prompt_cause_text(out, u->cause);
    }
}

/* ---- commands ----------------------------------------------------------- */

static void diff_move(cf_app *app, int move)
{
    diff_view *s = state(app);
    cf_list_move(s->in_panel ? &s->rows[s->panel] : &s->list, move);
}

static void go_hunk(cf_app *app, int by)
{
    diff_view *s = state(app);
    if (s->in_panel && s->panel == CF_PANEL_REPLIES) {
        cf_diff_panel_to_first(s);
        return;
    }
    for (size_t i = s->list.cursor; by > 0 ? i + 1 < s->n : i > 0;) {
        i = by > 0 ? i + 1 : i - 1;
        if (cf_diff_begins_hunk(s, i)) {
            cf_diff_go_line(s, i);
            return;
        }
    }
    cf_app_say(app, CF_STYLE_DIM,
               by > 0 ? "no difference further down" : "no difference further up");
}

void cf_diff_go_line(diff_view *s, size_t line)
{
    cf_list_go(&s->list, line);
    s->list.top = line > s->list.height / 4 ? line - s->list.height / 4 : 0;
}

/* Another comparison begins at its first difference. */
static void go_first(cf_app *app)
{
    diff_view *s = state(app);
    s->is_stale = true;
    s->n = 0;
    s->wants_hunk = true;
    s->list = (cf_list){.height = s->list.height};
}

/* Sources are the same whatever is rendered, so that level is left. */
static void use_subject(cf_app *app, int subject)
{
    cf_diff_model *m = model(app);
    m->subject = subject;
    forget_answers(state(app));
    if (m->level == CF_DIFF_LEVEL_SOURCE) {
        m->level = CF_DIFF_LEVEL_TEXT;
    }
    go_first(app);
}

static void cmd_with(cf_app *app, const char *arg)
{
    cf_error err;
    if (arg[0] == '\0') {
        cf_edit_set(&app->command_line, cf_str_from("with "));
        app->mode = CF_MODE_COMMAND;
        return;
    }
    if (cf_diff_model_with(model(app), arg, &err) != CF_OK) {
        cf_app_error(app, &err);
        return;
    }
    forget_answers(state(app));
    cf_survey_deinit(&state(app)->survey);
    show_panel(state(app), CF_PANEL_NONE, false);
    go_first(app);
}

/* A side with adapters of its own: what they change is in the replies. */
static void cmd_with_lora(cf_app *app, const char *arg)
{
    cf_error err;
    if (arg[0] == '\0') {
        cf_edit_set(&app->command_line, cf_str_from("with-lora "));
        app->mode = CF_MODE_COMMAND;
        return;
    }
    if (cf_app_is_busy(app)) {
        cf_app_say_while_busy(app, "waiting");
        return;
    }
    forget_answers(state(app));
    if (cf_diff_model_lora(model(app), arg, &err) != CF_OK) {
        cf_app_error(app, &err);
        return;
    }
    cf_survey_deinit(&state(app)->survey);
    go_first(app);
    cf_app_say(app, CF_STYLE_OK, "r asks both sides, %% scores stored replies");
}

static void cmd_level(cf_app *app, const char *arg)
{
    cf_diff_model *m = model(app);
    cf_diff_level to = (cf_diff_level)((m->level + 1) % 3);
    bool has_tokens = cf_lab_engine_of(app->lab)->tokenizer != NULL;
    for (int i = 0; i < 3; i++) {
        to = strcmp(arg, cf_diff_level_names[i]) == 0 ? (cf_diff_level)i : to;
    }
    if (to == CF_DIFF_LEVEL_TOKENS && !has_tokens) {
        if (arg[0] != '\0') {
            cf_app_say(app, CF_STYLE_WARNING, "this engine shows no tokens");
            return;
        }
        to = CF_DIFF_LEVEL_SOURCE;
    }
    if (to == CF_DIFF_LEVEL_SOURCE && m->subject == CF_DIFF_MARKS) {
        to = CF_DIFF_LEVEL_TEXT; /* both sides have one template */
    }
    m->level = to;
    go_first(app);
}

static void cmd_swap(cf_app *app)
{
    cf_diff_model *m = model(app);
    m->is_swapped = !m->is_swapped;
    state(app)->is_stale = true;
}

static void cmd_white(cf_app *app)
{
    diff_view *s = state(app);
    s->shows_white = !s->shows_white;
    s->width = 0;
}

static void cmd_unified(cf_app *app)
{
    diff_view *s = state(app);
    s->wants_unified = !s->wants_unified;
    s->width = 0;
    if (cf_app_is_narrow(app)) {
        cf_app_say(app, CF_STYLE_DIM, "one column: two need at least 100 cells");
    }
}

static void cmd_marks(cf_app *app)
{
    if (!has_marks(app)) {
        cf_app_say(app, CF_STYLE_WARNING, "mark two conversations first: 6, then A and B");
        return;
    }
    use_subject(app, CF_DIFF_MARKS);
}

/* ---- what takes longer -------------------------------------------------- */

/* The number of an argument, 0 when there is none. */
static bool read_number(cf_app *app, const char *arg, uint32_t *out)
{
    char *end = NULL;
    unsigned long v = strtoul(arg, &end, 10);
    *out = (uint32_t)v;
    if (arg[0] == '-' || *end != '\0' || v > 1000000) {
        cf_app_say(app, CF_STYLE_WARNING, "'%s' is not a number of tokens", arg);
        return false;
    }
    return true;
}

static void cmd_run(cf_app *app, const char *arg)
{
    diff_view *s = state(app);
    cf_error err;
    uint32_t max_tokens;
    if (!read_number(app, arg, &max_tokens)) {
        return;
    }
    refresh(app); /* an answer belongs to what is compared now */
    if (cf_diff_run_start(&s->run, model(app), max_tokens, &err) != CF_OK) {
        cf_app_error(app, &err);
        return;
    }
    s->goes_to_first = true;
    s->rows[CF_PANEL_REPLIES] = (cf_list){0};
    show_panel(s, CF_PANEL_REPLIES, true);
}

static void cmd_likelihood(cf_app *app)
{
    diff_view *s = state(app);
    cf_error err;
    refresh(app);
    if (cf_likely_start(&s->likely, model(app), &err) != CF_OK) {
        cf_app_error(app, &err);
        return;
    }
    s->rows[CF_PANEL_LIKELY] = (cf_list){0};
    show_panel(s, CF_PANEL_LIKELY, true);
}

/* Over the ticked conversations, or with "all" or without ticks over all. */
static void start_survey(cf_app *app, const char *arg, bool scores)
{
    diff_view *s = state(app);
    cf_error err;
    cf_survey_options o = {.level = model(app)->level, .scores = scores};
    if (strcmp(arg, "all") != 0) {
        o.id = cf_lab_ticked(app->lab, &o.n_id);
    }
    if (cf_survey_start(&s->survey, model(app), &o, &err) != CF_OK) {
        cf_app_error(app, &err);
        return;
    }
    s->rows[CF_PANEL_SURVEY] = (cf_list){0};
    show_panel(s, CF_PANEL_SURVEY, true);
}

static void cmd_saved(cf_app *app, const char *arg)
{
    start_survey(app, arg, false);
}

static void cmd_likelihood_saved(cf_app *app, const char *arg)
{
    start_survey(app, arg, true);
}

/* Work of this view. */
static bool is_at_work(const diff_view *s)
{
    return s->run.is_on || s->likely.is_on || s->survey.is_on;
}

/* Stops what runs; idle, it leaves panel, then subject. */
static void cmd_stop(cf_app *app)
{
    diff_view *s = state(app);
    if (cf_app_is_busy(app)) {
        cf_lab_stop(app->lab);
        if (!is_at_work(s)) {
            cf_app_say_while_busy(app, "stopping");
        }
    } else if (s->panel != CF_PANEL_NONE) {
        show_panel(s, CF_PANEL_NONE, false);
    } else if (model(app)->subject != CF_DIFF_CURRENT) {
        use_subject(app, CF_DIFF_CURRENT);
    }
}

static void cmd_pane(cf_app *app)
{
    diff_view *s = state(app);
    s->in_panel = !s->in_panel && s->panel != CF_PANEL_NONE;
}

/* Replies, likelihood, saved ones, none, as far as there is something. */
static void cmd_panel(cf_app *app)
{
    diff_view *s = state(app);
    cf_diff_panel panel = s->panel;
    do {
        panel = (cf_diff_panel)((panel + 1) % CF_PANEL_COUNT);
    } while (panel != CF_PANEL_NONE && !cf_diff_panel_has(s, panel));
    if (panel == CF_PANEL_NONE && s->panel == CF_PANEL_NONE) {
        cf_app_say(app, CF_STYLE_DIM,
                   "nothing to show yet: r runs both, %% scores, S compares "
                   "what is saved");
    }
    show_panel(s, panel, true);
}

static void set_context(cf_app *app, size_t rows)
{
    diff_view *s = state(app);
    s->context = rows;
    s->width = 0;
    if (rows == CF_DIFF_ALL) {
        cf_app_say(app, CF_STYLE_DIM, "all equal lines are shown");
    } else {
        cf_app_say(app, CF_STYLE_DIM, "%zu %s%s around a difference", rows,
                   cf_diff_is_tokens(s) ? "token" : "line", rows == 1 ? "" : "s");
    }
}

/* One step along contexts. */
static void step_context(cf_app *app, int by)
{
    size_t at = 0;
    while (contexts[at] != state(app)->context) {
        at++;
    }
    if (by < 0 ? at > 0 : at + 1 < N_CONTEXTS) {
        at = by < 0 ? at - 1 : at + 1;
    }
    set_context(app, contexts[at]);
}

static void show_saved(cf_app *app, cf_uuid id)
{
    model(app)->saved = id;
    use_subject(app, CF_DIFF_SAVED);
    state(app)->in_panel = false;
}

/* Compares the saved conversation under the cursor, or unfolds. */
static void cmd_open(cf_app *app)
{
    diff_view *s = state(app);
    if (!s->in_panel && s->list.cursor < s->n && s->line[s->list.cursor].n_folded != 0) {
        set_context(app, CF_DIFF_ALL);
        return;
    }
    const cf_list *rows = &s->rows[CF_PANEL_SURVEY];
    if (s->in_panel && s->panel == CF_PANEL_SURVEY && rows->cursor < s->survey.n_row) {
        show_saved(app, s->survey.row[rows->cursor].id);
    }
}

static void show_source(cf_app *app, const char *name, cf_str source)
{
    cf_error err;
    cf_diff_model *m = model(app);
    if (cf_diff_model_with_text(m, name, source, &err) != CF_OK) {
        cf_app_error(app, &err);
        return;
    }
    forget_answers(state(app));
    use_subject(app, CF_DIFF_CURRENT);
    m->is_swapped = false; /* the one in use is the newer: B */
    m->level = CF_DIFF_LEVEL_SOURCE;
    cf_app_open_view(app, CF_VIEW_DIFF);
}

static void show_server(cf_app *app)
{
    cf_error err;
    cf_diff_model *m = model(app);
    if (cf_diff_model_with(m, "server", &err) != CF_OK) {
        cf_app_error(app, &err);
        return;
    }
    forget_answers(state(app));
    m->is_swapped = true; /* ours is A, the server's B */
    use_subject(app, CF_DIFF_CURRENT);
    cf_app_open_view(app, CF_VIEW_DIFF);
}

static void cmd_caps(cf_app *app)
{
    diff_view *s = state(app);
    if (!cf_diff_panel_has(s, CF_PANEL_CAPS)) {
        cf_app_say(app, CF_STYLE_DIM, "choose the other template first");
        return;
    }
    show_panel(s, s->panel == CF_PANEL_CAPS ? CF_PANEL_NONE : CF_PANEL_CAPS, false);
}

/* The survey starts only when the other template was chosen. */
static void diff_show(cf_app *app, const cf_target *target)
{
    switch (target->kind) {
    case CF_TARGET_SOURCE:
        show_source(app, target->name, target->text);
        return;
    case CF_TARGET_SERVER:
        show_server(app);
        return;
    case CF_TARGET_MARKED:
        model(app);
        use_subject(app, CF_DIFF_MARKS);
        state(app)->in_panel = false;
        break;
    default:
        show_saved(app, target->id);
        break;
    }
    if (target->kind == CF_TARGET_TICKED && model(app)->name[0] != '\0') {
        start_survey(app, "", false);
    }
    cf_app_open_view(app, CF_VIEW_DIFF);
}

static bool fold_has(const diff_view *s, const dline *l, const char *text)
{
    for (uint32_t i = 0; i < l->n_folded; i++) {
        cf_str unit = cf_diff_text_of(cf_diff_side_of(s, 0), s->m.diff.rows[l->row + i].a);
        if (cf_find_smart(unit, text) != SIZE_MAX) {
            return true;
        }
    }
    return false;
}

static bool line_has(const diff_view *s, size_t line, const char *text)
{
    const dline *l = &s->line[line];
    if (l->n_folded != 0) {
        return fold_has(s, l, text);
    }
    for (int i = 0; i < 2; i++) {
        if (l->side[i].is_there) {
            cf_str unit =
                cf_diff_text_of(cf_diff_side_of(s, i), cf_diff_unit_of(&s->m.diff.rows[l->row], i));
            cf_str shown = cf_str_make(unit.p + l->side[i].off, l->side[i].len);
            if (cf_find_smart(shown, text) != SIZE_MAX) {
                return true;
            }
        }
    }
    return false;
}

/* SIZE_MAX: the panel, but none of its rows. */
static void diff_click(cf_app *app, int what, size_t value)
{
    diff_view *s = state(app);
    s->in_panel = what == CF_DIFF_SPOT_PANEL;
    if (!s->in_panel) {
        cf_list_go(&s->list, value);
    } else if (value != SIZE_MAX) {
        cf_list_go(&s->rows[s->panel], value);
    }
}

/* The pane under the wheel takes the focus. */
static bool diff_wheel(cf_app *app, int what, size_t value, int by)
{
    (void)value;
    (void)by;
    state(app)->in_panel = what == CF_DIFF_SPOT_PANEL;
    return false;
}

static void diff_search(cf_app *app, const char *text, int direction)
{
    diff_view *s = state(app);
    for (size_t step = direction == 0 ? 0 : 1; s->n > 0 && step <= s->n; step++) {
        size_t i = direction < 0 ? (s->list.cursor + s->n - step % s->n) % s->n
                                 : (s->list.cursor + step) % s->n;
        if (line_has(s, i, text)) {
            cf_list_go(&s->list, i);
            return;
        }
    }
    cf_app_say(app, CF_STYLE_WARNING, "'%s' is on neither side", text);
}

/* The rows of the difference as a patch would have them, whole. */
static bool diff_text(cf_app *app, cf_buf *out)
{
    static const char signs[] = "-+";
    const cf_diff_view *s = cf_diff_state(app);
    if (!s->m.has_diff) {
        return false;
    }
    cf_buf_addf(out, "--- %s\n+++ %s\n", cf_diff_model_name(&s->m, 0),
                cf_diff_model_name(&s->m, 1));
    for (size_t i = 0; i < s->m.diff.n_rows; i++) {
        const cf_diff_row *r = &s->m.diff.rows[i];
        int last = r->kind == CF_DIFF_KEPT ? 0 : 1;
        for (int side = 0; side <= last; side++) {
            uint32_t unit = cf_diff_unit_of(r, side);
            const cf_diff_side *d = cf_diff_side_of(s, side);
            if (unit == CF_DIFF_NONE) {
                continue;
            }
            cf_str text = cf_str_make(d->text.p + d->v[unit].off, d->v[unit].len);
            cf_buf_addc(out, r->kind == CF_DIFF_KEPT ? ' ' : signs[side]);
            cf_buf_add(out, text.p, text.n);
            cf_buf_addc(out, '\n');
        }
    }
    return true;
}

#define HERE CF_IN(CF_VIEW_DIFF)

static const cf_command diff_commands[] = {
    {"with", HERE, "B", "NAME|FILE",
     "compare with this template as A; 'model' is the one used at the start", CF_WITH(cmd_with)},
    {"with-lora", HERE, "", "FILE[=SCALE] ...",
     "use these LoRA adapters for A; off for none, same for those of B", CF_WITH(cmd_with_lora)},
    {"level", HERE, "s", "[text|tokens|source]", "choose what is compared", CF_WITH(cmd_level)},
    {"next-hunk", HERE, "]c", "", "next difference", CF_BY(go_hunk, 1)},
    {"previous-hunk", HERE, "[c", "", "previous difference", CF_BY(go_hunk, -1)},
    {"swap", HERE, "~", "", "swap A and B", CF_RUN(cmd_swap)},
    {"white", HERE, "gw", "", "show white space", CF_RUN(cmd_white)},
    {"run", HERE, "r", "[TOKENS]", "ask both sides with the same seed and show where they diverge",
     CF_WITH(cmd_run)},
    {"likelihood", HERE, "%", "", "how likely the stored replies are under each side",
     CF_RUN(cmd_likelihood)},
    {"saved", HERE, "S", "[all]", "compare the ticked or all saved conversations, at this level",
     CF_WITH(cmd_saved)},
    {"likelihood-saved", HERE, "g%", "[all]", "the same, with the likelihood of their replies",
     CF_WITH(cmd_likelihood_saved)},
    {"panel", HERE, "p", "", "next panel: replies, likelihood, saved conversations, none",
     CF_RUN(cmd_panel)},
    {"capabilities", HERE, "C", "", "what both templates can do, side by side", CF_RUN(cmd_caps)},
    {"unified", HERE, "|", "", "one column, or two", CF_RUN(cmd_unified)},
    {"less-context", HERE, "{", "", "show less of what is equal", CF_BY(step_context, -1)},
    {"more-context", HERE, "}", "", "show more of what is equal", CF_BY(step_context, 1)},
    {"compare", HERE, "<Enter>", "",
     "compare the saved conversation under the cursor, or unfold what is equal", CF_RUN(cmd_open)},
    {"pane", HERE, "<Tab>", "", "switch between the sides and the panel", CF_RUN(cmd_pane)},
    {"marks", HERE, "A", "", "compare the conversations marked A and B", CF_RUN(cmd_marks)},
    {"current", HERE, "g.", "", "compare the open conversation",
     CF_BY(use_subject, CF_DIFF_CURRENT)},
    {"bench", HERE, "", "", "the former name of :current", CF_BY(use_subject, CF_DIFF_CURRENT)},
    {"stop", HERE, "<Esc>", "",
     "stop; if idle, close the panel and return to the open conversation", CF_RUN(cmd_stop)},
    CF_MOVE_ROWS(diff_move, HERE),
    {0},
};

const cf_view_ops cf_view_diff = {
    .name = "diff",
    .title = "Diff",
    .commands = diff_commands,
    .footer = "with level next-hunk less-context run likelihood saved swap pane "
              "white unified more-context",
    .state_size = sizeof(diff_view),
    .open = diff_open,
    .close = diff_close,
    .enter = diff_enter,
    .draw = diff_draw,
    .search = diff_search,
    .click = diff_click,
    .wheel = diff_wheel,
    .show = diff_show,
    .text = diff_text,
    .status = diff_status,
};
