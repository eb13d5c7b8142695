/*
 * test_import.c - reading files of any size, lenient JSON, Markdown, and
 * taking an import back.
 */
#include "tests/support/t.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/os.h"
#include "storage/trail.h"
#include "tests/support/exchange_desk.h"
#include "tests/support/store_dir.h"

typedef cf_exchange_desk fixture;

static void import_with(fixture *f, const char *text, cf_import_options opts)
{
    opts.guesses = true;
    cf_exchange_import(f, text, opts);
}

static void import(fixture *f, const char *text)
{
    import_with(f, text, (cf_import_options){0});
}

static void check_sound(fixture *f)
{
    size_t n;
    cf_error err;
    T_OK(cf_store_check(f->s, NULL, NULL, &n, &err), err);
    assert_int_equal(n, 0);
}

static cf_status undo(fixture *f, char *what, size_t size)
{
    cf_error err;
    cf_buf b = CF_BUF_INIT;
    cf_status st = cf_store_undo(f->s, &b, &err);
    snprintf(what, size, "%s", st == CF_OK ? cf_buf_cstr(&b) : "");
    cf_buf_deinit(&b);
    return st;
}

/* ---- undo --------------------------------------------------------------- */

static void test_undo__takes_an_import_back(void **state)
{
    (void)state;
    fixture f;
    char what[200];
    const cf_store_conv *rows;
    cf_exchange_open(&f);
    import_with(&f,
                "{\"messages\":[{\"role\":\"user\",\"content\":\"a\"}]}\n"
                "{\"messages\":[{\"role\":\"user\",\"content\":\"b\"}]}\n",
                (cf_import_options){.name = "dir/first.jsonl"});
    import(&f, "{\"messages\":[{\"role\":\"user\",\"content\":\"b\"},{\"role\":"
               "\"assistant\",\"content\":\"c\"}]}");
    assert_int_equal(cf_exchange_list(&f, &rows), 3);
    assert_int_equal(undo(&f, what, sizeof what), CF_OK);
    assert_string_equal(what, "import of a file");
    assert_int_equal(cf_exchange_list(&f, &rows), 2);
    assert_int_equal(undo(&f, what, sizeof what), CF_OK);
    assert_string_equal(what, "import of first.jsonl");
    assert_int_equal(cf_exchange_list(&f, &rows), 0);
    check_sound(&f);
    assert_int_equal(undo(&f, what, sizeof what), CF_ENOTFOUND);
    /* What was taken back can be read again. */
    import(&f, "{\"messages\":[{\"role\":\"user\",\"content\":\"a\"}]}");
    assert_int_equal(f.report.n_turns, 1);
    cf_exchange_close(&f);
}

/* A tag goes with the import that put it on, also where the conversation was
 * there before; one that it had already stays. */
static void test_undo__takes_tags_back(void **state)
{
    static const char text[] = "{\"messages\":[{\"role\":\"user\",\"content\":\"a\"}]}\n"
                               "{\"messages\":[{\"role\":\"user\",\"content\":\"b\"}]}\n";
    (void)state;
    fixture f;
    char what[200];
    const cf_store_conv *rows;
    cf_exchange_open(&f);
    import_with(&f, text, (cf_import_options){.tag = "old"});
    import_with(&f, text, (cf_import_options){.tag = "old"});
    assert_int_equal(f.report.n_tagged, 0);
    import_with(&f, text, (cf_import_options){.tag = "new"});
    assert_int_equal(f.report.n_turns, 0);
    assert_int_equal(f.report.n_tagged, 2);
    assert_int_equal(cf_exchange_list(&f, &rows), 2);
    assert_int_equal(rows[1].n_tags, 2);
    assert_int_equal(undo(&f, what, sizeof what), CF_OK);
    assert_int_equal(cf_exchange_list(&f, &rows), 2);
    assert_int_equal(rows[0].n_tags, 1);
    assert_int_equal(rows[1].n_tags, 1);
    assert_true(cf_str_is(rows[0].tags[0], "old"));
    assert_int_equal(undo(&f, what, sizeof what), CF_OK);
    assert_int_equal(cf_exchange_list(&f, &rows), 0);
    check_sound(&f);
    cf_exchange_close(&f);
}

