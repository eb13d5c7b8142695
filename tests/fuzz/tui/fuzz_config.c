/*
 * fuzz_config.c - any bytes as confabrc: each mistake is a line of problems
 * that a terminal may get, and a key is read back from the name that it is
 * shown by.
 */
#include <stdint.h>
#include <stdlib.h>

#include "core/base/safe_text.h"
#include "core/base/utf8.h"
#include "tui/app/bind.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_safe(cf_str s)
{
    for (size_t i = 0; i < s.n;) {
        uint32_t cp;
        i += cf_utf8_decode(&cp, s.p + i, s.n - i);
        if (cp == CF_UTF8_BAD || cf_safe_is_harmful(cp)) {
            abort();
        }
    }
}

static void check_keys(const cf_keymap *map)
{
    for (size_t i = 0; i < map->n; i++) {
        for (size_t k = 0; k < map->v[i].n_keys; k++) {
            cf_buf name = CF_BUF_INIT;
            cf_key again = 0;
            size_t at = 0;
            cf_key_format(&name, map->v[i].keys[k]);
            if (!cf_key_parse(&again, cf_buf_cstr(&name), name.n, &at) || at != name.n ||
                again != map->v[i].keys[k]) {
                abort();
            }
            cf_buf_deinit(&name);
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cf_config config;
    cf_keymap map = {0};
    cf_reply_settings reply;
    cf_defaults defaults;
    cf_buf problems = CF_BUF_INIT;
    cf_error err = {0};
    if (size > 20000) {
        return 0;
    }
    cf_config_init(&config);
    cf_reply_settings_init(&reply);
    cf_defaults_init(&defaults);
    config.reply = &reply;
    config.defaults = &defaults;
    const cf_binder binder = {.bind = cf_bind_line, .ud = &map};
    if (cf_config_read(&config, (const char *)data, size, &binder, &problems, &err) != CF_OK &&
        err.text[0] == '\0') {
        abort();
    }
    check_safe(cf_buf_str(&problems));
    check_keys(&map);
    cf_buf_deinit(&problems);
    cf_keymap_deinit(&map);
    cf_defaults_deinit(&defaults);
    return 0;
}
