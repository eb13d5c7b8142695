/*
 * render_media.h - pictures and sounds in confab render: the prompt and its
 * tokens as the model with its projector gets them.
 *
 * Threads:  one thread.
 * Memory:   results live in the arena given.
 */
#ifndef CF_TUI_CLI_SHELL_RENDER_MEDIA_H
#define CF_TUI_CLI_SHELL_RENDER_MEDIA_H

#include "core/json/json_writer.h"
#include "templates/template.h"
#include "tui/cli/shell/cli.h"

typedef struct cf_render_media {
    cf_media *projector;   /* NULL: the model has none */
    cf_media_cache *cache; /* likewise */
} cf_render_media;

/* Opens the projector that was named, or the one in the model's folder. */
CF_MUST_USE cf_status cf_render_media_open(cf_render_media *out, const cf_engine *engine,
                                           const cf_open_options *o, cf_error *err);
void cf_render_media_close(cf_render_media *m);

/* How a context is rendered. */
typedef struct cf_render_media_how {
    const cf_template *tpl;
    const cf_tokenizer *tok;
    bool is_shaped; /* --shape */
    bool continue_final;
} cf_render_media_how;

/*
 * Renders the context, a JSON text, with its pictures and sounds expanded.
 * out->n is 0 where it has none, or there is no projector; errors of
 * cf_prompt_expand_media().
 */
CF_MUST_USE cf_status cf_render_media_see(cf_media_prompt *out, const cf_render_media *m,
                                          const cf_render_media_how *how, cf_str context,
                                          cf_arena *arena, cf_error *err);

/* A line on standard error for each picture and sound: what its marker
 * becomes. */
void cf_render_media_note(const cf_media_prompt *p);

/* The member "media" of an answer; nothing where p->n is 0. */
void cf_render_media_json(cf_jw *w, const cf_media_prompt *p);

#endif
