/*
 * sweep_judge.c - replies judged by another model: a question with yes or no
 * for an answer, asked one at a time beside the cells.
 *
 * What a judge said is part of the cell's record, under the judge and the
 * question, and is not asked again.
 */
#include "core/base/alloc.h"
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
    o.key = check->key != NULL ? check->key : o.key;
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

/* The request, the reply and the question, as one message. */
static json_t *question_of(const cf_sweep *s, const cf_sweep_cell *c, const json_t *record,
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
        cf_message_plain(m, &b);
        cf_buf_adds(&b, "\n\n");
    }
    json_decref(messages);
    cf_buf_adds(&b, "[reply]\n");
    const json_t *message = json_object_get(record, "message");
    cf_message_plain(message, &b);
    const json_t *calls = json_object_get(message, "tool_calls");
    if (json_array_size(calls) > 0) {
        cf_json_write(&b, calls);
    }
    cf_buf_adds(&b, "\n\nQuestion: ");
    cf_sweep_check_value(check, s->plan->item[c->item].fields, &b);
    cf_buf_adds(&b, "\nAnswer with one word, yes or no.");
    json_t *v = b.failed || !has_messages
                    ? NULL
                    : json_pack("[{s:s,s:s%}]", "role", "user", "content", cf_buf_cstr(&b), b.n);
    cf_buf_deinit(&b);
    return v;
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

static cf_status ask(cf_sweep *s, struct cf_sweep__judge *j, const json_t *messages, bool *yes,
                     cf_error *err)
{
    const cf_chat_options o = {
        .has_sampling = true, .has_asked = true, .asked = 1, .max_tokens = ANSWER_TOKENS};
    const cf_chat_request request = {.messages = messages, .options = &o, .cancel = s->o.cancel};
    cf_chat_response response;
    if (j->why.code != CF_OK) {
        *err = j->why;
        return j->why.code;
    }
    cf_chat_response_init(&response);
    cf_status st = cf_backend_generate(j->engine.backend, &request, &response, err);
    if (st == CF_OK) {
        cf_buf text = CF_BUF_INIT;
        cf_message_plain(response.message, &text);
        *yes = says_yes(cf_buf_str(&text));
        cf_buf_deinit(&text);
    }
    cf_chat_response_deinit(&response);
    return st;
}

bool cf_sweep__ask_judges(cf_sweep *s, const cf_sweep_cell *c, json_t *record)
{
    bool is_changed = false;
    for (size_t i = 0; i < s->plan->n_check; i++) {
        const cf_sweep_check *check = cf_sweep_plan_check(s->plan, c->item, i);
        cf_buf key = CF_BUF_INIT;
        cf_error ignored;
        bool yes = false;
        if (check == NULL || check->kind != CF_CHECK_JUDGE) {
            continue;
        }
        cf_sweep_check_key(check, s->plan->item[c->item].fields, &key);
        if (json_object_get(record, "scores") == NULL) {
            json_object_set_new(record, "scores", json_object());
        }
        json_t *scores = json_object_get(record, "scores");
        struct cf_sweep__judge *j = judge_of(s, check);
        if (json_object_get(scores, cf_buf_cstr(&key)) == NULL && j != NULL) {
            json_t *messages = question_of(s, c, record, check);
            if (messages != NULL && ask(s, j, messages, &yes, &ignored) == CF_OK) {
                json_object_set_new(scores, cf_buf_cstr(&key), json_integer(yes));
                is_changed = true;
            }
            json_decref(messages);
        }
        cf_buf_deinit(&key);
    }
    return is_changed;
}
