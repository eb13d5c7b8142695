/*
 * test_notation.c - grammar text, expressions, choices, and their mistakes.
 */
#include "core/api/constraint.h"
#include "tests/support/t.h"

typedef struct one {
    const char *grammar, *text;
    char want; /* 'y', 'n'; 'e' malformed or satisfied by nothing, 'u' unsupported */
} one;

static char verdict(cf_status st, cf_grammar *g, const char *text)
{
    cf_error err;
    cf_constraint *c;
    size_t n;
    if (st != CF_OK) {
        return st == CF_EUNSUPPORTED ? 'u' : 'e';
    }
    T_OK(cf_constraint_new(&c, g, NULL, &err), err);
    T_OK(cf_constraint_bytes(c, text, strlen(text), &n, &err), err);
    bool yes = n == strlen(text) && cf_constraint_may_end(c);
    cf_constraint_free(c);
    cf_grammar_free(g);
    return yes ? 'y' : 'n';
}

static void check_texts(const one *v, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        cf_grammar *g = NULL;
        cf_error err;
        cf_status st = cf_grammar_from_text(&g, cf_str_from(v[i].grammar), NULL, &err);
        char got = verdict(st, g, v[i].text);
        if (got != v[i].want) {
            fail_msg("%s  with  %s: %c, expected %c", v[i].grammar, v[i].text, got, v[i].want);
        }
    }
}

static void test_notation__texts(void **state)
{
    (void)state;
    static const one v[] = {
        {"root = \"a\" | \"b\" \"c\";", "bc", 'y'},
        {"root = \"a\" | \"b\" \"c\";", "b", 'n'},
        {"root = item (\",\" item)*; # list\nitem = /[0-9]+/;", "1,22,3", 'y'},
        {"root = item (\",\" item)*; item = /[0-9]+/;", "1,,3", 'n'},
        {"root = (\"a\"?)* \"b\";", "aaab", 'y'},
        {"root = \"ab\"{2,3};", "abab", 'y'},
        {"root = \"ab\"{2,3};", "ab", 'n'},
        {"root = \"ab\"{2,3};", "abababab", 'n'},
        {"root = ;", "", 'y'},
        /* nested: not regular */
        {"root = \"(\" root? \")\";", "((()))", 'y'},
        {"root = \"(\" root? \")\";", "((())", 'n'},
        /* ambiguous on purpose */
        {"root = x x; x = \"a\" | \"aa\" | ;", "aaa", 'y'},
        {"root = x x; x = \"a\" | \"aa\" | ;", "aaaaa", 'n'},
        {"root = \"\\u00e9\\n\";", "\xC3\xA9\n", 'y'},
        {"root = /a[/]b\\/c/;", "a/b/c", 'y'},
        {"root = root \"a\" | \"a\";", "a", 'u'}, /* left recursion */
        {"root = x \"a\"; x = y?; y = root;", "a", 'u'},
        {"root = \"a\" root;", "a", 'e'}, /* never ends */
        {"root = other;", "a", 'e'},
        {"root = \"a\" root = \"b\";", "a", 'e'},
        {"root = (\"a\";", "a", 'e'},
        {"root = \"a;", "a", 'e'},
        {"root = /a;", "a", 'e'},
        {"root = \"a\"{3,2};", "a", 'e'},
        {"", "a", 'e'},
    };
    check_texts(v, sizeof v / sizeof *v);
}

