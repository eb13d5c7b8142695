/*
 * templates_list.c - texts put together by their names.
 *
 * The texts come in the order of what is shown for a name: the one in use,
 * the one of the start, those in the program, then those of the history from
 * the newest.  The first of a name is its row, later ones are its versions.
 */
#include "tui/view/templates/templates_list.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/os.h"
#include "storage/store.h"
#include "templates/builtin.h"
#include "templates/model_beside.h"
#include "tui/lab/lab.h"
#include "tui/lab/talk/lab_template.h"

/* Texts as they come; of[i] is the first one of the same name. */
typedef struct gathering {
    cf_arena *arena;
    cf_templates_row *v; /* [n] */
    size_t *of;
    size_t n, cap;
} gathering;

static void add(gathering *g, const char *from, cf_str name, cf_str source,
                const cf_store_template *kept)
{
    size_t first = g->n;
    for (size_t i = 0; i < g->n; i++) {
        bool is_name = cf_str_is(name, g->v[i].name);
        if (cf_str_eq(g->v[i].source, source)) {
            if (kept != NULL && g->v[i].hash[0] == '\0') {
                char *hash = cf_arena_strndup(g->arena, kept->hash.p, kept->hash.n);
                g->v[i].hash = hash != NULL ? hash : "";
                g->v[i].created_ms = kept->created_ms;
            }
            return; /* there already, perhaps under another name */
        }
        first = is_name && first == g->n ? g->of[i] : first;
    }
    char *copy = cf_arena_strndup(g->arena, name.p, name.n);
    char *text = cf_arena_strndup(g->arena, source.p, source.n);
    char *hash = kept != NULL ? cf_arena_strndup(g->arena, kept->hash.p, kept->hash.n) : NULL;
    if (g->n == g->cap || copy == NULL || text == NULL) {
        return;
    }
    g->of[g->n] = first;
    g->v[g->n] = (cf_templates_row){.from = from,
                                    .name = copy,
                                    .source = cf_str_make(text, source.n),
                                    .hash = hash != NULL ? hash : "",
                                    .created_ms = kept != NULL ? kept->created_ms : 0};
    if (first != g->n) {
        g->v[first].n_versions++;
    }
    g->n++;
}

static int newest_first(const void *a, const void *b)
{
    const cf_store_template *x = a, *y = b;
    return x->created_ms < y->created_ms ? 1 : x->created_ms > y->created_ms ? -1 : 0;
}

/* The rows in their order, the versions of the open name after it. */
static void lay_out(cf_templates_list *list, const gathering *g)
{
    list->v = cf_arena_calloc(&list->arena, g->n + 1, sizeof *list->v);
    list->n = 0;
    for (size_t i = 0; list->v != NULL && i < g->n; i++) {
        if (g->of[i] != i) {
            continue;
        }
        list->v[list->n++] = g->v[i];
        bool is_open = strcmp(g->v[i].name, list->open) == 0;
        for (size_t k = i + 1; is_open && k < g->n; k++) {
            if (g->of[k] == i) {
                list->v[list->n] = g->v[k];
                list->v[list->n++].is_version = true;
            }
        }
    }
}

/* Ollama's own template of the model, if it comes from there. */
static void add_foreign(gathering *g, const cf_app *app)
{
    enum { GO_MAX = 1 << 20 };
    const cf_lab_engine *e = cf_lab_engine_of(app->lab);
    cf_besides beside = {.n = 0};
    cf_buf text = CF_BUF_INIT, name = CF_BUF_INIT;
    cf_error err;
    if (app->model == NULL || e->engine == NULL || strncmp(app->model, "ollama:", 7) != 0) {
        return;
    }
    const char *path = cf_engine_get_info(e->engine).path;
    const char *go = cf_model_beside(&beside, app->model, path, "", &err) == CF_OK
                         ? cf_besides_find(&beside, CF_BESIDE_GO_TEMPLATE)
                         : NULL;
    cf_buf_addf(&name, "%s (Go)", app->model);
    if (go != NULL && !name.failed && cf_os_read_file(&text, go, GO_MAX, &err) == CF_OK) {
        size_t n = g->n;
        add(g, "Go", cf_buf_str(&name), cf_buf_str(&text), NULL);
        if (g->n > n) {
            g->v[n].is_foreign = true;
        }
    }
    cf_buf_deinit(&text);
    cf_buf_deinit(&name);
    cf_besides_deinit(&beside);
}

void cf_templates_list_load(cf_templates_list *list, cf_app *app, cf_error *err)
{
    const cf_lab_engine *e = cf_lab_engine_of(app->lab);
    const cf_store_template *kept = NULL;
    cf_store_template *sorted;
    const char *name;
    cf_str source;
    size_t n_kept = 0, n_builtin = 0;
    *err = (cf_error){0};
    list->v = NULL;
    list->n = 0;
    cf_arena_reset(&list->arena);
    if (app->store != NULL &&
        cf_store_templates(app->store, &list->arena, &kept, &n_kept, err) != CF_OK) {
        n_kept = 0;
    }
    while (cf_template_builtin_name(n_builtin) != NULL) {
        n_builtin++;
    }
    gathering g = {.arena = &list->arena, .cap = 3 + n_builtin + n_kept};
    g.v = cf_arena_calloc(&list->arena, g.cap, sizeof *g.v);
    g.of = cf_arena_calloc(&list->arena, g.cap, sizeof *g.of);
    sorted = cf_arena_calloc(&list->arena, n_kept + 1, sizeof *sorted);
    if (g.v == NULL || g.of == NULL || sorted == NULL) {
        (void)cf_oom_for(err, "the list of templates");
        return;
    }
    if (n_kept > 0) {
        memcpy(sorted, kept, n_kept * sizeof *sorted);
        qsort(sorted, n_kept, sizeof *sorted, newest_first);
    }
    add(&g, "in use", cf_str_from(e->template_name), e->template_source, NULL);
    cf_lab_first_template(app->lab, &name, &source);
    add(&g, "start", cf_str_from(name), source, NULL);
    add_foreign(&g, app);
    for (size_t i = 0; i < n_builtin; i++) {
        name = cf_template_builtin_name(i);
        add(&g, "confab", cf_str_from(name), cf_template_builtin(name), NULL);
    }
    for (size_t i = 0; i < n_kept; i++) {
        add(&g, "kept", sorted[i].name, sorted[i].source, &sorted[i]);
    }
    lay_out(list, &g);
}

/* Whether `text` has this line. */
static bool has_line(cf_str text, cf_str line)
{
    for (size_t at = 0; at < text.n;) {
        const char *nl = memchr(text.p + at, '\n', text.n - at);
        size_t end = nl != NULL ? (size_t)(nl - text.p) : text.n;
        if (cf_str_eq(cf_str_make(text.p + at, end - at), line)) {
            return true;
        }
        at = end + 1;
    }
    return false;
}

static size_t count_missing(cf_str from, cf_str in)
{
    size_t n = 0;
    for (size_t at = 0; at < from.n;) {
        const char *nl = memchr(from.p + at, '\n', from.n - at);
        size_t end = nl != NULL ? (size_t)(nl - from.p) : from.n;
        n += !has_line(in, cf_str_make(from.p + at, end - at));
        at = end + 1;
    }
    return n;
}

void cf_templates_count_changes(cf_str a, cf_str b, size_t *n_added, size_t *n_removed)
{
    *n_added = count_missing(b, a);
    *n_removed = count_missing(a, b);
}
