/*
 * test_demo_zone.c - offsets by name: known instants, unknown names.
 */
#include "core/base/os.h"
#include "tests/support/t.h"
#include "tui/demo/demo_places.h"
#include "tui/demo/demo_zone.h"

static int64_t at(const char *text)
{
    int64_t ms;
    assert_true(cf_os_parse_time(&ms, text));
    return ms / 1000;
}

static void test_zone__changes(void **state)
{
    (void)state;
    static const struct {
        const char *zone, *when;
        int32_t minutes;
    } t[] = {
        {"Europe/Paris", "2025-01-15T12:00:00Z", 60},
        {"Europe/Paris", "2025-03-30T00:59:59Z", 60},
        {"Europe/Paris", "2025-03-30T01:00:00Z", 120},
        {"Europe/Paris", "2025-10-26T00:59:59Z", 120},
        {"Europe/Paris", "2025-10-26T01:00:00Z", 60},
        {"America/New_York", "2024-03-10T06:59:59Z", -300},
        {"America/New_York", "2024-03-10T07:00:00Z", -240},
        {"America/New_York", "2024-11-03T06:00:00Z", -300},
        {"Australia/Sydney", "2026-01-01T00:00:00Z", 660},
        {"Australia/Sydney", "2026-07-01T00:00:00Z", 600},
        {"Australia/Sydney", "2025-12-31T23:59:59Z", 660},
        {"Europe/Dublin", "2025-07-01T00:00:00Z", 60},
        {"Europe/Dublin", "2025-12-01T00:00:00Z", 0},
        {"Asia/Kolkata", "2025-07-01T00:00:00Z", 330},
        {"Asia/Kathmandu", "2025-07-01T00:00:00Z", 345},
        {"Europe/Istanbul", "2025-07-01T00:00:00Z", 180},
        {"America/Santiago", "2025-01-01T00:00:00Z", -180},
        {"America/Santiago", "2025-06-01T00:00:00Z", -240},
        {"Africa/Cairo", "2025-04-24T21:59:59Z", 120},
        {"Africa/Cairo", "2025-04-24T22:00:00Z", 180},
        {"Australia/Lord_Howe", "2025-01-01T00:00:00Z", 660},
        {"Australia/Lord_Howe", "2025-07-01T00:00:00Z", 630},
        {"America/Nuuk", "2025-03-30T00:59:59Z", -120},
        {"America/Nuuk", "2025-03-30T01:00:00Z", -60},
    };
    for (size_t i = 0; i < sizeof t / sizeof t[0]; i++) {
        int32_t offset = 0;
        cf_error err;
        T_OK(cf_zone_find(&offset, cf_str_from(t[i].zone), at(t[i].when), &err), err);
        assert_int_equal(offset / 60, t[i].minutes);
    }
}

/* The zone of every city is known. */
static void test_zone__places(void **state)
{
    (void)state;
    size_t n;
    const cf_place *v = cf_places(&n);
    assert_true(n > 60);
    for (size_t i = 0; i < n; i++) {
        int32_t offset;
        cf_error err;
        T_OK(cf_zone_find(&offset, cf_str_from(v[i].zone), 1750000000, &err), err);
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
        T_OK(cf_zone_find(&offset, cf_str_from(t[i].name), 1750000000, &err), err);
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
        "CET-1",
        "#",
        "<+03>-3",
        "a name that is far too long to be one of a time zone or of any city",
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        int32_t offset;
        cf_error err;
        T_FAILS(cf_zone_find(&offset, cf_str_from(bad[i]), 1750000000, &err), CF_ENOTFOUND);
        assert_true(err.text[0] != '\0');
    }
    int32_t offset;
    T_FAILS(cf_zone_find(&offset, cf_str_make("UTC\0x", 5), 1750000000, NULL), CF_ENOTFOUND);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_zone__changes),
        cmocka_unit_test(test_zone__places),
        cmocka_unit_test(test_zone__names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
