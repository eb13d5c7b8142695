/*
 * media_sheet.h - a picture or sound of the prompt as the model receives it: its blocks
 * as pixels, its tokens, positions and times.
 *
 * Threads:  the interface thread.
 * Memory:   a sheet is a copy and owns all of it.
 */
#ifndef CF_TUI_LAB_PROMPT_MEDIA_SHEET_H
#define CF_TUI_LAB_PROMPT_MEDIA_SHEET_H

#include "core/api/media.h"
#include "tui/lab/prompt/prompt_model.h"

typedef struct cf_sheet_block {
    int w, h;            /* pixels; frames and bands of a sound */
    uint32_t cols, rows; /* of tokens */
    unsigned char *rgb;  /* [h, w, 3]: what cf_media_draw() gives */
    size_t token;        /* its first one, of the prompt */
    uint32_t at;         /* and that one's position */
} cf_sheet_block;

/* A stretch of the expansion. */
typedef struct cf_sheet_piece {
    cf_str text; /* of markers; empty for rows */
    size_t n;    /* tokens */
    uint32_t block;
} cf_sheet_piece;

typedef struct cf_media_sheet {
    cf_arena arena; /* of all below */
    bool is_sound;
    uint32_t width, height;  /* as decoded */
    uint32_t rate, channels; /* of a sound */
    double seconds, heard;   /* its length; what the model hears of it */
    char hash[CF_HASH_TEXT + 1];
    cf_str projector;
    cf_sheet_block *block; /* [n_block] */
    size_t n_block;
    uint32_t patch;                /* side, in pixels; 0: a sound */
    uint32_t tile_cols, tile_rows; /* tiles before the last block; 0: none */
    cf_sheet_piece *piece;         /* [n_piece] */
    size_t n_piece;
    size_t message, part;    /* where it is in the conversation */
    size_t first, n, n_kept; /* its tokens; of them, in the cache */
    size_t n_prompt;         /* tokens of the prompt */
    uint32_t at, end;        /* its first position, and the next after it */
    bool has_mrope;          /* rows have time, height and width */
    bool sees_both_ways;
    uint32_t n_deepstack;
    bool is_encoded;
    uint64_t read_us, encode_us;
} cf_media_sheet;

/*
 * The picture or sound that `token` of the prompt is part of.
 * message(ud, i) gives message i.  CF_ENOTFOUND: it is part of none;
 * CF_ENOMEM; errors of cf_media_look().  *out is empty after a failure.
 */
CF_MUST_USE cf_status cf_media_sheet_make(cf_media_sheet *out, cf_media_cache *cache,
                                          const cf_prompt_model *prompt, size_t token,
                                          const json_t *(*message)(const void *ud, size_t i),
                                          const void *ud, cf_error *err);
void cf_media_sheet_deinit(cf_media_sheet *sheet);

/* "56 tokens, 38% of the prompt; encoded in 14.5 ms; 56 in the cache" */
void cf_media_sheet_cost(const cf_media_sheet *sheet, cf_buf *out);

/* The position of row `row` of a block: time, height and width, which are one
 * number where has_mrope is not set. */
void cf_media_sheet_position(const cf_media_sheet *sheet, size_t block, size_t row, uint32_t at[3]);

/* The first token of the medium after (by 1) or before (by -1) `token`; `token`
 * when there is none. */
size_t cf_media_sheet_step(const cf_prompt_model *prompt, size_t token, int by);

#endif
