/*
 * test_grid_pixels.c - a grid as pixels.
 */
#include "tests/support/t.h"
#include "tui/grid/font.h"
#include "tui/grid/grid_pixels.h"

static uint32_t at(const cf_pixmap *p, int x, int y)
{
    const unsigned char *v = p->rgb + 3 * ((size_t)y * (size_t)p->w + (size_t)x);
    return (uint32_t)v[0] << 16 | (uint32_t)v[1] << 8 | v[2];
}

/* Pixels of cell (0, 0) that are not of the background. */
static int ink_of(const cf_grid *g)
{
    cf_theme theme;
    cf_pixmap p;
    cf_error err;
    int n = 0;
    cf_theme_default(&theme);
    T_OK(cf_grid_pixels(&p, g, &theme, &err), err);
    uint32_t ground = at(&p, 0, 0);
    for (int y = 0; y < p.h; y++) {
        for (int x = 0; x < p.w; x++) {
            n += at(&p, x, y) != ground;
        }
    }
    cf_pixmap_deinit(&p);
    return n;
}

static void test_grid_pixels__every_letter_is_drawn(void **state)
{
    (void)state;
    cf_grid g;
    cf_error err;
    cf_grid_init(&g);
    T_OK(cf_grid_resize(&g, 2, 1, &err), err);
    assert_int_equal(ink_of(&g), 0);
    for (uint32_t c = 33; c < 127; c++) {
        cf_grid_fill(&g, (cf_rect){0, 0, 1, 1}, c, CF_STYLE_NORMAL);
        assert_non_null(cf_font_glyph(c));
        assert_true(ink_of(&g) > 10);
    }
    assert_null(cf_font_glyph(' '));
    assert_null(cf_font_glyph(0xE9));
    static const uint32_t others[] = {0x2500, 0x253C, 0x2581, 0x2588, 0x28FF, 0xB7, 0x65E5};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        cf_grid_fill(&g, (cf_rect){0, 0, 1, 1}, others[i], CF_STYLE_NORMAL);
        assert_true(ink_of(&g) > 0);
    }
    cf_grid_deinit(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_grid_pixels__every_letter_is_drawn),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
