/*
 * otlp.c - a request of OTLP is a line of the file, whole or not at all.
 */
#include "tui/serve/proxy/otlp.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/os_append.h"
#include "core/json/json.h"
#include "storage/trail.h"
#include "tui/serve/record/record_impl.h"

/* Later traces are refused: the file is not deleted by itself. */
static const off_t file_max = 1LL << 30;

struct cf_otlp {
    cf_otlp_options o;
    pthread_mutex_t lock;
};

/* ---- the file ------------------------------------------------------------ */

static bool write_all(int fd, const char *p, size_t n)
{
    while (n > 0) {
        ssize_t k = write(fd, p, n);
        if (k <= 0) {
            return false;
        }
        p += k;
        n -= (size_t)k;
    }
    return true;
}

/* A line that does not fit is taken back. */
static cf_status append(const cf_otlp *o, const char *line, size_t n, cf_error *err)
{
    struct stat s;
    int fd;
    CF_TRY(cf_os_append_open(&fd, o->o.path, err));
    if (fstat(fd, &s) != 0) {
        close(fd);
        return cf_fail(err, CF_EIO, "%s cannot be written", o->o.path);
    }
    cf_status st = CF_OK;
    if (s.st_size + (off_t)n > file_max) {
        st = cf_fail(err, CF_EIO, "%s is full (1 GiB)", o->o.path);
    } else if (!write_all(fd, line, n)) {
        st = cf_fail(err, CF_EIO, "%s cannot be written%s", o->o.path,
                     ftruncate(fd, s.st_size) == 0 ? "" : ", and has a torn line");
    }
    close(fd);
    return st;
}

/* The request's bytes as one line: JSON has line ends between its words only. */
static cf_status keep(cf_otlp *o, cf_str body, cf_error *err)
{
    char *line = cf_alloc(body.n + 1);
    if (line == NULL) {
        return cf_oom(err);
    }
    for (size_t i = 0; i < body.n; i++) {
        line[i] = body.p[i] == '\n' || body.p[i] == '\r' ? ' ' : body.p[i];
    }
    line[body.n] = '\n';
    pthread_mutex_lock(&o->lock);
    cf_status st = append(o, line, body.n + 1, err);
    pthread_mutex_unlock(&o->lock);
    cf_free(line);
    return st;
}

/* ---- answers ------------------------------------------------------------- */

static void answer_json(const cf_http_request *r, cf_http_answer *a, const char *body)
{
    cf_http_header *h = cf_arena_calloc(r->arena, 1, sizeof *h);
    *a = (cf_http_answer){.status = 200, .body = cf_str_from(body)};
    if (h != NULL) {
        *h = (cf_http_header){cf_str_from("Content-Type"), cf_str_from("application/json")};
        a->headers = h;
        a->n_headers = 1;
    }
}

/* Why a request is not read; NULL: it is. */
static const char *refusal(const cf_http_request *r, unsigned *status)
{
    cf_str type = cf_http_header_get(r->headers, r->n_headers, "Content-Type");
    *status = 404;
    if (!cf_str_is(r->path, "/v1/traces")) {
        return "only /v1/traces is here: logs and metrics hold no sessions";
    }
    *status = 405;
    if (!cf_str_is(r->method, "POST")) {
        return "traces are posted";
    }
    *status = 415;
    if (!cf_str_begins(type, "application/json")) {
        return "only JSON is read: OTEL_EXPORTER_OTLP_PROTOCOL=http/json";
    }
    return NULL;
}

/* Traces without a request to a model are well formed, and not kept. */
static cf_status take(cf_otlp *o, cf_str body, cf_otlp_taken *taken, cf_trails *trails,
                      cf_error *err)
{
    json_t *v;
    CF_TRY(cf_json_read(&v, body.p, body.n, err));
    json_decref(v);
    cf_status st = cf_trails_read_otel(trails, body, err);
    if (st == CF_EFORMAT) {
        taken->why = "no request to a model";
        return CF_OK;
    }
    CF_THEN(st, keep(o, body, err));
    for (size_t i = 0; st == CF_OK && i < trails->n; i++) {
        taken->n_steps += trails->v[i]->n_steps;
        taken->title = i == 0 ? cf_trail_name(trails->v[0]) : taken->title;
    }
    taken->n_sessions = st == CF_OK ? trails->n : 0;
    return st;
}

static void on_answer(void *ud, const cf_http_request *r, cf_http_answer *a)
{
    cf_otlp *o = ud;
    cf_otlp_taken taken = {.title = cf_str_from("")};
    cf_trails trails = {0};
    cf_error err;
    unsigned status;
    cf_buf room = CF_BUF_INIT;
    cf_str body;
    taken.why = refusal(r, &status);
    if (taken.why != NULL) {
        cf_http_fail(r, a, status, "not_read", taken.why);
    } else {
        cf_status st = cf_record__decode(
            &body, &room, cf_http_header_get(r->headers, r->n_headers, "Content-Encoding"), r->body,
            true, &err);
        CF_THEN(st, take(o, body, &taken, &trails, &err));
        if (st == CF_OK) {
            answer_json(r, a, "{\"partialSuccess\":{}}");
        } else {
            taken.why = err.text;
            status = st == CF_EFORMAT        ? 400
                     : st == CF_EUNSUPPORTED ? 415
                     : st == CF_ELIMIT       ? 413
                     : st == CF_EIO          ? 507
                                             : 500;
            cf_http_fail(r, a, status, "not_kept", err.text);
        }
    }
    if (o->o.told != NULL) {
        o->o.told(o->o.ud, &taken);
    }
    cf_trails_deinit(&trails);
    cf_buf_deinit(&room);
}

cf_status cf_otlp_new(cf_otlp **out, const cf_otlp_options *options, cf_error *err)
{
    cf_otlp *o = cf_calloc(1, sizeof *o);
    if (o == NULL) {
        return cf_oom(err);
    }
    o->o = *options;
    pthread_mutex_init(&o->lock, NULL);
    *out = o;
    return CF_OK;
}

void cf_otlp_free(cf_otlp *o)
{
    if (o != NULL) {
        pthread_mutex_destroy(&o->lock);
        cf_free(o);
    }
}

cf_http_handler cf_otlp_handler(cf_otlp *o)
{
    return (cf_http_handler){.answer = on_answer, .ud = o};
}
