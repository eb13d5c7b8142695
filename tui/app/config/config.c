/*
 * config.c - a table of settings, and the three kinds of lines.
 */
#include "tui/app/config/config.h"
#include "tui/lab/state/reply_settings.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"

typedef enum setting_kind { BOOL, CHOICE, WORDS } setting_kind;

typedef struct setting {
    const char *name;
    setting_kind kind;
    size_t offset;        /* in cf_config; CHOICE is a bool, WORDS an int */
    const char *off, *on; /* words of a CHOICE */
    const char *help;
    const char *const *words; /* of WORDS, in the order of its values; NULL at
                                 the end */
} setting;

/* In the order of cf_ground and of cf_graphics_kind. */
static const char *const grounds[] = {"auto", "dark", "light", NULL};
static const char *const graphics[] = {"auto", "blocks", "kitty", "sixel", "iterm", NULL};

#define AT(field) offsetof(cf_config, field)

static const setting settings[] = {
    {"mouse", BOOL, AT(mouse), NULL, NULL, "clicks and the wheel; hold Shift to select text", NULL},
    {"a11y", BOOL, AT(a11y), NULL, NULL, "one pane, no lines: for screen readers", NULL},
    {"line-graphics", CHOICE, AT(ascii_lines), "unicode", "ascii", "how borders are drawn", NULL},
    {"background", WORDS, AT(ground), NULL, NULL,
     "which theme: auto (as the terminal says), dark or light", grounds},
    {"graphics", WORDS, AT(graphics), NULL, NULL,
     "pictures: auto (as the terminal says), blocks, kitty, sixel or iterm", graphics},
    {"enter", CHOICE, AT(enter_sends), "newline", "send", "what Enter does in the composer", NULL},
    {"numbers", CHOICE, AT(numbers_are_counts), "views", "counts", "what 1 to 7 mean", NULL},
    {"thinking", BOOL, AT(show_thinking), NULL, NULL, "show thinking unfolded", NULL},
    {"whitespace", BOOL, AT(whitespace), NULL, NULL, "make spaces and line ends visible", NULL},
    {"examples", BOOL, AT(examples), NULL, NULL, "a new history begins with examples", NULL},
};

enum { N_SETTINGS = sizeof settings / sizeof settings[0] };

void cf_config_init(cf_config *c)
{
    memset(c, 0, sizeof *c);
    c->mouse = true;
    c->enter_sends = true;
    c->examples = true;
    cf_theme_default(&c->theme);
    for (size_t i = 0; i < N_SETTINGS; i++) {
        c->origin[i] = "default";
    }
}

static bool *bool_of(cf_config *c, const setting *s)
{
    return (bool *)(void *)((char *)c + s->offset);
}

static int *int_of(cf_config *c, const setting *s)
{
    return (int *)(void *)((char *)c + s->offset);
}

