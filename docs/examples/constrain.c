/* constrain.c - a reply that is valid JSON under a schema, and a choice.
 *
 *     constrain "A city, please."
 */
#include <confab/confab.h>
#include <stdio.h>

static const char schema[] = "{\"schema\": {\"type\": \"object\", \"properties\": {"
                             "\"feature\": {\"enum\": [\"templates\", \"tokens\", \"history\"]},"
                             "\"views\": {\"type\": \"integer\", \"minimum\": 1, \"maximum\": 9}},"
                             " \"required\": [\"feature\", \"views\"], \"additionalProperties\": false}}";

static int ask(confab *c, const char *spec, const char *question)
{
    cf_error err;
    const char *reply = NULL;
    if (cf_constrain(c, spec, &err) == CF_OK) {
        reply = cf_chat(c, question, &err);
    }
    puts(reply != NULL ? reply : err.text);
    return reply != NULL;
}

int main(int argc, char **argv)
{
    cf_error err;
    confab *c = cf_open("bundled", &err);
    if (c == NULL) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    int ok = ask(c, schema, argc > 1 ? argv[1] : "Describe confab as JSON.") &&
             ask(c, "{\"choices\": [\"lint\", \"render\"]}",
                 "Which command finds faults of a chat template?");
    cf_close(c);
    return ok ? 0 : 1;
}
