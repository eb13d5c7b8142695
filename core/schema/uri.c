/*
 * uri.c - resolves the references between documents (RFC 3986).
 */
#include "core/schema/uri.h"

#include <stdbool.h>
#include <string.h>

/* A URI up to its fragment; a part that is not there has no length. */
typedef struct parts {
    cf_str scheme;    /* with its colon */
    cf_str authority; /* with its slashes */
    cf_str path;
    cf_str query; /* with its question mark */
} parts;

static parts split(const char *uri)
{
    parts p = {0};
    const char *end = uri + strcspn(uri, "#");
    size_t n = strcspn(uri, ":/?#");
    if (n > 0 && uri[n] == ':') {
        p.scheme = cf_str_make(uri, n + 1);
        uri += n + 1;
    }
    if (strncmp(uri, "//", 2) == 0) {
        n = 2 + strcspn(uri + 2, "/?#");
        p.authority = cf_str_make(uri, n);
        uri += n;
    }
    n = strcspn(uri, "?#");
    p.path = cf_str_make(uri, n);
    p.query = cf_str_make(uri + n, (size_t)(end - uri) - n);
    return p;
}

static size_t put(char *out, size_t n, cf_str part)
{
    if (part.n > 0) {
        memcpy(out + n, part.p, part.n);
    }
    return n + part.n;
}

/* Takes "." and ".." out of the path out[from..n) (section 5.2.4); its new end. */
static size_t remove_dots(char *out, size_t from, size_t n)
{
    size_t start = from + (from < n && out[from] == '/' ? 1 : 0);
    size_t to = start; /* after a slash */
    for (size_t at = start; at < n;) {
        size_t len = 0;
        while (at + len < n && out[at + len] != '/') {
            len++;
        }
        bool is_here = len == 1 && out[at] == '.';
        bool is_up = len == 2 && out[at] == '.' && out[at + 1] == '.';
        if (is_up && to > start) {
            to--;
            while (to > start && out[to - 1] != '/') {
                to--;
            }
        } else if (!is_here && !is_up) {
            size_t with_slash = at + len < n ? len + 1 : len;
            memmove(out + to, out + at, with_slash);
            to += with_slash;
        }
        at += len + 1;
    }
    return to;
}

const char *cf_uri__resolve(cf_arena *arena, const char *base, const char *ref)
{
    parts b = split(base);
    parts r = split(ref);
    char *out = cf_arena_calloc(arena, strlen(base) + strlen(ref) + 3, 1);
    if (out == NULL) {
        return NULL;
    }
    bool has_scheme = r.scheme.n > 0;
    bool has_host = has_scheme || r.authority.n > 0;
    size_t n = put(out, 0, has_scheme ? r.scheme : b.scheme);
    n = put(out, n, has_host ? r.authority : b.authority);
    size_t path = n;
    if (has_host || (r.path.n > 0 && r.path.p[0] == '/')) {
        n = put(out, n, r.path);
        n = remove_dots(out, path, n);
    } else if (r.path.n == 0) {
        n = put(out, n, b.path);
        r.query = r.query.n > 0 ? r.query : b.query;
    } else {
        size_t keep = b.path.n;
        while (keep > 0 && b.path.p[keep - 1] != '/') {
            keep--;
        }
        if (keep == 0 && b.authority.n > 0) {
            out[n++] = '/';
        }
        n = put(out, n, cf_str_make(b.path.p, keep));
        n = put(out, n, r.path);
        n = remove_dots(out, path, n);
    }
    out[put(out, n, r.query)] = '\0';
    return out;
}

void cf_uri__unescape(char *text)
{
    static const char digits[] = "0123456789abcdef0123456789ABCDEF";
    char *to = text;
    for (const char *c = text; *c != '\0'; c++, to++) {
        const char *high = c[0] == '%' && c[1] != '\0' ? strchr(digits, c[1]) : NULL;
        const char *low = high != NULL && c[2] != '\0' ? strchr(digits, c[2]) : NULL;
        unsigned v = low != NULL ? (unsigned)((high - digits) % 16 * 16 + (low - digits) % 16) : 0;
        *to = v != 0 ? (char)v : *c;
        c += v != 0 ? 2 : 0;
    }
    *to = '\0';
}

const char *cf_uri__path(cf_arena *arena, const char *uri)
{
    parts p = split(uri);
    size_t slash = p.path.n > 0 && p.path.p[0] == '/' ? 1 : 0;
    char *out = cf_arena_strndup(arena, p.path.n > 0 ? p.path.p + slash : "", p.path.n - slash);
    if (out != NULL) {
        cf_uri__unescape(out);
    }
    return out;
}
