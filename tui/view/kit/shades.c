/*
 * shades.c - finds the shade of a byte.
 */
#include "tui/view/kit/shades.h"

#include "tui/lab/lab.h"
#include "tui/lab/talk/lab_conversation.h"

/* The shade of the token in which a byte lies. */
static int shade_of_byte(const cf_shaded *of, size_t off)
{
    const cf_token_list *t = of->tokens;
    size_t low = 0, high = t->n;
    while (low + 1 < high) {
        size_t middle = low + (high - low) / 2;
        if (t->v[middle].off <= off) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low < t->n ? of->shade[low] : 0;
}

int cf_shade_at(cf_app *app, cf_shade_map *map, const cf_shaded *of, const cf_prompt *shown,
                size_t off)
{
    uint64_t now = cf_lab_generation(app->lab);
    if (map->seen != now || map->n_shown != shown->text.n) {
        map->seen = now;
        map->n_shown = shown->text.n;
        size_t n = 0, max = of->text.n < map->n_shown ? of->text.n : map->n_shown;
        while (n < max && of->text.p[n] == shown->text.p[n]) {
            n++;
        }
        map->n_same = n;
    }
    return off < map->n_same ? shade_of_byte(of, off) : -1;
}
