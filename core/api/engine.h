/*
 * engine.h - a loaded model, from a GGUF file or a Hugging Face folder.
 *
 * Place in the flow:  model file or folder --> [engine] --> sessions, tokenizer.
 * Knows: the file's metadata, the memory plan, the threads.  Does not know:
 * prompts, sampling, chat.
 *
 * An engine is large and shared; a session (session.h) is one timeline of
 * tokens on it.  The weights stay in the mapped file, unless they are reordered
 * (docs/models/safetensors.md) or loaded as another type.
 *
 * Threads:  constant after open: any thread may read it and make sessions.
 *           The engine's thread pool runs one pass at a time; sessions on
 *           different threads take turns.
 * Memory:   the engine owns everything reached from it; sessions must be
 *           freed before it is closed.
 */
#ifndef CF_CORE_API_ENGINE_H
#define CF_CORE_API_ENGINE_H

#include "core/api/arithmetic.h"
#include "core/api/tokenizer.h"
#include "core/base/buf.h"
#include "core/base/decls.h"
#include "core/base/status.h"
#include "core/base/str.h"

CF_BEGIN_DECLS

typedef struct cf_engine cf_engine;

typedef enum cf_cache_type {
    CF_CACHE_DEFAULT = 0, /* F32 when the engine is exact, or when a position
                             takes at most 16 KiB as F32; else F16 */
    CF_CACHE_F16,
    CF_CACHE_F32,
    CF_CACHE_Q8_0, /* 8 or 4 bits a number and a scale for 32 of a head */
    CF_CACHE_Q4_0,
    CF_CACHE_COUNT
} cf_cache_type;

/* "f16", "f32", "q8_0", "q4_0"; "" for the default. */
const char *cf_cache_name(cf_cache_type type);
/* The type of that name; CF_CACHE_DEFAULT for an unknown one. */
cf_cache_type cf_cache_named(cf_str name);

/* Whether OpenBLAS computes the products of picture and sound encoders. */
typedef enum cf_blas_choice {
    CF_BLAS_AUTO = 0, /* where it is installed and knows the processor */
    CF_BLAS_ON,       /* wherever it is installed */
    CF_BLAS_OFF       /* never: the same bits on every machine */
} cf_blas_choice;

typedef struct cf_engine_options {
    unsigned n_threads; /* 0: one a processor */
    cf_arithmetic arithmetic;
    bool vocab_only;        /* tokenizer and metadata; no tensor is needed */
    bool metadata_only;     /* not even the tokenizer, which is NULL then */
    const char *load_as;    /* "q8_0" or "q4_0": float matrices become that in
                               memory; NULL: weights as they are, mapped */
    const char *kernel_set; /* one of cf_about.kernel; NULL: the best */
    cf_blas_choice encoder_blas;
    cf_cache_type cache; /* of sessions that do not name one */
    /* The program of an engine plug-in (engine_plugin.h), which computes in a process
     * of its own; NULL: confab itself. */
    const char *plugin;
    uint32_t n_gpu_layers; /* of a plug-in, where has_gpu_layers; else all */
    bool has_gpu_layers;
    uint32_t n_ctx; /* tokens that all sessions of a plug-in share; 0: as cf_engine_plan() */
} cf_engine_options;

/*
 * Opens a GGUF file (any part of a split model finds the others), or a
 * Hugging Face folder; the metadata then has the keys that a GGUF of it would
 * have.  A folder's weights are loaded if they are of a family that confab
 * runs.
 * Returns CF_ENOTFOUND, CF_EIO, CF_ENOMEM; CF_EFORMAT with the offset where
 * the file breaks its format; CF_EUNSUPPORTED for an architecture, tensor
 * type or tokenizer that confab does not implement.  `opts` may be NULL.
 */
CF_MUST_USE cf_status cf_engine_open(cf_engine **out, const char *path,
                                     const cf_engine_options *opts, cf_error *err);

/* The same from bytes that the caller keeps alive and unchanged: the bundled
 * model, and tests.  bytes must be 32-byte aligned. */
CF_MUST_USE cf_status cf_engine_open_memory(cf_engine **out, const void *bytes, size_t n,
                                            const cf_engine_options *opts, cf_error *err);
void cf_engine_close(cf_engine *engine);

/* Appends the name and version of the engine that the plug-in `program` runs.
 * CF_ENOTFOUND, CF_EIO; CF_EUNSUPPORTED, with the reason, if it cannot be used;
 * CF_EBUSY if it ended by itself. */
CF_MUST_USE cf_status cf_engine_plugin_name(cf_buf *out, const char *program, cf_error *err);

const cf_tokenizer *cf_engine_tokenizer(const cf_engine *engine);

/* How a model pools a text into one vector; numbered as ARCH.pooling_type in
 * GGUF. */
