/*
 * test_mcp_names.c - files of servers, command lines, names of tools.
 */
#include "core/api/mcp.h"
#include "tests/support/t.h"

static const char *lookup(void *ud, const char *name)
{
    (void)ud;
    return strcmp(name, "HOME") == 0 ? "/home/ada" : NULL;
}

static void check_file(const char *text, const char *want)
{
    json_t *file = json_loads(text, 0, NULL), *servers = NULL;
    cf_error err;
    cf_buf out = CF_BUF_INIT;
    cf_status st = cf_mcp_config_read(&servers, file, lookup, NULL, &err);
    if (st == CF_OK) {
        cf_json_write(&out, servers);
    } else {
        cf_buf_adds(&out, err.text);
    }
    assert_string_equal(cf_buf_cstr(&out), want);
    cf_buf_deinit(&out);
    json_decref(servers);
    json_decref(file);
}

static void test_mcp_names__files(void **state)
{
    (void)state;
    check_file("{\"mcpServers\":{\"a\":{\"command\":\"x\",\"args\":[\"${HOME}/"
               "d\",\"${NO:-z}\",\"${NO}\"],\"env\":{\"K\":1}},\"off\":{"
               "\"command\":\"y\",\"disabled\":true}}}",
               "[{\"name\":\"a\",\"command\":[\"x\",\"/home/ada/"
               "d\",\"z\",\"${NO}\"],\"env\":{\"K\":\"1\"}}]");
    check_file("{\"servers\":{\"w\":{\"url\":\"https://h/mcp\",\"headers\":{"
               "\"A\":\"b\"}}}}",
               "[{\"name\":\"w\",\"url\":\"https://h/"
               "mcp\",\"headers\":{\"A\":\"b\"}}]");
    check_file("{\"mcpServers\":{\"a\":{\"url\":\"https://h\",\"oauth\":{\"clientId\":\"${HOME}\","
               "\"scopes\":[\"x\",\"y\"],\"callbackPort\":9}}}}",
               "[{\"name\":\"a\",\"url\":\"https://h\",\"oauth\":{\"callbackPort\":9,"
               "\"clientId\":\"/home/ada\",\"scopes\":\"x y\"}}]");
    check_file("{\"mcpServers\":{\"a\":{\"url\":\"https://h\",\"oauth\":false}}}",
               "[{\"name\":\"a\",\"url\":\"https://h\",\"oauth\":false}]");
    check_file("{\"mcpServers\":{\"a\":{\"url\":\"https://h\",\"oauth\":{\"callbackPort\":0}}}}",
               "server a: \"oauth\" is an object, its \"callbackPort\" 1 to 65535");
    check_file("{\"mcpServers\":{\"a\":{\"url\":\"https://h\",\"oauth\":"
               "{\"clientMetadataUrl\":\"http://h/x\"}}}}",
               "server a: \"oauth\" holds what is not a text, or no address of https");
    check_file("{}", "there is no \"mcpServers\" object in it");
    check_file("{\"mcpServers\":{\"a\":{}}}", "server a: has neither a \"command\" nor a \"url\"");
    check_file("{\"mcpServers\":{\"a\":{\"url\":\"file:///x\"}}}",
               "server a: \"url\" starts with http:// or https://");
    check_file("{\"mcpServers\":{\"a\":{\"url\":\"http://h\",\"headers\":{"
               "\"A\":\"b\\r\\nX: 1\"}}}}",
               "server a: \"headers\" holds a value that cannot be used: A");
}

/* What the question before a start shows. */
static void check_shown(const char *server, const char *want)
{
    char text[900];
    json_t *servers = NULL;
    cf_error err;
    cf_buf out = CF_BUF_INIT;
    snprintf(text, sizeof text, "{\"mcpServers\":{\"a\":%s}}", server);
    json_t *file = json_loads(text, 0, NULL);
    T_OK(cf_mcp_config_read(&servers, file, lookup, NULL, &err), err);
    cf_mcp_config_show(&out, json_array_get(servers, 0));
    assert_string_equal(cf_buf_cstr(&out), want);
    cf_buf_deinit(&out);
    json_decref(servers);
    json_decref(file);
}

