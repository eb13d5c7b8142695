/*
 * demo_places.c - the table of cities, and a day's weather from it.
 */
#include "tui/demo/demo_places.h"

#include <math.h>

#define USA "USA|United States|US"
#define UK  "UK|United Kingdom|England|Scotland"

/* clang-format off */
static const cf_place places[] = {
    {"Paris", "France", "Europe/Paris", 12, 8, 4},
    {"London", UK, "Europe/London", 11, 7, 5},
    {"Berlin", "Germany", "Europe/Berlin", 10, 10, 4},
    {"Munich|M\xc3\xbcnchen", "Germany", "Europe/Berlin", 9, 10, 5},
    {"Hamburg", "Germany", "Europe/Berlin", 10, 8, 5},
    {"Vienna|Wien", "Austria", "Europe/Vienna", 11, 10, 4},
    {"Zurich|Z\xc3\xbcrich", "Switzerland", "Europe/Zurich", 9, 9, 5},
    {"Geneva", "Switzerland", "Europe/Zurich", 11, 9, 4},
    {"Madrid", "Spain", "Europe/Madrid", 15, 10, 2},
    {"Barcelona", "Spain", "Europe/Madrid", 17, 8, 2},
    {"Lisbon|Lisboa", "Portugal", "Europe/Lisbon", 17, 6, 3},
    {"Rome|Roma", "Italy", "Europe/Rome", 16, 9, 3},
    {"Milan|Milano", "Italy", "Europe/Rome", 14, 10, 3},
    {"Venice|Venezia", "Italy", "Europe/Rome", 14, 10, 3},
    {"Athens", "Greece", "Europe/Athens", 19, 10, 2},
    {"Amsterdam", "Netherlands|Holland", "Europe/Amsterdam", 11, 7, 5},
    {"Brussels", "Belgium", "Europe/Brussels", 11, 7, 5},
    {"Dublin", "Ireland", "Europe/Dublin", 10, 5, 6},
    {"Edinburgh", UK, "Europe/London", 9, 6, 6},
    {"Oslo", "Norway", "Europe/Oslo", 7, 11, 4},
    {"Bergen", "Norway", "Europe/Oslo", 8, 7, 8},
    {"Stockholm", "Sweden", "Europe/Stockholm", 8, 11, 4},
    {"Copenhagen", "Denmark", "Europe/Copenhagen", 9, 9, 4},
    {"Helsinki", "Finland", "Europe/Helsinki", 6, 12, 4},
    {"Reykjavik|Reykjav\xc3\xadk", "Iceland", "Atlantic/Reykjavik", 5, 6, 6},
    {"Warsaw", "Poland", "Europe/Warsaw", 9, 11, 4},
    {"Prague|Praha", "Czechia|Czech Republic", "Europe/Prague", 9, 10, 4},
    {"Budapest", "Hungary", "Europe/Budapest", 12, 11, 3},
    {"Kyiv", "Ukraine", "Europe/Kyiv", 9, 12, 4},
    {"Istanbul", "Turkey|T\xc3\xbcrkiye", "Europe/Istanbul", 15, 9, 3},
    {"Cairo", "Egypt", "Africa/Cairo", 22, 7, 0},
    {"Lagos", "Nigeria", "Africa/Lagos", 27, -1, 4},
    {"Nairobi", "Kenya", "Africa/Nairobi", 19, -2, 3},
    {"Cape Town", "South Africa", "Africa/Johannesburg", 17, -4, 2},
    {"Dubai", "United Arab Emirates|UAE", "Asia/Dubai", 28, 8, 0},
    {"Delhi|New Delhi", "India", "Asia/Kolkata", 25, 6, 2},
    {"Mumbai", "India", "Asia/Kolkata", 28, 1, 3},
    {"Bangkok", "Thailand", "Asia/Bangkok", 29, 1, 4},
    {"Singapore", "Singapore", "Asia/Singapore", 28, 0, 6},
    {"Jakarta", "Indonesia", "Asia/Jakarta", 28, 0, 5},
    {"Manila", "Philippines", "Asia/Manila", 28, 1, 5},
    {"Hong Kong", "China", "Asia/Hong_Kong", 24, 6, 4},
    {"Beijing", "China", "Asia/Shanghai", 13, 14, 2},
    {"Shanghai", "China", "Asia/Shanghai", 17, 12, 4},
    {"Seoul", "South Korea|Korea", "Asia/Seoul", 13, 14, 3},
    {"Tokyo", "Japan", "Asia/Tokyo", 16, 10, 4},
    {"Kyoto", "Japan", "Asia/Tokyo", 16, 11, 4},
    {"Osaka", "Japan", "Asia/Tokyo", 17, 11, 4},
    {"Sydney", "Australia", "Australia/Sydney", 18, -5, 4},
    {"Melbourne", "Australia", "Australia/Melbourne", 15, -5, 4},
    {"Perth", "Australia", "Australia/Perth", 19, -5, 3},
    {"Auckland", "New Zealand", "Pacific/Auckland", 15, -4, 5},
    {"New York|New York City|NYC", USA, "America/New_York", 13, 12, 3},
    {"Boston", USA, "America/New_York", 11, 12, 4},
    {"Washington|Washington DC", USA, "America/New_York", 15, 12, 3},
    {"Miami", USA, "America/New_York", 25, 4, 4},
    {"Chicago", USA, "America/Chicago", 10, 14, 3},
    {"Denver", USA, "America/Denver", 10, 12, 2},
    {"San Francisco", USA, "America/Los_Angeles", 14, 3, 2},
    {"Los Angeles", USA, "America/Los_Angeles", 18, 5, 1},
    {"Seattle", USA, "America/Los_Angeles", 11, 7, 4},
    {"Honolulu", USA, "Pacific/Honolulu", 25, 2, 2},
    {"Toronto", "Canada", "America/Toronto", 9, 13, 4},
    {"Montreal|Montr\xc3\xa9" "al", "Canada", "America/Toronto", 7, 15, 4},
    {"Vancouver", "Canada", "America/Vancouver", 11, 7, 5},
    {"Mexico City", "Mexico", "America/Mexico_City", 17, 2, 4},
    {"Bogota|Bogot\xc3\xa1", "Colombia", "America/Bogota", 14, 0, 5},
    {"Lima", "Peru", "America/Lima", 19, -4, 0},
    {"Santiago", "Chile", "America/Santiago", 15, -6, 1},
    {"Buenos Aires", "Argentina", "America/Argentina/Buenos_Aires", 18, -7, 3},
    {"Rio de Janeiro|Rio", "Brazil", "America/Sao_Paulo", 24, -3, 3},
};
/* clang-format on */

