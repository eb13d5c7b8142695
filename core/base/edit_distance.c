/*
 * edit_distance.c - three rows of the table of distances between beginnings.
 */
#include "core/base/edit_distance.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

size_t cf_edit_distance(const char *a, const char *b)
{
    size_t n = strlen(a), m = strlen(b);
    size_t rows[3][CF_EDIT_DISTANCE_MAX + 1];
    if (n > CF_EDIT_DISTANCE_MAX || m > CF_EDIT_DISTANCE_MAX) {
        return SIZE_MAX;
    }
    for (size_t j = 0; j <= m; j++) {
        rows[0][j] = j;
    }
    for (size_t i = 1; i <= n; i++) {
        size_t *now = rows[i % 3];
        const size_t *last = rows[(i + 2) % 3], *before = rows[(i + 1) % 3];
        now[0] = i;
        for (size_t j = 1; j <= m; j++) {
            size_t replaced = last[j - 1] + (a[i - 1] != b[j - 1]);
            now[j] = least(least(last[j], now[j - 1]) + 1, replaced);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
                now[j] = least(now[j], before[j - 2] + 1);
            }
        }
    }
    return rows[n % 3][m];
}

bool cf_edit_is_near(const char *a, const char *b, size_t *distance)
{
    size_t n = strlen(a), m = strlen(b);
    *distance = cf_edit_distance(a, b);
    return *distance != 0 && *distance <= (n > m ? n : m) / 3;
}

void cf_nearest_offer_as(cf_nearest *n, const char *spelling, const char *name)
{
    size_t d;
    bool is_near = cf_edit_is_near(n->asked, spelling, &d) || (d == 0 && spelling != name);
    if (is_near && (n->best == NULL || d < n->distance)) {
        n->best = name;
        n->distance = d;
    }
}

void cf_nearest_offer(cf_nearest *n, const char *name)
{
    cf_nearest_offer_as(n, name, name);
}

cf_status cf_nearest_suggest(const cf_nearest *n, cf_status st, cf_error *err)
{
    size_t used = err != NULL ? strlen(err->text) : 0;
    if (err != NULL && n->best != NULL &&
        used + strlen(n->best) + sizeof "; did you mean ?" <= sizeof err->text) {
        snprintf(err->text + used, sizeof err->text - used, "; did you mean %s?", n->best);
    }
    return st;
}
