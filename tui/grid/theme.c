/*
 * theme.c - the themes for dark and light backgrounds, and `color` lines.
 *
 * Red and green are never the only difference between two marks: added and
 * removed, kept and new also differ in brightness, and views print + and -.
 * Text keeps the terminal's own colours; what is probable is near them, what
 * is not stands out by shade.
 */
#include "tui/grid/theme.h"

#include <stdlib.h>
#include <string.h>

#include "tui/grid/grid.h"

enum { B = CF_ATTR_BOLD, U = CF_ATTR_UNDERLINE, R = CF_ATTR_REVERSE, D = CF_ATTR_DIM };

/* 24 bits; NONE is the terminal's own colour. */
#define NONE INT32_C(-1)
typedef struct shade {
    int32_t fg, bg;
} shade;

typedef struct entry {
    shade dark, light;
    uint8_t attr; /* of both */
    cf_look basic, mono;
} entry;

/* clang-format off */
static const entry defaults[CF_STYLE_COUNT] = {
    [CF_STYLE_NORMAL] = {{NONE, NONE}, {NONE, NONE}, 0,
        {-1, -1, 0}, {-1, -1, 0}},
    [CF_STYLE_DIM] = {{0x8B929C, NONE}, {0x6A717B, NONE}, 0,
        {-1, -1, D}, {-1, -1, D}},
    [CF_STYLE_BORDER] = {{0x4B525C, NONE}, {0xB3BAC4, NONE}, 0,
        {-1, -1, D}, {-1, -1, 0}},
    [CF_STYLE_TITLE] = {{0xB4BCC8, NONE}, {0x3D4551, NONE}, 0,
        {-1, -1, 0}, {-1, -1, 0}},
    [CF_STYLE_FOCUS] = {{0x6FB4F5, NONE}, {0x0B5FC0, NONE}, B,
        {6, -1, B}, {-1, -1, R}},
    [CF_STYLE_BAR] = {{0xC3CAD4, 0x262B33}, {0x2A3039, 0xE2E6EC}, 0,
        {0, 7, 0}, {-1, -1, R}},
    [CF_STYLE_BAR_ON] = {{0x10151C, 0x6FB4F5}, {0xFFFFFF, 0x0B5FC0}, B,
        {7, 4, B}, {-1, -1, B}},
    [CF_STYLE_KEY] = {{0x6FB4F5, NONE}, {0x0B5FC0, NONE}, B,
        {6, -1, B}, {-1, -1, B}},
    [CF_STYLE_SELECTED] = {{NONE, 0x2E3A4B}, {NONE, 0xD3E3F8}, 0,
        {-1, -1, R}, {-1, -1, R}},
    [CF_STYLE_MARKED] = {{0xF0C860, NONE}, {0x8A5F00, NONE}, B,
        {3, -1, B}, {-1, -1, B}},
    [CF_STYLE_MATCH] = {{0x15181D, 0xF0C860}, {0x15181D, 0xFFD55A}, 0,
        {0, 3, 0}, {-1, -1, R | U}},
    [CF_STYLE_USER] = {{0x8FCE7E, NONE}, {0x2B7A31, NONE}, B,
        {2, -1, B}, {-1, -1, B}},
    [CF_STYLE_ASSISTANT] = {{0x6FB4F5, NONE}, {0x0B5FC0, NONE}, B,
        {6, -1, B}, {-1, -1, B}},
    [CF_STYLE_SYSTEM] = {{0xC69CEB, NONE}, {0x7A3CB4, NONE}, B,
        {5, -1, B}, {-1, -1, B}},
    [CF_STYLE_TOOL] = {{0xF2A860, NONE}, {0xAD5700, NONE}, B,
        {3, -1, B}, {-1, -1, B}},
    [CF_STYLE_THINKING] = {{0x8B929C, NONE}, {0x6A717B, NONE}, 0,
        {-1, -1, D}, {-1, -1, D}},
    [CF_STYLE_ESCAPED] = {{0xFF7A73, NONE}, {0xC02A25, NONE}, 0,
        {1, -1, 0}, {-1, -1, U}},
    [CF_STYLE_SPECIAL] = {{0xC69CEB, NONE}, {0x7A3CB4, NONE}, B,
        {5, -1, B}, {-1, -1, B}},
    [CF_STYLE_TOKEN_A] = {{NONE, 0x1F242B}, {NONE, 0xEFF2F5}, 0,
        {-1, -1, 0}, {-1, -1, 0}},
    [CF_STYLE_TOKEN_B] = {{NONE, 0x303843}, {NONE, 0xDBE1E9}, 0,
        {-1, -1, U}, {-1, -1, U}},
    [CF_STYLE_OK] = {{0x8FCE7E, NONE}, {0x2B7A31, NONE}, 0,
        {2, -1, 0}, {-1, -1, 0}},
    [CF_STYLE_WARNING] = {{0xF0C860, NONE}, {0x8A5F00, NONE}, 0,
        {3, -1, 0}, {-1, -1, U}},
    [CF_STYLE_ERROR] = {{0xFF7A73, NONE}, {0xC02A25, NONE}, B,
        {1, -1, B}, {-1, -1, B}},
    [CF_STYLE_ADDED] = {{0xA6E692, NONE}, {0x186B2A, NONE}, 0,
        {2, -1, B}, {-1, -1, B}},
    [CF_STYLE_REMOVED] = {{0xD98A92, NONE}, {0xB04049, NONE}, 0,
        {1, -1, 0}, {-1, -1, D}},
    [CF_STYLE_KEPT] = {{0x7FAE8C, NONE}, {0x4D7A5A, NONE}, 0,
        {2, -1, 0}, {-1, -1, D}},
    [CF_STYLE_NEW] = {{0xF0D38A, NONE}, {0x8A5F00, NONE}, 0,
        {3, -1, 0}, {-1, -1, 0}},
    [CF_STYLE_BREAK] = {{0xFFFFFF, 0xC0392B}, {0xFFFFFF, 0xC02A25}, B,
        {7, 1, B}, {-1, -1, R | B}},
    [CF_STYLE_HEAT_0] = {{NONE, NONE}, {NONE, NONE}, 0,
        {-1, -1, 0}, {-1, -1, 0}},
    [CF_STYLE_HEAT_1] = {{NONE, 0x45451F}, {NONE, 0xFFF1BF}, 0,
        {3, -1, 0}, {-1, -1, U}},
    [CF_STYLE_HEAT_2] = {{0xFFF2DC, 0x7D4A14}, {0x5A2C00, 0xFFD49A}, 0,
        {3, -1, B}, {-1, -1, B}},
    [CF_STYLE_HEAT_3] = {{0xFFF4F0, 0xA8322A}, {0x7A1210, 0xFFB0A4}, B,
        {7, 1, B}, {-1, -1, R}},
    [CF_STYLE_PLOT_0] = {{0x5B646F, NONE}, {0xA5ADB8, NONE}, 0,
        {-1, -1, D}, {-1, -1, D}},
    [CF_STYLE_PLOT_1] = {{0xBCAE52, NONE}, {0x8F7000, NONE}, 0,
        {3, -1, 0}, {-1, -1, 0}},
    [CF_STYLE_PLOT_2] = {{0xF2934A, NONE}, {0xBF5600, NONE}, 0,
        {3, -1, B}, {-1, -1, B}},
    [CF_STYLE_PLOT_3] = {{0xFF6B5E, NONE}, {0xC02A25, NONE}, B,
        {1, -1, B}, {-1, -1, B}},
    [CF_STYLE_IMAGE] = {{NONE, NONE}, {NONE, NONE}, 0,
        {-1, -1, 0}, {-1, -1, 0}},
};
/* clang-format on */

