/*
 * split.c - implements the steps that cut text, each inside the pieces of the
 * last.
 *
 * Each step gets a piece of the step before it and sees nothing beyond it.
 * The pieces of the last step go to the caller, in order and without a list
 * of them anywhere in between.
 *
 * Source of the behaviours: tokenizers, src/pre_tokenizers/ and
 * NormalizedString::split.
 */
#include "core/token/split.h"

#include <string.h>

#include "core/base/utf8.h"
#include "core/token/bpe.h"
#include "core/token/unicode.h"

static cf_status run(cf_splitting *s, size_t level, const cf_view *text);

void cf_splitting_deinit(cf_splitting *s)
{
    for (size_t i = 0; i < CF_SPLIT_STEPS_MAX; i++) {
        cf_rewrite_deinit(&s->edit[i]);
    }
    cf_pattern_free_match(s->match);
    s->match = NULL;
}

/* ---- the treatment of matches -------------------------------------------- */

/* The stretches of one text as they are found, matches and gaps, and the
 * pending one, which may still grow. */
typedef struct cutter {
    cf_splitting *s;
    size_t level;
    const cf_view *text;
    cf_split_behavior behavior;
    bool invert;
    bool waits; /* [from, to) waits */
    bool last_matched;
    size_t from, to;
} cutter;

static cf_status emit(const cutter *c, size_t from, size_t to)
{
    if (from == to) {
        return CF_OK;
    }
    cf_view piece = cf_view_sub(c->text, from, to);
    return run(c->s, c->level + 1, &piece);
}

/* Emits the pending stretch. */
static cf_status flush(cutter *c)
{
    bool waited = c->waits;
    c->waits = false;
    return waited ? emit(c, c->from, c->to) : CF_OK;
}

/* The stretch waits, joined to the one that does already when `joins`. */
static cf_status hold(cutter *c, size_t from, size_t to, bool joins)
{
    if (c->waits && joins) {
        c->to = to;
        return CF_OK;
    }
    CF_TRY(flush(c));
    c->waits = true;
    c->from = from;
    c->to = to;
    return CF_OK;
}

static cf_status cut(cutter *c, size_t from, size_t to, bool matched)
{
    matched = matched != c->invert;
    bool before = c->last_matched;
    c->last_matched = matched;
    switch (c->behavior) {
    case CF_SPLIT_REMOVED:
        return matched ? CF_OK : emit(c, from, to);
    case CF_SPLIT_ISOLATED:
        return emit(c, from, to);
    case CF_SPLIT_WITH_PREVIOUS:
        return hold(c, from, to, matched && !before);
    case CF_SPLIT_CONTIGUOUS:
        return hold(c, from, to, matched == before);
    case CF_SPLIT_WITH_NEXT:
        break;
    }
    if (matched) {
        return hold(c, from, to, false);
    }
    size_t start = c->waits ? c->from : from;
    c->waits = false;
    return emit(c, start, to);
}

/* ---- steps that cut ------------------------------------------------------ */

static cf_status by_pattern(cutter *c, const cf_pattern *p)
{
    cf_search search = {p, c->s->match, cf_view_str(c->text), 0, SIZE_MAX};
    size_t done = 0;
    size_t a, b;
    bool found;
    for (;;) {
        CF_TRY(cf_search_next(&search, &a, &b, &found, c->s->err));
        if (!found) {
            break;
        }
        if (a > done) {
            CF_TRY(cut(c, done, a, false));
        }
        CF_TRY(cut(c, a, b, true));
        done = b;
    }
    if (done < c->text->n) {
        CF_TRY(cut(c, done, c->text->n, false));
    }
    return flush(c);
}

static bool is_match(const cf_split_step *step, uint32_t cp)
{
    switch (step->kind) {
    case CF_SPLIT_WHITE:
        return cf_unicode_is_white(cp);
    case CF_SPLIT_PUNCT:
        return cf_unicode_is_punct(cp);
    case CF_SPLIT_NUMERIC:
        return cf_unicode_is_numeric(cp);
    default:
        return cp == step->cp;
    }
}

