/*
 * builtin_table.c - names of the templates in builtin/, whose bytes the build
 * puts into the program.
 */
#include <stddef.h>
#include <string.h>

#include "templates/builtin.h"

extern const unsigned char cf_embed_templates_builtin_chatml_jinja[];
extern const size_t cf_embed_templates_builtin_chatml_jinja_size;
extern const unsigned char cf_embed_templates_builtin_functiongemma_jinja[];
extern const size_t cf_embed_templates_builtin_functiongemma_jinja_size;
extern const unsigned char cf_embed_templates_builtin_gemma2_jinja[];
extern const size_t cf_embed_templates_builtin_gemma2_jinja_size;
extern const unsigned char cf_embed_templates_builtin_gemma3_jinja[];
extern const size_t cf_embed_templates_builtin_gemma3_jinja_size;
extern const unsigned char cf_embed_templates_builtin_gemma4_jinja[];
extern const size_t cf_embed_templates_builtin_gemma4_jinja_size;
extern const unsigned char cf_embed_templates_builtin_hammer_jinja[];
extern const size_t cf_embed_templates_builtin_hammer_jinja_size;
extern const unsigned char cf_embed_templates_builtin_hermes_jinja[];
extern const size_t cf_embed_templates_builtin_hermes_jinja_size;
extern const unsigned char cf_embed_templates_builtin_llama2_jinja[];
extern const size_t cf_embed_templates_builtin_llama2_jinja_size;
extern const unsigned char cf_embed_templates_builtin_llama3_jinja[];
extern const size_t cf_embed_templates_builtin_llama3_jinja_size;
extern const unsigned char cf_embed_templates_builtin_llama3_1_jinja[];
extern const size_t cf_embed_templates_builtin_llama3_1_jinja_size;
extern const unsigned char cf_embed_templates_builtin_mistral_jinja[];
extern const size_t cf_embed_templates_builtin_mistral_jinja_size;
extern const unsigned char cf_embed_templates_builtin_phi3_jinja[];
extern const size_t cf_embed_templates_builtin_phi3_jinja_size;
extern const unsigned char cf_embed_templates_builtin_phi4_mini_jinja[];
extern const size_t cf_embed_templates_builtin_phi4_mini_jinja_size;
extern const unsigned char cf_embed_templates_builtin_qwen2_5_jinja[];
extern const size_t cf_embed_templates_builtin_qwen2_5_jinja_size;
extern const unsigned char cf_embed_templates_builtin_qwen3_jinja[];
extern const size_t cf_embed_templates_builtin_qwen3_jinja_size;
extern const unsigned char cf_embed_templates_builtin_smollm3_jinja[];
extern const size_t cf_embed_templates_builtin_smollm3_jinja_size;
extern const unsigned char cf_embed_templates_builtin_zephyr_jinja[];
extern const size_t cf_embed_templates_builtin_zephyr_jinja_size;

static const struct {
    const char *name;
    const unsigned char *p;
    const size_t *n;
} table[] = {
    {"chatml", cf_embed_templates_builtin_chatml_jinja,
     &cf_embed_templates_builtin_chatml_jinja_size},
    {"functiongemma", cf_embed_templates_builtin_functiongemma_jinja,
     &cf_embed_templates_builtin_functiongemma_jinja_size},
    {"gemma2", cf_embed_templates_builtin_gemma2_jinja,
     &cf_embed_templates_builtin_gemma2_jinja_size},
    {"gemma3", cf_embed_templates_builtin_gemma3_jinja,
     &cf_embed_templates_builtin_gemma3_jinja_size},
    {"gemma4", cf_embed_templates_builtin_gemma4_jinja,
     &cf_embed_templates_builtin_gemma4_jinja_size},
    {"hammer", cf_embed_templates_builtin_hammer_jinja,
     &cf_embed_templates_builtin_hammer_jinja_size},
    {"hermes", cf_embed_templates_builtin_hermes_jinja,
     &cf_embed_templates_builtin_hermes_jinja_size},
    {"llama2", cf_embed_templates_builtin_llama2_jinja,
     &cf_embed_templates_builtin_llama2_jinja_size},
    {"llama3", cf_embed_templates_builtin_llama3_jinja,
     &cf_embed_templates_builtin_llama3_jinja_size},
    {"llama3.1", cf_embed_templates_builtin_llama3_1_jinja,
     &cf_embed_templates_builtin_llama3_1_jinja_size},
    {"mistral", cf_embed_templates_builtin_mistral_jinja,
     &cf_embed_templates_builtin_mistral_jinja_size},
    {"phi3", cf_embed_templates_builtin_phi3_jinja, &cf_embed_templates_builtin_phi3_jinja_size},
    {"phi4-mini", cf_embed_templates_builtin_phi4_mini_jinja,
     &cf_embed_templates_builtin_phi4_mini_jinja_size},
    {"qwen2.5", cf_embed_templates_builtin_qwen2_5_jinja,
     &cf_embed_templates_builtin_qwen2_5_jinja_size},
    {"qwen3", cf_embed_templates_builtin_qwen3_jinja, &cf_embed_templates_builtin_qwen3_jinja_size},
    {"smollm3", cf_embed_templates_builtin_smollm3_jinja,
     &cf_embed_templates_builtin_smollm3_jinja_size},
    {"zephyr", cf_embed_templates_builtin_zephyr_jinja,
     &cf_embed_templates_builtin_zephyr_jinja_size},
};

enum { TABLE_N = sizeof table / sizeof table[0] };

cf_str cf_template_builtin(const char *name)
{
    for (size_t i = 0; i < TABLE_N; i++) {
        if (strcmp(table[i].name, name) == 0) {
            return cf_str_make((const char *)table[i].p, *table[i].n);
        }
    }
    return cf_str_make(NULL, 0);
}

const char *cf_template_builtin_name(size_t i)
{
    return i < TABLE_N ? table[i].name : NULL;
}
