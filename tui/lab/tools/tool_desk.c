/*
 * tool_desk.c - four objects in memory and the same ones in a file.
 */
#include "tui/lab/tools/tool_desk.h"

#include <stdio.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/hash.h"
#include "core/base/os.h"

enum { FILE_MAX = 16 << 20, NAME_SIZE = 256, TIMEOUT_S = 30, TIMEOUT_MAX_S = 86400 };

static const char *const policy_names[] = {"ask", "always", "never"};

static const char *const failure_names[CF_FAILURE_COUNT] = {"send", "retry", "stop", "drop"};

static cf_status no_memory(cf_error *err)
{
    return cf_oom_for(err, "the tools");
}

cf_status cf_tool_desk_init(cf_tool_desk *desk, cf_error *err)
{
    *desk = (cf_tool_desk){.mocks = json_object(),
                           .commands = json_object(),
                           .policies = json_object(),
                           .timeout_s = TIMEOUT_S};
    if (desk->mocks == NULL || desk->commands == NULL || desk->policies == NULL) {
        cf_tool_desk_deinit(desk);
        return no_memory(err);
    }
    return CF_OK;
}

void cf_tool_desk_deinit(cf_tool_desk *desk)
{
    json_decref(desk->mocks);
    json_decref(desk->commands);
    json_decref(desk->policies);
    cf_free(desk->any);
    cf_free(desk->path);
    *desk = (cf_tool_desk){0};
}

/* ---- the file ----------------------------------------------------------- */

/* Takes the texts of an object; other values are skipped. */
static bool take_texts(json_t *to, const json_t *from)
{
    const char *key;
    json_t *v;
    json_object_foreach(cf_json_ref(from), key, v)
    {
        if (json_is_string(v) && json_object_set(to, key, v) != 0) {
            return false;
        }
    }
    return true;
}

static bool take_policies(cf_tool_desk *desk, const json_t *from)
{
    const char *key;
    json_t *v;
    json_object_foreach(cf_json_ref(from), key, v)
    {
        if (cf_str_is(cf_str_make(json_string_value(v), json_string_length(v)), "never") &&
            json_object_set(desk->policies, key, v) != 0) {
            return false;
        }
    }
    return true;
}

static bool take_all(cf_tool_desk *desk, const json_t *from)
{
    return take_texts(desk->mocks, json_object_get(from, "mocks")) &&
           take_texts(desk->commands, json_object_get(from, "commands")) &&
           take_policies(desk, json_object_get(from, "policies"));
}

/* The file as it is now; an empty object when there is none. */
static cf_status read_root(const char *path, json_t **out, cf_error *err)
{
    cf_buf text = CF_BUF_INIT;
    *out = NULL;
    cf_status st = cf_os_check_owner(path, err);
    CF_THEN(st, cf_os_read_file(&text, path, FILE_MAX, err));
    if (st == CF_OK) {
        st = cf_json_read(out, cf_buf_cstr(&text), text.n, err);
    } else if (st == CF_ENOTFOUND) {
        *out = json_object();
        st = *out != NULL ? CF_OK : no_memory(err);
    }
    cf_buf_deinit(&text);
    if (st == CF_OK && !json_is_object(*out)) {
        json_decref(*out);
        *out = NULL;
        st = cf_fail(err, CF_EFORMAT, "%s: is not a JSON object", path);
    }
    return st;
}

cf_status cf_tool_desk_open(cf_tool_desk *desk, const char *path, cf_error *err)
{
    json_t *root;
    cf_status st = read_root(path, &root, err);
    if (st == CF_OK && !take_all(desk, root)) {
        st = no_memory(err);
    }
    if (st == CF_OK) {
        (void)cf_on_failure_parse(&desk->on_failure, cf_json_get_str(root, "on_failure"));
        json_int_t s = json_integer_value(json_object_get(root, "timeout_s"));
        if (s > 0 && s <= TIMEOUT_MAX_S) {
            desk->timeout_s = (uint32_t)s;
        }
        cf_free(desk->path);
        desk->path = cf_strndup(path, strlen(path));
        st = desk->path != NULL ? CF_OK : no_memory(err);
    }
    json_decref(root);
    return st;
}

static cf_status write_root(const char *path, const json_t *root, cf_error *err)
{
    cf_buf text = CF_BUF_INIT, folder = CF_BUF_INIT;
    const char *slash = strrchr(path, '/');
    cf_json_write(&text, root);
    cf_buf_addc(&text, '\n');
    cf_status st = cf_buf_check(&text, err);
    if (st == CF_OK && slash != NULL && slash != path) {
        cf_buf_add(&folder, path, (size_t)(slash - path));
        st = cf_buf_check(&folder, err);
        CF_THEN(st, cf_os_make_dirs(cf_buf_cstr(&folder), err));
    }
    CF_THEN(st, cf_os_write_file(path, text.p, text.n, 0600, err));
    cf_buf_deinit(&text);
    cf_buf_deinit(&folder);
    return st;
}

