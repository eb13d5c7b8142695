/*
 * test_graphics.c - pictures in terminals with graphics: the bytes of each
 * protocol read back, and what a frame after another one sends.
 */
#include <locale.h>
#include <stdlib.h>
#include <vterm.h>

#include "core/api/thumbnail.h"
#include "core/base/alloc.h"
#include "core/base/base64.h"
#include "tests/support/rand.h"
#include "tests/support/t.h"
#include "tui/term/graphics_ask.h"
#include "tui/term/paint.h"
#include "tui/term/sixel.h"

enum { W = 40, H = 12, PW = 90, PH = 61, CELL_W = 7, CELL_H = 13 };

typedef struct desk {
    cf_grid g;
    cf_cell *sent;
    cf_graphics *x;
    VTerm *vt;
    VTermScreen *screen;
    cf_theme theme;
    cf_buf out; /* of the last frame */
    unsigned char rgb[PH * PW * 3];
} desk;

/* Smooth, with noise that does not compress away. */
static void paint_pixels(unsigned char *rgb, int w, int h, uint64_t seed)
{
    cf_rand rand = {seed + 1};
    for (int i = 0; i < w * h; i++) {
        int x = i % w, y = i / w;
        rgb[3 * i] = (unsigned char)(x * 200 / w + (int)cf_rand_below(&rand, 9));
        rgb[3 * i + 1] = (unsigned char)(y * 240 / h);
        rgb[3 * i + 2] = (unsigned char)(90 + (int)cf_rand_below(&rand, 40) + x % 5);
    }
}

static void set_up(desk *d, cf_graphics_kind kind)
{
    cf_error err;
    assert_non_null(setlocale(LC_CTYPE, "C.UTF-8"));
    cf_grid_init(&d->g);
    T_OK(cf_grid_resize(&d->g, W, H, &err), err);
    d->g.n_colors = 256;
    d->g.has_graphics = true;
    d->sent = cf_calloc((size_t)W * H, sizeof *d->sent);
    assert_non_null(d->sent);
    T_OK(cf_graphics_new(&d->x, &err), err);
    cf_graphics_use(d->x, kind, CELL_W, CELL_H);
    d->vt = vterm_new(H, W);
    vterm_set_utf8(d->vt, 1);
    d->screen = vterm_obtain_screen(d->vt);
    vterm_screen_reset(d->screen, 1);
    cf_theme_default(&d->theme);
    d->out = (cf_buf)CF_BUF_INIT;
    paint_pixels(d->rgb, PW, PH, 7);
}

static void tear_down(desk *d)
{
    vterm_free(d->vt);
    cf_graphics_free(d->x);
    cf_free(d->sent);
    cf_buf_deinit(&d->out);
    cf_grid_deinit(&d->g);
}

static void put_picture(desk *d, int x, int y)
{
    cf_rect r = {x, y, 12, 5};
    cf_grid_put_picture(&d->g, r, d->rgb, PW, PH);
    cf_grid_plate(&d->g, r, r, d->rgb, PW, PH);
}

/* The frame without what belongs to pictures, which the emulator of the tests
 * would take for text. */
static void show(desk *d)
{
    const char *p = d->out.p, *end = p + d->out.n;
    while (p < end) {
        bool is_graphics =
            end - p > 1 && p[0] == '\033' && (p[1] == '_' || p[1] == 'P' || p[1] == ']');
        if (!is_graphics) {
            vterm_input_write(d->vt, p++, 1);
            continue;
        }
        bool is_osc = p[1] == ']';
        for (p += 2; *p != (is_osc ? '\a' : '\033'); p++) {
            assert_true(p < end);
        }
        p += is_osc ? 1 : 2;
    }
}

/* Sends a frame; d->out has its bytes. */
static void send(desk *d, bool all)
{
    cf_buf_restart(&d->out);
    const cf_grid *g = cf_graphics_begin(d->x, &d->out, &d->g, d->sent, all);
    cf_paint(&d->out, g, d->sent, all, &d->theme, 256);
    cf_graphics_end(d->x, &d->out);
    assert_false(d->out.failed);
    show(d);
}

