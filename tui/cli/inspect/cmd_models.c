/*
 * cmd_models.c - confab models: lists the models on this machine.
 */
#include <string.h>

#include "core/base/os.h"
#include "core/base/safe_text.h"
#include "core/json/json_writer.h"
#include "templates/model_beside.h"
#include "templates/model_place.h"
#include "tui/cli/shell/cli.h"

/* One model of the list, as its file describes it. */
typedef struct model_row {
    const char *name, *path;
    cf_engine *engine; /* metadata only; NULL: it could not be opened */
    cf_engine_info info;
    uint64_t bytes;
    char why[CF_ERROR_TEXT_MAX];
    cf_besides beside;
    bool is_adapter; /* a repository of PEFT, not a model */
} model_row;

/* A file that cannot be read is a row that says why; CF_ENOMEM. */
static cf_status look(model_row *row, const cf_model_place *place, cf_error *err)
{
    const cf_engine_options o = {.metadata_only = true};
    *row = (model_row){.name = place->name, .path = place->path};
    row->is_adapter = cf_os_has_file(place->path, "adapter_config.json") &&
                      !cf_os_has_file(place->path, "config.json");
    cf_status st = cf_engine_open(&row->engine, place->path, &o, err);
    if (st != CF_OK) {
        row->engine = NULL;
        snprintf(row->why, sizeof row->why, "%s", err->text);
        return st == CF_ENOMEM ? st : CF_OK;
    }
    row->info = cf_engine_get_info(row->engine);
    row->bytes = row->info.file_bytes;
    return cf_model_beside(&row->beside, place->name, place->path, row->info.arch, err);
}

/* "" where there are no weights. */
static const char *quantisation(const model_row *row)
{
    return row->engine != NULL ? row->info.file_type : "";
}

static const char *template_state(const model_row *row)
{
    if (row->is_adapter) {
        return "an adapter: --lora";
    }
    if (row->engine == NULL) {
        return "unreadable";
    }
    bool plain = cf_engine_chat_template(row->engine, NULL).p != NULL;
    bool tools = cf_engine_chat_template(row->engine, "tool_use").p != NULL;
    return plain && tools ? "own, and for tools" : plain ? "own" : "none";
}

static void add_json(cf_buf *out, const model_row *row)
{
    cf_jw w;
    cf_jw_init(&w, out);
    cf_jw_object(&w, NULL);
    cf_jw_text(&w, "name", row->name);
    cf_jw_text(&w, "path", row->path);
    cf_jw_text(&w, "architecture", row->engine != NULL ? row->info.arch : "");
    cf_jw_text(&w, "quantisation", quantisation(row));
    cf_jw_uint(&w, "size", row->bytes);
    cf_jw_text(&w, "template", template_state(row));
    cf_jw_text(&w, "projector", cf_besides_find(&row->beside, CF_BESIDE_PROJECTOR));
    cf_jw_array(&w, "adapters");
    for (size_t i = 0; i < row->beside.n; i++) {
        if (row->beside.v[i].kind == CF_BESIDE_ADAPTER) {
            cf_jw_text(&w, NULL, row->beside.v[i].path);
        }
    }
    cf_jw_end(&w);
    if (row->engine == NULL && !row->is_adapter) {
        cf_jw_text(&w, "error", row->why);
    }
    cf_jw_end(&w);
    cf_buf_addc(out, '\n');
}

static void add_line(cf_buf *out, const model_row *row)
{
    if (row->engine == NULL) {
        cf_buf_addf(out, "%-40s %s\n", row->name,
                    row->is_adapter ? "an adapter: use --lora" : row->why);
        return;
    }
    cf_buf_addf(out, "%-40s %-12s %-8s %9.1f MB  %s\n", row->name,
                row->info.arch[0] != '\0' ? row->info.arch : "-",
                quantisation(row)[0] != '\0' ? quantisation(row) : "-", (double)row->bytes / 1e6,
                template_state(row));
    for (size_t i = 0; i < row->beside.n; i++) {
        const cf_beside *b = &row->beside.v[i];
        if (b->kind != CF_BESIDE_TEMPLATE) {
            cf_buf_addf(out, "  + %-16s ", cf_beside_kind_name(b->kind));
            cf_safe_line(out, b->path, strlen(b->path));
            cf_buf_addc(out, '\n');
        }
    }
}

static cf_status collect(cf_model_places *p, int n, char **folders, cf_error *err)
{
    if (n == 0) {
        return cf_model_places_list(p, err);
    }
    cf_status st = CF_OK;
    for (int i = 0; st == CF_OK && i < n; i++) {
        st = cf_model_places_add(p, folders[i], err);
    }
    return st;
}

/* Where models were looked for, and the one that is always there. */
static void none_found(cf_buf *out, const cf_cli *cli)
{
    cf_buf_adds(out, "no models found in:\n");
    for (int i = 0; i < cli->n_args; i++) {
        cf_buf_adds(out, "  ");
        cf_safe_line(out, cli->args[i], strlen(cli->args[i]));
        cf_buf_addc(out, '\n');
    }
    if (cli->n_args == 0) {
        cf_model_place_folders(out, "  ");
    }
    cf_buf_adds(out, "-m takes a .gguf file or a model folder anywhere, and \"bundled\" for the small "
                     "model inside confab\n");
}

typedef struct asked {
    bool is_names;
} asked;

static const cf_opt_row options[] = {
    {"--names", 0, CF_OPT_FLAG, offsetof(asked, is_names), NULL,
     "print only the names that -m accepts, one per line", 0},
    CF_OPT_ROWS_END,
};

static int run_models(cf_cli *cli, void *state)
{
    asked *a = state;
    cf_error err;
    cf_model_places places = {0};
    cf_buf *out = &cli->out;
    cf_status st = collect(&places, cli->n_args, cli->args, &err);
    if (st == CF_OK && !cli->is_json && !a->is_names) {
        cf_buf_addf(out, "%-40s %-12s %-8s %12s  %s\n", "name", "architecture", "weights", "size",
                    "template");
    }
    for (size_t i = 0; st == CF_OK && i < places.n; i++) {
        model_row row;
        if (a->is_names) {
            cf_safe_line(out, places.v[i].name, strlen(places.v[i].name));
            cf_buf_addc(out, '\n');
            continue;
        }
        st = look(&row, &places.v[i], &err);
        if (cli->is_json) {
            add_json(out, &row);
        } else {
            add_line(out, &row);
        }
        cf_engine_close(row.engine);
        cf_besides_deinit(&row.beside);
    }
    if (st == CF_OK && places.n == 0 && !cli->is_json && !a->is_names) {
        cf_buf_reset(out);
        none_found(out, cli);
    }
    cf_model_places_deinit(&places);
    return cf_cli_end(cli, st, &err);
}

const cf_cli_command cf_cmd_models = {
    .name = "models",
    .arguments = "[FOLDER ...]",
    .summary = "list the models on this machine, or in folders",
    .options = options,
    .state_bytes = sizeof(asked),
    .n_max = CF_ARGS_ANY,
    .run = run_models,
};
