/*
 * open_media.c - finds and opens a projector file.
 *
 * People keep it in the model's folder as mmproj*.gguf.  Of several the first
 * by name that was made for the model is taken.
 */
#include "templates/open/open_media.h"

#include <string.h>

#include "core/api/media.h"
#include "core/base/os.h"
#include "templates/model_place.h"

enum {
    NAMES_MAX = 4096, /* the most files of a folder that are examined */
    TRIES_MAX = 8,
    CACHE_BYTES = 256 << 20
};

static bool is_projector(const char *name)
{
    size_t n = strlen(name);
    return strncmp(name, "mmproj", 6) == 0 && n > 5 && strcmp(name + n - 5, ".gguf") == 0;
}

/* Tries the files of the folder at the start of `path`; possibly none fits. */
static void look_beside(cf_media **out, const cf_engine *engine, const char *path)
{
    const char *slash = strrchr(path, '/');
    cf_buf folder = CF_BUF_INIT, names = CF_BUF_INIT, full = CF_BUF_INIT;
    if (cf_os_is_dir(path)) {
        cf_buf_adds(&folder, path);
    } else if (slash != NULL) {
        cf_buf_add(&folder, path, (size_t)(slash - path) + (slash == path));
    } else {
        cf_buf_addc(&folder, '.');
    }
    cf_error ignored;
    cf_status st = cf_os_list_dir(&names, cf_buf_cstr(&folder), NAMES_MAX, &ignored);
    unsigned n_try = 0;
    for (size_t i = 0; st == CF_OK && i < names.n && *out == NULL;) {
        const char *name = names.p + i;
        i += strlen(name) + 1;
        if (!is_projector(name) || n_try++ == TRIES_MAX) {
            continue;
        }
        cf_buf_reset(&full);
        cf_buf_addf(&full, "%s/%s", cf_buf_cstr(&folder), name);
        cf_ignore(cf_media_open(out, engine, cf_buf_cstr(&full), &ignored));
    }
    cf_buf_deinit(&folder);
    cf_buf_deinit(&names);
    cf_buf_deinit(&full);
}

cf_status cf_open_media(cf_media **out, const cf_engine *engine, const cf_open_options *o,
                        cf_error *err)
{
    const char *model = cf_open_model(o);
    *out = NULL;
    if (o->mmproj != NULL) {
        return cf_media_open(out, engine, o->mmproj, err);
    }
    if (model == NULL || strcmp(model, "bundled") == 0) {
        return CF_OK;
    }
    cf_buf path = CF_BUF_INIT;
    cf_error ignored;
    if (cf_model_place_find(&path, model, &ignored) == CF_OK) {
        look_beside(out, engine, cf_buf_cstr(&path));
    }
    cf_buf_deinit(&path);
    return CF_OK;
}

cf_status cf_open__media(cf_opened *b, const cf_open_options *o, cf_error *err)
{
    CF_TRY(cf_open_media(&b->media, b->engine, o, err));
    return b->media != NULL ? cf_media_cache_new(&b->media_cache, b->media, CACHE_BYTES, err)
                            : CF_OK;
}
