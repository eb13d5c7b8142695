/*
 * out.h - all text for standard output and standard error.
 *
 * Text from models, tools, files, servers and the command line may contain characters
 * that control a terminal (core/base/safe_text.h).  A command does not need to know
 * where its text goes: files and pipes get the bytes as they are, a terminal gets
 * harmful ones as visible escapes.  tests/tools/ check_calls.sh finds commands that
 * write around this file.
 *
 * Threads:  one thread at a time for each stream.
 * Memory:   cf_out() allocates nothing, so it either writes everything or leaves the
 *           stream in error (ferror).
 */
#ifndef CF_TUI_SYS_OUT_H
#define CF_TUI_SYS_OUT_H

#include <stdio.h>

#include "core/base/status.h"
#include "core/base/str.h"
#include "tui/sys/out.h"

typedef enum cf_out_kind {
    CF_OUT_TEXT,   /* harmful characters become \x1b, \u{9b} */
    CF_OUT_STYLED, /* the same, but the styles below pass: the writer has
                      escaped the text between them */
    CF_OUT_JSON    /* JSON: they become \u009b, and it stays the same JSON */
} cf_out_kind;

/* The styles that commands use. */
#define CF_OUT_PLAIN   "\033[0m"
#define CF_OUT_REVERSE "\033[7m"
#define CF_OUT_FORWARD "\033[27m"
#define CF_OUT_RED     "\033[31m"
#define CF_OUT_GREEN   "\033[32m"
#define CF_OUT_CYAN    "\033[36m"

/* Writes `text`, whole characters, to a stream; escaped if that is a
 * terminal. */
void cf_out(FILE *to, cf_str text, cf_out_kind kind);

/* Writes a formatted message to standard error as one line, always escaped;
 * the newline is added.  A message over 1000 bytes is cut and ends in "...". */
void cf_note(const char *fmt, ...) CF_PRINTF(1, 2);

/* The same for a label and a text of any length. */
void cf_note_text(const char *label, cf_str text);

#endif
