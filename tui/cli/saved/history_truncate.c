/*
 * history_truncate.c - truncates a saved conversation.
 *
 * Tokens are those of the prompt that the model given with -m (else the
 * default one) would get with its template.
 */
#include "tui/cli/saved/history_truncate.h"

#include <string.h>
#include <unistd.h>

#include "core/api/truncate.h"
#include "core/base/safe_text.h"
#include "core/json/json_writer.h"
#include "tui/cli/shell/cli_store.h"
#include "tui/lab/reply/keep_reply.h"
#include "tui/lab/talk/lab_conversation.h"
#include "tui/lab/talk/saved.h"

enum { WORDS = 60 };

typedef struct job {
    cf_cli *cli;
    cf_store *store;
    const cf_history_truncate *o;
    cf_conversation *conv;
    cf_uuid conversation;
    cf_truncation plan;
    cf_status stored; /* of the copies */
    cf_error why;
} job;

static cf_status load(job *j, cf_error *err)
{
    cf_store_ref ref;
    CF_TRY(cf_store_find(j->store, cf_str_from(j->o->id), &ref, err));
    const cf_saved_choice choice = {
        .conversation = ref.conversation, .turn = ref.turn, .has_raw = true};
    j->conversation = ref.conversation;
    return cf_saved_load(&j->conv, NULL, j->store, &choice, &j->cli->arena, err);
}

static cf_status make_plan(job *j, cf_error *err)
{
    if (j->o->tokens == 0) {
        return cf_truncation_by_turns(&j->plan, j->conv, j->o->turns, err);
    }
    cf_open_want_model(&j->cli->open);
    CF_TRY(cf_open_backend(&j->cli->opened, &j->cli->open, NULL, err));
    if (j->cli->opened.engine == NULL) {
        return cf_fail(err, CF_EUNSUPPORTED,
                       "--tokens: only a model file can count them; use "
                       "--turns");
    }
    cf_conversation_set_roles(j->conv, &j->cli->opened.roles);
    return cf_truncation_by_tokens(&j->plan, j->conv, j->cli->opened.backend, NULL, j->o->tokens,
                                   err);
}

static void put_turn(cf_buf *out, const cf_turn *t)
{
    cf_buf text = CF_BUF_INIT;
    cf_str role = cf_json_get_str(t->message, "role");
    cf_lab_message_text(&text, t->message);
    cf_buf_adds(out, "  ");
    cf_safe_line(out, role.p != NULL ? role.p : "", role.n);
    cf_buf_adds(out, ": ");
    cf_safe_line(out, cf_buf_cstr(&text), text.n < WORDS ? text.n : WORDS);
    cf_buf_adds(out, text.n > WORDS ? " ...\n" : "\n");
    out->failed = out->failed || text.failed;
    cf_buf_deinit(&text);
}

/* Lists the turns to be removed on standard error: the answer is the branch. */
static cf_status show_plan(job *j, cf_error *err)
{
    const cf_turn **path;
    size_t n;
    cf_buf text = CF_BUF_INIT;
    const cf_truncation *p = &j->plan;
    CF_TRY(cf_conversation_path(j->conv, cf_conversation_head(j->conv), &j->cli->arena, &path, &n,
                                err));
    cf_buf_addf(&text, "%zu of %zu turns go", p->first - p->n_lead, p->n_path);
    if (p->n_tokens_before != 0) {
        cf_buf_addf(&text, ", %zu tokens become %zu", p->n_tokens_before, p->n_tokens_after);
    }
    cf_buf_adds(&text, p->first > p->n_lead ? ":\n" : "\n");
    for (size_t i = p->n_lead; i < p->first && i < n; i++) {
        put_turn(&text, path[i]);
    }
    cf_out(stderr, cf_buf_str(&text), CF_OUT_TEXT);
    cf_status st = cf_buf_check(&text, err);
    cf_buf_deinit(&text);
    return st;
}

static bool may(const job *j)
{
    char answer[16] = "";
    if (j->o->is_approved || isatty(STDIN_FILENO) == 0) {
        return true;
    }
    cf_out(stderr, cf_str_from("make the branch without them? [y/N] "), CF_OUT_TEXT);
    return fgets(answer, sizeof answer, stdin) != NULL && (answer[0] == 'y' || answer[0] == 'Y');
}

static void on_copied(void *ud, const cf_turn *turn, cf_uuid from)
{
    job *j = ud;
    if (j->stored == CF_OK) {
        j->stored = cf_keep_copy(j->store, j->conversation, turn, from, &j->why);
    }
}

static void put_answer(job *j, cf_uuid was)
{
    cf_uuid head = cf_conversation_head(j->conv);
    char text[CF_UUID_TEXT + 1];
    if (j->cli->is_json) {
        cf_jw w;
        cf_jw_init(&w, &j->cli->out);
        cf_jw_object(&w, NULL);
        cf_jw_uuid(&w, "conversation", j->conversation);
        cf_jw_uuid(&w, "head", head);
        cf_jw_uuid(&w, "before", was);
        cf_jw_uint(&w, "gone", j->plan.first - j->plan.n_lead);
        cf_jw_uint(&w, "tokens_before", j->plan.n_tokens_before);
        cf_jw_uint(&w, "tokens_after", j->plan.n_tokens_after);
        cf_jw_bool(&w, "dry_run", j->o->is_dry);
        cf_jw_end(&w);
        cf_buf_addc(&j->cli->out, '\n');
        return;
    }
    cf_uuid_format(text, was);
    if (cf_uuid_eq(head, was)) {
        cf_buf_adds(&j->cli->out, "nothing was changed\n");
    } else {
        cf_buf_addf(&j->cli->out, "the branch before ends at %s\n", text);
    }
}

static cf_status truncate_it(job *j, cf_error *err)
{
    CF_TRY(load(j, err));
    CF_TRY(make_plan(j, err));
    CF_TRY(show_plan(j, err));
    cf_uuid was = cf_conversation_head(j->conv);
    if (!j->o->is_dry && j->plan.first > j->plan.n_lead && may(j)) {
        CF_TRY(cf_conversation_truncate(j->conv, &j->plan, on_copied, j, err));
        if (j->stored != CF_OK) {
            *err = j->why;
            return j->stored;
        }
    }
    put_answer(j, was);
    return CF_OK;
}

int cf_history_truncate_run(cf_cli *cli, cf_store *store, const cf_history_truncate *o)
{
    cf_error err;
    job j = {.cli = cli, .store = store, .o = o};
    if (o->id == NULL || (o->turns == 0) == (o->tokens == 0)) {
        return cf_cli_usage(cli, "truncate: takes one UUID and --turns N or --tokens N");
    }
    cf_status st = truncate_it(&j, &err);
    int status = cf_cli_end(cli, st, &err);
    cf_conversation_free(j.conv);
    return status;
}
