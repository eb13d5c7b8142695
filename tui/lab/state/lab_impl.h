/*
 * lab_impl.h - the workbench's inside, shared by lab*.c and
 * token_*.c.
 */
#ifndef CF_TUI_LAB_STATE_LAB_IMPL_H
#define CF_TUI_LAB_STATE_LAB_IMPL_H

#include "templates/open.h"
#include "templates/template.h"
#include "tui/lab/prompt/lab_lint.h"
#include "tui/lab/prompt/lab_prompt.h"
#include "tui/lab/reply/keep_reply.h"
#include "tui/lab/state/lab_task.h"
#include "tui/lab/talk/lab_constraint.h"
#include "tui/lab/talk/lab_conversation.h"
#include "tui/lab/talk/lab_send.h"
#include "tui/lab/talk/lab_system.h"
#include "tui/lab/talk/lab_template.h"
#include "tui/lab/talk/lab_undo.h"
#include "tui/lab/tools/lab_tools.h"

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

/* A template that was linted, or is. */
typedef struct cf_lab_linted {
    cf_buf source;
    bool is_made;
    uint64_t used; /* when, in calls */
    cf_arena arena;
    cf_lab_lint lint;
} cf_lab_linted;

enum { CF_LAB_LINTED = 4 };

/* Lints on a thread of its own, so that a long reply does not delay them. */
typedef struct cf_lab_linter {
    cf_runner runner;
    cf_lab_linted slot[CF_LAB_LINTED];
    cf_lab_linted *job; /* the thread's; NULL: none runs */
    uint64_t n_calls;
    bool has_options;
    cf_lint_options options;
    cf_buf bos, eos;
} cf_lab_linter;

enum { CF_LAB_UNDO_MAX = 100 };

typedef struct cf_lab_undo_step {
    cf_lab_undo_kind kind;
    cf_uuid conv, head;
    cf_buf name, source; /* of the template that was in use */
    bool has_file;
} cf_lab_undo_step;

struct cf_lab {
    cf_lab_engine engine;
    cf_store *store;
    cf_runner work;   /* sends and tasks */
    cf_runner reader; /* queries of the history */
    cf_conversation *conv;
    cf_uuid conv_id;
    bool conv_is_stored;
    cf_uuid cached;     /* the conversation of the last prompt that was sent, which
                       is the one in the cache; nil: none was */
    cf_uuid shown_only; /* an example that gets no messages; nil: none */
    bool is_live;       /* shown_only is so while another program writes in it */
    char title[80];

    /* The snapshot of `conv`, which is a thread's while it writes a reply:
     * what draws reads this and not the conversation. */
    cf_arena arena; /* path and turns */
    const cf_turn **path, **turns;
    size_t n_path, n_turns;
    cf_message_source *source; /* the messages that the path is sent as */
    size_t n_source;
    const json_t *system, *preface_system; /* of the path and of the preface;
                                              NULL: none */
    uint64_t generation;

    cf_reply live;      /* being written, or how the last one failed */
    cf_reply **replies; /* [n_replies], owned */
    size_t n_replies, cap_replies;
    cf_lab_job job;
    bool job_is_on;
    cf_error late;              /* of an end(), for the poll that called it */
    cf_reply_settings settings; /* of the replies to come */
    cf_lab_rule *rule;          /* likewise; NULL: none */
    cf_constraint_vocab *vocab; /* NULL: not needed yet.  The thread's while a
                                   send or a task runs */

    cf_lab_linter linter;
    cf_tool_desk desk;
    json_t *own_tools;   /* declarations in place of the first ones */
    cf_call_note *notes; /* [n_notes] */
    size_t n_notes, cap_notes;

    const char *first_name; /* the template it began with; borrowed */
    cf_str first_source;
    cf_template *own_tpl; /* the one in its place; NULL: none */
    cf_buf own_source;
    char own_name[256];

