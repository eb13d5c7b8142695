/*
 * record_store.c - turns a record into turns and an exchange.
 *
 * A request belongs to the conversation with the longest common beginning of
 * messages, system messages left out, so that a changed system message is
 * another branch and not another conversation.  A session that the request
 * names keeps to itself; without one the common beginning must have a reply, or
 * be all of the request, since an agent's sessions begin alike.  Within it the new messages
 * follow the turn that ends the longest common beginning of all messages.
 */
#include <stdio.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/hash.h"
#include "core/json/json_builder.h"
#include "core/json/json_writer.h"
#include "tui/lab/watch/live_file.h"
#include "tui/serve/record/path_key.h"
#include "tui/serve/record/record_impl.h"
#include "tui/serve/record/request_name.h"

enum {
    BEFORE_MAX = 16,     /* exchanges looked through for the former one */
    DECODE_US_MIN = 5000 /* less is an answer that came in one piece */
};

static cf_str str(const char *s)
{
    return cf_str_from(s);
}

static void note(cf_record *x, const char *what, const cf_error *err)
{
    snprintf(x->kept.note, sizeof x->kept.note, "%s: %.150s", what, err->text);
}

/* ---- the request -------------------------------------------------------- */

/* The messages of a request on their way into a conversation. */
typedef struct place {
    const cf_wire_request *request;
    cf_path_key *keys; /* [n] of the path up to each message */
    size_t n;
    cf_uuid conversation;
    cf_uuid parent; /* the turn that the first new message follows; nil */
    size_t n_known; /* messages that are turns already */
    bool is_new, has_keys;
    char session[CF_SESSION_NAME_MAX]; /* "": the request names none */
    /* What is to be stored: new messages, and room for the replies. */
    cf_store_tree tree;
    cf_store_turn *turns; /* [n - n_known + CF_WIRE_CHOICES_MAX] */
    cf_exchange_key *key; /* [n_keys], room for 2 * n + 2 */
    size_t n_keys;
    cf_arena arena;
} place;

static cf_status make_keys(place *p, cf_error *err)
{
    cf_path_key key;
    p->n = json_array_size(p->request->messages);
    p->keys = cf_arena_calloc(&p->arena, p->n + 1, sizeof *p->keys);
    if (p->keys == NULL) {
        return cf_oom(err);
    }
    cf_path_key_init(&key, p->session);
    for (size_t i = 0; i < p->n; i++) {
        CF_TRY(cf_path_key_add(&key, json_array_get(p->request->messages, i), err));
        p->keys[i] = key;
    }
    p->has_keys = true;
    return CF_OK;
}

/* Finds the longest beginning of the request that is in the history, by one
 * kind of hash. */
static cf_status look_up(const place *p, cf_store *store, bool is_talk, size_t *at,
                         cf_store_ref *where, cf_arena *a, cf_error *err)
{
    cf_str *hashes = cf_arena_calloc(a, p->n + 1, sizeof *hashes);
    size_t first = 0;
    if (hashes == NULL) {
        return cf_oom(err);
    }
    while (first < p->n && p->keys[first].n_talk == 0) {
        first++; /* system messages alone are no conversation */
    }
    for (size_t i = first; i < p->n; i++) {
        hashes[i - first] = str(is_talk ? p->keys[i].talk : p->keys[i].all);
    }
    CF_TRY(cf_store_find_key(store, hashes, p->n - first, at, where, err));
    *at += first;
    return CF_OK;
}

/* A request that names the response it goes on from. */
static cf_status find_previous(place *p, cf_store *store, cf_error *err)
{
    const cf_exchange *rows;
    size_t n;
    const cf_exchange_query q = {.response_id = str(p->request->previous), .limit = 1};
    CF_TRY(cf_store_exchanges(store, &q, &p->arena, &rows, &n, err));
    if (n == 1 && !cf_uuid_is_nil(rows[0].conversation)) {
        p->conversation = rows[0].conversation;
        p->parent = rows[0].turn;
        p->is_new = false;
        p->has_keys = false; /* its earlier messages are not in the request */
    }
    return CF_OK;
}

/* Whether messages [0..at] say which conversation it is: the model has spoken,
 * or there are no others. */
static bool is_telling(const place *p, size_t at)
{
    for (size_t i = 0; i <= at && i < p->n; i++) {
        cf_str role = cf_json_get_str(json_array_get(p->request->messages, i), "role");
        if (cf_str_is(role, "assistant") || cf_str_is(role, "tool")) {
            return true;
        }
    }
    return at + 1 >= p->n;
}

