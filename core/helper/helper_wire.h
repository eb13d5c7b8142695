/*
 * helper_wire.h - what confab and the helper process of an engine plug-in say to
 * each other over the helper's standard input and output.
 *
 * Both run on one machine, so numbers are in its order.
 *
 *   request           payload            reply
 *   CF_HELPER_NAME    none               char [CF_PLUGIN_NAME], the engine's name
 *   CF_HELPER_OPEN    cf_helper_open     cf_plugin_info
 *   CF_HELPER_PASS    cf_plugin_row [n]  float [wanted rows, n_vocab]
 *   CF_HELPER_LOOK    int32_t [n]        float [], by cf_plugin_look, which is in `from`
 *   CF_HELPER_FORK    none (from, to)    none is sent
 *   CF_HELPER_CUT     none (from, to)    none is sent; `to` is the length
 *   CF_HELPER_STOP    none               none is sent; it may come while a pass runs
 *
 * A reply whose result is not CF_PLUGIN_OK has a text, char [CF_PLUGIN_WHY]: why.
 */
#ifndef CF_CORE_HELPER_HELPER_WIRE_H
#define CF_CORE_HELPER_HELPER_WIRE_H

#include "core/api/engine_plugin.h"

#define CF_HELPER_MAGIC (0x50464300u + CF_PLUGIN_ABI)

typedef enum cf_helper_op {
    CF_HELPER_NAME,
    CF_HELPER_OPEN,
    CF_HELPER_PASS,
    CF_HELPER_LOOK,
    CF_HELPER_FORK,
    CF_HELPER_CUT,
    CF_HELPER_STOP
} cf_helper_op;

typedef struct cf_helper_open {
    cf_plugin_options options;
    char path[4096];
} cf_helper_open;

typedef struct cf_helper_request {
    uint32_t op, from, to, n_bytes; /* of the payload */
} cf_helper_request;

typedef struct cf_helper_reply {
    uint32_t magic, result;
    uint64_t n_bytes;
} cf_helper_reply;

#endif
