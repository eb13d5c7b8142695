/*
 * rules_media.c - E015 E016 W010: what a template writes for a picture or a
 * sound in a message.
 *
 * Two conversations that differ only in the part: the bytes that one prompt
 * has in addition are what the template wrote for it.  Which marker a model
 * reads is known from its projector, or else from the control tokens of its
 * vocabulary; without either, a template that names such parts in its source
 * is taken to be for a model that reads them.
 */
#include <string.h>

#include "templates/lint/lint_impl.h"

enum { MARKERS_MAX = 12 };

/* A kind of part. */
typedef struct medium {
    const char *noun;                 /* "image" */
    const char *between;              /* letters: a user's text, a reply, then text, part, text */
    const char *without;              /* `between` without the part */
    const char *spelled[4];           /* in the source of a template that knows it */
    const char *markers[MARKERS_MAX]; /* of public models */
} medium;

static const medium media[] = {
    {"image",
     "uaI",
     "uaP",
     {"'image'", "\"image\"", "image_url", NULL},
     {"<|image_pad|>", "<start_of_image>", "<|image|>", "<image>", "[IMG]", "<image_soft_token>",
      "<image_placeholder>", "<|image_1|>", "<|IMAGE|>", NULL}},
    {"audio",
     "uaA",
     "uaP",
     {"'audio'", "\"audio\"", "audio_url", NULL},
     {"<|audio|>", "<|AUDIO|>", "<|audio_pad|>", "[AUDIO]", "<audio>", "<audio_soft_token>",
      "<|audio_1|>", NULL}},
};

enum { N_MEDIA = sizeof media / sizeof media[0] };

/* The markers that the model reads, of those that are known. */
static size_t find_markers(const cf_linter *l, size_t kind, const char *out[MARKERS_MAX])
{
    size_t n = 0;
    const char *const *own = l->markers[kind];
    for (; own != NULL && *own != NULL && n < MARKERS_MAX; own++) {
        out[n++] = *own;
    }
    for (const char *const *m = media[kind].markers;
         own == NULL && l->tokenizer != NULL && *m != NULL; m++) {
        cf_token id = cf_tokenizer_find(l->tokenizer, cf_str_from(*m));
        cf_token_type type =
            id != CF_TOKEN_NONE ? cf_tokenizer_type(l->tokenizer, id) : CF_TOKEN_NORMAL;
        if (type == CF_TOKEN_CONTROL || type == CF_TOKEN_USER_DEFINED) {
            out[n++] = *m;
        }
    }
    return n;
}

/* The first place of a word from `from` on; SIZE_MAX: none. */
static size_t place(cf_str text, size_t from, const char *word)
{
    size_t n = strlen(word);
    for (size_t i = from; i + n <= text.n; i++) {
        if (memcmp(text.p + i, word, n) == 0) {
            return i;
        }
    }
    return SIZE_MAX;
}

static bool has(cf_str text, const char *word)
{
    return place(text, 0, word) != SIZE_MAX;
}

static bool is_in_source(const cf_linter *l, const medium *m)
{
    for (const char *const *s = m->spelled; *s != NULL; s++) {
        if (has(l->source, *s)) {
            return true;
        }
    }
    return false;
}

/* Bytes of `with` that `without` does not have: one stretch. */
static cf_str added(const cf_shot *with, const cf_shot *without)
{
    cf_str a = with->render.prompt.text, b = without->render.prompt.text;
    size_t head = cf_lint__diverge(a, b), tail = 0;
    size_t most = (a.n < b.n ? a.n : b.n) - head;
    while (tail < most && a.p[a.n - 1 - tail] == b.p[b.n - 1 - tail]) {
        tail++;
    }
    return cf_str_make(a.p + head, a.n - tail - head);
}

/* Where the part was written: its marker, or else the one stretch that the
 * other prompt does not have; SIZE_MAX: a template that also writes something
 * else differently, and the marker is not known. */
static size_t written_at(const cf_linter *l, size_t kind, const cf_shot *with,
                         const cf_shot *without)
{
    cf_str a = with->render.prompt.text, b = without->render.prompt.text;
    const char *const *lists[] = {l->markers[kind], media[kind].markers};
    for (size_t k = 0; k < 2; k++) {
        for (const char *const *m = lists[k]; m != NULL && *m != NULL; m++) {
            size_t at = place(a, 0, *m);
            if (at != SIZE_MAX && !has(b, *m)) {
                return at;
            }
        }
    }
    cf_str text = added(with, without);
    return text.n > 0 && a.n - text.n == b.n ? (size_t)(text.p - a.p) : SIZE_MAX;
}

