/*
 * pane.c - boxes, rows and questions.
 */
#include "tui/view/kit/pane.h"

cf_rect cf_pane(cf_grid *g, cf_rect r, const char *title, bool has_focus)
{
    cf_grid_box(g, r, title, CF_STYLE_BORDER, has_focus ? CF_STYLE_FOCUS : CF_STYLE_TITLE);
    return cf_inside(r);
}

cf_rows cf_rows_begin(cf_grid *g, cf_rect r, cf_list *list, size_t n, bool has_focus)
{
    cf_list_set(list, n, (size_t)(r.h > 0 ? r.h : 0));
    if (has_focus) {
        g->cursor_x = r.x;
        g->cursor_y = r.y + (int)(list->cursor - list->top);
    }
    return (cf_rows){.g = g, .list = list, .r = r};
}

bool cf_rows_next(cf_rows *rows, int what)
{
    rows->i = rows->list->top + (size_t)rows->n_drawn;
    if (rows->n_drawn >= rows->r.h || rows->i >= rows->list->n) {
        return false;
    }
    rows->at = (cf_rect){rows->r.x, rows->r.y + rows->n_drawn++, rows->r.w, 1};
    rows->is_on = rows->i == rows->list->cursor;
    if (what >= 0) {
        cf_grid_spot(rows->g, rows->at, what, rows->i);
    }
    return true;
}

cf_rect cf_question(cf_grid *g, cf_rect r, const char *title, const char *keys)
{
    cf_grid_box(g, r, title, CF_STYLE_BORDER, CF_STYLE_WARNING);
    cf_rect in = {r.x + 2, r.y + 1, r.w - 4, r.h - 3};
    if (in.h > 0) {
        cf_grid_puts(g, in.x, in.y + in.h, in.w, keys, CF_STYLE_KEY);
        g->cursor_x = in.x;
        g->cursor_y = in.y + in.h;
    }
    return in;
}

cf_answer cf_answer_of(cf_key key)
{
    bool is_no = key == 'n' || key == 'q' || key == CF_KEY_ESC || key == CF_CTRL('C');
    return key == 'y' || key == 'Y' ? CF_ANSWER_YES : is_no ? CF_ANSWER_NO : CF_ANSWER_NONE;
}
