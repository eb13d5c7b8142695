/*
 * xchg_feed.c - reads a file through a window.
 *
 * Invariants
 * 1. p[at..n) are the next bytes of the text; the window begins at or before
 *    `at`, and bytes before it are never needed again.
 * 2. The window grows only while one record is looked for, and at most to
 *    `max` and one piece.
 */
#include "storage/exchange/xchg_feed.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/os.h"

enum { PIECE = 256 * 1024, LOOK_MS = 50 };

void cf_feed__init_bytes(cf_feed *f, const char *p, size_t n, size_t max)
{
    *f = (cf_feed){.from = -1, .p = p, .n = n, .max = max, .line = 1, .is_end = true};
}

static cf_status fail_file(const cf_feed *f, int code, cf_error *err)
{
    char why[CF_OS_WHY];
    return cf_fail(err, code == ENOENT ? CF_ENOTFOUND : CF_EIO, "%s: %s", f->path,
                   cf_os_why(why, code));
}

cf_status cf_feed__open(cf_feed *f, const char *path, size_t max, cf_error *err)
{
    *f = (cf_feed){.path = path, .max = max, .line = 1};
    /* A FIFO is not waited for here, where nothing can stop it. */
    f->from = strcmp(path, "-") == 0 ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    return f->from >= 0 ? CF_OK : fail_file(f, errno, err);
}

void cf_feed__close(cf_feed *f)
{
    if (f->from > STDIN_FILENO) {
        (void)close(f->from);
    }
    cf_free(f->heap);
    *f = (cf_feed){.from = -1, .is_end = true};
}

/* Waits for bytes and reads some; *got is 0 at the end. */
static cf_status read_piece(const cf_feed *f, char *to, size_t *got, cf_error *err)
{
    for (;;) {
        struct pollfd p = {.fd = f->from, .events = POLLIN};
        int ready = poll(&p, 1, LOOK_MS);
        if (f->cancel != NULL && atomic_load(f->cancel)) {
            return cf_fail(err, CF_ECANCELLED, "interrupted");
        }
        ssize_t n = ready > 0 ? read(f->from, to, PIECE) : -1;
        if (n >= 0) {
            *got = (size_t)n;
            return CF_OK;
        }
        if (ready > 0 && errno != EINTR && errno != EAGAIN) {
            return fail_file(f, errno, err);
        }
    }
}

/* Another piece into the window, which loses what has been consumed. */
static cf_status more(cf_feed *f, cf_error *err)
{
    if (f->is_end) {
        return CF_OK;
    }
    size_t left = f->n - f->at;
    if (f->at != 0) {
        memmove(f->heap, f->heap + f->at, left);
        f->at = 0;
        f->n = left;
    }
    if (f->cap - f->n < PIECE && !cf_grow(&f->heap, &f->cap, f->n + PIECE, 1)) {
        return cf_oom_for(err, "the file");
    }
    f->p = f->heap;
    size_t got = 0;
    CF_TRY(read_piece(f, f->heap + f->n, &got, err));
    f->n += got;
    f->is_end = got == 0;
    return CF_OK;
}

cf_status cf_feed__ahead(cf_feed *f, size_t want, cf_str *out, cf_error *err)
{
    while (f->n - f->at < want && !f->is_end) {
        CF_TRY(more(f, err));
    }
    *out = cf_str_make(f->p + f->at, f->n - f->at);
    return CF_OK;
}

void cf_feed__consume(cf_feed *f, size_t n)
{
    const char *p = f->p + f->at;
    const char *end = p + n;
    while (p < end && (p = memchr(p, '\n', (size_t)(end - p))) != NULL) {
        f->line++;
        p++;
    }
    f->at += n;
}

/* ---- scanning ----------------------------------------------------------- */

typedef enum mode { TEXT, STRING, ESCAPE, SLASH, LINE_COMMENT, COMMENT, STAR } mode;

typedef struct scan {
    size_t depth;
    mode mode;
} scan;

typedef enum step { GOES_ON, ENDS_AFTER, ENDS_BEFORE } step;

static step scan_text(scan *s, char c)
{
    switch (c) {
    case '"':
        s->mode = STRING;
        return GOES_ON;
    case '/':
        s->mode = SLASH;
        return GOES_ON;
    case '{':
    case '[':
        s->depth++;
        return GOES_ON;
    case '}':
    case ']':
        if (s->depth == 0) {
            return ENDS_BEFORE;
        }
        s->depth--;
        return s->depth == 0 ? ENDS_AFTER : GOES_ON;
    case ',':
    case '\n':
        return s->depth == 0 ? ENDS_BEFORE : GOES_ON;
    default:
        return GOES_ON;
    }
}

/* One more byte of a value.  A string ends with its line at the latest: a
 * quote that is missing does not spoil the lines after it. */
static step scan_byte(scan *s, char c)
{
    switch (s->mode) {
    case TEXT:
        return scan_text(s, c);
    case STRING:
        s->mode = c == '\\' ? ESCAPE : c == '"' || c == '\n' ? TEXT : STRING;
        return GOES_ON;
    case ESCAPE:
        s->mode = STRING;
        return GOES_ON;
    case SLASH:
        s->mode = c == '/' ? LINE_COMMENT : c == '*' ? COMMENT : TEXT;
        return s->mode == TEXT ? scan_text(s, c) : GOES_ON;
    case LINE_COMMENT:
        s->mode = c == '\n' ? TEXT : LINE_COMMENT;
        return GOES_ON;
    case COMMENT:
        s->mode = c == '*' ? STAR : COMMENT;
        return GOES_ON;
    case STAR:
        s->mode = c == '/' ? TEXT : c == '*' ? STAR : COMMENT;
        return GOES_ON;
    }
    return GOES_ON;
}

