/*
 * shrink.c - levels, and which of a level's units can go.
 *
 * Always true:
 *   1. The predicate holds for context and source; both change together.
 *   2. An answer that is known is never asked for again.
 */
#include "tui/study/shrink/shrink.h"

#include <string.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/os.h"
#include "core/base/os_append.h"
#include "tui/study/shrink/tree_cut.h"

enum { ROUNDS = 4, LOG_MAX = 64 << 20 };

cf_status cf_shrink_init(cf_shrink *s, cf_asker *asker, const json_t *context, cf_str source,
                         cf_error *err)
{
    *s = (cf_shrink){.asker = asker, .context = json_incref(cf_json_ref(context))};
    cf_buf_add(&s->source, source.p, source.n);
    return cf_buf_check(&s->source, err);
}

void cf_shrink_deinit(cf_shrink *s)
{
    json_decref(s->context);
    cf_buf_deinit(&s->source);
    cf_buf_deinit(&s->whole);
    cf_free(s->answer);
    if (s->log != NULL) {
        (void)fclose(s->log); /* each line was flushed */
    }
    *s = (cf_shrink){.asker = NULL};
}

/* ---- answers ------------------------------------------------------------ */

static cf_status key_of(const cf_shrink *s, const json_t *context, cf_str source,
                        char key[CF_HASH_TEXT + 1], cf_error *err)
{
    cf_buf b = CF_BUF_INIT;
    const cf_asker *a = s->asker;
    cf_predicate_put_identity(a->predicate, &b);
    cf_buf_addf(&b, "%c%s%c%d %u %u %u %s%c", 0, s->model, 0, a->as_is, a->max_tokens, a->repeat,
                a->at_least, cf_tool_family_name(a->engine->family), 0);
    cf_buf_add(&b, cf_buf_cstr(&a->only), a->only.n);
    cf_buf_addc(&b, '\0');
    cf_buf_add(&b, source.p, source.n);
    cf_buf_addc(&b, '\0');
    cf_json_write(&b, context);
    cf_status st = cf_buf_check(&b, err);
    cf_hash_hex(key, cf_buf_cstr(&b), b.n);
    cf_buf_deinit(&b);
    return st;
}

static const cf_shrink_answer *find_answer(const cf_shrink *s, const char *key)
{
    for (size_t i = s->n_answer; i-- > 0;) {
        if (strcmp(s->answer[i].key, key) == 0) {
            return &s->answer[i];
        }
    }
    return NULL;
}

static cf_status add_answer(cf_shrink *s, const char *key, bool holds, cf_error *err)
{
    if (!cf_grow(&s->answer, &s->cap_answer, s->n_answer + 1, sizeof *s->answer)) {
        return cf_oom_for(err, "the answers");
    }
    cf_shrink_answer *a = &s->answer[s->n_answer++];
    memcpy(a->key, key, CF_HASH_TEXT);
    a->key[CF_HASH_TEXT] = '\0';
    a->holds = holds;
    return CF_OK;
}

/* A line: 64 hex digits, a space, 0 or 1, and where a question is asked several
 * times how often it held. */
static cf_status read_answers(cf_shrink *s, cf_str text, cf_error *err)
{
    enum { LINE = CF_HASH_TEXT + 2 };
    size_t n;
    for (size_t at = 0; at < text.n; at += n + 1) {
        const char *p = text.p + at;
        n = (size_t)((const char *)memchr(p, '\n', text.n - at) - p);
        bool ok = n >= LINE && p[CF_HASH_TEXT] == ' ' &&
                  (p[LINE - 1] == '0' || p[LINE - 1] == '1') && (n == LINE || p[LINE] == ' ');
        if (!ok) {
            return cf_fail(err, CF_EFORMAT,
                           "byte %zu does not belong to an answer of confab shrink", at);
        }
        CF_TRY(add_answer(s, p, p[LINE - 1] == '1', err));
    }
    return CF_OK;
}

cf_status cf_shrink_keep(cf_shrink *s, const char *path, cf_error *err)
{
    cf_buf text = CF_BUF_INIT;
    cf_error why;
    cf_status st = cf_os_read_file(&text, path, LOG_MAX, &why);
    size_t whole = text.n;
    while (whole > 0 && text.p[whole - 1] != '\n') {
        whole--;
    }
    if (st == CF_OK) {
        st = read_answers(s, cf_str_make(cf_buf_cstr(&text), whole), err);
        st = st == CF_OK ? CF_OK : cf_fail_in(err, st, path);
    } else {
        st = st == CF_ENOTFOUND ? CF_OK : cf_fail(err, st, "%s", why.text);
    }
    if (st == CF_OK && whole != text.n) { /* drops what was cut off */
        st = cf_os_write_file(path, cf_buf_cstr(&text), whole, 0600, err);
    }
    cf_buf_deinit(&text);
    CF_TRY(st);
    int fd;
    CF_TRY(cf_os_append_open(&fd, path, err));
    s->log = fdopen(fd, "a");
    if (s->log == NULL) {
        close(fd);
        return cf_oom_for(err, "the log");
    }
    return CF_OK;
}

