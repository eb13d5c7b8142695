/*
 * chat_images.c - parts of messages that are images or sounds.
 */
#include "tui/view/chat/chat_images.h"

#include <stdio.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/base64.h"
#include "core/base/os.h"
#include "core/base/utf8.h"
#include "core/json/json.h"
#include "tui/image/thumbs.h"
#include "tui/lab/lab.h"
#include "tui/sys/paths.h"

enum {
    IMAGE_FILE_MAX = 20 << 20,
    TEXT_FILE_MAX = 1 << 20,
    PROBED = 1 << 18, /* letters of base64 that are read for the size */
    SNIFFED = 256,    /* letters that are read for the type of a sound */
    GAP = 4,          /* cells left of a picture */
    LINES = 2         /* above it */
};

/* ---- what a part says --------------------------------------------------- */

static bool is_attachment(const json_t *part)
{
    cf_attachment a;
    bool is = cf_attachment_read(&a, part);
    cf_attachment_deinit(&a);
    return is;
}

static bool is_image(const char *mime)
{
    return mime != NULL && strncmp(mime, "image/", 6) == 0;
}

/* "png, 640 x 480, 12.3 kB" for the `bytes` of a file that begins so. */
static void describe(char out[160], cf_str head, size_t bytes)
{
    char size[48] = "size unknown";
    int w, h;
    if (cf_picture_size(head, &w, &h)) {
        snprintf(size, sizeof size, "%d x %d", w, h);
    }
    const char *mime = cf_attachment_sniff(head);
    snprintf(out, 160, "%s, %s, %.1f kB", is_image(mime) ? mime + 6 : "image", size,
             (double)bytes / 1000);
}

/* What is known of a picture by its first bytes. */
static void probe(cf_chat_image *image, cf_str base64)
{
    cf_buf head = CF_BUF_INIT;
    size_t n = base64.n < PROBED ? base64.n : PROBED;
    if (!cf_base64_get(&head, cf_str_make(base64.p, n))) {
        cf_buf_reset(&head);
    }
    describe(image->what, cf_buf_str(&head), base64.n / 4 * 3);
    int w, h;
    if (cf_picture_size(cf_buf_str(&head), &w, &h)) {
        cf_picture_fit(w, h, CF_THUMB_W, CF_THUMB_H, &image->w, &image->h);
    }
    cf_buf_deinit(&head);
}

/* "flac, 12.3 kB" */
static void describe_sound(char out[160], const cf_attachment *a)
{
    static const char audio[] = "audio/";
    cf_buf head = CF_BUF_INIT;
    size_t n = a->base64.n < SNIFFED ? a->base64.n : SNIFFED;
    const char *mime = cf_base64_get(&head, cf_str_make(a->base64.p, n))
                           ? cf_attachment_sniff(cf_buf_str(&head))
                           : NULL;
    bool is_audio = mime != NULL && strncmp(mime, audio, sizeof audio - 1) == 0;
    snprintf(out, 160, "%s, %.1f kB", is_audio ? mime + sizeof audio - 1 : "sound",
             (double)(a->base64.n / 4 * 3) / 1000);
    cf_buf_deinit(&head);
}

static void fill(cf_chat_image *image, const json_t *part)
{
    cf_attachment *a = &image->attachment;
    image->thumb = -1;
    (void)cf_attachment_read(a, part);
    cf_error why;
    if (a->url.n > 0) {
        snprintf(image->what, sizeof image->what, "not here: %.*s",
                 (int)(a->url.n < 120 ? a->url.n : 120), a->url.p);
    } else if (cf_attachment_load(a, &why) != CF_OK) {
        snprintf(image->what, sizeof image->what, "not here: %.*s",
                 (int)(a->place.n < 120 ? a->place.n : 120),
                 a->place.n != 0 ? a->place.p : "no address");
    } else if (a->kind == CF_ATTACHMENT_AUDIO) {
        describe_sound(image->what, a);
        image->w = CF_THUMB_W;
        image->h = CF_THUMB_WAVE_H;
    } else {
        probe(image, a->base64);
    }
}

cf_chat_image *cf_chat_images_of(const json_t *message, size_t *n)
{
    const json_t *content = json_object_get(message, "content");
    size_t n_parts = json_array_size(content), n_images = 0;
    *n = 0;
    for (size_t i = 0; i < n_parts; i++) {
        n_images += is_attachment(json_array_get(content, i)) ? 1 : 0;
    }
    cf_chat_image *v = n_images != 0 ? cf_calloc(n_images, sizeof *v) : NULL;
    for (size_t i = 0; v != NULL && i < n_parts; i++) {
        if (is_attachment(json_array_get(content, i))) {
            fill(&v[(*n)++], json_array_get(content, i));
        }
    }
    return v;
}

