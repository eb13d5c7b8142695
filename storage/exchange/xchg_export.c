/*
 * xchg_export.c - splits trees into branches and writes them in a format.
 */
#include "core/base/alloc.h"
#include "storage/db/store_int.h"
#include "storage/exchange/xchg.h"

cf_status cf_export_begin(cf_exporter **out, cf_store *store, const cf_export_options *opts,
                          cf_error *err)
{
    if (!cf_format_writes(opts->format)) {
        return cf_fail(err, CF_EUNSUPPORTED, "%s can only be read", cf_format_name(opts->format));
    }
    cf_exporter *ex = cf_calloc(1, sizeof *ex);
    if (ex == NULL) {
        return cf_sql__oom(err);
    }
    ex->store = store;
    ex->opts = *opts;
    *out = ex;
    return CF_OK;
}

void cf_export_end(cf_exporter *ex)
{
    if (ex != NULL) {
        cf_free(ex->seen);
        cf_free(ex);
    }
}

/* The way from the first turn to turn `leaf`, by the parents' indices. */
static size_t way_to(const size_t *parent, size_t leaf, size_t *at)
{
    size_t n = 0;
    for (size_t i = leaf; i != SIZE_MAX; i = parent[i]) {
        n++;
    }
    size_t k = n;
    for (size_t i = leaf; i != SIZE_MAX; i = parent[i]) {
        at[--k] = i;
    }
    return n;
}

/* Index of a turn, or SIZE_MAX. */
static size_t find_turn(const cf_store_tree *tree, cf_uuid id)
{
    for (size_t i = 0; i < tree->n; i++) {
        if (cf_uuid_eq(tree->turns[i].id, id)) {
            return i;
        }
    }
    return SIZE_MAX;
}

/* The only leaf that is wanted, or SIZE_MAX for all of them. */
static size_t wanted_leaf(const cf_exporter *ex, const cf_store_tree *tree)
{
    if (!cf_uuid_is_nil(ex->opts.leaf)) {
        return find_turn(tree, ex->opts.leaf);
    }
    return ex->opts.only_head ? find_turn(tree, tree->conv.head) : SIZE_MAX;
}

/* A reply that failed or was stopped before anything of it came. */
static bool is_void(const cf_store_turn *t, bool *failed)
{
    if (t->status != CF_TURN_STOPPED && t->status != CF_TURN_ERROR &&
        t->status != CF_TURN_INTERRUPTED) {
        return false;
    }
    json_t *m = cf_xchg__parse(t->message, failed);
    const json_t *content = json_object_get(m, "content");
    bool is_empty = m != NULL && json_string_length(content) == 0 && !json_is_object(content) &&
                    json_array_size(content) == 0 && json_object_get(m, "tool_calls") == NULL &&
                    cf_json_get_str(m, "reasoning_content").n == 0;
    json_decref(m);
    return is_empty;
}

static cf_status write_leaves(const cf_exporter *ex, const cf_store_tree *tree,
                              const size_t *parent, size_t *at, bool *no_leaf, cf_buf *out,
                              cf_error *err)
{
    const cf_xchg_format *format = cf_xchg__format(ex->opts.format);
    cf_branch_fn fn = format->write_branch;
    size_t only = wanted_leaf(ex, tree);
    if (tree->n == 0) {
        return fn(tree, at, 0, out, err);
    }
    for (size_t i = 0; i < tree->n; i++) {
        if (!format->keeps_tree && is_void(&tree->turns[i], &out->failed)) {
            no_leaf[i] = true;
        } else if (parent[i] != SIZE_MAX) {
            no_leaf[parent[i]] = true;
        }
    }
    for (size_t i = 0; i < tree->n; i++) {
        if (only == SIZE_MAX ? !no_leaf[i] : i == only) {
            CF_TRY(fn(tree, at, way_to(parent, i, at), out, err));
        }
    }
    return CF_OK;
}