/* The object of that name in `of`, made when there is none; NULL when memory
 * ran out, or `of` is NULL. */
static json_t *member(json_t *of, const char *name)
{
    json_t *v = of != NULL ? json_object_get(of, name) : NULL;
    if (of == NULL || json_is_object(v)) {
        return v;
    }
    v = json_object();
    return v != NULL && json_object_set_new(of, name, v) == 0 ? v : NULL;
}

/* Writes one member into the file: of the object `section`, or of the whole
 * when that is NULL.  `value` (taken) NULL removes it. */
static cf_status keep(const cf_tool_desk *desk, const char *section, const char *name,
                      json_t *value, cf_error *err)
{
    json_t *root;
    if (desk->path == NULL) {
        json_decref(value);
        return CF_OK;
    }
    cf_status st = read_root(desk->path, &root, err);
    if (st != CF_OK) {
        json_decref(value);
        return st;
    }
    json_t *to = root;
    if (section != NULL && desk->scope[0] != '\0') {
        to = member(member(to, "tools"), desk->scope);
    }
    to = section != NULL ? member(to, section) : to;
    if (value == NULL) {
        (void)json_object_del(to, name); /* it may not have been there */
    } else if (json_object_set_new(to, name, value) != 0) {
        to = NULL;
    }
    st = to != NULL ? write_root(desk->path, root, err) : no_memory(err);
    json_decref(root);
    return st;
}

/* ---- scopes ------------------------------------------------------------- */

void cf_tool_desk_scope(char out[CF_DESK_SCOPE], const json_t *declarations, bool is_own)
{
    char hash[CF_HASH_TEXT + 1];
    cf_buf text = CF_BUF_INIT;
    if (is_own || json_array_size(declarations) == 0) {
        snprintf(out, CF_DESK_SCOPE, "%s", is_own ? "built-in" : "none");
        return;
    }
    cf_json_write(&text, declarations);
    cf_hash_hex(hash, cf_buf_cstr(&text), text.n);
    snprintf(out, CF_DESK_SCOPE, "%.32s", hash);
    cf_buf_deinit(&text);
}

static void name_all(cf_buf *out, const json_t *object, const char *what)
{
    const char *key;
    json_t *v;
    json_object_foreach(cf_json_ref(object), key, v)
    {
        cf_buf_addf(out, "%s%s: %s", out->n != 0 ? "; " : "",
                    strcmp(key, "*") == 0 ? "any tool" : key, what);
    }
}

cf_status cf_tool_desk_go(cf_tool_desk *desk, const char *scope, cf_buf *loaded, cf_error *err)
{
    json_t *root = NULL;
    cf_status st = CF_OK;
    if (strcmp(scope, desk->scope) == 0) {
        return CF_OK;
    }
    snprintf(desk->scope, sizeof desk->scope, "%s", scope);
    json_object_clear(desk->mocks);
    json_object_clear(desk->commands);
    json_object_clear(desk->policies);
    if (desk->path != NULL) {
        st = read_root(desk->path, &root, err);
    }
    bool is_own = strcmp(scope, "built-in") == 0;
    const json_t *own = json_object_get(json_object_get(root, "tools"), scope);
    if (st == CF_OK && ((!is_own && !take_all(desk, root)) || !take_all(desk, own))) {
        st = no_memory(err);
    }
    name_all(loaded, desk->mocks, "mock");
    name_all(loaded, desk->commands, "command");
    name_all(loaded, desk->policies, "never runs");
    if (st == CF_OK && desk->any != NULL) {
        st = cf_tool_desk_set_command(desk, cf_str_from("*"), desk->any, false, err);
    }
    json_decref(root);
    return st;
}

/* ---- by name ------------------------------------------------------------ */

static bool key_of(char key[NAME_SIZE], cf_str name)
{
    if (name.n == 0 || name.n >= NAME_SIZE || memchr(name.p, '\0', name.n) != NULL) {
        return false;
    }
    memcpy(key, name.p, name.n);
    key[name.n] = '\0';
    return true;
}

static const char *text_of(const json_t *object, cf_str name)
{
    char key[NAME_SIZE];
    return key_of(key, name) ? json_string_value(json_object_get(object, key)) : NULL;
}

/* Sets or (NULL) removes, in memory and in the file. */
static cf_status set_text(cf_tool_desk *desk, json_t *object, const char *section, cf_str name,
                          const char *text, bool is_kept, cf_error *err)
{
    char key[NAME_SIZE];
    if (!key_of(key, name)) {
        return cf_fail(err, CF_EINVAL, "a tool's name has 1 to %d bytes", NAME_SIZE - 1);
    }
    json_t *value = NULL;
    if (text == NULL) {
        (void)json_object_del(object, key); /* it may not have been there */
    } else {
        value = json_string(text);
        if (value == NULL || json_object_set(object, key, value) != 0) {
            json_decref(value);
            return cf_fail(err, CF_EINVAL, "the text is not UTF-8, or memory ran out");
        }
    }
    if (!is_kept) {
        json_decref(value);
        return CF_OK;
    }
    return keep(desk, section, key, value, err);
}

