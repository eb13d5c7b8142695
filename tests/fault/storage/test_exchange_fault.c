/*
 * test_exchange_fault.c - every format read and written with the n-th
 * allocation failing: what comes out is whole, or it is CF_ENOMEM.
 */
#include "tests/support/t.h"
#include "core/base/alloc.h"
#include "storage/exchange.h"
#include "tests/support/exchange_desk.h"
#include "tests/support/fault.h"
#include "tests/support/store_dir.h"

/* A conversation with all that formats write in forms of their own. */
static const char all_kinds[] =
    "{\"messages\":[{\"role\":\"system\",\"content\":\"be kind\"},"
    "{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"what is this?\"},"
    "{\"type\":\"image_url\",\"image_url\":{\"url\":\"data:image/png;base64,QUJD\"},"
    "\"name\":\"a.png\"}]},"
    "{\"role\":\"assistant\",\"content\":null,\"reasoning_content\":\"let me look\","
    "\"tool_calls\":[{\"id\":\"c1\",\"type\":\"function\",\"function\":{\"name\":\"look\","
    "\"arguments\":\"{\\\"at\\\": 1}\"}}]},"
    "{\"role\":\"tool\",\"tool_call_id\":\"c1\",\"content\":\"a cat\"},"
    "{\"role\":\"assistant\",\"content\":\"A cat.\",\"mood\":\"sure\"}],"
    "\"tools\":[{\"type\":\"function\",\"function\":{\"name\":\"look\"}}],\"extra\":{\"a\":1}}";

static const struct {
    cf_format format;
    const char *text;
} files[] = {
    {CF_FORMAT_OPENAI, all_kinds},
    {CF_FORMAT_OPENAI, /* Gemini's */
     "{\"systemInstruction\":\"be kind\",\"contents\":[{\"role\":\"user\",\"parts\":[{\"text\":"
     "\"q\"}]},{\"role\":\"model\",\"parts\":[{\"functionCall\":{\"name\":\"f\",\"args\":{}}}]}]}"},
    {CF_FORMAT_LITERT, "[{\"role\":\"user\",\"content\":[{\"type\":\"image\",\"blob\":\"QUJD\"}]},"
                       "{\"role\":\"model\",\"content\":{\"text\":\"a\"}}]"},
    {CF_FORMAT_SHAREGPT,
     "{\"system\":\"s\",\"conversations\":[{\"from\":\"human\",\"value\":\"a<image>b\",\"n\":1},"
     "{\"from\":\"function_call\",\"value\":\"{\\\"name\\\":\\\"f\\\",\\\"arguments\\\":{}}\"},"
     "{\"from\":\"bing\",\"value\":\"c\"}],\"images\":[{\"bytes\":\"QUJD\",\"path\":\"p\"}],"
     "\"tools\":\"[]\",\"more\":2}"},
    {CF_FORMAT_CONVERSE,
     "{\"history\":[{\"role\":\"user\",\"uuid\":\"u1\",\"content\":{\"text\":\"q\","
     "\"binaryContent\":"
     "[{\"type\":\"x.Bytes\",\"data\":[1,-2],\"mimeType\":\"image/png\",\"filename\":\"f\"},"
     "{\"type\":\"x.TextDocument\",\"content\":\"t\"}],\"confab\":{\"name\":\"n\"},\"k\":1}}],"
     "\"v\":1}"},
    {CF_FORMAT_LLAMA_APP,
     "{\"type\":\"session\",\"id\":\"s\",\"name\":\"n\",\"x\":1}\n{\"type\":\"message\","
     "\"message\":"
     "{\"id\":\"m\",\"role\":\"user\",\"content\":\"q\",\"x\":1,\"toolCalls\":\"[{}]\",\"extra\":[{"
     "\"type\":\"IMAGE\",\"name\":\"i\",\"base64Url\":\"data:image/png;base64,QUJD\"},{\"type\":"
     "\"TEXT\",\"name\":\"t\",\"content\":\"c\"},{\"type\":\"PDF\",\"processedAsImages\":true,"
     "\"images\":[\"data:,a\",\"data:,b\"]},{\"type\":\"other\"}]}}"},
    {CF_FORMAT_CHATGPT,
     "[{\"id\":\"c\",\"title\":\"t\",\"x\":1,\"current_node\":\"b\",\"mapping\":{\"a\":{"
     "\"message\":{"
     "\"author\":{\"role\":\"user\",\"name\":\"n\",\"k\":1},\"content\":{\"content_type\":"
     "\"multimodal_text\",\"parts\":[\"q\",{\"asset_pointer\":\"p\"}]},\"metadata\":{"
     "\"attachments\":"
     "[{\"id\":\"f\",\"name\":\"n\"}]}}},\"b\":{\"parent\":\"a\",\"message\":{\"author\":{\"role\":"
     "\"assistant\"},\"recipient\":\"f\",\"content\":{\"content_type\":\"code\",\"text\":\"{}\"}}}}"
     "}]"},
    {CF_FORMAT_MARKDOWN,
     "---\nuuid: \"0190aaaa-0000-4000-8000-000000000001\"\ntags: [\"a\"]\n---\n\n## 1 assistant\n\n"
     "<!-- 0190aaaa-0000-4000-8000-000000000002 -->\n\n<!-- fields {\"k\":1} -->\n\n"
     "<!-- reasoning -->\n\n```text\nr\n```\n\n<!-- text -->\n\nhello\n\n<!-- image -->\n\n"
     "![n](data:image/png;base64,QUJD)\n\n<!-- call {\"id\":\"c\"} -->\n\nCall of f:\n\n```json\n"
     "{\"a\":1}\n```\n\n<!-- note -->\n\n> a note\n\n"},
};

