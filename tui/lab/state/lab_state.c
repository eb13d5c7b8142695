/*
 * lab_state.c - what is known of the engine and of the state of a lab.
 */
#include "tui/lab/state/lab_state.h"

#include "tui/lab/state/lab_impl.h"

bool cf_lab_is_busy(const cf_lab *lab)
{
    return lab->is_writing;
}

const cf_lab_engine *cf_lab_engine_of(const cf_lab *lab)
{
    return &lab->engine;
}

enum { DEFAULT_CTX = 8192 /* core/api/session.h */ };

size_t cf_lab_context_size(const cf_lab *lab)
{
    const cf_lab_engine *e = cf_lab_engine_of(lab);
    const cf_session *session = e->engine != NULL ? cf_backend_core_session(e->backend) : NULL;
    if (session != NULL) {
        return cf_session_n_ctx(session);
    }
    if (e->session.n_ctx != 0) {
        return e->session.n_ctx;
    }
    if (e->engine == NULL) {
        return cf_lab_info(lab).n_ctx; /* of a server; 0: not known */
    }
    uint32_t trained = cf_engine_get_info(e->engine).n_ctx_train;
    return trained < DEFAULT_CTX ? trained : DEFAULT_CTX;
}

cf_reply_settings *cf_lab_settings(cf_lab *lab)
{
    return &lab->settings;
}

cf_backend_info cf_lab_info(const cf_lab *lab)
{
    return cf_backend_get_info(lab->engine.backend);
}

uint64_t cf_lab_generation(const cf_lab *lab)
{
    return lab->generation;
}
