/*
 * cmd_history.c - confab history: lists, shows and changes saved conversations.
 */
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/os.h"
#include "core/base/safe_text.h"
#include "storage/exchange.h"
#include "storage/traffic.h"
#include "tui/cli/saved/history_truncate.h"
#include "tui/cli/shell/cli.h"
#include "tui/cli/shell/cli_store.h"
#include "tui/cli/shell/shared_options.h"
#include "tui/lab/reply/run_options.h"
#include "tui/sys/out.h"

typedef struct history {
    cf_cli *cli;
    int n; /* arguments after the name of the action */
    char **args;
    const char *format, *output, *sort, *tag;
    uint32_t limit, offset, turns, tokens;
    bool all, archived, trash, remove, purge, head, no_trace, reverse, is_ids;
    bool dry_run, is_approved;
} history;

/* A change that the database could not take has a status of its own. */
static int fail(history *h, const cf_error *err)
{
    cf_store_state state = {0};
    if (h->cli->store != NULL) {
        cf_store_get_state(h->cli->store, &state);
    }
    int status = cf_cli_fail(h->cli, err);
    return state.is_failing ? CF_EXIT_UNSAVED : status;
}

static int print(history *h)
{
    return cf_cli_print(h->cli, &h->cli->out);
}

static const char *uuid_text(char text[CF_UUID_TEXT + 1], cf_uuid id)
{
    cf_uuid_format(text, id);
    return text;
}

static void write_time(cf_jw *w, const char *key, int64_t ms)
{
    char text[25];
    cf_os_format_time(text, ms);
    cf_jw_text(w, key, text);
}

/* null for the nil UUID. */
static void write_uuid(cf_jw *w, const char *key, cf_uuid id)
{
    if (cf_uuid_is_nil(id)) {
        cf_jw_null(w, key);
    } else {
        cf_jw_uuid(w, key, id);
    }
}

static void put_time(cf_buf *out, int64_t ms)
{
    char text[25];
    cf_os_format_time(text, ms);
    text[10] = ' ';
    cf_buf_add(out, text, 16);
}

/* The words of the command line joined again. */
static cf_status join_words(const history *h, cf_buf *out, cf_error *err)
{
    for (int i = 0; i < h->n; i++) {
        cf_buf_adds(out, i != 0 ? " " : "");
        cf_buf_adds(out, h->args[i]);
    }
    return cf_buf_check(out, err);
}

static cf_status make_query(const history *h, cf_buf *words, cf_store_query *q, cf_error *err)
{
    static const char *const sorts[] = {"updated", "created", "title", "turns"};
    CF_TRY(join_words(h, words, err));
    *q = (cf_store_query){.text = {cf_buf_cstr(words), words->n},
                          .limit = h->limit,
                          .offset = h->offset,
                          .is_reversed = h->reverse};
    q->tag = cf_str_from(h->tag != NULL ? h->tag : "");
    q->place = h->trash ? CF_PLACE_TRASH : h->archived ? CF_PLACE_ARCHIVED : CF_PLACE_LIVE;
    for (size_t i = 0; h->sort != NULL; i++) {
        if (i == sizeof sorts / sizeof sorts[0]) {
            return cf_fail(err, CF_EINVAL, "--sort takes updated, created, title or turns");
        }
        if (strcmp(h->sort, sorts[i]) == 0) {
            q->sort = (cf_store_sort)i;
            break;
        }
    }
    return CF_OK;
}

/* ---- list --------------------------------------------------------------- */

static void list_json(cf_buf *out, const cf_store_conv *c)
{
    static const char *const places[] = {"live", "archive", "trash"};
    cf_buf line = CF_BUF_INIT;
    cf_jw w;
    cf_jw_init(&w, &line);
    cf_jw_object(&w, NULL);
    write_uuid(&w, "conversation", c->id);
    cf_jw_str(&w, "title", c->title);
    cf_jw_str(&w, "preview", c->preview);
    write_time(&w, "created", c->created_ms);
    write_time(&w, "updated", c->updated_ms);
    cf_jw_int(&w, "turns", c->n_turns);
    cf_jw_int(&w, "forks", c->n_forks);
    cf_jw_str(&w, "model", c->model);
    cf_jw_str(&w, "template", c->template_hash);
    cf_jw_text(&w, "status", c->n_turns != 0 ? cf_turn_status_name(c->status) : "");
    cf_jw_text(&w, "place", places[c->place]);
    write_uuid(&w, "head", c->head);
    cf_jw_array(&w, "tags");
    for (size_t i = 0; i < c->n_tags; i++) {
        cf_jw_str(&w, NULL, c->tags[i]);
    }
    cf_jw_end(&w);
    cf_jw_end(&w);
    cf_cli_put_json(out, &w);
    cf_buf_deinit(&line);
}

