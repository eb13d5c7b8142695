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

/* Stand for the characters that the international form of a format allows
 * beside ASCII, in a query some more: see expand(). */
#define MORE          "\1"
#define MORE_IN_QUERY "\2"

/* RFC 3339: days by month, 29 February in leap years only. */
#define YEAR "[0-9]{4}"
#define LEAP                                                               \
    "(?:[0-9]{2}(?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579]" \
    "[26])00)"
#define DATE                                                        \
    "(?:" YEAR "-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])|" \
    "(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)|02-(?:0[1-9]|1[0-9]|2[0-8]))|" LEAP "-02-29)"
#define CLOCK "(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]" FRAC
#define FRAC  "(?:\\.[0-9]+)?"
#define ZONE  "(?:[Zz]|[+-](?:[01][0-9]|2[0-3]):[0-5][0-9])"
/* Leap seconds, written in UTC; with a date, the two days of a year that have had them. */
#define LEAP_CLOCK "23:59:60" FRAC "(?:[Zz]|[+-]00:00)"
#define LEAP_DAY   YEAR "-(?:06-30|12-31)"

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

/* RFC 1123: letters, digits and hyphens. */
#define LABEL "[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
#define HOST  LABEL "(?:\\." LABEL ")*"
/* The same without "--" in the third and fourth place, where A-labels have it
 * (RFC 5890, 2.3.1): whether one decodes to a valid label is not regular. */
#define LDH   "[A-Za-z0-9-]"
#define ALNUM "[A-Za-z0-9]"
#define PLAIN_LABEL(N, M)                                                                     \
    ALNUM "(?:" ALNUM "|" LDH ALNUM "(?:" LDH "{0," N "}" ALNUM ")?|" LDH "-" ALNUM "(?:" LDH \
          "{0," M "}" ALNUM ")?)?"
#define PLAIN_HOST PLAIN_LABEL("59", "58") "(?:\\." PLAIN_LABEL("59", "58") ")*"
/* U-labels (RFC 5891) of characters that RFC 5892 allows without rules of
 * context, that are written from left to right and do not combine: lower-case
 * Latin, Greek and Cyrillic, kana, Han and Hangul. As an A-label eleven of them
 * have at most 62 bytes, whatever they are, and four labels with their dots
 * at most 253. */
#define IDN_CHAR                                                                                  \
    "[a-z0-9\u00df-\u00f6\u00f8-\u00ff\u03ac-\u03ce\u0430-\u045f\u3005\u3041-\u3096\u30a1-\u30fa" \
    "\u30fc\u3400-\u4db5\u4e00-\u9fa5\uac00-\ud7a3]"
#define IDN_LABEL "(?:" PLAIN_LABEL("58", "57") "|" IDN_CHAR "{1,11})"
#define IDN_HOST  IDN_LABEL "(?:[.\u3002\uff0e\uff61]" IDN_LABEL "){0,3}"

/* RFC 5321, 4.1.2 and 4.1.3: a name or a quoted text at a host with a dot or
 * at an address. */
#define ATEXT "[A-Za-z0-9!#$%&'*+/=?^_`{|}~" MORE "-]+"
#define LOCAL "(?:" ATEXT "(?:\\." ATEXT ")*|\"(?:[ !#-\\[\\]-~" MORE "]|\\\\[ -~])*\")"
#define IPV6_MAIL                                                                                  \
    "(?:(?:" HEX4 ":){7}" HEX4 "|::(?:" HEX4 "(?::" HEX4 "){0,5})?|" HEX4 "::(?:" HEX4 "(?::" HEX4 \
    "){0,4})?|" HEX4 "(?::" HEX4 "){1,2}::(?:" HEX4 "(?::" HEX4 "){0,2})?|" HEX4 "(?::" HEX4       \
    "){3,5}::)"
#define MAIL_ADDRESS "\\[(?:" IPV4 "|IPv6:" IPV6_MAIL ")\\]"

/* RFC 3986, generic syntax. */
#define PCT       "%[0-9A-Fa-f]{2}"
#define PCHAR     "(?:[A-Za-z0-9._~!$&'()*+,;=:@" MORE "-]|" PCT ")"
#define NOCOL     "(?:[A-Za-z0-9._~!$&'()*+,;=@" MORE "-]|" PCT ")"
#define USER      "(?:[A-Za-z0-9._~!$&'()*+,;=:" MORE "-]|" PCT ")*"
#define REGN      "(?:[A-Za-z0-9._~!$&'()*+,;=" MORE "-]|" PCT ")*"
#define IPVFUTURE "[vV][0-9A-Fa-f]+\\.[A-Za-z0-9._~!$&'()*+,;=:-]+"
#define AUTH      "(?:" USER "@)?(?:" REGN "|\\[(?:" IPV6 "|" IPVFUTURE ")\\])(?::[0-9]*)?"
#define ABS       "(?:/" PCHAR "*)*"
#define TAIL      "(?:\\?(?:" PCHAR "|[/?" MORE_IN_QUERY "])*)?(?:#(?:" PCHAR "|[/?])*)?"
#define HIER      "(?://" AUTH ABS "|/(?:" PCHAR "+" ABS ")?|" PCHAR "+" ABS ")?"
#define URI       "[A-Za-z][A-Za-z0-9+.-]*:" HIER TAIL
#define RELREF    "(?://" AUTH ABS "|/(?:" PCHAR "+" ABS ")?|" NOCOL "+" ABS ")?" TAIL
/* RFC 3987: "ucschar", and "iprivate" in queries. */
#define UCSCHAR                                                                            \
    "\u00a0-\ud7ff\uf900-\ufdcf\ufdf0-\uffef\U00010000-\U0001fffd\U00020000-\U0002fffd"    \
    "\U00030000-\U0003fffd\U00040000-\U0004fffd\U00050000-\U0005fffd\U00060000-\U0006fffd" \
    "\U00070000-\U0007fffd\U00080000-\U0008fffd\U00090000-\U0009fffd\U000a0000-\U000afffd" \
    "\U000b0000-\U000bfffd\U000c0000-\U000cfffd\U000d0000-\U000dfffd\U000e1000-\U000efffd"
