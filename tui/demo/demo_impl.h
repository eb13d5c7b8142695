/*
 * demo_impl.h - inside the demonstration tools.
 */
#ifndef CF_TUI_DEMO_DEMO_IMPL_H
#define CF_TUI_DEMO_DEMO_IMPL_H

#include "tui/demo/demo.h"

enum {
    CF_DEMO_TIMERS = 16, /* at once */
    CF_DEMO_NOTES = 3    /* in a result */
};

typedef struct cf_demo_timer {
    uint32_t id; /* 0: free */
    int minutes;
    uint64_t due_us; /* monotonic */
    char label[64];  /* "" for none */
} cf_demo_timer;

struct cf_demo {
    cf_store *store;
    cf_demo_timer timer[CF_DEMO_TIMERS];
    uint32_t n_started;
    cf_demo_help_fn help;
    void *help_ud;
    bool rings;     /* timers do */
    bool is_on;     /* answers the calls of the workbench */
    cf_uuid served; /* the reply that was answered last */
};

/* {"error": text}. */
json_t *cf_demo__error(const char *fmt, ...) CF_PRINTF(1, 2);

/* {key: v}; takes v over.  A NULL v means out of memory. */
json_t *cf_demo__with(const char *key, json_t *v);

/* The tools of demo_money.c and demo_notes.c; NULL: memory ran out. */
json_t *cf_demo__currency(cf_demo *demo, cf_uuid here, const json_t *arguments);
json_t *cf_demo__stock(cf_demo *demo, cf_uuid here, const json_t *arguments);
json_t *cf_demo__notes(cf_demo *demo, cf_uuid here, const json_t *arguments);
json_t *cf_demo__message(cf_demo *demo, cf_uuid here, const json_t *arguments);

#endif
