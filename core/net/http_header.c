/*
 * http_header.c - names are compared without regard to case.
 */
#include "core/net/http_header.h"

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

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
    while (from < end && is_space(line.p[from])) {
        from++;
    }
    while (end > from && is_space(line.p[end - 1])) {
        end--;
    }
    *value = cf_str_make(line.p + from, end - from);
    return true;
}