static void list_text(cf_buf *out, const cf_store_conv *c)
{
    char id[CF_UUID_TEXT + 1];
    put_time(out, c->updated_ms);
    cf_buf_addf(out, "  %s  %3u", uuid_text(id, c->id), c->n_turns);
    if (c->n_forks != 0) {
        cf_buf_addf(out, "+%-2u ", c->n_forks);
    } else {
        cf_buf_adds(out, "    ");
    }
    cf_cli_put_line(out, c->title.n != 0 ? c->title : c->preview);
    for (size_t i = 0; i < c->n_tags; i++) {
        cf_buf_adds(out, i == 0 ? "  [" : " ");
        cf_cli_put_line(out, c->tags[i]);
    }
    cf_buf_adds(out, c->n_tags != 0 ? "]\n" : "\n");
}

static int do_list(history *h)
{
    cf_error err;
    cf_buf words = CF_BUF_INIT;
    cf_store_query q;
    const cf_store_conv *rows;
    size_t n = 0;
    cf_status st = make_query(h, &words, &q, &err);
    CF_THEN(st, cf_store_list(h->cli->store, &q, &h->cli->arena, &rows, &n, &err));
    for (size_t i = 0; st == CF_OK && i < n; i++) {
        if (h->is_ids) {
            char id[CF_UUID_TEXT + 1];
            cf_buf_addf(&h->cli->out, "%s\n", uuid_text(id, rows[i].id));
        } else if (h->cli->is_json) {
            list_json(&h->cli->out, &rows[i]);
        } else {
            list_text(&h->cli->out, &rows[i]);
        }
    }
    cf_buf_deinit(&words);
    return st == CF_OK ? print(h) : fail(h, &err);
}

/* ---- search ------------------------------------------------------------- */

static void hit_json(cf_buf *out, const cf_store_hit *hit)
{
    cf_buf line = CF_BUF_INIT;
    cf_jw w;
    cf_jw_init(&w, &line);
    cf_jw_object(&w, NULL);
    write_uuid(&w, "conversation", hit->conversation);
    write_uuid(&w, "turn", hit->turn);
    cf_jw_str(&w, "role", hit->role);
    cf_jw_str(&w, "title", hit->title);
    write_time(&w, "created", hit->created_ms);
    cf_jw_str(&w, "snippet", hit->snippet);
    cf_jw_array(&w, "marks");
    for (size_t i = 0; i < hit->n_marks; i++) {
        cf_jw_array(&w, NULL);
        cf_jw_uint(&w, NULL, hit->marks[i].off);
        cf_jw_uint(&w, NULL, (uint64_t)hit->marks[i].off + hit->marks[i].len);
        cf_jw_end(&w);
    }
    cf_jw_end(&w);
    cf_jw_end(&w);
    cf_cli_put_json(out, &w);
    cf_buf_deinit(&line);
}

/* Matches between > and <. */
static void hit_text(cf_buf *out, const cf_store_hit *hit)
{
    char id[CF_UUID_TEXT + 1];
    bool is_title = cf_uuid_is_nil(hit->turn);
    put_time(out, hit->created_ms);
    cf_buf_addf(out, "  %s  ", uuid_text(id, is_title ? hit->conversation : hit->turn));
    cf_cli_put_line(out, is_title ? cf_str_from("title") : hit->role);
    cf_buf_adds(out, ": ");
    size_t at = 0;
    for (size_t i = 0; i < hit->n_marks; i++) {
        const cf_store_span *m = &hit->marks[i];
        cf_cli_put_line(out, cf_str_make(hit->snippet.p + at, m->off - at));
        cf_buf_addc(out, '>');
        cf_cli_put_line(out, cf_str_make(hit->snippet.p + m->off, m->len));
        cf_buf_addc(out, '<');
        at = (size_t)m->off + m->len;
    }
    cf_cli_put_line(out, cf_str_make(hit->snippet.p + at, hit->snippet.n - at));
    cf_buf_addc(out, '\n');
}