typedef enum cf_pooling {
    CF_POOLING_NONE, /* the file declares none */
    CF_POOLING_MEAN, /* of the states after all tokens */
    CF_POOLING_FIRST,
    CF_POOLING_LAST,
    CF_POOLING_RANK /* as the family's ranker does, which computes a score from it */
} cf_pooling;

typedef struct cf_engine_info {
    const char *arch;       /* "llama", "qwen3" ...; borrowed, like all here */
    const char *name;       /* general.name, "" when absent */
    const char *path;       /* "" for memory */
    const char *engine;     /* "own", or a plug-in's "llama.cpp v0.5.0 (CPU)" */
    const char *kernel_set; /* of a plug-in the same text as `engine` */
    const char *file_type;  /* most common tensor type: "Q4_K" ... */
    const char *load_as;    /* as in the options; NULL: weights as they are */
    uint64_t file_bytes;    /* of all parts */
    uint64_t weight_bytes;
    uint64_t step_bytes; /* of them, read for one token: without experts that are
                            not chosen and other tokens' embeddings */
    uint64_t n_param;
    uint32_t n_layer, n_embd, n_ff, n_head, n_head_kv, head_size;
    uint32_t n_deepstack;             /* layers that read parts of rows of embeddings */
    uint32_t n_recurrent;             /* layers with a state */
    uint32_t n_expert, n_expert_used; /* of a layer; 0: no experts */
    uint32_t n_vocab;
    uint32_t n_ctx_train; /* tokens the model was trained for */
    cf_pooling pooling;
    bool is_encoder; /* it makes embeddings only (embed.h); no session runs on it */
    unsigned n_threads;
    cf_blas_choice encoder_blas;
    cf_arithmetic arithmetic;
    bool has_weights; /* false when opened with vocab_only */
    bool is_folder;   /* a Hugging Face folder, not a GGUF */
} cf_engine_info;

cf_engine_info cf_engine_get_info(const cf_engine *engine);

/* SHA-256 over the header and metadata (names, shapes, values) and the first
 * and last 64 KiB of tensor data: identifies a model without reading a
 * gigabyte.  64 hex digits and a NUL. */
void cf_engine_hash(const cf_engine *engine, char out[65]);

/* The chat template stored under tokenizer.chat_template, or the named one
 * under tokenizer.chat_template.NAME ("default": the first); {NULL, 0} where
 * there is none. */
cf_str cf_engine_chat_template(const cf_engine *engine, const char *name);

/* Metadata in file order.  value is appended to `value` in a readable form;
 * arrays are cut after 8 items.  False past the end. */
bool cf_engine_meta(const cf_engine *engine, size_t i, cf_str *key, const char **type_name,
                    cf_buf *value);

/* A string, number or bool of the metadata; false when absent or another
 * kind of value. */
bool cf_engine_meta_str(const cf_engine *engine, const char *key, cf_str *out);
bool cf_engine_meta_i64(const cf_engine *engine, const char *key, int64_t *out);

typedef struct cf_tensor_info {
    cf_str name;
    const char *type; /* "Q4_K" ... */
    uint32_t n_dim;
    uint64_t dim[4]; /* fastest first, as in the file; 1 past n_dim */
    uint64_t bytes;
    uint64_t file_off; /* from the start of its file */
} cf_tensor_info;

/* CF_EFORMAT, with what is wrong, for a folder whose weight files are damaged: such a
 * folder still opens, for its vocabulary and metadata. */
CF_MUST_USE cf_status cf_engine_check_weights(const cf_engine *engine, cf_error *err);

/* Tensors in file order; false past the end. */
bool cf_engine_tensor(const cf_engine *engine, size_t i, cf_tensor_info *out);

/* One buffer of a memory plan. */
typedef struct cf_plan_item {
    const char *name;  /* "kv cache", "activations" ... */
    const char *type;  /* "F16" ... */
    uint64_t shape[4]; /* slowest first, 0 past the end */
    uint64_t bytes;
    bool is_mapped; /* part of the file, given back under pressure */
} cf_plan_item;

enum { CF_PLAN_MAX = 32 };

typedef struct cf_plan {
    cf_plan_item item[CF_PLAN_MAX];
    size_t n;
    uint64_t session_bytes; /* allocated per session at full context */
    uint64_t shared_bytes;  /* allocated once per engine */
    uint64_t mapped_bytes;  /* the weights */
} cf_plan;

/* The memory that a session of n_ctx tokens will need; allocates nothing.
 * n_ctx 0 means the smaller of the trained context and 8192. */
CF_MUST_USE cf_status cf_engine_plan(const cf_engine *engine, uint32_t n_ctx, cf_cache_type cache,
                                     cf_plan *out, cf_error *err);

CF_END_DECLS

#endif
