/*
 * clients.c - E013 E014: requests as real clients send them.
 *
 * A shape is one habit of clients, as a conversation; a client is a name and
 * the shapes that its requests have.  Both are tables: a client is one row.
 * The shapes are those of public reports of templates that failed on them.
 */
#include <stdio.h>
#include <string.h>

#include "templates/lint/lint_impl.h"

typedef enum shape_id {
    SHAPE_TWO_SYSTEMS,
    SHAPE_LATE_SYSTEM,
    SHAPE_DEVELOPER,
    SHAPE_SYSTEM_PARTS,
    SHAPE_USER_PARTS,
    SHAPE_TWO_USERS,
    SHAPE_USER_AFTER_RESULT,
    SHAPE_ASSISTANT_FIRST,
    SHAPE_NULL_CONTENT,
    SHAPE_STRING_ARGUMENTS,
    SHAPE_LONG_IDS,
    SHAPE_PARALLEL,
    SHAPE_RESULT_PARTS,
    SHAPE_ODD_SCHEMA,
    N_SHAPES
} shape_id;

#define SHAPE(id) (UINT32_C(1) << SHAPE_##id)

typedef struct shape {
    const char *what;     /* "the client sends ..." */
    const char *fix;      /* the template could ... */
    const char *messages; /* JSON */
    const char *tools;    /* JSON; NULL: none */
    const char *words[3]; /* words that must reach the prompt unchanged */
} shape;

#define USER(text)      "{\"role\":\"user\",\"content\":\"" text "\"}"
#define ASSISTANT(text) "{\"role\":\"assistant\",\"content\":\"" text "\"}"
#define SYSTEM(text)    "{\"role\":\"system\",\"content\":\"" text "\"}"
#define CALL(id, args)                                                 \
    "{\"id\":\"" id "\",\"type\":\"function\",\"function\":{\"name\":" \
    "\"probe_weather\",\"arguments\":" args "}}"
#define OSLO "{\"city\":\"Osloprobe\"}"
#define RESULT(id)                                             \
    "{\"role\":\"tool\",\"tool_call_id\":\"" id "\",\"name\":" \
    "\"probe_weather\",\"content\":\"Resultprobe\"}"
#define TOOL                                                            \
    "[{\"type\":\"function\",\"function\":{\"name\":\"probe_weather\"," \
    "\"description\":\"Weather.\",\"parameters\":{\"type\":\"object\"," \
    "\"properties\":{\"city\":{\"type\":\"string\"}},\"required\":"     \
    "[\"city\"]}}}]"

