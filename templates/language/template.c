/*
 * template.c - compiling a template, rendering it, and turning what was
 * noted about origins into spans.
 */
#include "templates/template.h"

#include "core/base/alloc.h"
#include "core/base/safe_text.h"
#include "core/base/utf8.h"
#include "templates/language/cause.h"
#include "templates/language/number.h"

enum { FIRST_OUTPUT = 1024, FIRST_SEGMENTS = 48 };
enum { SOURCE_MAX = 4 << 20, COMPILE_MEMORY = 96 << 20, COMPILE_DEPTH = 1200 };

static const cf_template_limits defaults = {
    .max_steps = 4000000,
    .max_output_bytes = 16 << 20,
    .max_memory_bytes = 128 << 20,
    .max_depth = 900,
};

/* ---- places ------------------------------------------------------------- */

/* Offset in the source as given, of an offset in the text. */
static uint32_t source_off(const cf_template *t, uint32_t off)
{
    uint32_t lo = 0, hi = t->n_crlf;
    while (lo < hi) {
        uint32_t mid = (lo + hi) / 2;
        if (t->crlf[mid] < off) {
            lo = mid + 1;
        } else {
            hi = mid;
        }
    }
    return off + lo;
}

void cf_t__line_of(const cf_template *t, uint32_t off, uint32_t *line, uint32_t *col)
{
    uint32_t lo = 0, hi = t->n_line;
    while (hi - lo > 1) {
        uint32_t mid = (lo + hi) / 2;
        if (t->line[mid] <= off) {
            lo = mid;
        } else {
            hi = mid;
        }
    }
    *line = lo + 1;
    *col = off - t->line[lo] + 1;
}

cf_tv cf_t__fail_at(cf_tr *r, uint32_t pos, uint32_t end, const char *fmt, ...)
{
    if (r->error == CF_TE_NONE) {
        char text[300];
        va_list ap;
        va_start(ap, fmt);
        vsnprintf(text, sizeof text, fmt, ap);
        va_end(ap);
        cf_t__fail(r, "%s", text);
    }
    if (r->err_pos == 0) {
        r->err_pos = pos + 1;
        r->err_end = end + 1;
    }
    return CF_TV_ERR;
}

static cf_status status_of(const cf_tr *r)
{
    switch (r->error) {
    case CF_TE_LIMIT:
        return CF_ELIMIT;
    case CF_TE_MEMORY:
        return CF_ENOMEM;
    case CF_TE_CANCELLED:
        return CF_ECANCELLED;
    default:
        return r->arena->failed ? CF_ENOMEM : CF_EFORMAT;
    }
}

/* Copies the error of r for the caller. */
static cf_status report(const cf_tr *r, const cf_template *t, cf_template_error *why, cf_error *err)
{
    cf_status st = status_of(r);
    cf_template_error e = {.message = r->message, .is_raised = r->error == CF_TE_RAISED};
    if (st == CF_ENOMEM) {
        e.message = cf_str_from("out of memory");
    }
    if (r->err_pos != 0) {
        uint32_t from = r->err_pos - 1;
        uint32_t end = r->err_end > r->err_pos ? r->err_end - 1 : from;
        from = from > t->text.n ? (uint32_t)t->text.n : from;
        end = end > t->text.n ? (uint32_t)t->text.n : end;
        cf_t__line_of(t, from, &e.line, &e.col);
        e.off = source_off(t, from);
        e.len = source_off(t, end) - e.off;
    }
    if (why != NULL) {
        *why = e;
    }
    int n = e.message.n < 200 ? (int)e.message.n : 200;
    if (e.line == 0) {
        return cf_fail(err, st, "%.*s", n, e.message.p);
    }
    cf_fail_line(err, st, e.line, e.col, "line %u, column %u: %.*s", (unsigned)e.line,
                 (unsigned)e.col, n, e.message.p);
    return st;
}

