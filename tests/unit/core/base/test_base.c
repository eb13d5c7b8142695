/*
 * test_base.c - status, alloc, arena, buf, utf8, json, os, uuid, hash.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/hash.h"
#include "core/base/os.h"
#include "core/base/os_append.h"
#include "core/base/utf8.h"
#include "core/base/uuid.h"
#include "core/json/json.h"
#include "core/json/json_same.h"
#include "core/net/http_header.h"
#include "core/net/sse.h"
#include "tests/support/fault.h"
#include "tests/support/t.h"

static void test_status__cuts_at_a_character(void **state)
{
    (void)state;
    cf_error err;
    char filler[CF_ERROR_TEXT_MAX];
    memset(filler, 'a', sizeof filler);
    filler[CF_ERROR_TEXT_MAX - 2] = '\0';
    cf_fail(&err, CF_EIO, "%s\xC3\xA9", filler);
    assert_int_equal(strlen(err.text), CF_ERROR_TEXT_MAX - 2);
    assert_int_equal(err.text[CF_ERROR_TEXT_MAX - 3], 'a');
}

static void test_status__no_control_bytes(void **state)
{
    (void)state;
    cf_error err;
    cf_fail_at(&err, CF_EFORMAT, 7, "a\nb\033[c");
    assert_string_equal(err.text, "a\\nb\\x1b[c");
    assert_int_equal(err.off, 7);
    cf_fail_in(&err, CF_EIO, "x.gguf");
    assert_string_equal(err.text, "x.gguf: a\\nb\\x1b[c");
    assert_int_equal(err.code, CF_EFORMAT);
    assert_int_equal(err.off, 7);
}

static void test_alloc__overflow_is_null(void **state)
{
    (void)state;
    assert_null(cf_calloc(SIZE_MAX / 2, 3));
    assert_null(cf_realloc(NULL, SIZE_MAX, 2));
    void *p = cf_alloc_aligned(64, 100);
    assert_int_equal((uintptr_t)p % 64, 0);
    cf_free_aligned(p);
}

/* Large blocks have pages of their own, unless a table is set. */
static void test_alloc__large_blocks(void **state)
{
    static const size_t size[] = {CF_OS_HUGE - 1000, CF_OS_HUGE, CF_OS_HUGE + 5000,
                                  2 * CF_OS_HUGE - 100, 3 * CF_OS_HUGE + CF_OS_HUGE / 2};
    enum { N = sizeof size / sizeof *size };
    unsigned char *p[2 * N];
    (void)state;
    cf_alloc_use(NULL);
    assert_null(cf_os_pages_map(SIZE_MAX - CF_OS_HUGE));
    for (size_t i = 0; i < 2 * N; i++) {
        const size_t n = size[i % N];
        p[i] = cf_alloc_aligned(64, n);
        assert_non_null(p[i]);
        assert_int_equal((uintptr_t)p[i] % 64, 0);
        for (size_t k = 0; k < n; k += 4095) {
            assert_int_equal(p[i][k], 0);
        }
        assert_int_equal(p[i][n - 1], 0);
        memset(p[i], (int)i + 1, n);
        if (i >= N) { /* the blocks beside it stay as they are */
            cf_free_aligned(p[i - N]);
        }
    }
    for (size_t i = N; i < 2 * N; i++) {
        assert_int_equal(p[i][0], i + 1);
        assert_int_equal(p[i][size[i % N] - 1], i + 1);
        cf_free_aligned(p[i]);
    }
    cf_fault_install();
}

static void test_arena__limit_is_sticky(void **state)
{
    (void)state;
    cf_arena a;
    cf_arena_init(&a, 10000);
    assert_non_null(cf_arena_alloc(&a, 9000));
    assert_null(cf_arena_alloc(&a, 9000));
    assert_null(cf_arena_alloc(&a, 1));
    cf_arena_reset(&a);
    assert_non_null(cf_arena_alloc(&a, 1));
    cf_arena_deinit(&a);
}

static void test_arena__release_gives_back(void **state)
{
    (void)state;
    cf_arena a;
    cf_arena_init(&a, 0);
    char *first = cf_arena_strndup(&a, "first", 5);
    cf_arena_mark mark = cf_arena_get_mark(&a);
    size_t total = a.total;
    for (int i = 0; i < 100; i++) {
        assert_non_null(cf_arena_alloc(&a, 5000));
    }
    cf_arena_release(&a, mark);
    assert_int_equal(a.total, total);
    assert_string_equal(first, "first");
    cf_arena_deinit(&a);
}