static cf_status find_place(place *p, cf_store *store, cf_error *err)
{
    size_t at, talk_at;
    cf_store_ref all = {0}, talk = {0};
    CF_TRY(make_keys(p, err));
    p->is_new = true;
    p->conversation = cf_uuid_new();
    if (p->request->previous[0] != '\0') {
        return find_previous(p, store, err);
    }
    CF_TRY(look_up(p, store, true, &talk_at, &talk, &p->arena, err));
    if (talk_at == p->n || (p->session[0] == '\0' && !is_telling(p, talk_at))) {
        return CF_OK;
    }
    p->is_new = false;
    p->conversation = talk.conversation;
    CF_TRY(look_up(p, store, false, &at, &all, &p->arena, err));
    if (at < p->n && cf_uuid_eq(all.conversation, talk.conversation)) {
        p->parent = all.turn;
        p->n_known = at + 1;
    }
    return CF_OK;
}

static cf_str json_text(cf_arena *a, const json_t *v)
{
    cf_buf b = CF_BUF_INIT;
    cf_json_write(&b, v);
    cf_str text = {cf_arena_strndup(a, cf_buf_cstr(&b), b.n), b.n};
    a->failed = a->failed || b.failed;
    cf_buf_deinit(&b);
    return text;
}

static cf_str preface_text(cf_arena *a, const cf_wire_request *w)
{
    cf_str text = {NULL, 0};
    cf_jb b = CF_JB_INIT;
    cf_jb_object(&b, NULL);
    if (w->tools != NULL) {
        cf_jb_add(&b, "tools", w->tools);
    }
    if (w->variables != NULL) {
        cf_jb_add(&b, "extra_context", w->variables);
    }
    cf_jb_end(&b);
    json_t *v = cf_jb_done(&b);
    a->failed = a->failed || v == NULL;
    if (json_object_size(v) > 0) {
        text = json_text(a, v);
    }
    json_decref(v);
    return text;
}

/* Where a conversation comes from: {"from":"traffic","session":..,"parent":..}. */
static cf_str source_text(place *p, const cf_record *x)
{
    char parent[CF_SESSION_NAME_MAX];
    cf_buf b = CF_BUF_INIT;
    cf_jw w;
    cf_session_parent(parent, cf_buf_str(&x->request_headers));
    cf_jw_init(&w, &b);
    cf_jw_object(&w, NULL);
    cf_jw_text(&w, "from", "traffic");
    if (p->session[0] != '\0') {
        cf_jw_text(&w, "session", p->session);
    }
    if (parent[0] != '\0') {
        cf_jw_text(&w, "parent", parent);
    }
    cf_jw_end(&w);
    cf_str text = {cf_arena_strndup(&p->arena, cf_buf_cstr(&b), b.n), b.n};
    p->arena.failed = p->arena.failed || b.failed;
    cf_buf_deinit(&b);
    return text;
}

/* The new messages as turns, each after the one before. */
static cf_status make_turns(place *p, const cf_record *x, cf_error *err)
{
    static const cf_str tag = {"traffic", 7};
    size_t n_new = p->n - p->n_known;
    p->turns = cf_arena_calloc(&p->arena, n_new + CF_WIRE_CHOICES_MAX, sizeof *p->turns);
    p->key = cf_arena_calloc(&p->arena, 2 * p->n + 2, sizeof *p->key);
    if (p->turns == NULL || p->key == NULL) {
        p->turns = NULL;
        p->key = NULL;
        return cf_oom(err);
    }
    cf_uuid parent = p->parent;
    for (size_t i = 0; i < n_new; i++) {
        size_t m = p->n_known + i;
        p->turns[i] = (cf_store_turn){
            .id = cf_uuid_new(),
            .parent = parent,
            .message = json_text(&p->arena, json_array_get(p->request->messages, m)),
            .status = CF_TURN_OK,
            .fork_token = -1,
            .created_ms = x->started_ms,
            .finished_ms = x->started_ms};
        parent = p->turns[i].id;
        if (p->has_keys && p->keys[m].n_talk > 0) {
            p->key[p->n_keys++] = (cf_exchange_key){str(p->keys[m].all), parent};
            p->key[p->n_keys++] = (cf_exchange_key){str(p->keys[m].talk), parent};
        }
    }
    cf_buf words = CF_BUF_INIT;
    if (p->is_new) {
        cf_person_text(&words, p->request->messages);
    }
    cf_str title = {cf_arena_strndup(&p->arena, cf_buf_cstr(&words), words.n), words.n};
    cf_buf_deinit(&words);
    p->tree = (cf_store_tree){.conv = {.id = p->conversation,
                                       .title = title,
                                       .head = parent,
                                       .created_ms = x->started_ms,
                                       .preface = preface_text(&p->arena, p->request),
                                       .source = source_text(p, x),
                                       .tags = &tag,
                                       .n_tags = 1},
                              .turns = p->turns,
                              .n = n_new};
    p->parent = parent;
    return p->arena.failed ? cf_oom(err) : CF_OK;
}