void cf_template_caret(cf_buf *out, cf_str source, const cf_template_error *why)
{
    if (why->line == 0 || why->off > source.n) {
        return;
    }
    size_t from = why->off, end = why->off;
    while (from > 0 && source.p[from - 1] != '\n') {
        from--;
    }
    while (end < source.n && source.p[end] != '\n' && source.p[end] != '\r') {
        end++;
    }
    if (why->off - from > 100) { /* for a long line only the part around the error */
        from = why->off - 60;
        while ((source.p[from] & 0xC0) == 0x80) {
            from++;
        }
    }
    size_t shown = end - from > 160 ? from + 160 : end;
    while (shown < end && (source.p[shown] & 0xC0) == 0x80) {
        shown++;
    }
    for (size_t i = from; i < shown;) {
        uint32_t len, cp = cf_t__cp(source.p + i, &len);
        if (cp == '\t' || cf_safe_is_harmful(cp)) {
            cf_buf_addc(out, ' '); /* one column, as the carets count */
        } else {
            cf_buf_add(out, source.p + i, len);
        }
        i += len;
    }
    cf_buf_addc(out, '\n');
    for (size_t i = from; i < why->off; i++) {
        if ((source.p[i] & 0xC0) != 0x80) {
            cf_buf_addc(out, ' ');
        }
    }
    size_t last = why->off + (why->len != 0 ? why->len : 1);
    for (size_t i = why->off; i < last && (i < shown || i == why->off); i++) {
        if (i >= source.n || (source.p[i] & 0xC0) != 0x80) {
            cf_buf_addc(out, '^');
        }
    }
    cf_buf_addc(out, '\n');
}

/* ---- compiling ---------------------------------------------------------- */

/* Line ends become \n; one at the end is dropped. */
static bool normalise(cf_tr *r, cf_template *t)
{
    size_t n = 0, n_cr = 0, n_line = 1;
    const cf_str s = t->source;
    for (size_t i = 0; i < s.n; i++) {
        n_cr += s.p[i] == '\r' && i + 1 < s.n && s.p[i + 1] == '\n';
        n_line += s.p[i] == '\n' || s.p[i] == '\r';
    }
    char *text = cf_t__alloc(r, s.n + 1);
    t->crlf = cf_t__alloc(r, (n_cr + 1) * sizeof *t->crlf);
    t->line = cf_t__alloc(r, (n_line + 1) * sizeof *t->line);
    if (text == NULL || t->crlf == NULL || t->line == NULL) {
        return false;
    }
    t->line[t->n_line++] = 0;
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        if (c == '\r') {
            if (i + 1 < s.n && s.p[i + 1] == '\n') {
                t->crlf[t->n_crlf++] = (uint32_t)n;
                i++;
            }
            c = '\n';
        }
        text[n++] = c;
        if (c == '\n') {
            t->line[t->n_line++] = (uint32_t)n;
        }
    }
    if (n > 0 && text[n - 1] == '\n' && !t->options.keep_trailing_newline) {
        n--;
    }
    t->text = cf_str_make(text, n);
    return true;
}

/* Whether an expression names a method that would change a list or dict, and
 * may. */
static bool mutates(const cf_template *t, const cf_tok *tok)
{
    for (; t->options.allow_mutation && tok->type != CF_TOK_EOF; tok++) {
        if ((tok->type == CF_TOK_NAME || tok->type == CF_TOK_STRING) &&
            cf_t__method_mutates(cf_t__method_find(tok->text))) {
            return true;
        }
    }
    return false;
}

static bool build(cf_tr *r, cf_template *t)
{
    if (!normalise(r, t)) {
        return false;
    }
    const cf_tok *tokens = cf_t__lex(r, t);
    if (tokens == NULL) {
        return false;
    }
    t->may_mutate = mutates(t, tokens);
    return cf_t__parse(r, t, tokens) && cf_t__resolve(r, t);
}

cf_status cf_template_compile(cf_template **out, cf_str source, const cf_template_options *options,
                              cf_arena *arena, cf_template_error *why, cf_error *err)
{
    if (why != NULL) {
        *why = (cf_template_error){0};
    }
    if (source.n > SOURCE_MAX) {
        return cf_fail(err, CF_ELIMIT, "the template is over %d bytes", SOURCE_MAX);
    }
    size_t good = cf_utf8_valid_prefix(source.p, source.n);
    if (good != source.n) {
        return cf_fail_at(err, CF_EFORMAT, good, "the template is not UTF-8 at byte %zu", good);
    }
    cf_template *t = cf_calloc(1, sizeof *t);
    if (t == NULL) {
        return cf_oom(err);
    }
    t->memo = cf_calloc(1, sizeof *t->memo);
    if (t->memo == NULL) {
        cf_free(t);
        return cf_oom(err);
    }
    cf_arena_init(&t->arena, 0);
    cf_tr r = {.arena = &t->arena,
               .max_mem = COMPILE_MEMORY,
               .max_steps = UINT64_MAX,
               .max_depth = COMPILE_DEPTH,
               .max_out = SOURCE_MAX};
    if (options != NULL) {
        t->options = *options;
    }
    char *copy = cf_t__alloc(&r, source.n + 1);
    cf_status st = CF_OK;
    if (copy == NULL) {
        st = cf_oom(err);
    } else {
        if (source.n != 0) {
            memcpy(copy, source.p, source.n);
        }
        t->source = cf_str_make(copy, source.n);
        if (!build(&r, t)) {
            st = report(&r, t, why, err);
        }
    }
    if (st == CF_OK) {
        *out = t;
        return CF_OK;
    }
    if (why != NULL) {
        char *kept = arena != NULL ? cf_arena_strndup(arena, why->message.p, why->message.n) : NULL;
        why->message = kept != NULL ? cf_str_make(kept, why->message.n) : cf_str_from("");
    }
    cf_template_free(t);
    return st;
}

