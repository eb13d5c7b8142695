/*
 * cmd_model.c - confab model: shows what a model file holds, and what it needs.
 *
 * A file whose weights cannot be used is still described as far as its
 * metadata goes; the reason is shown, and the exit status is that of a bad
 * file.  Everything that comes from the file is escaped.
 */
#include <inttypes.h>
#include <string.h>

#include "core/api/media.h"
#include "core/base/alloc.h"
#include "core/base/os.h"
#include "core/base/safe_text.h"
#include "templates/model_beside.h"
#include "templates/template_catalogue.h"
#include "tui/cli/answers/facts.h"
#include "tui/cli/inspect/model_fit.h"
#include "tui/cli/shell/cli.h"
#include "tui/sys/out.h"

typedef struct model_view {
    cf_cli *cli;
    cf_engine_info info;
    char hash[65];
    uint32_t activations;
    const cf_tokenizer *tok;
    cf_plan plan;
    cf_status plan_status;
    cf_error plan_error;
    cf_model_fit fit; /* where plan_status is CF_OK */
    bool wants_tensors;
    cf_besides beside;
    cf_media_encoder encoder[CF_MEDIA_ENCODERS_MAX]; /* of its projector */
    size_t n_encoder;
    cf_buf note, go; /* on its template; Ollama's own one */
} model_view;

static const char template_key[] = "tokenizer.chat_template";

/* Whether a metadata key names a chat template; its name, "" for the main
 * one. */
static bool is_template_key(cf_str key, cf_str *name)
{
    cf_str prefix = cf_str_from(template_key);
    if (!cf_str_starts(key, prefix)) {
        return false;
    }
    *name = cf_str_make(key.p + prefix.n, key.n - prefix.n);
    if (name->n > 0 && name->p[0] == '.') {
        *name = cf_str_make(name->p + 1, name->n - 1);
        return true;
    }
    return name->n == 0;
}

/* The next chat template at or after metadata entry *at, which moves on;
 * false when there is none. */
static bool next_template(model_view *v, size_t *at, cf_str *name, cf_str *text)
{
    cf_buf value = CF_BUF_INIT;
    cf_str key;
    const char *type;
    bool found = false;
    while (!found && cf_engine_meta(v->cli->opened.engine, *at, &key, &type, &value)) {
        *at += 1;
        cf_buf_reset(&value);
        found = is_template_key(key, name);
    }
    cf_buf_deinit(&value);
    if (!found) {
        return false;
    }
    char *copy = cf_strndup(name->n > 0 ? name->p : "", name->n);
    v->cli->out.failed = v->cli->out.failed || copy == NULL;
    *text = copy == NULL
                ? cf_str_make(NULL, 0)
                : cf_engine_chat_template(v->cli->opened.engine, name->n > 0 ? copy : NULL);
    cf_free(copy);
    return true;
}

/* ---- what is said of a model -------------------------------------------- */

#define INFO(name, kind)                                       \
    {                                                          \
#name, CF_FACT_##kind, offsetof(model_view, info.name) \
    }
static const cf_fact model_facts[] = {
    INFO(path, TEXT),
    {"hash", CF_FACT_CHARS, offsetof(model_view, hash)},
    INFO(arch, TEXT),
    INFO(name, TEXT),
    INFO(file_type, TEXT),
    INFO(kernel_set, TEXT),
    {"activations", CF_FACT_U32, offsetof(model_view, activations)},
    INFO(has_weights, BOOL),
    INFO(file_bytes, BYTES),
    INFO(weight_bytes, BYTES),
    INFO(step_bytes, BYTES),
    INFO(n_param, U64),
    INFO(n_layer, U32),
    INFO(n_embd, U32),
    INFO(n_ff, U32),
    INFO(n_head, U32),
    INFO(n_head_kv, U32),
    INFO(head_size, U32),
    INFO(n_recurrent, U32),
    INFO(n_expert, U32),
    INFO(n_expert_used, U32),
    INFO(n_vocab, U32),
    INFO(n_ctx_train, U32),
    INFO(n_threads, U32),
    {NULL, CF_FACT_TEXT, 0},
};

