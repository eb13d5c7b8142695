/*
 * easy.c - a confab handle: opening, settings, messages and tools.
 */
#include "templates/easy/easy.h"

#include <string.h>
#include <unistd.h>

#include "core/api/constraint_spec.h"
#include "core/api/reply_options.h"
#include "core/base/alloc.h"

const char *cf_version(void)
{
    return CF_VERSION;
}

/* ---- who may call, and when --------------------------------------------- */

cf_status cf_easy__may(const confab *c, cf_error *err)
{
    if (c == NULL) {
        return cf_fail(err, CF_EINVAL, "there is no handle");
    }
    if (c->owner != getpid()) {
        return cf_fail(err, CF_EINVAL, "this handle was opened before fork()");
    }
    return atomic_load(&c->is_answering) ? cf_fail(err, CF_EINVAL, "this handle is answering")
                                         : CF_OK;
}

cf_status cf_easy__may_with(const confab *c, const void *text, const char *what, cf_error *err)
{
    CF_TRY(cf_easy__may(c, err));
    return text != NULL ? CF_OK : cf_fail(err, CF_EINVAL, "%s is NULL", what);
}

const char *cf_easy__finish(cf_buf *made, cf_buf *to, cf_status st)
{
    if (st != CF_OK) {
        cf_buf_deinit(made);
        return NULL;
    }
    cf_buf_deinit(to);
    *to = *made;
    return cf_buf_cstr(to);
}

void cf_easy__begin(confab *c)
{
    atomic_store(&c->cancel, false);
    atomic_store(&c->is_answering, true);
}

void cf_easy__end(confab *c)
{
    atomic_store(&c->is_answering, false);
    atomic_store(&c->cancel, false);
}

/* ---- opening ------------------------------------------------------------ */

static cf_open_with_options with_defaults(const cf_open_with_options *with)
{
    cf_open_with_options o = {.size = sizeof o};
    if (with != NULL) {
        memcpy(&o, with, with->size < sizeof o ? with->size : sizeof o);
    }
    return o;
}

/* An empty conversation with the handle's preface. */
static cf_status new_conversation(const confab *c, cf_conversation **out, cf_error *err)
{
    cf_preface preface = {.tools = c->tools};
    CF_TRY(cf_conversation_new(out, &preface, err));
    cf_conversation_set_roles(*out, &c->opened.roles);
    return CF_OK;
}

confab *cf_open_with(const char *model, const cf_open_with_options *with, cf_error *err)
{
    cf_open_with_options w = with_defaults(with);
    cf_open_options o = {
        .model = model != NULL ? model : "bundled",
        .template_name = w.template_name,
        .key = w.key,
        .server_model = w.server_model,
        .n_threads = w.n_threads,
        .n_ctx = w.n_ctx,
    };
    confab *c = cf_calloc(1, sizeof *c);
    if (c == NULL) {
        cf_fail(err, CF_ENOMEM, "out of memory");
        return NULL;
    }
    c->owner = getpid();
    c->n_ctx = w.n_ctx;
    cf_sent_init(&c->last);
    c->chat.has_asked = true; /* only options that were set are sent to a server */
    c->chat.has_sampling = true;
    if (!cf_open_is_bundled(&o)) { /* greedy by default, since the model is small */
        c->chat.sampling = cf_sampling_default();
    }
    cf_status st = cf_open_backend(&c->opened, &o, w.family, err);
    if (st == CF_OK) {
        c->tools = json_array();
        st = c->tools != NULL ? CF_OK : cf_oom(err);
    }
    CF_THEN(st, new_conversation(c, &c->conv, err));
    if (st != CF_OK) {
        cf_close(c);
        return NULL;
    }
    return c;
}

confab *cf_open(const char *model, cf_error *err)
{
    return cf_open_with(model, NULL, err);
}

static void free_buffers(confab *c)
{
    cf_buf *all[] = {&c->reply,     &c->messages,    &c->last_reply,   &c->inspect, &c->tokens,
                     &c->text,      &c->lint,        &c->alternatives, &c->score,   &c->inside,
                     &c->influence, &c->kept.tokens, &c->kept.how};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        cf_buf_deinit(all[i]);
    }
}

