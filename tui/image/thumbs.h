/*
 * thumbs.h - small pictures and waveforms, decoded in the background by a
 * thread of their own: a reply may be written meanwhile.
 *
 * Threads:  the interface thread calls; the decoder's thread works.
 * Memory:   pictures stay until cf_thumbs_free().
 */
#ifndef CF_TUI_IMAGE_THUMBS_H
#define CF_TUI_IMAGE_THUMBS_H

#include "core/api/thumbnail.h"

enum {
    CF_THUMB_W = 40,
    CF_THUMB_H = 20, /* pixels; half as many rows */
    CF_THUMB_WAVE_H = 10,
    CF_THUMB_FINE = 12 /* times as many, for terminals with graphics */
};

typedef struct cf_thumbs cf_thumbs;

CF_MUST_USE cf_status cf_thumbs_new(cf_thumbs **out, cf_error *err);
/* Cancels decoding. */
void cf_thumbs_free(cf_thumbs *t);

/* A descriptor to write a byte to when a picture is ready; -1 for none. */
void cf_thumbs_wake_with(cf_thumbs *t, int fd);

/* Asks for the picture of an image, or the waveform of a sound, whose bytes
 * are base64 (copied).  Returns
 * its number, -1 when memory ran out. */
int cf_thumbs_ask(cf_thumbs *t, cf_str base64);

typedef struct cf_thumb {
    bool is_done;
    cf_picture picture; /* w 0: there is none */
    cf_picture fine;    /* the same with more pixels, where the file has them */
    char what[80];      /* a sound's length, rate and channels; else "" */
    char why[120];      /* it cannot be shown; "" otherwise */
} cf_thumb;

/* The thumbnail as far as it is known; borrowed, and unchanging once is_done. */
const cf_thumb *cf_thumbs_get(cf_thumbs *t, int number);

/* How many are done; a change means that something is to be drawn. */
int cf_thumbs_n_done(cf_thumbs *t);

/* Waits until all that was asked for is done.  For tests. */
void cf_thumbs_settle(cf_thumbs *t);

#endif
