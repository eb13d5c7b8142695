/*
 * test_hostile_pictures.c - pictures that mean harm, shown by each protocol of
 * terminals for graphics: what reaches the terminal is a picture that the
 * program made of the pixels, and nothing else of the file.
 */
#include <ctype.h>

#include <webp/encode.h>
#include <zlib.h>

#include "core/base/base64.h"
#include "core/base/os.h"
#include "tests/support/program.h"
#include "tests/support/pty.h"
#include "tests/support/store_dir.h"
#include "tests/support/t.h"

/* Stands in every place of a file that holds no pixels, with sequences that a
 * terminal would act on. */
#define MARK "MARK"
static const char harm[] =
    MARK "\033]0;" MARK "\007\033_Ga=d,d=A\033\\\033[6n\033]1337;File=:\007" MARK;

enum { W = 120, H = 36, FILE_SIZE = 1 << 20, PATIENCE_MS = 20000 };

/* ---- files -------------------------------------------------------------- */

static void add_be32(cf_buf *b, size_t v)
{
    const char bytes[] = {(char)(v >> 24), (char)(v >> 16), (char)(v >> 8), (char)v};
    cf_buf_add(b, bytes, 4);
}

static void add_le32(cf_buf *b, size_t v)
{
    const char bytes[] = {(char)v, (char)(v >> 8), (char)(v >> 16), (char)(v >> 24)};
    cf_buf_add(b, bytes, 4);
}

static void add_chunk(cf_buf *b, const char *type, const char *key)
{
    size_t at = b->n + 4;
    add_be32(b, strlen(key) + 1 + sizeof harm - 1);
    cf_buf_adds(b, type);
    cf_buf_add(b, key, strlen(key) + 1);
    cf_buf_add(b, harm, sizeof harm - 1);
    add_be32(b, crc32(0, (const Bytef *)b->p + at, (uInt)(b->n - at)));
}

static void put(const char *name, cf_buf *b)
{
    assert_false(b->failed);
    store_dir_put(name, b->p, b->n);
    cf_buf_deinit(b);
}

static void load(cf_buf *b, const char *path)
{
    cf_error err;
    T_OK(cf_os_read_file(b, path, FILE_SIZE, &err), err);
}

/* Texts before the pixels and after the end. */
static void make_png(void)
{
    enum { HEAD = 8 + 25 }; /* signature, IHDR */
    cf_buf from = CF_BUF_INIT, b = CF_BUF_INIT;
    load(&from, "tests/fuzz/corpus/picture/rgb.png");
    cf_buf_add(&b, from.p, HEAD);
    add_chunk(&b, "tEXt", "Title");
    add_chunk(&b, "tEXt", harm);
    add_chunk(&b, "eXIf", "MM");
    cf_buf_add(&b, from.p + HEAD, from.n - HEAD);
    cf_buf_add(&b, harm, sizeof harm - 1);
    cf_buf_deinit(&from);
    put("text.png", &b);
}

static void make_jpeg(void)
{
    static const char marks[] = {(char)0xFE, (char)0xE1, (char)0xED}; /* COM, APP1, APP13 */
    cf_buf from = CF_BUF_INIT, b = CF_BUF_INIT;
    load(&from, "tests/fuzz/corpus/picture/base.jpg");
    cf_buf_add(&b, from.p, 2);
    for (size_t i = 0; i < sizeof marks; i++) {
        const char head[] = {(char)0xFF, marks[i], 0, (char)(sizeof harm + 7)};
        cf_buf_add(&b, head, 4);
        cf_buf_add(&b, "Exif\0\0", 6);
        cf_buf_add(&b, harm, sizeof harm - 1);
    }
    cf_buf_add(&b, from.p + 2, from.n - 2);
    cf_buf_add(&b, harm, sizeof harm - 1);
    cf_buf_deinit(&from);
    put("text.jpg", &b);
}

static void make_webp(void)
{
    unsigned char rgb[8 * 8 * 3];
    uint8_t *coded;
    cf_buf b = CF_BUF_INIT;
    for (size_t i = 0; i < sizeof rgb; i++) {
        rgb[i] = (unsigned char)(i * 5);
    }
    size_t n = WebPEncodeLosslessRGB(rgb, 8, 8, 8 * 3, &coded), half = (sizeof harm - 1 + 1) / 2;
    assert_true(n > 12);
    cf_buf_add(&b, "RIFF", 4);
    add_le32(&b, n - 8 + 8 + 2 * half);
    cf_buf_add(&b, (const char *)coded + 8, n - 8);
    cf_buf_add(&b, "XMP ", 4);
    add_le32(&b, 2 * half);
    cf_buf_add(&b, harm, 2 * half);
    WebPFree(coded);
    put("text.webp", &b);
}

/* ---- what the terminal got ---------------------------------------------- */

static bool has(const char *p, size_t n, const char *what)
{
    size_t len = strlen(what);
    for (size_t i = 0; i + len <= n; i++) {
        if (memcmp(p + i, what, len) == 0) {
            return true;
        }
    }
    return false;
}