/* Many batches are one import; an import that adds nothing is none. */
static void test_undo__of_many_batches(void **state)
{
    (void)state;
    fixture f;
    char what[200];
    const cf_store_conv *rows;
    cf_buf text = CF_BUF_INIT;
    cf_exchange_open(&f);
    for (int i = 0; i < 200; i++) {
        cf_buf_addf(&text, "{\"messages\":[{\"role\":\"user\",\"content\":\"%d\"}]}\n", i);
    }
    import(&f, cf_buf_cstr(&text));
    import(&f, cf_buf_cstr(&text));
    assert_int_equal(f.report.n_turns, 0);
    assert_int_equal(cf_exchange_list(&f, &rows), 200);
    assert_int_equal(undo(&f, what, sizeof what), CF_OK);
    assert_int_equal(cf_exchange_list(&f, &rows), 0);
    check_sound(&f);
    cf_buf_deinit(&text);
    cf_exchange_close(&f);
}

/* A conversation that grew by an import is as it was; one that was continued
 * keeps the turns that it hangs on. */
static void test_undo__keeps_what_was_continued(void **state)
{
    (void)state;
    fixture f;
    char what[200];
    cf_error err;
    cf_exchange_open(&f);
    import(&f, "{\"id\":\"k\",\"messages\":[{\"role\":\"user\",\"content\":"
               "\"a\"}]}");
    import(&f, "{\"id\":\"k\",\"messages\":[{\"role\":\"user\",\"content\":"
               "\"a\"},{\"role\":\"assistant\",\"content\":\"b\"}]}");
    cf_store_tree t = cf_exchange_tree(&f);
    assert_int_equal(t.n, 2);
    assert_int_equal(undo(&f, what, sizeof what), CF_OK);
    t = cf_exchange_tree(&f);
    assert_int_equal(t.n, 1);
    assert_int_equal(t.conv.n_turns, 1);
    assert_true(cf_uuid_eq(t.conv.head, t.turns[0].id));
    check_sound(&f);
    cf_store_turn mine = {.conversation = t.conv.id,
                          .parent = t.turns[0].id,
                          .message = cf_str_from("{\"role\":\"assistant\","
                                                 "\"content\":\"mine\"}"),
                          .status = CF_TURN_OK,
                          .fork_token = -1,
                          .finished_ms = -1};
    T_OK(cf_store_put_turn(f.s, &mine, NULL, &err), err);
    assert_int_equal(undo(&f, what, sizeof what), CF_OK);
    assert_non_null(strstr(what, "1 turn that was continued since stays"));
    assert_int_equal(cf_exchange_tree(&f).n, 2);
    check_sound(&f);
    cf_exchange_close(&f);
}

/* ---- reading ------------------------------------------------------------ */

static void test_json__as_lenient_as_tpipe(void **state)
{
    (void)state;
    fixture f;
    cf_exchange_open(&f);
    import(&f, "// exported\n{ /* a [ history */\n \"history\": [\n"
               "  {\"role\": \"USER\", content: {\"text\": \"a // b, }\"},},\n"
               "  {\"role\": \"Agent\", \"content\": {\"text\": \"c\"}},\n"
               " ],\n}\n");
    assert_string_equal(f.notes, "");
    assert_string_equal(f.report.read_as, "ConverseHistory (TPipe) JSON");
    cf_store_tree t = cf_exchange_tree(&f);
    cf_exchange_says(&t, 0, "{\"role\":\"user\",\"content\":\"a // b, }\"}");
    cf_exchange_says(&t, 1, "{\"role\":\"agent\",\"content\":\"c\"}");
    cf_exchange_close(&f);
}

