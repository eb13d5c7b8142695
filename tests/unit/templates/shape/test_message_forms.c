/*
 * test_message_forms.c - every spelling of one conversation gives one prompt,
 * with every built-in template; nothing of it is lost, and what is lost is
 * named.
 */
#include "templates/builtin.h"
#include "templates/chat_template.h"
#include "tests/support/t.h"

#include "core/json/json.h"

#include <string.h>

/* The spellings of one conversation, JSON of a context each, with ' for ". */
typedef struct group {
    const char *name;
    const char *words; /* that every prompt has, with | between */
    const char *forms[24];
} group;

#define SYSTEM      "{'role':'system','content':'You are terse'},"
#define QUERY       "{'role':'user','content':'How warm is it'},"
#define LAST        "{'role':'user','content':'And now'}"
#define CALL_AS     "'function':{'name':'get_heat','arguments':{'city':'Oslo-7'}}"
#define TOOLS_AS(x) "{'messages':[{'role':'user','content':'How warm is it'}],'tools':" x "}"

static const group groups[] = {
    {"texts",
     "You are terse|How warm is it|Warm enough|And now",
     {
         "[" SYSTEM QUERY "{'role':'assistant','content':'Warm enough'}," LAST "]",
         "[{'role':'system','content':['You are ','terse']},"
         "{'role':'user','content':['How warm',' is it']},"
         "{'role':'assistant','content':['Warm enough']},{'role':'user','content':['And now']}]",
         "[{'role':'system','content':{'type':'text','text':'You are terse'}},"
         "{'role':'user','content':{'text':'How warm is it'}},"
         "{'role':'model','content':{'type':'text','text':'Warm enough'}},"
         "{'role':'user','content':{'type':'input_text','text':'And now'}}]",
         "[{'role':'system','content':[{'type':'text','text':'You are terse'}]},"
         "{'role':'user','content':[{'type':'text','text':'How warm'},{'text':' is it'}]},"
         "{'role':'model','content':[{'type':'output_text','text':'Warm "
         "enough','annotations':[]}]},"
         "{'role':'user','content':[{'type':'input_text','text':'And '},'now']}]",
         "[{'role':'system','parts':[{'text':'You are terse'}]},"
         "{'role':'user','parts':[{'text':'How warm '},{'text':'is it'}]},"
         "{'role':'model','parts':[{'text':'Warm enough'}]},{'role':'user','parts':['And now']}]",
         "[{'role':'system','content':'You are terse','name':null,'tool_calls':null,"
         "'tool_results':null},{'role':'user','content':[{'type':'text','text':'How warm is it',"
         "'image':null}],'name':null,'tool_calls':null,'tool_results':null},"
         "{'role':'assistant','content':'Warm enough','refusal':null,'function_call':null,"
         "'tool_calls':null,'audio':null,'reasoning_content':null,'annotations':null},"
         "{'role':'user','content':'And now','tool_call_id':null}]",
         "[{'role':'system','content':['You are ',null,'terse']},"
         "{'role':'user','parts':[{'text':'How warm is it','functionCall':null,"
         "'inlineData':null,'functionResponse':null}],'content':null},"
         "{'role':'assistant','content':null,'refusal':'Warm enough'}," LAST "]",
         "[" SYSTEM QUERY "{'role':'assistant','content':[{'type':'refusal','refusal':"
         "'Warm enough'}]}," LAST "]",
         "[" SYSTEM QUERY "{'role':'assistant','content':null,'audio':{'id':'a1','transcript':"
         "'Warm enough'}}," LAST "]",
     }},
    {"calls",
     "How warm is it|get_heat|Oslo-7|4711 degrees|It is warm",
     {
         "[" QUERY "{'role':'assistant','content':null,'tool_calls':[{'id':'call00001','type':"
         "'function','function':{'name':'get_heat','arguments':'{\\'city\\':\\'Oslo-7\\'}'}}]},"
         "{'role':'tool','tool_call_id':'call00001','name':'get_heat','content':'4711 degrees'},"
         "{'role':'assistant','content':'It is warm'}]",
         "[" QUERY "{'role':'assistant','content':'','tool_calls':[{'id':'call00001','type':"
         "'function'," CALL_AS "}]},{'role':'tool','tool_call_id':'call00001','name':'get_heat',"
         "'content':[{'type':'text','text':'4711 degrees'}]},"
         "{'role':'assistant','content':'It is warm'}]",
         "[" QUERY "{'role':'assistant','tool_calls':{'id':'call00001','type':'function'," CALL_AS
         "}},{'role':'tool','tool_call_id':'call00001','name':'get_heat',"
         "'content':{'type':'text','text':'4711 degrees'}},"
         "{'role':'assistant','content':['It is ','warm']}]",
         "[" QUERY "{'role':'assistant','content':[],'tool_calls':[{'id':'call00001','type':"
         "'function','index':null," CALL_AS "}],'refusal':null,'audio':null},"
         "{'role':'tool','tool_call_id':'call00001','name':'get_heat','content':['4711 ',null,"
         "'degrees']},{'role':'assistant','content':'It is warm','tool_calls':null}]",
         "[{'role':'user','content':[{'type':'text','text':'How warm is it','image':null}],"
         "'tool_calls':null},{'role':'function','content':[],'name':null,'tool_calls':[{'id':"
         "'call00001','name':'get_heat','arguments':{'city':'Oslo-7'}}],'tool_results':null},"
         "{'role':'function','content':[],'tool_calls':null,'tool_results':[{'id':'call00001',"
         "'name':'get_heat','content':'4711 degrees'}]},"
         "{'role':'assistant','content':[{'type':'text','text':'It is warm','image':null}]}]",
         "[{'role':'user','parts':[{'text':'How warm is it'}]},"
         "{'role':'model','parts':[{'functionCall':{'id':'call00001','name':'get_heat',"
         "'args':{'city':'Oslo-7'}}}]},"
         "{'role':'user','parts':[{'functionResponse':{'id':'call00001','name':'get_heat',"
         "'response':'4711 degrees'}}]},{'role':'model','parts':[{'text':'It is warm'}]}]",
         "[{'role':'user','parts':[{'text':'How warm is it','function_call':null}]},"
         "{'role':'model','parts':[{'function_call':{'id':'call00001','name':'get_heat',"
         "'args':{'city':'Oslo-7'}},'text':null}]},"
         "{'role':'function','parts':[{'function_response':{'id':'call00001','name':'get_heat',"
         "'response':'4711 degrees'}}]},{'role':'model','parts':[{'text':'It is warm'}]}]",
         "[" QUERY "{'role':'model','content':[{'type':'function_call','id':'call00001',"
         "'name':'get_heat','args':{'city':'Oslo-7'}}]},"
         "{'role':'tool','tool_call_id':'call00001','content':[{'type':'tool_response',"
         "'tool_response':{'name':'get_heat','value':'4711 degrees'}}]},"
         "{'role':'model','content':'It is warm'}]",
         "[" QUERY "{'role':'assistant','content':[{'type':'tool_use','id':'call00001','name':"
         "'get_heat','input':{'city':'Oslo-7'}}]},{'role':'user','content':[{'type':"
         "'tool_result','tool_use_id':'call00001','name':'get_heat','content':[{'type':'text',"
         "'text':'4711 degrees'}]}]},{'role':'assistant','content':[{'type':'text','text':"
         "'It is warm'}]}]",
         "[" QUERY "{'role':'assistant','content':null,'tool_calls':null,'function_call':{'id':"
         "'call00001','name':'get_heat','arguments':'{\\'city\\':\\'Oslo-7\\'}'}},"
         "{'role':'function','tool_call_id':'call00001','name':'get_heat',"
         "'content':'4711 degrees'},{'role':'assistant','content':'It is warm'}]",
     }},
    {"thinking",
     "How warm is it|It is warm",
     {
         "[" QUERY "{'role':'assistant','content':'It is warm','reasoning_content':'Let me see'}]",
         "[" QUERY "{'role':'assistant','content':['It is warm'],'reasoning':'Let me see'}]",
         "[" QUERY "{'role':'model','content':'It is warm','channels':{'thought':'Let me see'}}]",
         "[" QUERY "{'role':'model','content':'It is warm','channels':{'thought':['Let ',"
         "'me see']}}]",
         "[" QUERY "{'role':'model','parts':[{'text':'Let me see','thought':true},"
         "{'text':'It is warm'}]}]",
         "[" QUERY "{'role':'assistant','content':[{'type':'thinking','thinking':'Let me see',"
         "'signature':'x'},{'type':'text','text':'It is warm'}]}]",
     }},
    {"pictures",
     "Describe it|please",
     {
         "[{'role':'user','content':[{'type':'text','text':'Describe it'},{'type':'image_url',"
         "'image_url':{'url':'data:image/png;base64,iVBORw0K'}},{'type':'text','text':"
         "' please'}]}]",
         "[{'role':'user','content':['Describe it',{'type':'image','blob':'iVBORw0K'},"
         "{'text':' please'}]}]",
         "[{'role':'user','content':['Describe ','it',{'type':'image','path':'/no/such.png'},"
         "' please']}]",
         "[{'role':'user','parts':[{'text':'Describe it'},{'inlineData':{'mimeType':'image/png',"
         "'data':'iVBORw0K'}},{'text':' please'}]}]",
         "[{'role':'user','content':[{'type':'text','text':'Describe it','image':null},"
         "{'type':'image','text':null,'image':'data:image/png;base64,iVBORw0K'},"
         "{'type':'text','text':' please','image':null}],'name':null}]",
     }},
    {"declarations",
     "get_heat|city",
     {
         TOOLS_AS("[{'type':'function','function':{'name':'get_heat','description':'Heat of it',"
                  "'parameters':{'type':'object','properties':{'city':{'type':'string'}},"
                  "'required':['city']}}}]"),
         TOOLS_AS("[{'name':'get_heat','description':'Heat of it','parameters':{'type':'OBJECT',"
                  "'properties':{'city':{'type':'STRING'}},'required':['city']}}]"),
         TOOLS_AS("[{'functionDeclarations':[{'name':'get_heat','description':'Heat of it',"
                  "'parameters':{'type':'object','properties':{'city':{'type':'string'}},"
                  "'required':['city']}}]}]"),
         TOOLS_AS("[{'function_declarations':[{'name':'get_heat','description':'Heat of it',"
                  "'parameters':{'type':'object','properties':{'city':{'type':'string'}},"
                  "'required':['city']},'response':null}],'google_search':null}]"),
         TOOLS_AS("[{'name':'get_heat','description':'Heat of it','inputSchema':{'type':'object',"
                  "'properties':{'city':{'type':'string'}},'required':['city']}}]"),
         TOOLS_AS("[{'name':'get_heat','description':'Heat of it','input_schema':{'type':'object',"
                  "'properties':{'city':{'type':'string'}},'required':['city']}}]"),
         TOOLS_AS("[{'name':'get_heat','description':'Heat of it','parameters':{'city':{'type':"
                  "'string','required':true,'default':null}}}]"),
         TOOLS_AS("{'tools':[{'type':'function','name':'get_heat','description':'Heat of it',"
                  "'parameters':{'type':'object','properties':{'city':{'type':'string'}},"
                  "'required':['city']},'strict':null}]}"),
     }},
    {"a declaration with a name only",
     "get_heat",
     {
         TOOLS_AS("[{'name':'get_heat'}]"),
         TOOLS_AS("[{'type':'function','function':{'name':'get_heat','description':null,"
                  "'parameters':null}}]"),
     }},
    {"one message",
     "How warm is it",
     {
         "[{'role':'user','content':'How warm is it'}]",
         "{'role':'user','content':['How warm is it']}",
         "{'role':'user','content':{'text':'How warm is it'},'name':null}",
     }},
};

