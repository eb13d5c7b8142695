/*
 * constraint.h - which tokens may come next, as a mask over the vocabulary.
 *
 * Place in the flow:  schema, regular expression, choices, tools or grammar
 *                     text --> grammar --> [constraint] --> mask --> sampler.
 * Knows: grammars over bytes, the pieces of a vocabulary.  Does not know:
 * logits, engines, chat.
 *
 * A grammar is compiled once and works on bytes.  A vocab holds a tokenizer's
 * pieces as a trie.  A constraint is one position in a grammar: it advances by
 * bytes or tokens, can be copied and rolled back, and says which tokens are
 * allowed.
 *
 * Every position that can be reached can be completed, as far as the grammar
 * decides it; docs/constraints.md names the exceptions.
 *
 * Threads:  grammars and vocabs are constant after they were made; a
 *           constraint belongs to one thread at a time.
 * Memory:   a constraint borrows its grammar and its vocab, which outlive it.
 */
#ifndef CF_CORE_API_CONSTRAINT_H
#define CF_CORE_API_CONSTRAINT_H

#include "core/api/tokenizer.h"
#include "core/api/tool.h"
#include "core/base/decls.h"
#include "core/json/json.h"

CF_BEGIN_DECLS

typedef struct cf_grammar cf_grammar;
typedef struct cf_constraint_vocab cf_constraint_vocab;
typedef struct cf_constraint cf_constraint; /* a position in a grammar */

/* ---- grammars ----------------------------------------------------------- */

/* White space between the tokens of JSON. */
typedef enum cf_json_space {
    CF_SPACE_FLEXIBLE = 0, /* nothing, one space, or a line break and its
                              indentation */
    CF_SPACE_PYTHON,       /* ", " and ": ", nothing else */
    CF_SPACE_COMPACT       /* none */
} cf_json_space;

typedef enum cf_key_order {
    CF_KEYS_ANY = 0, /* any order; declared order for objects of over 1,000
                        declared keys */
    CF_KEYS_DECLARED /* as the schema lists them, others after; where several
                        schemas are combined, any */
} cf_key_order;

/* Zero is the default everywhere. */
typedef struct cf_grammar_options {
    cf_json_space space;
    cf_key_order order;
    uint32_t max_nodes;     /* of the automaton; 0: 1,000,000 */
    uint32_t max_work;      /* steps of compilation; 0: 8,000,000 */
    const char *schema_dir; /* folder of the documents that a schema refers to,
                               each at the path of its URI; NULL: none */
} cf_grammar_options;

/*
 * Compiles a JSON Schema.  CF_EUNSUPPORTED names the path and the keyword
 * that cannot be expressed (nothing is ever ignored but annotations);
 * CF_EFORMAT for an invalid schema; CF_EINVAL where no text satisfies it;
 * CF_ELIMIT past the limits; CF_ENOMEM.  `opts` may be NULL.
 */
CF_MUST_USE cf_status cf_grammar_from_schema(cf_grammar **out, const json_t *schema,
                                             const cf_grammar_options *opts, cf_error *err);

/*
 * Appends a line for each flaw of a JSON text under the schema that a grammar
 * was compiled from: "`age`: 200 is over maximum 120", "`$`: ..." for the
 * whole value.  A text that breaks off is closed first, and what it lacks is
 * not reported.  Nothing is appended when there is no flaw, when the text is
 * not JSON, and when the schema cannot be checked.  CF_ENOMEM.
 */
CF_MUST_USE cf_status cf_schema_explain(cf_buf *out, const json_t *schema,
                                        const cf_grammar_options *opts, cf_str text, cf_error *err);

/* The whole text matches the regular expression (ECMA-262, see
 * docs/constraints.md for the subset); errors as above, with an offset. */
CF_MUST_USE cf_status cf_grammar_from_regex(cf_grammar **out, cf_str pattern,
                                            const cf_grammar_options *opts, cf_error *err);

/* The text is one of the choices; CF_EINVAL if the list is empty. */
CF_MUST_USE cf_status cf_grammar_from_choices(cf_grammar **out, const cf_str *choices, size_t n,
                                              const cf_grammar_options *opts, cf_error *err);

/* Grammar notation (docs/constraints.md); errors carry line and column. */
CF_MUST_USE cf_status cf_grammar_from_text(cf_grammar **out, cf_str text,
                                           const cf_grammar_options *opts, cf_error *err);

/* Form of a reply with tools.  C: one or more valid calls in the family's
 * syntax; T: text without the stop phrase. */
typedef enum cf_tool_mode {
    CF_TOOLS_ONLY = 0,  /* prefix C suffix */
    CF_TOOLS_TEXT_AND,  /* T, or B C suffix, or T A B C suffix */
    CF_TOOLS_TEXT_UNTIL /* T stop_phrase C suffix */
} cf_tool_mode;

typedef struct cf_tool_constraint {
    cf_tool_family family;
    const cf_tool_set *tools;
    cf_tool_mode mode;
    bool has_fences;         /* the three phrases below are used as given; otherwise
                        the family's own call fences are */
    cf_str prefix;           /* P of CF_TOOLS_ONLY, B of CF_TOOLS_TEXT_AND, the stop
                        phrase of CF_TOOLS_TEXT_UNTIL */
    cf_str before;           /* A of CF_TOOLS_TEXT_AND */
    cf_str suffix;           /* S */
    const json_t *otherwise; /* with CF_TOOLS_ONLY: a JSON Schema; the reply is
                                calls or a value of it.  NULL: calls */
    bool seed_order;         /* required parameters first in the order of "required",
                        as the seed systems do; otherwise any order */
} cf_tool_constraint;

