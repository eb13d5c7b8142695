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

/* Some heads: heads [first, end) of a layer, or all of all layers. */
typedef struct cf_inside_heads {
    bool is_some;
    uint32_t layer, first, end;
} cf_inside_heads;

/* "all", "LAYER", "LAYER.HEAD", "LAYER.FIRST-LAST"; heads past the layer's last
 * one are none.  CF_EINVAL, and for a layer without attention. */
CF_MUST_USE cf_status cf_inside_heads_read(cf_inside_heads *out, const cf_inside_look *look,
                                           const char *text, cf_error *err);

/* What these heads gave to a position: the mean over a layer's heads, then over
 * layers with attention. */
double cf_inside_given(const cf_inside_look *look, const cf_inside_case *c,
                       const cf_inside_heads *heads, size_t pos);

/* ---- hiding ------------------------------------------------------------- */

/* What comes at a position. */
typedef struct cf_inside_answer {
    double margin; /* logit(a) - logit(against), final ones */
    cf_token top[5];
    double p[5];                    /* of top */
    float logit[CF_INSIDE_WATCHED]; /* of c->watch */
} cf_inside_answer;

/* Reads one out of logits[n_vocab]. */
void cf_inside_study_read(cf_inside_answer *out, const cf_inside_case *c, const float *logits);

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

/* The way to another choice that changes the fewest tokens of the prompt: those
 * of the hidden part, of the declaration that is moved; steering changes none
 * and counts where no other way does it. */
typedef enum cf_inside_flip {
    CF_FLIP_NONE,
    CF_FLIP_DRAW, /* it was the best token already, and not drawn */
    CF_FLIP_HIDE,
    CF_FLIP_MOVE,
    CF_FLIP_STEER
} cf_inside_flip;

enum {
    CF_INSIDE_STEER_MAX = 64,   /* times a row of length 1 */
    CF_INSIDE_MOVES_MAX = 16384 /* tokens of the prompt times tools, up to which the
                                   declaration of each is moved */
};

/*
 * Why a tool was called or not, at the place where its call parts from what was
 * written.  It is made by a change when its token is then the best one there,
 * and the call's tokens before it are what they were; of a reply without a call,
 * when the best tokens then are a call of this tool.
 */
typedef struct cf_inside_choice {
    uint32_t at;
    cf_token id, written; /* of this choice, of what was written */
    cf_token name_id;     /* as in cf_inside_tool */
    double margin;        /* logit(id) - logit(written) */
    bool is_written;      /* what was called: its flips are to anything else */
    bool is_no_call;      /* likewise, at the first token of the call */
    bool is_moved;        /* moving its declaration was tried */
    size_t index;         /* of the declaration; SIZE_MAX: no call */
    size_t hide;          /* the smallest part without which it is made; n_part: none */
    size_t place;         /* among the declarations, first or last; SIZE_MAX: none */
    float k;              /* its output row times this, in every layer of that position;
                             0: none up to CF_INSIDE_STEER_MAX */
    cf_inside_flip least;
} cf_inside_choice;

/* (*out)[cf_inside_n_choice()]: of c->tool, then of no call where the reply
 * calls.  And (*without)[c->n_part] as above.  The declaration of tool `only` is
 * moved however long the prompt is; SIZE_MAX: of none. */
CF_MUST_USE cf_status cf_inside_study_choices(cf_inside_choice **out, cf_inside_answer **without,
                                              cf_inside_case *c, size_t only, cf_inside_fn fn,
                                              void *ud, cf_error *err);

/* In words what a way comes to: "without tool f", "steered by 4", "no single part". */
void cf_inside_flip_text(cf_buf *out, const cf_inside_case *c, const cf_inside_choice *v,
                         cf_inside_flip way);

/* The declarations with number i at another place; a new reference, NULL when
 * memory ran out. */
json_t *cf_inside_moved(const json_t *tools, size_t i, size_t place);

static inline size_t cf_inside_n_choice(const cf_inside_case *c)
{
    return c->n_tool + cf_inside_case_has_call(c);
}

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
