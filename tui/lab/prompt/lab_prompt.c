/*
 * lab_prompt.c - the prompt of the path and the unsent text, rendered and
 * tokenised as a send would do it, sending nothing.
 */
#include "tui/lab/prompt/lab_prompt.h"

#include <string.h>

#include "core/api/attachment.h"
#include "core/base/alloc.h"
#include "core/base/utf8.h"
#include "core/json/json_builder.h"
#include "tui/lab/prompt/prompt_impl.h"
#include "tui/lab/talk/lab_conversation.h"
#include "tui/lab/talk/lab_messages.h"
#include "tui/lab/talk/lab_options.h"
#include "tui/lab/talk/lab_send.h"

enum {
    STATES_MAX = 1024, /* more are not marked */
    PREFILL_LEAST = 16 /* tokens; fewer tell nothing of the speed */
};

cf_status cf_lab_prompt_open(cf_lab *lab, cf_error *err)
{
    struct cf_lab_prompt *p = lab->prompt = cf_calloc(1, sizeof *p);
    if (p == NULL) {
        return cf_oom(err);
    }
    cf_arena_init(&p->arena, 0);
    cf_arena_init(&p->loss_arena, 0);
    return CF_OK;
}

void cf_lab_prompt_close(cf_lab *lab)
{
    struct cf_lab_prompt *p = lab->prompt;
    if (p == NULL) {
        return;
    }
    cf_buf_deinit(&p->unsent);
    json_decref(p->unsent_parts);
    json_decref(p->unsent_message);
    cf_prompt_model_deinit(&p->model);
    cf_media_sheet_deinit(&p->sheet);
    json_decref(p->server_slots);
    cf_free(p->loss);
    cf_arena_deinit(&p->arena);
    cf_arena_deinit(&p->loss_arena);
    cf_free(p);
}

void cf_lab_set_unsent(cf_lab *lab, cf_str unsent)
{
    struct cf_lab_prompt *shown = lab->prompt;
    if (cf_str_eq(unsent, cf_buf_str(&shown->unsent))) {
        return;
    }
    cf_buf_restart(&shown->unsent);
    cf_buf_add(&shown->unsent, unsent.p, unsent.n);
    shown->is_fresh = false;
}

static bool has_parts(const cf_lab *lab, json_t *const *parts, size_t n)
{
    if (json_array_size(lab->prompt->unsent_parts) != n) {
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        if (json_array_get(lab->prompt->unsent_parts, i) != parts[i]) {
            return false;
        }
    }
    return true;
}

void cf_lab_set_unsent_parts(cf_lab *lab, json_t *const *parts, size_t n)
{
    struct cf_lab_prompt *shown = lab->prompt;
    if (has_parts(lab, parts, n)) {
        return;
    }
    cf_jb b = CF_JB_INIT;
    cf_jb_array(&b, NULL);
    for (size_t i = 0; i < n; i++) {
        cf_jb_add(&b, NULL, parts[i]);
    }
    cf_jb_end(&b);
    json_decref(shown->unsent_parts);
    shown->unsent_parts = cf_jb_done(&b);
    shown->lacks_parts = shown->unsent_parts == NULL;
    shown->is_fresh = false;
}

size_t cf_lab_unsent_parts_size(const cf_lab *lab)
{
    size_t n = 0;
    for (size_t i = 0; i < json_array_size(lab->prompt->unsent_parts); i++) {
        cf_attachment a;
        n += cf_attachment_read(&a, json_array_get(lab->prompt->unsent_parts, i)) ? a.base64.n : 0;
        cf_attachment_deinit(&a);
    }
    return n;
}

/* The text, and after it the parts, as a send makes a message of them. */
static cf_status make_unsent(cf_lab *lab, cf_error *err)
{
    struct cf_lab_prompt *shown = lab->prompt;
    json_decref(shown->unsent_message);
    shown->unsent_message = NULL;
    CF_TRY(cf_buf_check(&shown->unsent, err));
    if (shown->lacks_parts) {
        return cf_oom_for(err, "what goes with the unsent text");
    }
    size_t n = json_array_size(shown->unsent_parts);
    if (shown->unsent.n == 0 && n == 0) {
        return CF_OK;
    }
    cf_str text = cf_buf_str(&shown->unsent);
    if (text.n > 0 && cf_utf8_valid_prefix(text.p, text.n) != text.n) {
        return cf_fail(err, CF_EFORMAT, "the unsent text is not UTF-8");
    }
    cf_jb b = CF_JB_INIT;
    cf_jb_object(&b, NULL);
    cf_jb_text(&b, "role", "user");
    if (n == 0) {
        cf_jb_str(&b, "content", text);
    } else {
        cf_jb_array(&b, "content");
        cf_jb_object(&b, NULL);
        cf_jb_text(&b, "type", "text");
        cf_jb_str(&b, "text", text);
        cf_jb_end(&b);
        for (size_t i = 0; i < n; i++) {
            cf_jb_add(&b, NULL, json_array_get(shown->unsent_parts, i));
        }
        cf_jb_end(&b);
    }
    cf_jb_end(&b);
    return cf_jb_finish(&b, &shown->unsent_message, err);
}

