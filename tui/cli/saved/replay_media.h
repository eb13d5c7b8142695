/*
 * replay_media.h - the pictures and sounds of a stored prompt, to be computed
 * again.
 *
 * The run says which positions are rows of which file, by its hash; the bytes
 * are in the messages before the turn.
 */
#ifndef CF_TUI_CLI_SAVED_REPLAY_MEDIA_H
#define CF_TUI_CLI_SAVED_REPLAY_MEDIA_H

#include "core/api/media.h"
#include "storage/store.h"
#include "templates/open.h"

typedef struct cf_replay_file {
    char hash[CF_HASH_TEXT + 1];
    cf_buf bytes;
    const cf_media_input *input; /* once it is read */
} cf_replay_file;

typedef struct cf_replay_media {
    json_t *list; /* of the run; NULL: the prompt is text */
    cf_replay_file *file;
    size_t n_file, cap_file;
    cf_media *media;
    cf_media_cache *cache;
    cf_input *in; /* a position for each id */
} cf_replay_media;

/* Reads the list and the files that it names; deinit also after a failure.
 * CF_ENOTFOUND where a file is not in the history. */
CF_MUST_USE cf_status cf_replay_media_load(cf_replay_media *m, cf_str list, cf_store *store,
                                           cf_uuid turn, cf_arena *arena, cf_error *err);

/* Encodes them and fills m->in for ids[0..n). */
CF_MUST_USE cf_status cf_replay_media_read(cf_replay_media *m, const cf_engine *engine,
                                           const cf_open_options *open, const cf_token *ids,
                                           size_t n, const cf_cancel *cancel, cf_error *err);
void cf_replay_media_deinit(cf_replay_media *m);

#endif
