/*
 * test_exchange.c - files of other programs, awkward ones included.
 */
#include <sqlite3.h>

#include "storage/exchange.h"
#include "tests/support/store_dir.h"
#include "tests/support/t.h"

typedef struct fixture {
    cf_store *s;
    cf_import_report report;
    char notes[2000];
    uint64_t first_line;
    cf_arena a;
} fixture;

static int n_files;

static void setup(fixture *f)
{
    char name[20];
    cf_error err;
    snprintf(name, sizeof name, "x%d.db", n_files++);
    memset(f, 0, sizeof *f);
    cf_arena_init(&f->a, 0);
    T_OK(cf_store_open(&f->s, store_dir_file(name),
                       &(cf_store_options){.flags = CF_STORE_CREATE}, &err),
         err);
}

static void teardown(fixture *f)
{
    cf_arena_deinit(&f->a);
    cf_store_close(f->s);
}

static void note(void *ud, uint64_t line, const char *text)
{
    fixture *f = ud;
    char one[400];
    if (f->first_line == 0) {
        f->first_line = line;
    }
    snprintf(one, sizeof one, "%d:%s;", (int)line, text);
    strncat(f->notes, one, sizeof f->notes - strlen(f->notes) - 1);
}

static void import(fixture *f, cf_format format, const char *text)
{
    cf_error err;
    cf_import_options opts = {.format = format, .note = note, .ud = f};
    T_OK(cf_import_bytes(f->s, text, strlen(text), &opts, &f->report, &err),
         err);
}

static size_t list(fixture *f, const cf_store_conv **rows)
{
    size_t n;
    cf_error err;
    cf_store_query q = {.sort = CF_SORT_CREATED};
    T_OK(cf_store_list(f->s, &q, &f->a, rows, &n, &err), err);
    return n;
}

static cf_store_tree only_tree(fixture *f)
{
    cf_error err;
    const cf_store_conv *rows;
    cf_store_tree tree;
    assert_int_equal(list(f, &rows), 1);
    T_OK(cf_store_get_tree(f->s, rows[0].id, CF_TREE_RUNS, &f->a, &tree, &err),
         err);
    return tree;
}

static void says(const cf_store_tree *t, size_t i, const char *json)
{
    assert_true(i < t->n);
    assert_string_equal(t->turns[i].message.p, json);
}

static void export_is(fixture *f, cf_format format, const char *want)
{
    cf_error err;
    cf_buf out = CF_BUF_INIT;
    cf_exporter *ex;
    const cf_store_conv *rows;
    cf_export_options opts = {.format = format};
    size_t n = list(f, &rows);
    T_OK(cf_export_begin(&ex, f->s, &opts, &err), err);
    for (size_t i = n; i > 0; i--) {
        T_OK(cf_export_conv(ex, rows[i - 1].id, &out, &err), err);
    }
    cf_export_end(ex);
    assert_string_equal(cf_buf_cstr(&out), want);
    cf_buf_deinit(&out);
}

/* ---- OpenAI ------------------------------------------------------------- */

static void test_openai__lines(void **state)
{
    (void)state;
    fixture f;
    setup(&f);
    import(
        &f, CF_FORMAT_OPENAI,
        "\xEF\xBB\xBF{\"messages\":[{\"role\":\"user\",\"content\":[{"
        "\"type\":\"text\",\"text\":\"hi\"}]},{\"role\":\"assistant\","
        "\"content\":null,\"tool_calls\":[{\"id\":\"1\",\"function\":{"
        "\"name\":\"f\",\"arguments\":\"{\\\"a\\\":1}\"}}]}],\"tools\":[]}\r\n"
        "\n"
        "{\"messages\":[{\"role\":\"user\"\n"
        "{\"messages\":[{\"content\":\"no role\"}]}\n"
        "{\"messages\":[]}\n"
        "[1,2]\n"
        "{\"messages\":[{\"role\":\"user\",\"content\":7}]}\n");
    assert_int_equal(f.report.n_new, 1);
    assert_int_equal(f.report.n_bad, 5);
    assert_int_equal(f.first_line, 3);
    assert_non_null(strstr(f.notes, "4:message 1 has no role"));
    cf_store_tree t = only_tree(&f);
    says(&t, 0,
         "{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"hi\"}]"
         "}");
    assert_true(cf_uuid_eq(t.turns[1].parent, t.turns[0].id));
    assert_int_equal(t.turns[1].status, CF_TURN_IMPORTED);
    teardown(&f);
}

static void test_openai__pretty_document_and_list(void **state)
{
    (void)state;
    fixture f;
    setup(&f);
    import(
        &f, CF_FORMAT_OPENAI,
        "{\n  \"messages\": [\n{\"role\": \"user\", \"content\": \"a\"}\n]\n}");
    import(&f, CF_FORMAT_OPENAI,
           "[\n {\"messages\":[{\"role\":\"user\",\"content\":\"]}\\\"[\"}]},\n"
           " {\"messages\":\n  oops},\n"
           " {\"messages\":[{\"role\":\"user\",\"content\":\"c\"}]}\n]\n");
    assert_int_equal(f.report.n_new, 2);
    assert_int_equal(f.report.n_bad, 1);
    assert_int_equal(f.first_line, 4);
    const cf_store_conv *rows;
    assert_int_equal(list(&f, &rows), 3);
    teardown(&f);
}

static void test_openai__arguments_are_text(void **state)
{
    (void)state;
    fixture f;
    setup(&f);
    import(&f, CF_FORMAT_LITERT,
           "[{\"role\":\"user\",\"content\":\"x\"},{\"role\":\"agent\","
           "\"tool_calls\":[{\"function\":{\"name\":\"f\",\"arguments\":{"
           "\"b\":[1,2.5]}}}]}]");
    export_is(&f, CF_FORMAT_OPENAI,
              "{\"messages\":[{\"role\":\"user\",\"content\":\"x\"},{\"role\":"
              "\"assistant\",\"tool_calls\":[{\"function\":{\"name\":\"f\","
              "\"arguments\":\"{\\\"b\\\":[1,2.5]}\"},\"id\":\"call_1\","
              "\"type\":\"function\"}]}]}\n");
    export_is(&f, CF_FORMAT_LITERT,
              "{\"messages\":[{\"role\":\"user\",\"content\":\"x\"},{\"role\":"
              "\"agent\",\"tool_calls\":[{\"function\":{\"name\":\"f\","
              "\"arguments\":{\"b\":[1,2.5]}}}]}]}\n");
    teardown(&f);
}

static void test_litert__preface(void **state)
{
    (void)state;
    fixture f;
    setup(&f);
    const char *text =
        "{\"messages\":[{\"role\":\"system\",\"content\":{\"type\":\"text\","
        "\"text\":\"be kind\"}}],\"tools\":[{\"name\":\"g\"}],"
        "\"extra_context\":{\"enable_thinking\":true}}\n";
    import(&f, CF_FORMAT_LITERT, text);
    export_is(&f, CF_FORMAT_LITERT, text);
    teardown(&f);
}

/* ---- ShareGPT ----------------------------------------------------------- */

static void test_sharegpt__names(void **state)
{
    (void)state;
    fixture f;
    setup(&f);
    import(
        &f, CF_FORMAT_SHAREGPT,
        "{\"id\":\"q\",\"system\":\"S\",\"tools\":\"[{\\\"name\\\":\\\"f\\\"}"
        "]\",\"conversations\":[{\"from\":\"human\",\"value\":\"h\"},{"
        "\"from\":\"function_call\",\"value\":\"{\\\"name\\\":\\\"f\\\","
        "\\\"arguments\\\":{\\\"x\\\":1}}\"},{\"from\":\"observation\","
        "\"value\":\"o\"},{\"from\":\"gpt\",\"value\":\"g\"},{\"from\":"
        "\"narrator\",\"value\":\"n\"}]}\n"
        "{\"conversations\":[{\"from\":\"human\"}]}\n"
        "{\"conversations\":[{\"from\":\"function_call\",\"value\":\"not "
        "json\"}]}\n");
    assert_int_equal(f.report.n_new, 2);
    assert_int_equal(f.report.n_bad, 1);
    assert_int_equal(f.first_line, 2);
    export_is(
        &f, CF_FORMAT_SHAREGPT,
        "{\"conversations\":[{\"from\":\"system\",\"value\":\"S\"},{"
        "\"from\":\"human\",\"value\":\"h\"},{\"from\":\"function_call\","
        "\"value\":\"{\\\"name\\\":\\\"f\\\",\\\"arguments\\\":{\\\"x\\\":"
        "1}}\"},{\"from\":\"observation\",\"value\":\"o\"},{\"from\":\"gpt\","
        "\"value\":\"g\"},{\"from\":\"narrator\",\"value\":\"n\"}],"
        "\"tools\":\"[{\\\"name\\\":\\\"f\\\"}]\",\"id\":\"q\"}\n"
        "{\"conversations\":[{\"from\":\"function_call\",\"value\":\"not "
        "json\"}]}\n" +
            0);
    teardown(&f);
}