static cf_status ask(cf_shrink *s, const json_t *context, cf_str source, bool *holds, cf_error *err)
{
    char key[CF_HASH_TEXT + 1];
    CF_TRY(key_of(s, context, source, key, err));
    const cf_shrink_answer *known = find_answer(s, key);
    if (known != NULL) {
        *holds = known->holds;
        s->n_reused++;
        return CF_OK;
    }
    size_t max = s->max_runs != 0 ? s->max_runs : CF_SHRINK_RUNS_MAX;
    if (s->n_runs >= max) {
        s->is_cut = true;
        *holds = false;
        return CF_OK;
    }
    CF_TRY(cf_asker_ask(s->asker, context, source, holds, err));
    s->n_runs += s->asker->n_asked;
    CF_TRY(add_answer(s, key, *holds, err));
    if (s->log != NULL) {
        fprintf(s->log, "%s %d", key, *holds);
        if (s->asker->repeat > 1) {
            fprintf(s->log, " %u of %u", s->asker->n_held, s->asker->n_asked);
        }
        fputc('\n', s->log);
        if (fflush(s->log) != 0) {
            return cf_fail(err, CF_EIO, "the steps cannot be written");
        }
    }
    return CF_OK;
}

/* ---- one level ---------------------------------------------------------- */

typedef enum level_kind { LEVEL_TREE, LEVEL_SENTENCES, LEVEL_LINES } level_kind;

typedef struct level {
    cf_shrink *s;
    level_kind kind;
    unsigned depth;
    const char *name;
    size_t n;
    bool *gone;   /* [n] taken out */
    bool *tried;  /* [n] gone, and what is tried now */
    size_t *left; /* [n_left] units that are there */
    size_t n_left;
    bool has_changed;
} level;

/* Context and template without `gone`: new references. */
static cf_status build(const level *l, const bool *gone, json_t **context, cf_buf *source,
                       cf_error *err)
{
    cf_str old = cf_buf_str(&l->s->source);
    *context = l->kind == LEVEL_TREE        ? cf_tree_without(l->s->context, l->depth, gone)
               : l->kind == LEVEL_SENTENCES ? cf_sentence_without(l->s->context, gone)
                                            : json_incref(l->s->context);
    if (l->kind == LEVEL_LINES) {
        cf_line_without(old, gone, source);
    } else {
        cf_buf_add(source, old.p, old.n);
    }
    return *context != NULL && !source->failed ? CF_OK : cf_oom_for(err, "a smaller context");
}

/* Tries without left[at..at + n) as well, and takes them out if it holds. */
static cf_status try_without(level *l, size_t at, size_t n, bool *went, cf_error *err)
{
    json_t *context = NULL;
    cf_buf source = CF_BUF_INIT;
    memcpy(l->tried, l->gone, l->n * sizeof *l->gone);
    for (size_t i = 0; i < n; i++) {
        l->tried[l->left[at + i]] = true;
    }
    cf_status st = build(l, l->tried, &context, &source, err);
    CF_THEN(st, ask(l->s, context, cf_buf_str(&source), went, err));
    json_decref(context);
    cf_buf_deinit(&source);
    if (st == CF_OK && *went) {
        memcpy(l->gone, l->tried, l->n * sizeof *l->gone);
        memmove(l->left + at, l->left + at + n, (l->n_left - at - n) * sizeof *l->left);
        l->n_left -= n;
        l->has_changed = true;
        if (l->s->step != NULL) {
            l->s->step(l->s->ud, l->s, l->name, l->n_left);
        }
    }
    return st;
}

/* Runs of `size` units from the end to the beginning. */
static cf_status pass(level *l, size_t size, bool *any, cf_error *err)
{
    size_t end = l->n_left;
    *any = false;
    while (end > 0 && !l->s->is_cut) {
        size_t n = size < end ? size : end;
        bool went;
        CF_TRY(try_without(l, end - n, n, &went, err));
        *any = *any || went;
        end -= n;
    }
    return CF_OK;
}

