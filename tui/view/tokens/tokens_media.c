/*
 * tokens_media.c - the Tokens view: the pictures and sounds that a reply
 * follows, each one unit as in the Prompt view.
 */
#include <stdio.h>
#include <string.h>

#include "core/api/media.h"
#include "tui/lab/prompt/lab_prompt.h"
#include "tui/lab/talk/lab_conversation.h"
#include "tui/lab/talk/lab_messages.h"
#include "tui/view/kit/pane.h"
#include "tui/view/tokens/tokens.h"
#include "tui/widget/note.h"

enum { MEDIA_MAX = 32, ROWS_MAX = 4 };

/* The blocks of the prompt before a reply, by their first tokens. */
typedef struct blocks {
    const cf_prompt_model *m;
    size_t first[MEDIA_MAX];
    size_t n;
} blocks;

static size_t message_of(cf_app *app, const cf_reply *reply)
{
    size_t n, i = 0;
    const cf_turn *const *path = cf_lab_path(app->lab, &n);
    while (i < n && !cf_uuid_eq(path[i]->id, reply->turn)) {
        i++;
    }
    return cf_lab_message_of(app->lab, i);
}

/* Of more than MEDIA_MAX the last ones. */
static void find_blocks(cf_app *app, const cf_reply *reply, blocks *b)
{
    const cf_backend *backend = cf_lab_engine_of(app->lab)->backend;
    *b = (blocks){.n = 0};
    if (cf_backend_core_media(backend) == NULL || cf_lab_is_busy(app->lab)) {
        return;
    }
    b->m = cf_lab_prompt(app->lab);
    if (b->m == NULL || b->m->n == 0) {
        return;
    }
    size_t end = message_of(app, reply), at = 0;
    if (!cf_prompt_model_is_media(b->m, 0)) {
        at = cf_media_sheet_step(b->m, 0, 1);
    }
    while (cf_prompt_model_is_media(b->m, at) &&
           b->m->prompt.spans[b->m->token[at].span].index < end) {
        if (b->n == MEDIA_MAX) {
            memmove(b->first, b->first + 1, (MEDIA_MAX - 1) * sizeof *b->first);
            b->n--;
        }
        b->first[b->n++] = at;
        size_t next = cf_media_sheet_step(b->m, at, 1);
        if (next == at) {
            return;
        }
        at = next;
    }
}

int cf_tokens__media_rows(cf_app *app, const cf_reply *reply, int h)
{
    blocks b;
    find_blocks(app, reply, &b);
    int n = b.n < ROWS_MAX ? (int)b.n : ROWS_MAX;
    int most = h / 2;
    return n < most ? n : most;
}

void cf_tokens__draw_media(cf_app *app, cf_grid *g, cf_rect r, const cf_reply *reply)
{
    cf_tokens *s = cf_tokens__state(app);
    blocks b;
    find_blocks(app, reply, &b);
    s->medium = s->medium <= b.n ? s->medium : b.n;
    size_t rows = r.h > 0 ? (size_t)r.h : 0;
    size_t last = s->medium > 0 ? s->medium : b.n;
    size_t top = last > rows ? last - rows : 0;
    for (size_t i = 0; i < rows && top + i < b.n; i++) {
        char text[CF_PROMPT_BLOCK_MAX];
        int y = r.y + (int)i;
        bool is_on = s->medium == top + i + 1;
        if (is_on) {
            g->cursor_x = r.x;
            g->cursor_y = y;
        }
        int w = cf_grid_put(g, r.x, y, r.w, cf_prompt_model_block(b.m, b.first[top + i], text),
                            is_on ? CF_STYLE_SELECTED | CF_REVERSE : CF_STYLE_SPECIAL);
        cf_grid_spot(g, (cf_rect){r.x, y, w, 1}, CF_TOKENS_SPOT_MEDIUM, top + i + 1);
    }
}

