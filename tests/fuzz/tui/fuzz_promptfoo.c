/*
 * fuzz_promptfoo.c - any bytes as YAML, and as a configuration of promptfoo:
 * the same value each time, within its bounds; a mistake is one line with the
 * file's name; what is read is a whole plan.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "tui/study/import/promptfoo.h"
#include "tui/study/import/yaml_read.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void need(bool holds)
{
    if (!holds) {
        abort();
    }
}

static size_t depth_of(const json_t *v)
{
    const char *key;
    json_t *item;
    size_t deepest = 0;
    for (size_t i = 0; i < json_array_size(v); i++) {
        size_t d = depth_of(json_array_get(v, i));
        deepest = d > deepest ? d : deepest;
    }
    json_object_foreach(cf_json_ref(v), key, item)
    {
        size_t d = depth_of(item);
        deepest = d > deepest ? d : deepest;
    }
    return json_is_array(v) || json_is_object(v) ? deepest + 1 : 0;
}

static void check_error(const cf_error *err)
{
    need(err->text[0] != '\0' && strchr(err->text, '\n') == NULL);
}

static void read_yaml(cf_str text)
{
    cf_yaml a, b;
    cf_error err = {0}, again = {0};
    cf_status st = cf_yaml_read(&a, "f", text, &err);
    need(cf_yaml_read(&b, "f", text, &again) == st);
    if (st != CF_OK) {
        check_error(&err);
        need(strcmp(err.text, again.text) == 0);
        return;
    }
    need(json_equal(a.root, b.root) != 0);
    need(depth_of(a.root) <= CF_YAML_DEPTH_MAX);
    cf_yaml_deinit(&a);
    cf_yaml_deinit(&b);
}

static void check_plan(const cf_sweep_plan *p)
{
    need(p->n_item > 0 && p->n_wording > 0);
    for (size_t i = 0; i < p->n_item; i++) {
        const cf_sweep_item *it = &p->item[i];
        need(json_array_size(it->messages) == p->n_wording);
        for (size_t w = 0; w < p->n_wording; w++) {
            need(json_array_size(json_array_get(it->messages, w)) > 0);
        }
        for (size_t k = 0; k < it->n_own; k++) {
            need(p->own[it->first_own + k].column < p->n_check);
        }
    }
}

/* Whether the text names a file: this target opens none. */
static bool names_file(const char *p, size_t n)
{
    for (size_t i = 0; i + 5 <= n; i++) {
        if (memcmp(p + i, "file:", 5) == 0) {
            return true;
        }
    }
    return false;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cf_sweep_plan plan = {.path = "f.yaml"};
    const cf_sweep_saved none = {.store = NULL};
    cf_plan__reader r = {.p = &plan, .saved = &none};
    cf_error err = {0};
    cf_str text = cf_str_make((const char *)data, size);
    if (size > 20000) {
        return 0;
    }
    read_yaml(text);
    if (size > 0 && names_file(text.p, text.n)) {
        return 0;
    }
    cf_arena_init(&plan.arena, 0);
    if (cf_promptfoo_read(&r, text, &err) == CF_OK) {
        check_plan(&plan);
    } else {
        check_error(&err);
    }
    cf_sweep_plan_deinit(&plan);
    return 0;
}