void cf_template_free(cf_template *t)
{
    if (t != NULL) {
        if (t->memo != NULL) {
            cf_free(atomic_load(&t->memo->caps));
        }
        cf_free(t->memo);
        cf_arena_deinit(&t->arena);
        cf_free(t);
    }
}

cf_str cf_template_source(const cf_template *t)
{
    return t->source;
}

/* ---- spans -------------------------------------------------------------- */

/* "a, b, c": what a computed stretch was made of. */
static cf_str inputs_text(cf_tr *r, const cf_torg *o)
{
    cf_tsb b;
    cf_t__sb_init(&b, r);
    for (uint32_t i = 0; i < o->n_inputs; i++) {
        const cf_torg *in = cf_t__org_get(r, o->inputs[i]);
        char head[40] = "";
        if (in == NULL) {
            continue;
        }
        if (in->source == CF_SPAN_MESSAGE || in->source == CF_SPAN_TOOL) {
            snprintf(head, sizeof head, "%s[%u]",
                     in->source == CF_SPAN_MESSAGE ? "messages" : "tools", (unsigned)in->index);
        }
        cf_t__sb_adds(&b, b.n != 0 ? ", " : "", 0);
        cf_t__sb_adds(&b, head, 0);
        cf_t__sb_add(&b, in->path.p, in->path.n, 0, CF_NO_COPY, 0);
    }
    return cf_str_make(b.n != 0 ? b.p : "", b.n);
}

static bool make_spans(cf_tr *r, const cf_prompt_cause *causes, cf_prompt *out)
{
    const cf_template *t = r->tpl;
    cf_prompt_span *v = cf_t__alloc(r, (r->root.n_seg + 1) * sizeof *v);
    if (v == NULL) {
        return false;
    }
    uint32_t at = 0, last_pos = 0, line = 1, col = 1;
    for (uint32_t i = 0; i < r->root.n_seg; i++) {
        const cf_tseg *g = &r->root.seg[i];
        const cf_torg *o = cf_t__org_get(r, g->org);
        uint32_t pos = cf_t__site_pos(r, g->pos);
        if (pos != last_pos && pos != 0) {
            cf_t__line_of(t, pos - 1, &line, &col);
            last_pos = pos;
        }
        cf_prompt_span *s = &v[i];
        *s = (cf_prompt_span){.off = at, .len = g->len, .line = line, .col = col};
        s->cause = cf_t__cause_of(r, causes, g->pos);
        s->path = cf_str_make("", 0);
        if (g->org == CF_ORG_TEMPLATE) {
            s->source = CF_SPAN_TEMPLATE;
            s->is_copy = g->off != CF_NO_COPY;
            s->src_off = s->is_copy ? source_off(t, g->off) : 0;
            if (s->is_copy && ((size_t)s->src_off + g->len > t->source.n ||
                               memcmp(t->source.p + s->src_off, r->root.p + at, g->len) != 0)) {
                s->is_copy = false; /* contains a line end that was normalised */
                s->src_off = 0;
            }
        } else if (o == NULL) {
            s->source = CF_SPAN_COMPUTED;
        } else {
            s->source = (cf_span_source)o->source;
            s->index = o->index;
            s->path = o->source == CF_SPAN_COMPUTED ? inputs_text(r, o) : o->path;
            s->is_copy = g->off != CF_NO_COPY && o->source != CF_SPAN_COMPUTED;
            s->src_off = s->is_copy ? g->off : 0;
        }
        at += g->len;
    }
    out->spans = v;
    out->n_spans = r->root.n_seg;
    return r->error == CF_TE_NONE;
}