static cf_status build_text(void *ud)
{
    (void)ud;
    cf_buf b = CF_BUF_INIT;
    for (int i = 0; i < 200; i++) {
        cf_buf_addf(&b, "%d,", i);
    }
    cf_status st = cf_buf_check(&b, NULL);
    char *text = cf_buf_take(&b);
    cf_free(text);
    return text != NULL ? st : CF_ENOMEM;
}

static void test_buf__every_allocation_may_fail(void **state)
{
    (void)state;
    cf_fault_every_alloc(build_text, NULL, false);
    cf_fault_every_alloc(build_text, NULL, true);
}

/* A scratch buffer that is checked after its loop has not forgotten. */
static void test_buf__reset_keeps_a_failure(void **state)
{
    (void)state;
    cf_buf b = CF_BUF_INIT;
    cf_error err;
    cf_buf_adds(&b, "one");
    cf_fault_arm(1, false);
    assert_null(cf_buf_reserve(&b, 1000));
    cf_fault_disarm();
    cf_buf_reset(&b);
    cf_buf_adds(&b, "two");
    assert_int_equal(b.n, 0);
    assert_int_equal(cf_buf_check(&b, &err), CF_ENOMEM);
    cf_buf_restart(&b);
    cf_buf_adds(&b, "three");
    assert_string_equal(cf_buf_cstr(&b), "three");
    cf_fault_arm(1, false);
    assert_null(cf_buf_reserve(&b, 1000));
    cf_fault_disarm();
    cf_buf_rewind(&b, 3);
    cf_buf_adds(&b, "ee");
    assert_string_equal(cf_buf_cstr(&b), "three");
    assert_int_equal(cf_buf_check(&b, &err), CF_OK);
    cf_buf_deinit(&b);
    cf_buf_rewind(&b, 0);
    assert_string_equal(cf_buf_cstr(&b), "");
}

static cf_status add_event(cf_str data, void *ud, cf_error *err)
{
    cf_buf_add(ud, data.p, data.n);
    cf_buf_addc(ud, '|');
    return cf_buf_check(ud, err);
}

/* An event is complete or an error, whichever allocation fails. */
static cf_status read_events(void *ud)
{
    static const char text[] = "data: 01234567890123456789012345678901234567"
                               "89012345678901234567890123456789\n"
                               "data: and a second line of it, rather long\n"
                               "\ndata: b\n\n";
    cf_sse s = {0};
    cf_buf got = CF_BUF_INIT;
    cf_error err;
    cf_status st = cf_sse_feed(&s, text, sizeof text - 1, add_event, &got, &err);
    if (st == CF_OK) {
        assert_int_equal(got.n, *(const size_t *)ud);
    }
    cf_sse_deinit(&s);
    cf_buf_deinit(&got);
    return st;
}

static void test_sse__whole_or_nothing(void **state)
{
    (void)state;
    size_t n = 70 + 1 + 36 + 1 + 1 + 1;
    cf_fault_every_alloc(read_events, &n, false);
    cf_fault_every_alloc(read_events, &n, true);
}

static void test_utf8__decode(void **state)
{
    (void)state;
    static const struct {
        const char *in;
        size_t n, len;
        uint32_t cp;
    } cases[] = {
        {"a", 1, 1, 'a'},
        {"\xC3\xA9", 2, 2, 0xE9},
        {"\xE2\x82\xAC", 3, 3, 0x20AC},
        {"\xF0\x9F\x98\x80", 4, 4, 0x1F600},
        {"\xC0\x80", 2, 1, CF_UTF8_BAD},         /* overlong */
        {"\xED\xA0\x80", 3, 1, CF_UTF8_BAD},     /* surrogate */
        {"\xF4\x90\x80\x80", 4, 1, CF_UTF8_BAD}, /* over U+10FFFF */
        {"\xE2\x82", 2, 1, CF_UTF8_BAD},         /* truncated */
        {"\x80", 1, 1, CF_UTF8_BAD},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint32_t cp;
        assert_int_equal(cf_utf8_decode(&cp, cases[i].in, cases[i].n), cases[i].len);
        assert_int_equal(cp, cases[i].cp);
        char out[4];
        if (cp != CF_UTF8_BAD) {
            assert_int_equal(cf_utf8_encode(out, cp), cases[i].len);
            assert_memory_equal(out, cases[i].in, cases[i].len);
        }
    }
    assert_int_equal(cf_utf8_incomplete_tail("ab\xE2\x82", 4), 2);
    assert_int_equal(cf_utf8_incomplete_tail("ab\xE2\x82\xAC", 5), 0);
    assert_int_equal(cf_utf8_incomplete_tail("\xED\xA0", 2), 0);
    assert_int_equal(cf_utf8_valid_prefix("ab\xFFz", 4), 2);
}

