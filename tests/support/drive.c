/*
 * drive.c - keys for a workbench, and its screen as text.
 */
#include "tests/support/drive.h"

#include "tests/support/t.h"

void cf_drive_press(cf_app *app, const char *keys)
{
    for (size_t at = 0, n = strlen(keys); at < n;) {
        cf_event e = {.kind = CF_EVENT_KEY};
        if (!cf_key_parse(&e.key, keys, n, &at)) {
            fail_msg("not a key: %s", keys + at);
        }
        cf_app_event(app, &e);
    }
}

bool cf_drive_shows(cf_app *app, const char *words)
{
    cf_buf screen = CF_BUF_INIT;
    cf_app_draw(app);
    cf_grid_dump(&app->grid, &screen);
    bool does = strstr(cf_buf_cstr(&screen), words) != NULL;
    cf_buf_deinit(&screen);
    return does;
}
