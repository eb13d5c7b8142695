/*
 * split.h - cutting normalised text into the pieces that a model's vocabulary
 * is applied to, as tokenizer.json lists the steps under "pre_tokenizer".
 *
 * Threads:  a step is constant; a cf_splitting belongs to one thread.
 */
#ifndef CF_CORE_TOKEN_SPLIT_H
#define CF_CORE_TOKEN_SPLIT_H

#include "core/token/aligned.h"
#include "core/token/pattern.h"

enum { CF_SPLIT_STEPS_MAX = 32 };

typedef enum cf_split_kind {
    CF_SPLIT_PATTERN,
    CF_SPLIT_WHITE,        /* at each white space character */
    CF_SPLIT_PUNCT,        /* at each punctuation character */
    CF_SPLIT_NUMERIC,      /* at each numeric character */
    CF_SPLIT_CHAR,         /* at each character `cp` */
    CF_SPLIT_WORDS,        /* runs of word characters, runs of signs */
    CF_SPLIT_METASPACE,    /* spaces become `text`; then before each `text` */
    CF_SPLIT_PREFIX_SPACE, /* a space in front where there is none */
    CF_SPLIT_LETTERS       /* bytes become GPT-2's letters */
} cf_split_kind;

/* The treatment of the matches, "Removed" ... in the file. */
typedef enum cf_split_behavior {
    CF_SPLIT_REMOVED,
    CF_SPLIT_ISOLATED,
    CF_SPLIT_WITH_PREVIOUS,
    CF_SPLIT_WITH_NEXT,
    CF_SPLIT_CONTIGUOUS
} cf_split_behavior;

typedef enum cf_prepend {
    CF_PREPEND_NEVER,
    CF_PREPEND_ALWAYS,
    CF_PREPEND_FIRST /* only where the text begins */
} cf_prepend;

typedef struct cf_split_step {
    cf_split_kind kind;
    cf_split_behavior behavior;
    bool invert;        /* matches and what lies between change places */
    cf_pattern pattern; /* CF_SPLIT_PATTERN */
    uint32_t cp;        /* CF_SPLIT_CHAR */
    cf_str text;        /* CF_SPLIT_METASPACE, and these two */
    cf_prepend prepend;
    bool keep_whole;
} cf_split_step;

/* Gets a piece, which is never empty; returns CF_OK to go on. */
typedef cf_status (*cf_piece_fn)(void *ud, const cf_view *piece);

/* One walk over steps[0..n), and its scratch. */
typedef struct cf_splitting {
    const cf_split_step *steps;
    size_t n;
    void *match;                         /* of cf_pattern_new_match() */
    cf_rewrite edit[CF_SPLIT_STEPS_MAX]; /* results of steps that change text */
    size_t limit;                        /* bytes of such a result */
    cf_piece_fn fn;
    void *ud;
    cf_error *err;
} cf_splitting;

/* Frees the edits and the match. */
void cf_splitting_deinit(cf_splitting *s);

/* Calls s->fn for every piece of `text` in order.  CF_ENOMEM, CF_ELIMIT, or
 * what fn returned. */
CF_MUST_USE cf_status cf_split_text(cf_splitting *s, const cf_view *text);

/* The pattern by which "UnicodeScripts" cuts: runs of one script. */
CF_MUST_USE cf_status cf_split__scripts(cf_pattern *p, cf_error *err);

#endif
