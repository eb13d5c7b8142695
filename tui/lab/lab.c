/*
 * lab.c - the conversation in the workbench, and what is known of its replies.
 */
#include <stdio.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/os.h"
#include "core/base/utf8.h"
#include "storage/trace.h"
#include "tui/lab/lab_impl.h"
#include "tui/lab/saved.h"

/* Takes the place of what was in the workbench. */
static cf_status use_conversation(cf_lab *b, cf_conversation *conv,
                                  cf_error *err)
{
    cf_role_map roles;
    cf_role_map_init(&roles, b->engine.template_source);
    cf_conversation_set_roles(conv, &roles);
    cf_conversation_free(b->conv);
    b->conv = conv;
    b->prompt_is_fresh = false;
    return cf_lab__snapshot(b, err);
}

static cf_status fresh_conversation(cf_lab *b, cf_error *err)
{
    const cf_preface preface = {.tools = b->engine.tools};
    cf_conversation *conv;
    CF_TRY(cf_conversation_new(&conv, &preface, err));
    b->conv_id = cf_uuid_new();
    b->conv_is_stored = false;
    b->title[0] = '\0';
    return use_conversation(b, conv, err);
}

cf_status cf_lab_new(cf_lab **out, const cf_lab_engine *engine, cf_store *store,
                     cf_error *err)
{
    cf_lab *b = cf_calloc(1, sizeof *b);
    if (b == NULL) {
        return cf_oom(err);
    }
    b->engine = *engine;
    b->wake_fd = -1;
    b->first_name = engine->template_name;
    b->first_source = engine->template_source;
    b->store = store;
    cf_reply_settings_init(&b->settings);
    b->settings.chat.sampling = engine->sampling;
    b->settings.chat.has_sampling = engine->has_sampling;
    b->settings.chat.has_asked = true;
    b->settings.chat.asked = engine->asked;
    b->settings.chat.max_tokens = engine->max_tokens;
    cf_arena_init(&b->arena, 0);
    cf_arena_init(&b->prompt_arena, 0);
    b->vars = json_object();
    cf_lab__doctor_init(b);
    cf_status st =
        b->vars != NULL ? cf_tool_desk_init(&b->desk, err) : cf_oom(err);
    CF_THEN(st, cf_worker_new(&b->worker, err));
    CF_THEN(st, fresh_conversation(b, err));
    if (st != CF_OK) {
        cf_lab_free(b);
        return st;
    }
    *out = b;
    return CF_OK;
}

static void free_replies(cf_lab *b)
{
    for (size_t i = 0; i < b->n_replies; i++) {
        cf_lab__reply_clear(b->replies[i]);
        cf_free(b->replies[i]);
    }
    b->n_replies = 0;
}

void cf_lab_free(cf_lab *lab)
{
    if (lab == NULL) {
        return;
    }
    if (lab->task_is_on) {
        cf_lab_end_task(lab, lab->task.ud);
    }
    cf_worker_free(lab->worker, cf_lab__free_news);
    cf_lab__doctor_deinit(lab);
    if (lab->reading_is_on) {
        cf_lab_end_reading(lab, lab->reading.ud);
    }
    cf_worker_free(lab->reader, cf_lab__free_news);
    if (lab->job_is_on) {
        cf_lab__end_job(lab);
    }
    free_replies(lab);
    cf_free(lab->replies);
    cf_lab__reply_clear(&lab->growing);
    cf_buf_deinit(&lab->live.text);
    cf_buf_deinit(&lab->live.thinking);
    cf_buf_deinit(&lab->live.calls);
    cf_buf_deinit(&lab->draft);
    cf_prompt_model_deinit(&lab->prompt);
    cf_template_free(lab->own_tpl);
    cf_buf_deinit(&lab->own_source);
    cf_arena_deinit(&lab->arena);
    cf_arena_deinit(&lab->prompt_arena);
    cf_conversation_free(lab->conv);
    cf_lab__rule_drop(lab->rule);
    cf_constraint_vocab_free(lab->vocab);
    json_decref(lab->vars);
    json_decref(lab->own_tools);
    cf_tool_desk_deinit(&lab->desk);
    cf_free(lab->notes);
    cf_free(lab->ticked);
    cf_free(lab);
}

