/*
 * word_index.c - scores each row by the words of the question.
 */
#include "tui/sys/word_index.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "core/base/alloc.h"
#include "core/base/utf8.h"

extern const unsigned char cf_embed_tui_sys_asked_txt[];

enum { WHERE, KEYS, NAME, HELP, ASKED, TEXTS };
enum { HELP_MAX = 200 /* bytes shown */ };

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

/* Appends the rest of each line of asked.txt that begins so and, unless `word` is
 * empty, has it. */
static void put_lines(cf_buf *out, const char *begin, cf_str word)
{
    const char *text = (const char *)cf_embed_tui_sys_asked_txt;
    size_t skip = strlen(begin);
    for (size_t n; *text != '\0'; text += n + 1) {
        const char *at = text;
        cf_str w;
        bool has = word.n == 0;
        n = strcspn(text, "\n");
        while (!has && next_word(&at, &w) && w.p < text + n) {
            has = w.n == word.n && strncasecmp(w.p, word.p, w.n) == 0;
        }
        if (has && strncmp(text, begin, skip) == 0) {
            cf_buf_addf(out, "%.*s ", (int)(n - skip), text + skip);
        }
    }
}

/* The words that people use for a row: those of "Chat :retry: again ...". */
static void put_asked(cf_buf *out, const char *where, const char *name)
{
    static const char view[] = "workbench, ";
    size_t n = strcspn(name, " =");
    cf_buf row = CF_BUF_INIT;
    if (strncmp(where, view, sizeof view - 1) == 0) {
        where += sizeof view - 1;
        cf_buf_addf(&row, "%s ", strcmp(where, "all views") == 0 ? "*" : where);
    } else if (name[0] != '-' && name[n] != '\0') {
        n += 1 + strcspn(name + n + 1, " =");
    }
    cf_buf_addf(&row, "%.*s: ", (int)n, name);
    put_lines(out, cf_buf_cstr(&row), cf_str_from(""));
    out->failed = out->failed || row.failed;
    cf_buf_deinit(&row);
}

void cf_word_index_add(cf_word_index *f, const char *where, const char *keys, const char *name,
                       const char *help)
{
    cf_buf asked = CF_BUF_INIT;
    put_asked(&asked, where, name);
    f->failed = f->failed || asked.failed;
    struct cf_word_index_row row = {{where, keys, name, help, cf_buf_cstr(&asked)}};
    for (int i = 0; i < TEXTS; i++) {
        row.text[i] = cf_arena_strndup(&f->arena, row.text[i], strlen(row.text[i]));
        f->failed = f->failed || row.text[i] == NULL;
    }
    f->failed = f->failed || !cf_grow(&f->row, &f->cap, f->n + 1, sizeof *f->row);
    if (!f->failed) {
        f->row[f->n++] = row;
    }
    cf_buf_deinit(&asked);
}

/* The same, 1 also for a word of the same meaning. */
static int means(const char *text, cf_str word, const char *alike)
{
    int best = has_word(text, word);
    cf_str w;
    while (best == 0 && next_word(&alike, &w)) {
        best = has_word(text, w) / 2;
    }
    return best;
}

static double weight_of(const struct cf_word_index_row *row, cf_str word, const char *alike)
{
    return 2.5 * (means(row->text[NAME], word, alike) + means(row->text[HELP], word, alike) +
                  means(row->text[ASKED], word, alike)) +
           means(row->text[WHERE], word, alike);
}

/* Words that questions have and that say nothing of their subject. */
static const char fillers[] = "a about aim able an and another any are at be by can command confab "
                              "could did do does for from "
                              "get good here hit how i if in into is it its key let like ll look "
                              "may me must my need of on one "
                              "option or please possible press right say setting should show so "
                              "somehow suppose tell that the "
                              "then there they this to use using want was way we what when where "
                              "which who why will wish with "
                              "would you";

/* What a row has of a question. */
typedef struct tally {
    double score;
    unsigned n_words;
} tally;

/* A letter is a key between such words: "what does S do", "press S". */
static const char before_key[] = "press pressed pressing hit key does letter";
static const char after_key[] = "do in mean for on here twice end";

/* Whether a row has a key that is written so: "S", "^L", "ctrl-l", "Enter". */
static bool has_key(const char *keys, cf_str w)
{
    char control[8] = "";
    bool is_control = (w.n == 2 && w.p[0] == '^') || (w.n == 6 && strncasecmp(w.p, "ctrl", 4) == 0);
    if (is_control) {
        snprintf(control, sizeof control, "<C-%c>", lower(w.p[w.n - 1]));
        w = cf_str_from(control);
    }
    bool has = w.n > 2 && has_word(keys, w) == 2;
    for (size_t n; *keys != '\0' && !has; keys += n + (keys[n] != '\0')) {
        n = strcspn(keys, " ");
        has = cf_str_eq(w, cf_str_make(keys, n));
    }
    return has;
}

/* The next word between blanks, without quotes and the marks of a sentence; empty
 * at the end. */
static cf_str next_token(const char **p)
{
    *p += strspn(*p, " \t\n\"'`");
    cf_str w = cf_str_make(*p, strcspn(*p, " \t\n"));
    *p += w.n;
    while (w.n > 1 && w.p[0] != '<' && strchr("?.,!;:\"'`", w.p[w.n - 1]) != NULL) {
        w.n--;
    }
    return w;
}

/* Whether a name begins with the word, one of "confab run" or ":set mouse" with
 * both. */
