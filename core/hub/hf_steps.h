/*
 * hf_steps.h - the rules of a tokenizer.json as steps of a pipeline.
 *
 * Every function reads one member of the file (JSON null or absent: no
 * steps) and adds steps to `p`; texts are copied to its arena.
 * CF_EUNSUPPORTED names a type that confab does not know, CF_ELIMIT comes
 * for too many steps, CF_EFORMAT for missing members.
 */
#ifndef CF_CORE_HUB_HF_STEPS_H
#define CF_CORE_HUB_HF_STEPS_H

#include "core/json/json.h"
#include "core/token/pipeline.h"

/* "normalizer" and "pre_tokenizer". */
CF_MUST_USE cf_status cf_hf_steps_norm(cf_pipeline *p, const json_t *v, cf_error *err);
CF_MUST_USE cf_status cf_hf_steps_split(cf_pipeline *p, const json_t *v, cf_error *err);

/* "post_processor" and "decoder". */
CF_MUST_USE cf_status cf_hf_steps_wrap(cf_pipeline *p, const json_t *v, cf_error *err);
CF_MUST_USE cf_status cf_hf_steps_decode(cf_pipeline *p, const json_t *v, cf_error *err);

/* ---- room-internal: pieces shared by the two files ----------------------- */

enum { CF_HF_NEST_MAX = 16 };

typedef struct cf_hf_reading {
    cf_pipeline *p;
    cf_error *err;
} cf_hf_reading;

/* A type of the file, and what turns one of it into steps. */
typedef struct cf_hf_row {
    const char *type;
    cf_status (*read)(cf_hf_reading *r, const json_t *o);
} cf_hf_row;

/* Reads v by the row of its type; the members of a "Sequence" are listed
 * under `members`.  `what` is for messages. */
CF_MUST_USE cf_status cf_hf__read(cf_pipeline *p, const json_t *v, const cf_hf_row *rows, size_t n,
                                  const char *what, const char *members, cf_error *err);

cf_str cf_hf__type(const json_t *o);
/* A copy of o[key] in the arena; empty where it is not a text. */
CF_MUST_USE cf_status cf_hf__text(cf_pipeline *p, const json_t *o, const char *key, cf_str *out,
                                  cf_error *err);
/* {"String": s} or {"Regex": s}. */
CF_MUST_USE cf_status cf_hf__pattern(cf_pipeline *p, const json_t *o, cf_pattern *out,
                                     cf_error *err);
/* o[key], or `otherwise` where it is neither true nor false. */
bool cf_hf__flag(const json_t *o, const char *key, bool otherwise);
/* Where Metaspace puts a space in front. */
cf_prepend cf_hf__prepend(const json_t *o);

#endif