/* ---- ConverseHistory ---------------------------------------------------- */

static void test_converse__uuids(void **state)
{
    (void)state;
    fixture f;
    setup(&f);
    const char *text =
        "{\"history\":["
        "{\"role\":\"USER\",\"content\":{\"text\":\"a\"},\"uuid\":"
        "\"0190aaaa-0000-4000-8000-000000000001\"},"
        "{\"role\":\"agent\",\"content\":{\"text\":\"b\"},\"uuid\":"
        "\"0190aaaa-0000-4000-8000-000000000002\"},"
        "{\"role\":\"user\",\"content\":{\"text\":\"a again\"},\"uuid\":"
        "\"0190aaaa-0000-4000-8000-000000000001\"},"
        "{\"role\":\"user\",\"content\":{\"text\":\"same\"}},"
        "{\"role\":\"user\",\"content\":{\"text\":\"same\"}}]}";
    import(&f, CF_FORMAT_CONVERSE, text);
    assert_int_equal(f.report.n_turns, 4);
    assert_int_equal(f.report.n_skipped, 1);
    cf_store_tree t = only_tree(&f);
    says(&t, 0, "{\"role\":\"user\",\"content\":\"a\"}");
    says(&t, 3, "{\"role\":\"user\",\"content\":\"same\"}");
    assert_true(cf_uuid_eq(t.turns[2].parent, t.turns[1].id));
    /* The history has grown: only the new entry is imported, after the
     * known ones. */
    import(&f, CF_FORMAT_CONVERSE,
           "{\"history\":[{\"role\":\"user\",\"content\":{\"text\":\"changed\"}"
           ",\"uuid\":\"0190aaaa-0000-4000-8000-000000000002\"},{\"role\":"
           "\"mcp_response\",\"content\":{\"text\":\"more\"},\"uuid\":\"own "
           "name\"}]}");
    assert_int_equal(f.report.n_turns, 1);
    assert_int_equal(f.report.n_skipped, 1);
    assert_int_equal(f.report.n_known, 1);
    t = only_tree(&f);
    says(&t, 1, "{\"role\":\"agent\",\"content\":\"b\"}");
    assert_true(cf_uuid_eq(t.turns[4].parent, t.turns[1].id));
    teardown(&f);
}

static void test_converse__json_as_content_survives(void **state)
{
    (void)state;
    fixture f;
    setup(&f);
    const char *text =
        "{\"history\":[{\"role\":\"developer\",\"content\":{\"text\":\"{"
        "\\\"history\\\": [1]}\"},\"uuid\":\"0190aaaa-0000-4000-8000-"
        "000000000003\"},{\"role\":\"user\",\"content\":{\"text\":\"see\","
        "\"binaryContent\":[{\"type\":\"x.BinaryContent.Bytes\",\"data\":[1,-2]"
        ","
        "\"mimeType\":\"image/png\"},{\"type\":\"TextDocument\",\"content\":"
        "\"doc\"}],\"context\":{\"k\":1}},\"uuid\":\"kept\"}]}\n";
    import(&f, CF_FORMAT_CONVERSE, text);
    assert_int_equal(f.report.n_turns, 2);
    export_is(&f, CF_FORMAT_CONVERSE, text);
    teardown(&f);
}

static void test_converse__empty_and_malformed(void **state)
{
    (void)state;
    fixture f;
    setup(&f);
    import(&f, CF_FORMAT_CONVERSE, "{}");
    assert_int_equal(f.report.n_new + f.report.n_bad, 0);
    import(&f, CF_FORMAT_CONVERSE,
           "{\"history\":[{\"role\":\"user\",\"content\":{\"text\":\"ok\"}},{"
           "\"role\":\"user\"}]}");
    assert_int_equal(f.report.n_bad, 1);
    assert_int_equal(f.report.n_turns, 0); /* never half */
    import(&f, CF_FORMAT_CONVERSE, "");
    assert_int_equal(f.report.n_bad, 0);
    teardown(&f);
}

/* ---- llama.app ---------------------------------------------------------- */

static void test_llama_app__tree(void **state)
{
    (void)state;
    fixture f;
    setup(&f);
    import(
        &f, CF_FORMAT_LLAMA_APP,
        "{\"type\":\"session\",\"harness\":\"llama.app\",\"id\":\"9f13a7d0-"
        "2b41-"
        "4c9e-8f77-1d6b6a2e5c10\",\"name\":\"Own\",\"currNode\":\"a2\","
        "\"lastModified\":50}\n"
        "{\"type\":\"message\",\"message\":{\"id\":\"a2\",\"parent\":\"u1\","
        "\"role\":\"assistant\",\"content\":\"two\",\"timestamp\":40,\"model\":"
        "\"m\",\"timings\":{\"cache_n\":3,\"prompt_n\":4,\"predicted_n\":5,"
        "\"predicted_ms\":1.5},\"toolCalls\":[{\"id\":\"c\",\"function\":{"
        "\"name\":\"f\",\"arguments\":\"{}\"}}]}}\n"
        "{\"type\":\"message\",\"message\":{\"id\":\"root\",\"type\":\"root\","
        "\"role\":\"system\",\"content\":\"\",\"parent\":null,\"timestamp\":1}}"
        "\n"
        "{\"type\":\"message\",\"message\":{\"id\":\"a1\",\"parent\":\"u1\","
        "\"role\":\"assistant\",\"content\":\"one\",\"timestamp\":30,"
        "\"reasoningContent\":\"hm\"}}\n"
        "{\"type\":\"later\",\"x\":1}\n"
        "{\"type\":\"message\",\"message\":{\"id\":\"u1\",\"parent\":\"root\","
        "\"role\":\"user\",\"content\":\"q\",\"timestamp\":20,\"extra\":[{"
        "\"type\":\"IMAGE\",\"name\":\"p.png\",\"base64Url\":\"data:image/"
        "png;base64,AAAA\"},{\"type\":\"TEXT\",\"name\":\"t\",\"content\":"
        "\"c\"}"
        "]}}\n"
        "{\"type\":\"session\",\"id\":\"bad\",\"name\":\"Second\"}\n"
        "{\"type\":\"message\",\"message\":{\"id\":\"x\"}}\n"
        "{\"type\":\"message\",\"message\":{\"id\":\"y\",\"role\":\"user\","
        "\"content\":\"lost with its session\"}}\n");
    assert_int_equal(f.report.n_new, 1);
    assert_int_equal(f.report.n_bad, 1);
    assert_int_equal(f.first_line, 8);
    cf_store_tree t = only_tree(&f);
    assert_int_equal(t.n, 3);
    assert_string_equal(t.conv.title.p, "Own");
    assert_int_equal(t.conv.n_forks, 1);
    says(&t, 0,
         "{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"q\"},{"
         "\"type\":\"image_url\",\"image_url\":{\"url\":\"data:image/"
         "png;base64,AAAA\"},\"name\":\"p.png\"},{\"type\":\"text\",\"text\":"
         "\"\\n\\n--- File: t ---\\nc\",\"llama_app\":{\"type\":\"TEXT\","
         "\"name\":\"t\"}}]}");
    says(&t, 1,
         "{\"role\":\"assistant\",\"content\":\"one\",\"reasoning_content\":"
         "\"hm\"}");
    assert_true(cf_uuid_eq(t.conv.head, t.turns[2].id));
    assert_int_equal(t.turns[2].run->n_kept, 3);
    assert_int_equal(t.turns[2].run->decode_us, 1500);
    /* The same again: nothing new. */
    teardown(&f);
}