static void test_notation__gbnf(void **state)
{
    (void)state;
    static const one v[] = {
        {"root ::= \"a\" | \"b\" \"c\"", "bc", 'y'},
        {"root ::= r0 r9z\nr0 ::= \"a\"\nr9z ::= \"b\"", "ab", 'y'},
        {"# a list\n\nroot ::= item (\",\" item)* # more\nitem ::= [0-9]+\n", "1,22,3", 'y'},
        /* a rule ends with its line, but after "|" and in parentheses */
        {"root ::= \"a\" |\n  \"b\"", "b", 'y'},
        {"root ::=\n  (\n\"a\"\n\"b\"\n)\r\nx ::= \"c\"", "ab", 'y'},
        {"root ::= \"a\"\n\"b\"", "ab", 'e'},
        /* the start is root wherever it stands */
        {"x ::= \"a\"\nroot ::= x x", "aa", 'y'},
        {"x ::= \"a\"", "a", 'e'},
        {"root ::= a-b_1\na-b_1 ::= \"x\"", "x", 'y'},
        {"root ::= \"ab\"{2,3}", "abab", 'y'},
        {"root ::= \"ab\"{ 2 , }", "ab", 'n'},
        {"root ::= \"ab\"{2}", "ababab", 'n'},
        {"root ::= \"ab\"{3,2}", "ab", 'e'},
        {"root ::= ( [x]* )*", "xx", 'y'},
        {"root ::= [^a-c\\]\\n]", "d", 'y'},
        {"root ::= [^a-c\\]\\n]", "b", 'n'},
        {"root ::= [^a-c\\]\\n]", "]", 'n'},
        {"root ::= [^a-c\\]\\n]", "\n", 'n'},
        {"root ::= [a-]", "-", 'y'},
        {"root ::= [c-a]", "b", 'e'},
        {"root ::= .", "\n", 'y'},
        {"root ::= .", "\xC3\xA9", 'y'},
        {"root ::= .", "ab", 'n'},
        {"root ::= \"\\x41\\u00e9\\U0001F600\\t\\\"\"", "A\xC3\xA9\xF0\x9F\x98\x80\t\"", 'y'},
        {"root ::= \"\\q\"", "q", 'e'},
        {"root ::= \"\\ud800\"", "q", 'e'},
        {"root ::= \"(\" root? \")\"", "((()))", 'y'},
        {"root ::= root \"a\" | \"a\"", "a", 'u'},
        {"root ::= <think> \"a\"", "a", 'u'},
        {"root ::= other", "a", 'e'},
        {"root ::= \"a\"\nroot ::= \"b\"", "a", 'e'},
        {"root ::= (\"a\"", "a", 'e'},
        {"root ::= \"a", "a", 'e'},
        {"root ::= [a", "a", 'e'},
        {"root ::= \"a\" )", "a", 'e'},
    };
    check_texts(v, sizeof v / sizeof *v);
    cf_grammar *g;
    cf_error err;
    T_FAILS(cf_grammar_from_text(&g, cf_str_from("root ::= x\nx ::= [a-z] /"), NULL, &err),
            CF_EFORMAT);
    assert_int_equal(err.line, 2);
    assert_int_equal(err.col, 13);
}

/* `n` times `more` between `head` and `tail`. */
static cf_status compile_long(const char *head, const char *more, size_t n, const char *tail,
                              cf_grammar **g, cf_error *err)
{
    cf_buf text = CF_BUF_INIT;
    cf_buf_adds(&text, head);
    for (size_t i = 0; i < n; i++) {
        cf_buf_adds(&text, more);
    }
    cf_buf_adds(&text, tail);
    cf_status st = cf_grammar_from_text(g, cf_buf_str(&text), NULL, err);
    cf_buf_deinit(&text);
    return st;
}

/* Counts and groups without end are refused before the stack runs out. */
static void test_notation__hostile_length(void **state)
{
    (void)state;
    cf_grammar *g;
    cf_error err;
    T_FAILS(compile_long("root ::= \"a\"", "?", 300000, "", &g, &err), CF_ELIMIT);
    T_FAILS(compile_long("root = \"a\"", "?", 300000, ";", &g, &err), CF_ELIMIT);
    T_FAILS(compile_long("root ::= ", "(", 300000, "", &g, &err), CF_ELIMIT);
    T_FAILS(compile_long("root ::= \"a\"", "{10000}", 5, "", &g, &err), CF_ELIMIT);
    T_OK(compile_long("root ::= \"a\"", "{2}", 3, "", &g, &err), err);
    assert_int_equal(verdict(CF_OK, g, "aaaaaaaa"), 'y');
    T_OK(compile_long("root ::= ", "[(]", 10000, "", &g, &err), err); /* many classes */
    cf_grammar_free(g);
}

