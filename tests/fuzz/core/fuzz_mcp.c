/*
 * fuzz_mcp.c - any bytes as what comes from tool servers.  The first byte says
 * as what: a message and the lists of tools in it, a file of servers, a command
 * line, or what comes while signing in.
 */
#include "core/mcp/mcp_oauth.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void on_header(void *ud, const char *name, cf_str value)
{
    cf_buf out = CF_BUF_INIT;
    (void)ud;
    (void)name;
    cf_mcp__header_value(&out, value);
    cf_buf_deinit(&out);
}

/* The tools of an answer as those of two servers, and what each asks for. */
static void walk_tools(const json_t *tools, const json_t *arguments)
{
    json_t *declared = NULL, *map = NULL;
    cf_buf text = CF_BUF_INIT;
    cf_error err;
    json_t *servers = json_pack("[{s:s, s:O?}, {s:s, s:O?}]", "name", "a", "tools", tools, "name",
                                "b", "tools", tools);
    for (size_t i = 0; i < json_array_size(tools); i++) {
        const json_t *schema = json_object_get(json_array_get(tools, i), "inputSchema");
        (void)cf_mcp__param_headers(schema, arguments, on_header, NULL, &text);
    }
    if (cf_mcp_declare(&declared, &map, servers, NULL, &err) == CF_OK) {
        json_decref(declared);
        json_decref(map);
    }
    cf_mcp_tools_diff(&text, tools, NULL);
    cf_mcp_tools_diff(&text, tools, tools);
    json_decref(servers);
    cf_buf_deinit(&text);
}

static void read_message(cf_str text)
{
    json_t *message = NULL;
    cf_error err;
    cf_buf out = CF_BUF_INIT;
    if (cf_mcp__read(&message, text, &err) == CF_OK) {
        const json_t *result = json_object_get(message, "result");
        const cf_mcp_result r = {.is_sent = true,
                                 .content = json_object_get(result, "content"),
                                 .structured = json_object_get(result, "structuredContent")};
        (void)cf_mcp__classify(message);
        (void)cf_mcp__answer_id(message);
        cf_mcp__error_text(&out, cf_mcp__error_of(message));
        cf_mcp_result_text(&r, &out);
        walk_tools(json_object_get(result, "tools"), r.structured);
    }
    json_decref(message);
    cf_buf_deinit(&out);
}

static void read_config(cf_str text)
{
    json_t *file = NULL, *servers = NULL;
    cf_error err;
    cf_buf out = CF_BUF_INIT;
    if (cf_json_read(&file, text.p, text.n, &err) == CF_OK &&
        cf_mcp_config_read(&servers, file, NULL, NULL, &err) == CF_OK) {
        for (size_t i = 0; i < json_array_size(servers); i++) {
            cf_mcp_config_show(&out, json_array_get(servers, i));
        }
    }
    json_decref(file);
    json_decref(servers);
    cf_buf_deinit(&out);
}

static void read_line(cf_str text)
{
    json_t *config = NULL;
    cf_error err;
    cf_buf line = CF_BUF_INIT, out = CF_BUF_INIT;
    cf_buf_add(&line, text.p, text.n);
    if (cf_mcp_config_line(&config, cf_buf_cstr(&line), &err) == CF_OK) {
        cf_mcp_config_show(&out, config);
    }
    json_decref(config);
    cf_buf_deinit(&line);
    cf_buf_deinit(&out);
}

static void read_sign_in(cf_str text)
{
    json_t *challenge = NULL;
    cf_buf address = CF_BUF_INIT, out = CF_BUF_INIT;
    cf_mcp__challenge_add(&challenge, text);
    (void)cf_mcp__form_get(&out, text, "code");
    cf_buf_add(&address, text.p, text.n);
    (void)cf_mcp__origin(&out, cf_buf_cstr(&address));
    (void)cf_mcp__path(&out, cf_buf_cstr(&address));
    json_decref(challenge);
    cf_buf_deinit(&address);
    cf_buf_deinit(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static void (*const readers[])(cf_str) = {read_message, read_config, read_line, read_sign_in};
    if (size > 0) {
        readers[data[0] % 4](cf_str_make((const char *)data + 1, size - 1));
    }
    return 0;
}
