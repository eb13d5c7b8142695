/*
 * findings.c - rebuilds prompts and compares requests.
 *
 * A count is taken as cut only when it is short by more than a template of
 * another version could explain (CUT_TOKENS and CUT_SHARE).
 *
 * A server can keep as much as it kept before, and no more than the prompt has:
 * what is missing of that is lost.  Servers keep whole blocks (16 tokens in
 * vLLM, 128 at OpenAI) and forget prompts for reasons of their own, so a loss
 * counts from FALL_TOKENS on; where nothing at all is kept after something
 * early has changed, any loss counts.  A cache that is lost on every turn never
 * falls; there all that the request before had sent could have been kept.
 *
 * Indices in the JSON count from 0, texts from 1, as the screen does.
 */
#include "tui/serve/record/findings.h"

#include <string.h>

#include "core/api/backend.h"
#include "core/json/json_builder.h"
#include "tui/serve/record/path_key.h"

enum {
    CUT_TOKENS = 8,
    CUT_SHARE = 20,       /* a twentieth */
    FALL_TOKENS = 129,    /* more than a block */
    UNUSED_TOKENS = 1024, /* of a request before, where nothing explains it */
    UNUSED_SHARE = 4,     /* and a quarter of it: the newest messages are not kept yet */
    BEFORE = 16,
    EXCERPT = 60 /* bytes shown of a difference */
};

/* ---- prompts ------------------------------------------------------------ */

/* A request as the finder's template writes it; no tokens without a
 * tokenizer. */
typedef struct rebuilt {
    cf_prompt prompt;
    cf_token_list tokens;
    bool has;
} rebuilt;

/* Text of arguments as the value that templates read. */
static void parse_arguments(json_t *m, cf_jb *b)
{
    json_t *calls = cf_json_deep_copy(json_object_get(m, "tool_calls"));
    for (size_t i = 0; i < json_array_size(calls); i++) {
        json_t *f = json_object_get(json_array_get(calls, i), "function");
        cf_str text = cf_json_get_str(f, "arguments");
        json_t *v = NULL;
        cf_error ignored;
        if (text.p != NULL && cf_json_read(&v, text.p, text.n, &ignored) == CF_OK) {
            cf_jb_set(b, f, "arguments", v);
        }
    }
    if (json_object_get(m, "tool_calls") != NULL) {
        cf_jb_set(b, m, "tool_calls", calls);
    }
}

/* A list of text parts as the text. */
static void flatten(json_t *m, cf_jb *b)
{
    const json_t *parts = json_object_get(m, "content");
    cf_buf text = CF_BUF_INIT;
    for (size_t i = 0; i < json_array_size(parts); i++) {
        if (cf_json_get_str(json_array_get(parts, i), "text").p == NULL) {
            return;
        }
    }
    if (json_array_size(parts) > 0) {
        cf_message_text(&text, m, "");
        cf_jb_set(b, m, "content", cf_json_buf(&text));
        cf_buf_deinit(&text);
    }
}

/* The messages as servers hand them to a template, with roles as it names
 * them. */
static json_t *served(const cf_finder *f, const json_t *messages, cf_jb *b)
{
    json_t *out = json_array();
    for (size_t i = 0; i < json_array_size(messages); i++) {
        json_t *m = cf_json_copy(json_array_get(messages, i));
        cf_str role = cf_json_get_str(m, "role");
        cf_str to = cf_role_map_get(&f->roles, role);
        if (!cf_str_eq(role, to)) {
            cf_jb_set(b, m, "role", cf_json_str(to));
        }
        parse_arguments(m, b);
        flatten(m, b);
        cf_jb_append(b, out, m);
    }
    return out;
}

/* NULL without memory. */
static json_t *context_of(const cf_finder *f, const cf_wire_request *r)
{
    cf_jb b = CF_JB_INIT;
    json_t *v = r->variables != NULL ? cf_json_copy(r->variables) : json_object();
    cf_jb_open(&b, v);
    cf_jb_take(&b, "messages", served(f, r->messages, &b));
    if (r->tools != NULL) {
        cf_jb_add(&b, "tools", r->tools);
    }
    cf_jb_bool(&b, "add_generation_prompt", true);
    cf_jb_end(&b);
    if (cf_jb_check(&b, NULL) != CF_OK) {
        json_decref(v);
        v = NULL;
    }
    cf_jb_deinit(&b);
    return v;
}

