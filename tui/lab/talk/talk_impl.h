/*
 * talk_impl.h - the conversation in a lab with its replies, and what the files
 * of this folder share.
 *
 * Private to tui/lab/talk; lab.c opens and closes it.
 */
#ifndef CF_TUI_LAB_TALK_TALK_IMPL_H
#define CF_TUI_LAB_TALK_TALK_IMPL_H

#include "templates/open.h"
#include "templates/template.h"
#include "tui/lab/reply/keep_reply.h"
#include "tui/lab/reply/lab_reply.h"
#include "tui/lab/reply/reply_rule.h"
#include "tui/lab/state/lab_impl.h"
#include "tui/lab/talk/undo_stack.h"

typedef struct cf_lab_job {
    cf_lab *lab;
    cf_lab_rule *rule; /* held; NULL: none */
    cf_uuid parent;
    cf_uuid old_head; /* shown again when a sibling comes to nothing */
    bool is_sibling;
    bool finds_other; /* the cache held another conversation at the start */
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
    struct cf_lab_sides *sides; /* owned; NULL: one reply */
} cf_lab_job;

/* The turns of the conversation, which is a thread's while it writes a reply:
 * what draws reads this and not the conversation. */
typedef struct cf_lab_snapshot {
    cf_arena arena; /* of the arrays */
    const cf_turn **path, **turns;
    size_t n_path, n_turns;
    cf_message_source *source; /* the messages that the path is sent as */
    size_t n_source;
    const json_t *system, *preface_system; /* of the path and of the preface;
                                              NULL: none */
} cf_lab_snapshot;

/* The template in use. */
typedef struct cf_lab_own_template {
    const char *first_name; /* the template it began with; borrowed */
    cf_str first_source;
    cf_template *own; /* the one in its place; NULL: none */
    cf_buf source;
    char name[256];
} cf_lab_own_template;

typedef struct cf_lab_adapter_choice {
    cf_opened_adapters opened; /* in place of the first ones */
    cf_adapter_use first[CF_ADAPTERS_MAX];
    size_t n_first;
    bool has_first; /* they were changed once, so the first are known */
} cf_lab_adapter_choice;

enum { CF_LAB_UNDO_MAX = 100 };

typedef struct cf_lab_undo_step {
    cf_lab_undo_kind kind;
    cf_uuid conv, head;
    cf_buf name, source; /* of the template that was in use; or the line that takes
                            it back, and the one that was given */
    bool has_file;
} cf_lab_undo_step;

typedef struct cf_lab_undo_stack {
    cf_lab_undo_step step[CF_LAB_UNDO_MAX];
    size_t n;
} cf_lab_undo_stack;

/* What is left to ask on a branch that runs again; of lab_again.c. */
typedef struct cf_lab_again_queue {
    json_t *left;       /* messages, owned; NULL: none */
    cf_uuid conv, last; /* the conversation, and the message sent last */
} cf_lab_again_queue;

typedef struct cf_lab_talk {
    cf_conversation *conv;
    cf_uuid conv_id;
    bool is_stored;
    uint64_t n_opened;  /* conversations, this one included */
    cf_uuid cached;     /* the conversation of the last prompt that was sent, which
                       is the one in the cache; nil: none was */
    cf_uuid shown_only; /* an example that gets no messages; nil: none */
    bool is_live;       /* shown_only is so while another program writes in it */
    char title[80];
    cf_lab_snapshot snapshot;

    cf_reply live;      /* being written, or how the last one failed */
    cf_reply **replies; /* [n_replies], owned */
    size_t n_replies, cap_replies;
    cf_lab_job job;

    cf_lab_rule *rule;              /* of the replies to come; NULL: none */
    cf_constraint_vocab *vocab;     /* NULL: not needed yet.  The thread's while a
                                   send or a task runs */
    json_t *own_tools;              /* declarations in place of the first ones */
    json_t *vars;                   /* template variables that the user set */
    json_t *vendor;                 /* settings.extra as an object; NULL: none */
    char vendor_text[CF_EXTRA_MAX]; /* what it was made of */
    cf_lab_own_template tpl;
    cf_lab_adapter_choice adapters;
    cf_lab_undo_stack undo, redo;
    cf_lab_again_queue again;
} cf_lab_talk;

/* An empty conversation, and everything back. */
CF_MUST_USE cf_status cf_lab_talk_open(cf_lab *lab, cf_error *err);
void cf_lab_talk_close(cf_lab *lab);

/* Takes the turns of the conversation for the views; not while a job runs. */
cf_status cf_lab__snapshot(cf_lab *lab, cf_error *err);

/* cf_lab_set_template() without a step of undo. */
CF_MUST_USE cf_status cf_lab__set_template(cf_lab *lab, const char *name, cf_str source,
                                           cf_error *err);
void cf_lab__undo_deinit(cf_lab *lab);
void cf_lab__again_deinit(cf_lab *lab);
void cf_lab__forget_step(cf_lab_undo_step *step);
/* Puts a step on top, which the stack owns then; the lowest goes where it is
 * full. */
void cf_lab__push_step(cf_lab_undo_stack *stack, const cf_lab_undo_step *step);

/* The record of a reply, made when there is none; NULL when memory
 * ran out. */
cf_reply *cf_lab__reply_of(cf_lab *lab, cf_uuid turn, bool make);

/* Keeps a turn in the history; with its run and calls where it is a copy of
 * `from` (nil: it is none). */
void cf_lab__store_copy(cf_lab *lab, const cf_turn *turn, cf_uuid from);
/* On the send's thread: begins a reply in the history. */
void cf_lab__begin_stored(cf_lab *lab, cf_lab_job *job, const cf_send *send, cf_keep_reply *keep);

/* Constrains a send's reply, where the lab has a constraint; and on the send's
 * thread makes the vocabulary for it. */
cf_status cf_lab__use_rule(cf_lab *lab, cf_lab_job *job, cf_error *err);
CF_MUST_USE cf_status cf_lab__ready_rule(cf_lab *lab, cf_lab_job *job, cf_error *err);

#endif
