/*
 * checkpoint.c - places of a conversation that have a name.
 */
#include <stdio.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/chat/conversation_impl.h"

static cf_conversation__mark *find_mark(const cf_conversation *conv, const char *name)
{
    for (size_t i = 0; i < conv->n_marks; i++) {
        if (strcmp(conv->mark[i].name, name) == 0) {
            return &conv->mark[i];
        }
    }
    return NULL;
}

cf_status cf_conversation_save(cf_conversation *conv, const char *name, cf_error *err)
{
    cf_conversation__mark *m = find_mark(conv, name);
    if (name[0] == '\0' || strlen(name) >= sizeof m->name) {
        return cf_fail(err, CF_EINVAL, "a checkpoint's name has 1 to %zu characters",
                       sizeof m->name - 1);
    }
    if (m == NULL) {
        if (!cf_grow(&conv->mark, &conv->cap_marks, conv->n_marks + 1, sizeof *conv->mark)) {
            return cf_oom_for(err, "the checkpoint");
        }
        m = &conv->mark[conv->n_marks++];
        snprintf(m->name, sizeof m->name, "%s", name);
    }
    m->turn = conv->head;
    return CF_OK;
}

cf_status cf_conversation_rewind(cf_conversation *conv, const char *name, cf_error *err)
{
    const cf_conversation__mark *m = find_mark(conv, name);
    if (m == NULL) {
        return cf_fail(err, CF_ENOTFOUND, "there is no checkpoint '%.60s'", name);
    }
    return cf_conversation_set_head(conv, m->turn, err);
}

cf_status cf_conversation_forget(cf_conversation *conv, const char *name, cf_error *err)
{
    cf_conversation__mark *m = find_mark(conv, name);
    if (m == NULL) {
        return cf_fail(err, CF_ENOTFOUND, "there is no checkpoint '%.60s'", name);
    }
    *m = conv->mark[--conv->n_marks];
    return CF_OK;
}

cf_status cf_conversation__copy_marks(cf_conversation *to, const cf_conversation *from,
                                      cf_error *err)
{
    if (from->n_marks == 0) {
        return CF_OK;
    }
    if (!cf_grow(&to->mark, &to->cap_marks, from->n_marks, sizeof *to->mark)) {
        return cf_oom_for(err, "the checkpoints");
    }
    memcpy(to->mark, from->mark, from->n_marks * sizeof *to->mark);
    to->n_marks = from->n_marks;
    return CF_OK;
}
