/*
 * inside_request.c - reads requests about the inside of a model and writes the
 * answers.
 *
 *   JSON -> ids, position, changes -> core/api/inside.h -> JSON
 */
#include "core/api/inside_request.h"

#include <math.h>
#include <string.h>

#include "core/api/steer.h"
#include "core/json/json_writer.h"

enum { TOP = 5, TOKENS_MAX = 1 << 20 };

/* A request under way. */
typedef struct request {
    cf_session *session;
    const cf_engine *engine;
    uint32_t n_vocab, n_layer, n_embd;
    const json_t *item;
    cf_arena *arena;
    cf_inside_ask ask;
    cf_changes changes;
    cf_token *tokens; /* [n_token]: whose logits are wanted */
    size_t n_token;
    cf_jw w; /* the answer */
} request;

/* ---- reading ------------------------------------------------------------ */

static void *need(request *q, size_t n, size_t size)
{
    return cf_arena_calloc(q->arena, n, size);
}

/* A whole number 0..max. */
static cf_status read_count(const json_t *v, const char *name, uint64_t max, uint32_t *out,
                            cf_error *err)
{
    json_int_t i = json_is_integer(v) ? json_integer_value(v) : -1;
    if (i < 0 || (uint64_t)i > max) {
        return cf_fail(err, CF_EINVAL, "\"%s\" is not a whole number from 0 to %llu", name,
                       (unsigned long long)max);
    }
    *out = (uint32_t)i;
    return CF_OK;
}

/* [a, b] with a, b <= max. */
static cf_status read_pair(const json_t *v, const char *name, uint64_t max, uint32_t *a,
                           uint32_t *b, cf_error *err)
{
    if (json_array_size(v) != 2) {
        return cf_fail(err, CF_EINVAL, "\"%s\" is not a pair of numbers", name);
    }
    CF_TRY(read_count(json_array_get(v, 0), name, max, a, err));
    return read_count(json_array_get(v, 1), name, max, b, err);
}

static cf_status read_ids(request *q, const char *name, cf_token **out, size_t *n, cf_error *err)
{
    const json_t *v = json_object_get(q->item, name);
    *n = json_array_size(v);
    if (!json_is_array(v) || *n > TOKENS_MAX) {
        return cf_fail(err, CF_EINVAL, "\"%s\" is not a list of token ids", name);
    }
    *out = need(q, *n, sizeof **out);
    for (size_t i = 0; *out != NULL && i < *n; i++) {
        uint32_t id = 0;
        CF_TRY(read_count(json_array_get(v, i), name, q->n_vocab - (uint64_t)1, &id, err));
        (*out)[i] = (cf_token)id;
    }
    return *out != NULL ? CF_OK : cf_oom_for(err, "a request");
}

/* Positions of `key`; all of them where it is left out. */
static cf_status read_positions(const request *q, const json_t *v, cf_position_range *out,
                                cf_error *err)
{
    *out = (cf_position_range){0, (uint32_t)q->ask.n};
    return v != NULL ? read_pair(v, "positions", q->ask.n, &out->first, &out->end, err) : CF_OK;
}

/* What all requests have. */
static cf_status read_ask(request *q, cf_error *err)
{
    cf_token *ids = NULL;
    CF_TRY(read_ids(q, "ids", &ids, &q->ask.n, err));
    if (q->ask.n == 0) {
        return cf_fail(err, CF_EINVAL, "\"ids\" is empty");
    }
    q->ask.ids = ids;
    CF_TRY(read_count(json_object_get(q->item, "at"), "at", q->ask.n - 1, &q->ask.at, err));
    if (json_object_get(q->item, "tokens") != NULL) {
        CF_TRY(read_ids(q, "tokens", &q->tokens, &q->n_token, err));
    }
    return CF_OK;
}

/* ---- changes ------------------------------------------------------------ */

static const char *const kind_names[] = {[CF_CHANGE_LOOK] = "look",
                                         [CF_CHANGE_HEAD] = "head",
                                         [CF_CHANGE_ATTENTION] = "attention",
                                         [CF_CHANGE_RECURRENT] = "recurrent",
                                         [CF_CHANGE_MLP] = "mlp",
                                         [CF_CHANGE_LAYER] = "layer",
                                         [CF_CHANGE_EXPERT] = "expert"};

