/*
 * completion_text.c - writes commands, options and values in the language of
 * each shell.
 *
 * The name of a value in the option tables says what completes it: "a|b" are
 * words, a part with FILE or a file name's ending is a file, MODEL one of
 * `confab models` or a file, UUID a saved conversation, a name of `lists` one of
 * that list; anything else is typed by hand.
 */
#include "tui/cli/shell/completion_text.h"

#include <ctype.h>
#include <string.h>

#include "core/api/about.h"
#include "core/api/tool.h"
#include "storage/exchange.h"
#include "templates/builtin.h"
#include "tui/cli/shell/cli.h"

enum { WORDS_MAX = 256 };

/* ---- lists of names ------------------------------------------------------- */

static void put_commands(FILE *to)
{
    for (const cf_cli_command *const *c = cf_cli_commands; *c != NULL; c++) {
        fprintf(to, "%s ", (*c)->name);
    }
}

static void put_templates(FILE *to)
{
    const char *name;
    for (size_t i = 0; (name = cf_template_builtin_name(i)) != NULL; i++) {
        fprintf(to, "%s ", name);
    }
}

static void put_families(FILE *to)
{
    for (int i = 0; i < CF_TOOL_FAMILY_N; i++) {
        fprintf(to, "%s ", cf_tool_family_name((cf_tool_family)i));
    }
}

static void put_kernels(FILE *to)
{
    cf_about about;
    cf_about_get(&about);
    for (size_t i = 0; i < about.n_kernel; i++) {
        fprintf(to, "%s ", about.kernel[i].name);
    }
}

static void put_formats(FILE *to)
{
    for (int i = 0; i < CF_FORMAT_COUNT; i++) {
        fprintf(to, "%s ", cf_format_name((cf_format)i));
    }
}

/* What completes a value whose name has `part`; `name` is used in the scripts. */
static const struct {
    const char *part, *name;
    void (*put)(FILE *to);
} lists[] = {
    {"COMMAND", "command", put_commands}, {"TEMPLATE", "template", put_templates},
    {"FAMILY", "family", put_families},   {"SET", "kernels", put_kernels},
    {"FORMAT", "format", put_formats},
};

enum { N_LISTS = sizeof lists / sizeof lists[0] };

/* ---- values --------------------------------------------------------------- */

/* The completions of a value or an argument. */
typedef struct values {
    bool has_file, has_model, has_uuid;
    bool has_list[N_LISTS];
    char words[WORDS_MAX]; /* separated and ended by blanks */
} values;

static void add_word(values *v, const char *word, size_t n)
{
    size_t used = strlen(v->words);
    if (used + n + 2 < sizeof v->words) {
        memcpy(v->words + used, word, n);
        memcpy(v->words + used + n, " ", 2);
    }
}

static bool has(const char *text, size_t n, const char *part)
{
    size_t len = strlen(part);
    for (size_t i = 0; i + len <= n; i++) {
        if (memcmp(text + i, part, len) == 0) {
            return true;
        }
    }
    return false;
}

static bool is_word(const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        bool is_inner = i > 0 && (text[i] == '-' || isdigit((unsigned char)text[i]));
        if (!islower((unsigned char)text[i]) && !is_inner) {
            return false;
        }
    }
    return n != 0;
}

/* One alternative of a value's name. */
static void add_value(values *v, const char *text, size_t n)
{
    bool is_known = false;
    for (size_t i = 0; i < N_LISTS; i++) {
        bool is_it = has(text, n, lists[i].part);
        v->has_list[i] = v->has_list[i] || is_it;
        is_known = is_known || is_it;
    }
    if (has(text, n, "UUID")) {
        v->has_uuid = true;
    } else if (has(text, n, "FILE") || has(text, n, "MODEL") || has(text, n, "TEMPLATE") ||
               has(text, n, ".json")) {
        v->has_file = true;
        if (has(text, n, "MODEL")) {
            add_word(v, "bundled", 7);
            v->has_model = true;
        }
    } else if (has(text, n, "WHEN")) {
        add_word(v, "always never auto", 17);
    } else if (!is_known && is_word(text, n)) {
        add_word(v, text, n);
    }
}

/* Reads the name of a value, or the arguments of a command. */
static values read_values(const char *text)
{
    static const char between[] = "|[] ";
    values v = {0};
    while (text != NULL && *text != '\0') {
        text += strspn(text, between);
        size_t n = strcspn(text, between);
        add_value(&v, text, n);
        text += n;
    }
    return v;
}

