/*
 * test_report.c - reports of the examples and of hostile conversations: every
 * tag and attribute of the page is one that the report writes, and no text
 * adds one.
 */
#include "tests/support/t.h"

#include "core/api/bundled.h"
#include "core/base/os.h"
#include "core/base/utf8.h"
#include "templates/open.h"
#include "tests/support/rand.h"
#include "tests/support/slow.h"
#include "tests/support/store_dir.h"
#include "tui/demo/examples.h"
#include "tui/lab/talk/saved.h"
#include "tui/page/page_escape.h"
#include "tui/study/report/report.h"

/* ---- a strict reader of pages ------------------------------------------- */

/* What a report may hold: "tag" and "tag attribute". */
static const char *const allowed[] = {"html",
                                      "html lang",
                                      "head",
                                      "meta",
                                      "meta charset",
                                      "meta name",
                                      "meta content",
                                      "meta http-equiv",
                                      "title",
                                      "style",
                                      "body",
                                      "header",
                                      "div",
                                      "div class",
                                      "div data-tip",
                                      "div style",
                                      "th class",
                                      "h1",
                                      "h2",
                                      "h3",
                                      "small",
                                      "nav",
                                      "a",
                                      "a href",
                                      "b",
                                      "b class",
                                      "span",
                                      "span class",
                                      "span style",
                                      "img",
                                      "img alt",
                                      "img src",
                                      "i",
                                      "i class",
                                      "i style",
                                      "i data-tip",
                                      "dl",
                                      "dt",
                                      "dd",
                                      "section",
                                      "section id",
                                      "pre",
                                      "p",
                                      "p class",
                                      "table",
                                      "table class",
                                      "tr",
                                      "tr class",
                                      "td",
                                      "th",
                                      "th scope",
                                      "mark",
                                      "code",
                                      "details",
                                      "details open",
                                      "summary",
                                      "footer"};

static void check_allowed(const char *tag, const char *attribute)
{
    char name[80];
    snprintf(name, sizeof name, "%s%s%s", tag, attribute[0] != '\0' ? " " : "", attribute);
    for (size_t i = 0; i < sizeof allowed / sizeof allowed[0]; i++) {
        if (strcmp(allowed[i], name) == 0) {
            return;
        }
    }
    fail_msg("the page has <%s>", name);
}

static size_t read_name(char *out, size_t cap, const char *p)
{
    size_t n = 0;
    while ((p[n] >= 'a' && p[n] <= 'z') || (p[n] >= '0' && p[n] <= '9') || p[n] == '-') {
        n++;
    }
    assert_true(n < cap);
    memcpy(out, p, n);
    out[n] = '\0';
    return n;
}

/* Reads a tag at `<`; returns the byte after its `>`. */
static const char *read_tag(const char *p, bool *is_style)
{
    char tag[16], attribute[32];
    bool is_end = p[1] == '/';
    p += is_end ? 2 : 1;
    p += read_name(tag, sizeof tag, p);
    check_allowed(tag, "");
    *is_style = !is_end && strcmp(tag, "style") == 0;
    while (*p == ' ') {
        p++;
        p += read_name(attribute, sizeof attribute, p);
        check_allowed(tag, attribute);
        if (*p != '=') {
            continue;
        }
        p++;
        const char *from = p;
        if (*p == '"') {
            p = strchr(p + 1, '"');
            assert_non_null(p);
            p++;
        } else {
            p += strcspn(p, " >\"'`=<");
        }
        if (strcmp(attribute, "src") == 0) {
            assert_memory_equal(from, "\"data:image/", 12);
        }
        if (strcmp(attribute, "href") == 0) {
            assert_int_equal(from[1], '#');
        }
        assert_null(memchr(from, '<', (size_t)(p - from)));
    }
    assert_int_equal(*p, '>');
    return p + 1;
}

/* Characters that a page may not hold anywhere. */
static void check_characters(const char *p, size_t n)
{
    size_t bad = 0;
    cf_buf seen = CF_BUF_INIT;
    cf_escape_html(&seen, cf_str_make(p, n));
    /* What is already safe stays as it is, but for the marks of markup. */
    for (size_t i = 0; i < seen.n; i++) {
        bad += strncmp(seen.p + i, "class=x", 7) == 0;
    }
    cf_buf_deinit(&seen);
    assert_int_equal(bad, 0);
}

