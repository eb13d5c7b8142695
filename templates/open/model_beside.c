/*
 * model_beside.c - looks into the folder of a model, and into Ollama's
 * manifest of one.
 */
#include "templates/model_beside.h"

#include <string.h>

#include "core/base/alloc.h"
#include "core/base/os.h"
#include "templates/model_place.h"
#include "templates/open.h"
#include "templates/open/model_place_impl.h"

enum { FILES_MAX = 4096 };

static const char *const kind_names[CF_BESIDE_N] = {
    [CF_BESIDE_ADAPTER] = "adapter",
    [CF_BESIDE_PROJECTOR] = "projector",
    [CF_BESIDE_GO_TEMPLATE] = "ollama template",
    [CF_BESIDE_TEMPLATE] = "template of the repository",
};

const char *cf_beside_kind_name(cf_beside_kind kind)
{
    return kind_names[kind];
}

static cf_status add(cf_besides *b, cf_beside_kind kind, const char *path)
{
    char *copy = cf_arena_strndup(&b->arena, path, strlen(path));
    if (copy == NULL || !cf_grow(&b->v, &b->cap, b->n + 1, sizeof *b->v)) {
        return CF_ENOMEM;
    }
    b->v[b->n++] = (cf_beside){kind, copy};
    return CF_OK;
}

const char *cf_besides_find(const cf_besides *b, cf_beside_kind kind)
{
    for (size_t i = 0; i < b->n; i++) {
        if (b->v[i].kind == kind) {
            return b->v[i].path;
        }
    }
    return NULL;
}

void cf_besides_deinit(cf_besides *b)
{
    cf_arena_deinit(&b->arena);
    cf_free(b->v);
    memset(b, 0, sizeof *b);
}

/* ---- files --------------------------------------------------------------- */

static bool ends(const char *s, const char *suffix)
{
    size_t n = strlen(s), k = strlen(suffix);
    return n >= k && strcmp(s + n - k, suffix) == 0;
}

cf_status cf_model_is_adapter(bool *out, const char *path, const char *arch, cf_error *err)
{
    const cf_engine_options o = {.metadata_only = true};
    cf_engine *e = NULL;
    cf_str type = {NULL, 0}, of = {NULL, 0};
    if (cf_os_has_file(path, "adapter_config.json") && !cf_os_has_file(path, "config.json")) {
        *out = arch[0] == '\0'; /* of PEFT, which does not name one */
        return CF_OK;
    }
    cf_status st = cf_engine_open(&e, path, &o, err);
    *out = st == CF_OK && cf_engine_meta_str(e, "general.type", &type) &&
           cf_str_is(type, "adapter") &&
           (arch[0] == '\0' ||
            (cf_engine_meta_str(e, "general.architecture", &of) && cf_str_is(of, arch)));
    cf_engine_close(e);
    return st == CF_ENOMEM ? st : CF_OK;
}

/* Examines one entry of the model's folder. */
static cf_status on_entry(cf_besides *b, const char *full, const char *name, const char *model,
                          const char *arch)
{
    if (cf_os_is_dir(full)) {
        return cf_os_has_file(full, "adapter_config.json") ? add(b, CF_BESIDE_ADAPTER, full)
                                                           : CF_OK;
    }
    if (!ends(name, ".gguf") || strcmp(full, model) == 0) {
        return CF_OK;
    }
    if (strncmp(name, "mmproj", 6) == 0) {
        return add(b, CF_BESIDE_PROJECTOR, full);
    }
    bool is_adapter;
    cf_error err;
    CF_TRY(cf_model_is_adapter(&is_adapter, full, arch, &err));
    return is_adapter ? add(b, CF_BESIDE_ADAPTER, full) : CF_OK;
}

/* The file of a folder that has the repository's template. */
static cf_status add_template(cf_besides *b, const char *dir)
{
    static const char *const names[] = {"chat_template.jinja", "tokenizer_config.json",
                                        "chat_template.json"};
    cf_status st = CF_OK;
    bool found = false;
    for (size_t i = 0; st == CF_OK && !found && i < 3; i++) {
        cf_buf path = CF_BUF_INIT, text = CF_BUF_INIT;
        cf_error err;
        cf_buf_addf(&path, "%s/%s", dir, names[i]);
        st = path.failed ? CF_ENOMEM : cf_open_template_text(&text, cf_buf_cstr(&path), &err);
        found = st == CF_OK;
        if (found) {
            st = add(b, CF_BESIDE_TEMPLATE, cf_buf_cstr(&path));
        }
        st = st == CF_ENOMEM ? st : CF_OK;
        cf_buf_deinit(&path);
        cf_buf_deinit(&text);
    }
    return st;
}

static void folder_of(cf_buf *out, const char *path)
{
    const char *slash = strrchr(path, '/');
    if (cf_os_is_dir(path)) {
        cf_buf_adds(out, path);
    } else if (slash == NULL) {
        cf_buf_addc(out, '.');
    } else {
        cf_buf_add(out, path, (size_t)(slash - path) + (slash == path));
    }
}

