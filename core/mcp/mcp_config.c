/*
 * mcp_config.c - which servers there are: the "mcpServers" object of other
 * clients, or a command line.
 */
#include <string.h>

#include "core/base/utf8.h"
#include "core/mcp/mcp_impl.h"

enum { NAME_MAX_BYTES = 128, WORDS_MAX = 256, VARIABLE_SIZE = 128, VALUE_SHOWN_MAX = 100 };

/* ---- variables ---------------------------------------------------------- */

typedef struct reader {
    cf_mcp_lookup_fn lookup;
    void *ud;
    const char *server; /* being read, for errors */
} reader;

/* Replaces "${NAME}" at p, whose inside has n bytes. */
static void put_variable(const reader *r, cf_buf *out, const char *p, size_t n)
{
    char name[VARIABLE_SIZE];
    size_t k = 0;
    while (k < n && !(p[k] == ':' && k + 1 < n && p[k + 1] == '-')) {
        k++;
    }
    const char *value = NULL;
    if (k > 0 && k < sizeof name) {
        memcpy(name, p, k);
        name[k] = '\0';
        value = r->lookup(r->ud, name);
    }
    if (value != NULL && value[0] != '\0') {
        cf_buf_adds(out, value);
    } else if (k < n) {
        cf_buf_add(out, p + k + 2, n - k - 2);
    } else if (value == NULL) {
        cf_buf_adds(out, "${");
        cf_buf_add(out, p, n);
        cf_buf_addc(out, '}');
    }
}

static json_t *expanded(const reader *r, const json_t *text)
{
    const char *p = json_string_value(text);
    size_t n = json_string_length(text);
    cf_buf out = CF_BUF_INIT;
    for (size_t i = 0; i < n;) {
        const char *end = r->lookup != NULL && n - i > 3 && p[i] == '$' && p[i + 1] == '{'
                              ? memchr(p + i + 2, '}', n - i - 2)
                              : NULL;
        if (end == NULL) {
            cf_buf_addc(&out, p[i++]);
            continue;
        }
        put_variable(r, &out, p + i + 2, (size_t)(end - (p + i + 2)));
        i = (size_t)(end - p) + 1;
    }
    json_t *v = out.failed ? NULL : json_stringn(cf_buf_cstr(&out), out.n);
    cf_buf_deinit(&out);
    return v;
}

/* ---- the file ----------------------------------------------------------- */

static cf_status wrong(const reader *r, cf_error *err, const char *what)
{
    return cf_fail(err, CF_EFORMAT, "server %.80s: %s", r->server, what);
}

/* Strings without NUL, which no argument of a program can hold. */
static bool is_plain(const json_t *v)
{
    return json_is_string(v) && strlen(json_string_value(v)) == json_string_length(v);
}

static cf_status read_command(const reader *r, json_t *to, const json_t *from, cf_error *err)
{
    const json_t *args = json_object_get(from, "args");
    json_t *command = json_object_get(from, "command");
    if (!is_plain(command) || json_string_length(command) == 0) {
        return wrong(r, err, "\"command\" is not a text");
    }
    if (args != NULL && !json_is_null(args) && !json_is_array(args)) {
        return wrong(r, err, "\"args\" is not a list");
    }
    json_t *list = json_array();
    bool ok = json_array_append_new(list, expanded(r, command)) == 0;
    for (size_t i = 0; i < json_array_size(args); i++) {
        const json_t *v = json_array_get(args, i);
        if (!is_plain(v)) {
            json_decref(list);
            return wrong(r, err, "\"args\" holds what is not a text");
        }
        ok = ok && json_array_append_new(list, expanded(r, v)) == 0;
    }
    ok = json_object_set_new(to, "command", list) == 0 && ok;
    return ok ? CF_OK : cf_oom_for(err, "a server");
}

/* Keeps a text with variables as the file has it, for the question: what is in
 * a variable is not shown. */
