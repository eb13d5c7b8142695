/*
 * mcp_form.c - a question of a tool server, field by field on the terminal.
 */
#include "tui/cli/talk/mcp_form.h"

#include <stdio.h>

#include "tui/lab/tools/form.h"
#include "tui/sys/out.h"

static void put(cf_str text)
{
    cf_out(stderr, text.n > 0 ? text : cf_str_from(""), CF_OUT_TEXT);
}

static void puts_err(const char *text)
{
    put(cf_str_from(text));
}

/* One line; false at the end of the input, and when memory runs out. */
static bool read_line(cf_buf *line)
{
    int c;
    cf_buf_reset(line);
    while ((c = getchar()) != EOF && c != '\n') {
        cf_buf_addc(line, (char)c);
    }
    return c != EOF && !line->failed;
}

/* Asks until the value is good; false: cancelled. */
static bool ask_field(const cf_form_field *field, json_t *content)
{
    cf_buf line = CF_BUF_INIT, hint = CF_BUF_INIT;
    bool is_good = false;
    cf_form_hint(field, &hint);
    if (field->description.n > 0) {
        put(field->description);
        puts_err("\n");
    }
    while (!is_good) {
        cf_error err;
        json_t *v;
        put(field->title);
        puts_err(" (");
        put(cf_buf_str(&hint));
        puts_err("): ");
        fflush(stderr);
        if (!read_line(&line)) {
            break;
        }
        if (cf_form_value(field, cf_buf_str(&line), &v, &err) != CF_OK) {
            cf_note("  %s", err.text);
            continue;
        }
        is_good = v == NULL || json_object_set_new(content, field->name.p, v) == 0;
    }
    cf_buf_deinit(&line);
    cf_buf_deinit(&hint);
    return is_good;
}

/* y, n, or the end of the input. */
static const char *ask_yes(const char *question)
{
    cf_buf line = CF_BUF_INIT;
    puts_err(question);
    fflush(stderr);
    bool has_line = read_line(&line);
    const char *action = !has_line                               ? "cancel"
                         : line.n > 0 && (line.p[0] | 32) == 'y' ? "accept"
                                                                 : "decline";
    cf_buf_deinit(&line);
    return action;
}

void cf_mcp_form(cf_str server, const json_t *params, json_t **answer)
{
    const json_t *schema = json_object_get(params, "requestedSchema");
    bool is_url = cf_str_is(cf_json_get_str(params, "mode"), "url");
    puts_err("[server ");
    put(server);
    puts_err(" asks] ");
    put(cf_json_get_str(params, "message"));
    puts_err("\n");
    if (is_url) {
        put(cf_json_get_str(params, "url"));
        puts_err("\nOpen this address yourself; nothing is opened for you.\n");
        *answer = json_pack("{s:s}", "action", ask_yes("agreed? [y/N] "));
        return;
    }
    const char *action = ask_yes("answer it? [y/N] ");
    json_t *content = json_object();
    cf_form_field field;
    for (size_t i = 0; *action == 'a' && cf_form_field_at(schema, i, &field); i++) {
        action = ask_field(&field, content) ? action : "cancel";
    }
    *answer = *action == 'a' ? json_pack("{s:s, s:O}", "action", action, "content", content)
                             : json_pack("{s:s}", "action", action);
    json_decref(content);
}
