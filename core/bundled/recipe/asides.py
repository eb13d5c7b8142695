"""What people say around a request: why they ask, and a last word after it.

Whole sentences, before or behind the request, that name no value which a tool
could take; and requests that are two sentences (SENTENCES, by tool and variant).
"""

from grammar import expand

ANY = """{I'm|I am} in {a hurry|a rush}|my hands are {full|wet|dirty}|I {can't|cannot} {look|check|do it} {myself|right now}|{sorry|apologies} for asking again|
{I have|there's} {no time|little time}|{I'm|I am} {busy|driving|on the phone|on a call|in a meeting|on the train}|it's {urgent|important|for work|for a friend|for my {boss|mother|class}}|
I {forgot|don't remember|always forget}|{my colleague|my son|my neighbor|someone} {asked|wants to know|needs this}|I {was told|heard} you can {help|do this}|
{here is|here's} what I need|{let's try|let me try} {something|this|a tool}|{I'm|I am} {testing you|new here|trying this out}|just {a test|checking|to be sure}|{ok|okay|right}, {next one|another one|go on}""".replace("\n", "").split("|")
REASONS = {
    "weather": """{I'm|we are|we're} {going out|going for a walk|leaving|travelling|packing|flying there|planning a trip|going hiking}{ soon| later| tomorrow|}|I don't know what to {wear|pack}|
my {flight|train|trip|picnic} is {soon|tomorrow|on friday}|I hate rain|{my parents|friends|we} want to {go outside|have a barbecue|go to the beach}|we have {a wedding|a match|a party} {outside|in the garden}""",
    "time": """{I want|I have|I need} to {call|phone|ring} {someone|a friend|a customer|my aunt}|{I don't want|I'd hate} to wake {anyone|them|her}|{the|my|our} {call|meeting|game|show} starts {soon|later}|
{my watch|my clock|my phone} {stopped|is wrong|is dead}|we have {people|a team|family} there|{I'm|I am} jet-lagged""",
    "calc": """{I'm|I am} doing {my taxes|homework|the books|my budget|the bill}|{I'm|I am} bad at {math|numbers}|my calculator {broke|is gone|is empty}|{we're|we are} splitting the bill|{I|we} have to {fill in|check} {a form|an invoice}|
quick {sum|math|calculation}""",
    "timer": """{I'm|I am} {cooking|baking|making dinner|boiling something|brewing|working out|about to nap|taking a break|studying}|{dinner|the oven|the water|the bath} is {ready|on|hot|running}|I {always forget|burned|ruined} {it|things|the last one}|
don't let me {forget|fall asleep|sleep}|{I have to|we must} leave {soon|in a bit|later}|{the kids|we} are playing a game""",
    "currency": """{I'm|we're|we are} {travelling|going on holiday|abroad|shopping|buying a car|selling my bike}|{the|my|our} {hotel|invoice|bill|ticket|rent} {came|is due|looks expensive}|{I have|I got|there is} some cash left|
the shop only shows {its own|another} currency|{I'm|I am} paid from abroad""",
    "notes": """I {wrote|noted|put} it down {somewhere|last week|a while ago}|{I know|I think} I {saved|wrote|noted} {something|it}|I {can't|cannot} find {it|the page|my list}|{we|they} talked about it|{it must be|it's} in my notes|{I have|there is} a meeting about it""",
    "message": """{I'm|I am} {late|driving|stuck|on my way|running late|out of battery soon}|{she|he|they} {is|will be|might be} waiting|I {promised|forgot|have} to {write|answer}|{I don't|I do not} have {the number|my phone}|I {can't|cannot} type {now|here|with gloves}|
{someone|somebody} is waiting for {news|an answer|me}""",
    "stock": """{I'm|I am} {thinking of|about to|close to} {buying|selling|investing}|I {own|bought|sold|have} {a few|some|ten} shares|{the market|the news} {is wild|was bad|was good|opened|closed}|my {broker|bank|uncle} {called|says buy|says sell}|
I missed the {opening|news|close}""",
}
REASONS = {key: text.replace("\n", "").split("|") for key, text in REASONS.items()}


def _top(parts):
    """Joins what was cut at a bar inside of braces."""
    out, depth = [], 0
    for part in parts:
        if depth:
            out[-1] += "|" + part
        else:
            out.append(part)
        depth += part.count("{") - part.count("}")
    return out


ANY = _top(ANY)
REASONS = {key: _top(parts) for key, parts in REASONS.items()}
LAST = ["thanks", "thank you", "that's all", "that's it", "no hurry", "it's urgent", "thanks a lot", "I'm waiting", "go ahead", "much appreciated", "cheers", "be quick",
        "nothing else", "I owe you one", "that would be great", "many thanks", "please", "as fast as you can", "I trust you", "you're the best"]
