/*
 * reply_watch.c - three signs of a reply without an end.
 */
#include "core/backend/reply_watch.h"

cf_status cf_reply_watch_init(cf_reply_watch *w, cf_error *err)
{
    *w = (cf_reply_watch){.loop = NULL};
    return cf_loop_watch_new(&w->loop, err);
}

void cf_reply_watch_deinit(cf_reply_watch *w)
{
    cf_loop_watch_free(w->loop);
    w->loop = NULL;
}

/* Counts a byte of content; outside a string white space and digits in a row,
 * and open brackets. */
static void see_byte(cf_reply_watch *w, char c)
{
    bool is_blank = c == ' ' || c == '\n' || c == '\t' || c == '\r';
    if (!w->has_begun && !is_blank) {
        w->has_begun = true;
        w->is_json = c == '{' || c == '[';
    }
    if (!w->is_json) {
        return;
    }
    if (w->in_string) {
        w->in_string = w->is_escaped || c != '"';
        w->is_escaped = !w->is_escaped && c == '\\';
        return;
    }
    w->n_blanks = is_blank ? w->n_blanks + 1 : 0;
    w->n_digits = c >= '0' && c <= '9' ? w->n_digits + 1 : 0;
    w->in_string = c == '"';
    w->depth += c == '{' || c == '[';
    w->depth -= (c == '}' || c == ']') && w->depth > 0;
    if (w->depth == 0 && (c == '}' || c == ']')) {
        w->is_json = false; /* it ended */
    }
}

static const char *json_trouble(const cf_reply_watch *w)
{
    return !w->is_json                          ? NULL
           : w->depth > CF_WATCH_JSON_DEPTH     ? "brackets open and open"
           : w->n_blanks > CF_WATCH_JSON_BLANKS ? "white space goes on and on"
           : w->n_digits > CF_WATCH_JSON_DIGITS ? "a number has no end"
                                                : NULL;
}

void cf_thinking_habit_add(cf_thinking_habit *habit, size_t n_tokens)
{
    habit->n += n_tokens > 0;
    habit->most = n_tokens > habit->most ? n_tokens : habit->most;
}

size_t cf_thinking_habit_limit(const cf_thinking_habit *habit)
{
    size_t limit = habit->most * CF_WATCH_TIMES;
    if (habit->n < CF_WATCH_THOUGHTS) {
        return limit > CF_WATCH_THINKING ? limit : CF_WATCH_THINKING;
    }
    return limit > CF_WATCH_LEAST ? limit : CF_WATCH_LEAST;
}

/* Says each of the three once; `unit` is what the loop counts. */
static void say(cf_reply_watch *w, const char *unit, bool is_thinking, size_t n_thinking,
                cf_buf *note)
{
    cf_loop loop = cf_loop_watch_get(w->loop);
    const char *trouble = json_trouble(w);
    size_t most = w->most_thinking != 0 ? w->most_thinking : CF_WATCH_THINKING;
    if (loop.length > 0 && !w->told_loop) {
        cf_buf_addf(note,
                    "the reply is in a loop: from %s %zu on it repeats %zu "
                    "%s%s, %zu times so far",
                    unit, loop.first, loop.period, unit, loop.period == 1 ? "" : "s",
                    loop.length / loop.period);
    } else if (is_thinking && n_thinking >= most && !w->told_thinking) {
        w->told_thinking = true;
        cf_buf_addf(note, "the reply has been thinking for %zu %ss", n_thinking, unit);
        if (most != CF_WATCH_THINKING) {
            cf_buf_adds(note, ", much longer than this model does");
        }
    } else if (trouble != NULL && !w->told_json) {
        w->told_json = true;
        cf_buf_addf(note, "the reply's JSON cannot end like this: %s", trouble);
    }
    w->told_loop = loop.length > 0; /* again after it came out */
}

cf_status cf_reply_watch_add(cf_reply_watch *w, cf_token id, cf_str piece, bool is_thinking,
                             size_t n_thinking, cf_buf *note, cf_error *err)
{
    CF_TRY(cf_loop_watch_add(w->loop, id, err));
    for (size_t i = 0; !is_thinking && i < piece.n; i++) {
        see_byte(w, piece.p[i]);
    }
    say(w, "token", is_thinking, n_thinking, note);
    return cf_buf_check(note, err);
}

/* FNV-1a, 31 bits: a word's number, in place of a token's. */
static cf_status end_word(cf_reply_watch *w, bool is_thinking, cf_error *err)
{
    cf_token id = (cf_token)(w->word & INT32_MAX);
    w->word = 0;
    w->n_word = 0;
    w->n_words_thinking += is_thinking;
    return cf_loop_watch_add(w->loop, id, err);
}

cf_status cf_reply_watch_text(cf_reply_watch *w, cf_str text, bool is_thinking, cf_buf *note,
                              cf_error *err)
{
    for (size_t i = 0; i < text.n; i++) {
        char c = text.p[i];
        bool is_blank = c == ' ' || c == '\n' || c == '\t' || c == '\r';
        if (!is_thinking) {
            see_byte(w, c);
        }
        if (!is_blank) {
            w->word = w->n_word == 0 ? 2166136261u : w->word;
            w->word = (w->word ^ (unsigned char)c) * 16777619u;
            w->n_word++;
        }
        if (w->n_word == CF_WATCH_WORD || (is_blank && w->n_word > 0)) {
            CF_TRY(end_word(w, is_thinking, err));
            if (note->n == 0) {
                say(w, "word", is_thinking, w->n_words_thinking, note);
            }
        }
    }
    if (note->n == 0) {
        say(w, "word", is_thinking, w->n_words_thinking, note);
    }
    return cf_buf_check(note, err);
}
