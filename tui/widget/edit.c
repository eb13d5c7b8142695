/*
 * edit.c - editing by clusters and words, undo, history.
 */
#include "tui/widget/edit.h"

#include <string.h>

#include "core/base/alloc.h"
#include "core/base/utf8.h"

void cf_edit_init(cf_edit *e, bool one_line)
{
    memset(e, 0, sizeof *e);
    e->one_line = one_line;
}

void cf_edit_deinit(cf_edit *e)
{
    cf_buf_deinit(&e->text);
    for (size_t i = 0; i < e->n_undo; i++) {
        cf_free(e->undo[i].text);
    }
    for (size_t i = 0; i < e->n_history; i++) {
        cf_free(e->history[i]);
    }
    cf_free(e->history);
    cf_free(e->unsent);
    cf_edit_init(e, e->one_line);
}

cf_str cf_edit_text(const cf_edit *e)
{
    return cf_buf_str(&e->text);
}

bool cf_edit_failed(cf_edit *e)
{
    bool failed = e->failed;
    e->failed = false;
    return failed;
}

/* ---- undo --------------------------------------------------------------- */

static void remember(cf_edit *e)
{
    char *copy = cf_strndup(cf_buf_cstr(&e->text), e->text.n);
    if (copy == NULL) {
        return; /* harmless: one step of undo less */
    }
    if (e->n_undo == CF_EDIT_UNDO_MAX) {
        cf_free(e->undo[0].text);
        memmove(e->undo, e->undo + 1, (CF_EDIT_UNDO_MAX - 1) * sizeof e->undo[0]);
        e->n_undo--;
    }
    e->undo[e->n_undo++] = (cf_edit_step){copy, e->text.n, e->cursor};
}

static void undo(cf_edit *e)
{
    if (e->n_undo == 0) {
        return;
    }
    cf_edit_step s = e->undo[--e->n_undo];
    cf_buf_restart(&e->text);
    cf_buf_add(&e->text, s.text, s.n);
    e->cursor = s.cursor;
    cf_free(s.text);
    e->last = CF_EDIT_NONE;
}

/* ---- changes ------------------------------------------------------------ */

/* Replaces bytes [from, to) and puts the cursor after the inserted text. */
static void replace(cf_edit *e, size_t from, size_t to, cf_str with)
{
    size_t tail = e->text.n - to;
    if (with.n > to - from && cf_buf_reserve(&e->text, with.n - (to - from)) == NULL) {
        cf_buf_rewind(&e->text, e->text.n); /* the text is as it was */
        e->failed = true;
        return;
    }
    if (e->text.p == NULL) {
        return; /* nothing there and nothing to insert */
    }
    memmove(e->text.p + from + with.n, e->text.p + to, tail);
    if (with.n != 0) {
        memcpy(e->text.p + from, with.p, with.n);
    }
    e->text.n = from + with.n + tail;
    e->text.p[e->text.n] = '\0';
    e->cursor = from + with.n;
}

static void insert(cf_edit *e, cf_str text)
{
    if (!e->one_line) {
        replace(e, e->cursor, e->cursor, text);
        return;
    }
    for (size_t i = 0; i < text.n;) { /* newlines become spaces */
        const char *nl = memchr(text.p + i, '\n', text.n - i);
        size_t end = nl != NULL ? (size_t)(nl - text.p) : text.n;
        replace(e, e->cursor, e->cursor, cf_str_make(text.p + i, end - i));
        if (nl != NULL) {
            replace(e, e->cursor, e->cursor, cf_str_make(" ", 1));
        }
        i = end + 1;
    }
}

void cf_edit_insert(cf_edit *e, cf_str text)
{
    remember(e);
    e->last = CF_EDIT_OTHER;
    insert(e, text);
}

void cf_edit_set(cf_edit *e, cf_str text)
{
    remember(e);
    e->last = CF_EDIT_OTHER;
    e->top = 0;
    replace(e, 0, e->text.n, text);
}

static void erase(cf_edit *e, size_t from, size_t to)
{
    if (from < to) {
        remember(e);
        e->last = CF_EDIT_OTHER;
        replace(e, from, to, cf_str_make("", 0));
    }
}

/* ---- places ------------------------------------------------------------- */

/* Start of the cluster before `at`: clusters are walked from a safe place, a
 * line start. */
static size_t before(const cf_edit *e, size_t at)
{
    size_t start = at;
    while (start > 0 && e->text.p[start - 1] != '\n') {
        start--;
    }
    if (start == at) {
        return at > 0 ? at - 1 : 0;
    }
    size_t last = start;
    cf_cluster c;
    for (size_t i = start;
         i < at && cf_cluster_next(&c, e->text.p, e->text.n, &i, 0, CF_SPACE_PLAIN);) {
        last = c.off;
    }
    return last;
}

static size_t after(const cf_edit *e, size_t at)
{
    cf_cluster c;
    size_t i = at;
    return cf_cluster_next(&c, e->text.p, e->text.n, &i, 0, CF_SPACE_PLAIN) ? i : at;
}