/* The record is [off, end) after `at`. */
static cf_status found(cf_feed *f, size_t off, size_t end, cf_str *out, bool *is_long)
{
    *is_long = *is_long || end - off > f->max;
    if (*is_long) {
        cf_feed__consume(f, end);
        end = off = 0;
    }
    *out = cf_str_make(f->p + f->at + off, end - off);
    return CF_OK;
}

/* Finds the end of what `step_of` scans; see cf_feed__value(). */
static cf_status find_end(cf_feed *f, size_t off, step (*step_of)(scan *, char), cf_str *out,
                          bool *is_long, cf_error *err)
{
    scan s = {0, TEXT};
    size_t i = off; /* <= n - at */
    *is_long = false;
    for (;;) {
        while (f->at + i < f->n) {
            step end = step_of(&s, f->p[f->at + i]);
            i += end != ENDS_BEFORE;
            if (end == GOES_ON) {
                continue;
            }
            return found(f, off, i, out, is_long);
        }
        if (f->is_end) {
            return found(f, off, i, out, is_long);
        }
        if (*is_long || i > f->max) {
            *is_long = true;
            cf_feed__consume(f, i);
            i = off = 0;
        }
        CF_TRY(more(f, err));
    }
}

static step line_byte(scan *s, char c)
{
    (void)s;
    return c == '\n' ? ENDS_BEFORE : GOES_ON;
}

cf_status cf_feed__line(cf_feed *f, cf_str *out, bool *is_long, cf_error *err)
{
    return find_end(f, 0, line_byte, out, is_long, err);
}

cf_status cf_feed__value(cf_feed *f, size_t off, cf_str *out, bool *is_long, cf_error *err)
{
    return find_end(f, off, scan_byte, out, is_long, err);
}

/* The length of the comment that starts at `at`; 0 where there is none. */
static cf_status comment_length(cf_feed *f, size_t *n, cf_error *err)
{
    cf_str s;
    *n = 0;
    CF_TRY(cf_feed__ahead(f, 2, &s, err));
    if (s.n < 2 || s.p[0] != '/' || (s.p[1] != '/' && s.p[1] != '*')) {
        return CF_OK;
    }
    scan state = {0, TEXT};
    for (size_t i = 0; i < f->max; i++) {
        CF_TRY(cf_feed__ahead(f, i + 1, &s, err));
        if (i >= s.n) {
            *n = i;
            return CF_OK;
        }
        (void)scan_byte(&state, s.p[i]);
        if (i > 1 && state.mode == TEXT) {
            *n = i + 1;
            return CF_OK;
        }
    }
    return CF_OK;
}

cf_status cf_feed__skip(cf_feed *f, bool with_commas, int *c, cf_error *err)
{
    for (;;) {
        cf_str s;
        size_t n = 0;
        CF_TRY(cf_feed__ahead(f, 1, &s, err));
        while (n < s.n && (cf_is_blank(s.p[n]) || (with_commas && s.p[n] == ','))) {
            n++;
        }
        bool is_all = n == s.n;
        *c = is_all ? CF_FEED_END : (unsigned char)s.p[n];
        cf_feed__consume(f, n);
        if (is_all && f->is_end) {
            return CF_OK;
        }
        if (is_all) {
            continue;
        }
        if (*c != '/') {
            return CF_OK;
        }
        CF_TRY(comment_length(f, &n, err));
        if (n == 0) {
            return CF_OK;
        }
        cf_feed__consume(f, n);
    }
}

/* ---- lenient JSON ------------------------------------------------------- */

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '$' || c == '-';
}

/* Copies the word at s.p[i], in quotes if a colon follows. */
static size_t put_word(cf_buf *out, cf_str s, size_t i)
{
    size_t end = i;
    while (end < s.n && is_word(s.p[end])) {
        end++;
    }
    size_t next = end;
    while (next < s.n && cf_is_blank(s.p[next])) {
        next++;
    }
    bool is_key = next < s.n && s.p[next] == ':';
    cf_buf_adds(out, is_key ? "\"" : "");
    cf_buf_add(out, s.p + i, end - i);
    cf_buf_adds(out, is_key ? "\"" : "");
    return end;
}

static bool in_comment(mode m)
{
    return m == LINE_COMMENT || m == COMMENT || m == STAR;
}

void cf_feed__relax(cf_buf *out, cf_str s)
{
    scan state = {0, TEXT};
    size_t comma = SIZE_MAX; /* in `out`, with nothing but blanks after it */
    for (size_t i = 0; i < s.n && !out->failed;) {
        char c = s.p[i];
        mode was = state.mode;
        bool begins =
            was == TEXT && c == '/' && i + 1 < s.n && (s.p[i + 1] == '/' || s.p[i + 1] == '*');
        if (was == TEXT && is_word(c)) {
            comma = SIZE_MAX;
            i = put_word(out, s, i);
            continue;
        }
        (void)scan_byte(&state, c);
        i++;
        if (begins || in_comment(was) || in_comment(state.mode)) {
            cf_buf_addc(out, c == '\n' ? '\n' : ' ');
            continue;
        }
        if (was == TEXT && (c == '}' || c == ']') && comma != SIZE_MAX) {
            out->p[comma] = ' ';
        }
        if (was == TEXT && c == ',') {
            comma = out->n;
        } else if (!(was == TEXT && cf_is_blank(c))) {
            comma = SIZE_MAX;
        }
        cf_buf_addc(out, c);
    }
}
