/*
 * fuzz_serve.c - any bytes as the body of a request to `serve`: what it asks
 * for can be done, or is refused with a line that says why.
 *
 * Byte 0: odd for a raw prompt.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

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
    need(json_array_size(a->messages) > 0);
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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static cf_opened opened;
    if (size < 1 || size > 20000) {
        return 0;
    }
    if (opened.family == CF_TOOLS_NONE) {
        opened.family = CF_TOOLS_HERMES;
        cf_role_map_init(&opened.roles, cf_str_from("{{ 'assistant' }}"));
    }
    cf_serve__asked asked;
    cf_error err = {0};
    cf_status st = cf_serve__read(&asked, cf_str_make((const char *)data + 1, size - 1),
                                  data[0] % 2 == 1 ? CF_API_OPENAI_COMPLETIONS : CF_API_OPENAI_CHAT,
                                  &opened, NULL, &err);
    need(st != CF_OK || asked.wire.messages != NULL);
    need(st == CF_OK || err.text[0] != '\0');
    if (st == CF_OK) {
        check(&asked);
    }
    cf_serve__asked_deinit(&asked);
    return 0;
}
