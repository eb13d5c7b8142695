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

cf_status cf_reply_watch_add(cf_reply_watch *w, cf_token id, cf_str piece,
                             bool is_thinking, size_t n_thinking, cf_buf *note,
                             cf_error *err)
{
    CF_TRY(cf_loop_watch_add(w->loop, id, err));
    cf_loop loop = cf_loop_watch_get(w->loop);
    for (size_t i = 0; !is_thinking && i < piece.n; i++) {
        see_byte(w, piece.p[i]);
    }
    const char *trouble = json_trouble(w);
    if (loop.length > 0 && !w->told_loop) {
        cf_buf_addf(note,
                    "the reply is in a loop: from token %zu on it repeats %zu "
                    "token%s, %zu times so far",
                    loop.first, loop.period, loop.period == 1 ? "" : "s",
                    loop.length / loop.period);
    } else if (is_thinking && n_thinking >= CF_WATCH_THINKING &&
               !w->told_thinking) {
        w->told_thinking = true;
        cf_buf_addf(note, "the reply has been thinking for %zu tokens",
                    n_thinking);
    } else if (trouble != NULL && !w->told_json) {
        w->told_json = true;
        cf_buf_addf(note, "the reply's JSON cannot end like this: %s", trouble);
    }
    w->told_loop = loop.length > 0; /* again after it came out */
    return cf_buf_check(note, err);
}