static void test_mcp_names__shown(void **state)
{
    (void)state;
    check_shown("{\"command\":\"npx\",\"args\":[\"a b\"],\"env\":{\"ROOT\":\"/\",\"N\":3}}",
                "npx 'a b' (with ROOT=/, N=3)");
    check_shown(
        "{\"command\":\"x\",\"cwd\":\"/d\",\"env\":{\"LD_PRELOAD\":\"/tmp/e.so\","
        "\"PATHS\":\"1\",\"PATH\":\"/tmp\",\"NODE_OPTIONS\":\"-r e\",\"PYTHONSTARTUP\":\"e\"}}",
        "(another program may run: the file sets LD_PRELOAD, PATH, NODE_OPTIONS, "
        "PYTHONSTARTUP) x (in /d) (with LD_PRELOAD=/tmp/e.so, PATHS=1, PATH=/tmp, "
        "NODE_OPTIONS='-r e', PYTHONSTARTUP=e)");
    check_shown("{\"url\":\"http://h\",\"headers\":{\"A\":\"b c\",\"K\":\"Bearer ${HOME}\"}}",
                "http://h (with A: 'b c', K: 'Bearer ${HOME}')");
    check_shown(
        "{\"command\":\"x\",\"env\":{\"A\":\""
        "0123456789012345678901234567890123456789012345678901234567890123456789012345678901234"
        "56789012345678\xC3\xA9\"}}",
        "x (with A=012345678901234567890123456789012345678901234567890123456789012345678901"
        "234567890123456789012345678...)");
}

static void check_line(const char *line, const char *want)
{
    json_t *config = NULL;
    cf_error err;
    cf_buf out = CF_BUF_INIT;
    if (cf_mcp_config_line(&config, line, &err) == CF_OK) {
        cf_json_write(&out, config);
    } else {
        cf_buf_adds(&out, err.text);
    }
    assert_string_equal(cf_buf_cstr(&out), want);
    cf_buf_deinit(&out);
    json_decref(config);
}

static void test_mcp_names__lines(void **state)
{
    (void)state;
    check_line("npx -y @scope/server-files@1.2 '/my files' a\\ b \"c\\\"d\"",
               "{\"name\":\"files\",\"command\":[\"npx\",\"-y\",\"@scope/"
               "server-files@1.2\",\"/my files\",\"a b\",\"c\\\"d\"]}");
    check_line("python3 /opt/notes_server.py",
               "{\"name\":\"notes\",\"command\":[\"python3\",\"/opt/"
               "notes_server.py\"]}");
    check_line("https://u:k@wiki.example/mcp",
               "{\"name\":\"wiki.example\",\"url\":\"https://u:k@wiki.example/"
               "mcp\"}");
    check_line("x 'open", "a quote is not closed");
    check_line("  ", "a server is a command or an address");
}

static void check_names(const char *servers_text, const char *others_text, const char *want)
{
    json_t *servers = json_loads(servers_text, 0, NULL);
    json_t *others = others_text != NULL ? json_loads(others_text, 0, NULL) : NULL;
    json_t *declared = NULL, *map = NULL;
    cf_buf out = CF_BUF_INIT;
    cf_error err;
    T_OK(cf_mcp_declare(&declared, &map, servers, others, &err), err);
    assert_int_equal(json_array_size(declared), json_array_size(map) + json_array_size(others));
    for (size_t i = 0; i < json_array_size(map); i++) {
        cf_str name = cf_json_get_str(json_array_get(map, i), "name");
        cf_buf_addf(&out, "%s%.*s", i > 0 ? " " : "", (int)name.n, name.p);
    }
    assert_string_equal(cf_buf_cstr(&out), want);
    cf_buf_deinit(&out);
    json_decref(servers);
    json_decref(others);
    json_decref(declared);
    json_decref(map);
}

#define TOOL(name) "{\"name\":\"" name "\",\"inputSchema\":{}}"

