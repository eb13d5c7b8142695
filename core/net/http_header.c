/*
 * http_header.c - names are compared without regard to case.
 */
#include "core/net/http_header.h"

bool cf_http_header(cf_str line, const char *name, cf_str *value)
{
    size_t k = strlen(name);
    if (line.n <= k || line.p[k] != ':') {
        return false;
    }
    for (size_t i = 0; i < k; i++) {
        char c = line.p[i];
        if ((c >= 'A' && c <= 'Z' ? c + 32 : c) != name[i]) {
            return false;
        }
    }
    size_t from = k + 1, end = line.n;
    while (from < end && cf_is_blank(line.p[from])) {
        from++;
    }
    while (end > from && cf_is_blank(line.p[end - 1])) {
        end--;
    }
    *value = cf_str_make(line.p + from, end - from);
    return true;
}