static bool is_word_byte(const cf_edit *e, size_t i)
{
    unsigned char b = (unsigned char)e->text.p[i];
    return b >= 0x80 || b == '_' || (b >= '0' && b <= '9') || (b >= 'A' && b <= 'Z') ||
           (b >= 'a' && b <= 'z');
}

static size_t word_before(const cf_edit *e, size_t at)
{
    while (at > 0 && !is_word_byte(e, at - 1)) {
        at--;
    }
    while (at > 0 && is_word_byte(e, at - 1)) {
        at--;
    }
    return at;
}

static size_t word_after(const cf_edit *e, size_t at)
{
    while (at < e->text.n && !is_word_byte(e, at)) {
        at++;
    }
    while (at < e->text.n && is_word_byte(e, at)) {
        at++;
    }
    return at;
}

static size_t line_start(const cf_edit *e, size_t at)
{
    while (at > 0 && e->text.p[at - 1] != '\n') {
        at--;
    }
    return at;
}

static size_t line_end(const cf_edit *e, size_t at)
{
    while (at < e->text.n && e->text.p[at] != '\n') {
        at++;
    }
    return at;
}

/* The wrapped line that holds byte `at`. */
static size_t find_line(const cf_wrapped *w, size_t at)
{
    size_t line = 0;
    while (line + 1 < w->n && w->v[line + 1].off <= at) {
        line++;
    }
    return line;
}

/* The byte in a wrapped line that is nearest to a column. */
static size_t byte_at_column(const cf_edit *e, const cf_line *line, size_t column)
{
    size_t end = line->off + line->len;
    size_t i = line->off;
    size_t used = 0;
    cf_cluster c;
    while (i < end) {
        size_t next = i;
        if (!cf_cluster_next(&c, e->text.p, end, &next, used, CF_SPACE_PLAIN) ||
            used + c.width > column) {
            break;
        }
        used += c.width;
        i = next;
    }
    return i;
}

static bool move_line(cf_edit *e, int by, int width)
{
    cf_wrapped w = {0};
    if (cf_wrapped_update(&w, cf_edit_text(e), width, NULL) != CF_OK) {
        return true;
    }
    size_t line = find_line(&w, e->cursor);
    bool moved = by < 0 ? line > 0 : line + 1 < w.n;
    if (moved) {
        size_t column = cf_text_width(e->text.p + w.v[line].off, e->cursor - w.v[line].off);
        line = by < 0 ? line - 1 : line + 1;
        e->cursor = byte_at_column(e, &w.v[line], column);
    }
    cf_wrapped_deinit(&w);
    return moved;
}

/* ---- history ------------------------------------------------------------ */

static void show_history(cf_edit *e, size_t row)
{
    if (e->browsing == e->n_history) {
        cf_free(e->unsent);
        e->unsent = cf_strdup(cf_buf_cstr(&e->text));
    }
    e->browsing = row;
    const char *text = row < e->n_history ? e->history[row] : e->unsent;
    replace(e, 0, e->text.n, cf_str_from(text != NULL ? text : ""));
    e->top = 0;
}

static void browse(cf_edit *e, int by)
{
    if (by < 0 && e->browsing > 0) {
        show_history(e, e->browsing - 1);
    } else if (by > 0 && e->browsing < e->n_history) {
        show_history(e, e->browsing + 1);
    }
}

void cf_edit_remember(cf_edit *e, cf_str text)
{
    if (text.n == 0) {
        return;
    }
    const char *newest = e->n_history != 0 ? e->history[e->n_history - 1] : "";
    if (cf_str_is(text, newest)) {
        return;
    }
    if (e->n_history == e->cap_history) {
        size_t cap = e->cap_history != 0 ? e->cap_history * 2 : 16;
        char **v = cf_realloc(e->history, cap, sizeof *v);
        if (v != NULL) {
            e->history = v;
            e->cap_history = cap;
        }
    }
    char *copy = cf_strndup(text.p, text.n);
    if (copy != NULL && e->n_history < e->cap_history) {
        e->history[e->n_history++] = copy;
    } else {
        cf_free(copy); /* harmless: one text less to come back to */
    }
    e->browsing = e->n_history;
}

void cf_edit_commit(cf_edit *e)
{
    cf_edit_remember(e, cf_edit_text(e));
    for (size_t i = 0; i < e->n_undo; i++) {
        cf_free(e->undo[i].text);
    }
    e->n_undo = 0;
    e->last = CF_EDIT_NONE;
    e->browsing = e->n_history;
    cf_free(e->unsent);
    e->unsent = NULL;
    replace(e, 0, e->text.n, cf_str_make("", 0));
    e->top = 0;
}

/* ---- keys --------------------------------------------------------------- */

static bool type(cf_edit *e, cf_key key)
{
    char text[4];
    if (e->last != CF_EDIT_TYPING || key == ' ') {
        remember(e);
    }
    e->last = CF_EDIT_TYPING;
    insert(e, cf_str_make(text, cf_utf8_encode(text, key)));
    return true;
}

