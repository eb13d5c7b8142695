/*
 * channel.h - stretches of a reply that are not its content, such as
 * thinking, and taking them apart while the reply streams.
 *
 * Place in the flow:  reply bytes --> [channels] --> content --> tool parser.
 * Knows: delimiters.  Does not know: calls, messages, engines.
 *
 * Threads:  no shared state; a split belongs to one thread.
 * Memory:   channels are constant or the caller's; a split owns what it holds
 *           back, released by cf_channel_split_deinit().
 */
#ifndef CF_CORE_API_CHANNEL_H
#define CF_CORE_API_CHANNEL_H

#include "core/base/buf.h"
#include "core/base/decls.h"
#include "core/base/status.h"
#include "core/base/str.h"

CF_BEGIN_DECLS

typedef struct cf_channel {
    cf_str name;       /* "thinking" */
    cf_str start, end; /* delimiters */
    bool at_start;     /* opens only before any content of the reply */
    size_t kept;       /* bytes of start that stay content: the end of what was before */
    bool keeps_end;    /* the end stays content, too */
} cf_channel;

typedef struct cf_channel_set {
    const cf_channel *v;
    size_t n;
} cf_channel_set;

/* The channels of a model, by marks in its chat template: <think> of Qwen and
 * most others, Gemma 4's <|channel>thought, harmony's analysis ...  The first
 * is thinking.  Constant; *n is set, 0 when the template has none. */
const cf_channel *cf_channels_detect(cf_str chat_template, size_t *n);

/* ---- splitting ---------------------------------------------------------- */

/* Receives a piece of channel `channel` (an index; of several with the same
 * name the first) or, with the number of channels, of the content. */
typedef cf_status (*cf_channel_fn)(void *ud, size_t channel, cf_str text, cf_error *err);

enum { CF_CHANNEL_STOPS_MAX = 32 };

/*
 * A model may begin a call without ending its thinking.  Only the end of the
 * reply shows that: from a mark in `stop` on an open channel's bytes wait, and
 * become content when its end does not come.  A delimiter that opens an open
 * channel again before anything else, or closes one at the start of a reply
 * that opened none, belongs to neither.
 */
typedef struct cf_channel_split {
    const cf_channel *channels;
    size_t n;
    size_t open;      /* the open channel, or n */
    bool has_begun;   /* content came that is not white space */
    bool has_thought; /* the same of the open channel; true of a prompt's */
    bool waits;       /* held begins with a mark of `stop` */
    size_t looked;    /* bytes of held in which no delimiter begins */
    cf_buf held;      /* may be the start of a delimiter */
    size_t lead;      /* its first bytes are the prompt's */
    size_t total;     /* bytes added; a piece begins at total - held.n */
    cf_channel_fn fn;
    bool (*may_open)(void *ud); /* NULL: always */
    void *ud;
    cf_str stop[CF_CHANNEL_STOPS_MAX]; /* cf_tool_family_stops() */
    size_t n_stop;
} cf_channel_split;

void cf_channel_split_init(cf_channel_split *s, const cf_channel *channels, size_t n,
                           cf_channel_fn fn, void *ud);
void cf_channel_split_deinit(cf_channel_split *s);

/* Whether channel `i`, or another of its name, is open. */
bool cf_channel_split_is_in(const cf_channel_split *s, size_t i);

/* The prompt, or its end, may leave a channel open: the reply starts in it.  It
 * may also end inside the delimiter that opens one: the reply continues with the
 * rest of it. */
void cf_channel_split_prompt(cf_channel_split *s, cf_str prompt);

/* Passes bytes on; those that may belong to a delimiter wait.  Errors of the
 * function, CF_ENOMEM. */
CF_MUST_USE cf_status cf_channel_split_add(cf_channel_split *s, cf_str text, cf_error *err);
/* Passes on what waited. */
CF_MUST_USE cf_status cf_channel_split_finish(cf_channel_split *s, cf_error *err);

CF_END_DECLS

#endif
