/*
 * note.c - see note.h.
 */
#include "tui/widget/note.h"

#include "tui/grid/wrap.h"

int cf_note_put(cf_grid *g, cf_rect r, cf_str text, cf_style style)
{
    cf_wrapped lines = {0};
    int n = 0;
    if (cf_wrapped_update(&lines, text, r.w, NULL) == CF_OK) {
        for (; n < r.h && (size_t)n < lines.n; n++) {
            bool is_last = n + 1 == r.h; /* what is left is cut there */
            size_t off = lines.v[n].off;
            if (g == NULL) {
                continue;
            }
            cf_grid_put(g, r.x, r.y + n, r.w,
                        cf_str_make(text.p + off, is_last ? text.n - off : lines.v[n].len), style);
        }
    }
    cf_wrapped_deinit(&lines);
    return n;
}

int cf_note_puts(cf_grid *g, cf_rect r, const char *text, cf_style style)
{
    return cf_note_put(g, r, cf_str_from(text), style);
}