static cf_status minimise(level *l, cf_error *err)
{
    bool any = false;
    for (size_t size = l->n; size > 0 && !l->s->is_cut; size /= 2) {
        CF_TRY(pass(l, size, &any, err));
        if (l->n_left == 0) {
            return CF_OK;
        }
        size = size > l->n_left ? l->n_left : size;
    }
    while (any && !l->s->is_cut) { /* until no unit can go alone */
        CF_TRY(pass(l, 1, &any, err));
    }
    return CF_OK;
}

/* What is left of the level becomes the context. */
static cf_status commit(level *l, cf_error *err)
{
    json_t *context = NULL;
    cf_buf source = CF_BUF_INIT;
    cf_status st = build(l, l->gone, &context, &source, err);
    if (st != CF_OK) {
        json_decref(context);
        cf_buf_deinit(&source);
        return st;
    }
    json_decref(l->s->context);
    cf_buf_deinit(&l->s->source);
    l->s->context = context;
    l->s->source = source;
    return CF_OK;
}

static size_t count_units(const level *l)
{
    switch (l->kind) {
    case LEVEL_TREE:
        return cf_tree_units(l->s->context, l->depth);
    case LEVEL_SENTENCES:
        return cf_sentence_units(l->s->context);
    case LEVEL_LINES:
        break;
    }
    return cf_line_units(cf_buf_str(&l->s->source));
}

static cf_status do_level(cf_shrink *s, level_kind kind, unsigned depth, bool *changed,
                          cf_error *err)
{
    static const char *const names[] = {"", "variables", "messages and tools", "members", "parts"};
    level l = {.s = s, .kind = kind, .depth = depth};
    l.name = kind == LEVEL_SENTENCES ? "sentences"
             : kind == LEVEL_LINES   ? "template lines"
                                     : names[depth < 4 ? depth : 4];
    l.n = l.n_left = count_units(&l);
    if (l.n == 0 || s->is_cut) {
        return CF_OK;
    }
    l.gone = cf_calloc(l.n, sizeof *l.gone);
    l.tried = cf_calloc(l.n, sizeof *l.tried);
    l.left = cf_calloc(l.n, sizeof *l.left);
    cf_status st =
        l.gone != NULL && l.tried != NULL && l.left != NULL ? CF_OK : cf_oom_for(err, "the parts");
    for (size_t i = 0; st == CF_OK && i < l.n; i++) {
        l.left[i] = i;
    }
    CF_THEN(st, minimise(&l, err));
    if (l.has_changed) {
        cf_error why;
        cf_status done = commit(&l, st == CF_OK ? err : &why);
        st = st == CF_OK ? done : st;
        *changed = true;
    }
    cf_free(l.gone);
    cf_free(l.tried);
    cf_free(l.left);
    return st;
}

/* ---- all levels --------------------------------------------------------- */

static cf_status do_round(cf_shrink *s, bool *changed, cf_error *err)
{
    *changed = false;
    if ((s->parts & CF_SHRINK_CONTEXT) != 0) {
        for (unsigned depth = 1; depth <= CF_CUT_DEPTH_MAX; depth++) {
            CF_TRY(do_level(s, LEVEL_TREE, depth, changed, err));
        }
    }
    if ((s->parts & CF_SHRINK_SENTENCES) != 0) {
        CF_TRY(do_level(s, LEVEL_SENTENCES, 0, changed, err));
    }
    if ((s->parts & CF_SHRINK_TEMPLATE) != 0) {
        CF_TRY(do_level(s, LEVEL_LINES, 0, changed, err));
    }
    return CF_OK;
}

cf_status cf_shrink_run(cf_shrink *s, cf_error *err)
{
    bool holds;
    CF_TRY(cf_asker_ask(s->asker, s->context, cf_buf_str(&s->source), &holds, err));
    s->n_runs += s->asker->n_asked;
    cf_buf_add(&s->whole, cf_buf_cstr(&s->asker->why), s->asker->why.n);
    CF_TRY(cf_buf_check(&s->whole, err));
    if (!holds) {
        cf_str text = cf_predicate_text(s->asker->predicate);
        return cf_fail(err, CF_EINVAL, "%.*s does not hold for the whole conversation: %.100s",
                       (int)(text.n < 80 ? text.n : 80), text.p, cf_buf_cstr(&s->asker->why));
    }
    CF_TRY(cf_asker_keep_failure(s->asker, err));
    bool changed = true;
    for (int round = 0; round < ROUNDS && changed && !s->is_cut; round++) {
        CF_TRY(do_round(s, &changed, err));
    }
    /* What is written down is asked last: answers that were kept may be stale. */
    return cf_asker_ask(s->asker, s->context, cf_buf_str(&s->source), &s->holds, err);
}
