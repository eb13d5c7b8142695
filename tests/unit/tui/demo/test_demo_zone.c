/*
 * test_demo_zone.c - offsets by rule, by file and by name: known instants,
 * then files that lie.
 *
 * Files are made here, so that nothing depends on the machine's database.
 */
#include <stdlib.h>

#include "core/base/os.h"
#include "tests/support/rand.h"
#include "tests/support/t.h"
#include "tui/demo/demo_places.h"
#include "tui/demo/demo_zone.h"

static int64_t at(const char *text)
{
    int64_t ms;
    assert_true(cf_os_parse_time(&ms, text));
    return ms / 1000;
}

static void test_zone__rules(void **state)
{
    (void)state;
    static const struct {
        const char *rule, *when;
        int32_t minutes;
    } t[] = {
        {"CET-1CEST,M3.5.0,M10.5.0/3", "2025-01-15T12:00:00Z", 60},
        {"CET-1CEST,M3.5.0,M10.5.0/3", "2025-03-30T00:59:59Z", 60},
        {"CET-1CEST,M3.5.0,M10.5.0/3", "2025-03-30T01:00:00Z", 120},
        {"CET-1CEST,M3.5.0,M10.5.0/3", "2025-10-26T00:59:59Z", 120},
        {"CET-1CEST,M3.5.0,M10.5.0/3", "2025-10-26T01:00:00Z", 60},
        {"EST5EDT,M3.2.0,M11.1.0", "2024-03-10T06:59:59Z", -300},
        {"EST5EDT,M3.2.0,M11.1.0", "2024-03-10T07:00:00Z", -240},
        {"EST5EDT,M3.2.0,M11.1.0", "2024-11-03T06:00:00Z", -300},
        {"AEST-10AEDT,M10.1.0,M4.1.0/3", "2026-01-01T00:00:00Z", 660},
        {"AEST-10AEDT,M10.1.0,M4.1.0/3", "2026-07-01T00:00:00Z", 600},
        {"AEST-10AEDT,M10.1.0,M4.1.0/3", "2025-12-31T23:59:59Z", 660},
        {"IST-1GMT0,M10.5.0,M3.5.0/1", "2025-07-01T00:00:00Z", 60},
        {"IST-1GMT0,M10.5.0,M3.5.0/1", "2025-12-01T00:00:00Z", 0},
        {"IST-5:30", "2025-07-01T00:00:00Z", 330},
        {"<+03>-3", "2025-07-01T00:00:00Z", 180},
        {"<-04>4<-03>,M9.1.6/24,M4.1.6/24", "2025-01-01T00:00:00Z", -180},
        {"<-04>4<-03>,M9.1.6/24,M4.1.6/24", "2025-06-01T00:00:00Z", -240},
        {"EST5EDT4,J60/0,J300", "2024-02-29T12:00:00Z", -300},
        {"EST5EDT4,J60/0,J300", "2024-03-01T12:00:00Z", -240},
        {"EST5EDT4,59/0,300", "2024-02-29T12:00:00Z", -240},
        {"EST5EDT,0/0,J365/25", "2024-05-01T12:00:00Z", -240},
    };
    for (size_t i = 0; i < sizeof t / sizeof t[0]; i++) {
        int32_t offset = 0;
        assert_true(cf_zone_posix(&offset, cf_str_from(t[i].rule), at(t[i].when)));
        assert_int_equal(offset / 60, t[i].minutes);
    }
}

static void test_zone__bad_rules(void **state)
{
    (void)state;
    static const char *const t[] = {
        "",
        "CET",
        "C1",
        "CET-1CEST",
        "<+03-3",
        "CET-1CEST,M3.5.0",
        "CET-1x",
        "CET-1CEST,",
        "CET-1CEST,M13.1.0,M1.1.0",
        "CET-168",
        "CET-1:60",
        "CET-1CEST,M3.0.0,M10.5.0",
        "CET-1CEST,M3.5.7,M10.5.0",
        "CET-1CEST,J0,J5",
        "CET-1CEST,M3.5.0,M10.5.0/3x",
        "EST5EDT,366,1",
    };
    for (size_t i = 0; i < sizeof t / sizeof t[0]; i++) {
        int32_t offset;
        assert_false(cf_zone_posix(&offset, cf_str_from(t[i]), 1700000000));
    }
    int32_t offset;
    assert_false(cf_zone_posix(&offset, cf_str_from("UTC0"), INT64_MIN));
    assert_false(cf_zone_posix(&offset, cf_str_from("UTC0"), INT64_MAX));
}

/* Every city's own rule can be read. */
static void test_zone__places(void **state)
{
    (void)state;
    size_t n;
    const cf_place *v = cf_places(&n);
    assert_true(n > 60);
    for (size_t i = 0; i < n; i++) {
        int32_t offset;
        assert_true(cf_zone_posix(&offset, cf_str_from(v[i].rule), 1750000000));
        assert_true(offset % 900 == 0 && offset >= -43200 && offset <= 50400);
        cf_str name = {v[i].names, strcspn(v[i].names, "|")};
        assert_ptr_equal(cf_place_find(name), &v[i]);
        for (int64_t day = 0; day < 800; day += 13) {
            cf_weather w = cf_place_weather(&v[i], day * 86400000);
            assert_true(w.celsius > -30 && w.celsius < 50);
            assert_true(w.condition[0] != '\0');
        }
    }
    assert_null(cf_place_find(cf_str_from("Paris, Texas")));
    assert_non_null(cf_place_find(cf_str_from(" oslo , NORWAY ")));
    assert_null(cf_place_find(cf_str_from("")));
    assert_null(cf_place_find(cf_str_from(",")));
}

