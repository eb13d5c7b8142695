/*
 * moves.h - the moving commands of views that are a list or a text: j k g G
 * and their kin, once for all of them.
 */
#ifndef CF_TUI_VIEW_MOVES_H
#define CF_TUI_VIEW_MOVES_H

/* Rows of a cf_command table; `fn(app, move)` moves the view's list.  The
 * functions are made by CF_MOVE_COMMANDS before the table. */
#define CF_MOVE_COMMANDS(prefix, fn)                             \
    static void prefix##_up(cf_app *app, const char *arg)        \
    {                                                            \
        (void)arg;                                               \
        fn(app, CF_MOVE_UP);                                     \
    }                                                            \
    static void prefix##_down(cf_app *app, const char *arg)      \
    {                                                            \
        (void)arg;                                               \
        fn(app, CF_MOVE_DOWN);                                   \
    }                                                            \
    static void prefix##_page_up(cf_app *app, const char *arg)   \
    {                                                            \
        (void)arg;                                               \
        fn(app, CF_MOVE_PAGE_UP);                                \
    }                                                            \
    static void prefix##_page_down(cf_app *app, const char *arg) \
    {                                                            \
        (void)arg;                                               \
        fn(app, CF_MOVE_PAGE_DOWN);                              \
    }                                                            \
    static void prefix##_half_up(cf_app *app, const char *arg)   \
    {                                                            \
        (void)arg;                                               \
        fn(app, CF_MOVE_HALF_UP);                                \
    }                                                            \
    static void prefix##_half_down(cf_app *app, const char *arg) \
    {                                                            \
        (void)arg;                                               \
        fn(app, CF_MOVE_HALF_DOWN);                              \
    }                                                            \
    static void prefix##_first(cf_app *app, const char *arg)     \
    {                                                            \
        (void)arg;                                               \
        fn(app, CF_MOVE_FIRST);                                  \
    }                                                            \
    static void prefix##_last(cf_app *app, const char *arg)      \
    {                                                            \
        (void)arg;                                               \
        fn(app, CF_MOVE_LAST);                                   \
    }

#define CF_MOVE_ROWS(prefix, views)                                            \
    {"up", views, "k <Up> <WheelUp>", "", "up", prefix##_up},                  \
        {"down", views, "j <Down> <WheelDown>", "", "down", prefix##_down},    \
        {"page-up", views, "<C-b> <PgUp>", "", "a page up", prefix##_page_up}, \
        {"page-down", views,         "<C-f> <PgDn>",                           \
         "",          "a page down", prefix##_page_down},                      \
        {"half-up", views, "<C-u>", "", "half a page up", prefix##_half_up},   \
        {"half-down",       views, "<C-d>", "", "half a page down",            \
         prefix##_half_down},                                                  \
        {"first", views, "gg <Home>", "", "to the top", prefix##_first},       \
    {                                                                          \
        "last", views, "G <End>", "", "to the end", prefix##_last              \
    }

#endif
