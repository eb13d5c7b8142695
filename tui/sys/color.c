/*
 * color.c - the option overrides the environment.
 */
#include "tui/sys/color.h"

#include <stdlib.h>
#include <string.h>

bool cf_color_when_read(cf_color_when *out, const char *word)
{
    static const char *const words[] = {"auto", "always", "never"};
    for (int i = 0; i < 3; i++) {
        if (strcmp(word, words[i]) == 0) {
            *out = (cf_color_when)i;
            return true;
        }
    }
    return false;
}

/* A variable's value; "" if it is not set. */
static const char *variable(const char *name)
{
    const char *value = getenv(name); /* NOLINT(concurrency-mt-unsafe) */
    return value != NULL ? value : "";
}

bool cf_color_wanted(cf_color_when when, bool is_terminal)
{
    if (when != CF_COLOR_WHEN_AUTO) {
        return when == CF_COLOR_WHEN_ALWAYS;
    }
    if (variable("NO_COLOR")[0] != '\0') {
        return false;
    }
    const char *force = variable("CLICOLOR_FORCE");
    if (force[0] != '\0' && strcmp(force, "0") != 0) {
        return true;
    }
    return is_terminal && strcmp(variable("CLICOLOR"), "0") != 0 &&
           strcmp(variable("TERM"), "dumb") != 0;
}
