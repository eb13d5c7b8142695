/*
 * open_backend.c - from -m and -t to something that answers.
 */
#include "templates/open.h"
#include "templates/open/open_media.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "core/base/alloc.h"
#include "core/base/edit_distance.h"
#include "core/base/os.h"
#include "core/json/json_builder.h"
#include "templates/builtin.h"
#include "templates/chat_template.h"

enum { TEMPLATE_MAX = 16 << 20, SCRIPT_MAX = 64 << 20 };

static bool starts(const char *s, const char *prefix)
{
    return strncmp(s, prefix, strlen(prefix)) == 0;
}

/* The template in the text of a tokenizer_config.json: "chat_template", a text
 * or the default one of a list. */
static cf_status template_in(cf_buf *out, const json_t *config, const char *name, cf_error *err)
{
    const json_t *v = json_object_get(config, "chat_template");
    cf_str source = cf_json_get_str(config, "chat_template");
    for (size_t i = 0; i < json_array_size(v); i++) {
        const json_t *one = json_array_get(v, i);
        if (source.p == NULL || cf_str_is(cf_json_get_str(one, "name"), "default")) {
            source = cf_json_get_str(one, "template");
        }
    }
    if (source.p == NULL) {
        return cf_fail(err, CF_EFORMAT,
                       "%.80s is a JSON file without a chat_template: -t takes "
                       "a template or a tokenizer_config.json",
                       name);
    }
    cf_buf_add(out, source.p, source.n);
    return cf_buf_check(out, err);
}

/* Whether a file begins as a GGUF does, however large it is. */
static bool is_gguf(const char *name)
{
    char head[4] = "";
    struct stat s; /* what is taken out of a pipe is gone */
    bool is_file = stat(name, &s) == 0 && S_ISREG(s.st_mode);
    FILE *f = is_file ? fopen(name, "rb") : NULL;
    bool is = f != NULL && fread(head, 1, sizeof head, f) == sizeof head &&
              memcmp(head, "GGUF", sizeof head) == 0;
    if (f != NULL) {
        fclose(f);
    }
    return is;
}

/* Reads a file; *config is the object in it, a new reference, NULL where it is
 * not JSON.  Text that starts like an object may still be a template. */
static cf_status read_either(cf_buf *text, json_t **config, const char *name, cf_error *err)
{
    cf_error ignored;
    CF_TRY(cf_os_read_file(text, name, TEMPLATE_MAX, err));
    if (text->n == 0 || text->p[0] != '{') {
        return CF_OK;
    }
    cf_status st = cf_json_read_doubles(config, text->p, text->n, &ignored);
    if (st == CF_ENOMEM) {
        return cf_oom(err);
    }
    if (st != CF_OK || !json_is_object(*config)) {
        json_decref(*config);
        *config = NULL;
    }
    return CF_OK;
}

/* A template's file, or the JSON file that holds one. */
static cf_status read_file(cf_buf *out, const char *name, cf_error *err)
{
    cf_buf text = CF_BUF_INIT;
    json_t *config = NULL;
    if (cf_os_is_dir(name)) {
        return cf_fail(err, CF_EINVAL, "%.80s is a folder: use -m for its template", name);
    }
    if (is_gguf(name)) {
        return cf_fail(err, CF_EINVAL, "%.200s is a GGUF file: use -m for its template", name);
    }
    cf_status st = read_either(&text, &config, name, err);
    if (config != NULL) {
        st = template_in(out, config, name, err);
    } else if (st == CF_OK) {
        cf_buf_add(out, text.p, text.n);
        st = cf_buf_check(out, err);
    }
    json_decref(config);
    cf_buf_deinit(&text);
    return st;
}

static cf_status unknown_template(const char *name, cf_error *err)
{
    cf_nearest near = {.asked = name};
    const char *known;
    for (size_t i = 0; (known = cf_template_builtin_name(i)) != NULL; i++) {
        cf_nearest_offer(&near, known);
    }
    return cf_nearest_suggest(
        &near,
        cf_fail(err, CF_ENOTFOUND,
                "'%.80s' is neither a file nor a template that comes with confab", name),
        err);
}

cf_status cf_open_template_text(cf_buf *out, const char *name, cf_error *err)
{
    cf_status st = read_file(out, name, err);
    if (st != CF_ENOTFOUND) {
        return st;
    }
    cf_str source = cf_template_builtin(name);
    if (source.p == NULL) {
        return unknown_template(name, err);
    }
    cf_buf_add(out, source.p, source.n);
    return cf_buf_check(out, err);
}