static int do_search(history *h)
{
    cf_error err;
    cf_buf words = CF_BUF_INIT;
    cf_store_query q;
    cf_store_hits hits = {0};
    if (h->n == 0) {
        return cf_cli_usage(h->cli, "search: needs words to look for");
    }
    cf_status st = make_query(h, &words, &q, &err);
    CF_THEN(st, cf_store_search(h->cli->store, &q, &h->cli->arena, &hits, &err));
    for (size_t i = 0; st == CF_OK && i < hits.n; i++) {
        if (h->cli->is_json) {
            hit_json(&h->cli->out, &hits.v[i]);
        } else {
            hit_text(&h->cli->out, &hits.v[i]);
        }
    }
    if (st == CF_OK && hits.is_cut) {
        cf_note("confab history: the search took too long and is not complete");
    }
    cf_buf_deinit(&words);
    return st == CF_OK ? print(h) : fail(h, &err);
}

/* ---- show --------------------------------------------------------------- */

static cf_status find(history *h, const char *name, cf_store_ref *ref, cf_error *err)
{
    return cf_store_find(h->cli->store, cf_str_from(name), ref, err);
}

/* The message of a turn; false for one that is not JSON.  Running out of
 * memory fails `out`. */
static bool read_message(json_t **message, const cf_store_turn *t, cf_buf *out)
{
    cf_status st = cf_json_read(message, t->message.p, t->message.n, NULL);
    out->failed = out->failed || st == CF_ENOMEM;
    return st == CF_OK;
}

/* A line for adapters or steering, where there are any. */
static void put_names(cf_buf *out, const char *title, cf_str stored)
{
    cf_buf names = CF_BUF_INIT;
    cf_run_options_adapters(&names, stored);
    if (names.n != 0) {
        cf_buf_adds(out, title);
        cf_buf_add(out, names.p, names.n);
        cf_buf_addc(out, '\n');
    }
    out->failed = out->failed || names.failed;
    cf_buf_deinit(&names);
}

/* What a run was computed with; empty where there is none, or not to be read. */
static cf_run_options options_of(const cf_store_run *run, cf_arena *arena, cf_buf *out)
{
    cf_run_options o = {.has_sampling = false};
    cf_status st = run != NULL ? cf_run_options_read(&o, run->options, arena, NULL) : CF_OK;
    out->failed = out->failed || st == CF_ENOMEM;
    return st == CF_OK ? o : (cf_run_options){.has_sampling = false};
}

static void turn_json(cf_buf *out, const cf_store_turn *t)
{
    json_t *message;
    cf_arena arena;
    cf_arena_init(&arena, 0);
    cf_buf line = CF_BUF_INIT;
    cf_jw w;
    cf_jw_init(&w, &line);
    cf_jw_object(&w, NULL);
    write_uuid(&w, "conversation", t->conversation);
    write_uuid(&w, "turn", t->id);
    write_uuid(&w, "parent", t->parent);
    cf_jw_str(&w, "role", t->role);
    cf_jw_text(&w, "status", cf_turn_status_name(t->status));
    write_time(&w, "created", t->created_ms);
    if (read_message(&message, t, out)) {
        cf_jw_json(&w, "message", message);
        json_decref(message);
    }
    if (t->run != NULL) {
        cf_jw_str(&w, "model", t->run->model);
        cf_jw_str(&w, "template", t->run->template_hash);
        cf_jw_str(&w, "stop_reason", t->run->stop_reason);
        cf_run_options o = options_of(t->run, &arena, out);
        if (o.adapters.n != 0) {
            cf_jw_raw(&w, "adapters", o.adapters);
        }
        if (o.steering.n != 0) {
            cf_jw_raw(&w, "steering", o.steering);
        }
    }
    if (t->source.n != 0) {
        cf_jw_raw(&w, "source", t->source);
    }
    cf_jw_end(&w);
    cf_cli_put_json(out, &w);
    cf_buf_deinit(&line);
    cf_arena_deinit(&arena);
}

static void put_block(cf_buf *out, cf_str s)
{
    cf_safe_text(out, s.p != NULL ? s.p : "", s.n);
    if (s.n != 0 && s.p[s.n - 1] != '\n') {
        cf_buf_addc(out, '\n');
    }
}

