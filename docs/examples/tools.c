/* tools.c - two tools, one of which fails, and what happens in between.
 *
 *     tools "What is 12 times 7?"
 */
#include <confab/confab.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char calculate_tool[] = "{\"name\": \"calculate\", \"description\": \"Evaluate an arithmetic expression\","
                                     " \"parameters\": {\"type\": \"object\", \"properties\": {\"expression\":"
                                     " {\"type\": \"string\", \"description\": \"Arithmetic expression\"}},"
                                     " \"required\": [\"expression\"]}}";

static const char search_tool[] = "{\"name\": \"search\", \"description\": \"Search the notes\","
                                  " \"parameters\": {\"type\": \"object\", \"properties\": {\"query\":"
                                  " {\"type\": \"string\"}}, \"required\": [\"query\"]}}";

/* Knows "A * B" and nothing else. */
static void calculate(void *user, const char *arguments, cf_tool_result *result)
{
    char text[64];
    long a, b;
    (void)user;
    if (sscanf(arguments, "{\"expression\":\"%ld * %ld\"}", &a, &b) != 2) {
        cf_tool_fail(result, "only products of two numbers are known here");
        return;
    }
    snprintf(text, sizeof text, "{\"result\": %ld}", a * b);
    cf_tool_return(result, text);
}

static void search(void *user, const char *arguments, cf_tool_result *result)
{
    (void)arguments;
    ++*(int *)user;
    cf_tool_fail(result, "there are no notes yet");
}

static void on_piece(void *user, cf_heard kind, const char *text, size_t n)
{
    (void)user;
    if (kind == CF_HEARD_CALL || kind == CF_HEARD_RESULT) {
        printf("%s %.*s\n", kind == CF_HEARD_CALL ? "call  " : "result", (int)n, text);
    }
}

int main(int argc, char **argv)
{
    cf_error err;
    int n_searches = 0;
    const char *reply = NULL;
    confab *c = cf_open("bundled", &err);
    if (c != NULL && cf_add_tool(c, calculate_tool, calculate, NULL, &err) == CF_OK &&
        cf_add_tool(c, search_tool, search, &n_searches, &err) == CF_OK) {
        cf_on_reply(c, on_piece, NULL);
        reply = cf_chat(c, argc > 1 ? argv[1] : "What is 12 times 7?", &err);
    }
    puts(reply != NULL ? reply : err.text);
    cf_close(c);
    return reply != NULL ? EXIT_SUCCESS : EXIT_FAILURE;
}
