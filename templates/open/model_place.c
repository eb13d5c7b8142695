/*
 * model_place.c - names of models to their files.
 *
 * A name from outside becomes part of a path, so every part of it is checked:
 * no "..", no slash that is not meant.  Manifests and refs are files of other
 * programs, and what they name is checked in the same way.
 */
#include "templates/model_place.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/edit_distance.h"
#include "core/base/os.h"
#include "core/json/json.h"
#include "templates/model_beside.h"
#include "templates/open/model_place_impl.h"

enum { ENTRIES_MAX = 4096, SMALL_MAX = 1 << 20, HASH_DIGITS = 64 };

#define OLLAMA_HOST "registry.ollama.ai"
#define MODEL_LAYER "application/vnd.ollama.image.model"

/* ---- the stores ---------------------------------------------------------- */

static const char *variable(const char *name)
{
    const char *v = getenv(name); /* NOLINT(concurrency-mt-unsafe) */
    return v != NULL && v[0] != '\0' ? v : NULL;
}

/* Appends $name and `below`, or $HOME and `otherwise`. */
static void add_place(cf_buf *out, const char *name, const char *below, const char *otherwise)
{
    const char *base = name != NULL ? variable(name) : NULL;
    if (base != NULL) {
        cf_buf_addf(out, "%s%s", base, below);
    } else {
        const char *home = variable("HOME");
        cf_buf_addf(out, "%s%s", home != NULL ? home : "", otherwise);
    }
}

static void add_hf(cf_buf *out)
{
    if (variable("HF_HUB_CACHE") != NULL) {
        cf_buf_adds(out, variable("HF_HUB_CACHE"));
    } else {
        add_place(out, "HF_HOME", "/hub", "/.cache/huggingface/hub");
    }
}

static void add_ollama(cf_buf *out)
{
    add_place(out, "OLLAMA_MODELS", "", "/.ollama/models");
}

static void add_lmstudio(cf_buf *out)
{
    add_place(out, NULL, "", "/.lmstudio/models");
}

/* ---- names --------------------------------------------------------------- */

static bool starts(const char *s, const char *prefix)
{
    return strncmp(s, prefix, strlen(prefix)) == 0;
}

static bool ends(const char *s, const char *suffix)
{
    size_t n = strlen(s), k = strlen(suffix);
    return n >= k && strcmp(s + n - k, suffix) == 0;
}

/* Whether s may be part of a path: no part is empty or begins with a dot. */
static bool is_safe(const char *s)
{
    if (s[0] == '\0' || s[0] == '/' || s[strlen(s) - 1] == '/') {
        return false;
    }
    for (const char *at = s; at != NULL; at = strchr(at, '/')) {
        at += *at == '/';
        if (*at == '.' || *at == '/') {
            return false;
        }
    }
    return true;
}

/* The names in a directory, one after the other; empty where it cannot be
 * read. */
static cf_status names_in(cf_buf *out, const char *path)
{
    cf_error err;
    cf_status st = cf_os_list_dir(out, path, ENTRIES_MAX, &err);
    return st == CF_ENOMEM ? st : CF_OK;
}

/* ---- folders ------------------------------------------------------------- */

/* A GGUF file with weights of its own, the first one of split parts. */
static bool is_model_file(const char *name)
{
    const char *of = strstr(name, "-of-");
    bool later_part = of != NULL && ends(name, ".gguf") && of - name > 6 && of[-6] == '-' &&
                      strncmp(of - 5, "00001", 5) != 0 && strlen(of) == strlen("-of-00001.gguf");
    return ends(name, ".gguf") && !starts(name, "mmproj") && !later_part;
}

/* The same, looking into the file: an adapter is not a model. */
static cf_status is_model_in(bool *out, const char *dir, const char *name)
{
    cf_buf path = CF_BUF_INIT;
    cf_error err;
    bool is_adapter = false;
    *out = false;
    if (!is_model_file(name)) {
        return CF_OK;
    }
    cf_buf_addf(&path, "%s/%s", dir, name);
    cf_status st =
        path.failed ? CF_ENOMEM : cf_model_is_adapter(&is_adapter, cf_buf_cstr(&path), "", &err);
    *out = st == CF_OK && !is_adapter;
    cf_buf_deinit(&path);
    return st;
}

