/*
 * command_model.c - the commands about the model: adapters.
 */
#include "tui/app/command_model.h"

#include "tui/lab/lab_adapters.h"

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
               "adapters: %s   (FILE[=SCALE] ..., off, start)",
               cf_buf_cstr(&text));
    cf_buf_deinit(&text);
}
