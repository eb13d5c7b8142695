/*
 * rules_variables.c - I007 I008 W009: the names a template takes from its
 * context, read off its tree.
 */
#include <string.h>

#include "templates/language/ast.h"
#include "templates/lint/lint_impl.h"

/* The variables that applications set, then the names that every jinja2
 * has. */
static const char *const known[] = {"messages",
                                    "tools",
                                    "documents",
                                    "add_generation_prompt",
                                    "bos_token",
                                    "eos_token",
                                    "unk_token",
                                    "pad_token",
                                    "enable_thinking",
                                    "range",
                                    "dict",
                                    "lipsum",
                                    "cycler",
                                    "joiner",
                                    "namespace",
                                    "raise_exception",
                                    "strftime_now",
                                    "true",
                                    "false",
                                    "none",
                                    "True",
                                    "False",
                                    "None",
                                    "loop",
                                    "self",
                                    "caller",
                                    "varargs",
                                    "kwargs"};

enum { N_GIVEN = 9 }; /* the first of them are variables, the rest functions and words */

static const char dated[] = "the date (strftime_now)";
static const char *const by_chance[] = {"strftime_now", "lipsum"};

enum { NAMES_MAX = 128 };

typedef struct use {
    cf_str name;
    uint32_t pos;   /* of the first bare use */
    uint32_t first; /* of the first use */
    bool is_used;
    bool is_bare;    /* used without a guard */
    bool is_set;     /* assigned somewhere in the template */
    bool is_guarded; /* "is defined", "| default", a bare condition */
} use;

/* The names that a template uses, and how. */
struct cf_lint_names {
    const cf_template *tpl;
    use v[NAMES_MAX];
    size_t n;
    uint32_t chance_pos;
    const char *chance;
    const cf_tnode *mutator; /* first call that changes a list or dict */
    bool has_loader;         /* include, import, extends */
    uint32_t loader_pos;
    bool collects; /* first pass: which names come from the context */
};

static bool is_one_of(cf_str name, const char *const *list, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (cf_str_is(name, list[i])) {
            return true;
        }
    }
    return false;
}

static use *look_up(cf_lint_names *w, cf_str name)
{
    for (size_t i = 0; i < w->n; i++) {
        if (cf_str_eq(w->v[i].name, name)) {
            return &w->v[i];
        }
    }
    return NULL;
}

/* The name as the source spells it at a name node. */
static cf_str name_at(const cf_lint_names *w, const cf_tnode *n)
{
    return cf_str_make(w->tpl->text.p + n->pos, n->end - n->pos);
}

static void walk(cf_lint_names *w, const cf_tnode *n, bool is_guarded);

static void walk_body(cf_lint_names *w, const cf_tbody *b)
{
    for (uint32_t i = 0; i < b->n; i++) {
        walk(w, b->v[i], false);
    }
}

/* Only names that some frame takes from the context count: the others are
 * the template's own. */
static void add_loads(cf_lint_names *w, const cf_tframe *f)
{
    for (uint32_t i = 0; w->collects && f != NULL && i < f->n_load; i++) {
        cf_str name = cf_str_make(f->load[i].name->p, f->load[i].name->n);
        if (f->load[i].action == CF_LOAD_RESOLVE && w->n < NAMES_MAX && look_up(w, name) == NULL) {
            w->v[w->n++] = (use){.name = name};
        }
    }
}

static void note_chance(cf_lint_names *w, cf_str name, uint32_t pos)
{
    if (w->chance == NULL && (is_one_of(name, by_chance, sizeof by_chance / sizeof *by_chance) ||
                              cf_str_is(name, "random"))) {
        w->chance = cf_str_is(name, "strftime_now") ? dated
                    : cf_str_is(name, "random")     ? "chance (random)"
                                                    : "chance (lipsum)";
        w->chance_pos = pos;
    }
}

static void walk_name(cf_lint_names *w, const cf_tnode *n, bool is_guarded)
{
    cf_str name = name_at(w, n);
    use *u = w->collects ? NULL : look_up(w, name);
    if (u == NULL) {
        return;
    }
    if (n->flag) { /* a target */
        u->is_set = true;
        return;
    }
    note_chance(w, name, n->pos);
    if (!u->is_used) {
        u->is_used = true;
        u->first = n->pos;
    }
    if (is_guarded) {
        u->is_guarded = true;
    } else if (!u->is_bare) {
        u->is_bare = true;
        u->pos = n->pos;
    }
}

/* "x is defined", "x | default(...)" know that x may be missing. */
static bool guards(const cf_tnode *n)
{
    static const char *const words[] = {"defined", "undefined", "none",   "default", "d",
                                        "true",    "false",     "string", "mapping", "iterable"};
    if (n->kind != CF_N_TEST && n->kind != CF_N_FILTER) {
        return false;
    }
    return is_one_of(cf_tv_text(n->val), words, sizeof words / sizeof words[0]);
}

