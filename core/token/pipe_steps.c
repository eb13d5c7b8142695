/*
 * pipe_steps.c - the steps of tokenizers that files name without listing them:
 * SentencePiece's Unigram and BERT's WordPiece.
 *
 * Sources: sentencepiece, src/normalizer.cc; transformers, BertTokenizer.
 */
#include "core/token/pipeline.h"

static const char MARK[] = "\xE2\x96\x81"; /* U+2581 */

static cf_norm_step *add_norm(cf_pipeline *p, cf_norm_kind kind)
{
    CF_ASSERT(p->n_norm < CF_PIPE_STEPS_MAX);
    p->norm[p->n_norm].kind = kind;
    return &p->norm[p->n_norm++];
}

static void add_split(cf_pipeline *p, cf_split_step step)
{
    CF_ASSERT(p->n_split < CF_PIPE_STEPS_MAX);
    p->split[p->n_split++] = step;
}

static void add_decode(cf_pipeline *p, cf_decode_step step)
{
    CF_ASSERT(p->n_decode < CF_PIPE_STEPS_MAX);
    p->decode[p->n_decode++] = step;
}

/* The longest that Unicode's own compatibility forms need is 33 bytes. */
enum { REPLACEMENT_MAX = 64 };

/* A long replacement would make any amount of text of a short one. */
static cf_status check_replacements(const char *text, size_t n, cf_error *err)
{
    for (size_t i = 0, len = 0; i < n; i++) {
        len = text[i] != '\0' ? len + 1 : 0;
        if (len > REPLACEMENT_MAX) {
            return cf_fail(err, CF_ELIMIT,
                           "the map of characters has a replacement of more than %d bytes",
                           REPLACEMENT_MAX);
        }
    }
    return CF_OK;
}

cf_status cf_pipeline_charsmap(cf_pipeline *p, cf_str bytes, cf_charsmap *out, cf_error *err)
{
    const unsigned char *b = (const unsigned char *)bytes.p;
    size_t n = bytes.n >= 4
                   ? (size_t)b[0] | (size_t)b[1] << 8 | (size_t)b[2] << 16 | (size_t)b[3] << 24
                   : SIZE_MAX;
    if (bytes.n != 0 && (bytes.n < 4 || n > bytes.n - 4)) {
        return cf_fail(err, CF_EFORMAT, "the map of characters is cut off after %zu bytes",
                       bytes.n);
    }
    if (bytes.n == 0) {
        *out = (cf_charsmap){0};
        return CF_OK;
    }
    CF_TRY(check_replacements(bytes.p + 4 + n, bytes.n - 4 - n, err));
    char *copy = cf_arena_strndup(&p->arena, bytes.p, bytes.n);
    if (copy == NULL) {
        return cf_oom(err);
    }
    *out = (cf_charsmap){.unit = (const unsigned char *)copy + 4,
                         .n_unit = n / 4,
                         .text = copy + 4 + n,
                         .n_text = bytes.n - 4 - n};
    return CF_OK;
}

cf_status cf_pipeline_unigram(cf_pipeline *p, cf_str charsmap, bool joins_spaces, bool prefix,
                              cf_error *err)
{
    if (charsmap.n != 0) {
        CF_TRY(cf_pipeline_charsmap(p, charsmap, &add_norm(p, CF_NORM_CHARSMAP)->map, err));
    }
    if (joins_spaces) {
        cf_norm_step *strip = add_norm(p, CF_NORM_STRIP);
        strip->left = strip->right = true;
        cf_norm_step *join = add_norm(p, CF_NORM_REPLACE);
        join->text = cf_str_from(" ");
        CF_TRY(cf_pattern_init(&join->pattern, " {2,}", err));
    }
    add_split(p, (cf_split_step){.kind = CF_SPLIT_METASPACE,
                                 .behavior = CF_SPLIT_WITH_NEXT,
                                 .text = cf_str_from(MARK),
                                 .prepend = prefix ? CF_PREPEND_ALWAYS : CF_PREPEND_NEVER});
    add_decode(p, (cf_decode_step){.kind = CF_DECODE_BYTE_FALLBACK});
    add_decode(p, (cf_decode_step){.kind = CF_DECODE_METASPACE,
                                   .text = cf_str_from(MARK),
                                   .keep_first = !prefix});
    return CF_OK;
}

void cf_pipeline_wordpiece(cf_pipeline *p, bool lowercase, bool strip_accents)
{
    add_norm(p, CF_NORM_CLEAN_TEXT);
    add_norm(p, CF_NORM_SPACE_CJK);
    if (strip_accents) {
        add_norm(p, CF_NORM_NFD);
        add_norm(p, CF_NORM_DROP_NONSPACING);
    }
    if (lowercase) {
        add_norm(p, CF_NORM_LOWERCASE);
    }
    add_split(p, (cf_split_step){.kind = CF_SPLIT_WHITE, .behavior = CF_SPLIT_REMOVED});
    add_split(p, (cf_split_step){.kind = CF_SPLIT_PUNCT, .behavior = CF_SPLIT_ISOLATED});
    add_decode(p, (cf_decode_step){.kind = CF_DECODE_METASPACE, .text = cf_str_from(MARK)});
    p->model.kind = CF_SUBWORD_WORDPIECE;
    p->model.head = cf_str_from(MARK);
    p->model.max_chars = 100; /* as BERT's own */
}
