/*
 * decls.h - marks the declarations that belong to the library's interface.
 *
 * Place in the flow:  every public header --> [decls] --> compiler.
 * Knows: C, C++, symbol visibility.  Does not know: what is declared.
 *
 * Everything is compiled with hidden visibility; what lies between
 * CF_BEGIN_DECLS and CF_END_DECLS is exported from the shared library and has
 * C linkage in C++.  Standard and third-party headers are included before
 * CF_BEGIN_DECLS.
 *
 * Threads:  no state.
 * Memory:   none.
 */
#ifndef CF_CORE_BASE_DECLS_H
#define CF_CORE_BASE_DECLS_H

#if defined(__GNUC__) || defined(__clang__)
#define CF_DECLS_PUSH _Pragma("GCC visibility push(default)")
#define CF_DECLS_POP  _Pragma("GCC visibility pop")
#else
#define CF_DECLS_PUSH
#define CF_DECLS_POP
#endif

#ifdef __cplusplus
#define CF_BEGIN_DECLS       \
    CF_DECLS_PUSH extern "C" \
    {
#define CF_END_DECLS \
    }                \
    CF_DECLS_POP
#else
#define CF_BEGIN_DECLS CF_DECLS_PUSH
#define CF_END_DECLS   CF_DECLS_POP
#endif

#endif
