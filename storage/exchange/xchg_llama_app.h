/*
 * xchg_llama_app.h - what the reader and the writer of llama.cpp's web
 * interface agree on.
 */
#ifndef CF_STORAGE_EXCHANGE_XCHG_LLAMA_APP_H
#define CF_STORAGE_EXCHANGE_XCHG_LLAMA_APP_H

#include "core/base/buf.h"
#include "core/base/str.h"

/* Appends what the interface shows its model before the text of a file. */
void cf_llama__header(cf_buf *out, cf_str type, cf_str name);

#endif