/* The lines of text, each with the fact without which it is left out. */
static const struct {
    const char *label, *form, *needs;
} model_lines[] = {
    {"name", "{name}", NULL},
    {"architecture", "{arch}", NULL},
    {"file size", "{file_bytes} ({file_bytes:d} bytes)", NULL},
    {"weights", "{weight_bytes}, mostly {file_type}, {n_param:M} parameters", "has_weights"},
    {"layers", "{n_layer} of width {n_embd}, feed-forward {n_ff}", "n_ff"},
    {"heads", "{n_head} of {head_size}, {n_head_kv} for keys and values", "n_head"},
    {"recurrent", "{n_recurrent} layers with a state in place of keys", "n_recurrent"},
    {"experts", "{n_expert} in a layer, {n_expert_used} used; a token reads {step_bytes}",
     "n_expert"},
};

#define ENCODER(name, kind, member)                              \
    {                                                            \
        name, CF_FACT_##kind, offsetof(cf_media_encoder, member) \
    }
static const cf_fact encoder_facts[] = {
    ENCODER("projector", TEXT, projector),
    ENCODER("layers", U32, n_layer),
    ENCODER("width", U32, width),
    ENCODER("heads", U32, n_head),
    ENCODER("feed_forward", U32, n_ff),
    ENCODER("row_width", U32, n_out),
    ENCODER("patch", U32, patch),
    ENCODER("image_size", U32, image_size),
    ENCODER("block_rows", U32, n_most),
    ENCODER("file_bytes", BYTES, file_bytes),
    ENCODER("block_bytes", BYTES, block_bytes),
    {NULL, CF_FACT_TEXT, 0},
};

/* ---- JSON --------------------------------------------------------------- */

static void json_token(cf_jw *w, const char *key, cf_token id)
{
    if (id != CF_TOKEN_NONE) {
        cf_jw_int(w, key, id);
    }
}

static void json_tokenizer(const model_view *v, cf_jw *w)
{
    cf_special_tokens s = cf_tokenizer_special(v->tok);
    cf_jw_object(w, "tokenizer");
    cf_jw_text(w, "model", cf_tokenizer_model(v->tok));
    cf_jw_text(w, "pre", cf_tokenizer_pre(v->tok));
    cf_jw_uint(w, "n_vocab", cf_tokenizer_n_vocab(v->tok));
    json_token(w, "bos", s.bos);
    json_token(w, "eos", s.eos);
    json_token(w, "eot", s.eot);
    json_token(w, "unk", s.unk);
    json_token(w, "pad", s.pad);
    json_token(w, "sep", s.sep);
    cf_jw_bool(w, "add_bos", s.add_bos);
    cf_jw_bool(w, "add_eos", s.add_eos);
    cf_jw_array(w, "end");
    for (size_t i = 0; i < cf_tokenizer_n_vocab(v->tok); i++) {
        if (cf_tokenizer_is_end(v->tok, (cf_token)i)) {
            cf_jw_uint(w, NULL, i);
        }
    }
    cf_jw_end(w);
    cf_jw_end(w);
}

static void json_lists(const model_view *v, cf_jw *w)
{
    cf_buf value = CF_BUF_INIT;
    cf_str key;
    const char *type;
    cf_tensor_info t;
    cf_jw_array(w, "metadata");
    for (size_t i = 0; cf_engine_meta(v->cli->opened.engine, i, &key, &type, &value); i++) {
        cf_jw_object(w, NULL);
        cf_jw_str(w, "key", key);
        cf_jw_text(w, "type", type);
        cf_jw_buf(w, "value", &value);
        cf_jw_end(w);
        cf_buf_reset(&value);
    }
    cf_buf_deinit(&value);
    cf_jw_end(w);
    cf_jw_array(w, "tensors");
    for (size_t i = 0; cf_engine_tensor(v->cli->opened.engine, i, &t); i++) {
        cf_jw_object(w, NULL);
        cf_jw_str(w, "name", t.name);
        cf_jw_text(w, "type", t.type);
        cf_jw_array(w, "shape");
        for (uint32_t d = t.n_dim; d-- > 0;) { /* slowest first */
            cf_jw_uint(w, NULL, t.dim[d]);
        }
        cf_jw_end(w);
        cf_jw_uint(w, "bytes", t.bytes);
        cf_jw_uint(w, "offset", t.file_off);
        cf_jw_end(w);
    }
    cf_jw_end(w);
}