/* Finds the request's conversation and makes turns of its new messages. */
static cf_status place_messages(const cf_recorder_options *o, cf_record *x, place *p, cf_error *err)
{
    CF_TRY(find_place(p, o->store, err));
    CF_TRY(make_turns(p, x, err));
    x->kept.conversation = p->conversation;
    x->kept.turn = p->parent;
    x->kept.n_messages = (int64_t)p->n;
    if (p->has_keys && p->n > 0) {
        const cf_path_key *last = &p->keys[p->n - 1];
        memcpy(x->kept.all, last->all, sizeof last->all);
        memcpy(x->kept.talk, last->talk, sizeof last->talk);
        x->kept.n_talk = last->n_talk;
    }
    return CF_OK;
}

static void fill_exchange(const cf_record *x, cf_exchange *out)
{
    *out = cf_exchange_none();
    out->id = x->id;
    out->conversation = x->kept.conversation;
    out->turn = x->kept.turn;
    out->started_ms = x->started_ms;
    out->client = x->client;
    out->method = x->method;
    out->path = x->path;
    out->upstream = x->upstream;
    out->api = str(cf_api_name(x->api));
    out->model = str(x->kept.model);
    out->n_messages = x->kept.n_messages;
    out->request_hash = str(x->kept.request_hash);
    if (x->kept.note[0] != '\0') {
        out->note = str(x->kept.note);
    } else if (atomic_load(&x->has_ended) && x->note[0] != '\0') {
        out->note = str(x->note);
    }
    out->findings = x->kept.findings.n != 0 ? cf_buf_str(&x->kept.findings) : cf_str_make("[]", 2);
}

static void put(const cf_recorder_options *o, cf_record *x, const cf_exchange *e,
                const cf_store_tree *tree, const cf_exchange_key *keys, size_t n_keys)
{
    cf_error err;
    cf_status st = cf_store_put_exchange(o->store, e, tree, keys, n_keys, &err);
    /* A write that is still queued is reported too: the user may have to act. */
    if (st != CF_OK) {
        char line[CF_ERROR_TEXT_MAX + 40];
        snprintf(line, sizeof line, "%s%s", st == CF_EBUSY ? "" : "not recorded: ", err.text);
        cf_record__say(x->recorder, line);
    }
}

cf_status cf_record_hash(char out[65], cf_str method, cf_str path, cf_str body, cf_error *err)
{
    cf_buf b = CF_BUF_INIT;
    cf_buf_add(&b, method.p, method.n);
    cf_buf_addc(&b, ' ');
    cf_buf_add(&b, path.p, path.n);
    cf_buf_addc(&b, '\n');
    cf_buf_add(&b, body.p, body.n);
    cf_status st = cf_buf_check(&b, err);
    if (st == CF_OK) {
        cf_hash_hex(out, b.p, b.n);
    }
    cf_buf_deinit(&b);
    return st;
}

static void fill_begin(const cf_record *x, cf_exchange *e)
{
    fill_exchange(x, e);
    e->request_headers = cf_buf_str(&x->request_headers);
    e->request = cf_buf_str(&x->request);
}

/* Reads the request and finds its conversation. */
static void read_begin(const cf_recorder_options *o, cf_record *x, place *p)
{
    cf_wire_request *w = &x->kept.request;
    cf_error err = {0};
    x->kept.n_messages = -1;
    /* Without memory the request has no hash, and is not found again. */
    cf_ignore(
        cf_record_hash(x->kept.request_hash, x->method, x->path, cf_buf_str(&x->request), &err));
    memset(p, 0, sizeof *p);
    cf_arena_init(&p->arena, 0);
    if (!cf_api_talks(x->api)) {
        return;
    }
    cf_status st = cf_wire_request_read(w, x->api, cf_buf_str(&x->request), &err);
    cf_record__count(x->recorder, 1, 0);
    x->kept.has_request = st == CF_OK;
    if (st == CF_OK) {
        cf_wire_request_path(w, x->api, x->path);
        snprintf(x->kept.model, sizeof x->kept.model, "%s", w->model);
        p->request = w;
        cf_session_name(p->session, w->body, cf_buf_str(&x->request_headers));
        st = place_messages(o, x, p, &err);
    }
    if (st != CF_OK) {
        note(x, "the request is kept, but is not a conversation", &err);
        p->tree.n = p->n_keys = 0;
        p->is_new = false;
    }
}

