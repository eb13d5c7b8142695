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
        bool is_letter = key >= 1 && key <= 26; /* the others: @ [ \\ ] ^ _ */
        cf_buf_addf(out, "C-%c", (char)(key | (is_letter ? 0x60 : 0x40)));
    } else if (key < 0x110000) {
        cf_buf_add(out, text, cf_utf8_encode(text, key));
    } else {
        cf_buf_adds(out, "?");
    }
}

typedef struct modifier {
    char letter; /* as in <C-Left> */
    cf_key flag;
} modifier;

static const modifier modifiers[] = {{'M', CF_KEY_ALT}, {'C', CF_KEY_CTRL}, {'S', CF_KEY_SHIFT}};

enum { N_MODIFIERS = sizeof modifiers / sizeof modifiers[0] };

void cf_key_format(cf_buf *out, cf_key key)
{
    cf_key plain = key & ~(cf_key)CF_KEY_MODS;
    bool is_named = plain == ' ' || plain == '<' || plain < 32 || plain >= CF_KEY_NAMED;
    if (plain == key && !is_named) {
        format_plain(out, key);
        return;
    }
    cf_buf_addc(out, '<');
    for (size_t i = 0; i < N_MODIFIERS; i++) {
        if (key & modifiers[i].flag) {
            cf_buf_addf(out, "%c-", modifiers[i].letter);
        }
    }
    format_plain(out, plain);
    cf_buf_addc(out, '>');
}

static bool find_name(cf_key *out, const char *name, size_t n)
{
    for (size_t i = 0; i < N_NAMES; i++) {
        if (strlen(names[i].name) == n && memcmp(names[i].name, name, n) == 0) {
            *out = names[i].key;
            return true;
        }
    }
    return false;
}

/* The one form of a key that can be said in several: Control and Shift are
 * part of a character where it has such a form. */
static cf_key one_form(cf_key plain, cf_key mods)
{
    if (plain == CF_KEY_TAB && (mods & CF_KEY_SHIFT)) {
        plain = CF_KEY_BACK_TAB;
        mods &= ~(cf_key)CF_KEY_SHIFT;
    } else if (plain > 32 && plain < CF_KEY_NAMED) {
        if (mods & CF_KEY_SHIFT && plain >= 'a' && plain <= 'z') {
            plain -= 'a' - 'A';
        }
        mods &= ~(cf_key)CF_KEY_SHIFT;
        if (mods & CF_KEY_CTRL && plain >= '@' && plain < 127) {
            plain = CF_CTRL(plain);
            mods &= ~(cf_key)CF_KEY_CTRL;
        }
    } else if (plain < 32 && plain != CF_KEY_TAB && plain != CF_KEY_ENTER && plain != CF_KEY_ESC) {
        mods &= CF_KEY_ALT;
    }
    return plain | mods;
}

/* A name, or modifiers in front of a name or a character.  The names with a
 * modifier of their own (S-Tab, C-j) come first. */
static bool parse_name(cf_key *out, const char *name, size_t n)
{
    cf_key mods = 0;
    for (;;) {
        uint32_t cp;
        size_t i = 0;
        if (find_name(out, name, n)) {
            break;
        }
        while (i < N_MODIFIERS && n > 2 && name[1] == '-' && name[0] != modifiers[i].letter) {
            i++;
        }
        if (i < N_MODIFIERS && n > 2 && name[1] == '-') {
            mods |= modifiers[i].flag;
            name += 2;
            n -= 2;
            continue;
        }
        if (mods == 0 || n == 0 || cf_utf8_decode(&cp, name, n) != n || cp == CF_UTF8_BAD) {
            return false;
        }
        *out = cp;
        break;
    }
    *out = one_form(*out, mods);
    return true;
}

/* ---- control sequences -------------------------------------------------- */

/* Up to three numbers separated by ';'; sub-parameters after ':' are left
 * out.  Returns how many there are. */
static size_t read_params(unsigned v[3], const char *p, size_t n)
{
    size_t count = 0;
    bool skips = false;
    v[0] = v[1] = v[2] = 0;
    for (size_t i = 0; i <= n; i++) {
        if (i == n || p[i] == ';') {
            if (++count == 3) {
                break;
            }
            skips = false;
        } else if (p[i] == ':') {
            skips = true;
        } else if (!skips && p[i] >= '0' && p[i] <= '9' && v[count] < 0x110000) {
            v[count] = v[count] * 10 + (unsigned)(p[i] - '0');
        }
    }
    return count;
}

/* xterm sends 1 + (1 Shift, 2 Alt, 4 Control); what else there is (Super, the
 * locks) does not count. */
