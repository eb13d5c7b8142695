/*
 * theme.c - the default theme and `color` lines.
 *
 * Red and green are never the only difference between two marks: added and
 * removed, kept and new also differ in brightness, and views print + and -.
 */
#include "tui/grid/theme.h"

#include <stdlib.h>
#include <string.h>

#include "tui/grid/grid.h"

enum {
    B = CF_ATTR_BOLD,
    U = CF_ATTR_UNDERLINE,
    R = CF_ATTR_REVERSE,
    D = CF_ATTR_DIM
};

typedef struct entry {
    cf_look rich, basic, mono;
} entry;

static const entry defaults[CF_STYLE_COUNT] = {
    [CF_STYLE_NORMAL] = {{-1, -1, 0}, {-1, -1, 0}, {-1, -1, 0}},
    [CF_STYLE_DIM] = {{245, -1, 0}, {-1, -1, D}, {-1, -1, D}},
    [CF_STYLE_BORDER] = {{240, -1, 0}, {-1, -1, D}, {-1, -1, 0}},
    [CF_STYLE_TITLE] = {{250, -1, 0}, {-1, -1, 0}, {-1, -1, 0}},
    [CF_STYLE_FOCUS] = {{75, -1, B}, {6, -1, B}, {-1, -1, B}},
    [CF_STYLE_BAR] = {{252, 236, 0}, {0, 7, 0}, {-1, -1, R}},
    [CF_STYLE_BAR_ON] = {{16, 75, B}, {7, 4, B}, {-1, -1, B}},
    [CF_STYLE_KEY] = {{75, -1, B}, {6, -1, B}, {-1, -1, B}},
    [CF_STYLE_SELECTED] = {{-1, 238, 0}, {-1, -1, R}, {-1, -1, R}},
    [CF_STYLE_MARKED] = {{221, -1, B}, {3, -1, B}, {-1, -1, B}},
    [CF_STYLE_MATCH] = {{16, 221, 0}, {0, 3, 0}, {-1, -1, R | U}},
    [CF_STYLE_USER] = {{114, -1, B}, {2, -1, B}, {-1, -1, B}},
    [CF_STYLE_ASSISTANT] = {{75, -1, B}, {6, -1, B}, {-1, -1, B}},
    [CF_STYLE_SYSTEM] = {{176, -1, B}, {5, -1, B}, {-1, -1, B}},
    [CF_STYLE_TOOL] = {{215, -1, B}, {3, -1, B}, {-1, -1, B}},
    [CF_STYLE_THINKING] = {{245, -1, 0}, {-1, -1, D}, {-1, -1, D}},
    [CF_STYLE_ESCAPED] = {{203, -1, 0}, {1, -1, 0}, {-1, -1, U}},
    [CF_STYLE_SPECIAL] = {{176, -1, B}, {5, -1, B}, {-1, -1, B}},
    [CF_STYLE_TOKEN_A] = {{-1, 235, 0}, {-1, -1, 0}, {-1, -1, 0}},
    [CF_STYLE_TOKEN_B] = {{-1, 239, 0}, {-1, -1, U}, {-1, -1, U}},
    [CF_STYLE_OK] = {{114, -1, 0}, {2, -1, 0}, {-1, -1, 0}},
    [CF_STYLE_WARNING] = {{221, -1, 0}, {3, -1, 0}, {-1, -1, U}},
    [CF_STYLE_ERROR] = {{203, -1, B}, {1, -1, B}, {-1, -1, B}},
    [CF_STYLE_ADDED] = {{120, -1, 0}, {2, -1, B}, {-1, -1, B}},
    [CF_STYLE_REMOVED] = {{174, -1, 0}, {1, -1, 0}, {-1, -1, D}},
    [CF_STYLE_KEPT] = {{108, -1, 0}, {2, -1, 0}, {-1, -1, D}},
    [CF_STYLE_NEW] = {{222, -1, 0}, {3, -1, 0}, {-1, -1, 0}},
    [CF_STYLE_BREAK] = {{231, 160, B}, {7, 1, B}, {-1, -1, R | B}},
    [CF_STYLE_IMAGE] = {{-1, -1, 0}, {-1, -1, 0}, {-1, -1, 0}},
    [CF_STYLE_HEAT_0] = {{-1, -1, 0}, {-1, -1, 0}, {-1, -1, 0}},
    [CF_STYLE_HEAT_1] = {{-1, 58, 0}, {3, -1, 0}, {-1, -1, U}},
    [CF_STYLE_HEAT_2] = {{-1, 94, 0}, {3, -1, B}, {-1, -1, B}},
    [CF_STYLE_PLOT_0] = {{240, -1, 0}, {-1, -1, D}, {-1, -1, D}},
    [CF_STYLE_PLOT_1] = {{143, -1, 0}, {3, -1, 0}, {-1, -1, 0}},
    [CF_STYLE_PLOT_2] = {{208, -1, 0}, {3, -1, B}, {-1, -1, B}},
    [CF_STYLE_PLOT_3] = {{203, -1, B}, {1, -1, B}, {-1, -1, B}},
    [CF_STYLE_HEAT_3] = {{231, 124, B}, {7, 1, B}, {-1, -1, R}},
};

