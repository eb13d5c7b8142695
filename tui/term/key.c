/*
 * key.c - names of keys.
 */
#include "tui/term/key.h"

#include <string.h>

#include "core/base/utf8.h"

typedef struct named_key {
    const char *name;
    cf_key key;
} named_key;

/* The first name of a key is the one that is printed. */
static const named_key names[] = {
    {"Up", CF_KEY_UP},
    {"Down", CF_KEY_DOWN},
    {"Left", CF_KEY_LEFT},
    {"Right", CF_KEY_RIGHT},
    {"Home", CF_KEY_HOME},
    {"End", CF_KEY_END},
    {"PgUp", CF_KEY_PAGE_UP},
    {"PgDn", CF_KEY_PAGE_DOWN},
    {"Ins", CF_KEY_INSERT},
    {"Del", CF_KEY_DELETE},
    {"BS", CF_KEY_BACKSPACE},
    {"S-Tab", CF_KEY_BACK_TAB},
    {"WheelUp", CF_KEY_MOUSE_UP},
    {"WheelDown", CF_KEY_MOUSE_DOWN},
    {"F1", CF_KEY_F1},
    {"F2", CF_KEY_F1 + 1},
    {"F3", CF_KEY_F1 + 2},
    {"F4", CF_KEY_F1 + 3},
    {"F5", CF_KEY_F1 + 4},
    {"F6", CF_KEY_F1 + 5},
    {"F7", CF_KEY_F1 + 6},
    {"F8", CF_KEY_F1 + 7},
    {"F9", CF_KEY_F1 + 8},
    {"F10", CF_KEY_F1 + 9},
    {"F11", CF_KEY_F1 + 10},
    {"F12", CF_KEY_F12},
    {"Tab", CF_KEY_TAB},
    {"Enter", CF_KEY_ENTER},
    {"Esc", CF_KEY_ESC},
    {"Space", ' '},
    {"lt", '<'},
    {"C-j", CF_KEY_NEWLINE},
    {"CR", CF_KEY_ENTER},
    {"Backspace", CF_KEY_BACKSPACE},
};

enum { N_NAMES = sizeof names / sizeof names[0] };

static void format_plain(cf_buf *out, cf_key key)
{
    for (size_t i = 0; i < N_NAMES; i++) {
        if (names[i].key == key) {
            cf_buf_adds(out, names[i].name);
            return;
        }
    }
    char text[4];
    if (key < 32) {
        cf_buf_addf(out, "C-%c", key == 0 ? '@' : (char)(key | 0x60));
    } else if (key < 0x110000) {
        cf_buf_add(out, text, cf_utf8_encode(text, key));
    } else {
        cf_buf_adds(out, "?");
    }
}

void cf_key_format(cf_buf *out, cf_key key)
{
    cf_key plain = key & ~(cf_key)CF_KEY_ALT;
    bool is_named =
        plain == ' ' || plain == '<' || plain < 32 || plain >= CF_KEY_NAMED;
    if (plain == key && !is_named) {
        format_plain(out, key);
        return;
    }
    cf_buf_adds(out, plain != key ? "<M-" : "<");
    format_plain(out, plain);
    cf_buf_addc(out, '>');
}

static bool parse_name(cf_key *out, const char *name, size_t n)
{
    cf_key alt = 0;
    if (n > 2 && memcmp(name, "M-", 2) == 0) {
        alt = CF_KEY_ALT;
        name += 2;
        n -= 2;
    }
    for (size_t i = 0; i < N_NAMES; i++) {
        if (strlen(names[i].name) == n && memcmp(names[i].name, name, n) == 0) {
            *out = names[i].key | alt;
            return true;
        }
    }
    if (n == 3 && memcmp(name, "C-", 2) == 0 && name[2] >= '@' &&
        name[2] < 0x7F) {
        *out = CF_CTRL(name[2]) | alt;
        return true;
    }
    uint32_t cp;
    if (n > 0 && cf_utf8_decode(&cp, name, n) == n && cp != CF_UTF8_BAD &&
        alt != 0) {
        *out = cp | alt;
        return true;
    }
    return false;
}

bool cf_key_parse(cf_key *out, const char *text, size_t n, size_t *at)
{
    if (*at >= n) {
        return false;
    }
    if (text[*at] == '<') {
        const char *end = memchr(text + *at, '>', n - *at);
        if (end == NULL) {
            return false;
        }
        const char *name = text + *at + 1;
        if (!parse_name(out, name, (size_t)(end - name))) {
            return false;
        }
        *at = (size_t)(end - text) + 1;
        return true;
    }
    uint32_t cp;
    size_t len = cf_utf8_decode(&cp, text + *at, n - *at);
    if (cp == CF_UTF8_BAD) {
        return false;
    }
    *out = cp;
    *at += len;
    return true;
}

bool cf_key_is_text(cf_key key)
{
    return key >= 32 && key != 127 && key < 0x110000 &&
           !(key >= 0x80 && key < 0xA0);
}
