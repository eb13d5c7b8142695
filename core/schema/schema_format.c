/*
 * schema_format.c - defines the formats of JSON Schema as regular expressions.
 *
 * A format that JSON Schema does not define is an annotation.  Where the
 * defining document's language is not regular or very large, a part of it is
 * what may be written, and a language that holds all of it is what a negation
 * excludes.
 */
#include <string.h>

#include "core/schema/schema.h"

/* RFC 3339: days by month, 29 February in leap years only. */
#define YEAR "[0-9]{4}"
#define LEAP                                                               \
    "(?:[0-9]{2}(?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579]" \
    "[26])00)"
#define DATE                                                        \
    "(?:" YEAR "-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])|" \
    "(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)|02-(?:0[1-9]|1[0-9]|2[0-8]))|" LEAP "-02-29)"
#define CLOCK "(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:\\.[0-9]{1,9})?"
#define ZONE  "(?:[Zz]|[+-](?:[01][0-9]|2[0-3]):[0-5][0-9])"

#define BYTE "(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"
#define IPV4 "(?:" BYTE "\\.){3}" BYTE
#define HEX4 "[0-9a-fA-F]{1,4}"
/* RFC 4291: eight groups, or fewer with one "::"; the last two as IPv4. */
#define IPV6                                                                                    \
    "(?:(?:" HEX4 ":){7}" HEX4 "|(?:" HEX4 ":){6}" IPV4 "|"                                     \
    "(?:" HEX4 ":){1,7}:|(?:" HEX4 ":){1,6}:" HEX4 "|"                                          \
    "(?:" HEX4 ":){1,5}(?::" HEX4 "){2}|(?:" HEX4 ":){1,4}(?::" HEX4 "){3}|(?:" HEX4            \
    ":){1,3}(?::" HEX4 "){4}|(?:" HEX4 ":){1,2}(?::" HEX4 "){5}|" HEX4 ":(?::" HEX4             \
    "){6}|:(?::" HEX4 "){1,7}|::|"                                                              \
    "::(?:" HEX4 ":){0,5}" IPV4 "|(?:" HEX4 ":){1,5}:" IPV4 "|"                                 \
    "(?:" HEX4 ":){1,4}:" HEX4 ":" IPV4 "|(?:" HEX4 ":){1,3}(?::" HEX4 "){2}:" IPV4 "|(?:" HEX4 \
    ":){1,2}(?::" HEX4 "){3}:" IPV4 "|" HEX4 ":(?::" HEX4 "){4}:" IPV4 ")"

#define LABEL "[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
#define HOST  LABEL "(?:\\." LABEL ")*"

/* RFC 3986, generic syntax with a registered name or IPv4 as host. */
#define PCT    "%[0-9A-Fa-f]{2}"
#define PCHAR  "(?:[A-Za-z0-9._~!$&'()*+,;=:@-]|" PCT ")"
#define NOCOL  "(?:[A-Za-z0-9._~!$&'()*+,;=@-]|" PCT ")"
#define USER   "(?:[A-Za-z0-9._~!$&'()*+,;=:-]|" PCT ")*"
#define REGN   "(?:[A-Za-z0-9._~!$&'()*+,;=-]|" PCT ")*"
#define AUTH   "(?:" USER "@)?(?:" REGN "|\\[" IPV6 "\\])(?::[0-9]*)?"
#define ABS    "(?:/" PCHAR "*)*"
#define TAIL   "(?:\\?(?:" PCHAR "|[/?])*)?(?:#(?:" PCHAR "|[/?])*)?"
#define HIER   "(?://" AUTH ABS "|/(?:" PCHAR "+" ABS ")?|" PCHAR "+" ABS ")?"
#define URI    "[A-Za-z][A-Za-z0-9+.-]*:" HIER TAIL
#define RELREF "(?://" AUTH ABS "|/(?:" PCHAR "+" ABS ")?|" NOCOL "+" ABS ")?" TAIL

/* RFC 6570, without the operators kept for later. */
#define VARCHAR "(?:[A-Za-z0-9_]|" PCT ")"
#define VARSPEC VARCHAR "(?:\\.?" VARCHAR ")*(?::[1-9][0-9]{0,3}|\\*)?"

#define ANY "" /* every text may be of the format */