    cf_opened_adapters adapters; /* in place of the first ones */
    cf_adapter_use first_adapters[CF_ADAPTERS_MAX];
    size_t n_first_adapter;
    bool has_adapters; /* they were changed once, so the first are known */

    json_t *vars;                   /* template variables that the user set */
    json_t *vendor;                 /* settings.extra as an object; NULL: none */
    char vendor_text[CF_EXTRA_MAX]; /* what it was made of */
    cf_buf draft;
    json_t *draft_parts;   /* pictures and sounds with it; NULL: none */
    json_t *draft_message; /* both, as the prompt has them; NULL: none */
    cf_arena prompt_arena;
    cf_prompt_model prompt;
    bool prompt_is_fresh, prompt_is_shown;
    cf_lab_ours prompt_ours; /* beside the server's */
    json_t *server_slots;    /* with the server's prompt; NULL: none */
    cf_error prompt_err;
    cf_media_sheet sheet; /* of the prompt; n 0: none yet */
    cf_arena loss_arena;
    cf_lab_loss *loss; /* [n_loss], of the path of `loss_generation` */
    size_t n_loss, cap_loss;
    uint64_t loss_generation;
    bool losses_are_fresh;

    cf_lab_undo_step undo[CF_LAB_UNDO_MAX];
    size_t n_undo;

    cf_uuid mark[2];
    cf_uuid *ticked; /* [n_ticked], owned */
    size_t n_ticked, cap_ticked;
};

/* Takes the turns of the conversation for the views; not while a job runs. */
cf_status cf_lab__snapshot(cf_lab *lab, cf_error *err);

/* cf_lab_set_template() without a step of undo. */
CF_MUST_USE cf_status cf_lab__set_template(cf_lab *lab, const char *name, cf_str source,
                                           cf_error *err);
void cf_lab__undo_deinit(cf_lab *lab);

/* The record of a reply, made when there is none; NULL when memory
 * ran out. */
cf_reply *cf_lab__reply_of(cf_lab *lab, cf_uuid turn, bool make);
void cf_lab__free_replies(cf_lab *lab);

/* A new, empty conversation with the session's tools. */
cf_status cf_lab__fresh_conversation(cf_lab *lab, cf_error *err);

void cf_lab__linter_init(cf_lab *lab);
void cf_lab__linter_deinit(cf_lab *lab);

/* Keeps a turn in the history; with its run and calls where it is a copy of
 * `from` (nil: it is none). */
void cf_lab__store_copy(cf_lab *lab, const cf_turn *turn, cf_uuid from);

cf_lab_rule *cf_lab__rule_hold(cf_lab_rule *rule);
/* The constraint of a stored run, not compiled.  NULL when it had none, it is
 * not known here, or memory ran out. */
cf_lab_rule *cf_lab__rule_stored(const cf_store_run *run);
cf_status cf_lab__rule_compile(cf_lab_rule *rule, cf_error *err);
void cf_lab__rule_drop(cf_lab_rule *rule);
/* Constrains a send's reply, where the workbench has a constraint. */
cf_status cf_lab__use_rule(cf_lab *lab, cf_lab_job *job, cf_error *err);
/* Makes the vocabulary for constraints, once; takes a tenth of a second. */
cf_status cf_lab__need_vocab(cf_lab *lab, cf_error *err);

/* Whether the prompt in the cache is of another conversation: what it loses is
 * no loss of this one. */
bool cf_lab__cache_is_other(const cf_lab *lab);

/* Template variables and options of the next turn. */
cf_turn_options cf_lab__options(cf_lab *lab);

/* On the send's thread: begins a reply in the history, and makes the job's
 * constraint ready.  lab_send.c */
void cf_lab__begin_stored(cf_lab *lab, cf_lab_job *job, const cf_send *send, cf_keep_reply *keep);
CF_MUST_USE cf_status cf_lab__ready_rule(cf_lab *lab, cf_lab_job *job, cf_error *err);

#endif