/* A PNG of the program's own: head, kind of colours, pixels, end. */
static void check_png(const cf_buf *b)
{
    size_t at = 8;
    bool is_over = false;
    assert_true(b->n > 8 && memcmp(b->p, "\211PNG\r\n\032\n", 8) == 0);
    while (!is_over) {
        assert_true(b->n - at >= 12);
        const unsigned char *p = (const unsigned char *)b->p + at;
        size_t n = (size_t)p[0] << 24 | (size_t)p[1] << 16 | (size_t)p[2] << 8 | p[3];
        assert_true(n <= b->n - at - 12);
        is_over = memcmp(p + 4, "IEND", 4) == 0;
        assert_true(is_over || memcmp(p + 4, "IHDR", 4) == 0 || memcmp(p + 4, "IDAT", 4) == 0 ||
                    memcmp(p + 4, "sRGB", 4) == 0);
        at += n + 12;
    }
    assert_int_equal(at, b->n);
    assert_false(has(b->p, b->n, MARK));
}

static void check_base64(const char *p, size_t n)
{
    cf_buf b = CF_BUF_INIT;
    assert_true(cf_base64_get(&b, cf_str_make(p, n)));
    check_png(&b);
    cf_buf_deinit(&b);
}

/* Only letters, digits and `others`. */
static void check_bytes(const char *p, size_t n, const char *others)
{
    for (size_t i = 0; i < n; i++) {
        if (p[i] == '\0' || (!isalnum((unsigned char)p[i]) && strchr(others, p[i]) == NULL)) {
            fail_msg("byte 0x%02X in a sequence", (unsigned char)p[i]);
        }
    }
}

typedef struct counts {
    size_t kitty, sixel, iterm;
} counts;

/* One piece of "ESC _ G KEYS ; TEXT ESC \"; pieces are joined in `text`. */
static void check_kitty(const char *p, size_t n, cf_buf *text, counts *c)
{
    const char *semi = memchr(p, ';', n);
    size_t keys = semi != NULL ? (size_t)(semi - p) : n;
    check_bytes(p, keys, "=,");
    if (semi == NULL || has(p, keys, "a=q")) {
        return;
    }
    cf_buf_add(text, semi + 1, n - keys - 1);
    if (!has(p, keys, "m=1")) {
        check_base64(cf_buf_cstr(text), text->n);
        cf_buf_reset(text);
        c->kitty++;
    }
}

static void check_iterm(const char *p, size_t n, counts *c)
{
    const char *colon = memchr(p, ':', n);
    assert_non_null(colon);
    check_bytes(p, (size_t)(colon - p), "=;");
    assert_false(has(p, (size_t)(colon - p), "name"));
    check_base64(colon + 1, n - (size_t)(colon - p) - 1);
    c->iterm++;
}

/* The length of the sequence's text up to its end, ESC \ or BEL. */
static size_t length(const char *p, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (p[i] == '\007' || (p[i] == '\033' && i + 1 < n && p[i + 1] == '\\')) {
            return i;
        }
    }
    fail_msg("a sequence without an end");
    return 0;
}

static void check_output(const cf_buf *out, counts *c)
{
    cf_buf text = CF_BUF_INIT;
    for (size_t i = 0; i + 2 < out->n; i++) {
        const char *p = out->p + i + 2;
        size_t left = out->n - i - 2;
        if (out->p[i] != '\033') {
            continue;
        }
        switch (out->p[i + 1]) {
        case '_':
            assert_int_equal(p[0], 'G');
            check_kitty(p + 1, length(p, left) - 1, &text, c);
            break;
        case 'P': /* sixels alone begin so here; a question of terminfo has a + or $ */
            if (*p != '+' && *p != '$') {
                check_bytes(p, length(p, left), " !\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~");
                c->sixel++;
            }
            break;
        case ']':
            if (left > 10 && memcmp(p, "1337;File=", 10) == 0) {
                check_iterm(p + 10, length(p, left) - 10, c);
            }
            break;
        default:
            break;
        }
    }
    assert_int_equal(text.n, 0);
    cf_buf_deinit(&text);
}

/* ---- the workbench ------------------------------------------------------ */

static void start(cf_pty *t)
{
    char model[600];
    store_path script;
    store_dir_put_text("script.json", "{\"replies\":[{\"text\":\"It rains in Oslo.\"}]}");
    store_dir_path(script, "script.json");
    snprintf(model, sizeof model, "script:%s", script);
    const char *const words[] = {"chat", "-m", model, "--no-store", NULL};
    cf_pty_start(t, W, H, words, "xterm-256color");
    cf_pty_wait(t, "Write a message");
}

static void let_draw(cf_pty *t)
{
    while (cf_pty_pump(t, 40)) {
    }
    assert_false(t->is_closed);
}

/* Waits until the terminal got the bytes; there since the last restart of `out`. */
static void wait_for_bytes(cf_pty *t, const char *bytes)
{
    for (int left = PATIENCE_MS; !has(cf_buf_cstr(&t->out), t->out.n, bytes); left -= 20) {
        if (left <= 0 || t->is_closed) {
            cf_pty_print(t);
            fail_msg("the bytes '%s' never came", bytes + 1);
        }
        cf_pty_pump(t, 20);
    }
}

