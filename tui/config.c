/*
 * config.c - a table of settings, and the three kinds of lines.
 */
#include "tui/config.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"

typedef enum setting_kind { BOOL, NUMBER, CHOICE } setting_kind;

typedef struct setting {
    const char *name;
    setting_kind kind;
    size_t offset;        /* in cf_config; CHOICE is a bool */
    const char *off, *on; /* words of a CHOICE */
    uint32_t max;         /* of a NUMBER */
    const char *help;
} setting;

#define AT(field) offsetof(cf_config, field)

static const setting settings[] = {
    {"mouse", BOOL, AT(mouse), NULL, NULL, 0,
     "wheel scrolls; hold Shift to select text"},
    {"a11y", BOOL, AT(a11y), NULL, NULL, 0,
     "one pane, no lines: for screen readers"},
    {"line-graphics", CHOICE, AT(ascii_lines), "unicode", "ascii", 0,
     "how borders are drawn"},
    {"enter", CHOICE, AT(enter_sends), "newline", "send", 0,
     "what Enter does in the composer"},
    {"numbers", CHOICE, AT(numbers_are_counts), "views", "counts", 0,
     "what 1 to 7 mean"},
    {"thinking", BOOL, AT(show_thinking), NULL, NULL, 0,
     "show thinking unfolded"},
    {"trace", BOOL, AT(trace), NULL, NULL, 0,
     "keep the candidates of each token"},
    {"trace-top", NUMBER, AT(trace_top), NULL, NULL, 64,
     "how many candidates are kept"},
    {"whitespace", BOOL, AT(whitespace), NULL, NULL, 0,
     "make spaces and line ends visible"},
};

enum { N_SETTINGS = sizeof settings / sizeof settings[0] };

void cf_config_init(cf_config *c)
{
    memset(c, 0, sizeof *c);
    c->enter_sends = true;
    c->trace = true;
    c->trace_top = 10;
    cf_theme_default(&c->theme);
    for (size_t i = 0; i < N_SETTINGS; i++) {
        c->origin[i] = "default";
    }
}

static bool *bool_of(cf_config *c, const setting *s)
{
    return (bool *)(void *)((char *)c + s->offset);
}

static uint32_t *number_of(cf_config *c, const setting *s)
{
    return (uint32_t *)(void *)((char *)c + s->offset);
}

static bool is_word(const char *value, const char *const *words)
{
    for (; *words != NULL; words++) {
        if (strcmp(value, *words) == 0) {
            return true;
        }
    }
    return false;
}

static cf_status set_value(cf_config *c, const setting *s, const char *value,
                           cf_error *err)
{
    static const char *const yes[] = {"on", "yes", "true", "1", NULL};
    static const char *const no[] = {"off", "no", "false", "0", NULL};
    switch (s->kind) {
    case BOOL:
        if (!is_word(value, yes) && !is_word(value, no)) {
            return cf_fail(err, CF_EINVAL, "%s is on or off, not '%s'", s->name,
                           value);
        }
        *bool_of(c, s) = is_word(value, yes);
        return CF_OK;
    case CHOICE:
        if (strcmp(value, s->on) != 0 && strcmp(value, s->off) != 0) {
            return cf_fail(err, CF_EINVAL, "%s is %s or %s, not '%s'", s->name,
                           s->off, s->on, value);
        }
        *bool_of(c, s) = strcmp(value, s->on) == 0;
        return CF_OK;
    case NUMBER:
        break;
    }
    char *end;
    unsigned long v = strtoul(value, &end, 10);
    if (value[0] < '0' || value[0] > '9' || *end != '\0' || v > s->max) {
        return cf_fail(err, CF_EINVAL, "%s is a number from 0 to %u, not '%s'",
                       s->name, (unsigned)s->max, value);
    }
    *number_of(c, s) = (uint32_t)v;
    return CF_OK;
}

static const setting *find_setting(const char *name, size_t n)
{
    for (size_t i = 0; i < N_SETTINGS; i++) {
        if (strlen(settings[i].name) == n &&
            memcmp(settings[i].name, name, n) == 0) {
            return &settings[i];
        }
    }
    return NULL;
}

