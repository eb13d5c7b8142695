/*
 * study_case.h - one reply of a conversation with everything that it was an
 * answer to: the object of every experiment.
 *
 * Place in the flow:  a conversation and a turn --> [case] --> messages, tools
 *                     and variables that can be changed, and the reply's bytes.
 * Knows: how a conversation becomes a context, how a context is rendered.
 * Does not know: which changes are tried.
 *
 * Threads:  one thread at a time.
 * Memory:   a case owns its JSON and its arena.
 */
#ifndef CF_TUI_STUDY_ASK_STUDY_CASE_H
#define CF_TUI_STUDY_ASK_STUDY_CASE_H

#include "core/api/conversation.h"
#include "storage/store.h"
#include "templates/open.h"
#include "templates/prompt_part.h"
#include "tui/lab/reply/recorded.h"

/* What renders and answers; borrowed from a cf_opened or the workbench. */
typedef struct cf_study_engine {
    cf_backend *backend;
    const cf_tokenizer *tok; /* NULL: none */
    const cf_engine *engine; /* NULL: not a model file */
    cf_tool_family family;
    const cf_role_map *roles;
    cf_str template_source;
} cf_study_engine;

/* Backend, tokenizer, engine and family of `o`. */
cf_study_engine cf_study_engine_of(const cf_opened *o);

/* An engine of the workbench, changed to the template of a run. */
typedef struct cf_study_own {
    cf_backend *backend;
    cf_template *tpl;
    cf_role_map roles;
} cf_study_own;

/*
 * Gives `engine` the template that the run recorded, with its roles and its
 * family of calls, on a clone of its backend that `own` holds.  Does nothing
 * where the engine has that template, where none was recorded, and for a server,
 * which has its own.  *own is zeroed.  CF_EFORMAT for a template that cannot be compiled,
 * CF_ENOMEM.
 */
CF_MUST_USE cf_status cf_study_own_init(cf_study_own *own, cf_study_engine *engine,
                                        const cf_recorded *was, cf_error *err);
void cf_study_own_deinit(cf_study_own *own);

typedef struct cf_study_case {
    cf_arena arena;
    cf_uuid conversation, turn; /* of the reply; nil: none */
    json_t *messages;           /* array, before the reply; roles mapped */
    json_t *tools;              /* array in OpenAI's form; NULL: none */
    json_t *extra;              /* object; NULL: none */
    cf_str reply;               /* bytes; empty: no reply */
    bool is_written;            /* the reply's calls were written out again */
    const cf_token *ids;        /* [n_ids] the reply's own tokens, where the same
                            model wrote it */
    size_t n_ids;
    json_t *message; /* the reply as a message; NULL: none */
    cf_recorded was; /* the conditions of its run; empty: nothing was recorded */
} cf_study_case;

void cf_study_case_init(cf_study_case *c);
void cf_study_case_deinit(cf_study_case *c);

/*
 * Fills a case from the path to the conversation's head.  `turn` names the
 * reply: NULL or "" is the last assistant message of the path, a number the
 * message with that index (from 0, as in a prompt), else a UUID or a part of
 * one.  CF_ENOTFOUND when there is no such reply; CF_EUNSUPPORTED when the
 * reply has calls and the family cannot write them; CF_ENOMEM.
 */
CF_MUST_USE cf_status cf_study_case_of(cf_study_case *out, const cf_conversation *conv,
                                       const cf_study_engine *engine, const char *turn,
                                       cf_error *err);

/*
 * Takes the conditions of the reply's run out of the history: tools, variables
 * and thinking replace those of the conversation, the constraint is compiled,
 * and the reply's own tokens come with them where the engine's model wrote it.  Does nothing where nothing
 * was recorded.  Errors of cf_recorded_load().
 */
CF_MUST_USE cf_status cf_study_case_record(cf_study_case *c, cf_store *store,
                                           const cf_study_engine *engine, cf_error *err);

/* Both for a saved conversation, or the path to a saved turn. */
CF_MUST_USE cf_status cf_study_case_load(cf_study_case *out, cf_store *store,
                                         const cf_study_engine *engine, const char *uuid,
                                         const char *turn, cf_error *err);

/* What the history has of the reply that `turn` names, in the arena; out->run
 * is NULL where no run is kept.  CF_ENOTFOUND as cf_study_case_of(). */
CF_MUST_USE cf_status cf_study_case_turn(cf_store_turn *out, cf_store *store, const char *uuid,
                                         const char *turn, cf_arena *arena, cf_error *err);

/* A case without a reply: the whole path to the head (or to the turn that
 * `uuid` names), as it would be sent under the conditions of its newest reply. */
CF_MUST_USE cf_status cf_study_case_whole(cf_study_case *out, cf_store *store,
                                          const cf_study_engine *engine, const char *uuid,
                                          cf_error *err);

static inline cf_part_context cf_study_context_of(const cf_study_case *c)
{
    return (cf_part_context){c->messages, c->tools, c->extra, c->was.options.as_is};
}

/* How a prompt stands to the one that the run recorded. */
typedef enum cf_prompt_match {
    CF_PROMPT_NONE,     /* nothing was recorded */
    CF_PROMPT_RECORDED, /* the same tokens; the same bytes where no tokens are known */
    CF_PROMPT_OTHER
} cf_prompt_match;

/* "none", "recorded", "other" */
const char *cf_prompt_match_name(cf_prompt_match match);

/* Compares a prompt with the recorded one; `tokens` NULL: its tokens are not
 * known.  `why` (may be NULL) gets a line for one that differs, and for one of
 * which nothing was recorded. */
cf_prompt_match cf_study_case_match(const cf_study_case *c, const cf_prompt *prompt,
                                    const cf_token_list *tokens, cf_buf *why);

/* The context as an object with messages, tools and variables; a new
 * reference, NULL when memory ran out. */
json_t *cf_study_context_json(const cf_part_context *context);

#endif