static void free_all(confab *c)
{
    for (size_t i = 0; i < c->n_tool; i++) {
        cf_free(c->tool[i].name);
    }
    cf_free(c->tool);
    cf_sent_deinit(&c->last);
    cf_free(c->kept.ids);
    cf_session_free(c->session);
    cf_conversation_free(c->conv);
    json_decref(c->tools);
    cf_constraint_vocab_free(c->vocab);
    cf_grammar_free(c->kept.grammar != c->grammar ? c->kept.grammar : NULL);
    cf_grammar_free(c->grammar);
    cf_opened_close(&c->opened);
    free_buffers(c);
    cf_free(c);
}

void cf_close(confab *c)
{
    cf_error ignored;
    if (cf_easy__may(c, &ignored) == CF_OK) {
        free_all(c);
    }
}

const struct cf_opened *cf_parts(const confab *c)
{
    return c != NULL ? &c->opened : NULL;
}

struct cf_conversation *cf_parts_conversation(confab *c)
{
    return c != NULL ? c->conv : NULL;
}

/* ---- settings ----------------------------------------------------------- */

static cf_status set_thinking(confab *c, const char *value, cf_error *err)
{
    static const char *const words[] = {"default", "on", "off"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (strcmp(value, words[i]) == 0) {
            c->chat.thinking = (cf_thinking)i;
            return CF_OK;
        }
    }
    return cf_fail(err, CF_EINVAL, "thinking is on, off or default, not '%.40s'", value);
}

cf_status cf_set(confab *c, const char *name, const char *value, cf_error *err)
{
    uint32_t n;
    CF_TRY(cf_easy__may_with(c, name, "the name", err));
    CF_TRY(cf_easy__may_with(c, value, "the value", err));
    if (strcmp(name, "thinking") == 0) {
        return set_thinking(c, value, err);
    }
    if (strcmp(name, "max_tokens") == 0) {
        return cf_option_read_u32(&c->chat.max_tokens, name, value, UINT32_MAX, err);
    }
    if (strcmp(name, "thinking_budget") == 0) {
        CF_TRY(cf_option_read_u32(&n, name, value, INT32_MAX, err));
        c->chat.thinking_budget = (int32_t)n;
        c->chat.has_thinking_budget = true;
        return CF_OK;
    }
    if (strcmp(name, "alternatives") == 0) {
        return cf_option_read_u32(&c->chat.n_top, name, value, CF_TRACE_TOP_MAX, err);
    }
    return cf_option_set(&c->chat, name, value, err);
}

cf_status cf_constrain(confab *c, const char *spec, cf_error *err)
{
    cf_grammar *grammar = NULL;
    CF_TRY(cf_easy__may(c, err));
    if (spec != NULL) {
        CF_TRY(cf_easy__grammar(c, spec, &grammar, err));
    }
    cf_grammar_free(c->grammar != c->kept.grammar ? c->grammar : NULL);
    c->grammar = grammar;
    return CF_OK;
}

cf_status cf_easy__tokenizer(const confab *c, const cf_tokenizer **out, cf_error *err)
{
    if (c->opened.engine == NULL) {
        return cf_fail(err, CF_EUNSUPPORTED, "tokens are known only of a model in this process");
    }
    *out = cf_engine_tokenizer(c->opened.engine);
    return CF_OK;
}

cf_status cf_easy__grammar(confab *c, const char *spec, cf_grammar **out, cf_error *err)
{
    const cf_tokenizer *tok = NULL;
    json_t *v = NULL;
    CF_TRY(cf_easy__tokenizer(c, &tok, err));
    if (c->vocab == NULL) {
        CF_TRY(cf_constraint_vocab_from_tokenizer(&c->vocab, tok, err));
    }
    CF_TRY(cf_json_read(&v, spec, strlen(spec), err));
    cf_status st = CF_OK;
    /* Calls are written as this model writes them. */
    if (json_object_get(v, "tools") != NULL && json_object_get(v, "family") == NULL &&
        json_object_set_new(v, "family", json_string(cf_tool_family_name(c->opened.family))) != 0) {
        st = cf_oom(err);
    }
    CF_THEN(st, cf_constraint_spec_compile(out, v, cf_conversation_tools(c->conv), err));
    json_decref(v);
    return st;
}

/* ---- messages ----------------------------------------------------------- */

