/* hello.c - asks the bundled model, which may call a tool to answer. */
#include <confab/confab.h>
#include <stdio.h>
#include <string.h>
static const char declaration[] = "{\"name\": \"get_weather\", \"description\": \"Weather at a place.\", \"parameters\": "
    "{\"type\": \"object\", \"properties\": {\"location\": {\"type\": \"string\"}}, \"required\": [\"location\"]}}";
static void weather(void *user, const char *arguments, cf_tool_result *result) /* {"location": ...} and the weather */
{
    char text[512];
    snprintf(text, sizeof text, "%.*s, \"temperature\": 21, \"unit\": \"celsius\", \"condition\": \"sunny\"}", (int)strcspn(arguments, "}"), arguments);
    cf_tool_return(result, text);
}
int main(int argc, char **argv)
{
    cf_error err;
    confab *c = cf_open("bundled", &err);
    bool ok = c && cf_add_tool(c, declaration, weather, NULL, &err) == CF_OK;
    const char *reply = ok ? cf_chat(c, argc > 1 ? argv[1] : "How is the weather in Paris?", &err) : NULL;
    puts(reply ? reply : err.text);
    cf_close(c);
}
