/*
 * pretoken.c - holds the pretokenizer patterns by name, and cuts text with
 * them.
 *
 * The patterns are those of the models' own tokenizer files, of superbpe, jais-2
 * and spark2_5 those of llama.cpp, restated in docs/models/tokenizers.md.  Two
 * things are written differently here, with
 * the same meaning: \s is spelled out as Unicode's White_Space, because
 * PCRE2's also has U+180E, and "\s+$" may start only after a character
 * other than white space, because it would otherwise be tried at each of a
 * million spaces.
 *
 * All patterns take linear time on any input: a repeated class is followed by
 * something that the class either includes or excludes.
 */
#include "core/token/pretoken.h"

#include <string.h>

#define WS    CF_WHITE
#define S     "[" WS "]"
#define NOT_S "[^" WS "]"

/* English contractions, in lower case or in any. */
#define SUFFIX     "'s|'t|'re|'ve|'m|'ll|'d"
#define SUFFIX_ANY "(?i:" SUFFIX ")"

/* White space: up to the last but one before a word, else all of it. */
#define TAIL  S "+(?!" NOT_S ")|" S "+"
#define LINES S "*[\\r\\n]+|"

#define GPT2 SUFFIX "| ?\\p{L}+| ?\\p{N}+| ?[^" WS "\\p{L}\\p{N}]+|" TAIL

/* A word with the one sign before it; numbers as `number` says; signs with
* the line ends after them. */
#define WORD           "[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|"
#define SIGNS          " ?[^" WS "\\p{L}\\p{N}]+[\\r\\n]*|"
#define CL100K(number) SUFFIX_ANY "|" WORD number "|" SIGNS LINES TAIL

/* Words split where lower case is followed by upper case. */
#define UPPER "[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]"
#define LOWER "[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]"
#define CASED(suffix)                                       \
    "[^\\r\\n\\p{L}\\p{N}]?" UPPER "*" LOWER "+" suffix "|" \
    "[^\\r\\n\\p{L}\\p{N}]?" UPPER "+" LOWER "*" suffix "|"
#define O200K(suffix, number) CASED(suffix) number "| ?[^" WS "\\p{L}\\p{N}]+[\\r\\n/]*|" LINES TAIL

#define HAN_KANA   "[\\x{4e00}-\\x{9fa5}\\x{3040}-\\x{309f}\\x{30a0}-\\x{30ff}]+"
#define HAN_MORE   "[\\x{800}-\\x{9fa5}\\x{ac00}-\\x{d7ff}]+"
#define ASCII_SIGN "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~]"

