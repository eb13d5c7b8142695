/*
 * prompt_test_run.c - renders, lets the model answer or takes the reply that
 * is given, and asks each check.
 */
#include <string.h>

#include "core/base/utf8.h"
#include "core/json/json_builder.h"
#include "templates/chat_template.h"
#include "tui/study/ask/answer.h"
#include "tui/study/ask/prompt_test.h"

typedef struct run {
    const cf_prompt_test *test;
    cf_cancel *cancel;
    cf_arena arena;
    cf_opened opened;
    cf_open_options open;
    json_t *context; /* messages, tools, variables */
    cf_tool_set *tools;
    cf_status rendered; /* of the whole prompt */
    cf_error render_error;
    cf_prompt prompt;
    cf_chat_response response;
    bool has_response;
    cf_check_fn fn;
    void *ud;
} run;

/* ---- before the checks -------------------------------------------------- */

static bool needs_answer(const cf_prompt_test *t)
{
    return t->has_reply || t->is_made;
}

/* The context's object with the test's variables, and a generation prompt
 * where the context does not decide. */
static cf_status read_context(run *r, cf_error *err)
{
    const cf_prompt_test *t = r->test;
    if (t->context == NULL) {
        r->context = json_pack("{s:[]}", "messages");
    } else {
        CF_TRY(cf_json_read_file(&r->context, t->context, err));
        if (!json_is_object(r->context)) {
            return cf_fail(err, CF_EFORMAT, "%.200s: a context is an object", t->context);
        }
    }
    if (r->context == NULL || (t->vars != NULL && json_object_update(r->context, t->vars) != 0) ||
        (json_object_get(r->context, "add_generation_prompt") == NULL &&
         json_object_set_new(r->context, "add_generation_prompt", json_true()) != 0)) {
        return cf_oom_for(err, "the context");
    }
    return cf_tool_set_new(&r->tools, json_object_get(r->context, "tools"), err);
}

static cf_status open_all(run *r, cf_error *err)
{
    const cf_prompt_test *t = r->test;
    r->open.model = t->model != NULL ? t->model : r->open.model;
    r->open.template_name = t->tpl != NULL ? t->tpl : r->open.template_name;
    if (cf_open_model(&r->open) == NULL && !t->is_made) {
        return cf_open_without_model(&r->opened, &r->open, err);
    }
    return cf_open_backend(&r->opened, &r->open, t->family, err);
}

/* The prompt of the first `n` messages. */
static cf_status render_first(run *r, size_t n, cf_prompt *out, cf_error *err)
{
    cf_prompt_renderer renderer = cf_renderer_template_as_is(r->opened.tpl);
    const cf_tokenizer *tok =
        r->opened.engine != NULL ? cf_engine_tokenizer(r->opened.engine) : NULL;
    return cf_answer_prompt(out, &renderer, tok, r->context, n, &r->arena, err);
}

static cf_status render_all(run *r, cf_error *err)
{
    if (r->opened.tpl == NULL) {
        return cf_fail(err, CF_EINVAL,
                       "no template: name one, or a model that "
                       "has one");
    }
    r->rendered = render_first(r, SIZE_MAX, &r->prompt, &r->render_error);
    if (r->rendered == CF_ENOMEM) {
        *err = r->render_error;
    }
    return r->rendered == CF_ENOMEM ? CF_ENOMEM : CF_OK;
}

/* A backend that answers with the reply that the test gives. */
static cf_status give_reply(run *r, cf_backend **out, cf_error *err)
{
    cf_jb b = CF_JB_INIT;
    json_t *script;
    const cf_channel_set channels = cf_tool_family_channels(r->opened.family);
    const cf_script_options options = {
        .family = r->opened.family, .channels = channels.v, .n_channels = channels.n};
    if (cf_utf8_valid_prefix(r->test->reply.p, r->test->reply.n) < r->test->reply.n) {
        return cf_fail(err, CF_EFORMAT, "the reply is not UTF-8");
    }
    cf_jb_object(&b, NULL);
    cf_jb_array(&b, "replies");
    cf_jb_object(&b, NULL);
    cf_jb_str(&b, "text", r->test->reply);
    cf_jb_end(&b);
    cf_jb_end(&b);
    cf_jb_end(&b);
    CF_TRY(cf_jb_finish(&b, &script, err));
    cf_status st = cf_backend_script_new(out, script, &options, err);
    json_decref(script);
    return st;
}

static cf_status answer(run *r, cf_error *err)
{
    const cf_prompt_test *t = r->test;
    cf_backend *given = NULL;
    const cf_chat_options options = {
        .sampling = {.temperature = t->has_seed ? 1.0F : 0.0F, .top_p = 1.0F, .seed = t->seed},
        .has_sampling = true,
        .as_is = true,
        .max_tokens = t->is_made ? t->max_tokens : 0};
    const cf_question q = {
        .context = r->context, .tools = r->tools, .options = &options, .cancel = r->cancel};
    cf_status st = CF_OK;
    if (t->family != NULL) {
        st = cf_tool_family_read(&r->opened.family, cf_str_from(t->family), err);
    }
    if (st == CF_OK && t->has_reply) {
        st = give_reply(r, &given, err);
    }
    CF_THEN(st, cf_answer(given != NULL ? given : r->opened.backend, &q, &r->response, err));
    cf_backend_free(given);
    r->has_response = st == CF_OK;
    return st;
}

/* ---- checks ------------------------------------------------------------- */

static cf_status check_tokens(run *r, const cf_prompt_check *c, bool *ok, cf_buf *why,
                              cf_error *err)
{
    cf_token_list tokens;
    if (r->opened.engine == NULL) {
        return cf_fail(err, CF_EINVAL, "prompt tokens needs a model");
    }
    CF_TRY(cf_prompt_tokenise(&tokens, &r->prompt, cf_str_make("", 0),
                              cf_engine_tokenizer(r->opened.engine), &r->arena, err));
    *ok = tokens.n <= c->limit;
    cf_buf_addf(why, "%zu tokens", tokens.n);
    return CF_OK;
}

