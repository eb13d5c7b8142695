/* hello.c - a question to the bundled model, which may call a tool. */
#include <confab/confab.h>
#include <stdio.h>

static void weather(void *user, const char *arguments, cf_tool_result *result)
{
    cf_tool_return(result, "{\"temperature\": 21, \"unit\": \"celsius\", \"condition\": \"sunny\"}");
}
int main(int argc, char **argv)
{
    const char *question = argc > 1 ? argv[1] : "How is the weather in Oslo?", *reply = NULL;
    const char *tool = "{\"name\": \"get_weather\", \"description\": \"Weather at a place.\", \"parameters\": "
                       "{\"type\": \"object\", \"properties\": {\"location\": {\"type\": \"string\"}}}}";
    cf_error err;
    confab *c = cf_open("bundled", &err);
    if (c != NULL && cf_add_tool(c, tool, weather, NULL, &err) == CF_OK)
        reply = cf_chat(c, question, &err);
    puts(reply != NULL ? reply : err.text);
    cf_close(c);
}