static uint32_t letter(desk *d, int x, int y)
{
    VTermScreenCell c;
    vterm_screen_get_cell(d->screen, (VTermPos){y, x}, &c);
    return c.chars[0] == 0 ? ' ' : c.chars[0];
}

static size_t count(const desk *d, const char *text)
{
    size_t n = 0;
    for (size_t i = 0; i + strlen(text) <= d->out.n; i++) {
        n += memcmp(d->out.p + i, text, strlen(text)) == 0 ? 1 : 0;
    }
    return n;
}

static const char *find(const desk *d, const char *text)
{
    for (size_t i = 0; i + strlen(text) <= d->out.n; i++) {
        if (memcmp(d->out.p + i, text, strlen(text)) == 0) {
            return d->out.p + i;
        }
    }
    fail_msg("no '%s' in the frame", text);
    return NULL;
}

/* ---- kitty -------------------------------------------------------------- */

/* Joins the pieces of the one image that the frame transmits. */
static void join_kitty(const desk *d, cf_buf *base64)
{
    const char *p = find(d, "\033_Ga=t,");
    const char *end = d->out.p + d->out.n;
    bool has_more = true;
    size_t n_piece = 0;
    while (has_more) {
        const char *head = p + 3;
        const char *body = memchr(p, ';', (size_t)(end - p));
        assert_non_null(body);
        const char *stop = memchr(body, '\033', (size_t)(end - body));
        assert_non_null(stop);
        assert_int_equal(stop[1], '\\');
        cf_buf keys = CF_BUF_INIT;
        cf_buf_add(&keys, head, (size_t)(body - head));
        has_more = strstr(cf_buf_cstr(&keys), "m=1") != NULL;
        assert_true(has_more || strstr(cf_buf_cstr(&keys), "m=0") != NULL);
        assert_non_null(strstr(cf_buf_cstr(&keys), "q=2"));
        cf_buf_deinit(&keys);
        size_t n = (size_t)(stop - body - 1);
        assert_true(n > 0 && n <= 4096);
        assert_true(!has_more || n % 4 == 0);
        cf_buf_add(base64, body + 1, n);
        n_piece++;
        p = stop + 2;
        assert_true(!has_more || memcmp(p, "\033_Gm=", 5) == 0);
    }
    assert_true(n_piece > 1);
}

static void kitty_sends_the_pixels_once(void **state)
{
    (void)state;
    static desk d;
    set_up(&d, CF_GRAPHICS_KITTY);
    put_picture(&d, 3, 2);
    send(&d, true);
    cf_buf base64 = CF_BUF_INIT, png = CF_BUF_INIT;
    join_kitty(&d, &base64);
    assert_true(cf_base64_get(&png, cf_buf_str(&base64)));
    cf_picture have;
    cf_error err;
    T_OK(cf_picture_shrink(&have, cf_buf_str(&png), 512, 512, NULL, &err), err);
    assert_int_equal(have.w, PW);
    assert_int_equal(have.h, PH);
    assert_memory_equal(have.rgb, d.rgb, sizeof d.rgb);
    find(&d, "\033[3;4H"); /* where it is */
    assert_non_null(strstr(find(&d, "\033_Ga=p,"), "x=0,y=0,w=90,h=61,c=12,r=5,C=1,q=2"));
    assert_int_equal(letter(&d, 4, 3), ' ');
    /* Again: nothing of it. */
    cf_grid_puts(&d.g, 0, 0, 10, "hello", CF_STYLE_NORMAL);
    send(&d, false);
    assert_int_equal(count(&d, "\033_G"), 0);
    assert_int_equal(letter(&d, 1, 0), 'e');
    cf_picture_deinit(&have);
    cf_buf_deinit(&base64);
    cf_buf_deinit(&png);
    tear_down(&d);
}