static const cf_store_tree *tree_of(const place *p)
{
    return p->is_new || p->tree.n > 0 ? &p->tree : NULL;
}

void cf_record__store_begin(const cf_recorder_options *o, cf_record *x)
{
    place p;
    cf_exchange e;
    read_begin(o, x, &p);
    fill_begin(x, &e);
    put(o, x, &e, tree_of(&p), p.key, p.n_keys);
    x->kept.has_begun = true;
    cf_arena_deinit(&p.arena);
}

/* ---- the answer --------------------------------------------------------- */

static cf_wire_reader *reader_of(cf_record *x)
{
    if (!x->kept.is_reading) {
        cf_wire_reader_init(&x->kept.reader, x->api);
        x->kept.is_reading = true;
        x->kept.n_read = 0;
        x->kept.first_us = -1;
    }
    return &x->kept.reader;
}

/* Reads a piece in its chunks, and notes when the first of the reply came. */
static cf_status read_piece(cf_record *x, const cf_record__piece *piece, cf_error *err)
{
    cf_wire_reader *r = reader_of(x);
    size_t at = 0;
    cf_status st = CF_OK;
    cf_record__count(x->recorder, 0, piece->bytes.n);
    for (size_t i = 0; st == CF_OK && i + 1 < piece->n_chunks; i += 2) {
        size_t n = (size_t)piece->chunks[i];
        bool had = cf_wire_reader_has_begun(r);
        st = cf_wire_reader_feed(r, cf_str_make(piece->bytes.p + at, n), err);
        at += n;
        if (!had && cf_wire_reader_has_begun(r)) {
            x->kept.first_us = (int64_t)piece->chunks[i + 1];
        }
    }
    x->kept.n_read += piece->bytes.n;
    return st;
}

/* What was not read while the answer came. */
static cf_status read_unread(cf_record *x, cf_error *err)
{
    size_t at = 0, i = 0;
    for (; i + 1 < x->n_chunks && at < x->kept.n_read; i += 2) {
        at += (size_t)x->chunks[i];
    }
    return read_piece(x,
                      &(cf_record__piece){cf_str_make(x->response.p + at, x->response.n - at),
                                          x->chunks + i, x->n_chunks - i},
                      err);
}

/* Reads the rest of the answer; an encoded one is read whole. */
static cf_status read_answer(cf_record *x, cf_error *err)
{
    cf_buf room = CF_BUF_INIT;
    cf_str all = cf_buf_str(&x->response);
    cf_wire_reader *r = reader_of(x);
    cf_str text;
    cf_status st = cf_record__decode(&text, &room, x->encoding, all, false, err);
    if (st == CF_OK && text.p != all.p) {
        cf_record__count(x->recorder, 0, all.n);
        st = cf_wire_reader_feed(r, text, err);
    } else {
        CF_THEN(st, read_unread(x, err));
    }
    CF_THEN(st, cf_wire_reader_finish(r, err));
    if (x->kept.first_us >= 0) {
        x->first_us = x->kept.first_us;
    }
    if (x->has_usage && r->reply.usage.n_prompt < 0) {
        r->reply.usage = x->usage;
    }
    cf_buf_deinit(&room);
    return st;
}

/* An answer that stopped properly, but before the end that its form has: a
 * stream without one, or nothing that can be read. */
static bool lacks_end(const cf_record *x, const cf_wire_reader *r)
{
    bool is_stream = r->form == CF_WIRE_EVENTS || r->form == CF_WIRE_LINES;
    return x->how == CF_RECORD_WHOLE && x->status == 200 && cf_api_talks(x->api) && !x->is_cut &&
           !r->is_ended && (is_stream || r->n_values == 0) &&
           (r->reply.n_choices == 0 || r->reply.choice[0].end[0] == '\0');
}

static void put_end(const cf_record *x, const cf_wire_reader *r, cf_buf *out)
{
    if (x->how == CF_RECORD_FAILED) {
        cf_buf_addf(out, "failed: %.*s", (int)x->why.n, x->why.p);
    } else if (r->error[0] != '\0') {
        cf_buf_addf(out, "error: %s", r->error);
    } else if (x->how == CF_RECORD_LEFT) {
        cf_buf_adds(out, "aborted");
    } else if (x->how == CF_RECORD_BROKEN) {
        cf_buf_adds(out, "broken");
    } else if (r->reply.n_choices > 0 && r->reply.choice[0].end[0] != '\0') {
        cf_buf_adds(out, r->reply.choice[0].end);
    } else if (lacks_end(x, r)) {
        cf_buf_adds(out, "no end");
    } else {
        cf_buf_adds(out, x->status >= 400 ? "error" : "ok");
    }
}

