/*
 * test_seed_snippets.c - the messages and declarations that the documents of
 * LiteRT-LM, the function-calling SDK, ConverseHistory and Xaibo show, each
 * with the words that the model must get: with every built-in template they
 * are in the prompt, or the loss of what the template has no place for is
 * named.
 */
#include "templates/builtin.h"
#include "templates/chat_template.h"
#include "tests/support/t.h"

#include "core/api/message_form.h"
#include "core/json/json.h"

#include <string.h>

/* JSON of a context, with ' for "; words with | between.  A medium may be lost,
 * with a line that names it; a text may not. */
typedef struct snippet {
    const char *name, *context, *words;
    size_t n_media;
} snippet;

#define PREFACE_TOOLS                                                                        \
    "[{'name':'get_weather','description':'Returns the weather for a given location.',"      \
    "'parameters':{'type':'object','properties':{'location':{'type':'string','description':" \
    "'The location to get the weather for.'}},'required':['location']}},"                    \
    "{'name':'get_stock_price','description':'Returns the stock price for a given stock "    \
    "symbol.','parameters':{'type':'object','properties':{'stock_symbol':{'type':'string',"  \
    "'description':'The stock symbol to get the price for.'}},'required':['stock_symbol']}}]"

#define SDK_TOOL                                                                             \
    "[{'functionDeclarations':[{'name':'getWeather','description':'Returns the weather "     \
    "conditions at a location.','parameters':{'type':'OBJECT','properties':{'location':"     \
    "{'type':'STRING','description':'The location for the weather report.'}},'required':"    \
    "['location']}},{'name':'getTime','description':'Returns the current time in the given " \
    "timezone.','parameters':{'type':'OBJECT','properties':{'timezone':{'type':'STRING',"    \
    "'description':'Returns the current time in the given timezone.'}},'required':"          \
    "['timezone']}}]}]"