cf_status cf_config_set(cf_config *c, const char *text, const char *origin,
                        cf_error *err)
{
    const char *eq = strchr(text, '=');
    size_t n = eq != NULL ? (size_t)(eq - text) : strlen(text);
    const char *value = eq != NULL ? eq + 1 : "on";
    const setting *s = find_setting(text, n);
    if (s == NULL && eq == NULL && strncmp(text, "no", 2) == 0) {
        s = find_setting(text + 2, n - 2);
        value = "off";
    }
    if (s == NULL) {
        return cf_fail(err, CF_EINVAL, "no setting '%.*s'", (int)n, text);
    }
    CF_TRY(set_value(c, s, value, err));
    c->origin[s - settings] = origin;
    return CF_OK;
}

void cf_config_list(const cf_config *c, cf_buf *out)
{
    cf_config copy = *c;
    for (size_t i = 0; i < N_SETTINGS; i++) {
        const setting *s = &settings[i];
        char value[32];
        if (s->kind == NUMBER) {
            snprintf(value, sizeof value, "%u", (unsigned)*number_of(&copy, s));
        } else if (s->kind == CHOICE) {
            snprintf(value, sizeof value, "%s",
                     *bool_of(&copy, s) ? s->on : s->off);
        } else {
            snprintf(value, sizeof value, "%s",
                     *bool_of(&copy, s) ? "on" : "off");
        }
        cf_buf_addf(out, "%s=%s  (%s)  %s\n", s->name, value, c->origin[i],
                    s->help);
    }
}

/* Cuts the next word off *text; NULL at the end. */
static char *next_word(char **text)
{
    char *p = *text + strspn(*text, " \t");
    if (*p == '\0') {
        return NULL;
    }
    char *end = p + strcspn(p, " \t");
    *text = *end != '\0' ? end + 1 : end;
    *end = '\0';
    return p;
}

static cf_status read_bind(cf_keymap *keymap, char *rest,
                           uint32_t (*find_view)(const char *), cf_error *err)
{
    const char *view = next_word(&rest);
    const char *keys = next_word(&rest);
    rest += strspn(rest, " \t");
    if (view == NULL || keys == NULL || *rest == '\0') {
        return cf_fail(err, CF_EINVAL, "bind needs a view, keys and a command");
    }
    uint32_t views = find_view(view);
    if (views == 0) {
        return cf_fail(err, CF_EINVAL, "bind: no view '%s'", view);
    }
    return cf_keymap_add(keymap, views, keys, rest, true, err);
}

static cf_status read_line(cf_config *c, cf_keymap *keymap, char *line,
                           uint32_t (*find_view)(const char *), cf_error *err)
{
    char *rest = line;
    const char *word = next_word(&rest);
    if (word == NULL || word[0] == '#') {
        return CF_OK;
    }
    if (strcmp(word, "set") == 0) {
        const char *text = next_word(&rest);
        return text != NULL ? cf_config_set(c, text, "confabrc", err)
                            : cf_fail(err, CF_EINVAL, "set needs NAME=VALUE");
    }
    if (strcmp(word, "bind") == 0) {
        return read_bind(keymap, rest, find_view, err);
    }
    if (strcmp(word, "color") == 0) {
        return cf_theme_set(&c->theme, rest, err);
    }
    return cf_fail(err, CF_EINVAL, "'%s' is not set, bind or color", word);
}

cf_status cf_config_read(cf_config *c, cf_keymap *keymap, const char *text,
                         size_t n, uint32_t (*find_view)(const char *name),
                         cf_buf *problems, cf_error *err)
{
    uint32_t number = 0;
    for (size_t at = 0; at < n;) {
        const char *nl = memchr(text + at, '\n', n - at);
        size_t end = nl != NULL ? (size_t)(nl - text) : n;
        char *line = cf_strndup(text + at, end - at);
        if (line == NULL) {
            return cf_fail(err, CF_ENOMEM, "out of memory");
        }
        number++;
        cf_error why;
        cf_status st = read_line(c, keymap, line, find_view, &why);
        cf_free(line);
        if (st == CF_ENOMEM) {
            *err = why;
            return st;
        }
        if (st != CF_OK) {
            cf_buf_addf(problems, "line %u: %s\n", number, why.text);
        }
        at = end + 1;
    }
    return CF_OK;
}
