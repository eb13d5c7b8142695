/*
 * easy_mask.c - a position under a constraint, for programs that draw tokens
 * themselves.
 */
#include "core/base/alloc.h"
#include "templates/easy/easy.h"

struct cf_mask {
    const confab *owner;
    cf_grammar *grammar;
    cf_constraint *position;
    size_t n_words;
};

size_t cf_n_vocab(const confab *c)
{
    return c != NULL && c->opened.engine != NULL
               ? cf_tokenizer_n_vocab(cf_engine_tokenizer(c->opened.engine))
               : 0;
}

cf_mask *cf_mask_new(confab *c, const char *spec, cf_error *err)
{
    if (cf_easy__may_with(c, spec, "the constraint", err) != CF_OK) {
        return NULL;
    }
    cf_mask *mask = cf_calloc(1, sizeof *mask);
    if (mask == NULL) {
        cf_fail(err, CF_ENOMEM, "out of memory");
        return NULL;
    }
    mask->owner = c;
    cf_status st = cf_easy__grammar(c, spec, &mask->grammar, err);
    CF_THEN(st, cf_constraint_new(&mask->position, mask->grammar, c->vocab, err));
    mask->n_words = (cf_n_vocab(c) + 31) / 32;
    if (st != CF_OK) {
        cf_mask_free(mask);
        return NULL;
    }
    return mask;
}

/* Whether the mask may be used: its handle may, and it is there. */
static cf_status may(const cf_mask *mask, cf_error *err)
{
    return mask != NULL ? cf_easy__may(mask->owner, err)
                        : cf_fail(err, CF_EINVAL, "there is no mask");
}

void cf_mask_free(cf_mask *mask)
{
    if (mask != NULL) {
        cf_constraint_free(mask->position);
        cf_grammar_free(mask->grammar);
        cf_free(mask);
    }
}

cf_status cf_mask_fill(cf_mask *mask, uint32_t *bits, size_t n_words, cf_error *err)
{
    CF_TRY(may(mask, err));
    if (bits == NULL || n_words != mask->n_words) {
        return cf_fail(err, CF_EINVAL, "the mask has %zu words, not %zu", mask->n_words, n_words);
    }
    return cf_constraint_mask(mask->position, bits, err);
}

cf_status cf_mask_take(cf_mask *mask, int32_t id, cf_error *err)
{
    CF_TRY(may(mask, err));
    return cf_constraint_token(mask->position, id, err);
}

void cf_mask_back(cf_mask *mask, size_t n)
{
    cf_error ignored;
    if (may(mask, &ignored) == CF_OK) {
        cf_constraint_rollback(mask->position, n);
    }
}

bool cf_mask_may_end(const cf_mask *mask)
{
    return mask != NULL && cf_constraint_may_end(mask->position);
}
