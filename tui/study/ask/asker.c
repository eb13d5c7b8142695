/*
 * asker.c - produces what a predicate needs, then asks it.
 */
#include "tui/study/ask/asker.h"

#include <string.h>

#include "templates/chat_template.h"
#include "tui/study/ask/answer.h"

enum { TOKENS = 256 };

void cf_asker_init(cf_asker *a, const cf_study_engine *engine, const cf_predicate *predicate,
                   cf_cancel *cancel)
{
    *a = (cf_asker){.engine = engine, .predicate = predicate, .cancel = cancel};
}

void cf_asker_deinit(cf_asker *a)
{
    cf_buf_deinit(&a->prompt);
    cf_buf_deinit(&a->reply);
    cf_buf_deinit(&a->error);
    cf_buf_deinit(&a->why);
    cf_buf_deinit(&a->failure);
    cf_buf_deinit(&a->only);
    cf_buf_deinit(&a->source);
    cf_template_free(a->tpl);
    *a = (cf_asker){.engine = NULL};
}

/* ---- the template ------------------------------------------------------- */

static cf_status set_template(cf_asker *a, cf_str source, cf_error *err)
{
    if (a->has_template && cf_str_eq(source, cf_buf_str(&a->source))) {
        return CF_OK;
    }
    cf_template_free(a->tpl);
    a->tpl = NULL;
    a->has_template = false;
    cf_buf_reset(&a->source);
    cf_buf_add(&a->source, source.p, source.n);
    CF_TRY(cf_buf_check(&a->source, err));
    a->compile_error = (cf_error){.code = CF_OK};
    if (source.n > 0) {
        cf_status st = cf_template_compile(&a->tpl, cf_buf_str(&a->source), NULL, NULL, NULL,
                                           &a->compile_error);
        if (st == CF_ENOMEM) {
            return cf_oom_for(err, "the template");
        }
        a->compile_error.code = st;
    }
    a->has_template = true;
    return CF_OK;
}

static cf_prompt_renderer renderer_of(const cf_asker *a)
{
    return a->tpl == NULL ? cf_renderer_plain()
           : a->as_is     ? cf_renderer_template_as_is(a->tpl)
                          : cf_renderer_template(a->tpl);
}

/* The prompt of the first n messages. */
static cf_status render(const cf_asker *a, const json_t *context, size_t n, cf_arena *arena,
                        cf_prompt *out, cf_error *err)
{
    cf_prompt_renderer r = renderer_of(a);
    if (a->compile_error.code != CF_OK) {
        *err = a->compile_error;
        return err->code;
    }
    return cf_answer_prompt(out, &r, a->engine->tok, context, n, arena, err);
}

cf_status cf_asker_keep_failure(cf_asker *a, cf_error *err)
{
    cf_buf_reset(&a->only);
    cf_buf_add(&a->only, cf_buf_cstr(&a->failure), a->failure.n);
    return cf_buf_check(&a->only, err);
}

static cf_status see_render(cf_asker *a, const json_t *context, cf_arena *arena, cf_sight *s,
                            cf_error *err)
{
    cf_prompt prompt;
    cf_error why = {0};
    cf_status st = render(a, context, SIZE_MAX, arena, &prompt, &why);
    if (st == CF_ENOMEM || st == CF_ECANCELLED) {
        *err = why;
        return st;
    }
    if (st == CF_OK) {
        cf_buf_add(&a->prompt, prompt.text.p, prompt.text.n);
    } else {
        cf_buf_adds(&a->error, why.text);
    }
    s->rendered = st;
    s->render_error = cf_buf_cstr(&a->error);
    return cf_buf_check(&a->prompt, err);
}

/* ---- the cache ---------------------------------------------------------- */

static bool is_assistant(const json_t *messages, size_t i)
{
    cf_role r = cf_role_parse(cf_json_get_str(json_array_get(messages, i), "role"));
    return r == CF_ROLE_ASSISTANT || r == CF_ROLE_AGENT;
}

/* Whether the prompt of a reply, and the reply, are the beginning of the next
 * prompt. */
