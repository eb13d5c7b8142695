/*
 * attach_options.h - --image and --audio: files that go with a message.
 *
 * Place in the flow:  command line --> [attach_options] --> the content of a
 * message.
 * Knows: the options, parts of messages.  Does not know: engines, apart from
 * whether one takes images.
 */
#ifndef CF_TUI_CLI_SHELL_ATTACH_OPTIONS_H
#define CF_TUI_CLI_SHELL_ATTACH_OPTIONS_H

#include "core/api/backend.h"
#include "tui/cli/shell/options.h"

enum { CF_ATTACH_OPTIONS = 2 };

typedef struct cf_attach_options {
    cf_opt_list images, sounds;
} cf_attach_options;

/* Fills out[0 .. CF_ATTACH_OPTIONS) with the options. */
void cf_attach_options_table(cf_attach_options *o, cf_opt *out);

/* Whether there is a file. */
bool cf_attach_options_any(const cf_attach_options *o);

/* Whether a file is standard input, which then is not the prompt. */
bool cf_attach_options_use_stdin(const cf_attach_options *o);

/* Content of a message: the text alone, or a list of it and the files; a new
 * reference.  CF_EUNSUPPORTED for an engine that takes no files or a file of
 * another kind, CF_EFORMAT for text that is not UTF-8. */
CF_MUST_USE cf_status cf_attach_options_content(json_t **out, const cf_attach_options *o,
                                                cf_str text, const cf_backend_info *engine,
                                                cf_error *err);

#endif
