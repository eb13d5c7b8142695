/*
 * shrink_files.h - writes a shrunk failure as files for others: the context, the
 * template, the prompt, the reply, a report and tests.
 *
 * Threads:  one thread at a time.
 * Memory:   nothing is kept.
 */
#ifndef CF_TUI_STUDY_SHRINK_SHRINK_FILES_H
#define CF_TUI_STUDY_SHRINK_SHRINK_FILES_H

#include "tui/study/shrink/shrink.h"

/*
 * Writes into the folder, which exists:
 *
 *   context.json         messages, tools, variables
 *   template.jinja       the template
 *   prompt.txt           the rendered prompt, unless rendering fails
 *   reply.txt            the bytes of the reply, if any
 *   test_jinja2.py       exits with 0 when jinja2 reproduces the failure
 *   test_chat_llama.cpp  a function for llama.cpp's chat tests
 *   test_vllm_parser.py  a test of a vLLM tool parser, if there is a reply
 *   ISSUE.md             a summary of all of it
 *
 * Their names are appended to `names`, a line each.  CF_EIO, CF_ENOMEM.
 */
CF_MUST_USE cf_status cf_shrink_write(const cf_shrink *s, const char *folder, cf_buf *names,
                                      cf_error *err);

#endif