static void test_llama_app__circle_and_old_form(void **state)
{
    (void)state;
    fixture f;
    setup(&f);
    import(&f, CF_FORMAT_LLAMA_APP,
           "{\"type\":\"session\",\"id\":\"c\"}\n"
           "{\"type\":\"message\",\"message\":{\"id\":\"1\",\"parent\":\"2\","
           "\"role\":\"user\",\"content\":\"\"}}\n"
           "{\"type\":\"message\",\"message\":{\"id\":\"2\",\"parent\":\"1\","
           "\"role\":\"user\",\"content\":\"\"}}\n");
    assert_int_equal(f.report.n_bad, 1);
    import(&f, CF_FORMAT_LLAMA_APP,
           "[{\"conv\":{\"id\":\"o\",\"name\":\"old\"},\"messages\":[{\"id\":"
           "\"m\",\"parent\":\"gone\",\"role\":\"user\",\"content\":\"z\"}]}]");
    assert_int_equal(f.report.n_new, 1);
    cf_store_tree t = only_tree(&f);
    assert_true(cf_uuid_is_nil(t.turns[0].parent));
    teardown(&f);
}

/* ---- ChatGPT ------------------------------------------------------------ */

static void test_chatgpt__mapping(void **state)
{
    (void)state;
    fixture f;
    setup(&f);
    import(
        &f, CF_FORMAT_CHATGPT,
        "[{\"title\":\"Trip\",\"create_time\":1700000000.5,\"update_time\":"
        "1700000100.0,\"conversation_id\":\"0190aaaa-0000-4000-8000-0000000000"
        "aa\",\"current_node\":\"n4\",\"is_archived\":false,\"mapping\":{"
        "\"n0\":{\"id\":\"n0\",\"message\":null,\"parent\":null,\"children\":["
        "\"n1\"]},"
        "\"n1\":{\"id\":\"n1\",\"message\":{\"author\":{\"role\":\"system\"},"
        "\"content\":{\"content_type\":\"text\",\"parts\":[\"\"]}},\"parent\":"
        "\"n0\"},"
        "\"n2\":{\"id\":\"n2\",\"message\":{\"author\":{\"role\":\"user\"},"
        "\"create_time\":1700000001.0,\"content\":{\"content_type\":"
        "\"multimodal_text\",\"parts\":[{\"content_type\":"
        "\"image_asset_pointer\",\"asset_pointer\":\"file-service://f\"},"
        "\"what?\"]}},\"parent\":\"n1\"},"
        "\"n3\":{\"id\":\"n3\",\"message\":{\"author\":{\"role\":\"assistant\"}"
        ","
        "\"create_time\":1700000002.0,\"recipient\":\"python\",\"content\":{"
        "\"content_type\":\"code\",\"language\":\"python\",\"text\":\"1+1\"},"
        "\"metadata\":{\"model_slug\":\"gpt-x\"}},\"parent\":\"n2\"},"
        "\"n4\":{\"id\":\"n4\",\"message\":{\"author\":{\"role\":\"tool\","
        "\"name\":\"python\"},\"create_time\":1700000003.0,\"content\":{"
        "\"content_type\":\"execution_output\",\"text\":\"2\"}},\"parent\":"
        "\"n3\"},"
        "\"n5\":{\"id\":\"n5\",\"message\":{\"author\":{\"role\":\"assistant\"}"
        ","
        "\"create_time\":1700000004.0,\"content\":{\"content_type\":"
        "\"thoughts\",\"thoughts\":[{\"summary\":\"s\",\"content\":\"c\"}]}},"
        "\"parent\":\"n2\"}}},"
        "{\"title\":\"no mapping\"}]");
    assert_int_equal(f.report.n_new, 1);
    assert_int_equal(f.report.n_bad, 1);
    cf_store_tree t = only_tree(&f);
    assert_int_equal(t.n, 4);
    assert_int_equal(t.conv.n_forks, 1);
    assert_string_equal(t.conv.title.p, "Trip");
    assert_int_equal(t.conv.created_ms, INT64_C(1700000000500));
    assert_true(cf_uuid_is_nil(t.turns[0].parent));
    says(
        &t, 1,
        "{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{\"type\":"
        "\"function\",\"function\":{\"name\":\"python\",\"arguments\":\"1+1\"}}"
        "]}");
    says(&t, 2, "{\"role\":\"tool\",\"content\":\"2\",\"name\":\"python\"}");
    says(&t, 3,
         "{\"role\":\"assistant\",\"content\":\"\",\"reasoning_content\":"
         "\"s\\nc\"}");
    assert_string_equal(t.turns[1].run->model.p, "gpt-x");
    assert_true(cf_uuid_eq(t.conv.head, t.turns[2].id));
    teardown(&f);
}

/* ---- llm ---------------------------------------------------------------- */

static const char old_llm[] =
    "CREATE TABLE conversations(id TEXT PRIMARY KEY, name TEXT, model TEXT);"
    "CREATE TABLE responses(id TEXT PRIMARY KEY, model TEXT, prompt TEXT, "
    "system TEXT, options_json TEXT, response TEXT, conversation_id TEXT, "
    "duration_ms INTEGER, datetime_utc TEXT);"
    "CREATE TABLE attachments(id TEXT PRIMARY KEY, type TEXT, path TEXT, url "
    "TEXT, content BLOB);"
    "CREATE TABLE prompt_attachments(response_id TEXT, attachment_id TEXT, "
    "\"order\" INTEGER);"
    "CREATE TABLE tool_calls(id INTEGER PRIMARY KEY, response_id TEXT, name "
    "TEXT, arguments TEXT, tool_call_id TEXT);"
    "CREATE TABLE tool_results(id INTEGER PRIMARY KEY, response_id TEXT, name "
    "TEXT, output TEXT, tool_call_id TEXT, exception TEXT);"
    "INSERT INTO conversations VALUES('c1', 'Pelicans', 'm');"
    "INSERT INTO responses VALUES('r1', 'm', 'draw', 'be brief', "
    "'{\"temperature\": 1, \"api_key\": \"sk\"}', 'ok', 'c1', 12, "
    "'2025-02-16T22:34:30.374882+00:00');"
    "INSERT INTO responses VALUES('r2', 'm', '', 'be brief', NULL, 'done', "
    "'c1', NULL, '2025-02-16 22:35:00');"
    "INSERT INTO responses VALUES('r3', 'm', 'alone', NULL, NULL, 'yes', NULL, "
    "1, '2025-02-17T00:00:00');"
    "INSERT INTO attachments VALUES('a', 'image/png', NULL, NULL, x'0102');"
    "INSERT INTO prompt_attachments VALUES('r1', 'a', 0);"
    "INSERT INTO tool_calls VALUES(1, 'r1', 'f', '{\"x\": 1}', 't1');"
    "INSERT INTO tool_results VALUES(1, 'r2', 'f', '42', 't1', NULL);";

static const char new_llm[] =
    "CREATE TABLE messages(hash TEXT PRIMARY KEY, parent_hash TEXT, role TEXT, "
    "provider_metadata TEXT);"
    "CREATE TABLE parts(id INTEGER PRIMARY KEY, message_hash TEXT, position "
    "INTEGER, type TEXT, tool_name TEXT, text TEXT, payload TEXT);"
    "CREATE TABLE fragments(id INTEGER PRIMARY KEY, hash TEXT, content TEXT);"
    "CREATE TABLE threads(id TEXT PRIMARY KEY, name TEXT, tip_message_hash "
    "TEXT, forked_from TEXT, datetime_utc TEXT);"
    "CREATE TABLE turns(id TEXT PRIMARY KEY, thread_id TEXT, "
    "parent_message_hash TEXT, tip_message_hash TEXT, model TEXT, options_json "
    "TEXT, input_tokens INTEGER, output_tokens INTEGER, duration_ms INTEGER, "
    "datetime_utc TEXT);"
    "INSERT INTO fragments VALUES(7, 'h', 'LONG');"
    "INSERT INTO messages VALUES('m1', NULL, 'user', NULL);"
    "INSERT INTO parts VALUES(1, 'm1', 0, 'text', NULL, NULL, '{\"text_ref\": "
    "[{\"fragment\": 7}, {\"literal\": \" and short\"}]}');"
    "INSERT INTO messages VALUES('m2', 'm1', 'assistant', NULL);"
    "INSERT INTO parts VALUES(2, 'm2', 0, 'reasoning', NULL, 'hm', NULL);"
    "INSERT INTO parts VALUES(3, 'm2', 1, 'tool_call', 'f', NULL, '{\"name\": "
    "\"f\", \"arguments\": {\"a\": 1}, \"tool_call_id\": \"k\"}');"
    "INSERT INTO messages VALUES('m3', 'm2', 'user', NULL);"
    "INSERT INTO parts VALUES(4, 'm3', 0, 'tool_result', 'f', NULL, "
    "'{\"name\": \"f\", \"output\": \"out\", \"tool_call_id\": \"k\"}');"
    "INSERT INTO messages VALUES('m4', 'm3', 'assistant', NULL);"
    "INSERT INTO parts VALUES(5, 'm4', 0, 'text', NULL, 'end', NULL);"
    "INSERT INTO messages VALUES('m5', 'm1', 'assistant', NULL);"
    "INSERT INTO parts VALUES(6, 'm5', 0, 'text', NULL, 'other', NULL);"
    "INSERT INTO threads VALUES('th', 'Thread', 'm4', NULL, "
    "'2026-01-01T00:00:00');"
    "INSERT INTO turns VALUES('r9', 'th', 'm1', 'm2', 'mm', '{}', 3, 4, 5, "
    "'2026-01-01T00:00:01');"
    "INSERT INTO turns VALUES('ra', 'th', 'm3', 'm4', 'mm', '{}', 6, 7, 8, "
    "'2026-01-01T00:00:02');"
    "INSERT INTO turns VALUES('rb', 'th', 'm1', 'm5', 'mm', '{}', 6, 7, 8, "
    "'2026-01-01T00:00:03');";

