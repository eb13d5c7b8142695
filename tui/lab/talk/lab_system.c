/*
 * lab_system.c - system prompts as branches: a first turn each, kept in the
 * history like any other turn.
 */
#include "tui/lab/talk/lab_system.h"

#include <string.h>
#include <sys/stat.h>

#include "core/base/alloc.h"
#include "core/base/os.h"
#include "tui/lab/state/lab_task.h"
#include "tui/lab/talk/lab_conversation.h"
#include "tui/lab/talk/talk_impl.h"
#include "tui/lab/talk/turn_map.h"
#include "tui/lab/talk/undo_stack.h"
#include "tui/sys/paths.h"

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

static bool is_reply(const cf_turn *t)
{
    return cf_str_is(cf_json_get_str(t->message, "role"), "assistant");
}

bool cf_lab_is_copied(const cf_lab *lab, const cf_turn *turn)
{
    const cf_lab_snapshot *s = &lab->talk->snapshot;
    if (!is_reply(turn)) {
        return false;
    }
    for (size_t i = 0; i < s->n_turns && s->turns[i] != turn; i++) {
        const cf_turn *t = s->turns[i], *first = turn;
        if (t->created_ms != turn->created_ms || cf_uuid_eq(t->parent, turn->parent) ||
            json_equal(t->message, turn->message) == 0) {
            continue;
        }
        for (const cf_turn *up = turn; up != NULL;
             up = cf_conversation_find(lab->talk->conv, up->parent)) {
            first = up;
        }
        return cf_turn_is_system(first);
    }
    return false;
}

static void add_turn(const cf_lab *lab, cf_lab_version *v, const cf_turn *turn)
{
    v->n_turns += turn != v->turn;
    if (is_reply(turn)) {
        bool is_copied = cf_lab_is_copied(lab, turn);
        v->n_copied += is_copied;
        v->reply = turn;
        v->is_copied = is_copied;
    }
}

/* The version of a path that begins with turn `first`; all paths without a system
 * turn are the first version. */
static cf_lab_version *version_of(cf_lab_versions *out, const cf_turn *first)
{
    const cf_turn *turn = cf_turn_is_system(first) ? first : NULL;
    size_t i = 0;
    while (i < out->n && out->v[i].turn != turn) {
        i++;
    }
    out->n += i == out->n;
    out->v[i].turn = turn;
    return &out->v[i];
}

void cf_lab_versions_deinit(cf_lab_versions *out)
{
    for (size_t i = 0; i < out->n; i++) {
        cf_buf_deinit(&out->v[i].text);
    }
    cf_free(out->v);
    *out = (cf_lab_versions){.v = NULL};
}

cf_status cf_lab_find_versions(const cf_lab *lab, cf_lab_versions *out, cf_error *err)
{
    const cf_lab_snapshot *s = &lab->talk->snapshot;
    cf_arena arena;
    cf_arena_init(&arena, 0);
    const uint32_t *root = find_roots(lab, &arena);
    *out = (cf_lab_versions){.v = cf_calloc(s->n_turns + 1, sizeof *out->v)};
    cf_status st = root != NULL && out->v != NULL ? CF_OK : cf_oom(err);
    if (st == CF_OK && s->preface_system != NULL) {
        out->n = 1;
        cf_lab_message_text(&out->v[0].text, s->preface_system);
    }
    for (size_t i = 0; st == CF_OK && i < s->n_turns; i++) {
        cf_lab_version *v = version_of(out, s->turns[root[i]]);
        add_turn(lab, v, s->turns[i]);
        if (v->turn == s->turns[i]) {
            cf_lab_message_text(&v->text, v->turn->message);
        }
    }
    for (size_t i = 0; st == CF_OK && i < out->n; i++) {
        const cf_turn *first = s->n_path > 0 && cf_turn_is_system(s->path[0]) ? s->path[0] : NULL;
        out->v[i].is_now = out->v[i].turn == first;
        st = cf_buf_check(&out->v[i].text, err);
    }
    cf_arena_deinit(&arena);
    return st;
}
