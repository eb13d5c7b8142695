/*
 * parse_expr.c - expressions, by recursive descent, loosest first:
 * inline if, or, and, not, comparisons, + -, ~, * / // %, **, unary, postfix
 * and filters.  The order is jinja2's: "~" binds tighter than "+".
 */
#include "templates/language/number.h"
#include "templates/language/parse.h"

#include <stdlib.h>

static cf_tnode *parse_or(cf_tparser *p);
static cf_tnode *parse_unary(cf_tparser *p, bool with_filter);
static cf_tnode *parse_primary(cf_tparser *p);
static cf_tnode *parse_postfix(cf_tparser *p, cf_tnode *n);

static cf_tnode *pair(cf_tparser *p, cf_nkind kind, cf_tnode *a, cf_tnode *b)
{
    if (a == NULL || b == NULL) {
        return NULL;
    }
    cf_tnode *n = cf_t__node(p, kind, a->pos);
    if (n != NULL) {
        n->a = a;
        n->b = b;
        n->end = b->end;
    }
    return n;
}

static cf_tnode *parse_cond(cf_tparser *p)
{
    cf_tnode *then = parse_or(p);
    while (then != NULL && cf_t__skip_name(p, "if")) {
        cf_tnode *test = parse_or(p);
        cf_tnode *n = pair(p, CF_N_COND, test, then);
        if (n == NULL) {
            return NULL;
        }
        n->pos = then->pos;
        n->end = test->end;
        if (cf_t__skip_name(p, "else")) {
            if (!cf_t__deeper(p)) {
                return NULL;
            }
            n->c = parse_cond(p);
            p->depth--;
            if (n->c == NULL) {
                return NULL;
            }
            n->end = n->c->end;
        }
        then = n;
    }
    return then;
}

cf_tnode *cf_t__parse_expr(cf_tparser *p)
{
    if (!cf_t__deeper(p)) {
        return NULL;
    }
    cf_tnode *n = parse_cond(p);
    p->depth--;
    return n;
}

static cf_tnode *parse_math1(cf_tparser *p);

static cf_tnode *parse_compare(cf_tparser *p)
{
    static const cf_cmpop ops[] = {
        [CF_TOK_EQ] = CF_CMP_EQ, [CF_TOK_NE] = CF_CMP_NE, [CF_TOK_GT] = CF_CMP_GT,
        [CF_TOK_GE] = CF_CMP_GE, [CF_TOK_LT] = CF_CMP_LT, [CF_TOK_LE] = CF_CMP_LE,
    };
    cf_tnode *first = parse_math1(p);
    cf_tbody rest = {0};
    while (first != NULL) {
        cf_cmpop op;
        if (p->t->type >= CF_TOK_EQ && p->t->type <= CF_TOK_LE) {
            op = ops[p->t->type];
            p->t++;
        } else if (cf_t__skip_name(p, "in")) {
            op = CF_CMP_IN;
        } else if (cf_t__is_name(p, "not") && p->t[1].type == CF_TOK_NAME &&
                   cf_str_is(p->t[1].text, "in")) {
            p->t += 2;
            op = CF_CMP_NOTIN;
        } else {
            break;
        }
        cf_tnode *right = parse_math1(p);
        cf_tnode *n = pair(p, CF_N_OPERAND, right, right);
        if (!cf_t__vec_add(p, &rest, n)) {
            return NULL;
        }
        n->op = (uint8_t)op;
    }
    if (first == NULL || rest.n == 0) {
        return first;
    }
    cf_tnode *n = pair(p, CF_N_COMPARE, first, rest.v[rest.n - 1]);
    if (n != NULL) {
        n->list = rest.v;
        n->n = rest.n;
    }
    return n;
}

static cf_tnode *parse_not(cf_tparser *p)
{
    if (!cf_t__is_name(p, "not")) {
        return parse_compare(p);
    }
    const cf_tok *word = p->t++;
    if (!cf_t__deeper(p)) {
        return NULL;
    }
    cf_tnode *a = parse_not(p);
    p->depth--;
    cf_tnode *n = pair(p, CF_N_NOT, a, a);
    if (n != NULL) {
        n->pos = word->pos;
    }
    return n;
}

static cf_tnode *parse_and(cf_tparser *p)
{
    cf_tnode *n = parse_not(p);
    while (n != NULL && cf_t__skip_name(p, "and")) {
        n = pair(p, CF_N_AND, n, parse_not(p));
    }
    return n;
}

