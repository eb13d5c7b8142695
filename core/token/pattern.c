/*
 * pattern.c - compiles patterns and searches with PCRE2.
 */
#include "core/token/pattern.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/utf8.h"

/* For expressions from files: steps of all searches in a text beyond those that
 * each byte and each search may have, and bytes of the heap.  PCRE2 does not say
 * how many steps a search took, so it begins with a few and gets more when they
 * were not enough; what it got is counted. */
enum {
    FOREIGN_STEPS = 5000000,
    FOREIGN_KIB = 64 << 10,
    STEPS_OF_SEARCH = 256,
    STEPS_OF_BYTE = 200,
    STEPS_FACTOR = 8
};

typedef struct scratch {
    pcre2_match_data *data;
    uint64_t spent; /* steps, of FOREIGN_STEPS */
} scratch;

static uint32_t steps_of(size_t limit)
{
    uint32_t steps = STEPS_OF_SEARCH;
    while (limit-- > 0) {
        steps *= STEPS_FACTOR;
    }
    return steps < FOREIGN_STEPS ? steps : FOREIGN_STEPS;
}

static void *take_memory(PCRE2_SIZE n, void *ud)
{
    (void)ud;
    return cf_alloc(n);
}

static void give_memory(void *p, void *ud)
{
    (void)ud;
    cf_free(p);
}

static bool make_contexts(cf_pattern *p, bool is_foreign)
{
    pcre2_general_context *memory = pcre2_general_context_create(take_memory, give_memory, NULL);
    p->memory = memory;
    p->n_limits = is_foreign ? CF_PATTERN_LIMITS : 1;
    for (size_t i = 0; i < p->n_limits; i++) {
        pcre2_match_context *limits = memory != NULL ? pcre2_match_context_create(memory) : NULL;
        p->limits[i] = limits;
        if (limits == NULL) {
            return false;
        }
        /* Our own expressions are linear, so that limits on work would only
         * break long texts. */
        uint32_t steps = is_foreign ? steps_of(i) : UINT32_MAX;
        pcre2_set_match_limit(limits, steps);
        pcre2_set_depth_limit(limits, steps);
        if (is_foreign) {
            pcre2_set_heap_limit(limits, FOREIGN_KIB);
        }
    }
    return true;
}

static cf_status compile(cf_pattern *p, cf_str source, uint32_t options, cf_error *err)
{
    pcre2_compile_context *how = pcre2_compile_context_create(p->memory);
    int code = PCRE2_ERROR_HEAP_FAILED;
    PCRE2_SIZE at = 0;
    if (how != NULL) {
        /* "." and "$" know only line feeds, as in Oniguruma. */
        pcre2_set_newline(how, PCRE2_NEWLINE_LF);
        p->code = pcre2_compile((PCRE2_SPTR)source.p, source.n, options | PCRE2_UTF | PCRE2_UCP,
                                &code, &at, how);
    }
    pcre2_compile_context_free(how);
    if (p->code != NULL) {
        /* Without JIT it is only slower. */
        (void)pcre2_jit_compile(p->code, PCRE2_JIT_COMPLETE);
        return CF_OK;
    }
    return code == PCRE2_ERROR_HEAP_FAILED
               ? cf_oom(err)
               : cf_fail(err, CF_EUNSUPPORTED,
                         "this PCRE2 cannot compile the pattern %.*s (its "
                         "error %d)",
                         source.n > 80 ? 80 : (int)source.n, source.p, code);
}

static cf_status init(cf_pattern *p, cf_str source, bool is_foreign, cf_error *err)
{
    memset(p, 0, sizeof *p);
    /* Oniguruma's "^" and "$" always stand at lines. */
    uint32_t options = is_foreign ? PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C : 0;
    cf_status st = make_contexts(p, is_foreign) ? compile(p, source, options, err) : cf_oom(err);
    if (st != CF_OK) {
        cf_pattern_deinit(p);
    }
    return st;
}

cf_status cf_pattern_init(cf_pattern *p, const char *source, cf_error *err)
{
    return init(p, cf_str_from(source), false, err);
}

cf_status cf_pattern_init_foreign(cf_pattern *p, cf_str source, cf_error *err)
{
    memset(p, 0, sizeof *p);
    cf_buf b = CF_BUF_INIT;
    cf_status st = cf_pattern__translate(&b, source, err);
    CF_THEN(st, cf_buf_check(&b, err));
    CF_THEN(st, init(p, cf_buf_str(&b), true, err));
    cf_buf_deinit(&b);
    return st;
}

void cf_pattern_init_literal(cf_pattern *p, cf_str text)
{
    memset(p, 0, sizeof *p);
    p->literal = text;
}

void cf_pattern_deinit(cf_pattern *p)
{
    pcre2_code_free(p->code);
    for (size_t i = 0; i < CF_PATTERN_LIMITS; i++) {
        pcre2_match_context_free(p->limits[i]);
    }
    pcre2_general_context_free(p->memory);
    memset(p, 0, sizeof *p);
}

