/*
 * word_index.c - scores each row by the words of the question.
 */
#include "tui/sys/word_index.h"

#include <math.h>
#include <string.h>

#include "core/base/alloc.h"

enum { WHERE, KEYS, NAME, HELP, TEXTS };

struct cf_word_index_row {
    const char *text[TEXTS];
};

void cf_word_index_init(cf_word_index *f)
{
    *f = (cf_word_index){.row = NULL};
    cf_arena_init(&f->arena, 0);
}

void cf_word_index_deinit(cf_word_index *f)
{
    cf_arena_deinit(&f->arena);
    cf_free(f->row);
}

void cf_word_index_add(cf_word_index *f, const char *where, const char *keys, const char *name,
                       const char *help)
{
    struct cf_word_index_row row = {{where, keys, name, help}};
    for (int i = 0; i < TEXTS; i++) {
        row.text[i] = cf_arena_strndup(&f->arena, row.text[i], strlen(row.text[i]));
        f->failed = f->failed || row.text[i] == NULL;
    }
    f->failed = f->failed || !cf_grow(&f->row, &f->cap, f->n + 1, sizeof *f->row);
    if (!f->failed) {
        f->row[f->n++] = row;
    }
}

static char lower(char c)
{
    return (char)(c >= 'A' && c <= 'Z' ? c | 0x20 : c);
}

static bool is_letter(char c)
{
    return (lower(c) >= 'a' && lower(c) <= 'z') || (c >= '0' && c <= '9') || (c & 0x80) != 0;
}

/* The next word of a text from *p on; false at its end. */
static bool next_word(const char **p, cf_str *out)
{
    while (**p != '\0' && !is_letter(**p)) {
        (*p)++;
    }
    *out = cf_str_make(*p, 0);
    while (is_letter(**p)) {
        (*p)++;
        out->n++;
    }
    return out->n > 0;
}

/* How well a text has the word: 2 as it is, 1 with another ending. */
static int has_word(const char *text, cf_str word)
{
    enum { STEM_LEAST = 4, ENDING_MAX = 3 };
    int best = 0;
    cf_str w;
    while (best < 2 && next_word(&text, &w)) {
        size_t same = 0, least = w.n < word.n ? w.n : word.n, most = w.n + word.n - least;
        while (same < least && lower(w.p[same]) == lower(word.p[same])) {
            same++;
        }
        bool is_alike = same >= STEM_LEAST && same + 1 >= least && same + ENDING_MAX >= most;
        best = same == most ? 2 : is_alike ? 1 : best;
    }
    return best;
}

static double weight_of(const struct cf_word_index_row *row, cf_str word)
{
    return 3 * has_word(row->text[NAME], word) + has_word(row->text[HELP], word) +
           0.5 * has_word(row->text[WHERE], word);
}

/* Words that questions have and that say nothing of their subject. */
static const char fillers[] =
    "a about an and another are at be by can command confab did do does for from get how i in is "
    "it "
    "its key me my of on one option or press setting should that the there this to use want was "
    "what when where which who why will with you";

static void add_scores(const cf_word_index *f, cf_str word, double *score)
{
    size_t n = 0;
    for (size_t i = 0; i < f->n; i++) {
        n += weight_of(&f->row[i], word) > 0;
    }
    for (size_t i = 0; n > 0 && i < f->n; i++) {
        score[i] += log(1 + (double)f->n / (double)n) * weight_of(&f->row[i], word);
    }
}

cf_status cf_word_index_write(const cf_word_index *f, const char *question, size_t max, cf_buf *out,
                              cf_error *err)
{
    double *score = f->failed ? NULL : cf_calloc(f->n + 1, sizeof *score);
    cf_str word;
    if (score == NULL) {
        return cf_oom_for(err, "the search");
    }
    while (next_word(&question, &word)) {
        if (has_word(fillers, word) < 2) {
            add_scores(f, word, score);
        }
    }
    for (size_t k = 0; k < max; k++) {
        size_t best = f->n; /* of equal ones the first */
        for (size_t i = 0; i < f->n; i++) {
            best = score[i] > score[best] ? i : best;
        }
        if (best == f->n) {
            break;
        }
        const char *const *t = f->row[best].text;
        cf_buf_addf(out, "%s%s%s  (%s)\n    %s\n", t[KEYS], t[KEYS][0] != '\0' ? "  " : "", t[NAME],
                    t[WHERE], t[HELP]);
        score[best] = 0;
    }
    cf_free(score);
    return cf_buf_check(out, err);
}
