/*
 * template_catalogue.h - the published chat templates that confab recognises by
 * their text, so that it can say which version one is and what a later one fixed.
 *
 * Place in the flow:  source --> [catalogue] --> one line for the user.
 * Knows: hashes, names, dates, sources and fixed faults of published templates.
 * Does not know: the templates themselves, models, files.
 *
 * Line ends, blanks before them, and empty lines at both ends of a source do
 * not count.
 *
 * Threads:  no state.
 * Memory:   rows are constant.
 */
#ifndef CF_TEMPLATES_TEMPLATE_CATALOGUE_H
#define CF_TEMPLATES_TEMPLATE_CATALOGUE_H

#include "core/base/buf.h"
#include "core/base/decls.h"
#include "core/base/str.h"
#include "core/json/json_writer.h"

CF_BEGIN_DECLS

typedef struct cf_known_template {
    const char *hash;   /* 16 hex digits of its normalised text's SHA-256 */
    const char *name;   /* shared by all versions of a template */
    const char *date;   /* "2026-04-02", when its source got it; "": unknown */
    const char *source; /* repository and commit */
    const char *fault;  /* the fault that a later version fixed; "" if none is known */
} cf_known_template;

/* The row of this text; NULL if the text is unknown or memory ran out. */
const cf_known_template *cf_template_known(cf_str source);

/* The newest version with the name; NULL when `t` is that, or undated. */
const cf_known_template *cf_template_newer(const cf_known_template *t);

/*
 * One line about a row, without a newline, appended to `out`:
 *
 *   Gemma 4, version of 2026-04-10 (ollama/ollama 40a1317df); the newest known
 *   is of 2026-07-14; this one drops reasoning
 */
void cf_template_known_line(cf_buf *out, const cf_known_template *t);

/* The same as an object `key`, {"name","date","source","fault","newest"}, of
 * the object that is being written; null without a row, and "newest" null
 * where there is none. */
void cf_template_known_json(cf_jw *w, const char *key, const cf_known_template *t);

/* Row i; NULL past the last. */
const cf_known_template *cf_template_known_at(size_t i);

CF_END_DECLS

#endif
