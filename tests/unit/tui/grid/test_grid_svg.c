/*
 * test_grid_svg.c - a grid as a picture.
 */
#include "core/base/alloc.h"
#include "tests/support/fault.h"
#include "tests/support/rand.h"
#include "tests/support/t.h"
#include "tui/grid/grid_svg.h"

static void make(cf_grid *g, int w, int h)
{
    cf_error err;
    cf_grid_init(g);
    assert_int_equal(cf_grid_resize(g, w, h, &err), CF_OK);
}

static void draw(const cf_grid *g, cf_buf *out)
{
    cf_theme theme;
    cf_theme_default(&theme);
    cf_grid_svg(g, &theme, out);
    assert_false(out->failed);
}

static void has(const cf_buf *svg, const char *part)
{
    if (strstr(cf_buf_cstr(svg), part) == NULL) {
        fail_msg("no %s in\n%s", part, cf_buf_cstr(svg));
    }
}

static void test_svg__text_and_markup(void **state)
{
    (void)state;
    cf_grid g;
    cf_buf out = CF_BUF_INIT;
    make(&g, 20, 2);
    cf_grid_puts(&g, 1, 0, 19, "<a & b>  c", CF_STYLE_NORMAL);
    cf_grid_puts(&g, 0, 1, 20, "kept", CF_STYLE_KEPT | CF_BOLD);
    draw(&g, &out);
    has(&out, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"204\" "
              "height=\"62\"");
    has(&out, "<text x=\"21\" y=\"26\" textLength=\"90\" fill=\"#d6dae0\">"
              "&lt;a &amp; b&gt;  c</text>");
    has(&out, "<text x=\"12\" y=\"45\" textLength=\"36\" fill=\"#7fae8c\" "
              "font-weight=\"bold\">kept</text>");
    cf_buf_deinit(&out);
    cf_grid_deinit(&g);
}

static void test_svg__wide_and_combining(void **state)
{
    (void)state;
    cf_grid g;
    cf_buf out = CF_BUF_INIT;
    make(&g, 10, 1);
    cf_grid_puts(&g, 0, 0, 10,
                 "a\xE6\xBC\xA2"
                 "e\xCC\x81"
                 "b",
                 CF_STYLE_NORMAL);
    draw(&g, &out);
    has(&out, "<text x=\"12\" y=\"26\" textLength=\"9\" "
              "fill=\"#d6dae0\">a</text>");
    has(&out, "<text x=\"21\" y=\"26\" textLength=\"18\" "
              "fill=\"#d6dae0\">\xE6\xBC\xA2</text>");
    has(&out, "<text x=\"39\" y=\"26\" textLength=\"9\" "
              "fill=\"#d6dae0\">e\xCC\x81</text>");
    has(&out, "<text x=\"48\" y=\"26\" textLength=\"9\" "
              "fill=\"#d6dae0\">b</text>");
    cf_buf_deinit(&out);
    cf_grid_deinit(&g);
}

static void test_svg__grounds_and_lines(void **state)
{
    (void)state;
    cf_grid g;
    cf_buf out = CF_BUF_INIT;
    make(&g, 6, 3);
    cf_grid_box(&g, (cf_rect){0, 0, 3, 3}, NULL, CF_STYLE_BORDER, CF_STYLE_BORDER);
    cf_grid_puts(&g, 3, 1, 3, "x", CF_STYLE_BREAK | CF_UNDERLINE);
    cf_grid_fill(&g, (cf_rect){4, 2, 1, 1}, 0x2588, CF_STYLE_NORMAL);
    g.cursor_x = 5;
    g.cursor_y = 2;
    draw(&g, &out);
    /* the corner's two arms */
    has(&out, "<rect x=\"16\" y=\"21\" width=\"5\" height=\"1\" "
              "fill=\"#4b525c\"/>");
    has(&out, "<rect x=\"16\" y=\"21\" width=\"1\" height=\"10\" "
              "fill=\"#4b525c\"/>");
    /* background and underline */
    has(&out, "<rect x=\"39\" y=\"31\" width=\"9\" height=\"19\" "
              "fill=\"#c0392b\"/>");
    has(&out, "<rect x=\"39\" y=\"47\" width=\"9\" height=\"1\" "
              "fill=\"#ffffff\"/>");
    /* a full block and the cursor */
    has(&out, "<rect x=\"48\" y=\"50\" width=\"9\" height=\"19\" "
              "fill=\"#d6dae0\"/>");
    has(&out, "<rect x=\"57\" y=\"50\" width=\"9\" height=\"19\" "
              "fill=\"#d6dae0\" fill-opacity=\"0.5\"/>");
    cf_buf_deinit(&out);
    cf_grid_deinit(&g);
}