static cf_turn_status turn_status(const cf_record *x, const cf_wire_reader *r)
{
    if (x->how == CF_RECORD_LEFT) {
        return CF_TURN_STOPPED;
    }
    return x->how == CF_RECORD_WHOLE && r->error[0] == '\0' && !lacks_end(x, r) ? CF_TURN_OK
                                                                                : CF_TURN_ERROR;
}

/* An answer while it is stored. */
typedef struct answer {
    cf_record *x;
    const cf_wire_reader *reader;
    const cf_wire_request *request; /* NULL: could not be read */
    place *place;                   /* of messages that are not stored yet; NULL */
    cf_buf end;
    json_t *message[CF_WIRE_CHOICES_MAX];
    cf_store_turn turn[CF_WIRE_CHOICES_MAX];
    cf_store_run run[CF_WIRE_CHOICES_MAX];
    cf_exchange_key key[2];
    size_t n, n_keys;
    char reply_hash[65];
    cf_path_key path;
    cf_arena arena;
} answer;

static void fill_run(answer *a, size_t i)
{
    const cf_record *x = a->x;
    const cf_wire_reader *r = a->reader;
    cf_store_run *run = &a->run[i];
    *run = cf_store_run_none();
    run->engine = str(x->upstream.n != 0 ? "proxy" : "serve");
    run->model = str(r->reply.model[0] != '\0' ? r->reply.model : x->kept.model);
    run->n_prompt = r->reply.usage.n_prompt;
    run->n_kept = r->reply.usage.n_cached;
    if (run->n_prompt >= 0 && run->n_kept >= 0 && run->n_prompt >= run->n_kept) {
        run->n_new = run->n_prompt - run->n_kept;
    }
    run->n_reply = r->reply.usage.n_reply;
    run->first_us = x->first_us;
    if (r->form != CF_WIRE_WHOLE && x->first_us >= 0 &&
        x->total_us >= x->first_us + DECODE_US_MIN) {
        run->decode_us = x->total_us - x->first_us;
    }
    run->stop_reason = cf_buf_str(&a->end);
    run->raw = cf_buf_str(&r->reply.choice[i].content);
    const json_t *tools = a->request != NULL ? a->request->tools : NULL;
    size_t n = json_array_size(tools);
    cf_str *list = cf_arena_calloc(&a->arena, n + 1, sizeof *list);
    for (size_t k = 0; list != NULL && k < n; k++) {
        list[k] = json_text(&a->arena, json_array_get(tools, k));
    }
    run->tools = list;
    run->n_tools = list != NULL ? n : 0;
}

static void drop_replies(answer *a)
{
    for (size_t i = 0; i < a->n; i++) {
        json_decref(a->message[i]);
    }
    a->n = 0;
}

/* A turn for each choice that said something; the first is the head. */
static cf_status make_replies(answer *a, cf_error *err)
{
    const cf_record *x = a->x;
    const cf_wire_reader *r = a->reader;
    for (size_t i = 0; x->status < 400 && i < r->reply.n_choices; i++) {
        if (!r->reply.choice[i].has_any && r->reply.choice[i].end[0] == '\0') {
            continue;
        }
        json_t *m = cf_wire_reply_message(&r->reply, i);
        if (m == NULL) {
            return cf_oom(err);
        }
        fill_run(a, i);
        a->message[a->n] = m;
        a->turn[a->n++] = (cf_store_turn){.id = cf_uuid_new(),
                                          .parent = x->kept.turn,
                                          .message = json_text(&a->arena, m),
                                          .status = turn_status(x, r),
                                          .fork_token = -1,
                                          .created_ms = x->started_ms,
                                          .finished_ms = x->started_ms + x->total_us / 1000,
                                          .run = &a->run[i]};
    }
    return a->arena.failed ? cf_oom(err) : CF_OK;
}

/* Computes the key of the path with the first reply, by which the next request
 * finds it. */
static cf_status make_reply_keys(answer *a, cf_error *err)
{
    const cf_record *x = a->x;
    cf_buf canon = CF_BUF_INIT;
    if (a->n == 0) {
        return CF_OK;
    }
    if (x->kept.all[0] != '\0') {
        memcpy(a->path.all, x->kept.all, sizeof a->path.all);
        memcpy(a->path.talk, x->kept.talk, sizeof a->path.talk);
        a->path.n_talk = x->kept.n_talk;
        CF_TRY(cf_path_key_add(&a->path, a->message[0], err));
        a->key[0] = (cf_exchange_key){str(a->path.all), a->turn[0].id};
        a->key[1] = (cf_exchange_key){str(a->path.talk), a->turn[0].id};
        a->n_keys = 2;
    }
    for (size_t i = 0; i < a->n; i++) {
        cf_message_canon(&canon, a->message[i]);
    }
    if (!canon.failed && x->how == CF_RECORD_WHOLE && x->status < 300) {
        cf_hash_hex(a->reply_hash, canon.p, canon.n);
    }
    cf_buf_deinit(&canon);
    return CF_OK;
}