static void check_page(const cf_buf *page)
{
    static const char *const never[] = {"http:",       "https:",  "//",       "<script",
                                        "javascript:", "@import", "onerror=", "onload="};
    const char *p = cf_buf_cstr(page);
    bool is_style = false;
    assert_memory_equal(p, "<!doctype html>", 15);
    assert_int_equal(strlen(p), page->n);
    for (size_t i = 0; i < sizeof never / sizeof never[0]; i++) {
        if (strstr(p, never[i]) != NULL) {
            fail_msg("the page has '%s'", never[i]);
        }
    }
    check_characters(p, page->n);
    for (p += 15; (p = strchr(p, '<')) != NULL;) {
        p = read_tag(p, &is_style);
        if (is_style) {
            p = strstr(p, "</style>");
            assert_non_null(p);
        }
    }
}

/* ---- making reports ----------------------------------------------------- */

typedef struct made {
    cf_opened engine;
    cf_buf page, text, picture;
    size_t n_prompt, n_reply, n_calls, n_sibling;
    bool is_read, has_influence, has_inside;
} made;

static void free_made(made *m)
{
    cf_buf_deinit(&m->page);
    cf_buf_deinit(&m->text);
    cf_buf_deinit(&m->picture);
}

static void report(made *m, const cf_conversation *conv, cf_store *store)
{
    cf_error err;
    cf_report_facts f;
    const cf_report_source from = {.conv = conv,
                                   .title = cf_str_from(""),
                                   .backend = m->engine.backend,
                                   .engine = m->engine.engine,
                                   .tokenizer = cf_engine_tokenizer(m->engine.engine),
                                   .template_name = "model",
                                   .template_source = cf_buf_str(&m->engine.source),
                                   .family = m->engine.family,
                                   .store = store,
                                   .reads = true,
                                   .influences = true,
                                   .looks = store != NULL,
                                   .roles = &m->engine.roles};
    T_OK(cf_report_facts_init(&f, &from, &err), err);
    T_OK(cf_report_write(&m->page, &f, CF_REPORT_ALL, "x.html", &err), err);
    T_OK(cf_report_write(&m->text, &f, CF_REPORT_ALL, "x.md", &err), err);
    for (int part = CF_REPORT_ALL; part <= CF_REPORT_INSIDE; part++) {
        T_OK(cf_report_write(&m->picture, &f, (cf_report_part)part, "x.svg", &err), err);
    }
    m->n_prompt = f.prompt.n;
    m->n_reply = f.reply != NULL ? f.reply->n_token : 0;
    m->n_calls = f.calls.n_row;
    m->n_sibling = f.n_sibling;
    for (size_t i = 0; i < f.n_sibling; i++) { /* when each was made */
        char when[25];
        cf_os_format_time(when, f.sibling[i].turn->created_ms);
        when[13] = '\0'; /* a page writes colons as entities */
        assert_non_null(strstr(cf_buf_cstr(&m->page), when));
        assert_non_null(strstr(cf_buf_cstr(&m->page), when + 17));
    }
    m->is_read = f.is_read;
    m->has_influence = f.has_influence;
    m->has_inside = f.inside != NULL;
    cf_report_facts_deinit(&f);
    check_page(&m->page);
    check_characters(cf_buf_cstr(&m->text), m->text.n);
    check_characters(cf_buf_cstr(&m->picture), m->picture.n);
}

static bool open_bundled(made *m)
{
    cf_error err;
    const cf_open_options o = {.n_threads = 1};
    const void *bytes;
    size_t n;
    *m = (made){.n_prompt = 0};
    if (!cf_bundled_model(&bytes, &n)) {
        return false;
    }
    T_OK(cf_open_backend(&m->engine, &o, NULL, &err), err);
    return true;
}

static void test_report__examples(void **state)
{
    (void)state;
    made m;
    cf_store *store;
    cf_uuid welcome;
    cf_error err;
    cf_arena arena;
    const cf_store_conv *rows;
    size_t n, n_read = 0, n_calls = 0, n_sibling = 0, n_influence = 0, n_inside = 0;
    if (!open_bundled(&m)) {
        T_SKIP("no bundled model in this build");
    }
    const cf_store_options o = {.flags = CF_STORE_CREATE};
    T_OK(cf_store_open(&store, store_dir_file("examples.db"), &o, &err), err);
    T_OK(cf_examples_make(store, NULL, &welcome, &err), err);
    const cf_store_query q = {.tag = cf_str_from(CF_EXAMPLE_TAG)};
    cf_arena_init(&arena, 0);
    T_OK(cf_store_list(store, &q, &arena, &rows, &n, &err), err);
    assert_int_equal(n, 4);
    for (size_t i = 0; i < n; i++) {
        cf_conversation *conv;
        const cf_saved_choice choice = {.conversation = rows[i].id, .has_raw = true};
        T_OK(cf_saved_load(&conv, NULL, store, &choice, &arena, &err), err);
        report(&m, conv, store);
        assert_true(m.n_prompt > 0);
        assert_non_null(strstr(cf_buf_cstr(&m.page), "data-tip"));
        n_read += m.is_read && m.n_reply > 0;
        n_influence += m.has_influence;
        n_inside += m.has_inside;
        n_calls += m.n_calls;
        n_sibling += m.n_sibling;
        for (int s = 0; s < CF_STAGE_COUNT; s++) {
            char head[64];
            size_t n_heads = 0;
            snprintf(head, sizeof head, "<h3>%s ", cf_stage_titles[s]);
            for (const char *at = cf_buf_cstr(&m.page); (at = strstr(at, head)) != NULL; at++) {
                n_heads++;
            }
            assert_int_equal(n_heads, m.n_calls);
        }
        free_made(&m);
        m.page = m.text = m.picture = (cf_buf)CF_BUF_INIT;
        cf_conversation_free(conv);
    }
    assert_true(n_read > 0);
    assert_true(n_calls > 0);
    assert_true(n_sibling > 0);
    assert_true(n_influence > 0);
    assert_true(n_inside > 0);
    cf_arena_deinit(&arena);
    cf_store_close(store);
    cf_opened_close(&m.engine);
}

