/*
 * library_facets.c - the counts of the Library, and the filter that a click on
 * one of them makes.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tui/view/library/library.h"

enum { HASH_SHOWN = 8, VALUE_SHOWN = 40 };

/* The words of a filter, by kind. */
static const struct {
    const char *name, *key, *other; /* `other`: its second word */
} kinds[] = {{"model", "model:", NULL},
             {"template", "template:", NULL},
             {"tag", "tag:", NULL},
             {"status", "status:", NULL},
             {"year", "after:", "before:"}};

/* The words that filter by a facet. */
static void put_words(cf_buf *out, const cf_store_facet *f)
{
    cf_str v = f->value;
    if (f->kind == CF_FACET_TEMPLATE && v.n > HASH_SHOWN) {
        v.n = HASH_SHOWN;
    }
    cf_buf_adds(out, kinds[f->kind].key);
    if (f->kind == CF_FACET_YEAR) {
        int year = atoi(v.p != NULL ? v.p : "0"); /* ends with its text */
        cf_buf_addf(out, "%04d before:%04d", year, year + 1);
    } else if (memchr(v.p, ' ', v.n) != NULL) {
        cf_buf_addf(out, "\"%.*s\"", (int)v.n, v.p);
    } else {
        cf_buf_add(out, v.p, v.n);
    }
}

static bool starts(const char *word, const char *key)
{
    return key != NULL && strncmp(word, key, strlen(key)) == 0;
}

/* Whether the filter has these words. */
static bool has_words(const char *filter, const char *words)
{
    size_t n = strlen(words);
    for (const char *at = filter; (at = strstr(at, words)) != NULL; at++) {
        if ((at == filter || at[-1] == ' ') && (at[n] == '\0' || at[n] == ' ')) {
            return true;
        }
    }
    return false;
}

/* The filter without the words of a kind. */
static void put_others(cf_buf *out, const char *filter, cf_facet_kind kind)
{
    while (*filter != '\0') {
        size_t n = 0;
        bool is_quoted = false;
        for (; filter[n] != '\0' && (is_quoted || filter[n] != ' '); n++) {
            is_quoted = is_quoted != (filter[n] == '"');
        }
        if (n != 0 && !starts(filter, kinds[kind].key) && !starts(filter, kinds[kind].other)) {
            cf_buf_adds(out, out->n != 0 ? " " : "");
            cf_buf_add(out, filter, n);
        }
        filter += n + (filter[n] == ' ');
    }
}

void cf_library__press_facet(cf_app *app, size_t i)
{
    cf_library *s = cf_library__state(app);
    const cf_library_reading *c = s->known;
    if (c == NULL || i >= c->n) {
        return;
    }
    cf_buf word = CF_BUF_INIT, filter = CF_BUF_INIT;
    put_words(&word, &c->v[i]);
    put_others(&filter, s->filter, c->v[i].kind);
    if (!has_words(s->filter, cf_buf_cstr(&word))) {
        cf_buf_adds(&filter, filter.n != 0 ? " " : "");
        cf_buf_add(&filter, cf_buf_cstr(&word), word.n);
    }
    cf_library__filter(app, cf_buf_cstr(&filter));
    app->pointer.last.us = 0; /* a second press takes it back, and opens nothing */
    cf_buf_deinit(&word);
    cf_buf_deinit(&filter);
}

int cf_library__draw_facets(cf_app *app, cf_grid *g, cf_rect r)
{
    const cf_library *s = cf_library__state(app);
    const cf_library_reading *c = s->known;
    int y = r.y - 1, x = 0;
    int last = -1;
    for (size_t i = 0; c != NULL && i < c->n; i++) {
        const cf_store_facet *f = &c->v[i];
        if ((int)f->kind != last) {
            last = (int)f->kind;
            y++;
            x = r.x + cf_grid_putf(g, r.x, y, r.w, CF_STYLE_DIM, "%-9s", kinds[f->kind].name);
        }
        char text[80];
        size_t most = f->kind == CF_FACET_TEMPLATE ? HASH_SHOWN : VALUE_SHOWN;
        int n =
            snprintf(text, sizeof text, " %.*s %zu", (int)(f->value.n < most ? f->value.n : most),
                     f->value.n != 0 ? f->value.p : "-", f->n);
        if (y < r.y + r.h && x + n < r.x + r.w) {
            cf_buf word = CF_BUF_INIT;
            put_words(&word, f);
            bool is_on = has_words(s->filter, cf_buf_cstr(&word));
            cf_buf_deinit(&word);
            int w = cf_grid_puts(g, x, y, r.x + r.w - x, text,
                                 is_on ? CF_STYLE_MARKED : CF_STYLE_NORMAL);
            cf_grid_spot(g, (cf_rect){x, y, w, 1}, CF_LIBRARY_SPOT_FACET, i);
            x += w;
        }
    }
    if (++y < r.y + r.h) {
        x = r.x + cf_grid_putf(g, r.x, y, r.w, CF_STYLE_DIM, "%-9s", "sessions");
        int w = cf_grid_puts(g, x, y, r.x + r.w - x, " of coding agents (gA)", CF_STYLE_NORMAL);
        cf_grid_spot(g, (cf_rect){x, y, w, 1}, CF_LIBRARY_SPOT_SESSIONS, 0);
    }
    return y + 1 - r.y;
}
