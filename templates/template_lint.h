/*
 * template_lint.h - the faults of a chat template, found by rendering probes.
 *
 * Place in the flow:  source --> template --> renders of made-up
 * conversations --> [lint] --> findings for a command or a screen.
 * Knows: templates, their capabilities, the syntaxes of tool calls, and
 * optionally a tokenizer.
 * Does not know: real conversations, models, how findings are shown.
 *
 * Nothing is concluded from words in the source where a render can tell: each
 * finding carries a short context that shows it.
 *
 * Threads:  no state; a template is constant.
 * Memory:   results live in the arena given; the probes of one lint take at
 *           most 128 MiB at a time in addition, and 40 million steps together.
 */
#ifndef CF_TEMPLATES_TEMPLATE_LINT_H
#define CF_TEMPLATES_TEMPLATE_LINT_H

#include "core/api/media.h"
#include "core/api/session.h"
#include "core/api/tokenizer.h"
#include "core/api/tool.h"
#include "core/base/decls.h"
#include "templates/template.h"
#include "templates/template_caps.h"
#include "templates/template_catalogue.h"

CF_BEGIN_DECLS

/* ---- faults ------------------------------------------------------------- */

/* A condition that decided a finding, or a related place. */
typedef struct cf_lint_because {
    uint32_t line, col;  /* of the template, 1-based */
    cf_str test;         /* its source text; empty: not a condition */
    const char *outcome; /* "is true in the shorter prompt, false in the
                            longer"; constant */
} cf_lint_because;

typedef struct cf_lint_finding {
    const char *rule;               /* "E012"; constant */
    uint32_t line, col;             /* of the template, 1-based; 0: no one place */
    cf_str message;                 /* what is wrong, one line */
    const char *effect;             /* its effect on the model; constant */
    const char *fix;                /* the usual fix; constant */
    cf_str context;                 /* JSON: a short context that shows it; may be empty
                           where the source alone does */
    const cf_lint_because *because; /* [n_because]: what decided it; the most
                                       telling first */
    size_t n_because;
} cf_lint_finding;

/* One cell of the prefix-stability table. */
typedef struct cf_lint_stability {
    const char *name; /* "plain", "tool call", "tool result", "two rounds" */
    bool with_system, thinking;
    bool is_rendered; /* false: the template refuses this conversation */
    bool is_stable;
    uint32_t off;     /* first diverging byte of the shorter prompt */
    uint32_t message; /* index of the message it falls into */
    uint32_t line;    /* of the template, in the longer prompt */
    size_t n_again;   /* tokens (bytes without a tokenizer) after it that
                         were in the cache and must be computed again */
} cf_lint_stability;

enum { CF_LINT_STABILITY_MAX = 16 };

typedef struct cf_lint_report {
    const cf_lint_finding *v; /* [n] by rule, then by line */
    size_t n;
    size_t n_errors, n_warnings, n_notes; /* by E, W, I */
    cf_template_caps caps;
    cf_lint_stability stability[CF_LINT_STABILITY_MAX];
    size_t n_stability;
    cf_tool_family family;
    const cf_known_template *known; /* the public version that it is, or NULL */
    bool is_cut;                    /* a probe reached a limit: one finding says so, and nothing
                    else was tried; caps may be incomplete */
} cf_lint_report;

/* Facts about the model, all of them optional. */
typedef struct cf_lint_options {
    const cf_tokenizer *tokenizer; /* for E002, W008 and token counts */
    cf_str bos, eos;               /* spelling; empty: "<s>" and "</s>" */
    cf_str arch, model_name;       /* used to find the family of tool calls */
    /* What the model's projector reads (cf_media_markers()), ended by NULL;
     * NULL: not known, and the vocabulary's own are looked for. */
    const char *const *image_markers, *const *audio_markers;
    cf_str client;     /* whose requests are tried, too: a name of
                                      cf_lint_client_at(), or "all"; empty:
                                      none (E013 and E014 stay silent) */
    cf_cancel *cancel; /* checked while probing; may be NULL */
} cf_lint_options;

/* Fills in what is known about a model: its vocabulary, the engine that runs it and
 * its projector, each of which may be NULL.  The spellings of BOS and EOS go into
 * the arena.  CF_ENOMEM. */
CF_MUST_USE cf_status cf_lint_describe_model(cf_lint_options *options, const cf_tokenizer *tok,
                                             const cf_engine *engine, const cf_media *media,
                                             cf_arena *arena, cf_error *err);

/*
 * Lints `source`.  A source that does not compile gives one finding (W009 for
 * a construct of jinja2 that is left out on purpose, else E005) with the
 * engine's message; so does a template that reaches a limit of steps, memory
 * or depth (E005, is_cut).  CF_ENOMEM, CF_ECANCELLED.
 */
CF_MUST_USE cf_status cf_template_lint(cf_str source, const cf_lint_options *options,
                                       cf_arena *arena, cf_lint_report *out, cf_error *err);

/* Appends "line 12: `loop.last` is true"; the test as it is in the template. */
void cf_lint_because_text(cf_buf *out, const cf_lint_because *because);

/* The names of the clients whose requests lint knows; NULL past the last. */
const char *cf_lint_client_at(size_t i);

/* All rules in order; NULL past the last. */
typedef struct cf_lint_rule {
    const char *id, *title, *effect, *fix;
} cf_lint_rule;
const cf_lint_rule *cf_lint_rule_at(size_t i);

/* ---- variables ---------------------------------------------------------- */

/* A name that a template takes from its context. */
typedef struct cf_template_variable {
    cf_str name;
    uint32_t line, col; /* of its first use */
    bool is_guarded;    /* whether every use allows it to be missing */
} cf_template_variable;

/* The variables of a template in the order of their first use, without what
 * every engine has (range, namespace, raise_exception ...); the first 128.
 * Names point into the template.  CF_ENOMEM. */
CF_MUST_USE cf_status cf_template_variables(const cf_template *tpl, cf_arena *arena,
                                            const cf_template_variable **out, size_t *n,
                                            cf_error *err);

CF_END_DECLS

#endif
