"""Sentences around a core: what people put before and after the thing they want.

A request is often a frame and a core of one of three kinds: a thing ("the
weather in <location>"), an indirect question ("what time it is in
<timezone>") or a command ("set a timer for <minutes> minutes").  All tools
share the frames, so that a frame met with one tool is understood with another.
"""

import random
import re

from grammar import expand

THING = """{get|give|show|fetch|find|bring|send|hand|tell} me <x>{ please| pls| now|}|I {need|want|would like|am looking for|was looking for|'m after|could use} <x>{ please|}|{can|could|may|might} I {get|have|see|know|ask for} <x>{, please|}?|
{can|could|would|will} you {get|give|show|fetch|find|check|look up|tell} me <x>{, please|}?|<x>{ please| pls|, please| thanks| now|}{?|}|{check|look up|fetch|get|find|show|read} <x>{ for me|}{ please|}|{what is|what's|what about|how about} <x>?|
{please |}{let me know|let me have|let me see|find out} <x>|{I'm|I am} {interested in|curious about|asking about|asking for|waiting for} <x>|{do|would} you {have|know|happen to know} <x>?|{tell|inform} me about <x>|{go|please go} and {get|check|find} <x>|
{would|do} you mind {checking|getting|looking up|finding} <x>{ for me|}?|{any|some} {idea|clue} about <x>?|{I have|got} a question about <x>|{my|today's|one} question is <x>|{time to|let's|we should} {check|see|look at} <x>|{is it possible to|is there a way to} {get|see|check} <x>?|
{quickly|just|simply|kindly} {get|check|give me|show me} <x>|{all I want is|what I need is|I just need|I only want} <x>|<x>, {if you can|if possible|as fast as you can|I need it now|that's what I need}|{be so kind and|be nice and} {check|get me|show me} <x>|{use your tools|use a tool} {to get|and get|for} <x>|
{report|display|print|return|query|retrieve|provide|determine} <x>|{I forgot|remind me of|I don't know} <x>|{how do I get|where can I find|where do I see} <x>?|{update me on|give me an update on|keep me posted on} <x>|{request|task|wanted|needed|todo}: <x>|
{my {boss|friend|mother|colleague} {wants|needs|asks for}|we need|someone asked for} <x>|{it would be {nice|great|good} to {have|know|see}|I'd love to {have|know|see}} <x>"""
CLAUSE = """{tell|show} me <x>{ please|}|{do|would} you {know|happen to know} <x>{ please|}?|{can|could|would|will} you {tell me|check|find out|look up|say|see} <x>{, please|}?|{I want|I need|I'd like|I would like|I'd love} to {know|find out|hear|see} <x>|{any|no} idea <x>{?|}|I {wonder|was wondering|don't know|can't tell|forgot|keep wondering} <x>|
{please |}{check|find out|say|look up|let me know|tell me} <x>|{I'm|I am} {curious|not sure|wondering|asking} <x>|{my question is|the question is|question}{:|} <x>|{may|can|could} I {know|ask|find out} <x>?|{would|do} you mind {telling me|checking|looking up} <x>?|{someone|my boss|a friend|my sister} {wants to know|asked me|asks|needs to know} <x>|
<x>, {can you tell me|do you know|tell me|please|any idea}{?|}|{let's|we should|I have to} {see|check|find out} <x>|{it would be good to know|it matters|I must know|I need to be told} <x>|{use your tools|use a tool} {to find out|and tell me} <x>|{remind|inform} me <x>|<x>{?|}|{quickly|just|kindly} tell me <x>|{is it possible to say|can anybody say} <x>?"""
COMMAND = """<x>{ please| pls|, please| thanks| now| for me|}|{can|could|would|will} you {please |kindly |quickly |}<x>{ for me|}{, please|}?|{please|kindly|now|just|quickly|go and|go ahead and|be so kind and|do me a favor and|be nice and|then} <x>|{I want|I need|I'd like|I would like|I'd love} you to <x>{ please|}|{I want|I need|I'd like|I have|I'm trying|I'm going} to <x>|
{would|do} you mind {if I ask you to|helping me} <x>{?|}|{is it possible to|is there a way to|are you able to} <x>?|{let's|let us|we should|we need to|you should|you may} <x>|{help me|help me to|help us} <x>|{it's time to|time to|don't forget to|remember to} <x>|{how about you|why don't you|perhaps you can|maybe you could} <x>{?|}|{my task for you|your task|your job|next step|todo|request}: <x>|
{next|first|and|so|ok|okay|right|well}, <x>|{use your tools|use a tool} {to|and} <x>|{can|could|may} I ask you to <x>?|{my boss|my friend|my sister} {wants|asked} you to <x>|{what if you|try to} <x>{?|}|{hurry and|don't wait,} <x>|{I was hoping you could|it would be great if you could|I'd be glad if you could} <x>"""