static void import_llm(fixture *f, const char *name, const char *a,
                       const char *b)
{
    sqlite3 *db;
    cf_error err;
    const char *path = store_dir_file(name);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, a, NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, b, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
    cf_import_options opts = {
        .format = CF_FORMAT_LLM_DB, .note = note, .ud = f};
    T_OK(cf_import_file(f->s, path, &opts, &f->report, &err), err);
    assert_int_equal(f->report.n_bad, 0);
}

static void test_llm__older(void **state)
{
    (void)state;
    fixture f;
    setup(&f);
    import_llm(&f, "old.db", old_llm, "");
    assert_int_equal(f.report.n_new, 2);
    const cf_store_conv *rows;
    cf_store_tree t;
    cf_error err;
    assert_int_equal(list(&f, &rows), 2);
    T_OK(cf_store_get_tree(f.s, rows[1].id, CF_TREE_RUNS, &f.a, &t, &err), err);
    assert_string_equal(t.conv.title.p, "Pelicans");
    assert_int_equal(t.n, 5);
    says(&t, 0, "{\"role\":\"system\",\"content\":\"be brief\"}");
    says(
        &t, 1,
        "{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"draw\"},"
        "{\"type\":\"image\",\"mime_type\":\"image/png\",\"blob\":\"AQI=\"}]}");
    says(&t, 2,
         "{\"role\":\"assistant\",\"content\":\"ok\",\"tool_calls\":[{\"type\":"
         "\"function\",\"id\":\"t1\",\"function\":{\"name\":\"f\","
         "\"arguments\":\"{\\\"x\\\": 1}\"}}]}");
    says(&t, 3,
         "{\"role\":\"tool\",\"name\":\"f\",\"content\":\"42\","
         "\"tool_call_id\":\"t1\"}");
    assert_string_equal(t.turns[2].run->options.p, "{\"temperature\":1}");
    assert_int_equal(t.turns[2].created_ms, INT64_C(1739745270374));
    teardown(&f);
}

static void test_llm__newer_and_both(void **state)
{
    (void)state;
    fixture f;
    setup(&f);
    import_llm(&f, "new.db", new_llm, "");
    cf_store_tree t = only_tree(&f);
    assert_int_equal(t.n, 5);
    assert_int_equal(t.conv.n_forks, 1);
    says(&t, 0, "{\"role\":\"user\",\"content\":\"LONG and short\"}");
    says(
        &t, 1,
        "{\"role\":\"assistant\",\"content\":\"\",\"reasoning_content\":\"hm\","
        "\"tool_calls\":[{\"type\":\"function\",\"id\":\"k\",\"function\":{"
        "\"name\":\"f\",\"arguments\":{\"a\":1}}}]}");
    says(&t, 2,
         "{\"role\":\"tool\",\"name\":\"f\",\"content\":\"out\","
         "\"tool_call_id\":\"k\"}");
    assert_int_equal(t.turns[1].run->n_reply, 4);
    assert_true(cf_uuid_eq(t.conv.head, t.turns[3].id));
    import_llm(&f, "both.db", old_llm, new_llm);
    assert_int_equal(f.report.n_new, 2);
    assert_int_equal(f.report.n_known, 1);
    assert_int_equal(f.report.n_skipped, 5);
    teardown(&f);
}

/* ---- confab, markdown --------------------------------------------------- */

static void test_confab__bad_line_loses_its_conversation_only(void **state)
{
    (void)state;
    fixture f;
    setup(&f);
    import(
        &f, CF_FORMAT_CONFAB,
        "{\"type\":\"conversation\",\"confab\":1,\"id\":\"0190aaaa-0000-4000-"
        "8000-000000000001\"}\n"
        "{\"type\":\"turn\",\"id\":\"0190aaaa-0000-4000-8000-000000000011\","
        "\"status\":\"ok\",\"message\":{\"role\":\"user\",\"content\":\"x\"}}\n"
        "{\"type\":\"turn\",\"id\":\"zz\"}\n"
        "{\"type\":\"turn\",\"id\":\"0190aaaa-0000-4000-8000-000000000012\","
        "\"status\":\"ok\",\"message\":{\"role\":\"user\"}}\n"
        "{\"type\":\"conversation\",\"confab\":2,\"id\":\"0190aaaa-0000-4000-"
        "8000-000000000002\"}\n"
        "{\"type\":\"conversation\",\"confab\":1,\"id\":\"0190aaaa-0000-4000-"
        "8000-000000000003\",\"title\":\"good\"}\n"
        "{\"type\":\"turn\",\"id\":\"0190aaaa-0000-4000-8000-000000000013\","
        "\"status\":\"streaming\",\"message\":{\"role\":\"assistant\"}}\n");
    assert_int_equal(f.report.n_new, 1);
    assert_int_equal(f.report.n_bad, 2);
    assert_non_null(strstr(f.notes, "3:turn: \"id\" is wrong"));
    cf_store_tree t = only_tree(&f);
    assert_string_equal(t.conv.title.p, "good");
    assert_int_equal(t.turns[0].status, CF_TURN_INTERRUPTED);
    teardown(&f);
}

static void test_markdown__is_harmless(void **state)
{
    (void)state;
    fixture f;
    setup(&f);
    import(&f, CF_FORMAT_OPENAI,
           "{\"messages\":[{\"role\":\"tool\",\"content\":\"```\\n\\u001b[2J\"}"
           "]}");
    cf_error err;
    cf_buf out = CF_BUF_INIT;
    cf_exporter *ex;
    const cf_store_conv *rows;
    list(&f, &rows);
    cf_export_options opts = {.format = CF_FORMAT_MARKDOWN};
    T_OK(cf_export_begin(&ex, f.s, &opts, &err), err);
    T_OK(cf_export_conv(ex, rows[0].id, &out, &err), err);
    cf_export_end(ex);
    assert_null(memchr(out.p, 0x1B, out.n));
    assert_non_null(strstr(out.p, "````\n```\n\\x1b[2J\n````\n"));
    cf_buf_deinit(&out);
    teardown(&f);
}

static void put_turn(fixture *f, const cf_store_turn *like, unsigned id,
                     cf_uuid parent, const char *message, cf_turn_status status)
{
    cf_error err;
    cf_store_turn t = {.id = {{(uint8_t)id}},
                       .conversation = like->conversation,
                       .parent = parent,
                       .message = cf_str_from(message),
                       .status = status};
    T_OK(cf_store_put_turn(f->s, &t, NULL, &err), err);
}

