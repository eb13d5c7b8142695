/*
 * test_same_prompt.c - for every stored conversation the workbench, `run
 * --show-prompt`, a comparison and a send make the same bytes.
 *
 * The conversations are generated: own ones with prefaces and runs of every
 * kind, the same read back from every format that can be exported, and small
 * files of the formats that can only be imported.
 */
#include <sqlite3.h>
#include <stdio.h>

#include "core/base/hash.h"
#include "core/base/os.h"
#include "core/json/json_writer.h"
#include "storage/exchange.h"
#include "templates/builtin.h"
#include "templates/chat_template.h"
#include "tests/support/program.h"
#include "tests/support/store_dir.h"
#include "tests/support/store_gen.h"
#include "tests/support/t.h"
#include "tui/lab/compare/diff_model.h"
#include "tui/lab/lab.h"
#include "tui/lab/prompt/lab_prompt.h"
#include "tui/lab/talk/lab_conversation.h"
#include "tui/lab/talk/lab_send.h"
#include "tui/lab/tools/lab_tools.h"

enum { OWN = 140, EXPORTED = 30, MIN_CHECKED = 300, SHOWN_EACH = 8 };

/* Shows everything that a face might lose: roles, tools, variables. */
static const char every[] = "{%- if tools %}<tools>{{ tools | tojson }}</tools>{% endif %}"
                            "{%- for m in messages %}<{{ m.role }}>"
                            "{{ m.content if m.content is string else m.content | tojson }}\n"
                            "{%- endfor %}{{ mood }}|{{ enable_thinking }}";

/* ---- stored conversations ----------------------------------------------- */

static cf_str text_of(cf_arena *a, cf_buf *b)
{
    cf_str s = cf_str_make(cf_arena_strndup(a, b->p, b->n), b->n);
    cf_buf_deinit(b);
    return s;
}

/* System messages, declarations in several shapes, variables. */
static cf_str some_preface(cf_rand *r, cf_arena *a)
{
    static const char *const tools[] = {
        "[{\"name\":\"f\",\"description\":\"d\"}]",
        "{\"tools\":[{\"type\":\"function\",\"function\":{\"name\":\"g\"}}]}",
        "{\"name\":\"h\",\"parameters\":{\"type\":\"object\"}}",
        "[{\"no\":\"name\"}]",
        "\"not declarations\"",
        "[]",
    };
    cf_buf b = CF_BUF_INIT;
    cf_jw w;
    cf_jw_init(&w, &b);
    cf_jw_object(&w, NULL);
    if (cf_rand_below(r, 2) == 0) {
        cf_jw_raw(&w, "messages",
                  cf_str_from("[{\"role\":\"system\",\"content\":\"BE A "
                              "PIRATE\"},{\"role\":\"developer\","
                              "\"content\":\"and short\"}]"));
    }
    if (cf_rand_below(r, 2) == 0) {
        cf_jw_raw(&w, "tools", cf_str_from(tools[cf_rand_below(r, 6)]));
    }
    if (cf_rand_below(r, 2) == 0) {
        cf_jw_raw(&w, "extra_context", cf_str_from("{\"mood\":\"calm\",\"enable_thinking\":true}"));
    }
    cf_jw_end(&w);
    return text_of(a, &b);
}

static void put_own(cf_store *store, uint64_t seed, size_t n)
{
    cf_rand r = {seed};
    cf_error err, errs[1];
    char hash[65];
    cf_store_put_report report;
    T_OK(cf_store_put_template(store, cf_str_from("own"), cf_str_from("{{ messages }}"),
                               cf_str_from(""), hash, &err),
         err);
    const cf_str hashes[] = {cf_str_from(hash)};
    for (size_t i = 0; i < n; i++) {
        cf_arena a;
        cf_arena_init(&a, 0);
        cf_store_tree tree = store_gen_tree(&r, &a, 8, hashes, 1);
        tree.conv.place = CF_PLACE_LIVE;
        tree.conv.preface = some_preface(&r, &a);
        const cf_store_tree *one = &tree;
        T_OK(cf_store_put_trees(store, &one, 1, NULL, &report, errs, &err), err);
        assert_int_equal(errs[0].code, CF_OK);
        cf_arena_deinit(&a);
    }
}

/* Reads a file of `format` into `to`; what a format refuses is left out. */
static void import(cf_store *to, cf_format format, cf_str text)
{
    cf_error err;
    cf_import_report report;
    const cf_import_options o = {.format = format, .name = "x"};
    T_OK(cf_import_bytes(to, text.p, text.n, &o, &report, &err), err);
}

