/*
 * command_system.c - sets and lists system prompts.
 */
#include "tui/app/command_system.h"

#include "tui/lab/talk/lab_again.h"
#include "tui/lab/talk/lab_system.h"

void cf_app_say_system(cf_app *app, size_t n_copied)
{
    if (n_copied == 0) {
        cf_app_say(app, CF_STYLE_OK, "the system prompt is set");
    } else {
        cf_app_say(
            app, CF_STYLE_OK,
            "a branch with this system prompt: %zu turn%s copied, gr asks all of it again, u "
            "goes back",
            n_copied, n_copied == 1 ? "" : "s");
    }
}

void cf_cmd_system(cf_app *app, const char *arg)
{
    cf_error err;
    cf_buf text = CF_BUF_INIT;
    size_t n_copied = 0;
    if (arg[0] == '\0') {
        cf_app_open_view(app, CF_VIEW_CHAT);
        cf_app_command(app, "edit-system");
        return;
    }
    cf_status st = cf_system_text(&text, arg, &err);
    CF_THEN(st, cf_lab_set_system(app->lab, cf_buf_str(&text), &n_copied, &err));
    if (st == CF_OK) {
        cf_app_say_system(app, n_copied);
    } else {
        cf_app_error(app, &err);
    }
    cf_buf_deinit(&text);
}

void cf_cmd_again(cf_app *app)
{
    cf_error err;
    size_t n = 0;
    if (cf_lab_again(app->lab, &n, &err) != CF_OK) {
        cf_app_error(app, &err);
        return;
    }
    cf_app_say(app, CF_STYLE_OK,
               "asking again from the first question, %zu in all; Esc stops, u "
               "goes back",
               n);
}
