/*
 * pager.c - reading.
 */
#include "tui/widget/pager.h"

#include <stdio.h>
#include <string.h>

void cf_pager_deinit(cf_pager *p)
{
    cf_buf_deinit(&p->text);
    cf_wrapped_deinit(&p->lines);
    *p = (cf_pager){0};
}

void cf_pager_set(cf_pager *p, cf_str text)
{
    cf_buf_restart(&p->text);
    cf_buf_add(&p->text, text.p, text.n);
    cf_wrapped_reset(&p->lines);
    p->list = (cf_list){.height = p->list.height};
}

void cf_pager_move(cf_pager *p, cf_move move)
{
    cf_list *l = &p->list;
    size_t last = l->n > l->height ? l->n - l->height : 0;
    size_t page = l->height > 1 ? l->height - 1 : 1;
    size_t by = move == CF_MOVE_UP || move == CF_MOVE_DOWN             ? 1
                : move == CF_MOVE_PAGE_UP || move == CF_MOVE_PAGE_DOWN ? page
                : move == CF_MOVE_HALF_UP || move == CF_MOVE_HALF_DOWN ? (page + 1) / 2
                                                                       : l->n;
    bool up = move == CF_MOVE_UP || move == CF_MOVE_PAGE_UP || move == CF_MOVE_HALF_UP ||
              move == CF_MOVE_FIRST;
    if (up) {
        l->top -= l->top < by ? l->top : by;
    } else {
        l->top = l->top + by < last ? l->top + by : last;
    }
    l->cursor = l->top;
}

static unsigned char fold(unsigned char c)
{
    return c >= 'A' && c <= 'Z' ? (unsigned char)(c | 0x20) : c;
}

size_t cf_find_smart(cf_str text, const char *what)
{
    size_t n = strlen(what);
    bool ignores_case = true;
    for (size_t i = 0; i < n; i++) {
        ignores_case = ignores_case && fold((unsigned char)what[i]) == (unsigned char)what[i];
    }
    for (size_t at = 0; n != 0 && at + n <= text.n; at++) {
        size_t i = 0;
        while (i < n) {
            unsigned char c = (unsigned char)text.p[at + i];
            if ((ignores_case ? fold(c) : c) != (unsigned char)what[i]) {
                break;
            }
            i++;
        }
        if (i == n) {
            return at;
        }
    }
    return SIZE_MAX;
}

static cf_str line_text(const cf_pager *p, size_t line)
{
    const cf_line *l = &p->lines.v[line];
    return cf_str_make(cf_buf_cstr(&p->text) + l->off, l->len);
}

bool cf_pager_search(cf_pager *p, const char *what, int direction)
{
    size_t n = p->lines.n;
    snprintf(p->match, sizeof p->match, "%s", what);
    for (size_t step = direction == 0 ? 0 : 1; step <= n && n != 0; step++) {
        size_t line =
            direction < 0 ? (p->list.cursor + n - step % n) % n : (p->list.cursor + step) % n;
        if (cf_find_smart(line_text(p, line), what) != SIZE_MAX) {
            cf_list_go(&p->list, line);
            return true;
        }
    }
    return false;
}

static void mark_matches(const cf_pager *p, cf_grid *g, cf_rect r, cf_str line)
{
    size_t at = 0;
    size_t n = strlen(p->match);
    while (n != 0 && at < line.n) {
        size_t found = cf_find_smart(cf_str_make(line.p + at, line.n - at), p->match);
        if (found == SIZE_MAX) {
            return;
        }
        int x = (int)cf_text_width(line.p, at + found);
        int w = (int)cf_text_width(line.p + at + found, n);
        cf_grid_restyle(g, (cf_rect){r.x + x, r.y, w, 1}, CF_STYLE_MATCH);
        at += found + n;
    }
}

void cf_pager_draw(cf_pager *p, cf_grid *g, cf_rect r)
{
    if (r.w < 2 || r.h < 1 ||
        cf_wrapped_update(&p->lines, cf_buf_str(&p->text), r.w, NULL) != CF_OK) {
        return;
    }
    cf_list_set(&p->list, p->lines.n, (size_t)r.h);
    for (int y = 0; y < r.h && p->list.top + (size_t)y < p->lines.n; y++) {
        size_t line = p->list.top + (size_t)y;
        cf_str text = line_text(p, line);
        bool is_head = text.n != 0 && text.p[0] == '#';
        cf_grid_put(g, r.x, r.y + y, r.w, text, is_head ? CF_STYLE_FOCUS : CF_STYLE_NORMAL);
        mark_matches(p, g, (cf_rect){r.x, r.y + y, r.w, 1}, text);
    }
    g->cursor_x = r.x;
    g->cursor_y = r.y + (int)(p->list.cursor - p->list.top);
}