cf_str cf_lab_unsent(const cf_lab *lab)
{
    return cf_buf_str(&lab->prompt->unsent);
}

void cf_lab_prompt_stale(cf_lab *lab)
{
    lab->prompt->is_fresh = false;
    lab->prompt->losses_are_fresh = false;
}

/* ---- losses ------------------------------------------------------------- */

static void add_loss(void *ud, const cf_loss *loss)
{
    cf_lab *lab = ud;
    char text[400];
    cf_utf8_copy(text, sizeof text, loss->line);
    if (loss->kind != CF_LOSS_TOOL) {
        cf_lab_name_turn(lab, loss->index, text, sizeof text);
    }
    char *line = cf_arena_strndup(&lab->prompt->loss_arena, text, strlen(text));
    if (line != NULL && cf_grow(&lab->prompt->loss, &lab->prompt->cap_loss, lab->prompt->n_loss + 1,
                                sizeof *lab->prompt->loss)) {
        lab->prompt->loss[lab->prompt->n_loss++] =
            (cf_lab_loss){loss->kind, loss->index, cf_str_from(line)};
    }
}

/* The Prompt view shows why a prompt cannot be made: then there are no losses.
 * Without memory they are looked for again with the next frame. */
static void find_losses(cf_lab *lab)
{
    cf_arena arena;
    cf_prompt prompt;
    cf_error ignored;
    cf_turn_options options = cf_lab_options(lab);
    const cf_send send = {.options = &options};
    cf_arena_init(&arena, 0);
    if (cf_conversation_preview(cf_lab_conv(lab), lab->engine.backend, &send, &arena, &prompt, NULL,
                                &ignored) == CF_OK) {
        lab->prompt->losses_are_fresh =
            cf_conversation_losses(cf_lab_conv(lab), &send, &prompt, add_loss, lab, &ignored) !=
            CF_ENOMEM;
        for (size_t i = 0; i < prompt.n_spans && lab->prompt->added == NULL; i++) {
            const cf_prompt_span *s = &prompt.spans[i];
            lab->prompt->added =
                cf_prompt_span_is_added(s)
                    ? cf_arena_strndup(&lab->prompt->loss_arena, s->path.p, s->path.n)
                    : NULL;
        }
    }
    cf_arena_deinit(&arena);
}

const char *cf_lab_added(const cf_lab *lab)
{
    return lab->prompt->added;
}

const cf_lab_loss *cf_lab_losses(cf_lab *lab, size_t *n)
{
    struct cf_lab_prompt *shown = lab->prompt;
    bool is_fresh = shown->losses_are_fresh && shown->loss_generation == lab->generation;
    if (!is_fresh && !lab->is_writing) {
        shown->losses_are_fresh = true;
        shown->loss_generation = lab->generation;
        shown->n_loss = 0;
        shown->added = NULL;
        cf_arena_reset(&shown->loss_arena);
        size_t n_path;
        cf_lab_path(lab, &n_path);
        if (n_path > 0 && cf_lab_info(lab).shows_prompt) {
            find_losses(lab);
        }
    }
    *n = shown->n_loss;
    return shown->loss;
}

/* Notes the messages of which nothing is in the prompt. */
static cf_status mark_lost(cf_lab *lab, cf_error *err)
{
    size_t n;
    const cf_lab_loss *v = cf_lab_losses(lab, &n);
    for (size_t i = 0; i < n; i++) {
        if (v[i].kind == CF_LOSS_MESSAGE || v[i].kind == CF_LOSS_RESULT) {
            CF_TRY(cf_prompt_model_mark_lost(&lab->prompt->model, v[i].index, err));
        }
    }
    return CF_OK;
}

