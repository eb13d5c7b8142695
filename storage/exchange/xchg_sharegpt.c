/*
 * xchg_sharegpt.c - {"conversations":[{"from":...,"value":...}]}.
 *
 * Pictures, sounds and videos are lists next to the conversation, and
 * "<image>", "<audio>", "<video>" in a text where each belongs; what has no
 * such mark begins the first text of the user.
 *
 * Other fields, and a speaker's name that is written another way by default,
 * are kept under "sharegpt" in the message or the preface, and written back.
 */
#include <string.h>

#include "storage/db/store_message.h"
#include "storage/exchange/xchg.h"
#include "storage/exchange/xchg_media.h"

static const struct {
    const char *from, *role;
} roles[] = {
    /* The first line of a role is what is written. */
    {"system", "system"},          {"human", "user"},          {"user", "user"},
    {"gpt", "assistant"},          {"assistant", "assistant"}, {"model", "assistant"},
    {"chatgpt", "assistant"},      {"bot", "assistant"},       {"bing", "assistant"},
    {"bard", "assistant"},         {"tool", "tool"},           {"observation", "tool"},
    {"function_response", "tool"}, {"function", "tool"},       {"tool_response", "tool"},
};

static const char *role_of(cf_str from)
{
    for (size_t i = 0; i < sizeof roles / sizeof roles[0]; i++) {
        if (cf_str_is(from, roles[i].from)) {
            return roles[i].role;
        }
    }
    return NULL;
}

static const char *from_of(cf_str role)
{
    if (cf_msg__is_tool_role(role)) {
        return "tool";
    }
    if (cf_str_is(role, "agent")) {
        return "gpt";
    }
    for (size_t i = 0; i < sizeof roles / sizeof roles[0]; i++) {
        if (cf_str_is(role, roles[i].role)) {
            return roles[i].from;
        }
    }
    return NULL;
}

/* A call's JSON in "value" becomes a tool call; NULL: it stays text. */
static json_t *call_message(cf_build *b, cf_str value)
{
    json_t *v = cf_xchg__parse(value, &b->arena.failed);
    json_t *m = NULL;
    json_t *args = json_object_get(v, "arguments");
    if (args == NULL) {
        args = json_object_get(v, "parameters");
    }
    if (cf_json_get_str(v, "name").n != 0) {
        m = json_pack("{s:s,s:n,s:[{s:s,s:{s:O,s:O?}}]}", "role", "assistant", "content",
                      "tool_calls", "type", "function", "function", "name",
                      json_object_get(v, "name"), "arguments", args != NULL ? args : json_null());
        b->arena.failed = b->arena.failed || m == NULL;
    }
    json_decref(v);
    return m;
}

/* The message with the entry's other fields; takes it. */
static json_t *keep_entry(json_t *m, const json_t *entry)
{
    static const char *const own[] = {"from", "value"};
    static const char *const openai[] = {"role", "content"};
    cf_str from = cf_json_get_str(entry, "from");
    json_t *rest = cf_xchg__rest(entry, from.n != 0 ? own : openai, 2);
    const char *again = json_object_get(m, "tool_calls") != NULL
                            ? "function_call"
                            : from_of(cf_json_get_str(m, "role"));
    if (from.n != 0 && again != NULL && !cf_str_is(from, again) &&
        json_object_set(rest, "from", json_object_get(entry, "from")) != 0) {
        json_decref(rest);
        rest = NULL;
    }
    return cf_xchg__keep(m, "sharegpt", rest);
}

/* ---- pictures, sounds, videos ------------------------------------------- */

static const struct {
    const char *mark, *list, *single, *kind;
} media[] = {{"<image>", "images", "image", "image"},
             {"<audio>", "audios", "audio", "audio"},
             {"<video>", "videos", "video", "video"}};

enum { MEDIA = sizeof media / sizeof media[0] };

/* The media of a record, taken in order. */
typedef struct shelf {
    json_t *list[MEDIA]; /* borrowed: a list, or one by itself; NULL */
    size_t at[MEDIA], n[MEDIA];
    bool is_placed[MEDIA]; /* the texts have as many marks */
} shelf;

