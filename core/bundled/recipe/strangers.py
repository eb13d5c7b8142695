"""Questions of a stranger, for the evaluation of the bundled model.

They were written by somebody who knew only the answers and the declarations
of the tools, and are never used for training.

FACTS    key of an answer -> two questions that it answers
CALLS    (text, tool name, arguments): a request and the call that it asks for
ASK      (text, tool name): a required argument is missing
OUTSIDE  texts that have nothing to do with confab or its tools
SMALL    small talk
"""

FACTS = {
    "view-chat": [
        "how do I get back to the chat view",
        "Where can I see the conversation and its turns?",
    ],
    "view-prompt": [
        "where do I see the rendered prompt",
        "Which key opens the Prompt view?",
    ],
    "view-tokens": [
        "show me the reply token by token with the alternatives",
        "how to open the tokens view",
    ],
    "view-tools": [
        "Where can I inspect the tool calls step by step?",
        "open tools view key",
    ],
    "view-diff": [
        "how can I put two templates side by side on screen?",
        "what key is the diff view",
    ],
    "view-library": [
        "Where do I find my saved conversations?",
        "key for the library",
    ],
    "view-templates": [
        "where can I look at the source of the chat templates?",
        "how do I open the Templates view",
    ],
    "views": [
        "What views are there?",
        "list all the views of confab",
    ],
    "help": [
        "How do I see all keybindings for the view I am in?",
        "keyboard shortcuts help screen",
    ],
    "log": [
        "where are the engine's log messages",
        "How do I open the log?",
    ],
    "back": [
        "how do I close the current view and return to the previous one?",
        "what does lowercase q do",
    ],
    "quit": [
        "How do I exit confab?",
        "quit the program",
    ],
    "suspend": [
        "can I put confab in the background and return to my shell for a moment?",
        "ctrl-z suspend",
    ],
    "redraw": [
        "The screen is garbled, how do I repaint it?",
        "refresh screen key",
    ],
    "maximize": [
        "How can I make one pane fill the whole screen?",
        "zoom a pane to full size and back",
    ],
    "command-line": [
        "How do I enter a colon command?",
        "where do I type commands like :set",
    ],
    "search-view": [
        "how do I search for a word in the view I'm looking at?",
        "find text on screen",
    ],
    "next-match": [
        "go to the previous search match",
        "After a search, how do I jump to the next hit?",
    ],
    "set": [
        "How do I change a setting while confab is running?",
        "list all settings and their values",
    ],
    "scroll": [
        "how do I move the cursor up and down",
        "Which keys scroll by one line?",
    ],
    "page": [
        "How do I scroll a whole page at a time?",
        "page down key",
    ],
    "half-page": [
        "scroll half a screen",
        "What moves me down by half a page?",
    ],
    "top-end": [
        "jump to the very bottom",
        "How do I go to the beginning of the view in one keystroke?",
    ],
    "write": [
        "how do I start typing a message to the model?",
        "enter insert mode to write something",
    ],
    "send": [
        "My message is typed in the composer, how do I submit it?",
        "which key sends the message I wrote",
    ],
    "newline": [
        "How do I insert a line break in a message without sending it?",
        "multi-line message in the composer",
    ],
    "editor": [
        "can I compose my message in vim?",
        "use $EDITOR to write a long message",
    ],
    "stop": [
        "how do I interrupt the model while it is replying?",
        "Abort generation but keep the partial text",
    ],
    "retry": [
        "regenerate the answer",
        "How do I get a different reply to the same message in Chat?",
    ],
    "edit": [
        "I made a typo in a message I already sent in Chat, can I change it?",
        "how to edit the model's reply and let it continue from there",
    ],
    "siblings": [
        "How do I switch between alternative replies?",
        "go to the previous sibling",
    ],
    "follow": [
        "keep scrolling along while the reply comes in",
        "How do I turn off auto-scroll to the end of the reply?",
    ],
    "new": [
        "how do I start a new conversation?",
        "start over with an empty chat",
    ],
    "fold": [
        "How do I hide the thinking block of a reply?",
        "expand collapsed reasoning in a reply",
    ],
    "yank": [
        "copy a turn's text to the clipboard",
        "How can I copy what the model said?",
    ],
    "yank-id": [
        "How do I copy the id of a turn?",
        "get the uuid of this turn into the clipboard",
    ],
    "rate": [
        "can I give a reply a thumbs up or down?",
        "mark this turn as bad",
    ],
    "note": [
        "How do I attach a comment to a turn?",
        "add a note on this turn",
    ],
    "prompt-move": [
        "In the Prompt view, how do I hop from message to message?",
        "go to previous message in the rendered prompt, prompt view",
    ],
    "divergence": [
        "how do I jump to the spot where the prompt stops matching the cache?",
        "Key to go to the divergence in the Prompt view",
    ],
    "ids": [
        "Can the prompt view show the numeric token ids?",
        "display token ids instead of text in Prompt",
    ],
    "var": [
        "How do I pass a variable such as enable_thinking to the template?",
        "set a template variable in the prompt view",
    ],
    "origin": [
        "How do I find out which template line produced a given token?",
        "where in the template did this token in the prompt come from",
    ],
    "cache-lost": [
        "why did I lose the cache, which template line is to blame?",
        "How can I see where the prompt cache got invalidated?",
    ],
    "surprise": [
        "jump to the next surprise in the Tokens view",
        "How do I go to the previous surprising token?",
    ],
    "surprise-term": [
        "What is meant by a surprise here?",
        "what counts as a surprise in the reply",
    ],
    "fork-token": [
        "How do I continue the reply from a different token than the one drawn?",
        "tokens view: pick an alternative token and branch there",
    ],
    "token-tree": [
        "can I see several possible continuations from one token as a tree?",
        "How do I grow a tree in the Tokens view?",
    ],
    "overlay": [
        "how do I color the tokens by entropy?",
        "Change the overlay in the Tokens view from probability to something else",
    ],
    "left-right": [
        "How do I step one token to the right?",
        "move to the previous token",
    ],
    "sampler-path": [
        "What does the sampler path show?",
        "how many candidates survived each sampler step, where do I read that",
    ],
    "raw-drawn": [
        "What is the difference between the raw and drawn columns?",
        "raw vs drawn probability",
    ],
    "stages": [
        "Which stages does a tool call go through?",
        "list the stages in the tools view",
    ],
    "next-stage": [
        "how do I get from one stage to the next in Tools?",
        "go back one stage of a tool call",
    ],
    "zoom": [
        "How can I look at just one stage in the Tools view?",
        "tools view show only the current stage",
    ],
    "result": [
        "can I enter a tool's result by hand?",
        "How do I manually type what the tool returned?",
    ],
    "mock": [
        "which key answers a tool call with its mock?",
        "use the existing mock for this call in Tools",
    ],
    "mock-make": [
        "How do I create a mock for a tool?",
        "define a new mock response for get_weather",
    ],
    "mock-term": [
        "What is a mock?",
        "what does mock mean in confab",
    ],
    "fix": [
        "The Tools view offers a fix for a broken call, how do I apply it?",
        "apply the suggested fix to a malformed tool call",
    ],
    "no-run": [
        "Why was my tool not executed automatically?",
        "does confab run my own tools by itself?",
    ],
    "run-tool": [
        "How do I execute the tool's command for a call?",
        "key to actually run a tool, does it ask first?",
    ],
    "edit-call": [
        "how can I change the arguments the model passed to a tool?",
        "fix a wrong argument in a tool call by editing it",
    ],
    "tools-demo": [
        "How do I enable the demo tools?",
        "turn off the demonstration tools",
    ],
    "demo-tools": [
        "Which demo tools are included?",
        "list the demonstration tools",
    ],
    "demo-real": [
        "Is the weather from the demo tool real?",
        "are the stock prices in the demonstration tools live data?",
    ],
    "waits": [
        "What does WAITS mean next to a tool call?",
        "my tool call says WAITS",
    ],
    "declare": [
        "How do I give the model my own tools?",
        "load tool definitions from a json file",
    ],
    "with": [
        "In the Diff view, how do I choose another template to compare against?",
        "compare with a different template in Diff by typing its name",
    ],
    "level": [
        "How do I make the Diff view compare tokens rather than text?",
        "switch diff between text, tokens and source",
    ],
    "diff-run": [
        "Can I run both templates in the Diff view and see how the replies differ?",
        "diff view: generate a reply for each side",
    ],
    "hunks": [
        "jump to the next difference in the diff",
        "How do I go back to the previous hunk?",
    ],
    "swap": [
        "How do I exchange the two sides in Diff?",
        "flip A and B in the diff view",
    ],
    "white": [
        "show whitespace in the diff",
        "How can I make spaces and newlines visible in the Diff view?",
    ],
    "saved": [
        "Can Diff compare the templates over all of my saved conversations at once?",
        "diff view compare every saved conversation key",
    ],
    "marks": [
        "How do I compare two conversations from the Library?",
        "diff two saved conversations against each other",
    ],
    "open-saved": [
        "how do I reopen an old conversation from the library?",
        "load a saved conversation",
    ],
    "search-library": [
        "How do I do a full text search across all conversations?",
        "find where I talked about regexes in my past chats",
    ],
    "filter": [
        "How do I show only conversations with a certain tag in the Library?",
        "filter the library by model",
    ],
    "sort": [
        "change the order of conversations in the library",
        "Can I sort my conversations by date created?",
    ],
    "tag": [
        "How do I tag a conversation?",
        "remove a tag from a conversation in the library",
    ],
    "rename": [
        "how can I rename a conversation",
        "Give a saved conversation a better title",
    ],
    "archive": [
        "How do I delete a conversation in the Library?",
        "archive old chats",
    ],
    "undo": [
        "I archived the wrong conversation, how do I undo that?",
        "undo last change in library",
    ],
    "search-words": [
        "What syntax does the library search understand?",
        "can I exclude words or limit a search by role or date?",
    ],
    "template": [
        "How do I render with a different chat template?",
        "switch to a template from a file",
    ],
    "template-model": [
        "how do I return to the template that came with the model?",
        "reset to the model's built-in template",
    ],
    "template-edit": [
        "How do I edit a template's source in the Templates view?",
        "modify a chat template and have it take effect immediately",
    ],
    "template-use": [
        "In the Templates view, how do I activate the one I selected?",
        "use selected template from the list of templates",
    ],
    "confab": [
        "What is confab?",
        "what is this program for",
    ],
    "model-self": [
        "How many parameters do you have?",
        "which model am I talking to right now",
    ],
    "local": [
        "Does confab send my data to the cloud?",
        "is this private or does anything leave my computer?",
    ],
    "load-model": [
        "How do I load my own model?",
        "start confab with a gguf file I downloaded",
    ],
    "server": [
        "Can I connect confab to a llama.cpp server that is already running?",
        "use an OpenAI compatible API endpoint",
    ],
    "script": [
        "How can I test without a real model, using canned replies?",
        "scripted replies instead of a model",
    ],
    "formats": [
        "Which model families are supported?",
        "does confab support qwen or llama models?",
    ],
    "images": [
        "Can I send a picture to the model?",
        "attach an image to a message",
    ],
    "files": [
        "Where does confab store its files?",
        "which command prints the directories confab uses",
    ],
    "database": [
        "where is the sqlite database",
        "What are conversations saved in, and where is that file?",
    ],
    "config": [
        "Where is the config file and what do I put in it?",
        "make settings permanent",
    ],
    "bind": [
        "How do I remap a key?",
        "custom key bindings",
    ],
    "mouse": [
        "Does confab support the mouse?",
        "enable scrolling with the mouse wheel",
    ],
    "a11y": [
        "Is there a mode for screen readers?",
        "accessibility settings",
    ],
    "hardware": [
        "Do I need a GPU?",
        "does it run on an ARM laptop?",
    ],
    "licence": [
        "What license is confab released under?",
        "is confab open source",
    ],
    "build": [
        "How do I compile confab from source?",
        "build and start it with make",
    ],
    "tour": [
        "Is there a tutorial or walkthrough of the views?",
        "where are the docs for a beginner",
    ],
    "cli-help": [
        "How do I list all subcommands on the command line?",
        "get help for a confab subcommand in the shell",
    ],
    "cli-run": [
        "How do I send one prompt from the shell without opening the workbench?",
        "what does confab run do",
    ],
    "cli-chat": [
        "What does the confab chat command do?",
        "open a particular conversation from the shell by its uuid",
    ],
    "cli-complete": [
        "Can I do plain text completion with no chat template?",
        "what is confab complete for",
    ],
    "cli-model": [
        "How much memory will a model file need?",
        "show information about a gguf file from the command line",
    ],
    "cli-bench": [
        "how do I benchmark a model's speed?",
        "measure prefill and decode speed",
    ],
    "cli-tokenize": [
        "How can I see how a string gets split into tokens from the shell?",
        "tokenize some text on the command line",
    ],
    "cli-parse": [
        "Which command extracts tool calls from a raw reply?",
        "what does confab parse do",
    ],
    "cli-constrain": [
        "How do I check from the shell at what point a text violates a schema?",
        "confab constrain usage",
    ],
    "schema": [
        "How do I force the model to answer according to a JSON schema?",
        "get structured output that follows a schema file",
    ],
    "cli-history": [
        "What can confab history do?",
        "manage saved conversations from the command line",
    ],
    "export": [
        "How do I export a conversation?",
        "save this chat as a file to share with a colleague",
    ],
    "import": [
        "How do I import conversations from a file?",
        "bring in chats someone exported for me",
    ],
    "write-file": [
        "how do I save the thing under the cursor to a file?",
        "What does :w do?",
    ],
    "cli-db": [
        "How do I back up my history?",
        "check the database for corruption",
    ],
    "cli-replay": [
        "Can I rerun a stored reply and check whether it comes out the same?",
        "confab replay",
    ],
    "cli-render": [
        "Which command prints the exact prompt a template generates?",
        "render a context with a chat template in the shell",
    ],
    "cli-diff": [
        "How do I compare two templates from the command line?",
        "what does confab diff do with -a and -b",
    ],
    "cli-lint": [
        "Is there a linter for chat templates?",
        "check a template for mistakes from the shell",
    ],
    "cli-score": [
        "How do I compute the log-likelihood of a given answer to a prompt?",
        "what does confab score do",
    ],
    "cli-json": [
        "How do I get machine readable output from the commands?",
        "json output for scripts",
    ],
    "system-prompt-set": [
        "How do I set a system prompt on the command line?",
        "pass a system message to confab run",
    ],
    "thinking-set": [
        "how do I turn off thinking?",
        "Enable reasoning for a run from the shell",
    ],
    "no-store": [
        "Can I chat without anything being saved?",
        "incognito mode, don't keep history",
    ],
    "threads": [
        "How do I make it use 8 CPU threads?",
        "number of threads option",
    ],
    "ctx": [
        "how do I increase the context size to 8192?",
        "Which option sets the context length?",
    ],
    "max-tokens": [
        "How do I cap the length of the reply?",
        "max tokens option",
    ],
    "temperature": [
        "What does temperature do?",
        "effect of a high temperature",
    ],
    "temperature-set": [
        "How do I lower the temperature?",
        "set temperature to 0.7",
    ],
    "top-k": [
        "what is top-k",
        "Explain top k sampling",
    ],
    "top-p": [
        "What is top_p?",
        "how does nucleus sampling (top-p) work",
    ],
    "min-p": [
        "explain min_p",
        "What does min-p do?",
    ],
    "penalty": [
        "What is the repetition penalty?",
        "how does the repeat penalty work",
    ],
    "seed": [
        "What is the seed for?",
        "how do I get the same random reply every time",
    ],
    "greedy": [
        "What is greedy decoding?",
        "always pick the most likely token",
    ],
    "sampling": [
        "What does sampling mean for a language model?",
        "how is the next token drawn",
    ],
    "logit": [
        "What is a logit?",
        "define logits",
    ],
    "softmax": [
        "what does softmax do",
        "Explain softmax briefly",
    ],
    "entropy": [
        "What does the entropy of a token tell me?",
        "meaning of entropy",
    ],
    "perplexity": [
        "What is perplexity?",
        "is a low perplexity good or bad",
    ],
    "token": [
        "What is a token?",
        "are tokens the same as words?",
    ],
    "tokenizer": [
        "What does a tokenizer do?",
        "define tokenizer",
    ],
    "bpe": [
        "What does BPE mean?",
        "explain byte pair encoding",
    ],
    "special-token": [
        "What are special tokens?",
        "what are tokens like bos and eos for",
    ],
    "chat-template": [
        "What is a chat template?",
        "why does a model need a chat template",
    ],
    "prompt": [
        "What exactly is the prompt?",
        "define prompt",
    ],
    "system-prompt": [
        "What is a system prompt?",
        "purpose of the system message",
    ],
    "kv-cache": [
        "What is the KV cache?",
        "explain kv caching",
    ],
    "prefill": [
        "What does prefill mean?",
        "what happens in the prefill phase",
    ],
    "decode": [
        "What is meant by decode?",
        "what is the decode phase",
    ],
    "tps": [
        "What does t/s stand for?",
        "meaning of t/s in the status line",
    ],
    "context-length": [
        "What is the context length of a model?",
        "explain context window",
    ],
    "gguf": [
        "What is a GGUF file?",
        "what does gguf contain",
    ],
    "quantization": [
        "What is quantization?",
        "why do people quantize models",
    ],
    "q8_0": [
        "What does Q8_0 mean?",
        "explain the q8_0 format",
    ],
    "tool-call": [
        "What is a tool call?",
        "define function calling",
    ],
    "tool-parser": [
        "What does the tool parser do?",
        "how are tool calls found in the raw reply",
    ],
    "json-schema": [
        "What is a JSON schema?",
        "explain what json schema describes",
    ],
    "constraint": [
        "What is a constraint?",
        "how does constrained decoding work",
    ],
    "thinking": [
        "What is the thinking part of a reply?",
        "what does thinking mean for a model",
    ],
    "provenance": [
        "What is a provenance span?",
        "explain provenance",
    ],
    "fork-term": [
        "What is a fork?",
        "what does it mean that a conversation has a fork",
    ],
    "fork-cli": [
        "How do I fork a conversation from the command line?",
        "make a new conversation starting at a given turn, shell command",
    ],
    "sibling": [
        "What is a sibling?",
        "what are sibling replies",
    ],
    "turn": [
        "What is a turn?",
        "define turn in a conversation",
    ],
    "uuid": [
        "What is a UUID?",
        "what are these uuids good for",
    ],
    "streaming": [
        "What does streaming mean?",
        "what is a streamed reply",
    ],
    "injection": [
        "What is prompt injection?",
        "explain prompt injection attacks",
    ],
    "hallucination": [
        "What is a hallucination?",
        "why is it called hallucinating when a model makes things up",
    ],
    "llm": [
        "What is a language model?",
        "how does an LLM work",
    ],
}

