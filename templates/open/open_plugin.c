/*
 * open_plugin.c - finds the program of the llama.cpp plug-in.
 *
 * It lies in $CONFAB_PLUGINS, or, where that is not set, where `make engine-llama`
 * and `make install` put it beside this program.
 */
#include "templates/open/open_plugin.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PATH_SIZE = 4096 };

static const char prefix[] = "llama:", program[] = "confab-llama";

bool cf_open_is_plugin(const char *model)
{
    return model != NULL && strncmp(model, prefix, sizeof prefix - 1) == 0;
}

const char *cf_open_plugin_file(const char *model)
{
    return cf_open_is_plugin(model) ? model + (sizeof prefix - 1) : model;
}

cf_status cf_open__plugin_check(const cf_open_options *o, cf_error *err)
{
    const struct {
        const char *option;
        bool is_given;
    } refused[] = {
        {"--exact", o->arithmetic == CF_ARITHMETIC_EXACT},
        {"--activations", o->arithmetic == CF_ARITHMETIC_8},
        {"--kernels", o->kernel_set != NULL},
        {"--load-as", o->load_as != NULL},
        {"--lora", o->n_lora != 0},
        {"--steer", o->n_steer != 0},
        {"--mmproj", o->mmproj != NULL},
        {"--draft-model", o->draft_model != NULL},
    };
    bool is_plugin = cf_open_is_plugin(cf_open_model(o));
    if (!is_plugin && o->has_gpu_layers) {
        return cf_fail(err, CF_EINVAL,
                       "--gpu-layers: only -m llama:FILE computes on other devices");
    }
    if (cf_open_is_plugin(o->draft_model)) {
        return cf_fail(err, CF_EINVAL, "--draft-model: drafts need confab's own engine");
    }
    for (size_t i = 0; is_plugin && i < sizeof refused / sizeof refused[0]; i++) {
        if (refused[i].is_given) {
            return cf_fail(err, CF_EINVAL,
                           "%s: only confab's own engine has this, not -m llama:FILE",
                           refused[i].option);
        }
    }
    return CF_OK;
}

/* Appends the folder of this program; nothing where the system does not say. */
static void add_own_folder(cf_buf *out)
{
    char path[PATH_SIZE];
    ssize_t n = readlink("/proc/self/exe", path, sizeof path);
    while (n > 0 && path[n - 1] != '/') {
        n--;
    }
    if (n > 0) {
        cf_buf_add(out, path, (size_t)n);
    }
}

static bool is_there(cf_buf *out)
{
    cf_buf_adds(out, program);
    return !out->failed && access(cf_buf_cstr(out), X_OK) == 0;
}

cf_status cf_open__plugin_find(cf_buf *out, cf_error *err)
{
    static const char *const below[] = {"plugins/", "../lib/confab/", "../lib64/confab/"};
    const char *named = getenv("CONFAB_PLUGINS"); /* NOLINT(concurrency-mt-unsafe) */
    size_t start = out->n;
    if (named != NULL && named[0] != '\0') {
        cf_buf_addf(out, "%s/", named);
        if (is_there(out)) {
            return CF_OK;
        }
    }
    for (size_t i = 0; named == NULL && i < sizeof below / sizeof below[0]; i++) {
        cf_buf_rewind(out, start);
        add_own_folder(out);
        cf_buf_adds(out, out->n > start ? below[i] : "");
        if (out->n > start && is_there(out)) {
            return CF_OK;
        }
    }
    cf_buf_rewind(out, start);
    CF_TRY(cf_buf_check(out, err));
    return cf_fail(err, CF_EUNSUPPORTED,
                   "llama: there is no %s%s%.80s; make engine-llama LLAMA=PREFIX builds it, PREFIX "
                   "being where llama.cpp's include and lib are",
                   program, named != NULL ? " in CONFAB_PLUGINS, " : " beside this program",
                   named != NULL ? named : "");
}

cf_status cf_open_plugin_name(cf_buf *path, cf_buf *name, cf_error *err)
{
    CF_TRY(cf_open__plugin_find(path, err));
    return cf_engine_plugin_name(name, cf_buf_cstr(path), err);
}