static void kitty_moves_a_picture_without_its_pixels(void **state)
{
    (void)state;
    static desk d;
    set_up(&d, CF_GRAPHICS_KITTY);
    put_picture(&d, 3, 4);
    send(&d, true);
    cf_grid_clear(&d.g);
    put_picture(&d, 3, 3); /* scrolled by a row */
    send(&d, false);
    assert_int_equal(count(&d, "a=t,"), 0);
    assert_int_equal(count(&d, "a=d,d=i,i="), 1);
    assert_int_equal(count(&d, "a=p,"), 1);
    cf_grid_clear(&d.g);
    put_picture(&d, 3, -2); /* out at the top: three rows are left */
    send(&d, false);
    assert_non_null(strstr(find(&d, "\033_Ga=p,"), "x=0,y=24,w=90,h=37,c=12,r=3"));
    cf_grid_clear(&d.g);
    send(&d, false);
    assert_int_equal(count(&d, "a=d,d=i,"), 1);
    assert_int_equal(count(&d, "a=p,"), 0);
    /* A screen that is drawn again has lost it. */
    put_picture(&d, 3, 4);
    send(&d, true);
    assert_int_equal(count(&d, "a=d,d=I,"), 1);
    assert_int_equal(count(&d, "a=t,"), 1);
    cf_buf_restart(&d.out);
    cf_graphics_clear(d.x, &d.out);
    assert_int_equal(count(&d, "a=d,d=I,"), 1);
    tear_down(&d);
}

/* ---- sixels ------------------------------------------------------------- */

typedef struct sixels {
    int w, h;
    unsigned char rgb[400 * 300 * 3];
    bool is_set[400 * 300];
} sixels;

static long number(const char **p)
{
    long n = 0;
    assert_in_range(**p, '0', '9');
    for (; **p >= '0' && **p <= '9'; ++*p) {
        n = n * 10 + (**p - '0');
        assert_true(n < 1000000);
    }
    return n;
}

/* A reader of its own: "DCS 0;1;0 q ... ST". */
static void read_sixels(sixels *s, const char *p)
{
    int palette[256][3] = {{0}}, color = 0, x = 0, top = 0;
    assert_memory_equal(p, "\033P0;1;0q\"1;1;", 13);
    p += 13;
    *s = (sixels){.w = (int)number(&p)};
    assert_int_equal(*p++, ';');
    s->h = (int)number(&p);
    assert_true(s->w <= 400 && s->h <= 300);
    while (*p != '\033') {
        long n = 1;
        if (*p == '#') {
            p++;
            color = (int)number(&p);
            assert_in_range(color, 0, 255);
            for (int c = -1; c < 3 && *p == ';'; c++) {
                p++;
                long v = number(&p);
                if (c >= 0) {
                    assert_in_range(v, 0, 100);
                    palette[color][c] = (int)v * 255 / 100;
                }
            }
            continue;
        }
        if (*p == '$' || *p == '-') {
            top += *p++ == '-' ? 6 : 0;
            x = 0;
            continue;
        }
        if (*p == '!') {
            p++;
            n = number(&p);
        }
        assert_in_range(*p, '?', '~');
        int bits = *p++ - '?';
        for (; n > 0; n--, x++) {
            for (int y = 0; y < 6; y++) {
                if (bits >> y & 1) {
                    assert_true(x < s->w && top + y < s->h);
                    size_t at = (size_t)(top + y) * (size_t)s->w + (size_t)x;
                    assert_false(s->is_set[at]);
                    s->is_set[at] = true;
                    for (int c = 0; c < 3; c++) {
                        s->rgb[3 * at + (size_t)c] = (unsigned char)palette[color][c];
                    }
                }
            }
        }
    }
    assert_int_equal(p[1], '\\');
}

/* Every pixel is set once, and parts of 10 x 10 have the picture's mean. */
static void same_picture(const sixels *s, const unsigned char *rgb, int w, int h)
{
    assert_int_equal(s->w, w);
    assert_int_equal(s->h, h);
    for (int i = 0; i < w * h; i++) {
        assert_true(s->is_set[i]);
    }
    for (int y = 0; y + 10 <= h; y += 10) {
        for (int x = 0; x + 10 <= w; x += 10) {
            int miss[3] = {0};
            for (int i = 0; i < 300; i++) {
                int at = 3 * ((y + i / 30) * w + x + i / 3 % 10) + i % 3;
                miss[i % 3] += s->rgb[at] - rgb[at];
            }
            for (int c = 0; c < 3; c++) {
                assert_true(abs(miss[c]) < 100 * 16);
            }
        }
    }
}

