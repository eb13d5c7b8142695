/*
 * examples.c - the prepared conversations as trees for the store.
 *
 * The small model's replies use words it was trained on, so that the
 * guided conversation is one that it can go on with.
 */
#include "tui/demo/examples.h"

#include <string.h>

#include "core/base/json_writer.h"
#include "core/base/os.h"
#include "storage/store.h"
#include "tui/demo/demo_notes.h"
#include "tui/demo/demo_serve.h"
#include "tui/lab/talk/lab_conversation.h"
#include "tui/lab/talk/lab_send.h"

enum { TREES = 4, TURNS_MAX = 16, REPLY_MAX = 120 };

#define MARK     "examples"
#define QUESTION "What is the weather in Oslo?"
#define CALL                                                   \
    "<tool_call>\n{\"name\": \"get_weather\", \"arguments\": " \
    "{\"location\": \"Oslo\"}}\n</tool_call>"

extern const unsigned char cf_embed_tui_demo_example_broken_jinja[];
extern const size_t cf_embed_tui_demo_example_broken_jinja_size;
extern const unsigned char cf_embed_tui_demo_example_fixed_jinja[];
extern const size_t cf_embed_tui_demo_example_fixed_jinja_size;

/* The last words matter: a lone letter there, such as a key to quit, ends up
 * in the calls of a model this small. */
static const char *const welcome[] = {
    "What is confab?",
    "confab is a debugger for prompts: a terminal workbench for local language "
    "models.",
    "How do I write to you?",
    "Press i to write a message, then Enter to send it.",
    "How do I see what you get to read?",
    "Press 2 for the Prompt view: the rendered prompt and its tokens.",
    "And how you chose your words?",
    "Press 3 for the Tokens view: the reply token by token, with the "
    "alternatives.",
    "Can I look into a tool call?",
    "Press 4 for the Tools view: every tool call, stage by stage.",
    "What else is there to look at?",
    "Press 6 for the Library: the saved conversations. Those with the tag "
    "example are yours to try and to delete.",
    "And now?",
    "Press i and ask me: " QUESTION " Or: how do I regenerate a reply? Press ? for "
    "all keys of a view.",
    NULL,
};

static const char why_question[] = "Why did you call no tool?";
static const char why_answer[] =
    "My prompt had none: the template example-broken forgets them. Press k "
    "twice, then ] for the reply with its fix. Press 7 to read both, Enter "
    "there "
    "uses one and 2 shows its prompt. Press 5 and type :with example-fixed to "
    "compare them.";

/* The trees while they are made; everything in the arena. */
typedef struct maker {
    cf_arena *arena;
    cf_store_tree tree[TREES];
    cf_store_turn *turn; /* of the tree that is being made */
    size_t n_trees;
    int64_t ms;
    char broken[65], fixed[65]; /* hashes of the templates */
    cf_str *tools;              /* [n_tools] declarations */
    size_t n_tools;
    const json_t *offered; /* by the workbench; NULL: none */
    bool failed;
} maker;

/* ---- turns -------------------------------------------------------------- */

static cf_str keep(maker *m, cf_str s)
{
    const char *copy = cf_arena_strndup(m->arena, s.p, s.n);
    m->failed = m->failed || copy == NULL;
    return cf_str_make(copy, copy != NULL ? s.n : 0);
}

/* Adds a turn with this message (stolen) after the last turn, or after `previous`. */
static cf_store_turn *add(maker *m, json_t *message, const cf_store_turn *previous)
{
    cf_store_tree *t = &m->tree[m->n_trees];
    cf_buf text = CF_BUF_INIT;
    if (message == NULL || t->n == TURNS_MAX) {
        m->failed = true;
        json_decref(message);
        return &m->turn[0];
    }
    cf_json_write(&text, message);
    json_decref(message);
    cf_store_turn *turn = &m->turn[t->n];
    *turn = (cf_store_turn){
        .id = cf_uuid_new(),
        .status = CF_TURN_OK,
        .fork_token = -1,
        .created_ms = m->ms,
        .finished_ms = m->ms,
        .message = keep(m, cf_buf_str(&text)),
    };
    m->ms += 1000;
    m->failed = m->failed || text.failed;
    cf_buf_deinit(&text);
    if (previous != NULL || t->n > 0) {
        turn->parent = previous != NULL ? previous->id : m->turn[t->n - 1].id;
    }
    t->n++;
    return turn;
}

static cf_store_turn *say(maker *m, const char *role, const char *text)
{
    return add(m, json_pack("{s:s,s:s}", "role", role, "content", text), NULL);
}

