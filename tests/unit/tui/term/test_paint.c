/*
 * test_paint.c - the bytes of frames in 24-bit colours, read back by a
 * terminal.
 */
#include <locale.h>
#include <vterm.h>

#include "core/base/alloc.h"
#include "tests/support/t.h"
#include "tui/term/paint.h"

enum { W = 30, H = 6 };

typedef struct desk {
    cf_grid g;
    cf_cell *sent;
    VTerm *vt;
    VTermScreen *screen;
    cf_theme theme;
} desk;

static void set_up(desk *d)
{
    cf_error err;
    assert_non_null(setlocale(LC_CTYPE, "C.UTF-8"));
    cf_grid_init(&d->g);
    T_OK(cf_grid_resize(&d->g, W, H, &err), err);
    d->sent = cf_calloc((size_t)W * H, sizeof *d->sent);
    assert_non_null(d->sent);
    d->vt = vterm_new(H, W);
    vterm_set_utf8(d->vt, 1);
    d->screen = vterm_obtain_screen(d->vt);
    vterm_screen_reset(d->screen, 1);
    cf_theme_default(&d->theme);
}

static void tear_down(desk *d)
{
    vterm_free(d->vt);
    cf_free(d->sent);
    cf_grid_deinit(&d->g);
}

static size_t paint(desk *d, bool all)
{
    cf_buf out = CF_BUF_INIT;
    cf_paint(&out, &d->g, d->sent, all, &d->theme, CF_TRUE_COLOR);
    vterm_input_write(d->vt, cf_buf_cstr(&out), out.n);
    size_t n = out.n;
    cf_buf_deinit(&out);
    return n;
}

/* Every cell of the terminal is the one of the grid. */
static void same(desk *d)
{
    for (int y = 0; y < H; y++) {
        for (int x = 0; x < W; x++) {
            VTermScreenCell c;
            const cf_cell *want = &d->g.cell[y * W + x];
            vterm_screen_get_cell(d->screen, (VTermPos){y, x}, &c);
            if (want->glyph.width == 0) {
                continue;
            }
            uint32_t have = c.chars[0] == 0 ? ' ' : c.chars[0];
            assert_int_equal(have, want->glyph.cp[0]);
            cf_look look = cf_theme_look(&d->theme, want->style, CF_TRUE_COLOR);
            assert_int_equal(c.attrs.bold, (look.attr & CF_ATTR_BOLD) != 0);
            assert_int_equal(c.attrs.reverse, (look.attr & CF_ATTR_REVERSE) != 0);
            if (look.fg >= CF_RGB(0)) {
                assert_int_equal(c.fg.rgb.red, look.fg >> 16 & 0xFF);
                assert_int_equal(c.fg.rgb.green, look.fg >> 8 & 0xFF);
                assert_int_equal(c.fg.rgb.blue, look.fg & 0xFF);
            }
            if (look.bg >= CF_RGB(0)) {
                assert_int_equal(c.bg.rgb.red, look.bg >> 16 & 0xFF);
            }
        }
    }
}

static void draw(desk *d)
{
    cf_grid_clear(&d->g);
    cf_grid_box(&d->g, (cf_rect){0, 0, W, H}, "A title", CF_STYLE_BORDER, CF_STYLE_FOCUS);
    cf_grid_puts(&d->g, 2, 1, W - 4, "日本語 and e", CF_STYLE_USER);
    cf_grid_puts(&d->g, W - 2, 2, 2, "日", CF_STYLE_ERROR);
    cf_grid_puts(&d->g, 2, 3, W - 4, "selected", CF_STYLE_SELECTED);
    cf_grid_puts(&d->g, 2, 4, W - 4, "broken", CF_STYLE_BREAK | CF_REVERSE);
}

static void test_paint__shows_the_grid(void **state)
{
    (void)state;
    desk d;
    set_up(&d);
    draw(&d);
    paint(&d, true);
    same(&d);
    /* Nothing has changed: next to nothing is sent. */
    assert_true(paint(&d, false) < 24);
    cf_grid_puts(&d.g, 3, 1, 4, "xy日", CF_STYLE_WARNING);
    d.g.cursor_x = 5;
    d.g.cursor_y = 2;
    paint(&d, false);
    same(&d);
    VTermPos at;
    vterm_state_get_cursorpos(vterm_obtain_state(d.vt), &at);
    assert_int_equal(at.col, 5);
    assert_int_equal(at.row, 2);
    tear_down(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_paint__shows_the_grid),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