static cf_tnode *parse_or(cf_tparser *p)
{
    cf_tnode *n = parse_and(p);
    while (n != NULL && cf_t__skip_name(p, "or")) {
        n = pair(p, CF_N_OR, n, parse_and(p));
    }
    return n;
}

static cf_tnode *arith(cf_tparser *p, cf_tarith op, cf_tnode *a, cf_tnode *b)
{
    cf_tnode *n = pair(p, CF_N_ARITH, a, b);
    if (n != NULL) {
        n->op = (uint8_t)op;
    }
    return n;
}

static cf_tnode *parse_pow(cf_tparser *p)
{
    cf_tnode *n = parse_unary(p, true);
    while (n != NULL && cf_t__skip(p, CF_TOK_POW)) {
        n = arith(p, CF_OP_POW, n, parse_unary(p, true));
    }
    return n;
}

static cf_tnode *parse_math2(cf_tparser *p)
{
    cf_tnode *n = parse_pow(p);
    while (n != NULL) {
        cf_tarith op;
        switch (p->t->type) {
        case CF_TOK_MUL:
            op = CF_OP_MUL;
            break;
        case CF_TOK_DIV:
            op = CF_OP_DIV;
            break;
        case CF_TOK_FLOORDIV:
            op = CF_OP_FLOORDIV;
            break;
        case CF_TOK_MOD:
            op = CF_OP_MOD;
            break;
        default:
            return n;
        }
        p->t++;
        n = arith(p, op, n, parse_pow(p));
    }
    return n;
}

static cf_tnode *parse_concat(cf_tparser *p)
{
    cf_tnode *first = parse_math2(p);
    if (first == NULL || p->t->type != CF_TOK_TILDE) {
        return first;
    }
    cf_tbody items = {0};
    if (!cf_t__vec_add(p, &items, first)) {
        return NULL;
    }
    while (cf_t__skip(p, CF_TOK_TILDE)) {
        if (!cf_t__vec_add(p, &items, parse_math2(p))) {
            return NULL;
        }
    }
    cf_tnode *n = cf_t__node(p, CF_N_CONCAT, first->pos);
    if (n != NULL) {
        n->list = items.v;
        n->n = items.n;
        n->end = items.v[items.n - 1]->end;
    }
    return n;
}

static cf_tnode *parse_math1(cf_tparser *p)
{
    cf_tnode *n = parse_concat(p);
    while (n != NULL && (p->t->type == CF_TOK_ADD || p->t->type == CF_TOK_SUB)) {
        cf_tarith op = p->t->type == CF_TOK_ADD ? CF_OP_ADD : CF_OP_SUB;
        p->t++;
        n = arith(p, op, n, parse_concat(p));
    }
    return n;
}

/* ---- primaries ---------------------------------------------------------- */

static cf_tnode *constant(cf_tparser *p, cf_tv v)
{
    cf_tnode *n = v.k != CF_TERR ? cf_t__node(p, CF_N_CONST, p->t->pos) : NULL;
    if (n != NULL) {
        n->val = v;
        n->end = p->t->end;
        p->t++;
    }
    return n;
}

static cf_tnode *parse_number(cf_tparser *p)
{
    cf_str s = p->t->text;
    char *clean = cf_t__alloc(p->r, s.n + 1);
    if (clean == NULL) {
        return NULL;
    }
    size_t n = 0;
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] != '_') {
            clean[n++] = s.p[i];
        }
    }
    clean[n] = '\0';
    if (p->t->type == CF_TOK_FLOAT) {
        return constant(p, cf_tv_float(strtod(clean, NULL)));
    }
    unsigned base = 10;
    if (n > 2 && clean[0] == '0') {
        char c = (char)(clean[1] | 32);
        base = c == 'x' ? 16 : c == 'o' ? 8 : c == 'b' ? 2 : 10;
    }
    size_t skip = base != 10 ? 2 : 0;
    cf_tv v = cf_t__int_parse(p->r, clean + skip, n - skip, base, false);
    return constant(p, v);
}

