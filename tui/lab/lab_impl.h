/*
 * lab_impl.h - the workbench's inside, shared by lab*.c, token_study.c and
 * token_tree.c.
 */
#ifndef CF_TUI_LAB_LAB_IMPL_H
#define CF_TUI_LAB_LAB_IMPL_H

#include "templates/template.h"
#include "tui/lab/keep_reply.h"
#include "tui/lab/lab.h"

/* News from the worker. */
typedef struct cf_lab_news {
    cf_chat_event_kind kind;
    char *text; /* [n], owned; NULL for none */
    size_t n;
    cf_reply_token token;
    uint64_t n_done, n_total;
    cf_token *start; /* [n_start] what the reply starts with, owned */
    size_t n_start, start_content;
    bool is_end;
    bool is_task; /* of a task: its item, or its end */
    void *item;
    void (*free_item)(void *item);
    cf_status status;
    cf_error err;
} cf_lab_news;

/* A constraint with its grammar; see lab_constraint.c. */
struct cf_lab_rule {
    unsigned n_users;
    json_t *spec;
    json_t *tools;       /* declarations for a spec of calls; may be NULL */
    cf_buf text;         /* of the spec */
    cf_grammar *grammar; /* NULL: not compiled yet */
    char label[96];
};

typedef struct cf_lab_job {
    cf_lab *lab;
    cf_lab_news *end;  /* made before it starts, posted by it */
    cf_lab_rule *rule; /* held; NULL: none */
    cf_uuid parent;
    cf_uuid old_head; /* shown again when a sibling comes to nothing */
    bool is_sibling;
    cf_send send;
    cf_turn_options options;
    char *prefix;        /* owned */
    cf_token *reply_ids; /* owned */
    cf_uuid reply_id;
    cf_uuid fork_of; /* nil: no fork */
    int64_t fork_token;
    uint32_t max_tokens; /* 0: as the settings say */
    cf_sent sent;
    cf_keep_reply keep;
} cf_lab_job;

/* A template that was looked over, or is. */
typedef struct cf_lab_looked {
    cf_buf source;
    bool is_made;
    uint64_t used; /* when, in calls */
    cf_arena arena;
    cf_lab_lint lint;
} cf_lab_looked;

enum { CF_LAB_LOOKED = 4 };

/* The doctor's own thread, so that a long reply does not keep it waiting. */
typedef struct cf_lab_doctor {
    cf_worker *worker; /* NULL until it is needed */
    cf_lab_looked slot[CF_LAB_LOOKED];
    cf_lab_looked *job; /* the worker's; NULL: none runs */
    uint64_t n_calls;
    int wake_fd; /* -1: none */
    cf_lint_options options;
    cf_buf bos, eos;
} cf_lab_doctor;

struct cf_lab {
    cf_lab_engine engine;
    cf_store *store;
    cf_worker *worker;
    cf_conversation *conv;
    cf_uuid conv_id;
    bool conv_is_stored;
    char title[80];

    cf_arena arena; /* path and turns of the snapshot */
    const cf_turn **path, **turns;
    size_t n_path, n_turns;
    uint64_t generation;

    cf_live live;
    cf_reply growing;   /* what is known of the live reply */
    cf_reply **replies; /* [n_replies], owned */
    size_t n_replies, cap_replies;
    cf_lab_job job;
    bool job_is_on;
    cf_lab_task task;
    cf_lab_news *task_end; /* made before it starts, posted by it */
    bool task_is_on;
    cf_worker *reader; /* NULL: nothing was read yet */
    cf_lab_task reading;
    cf_lab_news *reading_end;
    bool reading_is_on;
    int wake_fd;
    cf_reply_settings settings; /* of the replies to come */
    cf_lab_rule *rule;          /* likewise; NULL: none */
    cf_constraint_vocab *vocab; /* NULL: not needed yet.  The worker's while a
                                   job or a task runs */

    cf_lab_doctor doctor;
    cf_tool_desk desk;
    json_t *own_tools;   /* declarations that took the first ones' place */
    cf_call_note *notes; /* [n_notes] */
    size_t n_notes, cap_notes;

    const char *first_name; /* the template it began with; borrowed */
    cf_str first_source;
    cf_template *own_tpl; /* the one that took its place; NULL: none */
    cf_buf own_source;
    char own_name[256];

    json_t *vars; /* template variables a person set */
    cf_buf draft;
    cf_arena prompt_arena;
    cf_prompt_model prompt;
    bool prompt_is_fresh, prompt_is_shown;
    cf_error prompt_err;

    cf_uuid mark[2];
    cf_uuid *ticked; /* [n_ticked], owned */
    size_t n_ticked, cap_ticked;
};

/* Takes the turns of the conversation for the views; not while a job runs. */
cf_status cf_lab__snapshot(cf_lab *lab, cf_error *err);

/* The record of a reply, made when there is none; NULL when memory
 * ran out. */
cf_reply *cf_lab__reply_of(cf_lab *lab, cf_uuid turn, bool make);
void cf_lab__reply_clear(cf_reply *reply);

void cf_lab__free_news(void *news);

void cf_lab__doctor_init(cf_lab *lab);
void cf_lab__doctor_deinit(cf_lab *lab);
/* Takes what was found; true when there was something. */
bool cf_lab__doctor_poll(cf_lab *lab);
/* Waits until nothing is looked over. */
void cf_lab__doctor_settle(cf_lab *lab);

/* Takes what the reader has to say; true when something changed. */
bool cf_lab__poll_reader(cf_lab *lab, cf_error *err);

/* News of a task; after its end the worker is free again. */
void cf_lab__take_task_news(cf_lab *lab, cf_lab_news *news);
void cf_lab__end_job(cf_lab *lab);

cf_lab_rule *cf_lab__rule_hold(cf_lab_rule *rule);
/* A rule from what the store keeps; not compiled.  NULL when it is none that
 * is known here, or memory ran out. */
cf_lab_rule *cf_lab__rule_stored(const cf_store_run *run);
cf_status cf_lab__rule_compile(cf_lab_rule *rule, cf_error *err);
void cf_lab__rule_drop(cf_lab_rule *rule);
/* Holds a job's reply to the workbench's constraint, where there is one. */
cf_status cf_lab__use_rule(cf_lab *lab, cf_lab_job *job, cf_error *err);
/* Makes the vocabulary for constraints, once; takes a tenth of a second. */
cf_status cf_lab__need_vocab(cf_lab *lab, cf_error *err);

/* Template variables and options of the next turn. */
cf_turn_options cf_lab__options(cf_lab *lab);

#endif
