/*
 * lab_system.c - system prompts as branches: a first turn each, kept in the
 * history like any other turn.
 */
#include "tui/lab/talk/lab_system.h"

#include <string.h>
#include <sys/stat.h>

#include "core/base/os.h"
#include "templates/template_diff.h"
#include "tui/lab/state/lab_task.h"
#include "tui/lab/talk/lab_conversation.h"
#include "tui/lab/talk/talk_impl.h"
#include "tui/lab/talk/turn_map.h"
#include "tui/lab/talk/undo_stack.h"
#include "tui/sys/paths.h"
#include "tui/sys/when.h"

enum { TEXT_MAX = 1 << 20 };

const json_t *cf_lab_system(const cf_lab *lab)
{
    return lab->talk->snapshot.system;
}

cf_status cf_system_text(cf_buf *out, const char *text_or_file, cf_error *err)
{
    cf_buf path = CF_BUF_INIT;
    struct stat s;
    cf_paths_expand(&path, text_or_file);
    bool is_file = !path.failed && strchr(text_or_file, '\n') == NULL &&
                   stat(cf_buf_cstr(&path), &s) == 0 && S_ISREG(s.st_mode);
    cf_status st = CF_OK;
    if (is_file) {
        st = cf_os_read_file(out, cf_buf_cstr(&path), TEXT_MAX, err);
        while (st == CF_OK && out->n > 0 && out->p[out->n - 1] == '\n') {
            out->p[--out->n] = '\0'; /* editors end files with a newline */
        }
    } else {
        cf_buf_adds(out, text_or_file);
        st = cf_buf_check(out, err);
    }
    cf_buf_deinit(&path);
    return st;
}

typedef struct copies {
    cf_lab *lab;
    size_t n;
} copies;

static void on_added(void *ud, const cf_turn *turn, cf_uuid from)
{
    copies *c = ud;
    c->n += !cf_uuid_is_nil(from);
    cf_lab__store_copy(c->lab, turn, from);
}

cf_status cf_lab_set_system(cf_lab *lab, cf_str text, size_t *n_copied, cf_error *err)
{
    CF_TRY(cf_lab_need_idle(lab, err));
    copies c = {lab, 0};
    cf_uuid before = cf_conversation_head(lab->talk->conv);
    cf_status st = cf_conversation_set_system(lab->talk->conv, text, on_added, &c, err);
    if (st == CF_OK) {
        cf_lab_add_undo(lab, CF_LAB_UNDO_HEAD, before);
    }
    if (n_copied != NULL) {
        *n_copied = c.n;
    }
    cf_error why;
    cf_status seen = cf_lab__snapshot(lab, st == CF_OK ? err : &why);
    return st != CF_OK ? st : seen;
}

/* ---- versions ----------------------------------------------------------- */

static void add_lines(cf_buf *out, const cf_diff_side *side, uint32_t unit, char mark)
{
    if (unit == CF_DIFF_NONE) {
        return;
    }
    const cf_diff_unit *u = &side->v[unit];
    cf_buf_addf(out, "  %c ", mark);
    cf_buf_add(out, side->text.p + u->off, u->len);
    cf_buf_addc(out, '\n');
}

/* The lines that differ between two versions. */
static cf_status add_difference(cf_buf *out, cf_str was, cf_str is, cf_error *err)
{
    cf_arena arena;
    cf_diff d;
    cf_arena_init(&arena, 0);
    cf_status st = cf_diff_texts(&d, was, is, &arena, err);
    for (size_t i = 0; st == CF_OK && i < d.n_rows; i++) {
        if (d.rows[i].kind != CF_DIFF_KEPT) {
            add_lines(out, &d.a, d.rows[i].a, '-');
            add_lines(out, &d.b, d.rows[i].b, '+');
        }
    }
    cf_arena_deinit(&arena);
    return st;
}

