/*
 * schema_format.c - the formats of JSON Schema as regular expressions.
 *
 * A format that JSON Schema does not define is an annotation.  Where the
 * defining document's language is not regular or very large, a part of it is
 * taken, and the format cannot be negated.
 */
#include <string.h>

#include "core/schema/schema.h"

/* RFC 3339: days by month, 29 February in leap years only. */
#define YEAR "[0-9]{4}"
#define LEAP                                                               \
    "(?:[0-9]{2}(?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579]" \
    "[26])00)"
#define DATE                                                                   \
    "(?:" YEAR "-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])|"            \
    "(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)|02-(?:0[1-9]|1[0-9]|2[0-8]))|" LEAP \
    "-02-29)"
#define CLOCK "(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:\\.[0-9]{1,9})?"
#define ZONE  "(?:[Zz]|[+-](?:[01][0-9]|2[0-3]):[0-5][0-9])"

#define BYTE "(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"
#define IPV4 "(?:" BYTE "\\.){3}" BYTE
#define HEX4 "[0-9a-fA-F]{1,4}"
/* RFC 4291: eight groups, or fewer with one "::"; the last two as IPv4. */
#define IPV6                                                              \
    "(?:(?:" HEX4 ":){7}" HEX4 "|(?:" HEX4 ":){6}" IPV4 "|"               \
    "(?:" HEX4 ":){1,7}:|(?:" HEX4 ":){1,6}:" HEX4 "|"                    \
    "(?:" HEX4 ":){1,5}(?::" HEX4 "){2}|(?:" HEX4 ":){1,4}(?::" HEX4      \
    "){3}|(?:" HEX4 ":){1,3}(?::" HEX4 "){4}|(?:" HEX4 ":){1,2}(?::" HEX4 \
    "){5}|" HEX4 ":(?::" HEX4 "){6}|:(?::" HEX4 "){1,7}|::|"              \
    "::(?:" HEX4 ":){0,5}" IPV4 "|(?:" HEX4 ":){1,5}:" IPV4 "|"           \
    "(?:" HEX4 ":){1,4}:" HEX4 ":" IPV4 "|(?:" HEX4 ":){1,3}(?::" HEX4    \
    "){2}:" IPV4 "|(?:" HEX4 ":){1,2}(?::" HEX4 "){3}:" IPV4 "|" HEX4     \
    ":(?::" HEX4 "){4}:" IPV4 ")"

#define LABEL "[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
#define HOST  LABEL "(?:\\." LABEL ")*"

/* RFC 3986, generic syntax with a registered name or IPv4 as host. */
#define PCT   "%[0-9A-Fa-f]{2}"
#define PCHAR "(?:[A-Za-z0-9._~!$&'()*+,;=:@-]|" PCT ")"
#define NOCOL "(?:[A-Za-z0-9._~!$&'()*+,;=@-]|" PCT ")"
#define USER  "(?:[A-Za-z0-9._~!$&'()*+,;=:-]|" PCT ")*"
#define REGN  "(?:[A-Za-z0-9._~!$&'()*+,;=-]|" PCT ")*"
#define AUTH  "(?:" USER "@)?(?:" REGN "|\\[" IPV6 "\\])(?::[0-9]*)?"
#define ABS   "(?:/" PCHAR "*)*"
#define TAIL  "(?:\\?(?:" PCHAR "|[/?])*)?(?:#(?:" PCHAR "|[/?])*)?"
#define HIER  "(?://" AUTH ABS "|/(?:" PCHAR "+" ABS ")?|" PCHAR "+" ABS ")?"
#define URI   "[A-Za-z][A-Za-z0-9+.-]*:" HIER TAIL
#define RELREF \
    "(?://" AUTH ABS "|/(?:" PCHAR "+" ABS ")?|" NOCOL "+" ABS ")?" TAIL

/* RFC 6570, without the operators kept for later. */
#define VARCHAR "(?:[A-Za-z0-9_]|" PCT ")"
#define VARSPEC VARCHAR "(?:\\.?" VARCHAR ")*(?::[1-9][0-9]{0,3}|\\*)?"

static const struct {
    const char *name;
    const char *pattern;
    bool is_exact;
} formats[] = {
    {"date", DATE, true},
    {"time", CLOCK ZONE, false},
    {"date-time", DATE "[Tt]" CLOCK ZONE, false},
    {"duration",
     "P(?:[0-9]{1,9}W|(?:[0-9]{1,9}Y(?:[0-9]{1,9}M(?:[0-9]{1,9}D)?)?|"
     "[0-9]{1,9}M(?:[0-9]{1,9}D)?|[0-9]{1,9}D)(?:T(?:[0-9]{1,9}H(?:[0-9]{1,9}"
     "M(?:[0-9]{1,9}S)?)?|[0-9]{1,9}M(?:[0-9]{1,9}S)?|[0-9]{1,9}S))?|"
     "T(?:[0-9]{1,9}H(?:[0-9]{1,9}M(?:[0-9]{1,9}S)?)?|[0-9]{1,9}M(?:"
     "[0-9]{1,9}S)?|[0-9]{1,9}S))",
     false},
    {"email",
     "[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(?:\\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*@"
     "[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?(?:\\.[A-Za-z0-9](?:"
     "[A-Za-z0-9-]{0,61}[A-Za-z0-9])?)+",
     false},
    {"hostname", HOST, false},
    {"idn-hostname", HOST, false},
    {"ipv4", IPV4, true},
    {"ipv6", IPV6, false},
    {"uuid",
     "[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-"
     "[0-9a-fA-F]{12}",
     true},
    {"uri", URI, false},
    {"iri", URI, false},
    {"uri-reference", "(?:" URI "|" RELREF ")", false},
    {"iri-reference", "(?:" URI "|" RELREF ")", false},
    {"json-pointer", "(?:/(?:[^~/]|~[01])*)*", true},
    {"relative-json-pointer",
     "(?:0|[1-9][0-9]{0,9})(?:#|(?:/(?:[^~/]|~[01])*)*)", false},
    {"uri-template",
     "(?:[A-Za-z0-9._~:/?#@!$&()*+,;=-]|" PCT "|\\{[+#./;?&]?" VARSPEC
     "(?:," VARSPEC ")*\\})*",
     false},
};

cf_rx cf_schema__format(cf_schema *s, const char *name, const char *path,
                        bool *is_exact)
{
    static const char *const refused[] = {"regex", "idn-email"};
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        if (strcmp(name, formats[i].name) == 0) {
            *is_exact = formats[i].is_exact;
            cf_rx out =
                cf_rx_parse(&s->rx, cf_str_from(formats[i].pattern), false);
            if (strstr(name, "hostname") != NULL) {
                /* RFC 1123: 253 characters in all. */
                out = cf_rx_and2(&s->rx, out,
                                 cf_rx_loop(&s->rx, cf_rx_any(&s->rx), 1, 253));
            }
            return out;
        }
    }
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        if (strcmp(name, refused[i]) == 0) {
            cf_schema_fail(s, path, "format %s is not supported", name);
        }
    }
    return CF_RX_FAIL;
}