static cf_key mods_of(unsigned param)
{
    unsigned m = param >= 1 && param <= 256 ? param - 1 : 0;
    return (m & 1 ? CF_KEY_SHIFT : 0u) | (m & 2 ? CF_KEY_ALT : 0u) | (m & 4 ? CF_KEY_CTRL : 0u);
}

/* A character with modifiers, as curses would report it where it can. */
static bool with_mods(cf_key *out, unsigned cp, cf_key mods)
{
    if (cp == 0 || cp >= 0x110000) {
        return false;
    }
    if (cp == 127) {
        cp = CF_KEY_BACKSPACE;
    } else if (cp >= 57344 && cp <= 63743) {
        return false; /* private use: keys of the keypad and of the media */
    }
    *out = one_form(cp, mods);
    return true;
}

bool cf_key_from_csi(cf_key *out, const char *params, size_t n, char final)
{
    static const char letters[] = "ABCDHF";
    static const cf_key by_letter[] = {CF_KEY_UP,   CF_KEY_DOWN, CF_KEY_RIGHT,
                                       CF_KEY_LEFT, CF_KEY_HOME, CF_KEY_END};
    static const cf_key by_number[] = {0,          CF_KEY_HOME,    CF_KEY_INSERT,    CF_KEY_DELETE,
                                       CF_KEY_END, CF_KEY_PAGE_UP, CF_KEY_PAGE_DOWN, CF_KEY_HOME,
                                       CF_KEY_END};
    unsigned v[3];
    size_t count = read_params(v, params, n);
    const char *letter = final != '\0' ? strchr(letters, final) : NULL;
    if (n > 0 && (params[0] < '0' || params[0] > '9') && params[0] != ';') {
        return false; /* "<" and "?": a mouse, or the terminal's answer */
    }
    if (letter != NULL) {
        *out = by_letter[letter - letters] | mods_of(v[1]);
        return true;
    }
    if (final == 'u') {
        return with_mods(out, v[0], mods_of(v[1]));
    }
    if (final != '~') {
        return false;
    }
    if (v[0] == 27 && count == 3) {
        return with_mods(out, v[2], mods_of(v[1]));
    }
    if (v[0] == 0 || v[0] >= sizeof by_number / sizeof by_number[0]) {
        return false;
    }
    *out = by_number[v[0]] | mods_of(v[1]);
    return true;
}

bool cf_mouse_from_csi(cf_key *key, int *x, int *y, const char *params, size_t n, char final)
{
    unsigned v[3];
    bool is_release = final == 'm';
    if (n < 2 || params[0] != '<' || (final != 'M' && !is_release) ||
        read_params(v, params + 1, n - 1) != 3 || v[1] < 1 || v[2] < 1) {
        return false;
    }
    if (v[0] == 0) {
        *key = is_release ? CF_KEY_MOUSE_RELEASED : 0;
    } else if (is_release || (v[0] != 32 && v[0] != 64 && v[0] != 65)) {
        return false;
    } else {
        *key = v[0] == 32 ? CF_KEY_MOUSE_MOVED : v[0] == 64 ? CF_KEY_MOUSE_UP : CF_KEY_MOUSE_DOWN;
    }
    *x = (int)v[1] - 1;
    *y = (int)v[2] - 1;
    return true;
}

bool cf_key_from_capability(cf_key *out, const char *name)
{
    static const named_key table[] = {{"kUP", CF_KEY_UP},       {"kDN", CF_KEY_DOWN},
                                      {"kLFT", CF_KEY_LEFT},    {"kRIT", CF_KEY_RIGHT},
                                      {"kHOM", CF_KEY_HOME},    {"kEND", CF_KEY_END},
                                      {"kDC", CF_KEY_DELETE},   {"kIC", CF_KEY_INSERT},
                                      {"kPRV", CF_KEY_PAGE_UP}, {"kNXT", CF_KEY_PAGE_DOWN}};
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        size_t n = strlen(table[i].name);
        if (strncmp(name, table[i].name, n) == 0 &&
            (name[n] == '\0' || (name[n] >= '2' && name[n] <= '8' && name[n + 1] == '\0'))) {
            unsigned mods = name[n] == '\0' ? 2u : (unsigned)(name[n] - '0');
            *out = table[i].key | mods_of(mods);
            return true;
        }
    }
    return false;
}

/* ---- keys in text ------------------------------------------------------- */

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
    return key >= 32 && key != 127 && key < 0x110000 && !(key >= 0x80 && key < 0xA0);
}
