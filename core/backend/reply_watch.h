/*
 * reply_watch.h - notices a reply that will hardly end: tokens that repeat,
 * thinking that goes on and on, JSON that cannot end.
 *
 * Place in the flow:  tokens and text of a reply --> [watch] --> a line for the
 *                     user, once for each of the three.
 * Room-internal.  One thread at a time.
 */
#ifndef CF_CORE_BACKEND_REPLY_WATCH_H
#define CF_CORE_BACKEND_REPLY_WATCH_H

#include "core/api/loop.h"
#include "core/base/buf.h"

enum {
    CF_WATCH_THINKING = 8192,  /* tokens, of a model not known yet */
    CF_WATCH_THOUGHTS = 3,     /* replies that make a model known */
    CF_WATCH_TIMES = 4,        /* its longest thinking so far is the limit ... */
    CF_WATCH_LEAST = 1024,     /* ... and at least this */
    CF_WATCH_WORD = 32,        /* bytes; longer words are cut */
    CF_WATCH_JSON_DEPTH = 100, /* open brackets */
    CF_WATCH_JSON_BLANKS = 400,
    CF_WATCH_JSON_DIGITS = 200
};

/* What a model does: the thinking of its replies that ended by themselves. */
typedef struct cf_thinking_habit {
    size_t n, most; /* replies, and tokens of the longest */
} cf_thinking_habit;

void cf_thinking_habit_add(cf_thinking_habit *habit, size_t n_tokens);
/* Tokens of thinking from which on a reply goes beyond that. */
size_t cf_thinking_habit_limit(const cf_thinking_habit *habit);

typedef struct cf_reply_watch {
    cf_loop_watch *loop;  /* NULL: not watched */
    size_t most_thinking; /* tokens; 0: CF_WATCH_THINKING */
    uint32_t word;        /* hash of a word that has not ended yet */
    size_t n_word, n_words_thinking;
    bool told_loop, told_thinking, told_json;
    /* JSON, from the first '{' or '[' that begins the content on. */
    bool has_begun, is_json, in_string, is_escaped;
    size_t depth, n_blanks, n_digits;
} cf_reply_watch;

CF_MUST_USE cf_status cf_reply_watch_init(cf_reply_watch *w, cf_error *err);
void cf_reply_watch_deinit(cf_reply_watch *w);

/*
 * Adds a token and its bytes; n_thinking counts tokens of thinking so far.
 * Appends a line to `note` when there is something to say; the reply is in it
 * then and may be stopped.
 */
CF_MUST_USE cf_status cf_reply_watch_add(cf_reply_watch *w, cf_token id, cf_str piece,
                                         bool is_thinking, size_t n_thinking, cf_buf *note,
                                         cf_error *err);

/* The same for text without tokens, as servers send it: words take their
 * place. */
CF_MUST_USE cf_status cf_reply_watch_text(cf_reply_watch *w, cf_str text, bool is_thinking,
                                          cf_buf *note, cf_error *err);

#endif