static bool is_called(const char *name, cf_str w, cf_str after)
{
    size_t n = strcspn(name, " =");
    bool is = cf_str_eq(w, cf_str_make(name, n));
    if (is && (cf_str_is(w, "confab") || cf_str_is(w, ":set"))) {
        name += n + (name[n] != '\0');
        is = cf_str_eq(after, cf_str_make(name, strcspn(name, " =")));
    }
    return is;
}

/* Rows whose key or name the question has come before all others. */
static void add_called(const cf_word_index *f, const char *question, tally *rows)
{
    enum { CALLED = 40 };
    cf_str before = cf_str_from(""), next = next_token(&question);
    while (next.n > 0) {
        cf_str w = next, letters;
        const char *at = w.p;
        next = next_token(&question);
        cf_str after = next.n > 0 ? next : cf_str_from("end");
        bool is_word = next_word(&at, &letters) && letters.p == w.p && letters.n >= w.n;
        bool is_key =
            !is_word || (has_word(before_key, before) == 2 && has_word(after_key, after) == 2);
        for (size_t i = 0; i < f->n; i++) {
            const char *const *t = f->row[i].text;
            bool is_name = is_called(t[NAME], w, after) && (is_key || cf_str_is(w, "confab"));
            rows[i].score += is_name || (is_key && has_key(t[KEYS], w)) ? CALLED : 0;
        }
        before = w;
    }
}

static void add_word(const cf_word_index *f, cf_str word, cf_buf *alike, tally *rows)
{
    size_t n = 0;
    cf_buf_reset(alike);
    put_lines(alike, "= ", word);
    for (size_t i = 0; i < f->n; i++) {
        n += weight_of(&f->row[i], word, cf_buf_cstr(alike)) > 0;
    }
    for (size_t i = 0; n > 0 && i < f->n; i++) {
        double w = weight_of(&f->row[i], word, cf_buf_cstr(alike));
        rows[i].score += log(1 + (double)f->n / (double)n) * w;
        rows[i].n_words += w > 0;
    }
}

/* Rows that have most of the words come first, options and the manual last. */
static cf_status add_words(const cf_word_index *f, const char *question, tally *rows, cf_error *err)
{
    cf_buf alike = CF_BUF_INIT;
    unsigned n = 0;
    cf_str word;
    while (next_word(&question, &word)) {
        bool is_letter_alone = word.n == 1 && (word.p[0] < '0' || word.p[0] > '9');
        if (!is_letter_alone && has_word(fillers, word) < 2) {
            add_word(f, word, &alike, rows);
            n++;
        }
    }
    for (size_t i = 0; i < f->n; i++) {
        const char *where = f->row[i].text[WHERE];
        bool is_late = strncmp(where, "option", 6) == 0 || strncmp(where, "manual", 6) == 0;
        rows[i].score *= sqrt((double)rows[i].n_words / (n > 0 ? n : 1)) * (is_late ? 0.7 : 1);
    }
    cf_status st = cf_buf_check(&alike, err);
    cf_buf_deinit(&alike);
    return st;
}

cf_status cf_word_index_write(const cf_word_index *f, const char *question, size_t max, cf_buf *out,
                              cf_error *err)
{
    tally *rows = f->failed ? NULL : cf_calloc(f->n + 1, sizeof *rows);
    if (rows == NULL) {
        return cf_oom_for(err, "the search");
    }
    double least = 0; /* rows below half of the best score are chance finds */
    cf_status st = add_words(f, question, rows, err);
    add_called(f, question, rows);
    for (size_t k = 0; k < max && st == CF_OK; k++) {
        size_t best = max == SIZE_MAX ? k : f->n; /* of equal ones the first */
        for (size_t i = 0; i < f->n && max != SIZE_MAX; i++) {
            best = rows[i].score > rows[best].score ? i : best;
        }
        if (best == f->n || rows[best].score < least) {
            break;
        }
        least = k == 0 && max != SIZE_MAX ? rows[best].score / 2 : least;
        const char *const *t = f->row[best].text;
        size_t n = strlen(t[HELP]), cut = n;
        if (n > HELP_MAX) {
            cut = HELP_MAX - cf_utf8_incomplete_tail(t[HELP], HELP_MAX);
        }
        cf_buf_addf(out, "%s%s%s  (%s)\n    %.*s%s\n", t[KEYS], t[KEYS][0] != '\0' ? "  " : "",
                    t[NAME], t[WHERE], (int)cut, t[HELP], cut < n ? " ..." : "");
        rows[best].score = 0;
    }
    cf_free(rows);
    return st != CF_OK ? st : cf_buf_check(out, err);
}

cf_status cf_word_index_answer(const cf_word_index *f, const char *question, cf_buf *out,
                               cf_error *err)
{
    enum { ROWS_MAX = 4 };
    size_t before = out->n, max = question[strspn(question, " ")] != '\0' ? ROWS_MAX : SIZE_MAX;
    cf_buf key = CF_BUF_INIT;
    cf_status st = cf_word_index_write(f, question, max, out, err);
    if (st == CF_OK && out->n == before) {
        st = cf_word_index_write(f, ":help", 1, &key, err);
        cf_buf_addf(out, "%s; %.*s lists the keys and commands of a view.\n", CF_NOTHING_FOUND,
                    (int)strcspn(cf_buf_cstr(&key), " \n"), cf_buf_cstr(&key));
    }
    cf_buf_deinit(&key);
    return st != CF_OK ? st : cf_buf_check(out, err);
}
