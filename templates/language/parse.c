/*
 * parse.c - tokens to tree: statements, in jinja2's grammar.
 * Expressions are in parse_expr.c.
 */
#include "templates/language/parse.h"

#include "core/base/utf8.h"

cf_tstr *cf_t__const_str(cf_tr *r, cf_str s)
{
    cf_tv v = cf_t__str_of(r, s.p, s.n, CF_ORG_TEMPLATE);
    if (v.k == CF_TERR) {
        return NULL;
    }
    v.u.s->hash = cf_t__hash_bytes(s.p, s.n);
    cf_t__str_cps(v.u.s);
    return v.u.s;
}

cf_tnode *cf_t__node(cf_tparser *p, cf_nkind kind, uint32_t pos)
{
    cf_tnode *n = cf_t__alloc(p->r, sizeof *n);
    if (n == NULL) {
        return NULL;
    }
    *n = (cf_tnode){.kind = (uint8_t)kind, .pos = pos, .id = -1};
    n->end = pos;
    return n;
}

bool cf_t__vec_add(cf_tparser *p, cf_tbody *vec, cf_tnode *n)
{
    /* Capacities are powers of two from 4 on, so the list is full when n is one of them. */
    if (n == NULL) {
        return false;
    }
    if (vec->n == 0 || (vec->n >= 4 && (vec->n & (vec->n - 1)) == 0)) {
        uint32_t cap = vec->n < 4 ? 4 : vec->n * 2;
        cf_tnode **v = cf_t__alloc(p->r, cap * sizeof(cf_tnode *));
        if (v == NULL) {
            return false;
        }
        if (vec->n != 0) {
            memcpy(v, vec->v, vec->n * sizeof(cf_tnode *));
        }
        vec->v = v;
    }
    vec->v[vec->n++] = n;
    return true;
}

bool cf_t__is_name(const cf_tparser *p, const char *word)
{
    return p->t->type == CF_TOK_NAME && cf_str_is(p->t->text, word);
}

bool cf_t__skip_name(cf_tparser *p, const char *word)
{
    if (!cf_t__is_name(p, word)) {
        return false;
    }
    p->t++;
    return true;
}

bool cf_t__skip(cf_tparser *p, cf_toktype type)
{
    if (p->t->type != type) {
        return false;
    }
    p->t++;
    return true;
}

static const char *describe(const cf_tok *t)
{
    switch (t->type) {
    case CF_TOK_VAR_END:
        return "end of print statement";
    case CF_TOK_BLOCK_END:
        return "end of statement block";
    case CF_TOK_VAR_BEGIN:
        return "begin of print statement";
    case CF_TOK_BLOCK_BEGIN:
        return "begin of statement block";
    case CF_TOK_DATA:
        return "template data / text";
    case CF_TOK_EOF:
        return "end of template";
    default:
        return NULL;
    }
}

bool cf_t__parse_fail(cf_tparser *p, const char *what)
{
    const char *name = describe(p->t);
    int n = name != NULL ? (int)strlen(name) : (int)(p->t->text.n < 60 ? p->t->text.n : 60);
    cf_t__fail_at(p->r, p->t->pos, p->t->end, "%s, got '%.*s'", what, n,
                  name != NULL ? name : p->t->text.p);
    return false;
}

bool cf_t__expect(cf_tparser *p, cf_toktype type, const char *what)
{
    if (cf_t__skip(p, type)) {
        return true;
    }
    char text[80];
    snprintf(text, sizeof text, "expected token '%s'", what);
    return cf_t__parse_fail(p, text);
}

bool cf_t__deeper(cf_tparser *p)
{
    if (p->depth < PARSE_DEPTH) {
        p->depth++;
        return true;
    }
    cf_t__fail_limit(p->r, "the template is nested over %d deep", PARSE_DEPTH);
    cf_t__fail_at(p->r, p->t->pos, p->t->end, "%s", "");
    return false;
}

static bool at_end_tag(const cf_tparser *p, const char *const *ends)
{
    if (ends == NULL || p->t->type != CF_TOK_NAME) {
        return false;
    }
    for (; *ends != NULL; ends++) {
        if (cf_str_is(p->t->text, *ends)) {
            return true;
        }
    }
    return false;
}

static cf_tnode *parse_statement(cf_tparser *p);

static bool add_print(cf_tparser *p, cf_tbody *out)
{
    const cf_tok *open = p->t++;
    cf_tnode *print = cf_t__node(p, CF_N_PRINT, open->pos);
    cf_tnode *e = print != NULL ? cf_t__parse_tuple(p, 0) : NULL;
    cf_tbody one = {0};
    if (e == NULL || !cf_t__vec_add(p, &one, e)) {
        return false;
    }
    print->list = one.v;
    print->n = one.n;
    print->end = p->t->end;
    return cf_t__expect(p, CF_TOK_VAR_END, "end of print statement") &&
           cf_t__vec_add(p, out, print);
}

