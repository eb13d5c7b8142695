/*
 * demo_places.c - the table of cities, and a day's weather from it.
 */
#include "tui/demo/demo_places.h"

#include <math.h>

#define EU_WEST    "GMT0BST,M3.5.0/1,M10.5.0"
#define EU_LISBON  "WET0WEST,M3.5.0/1,M10.5.0"
#define EU_CENTRAL "CET-1CEST,M3.5.0,M10.5.0/3"
#define EU_EAST    "EET-2EEST,M3.5.0/3,M10.5.0/4"
#define US_EAST    "EST5EDT,M3.2.0,M11.1.0"
#define US_CENTRAL "CST6CDT,M3.2.0,M11.1.0"
#define US_WEST    "PST8PDT,M3.2.0,M11.1.0"
#define AU_EAST    "AEST-10AEDT,M10.1.0,M4.1.0/3"
#define USA        "USA|United States|US"
#define UK         "UK|United Kingdom|England|Scotland"

/* clang-format off */
static const cf_place places[] = {
    {"Paris", "France", "Europe/Paris", EU_CENTRAL, 12, 8, 4},
    {"London", UK, "Europe/London", EU_WEST, 11, 7, 5},
    {"Berlin", "Germany", "Europe/Berlin", EU_CENTRAL, 10, 10, 4},
    {"Munich|M\xc3\xbcnchen", "Germany", "Europe/Berlin", EU_CENTRAL, 9, 10, 5},
    {"Hamburg", "Germany", "Europe/Berlin", EU_CENTRAL, 10, 8, 5},
    {"Vienna|Wien", "Austria", "Europe/Vienna", EU_CENTRAL, 11, 10, 4},
    {"Zurich|Z\xc3\xbcrich", "Switzerland", "Europe/Zurich", EU_CENTRAL, 9, 9, 5},
    {"Geneva", "Switzerland", "Europe/Zurich", EU_CENTRAL, 11, 9, 4},
    {"Madrid", "Spain", "Europe/Madrid", EU_CENTRAL, 15, 10, 2},
    {"Barcelona", "Spain", "Europe/Madrid", EU_CENTRAL, 17, 8, 2},
    {"Lisbon|Lisboa", "Portugal", "Europe/Lisbon", EU_LISBON, 17, 6, 3},
    {"Rome|Roma", "Italy", "Europe/Rome", EU_CENTRAL, 16, 9, 3},
    {"Milan|Milano", "Italy", "Europe/Rome", EU_CENTRAL, 14, 10, 3},
    {"Venice|Venezia", "Italy", "Europe/Rome", EU_CENTRAL, 14, 10, 3},
    {"Athens", "Greece", "Europe/Athens", EU_EAST, 19, 10, 2},
    {"Amsterdam", "Netherlands|Holland", "Europe/Amsterdam", EU_CENTRAL, 11, 7, 5},
    {"Brussels", "Belgium", "Europe/Brussels", EU_CENTRAL, 11, 7, 5},
    {"Dublin", "Ireland", "Europe/Dublin", "IST-1GMT0,M10.5.0,M3.5.0/1", 10, 5, 6},
    {"Edinburgh", UK, "Europe/London", EU_WEST, 9, 6, 6},
    {"Oslo", "Norway", "Europe/Oslo", EU_CENTRAL, 7, 11, 4},
    {"Bergen", "Norway", "Europe/Oslo", EU_CENTRAL, 8, 7, 8},
    {"Stockholm", "Sweden", "Europe/Stockholm", EU_CENTRAL, 8, 11, 4},
    {"Copenhagen", "Denmark", "Europe/Copenhagen", EU_CENTRAL, 9, 9, 4},
    {"Helsinki", "Finland", "Europe/Helsinki", EU_EAST, 6, 12, 4},
    {"Reykjavik|Reykjav\xc3\xadk", "Iceland", "Atlantic/Reykjavik", "GMT0", 5, 6, 6},
    {"Warsaw", "Poland", "Europe/Warsaw", EU_CENTRAL, 9, 11, 4},
    {"Prague|Praha", "Czechia|Czech Republic", "Europe/Prague", EU_CENTRAL, 9, 10, 4},
    {"Budapest", "Hungary", "Europe/Budapest", EU_CENTRAL, 12, 11, 3},
    {"Kyiv", "Ukraine", "Europe/Kyiv", EU_EAST, 9, 12, 4},
    {"Istanbul", "Turkey|T\xc3\xbcrkiye", "Europe/Istanbul", "<+03>-3", 15, 9, 3},
    {"Cairo", "Egypt", "Africa/Cairo", "EET-2EEST,M4.5.5/0,M10.5.4/24", 22, 7, 0},
    {"Lagos", "Nigeria", "Africa/Lagos", "WAT-1", 27, -1, 4},
    {"Nairobi", "Kenya", "Africa/Nairobi", "EAT-3", 19, -2, 3},
    {"Cape Town", "South Africa", "Africa/Johannesburg", "SAST-2", 17, -4, 2},
    {"Dubai", "United Arab Emirates|UAE", "Asia/Dubai", "<+04>-4", 28, 8, 0},
    {"Delhi|New Delhi", "India", "Asia/Kolkata", "IST-5:30", 25, 6, 2},
    {"Mumbai", "India", "Asia/Kolkata", "IST-5:30", 28, 1, 3},
    {"Bangkok", "Thailand", "Asia/Bangkok", "<+07>-7", 29, 1, 4},
    {"Singapore", "Singapore", "Asia/Singapore", "<+08>-8", 28, 0, 6},
    {"Jakarta", "Indonesia", "Asia/Jakarta", "WIB-7", 28, 0, 5},
    {"Manila", "Philippines", "Asia/Manila", "PST-8", 28, 1, 5},
    {"Hong Kong", "China", "Asia/Hong_Kong", "HKT-8", 24, 6, 4},
    {"Beijing", "China", "Asia/Shanghai", "CST-8", 13, 14, 2},
    {"Shanghai", "China", "Asia/Shanghai", "CST-8", 17, 12, 4},
    {"Seoul", "South Korea|Korea", "Asia/Seoul", "KST-9", 13, 14, 3},
    {"Tokyo", "Japan", "Asia/Tokyo", "JST-9", 16, 10, 4},
    {"Kyoto", "Japan", "Asia/Tokyo", "JST-9", 16, 11, 4},
    {"Osaka", "Japan", "Asia/Tokyo", "JST-9", 17, 11, 4},
    {"Sydney", "Australia", "Australia/Sydney", AU_EAST, 18, -5, 4},
    {"Melbourne", "Australia", "Australia/Melbourne", AU_EAST, 15, -5, 4},
    {"Perth", "Australia", "Australia/Perth", "AWST-8", 19, -5, 3},
    {"Auckland", "New Zealand", "Pacific/Auckland", "NZST-12NZDT,M9.5.0,M4.1.0/3", 15, -4, 5},
    {"New York|New York City|NYC", USA, "America/New_York", US_EAST, 13, 12, 3},
    {"Boston", USA, "America/New_York", US_EAST, 11, 12, 4},
    {"Washington|Washington DC", USA, "America/New_York", US_EAST, 15, 12, 3},
    {"Miami", USA, "America/New_York", US_EAST, 25, 4, 4},
    {"Chicago", USA, "America/Chicago", US_CENTRAL, 10, 14, 3},
    {"Denver", USA, "America/Denver", "MST7MDT,M3.2.0,M11.1.0", 10, 12, 2},
    {"San Francisco", USA, "America/Los_Angeles", US_WEST, 14, 3, 2},
    {"Los Angeles", USA, "America/Los_Angeles", US_WEST, 18, 5, 1},
    {"Seattle", USA, "America/Los_Angeles", US_WEST, 11, 7, 4},
    {"Honolulu", USA, "Pacific/Honolulu", "HST10", 25, 2, 2},
    {"Toronto", "Canada", "America/Toronto", US_EAST, 9, 13, 4},
    {"Montreal|Montr\xc3\xa9" "al", "Canada", "America/Toronto", US_EAST, 7, 15, 4},
    {"Vancouver", "Canada", "America/Vancouver", US_WEST, 11, 7, 5},
    {"Mexico City", "Mexico", "America/Mexico_City", "CST6", 17, 2, 4},
    {"Bogota|Bogot\xc3\xa1", "Colombia", "America/Bogota", "<-05>5", 14, 0, 5},
    {"Lima", "Peru", "America/Lima", "<-05>5", 19, -4, 0},
    {"Santiago", "Chile", "America/Santiago", "<-04>4<-03>,M9.1.6/24,M4.1.6/24", 15, -6, 1},
    {"Buenos Aires", "Argentina", "America/Argentina/Buenos_Aires", "<-03>3", 18, -7, 3},
    {"Rio de Janeiro|Rio", "Brazil", "America/Sao_Paulo", "<-03>3", 24, -3, 3},
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

bool cf_place_same(const char *a, const char *b)
{
    return same(cf_str_from(a), cf_str_from(b));
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

const cf_place *cf_place_of_zone(const char *zone)
{
    for (size_t i = 0; i < N_PLACES; i++) {
        if (cf_place_same(places[i].zone, zone)) {
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
