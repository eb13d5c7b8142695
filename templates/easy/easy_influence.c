/*
 * easy_influence.c - what the last reply depends on: its likelihood without each
 * message and each tool.
 */
#include "core/json/json_writer.h"
#include "templates/easy/easy.h"

/* What the prompt of the last reply is made of, and its ids after it. */
typedef struct study {
    confab *c;
    json_t *messages, *tools;
    const cf_token *reply; /* [n_reply] */
    size_t n_reply;
    cf_arena arena;
} study;

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

/* The prompt of messages and tools, and the reply's ids after it; both in the arena. */
static cf_status prompt_ids(study *s, const json_t *messages, const json_t *tools, cf_token **ids,
                            size_t *n_prompt, cf_error *err)
{
    cf_tool_set *set = NULL;
    cf_prompt prompt;
    cf_token_list list = {NULL, 0};
    cf_status st = json_array_size(tools) > 0 ? cf_tool_set_new(&set, tools, err) : CF_OK;
    const cf_chat_request request = {.messages = messages, .tools = set, .options = &s->c->chat};
    CF_THEN(st,
            cf_backend_tokenise(s->c->opened.backend, &request, &s->arena, &prompt, &list, err));
    cf_tool_set_free(set);
    CF_TRY(st);
    *n_prompt = list.n;
    *ids = cf_arena_calloc(&s->arena, list.n + s->n_reply, sizeof **ids);
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
    cf_token *ids = NULL;
    size_t n = 0;
    CF_TRY(prompt_ids(s, messages, tools, &ids, &n, err));
    float *log_p = cf_arena_calloc(&s->arena, s->n_reply, sizeof *log_p);
    if (log_p == NULL) {
        return cf_oom(err);
    }
    CF_TRY(cf_session_score(s->c->session, ids, n + s->n_reply, n, &s->c->cancel, log_p, err));
    *sum = 0;
    for (size_t i = 0; i < s->n_reply; i++) {
        *sum += (double)log_p[i];
    }
    return CF_OK;
}

/* The rows of one list; what fails for one part alone is its "why". */
static cf_status write_rows(study *s, bool is_tool, double with, cf_jw *w, cf_error *err)
{
    const json_t *list = is_tool ? s->tools : s->messages;
    for (size_t i = 0; i < json_array_size(list); i++) {
        double sum = 0;
        cf_error why;
        json_t *less = cf_json_copy(list);
        cf_status st = less != NULL && json_array_remove(less, i) == 0 ? CF_OK : cf_oom(&why);
        CF_THEN(st, score(s, is_tool ? s->messages : less, is_tool ? less : s->tools, &sum, &why));
        json_decref(less);
        if (st == CF_ENOMEM || st == CF_ECANCELLED) {
            return cf_fail(err, st, "%s", why.text);
        }
        cf_jw_object(w, NULL);
        cf_jw_text(w, "kind", is_tool ? "tool" : "message");
        cf_jw_uint(w, "index", i);
        if (st == CF_OK) {
            cf_jw_double(w, "without", sum);
            cf_jw_double(w, "delta", sum - with);
        } else {
            cf_jw_text(w, "why", why.text);
        }
        cf_jw_end(w);
    }
    return CF_OK;
}

static cf_status influence(study *s, cf_jw *w, cf_error *err)
{
    double with;
    CF_TRY(cf_easy__session(s->c, err));
    CF_TRY(read_messages(s, err));
    CF_TRY(score(s, s->messages, s->tools, &with, err));
    cf_jw_object(w, NULL);
    cf_jw_double(w, "with", with);
    cf_jw_array(w, "parts");
    CF_TRY(write_rows(s, false, with, w, err));
    CF_TRY(write_rows(s, true, with, w, err));
    cf_jw_end(w);
    cf_jw_end(w);
    return cf_jw_finish(w, err);
}

const char *cf_influence(confab *c, cf_error *err)
{
    if (cf_easy__may(c, err) != CF_OK) {
        return NULL;
    }
    study s = {.c = c, .messages = json_array()};
    cf_buf b = CF_BUF_INIT;
    cf_jw w;
    cf_arena_init(&s.arena, 0);
    cf_jw_init(&w, &b);
    cf_easy__begin(c);
    cf_status st = influence(&s, &w, err);
    cf_easy__end(c);
    CF_THEN(st, cf_buf_check(&b, err));
    cf_arena_deinit(&s.arena);
    json_decref(s.messages);
    json_decref(s.tools);
    return cf_easy__finish(&b, &c->influence, st);
}
