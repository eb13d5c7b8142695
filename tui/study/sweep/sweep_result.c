/*
 * sweep_result.c - cells as requests, and replies as results.
 */
#include "core/base/alloc.h"
#include "core/json/json_builder.h"
#include "core/json/json_writer.h"
#include "tui/study/sweep/sweep_impl.h"

static bool is_system(const json_t *message)
{
    cf_role role = cf_role_parse(cf_json_get_str(message, "role"));
    return role == CF_ROLE_SYSTEM || role == CF_ROLE_DEVELOPER;
}

json_t *cf_sweep_messages(const cf_sweep *s, const cf_sweep_cell *c)
{
    const json_t *from = s->plan->item[c->item].messages;
    if (c->wording != CF_SWEEP_NONE) {
        from = json_array_get(from, c->wording);
    }
    cf_jb out = CF_JB_INIT;
    size_t first = 0, n = json_array_size(from);
    cf_jb_array(&out, NULL);
    if (c->system != CF_SWEEP_NONE) {
        const cf_sweep_system *with = &s->plan->system[c->system];
        while (first < n && is_system(json_array_get(from, first))) {
            first++;
        }
        if (with->text.n > 0) {
            cf_jb_object(&out, NULL);
            cf_jb_text(&out, "role", "system");
            cf_jb_str(&out, "content", with->text);
            cf_jb_end(&out);
        }
    }
    for (size_t i = first; i < n; i++) {
        cf_jb_copy(&out, NULL, json_array_get(from, i));
    }
    cf_jb_end(&out);
    return cf_jb_done(&out);
}

const json_t *cf_sweep_tools(const cf_sweep *s, const cf_sweep_cell *c)
{
    const cf_sweep_item *item = &s->plan->item[c->item];
    return item->tools != NULL ? item->tools : s->plan->tools;
}

/* ---- keys --------------------------------------------------------------- */

static void put_sampler(cf_jw *w, const cf_chat_options *o)
{
    const cf_sampling *p = &o->sampling;
    cf_jw_array(w, "sampler");
    cf_jw_float(w, NULL, p->temperature);
    cf_jw_float(w, NULL, p->top_p);
    cf_jw_float(w, NULL, p->min_p);
    cf_jw_float(w, NULL, p->repetition_penalty);
    cf_jw_float(w, NULL, p->presence_penalty);
    cf_jw_float(w, NULL, p->frequency_penalty);
    cf_jw_uint(w, NULL, p->top_k);
    cf_jw_uint(w, NULL, p->penalty_window);
    cf_jw_uint(w, NULL, p->no_repeat_ngram);
    cf_jw_uint(w, NULL, p->no_repeat_window);
    cf_jw_uint(w, NULL, p->seed);
    cf_jw_uint(w, NULL, o->max_tokens);
    cf_jw_uint(w, NULL, o->asked);
    cf_jw_end(w);
}

cf_status cf_sweep__key(const cf_sweep *s, cf_sweep_cell *c, const cf_sweep__engine *e,
                        cf_error *err)
{
    cf_buf text = CF_BUF_INIT;
    cf_jw w;
    json_t *messages = cf_sweep_messages(s, c);
    if (messages == NULL) {
        return cf_oom_for(err, "the cells");
    }
    cf_jw_init(&w, &text);
    cf_jw_object(&w, NULL);
    cf_jw_int(&w, "version", 1);
    cf_jw_text(&w, "model", e->model);
    cf_jw_text(&w, "template", e->template_hash);
    cf_jw_bool(&w, "exact", s->o.open.arithmetic == CF_ARITHMETIC_EXACT);
    if (s->o.open.arithmetic == CF_ARITHMETIC_8) {
        cf_jw_int(&w, "activations", 8);
    }
    if (s->o.open.cache != CF_CACHE_DEFAULT) {
        cf_jw_text(&w, "cache", cf_cache_name(s->o.open.cache));
    }
    const cf_chat_options chat = cf_sweep_chat_of(s, c);
    put_sampler(&w, &chat);
    const cf_store_run *run = s->plan->item[c->item].run;
    if (run != NULL && s->plan->draws_as_recorded) {
        cf_jw_str(&w, "options", run->options);
        cf_jw_uint(&w, "seed", run->seed);
    }
    if (run != NULL && run->constraint_spec.n > 0) {
        cf_jw_str(&w, "constraint", run->constraint_spec);
    }
    cf_jw_json(&w, "messages", messages);
    cf_jw_json(&w, "tools", cf_sweep_tools(s, c));
    cf_jw_json(&w, "extra", s->plan->item[c->item].extra);
    cf_jw_end(&w);
    cf_status st = cf_jw_finish(&w, err);
    if (st == CF_OK) {
        cf_hash_hex(c->key, cf_buf_cstr(&text), text.n);
    }
    json_decref(messages);
    cf_buf_deinit(&text);
    return st;
}

/* ---- requests ----------------------------------------------------------- */

/* The constraint of the recorded reply; where the plan names no sampler also what
 * it was drawn with. */
static cf_status draw_as_recorded(cf_sweep__request *r, const cf_sweep *s,
                                  const cf_sweep_item *item, const cf_tokenizer *tok, cf_error *err)
{
    cf_chat_options *chat = &r->options.chat;
    if (item->run == NULL) {
        return CF_OK;
    }
    CF_TRY(cf_recorded_read(&r->was, NULL, item->run, &r->arena, err));
    if (tok != NULL) {
        CF_TRY(cf_recorded_compile(&r->was, tok, err));
    }
    if (s->plan->draws_as_recorded) {
        if (r->was.options.max_tokens == 0 && item->run->n_reply > chat->max_tokens) {
            chat->max_tokens = (uint32_t)item->run->n_reply; /* it had no limit */
        }
        cf_recorded_chat(&r->was, chat);
    } else {
        chat->grammar = r->was.grammar;
        chat->vocab = r->was.vocab;
        chat->constraint = r->was.constraint;
    }
    return CF_OK;
}

