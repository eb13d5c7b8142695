/*
 * schema_meta.c - the metaschemas of JSON Schema, which lie in the program.
 */
#include <string.h>

#include "core/schema/schema.h"

extern const unsigned char cf_embed_core_schema_metaschemas_json[];
extern const size_t cf_embed_core_schema_metaschemas_json_size;

bool cf_schema__is_official(const char *uri)
{
    const char *host = strstr(uri, "://json-schema.org/");
    return host != NULL && (host == uri + strlen("http") || host == uri + strlen("https"));
}

json_t *cf_schema__metaschema(cf_schema *s, const char *uri)
{
    json_t *all = NULL;
    cf_error err = {0};
    cf_status st = cf_json_read(&all, (const char *)cf_embed_core_schema_metaschemas_json,
                                cf_embed_core_schema_metaschemas_json_size, &err);
    if (st != CF_OK) {
        cf_gbuild_fail(s->b, st, "%s", err.text);
    }
    json_t *one = json_incref(json_object_get(all, uri));
    json_decref(all);
    return json_is_object(one) ? one : NULL;
}