/* A prompt that the template refuses is not rebuilt, which is no failure. */
static cf_status rebuild(rebuilt *out, const cf_finder *f, const cf_wire_request *r,
                         cf_arena *arena, cf_error *err)
{
    memset(out, 0, sizeof *out);
    if (f == NULL || f->as_is.render == NULL) {
        return CF_OK;
    }
    cf_error why;
    json_t *context = context_of(f, r);
    cf_status st = context != NULL ? CF_OK : CF_ENOMEM;
    if (f->tok != NULL) {
        CF_THEN(st, cf_prompt_add_special(context, f->tok, &why));
    }
    CF_THEN(st, f->as_is.render(f->as_is.ud, context, arena, &out->prompt, &why));
    if (st == CF_EFORMAT && f->shaped.render != NULL) {
        st = f->shaped.render(f->shaped.ud, context, arena, &out->prompt, &why);
    }
    if (f->tok != NULL) {
        CF_THEN(st, cf_prompt_tokenise(&out->tokens, &out->prompt, cf_str_make("", 0), f->tok,
                                       arena, &why));
    }
    json_decref(context);
    out->has = st == CF_OK;
    return st == CF_ENOMEM ? cf_oom(err) : CF_OK;
}

/* ---- the list ----------------------------------------------------------- */

static cf_status append(json_t *list, json_t *finding, cf_error *err)
{
    return finding != NULL && json_array_append_new(list, finding) == 0 ? CF_OK : cf_oom(err);
}

/* ---- cut ---------------------------------------------------------------- */

/* Tokens of the prompt from the start of each message on: how many of the
 * first messages a server that kept `theirs` tokens must have dropped. */
static size_t first_kept(const rebuilt *p, const cf_wire_request *r, int64_t theirs)
{
    size_t n = json_array_size(r->messages);
    int64_t left = theirs;
    size_t first = n;
    for (size_t i = p->tokens.n; i > 0 && left > 0; i--, left--) {
        const cf_prompt_span *s = cf_prompt_span_at(&p->prompt, p->tokens.v[i - 1].off);
        if (s != NULL && s->source == CF_SPAN_MESSAGE && s->index < first) {
            first = s->index;
        }
    }
    return first < n ? first : 0;
}

static cf_status add_cut(json_t *list, const rebuilt *p, const cf_found_side *now, cf_error *err)
{
    int64_t ours = (int64_t)p->tokens.n;
    int64_t theirs = now->usage.n_prompt;
    if (!p->has || theirs < 0 || ours - theirs <= CUT_TOKENS + ours / CUT_SHARE) {
        return CF_OK;
    }
    size_t first = first_kept(p, now->request, theirs);
    cf_buf text = CF_BUF_INIT;
    cf_buf_addf(&text, "the server read %lld of %lld tokens: %lld are silently cut",
                (long long)theirs, (long long)ours, (long long)(ours - theirs));
    if (first > 0) {
        cf_buf_addf(&text,
                    "; kept from the end, that loses what comes before "
                    "message %zu",
                    first + 1);
    }
    cf_status st = append(list,
                          json_pack("{s:s, s:I, s:I, s:I, s:o}", "kind", "cut", "ours",
                                    (json_int_t)ours, "theirs", (json_int_t)theirs, "first_kept",
                                    (json_int_t)first, "text", cf_json_buf(&text)),
                          err);
    cf_buf_deinit(&text);
    return st;
}

/* ---- cache lost --------------------------------------------------------- */

/* False without memory, which *oom says then. */
static bool same_message(const json_t *a, const json_t *b, bool *oom)
{
    cf_buf x = CF_BUF_INIT;
    cf_buf y = CF_BUF_INIT;
    cf_message_canon(&x, a);
    cf_message_canon(&y, b);
    *oom = *oom || x.failed || y.failed;
    bool same = !*oom && cf_str_eq(cf_buf_str(&x), cf_buf_str(&y));
    cf_buf_deinit(&x);
    cf_buf_deinit(&y);
    return same;
}

static size_t shorter(const json_t *a, const json_t *b)
{
    size_t n = json_array_size(a);
    return n < json_array_size(b) ? n : json_array_size(b);
}

/* The first message in which two requests differ; where they only differ in
 * what clients change by themselves, that one.  The shorter one's end where it
 * is a beginning of the other. */
