/*
 * shades.h - shades of a prompt that was looked at, over the prompt that is
 * shown now.
 *
 * Threads:  the interface thread.
 */
#ifndef CF_TUI_VIEW_KIT_SHADES_H
#define CF_TUI_VIEW_KIT_SHADES_H

#include "tui/app/app.h"

/* How far both prompts are the same; all zero before the first call, and when
 * there are other shades. */
typedef struct cf_shade_map {
    uint64_t seen; /* the workbench's generation when `n_same` was counted */
    size_t n_shown, n_same;
} cf_shade_map;

/* What has shades: a prompt, and one a token. */
typedef struct cf_shaded {
    cf_str text;
    const cf_token_list *tokens;
    const uint8_t *shade; /* [tokens->n] */
} cf_shaded;

/* The shade of byte `off` of the prompt that is shown, which may go on after
 * the shaded one: as far as both are the same, bytes have the same places. -1:
 * none. */
int cf_shade_at(cf_app *app, cf_shade_map *map, const cf_shaded *of, const cf_prompt *shown,
                size_t off);

#endif