/* A reply that failed before anything of it came is no line of a branch. */
static void test_export__failed_replies(void **state)
{
    (void)state;
    static const char void_reply[] =
        "{\"role\":\"assistant\",\"content\":\"\"}";
    fixture f;
    setup(&f);
    import(&f, CF_FORMAT_OPENAI,
           "{\"messages\":[{\"role\":\"user\",\"content\":\"a\"}]}");
    cf_store_tree t = only_tree(&f);
    cf_uuid user = t.turns[0].id;
    put_turn(&f, &t.turns[0], 1, user, void_reply, CF_TURN_ERROR);
    export_is(&f, CF_FORMAT_OPENAI,
              "{\"messages\":[{\"role\":\"user\",\"content\":\"a\"}]}\n");
    put_turn(&f, &t.turns[0], 2, user,
             "{\"role\":\"assistant\",\"content\":\"b\"}", CF_TURN_OK);
    put_turn(&f, &t.turns[0], 3, user, void_reply, CF_TURN_STOPPED);
    export_is(&f, CF_FORMAT_OPENAI,
              "{\"messages\":[{\"role\":\"user\",\"content\":\"a\"},"
              "{\"role\":\"assistant\",\"content\":\"b\"}]}\n");
    teardown(&f);
}

static void test_formats__know_their_direction(void **state)
{
    (void)state;
    cf_error err;
    cf_format f;
    cf_exporter *ex;
    assert_true(cf_format_parse(&f, cf_str_from("llama-app")));
    assert_int_equal(f, CF_FORMAT_LLAMA_APP);
    assert_false(cf_format_parse(&f, cf_str_from("LLAMA")));
    cf_export_options opts = {.format = CF_FORMAT_CHATGPT};
    T_FAILS(cf_export_begin(&ex, NULL, &opts, &err), CF_EUNSUPPORTED);
    assert_true(cf_format_reads(CF_FORMAT_MARKDOWN));
    assert_false(cf_format_writes(CF_FORMAT_LLM_DB));
}

/* ---- the format is guessed ---------------------------------------------- */

static void guess(fixture *f, const char *text, bool is_dry)
{
    cf_error err;
    cf_import_options opts = {
        .guesses = true, .is_dry = is_dry, .note = note, .ud = f};
    T_OK(cf_import_bytes(is_dry ? NULL : f->s, text, strlen(text), &opts,
                         &f->report, &err),
         err);
}

#define USER "{\"role\":\"user\",\"content\":\"q\"}"
#define GPT  "{\"conversations\":[{\"from\":\"human\",\"value\":\"q\"}]}"

static const struct {
    const char *text, *name;
    size_t n_convs, n_turns;
} guesses[] = {
    {"{\"messages\":[" USER "]}\n{\"messages\":[" USER "," USER "]}\n",
     "OpenAI JSONL", 2, 3},
    {"\xEF\xBB\xBF\n[" USER "," USER "]", "OpenAI JSON", 1, 2},
    {"[[" USER "],[" USER "," USER "]]", "OpenAI JSON", 2, 3},
    {"{\"messages\": [\n" USER "]}", "OpenAI JSON", 1, 1},
    {"[" GPT "]", "ShareGPT JSON", 1, 1},
    {"not json\n" GPT "\n{}\n", "", 0, 0},
    {"{\"broken\n" GPT "\n" GPT "\n", "ShareGPT JSONL", 2, 2},
    {"[{\"from\":\"human\",\"value\":\"q\"}]", "ShareGPT JSON", 1, 1},
    {"{\"history\":[{\"role\":\"user\",\"content\":{\"text\":\"q\"}}]}",
     "ConverseHistory (TPipe) JSON", 1, 1},
    {"{\"messages\":[{\"role\":\"user\",\"content\":{\"text\":\"q\"},"
     "\"uuid\":\"a\"}]}",
     "ConverseHistory (TPipe) JSON", 1, 1},
    {"{\"messages\":[" USER ",{\"role\":\"model\",\"content\":\"a\"}]}",
     "LiteRT-LM JSON", 1, 2},
    {"{\"type\":\"session\",\"harness\":\"llama.app\",\"id\":\"s\"}\n"
     "{\"type\":\"message\",\"message\":{\"id\":\"m\",\"role\":\"user\","
     "\"content\":\"q\"}}\n",
     "llama.app JSONL", 1, 1},
    {"[{\"mapping\":{\"n\":{\"message\":{\"author\":{\"role\":\"user\"},"
     "\"content\":{\"parts\":[\"q\"]}}}}}]",
     "ChatGPT JSON", 1, 1},
    {"{\"type\":\"conversation\",\"confab\":1,\"id\":"
     "\"0190aaaa-0000-4000-8000-000000000001\"}\n{\"type\":\"turn\",\"id\":"
     "\"0190aaaa-0000-4000-8000-000000000011\",\"status\":\"ok\","
     "\"message\":" USER "}\n",
     "confab JSONL", 1, 1},
    {"{\"contents\":[{\"parts\":[{\"text\":\"q\"}]}]}", "Gemini JSON", 1, 1},
    {"{\"messages\":[{\"role\":\"user\",\"parts\":[{\"text\":\"q\"}]}]}",
     "Gemini JSON", 1, 1},
    {"{\"messages\":[{\"role\":\"function\",\"content\":[],"
     "\"tool_results\":[{\"id\":\"1\",\"content\":\"4\"}]}]}",
     "Xaibo JSON", 1, 1},
    {"7", "", 0, 0},
    {"[]", "", 0, 0},
    {"{\"messages\":3}", "", 0, 0},
    {"# A title\n", "", 0, 0},
    {"", "", 0, 0},
};

/* A dry run counts what a real one adds, and a second one adds nothing. */
static void test_guess__every_form_and_twice(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof guesses / sizeof guesses[0]; i++) {
        fixture f;
        const cf_store_conv *rows;
        setup(&f);
        guess(&f, guesses[i].text, true);
        assert_string_equal(f.report.read_as, guesses[i].name);
        assert_int_equal(f.report.n_new, guesses[i].n_convs);
        assert_int_equal(f.report.n_turns, guesses[i].n_turns);
        assert_int_equal(list(&f, &rows), 0);
        guess(&f, guesses[i].text, false);
        assert_string_equal(f.report.read_as, guesses[i].name);
        assert_int_equal(f.report.n_new, guesses[i].n_convs);
        assert_int_equal(f.report.n_turns, guesses[i].n_turns);
        guess(&f, guesses[i].text, false);
        assert_int_equal(f.report.n_new, 0);
        assert_int_equal(f.report.n_turns, 0);
        assert_int_equal(list(&f, &rows), guesses[i].n_convs);
        teardown(&f);
    }
}

static void test_gemini__calls_and_results(void **state)
{
    (void)state;
    fixture f;
    setup(&f);
    guess(&f,
          "{\"systemInstruction\":{\"parts\":[{\"text\":\"s\"}]},\"contents\":["
          "{\"role\":\"user\",\"parts\":[{\"text\":\"a\"},{\"inlineData\":{"
          "\"mimeType\":\"image/png\",\"data\":\"AA==\"}}]},"
          "{\"role\":\"model\",\"parts\":[{\"text\":\"t\",\"thought\":true},"
          "{\"functionCall\":{\"name\":\"f\",\"args\":{\"x\":1}}}]},"
          "{\"role\":\"user\",\"parts\":[{\"functionResponse\":{\"name\":\"f\","
          "\"response\":{\"y\":2}}},{\"functionResponse\":{\"name\":\"g\","
          "\"response\":\"z\"}}]}]}",
          false);
    cf_store_tree t = only_tree(&f);
    assert_int_equal(t.n, 5);
    says(&t, 0, "{\"role\":\"system\",\"content\":\"s\"}");
    says(&t, 1,
         "{\"role\":\"user\",\"content\":[{\"text\":\"a\",\"type\":\"text\"},"
         "{\"type\":\"image_url\",\"image_url\":{\"url\":"
         "\"data:image/png;base64,AA==\"}}]}");
    says(&t, 2,
         "{\"role\":\"assistant\",\"content\":\"\",\"reasoning_content\":\"t\","
         "\"tool_calls\":[{\"type\":\"function\",\"function\":{\"name\":\"f\","
         "\"arguments\":{\"x\":1}}}]}");
    says(&t, 3,
         "{\"role\":\"tool\",\"name\":\"f\",\"content\":\"{\\\"y\\\":2}\"}");
    says(&t, 4, "{\"role\":\"tool\",\"name\":\"g\",\"content\":\"z\"}");
    teardown(&f);
}

