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
#include "tui/cli/shell/cli.h"
#include "tui/sys/out.h"

typedef struct model_view {
    cf_cli *cli;
    cf_engine_info info;
    const cf_tokenizer *tok;
    cf_plan plan;
    cf_status plan_status;
    cf_error plan_error;
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

/* ---- JSON --------------------------------------------------------------- */

static void json_text(cf_buf *b, const char *key, const char *value)
{
    cf_buf_addf(b, ",\"%s\":", key);
    cf_json_write_str(b, cf_str_from(value));
}

static void json_number(cf_buf *b, const char *key, uint64_t value)
{
    cf_buf_addf(b, ",\"%s\":%" PRIu64, key, value);
}

static void json_info(model_view *v)
{
    const cf_engine_info *i = &v->info;
    cf_buf *b = &v->cli->out;
    char hash[65];
    cf_engine_hash(v->cli->opened.engine, hash);
    cf_buf_adds(b, "{\"path\":");
    cf_json_write_str(b, cf_str_from(i->path));
    json_text(b, "hash", hash);
    json_text(b, "arch", i->arch);
    json_text(b, "name", i->name);
    json_text(b, "file_type", i->file_type);
    json_text(b, "kernel_set", i->kernel_set);
    json_number(b, "activations", cf_arithmetic_bits(i->arithmetic));
    cf_buf_addf(b, ",\"has_weights\":%s", i->has_weights ? "true" : "false");
    json_number(b, "file_bytes", i->file_bytes);
    json_number(b, "weight_bytes", i->weight_bytes);
    json_number(b, "step_bytes", i->step_bytes);
    json_number(b, "n_param", i->n_param);
    json_number(b, "n_layer", i->n_layer);
    json_number(b, "n_embd", i->n_embd);
    json_number(b, "n_ff", i->n_ff);
    json_number(b, "n_head", i->n_head);
    json_number(b, "n_head_kv", i->n_head_kv);
    json_number(b, "head_size", i->head_size);
    json_number(b, "n_recurrent", i->n_recurrent);
    json_number(b, "n_expert", i->n_expert);
    json_number(b, "n_expert_used", i->n_expert_used);
    json_number(b, "n_vocab", i->n_vocab);
    json_number(b, "n_ctx_train", i->n_ctx_train);
    json_number(b, "n_threads", i->n_threads);
}

static void json_token(model_view *v, const char *key, cf_token id)
{
    if (id != CF_TOKEN_NONE) {
        cf_buf_addf(&v->cli->out, ",\"%s\":%d", key, (int)id);
    }
}

static void json_tokenizer(model_view *v)
{
    cf_special_tokens s = cf_tokenizer_special(v->tok);
    cf_buf *b = &v->cli->out;
    cf_buf_adds(b, ",\"tokenizer\":{\"model\":");
    cf_json_write_str(b, cf_str_from(cf_tokenizer_model(v->tok)));
    json_text(b, "pre", cf_tokenizer_pre(v->tok));
    json_number(b, "n_vocab", cf_tokenizer_n_vocab(v->tok));
    json_token(v, "bos", s.bos);
    json_token(v, "eos", s.eos);
    json_token(v, "eot", s.eot);
    json_token(v, "unk", s.unk);
    json_token(v, "pad", s.pad);
    json_token(v, "sep", s.sep);
    cf_buf_addf(b, ",\"add_bos\":%s,\"add_eos\":%s,\"end\":[", s.add_bos ? "true" : "false",
                s.add_eos ? "true" : "false");
    const char *comma = "";
    for (size_t i = 0; i < cf_tokenizer_n_vocab(v->tok); i++) {
        if (cf_tokenizer_is_end(v->tok, (cf_token)i)) {
            cf_buf_addf(b, "%s%zu", comma, i);
            comma = ",";
        }
    }
    cf_buf_adds(b, "]}");
}

static void json_lists(model_view *v)
{
    cf_buf *b = &v->cli->out;
    cf_buf value = CF_BUF_INIT;
    cf_str key;
    const char *type;
    cf_buf_adds(b, ",\"metadata\":[");
    for (size_t i = 0; cf_engine_meta(v->cli->opened.engine, i, &key, &type, &value); i++) {
        cf_buf_adds(b, i == 0 ? "{\"key\":" : ",{\"key\":");
        cf_json_write_str(b, key);
        json_text(b, "type", type);
        cf_buf_adds(b, ",\"value\":");
        cf_json_write_str(b, cf_buf_str(&value));
        cf_buf_addc(b, '}');
        cf_buf_reset(&value);
    }
    b->failed = b->failed || value.failed;
    cf_buf_deinit(&value);
    cf_buf_adds(b, "],\"tensors\":[");
    cf_tensor_info t;
    for (size_t i = 0; cf_engine_tensor(v->cli->opened.engine, i, &t); i++) {
        cf_buf_adds(b, i == 0 ? "{\"name\":" : ",{\"name\":");
        cf_json_write_str(b, t.name);
        json_text(b, "type", t.type);
        cf_buf_adds(b, ",\"shape\":[");
        for (uint32_t d = t.n_dim; d-- > 0;) { /* slowest first */
            cf_buf_addf(b, "%" PRIu64 "%s", t.dim[d], d == 0 ? "" : ",");
        }
        cf_buf_addf(b, "],\"bytes\":%" PRIu64 ",\"offset\":%" PRIu64 "}", t.bytes, t.file_off);
    }
    cf_buf_addc(b, ']');
}

static void json_plan(model_view *v)
{
    cf_buf *b = &v->cli->out;
    if (!v->info.has_weights) {
        return;
    }
    if (v->plan_status != CF_OK) {
        cf_buf_adds(b, ",\"plan\":{\"error\":");
        cf_json_write_str(b, cf_str_from(v->plan_error.text));
        cf_buf_addc(b, '}');
        return;
    }
    cf_buf_addf(b,
                ",\"plan\":{\"session_bytes\":%" PRIu64 ",\"shared_bytes\":%" PRIu64
                ",\"mapped_bytes\":%" PRIu64 ",\"items\":[",
                v->plan.session_bytes, v->plan.shared_bytes, v->plan.mapped_bytes);
    for (size_t i = 0; i < v->plan.n; i++) {
        const cf_plan_item *it = &v->plan.item[i];
        cf_buf_adds(b, i == 0 ? "{\"name\":" : ",{\"name\":");
        cf_json_write_str(b, cf_str_from(it->name));
        json_text(b, "type", it->type);
        cf_buf_adds(b, ",\"shape\":[");
        for (size_t d = 0; d < 4 && it->shape[d] != 0; d++) {
            cf_buf_addf(b, "%s%" PRIu64, d == 0 ? "" : ",", it->shape[d]);
        }
        cf_buf_addf(b, "],\"bytes\":%" PRIu64 ",\"is_mapped\":%s}", it->bytes,
                    it->is_mapped ? "true" : "false");
    }
    cf_buf_adds(b, "]}");
}

static void json_templates(model_view *v)
{
    cf_str name, text;
    size_t at = 0;
    cf_buf_adds(&v->cli->out, ",\"templates\":[");
    for (const char *comma = ""; next_template(v, &at, &name, &text); comma = ",") {
        cf_jw w;
        cf_buf_adds(&v->cli->out, comma);
        cf_jw_init(&w, &v->cli->out);
        cf_jw_object(&w, NULL);
        cf_jw_str(&w, "name", name);
        cf_jw_uint(&w, "bytes", text.n);
        cf_template_known_json(&w, "known", cf_template_known(text));
        cf_jw_end(&w);
    }
    cf_buf_addc(&v->cli->out, ']');
    const struct {
        const char *key;
        const cf_buf *text;
    } more[] = {{"ollama_template", &v->go}, {"template_note", &v->note}};
    for (size_t i = 0; i < 2; i++) {
        if (more[i].text->n != 0) {
            cf_buf_addf(&v->cli->out, ",\"%s\":", more[i].key);
            cf_json_write_str(&v->cli->out, cf_buf_str(more[i].text));
        }
    }
    cf_buf_adds(&v->cli->out, ",\"beside\":[");
    for (size_t i = 0; i < v->beside.n; i++) {
        cf_buf_addf(&v->cli->out, "%s{\"kind\":\"%s\",\"path\":", i == 0 ? "" : ",",
                    cf_beside_kind_name(v->beside.v[i].kind));
        cf_json_write_str(&v->cli->out, cf_str_from(v->beside.v[i].path));
        cf_buf_addc(&v->cli->out, '}');
    }
    cf_buf_addc(&v->cli->out, ']');
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

/* "1.2 GiB" */
static const char *size_text(char out[24], uint64_t bytes)
{
    static const char *const unit[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    double v = (double)bytes;
    size_t u = 0;
    while (v >= 1024 && u < 4) {
        v /= 1024;
        u++;
    }
    snprintf(out, 24, u == 0 ? "%.0f %s" : "%.1f %s", v, unit[u]);
    return out;
}

static void text_info(model_view *v)
{
    const cf_engine_info *i = &v->info;
    char size[24];
    char hash[65];
    cf_engine_hash(v->cli->opened.engine, hash);
    row(v, "file", "%.300s", i->path[0] != '\0' ? i->path : "in the program (bundled)");
    row(v, "name", "%.300s", i->name);
    row(v, "architecture", "%.100s", i->arch);
    row(v, "file size", "%s (%" PRIu64 " bytes)", size_text(size, i->file_bytes), i->file_bytes);
    if (i->has_weights) {
        row(v, "weights", "%s, mostly %s, %.2f million parameters",
            size_text(size, i->weight_bytes), i->file_type, (double)i->n_param / 1e6);
        row(v, "layers", "%u of width %u, feed-forward %u", i->n_layer, i->n_embd, i->n_ff);
        row(v, "heads", "%u of %u, %u for keys and values", i->n_head, i->head_size, i->n_head_kv);
        if (i->n_recurrent > 0) {
            row(v, "recurrent", "%u layers with a state in place of keys", i->n_recurrent);
        }
        if (i->n_expert > 0) {
            row(v, "experts", "%u in a layer, %u used; a token reads %s", i->n_expert,
                i->n_expert_used, size_text(size, i->step_bytes));
        }
    } else {
        row(v, "weights", "not read: vocabulary and metadata only");
    }
    row(v, "trained for", "%u tokens", i->n_ctx_train);
    row(v, "hash", "%s", hash);
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
        char size[24];
        cf_buf_addf(&v->cli->out, "  %-13s %" PRIu64 ", %s\n", types[k].type, types[k].n,
                    size_text(size, types[k].bytes));
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
    char size[24];
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
        char shape[100] = "";
        size_t n = 0;
        for (size_t d = 0; d < 4 && it->shape[d] != 0; d++) {
            int len = snprintf(shape + n, sizeof shape - n, "%s%" PRIu64, d == 0 ? "" : ", ",
                               it->shape[d]);
            n += len > 0 ? (size_t)len : 0;
        }
        cf_buf_addf(&v->cli->out, "  %-22s %-5s [%s] %s%s\n", it->name, it->type, shape,
                    size_text(size, it->bytes), it->is_mapped ? ", mapped" : "");
    }
    row(v, "  a session", "%s", size_text(size, v->plan.session_bytes));
    row(v, "  the engine", "%s", size_text(size, v->plan.shared_bytes));
    row(v, "  mapped", "%s", size_text(size, v->plan.mapped_bytes));
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
        char size[24], sizes[64] = "";
        if (e->patch != 0) {
            snprintf(sizes, sizeof sizes, ", patches of %u pixels", (unsigned)e->patch);
        }
        cf_buf_addf(&v->cli->out, "\nencoder of %s\n", e->is_sound ? "sounds" : "pictures");
        row(v, "  projector", "%s, rows of %u", e->projector, (unsigned)e->n_out);
        row(v, "  layers", "%u of width %u, %u heads, feed-forward %u%s", (unsigned)e->n_layer,
            (unsigned)e->width, (unsigned)e->n_head, (unsigned)e->n_ff, sizes);
        row(v, "  weights", "%s, mapped", size_text(size, e->file_bytes));
        row(v, "  a block", "%u %s at most, %s while it is encoded", (unsigned)e->n_most,
            e->is_sound ? "rows" : "patches", size_text(size, e->block_bytes));
    }
}

static void json_projector(model_view *v)
{
    cf_buf *b = &v->cli->out;
    for (size_t i = 0; i < v->n_encoder; i++) {
        const cf_media_encoder *e = &v->encoder[i];
        cf_buf_addf(b,
                    "%s{\"kind\":\"%s\",\"projector\":\"%s\",\"layers\":%u,"
                    "\"width\":%u,\"heads\":%u,\"feed_forward\":%u,"
                    "\"row_width\":%u,",
                    i == 0 ? ",\"encoders\":[" : ",", e->is_sound ? "audio" : "image", e->projector,
                    (unsigned)e->n_layer, (unsigned)e->width, (unsigned)e->n_head,
                    (unsigned)e->n_ff, (unsigned)e->n_out);
        cf_buf_addf(b,
                    "\"patch\":%u,\"image_size\":%u,\"block_rows\":%u,"
                    "\"file_bytes\":%" PRIu64 ",\"block_bytes\":%" PRIu64 "}",
                    (unsigned)e->patch, (unsigned)e->image_size, (unsigned)e->n_most, e->file_bytes,
                    e->block_bytes);
    }
    cf_buf_adds(b, v->n_encoder > 0 ? "]" : "");
}

/* ---- the command -------------------------------------------------------- */

/* What lies beside the model; what cannot be read is not said. */
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
    look_beside(v);
    if (v->info.has_weights) {
        v->plan_status = cf_engine_plan(v->cli->opened.engine, v->cli->open.n_ctx, CF_CACHE_DEFAULT,
                                        &v->plan, &v->plan_error);
    }
    look_at_projector(v);
    if (v->cli->is_json) {
        json_info(v);
        json_tokenizer(v);
        json_templates(v);
        json_plan(v);
        json_projector(v);
        json_lists(v);
        cf_buf_adds(&v->cli->out, "}\n");
    } else {
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
        status = cf_cli_fail(cli, &why); /* there are weights, of no use */
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
