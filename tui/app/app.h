/*
 * app.h - the workbench: views over one conversation, keys, commands, modes.
 *
 * Place in the flow:  event -> key sequence -> command -> a view or the
 * conversation changes -> the changed parts are drawn into the grid.
 *
 * States (app.mode):
 *   NORMAL   keys are commands of the view
 *   INSERT   keys write in the view's text (composer)
 *   PREFILL  the same, on a reply that will be continued
 *   VISUAL   keys move the end of a selection
 *   COMMAND  keys write a ":" line
 *   SEARCH   keys write a "/" line
 *   ASK      keys answer a question of the view
 *
 * Rules:
 *   1. Everything that can be done is an entry of a cf_command table: it has
 *      a name for ":" lines, keys, and a line of help made from the table.
 *   2. A view draws only inside the rectangle it is given.
 *   3. Nothing here waits: work that takes long runs on the worker and
 *      reports through events.
 *
 * Threads:  the interface thread owns the app.
 */
#ifndef CF_TUI_APP_APP_H
#define CF_TUI_APP_APP_H

#include "core/api/conversation.h"
#include "core/base/uuid.h"
#include "tui/app/config/config.h"
#include "tui/app/config/keymap.h"
#include "tui/grid/grid.h"
#include "tui/lab/start.h"
#include "tui/term/term.h"
#include "tui/widget/edit.h"

typedef struct cf_app cf_app;
typedef struct cf_store cf_store;
typedef struct cf_lab cf_lab;
typedef struct cf_demo cf_demo;
typedef struct cf_thumbs cf_thumbs;
typedef struct cf_tool_servers cf_tool_servers;

/* All views.  A row (ID, name) makes the id CF_VIEW_ID, and names the view's
 * table, cf_view_name. */
/* clang-format off */
#define CF_VIEWS(X) \
    X(CHAT, chat) \
    X(PROMPT, prompt) \
    X(TOKENS, tokens) \
    X(TOOLS, tools) \
    X(DIFF, diff) \
    X(LIBRARY, library) \
    X(TEMPLATES, templates) \
    X(HELP, help) \
    X(LOG, log) \
    X(REPLIES, replies) \
    X(OUTPUT, output) \
    X(SERVERS, servers) \
    X(TRAFFIC, traffic) \
    X(INFLUENCE, influence) \
    X(SWEEP, sweep) \
    X(MEDIA, media) \
    X(INSIDE, inside) \
    X(STEPS, steps) \
    X(SYSTEMS, systems)
/* clang-format on */

typedef enum cf_view_id {
#define CF_VIEW_ID(id, name) CF_VIEW_##id,
    CF_VIEWS(CF_VIEW_ID)
#undef CF_VIEW_ID
        CF_VIEW_COUNT
} cf_view_id;

#define CF_IN(view) (1u << (view))
#define CF_IN_ALL   ((1u << CF_VIEW_COUNT) - 1)

typedef enum cf_mode {
    CF_MODE_NORMAL,
    CF_MODE_INSERT,
    CF_MODE_PREFILL,
    CF_MODE_VISUAL,
    CF_MODE_COMMAND,
    CF_MODE_SEARCH,
    CF_MODE_ASK
} cf_mode;

/* One thing that can be done.  A row ends in CF_RUN, CF_WITH or CF_BY, which
 * say how it is done; {0} ends a table. */
typedef struct cf_command {
    const char *name; /* as in ":name" */
    uint32_t views;   /* CF_IN(...) bits */
    const char *keys; /* sequences separated by blanks; "" for none */
    const char *args; /* "[NAME]" for the help; "" for none */
    const char *help; /* one line */
    /* One of the three is set. */
    void (*run)(cf_app *app);
    void (*with)(cf_app *app, const char *arg); /* arg: "" for none */
    void (*by)(cf_app *app, int value);
    int value; /* for `by` */
} cf_command;

#define CF_RUN(fn)       fn, NULL, NULL, 0
#define CF_WITH(fn)      NULL, fn, NULL, 0
#define CF_BY(fn, value) NULL, NULL, fn, value

/* Does what the row says. */
static inline void cf_command_do(const cf_command *c, cf_app *app, const char *arg)
{
    if (c->run != NULL) {
        c->run(app);
    } else if (c->with != NULL) {
        c->with(app, arg);
    } else {
        c->by(app, c->value);
    }
}

