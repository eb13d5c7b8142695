/*
 * test_hostile_text.c - every command on a terminal, with one hostile text in
 * every place where text comes in: arguments, file names, templates, contexts,
 * schemas, declarations, replies, servers, vocabularies, saved conversations,
 * settings.  Nothing of it may act on the terminal, and all of it is shown.
 *
 * In the tables below, words that begin with '@' are files of the test, "< NAME" is one as
 * standard input, and URL is the address of a server that answers with
 * the text.
 */
#include "tests/support/t.h"

#include <sys/stat.h>

#include "core/api/tokenizer.h"
#include "core/base/os.h"
#include "core/base/safe_text.h"
#include "core/base/utf8.h"
#include "core/base/uuid.h"
#include "core/json/json.h"
#include "core/json/json_writer.h"
#include "storage/traffic.h"
#include "tests/support/loopback.h"
#include "tests/support/program.h"
#include "tests/support/pty.h"
#include "tests/support/store_dir.h"
#include "tests/support/vocab_file.h"

/* Valid UTF-8: titles, clearing, a device string, 8-bit controls, reversed
 * reading, a line separator, an invisible tag, DEL, backspace, a return, a
 * style that a command might have written, hidden text, a noncharacter. */
#define UTF8                                                           \
    "pwn\033]0;t\a\033[2J\033P+q\033\\\xC2\x9B"                        \
    "31m\xE2\x80\xAE\xE2\x81\xA6\xE2\x80\xA8\xF3\xA0\x81\x81\x7F\bA\r" \
    "B\033[31mred\033[8mx\xEF\xBF\xBE"
/* And bytes that are not: a C1 control as Latin-1 has it. */
#define BYTES UTF8 "\2332J\377\303"
#define NAME  "f" BYTES

static char json[512]; /* UTF8 as the inside of a JSON string */
static cf_loopback server;

static int n_bad;
static char exchange_id[CF_UUID_TEXT + 1];

/* Shows where the terminal would have obeyed. */
static void bad_at(const char *const *argv, const cf_buf *out, size_t at)
{
    cf_buf b = CF_BUF_INIT;
    size_t from = at > 60 ? at - 60 : 0;
    for (size_t i = 0; argv[i] != NULL; i++) {
        cf_safe_line(&b, argv[i], strlen(argv[i]));
        cf_buf_addc(&b, ' ');
    }
    cf_buf_adds(&b, "\n  ...");
    cf_safe_line(&b, out->p + from, at - from);
    cf_buf_addf(&b, "[%zu:]", at);
    cf_safe_line(&b, out->p + at, out->n - at > 80 ? 80 : out->n - at);
    print_message("%s\n", cf_buf_cstr(&b));
    cf_buf_deinit(&b);
    n_bad++;
}

/* The length of what commands themselves write to a terminal, 0 if p begins
 * with something else. */
static size_t own_sequence(const char *p)
{
    static const char *const own[] = {"\033[0m",  "\033[7m",  "\033[27m", "\033[31m",
                                      "\033[32m", "\033[36m", "\033[K",   "\r"};
    static const char *const hostile[] = {"\033[31mred", "\rB"};
    for (size_t i = 0; i < sizeof hostile / sizeof hostile[0]; i++) {
        if (strncmp(p, hostile[i], strlen(hostile[i])) == 0) {
            return 0;
        }
    }
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++) {
        if (strncmp(p, own[i], strlen(own[i])) == 0) {
            return strlen(own[i]);
        }
    }
    return 0;
}

/* Runs the command on a terminal; it gets nothing harmful, and with `shown`
 * the text is there. */
static void check(const char *const *argv, const char *input, bool shown)
{
    cf_program p;
    cf_program_on_terminal(&p, argv, input);
    const char *text = cf_buf_cstr(&p.out);
    for (size_t i = 0; i < p.out.n;) {
        uint32_t cp;
        size_t n = own_sequence(text + i);
        if (n == 0) {
            n = cf_utf8_decode(&cp, text + i, p.out.n - i);
            if (cp == CF_UTF8_BAD || cf_safe_is_harmful(cp)) {
                bad_at(argv, &p.out, i);
                break;
            }
        }
        i += n;
    }
    if (p.status > 128 || (shown && strstr(text, "pwn") == NULL)) {
        print_message("status %d, %s\n", p.status, shown ? "the text is not shown" : "");
        bad_at(argv, &p.out, 0);
    }
    cf_program_deinit(&p);
}

enum { ARGS_MAX = 14 };

typedef const char *command[ARGS_MAX];