static void put_exported(cf_store *to, cf_format format)
{
    char name[32];
    cf_store *from;
    cf_error err;
    cf_arena a;
    cf_exporter *ex;
    cf_buf text = CF_BUF_INIT;
    const cf_store_conv *rows;
    size_t n;
    const cf_store_options so = {.flags = CF_STORE_CREATE};
    const cf_export_options eo = {.format = format};
    snprintf(name, sizeof name, "from-%s.db", cf_format_name(format));
    T_OK(cf_store_open(&from, store_dir_file(name), &so, &err), err);
    put_own(from, 1000 + (uint64_t)format, EXPORTED);
    cf_arena_init(&a, 0);
    const cf_store_query q = {.limit = 1000};
    T_OK(cf_store_list(from, &q, &a, &rows, &n, &err), err);
    T_OK(cf_export_begin(&ex, from, &eo, &err), err);
    for (size_t i = 0; i < n; i++) {
        T_OK(cf_export_conv(ex, rows[i].id, &text, &err), err);
    }
    cf_export_end(ex);
    import(to, format, cf_buf_str(&text));
    cf_buf_deinit(&text);
    cf_arena_deinit(&a);
    cf_store_close(from);
}

static void put_foreign(cf_store *to)
{
    static const char chatgpt[] =
        "[{\"title\":\"Trip\",\"conversation_id\":\"0190aaaa-0000-4000-8000-"
        "0000000000aa\",\"current_node\":\"b\",\"mapping\":{\"a\":{\"id\":"
        "\"a\",\"message\":{\"author\":{\"role\":\"user\"},\"content\":{"
        "\"content_type\":\"text\",\"parts\":[\"Where?\"]}}},\"b\":{\"id\":"
        "\"b\",\"parent\":\"a\",\"message\":{\"author\":{\"role\":"
        "\"assistant\"},\"content\":{\"content_type\":\"text\",\"parts\":["
        "\"There.\"]}}}}}]";
    static const char llm[] =
        "CREATE TABLE conversations (id TEXT PRIMARY KEY, name TEXT, model "
        "TEXT);"
        "CREATE TABLE responses (id TEXT PRIMARY KEY, model TEXT, prompt TEXT, "
        "system TEXT, prompt_json TEXT, options_json TEXT, response TEXT, "
        "response_json TEXT, conversation_id TEXT, duration_ms INTEGER, "
        "datetime_utc TEXT, input_tokens INTEGER, output_tokens INTEGER, "
        "token_details TEXT);"
        "INSERT INTO conversations VALUES('c1','Pelicans','m');"
        "INSERT INTO responses VALUES('01h1','m','draw','be brief',NULL,"
        "'{\"temperature\":0.5}','ok',NULL,'c1',1,'2024-01-01T00:00:00',1,1,"
        "NULL);";
    sqlite3 *db;
    cf_error err;
    cf_import_report report;
    const char *path = store_dir_file("llm.db");
    const cf_import_options o = {.format = CF_FORMAT_LLM_DB};
    import(to, CF_FORMAT_CHATGPT, cf_str_from(chatgpt));
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, llm, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
    T_OK(cf_import_file(to, path, &o, &report, &err), err);
    assert_int_equal(report.n_new, 1);
}

/* ---- the faces ---------------------------------------------------------- */

typedef struct face {
    const char *path; /* of the database */
    char template_file[128], script_file[128];
    cf_str source;
    cf_template *tpl;
    cf_backend *backend;
    cf_store *store;
    cf_lab *lab;
    cf_diff_pair pair;
    size_t n_checked, n_failed, n_shown;
} face;

static void open_face(face *f, const char *db, cf_str source)
{
    cf_error err;
    json_t *script;
    const cf_store_options so = {.flags = CF_STORE_CREATE};
    static const char replies[] = "{\"replies\":[{\"text\":\"Aye.\"}]}";
    *f = (face){.path = db, .source = source};
    snprintf(f->template_file, sizeof f->template_file, "%s", store_dir_file("face.jinja"));
    snprintf(f->script_file, sizeof f->script_file, "%s", store_dir_file("face.json"));
    T_OK(cf_os_write_file(f->template_file, source.p, source.n, 0600, &err), err);
    T_OK(cf_os_write_file(f->script_file, replies, strlen(replies), 0600, &err), err);
    T_OK(cf_template_compile(&f->tpl, source, NULL, NULL, NULL, &err), err);
    T_OK(cf_json_read(&script, replies, strlen(replies), &err), err);
    const cf_script_options o = {.renderer = cf_renderer_template(f->tpl)};
    T_OK(cf_backend_script_new(&f->backend, script, &o, &err), err);
    json_decref(script);
    T_OK(cf_store_open(&f->store, db, &so, &err), err);
    json_t *demo = json_pack("[{s:s}]", "name", "never_sent");
    const cf_lab_engine e = {
        .backend = f->backend, .template_name = "face", .template_source = source, .tools = demo};
    T_OK(cf_lab_new(&f->lab, &e, f->store, &err), err);
    json_decref(demo);
    T_OK(cf_diff_pair_of(&f->pair, NULL, source, source, &err), err);
}

