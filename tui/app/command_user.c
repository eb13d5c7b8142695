/*
 * command_user.c - placeholders filled in, and the command run.
 */
#include "tui/app/command_user.h"

#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "core/base/alloc.h"
#include "core/base/os.h"
#include "tui/lab/prompt/lab_prompt.h"
#include "tui/lab/state/lab_task.h"
#include "tui/lab/talk/lab_conversation.h"
#include "tui/lab/talk/lab_template.h"
#include "tui/sys/child.h"

enum { OUTPUT_MAX = 4 << 20 };

typedef struct placeholder {
    const char *name;
    const char *suffix; /* of its file; NULL: a word */
    const char *help;
} placeholder;

static const placeholder placeholders[] = {
    {"conversation", NULL, "id of the conversation"},
    {"uuid", NULL, "id of the turn"},
    {"template", NULL, "name of the template"},
    {"tool", NULL, "name of the called tool"},
    {"database", NULL, "path of the history"},
    {"turn", ".md", "file with what the turn says"},
    {"raw", ".txt", "file with the bytes of the reply"},
    {"prompt", ".txt", "file with the rendered prompt"},
    {"text", ".txt", "file with what :w writes"},
    {"result", ".json", "file with a tool's result"},
    {"arguments", ".json", "file with a call's arguments"},
    {"register", ".txt", "file with what was copied last"},
};
enum { N_PLACEHOLDERS = sizeof placeholders / sizeof placeholders[0] };

/* A command that runs. */
typedef struct running {
    cf_app *app;
    char folder[CF_CHILD_PATH]; /* of its files; "": none yet */
    char typed[256];            /* as shown to the user */
    cf_buf command;             /* for the shell */
    cf_buf output;
    bool is_cut;
    int status;
} running;

bool cf_is_user_command(const char *line)
{
    return line[0] == '!' || line[0] == '@';
}

/* ---- values ------------------------------------------------------------- */

/* The turn under the cursor where the view has one, else the last. */
static const cf_turn *turn_of(cf_app *app)
{
    size_t n;
    const cf_turn *const *path = cf_lab_path(app->lab, &n);
    return n != 0 ? path[n - 1] : NULL;
}

bool cf_user_turn_value(cf_app *app, const cf_turn *t, const char *name, cf_buf *out)
{
    const cf_reply *r = NULL;
    if (t == NULL) {
        return false;
    }
    if (strcmp(name, "uuid") == 0) {
        char id[CF_UUID_TEXT + 1];
        cf_uuid_format(id, t->id);
        cf_buf_adds(out, id);
        return true;
    }
    if (strcmp(name, "turn") == 0) {
        cf_lab_message_text(out, t->message);
        return true;
    }
    if (strcmp(name, "raw") == 0) {
        r = cf_lab_reply(app->lab, t->id);
    }
    if (r != NULL) {
        cf_buf_add(out, cf_buf_cstr(&r->raw), r->raw.n);
    }
    return r != NULL;
}

/* The values that are the same in every view. */
static bool common_value(cf_app *app, const char *name, cf_buf *out)
{
    const cf_view_ops *view = cf_views[cf_app_view(app)];
    if (strcmp(name, "conversation") == 0) {
        char id[CF_UUID_TEXT + 1];
        cf_uuid_format(id, cf_lab_conv_id(app->lab));
        cf_buf_adds(out, id);
        return true;
    }
    if (strcmp(name, "template") == 0) {
        cf_buf_adds(out, cf_lab_template_name(app->lab));
        return true;
    }
    if (strcmp(name, "database") == 0) {
        cf_buf_adds(out, app->store != NULL ? cf_store_path(app->store) : "");
        return app->store != NULL;
    }
    if (strcmp(name, "prompt") == 0) {
        const cf_prompt_model *p = cf_lab_prompt(app->lab);
        if (p != NULL) {
            cf_buf_add(out, p->prompt.text.p, p->prompt.text.n);
        }
        return p != NULL;
    }
    if (strcmp(name, "text") == 0) {
        return view->text != NULL && view->text(app, out);
    }
    if (strcmp(name, "register") == 0) {
        cf_buf_add(out, cf_buf_cstr(&app->copied), app->copied.n);
        return true;
    }
    bool is_of_turn =
        strcmp(name, "uuid") == 0 || strcmp(name, "turn") == 0 || strcmp(name, "raw") == 0;
    return is_of_turn && cf_user_turn_value(app, turn_of(app), name, out);
}