static void up_or_down(cf_edit *e, int by, int width)
{
    if (e->one_line || !move_line(e, by, width)) {
        browse(e, by);
    }
}

static bool edit_key(cf_edit *e, cf_key key)
{
    switch (key) {
    case CF_KEY_BACKSPACE:
        erase(e, before(e, e->cursor), e->cursor);
        return true;
    case CF_KEY_DELETE:
    case CF_CTRL('D'):
        erase(e, e->cursor, after(e, e->cursor));
        return true;
    case CF_CTRL('W'):
    case CF_KEY_BACKSPACE | CF_KEY_CTRL:
    case CF_KEY_BACKSPACE | CF_KEY_ALT:
        erase(e, word_before(e, e->cursor), e->cursor);
        return true;
    case CF_KEY_ALT | 'd':
    case CF_KEY_DELETE | CF_KEY_CTRL:
    case CF_KEY_DELETE | CF_KEY_ALT:
        erase(e, e->cursor, word_after(e, e->cursor));
        return true;
    case CF_CTRL('U'): { /* where nothing is before it in the line, all lines before */
        size_t from = line_start(e, e->cursor);
        erase(e, from < e->cursor ? from : 0, e->cursor);
        return true;
    }
    case CF_CTRL('K'):
        erase(e, e->cursor, line_end(e, e->cursor));
        return true;
    case CF_CTRL('_'):
        undo(e);
        return true;
    case CF_KEY_NEWLINE:
    case CF_KEY_ALT | CF_KEY_ENTER:
    case CF_KEY_SHIFT | CF_KEY_ENTER:
        if (!e->one_line) {
            cf_edit_insert(e, cf_str_make("\n", 1));
        }
        return true;
    default:
        return false;
    }
}

static bool move_key(cf_edit *e, cf_key key)
{
    switch (key) {
    case CF_KEY_LEFT:
    case CF_CTRL('B'):
        e->cursor = before(e, e->cursor);
        break;
    case CF_KEY_RIGHT:
    case CF_CTRL('F'):
        e->cursor = after(e, e->cursor);
        break;
    case CF_KEY_HOME:
    case CF_CTRL('A'):
        e->cursor = line_start(e, e->cursor);
        break;
    case CF_KEY_END:
    case CF_CTRL('E'):
        e->cursor = line_end(e, e->cursor);
        break;
    case CF_KEY_ALT | 'b':
    case CF_KEY_LEFT | CF_KEY_CTRL:
    case CF_KEY_LEFT | CF_KEY_ALT:
        e->cursor = word_before(e, e->cursor);
        break;
    case CF_KEY_ALT | 'f':
    case CF_KEY_RIGHT | CF_KEY_CTRL:
    case CF_KEY_RIGHT | CF_KEY_ALT:
        e->cursor = word_after(e, e->cursor);
        break;
    case CF_KEY_HOME | CF_KEY_CTRL:
        e->cursor = 0;
        break;
    case CF_KEY_END | CF_KEY_CTRL:
        e->cursor = e->text.n;
        break;
    default:
        return false;
    }
    e->last = CF_EDIT_NONE;
    return true;
}

bool cf_edit_key(cf_edit *e, cf_key key, int width)
{
    if (cf_key_is_text(key)) {
        return type(e, key);
    }
    if (key >= CF_KEY_NAMED && key != (CF_KEY_SHIFT | CF_KEY_ENTER)) {
        key &= ~(cf_key)CF_KEY_SHIFT; /* there is no selection to extend */
    }
    if (key == CF_KEY_UP || key == CF_KEY_DOWN) {
        up_or_down(e, key == CF_KEY_UP ? -1 : 1, width);
        return true;
    }
    return edit_key(e, key) || move_key(e, key);
}

void cf_edit_draw(cf_edit *e, cf_grid *g, cf_rect r, bool focused)
{
    cf_wrapped w = {0};
    if (r.w < 2 || r.h < 1 || cf_wrapped_update(&w, cf_edit_text(e), r.w - 1, NULL) != CF_OK) {
        return;
    }
    size_t line = find_line(&w, e->cursor);
    size_t height = (size_t)r.h;
    if (line < e->top) {
        e->top = line;
    } else if (line >= e->top + height) {
        e->top = line - height + 1;
    }
    if (e->top >= w.n) {
        e->top = w.n - 1;
    }
    for (size_t i = 0; i < height && e->top + i < w.n; i++) {
        const cf_line *l = &w.v[e->top + i];
        cf_grid_put(g, r.x, r.y + (int)i, r.w, cf_str_make(cf_buf_cstr(&e->text) + l->off, l->len),
                    CF_STYLE_NORMAL);
    }
    if (focused) {
        const cf_line *l = &w.v[line];
        size_t in_line = e->cursor - l->off;
        size_t column =
            cf_text_width(cf_buf_cstr(&e->text) + l->off, in_line < l->len ? in_line : l->len);
        g->cursor_x = r.x + (int)(column < (size_t)r.w ? column : (size_t)r.w - 1);
        g->cursor_y = r.y + (int)(line - e->top);
    }
    cf_wrapped_deinit(&w);
}