/* Both renders of a kind; false: the template refuses parts like these. */
static cf_status shoot(cf_linter *l, const medium *m, cf_shot *with, cf_shot *without, bool *ok,
                       cf_error *err)
{
    *without = (cf_shot){0};
    CF_TRY(cf_probe(&l->prober, m->between, CF_PROBE_GENERATE, with, err));
    cf_status st = cf_probe(&l->prober, m->without, CF_PROBE_GENERATE, without, err);
    *ok = st == CF_OK && with->status == CF_OK && without->status == CF_OK &&
          cf_shot_find(without, CF_PROBE_USER3) != SIZE_MAX;
    return st;
}

typedef cf_status (*media_check)(cf_linter *l, size_t kind, const cf_shot *with,
                                 const cf_shot *without, cf_error *err);

static cf_status each(cf_linter *l, media_check check, cf_error *err)
{
    cf_status st = CF_OK;
    for (size_t i = 0; st == CF_OK && i < N_MEDIA; i++) {
        const char *markers[MARKERS_MAX];
        cf_shot with = {0}, without = {0};
        bool ok = false;
        if (find_markers(l, i, markers) == 0 && !is_in_source(l, &media[i])) {
            continue; /* a model of text */
        }
        st = shoot(l, &media[i], &with, &without, &ok, err);
        if (st == CF_OK && ok) {
            st = check(l, i, &with, &without, err);
        }
        cf_shot_free(&l->prober, &with);
        cf_shot_free(&l->prober, &without);
    }
    return st;
}

/* ---- E015 --------------------------------------------------------------- */

static cf_status dropped(cf_linter *l, size_t kind, const cf_shot *with, const cf_shot *without,
                         cf_error *err)
{
    return added(with, without).n == 0
               ? cf_lint__add(l, with, SIZE_MAX, err,
                              "parts of type %s are dropped: the prompt is the "
                              "same without them",
                              media[kind].noun)
               : CF_OK;
}

cf_status cf_lint__media_dropped(cf_linter *l, cf_error *err)
{
    return each(l, dropped, err);
}

/* ---- E016 --------------------------------------------------------------- */

static cf_status wrong_marker(cf_linter *l, size_t kind, const cf_shot *with,
                              const cf_shot *without, cf_error *err)
{
    const char *markers[MARKERS_MAX];
    size_t n = find_markers(l, kind, markers);
    cf_str text = added(with, without);
    for (size_t i = 0; i < n; i++) {
        /* A marker may begin with the same bytes as the text that follows. */
        size_t len = strlen(markers[i]);
        cf_str all = with->render.prompt.text;
        size_t from = (size_t)(text.p - all.p);
        from = from > len ? from - len : 0;
        size_t to = (size_t)(text.p - all.p) + text.n + len;
        to = to < all.n ? to : all.n;
        if (has(cf_str_make(all.p + from, to - from), markers[i])) {
            return CF_OK;
        }
    }
    if (n == 0 || text.n == 0) {
        return CF_OK;
    }
    size_t at = (size_t)(text.p - with->render.prompt.text.p);
    return cf_lint__add(l, with, at, err,
                        "for a part of type %s the template writes '%.*s', and "
                        "the model reads %s",
                        media[kind].noun, (int)(text.n < 60 ? text.n : 60), text.p, markers[0]);
}

cf_status cf_lint__media_marker(cf_linter *l, cf_error *err)
{
    return each(l, wrong_marker, err);
}

/* ---- W010 --------------------------------------------------------------- */

/* The conversation is text, reply, then text, the part, text. */
static cf_status wrong_place(cf_linter *l, size_t kind, const cf_shot *with, const cf_shot *without,
                             cf_error *err)
{
    size_t at = written_at(l, kind, with, without);
    if (at == SIZE_MAX) {
        return CF_OK;
    }
    size_t reply = cf_shot_find(with, CF_PROBE_ASSISTANT);
    size_t before = cf_shot_find(with, CF_PROBE_USER2);
    size_t after = cf_shot_find(with, CF_PROBE_USER3);
    const char *noun = media[kind].noun;
    if (after == SIZE_MAX || before == SIZE_MAX) {
        return cf_lint__add(l, with, at, err,
                            "text in one message with a part of type %s is "
                            "lost",
                            noun);
    }
    if (reply != SIZE_MAX && at < reply) {
        return cf_lint__add(l, with, at, err,
                            "the %s is written before the reply that it comes "
                            "after, outside its message",
                            noun);
    }
    if (at < before || at >= after + strlen(CF_PROBE_USER3)) {
        return cf_lint__add(l, with, at, err,
                            "the %s is written %s all text of its message, wherever it is", noun,
                            at < before ? "before" : "after");
    }
    return CF_OK;
}

cf_status cf_lint__media_place(cf_linter *l, cf_error *err)
{
    return each(l, wrong_place, err);
}