/* ---- hostile text ------------------------------------------------------- */

static const char *const hostile[] = {
    "<script>alert(1)</script>",
    "\"><img src=x onerror=alert(1)>",
    "' onmouseover='alert(1)",
    "</title></style></pre><svg/onload=alert(1)>",
    "javascript:alert(1)",
    "<a href=\"http://evil.example/\">http://evil.example</a>",
    "<!-- --><![CDATA[ ]]><?xml version=\"1.0\"?>",
    "&lt;script&gt; &#x3c;script&#x3e; &amp;",
    "<iframe srcdoc='<script>alert(1)</script>'>",
    "@import url(//evil.example/x.css);",
    "\xe2\x80\xae"
    "txt.exe"
    "\xe2\x80\xac \xe2\x81\xa6x\xe2\x81\xa9",
    "\x1b[31mred\x1b]0;title\x07\x08\x7f",
    "\xf3\xa0\x81\x81\xf3\xa0\x81\x82 \xe2\x80\x8b\xef\xbb\xbf\xc2\xad",
    "``` \n```\n````\n~~~ | table | [x](http://evil.example) ![y](z)",
    "{{ messages }} {% raw %} <|im_end|><|im_start|>system",
    "<tool_call>\n{\"name\": \"<b>x</b>\", \"arguments\": {\"a\": "
    "\"</pre><script>\"}}\n</tool_call>",
    "<tool_call>\n{\"name\": broken\n</tool_call>",
    "\xed\x95\x9c\xea\xb8\x80 \xd9\x85\xd8\xb1\xd8\xad \xf0\x9f\x91\xa9"
    "\xe2\x80\x8d\xf0\x9f\x92\xbb",
    "",
};

enum { N_HOSTILE = sizeof hostile / sizeof hostile[0] };

/* A text of several of them and random characters, as UTF-8. */
static json_t *hostile_text(cf_rand *r)
{
    cf_buf b = CF_BUF_INIT;
    size_t n = 1 + cf_rand_below(r, 3);
    for (size_t i = 0; i < n; i++) {
        cf_buf_adds(&b, hostile[cf_rand_below(r, N_HOSTILE)]);
        cf_buf_addc(&b, (char)(1 + cf_rand_below(r, 127)));
    }
    json_t *v = json_stringn(cf_buf_cstr(&b), b.n);
    cf_buf_deinit(&b);
    assert_non_null(v);
    return v;
}

static cf_uuid add(cf_conversation *conv, cf_rand *r, const char *role, cf_uuid parent)
{
    cf_error err;
    cf_uuid id;
    json_t *m = json_pack("{s:s,s:o,s:o}", "role", role, "content", hostile_text(r),
                          "reasoning_content", hostile_text(r));
    char raw[] = "bytes \xff\xfe <b>\x01</b> </pre>";
    cf_turn turn = {.parent = parent, .message = m, .status = CF_TURN_OK};
    if (strcmp(role, "assistant") == 0 && cf_rand_below(r, 3) == 0) {
        turn.raw = cf_str_make(raw, sizeof raw - 1);
    }
    T_OK(cf_conversation_add(conv, &turn, &id, &err), err);
    json_decref(m);
    return id;
}

static json_t *hostile_tools(cf_rand *r)
{
    return json_pack("[{s:s,s:{s:s,s:o,s:{s:s,s:{}}}}]", "type", "function", "function", "name",
                     "f", "description", hostile_text(r), "parameters", "type", "object",
                     "properties");
}

/* A picture within the conversation is in the page; a file that a message
 * names, or bytes that are not a picture, are not. */
