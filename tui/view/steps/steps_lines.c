/*
 * steps_lines.c - a session's events as lines, sub-agents under the requests
 * that began them.
 */
#include <string.h>
#include <sys/stat.h>

#include "core/base/alloc.h"
#include "tui/view/steps/steps.h"

uint64_t cf_steps_file_bytes(const char *path)
{
    struct stat s;
    cf_buf log = CF_BUF_INIT;
    uint64_t n = stat(path, &s) == 0 && s.st_size > 0 ? (uint64_t)s.st_size : 0;
    cf_buf_addf(&log, "%s-wal", path); /* what a database has not taken over */
    n += !log.failed && stat(cf_buf_cstr(&log), &s) == 0 ? (uint64_t)s.st_size : 0;
    cf_buf_deinit(&log);
    return n;
}

cf_status cf_steps_read(cf_steps_reading *out, const char *path, const cf_trail_options *opts,
                        cf_error *err)
{
    cf_trail_prices prices = {.n = 0};
    *out = (cf_steps_reading){.bytes = opts->max_bytes == 0 ? cf_steps_file_bytes(path) : 0};
    cf_status st = cf_trails_read(&out->trails, path, opts, err);
    if (st == CF_OK && out->trails.n == 0) {
        st = cf_fail(err, CF_ENOTFOUND, "%s has no session", path);
    }
    for (size_t i = 0; st == CF_OK && i < out->trails.n; i++) {
        out->which = cf_str_is(out->trails.v[i]->id, opts->id) ? i : out->which;
    }
    const cf_trail *t = st == CF_OK ? out->trails.v[out->which] : NULL;
    CF_THEN(st, cf_session_prices(&prices, NULL, err));
    CF_THEN(st, cf_trail_find(&out->found, t, err));
    CF_THEN(st, cf_trail_steps_make(&out->steps, t, &out->found, &prices, err));
    cf_trail_prices_deinit(&prices);
    if (st != CF_OK) {
        cf_steps_reading_deinit(out);
    }
    return st;
}

bool cf_steps_is_marked(const cf_steps_view *v, const cf_steps_line *line)
{
    if (line->kind == CF_STEPS_STEP) {
        return v->now.steps.rows[line->row].n_findings != 0;
    }
    for (size_t i = 0; i < v->now.found.n; i++) {
        if (v->now.found.v[i].at == line->at) {
            return true;
        }
    }
    return false;
}

void cf_steps_reading_deinit(cf_steps_reading *r)
{
    cf_trail_steps_deinit(&r->steps);
    cf_trail_findings_deinit(&r->found);
    cf_trails_deinit(&r->trails);
    *r = (cf_steps_reading){.bytes = 0};
}

const cf_trail *cf_steps_trail(const cf_steps_view *v)
{
    return v->has_session ? v->now.trails.v[v->now.which] : NULL;
}

/* ---- lines --------------------------------------------------------------- */

typedef struct builder {
    cf_steps_view *v;
    cf_arena arena; /* of what follows */
    size_t *row_of; /* [n_events], of a step; SIZE_MAX */
    size_t *begun;  /* [n_rows], the first sub-agent of a row; SIZE_MAX */
    size_t *next;   /* [n_agents], the next one of the same row */
    bool *is_put;   /* [n_agents] */
} builder;

static void add(builder *b, cf_steps_line line)
{
    cf_steps_view *v = b->v;
    b->arena.failed =
        b->arena.failed || !cf_grow(&v->lines, &v->cap_lines, v->n_lines + 1, sizeof *v->lines);
    if (!b->arena.failed) {
        v->lines[v->n_lines++] = line;
    }
}

static void add_agent(builder *b, size_t agent, int depth);

/* The sub-agents that a request began. */
static void add_begun(builder *b, size_t row, int depth)
{
    for (size_t i = b->begun[row]; i != SIZE_MAX; i = b->next[i]) {
        if (!b->is_put[i]) {
            add_agent(b, i, depth);
        }
    }
}

