/*
 * picture_file.c - pictures of the tests, written by libpng and libjpeg.
 */
#include "tests/support/picture_file.h"

#include <stdio.h>

#include <jpeglib.h>
#include <png.h>

#include "core/base/alloc.h"
#include "tests/support/t.h"

void cf_picture_paint(unsigned char *rgb, uint32_t w, uint32_t h)
{
    for (size_t i = 0; i < (size_t)w * h; i++) {
        bool is_left = i % w < w / 2;
        rgb[3 * i] = is_left ? 255 : 0;
        rgb[3 * i + 1] = 0;
        rgb[3 * i + 2] = is_left ? 0 : 255;
    }
}

void cf_picture_png(cf_buf *out, const unsigned char *rgb, uint32_t w, uint32_t h)
{
    png_image image = {
        .version = PNG_IMAGE_VERSION, .width = w, .height = h, .format = PNG_FORMAT_RGB};
    png_alloc_size_t n = 0;
    assert_true(png_image_write_to_memory(&image, NULL, &n, 0, rgb, 0, NULL));
    char *bytes = cf_alloc(n);
    assert_true(png_image_write_to_memory(&image, bytes, &n, 0, rgb, 0, NULL));
    cf_buf_add(out, bytes, n);
    cf_free(bytes);
}

void cf_picture_jpeg(cf_buf *out, const unsigned char *rgb, const cf_jpeg_file *o)
{
    struct jpeg_compress_struct j;
    struct jpeg_error_mgr errors;
    unsigned char *bytes = NULL;
    unsigned long n = 0;
    size_t row_bytes = (size_t)o->w * 3;
    unsigned char *row = cf_calloc(1, row_bytes);
    assert_non_null(row);
    j.err = jpeg_std_error(&errors);
    jpeg_create_compress(&j);
    jpeg_mem_dest(&j, &bytes, &n);
    j.image_width = o->w;
    j.image_height = o->h;
    j.input_components = 3;
    j.in_color_space = JCS_RGB;
    jpeg_set_defaults(&j);
    if (o->quality != 0) {
        jpeg_set_quality(&j, o->quality, TRUE);
    }
    for (int c = 0; o->is_full && c < 3; c++) {
        j.comp_info[c].h_samp_factor = j.comp_info[c].v_samp_factor = 1;
    }
    if (o->is_progressive) {
        jpeg_simple_progression(&j);
    }
    jpeg_start_compress(&j, TRUE);
    if (o->exif.n > 0) {
        jpeg_write_marker(&j, JPEG_APP0 + 1, (const JOCTET *)o->exif.p, (unsigned)o->exif.n);
    }
    while (j.next_scanline < o->h) {
        if (rgb != NULL) {
            memcpy(row, rgb + j.next_scanline * row_bytes, row_bytes);
        }
        JSAMPROW rows[1] = {row};
        jpeg_write_scanlines(&j, rows, 1);
    }
    jpeg_finish_compress(&j);
    jpeg_destroy_compress(&j);
    cf_buf_add(out, (const char *)bytes, n);
    free(bytes);
    cf_free(row);
}
