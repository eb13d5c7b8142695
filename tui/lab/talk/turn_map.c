/*
 * turn_map.c - open addressing, at most half full.
 */
#include "tui/lab/talk/turn_map.h"

#include <string.h>

#include "core/base/alloc.h"

void cf_turn_map_deinit(cf_turn_map *map)
{
    cf_free(map->slot);
    *map = (cf_turn_map){0};
}

void cf_turn_map_clear(cf_turn_map *map)
{
    for (size_t i = 0; i < map->n_slots; i++) {
        map->slot[i].value = CF_TURN_MAP_NONE;
    }
    map->n = 0;
}

/* The slot of an id, or the free one where it would go. */
static size_t find(const cf_turn_map *map, cf_uuid id)
{
    uint64_t h = 0;
    memcpy(&h, (const char *)&id + 8, 8); /* the random half */
    h *= UINT64_C(0x9E3779B97F4A7C15);
    size_t at = (size_t)(h >> 32) & (map->n_slots - 1);
    while (map->slot[at].value != CF_TURN_MAP_NONE && !cf_uuid_eq(map->slot[at].id, id)) {
        at = (at + 1) & (map->n_slots - 1);
    }
    return at;
}

static bool grow(cf_turn_map *map)
{
    cf_turn_map old = *map;
    map->n_slots = old.n_slots != 0 ? old.n_slots * 2 : 64;
    map->slot = cf_alloc(map->n_slots * sizeof *map->slot);
    if (map->slot == NULL) {
        *map = old;
        return false;
    }
    cf_turn_map_clear(map);
    for (size_t i = 0; i < old.n_slots; i++) {
        if (old.slot[i].value != CF_TURN_MAP_NONE) {
            map->slot[find(map, old.slot[i].id)] = old.slot[i];
            map->n++;
        }
    }
    cf_free(old.slot);
    return true;
}

bool cf_turn_map_put(cf_turn_map *map, cf_uuid id, uint32_t value)
{
    if (2 * (map->n + 1) > map->n_slots && !grow(map)) {
        return false;
    }
    size_t at = find(map, id);
    map->n += map->slot[at].value == CF_TURN_MAP_NONE;
    map->slot[at].id = id;
    map->slot[at].value = value;
    return true;
}

uint32_t cf_turn_map_get(const cf_turn_map *map, cf_uuid id)
{
    return map->n_slots != 0 ? map->slot[find(map, id)].value : CF_TURN_MAP_NONE;
}