static bool is_kept(const json_t *reply, cf_str before, cf_str after)
{
    cf_str thinking = cf_json_get_str(reply, "reasoning_content");
    cf_str content = cf_json_get_str(reply, "content");
    if (!cf_str_starts(after, before)) {
        return false;
    }
    cf_str rest = cf_str_make(after.p + before.n, after.n - before.n);
    return thinking.n > 0 ? cf_str_find(rest, thinking, NULL)
           : json_object_get(reply, "tool_calls") != NULL
               ? true /* calls are not written as they came */
               : cf_str_starts(rest, content);
}

static cf_status see_cache(cf_asker *a, const json_t *context, cf_arena *arena, cf_sight *s,
                           cf_error *err)
{
    const json_t *messages = json_object_get(context, "messages");
    size_t n = json_array_size(messages);
    for (size_t i = 0; i + 1 < n; i++) {
        size_t next = i + 1;
        cf_prompt before, after;
        cf_error why;
        if (!is_assistant(messages, i)) {
            continue;
        }
        while (next < n && !is_assistant(messages, next)) {
            next++;
        }
        cf_status st = render(a, context, i, arena, &before, &why);
        CF_THEN(st, render(a, context, next, arena, &after, &why));
        if (st == CF_ENOMEM || st == CF_ECANCELLED) {
            *err = why;
            return st;
        }
        if (st == CF_OK && !is_kept(json_array_get(messages, i), before.text, after.text)) {
            s->is_cache_lost = true;
            cf_buf_addf(&a->error, "the prompt of reply %zu is not kept", i);
            break;
        }
    }
    s->cache_loss = a->error.n > 0 ? cf_buf_cstr(&a->error) : NULL;
    return CF_OK;
}

/* ---- the reply ---------------------------------------------------------- */

/* The recorded sampler, seed, thinking and constraint, which a server gets in its
 * own form; a reply without a limit of its own is asked for at its length. */
static cf_status draw_as_recorded(cf_asker *a, cf_chat_options *out, cf_error *err)
{
    if (a->was == NULL || a->was->run == NULL) {
        return CF_OK;
    }
    if (a->engine->tok != NULL) {
        CF_TRY(cf_recorded_compile(a->was, a->engine->tok, err));
    }
    if (a->was->options.max_tokens == 0 && a->was->run->n_reply > TOKENS) {
        out->max_tokens = (uint32_t)a->was->run->n_reply;
    }
    cf_recorded_chat(a->was, out);
    return CF_OK;
}

static cf_status generate(cf_asker *a, const json_t *context, const cf_tool_set *tools,
                          cf_chat_response *r, cf_error *err)
{
    cf_chat_options options = {.has_sampling = true, .max_tokens = TOKENS};
    CF_TRY(draw_as_recorded(a, &options, err));
    options.sampling.seed += a->n_asked;
    options.as_is = a->as_is;
    options.max_tokens = a->max_tokens != 0 ? a->max_tokens : options.max_tokens;
    const cf_question q = {.context = context,
                           .tools = tools,
                           .options = &options,
                           .prefix = a->prefix,
                           .forces_reply = true,
                           .cancel = a->cancel};
    if (cf_backend_core_session(a->engine->backend) != NULL) {
        cf_core_options core = {.renderer = renderer_of(a), .family = a->engine->family};
        core.channels = cf_channels_detect(cf_buf_str(&a->source), &core.n_channels);
        cf_backend_core_set(a->engine->backend, &core);
    }
    return cf_answer(a->engine->backend, &q, r, err);
}

/* Fills the part of the sight that a reply has; a context that cannot be
 * answered leaves it empty. */
static cf_status see_reply(cf_asker *a, const json_t *context, const cf_tool_set *tools,
                           cf_chat_response *r, cf_sight *s, cf_error *err)
{
    cf_error why = {0};
    if (a->compile_error.code != CF_OK) {
        return CF_OK;
    }
    cf_status st = generate(a, context, tools, r, &why);
    bool is_of_context = r->stop.fault == CF_FAULT_TEMPLATE || r->stop.fault == CF_FAULT_CONTEXT ||
                         r->stop.fault == CF_FAULT_OPTION;
    if (st != CF_OK && (!is_of_context || st == CF_ENOMEM)) {
        *err = why;
        return st;
    }
    if (st == CF_OK) {
        cf_sight_response(s, r, a->engine->family, tools);
        cf_buf_add(&a->prompt, cf_buf_cstr(&r->prompt), r->prompt.n);
        cf_buf_add(&a->reply, cf_buf_cstr(&r->raw), r->raw.n);
        a->calls = r->status;
    } else {
        cf_buf_adds(&a->error, why.text);
    }
    return CF_OK;
}

