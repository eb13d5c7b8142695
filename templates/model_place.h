/*
 * model_place.h - where models lie on this machine, by name.
 *
 * Place in the flow:  a name --> [model_place] --> a file or folder that
 *                     open_engine opens.
 * Knows: the layout of Hugging Face's cache, Ollama's store, LM Studio's
 * folder; the environment.  Does not know: what is in a model's file.
 * Sources: huggingface_hub, file_download.py ("models--ORG--NAME", refs,
 * snapshots); Ollama, docs/ and server/modelpath.go (manifests, blobs).
 *
 * Threads:  reads the environment; call on the main thread.
 * Memory:   results are appended to the caller's buffers.
 */
#ifndef CF_TEMPLATES_MODEL_PLACE_H
#define CF_TEMPLATES_MODEL_PLACE_H

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/decls.h"
#include "core/base/status.h"

CF_BEGIN_DECLS

/*
 * Appends the path that `name` means: "hf:ORG/NAME[@REV]",
 * "ollama:NAME[:TAG]", "lmstudio:ORG/NAME", a folder of GGUF files, or else
 * `name` itself.  CF_ENOTFOUND for what is not on this machine, CF_EINVAL
 * where a folder holds several models, CF_EFORMAT for a broken store.
 */
CF_MUST_USE cf_status cf_model_place_find(cf_buf *out, const char *name, cf_error *err);

/* Adds the listed model that `name` most likely means to an error; st is returned. */
cf_status cf_model_place_suggest(const char *name, cf_status st, cf_error *err);

/* Whether `name` looks like a model's, not a template's: one of the names
 * above, a folder, a .gguf file, "bundled". */
bool cf_model_place_is_model(const char *name);

/* One model: the name that -m takes, and its file or folder. */
typedef struct cf_model_place {
    const char *name, *path;
} cf_model_place;

typedef struct cf_model_places {
    cf_model_place *v; /* [n], in `arena`, by store and then by name */
    size_t n, cap;
    cf_arena arena;
} cf_model_places;

/* Lists every model of the three stores; a store that is missing or cannot
 * be read has none.  CF_ENOMEM. */
CF_MUST_USE cf_status cf_model_places_list(cf_model_places *out, cf_error *err);
/* Appends a line for each folder that is searched, `indent` before it. */
void cf_model_place_folders(cf_buf *out, const char *indent);
/* Adds the models in the folder `path`: GGUF files, a Hugging Face folder.
 * CF_ENOTFOUND where there is no such path. */
CF_MUST_USE cf_status cf_model_places_add(cf_model_places *out, const char *path, cf_error *err);
void cf_model_places_deinit(cf_model_places *p);

/* What a file is that was given as a model, in words that name the right way
 * ("a tokenizer_config.json: use -m on its folder"); NULL: nothing known. */
const char *cf_model_place_door(const char *path);

CF_END_DECLS

#endif