# tool key -> kind of core -> forms
CORES = {
    "weather": {"thing": ["{the |}{current |latest |local |}{weather|forecast|temperature|conditions} {in|for|at|around} <location>", "{the |a |}{weather|forecast} {report|update|check|info} {for|from|on} <location>", "the {sky|climate|air|temperature|weather} {over|in|of} <location>", "<location>'s {weather|temperature|forecast}",
                          "{today's|the current} {weather|temperature|forecast} {for|in} <location>"],
                "clause": ["{what|how} the {weather|sky|forecast} {is|looks} {like |}in <location>", "{if|whether} it is {raining|sunny|cold|warm|snowing|windy|wet|foggy|freezing|nice|dry} in <location>", "how {cold|warm|hot|wet|windy|mild|icy} it is in <location>", "{if|whether} I need {an umbrella|a coat|boots|a scarf|warm clothes} in <location>", "what it is like {outside|outdoors} in <location>",
                           "how many degrees it is in <location>", "what {to wear|kind of weather to expect} in <location>"],
                "command": ["{check|look up|get|find|read|fetch} the {weather|temperature|forecast|conditions} {in|for|of} <location>", "{look|see} how the weather is in <location>", "{tell|show} me {the weather|the temperature|how cold it is} in <location>"]},
    "time": {"thing": ["{the |}{current |local |exact |right |}time {in|for|at|over in} <timezone>", "the {hour|clock|time of day} {in|at|of} <timezone>", "<timezone> {time|local time}", "{what the clock says|the clock} in <timezone>"],
             "clause": ["what time it is {now |}in <timezone>", "how {late|early} it is in <timezone>", "what the {time|clock|hour} is in <timezone>", "{if|whether} it is {late|morning|night|noon|evening|after midnight|past nine} in <timezone>", "which hour it is in <timezone>", "what the clock {shows|says} in <timezone>"],
             "command": ["{check|look up|get|read|find|tell me} the {local |current |}time {in|for|of} <timezone>", "{see|look} how late it is in <timezone>", "look at the clock in <timezone>"]},
    "calc": {"thing": ["the {result|value|sum|answer|outcome} of <expression>", "{what you get for|the answer to|the solution of} <expression>", "{a calculation|this sum|some arithmetic}: <expression>"],
             "clause": ["{what|how much} <expression> {is|makes|gives|equals}", "what {you get|I get|comes out} for <expression>", "what the result of <expression> is"],
             "command": ["{calculate|compute|evaluate|solve|work out|figure out|do|find} <expression>", "{do|run} the {math|calculation|arithmetic}{:| for} <expression>", "{tell me|find} the {result|value} of <expression>"]},
    "timer": {"thing": ["a {timer|countdown|reminder|alarm} {for|of|in|after} <minutes> {minutes|min|mins}", "a <minutes> {minute|min} {timer|countdown|alarm}", "<minutes> minutes {on the clock|on a timer|of countdown}"],
              "command": ["{set|start|create|make|run|begin|launch|activate|add} a {timer|countdown|alarm|reminder} {for|of|in} <minutes> {minutes|min|mins}", "{set|start|create|run} a <minutes> {minute|min} {timer|countdown|alarm}", "{remind|wake|alert|ping|notify|call|warn} me {in|after} <minutes> {minutes|min}", "{count|wait|time|measure} <minutes> minutes", "{ring|beep|buzz} {in|after} <minutes> minutes",
                          "{let me know|tell me|shout} when <minutes> minutes {are over|are up|have passed|are gone}"]},
    "timer.label": {"thing": ["a <minutes> {minute|min} timer {for|called|named|labelled} <label>", "a <label> timer {for|of} <minutes> {minutes|min}", "a timer for <label>, <minutes> minutes"],
                    "command": ["{set|start|create|make|run} a <minutes> {minute|min} timer {for|called|named|labelled} <label>", "{set|start|create} a <label> timer {for|of} <minutes> {minutes|min}", "{set|start} a timer {called|named} <label> for <minutes> minutes", "{remind|alert} me of <label> in <minutes> minutes"]},
    "weather.unit": {"thing": ["the {temperature|weather|forecast} {in|for|of} <location> in <unit>", "<location>'s temperature in <unit>"], "clause": ["how {warm|cold|hot} it is in <location> in <unit>", "what the {temperature|weather} is in <location>, in <unit>"],
                     "command": ["{check|get|look up|read} the {temperature|weather} {in|for|of} <location> in <unit>"]},
    "currency": {"thing": ["{the |}{value|worth|equivalent|price} of <amount> <from> in <to>", "<amount> <from> in <to>", "the exchange of <amount> <from> {to|into} <to>", "the {amount|sum} in <to> for <amount> <from>"],
                 "clause": ["how {much|many} <amount> <from> {is|are} in <to>", "what <amount> <from> {is|are} worth in <to>", "how much <to> I get for <amount> <from>", "what <amount> <from> {makes|is|gives|would be} in <to>"],
                 "command": ["{convert|change|exchange|turn|swap|transfer} <amount> <from> {to|into|in} <to>", "{calculate|compute|find|work out} <amount> <from> in <to>", "{tell|show} me what <amount> <from> is in <to>"]},
    "notes": {"thing": ["{my|the|all|any} notes {on|about|for|with|mentioning|regarding} <query>", "{the|my|that} note {about|on|with|mentioning} <query>", "what I {wrote|noted|wrote down|saved} {about|on} <query>", "everything {about|on} <query> in my notes"],
              "clause": ["what I {wrote|noted} {about|on} <query>", "{if|whether} {I have|there is} a note {on|about} <query>", "{if|whether} my notes {mention|cover|contain} <query>", "what my notes say about <query>"],
              "command": ["{search|check|scan|look through|go through|browse|query} {my|the} {notes|notebook|memos} for <query>", "{find|get|open|read|show me|pull up|list} {my|the|all} notes {on|about|with} <query>", "{look|search} for <query> in {my|the} notes", "look up <query> in my notes"]},
    "message": {"command": ["{send|write} {a|this} {message|text|note} to <to>: <text>", "{tell|text|message|write|inform|notify|answer} <to>: <text>", "{tell|inform|notify} <to> that <text>", "let <to> know that <text>", "{send|text|write|message} <to> \"<text>\"", "{send|write} \"<text>\" to <to>", "send <to> a {message|text|note} {saying|that says} \"<text>\"", "tell <to> <text>"]},
    "stock": {"thing": ["{the |}{current |latest |last |}{price|value|quote} {of|for} <symbol>", "{the |}{stock|share|market} price {of|for} <symbol>", "a {quote|stock quote|share price} {for|of} <symbol>", "the <symbol> {stock price|quote|share price|price|shares}", "the price of {a|one} <symbol> share"],
              "clause": ["{how|where} <symbol> is {doing|trading}", "what {<symbol> costs|a share of <symbol> costs|<symbol> is worth|<symbol> trades at}", "how much {a share of <symbol> is|<symbol> is|one <symbol> share costs}", "{if|whether} <symbol> {is up|is down|went up|fell|rose}"],
              "command": ["{check|look up|get|fetch|find|quote|read} {the price of|the stock price of|the quote for|the stock} <symbol>", "{check|look up} {<symbol>|<symbol> shares|the <symbol> stock|the ticker <symbol>}", "see {how <symbol> is doing|where <symbol> trades}"]},
}

