/*
 * trail_rules.c - texts of agents, sentences and words.
 */
#include "storage/trail/trail_rules.h"

#include <string.h>

#include "core/base/utf8.h"
#include "core/json/json_writer.h"

cf_str cf_trail_finding_name(const cf_trail_finding *f)
{
    static const char *const names[] = {
        "compacted",     "repeated",   "invalid-call", "no-result", "no-call",
        "error-ignored", "cache-lost", "nearly-full",  "cut-reply", "reasoning-not-returned",
        "agent-unused"};
    return f->kind == CF_TRAIL_RECORDED ? f->name : cf_str_from(names[f->kind]);
}

int64_t cf_trail_window(cf_str model)
{
    static const struct {
        const char *part;
        int64_t tokens;
    } windows[] = {
        {"[1m]", 1000000}, {"claude-", 200000}, {"gpt-5", 272000}, {"gemini-2.5", 1048576}};
    for (size_t i = 0; i < sizeof windows / sizeof *windows; i++) {
        if (cf_str_find(model, cf_str_from(windows[i].part), NULL)) {
            return windows[i].tokens;
        }
    }
    return 0;
}

/* ---- words of failure ---------------------------------------------------- */

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* Whether `text` has `what`, which is in small letters, at `at`. */
static bool is_at(cf_str text, size_t at, const char *what)
{
    for (size_t i = 0; what[i] != '\0'; i++) {
        if (at + i >= text.n || lower(text.p[at + i]) != what[i]) {
            return false;
        }
    }
    return true;
}

static bool has_text(cf_str text, const char *what)
{
    for (size_t i = 0; i < text.n; i++) {
        if (is_at(text, i, what)) {
            return true;
        }
    }
    return false;
}

/* Whether one of `words`, of which NULL is the last, is in a text. */
static bool has_one_of(cf_str text, const char *const *words)
{
    while (*words != NULL && !has_text(text, *words)) {
        words++;
    }
    return *words != NULL;
}

bool trail_tells_failure(cf_str text)
{
    static const char *const words[] = {"error",     "fail",      "missing",   "not found", "n't",
                                        "could not", "cannot",    "unable",    "broke",     "wrong",
                                        "invalid",   "denied",    "refused",   "rejected",  "sorry",
                                        "retry",     "exception", "try again", NULL};
    return has_one_of(text, words);
}

/* ^tool NAME not found */
static bool is_tool_not_found(cf_str text)
{
    size_t i = 5;
    if (!is_at(text, 0, "tool ")) {
        return false;
    }
    while (i < text.n && !cf_is_blank(text.p[i])) {
        i++;
    }
    return i > 5 && is_at(text, i, " not found");
}

const char *trail_invalid_why(const cf_trail_message *m, bool is_codex)
{
    static const char *const tools[] = {"no such tool", "not found in registry", "unavailable tool",
                                        "unknown tool", NULL};
    static const char *const arguments[] = {"inputvalidationerror", "invalid arguments",
                                            "must have required propert",
                                            "arguments provided to the tool are invalid", NULL};
    cf_str text = m->text;
    bool is_call = is_at(text, 0, "unsupported call");
    bool is_parse = is_at(text, 0, "failed to parse function arguments");
    if (!m->is_error && !(is_codex && (is_call || is_parse))) {
        return NULL;
    }
    return is_call || is_tool_not_found(text) || has_one_of(text, tools) ? "unknown tool"
           : is_parse || is_at(text, 0, "validation failed for tool") || has_one_of(text, arguments)
               ? "arguments"
               : NULL;
}

/* ---- sentences ----------------------------------------------------------- */

/* Appends in small letters, each run of blanks as one. */
static void fold(cf_buf *out, cf_str text)
{
    text = cf_str_trim(text);
    for (size_t i = 0; i < text.n; i++) {
        if (!cf_is_blank(text.p[i])) {
            cf_buf_addc(out, lower(text.p[i]));
        } else if (!cf_is_blank(text.p[i - 1])) {
            cf_buf_addc(out, ' ');
        }
    }
}

static bool has_two_words(cf_str s)
{
    for (size_t i = 1; i + 1 < s.n; i++) {
        if (cf_is_blank(s.p[i])) {
            return true;
        }
    }
    return false;
}

/* Nodes of a tree of sentences, folded, of which each shares its beginning with the
 * others; the first is the root.  Searching for all of them at once (Aho and
 * Corasick) takes a step for each byte of the text, however many there are. */
