/*
 * demo_notes.c - the two tools that use the history: notes are found in it,
 * messages are put into it.
 *
 * A query of the model becomes words only, so that nothing in it is a filter
 * or an operator of the search.
 */
#include "tui/demo/demo_notes.h"

#include <stdio.h>
#include <string.h>

#include "core/base/utf8.h"
#include "storage/store.h"
#include "tui/demo/demo_impl.h"

enum { WORDS = 8, WORD_MAX = 40, NOTE_MAX = 200, LOOKED_AT = 30 };
enum { TO_MAX = 200, TEXT_MAX = 4000 };

const char *const cf_demo_prepared_notes[] = {
    "The garage code is 4711; the spare key hangs behind the water meter.",
    "Birthday of Mia: 14 March. She wants a book about whales.",
    "Pasta dough: 100 g flour and one egg a person, rest for 30 minutes.",
    "The boiler was serviced in October; the next date is in two years.",
    "Train to Bergen: platform 4, seat 27 in coach 3, no transfer.",
    NULL,
};

typedef struct words {
    char v[WORDS][WORD_MAX];
    size_t n;
} words;

static bool is_word_byte(char c)
{
    unsigned char b = (unsigned char)c;
    return b >= 0x80 || (b >= '0' && b <= '9') || (b >= 'A' && b <= 'Z') || (b >= 'a' && b <= 'z');
}

static void read_words(words *w, cf_str text)
{
    w->n = 0;
    for (size_t at = 0; at < text.n && w->n < WORDS;) {
        size_t n = 0;
        while (at + n < text.n && is_word_byte(text.p[at + n])) {
            n++;
        }
        if (n > 0 && n < WORD_MAX && cf_utf8_valid_prefix(text.p + at, n) == n) {
            snprintf(w->v[w->n++], WORD_MAX, "%.*s", (int)n, text.p + at);
        }
        at += n + 1;
    }
}

/* ---- found in the history ----------------------------------------------- */

static bool is_there(const json_t *notes, const char *p, size_t n)
{
    for (size_t i = 0; i < json_array_size(notes); i++) {
        const json_t *v = json_array_get(notes, i);
        if (json_string_length(v) == n && memcmp(json_string_value(v), p, n) == 0) {
            return true;
        }
    }
    return false;
}

static bool add_note(json_t *notes, cf_str text)
{
    size_t n = text.n < NOTE_MAX ? text.n : NOTE_MAX;
    n -= n < text.n ? cf_utf8_incomplete_tail(text.p, n) : 0;
    return is_there(notes, text.p, n) || json_array_append_new(notes, json_stringn(text.p, n)) == 0;
}

/* Adds what the history has for words from[0..n), followed by `filter`.
 * A search that fails finds nothing; false: memory ran out. */
static bool search(const cf_demo *demo, cf_uuid here, char (*from)[WORD_MAX], size_t n,
                   const char *filter, json_t *notes)
{
    cf_arena arena;
    cf_buf text = CF_BUF_INIT;
    cf_store_hits hits = {0};
    cf_error err = {0};
    bool ok = true;
    for (size_t i = 0; i < n; i++) {
        cf_buf_addf(&text, "%s* ", from[i]);
    }
    cf_buf_adds(&text, filter);
    cf_arena_init(&arena, 0);
    cf_store_query q = {.text = cf_buf_str(&text), .limit = LOOKED_AT, .max_ms = 1000};
    if (text.failed || cf_store_search(demo->store, &q, &arena, &hits, &err) != CF_OK) {
        ok = !text.failed && err.code != CF_ENOMEM;
        hits.n = 0;
    }
    for (size_t i = 0; ok && i < hits.n; i++) {
        const cf_store_hit *h = &hits.v[i];
        bool is_said = cf_str_is(h->role, "user") || cf_str_is(h->role, "assistant");
        if (!is_said || cf_uuid_is_nil(h->turn) || cf_uuid_eq(h->conversation, here)) {
            continue;
        }
        if (json_array_size(notes) == CF_DEMO_NOTES) {
            break;
        }
        ok = add_note(notes, h->snippet);
    }
    cf_arena_deinit(&arena);
    cf_buf_deinit(&text);
    return ok;
}

/* All words, then any of them; among the notes, then everywhere. */
static bool search_history(const cf_demo *demo, cf_uuid here, words *w, json_t *notes)
{
    static const char *const filters[] = {"tag:" CF_DEMO_NOTES_TAG, ""};
    for (int pass = 0; pass < 2; pass++) {
        if (!search(demo, here, w->v, w->n, filters[pass], notes)) {
            return false;
        }
        for (size_t i = 0; pass == 0 && i < w->n && json_array_size(notes) == 0; i++) {
            if (strlen(w->v[i]) > 3 && !search(demo, here, &w->v[i], 1, filters[pass], notes)) {
                return false;
            }
        }
        if (json_array_size(notes) != 0) {
            return true;
        }
    }
    return true;
}

