/*
 * picture_png.c - PNG through libpng.
 *
 * libpng leaves a failed call by longjmp(); everything that must survive that
 * is in `reading`.
 */
#include <png.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/media/picture.h"

enum { CHUNK_MAX = 8 << 20, CHUNKS_MAX = 128 };

typedef struct reading {
    cf_str bytes;
    size_t at;
    cf_pixels *out;
    int *orientation;
    const cf_stop *stop;
    cf_error *err;
    cf_status status;
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
    (void)text; /* a warning about chunks that do not affect the pixels */
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

/* 8 bits of red, green and blue, whatever there is; returns the number of
 * passes over the rows (an interlaced image has seven). */
static size_t set_up(png_structp png, png_infop info)
{
    int color = png_get_color_type(png, info);
    if (color == PNG_COLOR_TYPE_PALETTE) {
        png_set_palette_to_rgb(png);
    }
    if ((color & PNG_COLOR_MASK_COLOR) == 0) {
        png_set_expand_gray_1_2_4_to_8(png);
        png_set_gray_to_rgb(png);
    }
    png_set_strip_16(png);
    png_set_strip_alpha(png);
    int n_pass = png_set_interlace_handling(png);
    png_read_update_info(png, info);
    return (size_t)n_pass;
}

static void find_orientation(png_structp png, png_infop info, reading *r)
{
    png_bytep exif = NULL;
    png_uint_32 n = 0;
    if (png_get_eXIf_1(png, info, &n, &exif) != 0 && exif != NULL) {
        *r->orientation = cf_pixels__exif(cf_str_make((const char *)exif, n));
    }
}

/* Everything between the setjmp and its longjmps. */
static void decode(png_structp png, png_infop info, reading *r)
{
    png_read_info(png, info);
    size_t w = png_get_image_width(png, info);
    size_t h = png_get_image_height(png, info);
    r->status = cf_pixels__begin(r->out, w, h, r->bytes.n, r->err);
    if (r->status != CF_OK) {
        png_error(png, "stopped");
    }
    size_t n_pass = set_up(png, info);
    if (png_get_rowbytes(png, info) != 3 * w) {
        png_error(png, "rows of another width than said");
    }
    for (size_t i = 0; i < n_pass * h; i++) {
        r->status = cf_stop_check(r->stop, r->err);
        if (r->status != CF_OK) {
            png_error(png, "stopped");
        }
        png_read_row(png, r->out->rgb + i % h * w * 3, NULL);
    }
    find_orientation(png, info, r);
}

static void guarded(png_structp png, png_infop info, reading *r)
{
    if (setjmp(png_jmpbuf(png)) == 0) {
        decode(png, info, r);
    }
}

cf_status cf_pixels__png(cf_pixels *out, int *orientation, cf_str bytes, const cf_stop *stop,
                         cf_error *err)
{
    cf_error why = {0};
    reading r = {.bytes = bytes,
                 .out = out,
                 .orientation = orientation,
                 .stop = stop,
                 .err = err != NULL ? err : &why};
    png_structp png = png_create_read_struct_2(PNG_LIBPNG_VER_STRING, &r, on_error, on_warning,
                                               NULL, on_alloc, on_free);
    png_infop info = png != NULL ? png_create_info_struct(png) : NULL;
    if (info == NULL) {
        png_destroy_read_struct(&png, NULL, NULL);
        return cf_oom_for(err, "an image");
    }
    png_set_read_fn(png, &r, on_read);
    png_set_user_limits(png, CF_PIXELS_SIDE_MAX, CF_PIXELS_SIDE_MAX);
    png_set_chunk_malloc_max(png, CHUNK_MAX);
    png_set_chunk_cache_max(png, CHUNKS_MAX);
    guarded(png, info, &r);
    png_destroy_read_struct(&png, &info, NULL);
    return r.status;
}