static void check_all(const command *commands, size_t n, bool shown)
{
    if (cf_program_path() == NULL) {
        T_SKIP("CONFAB_BIN is not set");
    }
    n_bad = 0;
    for (size_t i = 0; i < n; i++) {
        char text[ARGS_MAX][700];
        const char *argv[ARGS_MAX + 1] = {NULL};
        const char *input = "/dev/null";
        for (size_t k = 0; k < ARGS_MAX && commands[i][k] != NULL; k++) {
            const char *word = commands[i][k];
            if (strncmp(word, "< ", 2) == 0) {
                input = store_dir_file(word + 2);
                break;
            }
            const char *said = word[0] == '@'             ? store_dir_file(word + 1)
                               : strcmp(word, "URL") == 0 ? server.url
                                                          : word;
            bool is_script = strncmp(word, "script:@", 8) == 0;
            snprintf(text[k], sizeof text[k], "%s%s", is_script ? "script:" : "",
                     is_script ? store_dir_file(word + 8) : said);
            argv[k] = text[k];
        }
        check(argv, input, shown);
    }
    assert_int_equal(n_bad, 0);
}

#define CHECK(commands)       check_all(commands, sizeof(commands) / sizeof((commands)[0]), true)
#define CHECK_QUIET(commands) check_all(commands, sizeof(commands) / sizeof((commands)[0]), false)

static void test_hostile__arguments(void **state)
{
    (void)state;
    static const command commands[] = {
        {BYTES},
        {"--" BYTES},
        {"run", "--" BYTES},
        {"run", "--temperature", BYTES},
        {"run", "-m", BYTES, "hi"},
        {"run", "-m", "hf:" BYTES, "hi"},
        {"run", "-m", "script:" BYTES, "hi"},
        {"render", "-t", BYTES},
        {"render", "-t", "chatml", BYTES},
        {"lint", BYTES},
        {"lint", "--client", BYTES, "chatml"},
        {"diff", "-a", "chatml", "-b", "zephyr", BYTES},
        {"tokenize", "-m", BYTES, "x"},
        {"model", BYTES},
        {"models", BYTES},
        {"parse", "--family", BYTES, "x"},
        {"parse", "--tools", BYTES, "x"},
        {"constrain", "--schema", BYTES, "x"},
        {"constrain", "--batch", BYTES},
        {"history", "show", BYTES, "--db", "@db"},
        {"history", "import", BYTES, "--db", "@db"},
        {"replay", BYTES, "--db", "@db"},
        {"db", "path", "--db", BYTES},
        {"db", "check", "--db", BYTES},
        {"complete", "--" BYTES, "x"},
        {"bench", "-m", BYTES},
        {"test", BYTES},
        {"sweep", BYTES},
        {"influence", BYTES, "--db", "@db"},
        {"report", BYTES, "--db", "@db", "-o", "-"},
        {"bisect", "--while", BYTES, "--good", "chatml", "--bad", "zephyr"},
        {"proxy", "--script", BYTES},
        {"mcp", "list", "--mcp", BYTES, "--yes"},
        {"run", "--mcp", BYTES, "--yes", "hi"},
        {"run", "--lora", BYTES, "hi"},
        {"run", "--tools", BYTES, "hi"},
    };
    /* It is not promised that these repeat their argument. */
    static const command quiet[] = {
        {"db", "backup", BYTES, "--db", BYTES},
        {"complete", "--ids", BYTES},
        {"tokenize", "--ids", BYTES},
        {"run", "--extra", BYTES, "hi"},
        {"paths", BYTES},
        {"version", BYTES},
        {"constrain", "--choice", BYTES, "x"},
        {"run", "--logit-bias", BYTES, "hi"},
        {"help", BYTES},
        {"run", "--color", BYTES},
        {"lint", "--format", BYTES, "chatml"},
        {"diff", "-a", BYTES, "-b", "chatml"},
        {"constrain", "--regex", "(" BYTES, "x"},
        {"constrain", "--tools", "@tools", "--family", BYTES, "x"},
        {"history", BYTES},
        {"history", "list", "--db", BYTES "/" BYTES},
        {"history", "export", "-f", BYTES, "-a", "--db", "@db"},
        {"db", BYTES},
        {"score", "--prompt", "@" BYTES, "--text", "x"},
        {"media", BYTES},
        {"completion", BYTES},
        {"chat", "-m", BYTES},
        {"shrink", BYTES, "--while", BYTES, "-o", "@no/" BYTES, "--db", "@db"},
        {"serve", "--listen", BYTES, "--db", "@serve"},
        {"proxy", "--to", BYTES, "--db", "@serve"},
        {"proxy", "--to", "http://127.0.0.1:9", "--listen", BYTES, "--db", "@serve"},
        {"watch", "--once", "--db", BYTES},
        {"watch", "--break", BYTES, "--db", "@db"},
        {"watch", "--send", BYTES, "--body", BYTES, "--db", "@db"},
        {"watch", "--drop", BYTES, "--db", "@db"},
        {"mcp", BYTES},
        {"mcp", "call", BYTES, BYTES, "--mcp", "@servers", "--yes"},
        {"history", "raw", BYTES, BYTES, "--db", "@db"},
        {"history", "search", BYTES, "--db", "@db"},
        {"history", "list", "--tag", BYTES, "--db", "@db"},
        {"history", "truncate", BYTES, "--turns", BYTES, "--db", "@db"},
        {"models", "--names", BYTES},
    };
    CHECK(commands);
    CHECK_QUIET(quiet);
}

