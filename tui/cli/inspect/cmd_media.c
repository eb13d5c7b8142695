/*
 * cmd_media.c - confab media: what a model gets of pictures and sounds.
 *
 *   file -> pixels -> blocks (resized, cut) -> rows of embeddings
 *   file -> samples -> blocks (spectrograms) -> rows of embeddings
 *
 * --blocks and --rows write the numbers, float32 in this machine's order.
 */
#include <string.h>

#include "core/api/media.h"
#include "core/base/alloc.h"
#include "core/base/os.h"
#include "tui/cli/answers/json_text.h"
#include "tui/cli/inspect/media_png.h"
#include "tui/cli/shell/cli.h"
#include "tui/cli/shell/media_parts.h"

/* A file of numbers. */
typedef struct numbers {
    cf_os_out out;
    bool is_open;
} numbers;

typedef struct media {
    cf_cli *cli;
    const char *blocks_path, *rows_path, *png_path;
    size_t n_png;
    numbers blocks, rows;
} media;

static void write_blocks_json(cf_buf *out, const cf_media_input *in)
{
    cf_buf_adds(out, ",\"blocks\":[");
    for (size_t i = 0; i < in->n_block; i++) {
        const cf_media_block *b = &in->block[i];
        cf_buf_addf(out, "%s{\"width\":%u,\"height\":%u,\"rows\":%u}", i > 0 ? "," : "",
                    (unsigned)b->width, (unsigned)b->height, (unsigned)(b->cols * b->rows));
    }
    cf_buf_adds(out, "],\"grids\":[");
    for (size_t i = 0; i < in->n_block; i++) {
        cf_buf_addf(out, "%s[%u,%u]", i > 0 ? "," : "", (unsigned)in->block[i].cols,
                    (unsigned)in->block[i].rows);
    }
    cf_buf_adds(out, "],\"sequence\":[");
    for (size_t i = 0; i < in->n_piece; i++) {
        const cf_media_piece *p = &in->piece[i];
        cf_buf_adds(out, i > 0 ? "," : "");
        if (p->ids != NULL) {
            cf_json_text_ids(out, p->ids, p->n);
        } else {
            const cf_media_block *b = &in->block[p->block];
            cf_buf_addf(out, "{\"rows\":%u}", (unsigned)(b->cols * b->rows));
        }
    }
    cf_buf_addc(out, ']');
}

/* Seconds that the model hears. */
static double heard(const cf_media_input *in)
{
    return (double)in->n_heard / 16000;
}

static void describe_json(media *m, const cf_media_input *in, const char *path)
{
    cf_buf_adds(&m->cli->out, m->cli->out.n > 0 ? ",{\"file\":" : "{\"file\":");
    cf_json_write_str(&m->cli->out, cf_str_from(path));
    if (in->is_sound) {
        cf_buf_addf(&m->cli->out,
                    ",\"kind\":\"audio\",\"rate\":%u,\"channels\":%u,"
                    "\"samples\":%llu,\"seconds\":%.3f,\"heard\":%.3f",
                    (unsigned)in->rate, (unsigned)in->channels, (unsigned long long)in->n_sample,
                    (double)in->n_sample / in->rate, heard(in));
    } else {
        cf_buf_addf(&m->cli->out, ",\"kind\":\"image\",\"width\":%u,\"height\":%u",
                    (unsigned)in->width, (unsigned)in->height);
    }
    write_blocks_json(&m->cli->out, in);
    cf_buf_addf(&m->cli->out, ",\"tokens\":%zu,\"read_ms\":%.3f,\"encode_ms\":%.3f}",
                cf_media_n_position(in), (double)in->read_us * 1e-3, (double)in->encode_us * 1e-3);
}

static void describe_sound(media *m, const cf_media_input *in, const char *path)
{
    double seconds = (double)in->n_sample / in->rate;
    cf_buf_addf(&m->cli->out, "%s: %.2f s, %u Hz, %u %s, %zu tokens\n", path, seconds,
                (unsigned)in->rate, (unsigned)in->channels,
                in->channels == 1 ? "channel" : "channels", cf_media_n_position(in));
    if (heard(in) + 0.01 < seconds) {
        cf_buf_addf(&m->cli->out, "  the model hears the first %.0f s\n", heard(in));
    }
    for (size_t i = 0; i < in->n_block; i++) {
        const cf_media_block *b = &in->block[i];
        cf_buf_addf(&m->cli->out, "  %u frames of %u bands, %u rows\n", (unsigned)b->width,
                    (unsigned)b->height, (unsigned)b->cols);
    }
}

static void describe_picture(media *m, const cf_media_input *in, const char *path)
{
    cf_buf_addf(&m->cli->out, "%s: %u x %u, %zu tokens\n", path, (unsigned)in->width,
                (unsigned)in->height, cf_media_n_position(in));
    for (size_t i = 0; i < in->n_block; i++) {
        const cf_media_block *b = &in->block[i];
        cf_buf_addf(&m->cli->out, "  %u x %u pixels, %u x %u rows\n", (unsigned)b->width,
                    (unsigned)b->height, (unsigned)b->cols, (unsigned)b->rows);
    }
}