static bool has_any_list(const values *v)
{
    bool any = v->has_uuid || v->has_model;
    for (size_t i = 0; i < N_LISTS; i++) {
        any = any || v->has_list[i];
    }
    return any;
}

static bool is_empty(const values *v)
{
    return !v->has_file && !has_any_list(v) && v->words[0] == '\0';
}

/* The arguments of _confab_reply in the scripts: words, and these for the
 * rest. */
static void put_values(FILE *to, const values *v)
{
    fprintf(to, "%s%s%s", v->has_file ? "@file " : "", v->has_model ? "@model " : "",
            v->has_uuid ? "@uuid " : "");
    for (size_t i = 0; i < N_LISTS; i++) {
        if (v->has_list[i]) {
            fprintf(to, "@%s ", lists[i].name);
        }
    }
    fputs(v->words, to);
}

/* ---- bash --------------------------------------------------------------- */

static void bash_values(FILE *to, const cf_cli_command *c, const cf_opt *table)
{
    for (const cf_opt *o = table; o != NULL && o->name != NULL; o++) {
        values v = read_values(o->value);
        if (o->value == NULL) {
            continue;
        }
        fprintf(to, "    '%s %s'", c->name, o->name);
        if (o->letter != 0) {
            fprintf(to, " | '%s -%c'", c->name, o->letter);
        }
        fputs(") _confab_reply ", to);
        put_values(to, &v);
        fputs(";;\n", to);
    }
}

static void bash_command_values(void *ud, const cf_cli_command *c, const cf_opt *own,
                                const cf_opt *common)
{
    FILE *to = ud;
    bash_values(to, c, own);
    bash_values(to, c, common);
}

static void bash_options(FILE *to, const cf_opt *table)
{
    for (const cf_opt *o = table; o != NULL && o->name != NULL; o++) {
        fprintf(to, "%s ", o->name);
    }
}

static void bash_command(void *ud, const cf_cli_command *c, const cf_opt *own, const cf_opt *common)
{
    FILE *to = ud;
    values v = read_values(c->arguments);
    fprintf(to, "    %s)\n        options='", c->name);
    bash_options(to, own);
    bash_options(to, common);
    fputs("'\n        arguments='", to);
    put_values(to, &v);
    fputs("';;\n", to);
}

/* The options with a value, as alternatives of a case. */
static void bash_with_value(FILE *to, const cf_opt *table)
{
    const char *between = "";
    for (const cf_opt *o = table; o->name != NULL; o++) {
        if (o->value != NULL) {
            fprintf(to, "%s%s", between, o->name);
            between = " | ";
        }
        if (o->value != NULL && o->letter != 0) {
            fprintf(to, " | -%c", o->letter);
        }
    }
}

