/*
 * seeing_model.c - a model and projectors written to files.
 */
#include "tests/support/seeing_model.h"

#include "core/base/os.h"
#include "tests/support/tiny_gguf.h"
#include "tests/support/tiny_vision.h"

const char cf_seeing_red[] =
    "data:image/png;base64,"
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGM4IccFAAKiAP"
    "HCKn5eAAAAAElFTkSuQmCC";

bool cf_seeing_put(const char *path, const void *p, size_t n)
{
    cf_error err;
    return cf_os_write_file(path, p, n, 0600, &err) == CF_OK;
}

static bool put_projector(const char *path, uint32_t n_out)
{
    cf_tiny_buf file = cf_tiny_vision("gemma3", CF_TINY_VISION_TENSORS, 2, n_out);
    bool ok = cf_seeing_put(path, file.p, file.n);
    cf_tiny_free(file.p);
    return ok;
}

bool cf_seeing_write(const char *model, const char *projector, const char *other)
{
    size_t n;
    cf_tiny_options tiny = {
        .arch = "gemma3", .seed = 5, .chat_template = CF_SEEING_TEMPLATE("<start_of_image>")};
    void *bytes = cf_tiny_gguf(&tiny, &n);
    bool ok = cf_seeing_put(model, bytes, n);
    cf_tiny_free(bytes);
    return ok && put_projector(projector, 64) && put_projector(other, 32);
}
