/*
 * lab_adapters.c - switches adapters without loading the model again.
 */
#include "tui/lab/talk/lab_adapters.h"

#include <string.h>

#include "core/base/alloc.h"
#include "core/base/safe_text.h"
#include "templates/open.h"
#include "tui/lab/state/lab_task.h"
#include "tui/lab/talk/talk_impl.h"

/* Opens the names of a line, which are cut apart in place. */
static cf_status open_line(cf_opened_adapters *out, const cf_engine *engine, char *line,
                           cf_error *err)
{
    const char *names[CF_ADAPTERS_MAX + 1];
    size_t n = 0;
    for (char *at = line; *at != '\0' && n <= CF_ADAPTERS_MAX;) {
        at += strspn(at, " ");
        size_t len = strcspn(at, " ");
        if (len == 0) {
            break;
        }
        names[n++] = at;
        at += len;
        if (*at != '\0') {
            *at++ = '\0';
        }
    }
    return cf_open_adapters(out, engine, names, n, err);
}

cf_status cf_lab_open_adapters(cf_opened_adapters *out, const cf_engine *engine, const char *text,
                               cf_error *err)
{
    char *line = cf_strdup(strcmp(text, "off") == 0 ? "" : text);
    if (line == NULL) {
        return cf_oom(err);
    }
    cf_status st = open_line(out, engine, line, err);
    cf_free(line);
    return st;
}

void cf_adapters_label(cf_buf *out, const cf_adapter_use *v, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const char *path = cf_adapter_get_info(v[i].adapter).path;
        const char *slash = strrchr(path, '/');
        const char *name = slash != NULL && slash[1] != '\0' ? slash + 1 : path;
        cf_buf_adds(out, i == 0 ? "" : ", ");
        cf_safe_line(out, name, strlen(name));
        cf_buf_addf(out, " x %g", (double)v[i].scale);
    }
}

cf_status cf_lab_set_adapters(cf_lab *lab, const char *text, cf_error *err)
{
    cf_lab_talk *talk = lab->talk;
    cf_session *session = cf_backend_core_session(lab->engine.backend);
    cf_opened_adapters now = {.n = 0};
    CF_TRY(cf_lab_need_idle(lab, err));
    if (session == NULL || lab->engine.engine == NULL) {
        return cf_fail(err, CF_EUNSUPPORTED, "adapters need the built-in engine");
    }
    bool is_start = strcmp(text, "start") == 0;
    cf_status st = cf_lab_open_adapters(&now, lab->engine.engine, is_start ? "off" : text, err);
    if (!talk->adapters.has_first && st == CF_OK) { /* the first change */
        size_t n;
        const cf_adapter_use *v = cf_session_adapters(session, &n);
        memcpy(talk->adapters.first, v, n * sizeof *v);
        talk->adapters.n_first = n;
        talk->adapters.has_first = true;
    }
    CF_THEN(st, cf_session_set_adapters(session, is_start ? talk->adapters.first : now.use,
                                        is_start ? talk->adapters.n_first : now.n, err));
    if (st != CF_OK) {
        cf_opened_adapters_close(&now);
        return st;
    }
    cf_opened_adapters_close(&talk->adapters.opened);
    talk->adapters.opened = now;
    lab->generation++;
    return CF_OK;
}

const cf_adapter_use *cf_lab_adapters(const cf_lab *lab, size_t *n)
{
    const cf_session *session = cf_backend_core_session(lab->engine.backend);
    *n = 0;
    return session != NULL ? cf_session_adapters(session, n) : NULL;
}

const cf_steering *cf_lab_steering(const cf_lab *lab)
{
    const cf_session *session = cf_backend_core_session(lab->engine.backend);
    return session != NULL ? cf_session_steering(session) : NULL;
}

void cf_lab_adapters_text(const cf_lab *lab, cf_buf *out)
{
    size_t n;
    const cf_adapter_use *v = cf_lab_adapters(lab, &n);
    for (size_t i = 0; i < n; i++) {
        cf_adapter_info info = cf_adapter_get_info(v[i].adapter);
        cf_buf_adds(out, i == 0 ? "" : ", ");
        cf_safe_line(out, info.path, strlen(info.path));
        cf_buf_addf(out, " x %g", (double)v[i].scale);
    }
    const cf_steering *steering = cf_lab_steering(lab);
    size_t n_use = 0;
    const cf_steering_use *use = steering != NULL ? cf_steering_uses(steering, &n_use) : NULL;
    for (size_t i = 0; i < n_use; i++) {
        cf_buf_adds(out, n + i == 0 ? "steered by " : ", steered by ");
        cf_safe_line(out, use[i].path, strlen(use[i].path));
        cf_buf_addf(out, " x %g", (double)use[i].scale);
        if (use[i].last != 0) {
            cf_buf_addf(out, ":%u-%u", use[i].first, use[i].last);
        }
    }
    cf_buf_adds(out, n + n_use == 0 ? "none" : "");
}
