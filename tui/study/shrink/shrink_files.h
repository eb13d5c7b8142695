/*
 * shrink_files.h - a shrunk failure as files that others can use: the context,
 * the template, the prompt, the reply, a report and tests.
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
 *   prompt.txt           what it renders to, where it does
 *   reply.txt            the reply's bytes, where there is one
 *   test_jinja2.py       ends with 0 when the failure is there with jinja2
 *   test_chat_llama.cpp  a function for llama.cpp's chat tests
 *   test_vllm_parser.py  a test of a vLLM tool parser, where there is a reply
 *   ISSUE.md             all of it in a minute
 *
 * `names` gets them, a line each.  CF_EIO, CF_ENOMEM.
 */
CF_MUST_USE cf_status cf_shrink_write(const cf_shrink *s, const char *folder, cf_buf *names,
                                      cf_error *err);

#endif
