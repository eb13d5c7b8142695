/*
 * command_try.c - texts by name, in use or ticked.
 */
#include "tui/app/command_try.h"

#include <stdio.h>
#include <string.h>

#include "core/base/os.h"
#include "templates/builtin.h"
#include "tui/lab/prompt/kept_template.h"
#include "tui/lab/state/lab_marks.h"
#include "tui/lab/talk/lab_system.h"
#include "tui/lab/talk/lab_template.h"

static const char *const kinds[CF_TICK_KINDS] = {"system", "template", "model", "sampler"};

/* The source of a template; `text` holds it where it is of a file or kept. */
static cf_status find_template(cf_app *app, const char **name, cf_buf *text, cf_str *source,
                               cf_error *err)
{
    *source = cf_template_builtin(*name);
    if (strcmp(*name, "model") == 0) {
        cf_lab_first_template(app->lab, name, source);
        return CF_OK;
    }
    if (source->p != NULL) {
        return CF_OK;
    }
    cf_status st = cf_os_read_file(text, *name, 16 << 20, err);
    if (st == CF_ENOTFOUND) {
        st = cf_kept_template(text, app->store, *name, err);
    }
    *source = cf_buf_str(text);
    return st;
}

void cf_cmd_template(cf_app *app, const char *arg)
{
    cf_error err;
    cf_buf text = CF_BUF_INIT;
    const char *name = arg;
    cf_str source;
    if (arg[0] == '\0') {
        cf_app_open_view(app, CF_VIEW_TEMPLATES);
        cf_app_command(app, "capabilities");
        return;
    }
    cf_status st = find_template(app, &name, &text, &source, &err);
    CF_THEN(st, cf_lab_set_template(app->lab, name, source, &err));
    if (st == CF_OK) {
        cf_app_say(app, CF_STYLE_OK, "renders with %s; 2 shows what the cache keeps", name);
    } else {
        cf_app_error(app, &err);
    }
    cf_buf_deinit(&text);
}

static void say_ticked(cf_app *app)
{
    size_t n;
    const cf_lab_choice *c = cf_lab_choices(app->lab, &n);
    cf_buf line = CF_BUF_INIT;
    for (size_t i = 0; i < n; i++) {
        cf_buf_addf(&line, "%s%s %s", i > 0 ? ", " : "", kinds[c[i].kind], c[i].name);
    }
    cf_app_say(app, CF_STYLE_DIM, "%s%s", n > 0 ? "ticked for :sweep: " : "nothing is ticked: ",
               n > 0 ? cf_buf_cstr(&line) : ":try system, template, model or sampler VALUE");
    cf_buf_deinit(&line);
}

/* Ticks `value` as a text of a kind. */
static cf_status tick(cf_app *app, cf_tick_kind kind, const char *value, cf_error *err)
{
    cf_buf text = CF_BUF_INIT;
    cf_str s = cf_str_from(value);
    cf_status st = CF_OK;
    char name[64];
    size_t n;
    (void)cf_lab_choices(app->lab, &n);
    snprintf(name, sizeof name, "%s", value);
    if (kind == CF_TICK_SYSTEM) {
        st = cf_system_text(&text, value, err);
        s = cf_buf_str(&text);
        snprintf(name, sizeof name, "system-%zu", n + 1);
    } else if (kind == CF_TICK_TEMPLATE) {
        st = find_template(app, &value, &text, &s, err);
    }
    if (st == CF_OK && !cf_lab_tick_choice(app->lab, kind, name, s)) {
        st = cf_oom_for(err, "the tick");
    }
    cf_buf_deinit(&text);
    return st;
}

void cf_cmd_try(cf_app *app, const char *arg)
{
    cf_error err;
    size_t n = strcspn(arg, " "), kind = 0;
    const char *value = arg + n + strspn(arg + n, " ");
    if (strcmp(arg, "off") == 0) {
        cf_lab_untick_all(app->lab);
    }
    while (kind < CF_TICK_KINDS && (strncmp(kinds[kind], arg, n) != 0 || kinds[kind][n] != '\0')) {
        kind++;
    }
    cf_status st = CF_OK;
    if (kind < CF_TICK_KINDS && value[0] != '\0') {
        st = tick(app, (cf_tick_kind)kind, value, &err);
    } else if (arg[0] != '\0' && strcmp(arg, "off") != 0) {
        st = cf_fail(&err, CF_EINVAL, "try: system, template, model or sampler, and a value");
    }
    if (st == CF_OK) {
        say_ticked(app);
    } else {
        cf_app_error(app, &err);
    }
}