cf_status cf_open_template_tokens(json_t **out, const char *name, cf_error *err)
{
    static const char *const keys[] = {"bos_token", "eos_token", "unk_token", "pad_token",
                                       "sep_token", "cls_token", "mask_token"};
    cf_buf text = CF_BUF_INIT;
    json_t *config = NULL;
    cf_error ignored;
    cf_jb b = CF_JB_INIT;
    if (is_gguf(name) || read_either(&text, &config, name, &ignored) != CF_OK) {
        config = NULL;
    }
    cf_jb_object(&b, NULL);
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        const json_t *v = json_object_get(config, keys[i]);
        v = json_is_object(v) ? json_object_get(v, "content") : v;
        if (json_is_string(v)) {
            cf_jb_add(&b, keys[i], v);
        }
    }
    cf_jb_end(&b);
    cf_status st = cf_jb_finish(&b, out, err);
    cf_jb_deinit(&b);
    json_decref(config);
    cf_buf_deinit(&text);
    return st;
}

static cf_str source_of(const cf_opened *b)
{
    return cf_buf_str(&b->source);
}

cf_status cf_open_template_source(cf_buf *out, const char **from, const cf_open_options *o,
                                  const cf_engine *engine, cf_error *err)
{
    *from = "none";
    if (o->template_name != NULL) {
        *from = o->template_name;
        cf_status st = cf_open_template_text(out, o->template_name, err);
        return st == CF_ENOTFOUND ? cf_fail_in(err, st, "--template") : st;
    }
    if (o->template_text.n > 0) {
        *from = "history";
        cf_buf_add(out, o->template_text.p, o->template_text.n);
    } else if (engine != NULL) {
        cf_str own = cf_engine_chat_template(engine, NULL);
        cf_str for_tools = cf_engine_chat_template(engine, "tool_use");
        own = o->has_tools && for_tools.p != NULL ? for_tools : own;
        if (own.p != NULL) {
            cf_buf_add(out, own.p, own.n);
            *from = "model";
        }
    }
    return cf_buf_check(out, err);
}

/* The template that -t names, or the model's, compiled; not having one is not an error. */
static cf_status open_template(cf_opened *b, const cf_open_options *o, cf_error *err)
{
    CF_TRY(cf_open_template_source(&b->source, &b->from, o, b->engine, err));
    if (b->source.n == 0) {
        return CF_OK;
    }
    cf_status st = cf_template_compile(&b->tpl, source_of(b), NULL, NULL, NULL, err);
    return st == CF_EFORMAT ? cf_fail_in(err, st,
                                         o->template_name != NULL ? o->template_name
                                                                  : "the model's "
                                                                    "template")
                            : st;
}

static cf_status choose_family(cf_opened *b, const char *name, cf_error *err)
{
    cf_role_map_init(&b->roles, source_of(b));
    if (name != NULL) {
        b->family_why = "as given";
        return cf_tool_family_read(&b->family, cf_str_from(name), err);
    }
    cf_str arch = cf_str_make(NULL, 0), model = cf_str_make(NULL, 0);
    if (b->engine != NULL) {
        cf_engine_info info = cf_engine_get_info(b->engine);
        arch = cf_str_from(info.arch);
        model = cf_str_from(info.name);
    }
    b->family = cf_tool_family_detect(source_of(b), arch, model, &b->family_why);
    return CF_OK;
}

static cf_prompt_renderer renderer_of(const cf_opened *b)
{
    return b->tpl != NULL ? cf_renderer_template(b->tpl) : cf_renderer_plain();
}

static cf_status open_script(cf_opened *b, const char *path, cf_error *err)
{
    json_t *v = NULL;
    CF_TRY(cf_json_read_file(&v, path, err));
    cf_script_options o = {.family = b->family, .renderer = renderer_of(b)};
    o.channels = cf_channels_detect(source_of(b), &o.n_channels);
    if (o.n_channels == 0) { /* a script may have thinking without a template */
        o.channels = cf_channels_detect(cf_str_from("<think>"), &o.n_channels);
    }
    cf_status st = cf_backend_script_new(&b->backend, v, &o, err);
    json_decref(v);
    return st;
}

/* What computed prompts may take: an eighth of the memory that is available. */
static uint64_t prefix_bytes(void)
{
    uint64_t share = cf_os_memory_available() / 8; /* 0: not known */
    return share != 0 && share < CF_PREFIX_BYTES_MAX ? share : CF_PREFIX_BYTES_MAX;
}