static cf_tnode *parse_strings(cf_tparser *p)
{
    const cf_tok *first = p->t;
    size_t total = 0;
    const cf_tok *last = first;
    for (; last->type == CF_TOK_STRING; last++) {
        total += last->text.n;
    }
    cf_str s = first->text;
    if (last > first + 1) {
        char *joined = cf_t__alloc(p->r, total + 1);
        if (joined == NULL) {
            return NULL;
        }
        s = cf_str_make(joined, total);
        for (const cf_tok *t = first; t < last; t++) {
            if (t->text.n != 0) {
                memcpy(joined, t->text.p, t->text.n);
            }
            joined += t->text.n;
        }
    }
    cf_tstr *str = cf_t__const_str(p->r, s);
    cf_tnode *n = str != NULL ? constant(p, cf_tv_str(str)) : NULL;
    if (n == NULL) {
        return NULL;
    }
    if (last == first + 1 && first->text.p == p->tpl->text.p + first->pos + 1) {
        str->one.off = first->pos + 1; /* no escapes: a copy of the source */
    }
    p->t = last;
    n->end = last[-1].end;
    return n;
}

static cf_tnode *parse_name(cf_tparser *p)
{
    cf_str s = p->t->text;
    if (cf_str_is(s, "true") || cf_str_is(s, "True")) {
        return constant(p, cf_tv_bool(true));
    }
    if (cf_str_is(s, "false") || cf_str_is(s, "False")) {
        return constant(p, cf_tv_bool(false));
    }
    if (cf_str_is(s, "none") || cf_str_is(s, "None")) {
        return constant(p, CF_TV_NONE);
    }
    cf_tstr *name = cf_t__const_str(p->r, s);
    cf_tnode *n = name != NULL ? constant(p, cf_tv_str(name)) : NULL;
    if (n != NULL) {
        n->kind = CF_N_NAME;
    }
    return n;
}

static cf_tnode *parse_items(cf_tparser *p, cf_nkind kind, cf_toktype end)
{
    const cf_tok *open = p->t++;
    cf_tbody items = {0};
    while (p->t->type != end) {
        if (items.n != 0 && !cf_t__expect(p, CF_TOK_COMMA, ",")) {
            return NULL;
        }
        if (p->t->type == end) {
            break;
        }
        if (!cf_t__vec_add(p, &items, cf_t__parse_expr(p))) {
            return NULL;
        }
        if (kind == CF_N_DICT && (!cf_t__expect(p, CF_TOK_COLON, ":") ||
                                  !cf_t__vec_add(p, &items, cf_t__parse_expr(p)))) {
            return NULL;
        }
    }
    cf_tnode *n = cf_t__node(p, kind, open->pos);
    if (n != NULL) {
        n->list = items.v;
        n->n = items.n;
        n->end = p->t->end;
        p->t++;
    }
    return n;
}

static cf_tnode *parse_primary(cf_tparser *p)
{
    switch (p->t->type) {
    case CF_TOK_NAME:
        return parse_name(p);
    case CF_TOK_STRING:
        return parse_strings(p);
    case CF_TOK_INT:
    case CF_TOK_FLOAT:
        return parse_number(p);
    case CF_TOK_LPAREN: {
        uint32_t pos = p->t->pos;
        p->t++;
        cf_tnode *n = cf_t__parse_tuple(p, CF_PARSE_PARENTHESES);
        if (n == NULL || !cf_t__expect(p, CF_TOK_RPAREN, ")")) {
            return NULL;
        }
        if (n->kind == CF_N_TUPLE) {
            n->pos = pos;
            n->end = p->t[-1].end;
        }
        return n;
    }
    case CF_TOK_LBRACKET:
        return parse_items(p, CF_N_LIST, CF_TOK_RBRACKET);
    case CF_TOK_LBRACE:
        return parse_items(p, CF_N_DICT, CF_TOK_RBRACE);
    default:
        cf_t__parse_fail(p, "Expected an expression");
        return NULL;
    }
}

