/*
 * exchange_desk.h - a new history that files of other programs are read into
 * and written from.
 *
 * The functions fail the test where something goes wrong.
 */
#ifndef CF_TESTS_SUPPORT_EXCHANGE_DESK_H
#define CF_TESTS_SUPPORT_EXCHANGE_DESK_H

#include "storage/exchange.h"

typedef struct cf_exchange_desk {
    cf_store *s;
    cf_import_report report; /* of the last import */
    char notes[4000];        /* of all imports, "LINE:text;" each */
    uint64_t first_line;     /* of the first note */
    cf_arena a;
} cf_exchange_desk;

/* The history is a file of its own in store_dir.h's folder. */
void cf_exchange_open(cf_exchange_desk *d);
void cf_exchange_close(cf_exchange_desk *d);

/* For cf_import_options.note; `ud` is the desk. */
void cf_exchange_note(void *ud, uint64_t line, const char *text);
/* Imports a text; notes come to the desk. */
void cf_exchange_import(cf_exchange_desk *d, const char *text, cf_import_options o);
/* Appends the whole history, the oldest conversation first. */
void cf_exchange_export(cf_exchange_desk *d, cf_format format, cf_buf *out);

/* All conversations, the newest first, in the arena. */
size_t cf_exchange_list(cf_exchange_desk *d, const cf_store_conv **rows);
/* The tree of the only one. */
cf_store_tree cf_exchange_tree(cf_exchange_desk *d);
/* Turn i of it has this message. */
void cf_exchange_says(const cf_store_tree *t, size_t i, const char *json);

#endif
