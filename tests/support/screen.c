/*
 * screen.c - scripts in, screens out.
 */
#include "tests/support/screen.h"

#include <stdlib.h>

#include "core/base/os.h"
#include "tests/support/t.h"
#include "tui/grid/theme.h"
#include "tui/lab/state/lab_task.h"

enum { WITHOUT_MAX = 4 };

typedef struct runner {
    cf_app *app;
    const char *folder;
    int line;
    const cf_screen_ops *ops;
    char without[WITHOUT_MAX][64];
    size_t n_without;
} runner;

static void press(runner *r, const char *keys, size_t n)
{
    if (n > 0 && keys[n - 1] == '\\') {
        n--;
    }
    for (size_t at = 0; at < n;) {
        cf_event e = {.kind = CF_EVENT_KEY};
        if (!cf_key_parse(&e.key, keys, n, &at)) {
            fail_msg("line %d: '%s' is not a key", r->line, keys + at);
        }
        cf_app_event(r->app, &e);
    }
}

/* The middle of the first place on the screen that says `text`. */
static void find(runner *r, const char *text, cf_event *e)
{
    cf_grid *g = &r->app->grid;
    cf_buf row = CF_BUF_INIT;
    e->y = -1;
    cf_app_draw(r->app);
    if (sscanf(text, "@%d,%d", &e->x, &e->y) == 2) { /* NOLINT(cert-err34-c) */
        cf_buf_deinit(&row);
        return;
    }
    for (int y = 0; y < g->h && e->y < 0; y++) {
        cf_buf_reset(&row);
        for (int x = 0; x < g->w; x++) { /* a byte a cell */
            uint32_t cp = g->cell[y * g->w + x].glyph.cp[0];
            cf_buf_addc(&row, cp >= 32 && cp < 127 ? (char)cp : '\1');
        }
        const char *found = strstr(cf_buf_cstr(&row), text);
        if (found != NULL) {
            e->x = (int)(found - row.p + (ptrdiff_t)strlen(text) / 2);
            e->y = y;
        }
    }
    cf_buf_deinit(&row);
    if (e->y < 0) {
        fail_msg("line %d: '%s' is not on the screen", r->line, text);
    }
}

static void click(runner *r, const char *text, int times)
{
    cf_event e = {.kind = CF_EVENT_MOUSE};
    find(r, text, &e);
    for (int i = 0; i < times; i++) {
        cf_app_event(r->app, &e);
    }
    r->app->pointer.last.us = 0; /* the next press is another one */
}

/* "FROM, TO": pressed and moved; "drop" releases. */
static void drag(runner *r, char *texts)
{
    char *to = strstr(texts, ", ");
    cf_event e = {.kind = CF_EVENT_MOUSE};
    if (to == NULL) {
        fail_msg("line %d: drag FROM, TO", r->line);
        return;
    }
    *to = '\0';
    find(r, texts, &e);
    cf_app_event(r->app, &e);
    e.kind = CF_EVENT_DRAG;
    find(r, to + 2, &e);
    cf_app_event(r->app, &e);
    r->app->pointer.last.us = 0;
}

static void drop(runner *r)
{
    cf_event e = {.kind = CF_EVENT_RELEASE};
    cf_app_event(r->app, &e);
}

/* "up TEXT" or "down TEXT". */
static void turn_wheel(runner *r, const char *text)
{
    bool is_up = strncmp(text, "up ", 3) == 0;
    cf_event e = {.kind = CF_EVENT_KEY, .key = is_up ? CF_KEY_MOUSE_UP : CF_KEY_MOUSE_DOWN};
    find(r, text + (is_up ? 3 : 5), &e);
    cf_app_event(r->app, &e);
}

static void run_shell(const runner *r, const char *command)
{
    if (system(command) != 0) { /* NOLINT(concurrency-mt-unsafe,cert-env33-c) */
        fail_msg("line %d: '%s' failed", r->line, command);
    }
}

static void paste(runner *r, const char *text)
{
    cf_buf b = CF_BUF_INIT;
    for (; *text != '\0'; text++) {
        if (text[0] == '\\' && text[1] == 'n') {
            cf_buf_addc(&b, '\n');
            text++;
        } else {
            cf_buf_addc(&b, *text);
        }
    }
    cf_event e = {.kind = CF_EVENT_PASTE, .paste = cf_buf_str(&b)};
    cf_app_event(r->app, &e);
    cf_buf_deinit(&b);
}

