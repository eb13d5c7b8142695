/*
 * token_file.c - the file of tokens, read and written in turns.
 *
 * The lock is a file of its own, since the other one is replaced at each
 * write.
 */
#include "tui/lab/tools/token_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/os.h"
#include "tui/sys/paths.h"

enum { LOOK_MS = 20, TURN_MS = 60000, FILE_MAX = 4 << 20, MODE = 0600 };

static char *joined(const char *folder, const char *name)
{
    cf_buf b = CF_BUF_INIT;
    cf_buf_addf(&b, "%s/%s", folder, name);
    char *p = cf_buf_take(&b);
    cf_buf_deinit(&b);
    return p;
}

cf_status cf_token_file_init(cf_token_file *f, cf_error *err)
{
    cf_paths paths;
    *f = (cf_token_file){NULL, NULL, NULL};
    CF_TRY(cf_paths_find(&paths, err));
    f->folder = cf_strdup(paths.state);
    f->path = joined(paths.state, "mcp-tokens.json");
    f->lock = joined(paths.state, "mcp-tokens.lock");
    cf_paths_deinit(&paths);
    if (f->folder == NULL || f->path == NULL || f->lock == NULL) {
        cf_token_file_deinit(f);
        return cf_oom_for(err, "the file of tokens");
    }
    return CF_OK;
}

void cf_token_file_deinit(cf_token_file *f)
{
    cf_free(f->folder);
    cf_free(f->path);
    cf_free(f->lock);
    *f = (cf_token_file){NULL, NULL, NULL};
}

/* Waits for our turn; *fd is closed to end it. */
static cf_status take_turn(const cf_token_file *f, int *fd, bool (*must_stop)(void *),
                           void *stop_ud, cf_error *err)
{
    char why[CF_OS_WHY];
    CF_TRY(cf_os_make_dirs(f->folder, err));
    *fd = open(f->lock, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, MODE);
    if (*fd < 0) {
        return cf_fail(err, CF_EIO, "%s: %s", f->lock, cf_os_why(why, errno));
    }
    for (int waited = 0; flock(*fd, LOCK_EX | LOCK_NB) != 0; waited += LOOK_MS) {
        const struct timespec nap = {.tv_nsec = (long)LOOK_MS * 1000000};
        if (errno != EWOULDBLOCK && errno != EINTR) {
            return cf_fail(err, CF_EIO, "%s: %s", f->lock, cf_os_why(why, errno));
        }
        if (must_stop != NULL && must_stop(stop_ud)) {
            return cf_fail(err, CF_ECANCELLED, "stopped");
        }
        if (waited >= TURN_MS) {
            return cf_fail(err, CF_ELIMIT, "another process has held %s for a minute", f->lock);
        }
        nanosleep(&nap, NULL);
    }
    return CF_OK;
}

static cf_status read_all(const cf_token_file *f, json_t **out, cf_error *err)
{
    cf_error why;
    cf_status st = CF_OK;
    *out = NULL;
    if (access(f->path, F_OK) == 0) {
        st = cf_os_check_owner(f->path, &why);
        CF_THEN(st, cf_json_read_small(out, f->path, FILE_MAX, &why));
        if (st != CF_OK) {
            *err = why;
            return st;
        }
    }
    if (*out == NULL) {
        *out = json_object();
    } else if (!json_is_object(*out)) {
        json_decref(*out);
        *out = NULL;
        return cf_fail(err, CF_EFORMAT, "%s is not an object", f->path);
    }
    return *out != NULL ? CF_OK : cf_oom_for(err, "the file of tokens");
}

static cf_status write_all(const cf_token_file *f, const json_t *all, cf_error *err)
{
    cf_buf text = CF_BUF_INIT;
    cf_json_write(&text, all);
    cf_buf_addc(&text, '\n');
    cf_status st = cf_buf_check(&text, err);
    CF_THEN(st, cf_os_write_file(f->path, cf_buf_cstr(&text), text.n, MODE, err));
    if (text.p != NULL) {
        memset(text.p, 0, text.n);
    }
    cf_buf_deinit(&text);
    return st;
}

/* What is kept of the server, an object of `all`; NULL without memory. */
static json_t *part_of(json_t *all, cf_str address)
{
    json_t *servers = json_object_get(all, "servers");
    if (!json_is_object(servers)) {
        servers = json_object();
        servers = json_object_set_new(all, "servers", servers) == 0 ? servers : NULL;
    }
    json_t *part = json_object_getn(servers, address.p, address.n);
    if (servers != NULL && !json_is_object(part)) {
        part = json_object();
        part = json_object_setn_new(servers, address.p, address.n, part) == 0 ? part : NULL;
    }
    return part;
}

cf_status cf_token_file_with(const cf_token_file *f, cf_str address, cf_mcp_kept_fn fn, void *ud,
                             bool (*must_stop)(void *), void *stop_ud, cf_error *err)
{
    int fd = -1;
    json_t *all = NULL;
    bool changed = false;
    cf_error why;
    cf_status st = take_turn(f, &fd, must_stop, stop_ud, err);
    CF_THEN(st, read_all(f, &all, err));
    if (st == CF_OK) {
        json_t *part = part_of(all, address);
        st = part != NULL ? fn(ud, part, &changed, err) : cf_oom_for(err, "the file of tokens");
    }
    if (changed && write_all(f, all, &why) != CF_OK && st == CF_OK) {
        st = why.code;
        *err = why;
    }
    json_decref(all);
    if (fd >= 0) {
        close(fd);
    }
    return st;
}

static cf_status clear(void *ud, json_t *kept, bool *changed, cf_error *err)
{
    bool *was = ud;
    (void)err;
    *was = *changed = json_object_size(kept) > 0;
    json_object_clear(kept);
    return CF_OK;
}

cf_status cf_token_file_forget(const cf_token_file *f, cf_str address, bool *was, cf_error *err)
{
    *was = false;
    return cf_token_file_with(f, address, clear, was, NULL, NULL, err);
}