static cf_status open_kind(cf_opened *b, const cf_open_options *o, const char *family,
                           cf_error *err)
{
    const char *model = cf_open_model(o);
    bool is_script = model != NULL && starts(model, "script:");
    bool is_remote = model != NULL && (starts(model, "http://") || starts(model, "https://"));
    if (is_remote && strlen(model) > 5 && strcmp(model + strlen(model) - 5, ".gguf") == 0) {
        return cf_fail(err, CF_EINVAL, "%.120s is a file to download first, not a server", model);
    }
    if (!is_script && !is_remote) {
        cf_open_options plain = *o;
        plain.opens_lora = true; /* applied to the session below */
        CF_TRY(cf_open_engine(&b->engine, &plain, false, err));
    } else if (o->has_gpu_layers) {
        return cf_fail(err, CF_EINVAL,
                       "--gpu-layers: only -m llama:FILE computes on other devices");
    } else if (o->n_lora != 0) {
        return cf_fail(err, CF_EINVAL, "--lora: adapters need the built-in engine");
    } else if (o->n_steer != 0) {
        return cf_fail(err, CF_EINVAL, "--steer: steering needs the built-in engine");
    }
    if (b->engine == NULL && o->mmproj != NULL) {
        return cf_fail(err, CF_EINVAL, "--mmproj: %.60s is not a model file", model);
    }
    if (b->engine != NULL) {
        CF_TRY(cf_open__media(b, o, err));
    }
    CF_TRY(open_template(b, o, err));
    CF_TRY(choose_family(b, family, err));
    if (is_script) {
        return open_script(b, model + strlen("script:"), err);
    }
    if (is_remote) {
        /* The server parses calls itself unless a family is asked for. */
        cf_remote_options remote = {.key = o->key,
                                    .model = o->server_model,
                                    .family = family != NULL ? b->family : CF_TOOLS_NONE};
        if (b->tpl != NULL) {
            remote.renderer = renderer_of(b);
        }
        return cf_backend_remote_new(&b->backend, model, &remote, err);
    }
    const cf_engine_info info = cf_engine_get_info(b->engine);
    if ((o->allows_no_weights && !info.has_weights) || (o->allows_encoder && info.is_encoder)) {
        return cf_backend_none_new(&b->backend, renderer_of(b), cf_engine_tokenizer(b->engine),
                                   err);
    }
    CF_TRY(cf_prefix_cache_new(&b->prefixes, b->engine, prefix_bytes(), err));
    cf_core_options core = {.renderer = renderer_of(b),
                            .family = b->family,
                            .media = b->media_cache,
                            .session = {.n_ctx = o->n_ctx, .prefixes = b->prefixes}};
    core.channels = cf_channels_detect(source_of(b), &core.n_channels);
    CF_TRY(cf_open_draft_engine(&b->draft, o, err));
    core.draft = b->draft;
    CF_TRY(cf_backend_core_new(&b->backend, b->engine, &core, err));
    cf_session *session = cf_backend_core_session(b->backend);
    return cf_open_use_adapters(&b->adapters, b->engine, o, &session, 1, err);
}

cf_status cf_open_backend(cf_opened *out, const cf_open_options *o, const char *family,
                          cf_error *err)
{
    cf_opened b = {.from = "none"};
    cf_status st = open_kind(&b, o, family, err);
    if (st != CF_OK) {
        cf_opened_close(&b);
        return st;
    }
    *out = b;
    return CF_OK;
}

cf_status cf_open_without_model(cf_opened *out, const cf_open_options *o, cf_error *err)
{
    cf_open_options with_template = *o;
    cf_opened b = {.from = "none"};
    if (with_template.template_name == NULL && o->template_text.n == 0) {
        with_template.template_name = "chatml";
    }
    cf_status st = open_template(&b, &with_template, err);
    CF_THEN(st, choose_family(&b, NULL, err));
    CF_THEN(st, cf_backend_none_new(&b.backend, renderer_of(&b), NULL, err));
    if (st != CF_OK) {
        cf_opened_close(&b);
        return st;
    }
    *out = b;
    return CF_OK;
}

void cf_opened_close(cf_opened *b)
{
    cf_backend_free(b->backend);
    cf_media_cache_free(b->media_cache);
    cf_media_close(b->media);
    cf_template_free(b->tpl);
    cf_prefix_cache_free(b->prefixes);
    cf_opened_adapters_close(&b->adapters);
    cf_engine_close(b->draft);
    cf_engine_close(b->engine);
    cf_buf_deinit(&b->source);
    memset(b, 0, sizeof *b);
}