static void test_hostile__templates(void **state)
{
    (void)state;
    static const command commands[] = {
        {"render", "-t", "@template", "@context"},
        {"render", "-t", "@template", "--spans", "@context"},
        {"render", "-t", "@template", "--json", "@context"},
        {"render", "-t", "@template", "--batch", "@contexts"},
        {"render", "-t", "@raise", "@context"},
        {"render", "-t", "@syntax", "@context"},
        {"render", "-t", "@" NAME, "@context"},
        {"render", "-t", "chatml", "@context"},
        {"render", "-t", "@drops", "@context"},
        {"lint", "@" NAME},
        {"lint", "--json", "@" NAME},
        {"lint", "--format", "sarif", "@" NAME},
        {"lint", "--format", "github", "@" NAME},
        {"lint", "--format", "junit", "@" NAME},
        {"lint", "--table", "@" NAME},
        {"diff", "-a", "@template", "-b", "@raise", "@context"},
        {"diff", "-a", "@template", "-b", "chatml", "@context"},
        {"diff", "-a", "@template", "-b", "chatml", "--json", "@context"},
        {"diff", "-a", "@template", "-b", "chatml", "--side", "@context"},
        {"diff", "-a", "@template", "-b", "chatml", "--all", "--db", "@db"},
    };
    static const command quiet[] = {
        {"lint", "--capabilities", "@syntax"},
        {"render", "-t", "@template", "-m", "@vocab", "--mask", "@context"},
        {"render", "-t", "@template", "@broken"},
        {"lint", "--context", "@raise"},
        {"diff", "-a", "@template", "-b", "@syntax", "--level", "source"},
        {"lint", "--context", "@template"},
    };
    CHECK(commands);
    CHECK_QUIET(quiet);
}

static void test_hostile__constraints(void **state)
{
    (void)state;
    static const command commands[] = {
        {"constrain", "--schema", "@schema", "{\"x"},
        {"constrain", "--schema", "@schema", "--json", "{\"x"},
        {"constrain", "--schema", "@reference", "{}"},
        {"constrain", "--schema", "@broken", "{}"},
        {"constrain", "--tools", "@tools", "--family", "hermes", "<tool_call>\n{\"name\": \"pwn"},
        {"constrain", "--batch", "@schemas"},
    };
    static const command quiet[] = {
        {"constrain", "--grammar", "@grammar", "x"},
        {"constrain", "--grammar", "@rules", "x"},
    };
    CHECK(commands);
    CHECK_QUIET(quiet);
}

static void test_hostile__replies(void **state)
{
    (void)state;
    static const command commands[] = {
        {"parse", "--family", "hermes", BYTES},
        {"parse", "--family", "hermes", "--json", BYTES},
        {"parse", "--family", "hermes", "< reply"},
        {"parse", "--family", "hermes", "--json", "< reply"},
        {"parse", "--family", "hermes", "--tools", "@tools", "< reply"},
        {"parse", "--all", "--json", "< reply"},
        {"parse", "--batch", "@replies"},
        {"run", "-m", "script:@script", "--no-store", "hi"},
        {"run", "-m", "script:@script", "--no-store", "--json", "hi"},
        {"run", "-m", "script:@calls", "-t", "@" NAME, "--family", "hermes", "--tools", "@tools",
         "--no-store", "hi"},
        {"run", "-m", "script:@calls", "--family", "hermes", "--tools", "@tools", "--no-store",
         "--json", "hi"},
        {"run", "-m", "script:@calls", "--family", "hermes", "--tools", "@tools", "--results",
         "@results", "--no-store", "hi"},
        {"run", "-m", "script:@failing", "--no-store", "hi"},
        {"run", "-m", "script:@script", "-t", "chatml", "--no-store", "--show-prompt", UTF8},
        {"run", "-m", "script:@broken", "--no-store", "hi"},
    };
    static const command quiet[] = {{"parse", "--all", "< reply"}};
    CHECK(commands);
    CHECK_QUIET(quiet);
}

static void test_hostile__vocabulary(void **state)
{
    (void)state;
    static const command commands[] = {
        {"tokenize", "-m", "@vocab", BYTES},
        {"tokenize", "-m", "@vocab", "--json", BYTES},
        {"tokenize", "-m", "@vocab", "--ids", "4"},
        {"tokenize", "-m", "@vocab", "--ids", "4", "--json"},
        {"tokenize", "-m", "@vocab", "--batch", "@texts"},
        {"model", "-m", "@vocab"},
        {"model", "-m", "@vocab", "--json"},
        {"models", "@models"},
        {"models", "--json", "@models"},
        {"models", "--names", "@models"},
        {"render", "-m", "@vocab", "@context"},
        {"complete", "-m", "@vocab", "hi"},
        {"score", "-m", "@broken", "--prompt", BYTES, "--text", BYTES},
        {"media", "-m", "@vocab", "--mmproj", "@" NAME, "@" NAME},
    };
    static const command quiet[] = {
        {"bench", "-m", "@vocab"},
        {"score", "-m", "@vocab", "--prompt", BYTES, "--text", BYTES},
    };
    CHECK_QUIET(commands);
    CHECK_QUIET(quiet);
}

