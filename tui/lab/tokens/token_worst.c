/*
 * token_worst.c - the greatest few, kept sorted while the reply is read.
 */
#include "tui/lab/tokens/token_worst.h"

#include <math.h>

#define LEAST 0.01

double cf_token_loss_of(const cf_chat_token *t, cf_token_loss kind)
{
    double p = (double)t->p;
    if (kind == CF_LOSS_MASS) {
        p = t->draw != NULL && t->is_held ? (double)t->draw->allowed_mass : -1;
    } else if (t->draw != NULL) {
        p = (double)t->draw->chosen.p_raw;
    }
    /* What underflowed is as unlikely as a float can say. */
    return p < 0 ? -1 : -log(p > 1e-38 ? p : 1e-38);
}

static void put_in(cf_worst *w, double loss[CF_WORST_MAX], size_t token, double value)
{
    size_t at = w->n;
    if (at == CF_WORST_MAX) {
        if (value <= loss[--at]) {
            return;
        }
    } else {
        w->n++;
    }
    while (at > 0 && loss[at - 1] < value) {
        loss[at] = loss[at - 1];
        w->at[at] = w->at[at - 1];
        at--;
    }
    loss[at] = value;
    w->at[at] = token;
}

void cf_worst_find(cf_worst *out, const cf_reply *reply, cf_token_loss kind)
{
    double loss[CF_WORST_MAX];
    *out = (cf_worst){.n = 0};
    for (size_t i = 0; i < reply->n_token; i++) {
        double value = cf_token_loss_of(&reply->token[i], kind);
        if (value < 0) {
            continue;
        }
        out->n_known++;
        out->total += value;
        if (value >= LEAST) {
            put_in(out, loss, i, value);
        }
    }
    double sum = 0;
    for (size_t i = 0; i < out->n && out->n_most == 0; i++) {
        sum += loss[i];
        out->n_most = sum >= 0.8 * out->total ? i + 1 : 0;
    }
}
