/*
 * chat_calls.c - the calls of a turn, in the transcript, the tree and the
 * status line: one that waits for a result, one that is broken.
 *
 * A turn never changes, so what the parser finds in it is kept until other
 * tools are declared.  Whether a call waits depends on the path.
 */
#include <stdio.h>
#include <string.h>

#include "tui/lab/talk/lab_conversation.h"
#include "tui/lab/tools/lab_tools.h"
#include "tui/lab/tools/tool_model.h"
#include "tui/view/chat/chat.h"

/* Whether a reply may have calls: no parser finds one without these. */
static bool may_call(const cf_turn *turn, const cf_buf *text)
{
    static const char starts[] = "{[<";
    cf_str all = turn->raw.n != 0 ? turn->raw : cf_buf_str(text);
    if (json_array_size(json_object_get(turn->message, "tool_calls")) != 0) {
        return true;
    }
    for (size_t i = 0; i + 1 < sizeof starts; i++) {
        if (all.n != 0 && memchr(all.p, starts[i], all.n) != NULL) {
            return true;
        }
    }
    return false;
}

static void find_calls(cf_app *app, const cf_turn *turn, cf_chat_text *t)
{
    const cf_lab_engine *e = cf_lab_engine_of(app->lab);
    cf_tool_model m;
    cf_error err;
    t->n_calls = 0;
    cf_buf_restart(&t->broken);
    if (!cf_str_is(cf_json_get_str(turn->message, "role"), "assistant") ||
        !may_call(turn, &t->text) ||
        cf_tool_model_build(&m, &turn, 1, e->family, cf_lab_tools(app->lab), e->template_source,
                            &err) != CF_OK) {
        return;
    }
    for (size_t i = 0; i < m.n_row; i++) {
        bool is_call = m.row[i].call != CF_TOOL_NO_CALL;
        t->n_calls += is_call;
        if (t->broken.n == 0) {
            (void)cf_tool_model_failure(&m, &m.row[i], &t->broken);
        }
    }
    cf_tool_model_deinit(&m);
}

static const cf_chat_text *looked_up(cf_app *app, const cf_turn *turn)
{
    cf_chat_text *t = cf_chat__text_of(cf_chat__state(app), turn);
    const cf_tool_set *tools = cf_lab_tools(app->lab);
    if (t != NULL && (!t->has_calls || t->tools != tools)) {
        find_calls(app, turn, t);
        t->has_calls = true;
        t->tools = tools;
    }
    return t;
}

/* Results at the end of the path, after turn i of it; SIZE_MAX where something
 * else follows. */
static size_t results_after(const cf_turn *const *path, size_t n, size_t i)
{
    size_t n_results = 0;
    for (size_t k = i + 1; k < n; k++) {
        if (!cf_turn_is_result(path[k])) {
            return SIZE_MAX;
        }
        n_results++;
    }
    return n_results;
}

cf_chat_call cf_chat__call_of(cf_app *app, const cf_turn *turn, size_t i)
{
    size_t n;
    const cf_turn *const *path = cf_lab_path(app->lab, &n);
    const cf_chat_text *t = looked_up(app, turn);
    if (t == NULL || (t->n_calls == 0 && t->broken.n == 0)) {
        return CF_CALLS_NONE;
    }
    if (t->broken.n != 0) {
        return CF_CALLS_BROKEN;
    }
    size_t n_results = i < n ? results_after(path, n, i) : SIZE_MAX;
    bool waits = n_results < t->n_calls && !cf_lab_is_busy(app->lab);
    return waits ? CF_CALLS_WAITS : CF_CALLS_DONE;
}

void cf_chat__call_text(cf_app *app, const cf_turn *turn, cf_chat_call call, cf_buf *out)
{
    if (call == CF_CALLS_WAITS) {
        cf_buf_adds(out, "waits for a result: 4 answers, m mocks");
    } else if (call == CF_CALLS_BROKEN) {
        const cf_chat_text *t = looked_up(app, turn);
        cf_buf_adds(out, "broken call: ");
        if (t != NULL) {
            cf_buf_add(out, cf_buf_cstr(&t->broken), t->broken.n);
        }
        cf_buf_adds(out, "  (4 shows it)");
    }
}

cf_chat_call cf_chat__last_call(cf_app *app)
{
    size_t n;
    const cf_turn *const *path = cf_lab_path(app->lab, &n);
    size_t i = n;
    while (i > 0 && cf_turn_is_result(path[i - 1])) {
        i--;
    }
    return i > 0 ? cf_chat__call_of(app, path[i - 1], i - 1) : CF_CALLS_NONE;
}
