/*
 * secret.c - keeps the key for servers where children cannot inherit it.
 */
#define _DEFAULT_SOURCE 1
#include "tui/sys/secret.h"

#include <stdlib.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif

#include "core/base/alloc.h"

static const char name[] = "CONFAB_API_KEY";

static char *key; /* set once, at the start; lives as long as the process */

void cf_secret_take(void)
{
    const char *value = getenv(name); /* NOLINT(concurrency-mt-unsafe) */
    if (value == NULL) {
        return;
    }
    char *copy = cf_strdup(value);
    if (copy == NULL) {
        return; /* stays where it is: better inherited than lost */
    }
    cf_free(key);
    key = copy;
    /* The bytes themselves: /proc shows root the environment as it began. */
    for (char *at = getenv(name); *at != '\0'; at++) { /* NOLINT(concurrency-mt-unsafe) */
        *at = '\0';
    }
    unsetenv(name); /* NOLINT(concurrency-mt-unsafe) */
#ifdef __linux__
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
#endif
}

const char *cf_secret_key(void)
{
    return key != NULL ? key : getenv(name); /* NOLINT(concurrency-mt-unsafe) */
}