static json_t *item_of(const shelf *s, size_t k, size_t i)
{
    return json_is_array(s->list[k]) ? json_array_get(s->list[k], i) : s->list[k];
}

/* The next item as a part that remembers how it was written. */
static json_t *take_item(shelf *s, size_t k)
{
    json_t *item = item_of(s, k, s->at[k]++);
    cf_str where = json_is_string(item) ? cf_xchg__str(item) : cf_json_get_str(item, "path");
    cf_str bytes = cf_json_get_str(item, "bytes");
    json_t *part = bytes.n != 0
                       ? json_pack("{s:s,s:s%}", "type", media[k].kind, "blob", bytes.p, bytes.n)
                       : cf_xmedia__part(media[k].kind, where, cf_str_make(NULL, 0));
    cf_jb kept = CF_JB_INIT;
    cf_jb_object(&kept, NULL);
    if (json_is_object(item)) {
        static const char *const known[] = {"bytes"};
        cf_jb_take(&kept, "item", cf_xchg__rest(item, known, 1));
    }
    if (!json_is_array(s->list[k])) {
        cf_jb_bool(&kept, "is_single", true);
    }
    if (!s->is_placed[k]) {
        cf_jb_bool(&kept, "has_no_mark", true);
    }
    cf_jb_end(&kept);
    return cf_xchg__keep(part, "sharegpt", cf_jb_done(&kept));
}

/* The kind of the mark at the start of s; MEDIA: none. */
static size_t mark_at(const char *p, size_t n)
{
    size_t k = 0;
    while (k < MEDIA &&
           (n < strlen(media[k].mark) || memcmp(p, media[k].mark, strlen(media[k].mark)) != 0)) {
        k++;
    }
    return k;
}

static void count_marks(size_t n[MEDIA], const json_t *list)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *entry = json_array_get(list, i);
        cf_str s = cf_json_get_str(entry, "value");
        s = s.p != NULL ? s : cf_json_get_str(entry, "content");
        for (size_t k = 0; k < s.n; k++) {
            size_t kind = s.p[k] == '<' ? mark_at(s.p + k, s.n - k) : MEDIA;
            n[kind < MEDIA ? kind : 0] += kind < MEDIA;
        }
    }
}

static shelf open_shelf(const json_t *v, const json_t *list)
{
    shelf s = {{NULL}, {0}, {0}, {false}};
    size_t marks[MEDIA] = {0};
    count_marks(marks, list);
    for (size_t k = 0; k < MEDIA; k++) {
        json_t *many = json_object_get(v, media[k].list);
        json_t *one = json_object_get(v, media[k].single);
        s.list[k] = json_is_array(many) ? many : json_is_string(one) ? one : NULL;
        s.n[k] = json_is_array(many) ? json_array_size(many) : s.list[k] != NULL;
        for (size_t i = 0; i < s.n[k]; i++) {
            const json_t *item = item_of(&s, k, i);
            if (!json_is_string(item) && !json_is_object(item)) {
                s.n[k] = 0; /* not what is meant here: kept as it is */
            }
        }
        s.is_placed[k] = s.n[k] == marks[k];
    }
    return s;
}

static void add_text(cf_jb *parts, const char *p, size_t n)
{
    if (n != 0) {
        cf_jb_pack(parts, NULL, "{s:s,s:s%}", "type", "text", "text", p, n);
    }
}

/* The text as parts, its marks replaced, empty where it has none; NULL: no
 * memory. */