static const shape shapes[N_SHAPES] = {
    [SHAPE_TWO_SYSTEMS] = {"two system messages at the start",
                           "write each system message, or join them",
                           "[" SYSTEM("Sysprobe") "," SYSTEM("Ruleprobe") "," USER("Userprobe") "]",
                           NULL,
                           {"Sysprobe", "Ruleprobe", "Userprobe"}},
    [SHAPE_LATE_SYSTEM] = {"a system message in the middle",
                           "write a later system message as a turn",
                           "[" SYSTEM("Sysprobe") "," USER("Userprobe") "," ASSISTANT(
                               "Replyprobe") "," SYSTEM("Lateprobe") "," USER("Secondprobe") "]",
                           NULL,
                           {"Lateprobe", "Secondprobe", NULL}},
    [SHAPE_DEVELOPER] = {"the role developer",
                         "treat developer as system",
                         "[{\"role\":\"developer\",\"content\":\"Sysprobe\"}," USER(
                             "Userprobe") "]",
                         NULL,
                         {"Sysprobe", "Userprobe", NULL}},
    [SHAPE_SYSTEM_PARTS] = {"a system message as a list of parts",
                            "join the text of the parts",
                            "[{\"role\":\"system\",\"content\":[{\"type\":"
                            "\"text\",\"text\":\"Sysprobe\"}]}," USER("Userprobe") "]",
                            NULL,
                            {"Sysprobe", "Userprobe", NULL}},
    [SHAPE_USER_PARTS] = {"a user's message as a list of parts",
                          "join the text of the parts",
                          "[{\"role\":\"user\",\"content\":[{\"type\":"
                          "\"text\",\"text\":\"Userprobe\"},{\"type\":"
                          "\"text\",\"text\":\"Secondprobe\"}]}]",
                          NULL,
                          {"Userprobe", "Secondprobe", NULL}},
    [SHAPE_TWO_USERS] = {"two messages of the user in a row",
                         "write each message as a turn, whatever came before",
                         "[" USER("Userprobe") "," USER("Secondprobe") "]",
                         NULL,
                         {"Userprobe", "Secondprobe", NULL}},
    [SHAPE_USER_AFTER_RESULT] =
        {"a user's message right after a tool's result",
         "write each message as a turn, whatever came before",
         "[" USER("Userprobe") ",{\"role\":\"assistant\",\"content\":\"\","
                               "\"tool_calls\":[" CALL("callprob1", OSLO) "]}," RESULT(
                                   "callprob1") "," USER("Secondp"
                                                         "robe") "]",
         TOOL,
         {"Resultprobe", "Secondprobe", NULL}},
    [SHAPE_ASSISTANT_FIRST] = {"a conversation that begins with a reply",
                               "write each message as a turn",
                               "[" ASSISTANT("Replyprobe") "," USER("Userprobe") "]",
                               NULL,
                               {"Replyprobe", "Userprobe", NULL}},
    [SHAPE_NULL_CONTENT] = {"content null beside tool calls",
                            "test for it: message.content or ''",
                            "[" USER("Userprobe") ",{\"role\":\"assistant\",\"content\":null,"
                                                  "\"tool_calls\":[" CALL(
                                                      "callprob1",
                                                      OSLO) "]}," RESULT("callprob1") "]",
                            TOOL,
                            {"Osloprobe", "Resultprobe", NULL}},
    [SHAPE_STRING_ARGUMENTS] = {"arguments of a call as a string of JSON",
                                "write arguments as they are when they are a string",
                                "[" USER("Userprobe") ",{\"role\":\"assistant\",\"content\":\"\","
                                                      "\"tool_calls\":[" CALL(
                                                          "callprob1", "\"{\\\"city\\\": "
                                                                       "\\\"Osloprobe\\\"}"
                                                                       "\"") "]}," RESULT("c"
                                                                                          "a"
                                                                                          "l"
                                                                                          "l"
                                                                                          "p"
                                                                                          "r"
                                                                                          "o"
                                                                                          "b"
                                                                                          "1") "]",
                                TOOL,
                                {"Osloprobe", "Resultprobe", NULL}},
    [SHAPE_LONG_IDS] = {"ids of calls that are not nine letters and digits",
                        "take any id",
                        "[" USER("Userprobe") ",{\"role\":\"assistant\",\"content\":\"\","
                                              "\"tool_calls\":[" CALL(
                                                  "call_0123456789abcdef",
                                                  OSLO) "]}," RESULT("call_0123456789abcdef") "]",
                        TOOL,
                        {"Osloprobe", "Resultprobe", NULL}},
    [SHAPE_PARALLEL] =
        {"two calls in one reply, and both results",
         "loop over message.tool_calls",
         "[" USER(
             "Userprobe") ",{\"role\":\"assistant\",\"content\":\"\","
                          "\"tool_calls\":[" CALL("callprob1", OSLO) "," CALL(
                              "callprob2",
                              "{\"city\":\"Bergenprobe\"}") "]}," RESULT("callp"
                                                                         "rob1") "," RESULT("callpr"
                                                                                            "ob2") "]",
         TOOL,
         {"Osloprobe", "Bergenprobe", "Resultprobe"}},
    [SHAPE_RESULT_PARTS] = {"a tool's result as a list of parts",
                            "join the text of the parts",
                            "[" USER("Userprobe") ",{\"role\":\"assistant\",\"content\":\"\","
                                                  "\"tool_calls\":[" CALL(
                                                      "callprob1",
                                                      OSLO) "]},{\"role\":\"tool\","
                                                            "\"tool_call_id\":\"callprob1\","
                                                            "\"content\":[{\"type\":\"text\","
                                                            "\"text\":\"Resultprobe\"}]}]",
                            TOOL,
                            {"Osloprobe", "Resultprobe", NULL}},
    [SHAPE_ODD_SCHEMA] = {"parameters named items, keys and values, and nested schemas",
                          "write properties with | tojson, or with .items() of the mapping",
                          "[" USER("Userprobe") "]",
                          "[{\"type\":\"function\",\"function\":{\"name\":\"probe_weather\","
                          "\"description\":\"Weather.\",\"parameters\":{\"type\":\"object\","
                          "\"properties\":{\"items\":{\"type\":\"array\",\"items\":{\"type\":"
                          "\"object\",\"properties\":{\"keys\":{\"type\":[\"string\","
                          "\"null\"]}}}},\"values\":{\"anyOf\":[{\"type\":\"integer\"},{"
                          "\"const\":\"Schemaprobe\"}]}},\"additionalProperties\":false,"
                          "\"$schema\":\"http://json-schema.org/draft-07/schema#\"}}}]",
                          {"probe_weather", "Userprobe", NULL}},
};

static const struct {
    const char *name;
    uint32_t shapes;
} clients[] = {
    {"claude-code", SHAPE(SYSTEM_PARTS) | SHAPE(LATE_SYSTEM) | SHAPE(USER_PARTS) |
                        SHAPE(USER_AFTER_RESULT) | SHAPE(PARALLEL) | SHAPE(RESULT_PARTS) |
                        SHAPE(LONG_IDS) | SHAPE(ODD_SCHEMA)},
    {"codex", SHAPE(DEVELOPER) | SHAPE(LATE_SYSTEM) | SHAPE(TWO_USERS) | SHAPE(NULL_CONTENT) |
                  SHAPE(STRING_ARGUMENTS) | SHAPE(LONG_IDS) | SHAPE(ODD_SCHEMA)},
    {"goose", SHAPE(USER_AFTER_RESULT) | SHAPE(TWO_USERS) | SHAPE(STRING_ARGUMENTS) |
                  SHAPE(PARALLEL) | SHAPE(LONG_IDS) | SHAPE(ODD_SCHEMA)},
    {"langchain", SHAPE(ASSISTANT_FIRST) | SHAPE(TWO_USERS) | SHAPE(NULL_CONTENT) |
                      SHAPE(STRING_ARGUMENTS) | SHAPE(PARALLEL) | SHAPE(LONG_IDS) |
                      SHAPE(RESULT_PARTS)},
    {"opencode", SHAPE(TWO_SYSTEMS) | SHAPE(LATE_SYSTEM) | SHAPE(USER_PARTS) |
                     SHAPE(STRING_ARGUMENTS) | SHAPE(PARALLEL) | SHAPE(LONG_IDS) |
                     SHAPE(ODD_SCHEMA)},
};

