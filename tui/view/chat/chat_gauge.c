/*
 * chat_gauge.c - what the next prompt takes of the context, before it is sent.
 *
 * The prompt of a short conversation is made again for each change of the
 * unsent text, as the Prompt view does.  A long one is not, since a key must not wait
 * for it: the count without the unsent text is taken from the last reply, and the
 * unsent text's own tokens are added.
 */
#include "core/api/backend.h"
#include "core/api/engine.h"
#include "core/api/session.h"
#include "core/api/tokenizer.h"
#include "tui/lab/prompt/lab_prompt.h"
#include "tui/lab/talk/lab_conversation.h"
#include "tui/lab/talk/lab_messages.h"
#include "tui/view/chat/chat.h"

enum {
    EXACT_BYTES = 12000,   /* of the path and the unsent text */
    EXACT_PARTS = 4 << 20, /* of pictures and sounds with the unsent text, as text */
    DRAFT_BYTES = 16000,   /* tokenised at once */
    AMBER = 80,            /* percent */
    MARKS = 8              /* tokens around a message, roughly */
};

/* Bytes of the path, or more than EXACT_BYTES. */
static size_t path_bytes(cf_app *app)
{
    size_t n, sum = 0;
    const cf_turn *const *path = cf_lab_path(app->lab, &n);
    for (size_t i = 0; i < n && sum <= EXACT_BYTES; i++) {
        const cf_chat_text *t = cf_chat__text_of(cf_chat__state(app), path[i]);
        sum += t != NULL ? t->text.n + t->thinking.n : 0;
    }
    return sum;
}

/* Tokens of a text, counted or guessed. */
static size_t count(const cf_tokenizer *tok, cf_str text)
{
    if (text.n == 0) {
        return 0;
    }
    if (tok != NULL && text.n <= DRAFT_BYTES) {
        cf_arena arena;
        cf_token_list list = {NULL, 0};
        cf_arena_init(&arena, 0);
        bool ok = cf_tokenizer_encode(&list, tok, text, false, false, &arena, NULL) == CF_OK;
        size_t n = list.n;
        cf_arena_deinit(&arena);
        if (ok) {
            return n;
        }
    }
    return text.n / 4 + 1;
}

/* The first turns without which a prompt would fit: whole messages of it, from
 * the front.  0: without all of them it is too long. */
static size_t turns_to_drop(cf_app *app, const cf_prompt_model *m, size_t n_ctx)
{
    size_t n_path;
    cf_lab_path(app->lab, &n_path);
    size_t first = cf_lab_message_of(app->lab, 0), n = m->n;
    for (size_t k = 0; k < n_path; k++) {
        for (size_t i = 0; i < m->n; i++) {
            n -= m->token[i].message == (int32_t)(first + k);
        }
        if (n < n_ctx) {
            return k + 1;
        }
    }
    return 0;
}

static size_t tokens_of_tools(const cf_prompt_model *m)
{
    size_t n = 0;
    for (size_t i = 0; i < m->n; i++) {
        n += m->token[i].message == CF_PART_TOOLS;
    }
    return n;
}

/* Exactly, by the prompt itself. */
static bool measure(cf_app *app, cf_chat_gauge *g)
{
    const cf_prompt_model *m = cf_lab_prompt(app->lab);
    if (m == NULL || (m->n == 0 && cf_lab_info(app->lab).server[0] != '\0')) {
        return false;
    }
    g->n_prompt = m->n;
    g->is_estimate = false;
    g->n_drop = m->n >= g->n_ctx ? turns_to_drop(app, m, g->n_ctx) : 0;
    g->n_tools = m->n >= g->n_ctx && g->n_drop == 0 ? tokens_of_tools(m) : 0;
    return true;
}

/* From the last reply that says what it read, and what came after it. */
static void estimate(cf_app *app, cf_chat_gauge *g)
{
    const cf_tokenizer *tok = cf_lab_engine_of(app->lab)->tokenizer;
    size_t n;
    const cf_turn *const *path = cf_lab_path(app->lab, &n);
    if (g->base_generation != cf_lab_generation(app->lab)) {
        g->base_generation = cf_lab_generation(app->lab);
        g->n_base = 0;
        for (size_t i = n; i-- > 0;) {
            const cf_reply *r = cf_lab_reply(app->lab, path[i]->id);
            if (r != NULL && r->usage.is_known && r->usage.n_prompt > 0) {
                g->n_base += (size_t)(r->usage.n_prompt + r->usage.n_reply);
                break;
            }
            const cf_chat_text *t = cf_chat__text_of(cf_chat__state(app), path[i]);
            g->n_base += MARKS + (t != NULL ? t->text.n / 4 : 0);
        }
    }
    cf_str unsent = cf_lab_unsent(app->lab);
    g->n_prompt = g->n_base + MARKS + count(tok, unsent);
    g->is_estimate = true;
    g->n_drop = g->n_tools = 0;
}

const cf_chat_gauge *cf_chat__gauge(cf_app *app)
{
    cf_chat_gauge *g = &cf_chat__state(app)->gauge;
    const cf_lab_engine *e = cf_lab_engine_of(app->lab);
    cf_str unsent = cf_lab_unsent(app->lab);
    size_t n_path, parts = cf_lab_unsent_parts_size(app->lab);
    cf_lab_path(app->lab, &n_path);
    if (e->tokenizer == NULL || (n_path == 0 && unsent.n == 0 && parts == 0)) {
        return NULL;
    }
    if (g->n_ctx == 0) {
        g->n_ctx = cf_lab_context_size(app->lab);
    }
    if (g->n_ctx == 0) {
        return NULL;
    }
    bool is_short = path_bytes(app) + unsent.n <= EXACT_BYTES && parts <= EXACT_PARTS;
    if (cf_lab_is_busy(app->lab)) {
        return g->n_prompt != 0 ? g : NULL; /* as it was sent */
    }
    if (!is_short || !measure(app, g)) {
        estimate(app, g);
    }
    return g;
}

void cf_chat__gauge_text(const cf_chat_gauge *g, cf_buf *out)
{
    if (g->n_tools > 0) { /* first, since the line may be cut */
        cf_buf_addf(out, "the tools are %zu of %zu: gS", g->n_tools, g->n_ctx);
        return;
    }
    cf_buf_addf(out, "prompt %s%zu of %zu", g->is_estimate ? "~" : "", g->n_prompt, g->n_ctx);
    if (g->n_prompt >= g->n_ctx) {
        cf_buf_addf(out, ", %zu too many", g->n_prompt + 1 - g->n_ctx);
        if (g->n_drop != 0) {
            cf_buf_addf(out, g->n_drop == 1 ? ": turn 1 must go" : ": turns 1 to %zu must go",
                        g->n_drop);
        }
    } else if (g->n_prompt * 100 >= g->n_ctx * AMBER) {
        cf_buf_addf(out, ", a reply is cut after %zu", g->n_ctx - g->n_prompt);
    }
}

cf_style cf_chat__gauge_style(const cf_chat_gauge *g)
{
    return g->n_prompt >= g->n_ctx                 ? CF_STYLE_ERROR
           : g->n_prompt * 100 >= g->n_ctx * AMBER ? CF_STYLE_WARNING
                                                   : CF_STYLE_DIM;
}
