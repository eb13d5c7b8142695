/*
 * fuzz_gguf.c - any bytes as a model file: read, walked, opened, run.
 *
 * Whatever opens is used: all values and tensors are visited, the vocabulary
 * is opened without and with weights, and two tokens are computed.
 */
#include <stdlib.h>
#include <string.h>

#include "core/api/session.h"
#include "core/model/gguf.h"

#if defined(__SANITIZE_ADDRESS__)
#define HAS_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HAS_ASAN 1
#endif
#endif
#if defined(HAS_ASAN)
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(p, n)   ((void)(p), (void)(n))
#define ASAN_UNPOISON_MEMORY_REGION(p, n) ((void)(p), (void)(n))
#endif

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Numbers read are added up here, so that no read is optimised away. */
static volatile double sink;

static void walk_value(const cf_gguf_value *v)
{
    uint64_t at = 0;
    uint64_t i = 0;
    cf_str s;
    while (cf_gguf_next_str(v, &at, &i, &s)) {
        sink += s.n != 0 ? s.p[s.n - 1] : 0;
    }
    if (v->item != CF_GGUF_STRING) {
        for (i = 0; i < v->n; i++) {
            sink += cf_gguf_item_f64(v, i) + (double)cf_gguf_item_i64(v, i);
        }
    }
    sink += cf_gguf_type_name(v->type)[0];
}

static void walk(const cf_gguf *g)
{
    uint64_t header = 0;
    cf_str s;
    bool flag;
    for (size_t i = 0; i < cf_gguf_n_values(g); i++) {
        walk_value(cf_gguf_value_at(g, i));
    }
    for (size_t i = 0; i < cf_gguf_n_tensors(g); i++) {
        const cf_gguf_tensor *t = cf_gguf_tensor_at(g, i);
        sink += t->name.p[t->name.n - 1];
        sink += t->bytes != 0 ? t->p[0] + t->p[t->bytes - 1] : 0;
    }
    s = cf_gguf_part(g, 0, &header);
    sink += header < s.n ? s.p[header] : 0;
    sink += cf_gguf_get_str(g, "general.name", &s);
    sink += cf_gguf_get_bool(g, "tokenizer.ggml.add_bos_token", &flag);
    sink += cf_gguf_find_tensor(g, "token_embd.weight") != NULL;
}

static void run(cf_engine *e)
{
    static const cf_token ids[2] = {0, 1};
    cf_session_options o = {.n_ctx = 40, .n_batch = 2};
    cf_session *s = NULL;
    cf_plan plan;
    sink += cf_engine_plan(e, 0, CF_CACHE_DEFAULT, &plan, NULL) == CF_OK;
    if (cf_session_new(&s, e, &o, NULL) == CF_OK) {
        sink += cf_session_sync(s, ids, 2, NULL, NULL, NULL) == CF_OK;
        cf_session_free(s);
    }
}

static void open_engine(const void *p, size_t n, bool vocab_only)
{
    cf_engine_options o = {.n_threads = 1, .vocab_only = vocab_only};
    cf_engine *e = NULL;
    cf_buf text = CF_BUF_INIT;
    cf_tensor_info t;
    const char *type = NULL;
    cf_str key;
    char hash[65];
    if (cf_engine_open_memory(&e, p, n, &o, NULL) != CF_OK) {
        return;
    }
    for (size_t i = 0; cf_engine_meta(e, i, &key, &type, &text); i++) {
        cf_buf_reset(&text);
    }
    for (size_t i = 0; cf_engine_tensor(e, i, &t); i++) {
        sink += (double)t.bytes;
    }
    cf_engine_hash(e, hash);
    sink += hash[0] + (double)cf_engine_get_info(e).n_param;
    cf_buf_deinit(&text);
    if (!vocab_only) {
        run(e);
    }
    cf_engine_close(e);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cf_gguf *g = NULL;
    cf_error err;
    size_t room = size / 64 * 64 + 64;
    unsigned char *p = aligned_alloc(64, room);
    if (p == NULL) {
        return 0;
    }
    if (size != 0) {
        memcpy(p, data, size);
    }
    ASAN_POISON_MEMORY_REGION(p + size, room - size);
    if (cf_gguf_open_memory(&g, p, size, &err) == CF_OK) {
        walk(g);
        cf_gguf_close(g);
        open_engine(p, size, true);
        open_engine(p, size, false);
    } else if (strchr(err.text, '\n') != NULL || err.text[0] == '\0') {
        abort(); /* a bad file gets one line */
    }
    ASAN_UNPOISON_MEMORY_REGION(p, room);
    free(p);
    return 0;
}