static void test_hostile__history(void **state)
{
    (void)state;
    static const command commands[] = {
        {"history", "list", "--db", "@db"},
        {"history", "list", "--json", "--db", "@db"},
        {"history", "search", "pwn", "--db", "@db"},
        {"history", "search", "pwn", "--json", "--db", "@db"},
        {"history", "import", "@" NAME, "--db", "@db"},
        {"history", "import", "@" NAME, "--dry-run", "--db", "@db"},
        {"history", "export", "-a", "-f", "confab", "--db", "@db"},
        {"history", "export", "-a", "-f", "openai", "--db", "@db"},
        {"history", "export", "-a", "-f", "markdown", "--db", "@db"},
        {"history", "export", "-a", "-f", "sharegpt", "--db", "@db"},
        {"history", "export", "-a", "-f", "markdown", "-o", "@no/" BYTES "/x", "--db", "@db"},
        {"db", "check", "--db", "@" NAME},
    };
    static const char *const listed[] = {"show", "tag", "title", "fork", "rm", "undo"};
    CHECK(commands);
    cf_program p;
    CF_PROGRAM(&p, "history", "list", "--json", "--db", store_dir_file("db"));
    json_t *row = NULL;
    cf_error err;
    T_OK(cf_json_read(&row, p.out.p, strcspn(p.out.p, "\n"), &err), err);
    const char *id = json_string_value(json_object_get(row, "head"));
    assert_non_null(id);
    for (size_t i = 0; i < sizeof listed / sizeof listed[0]; i++) {
        check((const char *const[]){"history", listed[i], id, BYTES, "--db", store_dir_file("db"),
                                    NULL},
              "/dev/null", false);
        check((const char *const[]){"history", listed[i], id, "--json", "--db",
                                    store_dir_file("db"), NULL},
              "/dev/null", false);
    }
    assert_int_equal(n_bad, 0);
    json_decref(row);
    cf_program_deinit(&p);
}

/* Tests, plans, tool servers, and what studies write of a conversation. */
static void test_hostile__studies(void **state)
{
    (void)state;
    static const command commands[] = {
        {"test", "@tests"},
        {"test", "--json", "@tests"},
        {"test", "@badtests"},
        {"sweep", "@plan", "-m", "script:@script", "--no-store"},
        {"sweep", "@plan", "-m", "script:@script", "--no-store", "--json"},
        {"sweep", "@badplan"},
        {"mcp", "list", "--mcp", "@servers", "--yes", "--db", "@mcp"},
        {"mcp", "list", "--mcp", "@servers", "--yes", "--json", "--db", "@mcp"},
    };
    static const command quiet[] = {
        {"proxy", "--script", "@failing2"},
        {"mcp", "call", "echo", "{}", "--mcp", "@servers", "--yes", "--db", "@mcp"},
        {"mcp", "log", "--db", "@mcp"},
    };
    CHECK(commands);
    CHECK_QUIET(quiet);
    cf_program p;
    CF_PROGRAM(&p, "history", "list", "--json", "--db", store_dir_file("db"));
    json_t *row = NULL;
    cf_error err;
    T_OK(cf_json_read(&row, p.out.p, strcspn(p.out.p, "\n"), &err), err);
    const char *id = json_string_value(json_object_get(row, "head"));
    const command after[] = {
        {"report", id, "--db", "@db", "-t", "@template", "--no-reading", "-o", "-"},
        {"report", id, "--db", "@db", "-t", "@raise", "--no-reading", "-o", "@" NAME ".md"},
        {"shrink", id, "--db", "@db", "-t", "@raise", "--while", "template-error", "-o", "@shrunk"},
        {"bisect", id, "--db", "@db", "--good", "@template", "--bad", "@raise", "--while",
         "template-error"},
        {"influence", id, "--db", "@db", "-t", "@template"},
        {"influence", id, "--db", "@db", "-t", "@template", "--json"},
        {"influence", id, "--db", "@db", "-t", "@template", "--instead", BYTES},
        {"guard", id, "--db", "@db", "-t", "@template"},
        {"guard", "@context", "--db", "@db", "-t", "@template", "--json"},
        {"compare", id, "--db", "@db", "--with", BYTES},
        {"compare", BYTES, "--db", "@db", "--with-load-as", "q8_0"},
        {"replay", id, "--db", "@db", "-t", "@template"},
    };
    CHECK_QUIET(after);
    json_decref(row);
    cf_program_deinit(&p);
}