/* ---- found among the prepared ones -------------------------------------- */

static bool has_word(const char *text, const char *word)
{
    size_t n = strlen(word);
    for (; *text != '\0'; text++) {
        size_t i = 0;
        while (i < n && (text[i] | 0x20) == (word[i] | 0x20)) {
            i++;
        }
        if (i == n) {
            return true;
        }
    }
    return false;
}

static bool search_prepared(const words *w, json_t *notes)
{
    for (const char *const *note = cf_demo_prepared_notes; *note != NULL; note++) {
        bool all = true;
        for (size_t i = 0; i < w->n; i++) {
            all = all && has_word(*note, w->v[i]);
        }
        if (all && json_array_size(notes) < CF_DEMO_NOTES && !add_note(notes, cf_str_from(*note))) {
            return false;
        }
    }
    return true;
}

json_t *cf_demo__notes(cf_demo *demo, cf_uuid here, const json_t *arguments)
{
    words w;
    read_words(&w, cf_json_get_str(arguments, "query"));
    if (w.n == 0) {
        return cf_demo__error("query holds no word to look for");
    }
    json_t *notes = json_array();
    bool ok = notes != NULL && (demo->store != NULL ? search_history(demo, here, &w, notes)
                                                    : search_prepared(&w, notes));
    if (!ok) {
        json_decref(notes);
        return NULL;
    }
    return cf_demo__with("notes", notes);
}

/* ---- the outbox --------------------------------------------------------- */

/* The conversation that is the outbox, and its last turn; made when there is
 * none. */
static cf_status find_outbox(cf_store *store, cf_uuid *conv, cf_uuid *last, cf_error *err)
{
    cf_arena arena;
    const cf_store_conv *rows;
    size_t n = 0;
    cf_store_query q = {.tag = cf_str_from(CF_DEMO_OUTBOX_TAG), .limit = 1};
    cf_arena_init(&arena, 0);
    cf_status st = cf_store_list(store, &q, &arena, &rows, &n, err);
    *last = (cf_uuid){{0}};
    if (st == CF_OK && n > 0) {
        *conv = rows[0].id;
        *last = rows[0].head;
    } else if (st == CF_OK) {
        const cf_str tag = cf_str_from(CF_DEMO_OUTBOX_TAG);
        const cf_store_conv made = {.title = cf_str_from("Outbox"), .tags = &tag, .n_tags = 1};
        st = cf_store_put_conv(store, &made, conv, err);
    }
    cf_arena_deinit(&arena);
    return st;
}

static cf_status put_message(cf_store *store, cf_str to, cf_str text, cf_error *err)
{
    cf_uuid conv, last;
    cf_buf json = CF_BUF_INIT, line = CF_BUF_INIT;
    CF_TRY(find_outbox(store, &conv, &last, err));
    cf_buf_addf(&line, "To %.*s: %.*s", (int)to.n, to.p, (int)text.n, text.p);
    cf_buf_adds(&json, "{\"role\":\"user\",\"content\":");
    cf_json_write_str(&json, cf_buf_str(&line));
    cf_buf_addc(&json, '}');
    json.failed = json.failed || line.failed;
    cf_status st = cf_buf_check(&json, err);
    if (st == CF_OK) {
        const cf_store_turn turn = {.conversation = conv,
                                    .parent = last,
                                    .fork_token = -1,
                                    .finished_ms = -1,
                                    .status = CF_TURN_OK,
                                    .message = cf_buf_str(&json)};
        st = cf_store_put_turn(store, &turn, NULL, err);
    }
    cf_buf_deinit(&json);
    cf_buf_deinit(&line);
    return st;
}

json_t *cf_demo__message(cf_demo *demo, cf_uuid here, const json_t *arguments)
{
    (void)here;
    cf_str to = cf_json_get_str(arguments, "to");
    cf_str text = cf_json_get_str(arguments, "text");
    cf_error err;
    if (to.n == 0 || to.n > TO_MAX || text.n == 0 || text.n > TEXT_MAX) {
        return cf_demo__error("to and text are texts, of at most %d and %d "
                              "bytes",
                              TO_MAX, TEXT_MAX);
    }
    if (demo->store == NULL) {
        return cf_demo__error("there is no outbox: history is off");
    }
    cf_status st = put_message(demo->store, to, text, &err);
    if (st == CF_ENOMEM) {
        return NULL;
    }
    if (st != CF_OK && st != CF_EBUSY) { /* waiting in memory is kept */
        return cf_demo__error("%s", err.text);
    }
    return json_pack("{s:s,s:s%}", "status", "stored in the local outbox", "to", to.p, to.n);
}