void cf_lab_wake_with(cf_lab *lab, int fd)
{
    lab->wake_fd = fd;
    cf_worker_wake_with(lab->worker, fd);
    lab->doctor.wake_fd = fd;
    if (lab->doctor.worker != NULL) {
        cf_worker_wake_with(lab->doctor.worker, fd);
    }
    if (lab->reader != NULL) {
        cf_worker_wake_with(lab->reader, fd);
    }
}

const cf_lab_engine *cf_lab_engine_of(const cf_lab *lab)
{
    return &lab->engine;
}

cf_reply_settings *cf_lab_settings(cf_lab *lab)
{
    return &lab->settings;
}

void cf_lab_prompt_stale(cf_lab *lab)
{
    lab->prompt_is_fresh = false;
}

cf_backend_info cf_lab_info(const cf_lab *lab)
{
    return cf_backend_get_info(lab->engine.backend);
}

/* ---- turns -------------------------------------------------------------- */

cf_status cf_lab__snapshot(cf_lab *b, cf_error *err)
{
    size_t n = cf_conversation_n_turns(b->conv);
    b->generation++;
    cf_arena_reset(&b->arena);
    b->n_path = b->n_turns = 0;
    b->path = NULL;
    b->turns = cf_arena_alloc(&b->arena, n * sizeof *b->turns);
    if (b->turns == NULL) {
        return cf_oom_for(err, "the turns");
    }
    for (size_t i = 0; i < n; i++) {
        b->turns[b->n_turns++] = cf_conversation_turn(b->conv, i);
    }
    cf_uuid head = cf_conversation_head(b->conv);
    if (cf_uuid_is_nil(head)) {
        return CF_OK;
    }
    return cf_conversation_path(b->conv, head, &b->arena, &b->path, &b->n_path,
                                err);
}

bool cf_lab_is_busy(const cf_lab *lab)
{
    return lab->job_is_on;
}

const cf_live *cf_lab_live(const cf_lab *lab)
{
    return &lab->live;
}

const cf_turn *const *cf_lab_path(const cf_lab *lab, size_t *n)
{
    *n = lab->n_path;
    return lab->path;
}

const cf_turn *const *cf_lab_turns(const cf_lab *lab, size_t *n)
{
    *n = lab->n_turns;
    return lab->turns;
}

uint64_t cf_lab_generation(const cf_lab *lab)
{
    return lab->generation;
}

const cf_tool_set *cf_lab_tools(const cf_lab *lab)
{
    return cf_conversation_tools(lab->conv);
}

size_t cf_lab_siblings(const cf_lab *lab, const cf_turn *turn, size_t *index)
{
    size_t n = 0;
    *index = 0;
    for (size_t i = 0; i < lab->n_turns; i++) {
        if (cf_uuid_eq(lab->turns[i]->parent, turn->parent)) {
            if (lab->turns[i] == turn) {
                *index = n;
            }
            n++;
        }
    }
    return n;
}

const cf_turn *cf_lab_sibling(const cf_lab *lab, const cf_turn *turn, int by)
{
    size_t index;
    size_t n = cf_lab_siblings(lab, turn, &index);
    if ((by < 0 && index == 0) || (by > 0 && index + 1 >= n)) {
        return NULL;
    }
    size_t want = by < 0 ? index - 1 : index + 1;
    size_t seen = 0;
    for (size_t i = 0; i < lab->n_turns; i++) {
        if (cf_uuid_eq(lab->turns[i]->parent, turn->parent) && seen++ == want) {
            return lab->turns[i];
        }
    }
    return NULL;
}

cf_uuid cf_lab_conv_id(const cf_lab *lab)
{
    return lab->conv_id;
}

const char *cf_lab_title(const cf_lab *lab)
{
    return lab->title;
}

void cf_lab_new_conv(cf_lab *lab)
{
    cf_error err;
    if (!lab->job_is_on && fresh_conversation(lab, &err) == CF_OK) {
        free_replies(lab);
        lab->n_notes = 0;
    }
}