static void message_text(cf_buf *out, const json_t *m)
{
    const json_t *c = json_object_get(m, "content");
    cf_str thought = cf_json_get_str(m, "reasoning_content");
    if (thought.n != 0) {
        cf_buf_adds(out, "(reasoning)\n");
        put_block(out, thought);
        cf_buf_adds(out, "(reply)\n");
    }
    if (json_is_string(c)) {
        put_block(out, cf_str_make(json_string_value(c), json_string_length(c)));
    }
    for (size_t i = 0; i < json_array_size(c); i++) {
        const json_t *part = json_array_get(c, i);
        cf_str type = cf_json_get_str(part, "type");
        cf_str text = cf_json_get_str(part, "text");
        if (text.p != NULL) {
            put_block(out, text);
        } else {
            cf_buf_addc(out, '[');
            cf_cli_put_line(out, type);
            cf_buf_adds(out, "]\n");
        }
    }
    cf_message_call call;
    for (size_t i = 0; cf_message_call_at(&call, m, i); i++) {
        cf_buf b = CF_BUF_INIT;
        cf_message_put_arguments(&b, &call, "null");
        cf_buf_adds(out, "[call] ");
        cf_cli_put_line(out, call.name);
        cf_buf_addc(out, ' ');
        cf_cli_put_line(out, cf_buf_str(&b));
        cf_buf_addc(out, '\n');
        out->failed = out->failed || b.failed;
        cf_buf_deinit(&b);
    }
}

static void turn_text(cf_buf *out, const cf_store_turn *t, size_t n_siblings)
{
    char id[CF_UUID_TEXT + 1];
    json_t *m;
    cf_buf_addf(out, "\n%u ", t->ordinal);
    cf_cli_put_line(out, t->role);
    if (t->status != CF_TURN_OK && t->status != CF_TURN_IMPORTED) {
        cf_buf_addf(out, " (%s)", cf_turn_status_name(t->status));
    }
    cf_buf_addf(out, "  %s", uuid_text(id, t->id));
    if (n_siblings > 1) {
        cf_buf_addf(out, "  one of %zu", n_siblings);
    }
    cf_buf_addc(out, '\n');
    if (read_message(&m, t, out)) {
        message_text(out, m);
        json_decref(m);
    }
    cf_arena arena;
    cf_arena_init(&arena, 0);
    cf_run_options o = options_of(t->run, &arena, out);
    put_names(out, "adapters: ", o.adapters);
    put_names(out, "steering: ", o.steering);
    cf_arena_deinit(&arena);
    if (t->note.n != 0) {
        cf_buf_adds(out, "note: ");
        cf_cli_put_line(out, t->note);
        cf_buf_addc(out, '\n');
    }
}

static size_t count_siblings(const cf_store_tree *tree, cf_uuid parent)
{
    size_t n = 0;
    for (size_t i = 0; i < tree->n; i++) {
        n += cf_uuid_eq(tree->turns[i].parent, parent);
    }
    return n;
}

static void conv_head(cf_buf *out, const cf_store_conv *c)
{
    char id[CF_UUID_TEXT + 1];
    cf_cli_put_line(out, c->title.n != 0 ? c->title : c->preview);
    cf_buf_addf(out, "\n%s  ", uuid_text(id, c->id));
    put_time(out, c->created_ms);
    cf_buf_addf(out, "  %u turns, %u forks\n", c->n_turns, c->n_forks);
}

static cf_status show_tree(history *h, const cf_store_tree *tree, cf_uuid leaf, cf_error *err)
{
    size_t *at = cf_arena_calloc(&h->cli->arena, tree->n + 1, sizeof *at);
    if (at == NULL) {
        return cf_oom(err);
    }
    size_t n = h->all ? tree->n : cf_store_path_to(tree, leaf, at);
    if (!h->cli->is_json) {
        conv_head(&h->cli->out, &tree->conv);
    }
    for (size_t i = 0; i < n; i++) {
        const cf_store_turn *t = &tree->turns[h->all ? i : at[i]];
        if (h->cli->is_json) {
            turn_json(&h->cli->out, t);
        } else {
            turn_text(&h->cli->out, t, count_siblings(tree, t->parent));
        }
    }
    return CF_OK;
}

static int do_show(history *h)
{
    cf_error err;
    cf_store_ref ref;
    cf_store_tree tree;
    if (h->n != 1) {
        return cf_cli_usage(h->cli, "show: takes one UUID");
    }
    cf_status st = find(h, h->args[0], &ref, &err);
    CF_THEN(st, cf_store_get_tree(h->cli->store, ref.conversation, CF_TREE_RUNS, &h->cli->arena,
                                  &tree, &err));
    if (st == CF_OK) {
        cf_uuid leaf = cf_uuid_is_nil(ref.turn) ? tree.conv.head : ref.turn;
        st = show_tree(h, &tree, leaf, &err);
    }
    return st == CF_OK ? print(h) : fail(h, &err);
}

/* ---- changes ------------------------------------------------------------ */