/* What one view asks another one to show, without knowing it otherwise. */
typedef enum cf_target_kind {
    CF_TARGET_TURN,     /* Chat, Tokens, Replies: `id` */
    CF_TARGET_TOKEN,    /* Media: `from`, a token of the prompt */
    CF_TARGET_LINE,     /* Templates: line `from` of the one in use, from 1 */
    CF_TARGET_EDIT,     /* the same, in the editor; the view on top stays */
    CF_TARGET_SAVED,    /* Diff: the saved conversation `id` */
    CF_TARGET_MARKED,   /* Diff: the two that are marked A and B */
    CF_TARGET_TICKED,   /* Diff: all that are ticked, with `id` at the top */
    CF_TARGET_SOURCE,   /* Diff: `text`, named `name`, and the template in use */
    CF_TARGET_SERVER,   /* Diff: the prompt that the server showed, and ours */
    CF_TARGET_PLAN,     /* Sweep: the plan in file `text` */
    CF_TARGET_SESSION,  /* Steps: the session in file `text` */
    CF_TARGET_SETTINGS, /* Help: the settings alone */
    CF_TARGET_TOPIC,    /* Help: what is found for the words of `text` */
    CF_TARGET_REPLY,    /* Influence, Inside: bytes [from, to) of reply `id`, called
                         `name`; the whole of it where from is to; the last
                         reply of the path where `id` is nil; `text`, ended by
                         NUL: why it and not these bytes */
    CF_TARGET_PART      /* Influence, Inside: the last reply of the path, with the cursor
                         on what wrote byte `from` of the prompt; `is_piece`:
                         the template alone wrote it */
} cf_target_kind;

typedef struct cf_target {
    cf_target_kind kind;
    cf_uuid id;
    size_t from, to;
    const char *name;
    cf_str text;
    bool is_piece;
    bool has_token; /* Inside: `token` in place of the best alternative */
    int32_t token;
    cf_uuid with; /* Inside: the saved conversation to patch from; nil: none */
    bool stays;   /* Inside: the view on top stays there */
} cf_target;

/* A view: a table of functions over its own state in the app. */
typedef struct cf_view_ops {
    const char *name;  /* "chat" */
    const char *title; /* "Chat" */
    const cf_command *commands;
    const char *footer;         /* names of commands shown with their keys */
    size_t state_size;          /* of app->state[view], which the app allocates and frees */
    void (*open)(void *state);  /* of zeros, once, at the start; NULL: they will do */
    void (*close)(cf_app *app); /* frees what the state owns; NULL: nothing */
    void (*enter)(cf_app *app); /* it becomes the view on top */
    void (*draw)(cf_app *app, cf_grid *g, cf_rect r);
    /* Keys of the modes INSERT, PREFILL and ASK; false: back to NORMAL.  And
     * text.  NULL when the view has neither. */
    bool (*key)(cf_app *app, cf_key key);
    void (*paste)(cf_app *app, cf_str text);
    void (*search)(cf_app *app, const char *text, int direction);
    /* The "/" line so far, at each key in it; "" when it is left.  NULL: the
     * view waits for Enter. */
    void (*typed)(cf_app *app, const char *text);
    /* The same for the ":" line; NULL when it is left.  NULL: the view does not
     * look at it. */
    void (*command_typed)(cf_app *app, const char *line);
    bool letters_search; /* a letter that is no key begins a "/" line */
    /* A press on a spot of the view (cf_grid_spot). */
    void (*click)(cf_app *app, int what, size_t value);
    /* The wheel over a spot (CF_SPOT_NONE: over none), by 1 or -1: scrolls the
     * pane that is there, or gives it the focus and returns false; then the
     * view's "up" or "down" runs.  NULL: these alone. */
    bool (*wheel)(cf_app *app, int what, size_t value, int by);
    /* Shows what another view asks for, and comes to the top.  NULL: no view
     * asks this one. */
    void (*show)(cf_app *app, const cf_target *target);
    /* How strongly the view shades byte `off` of a prompt, 0 .. CF_SHADES - 1;
     * -1: not at all, CF_SHADES_NONE: it has no shades.  NULL: the same. */
    int (*shade)(cf_app *app, const cf_prompt *prompt, size_t off);
    /* With shades of what was looked at: the share of bytes [from, to); lines about
     * the part that wrote byte `off`, false: there is nothing to say; and the heads
     * that count, in words, "+" or "-" for the layer after or before.  NULL: the
     * shades are others. */
    double (*share)(cf_app *app, const cf_prompt *prompt, size_t from, size_t to);
    bool (*about)(cf_app *app, const cf_prompt *prompt, size_t off, cf_buf *out);
    void (*heads)(cf_app *app, const char *which);
    /* The turn under the cursor; and what a view next to it shows of that
     * turn. */
    const cf_turn *(*turn)(cf_app *app);
    void (*follow)(cf_app *app, const cf_turn *turn);
    void (*status)(cf_app *app, cf_buf *out); /* right of the last line */
    /* The text of the view's object for ":w": what is selected, what the
     * cursor is on, or the whole.  False, or NULL: there is none. */
    bool (*text)(cf_app *app, cf_buf *out);
    /* The file that the object came from, for ":w" alone; false, or NULL: it
     * did not come from a file. */
    bool (*file)(cf_app *app, cf_buf *out);
    /* The value of a placeholder of tui/app/command_user.h that the view knows
     * better than others; false, or NULL: it does not. */
    bool (*value)(cf_app *app, const char *name, cf_buf *out);
    /* The conversation under the cursor, its title as well when `title` is
     * given; false, or NULL: there is none. */
    bool (*conversation)(cf_app *app, cf_uuid *id, char title[80]);
    /* The history has changed: what is shown of it is read again.  NULL: the
     * view shows nothing of it. */
    void (*stale)(cf_app *app);
    /* Does a piece of long work, for some milliseconds at most; true while
     * there is more.  NULL: the view has none. */
    bool (*step)(cf_app *app);
    /* Milliseconds until `step` is due again; -1: with the next event.  NULL:
     * the same. */
    int (*wait_ms)(const cf_app *app);
} cf_view_ops;

