/*
 * wire_request.c - the table of interfaces, and requests in any of them.
 *
 * A row reads and writes what an interface says in its own way.  What all of
 * them do alike is here: settings under other names, fields that nothing
 * reads, ids of calls.
 */
#include <stdio.h>
#include <string.h>

#include "core/wire/wire_impl.h"

/* In the order in which paths are compared: "/chat/completions" ends with
 * "/completions". */
static const cf_wire__row *const rows[CF_API_N] = {
    [CF_API_OPENAI_CHAT] = &cf_wire__openai_chat,
    [CF_API_OPENAI_COMPLETIONS] = &cf_wire__openai_completions,
    [CF_API_OPENAI_RESPONSES] = &cf_wire__openai_responses,
    [CF_API_OPENAI_EMBEDDINGS] = &cf_wire__openai_embeddings,
    [CF_API_OPENAI_MODELS] = &cf_wire__openai_models,
    [CF_API_ANTHROPIC_MESSAGES] = &cf_wire__anthropic_messages,
    [CF_API_OLLAMA_CHAT] = &cf_wire__ollama_chat,
    [CF_API_OLLAMA_GENERATE] = &cf_wire__ollama_generate,
    [CF_API_GEMINI_GENERATE] = &cf_wire__gemini_generate,
};

const cf_wire__row *cf_wire__row_of(cf_api api)
{
    static const cf_wire__row none = {.name = "", .suffix = ""};
    return rows[api] != NULL ? rows[api] : &none;
}

const char *cf_api_name(cf_api api)
{
    return cf_wire__row_of(api)->name;
}

static bool ends_with(cf_str s, const char *end)
{
    size_t n = end != NULL ? strlen(end) : SIZE_MAX;
    return s.n >= n && memcmp(s.p + s.n - n, end, n) == 0;
}

static cf_str without_query(cf_str path)
{
    for (size_t i = 0; i < path.n; i++) {
        if (path.p[i] == '?' || path.p[i] == '#') {
            path.n = i;
        }
    }
    return path;
}

cf_api cf_api_of(cf_str method, cf_str path)
{
    bool is_get = cf_str_is(method, "GET");
    path = without_query(path);
    for (int i = 1; (is_get || cf_str_is(method, "POST")) && i < CF_API_N; i++) {
        const cf_wire__row *row = cf_wire__row_of((cf_api)i);
        if (is_get == row->is_get &&
            (ends_with(path, row->suffix) || ends_with(path, row->suffix2))) {
            return (cf_api)i;
        }
    }
    return CF_API_NONE;
}

bool cf_api_talks(cf_api api)
{
    return cf_wire__row_of(api)->read_request != NULL;
}

const char *cf_api_type(cf_api api, bool is_stream)
{
    return !is_stream                       ? "application/json"
           : cf_wire__row_of(api)->is_lines ? "application/x-ndjson"
                                            : "text/event-stream";
}

/* ---- settings ----------------------------------------------------------- */

/* Takes the first name off a place with dots; *rest is what follows it, NULL
 * after the last. */
static cf_str first_name(const char *place, const char **rest)
{
    size_t n = strcspn(place, ".");
    *rest = place[n] == '.' ? place + n + 1 : NULL;
    return cf_str_make(place, n);
}

static json_t *get_at(const json_t *v, const char *place)
{
    json_t *at = cf_json_ref(v);
    while (at != NULL && place != NULL) {
        cf_str name = first_name(place, &place);
        at = json_object_getn(at, name.p, name.n);
    }
    return at;
}

static void set_at(cf_jb *b, json_t *v, const char *place, const json_t *value)
{
    cf_str name = first_name(place, &place);
    char key[64];
    snprintf(key, sizeof key, "%.*s", (int)name.n, name.p);
    if (place == NULL) {
        cf_jb_set(b, v, key, json_incref(cf_json_ref(value)));
        return;
    }
    if (json_object_get(v, key) == NULL) {
        cf_jb_set(b, v, key, json_object());
    }
    set_at(b, json_object_get(v, key), place, value);
}

static const char *place_of(const cf_wire__setting *s)
{
    return s->place != NULL ? s->place : s->name;
}

/* Texts to stop at are a list everywhere but at OpenAI, where one may be
 * alone. */
static void read_settings(cf_wire_request *r, const cf_wire__row *row, const json_t *body, cf_jb *b)
{
    r->settings = json_object();
    for (const cf_wire__setting *s = row->settings; s->name != NULL; s++) {
        json_t *v = get_at(body, place_of(s));
        if (v == NULL || json_is_null(v)) {
            continue;
        }
        bool is_alone = strcmp(s->name, "stop") == 0 && json_is_string(v);
        cf_jb_set(b, r->settings, s->name, is_alone ? json_pack("[O]", v) : json_incref(v));
    }
}