static int do_fork(history *h)
{
    cf_error err;
    cf_store_ref ref;
    cf_store_tree tree;
    cf_uuid out;
    char id[CF_UUID_TEXT + 1];
    if (h->n != 1) {
        return cf_cli_usage(h->cli, "fork: takes one UUID");
    }
    cf_status st = find(h, h->args[0], &ref, &err);
    if (st == CF_OK && cf_uuid_is_nil(ref.turn)) {
        st = cf_store_get_tree(h->cli->store, ref.conversation, 0, &h->cli->arena, &tree, &err);
        ref.turn = st == CF_OK ? tree.conv.head : ref.turn;
    }
    CF_THEN(st, cf_store_fork(h->cli->store, ref.turn, &out, &err));
    if (st != CF_OK) {
        return fail(h, &err);
    }
    uuid_text(id, out);
    cf_buf_addf(&h->cli->out, h->cli->is_json ? "{\"conversation\":\"%s\"}\n" : "%s\n", id);
    return print(h);
}

static int do_tag(history *h)
{
    cf_error err;
    cf_store_ref ref;
    if (h->n < 2) {
        return cf_cli_usage(h->cli, "tag: takes a UUID and tags");
    }
    cf_status st = find(h, h->args[0], &ref, &err);
    for (int i = 1; st == CF_OK && i < h->n; i++) {
        st = cf_store_set_tag(h->cli->store, ref.conversation, cf_str_from(h->args[i]), !h->remove,
                              &err);
    }
    return st == CF_OK ? CF_EXIT_OK : fail(h, &err);
}

static int do_title(history *h)
{
    cf_error err;
    cf_store_ref ref;
    if (h->n != 2) {
        return cf_cli_usage(h->cli, "title: takes a UUID and a title");
    }
    cf_status st = find(h, h->args[0], &ref, &err);
    CF_THEN(st, cf_store_set_title(h->cli->store, ref.conversation, cf_str_from(h->args[1]), &err));
    return st == CF_OK ? CF_EXIT_OK : fail(h, &err);
}

static int do_rm(history *h)
{
    cf_error err;
    cf_store_ref ref;
    if (h->n == 0) {
        return cf_cli_usage(h->cli, "rm: want UUIDs");
    }
    cf_status st = CF_OK;
    for (int i = 0; st == CF_OK && i < h->n; i++) {
        st = find(h, h->args[i], &ref, &err);
        if (st == CF_OK && !cf_uuid_is_nil(ref.turn)) {
            st = cf_fail(&err, CF_EINVAL, "%s is a turn: only whole conversations are removed",
                         h->args[i]);
        }
        CF_THEN(st, h->purge ? cf_store_purge(h->cli->store, ref.conversation, &err)
                             : cf_store_set_place(h->cli->store, ref.conversation, CF_PLACE_TRASH,
                                                  &err));
    }
    return st == CF_OK ? CF_EXIT_OK : fail(h, &err);
}

static int do_undo(history *h)
{
    cf_error err;
    cf_buf what = CF_BUF_INIT;
    if (h->n != 0) {
        return cf_cli_usage(h->cli, "undo: takes no argument");
    }
    cf_status st = cf_store_undo(h->cli->store, &what, &err);
    if (st == CF_OK) {
        cf_buf_adds(&h->cli->out, "undone: ");
        cf_cli_put_line(&h->cli->out, cf_str_make(what.p, what.n));
        cf_buf_addc(&h->cli->out, '\n');
    }
    cf_buf_deinit(&what);
    return st == CF_OK ? print(h) : fail(h, &err);
}

/* ---- export and import -------------------------------------------------- */

static cf_status get_format(const history *h, cf_format *out, cf_error *err)
{
    if (h->format == NULL || !cf_format_parse(out, cf_str_from(h->format))) {
        return cf_fail(err, CF_EINVAL,
                       "--format: takes confab, openai, sharegpt, converse, "
                       "litert, llama-app, llm-db, session, chatgpt or markdown");
    }
    return CF_OK;
}

/* Where an export goes, a conversation at a time. */
typedef struct sink {
    cf_os_out file;
    bool to_file; /* else standard output */
    cf_out_kind kind;
} sink;

static cf_status drain(history *h, sink *s, cf_error *err)
{
    CF_TRY(cf_buf_check(&h->cli->out, err));
    if (s->to_file) {
        CF_TRY(cf_os_out_put(&s->file, cf_buf_cstr(&h->cli->out), h->cli->out.n, err));
    } else {
        cf_out(stdout, cf_buf_str(&h->cli->out), s->kind);
        if (ferror(stdout)) {
            return cf_fail(err, CF_EIO, "standard output: write error");
        }
    }
    cf_buf_reset(&h->cli->out);
    return CF_OK;
}

