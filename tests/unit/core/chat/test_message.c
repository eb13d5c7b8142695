/*
 * test_message.c - the text and the calls of a message.
 */
#include "core/api/attachment.h"
#include "core/api/message.h"
#include "tests/support/t.h"

static json_t *read_message(const char *text)
{
    cf_error err;
    json_t *v;
    T_OK(cf_json_read(&v, text, strlen(text), &err), err);
    return v;
}

static void test_message__text_of_every_content(void **state)
{
    (void)state;
    static const char *const rows[][3] = {
        {"{\"content\":\"a\"}", "", "a"},
        {"{\"content\":null}", "", ""},
        {"{}", "", ""},
        {"[]", "", ""},
        {"{\"content\":{\"text\":\"a\"}}", "", "a"},
        {"{\"content\":[{\"type\":\"text\",\"text\":\"a\"},{\"type\":\"image\"},\"b\"]}", "", "ab"},
        {"{\"content\":[{\"text\":\"\"},{\"text\":\"a\"},{\"text\":\"\"},{\"text\":\"b\"}]}", "\n",
         "a\nb"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        json_t *m = read_message(rows[i][0]);
        cf_buf b = CF_BUF_INIT;
        cf_buf_adds(&b, "before ");
        cf_message_text(&b, m, rows[i][1]);
        T_TEXT(b.p + 7, b.n - 7, rows[i][2]);
        cf_buf_deinit(&b);
        json_decref(m);
    }
}

/* A format is known by its first bytes and not by fewer. */
static void test_message__sniffed(void **state)
{
    (void)state;
    static const struct {
        const char *head;
        size_t n;
        const char *mime;
    } rows[] = {{"fLaC", 4, "audio/flac"},  {"OggS", 4, "audio/ogg"},
                {".snd", 4, "audio/basic"}, {"caff", 4, "audio/x-caf"},
                {"ID3", 3, "audio/mpeg"},   {"\xFF\xFB", 2, "audio/mpeg"}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char more[16] = {0};
        memcpy(more, rows[i].head, rows[i].n);
        assert_string_equal(cf_attachment_sniff(cf_str_make(more, rows[i].n)), rows[i].mime);
        assert_string_equal(cf_attachment_sniff(cf_str_make(more, sizeof more)), rows[i].mime);
        assert_null(cf_attachment_sniff(cf_str_make(more, rows[i].n - 1)));
    }
}

static void test_message__calls_in_order(void **state)
{
    (void)state;
    static const char *const want[][3] = {
        {"1", "f", "{\"a\":1}"}, {"", "g", "text"}, {"", "h", "none"}, {"", "", "none"}};
    json_t *m = read_message("{\"tool_calls\":[{\"id\":\"1\",\"function\":{\"name\":\"f\","
                             "\"arguments\":{\"a\":1}}},{\"name\":\"g\",\"arguments\":\"text\"},"
                             "{\"function\":{\"name\":\"h\"}},5]}");
    cf_message_call call;
    size_t n = 0;
    for (; cf_message_call_at(&call, m, n); n++) {
        cf_buf b = CF_BUF_INIT;
        cf_message_put_arguments(&b, &call, "none");
        assert_true(n < 4);
        assert_ptr_equal(call.call, json_array_get(json_object_get(m, "tool_calls"), n));
        T_TEXT(call.id.p, call.id.n, want[n][0]);
        T_TEXT(call.name.p, call.name.n, want[n][1]);
        T_TEXT(cf_buf_cstr(&b), b.n, want[n][2]);
        cf_buf_deinit(&b);
    }
    assert_int_equal(n, 4);
    json_decref(m);
    assert_false(cf_message_call_at(&call, NULL, 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_message__text_of_every_content),
        cmocka_unit_test(test_message__sniffed),
        cmocka_unit_test(test_message__calls_in_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
