"""How a fact is asked for: frames around the words that are its own.

A fact names what one wants to do (`acts`, infinitives), the keys or commands
it is about (`keys`), or a thing (`terms`); each of the three brings a set of
question frames, all in the notation of grammar.py.  `more` and `plain` are
forms that belong to the fact alone, the latter without alternatives.
"""

from collections import namedtuple

Fact = namedtuple("Fact", "key answer forms held")

_ACT = (
    "{how do I|how can I|how do you|how would I|how could I|how does one} {ACT}{ here| in confab|}?",
    "how to {ACT}{ in confab|}{?|}",
    "{what|which} {key|button|shortcut|command} {do I {press|use|need}|should I {press|use}|must I press|lets me|can I use} "
    "to {ACT}?",
    "{what is|what's|tell me|give me} the {key|shortcut|keybinding|hotkey|way|command} to {ACT}{ please|}{?|}",
    "{is there a {way|key|shortcut|command} to|is it possible to|can I|could I|am I able to|can confab} {ACT}{ here| somehow|}?",
    "{I want to|I need to|I would like to|I'd like to|I am trying to|let me|I wish to} {ACT}{, how?|, what do I press?|. How?|}",
    "{show me|tell me|explain|remind me|do you know} how {to|I} {ACT}{ please|}",
    "I {forgot|don't know|do not know|can't remember|can't find|have no idea} how to {ACT}{, help|, please help|}",
    "{key|shortcut|hotkey|command|keys|way} to {ACT}{?|}",
    "{what do I {press|type|do}|what should I {press|type|do}|what must I do|what do you press} "
    "{to|if I want to|when I want to|in order to} {ACT}?",
    "{ACT}{ please|, how?|?|}",
    "{please|let me|I must|any way to|what is needed to|is there something to} {ACT}{?|}",
    "{help me|how might I|where can I|where do I|can you tell me how to|how am I supposed to} {ACT}{?|}",
    "{is there|do you have|does confab have|does this have|do we have} {a|any} {key|shortcut|button|command|option|way|possibility|function} {to|that lets me|with which I can|for me to} {ACT}?",
    "I {can't|cannot|am not able to|am unable to|did not manage to|couldn't|failed to} {ACT}{, what now?|, help|, why?|. What do I do?|, what am I missing?|}",
    "I {have been trying|tried|am struggling|was trying} to {ACT}{ for a while|}{, but how?| without success|, no luck|, but nothing worked|}",
    "{the|what's the|what is the|I look for the|is there an} {quickest|fastest|easiest|best|right|simplest|easy} way to {ACT}{?|}",
    "{would|could|can|will} you {tell|show|teach|explain to} me how {I can|to|one can|I could} {ACT}{?| please}",
    "{how|where} {would|should|does|can|could|might} {one|somebody|a user|a beginner|someone} {ACT}{ here|}?",
    "to {ACT}, {what do I press|which key is it|what do I type|what is the key|how|what should I do|I press what}?",
    "{what|which} would be the {command|keystroke|key|shortcut} {if I wanted|for me} to {ACT}?",
    "{all I want is to|I just want to|I only need to|now I want to|next I want to|my plan is to|I'd love to} {ACT}{, how?|, which key?|}",
    "{the|a|which|what} {key|shortcut|keystroke|button|command} {that lets me|which lets me|allows me to|is used to|is it to|serves to} {ACT}{?|}",
    "{instructions|steps|a hint|a tip|help|directions} {to|on how to|for how to} {ACT}{ please|}{?|}",
    "{somebody|a colleague|the manual} {told|tells} me {one|I} can {ACT}{ here|}, {how|but how|what is the key}?",
    "{what do I need|what is needed|what does it take|what has to be done|what must be pressed|what is pressed} to {ACT}?",
)