static size_t count_of(const cf_import_report *r)
{
    return r->n_new * 1000000 + r->n_turns * 1000 + r->n_bad;
}

/* Where an import succeeds it has read all that it reads otherwise. */
static void test_import__every_alloc(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        cf_error err;
        cf_import_report want, got;
        for (int guesses = 0; guesses < 2; guesses++) {
            const cf_import_options o = {
                .format = files[i].format, .guesses = guesses != 0, .is_dry = true};
            const char *text = files[i].text;
            T_OK(cf_import_bytes(NULL, text, strlen(text), &o, &want, &err), err);
            assert_true(want.n_turns > 0 && want.n_bad == 0);
            for (size_t nth = 1;; nth++) {
                size_t before = cf_fault_live();
                cf_fault_arm(nth, false);
                cf_status st = cf_import_bytes(NULL, text, strlen(text), &o, &got, &err);
                bool has_failed = cf_fault_disarm();
                assert_int_equal(cf_fault_live(), before);
                assert_true(st == CF_ENOMEM || st == CF_OK);
                if (st == CF_OK) {
                    assert_int_equal(count_of(&got), count_of(&want));
                }
                if (!has_failed) {
                    break;
                }
            }
        }
    }
}

static cf_status write_once(cf_exchange_desk *d, cf_format format, cf_uuid conv, cf_buf *out,
                            cf_error *err)
{
    const cf_export_options o = {.format = format};
    cf_exporter *ex;
    CF_TRY(cf_export_begin(&ex, d->s, &o, err));
    cf_status st = cf_export_conv(ex, conv, out, err);
    cf_export_end(ex);
    return st;
}

/* Where an export succeeds it has written what it writes otherwise. */
static void check_export(cf_exchange_desk *d, cf_format format, cf_uuid conv)
{
    cf_error err;
    cf_buf want = CF_BUF_INIT;
    T_OK(write_once(d, format, conv, &want, &err), err);
    for (size_t nth = 1;; nth += 1 + nth / 64) {
        cf_buf got = CF_BUF_INIT;
        cf_fault_arm(nth, false);
        cf_status st = write_once(d, format, conv, &got, &err);
        bool has_failed = cf_fault_disarm();
        assert_true(st == CF_ENOMEM || st == CF_OK);
        if (st == CF_OK) {
            T_TEXT(cf_buf_cstr(&got), got.n, cf_buf_cstr(&want));
        }
        cf_buf_deinit(&got);
        if (!has_failed) {
            break;
        }
    }
    cf_buf_deinit(&want);
}

static void test_export__every_alloc(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        cf_exchange_desk d;
        const cf_store_conv *rows;
        cf_exchange_open(&d);
        cf_exchange_import(&d, files[i].text, (cf_import_options){.format = files[i].format});
        assert_int_equal(cf_exchange_list(&d, &rows), 1);
        cf_uuid conv = rows[0].id;
        for (int f = 0; f < CF_FORMAT_COUNT; f++) {
            if (cf_format_writes((cf_format)f)) {
                check_export(&d, (cf_format)f, conv);
            }
        }
        cf_exchange_close(&d);
    }
}

/* An import is taken back as a whole or not at all, and what that needed is released. */
static void test_undo__every_alloc(void **state)
{
    (void)state;
    size_t before = cf_fault_live();
    cf_exchange_desk d;
    const cf_store_conv *rows;
    bool has_failed = true;
    cf_exchange_open(&d);
    for (size_t nth = 1; has_failed; nth += 1 + nth / 8) {
        cf_error err;
        cf_buf what = CF_BUF_INIT;
        cf_exchange_import(&d, files[0].text, (cf_import_options){.format = files[0].format});
        cf_fault_arm(nth, false);
        cf_status st = cf_store_undo(d.s, &what, &err);
        has_failed = cf_fault_disarm();
        assert_true(st == CF_OK || (has_failed && st == CF_ENOMEM));
        assert_int_equal(cf_exchange_list(&d, &rows), st != CF_OK);
        cf_buf_deinit(&what);
        T_OK(cf_store_flush(d.s, 5000, &err), err); /* the writer tries again */
    }
    cf_exchange_close(&d);
    assert_int_equal(cf_fault_live(), before);
}

int main(void)
{
    cf_fault_install();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_import__every_alloc),
        cmocka_unit_test(test_export__every_alloc),
        cmocka_unit_test(test_undo__every_alloc),
    };
    return cmocka_run_group_tests(tests, store_dir_make, store_dir_remove);
}
