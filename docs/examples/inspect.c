/* inspect.c - the prompt that would be sent, each stretch of it with its
 * origin: a line of the template, a field of a message, or a tool.
 *
 *     inspect [MODEL]
 *
 * Uses cf_parts() to reach the interface below the handle.
 */
#include <confab/confab.h>
#include <confab/open.h>
#include <stdio.h>
#include <string.h>

/* Prints text[0..n) on one line. */
static void print_line(const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (text[i] == '\n') {
            fputs("\\n", stdout);
        } else {
            putchar(text[i]);
        }
    }
    putchar('\n');
}

static void print_span(const cf_prompt *prompt, const cf_prompt_span *s)
{
    char from[80];
    if (s->source == CF_SPAN_TEMPLATE) {
        snprintf(from, sizeof from, "template line %u", (unsigned)s->line);
    } else {
        snprintf(from, sizeof from, "%s %u%.*s", cf_span_source_name(s->source), (unsigned)s->index, (int)s->path.n,
                 s->path.p);
    }
    printf("%-20s ", from);
    print_line(prompt->text.p + s->off, s->len);
}

int main(int argc, char **argv)
{
    cf_error err;
    cf_arena arena;
    cf_prompt prompt;
    cf_token_list tokens;
    confab *c = cf_open(argc > 1 ? argv[1] : "bundled", &err);
    cf_arena_init(&arena, 0);
    cf_status st = c != NULL ? cf_set_system(c, "You are brief.", &err) : err.code;
    if (st == CF_OK) {
        json_t *message = json_pack("{s:s, s:s}", "role", "user", "content", "Hello!");
        cf_send send = {.message = message};
        st = cf_conversation_preview(cf_parts_conversation(c), cf_parts(c)->backend, &send, &arena, &prompt, &tokens,
                                     &err);
        json_decref(message);
    }
    if (st == CF_OK) {
        for (size_t i = 0; i < prompt.n_spans; i++) {
            print_span(&prompt, &prompt.spans[i]);
        }
        printf("%zu tokens\n", tokens.n);
    } else {
        fprintf(stderr, "%s\n", err.text);
    }
    cf_arena_deinit(&arena);
    cf_close(c);
    return st == CF_OK ? 0 : 1;
}
