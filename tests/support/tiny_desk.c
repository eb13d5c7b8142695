/*
 * tiny_desk.c - model, engine, history and workbench, opened in this order.
 */
#include "tests/support/tiny_desk.h"

#include "tests/support/store_dir.h"
#include "tests/support/t.h"
#include "tests/support/tiny_gguf.h"

void cf_tiny_desk_open(cf_tiny_desk *d, const cf_tiny_desk_options *o)
{
    const cf_tiny_options tiny = {.seed = 5};
    const cf_store_options create = {.flags = CF_STORE_CREATE};
    cf_error err;
    size_t n;
    *d = (cf_tiny_desk){.bytes = cf_tiny_gguf(&tiny, &n)};
    T_OK(cf_engine_open_memory(&d->engine, d->bytes, n, &o->engine, &err), err);
    T_OK(cf_backend_core_new(&d->backend, d->engine, &o->core, &err), err);
    if (o->db != NULL) {
        T_OK(cf_store_open(&d->store, store_dir_file(o->db), &create, &err), err);
    }
    const cf_lab_engine e = {.backend = d->backend,
                             .engine = d->engine,
                             .tokenizer = cf_engine_tokenizer(d->engine),
                             .template_name = "plain",
                             .sampling = o->sampling,
                             .has_sampling = true,
                             .max_tokens = o->max_tokens};
    T_OK(cf_lab_new(&d->lab, &e, d->store, &err), err);
}

void cf_tiny_desk_close(cf_tiny_desk *d)
{
    cf_lab_free(d->lab);
    cf_store_close(d->store);
    cf_backend_free(d->backend);
    cf_engine_close(d->engine);
    cf_tiny_free(d->bytes);
}

void cf_tiny_desk_settle(cf_tiny_desk *d)
{
    cf_error err;
    cf_lab_settle(d->lab, &err);
    assert_int_equal(err.code, CF_OK);
}