cf_tnode *cf_t__parse_tuple(cf_tparser *p, unsigned how)
{
    cf_tbody items = {0};
    uint32_t pos = p->t->pos;
    bool is_tuple = false;
    for (;;) {
        if (p->t->type == CF_TOK_VAR_END || p->t->type == CF_TOK_BLOCK_END ||
            p->t->type == CF_TOK_RPAREN ||
            ((how & CF_PARSE_END_RECURSIVE) != 0 && cf_t__is_name(p, "recursive"))) {
            break;
        }
        if (!cf_t__deeper(p)) {
            return NULL;
        }
        cf_tnode *n = (how & CF_PARSE_NO_COND) != 0 ? parse_or(p) : parse_cond(p);
        p->depth--;
        if (!cf_t__vec_add(p, &items, n)) {
            return NULL;
        }
        if (!cf_t__skip(p, CF_TOK_COMMA)) {
            break;
        }
        is_tuple = true;
    }
    if (!is_tuple) {
        if (items.n != 0) {
            return items.v[0];
        }
        if ((how & CF_PARSE_PARENTHESES) == 0) {
            cf_t__parse_fail(p, "Expected an expression");
            return NULL;
        }
    }
    cf_tnode *n = cf_t__node(p, CF_N_TUPLE, pos);
    if (n != NULL) {
        n->list = items.v;
        n->n = items.n;
        n->end = p->t[-1].end;
    }
    return n;
}

/* ---- postfix ------------------------------------------------------------ */

static cf_tnode *parse_bound(cf_tparser *p, bool *ok)
{
    *ok = true;
    if (p->t->type == CF_TOK_COLON || p->t->type == CF_TOK_RBRACKET || p->t->type == CF_TOK_COMMA) {
        return NULL;
    }
    cf_tnode *n = cf_t__parse_expr(p);
    *ok = n != NULL;
    return n;
}

static cf_tnode *parse_subscribed(cf_tparser *p)
{
    uint32_t pos = p->t->pos;
    bool ok;
    cf_tnode *from = NULL;
    if (p->t->type != CF_TOK_COLON) {
        from = cf_t__parse_expr(p);
        if (from == NULL || p->t->type != CF_TOK_COLON) {
            return from;
        }
    }
    p->t++;
    cf_tnode *n = cf_t__node(p, CF_N_SLICE, pos);
    if (n == NULL) {
        return NULL;
    }
    n->a = from;
    n->b = parse_bound(p, &ok);
    if (!ok) {
        return NULL;
    }
    if (cf_t__skip(p, CF_TOK_COLON)) {
        n->c = parse_bound(p, &ok);
        if (!ok) {
            return NULL;
        }
    }
    n->end = p->t->pos;
    return n;
}

static cf_tnode *parse_subscript(cf_tparser *p, cf_tnode *obj)
{
    cf_tnode *n = cf_t__node(p, CF_N_GETITEM, obj->pos);
    if (n == NULL) {
        return NULL;
    }
    n->a = obj;
    if (cf_t__skip(p, CF_TOK_DOT)) {
        if (p->t->type == CF_TOK_NAME) {
            cf_tstr *name = cf_t__const_str(p->r, p->t->text);
            if (name == NULL) {
                return NULL;
            }
            n->kind = CF_N_GETATTR;
            n->val = cf_tv_str(name);
            n->id = cf_t__method_find(p->t->text);
            n->end = p->t->end;
            p->t++;
            return n;
        }
        if (p->t->type != CF_TOK_INT) {
            cf_t__parse_fail(p, "expected name or number");
            return NULL;
        }
        n->b = parse_number(p);
        n->end = p->t[-1].end;
        return n->b != NULL ? n : NULL;
    }
    const cf_tok *open = p->t++;
    cf_tbody items = {0};
    while (p->t->type != CF_TOK_RBRACKET) {
        if ((items.n != 0 && !cf_t__expect(p, CF_TOK_COMMA, ",")) ||
            !cf_t__vec_add(p, &items, parse_subscribed(p))) {
            return NULL;
        }
    }
    p->t++;
    n->end = p->t[-1].end;
    if (items.n == 1) {
        n->b = items.v[0];
        if (n->b->kind == CF_N_CONST && n->b->val.k == CF_TSTR) {
            n->id = cf_t__method_find(cf_tv_text(n->b->val));
        }
        return n;
    }
    n->b = cf_t__node(p, CF_N_TUPLE, open->pos);
    if (n->b == NULL) {
        return NULL;
    }
    n->b->list = items.v;
    n->b->n = items.n;
    n->b->end = n->end;
    return n;
}

static bool bad_call(cf_tparser *p, const cf_tok *at)
{
    cf_t__fail_at(p->r, at->pos, at->end, "invalid syntax for function call expression");
    return false;
}

/* The arguments of a call while they are parsed. */
typedef struct arg_list {
    cf_tnode *call;
    cf_tbody *args;    /* by position */
    cf_tbody kw_val;   /* by name ... */
    cf_tdict *kw_name; /* ... whose keys are the names, in order */
} arg_list;