static size_t first_difference(const json_t *a, const json_t *b, bool *oom)
{
    const size_t n = shorter(a, b);
    size_t i = 0;
    while (i < n && same_message(json_array_get(a, i), json_array_get(b, i), oom)) {
        i++;
    }
    for (size_t k = 0; i == n && k < n; k++) {
        if (!json_equal(json_array_get(a, k), json_array_get(b, k))) {
            return k;
        }
    }
    return i;
}

bool cf_findings_is_rewrite(const json_t *was, const json_t *is)
{
    const size_t n = json_array_size(was);
    size_t n_same = 0;
    bool talks = false, oom = false, is_asked_anew = false;
    for (size_t i = 0; i < n && i < json_array_size(is); i++) {
        const json_t *m = json_array_get(was, i);
        bool same = same_message(m, json_array_get(is, i), &oom);
        n_same += same;
        talks = talks || (same && !cf_message_is_system(m));
        is_asked_anew = i + 1 == n && n == json_array_size(is) && !same;
    }
    /* Another question at the end of the same beginning is another session. */
    return talks && !oom && n <= json_array_size(is) && 2 * n_same > n &&
           !(is_asked_anew && n_same + 1 == n);
}

/* Where two prompts part: the message of the first token that differs.  False
 * where the former is a beginning, but for what asked for its reply. */
static bool parted_at(const rebuilt *a, const rebuilt *b, size_t *message)
{
    size_t i = 0;
    while (i < a->tokens.n && i < b->tokens.n && a->tokens.v[i].id == b->tokens.v[i].id) {
        i++;
    }
    if (i >= a->tokens.n) {
        return false;
    }
    for (size_t k = i; k < a->tokens.n; k++) {
        const cf_prompt_span *s = cf_prompt_span_at(&a->prompt, a->tokens.v[k].off);
        if (s != NULL && s->source == CF_SPAN_MESSAGE) {
            *message = s->index;
            return true;
        }
    }
    return false;
}

/* Why less is kept than before. */
typedef enum loss {
    LOSS_MESSAGE,  /* another message at `at` */
    LOSS_TOOLS,    /* other tools */
    LOSS_TEMPLATE, /* the template writes message `at` otherwise */
    LOSS_UNKNOWN   /* what came before is the same */
} loss;

static loss why_lost(const rebuilt *now_p, const rebuilt *before_p, const cf_found_side *now,
                     const cf_found_side *before, size_t *at, bool *oom)
{
    const json_t *was = before->request->messages;
    const json_t *is = now->request->messages;
    *at = first_difference(was, is, oom);
    if (*at < json_array_size(was) && *at < json_array_size(is)) {
        return LOSS_MESSAGE;
    }
    const json_t *tools = before->request->tools; /* NULL: none */
    if (tools != now->request->tools && !json_equal(tools, now->request->tools)) {
        return LOSS_TOOLS;
    }
    return before_p->has && now_p->has && parted_at(before_p, now_p, at) ? LOSS_TEMPLATE
                                                                         : LOSS_UNKNOWN;
}

/* What stands at a byte, from a character's boundary on. */
static void put_excerpt(cf_buf *out, const cf_buf *text, size_t at)
{
    while (at > 0 && at < text->n && (text->p[at] & 0xC0) == 0x80) {
        at--;
    }
    size_t n = text->n - at < EXCERPT ? text->n - at : EXCERPT;
    while (n > 0 && at + n < text->n && (text->p[at + n] & 0xC0) == 0x80) {
        n--;
    }
    cf_buf_add(out, text->n > 0 ? text->p + at : "", n);
}

/* What is lost of the tokens kept before: a cache that got smaller. */
static int64_t fallen(const cf_found_side *now, const cf_found_side *before)
{
    int64_t had = before->usage.n_cached, has = now->usage.n_cached, prompt = now->usage.n_prompt;
    return had <= 0 || has < 0 ? 0 : (prompt >= 0 && prompt < had ? prompt : had) - has;
}

/* What is lost of the tokens sent before: a cache that is lost on every turn
 * does not get smaller. */
static int64_t unused(const cf_found_side *now, const cf_found_side *before)
{
    int64_t sent = before->usage.n_prompt, has = now->usage.n_cached;
    bool is_reported = before->usage.n_cached > 0 || has > 0;
    return !is_reported || has < 0 || sent <= 0 || now->usage.n_prompt < sent ? 0 : sent - has;
}

