/*
 * probe.h - conversations made to be rendered, and what came of them.
 *
 * Every text in a probe is a word that occurs nowhere else, so that finding
 * it in the output tells that its field was shown.
 */
#ifndef CF_TEMPLATES_LINT_PROBE_H
#define CF_TEMPLATES_LINT_PROBE_H

#include "templates/template_lint.h"

#define CF_PROBE_SYSTEM    "Sysprobe be brief"
#define CF_PROBE_USER      "Userprobe what is it"
#define CF_PROBE_USER2     "Secondprobe and then"
#define CF_PROBE_USER3     "Thirdprobe tell more"
#define CF_PROBE_ASSISTANT "Replyprobe it is so"
#define CF_PROBE_THOUGHT   "Thoughtprobe let me see"
#define CF_PROBE_RESULT    "Resultprobe 21 degrees"
#define CF_PROBE_TOOL      "probe_weather"
#define CF_PROBE_ARGUMENT  "Osloprobe"
#define CF_PROBE_ID        "callprob1"

/* Letters of a conversation: each adds a message.
 *   s system   d developer   u U V user (three texts)   a assistant
 *   r assistant with reasoning   c assistant that calls a tool
 *   C the same with text and reasoning   j call with arguments as a string
 *   n call with content null   k call without content   m two calls
 *   t tool result   p user, content as parts   x user, content null
 *   o message of an unknown role */
typedef enum cf_probe_flags {
    CF_PROBE_GENERATE = 1, /* add_generation_prompt */
    CF_PROBE_TOOLS = 2,    /* tools: one declaration */
    CF_PROBE_THINK = 4,    /* enable_thinking: true */
    CF_PROBE_NO_THINK = 8, /* enable_thinking: false */
    CF_PROBE_BARE = 16     /* no optional variable at all */
} cf_probe_flags;

/* One render. */
typedef struct cf_shot {
    json_t *context; /* owned */
    cf_status status;
    cf_error err;
    cf_render render; /* valid while status is CF_OK */
} cf_shot;

typedef struct cf_prober {
    const cf_template *tpl;
    const cf_lint_options *options;
    cf_arena *arena;
} cf_prober;

/* Renders the conversation that `letters` spell.  CF_ENOMEM only; a template
 * that fails is told in out->status.  The caller frees the shot. */
CF_MUST_USE cf_status cf_probe(const cf_prober *p, const char *letters,
                               unsigned flags, cf_shot *out, cf_error *err);
void cf_shot_free(cf_shot *shot);

/* Whether the render holds a word, and where. */
bool cf_shot_has(const cf_shot *shot, const char *word);
size_t cf_shot_find(const cf_shot *shot, const char *word); /* SIZE_MAX */

/* The span that covers a byte; NULL when there is none. */
const cf_prompt_span *cf_shot_span(const cf_shot *shot, size_t off);

/* Whether it failed through raise_exception: refused, not crashed. */
bool cf_shot_is_refused(const cf_shot *shot);

#endif
