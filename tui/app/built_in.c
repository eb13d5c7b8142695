/*
 * built_in.c - the tools of the program itself, run for a call by hand.
 */
#include "tui/app/built_in.h"

#include "tui/demo/demo_serve.h"
#include "tui/lab/lab.h"
#include "tui/lab/talk/lab_conversation.h"

bool cf_built_in_has(cf_app *app, cf_str name)
{
    return app->demo != NULL && cf_demo_has(name) &&
           cf_demo_is_declared(cf_lab_engine_of(app->lab)->tools);
}

cf_status cf_built_in_run(cf_app *app, cf_str name, json_t *arguments, cf_buf *out, cf_error *err)
{
    json_t *result = NULL;
    CF_TRY(cf_demo_run(app->demo, cf_lab_conv_id(app->lab), name, arguments, &result, err));
    json_t *content = cf_demo_content(result);
    cf_status st = CF_OK;
    if (content != NULL) {
        cf_buf_add(out, json_string_value(content), json_string_length(content));
        st = cf_buf_check(out, err);
    } else {
        st = cf_oom_for(err, "the result");
    }
    json_decref(content);
    json_decref(result);
    return st;
}