static json_t *json_of(const char *text)
{
    cf_error err = {0};
    json_t *v = NULL;
    size_t n = strlen(text);
    char *copy = strdup(text);
    for (size_t i = 0; i < n; i++) {
        copy[i] = copy[i] == '\'' ? '"' : copy[i];
    }
    T_OK(cf_json_read(&v, copy, n, &err), err);
    free(copy);
    return v;
}

static json_t *context_of(const char *text)
{
    json_t *v = json_of(text);
    json_t *c = json_object_get(v, "messages") != NULL ? v : json_pack("{s:o}", "messages", v);
    json_object_set_new(c, "add_generation_prompt", json_true());
    json_object_set_new(c, "bos_token", json_string("<s>"));
    json_object_set_new(c, "eos_token", json_string("</s>"));
    return c;
}

static void add_line(void *ud, const cf_loss *loss)
{
    cf_buf_add(ud, loss->line.p, loss->line.n);
    cf_buf_addc(ud, '\n');
}

/* A prompt, or an error, and what is lost. */
typedef struct shot {
    cf_buf prompt, losses;
} shot;

static void render(shot *out, const char *name, const char *context)
{
    cf_error err = {0};
    cf_arena arena;
    cf_prompt prompt;
    cf_template *tpl;
    json_t *c = context_of(context);
    cf_arena_init(&arena, 0);
    *out = (shot){.prompt = CF_BUF_INIT, .losses = CF_BUF_INIT};
    T_OK(cf_template_compile(&tpl, cf_template_builtin(name), NULL, NULL, NULL, &err), err);
    cf_prompt_renderer r = cf_renderer_template(tpl);
    if (r.render(r.ud, c, &arena, &prompt, &err) != CF_OK) {
        cf_buf_addf(&out->prompt, "ERROR: %s", err.text);
    } else {
        uint32_t off = 0; /* spans cover the prompt without a gap */
        for (size_t i = 0; i < prompt.n_spans; i++) {
            assert_int_equal(prompt.spans[i].off, off);
            off += prompt.spans[i].len;
        }
        assert_int_equal(off, prompt.text.n);
        cf_buf_add(&out->prompt, prompt.text.p, prompt.text.n);
        T_OK(cf_prompt_each_loss(&prompt, json_object_get(c, "messages"),
                                 json_object_get(c, "tools"), add_line, &out->losses, &err),
             err);
    }
    json_decref(c);
    cf_template_free(tpl);
    cf_arena_deinit(&arena);
}