static void test_notation__error_has_a_place(void **state)
{
    (void)state;
    cf_grammar *g;
    cf_error err;
    T_FAILS(cf_grammar_from_text(&g, cf_str_from("a = \"x\";\nb = c;"), NULL, &err), CF_EFORMAT);
    assert_int_equal(err.line, 2);
    assert_int_equal(err.col, 5);
}

static void test_notation__expressions(void **state)
{
    (void)state;
    static const one v[] = {
        {"a+b?", "aab", 'y'},
        {"a+b?", "b", 'n'},
        {"(?:x|yz){2}", "xyz", 'y'},
        {"[^\\d\\s]+", "ab-", 'y'},
        {"[^\\d\\s]+", "a1", 'n'},
        {"\\u{1F600}\\x41",
         "\xF0\x9F\x98\x80"
         "A",
         'y'},
        {"\\p{Lu}\\p{L}*", "\xC3\x89t\xC3\xA9", 'y'},
        {"\\p{Lu}\\p{L}*", "t", 'n'},
        {"^a$", "a", 'y'},
        {"a^b", "ab", 'e'}, /* no text satisfies it */
        {"(a$|b)*", "bba", 'y'},
        {"(a$|b)*", "ab", 'n'},
        {"(?<n>a)\\k<n>", "aa", 'u'},
        {"a\\b", "a", 'u'},
        {"(?<=a)b", "b", 'u'},
        {"a{2,1}", "a", 'e'},
        {"(a", "a", 'e'},
        {"a)", "a", 'e'},
        {"[z-a]", "a", 'e'},
        {"*", "a", 'e'},
        {".", "\xE2\x80\xA8", 'n'},   /* a line separator */
        {"x{0,1000000}", "xxx", 'e'}, /* too many states */
    };
    for (size_t i = 0; i < sizeof v / sizeof *v; i++) {
        cf_grammar *g = NULL;
        cf_error err;
        cf_status st = cf_grammar_from_regex(&g, cf_str_from(v[i].grammar), NULL, &err);
        char got = verdict(st, g, v[i].text);
        if (got != v[i].want) {
            fail_msg("%s  with  %s: %c, expected %c", v[i].grammar, v[i].text, got, v[i].want);
        }
    }
}

/* A NUL is no end of a property's name. */
static void test_notation__nul_in_a_name(void **state)
{
    (void)state;
    static const char *const texts[] = {"\\p{L}", "\\p{Lx}", "\\p{L_}"};
    for (size_t i = 0; i < 3; i++) {
        char text[8];
        cf_grammar *g = NULL;
        cf_error err;
        memcpy(text, texts[i], strlen(texts[i]));
        cf_str s = cf_str_make(text, strlen(texts[i]));
        for (size_t k = 0; k < s.n; k++) {
            text[k] = text[k] == '_' ? '\0' : text[k];
        }
        cf_status st = cf_grammar_from_regex(&g, s, NULL, &err);
        assert_int_equal(st, i == 0 ? CF_OK : CF_EUNSUPPORTED);
        cf_grammar_free(g);
    }
}

static void test_notation__choices(void **state)
{
    (void)state;
    const cf_str v[] = {{"yes", 3}, {"yesterday", 9}, {"no", 2}};
    cf_grammar *g;
    cf_error err;
    T_OK(cf_grammar_from_choices(&g, v, 3, NULL, &err), err);
    assert_int_equal(verdict(CF_OK, g, "yesterday"), 'y');
    T_OK(cf_grammar_from_choices(&g, v, 3, NULL, &err), err);
    assert_int_equal(verdict(CF_OK, g, "yest"), 'n');
    T_FAILS(cf_grammar_from_choices(&g, v, 0, NULL, &err), CF_EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_notation__texts),
        cmocka_unit_test(test_notation__gbnf),
        cmocka_unit_test(test_notation__nul_in_a_name),
        cmocka_unit_test(test_notation__hostile_length),
        cmocka_unit_test(test_notation__error_has_a_place),
        cmocka_unit_test(test_notation__expressions),
        cmocka_unit_test(test_notation__choices),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
