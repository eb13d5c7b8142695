/*
 * reply_options.h - every option of a reply, as one table: its name, kind,
 * range, effect, and its names in requests to servers.
 *
 * Place in the flow:  command line, confabrc, ":set" --> [options] -->
 *                     cf_chat_options --> built-in engine or server.
 * Knows: the fields of cf_chat_options.  Does not know: where a value came
 * from, who draws with it.
 *
 * Threads:  constants.
 * Memory:   constants.
 */
#ifndef CF_CORE_API_REPLY_OPTIONS_H
#define CF_CORE_API_REPLY_OPTIONS_H

#include "core/api/backend.h"
#include "core/base/decls.h"

CF_BEGIN_DECLS

typedef enum cf_option_kind {
    CF_OPTION_F32,
    CF_OPTION_U32,
    CF_OPTION_SEED,  /* uint64_t */
    CF_OPTION_BIAS,  /* sampling.bias */
    CF_OPTION_TOKENS /* sampling.suppress */
} cf_option_kind;

/* In the order of the table. */
typedef enum cf_option_id {
    CF_OPTION_TEMPERATURE,
    CF_OPTION_TOP_K,
    CF_OPTION_TOP_P,
    CF_OPTION_MIN_P,
    CF_OPTION_REPETITION_PENALTY,
    CF_OPTION_PRESENCE_PENALTY,
    CF_OPTION_FREQUENCY_PENALTY,
    CF_OPTION_PENALTY_WINDOW,
    CF_OPTION_NO_REPEAT_NGRAM,
    CF_OPTION_NO_REPEAT_WINDOW,
    CF_OPTION_LOGIT_BIAS,
    CF_OPTION_SUPPRESS,
    CF_OPTION_SEED_VALUE,
    CF_OPTION_N
} cf_option_id;

typedef struct cf_option {
    const char *name; /* "top_k"; "--top-k" on the command line */
    cf_option_kind kind;
    size_t offset;     /* in cf_chat_options */
    double min, max;   /* F32: the values allowed, NaN never is */
    const char *range; /* the same in words, for the error */
    const char *value; /* the placeholder of the value in a help text */
    const char *help;
    const char *wire[2]; /* names in a request to a server, none: a server
                            cannot do it */
} cf_option;

extern const cf_option cf_options[CF_OPTION_N];

/* Whether the user set the option: options->asked says so, and where it is
 * not kept (has_asked false) everything that differs from off. */
bool cf_option_is_asked(const cf_chat_options *options, cf_option_id id);

/*
 * Sets the option `name` ('-' counts as '_') from text, and marks it as set by
 * the user.  CF_EINVAL, with the range, for a value outside it; CF_ENOTFOUND
 * for an unknown name; CF_EUNSUPPORTED for lists, which are arrays of
 * cf_sampling.
 */
CF_MUST_USE cf_status cf_option_set(cf_chat_options *options, const char *name, const char *value,
                                    cf_error *err);

/* Reads a whole number from 0 to `max`; `name` is for the error. */
CF_MUST_USE cf_status cf_option_read_u32(uint32_t *out, const char *name, const char *value,
                                         uint32_t max, cf_error *err);

/* The value of a numeric option. */
double cf_option_number(const cf_chat_options *options, cf_option_id id);

CF_END_DECLS

#endif