static void close_face(face *f)
{
    cf_diff_pair_close(&f->pair);
    cf_lab_free(f->lab);
    cf_store_close(f->store);
    cf_backend_free(f->backend);
    cf_template_free(f->tpl);
}

/* The prompt that a comparison renders; "" after a failure. */
static void compared(face *f, cf_uuid id, cf_buf *out)
{
    cf_arena a;
    cf_error err;
    cf_conversation *conv;
    char title[80];
    cf_diff_renders r = {.status = {CF_OK, CF_OK}};
    json_t *again = json_pack("{s:s,s:s}", "role", "user", "content", "again");
    const cf_send send = {.message = again};
    cf_arena_init(&a, 0);
    T_OK(cf_diff_load(f->store, id, NULL, &a, &conv, title, &err), err);
    T_OK(cf_diff_pair_one(&f->pair, 0, conv, &send, &r, &a, &err), err);
    if (r.status[0] == CF_OK) {
        cf_buf_add(out, r.prompt[0].text.p, r.prompt[0].text.n);
    }
    cf_conversation_free(conv);
    cf_arena_deinit(&a);
    json_decref(again);
}

/* Only tools that the preface or a run of the conversation has. */
static void expect_known_tools(face *f)
{
    assert_null(cf_tool_set_find(cf_lab_tools(f->lab), cf_str_from("never_sent")));
}

static void expect_shown(face *f, cf_uuid id, const cf_buf *want)
{
    char name[CF_UUID_TEXT + 1], model[512];
    cf_program p;
    cf_uuid_format(name, id);
    snprintf(model, sizeof model, "script:%s", f->script_file);
    CF_PROGRAM(&p, "run", "--db", f->path, "-m", model, "-t", f->template_file, "--continue", name,
               "--show-prompt", "again");
    if (p.status != 0) {
        fail_msg("%s", cf_buf_cstr(&p.err));
    }
    assert_int_equal(p.out.n, want->n);
    assert_memory_equal(p.out.p, want->p, want->n);
    cf_program_deinit(&p);
    f->n_shown++;
}

/* The hash of the prompt that the store has of the newest reply. */
static void expect_sent(face *f, const cf_buf *want)
{
    size_t n;
    cf_error err;
    cf_arena a;
    cf_store_turn turn;
    char hash[CF_HASH_TEXT + 1];
    const cf_turn *const *path = cf_lab_path(f->lab, &n);
    cf_uuid head = n > 0 ? path[n - 1]->id : (cf_uuid){{0}};
    T_OK(cf_lab_send(f->lab, cf_str_from("again"), head, &err), err);
    cf_lab_settle(f->lab, &err);
    assert_int_equal(err.code, CF_OK);
    path = cf_lab_path(f->lab, &n);
    cf_arena_init(&a, 0);
    T_OK(cf_store_get_turn(f->store, path[n - 1]->id, &a, &turn, &err), err);
    assert_non_null(turn.run);
    cf_hash_hex(hash, want->p, want->n);
    T_TEXT(turn.run->prompt_hash.p, turn.run->prompt_hash.n, hash);
    cf_arena_deinit(&a);
}

static void check(face *f, cf_uuid id, bool is_shown)
{
    cf_error err;
    cf_buf own = CF_BUF_INIT, other = CF_BUF_INIT;
    T_OK(cf_lab_open_conv(f->lab, id, (cf_uuid){{0}}, &err), err);
    expect_known_tools(f);
    cf_lab_set_unsent(f->lab, cf_str_from("again"));
    const cf_prompt_model *m = cf_lab_prompt(f->lab);
    compared(f, id, &other);
    if (m != NULL) {
        cf_buf_add(&own, m->prompt.text.p, m->prompt.text.n);
    }
    assert_int_equal(own.n, other.n);
    if (own.n > 0) {
        assert_memory_equal(own.p, other.p, own.n);
        if (is_shown) {
            expect_shown(f, id, &own);
        }
        cf_lab_set_unsent(f->lab, cf_str_make(NULL, 0));
        expect_sent(f, &own);
    }
    f->n_failed += own.n == 0;
    f->n_checked++;
    cf_buf_deinit(&own);
    cf_buf_deinit(&other);
}