static void json_plan(const model_view *v, cf_jw *w)
{
    if (!v->info.has_weights) {
        return;
    }
    cf_jw_object(w, "plan");
    if (v->plan_status != CF_OK) {
        cf_jw_text(w, "error", v->plan_error.text);
        cf_jw_end(w);
        return;
    }
    cf_jw_uint(w, "context", v->fit.n_ctx);
    cf_jw_uint(w, "total_bytes", v->fit.bytes);
    cf_jw_uint(w, "available_bytes", v->fit.available);
    cf_jw_uint(w, "largest_context", v->fit.largest_ctx);
    cf_jw_uint(w, "session_bytes", v->plan.session_bytes);
    cf_jw_uint(w, "shared_bytes", v->plan.shared_bytes);
    cf_jw_uint(w, "mapped_bytes", v->plan.mapped_bytes);
    cf_jw_array(w, "items");
    for (size_t i = 0; i < v->plan.n; i++) {
        const cf_plan_item *it = &v->plan.item[i];
        cf_jw_object(w, NULL);
        cf_jw_text(w, "name", it->name);
        cf_jw_text(w, "type", it->type);
        cf_jw_array(w, "shape");
        for (size_t d = 0; d < 4 && it->shape[d] != 0; d++) {
            cf_jw_uint(w, NULL, it->shape[d]);
        }
        cf_jw_end(w);
        cf_jw_uint(w, "bytes", it->bytes);
        cf_jw_bool(w, "is_mapped", it->is_mapped);
        cf_jw_end(w);
    }
    cf_jw_end(w);
    cf_jw_end(w);
}

static void json_templates(model_view *v, cf_jw *w)
{
    cf_str name, text;
    size_t at = 0;
    cf_jw_array(w, "templates");
    while (next_template(v, &at, &name, &text)) {
        cf_jw_object(w, NULL);
        cf_jw_str(w, "name", name);
        cf_jw_uint(w, "bytes", text.n);
        cf_template_known_json(w, "known", cf_template_known(text));
        cf_jw_end(w);
    }
    cf_jw_end(w);
    if (v->go.n != 0) {
        cf_jw_buf(w, "ollama_template", &v->go);
    }
    if (v->note.n != 0) {
        cf_jw_buf(w, "template_note", &v->note);
    }
    cf_jw_array(w, "beside");
    for (size_t i = 0; i < v->beside.n; i++) {
        cf_jw_object(w, NULL);
        cf_jw_text(w, "kind", cf_beside_kind_name(v->beside.v[i].kind));
        cf_jw_text(w, "path", v->beside.v[i].path);
        cf_jw_end(w);
    }
    cf_jw_end(w);
}

static void json_projector(const model_view *v, cf_jw *w)
{
    if (v->n_encoder == 0) {
        return;
    }
    cf_jw_array(w, "encoders");
    for (size_t i = 0; i < v->n_encoder; i++) {
        cf_jw_object(w, NULL);
        cf_jw_text(w, "kind", v->encoder[i].is_sound ? "audio" : "image");
        cf_facts_json(w, encoder_facts, &v->encoder[i]);
        cf_jw_end(w);
    }
    cf_jw_end(w);
}

static void put_json(model_view *v)
{
    cf_jw w;
    cf_jw_init(&w, &v->cli->out);
    cf_jw_object(&w, NULL);
    cf_facts_json(&w, model_facts, v);
    json_tokenizer(v, &w);
    json_templates(v, &w);
    json_plan(v, &w);
    json_projector(v, &w);
    json_lists(v, &w);
    cf_jw_end(&w);
    cf_buf_addc(&v->cli->out, '\n');
}