/* The kind of a change, and its value: the one member that names a kind.  Other
 * members must be those that the kind may have. */
static cf_status read_kind(const json_t *v, cf_inside_change_kind *kind, const json_t **value,
                           cf_error *err)
{
    const char *key;
    const json_t *member;
    size_t n_kind = 0;
    json_object_foreach(cf_json_ref(v), key, member)
    {
        for (size_t i = 0; i < sizeof kind_names / sizeof *kind_names; i++) {
            if (strcmp(key, kind_names[i]) == 0) {
                *kind = (cf_inside_change_kind)i;
                *value = member;
                n_kind++;
            }
        }
    }
    if (n_kind != 1) {
        return cf_fail(err, CF_EINVAL,
                       "a change has one kind: look, head, attention, recurrent, "
                       "mlp, layer or expert");
    }
    json_object_foreach(cf_json_ref(v), key, member)
    {
        bool is_of_look = strcmp(key, "from") == 0 || strcmp(key, "layers") == 0;
        bool is_other = strcmp(key, "positions") == 0;
        if (member != *value && !(*kind == CF_CHANGE_LOOK ? is_of_look : is_other)) {
            return cf_fail(err, CF_EINVAL, "a change of \"%s\" has no \"%.20s\"", kind_names[*kind],
                           key);
        }
    }
    return CF_OK;
}

static cf_status read_look(const request *q, const json_t *v, const json_t *value,
                           cf_inside_change *out, cf_error *err)
{
    const json_t *from = json_object_get(v, "from"), *layers = json_object_get(v, "layers");
    CF_TRY(read_pair(value, "look", q->ask.n, &out->at.first, &out->at.end, err));
    out->from = out->at.end;
    out->last_layer = q->n_layer - 1;
    if (from != NULL) {
        CF_TRY(read_count(from, "from", q->ask.n, &out->from, err));
    }
    return layers != NULL
               ? read_pair(layers, "layers", q->n_layer, &out->layer, &out->last_layer, err)
               : CF_OK;
}

static cf_status read_change(const request *q, const json_t *v, cf_inside_change *out,
                             cf_error *err)
{
    const json_t *value = NULL;
    *out = (cf_inside_change){.layer = 0};
    CF_TRY(read_kind(v, &out->kind, &value, err));
    if (out->kind == CF_CHANGE_LOOK) {
        return read_look(q, v, value, out, err);
    }
    CF_TRY(read_positions(q, json_object_get(v, "positions"), &out->at, err));
    if (out->kind == CF_CHANGE_HEAD || out->kind == CF_CHANGE_EXPERT) {
        return read_pair(value, kind_names[out->kind], UINT32_MAX, &out->layer, &out->index, err);
    }
    return read_count(value, kind_names[out->kind], UINT32_MAX, &out->layer, err);
}

static cf_status read_changes(request *q, cf_error *err)
{
    const json_t *list = json_object_get(q->item, "changes");
    size_t n = json_array_size(list);
    if (!json_is_array(list) || n > CF_CHANGES_MAX) {
        return cf_fail(err, CF_EINVAL, "\"changes\" is not a list of at most %d changes",
                       CF_CHANGES_MAX);
    }
    cf_inside_change *v = need(q, n, sizeof *v);
    for (size_t i = 0; v != NULL && i < n; i++) {
        CF_TRY(read_change(q, json_array_get(list, i), &v[i], err));
    }
    q->changes.v = v;
    q->changes.n = n;
    return v != NULL ? CF_OK : cf_oom_for(err, "a request");
}

/* ---- answers ------------------------------------------------------------ */

/* The largest logits, best first. */
static void find_top(const float *logits, uint32_t n, cf_token top[TOP])
{
    for (size_t k = 0; k < TOP; k++) {
        top[k] = CF_TOKEN_NONE;
        for (uint32_t i = 0; i < n; i++) {
            bool is_taken = false;
            for (size_t j = 0; j < k; j++) {
                is_taken = is_taken || top[j] == (cf_token)i;
            }
            if (!is_taken && (top[k] == CF_TOKEN_NONE || logits[i] > logits[top[k]])) {
                top[k] = (cf_token)i;
            }
        }
    }
}