/* An exchange of the proxy with the text wherever another program put it. */
static void write_traffic(cf_str bytes, cf_str text)
{
    cf_error err;
    cf_store *s;
    cf_buf headers = CF_BUF_INIT, findings = CF_BUF_INIT;
    cf_exchange e = cf_exchange_none();
    cf_buf_addf(&headers, "[[\"%s\",\"%s\"]]", json, json);
    cf_buf_addf(&findings, "[{\"kind\":\"%s\",\"text\":\"%s\",\"path\":\"%s\"}]", json, json, json);
    e.id = cf_uuid_new();
    e.started_ms = 1767323045000;
    e.total_us = 5;
    e.status = 200;
    e.client = e.path = e.model = e.request_id = e.response_id = text;
    e.method = e.upstream = e.end = e.note = text;
    e.api = cf_str_from("openai-chat");
    e.request_headers = e.response_headers = cf_buf_str(&headers);
    e.findings = cf_buf_str(&findings);
    e.request = e.response = bytes;
    const cf_store_options how = {.flags = CF_STORE_CREATE};
    T_OK(cf_store_open(&s, store_dir_file("traffic"), &how, &err), err);
    T_OK(cf_store_put_exchange(s, &e, NULL, NULL, 0, &err), err);
    T_OK(cf_store_flush(s, 10000, &err), err);
    cf_store_close(s);
    cf_uuid_format(exchange_id, e.id);
    cf_buf_deinit(&headers);
    cf_buf_deinit(&findings);
}

static void test_hostile__traffic(void **state)
{
    (void)state;
    write_traffic(cf_str_from(BYTES), cf_str_from(UTF8));
    const command commands[] = {
        {"watch", "--once", "--db", "@traffic"},
        {"watch", "--once", "--json", "--db", "@traffic"},
        {"history", "raw", exchange_id, "request", "--db", "@traffic"},
        {"history", "raw", exchange_id, "response", "--db", "@traffic"},
    };
    CHECK(commands);
}

/* ---- screens ------------------------------------------------------------ */

/* Presses the keys, each after the last one was drawn; then nothing of the
 * text has reached the terminal as it is, and a part of it was shown. */
static void check_screen(const char *const *words, const char *const *keys, size_t n_keys,
                         const char *leave)
{
    static const char *const never[] = {"\033]0;t",     "\033P+q",          "\xC2\x9B",
                                        "\233",         "\xE2\x80\xAE",     "\xE2\x81\xA6",
                                        "\xE2\x80\xA8", "\xF3\xA0\x81\x81", "\033[8m",
                                        "\xEF\xBF\xBE", "\033[31mred"};
    cf_pty t;
    bool was_shown = false;
    cf_pty_start(&t, 120, 36, words, "xterm-256color");
    while (!cf_pty_pump(&t, 100) && !t.is_closed) {
    }
    for (size_t i = 0; i < n_keys && !t.is_closed; i++) {
        for (int quiet = 0; quiet < 3 && !t.is_closed;) {
            quiet = cf_pty_pump(&t, 40) ? 0 : quiet + 1;
        }
        was_shown = was_shown || cf_pty_shows(&t, "pwn");
        cf_pty_type(&t, keys[i]);
    }
    for (int quiet = 0; quiet < 5 && !t.is_closed;) {
        quiet = cf_pty_pump(&t, 40) ? 0 : quiet + 1;
    }
    was_shown = was_shown || cf_pty_shows(&t, "pwn");
    for (size_t i = 0; i < sizeof never / sizeof never[0]; i++) {
        size_t n = strlen(never[i]);
        for (size_t at = 0; at + n <= t.out.n; at++) {
            /* 0x9b ends characters of more bytes, too. */
            if (memcmp(t.out.p + at, never[i], n) == 0 &&
                (n > 1 || at == 0 || (unsigned char)t.out.p[at - 1] < 0x80)) {
                bad_at(words, &t.out, at);
                break;
            }
        }
    }
    if (!was_shown) {
        cf_pty_print(&t);
        n_bad++;
    }
    cf_pty_type(&t, leave);
    (void)cf_pty_finish(&t);
}

#define N_OF(list) (sizeof(list) / sizeof((list)[0]))

static void test_hostile__screens(void **state)
{
    (void)state;
    char db[512], traffic[512], script[600], tpl[512], tools[512];
    NEED_TERMINALS();
    snprintf(db, sizeof db, "%s", store_dir_file("screens"));
    cf_program p;
    CF_PROGRAM(&p, "history", "import", "-f", "openai", store_dir_file("conversations"), "--db",
               db);
    assert_int_equal(p.status, 0);
    cf_program_deinit(&p);
    snprintf(traffic, sizeof traffic, "%s", store_dir_file("traffic"));
    snprintf(script, sizeof script, "script:%s", store_dir_file("calls"));
    snprintf(tpl, sizeof tpl, "%s", store_dir_file("template"));
    snprintf(tools, sizeof tools, "%s", store_dir_file("tools"));
    n_bad = 0;
    write_traffic(cf_str_from(BYTES), cf_str_from(UTF8));
    static const char *const watch_keys[] = {"j",  "\r", "j", "l", "\t",    "j",
                                             "\r", "x",  "?", "q", "/pwn\r"};
    const char *const watch[] = {"watch", "--db", traffic, NULL};
    check_screen(watch, watch_keys, N_OF(watch_keys), "\003\003\003");
    static const char *const chat_keys[] = {"6", "j",  "\r",    "2",   "\t", "j",  "4", "\t", "5",
                                            "7", "\t", "1",     "gx",  "j",  "\r", "@", "?",  "q",
                                            "1", "c",  "pwn\r", "\t4", "x",  "\r", "2", "1"};
    const char *const chat[] = {"chat",    "-m",  script, "-t", tpl,
                                "--tools", tools, "--db", db,   NULL};
    check_screen(chat, chat_keys, N_OF(chat_keys), "\003\003\003");
    assert_int_equal(n_bad, 0);
}

