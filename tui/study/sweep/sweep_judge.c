/*
 * sweep_judge.c - has another model judge replies: a yes-or-no question, asked
 * one at a time.
 *
 * The answer is part of the cell's result, under the judge and the question, and
 * is not asked for again.
 */
#include "core/base/alloc.h"
#include "core/json/json_builder.h"
#include "tui/study/ask/answer.h"
#include "tui/study/sweep/sweep_impl.h"

enum { ANSWER_TOKENS = 64 };

struct cf_sweep__judge {
    const cf_sweep_check *check; /* the first that asks it */
    cf_opened engine;
    cf_error why; /* code not CF_OK: it cannot be opened */
    struct cf_sweep__judge *next;
};

static bool is_same(const char *a, const char *b)
{
    return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

/* The judge that a check names, opened once; NULL when memory ran out. */
static struct cf_sweep__judge *judge_of(cf_sweep *s, const cf_sweep_check *check)
{
    for (struct cf_sweep__judge *j = s->judge; j != NULL; j = j->next) {
        if (is_same(j->check->model, check->model) &&
            is_same(j->check->server_model, check->server_model) &&
            is_same(j->check->key, check->key)) {
            return j;
        }
    }
    struct cf_sweep__judge *j = cf_calloc(1, sizeof *j);
    if (j == NULL) {
        return NULL;
    }
    cf_open_options o = s->o.open;
    o.model = check->model;
    o.server_model = check->server_model != NULL ? check->server_model : o.server_model;
    o.key = check->key;
    o.template_name = NULL;
    j->check = check;
    j->why.code = cf_open_backend(&j->engine, &o, NULL, &j->why);
    j->next = s->judge;
    s->judge = j;
    return j;
}

void cf_sweep__free_judges(cf_sweep *s)
{
    while (s->judge != NULL) {
        struct cf_sweep__judge *next = s->judge->next;
        cf_opened_close(&s->judge->engine);
        cf_free(s->judge);
        s->judge = next;
    }
}

/* The request, the reply and the question, as one message of a context; NULL
 * when memory ran out. */
static json_t *question_of(const cf_sweep *s, const cf_sweep_cell *c, const json_t *result,
                           const cf_sweep_check *check)
{
    cf_buf b = CF_BUF_INIT;
    json_t *messages = cf_sweep_messages(s, c);
    bool has_messages = messages != NULL;
    cf_buf_adds(&b, "Judge a reply of a language model.\n\n");
    for (size_t i = 0; i < json_array_size(messages); i++) {
        const json_t *m = json_array_get(messages, i);
        cf_str role = cf_json_get_str(m, "role");
        cf_buf_addf(&b, "[%.*s]\n", (int)role.n, role.p);
        cf_message_text(&b, m, "");
        cf_buf_adds(&b, "\n\n");
    }
    json_decref(messages);
    cf_buf_adds(&b, "[reply]\n");
    const json_t *message = json_object_get(result, "message");
    cf_message_text(&b, message, "");
    const json_t *calls = json_object_get(message, "tool_calls");
    if (json_array_size(calls) > 0) {
        cf_json_write(&b, calls);
    }
    cf_buf_adds(&b, "\n\nQuestion: ");
    cf_sweep_check_value(check, s->plan->item[c->item].fields, &b);
    cf_buf_adds(&b, "\nAnswer with one word, yes or no.");
    cf_jb v = CF_JB_INIT;
    cf_jb_object(&v, NULL);
    cf_jb_array(&v, "messages");
    cf_jb_object(&v, NULL);
    cf_jb_text(&v, "role", "user");
    cf_jb_buf(&v, "content", &b);
    cf_jb_end(&v);
    cf_jb_end(&v);
    cf_jb_end(&v);
    if (!has_messages) {
        cf_jb_fail(&v);
    }
    cf_buf_deinit(&b);
    return cf_jb_done(&v);
}

/* Whether an answer begins with yes. */
static bool says_yes(cf_str text)
{
    static const char yes[] = "yes";
    size_t at = 0;
    while (at < text.n && strchr(" \t\r\n*\"'", text.p[at]) != NULL) {
        at++;
    }
    if (at + 3 > text.n) {
        return false;
    }
    for (size_t i = 0; i < 3; i++) {
        if ((text.p[at + i] | 0x20) != yes[i]) {
            return false;
        }
    }
    return true;
}

static cf_status ask(cf_sweep *s, struct cf_sweep__judge *j, const json_t *context, bool *yes,
                     cf_error *err)
{
    const cf_chat_options o = {
        .has_sampling = true, .has_asked = true, .asked = 1, .max_tokens = ANSWER_TOKENS};
    const cf_question q = {.context = context, .options = &o, .cancel = s->o.cancel};
    cf_chat_response response;
    if (j->why.code != CF_OK) {
        *err = j->why;
        return j->why.code;
    }
    cf_chat_response_init(&response);
    cf_status st = cf_answer(j->engine.backend, &q, &response, err);
    if (st == CF_OK) {
        cf_buf text = CF_BUF_INIT;
        cf_message_text(&text, response.message, "");
        *yes = says_yes(cf_buf_str(&text));
        st = cf_buf_check(&text, err);
        cf_buf_deinit(&text);
    }
    cf_chat_response_deinit(&response);
    return st;
}

/* Adds the judge's answer for one check to the scores.  A judge that cannot
 * answer adds nothing. */
static cf_status ask_one(cf_sweep *s, const cf_sweep_cell *c, const cf_sweep_check *check,
                         json_t *result, bool *is_changed, cf_error *err)
{
    cf_buf key = CF_BUF_INIT;
    bool yes = false;
    json_t *scores = json_object_get(result, "scores");
    cf_sweep_check_key(check, s->plan->item[c->item].fields, &key);
    cf_status st = cf_buf_check(&key, err);
    if (st == CF_OK && json_object_get(scores, cf_buf_cstr(&key)) == NULL) {
        struct cf_sweep__judge *j = judge_of(s, check);
        json_t *context = question_of(s, c, result, check);
        st = j != NULL && context != NULL ? ask(s, j, context, &yes, err)
                                          : cf_oom_for(err, "the judge");
        if (st == CF_OK) {
            cf_jb b = CF_JB_INIT;
            cf_jb_set(&b, scores, cf_buf_cstr(&key), json_integer(yes));
            st = cf_jb_check(&b, err);
            *is_changed = true;
        }
        json_decref(context);
    }
    cf_buf_deinit(&key);
    return st == CF_ENOMEM ? st : CF_OK;
}

cf_status cf_sweep__ask_judges(cf_sweep *s, const cf_sweep_cell *c, json_t *result,
                               bool *is_changed, cf_error *err)
{
    for (size_t i = 0; i < s->plan->n_check; i++) {
        const cf_sweep_check *check = cf_sweep_plan_check(s->plan, c->item, i);
        if (check == NULL || check->kind != CF_CHECK_JUDGE) {
            continue;
        }
        if (json_object_get(result, "scores") == NULL &&
            json_object_set_new(result, "scores", json_object()) != 0) {
            return cf_oom_for(err, "the judge");
        }
        CF_TRY(ask_one(s, c, check, result, is_changed, err));
    }
    return CF_OK;
}
