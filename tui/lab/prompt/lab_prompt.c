/*
 * lab_prompt.c - the prompt of the path and the draft, rendered and
 * tokenised as a send would do it, sending nothing.
 */
#include <stdio.h>
#include <string.h>

#include "core/api/attachment.h"
#include "core/base/alloc.h"
#include "core/base/utf8.h"
#include "tui/lab/state/lab_impl.h"

enum {
    STATES_MAX = 1024, /* more are not marked */
    PREFILL_LEAST = 16 /* tokens; fewer tell nothing of the speed */
};

void cf_lab_set_draft(cf_lab *lab, cf_str draft)
{
    if (cf_str_eq(draft, cf_buf_str(&lab->draft))) {
        return;
    }
    cf_buf_restart(&lab->draft);
    cf_buf_add(&lab->draft, draft.p, draft.n);
    lab->prompt_is_fresh = false;
}

static bool has_parts(const cf_lab *lab, json_t *const *parts, size_t n)
{
    if (json_array_size(lab->draft_parts) != n) {
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        if (json_array_get(lab->draft_parts, i) != parts[i]) {
            return false;
        }
    }
    return true;
}

void cf_lab_set_draft_parts(cf_lab *lab, json_t *const *parts, size_t n)
{
    if (has_parts(lab, parts, n)) {
        return;
    }
    json_decref(lab->draft_parts);
    lab->draft_parts = n > 0 ? json_array() : NULL;
    for (size_t i = 0; i < n; i++) {
        (void)json_array_append(lab->draft_parts, parts[i]);
    }
    lab->prompt_is_fresh = false;
}

size_t cf_lab_draft_parts_size(const cf_lab *lab)
{
    size_t n = 0;
    for (size_t i = 0; i < json_array_size(lab->draft_parts); i++) {
        cf_attachment a;
        n += cf_attachment_read(&a, json_array_get(lab->draft_parts, i)) ? a.base64.n : 0;
        cf_attachment_deinit(&a);
    }
    return n;
}

/* The text, and after it the parts, as a send makes a message of them. */
static cf_status make_draft(cf_lab *lab, cf_error *err)
{
    json_decref(lab->draft_message);
    lab->draft_message = NULL;
    CF_TRY(cf_buf_check(&lab->draft, err));
    size_t n = json_array_size(lab->draft_parts);
    if (lab->draft.n == 0 && n == 0) {
        return CF_OK;
    }
    const char *text = lab->draft.n != 0 ? cf_buf_cstr(&lab->draft) : "";
    json_t *words = json_stringn(text, lab->draft.n);
    if (words == NULL) {
        return cf_fail(err, CF_EFORMAT, "the draft is not UTF-8");
    }
    json_t *content = words;
    if (n > 0) {
        content = json_pack("[{s:s,s:o}]", "type", "text", "text", words);
        if (json_array_extend(content, lab->draft_parts) != 0) {
            json_decref(content);
            return cf_oom_for(err, "the draft");
        }
    }
    lab->draft_message = json_pack("{s:s,s:o}", "role", "user", "content", content);
    return lab->draft_message != NULL ? CF_OK : cf_oom_for(err, "the draft");
}

cf_str cf_lab_draft(const cf_lab *lab)
{
    return cf_buf_str(&lab->draft);
}

void cf_lab_prompt_stale(cf_lab *lab)
{
    lab->prompt_is_fresh = false;
    lab->losses_are_fresh = false;
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
    char *line = cf_arena_strndup(&lab->loss_arena, text, strlen(text));
    if (line != NULL && cf_grow(&lab->loss, &lab->cap_loss, lab->n_loss + 1, sizeof *lab->loss)) {
        lab->loss[lab->n_loss++] = (cf_lab_loss){loss->kind, loss->index, cf_str_from(line)};
    }
}

/* The Prompt view shows why a prompt cannot be made: then there are no losses.
 * Without memory they are looked for again with the next frame. */
static void find_losses(cf_lab *lab)
{
    cf_arena arena;
    cf_prompt prompt;
    cf_error ignored;
    cf_turn_options options = cf_lab__options(lab);
    const cf_send send = {.options = &options};
    cf_arena_init(&arena, 0);
    if (cf_conversation_preview(lab->conv, lab->engine.backend, &send, &arena, &prompt, NULL,
                                &ignored) == CF_OK) {
        lab->losses_are_fresh =
            cf_conversation_losses(lab->conv, &send, &prompt, add_loss, lab, &ignored) != CF_ENOMEM;
    }
    cf_arena_deinit(&arena);
}

const cf_lab_loss *cf_lab_losses(cf_lab *lab, size_t *n)
{
    bool is_fresh = lab->losses_are_fresh && lab->loss_generation == lab->generation;
    if (!is_fresh && !lab->job_is_on) {
        lab->losses_are_fresh = true;
        lab->loss_generation = lab->generation;
        lab->n_loss = 0;
        cf_arena_reset(&lab->loss_arena);
        if (lab->n_path > 0 && cf_lab_info(lab).shows_prompt) {
            find_losses(lab);
        }
    }
    *n = lab->n_loss;
    return lab->loss;
}

