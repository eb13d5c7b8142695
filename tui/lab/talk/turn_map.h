/*
 * turn_map.h - from a turn's UUID to a number: its index in an array.
 *
 * Memory:   owns its slots; a zeroed map is empty.
 */
#ifndef CF_TUI_LAB_TALK_TURN_MAP_H
#define CF_TUI_LAB_TALK_TURN_MAP_H

#include "core/base/uuid.h"

#define CF_TURN_MAP_NONE UINT32_MAX

typedef struct cf_turn_map {
    struct {
        cf_uuid id;
        uint32_t value; /* CF_TURN_MAP_NONE: free */
    } * slot;           /* [n_slots], a power of two */
    size_t n_slots, n;
} cf_turn_map;

void cf_turn_map_deinit(cf_turn_map *map);
/* Forgets everything, keeping the memory. */
void cf_turn_map_clear(cf_turn_map *map);

/* False when memory ran out.  A known id gets the new value. */
bool cf_turn_map_put(cf_turn_map *map, cf_uuid id, uint32_t value);

/* CF_TURN_MAP_NONE when it is not there. */
uint32_t cf_turn_map_get(const cf_turn_map *map, cf_uuid id);

#endif