/* ---- findings ----------------------------------------------------------- */

/* Adds to the list that is open. */
static void add_other_answer(const cf_recorder_options *o, answer *a, cf_jb *b)
{
    const cf_exchange *rows;
    size_t n = 0;
    cf_error err;
    const cf_exchange_query q = {.request_hash = str(a->x->kept.request_hash),
                                 .before = a->x->id,
                                 .has_ended = true,
                                 .limit = 4};
    if (a->reply_hash[0] == '\0' || a->x->kept.request_hash[0] == '\0' ||
        cf_store_exchanges(o->store, &q, &a->arena, &rows, &n, &err) != CF_OK) {
        return;
    }
    for (size_t i = n; i > 0; i--) {
        const cf_exchange *e = &rows[i - 1];
        if (e->reply_hash.n == 0 || e->status >= 300) {
            continue;
        }
        if (!cf_str_is(e->reply_hash, a->reply_hash)) {
            char id[CF_UUID_TEXT + 1];
            cf_uuid_format(id, e->id);
            cf_jb_pack(b, NULL, "{s:s, s:s, s:s}", "kind", "other-answer", "exchange", id, "text",
                       "the same request had another answer before");
        }
        return;
    }
}

/* The request of an exchange before this one. */
typedef struct former {
    const cf_wire_request *request; /* the recorder's, or `own` */
    cf_wire_request own;
} former;

/* Reads it from the history, unless it was the last to be stored. */
static bool read_former(const cf_recorder_options *o, answer *a, cf_uuid id, former *f)
{
    cf_exchange e;
    cf_error ignored;
    f->request = cf_record__last_request(a->x->recorder, id);
    if (f->request != NULL) {
        return true;
    }
    f->request = &f->own;
    cf_record__count(a->x->recorder, 1, 0);
    return cf_store_get_exchange(o->store, id, &a->arena, &e, &ignored) == CF_OK &&
           cf_wire_request_read(&f->own, a->x->api, e.request, &ignored) == CF_OK;
}

/* Requests that name no session may be of one. */
static bool is_same_session(const answer *a, const former *f, const cf_exchange *e)
{
    char now[CF_SESSION_NAME_MAX], was[CF_SESSION_NAME_MAX];
    cf_session_name(now, a->request->body, cf_buf_str(&a->x->request_headers));
    cf_session_name(was, f->request->body, e->request_headers);
    return strcmp(now, was) == 0;
}

/* The newest exchange to the same model that `q` finds and that can have gone
 * before; of any conversation, it must be one of this client of which the
 * request is a rewrite. */
static bool find_former(const cf_recorder_options *o, answer *a, const cf_exchange_query *q,
                        cf_exchange *out, former *f)
{
    const cf_record *x = a->x;
    const bool is_any = cf_uuid_is_nil(q->conversation);
    const cf_exchange *rows;
    size_t n = 0;
    cf_error ignored;
    if (cf_store_exchanges(o->store, q, &a->arena, &rows, &n, &ignored) != CF_OK) {
        return false;
    }
    for (size_t i = n; i > 0; i--) {
        const cf_exchange *e = &rows[i - 1];
        if (e->status != 200 || !cf_str_is(e->api, cf_api_name(x->api)) ||
            !cf_str_is(e->model, x->kept.model) ||
            (is_any && (e->n_cached <= 0 || !cf_str_eq(e->client, x->client) ||
                        e->n_messages > x->kept.n_messages))) {
            continue;
        }
        *out = *e;
        bool has_read = read_former(o, a, e->id, f);
        if (!is_any || (has_read && is_same_session(a, f, e) &&
                        cf_findings_is_rewrite(f->request->messages, a->request->messages))) {
            return has_read;
        }
        cf_wire_request_deinit(&f->own);
    }
    return false;
}

/* The former request of this conversation; a request whose first message has
 * changed begins another one. */
static bool find_before(const cf_recorder_options *o, answer *a, cf_exchange *out, former *f)
{
    cf_exchange_query q = {.conversation = a->x->kept.conversation,
                           .before = a->x->id,
                           .has_ended = true,
                           .limit = BEFORE_MAX};
    if (find_former(o, a, &q, out, f)) {
        return true;
    }
    memset(&q.conversation, 0, sizeof q.conversation);
    return a->reader->reply.usage.n_cached >= 0 && find_former(o, a, &q, out, f);
}

