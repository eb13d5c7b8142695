/*
 * fuzz_edit.c - any keys and pastes into a text field: the cursor is in the
 * text, what is drawn is harmless, and undo ends where it began.
 *
 * Byte 0 chooses one line or many; each byte after it is a key, and 0xFF
 * pastes the rest.
 */
#include <stdint.h>
#include <stdlib.h>

#include "core/base/safe_text.h"
#include "tui/widget/edit.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const cf_edit *e)
{
    cf_str text = cf_edit_text(e);
    if (e->cursor > text.n || e->n_undo > CF_EDIT_UNDO_MAX ||
        (e->one_line && text.n > 0 && memchr(text.p, '\n', text.n) != NULL)) {
        abort();
    }
}

static void draw(cf_edit *e)
{
    cf_grid g;
    cf_error err;
    cf_grid_init(&g);
    if (cf_grid_resize(&g, 20, 5, &err) == CF_OK) {
        cf_grid_clear(&g);
        cf_edit_draw(e, &g, (cf_rect){0, 0, 20, 5}, true);
        if (g.cursor_x >= g.w || g.cursor_y >= g.h) {
            abort();
        }
        for (int i = 0; i < g.w * g.h; i++) {
            if (cf_safe_is_harmful(g.cell[i].glyph.cp[0]) && g.cell[i].glyph.cp[0] != 0) {
                abort();
            }
        }
    }
    cf_grid_deinit(&g);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    /* Keys beyond the bytes: their numbers begin above Unicode. */
    static const char *const names[] = {"<Left>",   "<Right>",   "<Up>",  "<Down>",
                                        "<Home>",   "<End>",     "<Del>", "<BS>",
                                        "<C-Left>", "<C-Right>", "<M-b>", "<M-d>"};
    enum { N_NAMES = sizeof names / sizeof names[0] };
    cf_edit e;
    if (size < 1 || size > 4000) {
        return 0;
    }
    cf_edit_init(&e, data[0] % 2 == 0);
    for (size_t i = 1; i < size; i++) {
        cf_key key = data[i];
        size_t at = 0;
        if (data[i] == 0xFF) {
            cf_edit_insert(&e, cf_str_make((const char *)data + i + 1, size - i - 1));
            check(&e);
            break;
        }
        if (data[i] >= 0xE0) {
            const char *name = names[data[i] % N_NAMES];
            if (!cf_key_parse(&key, name, strlen(name), &at)) {
                continue;
            }
        }
        (void)cf_edit_key(&e, key, 20);
        check(&e);
    }
    draw(&e);
    cf_edit_commit(&e);
    check(&e);
    cf_edit_deinit(&e);
    return 0;
}