/* Statements until one of `ends` (which stays the current token), or to the
 * end of the template when ends is NULL. */
static bool parse_body(cf_tparser *p, cf_tbody *out, const char *const *ends)
{
    while (p->t->type != CF_TOK_EOF) {
        if (p->t->type == CF_TOK_DATA) {
            cf_tnode *n = cf_t__node(p, CF_N_DATA, p->t->pos);
            cf_tstr *s = n != NULL ? cf_t__const_str(p->r, p->t->text) : NULL;
            if (s == NULL) {
                return false;
            }
            s->one.off = p->t->pos;
            s->one.pos = p->t->pos + 1;
            n->end = p->t->end;
            n->val = cf_tv_str(s);
            p->t++;
            if (!cf_t__vec_add(p, out, n)) {
                return false;
            }
        } else if (p->t->type == CF_TOK_VAR_BEGIN) {
            if (!add_print(p, out)) {
                return false;
            }
        } else {
            p->t++; /* {% */
            if (at_end_tag(p, ends)) {
                return true;
            }
            cf_tnode *n = parse_statement(p);
            if (!cf_t__vec_add(p, out, n) ||
                !cf_t__expect(p, CF_TOK_BLOCK_END, "end of statement block")) {
                return false;
            }
        }
    }
    if (ends == NULL) {
        return true;
    }
    cf_t__fail_at(p->r, p->tag_pos, p->tag_end,
                  "Unexpected end of template. '%s' is missing for the "
                  "block opened here",
                  ends[0]);
    return false;
}

/* The rest of the opening tag, then the body, up to an end tag. */
static bool parse_block_body(cf_tparser *p, cf_tbody *out, const char *const *ends)
{
    cf_t__skip(p, CF_TOK_COLON);
    uint32_t pos = p->tag_pos, end = p->tag_end;
    if (!cf_t__expect(p, CF_TOK_BLOCK_END, "end of statement block") || !cf_t__deeper(p)) {
        return false;
    }
    bool ok = parse_body(p, out, ends);
    if (!ok && p->r->err_pos == 0) {
        p->r->err_pos = pos + 1;
        p->r->err_end = end + 1;
    }
    p->tag_pos = pos;
    p->tag_end = end;
    p->depth--;
    return ok;
}

static bool parse_closed(cf_tparser *p, cf_tbody *out, const char *end)
{
    const char *const ends[] = {end, NULL};
    if (!parse_block_body(p, out, ends)) {
        return false;
    }
    p->t++;
    return true;
}

/* ---- targets ------------------------------------------------------------ */

static cf_tnode *parse_target_name(cf_tparser *p)
{
    cf_tnode *n = cf_t__node(p, CF_N_NAME, p->t->pos);
    if (n == NULL) {
        return NULL;
    }
    if (p->t->type != CF_TOK_NAME) {
        cf_t__parse_fail(p, "expected token 'name'");
        return NULL;
    }
    cf_tstr *s = cf_t__const_str(p->r, p->t->text);
    if (s == NULL) {
        return NULL;
    }
    static const char *const constants[] = {"true", "false", "none", "True", "False", "None"};
    for (size_t i = 0; i < 6; i++) {
        if (cf_str_is(p->t->text, constants[i])) {
            cf_t__fail_at(p->r, p->t->pos, p->t->end, "can't assign to '%s'", constants[i]);
            return NULL;
        }
    }
    n->val = cf_tv_str(s);
    n->end = p->t->end;
    n->flag = true;
    p->t++;
    return n;
}

static cf_tnode *parse_one_target(cf_tparser *p, bool with_namespace)
{
    if (cf_t__skip(p, CF_TOK_LPAREN)) {
        if (!cf_t__deeper(p)) {
            return NULL;
        }
        cf_tnode *n = cf_t__parse_target(p, false);
        p->depth--;
        return n != NULL && cf_t__expect(p, CF_TOK_RPAREN, ")") ? n : NULL;
    }
    if (with_namespace && p->t->type == CF_TOK_NAME && p->t[1].type == CF_TOK_DOT) {
        cf_tnode *n = cf_t__node(p, CF_N_NSREF, p->t->pos);
        cf_tnode *name = n != NULL ? parse_target_name(p) : NULL;
        if (name == NULL) {
            return NULL;
        }
        p->t++;
        if (p->t->type != CF_TOK_NAME) {
            cf_t__parse_fail(p, "expected token 'name'");
            return NULL;
        }
        cf_tstr *attr = cf_t__const_str(p->r, p->t->text);
        if (attr == NULL) {
            return NULL;
        }
        name->flag = false; /* the namespace itself is read */
        n->a = name;
        n->val = cf_tv_str(attr);
        n->end = p->t->end;
        p->t++;
        return n;
    }
    if (p->t->type != CF_TOK_NAME) {
        cf_t__parse_fail(p, "expected a name to assign to");
        return NULL;
    }
    return parse_target_name(p);
}

