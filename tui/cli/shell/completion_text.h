/*
 * completion_text.h - completion scripts for shells, made from the tables of
 * commands and options, so that they cannot disagree with --help.
 */
#ifndef CF_TUI_CLI_SHELL_COMPLETION_TEXT_H
#define CF_TUI_CLI_SHELL_COMPLETION_TEXT_H

#include <stdbool.h>
#include <stdio.h>

/* Writes the script for "bash", "zsh" or "fish"; false for another name. */
bool cf_completion_write(FILE *to, const char *shell);

#endif
