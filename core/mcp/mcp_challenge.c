/*
 * mcp_challenge.c - what a server that refuses a request says in its header
 * WWW-Authenticate.
 *
 * A header holds challenges separated by commas, and so are the parameters of
 * each; a word with "=" after it is a parameter, another begins a challenge.
 */
#include <string.h>
#include <strings.h>

#include "core/mcp/mcp_oauth.h"

enum { NAME_SIZE = 64 };

static bool is_word(char c)
{
    return ((c | 32) >= 'a' && (c | 32) <= 'z') || (c >= '0' && c <= '9') ||
           (c != '\0' && strchr("!#$%&'*+-.^_`|~/", c) != NULL);
}

static size_t skip_space(cf_str h, size_t i)
{
    while (i < h.n && (h.p[i] == ' ' || h.p[i] == '\t' || h.p[i] == ',')) {
        i++;
    }
    return i;
}

/* Reads a quoted or a plain value at i; returns where it ends. */
static size_t read_value(cf_str h, size_t i, cf_buf *value)
{
    if (i < h.n && h.p[i] == '"') {
        for (i++; i < h.n && h.p[i] != '"'; i++) {
            i += h.p[i] == '\\' && i + 1 < h.n;
            cf_buf_addc(value, h.p[i]);
        }
        return i < h.n ? i + 1 : i;
    }
    while (i < h.n && is_word(h.p[i])) {
        cf_buf_addc(value, h.p[i++]);
    }
    return i;
}

static void put(json_t *out, cf_str word, const cf_buf *value)
{
    char name[NAME_SIZE];
    if (word.n >= sizeof name) {
        return;
    }
    for (size_t i = 0; i < word.n; i++) {
        char c = word.p[i];
        name[i] = (char)(c >= 'A' && c <= 'Z' ? c + 32 : c);
    }
    name[word.n] = '\0';
    if (json_object_get(out, name) == NULL) {
        json_object_set_new(out, name, cf_json_buf(value));
    }
}

void cf_mcp__challenge_add(json_t **out, cf_str header)
{
    bool is_bearer = false;
    *out = *out != NULL ? *out : json_object();
    for (size_t i = skip_space(header, 0); i < header.n; i = skip_space(header, i)) {
        size_t from = i;
        while (i < header.n && is_word(header.p[i])) {
            i++;
        }
        cf_str word = cf_str_make(header.p + from, i - from);
        size_t next = i;
        while (next < header.n && (header.p[next] == ' ' || header.p[next] == '\t')) {
            next++;
        }
        if (word.n > 0 && next < header.n && header.p[next] == '=') {
            cf_buf value = CF_BUF_INIT;
            i = read_value(header, skip_space(header, next + 1), &value);
            if (is_bearer) {
                put(*out, word, &value);
            }
            cf_buf_deinit(&value);
        } else if (word.n > 0) {
            is_bearer = word.n == 6 && strncasecmp(word.p, "bearer", 6) == 0;
        } else {
            i++; /* no header has this here */
        }
    }
}
