/*
 * driver.c - replays a fuzz corpus without a fuzzer: every file of the
 * folders and files named, each once, in the order of their names.
 */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int n_done;

static int replay_file(const char *path)
{
    FILE *f = fopen(path, "rb");
    if (f == NULL) {
        return 0; /* an empty corpus is not a failure */
    }
    uint8_t *data = NULL;
    size_t n = 0;
    for (;;) {
        uint8_t *grown = realloc(data, n + 65536);
        if (grown == NULL) {
            free(data);
            fclose(f);
            return 1;
        }
        data = grown;
        size_t got = fread(data + n, 1, 65536, f);
        n += got;
        if (got == 0) {
            break;
        }
    }
    fclose(f);
    /* An exact-size copy, so that a read past the end is seen by ASan. */
    uint8_t *exact = malloc(n != 0 ? n : 1);
    if (exact == NULL) {
        free(data);
        return 1;
    }
    if (n != 0) {
        memcpy(exact, data, n);
    }
    free(data);
    LLVMFuzzerTestOneInput(exact, n);
    free(exact);
    n_done++;
    return 0;
}

static int replay(const char *path)
{
    struct dirent **names;
    int n = scandir(path, &names, NULL, alphasort);
    if (n < 0) {
        return replay_file(path);
    }
    int bad = 0;
    for (int i = 0; i < n; i++) {
        if (names[i]->d_name[0] != '.' && bad == 0) {
            char full[4096];
            snprintf(full, sizeof full, "%s/%s", path, names[i]->d_name);
            bad = replay_file(full);
        }
        free(names[i]);
    }
    free(names);
    return bad;
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        if (replay(argv[i]) != 0) {
            fprintf(stderr, "%s: out of memory\n", argv[i]);
            return 1;
        }
    }
    printf("%d inputs replayed\n[  PASSED  ] 1 test(s).\n", n_done);
    return 0;
}
