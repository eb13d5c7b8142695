/*
 * approvals.c - approvals for good are kept with the tool in the history, those
 * of a conversation in a list.
 */
#include "tui/lab/tools/approvals.h"

#include <string.h>

#include "core/base/alloc.h"
#include "core/base/arena.h"
#include "core/base/hash.h"
#include "core/base/os.h"
#include "storage/store.h"
#include "tui/sys/paths.h"

enum { SECRET = 32 };

/* Calls of a tool, or of all tools of a server, in one conversation. */
typedef struct cf_approved {
    cf_uuid conversation;
    char *server, *tool; /* "": all */
} approved;

void cf_approvals_init(cf_approvals *a, cf_store *store)
{
    *a = (cf_approvals){.store = store};
}

static void free_approved(approved *v)
{
    cf_free(v->server);
    cf_free(v->tool);
}

void cf_approvals_deinit(cf_approvals *a)
{
    for (size_t i = 0; i < a->n; i++) {
        free_approved(&a->list[i]);
    }
    cf_free(a->list);
    *a = (cf_approvals){.n = 0};
}

/* ---- tools as the user saw them last ------------------------------------ */

/* What is remembered; CF_ENOTFOUND. */
static cf_status recall(const cf_approvals *a, cf_str server, cf_str tool, cf_arena *arena,
                        cf_store_mcp_tool *out)
{
    const cf_str name = tool.n > 0 ? tool : cf_str_from("");
    return a->store != NULL ? cf_store_get_mcp_tool(a->store, server, name, arena, out, NULL)
                            : CF_ENOTFOUND;
}

cf_status cf_approvals_compare(const cf_approvals *a, cf_str server, const json_t *tool,
                               cf_tool_news *news, json_t **before, cf_error *err)
{
    cf_arena arena;
    cf_store_mcp_tool known;
    *before = NULL;
    cf_arena_init(&arena, 0);
    cf_status st = recall(a, server, cf_json_get_str(tool, "name"), &arena, &known);
    const bool is_first = st == CF_ENOTFOUND;
    CF_THEN(st, cf_json_read(before, known.definition.p, known.definition.n, NULL));
    cf_arena_deinit(&arena);
    if (st == CF_ENOMEM) {
        return cf_oom_for(err, "the tool as it was");
    }
    *news = is_first                                             ? CF_TOOL_FIRST_SEEN
            : st == CF_OK && !cf_mcp_tool_differs(*before, tool) ? CF_TOOL_AS_BEFORE
                                                                 : CF_TOOL_OTHER;
    return CF_OK;
}

static cf_status put(const cf_approvals *a, cf_str server, cf_str tool, cf_str definition,
                     cf_str approved_for, cf_error *err)
{
    const cf_store_mcp_tool t = {.server = server,
                                 .tool = tool.n > 0 ? tool : cf_str_from(""),
                                 .definition = definition,
                                 .approved_for = approved_for};
    return a->store != NULL ? cf_store_put_mcp_tool(a->store, &t, err) : CF_OK;
}

void cf_approvals_remember(const cf_approvals *a, cf_str server, const json_t *tool)
{
    json_t *before;
    cf_tool_news news;
    cf_error ignored;
    cf_buf text = CF_BUF_INIT;
    if (cf_approvals_compare(a, server, tool, &news, &before, &ignored) == CF_OK &&
        news != CF_TOOL_AS_BEFORE) {
        cf_json_write(&text, tool);
        if (!text.failed) { /* an approval was given for another tool */
            cf_ignore(put(a, server, cf_json_get_str(tool, "name"), cf_buf_str(&text),
                          cf_str_make(NULL, 0), NULL)); /* then it is asked about again */
        }
    }
    cf_buf_deinit(&text);
    json_decref(before);
}

/* ---- calls -------------------------------------------------------------- */

/* Appends bytes that this user's confab alone knows; makes them where there are
 * none. */
static cf_status add_secret(cf_buf *out, cf_error *err)
{
    cf_paths paths;
    cf_buf path = CF_BUF_INIT;
    unsigned char fresh[SECRET];
    CF_TRY(cf_paths_find(&paths, err));
    cf_buf_addf(&path, "%s/approvals.key", paths.state);
    cf_status st = cf_buf_check(&path, err);
    CF_THEN(st, cf_os_check_owner(cf_buf_cstr(&path), err));
    CF_THEN(st, cf_os_read_file(out, cf_buf_cstr(&path), SECRET, err));
    if (st == CF_ENOTFOUND) {
        cf_os_entropy(fresh, sizeof fresh);
        st = cf_os_make_dirs(paths.state, err);
        CF_THEN(st, cf_os_write_file(cf_buf_cstr(&path), fresh, sizeof fresh, 0600, err));
        cf_buf_add(out, (const char *)fresh, sizeof fresh);
    }
    CF_THEN(st, cf_buf_check(out, err));
    if (st == CF_OK && out->n != SECRET) {
        st = cf_fail(err, CF_EFORMAT, "%s: is cut short; remove it", cf_buf_cstr(&path));
    }
    cf_paths_deinit(&paths);
    cf_buf_deinit(&path);
    return st;
}