cf_tnode *cf_t__parse_target(cf_tparser *p, bool with_namespace)
{
    cf_tbody items = {0};
    uint32_t pos = p->t->pos;
    bool is_tuple = false;
    for (;;) {
        if (items.n > 0 && (p->t->type == CF_TOK_VAR_END || p->t->type == CF_TOK_BLOCK_END ||
                            p->t->type == CF_TOK_RPAREN)) {
            break;
        }
        cf_tnode *n = parse_one_target(p, with_namespace);
        if (!cf_t__vec_add(p, &items, n)) {
            return NULL;
        }
        if (!cf_t__skip(p, CF_TOK_COMMA)) {
            break;
        }
        is_tuple = true;
    }
    if (!is_tuple) {
        return items.v[0];
    }
    cf_tnode *t = cf_t__node(p, CF_N_TUPLE, pos);
    if (t != NULL) {
        t->list = items.v;
        t->n = items.n;
        t->end = p->t[-1].end;
        t->flag = true;
    }
    return t;
}

/* ---- statements --------------------------------------------------------- */

static cf_tnode *parse_for(cf_tparser *p, cf_tnode *n)
{
    n->a = cf_t__parse_target(p, false);
    if (n->a == NULL) {
        return NULL;
    }
    if (!cf_t__skip_name(p, "in")) {
        cf_t__parse_fail(p, "expected token 'in'");
        return NULL;
    }
    n->b = cf_t__parse_tuple(p, CF_PARSE_NO_COND | CF_PARSE_END_RECURSIVE);
    if (n->b == NULL) {
        return NULL;
    }
    if (cf_t__skip_name(p, "if")) {
        n->c = cf_t__parse_expr(p);
        if (n->c == NULL) {
            return NULL;
        }
    }
    n->flag = cf_t__skip_name(p, "recursive");
    static const char *const ends[] = {"endfor", "else", NULL};
    if (!parse_block_body(p, &n->body, ends)) {
        return NULL;
    }
    bool has_else = cf_str_is(p->t++->text, "else");
    return !has_else || parse_closed(p, &n->other, "endfor") ? n : NULL;
}

static cf_tnode *parse_if(cf_tparser *p, cf_tnode *n)
{
    static const char *const ends[] = {"endif", "elif", "else", NULL};
    cf_tbody tests = {0};
    cf_tbody *bodies = NULL;
    uint32_t cap = 0;
    for (;;) {
        cf_tnode *test = cf_t__parse_tuple(p, CF_PARSE_NO_COND);
        if (!cf_t__vec_add(p, &tests, test)) {
            return NULL;
        }
        if (bodies == NULL || tests.n > cap) {
            uint32_t more = cap < 2 ? 2 : cap * 2;
            cf_tbody *grown = cf_t__alloc(p->r, more * sizeof *grown);
            if (grown == NULL) {
                return NULL;
            }
            if (cap != 0) {
                memcpy(grown, bodies, cap * sizeof *grown);
            }
            bodies = grown;
            cap = more;
        }
        bodies[tests.n - 1] = (cf_tbody){0};
        if (!parse_block_body(p, &bodies[tests.n - 1], ends)) {
            return NULL;
        }
        cf_str word = p->t++->text;
        if (cf_str_is(word, "elif")) {
            continue;
        }
        if (cf_str_is(word, "else") && !parse_closed(p, &n->other, "endif")) {
            return NULL;
        }
        break;
    }
    n->list = tests.v;
    n->n = tests.n;
    n->bodies = bodies;
    return n;
}

static cf_tnode *parse_set(cf_tparser *p, cf_tnode *n)
{
    n->a = cf_t__parse_target(p, true);
    if (n->a == NULL) {
        return NULL;
    }
    if (cf_t__skip(p, CF_TOK_ASSIGN)) {
        n->b = cf_t__parse_tuple(p, 0);
        return n->b != NULL ? n : NULL;
    }
    n->kind = CF_N_SETBLOCK;
    if (p->t->type == CF_TOK_PIPE) {
        cf_tnode *value = cf_t__node(p, CF_N_BODYVALUE, p->t->pos);
        n->b = value != NULL ? cf_t__parse_filters(p, value, false) : NULL;
        if (n->b == NULL) {
            return NULL;
        }
    }
    return parse_closed(p, &n->body, "endset") ? n : NULL;
}

