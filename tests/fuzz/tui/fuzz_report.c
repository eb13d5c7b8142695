/*
 * fuzz_report.c - any bytes as a text in a report, and as the message of a
 * conversation that is reported: nothing of it is active.  A browser that
 * reads the page sees the elements and attributes of the report and no others,
 * no address, and no character that hides or reorders text.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/api/backend.h"
#include "core/base/utf8.h"
#include "tui/page/page_escape.h"
#include "tui/study/report/report.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void need(bool ok)
{
    if (!ok) {
        abort();
    }
}

static bool starts(const char *p, const char *with)
{
    return strncmp(p, with, strlen(with)) == 0;
}

/* Every '<' begins one of `tags`; valid UTF-8 in which nothing hides. */
static void check_text(const cf_buf *out, const char *const *tags)
{
    const char *p = out->n > 0 ? out->p : "";
    for (size_t i = 0; i < out->n;) {
        uint32_t cp;
        size_t n = cf_utf8_decode(&cp, p + i, out->n - i);
        need(cp != CF_UTF8_BAD);
        need(cp == '\n' || cp == '\t' || !cf_escape_hides(cp));
        bool is_tag = cp != '<';
        for (size_t k = 0; !is_tag && tags[k] != NULL; k++) {
            is_tag = starts(p + i, tags[k]);
        }
        need(is_tag);
        i += n;
    }
}

static void try_text(cf_str text)
{
    static const char *const marks[] = {"<b class=x>&#92;", "<b class=n>", "</b>", NULL};
    static const char *const none[] = {NULL};
    cf_buf out = CF_BUF_INIT;
    cf_escape_html(&out, text);
    check_text(&out, marks);
    cf_buf_reset(&out);
    cf_escape_html_token(&out, text);
    check_text(&out, marks);
    cf_buf_reset(&out);
    cf_escape_attr(&out, text);
    check_text(&out, none);
    need(out.n == 0 || strpbrk(cf_buf_cstr(&out), "\"'`=:/\n") == NULL);
    cf_buf_reset(&out);
    cf_escape_xml(&out, text);
    check_text(&out, none);
    cf_buf_reset(&out);
    cf_escape_md_line(&out, text);
    need(out.n == 0 || strchr(cf_buf_cstr(&out), '\n') == NULL);
    cf_buf_deinit(&out);
}

/* The page of a conversation without an engine. */
static void try_page(cf_str text)
{
    static const char *const never[] = {
        "<script", "<iframe", "<object",     "<embed",  "<svg", "<link", "<form",   "<base",
        "http:",   "https:",  "javascript:", "@import", "url(", "<!--",  "<input ", "<button"};
    cf_conversation *conv = NULL;
    cf_backend *backend = NULL;
    cf_report_facts facts;
    cf_error err;
    cf_uuid id;
    cf_buf page = CF_BUF_INIT;
    json_t *script = json_pack("{s:[]}", "replies");
    json_t *m = json_pack("{s:s,s:s%,s:s%}", "role", "user", "content", text.p, text.n,
                          "reasoning_content", text.p, text.n);
    const cf_turn turn = {.message = m, .status = CF_TURN_OK};
    const cf_script_options options = {.family = CF_TOOLS_NONE};
    cf_status st = m != NULL ? cf_conversation_new(&conv, NULL, &err) : CF_EFORMAT;
    CF_THEN(st, cf_conversation_add(conv, &turn, &id, &err));
    CF_THEN(st, cf_conversation_set_head(conv, id, &err));
    CF_THEN(st, cf_backend_script_new(&backend, script, &options, &err));
    const cf_report_source from = {
        .conv = conv, .title = text, .backend = backend, .template_name = "x"};
    if (st == CF_OK && cf_report_facts_init(&facts, &from, &err) == CF_OK) {
        need(cf_report_write(&page, &facts, CF_REPORT_ALL, "x.html", &err) == CF_OK);
        const char *body = strstr(cf_buf_cstr(&page), "<body");
        need(body != NULL && strlen(page.p) == page.n);
        for (size_t i = 0; i < sizeof never / sizeof never[0]; i++) {
            need(strstr(body, never[i]) == NULL);
        }
        cf_report_facts_deinit(&facts);
    }
    cf_buf_deinit(&page);
    cf_backend_free(backend);
    cf_conversation_free(conv);
    json_decref(m);
    json_decref(script);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size > 4000) {
        return 0;
    }
    const cf_str text = cf_str_make((const char *)data, size);
    try_text(text);
    try_page(text);
    return 0;
}