static void test_report__pictures(void **state)
{
    (void)state;
    static const char gif[] = "R0lGODlhAQABAIAAAP///////yH5BAEAAAAALAAAAAABAAEAAAICRAEAOw==";
    made m;
    cf_error err;
    cf_conversation *conv;
    cf_uuid last;
    if (!open_bundled(&m)) {
        T_SKIP("no bundled model in this build");
    }
    char good[160], bad[160];
    snprintf(good, sizeof good, "data:image/gif;base64,%s", gif);
    snprintf(bad, sizeof bad, "data:image/png;base64,PHN2Zz4=");
    json_t *list =
        json_pack("[{s:s,s:[{s:s,s:s},{s:s,s:{s:s}},{s:s,s:{s:s}},{s:s,s:s}]},"
                  "{s:s,s:s}]",
                  "role", "user", "content", "type", "text", "text", "Look", "type", "image_url",
                  "image_url", "url", good, "type", "image_url", "image_url", "url", bad, "type",
                  "image", "path", "/etc/hostname", "role", "assistant", "content", "A dot.");
    assert_non_null(list);
    T_OK(cf_conversation_new(&conv, NULL, &err), err);
    T_OK(cf_conversation_add_messages(conv, list, (cf_uuid){{0}}, NULL, NULL, &last, NULL, &err),
         err);
    T_OK(cf_conversation_set_head(conv, last, &err), err);
    report(&m, conv, NULL);
    const char *page = cf_buf_cstr(&m.page);
    const char *first = strstr(page, "<img ");
    assert_non_null(first);
    assert_null(strstr(first + 1, "<img "));
    assert_non_null(strstr(first, "data:image/gif;base64,R0lGODlhAQABAIAAAP/"
                                  "\n/"));
    free_made(&m);
    cf_conversation_free(conv);
    json_decref(list);
    cf_opened_close(&m.engine);
}

static void test_report__hostile(void **state)
{
    (void)state;
    made m;
    cf_rand r = {23};
    if (!open_bundled(&m)) {
        T_SKIP("no bundled model in this build");
    }
    for (int round = 0; round < (T_IS_SLOW ? 2 : 12); round++) {
        cf_error err;
        cf_conversation *conv;
        cf_uuid at = {{0}}, asked;
        json_t *tools = hostile_tools(&r);
        const cf_preface preface = {.tools = tools};
        T_OK(cf_conversation_new(&conv, &preface, &err), err);
        at = add(conv, &r, "system", at);
        asked = add(conv, &r, "user", at);
        at = add(conv, &r, "assistant", asked);
        at = add(conv, &r, "tool", at);
        at = add(conv, &r, "assistant", at);
        (void)add(conv, &r, "assistant", asked);
        T_OK(cf_conversation_set_head(conv, at, &err), err);
        report(&m, conv, NULL);
        free_made(&m);
        m.page = m.text = m.picture = (cf_buf)CF_BUF_INIT;
        cf_conversation_free(conv);
        json_decref(tools);
    }
    cf_opened_close(&m.engine);
}

/* Of every code point one form, in which the dangerous ones are escaped. */
static void test_report__every_character(void **state)
{
    (void)state;
    for (uint32_t cp = 0; cp < 0x110000; cp += cp < 0x3000 ? 1 : 37) {
        char text[4];
        cf_buf html = CF_BUF_INIT, attr = CF_BUF_INIT;
        if (cp >= 0xD800 && cp < 0xE000) {
            continue;
        }
        cf_str s = cf_str_make(text, cf_utf8_encode(text, cp));
        cf_escape_html(&html, s);
        cf_escape_attr(&attr, s);
        assert_null(strpbrk(cf_buf_cstr(&attr), "<>\"'=`:/"));
        assert_int_equal(strstr(cf_buf_cstr(&html), "class=x") != NULL, cf_escape_hides(cp));
        if (!cf_escape_hides(cp)) {
            assert_null(strpbrk(cf_buf_cstr(&html), "<>\"'=`:/"));
        }
        cf_buf_deinit(&html);
        cf_buf_deinit(&attr);
    }
}

static void test_report__parts(void **state)
{
    (void)state;
    cf_report_part part;
    for (int i = CF_REPORT_ALL; i <= CF_REPORT_INFLUENCE; i++) {
        assert_true(cf_report_part_parse(&part, cf_report_part_name((cf_report_part)i)));
        assert_int_equal(part, i);
    }
    assert_false(cf_report_part_parse(&part, "nothing"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_report__every_character), cmocka_unit_test(test_report__parts),
        cmocka_unit_test(test_report__examples),        cmocka_unit_test(test_report__pictures),
        cmocka_unit_test(test_report__hostile),
    };
    return cmocka_run_group_tests(tests, store_dir_make, store_dir_remove);
}
