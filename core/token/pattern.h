/*
 * pattern.h - a regular expression or a literal text to look for.
 *
 * Two kinds of expressions: confab's own, written for PCRE2 and known to take
 * linear time, and those that tokenizer files contain, written for Oniguruma.
 * The latter are translated and run under limits, because a file may contain
 * anything.
 *
 * Threads:  constant after init; a search needs the scratch of one thread.
 */
#ifndef CF_CORE_TOKEN_PATTERN_H
#define CF_CORE_TOKEN_PATTERN_H

#include "core/base/buf.h"
#include "core/base/status.h"
#include "core/base/str.h"

/* Unicode's White_Space, inside of a class.  PCRE2's \s also has U+180E. */
#define CF_WHITE                            \
    "\\x09-\\x0d \\x{85}\\x{a0}\\x{1680}"   \
    "\\x{2000}-\\x{200a}\\x{2028}\\x{2029}" \
    "\\x{202f}\\x{205f}\\x{3000}"

enum { CF_PATTERN_LIMITS = 6 };

typedef struct cf_pattern {
    void *memory, *code;             /* of PCRE2; NULL for a literal */
    void *limits[CF_PATTERN_LIMITS]; /* [n_limits] contexts, of ever more steps */
    size_t n_limits;
    cf_str literal; /* borrowed */
} cf_pattern;

/* Compiles one of confab's own expressions.  CF_EUNSUPPORTED, CF_ENOMEM. */
CF_MUST_USE cf_status cf_pattern_init(cf_pattern *p, const char *source, cf_error *err);
/* Compiles an expression in Oniguruma's Ruby syntax, as tokenizer.json has
 * them.  CF_EUNSUPPORTED for what cannot be expressed, CF_ENOMEM. */
CF_MUST_USE cf_status cf_pattern_init_foreign(cf_pattern *p, cf_str source, cf_error *err);
/* Looks for `text` as it is. */
void cf_pattern_init_literal(cf_pattern *p, cf_str text);
void cf_pattern_deinit(cf_pattern *p);

/* Scratch for one thread, good for every pattern, which counts the work of all
 * searches with it: one for each text.  NULL without memory. */
void *cf_pattern_new_match(void);
void cf_pattern_free_match(void *match);

/*
 * The next match in `text` (well-formed UTF-8) that starts at byte `at` or
 * later; assertions see the text before `at`.  *found false: none.
 * CF_ENOMEM; CF_ELIMIT when the expression of a file takes too much work here,
 * or in all searches with `match` together.
 */
CF_MUST_USE cf_status cf_pattern_find(const cf_pattern *p, void *match, cf_str text, size_t at,
                                      size_t *from, size_t *to, bool *found, cf_error *err);

/* A walk over all matches in a text, which do not overlap.  An empty match is
 * left out where the one before it ended.  Start with at = 0 and
 * last = SIZE_MAX. */
typedef struct cf_search {
    const cf_pattern *pattern;
    void *match;
    cf_str text;
    size_t at;   /* where to look next */
    size_t last; /* end of the match before; SIZE_MAX: none */
} cf_search;

CF_MUST_USE cf_status cf_search_next(cf_search *s, size_t *from, size_t *to, bool *found,
                                     cf_error *err);

/* Appends `source`, an expression for Oniguruma, as one for PCRE2. */
CF_MUST_USE cf_status cf_pattern__translate(cf_buf *out, cf_str source, cf_error *err);

#endif