extern const cf_view_ops *const cf_views[CF_VIEW_COUNT];
extern const cf_command cf_global_commands[];

enum { CF_SHADES_NONE = -2 };

/* The text of the last line until the next key. */
typedef struct cf_notice {
    char text[CF_ERROR_TEXT_MAX];
    cf_style style;
    bool while_busy; /* and no longer than the job that runs */
} cf_notice;

/* The press of a button before this one. */
typedef struct cf_press {
    int x, y;
    uint64_t us; /* 0: none that a second one could follow */
} cf_press;

/* The mouse moved with its button held; see drag.h. */
typedef struct cf_drag {
    bool is_on; /* since a press */
    bool is_split, has_moved;
    int x, y, to_x, to_y; /* the press, and the pointer inside the pane */
    cf_rect pane;
} cf_drag;

/* What the mouse did last; of pointer.c, drag.c and frame.c. */
typedef struct cf_pointer {
    cf_press last;
    cf_drag drag;
    int split_w; /* of Chat beside another view, as dragged; 0: not */
} cf_pointer;

/* The menu of the ":" line; of menu.c and complete.c. */
typedef struct cf_menu_choice {
    char word[512]; /* what was typed before Tab chose: the word of a command,
                       or the line with arguments */
    size_t row;     /* chosen, from 1; 0: none */
} cf_menu_choice;

/* Spots of the app itself; those of views are 0 and above. */
enum { CF_SPOT_MENU = -1, CF_SPOT_TAB = -2, CF_SPOT_HINT = -3, CF_SPOT_NONE = -4 };

struct cf_app {
    cf_term *term; /* NULL in tests that draw into the grid alone */
    cf_grid grid;
    cf_config config;
    cf_keymap keymap;

    cf_view_id stack[8]; /* [n_stack] views, the shown one last */
    size_t n_stack;
    cf_mode mode;
    cf_key pending[CF_SEQUENCE_MAX];
    size_t n_pending;
    unsigned count; /* digits before a command, where numbers are counts */
    cf_edit command_line, search_line;
    char search[256]; /* what n and N look for */
    cf_menu_choice menu;
    cf_pointer pointer;
    const void *tools_seen; /* the declarations that the desk is about */
    bool has_seen_tools;
    cf_notice notice;
    cf_buf log;        /* lines for the log view */
    char doing[64];    /* the command that runs; "" for none */
    bool was_busy;     /* at the last poll */
    cf_view_id beside; /* next to Chat on a wide screen */
    bool is_drawing;   /* grid.spot_view is the view that draws */
    bool is_maximized;
    bool wants_quit; /* leaving was asked for once */
    unsigned n_stop; /* ^C one after the other while something runs */
    bool is_done;
    bool is_dirty;   /* something changed since the last frame */
    bool is_undoing; /* the line that runs takes another one back */

