/*
 * inside_output.c - tables and JSON of confab inside.
 */
#include "tui/cli/inside/inside_output.h"

#include <math.h>
#include <stdlib.h>

#include "core/base/alloc.h"
#include "core/base/safe_text.h"

enum { TOP = 5, HEADS_SHOWN = 8, NAME_COLUMNS = 28 };

/* ---- text --------------------------------------------------------------- */

static void put_token(cf_buf *out, const cf_inside_case *c, cf_token id)
{
    cf_inside_token_text(out, c->engine.tok, id);
}

/* "position 41 of 52, after 'x'" */
static void put_place(cf_buf *out, const cf_inside_case *c)
{
    cf_buf_addf(out, "position %u of %zu, after ", c->at, c->n);
    put_token(out, c, c->ids[c->at]);
}

/* Text that fills its column. */
static void put_padded(cf_buf *out, const cf_buf *text, size_t width)
{
    cf_buf_add(out, text->p, text->n);
    for (size_t i = text->n; i < width; i++) {
        cf_buf_addc(out, ' ');
    }
    out->failed = out->failed || text->failed;
}

static void put_name(cf_buf *out, cf_str name)
{
    cf_buf safe = CF_BUF_INIT;
    cf_safe_line(&safe, name.p, name.n);
    put_padded(out, &safe, NAME_COLUMNS);
    cf_buf_deinit(&safe);
}

static void put_token_padded(cf_buf *out, const cf_inside_case *c, cf_token id, size_t width)
{
    cf_buf text = CF_BUF_INIT;
    put_token(&text, c, id);
    put_padded(out, &text, width);
    cf_buf_deinit(&text);
}

static void put_rival(cf_buf *out, const cf_inside_case *c, const cf_inside_rival *r)
{
    put_token(out, c, r->id);
    if (r->name.n > 0) {
        cf_buf_adds(out, " (");
        cf_safe_line(out, r->name.p, r->name.n);
        cf_buf_adds(out, ")");
    }
}

void cf_inside_text_lens(cf_buf *out, const cf_inside_case *c, const cf_inside_layers *v)
{
    put_place(out, c);
    cf_buf_adds(out, "\n");
    for (size_t k = 0; k < v->n_rival; k++) {
        cf_buf_addf(out, "  %c  ", (int)('A' + (int)(k % 26)));
        put_rival(out, c, &v->rival[k]);
        if (v->rival[k].turned != UINT32_MAX) {
            cf_buf_addf(out, ": best from layer %u on", v->rival[k].turned);
        }
        cf_buf_adds(out, "\n");
    }
    cf_buf_adds(out, "early layers are read badly: they were not made to be read there\n");
    cf_buf_adds(out, "layer  best                      rank and probability\n");
    for (uint32_t l = 0; l <= v->n_layer; l++) {
        cf_buf_addf(out, "%5u  ", l);
        put_token_padded(out, c, v->top[l], 18);
        cf_buf_addf(out, "%6.2f%%", 100 * v->p[l]);
        for (size_t k = 0; k < v->n_rival; k++) {
            cf_buf_addf(out, "  %c %u %.2f%%", (int)('A' + (int)(k % 26)), v->rival[k].rank[l] + 1,
                        100 * v->rival[k].p[l]);
        }
        cf_buf_adds(out, "\n");
    }
}

void cf_inside_text_look(cf_buf *out, const cf_inside_case *c, const cf_inside_look *v)
{
    put_place(out, c);
    cf_buf_adds(out, "\nlooked at, mean over all heads (where it looked is not a cause: see "
                     "confab inside without)\n");
    for (size_t i = 0; i < c->n_part; i++) {
        const cf_inside_share *s = &v->part[i];
        cf_buf_addf(out, "%7.2f%%  ", 100 * s->share);
        put_name(out, c->part[i].label);
        cf_buf_addf(out, "most %6.2f%%, head %u.%u\n", 100 * s->most, s->layer, s->head);
    }
    cf_buf_addf(out, "%7.2f%%  none of these parts\n", 100 * v->rest);
}

/* A head's or an expert's share. */
typedef struct writer {
    double v;
    uint32_t layer, index;
    bool is_expert;
} writer;

static int by_size(const void *a, const void *b)
{
    double x = fabs(((const writer *)a)->v), y = fabs(((const writer *)b)->v);
    return (x < y) - (x > y);
}