cf_status cf_easy__message(json_t **out, const char *role, const char *text, cf_error *err)
{
    json_error_t why;
    *out = json_pack_ex(&why, 0, "{s:s, s:s}", "role", role, "content", text);
    if (*out != NULL) {
        return CF_OK;
    }
    return json_error_code(&why) == json_error_invalid_utf8
               ? cf_fail(err, CF_EFORMAT, "the text is not UTF-8")
               : cf_oom(err);
}

cf_status cf_set_system(confab *c, const char *text, cf_error *err)
{
    cf_str system = cf_str_from(text != NULL ? text : "");
    CF_TRY(cf_easy__may(c, err));
    return cf_conversation_set_system(c->conv, system, NULL, NULL, err);
}

cf_status cf_set_messages(confab *c, const char *messages, cf_error *err)
{
    json_t *list = NULL;
    cf_conversation *conv = NULL;
    cf_uuid none = {{0}}, last;
    CF_TRY(cf_easy__may_with(c, messages, "messages", err));
    cf_status st = cf_json_read(&list, messages, strlen(messages), err);
    if (st == CF_OK && !json_is_array(list)) {
        st = cf_fail(err, CF_EINVAL, "messages are a JSON array");
    }
    CF_THEN(st, new_conversation(c, &conv, err));
    CF_THEN(st, cf_conversation_add_messages(conv, list, none, NULL, NULL, &last, NULL, err));
    CF_THEN(st, cf_conversation_set_head(conv, last, err));
    json_decref(list);
    if (st != CF_OK) {
        cf_conversation_free(conv);
        return st;
    }
    cf_conversation_free(c->conv);
    c->conv = conv;
    return CF_OK;
}

/* ---- tools -------------------------------------------------------------- */

/* The name of the one tool that `declaration` declares. */
static cf_status one_name(const json_t *declaration, char **name, cf_error *err)
{
    cf_tool_set *set;
    size_t n;
    CF_TRY(cf_tool_set_new(&set, declaration, err));
    const cf_tool *tools = cf_tool_set_items(set, &n);
    cf_status st = CF_OK;
    if (n != 1) {
        st = cf_fail(err, CF_EINVAL, "the declaration has %zu tools, not one", n);
    } else {
        *name = cf_strndup(tools[0].name.p, tools[0].name.n);
        st = *name != NULL ? CF_OK : cf_oom(err);
    }
    cf_tool_set_free(set);
    return st;
}

/* Adds a declaration to the conversation; a failure leaves its declarations unchanged. */
static cf_status declare(confab *c, const json_t *declaration, cf_error *err)
{
    json_t *tools = cf_json_copy(c->tools);
    cf_status st = tools != NULL && json_array_append(tools, cf_json_ref(declaration)) == 0
                       ? CF_OK
                       : cf_oom(err);
    CF_THEN(st, cf_conversation_set_tools(c->conv, tools, err));
    if (st != CF_OK) {
        json_decref(tools);
        return st;
    }
    json_decref(c->tools);
    c->tools = tools;
    return CF_OK;
}

static bool has_tool(const confab *c, const char *name)
{
    return cf_tool_set_find(cf_conversation_tools(c->conv), cf_str_from(name)) != NULL;
}

cf_status cf_add_tool(confab *c, const char *declaration, cf_tool_fn fn, void *user, cf_error *err)
{
    json_t *v = NULL;
    cf_easy_tool tool = {.fn = fn, .user = user};
    CF_TRY(cf_easy__may_with(c, declaration, "the declaration", err));
    CF_TRY(cf_json_read(&v, declaration, strlen(declaration), err));
    cf_status st = one_name(v, &tool.name, err);
    if (st == CF_OK && has_tool(c, tool.name)) {
        st = cf_fail(err, CF_EINVAL, "there is a tool '%.80s' already", tool.name);
    }
    if (st == CF_OK && !cf_grow(&c->tool, &c->cap_tool, c->n_tool + 1, sizeof *c->tool)) {
        st = cf_oom(err);
    }
    CF_THEN(st, declare(c, v, err));
    json_decref(v);
    if (st != CF_OK) {
        cf_free(tool.name);
        return st;
    }
    c->tool[c->n_tool++] = tool;
    return CF_OK;
}