/* ---- files -------------------------------------------------------------- */

static void put32(cf_buf *b, uint32_t v)
{
    for (int s = 24; s >= 0; s -= 8) {
        cf_buf_addc(b, (char)(v >> s & 0xff));
    }
}

/* One block with transitions at 1000 (to type 1) and 2000 (to type 0). */
static void put_block(cf_buf *b, char version, int width)
{
    const uint32_t counts[] = {0, 0, 0, 2, 2, 8};
    cf_buf_adds(b, "TZif");
    cf_buf_addc(b, version);
    cf_buf_add(b, "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 15);
    for (int i = 0; i < 6; i++) {
        put32(b, counts[i]);
    }
    for (uint32_t when = 1000; when <= 2000; when += 1000) {
        if (width == 8) {
            put32(b, 0);
        }
        put32(b, when);
    }
    cf_buf_add(b, "\1\0", 2);
    put32(b, 3600);
    cf_buf_add(b, "\0\0", 2);
    put32(b, 7200);
    cf_buf_add(b, "\1\4", 2);
    cf_buf_add(b, "AAA\0BBB\0", 8);
}

static void make_file(cf_buf *b, bool is_new, const char *foot)
{
    put_block(b, is_new ? '2' : '\0', 4);
    if (is_new) {
        put_block(b, '2', 8);
        cf_buf_addf(b, "\n%s\n", foot);
    }
}

static void test_zone__files(void **state)
{
    (void)state;
    static const struct {
        bool is_new;
        const char *foot;
        int64_t t;
        int32_t offset;
    } t[] = {
        {false, "", 0, 3600},         {false, "", 999, 3600},
        {false, "", 1000, 7200},      {false, "", 1999, 7200},
        {false, "", 2000, 3600},      {true, "", 1500, 7200},
        {true, "XYZ-3", 1500, 7200},  {true, "XYZ-3", 2000, 10800},
        {true, "XYZ-3", 5000, 10800}, {true, "nonsense,", 5000, 3600},
    };
    for (size_t i = 0; i < sizeof t / sizeof t[0]; i++) {
        cf_buf b = CF_BUF_INIT;
        int32_t offset;
        make_file(&b, t[i].is_new, t[i].foot);
        assert_true(cf_zone_tzif(&offset, cf_str_make(b.p, b.n), t[i].t));
        assert_int_equal(offset, t[i].offset);
        cf_buf_deinit(&b);
    }
}

/* Cut anywhere, and with any byte changed: an answer or none, no harm. */
static void test_zone__broken_files(void **state)
{
    (void)state;
    cf_buf b = CF_BUF_INIT;
    cf_rand r = {11};
    int32_t offset;
    make_file(&b, true, "CET-1CEST,M3.5.0,M10.5.0/3");
    for (size_t n = 0; n < b.n; n++) {
        char *copy = malloc(n + 1); /* exact, so that ASan sees a step over */
        assert_non_null(copy);
        memcpy(copy, b.p, n);
        cf_zone_tzif(&offset, cf_str_make(copy, n), 5000);
        free(copy);
    }
    for (int i = 0; i < 20000; i++) {
        size_t k = cf_rand_below(&r, b.n);
        char was = b.p[k];
        b.p[k] = (char)cf_rand_below(&r, 256);
        if (cf_zone_tzif(&offset, cf_str_make(b.p, b.n), (int64_t)cf_rand_below(&r, 4000))) {
            assert_true(offset > -700000 && offset < 700000);
        }
        b.p[k] = was;
    }
    cf_buf_deinit(&b);
}

/* ---- names -------------------------------------------------------------- */

static void test_zone__names(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        int32_t minutes;
    } t[] = {
        {"UTC", 0},          {"utc", 0},          {"GMT+2", 120},        {"UTC-03:30", -210},
        {"CET", 60},         {"EST", -300},       {"Tokyo", 540},        {"tokyo", 540},
        {"Asia/Tokyo", 540}, {"asia/tokyo", 540}, {"Delhi, India", 330}, {"New Delhi", 330},
        {"Dubai", 240},
    };
    for (size_t i = 0; i < sizeof t / sizeof t[0]; i++) {
        int32_t offset;
        cf_error err;
        /* No database: the cities' own rules. */
        T_OK(cf_zone_find(&offset, cf_str_from(t[i].name), 1750000000, "/nonexistent", &err), err);
        assert_int_equal(offset / 60, t[i].minutes);
    }
    static const char *const bad[] = {
        "",
        "Atlantis",
        "../../etc/passwd",
        "/etc/passwd",
        "Europe/../../x",
        "UTC+99",
        "UTC+",
        "GMT*2",
        "Europe/",
        "a/./b",
        "\xff\xfe",
        "a name that is far too long to be one of a time zone or of any city",
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        int32_t offset;
        cf_error err;
        T_FAILS(cf_zone_find(&offset, cf_str_from(bad[i]), 1750000000, "/usr/share/zoneinfo", &err),
                CF_ENOTFOUND);
        assert_true(err.text[0] != '\0');
    }
    int32_t offset;
    T_FAILS(cf_zone_find(&offset, cf_str_make("UTC\0x", 5), 1750000000, "/", NULL), CF_ENOTFOUND);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_zone__rules),        cmocka_unit_test(test_zone__bad_rules),
        cmocka_unit_test(test_zone__places),       cmocka_unit_test(test_zone__files),
        cmocka_unit_test(test_zone__broken_files), cmocka_unit_test(test_zone__names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
