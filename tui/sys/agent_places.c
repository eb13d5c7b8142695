/*
 * agent_places.c - the folders of each agent, as its own settings name them.
 */
#include "tui/sys/agent_places.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/os.h"

static const struct place {
    const char *variable, *home, *below;
    int depth; /* of the folders whose sessions belong together */
} places[] = {{"CLAUDE_CONFIG_DIR", ".claude", "projects", 1},
              {"CODEX_HOME", ".codex", "sessions", 3},
              {"CODEX_HOME", ".codex", "archived_sessions", 0},
              {"XDG_DATA_HOME", ".local/share", "opencode/opencode.db", 0},
              {NULL, ".gemini", "tmp", 1},
              {NULL, ".qwen", "projects", 1},
              {"PI_CODING_AGENT_DIR", ".pi/agent", "sessions", 1}};

static cf_status add_below(cf_buf *out, const char *path, int depth, cf_error *err)
{
    enum { NAMES_MAX = 100000 };
    cf_buf names = CF_BUF_INIT;
    if (depth == 0) {
        cf_buf_add(out, path, strlen(path) + 1);
        return cf_buf_check(out, err);
    }
    cf_status st = cf_os_list_dir(&names, path, NAMES_MAX, err);
    for (size_t at = 0; st == CF_OK && at < names.n; at += strlen(names.p + at) + 1) {
        cf_buf sub = CF_BUF_INIT;
        cf_buf_addf(&sub, "%s/%s", path, names.p + at);
        st = cf_buf_check(&sub, err);
        if (st == CF_OK && cf_os_is_dir(sub.p)) {
            st = add_below(out, sub.p, depth - 1, err);
        }
        cf_buf_deinit(&sub);
    }
    cf_buf_deinit(&names);
    return st;
}

static cf_status add_place(cf_buf *out, const struct place *p, cf_error *err)
{
    const char *set =
        p->variable != NULL ? getenv(p->variable) : NULL; /* NOLINT(concurrency-mt-unsafe) */
    const char *home = getenv("HOME");                    /* NOLINT(concurrency-mt-unsafe) */
    cf_buf path = CF_BUF_INIT;
    if (set != NULL && set[0] != '\0') {
        cf_buf_addf(&path, "%s/%s", set, p->below);
    } else if (home != NULL && home[0] != '\0') {
        cf_buf_addf(&path, "%s/%s/%s", home, p->home, p->below);
    }
    cf_status st = cf_buf_check(&path, err);
    if (st == CF_OK && path.n != 0 && (cf_os_is_dir(path.p) || cf_os_is_readable(path.p))) {
        st = add_below(out, path.p, p->depth, err);
        st = st == CF_ENOMEM ? st : CF_OK; /* a folder that cannot be read has no sessions */
    }
    cf_buf_deinit(&path);
    return st;
}

cf_status cf_agent_places(cf_buf *out, cf_error *err)
{
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        CF_TRY(add_place(out, &places[i], err));
    }
    return CF_OK;
}

void cf_agent_traces(cf_buf *out, const char *history)
{
    cf_buf_addf(out, "%s.traces.jsonl", history);
}

cf_status cf_agent_places_with(cf_buf *out, const char *history, cf_error *err)
{
    CF_TRY(cf_agent_places(out, err));
    cf_buf_add(out, history, strlen(history) + 1);
    cf_agent_traces(out, history);
    cf_buf_addc(out, '\0');
    return cf_buf_check(out, err);
}