/* "name=value" */
static bool parse_keyword(cf_tparser *p, arg_list *l)
{
    cf_tstr *s = cf_t__const_str(p->r, p->t->text);
    if (l->kw_name == NULL) {
        l->kw_name = cf_t__dict_new(p->r, 0);
    }
    if (s == NULL || l->kw_name == NULL) {
        return false;
    }
    if (cf_t__dict_find_str(p->r, l->kw_name, s) != NULL) {
        cf_t__fail_at(p->r, p->t->pos, p->t->end, "keyword argument repeated: %.*s",
                      (int)p->t->text.n, p->t->text.p);
        return false;
    }
    p->t += 2;
    return cf_t__dict_set(p->r, l->kw_name, cf_tv_str(s), CF_TV_NONE) &&
           cf_t__vec_add(p, &l->kw_val, cf_t__parse_expr(p));
}

static bool parse_arg(cf_tparser *p, arg_list *l, const cf_tok *open)
{
    cf_tnode *n = l->call;
    if (cf_t__skip(p, CF_TOK_MUL)) {
        if (n->b != NULL || n->c != NULL) {
            return bad_call(p, open);
        }
        n->b = cf_t__parse_expr(p);
        return n->b != NULL;
    }
    if (cf_t__skip(p, CF_TOK_POW)) {
        if (n->c != NULL) {
            return bad_call(p, open);
        }
        n->c = cf_t__parse_expr(p);
        return n->c != NULL;
    }
    if (p->t->type == CF_TOK_NAME && p->t[1].type == CF_TOK_ASSIGN) {
        return n->c == NULL ? parse_keyword(p, l) : bad_call(p, open);
    }
    if (n->b != NULL || n->c != NULL || l->kw_val.n != 0) {
        return bad_call(p, open);
    }
    return cf_t__vec_add(p, l->args, cf_t__parse_expr(p));
}

/* "(a, k=b, *c, **d)" into n->list from its `skip`th item on, kw, b, c. */
static bool parse_args(cf_tparser *p, cf_tnode *n, cf_tbody *args)
{
    const cf_tok *open = p->t++;
    arg_list l = {.call = n, .args = args};
    for (bool is_first = true; p->t->type != CF_TOK_RPAREN; is_first = false) {
        if (!is_first && !cf_t__expect(p, CF_TOK_COMMA, ",")) {
            return false;
        }
        if (p->t->type == CF_TOK_RPAREN && !is_first) {
            break;
        }
        if (!parse_arg(p, &l, open)) {
            return false;
        }
    }
    p->t++;
    n->n_kw = l.kw_val.n;
    if (n->n_kw != 0) {
        n->kw = cf_t__alloc(p->r, n->n_kw * sizeof *n->kw);
        for (uint32_t i = 0; n->kw != NULL && i < n->n_kw; i++) {
            n->kw[i] = (cf_tnkw){l.kw_name->e[i].key.u.s, l.kw_val.v[i]};
        }
    }
    return n->n_kw == 0 || n->kw != NULL;
}

static cf_tnode *parse_call(cf_tparser *p, cf_tnode *fn)
{
    cf_tnode *n = cf_t__node(p, CF_N_CALL, fn->pos);
    cf_tbody args = {0};
    if (n == NULL || !parse_args(p, n, &args)) {
        return NULL;
    }
    n->a = fn;
    n->list = args.v;
    n->n = args.n;
    n->end = p->t[-1].end;
    return n;
}

static cf_tnode *parse_postfix(cf_tparser *p, cf_tnode *n)
{
    while (n != NULL) {
        if (p->t->type == CF_TOK_DOT || p->t->type == CF_TOK_LBRACKET) {
            n = parse_subscript(p, n);
        } else if (p->t->type == CF_TOK_LPAREN) {
            n = parse_call(p, n);
        } else {
            break;
        }
    }
    return n;
}

