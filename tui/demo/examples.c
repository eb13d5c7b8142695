/*
 * examples.c - the prepared conversations, put into the store as an import.
 *
 * examples.jsonl and welcome.jsonl are in confab's own format and give no times, so
 * the conversations are as old as the history.  The last words of the welcome matter: a
 * lone letter there, such as a key to quit, ends up in the calls of a model this small.
 */
#include "tui/demo/examples.h"

#include <string.h>

#include "core/json/json_builder.h"
#include "storage/exchange.h"
#include "tui/demo/demo_impl.h"
#include "tui/lab/lab.h"
#include "tui/lab/talk/lab_conversation.h"
#include "tui/lab/talk/lab_send.h"

enum { EXAMPLES = 4, REPLY_MAX = 120 };

#define MARK "examples"

extern const unsigned char cf_embed_tui_demo_examples_jsonl[];
extern const size_t cf_embed_tui_demo_examples_jsonl_size;
extern const unsigned char cf_embed_tui_demo_welcome_jsonl[];
extern const size_t cf_embed_tui_demo_welcome_jsonl_size;

/* Appends the first line of the welcome, its conversation, with the tools that are
 * offered: it asks for the weather, so it goes on with them. */
static cf_status put_welcome(cf_buf *out, cf_str line, const json_t *tools, cf_uuid *id,
                             cf_error *err)
{
    json_t *conv;
    CF_TRY(cf_json_read(&conv, line.p, line.n, err));
    cf_str text = cf_json_get_str(conv, "id");
    cf_status st = cf_uuid_parse(id, text.p, text.n) ? CF_OK : cf_oom_for(err, "the examples");
    if (st == CF_OK && tools != NULL) {
        cf_jb b = CF_JB_INIT;
        cf_jb_open(&b, conv);
        cf_jb_object(&b, "preface");
        cf_jb_add(&b, "tools", tools);
        cf_jb_end(&b);
        cf_jb_end(&b);
        st = cf_jb_check(&b, err);
        cf_jb_deinit(&b);
    }
    if (st == CF_OK) {
        cf_json_write(out, conv);
    }
    json_decref(conv);
    return st;
}

/* Imports all of them; *id is that of the welcome. */
static cf_status import(cf_store *store, const json_t *tools, cf_uuid *id, cf_error *err)
{
    cf_str welcome = {(const char *)cf_embed_tui_demo_welcome_jsonl,
                      cf_embed_tui_demo_welcome_jsonl_size};
    cf_buf text = CF_BUF_INIT;
    size_t n_line = strcspn(welcome.p, "\n");
    cf_buf_add(&text, (const char *)cf_embed_tui_demo_examples_jsonl,
               cf_embed_tui_demo_examples_jsonl_size);
    cf_status st = put_welcome(&text, cf_str_make(welcome.p, n_line), tools, id, err);
    cf_buf_add(&text, welcome.p + n_line, welcome.n - n_line);
    CF_THEN(st, cf_buf_check(&text, err));
    const cf_import_options o = {.format = CF_FORMAT_CONFAB, .name = "examples"};
    cf_import_report report = {0};
    CF_THEN(st, cf_import_bytes(store, text.p, text.n, &o, &report, err));
    cf_buf_deinit(&text);
    if (st == CF_OK && report.n_new != EXAMPLES) {
        st = cf_oom_for(err, "the examples");
    }
    return st;
}

/* Whether this program is the one that may make them. */
static bool claim(cf_store *store, cf_arena *arena, cf_error *err)
{
    cf_str value;
    cf_store_state state;
    cf_store_size size = {0};
    cf_store_get_state(store, &state);
    if (state.is_read_only || state.is_failing ||
        cf_store_get_mark(store, cf_str_from(MARK), arena, &value, err) != CF_ENOTFOUND ||
        cf_store_get_size(store, &size, err) != CF_OK) {
        return false;
    }
    /* A history that began without them goes on without them. */
    const char *word = size.n_convs == 0 ? "made" : "none";
    return cf_store_put_mark(store, cf_str_from(MARK), cf_str_from(word), err) == CF_OK &&
           size.n_convs == 0;
}

cf_status cf_examples_make(cf_store *store, const json_t *tools, cf_uuid *welcome, cf_error *err)
{
    cf_arena arena;
    cf_error why = {0};
    cf_uuid id = {{0}};
    cf_status st = CF_OK;
    cf_arena_init(&arena, 0);
    *welcome = id;
    if (claim(store, &arena, &why)) {
        st = import(store, tools, &id, err);
        *welcome = st == CF_OK ? id : *welcome;
    }
    cf_arena_deinit(&arena);
    return st;
}

/* Sends the question and waits for the reply.  The conversation was stored
 * without tools: the prompt is short, and the first screen waits for this. */
static cf_status ask(cf_lab *lab, cf_error *err)
{
    cf_chat_options *chat = &cf_lab_settings(lab)->chat;
    uint32_t limit = chat->max_tokens;
    cf_error first = {0};
    chat->max_tokens = REPLY_MAX;
    cf_status st = cf_lab_send(lab, cf_str_from("What is a chat template?"), (cf_uuid){{0}}, err);
    cf_lab_settle(lab, &first);
    chat->max_tokens = limit;
    if (st == CF_OK && first.code != CF_OK) {
        *err = first;
        st = first.code;
    }
    return st;
}

cf_status cf_examples_reply(cf_lab *lab, cf_store *store, cf_error *err)
{
    const cf_str tag = cf_str_from(CF_EXAMPLE_TAG);
    const cf_store_conv conv = {
        .title = cf_str_from("A reply worth forking"), .tags = &tag, .n_tags = 1};
    cf_uuid id;
    CF_TRY(cf_store_put_conv(store, &conv, &id, err));
    CF_TRY(cf_lab_open_conv(lab, id, (cf_uuid){{0}}, err));
    return ask(lab, err);
}
