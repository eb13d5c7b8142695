/*
 * xchg_llama_app.h - what the reader and the writer of llama.cpp's web
 * interface agree on.
 */
#ifndef CF_STORAGE_EXCHANGE_XCHG_LLAMA_APP_H
#define CF_STORAGE_EXCHANGE_XCHG_LLAMA_APP_H

#include "storage/exchange/xchg.h"

/* Appends what the interface shows its model before the text of a file. */
void cf_llama__header(cf_buf *out, cf_str type, cf_str name);

/* Appends a tree as the interface writes it. */
CF_MUST_USE cf_status cf_llama__write(cf_exporter *ex, const cf_store_tree *tree, cf_buf *out,
                                      cf_error *err);

#endif
