/*
 * easy_influence.c - what the last reply depends on: its likelihood without each
 * message, tool, sentence or word.
 */
#include <string.h>

#include "core/base/text_cut.h"
#include "core/json/json_writer.h"
#include "templates/easy/easy.h"

/* What the prompt of the last reply is made of, and its ids after it. */
typedef struct study {
    confab *c;
    json_t *messages, *tools;
    const cf_token *reply; /* [n_reply] */
    size_t n_reply;
    double with; /* the likelihood after the whole prompt */
    cf_jw w;
    unsigned kind;  /* of the part, one of kinds[] */
    size_t index;   /* of the part among those of its kind, or of its message */
    size_t message; /* that a sentence or word is in */
    cf_status st;
    cf_error *err;
    cf_arena arena;
} study;

enum { TOOL = 1, SENTENCE, WORD, N_KINDS };

static const char *const kinds[N_KINDS] = {"message", "tool", "sentence", "word"};

/* The messages before the last reply, which is at the conversation's end. */
static cf_status read_messages(study *s, cf_error *err)
{
    const confab *c = s->c;
    cf_message_source *list = NULL;
    size_t n = 0;
    if (!c->kept.is_whole || c->kept.n <= c->kept.n_prompt || c->kept.n_prompt == 0 ||
        !cf_uuid_eq(c->kept.at, cf_conversation_head(c->conv))) {
        return cf_fail(err, CF_EINVAL, "the conversation does not end with a reply made here");
    }
    CF_TRY(
        cf_conversation_sources(c->conv, cf_conversation_head(c->conv), &s->arena, &list, &n, err));
    for (size_t i = 0; i + 1 < n; i++) {
        if (json_array_append(s->messages, cf_json_ref(list[i].message)) != 0) {
            return cf_oom(err);
        }
    }
    s->tools = cf_json_copy(c->tools);
    s->reply = c->kept.ids + c->kept.n_prompt;
    s->n_reply = c->kept.n - c->kept.n_prompt;
    return s->messages != NULL && s->tools != NULL ? CF_OK : cf_oom(err);
}

/* The prompt of messages and tools, and the reply's ids after it; both in `arena`. */
static cf_status prompt_ids(study *s, const json_t *messages, const json_t *tools, cf_arena *arena,
                            cf_token **ids, size_t *n_prompt, cf_error *err)
{
    cf_tool_set *set = NULL;
    cf_prompt prompt;
    cf_token_list list = {NULL, 0};
    cf_status st = json_array_size(tools) > 0 ? cf_tool_set_new(&set, tools, err) : CF_OK;
    const cf_chat_request request = {.messages = messages, .tools = set, .options = &s->c->chat};
    CF_THEN(st, cf_backend_tokenise(s->c->opened.backend, &request, arena, &prompt, &list, err));
    cf_tool_set_free(set);
    CF_TRY(st);
    *n_prompt = list.n;
    *ids = cf_arena_calloc(arena, list.n + s->n_reply, sizeof **ids);
    if (*ids == NULL) {
        return cf_oom(err);
    }
    for (size_t i = 0; i < list.n + s->n_reply; i++) {
        (*ids)[i] = i < list.n ? list.v[i].id : s->reply[i - list.n];
    }
    return CF_OK;
}

static cf_status score(study *s, const json_t *messages, const json_t *tools, double *sum,
                       cf_error *err)
{
    cf_arena arena; /* of this prompt alone: there is one for each word */
    cf_token *ids = NULL;
    size_t n = 0;
    cf_arena_init(&arena, 0);
    cf_status st = prompt_ids(s, messages, tools, &arena, &ids, &n, err);
    float *log_p = cf_arena_calloc(&arena, s->n_reply, sizeof *log_p);
    if (st == CF_OK && log_p == NULL) {
        st = cf_oom(err);
    }
    CF_THEN(st, cf_session_score(s->c->session, ids, n + s->n_reply, n, &s->c->cancel, log_p, err));
    *sum = 0;
    for (size_t i = 0; i < s->n_reply && st == CF_OK; i++) {
        *sum += (double)log_p[i];
    }
    cf_arena_deinit(&arena);
    return st;
}

/* The row of the part, after the lists without it, which are released; what fails for
 * one part alone is its "why". */