void cf_chat_images_free(cf_chat_image *v, size_t n)
{
    for (size_t i = 0; v != NULL && i < n; i++) {
        cf_attachment_deinit(&v[i].attachment);
    }
    cf_free(v);
}

/* ---- drawing ------------------------------------------------------------ */

int cf_chat_image_rows(const cf_chat_image *image)
{
    return LINES + (image->h + 1) / 2;
}

static cf_thumbs *thumbs_of(cf_app *app)
{
    if (app->thumbs == NULL && cf_thumbs_new(&app->thumbs, NULL) != CF_OK) {
        app->thumbs = NULL;
    }
    if (app->thumbs != NULL && app->term != NULL) {
        cf_thumbs_wake_with(app->thumbs, app->term->wake_fd);
    }
    return app->thumbs;
}

static const cf_thumb *thumb_of(cf_app *app, cf_chat_image *image)
{
    cf_thumbs *thumbs = image->h > 0 ? thumbs_of(app) : NULL;
    if (thumbs == NULL) {
        return NULL;
    }
    if (image->thumb < 0) {
        image->thumb = cf_thumbs_ask(thumbs, image->attachment.base64);
    }
    return cf_thumbs_get(thumbs, image->thumb);
}

/* Its description, then its picture. */
static void draw_line(cf_app *app, const cf_chat_image *image, const cf_thumb *thumb, size_t number,
                      int row, cf_grid *g, cf_rect r)
{
    const cf_backend_info info = cf_lab_info(app->lab);
    if (row == 0) {
        bool has_more = thumb != NULL && thumb->what[0] != '\0';
        cf_grid_putf(g, r.x, r.y, r.w, CF_STYLE_DIM, "[%s %zu] %s%s%s",
                     cf_attachment_kind_name(image->attachment.kind), number, image->what,
                     has_more ? ", " : "", has_more ? thumb->what : "");
        return;
    }
    if (image->why[0] != '\0') {
        cf_grid_puts(g, r.x, r.y, r.w, image->why, CF_STYLE_WARNING);
        return;
    }
    bool waits = thumb != NULL && !thumb->is_done;
    cf_grid_puts(g, r.x, r.y, r.w,
                 waits ? "decoding"
                 : image->attachment.base64.n == 0 && image->attachment.url.n == 0
                     ? "not sent: it is not here"
                 : info.takes_images && info.shows_tokens
                     ? "gm shows what the model gets of it, and its tokens"
                 : info.takes_images ? "its tokens are the server's to count"
                 : image->attachment.kind == CF_ATTACHMENT_AUDIO
                     ? "0 tokens: this engine hears no sounds"
                     : "0 tokens: this engine sees no images",
                 CF_STYLE_DIM);
}

static uint32_t pixel(const cf_picture *p, int x, int y)
{
    if (y >= p->h) {
        return 0; /* below an odd last row */
    }
    const unsigned char *rgb = p->rgb + ((size_t)y * (size_t)p->w + (size_t)x) * 3;
    return (uint32_t)rgb[0] << 16 | (uint32_t)rgb[1] << 8 | rgb[2];
}

bool cf_chat_image_failed(cf_app *app, cf_chat_image *image)
{
    if (app->thumbs == NULL || image->thumb < 0 || image->h == 0) {
        return false;
    }
    const cf_thumb *thumb = cf_thumbs_get(app->thumbs, image->thumb);
    if (thumb->why[0] == '\0') {
        return false;
    }
    snprintf(image->why, sizeof image->why, "%s", thumb->why);
    image->h = 0;
    return true;
}

void cf_chat_image_draw(cf_app *app, cf_chat_image *image, size_t number, int row, cf_grid *g,
                        int x, int y, int width)
{
    const cf_thumb *thumb = thumb_of(app, image);
    if (row < LINES) {
        draw_line(app, image, thumb, number, row, g, (cf_rect){x, y, width, 1});
        return;
    }
    const cf_picture *p = thumb != NULL ? &thumb->picture : NULL;
    int top = 2 * (row - LINES);
    for (int i = 0; p != NULL && top < p->h && i < p->w && i + GAP < width; i++) {
        cf_grid_put_pixels(g, x + GAP + i, y, pixel(p, i, top), pixel(p, i, top + 1));
    }
    if (p != NULL && top < p->h) {
        cf_rect whole = {x + GAP, y - (row - LINES), p->w, (p->h + 1) / 2};
        cf_rect part = {x + GAP, y, width - GAP < p->w ? width - GAP : p->w, 1};
        cf_grid_plate(g, whole, part, thumb->fine.rgb, thumb->fine.w, thumb->fine.h);
    }
}

