/*
 * bind.c - the tables of commands, walked by name and by key.
 */
#include "tui/app/bind.h"

#include <stdio.h>
#include <string.h>

#include "tui/app/command_user.h"

/* Whether `word` is a command's name or begins it.  Forms with "!" do what the
 * plain ones ask about: only a word with "!" means one. */
static bool names(const cf_command *c, const char *word, size_t n, bool *is_exact)
{
    size_t len = strlen(c->name);
    bool is_sure = len > 0 && c->name[len - 1] == '!';
    *is_exact = len == n && strncmp(c->name, word, n) == 0;
    if (is_sure != (n > 0 && word[n - 1] == '!')) {
        return false;
    }
    return strncmp(c->name, word, is_sure ? n - 1 : n) == 0 && n <= len;
}

const cf_command *cf_command_find(cf_view_id view, const char *word, size_t n, size_t *n_found)
{
    const cf_command *tables[2] = {cf_views[view]->commands, cf_global_commands};
    const cf_command *found = NULL;
    *n_found = 0;
    for (int t = 0; t < 2; t++) {
        for (const cf_command *c = tables[t]; c != NULL && c->name != NULL; c++) {
            bool is_exact;
            if (!(c->views & CF_IN(view)) || !names(c, word, n, &is_exact)) {
                continue;
            }
            if (is_exact) {
                *n_found = 1;
                return c;
            }
            found = found != NULL ? found : c;
            (*n_found)++;
        }
    }
    return found;
}

const cf_command *cf_command_named(cf_view_id view, const char *name)
{
    size_t n_found;
    const cf_command *c = cf_command_find(view, name, strlen(name), &n_found);
    return c != NULL && strcmp(c->name, name) == 0 ? c : NULL;
}

/* ---- keys --------------------------------------------------------------- */

static cf_status bind_table(cf_keymap *m, const cf_command *table, cf_error *err)
{
    for (const cf_command *c = table; c != NULL && c->name != NULL; c++) {
        const cf_binding b = {.views = c->views, .row = c};
        char keys[128];
        snprintf(keys, sizeof keys, "%s", c->keys);
        char *rest = NULL;
        for (const char *word = strtok_r(keys, " ", &rest); word != NULL;
             word = strtok_r(NULL, " ", &rest)) {
            CF_TRY(cf_keymap_add(m, &b, word, err));
        }
    }
    return CF_OK;
}

cf_status cf_bind_tables(cf_keymap *m, cf_error *err)
{
    CF_TRY(bind_table(m, cf_global_commands, err));
    for (int v = 0; v < CF_VIEW_COUNT; v++) {
        CF_TRY(bind_table(m, cf_views[v]->commands, err));
    }
    return CF_OK;
}

static uint32_t find_views(const char *name)
{
    for (int v = 0; v < CF_VIEW_COUNT; v++) {
        if (strcmp(cf_views[v]->name, name) == 0) {
            return CF_IN(v);
        }
    }
    return strcmp(name, "all") == 0 ? CF_IN_ALL : 0;
}

cf_status cf_bind_line(void *ud, const char *view, const char *keys, const char *line,
                       cf_error *err)
{
    line += strspn(line, " :");
    size_t n = strcspn(line, " "), most = 0;
    uint32_t views = find_views(view);
    bool is_bound = false;
    if (views == 0) {
        return cf_fail(err, CF_EINVAL, "bind: no view '%s'", view);
    }
    if (cf_is_user_command(line)) {
        const cf_binding b = {.views = views, .arg = line, .is_user = true};
        return cf_keymap_add(ud, &b, keys, err);
    }
    for (int v = 0; v < CF_VIEW_COUNT; v++) {
        size_t n_found = 0;
        const cf_command *c =
            (views & CF_IN(v)) && n > 0 ? cf_command_find((cf_view_id)v, line, n, &n_found) : NULL;
        most = n_found > most ? n_found : most;
        if (n_found == 1) {
            const cf_binding b = {.views = CF_IN(v),
                                  .row = c,
                                  .arg = line + n + strspn(line + n, " "),
                                  .is_user = true};
            CF_TRY(cf_keymap_add(ud, &b, keys, err));
            is_bound = true;
        }
    }
    return is_bound ? CF_OK
                    : cf_fail(err, CF_EINVAL,
                              most > 1 ? "bind: '%.*s' may mean several commands"
                                       : "bind: no command '%.*s' in that view",
                              (int)(n < 40 ? n : 40), line);
}

/* ---- the tables as rows ------------------------------------------------- */

/* At most three keys that reach a row, the user's own first. */
static void put_keys(const cf_keymap *m, uint32_t view, const cf_command *c, cf_buf *out)
{
    enum { KEYS_MAX = 3 };
    int n = 0;
    for (size_t k = 0; k < 2 * m->n && n < KEYS_MAX; k++) {
        const cf_binding *b = &m->v[k % m->n];
        if (b->is_user == (k < m->n) && cf_keymap_reaches(m, view, b, c)) {
            cf_buf_adds(out, n++ > 0 ? " " : "");
            cf_binding_keys(b, out);
        }
    }
}

static void find_table(cf_word_index *index, const cf_keymap *m, const cf_command *table,
                       const char *where)
{
    for (const cf_command *c = table; c != NULL && c->name != NULL; c++) {
        cf_buf keys = CF_BUF_INIT, name = CF_BUF_INIT;
        put_keys(m, c->views & (~c->views + 1), c, &keys); /* in the first of its views */
        cf_buf_addf(&name, ":%s%s%s", c->name, c->args[0] != '\0' ? " " : "", c->args);
        cf_word_index_add(index, where, cf_buf_cstr(&keys), cf_buf_cstr(&name), c->help);
        cf_buf_deinit(&keys);
        cf_buf_deinit(&name);
    }
}

void cf_find_rows(cf_word_index *index, const cf_keymap *m, const cf_config *config)
{
    find_table(index, m, cf_global_commands, "workbench, all views");
    for (int v = 0; v < CF_VIEW_COUNT; v++) {
        char where[64];
        snprintf(where, sizeof where, "workbench, %s", cf_views[v]->title);
        find_table(index, m, cf_views[v]->commands, where);
    }
    for (size_t i = 0; cf_config_name(config, i) != NULL; i++) {
        cf_buf line = CF_BUF_INIT, name = CF_BUF_INIT, help = CF_BUF_INIT;
        if (cf_config_show(config, cf_config_name(config, i), &line)) {
            /* "NAME=VALUE  (from where)  help" */
            const char *value = strchr(cf_buf_cstr(&line), '=') + 1;
            const char *from = strstr(value, "  (") + 2;
            cf_buf_addf(&name, ":set %s=VALUE", cf_config_name(config, i));
            cf_buf_addf(&help, "%s; now %.*s", strchr(from, ')') + 3, (int)(from - 2 - value),
                        value);
            cf_word_index_add(index, "setting", "", cf_buf_cstr(&name), cf_buf_cstr(&help));
            cf_buf_deinit(&help);
        }
        cf_buf_deinit(&line);
        cf_buf_deinit(&name);
    }
}