/* Records a prepared reply's bytes, template and tools. */
static void give_run(maker *m, cf_store_turn *turn, const char *raw, const char *template_hash)
{
    cf_store_run *run = cf_arena_calloc(m->arena, 1, sizeof *run);
    if (run == NULL) {
        m->failed = true;
        return;
    }
    *run = cf_store_run_none();
    run->engine = cf_str_from("prepared");
    run->model = cf_str_from("prepared");
    run->raw = cf_str_from(raw);
    run->stop_reason = cf_str_from("end");
    run->tools = m->tools;
    run->n_tools = m->n_tools;
    if (template_hash != NULL) {
        run->template_hash = cf_str_from(template_hash);
    }
    turn->run = run;
}

static cf_store_turn *say_reply(maker *m, const char *text, const char *template_hash,
                                const cf_store_turn *previous)
{
    cf_store_turn *turn =
        add(m, json_pack("{s:s,s:s}", "role", "assistant", "content", text), previous);
    give_run(m, turn, text, template_hash);
    return turn;
}

/* ---- trees -------------------------------------------------------------- */

static void begin(maker *m, const char *title, const char *more_tag)
{
    cf_store_tree *t = &m->tree[m->n_trees];
    cf_str *tags = cf_arena_calloc(m->arena, 2, sizeof *tags);
    m->turn = cf_arena_calloc(m->arena, TURNS_MAX, sizeof *m->turn);
    if (tags == NULL || m->turn == NULL) {
        m->failed = true;
        return;
    }
    tags[0] = cf_str_from(CF_EXAMPLE_TAG);
    tags[1] = cf_str_from(more_tag != NULL ? more_tag : "");
    t->turns = m->turn;
    t->conv = (cf_store_conv){.id = cf_uuid_new(),
                              .title = cf_str_from(title),
                              .created_ms = m->ms,
                              .tags = tags,
                              .n_tags = more_tag != NULL ? 2 : 1};
}

static void end(maker *m, const cf_store_turn *head)
{
    cf_store_tree *t = &m->tree[m->n_trees++];
    if (head != NULL) {
        t->conv.head = head->id;
    }
    t->conv.updated_ms = m->ms;
}

static void make_notes(maker *m)
{
    cf_store_turn *last = NULL;
    begin(m, "Notes", CF_DEMO_NOTES_TAG);
    for (const char *const *note = cf_demo_prepared_notes; !m->failed && *note != NULL; note++) {
        last = say(m, "user", *note);
    }
    if (!m->failed) {
        end(m, last);
    }
}

/* The call, a real result of it, and the answer; the last turn. */
static cf_store_turn *add_round(maker *m, const cf_store_turn *question, const char *template_hash)
{
    cf_demo *demo = NULL;
    json_t *args = json_pack("{s:s}", "location", "Oslo"), *result = NULL;
    cf_buf text = CF_BUF_INIT;
    json_t *call = json_pack("{s:s,s:s,s:[{s:s,s:{s:s,s:O}}]}", "role", "assistant", "content", "",
                             "tool_calls", "type", "function", "function", "name", "get_weather",
                             "arguments", args);
    cf_store_turn *reply = add(m, call, question), *last = reply;
    give_run(m, reply, CALL, template_hash);
    bool ok =
        cf_demo_new(&demo, NULL, false, NULL) == CF_OK &&
        cf_demo_run(demo, (cf_uuid){{0}}, cf_str_from("get_weather"), args, &result, NULL) == CF_OK;
    json_t *content = ok ? cf_demo_content(result) : NULL;
    const char *said = json_string_value(content);
    if (said != NULL) {
        add(m, json_pack("{s:s,s:s,s:s}", "role", "tool", "name", "get_weather", "content", said),
            NULL);
        cf_str sky = cf_json_get_str(result, "condition");
        cf_buf_addf(&text, "It is %d degrees celsius and %.*s in Oslo.",
                    (int)json_integer_value(json_object_get(result, "temperature")), (int)sky.n,
                    sky.p);
        cf_str kept = keep(m, cf_buf_str(&text));
        last = say_reply(m, kept.n != 0 ? kept.p : "", template_hash, NULL);
    }
    m->failed = m->failed || said == NULL || text.failed;
    cf_buf_deinit(&text);
    json_decref(content);
    json_decref(result);
    json_decref(args);
    cf_demo_free(demo);
    return last;
}

static void make_round(maker *m)
{
    begin(m, "A tool round", NULL);
    if (!m->failed) {
        end(m, add_round(m, say(m, "user", QUESTION), m->fixed));
    }
}

static void make_templates(maker *m)
{
    begin(m, "A broken template beside its fix", NULL);
    if (m->failed) {
        return;
    }
    const cf_store_turn *question = say(m, "user", QUESTION);
    say_reply(m, "I cannot look that up: I know of no tool.", m->broken, NULL);
    say(m, "user", why_question);
    const cf_store_turn *head = say_reply(m, why_answer, m->broken, NULL);
    add_round(m, question, m->fixed);
    end(m, head);
}