const char *cf_tool_desk_mock(const cf_tool_desk *desk, cf_str name)
{
    return text_of(desk->mocks, name);
}

cf_status cf_tool_desk_set_mock(cf_tool_desk *desk, cf_str name, const char *text, cf_error *err)
{
    return set_text(desk, desk->mocks, "mocks", name, text, true, err);
}

const char *cf_tool_desk_command(const cf_tool_desk *desk, cf_str name)
{
    const char *own = text_of(desk->commands, name);
    return own != NULL ? own : text_of(desk->commands, cf_str_from("*"));
}

/* The approval was given for another command. */
static void forget_always(cf_tool_desk *desk, cf_str name)
{
    const char *key;
    json_t *v;
    void *next;
    bool is_all = cf_str_is(name, "*");
    json_object_foreach_safe(desk->policies, next, key, v)
    {
        if (strcmp(json_string_value(v), "always") == 0 && (is_all || cf_str_is(name, key))) {
            (void)json_object_del(desk->policies, key);
        }
    }
}

cf_status cf_tool_desk_set_command(cf_tool_desk *desk, cf_str name, const char *command,
                                   bool is_kept, cf_error *err)
{
    forget_always(desk, name);
    if (cf_str_is(name, "*") && (!is_kept || command == NULL) && command != desk->any) {
        cf_free(desk->any);
        desk->any = command != NULL ? cf_strndup(command, strlen(command)) : NULL;
    }
    return set_text(desk, desk->commands, "commands", name, command, is_kept, err);
}

cf_tool_policy cf_tool_desk_policy(const cf_tool_desk *desk, cf_str name)
{
    cf_tool_policy policy = CF_POLICY_ASK;
    const char *text = text_of(desk->policies, name);
    if (text != NULL) {
        (void)cf_tool_policy_parse(&policy, cf_str_from(text));
    }
    return policy;
}

cf_status cf_tool_desk_set_policy(cf_tool_desk *desk, cf_str name, cf_tool_policy policy,
                                  cf_error *err)
{
    const char *text = policy != CF_POLICY_ASK ? cf_tool_policy_name(policy) : NULL;
    char key[NAME_SIZE];
    CF_TRY(set_text(desk, desk->policies, "policies", name, text, false, err));
    json_t *kept = policy == CF_POLICY_NEVER ? json_string(text) : NULL;
    (void)key_of(key, name); /* it was good just now */
    return keep(desk, "policies", key, kept, err);
}

const char *cf_tool_policy_name(cf_tool_policy policy)
{
    return policy_names[policy];
}

bool cf_tool_policy_parse(cf_tool_policy *out, cf_str name)
{
    for (int i = 0; i < 3; i++) {
        if (cf_str_is(name, policy_names[i])) {
            *out = (cf_tool_policy)i;
            return true;
        }
    }
    return false;
}

/* ---- the rest ----------------------------------------------------------- */

cf_status cf_tool_desk_set_on_failure(cf_tool_desk *desk, cf_on_failure what, cf_error *err)
{
    json_t *v = json_string(cf_on_failure_name(what));
    desk->on_failure = what;
    return v != NULL ? keep(desk, NULL, "on_failure", v, err) : no_memory(err);
}

const char *cf_on_failure_name(cf_on_failure what)
{
    return failure_names[what];
}

const char *cf_on_failure_help(cf_on_failure what)
{
    static const char *const help[CF_FAILURE_COUNT] = {
        "the model is told why, and goes on", "asking for another reply, as a sibling",
        "nothing is sent", "a sibling reply takes its place, without the calls"};
    return help[what];
}

bool cf_on_failure_parse(cf_on_failure *out, cf_str name)
{
    for (int i = 0; i < CF_FAILURE_COUNT; i++) {
        if (cf_str_is(name, failure_names[i])) {
            *out = (cf_on_failure)i;
            return true;
        }
    }
    return false;
}

cf_status cf_tool_desk_set_timeout(cf_tool_desk *desk, uint32_t seconds, cf_error *err)
{
    if (seconds == 0 || seconds > TIMEOUT_MAX_S) {
        return cf_fail(err, CF_EINVAL, "a tool may take 1 to %d seconds", TIMEOUT_MAX_S);
    }
    desk->timeout_s = seconds;
    json_t *v = json_integer(seconds);
    return v != NULL ? keep(desk, NULL, "timeout_s", v, err) : no_memory(err);
}
