/*
 * test_page.c - one page on every paper.
 */
#include "tests/support/t.h"

#include "tests/support/fault.h"
#include "tui/page/page.h"
#include "tui/page/page_escape.h"

static void begin(cf_page *p, cf_page_kind kind, const char *title)
{
    cf_page_begin(p, kind, CF_LOOK_PLAIN, cf_str_from(title));
}

static void put_cells(cf_page *p, cf_page_kind kind, const char *a, const char *b)
{
    begin(p, CF_PAGE_ROW, "");
    cf_page_say(p, kind, CF_LOOK_PLAIN, cf_str_from(a));
    cf_page_say(p, kind, CF_LOOK_PLAIN, cf_str_from(b));
    cf_page_end(p, CF_PAGE_ROW);
}

static void make(cf_page *p)
{
    begin(p, CF_PAGE_TITLE, "A <page>");
    cf_page_end(p, CF_PAGE_TITLE);
    begin(p, CF_PAGE_CARDS, ""); /* only HTML has it */
    begin(p, CF_PAGE_CARD, "7");
    cf_page_note(p, "%s", "turns");
    cf_page_end(p, CF_PAGE_CARD);
    cf_page_end(p, CF_PAGE_CARDS);
    begin(p, CF_PAGE_SECTION, "Reply");
    cf_page_note(p, "%d tokens", 2);
    begin(p, CF_PAGE_PRE, "");
    cf_page_run(p, CF_LOOK_CHANCE, cf_str_from("a `"));
    cf_page_share(p, 0.25);
    cf_page_note(p, "p %.2f", 0.25);
    cf_page_run(p, CF_LOOK_SOURCE, cf_str_from("\n``` b"));
    cf_page_flags(p, CF_TOKEN_KEPT);
    cf_page_end(p, CF_PAGE_PRE);
    begin(p, CF_PAGE_DIFF, "");
    cf_page_begin(p, CF_PAGE_LINE, CF_LOOK_REMOVED, cf_str_from("-"));
    cf_page_run(p, CF_LOOK_PLAIN, cf_str_from("an "));
    cf_page_run(p, CF_LOOK_MARK, cf_str_from("old"));
    cf_page_end(p, CF_PAGE_LINE);
    cf_page_end(p, CF_PAGE_DIFF);
    begin(p, CF_PAGE_TABLE, "");
    put_cells(p, CF_PAGE_HEADING, "x", "y");
    put_cells(p, CF_PAGE_CELL, "1|2", "\xff");
    cf_page_end(p, CF_PAGE_TABLE);
    cf_page_end(p, CF_PAGE_SECTION);
}

static void painted(void (*paint)(cf_buf *out, const cf_page *p), cf_buf *out)
{
    cf_error err;
    cf_page p = {.n = 0};
    make(&p);
    T_OK(cf_page_check(&p, &err), err);
    paint(out, &p);
    T_OK(cf_buf_check(out, &err), err);
    cf_page_deinit(&p);
}

static void test_page__html(void **state)
{
    (void)state;
    static const char *const want[] = {
        "<title>A &#60;page&#62; - confab report</title>",
        "<div class=card><b>7</b><span>turns</span></div>",
        "<section id=Reply>\n<h2>Reply <small>2 tokens</small></h2>\n",
        "<i class=\"t q2\" data-tip=\"p 0.25\">a &#96;</i>",
        "<i class=\"t s0 k\">",
        "<tr class=\"line del\"><td>-</td><td>an <mark>old</mark></td></tr>\n",
        "<tr><td>1|2</td><td><b class=x>&#92;xff</b></td></tr>\n"};
    cf_buf out = CF_BUF_INIT;
    painted(cf_page_html, &out);
    for (size_t i = 0; i < sizeof want / sizeof want[0]; i++) {
        if (strstr(cf_buf_cstr(&out), want[i]) == NULL) {
            fail_msg("no '%s' in %s", want[i], cf_buf_cstr(&out));
        }
    }
    cf_buf_deinit(&out);
}