/* The newest request of another conversation that the same server answered
 * after `former`, in words; what took the slot. */
static void put_between(const cf_recorder_options *o, answer *a, const cf_exchange *last,
                        cf_buf *out)
{
    const cf_exchange *rows, *found = NULL;
    size_t n = 0;
    const cf_exchange_query q = {.before = a->x->id, .has_ended = true, .limit = BEFORE_MAX};
    if (cf_store_exchanges(o->store, &q, &a->arena, &rows, &n, NULL) != CF_OK) {
        return;
    }
    for (size_t i = n; i > 0 && !cf_uuid_eq(rows[i - 1].id, last->id); i--) {
        const cf_exchange *e = &rows[i - 1];
        if (e->status == 200 && e->n_prompt > 0 && cf_str_eq(e->upstream, a->x->upstream) &&
            !cf_uuid_eq(e->conversation, a->x->kept.conversation)) {
            found = e;
            break;
        }
    }
    former f = {.request = NULL};
    if (found == NULL || !read_former(o, a, found->id, &f)) {
        return;
    }
    char id[CF_UUID_TEXT + 1];
    cf_buf words = CF_BUF_INIT;
    cf_uuid_format(id, found->id);
    cf_person_text(&words, f.request->messages);
    cf_buf_addf(out, "%s (%.*s, \"%.40s\", %lld tokens)", id,
                (int)(found->client.n < 40 ? found->client.n : 40),
                found->client.n != 0 ? found->client.p : "", cf_buf_cstr(&words),
                (long long)found->n_prompt);
    cf_buf_deinit(&words);
    cf_wire_request_deinit(&f.own);
}

static cf_status find_all(const cf_recorder_options *o, answer *a, cf_error *err)
{
    cf_exchange e;
    former f = {.request = NULL};
    json_t *list = json_array();
    const bool has_before = find_before(o, a, &e, &f);
    cf_found_side now = {.request = a->request, .usage = a->reader->reply.usage};
    cf_found_side before = {.request = f.request, .usage = cf_wire_usage_none()};
    if (has_before) {
        before.usage.n_prompt = e.n_prompt;
        before.usage.n_cached = e.n_cached;
        before.usage.n_reply = e.n_reply;
    }
    cf_buf between = CF_BUF_INIT;
    if (has_before && cf_findings_lost(&now, &before) > 0) {
        put_between(o, a, &e, &between);
        now.between = cf_buf_str(&between);
    }
    cf_status st = list == NULL ? cf_oom(err) : CF_OK;
    CF_THEN(st, cf_findings_add(list, o->finder, &now, has_before ? &before : NULL,
                                a->n > 0 ? a->message[0] : NULL, err));
    if (st == CF_OK) {
        cf_jb b = CF_JB_INIT;
        cf_jb_open(&b, list);
        add_other_answer(o, a, &b);
        if (lacks_end(a->x, a->reader)) {
            cf_jb_pack(&b, NULL, "{s:s, s:s}", "kind", "no-end", "text",
                       "the answer stopped without an end; a gateway's time limit does that");
        }
        cf_jb_end(&b);
        st = cf_jb_check(&b, err);
        cf_jb_deinit(&b);
    }
    if (st == CF_OK) {
        cf_buf_reset(&a->x->kept.findings);
        cf_json_write(&a->x->kept.findings, list);
        st = cf_buf_check(&a->x->kept.findings, err);
    }
    cf_wire_request_deinit(&f.own);
    cf_buf_deinit(&between);
    json_decref(list);
    return st;
}

/* ---- all of it ---------------------------------------------------------- */

static void fill_end(const answer *a, cf_exchange *e)
{
    const cf_record *x = a->x;
    fill_exchange(x, e);
    if (a->n > 0) {
        e->turn = a->turn[0].id;
    }
    e->status = x->status != 0 ? (int64_t)x->status : 502;
    e->first_us = x->first_us;
    e->total_us = x->total_us;
    e->request_id = x->request_id;
    if (a->reader->reply.id[0] != '\0') {
        e->response_id = str(a->reader->reply.id);
    }
    if (a->reader->reply.model[0] != '\0' && x->kept.model[0] == '\0') {
        e->model = str(a->reader->reply.model);
    }
    e->n_prompt = a->reader->reply.usage.n_prompt;
    e->n_cached = a->reader->reply.usage.n_cached;
    e->n_reply = a->reader->reply.usage.n_reply;
    e->n_written = a->reader->reply.usage.n_written;
    e->n_thinking = a->reader->reply.usage.n_thinking;
    e->end = cf_buf_str(&a->end);
    e->response_headers = cf_buf_str(&x->response_headers);
    if (a->reply_hash[0] != '\0') {
        e->reply_hash = str(a->reply_hash);
    }
}

