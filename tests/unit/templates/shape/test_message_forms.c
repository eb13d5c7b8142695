/*
 * test_message_forms.c - every spelling of one conversation gives one prompt,
 * with every built-in template; nothing of it is lost, and what is lost is
 * named.
 */
#include "templates/builtin.h"
#include "templates/chat_template.h"
#include "tests/support/t.h"

#include "core/api/message_form.h"
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
         "[" QUERY "{'role':'assistant','content':['It is warm'],'thinking':['Let ',{'text':"
         "'me see'}]}]",
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
    {"results that are lists, and numbers",
     "How warm is it|4711 degrees|7",
     {
         "[{'role':'user','content':'How warm is it 7'},{'role':'assistant','content':'',"
         "'tool_calls':[{'id':'call00001','type':'function'," CALL_AS "}]},{'role':'tool',"
         "'tool_call_id':'call00001','name':'get_heat','content':'4711 degrees'}]",
         "[{'role':'user','content':['How warm is it ',7]},{'role':'assistant','content':'',"
         "'tool_calls':[{'id':'call00001','type':'function'," CALL_AS "}]},{'role':'tool',"
         "'tool_call_id':'call00001','name':'get_heat','content':[{'text':'4711 '},{'text':"
         "'degrees'}]}]",
         "[{'role':'user','content':[{'text':'How warm is it '},[7]]},{'role':'assistant',"
         "'content':'','tool_calls':[{'id':'call00001','type':'function'," CALL_AS
         "}]},{'role':'tool',"
         "'tool_call_id':'call00001','name':'get_heat','content':[{'type':'text','text':"
         "'4711'},{'text':' degrees'}]}]",
     }},
    {"a message without content",
     "How warm is it",
     {
         "[{'role':'user','content':''},{'role':'assistant','content':''}," QUERY
         "{'role':'assistant','content':''}," LAST "]",
         "[{'role':'user'},{'role':'assistant'}," QUERY "{'role':'model','content':[]}," LAST "]",
         "[{'role':'user','content':null},{'role':'assistant','parts':[]}," QUERY
         "{'role':'assistant','content':[null],'tool_calls':[]}," LAST "]",
         "[{'role':'user','content':[]},{'role':'assistant','content':{'type':'text','text':''}}"
         "," QUERY "{'role':'assistant','refusal':'','channels':{},'reasoning':''}," LAST "]",
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

static void render(shot *out, cf_template *tpl, const json_t *c)
{
    cf_error err = {0};
    cf_arena arena;
    cf_prompt prompt;
    cf_arena_init(&arena, 0);
    *out = (shot){.prompt = CF_BUF_INIT, .losses = CF_BUF_INIT};
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
    cf_arena_deinit(&arena);
}

static void shot_free(shot *s)
{
    cf_buf_deinit(&s->prompt);
    cf_buf_deinit(&s->losses);
}

/* The messages that something is lost of: a text that is lost is as many parts as
 * it was spelled with. */
static size_t n_losses(const shot *s)
{
    size_t n = 0;
    const char *last = "";
    for (const char *at = cf_buf_cstr(&s->losses); *at != '\0'; at = strchr(at, '\n') + 1) {
        n += strncmp(at, last, strlen("message N")) != 0;
        last = at;
    }
    return n;
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

/* One prompt, and as much is lost of the one as of the other. */
static void check_same(const char *name, const char *what, const shot *s, const shot *first)
{
    if (strcmp(cf_buf_cstr(&s->prompt), cf_buf_cstr(&first->prompt)) != 0) {
        fail_msg("%s, %s:\n%s\nand not\n%s", name, what, cf_buf_cstr(&s->prompt),
                 cf_buf_cstr(&first->prompt));
    }
    if (n_losses(s) != n_losses(first)) {
        fail_msg("%s, %s:\n%sand not\n%s", name, what, cf_buf_cstr(&s->losses),
                 cf_buf_cstr(&first->losses));
    }
}

static cf_template *builtin(const char *name)
{
    cf_error err = {0};
    cf_template *tpl;
    T_OK(cf_template_compile(&tpl, cf_template_builtin(name), NULL, NULL, NULL, &err), err);
    return tpl;
}

static void shoot(shot *out, cf_template *tpl, const char *context)
{
    json_t *c = context_of(context);
    render(out, tpl, c);
    json_decref(c);
}

static void test_forms__one_prompt(void **state)
{
    (void)state;
    for (size_t i = 0; cf_template_builtin_name(i) != NULL; i++) {
        const char *name = cf_template_builtin_name(i);
        cf_template *tpl = builtin(name);
        for (size_t k = 0; k < sizeof groups / sizeof *groups; k++) {
            const group *g = &groups[k];
            shot first;
            shoot(&first, tpl, g->forms[0]);
            check_words(name, g, 0, &first);
            for (size_t form = 1; g->forms[form] != NULL; form++) {
                shot s;
                shoot(&s, tpl, g->forms[form]);
                check_same(name, g->forms[form], &s, &first);
                shot_free(&s);
            }
            shot_free(&first);
        }
        cf_template_free(tpl);
    }
}

/* ---- spellings by chance ------------------------------------------------ */

static uint32_t chance;

static unsigned pick(unsigned n)
{
    chance = chance * 1664525u + 1013904223u;
    return (chance >> 16) % n;
}

/* A text, as a part of a list. */
static json_t *spelled_part(const char *text)
{
    switch (pick(5)) {
    case 0:
        return json_string(text);
    case 1:
        return json_pack("{s:s, s:s}", "type", "text", "text", text);
    case 2:
        return json_pack("{s:s, s:n, s:n}", "text", text, "image", "type");
    case 3:
        return json_pack("{s:s, s:s, s:[]}", "type", "output_text", "text", text, "annotations");
    default:
        return json_pack("[s]", text);
    }
}

/* A text, as a content; cut into parts anywhere. */
static json_t *spelled(const char *text, bool has_lists)
{
    size_t n = strlen(text);
    json_t *list = json_array();
    if (!has_lists || pick(4) == 0) {
        json_decref(list);
        return json_string(text);
    }
    for (size_t at = 0; at < n;) {
        char part[64];
        size_t len = 1 + pick((unsigned)(n - at));
        while (((unsigned char)text[at + len] & 0xc0) == 0x80) {
            len++; /* between characters */
        }
        snprintf(part, sizeof part, "%.*s", (int)len, text + at);
        json_array_append_new(list, spelled_part(part));
        if (pick(4) == 0) {
            json_array_append_new(list, json_null());
        }
        at += len;
    }
    return list;
}

static void add_nulls(json_t *m)
{
    static const char *const keys[] = {"name",  "refusal",   "function_call", "audio",
                                       "parts", "tool_name", "annotations",   "tool_results"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        if (pick(3) == 0 && json_object_get(m, keys[i]) == NULL) {
            json_object_set_new(m, keys[i], json_null());
        }
    }
}

/* One call of the assistant's, by one of the interfaces. */
static json_t *spelled_call(const char *say, unsigned form, bool is_plain)
{
    json_t *m = json_pack("{s:s}", "role", is_plain || pick(2) == 0 ? "assistant" : "model");
    json_t *args = json_pack("{s:s}", "city", "Oslo-7");
    if (form == 0) {
        json_object_set_new(m, "content", spelled(say, !is_plain));
        json_object_set_new(m, "tool_calls",
                            json_pack("[{s:s, s:s, s:{s:s, s:O}}]", "id", "call00001", "type",
                                      "function", "function", "name", "get_heat", "arguments",
                                      args));
    } else if (form == 1) {
        json_object_set_new(m, "content", spelled(say, true));
        json_object_set_new(m, "tool_calls",
                            json_pack("[{s:s, s:s, s:O}]", "id", "call00001", "name", "get_heat",
                                      "arguments", args));
    } else {
        json_t *parts = spelled(say, true);
        parts = json_is_string(parts) ? json_pack("[o]", parts) : parts;
        json_array_append_new(
            parts, form == 2 ? json_pack("{s:{s:s, s:s, s:O}}", "functionCall", "id", "call00001",
                                         "name", "get_heat", "args", args)
                             : json_pack("{s:s, s:s, s:s, s:O}", "type", "tool_use", "id",
                                         "call00001", "name", "get_heat", "input", args));
        json_object_set_new(m, form == 2 ? "parts" : "content", parts);
    }
    json_decref(args);
    return m;
}

static json_t *spelled_result(const char *text, unsigned form, bool is_plain)
{
    switch (form) {
    case 0:
        return json_pack("{s:s, s:s, s:s, s:o}", "role", "tool", "tool_call_id", "call00001",
                         "name", "get_heat", "content",
                         is_plain  ? json_string(text)
                         : pick(2) ? json_string(text)
                                   : json_pack("[{s:s}]", "text", text));
    case 1:
        return json_pack("{s:s, s:n, s:[{s:s, s:s, s:s}]}", "role", "function", "content",
                         "tool_results", "id", "call00001", "name", "get_heat", "content", text);
    case 2:
        return json_pack("{s:s, s:[{s:{s:s, s:s, s:s}}]}", "role", "user", "parts",
                         "functionResponse", "id", "call00001", "name", "get_heat", "response",
                         text);
    default:
        return json_pack("{s:s, s:[{s:s, s:s, s:s, s:[{s:s, s:s}]}]}", "role", "user", "content",
                         "type", "tool_result", "tool_use_id", "call00001", "name", "get_heat",
                         "content", "type", "text", "text", text);
    }
}

/* A conversation by chance: the same for the same seed, plain or not. */
static json_t *conversation(uint32_t seed, bool is_plain)
{
    static const char *const texts[] = {"How warm is it", "a\n\nb", "  spaces  ", "<|im_end|>",
                                        "\xc3\xa9t\xc3\xa9 {{ x }}"};
    json_t *list = json_array();
    for (uint32_t turn = 0; turn < 4; turn++) {
        uint32_t bits = (seed * 2654435761u) >> (turn * 5); /* what is said */
        const char *query = texts[bits % 5], *answer = texts[(bits / 5) % 5];
        chance = seed * 31 + turn;
        const unsigned form = is_plain ? 0 : pick(4);
        json_array_append_new(
            list, json_pack("{s:s, s:o}", "role", "user", "content", spelled(query, !is_plain)));
        if (bits & 8) {
            json_array_append_new(list, spelled_call(bits & 16 ? answer : "", form, is_plain));
            json_array_append_new(list, spelled_result("4711 degrees", form, is_plain));
        }
        json_array_append_new(list, json_pack("{s:s, s:o}", "role",
                                              is_plain || pick(2) ? "assistant" : "model",
                                              "content", spelled(answer, !is_plain)));
    }
    for (size_t i = 0; !is_plain && i < json_array_size(list); i++) {
        add_nulls(json_array_get(list, i));
    }
    return json_pack("{s:o, s:b, s:s, s:s}", "messages", list, "add_generation_prompt", 1,
                     "bos_token", "<s>", "eos_token", "</s>");
}

static void test_forms__spelled_by_chance(void **state)
{
    (void)state;
    for (size_t i = 0; cf_template_builtin_name(i) != NULL; i++) {
        cf_template *tpl = builtin(cf_template_builtin_name(i));
        for (uint32_t seed = 1; seed <= 40; seed++) {
            json_t *plain = conversation(seed, true), *other = conversation(seed, false);
            char *text = json_dumps(other, 0);
            shot first, s;
            render(&first, tpl, plain);
            render(&s, tpl, other);
            check_same(cf_template_builtin_name(i), text, &s, &first);
            shot_free(&s);
            shot_free(&first);
            free(text);
            json_decref(plain);
            json_decref(other);
        }
        cf_template_free(tpl);
    }
}

/* What no form has is named with its path, and takes nothing along. */
static void test_forms__named_where_unread(void **state)
{
    (void)state;
    static const struct {
        const char *messages, *words, *lost;
    } rows[] = {
        {"[{'role':'user','content':[{'type':'image','image':'data:image/png;base64,iVBORw0K'},"
         "'abc',5,true]}]",
         "abc5true", "part 1 (image_url)"},
        {"[" QUERY "{'role':'assistant','content':'z','tool_results':'odd'}]", "z",
         "message 2: .tool_results is lost"},
        {"[" QUERY "{'role':'assistant','content':'z','function_call':'odd'}]", "z",
         "message 2: .function_call is lost"},
        {"[" QUERY "{'role':'assistant','content':'z','reasoning':[{'odd':1}]}]", "z",
         "message 2: .reasoning is lost"},
        {"[" QUERY "{'role':'assistant','content':'z','tool_calls':['odd']}]", "z",
         "message 2: .tool_calls[0] is lost"},
        {"[" QUERY "{'role':'user','content':['z',{'type':'odd','x':1}]}]", "z",
         "message 2: .content[1] is lost"},
        {"[" QUERY "'odd',{'role':'user','content':'z'}]", "z", "message 2 is lost"},
    };
    cf_template *tpl = builtin("chatml");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        shot s;
        shoot(&s, tpl, rows[i].messages);
        if (strstr(cf_buf_cstr(&s.prompt), rows[i].words) == NULL ||
            strstr(cf_buf_cstr(&s.losses), rows[i].lost) == NULL) {
            fail_msg("%s:\n%s\n%s", rows[i].messages, cf_buf_cstr(&s.prompt),
                     cf_buf_cstr(&s.losses));
        }
        shot_free(&s);
    }
    cf_template_free(tpl);
}

/* Every call is written, however many there are, and the members of a message
 * of results are not repeated for each of them. */
static void test_forms__many_calls_and_results(void **state)
{
    (void)state;
    (void)state;
    enum { N = 300 };
    json_t *calls = json_array(), *results = json_array();
    for (int i = 0; i < N; i++) {
        json_array_append_new(
            calls, json_pack("{s:s, s:{s:i}}", "name", "f", "arguments", "at", 4711000 + i));
        json_array_append_new(results, json_pack("{s:s, s:{s:s}}", "type", "tool_response",
                                                 "tool_response", "value", "r"));
    }
    json_t *c =
        json_pack("{s:[{s:s, s:s}, {s:s, s:s, s:o}, {s:s, s:s, s:s, s:o}]}", "messages", "role",
                  "user", "content", "q", "role", "assistant", "content", "", "tool_calls", calls,
                  "role", "tool", "name", "f", "extra", "x", "content", results);
    cf_template *tpl = builtin("chatml");
    shot s;
    render(&s, tpl, c);
    for (int i = 0; i < N; i++) {
        char word[16];
        snprintf(word, sizeof word, "%d", 4711000 + i);
        assert_non_null(strstr(cf_buf_cstr(&s.prompt), word));
    }
    assert_int_equal(n_losses(&s), 0);
    cf_formed formed;
    cf_error err = {0};
    T_OK(cf_messages_form(&formed, json_object_get(c, "messages"), &err), err);
    assert_int_equal(json_array_size(formed.messages), 2 + N);
    for (size_t i = 2; i < 2 + N; i++) {
        const json_t *m = json_array_get(formed.messages, i);
        assert_int_equal(json_object_get(m, "extra") != NULL, i == 2);
        assert_string_equal(json_string_value(json_object_get(m, "name")), "f");
    }
    cf_formed_deinit(&formed);
    shot_free(&s);
    json_decref(c);
    cf_template_free(tpl);
}

/* Templates that join their tokens with text have some of their own. */
static void test_forms__tokens_of_their_own(void **state)
{
    (void)state;
    json_t *c = json_pack("{s:[{s:s, s:s}, {s:s, s:s}]}", "messages", "role", "user", "content",
                          "q", "role", "assistant", "content", "a");
    for (size_t i = 0; cf_template_builtin_name(i) != NULL; i++) {
        cf_template *tpl = builtin(cf_template_builtin_name(i));
        shot s;
        render(&s, tpl, c);
        assert_null(strstr(cf_buf_cstr(&s.prompt), "ERROR"));
        if (strcmp(cf_template_builtin_name(i), "llama2") == 0) {
            assert_string_equal(cf_buf_cstr(&s.prompt), "<s>[INST] q [/INST] a </s>");
        }
        shot_free(&s);
        cf_template_free(tpl);
    }
    json_decref(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_forms__one_prompt),
        cmocka_unit_test(test_forms__spelled_by_chance),
        cmocka_unit_test(test_forms__named_where_unread),
        cmocka_unit_test(test_forms__many_calls_and_results),
        cmocka_unit_test(test_forms__tokens_of_their_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