static void compare(runner *r, const char *name, const char *kind, const cf_buf *have)
{
    char path[512];
    cf_error err;
    snprintf(path, sizeof path, "%s/%s.%s", r->folder, name, kind);
    if (getenv("UPDATE_SCREENS") != NULL) {
        T_OK(cf_os_write_file(path, cf_buf_cstr(have), have->n, 0644, &err), err);
        return;
    }
    cf_buf want = CF_BUF_INIT;
    T_OK(cf_os_read_file(&want, path, 1 << 20, &err), err);
    if (want.n != have->n || memcmp(cf_buf_cstr(&want), cf_buf_cstr(have), want.n) != 0) {
        printf("---- %s, expected:\n%s---- shown:\n%s----\n", path, cf_buf_cstr(&want),
               cf_buf_cstr(have));
        cf_buf_deinit(&want);
        fail_msg("line %d: %s differs (UPDATE_SCREENS=1 accepts it)", r->line, path);
    }
    cf_buf_deinit(&want);
}

/* Waits for all background work, so that screens repeat. */
static void end_reading(cf_app *app)
{
    for (int i = 0; app->lab != NULL && i < 3; i++) {
        cf_lab_end_reading(app->lab, NULL);
        (void)cf_app_step(app); /* may begin another */
    }
}

static bool is_left_out(const runner *r, const char *line, size_t n)
{
    for (size_t i = 0; i < r->n_without; i++) {
        const char *found = strstr(line, r->without[i]);
        if (found != NULL && found < line + n) {
            return true;
        }
    }
    return false;
}

/* Puts an empty line in place of each that holds a text of r->without, and
 * leaves out what `styles` says of it ("ROW: ..."). */
static void leave_out(const runner *r, cf_buf *text, cf_buf *styles)
{
    cf_buf out = CF_BUF_INIT, kept = CF_BUF_INIT;
    const char *style = cf_buf_cstr(styles);
    int row = 0;
    for (const char *at = cf_buf_cstr(text); *at != '\0'; row++) {
        const char *end = strchr(at, '\n');
        size_t n = end != NULL ? (size_t)(end - at) + 1 : strlen(at);
        bool is_out = is_left_out(r, at, n);
        cf_buf_add(&out, is_out ? "\n" : at, is_out ? 1 : n);
        while (*style >= '0' && *style <= '9' && atoi(style) <= row) {
            size_t n_style = strcspn(style, "\n") + 1;
            cf_buf_add(&kept, style, is_out ? 0 : n_style);
            style += n_style;
        }
        at += n;
    }
    cf_buf_adds(&kept, style);
    cf_buf_deinit(text);
    cf_buf_deinit(styles);
    *text = out;
    *styles = kept;
}

static void screen(runner *r, const char *name)
{
    cf_buf text = CF_BUF_INIT;
    cf_buf styles = CF_BUF_INIT;
    end_reading(r->app);
    cf_app_draw(r->app);
    cf_grid_dump(&r->app->grid, &text);
    cf_grid_dump_styles(&r->app->grid, &styles);
    if (r->n_without != 0) {
        leave_out(r, &text, &styles);
    }
    compare(r, name, "screen", &text);
    compare(r, name, "styles", &styles);
    cf_buf_deinit(&text);
    cf_buf_deinit(&styles);
}

static cf_look look_of(const cf_grid *g, const cf_cell *c)
{
    cf_look look = cf_theme_look(cf_theme_current(), c->style, g->n_colors);
    if ((c->style & CF_STYLE_NAME_MASK) == CF_STYLE_IMAGE) {
        look.fg = c->fg;
        look.bg = c->bg;
    }
    return look;
}

static bool same_look(cf_look a, cf_look b)
{
    return a.fg == b.fg && a.bg == b.bg && a.attr == b.attr;
}

static void add_color(cf_buf *out, int color)
{
    if (color < 0) {
        cf_buf_addc(out, '-');
    } else {
        cf_buf_addf(out, "%d", color);
    }
}

static void add_look(cf_buf *out, cf_look look, int cells, int x)
{
    cf_buf_addc(out, ' ');
    add_color(out, look.fg);
    cf_buf_addc(out, ',');
    add_color(out, look.bg);
    cf_buf_adds(out, look.attr & CF_ATTR_BOLD ? " bold" : "");
    cf_buf_adds(out, look.attr & CF_ATTR_UNDERLINE ? " underline" : "");
    cf_buf_adds(out, look.attr & CF_ATTR_REVERSE ? " reverse" : "");
    cf_buf_adds(out, look.attr & CF_ATTR_DIM ? " dim" : "");
    cf_buf_addf(out, ":%d @%d", cells, x);
}