static void describe(media *m, const cf_media_input *in, const char *path)
{
    if (in->is_sound) {
        describe_sound(m, in, path);
    } else {
        describe_picture(m, in, path);
    }
    cf_buf_addf(&m->cli->out, "  %.1f ms to read, %.1f ms to encode\n", (double)in->read_us * 1e-3,
                (double)in->encode_us * 1e-3);
}

static cf_status put(numbers *to, const float *v, size_t n, cf_error *err)
{
    return to->is_open ? cf_os_out_put(&to->out, v, n * sizeof *v, err) : CF_OK;
}

static cf_status one(media *m, const char *path, cf_error *err)
{
    cf_media_input *in = NULL;
    CF_TRY(cf_media_parts_file(&in, m->cli->opened.media, path, cf_cli_cancel(), err));
    cf_status st = CF_OK;
    for (size_t i = 0; i < in->n_block; i++) {
        const cf_media_block *b = &in->block[i];
        CF_THEN(st, put(&m->blocks, b->data, cf_media_block_size(b, in->is_sound), err));
    }
    CF_THEN(st, put(&m->rows, in->rows, in->n_row * in->row_width, err));
    if (m->png_path != NULL) {
        CF_THEN(st, cf_media_png(in, m->png_path, &m->n_png, err));
    }
    if (m->cli->is_json) {
        describe_json(m, in, path);
    } else {
        describe(m, in, path);
    }
    cf_media_input_free(in);
    return st;
}

static cf_status open_file(numbers *f, const char *path, cf_error *err)
{
    if (path != NULL) {
        CF_TRY(cf_os_out_open(&f->out, path, err));
        f->is_open = true;
    }
    return CF_OK;
}

static cf_status close_file(numbers *f, cf_status st, cf_error *err)
{
    return f->is_open ? cf_os_out_close(&f->out, st, 0644, err) : st;
}

static cf_status all(media *m, char **paths, int n, cf_error *err)
{
    CF_TRY(cf_open_engine(&m->cli->opened.engine, &m->cli->open, false, err));
    CF_TRY(cf_open_media(&m->cli->opened.media, m->cli->opened.engine, &m->cli->open, err));
    if (m->cli->opened.media == NULL) {
        return cf_fail(err, CF_EINVAL, CF_OPEN_NO_MEDIA);
    }
    CF_TRY(open_file(&m->blocks, m->blocks_path, err));
    CF_TRY(open_file(&m->rows, m->rows_path, err));
    for (int i = 0; i < n; i++) {
        CF_TRY(one(m, paths[i], err));
    }
    return CF_OK;
}

static int print(media *m)
{
    cf_buf out = CF_BUF_INIT;
    bool is_json = m->cli->is_json;
    if (is_json) {
        cf_buf_addf(&out, "{\"projector\":\"%s\",\"inputs\":[",
                    cf_media_projector(m->cli->opened.media));
    }
    cf_buf_add(&out, cf_buf_cstr(&m->cli->out), m->cli->out.n);
    cf_buf_adds(&out, is_json ? "]}\n" : "");
    out.failed = out.failed || m->cli->out.failed;
    int status = cf_cli_print(m->cli, &out);
    cf_buf_deinit(&out);
    return status;
}

static const cf_opt_row options[] = {
    {"--blocks", 0, CF_OPT_STR, offsetof(media, blocks_path), "FILE",
     "write the encoder's input: float32 [height, width, 3] for each block, or "
     "[128, frames] for a sound",
     0},
    {"--rows", 0, CF_OPT_STR, offsetof(media, rows_path), "FILE",
     "write the projector's output: float32 [rows, width]", 0},
    {"--png", 0, CF_OPT_STR, offsetof(media, png_path), "FILE",
     "write the encoder's input as pictures: the resized image or the "
     "spectrogram; further ones go to FILE-2.png ...",
     0},
    CF_OPT_ROWS_END,
};

static int run_media(cf_cli *cli, void *state)
{
    media *m = state;
    m->cli = cli;
    cf_error err;
    cf_status st = all(m, cli->args, cli->n_args, &err);
    st = close_file(&m->blocks, st, &err);
    st = close_file(&m->rows, st, &err);
    int status = st == CF_OK ? print(m) : cf_cli_fail(cli, &err);
    return status;
}

const cf_cli_command cf_cmd_media = {
    .name = "media",
    .arguments = "FILE ...",
    .summary = "show how a model sees pictures and hears sounds",
    .options = options,
    .state_bytes = sizeof(media),
    .n_min = 1,
    .n_max = CF_ARGS_ANY,
    .want = "needs one or more FILEs",
    .run = run_media,
};