/* "logits" and "top", and their probabilities where they are wanted. */
static void write_logits(request *q, const float *logits, bool has_p)
{
    cf_token top[TOP];
    double sum = 0;
    size_t n = q->n_vocab < TOP ? q->n_vocab : TOP;
    find_top(logits, q->n_vocab, top);
    cf_jw_array(&q->w, "logits");
    for (size_t i = 0; i < q->n_token; i++) {
        cf_jw_float(&q->w, NULL, logits[q->tokens[i]]);
    }
    cf_jw_end(&q->w);
    cf_jw_int32s(&q->w, "top", top, n);
    for (uint32_t i = 0; has_p && i < q->n_vocab; i++) {
        sum += exp((double)logits[i] - (double)logits[top[0]]);
    }
    if (has_p) {
        cf_jw_array(&q->w, "p");
        for (size_t i = 0; i < n; i++) {
            cf_jw_double(&q->w, NULL, exp((double)logits[top[i]] - (double)logits[top[0]]) / sum);
        }
        cf_jw_end(&q->w);
    }
}

static void on_layer(void *ud, uint32_t l, const float *logits)
{
    request *q = ud;
    cf_jw_object(&q->w, NULL);
    cf_jw_uint(&q->w, "layer", l);
    write_logits(q, logits, true);
    cf_jw_end(&q->w);
}

static cf_status lens(request *q, cf_error *err)
{
    cf_jw_array(&q->w, "layers");
    CF_TRY(cf_inside_lens(q->session, &q->ask, on_layer, q, err));
    cf_jw_end(&q->w);
    return CF_OK;
}

static void write_looks(request *q, uint32_t layer, const cf_inside_looks *l)
{
    cf_jw_object(&q->w, NULL);
    cf_jw_uint(&q->w, "layer", layer);
    cf_jw_text(&q->w, "kind", "attention");
    cf_jw_array(&q->w, "heads");
    for (uint32_t h = 0; h < l->n_head; h++) {
        cf_jw_array(&q->w, NULL);
        for (size_t k = 0; k <= q->ask.at; k++) {
            cf_jw_float(&q->w, NULL, l->w[h * (q->ask.at + (size_t)1) + k]);
        }
        cf_jw_end(&q->w);
    }
    cf_jw_end(&q->w);
    cf_jw_end(&q->w);
}

static cf_status attention(request *q, cf_error *err)
{
    cf_inside_looks *looks = NULL;
    CF_TRY(cf_inside_attention(q->session, &q->ask, &looks, q->arena, err));
    cf_jw_array(&q->w, "layers");
    for (uint32_t i = 0; i < q->n_layer; i++) {
        if (looks[i].n_head != 0) {
            write_looks(q, i, &looks[i]);
        }
        if (looks[i].is_recurrent) {
            cf_jw_object(&q->w, NULL);
            cf_jw_uint(&q->w, "layer", i);
            cf_jw_text(&q->w, "kind", "recurrent");
            cf_jw_end(&q->w);
        }
    }
    cf_jw_end(&q->w);
    return CF_OK;
}

static cf_status margin(request *q, cf_error *err)
{
    const json_t *b = json_object_get(q->item, "against");
    uint32_t id = 0, against = 0;
    cf_margin m;
    uint64_t last = q->n_vocab - (uint64_t)1;
    CF_TRY(read_count(json_object_get(q->item, "for"), "for", last, &id, err));
    if (b != NULL && !json_is_null(b)) {
        CF_TRY(read_count(b, "against", last, &against, err));
    }
    CF_TRY(cf_inside_margin(q->session, &q->ask, (cf_token)id,
                            b != NULL && !json_is_null(b) ? (cf_token)against : CF_TOKEN_NONE, &m,
                            q->arena, err));
    cf_inside_json_margin(&q->w, &m);
    return CF_OK;
}

