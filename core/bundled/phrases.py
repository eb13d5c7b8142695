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