enum { N_CLIENTS = sizeof clients / sizeof clients[0] };

const char *cf_lint_client_at(size_t i)
{
    return i < N_CLIENTS ? clients[i].name : NULL;
}

/* Whether the client `name` is selected. */
static bool is_asked(const cf_linter *l, const char *name)
{
    return cf_str_is(l->client, "all") || cf_str_is(l->client, name);
}

/* "claude-code, goose": the clients asked for whose requests have a shape;
 * empty when there is none. */
static void name_clients(const cf_linter *l, int id, char *out, size_t cap)
{
    size_t n = 0;
    out[0] = '\0';
    for (size_t i = 0; i < N_CLIENTS; i++) {
        if ((clients[i].shapes >> id & 1) != 0 && is_asked(l, clients[i].name)) {
            n += (size_t)snprintf(out + n, cap - n, "%s%s", n != 0 ? ", " : "", clients[i].name);
        }
    }
}

static cf_status probe_shape(cf_linter *l, const shape *s, cf_shot *out, cf_error *err)
{
    json_t *c = NULL;
    cf_buf text = CF_BUF_INIT;
    cf_buf_addf(&text,
                "{\"messages\":%s,\"tools\":%s,\"documents\":null,"
                "\"add_generation_prompt\":true,\"bos_token\":",
                s->messages, s->tools != NULL ? s->tools : "null");
    cf_json_write_str(&text, cf_probe_bos(&l->prober));
    cf_buf_adds(&text, ",\"eos_token\":");
    cf_json_write_str(&text, cf_probe_eos(&l->prober));
    cf_buf_addc(&text, '}');
    cf_status st = cf_buf_check(&text, err);
    CF_THEN(st, cf_json_read(&c, text.p, text.n, err));
    cf_buf_deinit(&text);
    *out = (cf_shot){0};
    return st == CF_OK ? cf_probe_context(&l->prober, c, out, err) : st;
}

/* The first word of the shape that is not in the prompt, or is there as the
 * source text of a value (*is_garbled); NULL when all are well. */
static const char *lost_word(const shape *s, const cf_shot *shot, bool *is_garbled)
{
    for (size_t i = 0; i < 3 && s->words[i] != NULL; i++) {
        size_t at = cf_shot_find(shot, s->words[i]);
        *is_garbled = at != SIZE_MAX && cf_lint__is_garbled(shot->render.prompt.text, at);
        if (at == SIZE_MAX || *is_garbled) {
            return s->words[i];
        }
    }
    return NULL;
}

static cf_status check_shapes(cf_linter *l, bool wants_refused, cf_error *err)
{
    for (int i = 0; i < N_SHAPES; i++) {
        char names[120];
        cf_shot shot;
        cf_status st = CF_OK;
        name_clients(l, i, names, sizeof names);
        if (names[0] == '\0') {
            continue;
        }
        CF_TRY(probe_shape(l, &shapes[i], &shot, err));
        bool is_garbled;
        const char *lost = lost_word(&shapes[i], &shot, &is_garbled);
        cf_str why = shot.render.error.message;
        if (wants_refused && shot.status != CF_OK) {
            st = cf_lint__add(l, &shot, SIZE_MAX, err,
                              "%s: %s: refused; the template could %s (it "
                              "says: %.*s)",
                              names, shapes[i].what, shapes[i].fix,
                              (int)(why.n < 120 ? why.n : 120), why.p != NULL ? why.p : "");
        } else if (!wants_refused && shot.status == CF_OK && lost != NULL) {
            size_t message = cf_lint__message_with(&shot, lost);
            if (message != SIZE_MAX) {
                cf_lint__because_message(l, &shot, message);
            } else {
                cf_lint__because_mentions(l, &shot, "tools");
            }
            st = cf_lint__add(l, &shot, SIZE_MAX, err, "%s: %s: '%s' is %s; the template could %s",
                              names, shapes[i].what, lost,
                              is_garbled ? "written as the source text of a value" : "lost",
                              shapes[i].fix);
        }
        cf_shot_free(&l->prober, &shot);
        CF_TRY(st);
    }
    return CF_OK;
}

cf_status cf_lint__client_refused(cf_linter *l, cf_error *err)
{
    return check_shapes(l, true, err);
}

cf_status cf_lint__client_lost(cf_linter *l, cf_error *err)
{
    return check_shapes(l, false, err);
}