/* ---- text --------------------------------------------------------------- */

static void row(model_view *v, const char *key, const char *fmt, ...) CF_PRINTF(3, 4);

static void row(model_view *v, const char *key, const char *fmt, ...)
{
    char text[400];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    cf_buf_addf(&v->cli->out, "%-15s ", key);
    cf_safe_line(&v->cli->out, text, strlen(text));
    cf_buf_addc(&v->cli->out, '\n');
}

/* A row whose text names facts. */
static void row_of(model_view *v, const char *key, const char *form, const cf_fact *facts,
                   const void *of)
{
    cf_buf text = CF_BUF_INIT;
    cf_facts_text(&text, form, facts, of);
    row(v, key, "%s", cf_buf_cstr(&text));
    v->cli->out.failed = v->cli->out.failed || text.failed;
    cf_buf_deinit(&text);
}

static void row_size(model_view *v, const char *key, uint64_t bytes)
{
    cf_buf size = CF_BUF_INIT;
    cf_facts_size(&size, bytes);
    row(v, key, "%s", cf_buf_cstr(&size));
    cf_buf_deinit(&size);
}

/* What it is, whether it runs here, and with how many tokens. */
static void text_answer(model_view *v)
{
    cf_buf *out = &v->cli->out;
    const cf_engine_info *i = &v->info;
    const char *name = i->name[0] != '\0' ? i->name : i->path;
    cf_safe_line(out, name, strlen(name));
    cf_buf_addf(out, ": %s", i->arch[0] != '\0' ? i->arch : "no architecture");
    if (i->has_weights) {
        cf_buf_addf(out, ", %.2f million parameters, mostly %s, ", (double)i->n_param / 1e6,
                    i->file_type);
        cf_facts_size(out, i->file_bytes);
    }
    cf_buf_addc(out, '\n');
    if (!i->has_weights) {
        cf_buf_adds(out, "does not run: it has no weights that confab reads; it serves for render, "
                         "lint, diff and tokenize\n");
    } else if (v->plan_status != CF_OK) {
        cf_buf_addf(out, "does not run here: %s\n", v->plan_error.text);
    } else {
        cf_model_fit_text(out, &v->fit);
    }
    cf_buf_addc(out, '\n');
}

static void text_info(model_view *v)
{
    const cf_engine_info *i = &v->info;
    row(v, "file", "%.300s", i->path[0] != '\0' ? i->path : "in the program (bundled)");
    for (size_t k = 0; k < sizeof model_lines / sizeof model_lines[0]; k++) {
        const char *needs = model_lines[k].needs;
        if (needs == NULL || (i->has_weights && cf_facts_has(model_facts, v, needs))) {
            row_of(v, model_lines[k].label, model_lines[k].form, model_facts, v);
        } else if (strcmp(needs, "has_weights") == 0 &&
                   strcmp(model_lines[k].label, "weights") == 0) {
            row(v, "weights", "not read: vocabulary and metadata only");
        }
    }
    row(v, "trained for", "%u tokens", i->n_ctx_train);
    row(v, "hash", "%s", v->hash);
}

static void text_special(model_view *v, const char *key, cf_token id)
{
    if (id != CF_TOKEN_NONE) {
        cf_str piece = cf_tokenizer_raw_piece(v->tok, id);
        row(v, key, "%d %.*s", (int)id, piece.n > 80 ? 80 : (int)piece.n, piece.p);
    }
}

static void text_tokenizer(model_view *v)
{
    cf_special_tokens s = cf_tokenizer_special(v->tok);
    const char *pre = cf_tokenizer_pre(v->tok);
    cf_buf_adds(&v->cli->out, "\ntokenizer\n");
    row(v, "  kind", "%.60s%s%.60s, %zu tokens", cf_tokenizer_model(v->tok),
        pre[0] != '\0' ? ", split as " : "", pre, cf_tokenizer_n_vocab(v->tok));
    text_special(v, "  bos", s.bos);
    text_special(v, "  eos", s.eos);
    text_special(v, "  eot", s.eot);
    text_special(v, "  unk", s.unk);
    text_special(v, "  pad", s.pad);
    row(v, "  adds", "%s%s%s", s.add_bos ? "BOS in front" : "nothing in front",
        s.add_eos ? ", EOS after" : "", "");
    for (size_t i = 0; i < cf_tokenizer_n_vocab(v->tok); i++) {
        if (cf_tokenizer_is_end(v->tok, (cf_token)i)) {
            text_special(v, "  ends at", (cf_token)i);
        }
    }
}