static void write_bash(FILE *to)
{
    fputs("# bash completion of confab, made by: confab completion bash\n"
          "_confab_reply() {\n"
          "    local word words=()\n"
          "    for word in \"$@\"; do\n"
          "        case $word in\n"
          "        @file) compopt -o default ;;\n"
          "        @uuid) words+=($(confab history list --ids 2>/dev/null)) ;;\n"
          "        @model) words+=($(confab models --names 2>/dev/null)) ;;\n",
          to);
    for (size_t i = 0; i < N_LISTS; i++) {
        fprintf(to, "        @%s) words+=($_confab_%s) ;;\n", lists[i].name, lists[i].name);
    }
    fputs("        *) words+=(\"$word\") ;;\n"
          "        esac\n"
          "    done\n"
          "    COMPREPLY=($(compgen -W \"${words[*]}\" -- \"$cur\"))\n"
          "    # readline has taken what is before a colon for a word\n"
          "    if [[ $cur == *:* && $COMP_WORDBREAKS == *:* ]]; then\n"
          "        word=${cur%\"${cur##*:}\"}\n"
          "        COMPREPLY=(\"${COMPREPLY[@]#\"$word\"}\")\n"
          "    fi\n"
          "}\n",
          to);
    for (size_t i = 0; i < N_LISTS; i++) {
        fprintf(to, "_confab_%s='", lists[i].name);
        lists[i].put(to);
        fputs("'\n", to);
    }
    fputs("_confab() {\n"
          "    local line=() i last options arguments command at=1\n"
          "    for ((i = 0; i <= COMP_CWORD; i++)); do\n"
          "        last=$((${#line[@]} - 1))\n"
          "        if [[ $i -gt 0 && ( ${COMP_WORDS[i]} == :* || "
          "${line[last]} == *: ) ]]; then\n"
          "            line[last]+=${COMP_WORDS[i]}\n"
          "        else\n"
          "            line+=(\"${COMP_WORDS[i]}\")\n"
          "        fi\n"
          "    done\n"
          "    last=$((${#line[@]} - 1))\n"
          "    local cur=${line[last]} prev=${line[last - 1]}\n"
          "    COMPREPLY=()\n"
          "    while [[ $at -lt $last && ${line[at]} == -* ]]; do\n"
          "        case ${line[at]} in\n"
          "        ",
          to);
    cf_cli_each_common(bash_with_value, to);
    fputs(") at=$((at + 2)) ;;\n"
          "        *) at=$((at + 1)) ;;\n"
          "        esac\n"
          "    done\n"
          "    command=${line[at]:-run}\n"
          "    if [[ $last -eq $at && $cur == -* ]]; then\n"
          "        COMPREPLY=($(compgen -W '",
          to);
    cf_cli_each_common(bash_options, to);
    fputs("' -- \"$cur\"))\n"
          "        return\n"
          "    elif [ \"$last\" -eq \"$at\" ]; then\n"
          "        _confab_reply @command\n"
          "        return\n"
          "    fi\n"
          "    case \"$command $prev\" in\n",
          to);
    cf_cli_each_command(bash_command_values, to);
    fputs("    *)\n"
          "    case $command in\n",
          to);
    cf_cli_each_command(bash_command, to);
    fputs("    esac\n"
          "    case $cur in\n"
          "    -*) COMPREPLY=($(compgen -W \"$options\" -- \"$cur\")) ;;\n"
          "    *) _confab_reply $arguments ;;\n"
          "    esac ;;\n"
          "    esac\n"
          "}\n"
          "complete -F _confab confab\n",
          to);
}

/* ---- zsh ---------------------------------------------------------------- */

/* Text inside single quotes and _arguments' own syntax. */
static void zsh_text(FILE *to, const char *text)
{
    for (const char *p = text; *p != '\0'; p++) {
        if (*p == '\'') {
            fputs("'\\''", to);
            continue;
        }
        if (strchr("[]:\\", *p) != NULL) {
            fputc('\\', to);
        }
        fputc(*p, to);
    }
}

static void zsh_value(FILE *to, const char *name, const values *v)
{
    fputc(':', to);
    zsh_text(to, name);
    fputs(": ", to);
    if (!is_empty(v)) {
        fputs("_confab_reply ", to);
        put_values(to, v);
    }
}

static void zsh_options(FILE *to, const cf_opt *table)
{
    for (const cf_opt *o = table; o != NULL && o->name != NULL; o++) {
        values v = read_values(o->value);
        char names[2][64] = {"", ""};
        snprintf(names[0], sizeof names[0], "%s", o->name);
        if (o->letter != 0) {
            snprintf(names[1], sizeof names[1], "-%c", o->letter);
        }
        for (int i = 0; i < 2 && names[i][0] != '\0'; i++) {
            fprintf(to, "        '%s%s[", o->kind == CF_OPT_LIST ? "*" : "", names[i]);
            zsh_text(to, o->help);
            fputc(']', to);
            if (o->value != NULL) {
                zsh_value(to, o->value, &v);
            }
            fputs("' \\\n", to);
        }
    }
}

static void zsh_command(void *ud, const cf_cli_command *c, const cf_opt *own, const cf_opt *common)
{
    FILE *to = ud;
    values v = read_values(c->arguments);
    fprintf(to, "    %s) _arguments \\\n", c->name);
    zsh_options(to, own);
    zsh_options(to, common);
    fputs("        '*", to);
    zsh_value(to, c->arguments[0] != '\0' ? c->arguments : " ", &v);
    fputs("' ;;\n", to);
}