void cf_theme_default(cf_theme *theme)
{
    for (int i = 0; i < CF_STYLE_COUNT; i++) {
        theme->rich[i] = defaults[i].rich;
        theme->basic[i] = defaults[i].basic;
        theme->mono[i] = defaults[i].mono;
    }
}

static const char *const color_names[16] = {
    "black",       "red",           "green",       "yellow",
    "blue",        "magenta",       "cyan",        "white",
    "brightblack", "brightred",     "brightgreen", "brightyellow",
    "brightblue",  "brightmagenta", "brightcyan",  "brightwhite"};

static bool parse_color(int16_t *out, const char *word)
{
    if (strcmp(word, "default") == 0) {
        *out = -1;
        return true;
    }
    for (int i = 0; i < 16; i++) {
        if (strcmp(word, color_names[i]) == 0) {
            *out = (int16_t)i;
            return true;
        }
    }
    char *end;
    long v = strtol(word, &end, 10);
    if (end == word || *end != '\0' || v < 0 || v > 255) {
        return false;
    }
    *out = (int16_t)v;
    return true;
}

static int find_style(const char *name)
{
    for (int i = 0; i < CF_STYLE_COUNT; i++) {
        if (strcmp(cf_style_get_name((cf_style)i), name) == 0) {
            return i;
        }
    }
    return -1;
}

static bool parse_attr(uint8_t *attr, const char *word)
{
    static const struct {
        const char *name;
        uint8_t bit;
    } all[] = {{"bold", B}, {"underline", U}, {"reverse", R}, {"dim", D}};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        if (strcmp(all[i].name, word) == 0) {
            *attr = (uint8_t)(*attr | all[i].bit);
            return true;
        }
    }
    return false;
}

cf_status cf_theme_set(cf_theme *theme, const char *line, cf_error *err)
{
    char copy[256];
    if (strlen(line) >= sizeof copy) {
        return cf_fail(err, CF_EINVAL, "color: the line is too long");
    }
    memcpy(copy, line, strlen(line) + 1);
    char *rest = NULL;
    const char *name = strtok_r(copy, " \t", &rest);
    const char *fg = strtok_r(NULL, " \t", &rest);
    const char *bg = strtok_r(NULL, " \t", &rest);
    cf_look look = {-1, -1, 0};
    if (bg == NULL) {
        return cf_fail(err, CF_EINVAL,
                       "color needs a style, a foreground and a background");
    }
    int style = find_style(name);
    if (style < 0) {
        return cf_fail(err, CF_EINVAL, "color: no style '%s'", name);
    }
    if (!parse_color(&look.fg, fg) || !parse_color(&look.bg, bg)) {
        return cf_fail(err, CF_EINVAL, "color: '%s %s' are not two colours", fg,
                       bg);
    }
    for (const char *word = strtok_r(NULL, " \t", &rest); word != NULL;
         word = strtok_r(NULL, " \t", &rest)) {
        if (!parse_attr(&look.attr, word)) {
            return cf_fail(err, CF_EINVAL, "color: no attribute '%s'", word);
        }
    }
    theme->rich[style] = look;
    if (look.fg < 16 && look.bg < 16) {
        theme->basic[style] = look;
    }
    theme->mono[style].attr = look.attr;
    return CF_OK;
}

cf_look cf_theme_look(const cf_theme *theme, cf_style style, int n_colors)
{
    unsigned name = style & CF_STYLE_NAME_MASK;
    if (name >= CF_STYLE_COUNT) {
        name = CF_STYLE_NORMAL;
    }
    cf_look look = n_colors >= 256 ? theme->rich[name]
                   : n_colors >= 8 ? theme->basic[name]
                                   : theme->mono[name];
    if (n_colors == 8) { /* no bright colours: bold instead */
        if (look.fg >= 8) {
            look.fg = (int16_t)(look.fg - 8);
            look.attr |= CF_ATTR_BOLD;
        }
        if (look.bg >= 8) {
            look.bg = (int16_t)(look.bg - 8);
        }
    }
    look.attr = (uint8_t)(look.attr | (style & CF_BOLD ? B : 0) |
                          (style & CF_UNDERLINE ? U : 0) |
                          (style & CF_REVERSE ? R : 0));
    return look;
}

static cf_theme current;
static bool is_set;

void cf_theme_use(const cf_theme *theme)
{
    current = *theme;
    is_set = true;
}

const cf_theme *cf_theme_current(void)
{
    if (!is_set) {
        cf_theme_default(&current);
        is_set = true;
    }
    return &current;
}
