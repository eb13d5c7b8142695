/*
 * test_media_bombs.c - picture files made to cost much: each is refused in one
 * or two lines, or read within 1.5 GB.
 *
 * The files are written here, small, by the libraries that also read them.
 */
#include "tests/support/t.h"

#include <sys/resource.h>
#include <webp/encode.h>
#include <zlib.h>

#include "core/base/os.h"
#include "tests/support/picture_file.h"
#include "tests/support/program.h"
#include "tests/support/store_dir.h"
#include "tests/support/tiny_vision.h"

enum { RESIDENT_MAX_KB = 1500 * 1000, HUGE_SIDE = 20000 };

static store_path model, projector, file;

static bool write_tiny(const char *path, cf_tiny_buf b)
{
    cf_error err;
    bool ok = cf_os_write_file(path, b.p, b.n, 0600, &err) == CF_OK;
    cf_tiny_free(b.p);
    return ok;
}

static int set_up(void **state)
{
    size_t n;
    if (store_dir_make(state) != 0) {
        return -1;
    }
    store_dir_path(model, "model.gguf");
    store_dir_path(projector, "mmproj.gguf");
    store_dir_path(file, "picture");
    cf_tiny_options tiny = {.arch = "gemma3", .seed = 5};
    unsigned char *bytes = cf_tiny_gguf(&tiny, &n);
    cf_tiny_buf vision = cf_tiny_vision("gemma3", CF_TINY_VISION_TENSORS, 2, 64);
    return write_tiny(model, (cf_tiny_buf){bytes, n, n}) && write_tiny(projector, vision) ? 0 : -1;
}

/* What the program says to the file; its status must be the one given. */
static void expect(cf_str bytes, int status, const char *word)
{
    cf_program p;
    cf_error err;
    struct rusage used;
    T_OK(cf_os_write_file(file, bytes.p, bytes.n, 0600, &err), err);
    CF_PROGRAM(&p, "media", "-m", model, file);
    const char *why = cf_buf_cstr(&p.err);
    if (p.status != status || (word != NULL && strstr(why, word) == NULL)) {
        fail_msg("status %d, not %d with '%s': %s", p.status, status, word != NULL ? word : "",
                 why);
    }
    size_t n_line = 0;
    for (size_t i = 0; i < p.err.n; i++) {
        n_line += p.err.p[i] == '\n';
        assert_int_not_equal(p.err.p[i], 0x1b);
    }
    assert_true(status == 0 || (n_line >= 1 && n_line <= 2));
    assert_int_equal(getrusage(RUSAGE_CHILDREN, &used), 0);
    assert_true(used.ru_maxrss < RESIDENT_MAX_KB);
    cf_program_deinit(&p);
}

/* ---- PNG ---------------------------------------------------------------- */

static void put_be32(cf_buf *b, uint32_t v)
{
    for (int i = 24; i >= 0; i -= 8) {
        cf_buf_addc(b, (char)(v >> i & 255));
    }
}

static void put_chunk(cf_buf *b, const char *name, cf_str data)
{
    put_be32(b, (uint32_t)data.n);
    size_t from = b->n;
    cf_buf_adds(b, name);
    cf_buf_add(b, data.p, data.n);
    put_be32(b, (uint32_t)crc32(0, (const Bytef *)b->p + from, (uInt)(b->n - from)));
}

/* n zeros, compressed, after what the buffer holds. */
static void put_zeros(cf_buf *b, size_t n)
{
    static unsigned char in[1 << 16], out[1 << 16];
    z_stream z = {.zalloc = NULL};
    assert_int_equal(deflateInit(&z, 1), Z_OK);
    int st = Z_OK;
    while (st != Z_STREAM_END) {
        if (z.avail_in == 0 && n > 0) {
            z.next_in = in;
            z.avail_in = (uInt)(n < sizeof in ? n : sizeof in);
            n -= z.avail_in;
        }
        z.next_out = out;
        z.avail_out = sizeof out;
        st = deflate(&z, n == 0 && z.avail_in == 0 ? Z_FINISH : Z_NO_FLUSH);
        cf_buf_add(b, out, sizeof out - z.avail_out);
    }
    deflateEnd(&z);
}