/* CF_EINVAL for a family without calls or no tools where calls are mandatory,
 * otherwise as cf_grammar_from_schema(). */
CF_MUST_USE cf_status cf_grammar_from_tools(cf_grammar **out, const cf_tool_constraint *spec,
                                            const cf_grammar_options *opts, cf_error *err);

void cf_grammar_free(cf_grammar *grammar);

/* ---- vocabularies ------------------------------------------------------- */

typedef enum cf_piece_kind {
    CF_PIECE_TEXT = 0, /* ordinary bytes */
    CF_PIECE_CONTROL,  /* allowed only where a tool grammar spells a fence */
    CF_PIECE_END,      /* allowed only where the text may end */
    CF_PIECE_NONE      /* never allowed */
} cf_piece_kind;

typedef struct cf_piece {
    cf_str bytes; /* copied */
    cf_piece_kind kind;
} cf_piece;

/* pieces[id] for id 0 .. n-1.  Empty pieces, and those of over 1000 bytes,
 * are never allowed.  CF_ENOMEM; CF_ELIMIT for over 2^24 pieces. */
CF_MUST_USE cf_status cf_constraint_vocab_new(cf_constraint_vocab **out, const cf_piece *pieces,
                                              size_t n, cf_error *err);

/* The same from a tokenizer: end tokens are those that end generation. */
CF_MUST_USE cf_status cf_constraint_vocab_from_tokenizer(cf_constraint_vocab **out,
                                                         const cf_tokenizer *tok, cf_error *err);
void cf_constraint_vocab_free(cf_constraint_vocab *vocab);
size_t cf_constraint_vocab_n(const cf_constraint_vocab *vocab);

/* ---- positions ---------------------------------------------------------- */

/* Starts at the beginning of the text.  `vocab` may be NULL: then only bytes
 * are accepted. */
CF_MUST_USE cf_status cf_constraint_new(cf_constraint **out, const cf_grammar *grammar,
                                        const cf_constraint_vocab *vocab, cf_error *err);
void cf_constraint_free(cf_constraint *c);

/* An equal position that shares nothing; caches are not copied. */
CF_MUST_USE cf_status cf_constraint_copy(cf_constraint **out, const cf_constraint *c,
                                         cf_error *err);

/*
 * Takes bytes for as long as they are allowed; *n_taken of them were, and the
 * position is after them.  CF_ENOMEM, CF_ELIMIT (too many readings of the
 * text at once): nothing was taken of the last byte.
 */
CF_MUST_USE cf_status cf_constraint_bytes(cf_constraint *c, const char *p, size_t n,
                                          size_t *n_taken, cf_error *err);

/* Takes one token.  CF_EINVAL when it is not allowed here (nothing changed).
 * After an end token only rollback leads on. */
CF_MUST_USE cf_status cf_constraint_token(cf_constraint *c, cf_token id, cf_error *err);

/* Undoes the last n successful calls of _token and _bytes, or all. */
void cf_constraint_rollback(cf_constraint *c, size_t n);
/* Calls that rollback could undo. */
size_t cf_constraint_n_steps(const cf_constraint *c);

/* Whether the text may end here, and whether it may continue. */
bool cf_constraint_may_end(const cf_constraint *c);
bool cf_constraint_may_continue(const cf_constraint *c);

/* Sets bit b%32 of word b/32 for every byte that may follow. */
void cf_constraint_next_bytes(cf_constraint *c, uint32_t set[8]);

/* Fills mask[0 .. (n_vocab+31)/32) as cf_sampler_draw() takes it: bit set
 * means allowed.  CF_EINVAL without a vocab, CF_ENOMEM, CF_ELIMIT. */
CF_MUST_USE cf_status cf_constraint_mask(cf_constraint *c, uint32_t *mask, cf_error *err);

/* Appends the bytes that must follow: for as long as only one byte is
 * possible and the text may not end, at most max_bytes. */
CF_MUST_USE cf_status cf_constraint_forced(cf_constraint *c, cf_buf *out, size_t max_bytes,
                                           cf_error *err);

/*
 * The forced text as tokens, encoded as the model's tokenizer would encode
 * it.  If more text follows, the last tokens are left out as far as they could
 * merge with it into one token of the vocabulary: the model chooses there.  An
 * empty list if nothing is forced.
 */
CF_MUST_USE cf_status cf_constraint_forced_tokens(cf_constraint *c, const cf_tokenizer *tok,
                                                  cf_arena *arena, cf_token_list *out,
                                                  cf_error *err);

/* Describes the position for the user; each buffer may be NULL.
 *   path   "$.day", "$.items[]"
 *   rule   the value being written: "string", "one of 3 values", "number"
 *   stack  "object > value > string" */
void cf_constraint_where(const cf_constraint *c, cf_buf *path, cf_buf *rule, cf_buf *stack);

CF_END_DECLS

#endif