static cf_status write_row(study *s, json_t *messages, json_t *tools)
{
    double sum = 0;
    cf_error why;
    cf_status st = messages != NULL && tools != NULL ? CF_OK : cf_oom(&why);
    CF_THEN(st, score(s, messages, tools, &sum, &why));
    json_decref(messages);
    json_decref(tools);
    if (st == CF_ENOMEM || st == CF_ECANCELLED) {
        return cf_fail(s->err, st, "%s", why.text);
    }
    cf_jw_object(&s->w, NULL);
    cf_jw_text(&s->w, "kind", kinds[s->kind]);
    cf_jw_uint(&s->w, "index", s->index);
    if (s->kind >= SENTENCE) {
        cf_jw_uint(&s->w, "message", s->message);
    }
    if (st == CF_OK) {
        cf_jw_double(&s->w, "without", sum);
        cf_jw_double(&s->w, "delta", sum - s->with);
    } else {
        cf_jw_text(&s->w, "why", why.text);
    }
    cf_jw_end(&s->w);
    return CF_OK;
}

/* Scores the prompt without a sentence or word; with the last one goes the white
 * space before it. */
static bool on_cut(void *ud, size_t off, size_t len)
{
    study *s = ud;
    const json_t *whole = json_array_get(s->messages, s->message);
    const cf_str text = cf_json_get_str(whole, "content");
    json_t *messages = cf_json_copy(s->messages), *m = cf_json_copy(whole);
    cf_buf b = CF_BUF_INIT;
    size_t end = off + len;
    while (end == text.n && off > 0 && cf_is_blank(text.p[off - 1])) {
        off--;
    }
    cf_buf_add(&b, text.p, off);
    cf_buf_add(&b, text.p + end, text.n - end);
    json_t *content = b.failed ? NULL : json_stringn(cf_buf_cstr(&b), b.n);
    cf_buf_deinit(&b);
    if (json_object_set_new(m, "content", content) != 0 ||
        json_array_set(messages, s->message, m) != 0) {
        json_decref(messages);
        messages = NULL;
    }
    json_decref(m);
    s->st = write_row(s, messages, json_incref(s->tools));
    s->index++;
    return s->st == CF_OK;
}

static cf_status write_rows(study *s)
{
    const json_t *list = s->kind == TOOL ? s->tools : s->messages;
    s->st = CF_OK;
    for (size_t i = 0; s->st == CF_OK && i < json_array_size(list); i++) {
        s->index = s->kind >= SENTENCE ? 0 : i;
        s->message = i;
        if (s->kind >= SENTENCE) {
            cf_text_cut(cf_json_get_str(json_array_get(list, i), "content"), s->kind == WORD,
                        on_cut, s);
            continue;
        }
        json_t *less = cf_json_copy(list);
        if (json_array_remove(less, i) != 0) {
            json_decref(less);
            less = NULL;
        }
        s->st = s->kind == TOOL ? write_row(s, json_incref(s->messages), less)
                                : write_row(s, less, json_incref(s->tools));
    }
    return s->st;
}

/* Writes the rows of each kind that `by` names, or only checks the names. */
static cf_status each_kind(study *s, const char *by, bool writes, cf_error *err)
{
    for (size_t n; *by != '\0'; by += n + (by[n] == ',')) {
        n = strcspn(by, ",");
        for (s->kind = 0; s->kind < N_KINDS && !cf_str_is(cf_str_make(by, n), kinds[s->kind]);) {
            s->kind++;
        }
        if (s->kind == N_KINDS) {
            return cf_fail(err, CF_EINVAL, "parts are message, tool, sentence or word, not '%.*s'",
                           n < 40 ? (int)n : 40, by);
        }
        if (writes) {
            CF_TRY(write_rows(s));
        }
    }
    return CF_OK;
}

static cf_status influence(study *s, const char *by, cf_error *err)
{
    CF_TRY(each_kind(s, by, false, err));
    CF_TRY(cf_easy__session(s->c, err));
    CF_TRY(read_messages(s, err));
    CF_TRY(score(s, s->messages, s->tools, &s->with, err));
    cf_jw_object(&s->w, NULL);
    cf_jw_double(&s->w, "with", s->with);
    cf_jw_array(&s->w, "parts");
    CF_TRY(each_kind(s, by, true, err));
    cf_jw_end(&s->w);
    cf_jw_end(&s->w);
    return cf_jw_finish(&s->w, err);
}

const char *cf_influence(confab *c, const char *by, cf_error *err)
{
    if (cf_easy__may(c, err) != CF_OK) {
        return NULL;
    }
    study s = {.c = c, .messages = json_array(), .err = err};
    cf_buf b = CF_BUF_INIT;
    cf_arena_init(&s.arena, 0);
    cf_jw_init(&s.w, &b);
    cf_easy__begin(c);
    cf_status st = influence(&s, by != NULL ? by : "message,tool", err);
    cf_easy__end(c);
    CF_THEN(st, cf_buf_check(&b, err));
    cf_arena_deinit(&s.arena);
    json_decref(s.messages);
    json_decref(s.tools);
    return cf_easy__finish(&b, &c->influence, st);
}
