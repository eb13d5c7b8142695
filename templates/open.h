/*
 * open.h - a model by its name, and model, template and tool family joined
 * into what answers a conversation.
 *
 * Place in the flow:  "model.gguf", "bundled", an address --> [open] -->
 *                     engine, template, backend --> conversation.h.
 * Knows: where models are found, the bundled model, the kinds of backends.
 * Does not know: conversations, histories, command lines.
 *
 * confab.h does all of this in one call; this header is for programs that
 * choose the parts themselves.
 *
 * Threads:  call on one thread; where models are kept is read from the
 *           environment.
 * Memory:   options borrow their texts; cf_opened owns its parts until
 *           cf_opened_close().
 */
#ifndef CF_TEMPLATES_OPEN_H
#define CF_TEMPLATES_OPEN_H

#include "core/api/adapter.h"
#include "core/api/conversation.h"
#include "core/api/engine.h"
#include "core/api/media.h"
#include "core/api/prefix.h"
#include "core/api/steer.h"
#include "core/base/decls.h"
#include "templates/template.h"

CF_BEGIN_DECLS

/* All zero is the bundled model with its own template. */
typedef struct cf_open_options {
    const char *model;         /* a .gguf file, a model folder, a name that
                          model_place.h knows, llama: and one of these, an http(s) address,
                          script:FILE or "bundled"; NULL: the default one */
    const char *default_model; /* likewise; NULL: the bundled model */
    const char *mmproj;        /* its projector file; NULL: mmproj*.gguf in
                                  the model's folder, where there is one */
    const char *draft_model;   /* a small model of the same vocabulary, named as
                                  `model`; NULL: none */
    const char *template_name; /* file or built-in name; NULL: the next one */
    cf_str template_text;      /* the template itself; empty: the model's */
    const char *db;            /* for callers that keep a history; unused here */
    const char *key;           /* for a server; copied, never printed */
    const char *server_model;  /* for a server; NULL: the first it lists */
    uint32_t n_threads, n_ctx; /* 0: what the machine or the model has */
    const char *kernel_set;    /* NULL: the best */
    const char *encoder_blas;  /* "on", "off", "auto"; NULL: auto */
    const char *load_as;       /* as in cf_engine_options */
    cf_cache_type cache;       /* likewise */
    const char *const *lora;   /* [n_lora] adapters, "FILE" or "FILE=SCALE" */
    size_t n_lora;
    const char *const *steer; /* [n_steer] control vectors, "FILE[=SCALE][:A-B]",
                                 A-B being the first and last direction */
    size_t n_steer;
    bool opens_lora; /* cf_open_engine(): the caller opens both itself */
    cf_arithmetic arithmetic;
    uint32_t n_gpu_layers; /* of llama:FILE, where has_gpu_layers; else all */
    bool has_gpu_layers;
    bool has_tools;         /* of several templates of a model, its "tool_use" */
    bool allows_no_weights; /* cf_open_backend(): a folder without weights
                               opens, and every request is answered with
                               "model not found" */
    bool allows_encoder;    /* the same for a model that makes embeddings only */
    /* Called with what takes long when it begins, and with NULL when it is
     * over; may be NULL. */
    void (*busy)(void *ud, const char *what);
    void *ud; /* of busy */
} cf_open_options;

/* ---- the model file ----------------------------------------------------- */

/* Whether the model's name is llama:FILE, which an engine plug-in computes; and the
 * name without the prefix. */
bool cf_open_is_plugin(const char *model);
const char *cf_open_plugin_file(const char *model);

/* Appends the program of the plug-in, and the name and version of its engine.
 * CF_EUNSUPPORTED if it is not built; errors of cf_engine_plugin_name(), with
 * *path filled. */
CF_MUST_USE cf_status cf_open_plugin_name(cf_buf *path, cf_buf *name, cf_error *err);

/* Opens the model file, or the bundled model; vocab_only leaves the weights
 * unread.  CF_EINVAL when there is none, `model` does not name a file, or there
 * are adapters without opens_lora; errors of cf_engine_open(), with what to do. */
CF_MUST_USE cf_status cf_open_engine(cf_engine **out, const cf_open_options *o, bool vocab_only,
                                     cf_error *err);

/* Opens the draft model that the options name, for replies of `engine`; *out is
 * NULL where they name none.  Errors as above. */
CF_MUST_USE cf_status cf_open_draft_engine(cf_engine **out, const cf_open_options *o,
                                           cf_error *err);

