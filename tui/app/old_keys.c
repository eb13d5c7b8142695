/*
 * old_keys.c - what was where.
 */
#include "tui/app/old_keys.h"

#include <stdio.h>
#include <string.h>

#include "tui/app/bind.h"

static const struct {
    cf_view_id view;
    const char *key, *command;
} old[] = {
    {CF_VIEW_CHAT, "F", "follow"},        {CF_VIEW_CHAT, "S", "edit-system"},
    {CF_VIEW_PROMPT, "t", "ids"},         {CF_VIEW_TOKENS, "e", "overlay"},
    {CF_VIEW_TOKENS, "x", "tree"},        {CF_VIEW_TOKENS, "m", "mask"},
    {CF_VIEW_TOOLS, "I", "result"},       {CF_VIEW_TOOLS, "R", "retry"},
    {CF_VIEW_TOOLS, "T", "timeout"},      {CF_VIEW_TOOLS, "c", "chunks"},
    {CF_VIEW_TOOLS, "a", "approval"},     {CF_VIEW_TOOLS, "p", "on-failure"},
    {CF_VIEW_TOOLS, "C", "exec"},         {CF_VIEW_DIFF, "b", "with"},
    {CF_VIEW_DIFF, "t", "level"},         {CF_VIEW_DIFF, "=", "swap"},
    {CF_VIEW_DIFF, "w", "white"},         {CF_VIEW_DIFF, "R", "run"},
    {CF_VIEW_DIFF, "L", "likelihood"},    {CF_VIEW_DIFF, "gL", "likelihood-saved"},
    {CF_VIEW_DIFF, "m", "marks"},         {CF_VIEW_DIFF, "c", "current"},
    {CF_VIEW_DIFF, "gb", "current"},      {CF_VIEW_LIBRARY, "v", "tick"},
    {CF_VIEW_LIBRARY, "a", "place"},      {CF_VIEW_LIBRARY, "M", "unmark"},
    {CF_VIEW_TEMPLATES, "V", "versions"}, {CF_VIEW_REPLIES, "t", "level"},
    {CF_VIEW_REPLIES, "=", "swap"},       {CF_VIEW_SERVERS, "A", "accept"},
    {CF_VIEW_SERVERS, "a", "approval"},   {CF_VIEW_SERVERS, "f", "filter"},
};

cf_status cf_old_keys_bind(cf_keymap *m, cf_error *err)
{
    for (size_t i = 0; i < sizeof old / sizeof old[0]; i++) {
        const cf_binding b = {.views = CF_IN(old[i].view),
                              .row = cf_command_named(old[i].view, old[i].command),
                              .is_old = true};
        CF_TRY(cf_keymap_add(m, &b, old[i].key, err));
    }
    return CF_OK;
}

void cf_old_keys_say(cf_app *app, const cf_binding *b)
{
    cf_buf key = CF_BUF_INIT, now = CF_BUF_INIT;
    cf_binding_keys(b, &key);
    cf_keymap_describe(&app->keymap, b->views, b->row, &now);
    if (now.n == 0) {
        cf_buf_addf(&now, ":%s", b->row->name);
    }
    size_t n = strlen(app->notice.text);
    if (n == 0) {
        cf_app_say(app, CF_STYLE_DIM, "the key %s is %s now", cf_buf_cstr(&key), cf_buf_cstr(&now));
    } else {
        snprintf(app->notice.text + n, sizeof app->notice.text - n, "  (the key %s is %s now)",
                 cf_buf_cstr(&key), cf_buf_cstr(&now));
    }
    cf_buf_deinit(&key);
    cf_buf_deinit(&now);
}