static bool keep_shown(json_t *to, const char *member, const char *key, json_t *v)
{
    json_t *shown = json_object_get(to, "shown");
    if (shown == NULL) {
        shown = json_object();
        if (json_object_set_new(to, "shown", shown) != 0) {
            return false;
        }
    }
    json_t *of_member = json_object_get(shown, member);
    if (of_member == NULL) {
        of_member = json_object();
        if (json_object_set_new(shown, member, of_member) != 0) {
            return false;
        }
    }
    return json_object_set(of_member, key, v) == 0;
}

/* Copies an object of texts; numbers and truth values are written as text. */
static cf_status read_texts(const reader *r, json_t *to, const json_t *from, const char *member,
                            cf_error *err)
{
    const json_t *object = json_object_get(from, member);
    const char *key;
    json_t *v;
    if (object == NULL || json_is_null(object)) {
        return CF_OK;
    }
    if (!json_is_object(object)) {
        return cf_fail(err, CF_EFORMAT, "server %.80s: \"%s\" is not an object", r->server, member);
    }
    json_t *copy = json_object();
    json_object_foreach(cf_json_ref(object), key, v)
    {
        json_t *text = NULL;
        if (json_is_string(v)) {
            text = expanded(r, v);
            if (text != NULL && !json_equal(text, v) && !keep_shown(to, member, key, v)) {
                json_decref(text);
                json_decref(copy);
                return cf_oom_for(err, "a server");
            }
        } else if (json_is_number(v) || json_is_boolean(v)) {
            cf_buf b = CF_BUF_INIT;
            cf_json_write(&b, v);
            text = json_stringn(cf_buf_cstr(&b), b.n);
            cf_buf_deinit(&b);
        }
        if (!is_plain(text) || strpbrk(key, "=\r\n:") != NULL ||
            strpbrk(json_string_value(text), "\r\n") != NULL ||
            json_object_set(copy, key, text) != 0) {
            json_decref(text);
            json_decref(copy);
            return cf_fail(err, CF_EFORMAT,
                           "server %.80s: \"%s\" holds a value that cannot be "
                           "used: %.40s",
                           r->server, member, key);
        }
        json_decref(text);
    }
    return json_object_set_new(to, member, copy) == 0 ? CF_OK : cf_oom_for(err, "a server");
}

/* "scopes" as one text, from a list or a text. */
static json_t *read_scopes(const reader *r, const json_t *from)
{
    cf_buf all = CF_BUF_INIT;
    for (size_t i = 0; i < json_array_size(from); i++) {
        cf_buf_adds(&all, i > 0 ? " " : "");
        cf_buf_adds(&all, is_plain(json_array_get(from, i))
                              ? json_string_value(json_array_get(from, i))
                              : "");
    }
    json_t *text = json_is_array(from) ? cf_json_buf(&all) : json_incref(cf_json_ref(from));
    json_t *out = is_plain(text) ? expanded(r, text) : NULL;
    json_decref(text);
    cf_buf_deinit(&all);
    return out;
}

static bool is_https(const json_t *url)
{
    return url == NULL || strncmp(json_string_value(url), "https://", 8) == 0;
}

/* How a server is signed in to: an object, or false for never. */
static cf_status read_oauth(const reader *r, json_t *to, const json_t *from, cf_error *err)
{
    static const char *const texts[] = {"clientId", "clientSecret", "clientMetadataUrl", NULL};
    json_t *oauth = json_object_get(from, "oauth");
    json_t *port = json_object_get(oauth, "callbackPort");
    const json_t *scopes = json_object_get(oauth, "scopes");
    if (oauth == NULL || json_is_null(oauth) || json_is_true(oauth)) {
        return CF_OK;
    }
    if (json_is_false(oauth)) {
        return json_object_set(to, "oauth", oauth) == 0 ? CF_OK : cf_oom_for(err, "a server");
    }
    if (!json_is_object(oauth) ||
        (port != NULL && (json_integer_value(port) < 1 || json_integer_value(port) > 65535))) {
        return wrong(r, err, "\"oauth\" is an object, its \"callbackPort\" 1 to 65535");
    }
    json_t *copy = json_object();
    bool ok = port == NULL || json_object_set(copy, "callbackPort", port) == 0;
    for (size_t i = 0; ok && texts[i] != NULL; i++) {
        const json_t *v = json_object_get(oauth, texts[i]);
        ok = v == NULL || (is_plain(v) && json_object_set_new(copy, texts[i], expanded(r, v)) == 0);
    }
    ok = ok && (scopes == NULL || json_object_set_new(copy, "scopes", read_scopes(r, scopes)) == 0);
    ok = ok && is_https(json_object_get(copy, "clientMetadataUrl"));
    if (!ok || json_object_set(to, "oauth", copy) != 0) {
        json_decref(copy);
        return wrong(r, err, "\"oauth\" holds what is not a text, or no address of https");
    }
    json_decref(copy);
    return CF_OK;
}