/* Open adapters and their scales, and steering. */
typedef struct cf_opened_adapters {
    cf_adapter *adapter[CF_ADAPTERS_MAX];
    cf_adapter_use use[CF_ADAPTERS_MAX];
    size_t n;
    cf_steering *steering; /* NULL: none */
} cf_opened_adapters;

/* Opens n adapters for an engine, each "FILE" or "FILE=SCALE".  CF_EINVAL for
 * a scale that is not a number or too many; errors of cf_adapter_open(). */
CF_MUST_USE cf_status cf_open_adapters(cf_opened_adapters *out, const cf_engine *engine,
                                       const char *const *names, size_t n, cf_error *err);
/* The same for those of the options, and their steering, and gives both to n
 * sessions of the engine; *out must outlive these. */
CF_MUST_USE cf_status cf_open_use_adapters(cf_opened_adapters *out, const cf_engine *engine,
                                           const cf_open_options *o, cf_session *const *sessions,
                                           size_t n, cf_error *err);
void cf_opened_adapters_close(cf_opened_adapters *a);

/* The model that was given, else the default one; NULL: the bundled model. */
const char *cf_open_model(const cf_open_options *o);

/* Whether the options mean the bundled model.  False in a build without
 * one. */
bool cf_open_is_bundled(const cf_open_options *o);

/* For what works without a model too: names the default model, or the bundled
 * one if there is one, where no model was given. */
void cf_open_want_model(cf_open_options *o);

/* Opens the projector file that the options name, or one beside the model that
 * was made for it; *out is NULL where there is none.  Errors of
 * cf_media_open() for one that was named. */
CF_MUST_USE cf_status cf_open_media(cf_media **out, const cf_engine *engine,
                                    const cf_open_options *o, cf_error *err);

/* The message for a picture when there is no projector. */
#define CF_OPEN_NO_MEDIA                                                      \
    "the model has no projector file: --mmproj FILE, or mmproj*.gguf in its " \
    "folder"

/* ---- the template ------------------------------------------------------- */

/* Appends the source of a template file, or of the built-in template of that
 * name.  CF_ENOTFOUND, CF_EIO, CF_ENOMEM. */
CF_MUST_USE cf_status cf_open_template_text(cf_buf *out, const char *name, cf_error *err);

/* The special tokens of a tokenizer_config.json that holds the template `name`,
 * as variables of a context: bos_token, eos_token ...; a new object, empty for
 * any other file and for built-in templates.  CF_ENOMEM. */
CF_MUST_USE cf_status cf_open_template_tokens(json_t **out, const char *name, cf_error *err);

/* Appends the source that the options name, or else `engine`'s own (NULL: it
 * has none), and says in *from where it came from: a file, a name, "model".
 * Without either, nothing is appended and *from is "none".  Errors as above. */
CF_MUST_USE cf_status cf_open_template_source(cf_buf *out, const char **from,
                                              const cf_open_options *o, const cf_engine *engine,
                                              cf_error *err);

/* ---- the backend -------------------------------------------------------- */

typedef struct cf_opened {
    cf_backend *backend;
    cf_engine *engine;         /* NULL: no built-in model */
    cf_engine *draft;          /* the draft model; NULL: none */
    cf_prefix_cache *prefixes; /* of its sessions; NULL: likewise */
    cf_opened_adapters adapters;
    cf_template *tpl; /* NULL: rendered without a template */
    cf_buf source;    /* of the template */
    const char *from; /* where it came from: a file, a name, "model" */
    cf_tool_family family;
    const char *family_why;
    cf_role_map roles;
    /* Pictures and sounds. */
    cf_media *media;             /* reads pictures and sounds; NULL: nothing does */
    cf_media_cache *media_cache; /* likewise */
} cf_opened;

/*
 * Opens the model, server or script that the options name.  `family` NULL:
 * detected from template and metadata.  After a failure *out is unchanged.
 */
CF_MUST_USE cf_status cf_open_backend(cf_opened *out, const cf_open_options *o, const char *family,
                                      cf_error *err);

/* Without a model: prompts can be rendered (with the template given, else as
 * ChatML), and every request is answered with "model not found". */
CF_MUST_USE cf_status cf_open_without_model(cf_opened *out, const cf_open_options *o,
                                            cf_error *err);

/* Releases all parts; `b` may be zeroed. */
void cf_opened_close(cf_opened *b);

CF_END_DECLS

#endif