bool cf_tokens__step_medium(cf_app *app, const cf_reply *reply, long by)
{
    cf_tokens *s = cf_tokens__state(app);
    blocks b;
    bool may = s->focus == CF_ON_TOKENS && (s->medium > 0 || by < 0);
    if (!may || (s->medium == 0 && s->token > 0)) {
        return false;
    }
    find_blocks(app, reply, &b);
    if (s->medium == 0) {
        s->medium = b.n;
    } else if (by < 0) {
        s->medium -= s->medium > 1 ? 1 : 0;
    } else {
        s->medium = s->medium < b.n ? s->medium + 1 : 0;
    }
    return b.n > 0;
}

/* The block under the cursor; NULL: none, or it cannot be read (err). */
static const cf_media_sheet *sheet_of(cf_app *app, const cf_reply *reply, size_t *first,
                                      cf_error *err)
{
    const cf_tokens *s = cf_tokens__state(app);
    blocks b = {.n = 0};
    if (reply != NULL && s->medium > 0) {
        find_blocks(app, reply, &b);
    }
    if (b.n == 0 || s->medium > b.n) {
        cf_fail(err, CF_ENOTFOUND, "no picture or sound here");
        return NULL;
    }
    *first = b.first[s->medium - 1];
    return cf_lab_media(app->lab, *first, err);
}

void cf_tokens__medium_cost(cf_app *app, const cf_reply *reply, cf_buf *out)
{
    cf_error err;
    size_t first;
    const cf_media_sheet *s = sheet_of(app, reply, &first, &err);
    if (s != NULL) {
        cf_media_sheet_cost(s, out);
    }
}

static void put_line(cf_grid *g, cf_rect *in, cf_str text, cf_style style)
{
    int rows = in->h > 0 ? cf_note_put(g, *in, text, style) : 0;
    in->y += rows;
    in->h -= rows;
}

void cf_tokens__medium_pane(cf_app *app, cf_grid *g, cf_rect r, const cf_reply *reply)
{
    cf_error err = {0};
    cf_buf cost = CF_BUF_INIT;
    size_t first = 0;
    const cf_media_sheet *s = sheet_of(app, reply, &first, &err);
    char text[CF_PROMPT_BLOCK_MAX + 1], line[96];
    cf_rect in = {r.x + 2, r.y + 1, r.w - 4, r.h - 2};
    cf_pane(g, r,
            s == NULL     ? "Given, not sampled"
            : s->is_sound ? "Sound before the reply"
                          : "Picture before the reply",
            false);
    if (s == NULL) {
        cf_note_puts(g, in, err.text, CF_STYLE_WARNING);
        return;
    }
    cf_str block = cf_prompt_model_block(cf_lab_prompt(app->lab), first, text);
    text[block.n] = '\0';
    cf_media_sheet_cost(s, &cost);
    snprintf(line, sizeof line, "tokens #%zu..%zu of the prompt, turn %zu", s->first,
             s->first + s->n - 1, cf_lab_number_of(app->lab, s->message));
    put_line(g, &in, cf_str_from(text), CF_STYLE_SPECIAL);
    cf_str rest = cf_buf_str(&cost);
    for (size_t i = 0, from = 0; i <= rest.n; i++) { /* a fact a line */
        if (i == rest.n || rest.p[i] == ';') {
            put_line(g, &in, cf_str_make(rest.p + from, i - from), CF_STYLE_NORMAL);
            from = i + 2;
        }
    }
    put_line(g, &in, cf_str_from(line), CF_STYLE_NORMAL);
    put_line(g, &in, cf_str_from("Enter shows what the model gets of it."), CF_STYLE_DIM);
    cf_buf_deinit(&cost);
}

bool cf_tokens__open_medium(cf_app *app, const cf_reply *reply)
{
    cf_error err;
    size_t first;
    if (cf_tokens__state(app)->medium == 0) {
        return false;
    }
    if (sheet_of(app, reply, &first, &err) == NULL) {
        cf_app_error(app, &err);
        return true;
    }
    cf_tokens__state(app)->stays = true;
    cf_app_show(app, CF_VIEW_MEDIA, &(cf_target){.kind = CF_TARGET_TOKEN, .from = first});
    return true;
}
