/*
 * promptfoo_provider.c - providers as models: servers that speak the protocol
 * of OpenAI, and models of confab's own.
 *
 * A variable with a key is only named here; tui/study/plan/plan_trust.h says
 * whether it is read.
 */
#include <string.h>

#include "core/api/reply_options.h"
#include "tui/study/import/promptfoo_impl.h"

enum { TOKENS_DEFAULT = 1024 /* promptfoo's */ };

/* The address of each kind of provider, and the variables that may have its key. */
static const struct {
    const char *prefix, *address, *key_variable;
} services[] = {
    {"openai:", "https://api.openai.com/v1", "OPENAI_API_KEY"},
    {"ollama:", "http://localhost:11434", NULL},
    {"localai:", "http://localhost:8080", NULL},
};

enum { N_SERVICES = sizeof services / sizeof services[0] };

static const char *keep(cf_promptfoo *f, cf_str s)
{
    return cf_arena_strndup(&f->r->p->arena, s.p, s.n);
}

/* ---- config ------------------------------------------------------------- */

/* The name of the variable in "{{ env.NAME }}"; empty: it is another text. */
static cf_str env_name(cf_str s)
{
    cf_str open = cf_str_from("{{"), env = cf_str_from("env.");
    size_t n = 0;
    if (!cf_str_starts(s, open) || s.n < 4 || s.p[s.n - 1] != '}' || s.p[s.n - 2] != '}') {
        return cf_str_make("", 0);
    }
    s = cf_str_make(s.p + 2, s.n - 4);
    while (s.n > 0 && s.p[0] == ' ') {
        s = cf_str_make(s.p + 1, s.n - 1);
    }
    if (!cf_str_starts(s, env)) {
        return cf_str_make("", 0);
    }
    s = cf_str_make(s.p + env.n, s.n - env.n);
    while (n < s.n && s.p[n] != ' ') {
        n++;
    }
    return cf_str_make(s.p, n);
}

static void set_key(cf_promptfoo *f, cf_sweep_model *m, const json_t *config)
{
    cf_str given = cf_json_get_str(config, "apiKey");
    cf_str variable = cf_json_get_str(config, "apiKeyEnvar");
    cf_str named = given.p != NULL ? env_name(given) : variable;
    if (given.p != NULL && named.n == 0) {
        m->key = keep(f, given);
        m->key_variable = NULL;
    } else if (named.n > 0) {
        m->is_service = m->is_service && cf_str_is(named, m->key_variable);
        m->key_variable = keep(f, named);
    }
}

/* Sampling options by their names in both programs. */
static cf_status set_sampler(cf_promptfoo *f, cf_sweep_model *m, const json_t *config,
                             cf_error *err)
{
    static const char *const names[] = {
        "temperature", "top_p", "top_k", "seed", "frequency_penalty", "presence_penalty", NULL};
    static const char *const limits[] = {"max_tokens", "max_completion_tokens"};
    cf_buf name = CF_BUF_INIT;
    CF_TRY(cf_plan__plain_sampler(&m->sampler, err));
    m->has_sampler = true;
    m->sampler.chat.max_tokens = TOKENS_DEFAULT;
    cf_error why = {0};
    cf_status st = CF_OK;
    const json_t *at = config;
    for (size_t i = 0; st == CF_OK && names[i] != NULL; i++) {
        const json_t *v = json_object_get(config, names[i]);
        cf_buf value = CF_BUF_INIT;
        if (json_is_number(v)) {
            cf_json_write(&value, v);
            cf_buf_addf(&name, "%s%s=%s", name.n > 0 ? " " : "", names[i], cf_buf_cstr(&value));
            st = cf_option_set(&m->sampler.chat, names[i], cf_buf_cstr(&value), &why);
        }
        cf_buf_deinit(&value);
    }
    for (size_t i = 0; st == CF_OK && i < 2; i++) {
        const json_t *v = json_object_get(config, limits[i]);
        if (v != NULL && (!json_is_integer(v) || json_integer_value(v) < 1 ||
                          json_integer_value(v) > INT32_MAX)) {
            st = cf_fail(&why, CF_EINVAL, "%s: expected a number of tokens", limits[i]);
        } else if (v != NULL) {
            m->sampler.chat.max_tokens = (uint32_t)json_integer_value(v);
            cf_buf_addf(&name, "%stokens=%u", name.n > 0 ? " " : "",
                        (unsigned)m->sampler.chat.max_tokens);
        }
    }
    CF_THEN(st, cf_chat_options_check(&m->sampler.chat, &why));
    if (st == CF_OK && name.n > 0) {
        st = cf_plan__copy(f->r, &m->sampler.name, cf_buf_str(&name), &why);
    }
    cf_buf_deinit(&name);
    return st == CF_OK ? st : cf_promptfoo__fail(f, at, st, err, "%s", why.text);
}

