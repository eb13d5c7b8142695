/*
 * lab_impl.h - the inside of a lab: what all its parts use, and a pointer to the state
 * of each part, whose type only its folder knows.
 *
 * Private to tui/lab.
 */
#ifndef CF_TUI_LAB_STATE_LAB_IMPL_H
#define CF_TUI_LAB_STATE_LAB_IMPL_H

#include "core/base/task.h"
#include "tui/lab/state/lab_state.h"

struct cf_lab {
    cf_lab_engine engine;
    cf_store *store;
    cf_runner work;   /* sends and tasks */
    cf_runner reader; /* queries of the history */
    cf_runner lints;
    bool is_writing; /* a reply: the conversation and the engine are a thread's */
    cf_error late;   /* of an end(), for the poll that called it */
    uint64_t generation;
    cf_reply_settings settings; /* of the replies to come */
    struct {
        cf_uuid mark[2];
        cf_uuid *ticked; /* [n_ticked], owned */
        size_t n_ticked, cap_ticked;
        struct cf_lab_choice *choice; /* [n_choice], owned */
        size_t n_choice, cap_choice;
    } marks;

    struct cf_lab_talk *talk;        /* talk/talk_impl.h */
    struct cf_lab_prompt *prompt;    /* prompt/prompt_impl.h */
    struct cf_lab_linter *linter;    /* prompt/lab_lint.c */
    struct cf_lab_tool_notes *tools; /* tools/lab_tools.c */
};

#endif
