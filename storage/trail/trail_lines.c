/*
 * trail_lines.c - a file's lines as JSON objects.
 *
 * Agents write bytes that are not UTF-8, where a text was cut: a line that has
 * some is mended and tried once more.
 */
#include <string.h>

#include "core/base/utf8.h"
#include "core/json/json_digits.h"
#include "storage/trail/trail_build.h"

cf_status trail_parse(json_t **out, cf_str text, cf_error *err)
{
    cf_status st = cf_json_read_digits(out, text.p, text.n, err); /* in half of the time */
    if (st == CF_ELIMIT) {
        return cf_json_read(out, text.p, text.n, err); /* reads deeper */
    }
    if (st != CF_EFORMAT || cf_utf8_valid_prefix(text.p, text.n) == text.n) {
        return st;
    }
    cf_buf b = CF_BUF_INIT;
    cf_utf8_repair(&b, text);
    st = cf_buf_check(&b, err);
    CF_THEN(st, cf_json_read_digits(out, b.p, b.n, err));
    cf_buf_deinit(&b);
    return st;
}

static void tell(const trail_lines *l)
{
    if (l->opts != NULL && l->opts->progress != NULL && l->line % 256 == 0) {
        l->opts->progress(l->opts->ud, l->at, l->n);
    }
}

/* The line that begins at l->at. */
static cf_str take_line(trail_lines *l, bool *is_last)
{
    const char *p = l->p + l->at;
    const char *end = memchr(p, '\n', l->n - l->at);
    size_t n = end != NULL ? (size_t)(end - p) : l->n - l->at;
    *is_last = end == NULL;
    l->at += n + (end != NULL);
    l->line++;
    return cf_str_trim(cf_str_make(p, n));
}

bool trail_next(trail_lines *l, trail_reader *r, json_t **v, cf_status *st, cf_error *err)
{
    *v = NULL;
    if (*st == CF_OK && r != NULL && trail_failed(r)) {
        *st = cf_oom(err);
    }
    while (*st == CF_OK && l->at < l->n) {
        bool is_last;
        cf_str line = take_line(l, &is_last);
        tell(l);
        cf_status got = trail_stops(l->opts) ? cf_fail(err, CF_ECANCELLED, "interrupted")
                        : line.n != 0        ? trail_parse(v, line, err)
                                             : CF_EFORMAT;
        if (got == CF_OK && json_is_object(*v)) {
            return true;
        }
        json_decref(*v);
        *v = NULL;
        if (got == CF_ENOMEM || got == CF_ECANCELLED) {
            *st = got;
        } else if (r != NULL && line.n != 0) {
            const char *why = got == CF_OK ? "not an object" : is_last ? "cut" : "not JSON";
            trail_left_out(r, l->line, why, cf_str_make(NULL, 0));
        }
    }
    return false;
}

cf_status trail_each_line(trail_reader *r, cf_str text, const cf_trail_options *opts,
                          trail_line_fn read, void *reader, cf_error *err)
{
    trail_lines l = {.p = text.p, .n = text.n, .opts = opts};
    cf_status st = CF_OK;
    for (json_t *v; trail_next(&l, r, &v, &st, err); json_decref(v)) {
        read(reader, v, l.line);
    }
    return st == CF_OK && trail_failed(r) ? cf_oom(err) : st;
}