static cf_status write_branches(const cf_exporter *ex, const cf_store_tree *tree, cf_buf *out,
                                cf_error *err)
{
    size_t room = tree->n != 0 ? tree->n : 1;
    size_t *at = cf_alloc(room * sizeof *at);
    size_t *parent = cf_alloc(room * sizeof *parent);
    bool *no_leaf = cf_calloc(room, sizeof *no_leaf);
    cf_status st = at == NULL || parent == NULL || no_leaf == NULL
                       ? cf_sql__oom(err)
                       : cf_xchg__parents(tree->turns, tree->n, parent, err);
    CF_THEN(st, write_leaves(ex, tree, parent, at, no_leaf, out, err));
    cf_free(at);
    cf_free(parent);
    cf_free(no_leaf);
    return st;
}

cf_status cf_export_conv(cf_exporter *ex, cf_uuid conv, cf_buf *out, cf_error *err)
{
    cf_arena a;
    cf_arena_init(&a, 0);
    cf_store_tree tree;
    size_t before = out->n;
    const cf_xchg_format *format = cf_xchg__format(ex->opts.format);
    uint32_t flags = CF_TREE_RUNS;
    if (ex->opts.format == CF_FORMAT_CONFAB) {
        flags |= CF_TREE_TRACE;
    }
    cf_status st = cf_store_get_tree(ex->store, conv, flags, &a, &tree, err);
    if (st == CF_OK) {
        st = format->write_tree != NULL ? format->write_tree(ex, &tree, out, err)
                                        : write_branches(ex, &tree, out, err);
    }
    CF_THEN(st, cf_buf_check(out, err));
    if (st != CF_OK && out->p != NULL) {
        out->n = before;
        out->p[before] = '\0';
    }
    cf_arena_deinit(&a);
    return st;
}

/* ---- shared by writers -------------------------------------------------- */

cf_status cf_xchg__message(json_t **out, const cf_store_turn *t, cf_error *err)
{
    CF_TRY(cf_json_read(out, t->message.p, t->message.n, err));
    if (!json_is_object(*out)) {
        json_decref(*out);
        *out = json_pack("{s:s,s:s}", "role", "unknown", "content", "");
        return *out != NULL ? CF_OK : cf_sql__oom(err);
    }
    return CF_OK;
}

json_t *cf_xchg__preface(cf_jw *w, const cf_store_tree *tree)
{
    json_t *v = cf_xchg__parse(tree->conv.preface, &w->out->failed);
    if (!json_is_object(v)) {
        json_decref(v);
        return NULL;
    }
    return v;
}

json_t *cf_xchg__tools(cf_jw *w, const cf_store_tree *tree, const size_t *at, size_t n)
{
    json_t *preface = cf_xchg__preface(w, tree);
    json_t *tools = json_incref(json_object_get(preface, "tools"));
    json_decref(preface);
    if (json_array_size(tools) != 0) {
        return tools;
    }
    json_decref(tools);
    const cf_store_run *r = NULL;
    for (size_t i = n; i > 0 && (r == NULL || r->n_tools == 0); i--) {
        r = tree->turns[at[i - 1]].run;
    }
    if (r == NULL || r->n_tools == 0) {
        return NULL;
    }
    cf_jb list = CF_JB_INIT;
    cf_jb_array(&list, NULL);
    for (size_t k = 0; k < r->n_tools; k++) {
        json_t *v = cf_xchg__parse(r->tools[k], &list.failed);
        if (v != NULL) {
            cf_jb_take(&list, NULL, v);
        }
    }
    cf_jb_end(&list);
    tools = cf_jb_done(&list);
    w->out->failed = w->out->failed || tools == NULL;
    return tools;
}

void cf_xchg__put_fields(cf_jw *w, const json_t *fields, const char *const *but, size_t n)
{
    json_t *v = cf_json_ref(fields); /* its iterators change nothing */
    for (void *it = json_object_iter(v); it != NULL; it = json_object_iter_next(v, it)) {
        cf_str key = cf_str_make(json_object_iter_key(it), json_object_iter_key_len(it));
        bool is_written = false;
        for (size_t i = 0; i < n; i++) {
            is_written = is_written || cf_str_is(key, but[i]);
        }
        if (!is_written) {
            cf_jw_key(w, key);
            cf_jw_json(w, NULL, json_object_iter_value(it));
        }
    }
}