/* "(a, b=1)": names into n->list, defaults into n->kw (for the last n_kw). */
static bool parse_signature(cf_tparser *p, cf_tnode *n)
{
    cf_tbody names = {0}, defaults = {0};
    if (!cf_t__expect(p, CF_TOK_LPAREN, "(")) {
        return false;
    }
    while (p->t->type != CF_TOK_RPAREN) {
        if (names.n != 0 && !cf_t__expect(p, CF_TOK_COMMA, ",")) {
            return false;
        }
        cf_tnode *name = parse_target_name(p);
        if (!cf_t__vec_add(p, &names, name)) {
            return false;
        }
        if (cf_t__skip(p, CF_TOK_ASSIGN)) {
            if (!cf_t__vec_add(p, &defaults, cf_t__parse_expr(p))) {
                return false;
            }
        } else if (defaults.n != 0) {
            cf_t__fail_at(p->r, name->pos, name->end,
                          "non-default argument follows default argument");
            return false;
        }
    }
    p->t++;
    n->list = names.v;
    n->n = names.n;
    n->n_kw = defaults.n;
    n->kw = cf_t__alloc(p->r, (defaults.n + 1) * sizeof *n->kw);
    if (n->kw == NULL) {
        return false;
    }
    for (uint32_t i = 0; i < defaults.n; i++) {
        n->kw[i] = (cf_tnkw){names.v[names.n - defaults.n + i]->val.u.s, defaults.v[i]};
    }
    return true;
}

static cf_tnode *parse_macro(cf_tparser *p, cf_tnode *n)
{
    n->a = parse_target_name(p);
    if (n->a == NULL) {
        return NULL;
    }
    n->val = n->a->val;
    return parse_signature(p, n) && parse_closed(p, &n->body, "endmacro") ? n : NULL;
}

static cf_tnode *parse_call_block(cf_tparser *p, cf_tnode *n)
{
    if (p->t->type == CF_TOK_LPAREN && !parse_signature(p, n)) {
        return NULL;
    }
    n->a = cf_t__parse_expr(p);
    if (n->a == NULL) {
        return NULL;
    }
    if (n->a->kind != CF_N_CALL) {
        cf_t__fail_at(p->r, n->a->pos, n->a->end, "expected call");
        return NULL;
    }
    return parse_closed(p, &n->body, "endcall") ? n : NULL;
}

static cf_tnode *parse_filter_block(cf_tparser *p, cf_tnode *n)
{
    cf_tnode *value = cf_t__node(p, CF_N_BODYVALUE, p->t->pos);
    n->a = value != NULL ? cf_t__parse_filters(p, value, true) : NULL;
    return n->a != NULL && parse_closed(p, &n->body, "endfilter") ? n : NULL;
}

static cf_tnode *parse_with(cf_tparser *p, cf_tnode *n)
{
    cf_tbody items = {0};
    while (p->t->type != CF_TOK_BLOCK_END) {
        if (items.n != 0 && !cf_t__expect(p, CF_TOK_COMMA, ",")) {
            return NULL;
        }
        cf_tnode *target = cf_t__parse_target(p, false);
        if (!cf_t__vec_add(p, &items, target) || !cf_t__expect(p, CF_TOK_ASSIGN, "=") ||
            !cf_t__vec_add(p, &items, cf_t__parse_expr(p))) {
            return NULL;
        }
    }
    n->list = items.v;
    n->n = items.n;
    return parse_closed(p, &n->body, "endwith") ? n : NULL;
}

static bool is_new_block(cf_tparser *p, cf_tstr *name)
{
    if (p->blocks == NULL) {
        p->blocks = cf_t__dict_new(p->r, 0);
    }
    if (p->blocks == NULL) {
        return false;
    }
    if (cf_t__dict_find_str(p->r, p->blocks, name) != NULL) {
        cf_t__fail_at(p->r, p->t->pos, p->t->end, "block '%.*s' defined twice",
                      (int)(name->n < 100 ? name->n : 100), name->p);
        return false;
    }
    return cf_t__dict_set(p->r, p->blocks, cf_tv_str(name), CF_TV_NONE);
}

