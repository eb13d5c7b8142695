/*
 * weights_encoder.c - finds the tensors around the layers of encoders and
 * rankers: rows added to embeddings, and what follows pooling.
 */
#include "core/model/tensor_finder.h"

/* Rows of the tensor of that name; 0 where there is none. */
static uint32_t n_rows(const cf_tensor_finder *f)
{
    const cf_gguf_tensor *t = cf_gguf_find_tensor(f->g, f->name);
    return t != NULL && t->dim[1] <= CF_WIDTH_MAX ? (uint32_t)t->dim[1] : 0;
}

/* The row of token type 0, which is every token's. */
static cf_status find_type_row(cf_tensor_finder *f, cf_encoder_weights *w)
{
    cf_mat all = {0};
    uint32_t n_embd = f->hp->n_embd;
    cf_tensor__name(f, "token_types.weight");
    CF_TRY(cf_tensor__opt_mat(f, n_rows(f), n_embd, &all));
    if (all.p == NULL) {
        return CF_OK;
    }
    float *row = cf_arena_alloc(&f->w->owned, n_embd * sizeof *row);
    if (row == NULL || all.n_row == 0) {
        return row == NULL ? cf_oom_for(f->err, "a token type") : cf_tensor__missing(f);
    }
    cf_dtype_to_f32(all.type, row, all.p, n_embd);
    w->type_row = row;
    return CF_OK;
}

static cf_status find_start(cf_tensor_finder *f, cf_encoder_weights *w)
{
    const cf_hparams *hp = f->hp;
    if (!hp->arch->is_encoder) {
        return CF_OK;
    }
    CF_TRY(find_type_row(f, w));
    if (hp->arch->has_positions) {
        cf_tensor__name(f, "position_embd.weight");
        CF_TRY(cf_tensor__mat(f, hp->n_ctx_train, hp->n_embd, &w->position));
    }
    cf_tensor__name(f, "token_embd_norm.weight");
    return hp->arch->has_embd_norm ? cf_tensor__norm(f, hp->n_embd, &w->embd_norm) : CF_OK;
}

/* EmbeddingGemma's two matrices after pooling; the second leads back. */
static cf_status find_dense(cf_tensor_finder *f, cf_encoder_weights *w)
{
    cf_tensor__name(f, "dense_2.weight");
    uint32_t n = n_rows(f);
    CF_TRY(cf_tensor__opt_mat(f, n, f->hp->n_embd, &w->dense[0]));
    cf_tensor__name(f, "dense_3.weight");
    return w->dense[0].p != NULL ? cf_tensor__mat(f, f->hp->n_embd, n, &w->dense[1]) : CF_OK;
}

static cf_status find_classifier(cf_tensor_finder *f, cf_encoder_weights *w)
{
    uint32_t n_embd = f->hp->n_embd;
    cf_tensor__name(f, "cls.weight");
    CF_TRY(cf_tensor__opt_mat(f, n_embd, n_embd, &w->classify));
    cf_tensor__name(f, "cls.bias");
    CF_TRY(cf_tensor__opt_vec(f, n_embd, &w->bias));
    cf_tensor__name(f, "cls.norm.weight");
    CF_TRY(cf_tensor__opt_vec(f, n_embd, &w->norm));
    cf_tensor__name(f, "cls.output.weight");
    uint32_t n = n_rows(f);
    CF_TRY(cf_tensor__opt_mat(f, n, n_embd, &w->outputs));
    cf_tensor__name(f, "cls.output.bias");
    CF_TRY(cf_tensor__opt_vec(f, n, &w->outputs_bias));
    return w->outputs.p != NULL && n < (f->hp->arch->ranking == CF_RANK_LAST_YES ? 2U : 1U)
               ? cf_fail(f->err, CF_EFORMAT, "tensor cls.output.weight has %u rows", n)
               : CF_OK;
}

cf_status cf_weights__find_ends(cf_tensor_finder *f)
{
    cf_encoder_weights *w = &f->w->encoder;
    CF_TRY(find_start(f, w));
    CF_TRY(find_dense(f, w));
    return find_classifier(f, w);
}