/* The welcome asks for the weather, so it goes on with the tools. */
static void offer_tools(maker *m)
{
    cf_buf text = CF_BUF_INIT;
    cf_jw w;
    if (m->failed || m->offered == NULL) {
        return;
    }
    cf_jw_init(&w, &text);
    cf_jw_object(&w, NULL);
    cf_jw_json(&w, "tools", m->offered);
    cf_jw_end(&w);
    m->tree[m->n_trees - 1].conv.preface = keep(m, cf_buf_str(&text));
    m->failed = m->failed || text.failed;
    cf_buf_deinit(&text);
}

static void make_welcome(maker *m)
{
    const cf_store_turn *last = NULL;
    begin(m, "Welcome to confab", NULL);
    for (size_t i = 0; !m->failed && welcome[i] != NULL; i++) {
        last = say(m, i % 2 == 0 ? "user" : "assistant", welcome[i]);
    }
    if (!m->failed) {
        end(m, last);
    }
    offer_tools(m);
}

/* ---- putting them ------------------------------------------------------- */

static cf_status put_templates(maker *m, cf_store *store, cf_error *err)
{
    const cf_str broken = cf_str_make((const char *)cf_embed_tui_demo_example_broken_jinja,
                                      cf_embed_tui_demo_example_broken_jinja_size);
    const cf_str fixed = cf_str_make((const char *)cf_embed_tui_demo_example_fixed_jinja,
                                     cf_embed_tui_demo_example_fixed_jinja_size);
    CF_TRY(cf_store_put_template(store, cf_str_from("example-broken"), broken, cf_str_from(""),
                                 m->broken, err));
    return cf_store_put_template(store, cf_str_from("example-fixed"), fixed, cf_str_from(m->broken),
                                 m->fixed, err);
}

static void write_tools(maker *m)
{
    json_t *list = cf_demo_declarations();
    size_t n = json_array_size(list);
    m->tools = cf_arena_calloc(m->arena, n + 1, sizeof *m->tools);
    m->failed = m->failed || n == 0 || m->tools == NULL;
    for (size_t i = 0; !m->failed && i < n; i++) {
        cf_buf text = CF_BUF_INIT;
        cf_json_write(&text, json_array_get(list, i));
        m->tools[m->n_tools++] = keep(m, cf_buf_str(&text));
        m->failed = m->failed || text.failed;
        cf_buf_deinit(&text);
    }
    json_decref(list);
}

static cf_status put_trees(maker *m, cf_store *store, cf_error *err)
{
    const cf_store_tree *trees[TREES];
    cf_store_put_report reports[TREES];
    cf_error errs[TREES] = {{0}};
    write_tools(m);
    make_notes(m);
    make_templates(m);
    make_round(m);
    make_welcome(m);
    if (m->failed) {
        return cf_oom_for(err, "the examples");
    }
    for (size_t i = 0; i < TREES; i++) {
        trees[i] = &m->tree[i];
    }
    CF_TRY(cf_store_put_trees(store, trees, TREES, NULL, reports, errs, err));
    for (size_t i = 0; i < TREES; i++) {
        if (errs[i].code != CF_OK) {
            *err = errs[i];
            return err->code;
        }
    }
    return CF_OK;
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

cf_status cf_examples_make(cf_store *store, const json_t *tools, cf_uuid *id, cf_error *err)
{
    cf_arena arena;
    cf_error why = {0};
    cf_arena_init(&arena, 0);
    maker m = {.arena = &arena, .ms = cf_os_now_ms() - 120000, .offered = tools};
    *id = (cf_uuid){{0}};
    cf_status st = CF_OK;
    if (claim(store, &arena, &why)) {
        st = put_templates(&m, store, err);
        CF_THEN(st, put_trees(&m, store, err));
        if (st == CF_OK) {
            *id = m.tree[TREES - 1].conv.id;
        }
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
    cf_status st =
        cf_lab_send(lab, cf_str_from("How do I regenerate a reply?"), (cf_uuid){{0}}, err);
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
    const cf_store_conv conv = {.title = cf_str_from("A reply worth forking"),
                                .created_ms = cf_os_now_ms() - 60000,
                                .updated_ms = cf_os_now_ms() - 60000,
                                .tags = &tag,
                                .n_tags = 1};
    cf_uuid id;
    CF_TRY(cf_store_put_conv(store, &conv, &id, err));
    CF_TRY(cf_lab_open_conv(lab, id, (cf_uuid){{0}}, err));
    return ask(lab, err);
}