static cf_status export_all(history *h, cf_exporter *ex, sink *s, cf_error *err)
{
    for (int place = 0; place <= CF_PLACE_TRASH; place++) {
        cf_store_query q = {.place = (cf_store_place)place,
                            .sort = CF_SORT_CREATED,
                            .is_reversed = true,
                            .limit = 500};
        size_t n = 500;
        for (; n == 500; q.offset += 500) {
            const cf_store_conv *rows;
            cf_arena_reset(&h->cli->arena);
            CF_TRY(cf_store_list(h->cli->store, &q, &h->cli->arena, &rows, &n, err));
            for (size_t i = 0; i < n; i++) {
                CF_TRY(cf_export_conv(ex, rows[i].id, &h->cli->out, err));
                CF_TRY(drain(h, s, err));
            }
        }
    }
    return CF_OK;
}

static cf_status export_some(history *h, const cf_export_options *opts, cf_exporter *ex, sink *s,
                             cf_error *err)
{
    for (int i = 0; i < h->n; i++) {
        cf_store_ref ref;
        CF_TRY(find(h, h->args[i], &ref, err));
        if (cf_uuid_is_nil(ref.turn)) {
            CF_TRY(cf_export_conv(ex, ref.conversation, &h->cli->out, err));
        } else { /* the branch to one turn */
            cf_export_options one = *opts;
            cf_exporter *sub;
            one.leaf = ref.turn;
            CF_TRY(cf_export_begin(&sub, h->cli->store, &one, err));
            cf_status st = cf_export_conv(sub, ref.conversation, &h->cli->out, err);
            cf_export_end(sub);
            CF_TRY(st);
        }
        CF_TRY(drain(h, s, err));
    }
    return CF_OK;
}

static int do_export(history *h)
{
    cf_error err;
    cf_export_options opts = {.only_head = h->head, .no_trace = h->no_trace};
    cf_exporter *ex = NULL;
    if (h->all == (h->n != 0)) {
        return cf_cli_usage(h->cli, "export: needs --all or UUIDs");
    }
    sink s = {.to_file = h->output != NULL && strcmp(h->output, "-") != 0};
    cf_status st = get_format(h, &opts.format, &err);
    s.kind = opts.format == CF_FORMAT_MARKDOWN ? CF_OUT_TEXT : CF_OUT_JSON;
    CF_THEN(st, cf_export_begin(&ex, h->cli->store, &opts, &err));
    if (st == CF_OK && s.to_file) {
        st = cf_os_out_open(&s.file, h->output, &err);
        s.to_file = st == CF_OK;
    }
    CF_THEN(st, h->all ? export_all(h, ex, &s, &err) : export_some(h, &opts, ex, &s, &err));
    cf_export_end(ex);
    if (s.to_file) {
        st = cf_os_out_close(&s.file, st, 0600, &err);
    }
    if (st != CF_OK) {
        return fail(h, &err);
    }
    return s.to_file ? CF_EXIT_OK : print(h);
}

typedef struct note_ud {
    const char *path;
} note_ud;

static void print_note(void *ud, uint64_t line, const char *text)
{
    const note_ud *n = ud;
    cf_buf b = CF_BUF_INIT;
    cf_cli_put_line(&b, cf_str_from(n->path));
    if (line != 0) {
        cf_buf_addf(&b, ":%llu", (unsigned long long)line);
    }
    cf_buf_adds(&b, ": ");
    cf_cli_put_line(&b, cf_str_from(text));
    cf_note_text("confab history: ", cf_buf_str(&b));
    cf_buf_deinit(&b);
}

static void put_report_json(history *h, const char *path, const cf_import_report *r)
{
    cf_buf line = CF_BUF_INIT;
    cf_jw w;
    cf_jw_init(&w, &line);
    cf_jw_object(&w, NULL);
    cf_jw_text(&w, "file", path);
    cf_jw_uint(&w, h->dry_run ? "conversations" : "new", r->n_new);
    if (!h->dry_run) {
        cf_jw_uint(&w, "known", r->n_known);
    }
    cf_jw_uint(&w, "turns", r->n_turns);
    if (!h->dry_run) {
        cf_jw_uint(&w, "skipped", r->n_skipped);
    }
    cf_jw_uint(&w, "bad", r->n_bad);
    if (h->dry_run) {
        cf_jw_bool(&w, "dry_run", true);
    }
    cf_jw_end(&w);
    cf_cli_put_json(&h->cli->out, &w);
    cf_buf_deinit(&line);
}