/* The hyphens of an id stay, so that it can be copied; those that would begin a
 * list or a rule do not. */
static void test_page__markdown_ids(void **state)
{
    (void)state;
    cf_buf out = CF_BUF_INIT;
    cf_escape_md_line(&out, cf_str_from("01a2-3120 - --"));
    assert_string_equal(cf_buf_cstr(&out), "01a2-3120 \\- \\-\\-");
    cf_buf_deinit(&out);
}

static void test_page__markdown(void **state)
{
    (void)state;
    cf_buf out = CF_BUF_INIT;
    painted(cf_page_markdown, &out);
    const char *text = strstr(cf_buf_cstr(&out), "## ");
    assert_non_null(text);
    assert_string_equal(text, "## Reply\n\n*2 tokens*\n\n"
                              "````text\na `\n``` b\n````\n\n"
                              "```diff\n-an old\n```\n\n"
                              "| x | y |\n| --- | --- |\n| 1\\|2 | \\\\xff |\n\n");
    cf_buf_deinit(&out);
}

static void test_page__picture(void **state)
{
    (void)state;
    cf_buf out = CF_BUF_INIT;
    painted(cf_page_svg, &out);
    const char *text = cf_buf_cstr(&out);
    assert_memory_equal(text, "<svg ", 5);
    assert_non_null(strstr(text, "<title>p 0.25</title>"));
    assert_non_null(strstr(text, ">old</text>"));
    assert_null(strstr(text, "turns")); /* cards are left out */
    assert_string_equal(text + out.n - 7, "</svg>\n");
    cf_buf_deinit(&out);
}

/* The y of the text that follows a place in a picture. */
static int y_of(const cf_buf *out, const char *text)
{
    int y = -1;
    const char *at = strstr(cf_buf_cstr(out), text);
    assert_non_null(at);
    while (at > out->p && memcmp(at, " y=\"", 4) != 0) {
        at--;
    }
    assert_int_equal(sscanf(at, " y=\"%d", &y), 1);
    return y;
}

/* A heading begins a line, after a text of one cell too. */
static void test_page__heading_after_a_letter(void **state)
{
    (void)state;
    cf_page p = {.n = 0};
    cf_buf out = CF_BUF_INIT;
    begin(&p, CF_PAGE_SECTION, "");
    begin(&p, CF_PAGE_PRE, "");
    cf_page_run(&p, CF_LOOK_CHANCE, cf_str_from("a"));
    begin(&p, CF_PAGE_TURN, "Next");
    cf_page_end(&p, CF_PAGE_TURN);
    cf_page_end(&p, CF_PAGE_PRE);
    cf_page_end(&p, CF_PAGE_SECTION);
    cf_page_svg(&out, &p);
    assert_true(y_of(&out, ">Next<") > y_of(&out, ">a<"));
    cf_buf_deinit(&out);
    cf_page_deinit(&p);
}

static cf_status make_all(void *ud)
{
    (void)ud;
    cf_error err;
    cf_page p = {.n = 0};
    cf_buf out = CF_BUF_INIT;
    make(&p);
    cf_status st = cf_page_check(&p, &err);
    if (st == CF_OK) {
        cf_page_html(&out, &p);
        cf_page_markdown(&out, &p);
        cf_page_svg(&out, &p);
        st = cf_buf_check(&out, &err);
    }
    cf_buf_deinit(&out);
    cf_page_deinit(&p);
    return st;
}

static void test_page__memory(void **state)
{
    (void)state;
    cf_fault_every_alloc(make_all, NULL, false);
    cf_fault_every_alloc(make_all, NULL, true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_page__html),
        cmocka_unit_test(test_page__markdown),
        cmocka_unit_test(test_page__markdown_ids),
        cmocka_unit_test(test_page__picture),
        cmocka_unit_test(test_page__heading_after_a_letter),
        cmocka_unit_test(test_page__memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