/* Heads and experts, the largest first. */
static void put_writers(cf_buf *out, const cf_margin *m)
{
    size_t n = 0, cap = 0;
    writer *all = NULL;
    for (uint32_t i = 0; i < m->n_layer; i++) {
        cap += m->layer[i].n_head + m->layer[i].n_expert;
    }
    all = cf_calloc(cap + 1, sizeof *all);
    for (uint32_t i = 0; all != NULL && i < m->n_layer; i++) {
        const cf_layer_share *l = &m->layer[i];
        for (uint32_t h = 0; h < l->n_head; h++) {
            all[n++] = (writer){l->head[h], i, h, false};
        }
        for (uint32_t e = 0; e < l->n_expert; e++) {
            all[n++] = (writer){l->expert[e].v, i, l->expert[e].expert, true};
        }
    }
    out->failed = out->failed || all == NULL;
    if (n > 0) {
        qsort(all, n, sizeof *all, by_size);
        cf_buf_adds(out, "heads and experts that wrote most\n");
    }
    for (size_t i = 0; i < n && i < HEADS_SHOWN; i++) {
        cf_buf_addf(out, "%+10.3f  %s %u.%u\n", all[i].v, all[i].is_expert ? "expert" : "head",
                    all[i].layer, all[i].index);
    }
    cf_free(all);
}

void cf_inside_text_margin(cf_buf *out, const cf_inside_case *c, const cf_margin *v)
{
    put_place(out, c);
    cf_buf_adds(out, "\nlogit(");
    put_token(out, c, c->a);
    if (c->against != CF_TOKEN_NONE) {
        cf_buf_adds(out, ") - logit(");
        put_token(out, c, c->against);
    }
    cf_buf_addf(out, ") = %.3f\n%+10.3f  embedding\n", v->margin, v->embedding);
    for (uint32_t i = 0; i < v->n_layer; i++) {
        const cf_layer_share *l = &v->layer[i];
        double all = l->attention + l->recurrent + l->mlp + l->other;
        cf_buf_addf(out, "%+10.3f  layer %-3u", all, i);
        if (l->has_attention) {
            cf_buf_addf(out, "  attention %+.3f", l->attention);
        }
        if (l->has_recurrent) {
            cf_buf_addf(out, "  recurrent %+.3f", l->recurrent);
        }
        cf_buf_addf(out, "  mlp %+.3f", l->mlp);
        if (l->has_other) {
            cf_buf_addf(out, "  other %+.3f", l->other);
        }
        cf_buf_adds(out, "\n");
    }
    if (v->bias != 0) {
        cf_buf_addf(out, "%+10.3f  bias\n", v->bias);
    }
    put_writers(out, v);
}

void cf_inside_text_rows(cf_buf *out, const cf_inside_case *c, const cf_inside_row *rows, size_t n)
{
    put_place(out, c);
    cf_buf_adds(out, "; the margin is logit(");
    put_token(out, c, c->a);
    cf_buf_adds(out, ") - logit(");
    put_token(out, c, c->against);
    cf_buf_adds(out, ")\n    margin    change  ");
    put_name(out, cf_str_from(""));
    cf_buf_adds(out, "best tokens\n");
    for (size_t i = 0; i < n; i++) {
        const cf_inside_answer *a = &rows[i].answer;
        cf_buf_addf(out, "%+10.3f", a->margin);
        if (i > 0) {
            cf_buf_addf(out, "%+10.3f  ", a->margin - rows[0].answer.margin);
        } else {
            cf_buf_adds(out, "            ");
        }
        put_name(out, rows[i].name);
        for (size_t k = 0; k < 3 && a->top[k] != CF_TOKEN_NONE; k++) {
            put_token(out, c, a->top[k]);
            cf_buf_addf(out, " %.1f%%  ", 100 * a->p[k]);
        }
        cf_buf_adds(out, i > 0 && a->top[0] != rows[0].answer.top[0] ? "another choice\n" : "\n");
    }
}

static cf_str choice_name(const cf_inside_case *c, const cf_inside_choice *v, size_t i)
{
    return v->is_no_call ? cf_str_from("no call") : c->tool[i].name;
}

void cf_inside_text_tools(cf_buf *out, const cf_inside_case *c, const cf_inside_choice *v)
{
    static const cf_inside_flip ways[] = {CF_FLIP_HIDE, CF_FLIP_MOVE, CF_FLIP_STEER};
    put_place(out, c);
    cf_buf_adds(out, "; margins are against what was written\n    margin  ");
    put_name(out, cf_str_from("tool"));
    cf_buf_adds(out, "what flips it\n");
    for (size_t i = 0; i < cf_inside_n_choice(c); i++) {
        cf_buf_addf(out, "%+10.3f%s ", v[i].margin + 0.0, v[i].is_written ? " >" : "  ");
        put_name(out, choice_name(c, &v[i], i));
        for (size_t k = 0; k < sizeof ways / sizeof *ways; k++) {
            cf_buf_adds(out, k > 0 ? "; " : "");
            cf_inside_flip_text(out, c, &v[i], ways[k]);
        }
        cf_buf_adds(out, "\n");
    }
}

