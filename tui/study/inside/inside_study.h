/*
 * inside_study.h - what the inside of a model says about the parts of a prompt:
 * where a position looked, what hiding each part changes, which layer and part
 * carries the difference between two prompts, how each layer ranked the rivals.
 *
 * Place in the flow:  a case --> core/api/inside.h --> [inside_study] -->
 *                     rows for a command, a view, a report.
 * Knows: parts and positions.  Does not know: screens, the command line.
 *
 * Attention says where a position looked; it is never a cause.  Hiding and
 * patching are.
 *
 * Threads:  one thread at a time; the case's cancel may be set from any.
 * Memory:   results live in the case's arena.
 */
#ifndef CF_TUI_STUDY_INSIDE_INSIDE_STUDY_H
#define CF_TUI_STUDY_INSIDE_INSIDE_STUDY_H

#include "tui/study/inside/inside_case.h"

/* ---- attention ---------------------------------------------------------- */

/* What the position gave to a part. */
typedef struct cf_inside_share {
    double share;         /* mean over all heads of all layers with attention */
    double most;          /* of one head, and which */
    uint32_t layer, head; /* of `most` */
    double *by_layer;     /* [n_layer] mean over a layer's heads */
} cf_inside_share;

typedef struct cf_inside_look {
    cf_inside_looks *layer; /* [n_layer] all weights */
    uint32_t n_layer;
    cf_inside_share *part; /* [c->n_part] */
    double rest;           /* given to no part */
} cf_inside_look;

CF_MUST_USE cf_status cf_inside_study_look(cf_inside_look *out, cf_inside_case *c, cf_error *err);

/* ---- hiding ------------------------------------------------------------- */

/* What comes at a position. */
typedef struct cf_inside_answer {
    double margin; /* logit(a) - logit(against), final ones */
    cf_token top[5];
    double p[5]; /* of top */
    double p_a;  /* of a */
} cf_inside_answer;

/* The answer under changes, NULL: as it is. */
CF_MUST_USE cf_status cf_inside_study_answer(cf_inside_answer *out, cf_inside_case *c,
                                             const cf_changes *changes, cf_error *err);

/* Looks that hide these positions from all later ones, in all layers; in the
 * case's arena. */
CF_MUST_USE cf_status cf_inside_study_hide(cf_inside_change **out, cf_inside_case *c,
                                           const cf_position_range *range, size_t n, cf_error *err);

typedef void (*cf_inside_fn)(void *ud, size_t n_done, size_t n_all);

/* (*out)[c->n_part]: each part hidden in turn. */
CF_MUST_USE cf_status cf_inside_study_without(cf_inside_answer **out, cf_inside_case *c,
                                              cf_inside_fn fn, void *ud, cf_error *err);

/* ---- tools -------------------------------------------------------------- */

/* Why the reply calls the tool that it calls, at the place where this one
 * parts from it. */
typedef struct cf_inside_choice {
    double margin; /* logit(called) - logit(this one) */
    bool flips;    /* hiding the declaration of the called one makes another
                      token the best there */
    cf_token id;   /* of the first token that differs */
} cf_inside_choice;

/* (*out)[c->n_tool + 1]; of the called tool itself: whether it flips anywhere.
 * The last one is no call: the best other token at the start of the reply. */
CF_MUST_USE cf_status cf_inside_study_tools(cf_inside_choice **out, cf_inside_case *c,
                                            cf_error *err);

/* ---- patching ----------------------------------------------------------- */

/*
 * A map layers x parts: how far the margin moves from what it is (0) to what it
 * is in `from` (1) when x_l of the part's positions is taken from there.  Parts
 * are those of `c` that `from` has too, aligned at their ends; the last row is
 * the position asked about.  The same tokens are asked about in both.
 */
typedef struct cf_inside_map {
    uint32_t first, n; /* layers l = first .. first + n - 1 */
    size_t n_row;      /* parts that both have, and one */
    size_t *part;      /* [n_row - 1] of c->part */
    double *v;         /* [n, n_row] */
    double margin, from_margin;
} cf_inside_map;

/* `layer` UINT32_MAX: all of them, 0 .. L. */
CF_MUST_USE cf_status cf_inside_study_patch(cf_inside_map *out, cf_inside_case *c,
                                            cf_inside_case *from, uint32_t layer, cf_inside_fn fn,
                                            void *ud, cf_error *err);

/* ---- lens --------------------------------------------------------------- */

/* A token in every layer. */
typedef struct cf_inside_rival {
    cf_token id;
    cf_str name;     /* what it stands for: a tool, "end of the turn"; or "" */
    uint32_t *rank;  /* [n_layer + 1], 0 the best */
    double *p;       /* [n_layer + 1] */
    uint32_t turned; /* the first layer from which on its rank is 0; UINT32_MAX:
                        it is not the best at the end */
} cf_inside_rival;

typedef struct cf_inside_layers {
    uint32_t n_layer;
    cf_token *top; /* [n_layer + 1] the best of each */
    double *p;     /* of it */
    cf_inside_rival *rival;
    size_t n_rival; /* the first is c->a, the second c->against; then the first
                       tokens of tools and of the end of the turn */
} cf_inside_layers;

CF_MUST_USE cf_status cf_inside_study_lens(cf_inside_layers *out, cf_inside_case *c, cf_error *err);

#endif
