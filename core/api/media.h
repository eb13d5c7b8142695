/*
 * media.h - pictures and sounds as a model gets them: blocks of pixels or of
 * spectrograms, rows of embeddings, and the tokens around them.
 *
 * Place in the flow:  file --> [media] --> rows and markers --> session.
 * Knows: projector files ("mmproj"), image and sound formats, how each family
 * resizes, cuts and marks.  Does not know: conversations, templates, screens.
 *
 * Threads:  one thread at a time for a cf_media and its caches; inputs are
 *           constant.
 * Memory:   inputs are the caller's; the engine outlives its cf_media.
 */
#ifndef CF_CORE_API_MEDIA_H
#define CF_CORE_API_MEDIA_H

#include "core/api/session.h"
#include "core/base/decls.h"
#include "core/base/hash.h"

CF_BEGIN_DECLS

typedef struct cf_media cf_media;

/* Opens a projector file for a model.  CF_EUNSUPPORTED for a file of another
 * kind or a projector confab does not compute, CF_EFORMAT for a broken one,
 * also for one that was made for another model. */
CF_MUST_USE cf_status cf_media_open(cf_media **out, const cf_engine *engine, const char *path,
                                    cf_error *err);
void cf_media_close(cf_media *media);

const char *cf_media_projector(const cf_media *media); /* "gemma3" ... */

/* An encoder in the file, and the memory it needs. */
typedef struct cf_media_encoder {
    bool is_sound;
    const char *projector;
    uint32_t n_layer, width, n_head, n_ff;
    uint32_t n_out;             /* numbers of a row for the model */
    uint32_t patch, image_size; /* pixels; 0: a sound, or any size */
    uint32_t n_most;            /* patches, or frames of the encoder, in a block */
    uint64_t file_bytes;        /* of its tensors, mapped */
    uint64_t block_bytes;       /* activations of the largest block */
} cf_media_encoder;

enum { CF_MEDIA_ENCODERS_MAX = 2 };

/* The encoders that serve; how many. */
size_t cf_media_encoders(const cf_media *media, cf_media_encoder out[CF_MEDIA_ENCODERS_MAX]);

/* A block of pixels, or of a log-mel spectrogram, as the encoder reads it. */
typedef struct cf_media_block {
    uint32_t width, height; /* pixels; frames and bands */
    uint32_t cols, rows;    /* of the embedding rows it becomes; a sound's
                               are all in one row of them */
    const float *data;      /* [height, width, 3], normalised; a sound's
                               [height, width] */
    size_t row0;            /* its first row of cf_media_input.rows */
} cf_media_block;

/* Numbers in a block's data. */
static inline size_t cf_media_block_size(const cf_media_block *b, bool is_sound)
{
    return (size_t)b->width * b->height * (is_sound ? 1 : 3);
}

/* A stretch of the expansion: tokens, or all rows of one block. */
typedef struct cf_media_piece {
    const cf_token *ids; /* [n]; NULL for rows */
    size_t n;
    uint32_t block;
    cf_str text; /* the tokens'; of rows the token that stands for one */
} cf_media_piece;

typedef struct cf_media_input {
    bool is_sound;
    uint32_t width, height;        /* as decoded, turned by its orientation tag */
    float mean[3], std[3];         /* of a picture's data: shares of 255 */
    uint32_t patch;                /* side of a picture's patch, in pixels */
    uint32_t tile_cols, tile_rows; /* tiles, row by row, before the last block,
                                      which is the whole picture; 0: none */
    uint32_t rate, channels;       /* of a sound, as in the file */
    uint64_t n_sample, n_heard;    /* of one channel at `rate`; what the model
                                   hears of it, at 16 kHz */
    const cf_media_block *block;
    size_t n_block;
    const cf_media_piece *piece;
    size_t n_piece;
    char hash[CF_HASH_TEXT + 1]; /* of the file */
    uint64_t key;                /* its first bits; cf_media_row_key() */
    const float *rows;           /* [n_row, row_width]; NULL: not encoded */
    size_t n_row;
    size_t row_width; /* the model's width, then that for each deepstack
                            part */
    uint32_t n_deepstack;
    bool has_mrope;      /* positions have time, height and width */
    bool sees_both_ways; /* rows of a block see each other */
    uint64_t read_us;    /* spent on decoding and cutting */
    uint64_t encode_us;  /* spent on the rows; 0: not encoded */
    struct cf_arena *memory;
} cf_media_input;