static void text_template(model_view *v, cf_str name, cf_str text)
{
    const cf_known_template *known = cf_template_known(text);
    cf_buf line = CF_BUF_INIT;
    row(v, "chat template", "%.*s%s%zu bytes", name.n > 80 ? 80 : (int)name.n,
        name.n > 0 ? name.p : "", name.n > 0 ? ", " : "", text.n);
    if (known != NULL) {
        cf_template_known_line(&line, known);
        row(v, "  known as", "%s", cf_buf_cstr(&line));
    }
    cf_buf_deinit(&line);
}

static void text_templates(model_view *v)
{
    cf_str name, text;
    size_t at = 0;
    size_t n = 0;
    for (; next_template(v, &at, &name, &text); n++) {
        text_template(v, name, text);
    }
    if (n == 0) {
        row(v, "chat template", "none");
    }
    if (v->note.n != 0) {
        row(v, "  note", "%s", cf_buf_cstr(&v->note));
    }
    for (size_t i = 0; i < v->beside.n; i++) {
        row(v, "beside", "%s %.300s", cf_beside_kind_name(v->beside.v[i].kind),
            v->beside.v[i].path);
    }
    if (v->go.n != 0) {
        cf_buf_adds(&v->cli->out, n != 0 ? "\nollama template (in Go's language; the "
                                           "GGUF's own is used)\n"
                                         : "\nollama template (in Go's language, which "
                                           "confab does not run; -t names another)\n");
        cf_safe_text(&v->cli->out, v->go.p, v->go.n);
        cf_buf_addc(&v->cli->out, '\n');
    }
}

static void text_metadata(model_view *v)
{
    cf_buf value = CF_BUF_INIT;
    cf_str key;
    const char *type;
    cf_buf_adds(&v->cli->out, "\nmetadata\n");
    for (size_t i = 0; cf_engine_meta(v->cli->opened.engine, i, &key, &type, &value); i++) {
        enum { SHOWN = 100 };
        cf_buf_adds(&v->cli->out, "  ");
        cf_safe_line(&v->cli->out, key.p, key.n);
        cf_buf_addf(&v->cli->out, " (%s) = ", type);
        size_t n = value.n > SHOWN ? SHOWN : value.n;
        while (n < value.n && n > 0 && ((unsigned char)value.p[n] & 0xC0) == 0x80) {
            n--; /* not within a character */
        }
        cf_safe_line(&v->cli->out, cf_buf_cstr(&value), n);
        if (n < value.n) {
            cf_buf_addf(&v->cli->out, " ... (%zu bytes)", value.n);
        }
        cf_buf_addc(&v->cli->out, '\n');
        cf_buf_reset(&value);
    }
    v->cli->out.failed = v->cli->out.failed || value.failed;
    cf_buf_deinit(&value);
}

enum { TYPES_MAX = 32 };

/* How many tensors and bytes of each type. */
static void text_tensor_types(model_view *v)
{
    struct {
        const char *type;
        uint64_t n, bytes;
    } types[TYPES_MAX];
    size_t n_types = 0;
    cf_tensor_info t;
    size_t n_tensors = 0;
    for (; cf_engine_tensor(v->cli->opened.engine, n_tensors, &t); n_tensors++) {
        size_t k = 0;
        while (k < n_types && strcmp(types[k].type, t.type) != 0) {
            k++;
        }
        if (k == TYPES_MAX) {
            continue;
        }
        if (k == n_types) {
            types[n_types].type = t.type;
            types[n_types].n = types[n_types].bytes = 0;
            n_types++;
        }
        types[k].n++;
        types[k].bytes += t.bytes;
    }
    cf_buf_addf(&v->cli->out, "\ntensors         %zu%s\n", n_tensors,
                v->wants_tensors || n_tensors == 0 ? "" : " (--tensors lists them)");
    for (size_t k = 0; k < n_types; k++) {
        cf_buf_addf(&v->cli->out, "  %-13s %" PRIu64 ", ", types[k].type, types[k].n);
        cf_facts_size(&v->cli->out, types[k].bytes);
        cf_buf_addc(&v->cli->out, '\n');
    }
}