/* Two runs against a server that answers with `head` and `body`. */
static void serve(const char *head, const char *body, bool shown)
{
    cf_loopback_answer a = {.head = head, .body = body};
    cf_loopback_start(&server, &a);
    static const command commands[] = {
        {"run", "-m", "URL", "--no-store", "hi"},
        {"run", "-m", "URL", "--no-store", "--json", "hi"},
    };
    check_all(commands, 2, shown);
    cf_loopback_stop(&server);
}

static void test_hostile__servers(void **state)
{
    (void)state;
    char body[4096];
    if (cf_program_path() == NULL) {
        T_SKIP("CONFAB_BIN is not set");
    }
    snprintf(body, sizeof body, "{\"error\":{\"message\":\"%s\"}}", json);
    serve("HTTP/1.1 400 X\r\nConnection: close\r\n\r\n", body, true);
    serve("HTTP/1.1 400 X\r\nConnection: close\r\n\r\n", BYTES, true);
    serve("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"
          "Connection: close\r\n\r\n",
          BYTES, false);
    snprintf(body, sizeof body,
             "data: {\"model\":\"%s\",\"choices\":[{\"delta\":{\"content\":"
             "\"%s\",\"reasoning_content\":\"%s\",\"refusal\":\"%s\"},"
             "\"finish_reason\":\"%s\"}]}\n\ndata: [DONE]\n\n",
             json, json, json, json, json);
    serve("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
          "Connection: close\r\n\r\n",
          body, true);
    snprintf(body, sizeof body, "data: {\"error\":{\"code\":\"%s\",\"message\":\"%s\"}}\n\n", json,
             json);
    serve("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
          "Connection: close\r\n\r\n",
          body, true);
    snprintf(body, sizeof body,
             "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"id\":\"%s\","
             "\"function\":{\"name\":\"%s\",\"arguments\":\"{}\"}}]}}]}"
             "\n\ndata: [DONE]\n\n",
             json, json);
    serve("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
          "Connection: close\r\n\r\n",
          body, true);
}

/* What a terminal gets of JSON is the same JSON. */
static void test_hostile__json_stays_json(void **state)
{
    (void)state;
    if (cf_program_path() == NULL) {
        T_SKIP("CONFAB_BIN is not set");
    }
    char context[512], source[512];
    snprintf(context, sizeof context, "%s", store_dir_file("context"));
    snprintf(source, sizeof source, "%s", store_dir_file("template"));
    const char *const argv[] = {"render", "-t", source, "--spans", "--json", context, NULL};
    cf_program file, terminal;
    cf_error err;
    json_t *a = NULL, *b = NULL;
    cf_program_run(&file, argv, NULL, 0);
    cf_program_on_terminal(&terminal, argv, "/dev/null");
    T_OK(cf_json_read(&a, file.out.p, file.out.n, &err), err);
    /* The notes on standard error follow. */
    T_OK(cf_json_read(&b, terminal.out.p, strcspn(terminal.out.p, "\n"), &err), err);
    assert_true(json_equal(a, b));
    json_decref(a);
    json_decref(b);
    cf_program_deinit(&file);
    cf_program_deinit(&terminal);
}

/* Bad lines of confabrc are reported by every command. */
static void test_hostile__settings(void **state)
{
    (void)state;
    static const command commands[] = {{"version"}, {"paths"}};
    cf_error err;
    char folder[600];
    snprintf(folder, sizeof folder, "%s", store_dir_file("config/confab"));
    T_OK(cf_os_make_dirs(folder, &err), err);
    static const char text[] =
        "set " BYTES "\n" BYTES "\nset model=" BYTES "\nset template=" BYTES "\nmap " BYTES "\n";
    T_OK(cf_os_write_file(store_dir_file("config/confab/confabrc"), text, sizeof text - 1, 0600,
                          &err),
         err);
    CHECK(commands);
    assert_int_equal(remove(store_dir_file("config/confab/confabrc")), 0);
}

/* Writes a file: '$' stands for the text as the inside of a JSON string, '#'
 * for its bytes, and '%' for its part that is UTF-8. */
static void write_file(const char *name, const char *text)
{
    cf_buf b = CF_BUF_INIT;
    cf_error err;
    for (const char *p = text; *p != '\0'; p++) {
        switch (*p) {
        case '$':
            cf_buf_adds(&b, json);
            break;
        case '#':
            cf_buf_adds(&b, BYTES);
            break;
        case '%':
            cf_buf_adds(&b, UTF8);
            break;
        default:
            cf_buf_addc(&b, *p);
        }
    }
    T_OK(cf_os_write_file(store_dir_file(name), b.p, b.n, 0600, &err), err);
    cf_buf_deinit(&b);
}