/* ---- continuing the last message ---------------------------------------- */

static const char final_tag[] = "CONTINUE_FINAL_MESSAGE_TAG ";
enum { TAG_BYTES = sizeof final_tag - 1, TAG_WORD = TAG_BYTES - 1 };

static cf_tentry *entry(cf_tr *r, cf_tdict *d, const char *name)
{
    cf_tstr key = {.p = name, .n = (uint32_t)strlen(name)};
    return cf_t__dict_find_str(r, d, &key);
}

/* text + tag */
static bool tagged(cf_tr *r, cf_tv *text, const cf_tstr **was)
{
    cf_tv tag = cf_t__str_cstr(r, final_tag);
    if (tag.k == CF_TERR) {
        return false;
    }
    *was = text->u.s;
    *text = cf_t__concat(r, text->u.s, tag.u.s);
    if (text->k == CF_TERR) {
        return false;
    }
    cf_t__str_cps(text->u.s);
    return true;
}

static cf_tv copy_of(cf_tr *r, cf_tv v)
{
    if (v.k == CF_TDICT) {
        v.u.d = cf_t__dict_copy(r, v.u.d);
        return v.u.d != NULL ? v : CF_TV_ERR;
    }
    cf_tlist *l = cf_t__to_list(r, v);
    return l != NULL ? (cf_tv){.k = v.k, .org = v.org, .u.l = l} : CF_TV_ERR;
}

/* Appends the tag to the last message's text; *was is the original text. */
static bool tag_final(cf_tr *r, const cf_tstr **was)
{
    *was = NULL;
    cf_tdict *vars = cf_t__dict_copy(r, r->vars);
    cf_tentry *messages = vars != NULL ? entry(r, vars, "messages") : NULL;
    if (vars == NULL) {
        return false;
    }
    if (messages == NULL || messages->val.k != CF_TLIST || messages->val.u.l->n == 0) {
        cf_t__fail(r, "there is no final message to continue");
        return false;
    }
    messages->val = copy_of(r, messages->val);
    if (messages->val.k == CF_TERR) {
        return false;
    }
    cf_tv *last = &messages->val.u.l->v[messages->val.u.l->n - 1];
    if (last->k == CF_TDICT) {
        *last = copy_of(r, *last);
    }
    cf_tentry *content = last->k == CF_TDICT ? entry(r, last->u.d, "content") : NULL;
    r->vars = vars;
    if (content != NULL && content->val.k == CF_TSTR) {
        return tagged(r, &content->val, was);
    }
    if (content != NULL && content->val.k == CF_TLIST) {
        content->val = copy_of(r, content->val);
        for (uint32_t i = content->val.k == CF_TLIST ? content->val.u.l->n : 0; i-- > 0;) {
            cf_tv *part = &content->val.u.l->v[i];
            if (part->k != CF_TDICT || entry(r, part->u.d, "text") == NULL) {
                continue;
            }
            *part = copy_of(r, *part);
            cf_tentry *text = part->k == CF_TDICT ? entry(r, part->u.d, "text") : NULL;
            return text != NULL && text->val.k == CF_TSTR && tagged(r, &text->val, was);
        }
    }
    cf_t__fail(r, "the final message has no text to continue");
    return false;
}

/* Truncates the output at the tag. */
static bool cut_final(cf_tr *r, const cf_tstr *was)
{
    cf_str text = cf_str_make(r->root.p, r->root.n);
    cf_tv stripped = cf_t__strip(r, was, NULL, true, true);
    uint32_t at = cf_t__rfind(text, cf_str_make(final_tag, TAG_WORD));
    if (stripped.k == CF_TERR) {
        return false;
    }
    if (at == UINT32_MAX || cf_t__find(text, cf_tv_text(stripped), 0) == UINT32_MAX) {
        cf_t__fail(r, "the final message does not appear in the output, so it "
                      "cannot be continued");
        return false;
    }
    bool whole = text.n - at >= TAG_BYTES && text.p[at + TAG_WORD] == ' ';
    if (!whole) {
        cf_tstr head = {.p = text.p, .n = at, .n_cp = CF_CP_UNKNOWN, .one = {at, 0, 0, 0}};
        cf_tv left = cf_t__strip(r, &head, NULL, false, true);
        if (left.k == CF_TERR) {
            return false;
        }
        at = left.u.s->n;
    }
    uint32_t n = 0, i = 0;
    while (i < r->root.n_seg && n + r->root.seg[i].len <= at) {
        n += r->root.seg[i++].len;
    }
    if (i < r->root.n_seg && n < at) {
        r->root.seg[i++].len = at - n;
    }
    r->root.n_seg = i;
    r->root.n = at;
    return true;
}