/* The one GGUF model in `dir`; *n: how many there are. */
static cf_status only_gguf(cf_buf *out, const char *dir, size_t *n, cf_error *err)
{
    cf_buf names = CF_BUF_INIT;
    const char *found = NULL;
    *n = 0;
    cf_status st = names_in(&names, dir);
    for (size_t at = 0; st == CF_OK && at < names.n; at += strlen(names.p + at) + 1) {
        bool is_model;
        st = is_model_in(&is_model, dir, names.p + at);
        if (is_model) {
            found = names.p + at;
            (*n)++;
        }
    }
    if (st == CF_OK && *n == 1) {
        cf_buf_addf(out, "%s/%s", dir, found);
        st = cf_buf_check(out, err);
    }
    cf_buf_deinit(&names);
    return st == CF_ENOMEM ? cf_oom(err) : st;
}

static bool is_hf_folder(const char *dir)
{
    return cf_os_has_file(dir, "tokenizer.json") || cf_os_has_file(dir, "tokenizer.model");
}

/* The only GGUF file of a folder, or the folder itself if it has a tokenizer. */
static cf_status find_in_folder(cf_buf *out, const char *dir, cf_error *err)
{
    size_t n = 0;
    CF_TRY(only_gguf(out, dir, &n, err));
    if (n == 1) {
        return CF_OK;
    }
    if (n > 1 && !is_hf_folder(dir)) {
        return cf_fail(err, CF_EINVAL,
                       "%s holds %zu models: name one file (confab models %s "
                       "lists them)",
                       dir, n, dir);
    }
    cf_buf_adds(out, dir);
    return cf_buf_check(out, err);
}

/* ---- Hugging Face -------------------------------------------------------- */

/* "ORG/NAME@REV" to the path of its snapshots and REV ("main" without). */
static cf_status split_hf(const char *name, cf_buf *repo, cf_buf *rev, cf_error *err)
{
    const char *at = strchr(name, '@');
    size_t n = at != NULL ? (size_t)(at - name) : strlen(name);
    cf_buf id = CF_BUF_INIT;
    cf_buf_add(&id, name, n);
    cf_buf_adds(rev, at != NULL ? at + 1 : "main");
    bool ok = is_safe(cf_buf_cstr(&id)) && is_safe(cf_buf_cstr(rev));
    add_hf(repo);
    cf_buf_adds(repo, "/models--");
    for (size_t i = 0; i < n; i++) {
        if (name[i] == '/') {
            cf_buf_adds(repo, "--");
        } else {
            cf_buf_addc(repo, name[i]);
        }
    }
    cf_buf_deinit(&id);
    CF_TRY(cf_buf_check(repo, err));
    return ok ? CF_OK
              : cf_fail(err, CF_EINVAL, "'hf:%.80s' is not hf:ORG/NAME or hf:ORG/NAME@REV", name);
}

/* The commit that a ref names; the revision itself where there is no ref. */
static cf_status read_ref(const char *repo, const char *rev, cf_buf *commit, cf_error *err)
{
    cf_buf path = CF_BUF_INIT;
    cf_buf_addf(&path, "%s/refs/%s", repo, rev);
    cf_status st = cf_buf_check(&path, err);
    if (st == CF_OK && cf_os_read_file(commit, cf_buf_cstr(&path), SMALL_MAX, err) != CF_OK) {
        cf_buf_adds(commit, rev);
    }
    while (commit->n > 0 && (unsigned char)commit->p[commit->n - 1] <= ' ') {
        commit->p[--commit->n] = '\0';
    }
    CF_THEN(st, cf_buf_check(commit, err));
    if (st == CF_OK && !is_safe(cf_buf_cstr(commit))) {
        st = cf_fail(err, CF_EFORMAT, "%s does not name a commit", cf_buf_cstr(&path));
    }
    cf_buf_deinit(&path);
    return st;
}

