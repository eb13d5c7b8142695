/*
 * cmd_version.c - confab version: shows the versions of the program and its
 * libraries.
 */
#include "core/api/about.h"
#include "tui/cli/answers/facts.h"
#include "tui/cli/shell/cli.h"

#define ABOUT(name, kind)                               \
    {                                                   \
#name, CF_FACT_##kind, offsetof(cf_about, name) \
    }
static const cf_fact facts[] =
    {
        ABOUT(version, TEXT),
        ABOUT(kernel_set, TEXT),
        {NULL, CF_FACT_TEXT, 0},
},
                     more_facts[] = {
                         ABOUT(encoder_products, CHARS),
                         {"cpus", CF_FACT_U32, offsetof(cf_about, n_cpus)},
                         ABOUT(compiler, TEXT),
                         {NULL, CF_FACT_TEXT, 0},
};

/* The plug-in of another engine, where it is built: its program, and its name or why
 * it cannot be used. */
typedef struct engines {
    cf_buf path, name;
    cf_error why;
    bool is_there, is_good;
} engines;

static void find_engines(engines *e)
{
    *e = (engines){.path = CF_BUF_INIT, .name = CF_BUF_INIT};
    e->is_good = cf_open_plugin_name(&e->path, &e->name, &e->why) == CF_OK;
    e->is_there = e->path.n > 0;
}

static void put_engines(cf_buf *out, const engines *e)
{
    cf_buf_adds(out, "engines      own\n");
    if (e->is_there) {
        cf_buf_addf(out, "             %s (%s)\n", e->is_good ? e->name.p : e->why.text, e->path.p);
    }
}

static void json_engines(cf_jw *w, const engines *e)
{
    cf_jw_array(w, "engines");
    cf_jw_text(w, NULL, "own");
    if (e->is_good) {
        cf_jw_buf(w, NULL, &e->name);
    }
    cf_jw_end(w);
    if (e->is_there) {
        cf_jw_object(w, "plugin");
        cf_jw_buf(w, "path", &e->path);
        cf_jw_bool(w, "available", e->is_good);
        if (!e->is_good) {
            cf_jw_text(w, "why", e->why.text);
        }
        cf_jw_end(w);
    }
}

static void put_json(cf_buf *out, const cf_about *about, const engines *found)
{
    cf_jw w;
    cf_jw_init(&w, out);
    cf_jw_object(&w, NULL);
    cf_facts_json(&w, facts, about);
    if (about->n_kernel > 0) {
        cf_jw_array(&w, "kernel_sets");
    }
    for (size_t i = 0; i < about->n_kernel; i++) {
        const cf_about_kernels *k = &about->kernel[i];
        cf_jw_object(&w, NULL);
        cf_jw_text(&w, "name", k->name);
        cf_jw_text(&w, "needs", k->needs);
        cf_jw_bool(&w, "available", k->is_there);
        cf_jw_end(&w);
    }
    if (about->n_kernel > 0) {
        cf_jw_end(&w);
    }
    cf_facts_json(&w, more_facts, about);
    json_engines(&w, found);
    cf_jw_object(&w, "libraries");
    for (size_t i = 0; i < about->n_library; i++) {
        cf_jw_text(&w, about->library[i].name, about->library[i].version);
    }
    cf_jw_end(&w);
    cf_jw_end(&w);
    cf_buf_addc(out, '\n');
}

/* The set that is picked, its requirements, and the other sets. */
static void put_kernels(cf_buf *out, const cf_about *about)
{
    bool is_best = true;
    for (size_t i = 0; i < about->n_kernel; i++) {
        const cf_about_kernels *k = &about->kernel[i];
        const char *why = !k->is_there ? ": not on this machine"
                          : is_best    ? ": picked, the best that this machine has"
                                       : "";
        is_best = is_best && !k->is_there;
        cf_buf_addf(out, "%-12s %-12s needs %s%s\n", i == 0 ? "kernels" : "", k->name, k->needs,
                    why);
    }
}

static void put_text(cf_buf *out, const cf_about *about, const engines *found)
{
    cf_facts_text(out, "confab {version}\n", facts, about);
    put_kernels(out, about);
    cf_facts_text(out,
                  "encoders     {encoder_products}\nprocessors   {cpus}\ncompiler     {compiler}\n",
                  more_facts, about);
    put_engines(out, found);
    for (size_t i = 0; i < about->n_library; i++) {
        cf_buf_addf(out, "%-12s %s\n", about->library[i].name, about->library[i].version);
    }
}

/* docs/licences.md */
extern const unsigned char cf_embed_docs_licences_md[];
extern const size_t cf_embed_docs_licences_md_size;

typedef struct asked {
    bool is_licences;
} asked;

static const cf_opt_row options[] = {
    {"--licences", 0, CF_OPT_FLAG, offsetof(asked, is_licences), NULL,
     "print the licences of confab and of the libraries in it", 0},
    CF_OPT_ROWS_END,
};

static int run_version(cf_cli *cli, void *state)
{
    asked *a = state;
    cf_about about;
    cf_buf *out = &cli->out;
    if (a->is_licences) {
        cf_buf_add(out, cf_embed_docs_licences_md, cf_embed_docs_licences_md_size);
        return cf_cli_print(cli, out);
    }
    engines found;
    cf_about_get(&about);
    find_engines(&found);
    if (cli->is_json) {
        put_json(out, &about, &found);
    } else {
        put_text(out, &about, &found);
    }
    cf_buf_deinit(&found.path);
    cf_buf_deinit(&found.name);
    return cf_cli_print(cli, out);
}

const cf_cli_command cf_cmd_version = {
    .name = "version",
    .arguments = "",
    .summary = "print the version and how it was built",
    .options = options,
    .state_bytes = sizeof(asked),
    .n_max = 0,
    .run = run_version,
};
