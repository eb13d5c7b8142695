/*
 * inside_case.h - a timeline to look into: prompt and reply as tokens, the
 * parts of the prompt by position, the position and the tokens asked about.
 *
 * Place in the flow:  a stored reply, a context or ids --> [inside_case] -->
 *                     core/api/inside.h.
 * Knows: prompts with provenance, tools by name.  Does not know: what is asked,
 * screens, the command line.
 *
 * Threads:  one thread at a time.
 * Memory:   a case owns everything but engine and session.
 */
#ifndef CF_TUI_STUDY_INSIDE_INSIDE_CASE_H
#define CF_TUI_STUDY_INSIDE_INSIDE_CASE_H

#include "core/api/inside.h"
#include "tui/study/ask/reply_tokens.h"
#include "tui/study/influence/influence.h"

/* A part of the prompt, and where it is. */
typedef struct cf_inside_part {
    cf_part part;
    cf_str label;
    uint32_t *pos; /* [n] ascending; a token is where its first byte is */
    size_t n;
    cf_position_range *range; /* [n_range] the same */
    size_t n_range;
} cf_inside_part;

/* A declared tool that could be called where the reply calls one: the first
 * token in which the call of it differs from what was called; or that could be
 * called where the reply begins without a call: the first token of a call. */
typedef struct cf_inside_tool {
    cf_str name;
    size_t index; /* of its declaration */
    bool is_called;
    uint32_t at;            /* the position that chooses */
    cf_token id, called_id; /* of this tool, of what was written; the same for
                               the called one itself */
    cf_token name_id;       /* no call: the first token of its name at the end of the line */
} cf_inside_tool;

enum { CF_INSIDE_WATCHED = 8 };

typedef struct cf_inside_case {
    cf_arena arena;
    cf_study_engine engine;
    cf_session *session; /* the cache; borrowed */
    cf_cancel *cancel;   /* or NULL */
    cf_study_case c;     /* empty for ids */
    cf_prompt prompt;
    cf_token_list tokens;  /* of the prompt */
    cf_token *ids;         /* [n] prompt, then reply */
    cf_reply_token *reply; /* [n - n_prompt] as the case was made */
    size_t n_reply;
    size_t n, n_prompt;
    uint32_t at;                       /* asked about: what follows it is chosen there */
    cf_token a, against;               /* the margin; CF_TOKEN_NONE: nothing is asked, or
                            against nothing */
    cf_token watch[CF_INSIDE_WATCHED]; /* [n_watch] others, whose logits answers have */
    size_t n_watch;
    cf_token call_id; /* a call's first token; CF_TOKEN_NONE: there is none */
    cf_inside_part *part;
    size_t n_part;
    cf_inside_tool *tool; /* [n_tool] */
    size_t n_tool;
    cf_token *line; /* [n_line] on which tools are chosen: the timeline; without a call
                       the prompt and what calls of all tools begin with */
    size_t n_line;
} cf_inside_case;

void cf_inside_case_init(cf_inside_case *c);
void cf_inside_case_deinit(cf_inside_case *c);

/*
 * Fills a case: from ids; from a saved reply (as cf_study_case_load()); or from
 * a file with a context, to which no reply is known.  `at` is then where the
 * called tool is chosen, or the first token of the reply.  CF_EUNSUPPORTED for
 * prompts with pictures or sounds; CF_ELIMIT for more than the session's
 * context; errors of files, of the history and the template; CF_ENOMEM.
 */
CF_MUST_USE cf_status cf_inside_case_ids(cf_inside_case *c, const cf_token *ids, size_t n,
                                         cf_error *err);
CF_MUST_USE cf_status cf_inside_case_load(cf_inside_case *c, cf_store *store, const char *uuid,
                                          const char *turn, cf_error *err);
CF_MUST_USE cf_status cf_inside_case_read(cf_inside_case *c, const char *path, cf_error *err);
/* The same for what c->c holds already. */
CF_MUST_USE cf_status cf_inside_case_make(cf_inside_case *c, cf_error *err);

/* c->part: the prompt's parts of these kinds (bits) that have a position. */
CF_MUST_USE cf_status cf_inside_case_parts(cf_inside_case *c, uint32_t kinds, cf_error *err);

/* Asks about another position.  CF_EINVAL for one that is not there. */
CF_MUST_USE cf_status cf_inside_case_set_at(cf_inside_case *c, size_t at, cf_error *err);

/* Asks about what chose the token of the reply that has byte `off` of it. */
CF_MUST_USE cf_status cf_inside_case_set_byte(cf_inside_case *c, size_t off, cf_error *err);

/*
 * Asks about two texts that could follow `at`: c->a and c->against are the
 * first tokens where they part; tokens before that are put into the timeline,
 * and `at` moves with them.  `a` NULL: what follows there in the timeline, or
 * the best token.  `against` NULL: the best other one.  CF_EINVAL where one
 * text is the beginning of the other.
 */
CF_MUST_USE cf_status cf_inside_case_choose(cf_inside_case *c, const char *a, const char *against,
                                            cf_error *err);

/* The same for tokens at `at`; CF_TOKEN_NONE is what NULL is there. */
CF_MUST_USE cf_status cf_inside_case_compare(cf_inside_case *c, cf_token a, cf_token against,
                                             cf_error *err);

/* The positions of a part named by hand: a message's number from 0, a tool's
 * name, FROM-TO (the last one included); in the arena.  CF_ENOTFOUND,
 * CF_EINVAL. */
CF_MUST_USE cf_status cf_inside_case_find(cf_inside_case *c, const char *name,
                                          cf_position_range **out, size_t *n, cf_error *err);

/* Whether the reply calls one of the declared tools. */
static inline bool cf_inside_case_has_call(const cf_inside_case *c)
{
    size_t i = 0;
    while (i < c->n_tool && !c->tool[i].is_called) {
        i++;
    }
    return i < c->n_tool;
}

/* The question at c->at. */
static inline cf_inside_ask cf_inside_case_ask(const cf_inside_case *c, const cf_changes *changes)
{
    return (cf_inside_ask){
        .ids = c->ids, .n = c->n, .at = c->at, .changes = changes, .cancel = c->cancel};
}

/* Appends a token as text, quoted and safe for a terminal. */
void cf_inside_token_text(cf_buf *out, const cf_tokenizer *tok, cf_token id);

#endif
