/*
 * drive.h - a workbench driven by a test: it sends keys and examines the
 * screen.
 */
#ifndef CF_TESTS_SUPPORT_DRIVE_H
#define CF_TESTS_SUPPORT_DRIVE_H

#include "tui/app/app.h"

/* Presses keys, written as in tui/term/key.h.  A reply that they begin may
 * still be written when it returns. */
void cf_drive_press(cf_app *app, const char *keys);

/* Draws, and returns whether the screen has these words in one row. */
bool cf_drive_shows(cf_app *app, const char *words);

#endif