/* x.append(...) and its kin, which transformers' sandbox refuses. */
static bool is_mutator(const cf_tnode *call)
{
    static const char *const methods[] = {"append", "extend",  "insert", "remove",
                                          "pop",    "clear",   "update", "setdefault",
                                          "sort",   "reverse", "popitem"};
    return call->a != NULL && call->a->kind == CF_N_GETATTR &&
           is_one_of(cf_tv_text(call->a->val), methods, sizeof methods / sizeof methods[0]);
}

static void walk_list(cf_lint_names *w, const cf_tnode *n, bool is_guarded)
{
    for (uint32_t i = 0; i < n->n && n->list != NULL; i++) {
        walk(w, n->list[i], is_guarded);
    }
    for (uint32_t i = 0; i < n->n_kw && n->kw != NULL; i++) {
        walk(w, n->kw[i].val, false);
    }
}

static void walk(cf_lint_names *w, const cf_tnode *n, bool is_guarded)
{
    if (n == NULL) {
        return;
    }
    if (n->kind == CF_N_NAME) {
        walk_name(w, n, is_guarded);
        return;
    }
    if (n->kind == CF_N_CALL && w->mutator == NULL && is_mutator(n)) {
        w->mutator = n;
    }
    if (n->kind == CF_N_LOADER && !w->has_loader) {
        w->has_loader = true;
        w->loader_pos = n->pos;
    }
    if (n->kind == CF_N_FILTER && !w->collects) {
        note_chance(w, cf_tv_text(n->val), n->pos);
    }
    /* "if x", "x and y", "a if x else b" look whether x is there. */
    bool is_logic =
        n->kind == CF_N_NOT || n->kind == CF_N_AND || n->kind == CF_N_OR || n->kind == CF_N_COND;
    bool inner = is_guarded || guards(n);
    walk(w, n->a, inner || is_logic);
    walk(w, n->b, n->kind == CF_N_COND ? is_guarded : inner || is_logic);
    walk(w, n->c, n->kind == CF_N_COND ? is_guarded : inner);
    walk_list(w, n, inner || n->kind == CF_N_IF);
    add_loads(w, n->frame);
    add_loads(w, n->frame2);
    add_loads(w, n->frame3);
    if (n->func != NULL) {
        add_loads(w, &n->func->frame);
    }
    walk_body(w, &n->body);
    walk_body(w, &n->other);
    for (uint32_t i = 0; n->kind == CF_N_IF && i < n->n; i++) {
        walk_body(w, &n->bodies[i]);
    }
}

static void place(const cf_lint_names *w, uint32_t pos, uint32_t *line, uint32_t *col)
{
    const cf_template *t = w->tpl;
    uint32_t i = 0;
    while (i + 1 < t->n_line && t->line[i + 1] <= pos) {
        i++;
    }
    *line = i + 1;
    *col = t->n_line != 0 ? pos - t->line[i] + 1 : 1;
}

/* NULL when memory ran out. */
static cf_lint_names *walk_template(const cf_template *tpl, cf_arena *arena, cf_error *err)
{
    cf_lint_names *w = cf_arena_calloc(arena, 1, sizeof *w);
    if (w == NULL) {
        cf_oom(err);
        return NULL;
    }
    w->tpl = tpl;
    w->collects = true;
    add_loads(w, &w->tpl->func.frame);
    walk_body(w, &w->tpl->body);
    w->collects = false;
    walk_body(w, &w->tpl->body);
    return w;
}

cf_status cf_template_variables(const cf_template *tpl, cf_arena *arena,
                                const cf_template_variable **out, size_t *n, cf_error *err)
{
    cf_lint_names *w = walk_template(tpl, arena, err);
    cf_template_variable *v = w != NULL ? cf_arena_alloc(arena, (w->n + 1) * sizeof *v) : NULL;
    *n = 0;
    if (v == NULL) {
        return cf_oom(err);
    }
    for (size_t i = 0; i < w->n; i++) {
        const use *u = &w->v[i];
        if (!u->is_used ||
            is_one_of(u->name, known + N_GIVEN, sizeof known / sizeof *known - N_GIVEN)) {
            continue;
        }
        size_t at = (*n)++;
        cf_template_variable made = {.name = u->name, .is_guarded = !u->is_bare};
        place(w, u->first, &made.line, &made.col);
        while (at > 0 && (v[at - 1].line > made.line ||
                          (v[at - 1].line == made.line && v[at - 1].col > made.col))) {
            v[at] = v[at - 1];
            at--;
        }
        v[at] = made;
    }
    *out = v;
    return CF_OK;
}

