/*
 * command_servers.c - starts tool servers from the workbench.
 */
#include "tui/app/command_servers.h"

#include <string.h>

#include "tui/sys/paths.h"

static cf_status need_servers(cf_app *app, cf_error *err)
{
    if (app->servers != NULL) {
        return CF_OK;
    }
    CF_TRY(cf_tool_servers_new(&app->servers, app->lab, app->store, err));
    if (app->term != NULL) {
        cf_tool_servers_wake_with(app->servers, app->term->wake_fd);
    }
    return CF_OK;
}

cf_status cf_app_add_servers(cf_app *app, const char *path, cf_error *err)
{
    json_t *list = NULL;
    CF_TRY(cf_app_may(app, err));
    CF_TRY(cf_tool_links_read_file(&list, path, app->trust, err));
    cf_status st = need_servers(app, err);
    for (size_t i = 0; st == CF_OK && i < json_array_size(list); i++) {
        st = cf_tool_servers_add(app->servers, json_array_get(list, i), err);
    }
    json_decref(list);
    return st;
}

static cf_status add_line(cf_app *app, const char *line, cf_error *err)
{
    json_t *config = NULL;
    CF_TRY(cf_app_may(app, err));
    CF_TRY(need_servers(app, err));
    CF_TRY(cf_mcp_config_line(&config, line, err));
    cf_status st = cf_tool_servers_add(app->servers, config, err);
    json_decref(config);
    return st;
}

static bool is_file(const char *arg)
{
    size_t n = strlen(arg);
    return n > 5 && strcmp(arg + n - 5, ".json") == 0 && strchr(arg, ' ') == NULL;
}

void cf_cmd_start_servers(cf_app *app, const char *arg)
{
    cf_error err;
    cf_status st = CF_OK;
    if (is_file(arg)) {
        cf_buf path = CF_BUF_INIT;
        cf_paths_expand(&path, arg);
        st = cf_buf_check(&path, &err);
        CF_THEN(st, cf_app_add_servers(app, cf_buf_cstr(&path), &err));
        cf_buf_deinit(&path);
    } else if (arg[0] != '\0') {
        st = add_line(app, arg, &err);
    }
    cf_app_open_view(app, CF_VIEW_SERVERS); /* asks about those that wait */
    if (st != CF_OK) {
        cf_app_error(app, &err);
    }
}

bool cf_app_step_servers(cf_app *app)
{
    cf_buf notice = CF_BUF_INIT;
    if (app->servers == NULL) {
        return false;
    }
    bool has_changed = cf_tool_servers_poll(app->servers, &notice);
    if (notice.failed) {
        cf_app_say(app, CF_STYLE_ERROR, "out of memory: changes of the tools are not shown");
    } else if (notice.n > 0) {
        size_t n = strcspn(notice.p, "\n");
        cf_app_say(app, CF_STYLE_WARNING, "%.*s%s", (int)n, notice.p,
                   n + 1 < notice.n ? " (@ shows how)" : "");
        cf_buf_add(&app->log, notice.p, notice.n);
    }
    cf_buf_deinit(&notice);
    app->is_dirty = app->is_dirty || has_changed;
    return has_changed;
}