static const struct {
    const char *name;
    const char *pattern; /* matches the whole text; NULL: regex_texts() */
    const char *wide;    /* is found in every text of the format; NULL: the
                            pattern is exact */
} formats[] = {
    {"date", DATE, NULL},
    {"time", CLOCK ZONE, "^[0-9]{2}:[0-9]{2}"},
    {"date-time", DATE "[Tt]" CLOCK ZONE, "^" YEAR "-[0-9]{2}-[0-9]{2}"},
    {"duration",
     "P(?:[0-9]{1,9}W|(?:[0-9]{1,9}Y(?:[0-9]{1,9}M(?:[0-9]{1,9}D)?)?|"
     "[0-9]{1,9}M(?:[0-9]{1,9}D)?|[0-9]{1,9}D)(?:T(?:[0-9]{1,9}H(?:[0-9]{1,9}"
     "M(?:[0-9]{1,9}S)?)?|[0-9]{1,9}M(?:[0-9]{1,9}S)?|[0-9]{1,9}S))?|"
     "T(?:[0-9]{1,9}H(?:[0-9]{1,9}M(?:[0-9]{1,9}S)?)?|[0-9]{1,9}M(?:"
     "[0-9]{1,9}S)?|[0-9]{1,9}S))",
     "^P"},
    {"email",
     "[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(?:\\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*@"
     "[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?(?:\\.[A-Za-z0-9](?:"
     "[A-Za-z0-9-]{0,61}[A-Za-z0-9])?)+",
     "^(?:\"|[^:@]+@)"},
    {"hostname", HOST, "^[^ /@:]+$"},
    {"idn-hostname", HOST, "^[^ /@:]+$"},
    {"ipv4", IPV4, NULL},
    {"ipv6", IPV6, ":"},
    {"uuid",
     "[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-"
     "[0-9a-fA-F]{12}",
     NULL},
    {"uri", URI, "^[A-Za-z][A-Za-z0-9+.-]*:"},
    {"iri", URI, "^[A-Za-z][A-Za-z0-9+.-]*:"},
    {"uri-reference", "(?:" URI "|" RELREF ")", ANY},
    {"iri-reference", "(?:" URI "|" RELREF ")", ANY},
    {"json-pointer", "(?:/(?:[^~/]|~[01])*)*", NULL},
    {"relative-json-pointer", "(?:0|[1-9][0-9]{0,9})(?:#|(?:/(?:[^~/]|~[01])*)*)", "^[0-9]"},
    {"uri-template",
     "(?:[A-Za-z0-9._~:/?#@!$&()*+,;=-]|" PCT "|\\{[+#./;?&]?" VARSPEC "(?:," VARSPEC ")*\\})*",
     ANY},
    {"regex", NULL, ANY},
};

/*
 * Expressions of ECMA-262, as far as they are regular: no back references, no
 * names, groups inside each other up to GROUP_LEVELS deep, ranges of a class
 * between letters or digits of one kind.
 */
static cf_rx regex_texts(cf_rx_pool *rx)
{
    enum { GROUP_LEVELS = 3 };
#define ESCAPE                                                           \
    "\\\\(?:[dDsSwWfnrtv0]|[\\^$\\\\.*+?()\\[\\]{}|/-]|x[0-9a-fA-F]{2}|" \
    "u[0-9a-fA-F]{4}|c[a-zA-Z])"
#define COUNTS                                                                 \
    "(?:[0-9]{1,3},?|0,[0-9]|1,[1-9]|2,[2-9]|3,[3-9]|4,[4-9]|5,[5-9]|6,[6-9]|" \
    "7,[7-9]|8,[89]|[0-9],[1-9][0-9]{1,2}|1[0-9],[2-9][0-9]|"                  \
    "[1-9][0-9],[1-9][0-9]{2})"
#define QUANTITY "(?:(?:[*+?]|\\{" COUNTS "\\})[?]?)?"
    static const char member[] = "(?:[a-z]-z|[A-Z]-Z|[0-9]-9|a-[a-z]|A-[A-Z]|0-"
                                 "[0-9]|[^\\\\\\]^-]|" ESCAPE ")";
    static const char character[] = "[^\\\\^$.*+?()\\[\\]{}|]";
    cf_buf t = CF_BUF_INIT;
    cf_buf_addf(&t, "(?:(?:%s|[.]|" ESCAPE "|\\[\\^?%s+-?\\])" QUANTITY "|[$^])", character,
                member);
    cf_rx atom = cf_rx_parse(rx, cf_buf_str(&t), false);
    cf_rx times = cf_rx_parse(rx, cf_str_from(QUANTITY), false);
    cf_rx open = cf_rx_parse(rx, cf_str_from("\\((?:\\?:)?"), false);
    cf_rx ahead = cf_rx_parse(rx, cf_str_from("\\(\\?[=!]"), false);
    cf_rx close = cf_rx_text(rx, cf_str_from(")"));
    cf_rx bar = cf_rx_text(rx, cf_str_from("|"));
    cf_buf_deinit(&t);
    cf_rx choice = CF_RX_FAIL;
    for (int level = 0; level <= GROUP_LEVELS; level++) {
        cf_rx term = atom;
        if (level > 0) {
            cf_rx rest = cf_rx_cat(rx, choice, close);
            term = cf_rx_or2(rx, term,
                             cf_rx_or2(rx, cf_rx_cat(rx, open, cf_rx_cat(rx, rest, times)),
                                       cf_rx_cat(rx, ahead, rest)));
        }
        cf_rx sequence = cf_rx_loop(rx, term, 0, CF_RX_INF);
        choice =
            cf_rx_cat(rx, sequence, cf_rx_loop(rx, cf_rx_cat(rx, bar, sequence), 0, CF_RX_INF));
    }
    return choice;
}

/* RFC 1123: 253 characters in all. */
static cf_rx of_host_length(cf_rx_pool *rx, cf_rx a)
{
    return cf_rx_and2(rx, a, cf_rx_loop(rx, cf_rx_any(rx), 1, 253));
}

cf_rx cf_schema__format(cf_schema *s, const char *name, const char *path, cf_rx *wide)
{
    cf_rx_pool *rx = &s->rx;
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        if (strcmp(name, formats[i].name) != 0) {
            continue;
        }
        const char *pattern = formats[i].pattern;
        cf_rx out =
            pattern != NULL ? cf_rx_parse(rx, cf_str_from(pattern), false) : regex_texts(rx);
        if (strstr(name, "hostname") != NULL) {
            out = of_host_length(rx, out);
        }
        *wide = out;
        if (formats[i].wide != NULL) {
            *wide = cf_rx_parse(rx, cf_str_from(formats[i].wide), true);
            s->has_wide = true;
        }
        return out;
    }
    if (strcmp(name, "idn-email") == 0) {
        cf_schema_fail(s, path, "format %s is not supported", name);
    }
    return CF_RX_FAIL;
}