static void write_settings(json_t *body, const cf_wire__row *row, const json_t *settings, cf_jb *b)
{
    const char *before = "";
    for (const cf_wire__setting *s = row->settings; s->name != NULL; s++) {
        const json_t *v = json_object_get(settings, s->name);
        if (v != NULL && strcmp(before, s->name) != 0) {
            set_at(b, body, place_of(s), v);
        }
        before = s->name;
    }
}

const char *cf_wire_place(const cf_wire_request *r, cf_api api, const char *setting)
{
    const char *found = NULL;
    for (const cf_wire__setting *s = cf_wire__row_of(api)->settings; s != NULL && s->name != NULL;
         s++) {
        if (strcmp(s->name, setting) == 0 && (found == NULL || get_at(r->body, place_of(s)))) {
            found = place_of(s);
        }
    }
    return found != NULL ? found : setting;
}

/* ---- fields that nothing reads ------------------------------------------ */

/* How a path relates to what a row reads. */
typedef enum fit { FIT_NONE, FIT_INSIDE, FIT_KNOWN } fit;

static fit fits(const cf_wire__row *row, cf_str path)
{
    fit found = FIT_NONE;
    for (const char *const *m = row->members; *m != NULL; m++) {
        if (cf_str_is(path, *m)) {
            return FIT_KNOWN;
        }
        if (cf_str_starts(cf_str_from(*m), path) && (*m)[path.n] == '.') {
            found = FIT_INSIDE;
        }
    }
    for (const cf_wire__setting *s = row->settings; s->name != NULL; s++) {
        const char *place = place_of(s);
        if (cf_str_is(path, place)) {
            return FIT_KNOWN;
        }
        if (cf_str_starts(cf_str_from(place), path) && place[path.n] == '.') {
            found = FIT_INSIDE;
        }
    }
    return found;
}

/* `path` is that of `v`, and as it was after. */
static void list_unknown(json_t *out, const cf_wire__row *row, const json_t *v, cf_buf *path,
                         cf_jb *b)
{
    const char *key;
    json_t *item;
    json_object_foreach(cf_json_ref(v), key, item)
    {
        const size_t n = path->n;
        cf_buf_addf(path, "%s%s", n > 0 ? "." : "", key);
        fit how = fits(row, cf_buf_str(path));
        if (how == FIT_INSIDE && json_is_object(item)) {
            list_unknown(out, row, item, path, b);
        } else if (how == FIT_NONE) {
            cf_jb_append(b, out, cf_json_buf(path));
        }
        path->n = n;
    }
}

static bool is_in(const char *const *names, const char *name)
{
    while (*names != NULL && strcmp(*names, name) != 0) {
        names++;
    }
    return *names != NULL;
}

static void list_in_messages(json_t *out, const cf_wire__row *row, const json_t *list, cf_jb *b)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *key;
        json_t *item;
        json_object_foreach(json_array_get(list, i), key, item)
        {
            if (!is_in(row->message_members, key)) {
                cf_jb_append(b, out, json_sprintf("%s[%zu].%s", row->message_list, i, key));
            }
        }
    }
}

static void read_unknown(cf_wire_request *r, const cf_wire__row *row, const json_t *body, cf_jb *b)
{
    cf_buf path = CF_BUF_INIT;
    list_unknown(r->unknown, row, body, &path, b);
    if (row->message_list != NULL) {
        list_in_messages(r->unknown, row, json_object_get(body, row->message_list), b);
    }
    if (path.failed) {
        cf_jb_fail(b);
    }
    cf_buf_deinit(&path);
}

/* ---- reading ------------------------------------------------------------ */

static cf_status read_body(cf_wire_request *out, const cf_wire__row *row, const json_t *body,
                           cf_error *err)
{
    cf_jb b = CF_JB_INIT;
    if (!json_is_object(body)) {
        return cf_fail(err, CF_EFORMAT, "not a JSON object");
    }
    out->body = json_incref(cf_json_ref(body));
    out->messages = json_array();
    out->unknown = json_array();
    const json_t *stream = json_object_get(body, "stream");
    out->is_stream = stream != NULL ? json_is_true(stream) : row->is_stream;
    cf_wire__copy(out->model, sizeof out->model, cf_json_get_str(body, "model"));
    cf_status st = out->messages == NULL || out->unknown == NULL
                       ? cf_oom(err)
                       : row->read_request(out, body, &b, err);
    if (st == CF_OK) {
        read_settings(out, row, body, &b);
        read_unknown(out, row, body, &b);
    }
    CF_THEN(st, cf_jb_check(&b, err));
    cf_jb_deinit(&b);
    return st;
}