static void sixels_are_the_picture(void **state)
{
    (void)state;
    static const int sizes[][2] = {{1, 1}, {6, 6}, {7, 13}, {90, 61}, {200, 6}};
    static sixels s;
    static unsigned char rgb[200 * 61 * 3];
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        int w = sizes[i][0], h = sizes[i][1];
        cf_buf out = CF_BUF_INIT;
        cf_error err;
        paint_pixels(rgb, w, h, i);
        T_OK(cf_sixel_put(&out, rgb, w, h, &err), err);
        read_sixels(&s, cf_buf_cstr(&out));
        same_picture(&s, rgb, w, h);
        cf_buf_deinit(&out);
    }
}

static void sixels_fill_their_cells_and_leave_them(void **state)
{
    (void)state;
    static desk d;
    static sixels s;
    set_up(&d, CF_GRAPHICS_SIXEL);
    put_picture(&d, 3, 2);
    send(&d, true);
    read_sixels(&s, find(&d, "\033P"));
    assert_int_equal(s.w, 12 * CELL_W);
    assert_int_equal(s.h, 5 * CELL_H);
    send(&d, false);
    assert_int_equal(count(&d, "\033P"), 0);
    /* Blanks come where it was, so that its pixels go. */
    cf_grid_clear(&d.g);
    send(&d, false);
    assert_int_equal(count(&d, "\033P"), 0);
    assert_int_equal(count(&d, "            "), 5);
    /* Cut by what it is drawn into. */
    cf_grid_set_clip(&d.g, (cf_rect){0, 0, 8, 4});
    put_picture(&d, 3, 2);
    send(&d, false);
    read_sixels(&s, find(&d, "\033P"));
    assert_int_equal(s.w, 5 * CELL_W);
    assert_int_equal(s.h, 2 * CELL_H);
    tear_down(&d);
}

/* ---- iTerm2 ------------------------------------------------------------- */

static void iterm_gets_a_file(void **state)
{
    (void)state;
    static desk d;
    set_up(&d, CF_GRAPHICS_ITERM);
    put_picture(&d, 3, 2);
    send(&d, true);
    const char *p = find(&d, "\033]1337;File=inline=1;size=");
    p += strlen("\033]1337;File=inline=1;size=");
    size_t size = (size_t)number(&p);
    static const char rest[] = ";width=12;height=5;preserveAspectRatio=0;doNotMoveCursor=1:";
    assert_memory_equal(p, rest, sizeof rest - 1);
    p += sizeof rest - 1;
    const char *end = memchr(p, '\a', (size_t)(d.out.p + d.out.n - p));
    assert_non_null(end);
    cf_buf png = CF_BUF_INIT;
    assert_true(cf_base64_get(&png, cf_str_make(p, (size_t)(end - p))));
    assert_int_equal(png.n, size);
    int w = 0, h = 0;
    assert_true(cf_picture_size(cf_buf_str(&png), &w, &h));
    assert_int_equal(w, 12 * CELL_W);
    assert_int_equal(h, 5 * CELL_H);
    cf_buf_deinit(&png);
    tear_down(&d);
}

/* ---- when it is cells --------------------------------------------------- */

static void covered_pictures_are_cells(void **state)
{
    (void)state;
    static const cf_graphics_kind kinds[] = {CF_GRAPHICS_KITTY, CF_GRAPHICS_SIXEL,
                                             CF_GRAPHICS_ITERM};
    for (size_t i = 0; i < 3; i++) {
        static desk d;
        set_up(&d, kinds[i]);
        put_picture(&d, 3, 2);
        send(&d, true);
        assert_int_equal(letter(&d, 3, 2), ' ');
        cf_grid_puts(&d.g, 5, 3, 6, "a menu", CF_STYLE_NORMAL);
        send(&d, false);
        assert_int_equal(letter(&d, 3, 2), 0x2580);
        assert_int_equal(letter(&d, 5, 3), 'a');
        assert_int_equal(letter(&d, 14, 6), 0x2580);
        assert_int_equal(count(&d, "a=p,") + count(&d, "\033P") + count(&d, "1337"), 0);
        /* On the last row it stays cells as well. */
        cf_grid_clear(&d.g);
        put_picture(&d, 3, H - 5);
        send(&d, false);
        assert_int_equal(letter(&d, 3, H - 1), 0x2580);
        tear_down(&d);
    }
}

