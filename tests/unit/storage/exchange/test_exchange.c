/*
 * test_exchange.c - files of other programs, awkward ones included.
 */
#include <sqlite3.h>

#include "core/base/hash.h"
#include "tests/support/exchange_desk.h"
#include "tests/support/store_dir.h"
#include "tests/support/t.h"

typedef cf_exchange_desk fixture;

static void import(fixture *f, cf_format format, const char *text)
{
    cf_exchange_import(f, text, (cf_import_options){.format = format});
}

static void export_is(fixture *f, cf_format format, const char *want)
{
    cf_buf out = CF_BUF_INIT;
    cf_exchange_export(f, format, &out);
    assert_string_equal(cf_buf_cstr(&out), want);
    cf_buf_deinit(&out);
}

/* ---- OpenAI ------------------------------------------------------------- */

static void test_openai__lines(void **state)
{
    (void)state;
    fixture f;
    cf_exchange_open(&f);
    import(&f, CF_FORMAT_OPENAI,
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
    cf_store_tree t = cf_exchange_tree(&f);
    cf_exchange_says(&t, 0,
                     "{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"hi\"}]"
                     "}");
    assert_true(cf_uuid_eq(t.turns[1].parent, t.turns[0].id));
    assert_int_equal(t.turns[1].status, CF_TURN_IMPORTED);
    cf_exchange_close(&f);
}

static void test_openai__pretty_document_and_list(void **state)
{
    (void)state;
    fixture f;
    cf_exchange_open(&f);
    import(&f, CF_FORMAT_OPENAI,
           "{\n  \"messages\": [\n{\"role\": \"user\", \"content\": \"a\"}\n]\n}");
    import(&f, CF_FORMAT_OPENAI,
           "[\n {\"messages\":[{\"role\":\"user\",\"content\":\"]}\\\"[\"}]},\n"
           " {\"messages\":\n  oops},\n"
           " {\"messages\":[{\"role\":\"user\",\"content\":\"c\"}]}\n]\n");
    assert_int_equal(f.report.n_new, 2);
    assert_int_equal(f.report.n_bad, 1);
    assert_int_equal(f.first_line, 4);
    const cf_store_conv *rows;
    assert_int_equal(cf_exchange_list(&f, &rows), 3);
    cf_exchange_close(&f);
}

static void test_openai__arguments_are_text(void **state)
{
    (void)state;
    fixture f;
    cf_exchange_open(&f);
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
    cf_exchange_close(&f);
}

/* OpenAI's form has only OpenAI's roles, whatever another program calls them. */
static void test_openai__roles_of_others(void **state)
{
    (void)state;
    static const char *const rows[][2] = {{"agent", "assistant"},     {"model", "assistant"},
                                          {"gpt", "assistant"},       {"human", "user"},
                                          {"observation", "tool"},    {"tool_response", "tool"},
                                          {"pcp_response", "tool"},   {"mcp_response", "tool"},
                                          {"developer", "developer"}, {"assistant", "assistant"}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char in[80], want[80];
        fixture f;
        snprintf(in, sizeof in, "[{\"role\":\"%s\",\"content\":\"x\"}]", rows[i][0]);
        snprintf(want, sizeof want, "{\"messages\":[{\"role\":\"%s\",\"content\":\"x\"}]}\n",
                 rows[i][1]);
        cf_exchange_open(&f);
        import(&f, CF_FORMAT_LITERT, in);
        export_is(&f, CF_FORMAT_OPENAI, want);
        cf_exchange_close(&f);
    }
}

static void test_litert__preface(void **state)
{
    (void)state;
    fixture f;
    cf_exchange_open(&f);
    const char *text = "{\"messages\":[{\"role\":\"system\",\"content\":{\"type\":\"text\","
                       "\"text\":\"be kind\"}}],\"tools\":[{\"name\":\"g\"}],"
                       "\"extra_context\":{\"enable_thinking\":true}}\n";
    import(&f, CF_FORMAT_LITERT, text);
    export_is(&f, CF_FORMAT_LITERT, text);
    cf_exchange_close(&f);
}

/* ---- ShareGPT ----------------------------------------------------------- */

static void test_sharegpt__names(void **state)
{
    (void)state;
    fixture f;
    cf_exchange_open(&f);
    import(&f, CF_FORMAT_SHAREGPT,
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
    export_is(&f, CF_FORMAT_SHAREGPT,
              "{\"conversations\":[{\"from\":\"system\",\"value\":\"S\"},{"
              "\"from\":\"human\",\"value\":\"h\"},{\"from\":\"function_call\","
              "\"value\":\"{\\\"name\\\":\\\"f\\\",\\\"arguments\\\":{\\\"x\\\":"
              "1}}\"},{\"from\":\"observation\",\"value\":\"o\"},{\"from\":\"gpt\","
              "\"value\":\"g\"},{\"from\":\"narrator\",\"value\":\"n\"}],"
              "\"tools\":\"[{\\\"name\\\":\\\"f\\\"}]\",\"id\":\"q\"}\n"
              "{\"conversations\":[{\"from\":\"function_call\",\"value\":\"not "
              "json\"}]}\n" +
                  0);
    cf_exchange_close(&f);
}

/* ---- ConverseHistory ---------------------------------------------------- */

static void test_converse__uuids(void **state)
{
    (void)state;
    fixture f;
    cf_exchange_open(&f);
    const char *text = "{\"history\":["
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
    cf_store_tree t = cf_exchange_tree(&f);
    cf_exchange_says(&t, 0, "{\"role\":\"user\",\"content\":\"a\"}");
    cf_exchange_says(&t, 3, "{\"role\":\"user\",\"content\":\"same\"}");
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
    t = cf_exchange_tree(&f);
    cf_exchange_says(&t, 1, "{\"role\":\"agent\",\"content\":\"b\"}");
    assert_true(cf_uuid_eq(t.turns[4].parent, t.turns[1].id));
    cf_exchange_close(&f);
}

static void test_converse__json_as_content_survives(void **state)
{
    (void)state;
    fixture f;
    cf_exchange_open(&f);
    const char *text = "{\"history\":[{\"role\":\"developer\",\"content\":{\"text\":\"{"
                       "\\\"history\\\": [1]}\"},\"uuid\":\"0190aaaa-0000-4000-8000-"
                       "000000000003\"},{\"role\":\"user\",\"content\":{\"text\":\"see\","
                       "\"binaryContent\":[{\"type\":\"x.BinaryContent.Bytes\",\"data\":[1,-2]"
                       ","
                       "\"mimeType\":\"image/png\"},{\"type\":\"TextDocument\",\"content\":"
                       "\"doc\"}],\"context\":{\"k\":1}},\"uuid\":\"kept\"}]}\n";
    import(&f, CF_FORMAT_CONVERSE, text);
    assert_int_equal(f.report.n_turns, 2);
    export_is(&f, CF_FORMAT_CONVERSE, text);
    cf_exchange_close(&f);
}

static void test_converse__empty_and_malformed(void **state)
{
    (void)state;
    fixture f;
    cf_exchange_open(&f);
    import(&f, CF_FORMAT_CONVERSE, "{}");
    assert_int_equal(f.report.n_new + f.report.n_bad, 0);
    import(&f, CF_FORMAT_CONVERSE,
           "{\"history\":[{\"role\":\"user\",\"content\":{\"text\":\"ok\"}},{"
           "\"role\":\"user\"}]}");
    assert_int_equal(f.report.n_bad, 1);
    assert_int_equal(f.report.n_turns, 0); /* never half */
    import(&f, CF_FORMAT_CONVERSE, "");
    assert_int_equal(f.report.n_bad, 0);
    cf_exchange_close(&f);
}

/* ---- llama.app ---------------------------------------------------------- */

static void test_llama_app__tree(void **state)
{
    (void)state;
    fixture f;
    cf_exchange_open(&f);
    import(&f, CF_FORMAT_LLAMA_APP,
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
    cf_store_tree t = cf_exchange_tree(&f);
    assert_int_equal(t.n, 3);
    assert_string_equal(t.conv.title.p, "Own");
    assert_int_equal(t.conv.n_forks, 1);
    cf_exchange_says(&t, 0,
                     "{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"q\"},{"
                     "\"type\":\"image_url\",\"image_url\":{\"url\":\"data:image/"
                     "png;base64,AAAA\"},\"name\":\"p.png\"},{\"type\":\"text\",\"text\":"
                     "\"\\n\\n--- File: t ---\\nc\",\"llama_app\":{\"type\":\"TEXT\","
                     "\"name\":\"t\"}}]}");
    cf_exchange_says(&t, 1,
                     "{\"role\":\"assistant\",\"content\":\"one\",\"reasoning_content\":"
                     "\"hm\"}");
    assert_true(cf_uuid_eq(t.conv.head, t.turns[2].id));
    assert_int_equal(t.turns[2].run->n_kept, 3);
    assert_int_equal(t.turns[2].run->decode_us, 1500);
    /* The same again: nothing new. */
    cf_exchange_close(&f);
}

static void test_llama_app__circle_and_old_form(void **state)
{
    (void)state;
    fixture f;
    cf_exchange_open(&f);
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
    cf_store_tree t = cf_exchange_tree(&f);
    assert_true(cf_uuid_is_nil(t.turns[0].parent));
    cf_exchange_close(&f);
}

/* ---- ChatGPT ------------------------------------------------------------ */

static void test_chatgpt__mapping(void **state)
{
    (void)state;
    fixture f;
    cf_exchange_open(&f);
    import(&f, CF_FORMAT_CHATGPT,
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
    cf_store_tree t = cf_exchange_tree(&f);
    assert_int_equal(t.n, 4);
    assert_int_equal(t.conv.n_forks, 1);
    assert_string_equal(t.conv.title.p, "Trip");
    assert_int_equal(t.conv.created_ms, INT64_C(1700000000500));
    assert_true(cf_uuid_is_nil(t.turns[0].parent));
    cf_exchange_says(&t, 1,
                     "{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{\"type\":"
                     "\"function\",\"function\":{\"name\":\"python\",\"arguments\":\"1+1\"}}"
                     "]}");
    cf_exchange_says(&t, 2, "{\"role\":\"tool\",\"content\":\"2\",\"name\":\"python\"}");
    cf_exchange_says(&t, 3,
                     "{\"role\":\"assistant\",\"content\":\"\",\"reasoning_content\":"
                     "\"s\\nc\"}");
    assert_string_equal(t.turns[1].run->model.p, "gpt-x");
    assert_true(cf_uuid_eq(t.conv.head, t.turns[2].id));
    cf_exchange_close(&f);
}

/* SHA-256 of the name, as UUID version 8. */
static cf_uuid named(const char *format, const char *scope, const char *id)
{
    char hex[3][CF_HASH_TEXT + 1], name[200];
    cf_hash_hex(hex[0], scope, strlen(scope));
    cf_hash_hex(hex[1], id, strlen(id));
    snprintf(name, sizeof name, "confab %s %s %s", format, hex[0], hex[1]);
    cf_hash_hex(hex[2], name, strlen(name));
    hex[2][12] = '8';
    hex[2][16] = "89ab"[strtoul((char[]){hex[2][16], '\0'}, NULL, 16) & 3];
    char text[CF_UUID_TEXT + 1];
    snprintf(text, sizeof text, "%.8s-%.4s-%.4s-%.4s-%.12s", hex[2], hex[2] + 8, hex[2] + 12,
             hex[2] + 16, hex[2] + 20);
    cf_uuid out;
    assert_true(cf_uuid_parse(&out, text, strlen(text)));
    return out;
}

/* An id that is no UUID always becomes the same one: so a later version still knows what
 * an earlier one imported. */
static void test_chatgpt__ids_never_change(void **state)
{
    (void)state;
    fixture f;
    cf_exchange_open(&f);
    import(&f, CF_FORMAT_CHATGPT,
           "[{\"id\":\"chat 1\",\"mapping\":{\"n\":{\"message\":{\"author\":{\"role\":\"user\"},"
           "\"content\":{\"content_type\":\"text\",\"parts\":[\"q\"]}},\"parent\":null}}}]");
    cf_store_tree t = cf_exchange_tree(&f);
    assert_true(cf_uuid_eq(t.conv.id, named("chatgpt", "", "chat 1")));
    assert_true(cf_uuid_eq(t.turns[0].id, named("chatgpt", "chat 1", "n")));
    cf_exchange_close(&f);
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

static void import_llm(fixture *f, const char *name, const char *a, const char *b)
{
    sqlite3 *db;
    cf_error err;
    const char *path = store_dir_file(name);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, a, NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, b, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
    cf_import_options opts = {.format = CF_FORMAT_LLM_DB, .note = cf_exchange_note, .ud = f};
    T_OK(cf_import_file(f->s, path, &opts, &f->report, &err), err);
    assert_int_equal(f->report.n_bad, 0);
}

static void test_llm__older(void **state)
{
    (void)state;
    fixture f;
    cf_exchange_open(&f);
    import_llm(&f, "old.db", old_llm, "");
    assert_int_equal(f.report.n_new, 2);
    const cf_store_conv *rows;
    cf_store_tree t;
    cf_error err;
    assert_int_equal(cf_exchange_list(&f, &rows), 2);
    T_OK(cf_store_get_tree(f.s, rows[1].id, CF_TREE_RUNS, &f.a, &t, &err), err);
    assert_string_equal(t.conv.title.p, "Pelicans");
    assert_int_equal(t.n, 5);
    cf_exchange_says(&t, 0, "{\"role\":\"system\",\"content\":\"be brief\"}");
    cf_exchange_says(&t, 1,
                     "{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"draw\"},"
                     "{\"type\":\"image\",\"mime_type\":\"image/png\",\"blob\":\"AQI=\"}]}");
    cf_exchange_says(&t, 2,
                     "{\"role\":\"assistant\",\"content\":\"ok\",\"tool_calls\":[{\"type\":"
                     "\"function\",\"id\":\"t1\",\"function\":{\"name\":\"f\","
                     "\"arguments\":\"{\\\"x\\\": 1}\"}}]}");
    cf_exchange_says(&t, 3,
                     "{\"role\":\"tool\",\"name\":\"f\",\"content\":\"42\","
                     "\"tool_call_id\":\"t1\"}");
    assert_string_equal(t.turns[2].run->options.p, "{\"temperature\":1}");
    assert_int_equal(t.turns[2].created_ms, INT64_C(1739745270374));
    cf_exchange_close(&f);
}

/* What is attached is a picture, a sound or a file, as its type says. */
static void test_llm__kinds_of_attachments(void **state)
{
    (void)state;
    static const char more[] =
        "INSERT INTO attachments VALUES('b', 'audio/wav', 'a.wav', '', NULL);"
        "INSERT INTO attachments VALUES('c', 'audio/', NULL, 'u', NULL);"
        "INSERT INTO attachments VALUES('d', 'text/plain', 'd', '', NULL);"
        "INSERT INTO prompt_attachments VALUES('r3', 'b', 0), "
        "('r3', 'c', 1), ('r3', 'd', 2);";
    fixture f;
    const cf_store_conv *rows;
    cf_store_tree t;
    cf_error err;
    cf_exchange_open(&f);
    import_llm(&f, "kinds.db", old_llm, more);
    assert_int_equal(cf_exchange_list(&f, &rows), 2);
    T_OK(cf_store_get_tree(f.s, rows[0].id, 0, &f.a, &t, &err), err);
    cf_exchange_says(&t, 0,
                     "{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"alone\"},"
                     "{\"type\":\"audio\",\"mime_type\":\"audio/wav\",\"path\":\"a.wav\"},"
                     "{\"type\":\"file\",\"mime_type\":\"audio/\",\"url\":\"u\"},"
                     "{\"type\":\"file\",\"mime_type\":\"text/plain\",\"path\":\"d\"}]}");
    cf_exchange_close(&f);
}

/* What a column computes may take SQLite hours, and nothing stops it. */
static void test_llm__generated_columns_are_refused(void **state)
{
    (void)state;
    static const char *const kinds[] = {"VIRTUAL", "STORED"};
    for (size_t i = 0; i < 2; i++) {
        fixture f;
        sqlite3 *db;
        cf_error err;
        char table[200], name[40];
        snprintf(name, sizeof name, "computed%zu.db", i);
        const char *path = store_dir_file(name);
        cf_exchange_open(&f);
        snprintf(table, sizeof table,
                 "CREATE TABLE more(id TEXT, x TEXT GENERATED ALWAYS AS (id || '1') %s)", kinds[i]);
        assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
        assert_int_equal(sqlite3_exec(db, old_llm, NULL, NULL, NULL), SQLITE_OK);
        assert_int_equal(sqlite3_exec(db, table, NULL, NULL, NULL), SQLITE_OK);
        sqlite3_close(db);
        cf_import_options opts = {.format = CF_FORMAT_LLM_DB, .note = cf_exchange_note, .ud = &f};
        T_FAILS(cf_import_file(f.s, path, &opts, &f.report, &err), CF_EFORMAT);
        assert_non_null(strstr(err.text, "generated columns"));
        assert_int_equal(f.report.n_new, 0);
        cf_exchange_close(&f);
    }
}

static void test_llm__newer_and_both(void **state)
{
    (void)state;
    fixture f;
    cf_exchange_open(&f);
    import_llm(&f, "new.db", new_llm, "");
    cf_store_tree t = cf_exchange_tree(&f);
    assert_int_equal(t.n, 5);
    assert_int_equal(t.conv.n_forks, 1);
    cf_exchange_says(&t, 0, "{\"role\":\"user\",\"content\":\"LONG and short\"}");
    cf_exchange_says(&t, 1,
                     "{\"role\":\"assistant\",\"content\":\"\",\"reasoning_content\":\"hm\","
                     "\"tool_calls\":[{\"type\":\"function\",\"id\":\"k\",\"function\":{"
                     "\"name\":\"f\",\"arguments\":{\"a\":1}}}]}");
    cf_exchange_says(&t, 2,
                     "{\"role\":\"tool\",\"name\":\"f\",\"content\":\"out\","
                     "\"tool_call_id\":\"k\"}");
    assert_int_equal(t.turns[1].run->n_reply, 4);
    assert_true(cf_uuid_eq(t.conv.head, t.turns[3].id));
    import_llm(&f, "both.db", old_llm, new_llm);
    assert_int_equal(f.report.n_new, 2);
    assert_int_equal(f.report.n_known, 1);
    assert_int_equal(f.report.n_skipped, 5);
    cf_exchange_close(&f);
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
    cf_exchange_open(&f);
    import_llm(&f, "tools.db", new_llm, more);
    cf_store_tree t = cf_exchange_tree(&f);
    const cf_store_turn *at = NULL;
    for (size_t i = 0; i < t.n; i++) {
        if (strstr(t.turns[i].message.p, "\"end\"") != NULL) {
            at = &t.turns[i];
        }
    }
    assert_non_null(at);
    assert_non_null(at->run);
    assert_int_equal(at->run->n_tools, 1);
    assert_string_equal(at->run->tools[0].p, "{\"type\":\"function\",\"function\":{\"name\":\"f\","
                                             "\"description\":\"does\",\"parameters\":{\"type\":"
                                             "\"object\"}}}");
    assert_string_equal(at->run->constraint_spec.p, "{\"schema\":{\"type\":\"string\"}}");
    assert_non_null(strstr(at->source.p, "\"token_details\":{\"cached\":2}"));
    cf_buf out = CF_BUF_INIT;
    cf_exchange_export(&f, CF_FORMAT_OPENAI, &out);
    assert_non_null(strstr(cf_buf_cstr(&out), "\"json_schema\":{\"name\":"));
    assert_non_null(strstr(cf_buf_cstr(&out), "\"tools\":[{\"type\":"));
    cf_buf_deinit(&out);
    cf_exchange_close(&f);
}

/* ---- confab, markdown --------------------------------------------------- */

static void test_confab__bad_line_loses_its_conversation_only(void **state)
{
    (void)state;
    fixture f;
    cf_exchange_open(&f);
    import(&f, CF_FORMAT_CONFAB,
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
    cf_store_tree t = cf_exchange_tree(&f);
    assert_string_equal(t.conv.title.p, "good");
    assert_int_equal(t.turns[0].status, CF_TURN_INTERRUPTED);
    cf_exchange_close(&f);
}

static void test_markdown__is_harmless(void **state)
{
    (void)state;
    fixture f;
    cf_exchange_open(&f);
    import(&f, CF_FORMAT_OPENAI,
           "{\"messages\":[{\"role\":\"tool\",\"content\":\"```\\n\\u001b[2J\"}"
           "]}");
    cf_error err;
    cf_buf out = CF_BUF_INIT;
    cf_exporter *ex;
    const cf_store_conv *rows;
    cf_exchange_list(&f, &rows);
    cf_export_options opts = {.format = CF_FORMAT_MARKDOWN};
    T_OK(cf_export_begin(&ex, f.s, &opts, &err), err);
    T_OK(cf_export_conv(ex, rows[0].id, &out, &err), err);
    cf_export_end(ex);
    assert_null(memchr(out.p, 0x1B, out.n));
    assert_non_null(strstr(out.p, "````\n```\n\\x1b[2J\n````\n"));
    cf_buf_deinit(&out);
    cf_exchange_close(&f);
}

static void put_turn(fixture *f, const cf_store_turn *like, unsigned id, cf_uuid parent,
                     const char *message, cf_turn_status status)
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
    static const char void_reply[] = "{\"role\":\"assistant\",\"content\":\"\"}";
    fixture f;
    cf_exchange_open(&f);
    import(&f, CF_FORMAT_OPENAI, "{\"messages\":[{\"role\":\"user\",\"content\":\"a\"}]}");
    cf_store_tree t = cf_exchange_tree(&f);
    cf_uuid user = t.turns[0].id;
    put_turn(&f, &t.turns[0], 1, user, void_reply, CF_TURN_ERROR);
    export_is(&f, CF_FORMAT_OPENAI, "{\"messages\":[{\"role\":\"user\",\"content\":\"a\"}]}\n");
    put_turn(&f, &t.turns[0], 2, user, "{\"role\":\"assistant\",\"content\":\"b\"}", CF_TURN_OK);
    put_turn(&f, &t.turns[0], 3, user, void_reply, CF_TURN_STOPPED);
    export_is(&f, CF_FORMAT_OPENAI,
              "{\"messages\":[{\"role\":\"user\",\"content\":\"a\"},"
              "{\"role\":\"assistant\",\"content\":\"b\"}]}\n");
    cf_exchange_close(&f);
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
    cf_exchange_import(f, text, (cf_import_options){.guesses = true, .is_dry = is_dry});
}

#define USER "{\"role\":\"user\",\"content\":\"q\"}"
#define GPT  "{\"conversations\":[{\"from\":\"human\",\"value\":\"q\"}]}"

static const struct {
    const char *text, *name;
    size_t n_convs, n_turns;
} guesses[] = {
    {"{\"messages\":[" USER "]}\n{\"messages\":[" USER "," USER "]}\n", "OpenAI JSONL", 2, 3},
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
    {"{\"messages\":[" USER ",{\"role\":\"model\",\"content\":\"a\"}]}", "LiteRT-LM JSON", 1, 2},
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
    {"{\"messages\":[{\"role\":\"user\",\"parts\":[{\"text\":\"q\"}]}]}", "Gemini JSON", 1, 1},
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
        cf_exchange_open(&f);
        guess(&f, guesses[i].text, true);
        assert_string_equal(f.report.read_as, guesses[i].name);
        assert_int_equal(f.report.n_new, guesses[i].n_convs);
        assert_int_equal(f.report.n_turns, guesses[i].n_turns);
        assert_int_equal(cf_exchange_list(&f, &rows), 0);
        guess(&f, guesses[i].text, false);
        assert_string_equal(f.report.read_as, guesses[i].name);
        assert_int_equal(f.report.n_new, guesses[i].n_convs);
        assert_int_equal(f.report.n_turns, guesses[i].n_turns);
        guess(&f, guesses[i].text, false);
        assert_int_equal(f.report.n_new, 0);
        assert_int_equal(f.report.n_turns, 0);
        assert_int_equal(cf_exchange_list(&f, &rows), guesses[i].n_convs);
        cf_exchange_close(&f);
    }
}

static void test_gemini__calls_and_results(void **state)
{
    (void)state;
    fixture f;
    cf_exchange_open(&f);
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
    cf_store_tree t = cf_exchange_tree(&f);
    assert_int_equal(t.n, 5);
    cf_exchange_says(&t, 0, "{\"role\":\"system\",\"content\":\"s\"}");
    cf_exchange_says(&t, 1,
                     "{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"a\"},"
                     "{\"type\":\"image_url\",\"image_url\":{\"url\":"
                     "\"data:image/png;base64,AA==\"}}]}");
    cf_exchange_says(&t, 2,
                     "{\"role\":\"assistant\",\"content\":\"\",\"reasoning_content\":\"t\","
                     "\"tool_calls\":[{\"type\":\"function\",\"function\":{\"name\":\"f\","
                     "\"arguments\":{\"x\":1}}}]}");
    cf_exchange_says(&t, 3, "{\"role\":\"tool\",\"name\":\"f\",\"content\":\"{\\\"y\\\":2}\"}");
    cf_exchange_says(&t, 4, "{\"role\":\"tool\",\"name\":\"g\",\"content\":\"z\"}");
    cf_exchange_close(&f);
}

static void test_xaibo__calls_and_results(void **state)
{
    (void)state;
    fixture f;
    cf_exchange_open(&f);
    guess(&f,
          "[{\"role\":\"user\",\"content\":[{\"type\":\"image\",\"image\":"
          "\"data:x\"}]},{\"role\":\"assistant\",\"content\":[{\"type\":"
          "\"text\",\"text\":\"hm\"}],\"tool_calls\":[{\"id\":\"1\",\"name\":"
          "\"f\",\"arguments\":{\"x\":1}}]},{\"role\":\"function\",\"content\":"
          "[],\"tool_results\":[{\"id\":\"1\",\"name\":\"f\",\"content\":\"4\"}"
          "]}]",
          false);
    cf_store_tree t = cf_exchange_tree(&f);
    assert_int_equal(t.n, 3);
    cf_exchange_says(&t, 0,
                     "{\"role\":\"user\",\"content\":[{\"type\":\"image_url\","
                     "\"image_url\":{\"url\":\"data:x\"}}]}");
    cf_exchange_says(&t, 1,
                     "{\"role\":\"assistant\",\"content\":\"hm\",\"tool_calls\":[{\"id\":"
                     "\"1\",\"type\":\"function\",\"function\":{\"name\":\"f\","
                     "\"arguments\":{\"x\":1}}}]}");
    cf_exchange_says(&t, 2,
                     "{\"role\":\"tool\",\"content\":\"4\",\"tool_call_id\":\"1\","
                     "\"name\":\"f\"}");
    cf_exchange_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_openai__lines),
        cmocka_unit_test(test_openai__pretty_document_and_list),
        cmocka_unit_test(test_openai__arguments_are_text),
        cmocka_unit_test(test_openai__roles_of_others),
        cmocka_unit_test(test_litert__preface),
        cmocka_unit_test(test_sharegpt__names),
        cmocka_unit_test(test_converse__uuids),
        cmocka_unit_test(test_converse__json_as_content_survives),
        cmocka_unit_test(test_converse__empty_and_malformed),
        cmocka_unit_test(test_llama_app__tree),
        cmocka_unit_test(test_llama_app__circle_and_old_form),
        cmocka_unit_test(test_chatgpt__mapping),
        cmocka_unit_test(test_chatgpt__ids_never_change),
        cmocka_unit_test(test_llm__older),
        cmocka_unit_test(test_llm__kinds_of_attachments),
        cmocka_unit_test(test_llm__generated_columns_are_refused),
        cmocka_unit_test(test_llm__newer_and_both),
        cmocka_unit_test(test_confab__bad_line_loses_its_conversation_only),
        cmocka_unit_test(test_markdown__is_harmless),
        cmocka_unit_test(test_export__failed_replies),
        cmocka_unit_test(test_formats__know_their_direction),
        cmocka_unit_test(test_guess__every_form_and_twice),
        cmocka_unit_test(test_gemini__calls_and_results),
        cmocka_unit_test(test_xaibo__calls_and_results),
        cmocka_unit_test(test_llm__tools_and_schema),
    };
    return cmocka_run_group_tests(tests, store_dir_make, store_dir_remove);
}