/* Notes the messages of which nothing is in the prompt. */
static cf_status mark_lost(cf_lab *lab, cf_error *err)
{
    size_t n;
    const cf_lab_loss *v = cf_lab_losses(lab, &n);
    for (size_t i = 0; i < n; i++) {
        if (v[i].kind == CF_LOSS_MESSAGE || v[i].kind == CF_LOSS_RESULT) {
            CF_TRY(cf_prompt_model_mark_lost(&lab->prompt, v[i].index, err));
        }
    }
    return CF_OK;
}

static cf_status render(cf_lab *lab, cf_error *err)
{
    cf_prompt prompt;
    cf_token_list tokens = {0};
    cf_turn_options options = cf_lab__options(lab);
    CF_TRY(make_draft(lab, err));
    cf_send send = {.message = lab->draft_message, .options = &options};
    bool shows_tokens = lab->engine.tokenizer != NULL;
    cf_arena_reset(&lab->prompt_arena);
    cf_status st =
        cf_conversation_preview(lab->conv, lab->engine.backend, &send, &lab->prompt_arena, &prompt,
                                shows_tokens ? &tokens : NULL, err);
    if (st != CF_OK) {
        return st;
    }
    size_t n_cache = 0;
    const cf_token *cache = cf_backend_cache(lab->engine.backend, &n_cache);
    CF_TRY(cf_prompt_model_build(&lab->prompt, &prompt, &tokens, cache, n_cache, err));
    if (cf_lab__cache_is_other(lab)) {
        cf_prompt_model_mark_other(&lab->prompt);
    }
    uint32_t pos[STATES_MAX];
    size_t n = cf_backend_checkpoints(lab->engine.backend, pos, STATES_MAX);
    cf_prompt_model_mark_states(&lab->prompt, pos, n < STATES_MAX ? n : STATES_MAX);
    if (shows_tokens) {
        cf_prompt_model_mark_specials(&lab->prompt, lab->engine.tokenizer);
    }
    return mark_lost(lab, err);
}

cf_status cf_lab_preview(cf_lab *lab, cf_uuid leaf, const json_t *messages, cf_arena *arena,
                         cf_prompt *out, cf_error *err)
{
    if (lab->job_is_on) {
        return cf_fail(err, CF_EBUSY, "a reply is being written; Esc stops it");
    }
    cf_turn_options options = cf_lab__options(lab);
    const cf_send send = {
        .message = messages, .options = &options, .has_parent = true, .parent = leaf};
    return cf_conversation_preview(lab->conv, lab->engine.backend, &send, arena, out, NULL, err);
}

cf_prompt_model *cf_lab_prompt(cf_lab *lab)
{
    if (!lab->job_is_on && !lab->prompt_is_fresh) {
        lab->prompt_err = (cf_error){0};
        lab->prompt_is_fresh = true;
        lab->prompt_is_shown = false;
        cf_prompt_model_deinit(&lab->prompt);
        cf_media_sheet_deinit(&lab->sheet);
        if (lab->n_path == 0 && lab->draft.n == 0 && !lab->draft.failed &&
            lab->draft_parts == NULL) {
            cf_fail(&lab->prompt_err, CF_ENOTFOUND,
                    "nothing is said yet: write a message first (i)");
        } else if (cf_lab_prompt_is_asked(lab)) {
            cf_fail(&lab->prompt_err, CF_EBUSY,
                    "the server writes the prompt: r in this view asks it");
        } else if (render(lab, &lab->prompt_err) == CF_OK) {
            lab->prompt_is_shown = true;
        }
    }
    return lab->prompt_is_shown ? &lab->prompt : NULL;
}

static const json_t *message_of(const void *ud, size_t i)
{
    const cf_lab *lab = ud;
    return i < lab->n_source    ? lab->source[i].message
           : i == lab->n_source ? lab->draft_message
                                : NULL;
}