void cf_inside_json_margin(cf_jw *w, const cf_margin *m)
{
    cf_jw_double(w, "margin", m->margin);
    cf_jw_double(w, "embedding", m->embedding);
    cf_jw_array(w, "layers");
    for (uint32_t i = 0; i < m->n_layer; i++) {
        const cf_layer_share *l = &m->layer[i];
        cf_jw_object(w, NULL);
        cf_jw_uint(w, "layer", i);
        if (l->has_attention) {
            cf_jw_double(w, "attention", l->attention);
            cf_jw_array(w, "heads");
            for (uint32_t h = 0; h < l->n_head; h++) {
                cf_jw_double(w, NULL, l->head[h]);
            }
            cf_jw_end(w);
        }
        if (l->has_recurrent) {
            cf_jw_double(w, "recurrent", l->recurrent);
        }
        cf_jw_double(w, "mlp", l->mlp);
        if (l->n_expert != 0) {
            cf_jw_array(w, "experts");
            for (uint32_t e = 0; e < l->n_expert; e++) {
                cf_jw_array(w, NULL);
                cf_jw_uint(w, NULL, l->expert[e].expert);
                cf_jw_double(w, NULL, l->expert[e].v);
                cf_jw_end(w);
            }
            cf_jw_end(w);
        }
        if (l->has_other) {
            cf_jw_double(w, "other", l->other);
        }
        cf_jw_end(w);
    }
    cf_jw_end(w);
    cf_jw_double(w, "bias", m->bias);
}

/* ---- runs under changes ------------------------------------------------- */

static cf_status run(request *q, cf_error *err)
{
    float *logits = need(q, q->n_vocab, sizeof *logits);
    if (logits == NULL) {
        return cf_oom_for(err, "logits");
    }
    q->ask.changes = &q->changes;
    CF_TRY(cf_inside_run(q->session, &q->ask, logits, err));
    write_logits(q, logits, false);
    return CF_OK;
}

static cf_status without(request *q, cf_error *err)
{
    CF_TRY(read_changes(q, err));
    return run(q, err);
}

/* The streams of "from" at the second positions of the pairs. */
static cf_status read_source(request *q, uint32_t layer, const uint32_t *pos, size_t n, float *x,
                             cf_error *err)
{
    cf_inside_ask from = {.cancel = q->ask.cancel};
    cf_token *ids = NULL;
    CF_TRY(read_ids(q, "from", &ids, &from.n, err));
    from.ids = ids;
    for (size_t i = 0; i < n; i++) {
        if (pos[i] >= from.n) {
            return cf_fail(err, CF_EINVAL, "position %u of %zu in \"from\"", pos[i], from.n);
        }
        from.at = pos[i] > from.at ? pos[i] : from.at;
    }
    return n != 0 ? cf_inside_stream(q->session, &from, layer, pos, n, x, err) : CF_OK;
}

static cf_status patch(request *q, cf_error *err)
{
    const json_t *pairs = json_object_get(q->item, "positions");
    size_t n = json_array_size(pairs), width = cf_inside_width(q->engine);
    uint32_t layer = 0;
    if (!json_is_array(pairs) || n > q->ask.n) {
        return cf_fail(err, CF_EINVAL, "\"positions\" is not a list of pairs");
    }
    CF_TRY(read_count(json_object_get(q->item, "layer"), "layer", q->n_layer, &layer, err));
    cf_patch *v = need(q, n, sizeof *v);
    uint32_t *pos = need(q, n, sizeof *pos);
    float *x = need(q, n * width, sizeof *x);
    if (q->arena->failed) {
        return cf_oom_for(err, "a request");
    }
    for (size_t i = 0; i < n; i++) {
        v[i] = (cf_patch){.layer = layer, .x = x + i * width};
        CF_TRY(
            read_pair(json_array_get(pairs, i), "positions", TOKENS_MAX, &v[i].pos, &pos[i], err));
    }
    CF_TRY(read_source(q, layer, pos, n, x, err));
    q->changes.patch = v;
    q->changes.n_patch = n;
    return run(q, err);
}

/* "l": [n_embd numbers] */
static cf_status read_vector(request *q, const char *key, const json_t *v, cf_push *out,
                             cf_error *err)
{
    uint32_t l = 0;
    float *x = need(q, q->n_embd, sizeof *x);
    for (const char *c = key; *c != '\0' && l <= q->n_layer; c++) {
        l = *c >= '0' && *c <= '9' ? 10 * l + (uint32_t)(*c - '0') : UINT32_MAX / 2;
    }
    if (key[0] == '\0' || l > q->n_layer || json_array_size(v) != q->n_embd) {
        return cf_fail(err, CF_EINVAL,
                       "\"vectors\": \"%.20s\" is not a layer from 0 to %u with %u "
                       "numbers",
                       key, q->n_layer, q->n_embd);
    }
    for (size_t i = 0; x != NULL && i < q->n_embd; i++) {
        const json_t *n = json_array_get(v, i);
        if (!json_is_number(n)) {
            return cf_fail(err, CF_EINVAL, "\"vectors\": not a number");
        }
        x[i] = (float)json_number_value(n);
    }
    out->layer = l;
    out->v = x;
    return x != NULL ? CF_OK : cf_oom_for(err, "a request");
}

