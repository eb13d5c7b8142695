/*
 * chat_images.h - images of messages: those of a turn, and those that wait in
 * the composer.
 *
 * In a message an image is a part of its content, as servers and templates
 * know it: {"type":"image_url","image_url":{"url":"data:image/png;base64,
 * ..."}}.
 */
#ifndef CF_TUI_VIEW_CHAT_CHAT_IMAGES_H
#define CF_TUI_VIEW_CHAT_CHAT_IMAGES_H

#include <jansson.h>

#include "core/api/attachment.h"
#include "tui/app/app.h"

enum { CF_ATTACHED_MAX = 8 };

/* One image of a turn. */
typedef struct cf_chat_image {
    char what[160];           /* "png, 640 x 480, 12.3 kB" */
    cf_attachment attachment; /* borrows from the turn's message */
    char why[120];            /* there is no picture; "" when there is */
    int w, h;                 /* of the picture to come; 0: there will be none */
    int thumb;                /* in app->thumbs; -1: not asked for */
} cf_chat_image;

/* The images and sounds in a message, as one owned block; NULL when there are
 * none or
 * memory ran out.  They borrow from `message`. */
cf_chat_image *cf_chat_images_of(const json_t *message, size_t *n);
void cf_chat_images_free(cf_chat_image *v, size_t n);

/* Rows that an image takes in the transcript: two lines, and the picture. */
int cf_chat_image_rows(const cf_chat_image *image);

/* Whether decoding has failed; the image then takes no more than its lines. */
bool cf_chat_image_failed(cf_app *app, cf_chat_image *image);

/* Draws row `row` of an image over at most `width` cells; `number` counts the
 * images of the turn from 1. */
void cf_chat_image_draw(cf_app *app, cf_chat_image *image, size_t number, int row, cf_grid *g,
                        int x, int y, int width);

/* Images that go with the next message. */
typedef struct cf_attached {
    json_t *part; /* owned */
    char name[64], what[160];
} cf_attached;

typedef struct cf_attachments {
    cf_attached v[CF_ATTACHED_MAX];
    size_t n;
} cf_attachments;

void cf_attachments_clear(cf_attachments *a);

/*
 * Reads a file: an image joins `a`, a text is appended to `text` as a fenced
 * block.  CF_EUNSUPPORTED for anything else, CF_ELIMIT, CF_EIO ...
 */
CF_MUST_USE cf_status cf_attach_file(cf_attachments *a, const char *name, cf_buf *text,
                                     cf_error *err);

/*
 * Attaches the files that a pasted text names, whole paths separated by blanks
 * or line ends, bare, quoted, with backslashes or as file: addresses.  False:
 * it is some other text, or one of them is neither a picture nor a sound, and
 * nothing is attached.  True with *err set: a file could not be attached.
 */
bool cf_attach_pasted(cf_attachments *a, cf_str text, cf_error *err);

/* The images of a message, to go with what is made of it. */
void cf_attach_again(cf_attachments *a, const json_t *message);

/* The content of a message with a text and images: a new reference, NULL when
 * memory ran out or the text is no UTF-8. */
json_t *cf_attachments_content(const cf_attachments *a, cf_str text);

#endif