int64_t cf_findings_lost(const cf_found_side *now, const cf_found_side *before)
{
    int64_t a = fallen(now, before), b = unused(now, before);
    return a > b ? a : b;
}

/* Whether a loss is one that blocks and a server's own forgetting do not
 * explain. */
static bool is_fall(const cf_found_side *now, const cf_found_side *before, loss why)
{
    int64_t lost = fallen(now, before);
    return lost > 0 && (lost >= FALL_TOKENS || (now->usage.n_cached == 0 && why != LOSS_UNKNOWN));
}

static bool is_unused(const cf_found_side *now, const cf_found_side *before, loss why)
{
    int64_t lost = unused(now, before);
    return lost >= (why == LOSS_UNKNOWN ? UNUSED_TOKENS : FALL_TOKENS) &&
           lost >= before->usage.n_prompt / UNUSED_SHARE;
}

/* Why, after the counts. */
static void put_reason(cf_buf *out, loss why, size_t at, const cf_found_side *now)
{
    static const struct {
        const char *text, *after; /* after the message's number; NULL: none */
    } reasons[] = {
        [LOSS_MESSAGE] = {"because message ", " changed"},
        [LOSS_TOOLS] = {"because the tools changed", NULL},
        [LOSS_TEMPLATE] = {"because the template writes message ", " otherwise than before"},
        [LOSS_UNKNOWN] = {"although nothing before the new messages changed", NULL}};
    cf_buf_adds(out, reasons[why].text);
    if (reasons[why].after != NULL) {
        cf_buf_addf(out, "%zu%s", at + 1, reasons[why].after);
    }
    if (why == LOSS_UNKNOWN && now->between.n != 0) {
        cf_buf_adds(out, "; between them the server answered ");
        cf_buf_add(out, now->between.p, now->between.n);
    }
}

/* The first bytes in which two messages differ. */
static void put_was_and_is(cf_buf *out, const json_t *was, const json_t *is)
{
    cf_buf a = CF_BUF_INIT, b = CF_BUF_INIT;
    size_t at = 0;
    cf_message_text(&a, was, "");
    cf_message_text(&b, is, "");
    while (at < a.n && at < b.n && a.p[at] == b.p[at]) {
        at++;
    }
    if (!a.failed && !b.failed && (at < a.n || at < b.n)) {
        at -= at < BEFORE ? at : BEFORE; /* what stands before says where it is */
        cf_buf_adds(out, " (was \"");
        put_excerpt(out, &a, at);
        cf_buf_adds(out, "\", is \"");
        put_excerpt(out, &b, at);
        cf_buf_adds(out, "\")");
    }
    out->failed = out->failed || a.failed || b.failed;
    cf_buf_deinit(&a);
    cf_buf_deinit(&b);
}

static cf_status add_cache_lost(json_t *list, const rebuilt *now_p, const rebuilt *before_p,
                                const cf_found_side *now, const cf_found_side *before,
                                cf_error *err)
{
    size_t at;
    bool oom = false;
    if (cf_findings_lost(now, before) <= 0) {
        return CF_OK;
    }
    const loss why = why_lost(now_p, before_p, now, before, &at, &oom);
    const bool has_fallen = is_fall(now, before, why);
    if (oom || (!has_fallen && !is_unused(now, before, why))) {
        return oom ? cf_oom(err) : CF_OK;
    }
    const int64_t had = has_fallen ? before->usage.n_cached : before->usage.n_prompt;
    const int64_t has = now->usage.n_cached;
    cf_buf text = CF_BUF_INIT;
    cf_buf_addf(&text,
                has_fallen ? "kept tokens fell from %lld to %lld, "
                           : "of the %lld tokens that the request before had sent %lld are kept, ",
                (long long)had, (long long)has);
    put_reason(&text, why, at, now);
    if (why == LOSS_MESSAGE && !has_fallen) {
        put_was_and_is(&text, json_array_get(before->request->messages, at),
                       json_array_get(now->request->messages, at));
    }
    cf_status st = append(list,
                          json_pack("{s:s, s:I, s:I, s:I, s:o}", "kind", "cache-lost", "message",
                                    (json_int_t)at, "before", (json_int_t)had, "now",
                                    (json_int_t)has, "text", cf_json_buf(&text)),
                          err);
    cf_buf_deinit(&text);
    return st;
}

