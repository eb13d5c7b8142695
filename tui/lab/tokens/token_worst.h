/*
 * token_worst.h - the tokens of a reply sorted by cost: how unlikely the model found
 * them, or how much probability mass a constraint removed.
 *
 * Place in the flow:  reply --> [worst first] --> the Tokens view.
 * Knows: draws.  Does not know: screens.
 *
 * Threads:  no state.
 */
#ifndef CF_TUI_LAB_TOKENS_TOKEN_WORST_H
#define CF_TUI_LAB_TOKENS_TOKEN_WORST_H

#include "tui/lab/reply/lab_reply.h"

typedef enum cf_token_loss {
    CF_LOSS_SURPRISE, /* -ln p of the token, as the model gave it */
    CF_LOSS_MASS      /* -ln of the mass that the constraint allowed */
} cf_token_loss;

/* The loss of one token in nats; below 0: not known, or not constrained. */
double cf_token_loss_of(const cf_chat_token *t, cf_token_loss kind);

enum { CF_WORST_MAX = 64 };

typedef struct cf_worst {
    size_t at[CF_WORST_MAX]; /* [n] tokens, the greatest loss first */
    size_t n;
    size_t n_known; /* tokens with a loss that is known */
    double total;   /* nats, of all of them */
    size_t n_most;  /* so many of the first ones make 80 % of it; 0: more than
                        are listed */
} cf_worst;

/* Tokens with no loss to speak of (below 0.01 nats) are not listed. */
void cf_worst_find(cf_worst *out, const cf_reply *reply, cf_token_loss kind);

#endif
