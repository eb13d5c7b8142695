/*
 * defaults.h - settings of confabrc that stand for options of commands: what
 * to open, and what to ask of replies.
 *
 * Place in the flow:  confabrc --> [defaults] --> options of a command.
 * Knows: names and values.  Does not know: the file, the command line.
 *
 * Threads:  any, one at a time.
 * Memory:   texts are owned; cf_defaults_deinit() frees them.
 */
#ifndef CF_TUI_LAB_STATE_DEFAULTS_H
#define CF_TUI_LAB_STATE_DEFAULTS_H

#include "templates/open.h"
#include "tui/lab/state/reply_settings.h"
#include "tui/sys/color.h"

typedef struct cf_defaults {
    char *model, *template_name, *db, *kernel_set; /* NULL: not set */
    char *encoder_blas;                            /* likewise */
    char *variables;                               /* that files may name as keys; NULL: none */
    bool trusts_addresses;                         /* of files */
    uint32_t n_threads, n_ctx;                     /* 0: not set */
    cf_arithmetic arithmetic;                      /* the later setting's */
    cf_color_when color;
    cf_reply_settings reply;
} cf_defaults;

void cf_defaults_init(cf_defaults *d);
void cf_defaults_deinit(cf_defaults *d);

/* The setting that name[0..n) means, not counting those of replies; -1:
 * none. */
int cf_defaults_find(const char *name, size_t n);

/* Sets number `i`; "~/" in a file name is the home folder.  CF_EINVAL, with
 * what the value may be; CF_ENOMEM. */
CF_MUST_USE cf_status cf_defaults_set(cf_defaults *d, int i, const char *value, cf_error *err);

/* Sets the arithmetic from the bits of activations, "16" or "8"; CF_EINVAL for
 * anything else, as a value of `name`. */
CF_MUST_USE cf_status cf_defaults_bits(cf_arithmetic *to, const char *name, const char *value,
                                       cf_error *err);

/* Fills what to open from the settings, borrowing their texts. */
void cf_defaults_apply(const cf_defaults *d, cf_open_options *open);

#endif
