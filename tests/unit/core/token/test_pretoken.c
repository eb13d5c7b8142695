/*
 * test_pretoken.c - where the named pre-tokenizers cut.
 *
 * Each row is a name and a text with a bar wherever a cut is expected.
 */
#include "tests/support/t.h"

#include "core/base/buf.h"
#include "core/token/pretoken.h"

typedef struct row {
    const char *name;
    const char *cuts;
} row;

static const row rows[] = {
    {"gpt-2", "Hello|,| world|!!| it|'s|    | 12345|"},
    {"gpt-2", "a|  |\t|b|\n\n|\n|c|  "},
    {"gpt-2", "we|'ll| DON|'|T| caf\u00e9| \u65e5\u672c|\u3002"},
    {"gpt-2", "a|\u180e|b"}, /* not white space any more */
    {"starcoder", "x|=| |1|2|3|;"},
    {"smollm", "x| |1|2|a|\u00bd"},
    {"falcon", "123|456|7| |`$|x|'|s"},
    {"default", "123|45|?|a"},
    {"llama-bpe", "Hello| world|'S| |123|45"},
    {"llama-bpe", "a|123|45| |6|.\n\n|   | b|\tc|\r\n"},
    {"qwen2", "a|1|2| |3|(x|).\n|  \n| y"},
    {"qwen2", "nai|\u0308ve"},
    {"qwen35", "nai\u0308ve| \u0e01\u0e34\u0e19"},
    {"gpt-4o", "Hello|World's| HTMLPage| ABC'll| \u00c9t\u00e9|/\n/"},
    {"gpt-4o", "\u0939\u093f\u0928\u094d\u0926\u0940| |123|4"},
    {"tekken", "Hello|World|'s| |1|2"},
    {"deepseek-coder", "a|\n|\n| b|?!| |1|2| |\u65e5\u672c"},
    {"deepseek-llm", "ab| c|1234|\u65e5\u672c| x|  "},
    {"deepseek-v3", "abc|123|4"},
    {"deepseek-v3", "\u65e5\u672c|abc|.com| (|x|)!\n| \u00e9"},
    {"bloom", "ab|,| c|."},
    {"viking", "ab| |1|2| c"},
    {"seed-coder", "a|.|\n|b"},
    {"bailingmoe", "a|'S| b|.\n"},
    {"laguna", "a| b|\n\n|c"},
    {"youtu", "\ud55c\uad6d|abc|1|2"},
    {"kimi-k2", "\u65e5\u672c|Hello|World's| x|\u4e2d|y| |123|4|.\n|  "},
    {"kimi-k2", "\u306e\u3067|\u6f22|\u306a|\u3005|A\u0301b"},
    {"tiny_aya", "1|234|567| |12|345| |123|456| |12|"},
    {"tiny_aya", "x|1|234| |123|45|a| |123|456|_b|123|456"},
    {"cohere2moe", "HTMLPage| |1|000"},
    {"superbpe", "of the |1|234|567| and |12| or |\u00bd|123|456\u00bd1|234\u00bd|"},
    {"superbpe", "\u00bd1|234| a|123|b"},
    {"afmoe", "a|1|234|b|12|345| |\u65e5\u672c|\u0e01\u0e34|\ud55c| c|.com| (|x"},
    {"spark2_5", "a|1|2|3| (|x|)|\n|\n|.com|\u65e5\u672c"},
    {"exaone-moe", "we go|'s| on and on|  | x| |1|2|/\n|\n| nai\u0308ve a"},
    {"jais-2", "a|        |  | b|\n\n|  | c|    |  "},
    {"chameleon", "a|  |b|<|sentinel|:|1|>|.|.| c|IMGIMGABZ|1|2"},
    {"chameleon", "a|  | b|\t|c"},
    {"granite-embed-multi-97m", "Hello|World's| HTMLPage| |123|4"},
    {"jina-v5-nano", "Hello| world|'S| |123|45"},
};

typedef struct seen {
    cf_str text;
    cf_buf cuts;
    size_t at;
} seen;

static cf_status on_cut(void *ud, size_t from, size_t to)
{
    seen *s = ud;
    assert_int_equal(from, s->at);
    assert_true(to > from);
    if (from != 0) {
        cf_buf_addc(&s->cuts, '|');
    }
    cf_buf_add(&s->cuts, s->text.p + from, to - from);
    s->at = to;
    return CF_OK;
}

static cf_pretoken opened(const char *name)
{
    cf_error err = {0};
    cf_pretoken p;
    T_OK(cf_pretoken__init(&p, cf_str_from(name), &err), err);
    return p;
}

