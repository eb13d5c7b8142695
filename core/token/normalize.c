/*
 * normalize.c - implements the normalisation steps and applies them in order.
 *
 * A step reads a view and writes an edit, or says that nothing changed.  Two
 * edits take turns, so a step never reads what it writes.
 *
 * Each step changes the same characters, and their places in the input, as
 * Hugging Face's tokenizers do (src/normalizers/).
 */
#include "core/token/normalize.h"

#include <string.h>
#include <utf8proc.h>

#include "core/base/alloc.h"
#include "core/base/utf8.h"
#include "core/token/bpe.h"
#include "core/token/unicode.h"

void cf_normalizing_deinit(cf_normalizing *z)
{
    cf_pattern_free_match(z->match);
    cf_rewrite_deinit(&z->edit[0]);
    cf_rewrite_deinit(&z->edit[1]);
    cf_free(z->made);
    memset(z, 0, sizeof *z);
}

typedef struct run {
    cf_normalizing *z;
    const cf_norm_step *step;
    const cf_view *in;
    cf_rewrite *out;
    cf_error *err;
} run;

/* Returns in *changed whether `out` holds a result. */
typedef cf_status (*step_fn)(run *r, bool *changed);

static bool is_ascii(cf_str s)
{
    for (size_t i = 0; i < s.n; i++) {
        if ((unsigned char)s.p[i] >= 0x80) {
            return false;
        }
    }
    return true;
}

/* The character at byte i of the input, its length and what it stands for. */
static size_t char_at(const run *r, size_t i, uint32_t *cp, cf_range *range)
{
    *range = cf_view_at(r->in, i);
    return cf_utf8_decode(cp, r->in->p + i, r->in->n - i);
}

/* ---- steps that rewrite characters in place ------------------------------ */

void cf_norm__add(cf_normalizing *z, uint32_t cp, int32_t change, bool *ok)
{
    if (!*ok || !cf_grow(&z->made, &z->cap_made, z->n_made + 1, sizeof *z->made)) {
        *ok = false;
        return;
    }
    z->made[z->n_made++] = (cf_made_char){cp, change};
}

/* Writes z->made with the places of the characters they replace. */
static void write_made(run *r)
{
    const cf_view *in = r->in;
    size_t at = 0;
    uint32_t start = cf_view_range(in, 0, 0).from;
    for (size_t i = 0; i < r->z->n_made; i++) {
        cf_made_char m = r->z->made[i];
        cf_range range = {start, start};
        uint32_t cp;
        if (m.change > 0 || at >= in->n) {
            range = at > 0 ? cf_view_at(in, at - 1) : range;
        } else {
            range = cf_view_at(in, at);
            for (int32_t k = 0; k >= m.change && at < in->n; k--) {
                at += cf_utf8_decode(&cp, in->p + at, in->n - at);
            }
        }
        cf_rewrite_add_cp(r->out, m.cp, range);
    }
}

static cf_status unicode_form(run *r, bool *changed)
{
    if (is_ascii(cf_view_str(r->in))) {
        return CF_OK;
    }
    r->z->n_made = 0;
    if (!cf_norm__unicode(r->z, r->step->kind, cf_view_str(r->in))) {
        return cf_oom(r->err);
    }
    write_made(r);
    *changed = true;
    return CF_OK;
}

static cf_status charsmap(run *r, bool *changed)
{
    r->z->n_made = 0;
    if (!cf_norm__charsmap(r->z, &r->step->map, cf_view_str(r->in))) {
        return cf_oom(r->err);
    }
    write_made(r);
    *changed = true;
    return CF_OK;
}

/* ---- steps that look at one character ------------------------------------ */

