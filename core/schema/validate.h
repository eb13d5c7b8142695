/*
 * validate.h - a JSON value against a JSON Schema, with what is wrong and
 * where.
 *
 * Place in the flow: core/tools checks the arguments of a call with it, and
 *           `confab constrain` says with it why a text was refused.
 * Knows:    schemas as the grammar reads them (schema.h): the same keywords,
 *           drafts, patterns, formats and references, so that a value that a
 *           constraint lets through has no flaw, and the other way round
 *           wherever the schema can be a constraint.  What a constraint
 *           refuses but a value can be checked against (such as `contains`
 *           with a maximum) is checked here.
 * Does not know: tools, texts, positions.
 * Threads:  a validator belongs to one thread at a time.
 * Memory:   the validator borrows the schema, which outlives it; a flaw's
 *           texts are valid during the call that reports it.
 *
 * How to check the arguments of a call:
 *
 *     cf_validate_options opts = {.is_tool = true, .null_is_absent = true};
 *     cf_validator *v = NULL;
 *     CF_TRY(cf_validator_new(&v, tool->parameters, &opts, err));
 *     st = cf_validator_run(v, call->json, report, ud, &is_valid, err);
 *     cf_validator_free(v);
 *
 * with a `report` that maps CF_FLAW_NAME, _MISSING, _TYPE and _VALUE to the
 * status of a finding; the path has the notation of a call's spans.
 */
#ifndef CF_CORE_SCHEMA_VALIDATE_H
#define CF_CORE_SCHEMA_VALIDATE_H

#include "core/json/json.h"

typedef enum cf_flaw_kind {
    CF_FLAW_NAME,    /* a key that the schema does not allow */
    CF_FLAW_MISSING, /* a required key is missing */
    CF_FLAW_TYPE,    /* a value of another type, or of no alternative */
    CF_FLAW_VALUE    /* a value outside its limits */
} cf_flaw_kind;

typedef struct cf_flaw {
    cf_flaw_kind kind;
    const char *keyword; /* the keyword that is violated: "maximum", "required" */
    cf_str path;         /* "a.b[0]", "[\"odd key\"]"; "": the whole value */
    cf_str text;         /* "200 is over maximum 120" */
} cf_flaw;

typedef void (*cf_flaw_fn)(void *ud, const cf_flaw *flaw);

/* Zero is the default everywhere. */
typedef struct cf_validate_options {
    bool is_tool;           /* a tool's declaration: types in capitals and of
                            Python, "nullable", names with underscores */
    bool null_is_absent;    /* null for a key that is not required is valid */
    uint32_t max_flaws;     /* limit on flaws reported by a run; 0: 200 */
    uint32_t max_work;      /* limit on the steps of a run; 0: 8,000,000 */
    const char *schema_dir; /* as in cf_grammar_options; outlives the validator */
} cf_validate_options;

typedef struct cf_validator cf_validator;

/* CF_EFORMAT for a schema that is not an object, true or false; CF_ENOMEM. */
CF_MUST_USE cf_status cf_validator_new(cf_validator **out, const json_t *schema,
                                       const cf_validate_options *opts, cf_error *err);

/*
 * Calls fn (may be NULL) for each flaw: names and missing keys of an object
 * before the values of its keys, each object in its own order.
 * CF_EUNSUPPORTED, naming path and keyword, where the schema holds what is
 * not understood (and none of the value is invalid before that); CF_ELIMIT
 * past max_work or 200 levels; CF_ENOMEM.  The validator can be used again.
 */
CF_MUST_USE cf_status cf_validator_run(cf_validator *v, const json_t *value, cf_flaw_fn fn,
                                       void *ud, bool *is_valid, cf_error *err);
void cf_validator_free(cf_validator *v);

#endif
