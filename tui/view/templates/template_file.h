/*
 * template_file.h - a template that is a file: used, and read again when the
 * file changes on the disk.
 *
 * The name of a template that was read from a file is the file's path.  One
 * that was changed here without the file is "PATH (edited)".
 *
 * Threads:  the interface thread.
 */
#ifndef CF_TUI_VIEW_TEMPLATES_TEMPLATE_FILE_H
#define CF_TUI_VIEW_TEMPLATES_TEMPLATE_FILE_H

#include "tui/app/app.h"

/* " (edited)": after the name of a changed template. */
extern const char cf_template_edited[];

/* Bytes of a template's name without that. */
size_t cf_template_plain_name(const char *name);

/* Whether the name without that is the path of a file. */
bool cf_template_is_file(const char *name);

/* Renders with a text from now on and says what it makes of the prompt, after
 * `why` ("in use", "mine.jinja changed").  False, with the error said, when it
 * does not compile. */
bool cf_template_use(cf_app *app, const char *why, const char *name, cf_str source);

/* Keeps a text in the history, as a child of the one it was; what cannot be
 * kept is said. */
void cf_template_keep(cf_app *app, const char *name, cf_str was, cf_str source);

/* The file of the template in use, as it was at the last look. */
typedef struct cf_watched_file {
    bool has;
    char name[300]; /* the template's */
    int64_t size, at_s, at_ns;
    uint64_t inode;
    uint64_t due_us; /* of the next look */
    cf_buf broken;   /* its text, where that does not compile; else empty */
    bool is_news;    /* the text was read again, and Templates does not know */
} cf_watched_file;

/* Reloads the file of the template in use if it has changed. */
void cf_watched_file_step(cf_watched_file *w, cf_app *app);

/* Milliseconds until the next check of the file; -1 if there is none. */
int cf_watched_file_wait_ms(const cf_watched_file *w);

#endif
