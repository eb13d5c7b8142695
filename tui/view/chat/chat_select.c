/*
 * chat_select.c - lines of the transcript, selected to be copied or written.
 *
 * The selection ends with the mode VISUAL, but for a ":" line that is begun
 * in it, which may still use it.
 */
#include "tui/view/chat/chat.h"

/* Moves the end of the selection and keeps it in sight. */
static void go(cf_chat *s, size_t line)
{
    size_t last = s->layout.n != 0 ? s->layout.start[s->layout.n] - 1 : 0;
    s->mark_end = line < last ? line : last;
    if (s->mark_end < s->top) {
        s->top = s->mark_end;
    } else if (s->mark_end >= s->top + s->height && s->height > 0) {
        s->top = s->mark_end - s->height + 1;
    }
}

void cf_chat__select(cf_app *app)
{
    cf_chat *s = cf_chat__state(app);
    cf_chat__settle_cursor(app);
    if (s->width == 0 || !cf_chat__lay_out(app, s->width) || s->cursor >= s->layout.n) {
        return; /* nothing to select */
    }
    size_t line = s->layout.start[s->cursor] + 1; /* below its head */
    s->follows = false;
    s->mark = line > s->top ? line : s->top;
    s->has_mark = true;
    go(s, s->mark);
    app->mode = CF_MODE_VISUAL;
}

static void copy(cf_app *app)
{
    cf_buf text = CF_BUF_INIT;
    cf_chat__selected_text(app, &text);
    cf_app_copy(app, cf_buf_str(&text));
    cf_buf_deinit(&text);
}

bool cf_chat__select_key(cf_app *app, cf_key key)
{
    cf_chat *s = cf_chat__state(app);
    size_t half = s->height > 1 ? s->height / 2 : 1;
    if (!cf_chat__lay_out(app, s->width)) {
        return true;
    }
    switch (key) {
    case 'j':
    case CF_KEY_DOWN:
        go(s, s->mark_end + 1);
        return true;
    case 'k':
    case CF_KEY_UP:
        go(s, s->mark_end > 0 ? s->mark_end - 1 : 0);
        return true;
    case CF_CTRL('D'):
    case CF_KEY_PAGE_DOWN:
        go(s, s->mark_end + half);
        return true;
    case CF_CTRL('U'):
    case CF_KEY_PAGE_UP:
        go(s, s->mark_end > half ? s->mark_end - half : 0);
        return true;
    case 'g':
    case CF_KEY_HOME:
        go(s, 0);
        return true;
    case 'G':
    case CF_KEY_END:
        go(s, SIZE_MAX);
        return true;
    case 'y':
    case CF_KEY_ENTER:
        copy(app);
        break;
    case 'v':
    case CF_KEY_ESC:
        break;
    case ':':
        return false; /* a command, and it may be about the selection */
    default:
        s->has_mark = false;
        return false;
    }
    s->has_mark = false;
    app->mode = CF_MODE_NORMAL;
    return true;
}