static void test_xaibo__calls_and_results(void **state)
{
    (void)state;
    fixture f;
    setup(&f);
    guess(&f,
          "[{\"role\":\"user\",\"content\":[{\"type\":\"image\",\"image\":"
          "\"data:x\"}]},{\"role\":\"assistant\",\"content\":[{\"type\":"
          "\"text\",\"text\":\"hm\"}],\"tool_calls\":[{\"id\":\"1\",\"name\":"
          "\"f\",\"arguments\":{\"x\":1}}]},{\"role\":\"function\",\"content\":"
          "[],\"tool_results\":[{\"id\":\"1\",\"name\":\"f\",\"content\":\"4\"}"
          "]}]",
          false);
    cf_store_tree t = only_tree(&f);
    assert_int_equal(t.n, 3);
    says(&t, 0,
         "{\"role\":\"user\",\"content\":[{\"type\":\"image_url\","
         "\"image_url\":{\"url\":\"data:x\"}}]}");
    says(&t, 1,
         "{\"role\":\"assistant\",\"content\":\"hm\",\"tool_calls\":[{\"id\":"
         "\"1\",\"type\":\"function\",\"function\":{\"name\":\"f\","
         "\"arguments\":{\"x\":1}}}]}");
    says(&t, 2,
         "{\"name\":\"f\",\"content\":\"4\",\"role\":\"tool\","
         "\"tool_call_id\":\"1\"}");
    teardown(&f);
}

/* ---- files read again --------------------------------------------------- */

static void test_again__a_grown_conversation_adds_what_is_new(void **state)
{
    (void)state;
    fixture f;
    setup(&f);
    guess(&f,
          "{\"id\":\"c\",\"conversations\":[{\"from\":\"human\",\"value\":"
          "\"a\"},{\"from\":\"gpt\",\"value\":\"a\"}]}",
          false);
    assert_int_equal(f.report.n_turns, 2);
    guess(&f,
          "{\"id\":\"c\",\"conversations\":[{\"from\":\"human\",\"value\":"
          "\"a\"},{\"from\":\"gpt\",\"value\":\"a\"},{\"from\":\"human\","
          "\"value\":\"a\"}]}",
          false);
    assert_int_equal(f.report.n_known, 1);
    assert_int_equal(f.report.n_turns, 1);
    assert_int_equal(only_tree(&f).n, 3);
    teardown(&f);
}

/* Entries without a UUID among others with one, the first included. */
static void test_again__converse_without_uuids(void **state)
{
    (void)state;
    fixture f;
    setup(&f);
    static const char text[] =
        "{\"history\":[{\"role\":\"user\",\"content\":{\"text\":\"a\"}},"
        "{\"role\":\"assistant\",\"content\":{\"text\":\"b\"},\"uuid\":\"u\"},"
        "{\"role\":\"user\",\"content\":{\"text\":\"a\"}},"
        "{\"role\":\"user\",\"content\":{\"text\":\"a\"}}]}";
    for (int i = 0; i < 3; i++) {
        import(&f, CF_FORMAT_CONVERSE, text);
        assert_int_equal(f.report.n_turns, i == 0 ? 4 : 0);
        assert_int_equal(only_tree(&f).n, 4);
    }
    teardown(&f);
}

/* Conversations that begin alike stay apart. */
static void test_again__same_beginning_is_not_same(void **state)
{
    (void)state;
    fixture f;
    const cf_store_conv *rows;
    setup(&f);
    guess(&f, "{\"messages\":[" USER "]}\n{\"messages\":[" USER "," USER "]}\n",
          false);
    assert_int_equal(list(&f, &rows), 2);
    assert_int_equal(rows[0].n_turns + rows[1].n_turns, 3);
    teardown(&f);
}

/* ---- what has no place is kept ------------------------------------------ */

static void export_all(fixture *f, cf_format format, cf_buf *out)
{
    cf_error err;
    cf_exporter *ex;
    const cf_store_conv *rows;
    cf_export_options opts = {.format = format};
    size_t n = list(f, &rows);
    T_OK(cf_export_begin(&ex, f->s, &opts, &err), err);
    for (size_t i = n; i > 0; i--) {
        T_OK(cf_export_conv(ex, rows[i - 1].id, out, &err), err);
    }
    cf_export_end(ex);
}

/* Line by line the same JSON, in any order of members.  "ROOT" stands for the
 * id that llama.app's root has. */
static void same_json(const char *want, const cf_buf *got)
{
    char root[CF_UUID_TEXT + 1] = "";
    const char *at = strstr(cf_buf_cstr(got), "\"parent\":\"");
    if (at != NULL) {
        snprintf(root, sizeof root, "%s", at + 10);
    }
    cf_buf all = CF_BUF_INIT;
    for (const char *p = want; *p != '\0'; p++) {
        if (strncmp(p, "ROOT", 4) == 0) {
            cf_buf_adds(&all, root);
            p += 3;
        } else {
            cf_buf_addc(&all, *p);
        }
    }
    const char *x = cf_buf_cstr(&all), *y = cf_buf_cstr(got);
    while (*x != '\0' && *y != '\0') {
        size_t n = strcspn(x, "\n"), m = strcspn(y, "\n");
        json_t *v, *w;
        cf_error err;
        T_OK(cf_json_read(&v, x, n, &err), err);
        T_OK(cf_json_read(&w, y, m, &err), err);
        if (!json_equal(v, w)) {
            fail_msg("%.*s\n%.*s", (int)n, x, (int)m, y);
        }
        json_decref(v);
        json_decref(w);
        x += n + (x[n] == '\n');
        y += m + (y[m] == '\n');
    }
    assert_true(*x == *y);
    cf_buf_deinit(&all);
}

/* What comes out is what went in; read again, it comes out byte for byte. */
static void same_again(cf_format format, const char *text)
{
    fixture f, g;
    cf_buf out = CF_BUF_INIT, again = CF_BUF_INIT;
    setup(&f);
    setup(&g);
    import(&f, format, text);
    assert_string_equal(f.notes, "");
    export_all(&f, format, &out);
    same_json(text, &out);
    import(&g, format, cf_buf_cstr(&out));
    assert_string_equal(g.notes, "");
    export_all(&g, format, &again);
    assert_string_equal(cf_buf_cstr(&again), cf_buf_cstr(&out));
    cf_buf_deinit(&out);
    cf_buf_deinit(&again);
    teardown(&f);
    teardown(&g);
}

