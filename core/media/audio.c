/*
 * audio.c - the sizes of an audio encoder, and sounds to blocks.
 */
#include "core/media/audio.h"

#include <string.h>

#include "core/base/alloc.h"

static const cf_audio_family families[] = {
    {.projector = "ultravox",
     .marks = {.before = "", .after = "", .row = "<|audio|>", .written = {"<|audio|>"}},
     .is_masked = true,
     .n_joined = 8,
     .encoder = &cf_audio_whisper},
    {.projector = "qwen2a",
     .marks = {.before = "<|audio_bos|>",
               .after = "<|audio_eos|>",
               .row = "<|AUDIO|>",
               .written = {"<|audio_bos|><|AUDIO|><|audio_eos|>", "<|AUDIO|>"}},
     .n_seconds_max = 30,
     .is_filled = true,
     .is_masked = true,
     .is_mean_of_two = true,
     .encoder = &cf_audio_whisper},
    {.projector = "voxtral",
     .marks = {.before = "[BEGIN_AUDIO]",
               .after = "",
               .row = "[AUDIO]",
               .written = {"[BEGIN_AUDIO][AUDIO]", "[AUDIO]"}},
     .is_filled = true,
     .is_exact_gelu = true,
     .n_joined = 4,
     .encoder = &cf_audio_whisper},
    {.projector = "gemma4a",
     .marks =
         {.before = "<|audio>", .after = "<audio|>", .row = "<|audio|>", .written = {"<|audio|>"}},
     .n_seconds_max = 30,
     .encoder = &cf_audio_conformer},
};

/* ---- the file ----------------------------------------------------------- */

bool cf_audio_is_in(const cf_mmproj *m)
{
    bool flag = false;
    return cf_gguf_get_bool(m->g, "clip.has_audio_encoder", &flag) && flag;
}

static cf_status find_family(cf_audio *a, const cf_mmproj *m, cf_error *err)
{
    cf_str name;
    if (!cf_gguf_get_str(m->g, "clip.audio.projector_type", &name) &&
        !cf_gguf_get_str(m->g, "clip.projector_type", &name)) {
        return cf_fail(err, CF_EFORMAT, "the key clip.projector_type is missing");
    }
    for (size_t i = 0; i < sizeof families / sizeof families[0]; i++) {
        if (cf_str_is(name, families[i].projector)) {
            a->family = &families[i];
            return CF_OK;
        }
    }
    return cf_fail(err, CF_EUNSUPPORTED, "confab does not compute the audio projector \"%.*s\"",
                   (int)(name.n < 40 ? name.n : 40), name.p);
}

static cf_status load_sizes(cf_audio *a, const cf_mmproj *m, cf_error *err)
{
    const struct {
        const char *key;
        uint32_t lo, hi;
        uint32_t *to;
    } need[] = {
        {"clip.audio.embedding_length", 4, 1 << 14, &a->width},
        {"clip.audio.feed_forward_length", 1, 1 << 16, &a->n_ff},
        {"clip.audio.block_count", 1, 256, &a->n_layer},
        {"clip.audio.attention.head_count", 1, 1024, &a->n_head},
        {"clip.audio.projection_dim", 1, 1 << 16, &a->n_out},
    };
    for (size_t i = 0; i < sizeof need / sizeof need[0]; i++) {
        CF_TRY(cf_mmproj_need_u32(m, need[i].key, need[i].lo, need[i].hi, need[i].to, err));
    }
    if (a->width % a->n_head != 0 || a->width % 4 != 0) {
        return cf_fail(err, CF_EFORMAT, "a width of %u cannot be shared by %u heads",
                       (unsigned)a->width, (unsigned)a->n_head);
    }
    uint32_t n_band = CF_MEL_BANDS;
    CF_TRY(cf_mmproj_u32(m, "clip.audio.num_mel_bins", 1, 4096, &n_band, err));
    if (n_band != CF_MEL_BANDS) {
        return cf_fail(err, CF_EUNSUPPORTED,
                       "spectrograms of %u bands are not computed, only those "
                       "of %d",
                       (unsigned)n_band, CF_MEL_BANDS);
    }
    a->eps = 1e-5f;
    CF_TRY(cf_mmproj_f32(m, "clip.audio.attention.layer_norm_epsilon", &a->eps, err));
    a->n_joined = a->family->n_joined;
    return a->n_joined > 0
               ? cf_mmproj_u32(m, "clip.audio.projector.stack_factor", 1, 64, &a->n_joined, err)
               : CF_OK;
}

