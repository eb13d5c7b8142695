/*
 * demo_money.c - currencies by rounded rates, shares at invented prices.
 */
#include <math.h>
#include <string.h>

#include "core/json/json_builder.h"
#include "tui/demo/demo_impl.h"
#include "tui/demo/demo_places.h"

#define AMOUNT_MAX 1e15

typedef struct rate {
    const char *code;
    double per_euro; /* rounded, of 30 June 2025 */
    int decimals;    /* of an amount */
} rate;

static const rate rates[] = {
    {"EUR", 1, 2},    {"USD", 1.17, 2}, {"GBP", 0.855, 2}, {"JPY", 169, 0},   {"CHF", 0.935, 2},
    {"CAD", 1.60, 2}, {"AUD", 1.79, 2}, {"NZD", 1.93, 2},  {"SEK", 11.15, 2}, {"NOK", 11.85, 2},
    {"DKK", 7.46, 2}, {"PLN", 4.24, 2}, {"CZK", 24.7, 2},  {"HUF", 399, 0},   {"INR", 100.5, 2},
    {"CNY", 8.40, 2}, {"KRW", 1588, 0}, {"SGD", 1.49, 2},  {"HKD", 9.20, 2},  {"BRL", 6.40, 2},
    {"MXN", 22.0, 2}, {"ZAR", 20.8, 2}, {"TRY", 46.7, 2},  {"THB", 38.1, 2},  {"ILS", 3.96, 2},
};

typedef struct price {
    const char *symbol;
    double price;
    const char *currency;
} price;

/* Invented: near what such a share might cost, of no day. */
static const price prices[] = {
    {"AAPL", 205.20, "USD"},  {"MSFT", 488.50, "USD"}, {"GOOG", 178.40, "USD"},
    {"GOOGL", 177.10, "USD"}, {"AMZN", 219.30, "USD"}, {"META", 731.80, "USD"},
    {"NVDA", 157.70, "USD"},  {"TSLA", 317.60, "USD"}, {"NFLX", 1310.0, "USD"},
    {"AMD", 141.90, "USD"},   {"INTC", 22.40, "USD"},  {"IBM", 289.70, "USD"},
    {"ORCL", 218.60, "USD"},  {"CSCO", 69.10, "USD"},  {"ADBE", 386.90, "USD"},
    {"CRM", 272.70, "USD"},   {"UBER", 93.30, "USD"},  {"DIS", 124.00, "USD"},
    {"NKE", 71.00, "USD"},    {"KO", 70.80, "USD"},    {"PEP", 132.00, "USD"},
    {"MCD", 292.20, "USD"},   {"WMT", 97.80, "USD"},   {"COST", 989.90, "USD"},
    {"JPM", 289.90, "USD"},   {"V", 355.00, "USD"},    {"MA", 561.90, "USD"},
    {"BA", 209.50, "USD"},    {"GE", 257.40, "USD"},   {"F", 10.90, "USD"},
    {"SONY", 26.00, "USD"},   {"SAP", 258.20, "EUR"},  {"SIE", 217.70, "EUR"},
    {"BMW", 75.50, "EUR"},    {"AIR", 177.30, "EUR"},  {"ASML", 677.60, "EUR"},
    {"NESN", 78.80, "CHF"},   {"ROG", 258.50, "CHF"},  {"HSBC", 8.80, "GBP"},
    {"BP", 3.70, "GBP"},      {"VOD", 0.78, "GBP"},    {"SHEL", 25.50, "GBP"},
};

static const rate *find_rate(cf_str code)
{
    for (size_t i = 0; i < sizeof rates / sizeof rates[0]; i++) {
        if (cf_place_same(code, rates[i].code)) {
            return &rates[i];
        }
    }
    return NULL;
}

static json_t *no_rate(cf_str code)
{
    return cf_demo__error("no rate for '%.*s': the bundled table has %zu "
                          "currency codes such as EUR",
                          (int)(code.n < 40 ? code.n : 40), code.n != 0 ? code.p : "",
                          sizeof rates / sizeof rates[0]);
}

json_t *cf_demo__currency(cf_demo *demo, cf_uuid here, const json_t *arguments)
{
    (void)demo;
    (void)here;
    const json_t *amount = json_object_get(arguments, "amount");
    cf_str from = cf_json_get_str(arguments, "from");
    cf_str to = cf_json_get_str(arguments, "to");
    const rate *a = find_rate(from), *b = find_rate(to);
    double v = json_is_number(amount) ? json_number_value(amount) : NAN;
    if (!(fabs(v) <= AMOUNT_MAX)) {
        return cf_demo__error("amount is a number");
    }
    if (a == NULL || b == NULL) {
        return no_rate(a == NULL ? from : to);
    }
    double scale = b->decimals == 2 ? 100 : 1;
    double out = a == b ? v : v / a->per_euro * b->per_euro;
    out = round(out * scale) / scale;
    json_t *value = out == floor(out) ? json_integer((json_int_t)out) : json_real(out);
    cf_jb result = CF_JB_INIT;
    cf_jb_object(&result, NULL);
    cf_jb_take(&result, "amount", value);
    cf_jb_text(&result, "currency", b->code);
    cf_jb_text(&result, "source", "bundled table");
    cf_jb_end(&result);
    return cf_jb_done(&result);
}

json_t *cf_demo__stock(cf_demo *demo, cf_uuid here, const json_t *arguments)
{
    (void)demo;
    (void)here;
    cf_str symbol = cf_json_get_str(arguments, "symbol");
    for (size_t i = 0; i < sizeof prices / sizeof prices[0]; i++) {
        if (cf_place_same(symbol, prices[i].symbol)) {
            return json_pack("{s:s,s:f,s:s,s:s}", "symbol", prices[i].symbol, "price",
                             prices[i].price, "currency", prices[i].currency, "source",
                             "bundled table");
        }
    }
    return cf_demo__error("no price for '%.*s': the bundled table has %zu "
                          "symbols such as AAPL",
                          (int)(symbol.n < 40 ? symbol.n : 40), symbol.n != 0 ? symbol.p : "",
                          sizeof prices / sizeof prices[0]);
}
