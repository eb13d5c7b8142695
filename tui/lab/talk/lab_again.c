/*
 * lab_again.c - a queue of messages, looked at whenever the workbench polls.
 */
#include "tui/lab/talk/lab_again.h"

#include "tui/lab/state/lab_task.h"
#include "tui/lab/talk/lab_conversation.h"
#include "tui/lab/talk/lab_send.h"
#include "tui/lab/talk/talk_impl.h"
#include "tui/lab/talk/undo_stack.h"

static bool has_role(const cf_turn *t, const char *role)
{
    return cf_str_is(cf_json_get_str(t->message, "role"), role);
}

static void forget(cf_lab *lab)
{
    json_decref(lab->talk->again.left);
    lab->talk->again = (cf_lab_again_queue){.left = NULL};
}

/* Sends the first of those left after `parent`. */
static cf_status send_next(cf_lab *lab, cf_uuid parent, cf_error *err)
{
    cf_lab_again_queue *q = &lab->talk->again;
    json_t *one = json_pack("[O]", json_array_get(q->left, 0));
    cf_status st = one != NULL && json_array_remove(q->left, 0) == 0 ? CF_OK : cf_oom(err);
    CF_THEN(st, cf_lab_add(lab, one, parent, true, err));
    json_decref(one);
    size_t n;
    const cf_turn *const *path = cf_lab_path(lab, &n);
    q->last = n > 0 ? path[n - 1]->id : (cf_uuid){{0}};
    if (st != CF_OK || json_array_size(q->left) == 0) {
        forget(lab);
    }
    return st;
}

cf_status cf_lab_again(cf_lab *lab, size_t *n, cf_error *err)
{
    size_t n_path;
    const cf_turn *const *path = cf_lab_path(lab, &n_path);
    cf_uuid parent = {{0}};
    CF_TRY(cf_lab_need_idle(lab, err));
    forget(lab);
    json_t *left = json_array();
    for (size_t i = 0; left != NULL && i < n_path; i++) {
        if (has_role(path[i], "user") &&
            json_array_append_new(left, cf_json_deep_copy(path[i]->message)) != 0) {
            json_decref(left);
            left = NULL;
        }
    }
    *n = json_array_size(left);
    if (left == NULL || *n == 0) {
        json_decref(left);
        return left == NULL ? cf_oom(err)
                            : cf_fail(err, CF_ENOTFOUND, "nothing was asked on this branch yet");
    }
    if (cf_turn_is_system(path[0])) {
        parent = path[0]->id;
    }
    lab->talk->again = (cf_lab_again_queue){.left = left, .conv = lab->talk->conv_id};
    return send_next(lab, parent, err);
}

cf_status cf_lab_again_step(cf_lab *lab, cf_error *err)
{
    const cf_lab_again_queue *q = &lab->talk->again;
    if (q->left == NULL || cf_lab_is_busy(lab) || cf_lab_task_name(lab) != NULL) {
        return CF_OK;
    }
    size_t n, at = 0;
    const cf_turn *const *path = cf_lab_path(lab, &n);
    while (at < n && !cf_uuid_eq(path[at]->id, q->last)) {
        at++;
    }
    const cf_turn *end = n > 0 ? path[n - 1] : NULL;
    bool is_ours = cf_uuid_eq(q->conv, lab->talk->conv_id) && at + 1 < n;
    if (!is_ours || end->status != CF_TURN_OK) {
        forget(lab);
        return CF_OK;
    }
    if (!has_role(end, "assistant") ||
        json_array_size(json_object_get(end->message, "tool_calls")) > 0) {
        return CF_OK; /* a call that waits for its result */
    }
    CF_TRY(send_next(lab, end->id, err));
    cf_lab_join_undo(lab); /* one step for all */
    return CF_OK;
}

void cf_lab__again_deinit(cf_lab *lab)
{
    forget(lab);
}
