/* stream.c - a conversation on the terminal: every line of standard input is
 * a message, and the reply is written as it comes.
 *
 *     stream [MODEL]
 */
#include <confab/confab.h>
#include <stdio.h>
#include <string.h>

static void on_piece(void *user, cf_heard kind, const char *text, size_t n)
{
    FILE *out = user;
    if (kind == CF_HEARD_TEXT) {
        fwrite(text, 1, n, out);
        fflush(out);
    }
}

int main(int argc, char **argv)
{
    cf_error err;
    char line[4096];
    confab *c = cf_open(argc > 1 ? argv[1] : "bundled", &err);
    if (c == NULL) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    cf_on_reply(c, on_piece, stdout);
    while (fgets(line, sizeof line, stdin) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        if (cf_chat(c, line, &err) == NULL) {
            fprintf(stderr, "%s", err.text);
        }
        puts("");
    }
    cf_close(c);
    return 0;
}
