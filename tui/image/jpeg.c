/*
 * jpeg.c - JPEG through libjpeg, shrunk by the library as far as it can and
 * then row by row.
 *
 * libjpeg leaves a failed call through error_exit, which must not return: it
 * jumps back.  Everything that must survive that lives in `reading`.
 */
#include <setjmp.h>
#include <stdio.h>

#include <jpeglib.h>

#include "core/base/alloc.h"
#include "tui/image/image.h"

enum { MEMORY_MAX = 64 << 20, SCANS_MAX = 64, WARNINGS_MAX = 100 };

typedef struct reading {
    struct jpeg_decompress_struct jpeg;
    struct jpeg_error_mgr errors;
    struct jpeg_progress_mgr progress;
    jmp_buf back;
    cf_shrinker *s;
    cf_error *err;
    cf_status status;
    unsigned char *row;  /* [w, 4], owned */
    unsigned char *flat; /* [w, 3], owned */
} reading;

static void give_up(reading *r, cf_status status)
{
    r->status = status;
    longjmp(r->back, 1);
}

static void on_error(j_common_ptr jpeg)
{
    reading *r = jpeg->client_data;
    char text[JMSG_LENGTH_MAX];
    jpeg->err->format_message(jpeg, text);
    give_up(r, cf_fail(r->err, CF_EFORMAT, "damaged JPEG: %.100s", text));
}

/* Damaged data gives warnings without end. */
static void on_message(j_common_ptr jpeg, int level)
{
    reading *r = jpeg->client_data;
    if (level < 0 && jpeg->err->num_warnings++ > WARNINGS_MAX) {
        give_up(r, cf_fail(r->err, CF_EFORMAT, "damaged JPEG"));
    }
}

static void on_output(j_common_ptr jpeg)
{
    (void)jpeg; /* nothing is printed */
}

/* A progressive image may ask for thousands of passes over its pixels. */
static void on_progress(j_common_ptr jpeg)
{
    reading *r = jpeg->client_data;
    bool is_cancelled =
        r->s->cancel != NULL &&
        atomic_load_explicit(r->s->cancel, memory_order_relaxed);
    if (is_cancelled) {
        give_up(r, cf_fail(r->err, CF_ECANCELLED, "stopped"));
    }
    if (jpeg->is_decompressor && r->jpeg.input_scan_number > SCANS_MAX) {
        give_up(r, cf_fail(r->err, CF_ELIMIT, "a JPEG of too many passes"));
    }
}

/* Inks that cover light, as Adobe writes them: 255 is none. */
static void put_cmyk(reading *r, unsigned w)
{
    for (unsigned x = 0; x < w; x++) {
        for (unsigned c = 0; c < 3; c++) {
            r->flat[3 * x + c] =
                (unsigned char)(r->row[4 * x + c] * r->row[4 * x + 3] / 255);
        }
    }
}

static void put_gray(reading *r, unsigned w)
{
    for (unsigned x = 0; x < w; x++) {
        for (unsigned c = 0; c < 3; c++) {
            r->flat[3 * x + c] = r->row[x];
        }
    }
}

static void choose_output(struct jpeg_decompress_struct *j, int to_w, int to_h)
{
    unsigned denom = 8;
    while (denom > 1 && (j->image_width / denom < (unsigned)(2 * to_w) ||
                         j->image_height / denom < (unsigned)(2 * to_h))) {
        denom /= 2;
    }
    j->scale_num = 1;
    j->scale_denom = denom;
    j->dct_method = JDCT_IFAST;
    j->out_color_space = j->num_components == 4   ? JCS_CMYK
                         : j->num_components == 1 ? JCS_GRAYSCALE
                                                  : JCS_RGB;
}

static void decode(reading *r, cf_str bytes)
{
    struct jpeg_decompress_struct *j = &r->jpeg;
    union {
        const char *in;
        unsigned char *out;
    } data = {bytes.p};
    jpeg_create_decompress(j);
    j->client_data = r;
    j->progress = &r->progress;
    j->mem->max_memory_to_use = MEMORY_MAX;
    jpeg_mem_src(j, data.out, (unsigned long)bytes.n);
    jpeg_read_header(j, TRUE);
    if (j->image_width > CF_IMAGE_SIDE_MAX ||
        j->image_height > CF_IMAGE_SIDE_MAX ||
        (int64_t)j->image_width * j->image_height > CF_IMAGE_PIXELS_MAX) {
        give_up(r, cf_fail(r->err, CF_ELIMIT,
                           "%u x %u pixels are too many to show",
                           j->image_width, j->image_height));
    }
    int to_w, to_h;
    cf_image_fit((int)j->image_width, (int)j->image_height, r->s->to->w,
                 r->s->to->h, &to_w, &to_h);
    choose_output(j, to_w, to_h);
    jpeg_start_decompress(j);
    cf_status st = cf_shrinker_begin(r->s, (int)j->output_width,
                                     (int)j->output_height, r->err);
    if (st != CF_OK) {
        give_up(r, st);
    }
    r->row = cf_calloc(j->output_width, 4);
    r->flat = cf_calloc(j->output_width, 3);
    if (r->row == NULL || r->flat == NULL) {
        give_up(r, cf_oom(r->err));
    }
    while (j->output_scanline < j->output_height) {
        JSAMPROW rows[1] = {r->row};
        if (jpeg_read_scanlines(j, rows, 1) != 1) {
            break;
        }
        const unsigned char *rgb = r->row;
        if (j->output_components != 3) {
            rgb = r->flat;
            if (j->output_components == 4) {
                put_cmyk(r, j->output_width);
            } else {
                put_gray(r, j->output_width);
            }
        }
        if (!cf_shrinker_row(r->s, rgb)) {
            give_up(r, cf_fail(r->err, CF_ECANCELLED, "stopped"));
        }
    }
}

static void guarded(reading *r, cf_str bytes)
{
    if (setjmp(r->back) == 0) {
        decode(r, bytes);
    }
}

cf_status cf_jpeg_shrink(cf_shrinker *s, cf_str bytes, cf_error *err)
{
    cf_error why = {0};
    reading *r = cf_calloc(1, sizeof *r);
    if (r == NULL) {
        return cf_oom_for(err, "an image");
    }
    r->s = s;
    r->err = err != NULL ? err : &why;
    r->jpeg.err = jpeg_std_error(&r->errors);
    r->jpeg.client_data = r;
    r->errors.error_exit = on_error;
    r->errors.emit_message = on_message;
    r->errors.output_message = on_output;
    r->progress.progress_monitor = on_progress;
    guarded(r, bytes);
    jpeg_destroy_decompress(&r->jpeg);
    cf_status st = r->status;
    cf_free(r->row);
    cf_free(r->flat);
    cf_free(r);
    return st;
}
