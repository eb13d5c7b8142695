/*
 * report_inside.c - what chose the called tool, or the reply's first token: parts
 * that were looked at and hidden, layers, tools and what flips them.
 */
#include "tui/study/report/report_impl.h"

/* A cell with the text so far, which is emptied. */
static void put_cell(cf_page *p, cf_buf *text)
{
    p->text.failed = p->text.failed || text->failed;
    cf_page_say(p, CF_PAGE_CELL, CF_LOOK_PLAIN, cf_buf_str(text));
    cf_buf_restart(text);
}

static void begin_table(cf_page *p, const char *title, const char *const *names)
{
    cf_page_begin(p, CF_PAGE_BOX, CF_LOOK_PLAIN, cf_str_from(title));
    cf_page_begin(p, CF_PAGE_TABLE, CF_LOOK_PLAIN, cf_str_from(""));
    cf_report__headings(p, names);
}

static void end_table(cf_page *p)
{
    cf_page_end(p, CF_PAGE_TABLE);
    cf_page_end(p, CF_PAGE_BOX);
}

static void put_parts(cf_page *p, const cf_inside_work *w, cf_buf *text)
{
    begin_table(p, "Parts",
                (const char *const[]){"part", "#looked at", "#margin if hidden", "then", NULL});
    for (size_t i = 0; i < w->c.n_part; i++) {
        const cf_inside_answer *a = &w->without[i];
        cf_page_begin(p, CF_PAGE_ROW, CF_LOOK_PLAIN, cf_str_from(""));
        cf_buf_add(text, w->c.part[i].label.p, w->c.part[i].label.n);
        put_cell(p, text);
        cf_buf_addf(text, "%.1f%%", 100 * w->share[i]);
        put_cell(p, text);
        cf_buf_addf(text, "%+.2f", a->margin + 0.0);
        put_cell(p, text);
        cf_inside_token_text(text, w->c.engine.tok, a->top[0]);
        cf_buf_addf(text, " %.0f%%", 100 * a->p[0]);
        put_cell(p, text);
        cf_page_end(p, CF_PAGE_ROW);
    }
    end_table(p);
}

/* What each layer wrote into the margin, the ranks of both tokens, its best. */
static void put_layers(cf_page *p, const cf_inside_work *w, cf_buf *text)
{
    begin_table(p, "Layers (early ones are read badly)",
                (const char *const[]){"#layer", "#wrote", "#rank", "#of the other", "best", NULL});
    for (uint32_t l = 0; l <= w->layers.n_layer; l++) {
        cf_page_begin(p, CF_PAGE_ROW, CF_LOOK_PLAIN, cf_str_from(""));
        cf_buf_addf(text, "%u", l);
        put_cell(p, text);
        cf_buf_addf(text, "%+.2f", cf_inside_work_wrote(w, l, 0, 1) + 0.0);
        put_cell(p, text);
        for (int k = 0; k < 2; k++) {
            cf_buf_addf(text, "%u", w->layers.rival[k].rank[l] + 1);
            put_cell(p, text);
        }
        cf_inside_token_text(text, w->c.engine.tok, w->layers.top[l]);
        cf_buf_addf(text, " %.0f%%", 100 * w->layers.p[l]);
        put_cell(p, text);
        cf_page_end(p, CF_PAGE_ROW);
    }
    end_table(p);
}

static void put_tools(cf_page *p, const cf_inside_work *w, cf_buf *text)
{
    begin_table(p, "Tools", (const char *const[]){"tool", "#margin", "what flips it", NULL});
    for (size_t i = 0; i < cf_inside_n_choice(&w->c); i++) {
        const cf_inside_choice *v = &w->choice[i];
        cf_str name = v->is_no_call ? cf_str_from("no call") : w->c.tool[i].name;
        cf_page_begin(p, CF_PAGE_ROW, v->is_written ? CF_LOOK_HERE : CF_LOOK_PLAIN,
                      cf_str_from(""));
        cf_buf_add(text, name.p, name.n);
        put_cell(p, text);
        cf_buf_addf(text, "%+.2f", v->margin + 0.0);
        put_cell(p, text);
        cf_inside_flip_text(text, &w->c, v, v->least);
        put_cell(p, text);
        cf_page_end(p, CF_PAGE_ROW);
    }
    end_table(p);
}

void cf_report__inside(cf_page *p, const cf_report_facts *f)
{
    const cf_inside_work *w = f->inside;
    cf_buf text = CF_BUF_INIT;
    if (!f->from.looks || f->turn == NULL) {
        return;
    }
    cf_report__section(p, "Inside",
                       "what was looked at is not a cause; what hiding a part changes is");
    if (w == NULL) {
        cf_page_say(p, CF_PAGE_WARNING, CF_LOOK_DIM, cf_str_from(f->inside_why.text));
    } else {
        cf_inside_token_text(&text, w->c.engine.tok, w->c.a);
        cf_buf_adds(&text, " against ");
        cf_inside_token_text(&text, w->c.engine.tok, w->c.against);
        cf_buf_addf(&text, " at token %u: margin %+.2f", w->c.at, w->plain.margin);
        cf_page_say(p, CF_PAGE_REMARK, CF_LOOK_PLAIN, cf_buf_str(&text));
        cf_buf_restart(&text);
        put_parts(p, w, &text);
        put_layers(p, w, &text);
        if (w->choice != NULL) {
            put_tools(p, w, &text);
        }
    }
    cf_page_end(p, CF_PAGE_SECTION);
    cf_buf_deinit(&text);
}
