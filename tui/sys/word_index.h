/*
 * word_index.h - rows of the program's own tables found by words, best first.
 *
 * Place in the flow:  commands, options, keys and settings --> [word index] -->
 *                     `confab help --search`, `:help TOPIC`.
 * Knows: names, keys and help texts.  Does not know: what they do.
 *
 * A word counts the more, the fewer rows have it, and more in a name than in the
 * help text.  "How", "the" and words like them count nothing.  A key ("press S",
 * "^L", "]d") or a name (":retry", "--no-store", "confab run") counts most.
 *
 * Memory:   owns copies of the rows; without memory for one, the search fails.
 */
#ifndef CF_TUI_SYS_WORD_INDEX_H
#define CF_TUI_SYS_WORD_INDEX_H

#include "core/base/arena.h"
#include "core/base/buf.h"

typedef struct cf_word_index {
    cf_arena arena;
    struct cf_word_index_row *row; /* [n] */
    size_t n, cap;
    bool failed;
} cf_word_index;

void cf_word_index_init(cf_word_index *f);
void cf_word_index_deinit(cf_word_index *f);

/* `where`: "Tokens", "confab run", "setting"; `keys`: in effect, "" for none. */
void cf_word_index_add(cf_word_index *f, const char *where, const char *keys, const char *name,
                       const char *help);

/* Appends at most `max` rows, two lines each: keys, name and where; help, of a
 * long one the beginning.  None that fits less than half as well as the first;
 * nothing where no row has one of the words; with SIZE_MAX all rows.  CF_ENOMEM. */
CF_MUST_USE cf_status cf_word_index_write(const cf_word_index *f, const char *question, size_t max,
                                          cf_buf *out, cf_error *err);

/* The same as an answer: the best rows; of a question without a word all; where
 * nothing is found, a line that begins so and names the key of ":help". */
#define CF_NOTHING_FOUND "Nothing is found"
CF_MUST_USE cf_status cf_word_index_answer(const cf_word_index *f, const char *question,
                                           cf_buf *out, cf_error *err);

#endif