cf_status cf_wire_request_read(cf_wire_request *out, cf_api api, cf_str body, cf_error *err)
{
    const cf_wire__row *row = cf_wire__row_of(api);
    json_t *v = NULL;
    memset(out, 0, sizeof *out);
    if (row->read_request == NULL) {
        return cf_fail(err, CF_EFORMAT, "not a request with messages");
    }
    CF_TRY(cf_json_read(&v, body.p, body.n, err));
    cf_status st = read_body(out, row, v, err);
    json_decref(v);
    if (st != CF_OK) {
        cf_wire_request_deinit(out);
    }
    return st;
}

void cf_wire_request_path(cf_wire_request *r, cf_api api, cf_str path)
{
    static const char before[] = "models/";
    if (api != CF_API_GEMINI_GENERATE) {
        return;
    }
    path = without_query(path);
    r->is_stream = ends_with(path, cf_wire__row_of(api)->suffix2);
    for (size_t i = path.n; i >= sizeof before; i--) {
        const char *at = path.p + i - (sizeof before - 1);
        if (memcmp(at, before, sizeof before - 1) == 0) {
            cf_str name = cf_str_make(path.p + i, path.n - i);
            const char *colon = memchr(name.p, ':', name.n);
            name.n = colon != NULL ? (size_t)(colon - name.p) : name.n;
            cf_wire__copy(r->model, sizeof r->model, name);
            return;
        }
    }
}

/* ---- writing ------------------------------------------------------------ */

/* The calls of the message before that wait for their results. */
typedef struct open_calls {
    json_t *ids; /* borrowed strings */
    size_t next;
    unsigned n_made;
} open_calls;

/* The message's calls with an id each, in an object of its own. */
static json_t *with_ids(const json_t *message, open_calls *open, cf_jb *b)
{
    const json_t *calls = json_object_get(message, "tool_calls");
    json_t *m = cf_json_copy(message);
    json_t *list = json_array();
    json_array_clear(open->ids);
    open->next = 0;
    for (size_t i = 0; i < json_array_size(calls); i++) {
        json_t *call = cf_json_copy(json_array_get(calls, i));
        unsigned number = open->n_made++;
        if (!json_is_string(json_object_get(call, "id"))) {
            cf_jb_set(b, call, "id", json_sprintf("call_%u", number));
        }
        cf_jb_append(b, open->ids, json_incref(json_object_get(call, "id")));
        cf_jb_append(b, list, call);
    }
    cf_jb_set(b, m, "tool_calls", list);
    return m;
}

static json_t *with_id(const json_t *result, open_calls *open, cf_jb *b)
{
    json_t *id = json_array_get(open->ids, open->next++);
    json_t *m = cf_json_copy(result);
    if (id != NULL && json_object_get(m, "tool_call_id") == NULL) {
        cf_jb_set(b, m, "tool_call_id", json_incref(id));
    }
    return m;
}

/* The messages, in which each result names its call. */
static json_t *identified(const json_t *messages, cf_jb *b)
{
    open_calls open = {.ids = json_array(), .n_made = 1};
    json_t *out = json_array();
    for (size_t i = 0; i < json_array_size(messages); i++) {
        json_t *m = json_array_get(messages, i);
        if (json_array_size(json_object_get(m, "tool_calls")) > 0) {
            cf_jb_append(b, out, with_ids(m, &open, b));
        } else if (cf_str_is(cf_json_get_str(m, "role"), "tool")) {
            cf_jb_append(b, out, with_id(m, &open, b));
        } else {
            cf_jb_append(b, out, json_incref(m));
        }
    }
    json_decref(open.ids);
    return out;
}

cf_status cf_wire_request_write(json_t **out, cf_api api, const cf_wire_request *r, cf_error *err)
{
    const cf_wire__row *row = cf_wire__row_of(api);
    cf_jb b = CF_JB_INIT;
    if (row->write_request == NULL) {
        return cf_fail(err, CF_EUNSUPPORTED, "this interface has no conversations");
    }
    json_t *body = json_object();
    json_t *messages = identified(r->messages, &b);
    cf_jb_open(&b, body);
    if (messages != NULL) {
        row->write_request(r, messages, &b);
        write_settings(body, row, r->settings, &b);
    } else {
        cf_jb_fail(&b);
    }
    cf_jb_end(&b);
    cf_status st = cf_jb_check(&b, NULL) == CF_OK ? CF_OK : cf_oom_for(err, "the request");
    json_decref(messages);
    cf_jb_deinit(&b);
    if (st != CF_OK) {
        json_decref(body);
        return st;
    }
    *out = body;
    return CF_OK;
}

void cf_wire_request_deinit(cf_wire_request *r)
{
    json_decref(r->messages);
    json_decref(r->tools);
    json_decref(r->prompts);
    json_decref(r->variables);
    json_decref(r->settings);
    json_decref(r->format);
    json_decref(r->unknown);
    json_decref(r->body);
    memset(r, 0, sizeof *r);
}