static cf_status in_folder(cf_besides *b, const char *dir, const char *model, const char *arch)
{
    cf_buf names = CF_BUF_INIT;
    cf_error err;
    cf_status st = cf_os_list_dir(&names, dir, FILES_MAX, &err);
    st = st == CF_ENOMEM ? st : CF_OK;
    for (size_t at = 0; st == CF_OK && at < names.n; at += strlen(names.p + at) + 1) {
        cf_buf full = CF_BUF_INIT;
        cf_buf_addf(&full, "%s/%s", dir, names.p + at);
        st = full.failed ? CF_ENOMEM : on_entry(b, cf_buf_cstr(&full), names.p + at, model, arch);
        cf_buf_deinit(&full);
    }
    cf_buf_deinit(&names);
    return st;
}

/* ---- Ollama -------------------------------------------------------------- */

static cf_status in_manifest(cf_besides *b, const char *name)
{
    static const struct {
        const char *type;
        cf_beside_kind kind;
    } layers[] = {
        {"application/vnd.ollama.image.adapter", CF_BESIDE_ADAPTER},
        {"application/vnd.ollama.image.projector", CF_BESIDE_PROJECTOR},
        {"application/vnd.ollama.image.template", CF_BESIDE_GO_TEMPLATE},
    };
    cf_status st = CF_OK;
    for (size_t i = 0; st == CF_OK && i < sizeof layers / sizeof layers[0]; i++) {
        cf_buf path = CF_BUF_INIT;
        cf_error err;
        st = cf_place__ollama_layer(&path, name, layers[i].type, &err);
        if (st == CF_OK && cf_os_is_readable(cf_buf_cstr(&path))) {
            st = add(b, layers[i].kind, cf_buf_cstr(&path));
        }
        st = st == CF_ENOMEM ? st : CF_OK;
        cf_buf_deinit(&path);
    }
    return st;
}

cf_status cf_model_beside(cf_besides *out, const char *name, const char *path, const char *arch,
                          cf_error *err)
{
    static const char ollama[] = "ollama:";
    cf_buf dir = CF_BUF_INIT;
    cf_status st = CF_OK;
    if (strncmp(name, ollama, strlen(ollama)) == 0) {
        st = in_manifest(out, name + strlen(ollama));
        return st == CF_OK ? CF_OK : cf_oom(err);
    }
    folder_of(&dir, path);
    st = dir.failed ? CF_ENOMEM : in_folder(out, cf_buf_cstr(&dir), path, arch);
    if (st == CF_OK && !cf_os_is_dir(path)) {
        st = add_template(out, cf_buf_cstr(&dir));
    }
    cf_buf_deinit(&dir);
    return st == CF_OK ? CF_OK : cf_oom(err);
}

/* ---- the template of the repository -------------------------------------- */

/* Appends the folder of the repository that the metadata names, where the
 * cache has it. */
static void named_repository(cf_buf *out, const cf_engine *engine)
{
    static const char *const keys[] = {"general.base_model.0.repo_url", "general.source.repo_url",
                                       "general.repo_url"};
    static const char host[] = "https://huggingface.co/";
    for (size_t i = 0; out->n == 0 && i < sizeof keys / sizeof keys[0]; i++) {
        cf_str url = {NULL, 0};
        cf_buf name = CF_BUF_INIT;
        cf_error err;
        if (cf_engine_meta_str(engine, keys[i], &url) && cf_str_starts(url, cf_str_from(host))) {
            cf_buf_adds(&name, "hf:");
            cf_buf_add(&name, url.p + strlen(host), url.n - strlen(host));
            if (name.failed || cf_model_place_find(out, cf_buf_cstr(&name), &err) != CF_OK) {
                cf_buf_restart(out);
            }
        }
        cf_buf_deinit(&name);
    }
}

/* Appends the path of the repository's template; nothing where there is
 * none at hand. */
static void repository_template(cf_buf *out, const cf_engine *engine, const char *path)
{
    cf_besides b = {.n = 0};
    cf_buf dir = CF_BUF_INIT;
    folder_of(&dir, path);
    cf_status st = dir.failed ? CF_ENOMEM : add_template(&b, cf_buf_cstr(&dir));
    cf_buf_restart(&dir);
    if (st == CF_OK && b.n == 0) {
        named_repository(&dir, engine);
        if (dir.n != 0 && !dir.failed) {
            cf_ignore(add_template(&b, cf_buf_cstr(&dir)));
        }
    }
    if (b.n != 0) {
        cf_buf_adds(out, b.v[0].path);
    }
    cf_buf_deinit(&dir);
    cf_besides_deinit(&b);
}

static cf_str trimmed(cf_str s)
{
    while (s.n > 0 && (unsigned char)s.p[s.n - 1] <= ' ') {
        s.n--;
    }
    return s;
}

void cf_model_template_note(cf_buf *out, const cf_engine *engine, const char *name)
{
    cf_str own = cf_engine_chat_template(engine, NULL);
    const char *path = cf_engine_get_info(engine).path;
    cf_buf file = CF_BUF_INIT, text = CF_BUF_INIT;
    cf_error err;
    if (own.p == NULL || path[0] == '\0' || cf_os_is_dir(path)) {
        return;
    }
    repository_template(&file, engine, path);
    if (file.n != 0 && !file.failed &&
        cf_open_template_text(&text, cf_buf_cstr(&file), &err) == CF_OK &&
        !cf_str_eq(trimmed(own), trimmed(cf_buf_str(&text)))) {
        cf_buf_addf(out,
                    "the GGUF has another template than the repository (%s): "
                    "-t takes that one, confab diff -m %s -a model -b FILE "
                    "compares them",
                    cf_buf_cstr(&file), name);
    }
    cf_buf_deinit(&file);
    cf_buf_deinit(&text);
}