/* Tools belong to the plan, so all providers with tools must have the same. */
static cf_status set_tools(cf_promptfoo *f, const json_t *config, cf_error *err)
{
    const json_t *v = json_object_get(config, "tools");
    cf_sweep_plan *p = f->r->p;
    json_t *tools = NULL;
    const char *path;
    cf_error why = {0};
    cf_tool_set *set = NULL;
    if (v == NULL) {
        return CF_OK;
    }
    cf_str text = cf_str_make(json_string_value(v), json_string_length(v));
    cf_status st = CF_OK;
    if (json_is_string(v) && cf_promptfoo__is_file(f, text, &path)) {
        st = path != NULL ? cf_promptfoo__load(&tools, path, &why) : cf_oom_for(&why, "the plan");
    } else {
        tools = json_incref(cf_json_ref(v));
    }
    CF_THEN(st, cf_tool_set_new(&set, tools, &why));
    cf_tool_set_free(set);
    if (st == CF_OK && p->tools != NULL && !json_equal(p->tools, tools)) {
        st = cf_fail(&why, CF_EUNSUPPORTED, "providers with different tools: use a plan for each");
    }
    if (st != CF_OK) {
        json_decref(tools);
        return cf_promptfoo__fail(f, v, st, err, "%s", why.text);
    }
    json_decref(p->tools);
    p->tools = tools;
    return CF_OK;
}

static cf_status set_config(cf_promptfoo *f, cf_sweep_model *m, const json_t *config, cf_error *err)
{
    static const char *const known[] = {"apiBaseUrl",
                                        "apiHost",
                                        "apiKey",
                                        "apiKeyEnvar",
                                        "temperature",
                                        "top_p",
                                        "top_k",
                                        "seed",
                                        "frequency_penalty",
                                        "presence_penalty",
                                        "max_tokens",
                                        "max_completion_tokens",
                                        "tools",
                                        NULL};
    cf_str base = cf_json_get_str(config, "apiBaseUrl");
    cf_str host = cf_json_get_str(config, "apiHost");
    if (config != NULL) {
        CF_TRY(cf_promptfoo__keys(f, config, known, err));
    }
    if (base.n > 0 || host.n > 0) {
        cf_buf b = CF_BUF_INIT;
        cf_buf_adds(&b, base.n > 0 ? "" : "https://");
        cf_buf_add(&b, base.n > 0 ? base.p : host.p, base.n > 0 ? base.n : host.n);
        if (!m->is_server || !cf_plan__is_address(cf_buf_str(&b))) {
            cf_buf_deinit(&b);
            return cf_promptfoo__fail(f, config, CF_EINVAL, err,
                                      "apiBaseUrl: expected the http(s) address of a server");
        }
        m->address[0] = keep(f, cf_buf_str(&b));
        m->key_variable = NULL; /* the service's own is not for this server */
        m->is_service = false;
        cf_buf_deinit(&b);
    }
    set_key(f, m, config);
    CF_TRY(set_sampler(f, m, config, err));
    return set_tools(f, config, err);
}

/* ---- names -------------------------------------------------------------- */

/* "chat:NAME" or "NAME" of a service. */
static cf_status set_service(cf_promptfoo *f, cf_sweep_model *m, size_t service, cf_str id,
                             const json_t *at, cf_error *err)
{
    static const char *const others[] = {
        "completion:", "embedding:",  "embeddings:", "responses:",     "assistant:", "realtime:",
        "image:",      "moderation:", "speech:",     "transcription:", NULL};
    size_t n = strlen(services[service].prefix);
    cf_str name = cf_str_make(id.p + n, id.n - n);
    cf_str chat = cf_str_from("chat:");
    for (size_t i = 0; others[i] != NULL; i++) {
        if (cf_str_starts(name, cf_str_from(others[i]))) {
            return cf_promptfoo__fail(f, at, CF_EUNSUPPORTED, err,
                                      "the provider '%.*s' is not supported: chat models are asked",
                                      (int)(id.n < 60 ? id.n : 60), id.p);
        }
    }
    if (cf_str_starts(name, chat)) {
        name = cf_str_make(name.p + chat.n, name.n - chat.n);
    }
    m->key_variable = services[service].key_variable;
    m->is_service = m->key_variable != NULL;
    m->is_server = true;
    m->address[0] = services[service].address;
    m->server_model = keep(f, name);
    return CF_OK;
}

