/*
 * lab_truncate.c - truncates the conversation at hand.
 */
#include "tui/lab/talk/lab_truncate.h"

#include "core/base/safe_text.h"
#include "tui/lab/state/lab_task.h"
#include "tui/lab/talk/lab_conversation.h"
#include "tui/lab/talk/lab_options.h"
#include "tui/lab/talk/talk_impl.h"
#include "tui/lab/talk/undo_stack.h"

enum { WORDS = 60 };

cf_status cf_lab_plan_truncation(cf_lab *lab, bool by_tokens, size_t n, cf_truncation *out,
                                 cf_error *err)
{
    CF_TRY(cf_lab_need_idle(lab, err));
    if (!by_tokens) {
        return cf_truncation_by_turns(out, lab->talk->conv, n, err);
    }
    if (lab->engine.tokenizer == NULL) {
        return cf_fail(err, CF_EUNSUPPORTED, "this engine has no tokenizer: truncate by turns");
    }
    cf_turn_options options = cf_lab_options(lab);
    return cf_truncation_by_tokens(out, lab->talk->conv, lab->engine.backend, &options, n, err);
}

static void on_copied(void *ud, const cf_turn *turn, cf_uuid from)
{
    cf_lab__store_copy(ud, turn, from);
}

cf_status cf_lab_truncate(cf_lab *lab, const cf_truncation *plan, cf_error *err)
{
    CF_TRY(cf_lab_need_idle(lab, err));
    cf_uuid before = cf_conversation_head(lab->talk->conv);
    cf_status st = cf_conversation_truncate(lab->talk->conv, plan, on_copied, lab, err);
    if (st == CF_OK) {
        cf_lab_add_undo(lab, CF_LAB_UNDO_HEAD, before);
    }
    cf_error why;
    cf_status seen = cf_lab__snapshot(lab, st == CF_OK ? err : &why);
    return st != CF_OK ? st : seen;
}

void cf_lab_truncation_text(const cf_lab *lab, const cf_truncation *plan, cf_buf *out)
{
    size_t n;
    const cf_turn *const *path = cf_lab_path(lab, &n);
    for (size_t i = plan->n_lead; i < plan->first && i < n; i++) {
        cf_str role = cf_json_get_str(path[i]->message, "role");
        cf_buf text = CF_BUF_INIT;
        cf_lab_message_text(&text, path[i]->message);
        cf_safe_line(out, role.p != NULL ? role.p : "", role.n);
        cf_buf_adds(out, ": ");
        cf_safe_line(out, cf_buf_cstr(&text), text.n < WORDS ? text.n : WORDS);
        cf_buf_adds(out, text.n > WORDS ? " ...\n" : "\n");
        cf_buf_deinit(&text);
    }
}
