/*
 * report.h - one reply and everything that made it, as a file that can be
 * attached to a bug report: a page of HTML without scripts and without
 * addresses, Markdown, or a picture of a part.
 *
 * Place in the flow:  a conversation, its prompt, its stored run --> [facts]
 *                     --> [page], [markdown], [picture].
 * Knows: prompts, tokens, runs, calls.  Does not know: screens, commands,
 * files.
 *
 * Threads:  one thread; the backend must be idle.
 * Memory:   facts own what they found and borrow their source.
 */
#ifndef CF_TUI_STUDY_REPORT_REPORT_H
#define CF_TUI_STUDY_REPORT_REPORT_H

#include "core/api/engine.h"
#include "storage/store.h"
#include "templates/template_diff.h"
#include "tui/lab/prompt/prompt_model.h"
#include "tui/lab/reply/lab_reply.h"
#include "tui/lab/tools/tool_model.h"
#include "tui/study/influence/influence.h"
#include "tui/study/inside/inside_work.h"

/* Everything is borrowed and outlives the facts. */
typedef struct cf_report_source {
    const cf_conversation *conv;
    cf_uuid id;   /* of the conversation; nil: not stored */
    cf_str title; /* may be empty */
    cf_uuid turn; /* the reply; nil: the last one on the path to the head */
    cf_backend *backend;
    const cf_engine *engine;       /* NULL: not a model file */
    const cf_tokenizer *tokenizer; /* NULL: the engine hides its tokens */
    const cf_turn_options *options;
    const char *template_name;
    cf_str template_source;
    cf_tool_family family;
    cf_store *store;       /* for runs; may be NULL */
    const cf_reply *reply; /* NULL: from the stored run */
    bool reads;            /* a reply without probabilities is read by the model */
    /* Influence of messages, tools and sentences on the reply: what the store
     * has of it is used, the rest is computed.  Needs `roles`. */
    bool influences;
    bool looks; /* inside the model, where the engine is the built-in one */
    const cf_role_map *roles;
    cf_cancel *cancel;
} cf_report_source;

/* The source of the prompt's cache state. */
typedef enum cf_report_cache {
    CF_REPORT_CACHE_NONE,   /* not known */
    CF_REPORT_CACHE_RUN,    /* what the run found in its cache */
    CF_REPORT_CACHE_EARLIER /* what a session keeps that wrote the reply
                               before this one */
} cf_report_cache;

typedef struct cf_report_sibling {
    const cf_turn *turn;
    size_t place; /* of the path: the reply that it is a sibling of */
    cf_diff diff; /* from it to that reply */
} cf_report_sibling;

enum { CF_REPORT_SIBLINGS = 12 };

typedef struct cf_report_facts {
    cf_report_source from;
    cf_arena arena;
    const cf_turn **path; /* [n_path] from the first to the reply, or to the
                             head where there is none */
    size_t n_path;
    const cf_turn *turn;        /* the reply; NULL: none */
    cf_message_source *message; /* [n_message] of the prompt */
    size_t n_message;
    bool has_prompt;
    cf_error prompt_why; /* where there is none */
    cf_prompt_model prompt;
    cf_report_cache cache;
    cf_buf losses; /* a line each */
    bool has_run;
    cf_store_turn stored;
    cf_recorded was;         /* the conditions of the run */
    cf_study_own engine;     /* with its template, where that is another */
    cf_turn_options options; /* with its thinking, variables and tools */
    cf_tool_set *tools;
    cf_reply own; /* the record, where the source has none */
    const cf_reply *reply;
    bool is_read; /* its probabilities are those of the model at hand */
    cf_tool_model calls;
    cf_report_sibling sibling[CF_REPORT_SIBLINGS];
    size_t n_sibling;
    size_t n_more; /* that are not shown */
    size_t n_all;  /* replies to the turn that the reply answers */
    bool has_influence;
    cf_error influence_why; /* where it was asked for and there is none */
    cf_inside_work *inside; /* NULL: there is none, */
    cf_error inside_why;    /* and why, where it was asked for */
    cf_study_case study;
    cf_influence influence;
} cf_report_facts;

/* Gathers the facts.  A fact that is not available is left empty, and the page
 * says so.  CF_ENOTFOUND for a turn that is not there, CF_EINVAL for one that is not
 * a reply, CF_ENOMEM, CF_ECANCELLED. */
CF_MUST_USE cf_status cf_report_facts_init(cf_report_facts *f, const cf_report_source *from,
                                           cf_error *err);
void cf_report_facts_deinit(cf_report_facts *f);

typedef enum cf_report_part {
    CF_REPORT_ALL,
    CF_REPORT_CONVERSATION,
    CF_REPORT_PROMPT,
    CF_REPORT_REPLY,
    CF_REPORT_CALLS,
    CF_REPORT_DIFFERENCES,
    CF_REPORT_INFLUENCE,
    CF_REPORT_INSIDE
} cf_report_part;

/* "all", "conversation", "prompt" ...; false for any other name. */
bool cf_report_part_parse(cf_report_part *out, const char *name);
const char *cf_report_part_name(cf_report_part part);

/* "prompt", "reply" ...: appended as a list for messages. */
void cf_report_part_names(cf_buf *out);

/*
 * Appends the report in the form that the ending of `path` names: ".md" and
 * ".markdown" Markdown, ".svg" a picture, anything else HTML.  Of a picture
 * CF_REPORT_ALL is the reply, or the prompt where there is none.
 */
CF_MUST_USE cf_status cf_report_write(cf_buf *out, const cf_report_facts *f, cf_report_part part,
                                      const char *path, cf_error *err);

#endif
