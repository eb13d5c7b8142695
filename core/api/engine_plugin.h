/*
 * engine_plugin.h - what another program's engine does for confab's sessions.
 *
 * Place in the flow:  sessions --> a helper process of confab's: [engine plug-in] -->
 *                     a library that computes.
 * Knows: rows of tokens, sequences, logits.  Does not know: texts, sampling,
 * confab's own arithmetic.
 *
 * A plug-in is one C file that defines cf_engine_plugin_v1.  It is compiled with
 * core/helper/helper_main.c into a program that confab starts for each model and
 * talks to over pipes, so that a library that ends its process ends no more than that.
 *
 * Threads:  all calls come from one thread.
 * Memory:   the plug-in owns its models; what it returns is borrowed until the
 *           next call.
 */
#ifndef CF_CORE_API_ENGINE_PLUGIN_H
#define CF_CORE_API_ENGINE_PLUGIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Changes whenever anything in this header does. */
enum { CF_PLUGIN_ABI = 1, CF_PLUGIN_SEQS = 256, CF_PLUGIN_NAME = 64, CF_PLUGIN_WHY = 160 };

typedef enum cf_plugin_result {
    CF_PLUGIN_OK = 0,
    CF_PLUGIN_FULL,    /* the cells of the cache do not suffice */
    CF_PLUGIN_STOPPED, /* `stop` said so */
    CF_PLUGIN_FAILED
} cf_plugin_result;

typedef struct cf_plugin_options {
    uint32_t n_ctx;       /* cells of the cache, which all sequences share; 0: the smaller
                           of the trained context and 8192 */
    uint32_t n_threads;   /* 0: the plug-in's choice */
    int32_t n_gpu_layers; /* negative: all */
    char cache[8];        /* "f16", "f32", "q8_0", "q4_0"; "": the plug-in's choice */
} cf_plugin_options;

typedef struct cf_plugin_info {
    uint32_t n_vocab, n_embd, n_layer, n_ctx_train;
    uint32_t n_ctx;   /* cells that there are */
    uint32_t n_seq;   /* sequences 0..n_seq-1 may be used, at most CF_PLUGIN_SEQS */
    uint32_t n_batch; /* rows of a pass at most */
    uint32_t n_threads;
    uint32_t is_recurrent;       /* a sequence cannot be cut */
    uint32_t has_streams;        /* streams() answers */
    char cache[8];               /* the type that is used */
    char engine[CF_PLUGIN_NAME]; /* "llama.cpp v0.5.0" */
    char device[CF_PLUGIN_NAME]; /* "CPU", "CUDA" ... */
} cf_plugin_info;

/* One token of a pass; those of a sequence come in order, the first after the
 * last that the sequence has. */
typedef struct cf_plugin_row {
    int32_t id;
    uint32_t seq, pos;
    uint32_t wants_logits;
    uint32_t wants_streams; /* in a pass of one row only */
} cf_plugin_row;

typedef struct cf_engine_plugin {
    uint32_t abi; /* CF_PLUGIN_ABI */
    /* The engine's name and version; NULL, and why, where it cannot be used. */
    const char *(*name)(char why[CF_PLUGIN_WHY]);
    /* A model, or NULL and why. */
    void *(*open)(const char *path, const cf_plugin_options *o, cf_plugin_info *out,
                  char why[CF_PLUGIN_WHY]);
    /* Computes rows[0..n).  After a failure sequences may hold more or less than
     * before; the caller cuts them.  `stop` is asked now and then. */
    cf_plugin_result (*pass)(void *model, const cf_plugin_row *rows, uint32_t n,
                             bool (*stop)(void *ud), void *ud, char why[CF_PLUGIN_WHY]);
    /* [n_vocab] after a row of the last pass that wanted them. */
    const float *(*logits)(void *model, uint32_t row);
    /* [n_layer, n_embd] after each layer, for the row that wanted them; NULL: the
     * model does not disclose them. */
    const float *(*streams)(void *model);
    /* Sequence `to` becomes a copy of `from`. */
    void (*fork)(void *model, uint32_t from, uint32_t to);
    /* Forgets a sequence from position `length` on; false: it cannot, and
     * nothing was changed.  With 0 it always can. */
    bool (*cut)(void *model, uint32_t seq, uint32_t length);
} cf_engine_plugin;

extern const cf_engine_plugin cf_engine_plugin_v1;

#endif