const cf_media_sheet *cf_lab_media(cf_lab *lab, size_t token, cf_error *err)
{
    const cf_prompt_model *m = cf_lab_prompt(lab);
    cf_media_sheet *s = &lab->sheet;
    if (s->n > 0 && token >= s->first && token - s->first < s->n) {
        return s;
    }
    cf_media_cache *cache = cf_backend_core_media(lab->engine.backend);
    if (m == NULL || cache == NULL || lab->job_is_on) {
        cf_fail(err, CF_EBUSY, "it is shown when the reply is complete");
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

/* The roles of the prompt's messages, as messages; a draft comes last. */
static json_t *roles_of(const cf_lab *lab)
{
    size_t n = cf_lab_n_messages(lab);
    json_t *list = json_array();
    for (size_t i = 0; i <= n; i++) {
        const char *role = i < n ? cf_lab_message_role(lab, i) : "draft";
        if (json_array_append_new(list, json_pack("{s:s}", "role", role)) != 0) {
            json_decref(list);
            return NULL;
        }
    }
    return list;
}

static json_t *tools_of(const cf_lab *lab)
{
    size_t n = 0;
    const cf_tool *tool = cf_tool_set_items(cf_lab_tools(lab), &n);
    json_t *list = json_array();
    for (size_t i = 0; i < n; i++) {
        if (json_array_append(list, cf_json_ref(tool[i].raw)) != 0) {
            json_decref(list);
            return NULL;
        }
    }
    return list;
}

cf_status cf_lab_ledger(const cf_lab *lab, const cf_prompt_model *prompt, cf_arena *arena,
                        cf_ledger *out, cf_error *err)
{
    json_t *messages = roles_of(lab);
    json_t *tools = tools_of(lab);
    cf_status st = messages == NULL || tools == NULL
                       ? cf_oom_for(err, "the ledger")
                       : cf_ledger_make(out, &prompt->prompt, prompt->ids, prompt->n, messages,
                                        tools, cf_lab_engine_of(lab)->template_source, arena, err);
    json_decref(messages);
    json_decref(tools);
    return st;
}

void cf_lab_prompt_error(const cf_lab *lab, cf_error *err)
{
    *err = lab->prompt_err;
    if (lab->job_is_on) {
        cf_fail(err, CF_EBUSY, "the prompt is shown again when the reply is complete");
    }
}

size_t cf_lab_n_messages(const cf_lab *lab)
{
    return lab->n_source;
}

size_t cf_lab_message_of(const cf_lab *lab, size_t turn)
{
    for (size_t i = 0; turn < lab->n_path && i < lab->n_source; i++) {
        if (lab->source[i].turn == lab->path[turn]) {
            return i;
        }
    }
    return turn < lab->n_path ? SIZE_MAX : lab->n_source;
}

size_t cf_lab_number_of(const cf_lab *lab, size_t message)
{
    size_t n = cf_lab_message_of(lab, 0);
    return message < n ? 0 : message - n + 1;
}

void cf_lab_name_turn(const cf_lab *lab, size_t message, char *text, size_t cap)
{
    char name[32], turn[32] = "the system prompt";
    int n = snprintf(name, sizeof name, "message %zu", message + 1);
    size_t number = cf_lab_number_of(lab, message);
    char *at = strstr(text, name);
    cf_buf out = CF_BUF_INIT;
    if (at == NULL || (at[n] >= '0' && at[n] <= '9')) {
        return;
    }
    if (number > 0) {
        snprintf(turn, sizeof turn, "turn %zu", number);
    }
    cf_buf_add(&out, text, (size_t)(at - text));
    cf_buf_adds(&out, turn);
    cf_buf_adds(&out, at + n);
    cf_utf8_copy(text, cap, cf_buf_str(&out));
    cf_buf_deinit(&out);
}

const char *cf_lab_message_role(const cf_lab *lab, size_t message)
{
    if (message >= lab->n_source) {
        return "draft";
    }
    const json_t *role = json_object_get(lab->source[message].message, "role");
    return json_is_string(role) ? json_string_value(role) : "?";
}

bool cf_lab_is_control(const cf_lab *lab, cf_token id)
{
    return lab->engine.tokenizer != NULL &&
           cf_tokenizer_type(lab->engine.tokenizer, id) == CF_TOKEN_CONTROL;
}

void cf_lab_break_cause(cf_lab *lab, cf_buf *out)
{
    const cf_prompt_model *m = &lab->prompt;
    if (!lab->prompt_is_shown || !m->has_break || m->prompt.n_spans == 0) {
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

cf_status cf_lab_set_var(cf_lab *lab, const char *text, cf_error *err)
{
    const char *eq = strchr(text, '=');
    if (lab->job_is_on) {
        return cf_fail(err, CF_EBUSY, "a reply is being written; Esc stops it");
    }
    if (eq == NULL || eq == text) {
        return cf_fail(err, CF_EINVAL, "a variable is set as NAME=JSON");
    }
    char name[64];
    snprintf(name, sizeof name, "%.*s", (int)(eq - text < 63 ? eq - text : 63), text);
    cf_lab_prompt_stale(lab);
    if (eq[1] == '\0') {
        json_object_del(lab->vars, name);
        return CF_OK;
    }
    json_t *value;
    CF_TRY(cf_json_read(&value, eq + 1, strlen(eq + 1), err));
    if (json_object_set_new(lab->vars, name, value) != 0) {
        return cf_oom(err);
    }
    return CF_OK;
}

const json_t *cf_lab_vars(const cf_lab *lab)
{
    return lab->vars;
}