static void test_utf8__copy_cuts_at_a_character(void **state)
{
    (void)state;
    static const char text[] = "a\xC3\xA9\xE6\xBC\xA2\xF0\x9F\x98\x80";
    const size_t want[] = {0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10, 10};
    for (size_t cap = 1; cap <= 12; cap++) {
        char out[12];
        memset(out, 'x', sizeof out);
        size_t n = cf_utf8_copy(out, cap, cf_str_from(text));
        assert_int_equal(n, want[cap - 1]);
        assert_memory_equal(out, text, n);
        assert_int_equal(out[n], '\0');
    }
    char one[1];
    assert_int_equal(cf_utf8_copy(one, 1, cf_str_make(NULL, 0)), 0);
}

static void test_utf16__escapes(void **state)
{
    static const struct {
        const char *text;
        size_t n;
        uint32_t cp;
    } cases[] = {
        {"\\u0041", 6, 'A'},
        {"\\uD83D\\uDE00", 12, 0x1F600},
        {"\\ud83d\\ude00x", 12, 0x1F600},
        {"\\uD83D\\u0041", 6, 0xFFFD}, /* half a pair */
        {"\\uD83D\\uDE0", 6, 0xFFFD},
        {"\\uDE00", 6, 0xFFFD},
        {"\\u004", 0, 0},
        {"\\u00g1", 0, 0},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint32_t cp = 0;
        const char *p = cases[i].text;
        assert_int_equal(cf_utf16_escape(&cp, p, strlen(p)), cases[i].n);
        assert_int_equal(cp, cases[i].cp);
    }
    assert_int_equal(cf_utf16_unit("00aF", 4), 0xAF);
    assert_int_equal(cf_utf16_unit("00aF", 3), -1);
}

static void test_http__header_lines(void **state)
{
    static const struct {
        const char *line, *value; /* NULL: another header */
    } cases[] = {
        {"Content-Type: text/plain\r\n", "text/plain"},
        {"CONTENT-TYPE:\ta  \r\n", "a"},
        {"content-type:", ""},
        {"content-type", NULL},
        {"content-types: a", NULL},
        {"content: a", NULL},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        cf_str value = cf_str_from("");
        assert_int_equal(cf_http_header(cf_str_from(cases[i].line), "content-type", &value),
                         cases[i].value != NULL);
        if (cases[i].value != NULL) {
            T_TEXT(value.p, value.n, cases[i].value);
        }
    }
}

static void test_json__round_trip(void **state)
{
    (void)state;
    static const char text[] = "{\"z\":1,\"a\":[0.1,1e+300,-0.0,9007199254740993,true,null],"
                               "\"s\":\"\\u0000\\n\xC3\xA9\\\"\"}";
    json_t *v;
    cf_error err;
    T_OK(cf_json_read(&v, text, sizeof text - 1, &err), err);
    cf_buf b = CF_BUF_INIT;
    cf_json_write(&b, v);
    assert_string_equal(cf_buf_cstr(&b), text);
    cf_buf_deinit(&b);
    json_decref(v);
    T_FAILS(cf_json_read(&v, "{\"a\":\n]", 7, &err), CF_EFORMAT);
    assert_int_equal(err.line, 2);
}

static bool stops_at_zero(void *ud)
{
    int *left = ud;
    return (*left)-- == 0;
}

/* A long text can be stopped anywhere, and is else read as a short one. */
static void test_json__read_until(void **state)
{
    (void)state;
    cf_buf text = CF_BUF_INIT;
    cf_error err;
    json_t *whole, *v;
    cf_buf_adds(&text, "[");
    for (int i = 0; i < 2000; i++) {
        cf_buf_addf(&text, "%d,\"\\u00e9\xC3\xA9\",", i);
    }
    cf_buf_adds(&text, "123456789012345678901234567890]");
    T_OK(cf_json_read(&whole, text.p, text.n, &err), err);
    int n = 0;
    for (bool is_whole = false; !is_whole; n++) {
        int left = n;
        cf_status st = cf_json_read_until(&v, text.p, text.n, stops_at_zero, &left, &err);
        is_whole = st == CF_OK;
        if (!is_whole) {
            T_FAILS(st, CF_ECANCELLED);
        }
    }
    assert_true(n > (int)(text.n / 2048));
    assert_true(json_equal(whole, v));
    json_decref(whole);
    json_decref(v);
    cf_buf_deinit(&text);
}

