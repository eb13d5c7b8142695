/*
 * base64.c - encodes three bytes as four letters (RFC 4648, section 4).
 */
#include "core/base/base64.h"

#include <string.h>

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void cf_base64_put(cf_buf *b, cf_str bytes)
{
    const unsigned char *p = (const unsigned char *)bytes.p;
    char *to = cf_buf_reserve(b, (bytes.n + 2) / 3 * 4);
    if (to == NULL) {
        return;
    }
    char *start = to;
    for (size_t i = 0; i < bytes.n; i += 3) {
        size_t left = bytes.n - i;
        unsigned v = (unsigned)p[i] << 16;
        v |= left > 1 ? (unsigned)p[i + 1] << 8 : 0;
        v |= left > 2 ? (unsigned)p[i + 2] : 0;
        *to++ = alphabet[v >> 18];
        *to++ = alphabet[v >> 12 & 63];
        *to++ = left > 1 ? alphabet[v >> 6 & 63] : '=';
        *to++ = left > 2 ? alphabet[v & 63] : '=';
    }
    b->n += (size_t)(to - start);
    b->p[b->n] = '\0';
}

static int digit_value(char c)
{
    const char *at = c != '\0' ? strchr(alphabet, c) : NULL;
    return at != NULL ? (int)(at - alphabet) : -1;
}

bool cf_base64_get(cf_buf *b, cf_str text)
{
    if (text.n % 4 != 0) {
        return false;
    }
    size_t before = b->n;
    char *to = cf_buf_reserve(b, text.n / 4 * 3);
    if (to == NULL) {
        return false;
    }
    size_t n = 0;
    for (size_t i = 0; i < text.n; i += 4) {
        const char *q = text.p + i;
        bool is_last = i + 4 == text.n;
        int pad = is_last ? (q[3] == '=') + (q[3] == '=' && q[2] == '=') : 0;
        unsigned v = 0;
        for (int k = 0; k < 4; k++) {
            int d = k >= 4 - pad ? 0 : digit_value(q[k]);
            if (d < 0) {
                return false;
            }
            v = v << 6 | (unsigned)d;
        }
        /* Spare bits must be zero, or another text would decode the same. */
        if ((pad == 1 && (v & 0xFF) != 0) || (pad == 2 && (v & 0xFFFF) != 0)) {
            return false;
        }
        to[n++] = (char)(v >> 16);
        if (pad < 2) {
            to[n++] = (char)(v >> 8);
        }
        if (pad < 1) {
            to[n++] = (char)v;
        }
    }
    b->n = before + n;
    b->p[b->n] = '\0';
    return true;
}

void cf_data_url_put(cf_buf *b, cf_str mime, cf_str base64)
{
    cf_buf_adds(b, "data:");
    cf_buf_add(b, mime.p, mime.n);
    cf_buf_adds(b, ";base64,");
    cf_buf_add(b, base64.p, base64.n);
}

bool cf_data_url_get(cf_str url, cf_str *mime, cf_str *base64)
{
    static const char mark[] = ";base64";
    const size_t n_mark = sizeof mark - 1;
    if (!cf_str_starts(url, cf_str_from("data:"))) {
        return false;
    }
    const char *comma = memchr(url.p, ',', url.n);
    size_t head = comma != NULL ? (size_t)(comma - url.p) : 0;
    if (head < 5 + n_mark || memcmp(comma - n_mark, mark, n_mark) != 0) {
        return false;
    }
    const char *semicolon = memchr(url.p, ';', head);
    *mime = cf_str_make(url.p + 5, (size_t)(semicolon - url.p) - 5);
    *base64 = cf_str_make(comma + 1, url.n - head - 1);
    return true;
}
