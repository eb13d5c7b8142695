/*
 * thumbs.c - a list of wishes, which a worker fulfils in order, one job each.
 *
 * Always true:
 *   1. n_done <= n_started <= n_done + 1 and n_started <= n.
 *   2. Wish n_done is the worker's while n_started is larger; all others, and
 *      everything else, belong to the interface thread.
 */
#include "tui/image/thumbs.h"

#include <stdio.h>
#include <string.h>

#include "core/api/attachment.h"
#include "core/api/wave.h"
#include "core/base/alloc.h"
#include "core/base/base64.h"
#include "core/base/worker.h"
#include "tui/grid/grid.h"

typedef struct wish {
    cf_thumb thumb;
    char *base64; /* [n], owned; NULL once decoded */
    size_t n;
} wish;

struct cf_thumbs {
    cf_worker *worker;
    wish **v; /* [n], owned */
    size_t n, cap, n_started, n_done;
};

/* Bars around the middle, a column a part of the sound. */
static cf_status draw_wave(cf_picture *p, const cf_wave *wave, int times, cf_error *err)
{
    static const unsigned char ground[3] = {24, 26, 32}, bar[3] = {96, 176, 232};
    *p = (cf_picture){.w = CF_THUMB_W * times, .h = CF_THUMB_WAVE_H * times};
    p->rgb = cf_calloc((size_t)p->w * (size_t)p->h, 3);
    if (p->rgb == NULL) {
        return cf_oom_for(err, "a waveform");
    }
    for (int i = 0; i < p->w * p->h; i++) {
        int x = i % p->w, y = i / p->w;
        float off = (float)(2 * y + 1 - p->h) / (float)p->h;
        float far = off < 0 ? -off : off;
        float peak = wave->peak[x / times];
        bool is_gap = times > 2 && x % times == times - 1;
        bool is_bar = !is_gap && (far <= peak || far < 0.15f / (float)times);
        memcpy(p->rgb + 3 * (size_t)i, is_bar ? bar : ground, 3);
    }
    return CF_OK;
}

static cf_status decode_sound(wish *w, cf_str bytes, cf_cancel *cancel, cf_error *err)
{
    cf_wave wave;
    CF_TRY(cf_wave_read(&wave, bytes, CF_THUMB_W, cancel, err));
    snprintf(w->thumb.what, sizeof w->thumb.what, "%.1f s, %u Hz, %u %s",
             (double)wave.n_sample / wave.rate, (unsigned)wave.rate, (unsigned)wave.channels,
             wave.channels == 1 ? "channel" : "channels");
    CF_TRY(draw_wave(&w->thumb.picture, &wave, 1, err));
    return draw_wave(&w->thumb.fine, &wave, CF_THUMB_FINE, err);
}

/* The fine picture is the file's, and the small one is made of it. */
static cf_status decode_picture(wish *w, cf_str bytes, cf_cancel *cancel, cf_error *err)
{
    cf_picture *small = &w->thumb.picture, *fine = &w->thumb.fine;
    CF_TRY(cf_picture_shrink(fine, bytes, CF_THUMB_FINE * CF_THUMB_W, CF_THUMB_FINE * CF_THUMB_H,
                             cancel, err));
    int full_w = fine->w, full_h = fine->h;
    (void)cf_picture_size(bytes, &full_w, &full_h);
    cf_picture_fit(full_w, full_h, CF_THUMB_W, CF_THUMB_H, &small->w, &small->h);
    small->rgb = cf_alloc((size_t)small->w * (size_t)small->h * 3);
    if (small->rgb == NULL) {
        return cf_oom_for(err, "a picture");
    }
    unsigned char *to = small->rgb;
    for (int i = 0; i < small->w * small->h; i++) {
        uint32_t rgb = cf_pixels_mean(fine->rgb, fine->w, fine->h, i % small->w, i / small->w,
                                      small->w, small->h);
        *to++ = (unsigned char)(rgb >> 16);
        *to++ = (unsigned char)(rgb >> 8);
        *to++ = (unsigned char)rgb;
    }
    return CF_OK;
}