static void write_vocab(void)
{
    cf_vocab_file f;
    cf_error err;
    cf_vocab_file_init(&f, "llama", "default");
    cf_vocab_file_token(&f, cf_str_from("<unk>"), CF_TOKEN_UNKNOWN, 0);
    cf_vocab_file_token(&f, cf_str_from("<s>"), CF_TOKEN_CONTROL, 0);
    cf_vocab_file_token(&f, cf_str_from("</s>"), CF_TOKEN_CONTROL, 0);
    cf_vocab_file_token(&f, cf_str_from(UTF8), CF_TOKEN_CONTROL, 0);
    cf_vocab_file_token(&f, cf_str_from(BYTES), CF_TOKEN_NORMAL, 0);
    cf_vocab_file_bytes_spm(&f);
    cf_vocab_file_u32(&f, "tokenizer.ggml.bos_token_id", 1);
    cf_vocab_file_u32(&f, "tokenizer.ggml.eos_token_id", 2);
    cf_vocab_file_str(&f, "general.name", UTF8);
    cf_vocab_file_str(&f, UTF8, BYTES);
    cf_vocab_file_str(&f, "tokenizer.chat_template", "{{ '" UTF8 "' + 1 }}");
    assert_true(cf_vocab_file_finish(&f, true));
    T_OK(cf_os_write_file(store_dir_file("vocab"), f.bytes, f.n, 0600, &err), err);
    T_OK(cf_os_make_dirs(store_dir_file("models"), &err), err);
    T_OK(cf_os_write_file(store_dir_file("models/" NAME ".gguf"), f.bytes, f.n, 0600, &err), err);
    cf_vocab_file_deinit(&f);
}

/* A tool server that writes the text wherever it can. */
static void write_servers(void)
{
    cf_buf text = CF_BUF_INIT;
    cf_error err;
    write_file("answers", "{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{\"tools\":{}},"
                          "\"serverInfo\":{\"name\":\"$\",\"version\":\"$\"},\"tools\":[{"
                          "\"name\":\"echo\",\"title\":\"$\",\"description\":\"$\","
                          "\"inputSchema\":{\"type\":\"object\"}},{\"name\":\"$\","
                          "\"description\":\"$\",\"inputSchema\":{\"type\":\"object\"}}],"
                          "\"content\":[{\"type\":\"text\",\"text\":\"$\"}]}\n");
    cf_buf_addf(&text,
                "while read -r l; do\n"
                "id=${l#*\\\"id\\\":}; id=${id%%%%[,\\}]*}\n"
                "case $l in\n"
                "*server/discover*) printf '{\"jsonrpc\":\"2.0\",\"id\":%%s,"
                "\"error\":{\"code\":-32601,\"message\":\"no\"}}\\n' \"$id\";;\n"
                "*\\\"id\\\"*) printf '{\"jsonrpc\":\"2.0\",\"id\":%%s,"
                "\"result\":' \"$id\"; tr -d '\\n' <'%s'; echo '}';;\n"
                "esac; done\n",
                store_dir_file("answers"));
    T_OK(cf_os_write_file(store_dir_file("server"), text.p, text.n, 0700, &err), err);
    cf_buf_reset(&text);
    cf_buf_addf(&text,
                "{\"mcpServers\":{\"%s\":{\"command\":\"sh\",\"args\":[\"%s\"]}"
                "}}",
                json, store_dir_file("server"));
    T_OK(cf_os_write_file(store_dir_file("servers"), text.p, text.n, 0600, &err), err);
    cf_buf_deinit(&text);
}

static void make_json(void)
{
    cf_buf b = CF_BUF_INIT;
    cf_json_write_str(&b, cf_str_from(UTF8));
    snprintf(json, sizeof json, "%.*s", (int)b.n - 2, b.p + 1);
    cf_buf_deinit(&b);
}

static void set_environment(void)
{
    setenv("TERM", "xterm-256color", 1);
    setenv("HOME", store_dir_file("home"), 1);
    setenv("XDG_CONFIG_HOME", store_dir_file("config"), 1);
    setenv("XDG_STATE_HOME", store_dir_file("state"), 1);
    setenv("XDG_DATA_HOME", store_dir_file("data"), 1);
    setenv("XDG_CACHE_HOME", store_dir_file("cache"), 1);
    unsetenv("NO_COLOR");
    unsetenv("CONFAB_MODEL");
}