static cf_status lowercase(run *r, bool *changed)
{
    for (size_t i = 0; i < r->in->n;) {
        uint32_t cp;
        cf_range range;
        i += char_at(r, i, &cp, &range);
        uint32_t low = cp < 0x80 ? (cp >= 'A' && cp <= 'Z' ? cp + 32 : cp)
                                 : (uint32_t)utf8proc_tolower((int32_t)cp);
        if (cp == 0x130) { /* the one character with two in lower case */
            cf_rewrite_add_cp(r->out, 'i', range);
            low = 0x307;
        }
        *changed |= low != cp;
        cf_rewrite_add_cp(r->out, low, range);
    }
    return CF_OK;
}

/* Maps a character to itself, to another one, or to nothing. */
enum { DROP = -1 };
typedef int32_t (*char_fn)(uint32_t cp);

static int32_t drop_marks(uint32_t cp)
{
    return cf_unicode_is_mark(cp) ? DROP : (int32_t)cp;
}

static int32_t drop_nonspacing(uint32_t cp)
{
    return cp >= 0x80 && utf8proc_category((int32_t)cp) == UTF8PROC_CATEGORY_MN ? DROP
                                                                                : (int32_t)cp;
}

static int32_t clean(uint32_t cp)
{
    if (cp == '\t' || cp == '\n' || cp == '\r') {
        return ' ';
    }
    if (cp == 0xFFFD || cf_unicode_is_other(cp)) {
        return DROP;
    }
    return cf_unicode_is_white(cp) ? ' ' : (int32_t)cp;
}

static int32_t nmt(uint32_t cp)
{
    if ((cp >= 0x01 && cp <= 0x08) || cp == 0x0B || (cp >= 0x0E && cp <= 0x1F) || cp == 0x7F ||
        cp == 0x8F || cp == 0x9F) {
        return DROP;
    }
    bool space = cp == 0x09 || cp == 0x0A || cp == 0x0C || cp == 0x0D || cp == 0x1680 ||
                 (cp >= 0x200B && cp <= 0x200F) || cp == 0x2028 || cp == 0x2029 || cp == 0x2581 ||
                 cp == 0xFEFF || cp == 0xFFFD;
    return space ? ' ' : (int32_t)cp;
}

static cf_status each_char(run *r, bool *changed)
{
    char_fn fn = r->step->kind == CF_NORM_STRIP_ACCENTS     ? drop_marks
                 : r->step->kind == CF_NORM_DROP_NONSPACING ? drop_nonspacing
                 : r->step->kind == CF_NORM_CLEAN_TEXT      ? clean
                                                            : nmt;
    for (size_t i = 0; i < r->in->n;) {
        uint32_t cp;
        cf_range range;
        i += char_at(r, i, &cp, &range);
        int32_t made = fn(cp);
        *changed |= made != (int32_t)cp;
        if (made != DROP) {
            cf_rewrite_add_cp(r->out, (uint32_t)made, range);
        }
    }
    return CF_OK;
}

/* The ideographs that BERT puts spaces around; its fifth range begins later
 * than Unicode's block, in every copy of the list. */
static bool is_ideograph(uint32_t c)
{
    return (c >= 0x4E00 && c <= 0x9FFF) || (c >= 0x3400 && c <= 0x4DBF) ||
           (c >= 0x20000 && c <= 0x2A6DF) || (c >= 0x2A700 && c <= 0x2B73F) ||
           (c >= 0x2B740 && c <= 0x2B81F) || (c >= 0x2B920 && c <= 0x2CEAF) ||
           (c >= 0xF900 && c <= 0xFAFF) || (c >= 0x2F800 && c <= 0x2FA1F);
}

static cf_status space_cjk(run *r, bool *changed)
{
    for (size_t i = 0; i < r->in->n;) {
        uint32_t cp;
        cf_range range;
        i += char_at(r, i, &cp, &range);
        bool apart = is_ideograph(cp);
        cf_rewrite_add(r->out, " ", apart, range);
        cf_rewrite_add_cp(r->out, cp, range);
        cf_rewrite_add(r->out, " ", apart, range);
        *changed |= apart;
    }
    return CF_OK;
}

