/*
 * added.c - finds added tokens in a text: leftmost, then longest.
 */
#include <string.h>

#include "core/base/utf8.h"
#include "core/token/pipeline.h"
#include "core/token/unicode.h"

/* The longest token that starts at `at`; its end in *to. */
static const cf_added_token *longest(const cf_pipeline *p, const cf_trie *set, cf_str text,
                                     size_t at, size_t *to)
{
    const cf_added_token *best = NULL;
    uint32_t node = CF_TRIE_ROOT;
    for (size_t i = at; i < text.n; i++) {
        node = cf_trie_step(set, node, (unsigned char)text.p[i]);
        if (node == CF_TRIE_NONE) {
            break;
        }
        if (set->node[node].value != CF_TRIE_NONE) {
            best = &p->added[set->node[node].value];
            *to = i + 1;
        }
    }
    return best;
}

static bool stands_alone(cf_str text, size_t from, size_t to)
{
    uint32_t cp;
    if (from > 0) {
        cf_unicode_last(text, from, &cp);
        if (cf_unicode_is_word(cp)) {
            return false;
        }
    }
    if (to == text.n) {
        return true;
    }
    cf_utf8_decode(&cp, text.p + to, text.n - to);
    return !cf_unicode_is_word(cp);
}

/* Whether a control token may be taken from bytes [from, to) of the input;
 * *apart: none of them may be part of one. */
static bool may_take(cf_special_walk *walk, cf_range r, bool *apart)
{
    size_t end = cf_special_walk__end(walk, r.from);
    *apart = end == 0 && (walk->from >= r.to || walk->to <= r.from);
    return end >= r.to && end != 0;
}

cf_added_hit cf_added__next(const cf_pipeline *p, const cf_trie *set, cf_special_walk *walk,
                            const cf_view *text, size_t at, size_t done)
{
    cf_str s = cf_view_str(text);
    while (set->n != 0 && at < s.n) {
        size_t to = at;
        const cf_added_token *t = longest(p, set, s, at, &to);
        if (t == NULL) {
            at++;
            continue;
        }
        bool apart = true;
        if (t->is_special && !may_take(walk, cf_view_range(text, at, to), &apart)) {
            /* As one token's text it hides no other one; where only a part
             * of it is text, the rest may begin another token. */
            at = apart ? to : at + 1;
            continue;
        }
        if (t->single_word && !stands_alone(s, at, to)) {
            at = to;
            continue;
        }
        size_t from = t->lstrip ? cf_unicode_trim_white(s, at) : at;
        return (cf_added_hit){t, from > done || !t->lstrip ? from : done,
                              t->rstrip ? cf_unicode_skip_white(s, to) : to, to};
    }
    return (cf_added_hit){NULL, s.n, s.n, s.n};
}