/* The name of row r of a map. */
static cf_str row_name(const cf_inside_case *c, const cf_inside_map *v, size_t r)
{
    return v->part[r] < c->n_part ? c->part[v->part[r]].label : cf_str_from("the position itself");
}

void cf_inside_text_map(cf_buf *out, const cf_inside_case *c, const cf_inside_map *v)
{
    put_place(out, c);
    cf_buf_addf(out,
                "; margin %.3f, in the other prompt %.3f\n"
                "how much of the difference a part carries at the input of a layer, %%\n",
                v->margin, v->from_margin);
    put_name(out, cf_str_from("layer"));
    for (uint32_t l = 0; l < v->n; l++) {
        cf_buf_addf(out, "%5u", v->first + l);
    }
    cf_buf_adds(out, "\n");
    for (size_t r = 0; r < v->n_row; r++) {
        put_name(out, row_name(c, v, r));
        for (uint32_t l = 0; l < v->n; l++) {
            cf_buf_addf(out, "%5.0f", round(100 * v->v[l * v->n_row + r]) + 0.0); /* no "-0" */
        }
        cf_buf_adds(out, "\n");
    }
}

/* ---- JSON --------------------------------------------------------------- */

static void json_token(cf_jw *w, const char *key, const cf_inside_case *c, cf_token id)
{
    cf_buf piece = CF_BUF_INIT;
    if (id == CF_TOKEN_NONE) {
        cf_jw_null(w, key);
        return;
    }
    cf_tokenizer_piece(&piece, c->engine.tok, id, true);
    cf_jw_object(w, key);
    cf_jw_int(w, "id", id);
    cf_jw_bytes(w, "text", cf_buf_str(&piece));
    cf_jw_end(w);
    w->out->failed = w->out->failed || piece.failed;
    cf_buf_deinit(&piece);
}

void cf_inside_json_ask(cf_jw *w, const cf_inside_case *c)
{
    cf_jw_uint(w, "at", c->at);
    json_token(w, "token", c, c->ids[c->at]);
    if (c->a != CF_TOKEN_NONE) {
        json_token(w, "for", c, c->a);
        json_token(w, "against", c, c->against);
    }
}

/* A part: what it is, and where. */
static void json_part(cf_jw *w, const cf_inside_part *p)
{
    cf_jw_text(w, "part", cf_part_kind_name(p->part.kind));
    cf_jw_uint(w, "index", p->part.index);
    if (p->part.kind == CF_PART_SENTENCE || p->part.kind == CF_PART_WORD) {
        cf_jw_uint(w, "message", p->part.message);
    }
    cf_jw_str(w, "label", p->label);
    cf_jw_array(w, "positions");
    for (size_t i = 0; i < p->n_range; i++) {
        cf_jw_array(w, NULL);
        cf_jw_uint(w, NULL, p->range[i].first);
        cf_jw_uint(w, NULL, p->range[i].end);
        cf_jw_end(w);
    }
    cf_jw_end(w);
}

void cf_inside_json_lens(cf_jw *w, const cf_inside_case *c, const cf_inside_layers *v)
{
    cf_jw_array(w, "layers");
    for (uint32_t l = 0; l <= v->n_layer; l++) {
        cf_jw_object(w, NULL);
        cf_jw_uint(w, "layer", l);
        json_token(w, "best", c, v->top[l]);
        cf_jw_double(w, "p", v->p[l]);
        cf_jw_end(w);
    }
    cf_jw_end(w);
    cf_jw_array(w, "tokens");
    for (size_t k = 0; k < v->n_rival; k++) {
        const cf_inside_rival *r = &v->rival[k];
        cf_jw_object(w, NULL);
        json_token(w, "token", c, r->id);
        if (r->name.n > 0) {
            cf_jw_str(w, "name", r->name);
        }
        if (r->turned != UINT32_MAX) {
            cf_jw_uint(w, "best_from", r->turned);
        }
        cf_jw_array(w, "rank");
        for (uint32_t l = 0; l <= v->n_layer; l++) {
            cf_jw_uint(w, NULL, r->rank[l]);
        }
        cf_jw_end(w);
        cf_jw_array(w, "p");
        for (uint32_t l = 0; l <= v->n_layer; l++) {
            cf_jw_double(w, NULL, r->p[l]);
        }
        cf_jw_end(w);
        cf_jw_end(w);
    }
    cf_jw_end(w);
}