/* An agent's own events, in order. */
static void add_events(builder *b, size_t agent, int depth)
{
    const cf_trail *t = cf_steps_trail(b->v);
    const cf_trail_steps *s = &b->v->now.steps;
    size_t first = s->agents[agent].at;
    while (agent == 0 && first < t->n_events && t->events[first].agent.n != 0) {
        first++;
    }
    for (size_t i = first; !b->arena.failed && i < t->n_events; i = t->events[i].next) {
        const cf_trail_event *e = &t->events[i];
        cf_steps_line line = {.at = i, .row = b->row_of[i], .agent = agent, .depth = depth};
        if (e->kind == CF_TRAIL_STEP) {
            add(b, line);
            add_begun(b, line.row, depth + 1);
        } else if (e->kind == CF_TRAIL_COMPACTION || e->kind == CF_TRAIL_ABORTED) {
            line.kind = e->kind == CF_TRAIL_COMPACTION ? CF_STEPS_COMPACTION : CF_STEPS_ABORTED;
            add(b, line);
        }
    }
}

static void add_agent(builder *b, size_t agent, int depth)
{
    b->is_put[agent] = true;
    add(b,
        (cf_steps_line){CF_STEPS_AGENT, b->v->now.steps.agents[agent].at, SIZE_MAX, agent, depth});
    if (!b->v->is_folded[agent]) {
        add_events(b, agent, depth + 1);
    }
}

static void index_events(builder *b)
{
    const cf_trail *t = cf_steps_trail(b->v);
    const cf_trail_steps *s = &b->v->now.steps;
    for (size_t i = 0; i < t->n_events; i++) {
        b->row_of[i] = SIZE_MAX;
    }
    for (size_t i = 0; i < s->n_rows; i++) {
        b->row_of[s->rows[i].at] = i;
        b->begun[i] = SIZE_MAX;
    }
    for (size_t k = s->n_agents; k-- > 0;) {
        size_t row = s->agents[k].parent_row;
        b->next[k] = row < s->n_rows ? b->begun[row] : SIZE_MAX;
        if (row < s->n_rows) {
            b->begun[row] = k;
        }
    }
}

static void build(builder *b)
{
    const cf_trail_steps *s = &b->v->now.steps;
    index_events(b);
    b->is_put[0] = true;
    add_events(b, 0, 0);
    for (size_t i = 1; i < s->n_agents; i++) {
        if (!b->is_put[i]) {
            /* Under a folded one, or of a call that is not known. */
            bool is_under = s->agents[i].parent_row != SIZE_MAX &&
                            s->agents[i].parent != SIZE_MAX && s->agents[i].parent != 0;
            if (!is_under) {
                add_agent(b, i, 0);
            }
        }
    }
}

cf_status cf_steps_lines(cf_steps_view *v, cf_error *err)
{
    const cf_trail *t = cf_steps_trail(v);
    size_t n_agents = v->now.steps.n_agents + 1;
    size_t at = v->list.cursor < v->n_lines ? v->lines[v->list.cursor].at : 0;
    builder b = {.v = v};
    b.row_of = cf_arena_calloc(&b.arena, t->n_events + 1, sizeof *b.row_of);
    b.begun = cf_arena_calloc(&b.arena, v->now.steps.n_rows + 1, sizeof *b.begun);
    b.next = cf_arena_calloc(&b.arena, n_agents, sizeof *b.next);
    b.is_put = cf_arena_calloc(&b.arena, n_agents, sizeof *b.is_put);
    v->n_lines = 0;
    if (!b.arena.failed) {
        build(&b);
    }
    bool failed = b.arena.failed;
    cf_arena_deinit(&b.arena);
    if (failed) {
        v->n_lines = 0;
        return cf_oom(err);
    }
    cf_list_set(&v->list, v->n_lines, v->list.height);
    for (size_t i = 0; i < v->n_lines; i++) {
        if (v->lines[i].at <= at) {
            cf_list_go(&v->list, i);
        }
        if (v->lines[i].at == at) {
            break;
        }
    }
    return CF_OK;
}