/* The newest turn below (or at) `from`: where a path that passes it ends. */
static cf_uuid newest_leaf(const cf_lab *b, cf_uuid from)
{
    for (;;) {
        cf_uuid next = {{0}};
        for (size_t i = 0; i < b->n_turns; i++) {
            if (cf_uuid_eq(b->turns[i]->parent, from)) {
                next = b->turns[i]->id;
            }
        }
        if (cf_uuid_is_nil(next)) {
            return from;
        }
        from = next;
    }
}

cf_status cf_lab_set_head(cf_lab *lab, cf_uuid turn, cf_error *err)
{
    if (lab->job_is_on) {
        return cf_fail(err, CF_EBUSY, "a reply is being written; Esc stops it");
    }
    cf_uuid leaf = newest_leaf(lab, turn);
    CF_TRY(cf_conversation_set_head(lab->conv, leaf, err));
    lab->prompt_is_fresh = false;
    if (lab->store != NULL && lab->conv_is_stored &&
        cf_store_set_head(lab->store, leaf, NULL) != CF_OK) {
        /* The next start shows another path: no loss. */
    }
    return cf_lab__snapshot(lab, err);
}

/* ---- replies ------------------------------------------------------------ */

void cf_lab__reply_clear(cf_reply *reply)
{
    for (size_t i = 0; i < reply->n_token; i++) {
        cf_free(reply->token[i].draw);
        cf_free(reply->token[i].top);
    }
    cf_free(reply->token);
    cf_free(reply->prompt_ids);
    cf_lab__rule_drop(reply->rule);
    cf_buf_deinit(&reply->raw);
    cf_buf_deinit(&reply->chunks);
    *reply = (cf_reply){0};
}

cf_reply *cf_lab__reply_of(cf_lab *b, cf_uuid turn, bool make)
{
    for (size_t i = 0; i < b->n_replies; i++) {
        if (cf_uuid_eq(b->replies[i]->turn, turn)) {
            return b->replies[i];
        }
    }
    if (!make) {
        return NULL;
    }
    if (b->n_replies == b->cap_replies) {
        size_t cap = b->cap_replies != 0 ? b->cap_replies * 2 : 16;
        cf_reply **v = cf_realloc(b->replies, cap, sizeof *v);
        if (v == NULL) {
            return NULL;
        }
        b->replies = v;
        b->cap_replies = cap;
    }
    cf_reply *reply = cf_calloc(1, sizeof *reply);
    if (reply != NULL) {
        reply->turn = turn;
        b->replies[b->n_replies++] = reply;
    }
    return reply;
}

static bool add_stored_token(cf_reply *r, cf_token id, const cf_draw *draw)
{
    if (r->n_token == r->cap_token) {
        size_t cap = r->cap_token != 0 ? r->cap_token * 2 : 64;
        cf_reply_token *v = cf_realloc(r->token, cap, sizeof *v);
        if (v == NULL) {
            return false;
        }
        r->token = v;
        r->cap_token = cap;
    }
    cf_reply_token t = {.id = id, .p = -1};
    if (draw != NULL) {
        t.draw = cf_alloc(sizeof *draw);
        if (t.draw == NULL) {
            return false;
        }
        *t.draw = *draw;
        t.p = draw->chosen.p_post;
    }
    r->token[r->n_token++] = t;
    return true;
}

/* Which tokens were given or forced, and which the constraint took. */
static void mark_tokens(cf_reply *r, const cf_store_run *run)
{
    cf_arena arena;
    cf_run_options o;
    cf_arena_init(&arena, 0);
    if (cf_run_options_read(&o, run->options, &arena, NULL) == CF_OK) {
        r->n_start = o.n_start < r->n_token ? o.n_start : r->n_token;
        r->start_content = o.start_content;
        for (size_t i = 0; i < r->n_start; i++) {
            r->token[i].is_forced = true;
        }
        for (size_t i = 0; i < o.n_forced; i++) {
            if (o.forced[i] < r->n_token) {
                r->token[o.forced[i]].is_forced = true;
            }
        }
        for (size_t i = 0; i + 1 < o.n_held; i += 2) {
            for (size_t t = o.held[i]; t < o.held[i + 1] && t < r->n_token;
                 t++) {
                r->token[t].is_held = true;
            }
        }
    }
    cf_arena_deinit(&arena);
}

