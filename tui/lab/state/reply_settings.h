/*
 * reply_settings.h - the settings of the next reply: sampler, limits, thinking,
 * candidates to keep.  ":set", confabrc and the help share this table of names.
 *
 * "-" and "_" are the same in a name.  A value given on the command line overrides
 * confabrc.
 *
 * Threads:  the interface thread; a send copies what it needs.
 */
#ifndef CF_TUI_LAB_STATE_REPLY_SETTINGS_H
#define CF_TUI_LAB_STATE_REPLY_SETTINGS_H

#include "core/api/backend.h"
#include "core/api/draft.h"

enum { CF_REPLY_SETTINGS = 21, CF_EXTRA_MAX = 1024 };

typedef struct cf_reply_settings {
    cf_chat_options chat;     /* grammar, vocab, stop and n_top stay empty */
    bool trace;               /* keep candidates of each token */
    uint32_t trace_top;       /* how many */
    uint32_t draft;           /* tokens guessed ahead, draft.h */
    char extra[CF_EXTRA_MAX]; /* JSON object: further arguments sent to a
                                 server; "" for none */
    const char *origin[CF_REPLY_SETTINGS];
} cf_reply_settings;

/* Candidates are kept, the best ten; everything else as the engine does by
 * itself. */
void cf_reply_settings_init(cf_reply_settings *s);

/* The name of setting `i`; NULL past the last. */
const char *cf_reply_setting_name(size_t i);
/* The setting that name[0..n) means; CF_REPLY_SETTINGS: none. */
size_t cf_reply_setting_find(const char *name, size_t n);

/* CF_EINVAL, naming the setting and what it may be; nothing changed then. */
CF_MUST_USE cf_status cf_reply_settings_set(cf_reply_settings *s, size_t i, const char *value,
                                            const char *origin, cf_error *err);

/* Changes an object of further arguments for servers: "KEY=JSON" sets one,
 * "KEY=" removes it; a value that is not JSON is a string.  CF_EINVAL. */
CF_MUST_USE cf_status cf_extra_put(json_t *all, const char *text, cf_error *err);

/* Marks a value as given on the command line. */
void cf_reply_settings_fix(cf_reply_settings *s, const char *name);
/* Whether it has not been set. */
bool cf_reply_settings_is_default(const cf_reply_settings *s, const char *name);
bool cf_reply_settings_is_fixed(const cf_reply_settings *s, size_t i);

/* Appends "NAME=VALUE  (origin)  meaning". */
void cf_reply_settings_show(const cf_reply_settings *s, size_t i, cf_buf *out);

/* Appends the sampler in short words: "T 0.8 k 40 p 0.95 min 0.05 seed 7". */
void cf_reply_sampler_line(const cf_sampling *o, bool has_sampling, cf_buf *out);

/* The same with the limits of the reply. */
void cf_reply_settings_line(const cf_reply_settings *s, cf_buf *out);

#endif