static const struct {
    const char *name, *begin; /* begin: of its sequences that show a picture */
} ways[] = {{"kitty", "\033_Ga=p,"}, {"sixel", "\033P0;1;0q"}, {"iterm", "\033]1337;File="}};

/* Attaches a file, sends it, and shows it in every way. */
static void show(cf_pty *t, const char *path, const char *name, bool is_shown)
{
    char keys[700];
    snprintf(keys, sizeof keys, ":attach %s\r", path);
    cf_pty_type(t, keys);
    cf_pty_wait(t, name); /* attached, or why not */
    cf_pty_type(t, "iLook\r");
    cf_pty_wait(t, "It rains in Oslo.");
    cf_pty_type(t, "\t");
    for (size_t k = 0; k < sizeof ways / sizeof ways[0]; k++) {
        snprintf(keys, sizeof keys, ":set graphics=%s\r", ways[k].name);
        cf_pty_type(t, keys);
        if (is_shown) {
            wait_for_bytes(t, ways[k].begin);
        }
        let_draw(t);
    }
    cf_pty_type(t, ":new\r");
    cf_pty_wait(t, "Write a message");
    cf_pty_type(t, "\033");
    cf_pty_wait(t, "NORMAL");
}

/* Nothing of a file but its pixels is in what the terminal got. */
static void test_hostile_pictures__texts(void **state)
{
    (void)state;
    static const char *const names[] = {"text.png", "text.jpg", "text.webp"};
    cf_pty t;
    NEED_TERMINALS();
    make_png();
    make_jpeg();
    make_webp();
    start(&t);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        counts c = {0};
        store_path path;
        store_dir_path(path, names[i]);
        cf_buf_restart(&t.out);
        show(&t, path, names[i], true);
        check_output(&t.out, &c);
        assert_false(has(t.out.p, t.out.n, MARK));
        assert_true(c.kitty > 0 && c.sixel > 0 && c.iterm > 0);
    }
    cf_pty_type(&t, ":q!\r");
    assert_int_equal(cf_pty_finish(&t), 0);
}

/* Pictures that are broken, cut or too large: the program goes on. */
static void test_hostile_pictures__broken(void **state)
{
    (void)state;
    static const char *const names[] = {"bomb.png", "cut.png", "head.jpg", "short.webp",
                                        "exif.png"};
    cf_pty t;
    counts c = {0};
    NEED_TERMINALS();
    start(&t);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char path[100];
        snprintf(path, sizeof path, "tests/fuzz/corpus/picture/%s", names[i]);
        show(&t, path, names[i], false);
    }
    check_output(&t.out, &c);
    assert_false(has(t.out.p, t.out.n, "IHDR"));
    cf_pty_type(&t, ":q!\r");
    assert_int_equal(cf_pty_finish(&t), 0);
}

/* The name of a file is a text on the screen and in no sequence: completed,
 * attached and sent. */
static void test_hostile_pictures__names(void **state)
{
    (void)state;
    static const char name[] = "evil\033]0;" MARK "\007\033[6n\xC2\x9B"
                               "5n\xE2\x80\xAE.png";
    cf_pty t;
    counts c = {0};
    char keys[700];
    NEED_TERMINALS();
    cf_buf b = CF_BUF_INIT;
    load(&b, "tests/fuzz/corpus/picture/rgb.png");
    put(name, &b);
    start(&t);
    cf_buf_restart(&t.out);
    snprintf(keys, sizeof keys, ":attach %s\t", store_dir_file("evi"));
    cf_pty_type(&t, keys);
    cf_pty_wait(&t, "evil\\x1b");
    cf_pty_type(&t, "\r");
    cf_pty_wait(&t, "goes with the next message");
    cf_pty_type(&t, "Look\r");
    cf_pty_wait(&t, "It rains in Oslo.");
    for (size_t k = 0; k < sizeof ways / sizeof ways[0]; k++) {
        snprintf(keys, sizeof keys, "\t:set graphics=%s\r", ways[k].name);
        cf_pty_type(&t, keys + (k == 0 ? 0 : 1)); /* Tab leaves the composer */
        wait_for_bytes(&t, ways[k].begin);
        let_draw(&t);
    }
    check_output(&t.out, &c);
    assert_true(c.kitty > 0 && c.sixel > 0 && c.iterm > 0);
    assert_false(has(t.out.p, t.out.n, "\033]0;" MARK));
    assert_false(has(t.out.p, t.out.n, "\033[6n"));
    assert_false(has(t.out.p, t.out.n, "\xC2\x9B"));
    assert_false(has(t.out.p, t.out.n, "\xE2\x80\xAE"));
    cf_pty_type(&t, ":q!\r");
    assert_int_equal(cf_pty_finish(&t), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hostile_pictures__texts),
        cmocka_unit_test(test_hostile_pictures__broken),
        cmocka_unit_test(test_hostile_pictures__names),
    };
    return cmocka_run_group_tests(tests, store_dir_make, store_dir_remove);
}