#define IPRIVATE "\ue000-\uf8ff\U000f0000-\U000ffffd\U00100000-\U0010fffd"

/* RFC 6531: "UTF8-non-ascii". */
#define NOT_ASCII "\302\200-\U0010ffff"

/* RFC 6570 with erratum 6937, without the operators kept for later. */
#define VARCHAR "(?:[A-Za-z0-9_]|" PCT ")"
#define VARSPEC VARCHAR "(?:\\.?" VARCHAR ")*(?::[1-9][0-9]{0,3}|\\*)?"

#define ANY "" /* every text may be of the format */

/* RFC 3339, appendix A. */
#define DUR_TIME "(?:[0-9]+H(?:[0-9]+M(?:[0-9]+S)?)?|[0-9]+M(?:[0-9]+S)?|[0-9]+S)"

static const struct {
    const char *name;
    const char *pattern; /* matches the whole text; NULL: regex_texts() */
    const char *wide;    /* is found in every text of the format; NULL: the
                            pattern is exact */
} formats[] = {
    {"date", DATE, NULL},
    {"time", "(?:" CLOCK ZONE "|" LEAP_CLOCK ")", "^[0-9]{2}:[0-9]{2}"},
    {"date-time", "(?:" DATE "[Tt]" CLOCK ZONE "|" LEAP_DAY "[Tt]" LEAP_CLOCK ")",
     "^" YEAR "-[0-9]{2}-[0-9]{2}"},
    {"duration",
     "P(?:[0-9]+W|(?:[0-9]+Y(?:[0-9]+M(?:[0-9]+D)?)?|[0-9]+M(?:[0-9]+D)?|[0-9]+D)(?:T" DUR_TIME
     ")?|T" DUR_TIME ")",
     NULL},
    {"email", LOCAL "@(?:" LABEL "(?:\\." LABEL ")+|" MAIL_ADDRESS ")", "^(?:\"|[^:@]+@)"},
    {"idn-email", LOCAL "@(?:" IDN_LABEL "(?:\\." IDN_LABEL "){1,3}|" MAIL_ADDRESS ")",
     "^(?:\"|[^:@]+@)"},
    {"hostname", PLAIN_HOST, "^[^ /@:]+$"},
    {"idn-hostname", IDN_HOST, "^[^ /@:]+$"},
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
     "(?:[A-Za-z0-9._~:/?#@!$&'()*+,;=\\[\\]" MORE MORE_IN_QUERY "-]|" PCT "|\\{[+#./;?&]?" VARSPEC
     "(?:," VARSPEC ")*\\})*",
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
    cf_buf_addf(&t, "(?:(?:%s|[.]|" ESCAPE "|\\[\\^?%s*-?\\])" QUANTITY "|[$^])", character,
                member);
    cf_rx atom = cf_rx_parse(rx, cf_buf_str(&t), false);
    cf_rx times = cf_rx_parse(rx, cf_str_from(QUANTITY), false);
    cf_rx open = cf_rx_parse(rx, cf_str_from("\\((?:\\?:)?"), false);
    cf_rx ahead = cf_rx_parse(rx, cf_str_from("\\(\\?<?[=!]"), false);
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

/* The pattern of a format with the characters of its international form, if it is one. */
static cf_rx expand(cf_rx_pool *rx, const char *name, const char *pattern)
{
    bool is_mail = strcmp(name, "idn-email") == 0;
    bool is_international = strncmp(name, "iri", 3) == 0 || strcmp(name, "uri-template") == 0;
    cf_buf t = CF_BUF_INIT;
    for (const char *c = pattern; *c != '\0'; c++) {
        if (*c != MORE[0] && *c != MORE_IN_QUERY[0]) {
            cf_buf_addc(&t, *c);
        } else if (is_mail) {
            cf_buf_adds(&t, NOT_ASCII);
        } else if (is_international) {
            cf_buf_adds(&t, *c == MORE[0] ? UCSCHAR : IPRIVATE);
        }
    }
    cf_rx out = t.failed ? CF_RX_FAIL : cf_rx_parse(rx, cf_buf_str(&t), false);
    if (t.failed) {
        cf_gbuild_oom(rx->b);
    }
    cf_buf_deinit(&t);
    return out;
}

cf_rx cf_schema__format(cf_schema *s, const char *name, cf_rx *wide)
{
    cf_rx_pool *rx = &s->rx;
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        if (strcmp(name, formats[i].name) != 0) {
            continue;
        }
        const char *pattern = formats[i].pattern;
        cf_rx out = pattern != NULL ? expand(rx, name, pattern) : regex_texts(rx);
        bool has_a_labels = s->draft <= 6 && strcmp(name, "hostname") == 0;
        if (has_a_labels) { /* any label with letters, digits and hyphens is one */
            out = cf_rx_parse(rx, cf_str_from(HOST), false);
        }
        if (strcmp(name, "hostname") == 0) {
            out = of_host_length(rx, out);
        }
        *wide = out;
        if (formats[i].wide != NULL) {
            *wide = cf_rx_parse(rx, cf_str_from(formats[i].wide), true);
            s->has_wide = true;
        }
        return out;
    }
    return CF_RX_FAIL;
}
