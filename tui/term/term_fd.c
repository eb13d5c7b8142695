/*
 * term_fd.c - there is one screen per process, and so one captured standard
 * error.
 */
#include "tui/term/term_fd.h"

#include <stdio.h>
#include <unistd.h>

#include "tui/term/term.h"

static int stderr_copy = -1;
static FILE *stderr_file;

void cf_term__write(int fd, const char *p, size_t n)
{
    while (n != 0) {
        ssize_t put = write(fd, p, n);
        if (put <= 0) {
            return;
        }
        p += put;
        n -= (size_t)put;
    }
}

void cf_term__capture_stderr(void)
{
    stderr_file = tmpfile();
    if (stderr_file != NULL) {
        stderr_copy = dup(STDERR_FILENO);
        dup2(fileno(stderr_file), STDERR_FILENO);
    }
}

void cf_term_captured_stderr(cf_buf *out)
{
    if (stderr_file == NULL) {
        return;
    }
    (void)fflush(stderr);
    char part[4096];
    off_t off = 0;
    for (;;) {
        ssize_t n = pread(fileno(stderr_file), part, sizeof part, off);
        if (n <= 0) {
            return;
        }
        cf_buf_add(out, part, (size_t)n);
        off += n;
    }
}

void cf_term__release_stderr(void)
{
    if (stderr_file == NULL) {
        return;
    }
    cf_buf said = CF_BUF_INIT;
    cf_term_captured_stderr(&said);
    dup2(stderr_copy, STDERR_FILENO);
    close(stderr_copy);
    (void)fclose(stderr_file); /* a temporary file: nothing to lose */
    stderr_file = NULL;
    if (said.n != 0) {
        cf_term__write(STDERR_FILENO, said.p, said.n);
    }
    cf_buf_deinit(&said);
}
