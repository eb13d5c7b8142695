/*
 * diff_model.h - two templates over one conversation, or one template over
 * two conversations: prompts, tokens and their difference; and the same, in
 * small steps, over everything saved.
 *
 * Threads:  the interface thread.
 * Memory:   owns everything; results live until the next update.
 */
#ifndef CF_TUI_DIFF_MODEL_H
#define CF_TUI_DIFF_MODEL_H

#include "storage/store.h"
#include "templates/template_diff.h"
#include "tui/bench.h"
#include "tui/cli/diff_pair.h"

typedef enum cf_diff_level {
    CF_DIFF_LEVEL_TEXT,
    CF_DIFF_LEVEL_TOKENS,
    CF_DIFF_LEVEL_SOURCE
} cf_diff_level;

typedef enum cf_diff_subject {
    CF_DIFF_BENCH, /* the conversation on the bench */
    CF_DIFF_SAVED, /* a saved one */
    CF_DIFF_MARKS  /* the saved ones marked A and B, over one template */
} cf_diff_subject;

/* A saved conversation whose prompts differ, or fail differently. */
typedef struct cf_diff_hit {
    cf_uuid id;
    char title[80];
    size_t n_removed, n_added, n_changed; /* lines */
    bool failed;
    char why[120]; /* of a failure */
} cf_diff_hit;

typedef struct cf_diff_all {
    bool is_on;   /* there are results, or will be */
    bool is_done; /* nothing left to do */
    cf_arena arena;
    const cf_store_conv *conv; /* [n] */
    size_t n, at;              /* at: the next one to compare */
    size_t n_differ;
    cf_diff_hit *hit; /* [n_hit], owned */
    size_t n_hit, cap_hit;
} cf_diff_all;

typedef struct cf_diff_model {
    cf_bench *bench;
    cf_store *store; /* may be NULL */
    char name[256];  /* of the other template; "" while none was chosen */
    cf_buf other;    /* its source */
    bool is_swapped; /* the other template is A */
    cf_diff_level level;
    cf_diff_subject subject;
    cf_uuid saved;

    /* Made by cf_diff_model_update(). */
    cf_diff_pair pair; /* it must not move */
    bool has_pair, has_diff;
    uint64_t generation; /* of the bench */
    cf_arena arena;
    cf_diff_renders render;
    cf_token_list tokens[2];
    bool has_tokens;
    size_t n_same; /* tokens (else bytes) both prompts begin with */
    cf_diff diff;
    cf_error err; /* why there is no difference to show */

    cf_diff_all all;
} cf_diff_model;

void cf_diff_model_init(cf_diff_model *m, cf_bench *bench, cf_store *store);
void cf_diff_model_deinit(cf_diff_model *m);

/* Chooses the other template: a name or a file, "model" for the one of the
 * start.  The old choice stays when it cannot be read or compiled. */
CF_MUST_USE cf_status cf_diff_model_with(cf_diff_model *m, const char *name,
                                         cf_error *err);

/* Makes the difference anew.  What fails is told in m->err, and
 * m->render.err for each side. */
void cf_diff_model_update(cf_diff_model *m);

/* What stands on a side: the template's name, or the conversation's. */
const char *cf_diff_model_name(const cf_diff_model *m, int side);

/* Begins to compare all saved conversations; and does some of it, for at
 * most a few milliseconds or one conversation.  True while there is more. */
CF_MUST_USE cf_status cf_diff_model_all(cf_diff_model *m, cf_error *err);
bool cf_diff_model_step(cf_diff_model *m);
void cf_diff_model_stop(cf_diff_model *m);

#endif
