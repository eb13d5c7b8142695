/*
 * defaults.c - a table of the settings.
 */
#include "tui/lab/state/defaults.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "tui/sys/paths.h"

typedef enum kind { TEXT, NUMBER, EXACT, BITS, COLOR, BOOL } kind;

typedef struct setting {
    const char *name;
    kind kind;
    size_t offset; /* in cf_defaults */
} setting;

static const setting table[] = {
    {"model", TEXT, offsetof(cf_defaults, model)},
    {"template", TEXT, offsetof(cf_defaults, template_name)},
    {"db", TEXT, offsetof(cf_defaults, db)},
    {"kernels", TEXT, offsetof(cf_defaults, kernel_set)},
    {"encoder-blas", TEXT, offsetof(cf_defaults, encoder_blas)},
    {"threads", NUMBER, offsetof(cf_defaults, n_threads)},
    {"ctx", NUMBER, offsetof(cf_defaults, n_ctx)},
    {"exact", EXACT, offsetof(cf_defaults, arithmetic)},
    {"activations", BITS, offsetof(cf_defaults, arithmetic)},
    {"color", COLOR, offsetof(cf_defaults, color)},
    {"allow-variables", TEXT, offsetof(cf_defaults, variables)},
    {"trust-addresses", BOOL, offsetof(cf_defaults, trusts_addresses)},
};

enum { N_SETTINGS = sizeof table / sizeof table[0] };

void cf_defaults_init(cf_defaults *d)
{
    memset(d, 0, sizeof *d);
    cf_reply_settings_init(&d->reply);
}

void cf_defaults_deinit(cf_defaults *d)
{
    cf_free(d->model);
    cf_free(d->template_name);
    cf_free(d->db);
    cf_free(d->kernel_set);
    cf_free(d->encoder_blas);
    cf_free(d->variables);
    memset(d, 0, sizeof *d);
}

int cf_defaults_find(const char *name, size_t n)
{
    for (int i = 0; i < N_SETTINGS; i++) {
        if (strlen(table[i].name) == n && memcmp(table[i].name, name, n) == 0) {
            return i;
        }
    }
    return -1;
}

static cf_status set_text(char **to, const setting *row, const char *value, cf_error *err)
{
    if (value[0] == '\0') {
        return cf_fail(err, CF_EINVAL, "%s needs a value", row->name);
    }
    cf_buf path = CF_BUF_INIT;
    cf_paths_expand(&path, value);
    char *text = cf_buf_take(&path);
    cf_buf_deinit(&path);
    if (text == NULL) {
        return cf_oom(err);
    }
    cf_free(*to);
    *to = text;
    return CF_OK;
}

static cf_status set_number(uint32_t *to, const setting *row, const char *value, cf_error *err)
{
    char *end;
    errno = 0;
    unsigned long long v = strtoull(value, &end, 10);
    if (value[0] < '0' || value[0] > '9' || *end != '\0' || errno != 0 || v > UINT32_MAX) {
        return cf_fail(err, CF_EINVAL, "%s is a whole number, not '%.40s'", row->name, value);
    }
    *to = (uint32_t)v;
    return CF_OK;
}

static cf_status set_bool(bool *to, const setting *row, const char *value, cf_error *err)
{
    bool is_on = strcmp(value, "on") == 0;
    if (!is_on && strcmp(value, "off") != 0) {
        return cf_fail(err, CF_EINVAL, "%s is on or off, not '%.40s'", row->name, value);
    }
    *to = is_on;
    return CF_OK;
}

static cf_status set_exact(cf_arithmetic *to, const setting *row, const char *value, cf_error *err)
{
    bool is_on = false;
    CF_TRY(set_bool(&is_on, row, value, err));
    if (is_on || *to == CF_ARITHMETIC_EXACT) {
        *to = is_on ? CF_ARITHMETIC_EXACT : CF_ARITHMETIC_16;
    }
    return CF_OK;
}

cf_status cf_defaults_bits(cf_arithmetic *to, const char *name, const char *value, cf_error *err)
{
    bool is_8 = strcmp(value, "8") == 0;
    if (!is_8 && strcmp(value, "16") != 0) {
        return cf_fail(err, CF_EINVAL, "%s is 16 or 8, not '%.40s'", name, value);
    }
    *to = is_8 ? CF_ARITHMETIC_8 : CF_ARITHMETIC_16;
    return CF_OK;
}

cf_status cf_defaults_set(cf_defaults *d, int i, const char *value, cf_error *err)
{
    const setting *row = &table[i];
    void *at = (char *)d + row->offset;
    switch (row->kind) {
    case TEXT:
        return set_text(at, row, value, err);
    case NUMBER:
        return set_number(at, row, value, err);
    case EXACT:
        return set_exact(at, row, value, err);
    case BITS:
        return cf_defaults_bits(at, row->name, value, err);
    case BOOL:
        return set_bool(at, row, value, err);
    case COLOR:
        break;
    }
    return cf_color_when_read(at, value)
               ? CF_OK
               : cf_fail(err, CF_EINVAL, "color is always, never or auto, not '%.40s'", value);
}

void cf_defaults_apply(const cf_defaults *d, cf_open_options *open)
{
    open->default_model = d->model;
    open->template_name = d->template_name;
    open->db = d->db;
    open->kernel_set = d->kernel_set;
    open->encoder_blas = d->encoder_blas;
    open->n_threads = d->n_threads;
    open->n_ctx = d->n_ctx;
    open->arithmetic = d->arithmetic;
}
