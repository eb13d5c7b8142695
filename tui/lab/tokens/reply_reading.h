/*
 * reply_reading.h - a text as the model at hand reads it after a prompt: its
 * tokens, what each was worth, and what the model would have drawn instead.
 *
 * Place in the flow:  the prompt before a reply + the reply's text -->
 * [reading] --> cf_reply_take_read().
 *
 * Threads:  one thread at a time; not the one that uses the session that was
 *           forked, unless nothing runs there.
 * Memory:   everything lives in the reading until cf_reading_deinit(); results
 *           are borrowed from it.
 */
#ifndef CF_TUI_LAB_TOKENS_REPLY_READING_H
#define CF_TUI_LAB_TOKENS_REPLY_READING_H

#include "core/api/conversation.h"
#include "tui/lab/reply/lab_reply.h"

typedef struct cf_reading {
    cf_arena arena;
    cf_token_list list; /* prompt and reply */
    cf_token *ids;      /* [list.n] */
    size_t first;       /* the first token that holds a byte of the reply */
    cf_str text;        /* the reply's */
    uint32_t *mask;     /* [n_vocab / 32 + 1] */
    cf_draw *draw;      /* [list.n - first] */
    size_t n_done;      /* of them */
    cf_session *session;
    cf_sampler *sampler;
} cf_reading;

/* What a turn's model wrote: its bytes as they came, or what its message
 * says.  Borrowed. */
cf_str cf_reading_written(const cf_turn *turn);

/*
 * Prepares to read `text` after `prompt` on a fork of `session`.  Texts are
 * copied.  CF_EUNSUPPORTED where there is no prompt before the text,
 * CF_ENOMEM.  After a failure, too, it must be deinitialised.
 */
CF_MUST_USE cf_status cf_reading_init(cf_reading *r, const cf_prompt *prompt, cf_str text,
                                      const cf_tokenizer *tok, cf_session *session, cf_error *err);
void cf_reading_deinit(cf_reading *r);

/* Reads all of it; `cancel` may be NULL.  After a failure the first n_done
 * tokens are read. */
CF_MUST_USE cf_status cf_reading_run(cf_reading *r, cf_cancel *cancel, cf_error *err);

/* What was read so far. */
cf_reply_read cf_reading_result(const cf_reading *r);

#endif