static const snippet snippets[] = {
    {"LiteRT-LM: text only",
     "{'messages':{'role':'user','content':'What is the tallest building in the world?'}}",
     "What is the tallest building in the world?", 0},
    {"LiteRT-LM: an image",
     "{'messages':[{'role':'user','content':[{'type':'text','text':'Describe the following "
     "image: '},{'type':'image','path':'/file/path/to/image.jpg'}]}]}",
     "Describe the following image:", 1},
    {"LiteRT-LM: a sound",
     "{'messages':[{'role':'user','content':[{'type':'text','text':'Transcribe the audio: '},"
     "{'type':'audio','path':'/file/path/to/audio.wav'}]}]}",
     "Transcribe the audio:", 1},
    {"LiteRT-LM: two images and a sound",
     "{'messages':[{'role':'user','content':[{'type':'text','text':'First briefly describe the "
     "two images '},{'type':'image','path':'/file/path/to/image1.jpg'},{'type':'text','text':"
     "'and '},{'type':'image','path':'/file/path/to/image2.jpg'},{'type':'text','text':' then "
     "transcribe the content in the audio'},{'type':'audio','path':'/file/path/to/audio.wav'}]}]}",
     "First briefly describe the two images|and|then transcribe the content in the audio", 3},
    {"LiteRT-LM: a role model, naive text",
     "{'messages':[{'role':'user','content':'Hi'},{'role':'model','content':'Hello World!'}]}",
     "Hi|Hello World!", 0},
    {"LiteRT-LM: a reply as PrintJsonMessage reads it, a list",
     "{'messages':[{'role':'user','content':'Hi'},{'role':'model','content':[{'type':'text',"
     "'text':'Hello World!'}]}]}",
     "Hi|Hello World!", 0},
    {"LiteRT-LM: the same, an object",
     "{'messages':[{'role':'user','content':'Hi'},{'role':'model','content':{'type':'text',"
     "'text':'Hello World!'}}]}",
     "Hi|Hello World!", 0},
    {"LiteRT-LM: the parts of data_utils",
     "{'messages':[{'role':'user','content':[{'type':'text','text':'this is a text'},"
     "{'type':'image','path':'/path/to/image.jpg'},{'type':'image','blob':'/9j/4AAQ'},"
     "{'type':'audio','path':'/path/to/audio.wav'},{'type':'audio','blob':'UklGRg=='}]}]}",
     "this is a text", 4},
    {"LiteRT-LM: the preface",
     "{'messages':{'role':'system','content':['You are a model that can do function "
     "calling.']},'tools':" PREFACE_TOOLS ",'enable_thinking':false}",
     NULL, 0},
    {"LiteRT-LM: the preface and a message",
     "{'messages':[{'role':'system','content':['You are a model that can do function calling.']},"
     "{'role':'user','content':'Is it raining?'}],'tools':" PREFACE_TOOLS
     ",'enable_thinking':false}",
     "You are a model that can do function calling.|Is it raining?|get_weather|get_stock_price|"
     "stock_symbol|Returns the weather for a given location.",
     0},
    {"LiteRT-LM: thinking in a channel",
     "{'messages':[{'role':'user','content':'Hi'},{'role':'model','content':'Hello World!',"
     "'channels':{'thought':'zqthink'}}]}",
     "Hi|Hello World!", 1},
    {"FC SDK: declarations, system instruction, call and response",
     "{'systemInstruction':{'role':'system','parts':[{'text':'You are a helpful assistant.'}]},"
     "'contents':[{'role':'user','parts':[{'text':'How is the weather in San Francisco?'}]},"
     "{'role':'model','parts':[{'functionCall':{'name':'getWeather','args':{'location':"
     "'San Francisco'}}}]},{'role':'user','parts':[{'functionResponse':{'name':'getWeather',"
     "'response':{'result':'Cloudy, 56F'}}}]}],'tools':" SDK_TOOL "}",
     "You are a helpful assistant.|How is the weather in San Francisco?|getWeather|getTime|"
     "timezone|Cloudy, 56F",
     0},
    {"FC SDK: a mix of text and calls",
     "{'contents':[{'role':'user','parts':[{'text':'Weather and time?'}]},"
     "{'role':'model','parts':[{'text':'I look.'},{'functionCall':{'name':'getWeather','args':"
     "{'location':'Oslo-7'}}},{'functionCall':{'name':'getTime','args':{'timezone':'CET-9'}}}]},"
     "{'role':'user','parts':[{'functionResponse':{'name':'getWeather','response':{'result':"
     "'Cloudy, 56F'}}},{'functionResponse':{'name':'getTime','response':{'result':'7:00 PM'}}}]}],"
     "'tools':" SDK_TOOL "}",
     "Weather and time?|Oslo-7|CET-9|Cloudy, 56F|7:00 PM", 1},
    {"ConverseHistory: its roles and a content with files",
     "{'history':[{'role':'developer','content':{'text':'Rules of it'},'uuid':'a'},"
     "{'role':'user','content':{'text':'Look','binaryContent':[{'type':'bytes','data':[-1,-40,-1],"
     "'mimeType':'image/jpeg'},{'type':'com.x.BinaryContent.TextDocument','content':"
     "'The document','mimeType':'text/plain'}]},'uuid':'b'},"
     "{'role':'agent','content':{'text':'Seen'},'uuid':'c'},"
     "{'role':'user','content':{'text':'And','binaryContent':[]},'uuid':'d'},"
     "{'role':'assistant','content':{'text':'Done'},'uuid':'e'}]}",
     "Rules of it|Look|The document|Seen|And|Done", 1},
    {"Xaibo: the class methods, as pydantic writes them",
     "{'messages':[{'role':'system','content':[{'type':'text','text':'You are a helpful "
     "assistant','image':null}],'name':null,'tool_calls':null,'tool_results':null},"
     "{'role':'user','content':[{'type':'image','text':null,'image':'data:image/jpeg;base64,"
     "/9j/4AAQ'}],'name':null,'tool_calls':null,'tool_results':null},"
     "{'role':'user','content':[{'type':'text','text':'Hello, how are you?','image':null}],"
     "'name':null,'tool_calls':null,'tool_results':null},"
     "{'role':'function','content':[],'name':null,'tool_calls':[{'id':'call_123','name':"
     "'get_weather','arguments':{'city':'Paris'}}],'tool_results':null},"
     "{'role':'function','content':[],'name':null,'tool_calls':null,'tool_results':[{'id':"
     "'call_123','name':'get_weather','content':'Sunny, 22C'}]},"
     "{'role':'assistant','content':[{'type':'text','text':'I am doing well','image':null}],"
     "'name':null,'tool_calls':null,'tool_results':null}],"
     "'tools':[{'name':'get_weather','description':'Weather of it','parameters':{'city':{'type':"
     "'string','description':'Its name','required':true,'default':null,'enum':null}}}]}",
     "You are a helpful assistant|Hello, how are you?|get_weather|Paris|Sunny, 22C|"
     "I am doing well|city",
     1},
    {"Xaibo: _convert_messages",
     "{'messages':[{'role':'user','content':'What is the capital of France?'},"
     "{'role':'assistant','content':'','tool_calls':[{'id':'call_123','type':'function',"
     "'function':{'name':'get_weather','arguments':'{\\'city\\': \\'Paris\\'}'}}]},"
     "{'role':'tool','tool_call_id':'call_123','content':'Sunny, 22C'}]}",
     "What is the capital of France?|get_weather|Paris|Sunny, 22C", 0},
};

