/*
 * bundled.c - the bundled model's file as a part of the program.
 *
 * The Makefile defines CF_BUNDLED_FILE when the file is there.  The assembler
 * copies it: as a C array it would take the compiler minutes.
 */
#include "core/api/bundled.h"

#ifdef CF_BUNDLED_FILE

#ifdef __APPLE__
#define SECTION "__TEXT,__const"
#define SYMBOL  "_cf_bundled"
#define HIDE    ".private_extern "
#else
#define SECTION ".rodata"
#define SYMBOL  "cf_bundled"
#define HIDE    ".hidden "
#endif

/* clang-format off */
__asm__(".pushsection " SECTION "\n"
        ".globl " SYMBOL "_begin\n"
        ".globl " SYMBOL "_end\n"
        HIDE SYMBOL "_begin\n"
        HIDE SYMBOL "_end\n"
        ".p2align 5\n" /* 32 bytes */
        SYMBOL "_begin:\n"
        ".incbin \"" CF_BUNDLED_FILE "\"\n"
        SYMBOL "_end:\n"
        ".byte 0\n"
        ".popsection\n");
/* clang-format on */

extern const char cf_bundled_begin[] __attribute__((visibility("hidden")));
extern const char cf_bundled_end[] __attribute__((visibility("hidden")));

bool cf_bundled_model(const void **bytes, size_t *n)
{
    *bytes = cf_bundled_begin;
    *n = (size_t)(cf_bundled_end - cf_bundled_begin);
    return true;
}

#else

/* NOLINTNEXTLINE(readability-non-const-parameter): the other one sets it */
bool cf_bundled_model(const void **bytes, size_t *n)
{
    (void)bytes;
    (void)n;
    return false;
}

#endif