static json_t *parts_of(shelf *s, cf_str text, bool is_first_user)
{
    cf_jb parts = CF_JB_INIT;
    size_t from = 0;
    cf_jb_array(&parts, NULL);
    for (size_t k = 0; is_first_user && k < MEDIA; k++) {
        while (!s->is_placed[k] && s->at[k] < s->n[k]) {
            cf_jb_take(&parts, NULL, take_item(s, k));
        }
    }
    for (size_t i = 0; i < text.n; i++) {
        size_t k = text.p[i] == '<' ? mark_at(text.p + i, text.n - i) : MEDIA;
        if (k == MEDIA || !s->is_placed[k] || s->n[k] == 0) {
            continue;
        }
        add_text(&parts, text.p + from, i - from);
        cf_jb_take(&parts, NULL, take_item(s, k));
        from = i + strlen(media[k].mark);
        i = from - 1;
    }
    if (json_array_size(parts.root) != 0) {
        add_text(&parts, text.p + from, text.n - from);
    }
    cf_jb_end(&parts);
    return cf_jb_done(&parts);
}

static cf_status say(cf_build *b, const json_t *entry, size_t i, shelf *s, bool *had_user,
                     cf_error *err)
{
    cf_str from = cf_json_get_str(entry, "from");
    const json_t *value = json_object_get(entry, "value");
    if (from.n == 0) { /* some converters use OpenAI's names */
        from = cf_json_get_str(entry, "role");
        value = json_object_get(entry, "content");
    }
    if (from.n == 0 || !json_is_string(value)) {
        return cf_fail(err, CF_EFORMAT, "entry %zu has no \"from\" or no \"value\"", i + 1);
    }
    cf_str text = cf_xchg__str(value);
    json_t *m = NULL;
    if (cf_str_is(from, "function_call") || cf_str_is(from, "tool_call")) {
        m = call_message(b, text);
    }
    if (m == NULL) {
        const char *role = role_of(from);
        m = json_pack("{s:o,s:o}", "role", role != NULL ? json_string(role) : cf_json_str(from),
                      "content", cf_json_str(text));
    }
    bool is_user = cf_str_is(cf_json_get_str(m, "role"), "user");
    json_t *parts = parts_of(s, text, is_user && !*had_user);
    *had_user = *had_user || is_user;
    if (parts == NULL ||
        (json_array_size(parts) != 0 && json_object_set(m, "content", parts) != 0)) {
        json_decref(m);
        m = NULL;
    }
    json_decref(parts);
    return cf_build__say(b, keep_entry(m, entry), NULL, err);
}

/* The tools, a list or a string that holds one, and the other fields. */
static void take_preface(cf_build *b, const json_t *v, const shelf *on)
{
    static const char *const keys[] = {"conversations", "conversation", "messages", "system",
                                       "tools"};
    json_t *tools = json_object_get(v, "tools");
    json_t *parsed = cf_xchg__parse(cf_xchg__str(tools), &b->arena.failed);
    json_t *preface = json_pack("{s:O*}", "tools", parsed != NULL ? parsed : tools);
    json_t *rest = cf_xchg__rest(v, keys, sizeof keys / sizeof keys[0]);
    for (size_t k = 0; k < MEDIA; k++) {
        if (on->n[k] != 0) { /* they are in the messages */
            (void)json_object_del(rest,
                                  json_is_array(on->list[k]) ? media[k].list : media[k].single);
        }
    }
    preface = cf_xchg__keep(preface, "sharegpt", rest);
    if (preface == NULL || json_object_size(preface) != 0) {
        b->conv.preface = cf_build__json(b, preface);
    }
    json_decref(preface);
    json_decref(parsed);
}

static cf_status record(cf_import *im, const json_t *v, uint64_t line, cf_error *err)
{
    static const char *const keys[] = {"conversations", "conversation", "messages"};
    const json_t *list = json_is_array(v) ? v : NULL;
    for (size_t i = 0; list == NULL && i < sizeof keys / sizeof keys[0]; i++) {
        list = json_object_get(v, keys[i]);
    }
    if (!json_is_array(list) || json_array_size(list) == 0) {
        return cf_fail(err, CF_EFORMAT, "no list of conversations");
    }
    CF_TRY(cf_build__begin(im, line, err));
    cf_build *b = im->cur;
    b->id = cf_build__str(b, cf_json_get_str(v, "id"));
    b->conv.source = cf_build__source(im, b->id);
    cf_str system = cf_json_get_str(v, "system");
    if (system.n != 0) {
        CF_TRY(cf_build__say(
            b, json_pack("{s:s,s:o}", "role", "system", "content", cf_json_str(system)), NULL,
            err));
    }
    shelf s = open_shelf(v, list);
    bool had_user = false;
    take_preface(b, v, &s);
    for (size_t i = 0; i < json_array_size(list); i++) {
        CF_TRY(say(b, json_array_get(list, i), i, &s, &had_user, err));
    }
    return cf_import__emit(im, err);
}

