/*
 * model_beside.h - the files that belong to a model and lie beside it:
 * adapters, projectors, Ollama's own template, the template of its repository.
 *
 * Place in the flow:  a name and its path (model_place.h) --> [beside] -->
 *                     lists, and what is said about a model.
 * Knows: folders, Ollama's manifests, PEFT's file names.  Does not know: how
 * adapters or projectors are computed.
 * Sources: Ollama, server/images.go (media types of layers); peft,
 * utils/constants.py (names of files).
 *
 * Threads:  reads the environment; call on the main thread.
 * Memory:   paths live in the list's arena.
 */
#ifndef CF_TEMPLATES_MODEL_BESIDE_H
#define CF_TEMPLATES_MODEL_BESIDE_H

#include "core/api/engine.h"
#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/decls.h"
#include "core/base/status.h"

CF_BEGIN_DECLS

typedef enum cf_beside_kind {
    CF_BESIDE_ADAPTER,     /* a LoRA adapter: --lora takes the path */
    CF_BESIDE_PROJECTOR,   /* pictures and sounds: --mmproj takes it */
    CF_BESIDE_GO_TEMPLATE, /* Ollama's template, a text in Go's language */
    CF_BESIDE_TEMPLATE,    /* the repository's template: -t takes it */
    CF_BESIDE_N
} cf_beside_kind;

typedef struct cf_beside {
    cf_beside_kind kind;
    const char *path;
} cf_beside;

typedef struct cf_besides {
    cf_beside *v; /* [n], in `arena`'s lifetime */
    size_t n, cap;
    cf_arena arena;
} cf_besides;

/*
 * Lists the files beside the model of this name (as -m takes it) whose file or
 * folder is `path`.  Adapters are PEFT folders and GGUF files whose metadata
 * says so; those of another architecture than `arch` ("": any) are left out, and
 * so is what cannot be read.  CF_ENOMEM.
 */
CF_MUST_USE cf_status cf_model_beside(cf_besides *out, const char *name, const char *path,
                                      const char *arch, cf_error *err);
void cf_besides_deinit(cf_besides *b);

/* The first file of a kind, or NULL. */
const char *cf_besides_find(const cf_besides *b, cf_beside_kind kind);

/* Whether a GGUF file says that it is an adapter, for `arch` ("": any), or a
 * folder is one of PEFT, which names none; a file that cannot be read is not.
 * CF_ENOMEM. */
CF_MUST_USE cf_status cf_model_is_adapter(bool *out, const char *path, const char *arch,
                                          cf_error *err);

/* The name of the kind: "adapter", "projector" ... */
const char *cf_beside_kind_name(cf_beside_kind kind);

/*
 * Appends one line if a GGUF has another template than the repository whose
 * files are beside it, or which its metadata names and Hugging Face's cache has:
 * which file, and what to do.  Appends nothing otherwise.
 */
void cf_model_template_note(cf_buf *out, const cf_engine *engine, const char *name);

CF_END_DECLS

#endif
