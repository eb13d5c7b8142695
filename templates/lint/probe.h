/*
 * probe.h - made-up conversations, and what a template makes of them.
 *
 * Every text in a probe is a word that occurs nowhere else, so finding it in
 * the output proves that its field was written.
 *
 * Threads:  a prober belongs to one thread.
 * Memory:   each shot owns an arena of its own, given back by cf_shot_free;
 *           all shots alive together stay below CF_PROBE_MEMORY.
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
#define CF_PROBE_ARGUMENT2 "Bergenprobe"
#define CF_PROBE_ID        "callprob1" /* nine letters and digits */
#define CF_PROBE_ID_LONG   "call_probe_0001"

/* Letters of a conversation; each adds a message.
 *   s system   S system, content as parts   d developer
 *   u U V user (three texts)   p user, content as parts
 *   i user, an image part and text   x user, content null
 *   P user, two texts (the second and the third)   I A F the same with an
 *     image, a sound or a film between them
 *   a assistant   w the same after its thinking, in the content
 *   r assistant with reasoning_content   R reasoning   h thinking
 *   c assistant that calls a tool   C the same with text and reasoning
 *   j call with arguments as a string   n call with content null
 *   k call without content   m two calls   z call without id
 *   l call with a long id
 *   t tool result   T without id   L with the long id   b of the second call
 *   y result, content as parts   O result, content an object
 *   o message of an unknown role */
typedef enum cf_probe_flags {
    CF_PROBE_GENERATE = 1,  /* add_generation_prompt */
    CF_PROBE_TOOLS = 2,     /* tools: one declaration */
    CF_PROBE_THINK = 4,     /* enable_thinking: true */
    CF_PROBE_NO_THINK = 8,  /* enable_thinking: false */
    CF_PROBE_BARE = 16,     /* no optional variable at all */
    CF_PROBE_BARE_TOOL = 32 /* the declaration has a name only */
} cf_probe_flags;

/* The budget of one lint or one look at capabilities. */
enum { CF_PROBE_STEPS = 40 * 1000 * 1000, CF_PROBE_MEMORY = 128 << 20 };

/* One render. */
typedef struct cf_shot {
    json_t *context; /* owned */
    cf_arena arena;  /* of the render */
    cf_status status;
    cf_error err;
    cf_render render; /* valid while status is CF_OK */
    size_t memory;    /* taken from the prober's budget until freed */
} cf_shot;

typedef struct cf_prober {
    const cf_template *tpl;
    cf_str bos, eos; /* empty: "<s>" and "</s>" */
    cf_cancel *cancel;
    bool causes;    /* renders record their conditions */
    int64_t now;    /* of renders; 0: the clock */
    uint64_t steps; /* used by all renders so far */
    size_t memory;  /* held by live shots */
    bool is_spent;  /* a render reached a limit: nothing is rendered more */
    cf_error why;   /* is_spent: that render's error */
} cf_prober;

/*
 * Renders the conversation that `letters` spell.  A template that fails is
 * reported in out->status; the caller frees the shot with the same prober.
 * CF_ENOMEM, CF_ECANCELLED, and CF_ELIMIT once a render has reached a limit:
 * a caller that gets it stops probing.
 */
CF_MUST_USE cf_status cf_probe(cf_prober *p, const char *letters, unsigned flags, cf_shot *out,
                               cf_error *err);
/* The same for messages made elsewhere; takes `context` in every case. */
CF_MUST_USE cf_status cf_probe_context(cf_prober *p, json_t *context, cf_shot *out, cf_error *err);
/* An empty shot may be freed as well. */
void cf_shot_free(cf_prober *p, cf_shot *shot);

/* The spelling of the beginning and the end of a sequence. */
cf_str cf_probe_bos(const cf_prober *p);
cf_str cf_probe_eos(const cf_prober *p);

/* The place of a word in the render; SIZE_MAX without it. */
size_t cf_shot_find(const cf_shot *shot, const char *word);

/* Whether it failed through raise_exception: refused, not crashed. */
bool cf_shot_is_refused(const cf_shot *shot);

#endif