typedef struct png {
    uint32_t w, h;
    int depth, colour, is_interlaced;
    size_t n_zero;      /* of its rows */
    const char *before; /* a chunk of 64 MiB of zeros, compressed; or NULL */
} png;

static cf_buf make_png(const png *o)
{
    cf_buf b = CF_BUF_INIT, data = CF_BUF_INIT;
    cf_buf_add(&b, "\x89PNG\r\n\x1a\n", 8);
    put_be32(&data, o->w);
    put_be32(&data, o->h);
    cf_buf_addc(&data, (char)o->depth);
    cf_buf_addc(&data, (char)o->colour);
    cf_buf_add(&data, "\0\0", 2);
    cf_buf_addc(&data, (char)o->is_interlaced);
    put_chunk(&b, "IHDR", cf_buf_str(&data));
    if (o->before != NULL) {
        cf_buf_reset(&data);
        cf_buf_add(&data, "a\0\0", 3);
        put_zeros(&data, 64 << 20);
        put_chunk(&b, o->before, cf_buf_str(&data));
    }
    cf_buf_reset(&data);
    put_zeros(&data, o->n_zero);
    put_chunk(&b, "IDAT", cf_buf_str(&data));
    put_chunk(&b, "IEND", cf_str_make("", 0));
    cf_buf_deinit(&data);
    assert_false(b.failed);
    return b;
}

static void test_bombs__png(void **state)
{
    static const struct {
        png o;
        int status;
        const char *word;
    } cases[] = {
        {{HUGE_SIDE, HUGE_SIDE, 1, 0, 0, 50020000, NULL}, 4, "too many"},
        {{HUGE_SIDE, HUGE_SIDE, 8, 6, 1, 1000, NULL}, 4, "too many"},
        {{UINT32_MAX / 2, 1, 8, 2, 0, 1000, NULL}, 3, "damaged"},
        {{8000, 8000, 8, 2, 1, 1000, NULL}, 4, "too many"}, /* for so few bytes */
        {{5000, 5000, 8, 2, 1, 1000, NULL}, 3, "damaged"},  /* too few rows */
        {{4000, 4000, 1, 0, 1, 4000000, NULL}, 0, NULL},
        {{4, 4, 8, 2, 0, 52, "zTXt"}, 0, NULL},
        {{4, 4, 8, 2, 0, 52, "iCCP"}, 0, NULL},
        {{4, 4, 8, 2, 0, 64 << 20, NULL}, 0, NULL}, /* too many rows */
    };
    (void)state;
    NEED_PROGRAM();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        cf_buf b = make_png(&cases[i].o);
        expect(cf_buf_str(&b), cases[i].status, cases[i].word);
        cf_buf_deinit(&b);
    }
    cf_buf whole = make_png(&(png){40, 30, 8, 2, 0, 3630, NULL});
    expect(cf_buf_str(&whole), 0, NULL);
    expect(cf_str_make(whole.p, whole.n / 2), 3, "damaged");
    cf_buf_deinit(&whole);
}

/* ---- JPEG --------------------------------------------------------------- */

/* Black, with all colours at full size. */
static cf_buf make_jpeg(uint32_t w, uint32_t h, bool is_progressive)
{
    cf_buf b = CF_BUF_INIT;
    cf_picture_jpeg(
        &b, NULL,
        &(cf_jpeg_file){.w = w, .h = h, .is_progressive = is_progressive, .is_full = true});
    return b;
}