static void test_kept__fields_of_every_form(void **state)
{
    (void)state;
    same_again(CF_FORMAT_OPENAI,
               "{\"messages\":[{\"role\":\"user\",\"content\":\"q\","
               "\"weight\":0,\"name\":\"Zoe\"}],\"model\":\"gpt\","
               "\"temperature\":0.5,\"metadata\":{\"a\":\"b\"},"
               "\"response_format\":{\"type\":\"json_object\"},"
               "\"functions\":[{\"name\":\"f\"}],\"unheard_of\":[1]}\n");
    same_again(CF_FORMAT_SHAREGPT,
               "{\"conversations\":[{\"from\":\"user\",\"value\":\"q\","
               "\"weight\":1},{\"from\":\"chatgpt\",\"value\":\"a\"}],"
               "\"images\":[\"a.png\"],\"id\":\"i_0\",\"source\":\"x\"}\n");
    same_again(CF_FORMAT_SHAREGPT,
               "{\"conversations\":[{\"from\":\"human\",\"value\":\"a "
               "<image>\\n<audio>b\"},{\"from\":\"gpt\",\"value\":\"c\"},{"
               "\"from\":\"human\",\"value\":\"<image>\"}],\"images\":["
               "\"data:image/png;base64,AAAA\",{\"path\":\"b.png\",\"bytes\":"
               "\"BBBB\"}],\"audios\":[\"https://x.org/c.wav\"],\"chosen\":{"
               "\"from\":\"gpt\",\"value\":\"d\"}}\n");
    same_again(CF_FORMAT_SHAREGPT,
               "{\"conversations\":[{\"from\":\"human\",\"value\":\"<image>"
               "\\nwhat?\"}],\"image\":\"dir/a.jpg\"}\n");
    same_again(
        CF_FORMAT_CONVERSE,
        "{\"history\":[{\"role\":\"user\",\"content\":{\"text\":\"q\","
        "\"binaryContent\":[{\"type\":\"x.BinaryContent.Bytes\",\"data\":[-1,"
        "0,127],\"mimeType\":\"image/png\"},{\"type\":\"Base64String\","
        "\"data\":\"QUJD\",\"mimeType\":\"audio/wav\",\"filename\":\"a\"},{"
        "\"type\":\"CloudReference\",\"uri\":\"gs://b\",\"mimeType\":"
        "\"image/png\"},{\"type\":\"TextDocument\",\"content\":\"t\","
        "\"mimeType\":\"text/plain\"},{\"type\":\"Bytes\",\"data\":[300]},{"
        "\"type\":\"Other\",\"x\":1}],\"context\":{\"a\":[1]},"
        "\"terminatePipeline\":true},\"uuid\":\"not-a-uuid-42\",\"extra\":7}],"
        "\"version\":123456789012345678901234567890}\n");
    same_again(
        CF_FORMAT_LLAMA_APP,
        "{\"type\":\"session\",\"harness\":\"llama.app\",\"id\":\"9f13a7d0-"
        "2b41-4c9e-8f77-1d6b6a2e5c10\",\"name\":\"n\",\"lastModified\":50,"
        "\"currNode\":\"9f13a7d0-2b41-4c9e-8f77-1d6b6a2e5c11\",\"pinned\":true,"
        "\"mcpServerOverrides\":[{\"id\":\"s\"}]}\n"
        "{\"type\":\"message\",\"message\":{\"id\":\"ROOT\",\"convId\":"
        "\"9f13a7d0-2b41-4c9e-8f77-1d6b6a2e5c10\",\"type\":\"root\","
        "\"timestamp\":40,\"role\":\"system\",\"content\":\"\",\"parent\":"
        "null,\"children\":[\"9f13a7d0-2b41-4c9e-8f77-1d6b6a2e5c11\"]}}\n"
        "{\"type\":\"message\",\"message\":{\"id\":\"9f13a7d0-2b41-4c9e-8f77-"
        "1d6b6a2e5c11\",\"convId\":\"9f13a7d0-2b41-4c9e-8f77-1d6b6a2e5c10\","
        "\"type\":\"text\",\"timestamp\":40,\"role\":\"user\",\"content\":"
        "\"q\",\"extra\":[{\"type\":\"IMAGE\",\"name\":\"p.png\","
        "\"base64Url\":\"data:image/png;base64,AAAA\",\"width\":3},{\"type\":"
        "\"TEXT\",\"name\":\"t\",\"content\":\"c\"},{\"type\":\"PDF\","
        "\"name\":\"d.pdf\",\"base64Data\":\"AAAA\",\"processedAsImages\":"
        "true,\"content\":\"x\",\"images\":[\"data:image/png;base64,AAAA\","
        "\"data:image/png;base64,BBBB\"]},{\"type\":\"AUDIO\",\"name\":\"s\","
        "\"base64Data\":\"AAAA\",\"mimeType\":\"audio/wav\"}],\"parent\":"
        "\"ROOT\",\"children\":[],\"model\":\"m\",\"starred\":true}}\n");
    same_again(CF_FORMAT_LITERT,
               "{\"messages\":[{\"role\":\"user\",\"content\":\"q\"}],"
               "\"extra_context\":{},\"unheard_of\":1}\n");
}

/* A picture from any program is a picture for every other. */
static void test_media__in_every_form(void **state)
{
    (void)state;
    static const struct {
        cf_format from;
        const char *text;
    } in[] = {
        {CF_FORMAT_CONVERSE,
         "{\"history\":[{\"role\":\"user\",\"content\":{\"text\":\"q\","
         "\"binaryContent\":[{\"type\":\"Base64String\",\"data\":"
         "\"QUJDRA==\",\"mimeType\":\"image/png\"}]}}]}"},
        {CF_FORMAT_CONVERSE,
         "{\"history\":[{\"role\":\"user\",\"content\":{\"text\":\"q\","
         "\"binaryContent\":[{\"type\":\"Bytes\",\"data\":[65,66,67,68],"
         "\"mimeType\":\"image/png\"}]}}]}"},
        {CF_FORMAT_OPENAI,
         "{\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"text\","
         "\"text\":\"q\"},{\"type\":\"image_url\",\"image_url\":{\"url\":"
         "\"data:image/png;base64,QUJDRA==\"}}]}]}"},
        {CF_FORMAT_OPENAI, /* Xaibo's */
         "{\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"text\","
         "\"text\":\"q\"},{\"type\":\"image\",\"image\":"
         "\"data:image/png;base64,QUJDRA==\"}]}]}"},
        {CF_FORMAT_OPENAI, /* Gemini's */
         "{\"contents\":[{\"role\":\"user\",\"parts\":[{\"text\":\"q\"},{"
         "\"inlineData\":{\"mimeType\":\"image/png\",\"data\":\"QUJDRA==\"}"
         "}]}]}"},
        {CF_FORMAT_LITERT,
         "{\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"text\","
         "\"text\":\"q\"},{\"type\":\"image\",\"blob\":\"QUJDRA==\"}]}]}"},
        {CF_FORMAT_SHAREGPT,
         "{\"conversations\":[{\"from\":\"human\",\"value\":\"q<image>\"}],"
         "\"images\":[\"data:image/png;base64,QUJDRA==\"]}"},
        {CF_FORMAT_LLAMA_APP,
         "{\"type\":\"session\",\"id\":\"s\"}\n{\"type\":\"message\","
         "\"message\":{\"id\":\"m\",\"role\":\"user\",\"content\":\"q\","
         "\"extra\":[{\"type\":\"IMAGE\",\"name\":\"n\",\"base64Url\":"
         "\"data:image/png;base64,QUJDRA==\"}]}}\n"},
        {CF_FORMAT_MARKDOWN,
         "---\nuuid: \"0190aaaa-0000-4000-8000-000000000001\"\n---\n\n## 1 "
         "user\n\n<!-- 0190aaaa-0000-4000-8000-000000000002 -->\n\n<!-- text "
         "-->\n\nq\n\n<!-- image -->\n\n"
         "![](data:image/png;base64,QUJDRA==)\n\n"},
    };
    static const struct {
        cf_format to;
        const char *want;
    } out[] = {
        {CF_FORMAT_CONVERSE, "\"mimeType\":\"image/png\""},
        {CF_FORMAT_OPENAI,
         "{\"type\":\"image_url\",\"image_url\":{\"url\":\"data:image/"
         "png;base64,QUJDRA==\"}}"},
        {CF_FORMAT_LITERT, "\"type\":\"image\",\"blob\":\"QUJDRA==\""},
        {CF_FORMAT_SHAREGPT, "\"images\":[\"data:image/png;base64,QUJDRA==\"]"},
        {CF_FORMAT_LLAMA_APP,
         "\"base64Url\":\"data:image/png;base64,QUJDRA==\""},
        {CF_FORMAT_MARKDOWN, "](data:image/png;base64,QUJDRA==)"},
    };
    for (size_t i = 0; i < sizeof in / sizeof in[0]; i++) {
        fixture f;
        setup(&f);
        import(&f, in[i].from, in[i].text);
        assert_string_equal(f.notes, "");
        for (size_t k = 0; k < sizeof out / sizeof out[0]; k++) {
            cf_buf text = CF_BUF_INIT;
            export_all(&f, out[k].to, &text);
            bool no_mime = in[i].from == CF_FORMAT_LITERT && k == 0;
            if (strstr(cf_buf_cstr(&text), out[k].want) == NULL && !no_mime) {
                fail_msg("%d to %s: %s", (int)i, cf_format_name(out[k].to),
                         cf_buf_cstr(&text));
            }
            cf_buf_deinit(&text);
        }
        teardown(&f);
    }
}

/* A picture of some size is in the database once. */
static void test_media__is_stored_once(void **state)
{
    (void)state;
    fixture f;
    sqlite3 *db;
    cf_buf text = CF_BUF_INIT;
    setup(&f);
    for (int i = 0; i < 3; i++) {
        cf_buf_addf(&text,
                    "{\"messages\":[{\"role\":\"user\",\"content\":[{"
                    "\"type\":\"text\",\"text\":\"%d\"},{\"type\":"
                    "\"image_url\",\"image_url\":{\"url\":\"data:image/"
                    "png;base64,",
                    i);
        for (int k = 0; k < 1000; k++) {
            cf_buf_adds(&text, "QUJD");
        }
        cf_buf_adds(&text, "\"}}]}]}\n");
    }
    import(&f, CF_FORMAT_OPENAI, cf_buf_cstr(&text));
    assert_int_equal(f.report.n_turns, 3);
    assert_int_equal(sqlite3_open(cf_store_path(f.s), &db), SQLITE_OK);
    sqlite3_stmt *st;
    assert_int_equal(
        sqlite3_prepare_v2(db, "SELECT count(*) FROM blob", -1, &st, NULL),
        SQLITE_OK);
    assert_int_equal(sqlite3_step(st), SQLITE_ROW);
    assert_int_equal(sqlite3_column_int(st, 0), 1);
    sqlite3_finalize(st);
    sqlite3_close(db);
    cf_buf_deinit(&text);
    teardown(&f);
}

