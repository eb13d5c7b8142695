/*
 * cmd_version.c - confab version: what this program was built of.
 */
#include "core/api/about.h"
#include "tui/cli/cli.h"

int cf_cmd_version(cf_cli *cli, int argc, char **argv)
{
    int n_rest;
    int done = cf_cli_options(cli, NULL, argc, argv, &n_rest);
    if (done >= 0) {
        return done;
    }
    if (n_rest > 0) {
        return cf_cli_usage(cli, "takes no argument");
    }
    cf_about about;
    cf_about_get(&about);
    cf_buf out = CF_BUF_INIT;
    if (cli->is_json) {
        cf_buf_adds(&out, "{\"version\":");
        cf_json_write_str(&out, cf_str_from(about.version));
        cf_buf_adds(&out, ",\"kernel_set\":");
        cf_json_write_str(&out, cf_str_from(about.kernel_set));
        cf_buf_addf(&out, ",\"cpus\":%u,\"compiler\":", about.n_cpus);
        cf_json_write_str(&out, cf_str_from(about.compiler));
        cf_buf_adds(&out, ",\"libraries\":{");
    } else {
        cf_buf_addf(&out, "confab %s\n%-12s %s\n%-12s %u\n%-12s %s\n",
                    about.version, "kernels", about.kernel_set, "processors",
                    about.n_cpus, "compiler", about.compiler);
    }
    for (size_t i = 0; i < about.n_library; i++) {
        const cf_about_library *lib = &about.library[i];
        if (cli->is_json) {
            cf_buf_adds(&out, i == 0 ? "" : ",");
            cf_json_write_str(&out, cf_str_from(lib->name));
            cf_buf_addc(&out, ':');
            cf_json_write_str(&out, cf_str_from(lib->version));
        } else {
            cf_buf_addf(&out, "%-12s %s\n", lib->name, lib->version);
        }
    }
    cf_buf_adds(&out, cli->is_json ? "}}\n" : "");
    int status = cf_cli_print(cli, &out);
    cf_buf_deinit(&out);
    return status;
}
