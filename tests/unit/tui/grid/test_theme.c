/*
 * test_theme.c - themes for both backgrounds, and what each kind of terminal
 * makes of them.
 */
#include "tests/support/t.h"
#include "tui/grid/grid.h"
#include "tui/grid/grid_ink.h"
#include "tui/grid/theme.h"

/* Relative luminance by WCAG 2.1 with a gamma of 2, times 1e6. */
static double light_of(uint32_t rgb)
{
    double sum = 0;
    static const double weight[3] = {0.2126, 0.7152, 0.0722};
    for (int c = 0; c < 3; c++) {
        double v = (double)(rgb >> (16 - 8 * c) & 0xFF) / 255;
        sum += weight[c] * v * v;
    }
    return sum;
}

static double contrast(uint32_t a, uint32_t b)
{
    double x = light_of(a) + 0.05, y = light_of(b) + 0.05;
    return x > y ? x / y : y / x;
}

/* Everything that is text can be read, on either background; lines and the
 * bars of likely tokens may be faint. */
static void test_theme__can_be_read(void **state)
{
    (void)state;
    for (int light = 0; light < 2; light++) {
        cf_theme theme;
        cf_theme_default(&theme);
        cf_theme_set_light(&theme, light != 0);
        for (cf_style s = 0; s < CF_STYLE_COUNT; s++) {
            cf_cell cell = {{{'x', 0, 0, 0}, 1}, s, 0, 0};
            cf_ink k = cf_ink_of(&cell, &theme);
            bool is_faint = s == CF_STYLE_BORDER || s == CF_STYLE_PLOT_0 || s == CF_STYLE_IMAGE;
            if (!is_faint && contrast(k.fg, k.bg) < 3.5) {
                fail_msg("%s on %s: %.2f", cf_style_get_name(s), light ? "light" : "dark",
                         contrast(k.fg, k.bg));
            }
        }
    }
}

static void test_theme__palettes(void **state)
{
    (void)state;
    cf_theme theme;
    cf_theme_default(&theme);
    for (cf_style s = 0; s < CF_STYLE_COUNT; s++) {
        cf_look all = cf_theme_look(&theme, s, CF_TRUE_COLOR);
        cf_look many = cf_theme_look(&theme, s, 256);
        cf_look few = cf_theme_look(&theme, s, 8);
        cf_look none = cf_theme_look(&theme, s, 0);
        assert_int_equal(all.fg >= 0, many.fg >= 0);
        assert_true(many.fg < 256 && many.bg < 256);
        assert_true(few.fg < 8 && few.bg < 8);
        assert_true(none.fg == -1 && none.bg == -1);
    }
}

/* With eight colours too, marks that say different things differ. */
static void test_theme__few_colors_tell_apart(void **state)
{
    (void)state;
    static const cf_style marks[] = {CF_STYLE_OK, CF_STYLE_WARNING, CF_STYLE_ERROR, CF_STYLE_ADDED,
                                     CF_STYLE_REMOVED};
    cf_theme theme;
    cf_theme_default(&theme);
    for (size_t i = 0; i < sizeof marks / sizeof marks[0]; i++) {
        for (size_t j = 0; j < i; j++) {
            cf_look a = cf_theme_look(&theme, marks[i], 8), b = cf_theme_look(&theme, marks[j], 8);
            assert_true(a.fg != b.fg || a.attr != b.attr);
        }
    }
}

static void test_theme__own_colors_stay(void **state)
{
    (void)state;
    cf_theme theme;
    cf_error err;
    cf_theme_default(&theme);
    T_OK(cf_theme_set(&theme, "focus #102030 default bold", &err), err);
    cf_theme_set_light(&theme, true);
    cf_look look = cf_theme_look(&theme, CF_STYLE_FOCUS, CF_TRUE_COLOR);
    assert_int_equal(look.fg, CF_RGB(0x102030));
    assert_int_equal(cf_theme_set(&theme, "focus #10203 default", &err), CF_EINVAL);
    assert_int_equal(cf_theme_set(&theme, "focus #10203g default", &err), CF_EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_theme__can_be_read),
        cmocka_unit_test(test_theme__palettes),
        cmocka_unit_test(test_theme__few_colors_tell_apart),
        cmocka_unit_test(test_theme__own_colors_stay),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
