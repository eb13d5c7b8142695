/*
 * facts.c - writes tables of facts as JSON and as text.
 */
#include "tui/cli/answers/facts.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* The number of a fact that is one. */
static uint64_t number_of(const cf_fact *f, const void *of)
{
    const char *p = (const char *)of + f->at;
    switch (f->kind) {
    case CF_FACT_BOOL:
        return *(const bool *)p;
    case CF_FACT_U32:
        return *(const uint32_t *)p;
    case CF_FACT_SIZE:
        return *(const size_t *)p;
    case CF_FACT_U64:
    case CF_FACT_BYTES:
        return *(const uint64_t *)p;
    case CF_FACT_TEXT:
    case CF_FACT_CHARS:
    case CF_FACT_STR:
    case CF_FACT_MS:
        break;
    }
    return 0;
}

/* The text of a fact that is one. */
static cf_str text_of(const cf_fact *f, const void *of)
{
    const char *p = (const char *)of + f->at;
    if (f->kind == CF_FACT_STR) {
        return *(const cf_str *)p;
    }
    const char *text = f->kind == CF_FACT_CHARS ? p : *(const char *const *)p;
    return cf_str_from(text != NULL ? text : "");
}

static bool is_text(const cf_fact *f)
{
    return f->kind == CF_FACT_TEXT || f->kind == CF_FACT_CHARS || f->kind == CF_FACT_STR;
}

static double ms_of(const cf_fact *f, const void *of)
{
    return *(const double *)((const char *)of + f->at);
}

void cf_facts_json(cf_jw *w, const cf_fact *facts, const void *of)
{
    for (const cf_fact *f = facts; f->name != NULL; f++) {
        if (is_text(f)) {
            cf_jw_str(w, f->name, text_of(f, of));
        } else if (f->kind == CF_FACT_BOOL) {
            cf_jw_bool(w, f->name, number_of(f, of) != 0);
        } else if (f->kind == CF_FACT_MS) {
            cf_jw_format(w, f->name, "%.3f", ms_of(f, of));
        } else {
            cf_jw_uint(w, f->name, number_of(f, of));
        }
    }
}

static const cf_fact *find(const cf_fact *facts, cf_str name)
{
    for (const cf_fact *f = facts; f->name != NULL; f++) {
        if (cf_str_is(name, f->name)) {
            return f;
        }
    }
    return NULL;
}

bool cf_facts_has(const cf_fact *facts, const void *of, const char *name)
{
    const cf_fact *f = find(facts, cf_str_from(name));
    return f != NULL && (is_text(f)              ? text_of(f, of).n != 0
                         : f->kind == CF_FACT_MS ? ms_of(f, of) != 0
                                                 : number_of(f, of) != 0);
}

void cf_facts_size(cf_buf *out, uint64_t bytes)
{
    static const char *const unit[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    double v = (double)bytes;
    size_t u = 0;
    for (; v >= 1024 && u < 4; u++) {
        v /= 1024;
    }
    cf_buf_addf(out, "%.*f %s", u == 0 ? 0 : 1, v, unit[u]);
}

/* A fact with what is after the colon of its place in the form. */
static void put_fact(cf_buf *out, const cf_fact *f, const void *of, const char *how)
{
    char *end;
    int width = (int)strtol(how, &end, 10);
    int digits = *end == '.' ? (int)strtol(end + 1, NULL, 10) : -1;
    if (is_text(f)) {
        cf_str s = text_of(f, of);
        cf_buf_addf(out, "%*.*s", width, (int)s.n, s.p != NULL ? s.p : "");
    } else if (f->kind == CF_FACT_MS) {
        cf_buf_addf(out, "%*.*f", width, digits, ms_of(f, of));
    } else if (*how == 'M') {
        cf_buf_addf(out, "%.2f million", (double)number_of(f, of) / 1e6);
    } else if (f->kind == CF_FACT_BYTES && *how != 'd') {
        cf_facts_size(out, number_of(f, of));
    } else {
        cf_buf_addf(out, "%*" PRIu64, width, number_of(f, of));
    }
}

void cf_facts_text(cf_buf *out, const char *form, const cf_fact *facts, const void *of)
{
    while (*form != '\0') {
        size_t n = strcspn(form, "{");
        cf_buf_add(out, form, n);
        form += n;
        if (*form == '{') {
            cf_str name = cf_str_make(form + 1, strcspn(form + 1, ":}"));
            const cf_fact *f = find(facts, name);
            CF_ASSERT(f != NULL);
            const char *how = name.p + name.n;
            put_fact(out, f, of, *how == ':' ? how + 1 : "");
            form = strchr(form, '}') + 1;
        }
    }
}
