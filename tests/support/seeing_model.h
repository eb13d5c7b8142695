/*
 * seeing_model.h - files of a small model that reads pictures.
 */
#ifndef CF_TESTS_SUPPORT_SEEING_MODEL_H
#define CF_TESTS_SUPPORT_SEEING_MODEL_H

#include <stdbool.h>
#include <stddef.h>

/* A chat template that writes `marker` for a picture. */
#define CF_SEEING_TEMPLATE(marker)                                 \
    "{% for m in messages %}<{{ m.role }}>"                        \
    "{% if m.content is string %}{{ m.content }}{% else %}"        \
    "{% for p in m.content %}{% if p.type == 'image' %}" marker    \
    "{% elif p.type == 'text' %}{{ p.text }}{% endif %}{% endfor " \
    "%}{% endif %}{% endfor %}<assistant>"

/* A red picture of one pixel, as a data URL. */
extern const char cf_seeing_red[];

/* Writes a file with the mode 0600; false: it failed. */
bool cf_seeing_put(const char *path, const void *p, size_t n);

/* Writes a Gemma 3 model whose template writes its own marker, its projector,
 * and to `other` a projector for a wider model. */
bool cf_seeing_write(const char *model, const char *projector, const char *other);

#endif