static cf_look look_of(shade s, uint8_t attr)
{
    return (cf_look){s.fg < 0 ? -1 : CF_RGB(s.fg), s.bg < 0 ? -1 : CF_RGB(s.bg), attr};
}

/* Cyan and yellow cannot be read on white: blue and magenta can. */
static cf_look basic_on_light(cf_look look)
{
    if (look.bg < 0) {
        look.fg = look.fg == 6 ? 4 : look.fg == 3 ? 5 : look.fg;
    }
    return look;
}

void cf_theme_set_light(cf_theme *theme, bool is_light)
{
    theme->is_light = is_light;
    for (int i = 0; i < CF_STYLE_COUNT; i++) {
        const entry *e = &defaults[i];
        if (!theme->is_own[i]) {
            theme->rich[i] = look_of(is_light ? e->light : e->dark, e->attr);
            theme->basic[i] = is_light ? basic_on_light(e->basic) : e->basic;
            theme->mono[i] = e->mono;
        }
    }
}

void cf_theme_default(cf_theme *theme)
{
    memset(theme, 0, sizeof *theme);
    cf_theme_set_light(theme, false);
}

static const char *const color_names[16] = {
    "black",      "red",           "green",       "yellow",     "blue",        "magenta",
    "cyan",       "white",         "brightblack", "brightred",  "brightgreen", "brightyellow",
    "brightblue", "brightmagenta", "brightcyan",  "brightwhite"};

