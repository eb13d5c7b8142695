/*
 * attach_options.c - reads the files into parts.
 */
#include "tui/cli/shell/attach_options.h"

#include <string.h>

#include "core/api/attachment.h"
#include "templates/open.h"

void cf_attach_options_table(cf_attach_options *o, cf_opt *out)
{
    out[0] = (cf_opt){"--image",
                      0,
                      CF_OPT_LIST,
                      &o->images,
                      "FILE",
                      "send an image with the message (PNG, JPEG, GIF, WebP; "
                      "-: standard input; or a data URL); may be repeated",
                      NULL};
    out[1] = (cf_opt){"--audio",
                      0,
                      CF_OPT_LIST,
                      &o->sounds,
                      "FILE",
                      "send a sound with the message (WAV, MP3, FLAC, Ogg, "
                      "AIFF, AU, CAF); "
                      "may be repeated",
                      NULL};
}

bool cf_attach_options_any(const cf_attach_options *o)
{
    return o->images.n + o->sounds.n > 0;
}

static size_t n_stdin(const cf_opt_list *list)
{
    size_t n = 0;
    for (size_t i = 0; i < list->n; i++) {
        n += strcmp(list->v[i], "-") == 0;
    }
    return n;
}

bool cf_attach_options_use_stdin(const cf_attach_options *o)
{
    return n_stdin(&o->images) + n_stdin(&o->sounds) > 0;
}

static cf_status add_files(json_t *content, const cf_opt_list *list, cf_attachment_kind kind,
                           cf_error *err)
{
    for (size_t i = 0; i < list->n; i++) {
        json_t *part;
        CF_TRY(cf_attachment_file(&part, kind, list->v[i], err));
        if (json_array_append_new(content, part) != 0) {
            return cf_oom_for(err, "the message");
        }
    }
    return CF_OK;
}

cf_status cf_attach_options_content(json_t **out, const cf_attach_options *o, cf_str text,
                                    const cf_backend_info *engine, cf_error *err)
{
    json_t *words = json_stringn(text.n > 0 ? text.p : "", text.n);
    if (words == NULL) {
        return cf_fail(err, CF_EFORMAT, "the prompt is not UTF-8");
    }
    if (!cf_attach_options_any(o)) {
        *out = words;
        return CF_OK;
    }
    if (!engine->takes_images) {
        json_decref(words);
        const char *what = o->images.n > 0 ? "--image" : "--audio";
        return strcmp(engine->kind, "builtin") == 0
                   ? cf_fail(err, CF_EUNSUPPORTED, "%s: %s", what, CF_OPEN_NO_MEDIA)
                   : cf_fail(err, CF_EUNSUPPORTED, "%s: this engine takes no files", what);
    }
    if (n_stdin(&o->images) + n_stdin(&o->sounds) > 1) {
        json_decref(words);
        return cf_fail(err, CF_EINVAL, "standard input can be read as one file only");
    }
    json_t *content = json_pack("[{s:s, s:o}]", "type", "text", "text", words);
    cf_status st = content != NULL ? CF_OK : cf_oom_for(err, "the message");
    CF_THEN(st, add_files(content, &o->images, CF_ATTACHMENT_IMAGE, err));
    CF_THEN(st, add_files(content, &o->sounds, CF_ATTACHMENT_AUDIO, err));
    if (st != CF_OK) {
        json_decref(content);
        return st;
    }
    *out = content;
    return CF_OK;
}
