/*
 * tokens.h - the inside of the Tokens view, shared by view_tokens.c (commands) and
 * tokens_panes.c (drawing).
 *
 * Threads:  the interface thread.
 */
#ifndef CF_TUI_VIEW_TOKENS_TOKENS_H
#define CF_TUI_VIEW_TOKENS_TOKENS_H

#include "tui/app/app.h"
#include "tui/lab/reply/lab_reply.h"
#include "tui/lab/tokens/token_study.h"
#include "tui/lab/tokens/token_worst.h"
#include "tui/view/kit/token_text.h"

typedef enum cf_tokens_focus {
    CF_ON_TOKENS,
    CF_ON_CANDIDATES,
    CF_ON_TREE,
    CF_ON_PLOT,
    CF_ON_WORST,
    CF_ON_COUNT
} cf_tokens_focus;

typedef enum cf_tokens_overlay {
    CF_HEAT_P,
    CF_HEAT_ENTROPY,
    CF_HEAT_MASS, /* what the model gave to what the constraint allowed */
    CF_HEAT_NONE,
    CF_HEAT_COUNT
} cf_tokens_overlay;

/* The pane that a narrow screen shows below the reply. */
typedef enum cf_tokens_page {
    CF_PAGE_CANDIDATES,
    CF_PAGE_CONSTRAINT,
    CF_PAGE_PATH,
    CF_PAGE_PLOT,
    CF_PAGE_WORST,
    CF_PAGE_COUNT
} cf_tokens_page;

typedef struct cf_tokens {
    cf_uuid turn;     /* the reply shown; nil: the newest */
    size_t token;     /* of the reply; past its end: the last */
    size_t candidate; /* of those in sight */
    size_t medium;    /* the picture or sound before the reply that the cursor
                         is on, counted from 1; 0: it is on a token */
    bool stays;       /* the next visit begins where this one ended */
    cf_tokens_focus focus;
    cf_tokens_overlay overlay;
    cf_tokens_page page;
    size_t worst;      /* row of the worst tokens */
    int plot_w;        /* cells of the plot, when it was drawn last */
    cf_uuid followed;  /* Chat's turn, next to it */
    bool has_logs;     /* probabilities as natural logarithms */
    bool by_post;      /* colours follow the probabilities after sampling */
    bool hides_masked; /* alternatives that the constraint removed */
    bool waits;        /* for the reply that "step-one" asked for */
    size_t top_row;
    cf_uuid marked; /* the reply of a span that was begun; nil: none */
    size_t mark;    /* its first token */
    bool has_tree;
    cf_token_tree tree;
    size_t branch, node;
    cf_token_study *study; /* NULL: none of the reply shown */
    cf_uuid studied;       /* the reply that was tried last */
    cf_error study_err;    /* why there is none; code CF_OK: not asked yet */
} cf_tokens;

/* What can be clicked. */
enum {
    CF_TOKENS_SPOT_TOKEN,
    CF_TOKENS_SPOT_CANDIDATE,
    CF_TOKENS_SPOT_BRANCH,
    CF_TOKENS_SPOT_PLOT,
    CF_TOKENS_SPOT_WORST,
    CF_TOKENS_SPOT_MEDIUM
};

cf_tokens *cf_tokens__state(cf_app *app);

/* Goes to the newest reply, or keeps the current one if `stays`. */
void cf_tokens__enter(cf_app *app);

/* Whether the token is between the cursor and where a span was begun. */
bool cf_tokens__is_marked(cf_app *app, cf_uuid turn, size_t token);

/* The candidates in sight: the best, and the chosen one where it is not among
 * them; how many there are. */
enum { CF_TOKENS_LISTED = CF_TRACE_TOP_MAX + 1 };
size_t cf_tokens__visible(const cf_tokens *s, const cf_draw *d,
                          const cf_candidate *out[CF_TOKENS_LISTED]);

/* A probability in at most five cells: "0.123", "4e-05", or its logarithm. */
enum { CF_P_TEXT = 12 };
void cf_tokens__p(const cf_tokens *s, double p, char out[CF_P_TEXT]);

/* ---- tokens_score.c ----------------------------------------------------- */

/* The reply that can be given tokens: the one that Chat's cursor is on, or the
 * newest; NULL: there is none without. */
const cf_turn *cf_tokens__unscored(cf_app *app);
void cf_tokens__score(cf_app *app);

/* ---- tokens_media.c ----------------------------------------------------- */

/* Pictures and sounds of the prompt before the reply are blocks before its
 * first token: rows that they take in a pane of h rows, and those rows. */
int cf_tokens__media_rows(cf_app *app, const cf_reply *reply, int h);
void cf_tokens__draw_media(cf_app *app, cf_grid *g, cf_rect r, const cf_reply *reply);

/* Moves the cursor among the blocks, onto them from the first token, or back
 * to it; false: the step is one among tokens. */
bool cf_tokens__step_medium(cf_app *app, const cf_reply *reply, long by);

/* The block under the cursor: a pane in place of alternatives, a line of its
 * cost and cache, and what the model gets of it; false: it is on none. */
void cf_tokens__medium_pane(cf_app *app, cf_grid *g, cf_rect r, const cf_reply *reply);
void cf_tokens__medium_cost(cf_app *app, const cf_reply *reply, cf_buf *out);
bool cf_tokens__open_medium(cf_app *app, const cf_reply *reply);

/* ---- tokens_plot.c ------------------------------------------------------ */

/* What the overlay says was lost. */
cf_token_loss cf_tokens__loss_kind(const cf_tokens *s);

/* Tokens that one column of a plot stands for. */
size_t cf_tokens__per_column(const cf_reply *reply, int width);
void cf_tokens__plot_title(const cf_tokens *s, const cf_reply *reply, int width, char out[96]);
void cf_tokens__draw_plot(cf_app *app, cf_grid *g, cf_rect r, const cf_reply *reply);
void cf_tokens__worst_title(const cf_worst *w, cf_token_loss kind, char out[128]);
void cf_tokens__draw_worst(cf_app *app, cf_grid *g, cf_rect r, const cf_reply *reply,
                           const cf_worst *w);

/* ---- tokens_panes.c ----------------------------------------------------- */

/* Rows that the reply needs, with its figures. */
int cf_tokens__reply_rows(cf_app *app, int width, const cf_reply *reply);

/* Panes without their boxes. */
void cf_tokens__draw_reply(cf_app *app, cf_grid *g, cf_rect r, const cf_reply *reply);
void cf_tokens__draw_candidates(cf_app *app, cf_grid *g, cf_rect r, const cf_reply *reply);
void cf_tokens__draw_path(cf_app *app, cf_grid *g, cf_rect r, const cf_reply *reply);
void cf_tokens__draw_tree(cf_app *app, cf_grid *g, cf_rect r);
void cf_tokens__draw_constraint(cf_app *app, cf_grid *g, cf_rect r, const cf_reply *reply);
void cf_tokens__draw_state(cf_app *app, cf_grid *g, cf_rect r, const cf_reply *reply);

#endif