static void copy_prompt(cf_reply *r, const cf_store_run *run)
{
    r->prompt_ids = cf_calloc(run->n_prompt_ids + 1, sizeof *r->prompt_ids);
    if (r->prompt_ids != NULL && run->n_prompt_ids != 0) {
        memcpy(r->prompt_ids, run->prompt_ids,
               run->n_prompt_ids * sizeof *r->prompt_ids);
        r->n_prompt_ids = run->n_prompt_ids;
    }
}

/* The names of a draw's steps from the reader's to the reply's own. */
static void own_names(cf_draw *draw, const cf_trace_reader *reader,
                      cf_trace_writer *own)
{
    *own = reader->names;
    for (size_t i = 0; i < draw->n_step; i++) {
        size_t at = (size_t)(draw->step[i].name - reader->names.names[0]);
        draw->step[i].name = own->names[at / CF_TRACE_NAME];
    }
}

/* Reads a reply's run from the store: raw bytes, tokens, candidates. */
static void fill_from_run(const cf_lab *b, cf_reply *r, const cf_store_run *run)
{
    cf_buf_add(&r->raw, run->raw.p, run->raw.n);
    for (size_t i = 0; i < run->n_chunks; i++) {
        uint32_t n = (uint32_t)run->chunks[i];
        cf_buf_add(&r->chunks, &n, sizeof n);
    }
    cf_trace_reader reader;
    cf_trace_open(&reader, run->trace);
    uint32_t off = 0;
    cf_token id = CF_TOKEN_NONE;
    bool has_record = false, has_draw = false;
    cf_draw draw;
    for (size_t i = 0; i < run->n_reply_ids; i++) {
        /* Tokens that were given or forced may have no record. */
        if (!has_record) {
            has_record = cf_trace_next(&reader, &id, &has_draw, &draw);
            if (has_record && has_draw) {
                own_names(&draw, &reader, &r->steps);
            }
        }
        bool is_its = has_record && id == run->reply_ids[i];
        if (!add_stored_token(r, run->reply_ids[i],
                              is_its && has_draw ? &draw : NULL)) {
            return;
        }
        has_record = has_record && !is_its;
        r->token[i].raw_off = off;
        if (b->engine.tokenizer != NULL) {
            cf_buf piece = CF_BUF_INIT;
            cf_tokenizer_piece(&piece, b->engine.tokenizer, run->reply_ids[i],
                               true);
            off += (uint32_t)piece.n;
            cf_buf_deinit(&piece);
        }
    }
    mark_tokens(r, run);
    copy_prompt(r, run);
    r->rule = cf_lab__rule_stored(run);
    r->usage.is_known = run->n_reply >= 0;
    r->usage.n_prompt = run->n_prompt > 0 ? (uint64_t)run->n_prompt : 0;
    r->usage.n_reply = run->n_reply > 0 ? (uint64_t)run->n_reply : 0;
    r->sync.n_kept = run->n_kept > 0 ? (size_t)run->n_kept : 0;
    r->sync.n_new = run->n_new > 0 ? (size_t)run->n_new : 0;
    r->timings.prefill_us = run->prefill_us > 0 ? (uint64_t)run->prefill_us : 0;
    r->timings.first_us = run->first_us > 0 ? (uint64_t)run->first_us : 0;
    r->timings.decode_us = run->decode_us > 0 ? (uint64_t)run->decode_us : 0;
    r->timings.n_decode = (uint32_t)r->usage.n_reply;
    r->timings.n_prefill = (uint32_t)r->sync.n_new;
    snprintf(r->stop.what, sizeof r->stop.what, "%.*s",
             (int)(run->stop_reason.n < 63 ? run->stop_reason.n : 63),
             run->stop_reason.n != 0 ? run->stop_reason.p : "");
    if (run->error.n != 0) {
        r->stop.reason = CF_STOP_ERROR;
        cf_fail(&r->stop.err, CF_EIO, "%.*s",
                (int)(run->error.n < CF_ERROR_TEXT_MAX ? run->error.n
                                                       : CF_ERROR_TEXT_MAX),
                run->error.p);
    }
}

