/*
 * open_engine.c - the model that -m names, or the bundled one.
 */
#include "templates/open.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/api/bundled.h"
#include "templates/model_beside.h"
#include "templates/model_place.h"
#include "templates/open/open_plugin.h"

const char *cf_open_model(const cf_open_options *o)
{
    return o->model != NULL ? o->model : o->default_model;
}

bool cf_open_is_bundled(const cf_open_options *o)
{
    const void *bytes;
    size_t n;
    const char *model = cf_open_model(o);
    return (model == NULL || strcmp(model, "bundled") == 0) && cf_bundled_model(&bytes, &n);
}

void cf_open_want_model(cf_open_options *o)
{
    o->model = cf_open_is_bundled(o) ? "bundled" : cf_open_model(o);
}

static cf_status open_bundled(cf_engine **out, const cf_engine_options *opts, cf_error *err)
{
    const void *bytes;
    size_t n;
    if (!cf_bundled_model(&bytes, &n)) {
        return cf_fail(err, CF_EINVAL,
                       "no model was given: -m FILE.gguf (no model comes "
                       "with this build)");
    }
    cf_status st = cf_engine_open_memory(out, bytes, n, opts, err);
    return st != CF_OK ? cf_fail_in(err, st, "the bundled model") : CF_OK;
}

/* Adds to the error what the file is and what to use instead. */
static cf_status explain(cf_status st, const cf_open_options *o, cf_error *err)
{
    const char *path = cf_open_model(o), *hint = NULL;
    const char *door = cf_model_place_door(path);
    bool is_adapter = false;
    cf_error ignored;
    if (door == NULL) {
        cf_ignore(cf_model_is_adapter(&is_adapter, path, "", &ignored));
    }
    door = is_adapter ? "a LoRA adapter: use --lora, and -m for its model" : door;
    if (door != NULL && (st == CF_EFORMAT || (is_adapter && st == CF_ENOTFOUND))) {
        return cf_fail(err, st, "%s is %s", path, door);
    }
    if (st == CF_ENOTFOUND) {
        hint = "-m takes a .gguf file, a model folder, a server's address, "
               "script:FILE or bundled (confab models lists what is here)";
    } else if (st == CF_EFORMAT) {
        hint = "copy the file again, or give another GGUF file";
    } else if (st == CF_EUNSUPPORTED && o->kernel_set == NULL && !cf_open_is_plugin(path)) {
        hint = "a server that runs it can be given to -m by its address";
    }
    if (st == CF_EFORMAT || st == CF_EUNSUPPORTED) {
        cf_fail_in(err, st, path); /* errors of the system already name the file */
    }
    size_t n = err != NULL ? strlen(err->text) : 0;
    if (st == CF_ENOTFOUND && err != NULL) {
        cf_ignore(cf_model_place_suggest(path, st, err));
        hint = strlen(err->text) == n ? hint : NULL;
    }
    if (hint != NULL && err != NULL && n + strlen(hint) + 3 <= sizeof err->text) {
        snprintf(err->text + n, sizeof err->text - n, "; %s", hint);
    }
    return st;
}

static cf_status read_blas(cf_blas_choice *out, const char *name, cf_error *err)
{
    static const char *const names[] = {"auto", "on", "off"};
    for (int i = 0; i < 3; i++) {
        if (name == NULL || strcmp(name, names[i]) == 0) {
            *out = (cf_blas_choice)i; /* in the order of the enumeration */
            return CF_OK;
        }
    }
    return cf_fail(err, CF_EINVAL, "encoder-blas is auto, on or off, not '%.40s'", name);
}