static void test_json__numbers_of_any_size_survive(void **state)
{
    (void)state;
    fixture f;
    cf_exchange_open(&f);
    const char *text = "{\"messages\":[{\"role\":\"assistant\",\"content\":\"x\","
                       "\"tool_calls\":[{\"function\":{\"name\":\"f\",\"arguments\":{\"n\":"
                       "-123456789012345678901234567890,\"x\":1e999}}}]}],\"seed\":"
                       "18446744073709551616}\n";
    import(&f, text);
    assert_string_equal(f.notes, "");
    cf_buf out = CF_BUF_INIT;
    cf_exchange_export(&f, CF_FORMAT_LITERT, &out);
    assert_string_equal(cf_buf_cstr(&out), text);
    cf_buf_deinit(&out);
    cf_exchange_close(&f);
}

/* A record that is too long is left out, lines and list elements alike, and
 * the others are read. */
static void test_records__are_bounded(void **state)
{
    (void)state;
    cf_buf lines = CF_BUF_INIT, values = CF_BUF_INIT;
    cf_buf_addc(&values, '[');
    for (int i = 0; i < 9; i++) {
        cf_buf one = CF_BUF_INIT;
        cf_buf_adds(&one, "{\"messages\":[{\"role\":\"user\",\"content\":\"");
        for (int k = 0; k < (i % 3 == 1 ? 900000 : 3); k++) {
            cf_buf_addc(&one, (char)('a' + i));
        }
        cf_buf_adds(&one, "\"}]}");
        cf_buf_add(&lines, one.p, one.n);
        cf_buf_addc(&lines, '\n');
        cf_buf_adds(&values, i != 0 ? ",\n" : "");
        cf_buf_add(&values, one.p, one.n);
        cf_buf_deinit(&one);
    }
    cf_buf_addc(&values, ']');
    const cf_buf *const texts[] = {&lines, &values};
    for (int i = 0; i < 4; i++) {
        fixture f;
        cf_error err;
        cf_exchange_open(&f);
        const cf_buf *text = texts[i / 2];
        cf_import_options opts = {.guesses = true, .max_record = i % 2 == 0 ? 100000 : 0};
        const char *path = store_dir_file("records.json");
        T_OK(cf_os_write_file(path, text->p, text->n, 0600, &err), err);
        T_OK(cf_import_file(f.s, path, &opts, &f.report, &err), err);
        assert_int_equal(f.report.n_new, i % 2 == 0 ? 6 : 9);
        assert_int_equal(f.report.n_bad, i % 2 == 0 ? 3 : 0);
        /* The same from memory adds nothing. */
        T_OK(cf_import_bytes(f.s, text->p, text->n, &opts, &f.report, &err), err);
        assert_int_equal(f.report.n_turns, 0);
        cf_exchange_close(&f);
    }
    cf_buf_deinit(&lines);
    cf_buf_deinit(&values);
}

static void test_records__what_cannot_be_guessed(void **state)
{
    (void)state;
    static const char *const texts[] = {"just text\n", "{\"a\":1}\n{\"b\":2}\n", "[1,2]",
                                        "User: alone\n", "{\"a\":1}"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        fixture f;
        cf_exchange_open(&f);
        import(&f, texts[i]);
        assert_int_equal(f.report.n_bad, 1);
        assert_non_null(strstr(f.notes, "not a conversation in a known"));
        assert_string_equal(f.report.read_as, "");
        cf_exchange_close(&f);
    }
}

static void test_records__before_the_first_that_is_known(void **state)
{
    (void)state;
    fixture f;
    cf_exchange_open(&f);
    import(&f, "{\"a\":1}\n{\"messages\":[{\"role\":\"user\",\"content\":\"x\"}"
               "]}\n");
    assert_int_equal(f.report.n_new, 1);
    assert_int_equal(f.report.n_bad, 1);
    assert_non_null(strstr(f.notes, "1:not a conversation"));
    cf_exchange_close(&f);
}