typedef struct node {
    uint32_t first, next; /* of those below, and of the same parent; 0: none */
    uint32_t fail;        /* the longest other node that this one ends with */
    char byte;
    bool is_found;
} node;

static uint32_t below(const node *v, uint32_t at, char byte)
{
    uint32_t i = v[at].first;
    while (i != 0 && v[i].byte != byte) {
        i = v[i].next;
    }
    return i;
}

static uint32_t step(const node *v, uint32_t at, char byte)
{
    uint32_t next;
    while ((next = below(v, at, byte)) == 0 && at != 0) {
        at = v[at].fail;
    }
    return next;
}

/* The node of a sentence, which is added where it is not there. */
static uint32_t plant(node *v, uint32_t *n, cf_str s)
{
    uint32_t at = 0;
    for (size_t i = 0; i < s.n; i++) {
        uint32_t next = below(v, at, s.p[i]);
        if (next == 0) {
            next = (*n)++;
            v[next] = (node){.next = v[at].first, .byte = s.p[i]};
            v[at].first = next;
        }
        at = next;
    }
    return at;
}

/* Sets `fail` of all nodes; queue [n]: the nodes by depth. */
static void link_nodes(node *v, uint32_t *queue)
{
    uint32_t end = 1;
    queue[0] = 0;
    for (uint32_t i = 0; i < end; i++) {
        uint32_t at = queue[i];
        for (uint32_t k = v[at].first; k != 0; k = v[k].next) {
            v[k].fail = at != 0 ? step(v, v[at].fail, v[k].byte) : 0;
            queue[end++] = k;
        }
    }
}

/* Sets the fate of those sentences [n] that the text has; places: their nodes. */
static void look_in(const cf_buf *text, node *v, const uint32_t *queue, uint32_t n_nodes,
                    cf_trail_sentence *s, const uint32_t *places, size_t n, cf_trail_fate fate)
{
    uint32_t at = 0;
    for (size_t i = 0; i < text->n; i++) {
        at = step(v, at, text->p[i]);
        v[at].is_found = true;
    }
    for (uint32_t i = n_nodes; i-- > 1;) {
        v[v[queue[i]].fail].is_found |= v[queue[i]].is_found;
    }
    for (size_t i = 0; i < n; i++) {
        s[i].fate = v[places[i]].is_found ? fate : s[i].fate;
    }
    for (uint32_t i = 0; i < n_nodes; i++) {
        v[i].is_found = false;
    }
}

/* Judges the first sentences, so many that their tree stays small; returns how many. */
static size_t judge_some(cf_arena *a, cf_trail_sentence *s, size_t n, const cf_buf *kept,
                         const cf_buf *summary)
{
    enum { BYTES_MAX = 1 << 20 };
    size_t n_bytes = s[0].text.n, k = 1;
    while (k < n && n_bytes + s[k].text.n <= BYTES_MAX) {
        n_bytes += s[k++].text.n;
    }
    node *v = n_bytes < UINT32_MAX ? cf_arena_calloc(a, n_bytes + 1, sizeof *v) : NULL;
    uint32_t *queue = cf_arena_calloc(a, n_bytes + 1, sizeof *queue);
    uint32_t *places = cf_arena_calloc(a, k, sizeof *places);
    uint32_t n_nodes = 1;
    cf_buf b = CF_BUF_INIT;
    for (size_t i = 0; v != NULL && i < k && !a->failed; i++) {
        cf_buf_rewind(&b, 0);
        fold(&b, s[i].text);
        a->failed = b.failed;
        places[i] = a->failed ? 0 : plant(v, &n_nodes, cf_buf_str(&b));
    }
    cf_buf_deinit(&b);
    if (v == NULL || a->failed) {
        a->failed = true;
        return n;
    }
    link_nodes(v, queue);
    look_in(summary, v, queue, n_nodes, s, places, k, CF_TRAIL_REWRITTEN);
    look_in(kept, v, queue, n_nodes, s, places, k, CF_TRAIL_KEPT);
    return k;
}