static void looks(runner *r, const char *name)
{
    cf_buf out = CF_BUF_INIT;
    const cf_grid *g = &r->app->grid;
    const cf_look plain = {-1, -1, 0};
    cf_app_draw(r->app);
    cf_buf_addf(&out, "%d colours\n", g->n_colors);
    for (int y = 0; y < g->h; y++) {
        const cf_cell *row = g->cell + (size_t)y * (size_t)g->w;
        size_t start = out.n;
        for (int x = 0; x < g->w;) {
            cf_look look = look_of(g, &row[x]);
            int from = x;
            while (x < g->w && same_look(look_of(g, &row[x]), look)) {
                x++;
            }
            if (!same_look(look, plain)) {
                if (out.n == start) {
                    cf_buf_addf(&out, "%d:", y);
                }
                add_look(&out, look, x - from, from);
            }
        }
        cf_buf_adds(&out, out.n != start ? "\n" : "");
    }
    compare(r, name, "looks", &out);
    cf_buf_deinit(&out);
}

static void run_line(runner *r, char *line)
{
    char *rest = strchr(line, ' ');
    rest = rest != NULL ? rest + 1 : line + strlen(line);
    int w, h;
    if (line[0] == '\0' || line[0] == '#') {
        return;
    }
    if (strncmp(line, "keys ", 5) == 0) {
        press(r, rest, strlen(rest));
    } else if (strncmp(line, "paste ", 6) == 0) {
        paste(r, rest);
    } else if (strncmp(line, "click ", 6) == 0) {
        click(r, rest, 1);
    } else if (strncmp(line, "double ", 7) == 0) {
        click(r, rest, 2);
    } else if (strncmp(line, "drag ", 5) == 0) {
        drag(r, rest);
    } else if (strcmp(line, "drop") == 0) {
        drop(r);
    } else if (strncmp(line, "wheel ", 6) == 0) {
        turn_wheel(r, rest);
    } else if (strncmp(line, "shell ", 6) == 0) {
        run_shell(r, rest);
    } else if (strcmp(line, "restart") == 0 && r->ops->restart != NULL) {
        r->ops->restart(r->app);
    } else if (strncmp(line, "command ", 8) == 0) {
        cf_app_command(r->app, rest);
    } else if (sscanf(line, "size %dx%d", &w, &h) == 2) {
        cf_event e = {.kind = CF_EVENT_RESIZE, .w = w, .h = h};
        cf_app_event(r->app, &e);
    } else if (strcmp(line, "idle") == 0) {
        if (r->ops->idle != NULL) {
            r->ops->idle(r->app);
        }
    } else if (strcmp(line, "draw") == 0) {
        cf_app_draw(r->app);
    } else if (sscanf(line, "colors %d", &w) == 1) {
        r->app->grid.n_colors = w;
    } else if (strncmp(line, "looks ", 6) == 0) {
        looks(r, rest);
    } else if (strncmp(line, "without ", 8) == 0) {
        assert_true(r->n_without < WITHOUT_MAX);
        snprintf(r->without[r->n_without++], sizeof r->without[0], "%s", rest);
    } else if (strncmp(line, "screen ", 7) == 0) {
        screen(r, rest);
    } else {
        fail_msg("line %d: '%s' is not a script line", r->line, line);
    }
}

void cf_screen_run(cf_app *app, const char *path, const cf_screen_ops *ops)
{
    char folder[512];
    cf_buf text = CF_BUF_INIT;
    cf_error err;
    snprintf(folder, sizeof folder, "%s", path);
    char *slash = strrchr(folder, '/');
    assert_non_null(slash);
    *slash = '\0';
    T_OK(cf_os_read_file(&text, path, 1 << 20, &err), err);
    runner r = {.app = app, .folder = folder, .ops = ops};
    for (char *at = text.p; at != NULL && *at != '\0';) {
        char *nl = strchr(at, '\n');
        if (nl != NULL) {
            *nl = '\0';
        }
        r.line++;
        run_line(&r, at);
        at = nl != NULL ? nl + 1 : NULL;
    }
    cf_buf_deinit(&text);
}