/* ---- writing ------------------------------------------------------------ */

/* kept: the entry's other fields and the name it came with, or NULL. */
static void entry_out(cf_jw *w, cf_str from, const cf_buf *value, json_t *kept)
{
    static const char *const written[] = {"from", "value"};
    cf_str given = cf_json_get_str(kept, "from");
    cf_jw_object(w, NULL);
    cf_jw_str(w, "from", given.n != 0 ? given : from);
    cf_jw_buf(w, "value", value);
    cf_xchg__put_fields(w, kept, written, 2);
    cf_jw_end(w);
}

/* Arguments that are text are written as the JSON that they are, if so. */
static void arguments_out(cf_jw *w, const json_t *args)
{
    json_t *v = cf_xchg__parse(cf_xchg__str(args), &w->out->failed);
    cf_jw_json(w, "arguments", v != NULL ? v : args);
    json_decref(v);
}

static void calls_out(cf_jw *w, const json_t *m, json_t *kept)
{
    cf_message_call call;
    for (size_t i = 0; cf_message_call_at(&call, m, i); i++) {
        cf_buf text = CF_BUF_INIT;
        cf_jw inner;
        cf_jw_init(&inner, &text);
        cf_jw_object(&inner, NULL);
        cf_jw_str(&inner, "name", call.name);
        arguments_out(&inner, call.arguments);
        cf_jw_end(&inner);
        entry_out(w, cf_str_from("function_call"), &text, i == 0 ? kept : NULL);
        cf_buf_deinit(&text);
    }
}

static void tools_out(cf_jw *w, json_t *tools)
{
    if (tools != NULL) {
        cf_buf text = CF_BUF_INIT;
        cf_json_write(&text, tools);
        cf_jw_buf(w, "tools", &text);
        cf_buf_deinit(&text);
        json_decref(tools);
    }
}

/* The media of a branch, list by list. */
typedef struct pile {
    json_t *list[MEDIA];
    bool is_single[MEDIA];
} pile;

static size_t kind_of(cf_str kind)
{
    size_t k = 0;
    while (k < MEDIA && !cf_str_is(kind, media[k].kind)) {
        k++;
    }
    return k;
}

/* One part into its list; *k is the list. */
static bool pile_up(pile *p, const json_t *part, const cf_media_ref *m, size_t k)
{
    const json_t *kept = json_object_get(part, "sharegpt");
    json_t *item = json_object_get(kept, "item");
    cf_buf url = CF_BUF_INIT;
    p->list[k] = p->list[k] != NULL ? p->list[k] : json_array();
    p->is_single[k] = json_is_true(json_object_get(kept, "is_single"));
    cf_jb b = CF_JB_INIT;
    if (json_is_object(item)) {
        json_t *bytes = json_object_get(part, "blob");
        cf_jb_take(&b, NULL, cf_json_copy(item));
        if (bytes != NULL) {
            cf_jb_set(&b, b.root, "bytes", json_incref(bytes));
        }
    } else {
        cf_xmedia__put_url(&url, m);
        cf_jb_buf(&b, NULL, &url);
    }
    cf_buf_deinit(&url);
    return json_array_append_new(p->list[k], cf_jb_done(&b)) == 0;
}