static cf_tnode *parse_block(cf_tparser *p, cf_tnode *n)
{
    if (p->t->type != CF_TOK_NAME) {
        cf_t__parse_fail(p, "expected token 'name'");
        return NULL;
    }
    cf_str name = p->t->text;
    cf_tstr *s = cf_t__const_str(p->r, name);
    if (s == NULL) {
        return NULL;
    }
    if (!is_new_block(p, s)) {
        return NULL;
    }
    n->val = cf_tv_str(s);
    p->t++;
    n->flag = cf_t__skip_name(p, "scoped");
    cf_t__skip_name(p, "required");
    if (!parse_closed(p, &n->body, "endblock")) {
        return NULL;
    }
    if (p->t->type == CF_TOK_NAME && cf_str_eq(p->t->text, name)) {
        p->t++;
    }
    p->tpl->has_blocks = true;
    return n;
}

static cf_tnode *parse_print(cf_tparser *p, cf_tnode *n)
{
    cf_tbody items = {0};
    while (p->t->type != CF_TOK_BLOCK_END) {
        if ((items.n != 0 && !cf_t__expect(p, CF_TOK_COMMA, ",")) ||
            !cf_t__vec_add(p, &items, cf_t__parse_expr(p))) {
            return NULL;
        }
    }
    n->list = items.v;
    n->n = items.n;
    return n;
}

/* include, import, from, extends: the grammar is checked, running fails. */
static cf_tnode *parse_loader(cf_tparser *p, cf_tnode *n)
{
    n->a = cf_t__parse_expr(p);
    if (n->a == NULL) {
        return NULL;
    }
    while (p->t->type == CF_TOK_NAME || p->t->type == CF_TOK_COMMA) {
        p->t++;
    }
    return n;
}

static cf_tnode *parse_autoescape(cf_tparser *p, cf_tnode *n)
{
    n->a = cf_t__parse_expr(p);
    return n->a != NULL && parse_closed(p, &n->body, "endautoescape") ? n : NULL;
}

static cf_tnode *parse_generation(cf_tparser *p, cf_tnode *n)
{
    p->tpl->has_generation = true;
    return parse_closed(p, &n->body, "endgeneration") ? n : NULL;
}

static cf_tnode *parse_nothing(cf_tparser *p, cf_tnode *n)
{
    (void)p;
    return n;
}

static const struct {
    const char *word;
    cf_nkind kind;
    cf_tnode *(*parse)(cf_tparser *p, cf_tnode *n);
} statements[] = {
    {"if", CF_N_IF, parse_if},
    {"for", CF_N_FOR, parse_for},
    {"set", CF_N_SET, parse_set},
    {"macro", CF_N_MACRO, parse_macro},
    {"call", CF_N_CALLBLOCK, parse_call_block},
    {"filter", CF_N_FILTERBLOCK, parse_filter_block},
    {"with", CF_N_WITH, parse_with},
    {"generation", CF_N_GENERATION, parse_generation},
    {"break", CF_N_BREAK, parse_nothing},
    {"continue", CF_N_CONTINUE, parse_nothing},
    {"block", CF_N_BLOCK, parse_block},
    {"print", CF_N_PRINT, parse_print},
    {"autoescape", CF_N_AUTOESCAPE, parse_autoescape},
    {"include", CF_N_LOADER, parse_loader},
    {"import", CF_N_LOADER, parse_loader},
    {"from", CF_N_LOADER, parse_loader},
    {"extends", CF_N_LOADER, parse_loader},
};

static cf_tnode *parse_statement(cf_tparser *p)
{
    const cf_tok *word = p->t;
    if (word->type != CF_TOK_NAME) {
        cf_t__parse_fail(p, "tag name expected");
        return NULL;
    }
    for (size_t i = 0; i < sizeof statements / sizeof *statements; i++) {
        if (!cf_str_is(word->text, statements[i].word)) {
            continue;
        }
        cf_tnode *n = cf_t__node(p, statements[i].kind, word->pos);
        if (n == NULL) {
            return NULL;
        }
        n->end = word->end;
        p->t++;
        uint32_t pos = p->tag_pos, end = p->tag_end;
        p->tag_pos = word->pos;
        p->tag_end = word->end;
        cf_tnode *done = statements[i].parse(p, n);
        p->tag_pos = pos;
        p->tag_end = end;
        return done;
    }
    cf_t__fail_at(p->r, word->pos, word->end, "Encountered unknown tag '%.*s'", (int)word->text.n,
                  word->text.p);
    return NULL;
}

bool cf_t__parse(cf_tr *r, cf_template *tpl, const cf_tok *tokens)
{
    cf_tparser p = {.r = r, .tpl = tpl, .t = tokens};
    return parse_body(&p, &tpl->body, NULL);
}
