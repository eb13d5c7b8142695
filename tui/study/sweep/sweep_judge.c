/*
 * sweep_judge.c - has another model judge replies: a yes-or-no question, asked
 * one at a time.
 *
 * The answer is part of the cell's result, {"says","words"} under the judge and
 * the question, and is not asked for again.
 */
#include <ctype.h>
#include <strings.h>

#include "core/base/alloc.h"
#include "core/json/json_builder.h"
#include "tui/study/ask/answer.h"
#include "tui/study/sweep/sweep_impl.h"

enum {
    ANSWER_TOKENS = 4096, /* with thinking; a reply that repeats itself ends before */
    WORDS_MAX = 400       /* bytes kept */
};

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

/* The bytes of a blank or of punctuation at the start of a text; 0: a letter, a
 * digit, or the end.  Of other scripts' punctuation that is U+2000 to U+203F and
 * U+3000 to U+303F. */
static size_t mark_at(cf_str text)
{
    if (text.n == 0) {
        return 0;
    }
    if (cf_str_starts(text, cf_str_from("\xE2\x80")) ||
        cf_str_starts(text, cf_str_from("\xE3\x80"))) {
        return text.n < 3 ? text.n : 3;
    }
    unsigned char c = (unsigned char)text.p[0];
    return c >= 0x80 || isalnum(c) ? 0 : 1;
}

/* Whether a text begins with a word, in small letters; "not" is not "no", and
 * neither is "no-one". */
static bool is_word(cf_str text, const char *word)
{
    size_t n = strlen(word);
    if (text.n < n || strncasecmp(text.p, word, n) != 0) {
        return false;
    }
    cf_str rest = cf_str_make(text.p + n, text.n - n);
    size_t mark = mark_at(rest);
    if (mark == 0) {
        return rest.n == 0;
    }
    bool is_joined = rest.p[0] == '-' || rest.p[0] == '\'' || rest.p[0] == '_';
    return !is_joined || rest.n == 1 || mark_at(cf_str_make(rest.p + 1, rest.n - 1)) > 0;
}

/* Whether the first word is yes or no; null: neither. */
static json_t *says(cf_str text)
{
    size_t mark;
    while ((mark = mark_at(text)) > 0) {
        text = cf_str_make(text.p + mark, text.n - mark);
    }
    return is_word(text, "yes") ? json_true() : is_word(text, "no") ? json_false() : json_null();
}

/* The judge's words as one line, cut at a character. */
static void put_words(cf_buf *out, cf_str text)
{
    text = cf_str_trim(text);
    size_t n = text.n;
    if (n > WORDS_MAX) {
        for (n = WORDS_MAX; n > 0 && ((unsigned char)text.p[n] & 0xC0) == 0x80;) {
            n--;
        }
    }
    for (size_t i = 0; i < n; i++) {
        cf_buf_addc(out, (unsigned char)text.p[i] < 0x20 ? ' ' : text.p[i]);
    }
    cf_buf_adds(out, n < text.n ? " ..." : "");
}

/* The reply of a judge as an answer. */
static cf_status read_answer(const cf_chat_response *r, json_t **out, cf_error *err)
{
    cf_buf text = CF_BUF_INIT, words = CF_BUF_INIT;
    cf_jb b = CF_JB_INIT;
    cf_message_text(&text, r->message, "");
    put_words(&words, cf_buf_str(&text));
    if (words.n == 0) {
        cf_buf_addf(&words, "no words (%s)", cf_stop_reason_name(r->stop.reason));
    }
    cf_jb_object(&b, NULL);
    cf_jb_add(&b, "says", says(cf_buf_str(&text)));
    cf_jb_buf(&b, "words", &words);
    cf_jb_end(&b);
    cf_status st = cf_buf_check(&text, err);
    cf_buf_deinit(&text);
    cf_buf_deinit(&words);
    if (st != CF_OK) {
        cf_jb_deinit(&b);
        return st;
    }
    return cf_jb_finish(&b, out, err);
}

static cf_status ask(cf_sweep *s, struct cf_sweep__judge *j, const json_t *context, json_t **out,
                     cf_error *err)
{
    const cf_chat_options o = {.has_sampling = true,
                               .has_asked = true,
                               .asked = 1,
                               .stops_on_loop = true,
                               .max_tokens = ANSWER_TOKENS};
    const cf_question q = {.context = context, .options = &o, .cancel = s->o.cancel};
    cf_chat_response response;
    if (j->why.code != CF_OK) {
        *err = j->why;
        return j->why.code;
    }
    cf_chat_response_init(&response);
    cf_status st = cf_answer(j->engine.backend, &q, &response, err);
    CF_THEN(st, read_answer(&response, out, err));
    cf_chat_response_deinit(&response);
    return st;
}

/* Adds the judge's answer for one check to the scores.  A judge that cannot
 * answer adds nothing. */
static cf_status ask_one(cf_sweep *s, const cf_sweep_cell *c, const cf_sweep_check *check,
                         json_t *result, bool *is_changed, cf_error *err)
{
    cf_buf key = CF_BUF_INIT;
    json_t *answer = NULL;
    json_t *scores = json_object_get(result, "scores");
    cf_sweep_check_key(check, s->plan->item[c->item].fields, &key);
    cf_status st = cf_buf_check(&key, err);
    if (st == CF_OK && !json_is_object(json_object_get(scores, cf_buf_cstr(&key)))) {
        struct cf_sweep__judge *j = judge_of(s, check);
        json_t *context = question_of(s, c, result, check);
        st = j != NULL && context != NULL ? ask(s, j, context, &answer, err)
                                          : cf_oom_for(err, "the judge");
        if (st == CF_OK) {
            cf_jb b = CF_JB_INIT;
            cf_jb_set(&b, scores, cf_buf_cstr(&key), answer);
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
