/*
 * yaml_read.h - reads a YAML document as a JSON value, with line numbers.
 *
 * Place in the flow:  FILE.yaml --> [yaml] --> a JSON value --> the reader of a
 *                     configuration of another program (promptfoo.h).
 * Knows: YAML 1.1 as libyaml parses it, plain scalars by the core schema of
 * YAML 1.2 (section 10.3 of https://yaml.org/spec/1.2.2/), anchors, aliases,
 * merge keys.  Does not know: what a document means.
 *
 * Threads:  any one; a value that was read is constant.
 * Memory:   a cf_yaml owns its value and its lines.
 */
#ifndef CF_TUI_STUDY_IMPORT_YAML_READ_H
#define CF_TUI_STUDY_IMPORT_YAML_READ_H

#include "core/base/buf.h"
#include "core/base/status.h"
#include "core/json/json.h"

enum {
    CF_YAML_DEPTH_MAX = 64,
    CF_YAML_NODES_MAX = 1000000 /* an alias counts as the nodes it expands to */
};

typedef struct cf_yaml_place {
    const json_t *value;
    size_t line;
} cf_yaml_place;

typedef struct cf_yaml {
    json_t *root;
    cf_yaml_place *place; /* [n_place] of lists, mappings, texts */
    size_t n_place, cap_place;
} cf_yaml;

/*
 * Reads one document; an empty one is null.  `name` begins every message:
 * "plan.yaml:3: ...".  CF_EFORMAT for a syntax error, a key that is not a
 * string or is repeated, an alias without an anchor, a tag outside the core
 * schema, a second document; CF_ELIMIT for a document that is nested too deeply
 * or has too many nodes; CF_ENOMEM.
 */
CF_MUST_USE cf_status cf_yaml_read(cf_yaml *out, const char *name, cf_str text, cf_error *err);
void cf_yaml_deinit(cf_yaml *y);

/* The line, from 1, on which a part of the value begins; 0 where that is not
 * known, as for numbers and booleans. */
size_t cf_yaml_line(const cf_yaml *y, const json_t *value);

#endif