/* The cased letters that DeepSeek LLM's tokenizer lists. */
#define DEEPSEEK_LETTERS                                                 \
    "\\x{41}-\\x{5a}\\x{61}-\\x{7a}\\x{b5}\\x{c0}-\\x{d6}"               \
    "\\x{d8}-\\x{f6}\\x{f8}-\\x{1ba}\\x{1bc}-\\x{1bf}\\x{1c4}-\\x{293}"  \
    "\\x{295}-\\x{2af}\\x{370}-\\x{373}\\x{376}\\x{377}"                 \
    "\\x{37b}-\\x{37d}\\x{37f}\\x{386}\\x{388}-\\x{38a}\\x{38c}"         \
    "\\x{38e}-\\x{3a1}\\x{3a3}-\\x{3f5}\\x{3f7}-\\x{481}"                \
    "\\x{48a}-\\x{52f}\\x{531}-\\x{556}\\x{10a0}-\\x{10c5}"              \
    "\\x{13a0}-\\x{13f5}\\x{13f8}-\\x{13fd}\\x{1c90}-\\x{1cba}"          \
    "\\x{1cbd}-\\x{1cbf}\\x{1d00}-\\x{1d2b}\\x{1d6b}-\\x{1d77}"          \
    "\\x{1d79}-\\x{1d9a}\\x{1e00}-\\x{1f15}\\x{1f18}-\\x{1f1d}"          \
    "\\x{1f20}-\\x{1f45}\\x{1f48}-\\x{1f4d}\\x{1f50}-\\x{1f57}\\x{1f59}" \
    "\\x{1f5b}\\x{1f5d}\\x{1f5f}-\\x{1f7d}\\x{1f80}-\\x{1fb4}"           \
    "\\x{1fb6}-\\x{1fbc}\\x{1fbe}\\x{1fc2}-\\x{1fc4}\\x{1fc6}-\\x{1fcc}" \
    "\\x{1fd0}-\\x{1fd3}\\x{1fd6}-\\x{1fdb}\\x{1fe0}-\\x{1fec}"          \
    "\\x{1ff2}-\\x{1ff4}\\x{1ff6}-\\x{1ffc}\\x{2102}\\x{2107}"           \
    "\\x{210a}-\\x{2113}\\x{2115}\\x{2119}-\\x{211d}\\x{2124}\\x{2126}"  \
    "\\x{2128}\\x{212a}-\\x{212d}\\x{212f}-\\x{2134}\\x{2139}"           \
    "\\x{213c}-\\x{213f}\\x{2145}-\\x{2149}\\x{214e}\\x{2183}\\x{2184}"  \
    "\\x{2c00}-\\x{2c7b}\\x{2c7e}-\\x{2ce4}\\x{2ceb}-\\x{2cee}\\x{2cf2}" \
    "\\x{2cf3}\\x{a640}-\\x{a66d}\\x{a680}-\\x{a69b}\\x{a722}-\\x{a76f}" \
    "\\x{a771}-\\x{a787}\\x{a78b}-\\x{a78e}\\x{ab70}-\\x{abbf}"          \
    "\\x{fb00}-\\x{fb06}\\x{fb13}-\\x{fb17}\\x{ff21}-\\x{ff3a}"          \
    "\\x{ff41}-\\x{ff5a}\\x{10400}-\\x{1044f}\\x{104b0}-\\x{104d3}"      \
    "\\x{104d8}-\\x{104fb}\\x{10c80}-\\x{10cb2}\\x{10cc0}-\\x{10cf2}"    \
    "\\x{118a0}-\\x{118df}\\x{1e900}-\\x{1e943}"
#define DEEPSEEK_SIGNS                             \
    "!-/:-~\\x{ff01}-\\x{ff0f}\\x{ff1a}-\\x{ff5e}" \
    "\\x{2018}-\\x{201f}\\x{3000}-\\x{3002}"

/* Everything but white space and sentence signs (Latin, Chinese, Hindi, Urdu,
 * Arabic); the bracket and bar are part of the list, too. */
#define BLOOM                                              \
    " ?[^(" WS "|.,!?\\x{2026}\\x{3002}\\x{ff0c}\\x{3001}" \
    "\\x{964}\\x{6d4}\\x{60c})]+"

/* Letters and marks without Han, which is a class of PCRE2 as what it leaves
 * out: other categories, the case that does not belong, and Han. */
#define NOT_LETTER   "\\p{C}\\p{Z}\\p{N}\\p{P}\\p{S}"
#define UPPER_NO_HAN "[^" NOT_LETTER "\\p{Ll}\\p{sc:Han}]"
#define LOWER_NO_HAN "[^" NOT_LETTER "\\p{Lu}\\p{Lt}\\p{sc:Han}]"

/* Digits in threes from the right.  The models' own expressions look ahead over
 * the rest of a run at each digit; here a run is cut out first, then its head of
 * one or two digits, then threes.  Where a run counts only at the end of a word,
 * the last pattern must leave other pieces with digits alone: it begins in a
 * piece that is digits throughout, and goes on where it left off. */
#define HEAD_OF_DIGITS   "\\A\\p{Nd}{1,2}(?=(?:\\p{Nd}{3})++\\z)"
#define DIGITS_OF_WORD   "(?<!\\p{Nd})\\p{Nd}++(?![\\p{L}\\p{M}\\p{N}\\p{Pc}])"
#define THREES_OF_DIGITS "\\A\\p{Nd}{3}(?=\\p{Nd}*+\\z)|(?<=\\p{Nd})\\G\\p{Nd}{3}"

