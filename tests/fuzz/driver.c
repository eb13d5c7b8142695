/*
 * driver.c - replays a fuzz corpus without a fuzzer: every file of the
 * folders and files named, each once, in the order of their names.  With
 * FLIPS=N in the environment each is followed by N copies in which a few bytes
 * are another value, taken out, or missing at the end: the same ones each time.
 */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int n_done;

static uint32_t next(uint32_t *seed)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 17;
    return *seed ^= *seed << 5;
}

/* An exact-size copy, so that a read past the end is seen by ASan. */
static int run_copy(const uint8_t *data, size_t n)
{
    uint8_t *exact = malloc(n != 0 ? n : 1);
    if (exact == NULL) {
        return 1;
    }
    if (n != 0) {
        memcpy(exact, data, n);
    }
    LLVMFuzzerTestOneInput(exact, n);
    free(exact);
    n_done++;
    return 0;
}

static void spoil(uint8_t *data, size_t *n, uint32_t *seed)
{
    static const uint8_t values[] = {0, 1, 0x7F, 0x80, 0xFF};
    for (uint32_t k = 1 + next(seed) % 4; k > 0 && *n > 0; k--) {
        size_t at = next(seed) % *n;
        uint32_t how = next(seed) % 12;
        if (how < 5) {
            data[at] = values[how];
        } else if (how < 10) {
            data[at] ^= (uint8_t)(1U << next(seed) % 8);
        } else if (how == 10) {
            memmove(data + at, data + at + 1, --*n - at);
        } else {
            *n = at;
        }
    }
}

static int run_spoiled(const uint8_t *data, size_t n)
{
    const char *flips = getenv("FLIPS");
    uint32_t seed = 2463534242U;
    uint8_t *copy = malloc(n != 0 ? n : 1);
    int bad = copy == NULL;
    for (long left = flips != NULL ? atol(flips) : 0; n != 0 && left > 0 && bad == 0; left--) {
        size_t k = n;
        memcpy(copy, data, n);
        spoil(copy, &k, &seed);
        bad = run_copy(copy, k);
    }
    free(copy);
    return bad;
}

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
    int bad = run_copy(data, n);
    bad = bad != 0 ? bad : run_spoiled(data, n);
    free(data);
    return bad;
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
