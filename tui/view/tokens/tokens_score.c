/*
 * tokens_score.c - the Tokens view: probabilities for a reply that came
 * without any.
 */
#include "tui/lab/talk/lab_conversation.h"
#include "tui/lab/tokens/reply_score.h"
#include "tui/view/tokens/tokens.h"

/* The reply that can be given tokens: the one that Chat's cursor is on, or the
 * newest; NULL: there is none without. */
const cf_turn *cf_tokens__unscored(cf_app *app)
{
    const cf_tokens *s = cf_tokens__state(app);
    size_t n;
    const cf_turn *const *path = cf_lab_path(app->lab, &n);
    const cf_turn *newest = NULL;
    for (size_t i = n; i-- > 0;) {
        const cf_reply *r = cf_lab_reply(app->lab, path[i]->id);
        bool has_draws = r != NULL && r->n_token > 0 &&
                         (r->token[0].draw != NULL || r->token[r->n_token - 1].draw != NULL);
        if (cf_role_parse(cf_json_get_str(path[i]->message, "role")) != CF_ROLE_ASSISTANT ||
            has_draws) {
            continue;
        }
        if (cf_uuid_eq(path[i]->id, s->followed) || cf_uuid_eq(path[i]->id, s->turn)) {
            return path[i];
        }
        newest = newest != NULL ? newest : path[i];
    }
    return newest;
}

static void scored(void *ud, const cf_error *err)
{
    cf_app *app = ud;
    app->is_dirty = true;
    if (err->code == CF_OK) {
        cf_app_say(app, CF_STYLE_OK, "scored: what this model gives to each token of the reply");
    }
}

void cf_tokens__score(cf_app *app)
{
    const cf_turn *turn = cf_tokens__unscored(app);
    cf_error err;
    if (turn == NULL) {
        cf_app_say(app, CF_STYLE_DIM, "every reply of this path has its probabilities");
        return;
    }
    if (cf_lab_score_reply(app->lab, turn->id, scored, app, &err) != CF_OK) {
        cf_app_error(app, &err);
        return;
    }
    cf_tokens__enter(app);
    cf_tokens__state(app)->turn = turn->id;
    cf_app_say_while_busy(app, "scoring the reply; Esc stops");
}