void cf_inside_json_look(cf_jw *w, const cf_inside_case *c, const cf_inside_look *v)
{
    cf_jw_array(w, "parts");
    for (size_t i = 0; i < c->n_part; i++) {
        const cf_inside_share *s = &v->part[i];
        cf_jw_object(w, NULL);
        json_part(w, &c->part[i]);
        cf_jw_double(w, "looked_at", s->share);
        cf_jw_object(w, "most");
        cf_jw_uint(w, "layer", s->layer);
        cf_jw_uint(w, "head", s->head);
        cf_jw_double(w, "looked_at", s->most);
        cf_jw_end(w);
        cf_jw_array(w, "layers");
        for (uint32_t l = 0; l < v->n_layer; l++) {
            if (v->layer[l].n_head != 0) {
                cf_jw_double(w, NULL, s->by_layer[l]);
            } else {
                cf_jw_null(w, NULL);
            }
        }
        cf_jw_end(w);
        cf_jw_end(w);
    }
    cf_jw_end(w);
    cf_jw_double(w, "rest", v->rest);
}

static void json_answer(cf_jw *w, const cf_inside_case *c, const cf_inside_answer *a)
{
    cf_jw_double(w, "margin", a->margin);
    cf_jw_array(w, "top");
    for (size_t k = 0; k < TOP && a->top[k] != CF_TOKEN_NONE; k++) {
        cf_jw_object(w, NULL);
        json_token(w, "token", c, a->top[k]);
        cf_jw_double(w, "p", a->p[k]);
        cf_jw_end(w);
    }
    cf_jw_end(w);
}

void cf_inside_json_rows(cf_jw *w, const cf_inside_case *c, const cf_inside_row *rows, size_t n)
{
    cf_jw_array(w, "rows");
    for (size_t i = 0; i < n; i++) {
        cf_jw_object(w, NULL);
        cf_jw_str(w, "change", rows[i].name);
        json_answer(w, c, &rows[i].answer);
        cf_jw_bool(w, "flips", rows[i].answer.top[0] != rows[0].answer.top[0]);
        cf_jw_end(w);
    }
    cf_jw_end(w);
}

void cf_inside_json_tools(cf_jw *w, const cf_inside_case *c, const cf_inside_choice *v)
{
    static const char *const names[] = {[CF_FLIP_DRAW] = "draw",
                                        [CF_FLIP_HIDE] = "hide",
                                        [CF_FLIP_MOVE] = "move",
                                        [CF_FLIP_STEER] = "steer"};
    cf_jw_array(w, "tools");
    for (size_t i = 0; i < cf_inside_n_choice(c); i++) {
        cf_jw_object(w, NULL);
        cf_jw_str(w, "name", choice_name(c, &v[i], i));
        cf_jw_bool(w, "written", v[i].is_written);
        cf_jw_uint(w, "at", v[i].at);
        json_token(w, "token", c, v[i].id);
        cf_jw_double(w, "margin", v[i].margin);
        if (v[i].least != CF_FLIP_NONE) {
            cf_jw_text(w, "flip", names[v[i].least]);
        }
        if (v[i].hide < c->n_part) {
            cf_jw_object(w, "hide");
            json_part(w, &c->part[v[i].hide]);
            cf_jw_end(w);
        }
        if (v[i].place != SIZE_MAX) {
            cf_jw_uint(w, "move", v[i].place);
        }
        if (v[i].k != 0) {
            cf_jw_double(w, "steer", (double)v[i].k);
        }
        cf_jw_end(w);
    }
    cf_jw_end(w);
}

void cf_inside_json_map(cf_jw *w, const cf_inside_case *c, const cf_inside_map *v)
{
    cf_jw_double(w, "margin", v->margin);
    cf_jw_double(w, "from_margin", v->from_margin);
    cf_jw_uint(w, "first_layer", v->first);
    cf_jw_array(w, "rows");
    for (size_t r = 0; r < v->n_row; r++) {
        cf_jw_object(w, NULL);
        if (v->part[r] < c->n_part) {
            json_part(w, &c->part[v->part[r]]);
        } else {
            cf_jw_str(w, "label", row_name(c, v, r));
        }
        cf_jw_array(w, "carried");
        for (uint32_t l = 0; l < v->n; l++) {
            cf_jw_double(w, NULL, v->v[l * v->n_row + r]);
        }
        cf_jw_end(w);
        cf_jw_end(w);
    }
    cf_jw_end(w);
}
