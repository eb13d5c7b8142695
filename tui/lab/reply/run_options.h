/*
 * run_options.h - everything that determined the tokens of a reply, to and from the
 * JSON object that the store keeps in run.options.
 *
 * Values keep all their bits in the text.  Missing members read as off; unknown members
 * are ignored.
 */
#ifndef CF_TUI_LAB_REPLY_RUN_OPTIONS_H
#define CF_TUI_LAB_REPLY_RUN_OPTIONS_H

#include "core/api/backend.h"

typedef struct cf_run_options {
    cf_sampling sampling; /* the seed is not among them: run.seed */
    bool has_sampling;    /* false: the engine's own, which are not known */
    uint32_t max_tokens;
    const cf_str *stop; /* [n_stop] */
    size_t n_stop;
    cf_thinking thinking;
    bool has_thinking_budget;
    int32_t thinking_budget;
    uint32_t n_ctx;         /* 0: unknown */
    cf_cache_type cache;    /* default: unknown */
    size_t n_start;         /* ids at the start of the reply that were given */
    size_t start_bytes;     /* their bytes of the raw reply */
    size_t start_content;   /* of these the last ones, not thinking */
    const uint32_t *forced; /* [n_forced] indices into the reply's ids, rising:
                               not drawn, but put there */
    size_t n_forced;
    const uint32_t *held; /* [n_held] from, to, from, to ...: stretches of the
                             reply's ids that the constraint took */
    size_t n_held;
    const uint32_t *drafted; /* [n_drafted] likewise: stretches that were guessed
                                and computed with an earlier token */
    size_t n_drafted;
    bool as_is;      /* messages reached the template as they are */
    cf_str extra;    /* JSON object: further arguments sent to a server */
    cf_str media;    /* JSON array: blocks of rows among the prompt's ids, as in
                      cf_chat_response */
    cf_str adapters; /* JSON array of {"path", "sha256", "scale"}, those with
                        scale 0 left out */
    cf_str steering; /* JSON array of {"path", "sha256", "scale", "first", "last"} */
    cf_str load_as;  /* what the weights were loaded as; empty: as they are */
    cf_str server;   /* JSON object: id, model, fingerprint ... of its answer */
} cf_run_options;

/* Appends "FILE x SCALE, ..." for such an array of adapters, or of steering,
 * ":A-B" after it where only these directions are added. */
void cf_run_options_adapters(cf_buf *out, cf_str adapters);

/* Appends the object. */
void cf_run_options_write(cf_buf *out, const cf_run_options *o);

/* Lists live in the arena.  CF_EFORMAT, CF_ENOMEM. */
CF_MUST_USE cf_status cf_run_options_read(cf_run_options *out, cf_str json, cf_arena *arena,
                                          cf_error *err);

#endif
