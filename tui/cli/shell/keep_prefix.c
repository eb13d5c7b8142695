/*
 * keep_prefix.c - implements --keep-prefix.
 */
#include "tui/cli/shell/keep_prefix.h"

#include "core/base/alloc.h"
#include "tui/lab/state/open_store.h"

static cf_status prefix_path(const cf_cli *cli, cf_buf *out, cf_error *err)
{
    char *path;
    CF_TRY(cf_open_store_path(&cli->open, &path, err));
    cf_buf_addf(out, "%s.prefixes", path);
    cf_free(path);
    return cf_buf_check(out, err);
}

void cf_keep_prefix_read(cf_keep_prefix *k, const cf_cli *cli, cf_prefix_cache *cache,
                         cf_buf *problems)
{
    cf_buf path = CF_BUF_INIT;
    cf_error err;
    if (!k->is_wanted || cache == NULL) {
        return;
    }
    k->cache = cache;
    cf_status st = prefix_path(cli, &path, &err);
    CF_THEN(st, cf_prefix_cache_read(cache, cf_buf_cstr(&path), &err));
    if (st != CF_OK && st != CF_ENOTFOUND && problems != NULL) {
        cf_buf_addf(problems, "%s: not used: %s\n", cf_buf_cstr(&path), err.text);
    } else if (st != CF_OK && st != CF_ENOTFOUND) {
        cf_note("%s: not used: %s", cf_buf_cstr(&path), err.text);
    }
    cf_prefix_cache_count(cache, &k->n_read);
    cf_buf_deinit(&path);
}

void cf_keep_prefix_write(const cf_keep_prefix *k, const cf_cli *cli)
{
    cf_buf path = CF_BUF_INIT;
    cf_error err;
    uint64_t bytes = 0;
    if (k->cache == NULL) {
        return;
    }
    cf_prefix_cache_count(k->cache, &bytes);
    if (bytes != k->n_read) {
        cf_status st = prefix_path(cli, &path, &err);
        CF_THEN(st, cf_prefix_cache_write(k->cache, cf_buf_cstr(&path), &err));
        if (st != CF_OK) {
            cf_note("the computed prompts are not kept: %s", err.text);
        }
    }
    cf_buf_deinit(&path);
}
