/*
 * cmd_version.c - confab version: shows the versions of the program and its
 * libraries.
 */
#include "core/api/about.h"
#include "tui/cli/shell/cli.h"

/* Shows the set that is picked, its requirements, and the other sets. */
static void kernels_json(cf_buf *out, const cf_about *about)
{
    for (size_t i = 0; i < about->n_kernel; i++) {
        const cf_about_kernels *k = &about->kernel[i];
        cf_buf_addf(out, "%s{\"name\":\"%s\",\"needs\":\"%s\",\"available\":%s}",
                    i == 0 ? ",\"kernel_sets\":[" : ",", k->name, k->needs,
                    k->is_there ? "true" : "false");
    }
    cf_buf_adds(out, about->n_kernel > 0 ? "]" : "");
}

static void kernels_text(cf_buf *out, const cf_about *about)
{
    bool is_best = true;
    for (size_t i = 0; i < about->n_kernel; i++) {
        const cf_about_kernels *k = &about->kernel[i];
        const char *why = "";
        if (!k->is_there) {
            why = ": not on this machine";
        } else if (is_best) {
            why = ": picked, the best that this machine has";
            is_best = false;
        }
        cf_buf_addf(out, "%-12s %-12s needs %s%s\n", i == 0 ? "kernels" : "", k->name, k->needs,
                    why);
    }
}

static int run_version(cf_cli *cli, void *state)
{
    (void)state;
    cf_about about;
    cf_about_get(&about);
    cf_buf *out = &cli->out;
    if (cli->is_json) {
        cf_buf_adds(out, "{\"version\":");
        cf_json_write_str(out, cf_str_from(about.version));
        cf_buf_adds(out, ",\"kernel_set\":");
        cf_json_write_str(out, cf_str_from(about.kernel_set));
        kernels_json(out, &about);
        cf_buf_adds(out, ",\"encoder_products\":");
        cf_json_write_str(out, cf_str_from(about.encoder_products));
        cf_buf_addf(out, ",\"cpus\":%u,\"compiler\":", about.n_cpus);
        cf_json_write_str(out, cf_str_from(about.compiler));
        cf_buf_adds(out, ",\"libraries\":{");
    } else {
        cf_buf_addf(out, "confab %s\n", about.version);
        kernels_text(out, &about);
        cf_buf_addf(out, "%-12s %s\n", "encoders", about.encoder_products);
        cf_buf_addf(out, "%-12s %u\n%-12s %s\n", "processors", about.n_cpus, "compiler",
                    about.compiler);
    }
    for (size_t i = 0; i < about.n_library; i++) {
        const cf_about_library *lib = &about.library[i];
        if (cli->is_json) {
            cf_buf_adds(out, i == 0 ? "" : ",");
            cf_json_write_str(out, cf_str_from(lib->name));
            cf_buf_addc(out, ':');
            cf_json_write_str(out, cf_str_from(lib->version));
        } else {
            cf_buf_addf(out, "%-12s %s\n", lib->name, lib->version);
        }
    }
    cf_buf_adds(out, cli->is_json ? "}}\n" : "");
    return cf_cli_print(cli, out);
}

const cf_cli_command cf_cmd_version = {
    .name = "version",
    .arguments = "",
    .summary = "print the version and how it was built",
    .n_max = 0,
    .run = run_version,
};
