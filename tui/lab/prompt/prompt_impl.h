/*
 * prompt_impl.h - the prompt that a lab shows, the text that is not sent yet,
 * and what the prompt loses of the conversation.
 *
 * Private to tui/lab/prompt; lab.c opens and closes it.
 */
#ifndef CF_TUI_LAB_PROMPT_PROMPT_IMPL_H
#define CF_TUI_LAB_PROMPT_PROMPT_IMPL_H

#include "tui/lab/prompt/lab_prompt.h"
#include "tui/lab/state/lab_impl.h"

struct cf_lab_prompt {
    cf_buf unsent;
    json_t *unsent_parts;   /* pictures and sounds with it; NULL: none */
    bool lacks_parts;       /* memory did not suffice for them */
    json_t *unsent_message; /* both, as the prompt has them; NULL: none */
    cf_arena arena;
    cf_prompt_model model;
    uint64_t generation; /* that `model` was made of */
    bool is_fresh;       /* nothing else has changed since then */
    bool is_shown;
    cf_lab_ours ours;     /* beside the server's */
    json_t *server_slots; /* with the server's prompt; NULL: none */
    cf_error err;
    cf_media_sheet sheet; /* of the prompt; n 0: none yet */
    cf_arena loss_arena;
    cf_lab_loss *loss; /* [n_loss], of the path of `loss_generation` */
    size_t n_loss, cap_loss;
    const char *added; /* why confab added text to the prompt; NULL: it did not */
    uint64_t loss_generation;
    bool losses_are_fresh;
};

CF_MUST_USE cf_status cf_lab_prompt_open(cf_lab *lab, cf_error *err);
void cf_lab_prompt_close(cf_lab *lab);
CF_MUST_USE cf_status cf_lab_linter_open(cf_lab *lab, cf_error *err);
/* After the thread of the lints has ended. */
void cf_lab_linter_close(cf_lab *lab);

/* Whether nothing was said, and nothing is written to be said. */
bool cf_lab_prompt__is_empty(const cf_lab *lab);

#endif