static void text_tensors(model_view *v)
{
    text_tensor_types(v);
    cf_tensor_info t;
    for (size_t i = 0; v->wants_tensors && cf_engine_tensor(v->cli->opened.engine, i, &t); i++) {
        cf_buf_addf(&v->cli->out, "  %-7s [", t.type);
        for (uint32_t d = t.n_dim; d-- > 0;) { /* slowest first */
            cf_buf_addf(&v->cli->out, "%" PRIu64 "%s", t.dim[d], d == 0 ? "" : ", ");
        }
        cf_buf_adds(&v->cli->out, "] ");
        cf_safe_line(&v->cli->out, t.name.p, t.name.n);
        cf_buf_addf(&v->cli->out, " at %" PRIu64 "\n", t.file_off);
    }
}

static void text_plan(model_view *v)
{
    cf_buf *out = &v->cli->out;
    if (!v->info.has_weights) {
        return;
    }
    cf_buf_adds(&v->cli->out, "\nmemory\n");
    if (v->plan_status != CF_OK) {
        row(v, "  plan", "%s", v->plan_error.text);
        return;
    }
    for (size_t i = 0; i < v->plan.n; i++) {
        const cf_plan_item *it = &v->plan.item[i];
        cf_buf_addf(out, "  %-22s %-5s [", it->name, it->type);
        for (size_t d = 0; d < 4 && it->shape[d] != 0; d++) {
            cf_buf_addf(out, "%s%" PRIu64, d == 0 ? "" : ", ", it->shape[d]);
        }
        cf_buf_adds(out, "] ");
        cf_facts_size(out, it->bytes);
        cf_buf_adds(out, it->is_mapped ? ", mapped\n" : "\n");
    }
    row_size(v, "  a session", v->plan.session_bytes);
    row_size(v, "  the engine", v->plan.shared_bytes);
    row_size(v, "  mapped", v->plan.mapped_bytes);
}

/* The encoders of the projector that is named or lies beside the model. */
static void look_at_projector(model_view *v)
{
    cf_error err;
    cf_media *media = NULL;
    if (v->info.has_weights &&
        cf_open_media(&media, v->cli->opened.engine, &v->cli->open, &err) != CF_OK) {
        cf_note("%s", err.text);
    }
    if (media != NULL) {
        v->n_encoder = cf_media_encoders(media, v->encoder);
        cf_media_close(media);
    }
}

static void text_projector(model_view *v)
{
    for (size_t i = 0; i < v->n_encoder; i++) {
        const cf_media_encoder *e = &v->encoder[i];
        cf_buf_addf(&v->cli->out, "\nencoder of %s\n", e->is_sound ? "sounds" : "pictures");
        row_of(v, "  projector", "{projector}, rows of {row_width}", encoder_facts, e);
        row_of(v, "  layers",
               e->patch != 0 ? "{layers} of width {width}, {heads} heads, feed-forward "
                               "{feed_forward}, patches of {patch} pixels"
                             : "{layers} of width {width}, {heads} heads, feed-forward "
                               "{feed_forward}",
               encoder_facts, e);
        row_of(v, "  weights", "{file_bytes}, mapped", encoder_facts, e);
        row_of(v, "  a block",
               e->is_sound ? "{block_rows} rows at most, {block_bytes} while it is encoded"
                           : "{block_rows} patches at most, {block_bytes} while it is encoded",
               encoder_facts, e);
    }
}