static void test_os__time(void **state)
{
    (void)state;
    int64_t ms;
    char text[25];
    assert_true(cf_os_parse_time(&ms, "2025-01-02T03:04:05Z"));
    cf_os_format_time(text, ms + 6);
    assert_string_equal(text, "2025-01-02T03:04:05.006Z");
    assert_true(cf_os_parse_time(&ms, "1969-12-31T23:59:59.500Z"));
    assert_int_equal(ms, -500);
    cf_os_format_time(text, ms);
    assert_string_equal(text, "1969-12-31T23:59:59.500Z");
    assert_false(cf_os_parse_time(&ms, "2025-13-02T03:04:05Z"));
}

static void test_os__files(void **state)
{
    (void)state;
    char path[] = "/tmp/cf_test_base.XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    cf_error err;
    T_OK(cf_os_write_file(path, "hello", 5, 0600, &err), err);
    cf_buf b = CF_BUF_INIT;
    cf_buf none = CF_BUF_INIT; /* an empty file ends its text, whatever was in the memory */
    memset(cf_buf_reserve(&none, 65536), 'x', 65536);
    T_OK(cf_os_read_file(&none, "/dev/null", 4, &err), err);
    assert_string_equal(cf_buf_cstr(&none), "");
    cf_buf_deinit(&none);
    T_FAILS(cf_os_read_file(&b, path, 4, &err), CF_ELIMIT);
    assert_null(b.p); /* nothing was read, or is to be released */
    cf_buf_addf(&b, "x");
    T_FAILS(cf_os_read_file(&b, path, 4, &err), CF_ELIMIT);
    assert_string_equal(cf_buf_cstr(&b), "x");
    cf_buf_reset(&b);
    T_OK(cf_os_read_file(&b, path, 5, &err), err);
    T_TEXT(b.p, b.n, "hello");
    T_FAILS(cf_os_read_file(&b, "/dev/zero", 1 << 20, &err), CF_EINVAL);
    T_TEXT(b.p, b.n, "hello");
    cf_buf_deinit(&b);
    cf_os_map map;
    T_OK(cf_os_map_open(&map, path, &err), err);
    T_TEXT(map.p, map.n, "hello");
    cf_os_map_close(&map);
    assert_true(cf_os_is_readable(path));
    assert_true(cf_os_has_file("/tmp", path + strlen("/tmp/")));
    assert_false(cf_os_is_readable("/tmp"));
    assert_false(cf_os_is_dir(path));
    assert_true(cf_os_is_dir("/tmp"));
    remove(path);
    assert_false(cf_os_is_readable(path));
    assert_false(cf_os_has_file("/tmp", path + strlen("/tmp/")));
    T_FAILS(cf_os_map_open(&map, path, &err), CF_ENOTFOUND);
    T_FAILS(cf_os_map_open(&map, "/tmp", &err), CF_EIO);
}

/* A pipe that a file is written to is a pipe afterwards. */
static void test_os__writes_into_a_pipe(void **state)
{
    (void)state;
    char path[] = "/tmp/cf_test_pipe.XXXXXX", back[8];
    cf_error err;
    struct stat s;
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    remove(path);
    assert_int_equal(mkfifo(path, 0600), 0);
    T_FAILS(cf_os_write_file(path, "hello", 5, 0600, &err), CF_EIO);
    assert_non_null(strstr(err.text, "no program reads"));
    int out = open(path, O_RDONLY | O_NONBLOCK);
    assert_true(out >= 0);
    T_OK(cf_os_write_file(path, "hello", 5, 0600, &err), err);
    assert_int_equal(read(out, back, sizeof back), 5);
    assert_memory_equal(back, "hello", 5);
    assert_int_equal(stat(path, &s), 0);
    assert_true(S_ISFIFO(s.st_mode));
    close(out);
    remove(path);
}

