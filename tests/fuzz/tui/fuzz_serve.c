/*
 * fuzz_serve.c - any bytes as the body of a request to `serve`: what it asks
 * for can be done, or is refused with a line that says why.
 *
 * Byte 0: the interface.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/tiny_gguf.h"
#include "tui/serve/server/serve_impl.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void need(bool ok)
{
    if (!ok) {
        abort();
    }
}

static void check(const cf_serve__asked *a)
{
    need(a->is_raw || json_array_size(a->messages) > 0);
    for (size_t i = 0; i < json_array_size(a->messages); i++) {
        need(cf_json_get_str(json_array_get(a->messages, i), "role").n > 0);
    }
    need(a->n >= 1 && a->n <= CF_SERVE_N_MAX);
    need(a->options.n_stop <= CF_SERVE_STOPS_MAX);
    for (size_t i = 0; i < a->options.n_stop; i++) {
        need(a->options.stop[i].n > 0);
    }
    need(a->options.sampling.n_bias <= CF_SERVE_BIAS_MAX);
    need(a->wire.variables == NULL || json_is_object(a->wire.variables));
}

/* A server over a tiny model, made once. */
static const cf_serve *server(void)
{
    static cf_opened opened;
    static cf_serve s;
    cf_error err;
    size_t n;
    if (s.opened == NULL) {
        const cf_engine_options vocab_only = {.vocab_only = true};
        const void *bytes = cf_tiny_gguf(&(cf_tiny_options){.arch = "llama"}, &n);
        need(cf_engine_open_memory(&opened.engine, bytes, n, &vocab_only, &err) == CF_OK);
        need(cf_serve__past_new(&s.past, &err) == CF_OK);
        opened.family = CF_TOOLS_HERMES;
        cf_role_map_init(&opened.roles, cf_str_from("{{ 'assistant' }}"));
        s.tok = cf_engine_tokenizer(opened.engine);
        s.opened = &opened;
    }
    return &s;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const cf_api apis[] = {CF_API_OPENAI_CHAT,      CF_API_OPENAI_COMPLETIONS,
                                  CF_API_OPENAI_RESPONSES, CF_API_ANTHROPIC_MESSAGES,
                                  CF_API_OLLAMA_CHAT,      CF_API_OLLAMA_GENERATE};
    if (size < 1 || size > 20000) {
        return 0;
    }
    cf_serve__asked asked;
    cf_error err = {0};
    cf_status st = cf_serve__read(&asked, server(), cf_str_make((const char *)data + 1, size - 1),
                                  apis[data[0] % (sizeof apis / sizeof apis[0])], &err);
    need(st != CF_OK || asked.wire.messages != NULL || asked.is_raw);
    need(st == CF_OK || err.text[0] != '\0');
    if (st == CF_OK) {
        check(&asked);
    }
    cf_serve__asked_deinit(&asked);
    return 0;
}
