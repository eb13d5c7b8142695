/*
 * config.h - settings and the file that holds them, confabrc: lines of
 *
 *   set NAME=VALUE
 *   bind VIEW KEYS COMMAND      (VIEW: a name, or "all")
 *   color STYLE FG BG [bold] [underline] [reverse] [dim]
 *   # comment
 *
 * A mistake is reported with its line and costs that line only.
 */
#ifndef CF_TUI_APP_CONFIG_CONFIG_H
#define CF_TUI_APP_CONFIG_CONFIG_H

#include "core/base/buf.h"
#include "core/base/status.h"
#include "tui/grid/theme.h"
#include "tui/lab/state/defaults.h"
#include "tui/lab/state/reply_settings.h"

/* What the theme is made for. */
typedef enum cf_ground {
    CF_GROUND_AUTO, /* what the terminal says, else dark */
    CF_GROUND_DARK,
    CF_GROUND_LIGHT
} cf_ground;

typedef struct cf_config {
    bool mouse;
    bool a11y;        /* one pane, no lines, no redraw of what did not change */
    bool ascii_lines; /* line-graphics=ascii */
    bool enter_sends; /* enter=send, or newline */
    bool numbers_are_counts;
    bool show_thinking;
    bool whitespace;
    bool examples; /* a new history begins with some */
    int ground;    /* cf_ground */
    int graphics;  /* cf_graphics_kind */
    cf_theme theme;
    cf_reply_settings *reply; /* the replies' own, set by the same names;
                                 borrowed; NULL: there are none */
    cf_defaults *defaults;    /* what commands open, from confabrc only;
                                 borrowed; NULL: checked and left out */
    const char *origin[16];   /* [setting] where its value came from */
} cf_config;

void cf_config_init(cf_config *c);

/* One "NAME=VALUE" ("NAME" for NAME=on, "noNAME" for off).  CF_EINVAL. */
CF_MUST_USE cf_status cf_config_set(cf_config *c, const char *text, const char *origin,
                                    cf_error *err);

/* Appends "NAME=VALUE  (origin)  meaning" lines of all settings. */
void cf_config_list(const cf_config *c, cf_buf *out);
/* The line that shows one setting, without a newline; false if the setting does not
 * exist. */
bool cf_config_show(const cf_config *c, const char *name, cf_buf *out);
/* The name of setting `i`; NULL past the last. */
const char *cf_config_name(const cf_config *c, size_t i);

/* The two values that a setting of that name (n bytes) has; false when it has
 * more. */
bool cf_config_words(const char *name, size_t n, const char *words[2]);

/* Takes one "bind" of confabrc: a view's name or "all", keys, and a line. */
typedef struct cf_binder {
    cf_status (*bind)(void *ud, const char *view, const char *keys, const char *line,
                      cf_error *err);
    void *ud;
} cf_binder;

/* Reads confabrc text.  Each mistake is appended to `problems` as "line N:
 * ...". */
CF_MUST_USE cf_status cf_config_read(cf_config *c, const char *text, size_t n,
                                     const cf_binder *binder, cf_buf *problems, cf_error *err);

#endif
