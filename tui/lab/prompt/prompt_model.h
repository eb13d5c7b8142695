/*
 * prompt_model.h - a rendered prompt as tokens with their origin and whether the cache
 * has them, as the Prompt view draws it.
 *
 * Threads:  one thread at a time.
 * Memory:   owns its arrays; prompt and tokens are borrowed from the
 *           renderer's caller and must live as long as the model is used.
 */
#ifndef CF_TUI_LAB_PROMPT_PROMPT_MODEL_H
#define CF_TUI_LAB_PROMPT_PROMPT_MODEL_H

#include "core/api/renderer.h"
#include "core/api/session.h"
#include "core/api/tokenizer.h"

typedef enum cf_reuse {
    CF_REUSE_KEPT, /* '=' the cache has this very token here */
    CF_REUSE_NEW,  /* '+' must be computed */
    CF_REUSE_BREAK /* '!' the first one that differs from the cache */
} cf_reuse;

/* How a token is written on the screen. */
typedef enum cf_prompt_form {
    CF_PROMPT_AS_TEXT,
    CF_PROMPT_AS_IDS,
    CF_PROMPT_AS_HEX,     /* its bytes, two digits each */
    CF_PROMPT_AS_SPECIALS /* text; of a run of ordinary ones how many */
} cf_prompt_form;

typedef struct cf_prompt_token {
    uint32_t span;   /* index into prompt.spans of its first byte */
    int32_t message; /* the message it belongs to, or a CF_PART_* */
    uint8_t reuse;   /* cf_reuse */
    bool ends_line;  /* its text ends with a newline */
    bool is_special; /* a control or user-defined token, once marked */
    bool has_state;  /* a recurrent model's state before it is kept */
} cf_prompt_token;

/* Parts of a prompt that are not messages. */
enum {
    CF_PART_HEAD = -1,       /* template text before everything */
    CF_PART_GENERATION = -2, /* what asks for the reply */
    CF_PART_TOOLS = -3       /* tool declarations */
};

/* A message's share of the prompt. */
typedef struct cf_prompt_part {
    int32_t message; /* or a CF_PART_* */
    size_t first;    /* token */
    size_t n_tokens; /* 0: nothing was written of it */
    size_t n_kept;
    bool is_lost; /* at most its marks were written */
} cf_prompt_part;

/* A row of tokens, as broken for a width. */
typedef struct cf_prompt_row {
    size_t first, n; /* tokens; n = 0: of a message that was not written */
    int32_t message;
    bool is_lost; /* nothing of the message is in this row or any other */
} cf_prompt_row;

typedef struct cf_prompt_model {
    cf_prompt prompt;
    const cf_token_span *ids; /* [n], borrowed */
    cf_prompt_token *token;   /* [n] */
    size_t n;
    cf_prompt_part *part; /* [n_part], in order */
    size_t n_part;
    cf_prompt_row *row; /* [n_row] */
    size_t n_row, cap_row;
    int row_width; /* what the rows were broken for; 0: not yet */
    cf_prompt_form row_form;
    size_t n_kept;   /* tokens the cache has */
    size_t n_state;  /* of them, up to the last kept state; n_kept where the
                        model has none */
    bool is_other;   /* the cache holds another conversation */
    size_t n_lost;   /* cached tokens after the break, now useless */
    bool has_break;  /* the cache holds something else at token n_kept, */
    cf_token cached; /* namely this */
} cf_prompt_model;

/*
 * Builds the model.  cache[0..n_cache) is what the session holds (may be
 * NULL).  CF_ENOMEM leaves an empty model.
 */
CF_MUST_USE cf_status cf_prompt_model_build(cf_prompt_model *m, const cf_prompt *prompt,
                                            const cf_token_list *tokens, const cf_token *cache,
                                            size_t n_cache, cf_error *err);
void cf_prompt_model_deinit(cf_prompt_model *m);

/* Notes that the cache holds another conversation: it agrees as far as it
 * does, and nothing of it is lost here. */
void cf_prompt_model_mark_other(cf_prompt_model *m);

/* Marks the tokens before which a state is kept; pos[0..n) as
 * cf_backend_checkpoints() gives them. */
void cf_prompt_model_mark_states(cf_prompt_model *m, const uint32_t *pos, size_t n);

/* Notes that nothing of a message was written: it gets a part of its own, and
 * a row that says so.  Call before rows are broken.  CF_ENOMEM. */
CF_MUST_USE cf_status cf_prompt_model_mark_lost(cf_prompt_model *m, size_t message, cf_error *err);

/* Marks the tokens that are special in this vocabulary. */
void cf_prompt_model_mark_specials(cf_prompt_model *m, const cf_tokenizer *tok);

/* Cells that a token's text takes on the screen, white space visible. */
typedef int (*cf_prompt_measure)(cf_str text);

/* Breaks the tokens into rows of at most `width` cells, a boundary mark after
 * each token included; a message begins a new row. */
CF_MUST_USE cf_status cf_prompt_model_wrap(cf_prompt_model *m, int width, cf_prompt_form form,
                                           cf_prompt_measure measure, cf_error *err);

/* The row of a token. */
size_t cf_prompt_model_row_of(const cf_prompt_model *m, size_t token);

/* Whether `token` is part of a picture or sound, a marker or a row: all of it
 * is one block on the screen, whatever the form. */
bool cf_prompt_model_is_media(const cf_prompt_model *m, size_t token);

/* "[image 3f2a91, 420 x 310 to 288 x 192: 56 tokens]", for the block that
 * `token` is part of, without a terminating 0. */
enum { CF_PROMPT_BLOCK_MAX = 160 };
cf_str cf_prompt_model_block(const cf_prompt_model *m, size_t token, char out[CF_PROMPT_BLOCK_MAX]);

/* Whether `token` is an ordinary one after another of its message, or one
 * after another of its block: of a run only the first is shown. */
bool cf_prompt_model_continues(const cf_prompt_model *m, size_t token);

/* The run of ordinary tokens of one message, or the block, that `token` lies
 * in: its first one and their number; 0 for a special token. */
size_t cf_prompt_model_run(const cf_prompt_model *m, size_t token, size_t *first);

/* The bytes of a token in the prompt. */
cf_str cf_prompt_model_text(const cf_prompt_model *m, size_t token);

#endif