# cores of requests that lack an argument, by the tool and what is missing
LACKING = {
    "weather": {"location": {
        "thing": ["the {weather|forecast|temperature|conditions}{ report|}", "{a|the} {weather|forecast} {report|update|check}", "{some|the} {weather|temperature} {info|data}"],
        "clause": ["{what|how} the {weather|sky} is{ like|}", "{if|whether} it is {raining|sunny|cold|warm|windy} {outside|there|}", "how {cold|warm|hot} it is{ outside| there|}", "{if|whether} I need {an umbrella|a coat|a scarf}"],
        "command": ["{check|look up|get|find|read} the {weather|temperature|forecast|conditions}"]}},
    "time": {"timezone": {
        "thing": ["the {time|hour|clock|local time} {abroad|there|elsewhere|somewhere else|in another city|in another zone}", "{a|some} {foreign|distant|other} time"],
        "clause": ["{what time|how late} it is {there|abroad|elsewhere|in another city|somewhere else}", "what the clock says {there|elsewhere|abroad}"],
        "command": ["{check|look up|get|find} the {time|clock|hour}{ there| abroad| in another city| somewhere|}", "{check|look up} a time zone"]}},
    "calc": {"expression": {
        "thing": ["{a|some|one} {calculation|arithmetic|math|sum}", "{a|the} calculator", "the {result|value} of {a sum|a formula|something}"],
        "command": ["{calculate|compute|evaluate|solve|work out|add up} {something|a sum|a formula|some numbers|an expression}", "do {some math|a calculation|arithmetic|a sum}", "use the calculator"]}},
    "timer": {"minutes": {
        "thing": ["a {timer|countdown|alarm|reminder|new timer}", "{one more|another|the} {timer|countdown}"],
        "command": ["{set|start|create|make|run|begin|launch} {a|the|another|my} {timer|countdown|alarm|reminder}", "{remind|wake|alert|ping} me {later|soon|in a while|in a bit}", "{count down|time something|start counting}"]}},
    "currency": {
        "to": {"thing": ["the {value|worth|exchange} of <amount> <from>"], "clause": ["{what|how much} <amount> <from> {is|are} worth"], "command": ["{convert|change|exchange|swap} <amount> <from>"]},
        "amount": {"thing": ["<from> in <to>", "the {rate|exchange rate|conversion} {from|of} <from> to <to>"], "command": ["{convert|change|exchange|turn|swap} <from> {to|into} <to>"]},
        "amount,from,to": {"thing": ["{a|some} {currency conversion|money exchange|conversion of money}"], "command": ["{convert|change|exchange|swap} {money|some money|my money|a sum|currencies|some cash}"]}},
    "notes": {"query": {
        "thing": ["{a|one|some|that} note{ of mine|}", "something {from|in} my notes", "{a|some} search in my {notes|notebook}"],
        "command": ["{search|check|scan|look in|look through|go through} {my|the} {notes|notebook|memos}", "{find|get|open|read|pull up} {a|my|that|some} note", "look something up in my notes"]}},
    "message": {
        "text": {"thing": ["a {message|text|note} {to|for} <to>"], "command": ["{send|write} {a message|a text|something|a note} to <to>", "{text|message|write to|contact} <to>", "{tell|send|write} <to> {something|a message|some news}"]},
        "to": {"command": ["{send|write|text} \"<text>\"", "{send|write} {a|the|this} {message|text} {saying |}\"<text>\""]},
        "to,text": {"thing": ["{a|one|some|another} {message|text|sms}"], "command": ["{send|write|compose|text} {a|one|another|some} {message|text|sms|note}", "{text|message|write to|contact} {somebody|someone|a friend}"]}},
    "stock": {"symbol": {
        "thing": ["{a|the|some|my} {stock price|share price|stock quote|quote|ticker}", "the price of {a|my|some} {stock|share}"],
        "clause": ["how {my|the|some} {stock|share} is doing", "what {a|my|the} {share|stock} {costs|is worth}", "{if|whether} my {stock|shares} went up"],
        "command": ["{check|look up|get|find|read} {a|my|the|some} {stock|share|stock price|share price|quote}"]}},
}
# the same of another person: never trained on
HELD_LACKING = {
    "weather": {"location": ["would a jacket be a good idea?", "what's the sky up to?", "fetch me the outlook please", "sun or clouds?"]},
    "time": {"timezone": ["I'd like to ring a friend overseas, how late is it for her?", "clock of a faraway town please", "could you see what the time is on the other side of the planet?"]},
    "calc": {"expression": ["I've got numbers to crunch", "got a bit of arithmetic for you", "would you reckon something up?"]},
    "timer": {"minutes": ["get a countdown going", "a beep after a while would be useful", "I want to be nudged in some time"]},
    "currency": {"to": ["I hold <amount> <from> and want other money", "<amount> <from>, swapped please"], "amount": ["swap <from> against <to>", "I'm selling <from> for <to>"],
                 "amount,from,to": ["I've got foreign cash to swap", "do a currency thing for me"]},
    "notes": {"query": ["dig through my notebook", "I jotted something down once, get it", "would you go and look at what I have noted?"]},
    "message": {"text": ["get in touch with <to>", "<to> should hear from me"], "to": ["fire off \"<text>\"", "pass \"<text>\" on"], "to,text": ["I'd like to get in touch with somebody", "fire off a text"]},
    "stock": {"symbol": ["how's the market treating my share?", "read me a ticker", "what would one share set me back?"]},
}


def _parts(text):
    parts, depth = [""], 0
    for ch in text.replace("\n", ""):
        depth += (ch == "{") - (ch == "}")
        if ch == "|" and depth == 0:
            parts.append("")
        else:
            parts[-1] += ch
    return parts


FRAMES = {"thing": _parts(THING), "clause": _parts(CLAUSE), "command": _parts(COMMAND)}


def framed(key, rng):
    """A request of the tool `key` with its slots: a frame around a core."""
    return framed_core(CORES[key], rng)


def framed_core(cores, rng):
    kind = rng.choice(list(cores))
    core = expand(rng.choice(cores[kind]), rng)
    raw_end = core.endswith("<text>")
    for _ in range(20):
        frame = expand(rng.choice(FRAMES[kind]), rng)
        if not raw_end or frame.endswith("<x>"):
            break
    else:
        frame = "<x>"
    if frame.endswith("?") and core.endswith("?"):
        frame = frame[:-1]
    return re.sub(r" ('m|'re|'s|'d) ", r"\1 ", frame.replace("<x>", core))


if __name__ == "__main__":
    draw = random.Random(1)
    for tool in CORES:
        for _ in range(6):
            print(framed(tool, draw))
