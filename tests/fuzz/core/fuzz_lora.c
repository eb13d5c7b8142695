/*
 * fuzz_lora.c - any bytes as an adapter for a small model: a GGUF, or the two
 * files of PEFT.  What opens changes matrices of the model by its own shapes,
 * and a token computed with it is as long as any.
 *
 * Byte 0: even for a GGUF; odd for PEFT, where bytes 1 and 2 are the length of
 * adapter_config.json, and the tensors follow it.
 */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/api/adapter.h"
#include "core/api/engine.h"
#include "tests/support/fuzz_file.h"
#include "tests/support/tiny_gguf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void need(bool ok)
{
    if (!ok) {
        abort();
    }
}

static cf_engine *the_engine(void)
{
    static cf_engine *engine;
    cf_error err;
    if (engine == NULL) {
        size_t n;
        const cf_engine_options o = {.n_threads = 1};
        void *bytes = cf_tiny_gguf(&(cf_tiny_options){.seed = 5}, &n);
        need(cf_engine_open_memory(&engine, bytes, n, &o, &err) == CF_OK);
    }
    return engine;
}

static void use(const cf_adapter *a)
{
    static const cf_token ids[] = {5, 6, 7};
    const cf_adapter_info info = cf_adapter_get_info(a);
    const cf_adapter_use with = {a, 0.5f};
    cf_session *s;
    cf_error err;
    float log_p[2];
    need(info.n_matrix > 0 && info.rank > 0);
    need(strlen(info.hash) == 64);
    if (cf_session_new(&s, the_engine(), NULL, &err) != CF_OK) {
        return;
    }
    if (cf_session_set_adapters(s, &with, 1, &err) == CF_OK) {
        cf_ignore(cf_session_score(s, ids, 3, 1, NULL, log_p, &err));
    }
    cf_session_free(s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cf_adapter *a = NULL;
    cf_error err = {0};
    const char *path;
    if (size < 3 || size > 100000) {
        return 0;
    }
    if (data[0] % 2 == 0) {
        path = cf_fuzz_file("a.gguf", data + 1, size - 1);
    } else {
        size_t n = (size_t)data[1] + 256 * (size_t)data[2];
        n = n > size - 3 ? size - 3 : n;
        (void)cf_fuzz_file("adapter_model.safetensors", data + 3 + n, size - 3 - n);
        path = cf_fuzz_file("adapter_config.json", data + 3, n);
    }
    cf_status st = cf_adapter_open(&a, the_engine(), path, &err);
    need((st == CF_OK) == (a != NULL));
    need(st == CF_OK || err.text[0] != '\0');
    if (a != NULL) {
        use(a);
        cf_adapter_free(a);
    }
    return 0;
}