_KEY = (
    "what does {the |}{KEY}{ key| command|} do{WHERE}{?|}",
    "what is {the |}{KEY}{ key| command|} {for|good for|used for}{WHERE}?",
    "what {happens|will happen} {when|if} I {press|hit|type|use|enter} {KEY}{WHERE}?",
    "{meaning|function|purpose|use|effect} of {the |}{KEY}{ key|}{WHERE}{?|}",
    "{explain|tell me about|describe} {KEY}{WHERE}",
    "tell me {what|about what} {KEY} {does|is for}{WHERE}{ please|}",
    "{why|when} would I {press|use|need|type} {KEY}{WHERE}?",
    "{what about|and|what is|what's} {KEY}{WHERE}?",
    "{KEY}{WHERE}, what {is it for|is that for|does it do|is it bound to}?",
    "I {pressed|hit|typed|saw|read about} {KEY}{WHERE}, what {does it do|is it|is that for}?",
    "does {KEY} {do something|do anything|have a {function|meaning|use}|work}{WHERE}?",
    "what {will|would|might|did} {KEY} do{WHERE}?",
    "{what does|what will|what would} {pressing|typing|hitting|using} {KEY} do{WHERE}?",
    "what can I do with {the |}{KEY}{ key|}{WHERE}?",
    "{KEY}{WHERE} {does what|is for what|means what|, what for|, what is the use}?",
    "{the help|the manual|it|the bottom line} {mentions|says|lists|shows} {KEY}{WHERE}, {why|what for|what does it do|what is it}?",
    "what {is bound to|is on|lies on|hides behind|is behind} {KEY}{WHERE}?",
    "I {accidentally|just|only} {pressed|hit|typed} {KEY}{WHERE}, what {happened|happens now|did it do|have I done}?",
    "{could|can|would} you {explain|tell me} {what {KEY} does|the {KEY} key|what {KEY} is for}{WHERE}?",
)

_TERM = (
    "what {is|are} {TERM}{ good for| here|| exactly|}{?|}",
    "what does {TERM} mean{ here| exactly|}{?|}",
    "what {do you mean by|is meant by|should I know about|exactly is} {TERM}?",
    "{explain|describe} {TERM}{ to me| please| in simple words|}",
    "{tell me|say something|teach me} about {TERM}",
    "{I don't {understand|know|get}|I am not sure|please tell me|can you tell me|do you know} what {TERM} {is|means|are}",
    "{meaning|definition|explanation} of {TERM}{?|}",
    "{TERM}{?| meaning| definition| explained|, what is that?|, what does it mean?}",
    "{TERM}, what {is|are|does} {that|it|those|they}{ mean|}?",
    "{purpose|idea|point|concept} {of|behind} {TERM}{?|}",
    "{can|could|would} you {explain|define|describe} {TERM}{?| to me?}",
    "what's {TERM}{ again| in short|}?",
    "how would you {define|explain|describe} {TERM}?",
    "{in simple words|in short|briefly|for a beginner}, what is {TERM}?",
    "I {keep|kept|am} {reading|seeing|hearing} {about|of} {TERM}{, what is that?| and don't know what it is|, what does it mean?|}",
    "what {is|'s} the {deal|story|idea|matter} with {TERM}?",
    "{give me|I need|I'd like|is there} a {short|simple|quick|brief|plain} {definition|explanation|description} of {TERM}{ please|}{?|}",
    "why {should I care|would I care|do people talk|does everybody talk} about {TERM}?",
    "{eli5|explain like I'm five|in one sentence|in a nutshell|for dummies|a short answer please}: {what is |}{TERM}{?|}",
    "{help me|I want to|I'd like to|teach me to|I try to} understand {TERM}{ please|}",
    "{TERM} {in a nutshell|in one sentence|for beginners|briefly|in plain English|in simple terms}{?|}",
    "{never heard of|I have never heard of|no idea about|I know nothing about|I am confused by|I don't understand} {TERM}{, what is it?|, explain please|}",
    "what {does one|do you|do people|does confab} {mean|understand} by {TERM}?",
    "{the word|the term|the expression} {TERM} {means what|stands for what|, what does it mean|, explain it}{?|}",
)


def fact(key, answer, acts="", keys="", where="", terms="", more=(), plain=()):
    """A Fact out of its own words; acts, keys and terms hold `a|b|c`."""
    forms = []
    if acts:
        forms += [f.replace("{ACT}", "{" + acts + "}") for f in _ACT]
    if keys:
        at = "{" + where + "}" if where else ""
        forms += [f.replace("{KEY}", "{" + keys + "}").replace("{WHERE}", " " + at if at else "")
                  for f in _KEY]
    if terms:
        forms += [f.replace("{TERM}", "{" + terms + "}") for f in _TERM]
    return Fact(key, answer, forms + list(more) + list(plain), [])


def asked(key, rows, **words):
    """A Fact whose answer stands in the program's tables: "WHERE NAME, ..." of rows that may answer (see guide.py)."""
    return fact(key, tuple(rows.split(", ")), **words)
