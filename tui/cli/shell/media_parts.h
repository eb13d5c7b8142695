/*
 * media_parts.h - a prompt as a JSON list of token ids, text, pictures
 * and sounds.
 *
 *   [{"ids": [1, 2]}, {"image": "cat.png"}, {"text": "What is it?"}]
 *
 * Nothing is added: no BOS, no template.  Control tokens spelled out in a text
 * are recognised.  Names of files are relative to the list's own.
 */
#ifndef CF_TUI_CLI_SHELL_MEDIA_PARTS_H
#define CF_TUI_CLI_SHELL_MEDIA_PARTS_H

#include "core/api/media.h"

/* Maximum size of an image or audio file. */
enum { CF_MEDIA_FILE_MAX = 256 << 20 };

typedef struct cf_media_parts {
    cf_input *in; /* [n], owned */
    size_t n, cap;
    uint32_t at;             /* where the rest of the text begins */
    cf_media_input **inputs; /* [n_input], owned: the rows of `in` */
    size_t n_input, input_cap;
    uint32_t n_batch; /* for a session that takes every block whole; 0: any */
} cf_media_parts;

/* Reads the list and its pictures; deinit also after a failure. */
CF_MUST_USE cf_status cf_media_parts_read(cf_media_parts *out, cf_media *media,
                                          const cf_tokenizer *tok, const char *path,
                                          const cf_cancel *cancel, cf_error *err);
void cf_media_parts_deinit(cf_media_parts *parts);

/* A token for each position, 0 for a picture's rows; the caller frees *ids. */
CF_MUST_USE cf_status cf_media_parts_ids(const cf_media_parts *parts, cf_token **ids, size_t *n,
                                         cf_error *err);

/* The encoder's input made from a file; errors name the file. */
CF_MUST_USE cf_status cf_media_parts_file(cf_media_input **out, cf_media *media, const char *path,
                                          const cf_cancel *cancel, cf_error *err);

#endif
