/*
 * audio.h - a sound to rows of embeddings: spectrogram, blocks of at most 30
 * seconds, an encoder, a projector to the text model's width.
 *
 * A projector type is a row of the table in audio.c, which names one of two kinds
 * of encoder: Whisper's, and the conformer of Gemma 4.
 *
 * Private to core/media.
 * Memory: a cf_audio borrows from its cf_mmproj.
 */
#ifndef CF_CORE_MEDIA_AUDIO_H
#define CF_CORE_MEDIA_AUDIO_H

#include "core/media/media_marks.h"
#include "core/media/mel.h"
#include "core/media/sound.h"

enum { CF_AUDIO_BLOCK = 3000 }; /* frames, 30 seconds */

typedef struct cf_audio cf_audio;

/* A spectrogram on its way to the model. */
typedef struct cf_audio_block {
    cf_mel mel;
    uint32_t n_row; /* embedding rows it becomes */
} cf_audio_block;

typedef struct cf_audio_blocks {
    cf_audio_block *v;
    size_t n, cap;
    uint64_t n_heard; /* samples at CF_SOUND_RATE; the rest is cut off */
} cf_audio_blocks;

/* A kind of encoder, in a file of its own. */
typedef struct cf_audio_encoder {
    uint32_t n_most; /* encoder rows of 30 seconds */
    /* What its files have besides the shared keys. */
    cf_status (*load)(cf_audio *a, cf_mmproj *m, cf_error *err);
    /* The spectrogram of n samples. */
    cf_status (*hear)(const cf_audio *a, const cf_dense *d, cf_mel *out, const float *x, size_t n,
                      cf_error *err);
    /* Embedding rows that a part of it becomes. */
    uint32_t (*rows)(const cf_audio *a, const cf_mel *m);
    cf_status (*encode)(const cf_audio *a, const cf_dense *d, float *out, const cf_audio_block *b,
                        cf_error *err);
} cf_audio_encoder;

extern const cf_audio_encoder cf_audio_whisper, cf_audio_conformer;

/* One projector type: a row of the table in audio.c. */
typedef struct cf_audio_family {
    const char *projector; /* clip.projector_type */
    cf_media_marks marks;
    uint32_t n_seconds_max; /* the part that is heard; 0: all */
    bool is_filled;         /* with silence to 30 seconds, or a multiple */
    bool is_masked;         /* silence is no key */
    bool is_mean_of_two;    /* encoder rows, before the last norm */
    bool is_exact_gelu;     /* between the matrices of the projector */
    uint32_t n_joined;      /* encoder rows joined into one row, if no key specifies it */
    const cf_audio_encoder *encoder;
} cf_audio_family;

typedef struct cf_audio_norm {
    const float *w, *b; /* [width]; b may be NULL */
} cf_audio_norm;

typedef struct cf_whisper_layer {
    cf_audio_norm ln1, ln2;
    cf_linear q, k, v, o, up, down;
} cf_whisper_layer;

typedef struct cf_conformer_ffn {
    const float *norm, *post_norm; /* [width] */
    cf_linear up, down;
} cf_conformer_ffn;

typedef struct cf_conformer_layer {
    cf_conformer_ffn ffn[2];
    const float *attn_norm, *attn_post_norm; /* [width] */
    cf_linear q, k, v, o, rel;
    const float *dim_scale;                    /* [head size] */
    const float *norm_conv, *taps, *conv_norm; /* taps [width, 5] */
    cf_linear pw1, pw2;
    const float *out_norm;
} cf_conformer_layer;

struct cf_audio {
    const cf_audio_family *family;
    uint32_t width, n_ff, n_head, n_layer, n_out, n_joined;
    float eps;
    cf_linear conv1, conv2;
    cf_audio_norm post_ln;
    const float *norm_pre, *norm_mid; /* of the projector, or NULL */
    cf_linear fc1, fc2;               /* fc2.w.p may be NULL */
    /* Whisper's */
    const float *pos; /* [CF_AUDIO_BLOCK / 2, width] */
    cf_whisper_layer *layer;
    /* The conformer's */
    cf_conformer_layer *conformer;
    const float *conv_norm[2];
    cf_linear in_proj;
};

/* Whether the file has an encoder of sounds. */
bool cf_audio_is_in(const cf_mmproj *m);

/* CF_EFORMAT, CF_EUNSUPPORTED for other projectors. */
CF_MUST_USE cf_status cf_audio_init(cf_audio *a, cf_mmproj *m, cf_error *err);

/* Cuts a sound into blocks, which must be released even after a failure. */
CF_MUST_USE cf_status cf_audio_cut(const cf_audio *a, const cf_dense *d, const cf_sound *s,
                                   cf_audio_blocks *out, cf_error *err);
void cf_audio_blocks_deinit(cf_audio_blocks *b);

/* Encodes one block into out [n_row, n_out]. */
CF_MUST_USE cf_status cf_audio_encode(const cf_audio *a, const cf_dense *d, float *out,
                                      const cf_audio_block *b, cf_error *err);

#endif