static bool parse_color(cf_color *out, const char *word)
{
    char *end;
    if (strcmp(word, "default") == 0) {
        *out = -1;
        return true;
    }
    for (int i = 0; i < 16; i++) {
        if (strcmp(word, color_names[i]) == 0) {
            *out = i;
            return true;
        }
    }
    if (word[0] == '#' && strlen(word) == 7) {
        unsigned long rgb = strtoul(word + 1, &end, 16);
        *out = CF_RGB((cf_color)rgb);
        return *end == '\0';
    }
    long v = strtol(word, &end, 10);
    if (end == word || *end != '\0' || v < 0 || v > 255) {
        return false;
    }
    *out = (cf_color)v;
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
        return cf_fail(err, CF_EINVAL, "color needs a style, a foreground and a background");
    }
    int style = find_style(name);
    if (style < 0) {
        return cf_fail(err, CF_EINVAL, "color: no style '%s'", name);
    }
    if (!parse_color(&look.fg, fg) || !parse_color(&look.bg, bg)) {
        return cf_fail(err, CF_EINVAL, "color: '%s %s' are not two colours", fg, bg);
    }
    for (const char *word = strtok_r(NULL, " \t", &rest); word != NULL;
         word = strtok_r(NULL, " \t", &rest)) {
        if (!parse_attr(&look.attr, word)) {
            return cf_fail(err, CF_EINVAL, "color: no attribute '%s'", word);
        }
    }
    theme->rich[style] = look;
    theme->is_own[style] = true;
    if (look.fg < 16 && look.bg < 16) {
        theme->basic[style] = look;
    }
    theme->mono[style].attr = look.attr;
    return CF_OK;
}

/* 24 bits in the nearest colour of a palette. */
static cf_color in_palette(cf_color c)
{
    return c >= CF_RGB(0) ? cf_palette_nearest((uint32_t)(c & 0xFFFFFF), 256) : c;
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
    if (n_colors >= 256 && n_colors < CF_TRUE_COLOR) {
        look.fg = in_palette(look.fg);
        look.bg = in_palette(look.bg);
    }
    if (n_colors == 8) { /* no bright colours: bold instead */
        if (look.fg >= 8) {
            look.fg -= 8;
            look.attr |= CF_ATTR_BOLD;
        }
        if (look.bg >= 8) {
            look.bg -= 8;
        }
    }
    look.attr = (uint8_t)(look.attr | (style & CF_BOLD ? B : 0) | (style & CF_UNDERLINE ? U : 0) |
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