static void put_report(history *h, const char *path, const cf_import_report *r)
{
    cf_buf *out = &h->cli->out;
    if (h->cli->is_json) {
        put_report_json(h, path, r);
        return;
    }
    cf_cli_put_line(out, cf_str_from(path));
    if (h->dry_run) {
        cf_buf_addf(
            out, ": %zu conversation%s, %zu turn%s, %zu records left out; nothing was written\n",
            r->n_new, r->n_new == 1 ? "" : "s", r->n_turns, r->n_turns == 1 ? "" : "s", r->n_bad);
        return;
    }
    cf_buf_addf(out,
                ": %zu new conversations, %zu known, %zu turns added, %zu turns already here, "
                "%zu records left out%s\n",
                r->n_new, r->n_known, r->n_turns, r->n_skipped, r->n_bad,
                r->n_turns + r->n_tagged != 0 ? "; confab history undo undoes it" : "");
}

static int do_import(history *h)
{
    cf_error err;
    cf_import_options opts = {.note = print_note,
                              .tag = h->tag,
                              .cancel = cf_cli_cancel(),
                              .guesses = h->format == NULL,
                              .is_dry = h->dry_run};
    if (h->n == 0) {
        return cf_cli_usage(h->cli, "import: takes files, or - for standard input");
    }
    if (!opts.guesses && get_format(h, &opts.format, &err) != CF_OK) {
        return fail(h, &err);
    }
    size_t n_bad = 0;
    for (int i = 0; i < h->n; i++) {
        cf_import_report report;
        note_ud ud = {h->args[i]};
        opts.name = h->args[i];
        opts.ud = &ud;
        cf_status st = cf_import_file(h->cli->store, h->args[i], &opts, &report, &err);
        if (report.read_as[0] != '\0') {
            cf_buf line = CF_BUF_INIT;
            cf_buf_addf(&line, "read as %s", report.read_as);
            print_note(&ud, 0, cf_buf_cstr(&line));
            cf_buf_deinit(&line);
        }
        put_report(h, h->args[i], &report);
        if (st != CF_OK) {
            (void)print(h);
            return fail(h, &err);
        }
        n_bad += report.n_bad;
    }
    int status = print(h);
    return status == CF_EXIT_OK && n_bad != 0 ? CF_EXIT_FINDING : status;
}

/* ---- raw ---------------------------------------------------------------- */

/* The exact bytes, but on a terminal. */
static int do_raw(history *h)
{
    cf_uuid id;
    cf_exchange x;
    cf_error err;
    bool is_request = h->n == 2 && strcmp(h->args[1], "request") == 0;
    if (!is_request && (h->n != 2 || strcmp(h->args[1], "response") != 0)) {
        return cf_cli_usage(h->cli, "raw: takes EXCHANGE and request or response");
    }
    cf_status st = cf_store_find_exchange(h->cli->store, cf_str_from(h->args[0]), &id, &err);
    CF_THEN(st, cf_store_get_exchange(h->cli->store, id, &h->cli->arena, &x, &err));
    if (st != CF_OK) {
        return fail(h, &err);
    }
    cf_str body = is_request ? x.request : x.response;
    cf_out(stdout, body, CF_OUT_TEXT);
    return CF_EXIT_OK;
}

static int do_truncate(history *h)
{
    const cf_history_truncate o = {.id = h->n == 1 ? h->args[0] : NULL,
                                   .turns = h->turns,
                                   .tokens = h->tokens,
                                   .is_dry = h->dry_run,
                                   .is_approved = h->is_approved};
    return cf_history_truncate_run(h->cli, h->cli->store, &o);
}

/* ---- which -------------------------------------------------------------- */

static const struct action {
    const char *name;
    int (*run)(history *h);
    uint32_t flags;
    bool empty_is_fine; /* without a database the answer is empty */
} actions[] = {
    {"list", do_list, 0, true},          {"search", do_search, 0, true},
    {"show", do_show, 0, false},         {"fork", do_fork, 0, false},
    {"tag", do_tag, 0, false},           {"title", do_title, 0, false},
    {"truncate", do_truncate, 0, false}, {"rm", do_rm, 0, false},
    {"undo", do_undo, 0, false},         {"raw", do_raw, 0, false},
    {"export", do_export, 0, false},     {"import", do_import, CF_STORE_CREATE, false},
};

