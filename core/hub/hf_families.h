/*
 * hf_families.h - what model families call their tensors and sizes in a
 * Hugging Face folder, as tables.
 *
 * A family that runs as GGUF has one row here: the names of config.json's
 * "model_type", the defaults of its configuration class, and which of its
 * tensors becomes which tensor of a GGUF, in what order of rows.  A family
 * that differs in one list shares the others.
 * Sources: the modeling_*.py and configuration_*.py files of transformers, and
 * the layouts that llama.cpp's converters write, restated in
 * docs/models/safetensors.md.
 *
 * Threads:  constant.
 */
#ifndef CF_CORE_HUB_HF_FAMILIES_H
#define CF_CORE_HUB_HF_FAMILIES_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/str.h"

/* In what order rows and columns of the source become those of the tensor. */
typedef enum cf_hf_order {
    CF_HF_SAME,
    CF_HF_PAIRS_Q,    /* a query head's halves become pairs */
    CF_HF_PAIRS_K,    /* a key head's */
    CF_HF_FIRST_HALF, /* rows of gate above rows of up */
    CF_HF_SECOND_HALF,
    CF_HF_VALUE_ROWS,  /* DeltaNet: value heads of a key head move apart */
    CF_HF_VALUE_TAIL,  /* the same after the rows of queries and keys */
    CF_HF_VALUE_ONES,  /* the same with one row a head */
    CF_HF_VALUE_COLS,  /* the same with columns */
    CF_HF_QKV_OF_QKVZ, /* a key head has its q, k, v and z together */
    CF_HF_Z_OF_QKVZ,
    CF_HF_TURNED,      /* [experts, columns, rows] */
    CF_HF_TURNED_EVEN, /* the same, every second row */
    CF_HF_TURNED_ODD,
    CF_HF_EVEN, /* every second column */
    CF_HF_ODD,
    CF_HF_MX, /* MXFP4: "_blocks" and "_scales" */
    CF_HF_MX_EVEN,
    CF_HF_MX_ODD,
    CF_HF_AFTER_PAD, /* without the rows of positions that RoBERTa leaves free */
    CF_HF_COPIED     /* as it is, but not where it is */
} cf_hf_order;

enum { CF_HF_PAD_ROWS = 2 };

/* What becomes of each number. */
typedef enum cf_hf_value {
    CF_HF_AS_IS,
    CF_HF_PLUS_ONE, /* norms that multiply by 1 + weight */
    CF_HF_NEG_EXP,  /* A_log to A = -exp(A_log) */
    CF_HF_TIMES     /* Falcon-H1: by the multipliers of hf_config.h */
} cf_hf_value;

/* "to" without "blk.N.", "from" without its prefix and "layers.N."; in the
 * outer lists both whole but for the prefix; a `from` that begins with '/' has
 * none.  '#' in `from` is the number of an expert or stream. */
typedef struct cf_hf_row {
    const char *to, *from;
    cf_hf_order order;
    cf_hf_value value;
} cf_hf_row;

enum { CF_HF_LISTS = 8 };

typedef struct cf_hf_family {
    const char *types; /* names of model_type, with spaces between */
    const char *arch;  /* the family's name in arch.h */
    const cf_hf_row *outer;
    const cf_hf_row *layer[CF_HF_LISTS]; /* ends with a NULL */
    const char *defaults;                /* JSON: members that configurations leave out */
} cf_hf_family;

/* What stands before the number of a layer: "layers." */
const char *cf_hf_family_layers(const cf_hf_family *f);

/* The first row with that name in arch.h; NULL likewise. */
const cf_hf_family *cf_hf_family_of_arch(const char *arch);
/* NULL for a type that is not in the table. */
const cf_hf_family *cf_hf_family_find(cf_str model_type);

#endif
