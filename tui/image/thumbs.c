/*
 * thumbs.c - a list of wishes, and one thread that fulfils them in order.
 *
 * Guarded by `lock`: the list, n_done, is_ending, wake_fd.  A thumb belongs
 * to the decoder's thread until it is marked done under the lock.
 */
#include "tui/image/thumbs.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/api/attachment.h"
#include "core/api/wave.h"
#include "core/base/alloc.h"
#include "core/base/base64.h"
#include "core/base/os.h"
#include "tui/grid/grid.h"

typedef struct wish {
    cf_thumb thumb, shown; /* the thread's, and what views see */
    char *base64;          /* [n], owned; NULL once decoded */
    size_t n;
} wish;

struct cf_thumbs {
    pthread_mutex_t lock;
    pthread_cond_t has_work, has_results;
    pthread_t thread;
    wish **v; /* [n], owned */
    int n, cap, n_done;
    int wake_fd;
    bool is_ending;
    cf_cancel cancel;
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

static cf_status decode_sound(cf_thumbs *t, wish *w, cf_str bytes, cf_error *err)
{
    cf_wave wave;
    CF_TRY(cf_wave_read(&wave, bytes, CF_THUMB_W, &t->cancel, err));
    snprintf(w->thumb.what, sizeof w->thumb.what, "%.1f s, %u Hz, %u %s",
             (double)wave.n_sample / wave.rate, (unsigned)wave.rate, (unsigned)wave.channels,
             wave.channels == 1 ? "channel" : "channels");
    CF_TRY(draw_wave(&w->thumb.picture, &wave, 1, err));
    return draw_wave(&w->thumb.fine, &wave, CF_THUMB_FINE, err);
}

/* The fine picture is the file's, and the small one is made of it. */
static cf_status decode_picture(cf_thumbs *t, wish *w, cf_str bytes, cf_error *err)
{
    cf_picture *small = &w->thumb.picture, *fine = &w->thumb.fine;
    CF_TRY(cf_picture_shrink(fine, bytes, CF_THUMB_FINE * CF_THUMB_W, CF_THUMB_FINE * CF_THUMB_H,
                             &t->cancel, err));
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

static void decode(cf_thumbs *t, wish *w)
{
    cf_error err;
    cf_buf bytes = CF_BUF_INIT;
    cf_status st = CF_OK;
    if (!cf_base64_get(&bytes, cf_str_make(w->base64, w->n))) {
        st = cf_fail(&err, CF_EFORMAT, "its bytes are not base64");
    } else {
        const char *mime = cf_attachment_sniff(cf_buf_str(&bytes));
        bool is_sound = mime != NULL && strncmp(mime, "audio/", 6) == 0;
        st = is_sound ? decode_sound(t, w, cf_buf_str(&bytes), &err)
                      : decode_picture(t, w, cf_buf_str(&bytes), &err);
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

static void *run(void *ud)
{
    cf_thumbs *t = ud;
    pthread_mutex_lock(&t->lock);
    for (;;) {
        while (!t->is_ending && t->n_done == t->n) {
            pthread_cond_wait(&t->has_work, &t->lock);
        }
        if (t->is_ending) {
            break;
        }
        wish *w = t->v[t->n_done];
        pthread_mutex_unlock(&t->lock);
        decode(t, w);
        pthread_mutex_lock(&t->lock);
        w->shown = w->thumb;
        w->shown.is_done = true;
        t->n_done++;
        pthread_cond_broadcast(&t->has_results);
        if (t->wake_fd >= 0) {
            ssize_t n = write(t->wake_fd, "t", 1);
            (void)n; /* a full pipe wakes as well */
        }
    }
    pthread_mutex_unlock(&t->lock);
    return NULL;
}

cf_status cf_thumbs_new(cf_thumbs **out, cf_error *err)
{
    cf_thumbs *t = cf_calloc(1, sizeof *t);
    if (t == NULL) {
        return cf_oom_for(err, "pictures");
    }
    t->wake_fd = -1;
    atomic_init(&t->cancel, false);
    pthread_mutex_init(&t->lock, NULL);
    pthread_cond_init(&t->has_work, NULL);
    pthread_cond_init(&t->has_results, NULL);
    cf_status st = cf_os_thread(&t->thread, run, t, err);
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
    atomic_store_explicit(&t->cancel, true, memory_order_relaxed);
    pthread_mutex_lock(&t->lock);
    t->is_ending = true;
    pthread_cond_broadcast(&t->has_work);
    pthread_mutex_unlock(&t->lock);
    pthread_join(t->thread, NULL);
    for (int i = 0; i < t->n; i++) {
        cf_picture_deinit(&t->v[i]->thumb.picture);
        cf_picture_deinit(&t->v[i]->thumb.fine);
        cf_free(t->v[i]->base64);
        cf_free(t->v[i]);
    }
    cf_free(t->v);
    pthread_cond_destroy(&t->has_results);
    pthread_cond_destroy(&t->has_work);
    pthread_mutex_destroy(&t->lock);
    cf_free(t);
}

void cf_thumbs_wake_with(cf_thumbs *t, int fd)
{
    pthread_mutex_lock(&t->lock);
    t->wake_fd = fd;
    pthread_mutex_unlock(&t->lock);
}

/* Under the lock. */
static bool grow(cf_thumbs *t)
{
    if (t->n < t->cap) {
        return true;
    }
    int cap = t->cap != 0 ? t->cap * 2 : 16;
    wish **v = cf_realloc(t->v, (size_t)cap, sizeof *v);
    if (v == NULL) {
        return false;
    }
    t->v = v;
    t->cap = cap;
    return true;
}

int cf_thumbs_ask(cf_thumbs *t, cf_str base64)
{
    wish *w = cf_calloc(1, sizeof *w);
    char *copy = cf_strndup(base64.n != 0 ? base64.p : "", base64.n);
    int number = -1;
    if (w == NULL || copy == NULL) {
        cf_free(w);
        cf_free(copy);
        return -1;
    }
    w->base64 = copy;
    w->n = base64.n;
    pthread_mutex_lock(&t->lock);
    if (grow(t)) {
        number = t->n;
        t->v[t->n++] = w;
        pthread_cond_signal(&t->has_work);
    }
    pthread_mutex_unlock(&t->lock);
    if (number < 0) {
        cf_free(copy);
        cf_free(w);
    }
    return number;
}

const cf_thumb *cf_thumbs_get(cf_thumbs *t, int number)
{
    static const cf_thumb waits = {.why = ""};
    pthread_mutex_lock(&t->lock);
    const cf_thumb *thumb = number >= 0 && number < t->n_done ? &t->v[number]->shown : &waits;
    pthread_mutex_unlock(&t->lock);
    return thumb;
}

int cf_thumbs_n_done(cf_thumbs *t)
{
    pthread_mutex_lock(&t->lock);
    int n = t->n_done;
    pthread_mutex_unlock(&t->lock);
    return n;
}

void cf_thumbs_settle(cf_thumbs *t)
{
    pthread_mutex_lock(&t->lock);
    while (t->n_done < t->n) {
        pthread_cond_wait(&t->has_results, &t->lock);
    }
    pthread_mutex_unlock(&t->lock);
}