/* The same where only the begins of threes are cuts, so that a number's other
 * signs (fractions, say) stay with the digits before them: threes, then all up
 * to the next three. */
#define THREES "(?:\\p{Nd}{3})++(?!\\p{Nd})"
#define TAIL_OF_NUMBER                                       \
    "(?:(?<!\\p{Nd})\\p{Nd}{0,2}\\K|\\G(?<=\\p{Nd}))" THREES \
    "(?:\\P{Nd}++\\p{Nd}{1,2}(?!\\p{Nd}))*+\\P{Nd}*+(?:\\p{Nd}{1,2}(?=" THREES "))?"

/* Runs of the scripts that are written without spaces, and Hangul. */
#define UNSPACED                                                        \
    "[\\x{4e00}-\\x{9fff}\\x{3040}-\\x{30ff}\\x{3400}-\\x{4dbf}"        \
    "\\x{f900}-\\x{faff}\\x{ff65}-\\x{ff9f}\\x{2f00}-\\x{2fdf}]+|"      \
    "[\\x{e00}-\\x{e7f}]+|[\\x{e80}-\\x{eff}]+|[\\x{1780}-\\x{17ff}]+|" \
    "[\\x{1000}-\\x{109f}\\x{aa60}-\\x{aa7f}\\x{a9e0}-\\x{a9ff}]+|"     \
    "[\\x{ac00}-\\x{d7af}\\x{1100}-\\x{11ff}]+"

/* A sign with the ASCII letters after it, words, signs as `ends` says. */
#define SIGNED_WORDS(ends)                                              \
    ASCII_SIGN "[A-Za-z]+|[^\\r\\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+|" \
               " ?[\\p{P}\\p{S}]+" ends TAIL

/* White space up to the last but one character, a power of two at a time. */
#define AT_ONCE(n) S "{" n "}(?!" NOT_S ")|"
/* clang-format off */
#define SPACES_BY_POWERS \
    AT_ONCE("512") AT_ONCE("256") AT_ONCE("128") AT_ONCE("64") AT_ONCE("32") \
    AT_ONCE("16") AT_ONCE("8") AT_ONCE("4") AT_ONCE("1,2") S
/* clang-format on */

typedef struct pattern_set {
    const char *names; /* each with a blank before and after it */
    bool ignore_merges;
    const char *pattern[CF_PRETOKEN_PATTERNS];
} pattern_set;