/* The replies, after the messages that are stored with them. */
static void add_replies(answer *a, cf_store_tree *tree)
{
    const cf_record *x = a->x;
    cf_uuid head = a->n > 0 ? a->turn[0].id : x->kept.turn;
    *tree = (cf_store_tree){.conv = {.id = x->kept.conversation}, .turns = a->turn, .n = a->n};
    if (a->place != NULL && a->place->turns != NULL) {
        place *p = a->place;
        memcpy(p->turns + p->tree.n, a->turn, a->n * sizeof *a->turn);
        memcpy(p->key + p->n_keys, a->key, a->n_keys * sizeof *a->key);
        p->n_keys += a->n_keys;
        p->tree.n += a->n;
        *tree = p->tree;
    }
    tree->conv.head = head;
}

static void store_answer(const cf_recorder_options *o, answer *a)
{
    cf_record *x = a->x;
    cf_exchange e;
    cf_store_tree tree;
    cf_error err = {0};
    bool talks = !cf_uuid_is_nil(x->kept.conversation);
    cf_status st = talks ? make_replies(a, &err) : CF_OK;
    CF_THEN(st, talks ? make_reply_keys(a, &err) : CF_OK);
    if (st != CF_OK) {
        note(x, "the answer is kept, but is not a turn", &err);
        drop_replies(a);
        a->n_keys = 0;
    }
    if (talks && a->request != NULL && x->status == 200 && find_all(o, a, &err) != CF_OK) {
        note(x, "no findings", &err);
    }
    add_replies(a, &tree);
    fill_end(a, &e);
    if (!x->kept.has_begun) {
        e.request_headers = cf_buf_str(&x->request_headers);
        e.request = cf_buf_str(&x->request);
    }
    e.response = cf_buf_str(&x->response);
    e.chunks = x->chunks;
    e.n_chunks = x->n_chunks;
    bool has_place = a->place != NULL && a->place->key != NULL;
    put(o, x, &e, talks && tree.n > 0 ? &tree : NULL, has_place ? a->place->key : a->key,
        has_place ? a->place->n_keys : a->n_keys);
    if (x->kept.is_live) {
        cf_live_remove(cf_store_path(o->store), x->id);
    }
    if (o->stored != NULL) {
        o->stored(o->ud, &e);
    }
}

void cf_record__show_live(const cf_recorder_options *o, cf_record *x, const cf_record__piece *more)
{
    cf_error ignored;
    if (!x->kept.has_begun || atomic_load(&x->has_ended) || x->kept.is_unreadable) {
        return;
    }
    cf_status st = read_piece(x, more, &ignored);
    if (st != CF_OK) { /* the end reads it again, and reports it */
        cf_wire_reader_deinit(&x->kept.reader);
        x->kept.is_reading = false;
        x->kept.is_unreadable = true;
    } else if (cf_wire_reader_has_begun(&x->kept.reader)) {
        json_t *m = cf_wire_reply_message(&x->kept.reader.reply, 0);
        cf_live_write(cf_store_path(o->store), x->id, m);
        x->kept.is_live = true;
        json_decref(m);
    }
}

void cf_record__store_end(const cf_recorder_options *o, cf_record *x)
{
    place p;
    cf_error err = {0};
    answer a = {.x = x};
    cf_arena_init(&a.arena, 0);
    cf_arena_init(&p.arena, 0);
    if (!x->kept.has_begun) {
        read_begin(o, x, &p);
        a.place = &p;
    }
    a.request = x->kept.has_request ? &x->kept.request : NULL;
    a.reader = reader_of(x);
    cf_status st = x->api != CF_API_NONE ? read_answer(x, &err) : CF_OK;
    if (st != CF_OK && x->how == CF_RECORD_WHOLE && x->status < 400) {
        note(x, "the answer is kept, but cannot be read", &err);
    }
    if (x->is_cut) {
        snprintf(x->kept.note, sizeof x->kept.note,
                 "only the first %zu bytes of the answer are kept", x->response.n);
    }
    put_end(x, a.reader, &a.end);
    store_answer(o, &a);
    drop_replies(&a);
    if (x->kept.has_request) {
        cf_record__set_last_request(x->recorder, x->id, &x->kept.request);
    }
    cf_buf_deinit(&a.end);
    cf_arena_deinit(&a.arena);
    cf_arena_deinit(&p.arena);
}