/* Reads the bytes of a file.  CF_EUNSUPPORTED for another kind of file, also
 * for a sound where the projector reads pictures, CF_EFORMAT for damage,
 * CF_ELIMIT for too many pixels or too long a sound, CF_ECANCELLED (cancel may
 * be NULL), CF_ENOMEM. */
CF_MUST_USE cf_status cf_media_read(cf_media_input **out, cf_media *media, cf_str bytes,
                                    const cf_cancel *cancel, cf_error *err);
void cf_media_input_free(cf_media_input *input);

/* Block `block` for people, to rgb [height, width, 3]: a picture's own pixels,
 * a spectrogram from dark to bright with its low bands below. */
void cf_media_draw(const cf_media_input *input, uint32_t block, unsigned char *rgb);

/* The same without encoding: all but the rows. */
CF_MUST_USE cf_status cf_media_look(cf_media_input **out, cf_media *media, cf_str bytes,
                                    const cf_cancel *cancel, cf_error *err);

/* "image 3f2a91, 420 x 310 to 288 x 192": the beginning of its hash, its size
 * and what it is resized and cut to; of a sound its length. */
enum { CF_MEDIA_WORDS_MAX = 96 };
void cf_media_words(char *out, size_t cap, const cf_media_input *input);

/* Calls `fn` with layers done and layers in all while an input is encoded; NULL
 * stops that. */
void cf_media_watch(cf_media *media, void (*fn)(void *ud, size_t done, size_t total), void *ud);

/* The texts that chat templates write in place of an image, or of a sound, the
 * longest first, NULL at the end; NULL where the projector reads none. */
const char *const *cf_media_markers(const cf_media *media, bool is_sound);

/* Not 0; equal for equal rows of equal files. */
uint64_t cf_media_row_key(const cf_media_input *input, size_t row);

/* Positions that an input takes. */
size_t cf_media_n_position(const cf_media_input *input);

/*
 * The input's positions, appended at in[0 .. cf_media_n_position()) where `n`
 * positions come before and text is at `*at`, which moves on.
 */
void cf_media_place(const cf_media_input *input, cf_input *in, size_t n, uint32_t *at);

/* Puts the rows of one block at in[0 .. cols * rows), as cf_media_place() does.
 * Rows that are not there have no embeddings. */
void cf_media_place_block(const cf_media_input *input, uint32_t block, cf_input *in, size_t n,
                          uint32_t *at);

/*
 * Inputs by the content of their files, so that a file that comes again is not
 * encoded again.  What is not in use is freed, oldest first, beyond `limit`
 * bytes.
 */
typedef struct cf_media_cache cf_media_cache;

/* Borrows `media`. */
CF_MUST_USE cf_status cf_media_cache_new(cf_media_cache **out, cf_media *media, uint64_t limit,
                                         cf_error *err);
void cf_media_cache_free(cf_media_cache *cache);
cf_media *cf_media_cache_media(const cf_media_cache *cache);

/* The input for a file's bytes, with rows or without, held until it is
 * released; errors of cf_media_read(). */
CF_MUST_USE cf_status cf_media_cache_get(const cf_media_input **out, cf_media_cache *cache,
                                         cf_str bytes, bool with_rows, const cf_cancel *cancel,
                                         cf_error *err);
void cf_media_cache_release(cf_media_cache *cache, const cf_media_input *input);

CF_END_DECLS

#endif