/* ---- the composer's ----------------------------------------------------- */

void cf_attachments_clear(cf_attachments *a)
{
    for (size_t i = 0; i < a->n; i++) {
        json_decref(a->v[i].part);
    }
    *a = (cf_attachments){0};
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

static cf_status check_room(const cf_attachments *a, cf_error *err)
{
    return a->n < CF_ATTACHED_MAX
               ? CF_OK
               : cf_fail(err, CF_ELIMIT, "a message takes at most %d files", CF_ATTACHED_MAX);
}

static cf_status attach_sound(cf_attachments *a, const char *path, const char *mime, size_t bytes,
                              cf_error *err)
{
    CF_TRY(check_room(a, err));
    cf_attached *to = &a->v[a->n];
    CF_TRY(cf_attachment_file(&to->part, CF_ATTACHMENT_AUDIO, path, err));
    snprintf(to->name, sizeof to->name, "%.63s", base_name(path));
    snprintf(to->what, sizeof to->what, "%s, %.1f kB", mime, (double)bytes / 1000);
    a->n++;
    return CF_OK;
}

static cf_status attach_image(cf_attachments *a, const char *name, const char *mime,
                              const cf_buf *bytes, cf_error *err)
{
    cf_buf url = CF_BUF_INIT;
    CF_TRY(check_room(a, err));
    cf_data_url_put(&url, cf_str_from(mime), cf_str_make("", 0));
    cf_base64_put(&url, cf_str_make(bytes->p, bytes->n));
    json_t *part = url.failed ? NULL
                              : json_pack("{s:s,s:{s:s%}}", "type", "image_url", "image_url", "url",
                                          url.p, url.n);
    cf_buf_deinit(&url);
    if (part == NULL) {
        return cf_fail(err, CF_ENOMEM, "out of memory for '%s'", name);
    }
    cf_attached *to = &a->v[a->n++];
    to->part = part;
    snprintf(to->name, sizeof to->name, "%.63s", base_name(name));
    describe(to->what, cf_buf_str(bytes), bytes->n);
    return CF_OK;
}

/* A fence that is longer than any in the text. */
static void add_fenced(cf_buf *out, const char *name, const cf_buf *bytes)
{
    size_t longest = 2, run = 0;
    for (size_t i = 0; i < bytes->n; i++) {
        run = bytes->p[i] == '`' ? run + 1 : 0;
        longest = run > longest ? run : longest;
    }
    cf_buf fence = CF_BUF_INIT;
    for (size_t i = 0; i <= longest; i++) {
        cf_buf_addc(&fence, '`');
    }
    bool has_end = bytes->n > 0 && bytes->p[bytes->n - 1] == '\n';
    cf_buf_addf(out, "\n%s:\n%s\n", base_name(name), cf_buf_cstr(&fence));
    cf_buf_add(out, cf_buf_cstr(bytes), bytes->n);
    cf_buf_addf(out, "%s%s\n", has_end ? "" : "\n", cf_buf_cstr(&fence));
    cf_buf_deinit(&fence);
}

cf_status cf_attach_file(cf_attachments *a, const char *name, cf_buf *text, cf_error *err)
{
    cf_buf path = CF_BUF_INIT, bytes = CF_BUF_INIT;
    cf_paths_expand(&path, name);
    cf_status st = cf_buf_check(&path, err);
    CF_THEN(st, cf_os_read_file(&bytes, cf_buf_cstr(&path), IMAGE_FILE_MAX, err));
    const char *mime = NULL;
    if (st == CF_OK) {
        mime = cf_attachment_sniff(cf_buf_str(&bytes));
    }
    if (st == CF_OK && mime != NULL && strncmp(mime, "audio/", 6) == 0) {
        st = attach_sound(a, cf_buf_cstr(&path), mime, bytes.n, err);
    } else if (st == CF_OK && is_image(mime)) {
        st = attach_image(a, name, mime, &bytes, err);
    } else if (st == CF_OK && bytes.n > TEXT_FILE_MAX) {
        st = cf_fail(err, CF_ELIMIT,
                     "'%s' is neither an image nor a sound, and %zu bytes of "
                     "text are too many",
                     name, bytes.n);
    } else if (st == CF_OK && (memchr(cf_buf_cstr(&bytes), '\0', bytes.n) != NULL ||
                               cf_utf8_valid_prefix(cf_buf_cstr(&bytes), bytes.n) != bytes.n)) {
        st = cf_fail(err, CF_EUNSUPPORTED, "'%s' is neither an image, a sound nor text", name);
    } else if (st == CF_OK) {
        add_fenced(text, name, &bytes);
        st = cf_buf_check(text, err);
    }
    cf_buf_deinit(&path);
    cf_buf_deinit(&bytes);
    return st;
}

/* ---- pasted names ------------------------------------------------------- */

enum { PASTED_MAX = 4096, HEAD = 16 };

/* The next path of a text as shells and terminals quote it; false at the end
 * or for what is not a whole path. */
static bool next_path(cf_str text, size_t *at, cf_buf *path)
{
    while (*at < text.n && strchr(" \t\r\n", text.p[*at]) != NULL) {
        ++*at;
    }
    cf_buf_reset(path);
    char quote = '\0';
    for (; *at < text.n; ++*at) {
        char c = text.p[*at];
        if (quote == '\0' && strchr(" \t\r\n", c) != NULL) {
            break;
        }
        if ((c == '\'' || c == '"') && (quote == '\0' || quote == c)) {
            quote = quote == '\0' ? c : '\0';
        } else if (c == '\\' && quote != '\'' && *at + 1 < text.n) {
            cf_buf_addc(path, text.p[++*at]);
        } else {
            cf_buf_addc(path, c);
        }
    }
    static const char file[] = "file://";
    const char *p = cf_buf_cstr(path);
    if (strncmp(p, file, sizeof file - 1) == 0) {
        cf_buf plain = CF_BUF_INIT;
        for (p += sizeof file - 1; *p != '\0'; p++) {
            unsigned byte;
            if (p[0] == '%' && sscanf(p + 1, "%2x", &byte) == 1) {
                cf_buf_addc(&plain, (char)byte);
                p += 2;
            } else {
                cf_buf_addc(&plain, *p);
            }
        }
        cf_buf_deinit(path);
        *path = plain;
        p = cf_buf_cstr(path);
    }
    return !path->failed && (p[0] == '/' || p[0] == '~');
}

static bool is_media_file(const char *name)
{
    cf_buf path = CF_BUF_INIT;
    cf_os_map map;
    cf_error ignored;
    bool is = false;
    cf_paths_expand(&path, name);
    if (!path.failed && cf_os_map_open(&map, cf_buf_cstr(&path), &ignored) == CF_OK) {
        cf_str bytes = cf_str_make((const char *)map.p, map.n);
        is = map.n >= HEAD && cf_attachment_sniff(bytes) != NULL;
        cf_os_map_close(&map);
    }
    cf_buf_deinit(&path);
    return is;
}

bool cf_attach_pasted(cf_attachments *a, cf_str text, cf_error *err)
{
    cf_buf path = CF_BUF_INIT, unused = CF_BUF_INIT;
    size_t n = 0, at = 0;
    bool all = text.n <= PASTED_MAX && memchr(text.p, '\0', text.n) == NULL;
    while (text.n > 0 && strchr(" \t\r\n", text.p[text.n - 1]) != NULL) {
        text.n--;
    }
    for (; all && at < text.n; n++) {
        all = next_path(text, &at, &path) && is_media_file(cf_buf_cstr(&path));
    }
    cf_status st = CF_OK;
    for (at = 0; all && n > 0 && at < text.n && st == CF_OK;) {
        (void)next_path(text, &at, &path);
        st = cf_attach_file(a, cf_buf_cstr(&path), &unused, err);
    }
    cf_buf_deinit(&path);
    cf_buf_deinit(&unused);
    return all && n > 0;
}

void cf_attach_again(cf_attachments *a, const json_t *message)
{
    const json_t *content = json_object_get(message, "content");
    for (size_t i = 0; i < json_array_size(content); i++) {
        json_t *part = json_array_get(content, i);
        if (is_attachment(part) && a->n < CF_ATTACHED_MAX) {
            cf_attached *to = &a->v[a->n++];
            cf_chat_image image = {0};
            fill(&image, part);
            to->part = json_incref(part);
            snprintf(to->name, sizeof to->name, "image %zu", a->n);
            snprintf(to->what, sizeof to->what, "%s", image.what);
            cf_attachment_deinit(&image.attachment);
        }
    }
}

json_t *cf_attachments_content(const cf_attachments *a, cf_str text)
{
    json_t *words = json_stringn(text.n != 0 ? text.p : "", text.n);
    if (words == NULL || a->n == 0) {
        return words;
    }
    json_t *list = json_pack("[{s:s,s:o}]", "type", "text", "text", words);
    for (size_t i = 0; list != NULL && i < a->n; i++) {
        if (json_array_append(list, a->v[i].part) != 0) {
            json_decref(list);
            return NULL;
        }
    }
    return list;
}