static const pattern_set sets[] = {
    {" gpt-2 phi-2 jina-es jina-de jina-v2-es jina-v2-de gigachat a.x-4.0 "
     "mellum modern-bert mpt olmo jais trillion granite-docling exaone4 "
     "roberta-bpe jina-v1-en jina-v2-code ",
     false,
     {GPT2}},
    {" starcoder refact command-r smollm codeshell exaone minerva-7b mellum2 ",
     false,
     {"\\p{N}", GPT2}},
    {" falcon ", false, {"[\\p{P}$+<=>^~|`]+", GPT2, "[0-9][0-9][0-9]"}},
    {" default ", false, {"[\\p{P}$+<=>^~|]+", GPT2, "\\p{N}+", "[0-9][0-9][0-9]"}},
    {" llama-bpe llama3 llama-v3 falcon3 falcon-h1 pixtral midm-2.0 lfm2 jina-v5-nano ",
     true,
     {CL100K("\\p{N}{1,3}")}},
    {" dbrx smaug-bpe glm4 chatglm-bpe ", false, {CL100K("\\p{N}{1,3}")}},
    {" qwen2 deepseek-r1-qwen kormo f2llmv2 megrez stablelm2 hunyuan "
     "solar-open grok-2 ",
     false,
     {CL100K("\\p{N}")}},
    {" laguna ", false, {"[^\\n]+|\\n+", CL100K("\\p{N}")}},
    {" minicpm5 ", true, {"\\p{N}{1,3}", CL100K("\\p{N}+")}},
    {" ufakzeka ", false, {WORD "\\p{N}|" SIGNS LINES TAIL}},
    {" seed-coder ", false, {SUFFIX_ANY "|" WORD "\\p{N}| ?[^" WS "\\p{L}\\p{N}]+|" LINES TAIL}},
    {" bailingmoe bailingmoe2 llada-moe ",
     false,
     {"'(?i:[sdmt]|ll|ve|re)|" WORD "\\p{N}|" SIGNS S "*[\\r\\n]|" TAIL}},
    {" qwen35 ",
     false,
     {SUFFIX_ANY "|[^\\r\\n\\p{L}\\p{N}]?[\\p{L}\\p{M}]+|\\p{N}|"
                 " ?[^" WS "\\p{L}\\p{M}\\p{N}]+[\\r\\n]*|" LINES TAIL}},
    {" gpt-4o llama4 kanana2 talkie minimax-m2 ", false, {O200K(SUFFIX_ANY "?", "\\p{N}{1,3}")}},
    {" granite-embed-multi-97m ", true, {O200K(SUFFIX_ANY "?", "\\p{N}{1,3}")}},
    {" tiny_aya cohere2moe ",
     false,
     {DIGITS_OF_WORD, HEAD_OF_DIGITS, THREES_OF_DIGITS, O200K(SUFFIX_ANY "?", "\\p{N}{1,3}")}},
    {" kimi-k2 ",
     false,
     {"\\p{sc:Han}+|[^\\r\\n\\p{L}\\p{N}]?" UPPER_NO_HAN "*" LOWER_NO_HAN "+" SUFFIX_ANY "?|"
      "[^\\r\\n\\p{L}\\p{N}]?" UPPER_NO_HAN "+" LOWER_NO_HAN "*" SUFFIX_ANY "?|"
      "\\p{N}{1,3}|" SIGNS LINES TAIL}},
    {" jais-2 ", false, {SUFFIX_ANY "|" WORD "\\p{N}{1,3}|" SIGNS LINES SPACES_BY_POWERS}},
    {" exaone-moe ",
     false,
     {SUFFIX_ANY "|[^\\r\\n\\p{L}\\p{N}]?\\p{L}[\\p{L}\\p{M}]*+(?: \\p{L}[\\p{L}\\p{M}]*+)*+|"
                 "\\p{N}| ?[^" WS "\\p{L}\\p{N}]+[\\r\\n/]?|" S "*[\\r\\n]|" TAIL}},
    {" superbpe ", false, {"\\p{N}+", TAIL_OF_NUMBER, "\\p{Nd}{3}(?=\\p{Nd}{3})"}},
    {" afmoe ",
     false,
     {"\\p{Nd}++", HEAD_OF_DIGITS, "\\p{Nd}{3}", UNSPACED, SIGNED_WORDS("[\\r\\n]*|" LINES)}},
    {" spark2_5 ", false, {"\\p{N}{1,3}", HAN_KANA, SIGNED_WORDS("|[\\r\\n]|"), "\\p{N}"}},
    {" chameleon ",
     false,
     {"<sentinel:[0-9]+>", "IMGIMG[A-I]{1,4}Z", "[\\t\\n]|    |  ", "\\p{N}",
      "[\\p{P}!-/:-@\\[-`{-~]", GPT2}},
    {" tekken ", true, {O200K("", "\\p{N}")}},
    {" youtu ",
     true,
     {"[\\x{ac00}-\\x{d7a3}\\x{3131}-\\x{318e}]+|"
      "[\\x{ff01}\\x{2026}\\x{201c}\\x{201d}\\x{2018}\\x{2019}\\x{2014}"
      "\\x{ff1a}\\x{ff1b}\\x{ff0c}\\x{3001}-\\x{303f}\\x{fe30}-\\x{fe4f}]+|"
      "[\\x{3105}-\\x{312f}]+|" HAN_KANA,
      O200K(SUFFIX_ANY "?", "\\p{N}")}},
    {" deepseek-v3 hunyuan-dense joyai-llm hy_v4 ",
     false,
     {"\\p{N}{1,3}", HAN_KANA, SIGNED_WORDS("[\\r\\n]*|" LINES)}},
    {" deepseek-coder ", false, {"[\\r\\n]", S "?\\p{L}+", S "?\\p{P}+", HAN_MORE, "\\p{N}"}},
    {" deepseek-llm ",
     false,
     {"[\\r\\n]", S "?[" DEEPSEEK_LETTERS "]+", S "?[" DEEPSEEK_SIGNS "]+", "(?<!" S ")" S "++\\z",
      HAN_MORE, "\\p{N}+"}},
    {" bloom poro-chat gpt3-finnish ", false, {BLOOM}},
    {" viking ", false, {BLOOM, "\\p{N}"}},
};

