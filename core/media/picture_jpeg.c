/*
 * picture_jpeg.c - JPEG through libjpeg.
 *
 * libjpeg leaves a failed call through error_exit, which must not return: it
 * jumps back.  Everything that must survive that is in `reading`.
 */
#include <setjmp.h>
#include <stdio.h>
#include <string.h>

#include <jerror.h>
#include <jpeglib.h>

#include "core/base/alloc.h"
#include "core/media/picture.h"

enum { MEMORY_MAX = 512 << 20, SCANS_MAX = 64, WARNINGS_MAX = 100 };

typedef struct reading {
    struct jpeg_decompress_struct jpeg;
    struct jpeg_error_mgr errors;
    struct jpeg_progress_mgr progress;
    jmp_buf back;
    cf_pixels *out;
    int *orientation;
    const cf_stop *stop;
    unsigned char *row; /* [w, 4], owned; for four inks */
    cf_error *err;
    cf_status status;
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
    if (jpeg->err->msg_code == JERR_NO_BACKING_STORE) {
        give_up(r, cf_fail(r->err, CF_ELIMIT,
                           "a progressive JPEG of %u x %u pixels takes too "
                           "much memory",
                           (unsigned)r->jpeg.image_width, (unsigned)r->jpeg.image_height));
    }
    if (jpeg->err->msg_code == JERR_OUT_OF_MEMORY) {
        give_up(r, cf_oom_for(r->err, "an image"));
    }
    jpeg->err->format_message(jpeg, text);
    give_up(r, cf_fail(r->err, CF_EFORMAT, "damaged JPEG: %.100s", text));
}

/* A premature end counts as damage, and so do many other warnings. */
static void on_message(j_common_ptr jpeg, int level)
{
    reading *r = jpeg->client_data;
    int code = jpeg->err->msg_code;
    if (level < 0 && (code == JWRN_JPEG_EOF || code == JWRN_HIT_MARKER ||
                      jpeg->err->num_warnings++ > WARNINGS_MAX)) {
        on_error(jpeg);
    }
    (void)r;
}

static void on_output(j_common_ptr jpeg)
{
    (void)jpeg; /* nothing is printed */
}

static void check_stop(reading *r)
{
    cf_status st = cf_stop_check(r->stop, r->err);
    if (st != CF_OK) {
        give_up(r, st);
    }
}

/* Called for a few rows of each pass.  A progressive image may ask for
 * thousands of passes over its pixels. */
static void on_progress(j_common_ptr jpeg)
{
    reading *r = jpeg->client_data;
    check_stop(r);
    if (jpeg->is_decompressor && r->jpeg.input_scan_number > SCANS_MAX) {
        give_up(r, cf_fail(r->err, CF_ELIMIT, "a JPEG of too many passes"));
    }
}

static void find_orientation(reading *r)
{
    for (jpeg_saved_marker_ptr m = r->jpeg.marker_list; m != NULL; m = m->next) {
        if (m->data_length > 6 && memcmp(m->data, "Exif\0", 6) == 0) {
            *r->orientation =
                cf_pixels__exif(cf_str_make((const char *)m->data + 6, m->data_length - 6));
            return;
        }
    }
}

/* Inks that cover light, as Adobe writes them: 255 is none.  What an ink takes
 * away is rounded, as Pillow does it. */
static void put_inks(unsigned char *to, const unsigned char *row, size_t w)
{
    for (size_t x = 0; x < w; x++) {
        unsigned light = row[4 * x + 3];
        for (size_t c = 0; c < 3; c++) {
            unsigned taken = (255u - row[4 * x + c]) * light;
            to[3 * x + c] = (unsigned char)(light - (taken + 127) / 255);
        }
    }
}

static void read_rows(reading *r)
{
    struct jpeg_decompress_struct *j = &r->jpeg;
    bool has_inks = j->output_components == 4;
    if (has_inks) {
        r->row = cf_calloc(j->output_width, 4);
        if (r->row == NULL) {
            give_up(r, cf_oom_for(r->err, "an image"));
        }
    }
    while (j->output_scanline < j->output_height) {
        check_stop(r);
        unsigned char *to = r->out->rgb + (size_t)j->output_scanline * 3 * j->output_width;
        JSAMPROW rows[1] = {has_inks ? r->row : to};
        if (jpeg_read_scanlines(j, rows, 1) != 1) {
            give_up(r, cf_fail(r->err, CF_EFORMAT, "damaged JPEG"));
        }
        if (has_inks) {
            put_inks(to, r->row, j->output_width);
        }
    }
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
    jpeg_save_markers(j, JPEG_APP0 + 1, 0xffff);
    jpeg_read_header(j, TRUE);
    cf_status st = cf_pixels__begin(r->out, j->image_width, j->image_height, bytes.n, r->err);
    if (st != CF_OK) {
        give_up(r, st);
    }
    find_orientation(r);
    j->out_color_space = j->num_components == 4 ? JCS_CMYK : JCS_RGB;
    jpeg_start_decompress(j);
    read_rows(r);
    jpeg_finish_decompress(j);
}

static void guarded(reading *r, cf_str bytes)
{
    if (setjmp(r->back) == 0) {
        decode(r, bytes);
    }
}

cf_status cf_pixels__jpeg(cf_pixels *out, int *orientation, cf_str bytes, const cf_stop *stop,
                          cf_error *err)
{
    cf_error why = {0};
    reading *r = cf_calloc(1, sizeof *r);
    if (r == NULL) {
        return cf_oom_for(err, "an image");
    }
    r->out = out;
    r->orientation = orientation;
    r->stop = stop;
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
    cf_free(r);
    return st;
}