static void decode(wish *w, cf_cancel *cancel)
{
    cf_error err;
    cf_buf bytes = CF_BUF_INIT;
    cf_status st = CF_OK;
    if (!cf_base64_get(&bytes, cf_str_make(w->base64, w->n))) {
        st = cf_fail(&err, CF_EFORMAT, "its bytes are not base64");
    } else {
        const char *mime = cf_attachment_sniff(cf_buf_str(&bytes));
        bool is_sound = mime != NULL && strncmp(mime, "audio/", 6) == 0;
        st = is_sound ? decode_sound(w, cf_buf_str(&bytes), cancel, &err)
                      : decode_picture(w, cf_buf_str(&bytes), cancel, &err);
    }
    if (st != CF_OK) {
        cf_picture_deinit(&w->thumb.picture);
        cf_picture_deinit(&w->thumb.fine);
        snprintf(w->thumb.why, sizeof w->thumb.why, "%.119s", err.text);
    }
    cf_buf_deinit(&bytes);
    cf_free(w->base64);
    w->base64 = NULL;
}

static void run(cf_worker *worker, void *ud)
{
    decode(ud, cf_worker_cancel_flag(worker));
    cf_worker_post(worker, ud);
}

/* Takes what is decoded, and has the worker go on with the next wish. */
static void go_on(cf_thumbs *t)
{
    cf_error err;
    wish *w;
    while ((w = cf_worker_take(t->worker)) != NULL) {
        w->thumb.is_done = true;
        t->n_done++;
        while (cf_worker_is_busy(t->worker)) {
            cf_worker_wait(t->worker); /* it is about to return */
        }
    }
    if (t->n_started == t->n_done && t->n_started < t->n &&
        cf_worker_start(t->worker, run, t->v[t->n_started], &err) == CF_OK) {
        t->n_started++;
    }
}

cf_status cf_thumbs_new(cf_thumbs **out, cf_error *err)
{
    cf_thumbs *t = cf_calloc(1, sizeof *t);
    if (t == NULL) {
        return cf_oom_for(err, "pictures");
    }
    cf_status st = cf_worker_new(&t->worker, err);
    if (st != CF_OK) {
        cf_free(t);
        return st;
    }
    *out = t;
    return CF_OK;
}

void cf_thumbs_free(cf_thumbs *t)
{
    if (t == NULL) {
        return;
    }
    cf_worker_free(t->worker, NULL); /* what it posted is in the list */
    for (size_t i = 0; i < t->n; i++) {
        cf_picture_deinit(&t->v[i]->thumb.picture);
        cf_picture_deinit(&t->v[i]->thumb.fine);
        cf_free(t->v[i]->base64);
        cf_free(t->v[i]);
    }
    cf_free(t->v);
    cf_free(t);
}

void cf_thumbs_wake_with(cf_thumbs *t, int fd)
{
    cf_worker_wake_with(t->worker, fd);
}

int cf_thumbs_ask(cf_thumbs *t, cf_str base64)
{
    wish *w = cf_calloc(1, sizeof *w);
    char *copy = cf_strndup(base64.n != 0 ? base64.p : "", base64.n);
    if (w == NULL || copy == NULL || !cf_grow(&t->v, &t->cap, t->n + 1, sizeof(wish *))) {
        cf_free(w);
        cf_free(copy);
        return -1;
    }
    w->base64 = copy;
    w->n = base64.n;
    t->v[t->n++] = w;
    go_on(t);
    return (int)t->n - 1;
}

const cf_thumb *cf_thumbs_get(cf_thumbs *t, int number)
{
    static const cf_thumb waits = {.why = ""};
    go_on(t);
    return number >= 0 && (size_t)number < t->n_done ? &t->v[number]->thumb : &waits;
}

int cf_thumbs_n_done(cf_thumbs *t)
{
    go_on(t);
    return (int)t->n_done;
}

void cf_thumbs_settle(cf_thumbs *t)
{
    for (go_on(t); t->n_done < t->n; go_on(t)) {
        cf_worker_wait(t->worker);
    }
}