void trail_sentences_judge(cf_trail_sentences *out, const cf_trail_compaction *c)
{
    cf_buf kept = CF_BUF_INIT, summary = CF_BUF_INIT;
    cf_arena a = {0};
    fold(&summary, c->summary);
    for (size_t i = 0; i < c->n_kept; i++) {
        fold(&kept, c->kept[i]);
        cf_buf_addc(&kept, '\n');
    }
    a.failed = kept.failed || summary.failed;
    for (size_t at = 0; at < out->n && !a.failed;) {
        cf_arena_reset(&a);
        at += judge_some(&a, out->v + at, out->n - at, &kept, &summary);
    }
    out->arena.failed = out->arena.failed || a.failed;
    cf_arena_deinit(&a);
    cf_buf_deinit(&kept);
    cf_buf_deinit(&summary);
}

static void add_sentence(cf_trail_sentences *out, const cf_trail_message *m, cf_str s)
{
    s = cf_str_trim(s);
    if (has_two_words(s)) {
        cf_trail_sentence *x = trail_push(&out->arena, &out->v, &out->n, sizeof *x);
        *x = (cf_trail_sentence){s, m->n, CF_TRAIL_GONE};
    }
}

/* A sentence ends after a stop before a blank, and at the end of a line. */
void trail_sentences_add(cf_trail_sentences *out, const cf_trail_message *m)
{
    size_t from = 0;
    cf_str text = m->text;
    for (size_t i = 0; i < text.n; i++) {
        char ch = text.p[i];
        bool is_end =
            (ch == '.' || ch == '!' || ch == '?') && i + 1 < text.n && cf_is_blank(text.p[i + 1]);
        if (is_end || ch == '\n') {
            add_sentence(out, m, cf_str_make(text.p + from, i + 1 - from));
            from = i + 1;
        }
    }
    add_sentence(out, m, cf_str_make(text.p + from, text.n - from));
}

cf_status cf_trail_fates(cf_trail_sentences *out, const cf_trail *t, size_t at, cf_error *err)
{
    const cf_trail_event *c = &t->events[at];
    *out = (cf_trail_sentences){.n = 0};
    for (size_t i = 0; i < at; i++) {
        const cf_trail_event *e = &t->events[i];
        if (e->is_branch != c->is_branch || !cf_str_eq(e->agent, c->agent)) {
            continue;
        }
        if (e->kind == CF_TRAIL_COMPACTION) {
            cf_trail_sentences_deinit(out);
        } else if (e->kind == CF_TRAIL_MESSAGE && e->as.message->role == CF_TRAIL_USER &&
                   !e->as.message->is_meta) {
            trail_sentences_add(out, e->as.message);
        }
    }
    trail_sentences_judge(out, c->as.compaction);
    if (out->arena.failed) {
        cf_trail_sentences_deinit(out);
        return cf_oom(err);
    }
    return CF_OK;
}

void cf_trail_sentences_deinit(cf_trail_sentences *s)
{
    cf_arena_deinit(&s->arena);
    *s = (cf_trail_sentences){.n = 0};
}

const char *cf_trail_fate_name(cf_trail_fate fate)
{
    static const char *const names[] = {"gone", "rewritten", "kept"};
    return names[fate];
}

/* ---- words --------------------------------------------------------------- */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
    return cf_is_word(c) && c != '_' && !is_digit(c);
}

/* The next word of four letters or number at *at or after it. */
static bool next_word(cf_str text, size_t *at, cf_str *word)
{
    while (*at < text.n) {
        size_t from = *at;
        bool is_number = is_digit(text.p[from]);
        if (!is_number && !is_letter(text.p[from])) {
            ++*at;
            continue;
        }
        while (*at < text.n && (is_number ? is_digit(text.p[*at]) : is_letter(text.p[*at]))) {
            ++*at;
        }
        *word = cf_str_make(text.p + from, *at - from);
        if (is_number || cf_utf8_count(word->p, word->n) >= 4) {
            return true;
        }
    }
    return false;
}

/* A word in small letters in `b`. */
static cf_str small_word(cf_buf *b, cf_str word)
{
    cf_buf_rewind(b, 0);
    for (size_t i = 0; i < word.n; i++) {
        cf_buf_addc(b, lower(word.p[i]));
    }
    return cf_buf_str(b);
}