static cf_status by_char(cutter *c, const cf_split_step *step)
{
    const cf_view *t = c->text;
    size_t done = 0;
    for (size_t i = 0; i < t->n;) {
        uint32_t cp;
        size_t n = cf_utf8_decode(&cp, t->p + i, t->n - i);
        if (is_match(step, cp)) {
            if (i > done) {
                CF_TRY(cut(c, done, i, false));
            }
            CF_TRY(cut(c, i, i + n, true));
            done = i + n;
        }
        i += n;
    }
    if (done < t->n) {
        CF_TRY(cut(c, done, t->n, false));
    }
    return flush(c);
}

/* Runs of word characters and runs of signs; white space is dropped. */
static cf_status by_words(cutter *c)
{
    enum { WHITE, WORD, SIGN };
    const cf_view *t = c->text;
    size_t from = 0;
    int last = WHITE;
    for (size_t i = 0; i < t->n;) {
        uint32_t cp;
        size_t n = cf_utf8_decode(&cp, t->p + i, t->n - i);
        int kind = cf_unicode_is_word(cp) ? WORD : cf_unicode_is_white(cp) ? WHITE : SIGN;
        if (kind != last) {
            CF_TRY(last != WHITE ? emit(c, from, i) : CF_OK);
            from = i;
            last = kind;
        }
        i += n;
    }
    return last != WHITE ? emit(c, from, t->n) : CF_OK;
}

/* ---- steps that change the text ------------------------------------------ */

static cf_status metaspace(cf_splitting *s, size_t level, const cf_view *text)
{
    const cf_split_step *step = &s->steps[level];
    cf_rewrite *e = &s->edit[level];
    cf_str mark = step->text;
    bool has_mark =
        text->p[0] == ' ' || (text->n >= mark.n && memcmp(text->p, mark.p, mark.n) == 0);
    bool prepend =
        !has_mark && (step->prepend == CF_PREPEND_ALWAYS ||
                      (step->prepend == CF_PREPEND_FIRST && cf_view_at(text, 0).from == 0));
    cf_rewrite_reset(e);
    e->limit = s->limit;
    if (prepend) {
        cf_rewrite_add(e, mark.p, mark.n, cf_view_at(text, 0));
    }
    for (size_t i = 0; i < text->n;) {
        const char *space = memchr(text->p + i, ' ', text->n - i);
        size_t end = space != NULL ? (size_t)(space - text->p) : text->n;
        cf_rewrite_copy(e, text, i, end);
        if (end < text->n) {
            cf_rewrite_add(e, mark.p, mark.n, cf_view_at(text, end));
        }
        i = end + 1;
    }
    CF_TRY(cf_rewrite_check(e, s->err));
    cf_view made = cf_rewrite_view(e);
    if (step->keep_whole) {
        return run(s, level + 1, &made);
    }
    cutter c = {.s = s, .level = level, .text = &made, .behavior = CF_SPLIT_WITH_NEXT};
    cf_pattern at_mark;
    cf_pattern_init_literal(&at_mark, mark);
    return by_pattern(&c, &at_mark);
}

static cf_status prefix_space(cf_splitting *s, size_t level, const cf_view *text)
{
    cf_rewrite *e = &s->edit[level];
    if (text->p[0] == ' ') {
        return run(s, level + 1, text);
    }
    cf_rewrite_reset(e);
    e->limit = s->limit;
    cf_rewrite_add(e, " ", 1, cf_view_at(text, 0));
    cf_rewrite_copy(e, text, 0, text->n);
    CF_TRY(cf_rewrite_check(e, s->err));
    cf_view made = cf_rewrite_view(e);
    return run(s, level + 1, &made);
}

static cf_status letters(cf_splitting *s, size_t level, const cf_view *text)
{
    cf_rewrite *e = &s->edit[level];
    cf_rewrite_reset(e);
    e->limit = s->limit;
    for (size_t i = 0; i < text->n; i++) {
        char letter[2];
        size_t n = cf_bpe__spell(letter, (unsigned char)text->p[i]);
        cf_rewrite_add(e, letter, n, cf_view_at(text, i));
    }
    CF_TRY(cf_rewrite_check(e, s->err));
    cf_view made = cf_rewrite_view(e);
    return run(s, level + 1, &made);
}

