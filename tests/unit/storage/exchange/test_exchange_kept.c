/*
 * test_exchange_kept.c - files of other programs read again, and what of them
 * is kept although the history has no place for it.
 */
#include "tests/support/t.h"
#include <sqlite3.h>

#include "tests/support/exchange_desk.h"
#include "tests/support/store_dir.h"

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

static void guess(fixture *f, const char *text)
{
    cf_exchange_import(f, text, (cf_import_options){.guesses = true});
}

#define USER "{\"role\":\"user\",\"content\":\"q\"}"

/* ---- files read again --------------------------------------------------- */

static void test_again__a_grown_conversation_adds_what_is_new(void **state)
{
    (void)state;
    fixture f;
    cf_exchange_open(&f);
    guess(&f, "{\"id\":\"c\",\"conversations\":[{\"from\":\"human\",\"value\":"
              "\"a\"},{\"from\":\"gpt\",\"value\":\"a\"}]}");
    assert_int_equal(f.report.n_turns, 2);
    guess(&f, "{\"id\":\"c\",\"conversations\":[{\"from\":\"human\",\"value\":"
              "\"a\"},{\"from\":\"gpt\",\"value\":\"a\"},{\"from\":\"human\","
              "\"value\":\"a\"}]}");
    assert_int_equal(f.report.n_known, 1);
    assert_int_equal(f.report.n_turns, 1);
    assert_int_equal(cf_exchange_tree(&f).n, 3);
    cf_exchange_close(&f);
}

/* Entries without a UUID among others with one, the first included. */
static void test_again__converse_without_uuids(void **state)
{
    (void)state;
    fixture f;
    cf_exchange_open(&f);
    static const char text[] =
        "{\"history\":[{\"role\":\"user\",\"content\":{\"text\":\"a\"}},"
        "{\"role\":\"assistant\",\"content\":{\"text\":\"b\"},\"uuid\":\"u\"},"
        "{\"role\":\"user\",\"content\":{\"text\":\"a\"}},"
        "{\"role\":\"user\",\"content\":{\"text\":\"a\"}}]}";
    for (int i = 0; i < 3; i++) {
        import(&f, CF_FORMAT_CONVERSE, text);
        assert_int_equal(f.report.n_turns, i == 0 ? 4 : 0);
        assert_int_equal(cf_exchange_tree(&f).n, 4);
    }
    cf_exchange_close(&f);
}

/* An entry without an id has the same one when the file has grown, as long as another
 * entry of the file has an id of its own. */
static void test_again__converse_that_grows(void **state)
{
    (void)state;
#define GROWN(more)                                                   \
    "{\"history\":[{\"role\":\"user\",\"content\":{\"text\":\"q\"}}," \
    "{\"role\":\"agent\",\"content\":{\"text\":\"a\"},\"uuid\":"      \
    "\"0190aaaa-0000-4000-8000-000000000002\"}" more "]}"
    fixture f;
    cf_exchange_open(&f);
    import(&f, CF_FORMAT_CONVERSE, GROWN(""));
    assert_int_equal(f.report.n_turns, 2);
    import(&f, CF_FORMAT_CONVERSE,
           GROWN(",{\"role\":\"user\",\"content\":{\"text\":\"r\"},\"uuid\":"
                 "\"0190aaaa-0000-4000-8000-000000000003\"}"));
    assert_int_equal(f.report.n_turns, 1);
    assert_int_equal(cf_exchange_tree(&f).n, 3);
    cf_exchange_close(&f);
}

/* Conversations that begin alike stay apart. */
static void test_again__same_beginning_is_not_same(void **state)
{
    (void)state;
    fixture f;
    const cf_store_conv *rows;
    cf_exchange_open(&f);
    guess(&f, "{\"messages\":[" USER "]}\n{\"messages\":[" USER "," USER "]}\n");
    assert_int_equal(cf_exchange_list(&f, &rows), 2);
    assert_int_equal(rows[0].n_turns + rows[1].n_turns, 3);
    cf_exchange_close(&f);
}