void trail_words_want(cf_arena *a, trail_words *w, cf_str text)
{
    cf_buf b = CF_BUF_INIT;
    cf_str word;
    for (size_t at = 0; !b.failed && next_word(text, &at, &word);) {
        cf_str small = small_word(&b, word);
        if (b.failed || trail_find(&w->places, small) != TRAIL_NONE) {
            continue;
        }
        small.p = cf_arena_strndup(a, small.p, small.n);
        *(trail_word *)trail_push(a, &w->v, &w->n, sizeof *w->v) = (trail_word){TRAIL_NONE, 0};
        if (!a->failed) {
            trail_put(a, &w->places, small, w->n - 1);
        }
    }
    a->failed = a->failed || b.failed;
    cf_buf_deinit(&b);
}

static void see_text(trail_words *w, cf_buf *b, cf_str text, size_t place, bool is_reply)
{
    cf_str word;
    for (size_t at = 0; !b->failed && next_word(text, &at, &word);) {
        size_t i = trail_find(&w->places, small_word(b, word));
        if (i != TRAIL_NONE && !b->failed) {
            w->v[i].first = w->v[i].first < place ? w->v[i].first : place;
            w->v[i].last = is_reply ? place : w->v[i].last;
        }
    }
}

void trail_words_see(cf_arena *a, trail_words *w, const cf_trail_message *m, size_t place)
{
    cf_buf b = CF_BUF_INIT;
    see_text(w, &b, m->text, place, m->role == CF_TRAIL_ASSISTANT);
    for (size_t i = 0; i < m->n_calls; i++) {
        see_text(w, &b, m->calls[i].arguments, place, m->role == CF_TRAIL_ASSISTANT);
    }
    a->failed = a->failed || b.failed;
    cf_buf_deinit(&b);
}

bool trail_words_used(cf_arena *a, const trail_words *w, cf_str text, size_t place)
{
    cf_buf b = CF_BUF_INIT;
    cf_str word;
    bool has_new = false, is_used = false;
    for (size_t at = 0; !is_used && !b.failed && next_word(text, &at, &word);) {
        size_t i = trail_find(&w->places, small_word(&b, word));
        bool is_new = i != TRAIL_NONE && w->v[i].first > place;
        has_new = has_new || is_new;
        is_used = is_new && w->v[i].last > place;
    }
    a->failed = a->failed || b.failed;
    cf_buf_deinit(&b);
    return !has_new || is_used;
}

/* ---- JSON ---------------------------------------------------------------- */

static void put_lost(cf_jw *w, const cf_trail_finding *f)
{
    cf_jw_uint(w, "before", f->message);
    cf_jw_array(w, "lost");
    for (size_t i = 0; i < f->n_lost; i++) {
        cf_jw_str(w, NULL, f->lost[i]);
    }
    cf_jw_end(w);
}

static void put_repeated(cf_jw *w, const cf_trail_finding *f)
{
    cf_jw_str(w, "name", f->name);
    cf_jw_uint(w, "times", f->n_messages);
    cf_jw_array(w, "messages");
    for (size_t i = 0; i < f->n_messages; i++) {
        cf_jw_uint(w, NULL, f->messages[i]);
    }
    cf_jw_end(w);
}

void cf_trail_write_finding(cf_buf *out, const cf_trail_finding *f)
{
    cf_jw w;
    bool is_cache = f->kind == CF_TRAIL_CACHE_LOST;
    cf_jw_init(&w, out);
    cf_jw_object(&w, NULL);
    cf_jw_text(&w, "event", "finding");
    cf_jw_str(&w, "finding", cf_trail_finding_name(f));
    if (f->kind == CF_TRAIL_COMPACTED) {
        put_lost(&w, f);
    } else if (f->kind == CF_TRAIL_REPEATED) {
        put_repeated(&w, f);
    } else if (f->kind == CF_TRAIL_AGENT_UNUSED) {
        cf_jw_str(&w, "agent", f->agent);
    } else if (f->step != 0) {
        cf_jw_uint(&w, "step", f->step);
        cf_jw_int(&w, is_cache ? "had" : "tokens", f->tokens);
        cf_jw_int(&w, is_cache ? "kept" : "window", f->limit);
        if (f->message != 0) {
            cf_jw_uint(&w, "message", f->message);
        }
    } else {
        cf_jw_uint(&w, "message", f->message);
        if (f->name.n != 0 && f->kind != CF_TRAIL_RECORDED) {
            cf_jw_str(&w, "name", f->name);
        }
        if (f->why != NULL) {
            cf_jw_text(&w, "why", f->why);
        }
    }
    cf_jw_str(&w, "text", f->text);
    cf_jw_end(&w);
    cf_buf_addc(out, '\n');
}
