/*
 * plan_load.c - a format is a row: how the names of its files end, and what
 * reads their text.
 */
#include "tui/study/import/plan_load.h"

#include <string.h>

#include "core/base/os.h"
#include "tui/study/import/promptfoo.h"

static const struct {
    const char *ending;
    cf_status (*read)(cf_plan__reader *r, cf_str text, cf_error *err);
} formats[] = {{".yaml", cf_promptfoo_read}, {".yml", cf_promptfoo_read}, {"", cf_plan__lines}};

static cf_status read_text(cf_plan__reader *r, cf_str text, cf_error *err)
{
    size_t n = strlen(r->p->path), i = 0;
    while (n < strlen(formats[i].ending) ||
           strcmp(r->p->path + n - strlen(formats[i].ending), formats[i].ending) != 0) {
        i++; /* the last row fits any name */
    }
    return formats[i].read(r, text, err);
}

cf_status cf_plan_load(cf_sweep_plan *out, const char *path, const cf_sweep_saved *saved,
                       cf_error *err)
{
    cf_buf text = CF_BUF_INIT;
    cf_plan__reader r = {.p = out, .saved = saved};
    *out = (cf_sweep_plan){.n_item = 0};
    cf_arena_init(&out->arena, 0);
    out->path = cf_arena_strndup(&out->arena, path, strlen(path));
    cf_status st = out->path != NULL ? cf_os_read_file(&text, path, CF_PLAN__FILE_MAX, err)
                                     : cf_oom_for(err, "the plan");
    CF_THEN(st, read_text(&r, cf_buf_str(&text), err));
    if (st == CF_OK && out->n_sampler == 0) {
        st = cf_plan__plain_sampler(&out->sampler[out->n_sampler++], err);
        out->draws_as_recorded = true;
        for (size_t i = 0; i < out->n_item; i++) {
            if (out->item[i].run != NULL) {
                out->sampler[0].name = cf_str_from("as recorded");
            }
        }
    }
    cf_buf_deinit(&text);
    if (st != CF_OK) {
        cf_sweep_plan_deinit(out);
    }
    return st;
}