/* Reads the texts of a picture back into rows of characters. */
static void read_back(const char *svg, char *rows, int w, int h)
{
    static const struct {
        const char *text;
        char c;
    } escape[4] = {{"&amp;", '&'}, {"&lt;", '<'}, {"&gt;", '>'}, {"&quot;", '"'}};
    memset(rows, ' ', (size_t)w * (size_t)h);
    for (const char *p = strstr(svg, "<text x="); p != NULL; p = strstr(p, "<text x=")) {
        int x, y;
        assert_int_equal(sscanf(p, "<text x=\"%d\" y=\"%d\"", &x, &y), 2);
        int at = (y - 26) / 19 * w + (x - 12) / 9;
        for (p = strchr(p, '>') + 1; *p != '<';) {
            size_t i = 0;
            while (i < 4 && strncmp(p, escape[i].text, strlen(escape[i].text)) != 0) {
                i++;
            }
            rows[at++] = i < 4 ? escape[i].c : *p;
            p += i < 4 ? strlen(escape[i].text) : 1;
        }
    }
}

/* Every character of every cell is in the picture, in its place, whatever
 * the styles. */
static void test_svg__nothing_is_lost(void **state)
{
    (void)state;
    enum { W = 24, H = 6, ROUNDS = 200 };
    cf_rand r = {7};
    for (int round = 0; round < ROUNDS; round++) {
        cf_grid g;
        cf_buf out = CF_BUF_INIT;
        char want[W * H], got[W * H];
        make(&g, W, H);
        for (int i = 0; i < W * H; i++) {
            want[i] = (char)(cf_rand_below(&r, 3) == 0 ? ' ' : (int)(33 + cf_rand_below(&r, 94)));
            char text[2] = {want[i], '\0'};
            cf_style style = (cf_style)cf_rand_below(&r, 4);
            cf_grid_puts(&g, i % W, i / W, 1, text, cf_rand_below(&r, 2) ? CF_STYLE_NORMAL : style);
        }
        draw(&g, &out);
        read_back(cf_buf_cstr(&out), got, W, H);
        assert_memory_equal(got, want, W * H);
        cf_buf_deinit(&out);
        cf_grid_deinit(&g);
    }
}

static cf_status draw_once(void *ud)
{
    cf_theme theme;
    cf_error err;
    cf_buf out = CF_BUF_INIT;
    cf_theme_default(&theme);
    cf_grid_svg(ud, &theme, &out);
    cf_status st = cf_buf_check(&out, &err);
    cf_buf_deinit(&out);
    return st;
}

static void test_svg__every_allocation_may_fail(void **state)
{
    (void)state;
    cf_grid g;
    make(&g, 12, 3);
    cf_grid_box(&g, (cf_rect){0, 0, 12, 3}, "title", CF_STYLE_BORDER, CF_STYLE_TITLE);
    size_t nth = 0;
    cf_status st;
    do {
        cf_fault_arm(++nth, false);
        st = draw_once(&g);
        assert_true(st == CF_OK || st == CF_ENOMEM);
    } while (cf_fault_disarm());
    assert_int_equal(st, CF_OK);
    cf_grid_deinit(&g);
}

int main(void)
{
    cf_fault_install();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_svg__text_and_markup),
        cmocka_unit_test(test_svg__wide_and_combining),
        cmocka_unit_test(test_svg__grounds_and_lines),
        cmocka_unit_test(test_svg__nothing_is_lost),
        cmocka_unit_test(test_svg__every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