static cf_status find_hf(cf_buf *out, const char *name, cf_error *err)
{
    cf_buf repo = CF_BUF_INIT, rev = CF_BUF_INIT, commit = CF_BUF_INIT;
    cf_buf dir = CF_BUF_INIT;
    cf_status st = split_hf(name, &repo, &rev, err);
    if (st == CF_OK && !cf_os_is_dir(cf_buf_cstr(&repo))) {
        st = cf_fail(err, CF_ENOTFOUND, "hf:%.80s is not in the cache (%s)", name,
                     cf_buf_cstr(&repo));
    }
    CF_THEN(st, read_ref(cf_buf_cstr(&repo), cf_buf_cstr(&rev), &commit, err));
    cf_buf_addf(&dir, "%s/snapshots/%s", cf_buf_cstr(&repo), cf_buf_cstr(&commit));
    CF_THEN(st, cf_buf_check(&dir, err));
    if (st == CF_OK && !cf_os_is_dir(cf_buf_cstr(&dir))) {
        st = cf_fail(err, CF_ENOTFOUND, "hf:%.80s: revision %.60s is not in the cache (%s)", name,
                     cf_buf_cstr(&rev), cf_buf_cstr(&repo));
    }
    CF_THEN(st, find_in_folder(out, cf_buf_cstr(&dir), err));
    cf_buf_deinit(&repo);
    cf_buf_deinit(&rev);
    cf_buf_deinit(&commit);
    cf_buf_deinit(&dir);
    return st;
}

/* ---- Ollama -------------------------------------------------------------- */

/* "NAME:TAG" to "HOST/USER/NAME/TAG", with what is left out as Ollama has
 * it. */
static cf_status ollama_manifest(cf_buf *out, const char *name, cf_error *err)
{
    const char *slash = strrchr(name, '/');
    const char *colon = strchr(slash != NULL ? slash : name, ':');
    size_t n = colon != NULL ? (size_t)(colon - name) : strlen(name);
    size_t slashes = 0;
    for (size_t i = 0; i < n; i++) {
        slashes += name[i] == '/';
    }
    cf_buf path = CF_BUF_INIT;
    cf_buf_adds(&path, slashes < 2 ? OLLAMA_HOST "/" : "");
    cf_buf_adds(&path, slashes < 1 ? "library/" : "");
    cf_buf_add(&path, name, n);
    cf_buf_addf(&path, "/%s", colon != NULL ? colon + 1 : "latest");
    cf_status st = cf_buf_check(&path, err);
    if (st == CF_OK && !is_safe(cf_buf_cstr(&path))) {
        st = cf_fail(err, CF_EINVAL, "'ollama:%.80s' is not ollama:NAME or ollama:NAME:TAG", name);
    }
    if (st == CF_OK) {
        add_ollama(out);
        cf_buf_addf(out, "/manifests/%s", cf_buf_cstr(&path));
        st = cf_buf_check(out, err);
    }
    cf_buf_deinit(&path);
    return st;
}

static bool is_digest(cf_str s)
{
    const cf_str head = cf_str_from("sha256:");
    if (!cf_str_starts(s, head) || s.n != head.n + HASH_DIGITS) {
        return false;
    }
    for (size_t i = head.n; i < s.n; i++) {
        if (strchr("0123456789abcdef", s.p[i]) == NULL || s.p[i] == '\0') {
            return false;
        }
    }
    return true;
}