/* What an approval for good is given for: a hash of the server's configuration,
 * command, arguments, environment and headers, which may hold keys.  The secret
 * keeps a history from elsewhere from approving anything here. */
static cf_status put_command(cf_buf *out, const json_t *config, cf_error *err)
{
    char hash[CF_HASH_TEXT + 1];
    cf_buf text = CF_BUF_INIT;
    cf_status st = add_secret(&text, err);
    cf_json_write(&text, config);
    CF_THEN(st, cf_buf_check(&text, err));
    if (st == CF_OK) {
        cf_hash_hex(hash, cf_buf_cstr(&text), text.n);
        cf_buf_adds(out, hash);
        st = cf_buf_check(out, err);
    }
    cf_buf_deinit(&text);
    return st;
}

static bool is_for_good(const cf_approvals *a, const cf_mcp_server *server, cf_str tool)
{
    cf_arena arena;
    cf_store_mcp_tool known;
    cf_buf command = CF_BUF_INIT;
    cf_arena_init(&arena, 0);
    bool is_approved =
        recall(a, server->name, tool, &arena, &known) == CF_OK && known.approved_for.p != NULL;
    is_approved = is_approved && put_command(&command, server->config, NULL) == CF_OK &&
                  cf_str_eq(known.approved_for, cf_buf_str(&command));
    cf_buf_deinit(&command);
    cf_arena_deinit(&arena);
    return is_approved;
}

static cf_status put_for_good(const cf_approvals *a, const cf_mcp_server *server, cf_str tool,
                              bool is_approved, cf_error *err)
{
    cf_buf command = CF_BUF_INIT, definition = CF_BUF_INIT;
    cf_status st = is_approved ? put_command(&command, server->config, err) : CF_OK;
    const json_t *known = cf_mcp_tool_find(server->tools, tool);
    if (known != NULL) {
        cf_json_write(&definition, known);
    } else {
        cf_buf_adds(&definition, "{}");
    }
    CF_THEN(st, cf_buf_check(&definition, err));
    CF_THEN(st, put(a, server->name, tool, cf_buf_str(&definition),
                    is_approved ? cf_buf_str(&command) : cf_str_make(NULL, 0), err));
    cf_buf_deinit(&command);
    cf_buf_deinit(&definition);
    return st;
}

static bool is_here(const cf_approvals *a, cf_uuid conversation, cf_str server, cf_str tool)
{
    for (size_t i = 0; i < a->n; i++) {
        if (cf_uuid_eq(a->list[i].conversation, conversation) &&
            cf_str_is(server, a->list[i].server) && cf_str_is(tool, a->list[i].tool)) {
            return true;
        }
    }
    return false;
}

cf_status cf_approvals_give(cf_approvals *a, cf_uuid conversation, const cf_mcp_server *server,
                            cf_str tool, cf_approval scope, cf_error *err)
{
    cf_status st = CF_OK;
    if (scope == CF_APPROVE_FOR_GOOD) {
        st = a->store != NULL ? put_for_good(a, server, tool, true, err)
                              : cf_fail(err, CF_EUNSUPPORTED, "nothing is kept without a history");
    }
    if (scope == CF_APPROVE_ONCE || (scope == CF_APPROVE_FOR_GOOD && st == CF_OK)) {
        return st;
    }
    approved v = {.conversation = conversation,
                  .server = cf_strndup(server->name.p, server->name.n),
                  .tool = scope == CF_APPROVE_SERVER ? cf_strdup("") : cf_strndup(tool.p, tool.n)};
    if (v.server != NULL && v.tool != NULL && cf_grow(&a->list, &a->cap, a->n + 1, sizeof v)) {
        a->list[a->n++] = v;
    } else {
        free_approved(&v);
        st = cf_oom(err);
    }
    return st;
}

cf_status cf_approvals_take_back(cf_approvals *a, const cf_mcp_server *server, cf_str tool,
                                 cf_error *err)
{
    cf_status st = put_for_good(a, server, tool, false, err);
    size_t n = 0;
    for (size_t i = 0; i < a->n; i++) {
        approved *v = &a->list[i];
        if (cf_str_is(server->name, v->server) &&
            (v->tool[0] == '\0' || cf_str_is(tool, v->tool))) {
            free_approved(v);
        } else {
            a->list[n++] = *v;
        }
    }
    a->n = n;
    return st;
}

bool cf_approvals_has_server(const cf_approvals *a, cf_uuid conversation, cf_str server)
{
    return is_here(a, conversation, server, cf_str_from(""));
}

bool cf_approvals_may_call(const cf_approvals *a, cf_uuid conversation, const cf_mcp_server *server,
                           cf_str tool)
{
    return is_here(a, conversation, server->name, tool) ||
           cf_approvals_has_server(a, conversation, server->name) || is_for_good(a, server, tool);
}