/* ---- Markdown ----------------------------------------------------------- */

static void test_markdown__comes_back(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "{\"messages\":[{\"role\":\"user\",\"content\":\"# a\\n\\n<!-- x -->"
        "\\n---\\nuuid: \\\"no\\\"\\n\\\\<!-- y -->\\n\\n\"},{\"role\":"
        "\"assistant\",\"content\":null,\"reasoning_content\":\"hm\\n\","
        "\"tool_calls\":[{\"id\":\"c-->\",\"type\":\"function\",\"function\":"
        "{\"name\":\"f\",\"arguments\":\"{\\\"x\\\": 1}\"}}]},{\"role\":"
        "\"tool\",\"tool_call_id\":\"c\",\"content\":\"```\\n\"},{\"role\":"
        "\"assistant\",\"content\":\"\"}]}\n",
        "{\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"text\","
        "\"text\":\"look\"},{\"type\":\"image_url\",\"image_url\":{\"url\":"
        "\"data:image/png;base64,iVBORw0KGgo=\"},\"name\":\"cat\"},{\"type\":"
        "\"odd\",\"n\":1}]}]}\n"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        fixture f, g;
        cf_buf md = CF_BUF_INIT, back = CF_BUF_INIT, want = CF_BUF_INIT;
        cf_exchange_open(&f);
        cf_exchange_open(&g);
        import(&f, texts[i]);
        cf_exchange_export(&f, CF_FORMAT_MARKDOWN, &md);
        import(&g, cf_buf_cstr(&md));
        assert_string_equal(g.notes, "");
        assert_string_equal(g.report.read_as, "Markdown");
        cf_store_tree x = cf_exchange_tree(&f), y = cf_exchange_tree(&g);
        assert_true(cf_uuid_eq(x.conv.id, y.conv.id));
        assert_int_equal(x.n, y.n);
        for (size_t k = 0; k < x.n; k++) {
            assert_true(cf_uuid_eq(x.turns[k].id, y.turns[k].id));
            json_t *a, *b;
            cf_error err;
            T_OK(cf_json_read(&a, x.turns[k].message.p, x.turns[k].message.n, &err), err);
            T_OK(cf_json_read(&b, y.turns[k].message.p, y.turns[k].message.n, &err), err);
            if (!json_equal(a, b)) {
                fail_msg("%s\n%s\n%s", x.turns[k].message.p, y.turns[k].message.p,
                         cf_buf_cstr(&md));
            }
            json_decref(a);
            json_decref(b);
        }
        cf_exchange_export(&g, CF_FORMAT_MARKDOWN, &back);
        assert_string_equal(cf_buf_cstr(&md), cf_buf_cstr(&back));
        cf_buf_deinit(&md);
        cf_buf_deinit(&back);
        cf_buf_deinit(&want);
        cf_exchange_close(&f);
        cf_exchange_close(&g);
    }
}

static void test_markdown__as_people_keep_chats(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "# Rain\n\nsaved yesterday\n\n## User\n\nWill it rain?\n\n## "
        "Assistant\n\nYes.\n\n```\n## User\n```\n",
        "**You:** Will it rain?\n\n**ChatGPT:** Yes.\n\n```\n## User\n```\n\n"
        "---\n",
        "User: Will it rain?\nAssistant:\nYes.\n\n```\n## User\n```\n",
        "##### You said:\nWill it rain?\n\n###### ChatGPT said:\nYes.\n\n```\n"
        "## User\n```\n",
        "### \xF0\x9F\xA7\x91 Human\n\nWill it rain?\n***\n### Claude 3.5 "
        "(Sonnet)\n\nYes.\n\n```\n## User\n```"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        fixture f;
        cf_exchange_open(&f);
        import(&f, texts[i]);
        assert_string_equal(f.notes, "");
        cf_store_tree t = cf_exchange_tree(&f);
        assert_int_equal(t.n, 2);
        cf_exchange_says(&t, 0, "{\"role\":\"user\",\"content\":\"Will it rain?\"}");
        cf_exchange_says(&t, 1,
                         "{\"role\":\"assistant\",\"content\":\"Yes.\\n\\n```\\n## "
                         "User\\n```\"}");
        if (i == 0) {
            assert_string_equal(t.conv.title.p, "Rain");
        }
        cf_exchange_close(&f);
    }
}

