/*
 * fake_engine.c - an engine for tests: the logits after a token are a hash of all
 * tokens up to it, so that every mistake about sequences shows.
 *
 * $FAKE_VOCAB is the number of tokens.  $FAKE_ENGINE has words: "recurrent" cuts to
 * nothing only, "full" has 64 cells, "abort" ends its process in the pass that has
 * token 13, "late" at position 60, "slow" computes that pass until it is stopped,
 * "hangs" does not even then, "broken" refuses every model, "wrong" is for another
 * library, "blind" shows nothing.  $FAKE_PID is a file that it writes its number to.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/api/engine_plugin.h"

enum { CTX = 512, SEQS = 8, BATCH = 16, TRAP = 13, LATE = 60, SMALL = 64, LAYERS = 2, EMBD = 4 };

static int32_t tokens[SEQS][CTX];
static uint32_t length[SEQS];
static uint32_t n_vocab, n_cell = CTX;
static float *table; /* [BATCH, n_vocab] */
static float seen[CTX * LAYERS];

static bool is(const char *word)
{
    const char *words = getenv("FAKE_ENGINE");
    return words != NULL && strstr(words, word) != NULL;
}

static const char *name(char why[CF_PLUGIN_WHY])
{
    if (is("wrong")) {
        snprintf(why, CF_PLUGIN_WHY, "built for fake 1.0, and the library is fake 2.0");
        return NULL;
    }
    return "fake 1.0";
}

static void write_pid(const char *path)
{
    FILE *f = path != NULL ? fopen(path, "w") : NULL;
    if (f != NULL) {
        fprintf(f, "%d\n", (int)getpid());
        fclose(f);
    }
}

static bool open_model(const char *path, const cf_plugin_options *o, cf_plugin_info *out,
                       char why[CF_PLUGIN_WHY])
{
    n_vocab = (uint32_t)strtoul(getenv("FAKE_VOCAB"), NULL, 10);
    table = calloc((size_t)BATCH * n_vocab, sizeof *table);
    if (table == NULL || is("broken")) {
        snprintf(why, CF_PLUGIN_WHY, "no model for %.40s", path);
        return false;
    }
    write_pid(getenv("FAKE_PID"));
    n_cell = is("full") ? SMALL : o->n_ctx != 0 && o->n_ctx < CTX ? o->n_ctx : CTX;
    *out = (cf_plugin_info){.n_vocab = n_vocab,
                            .n_embd = EMBD,
                            .n_layer = LAYERS,
                            .n_ctx_train = CTX,
                            .n_ctx = n_cell,
                            .n_seq = SEQS,
                            .n_batch = BATCH,
                            .n_threads = 1,
                            .is_recurrent = is("recurrent"),
                            .cache = "f16",
                            .engine = "fake 1.0",
                            .device = "CPU"};
    return true;
}

static uint32_t hash(uint32_t h, uint32_t v)
{
    return (h ^ v) * 16777619u;
}

/* What traps are laid for a row; false: go on. */
static bool is_stopped(const cf_plugin_row *row)
{
    if ((row->id == TRAP && is("abort")) || (row->pos == LATE && is("late"))) {
        fputs("FAKE_ASSERT(token != 13) failed\n", stderr);
        abort();
    }
    while (row->pos == LATE && is("hangs")) {
        sleep(1);
    }
    while (row->id == TRAP && is("slow")) {
        if (cf_engine_plugin_stops()) {
            return true;
        }
    }
    return false;
}

static cf_plugin_result pass(const cf_plugin_row *rows, uint32_t n, char why[CF_PLUGIN_WHY])
{
    for (uint32_t i = 0; i < n; i++) {
        uint32_t s = rows[i].seq, total = 0, h = 2166136261u;
        if (is_stopped(&rows[i])) {
            return CF_PLUGIN_STOPPED;
        }
        for (uint32_t k = 0; k < SEQS; k++) {
            total += length[k];
        }
        if (total >= n_cell) {
            return CF_PLUGIN_FULL;
        }
        if (rows[i].pos != length[s]) {
            snprintf(why, CF_PLUGIN_WHY, "position %u after %u", rows[i].pos, length[s]);
            return CF_PLUGIN_FAILED;
        }
        tokens[s][length[s]++] = rows[i].id;
        for (uint32_t k = 0; k < length[s]; k++) {
            h = hash(h, (uint32_t)tokens[s][k]);
        }
        for (uint32_t v = 0; v < n_vocab; v++) {
            table[(size_t)i * n_vocab + v] = (float)(hash(h, v) >> 8);
        }
    }
    return CF_PLUGIN_OK;
}

static const float *logits(uint32_t row)
{
    return table + (size_t)row * n_vocab;
}

/* Layers and lenses count; the first layer has a head that looks at all positions
 * alike, and the second has none. */
static cf_plugin_result look(cf_plugin_look what, const int32_t *ids, uint32_t n, const float **out,
                             size_t *n_out, char why[CF_PLUGIN_WHY])
{
    (void)ids;
    memset(length, 0, sizeof length);
    if (is("blind")) {
        snprintf(why, CF_PLUGIN_WHY, "it shows nothing");
        return CF_PLUGIN_FAILED;
    }
    *out = what == CF_PLUGIN_LENS ? table : seen;
    *n_out = what == CF_PLUGIN_LENS     ? (size_t)(LAYERS + 1) * n_vocab
             : what == CF_PLUGIN_LAYERS ? LAYERS * EMBD
                                        : n + 2;
    for (uint32_t i = 0; i < *n_out && what == CF_PLUGIN_LENS; i++) {
        table[i] = (float)i;
    }
    for (uint32_t i = 0; i < *n_out && what != CF_PLUGIN_LENS; i++) {
        bool is_weight = i > 0 && i <= n;
        seen[i] = what == CF_PLUGIN_LAYERS ? (float)i : is_weight ? 1 / (float)n : i == 0;
    }
    return CF_PLUGIN_OK;
}

static void fork_sequence(uint32_t from, uint32_t to)
{
    memcpy(tokens[to], tokens[from], sizeof tokens[to]);
    length[to] = length[from];
}

/* A refused cut shows, as the next position is not the one after the last. */
static void cut(uint32_t seq, uint32_t n)
{
    if (n == 0 || !is("recurrent")) {
        length[seq] = n < length[seq] ? n : length[seq];
    }
}

const cf_engine_plugin cf_engine_plugin_v1 = {.name = name,
                                              .open = open_model,
                                              .pass = pass,
                                              .logits = logits,
                                              .look = look,
                                              .fork = fork_sequence,
                                              .cut = cut};