/* ---- rendering ---------------------------------------------------------- */

/* Copies lists and dicts that the template may change. */
static cf_tv deep_copy(cf_tr *r, cf_tv v)
{
    if ((v.k != CF_TDICT && v.k != CF_TLIST) || !cf_t__enter(r)) {
        return v.k != CF_TDICT && v.k != CF_TLIST ? v : CF_TV_ERR;
    }
    v = copy_of(r, v);
    for (uint32_t i = 0; v.k == CF_TDICT && i < v.u.d->n; i++) {
        v.u.d->e[i].val = deep_copy(r, v.u.d->e[i].val);
        CF_TVTRY(v.u.d->e[i].val);
    }
    for (uint32_t i = 0; v.k == CF_TLIST && i < v.u.l->n; i++) {
        v.u.l->v[i] = deep_copy(r, v.u.l->v[i]);
        CF_TVTRY(v.u.l->v[i]);
    }
    cf_t__leave(r);
    return v;
}

static bool run(cf_tr *r, const cf_render_options *o)
{
    const cf_tstr *was = NULL;
    if (r->tpl->may_mutate) {
        cf_tv vars = deep_copy(r, cf_tv_dict(r->vars));
        if (vars.k == CF_TERR) {
            return false;
        }
        r->vars = vars.u.d;
    }
    if (o->continue_final_message && !tag_final(r, &was)) {
        return false;
    }
    return cf_t__run(r) && (was == NULL || cut_final(r, was));
}

static uint64_t or_default(uint64_t v, uint64_t otherwise)
{
    return v != 0 ? v : otherwise;
}

/* Also done after a failure; false if memory runs out. */
static bool give_causes(cf_tr *r, cf_render *out)
{
    cf_prompt_cause *v = cf_t__causes(r);
    if (v == NULL) {
        return false;
    }
    out->causes = v;
    out->n_causes = r->record->n;
    if (r->error != CF_TE_NONE && r->record->now != 0) {
        out->failed_under = &v[r->record->now - 1];
    }
    return true;
}

cf_status cf_template_render(const cf_template *tpl, const cf_context *context,
                             const cf_render_options *options, cf_arena *arena, cf_render *out,
                             cf_error *err)
{
    static const cf_render_options none;
    const cf_render_options *o = options != NULL ? options : &none;
    cf_tr r = {.arena = arena, .tpl = tpl, .ctx = context};
    r.vars = context->vars;
    r.max_steps = or_default(o->limits.max_steps, defaults.max_steps);
    r.cancel = o->cancel;
    r.now = o->now;
    r.max_out = or_default(o->limits.max_output_bytes, defaults.max_output_bytes);
    r.max_out = r.max_out > UINT32_MAX / 4 ? UINT32_MAX / 4 : r.max_out;
    r.max_mem = or_default(o->limits.max_memory_bytes, defaults.max_memory_bytes);
    r.max_depth = (uint32_t)or_default(o->limits.max_depth, defaults.max_depth);
    r.allow_mutation = tpl->options.allow_mutation;
    cf_t__sb_init(&r.root, &r);
    r.root.is_output = true;
    r.out = &r.root;
    cf_t__sb_reserve(&r.root, FIRST_OUTPUT, FIRST_SEGMENTS);
    *out = (cf_render){.has_generation = tpl->has_generation};
    cf_trecord record = {.n = 0};
    r.record = o->causes ? &record : NULL;
    bool ok = run(&r, o);
    if (o->causes) {
        ok = give_causes(&r, out) && ok;
    }
    ok = ok && (o->no_spans || make_spans(&r, out->causes, &out->prompt));
    out->n_steps = r.steps;
    if (!ok) {
        cf_status st = report(&r, tpl, &out->error, err);
        out->prompt = (cf_prompt){0};
        return st;
    }
    out->prompt.text = cf_str_make(r.root.n != 0 ? r.root.p : "", r.root.n);
    out->generation = r.gens.v;
    out->n_generation = r.gens.n;
    return CF_OK;
}