static int run_action(history *h, const struct action *a)
{
    cf_error err;
    if (h->dry_run && a->run != do_import && a->run != do_truncate) {
        return cf_cli_usage(h->cli, "--dry-run is for import and truncate");
    }
    /* A dry run of an import needs no database and makes none. */
    cf_status st = h->dry_run && a->run == do_import
                       ? CF_OK
                       : cf_cli_open_store(&h->cli->store, h->cli, a->flags, &err);
    if (st == CF_ENOTFOUND && a->empty_is_fine) {
        return CF_EXIT_OK;
    }
    if (st != CF_OK) {
        return fail(h, &err);
    }
    return a->run(h);
}

static const cf_opt_row options[] = {
    {"--format", 'f', CF_OPT_STR, offsetof(history, format), "FORMAT",
     "confab, openai, sharegpt, converse, litert, llama-app, markdown, or (import only) llm-db, "
     "session or chatgpt; import detects it",
     0},
    {"--all", 'a', CF_OPT_FLAG, offsetof(history, all), NULL,
     "export: every conversation; show: every branch", 0},
    {"--output", 'o', CF_OPT_STR, offsetof(history, output), "FILE",
     "export: write to FILE instead of standard output", 0},
    {"--head", 0, CF_OPT_FLAG, offsetof(history, head), NULL,
     "export: only the branch viewed last, in formats that have no tree", 0},
    {"--no-trace", 0, CF_OPT_FLAG, offsetof(history, no_trace), NULL,
     "export: leave out the candidates of tokens", 0},
    {"--dry-run", 0, CF_OPT_FLAG, offsetof(history, dry_run), NULL,
     "import: count conversations and turns, and write nothing; truncate: "
     "only show what would be removed",
     0},
    {"--turns", 0, CF_OPT_U32, offsetof(history, turns), "N",
     "truncate: keep at most N turns after the system messages", 0},
    {"--tokens", 0, CF_OPT_U32, offsetof(history, tokens), "N",
     "truncate: keep a prompt of at most N tokens of the model", 0},
    CF_ROW_YES(offsetof(history, is_approved)),
    {"--tag", 0, CF_OPT_STR, offsetof(history, tag), "TAG",
     "import: tag the imported conversations; list, search: only those "
     "with this tag",
     0},
    {"--sort", 0, CF_OPT_STR, offsetof(history, sort), "updated|created|title|turns",
     "list: the order", 0},
    {"--reverse", 'r', CF_OPT_FLAG, offsetof(history, reverse), NULL, "list: reverse the order", 0},
    {"--ids", 0, CF_OPT_FLAG, offsetof(history, is_ids), NULL, "list: print only the UUIDs", 0},
    {"--limit", 'n', CF_OPT_U32, offsetof(history, limit), "N",
     "list, search: print at most N (default: 100)", 0},
    {"--offset", 0, CF_OPT_U32, offsetof(history, offset), "N", "list, search: skip the first N",
     0},
    {"--archived", 0, CF_OPT_FLAG, offsetof(history, archived), NULL,
     "list, search: look in the archive", 0},
    {"--trash", 0, CF_OPT_FLAG, offsetof(history, trash), NULL, "list, search: look in the trash",
     0},
    {"--remove", 0, CF_OPT_FLAG, offsetof(history, remove), NULL, "tag: remove the tags", 0},
    {"--purge", 0, CF_OPT_FLAG, offsetof(history, purge), NULL,
     "rm: delete permanently instead of moving to the trash", 0},
    CF_OPT_ROWS_END,
};

static int run_history(cf_cli *cli, void *state)
{
    history *h = state;
    h->cli = cli;
    for (size_t i = 0; cli->n_args > 0 && i < sizeof actions / sizeof actions[0]; i++) {
        if (strcmp(cli->args[0], actions[i].name) == 0) {
            h->n = cli->n_args - 1;
            h->args = cli->args + 1;
            return run_action(h, &actions[i]);
        }
    }
    return cf_cli_usage(cli, "takes list, show, search, fork, tag, title, truncate, rm, undo, raw, "
                             "export or import");
}

const cf_cli_command cf_cmd_history = {
    .name = "history",
    .arguments = "list|show|search|fork|tag|title|truncate|rm|undo|raw|export|import [UUID|FILE "
                 "...]",
    .summary = "list, search, export, import and change saved conversations",
    .options = options,
    .state_bytes = sizeof(history),
    .n_max = CF_ARGS_ANY,
    .run = run_history,
};
