/*
 * media_marks.h - the text that a family of models puts around the rows of a
 * picture or sound.
 *
 * Private to core/media.
 */
#ifndef CF_CORE_MEDIA_MEDIA_MARKS_H
#define CF_CORE_MEDIA_MEDIA_MARKS_H

#include <stdbool.h>

/* The text before a tile is `begin`, its row from 1, "_col_", its column, `end`.
 * `whole` precedes the whole picture that follows tiles, and `alone` a picture
 * without tiles. */
typedef struct cf_tile_marks {
    const char *begin, *end;
    const char *whole, *alone;
    bool has_lines; /* a line feed after each row of tiles, and one more */
} cf_tile_marks;

typedef struct cf_media_marks {
    const char *before, *after;
    const cf_tile_marks *tiles; /* NULL: pictures are not cut into tiles */
    const char *row;            /* the token that stands for a row */
    const char *written[3];     /* by chat templates in place of the whole: the
                                   longest first, ended by NULL */
} cf_media_marks;

#endif
