/*
 * caps_table.c - one or two columns of rows, as many as there is room for.
 */
#include "tui/view/kit/caps_table.h"

#include <string.h>

enum { LABEL_W = 24, VALUE_W = 9 };

static size_t count(void)
{
    const cf_template_caps none = {0};
    cf_cap_row row;
    size_t n = 0;
    while (cf_template_caps_row(&none, n, &row)) {
        n++;
    }
    return n;
}

/* Cells of the label, one value, and the second one with its mark. */
static int column_width(bool is_pair)
{
    return LABEL_W + 1 + VALUE_W + (is_pair ? VALUE_W + 3 : 1);
}

static size_t columns(int width, bool is_pair)
{
    return width >= 2 * column_width(is_pair) ? 2 : 1;
}

int cf_caps_table_rows(int width, bool is_pair)
{
    size_t n = columns(width, is_pair);
    return (int)((count() + n - 1) / n);
}

/* A capability that loses something. */
static cf_style style_of(const char *value)
{
    return strcmp(value, "dropped") == 0 || strcmp(value, "garbled") == 0 ? CF_STYLE_ERROR
           : strcmp(value, "no") == 0                                     ? CF_STYLE_DIM
           : strcmp(value, "yes") == 0                                    ? CF_STYLE_OK
                                                                          : CF_STYLE_NORMAL;
}

void cf_caps_table_draw(cf_grid *g, cf_rect r, const cf_template_caps *a, const cf_template_caps *b)
{
    size_t n = columns(r.w, b != NULL);
    int rows = cf_caps_table_rows(r.w, b != NULL);
    int w = r.w / (int)n;
    cf_cap_row x, y;
    for (size_t i = 0; cf_template_caps_row(a, i, &x); i++) {
        int at = r.x + (int)(i / (size_t)rows) * w;
        int row = (int)(i % (size_t)rows);
        if (row >= r.h) {
            continue;
        }
        int label_w = LABEL_W;
        cf_grid_puts(g, at, r.y + row, label_w, x.label, CF_STYLE_NORMAL);
        cf_grid_puts(g, at + label_w + 1, r.y + row, VALUE_W, x.value, style_of(x.value));
        if (b != NULL && cf_template_caps_row(b, i, &y)) {
            bool differ = strcmp(x.value, y.value) != 0;
            cf_grid_puts(g, at + label_w + VALUE_W + 1, r.y + row, 1, differ ? "!" : "|",
                         differ ? CF_STYLE_MARKED : CF_STYLE_DIM);
            cf_grid_puts(g, at + label_w + VALUE_W + 3, r.y + row, VALUE_W - 2, y.value,
                         style_of(y.value));
        }
    }
}