static void test_json__same_value(void **state)
{
    (void)state;
    static const struct {
        const char *a, *b;
        bool same;
    } v[] = {
        {"1", "1.0", true},
        {"1", "1.5", false},
        {"9007199254740993", "9007199254740992.0", false},
        {"9223372036854775807", "9223372036854775808.0", false},
        {"-9223372036854775808", "-9223372036854775808.0", true},
        {"1", "true", false},
        {"\"1\"", "1", false},
        {"[1,[2.0]]", "[1.0,[2]]", true},
        {"[1]", "[1,1]", false},
        {"{\"a\":1,\"b\":[]}", "{\"b\":[],\"a\":1.0}", true},
        {"{\"a\":1,\"b\":2}", "{\"a\":1,\"c\":2}", false},
        {"{\"a\":null}", "{}", false},
        {"null", "null", true},
    };
    for (size_t i = 0; i < sizeof v / sizeof *v; i++) {
        cf_error err;
        json_t *a = NULL;
        json_t *b = NULL;
        T_OK(cf_json_read(&a, v[i].a, strlen(v[i].a), &err), err);
        T_OK(cf_json_read(&b, v[i].b, strlen(v[i].b), &err), err);
        if (cf_json_same(a, b) != v[i].same || cf_json_same(b, a) != v[i].same) {
            fail_msg("%s and %s", v[i].a, v[i].b);
        }
        json_decref(a);
        json_decref(b);
    }
    assert_false(cf_json_same(NULL, NULL));
}

static void test_uuid__ordered_and_parsed(void **state)
{
    (void)state;
    char last[CF_UUID_TEXT + 1] = "";
    for (int i = 0; i < 2000; i++) {
        char text[CF_UUID_TEXT + 1];
        cf_uuid id = cf_uuid_new();
        cf_uuid_format(text, id);
        assert_true(strcmp(last, text) < 0);
        assert_int_equal(text[14], '7');
        cf_uuid back;
        assert_true(cf_uuid_parse(&back, text, CF_UUID_TEXT));
        assert_true(cf_uuid_eq(id, back));
        memcpy(last, text, sizeof last);
    }
    cf_uuid id;
    assert_false(cf_uuid_parse(&id, "0197-not-a-uuid", 15));
    assert_true(cf_uuid_parse(&id, "A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11", 36));
}

static void test_hash__known_answer(void **state)
{
    (void)state;
    char hex[CF_HASH_TEXT + 1];
    cf_hash_hex(hex, "abc", 3); /* FIPS 180-4, example 1 */
    assert_string_equal(hex, "ba7816bf8f01cfea414140de5dae2223"
                             "b00361a396177a9cb410ff61f20015ad");
}

static void test_os__appends_to_regular_files(void **state)
{
    (void)state;
    cf_error err;
    char dir[] = "/tmp/cf-append-XXXXXX", path[64], text[8] = "";
    int fd = -1;
    assert_non_null(mkdtemp(dir));
    snprintf(path, sizeof path, "%s/a", dir);
    for (int i = 0; i < 2; i++) {
        T_OK(cf_os_append_open(&fd, path, &err), err);
        assert_int_equal(write(fd, "ab", 2), 2);
        assert_int_equal(pread(fd, text, sizeof text, 0), 2 + 2 * i);
        close(fd);
    }
    assert_memory_equal(text, "abab", 4);
    unlink(path);
    assert_int_equal(mkfifo(path, 0600), 0);
    fd = -1;
    T_FAILS(cf_os_append_open(&fd, path, &err), CF_EIO);
    assert_non_null(strstr(err.text, "not a regular file"));
    unlink(path);
    T_FAILS(cf_os_append_open(&fd, dir, &err), CF_EIO);
    T_FAILS(cf_os_append_open(&fd, "/nowhere/a", &err), CF_ENOTFOUND);
    assert_int_equal(fd, -1);
    rmdir(dir);
}

int main(void)
{
    cf_fault_install();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_status__cuts_at_a_character),
        cmocka_unit_test(test_status__no_control_bytes),
        cmocka_unit_test(test_alloc__overflow_is_null),
        cmocka_unit_test(test_alloc__large_blocks),
        cmocka_unit_test(test_arena__limit_is_sticky),
        cmocka_unit_test(test_arena__release_gives_back),
        cmocka_unit_test(test_buf__every_allocation_may_fail),
        cmocka_unit_test(test_buf__reset_keeps_a_failure),
        cmocka_unit_test(test_sse__whole_or_nothing),
        cmocka_unit_test(test_utf8__decode),
        cmocka_unit_test(test_utf8__copy_cuts_at_a_character),
        cmocka_unit_test(test_utf16__escapes),
        cmocka_unit_test(test_http__header_lines),
        cmocka_unit_test(test_json__round_trip),
        cmocka_unit_test(test_json__read_until),
        cmocka_unit_test(test_os__time),
        cmocka_unit_test(test_os__files),
        cmocka_unit_test(test_os__writes_into_a_pipe),
        cmocka_unit_test(test_os__appends_to_regular_files),
        cmocka_unit_test(test_json__same_value),
        cmocka_unit_test(test_uuid__ordered_and_parsed),
        cmocka_unit_test(test_hash__known_answer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
