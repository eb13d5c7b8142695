/*
 * lab_prompt.h - the prompt of the path and the unsent text, as a send would make it
 * now.
 *
 * Threads:  the interface thread.
 */
#ifndef CF_TUI_LAB_PROMPT_LAB_PROMPT_H
#define CF_TUI_LAB_PROMPT_LAB_PROMPT_H

#include "tui/lab/prompt/ledger.h"
#include "tui/lab/prompt/media_sheet.h"
#include "tui/lab/prompt/prompt_model.h"
#include "tui/lab/state/lab_state.h"

/* The prompt of the path and unsent text, as it would be sent now; NULL when it
 * cannot be shown, see cf_lab_prompt_error.  Rendered again only when something
 * changed, and never while a reply is written. */
cf_prompt_model *cf_lab_prompt(cf_lab *lab);
void cf_lab_prompt_error(const cf_lab *lab, cf_error *err);
/* Whether the prompt is the server's, and shown after cf_lab_ask_prompt(). */
bool cf_lab_prompt_is_asked(const cf_lab *lab);
/* Where that prompt ends: after a reply that has no message after it a server
 * would continue the reply, so the prompt is the one which that reply had.  Sets
 * send->parent; true when it ends before a reply. */
bool cf_lab_prompt_parent(const cf_lab *lab, cf_send *send);
/* Asks the server for it, as a task; what it says is in cf_lab_prompt() when
 * the task has ended.  CF_EBUSY, CF_ENOTFOUND when nothing is said yet. */
CF_MUST_USE cf_status cf_lab_ask_prompt(cf_lab *lab, cf_error *err);

/* What the template in use here makes of the same messages. */
typedef enum cf_lab_ours {
    CF_LAB_OURS_NONE, /* the server was not asked, or no template is in use */
    CF_LAB_OURS_SAME,
    CF_LAB_OURS_DIFFERS, /* another prompt, or an error */
} cf_lab_ours;
cf_lab_ours cf_lab_prompt_ours(const cf_lab *lab);

/* A slot of the server, as it was when its prompt was asked for. */
typedef struct cf_lab_slot {
    bool is_busy;
    bool has_prompt;   /* the server shows what the slot holds */
    size_t n_same;     /* bytes which that has in common with this prompt */
    int64_t n_decoded; /* tokens of its last reply; < 0: not shown */
} cf_lab_slot;
/* How many slots it showed; fills out[0..cap). */
size_t cf_lab_server_slots(const cf_lab *lab, cf_lab_slot *out, size_t cap);
/* The prompt of the path to `leaf` with `messages` (an array) after it,
 * sending nothing; in the arena.  CF_EBUSY while a reply is written. */
CF_MUST_USE cf_status cf_lab_preview(cf_lab *lab, cf_uuid leaf, const json_t *messages,
                                     cf_arena *arena, cf_prompt *out, cf_error *err);
/* The picture or sound that `token` of the prompt is part of, as the model gets
 * it; kept until the prompt changes.  NULL: it is part of none, it cannot be
 * read (err says why), or a reply is being written. */
const cf_media_sheet *cf_lab_media(cf_lab *lab, size_t token, cf_error *err);
/* What its tokens are spent on (ledger.h), in the arena; `prompt` is what
 * cf_lab_prompt() gave. */
CF_MUST_USE cf_status cf_lab_ledger(const cf_lab *lab, const cf_prompt_model *prompt,
                                    cf_arena *arena, cf_ledger *out, cf_error *err);
/* Tokens of prefill in a second, by the newest replies of the path; 0:
 * unknown. */
double cf_lab_prefill_speed(cf_lab *lab);
/* The text in the composer: set (copied), and as it is (borrowed). */
void cf_lab_set_unsent(cf_lab *lab, cf_str unsent);
cf_str cf_lab_unsent(const cf_lab *lab);
/* The parts of content that go with it, pictures and sounds (references are
 * taken, unless they are the ones it has), and their bytes as text. */
void cf_lab_set_unsent_parts(cf_lab *lab, json_t *const *parts, size_t n);
size_t cf_lab_unsent_parts_size(const cf_lab *lab);

/* What of the conversation is not in its prompt, without the unsent text.  Rendered
 * when the conversation, the template or a variable has changed, and never
 * while a reply is written; nothing where the engine shows no prompt. */
typedef struct cf_lab_loss {
    cf_loss_kind kind;
    size_t index; /* of the message, or of the tool */
    cf_str line;
} cf_lab_loss;
const cf_lab_loss *cf_lab_losses(cf_lab *lab, size_t *n);
/* As of then: "added by confab: the template writes no tools", the first such
 * text of the prompt; NULL: there is none.  Borrowed. */
const char *cf_lab_added(const cf_lab *lab);

bool cf_lab_is_control(const cf_lab *lab, cf_token id);
/* Appends one sentence about where the cache and the prompt differ. */
void cf_lab_break_cause(cf_lab *lab, cf_buf *out);

/* Renders it again next time: something that it may depend on has changed. */
void cf_lab_prompt_stale(cf_lab *lab);

#endif
