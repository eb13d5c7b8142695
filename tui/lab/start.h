/*
 * start.h - what a workbench is started with: data that the command line
 * collects and the screen opens.
 *
 * Place in the flow:  command line --> [start] --> workbench (main.c joins
 * the two).
 *
 * Memory:   everything is borrowed and outlives the workbench.
 */
#ifndef CF_TUI_LAB_START_H
#define CF_TUI_LAB_START_H

#include "core/base/buf.h"
#include "tui/lab/lab.h"
#include "tui/sys/color.h"
#include "tui/sys/paths.h"
#include "tui/sys/trust.h"
#include "tui/sys/word_index.h"

/* Another model that was asked for: the workbench ends, and is started again
 * with it. */
typedef struct cf_next_model {
    cf_buf name;          /* as -m takes it; empty: none was asked for */
    cf_uuid conversation; /* to open again; nil: none */
} cf_next_model;

typedef struct cf_start {
    cf_lab_engine engine;
    cf_store *store; /* NULL: history is off */
    const cf_paths *paths;
    const char *conversation; /* UUID to open; NULL: none */
    const char *system;       /* text or file of a system prompt; NULL: none */
    const char *exec;         /* answers calls; NULL: nothing */
    const char *mcp;          /* a file of tool servers; NULL: none */
    const char *const *fixed; /* [n_fixed] settings that confabrc leaves */
    size_t n_fixed;
    cf_color_when color;
    bool has_tools;  /* engine.tools replace those of `conversation` */
    bool has_demo;   /* engine.tools are the demonstration tools */
    bool is_bundled; /* the bundled model answers */
    bool is_kept;    /* mocks and commands of tools are kept */
    bool is_restricted;
    bool no_examples;
    bool shows_traffic;    /* begins with the exchanges of the proxy */
    const char *session;   /* a file of an agent to begin with; NULL: none */
    const char *model;     /* as -m names it; NULL: the bundled one, or none */
    cf_next_model *next;   /* NULL: the model cannot be changed */
    const cf_trust *trust; /* of addresses in files; NULL: of none */
    /* what confab_help finds besides the workbench's own tables */
    void (*find)(cf_word_index *index);
    cf_buf *problems; /* lines for the log, of what failed so far */
} cf_start;

#endif