void *cf_pattern_new_match(void)
{
    scratch *s = cf_calloc(1, sizeof *s);
    pcre2_general_context *memory =
        s != NULL ? pcre2_general_context_create(take_memory, give_memory, NULL) : NULL;
    if (memory != NULL) {
        s->data = pcre2_match_data_create(1, memory);
    }
    pcre2_general_context_free(memory);
    if (s != NULL && s->data == NULL) {
        cf_free(s);
        s = NULL;
    }
    return s;
}

void cf_pattern_free_match(void *match)
{
    scratch *s = match;
    if (s != NULL) {
        pcre2_match_data_free(s->data);
        cf_free(s);
    }
}

static bool find_literal(cf_str want, cf_str text, size_t at, size_t *from, size_t *to)
{
    if (want.n == 0) {
        *from = *to = at;
        return true;
    }
    while (at < text.n && want.n <= text.n - at) {
        const char *hit = memchr(text.p + at, want.p[0], text.n - at - want.n + 1);
        if (hit == NULL) {
            return false;
        }
        if (memcmp(hit, want.p, want.n) == 0) {
            *from = (size_t)(hit - text.p);
            *to = *from + want.n;
            return true;
        }
        at = (size_t)(hit - text.p) + 1;
    }
    return false;
}

static int match_within(const cf_pattern *p, scratch *s, cf_str text, size_t at, size_t limit)
{
    PCRE2_SPTR subject = (PCRE2_SPTR)(text.n != 0 ? text.p : "");
    pcre2_match_context *limits = p->limits[limit];
    int rc = pcre2_match(p->code, subject, text.n, at, PCRE2_NO_UTF_CHECK, s->data, limits);
    if (rc == PCRE2_ERROR_JIT_STACKLIMIT) {
        rc = pcre2_match(p->code, subject, text.n, at, PCRE2_NO_UTF_CHECK | PCRE2_NO_JIT, s->data,
                         limits);
    }
    return rc;
}

/* Searches with more and more steps, and counts those that neither the search
 * nor the bytes it went over may have. */
static int search(const cf_pattern *p, scratch *s, cf_str text, size_t at)
{
    uint64_t steps = 0;
    size_t limit = 0;
    int rc;
    for (;; limit++) {
        rc = match_within(p, s, text, at, limit);
        bool is_over = rc == PCRE2_ERROR_MATCHLIMIT || rc == PCRE2_ERROR_DEPTHLIMIT;
        steps += limit > 0 ? steps_of(limit) : 0;
        if (!is_over || limit + 1 == p->n_limits || s->spent + steps > FOREIGN_STEPS) {
            break;
        }
    }
    if (rc >= 0 || rc == PCRE2_ERROR_NOMATCH) {
        size_t end = rc >= 0 ? pcre2_get_ovector_pointer(s->data)[1] : text.n;
        uint64_t free_steps = (uint64_t)(end > at ? end - at : 0) * STEPS_OF_BYTE;
        s->spent += steps > free_steps ? steps - free_steps : 0;
    }
    return s->spent > FOREIGN_STEPS ? PCRE2_ERROR_MATCHLIMIT : rc;
}

cf_status cf_pattern_find(const cf_pattern *p, void *match, cf_str text, size_t at, size_t *from,
                          size_t *to, bool *found, cf_error *err)
{
    if (p->code == NULL) {
        *found = find_literal(p->literal, text, at, from, to);
        return CF_OK;
    }
    scratch *s = match;
    int rc = search(p, s, text, at);
    *found = rc >= 0;
    if (rc == PCRE2_ERROR_NOMATCH) {
        return CF_OK;
    }
    if (rc < 0) {
        return rc == PCRE2_ERROR_NOMEMORY ? cf_oom(err)
                                          : cf_fail(err, CF_ELIMIT,
                                                    "splitting the text by the tokenizer's pattern "
                                                    "failed (PCRE2 error %d)",
                                                    rc);
    }
    const PCRE2_SIZE *v = pcre2_get_ovector_pointer(s->data);
    *from = v[0];
    *to = v[1] > v[0] ? v[1] : v[0];
    return CF_OK;
}

cf_status cf_search_next(cf_search *s, size_t *from, size_t *to, bool *found, cf_error *err)
{
    *found = false;
    while (s->at <= s->text.n) {
        CF_TRY(cf_pattern_find(s->pattern, s->match, s->text, s->at, from, to, found, err));
        if (!*found || *to > *from || *to != s->last) {
            s->last = s->at = *found ? *to : s->text.n + 1;
            return CF_OK;
        }
        uint32_t cp;
        s->at += *to < s->text.n ? cf_utf8_decode(&cp, s->text.p + *to, s->text.n - *to) : 1;
        *found = false;
    }
    return CF_OK;
}