static void write_zsh(FILE *to)
{
    fputs("#compdef confab\n"
          "# zsh completion of confab, made by: confab completion zsh\n"
          "_confab_reply() {\n"
          "    local word words_=()\n"
          "    for word in \"$@\"; do\n"
          "        case $word in\n"
          "        @file) _files ;;\n"
          "        @uuid) words_+=(${(f)\"$(confab history list --ids "
          "2>/dev/null)\"}) ;;\n"
          "        @model) words_+=(${(f)\"$(confab models --names "
          "2>/dev/null)\"}) ;;\n",
          to);
    for (size_t i = 0; i < N_LISTS; i++) {
        fprintf(to, "        @%s) words_+=(", lists[i].name);
        lists[i].put(to);
        fputs(") ;;\n", to);
    }
    fputs("        *) words_+=($word) ;;\n"
          "        esac\n"
          "    done\n"
          "    compadd -- $words_\n"
          "}\n"
          "_confab() {\n"
          "    local commands=(\n",
          to);
    for (const cf_cli_command *const *at = cf_cli_commands; *at != NULL; at++) {
        const cf_cli_command *c = *at;
        fprintf(to, "        '%s:", c->name);
        zsh_text(to, c->summary);
        fputs("'\n", to);
    }
    fputs("    )\n"
          "    if (( CURRENT == 2 )); then\n"
          "        _describe command commands\n"
          "        return\n"
          "    fi\n"
          "    shift words\n"
          "    (( CURRENT-- ))\n"
          "    case $words[1] in\n",
          to);
    cf_cli_each_command(zsh_command, to);
    fputs("    esac\n"
          "}\n"
          "if [ \"$funcstack[1]\" = _confab ]; then\n"
          "    _confab \"$@\"\n"
          "else\n"
          "    compdef _confab confab\n"
          "fi\n",
          to);
}

/* ---- fish --------------------------------------------------------------- */

static void fish_text(FILE *to, const char *text)
{
    fputc('\'', to);
    for (const char *p = text; *p != '\0'; p++) {
        if (*p == '\'' || *p == '\\') {
            fputc('\\', to);
        }
        fputc(*p, to);
    }
    fputc('\'', to);
}

/* Whether files are offered too, and the words. */
static void fish_values(FILE *to, const values *v)
{
    fputs(v->has_file ? " -F" : " -f", to);
    if (v->words[0] == '\0' && !has_any_list(v)) {
        return;
    }
    fputs(" -a '", to);
    fputs(v->has_uuid ? "(confab history list --ids 2>/dev/null) " : "", to);
    fputs(v->has_model ? "(confab models --names 2>/dev/null) " : "", to);
    for (size_t i = 0; i < N_LISTS; i++) {
        if (v->has_list[i]) {
            fprintf(to, "(__confab_%s) ", lists[i].name);
        }
    }
    fprintf(to, "%s'", v->words);
}

static void fish_options(FILE *to, const cf_cli_command *c, const cf_opt *table)
{
    for (const cf_opt *o = table; o != NULL && o->name != NULL; o++) {
        values v = read_values(o->value);
        fprintf(to, "complete -c confab -n '__fish_seen_subcommand_from %s' -l %s", c->name,
                o->name + 2);
        if (o->letter != 0) {
            fprintf(to, " -s %c", o->letter);
        }
        if (o->value != NULL) {
            fputs(" -r", to);
            fish_values(to, &v);
        }
        fputs(" -d ", to);
        fish_text(to, o->help);
        fputc('\n', to);
    }
}

static void fish_command(void *ud, const cf_cli_command *c, const cf_opt *own, const cf_opt *common)
{
    FILE *to = ud;
    values v = read_values(c->arguments);
    fprintf(to, "complete -c confab -n __fish_use_subcommand -f -a %s -d ", c->name);
    fish_text(to, c->summary);
    fprintf(to, "\ncomplete -c confab -n '__fish_seen_subcommand_from %s'", c->name);
    fish_values(to, &v);
    fputc('\n', to);
    fish_options(to, c, own);
    fish_options(to, c, common);
}

static void write_fish(FILE *to)
{
    fputs("# fish completion of confab, made by: confab completion fish\n", to);
    for (size_t i = 0; i < N_LISTS; i++) {
        fprintf(to, "function __confab_%s\n    printf '%%s\\n' ", lists[i].name);
        lists[i].put(to);
        fputs("\nend\n", to);
    }
    cf_cli_each_command(fish_command, to);
}

bool cf_completion_write(FILE *to, const char *shell)
{
    static const struct {
        const char *name;
        void (*write)(FILE *to);
    } shells[] = {{"bash", write_bash}, {"zsh", write_zsh}, {"fish", write_fish}};
    for (size_t i = 0; i < sizeof shells / sizeof shells[0]; i++) {
        if (strcmp(shell, shells[i].name) == 0) {
            shells[i].write(to);
            return true;
        }
    }
    return false;
}