    cf_buf copied;            /* the register: what was copied last */
    cf_buf output;            /* of the last background command */
    const cf_trust *trust;    /* of addresses in files; NULL: of none.  Borrowed */
    bool is_restricted;       /* runs no programs and writes no files */
    const char *state_folder; /* of tui/app/keepsakes.h; NULL: keep nothing */

    cf_store *store; /* may be NULL: no history */
    cf_demo *demo;   /* tools that come with confab; NULL: none.  Borrowed */

    cf_tool_servers *servers; /* tool servers; NULL: none was added.  Owned */

    struct cf_app_study *shrunk; /* by the last ":shrink"; NULL: none.  Owned */

    cf_thumbs *thumbs; /* pictures of messages; NULL: none was asked for */

    const char *model;   /* as -m names it; NULL: the default.  Borrowed */
    cf_next_model *next; /* NULL: it cannot be changed.  Borrowed */

    void *state[CF_VIEW_COUNT]; /* each view's own */
    cf_lab *lab;                /* conversation, engine, worker; the caller frees it */
};

/* Makes the app (without a terminal): bindings, views, configuration.  The
 * caller owns `store` and closes it after the app. */
CF_MUST_USE cf_status cf_app_init(cf_app *app, cf_store *store, cf_error *err);
void cf_app_deinit(cf_app *app);

/* Opens the terminal and runs until the person quits. */
CF_MUST_USE cf_status cf_app_run(cf_app *app, const cf_term_options *opts, cf_error *err);

/* One event; and one frame into app->grid.  What tests call. */
void cf_app_event(cf_app *app, const cf_event *event);
void cf_app_draw(cf_app *app);

/* Lets the views do a piece of their long work; true while there is more. */
bool cf_app_step(cf_app *app);

/* The theme for the background that the settings or the terminal name. */
void cf_app_use_theme(cf_app *app);

/* The settings, with those of the replies where there is a workbench. */
cf_config *cf_app_config(cf_app *app);

cf_view_id cf_app_view(const cf_app *app);

/* Has a view show something of another one. */
void cf_app_show(cf_app *app, cf_view_id view, const cf_target *target);

/* Shows a view on top of the stack, or goes back to the one below. */
void cf_app_open_view(cf_app *app, cf_view_id view);
void cf_app_back(cf_app *app);

/* Runs a ":" line: a command of the view, a global one, or a unique
 * beginning of a name. */
void cf_app_command(cf_app *app, const char *line);

/* Does what a binding says; a row that takes a number gets the count. */
void cf_app_run_binding(cf_app *app, const cf_binding *b);

/* A key, as if it had been pressed. */
void cf_app_key(cf_app *app, cf_key key);

/* Appends a line to the log: the time, what did it ("" for nothing), text. */
void cf_app_log(cf_app *app, const char *what, const char *text);
/* Appends the figures of the reply at the end of the path. */
void cf_app_log_reply(cf_app *app);

/* Puts text at the bottom until the next key, and into the log unless it is
 * only a hint (CF_STYLE_DIM). */
void cf_app_say(cf_app *app, cf_style style, const char *fmt, ...) CF_PRINTF(3, 4);
void cf_app_error(cf_app *app, const cf_error *err);

/* The same, but gone as soon as the job that runs has ended. */
void cf_app_say_while_busy(cf_app *app, const char *text);

/* What the history keeps has changed: all views read it again. */
void cf_app_stale(cf_app *app);

/* Whether a reply is written or a task runs: what Esc stops. */
bool cf_app_is_busy(const cf_app *app);

/* Whether other programs may be run and files written: CF_EUNSUPPORTED in a
 * restricted workbench. */
CF_MUST_USE cf_status cf_app_may(const cf_app *app, cf_error *err);

/* Runs a shell command as cf_child_on_terminal() does, with the screen put
 * away; with `waits` the user sees what it wrote until they press Enter. */
CF_MUST_USE cf_status cf_app_run_on_terminal(cf_app *app, const char *command, const char *arg,
                                             bool waits, int *status, cf_error *err);

/* Puts text into the register and the terminal's clipboard, and says so. */
void cf_app_copy(cf_app *app, cf_str text);

/* Cells across of the view that is being drawn, or else of the top one. */
int cf_app_width(const cf_app *app);

/* Whether the layout is narrow: one pane at a time. */
bool cf_app_is_narrow(const cf_app *app);

#endif
