/*
 * page_html.c - a page as a document of HTML.
 *
 * It has no script and no address, says so in its content security policy, and
 * takes untrusted text only through page_escape.h.
 */
#include "core/base/version.h"
#include "tui/page/page_escape.h"
#include "tui/page/page_form.h"

extern const unsigned char cf_embed_tui_page_page_css[];
extern const size_t cf_embed_tui_page_page_css_size;

static const char head[] =
    "<!doctype html>\n<html lang=en>\n<head>\n<meta charset=utf-8>\n"
    "<meta name=viewport content=\"width=device-width, initial-scale=1\">\n"
    "<meta name=color-scheme content=\"light dark\">\n"
    "<meta http-equiv=Content-Security-Policy content=\"default-src 'none'; style-src "
    "'unsafe-inline'; img-src data:; form-action 'none'; base-uri 'none'\">\n"
    "<meta name=referrer content=no-referrer>\n<style>\n";

static const cf_page_form forms[CF_PAGE_KINDS] = {
    [CF_PAGE_TITLE] = {"<title>$t - confab report</title>\n</head>\n<body>\n<header>\n"
                       "<div class=kicker>confab report</div>\n<h1>$t</h1>\n",
                       "</header>\n", NULL},
    [CF_PAGE_NAV] = {"<nav>", "</nav>\n", NULL},
    [CF_PAGE_CARDS] = {"<div class=cards>\n", "</div>\n", NULL},
    [CF_PAGE_CARD] = {"<div class=card><b>$t</b><span>$n</span>", "</div>\n", NULL},
    [CF_PAGE_FIGURES] = {"<dl>\n", "</dl>\n", NULL},
    [CF_PAGE_FIGURE] = {"<dt>$t</dt><dd>$n</dd>\n", "", NULL},
    [CF_PAGE_SECTION] = {"<section id=$t>\n<h2>$t <small>$n</small></h2>\n", "</section>\n", NULL},
    [CF_PAGE_BOX] = {"<div class=box>\n$(<h3>$t <small>$n</small></h3>\n$)", "</div>\n", NULL},
    [CF_PAGE_TURN] = {"<div class=\"turn$l\"><div class=role>$t<small>$n</small></div>", "</div>\n",
                      NULL},
    [CF_PAGE_PART] = {"<div class=\"part$l\">\n<h3>$t <small>$n</small></h3>\n", "</div>\n", NULL},
    [CF_PAGE_STAGES] = {"<div class=stages>\n", "</div>\n", NULL},
    [CF_PAGE_STAGE] = {"<div class=\"stage$l\"><h3>$t <small>$n</small></h3>", "</div>\n", NULL},
    [CF_PAGE_TEXT] = {"<div class=\"text$l\">", "</div>", NULL},
    [CF_PAGE_PRE] = {"<pre>", "</pre>\n", NULL},
    [CF_PAGE_DIFF] = {"<table class=diff>\n", "</table>\n", NULL},
    [CF_PAGE_LINE] = {"<tr class=\"line$l\"><td>$t</td><td>", "</td></tr>\n", NULL},
    [CF_PAGE_REMARK] = {"<p class=dim>", "</p>\n", NULL},
    [CF_PAGE_WARNING] = {"<p class=note>", "</p>\n", NULL},
    [CF_PAGE_LEGEND] = {"<div class=legend>", "</div>\n", NULL},
    [CF_PAGE_KEY] = {"<span>", "</span>", NULL},
    [CF_PAGE_TABLE] = {"<table>\n", "</table>\n", NULL},
    [CF_PAGE_ROW] = {"<tr>", "</tr>\n", NULL},
    [CF_PAGE_HEADING] = {"<th scope=col>", "</th>", NULL},
    [CF_PAGE_CELL] = {"<td>", "</td>", NULL},
    [CF_PAGE_WIDE_HEADING] = {"<th scope=col class=wide>", "</th>", NULL},
    [CF_PAGE_WIDE_CELL] = {"<td>", "</td>", NULL},
    [CF_PAGE_CHOICES] = {"<div class=alts>", "</div>", NULL},
    [CF_PAGE_CHOICE] = {"", "", NULL},
    [CF_PAGE_FOLD] = {"<details open><summary>$t</summary><div class=box>\n", "</div></details>\n",
                      NULL},
    [CF_PAGE_SOURCE] = {"<details><summary>$t</summary><div class=box>", "</div></details>\n",
                        NULL},
};

/* Names of classes, after that of the block or token. */
static const char *const looks[CF_LOOKS] = {
    [CF_LOOK_HERE] = " here",     [CF_LOOK_LOST] = " lost",       [CF_LOOK_REMOVED] = " del",
    [CF_LOOK_ADDED] = " add",     [CF_LOOK_NONE] = " none",       [CF_LOOK_OK] = " ok",
    [CF_LOOK_FAILED] = " failed", [CF_LOOK_WAITING] = " waiting", [CF_LOOK_GIVEN] = " given",
    [CF_LOOK_SOURCE] = " s0",     [CF_LOOK_SOURCE + 1] = " s1",   [CF_LOOK_SOURCE + 2] = " s2",
    [CF_LOOK_SOURCE + 3] = " s3", [CF_LOOK_SOURCE_LAST] = " s4",
};

