/*
 * machine.h - running a grammar: the set of all readings of the text so far.
 *
 * A reading is an item: a node, the registers of its rule, and the frame to
 * return to.  Frames are shared and interned: readings that call the same
 * rule at the same place share one frame that knows all its callers, so the
 * number of items stays small however deep and ambiguous the text is.
 *
 * Room-internal.  One thread at a time.
 */
#ifndef CF_CORE_GRAMMAR_MACHINE_H
#define CF_CORE_GRAMMAR_MACHINE_H

#include "core/grammar/grammar.h"

typedef struct cf_item {
    uint32_t frame;
    uint32_t node;
    cf_gregs regs;
} cf_item;

/* Who waits for the end of a rule. */
typedef struct cf_caller {
    uint32_t frame; /* of the caller */
    uint32_t node;  /* where it goes on */
    uint32_t label;
    cf_gregs regs;
} cf_caller;

typedef struct cf_frame {
    uint32_t first, n; /* into callers */
    uint32_t next;     /* hash chain */
    uint32_t rule;
    uint64_t hash;
    bool is_compared; /* the text of what is being written matters */
} cf_frame;

/* A free key that was written, for "no key twice", or an item of an array
 * without equal ones. */
typedef struct cf_key {
    uint32_t prev;     /* 0: none */
    uint32_t off, len; /* in the text */
    uint64_t value;    /* items: cf_json_hash() */
} cf_key;

enum { CF_FRAME_ROOT = 0, CF_ITEMS_MAX = 2000, CF_HASH_SIZE = 1024 };

typedef struct cf_pending {
    cf_caller caller;
    uint32_t rule;
    uint64_t key; /* rank of the rule, then the order of the calls */
} cf_pending;

/* Finds equal items of an array that has become long.  Slots of an older
 * epoch are empty. */
typedef struct cf_index_slot {
    uint32_t epoch, at;
} cf_index_slot;

typedef struct cf_index {
    cf_index_slot *slot;
    size_t cap; /* a power of two, or 0 */
    size_t n;   /* of the array, that are in it */
    uint32_t epoch;
} cf_index;

typedef struct cf_machine {
    const cf_grammar *g;
    cf_frame *frame;
    cf_caller *caller;
    cf_key *key;
    size_t n_frame, cap_frame, n_caller, cap_caller, n_key, cap_key;
    uint32_t bucket[CF_HASH_SIZE];
    char *text; /* all bytes taken, then room for a walk */
    size_t n_text, cap_text;
    /* scratch of a step */
    cf_item *out; /* items being made */
    size_t n_out, cap_out;
    cf_item *raw; /* to be closed */
    size_t n_raw, cap_raw;
    cf_pending *call; /* a heap: the rule that ranks first, in order */
    size_t n_call, cap_call;
    uint32_t n_noted; /* calls of this step */
    cf_item *seen;    /* items already closed in this step */
    size_t n_seen, cap_seen;
    cf_index out_index, seen_index, caller_index;
    uint64_t work;   /* items made and compared since the beginning */
    uint32_t *stamp; /* [n_node] of the step that last made an item there */
    uint32_t now;
    bool skips_keys; /* a mask is made: names are looked at later */
    bool may_end;    /* the root rule ended during the step */
    cf_status st;    /* sticky until cf_machine_open() */
} cf_machine;

/* A point to give frames and keys back to. */
typedef struct cf_machine_mark {
    size_t n_frame, n_caller, n_key;
} cf_machine_mark;

CF_MUST_USE cf_status cf_machine_init(cf_machine *m, const cf_grammar *g, cf_error *err);
void cf_machine_deinit(cf_machine *m);
/* Everything a copy of the text needs; scratch stays apart. */
CF_MUST_USE cf_status cf_machine_copy(cf_machine *to, const cf_machine *from, cf_error *err);

bool cf_item_equal(const cf_item *a, const cf_item *b);

/* The items at the beginning of the text, in m->out. */
void cf_machine_begin(cf_machine *m);

/* The items after byte c, from items[0..n) (not in m->out), in m->out.  The
 * byte must already stand at m->text[m->n_text - 1]. */
void cf_machine_step(cf_machine *m, const cf_item *items, size_t n, uint8_t c);

/* The items that follow `item` without a byte, added to m->out.  Begin a set
 * with cf_machine_open(). */
void cf_machine_open(cf_machine *m);
void cf_machine_close(cf_machine *m, const cf_item *item);
void cf_machine_settle(cf_machine *m); /* after the last close */

/* Appends a byte to the text. */
void cf_machine_put(cf_machine *m, uint8_t c);

cf_machine_mark cf_machine_get_mark(const cf_machine *m);
void cf_machine_release(cf_machine *m, cf_machine_mark mark);

#endif