static cf_status read_vectors(request *q, const json_t *all, cf_push *push, cf_error *err)
{
    const char *key;
    json_t *v;
    json_object_foreach(cf_json_ref(all), key, v)
    {
        CF_TRY(read_vector(q, key, v, &push[q->changes.n_push], err));
        q->changes.n_push++;
    }
    return CF_OK;
}

/* The vectors of a file; *file keeps them. */
static cf_status read_file(request *q, const json_t *name, cf_push *push, cf_steering **file,
                           cf_error *err)
{
    if (!json_is_string(name)) {
        return cf_fail(err, CF_EINVAL, "neither \"vectors\" nor \"vector\"");
    }
    CF_TRY(cf_steering_new(file, q->engine, err));
    CF_TRY(cf_steering_add_file(*file, json_string_value(name), 1, 0, 0, err));
    for (uint32_t l = 0; l <= q->n_layer; l++) {
        const float *v = cf_steering_at(*file, l);
        if (v != NULL) {
            push[q->changes.n_push++] = (cf_push){.layer = l, .v = v};
        }
    }
    return CF_OK;
}

static cf_status steer_with(request *q, cf_steering **file, cf_error *err)
{
    const json_t *all = json_object_get(q->item, "vectors");
    const json_t *scale = json_object_get(q->item, "scale");
    size_t n = json_object_size(all) + q->n_layer + 1;
    cf_position_range at;
    cf_push *push = need(q, n, sizeof *push);
    if (push == NULL) {
        return cf_oom_for(err, "a request");
    }
    if (scale != NULL && !json_is_number(scale)) {
        return cf_fail(err, CF_EINVAL, "\"scale\" is not a number");
    }
    CF_TRY(read_positions(q, json_object_get(q->item, "positions"), &at, err));
    CF_TRY(json_is_object(all) ? read_vectors(q, all, push, err)
                               : read_file(q, json_object_get(q->item, "vector"), push, file, err));
    for (size_t i = 0; i < q->changes.n_push; i++) {
        push[i].scale = scale != NULL ? (float)json_number_value(scale) : 1;
        push[i].at = at;
    }
    q->changes.push = push;
    return run(q, err);
}

static cf_status steer(request *q, cf_error *err)
{
    cf_steering *file = NULL;
    cf_status st = steer_with(q, &file, err);
    cf_steering_free(file);
    return st;
}

/* ---- requests ----------------------------------------------------------- */

static cf_status dispatch(request *q, cf_error *err)
{
    static const struct {
        const char *name;
        cf_status (*run)(request *q, cf_error *err);
    } ops[] = {{"lens", lens},       {"attention", attention}, {"margin", margin},
               {"without", without}, {"patch", patch},         {"steer", steer}};
    cf_str op = cf_json_get_str(q->item, "op");
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
        if (cf_str_is(op, ops[i].name)) {
            CF_TRY(read_ask(q, err));
            return ops[i].run(q, err);
        }
    }
    return cf_fail(err, CF_EINVAL,
                   "\"op\" is one of lens, attention, margin, without, patch, steer");
}

cf_status cf_inside_request(cf_session *session, const json_t *item, cf_cancel *cancel, cf_buf *out,
                           cf_error *err)
{
    cf_engine_info info = cf_engine_get_info(cf_session_engine(session));
    cf_arena arena;
    cf_arena_init(&arena, 0);
    request q = {.session = session,
                 .engine = cf_session_engine(session),
                 .n_vocab = info.n_vocab,
                 .n_layer = info.n_layer,
                 .n_embd = info.n_embd,
                 .item = item,
                 .ask = {.cancel = cancel},
                 .arena = &arena};
    cf_jw_init(&q.w, out);
    cf_jw_object(&q.w, NULL);
    cf_status st = dispatch(&q, err);
    cf_jw_end(&q.w);
    CF_THEN(st, cf_jw_finish(&q.w, err));
    cf_arena_deinit(&arena);
    return st;
}