cf_status cf_open_engine(cf_engine **out, const cf_open_options *o, bool vocab_only, cf_error *err)
{
    const char *name = cf_open_model(o);
    cf_blas_choice blas = CF_BLAS_AUTO;
    CF_TRY(read_blas(&blas, o->encoder_blas, err));
    cf_engine_options opts = {
        .n_threads = o->n_threads,
        .arithmetic = o->arithmetic,
        .vocab_only = vocab_only,
        .kernel_set = o->kernel_set,
        .encoder_blas = blas,
        .load_as = vocab_only ? NULL : o->load_as,
        .cache = o->cache,
        .n_gpu_layers = o->n_gpu_layers,
        .has_gpu_layers = o->has_gpu_layers,
        .n_ctx = o->n_ctx,
    };
    CF_TRY(cf_open__plugin_check(o, err));
    if (o->n_lora != 0 && !vocab_only && !o->opens_lora) {
        return cf_fail(err, CF_EINVAL, "--lora: this command takes no adapter");
    }
    if (o->n_steer != 0 && !vocab_only && !o->opens_lora) {
        return cf_fail(err, CF_EINVAL, "--steer: this command takes no control vector");
    }
    if (name == NULL || strcmp(name, "bundled") == 0) {
        return open_bundled(out, &opts, err);
    }
    if (name[0] == '\0') {
        return cf_fail(err, CF_EINVAL, "--model: the name is empty");
    }
    if (strncmp(name, "http://", 7) == 0 || strncmp(name, "https://", 8) == 0 ||
        strncmp(name, "script:", 7) == 0) {
        return cf_fail(err, CF_EINVAL,
                       "--model: '%.60s' is not a .gguf file, and this command "
                       "needs one",
                       name);
    }
    if (o->busy != NULL) {
        o->busy(o->ud, "loading the model");
    }
    cf_buf path = CF_BUF_INIT, plugin = CF_BUF_INIT;
    cf_status st = CF_OK;
    if (cf_open_is_plugin(name) && !vocab_only) {
        st = cf_open__plugin_find(&plugin, err);
        opts.plugin = cf_buf_cstr(&plugin);
    }
    CF_THEN(st, cf_model_place_find(&path, cf_open_plugin_file(name), err));
    bool found = st == CF_OK;
    CF_THEN(st, cf_engine_open(out, cf_buf_cstr(&path), &opts, err));
    cf_buf_deinit(&path);
    cf_buf_deinit(&plugin);
    if (o->busy != NULL) {
        o->busy(o->ud, NULL);
    }
    return st != CF_OK && found ? explain(st, o, err) : st;
}

cf_status cf_open_draft_engine(cf_engine **out, const cf_open_options *o, cf_error *err)
{
    cf_open_options small = *o;
    small.draft_model = NULL;
    *out = NULL;
    if (o->draft_model == NULL) {
        return CF_OK;
    }
    small.model = o->draft_model;
    small.load_as = NULL;
    small.opens_lora = true; /* none: they are the large model's */
    cf_status st = cf_open_engine(out, &small, false, err);
    if (st != CF_OK) {
        cf_fail_in(err, st, "the draft model");
    }
    return st;
}

/* ---- adapters ------------------------------------------------------------ */

/* Splits "FILE=SCALE"; a file whose name has a '=' needs a scale after it. */
static cf_status split_scale(const char *name, cf_buf *path, float *scale, cf_error *err)
{
    const char *equals = strrchr(name, '=');
    *scale = 1;
    if (equals == NULL) {
        cf_buf_adds(path, name);
        return cf_buf_check(path, err);
    }
    char *end;
    *scale = strtof(equals + 1, &end);
    if (end == equals + 1 || *end != '\0' || !isfinite(*scale)) {
        return cf_fail(err, CF_EINVAL, "'%.80s': the scale after '=' is not a number", name);
    }
    cf_buf_add(path, name, (size_t)(equals - name));
    return cf_buf_check(path, err);
}

cf_status cf_open_adapters(cf_opened_adapters *out, const cf_engine *engine,
                           const char *const *names, size_t n, cf_error *err)
{
    cf_opened_adapters a = {.n = 0};
    cf_status st = CF_OK;
    for (size_t i = 0; st == CF_OK && i < n; i++) {
        cf_buf path = CF_BUF_INIT, found = CF_BUF_INIT;
        float scale = 1;
        st = a.n < CF_ADAPTERS_MAX
                 ? split_scale(names[i], &path, &scale, err)
                 : cf_fail(err, CF_EINVAL, "more than %d adapters", CF_ADAPTERS_MAX);
        CF_THEN(st, cf_model_place_find(&found, cf_buf_cstr(&path), err));
        CF_THEN(st, cf_adapter_open(&a.adapter[a.n], engine, cf_buf_cstr(&found), err));
        if (st == CF_OK) {
            a.use[a.n] = (cf_adapter_use){a.adapter[a.n], scale};
            a.n++;
        }
        cf_buf_deinit(&path);
        cf_buf_deinit(&found);
    }
    if (st != CF_OK) {
        cf_opened_adapters_close(&a);
        return st;
    }
    *out = a;
    return CF_OK;
}