/* The names of the template that is linted; made once. */
static cf_status names_of(cf_linter *l, const cf_lint_names **out, cf_error *err)
{
    if (l->names == NULL) {
        l->names = walk_template(l->prober.tpl, l->arena, err);
    }
    *out = l->names;
    return l->names != NULL ? CF_OK : CF_ENOMEM;
}

bool cf_lint__is_left_out(const cf_linter *l)
{
    static const char *const left_out[] = {"include", "import", "extends", "from", "do", "trans"};
    const cf_template_error *why = &l->why;
    for (size_t i = 0; i < sizeof left_out / sizeof left_out[0]; i++) {
        size_t n = strlen(left_out[i]);
        if (why->len >= n && why->off + n <= l->source.n &&
            memcmp(l->source.p + why->off, left_out[i], n) == 0) {
            return true;
        }
    }
    return false;
}

cf_status cf_lint__constructs(cf_linter *l, cf_error *err)
{
    const cf_lint_names *w;
    uint32_t line, col;
    if (l->prober.tpl == NULL) {
        return cf_lint__is_left_out(l) ? cf_lint__add_at(l, l->why.line, l->why.col, err,
                                                         "does not compile: %s", l->why_text)
                                       : CF_OK;
    }
    CF_TRY(names_of(l, &w, err));
    if (w->mutator != NULL) {
        place(w, w->mutator->pos, &line, &col);
        cf_str name = cf_tv_text(w->mutator->a->val);
        CF_TRY(cf_lint__add_at(l, line, col, err,
                               "'.%.*s' changes a list or dictionary in place: "
                               "transformers refuses it, other engines allow "
                               "it",
                               (int)name.n, name.p));
    }
    if (w->has_loader) {
        place(w, w->loader_pos, &line, &col);
        return cf_lint__add_at(l, line, col, err,
                               "includes another template, but templates are "
                               "rendered alone");
    }
    return CF_OK;
}

/* Whether a conversation is rendered differently at two times. */
static cf_status differs_in_time(cf_linter *l, const char *letters, unsigned flags, bool *out,
                                 cf_error *err)
{
    enum { ONE = 946782245, OTHER = 1004844190 }; /* 2000-01-02, 2001-11-04 */
    cf_shot one = {0}, two = {0};
    l->prober.now = ONE;
    cf_status st = cf_probe(&l->prober, letters, flags, &one, err);
    l->prober.now = OTHER;
    CF_THEN(st, cf_probe(&l->prober, letters, flags, &two, err));
    l->prober.now = 0;
    *out = st == CF_OK && one.status == CF_OK && two.status == CF_OK &&
           !cf_str_eq(one.render.prompt.text, two.render.prompt.text);
    cf_shot_free(&l->prober, &one);
    cf_shot_free(&l->prober, &two);
    return st;
}

/* Whether a date that the template asks for reaches a prompt. */
static cf_status is_dated(cf_linter *l, bool *out, cf_error *err)
{
    static const char *const conversations[] = {"u", "su", "uct"};
    *out = false;
    for (size_t i = 0; i < 6 && !*out; i++) {
        CF_TRY(differs_in_time(l, conversations[i / 2],
                               CF_PROBE_GENERATE | (i % 2 != 0 ? CF_PROBE_TOOLS : 0u), out, err));
    }
    return CF_OK;
}

cf_status cf_lint__chance(cf_linter *l, cf_error *err)
{
    const cf_lint_names *w;
    uint32_t line, col;
    CF_TRY(names_of(l, &w, err));
    if (w->chance == NULL) {
        return CF_OK;
    }
    if (w->chance == dated) {
        bool is_written;
        CF_TRY(is_dated(l, &is_written, err));
        if (!is_written) {
            return CF_OK;
        }
    }
    place(w, w->chance_pos, &line, &col);
    return cf_lint__add_at(l, line, col, err, "the prompt depends on %s", w->chance);
}

cf_status cf_lint__unset(cf_linter *l, cf_error *err)
{
    const cf_lint_names *w;
    uint32_t line, col;
    CF_TRY(names_of(l, &w, err));
    for (size_t i = 0; i < w->n; i++) {
        const use *u = &w->v[i];
        if (!u->is_bare || u->is_guarded || u->is_set ||
            is_one_of(u->name, known, sizeof known / sizeof *known)) {
            continue;
        }
        place(w, u->pos, &line, &col);
        CF_TRY(cf_lint__add_at(l, line, col, err, "'%.*s' is used but never set",
                               (int)(u->name.n < 60 ? u->name.n : 60), u->name.p));
    }
    return CF_OK;
}