const cf_reply *cf_lab_reply(cf_lab *lab, cf_uuid turn)
{
    cf_reply *r = cf_lab__reply_of(lab, turn, false);
    if (r != NULL || lab->store == NULL) {
        return r;
    }
    cf_arena arena;
    cf_store_turn stored;
    cf_arena_init(&arena, 0);
    if (cf_store_get_turn(lab->store, turn, &arena, &stored, NULL) == CF_OK &&
        stored.run != NULL) {
        r = cf_lab__reply_of(lab, turn, true);
        if (r != NULL) {
            fill_from_run(lab, r, stored.run);
        }
    }
    cf_arena_deinit(&arena);
    return r;
}

/* ---- saved conversations ------------------------------------------------ */

cf_status cf_lab_open_conv(cf_lab *lab, cf_uuid conv, cf_uuid turn,
                           cf_error *err)
{
    if (lab->job_is_on) {
        return cf_fail(err, CF_EBUSY, "a reply is being written; Esc stops it");
    }
    if (lab->store == NULL) {
        return cf_fail(err, CF_ENOTFOUND, "history is off");
    }
    const cf_saved_choice choice = {
        .conversation = conv, .turn = turn, .has_raw = true};
    cf_conversation *loaded = NULL;
    cf_store_conv about;
    cf_arena arena;
    cf_arena_init(&arena, 0);
    cf_status st =
        cf_saved_load(&loaded, &about, lab->store, &choice, &arena, err);
    if (st == CF_OK) {
        free_replies(lab);
        lab->n_notes = 0;
        lab->conv_id = conv;
        lab->conv_is_stored = true;
        cf_utf8_copy(lab->title, sizeof lab->title, about.title);
        st = use_conversation(lab, loaded, err);
    }
    cf_arena_deinit(&arena);
    return st;
}

/* ---- marks and texts ---------------------------------------------------- */

void cf_lab_mark(cf_lab *lab, int which, cf_uuid conv)
{
    lab->mark[which] = conv;
}

char cf_lab_mark_of(const cf_lab *lab, cf_uuid conv)
{
    return cf_uuid_eq(lab->mark[0], conv)   ? 'A'
           : cf_uuid_eq(lab->mark[1], conv) ? 'B'
                                            : ' ';
}

static void add_calls(cf_buf *out, const json_t *calls)
{
    for (size_t i = 0; i < json_array_size(calls); i++) {
        const json_t *f = json_object_get(json_array_get(calls, i), "function");
        cf_str name = cf_json_get_str(f, "name");
        const json_t *args = json_object_get(f, "arguments");
        cf_buf_adds(out, out->n != 0 ? "\n[call] " : "[call] ");
        cf_buf_add(out, name.p, name.n);
        cf_buf_addc(out, '(');
        if (json_is_string(args)) {
            cf_str text = cf_json_get_str(f, "arguments");
            cf_buf_add(out, text.p, text.n);
        } else if (args != NULL) {
            cf_json_write(out, args);
        }
        cf_buf_addc(out, ')');
    }
}

void cf_lab_message_text(cf_buf *out, const json_t *message)
{
    const json_t *content = json_object_get(message, "content");
    if (json_is_string(content)) {
        cf_str text = cf_json_get_str(message, "content");
        cf_buf_add(out, text.p, text.n);
    }
    for (size_t i = 0; i < json_array_size(content); i++) {
        const json_t *part = json_array_get(content, i);
        cf_str text = cf_json_get_str(part, "text");
        cf_str type = cf_json_get_str(part, "type");
        if (text.n != 0) {
            cf_buf_add(out, text.p, text.n);
        } else {
            if (cf_str_is(type, "image_url")) {
                type = cf_str_from("image");
            }
            bool needs_space = out->n != 0 && out->p[out->n - 1] > ' ';
            cf_buf_addf(out, "%s[%.*s]", needs_space ? " " : "", (int)type.n,
                        type.n != 0 ? type.p : "");
        }
    }
    add_calls(out, json_object_get(message, "tool_calls"));
}

void cf_lab_plain_text(cf_buf *out, cf_str message_json)
{
    json_t *message;
    if (cf_json_read(&message, message_json.p, message_json.n, NULL) == CF_OK) {
        cf_lab_message_text(out, message);
        json_decref(message);
    }
}