static void check_all(face *f)
{
    cf_arena a;
    cf_error err;
    const cf_store_conv *rows;
    size_t n;
    const cf_store_query q = {.limit = 10000, .sort = CF_SORT_CREATED};
    cf_arena_init(&a, 0);
    T_OK(cf_store_list(f->store, &q, &a, &rows, &n, &err), err);
    for (size_t i = 0; i < n; i++) {
        check(f, rows[i].id, cf_program_path() != NULL && i % SHOWN_EACH == 0);
    }
    cf_arena_deinit(&a);
}

static void test_same_prompt__whatever_was_saved(void **state)
{
    (void)state;
    static const cf_format both_ways[] = {CF_FORMAT_CONFAB,   CF_FORMAT_OPENAI,
                                          CF_FORMAT_SHAREGPT, CF_FORMAT_CONVERSE,
                                          CF_FORMAT_LITERT,   CF_FORMAT_LLAMA_APP};
    const char *const sources[] = {NULL, "chatml", "qwen2.5"};
    for (size_t k = 0; k < sizeof sources / sizeof sources[0]; k++) {
        char db[256], name[16];
        face f;
        snprintf(name, sizeof name, "all%zu.db", k);
        snprintf(db, sizeof db, "%s", store_dir_file(name));
        open_face(&f, db, k == 0 ? cf_str_from(every) : cf_template_builtin(sources[k]));
        put_own(f.store, 7 + k, OWN / 2);
        if (k == 0) {
            put_own(f.store, 77, OWN / 2);
            for (size_t i = 0; i < sizeof both_ways / sizeof *both_ways; i++) {
                put_exported(f.store, both_ways[i]);
            }
            put_foreign(f.store);
        }
        check_all(&f);
        assert_true(k > 0 || f.n_checked >= MIN_CHECKED);
        assert_true(f.n_failed < f.n_checked / 2);
        close_face(&f);
    }
}

static void use_tool(face *f, const char *name)
{
    cf_error err;
    json_t *tools = json_pack("[{s:s}]", "name", name);
    T_OK(cf_lab_set_tools(f->lab, tools, &err), err);
    json_decref(tools);
}

static bool has_tool(face *f, const char *name)
{
    return cf_tool_set_find(cf_lab_tools(f->lab), cf_str_from(name)) != NULL;
}

static void send_new(face *f, cf_uuid parent)
{
    cf_error err;
    T_OK(cf_lab_send(f->lab, cf_str_from("Hello"), parent, &err), err);
    cf_lab_settle(f->lab, &err);
    assert_int_equal(err.code, CF_OK);
}

/* A conversation of the workbench comes back with the tools that were last
 * sent in it, and a new one has those of the session. */
static void test_same_prompt__tools_stay_with_their_conversation(void **state)
{
    (void)state;
    face f;
    cf_error err;
    size_t n;
    open_face(&f, store_dir_file("tools.db"), cf_str_from(every));
    send_new(&f, (cf_uuid){{0}}); /* with never_sent, the session's */
    cf_uuid first = cf_lab_conv_id(f.lab);
    use_tool(&f, "second");
    const cf_turn *const *path = cf_lab_path(f.lab, &n);
    cf_uuid reply = path[n - 1]->id;
    send_new(&f, reply);
    use_tool(&f, "third");
    cf_lab_new_conv(f.lab);
    assert_true(has_tool(&f, "third"));
    T_OK(cf_lab_open_conv(f.lab, first, (cf_uuid){{0}}, &err), err);
    assert_true(has_tool(&f, "second"));
    assert_false(has_tool(&f, "third"));
    T_OK(cf_lab_open_conv(f.lab, first, reply, &err), err);
    assert_true(has_tool(&f, "never_sent")); /* it was, up to here */
    assert_false(has_tool(&f, "second"));
    cf_lab_new_conv(f.lab);
    assert_true(has_tool(&f, "third"));
    T_FAILS(cf_lab_open_conv(f.lab, reply, reply, &err), CF_ENOTFOUND);
    assert_true(has_tool(&f, "third")); /* what was open stays */
    close_face(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same_prompt__tools_stay_with_their_conversation),
        cmocka_unit_test(test_same_prompt__whatever_was_saved),
    };
    return cmocka_run_group_tests(tests, store_dir_make, store_dir_remove);
}