static const pattern_set *find_set(cf_str name)
{
    char padded[64];
    if (name.n == 0 || name.n > sizeof padded - 3 || memchr(name.p, ' ', name.n) != NULL ||
        memchr(name.p, '\0', name.n) != NULL) {
        return NULL;
    }
    padded[0] = ' ';
    memcpy(padded + 1, name.p, name.n);
    memcpy(padded + 1 + name.n, " ", 2);
    for (size_t i = 0; i < sizeof sets / sizeof sets[0]; i++) {
        if (strstr(sets[i].names, padded) != NULL) {
            return &sets[i];
        }
    }
    return NULL;
}

cf_status cf_pretoken__init(cf_pretoken *p, cf_str name, cf_error *err)
{
    memset(p, 0, sizeof *p);
    const pattern_set *set = find_set(name);
    if (set == NULL) {
        return cf_fail(err, CF_EUNSUPPORTED, "pre-tokenizer '%.*s' is not supported",
                       name.n > 60 ? 60 : (int)name.n, name.p != NULL ? name.p : "");
    }
    p->ignore_merges = set->ignore_merges;
    while (p->n < CF_PRETOKEN_PATTERNS && set->pattern[p->n] != NULL) {
        cf_status st = cf_pattern_init(&p->pattern[p->n], set->pattern[p->n], err);
        if (st != CF_OK) {
            cf_pretoken__deinit(p);
            return st;
        }
        p->n++;
    }
    return CF_OK;
}

void cf_pretoken__deinit(cf_pretoken *p)
{
    for (size_t i = 0; i < p->n; i++) {
        cf_pattern_deinit(&p->pattern[i]);
    }
    memset(p, 0, sizeof *p);
}

typedef struct cut {
    const cf_pretoken *p;
    void *match;
    const char *text;
    cf_pretoken_fn fn;
    void *ud;
    cf_error *err;
} cut;

/* Finds the next match of pattern `level` in text[from..to), looking from
 * `at` on; *a = *b = to when there is none. */
static cf_status find(const cut *c, size_t level, size_t from, size_t to, size_t at, size_t *a,
                      size_t *b)
{
    cf_str piece = {c->text + from, to - from};
    bool found;
    *a = *b = to;
    size_t first, last;
    CF_TRY(cf_pattern_find(&c->p->pattern[level], c->match, piece, at - from, &first, &last, &found,
                           c->err));
    if (found && last > first) {
        *a = from + first;
        *b = from + last;
    }
    return CF_OK;
}

/* Cuts text[from..to) by the patterns from `level` on. */
static cf_status cut_level(const cut *c, size_t level, size_t from, size_t to)
{
    if (from == to) {
        return CF_OK;
    }
    if (level == c->p->n) {
        return c->fn(c->ud, from, to);
    }
    for (size_t at = from; at < to;) {
        size_t a, b;
        CF_TRY(find(c, level, from, to, at, &a, &b));
        CF_TRY(cut_level(c, level + 1, at, a));
        CF_TRY(cut_level(c, level + 1, a, b));
        at = b;
    }
    return CF_OK;
}

cf_status cf_pretoken__split(const cf_pretoken *p, void *match, cf_str text, cf_pretoken_fn fn,
                             void *ud, cf_error *err)
{
    cut c = {p, match, text.p, fn, ud, err};
    return cut_level(&c, 0, 0, text.n);
}