/* The text of a content, marks where something else is. */
static bool value_out(cf_buf *out, pile *p, const json_t *m)
{
    const json_t *content = json_object_get(m, "content");
    if (!json_is_array(content)) {
        cf_message_text(out, m, "\n");
        return !out->failed;
    }
    bool was_text = false;
    bool ok = true;
    for (size_t i = 0; ok && i < json_array_size(content); i++) {
        const json_t *part = json_array_get(content, i);
        cf_str s = json_is_string(part) ? cf_xchg__str(part) : cf_json_get_str(part, "text");
        cf_media_ref ref;
        if (s.p != NULL) {
            cf_buf_adds(out, was_text ? "\n" : "");
            cf_buf_add(out, s.p, s.n);
            was_text = true;
            continue;
        }
        size_t k = cf_xmedia__get(&ref, part) ? kind_of(ref.kind) : MEDIA;
        if (k == MEDIA) {
            continue;
        }
        const json_t *kept = json_object_get(part, "sharegpt");
        ok = pile_up(p, part, &ref, k);
        cf_buf_adds(out, json_is_true(json_object_get(kept, "has_no_mark")) ? "" : media[k].mark);
        was_text = false;
    }
    return ok && !out->failed;
}

static void drop_pile(pile *p)
{
    for (size_t k = 0; k < MEDIA; k++) {
        json_decref(p->list[k]);
    }
}

static void pile_out(cf_jw *w, pile *p)
{
    for (size_t k = 0; k < MEDIA; k++) {
        if (p->list[k] == NULL) {
            continue;
        }
        if (p->is_single[k] && json_array_size(p->list[k]) == 1) {
            cf_jw_json(w, media[k].single, json_array_get(p->list[k], 0));
        } else {
            cf_jw_json(w, media[k].list, p->list[k]);
        }
    }
    drop_pile(p);
}

static cf_status write_branch(const cf_store_tree *tree, const size_t *at, size_t n, cf_buf *out,
                              cf_error *err)
{
    if (n == 0) {
        return CF_OK;
    }
    cf_jw w;
    cf_jw_init(&w, out);
    cf_jw_object(&w, NULL);
    cf_jw_array(&w, "conversations");
    pile piled = {{NULL}, {false}};
    for (size_t i = 0; i < n; i++) {
        json_t *m;
        cf_status st = cf_xchg__message(&m, &tree->turns[at[i]], err);
        if (st != CF_OK) {
            drop_pile(&piled);
            return st;
        }
        cf_buf text = CF_BUF_INIT;
        out->failed = !value_out(&text, &piled, m) || out->failed;
        cf_str role = cf_json_get_str(m, "role");
        const char *from = from_of(role);
        const json_t *calls = json_object_get(m, "tool_calls");
        json_t *kept = json_object_get(m, "sharegpt");
        bool has_text = text.n != 0 || json_array_size(calls) == 0;
        if (has_text) {
            entry_out(&w, from != NULL ? cf_str_from(from) : role, &text, kept);
        }
        calls_out(&w, m, has_text ? NULL : kept);
        cf_buf_deinit(&text);
        json_decref(m);
    }
    cf_jw_end(&w);
    tools_out(&w, cf_xchg__tools(&w, tree, at, n));
    pile_out(&w, &piled);
    static const char *const written[] = {"conversations", "tools"};
    json_t *preface = cf_xchg__preface(&w, tree);
    cf_xchg__put_fields(&w, json_object_get(preface, "sharegpt"), written, 2);
    json_decref(preface);
    cf_jw_end(&w);
    cf_buf_addc(out, '\n');
    return cf_jw_finish(&w, err);
}

/* ---- recognising -------------------------------------------------------- */

static const char *writer_of(const json_t *v)
{
    return cf_guess__has_list(v, "conversations") || cf_guess__has_list(v, "conversation")
               ? "ShareGPT"
               : NULL;
}

static const char *writer_of_message(const json_t *m)
{
    return cf_guess__has(m, "from") && cf_guess__has(m, "value") ? "ShareGPT" : NULL;
}

const cf_xchg_format cf_xchg_sharegpt = {.name = "sharegpt",
                                         .record = record,
                                         .writer_of = writer_of,
                                         .writer_of_message = writer_of_message,
                                         .write_branch = write_branch};