/* ---- asking ------------------------------------------------------------- */

static cf_status judge(cf_asker *a, const cf_sight *s, bool *holds, cf_error *err)
{
    if ((cf_predicate_needs(a->predicate) & CF_SEE_REPLY) != 0 && !s->has_reply) {
        *holds = false;
        cf_buf_adds(&a->why, "no reply: ");
        cf_buf_adds(&a->why, cf_buf_cstr(&a->error));
        return CF_OK;
    }
    CF_TRY(cf_predicate_holds(a->predicate, s, holds, &a->why, err));
    if (!*holds) {
        return CF_OK;
    }
    cf_predicate_put_failure(a->predicate, s, &a->failure);
    CF_TRY(cf_buf_check(&a->failure, err));
    if (a->only.n > 0 && !cf_str_eq(cf_buf_str(&a->failure), cf_buf_str(&a->only))) {
        *holds = false;
        cf_buf_adds(&a->why, " (another failure than that of the whole conversation)");
    }
    return cf_buf_check(&a->why, err);
}

/* Tools that cannot be read as declarations are none for a reply. */
static cf_status read_tools(const json_t *context, cf_tool_set **out, cf_error *err)
{
    cf_error why;
    const json_t *v = json_object_get(context, "tools");
    cf_status st = json_array_size(v) > 0 ? cf_tool_set_new(out, v, &why) : CF_OK;
    return st == CF_ENOMEM ? cf_oom(err) : CF_OK;
}

static cf_status ask_once(cf_asker *a, const json_t *context, cf_str source, bool *holds,
                          cf_error *err)
{
    uint32_t needs = cf_predicate_needs(a->predicate);
    cf_sight s = {.context = context, .cancel = a->cancel, .command_ms = a->command_ms};
    cf_tool_set *tools = NULL;
    cf_chat_response r;
    cf_arena arena;
    *holds = false;
    cf_buf_reset(&a->prompt);
    cf_buf_reset(&a->reply);
    cf_buf_reset(&a->error);
    cf_buf_reset(&a->why);
    cf_buf_reset(&a->failure);
    CF_TRY(set_template(a, source, err));
    CF_TRY(read_tools(context, &tools, err));
    cf_arena_init(&arena, 0);
    cf_chat_response_init(&r);
    cf_status st = CF_OK;
    if ((needs & CF_SEE_RENDER) != 0) {
        st = see_render(a, context, &arena, &s, err);
    }
    if (st == CF_OK && (needs & CF_SEE_CACHE) != 0) {
        st = see_cache(a, context, &arena, &s, err);
    }
    if (st == CF_OK && (needs & CF_SEE_REPLY) != 0) {
        st = see_reply(a, context, tools, &r, &s, err);
    }
    CF_THEN(st, judge(a, &s, holds, err));
    cf_chat_response_deinit(&r);
    cf_arena_deinit(&arena);
    cf_tool_set_free(tools);
    return st;
}

/* Ends as soon as the rest cannot change the answer; where it holds, the last
 * time held, so that prompt and reply are those of the failure. */
cf_status cf_asker_ask(cf_asker *a, const json_t *context, cf_str source, bool *holds,
                       cf_error *err)
{
    const uint32_t n = a->repeat > 0 ? a->repeat : 1;
    const uint32_t least = a->at_least > 0 ? a->at_least : n;
    a->n_asked = a->n_held = 0;
    *holds = false;
    while (!*holds && a->n_held + (n - a->n_asked) >= least) {
        bool once;
        CF_TRY(ask_once(a, context, source, &once, err));
        a->n_asked++;
        a->n_held += once;
        *holds = a->n_held >= least;
    }
    if (n > 1) {
        cf_buf counts = CF_BUF_INIT;
        cf_buf_addf(&counts, "%u of %u: ", a->n_held, a->n_asked);
        cf_buf_add(&counts, cf_buf_cstr(&a->why), a->why.n);
        cf_buf_deinit(&a->why);
        a->why = counts;
    }
    return cf_buf_check(&a->why, err);
}