/* Segments from which somebody took the text are empty, and nothing after them is lost. */
static void test_markdown__emptied_segments(void **state)
{
    (void)state;
#define OWN_TURN                                                                     \
    "---\nuuid: \"0190aaaa-0000-4000-8000-000000000001\"\n---\n\n## 1 user\n\n<!-- " \
    "0190aaaa-0000-4000-8000-000000000002 -->\n\n"
    static const char *const rows[][2] = {
        {OWN_TURN "<!-- text -->\n\n<!-- text -->\n\nb\n\n",
         "{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"\"},{\"type\":\"text\","
         "\"text\":\"b\"}]}"},
        {OWN_TURN "<!-- text -->\n\n\n<!-- text -->\n\n\n\n\n\n",
         "{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"\"},{\"type\":\"text\","
         "\"text\":\"\\n\\n\"}]}"},
        {OWN_TURN "<!-- result -->\n\n<!-- text -->\n\nb\n\n",
         "{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"b\"}]}"},
        {OWN_TURN "<!-- call -->\n\nCall of f:\n\n<!-- call -->\n\n<!-- text -->\n\nb\n\n",
         "{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"b\"}],\"tool_calls\":["
         "{\"function\":{\"name\":\"f\",\"arguments\":\"\"}},"
         "{\"function\":{\"name\":\"\",\"arguments\":\"\"}}]}"},
        {OWN_TURN "<!-- image -->\n\n<!-- note -->\n\n<!-- text -->\n\nb\n\n",
         "{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"\"},{\"type\":\"text\","
         "\"text\":\"b\"}]}"},
        {OWN_TURN "b\n\n<!-- note -->\n\n", "{\"role\":\"user\",\"content\":\"b\"}"},
        {"**User:** b\n\n**Assistant:x\n\n**Assistant:** c\n", /* one that does not end */
         "{\"role\":\"user\",\"content\":\"b\\n\\n**Assistant:x\"}"},
        {"## User\n\nb\n\n## ****\n\n## Assistant\n\nc\n\n## **", /* a heading without a name */
         "{\"role\":\"user\",\"content\":\"b\\n\\n## ****\"}"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        fixture f;
        cf_exchange_open(&f);
        char *text = strdup(rows[i][0]); /* so that a sanitizer knows where it ends */
        assert_non_null(text);
        import_with(&f, text, (cf_import_options){.format = CF_FORMAT_MARKDOWN});
        free(text);
        assert_string_equal(f.notes, "");
        cf_store_tree t = cf_exchange_tree(&f);
        cf_exchange_says(&t, 0, rows[i][1]);
        cf_exchange_close(&f);
    }
}

/* A call that could not be read is written where the raw reply is not known, too. */
static void test_markdown__no_raw_reply(void **state)
{
    (void)state;
    fixture f;
    cf_buf md = CF_BUF_INIT;
    cf_exchange_open(&f);
    import(&f, "{\"type\":\"conversation\",\"confab\":1,\"id\":\"0190aaaa-0000-4000-8000-"
               "000000000001\"}\n{\"type\":\"turn\",\"id\":\"0190aaaa-0000-4000-8000-"
               "000000000011\",\"status\":\"ok\",\"message\":{\"role\":\"assistant\",\"content\":"
               "\"said\"},\"run\":{\"model\":\"M\"},\"calls\":[{\"n\":0,\"name\":\"f\","
               "\"parse_error\":\"no end\"}]}\n");
    cf_exchange_export(&f, CF_FORMAT_MARKDOWN, &md);
    assert_non_null(strstr(cf_buf_cstr(&md), "said\n\n<!-- raw -->"));
    cf_buf_deinit(&md);
    cf_exchange_close(&f);
}

/* Both readers of a session's file name the same lines as left out. */
static void test_session__left_out_is_said(void **state)
{
    (void)state;
    static const char bad[] = "{\"type\":\n";
    cf_error err;
    fixture f;
    cf_trails trails;
    cf_buf want = CF_BUF_INIT;
    store_path sub;
    store_dir_path(sub, "cut/subagents");
    T_OK(cf_os_make_dirs(sub, &err), err);
#define SAID(more) \
    "\"sessionId\":\"s\"" more ",\"message\":{\"role\":\"user\",\"content\":\"Help\"}}\n"
    char text[400];
    snprintf(text, sizeof text,
             "%s{\"type\":\"user\",\"uuid\":\"b\"," SAID(",\"isSidechain\":true"), bad);
    store_dir_put_text("cut/subagents/agent-x.jsonl", text);
    snprintf(text, sizeof text, "{\"type\":\"user\",\"uuid\":\"a\"," SAID("") "%s%s", bad, bad);
    const char *path = store_dir_put_text("cut.jsonl", text);
    T_OK(cf_trails_read(&trails, path, NULL, &err), err);
    const cf_trail *t = trails.v[0];
    assert_int_equal(t->n_left_out, 3);
    for (size_t i = 0; i < t->n_left_out; i++) {
        const cf_trail_left_out *x = &t->left_out[i];
        cf_buf_addf(&want, "%d:%s%s%s;", (int)x->line, x->file.n != 0 ? x->file.p : "",
                    x->file.n != 0 ? ": " : "", x->why.p);
    }
    cf_exchange_open(&f);
    const cf_import_options opts = {
        .format = CF_FORMAT_SESSION, .name = path, .note = cf_exchange_note, .ud = &f};
    T_OK(cf_import_file(f.s, path, &opts, &f.report, &err), err);
    assert_string_equal(f.notes, cf_buf_cstr(&want));
    assert_non_null(strstr(f.notes, "agent-x.jsonl: "));
    assert_int_equal(f.report.n_bad, 3);
    cf_trails_deinit(&trails);
    cf_buf_deinit(&want);
    cf_exchange_close(&f);
}

/* A pipe is read from its first byte on: it can be read only once. */
static void test_import__from_a_pipe(void **state)
{
    (void)state;
    static const char text[] = "{\"messages\":[{\"role\":\"user\",\"content\":\"a\"}]}\n";
    const char *path = store_dir_file("pipe");
    fixture f;
    cf_exchange_open(&f);
    cf_error err;
    const cf_import_options opts = {.guesses = true};
    assert_int_equal(mkfifo(path, 0600), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        int fd = open(path, O_WRONLY);
        bool ok = write(fd, text, sizeof text - 1) == (ssize_t)sizeof text - 1;
        _exit(ok ? 0 : 1);
    }
    T_OK(cf_import_file(f.s, path, &opts, &f.report, &err), err);
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_int_equal(f.report.n_new, 1);
    assert_int_equal(f.report.n_bad, 0);
    /* Nobody writes to it now: an import waits until it is stopped, another
     * file is empty. */
    cf_cancel cancel = true;
    const cf_import_options stopped = {.guesses = true, .cancel = &cancel};
    T_FAILS(cf_import_file(f.s, path, &stopped, &f.report, &err), CF_ECANCELLED);
    cf_buf out = CF_BUF_INIT;
    T_OK(cf_os_read_file(&out, path, 100, &err), err);
    assert_int_equal(out.n, 0);
    cf_buf_deinit(&out);
    cf_exchange_close(&f);
}

/* A byte 0 is not the end of a file: what comes after it is read, and what it
 * is in is counted. */
static void test_records__nul_is_not_the_end(void **state)
{
    (void)state;
    static const char one[] = "{\"messages\":[{\"role\":\"user\",\"content\":\"a\"}]}\n\0\n"
                              "{\"messages\":[{\"role\":\"user\",\"content\":\"b\"}]}\n";
    static const char only[] = "\0\0\0\0";
    fixture f;
    cf_exchange_open(&f);
    cf_error err;
    const cf_import_options opts = {.guesses = true};
    T_OK(cf_import_bytes(f.s, one, sizeof one - 1, &opts, &f.report, &err), err);
    assert_int_equal(f.report.n_new, 2);
    assert_int_equal(f.report.n_bad, 1);
    T_OK(cf_import_bytes(f.s, only, sizeof only - 1, &opts, &f.report, &err), err);
    assert_int_equal(f.report.n_bad, 1);
    cf_exchange_close(&f);
}

/* ---- stopping ----------------------------------------------------------- */

/* An import ends inside a conversation, too: while it is read, and while it is
 * written, and nothing of it is there afterwards. */
static void test_import__stops_within_a_conversation(void **state)
{
    (void)state;
    static const char text[] = "## User\n\nhello\n\n## Assistant\n\nfine\n";
    fixture f;
    cf_exchange_open(&f);
    cf_error err;
    cf_cancel cancel = true;
    cf_import_options opts = {.format = CF_FORMAT_MARKDOWN, .cancel = &cancel};
    T_FAILS(cf_import_bytes(f.s, text, sizeof text - 1, &opts, &f.report, &err), CF_ECANCELLED);
    cf_store_turn turn = {.id = cf_uuid_new(),
                          .message = cf_str_from("{\"role\":\"user\",\"content\":\"hi\"}")};
    const cf_store_tree tree = {.turns = &turn, .n = 1}, *list = &tree;
    const cf_store_origin origin = {.id = cf_uuid_new(), .cancel = &cancel};
    cf_store_put_report report;
    T_FAILS(cf_store_put_trees(f.s, &list, 1, &origin, &report, NULL, &err), CF_ECANCELLED);
    const cf_store_conv *rows;
    size_t n;
    const cf_store_query all = {.sort = CF_SORT_CREATED};
    T_OK(cf_store_list(f.s, &all, &f.a, &rows, &n, &err), err);
    assert_int_equal(n, 0);
    atomic_store(&cancel, false); /* the store goes on as before */
    T_OK(cf_store_put_trees(f.s, &list, 1, &origin, &report, NULL, &err), err);
    assert_int_equal(report.n_added, 1);
    cf_exchange_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_undo__takes_an_import_back),
        cmocka_unit_test(test_undo__takes_tags_back),
        cmocka_unit_test(test_undo__of_many_batches),
        cmocka_unit_test(test_undo__keeps_what_was_continued),
        cmocka_unit_test(test_json__as_lenient_as_tpipe),
        cmocka_unit_test(test_json__numbers_of_any_size_survive),
        cmocka_unit_test(test_records__are_bounded),
        cmocka_unit_test(test_records__what_cannot_be_guessed),
        cmocka_unit_test(test_records__before_the_first_that_is_known),
        cmocka_unit_test(test_import__from_a_pipe),
        cmocka_unit_test(test_records__nul_is_not_the_end),
        cmocka_unit_test(test_import__stops_within_a_conversation),
        cmocka_unit_test(test_markdown__comes_back),
        cmocka_unit_test(test_markdown__as_people_keep_chats),
        cmocka_unit_test(test_markdown__emptied_segments),
        cmocka_unit_test(test_markdown__no_raw_reply),
        cmocka_unit_test(test_session__left_out_is_said),
    };
    return cmocka_run_group_tests(tests, store_dir_make, store_dir_remove);
}