/* The blob of the first layer of a type. */
static cf_status ollama_blob(cf_buf *out, const char *manifest, const char *type, cf_error *err)
{
    json_t *v = NULL;
    CF_TRY(cf_json_read_file(&v, manifest, err));
    const json_t *layers = json_object_get(v, "layers");
    cf_str digest = {NULL, 0};
    for (size_t i = 0; i < json_array_size(layers); i++) {
        const json_t *layer = json_array_get(layers, i);
        if (digest.p == NULL && cf_str_is(cf_json_get_str(layer, "mediaType"), type)) {
            digest = cf_json_get_str(layer, "digest");
        }
    }
    cf_status st = is_digest(digest) ? CF_OK
                   : digest.p == NULL && strcmp(type, MODEL_LAYER) != 0
                       ? cf_fail(err, CF_ENOTFOUND, "%s has no %s", manifest, type)
                       : cf_fail(err, CF_EFORMAT, "%s names no model", manifest);
    if (st == CF_OK) {
        add_ollama(out);
        cf_buf_addf(out, "/blobs/sha256-%.*s", HASH_DIGITS, digest.p + strlen("sha256:"));
        st = cf_buf_check(out, err);
    }
    json_decref(v);
    return st;
}

static cf_status find_ollama(cf_buf *out, const char *name, cf_error *err)
{
    cf_buf manifest = CF_BUF_INIT;
    cf_status st = ollama_manifest(&manifest, name, err);
    if (st == CF_OK && !cf_os_is_readable(cf_buf_cstr(&manifest))) {
        st = cf_fail(err, CF_ENOTFOUND,
                     "ollama:%.80s is not in Ollama's store "
                     "(%s)",
                     name, cf_buf_cstr(&manifest));
    }
    CF_THEN(st, ollama_blob(out, cf_buf_cstr(&manifest), MODEL_LAYER, err));
    cf_buf_deinit(&manifest);
    return st;
}

cf_status cf_place__ollama_layer(cf_buf *out, const char *name, const char *type, cf_error *err)
{
    cf_buf manifest = CF_BUF_INIT;
    cf_status st = ollama_manifest(&manifest, name, err);
    CF_THEN(st, ollama_blob(out, cf_buf_cstr(&manifest), type, err));
    cf_buf_deinit(&manifest);
    return st;
}

/* ---- LM Studio, and the way in ------------------------------------------- */

static cf_status find_lmstudio(cf_buf *out, const char *name, cf_error *err)
{
    cf_buf dir = CF_BUF_INIT;
    cf_status st = CF_OK;
    if (!is_safe(name)) {
        st = cf_fail(err, CF_EINVAL, "'lmstudio:%.80s' is not lmstudio:ORG/NAME", name);
    }
    add_lmstudio(&dir);
    cf_buf_addf(&dir, "/%s", name);
    CF_THEN(st, cf_buf_check(&dir, err));
    if (st == CF_OK && !cf_os_is_dir(cf_buf_cstr(&dir))) {
        st = cf_os_is_readable(cf_buf_cstr(&dir))
                 ? CF_OK
                 : cf_fail(err, CF_ENOTFOUND, "lmstudio:%.80s is not in LM Studio's folder (%s)",
                           name, cf_buf_cstr(&dir));
        if (st == CF_OK) {
            cf_buf_adds(out, cf_buf_cstr(&dir));
        }
    } else {
        CF_THEN(st, find_in_folder(out, cf_buf_cstr(&dir), err));
    }
    cf_buf_deinit(&dir);
    return st;
}

static cf_status find_place(cf_buf *out, const char *name, cf_error *err)
{
    if (starts(name, "hf:")) {
        return find_hf(out, name + 3, err);
    }
    if (starts(name, "ollama:")) {
        return find_ollama(out, name + 7, err);
    }
    if (starts(name, "lmstudio:")) {
        return find_lmstudio(out, name + 9, err);
    }
    if (cf_os_is_dir(name)) {
        return find_in_folder(out, name, err);
    }
    cf_buf_adds(out, name);
    return cf_buf_check(out, err);
}

/* Offers a listed name by what a user may have typed for it: "ollama:NAME:latest" is also
 * NAME and "ollama:NAME", "hf:ORG/NAME" is also NAME and "ORG/NAME". */