BETWEEN = [". ", ". ", ". ", ". ", "! ", ", so ", " so ", " - ", ". so ", "... ", ", ", ". ok, ", ". anyway, "]


def with_reason(key, text, rng):
    """The text (its slots not filled yet) after a sentence that says why."""
    reason = expand(rng.choice(REASONS[key] if key in REASONS and rng.random() < 0.7 else ANY), rng)
    between = rng.choice(BETWEEN)
    if reason.endswith("?"):
        between = " "
    if rng.random() < 0.6:
        reason = reason[0].upper() + reason[1:]
    if between[0] in ".!" and between[-2] in ".!" and rng.random() < 0.6 and not text.startswith("<"):
        text = text[0].upper() + text[1:]
    return reason + between + text


def with_last_word(text, rng):
    """The text before a last short sentence."""
    last = rng.choice(LAST)
    if text[-1] not in "?!.":
        text += rng.choice((".", ".", ".", "!", ","))
    if text[-1] != "," and rng.random() < 0.7:
        last = last[0].upper() + last[1:]
    return text + " " + last + rng.choice(("", ".", ".", "!"))


SENTENCES = {
    "weather": ["{I'm|we're|I am} {going to|flying to|moving to|visiting|driving to} <location>{ soon| tomorrow|}. {What's|How is|how's} the weather{ there| like there|}?", "<location>. {Weather|Forecast}{ please|}?",
                "{it's about|I'm in|take} <location>. {Is it raining|Is it cold|Do I need a coat|How warm is it}?", "{I want|I need} the weather. {The place is|For|In} <location>"],
    "weather.unit": ["{weather|temperature} in <location>. {In|Use|I prefer} <unit>{ please|}", "<location>. {How warm is it|What's the temperature}? {In|Use} <unit>{ please|}", "{check|get} the weather in <location>. Use <unit>"],
    "time": ["{my sister|a friend|our team|my boss|the client} {lives|is|works} in <timezone>. {What time is it|How late is it} there?", "<timezone>. {What time is it|Time}?",
             "I'm {calling|phoning} <timezone>. {How late|What time} is it there?", "{tell me the time|I need the time}. {The zone is|For|In} <timezone>"],
    "calc": ["here is {a sum|my sum|a formula}: <expression>. {What is it|Solve it|The result}?", "<expression>. {How much|What} is that?", "I have {a sum|a little math}. <expression>", "{do|solve} this for me. <expression>"],
    "timer": ["<minutes> minutes{ please|}. {Start|Go}{ now|}", "I need a timer. <minutes> minutes", "{set|start} a timer. {Make it|Say|Take} <minutes> minutes", "{a timer|countdown}. {For |}<minutes> minutes{ please|}",
              "<minutes> minutes{ please|, please}"],
    "timer.label": ["<minutes> minutes{ please|}, {call|name} it <label>", "<minutes> minutes. {Label|Name|Title}: <label>", "{set|start} a timer: <label>, <minutes> minutes", "I need a timer. It's for <label>. <minutes> minutes",
                    "<label>. <minutes> minutes{ please|}", "timer. <minutes> minutes. {Name|Call} it <label>", "{start|set} <minutes> minutes and {name|call|label} it <label>", "{set|start} a <minutes> minute timer. {Call|Name|Label} it <label>"],
    "currency": ["{I have|I've got|there are} <amount> <from>. {How much|What} is that in <to>?", "<amount> <from>. {I want|Make it|In} <to>{ please|}", "{the bill|the hotel|it|my rent} is <amount> <from>. {What is|How much is} that in <to>?",
                 "{convert|change} something. <amount> <from> to <to>"],
    "notes": ["I {noted|wrote down|saved} something about <query>. {Find it|Look it up|Search for it}", "{it's|it was} about <query>. {Search|Check} my notes", "{search|check|look through} my notes. {The topic is|It's about|Look for} <query>",
              "I need a note. It's about <query>"],
    "message": ["{write|text|message} <to>. {Say|Tell them|Write}: <text>", "{a |}message for <to>. {It says|The text}: <text>", "I need to reach <to>. {Text|Message} {them|him|her}: <text>", "{write|text} <to>. {Say|Write} \"<text>\""],
    "stock": ["I {own|hold|bought|want} <symbol>. {What's the price|How is it doing|What is it worth}?", "<symbol>. {Price|Quote|How much}?", "{check|look up} a {stock|share}{ for me|}. {It's |}<symbol>", "my stock is <symbol>. {Price|Value}?"],
}