static void shot_free(shot *s)
{
    cf_buf_deinit(&s->prompt);
    cf_buf_deinit(&s->losses);
}

static void check_words(const char *name, const group *g, size_t form, const shot *s)
{
    char words[200];
    snprintf(words, sizeof words, "%s", g->words);
    for (char *word = strtok(words, "|"); word != NULL; word = strtok(NULL, "|")) {
        if (strstr(cf_buf_cstr(&s->prompt), word) == NULL) {
            fail_msg("%s, %s, form %zu: no '%s' in\n%s", name, g->name, form, word,
                     cf_buf_cstr(&s->prompt));
        }
    }
}

static void test_forms__one_prompt(void **state)
{
    (void)state;
    for (size_t i = 0; cf_template_builtin_name(i) != NULL; i++) {
        const char *name = cf_template_builtin_name(i);
        for (size_t k = 0; k < sizeof groups / sizeof *groups; k++) {
            const group *g = &groups[k];
            shot first;
            render(&first, name, g->forms[0]);
            check_words(name, g, 0, &first);
            for (size_t form = 1; g->forms[form] != NULL; form++) {
                shot s;
                render(&s, name, g->forms[form]);
                if (strcmp(cf_buf_cstr(&s.prompt), cf_buf_cstr(&first.prompt)) != 0) {
                    fail_msg("%s, %s, form %zu:\n%s\nand not\n%s", name, g->name, form,
                             cf_buf_cstr(&s.prompt), cf_buf_cstr(&first.prompt));
                }
                size_t n = 0, n_first = 0;
                for (size_t at = 0; at < s.losses.n; at++) {
                    n += s.losses.p[at] == '\n';
                }
                for (size_t at = 0; at < first.losses.n; at++) {
                    n_first += first.losses.p[at] == '\n';
                }
                if (n != n_first) {
                    fail_msg("%s, %s, form %zu:\n%sand not\n%s", name, g->name, form,
                             cf_buf_cstr(&s.losses), cf_buf_cstr(&first.losses));
                }
                shot_free(&s);
            }
            shot_free(&first);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_forms__one_prompt),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
