/*
 * template.h - chat templates: Jinja, as Python's jinja2 behaves in the
 * set-up of Hugging Face transformers, with the origin of every output byte.
 *
 * Place in the flow:  messages (a context) --> [template] --> prompt bytes
 * with spans --> tokenizer.
 * Knows: the template language.  Does not know: chat roles, models, tokens.
 *
 * Threads:  a cf_template and a cf_context never change after they were made;
 *           any number of threads may use them at the same time.
 * Memory:   a template owns its memory; contexts and results live in the
 *           arena given, which belongs to one thread.
 */
#ifndef CF_TEMPLATES_TEMPLATE_H
#define CF_TEMPLATES_TEMPLATE_H

#include "core/api/renderer.h"
#include "core/api/session.h"
#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/decls.h"
#include "core/base/status.h"
#include "core/base/str.h"
#include "core/json/json.h"

CF_BEGIN_DECLS

typedef struct cf_template cf_template;
typedef struct cf_context cf_context;

/* How the source is read.  Zero is what transformers uses. */
typedef struct cf_template_options {
    bool allow_mutation;        /* list.append, dict.update and their like
                                   work, as in llama.cpp and minja */
    bool no_trim_blocks;        /* keep the line end after a block tag */
    bool no_lstrip_blocks;      /* keep blanks before a block tag */
    bool keep_trailing_newline; /* keep the source's last line end */
} cf_template_options;

/* Limits that end a render which would not end by itself; 0: the default. */
typedef struct cf_template_limits {
    uint64_t max_steps;      /* nodes visited and bytes moved; 4,000,000 */
    size_t max_output_bytes; /* 16 MiB */
    size_t max_memory_bytes; /* 128 MiB, results included */
    uint32_t max_depth;      /* nested calls and expressions; 900 */
} cf_template_limits;

/* Where and why compiling or rendering stopped.  The text of cf_error is the
 * same message, cut to fit there. */
typedef struct cf_template_error {
    cf_str message;     /* one line, or what raise_exception was given */
    uint32_t line, col; /* 1-based, col in bytes; 0 when not known */
    uint32_t off, len;  /* the offending bytes of the source */
    bool is_raised;     /* the template called raise_exception */
} cf_template_error;

/* A stretch of output inside {% generation %}, in code points and bytes. */
typedef struct cf_generation {
    uint32_t start, end;           /* code points */
    uint32_t byte_start, byte_end; /* bytes */
} cf_generation;

typedef struct cf_render {
    cf_prompt prompt;
    const cf_generation *generation; /* [n_generation] */
    size_t n_generation;
    bool has_generation; /* the template has {% generation %} blocks */
    uint64_t n_steps;
    cf_template_error error; /* filled when the call fails */
    /* With `causes`: every condition in the order of its evaluation, the first
     * 65,536; also when the call fails. */
    const cf_prompt_cause *causes; /* [n_causes] */
    size_t n_causes;
    const cf_prompt_cause *failed_under; /* innermost at the failure; NULL */
} cf_render;

typedef struct cf_render_options {
    cf_template_limits limits;
    /* Render the context with a marker at the end of the last message and cut
     * there, so that a model continues that message. */
    bool continue_final_message;
    bool no_spans;     /* leave prompt.spans empty */
    bool causes;       /* record the conditions under which spans were written */
    int64_t now;       /* of strftime_now, seconds since 1970; 0: the clock */
    cf_cancel *cancel; /* checked while rendering; may be NULL */
} cf_render_options;

/*
 * Reads `source` (UTF-8).  options NULL: the default.
 *
 * CF_EFORMAT with line and column for a mistake in the template; `why` (may
 * be NULL) is then filled, its message lives in `arena`, which may be NULL
 * when `why` is.  CF_ENOMEM; CF_ELIMIT for a source over 4 MiB or nested too
 * deeply.
 */
CF_MUST_USE cf_status cf_template_compile(cf_template **out, cf_str source,
                                          const cf_template_options *options, cf_arena *arena,
                                          cf_template_error *why, cf_error *err);
void cf_template_free(cf_template *tpl);

/* The source as compiled (line ends as given); borrowed. */
cf_str cf_template_source(const cf_template *tpl);

/* Appends the source line that `why` points at and a line of carets below
 * the offending bytes; nothing when the place is not known. */
void cf_template_caret(cf_buf *out, cf_str source, const cf_template_error *why);

/* Makes a context of a JSON object: each top-level key is a variable.
 * CF_EINVAL when it is not an object, CF_ENOMEM, CF_ELIMIT (depth). */
CF_MUST_USE cf_status cf_context_from_json(cf_context **out, const json_t *json, cf_arena *arena,
                                           cf_error *err);

/* The same from JSON text, read exactly: integers of any size, and floats
 * apart from integers.  CF_EFORMAT with line and column. */
CF_MUST_USE cf_status cf_context_read(cf_context **out, cf_str text, cf_arena *arena,
                                      cf_error *err);

/*
 * Renders.  options NULL: the default.
 *
 * Returns  CF_OK
 *          CF_EFORMAT  the template failed; out->error says where and why
 *          CF_ELIMIT   a limit was reached; out->error names it
 *          CF_ECANCELLED
 *          CF_ENOMEM
 *
 * Holds    the spans cover the text in order without gap or overlap; a span
 *          with is_copy has the very bytes of its source at src_off.  The
 *          result depends on template, context, options and (strftime_now)
 *          the clock only.
 */
CF_MUST_USE cf_status cf_template_render(const cf_template *tpl, const cf_context *context,
                                         const cf_render_options *options, cf_arena *arena,
                                         cf_render *out, cf_error *err);

CF_END_DECLS

#endif
