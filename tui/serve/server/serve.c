/*
 * serve.c - the paths of the server, and its parts.
 */
#include "tui/serve/server/serve.h"

#include <string.h>

#include "core/base/alloc.h"
#include "core/base/os.h"
#include "templates/chat_template.h"
#include "tui/serve/record/api_fail.h"
#include "tui/serve/server/serve_impl.h"

enum { SLOTS_DEFAULT = 4 };

/* ---- paths -------------------------------------------------------------- */

static void embed(cf_serve *s, const cf_http_request *r, cf_http_answer *a)
{
    cf_error err;
    cf_buf text = CF_BUF_INIT;
    const cf_serve__embed_form form = cf_str_is(r->path, "/api/embed") ? CF_SERVE_EMBED_OLLAMA
                                      : cf_str_find(r->path, cf_str_from("rerank"), NULL)
                                          ? CF_SERVE_RERANK
                                          : CF_SERVE_EMBED_OPENAI;
    cf_record *record = cf_record_begin(s->o.recorder, r, r->body, "");
    cf_cancel cancel = false;
    cf_serve__client client = {
        .fd = r->fd, .takes_interim = r->takes_interim, .stopping = r->stopping, .cancel = &cancel};
    cf_serve__watch(&client);
    cf_status st = cf_serve__embed(s->embedder, r->body, form, s->o.model, &cancel, &text, &err);
    cf_serve__unwatch(&client);
    if (st == CF_OK) {
        cf_serve__answer_text(r, a, record, &text);
    } else {
        cf_serve__answer_failure(r, a, record, st, &err);
    }
    cf_buf_deinit(&text);
}

/* Where an interface's paths are. */
typedef struct route {
    const char *method, *path;
    unsigned apis;          /* any of these */
    cf_serve__path *answer; /* or `write`; neither: a reply, as `api` has it */
    cf_serve__writer *write;
    cf_api api;
} route;

enum {
    OPENAI = CF_SERVE_OPENAI,
    RESPONSES = CF_SERVE_RESPONSES,
    ANTHROPIC = CF_SERVE_ANTHROPIC,
    OLLAMA = CF_SERVE_OLLAMA,
    LLAMA = CF_SERVE_LLAMA
};

static const route routes[] = {
    {"POST", "/v1/chat/completions", OPENAI, .api = CF_API_OPENAI_CHAT},
    {"POST", "/v1/completions", OPENAI, .api = CF_API_OPENAI_COMPLETIONS},
    {"POST", "/v1/embeddings", OPENAI, .answer = embed},
    {"POST", "/v1/rerank", OPENAI | LLAMA, .answer = embed},
    {"POST", "/v1/responses", RESPONSES, .api = CF_API_OPENAI_RESPONSES},
    {"POST", "/v1/messages", ANTHROPIC, .api = CF_API_ANTHROPIC_MESSAGES},
    {"POST", "/v1/messages/count_tokens", ANTHROPIC, .answer = cf_serve__count_tokens},
    {"GET", "/v1/models", OPENAI | RESPONSES | ANTHROPIC, .write = cf_serve__write_models},
    {"GET", "/v1/models/*", OPENAI | RESPONSES | ANTHROPIC, .answer = cf_serve__model},
    {"POST", "/api/chat", OLLAMA, .api = CF_API_OLLAMA_CHAT},
    {"POST", "/api/generate", OLLAMA, .api = CF_API_OLLAMA_GENERATE},
    {"POST", "/api/embed", OLLAMA, .answer = embed},
    {"GET", "/api/tags", OLLAMA, .write = cf_serve__write_tags},
    {"GET", "/api/ps", OLLAMA, .write = cf_serve__write_ps},
    {"POST", "/api/show", OLLAMA, .write = cf_serve__write_show},
    {"GET", "/api/version", OLLAMA, .write = cf_serve__write_version},
    {"GET", "/props", LLAMA, .write = cf_serve__write_props},
    {"POST", "/tokenize", LLAMA, .answer = cf_serve__tokenize},
    {"POST", "/detokenize", LLAMA, .answer = cf_serve__detokenize},
    {"POST", "/apply-template", LLAMA, .answer = cf_serve__apply_template},
    {"GET", "/slots", LLAMA, .write = cf_serve__write_slots},
    {"GET", "/health", LLAMA, .write = cf_serve__write_health},
};

/* Whether a path is `want`, or begins as it does before a '*'. */
static bool matches(cf_str path, const char *want)
{
    size_t n = strcspn(want, "*");
    return want[n] == '\0' ? cf_str_is(path, want) : path.n > n && memcmp(path.p, want, n) == 0;
}

static bool is_at(cf_str path, const route *r)
{
    const bool is_v1 = strncmp(r->path, "/v1/", 4) == 0; /* "/chat/completions" works, too */
    return matches(path, r->path) || (is_v1 && matches(path, r->path + 3));
}