/* ---- the command -------------------------------------------------------- */

/* The files beside the model; those that cannot be read are left out. */
static void look_beside(model_view *v)
{
    enum { GO_MAX = 1 << 20 };
    cf_error err;
    const char *name = v->cli->open.model;
    if (name == NULL || v->info.path[0] == '\0') {
        return;
    }
    v->cli->out.failed = v->cli->out.failed || cf_model_beside(&v->beside, name, v->info.path,
                                                               v->info.arch, &err) != CF_OK;
    const char *go = cf_besides_find(&v->beside, CF_BESIDE_GO_TEMPLATE);
    if (go != NULL && cf_os_read_file(&v->go, go, GO_MAX, &err) != CF_OK) {
        cf_buf_restart(&v->go);
    }
    cf_model_template_note(&v->note, v->cli->opened.engine, name);
}

static int print(model_view *v)
{
    v->info = cf_engine_get_info(v->cli->opened.engine);
    v->tok = cf_engine_tokenizer(v->cli->opened.engine);
    v->activations = cf_arithmetic_bits(v->info.arithmetic);
    cf_engine_hash(v->cli->opened.engine, v->hash);
    look_beside(v);
    if (v->info.has_weights) {
        v->plan_status = cf_engine_plan(v->cli->opened.engine, v->cli->open.n_ctx, CF_CACHE_DEFAULT,
                                        &v->plan, &v->plan_error);
        CF_THEN(v->plan_status,
                cf_model_fit_find(&v->fit, v->cli->opened.engine, v->cli->open.n_ctx,
                                  CF_CACHE_DEFAULT, cf_os_memory_available(), &v->plan_error));
    }
    look_at_projector(v);
    if (v->cli->is_json) {
        put_json(v);
    } else {
        text_answer(v);
        text_info(v);
        text_templates(v);
        text_tokenizer(v);
        text_plan(v);
        text_projector(v);
        text_metadata(v);
        text_tensors(v);
    }
    return cf_cli_print(v->cli, &v->cli->out);
}

static const cf_opt_row options[] = {
    {"--tensors", 0, CF_OPT_FLAG, offsetof(model_view, wants_tensors), NULL,
     "list every tensor (--json always does)", 0},
    CF_OPT_ROWS_END,
};

static int run_model(cf_cli *cli, void *state)
{
    model_view *v = state;
    v->cli = cli;
    if (cli->n_args > 1 || (cli->n_args == 1 && cli->open.model != NULL)) {
        return cf_cli_usage(cli, "takes one FILE");
    }
    if (cli->n_args == 1) {
        cli->open.model = cli->args[0];
    }
    cf_error err, why;
    cf_status weights = cf_open_engine(&v->cli->opened.engine, &cli->open, false, &why);
    if (weights == CF_EFORMAT || weights == CF_EUNSUPPORTED || weights == CF_ENOTFOUND) {
        if (cf_open_engine(&v->cli->opened.engine, &cli->open, true, &err) != CF_OK) {
            return cf_cli_fail(cli, &why);
        }
    } else if (weights != CF_OK) {
        return cf_cli_fail(cli, &why);
    }
    int status = print(v);
    cf_tensor_info first;
    if (weights != CF_OK && status == CF_EXIT_OK &&
        cf_engine_tensor(v->cli->opened.engine, 0, &first)) {
        status = cf_cli_fail(cli, &why); /* the file has weights that cannot be used */
    }
    if (status == CF_EXIT_OK && cf_engine_check_weights(v->cli->opened.engine, &why) != CF_OK) {
        status = cf_cli_fail(cli, &why);
    }
    cf_buf_deinit(&v->go);
    cf_buf_deinit(&v->note);
    cf_besides_deinit(&v->beside);
    return status;
}

const cf_cli_command cf_cmd_model = {
    .name = "model",
    .arguments = "[FILE]",
    .summary = "describe a model file and the memory it needs",
    .options = options,
    .state_bytes = sizeof(model_view),
    .n_max = CF_ARGS_ANY,
    .run = run_model,
};
