/*
 * diff_model.h - two templates over one conversation, or one template over
 * two conversations: prompts, tokens and their difference.
 *
 * Threads:  the interface thread.
 * Memory:   owns everything; results live until the next update.
 */
#ifndef CF_TUI_LAB_COMPARE_DIFF_MODEL_H
#define CF_TUI_LAB_COMPARE_DIFF_MODEL_H

#include "storage/store.h"
#include "templates/open.h"
#include "templates/template_diff.h"
#include "tui/lab/prompt/diff_pair.h"
#include "tui/lab/state/lab_state.h"

typedef enum cf_diff_level {
    CF_DIFF_LEVEL_TEXT,
    CF_DIFF_LEVEL_TOKENS,
    CF_DIFF_LEVEL_SOURCE
} cf_diff_level;

typedef enum cf_diff_subject {
    CF_DIFF_CURRENT, /* the conversation in the workbench */
    CF_DIFF_SAVED,   /* a saved one */
    CF_DIFF_MARKS    /* the saved ones marked A and B, over one template */
} cf_diff_subject;

typedef struct cf_diff_model {
    cf_lab *lab;
    cf_store *store;             /* may be NULL */
    char name[256];              /* of the other template; "" while none was chosen */
    cf_buf other;                /* its source */
    bool is_server;              /* in its place the prompt that the server showed */
    bool is_swapped;             /* the other template, which is A at first, is B */
    cf_opened_adapters adapters; /* the other side computes with these, */
    bool has_adapters;           /* if it has some of its own */
    char adapters_label[120];    /* "style.gguf x 0.5", "no adapter" */
    cf_diff_level level;
    cf_diff_subject subject;
    cf_uuid saved;

    /* Made by cf_diff_model_update(). */
    cf_diff_pair pair; /* it must not move */
    bool has_pair, has_diff;
    uint64_t generation; /* of the workbench */
    cf_arena arena;
    cf_diff_renders render;
    cf_token_list tokens[2];
    bool has_tokens;
    size_t n_same; /* tokens (else bytes) both prompts begin with */
    cf_diff diff;
    cf_error err;      /* why there is no difference to show */
    char title[2][80]; /* of the saved conversations compared; "" for others */
} cf_diff_model;

void cf_diff_model_init(cf_diff_model *m, cf_lab *lab, cf_store *store);
void cf_diff_model_deinit(cf_diff_model *m);

/* Chooses the other template: a name or a file, "model" for the one of the
 * start, "server" for the prompt that the server showed (lab_prompt.h).  The old choice stays when it cannot be read or compiled. */
CF_MUST_USE cf_status cf_diff_model_with(cf_diff_model *m, const char *name, cf_error *err);

/* The same with a text (copied) that goes by this name. */
CF_MUST_USE cf_status cf_diff_model_with_text(cf_diff_model *m, const char *name, cf_str source,
                                              cf_error *err);

/* Has the other side compute with these adapters, a line as
 * cf_lab_set_adapters() takes it; "same": as the workbench does.  Where no
 * other template was chosen, it is the one in use.  CF_EUNSUPPORTED without
 * the built-in engine, errors of cf_open_adapters(). */
CF_MUST_USE cf_status cf_diff_model_lora(cf_diff_model *m, const char *text, cf_error *err);
/* Gives a session of the engine the adapters of a side. */
CF_MUST_USE cf_status cf_diff_model_use_lora(const cf_diff_model *m, int side, cf_session *session,
                                             cf_error *err);
/* The adapters of a side; "" where nothing is to be said. */
const char *cf_diff_model_lora_label(const cf_diff_model *m, int side);

/* Computes the difference again.  A failure is in m->err, and in
 * m->render.err for each side. */
void cf_diff_model_update(cf_diff_model *m);

/* The name of a side: the template's name, or the conversation's title. */
const char *cf_diff_model_name(const cf_diff_model *m, int side);

/* ---- for work that takes longer ----------------------------------------- */

/* Copies for a task of the workbench: both templates, whatever is compared; the
 * sides' templates, which are one for two conversations (*out is zeroed and must not move;
 * close it whatever is returned); what a side is about, the text in the
 * composer as a message (NULL: there is none, or it does not belong to what is
 * compared), and the variables (NULL: none), or those of
 * the workbench whatever is compared. */
CF_MUST_USE cf_status cf_diff_model_templates(const cf_diff_model *m, cf_diff_pair *out,
                                              cf_error *err);
CF_MUST_USE cf_status cf_diff_model_pair(const cf_diff_model *m, cf_diff_pair *out, cf_error *err);
CF_MUST_USE cf_status cf_diff_model_conv(cf_diff_model *m, int side, cf_conversation **out,
                                         cf_error *err);
CF_MUST_USE cf_status cf_diff_model_message(const cf_diff_model *m, json_t **out, cf_error *err);
CF_MUST_USE cf_status cf_diff_model_vars(const cf_diff_model *m, json_t **out, cf_error *err);
CF_MUST_USE cf_status cf_diff_current_vars(cf_lab *lab, json_t **out, cf_error *err);

/* Whether the conversation in the workbench is rendered. */
bool cf_diff_shows_current(const cf_diff_model *m);

/* Whether a saved conversation is the one in the workbench, which is rendered as
 * it is there. */
bool cf_diff_is_current(const cf_lab *lab, cf_uuid conv);

/* A saved conversation with its head where it was left, and the raw bytes of
 * its replies.  One that does not say which tools it had gets `tools` (NULL:
 * none).  On any thread; the arena is scratch. */
CF_MUST_USE cf_status cf_diff_load(cf_store *store, cf_uuid id, const json_t *tools,
                                   cf_arena *arena, cf_conversation **out, char title[80],
                                   cf_error *err);
/* Its title in a list, cut between characters. */
void cf_diff_title(char out[80], const cf_store_conv *conv);

#endif