static cf_status render(cf_lab *lab, cf_error *err)
{
    struct cf_lab_prompt *shown = lab->prompt;
    cf_prompt prompt;
    cf_token_list tokens = {0};
    cf_turn_options options = cf_lab_options(lab);
    CF_TRY(make_unsent(lab, err));
    cf_send send = {.message = shown->unsent_message, .options = &options};
    bool shows_tokens = lab->engine.tokenizer != NULL;
    cf_arena_reset(&shown->arena);
    cf_status st =
        cf_conversation_preview(cf_lab_conv(lab), lab->engine.backend, &send, &shown->arena,
                                &prompt, shows_tokens ? &tokens : NULL, err);
    if (st != CF_OK) {
        return st;
    }
    size_t n_cache = 0;
    const cf_token *cache = cf_backend_cache(lab->engine.backend, &n_cache);
    CF_TRY(cf_prompt_model_build(&shown->model, &prompt, &tokens, cache, n_cache, err));
    if (cf_lab_cache_is_other(lab)) {
        cf_prompt_model_mark_other(&shown->model);
    }
    uint32_t pos[STATES_MAX];
    size_t n = cf_backend_checkpoints(lab->engine.backend, pos, STATES_MAX);
    cf_prompt_model_mark_states(&shown->model, pos, n < STATES_MAX ? n : STATES_MAX);
    if (shows_tokens) {
        cf_prompt_model_mark_specials(&shown->model, lab->engine.tokenizer);
    }
    return mark_lost(lab, err);
}

cf_status cf_lab_preview(cf_lab *lab, cf_uuid leaf, const json_t *messages, cf_arena *arena,
                         cf_prompt *out, cf_error *err)
{
    if (lab->is_writing) {
        return cf_fail(err, CF_EBUSY, "a reply is being written; Esc stops it");
    }
    cf_turn_options options = cf_lab_options(lab);
    const cf_send send = {
        .message = messages, .options = &options, .has_parent = true, .parent = leaf};
    return cf_conversation_preview(cf_lab_conv(lab), lab->engine.backend, &send, arena, out, NULL,
                                   err);
}

bool cf_lab_prompt_is_asked(const cf_lab *lab)
{
    cf_backend_info info = cf_lab_info(lab);
    return strcmp(info.kind, "openai") == 0 && !info.prompt_is_ours;
}

bool cf_lab_prompt_parent(const cf_lab *lab, cf_send *send)
{
    size_t n;
    const cf_turn *const *path = cf_lab_path(lab, &n);
    const cf_turn *last = n > 0 ? path[n - 1] : NULL;
    cf_role role =
        last != NULL ? cf_role_parse(cf_json_get_str(last->message, "role")) : CF_ROLE_USER;
    send->has_parent =
        lab->prompt->unsent.n == 0 && n > 1 && (role == CF_ROLE_ASSISTANT || role == CF_ROLE_AGENT);
    if (send->has_parent) {
        send->parent = last->parent;
    }
    return send->has_parent;
}

bool cf_lab_prompt__is_empty(const cf_lab *lab)
{
    size_t n;
    cf_lab_path(lab, &n);
    const struct cf_lab_prompt *p = lab->prompt;
    return n == 0 && p->unsent.n == 0 && !p->unsent.failed &&
           json_array_size(p->unsent_parts) == 0 && !p->lacks_parts;
}

cf_prompt_model *cf_lab_prompt(cf_lab *lab)
{
    struct cf_lab_prompt *shown = lab->prompt;
    bool is_fresh = shown->is_fresh && shown->generation == lab->generation;
    if (!lab->is_writing && !is_fresh) {
        shown->generation = lab->generation;
        shown->err = (cf_error){0};
        shown->is_fresh = true;
        shown->is_shown = false;
        cf_prompt_model_deinit(&shown->model);
        cf_media_sheet_deinit(&shown->sheet);
        if (cf_lab_prompt__is_empty(lab)) {
            cf_fail(&shown->err, CF_ENOTFOUND, "nothing is said yet: write a message first (i)");
        } else if (cf_lab_prompt_is_asked(lab)) {
            cf_fail(&shown->err, CF_EBUSY, "the server writes the prompt: r in this view asks it");
        } else if (render(lab, &shown->err) == CF_OK) {
            shown->is_shown = true;
        }
    }
    return shown->is_shown ? &shown->model : NULL;
}

static const json_t *message_of(const void *ud, size_t i)
{
    const cf_lab *lab = ud;
    return i == cf_lab_n_messages(lab) ? lab->prompt->unsent_message : cf_lab_message(lab, i);
}

const cf_media_sheet *cf_lab_media(cf_lab *lab, size_t token, cf_error *err)
{
    const cf_prompt_model *m = cf_lab_prompt(lab);
    cf_media_sheet *s = &lab->prompt->sheet;
    if (s->n > 0 && token >= s->first && token - s->first < s->n) {
        return s;
    }
    cf_media_cache *cache = cf_backend_core_media(lab->engine.backend);
    if (m == NULL || cache == NULL || lab->is_writing) {
        cf_fail(err, CF_EBUSY, "%s",
                lab->is_writing ? "it is shown when the reply is complete"
                                : "no picture or sound is in this prompt; :attach FILE adds one");
        return NULL;
    }
    cf_media_sheet_deinit(s);
    return cf_media_sheet_make(s, cache, m, token, message_of, lab, err) == CF_OK ? s : NULL;
}

