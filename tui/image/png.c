/*
 * png.c - PNG through libpng, row by row.
 *
 * libpng leaves a failed call with longjmp: everything that must survive one
 * lives in `reading`, outside the frame that called setjmp.
 */
#include <png.h>

#include <setjmp.h>
#include <string.h>

#include "core/base/alloc.h"
#include "tui/image/image.h"

enum { CHUNK_MAX = 8 << 20, BACKGROUND = 0x20 };

typedef struct reading {
    cf_str bytes;
    size_t at;
    cf_shrinker *s;
    cf_error *err;
    cf_status status;    /* why it failed, when the library was not the one */
    unsigned char *row;  /* [w, 4], owned; interlaced: [h, w, 4] */
    png_bytep *rows;     /* [h] into row, owned; interlaced only */
    unsigned char *flat; /* [w, 3], owned: over the background */
} reading;

static void on_error(png_structp png, png_const_charp text)
{
    reading *r = png_get_error_ptr(png);
    if (r->status == CF_OK) {
        r->status = cf_fail(r->err, CF_EFORMAT, "damaged PNG: %.100s", text);
    }
    longjmp(png_jmpbuf(png), 1);
}

static void on_warning(png_structp png, png_const_charp text)
{
    (void)png;
    (void)text; /* it can be shown all the same */
}

static void on_read(png_structp png, png_bytep to, png_size_t n)
{
    reading *r = png_get_io_ptr(png);
    if (n > r->bytes.n - r->at) {
        png_error(png, "it ends too early");
    }
    memcpy(to, r->bytes.p + r->at, n);
    r->at += n;
}

/* libpng takes the length that an eXIf chunk claims, whatever the limit for
 * chunks; a row is far smaller than that limit. */
static void *on_alloc(png_structp png, png_alloc_size_t n)
{
    (void)png;
    return n <= CHUNK_MAX ? cf_alloc(n) : NULL;
}

static void on_free(png_structp png, void *p)
{
    (void)png;
    cf_free(p);
}

static bool put_row(reading *r, const unsigned char *rgba)
{
    for (int x = 0; x < r->s->w; x++) {
        unsigned a = rgba[4 * x + 3];
        for (int c = 0; c < 3; c++) {
            r->flat[3 * x + c] =
                (unsigned char)((rgba[4 * x + c] * a + BACKGROUND * (255 - a)) /
                                255);
        }
    }
    return cf_shrinker_row(r->s, r->flat);
}

/* Stops with a reason of ours. */
static void give_up(png_structp png, reading *r, cf_status status)
{
    r->status = status;
    png_error(png, "stopped");
}

/* 8 bits of red, green, blue and opacity, whatever there is. */
static void set_up(png_structp png, png_infop info)
{
    png_set_expand(png);
    png_set_strip_16(png);
    png_set_gray_to_rgb(png);
    png_set_add_alpha(png, 0xFF, PNG_FILLER_AFTER);
    png_set_interlace_handling(png);
    png_read_update_info(png, info);
}

static void read_rows(png_structp png, reading *r, size_t w, size_t h)
{
    for (size_t y = 0; y < h; y++) {
        png_read_row(png, r->row, NULL);
        if (!put_row(r, r->row)) {
            give_up(png, r, cf_fail(r->err, CF_ECANCELLED, "stopped"));
        }
    }
    (void)w;
}

static void read_interlaced(png_structp png, reading *r, size_t w, size_t h)
{
    r->rows = cf_calloc(h, sizeof *r->rows);
    if (r->rows == NULL) {
        give_up(png, r, cf_oom(r->err));
    }
    for (size_t y = 0; y < h; y++) {
        r->rows[y] = r->row + y * w * 4;
    }
    png_read_image(png, r->rows);
    for (size_t y = 0; y < h; y++) {
        if (!put_row(r, r->rows[y])) {
            give_up(png, r, cf_fail(r->err, CF_ECANCELLED, "stopped"));
        }
    }
}

/* Everything between the setjmp and its longjmps. */
static void decode(png_structp png, png_infop info, reading *r)
{
    png_read_info(png, info);
    size_t w = png_get_image_width(png, info);
    size_t h = png_get_image_height(png, info);
    bool is_interlaced =
        png_get_interlace_type(png, info) != PNG_INTERLACE_NONE;
    if (w > CF_IMAGE_SIDE_MAX || h > CF_IMAGE_SIDE_MAX ||
        (is_interlaced && w * h > CF_IMAGE_INTERLACED_MAX)) {
        give_up(png, r,
                cf_fail(r->err, CF_ELIMIT,
                        "%zu x %zu pixels are too many to show", w, h));
    }
    cf_status st = cf_shrinker_begin(r->s, (int)w, (int)h, r->err);
    if (st != CF_OK) {
        give_up(png, r, st);
    }
    set_up(png, info);
    if (png_get_rowbytes(png, info) != 4 * w) {
        png_error(png, "rows of another width than said");
    }
    r->row = cf_calloc(is_interlaced ? w * h : w, 4);
    r->flat = cf_calloc(w, 3);
    if (r->row == NULL || r->flat == NULL) {
        give_up(png, r, cf_oom(r->err));
    }
    if (is_interlaced) {
        read_interlaced(png, r, w, h);
    } else {
        read_rows(png, r, w, h);
    }
}

static void guarded(png_structp png, png_infop info, reading *r)
{
    if (setjmp(png_jmpbuf(png)) == 0) {
        decode(png, info, r);
    }
}

cf_status cf_png_shrink(cf_shrinker *s, cf_str bytes, cf_error *err)
{
    cf_error why = {0};
    reading r = {.bytes = bytes, .s = s, .err = err != NULL ? err : &why};
    png_structp png =
        png_create_read_struct_2(PNG_LIBPNG_VER_STRING, &r, on_error,
                                 on_warning, NULL, on_alloc, on_free);
    png_infop info = png != NULL ? png_create_info_struct(png) : NULL;
    if (info == NULL) {
        png_destroy_read_struct(&png, NULL, NULL);
        return cf_oom_for(err, "an image");
    }
    png_set_read_fn(png, &r, on_read);
    png_set_user_limits(png, CF_IMAGE_SIDE_MAX, CF_IMAGE_SIDE_MAX);
    png_set_chunk_malloc_max(png, CHUNK_MAX);
    png_set_chunk_cache_max(png, 128);
    guarded(png, info, &r);
    png_destroy_read_struct(&png, &info, NULL);
    cf_free(r.row);
    cf_free(r.rows);
    cf_free(r.flat);
    return r.status;
}