static cf_status set_word(cf_config *c, const setting *s, const char *value, cf_error *err)
{
    char list[80] = "";
    size_t n = 0;
    for (int i = 0; s->words[i] != NULL; i++) {
        const char *join = i == 0 ? "" : s->words[i + 1] != NULL ? ", " : " or ";
        if (strcmp(value, s->words[i]) == 0) {
            *int_of(c, s) = i;
            return CF_OK;
        }
        n += (size_t)snprintf(list + n, sizeof list - n, "%s%s", join, s->words[i]);
    }
    return cf_fail(err, CF_EINVAL, "%s is %s, not '%.40s'", s->name, list, value);
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

static cf_status set_value(cf_config *c, const setting *s, const char *value, cf_error *err)
{
    static const char *const yes[] = {"on", "yes", "true", "1", NULL};
    static const char *const no[] = {"off", "no", "false", "0", NULL};
    if (s->kind == WORDS) {
        return set_word(c, s, value, err);
    }
    if (s->kind == BOOL) {
        if (!is_word(value, yes) && !is_word(value, no)) {
            return cf_fail(err, CF_EINVAL, "%s is on or off, not '%.40s'", s->name, value);
        }
        *bool_of(c, s) = is_word(value, yes);
        return CF_OK;
    }
    if (strcmp(value, s->on) != 0 && strcmp(value, s->off) != 0) {
        return cf_fail(err, CF_EINVAL, "%s is %s or %s, not '%.40s'", s->name, s->off, s->on,
                       value);
    }
    *bool_of(c, s) = strcmp(value, s->on) == 0;
    return CF_OK;
}

static const setting *find_setting(const char *name, size_t n)
{
    for (size_t i = 0; i < N_SETTINGS; i++) {
        if (strlen(settings[i].name) == n && memcmp(settings[i].name, name, n) == 0) {
            return &settings[i];
        }
    }
    return NULL;
}

/* A value of the command line overrides one of confabrc. */
static cf_status set_reply(cf_config *c, size_t i, const char *value, const char *origin,
                           cf_error *err)
{
    if (cf_reply_settings_is_fixed(c->reply, i) && strcmp(origin, "set") != 0) {
        cf_reply_settings checked = *c->reply;
        return cf_reply_settings_set(&checked, i, value, origin, err);
    }
    return cf_reply_settings_set(c->reply, i, value, origin, err);
}

/* What commands open is decided before the workbench is there. */
static cf_status set_default(cf_config *c, int i, const char *value, const char *origin,
                             cf_error *err)
{
    if (strcmp(origin, "confabrc") != 0) {
        return cf_fail(err, CF_EINVAL,
                       "set in confabrc, or by an option on the command line; "
                       "a running workbench keeps it");
    }
    if (c->defaults != NULL) {
        return cf_defaults_set(c->defaults, i, value, err);
    }
    cf_defaults checked;
    cf_defaults_init(&checked);
    cf_status st = cf_defaults_set(&checked, i, value, err);
    cf_defaults_deinit(&checked);
    return st;
}

cf_status cf_config_set(cf_config *c, const char *text, const char *origin, cf_error *err)
{
    const char *eq = strchr(text, '=');
    size_t n = eq != NULL ? (size_t)(eq - text) : strlen(text);
    const char *value = eq != NULL ? eq + 1 : "on";
    size_t i = c->reply != NULL ? cf_reply_setting_find(text, n) : CF_REPLY_SETTINGS;
    if (i < CF_REPLY_SETTINGS) {
        return set_reply(c, i, value, origin, err);
    }
    int d = cf_defaults_find(text, n);
    if (d >= 0) {
        return set_default(c, d, value, origin, err);
    }
    const setting *s = find_setting(text, n);
    if (s == NULL && eq == NULL && strncmp(text, "no", 2) == 0) {
        value = "off";
        i = c->reply != NULL ? cf_reply_setting_find(text + 2, n - 2) : CF_REPLY_SETTINGS;
        if (i < CF_REPLY_SETTINGS) {
            return set_reply(c, i, value, origin, err);
        }
        s = find_setting(text + 2, n - 2);
    }
    if (s == NULL) {
        return cf_fail(err, CF_EINVAL, "no setting '%.*s'; :set lists them", (int)(n < 40 ? n : 40),
                       text);
    }
    CF_TRY(set_value(c, s, value, err));
    c->origin[s - settings] = origin;
    return CF_OK;
}

static void show(const cf_config *c, const setting *s, cf_buf *out)
{
    cf_config copy = *c;
    bool v = s->kind != WORDS && *bool_of(&copy, s);
    const char *value = s->kind == WORDS    ? s->words[*int_of(&copy, s)]
                        : s->kind == CHOICE ? (v ? s->on : s->off)
                        : v                 ? "on"
                                            : "off";
    cf_buf_addf(out, "%s=%s  (%s)  %s", s->name, value, c->origin[s - settings], s->help);
}

void cf_config_list(const cf_config *c, cf_buf *out)
{
    for (size_t i = 0; c->reply != NULL && cf_reply_setting_name(i) != NULL; i++) {
        cf_reply_settings_show(c->reply, i, out);
        cf_buf_addc(out, '\n');
    }
    for (size_t i = 0; i < N_SETTINGS; i++) {
        show(c, &settings[i], out);
        cf_buf_addc(out, '\n');
    }
}

bool cf_config_show(const cf_config *c, const char *name, cf_buf *out)
{
    size_t n = strlen(name);
    size_t i = c->reply != NULL ? cf_reply_setting_find(name, n) : CF_REPLY_SETTINGS;
    const setting *s = find_setting(name, n);
    if (i < CF_REPLY_SETTINGS) {
        cf_reply_settings_show(c->reply, i, out);
    } else if (s != NULL) {
        show(c, s, out);
    }
    return i < CF_REPLY_SETTINGS || s != NULL;
}

bool cf_config_words(const char *name, size_t n, const char *words[2])
{
    const setting *s = find_setting(name, n);
    if (s == NULL || s->kind == WORDS) {
        return false;
    }
    words[0] = s->kind == CHOICE ? s->on : "on";
    words[1] = s->kind == CHOICE ? s->off : "off";
    return true;
}

const char *cf_config_name(const cf_config *c, size_t i)
{
    size_t n = 0;
    if (c->reply != NULL) {
        while (cf_reply_setting_name(n) != NULL) {
            n++;
        }
    }
    return i < n ? cf_reply_setting_name(i) : i < n + N_SETTINGS ? settings[i - n].name : NULL;
}

/* The rest of a line without blanks around it and without a comment. */
static char *rest_of(char *text)
{
    text += strspn(text, " \t");
    size_t n = strlen(text);
    for (size_t i = 1; i < n; i++) {
        if (text[i] == '#' && (text[i - 1] == ' ' || text[i - 1] == '\t')) {
            n = i;
        }
    }
    while (n > 0 && strchr(" \t\r", text[n - 1]) != NULL) {
        n--;
    }
    text[n] = '\0';
    return text;
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

static cf_status read_bind(const cf_binder *binder, char *rest, cf_error *err)
{
    const char *view = next_word(&rest);
    const char *keys = next_word(&rest);
    rest += strspn(rest, " \t");
    if (view == NULL || keys == NULL || *rest == '\0') {
        return cf_fail(err, CF_EINVAL, "bind needs a view, keys and a command");
    }
    return binder->bind(binder->ud, view, keys, rest, err);
}

static cf_status read_line(cf_config *c, char *line, const cf_binder *binder, cf_error *err)
{
    char *rest = line;
    const char *word = next_word(&rest);
    if (word == NULL || word[0] == '#') {
        return CF_OK;
    }
    if (strcmp(word, "set") == 0) {
        const char *text = rest_of(rest);
        return text[0] != '\0' ? cf_config_set(c, text, "confabrc", err)
                               : cf_fail(err, CF_EINVAL, "set needs NAME=VALUE");
    }
    if (strcmp(word, "bind") == 0) {
        return read_bind(binder, rest, err);
    }
    if (strcmp(word, "color") == 0) {
        return cf_theme_set(&c->theme, rest, err);
    }
    return cf_fail(err, CF_EINVAL, "'%s' is not set, bind or color", word);
}

cf_status cf_config_read(cf_config *c, const char *text, size_t n, const cf_binder *binder,
                         cf_buf *problems, cf_error *err)
{
    uint32_t number = 0;
    for (size_t at = 0; at < n;) {
        const char *nl = memchr(text + at, '\n', n - at);
        size_t end = nl != NULL ? (size_t)(nl - text) : n;
        char *line = cf_strndup(text + at, end - at);
        if (line == NULL) {
            return cf_oom(err);
        }
        number++;
        cf_error why;
        cf_status st = read_line(c, line, binder, &why);
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