/* "name", "a.b.c" of a filter or test, as one string. */
static cf_tstr *parse_dotted(cf_tparser *p, const char *what)
{
    if (p->t->type != CF_TOK_NAME) {
        cf_t__parse_fail(p, what);
        return NULL;
    }
    cf_tsb b;
    cf_t__sb_init(&b, p->r);
    cf_t__sb_add(&b, p->t->text.p, p->t->text.n, 1, CF_NO_COPY, 0);
    p->t++;
    while (cf_t__skip(p, CF_TOK_DOT)) {
        if (p->t->type != CF_TOK_NAME) {
            cf_t__parse_fail(p, what);
            return NULL;
        }
        cf_t__sb_addc(&b, '.', 1);
        cf_t__sb_add(&b, p->t->text.p, p->t->text.n, 1, CF_NO_COPY, 0);
        p->t++;
    }
    return b.failed ? NULL : cf_t__const_str(p->r, cf_str_make(b.p, b.n));
}

cf_tnode *cf_t__parse_filters(cf_tparser *p, cf_tnode *value, bool bare)
{
    while (bare || p->t->type == CF_TOK_PIPE) {
        if (!bare) {
            p->t++;
        }
        bare = false;
        cf_tnode *n = cf_t__node(p, CF_N_FILTER, p->t->pos);
        cf_tstr *name = n != NULL ? parse_dotted(p, "expected token 'name'") : NULL;
        cf_tbody args = {0};
        if (name == NULL || !cf_t__vec_add(p, &args, value)) {
            return NULL;
        }
        n->val = cf_tv_str(name);
        n->id = cf_t__filter_find(cf_tv_text(n->val));
        if (p->t->type == CF_TOK_LPAREN && !parse_args(p, n, &args)) {
            return NULL;
        }
        n->list = args.v;
        n->n = args.n;
        n->end = p->t[-1].end;
        value = n;
    }
    return value;
}

/* Whether a test's argument without parentheses comes: "is divisibleby 3". */
static bool starts_argument(const cf_tparser *p)
{
    switch (p->t->type) {
    case CF_TOK_NAME:
        return !cf_t__is_name(p, "else") && !cf_t__is_name(p, "or") && !cf_t__is_name(p, "and");
    case CF_TOK_STRING:
    case CF_TOK_INT:
    case CF_TOK_FLOAT:
    case CF_TOK_LBRACKET:
    case CF_TOK_LBRACE:
        return true;
    default:
        return false;
    }
}

static cf_tnode *parse_test(cf_tparser *p, cf_tnode *value)
{
    p->t++; /* is */
    bool is_not = cf_t__skip_name(p, "not");
    cf_tnode *n = cf_t__node(p, CF_N_TEST, p->t->pos);
    cf_tstr *name = n != NULL ? parse_dotted(p, "expected token 'name'") : NULL;
    cf_tbody args = {0};
    if (name == NULL || !cf_t__vec_add(p, &args, value)) {
        return NULL;
    }
    n->val = cf_tv_str(name);
    n->id = cf_t__test_find(cf_tv_text(n->val));
    if (p->t->type == CF_TOK_LPAREN) {
        if (!parse_args(p, n, &args)) {
            return NULL;
        }
    } else if (starts_argument(p)) {
        if (cf_t__is_name(p, "is")) {
            cf_t__fail_at(p->r, p->t->pos, p->t->end, "You cannot chain multiple tests with is");
            return NULL;
        }
        cf_tnode *arg = parse_primary(p);
        if (!cf_t__vec_add(p, &args, parse_postfix(p, arg))) {
            return NULL;
        }
    }
    n->list = args.v;
    n->n = args.n;
    n->end = p->t[-1].end;
    if (!is_not) {
        return n;
    }
    return pair(p, CF_N_NOT, n, n);
}

static cf_tnode *parse_unary(cf_tparser *p, bool with_filter)
{
    cf_tnode *n;
    if (p->t->type == CF_TOK_SUB || p->t->type == CF_TOK_ADD) {
        const cf_tok *sign = p->t++;
        if (!cf_t__deeper(p)) {
            return NULL;
        }
        cf_tnode *a = parse_unary(p, false);
        p->depth--;
        n = pair(p, sign->type == CF_TOK_SUB ? CF_N_NEG : CF_N_POS, a, a);
        if (n != NULL) {
            n->pos = sign->pos;
        }
    } else {
        n = parse_primary(p);
    }
    n = parse_postfix(p, n);
    while (with_filter && n != NULL) {
        if (p->t->type == CF_TOK_PIPE) {
            n = cf_t__parse_filters(p, n, false);
        } else if (cf_t__is_name(p, "is")) {
            n = parse_test(p, n);
        } else if (p->t->type == CF_TOK_LPAREN) {
            n = parse_call(p, n);
        } else {
            break;
        }
    }
    return n;
}