cf_status cf_audio_init(cf_audio *out, cf_mmproj *m, cf_error *err)
{
    cf_audio a = {.family = NULL};
    CF_TRY(find_family(&a, m, err));
    CF_TRY(load_sizes(&a, m, err));
    CF_TRY(a.family->encoder->load(&a, m, err));
    *out = a;
    return CF_OK;
}

/* ---- blocks ------------------------------------------------------------- */

/* Frames first..first+width-1 of the whole, zeros after its end. */
static cf_status slice(cf_audio_block *to, const cf_mel *all, size_t first, size_t width,
                       cf_error *err)
{
    size_t have = all->n - first < width ? all->n - first : width;
    to->mel.v = cf_calloc(CF_MEL_BANDS * width + 1, sizeof *to->mel.v);
    if (to->mel.v == NULL) {
        return cf_oom_for(err, "a spectrogram");
    }
    for (size_t b = 0; b < CF_MEL_BANDS; b++) {
        memcpy(to->mel.v + b * width, all->v + b * all->n + first, have * sizeof *to->mel.v);
    }
    size_t held = all->n_held > first ? all->n_held - first : 0;
    to->mel.n = width;
    to->mel.n_held = held < width ? held : width;
    return CF_OK;
}

static cf_status add(const cf_audio *a, cf_audio_blocks *to, const cf_mel *all, size_t first,
                     size_t width, cf_error *err)
{
    if (!cf_grow(&to->v, &to->cap, to->n + 1, sizeof *to->v)) {
        return cf_oom_for(err, "a spectrogram");
    }
    cf_audio_block *b = &to->v[to->n];
    CF_TRY(slice(b, all, first, width, err));
    b->n_row = a->family->encoder->rows(a, &b->mel);
    to->n++;
    return CF_OK;
}

cf_status cf_audio_cut(const cf_audio *a, const cf_dense *d, const cf_sound *s,
                       cf_audio_blocks *out, cf_error *err)
{
    const cf_audio_family *f = a->family;
    size_t n = s->n, most = (size_t)f->n_seconds_max * CF_SOUND_RATE;
    n = most > 0 && n > most ? most : n;
    out->n_heard = n;
    cf_mel all;
    CF_TRY(f->encoder->hear(a, d, &all, s->v, n, err));
    cf_status st = CF_OK;
    if (all.n_held == 0) {
        st = cf_fail(err, CF_EUNSUPPORTED, "the sound is too short: %zu samples make no frame", n);
    }
    for (size_t first = 0; st == CF_OK && first < all.n; first += CF_AUDIO_BLOCK) {
        bool is_only = first == 0 && all.n < CF_AUDIO_BLOCK;
        st = cf_stop_check(d->stop, err);
        CF_THEN(st, add(a, out, &all, first, is_only ? all.n : CF_AUDIO_BLOCK, err));
    }
    cf_mel_deinit(&all);
    return st;
}

void cf_audio_blocks_deinit(cf_audio_blocks *b)
{
    for (size_t i = 0; i < b->n; i++) {
        cf_mel_deinit(&b->v[i].mel);
    }
    cf_free(b->v);
    *b = (cf_audio_blocks){.v = NULL};
}

cf_status cf_audio_encode(const cf_audio *a, const cf_dense *d, float *out, const cf_audio_block *b,
                          cf_error *err)
{
    return b->n_row > 0 ? a->family->encoder->encode(a, d, out, b, err) : CF_OK;
}
