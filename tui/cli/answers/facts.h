/*
 * facts.h - the members of a structure, described once for JSON and for text.
 *
 * A table of cf_fact names the members of a structure, their kinds and places.
 * cf_facts_json() writes all of them; cf_facts_text() fills the forms of a
 * text with those that it names.
 *
 * Threads:  no state.
 * Memory:   nothing is kept.
 */
#ifndef CF_TUI_CLI_ANSWERS_FACTS_H
#define CF_TUI_CLI_ANSWERS_FACTS_H

#include "core/json/json_writer.h"

typedef enum cf_fact_kind {
    CF_FACT_TEXT,  /* const char * */
    CF_FACT_CHARS, /* char [] ended by NUL */
    CF_FACT_STR,   /* cf_str */
    CF_FACT_BOOL,  /* bool */
    CF_FACT_U32,   /* uint32_t */
    CF_FACT_U64,   /* uint64_t */
    CF_FACT_SIZE,  /* size_t */
    CF_FACT_BYTES, /* uint64_t; in text "1.2 GiB" */
    CF_FACT_MS     /* double; three decimals in JSON */
} cf_fact_kind;

typedef struct cf_fact {
    const char *name; /* NULL ends a table */
    cf_fact_kind kind;
    size_t at; /* offset in the structure */
} cf_fact;

/* Writes the members of the structure `of` into the object that is open. */
void cf_facts_json(cf_jw *w, const cf_fact *facts, const void *of);

/* Whether the fact `name` is neither 0, false nor empty. */
bool cf_facts_has(const cf_fact *facts, const void *of, const char *name);

/*
 * Appends `form` with "{name}" replaced by the fact.  After a colon come width
 * and precision as for printf ("{n:-4}", "{ms:10.1}"); "{bytes:d}" is a number
 * of bytes in digits, "{n:M}" a number in millions with two decimals.
 */
void cf_facts_text(cf_buf *out, const char *form, const cf_fact *facts, const void *of);

/* "1.2 GiB" */
void cf_facts_size(cf_buf *out, uint64_t bytes);

#endif