static void test_mcp_names__clashes(void **state)
{
    (void)state;
    check_names("[{\"name\":\"a\",\"tools\":[" TOOL("x") "," TOOL(
                    "y") "]},{\"name\":\"b c\",\"tools\":[" TOOL("y") "]}]",
                NULL, "x a_y b_c_y");
    /* A tool that is off clashes with nothing. */
    check_names("[{\"name\":\"a\",\"tools\":[" TOOL(
                    "y") "],\"off\":[\"y\"]},{\"name\":\"b\",\"tools\":[" TOOL("y") "]}"
                                                                                    "]",
                NULL, "y");
    check_names("[{\"name\":\"a\",\"tools\":[" TOOL("y") "],\"off\":true}]", NULL, "");
    check_names("[{\"name\":\"a\",\"tools\":[" TOOL("y") "]}]",
                "[{\"type\":\"function\",\"function\":{\"name\":\"y\"}}]", "a_y");
    /* The prefixed name is taken as well. */
    check_names("[{\"name\":\"a\",\"tools\":[" TOOL("y") "," TOOL(
                    "a_y") "]},{\"name\":\"b\",\"tools\":[" TOOL("y") "]}]",
                NULL, "a_y_2 a_y b_y");
    /* Two servers of one name. */
    check_names(
        "[{\"name\":\"a\",\"tools\":[" TOOL("y") "]},{\"name\":\"a\",\"tools\":[" TOOL("y") "]}]",
        NULL, "a_y a_y_2");
}

static json_t *parsed(const char *text)
{
    json_t *v = json_loads(text, 0, NULL);
    assert_non_null(v);
    return v;
}

/* What changed of tools, whichever of both lists has more members. */
static void test_mcp_names__changes_of_tools(void **state)
{
    (void)state;
    static const struct {
        const char *before, *after, *want;
    } v[] = {
        {"[]", "[]", ""},
        {"[{\"name\":\"a\"}]", "[{\"name\":\"a\"}]", ""},
        {"[{\"name\":\"a\"}]", "[]", "- a\n"},
        {"[]", "[{\"name\":\"a\"}]", "+ a\n"},
        {"[{\"name\":\"a\"},{\"name\":\"b\"}]", "[{\"name\":\"b\"},{\"name\":\"c\"}]",
         "- a\n+ c\n"},
        {"[{\"name\":\"a\",\"description\":\"x\"}]", "[{\"name\":\"a\"}]",
         "~ a\n  - description \"x\"\n"},
        {"[{\"name\":\"a\"}]", "[{\"name\":\"a\",\"description\":\"x\"}]",
         "~ a\n  + description \"x\"\n"},
        {"[{\"name\":\"a\",\"description\":\"x\",\"inputSchema\":{\"type\":\"object\"}}]",
         "[{\"name\":\"a\",\"description\":\"x\",\"inputSchema\":{\"type\":\"array\"}}]",
         "~ a\n  - inputSchema {\"type\":\"object\"}\n  + inputSchema {\"type\":\"array\"}\n"},
    };
    for (size_t i = 0; i < sizeof v / sizeof v[0]; i++) {
        json_t *before = parsed(v[i].before), *after = parsed(v[i].after);
        cf_buf out = CF_BUF_INIT;
        cf_mcp_tools_diff(&out, before, after);
        assert_string_equal(cf_buf_cstr(&out), v[i].want);
        cf_buf_deinit(&out);
        json_decref(before);
        json_decref(after);
    }
}

/* The bytes of a block, with each padding that base64 has. */
static void test_mcp_names__bytes_of_blocks(void **state)
{
    (void)state;
    static const struct {
        const char *data;
        int n_bytes;
    } v[] = {{"", 0},     {"=", 0},        {"==", 0},       {"AA==", 1},    {"AAA=", 2},
             {"AAAA", 3}, {"AAAAAA==", 4}, {"AAAAAAA=", 5}, {"AAAAAAAA", 6}};
    for (size_t i = 0; i < sizeof v / sizeof v[0]; i++) {
        char want[60];
        cf_buf out = CF_BUF_INIT;
        cf_mcp_result r = {.content = json_pack("[{s:s,s:s,s:s}]", "type", "image", "mimeType",
                                                "image/png", "data", v[i].data)};
        snprintf(want, sizeof want, "[image image/png, %d bytes]", v[i].n_bytes);
        cf_mcp_result_text(&r, &out);
        assert_string_equal(cf_buf_cstr(&out), want);
        cf_buf_deinit(&out);
        cf_mcp_result_deinit(&r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mcp_names__files),
        cmocka_unit_test(test_mcp_names__shown),
        cmocka_unit_test(test_mcp_names__lines),
        cmocka_unit_test(test_mcp_names__clashes),
        cmocka_unit_test(test_mcp_names__changes_of_tools),
        cmocka_unit_test(test_mcp_names__bytes_of_blocks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
