/*
 * command_user.h - the user's own commands: "!COMMAND" hands the terminal to
 * the shell, "@COMMAND" runs in the background and shows the output.
 *
 * Placeholders, as in "!less %(turn)":
 *
 *   %(conversation) %(uuid)   ids: of the conversation, of the turn
 *   %(template) %(tool)       names
 *   %(database)               path of the history
 *   %(turn) %(raw)            a file with the text of the turn, or with the
 *                             bytes of the reply before anything was parsed
 *   %(prompt)                 a file with the rendered prompt
 *   %(text)                   a file with the output of :w
 *   %(result) %(arguments)    files, of a call of a tool
 *   %(register)               a file with the text copied last
 *   %%                        a percent sign
 *
 * Names and ids are quoted for the shell; what a model wrote is only ever in
 * a file, so no text can become a part of the command.
 */
#ifndef CF_TUI_APP_COMMAND_USER_H
#define CF_TUI_APP_COMMAND_USER_H

#include "core/api/conversation.h"
#include "tui/app/app.h"

bool cf_is_user_command(const char *line);
void cf_run_user_command(cf_app *app, const char *line);

/* Appends the value of uuid, turn or raw for a turn; false for another name,
 * without a turn (NULL), or where the turn has no raw reply. */
bool cf_user_turn_value(cf_app *app, const cf_turn *t, const char *name, cf_buf *out);

/* Appends the lines of help: prefixes, placeholders, and the user's bindings
 * in a view. */
void cf_user_command_help(const cf_app *app, cf_view_id view, cf_buf *out);

#endif