static void test_chatgpt__citations_and_files(void **state)
{
    (void)state;
    fixture f;
    setup(&f);
    import(&f, CF_FORMAT_CHATGPT,
           "[{\"id\":\"c\",\"gizmo_id\":\"g-1\",\"mapping\":{\"u\":{"
           "\"message\":{\"author\":{\"role\":\"user\"},\"content\":{"
           "\"content_type\":\"text\",\"parts\":[\"read\"]},\"metadata\":{"
           "\"attachments\":[{\"id\":\"file-1\",\"name\":\"a.pdf\","
           "\"mimeType\":\"application/pdf\"}]}}},\"a\":{\"parent\":\"u\","
           "\"message\":{\"author\":{\"role\":\"assistant\"},\"recipient\":"
           "\"all\",\"content\":{\"content_type\":\"text\",\"parts\":[\"so\"]"
           "},\"metadata\":{\"citations\":[{\"start_ix\":0,\"end_ix\":2}],"
           "\"model_slug\":\"m\"}}}}}]");
    cf_store_tree t = only_tree(&f);
    says(&t, 0,
         "{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":"
         "\"read\"},{\"type\":\"file\",\"path\":\"file-1\",\"mime_type\":"
         "\"application/pdf\",\"name\":\"a.pdf\"}]}");
    assert_non_null(strstr(t.turns[1].source.p,
                           "\"citations\":[{\"start_ix\":0,\"end_ix\":2}]"));
    assert_non_null(strstr(t.turns[1].source.p, "\"recipient\":\"all\""));
    assert_non_null(strstr(t.conv.source.p, "\"gizmo_id\":\"g-1\""));
    teardown(&f);
}

static void test_llm__tools_and_schema(void **state)
{
    (void)state;
    static const char more[] =
        "CREATE TABLE tools(id INTEGER PRIMARY KEY, hash TEXT, name TEXT, "
        "description TEXT, input_schema TEXT, plugin TEXT);"
        "CREATE TABLE schemas(id TEXT PRIMARY KEY, content TEXT);"
        "CREATE TABLE tool_responses(tool_id INTEGER, response_id TEXT);"
        "CREATE TABLE turn_tools(turn_id TEXT, tool_id INTEGER);"
        "ALTER TABLE turns ADD COLUMN schema_id TEXT;"
        "ALTER TABLE turns ADD COLUMN token_details TEXT;"
        "INSERT INTO tools VALUES(1, 'h', 'f', 'does', '{\"type\": "
        "\"object\"}', NULL);"
        "INSERT INTO schemas VALUES('s', '{\"type\": \"string\"}');"
        "INSERT INTO turn_tools VALUES('ra', 1);"
        "UPDATE turns SET schema_id = 's', token_details = '{\"cached\": 2}' "
        "WHERE id = 'ra';";
    fixture f;
    setup(&f);
    import_llm(&f, "tools.db", new_llm, more);
    cf_store_tree t = only_tree(&f);
    const cf_store_turn *at = NULL;
    for (size_t i = 0; i < t.n; i++) {
        if (strstr(t.turns[i].message.p, "\"end\"") != NULL) {
            at = &t.turns[i];
        }
    }
    assert_non_null(at);
    assert_non_null(at->run);
    assert_int_equal(at->run->n_tools, 1);
    assert_string_equal(at->run->tools[0].p,
                        "{\"type\":\"function\",\"function\":{\"name\":\"f\","
                        "\"description\":\"does\",\"parameters\":{\"type\":"
                        "\"object\"}}}");
    assert_string_equal(at->run->constraint_spec.p,
                        "{\"schema\":{\"type\":\"string\"}}");
    assert_non_null(strstr(at->source.p, "\"token_details\":{\"cached\":2}"));
    cf_buf out = CF_BUF_INIT;
    export_all(&f, CF_FORMAT_OPENAI, &out);
    assert_non_null(strstr(cf_buf_cstr(&out), "\"json_schema\":{\"name\":"));
    assert_non_null(strstr(cf_buf_cstr(&out), "\"tools\":[{\"type\":"));
    cf_buf_deinit(&out);
    teardown(&f);
}

/* Calls without ids get one, and their results the same. */
static void test_openai__results_name_their_calls(void **state)
{
    (void)state;
    fixture f;
    setup(&f);
    import(&f, CF_FORMAT_OPENAI,
           "{\"messages\":[{\"role\":\"assistant\",\"tool_calls\":["
           "{\"function\":{\"name\":\"f\",\"arguments\":\"{}\"}},"
           "{\"id\":\"x\",\"function\":{\"name\":\"g\",\"arguments\":\"{}\"}},"
           "{\"function\":{\"name\":\"h\",\"arguments\":\"{}\"}}]},"
           "{\"role\":\"tool\",\"tool_call_id\":\"x\",\"content\":\"1\"},"
           "{\"role\":\"tool\",\"content\":\"2\"},"
           "{\"role\":\"tool\",\"content\":\"3\"},"
           "{\"role\":\"tool\",\"content\":\"4\"}],"
           "\"tools\":[{\"name\":\"f\"}]}");
    export_is(
        &f, CF_FORMAT_OPENAI,
        "{\"messages\":[{\"role\":\"assistant\",\"tool_calls\":["
        "{\"function\":{\"name\":\"f\",\"arguments\":\"{}\"},\"id\":\"call_1\","
        "\"type\":\"function\"},"
        "{\"id\":\"x\",\"function\":{\"name\":\"g\",\"arguments\":\"{}\"},"
        "\"type\":\"function\"},"
        "{\"function\":{\"name\":\"h\",\"arguments\":\"{}\"},\"id\":\"call_2\","
        "\"type\":\"function\"}]},"
        "{\"role\":\"tool\",\"tool_call_id\":\"x\",\"content\":\"1\"},"
        "{\"role\":\"tool\",\"content\":\"2\",\"tool_call_id\":\"call_1\"},"
        "{\"role\":\"tool\",\"content\":\"3\",\"tool_call_id\":\"call_2\"},"
        "{\"role\":\"tool\",\"content\":\"4\"}],"
        "\"tools\":[{\"type\":\"function\",\"function\":{\"name\":\"f\"}}]}\n");
    teardown(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_openai__lines),
        cmocka_unit_test(test_openai__pretty_document_and_list),
        cmocka_unit_test(test_openai__arguments_are_text),
        cmocka_unit_test(test_litert__preface),
        cmocka_unit_test(test_sharegpt__names),
        cmocka_unit_test(test_converse__uuids),
        cmocka_unit_test(test_converse__json_as_content_survives),
        cmocka_unit_test(test_converse__empty_and_malformed),
        cmocka_unit_test(test_llama_app__tree),
        cmocka_unit_test(test_llama_app__circle_and_old_form),
        cmocka_unit_test(test_chatgpt__mapping),
        cmocka_unit_test(test_llm__older),
        cmocka_unit_test(test_llm__newer_and_both),
        cmocka_unit_test(test_confab__bad_line_loses_its_conversation_only),
        cmocka_unit_test(test_markdown__is_harmless),
        cmocka_unit_test(test_export__failed_replies),
        cmocka_unit_test(test_formats__know_their_direction),
        cmocka_unit_test(test_guess__every_form_and_twice),
        cmocka_unit_test(test_gemini__calls_and_results),
        cmocka_unit_test(test_xaibo__calls_and_results),
        cmocka_unit_test(test_again__a_grown_conversation_adds_what_is_new),
        cmocka_unit_test(test_again__converse_without_uuids),
        cmocka_unit_test(test_again__same_beginning_is_not_same),
        cmocka_unit_test(test_kept__fields_of_every_form),
        cmocka_unit_test(test_media__in_every_form),
        cmocka_unit_test(test_media__is_stored_once),
        cmocka_unit_test(test_chatgpt__citations_and_files),
        cmocka_unit_test(test_llm__tools_and_schema),
        cmocka_unit_test(test_openai__results_name_their_calls),
    };
    return cmocka_run_group_tests(tests, store_dir_make, store_dir_remove);
}