/* Hands `text` to step `level`, or to the caller after the last one. */
static cf_status run(cf_splitting *s, size_t level, const cf_view *text)
{
    if (text->n == 0) {
        return CF_OK;
    }
    if (level == s->n) {
        return s->fn(s->ud, text);
    }
    const cf_split_step *step = &s->steps[level];
    cutter c = {
        .s = s, .level = level, .text = text, .behavior = step->behavior, .invert = step->invert};
    switch (step->kind) {
    case CF_SPLIT_PATTERN:
        return by_pattern(&c, &step->pattern);
    case CF_SPLIT_WORDS:
        return by_words(&c);
    case CF_SPLIT_METASPACE:
        return metaspace(s, level, text);
    case CF_SPLIT_PREFIX_SPACE:
        return prefix_space(s, level, text);
    case CF_SPLIT_LETTERS:
        return letters(s, level, text);
    case CF_SPLIT_WHITE:
    case CF_SPLIT_PUNCT:
    case CF_SPLIT_NUMERIC:
    case CF_SPLIT_CHAR:
        break;
    }
    return by_char(&c, step);
}

cf_status cf_split_text(cf_splitting *s, const cf_view *text)
{
    CF_ASSERT(s->n <= CF_SPLIT_STEPS_MAX);
    if (s->match == NULL && s->n != 0) {
        s->match = cf_pattern_new_match();
        if (s->match == NULL) {
            return cf_oom(s->err);
        }
    }
    return run(s, 0, text);
}

/* ---- scripts ------------------------------------------------------------- */

/* The scripts of Unicode by their short names (PropertyValueAliases.txt), but
 * for Han, Hiragana and Katakana, which count as one. */
static const char script_names[] =
    "Adlm Aghb Ahom Arab Armi Armn Avst Bali Bamu Bass Batk Beng Bhks Bopo "
    "Brah Brai Bugi Buhd Cakm Cans Cari Cham Cher Chrs Copt Cpmn Cprt Cyrl "
    "Deva Diak Dogr Elym Hmnp Kits Nand Ougr Tnsa Toto Vith Wcho Yezi "
    "Dsrt Dupl Egyp Elba Ethi Geor Glag Gong Gonm Goth Gran Grek Gujr Guru "
    "Hang Hano Hatr Hebr Hluw Hmng Hung Ital Java Kali Khar Khmr Khoj Knda "
    "Kthi Lana Laoo Latn Lepc Limb Lina Linb Lisu Lyci Lydi Mahj Maka Mand "
    "Mani Marc Medf Mend Merc Mero Mlym Modi Mong Mroo Mtei Mult Mymr Narb "
    "Nbat Newa Nkoo Nshu Ogam Olck Orkh Orya Osge Osma Palm Pauc Perm Phag "
    "Phli Phlp Phnx Plrd Prti Rjng Rohg Runr Samr Sarb Saur Sgnw Shaw Shrd "
    "Sidd Sind Sinh Sogd Sogo Sora Soyo Sund Sylo Syrc Tagb Takr Tale Talu "
    "Taml Tang Tavt Telu Tfng Tglg Thaa Thai Tibt Tirh Ugar Vaii Wara Xpeo "
    "Xsux Yiii Zanb Zinh Zyyy ";

/* Spaces and characters without a script join the run they are in; those in
 * front of the first run are dropped. */
cf_status cf_split__scripts(cf_pattern *p, cf_error *err)
{
    static const char first[] = "[\\p{sc:Hani}\\p{sc:Hira}\\p{sc:Kana}\\x{30fc}]"
                                "[\\p{sc:Hani}\\p{sc:Hira}\\p{sc:Kana}\\x{30fc} "
                                "\\p{sc:Zzzz}]*";
    cf_buf b = CF_BUF_INIT;
    cf_buf_adds(&b, first);
    for (const char *s = script_names; *s != '\0'; s += 5) {
        cf_buf_addf(&b,
                    "|(?! )\\p{sc:%.4s}"
                    "(?:(?!\\x{30fc})[\\p{sc:%.4s} \\p{sc:Zzzz}])*",
                    s, s);
    }
    /* A script that is not in the list: a run of one character. */
    cf_buf_adds(&b, "|(?! )\\P{sc:Zzzz}");
    cf_status st = cf_buf_check(&b, err);
    CF_THEN(st, cf_pattern_init(p, cf_buf_cstr(&b), err));
    cf_buf_deinit(&b);
    return st;
}
