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
 * Memory:   what is returned is borrowed until the next call.
 */
#ifndef CF_CORE_API_ENGINE_PLUGIN_H
#define CF_CORE_API_ENGINE_PLUGIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Changes whenever anything in this header does. */
enum { CF_PLUGIN_ABI = 2, CF_PLUGIN_SEQS = 256, CF_PLUGIN_NAME = 64, CF_PLUGIN_WHY = 160 };

typedef enum cf_plugin_result {
    CF_PLUGIN_OK = 0,
    CF_PLUGIN_FULL,    /* the cells of the cache do not suffice */
    CF_PLUGIN_STOPPED, /* cf_engine_plugin_stops() said so */
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
    uint32_t is_recurrent;       /* a sequence can be cut to nothing only */
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
} cf_plugin_row;

typedef enum cf_plugin_look {
    CF_PLUGIN_LAYERS,   /* [n_layer, n_embd]: the stream after each layer */
    CF_PLUGIN_LENS,     /* [n_layer + 1, n_vocab]: the logits that the model's head makes of
                           the stream before the first layer, and of those after each */
    CF_PLUGIN_ATTENTION /* of each layer the number of its heads, 0 without attention, and
                           then [heads, n]: what the position gives to each one up to it */
} cf_plugin_look;

typedef struct cf_engine_plugin {
    /* The engine's name and version; NULL, and why, where it cannot be used. */
    const char *(*name)(char why[CF_PLUGIN_WHY]);
    /* Opens the model of this process, and is called once; false, and why. */
    bool (*open)(const char *path, const cf_plugin_options *o, cf_plugin_info *out,
                 char why[CF_PLUGIN_WHY]);
    /* Computes rows[0..n).  After a failure sequences may hold more or less than
     * before; the caller cuts them. */
    cf_plugin_result (*pass)(const cf_plugin_row *rows, uint32_t n, char why[CF_PLUGIN_WHY]);
    /* [n_vocab] after a row of the last pass that wanted them. */
    const float *(*logits)(uint32_t row);
    /* Looks at the last of ids[0..n): out[n_out].  Afterwards all sequences are empty. */
    cf_plugin_result (*look)(cf_plugin_look what, const int32_t *ids, uint32_t n, const float **out,
                             size_t *n_out, char why[CF_PLUGIN_WHY]);
    /* Sequence `to` becomes a copy of `from`. */
    void (*fork)(uint32_t from, uint32_t to);
    /* Forgets a sequence from position `length` on. */
    void (*cut)(uint32_t seq, uint32_t length);
} cf_engine_plugin;

extern const cf_engine_plugin cf_engine_plugin_v1;

/* Whether the pass or the look that runs is to end.  Of the helper process; to be
 * asked now and then. */
bool cf_engine_plugin_stops(void);

#endif