static cf_status byte_level(run *r, bool *changed)
{
    for (size_t i = 0; i < r->in->n; i++) {
        char letter[2];
        size_t n = cf_bpe__spell(letter, (unsigned char)r->in->p[i]);
        cf_rewrite_add(r->out, letter, n, cf_view_at(r->in, i));
    }
    *changed = true;
    return CF_OK;
}

/* ---- steps that look at the whole text ----------------------------------- */

static cf_status strip(run *r, bool *changed)
{
    cf_str s = cf_view_str(r->in);
    size_t a = r->step->left ? cf_unicode_skip_white(s, 0) : 0;
    size_t b = r->step->right ? cf_unicode_trim_white(s, s.n) : s.n;
    if (a == 0 && b == s.n) {
        return CF_OK;
    }
    cf_rewrite_copy(r->out, r->in, a, b > a ? b : a);
    *changed = true;
    return CF_OK;
}

static cf_status prepend(run *r, bool *changed)
{
    if (r->in->n == 0) {
        return CF_OK;
    }
    cf_rewrite_add(r->out, r->step->text.p, r->step->text.n, cf_view_at(r->in, 0));
    cf_rewrite_copy(r->out, r->in, 0, r->in->n);
    *changed = true;
    return CF_OK;
}

static cf_status replace(run *r, bool *changed)
{
    const cf_view *in = r->in;
    uint32_t start = cf_view_range(in, 0, 0).from;
    cf_search s = {&r->step->pattern, r->z->match, cf_view_str(in), 0, SIZE_MAX};
    size_t done = 0;
    size_t a, b;
    bool found;
    while (in->n != 0) {
        CF_TRY(cf_search_next(&s, &a, &b, &found, r->err));
        if (!found) {
            break;
        }
        cf_rewrite_copy(r->out, in, done, a);
        cf_rewrite_add(r->out, r->step->text.p, r->step->text.n,
                       b > 0 ? cf_view_at(in, b - 1) : (cf_range){start, start});
        done = b;
        *changed = true;
        CF_TRY(cf_rewrite_check(r->out, r->err));
    }
    if (*changed) {
        cf_rewrite_copy(r->out, in, done, in->n);
    }
    return CF_OK;
}

/* ---- the order ----------------------------------------------------------- */

static const step_fn steps_by_kind[] = {
    [CF_NORM_NFC] = unicode_form,          [CF_NORM_NFD] = unicode_form,
    [CF_NORM_NFKC] = unicode_form,         [CF_NORM_NFKD] = unicode_form,
    [CF_NORM_LOWERCASE] = lowercase,       [CF_NORM_STRIP] = strip,
    [CF_NORM_STRIP_ACCENTS] = each_char,   [CF_NORM_REPLACE] = replace,
    [CF_NORM_PREPEND] = prepend,           [CF_NORM_NMT] = each_char,
    [CF_NORM_CHARSMAP] = charsmap,         [CF_NORM_BYTE_LEVEL] = byte_level,
    [CF_NORM_CLEAN_TEXT] = each_char,      [CF_NORM_SPACE_CJK] = space_cjk,
    [CF_NORM_DROP_NONSPACING] = each_char,
};

cf_status cf_normalize(cf_view *out, cf_normalizing *z, const cf_norm_step *steps, size_t n,
                       const cf_view *text, size_t limit, cf_error *err)
{
    cf_view at = *text;
    if (n != 0 && z->match == NULL) {
        z->match = cf_pattern_new_match();
        if (z->match == NULL) {
            return cf_oom(err);
        }
    }
    unsigned turn = 0;
    for (size_t i = 0; i < n; i++) {
        cf_rewrite *edit = &z->edit[turn];
        bool changed = false;
        cf_rewrite_reset(edit);
        edit->limit = limit;
        run r = {z, &steps[i], &at, edit, err};
        CF_TRY(steps_by_kind[steps[i].kind](&r, &changed));
        CF_TRY(cf_rewrite_check(edit, err));
        if (changed) {
            at = cf_rewrite_view(edit);
            turn = 1 - turn;
        }
    }
    *out = at;
    return CF_OK;
}
