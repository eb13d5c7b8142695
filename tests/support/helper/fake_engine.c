/*
 * fake_engine.c - an engine for tests: the logits after a token are a hash of all
 * tokens up to it, so that every mistake about sequences shows.
 *
 * $FAKE_VOCAB is the number of tokens.  $FAKE_ENGINE has words: "recurrent" refuses
 * to cut, "full" has 64 cells, "abort" ends its process in the pass that has token 13, "late" at position 60,
 * "slow" computes that pass until it is stopped, "broken" refuses every model.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/api/engine_plugin.h"

enum { CTX = 512, SEQS = 8, BATCH = 16, TRAP = 13, LATE = 60, SMALL = 64 };

static int32_t tokens[SEQS][CTX];
static uint32_t length[SEQS];
static uint32_t n_vocab, n_cell = CTX;
static float *table; /* [BATCH, n_vocab] */

static bool is(const char *word)
{
    const char *words = getenv("FAKE_ENGINE");
    return words != NULL && strstr(words, word) != NULL;
}

static const char *name(char why[CF_PLUGIN_WHY])
{
    (void)why;
    return "fake 1.0";
}

static void *open_model(const char *path, const cf_plugin_options *o, cf_plugin_info *out,
                        char why[CF_PLUGIN_WHY])
{
    n_vocab = (uint32_t)strtoul(getenv("FAKE_VOCAB"), NULL, 10);
    table = calloc((size_t)BATCH * n_vocab, sizeof *table);
    if (table == NULL || is("broken")) {
        snprintf(why, CF_PLUGIN_WHY, "no model for %.40s", path);
        return NULL;
    }
    n_cell = is("full") ? SMALL : o->n_ctx != 0 && o->n_ctx < CTX ? o->n_ctx : CTX;
    *out = (cf_plugin_info){.n_vocab = n_vocab,
                            .n_embd = 4,
                            .n_layer = 2,
                            .n_ctx_train = CTX,
                            .n_ctx = n_cell,
                            .n_seq = SEQS,
                            .n_batch = BATCH,
                            .n_threads = 1,
                            .is_recurrent = is("recurrent"),
                            .cache = "f16",
                            .engine = "fake 1.0",
                            .device = "CPU"};
    return table;
}

static uint32_t hash(uint32_t h, uint32_t v)
{
    return (h ^ v) * 16777619u;
}

static cf_plugin_result pass(void *model, const cf_plugin_row *rows, uint32_t n,
                             bool (*stop)(void *ud), void *ud, char why[CF_PLUGIN_WHY])
{
    (void)model;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t s = rows[i].seq, total = 0, h = 2166136261u;
        if ((rows[i].id == TRAP && is("abort")) || (rows[i].pos == LATE && is("late"))) {
            fputs("FAKE_ASSERT(token != 13) failed\n", stderr);
            abort();
        }
        while (rows[i].id == TRAP && is("slow")) {
            if (stop(ud)) {
                return CF_PLUGIN_STOPPED;
            }
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

static const float *logits(void *model, uint32_t row)
{
    (void)model;
    return table + (size_t)row * n_vocab;
}

static const float *streams(void *model)
{
    (void)model;
    return NULL;
}

static void fork_sequence(void *model, uint32_t from, uint32_t to)
{
    (void)model;
    memcpy(tokens[to], tokens[from], sizeof tokens[to]);
    length[to] = length[from];
}

static bool cut(void *model, uint32_t seq, uint32_t n)
{
    (void)model;
    if (n != 0 && n < length[seq] && is("recurrent")) {
        return false;
    }
    length[seq] = n < length[seq] ? n : length[seq];
    return true;
}

const cf_engine_plugin cf_engine_plugin_v1 = {.abi = CF_PLUGIN_ABI,
                                              .name = name,
                                              .open = open_model,
                                              .pass = pass,
                                              .logits = logits,
                                              .streams = streams,
                                              .fork = fork_sequence,
                                              .cut = cut};