/* 'text', for the shell. */
static void add_quoted(cf_buf *out, const cf_buf *text)
{
    cf_buf_addc(out, '\'');
    for (size_t i = 0; i < text->n; i++) {
        if (text->p[i] == '\'') {
            cf_buf_adds(out, "'\\''");
        } else if (text->p[i] != '\0') {
            cf_buf_addc(out, text->p[i]);
        }
    }
    cf_buf_addc(out, '\'');
}

static cf_status put_in_file(running *r, const placeholder *p, cf_buf *value, cf_error *err)
{
    char path[CF_CHILD_PATH + 40];
    if (r->folder[0] == '\0') {
        CF_TRY(cf_child_folder(r->folder, err));
    }
    snprintf(path, sizeof path, "%s/%s%s", r->folder, p->name, p->suffix);
    CF_TRY(cf_os_write_file(path, cf_buf_cstr(value), value->n, 0600, err));
    cf_buf_reset(value);
    cf_buf_adds(value, path);
    return cf_buf_check(value, err);
}

static cf_status add_value(running *r, const placeholder *p, cf_error *err)
{
    const cf_view_ops *view = cf_views[cf_app_view(r->app)];
    cf_buf value = CF_BUF_INIT;
    bool is_known = view->value != NULL && view->value(r->app, p->name, &value);
    if (!is_known) {
        cf_buf_reset(&value);
        is_known = common_value(r->app, p->name, &value);
    }
    cf_status st = is_known ? cf_buf_check(&value, err)
                            : cf_fail(err, CF_EINVAL, "there is no %%(%s) here", p->name);
    if (st == CF_OK && p->suffix != NULL) {
        st = put_in_file(r, p, &value, err);
    }
    if (st == CF_OK) {
        add_quoted(&r->command, &value);
    }
    cf_buf_deinit(&value);
    return st;
}

static const placeholder *find_placeholder(const char *name, size_t n)
{
    for (size_t i = 0; i < N_PLACEHOLDERS; i++) {
        if (strlen(placeholders[i].name) == n && memcmp(placeholders[i].name, name, n) == 0) {
            return &placeholders[i];
        }
    }
    return NULL;
}

/* `line` with its placeholders filled in, into r->command. */
static cf_status fill_in(running *r, const char *line, cf_error *err)
{
    for (const char *p = line; *p != '\0';) {
        size_t n = strcspn(p, "%");
        cf_buf_add(&r->command, p, n);
        p += n;
        if (p[0] == '%' && p[1] == '(') {
            size_t len = strcspn(p + 2, ")");
            const placeholder *what = find_placeholder(p + 2, len);
            if (what == NULL || p[2 + len] != ')') {
                return cf_fail(err, CF_EINVAL, "no placeholder '%%(%.*s)'; ? lists them",
                               (int)(len < 40 ? len : 40), p + 2);
            }
            CF_TRY(add_value(r, what, err));
            p += len + 3;
        } else if (p[0] == '%') {
            cf_buf_addc(&r->command, '%');
            p += p[1] == '%' ? 2 : 1;
        }
    }
    return cf_buf_check(&r->command, err);
}

/* ---- running ------------------------------------------------------------ */

static void free_running(running *r)
{
    if (r == NULL) {
        return;
    }
    cf_child_remove_folder(r->folder);
    cf_buf_deinit(&r->command);
    cf_buf_deinit(&r->output);
    cf_free(r);
}

/* "; it ended with status 3", or nothing. */
static void describe_status(char out[64], int status)
{
    out[0] = '\0';
    if (WIFSIGNALED(status)) {
        snprintf(out, 64, "ended by signal %d", WTERMSIG(status));
    } else if (WIFEXITED(status) && WEXITSTATUS(status) != 0) {
        snprintf(out, 64, "ended with status %d", WEXITSTATUS(status));
    }
}

