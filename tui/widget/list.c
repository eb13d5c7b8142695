/*
 * list.c - moving and scrolling.
 */
#include "tui/widget/list.h"

static void scroll(cf_list *l)
{
    size_t height = l->height > 0 ? l->height : 1;
    if (l->cursor < l->top) {
        l->top = l->cursor;
    } else if (l->cursor >= l->top + height) {
        l->top = l->cursor - height + 1;
    }
    size_t last_top = l->n > height ? l->n - height : 0;
    if (l->top > last_top) {
        l->top = last_top;
    }
}

void cf_list_set(cf_list *l, size_t n, size_t height)
{
    l->n = n;
    l->height = height;
    if (l->cursor >= n) {
        l->cursor = n > 0 ? n - 1 : 0;
    }
    scroll(l);
}

void cf_list_go(cf_list *l, size_t row)
{
    l->cursor = row < l->n ? row : l->n > 0 ? l->n - 1 : 0;
    scroll(l);
}

static void step(cf_list *l, size_t rows, int up)
{
    if (up) {
        cf_list_go(l, l->cursor > rows ? l->cursor - rows : 0);
    } else {
        cf_list_go(l, l->cursor + rows);
    }
}

void cf_list_move(cf_list *l, cf_move move)
{
    size_t page = l->height > 1 ? l->height - 1 : 1;
    size_t half = l->height > 1 ? l->height / 2 : 1;
    switch (move) {
    case CF_MOVE_UP:
        step(l, 1, 1);
        break;
    case CF_MOVE_DOWN:
        step(l, 1, 0);
        break;
    case CF_MOVE_PAGE_UP:
        step(l, page, 1);
        break;
    case CF_MOVE_PAGE_DOWN:
        step(l, page, 0);
        break;
    case CF_MOVE_HALF_UP:
        step(l, half, 1);
        break;
    case CF_MOVE_HALF_DOWN:
        step(l, half, 0);
        break;
    case CF_MOVE_FIRST:
        cf_list_go(l, 0);
        break;
    case CF_MOVE_LAST:
        cf_list_go(l, l->n > 0 ? l->n - 1 : 0);
        break;
    }
}