/* ---- what has no place is kept ------------------------------------------ */

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
    cf_exchange_open(&f);
    cf_exchange_open(&g);
    import(&f, format, text);
    assert_string_equal(f.notes, "");
    cf_exchange_export(&f, format, &out);
    same_json(text, &out);
    import(&g, format, cf_buf_cstr(&out));
    assert_string_equal(g.notes, "");
    cf_exchange_export(&g, format, &again);
    assert_string_equal(cf_buf_cstr(&again), cf_buf_cstr(&out));
    cf_buf_deinit(&out);
    cf_buf_deinit(&again);
    cf_exchange_close(&f);
    cf_exchange_close(&g);
}

static void test_kept__fields_of_every_form(void **state)
{
    (void)state;
    same_again(CF_FORMAT_OPENAI, "{\"messages\":[{\"role\":\"user\",\"content\":\"q\","
                                 "\"weight\":0,\"name\":\"Zoe\"}],\"model\":\"gpt\","
                                 "\"temperature\":0.5,\"metadata\":{\"a\":\"b\"},"
                                 "\"response_format\":{\"type\":\"json_object\"},"
                                 "\"functions\":[{\"name\":\"f\"}],\"unheard_of\":[1]}\n");
    same_again(CF_FORMAT_SHAREGPT, "{\"conversations\":[{\"from\":\"user\",\"value\":\"q\","
                                   "\"weight\":1},{\"from\":\"chatgpt\",\"value\":\"a\"}],"
                                   "\"images\":[\"a.png\"],\"id\":\"i_0\",\"source\":\"x\"}\n");
    same_again(CF_FORMAT_SHAREGPT, "{\"conversations\":[{\"from\":\"human\",\"value\":\"a "
                                   "<image>\\n<audio>b\"},{\"from\":\"gpt\",\"value\":\"c\"},{"
                                   "\"from\":\"human\",\"value\":\"<image>\"}],\"images\":["
                                   "\"data:image/png;base64,AAAA\",{\"path\":\"b.png\",\"bytes\":"
                                   "\"BBBB\"}],\"audios\":[\"https://x.org/c.wav\"],\"chosen\":{"
                                   "\"from\":\"gpt\",\"value\":\"d\"}}\n");
    same_again(CF_FORMAT_SHAREGPT, "{\"conversations\":[{\"from\":\"human\",\"value\":\"<image>"
                                   "\\nwhat?\"}],\"image\":\"dir/a.jpg\"}\n");
    same_again(CF_FORMAT_CONVERSE,
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
    same_again(CF_FORMAT_LLAMA_APP,
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
    same_again(CF_FORMAT_LITERT, "{\"messages\":[{\"role\":\"user\",\"content\":\"q\"}],"
                                 "\"extra_context\":{},\"unheard_of\":1}\n");
}

/* An entry whose id is a UUID is kept with one field of its own, with two, and without. */
static void test_kept__one_field_beside_an_id(void **state)
{
    (void)state;
    static const char *const rests[] = {"", ",\"extra\":7", ",\"extra\":7,\"more\":{}"};
    for (size_t i = 0; i < sizeof rests / sizeof rests[0]; i++) {
        char text[200];
        fixture f;
        snprintf(text, sizeof text,
                 "{\"history\":[{\"role\":\"user\",\"content\":{\"text\":\"q\"},\"uuid\":"
                 "\"0190aaaa-0000-4000-8000-000000000001\"%s}]}\n",
                 rests[i]);
        same_again(CF_FORMAT_CONVERSE, text);
        cf_exchange_open(&f);
        import(&f, CF_FORMAT_CONVERSE, text);
        assert_int_equal(cf_exchange_tree(&f).turns[0].source.n != 0, i != 0);
        cf_exchange_close(&f);
    }
}

/* A picture from any program is a picture for every other. */
static void test_media__in_every_form(void **state)
{
    (void)state;
    static const struct {
        cf_format from;
        const char *text;
    } in[] = {
        {CF_FORMAT_CONVERSE, "{\"history\":[{\"role\":\"user\",\"content\":{\"text\":\"q\","
                             "\"binaryContent\":[{\"type\":\"Base64String\",\"data\":"
                             "\"QUJDRA==\",\"mimeType\":\"image/png\"}]}}]}"},
        {CF_FORMAT_CONVERSE, "{\"history\":[{\"role\":\"user\",\"content\":{\"text\":\"q\","
                             "\"binaryContent\":[{\"type\":\"Bytes\",\"data\":[65,66,67,68],"
                             "\"mimeType\":\"image/png\"}]}}]}"},
        {CF_FORMAT_CONVERSE, "{\"history\":[{\"role\":\"user\",\"content\":{\"text\":\"q\","
                             "\"binaryContent\":[{\"type\":\"bytes\",\"data\":[65,66,67,68],"
                             "\"mimeType\":\"image/png\"}]}}]}"},
        {CF_FORMAT_CONVERSE, "{\"history\":[{\"role\":\"user\",\"content\":{\"text\":\"q\","
                             "\"binaryContent\":[{\"type\":\"a.b.base64_string\",\"data\":"
                             "\"QUJDRA==\",\"mimeType\":\"image/png\"}]}}]}"},
        {CF_FORMAT_CONVERSE, "{\"history\":[{\"role\":\"user\",\"content\":{\"text\":\"q\","
                             "\"binaryContent\":[{\"data\":\"QUJDRA==\",\"mimeType\":"
                             "\"image/png\"}]}}]}"},
        {CF_FORMAT_OPENAI, "{\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"text\","
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
        {CF_FORMAT_LITERT, "{\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"text\","
                           "\"text\":\"q\"},{\"type\":\"image\",\"blob\":\"QUJDRA==\"}]}]}"},
        {CF_FORMAT_SHAREGPT, "{\"conversations\":[{\"from\":\"human\",\"value\":\"q<image>\"}],"
                             "\"images\":[\"data:image/png;base64,QUJDRA==\"]}"},
        {CF_FORMAT_LLAMA_APP, "{\"type\":\"session\",\"id\":\"s\"}\n{\"type\":\"message\","
                              "\"message\":{\"id\":\"m\",\"role\":\"user\",\"content\":\"q\","
                              "\"extra\":[{\"type\":\"IMAGE\",\"name\":\"n\",\"base64Url\":"
                              "\"data:image/png;base64,QUJDRA==\"}]}}\n"},
        {CF_FORMAT_MARKDOWN, "---\nuuid: \"0190aaaa-0000-4000-8000-000000000001\"\n---\n\n## 1 "
                             "user\n\n<!-- 0190aaaa-0000-4000-8000-000000000002 -->\n\n<!-- text "
                             "-->\n\nq\n\n<!-- image -->\n\n"
                             "![](data:image/png;base64,QUJDRA==)\n\n"},
    };
    static const struct {
        cf_format to;
        const char *want;
    } out[] = {
        {CF_FORMAT_CONVERSE, "\"mimeType\":\"image/png\""},
        {CF_FORMAT_OPENAI, "{\"type\":\"image_url\",\"image_url\":{\"url\":\"data:image/"
                           "png;base64,QUJDRA==\"}}"},
        {CF_FORMAT_LITERT, "\"type\":\"image\",\"blob\":\"QUJDRA==\""},
        {CF_FORMAT_SHAREGPT, "\"images\":[\"data:image/png;base64,QUJDRA==\"]"},
        {CF_FORMAT_LLAMA_APP, "\"base64Url\":\"data:image/png;base64,QUJDRA==\""},
        {CF_FORMAT_MARKDOWN, "](data:image/png;base64,QUJDRA==)"},
    };
    for (size_t i = 0; i < sizeof in / sizeof in[0]; i++) {
        fixture f;
        cf_exchange_open(&f);
        import(&f, in[i].from, in[i].text);
        assert_string_equal(f.notes, "");
        for (size_t k = 0; k < sizeof out / sizeof out[0]; k++) {
            cf_buf text = CF_BUF_INIT;
            cf_exchange_export(&f, out[k].to, &text);
            bool no_mime = in[i].from == CF_FORMAT_LITERT && k == 0;
            if (strstr(cf_buf_cstr(&text), out[k].want) == NULL && !no_mime) {
                fail_msg("%d to %s: %s", (int)i, cf_format_name(out[k].to), cf_buf_cstr(&text));
            }
            cf_buf_deinit(&text);
        }
        cf_exchange_close(&f);
    }
}

/* What is in a message is not kept with the conversation as well. */
static void test_media__is_in_the_message_alone(void **state)
{
    (void)state;
    static const char *const kinds[][2] = {
        {"image", "image"}, {"video", "video"}, {"audio", "audio"}};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        for (int many = 0; many < 2; many++) {
            fixture f;
            char text[200];
            cf_exchange_open(&f);
            snprintf(text, sizeof text,
                     "{\"conversations\":[{\"from\":\"human\",\"value\":\"<%s>q\"}],"
                     "\"%s%s\":%s\"zq.bin\"%s,\"more\":1}",
                     kinds[i][0], kinds[i][1], many ? "s" : "", many ? "[" : "", many ? "]" : "");
            import(&f, CF_FORMAT_SHAREGPT, text);
            cf_store_tree t = cf_exchange_tree(&f);
            assert_non_null(strstr(t.turns[0].message.p, "zq.bin"));
            assert_null(strstr(t.conv.preface.p, "zq.bin"));
            assert_non_null(strstr(t.conv.preface.p, "\"more\":1"));
            cf_exchange_close(&f);
        }
    }
}

/* The type of a picture or sound is that of its bytes; text documents are text,
 * and members that OpenAI has not as null are left out. */
static void test_media__types_and_documents(void **state)
{
    (void)state;
    static const struct {
        cf_format from;
        const char *text;
        cf_format to;
        const char *want, *but;
    } rows[] = {
        {CF_FORMAT_LITERT,
         "{\"messages\":{\"role\":\"user\",\"content\":[\"q\",{\"type\":\"image\",\"blob\":"
         "\"/9j/4AAQ\"}]}}",
         CF_FORMAT_OPENAI, "data:image/jpeg;base64,/9j/4AAQ", "image/png"},
        {CF_FORMAT_LITERT,
         "{\"role\":\"user\",\"content\":[{\"type\":\"image\",\"blob\":\"/9j/4AAQ\"}]}",
         CF_FORMAT_CONVERSE, "\"mimeType\":\"image/jpeg\"", "png"},
        {CF_FORMAT_CONVERSE,
         "{\"history\":[{\"role\":\"user\",\"content\":{\"text\":\"q\",\"binaryContent\":["
         "{\"type\":\"textDocument\",\"content\":\"zqdocument\",\"mimeType\":\"text/plain\"}]}}]}",
         CF_FORMAT_OPENAI, "{\"type\":\"text\",\"text\":\"zqdocument\"}", "converse"},
        {CF_FORMAT_LITERT,
         "[{\"role\":\"tool\",\"content\":[{\"type\":\"tool_response\",\"name\":\"f\","
         "\"response\":{\"a\":1}}]}]",
         CF_FORMAT_OPENAI, "{\"role\":\"tool\",\"content\":\"{\\\"a\\\":1}\",\"name\":\"f\"}",
         "tool_response"},
        {CF_FORMAT_OPENAI,
         "[{\"role\":\"assistant\",\"content\":\"b\",\"tool_calls\":null,\"tool_results\":null}]",
         CF_FORMAT_OPENAI, "{\"role\":\"assistant\",\"content\":\"b\"}", "null"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        fixture f;
        cf_buf text = CF_BUF_INIT;
        cf_exchange_open(&f);
        import(&f, rows[i].from, rows[i].text);
        cf_exchange_export(&f, rows[i].to, &text);
        if (strstr(cf_buf_cstr(&text), rows[i].want) == NULL ||
            strstr(cf_buf_cstr(&text), rows[i].but) != NULL) {
            fail_msg("row %d: %s", (int)i, cf_buf_cstr(&text));
        }
        cf_buf_deinit(&text);
        cf_exchange_close(&f);
    }
}

/* A picture of some size is in the database once. */
static void test_media__is_stored_once(void **state)
{
    (void)state;
    fixture f;
    sqlite3 *db;
    cf_buf text = CF_BUF_INIT;
    cf_exchange_open(&f);
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
    assert_int_equal(sqlite3_prepare_v2(db, "SELECT count(*) FROM blob", -1, &st, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(st), SQLITE_ROW);
    assert_int_equal(sqlite3_column_int(st, 0), 1);
    sqlite3_finalize(st);
    sqlite3_close(db);
    cf_buf_deinit(&text);
    cf_exchange_close(&f);
}

static void test_chatgpt__citations_and_files(void **state)
{
    (void)state;
    fixture f;
    cf_exchange_open(&f);
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
    cf_store_tree t = cf_exchange_tree(&f);
    cf_exchange_says(&t, 0,
                     "{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":"
                     "\"read\"},{\"type\":\"file\",\"path\":\"file-1\",\"mime_type\":"
                     "\"application/pdf\",\"name\":\"a.pdf\"}]}");
    assert_non_null(strstr(t.turns[1].source.p, "\"citations\":[{\"start_ix\":0,\"end_ix\":2}]"));
    assert_non_null(strstr(t.turns[1].source.p, "\"recipient\":\"all\""));
    assert_non_null(strstr(t.conv.source.p, "\"gizmo_id\":\"g-1\""));
    cf_exchange_close(&f);
}

/* A file that a part of the message points to is not named a second time. */
static void test_chatgpt__files_are_named_once(void **state)
{
    (void)state;
    static const char *const pointers[] = {"file-1", "file-service://file-1"};
    for (size_t i = 0; i < sizeof pointers / sizeof pointers[0]; i++) {
        char text[600];
        fixture f;
        cf_exchange_open(&f);
        snprintf(text, sizeof text,
                 "[{\"id\":\"c\",\"mapping\":{\"u\":{\"message\":{\"author\":{\"role\":\"user\"},"
                 "\"content\":{\"content_type\":\"multimodal_text\",\"parts\":[{\"content_type\":"
                 "\"image_asset_pointer\",\"asset_pointer\":\"%s\"},\"look\"]},\"metadata\":{"
                 "\"attachments\":[{\"id\":\"file-1\",\"name\":\"only-once.png\",\"mimeType\":"
                 "\"image/png\"}]}}}}}]",
                 pointers[i]);
        import(&f, CF_FORMAT_CHATGPT, text);
        cf_store_tree t = cf_exchange_tree(&f);
        const char *path = strstr(t.turns[0].message.p, "\"path\":");
        assert_non_null(path);
        assert_null(strstr(path + 1, "\"path\":"));
        cf_exchange_close(&f);
    }
}

/* Calls without ids get one, and their results the same. */
static void test_openai__results_name_their_calls(void **state)
{
    (void)state;
    fixture f;
    cf_exchange_open(&f);
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
    export_is(&f, CF_FORMAT_OPENAI,
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
    cf_exchange_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_again__a_grown_conversation_adds_what_is_new),
        cmocka_unit_test(test_again__converse_without_uuids),
        cmocka_unit_test(test_again__converse_that_grows),
        cmocka_unit_test(test_again__same_beginning_is_not_same),
        cmocka_unit_test(test_kept__fields_of_every_form),
        cmocka_unit_test(test_kept__one_field_beside_an_id),
        cmocka_unit_test(test_media__in_every_form),
        cmocka_unit_test(test_media__is_in_the_message_alone),
        cmocka_unit_test(test_media__types_and_documents),
        cmocka_unit_test(test_media__is_stored_once),
        cmocka_unit_test(test_chatgpt__citations_and_files),
        cmocka_unit_test(test_chatgpt__files_are_named_once),
        cmocka_unit_test(test_openai__results_name_their_calls),
    };
    return cmocka_run_group_tests(tests, store_dir_make, store_dir_remove);
}