cf_status cf_sweep__request_init(cf_sweep__request *r, const cf_sweep *s, const cf_sweep_cell *c,
                                 const cf_role_map *roles, const cf_tokenizer *tok, cf_error *err)
{
    const cf_sweep_item *item = &s->plan->item[c->item];
    const json_t *tools = cf_sweep_tools(s, c);
    *r = (cf_sweep__request){.options = {.chat = cf_sweep_chat_of(s, c)}};
    cf_arena_init(&r->arena, 0);
    r->messages = cf_sweep_messages(s, c);
    r->tools = cf_json_deep_copy(tools);
    r->extra = cf_json_deep_copy(item->extra);
    if (r->messages == NULL || (tools != NULL && r->tools == NULL) ||
        (item->extra != NULL && r->extra == NULL)) {
        return cf_oom_for(err, "the cell");
    }
    CF_TRY(draw_as_recorded(r, s, item, tok, err));
    const cf_preface preface = {.tools = r->tools, .extra_context = r->extra};
    CF_TRY(cf_conversation_new(&r->conv, &preface, err));
    if (roles != NULL) {
        cf_conversation_set_roles(r->conv, roles);
    }
    return cf_conversation_add_messages(r->conv, r->messages, (cf_uuid){{0}}, NULL, NULL, &r->head,
                                        NULL, err);
}

void cf_sweep__request_deinit(cf_sweep__request *r)
{
    cf_conversation_free(r->conv);
    cf_recorded_deinit(&r->was);
    cf_arena_deinit(&r->arena);
    json_decref(r->messages);
    json_decref(r->tools);
    json_decref(r->extra);
    *r = (cf_sweep__request){.conv = NULL};
}

/* ---- results ------------------------------------------------------------ */

cf_status cf_sweep__result(json_t **out, const cf_chat_response *r, cf_tool_family family,
                           cf_error *err)
{
    cf_buf text = CF_BUF_INIT;
    cf_jw w;
    cf_jw_init(&w, &text);
    cf_jw_object(&w, NULL);
    cf_jw_json(&w, "message", r->message);
    cf_jw_bytes(&w, "raw", cf_buf_str(&r->raw));
    cf_jw_int(&w, "status", r->status);
    cf_jw_json(&w, "findings", r->findings);
    cf_jw_text(&w, "family", cf_tool_family_name(family));
    cf_jw_int32s(&w, "ids", r->reply_ids, r->n_reply_ids);
    cf_jw_text(&w, "stop", cf_stop_reason_name(r->stop.reason));
    if (r->usage.is_known) {
        cf_jw_array(&w, "usage");
        cf_jw_uint(&w, NULL, r->usage.n_prompt);
        cf_jw_uint(&w, NULL, r->usage.n_reply);
        cf_jw_end(&w);
    }
    cf_jw_uint(&w, "ms", r->timings.total_us / 1000);
    cf_jw_uint(&w, "retries", r->timings.n_retries);
    cf_jw_end(&w);
    cf_status st = cf_jw_finish(&w, err);
    CF_THEN(st, cf_json_read(out, cf_buf_cstr(&text), text.n, err));
    cf_buf_deinit(&text);
    return st;
}

/* ---- likelihoods -------------------------------------------------------- */

/* A score of one check under its key; what the backend cannot do is null. */
static void add_score(cf_jb *scores, const cf_sweep_check *check, const json_t *fields,
                      cf_backend *backend, cf_str prompt, cf_cancel *cancel)
{
    cf_buf value = CF_BUF_INIT, key = CF_BUF_INIT;
    cf_arena arena;
    cf_score found = {.n = 0};
    cf_error ignored;
    cf_arena_init(&arena, 0);
    cf_sweep_check_value(check, fields, &value);
    cf_sweep_check_key(check, fields, &key);
    cf_status st = value.failed || key.failed ? CF_ENOMEM
                   : backend != NULL ? cf_backend_score(backend, prompt, cf_buf_str(&value), cancel,
                                                        &arena, &found, &ignored)
                                     : CF_EUNSUPPORTED;
    if (st == CF_ENOMEM) {
        cf_jb_fail(scores);
    } else if (st == CF_OK && found.n > 0) {
        cf_jb_double(scores, cf_buf_cstr(&key), found.sum / (double)found.n);
    } else if (st != CF_ECANCELLED) {
        cf_jb_null(scores, cf_buf_cstr(&key));
    }
    cf_arena_deinit(&arena);
    cf_buf_deinit(&value);
    cf_buf_deinit(&key);
}

cf_status cf_sweep__add_scores(const cf_sweep *s, const cf_sweep_cell *c, cf_backend *backend,
                               cf_str prompt, json_t *result, cf_error *err)
{
    json_t *scores;
    cf_jb b = CF_JB_INIT;
    cf_jb_object(&b, NULL);
    for (size_t i = 0; i < s->plan->n_check; i++) {
        const cf_sweep_check *check = cf_sweep_plan_check(s->plan, c->item, i);
        if (check != NULL && check->kind == CF_CHECK_LIKELIHOOD) {
            add_score(&b, check, s->plan->item[c->item].fields, backend, prompt, s->o.cancel);
        }
    }
    cf_jb_end(&b);
    CF_TRY(cf_jb_finish(&b, &scores, err));
    if (json_object_size(scores) > 0 && json_object_set(result, "scores", scores) != 0) {
        json_decref(scores);
        return cf_oom_for(err, "the cell");
    }
    json_decref(scores);
    return CF_OK;
}