CALLS = [
    ("What's the weather in Ljubljana?", "get_weather", {"location": "Ljubljana"}),
    ("weather Tromso", "get_weather", {"location": "Tromso"}),
    ("is it raining in Glasgow right now", "get_weather", {"location": "Glasgow"}),
    ("How warm is it in Valparaiso in celsius?", "get_weather", {"location": "Valparaiso", "unit": "celsius"}),
    ("Give me the temperature in Boise in fahrenheit, please", "get_weather",
     {"location": "Boise", "unit": "fahrenheit"}),
    ("do I need an umbrella in Bergen today?", "get_weather", {"location": "Bergen"}),
    ("Check the weather for Nairobi", "get_weather", {"location": "Nairobi"}),
    ("current conditions in Salt Lake City", "get_weather", {"location": "Salt Lake City"}),
    ("Tell me how cold it is in Yakutsk", "get_weather", {"location": "Yakutsk"}),
    ("I'm flying to Lisbon this afternoon, what is the weather like there?", "get_weather", {"location": "Lisbon"}),
    ("paris weather in fahrenheit", "get_weather", {"location": "paris", "unit": "fahrenheit"}),
    ("Is it sunny in Antalya?", "get_weather", {"location": "Antalya"}),
    ("Could you look up the weather in Hobart? Use celsius.", "get_weather",
     {"location": "Hobart", "unit": "celsius"}),
    ("what's it like outside in Duluth", "get_weather", {"location": "Duluth"}),
    ("Any snow in Innsbruck at the moment?", "get_weather", {"location": "Innsbruck"}),

    ("What time is it in Kathmandu?", "get_time", {"timezone": "Kathmandu"}),
    ("time in Anchorage", "get_time", {"timezone": "Anchorage"}),
    ("current time UTC", "get_time", {"timezone": "UTC"}),
    ("what time is it right now in Europe/Warsaw", "get_time", {"timezone": "Europe/Warsaw"}),
    ("Tell me the local time in Montevideo.", "get_time", {"timezone": "Montevideo"}),
    ("How late is it in Tokyo?", "get_time", {"timezone": "Tokyo"}),
    ("Is it already morning in Auckland?", "get_time", {"timezone": "Auckland"}),
    ("give me the time in PST", "get_time", {"timezone": "PST"}),
    ("I need to call someone in Bangalore, what's the time there?", "get_time", {"timezone": "Bangalore"}),
    ("clock in Reykjavik please", "get_time", {"timezone": "Reykjavik"}),
    ("What is the time in America/Denver?", "get_time", {"timezone": "America/Denver"}),
    ("can you check what time they have in Port Moresby", "get_time", {"timezone": "Port Moresby"}),
    ("Do you know the time in London?", "get_time", {"timezone": "London"}),
    ("what hour is it in Tashkent", "get_time", {"timezone": "Tashkent"}),
    ("Show the current time for Asia/Jakarta", "get_time", {"timezone": "Asia/Jakarta"}),

    ("What is 347 + 586?", "calculate", {"expression": "347 + 586"}),
    ("calculate 18 * 23", "calculate", {"expression": "18 * 23"}),
    ("how much is 912 divided by 16", "calculate", {"expression": "912 / 16"}),
    ("What's 64 times 31?", "calculate", {"expression": "64 * 31"}),
    ("1005 minus 278", "calculate", {"expression": "1005 - 278"}),
    ("Compute 7.5 * 48 for me", "calculate", {"expression": "7.5 * 48"}),
    ("please work out 4096 / 12", "calculate", {"expression": "4096 / 12"}),
    ("what do I get when I add 1289 and 734?", "calculate", {"expression": "1289 + 734"}),
    ("99 * 99", "calculate", {"expression": "99 * 99"}),
    ("Evaluate (14 + 9) * 6", "calculate", {"expression": "(14 + 9) * 6"}),
    ("Can you tell me what 56 plus 88 is", "calculate", {"expression": "56 + 88"}),
    ("multiply 113 by 27", "calculate", {"expression": "113 * 27"}),
    ("I bought 6 tickets at 43 each. what is 6 * 43?", "calculate", {"expression": "6 * 43"}),
    ("What does 2500 - 1375 + 60 come to?", "calculate", {"expression": "2500 - 1375 + 60"}),
    ("divide 7854 by 21", "calculate", {"expression": "7854 / 21"}),

    ("Set a timer for 12 minutes", "set_timer", {"minutes": 12}),
    ("timer 7 min", "set_timer", {"minutes": 7}),
    ("start a 25 minute countdown", "set_timer", {"minutes": 25}),
    ("Remind me in 40 minutes", "set_timer", {"minutes": 40}),
    ("Set a timer for 9 minutes called soft eggs", "set_timer", {"minutes": 9, "label": "soft eggs"}),
    ("I need a 35 minute timer labelled sourdough", "set_timer", {"minutes": 35, "label": "sourdough"}),
    ("Please wake me in 20 minutes", "set_timer", {"minutes": 20}),
    ("start a timer named parking meter for 55 minutes", "set_timer", {"minutes": 55, "label": "parking meter"}),
    ("count down 3 minutes", "set_timer", {"minutes": 3}),
    ("Can you put on a timer of 90 minutes?", "set_timer", {"minutes": 90}),
    ("15 minutes timer, label it laundry", "set_timer", {"minutes": 15, "label": "laundry"}),
    ("give me 18 minutes on the clock", "set_timer", {"minutes": 18}),
    ("Set a timer for 6 minutes with the label oolong", "set_timer", {"minutes": 6, "label": "oolong"}),
    ("let me know when 45 minutes are over", "set_timer", {"minutes": 45}),
    ("Timer for 120 minutes, name: glue drying", "set_timer", {"minutes": 120, "label": "glue drying"}),

    ("Convert 75 USD to EUR", "convert_currency", {"amount": 75, "from": "USD", "to": "EUR"}),
    ("how much is 340 GBP in CHF?", "convert_currency", {"amount": 340, "from": "GBP", "to": "CHF"}),
    ("1200 SEK in NOK", "convert_currency", {"amount": 1200, "from": "SEK", "to": "NOK"}),
    ("What are 50 dollars in euros?", "convert_currency", {"amount": 50, "from": "USD", "to": "EUR"}),
    ("change 8500 JPY into AUD", "convert_currency", {"amount": 8500, "from": "JPY", "to": "AUD"}),
    ("I have 260 PLN, what is that in CZK", "convert_currency", {"amount": 260, "from": "PLN", "to": "CZK"}),
    ("how many yen do I get for 45 pounds?", "convert_currency", {"amount": 45, "from": "GBP", "to": "JPY"}),
    ("19.99 EUR to USD", "convert_currency", {"amount": 19.99, "from": "EUR", "to": "USD"}),
    ("Please exchange 630 CAD for MXN", "convert_currency", {"amount": 630, "from": "CAD", "to": "MXN"}),
    ("what's 15000 INR worth in SGD", "convert_currency", {"amount": 15000, "from": "INR", "to": "SGD"}),
    ("Could you convert 88 NZD to ZAR?", "convert_currency", {"amount": 88, "from": "NZD", "to": "ZAR"}),
    ("The hotel costs 410 DKK a night. How much is 410 DKK in GBP?", "convert_currency",
     {"amount": 410, "from": "DKK", "to": "GBP"}),
    ("convert 3.5 KWD to TRY", "convert_currency", {"amount": 3.5, "from": "KWD", "to": "TRY"}),
    ("Tell me what 999 BRL is in USD", "convert_currency", {"amount": 999, "from": "BRL", "to": "USD"}),
    ("22 euros in dollars?", "convert_currency", {"amount": 22, "from": "EUR", "to": "USD"}),

    ("Search my notes for router password", "search_notes", {"query": "router password"}),
    ("find my notes about kombucha", "search_notes", {"query": "kombucha"}),
    ("What did I write down about the roof repair?", "search_notes", {"query": "roof repair"}),
    ("notes on lattice reduction", "search_notes", {"query": "lattice reduction"}),
    ("Do I have any note mentioning Ottoline?", "search_notes", {"query": "Ottoline"}),
    ("look through my notes for passport renewal", "search_notes", {"query": "passport renewal"}),
    ("Is there something in my notes about bike insurance?", "search_notes", {"query": "bike insurance"}),
    ("search notes: quarterly budget", "search_notes", {"query": "quarterly budget"}),
    ("please find the note with gift ideas", "search_notes", {"query": "gift ideas"}),
    ("Check my notes for Vilnius trip", "search_notes", {"query": "Vilnius trip"}),
    ("grep my notes for flaky tests", "search_notes", {"query": "flaky tests"}),
    ("Show me what I noted on beekeeping", "search_notes", {"query": "beekeeping"}),
    ("I had a note about paint colors, can you find it?", "search_notes", {"query": "paint colors"}),
    ("look up dentist in my notes", "search_notes", {"query": "dentist"}),
    ("Can you search in my notes for meeting minutes?", "search_notes", {"query": "meeting minutes"}),

    ("Send a message to Priya: the build is green again", "send_message",
     {"to": "Priya", "text": "the build is green again"}),
    ("text Leopold that I'm running late", "send_message", {"to": "Leopold", "text": "I'm running late"}),
    ("Tell Mom I will be home by seven", "send_message", {"to": "Mom", "text": "I will be home by seven"}),
    ("message Anneke saying the keys are under the mat", "send_message",
     {"to": "Anneke", "text": "the keys are under the mat"}),
    ("Please send Tobias the message \"lunch is on me\"", "send_message",
     {"to": "Tobias", "text": "lunch is on me"}),
    ("Write to Guadalupe: can we move the call to Thursday?", "send_message",
     {"to": "Guadalupe", "text": "can we move the call to Thursday?"}),
    ("let Farid know that the parcel has arrived", "send_message",
     {"to": "Farid", "text": "the parcel has arrived"}),
    ("Send \"happy birthday\" to Solveig", "send_message", {"to": "Solveig", "text": "happy birthday"}),
    ("msg Bob: server is down", "send_message", {"to": "Bob", "text": "server is down"}),
    ("text my brother: bring the blue ladder", "send_message",
     {"to": "my brother", "text": "bring the blue ladder"}),
    ("Can you tell Ikram that dinner is at eight?", "send_message",
     {"to": "Ikram", "text": "dinner is at eight"}),
    ("shoot Wendell a message: good luck tomorrow", "send_message",
     {"to": "Wendell", "text": "good luck tomorrow"}),
    ("Send a text to Xiulan that says thanks for the cake", "send_message",
     {"to": "Xiulan", "text": "thanks for the cake"}),
    ("inform Rasmus that the deploy failed", "send_message", {"to": "Rasmus", "text": "the deploy failed"}),
    ("send Alice a message: see you at the station", "send_message",
     {"to": "Alice", "text": "see you at the station"}),

    ("What's the stock price of NVDA?", "get_stock_price", {"symbol": "NVDA"}),
    ("AAPL price", "get_stock_price", {"symbol": "AAPL"}),
    ("how is KO trading", "get_stock_price", {"symbol": "KO"}),
    ("Give me a quote for SHOP", "get_stock_price", {"symbol": "SHOP"}),
    ("How much is one share of PLTR?", "get_stock_price", {"symbol": "PLTR"}),
    ("check the price of ASML stock", "get_stock_price", {"symbol": "ASML"}),
    ("latest price for UBER please", "get_stock_price", {"symbol": "UBER"}),
    ("Where does DIS stand right now?", "get_stock_price", {"symbol": "DIS"}),
    ("stock quote INTC", "get_stock_price", {"symbol": "INTC"}),
    ("Look up the share price of TM", "get_stock_price", {"symbol": "TM"}),
    ("what is ticker WDAY at", "get_stock_price", {"symbol": "WDAY"}),
    ("Did CSCO go up? Show me its current price", "get_stock_price", {"symbol": "CSCO"}),
    ("I own some RIVN, what is it worth per share?", "get_stock_price", {"symbol": "RIVN"}),
    ("tell me the stock price for MSFT", "get_stock_price", {"symbol": "MSFT"}),
    ("Could you get me the current NFLX stock price?", "get_stock_price", {"symbol": "NFLX"}),
]

