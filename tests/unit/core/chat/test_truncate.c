/*
 * test_truncate.c - which turns go, and that what is left is a conversation.
 */
#include "core/api/truncate.h"

#include "core/json/json.h"
#include "tests/support/t.h"

/* One letter a turn: s system, u user, a assistant, t tool, f failed reply. */
static cf_conversation *make(const char *letters)
{
    static const char *const roles[][2] = {
        {"s", "system"}, {"u", "user"}, {"a", "assistant"}, {"t", "tool"}, {"f", "assistant"}};
    cf_conversation *conv;
    cf_error err;
    cf_uuid at = {{0}};
    T_OK(cf_conversation_new(&conv, NULL, &err), err);
    for (size_t i = 0; letters[i] != '\0'; i++) {
        const char *role = "";
        for (size_t k = 0; k < 5; k++) {
            role = roles[k][0][0] == letters[i] ? roles[k][1] : role;
        }
        json_t *m = json_pack("{s:s,s:s}", "role", role, "content", "x");
        const cf_turn turn = {
            .parent = at, .message = m, .status = letters[i] == 'f' ? CF_TURN_ERROR : CF_TURN_OK};
        T_OK(cf_conversation_add(conv, &turn, &at, &err), err);
        json_decref(m);
    }
    T_OK(cf_conversation_set_head(conv, at, &err), err);
    return conv;
}

/* The path to the head in the same letters, in `out`. */
static void spell(const cf_conversation *conv, char *out)
{
    cf_arena a;
    cf_error err;
    const cf_turn **path;
    size_t n;
    cf_arena_init(&a, 0);
    T_OK(cf_conversation_path(conv, cf_conversation_head(conv), &a, &path, &n, &err), err);
    for (size_t i = 0; i < n; i++) {
        out[i] = cf_json_get_str(path[i]->message, "role").p[0];
    }
    out[n] = '\0';
    cf_arena_deinit(&a);
}

static void leaves(const char *letters, size_t n_turns, const char *want)
{
    cf_conversation *conv = make(letters);
    size_t before = cf_conversation_n_turns(conv);
    cf_truncation plan;
    cf_error err;
    char got[64];
    T_OK(cf_truncation_by_turns(&plan, conv, n_turns, &err), err);
    T_OK(cf_conversation_truncate(conv, &plan, NULL, NULL, &err), err);
    spell(conv, got);
    assert_string_equal(got, want);
    assert_int_equal(cf_conversation_n_turns(conv),
                     strcmp(letters, want) == 0 ? before : before + strlen(want));
    cf_conversation_free(conv);
}

static void test_turns__what_is_left_begins_with_the_user(void **state)
{
    (void)state;
    leaves("suauaua", 7, "suauaua");
    leaves("suauaua", 6, "suauaua");
    leaves("suauaua", 5, "suaua");
    leaves("suauaua", 4, "suaua");
    leaves("suauaua", 2, "sua");
    leaves("uatauaua", 5, "uaua");
    leaves("uauata", 4, "uata");
    leaves("sssuau", 1, "sssu");
    leaves("ssua", 9, "ssua");
    leaves("a", 1, "a");
    leaves("", 1, "");
}

/* Failed replies are not counted, and not copied. */
static void test_turns__failed_replies(void **state)
{
    (void)state;
    leaves("uaufua", 4, "uuua" + 1);
    leaves("uaua", 3, "ua");
}

static void test_turns__no_exchange_is_cut(void **state)
{
    (void)state;
    cf_conversation *conv = make("suata");
    cf_truncation plan;
    cf_error err;
    T_FAILS(cf_truncation_by_turns(&plan, conv, 3, &err), CF_ELIMIT);
    assert_non_null(strstr(err.text, "4 turns"));
    cf_conversation_free(conv);
}

static void test_plan__of_another_path(void **state)
{
    (void)state;
    cf_conversation *conv = make("uaua");
    cf_conversation *other = make("uauaua");
    cf_truncation plan;
    cf_error err;
    T_OK(cf_truncation_by_turns(&plan, other, 2, &err), err);
    cf_uuid head = cf_conversation_head(conv);
    T_FAILS(cf_conversation_truncate(conv, &plan, NULL, NULL, &err), CF_EINVAL);
    assert_true(cf_uuid_eq(cf_conversation_head(conv), head));
    cf_conversation_free(conv);
    cf_conversation_free(other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_turns__what_is_left_begins_with_the_user),
        cmocka_unit_test(test_turns__failed_replies),
        cmocka_unit_test(test_turns__no_exchange_is_cut),
        cmocka_unit_test(test_plan__of_another_path),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