double cf_lab_prefill_speed(cf_lab *lab)
{
    size_t n;
    const cf_turn *const *path = cf_lab_path(lab, &n);
    while (n-- > 0) {
        const cf_reply *r = cf_lab_reply(lab, path[n]->id);
        if (r != NULL && r->timings.n_prefill >= PREFILL_LEAST && r->timings.prefill_us > 0) {
            return (double)r->timings.n_prefill * 1e6 / (double)r->timings.prefill_us;
        }
    }
    return 0;
}

/* The roles of the prompt's messages, as messages; unsent text comes last. */
static void put_roles(cf_jb *b, const cf_lab *lab)
{
    size_t n = cf_lab_n_messages(lab);
    cf_jb_array(b, NULL);
    for (size_t i = 0; i <= n; i++) {
        cf_jb_object(b, NULL);
        cf_jb_text(b, "role", cf_lab_message_role(lab, i));
        cf_jb_end(b);
    }
    cf_jb_end(b);
}

static void put_tools(cf_jb *b, const cf_lab *lab)
{
    size_t n = 0;
    const cf_tool *tool = cf_tool_set_items(cf_lab_tools(lab), &n);
    cf_jb_array(b, NULL);
    for (size_t i = 0; i < n; i++) {
        cf_jb_add(b, NULL, tool[i].raw);
    }
    cf_jb_end(b);
}

cf_status cf_lab_ledger(const cf_lab *lab, const cf_prompt_model *prompt, cf_arena *arena,
                        cf_ledger *out, cf_error *err)
{
    json_t *messages = NULL, *tools = NULL;
    cf_jb roles = CF_JB_INIT, declared = CF_JB_INIT;
    put_roles(&roles, lab);
    put_tools(&declared, lab);
    cf_status st = cf_jb_finish(&roles, &messages, err);
    CF_THEN(st, cf_jb_finish(&declared, &tools, err));
    CF_THEN(st, cf_ledger_make(out, &prompt->prompt, prompt->ids, prompt->n, messages, tools,
                               cf_lab_engine_of(lab)->template_source, arena, err));
    cf_jb_deinit(&declared);
    json_decref(messages);
    json_decref(tools);
    return st;
}

void cf_lab_prompt_error(const cf_lab *lab, cf_error *err)
{
    *err = lab->prompt->err;
    if (lab->is_writing) {
        cf_fail(err, CF_EBUSY, "the prompt is shown again when the reply is complete");
    }
}

bool cf_lab_is_control(const cf_lab *lab, cf_token id)
{
    return lab->engine.tokenizer != NULL &&
           cf_tokenizer_type(lab->engine.tokenizer, id) == CF_TOKEN_CONTROL;
}

void cf_lab_break_cause(cf_lab *lab, cf_buf *out)
{
    const cf_prompt_model *m = &lab->prompt->model;
    if (!lab->prompt->is_shown || !m->has_break || m->prompt.n_spans == 0) {
        return;
    }
    const cf_prompt_span *s = &m->prompt.spans[m->token[m->n_kept].span];
    cf_buf was = CF_BUF_INIT;
    if (lab->engine.tokenizer != NULL) {
        cf_tokenizer_piece(&was, lab->engine.tokenizer, m->cached, true);
    }
    cf_str is = cf_prompt_model_text(m, m->n_kept);
    cf_buf_adds(out, "Cause: ");
    if (s->source == CF_SPAN_MESSAGE) {
        cf_buf_addf(out, "turn %zu (%s) ", cf_lab_number_of(lab, s->index),
                    cf_lab_message_role(lab, s->index));
    } else {
        cf_buf_adds(out, "it ");
    }
    cf_buf_addf(out, "is written by template line %u", (unsigned)s->line);
    if (s->cause != NULL) {
        cf_buf_addc(out, ' ');
        cf_prompt_cause_text(out, s->cause);
    }
    cf_buf_adds(out, ", as '");
    cf_buf_add(out, is.p, is.n);
    cf_buf_adds(out, "' where the cache has '");
    cf_buf_add(out, cf_buf_cstr(&was), was.n);
    cf_buf_adds(out, "'.");
    if (m->n_state < m->n_kept) {
        size_t n = m->n_kept - m->n_state;
        cf_buf_addf(out, " Edit at %zu, state kept at %zu: %zu token%s again.", m->n_kept,
                    m->n_state, n, n == 1 ? "" : "s");
    }
    cf_buf_deinit(&was);
}