/* ---- system changed ----------------------------------------------------- */

/* The i-th message that is (not) a system message; NULL past the last. */
static json_t *nth(const json_t *list, size_t i, bool is_system, size_t *index)
{
    for (size_t k = 0; k < json_array_size(list); k++) {
        json_t *m = json_array_get(list, k);
        if (cf_message_is_system(m) == is_system && i-- == 0) {
            *index = k;
            return m;
        }
    }
    return NULL;
}

/* Whether the talk of `a` is a beginning of that of `b`. */
static bool goes_on(const json_t *a, const json_t *b, bool *oom)
{
    size_t at;
    for (size_t i = 0;; i++) {
        const json_t *x = nth(a, i, false, &at);
        const json_t *y = nth(b, i, false, &at);
        if (x == NULL) {
            return i > 0;
        }
        if (y == NULL || !same_message(x, y, oom)) {
            return false;
        }
    }
}

static cf_status add_system_change(json_t *list, const json_t *was, const json_t *is,
                                   size_t message, cf_error *err)
{
    cf_buf a = CF_BUF_INIT, b = CF_BUF_INIT;
    cf_buf from = CF_BUF_INIT, to = CF_BUF_INIT;
    size_t at = 0;
    cf_message_text(&a, was, "");
    cf_message_text(&b, is, "");
    from.failed = a.failed || b.failed;
    while (at < a.n && at < b.n && a.p[at] == b.p[at]) {
        at++;
    }
    put_excerpt(&from, &a, at);
    put_excerpt(&to, &b, at);
    cf_status st = append(list,
                          json_pack("{s:s, s:I, s:I, s:o, s:o, s:s}", "kind", "system-changed",
                                    "message", (json_int_t)message, "byte", (json_int_t)at, "was",
                                    cf_json_buf(&from), "is", cf_json_buf(&to), "text",
                                    "another system message than in the request before"),
                          err);
    cf_buf_deinit(&a);
    cf_buf_deinit(&b);
    cf_buf_deinit(&from);
    cf_buf_deinit(&to);
    return st;
}

static cf_status add_system_changed(json_t *list, const cf_found_side *now,
                                    const cf_found_side *before, cf_error *err)
{
    const json_t *a = before->request->messages;
    const json_t *b = now->request->messages;
    bool oom = false;
    if (!goes_on(a, b, &oom)) {
        return oom ? cf_oom(err) : CF_OK;
    }
    for (size_t i = 0;; i++) {
        size_t at_a = 0, at_b = 0;
        const json_t *x = nth(a, i, true, &at_a);
        const json_t *y = nth(b, i, true, &at_b);
        if (x == NULL && (y == NULL || at_b >= json_array_size(a))) {
            return CF_OK; /* a new one at the end is not a change */
        }
        if (x == NULL || y == NULL || !same_message(x, y, &oom)) {
            return oom ? cf_oom(err) : add_system_change(list, x, y, y != NULL ? at_b : at_a, err);
        }
    }
}

/* ---- lost call ---------------------------------------------------------- */

/* Whether a family reads a call of a declared tool in the text. */
static cf_status reads_call(cf_tool_family family, const cf_tool_set *tools, cf_str text,
                            bool *found, cf_buf *name, cf_error *err)
{
    cf_tool_parser *parser = NULL;
    const cf_tool_parse *parse = NULL;
    CF_TRY(cf_tool_parser_new(&parser, family, tools, NULL, NULL, err));
    cf_status st = cf_tool_parser_feed(parser, text.p, text.n, err);
    CF_THEN(st, cf_tool_parser_finish(parser, &parse, err));
    for (size_t i = 0; st == CF_OK && !*found && i < parse->n_calls; i++) {
        if (cf_tool_set_find(tools, parse->calls[i].name) != NULL) {
            *found = true;
            cf_buf_add(name, parse->calls[i].name.p, parse->calls[i].name.n);
        }
    }
    cf_tool_parser_free(parser);
    return st == CF_ENOMEM ? st : CF_OK;
}

