/*
 * key.h - keys and their names, as configuration files and scripts write
 * them:  a  G  <Enter>  <Esc>  <C-d>  <M-x>  <S-Tab>  <F1>  <Space>  <lt>
 */
#ifndef CF_TUI_TERM_KEY_H
#define CF_TUI_TERM_KEY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/buf.h"

/* A code point, or one of CF_KEY_*, with CF_KEY_ALT added when Alt was held.
 * Control keys are their control character (^D is 4).  Named keys, and keys
 * that have no control character of their own (Shift-Enter), carry
 * CF_KEY_CTRL and CF_KEY_SHIFT instead. */
typedef uint32_t cf_key;

enum {
    CF_KEY_ALT = 1u << 30,
    CF_KEY_CTRL = 1u << 29,
    CF_KEY_SHIFT = 1u << 28,
    CF_KEY_MODS = CF_KEY_ALT | CF_KEY_CTRL | CF_KEY_SHIFT,
    CF_KEY_NAMED = 1u << 24, /* named keys lie above all code points */
    CF_KEY_UP = CF_KEY_NAMED,
    CF_KEY_DOWN,
    CF_KEY_LEFT,
    CF_KEY_RIGHT,
    CF_KEY_HOME,
    CF_KEY_END,
    CF_KEY_PAGE_UP,
    CF_KEY_PAGE_DOWN,
    CF_KEY_INSERT,
    CF_KEY_DELETE,
    CF_KEY_BACKSPACE,
    CF_KEY_BACK_TAB,
    CF_KEY_MOUSE_UP, /* wheel */
    CF_KEY_MOUSE_DOWN,
    CF_KEY_MOUSE_MOVED, /* with the button held */
    CF_KEY_MOUSE_RELEASED,
    CF_KEY_F1, /* F1 .. F12 follow each other */
    CF_KEY_F12 = CF_KEY_F1 + 11,

    CF_KEY_TAB = 9,
    CF_KEY_NEWLINE = 10, /* ^J */
    CF_KEY_ENTER = 13,
    CF_KEY_ESC = 27
};

#define CF_CTRL(letter) ((cf_key)((letter)&31))

/* Appends the key's name. */
void cf_key_format(cf_buf *out, cf_key key);

/* The key of a control sequence "ESC [ params final", such as xterm, kitty and
 * WezTerm send for keys with modifiers: params[0..n) without "ESC [" and the
 * final byte.  Knows xterm's "1;5D" and "3;5~", the "13;2u" of the kitty
 * keyboard protocol and of fixterms, and xterm's modifyOtherKeys "27;2;13~".
 * False for a sequence that is not a key. */
bool cf_key_from_csi(cf_key *out, const char *params, size_t n, char final);

/* What the mouse did, "ESC [ < button ; x ; y M", as terminals send it in modes
 * 1002 and 1006; params[0..n) begin with "<".  *key is CF_KEY_MOUSE_UP or _DOWN
 * for the wheel, _MOVED and _RELEASED ("m" in place of "M") of the left button,
 * and 0 for a press of it; *x and *y count from 0.  False for anything else:
 * other buttons, buttons with Shift. */
bool cf_mouse_from_csi(cf_key *key, int *x, int *y, const char *params, size_t n, char final);

/* The key of a terminfo capability with modifiers, by its name: "kLFT5". */
bool cf_key_from_capability(cf_key *out, const char *name);

/* Reads one key at text[*at..n) and moves *at past it; false when there is
 * none or a <name> is unknown. */
bool cf_key_parse(cf_key *out, const char *text, size_t n, size_t *at);

/* Whether the key types a character into a text. */
bool cf_key_is_text(cf_key key);

#endif
