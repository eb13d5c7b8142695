/*
 * catalogue.c - finds a template by the hash of its text.
 */
#include <string.h>

#include "core/base/hash.h"
#include "templates/template_catalogue.h"

/* Sorted by name, then by date. */
static const cf_known_template rows[] = {
#include "templates/catalogue/catalogue.inc"
};

enum { N_ROWS = sizeof rows / sizeof rows[0], HASH_TEXT = 16 };

const cf_known_template *cf_template_known_at(size_t i)
{
    return i < N_ROWS ? &rows[i] : NULL;
}

/* The end of the line at p, and the end of its significant part. */
static const char *line_end(const char *p, const char *end, const char **counts)
{
    const char *nl = memchr(p, '\n', (size_t)(end - p));
    const char *to = nl != NULL ? nl : end;
    *counts = to;
    if (nl != NULL && to > p && to[-1] == '\r') {
        (*counts)--;
    }
    while (*counts > p && ((*counts)[-1] == ' ' || (*counts)[-1] == '\t')) {
        (*counts)--;
    }
    return to;
}

/* Lines without the blanks at their ends, from the first to the last that is
 * not empty, joined by newlines. */
static void normalise(cf_buf *out, cf_str source)
{
    const char *end = source.p + source.n;
    size_t n_empty = 0;
    for (const char *p = source.p; source.n > 0 && p <= end;) {
        const char *counts;
        const char *to = line_end(p, end, &counts);
        if (counts == p) {
            n_empty++;
        } else {
            while (out->n > 0 && n_empty > 0) {
                cf_buf_adds(out, "\n");
                n_empty--;
            }
            cf_buf_adds(out, out->n > 0 ? "\n" : "");
            cf_buf_add(out, p, (size_t)(counts - p));
            n_empty = 0;
        }
        p = to + 1;
    }
}

const cf_known_template *cf_template_known(cf_str source)
{
    char hash[CF_HASH_TEXT + 1];
    cf_buf text = CF_BUF_INIT;
    normalise(&text, source);
    bool ok = !text.failed && text.n > 0;
    if (ok) {
        cf_hash_hex(hash, text.p, text.n);
    }
    cf_buf_deinit(&text);
    for (size_t i = 0; ok && i < N_ROWS; i++) {
        if (memcmp(rows[i].hash, hash, HASH_TEXT) == 0) {
            return &rows[i];
        }
    }
    return NULL;
}

const cf_known_template *cf_template_newer(const cf_known_template *t)
{
    const cf_known_template *newest = NULL;
    for (const cf_known_template *r = t + 1; t->date[0] != '\0' && r < rows + N_ROWS; r++) {
        if (strcmp(r->name, t->name) == 0 && r->date[0] != '\0') {
            newest = r;
        }
    }
    return newest;
}

void cf_template_known_line(cf_buf *out, const cf_known_template *t)
{
    const cf_known_template *newer = cf_template_newer(t);
    cf_buf_adds(out, t->name);
    if (t->date[0] != '\0') {
        cf_buf_addf(out, ", version of %s", t->date);
    }
    cf_buf_addf(out, " (%s)", t->source);
    if (newer != NULL) {
        cf_buf_addf(out, "; the newest known is of %s", newer->date);
    }
    if (t->fault[0] != '\0') {
        cf_buf_addf(out, "; this one %s", t->fault);
    }
}

void cf_template_known_json(cf_jw *w, const char *key, const cf_known_template *t)
{
    if (t == NULL) {
        cf_jw_null(w, key);
        return;
    }
    const cf_known_template *newer = cf_template_newer(t);
    cf_jw_object(w, key);
    cf_jw_text(w, "name", t->name);
    cf_jw_text(w, "date", t->date);
    cf_jw_text(w, "source", t->source);
    cf_jw_text(w, "fault", t->fault);
    if (newer != NULL) {
        cf_jw_text(w, "newest", newer->date);
    } else {
        cf_jw_null(w, "newest");
    }
    cf_jw_end(w);
}