/* ---- steering ------------------------------------------------------------ */

/* Takes ":A-B" off the end of `name`; without it both are 0. */
static cf_status split_range(cf_buf *name, uint32_t *first, uint32_t *last, cf_error *err)
{
    const char *colon = strrchr(cf_buf_cstr(name), ':');
    *first = *last = 0;
    if (colon == NULL || colon[1] == '\0' ||
        strspn(colon + 1, "0123456789-") != strlen(colon + 1)) {
        return CF_OK;
    }
    char *end;
    unsigned long a = strtoul(colon + 1, &end, 10), b = 0;
    bool ok = end > colon + 1 && *end == '-';
    if (ok) {
        const char *second = end + 1;
        b = strtoul(second, &end, 10);
        ok = end > second && *end == '\0' && a >= 1 && a <= b && b <= UINT32_MAX;
    }
    if (!ok) {
        return cf_fail(err, CF_EINVAL, "'%.80s': the layers after ':' are not FIRST-LAST, from 1",
                       cf_buf_cstr(name));
    }
    *first = (uint32_t)a;
    *last = (uint32_t)b;
    cf_buf_rewind(name, (size_t)(colon - name->p));
    name->p[name->n] = '\0';
    return CF_OK;
}

static cf_status add_steering(cf_steering *s, const char *spec, cf_error *err)
{
    cf_buf name = CF_BUF_INIT, path = CF_BUF_INIT;
    uint32_t first, last;
    float scale = 1;
    cf_buf_adds(&name, spec);
    cf_status st = cf_buf_check(&name, err);
    CF_THEN(st, split_range(&name, &first, &last, err));
    CF_THEN(st, split_scale(cf_buf_cstr(&name), &path, &scale, err));
    CF_THEN(st, cf_steering_add_file(s, cf_buf_cstr(&path), scale, first, last, err));
    cf_buf_deinit(&name);
    cf_buf_deinit(&path);
    return st;
}

/* The steering of the options; *out is NULL without any. */
static cf_status open_steering(cf_steering **out, const cf_engine *engine, const cf_open_options *o,
                               cf_error *err)
{
    *out = NULL;
    if (o->n_steer == 0) {
        return CF_OK;
    }
    cf_steering *s = NULL;
    cf_status st = cf_steering_new(&s, engine, err);
    for (size_t i = 0; st == CF_OK && i < o->n_steer; i++) {
        st = add_steering(s, o->steer[i], err);
    }
    if (st != CF_OK) {
        cf_steering_free(s);
        return st;
    }
    *out = s;
    return CF_OK;
}

cf_status cf_open_use_adapters(cf_opened_adapters *out, const cf_engine *engine,
                               const cf_open_options *o, cf_session *const *sessions, size_t n,
                               cf_error *err)
{
    cf_opened_adapters a;
    CF_TRY(cf_open_adapters(&a, engine, o->lora, o->n_lora, err));
    cf_status st = open_steering(&a.steering, engine, o, err);
    for (size_t i = 0; st == CF_OK && i < n; i++) {
        st = cf_session_set_adapters(sessions[i], a.use, a.n, err);
        CF_THEN(st, cf_session_set_steering(sessions[i], a.steering, err));
    }
    if (st != CF_OK) {
        cf_opened_adapters_close(&a);
        return st;
    }
    *out = a;
    return CF_OK;
}

void cf_opened_adapters_close(cf_opened_adapters *a)
{
    for (size_t i = 0; i < a->n; i++) {
        cf_adapter_free(a->adapter[i]);
    }
    cf_steering_free(a->steering);
    *a = (cf_opened_adapters){.n = 0};
}