static json_t *context_of(const char *text)
{
    cf_error err = {0};
    json_t *v = NULL;
    char *copy = strdup(text);
    for (char *c = copy; *c != '\0'; c++) {
        *c = *c == '\'' ? '"' : *c;
    }
    T_OK(cf_json_read(&v, copy, strlen(copy), &err), err);
    free(copy);
    json_object_set_new(v, "add_generation_prompt", json_true());
    json_object_set_new(v, "bos_token", json_string("<s>"));
    json_object_set_new(v, "eos_token", json_string("</s>"));
    return v;
}

/* The losses of a prompt, a line each. */
static void add_line(void *ud, const cf_loss *loss)
{
    cf_buf_add(ud, loss->line.p, loss->line.n);
    cf_buf_addc(ud, '\n');
}

static size_t count_lines(const cf_buf *b)
{
    size_t n = 0;
    for (size_t i = 0; i < b->n; i++) {
        n += b->p[i] == '\n';
    }
    return n;
}

static void check_words(const snippet *s, const char *name, const cf_prompt *p, const cf_buf *lost)
{
    char words[400];
    snprintf(words, sizeof words, "%s", s->words);
    for (char *word = strtok(words, "|"); word != NULL; word = strtok(NULL, "|")) {
        if (!cf_str_find(p->text, cf_str_from(word), NULL)) {
            fail_msg("%s, %s: no '%s' in\n%.*s\n%s", name, s->name, word, (int)p->text.n, p->text.p,
                     cf_buf_cstr(lost));
        }
    }
}

static void check(const snippet *s, const char *name)
{
    cf_error err = {0};
    cf_arena arena;
    cf_prompt prompt;
    cf_template *tpl;
    cf_buf lost = CF_BUF_INIT;
    json_t *context = context_of(s->context);
    json_t *messages = cf_context_messages(context);
    cf_arena_init(&arena, 0);
    T_OK(cf_template_compile(&tpl, cf_template_builtin(name), NULL, NULL, NULL, &err), err);
    cf_prompt_renderer r = cf_renderer_template(tpl);
    cf_status st = r.render(r.ud, context, &arena, &prompt, &err);
    if (st != CF_OK && s->words != NULL) {
        fail_msg("%s, %s: %s", name, s->name, err.text);
    }
    if (st == CF_OK && s->words != NULL) {
        T_OK(cf_prompt_each_loss(&prompt, messages, json_object_get(context, "tools"), add_line,
                                 &lost, &err),
             err);
        check_words(s, name, &prompt, &lost);
        if (count_lines(&lost) > s->n_media) {
            fail_msg("%s, %s:\n%s%.*s", name, s->name, cf_buf_cstr(&lost), (int)prompt.text.n,
                     prompt.text.p);
        }
    }
    cf_buf_deinit(&lost);
    json_decref(messages);
    json_decref(context);
    cf_template_free(tpl);
    cf_arena_deinit(&arena);
}

/* One test for each template, so that a failure names it. */
static void test_seeds__every_snippet(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof snippets / sizeof *snippets; i++) {
        for (size_t k = 0; cf_template_builtin_name(k) != NULL; k++) {
            check(&snippets[i], cf_template_builtin_name(k));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_seeds__every_snippet),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