static cf_status run_in_background(void *ud, cf_runner *runner, cf_error *err)
{
    running *r = ud;
    return cf_child_output(cf_buf_cstr(&r->command), OUTPUT_MAX, cf_runner_cancel_flag(runner),
                           &r->output, &r->is_cut, &r->status, err);
}

static void end_background(void *ud, cf_status status, const cf_error *err)
{
    running *r = ud;
    cf_app *app = r->app;
    char how[64];
    (void)err; /* the workbench reports it */
    if (status == CF_OK || status == CF_ECANCELLED) {
        describe_status(how, r->status);
        cf_buf_restart(&app->output);
        cf_buf_addf(&app->output, "# @%s\n", r->typed);
        cf_buf_add(&app->output, cf_buf_cstr(&r->output), r->output.n);
        if (r->output.n == 0) {
            cf_buf_adds(&app->output, "(it wrote nothing)\n");
        }
        if (r->is_cut) {
            cf_buf_adds(&app->output, "\n# cut: it wrote more\n");
        }
        if (status == CF_ECANCELLED) {
            cf_buf_adds(&app->output, "\n# stopped\n");
        } else if (how[0] != '\0') {
            cf_buf_addf(&app->output, "\n# %s\n", how);
        }
        cf_app_open_view(app, CF_VIEW_OUTPUT);
    }
    free_running(r);
}

static cf_status start_background(running *r, cf_error *err)
{
    const cf_task task = {
        .name = "running a command", .run = run_in_background, .end = end_background, .ud = r};
    return cf_lab_start_task(r->app->lab, &task, err);
}

static cf_status run_in_front(running *r, cf_error *err)
{
    char how[64];
    CF_TRY(cf_app_run_on_terminal(r->app, cf_buf_cstr(&r->command), NULL, true, &r->status, err));
    describe_status(how, r->status);
    cf_app_say(r->app, how[0] != '\0' ? CF_STYLE_WARNING : CF_STYLE_DIM, "%s", how);
    return CF_OK;
}

void cf_run_user_command(cf_app *app, const char *line)
{
    cf_error err;
    bool is_background = line[0] == '@';
    line += 1 + strspn(line + 1, " ");
    if (line[0] == '\0') {
        return;
    }
    running *r = cf_calloc(1, sizeof *r);
    cf_status st = r != NULL ? cf_app_may(app, &err) : cf_oom(&err);
    if (st == CF_OK) {
        r->app = app;
        snprintf(r->typed, sizeof r->typed, "%s", line);
        st = fill_in(r, line, &err);
    }
    CF_THEN(st, is_background ? start_background(r, &err) : run_in_front(r, &err));
    if (st != CF_OK) {
        cf_app_error(app, &err);
    }
    if (st != CF_OK || !is_background) {
        free_running(r);
    }
}

void cf_user_command_help(const cf_app *app, cf_view_id view, cf_buf *out)
{
    cf_buf_adds(out, "\n# Your own commands (bind VIEW KEYS !COMMAND in confabrc)\n"
                     "  !COMMAND   the shell runs it on the terminal\n"
                     "  @COMMAND   the shell runs it in the background; its output "
                     "is shown\n");
    for (size_t i = 0; i < N_PLACEHOLDERS; i++) {
        cf_buf_addf(out, "  %%(%s)%*s %s\n", placeholders[i].name,
                    (int)(13 - strlen(placeholders[i].name)), "", placeholders[i].help);
    }
    for (size_t i = 0; i < app->keymap.n; i++) {
        const cf_binding *b = &app->keymap.v[i];
        if (!b->is_user || !(b->views & CF_IN(view))) {
            continue;
        }
        cf_buf keys = CF_BUF_INIT;
        const char *name = b->row != NULL ? b->row->name : "";
        cf_binding_keys(b, &keys);
        cf_buf_addf(out, "  %-10s %s%s%s\n", cf_buf_cstr(&keys), name,
                    name[0] != '\0' && b->arg[0] != '\0' ? " " : "", b->arg);
        cf_buf_deinit(&keys);
    }
}