static void offer(cf_nearest *near, const char *listed)
{
    char spelling[CF_EDIT_DISTANCE_MAX + 1];
    const char *colon = strchr(listed, ':'), *slash = strrchr(listed, '/');
    const char *rest = colon != NULL ? colon + 1 : listed;
    const char *last = slash != NULL && slash > rest ? slash + 1 : rest;
    const char *starts_at[] = {listed, rest, last};
    for (size_t i = 0; i < 3; i++) {
        const char *tag = strpbrk(i == 0 ? rest : starts_at[i], ":@");
        size_t n = tag != NULL ? (size_t)(tag - starts_at[i]) : strlen(starts_at[i]);
        snprintf(spelling, sizeof spelling, "%.*s", (int)n, starts_at[i]);
        cf_nearest_offer_as(near, spelling, listed);
    }
    cf_nearest_offer(near, listed);
}

cf_status cf_model_place_suggest(const char *name, cf_status st, cf_error *err)
{
    cf_model_places places = {0};
    cf_nearest near = {.asked = name};
    cf_error ignored;
    if (cf_model_places_list(&places, &ignored) != CF_OK) {
        places.n = 0; /* without a list there is nothing to suggest */
    }
    for (size_t i = 0; i < places.n; i++) {
        offer(&near, places.v[i].name);
    }
    st = cf_nearest_suggest(&near, st, err);
    cf_model_places_deinit(&places);
    return st;
}

cf_status cf_model_place_find(cf_buf *out, const char *name, cf_error *err)
{
    cf_status st = find_place(out, name, err);
    return st == CF_ENOTFOUND ? cf_model_place_suggest(name, st, err) : st;
}

bool cf_model_place_is_model(const char *name)
{
    return starts(name, "hf:") || starts(name, "ollama:") || starts(name, "lmstudio:") ||
           strcmp(name, "bundled") == 0 ||
           (ends(name, ".gguf") && strlen(name) > strlen(".gguf")) || cf_os_is_dir(name);
}

