/*
 * text_cut.c - where sentences and words end.
 */
#include "core/base/text_cut.h"

#include <string.h>

/* The end of a sentence that begins at `at`: after a line break, or after a
 * mark that white space or the end of the text follows. */
static size_t sentence_end(cf_str t, size_t at)
{
    while (at < t.n && t.p[at] != '\n') {
        char c = t.p[at++];
        bool is_wide = at >= 3 && memcmp(t.p + at - 3, "\xE3\x80\x82", 3) == 0;
        if (c != '.' && c != '!' && c != '?' && !is_wide) {
            continue;
        }
        while (at < t.n && strchr(".!?\"')]*", t.p[at]) != NULL) {
            at++;
        }
        if (is_wide || at == t.n || cf_is_blank(t.p[at])) {
            return at;
        }
    }
    return at;
}

void cf_text_cut(cf_str t, bool words, bool (*fn)(void *ud, size_t off, size_t len), void *ud)
{
    size_t at = 0;
    while (at < t.n && cf_is_blank(t.p[at])) {
        at++;
    }
    at = at == t.n ? at : 0; /* blanks alone are nothing */
    while (at < t.n) {
        size_t end = at;
        while (end < t.n && cf_is_blank(t.p[end])) {
            end++;
        }
        if (words) {
            while (end < t.n && !cf_is_blank(t.p[end])) {
                end++;
            }
        } else {
            end = sentence_end(t, end);
        }
        while (end < t.n && cf_is_blank(t.p[end])) {
            end++;
        }
        if (!fn(ud, at, end - at)) {
            return;
        }
        at = end;
    }
}