static cf_status read_server(const reader *r, json_t *to, const json_t *from, cf_error *err)
{
    json_t *url = json_object_get(from, "url");
    json_t *cwd = json_object_get(from, "cwd");
    if (!json_is_object(from)) {
        return wrong(r, err, "is not an object");
    }
    url = url != NULL ? url : json_object_get(from, "serverUrl");
    url = url != NULL ? url : json_object_get(from, "httpUrl");
    if (is_plain(url)) {
        json_t *text = expanded(r, url);
        const char *p = text != NULL ? json_string_value(text) : "";
        bool ok = strncmp(p, "http://", 7) == 0 || strncmp(p, "https://", 8) == 0;
        if (!ok || json_object_set(to, "url", text) != 0) {
            json_decref(text);
            return wrong(r, err, "\"url\" starts with http:// or https://");
        }
        json_decref(text);
        CF_TRY(read_oauth(r, to, from, err));
        return read_texts(r, to, from, "headers", err);
    }
    if (json_object_get(from, "command") == NULL) {
        return wrong(r, err, "has neither a \"command\" nor a \"url\"");
    }
    CF_TRY(read_command(r, to, from, err));
    if (is_plain(cwd) && json_object_set_new(to, "cwd", expanded(r, cwd)) != 0) {
        return cf_oom_for(err, "a server");
    }
    return read_texts(r, to, from, "env", err);
}

cf_status cf_mcp_config_read(json_t **out, const json_t *file, cf_mcp_lookup_fn lookup, void *ud,
                             cf_error *err)
{
    const json_t *servers = json_object_get(file, "mcpServers");
    const char *name;
    json_t *from;
    *out = NULL;
    servers = servers != NULL ? servers : json_object_get(file, "servers");
    if (!json_is_object(servers)) {
        return cf_fail(err, CF_EFORMAT, "there is no \"mcpServers\" object in it");
    }
    json_t *list = json_array();
    cf_status st = list != NULL ? CF_OK : cf_oom_for(err, "the servers");
    json_object_foreach(cf_json_ref(servers), name, from)
    {
        const reader r = {.lookup = lookup, .ud = ud, .server = name};
        if (st != CF_OK || json_is_true(json_object_get(from, "disabled"))) {
            continue;
        }
        size_t n = strlen(name);
        json_t *to = json_pack("{s:s}", "name", name);
        if (n == 0 || n > NAME_MAX_BYTES) {
            st = wrong(&r, err, "its name has 1 to 128 bytes");
        } else if (to == NULL) {
            st = cf_oom_for(err, "a server");
        }
        CF_THEN(st, read_server(&r, to, from, err));
        if (st == CF_OK && json_array_append(list, to) != 0) {
            st = cf_oom_for(err, "a server");
        }
        json_decref(to);
    }
    if (st != CF_OK) {
        json_decref(list);
        return st;
    }
    *out = list;
    return CF_OK;
}

/* ---- a command line ----------------------------------------------------- */

/* Adds the next word of *at; false at the end.  *is_open: a quote is not
 * closed. */
static bool next_word(const char **at, cf_buf *word, bool *is_open)
{
    const char *p = *at;
    char quote = '\0';
    while (*p == ' ' || *p == '\t') {
        p++;
    }
    bool is_word = *p != '\0';
    for (; *p != '\0' && (quote != '\0' || (*p != ' ' && *p != '\t')); p++) {
        if (*p == '\\' && quote != '\'' && p[1] != '\0') {
            cf_buf_addc(word, *++p);
        } else if (quote == '\0' && (*p == '\'' || *p == '"')) {
            quote = *p;
        } else if (*p == quote) {
            quote = '\0';
        } else {
            cf_buf_addc(word, *p);
        }
    }
    *is_open = quote != '\0';
    *at = p;
    return is_word;
}