const char *cf_model_place_door(const char *path)
{
    static const struct {
        const char *end, *door;
    } rows[] = {
        {"tokenizer.json", "a tokenizer.json: use -m on its folder"},
        {"tokenizer_config.json", "a tokenizer_config.json: use -m on its folder, or -t for its "
                                  "template"},
        {"special_tokens_map.json", "a special_tokens_map.json: use -m on its folder"},
        {"generation_config.json", "a generation_config.json: use -m on its folder"},
        {"config.json", "a config.json: use -m on its folder"},
        {"tokenizer.model", "a tokenizer.model: use -m on its folder"},
        {".safetensors", "a file of weights alone: use -m on its folder"},
        {".jinja", "a template: use -t"},
        {".bin", "not GGUF: use -m on a folder with tokenizer.json"},
        {".pt", "a PyTorch file, which confab does not read"},
        {".pth", "a PyTorch file, which confab does not read"},
        {".onnx", "an ONNX file, which confab does not read"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (ends(path, rows[i].end)) {
            return rows[i].door;
        }
    }
    return NULL;
}

/* ---- lists --------------------------------------------------------------- */

static cf_status add(cf_model_places *p, const char *name, const char *path)
{
    char *a = cf_arena_strndup(&p->arena, name, strlen(name));
    char *b = cf_arena_strndup(&p->arena, path, strlen(path));
    if (a == NULL || b == NULL || !cf_grow(&p->v, &p->cap, p->n + 1, sizeof *p->v)) {
        return CF_ENOMEM;
    }
    p->v[p->n++] = (cf_model_place){a, b};
    return CF_OK;
}

/* Adds a folder's models: under `name` when there is one, else by file. */
static cf_status add_folder(cf_model_places *p, const char *name, const char *dir, const char *sep)
{
    cf_buf names = CF_BUF_INIT;
    cf_buf full = CF_BUF_INIT, shown = CF_BUF_INIT;
    size_t n = 0;
    cf_status st = names_in(&names, dir);
    for (size_t at = 0; st == CF_OK && at < names.n; at += strlen(names.p + at) + 1) {
        bool is_model;
        st = is_model_in(&is_model, dir, names.p + at);
        n += is_model;
    }
    for (size_t at = 0; st == CF_OK && at < names.n; at += strlen(names.p + at) + 1) {
        bool is_model;
        st = is_model_in(&is_model, dir, names.p + at);
        if (!is_model) {
            continue;
        }
        cf_buf_reset(&full);
        cf_buf_reset(&shown);
        cf_buf_addf(&full, "%s/%s", dir, names.p + at);
        cf_buf_adds(&shown, n == 1 && sep != NULL ? name : cf_buf_cstr(&full));
        if (n > 1 && sep != NULL && starts(name, "lmstudio:")) {
            cf_buf_reset(&shown);
            cf_buf_addf(&shown, "%s%s%s", name, sep, names.p + at);
        }
        st = full.failed || shown.failed ? CF_ENOMEM
                                         : add(p, cf_buf_cstr(&shown), cf_buf_cstr(&full));
    }
    bool is_known = is_hf_folder(dir) || cf_os_has_file(dir, "adapter_config.json");
    if (st == CF_OK && n == 0 && is_known) {
        st = add(p, name, dir);
    }
    cf_buf_deinit(&names);
    cf_buf_deinit(&full);
    cf_buf_deinit(&shown);
    return st;
}

/* Called with the name and path of an entry. */
typedef cf_status (*entry_fn)(cf_model_places *p, const char *name, const char *path);

static cf_status each(cf_model_places *p, const char *prefix, const char *dir, entry_fn fn)
{
    cf_buf names = CF_BUF_INIT;
    cf_status st = names_in(&names, dir);
    for (size_t at = 0; st == CF_OK && at < names.n; at += strlen(names.p + at) + 1) {
        cf_buf name = CF_BUF_INIT, path = CF_BUF_INIT;
        cf_buf_addf(&name, "%s%s", prefix, names.p + at);
        cf_buf_addf(&path, "%s/%s", dir, names.p + at);
        st = name.failed || path.failed ? CF_ENOMEM : fn(p, cf_buf_cstr(&name), cf_buf_cstr(&path));
        cf_buf_deinit(&name);
        cf_buf_deinit(&path);
    }
    cf_buf_deinit(&names);
    return st;
}

/* "models--ORG--NAME" in the cache: what its revision "main" has. */
static cf_status on_repo(cf_model_places *p, const char *name, const char *path)
{
    (void)path;
    static const char head[] = "models--";
    if (!starts(name, head)) {
        return CF_OK;
    }
    cf_buf shown = CF_BUF_INIT, found = CF_BUF_INIT, commit = CF_BUF_INIT;
    cf_buf_adds(&shown, "hf:");
    const char *id = name + strlen(head);
    const char *gap = strstr(id, "--");
    if (gap != NULL) {
        cf_buf_add(&shown, id, (size_t)(gap - id));
        cf_buf_addf(&shown, "/%s", gap + 2);
    } else {
        cf_buf_adds(&shown, id);
    }
    cf_error err;
    cf_status st = read_ref(path, "main", &commit, &err);
    cf_buf_addf(&found, "%s/snapshots/%s", path, cf_buf_cstr(&commit));
    if (found.failed || shown.failed) {
        st = CF_ENOMEM;
    } else if (st == CF_OK) {
        st = add_folder(p, cf_buf_cstr(&shown), cf_buf_cstr(&found), "/");
    }
    cf_buf_deinit(&shown);
    cf_buf_deinit(&found);
    cf_buf_deinit(&commit);
    return st == CF_ENOMEM ? st : CF_OK;
}

static cf_status on_lmstudio(cf_model_places *p, const char *name, const char *path)
{
    return cf_os_is_dir(path) ? add_folder(p, name, path, "/") : CF_OK;
}

static cf_status on_lmstudio_org(cf_model_places *p, const char *name, const char *path)
{
    cf_buf prefix = CF_BUF_INIT;
    cf_buf_addf(&prefix, "lmstudio:%s/", name);
    cf_status st = prefix.failed ? CF_ENOMEM : each(p, cf_buf_cstr(&prefix), path, on_lmstudio);
    cf_buf_deinit(&prefix);
    return st;
}

static cf_status on_tag(cf_model_places *p, const char *name, const char *path)
{
    cf_buf blob = CF_BUF_INIT, shown = CF_BUF_INIT;
    cf_error err;
    cf_status st = ollama_blob(&blob, path, MODEL_LAYER, &err);
    cf_buf_addf(&shown, "ollama:%s", name);
    if (shown.failed || blob.failed) {
        st = CF_ENOMEM;
    } else if (st == CF_OK) {
        st = add(p, cf_buf_cstr(&shown), cf_buf_cstr(&blob));
    }
    cf_buf_deinit(&blob);
    cf_buf_deinit(&shown);
    return st == CF_ENOMEM ? st : CF_OK;
}

static cf_status on_ollama_name(cf_model_places *p, const char *name, const char *path)
{
    cf_buf prefix = CF_BUF_INIT;
    const char *plain = starts(name, "library/") ? name + 8 : name;
    cf_buf_addf(&prefix, "%s:", plain);
    cf_status st = prefix.failed ? CF_ENOMEM : each(p, cf_buf_cstr(&prefix), path, on_tag);
    cf_buf_deinit(&prefix);
    return st;
}

static cf_status on_ollama_user(cf_model_places *p, const char *name, const char *path)
{
    cf_buf prefix = CF_BUF_INIT;
    cf_buf_addf(&prefix, "%s/", name);
    cf_status st = prefix.failed ? CF_ENOMEM : each(p, cf_buf_cstr(&prefix), path, on_ollama_name);
    cf_buf_deinit(&prefix);
    return st;
}

cf_status cf_model_places_list(cf_model_places *out, cf_error *err)
{
    const struct {
        void (*add_root)(cf_buf *out);
        const char *below;
        entry_fn fn;
    } stores[] = {
        {add_hf, "", on_repo},
        {add_ollama, "/manifests/" OLLAMA_HOST, on_ollama_user},
        {add_lmstudio, "", on_lmstudio_org},
    };
    cf_status st = CF_OK;
    for (size_t i = 0; st == CF_OK && i < sizeof stores / sizeof stores[0]; i++) {
        cf_buf root = CF_BUF_INIT;
        stores[i].add_root(&root);
        cf_buf_adds(&root, stores[i].below);
        st = root.failed ? CF_ENOMEM : each(out, "", cf_buf_cstr(&root), stores[i].fn);
        cf_buf_deinit(&root);
    }
    return st == CF_OK ? CF_OK : cf_oom(err);
}

void cf_model_place_folders(cf_buf *out, const char *indent)
{
    static void (*const stores[])(cf_buf *) = {add_hf, add_ollama, add_lmstudio};
    for (size_t i = 0; i < sizeof stores / sizeof stores[0]; i++) {
        cf_buf_adds(out, indent);
        stores[i](out);
        cf_buf_addc(out, '\n');
    }
}

cf_status cf_model_places_add(cf_model_places *out, const char *path, cf_error *err)
{
    if (!cf_os_is_dir(path) && !cf_os_is_readable(path)) {
        return cf_fail(err, CF_ENOTFOUND, "%.180s: no such file or folder", path);
    }
    if (!cf_os_is_dir(path)) {
        return add(out, path, path) == CF_OK ? CF_OK : cf_oom(err);
    }
    return add_folder(out, path, path, NULL) == CF_OK ? CF_OK : cf_oom(err);
}

void cf_model_places_deinit(cf_model_places *p)
{
    cf_arena_deinit(&p->arena);
    cf_free(p->v);
    memset(p, 0, sizeof *p);
}
