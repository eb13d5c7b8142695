/*
 * command_model.c - the commands about the model: which one, and its adapters.
 */
#include "tui/app/command_model.h"

#include <stdio.h>
#include <string.h>

#include "core/base/os.h"
#include "templates/model_place.h"
#include "tui/lab/talk/lab_adapters.h"
#include "tui/lab/talk/lab_conversation.h"

size_t cf_models_here(void)
{
    cf_model_places places = {0};
    cf_error err;
    cf_ignore(cf_model_places_list(&places, &err));
    size_t n = places.n;
    cf_model_places_deinit(&places);
    return n;
}

/* The names go to the log whole, and to the command line for Tab. */
static void show_models(cf_app *app)
{
    cf_model_places places = {0};
    cf_buf text = CF_BUF_INIT;
    cf_error err;
    if (cf_model_places_list(&places, &err) != CF_OK) {
        cf_app_error(app, &err);
        return;
    }
    for (size_t i = 0; i < places.n; i++) {
        cf_buf_addf(&text, "%s%s", i == 0 ? "" : "  ", places.v[i].name);
        cf_buf_addf(&app->log, "model %s\n", places.v[i].name);
    }
    cf_edit_set(&app->command_line, cf_str_from("model "));
    snprintf(app->menu.word, sizeof app->menu.word, "model "); /* listed */
    app->mode = CF_MODE_COMMAND;
    cf_app_say(app, CF_STYLE_DIM, "in use: %s; here: %s   (Tab completes)",
               app->model != NULL ? app->model : "bundled",
               places.n != 0 ? cf_buf_cstr(&text) : "no other; a file or folder can be named");
    cf_buf_deinit(&text);
    cf_model_places_deinit(&places);
}

/* The conversation, where the history has it. */
static cf_uuid saved_conversation(const cf_app *app)
{
    cf_uuid id = cf_lab_conv_id(app->lab);
    char text[CF_UUID_TEXT + 1];
    cf_store_ref ref;
    cf_error err;
    cf_uuid_format(text, id);
    return app->store != NULL && !cf_uuid_is_nil(id) &&
                   cf_store_find(app->store, cf_str_from(text), &ref, &err) == CF_OK
               ? id
               : (cf_uuid){{0}};
}

static bool is_address(const char *name)
{
    return strncmp(name, "http", 4) == 0 || strncmp(name, "script:", 7) == 0 ||
           strcmp(name, "bundled") == 0;
}

void cf_cmd_use_model(cf_app *app, const char *arg)
{
    cf_error err;
    cf_buf path = CF_BUF_INIT;
    if (arg[0] == '\0') {
        show_models(app);
        return;
    }
    if (app->next == NULL || cf_app_is_busy(app)) {
        cf_app_say(app, CF_STYLE_WARNING, "the model cannot be changed now");
        return;
    }
    cf_status st = is_address(arg) ? CF_OK : cf_model_place_find(&path, arg, &err);
    if (st == CF_OK && path.n != 0 && !cf_os_is_readable(cf_buf_cstr(&path)) &&
        !cf_os_is_dir(cf_buf_cstr(&path))) {
        st = cf_fail(&err, CF_ENOTFOUND, "%.80s: no such model", arg);
    }
    cf_buf_deinit(&path);
    if (st != CF_OK) {
        cf_app_error(app, &err);
        return;
    }
    cf_buf_reset(&app->next->name);
    cf_buf_adds(&app->next->name, arg);
    app->next->conversation = saved_conversation(app);
    app->is_done = true;
}

void cf_cmd_lora(cf_app *app, const char *arg)
{
    cf_error err;
    cf_buf text = CF_BUF_INIT;
    if (arg[0] != '\0' && cf_lab_set_adapters(app->lab, arg, &err) != CF_OK) {
        cf_app_error(app, &err);
        return;
    }
    cf_lab_adapters_text(app->lab, &text);
    cf_app_say(app, arg[0] != '\0' ? CF_STYLE_OK : CF_STYLE_DIM,
               "adapters: %s   (FILE[=SCALE] ..., off, start)", cf_buf_cstr(&text));
    cf_buf_deinit(&text);
}