static bool is_launcher(const char *word)
{
    static const char *const names[] = {"npx",     "node", "uvx",  "uv",     "run", "python",
                                        "python3", "bunx", "deno", "docker", "sh",  "env"};
    const char *slash = strrchr(word, '/');
    word = slash != NULL ? slash + 1 : word;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(word, names[i]) == 0) {
            return true;
        }
    }
    return false;
}

/* "@scope/server-files@1.2" and "/usr/bin/files-mcp.py" are "files". */
static void put_short_name(cf_buf *out, const char *word)
{
    static const char *const before[] = {"mcp-server-", "server-", "mcp-"};
    static const char *const after[] = {".js",         ".mjs",    ".py",  ".sh",
                                        "-mcp-server", "-server", "-mcp", "_server"};
    const char *slash = strrchr(word, '/');
    const char *p = slash != NULL ? slash + 1 : word;
    const char *version = strchr(p + (p[0] == '@'), '@');
    size_t n = version != NULL ? (size_t)(version - p) : strlen(p);
    for (size_t i = 0; i < sizeof before / sizeof before[0]; i++) {
        size_t k = strlen(before[i]);
        if (n > k && strncmp(p, before[i], k) == 0) {
            p += k;
            n -= k;
            break;
        }
    }
    for (size_t i = 0; i < sizeof after / sizeof after[0]; i++) {
        size_t k = strlen(after[i]);
        if (n > k && strncmp(p + n - k, after[i], k) == 0) {
            n -= k;
        }
    }
    cf_buf_add(out, p, n < NAME_MAX_BYTES ? n : NAME_MAX_BYTES);
}

/* The host of an address. */
static void put_host(cf_buf *out, const char *url)
{
    const char *host = strstr(url, "://") + 3;
    size_t n = strcspn(host, "/?#");
    for (size_t i = n; i > 0; i--) {
        if (host[i - 1] == '@') {
            host += i;
            n -= i;
            break;
        }
    }
    cf_buf_add(out, host, n < NAME_MAX_BYTES ? n : NAME_MAX_BYTES);
}

static void put_name(cf_buf *out, const json_t *words)
{
    for (size_t i = 0; i < json_array_size(words); i++) {
        const char *word = json_string_value(json_array_get(words, i));
        if (word[0] != '-' && !is_launcher(word)) {
            put_short_name(out, word);
            return;
        }
    }
    put_short_name(out, json_string_value(json_array_get(words, 0)));
}

cf_status cf_mcp_config_line(json_t **out, const char *line, cf_error *err)
{
    json_t *words = json_array();
    cf_buf name = CF_BUF_INIT;
    bool is_open = false, ok = words != NULL;
    *out = NULL;
    for (const char *at = line; ok;) {
        cf_buf word = CF_BUF_INIT;
        bool is_cut, has_word = next_word(&at, &word, &is_cut);
        is_open = is_open || is_cut;
        ok = !has_word ||
             (json_array_size(words) < WORDS_MAX &&
              json_array_append_new(words, json_stringn(cf_buf_cstr(&word), word.n)) == 0);
        cf_buf_deinit(&word);
        if (!has_word) {
            break;
        }
    }
    cf_status st = CF_OK;
    const char *first = json_string_value(json_array_get(words, 0));
    if (!ok) {
        st = cf_fail(err, CF_EINVAL, "the command is not UTF-8 or too long");
    } else if (first == NULL || first[0] == '\0') {
        st = cf_fail(err, CF_EINVAL, "a server is a command or an address");
    } else if (is_open) {
        st = cf_fail(err, CF_EINVAL, "a quote is not closed");
    } else if (strncmp(first, "http://", 7) == 0 || strncmp(first, "https://", 8) == 0) {
        put_host(&name, first);
        *out = json_pack("{s:s%, s:s}", "name", cf_buf_cstr(&name), name.n, "url", first);
    } else {
        put_name(&name, words);
        *out = json_pack("{s:s%, s:O}", "name", cf_buf_cstr(&name), name.n, "command", words);
    }
    if (st == CF_OK && *out == NULL) {
        st = cf_oom_for(err, "a server");
    }
    json_decref(words);
    cf_buf_deinit(&name);
    return st;
}