static void on_answer(void *ud, const cf_http_request *r, cf_http_answer *a)
{
    cf_serve *s = ud;
    const unsigned apis = s->o.apis != 0 ? s->o.apis : CF_SERVE_ALL;
    bool is_known = false;
    for (size_t i = 0; i < sizeof routes / sizeof routes[0]; i++) {
        const bool is_here = (routes[i].apis & apis) != 0 && is_at(r->path, &routes[i]);
        is_known = is_known || is_here;
        if (!is_here || !cf_str_is(r->method, routes[i].method)) {
            continue;
        }
        if (routes[i].write != NULL) {
            cf_serve__answer_with(s, r, a, routes[i].write);
        } else if (routes[i].answer != NULL) {
            routes[i].answer(s, r, a);
        } else {
            cf_serve__complete(s, r, a, routes[i].api);
        }
        return;
    }
    cf_api_fail(r, a, is_known ? 405 : 404, "not_found",
                is_known ? "this path takes another method" : "this server has no such path");
}

/* ---- interfaces --------------------------------------------------------- */

static const struct {
    const char *name;
    unsigned api;
} interfaces[] = {{"openai", OPENAI},
                  {"responses", RESPONSES},
                  {"anthropic", ANTHROPIC},
                  {"ollama", OLLAMA},
                  {"llama", LLAMA}};

static unsigned interface_of(cf_str name)
{
    for (size_t i = 0; i < sizeof interfaces / sizeof interfaces[0]; i++) {
        if (cf_str_is(name, interfaces[i].name)) {
            return interfaces[i].api;
        }
    }
    return 0;
}

cf_status cf_serve_apis(unsigned *out, const char *list, cf_error *err)
{
    unsigned all = 0;
    for (const char *p = list;; p++) {
        const cf_str name = cf_str_make(p, strcspn(p, ","));
        const unsigned one = interface_of(name);
        if (one == 0) {
            return cf_fail(err, CF_EINVAL,
                           "--api: '%.*s' is not one of openai, responses, anthropic, ollama, "
                           "llama",
                           (int)(name.n < 40 ? name.n : 40), name.p);
        }
        all |= one;
        p += name.n;
        if (*p == '\0') {
            break;
        }
    }
    *out = all;
    return CF_OK;
}

/* ---- the server --------------------------------------------------------- */

cf_status cf_serve_new(cf_serve **out, const cf_serve_options *options, cf_error *err)
{
    const cf_opened *opened = options->opened;
    cf_serve *s = cf_calloc(1, sizeof *s);
    if (s == NULL) {
        return cf_oom(err);
    }
    s->o = *options;
    s->opened = opened;
    s->tok = cf_engine_tokenizer(opened->engine);
    s->created = cf_os_now_ms() / 1000;
    s->chat = (cf_core_options){.renderer = opened->tpl != NULL ? cf_renderer_template(opened->tpl)
                                                                : cf_renderer_plain(),
                                .family = opened->family,
                                .media = opened->media_cache,
                                .draft = opened->draft,
                                .session = {.n_ctx = options->n_ctx, .prefixes = opened->prefixes}};
    s->chat.channels = cf_channels_detect(cf_buf_str(&opened->source), &s->chat.n_channels);
    uint32_t n = options->n_slots != 0 ? options->n_slots : SLOTS_DEFAULT;
    cf_status st = cf_constraint_vocab_from_tokenizer(&s->vocab, s->tok, err);
    CF_THEN(st, cf_serve__slots_new(&s->slots, opened->engine, &s->chat, n, err));
    CF_THEN(st, cf_serve__past_new(&s->past, err));
    CF_THEN(st, cf_serve__embedder_new(&s->embedder, opened->engine, options->n_ctx, err));
    if (st != CF_OK) {
        cf_serve_free(s);
        return st;
    }
    cf_serve__slots_hook(s->slots, &s->chat);
    s->raw = s->chat;
    s->raw.renderer = cf_serve__renderer_raw;
    s->raw.media = NULL;
    s->raw.family = CF_TOOLS_NONE;
    s->raw.channels = NULL;
    s->raw.n_channels = 0;
    *out = s;
    return CF_OK;
}

void cf_serve_free(cf_serve *s)
{
    if (s != NULL) {
        cf_serve__past_free(s->past);
        cf_serve__embedder_free(s->embedder);
        cf_serve__slots_free(s->slots);
        cf_constraint_vocab_free(s->vocab);
        cf_free(s);
    }
}

void cf_serve_slots(cf_serve *s, cf_buf *out)
{
    cf_jw w;
    cf_jw_init(&w, out);
    cf_serve__slots_write(s->slots, &w);
}

cf_http_handler cf_serve_handler(cf_serve *s)
{
    return (cf_http_handler){.answer = on_answer, .fail = cf_api_fail, .ud = s};
}
