/*
 * server_lmstudio.c - LM Studio: tells its context, and shows neither prompt
 * nor tokens.
 */
#include "core/backend/server_kind_impl.h"

static uint32_t lmstudio_limit(const cf_server_ask *ask, const json_t *models)
{
    const json_t *v = cf_server_kind__entry(json_object_get(models, "data"), "id", ask->model);
    return cf_server_kind__limit(json_object_get(v, "loaded_context_length"));
}

const cf_server_kind__row cf_server_lmstudio = {
    .name = "LM Studio",
    .path = "/api/v0/models",
    .key = "data",
    .limit = lmstudio_limit,
    .score = cf_server_kind__echo_score,
    .constrain = {[CF_FORM_SCHEMA] = cf_server_kind__write_schema},
};
