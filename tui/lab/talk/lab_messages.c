/*
 * lab_messages.c - messages of the path by number, and the turns they are of.
 */
#include "tui/lab/talk/lab_messages.h"

#include <stdio.h>
#include <string.h>

#include "core/base/utf8.h"
#include "tui/lab/talk/talk_impl.h"

const json_t *cf_lab_message(const cf_lab *lab, size_t message)
{
    const cf_lab_snapshot *s = &lab->talk->snapshot;
    return message < s->n_source ? s->source[message].message : NULL;
}

size_t cf_lab_n_messages(const cf_lab *lab)
{
    return lab->talk->snapshot.n_source;
}

size_t cf_lab_message_of(const cf_lab *lab, size_t turn)
{
    const cf_lab_snapshot *s = &lab->talk->snapshot;
    for (size_t i = 0; turn < s->n_path && i < s->n_source; i++) {
        if (s->source[i].turn == s->path[turn]) {
            return i;
        }
    }
    return turn < s->n_path ? SIZE_MAX : s->n_source;
}

size_t cf_lab_number_of(const cf_lab *lab, size_t message)
{
    size_t n = cf_lab_message_of(lab, 0);
    return message < n ? 0 : message - n + 1;
}

void cf_lab_name_turn(const cf_lab *lab, size_t message, char *text, size_t cap)
{
    char name[32], turn[32] = "the system prompt";
    int n = snprintf(name, sizeof name, "message %zu", message + 1);
    size_t number = cf_lab_number_of(lab, message);
    char *at = strstr(text, name);
    cf_buf out = CF_BUF_INIT;
    if (at == NULL || (at[n] >= '0' && at[n] <= '9')) {
        return;
    }
    if (number > 0) {
        snprintf(turn, sizeof turn, "turn %zu", number);
    }
    cf_buf_add(&out, text, (size_t)(at - text));
    cf_buf_adds(&out, turn);
    cf_buf_adds(&out, at + n);
    cf_utf8_copy(text, cap, cf_buf_str(&out));
    cf_buf_deinit(&out);
}

const char *cf_lab_message_role(const cf_lab *lab, size_t message)
{
    const cf_lab_snapshot *s = &lab->talk->snapshot;
    if (message >= s->n_source) {
        return "unsent";
    }
    const json_t *role = json_object_get(s->source[message].message, "role");
    return json_is_string(role) ? json_string_value(role) : "?";
}
