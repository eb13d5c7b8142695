/*
 * run_open.c - finds the end of a path that waits for an answer, and makes the
 * messages with results that were given on the command line.
 */
#include "tui/cli/talk/run_open.h"

#include <stdio.h>
#include <string.h>

#include "core/json/json_builder.h"
#include "tui/lab/tools/tool_model.h"
#include "tui/sys/out.h"

/* The last turn of the head's path that did not fail; NULL: there is none. */
static const cf_turn *last_turn(const cf_conversation *conv)
{
    const cf_turn *t = cf_conversation_find(conv, cf_conversation_head(conv));
    while (t != NULL && cf_turn_is_failed(t)) {
        t = cf_conversation_find(conv, t->parent);
    }
    return t;
}

cf_status cf_run_open_turn(cf_uuid *out, const cf_conversation *conv, cf_error *err)
{
    const cf_turn *t = last_turn(conv);
    if (t == NULL ||
        (!cf_turn_is_result(t) && !cf_str_is(cf_json_get_str(t->message, "role"), "user"))) {
        return cf_fail(err, CF_EINVAL,
                       "no message of the user is open here: give a PROMPT, or --result for a "
                       "call");
    }
    *out = t->id;
    return CF_OK;
}

enum { CALLS_MAX = 256 };

/* The calls of a reply, the first CALLS_MAX, and whether each has a result. */
typedef struct open_calls {
    const json_t *reply;
    const cf_turn *last;
    bool has[CALLS_MAX];
} open_calls;

static cf_str name_of(const cf_message_call *call)
{
    return call->id.n > 0 ? call->id : call->name;
}

/* The first call that has this id and no result; SIZE_MAX if there is none. */
static size_t find_open(const open_calls *o, cf_str id, cf_message_call *call)
{
    for (size_t i = 0; i < CALLS_MAX && cf_message_call_at(call, o->reply, i); i++) {
        if (!o->has[i] && cf_str_eq(name_of(call), id)) {
            return i;
        }
    }
    return SIZE_MAX;
}

/* A result takes the call with its id, or else the first that is left. */
static void take_result(open_calls *o, const json_t *result)
{
    cf_message_call call;
    size_t i = find_open(o, cf_json_get_str(result, "tool_call_id"), &call);
    for (size_t k = 0; i == SIZE_MAX && k < CALLS_MAX; k++) {
        i = o->has[k] ? SIZE_MAX : k;
    }
    if (i != SIZE_MAX) {
        o->has[i] = true;
    }
}

static void find_calls(open_calls *o, const cf_conversation *conv)
{
    const cf_turn *result[CALLS_MAX];
    size_t n = 0;
    const cf_turn *t = o->last = last_turn(conv);
    for (; t != NULL && cf_turn_is_result(t) && n < CALLS_MAX; n++) {
        result[n] = t;
        t = cf_conversation_find(conv, t->parent);
    }
    o->reply = t != NULL ? t->message : NULL;
    while (n > 0) {
        take_result(o, result[--n]->message);
    }
}

/* The ids of the calls without a result, for a message. */
static void list_open(cf_buf *out, const open_calls *o)
{
    cf_message_call call;
    for (size_t i = 0; i < CALLS_MAX && cf_message_call_at(&call, o->reply, i); i++) {
        if (!o->has[i]) {
            cf_str id = name_of(&call);
            cf_buf_addf(out, "%s%.*s", out->n > 0 ? ", " : "", (int)id.n, id.p);
        }
    }
}

static cf_status not_open(const open_calls *o, cf_str id, cf_error *err)
{
    cf_buf open = CF_BUF_INIT;
    list_open(&open, o);
    cf_status st = cf_fail(err, CF_EINVAL, "--result: no open call has the id '%.*s' (%s%.120s)",
                           (int)(id.n < 80 ? id.n : 80), id.p, open.n > 0 ? "open: " : "none is",
                           open.n > 0 ? cf_buf_cstr(&open) : " open");
    cf_buf_deinit(&open);
    return st;
}

static cf_status add_result(cf_jb *list, open_calls *o, const char *text, cf_error *err)
{
    const size_t n = strcspn(text, "=");
    cf_message_call call;
    json_t *result = text[n] == '=' ? json_loads(text + n + 1, JSON_DECODE_ANY, NULL) : NULL;
    if (result == NULL || n == 0) {
        json_decref(result);
        return cf_fail(err, CF_EINVAL, "--result: '%.80s' is not of the form ID=JSON", text);
    }
    const cf_str id = cf_str_make(text, n);
    const size_t at = find_open(o, id, &call);
    if (at == SIZE_MAX) {
        json_decref(result);
        return not_open(o, id, err);
    }
    o->has[at] = true;
    const cf_pending_call pending = {.name = call.name, .id = call.id, .index = at};
    cf_jb_take(list, NULL, cf_pending_call_result(&pending, result));
    json_decref(result);
    return cf_jb_check(list, err);
}

cf_status cf_run_results(json_t **out, cf_uuid *parent, size_t *n_open, const cf_conversation *conv,
                         const cf_opt_list *given, cf_error *err)
{
    open_calls o = {.reply = NULL};
    find_calls(&o, conv);
    cf_jb list = CF_JB_INIT;
    cf_jb_array(&list, NULL);
    cf_status st = cf_jb_check(&list, err);
    for (size_t i = 0; st == CF_OK && i < given->n; i++) {
        st = add_result(&list, &o, given->v[i], err);
    }
    cf_jb_end(&list);
    CF_THEN(st, cf_jb_finish(&list, out, err));
    cf_jb_deinit(&list);
    if (st == CF_OK) {
        cf_message_call call;
        *n_open = 0;
        for (size_t i = 0; i < CALLS_MAX && cf_message_call_at(&call, o.reply, i); i++) {
            *n_open += o.has[i] ? 0 : 1;
        }
        *parent = o.last->id;
    }
    return st;
}

bool cf_run_ask(const char *question, cf_buf *answer)
{
    cf_out(stderr, cf_str_from(question), CF_OUT_TEXT);
    fflush(stderr);
    cf_buf_reset(answer);
    int c;
    while ((c = getchar()) != EOF && c != '\n') {
        cf_buf_addc(answer, (char)c);
    }
    return (c != EOF || answer->n > 0) && !answer->failed;
}

cf_status cf_run_typed_result(json_t **result, cf_error *err)
{
    cf_buf answer = CF_BUF_INIT;
    cf_status st = CF_OK;
    if (!cf_run_ask("result (JSON or text): ", &answer)) {
        st = cf_fail(err, CF_EIO, "no result was given");
    } else {
        *result =
            json_loadb(cf_buf_cstr(&answer), answer.n, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
        if (*result == NULL) {
            *result = json_stringn(cf_buf_cstr(&answer), answer.n);
        }
        if (*result == NULL) {
            st = cf_fail(err, CF_EFORMAT, "the result is not UTF-8");
        }
    }
    cf_buf_deinit(&answer);
    return st;
}
