/*
 * helper_wire.h - what confab and the helper process of an engine plug-in say to
 * each other over the helper's standard input and output.
 *
 * Both run on one machine, so numbers are in its order.  The helper begins with a
 * reply whose text is the engine's name.  Then each request gets one reply, but
 * for CF_HELPER_STOP, which may come while a pass runs and gets none.
 *
 *   request            payload                       payload of the reply
 *   CF_HELPER_OPEN     cf_plugin_options, the path   cf_plugin_info
 *   CF_HELPER_PASS     cf_plugin_row [n]             float [wanted rows, n_vocab], then
 *                                                    float [n_layer, n_embd] if wanted
 *   CF_HELPER_FORK     none (from, to)               none
 *   CF_HELPER_CUT      none (from, length)           none; CF_PLUGIN_FAILED: refused
 *
 * The payload of any other reply than CF_PLUGIN_OK is a text: why.
 */
#ifndef CF_CORE_HELPER_HELPER_WIRE_H
#define CF_CORE_HELPER_HELPER_WIRE_H

#include <stdint.h>

#define CF_HELPER_MAGIC 0x50464331u

typedef enum cf_helper_op {
    CF_HELPER_OPEN = 1,
    CF_HELPER_PASS,
    CF_HELPER_FORK,
    CF_HELPER_CUT,
    CF_HELPER_STOP
} cf_helper_op;

typedef struct cf_helper_request {
    uint32_t op, from, to, length;
    uint64_t n_bytes; /* of the payload */
} cf_helper_request;

typedef struct cf_helper_reply {
    uint32_t magic, abi, result, unused;
    uint64_t n_bytes;
} cf_helper_reply;

#endif
