/*
 * fuzz_grid.c - any bytes as a text on the screen: no cell has a character
 * that acts on a terminal, the clusters are the whole text, and no line of a
 * wrapped text is wider than its width.
 *
 * Byte 0 is the width.
 */
#include <stdint.h>
#include <stdlib.h>

#include "core/base/safe_text.h"
#include "tui/grid/grid.h"
#include "tui/grid/wrap.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_clusters(cf_str text, cf_space_mode mode)
{
    cf_cluster c;
    size_t at = 0, column = 0, end = 0;
    while (cf_cluster_next(&c, text.p, text.n, &at, column, mode)) {
        if (c.off != end || c.len == 0 || c.width > CF_CLUSTER_CELLS * 2) {
            abort();
        }
        end = c.off + c.len;
        column = c.is_newline ? 0 : column + c.width;
    }
    if (end != text.n) {
        abort();
    }
}

static void check_cells(const cf_grid *g)
{
    for (int i = 0; i < g->w * g->h; i++) {
        const cf_glyph *glyph = &g->cell[i].glyph;
        for (int k = 0; k < 1 + CF_CELL_MARKS && glyph->cp[k] != 0; k++) {
            if (cf_safe_is_harmful(glyph->cp[k]) || glyph->cp[k] == '\n' || glyph->cp[k] == '\t') {
                abort();
            }
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cf_grid g;
    cf_error err;
    cf_wrapped w = {0};
    if (size < 1 || size > 20000) {
        return 0;
    }
    int width = data[0] % 60 + 1;
    cf_str text = cf_str_make((const char *)data + 1, size - 1);
    check_clusters(text, CF_SPACE_PLAIN);
    check_clusters(text, CF_SPACE_VISIBLE);
    cf_grid_init(&g);
    if (cf_grid_resize(&g, width, 2, &err) != CF_OK) {
        return 0;
    }
    cf_grid_clear(&g);
    if (cf_grid_put(&g, 0, 0, width, text, (cf_style){0}) > width) {
        abort();
    }
    check_cells(&g);
    cf_grid_deinit(&g);
    if (cf_wrapped_update(&w, text, width < 2 ? 2 : width, &err) != CF_OK) {
        abort();
    }
    cf_wrapped_deinit(&w);
    return 0;
}
