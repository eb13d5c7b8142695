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
{my {boss|friend|mother|colleague} {wants|needs|asks for}|we need|someone asked for} <x>|{it would be {nice|great|good} to {have|know|see}|I'd love to {have|know|see}} <x>|
{seeking|looking for|in need of|need|want} <x>{ please|}|{anyone|anybody|somebody} {got|with} <x>?|{what I'm after is|my request is|all that's missing is|the thing I need is} <x>
|{hit|help} me {with|out with} <x>{ please|}|{where|how} {do|can} {I|we} get <x>?|{I'd|I would} {appreciate|be happy about|be thankful for|be grateful for} <x>
|{it's|it is} {about|a matter of} <x>|<x> {would be {nice|great|lovely|helpful}|is what I need|is all I need|is needed}|{time for|up next:|now for} <x>
|{grant|spare|pass|offer} me <x>{ please|}|{got|have} <x> for me?|{could|can} {somebody|someone|anybody} {get|give|tell} me <x>?|{here's|this is} what I want: <x>
|<x>, {quick|please and thanks|if you don't mind|when you have a moment|would you}{?|}|{in short|long story short|bottom line}, I need <x>"""
CLAUSE = """{tell|show} me <x>{ please|}|{do|would} you {know|happen to know} <x>{ please|}?|{can|could|would|will} you {tell me|check|find out|look up|say|see} <x>{, please|}?|{I want|I need|I'd like|I would like|I'd love} to {know|find out|hear|see} <x>|{any|no} idea <x>{?|}|I {wonder|was wondering|don't know|can't tell|forgot|keep wondering} <x>|
{please |}{check|find out|say|look up|let me know|tell me} <x>|{I'm|I am} {curious|not sure|wondering|asking} <x>|{my question is|the question is|question}{:|} <x>|{may|can|could} I {know|ask|find out} <x>?|{would|do} you mind {telling me|checking|looking up} <x>?|{someone|my boss|a friend|my sister} {wants to know|asked me|asks|needs to know} <x>|
<x>, {can you tell me|do you know|tell me|please|any idea}{?|}|{let's|we should|I have to} {see|check|find out} <x>|{it would be good to know|it matters|I must know|I need to be told} <x>|{use your tools|use a tool} {to find out|and tell me} <x>|{remind|inform} me <x>|<x>{?|}|{quickly|just|kindly} tell me <x>|{is it possible to say|can anybody say} <x>?|
{help|let} me {find out|see|understand} <x>|{I've|I have} {no idea|no clue|been asking myself|been wondering} <x>|{what|all} I want to know is <x>
|{could|can} {somebody|someone|anybody} tell me <x>?|{I'd|I would} {appreciate|be glad} {it |}{to know|knowing|to hear} <x>|{the point is|what matters is|unclear to me is} <x>
|{figure|work} out <x>{ please| for me|}|{do|did} you {hear|see|figure out} <x>?|{how|where} do I {find out|see|check} <x>?|{everyone|my mother|the boss} {asks|keeps asking|wants to hear} <x>
|<x> {is the question|is what I wonder|is what I need to know}|{give me a hint|give me an answer|enlighten me}: <x>{?|}"""
COMMAND = """<x>{ please| pls|, please| thanks| now| for me|}|{can|could|would|will} you {please |kindly |quickly |}<x>{ for me|}{, please|}?|{please|kindly|now|just|quickly|go and|go ahead and|be so kind and|do me a favor and|be nice and|then} <x>|{I want|I need|I'd like|I would like|I'd love} you to <x>{ please|}|{I want|I need|I'd like|I have|I'm trying|I'm going} to <x>|
{would|do} you mind {if I ask you to|helping me} <x>{?|}|{is it possible to|is there a way to|are you able to} <x>?|{let's|let us|we should|we need to|you should|you may} <x>|{help me|help me to|help us} <x>|{it's time to|time to|don't forget to|remember to} <x>|{how about you|why don't you|perhaps you can|maybe you could} <x>{?|}|{my task for you|your task|your job|next step|todo|request}: <x>|
{next|first|and|so|ok|okay|right|well}, <x>|{use your tools|use a tool} {to|and} <x>|{can|could|may} I ask you to <x>?|{my boss|my friend|my sister} {wants|asked} you to <x>|{what if you|try to} <x>{?|}|{hurry and|don't wait,} <x>|{I was hoping you could|it would be great if you could|I'd be glad if you could} <x>|
{I'd|I would} {appreciate it|be happy|be thankful} if you could <x>|{somebody|someone} {has to|must|should} <x>|{your|the} {mission|order|assignment|chore} is to <x>
|{here's|this is} what to do: <x>|{may|might} I {bother|trouble} you to <x>?|{make|be} sure to <x>|{I'm|I am} {asking|begging} you to <x>
|{any chance|is there any chance|would it be possible} to <x>?|<x>, {quick|would you|if you can|when you have a moment|that's all|as soon as you can}
|{would|will} you {be able|be willing|have time} to <x>?|{feel free to|take a second to|take a moment to|see if you can} <x>|{the plan is to|the idea is to|it remains to|what's left is to} <x>
|{I|we} {ought to|had better|might as well|must} <x>|{mind|how about} helping me to <x>?"""

# tool key -> kind of core -> forms
CORES = {
    "weather": {"thing": ["{the |}{current |latest |local |}{weather|forecast|temperature|conditions} {in|for|at|around} <location>", "{the |a |}{weather|forecast} {report|update|check|info} {for|from|on} <location>", "the {sky|climate|air|temperature|weather} {over|in|of} <location>", "<location>'s {weather|temperature|forecast}",
                          "{today's|the current} {weather|temperature|forecast} {for|in} <location>",
                          "{today's|tomorrow's|tonight's} {rain|snow|sun|wind} {forecast|outlook} for <location>",
                          "{the |}{outside|outdoor} temperature {in|at} <location>", "the {chance|risk} of {rain|snow|frost|storms} in <location>",
                          "{a|one} {look at the sky|weather bulletin|temperature reading|thermometer reading} {in|for|from} <location>"],
                "clause": ["{what|how} the {weather|sky|forecast} {is|looks} {like |}in <location>", "{if|whether} it is {raining|sunny|cold|warm|snowing|windy|wet|foggy|freezing|nice|dry} in <location>", "how {cold|warm|hot|wet|windy|mild|icy} it is in <location>", "{if|whether} I need {an umbrella|a coat|boots|a scarf|warm clothes} in <location>", "what it is like {outside|outdoors} in <location>",
                           "how many degrees it is in <location>", "what {to wear|kind of weather to expect} in <location>",
                          "{if|whether} {the sun shines|there is snow|there will be rain|a storm is coming|people are freezing} in <location>",
                          "{if|whether} {a jacket|an umbrella|sunscreen|a scarf} is {needed|a good idea|necessary} in <location>",
                          "how the {day|weekend|evening} {will be|looks} {outside |}in <location>", "what the thermometer {shows|says} in <location>"],
                "command": ["{check|look up|get|find|read|fetch} the {weather|temperature|forecast|conditions} {in|for|of} <location>", "{look|see} how the weather is in <location>", "{tell|show} me {the weather|the temperature|how cold it is} in <location>",
                          "{see|find out} {if it rains|how cold it is|what the sky does|if I need a coat} in <location>",
                          "{run|do} a weather {check|lookup} {for|on} <location>", "{report|describe} the {weather|conditions} in <location>",
                          "read the thermometer in <location>"]},
    "time": {"thing": ["{the |}{current |local |exact |right |}time {in|for|at|over in} <timezone>", "the {hour|clock|time of day} {in|at|of} <timezone>", "<timezone> {time|local time}", "{what the clock says|the clock} in <timezone>",
                          "{a|one} {time check|clock check|look at the clock} {for|in} <timezone>", "the present {hour|time} {over |}in <timezone>",
                          "the {clock|wall clock|local clock} {of|in} <timezone>"],
             "clause": ["what time it is {now |}in <timezone>", "how {late|early} it is in <timezone>", "what the {time|clock|hour} is in <timezone>", "{if|whether} it is {late|morning|night|noon|evening|after midnight|past nine} in <timezone>", "which hour it is in <timezone>", "what the clock {shows|says} in <timezone>",
                          "{if|whether} {people are awake|the shops are open|it is bedtime|they sleep|the day has begun} in <timezone>",
                          "what {time|hour} {they|people} have in <timezone>", "how far the day is in <timezone>"],
             "command": ["{check|look up|get|read|find|tell me} the {local |current |}time {in|for|of} <timezone>", "{see|look} how late it is in <timezone>", "look at the clock in <timezone>",
                          "{find out|work out|see} {what time it is|the hour|how late it is} in <timezone>", "{convert|translate} now to <timezone>{ time|}",
                          "{ask|check} the world clock {for|about} <timezone>"]},
    "calc": {"thing": ["the {result|value|sum|answer|outcome} of <expression>", "{what you get for|the answer to|the solution of} <expression>", "{a calculation|this sum|some arithmetic}: <expression>",
                          "the {number|total|exact value} {for|of} <expression>", "{help with|a result for|the outcome for} <expression>"],
             "clause": ["{what|how much} <expression> {is|makes|gives|equals}", "what {you get|I get|comes out} for <expression>", "what the result of <expression> is",
                          "{what|how much} <expression> {comes to|adds up to|works out to|would be}", "what {number|value} <expression> {has|gives|makes}"],
             "command": ["{calculate|compute|evaluate|solve|work out|figure out|do|find} <expression>", "{do|run} the {math|calculation|arithmetic}{:| for} <expression>", "{tell me|find} the {result|value} of <expression>",
                          "{handle|take care of} <expression>", "{put|enter|type} <expression> into the calculator", "use the calculator {for|on} <expression>"]},
    "timer": {"thing": ["a {timer|countdown|reminder|alarm} {for|of|in|after} <minutes> {minutes|min|mins}", "a <minutes> {minute|min} {timer|countdown|alarm}", "<minutes> minutes {on the clock|on a timer|of countdown}",
                          "{a|one} {beep|ring|signal|wake-up call|nudge} {in|after} <minutes> minutes",
                          "<minutes> minutes of {peace|quiet|sleep|rest|break}, then a {ring|beep|signal}"],
              "command": ["{set|start|create|make|run|begin|launch|activate|add} a {timer|countdown|alarm|reminder} {for|of|in} <minutes> {minutes|min|mins}", "{set|start|create|run} a <minutes> {minute|min} {timer|countdown|alarm}", "{remind|wake|alert|ping|notify|call|warn} me {in|after} <minutes> {minutes|min}", "{count|wait|time|measure} <minutes> minutes", "{ring|beep|buzz} {in|after} <minutes> minutes",
                          "{let me know|tell me|shout} when <minutes> minutes {are over|are up|have passed|are gone}",
                          "{nudge|buzz|poke|stop|interrupt} me {in|after} <minutes> minutes", "{keep|watch} the time for <minutes> minutes",
                          "{make|have} the {clock|timer|alarm} {ring|go off} {in|after} <minutes> minutes",
                          "{set|put} the {kitchen timer|clock|egg timer} {to|on|for} <minutes>{ minutes|}",
                          "{prepare|schedule|program} an alarm {in|after} <minutes> minutes"]},
    "timer.label": {"thing": ["a <minutes> {minute|min} timer {for|called|named|labelled} <label>", "a <label> timer {for|of} <minutes> {minutes|min}", "a timer for <label>, <minutes> minutes",
                          "{an alarm|a reminder|a countdown} {for|named|called} <label> {in|of|over} <minutes> minutes"],
                    "command": ["{set|start|create|make|run} a <minutes> {minute|min} timer {for|called|named|labelled} <label>", "{set|start|create} a <label> timer {for|of} <minutes> {minutes|min}", "{set|start} a timer {called|named} <label> for <minutes> minutes", "{remind|alert} me of <label> in <minutes> minutes",
                          "{start|run|count} <minutes> minutes for <label>", "{add|prepare|set up} a <minutes> minute {countdown|alarm} {labelled|titled|called} <label>",
                          "{ring|call me} for <label> in <minutes> minutes"]},
    "weather.unit": {"thing": ["the {temperature|weather|forecast} {in|for|of} <location> in <unit>", "<location>'s temperature in <unit>",
                          "the <unit> {temperature|reading} {in|for|of} <location>", "the {weather|forecast} for <location>, with <unit> as {the |}unit"], "clause": ["how {warm|cold|hot} it is in <location> in <unit>", "what the {temperature|weather} is in <location>, in <unit>",
                          "what the <unit> thermometer shows in <location>"],
                     "command": ["{check|get|look up|read} the {temperature|weather} {in|for|of} <location> in <unit>",
                          "{report|give|tell me} the temperature of <location> in <unit>"]},
    "currency": {"thing": ["{the |}{value|worth|equivalent|price} of <amount> <from> in <to>", "<amount> <from> in <to>", "the exchange of <amount> <from> {to|into} <to>", "the {amount|sum} in <to> for <amount> <from>",
                          "the {worth|price|equivalent} in <to> of <amount> <from>", "{an exchange|a conversion|a change} of <amount> <from> {to|into} <to>",
                          "<to> {for|instead of|in exchange for} <amount> <from>"],
                 "clause": ["how {much|many} <amount> <from> {is|are} in <to>", "what <amount> <from> {is|are} worth in <to>", "how much <to> I get for <amount> <from>", "what <amount> <from> {makes|is|gives|would be} in <to>",
                          "how {many|much} <to> {correspond to|equal|I pay for|make up} <amount> <from>", "what {I get|I would get} in <to> for <amount> <from>"],
                 "command": ["{convert|change|exchange|turn|swap|transfer} <amount> <from> {to|into|in} <to>", "{calculate|compute|find|work out} <amount> <from> in <to>", "{tell|show} me what <amount> <from> is in <to>",
                          "{trade|sell|switch} <amount> <from> {for|into} <to>", "{get|buy} <to> {for|with} <amount> <from>",
                          "{express|put|show} <amount> <from> in <to>", "make <amount> <from> into <to>"]},
    "notes": {"thing": ["{my|the|all|any} notes {on|about|for|with|mentioning|regarding} <query>", "{the|my|that} note {about|on|with|mentioning} <query>", "what I {wrote|noted|wrote down|saved} {about|on} <query>", "everything {about|on} <query> in my notes",
                          "{the|my|any} {memo|entry|page|line} {on|about|regarding} <query>{ in my notes|}",
                          "{whatever|all that|the things} I {noted|wrote down|jotted down} about <query>"],
              "clause": ["what I {wrote|noted} {about|on} <query>", "{if|whether} {I have|there is} a note {on|about} <query>", "{if|whether} my notes {mention|cover|contain} <query>", "what my notes say about <query>",
                          "where I {wrote|noted} something {about|on} <query>", "{if|whether} <query> {is|appears|comes up} in my notes",
                          "which {note|notes|page} {is|are} about <query>"],
              "command": ["{search|check|scan|look through|go through|browse|query} {my|the} {notes|notebook|memos} for <query>", "{find|get|open|read|show me|pull up|list} {my|the|all} notes {on|about|with} <query>", "{look|search} for <query> in {my|the} notes", "look up <query> in my notes",
                          "{dig up|fish out|locate|track down|retrieve} {my|the} {note|notes} {on|about} <query>", "{leaf|dig|flip|look} through my notes for <query>",
                          "{consult|query} my {notes|notebook} {on|about} <query>"]},
    "message": {"command": ["{send|write} {a|this} {message|text|note} to <to>: <text>", "{tell|text|message|write|inform|notify|answer} <to>: <text>", "{tell|inform|notify} <to> that <text>", "let <to> know that <text>", "{send|text|write|message} <to> \"<text>\"", "{send|write} \"<text>\" to <to>", "send <to> a {message|text|note} {saying|that says} \"<text>\"", "tell <to> <text>",
                          "{contact|ping|reach|get back to|respond to} <to>: <text>", "{pass on|forward|deliver} \"<text>\" to <to>",
                          "{drop|shoot|send} <to> {a line|a word|a text}: <text>", "{warn|remind|inform} <to> that <text>", "{write|say} to <to>: <text>",
                          "{answer|notify|contact} <to> {with|saying} \"<text>\""]},
    "stock": {"thing": ["{the |}{current |latest |last |}{price|value|quote} {of|for} <symbol>", "{the |}{stock|share|market} price {of|for} <symbol>", "a {quote|stock quote|share price} {for|of} <symbol>", "the <symbol> {stock price|quote|share price|price|shares}", "the price of {a|one} <symbol> share",
                          "the {market price|market value|trading price|live quote|closing price} {of|for} <symbol>",
                          "{a|one} {look|glance} at {the price of |the stock |}<symbol>", "what {one|a} share of <symbol> costs"],
              "clause": ["{how|where} <symbol> is {doing|trading}", "what {<symbol> costs|a share of <symbol> costs|<symbol> is worth|<symbol> trades at}", "how much {a share of <symbol> is|<symbol> is|one <symbol> share costs}", "{if|whether} <symbol> {is up|is down|went up|fell|rose}",
                          "what the {market|exchange} {pays|asks} for <symbol>", "{if|whether} <symbol> {is in the red|is in the green|gained|lost|climbed|is rising}",
                          "where <symbol> {stands|closed|is at}"],
              "command": ["{check|look up|get|fetch|find|quote|read} {the price of|the stock price of|the quote for|the stock} <symbol>", "{check|look up} {<symbol>|<symbol> shares|the <symbol> stock|the ticker <symbol>}", "see {how <symbol> is doing|where <symbol> trades}",
                          "{pull up|look at|watch} {the price of|the ticker|the quote for} <symbol>", "{ask|query} the {market|exchange} {for|about} <symbol>",
                          "find out what <symbol> {costs|is worth|trades at}"]},
}

# cores of requests that lack an argument, by the tool and what is missing
LACKING = {
    "weather": {
        "location": {
            "thing": [
                "the {weather|forecast|temperature|conditions}{ report|}", "{a|the} {weather|forecast} {report|update|check}",
                "{some|the} {weather|temperature} {info|data}", "{today's|tomorrow's|tonight's|this week's} {weather|forecast|temperature}",
                "the {outside|outdoor} {temperature|conditions}", "{a|one} {temperature reading|weather check|look at the sky}",
                "the {chance|risk|odds} of {rain|snow|frost|a storm}", "the {sky|sunshine|rain|snow|wind} {situation|outlook|prospects}",
                "{a|the} {rain|snow|wind|heat|storm} {warning|forecast|report}", "{some|any} news about the {weather|rain|sky|temperature}",
                "the {degrees|number of degrees} {outside|out there}",
                "the {present|latest|newest|current} {weather|forecast|temperature|conditions}{ outside| outdoors|}",
                "{a quick|a short} {weather|sky|rain} {summary|bulletin|overview}"],
            "clause": [
                "{what|how} the {weather|sky} is{ like|}", "{if|whether} it is {raining|sunny|cold|warm|windy} {outside|there|}",
                "how {cold|warm|hot} it is{ outside| there|}", "{if|whether} I need {an umbrella|a coat|a scarf}",
                "what to {wear|put on|expect from the sky}{ today| tomorrow|}",
                "{if|whether} {the sun is out|the sun shines|a storm is coming|rain is coming|there is snow|there will be rain|it gets colder|it clears up}",
                "how the {day|afternoon|evening|weekend} {looks|will be} {outside|weather-wise}",
                "{if|whether} I can {go out|leave|go for a run|sit outside} without {a coat|an umbrella|a jacket|getting wet}",
                "how many degrees {it is|we have|there are}{ outside| out there|}",
                "{if|whether} {the laundry will dry|my plants will freeze|the picnic can take place} {outside|today|tomorrow}",
                "what {the thermometer shows|the sky is doing|it is doing outside|the clouds are up to}",
                "{if|whether} it is going to {rain|snow|freeze|pour|storm|clear up}{ today| later| tonight|}",
                "how {nice|bad|humid|wet|icy|foggy|mild} it is {outside|out there|outdoors}"],
            "command": [
                "{check|look up|get|find|read} the {weather|temperature|forecast|conditions}",
                "{look|take a look|have a look} at the {weather|sky|forecast|thermometer}",
                "{tell|show|give} me {today's|the current|tomorrow's} {weather|forecast|temperature}",
                "{see|check|find out} {if it rains|if it is cold outside|how the sky looks|what the sky does|how warm it is}",
                "{run|do|make} a {weather|temperature|rain} {check|lookup|query}", "{read|check} the thermometer",
                "{bring|keep} me up to date {on|about} the weather", "{report|describe|sum up} the {weather|conditions|sky}",
                "use the weather {tool|service|function}", "plan {my clothes|my outfit|a walk} {around|by} the weather"]}},
    "time": {
        "timezone": {
            "thing": [
                "the {time|hour|clock|local time} {abroad|there|elsewhere|somewhere else|in another city|in another zone}",
                "{a|some} {foreign|distant|other} time", "the {current|exact|right|local|correct} time",
                "{a|the} {world clock|clock check|time check}",
                "the {hour|time} {over there|on the other side|where my friend lives|at the other office|overseas}",
                "{someone else's|my friend's|my sister's|their|her|his} local time", "the time {of day|right now|at the moment}",
                "the time in {some|another|a foreign|a different} {city|country|zone|place}", "{one|a certain|some} time zone",
                "a look at the {clock|world clock}", "the clock {time|reading} {abroad|elsewhere|overseas|over there}"],
            "clause": [
                "{what time|how late} it is {there|abroad|elsewhere|in another city|somewhere else}", "what the clock says {there|elsewhere|abroad}",
                "what {time|hour} {they|people|my friends|the others|we} have{ there| over there| right now|}",
                "{if|whether} {they are|people are|everybody is|my friend is|the office is} {asleep|awake|open|up} {there|over there|by now}",
                "{if|whether} it is {too late|too early|a good hour} to call {there|abroad|overseas|them|her|him}",
                "how far {ahead|behind} {they are|the clock is} there",
                "what time it is {right now|at the moment|where my sister lives|for the others|on the other side of the world|in some other place}",
                "{if|whether} it is {already|still} {night|morning|evening|noon|dark} {there|over there|abroad}",
                "what a {clock|watch} {there|abroad|over there} {shows|says}"],
            "command": [
                "{check|look up|get|find} the {time|clock|hour}{ there| abroad| in another city| somewhere|}", "{check|look up} a time zone",
                "{tell|show|give} me the {time|hour|local time|clock}{ there| over there| of another place| of another city|}",
                "{look|have a look} at the {clock|world clock}",
                "{find out|work out|check} {how late it is there|what time they have|the time overseas|the hour abroad}",
                "{run|do|make} a {time|clock|zone} {check|lookup|query}", "{read|check|open|show} the {world clock|clock}",
                "{call|phone|ring} {a friend|someone|my aunt} abroad at {a decent|a good|the right} hour", "use the {time|clock} {tool|function}"]}},
    "calc": {
        "expression": {
            "thing": [
                "{a|some|one} {calculation|arithmetic|math|sum}", "{a|the} calculator", "the {result|value} of {a sum|a formula|something}",
                "{a|one} {quick|small|little|hard|long|tricky} {calculation|sum|computation}",
                "{some|a bit of} {help with {math|numbers|arithmetic|sums}|number crunching|adding up|multiplication|division}",
                "the {answer|result|outcome|solution} {of|to} {a|my|this|one} {sum|calculation|math problem|formula|homework sum}",
                "{a|the} {pocket |}calculator{ now| for a second|}",
                "{two|some|a few|a couple of} numbers {added|multiplied|divided|added up|subtracted}",
                "the {total|product|difference|quotient|sum} of {some|a few|two|these} numbers",
                "{the|some} {arithmetic|mathematics} {done|part|help}"],
            "command": [
                "{calculate|compute|evaluate|solve|work out|add up} {something|a sum|a formula|some numbers|an expression}",
                "do {some math|a calculation|arithmetic|a sum}", "use the calculator",
                "{add|add up|sum up|multiply|divide|subtract} {some|two|a few|a couple of|my|these} {numbers|figures|values}",
                "{crunch|run|check} {some|a few|the|my} numbers",
                "{calculate|compute|work out|figure out|solve} {this|it|a little thing|one thing|my homework|a total|the total|something quick}",
                "{help|assist} me with {a sum|my math|my homework in math|some arithmetic|a calculation|a formula}",
                "do {the|my|a quick|one|a little} {math|sum|calculation|computation}", "{open|start|switch on|get out} the calculator",
                "{evaluate|solve} {a|one|my|this} {formula|expression|equation|term|math problem}",
                "{check|verify} {a|my|the} {sum|calculation|result}", "put {something|a sum|numbers} into the calculator"],
            "clause": [
                "what {a sum|my sum|this calculation|some formula|a little formula} {makes|gives|comes to|is}",
                "how much {a few numbers|some numbers|these numbers|two numbers} {make|come to|give}{ together|}",
                "what {comes out|I get} {of my formula|when I add some numbers|if I multiply two numbers|in the end}",
                "{if|whether} my {sum|calculation|math|result} is {right|correct|wrong}"]}},
    "timer": {
        "minutes": {
            "thing": [
                "a {timer|countdown|alarm|reminder|new timer}", "{one more|another|the} {timer|countdown}",
                "{a|one|some} {kitchen timer|egg timer|stopwatch|beep|ring|wake-up call|heads-up}",
                "a {quick|short|long|little|fresh|second|kitchen} {timer|countdown|alarm|reminder}",
                "{something|an alarm|a bell} {that rings|to wake me|to remind me}",
                "a {reminder|nudge|ping|buzz} {later|in a while|soon|when it's time|when time is up}",
                "a timer for {the oven|the stove|my break|cooking|a nap|the kitchen}", "{the|a} {clock|countdown} {started|set|running|to run down}",
                "{some time|a bit of time} on the {timer|clock|countdown}"],
            "command": [
                "{set|start|create|make|run|begin|launch} {a|the|another|my} {timer|countdown|alarm|reminder}",
                "{remind|wake|alert|ping} me {later|soon|in a while|in a bit}", "{count down|time something|start counting}",
                "{remind|warn|alert|notify|poke|nudge|buzz|beep} me {in some time|after some time|after a while|when it's time|when time is up|later on|in a few minutes}",
                "{set|start|create|prepare|switch on|turn on|activate|put on} {an alarm|a kitchen timer|an egg timer|a stopwatch|a new countdown|a short timer|the clock}",
                "{ring|beep|buzz|chime|make a noise} {later|in a while|when time is up|after some time|at the end|in a bit}",
                "{keep|watch} {the time|an eye on the clock|track of time}{ for me|}",
                "{time|clock} {me|this|my run|my speech|my break|the eggs|my nap|the next round}",
                "{wake|get} me {up |}{soon|later|in a while|in a bit|after my nap}", "{start|begin|do|run} {a|the|one} {countdown|count|timing}",
                "count {down|the minutes|backwards}{ for me|}", "{put|have} {a|one} timer {running|on|going}",
                "{make|have} it {ring|beep} {later|when I should stop|after a while}", "{stop|interrupt} me {after|in} {a while|some time}",
                "use the timer{ tool| function|}"],
            "clause": [
                "when {time is up|my time is over|it's time to stop|the time has run out|my break is over}",
                "when {some time|a while|a few minutes|a certain time} {has passed|have passed|is over|are over}"]}},
    "currency": {
        "to": {
            "thing": [
                "the {value|worth|exchange} of <amount> <from>",
                "<amount> <from> in {another currency|other money|some other currency|foreign money|local money}",
                "the {conversion|exchange} of <amount> <from>", "the {worth|value} of my <amount> <from>{ abroad|}",
                "{another|a different|some other} currency for <amount> <from>", "a {price|rate|deal} for <amount> <from>"],
            "clause": [
                "{what|how much} <amount> <from> {is|are} worth",
                "what <amount> <from> {is|are} worth {abroad|elsewhere|in another currency|in other money}",
                "what I {get|would get|could get} for <amount> <from>",
                "how much {money |}<amount> <from> {makes|make} {abroad|elsewhere|in another currency|over there}",
                "how far <amount> <from> {goes|go|will get me}{ abroad|}",
                "what <amount> <from> {comes to|would be|amounts to} {abroad|in another currency|when I change it}"],
            "command": [
                "{convert|change|exchange|swap} <amount> <from>",
                "{convert|change|exchange|swap|turn|trade} <amount> <from> {to|into|for} {something else|another currency|some other money|foreign money|local money}",
                "{sell|trade in|get rid of|change} {my |the |}<amount> <from>", "{take|bring} <amount> <from> to the exchange",
                "{work out|calculate|find out} the value of <amount> <from>",
                "{exchange|convert} my <amount> <from>{ for the trip| for the holiday| at the bank|}",
                "{do|make} {an exchange|a conversion} of <amount> <from>"]},
        "amount": {
            "thing": [
                "<from> in <to>", "the {rate|exchange rate|conversion} {from|of} <from> to <to>", "{some|a bit of|a pile of|my|our} <from> in <to>",
                "<to> {for|out of|instead of} {my |some |}<from>", "{a|the} {conversion|exchange|change} {from|of} <from> {to|into} <to>",
                "<from> {converted|changed|exchanged} {to|into} <to>", "the {worth|value} of {my|some} <from> in <to>"],
            "command": [
                "{convert|change|exchange|turn|swap} <from> {to|into} <to>",
                "{convert|change|exchange|swap|turn|trade} {some|my|a few|a bit of|our|the rest of my} <from> {to|into|for} <to>",
                "{go|switch|move} from <from> to <to>", "{get|buy} <to> {for|with} {my|some} <from>",
                "{sell|trade} {my |some |}<from> {for|against} <to>", "{do|make|calculate} {a|the} {conversion|exchange} from <from> {to|into} <to>",
                "{pay|see prices} in <to> instead of <from>"],
            "clause": [
                "how {much|many} <to> {I get|I would get|there are} for {my|some|the} <from>", "what {my|the|some} <from> {is|are} worth in <to>",
                "how <from> {converts|translates|changes} {to|into} <to>"]},
        "amount,from,to": {
            "thing": [
                "{a|some} {currency conversion|money exchange|conversion of money}",
                "{a|the|some} {currency|money|foreign exchange|cash} {conversion|exchange|calculation}",
                "{some|a bit of|a little} {foreign|other|different|local|holiday} {money|cash|currency}",
                "{an|the|today's} exchange {office|counter|desk}", "money {in another currency|for my trip|for abroad|from another country}",
                "{a|the} currency {converter|calculator|tool}",
                "the {worth|value} of {my money|some cash|a sum|my savings} {abroad|in another currency|elsewhere}"],
            "command": [
                "{convert|change|exchange|swap} {money|some money|my money|a sum|currencies|some cash}",
                "{convert|change|exchange|swap|trade} {a price|a bill|an amount|my savings|my budget|my cash|coins|a few notes|holiday money|my wages|a sum of money}{ for me|}",
                "{convert|change|exchange} {one currency|a currency|some money} {into|to} {another|another one|a different one}",
                "{get|buy|order} {foreign|local|some other|some foreign} {money|cash|currency}",
                "{do|run|make} a {currency|money} {conversion|exchange|calculation}",
                "{turn|change} {my|some|our} {money|cash|coins} into {something else|other money|foreign money}",
                "{work out|calculate|find out} {what my money is worth abroad|a price in another currency|an exchange|a conversion}",
                "use the {currency|money} {tool|converter}"],
            "clause": [
                "how much {my money|my cash|a sum|my budget|what I have} {is|would be} {worth |}{abroad|in another currency|over there|in foreign money}",
                "what {my money|my cash|some money|a bill|my wallet} {is|would be} worth {abroad|in another currency|elsewhere}",
                "what I {get|would get} {if I change money|for my money|at the exchange|when I exchange cash}"]}},
    "notes": {
        "query": {
            "thing": [
                "{a|one|some|that} note{ of mine|}", "something {from|in} my notes", "{a|some} search in my {notes|notebook}",
                "{a|one|some|an old|a certain|a particular|my last} note", "{my|the|all my|some old} {notes|memos|notebook|scribbles|jottings}",
                "something I {wrote|wrote down|noted|noted down|saved|jotted down|put in my notes}{ once| last week| some time ago| the other day|}",
                "{a|one} {notebook|note|memo} {search|lookup|query}", "{a|one} {line|page|entry} {from|in|of} {my|the} {notes|notebook}",
                "{the|that} note I {made|wrote|saved|need|am missing|lost}{ yesterday| last week| some day|}",
                "what I {wrote|wrote down|noted|jotted down|put down}{ the other day| last time| once|}",
                "{help|a hand} with {finding|searching} {a note|my notes}"],
            "command": [
                "{search|check|scan|look in|look through|go through} {my|the} {notes|notebook|memos}",
                "{find|get|open|read|pull up} {a|my|that|some} note", "look something up in my notes",
                "{look|search|leaf|flip|go|browse} through my {notes|notebook|memos|jottings|scribbles}",
                "{find|search|look for|look up|dig up|dig out|locate|pull up} {a note|something|an entry|a memo|an old note|one thing|that thing} {in my notes|in my notebook|among my notes|I wrote|I noted|I saved|of mine}",
                "{open|check|consult|query|browse|search|read|skim} {my|the} {notes|notebook|memos|note collection}",
                "{do|run|make|start} a {search|query|lookup} {in|of|over} my {notes|notebook|memos}",
                "{find|get|show} me {that|a|an old|the right|one of my} {note|notes|memo|page}",
                "{check|see} what I {wrote|noted|jotted down|wrote down}", "{remember|recall|remind me} what I {wrote down|noted|put in my notes}",
                "use the note search"],
            "clause": [
                "what {is|stands|I have|I wrote} in my {notes|notebook|memos}",
                "where {my note|that note|the note I need|my scribble} {is|went|has gone}",
                "{if|whether} I {wrote|noted|saved} {something|it|that} {down|in my notes|somewhere}",
                "what my {notes|notebook|memos} {say|say about it|contain}", "which {notes|memos} I have"]}},
    "message": {
        "text": {
            "thing": [
                "a {message|text|note} {to|for} <to>",
                "{a|one|another|a quick|a short|a little|a new} {message|text|line|sms|note|word} {to|for} <to>",
                "{some words|a few words|a couple of lines|something} {to|for} <to>", "a {reply|answer|response} {to|for} <to>",
                "{my|the} {message|reply|text} to <to>"],
            "command": [
                "{send|write} {a message|a text|something|a note} to <to>", "{text|message|write to|contact} <to>",
                "{tell|send|write} <to> {something|a message|some news}",
                "{send|drop|shoot|write} <to> {a line|a word|a quick text|a short message|something|a few words|an sms|a reply|a note}",
                "{contact|reach|ping|message|text|write|write to|answer|reply to|respond to|inform|notify|get back to} <to>{ for me| today| quickly|}",
                "{let|make} <to> know {something|a thing|some news|what's up}",
                "{tell|inform|notify|warn|remind} <to> {about something|of something|about it|something important|the news|one thing}",
                "{pass|send|bring} {something|a message|a word|news} {on |}to <to>",
                "{give|leave} <to> {a message|a word|a sign|some news|a short note}",
                "{compose|type|draft|prepare|start} {a|the|my} {message|text|reply|sms} {to|for} <to>",
                "{talk|speak|say something} to <to> by {text|message|sms}"],
            "clause": [
                "how to {reach|contact|message|text|write to} <to>"]},
        "to": {
            "command": [
                "{send|write|text} \"<text>\"", "{send|write} {a|the|this} {message|text} {saying |}\"<text>\"",
                "{send|text|write|message|deliver|say|pass on|post|dispatch|type} \"<text>\"",
                "{send|write|deliver|post} {a|the|this|one|my|another|a quick|a short} {message|text|sms|line|note}{ saying| that says| with the text| with the words|:} \"<text>\"",
                "{send|deliver|pass on|post} {this|these words|the words|the following}: \"<text>\"",
                "{let|make} {someone|somebody|a friend|them} know {this|that}: \"<text>\"",
                "{tell|text|message|inform} {someone|somebody|a friend|my friend} \"<text>\"",
                "{send|text|write} \"<text>\" {to someone|to somebody|to a friend|to a contact|as a message|by text|as a text}",
                "{send out|get out|put out} \"<text>\" as a {message|text|sms}", "use the messenger and {write|send} \"<text>\"",
                "{send|write} {this|a message|a text}: <text>"],
            "thing": [
                "the {message|text|words|line} \"<text>\" {sent|delivered|sent out|on its way}",
                "a {message|text} {saying|that says|with the words} \"<text>\""]},
        "to,text": {
            "thing": [
                "{a|one|some|another} {message|text|sms}",
                "{a|one|some|another|a new|a quick|a short|a little} {message|text|sms|text message|chat message|line|line or two}{ to somebody| to a friend| to someone| for someone|}",
                "{some|a few} words {to|for} {a friend|someone|somebody|a contact}",
                "{something|a message|a text} {sent|delivered|written}{ for me| today|}", "{the|my} {messenger|message service|message tool}"],
            "command": [
                "{send|write|compose|text} {a|one|another|some} {message|text|sms|note}",
                "{text|message|write to|contact} {somebody|someone|a friend}",
                "{contact|reach|ping|text|message|write to|write|inform|notify|answer|get in touch with|get hold of} {somebody|someone|a friend|a contact|a person|one of my friends|a colleague|one of my contacts|my people}",
                "{send|drop|shoot} {somebody|someone|a friend|a colleague} {a message|a line|a text|a word|a few words|some news}",
                "{let|make} {somebody|someone|a friend|people|the others} know{ something| a thing| the news|}",
                "{tell|inform|warn|remind} {somebody|someone|a friend|a colleague} {something|about something|of something|the news}",
                "{compose|type|draft|prepare|start|write|send out|get out} {a|one|another|a new|my next} {message|text|sms|text message}",
                "{pass|send} {something|a message|a word|news} {on|along|out}", "{say|write} something to {somebody|someone|a friend|a contact}",
                "use the {messenger|message tool|message function}", "{spread|share} {the news|some news|a word} by {text|message|sms}"],
            "clause": [
                "how to {reach|contact|text|message|write to} {somebody|someone|a friend|a person}"]}},
    "stock": {
        "symbol": {
            "thing": [
                "{a|the|some|my} {stock price|share price|stock quote|quote|ticker}", "the price of {a|my|some} {stock|share}",
                "{a|one|the latest|the current|today's|a fresh|a live} {stock|share|market} {price|quote|value|figure}",
                "the {price|value|worth|quote} of {a|my|some|one|a certain|this one} {stock|share|security|ticker|listed company}",
                "{a|the} {quote|price|figure} from the {market|exchange|stock market|stock exchange}",
                "{some|any|the} {market|stock|share} {data|prices|figures|numbers|news}",
                "{my|the|some} {shares|stocks|portfolio|investment|papers} {today|right now|at the moment}",
                "{a|one} {ticker|quote|stock|share} {lookup|check|query}", "the value of {my|an|one} {investment|share|stock|holding|paper}"],
            "clause": [
                "how {my|the|some} {stock|share} is doing", "what {a|my|the} {share|stock} {costs|is worth}",
                "{if|whether} my {stock|shares} went up",
                "how {a stock|my investment|one of my stocks|a certain share|the share|my paper} {is doing|does|trades|stands|did today}",
                "{if|whether} {my investment|a stock|the share|my paper|one of my shares} {is up|is down|went up|fell|rose|lost value|gained}",
                "what {one share|a single share|a stock|a certain stock|my investment|one of my stocks} {costs|is worth|trades at|is at}{ today| right now| now|}",
                "where {my share|a stock|the share|my investment} {stands|is trading|closed}",
                "how much {a share|one share|my stock|my investment} {is|costs|brings}{ today| now|}",
                "{if|whether} I {should sell|can sell|should buy|made money on} {my shares|a stock|my stock|some shares}"],
            "command": [
                "{check|look up|get|find|read} {a|my|the|some} {stock|share|stock price|share price|quote}",
                "{look|have a look|take a look} at {a stock|my stock|the market|the exchange|a share|my shares|stock prices}",
                "{check|look up|get|find|fetch|read|pull up} {a|one|the right|the latest|a fresh} {quote|ticker|stock price|share price|market price}",
                "{see|find out|tell me|check} {how my stock is doing|what a share costs|where the share stands|how my shares do|how the stock trades}",
                "{quote|price} {a|one|my|some} {stock|share|ticker}", "{run|do|make} a {stock|quote|ticker|price|market} {check|lookup|query}",
                "{check|watch|follow} {my|a|one|some} {portfolio|investment|shares|stocks|paper}",
                "{buy|sell} {a|one|some} {share|stock|shares} {at|for} {the right|a good} price", "use the stock {tool|quote service}"]}},
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