static void test_cuts__known(void **state)
{
    (void)state;
    int n_bad = 0;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        cf_buf text = CF_BUF_INIT;
        for (const char *c = rows[i].cuts; *c != '\0'; c++) {
            if (*c != '|') {
                cf_buf_addc(&text, *c);
            }
        }
        cf_error err = {0};
        cf_pretoken p = opened(rows[i].name);
        void *match = cf_pattern_new_match();
        seen s = {.text = {text.p, text.n}};
        T_OK(cf_pretoken__split(&p, match, s.text, on_cut, &s, &err), err);
        assert_int_equal(s.at, text.n);
        size_t want = strlen(rows[i].cuts);
        if (rows[i].cuts[want - 1] == '|') {
            want--;
        }
        if (s.cuts.n != want || memcmp(s.cuts.p, rows[i].cuts, want) != 0) {
            n_bad++;
            print_error("%s: cut as '%s', want '%s'\n", rows[i].name, cf_buf_cstr(&s.cuts),
                        rows[i].cuts);
        }
        cf_pattern_free_match(match);
        cf_pretoken__deinit(&p);
        cf_buf_deinit(&s.cuts);
        cf_buf_deinit(&text);
    }
    assert_int_equal(n_bad, 0);
}

static const char *const all_names[] = {
    "gpt-2",          "phi-2",        "mpt",
    "olmo",           "jais",         "starcoder",
    "refact",         "command-r",    "smollm",
    "codeshell",      "exaone",       "minerva-7b",
    "falcon",         "default",      "llama-bpe",
    "llama3",         "pixtral",      "lfm2",
    "dbrx",           "smaug-bpe",    "glm4",
    "chatglm-bpe",    "qwen2",        "megrez",
    "stablelm2",      "hunyuan",      "grok-2",
    "laguna",         "minicpm5",     "ufakzeka",
    "seed-coder",     "bailingmoe",   "qwen35",
    "gpt-4o",         "llama4",       "tekken",
    "youtu",          "deepseek-v3",  "deepseek-llm",
    "deepseek-coder", "joyai-llm",    "hunyuan-dense",
    "bloom",          "poro-chat",    "viking",
    "kanana2",        "exaone4",      "deepseek-r1-qwen",
    "falcon3",        "minimax-m2",   "solar-open",
    "gpt3-finnish",   "kimi-k2",      "tiny_aya",
    "cohere2moe",     "superbpe",     "afmoe",
    "spark2_5",       "exaone-moe",   "jais-2",
    "chameleon",      "jina-v5-nano", "granite-embed-multi-97m",
};

static cf_status on_any(void *ud, size_t from, size_t to)
{
    size_t *at = ud;
    assert_int_equal(from, *at);
    *at = to;
    return CF_OK;
}

/* Every set compiles, and a million of one character are quick. */
static void test_cuts__long_runs(void **state)
{
    (void)state;
    static const char *const units[] = {" ",  "a",   "A",       "\n",        "1",
                                        "!",  " \n", "aA",      "\u65e5",    "\u0301",
                                        "' ", " a",  "1\u00bd", "1234\u00bd"};
    for (size_t i = 0; i < sizeof all_names / sizeof all_names[0]; i++) {
        cf_error err = {0};
        cf_pretoken p = opened(all_names[i]);
        void *match = cf_pattern_new_match();
        assert_non_null(match);
        for (size_t k = 0; k < sizeof units / sizeof units[0]; k++) {
            size_t n = strlen(units[k]);
            size_t times = 20000;
            if (k == 0 && i % 8 == 0) {
                times = 2000000;
            }
            char *text = malloc(n * times + 1);
            for (size_t j = 0; j < times; j++) {
                memcpy(text + j * n, units[k], n);
            }
            text[n * times] = 'x';
            size_t at = 0;
            T_OK(cf_pretoken__split(&p, match, cf_str_make(text, n * times + 1), on_any, &at, &err),
                 err);
            assert_int_equal(at, n * times + 1);
            free(text);
        }
        cf_pattern_free_match(match);
        cf_pretoken__deinit(&p);
    }
}

static void assert_unknown(cf_str name)
{
    cf_error err;
    cf_pretoken p;
    T_FAILS(cf_pretoken__init(&p, name, &err), CF_EUNSUPPORTED);
}

static void test_names__unknown(void **state)
{
    (void)state;
    cf_error err;
    cf_pretoken p;
    T_FAILS(cf_pretoken__init(&p, cf_str_from("nosuch"), &err), CF_EUNSUPPORTED);
    assert_non_null(strstr(err.text, "nosuch"));
    static const char *const bad[] = {"", " ", "gpt-2 ", "gpt", "2", "gpt-2 phi-2"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_unknown(cf_str_from(bad[i]));
    }
    assert_unknown(cf_str_make("gpt-2\0", 6));
    char longer[500];
    memset(longer, 'x', sizeof longer);
    assert_unknown(cf_str_make(longer, sizeof longer));
}

static cf_status on_stop(void *ud, size_t from, size_t to)
{
    (void)from;
    (void)to;
    return --*(int *)ud == 0 ? CF_ECANCELLED : CF_OK;
}

static void test_split__stops_when_told(void **state)
{
    (void)state;
    cf_error err;
    cf_pretoken p = opened("gpt-2");
    void *match = cf_pattern_new_match();
    int left = 2;
    T_FAILS(cf_pretoken__split(&p, match, cf_str_from("a b c d"), on_stop, &left, &err),
            CF_ECANCELLED);
    cf_pattern_free_match(match);
    cf_pretoken__deinit(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cuts__known),
        cmocka_unit_test(test_cuts__long_runs),
        cmocka_unit_test(test_names__unknown),
        cmocka_unit_test(test_split__stops_when_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
