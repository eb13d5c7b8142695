/*
 * yaml_read.h - a YAML document as a JSON value, with the lines of its parts.
 *
 * Place in the flow:  FILE.yaml --> [yaml] --> a JSON value --> what reads a
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
#include "core/base/json.h"
#include "core/base/status.h"

enum {
    CF_YAML_DEPTH_MAX = 64,
    CF_YAML_NODES_MAX = 1000000 /* aliases count as what they stand for */
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
 * "plan.yaml:3: ...".  CF_EFORMAT for a mistake in the syntax, a key that is
 * not a text or is there twice, an alias without its anchor, a tag other than
 * those of the core schema, a second document; CF_ELIMIT for one too deep or
 * with too many nodes; CF_ENOMEM.
 */
CF_MUST_USE cf_status cf_yaml_read(cf_yaml *out, const char *name, cf_str text, cf_error *err);
void cf_yaml_deinit(cf_yaml *y);

/* The line, from 1, on which a part of the value begins; 0: it is not known,
 * as for numbers and truth values. */
size_t cf_yaml_line(const cf_yaml *y, const json_t *value);

#endif