static void put_token(cf_buf *out, const cf_page *p, const cf_page_item *it)
{
    static const char *const flags[] = {" sp", " k", " br"};
    int shade = (int)(it->share * 10);
    cf_buf_addf(out, "<i class=\"t%s", looks[it->look] != NULL ? looks[it->look] : "");
    if (it->look == CF_LOOK_CHANCE) {
        cf_buf_addf(out, " q%d", shade > 9 ? 9 : shade);
    }
    for (int i = 0; i < 3; i++) {
        cf_buf_adds(out, (it->flags & 1 << i) != 0 ? flags[i] : "");
    }
    cf_buf_addc(out, '"');
    if (it->n_note > 0) {
        cf_buf_adds(out, " data-tip=\"");
        cf_escape_attr(out, cf_page_tip(p, it));
        cf_buf_addc(out, '"');
    }
    cf_buf_addc(out, '>');
    cf_escape_html_token(out, cf_page_title(p, it));
    cf_buf_adds(out, "</i>");
}

/* Code in a table, where spaces at its ends would not be seen. */
static void put_code(cf_buf *out, cf_str text)
{
    size_t from = 0, end = text.n;
    while (from < end && text.p[from] == ' ') {
        from++;
    }
    while (end > from && text.p[end - 1] == ' ') {
        end--;
    }
    for (size_t i = 0; i < text.n; i++) {
        if (i == from) {
            cf_escape_html_token(out, cf_str_make(text.p + from, end - from));
            i = end;
        }
        if (i < text.n) {
            cf_buf_adds(out, "<b class=n>\xe2\x90\xa3</b>");
        }
    }
}

/* Base64 in which no two slashes meet, so that nothing in the page looks like
 * an address; a newline within a URL counts for nothing (URL Standard, "remove
 * all ASCII tab or newline"). */
static void put_picture(cf_buf *out, const cf_page *p, const cf_page_item *it)
{
    cf_str text = cf_page_tip(p, it);
    cf_buf_adds(out, "<img alt=picture src=\"data:");
    cf_buf_add(out, cf_page_title(p, it).p, it->n_title);
    cf_buf_adds(out, ";base64,");
    for (size_t i = 0; i < text.n; i++) {
        cf_buf_adds(out, i > 0 && text.p[i] == '/' && text.p[i - 1] == '/' ? "\n" : "");
        cf_buf_addc(out, text.p[i]);
    }
    cf_buf_adds(out, "\">");
}

static void put_run(cf_buf *out, const cf_page *p, const cf_page_item *it)
{
    static const cf_page_form around[CF_LOOKS] = {
        [CF_LOOK_MARK] = {"<mark>", "</mark>", NULL},
        [CF_LOOK_CODE] = {"<code>", "</code>", NULL},
        [CF_LOOK_CHOSEN] = {"<code><b>", "</b></code>", NULL},
        [CF_LOOK_NUMBER] = {"<span>", "</span>", NULL},
        [CF_LOOK_LINK] = {"<a href=\"#$t\">", "</a>", NULL},
        [CF_LOOK_BAR] = {"<div class=bar style=\"width:$w%\">", "</div>", NULL},
        [CF_LOOK_METER] = {"<div class=meter><i style=\"width:$w%\">", "</i></div>", NULL},
    };
    const cf_page_form *f = &around[it->look];
    if (it->look == CF_LOOK_PICTURE) {
        put_picture(out, p, it);
        return;
    }
    if (it->look >= CF_LOOK_TOKEN) {
        put_token(out, p, it);
        return;
    }
    const char *open = f->open != NULL ? f->open : "";
    if (it->look == CF_LOOK_BAR && it->share < 0) {
        open = "<div class=\"bar chosen\" style=\"width:$w%\">";
    }
    cf_page__fill(out, open, p, it, looks, cf_escape_html);
    if (it->look == CF_LOOK_CODE || it->look == CF_LOOK_CHOSEN) {
        put_code(out, cf_page_title(p, it));
    } else {
        cf_escape_html(out, cf_page_title(p, it));
    }
    cf_buf_adds(out, f->close != NULL ? f->close : "");
}

void cf_page_html(cf_buf *out, const cf_page *p)
{
    cf_buf_adds(out, head);
    cf_buf_add(out, cf_embed_tui_page_page_css, cf_embed_tui_page_page_css_size);
    cf_buf_adds(out, "</style>\n");
    for (size_t i = 0; i < p->n; i++) {
        const cf_page_item *it = &p->v[i];
        if (it->kind == CF_PAGE_RUN) {
            put_run(out, p, it);
        } else {
            const cf_page_form *f = &forms[it->kind];
            cf_page__fill(out, it->is_end ? f->close : f->open, p, it, looks, cf_escape_html);
        }
    }
    cf_buf_adds(out, "<footer>written by confab " CF_VERSION
                     "; hover over a token for its origin, its probability "
                     "and the alternatives</footer>\n</body>\n</html>\n");
}