enum { N_PLACES = sizeof places / sizeof places[0] };

const cf_place *cf_places(size_t *n)
{
    *n = N_PLACES;
    return places;
}

/* ---- names -------------------------------------------------------------- */

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static bool same(cf_str a, cf_str b)
{
    if (a.n != b.n) {
        return false;
    }
    for (size_t i = 0; i < a.n; i++) {
        if (lower(a.p[i]) != lower(b.p[i])) {
            return false;
        }
    }
    return true;
}

bool cf_place_same(cf_str a, const char *b)
{
    return same(a, cf_str_from(b));
}

/* Whether `name` is one of the spellings in `list`. */
static bool is_among(const char *list, cf_str name)
{
    while (*list != '\0') {
        size_t n = strcspn(list, "|");
        if (same(cf_str_make(list, n), name)) {
            return true;
        }
        list += n + (list[n] == '|');
    }
    return false;
}

static cf_str trimmed(cf_str s)
{
    while (s.n > 0 && s.p[0] == ' ') {
        s.p++;
        s.n--;
    }
    while (s.n > 0 && s.p[s.n - 1] == ' ') {
        s.n--;
    }
    return s;
}

const cf_place *cf_place_find(cf_str name)
{
    const char *comma = name.n != 0 ? memchr(name.p, ',', name.n) : NULL;
    size_t n = comma != NULL ? (size_t)(comma - name.p) : name.n;
    cf_str city = trimmed(cf_str_make(name.p, n));
    cf_str country = {"", 0};
    if (comma != NULL) { /* another Paris is not this one */
        country = trimmed(cf_str_make(comma + 1, name.n - n - 1));
    }
    for (size_t i = 0; city.n > 0 && i < N_PLACES; i++) {
        if (is_among(places[i].names, city) &&
            (comma == NULL || is_among(places[i].country, country))) {
            return &places[i];
        }
    }
    return NULL;
}

/* ---- weather ------------------------------------------------------------ */

enum { DAY_MS = 86400000 };

/* Of a city on a day: 64 bits that look like chance. */
static uint64_t chance(const char *name, int64_t day)
{
    uint64_t h = UINT64_C(0xcbf29ce484222325) ^ (uint64_t)day; /* FNV-1a */
    for (; *name != '\0'; name++) {
        h = (h ^ (unsigned char)*name) * UINT64_C(0x100000001b3);
    }
    h ^= h >> 29;
    h *= UINT64_C(0xbf58476d1ce4e5b9);
    return h ^ h >> 32;
}

cf_weather cf_place_weather(const cf_place *place, int64_t now_ms)
{
    int64_t day = now_ms / DAY_MS;
    uint64_t r = chance(place->names, day);
    /* Coldest about the twentieth of January. */
    double turn = 6.283185307179586 * (double)(day % 1461 - 19) / 365.25;
    double v = place->mean - place->swing * cos(turn);
    cf_weather w = {.celsius = (int)lround(v) + (int)(r % 7) - 3};
    static const char *const wet[] = {"rainy", "light rain", "rainy", "stormy"};
    static const char *const snow[] = {"snowy", "snowy", "heavy snow", "icy"};
    static const char *const dry[] = {"sunny", "clear", "cloudy",   "partly cloudy",
                                      "windy", "sunny", "overcast", "foggy"};
    bool is_wet = (r >> 16) % 10 < place->wet;
    w.condition = !is_wet          ? dry[(r >> 32) % 8]
                  : w.celsius <= 0 ? snow[(r >> 32) % 4]
                                   : wet[(r >> 32) % 4];
    return w;
}