static void blocks_need_no_bytes(void **state)
{
    (void)state;
    static desk d;
    set_up(&d, CF_GRAPHICS_BLOCKS);
    put_picture(&d, 3, 2);
    send(&d, true);
    assert_int_equal(count(&d, "\033_G") + count(&d, "\033P") + count(&d, "1337"), 0);
    assert_int_equal(letter(&d, 3, 2), 0x2580);
    tear_down(&d);
}

/* ---- what a terminal has ------------------------------------------------ */

static void terminals_say_what_they_have(void **state)
{
    (void)state;
    cf_graphics_facts f = {0};
    cf_graphics_from_names(&f, "xterm-256color", NULL, NULL, NULL);
    assert_int_equal(cf_graphics_pick(&f, CF_GRAPHICS_AUTO), CF_GRAPHICS_BLOCKS);
    assert_non_null(strstr(cf_graphics_questions(&f), "a=q"));
    assert_true(cf_graphics_take_csi(&f, "?62;14;22", 9, 'c'));
    assert_false(f.has_sixel);
    assert_true(cf_graphics_take_csi(&f, "?62;4;22", 8, 'c'));
    assert_true(cf_graphics_take_csi(&f, "6;19;9", 6, 't'));
    assert_int_equal(f.cell_w, 9);
    assert_int_equal(f.cell_h, 19);
    assert_int_equal(cf_graphics_pick(&f, CF_GRAPHICS_AUTO), CF_GRAPHICS_SIXEL);
    assert_false(cf_graphics_take_apc(&f, "X", 1));
    assert_true(cf_graphics_take_apc(&f, "Gi=31;ENOENT", 12));
    assert_false(f.has_kitty);
    assert_true(cf_graphics_take_apc(&f, "Gi=31;OK", 8));
    assert_int_equal(cf_graphics_pick(&f, CF_GRAPHICS_AUTO), CF_GRAPHICS_KITTY);
    assert_int_equal(cf_graphics_pick(&f, CF_GRAPHICS_BLOCKS), CF_GRAPHICS_BLOCKS);
    /* Sizes that no cell has, and answers to other questions. */
    assert_true(cf_graphics_take_csi(&f, "6;0;9999", 8, 't'));
    assert_int_equal(f.cell_h, 19);
    assert_false(cf_graphics_take_csi(&f, "8;24;80", 7, 't'));
    assert_false(cf_graphics_take_csi(&f, "1;5", 3, 'c'));
    f = (cf_graphics_facts){0};
    cf_graphics_from_names(&f, "xterm-256color", "", "iTerm.app", NULL);
    assert_int_equal(cf_graphics_pick(&f, CF_GRAPHICS_AUTO), CF_GRAPHICS_ITERM);
}

static void inside_tmux_are_sixels_alone(void **state)
{
    (void)state;
    cf_graphics_facts f = {0};
    cf_graphics_from_names(&f, "xterm-256color", "/tmp/tmux-1/default,1,0", "iTerm.app", "iTerm2");
    assert_null(strstr(cf_graphics_questions(&f), "_G"));
    assert_int_equal(cf_graphics_pick(&f, CF_GRAPHICS_AUTO), CF_GRAPHICS_BLOCKS);
    assert_int_equal(cf_graphics_pick(&f, CF_GRAPHICS_KITTY), CF_GRAPHICS_BLOCKS);
    assert_true(cf_graphics_take_csi(&f, "?1;2;4", 6, 'c'));
    assert_int_equal(cf_graphics_pick(&f, CF_GRAPHICS_AUTO), CF_GRAPHICS_SIXEL);
    assert_int_equal(cf_graphics_pick(&f, CF_GRAPHICS_ITERM), CF_GRAPHICS_BLOCKS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kitty_sends_the_pixels_once),
        cmocka_unit_test(kitty_moves_a_picture_without_its_pixels),
        cmocka_unit_test(sixels_are_the_picture),
        cmocka_unit_test(sixels_fill_their_cells_and_leave_them),
        cmocka_unit_test(iterm_gets_a_file),
        cmocka_unit_test(covered_pictures_are_cells),
        cmocka_unit_test(blocks_need_no_bytes),
        cmocka_unit_test(terminals_say_what_they_have),
        cmocka_unit_test(inside_tmux_are_sixels_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
