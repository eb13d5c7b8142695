/*
 * alternatives.c - a tool, a constrained reply, what could have come in place of each of its
 * tokens, and what it depends on, with one header.
 */
#include <confab/confab.h>
#include <stdio.h>

static const char weather[] =
    "{\"name\":\"get_weather\",\"description\":\"Weather at a place.\",\"parameters\":"
    "{\"type\":\"object\",\"properties\":{\"location\":{\"type\":\"string\"}}}}";

static void get_weather(void *user, const char *arguments, cf_tool_result *result)
{
    (void)user;
    printf("called with %s\n", arguments);
    cf_tool_return(result, "{\"temperature\": 21, \"condition\": \"sunny\"}");
}

/* A token comes as a line of JSON before its text. */
static void heard(void *user, cf_heard kind, const char *text, size_t n)
{
    if (kind == CF_HEARD_TOKEN) {
        fprintf(user, "%.*s\n", (int)n, text);
    }
}

int main(int argc, char **argv)
{
    cf_error err;
    confab *c = cf_open(argc > 1 ? argv[1] : "bundled", &err);
    const char *reply = NULL;
    if (c != NULL && cf_add_tool(c, weather, get_weather, NULL, &err) == CF_OK) {
        reply = cf_chat(c, "How is the weather in Oslo?", &err);
    }
    if (reply != NULL) {
        puts(reply);
        cf_on_reply(c, heard, stdout);
        reply = cf_set(c, "alternatives", "2", &err) == CF_OK &&
                        cf_constrain(c, "{\"choices\":[\"warm\",\"cold\"]}", &err) == CF_OK
                    ? cf_chat(c, "Is that warm or cold?", &err)
                    : NULL;
    }
    puts(reply != NULL ? reply : err.text);
    if (reply != NULL) {
        printf("depends on %s\nis kept as %s\n", cf_influence(c, NULL, NULL), cf_last_reply(c, NULL));
    }
    cf_close(c);
    return reply == NULL;
}
