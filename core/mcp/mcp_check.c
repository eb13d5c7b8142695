/*
 * mcp_check.c - arguments and results against the schemas of a tool.
 */
#include "core/mcp/mcp_impl.h"
#include "core/schema/validate.h"

typedef struct collector {
    json_t *findings;
    const char *root;
    bool is_out_of_memory;
} collector;

static void add(collector *c, cf_str path, cf_str text, bool is_unchecked)
{
    cf_buf whole = CF_BUF_INIT;
    cf_buf_adds(&whole, c->root);
    if (path.n > 0) {
        cf_buf_adds(&whole, path.p[0] != '[' ? "." : "");
        cf_buf_add(&whole, path.p, path.n);
    }
    json_t *v = whole.failed ? NULL
                             : json_pack("{s:s%, s:s%}", "path", cf_buf_cstr(&whole), whole.n,
                                         "text", text.p, text.n);
    bool ok = v != NULL && (!is_unchecked || json_object_set_new(v, "unchecked", json_true()) == 0);
    ok = ok && json_array_append(c->findings, v) == 0;
    json_decref(v);
    cf_buf_deinit(&whole);
    c->is_out_of_memory = c->is_out_of_memory || !ok;
}

static void on_flaw(void *ud, const cf_flaw *flaw)
{
    add(ud, flaw->path, flaw->text, false);
}

cf_status cf_mcp__check(const json_t *schema, const json_t *value, const char *root,
                        json_t *findings, bool *fits, cf_error *err)
{
    collector c = {.findings = findings, .root = root};
    cf_validator *v = NULL;
    cf_error why = {0};
    bool is_valid = true;
    cf_status st = cf_validator_new(&v, schema, NULL, &why);
    CF_THEN(st, cf_validator_run(v, value, on_flaw, &c, &is_valid, &why));
    cf_validator_free(v);
    if (st == CF_EUNSUPPORTED || st == CF_EFORMAT || st == CF_ELIMIT) {
        cf_buf text = CF_BUF_INIT;
        cf_buf_addf(&text, "not checked: %s", why.text);
        add(&c, cf_str_make("", 0), cf_buf_str(&text), true);
        cf_buf_deinit(&text);
        st = CF_OK;
    } else if (st != CF_OK && err != NULL) {
        *err = why;
    }
    *fits = st == CF_OK && is_valid;
    return st == CF_OK && c.is_out_of_memory ? cf_oom_for(err, "a finding") : st;
}