/* ---- showing ------------------------------------------------------------ */

static bool needs_quotes(const char *p)
{
    return p[0] == '\0' || strpbrk(p, " \t\n'\"\\$`&|;<>()*?[]#~!{}") != NULL;
}

static void put_word(cf_buf *out, const char *p)
{
    if (!needs_quotes(p)) {
        cf_buf_adds(out, p);
        return;
    }
    cf_buf_addc(out, '\'');
    for (; *p != '\0'; p++) {
        cf_buf_adds(out, *p == '\'' ? "'\\'" : "");
        cf_buf_addc(out, *p);
    }
    cf_buf_addc(out, '\'');
}

/* Whether a variable decides which program runs, or what it loads. */
static bool is_risky(const char *name)
{
    static const char *const begins[] = {"LD_", "DYLD_", "PYTHON", "PERL5", "RUBY"};
    static const char *const names[] = {"PATH", "NODE_OPTIONS", "BASH_ENV", "ENV"};
    for (size_t i = 0; i < sizeof begins / sizeof begins[0]; i++) {
        if (strncmp(name, begins[i], strlen(begins[i])) == 0) {
            return true;
        }
    }
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(name, names[i]) == 0) {
            return true;
        }
    }
    return false;
}

static void put_warning(cf_buf *out, const json_t *env)
{
    const char *key;
    json_t *v;
    bool is_first = true;
    json_object_foreach(cf_json_ref(env), key, v)
    {
        if (is_risky(key)) {
            cf_buf_adds(out, is_first ? "(another program may run: the file sets " : ", ");
            cf_buf_adds(out, key);
            is_first = false;
        }
    }
    cf_buf_adds(out, is_first ? "" : ") ");
}

/* Names and values, those of variables as "${NAME}". */
static void put_values(cf_buf *out, const json_t *config, const char *member, const char *between)
{
    const json_t *shown = json_object_get(json_object_get(config, "shown"), member);
    const char *key;
    json_t *v;
    bool is_first = true;
    json_object_foreach(json_object_get(config, member), key, v)
    {
        const json_t *raw = json_object_get(shown, key);
        const char *text = json_string_value(raw != NULL ? raw : v);
        cf_buf value = CF_BUF_INIT;
        size_t n = strlen(text), kept = n;
        if (n > VALUE_SHOWN_MAX) {
            kept = VALUE_SHOWN_MAX - cf_utf8_incomplete_tail(text, VALUE_SHOWN_MAX);
        }
        cf_buf_add(&value, text, kept);
        cf_buf_adds(&value, kept < n ? "..." : "");
        cf_buf_addf(out, "%s%s%s", is_first ? " (with " : ", ", key, between);
        put_word(out, cf_buf_cstr(&value));
        out->failed = out->failed || value.failed;
        cf_buf_deinit(&value);
        is_first = false;
    }
    cf_buf_adds(out, is_first ? "" : ")");
}

void cf_mcp_config_show(cf_buf *out, const json_t *config)
{
    const json_t *words = json_object_get(config, "command");
    cf_str url = cf_json_get_str(config, "url");
    cf_str cwd = cf_json_get_str(config, "cwd");
    put_warning(out, json_object_get(config, "env")); /* first: long arguments cannot hide it */
    cf_buf_add(out, url.n > 0 ? url.p : "", url.n);
    for (size_t i = 0; i < json_array_size(words); i++) {
        cf_buf_adds(out, i > 0 ? " " : "");
        put_word(out, json_string_value(json_array_get(words, i)));
    }
    if (cwd.n > 0) {
        cf_buf_addf(out, " (in %.*s)", (int)cwd.n, cwd.p);
    }
    put_values(out, config, "env", "=");
    put_values(out, config, "headers", ": ");
}
