/*
 * trust.c - compares origins: the path of an address says nothing about who
 * answers there.
 */
#include "tui/sys/trust.h"

#include <string.h>
#include <strings.h>

#include "core/net/origin.h"

void cf_trust_deinit(cf_trust *t)
{
    cf_buf_deinit(&t->accepted);
}

bool cf_trust_names(const cf_trust *t, const char *address)
{
    bool is_named = (t->confabrc != NULL && cf_origin_is_same(t->confabrc, address)) ||
                    (t->environment != NULL && cf_origin_is_same(t->environment, address));
    for (size_t i = 0; !is_named && i < t->n_named; i++) {
        is_named = cf_origin_is_same(t->named[i], address);
    }
    return is_named;
}

const char *cf_trust_key(const cf_trust *t, const char *address)
{
    return cf_trust_names(t, address) ? t->key : NULL;
}

bool cf_trust_has_variable(const cf_trust *t, const char *name)
{
    size_t n = strlen(name);
    for (const char *p = t->variables != NULL ? t->variables : ""; *p != '\0';) {
        size_t k = strcspn(p, ", \t");
        if (k == n && k > 0 && memcmp(p, name, n) == 0) {
            return true;
        }
        p += k + strspn(p + k, ", \t");
    }
    for (size_t i = 0; i < t->n_variable; i++) {
        if (strcmp(t->variable[i], name) == 0) {
            return true;
        }
    }
    return false;
}

static bool is_web(const char *address)
{
    return strncasecmp(address, "http://", 7) == 0 || strncasecmp(address, "https://", 8) == 0;
}

/* Whether the line is among those that were accepted. */
static bool is_accepted(const cf_trust *t, const cf_buf *line)
{
    for (size_t at = 0; at + line->n <= t->accepted.n;) {
        const char *p = t->accepted.p + at;
        size_t n = strcspn(p, "\n") + 1;
        if (n == line->n && memcmp(p, line->p, n) == 0) {
            return true;
        }
        at += n;
    }
    return false;
}

cf_status cf_trust_check(cf_trust *t, const char *file, const char *address, cf_error *err)
{
    cf_buf origin = CF_BUF_INIT;
    if (strncmp(address, "llama:", 6) == 0 && !t->allows_files) {
        return cf_fail(err, CF_EINVAL,
                       "%.200s: confab-llama would be started for %.200s, which the file names: "
                       "--trust-addresses lets it",
                       file, address);
    }
    if (!is_web(address) || t->allows_files) {
        return CF_OK;
    }
    cf_status st = cf_origin_of(&origin, address, err);
    cf_buf_addc(&origin, '\n');
    CF_THEN(st, cf_buf_check(&origin, err));
    if (st == CF_OK && !is_accepted(t, &origin) && !cf_trust_names(t, address)) {
        if (t->ask != NULL && t->ask(t->ud, file, address)) {
            cf_buf_add(&t->accepted, origin.p, origin.n);
        } else {
            st = cf_fail(err, CF_EINVAL,
                         "%.200s: requests would go to %.200s, which the file names: "
                         "--trust-addresses lets them",
                         file, address);
        }
    }
    cf_buf_deinit(&origin);
    return st;
}
