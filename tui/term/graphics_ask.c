/*
 * graphics_ask.c - names and answers of terminals.
 */
#include "tui/term/graphics_ask.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CELL_MAX = 256 /* pixels */ };

static bool begins(const char *text, const char *with)
{
    return text != NULL && strncmp(text, with, strlen(with)) == 0;
}

void cf_graphics_from_names(cf_graphics_facts *f, const char *term, const char *tmux,
                            const char *program, const char *lc_terminal)
{
    f->is_inside =
        (tmux != NULL && tmux[0] != '\0') || begins(term, "tmux") || begins(term, "screen");
    f->is_iterm = begins(program, "iTerm.app") || begins(program, "WezTerm") ||
                  begins(program, "mintty") || begins(lc_terminal, "iTerm2");
    f->writes_apc = f->is_inside || begins(program, "Apple_Terminal");
}

const char *cf_graphics_questions(const cf_graphics_facts *f)
{
    /* Kitty's first: a terminal answers in order, and its last answer decides
     * with all that is known. */
    return f->writes_apc ? "\033[16t\033[c"
                         : "\033_Gi=31,s=1,v=1,a=q,t=d,f=24;AAAA\033\\"
                           "\033[16t\033[c";
}

/* The numbers between semicolons; one that is `wanted` after the first. */
static bool has_number(const char *text, int wanted)
{
    for (const char *p = strchr(text, ';'); p != NULL; p = strchr(p, ';')) {
        char *end;
        p++;
        if (strtol(p, &end, 10) == wanted && end != p) {
            return true;
        }
    }
    return false;
}

bool cf_graphics_take_csi(cf_graphics_facts *f, const char *params, size_t n, char final)
{
    char text[128];
    int w, h;
    if (n == 0 || n >= sizeof text) {
        return false;
    }
    memcpy(text, params, n);
    text[n] = '\0';
    if (final == 'c' && text[0] == '?') {
        f->has_sixel = has_number(text, 4);
        return true;
    }
    if (final == 't' && sscanf(text, "6;%4d;%4d", &h, &w) == 2) {
        if (w > 0 && h > 0 && w <= CELL_MAX && h <= CELL_MAX) {
            f->cell_w = w;
            f->cell_h = h;
        }
        return true;
    }
    return false;
}

bool cf_graphics_take_apc(cf_graphics_facts *f, const char *text, size_t n)
{
    static const char yes[] = "Gi=31;OK";
    if (n == 0 || text[0] != 'G') {
        return false;
    }
    f->has_kitty = f->has_kitty || (n >= sizeof yes - 1 && memcmp(text, yes, sizeof yes - 1) == 0);
    return true;
}

cf_graphics_kind cf_graphics_pick(const cf_graphics_facts *f, cf_graphics_kind wish)
{
    if (f->is_inside) {
        bool sixel = wish == CF_GRAPHICS_AUTO || wish == CF_GRAPHICS_SIXEL;
        return sixel && f->has_sixel ? CF_GRAPHICS_SIXEL : CF_GRAPHICS_BLOCKS;
    }
    return wish != CF_GRAPHICS_AUTO ? wish
           : f->has_kitty           ? CF_GRAPHICS_KITTY
           : f->is_iterm            ? CF_GRAPHICS_ITERM
           : f->has_sixel           ? CF_GRAPHICS_SIXEL
                                    : CF_GRAPHICS_BLOCKS;
}