static cf_status find_call(const cf_finder *f, const cf_tool_set *tools, cf_str text,
                           cf_tool_family *family, cf_buf *name, bool *found, cf_error *err)
{
    *family = f != NULL ? f->family : CF_TOOLS_NONE;
    if (*family != CF_TOOLS_NONE) {
        CF_TRY(reads_call(*family, tools, text, found, name, err));
    }
    for (int i = CF_TOOLS_GENERIC + 1; !*found && i < CF_TOOL_FAMILY_N; i++) {
        *family = (cf_tool_family)i;
        CF_TRY(reads_call(*family, tools, text, found, name, err));
    }
    if (!*found) { /* it reads much, so it comes last */
        *family = CF_TOOLS_GENERIC;
        CF_TRY(reads_call(*family, tools, text, found, name, err));
    }
    return CF_OK;
}

static cf_status add_lost_call(json_t *list, const cf_finder *f, const cf_found_side *now,
                               const json_t *reply, cf_error *err)
{
    cf_tool_set *tools = NULL;
    cf_tool_family family;
    cf_buf text = CF_BUF_INIT, name = CF_BUF_INIT;
    bool found = false;
    cf_error ignored;
    if (reply == NULL || now->request->tools == NULL ||
        json_array_size(json_object_get(reply, "tool_calls")) > 0 ||
        cf_tool_set_new(&tools, now->request->tools, &ignored) != CF_OK) {
        return CF_OK;
    }
    cf_str thinking = cf_json_get_str(reply, "reasoning_content");
    cf_message_text(&text, reply, "");
    cf_status st = cf_buf_check(&text, err);
    CF_THEN(st, find_call(f, tools, cf_buf_str(&text), &family, &name, &found, err));
    if (st == CF_OK && !found && thinking.n != 0) {
        st = find_call(f, tools, thinking, &family, &name, &found, err);
    }
    if (st == CF_OK && found) {
        cf_buf line = CF_BUF_INIT;
        cf_buf_addf(&line,
                    "the reply calls %s in its text, as %s writes it, and the "
                    "server did not parse it",
                    cf_buf_cstr(&name), cf_tool_family_name(family));
        st = append(list,
                    json_pack("{s:s, s:o, s:s, s:o}", "kind", "lost-call", "name",
                              cf_json_buf(&name), "family", cf_tool_family_name(family), "text",
                              cf_json_buf(&line)),
                    err);
        cf_buf_deinit(&line);
    }
    cf_buf_deinit(&text);
    cf_buf_deinit(&name);
    cf_tool_set_free(tools);
    return st;
}

/* ---- tools not written -------------------------------------------------- */

static cf_status add_tools_not_written(json_t *list, const rebuilt *p, const cf_found_side *now,
                                       cf_error *err)
{
    const json_t *tools = now->request->tools;
    cf_jb b = CF_JB_INIT;
    json_t *names = json_array();
    for (size_t i = 0; p->has && i < json_array_size(tools); i++) {
        cf_str name =
            cf_json_get_str(json_object_get(json_array_get(tools, i), "function"), "name");
        if (name.n != 0 && !cf_prompt_shows(&p->prompt, CF_SPAN_TOOL, i, cf_str_from(""))) {
            cf_jb_append(&b, names, cf_json_str(name));
        }
    }
    cf_status st = cf_jb_check(&b, err);
    if (st != CF_OK || json_array_size(names) == 0) {
        json_decref(names);
        return st;
    }
    return append(list,
                  json_pack("{s:s, s:o, s:s}", "kind", "tools-not-written", "tools", names, "text",
                            "the template writes nothing of these tools"),
                  err);
}

/* ---- all ---------------------------------------------------------------- */

cf_status cf_findings_add(json_t *list, const cf_finder *finder, const cf_found_side *now,
                          const cf_found_side *before, const json_t *reply, cf_error *err)
{
    cf_arena arena;
    rebuilt ours, former = {0};
    cf_arena_init(&arena, 0);
    cf_status st = rebuild(&ours, finder, now->request, &arena, err);
    CF_THEN(st, add_cut(list, &ours, now, err));
    if (before != NULL && cf_findings_lost(now, before) > 0) {
        CF_THEN(st, rebuild(&former, finder, before->request, &arena, err));
        CF_THEN(st, add_cache_lost(list, &ours, &former, now, before, err));
    }
    if (before != NULL) {
        CF_THEN(st, add_system_changed(list, now, before, err));
    }
    CF_THEN(st, add_lost_call(list, finder, now, reply, err));
    CF_THEN(st, add_tools_not_written(list, &ours, now, err));
    cf_arena_deinit(&arena);
    return st;
}