/* Whether the prompt before each reply begins the whole prompt. */
static cf_status check_stable(run *r, bool *ok, cf_buf *why, cf_error *err)
{
    const json_t *messages = json_object_get(r->context, "messages");
    cf_str whole = r->prompt.text;
    *ok = true;
    for (size_t i = 0; *ok && i < json_array_size(messages); i++) {
        cf_str role = cf_json_get_str(json_array_get(messages, i), "role");
        cf_prompt before;
        if (!cf_str_is(role, "assistant") && !cf_str_is(role, "model")) {
            continue;
        }
        CF_TRY(render_first(r, i, &before, err));
        cf_str part = before.text;
        size_t same = 0;
        while (same < part.n && same < whole.n && part.p[same] == whole.p[same]) {
            same++;
        }
        *ok = same == part.n;
        if (!*ok) {
            cf_buf_addf(why,
                        "the prompt before message %zu differs from byte %zu "
                        "on",
                        i + 1, same);
        }
    }
    return CF_OK;
}

static cf_status check_expect(run *r, const cf_prompt_check *c, bool *ok, cf_buf *why,
                              cf_error *err)
{
    cf_sight sight = {.context = r->context,
                      .rendered = r->rendered,
                      .render_error = r->render_error.text,
                      .cancel = r->cancel};
    uint32_t needs = cf_predicate_needs(c->predicate);
    if ((needs & CF_SEE_REPLY) != 0 && !r->has_response) {
        return cf_fail(err, CF_EINVAL,
                       "there is no reply: give one (reply is) "
                       "or have one made (reply made)");
    }
    if ((needs & (CF_SEE_COMMAND | CF_SEE_CACHE)) != 0) {
        return cf_fail(err, CF_EUNSUPPORTED,
                       "a test runs no command; 'prompt stable' tests the "
                       "cache");
    }
    if (r->has_response) {
        cf_sight_response(&sight, &r->response, r->opened.family, r->tools);
    }
    CF_TRY(cf_predicate_holds(c->predicate, &sight, ok, why, err));
    *ok = *ok != c->is_not;
    return CF_OK;
}

static cf_status check_prompt(run *r, const cf_prompt_check *c, bool *ok, cf_buf *why,
                              cf_error *err)
{
    cf_str text = r->prompt.text;
    if (c->kind == CF_CHECK_FAILS) {
        *ok = r->rendered != CF_OK && cf_str_find(cf_str_from(r->render_error.text), c->text, NULL);
        cf_buf_adds(why,
                    r->rendered == CF_OK ? "the template does not fail" : r->render_error.text);
        return CF_OK;
    }
    if (r->rendered != CF_OK) {
        *ok = false;
        cf_buf_adds(why, r->render_error.text);
        return CF_OK;
    }
    switch (c->kind) {
    case CF_CHECK_CONTAINS:
        *ok = cf_str_find(text, c->text, NULL);
        cf_buf_adds(why, "it is not in the prompt");
        return CF_OK;
    case CF_CHECK_LACKS:
        *ok = !cf_str_find(text, c->text, NULL);
        cf_buf_adds(why, "it is in the prompt");
        return CF_OK;
    case CF_CHECK_IS:
        *ok = cf_str_eq(text, c->text);
        cf_buf_adds(why, "the prompt differs");
        return CF_OK;
    case CF_CHECK_TOKENS:
        return check_tokens(r, c, ok, why, err);
    default:
        return check_stable(r, ok, why, err);
    }
}

static cf_status run_checks(run *r, cf_error *err)
{
    cf_status st = CF_OK;
    for (size_t i = 0; st == CF_OK && i < r->test->n; i++) {
        const cf_prompt_check *c = &r->test->check[i];
        cf_buf why = CF_BUF_INIT;
        bool ok = false;
        st = c->kind == CF_CHECK_EXPECT ? check_expect(r, c, &ok, &why, err)
                                        : check_prompt(r, c, &ok, &why, err);
        CF_THEN(st, cf_buf_check(&why, err));
        if (st == CF_OK) {
            r->fn(r->ud, c, ok, cf_buf_str(&why), r->prompt.text);
        }
        cf_buf_deinit(&why);
    }
    return st;
}

static bool needs_prompt(const cf_prompt_test *t)
{
    bool needs = false;
    for (size_t i = 0; i < t->n; i++) {
        needs = needs || t->check[i].kind != CF_CHECK_EXPECT ||
                (cf_predicate_needs(t->check[i].predicate) & CF_SEE_RENDER);
    }
    return needs;
}

cf_status cf_prompt_test_run(const cf_prompt_test *test, const cf_open_options *base,
                             cf_cancel *cancel, cf_check_fn fn, void *ud, cf_error *err)
{
    run r = {.test = test, .open = *base, .cancel = cancel, .fn = fn, .ud = ud};
    cf_arena_init(&r.arena, 0);
    cf_chat_response_init(&r.response);
    cf_status st = read_context(&r, err);
    CF_THEN(st, open_all(&r, err));
    if (st == CF_OK && needs_prompt(test)) {
        st = render_all(&r, err);
    }
    if (st == CF_OK && needs_answer(test)) {
        st = answer(&r, err);
    }
    CF_THEN(st, run_checks(&r, err));
    cf_chat_response_deinit(&r.response);
    cf_tool_set_free(r.tools);
    json_decref(r.context);
    cf_opened_close(&r.opened);
    cf_arena_deinit(&r.arena);
    return st;
}
