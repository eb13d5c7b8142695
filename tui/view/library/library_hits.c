/*
 * library_hits.c - what a search finds, a row for each conversation, while its
 * words are typed.
 */
#include <string.h>

#include "core/base/os.h"
#include "tui/sys/when.h"
#include "tui/view/library/library.h"

enum {
    HITS = 500,
    TYPED_HITS = 200,
    TYPED_MS = 8 /* the longest that a key may wait */
};

/* Puts the hits into groups; memory that runs out loses the last ones. */
static void group_hits(cf_library *s)
{
    s->n_group = 0;
    s->group = cf_arena_calloc(&s->arena, s->hits.n, sizeof *s->group);
    for (size_t i = 0; s->group != NULL && i < s->hits.n; i++) {
        const cf_store_hit *h = &s->hits.v[i];
        size_t k = 0;
        while (k < s->n_group && !cf_uuid_eq(s->group[k].first->conversation, h->conversation)) {
            k++;
        }
        if (k == s->n_group) {
            s->group[s->n_group++] = (cf_library_group){h, 0};
        }
        s->group[k].n++;
    }
}

/* The last word is the beginning of one, unless more than a word is meant. */
static void as_prefix(cf_buf *out, const char *text)
{
    size_t n = strlen(text);
    char last = n > 0 ? text[n - 1] : ' ';
    const char *blank = strrchr(text, ' ');
    const char *word = blank != NULL ? blank + 1 : text;
    bool is_word = last != ' ' && last != '"' && last != '*' && strchr(word, ':') == NULL &&
                   strchr(word, '"') == NULL;
    cf_buf_addf(out, "%s%s", text, is_word ? "*" : "");
}

/* Finds; `max_ms` 0: however long it takes. */
static void find(cf_app *app, const char *text, size_t limit, uint32_t max_ms)
{
    cf_library *s = cf_library__state(app);
    cf_error err;
    cf_buf words = CF_BUF_INIT;
    as_prefix(&words, text);
    cf_store_query q = {.text = cf_buf_str(&words), .limit = limit, .max_ms = max_ms};
    cf_library__forget(s);
    s->shows_hits = true;
    s->hits = (cf_store_hits){0};
    s->n_group = 0;
    s->list.cursor = s->list.top = 0;
    s->shown_id = (cf_uuid){{0}};
    cf_status st = cf_store_search(app->store, &q, &s->arena, &s->hits, &err);
    if (st == CF_OK) {
        group_hits(s);
    } else if (max_ms == 0) {
        cf_library__reload(app);
        cf_app_error(app, &err);
    }
    cf_buf_deinit(&words);
}

void cf_library__search(cf_app *app, const char *text, int direction)
{
    cf_library *s = cf_library__state(app);
    if (direction != 0 && s->shows_hits) {
        cf_list_move(&s->list, direction > 0 ? CF_MOVE_DOWN : CF_MOVE_UP);
    } else if (app->store != NULL) {
        find(app, text, HITS, 0);
    }
}

void cf_library__typed(cf_app *app, const char *text)
{
    cf_library *s = cf_library__state(app);
    if (app->store == NULL) {
        return;
    }
    if (text[0] == '\0') {
        cf_library__reload(app);
    } else {
        find(app, text, TYPED_HITS, TYPED_MS);
    }
    s->list.cursor = s->list.top = 0;
}

/* ---- drawing ------------------------------------------------------------ */

/* A part of a turn, with what was found in it. */
static void draw_snippet(cf_grid *g, cf_rect r, const cf_store_hit *h, cf_style style)
{
    int x = r.x;
    if (h->role.n != 0) {
        x += 1 + cf_grid_put(g, x, r.y, 10, h->role, style | CF_BOLD);
    }
    cf_grid_put(g, x, r.y, r.x + r.w - x, h->snippet, style);
    for (size_t i = 0; i < h->n_marks; i++) {
        int from = (int)cf_text_width(h->snippet.p, h->marks[i].off);
        int w = (int)cf_text_width(h->snippet.p + h->marks[i].off, h->marks[i].len);
        if (x + from + w < r.x + r.w) {
            cf_grid_restyle(g, (cf_rect){x + from, r.y, w, 1}, CF_STYLE_MATCH);
        }
    }
}

void cf_library__draw_hit(cf_grid *g, cf_rect r, const cf_library_group *group, bool is_on)
{
    const cf_store_hit *h = group->first;
    cf_style style = is_on ? CF_STYLE_SELECTED : CF_STYLE_NORMAL;
    cf_grid_fill(g, r, ' ', style);
    char when[CF_WHEN_TEXT];
    cf_when_format(when, h->created_ms, cf_os_now_ms());
    cf_grid_puts(g, r.x + 2, r.y, 10, when, style);
    int title_w = r.w >= 90 ? 28 : 18;
    cf_grid_put(g, r.x + 13, r.y, title_w, h->title, style);
    int x = r.x + 14 + title_w;
    cf_grid_putf(g, x, r.y, 5, is_on ? style : CF_STYLE_MARKED, "%4zu", group->n);
    x += 6;
    draw_snippet(g, (cf_rect){x, r.y, r.x + r.w - x, 1}, h, style);
}

void cf_library__draw_group(cf_app *app, cf_grid *g, cf_rect r)
{
    const cf_library *s = cf_library__state(app);
    if (s->list.cursor >= s->n_group) {
        return;
    }
    cf_uuid id = s->group[s->list.cursor].first->conversation;
    int y = 0;
    for (size_t i = 0; i < s->hits.n && y < r.h; i++) {
        const cf_store_hit *h = &s->hits.v[i];
        if (cf_uuid_eq(h->conversation, id)) {
            if (h->ordinal != 0) {
                cf_grid_putf(g, r.x, r.y + y, 4, CF_STYLE_DIM, "%03u", (unsigned)h->ordinal);
            } else {
                cf_grid_puts(g, r.x, r.y + y, 5, "title", CF_STYLE_DIM);
            }
            draw_snippet(g, (cf_rect){r.x + 6, r.y + y, r.w - 6, 1}, h, CF_STYLE_NORMAL);
            y++;
        }
    }
}