/* Writes another size into the frame header. */
static void claim(cf_buf *b, uint32_t w, uint32_t h)
{
    for (size_t at = 2; at + 9 < b->n;) {
        const unsigned char *p = (const unsigned char *)b->p + at;
        if (p[1] == 0xc0 || p[1] == 0xc2) {
            b->p[at + 5] = (char)(h >> 8);
            b->p[at + 6] = (char)(h & 255);
            b->p[at + 7] = (char)(w >> 8);
            b->p[at + 8] = (char)(w & 255);
            return;
        }
        at += 2 + ((size_t)p[2] << 8 | p[3]);
    }
    fail_msg("no frame");
}

static void test_bombs__jpeg(void **state)
{
    (void)state;
    NEED_PROGRAM();
    for (int k = 0; k < 2; k++) {
        cf_buf b = make_jpeg(64, 48, k == 1);
        expect(cf_buf_str(&b), 0, NULL);
        expect(cf_str_make(b.p, b.n / 2), 3, "damaged");
        claim(&b, HUGE_SIDE, HUGE_SIDE);
        expect(cf_buf_str(&b), 4, "too many");
        claim(&b, 65500, 2000);
        expect(cf_buf_str(&b), 4, "too many");
        for (int i = 0; i < 100000; i++) { /* in a file that is large enough */
            cf_buf_addc(&b, 0);
        }
        expect(cf_buf_str(&b), k == 1 ? 4 : 3, k == 1 ? "progressive" : "damaged");
        cf_buf_deinit(&b);
    }
    cf_buf large = make_jpeg(6000, 4000, true);
    expect(cf_buf_str(&large), 0, NULL);
    cf_buf_deinit(&large);
}

/* ---- WebP --------------------------------------------------------------- */

static cf_buf make_webp(bool is_lossless)
{
    enum { W = 64, H = 48 };
    static const unsigned char rgb[W * H * 3];
    uint8_t *out = NULL;
    size_t n = is_lossless ? WebPEncodeLosslessRGB(rgb, W, H, 3 * W, &out)
                           : WebPEncodeRGB(rgb, W, H, 3 * W, 50, &out);
    assert_true(n > 0);
    cf_buf b = CF_BUF_INIT;
    cf_buf_add(&b, out, n);
    WebPFree(out);
    return b;
}

/* The header of a container with a canvas of this size. */
static cf_buf make_canvas(uint32_t side, bool is_animated)
{
    cf_buf b = make_webp(true), c = CF_BUF_INIT;
    cf_buf_add(&c, "RIFF\0\0\0\0WEBPVP8X\x0a\0\0\0", 20);
    c.p[4] = (char)(b.n + 10);
    cf_buf_addc(&c, is_animated ? 2 : 0);
    cf_buf_add(&c, "\0\0\0", 3);
    for (int k = 0; k < 2; k++) {
        for (int i = 0; i < 24; i += 8) {
            cf_buf_addc(&c, (char)((side - 1) >> i & 255));
        }
    }
    cf_buf_add(&c, b.p + 12, b.n - 12);
    cf_buf_deinit(&b);
    return c;
}

static void test_bombs__webp(void **state)
{
    (void)state;
    NEED_PROGRAM();
    for (int k = 0; k < 2; k++) {
        cf_buf b = make_webp(k == 1);
        expect(cf_buf_str(&b), 0, NULL);
        expect(cf_str_make(b.p, b.n / 2), 3, "damaged");
        if (k == 1) { /* 14 bits for each side less one */
            memset(b.p + 21, 0xff, 3);
            b.p[24] |= 0x0f;
            expect(cf_buf_str(&b), 4, "too many");
        }
        cf_buf_deinit(&b);
    }
    cf_buf huge = make_canvas(HUGE_SIDE, false);
    expect(cf_buf_str(&huge), 3, "damaged"); /* its picture is smaller */
    cf_buf_deinit(&huge);
    cf_buf moving = make_canvas(HUGE_SIDE, true);
    expect(cf_buf_str(&moving), 3, "animated");
    cf_buf_deinit(&moving);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bombs__png),
        cmocka_unit_test(test_bombs__jpeg),
        cmocka_unit_test(test_bombs__webp),
    };
    return cmocka_run_group_tests(tests, set_up, store_dir_remove);
}
