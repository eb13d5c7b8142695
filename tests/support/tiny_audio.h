/*
 * tiny_audio.h - small random projector files with an encoder of sounds.
 */
#ifndef CF_TESTS_SUPPORT_TINY_AUDIO_H
#define CF_TESTS_SUPPORT_TINY_AUDIO_H

#include "tests/support/tiny_gguf.h"

/* For "ultravox", "qwen2a", "voxtral", "gemma4a" or another name (then with
 * the tensors of the first); the tensor `skip` (may be NULL) is left out.  The
 * caller frees .p with cf_tiny_free(). */
cf_tiny_buf cf_tiny_audio(const char *projector, const char *skip);

#endif