ASK = [
    ("What's the weather like?", "get_weather"),
    ("show me the temperature in celsius", "get_weather"),
    ("tell me the time somewhere else", "get_time"),
    ("Can you look up the time in another city?", "get_time"),
    ("Can you do a calculation for me?", "calculate"),
    ("I need to multiply two numbers", "calculate"),
    ("Set a timer", "set_timer"),
    ("start a timer called pasta", "set_timer"),
    ("Convert some money to euros", "convert_currency"),
    ("how much is 100 USD in another currency?", "convert_currency"),
    ("search my notes", "search_notes"),
    ("Can you find one of my notes?", "search_notes"),
    ("Send a message to Ingrid", "send_message"),
    ("text somebody that I am on my way", "send_message"),
    ("What's the stock price?", "get_stock_price"),
    ("get me a stock quote", "get_stock_price"),
]

OUTSIDE = [
    "What is the capital of Mongolia?",
    "who wrote Crime and Punishment",
    "How tall is Mount Kilimanjaro?",
    "when did the Berlin wall come down",
    "Write a Python function that reverses a linked list",
    "how do I center a div",
    "Explain monads to me",
    "What is the difference between TCP and UDP?",
    "fix this SQL: SELECT * FORM users",
    "how do I undo the last git commit",
    "How do I exit nano?",
    "why does my docker container keep restarting",
    "How do I make a pivot table in Excel?",
    "photoshop remove background",
    "Give me a recipe for mushroom risotto",
    "how long do I boil potatoes",
    "can I substitute yogurt for buttermilk?",
    "I have had a headache for three days, what should I take?",
    "Is coffee bad for you?",
    "how many hours should a toddler sleep",
    "What do you think about the last election?",
    "who is better, Messi or Ronaldo?",
    "Translate good evening into Portuguese",
    "how do you say library in Finnish",
    "Write a poem about autumn leaves",
    "tell me a story about a dragon who is afraid of fire",
    "Summarize Hamlet in two sentences",
    "What is the meaning of life?",
    "Should I quit my job?",
    "help me write a cover letter for a bakery",
    "how do I get red wine out of a carpet",
    "What is the boiling point of ethanol?",
    "why is the sky blue",
    "How do vaccines work?",
    "Who won the world cup in 1998?",
    "best beaches in Greece",
    "What is the fastest train in the world?",
    "can you book me a flight to Oslo",
    "order a pizza for tonight",
    "play some jazz",
    "turn off the lights in the kitchen",
    "What movies are on this weekend?",
    "recommend a book about the Roman empire",
    "How do I train for a marathon?",
    "my cat does not eat, what can I do?",
    "how do I prune an apple tree",
    "Which laptop should I buy for video editing?",
    "How do I change a flat tire?",
    "what is the population of Brazil",
    "Prove that the square root of two is irrational",
    "What is the derivative of sin x?",
    "how does photosynthesis work",
    "Name three rivers in Africa",
    "Who painted the Night Watch?",
    "What is the GDP of Vietnam?",
    "how do I file my taxes",
    "write a regex that matches email addresses",
    "Is there life on Mars?",
    "How do I install Arch Linux?",
    "what should I wear to a wedding in June",
]

SMALL = [
    "hi",
    "Hello there!",
    "hey, how's it going?",
    "Good morning",
    "good evening to you",
    "Thanks!",
    "thank you so much, that helped",
    "cheers mate",
    "Who are you?",
    "what's your name",
    "are you a robot?",
    "What can you do?",
    "bye",
    "see you later",
    "Good night!",
    "ok cool",
    "that was wrong",
    "sorry, my mistake",
    "Nice to meet you",
    "you are pretty smart for your size",
]
