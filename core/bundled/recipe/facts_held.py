"""Three questions a fact that are never trained on (see facts.py).

They were written after all training forms and must stay apart from them:
whoever adds a form does not look here, and whoever adds a question here does
not mend the forms with it.
"""

_TEXT = """
view-chat: what number is the chat on? | what's a good way to return to the conversation? | which key would open the chat?
view-prompt: what do I press for the rendered prompt? | I'd really like to look at the complete prompt, please tell me how | open the view with the prompt
view-tokens: what key is the token view on? | suppose I want to look at a reply token by token, what then? | I am looking for a way to view probabilities for the tokens
view-tools: if I want to look at tool calls, what's the right key? | open the view with the tool calls | could you show me the way to inspect a tool call?
view-diff: my aim is to diff two templates, what should I hit? | open the diff for me | is there a view that compares templates?
view-library: what would you press to see stored conversations? | open the list of saved chats | what's a good way to look at older conversations?
token-tree: could several continuations be followed at the same time? | which key grows a tree from a token? | I'd like to see where each alternative leads
run-tool: how could a tool of mine really be executed? | what do I hit so that the call is carried out? | my function should be run by a script now
edit-call: the city in the call is wrong, how is it put right? | may I alter what was passed to the function? | different arguments for this call please
tools-demo: bring back the tools for demonstration | how would I chat with no tools at all? | take the tools away
diff-run: what would the model say under each of the two templates? | let both templates answer | is there a key that runs the two templates?
write-file: put this one answer into a text file | how is a single reply stored as a file? | can what is marked be saved to disk?
view-templates: say I'd like to see the templates, which key does that? | is there a view with the template source? | open the view that has the templates
views: tell me which views you have | what are the seven views called? | I'd really like to change to a different view, please tell me how
help: where are all the keys listed? | what do I press for help? | suppose I want to see every command of this view, what then?
log: if I want to read the engine messages, what's the right key? | which key is the log on? | could you show me the way to get to the log?
back: my aim is to close this screen, what should I hit? | how do I go to the view I came from? | I am finished with this view
quit: what do I hit so that the program quits? | which letter ends the program? | what if I would like to exit confab now?
suspend: what would you press to suspend? | what's a good way to get to my shell for a moment? | put confab aside and return to the shell
redraw: say I'd like to redraw, which key does that? | I'd really like to refresh the picture on the screen, please tell me how | my screen shows rubbish, can it be drawn anew?
maximize: if I want to make the pane larger, what's the right key? | suppose I want to see one pane only, what then? | can a pane be made full screen?
command-line: what do I press before a command? | could you show me the way to run a command in here? | where would I type :template?
search-view: my aim is to search here, what should I hit? | what's a good way to find a word in this view? | I'm looking for text on the screen
next-match: what do I press for the next hit? | I'd really like to go to the previous match, please tell me how | jump to the match after this one
set: suppose I want to change an option in here, what then? | what command sets a setting? | show me my settings please
scroll: what would you press to go down? | could you show me the way to scroll down a line? | which keys move up?
page: say I'd like to scroll a page, which key does that? | what's a good way to go down one page? | is there a key for page up?
half-page: if I want to scroll half a page, what's the right key? | I'd really like to go up half a page, please tell me how | is half a page at a time possible?
top-end: my aim is to go to the end, what should I hit? | suppose I want to get to the first line, what then? | take me to the bottom
write: what would you press to begin writing? | I am looking for a way to put a question to the model | in which place do I enter a message?
send: say I'd like to send my message, which key does that? | could you show me the way to submit my question? | which key sends off the text?
newline: what do I press for a line break? | what's a good way to write two lines in a message? | I need a new line in my message
editor: if I want to open my editor, what's the right key? | can I write the message with vim? | I'd really like to use my own editor here, please tell me how
stop: my aim is to stop the answer, what should I hit? | suppose I want to cancel this reply, what then? | abort this generation at once
retry: what do I press for a different answer? | could you show me the way to regenerate this? | I want one more reply
edit: what would you press to change a message? | what's a good way to correct my last message? | can I change a reply and continue from it?
siblings: say I'd like to see the other reply, which key does that? | I'd really like to go back to the earlier answer, please tell me how | show me the previous version of the reply
follow: what do I press so that it follows the text? | suppose I want to turn off auto scroll, what then? | stop following the reply
new: what do I press for a new chat? | could you show me the way to begin a fresh conversation? | what if I would like to start over?
fold: if I want to hide the thinking, what's the right key? | what's a good way to read what the model thought? | can I have the reasoning unfolded?
yank: my aim is to copy a reply, what should I hit? | I'd really like to get this text into my clipboard, please tell me how | the last answer should be copied
yank-id: what would you press to copy the id? | suppose I want to get the UUID of this reply, what then? | copy the turn's uuid
rate: what do I press for thumbs up? | could you show me the way to mark this answer as bad? | can answers be rated?
note: what's a good way to add a comment to this reply? | what command writes a note? | may replies be annotated?
prompt-move: what do I press in the prompt to reach the next message? | I'd really like to move between messages of the prompt, please tell me how | inside the prompt view, what is w doing?
divergence: say I'd like to find where the cache breaks, which key does that? | suppose I want to jump to the divergence, what then? | show where the cache stops matching
ids: if I want to see the token ids, what's the right key? | which ids do these tokens have? | switch the prompt to ids
var: could you show me the way to set a variable for my template? | what command sets enable_thinking? | change a variable that the template uses
origin: what's a good way to find the template line of a token? | what wrote this piece of the prompt? | I am looking for a way to know where that token came from
cache-lost: why isn't the cache used? | I'd really like to find out what broke my cache, please tell me how | what made me lose the cache?
surprise: what do I press for the next surprise? | suppose I want to find unlikely tokens, what then? | one surprise back, how?
surprise-term: why is this token marked as a surprise? | which token would be a surprise? | when do you speak of a surprise?
fork-token: could you show me the way to pick a different token? | my aim is to continue with an alternative, what should I hit? | can I choose another token and go on?
overlay: what would you press to change the token colours? | what's a good way to switch the overlay to entropy? | turn the overlay off
left-right: say I'd like to go to the next token, which key does that? | I'd really like to move one token left, please tell me how | which key goes a token back?
sampler-path: what is that sampler path box? | suppose I want to learn which step removed a token, what then? | what information is in the sampler path?
raw-drawn: the column called drawn, what's in it? | how do raw and drawn differ? | what is the raw number of a token?
stages: there are five stages, tell me which | which stages does the tool view have? | tell me the stages of a call
next-stage: if I want to get to the next stage, what's the right key? | could you show me the way to move to another stage? | go one stage further in the tools view
zoom: my aim is to see just one stage, what should I hit? | I'd like one stage to be larger | zoom in on a stage
result: what would you press to give a tool result? | what's a good way to type the result of a tool? | what if I would like to answer the tool call myself?
mock: say I'd like to use a mock, which key does that? | I'd really like to answer this call with my mock, please tell me how | the mock should answer this call
mock-make: suppose I want to create a mock, what then? | what command do I type to mock a tool? | I am looking for a way to define a fake result for my tool
mock-term: what exactly is a mock here? | tell me what mocks are | do I need a mock?
fix: if I want to apply a fix, what's the right key? | could you show me the way to repair a malformed call? | take the fix that is offered
no-run: are tools executed by confab? | will my function be run automatically? | is it really calling my tools?
demo-tools: what tools come bundled? | which tools can I try here? | list the tools you have
demo-real: is this weather made up? | are those stock prices real? | do the demo tools go online?
waits: why does it say WAITS? | what is WAITS about? | my tool call is waiting, why?
declare: what's a good way to add a tool of my own? | which option gives tools to the model? | what if I would like to define some functions?
with: I'd really like to choose the template to diff against, please tell me how | for the diff I need a second template | compare the template with chatml
level: my aim is to diff the tokens, what should I hit? | suppose I want to compare the template sources, what then? | change the diff from text to tokens
hunks: what do I press for the next difference? | go one hunk back | next change in the diff
swap: what would you press to swap both sides? | could you show me the way to exchange A with B? | can A and B change places?
white: say I'd like to see white space, which key does that? | spaces should be visible in the diff | show the invisible characters
saved: if I want to compare everything that is saved, what's the right key? | what's a good way to diff templates over all conversations? | check all saved chats with both templates
marks: I'd really like to compare two conversations, please tell me how | my aim is to mark a conversation for comparing, what should I hit? | diff one chat with another
open-saved: what would you press to open an old chat? | suppose I want to continue an earlier conversation, what then? | reopen yesterday's conversation
search-library: could you show me the way to search in all my chats? | say I'd like to search old conversations, which key does that? | find a conversation where I said something
filter: if I want to filter the list, what's the right key? | what's a good way to show only tagged conversations? | filter my saved chats
sort: my aim is to sort, what should I hit? | I'd really like to order the conversations by date, please tell me how | the list should be by title
tag: what would you press to tag a chat? | suppose I want to label this conversation, what then? | put a tag on it
rename: say I'd like to rename a chat, which key does that? | could you show me the way to change the title? | give my conversation another name
archive: if I want to delete a chat, what's the right key? | what's a good way to remove a conversation? | hide this chat from the library
undo: my aim is to undo, what should I hit? | I'd really like to take back what I just did, please tell me how | undo the last thing in the library
search-words: is searching by date possible? | suppose I want to search for a phrase, what then? | which words does the search understand?
template: could you show me the way to switch to a different template? | the template should be another one, what do I type? | I am looking for a way to try my own template
template-model: what's a good way to go back to the template of the model? | I want the template reset to the one of the model | what do I type to get the original template?
template-edit: what would you press to edit a template? | I'd really like to change the template's code, please tell me how | can I modify the template source?
template-use: say I'd like to activate the selected template, which key does that? | suppose I want to use a template of the list, what then? | can the selected template be used now?
confab: so what is this program? | what would I use confab for? | could you describe confab in a sentence?
model-self: what model do you use? | how big is the model here? | are you a small model?
local: is anything sent to the internet? | are my messages private here? | does confab phone home?
load-model: could you show me the way to use a bigger model? | what option do I need to load a GGUF? | what if I would like to run my own model?
server: can I connect confab to a server? | what's a good way to use a model on a server? | what option takes a server address?
script: can I use confab without any model? | I'd really like to script the replies, please tell me how | replies from a script, how?
formats: could I run a llama model in confab? | what models could I load? | is gemma supported?
images: can I send you a picture? | does confab handle images? | is audio input possible?
files: where does confab keep its things? | suppose I want to find the files of confab, what then? | what command prints the paths?
database: in which place does it store my chats? | does confab save what I write? | what file has my conversations in it?
config: what's the name of the config file? | could you show me the way to keep my settings? | what goes into confabrc?
bind: is it allowed to change keys? | what's a good way to remap a key? | I want different key bindings
mouse: would my mouse be of use? | my mouse wheel should scroll | turn the mouse on
a11y: does it work with a screen reader? | how could a blind person use confab? | accessibility options, are there any?
hardware: I don't own a GPU, is that ok? | is an ordinary laptop enough for confab? | what must my computer have?
licence: is this free software? | what license is it under? | can I use confab at my job?
build: I'd really like to compile confab, please tell me how | what command builds it? | tell me the steps to install confab
tour: I'm looking for the manual | is there a guide for new users? | what should I read to learn confab?
cli-help: what commands does confab have in the shell? | suppose I want to get help on a command, what then? | list the subcommands of confab
cli-run: if I run confab run, what do I get? | could you show me the way to ask one question from the shell? | a single prompt without the workbench, please
cli-chat: if I run confab chat, what do I get? | what must I type to start the workbench? | which command opens the workbench in the shell?
cli-complete: if I run confab complete, what do I get? | what's a good way to continue a raw text? | complete some text without a template
cli-model: if I run confab model, what do I get? | I'd really like to see how much memory a model takes, please tell me how | look at a model file
cli-bench: if I run confab bench, what do I get? | suppose I want to measure the speed of my model, what then? | test how fast it is
cli-tokenize: if I run confab tokenize, what do I get? | I'd like the tokens of a text counted | split my text into tokens
cli-parse: if I run confab parse, what do I get? | could you show me the way to extract tool calls from text? | parse a raw reply
cli-constrain: if I run confab constrain, what do I get? | what's a good way to validate JSON with a schema? | does confab test texts against a regex?
schema: I'd really like to get valid JSON replies, please tell me how | force the model to write JSON | can the output follow a schema?
cli-history: if I run confab history, what do I get? | suppose I want to list my chats in the shell, what then? | I am looking for a way to manage my chats from a shell
export: could you show me the way to export my chat? | markdown file of a conversation, how? | can I export to another format?
import: what's a good way to import old chats? | read conversations from ChatGPT into confab | is importing possible?
cli-db: if I run confab db, what do I get? | I'd really like to back up my conversations, please tell me how | can the database be backed up?
cli-replay: if I run confab replay, what do I get? | suppose I want to run a stored reply again, what then? | is a reply reproducible later?
cli-render: if I run confab render, what do I get? | could you show me the way to render a template in the shell? | show what the template outputs, on the command line
cli-diff: if I run confab diff, what do I get? | what's a good way to diff templates in a shell? | command line diff of two templates
cli-lint: if I run confab lint, what do I get? | I'd really like to check a template for errors, please tell me how | are mistakes in a template found?
cli-score: if I run confab score, what do I get? | suppose I want to get the likelihood of a text, what then? | score a sentence
cli-json: could you show me the way to get JSON from the commands? | which option prints JSON? | I want the result as JSON
system-prompt-set: which way is a system prompt set? | where would I put a system message? | give the model a system prompt
thinking-set: what's a good way to turn thinking off? | can I switch the reasoning on? | it should think before it answers
no-store: I'd really like to chat without saving, please tell me how | can I talk privately, with nothing saved? | do not store this conversation
threads: it uses too many threads | what option sets the number of cores? | use all my cores
ctx: suppose I want to enlarge the context, what then? | for a larger context size, what do I add? | I need a longer context
max-tokens: could you show me the way to make replies shorter? | is there a limit for the length that I can set? | limit the number of tokens in a reply
temperature: what is the temperature for? | what does a higher temperature do? | explain the temperature setting
temperature-set: what's a good way to lower the temperature? | set the temperature to 0.3 | what if I would like to change the temperature now?
top-k: what is top-k for? | tell me how top-k works | what would a lower top-k do?
top-p: what is top-p for? | tell me how top-p works | what would a lower top-p do?
min-p: what is min-p for? | tell me how min-p works | what would a lower min-p do?
penalty: I'd really like to stop it from repeating itself, please tell me how | what is the repetition penalty for? | the model keeps repeating the same thing
seed: what is the seed for? | suppose I want to get the same answer again, what then? | why is each answer different?
greedy: people say greedy decoding, meaning what? | could you show me the way to turn the randomness off? | always choose the most likely token
sampling: people say sampling, meaning what? | how does it select the next token? | what is a sampler for?
logit: people say logits, meaning what? | tell me what a logit is | is a logit a probability?
softmax: what is softmax for? | tell me what softmax does | how are logits turned into probabilities?
entropy: what is the entropy of a token? | tell me what entropy means | does high entropy mean unsure?
perplexity: people say perplexity, meaning what? | tell me what perplexity means | is a low perplexity better?
token: so what is a token? | tell me what tokens are | is a token the same as a word?
tokenizer: so what is a tokenizer? | tell me what the tokenizer does | how is text turned into tokens?
bpe: so what is BPE? | tell me how BPE works | is BPE the same as byte pair encoding?
special-token: what makes a token a special one? | tell me what control tokens are | why does the prompt have special tokens?
chat-template: so what is a chat template? | tell me what the template is for | do I need a chat template?
prompt: so what is a prompt? | tell me what the prompt is | what text does the model read?
system-prompt: so what is a system prompt? | tell me what the system message is for | what's the role of the system prompt?
kv-cache: so what is the KV cache? | tell me what the cache is for | does the KV cache make it faster?
prefill: so what is prefill? | tell me what prefill means | what is the prefill speed?
decode: so what is decode? | tell me what decoding is | how does decode differ from prefill?
tps: so what is t/s? | tell me what tokens per second means | what unit is the speed in?
context-length: so what is the context length? | tell me what a context window is | is the number of tokens in a prompt limited?
gguf: so what is GGUF? | tell me what a GGUF file is | what does a GGUF file contain?
quantization: so what is quantization? | tell me why models are quantized | what does it mean that a model is quantized?
q8_0: so what is Q8_0? | tell me what Q8_0 means | how many bits does Q8_0 use?
tool-call: so what is a tool call? | tell me what function calling is | how do models call functions?
tool-parser: so what is the tool parser? | tell me what the parser does | how are calls found in the reply?
json-schema: so what is a JSON schema? | tell me what a schema is for | people say JSON schema, meaning what?
constraint: so what is a constraint? | tell me how constrained decoding works | what are constraints for?
thinking: so what is thinking? | tell me why models think | is thinking shown before the answer?
provenance: so what is provenance? | tell me what a span is | what do provenance spans show?
fork-term: so what is a fork? | tell me what a branch is | what are forks for?
fork-cli: can conversations be forked? | what command branches a chat? | begin a new chat from an old message
sibling: so what is a sibling? | tell me what siblings are | why are there two replies to one message?
turn: so what is a turn? | tell me what turns are | is a turn a message?
uuid: so what is a UUID? | tell me what the uuid is for | why does each turn have an id?
streaming: so what is streaming? | tell me what streaming means | why does the text come in pieces?
injection: so what is prompt injection? | tell me what an injection is | how does prompt injection work?
hallucination: so what is a hallucination? | tell me why models hallucinate | why does a model invent things?
llm: so what is a language model? | tell me how an LLM works | what is an LLM doing?
small-hello: hello little robot | hi, how nice to meet you | a very good morning, model
small-how: how are you feeling this evening? | are you fine? how is life? | how has your day been?
small-name: what's your real name? | and who might you be? | tell me your first name
small-human: are you a human or a program? | is there a real human on the other side? | are you a living thing?
small-can: what are you able to do? | can you do anything for me? | which things do you know?
small-chatgpt: is it ChatGPT I talk to? | are you the same as ChatGPT? | so you are GPT-4?
tools-ignored: how can it be that my tools are passed over? | I gave it a function, yet it is never called | what could keep a model from calling tools?
small-maker: who was it that made you? | where were you trained and by whom? | I wonder who programmed you
small-thanks: thank you, that was useful | thanks, very kind | ok great thank you
small-bye: bye for now | ok I am leaving, goodbye | see you next week
small-wrong: I think you made a mistake there | that can't be right | no, this is not true
small-praise: that was a really good answer | you are really good | very well done
small-ok: ok, good to know | yes I understand now | fine, I see
small-help: please could you help me a bit? | I have a problem and need help | can I ask you a thing?
small-joke: do you know a really good joke? | please tell a joke | make me laugh a bit
small-sorry: oh sorry about that | sorry, that was wrong of me | I am really sorry
small-insult: you are so stupid | this model is useless | I really hate you
small-learn: can you learn from what I write? | will you remember this conversation? | do you get better when I talk to you?
small-language: do you know any other languages? | could we speak German? | are you able to speak Spanish?
small-test: is this thing working? | hello, test, does it work? | this is just a small test
small-again: could you say that once again? | sorry, what did you mean? | I don't understand your answer, explain again
"""

HELD = {}
for _line in _TEXT.strip().splitlines():
    _key, _questions = _line.split(": ", 1)
    HELD[_key] = [q.strip() for q in _questions.split(" | ")]