static void add_whole(cf_buf *out, cf_str text)
{
    for (size_t at = 0; at < text.n;) {
        size_t n = 0;
        while (at + n < text.n && text.p[at + n] != '\n') {
            n++;
        }
        cf_buf_adds(out, "    ");
        cf_buf_add(out, text.p + at, n);
        cf_buf_addc(out, '\n');
        at += n + 1;
    }
    cf_buf_adds(out, text.n == 0 ? "    (empty: no system prompt)\n" : "");
}

/* For each turn the number of the first turn of its path; in the arena. */
static uint32_t *find_roots(const cf_lab *lab, cf_arena *arena)
{
    const cf_lab_snapshot *s = &lab->talk->snapshot;
    cf_turn_map map = {0};
    uint32_t *root = cf_arena_calloc(arena, s->n_turns + 1, sizeof *root);
    for (size_t i = 0; root != NULL && i < s->n_turns; i++) {
        uint32_t up = cf_turn_map_get(&map, s->turns[i]->parent);
        root[i] = up != CF_TURN_MAP_NONE ? root[up] : (uint32_t)i;
        if (!cf_turn_map_put(&map, s->turns[i]->id, (uint32_t)i)) {
            root = NULL;
        }
    }
    cf_turn_map_deinit(&map);
    return root;
}

typedef struct listing {
    cf_buf *out;
    const json_t *now; /* in effect */
    cf_buf before;     /* text of the version before */
    size_t n;
} listing;

/* Number of turns after turn `first`, which begins a path. */
static size_t n_below(const cf_lab *lab, const uint32_t *root, size_t first)
{
    size_t n = 0;
    for (size_t i = first + 1; i < lab->talk->snapshot.n_turns; i++) {
        n += root[i] == first;
    }
    return n;
}

static cf_status list_one(listing *l, const json_t *message, const char *when, size_t n_turns,
                          cf_error *err)
{
    cf_buf text = CF_BUF_INIT;
    cf_lab_message_text(&text, message);
    cf_buf_addf(l->out, "%c system %zu  %s", message == l->now ? '*' : ' ', ++l->n, when);
    if (n_turns > 0) {
        cf_buf_addf(l->out, "  %zu turn%s", n_turns, n_turns == 1 ? "" : "s");
    }
    cf_buf_addc(l->out, '\n');
    cf_status st = CF_OK;
    if (l->n == 1) {
        add_whole(l->out, cf_buf_str(&text));
    } else {
        st = add_difference(l->out, cf_buf_str(&l->before), cf_buf_str(&text), err);
    }
    cf_buf_reset(&l->before);
    cf_buf_add(&l->before, cf_buf_cstr(&text), text.n);
    CF_THEN(st, cf_buf_check(&l->before, err));
    cf_buf_deinit(&text);
    return st;
}

cf_status cf_lab_list_systems(const cf_lab *lab, cf_buf *out, cf_error *err)
{
    const cf_lab_snapshot *s = &lab->talk->snapshot;
    listing l = {.out = out, .now = cf_lab_system(lab)};
    cf_arena arena;
    cf_arena_init(&arena, 0);
    const uint32_t *root = find_roots(lab, &arena);
    const json_t *preface = s->preface_system;
    cf_status st = root != NULL ? CF_OK : cf_oom(err);
    if (st == CF_OK && preface != NULL) {
        st = list_one(&l, preface, "from the start", 0, err);
    }
    for (size_t i = 0; st == CF_OK && i < s->n_turns; i++) {
        const cf_turn *t = s->turns[i];
        if (cf_turn_is_system(t)) {
            char when[CF_WHEN_TEXT];
            cf_when_format(when, t->created_ms, cf_os_now_ms());
            st = list_one(&l, t->message, when, n_below(lab, root, i), err);
        }
    }
    if (l.n == 0) {
        cf_buf_adds(out, "There is no system prompt; :system TEXT or FILE "
                         "writes one.\n");
    }
    cf_buf_deinit(&l.before);
    cf_arena_deinit(&arena);
    CF_THEN(st, cf_buf_check(out, err));
    return st;
}