/* A model as confab names it: file, folder, script:FILE, bundled. */
static cf_status set_own(cf_promptfoo *f, cf_sweep_model *m, cf_str id, const json_t *at,
                         cf_error *err)
{
    cf_str script = cf_str_from("script:");
    const char *path;
    bool is_script = cf_str_starts(id, script);
    if (cf_str_is(id, "bundled") || cf_str_starts(id, cf_str_from("hf:"))) {
        m->address[0] = keep(f, id);
        return CF_OK;
    }
    if (!cf_promptfoo__is_file(f, id, &path)) {
        path = cf_plan__find_file(f->r,
                                  is_script ? cf_str_make(id.p + script.n, id.n - script.n) : id);
    }
    if (is_script && path != NULL) {
        cf_buf b = CF_BUF_INIT;
        cf_buf_addf(&b, "script:%s", path);
        m->address[0] = keep(f, cf_buf_str(&b));
        cf_buf_deinit(&b);
        return CF_OK;
    }
    if (path != NULL && !cf_str_is(id, "echo") && /* promptfoo's own, no file */
        (cf_promptfoo__ends(path, ".gguf") || cf_promptfoo__ends(path, ".safetensors") ||
         (id.n > 0 && memchr(id.p, ':', id.n) == NULL && memchr(id.p, '.', id.n) == NULL))) {
        m->address[0] = path;
        return CF_OK;
    }
    return cf_promptfoo__fail(
        f, at, CF_EUNSUPPORTED, err,
        "the provider '%.*s' is not supported; openai:chat:NAME, ollama:NAME, "
        "localai:NAME, an address, a model file and 'bundled' are",
        (int)(id.n < 60 ? id.n : 60), id.p);
}

static cf_status set_id(cf_promptfoo *f, cf_sweep_model *m, cf_str id, const json_t *at,
                        cf_error *err)
{
    m->n_address = 1;
    CF_TRY(cf_plan__copy(f->r, &m->name, id, err));
    if (cf_plan__is_address(id)) {
        m->is_server = true;
        m->address[0] = keep(f, id);
        return CF_OK;
    }
    for (size_t i = 0; i < N_SERVICES; i++) {
        if (cf_str_starts(id, cf_str_from(services[i].prefix))) {
            return set_service(f, m, i, id, at, err);
        }
    }
    return set_own(f, m, id, at, err);
}

cf_status cf_promptfoo__provider(cf_promptfoo *f, const json_t *v, cf_sweep_model *out,
                                 cf_error *err)
{
    static const char *const known[] = {"id", "label", "config", "delay", NULL};
    const json_t *about = v, *at = v;
    cf_str id = json_is_string(v) ? cf_str_make(json_string_value(v), json_string_length(v))
                                  : cf_json_get_str(v, "id");
    *out = (cf_sweep_model){.n_address = 0};
    if (json_object_size(v) == 1 && id.p == NULL) { /* {ID: {config: ...}} */
        const char *key = json_object_iter_key(json_object_iter(cf_json_ref(v)));
        about = json_object_get(v, key);
        id = cf_str_from(key);
    }
    if (id.p == NULL || id.n == 0 ||
        (about != v && !json_is_object(about) && !json_is_null(about))) {
        return cf_promptfoo__fail(f, at, CF_EINVAL, err,
                                  "a provider is a text, or a mapping with an "
                                  "id");
    }
    if (json_is_object(about)) {
        CF_TRY(cf_promptfoo__keys(f, about, known, err));
    }
    CF_TRY(set_id(f, out, id, at, err));
    cf_str label = cf_json_get_str(about, "label");
    if (label.n > 0) {
        CF_TRY(cf_plan__copy(f->r, &out->name, label, err));
    }
    const json_t *config = json_object_get(about, "config");
    if (config != NULL && !json_is_object(config)) {
        return cf_promptfoo__fail(f, at, CF_EINVAL, err, "config: expected a mapping");
    }
    CF_TRY(set_config(f, out, config, err));
    return f->r->p->arena.failed ? cf_oom_for(err, "the plan") : CF_OK;
}