static int set_up(void **state)
{
    static const struct {
        const char *name, *text;
    } files[] = {
        {"template", "% {{ messages[0].content }} %\n"},
        {"bytes", "#"},
        {"raise", "{{ raise_exception('%') }}"},
        {"syntax", "abc % {{ '%' + } %\n"},
        {"drops", "nothing"},
        {NAME, "% {{ messages[0].content }} {{ raise_exception('%') }}"},
        {"broken", "{\"messages\": #"},
        {"context", "{\"messages\":[{\"role\":\"user\",\"content\":\"$\"},{\"role\":"
                    "\"assistant\",\"content\":\"$\",\"tool_calls\":[{\"type\":"
                    "\"function\",\"function\":{\"name\":\"$\",\"arguments\":{\"$\":"
                    "\"$\"}}}]}],\"tools\":[{\"type\":\"function\",\"function\":{"
                    "\"name\":\"$\",\"description\":\"$\",\"parameters\":{}}}]}"},
        {"contexts", "{\"name\":\"$\",\"context\":{\"messages\":[{\"role\":\"user\","
                     "\"content\":\"$\"}]}}\n{\"name\":\"$\"}\n#\n"},
        {"schema", "{\"type\":\"object\",\"properties\":{\"$\":{\"enum\":[\"$\"]}},"
                   "\"required\":[\"$\"],\"additionalProperties\":false}"},
        {"schemas", "{\"name\":\"$\",\"schema\":{\"$ref\":\"#/$\"},\"tests\":[]}\n"},
        {"reference", "{\"\\u0024ref\":\"$\"}"},
        {"grammar", "root = # ;\n"},
        {"rules", "root = pwn\u202e ;\n"},
        {"tools", "[{\"type\":\"function\",\"function\":{\"name\":\"$\","
                  "\"description\":\"$\",\"parameters\":{\"type\":\"object\","
                  "\"properties\":{\"$\":{\"type\":\"integer\"}},\"required\":[\"$\"]"
                  "}}}]"},
        {"results", "{\"*\":\"$\"}"},
        {"reply", "#\n<tool_call>\n{\"name\": \"$\", \"arguments\": {\"$\": \"$\"}}\n"
                  "</tool_call>\n<tool_call>\n{\"name\": \"$\", # }\n</tool_call>"},
        {"replies", "{\"name\":\"$\",\"family\":\"hermes\",\"raw\":\"$\"}\n"},
        {"script", "{\"replies\":[{\"text\":\"$\",\"thinking\":\"$\",\"chunk\":2}]}"},
        {"calls", "{\"replies\":[{\"text\":\"<tool_call>\\n{\\\"name\\\": \\\"$\\\", "
                  "\\\"arguments\\\": {}}\\n</tool_call>\"},{\"text\":\"$\"}]}"},
        {"failing", "{\"replies\":[{\"text\":\"$\"},{\"error\":\"$\"}]}"},
        {"tests", "template template\ncontext context\ntest %\nprompt lacks pwn\n"
                  "prompt is\n| %\nreply is\n| %\nexpect contains:%\n"},
        {"badtests", "test #\nexpect #\n"},
        {"plan", "prompts prompts\nsystem pwn %\ncheck pwn contains %\n"
                 "sampler pwn tokens=3\n"},
        {"prompts", "{\"name\":\"$\",\"prompt\":\"$\"}\n"},
        {"badplan", "prompts #\n%\n"},
        {"failing2", "{\"replies\":[{\"$\":\"$\"}]}"},
        {"texts", "{\"name\":\"$\",\"text\":\"$\"}\n"},
        {"conversations", "{\"messages\":[{\"role\":\"user\",\"content\":\"$\"},{\"role\":"
                          "\"assistant\",\"content\":\"$\",\"tool_calls\":[{\"id\":\"$\","
                          "\"type\":\"function\",\"function\":{\"name\":\"$\",\"arguments\":"
                          "\"{\\\"$\\\":1}\"}}]}],\"model\":\"$\",\"$\":\"$\"}\n"},
    };
    if (store_dir_make(state) != 0) {
        return -1;
    }
    set_environment();
    make_json();
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        write_file(files[i].name, files[i].text);
    }
    write_vocab();
    write_servers();
    if (cf_program_path() != NULL) {
        cf_program p;
        CF_PROGRAM(&p, "history", "import", "-f", "openai", store_dir_file("conversations"), "--db",
                   store_dir_file("db"));
        print_message("%s", p.status != 0 ? cf_buf_cstr(&p.err) : "");
        assert_int_equal(p.status, 0);
        cf_program_deinit(&p);
    }
    return 0;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hostile__arguments),       cmocka_unit_test(test_hostile__templates),
        cmocka_unit_test(test_hostile__constraints),     cmocka_unit_test(test_hostile__replies),
        cmocka_unit_test(test_hostile__vocabulary),      cmocka_unit_test(test_hostile__history),
        cmocka_unit_test(test_hostile__studies),         cmocka_unit_test(test_hostile__servers),
        cmocka_unit_test(test_hostile__traffic),         cmocka_unit_test(test_hostile__screens),
        cmocka_unit_test(test_hostile__json_stays_json), cmocka_unit_test(test_hostile__settings),
    };
    cmocka_set_test_filter(argc > 1 ? argv[1] : NULL);
    return cmocka_run_group_tests(tests, set_up, store_dir_remove);
}
