/* mask.c - which tokens a constraint allows next, for a program that draws
 * them itself.  Here it takes the first one allowed until the text may end.
 */
#include <confab/confab.h>
#include <stdio.h>
#include <stdlib.h>

static int32_t first_set(const uint32_t *bits, size_t n_words)
{
    for (size_t i = 0; i < n_words * 32; i++) {
        if ((bits[i / 32] >> i % 32 & 1) != 0) {
            return (int32_t)i;
        }
    }
    return -1;
}

int main(int argc, char **argv)
{
    cf_error err;
    int32_t ids[64];
    size_t n = 0;
    confab *c = cf_open("bundled", &err);
    cf_mask *mask = c != NULL ? cf_mask_new(c, argc > 1 ? argv[1] : "{\"regex\": \"[0-9]{4}-[0-9]{2}\"}", &err) : NULL;
    size_t n_words = (c != NULL ? cf_n_vocab(c) + 31 : 0) / 32;
    uint32_t *bits = calloc(n_words + 1, sizeof *bits);
    while (mask != NULL && bits != NULL && n < 64 && !cf_mask_may_end(mask)) {
        if (cf_mask_fill(mask, bits, n_words, &err) != CF_OK) {
            break;
        }
        ids[n] = first_set(bits, n_words);
        if (ids[n] < 0 || cf_mask_take(mask, ids[n], &err) != CF_OK) {
            break;
        }
        n++;
    }
    const char *text = mask != NULL ? cf_detokenize(c, ids, n, NULL, &err) : NULL;
    puts(text != NULL ? text : err.text);
    free(bits);
    cf_mask_free(mask);
    cf_close(c);
    return text != NULL ? 0 : 1;
}
