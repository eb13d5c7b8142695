"""Tools beside the eight of the demonstration, a few phrasings each.

They teach one rule: whatever is declared, read the declaration.  Every fifth
one is held out for evaluation.
"""

from collections import namedtuple

# slots: {slot: kind of value, a method of values.Values or one of the kinds of dialogues.py}
# params: [(slot, [names], type, description)]
Other = namedtuple("Other", "key names noun descriptions params slots forms")


def _other(key, names, noun, descriptions, params, slots, forms):
    return Other(key, names.split(), noun, descriptions.split("; "), params, slots, forms.split("; "))


OTHERS = [
    _other("music", "play_music play_song start_track music_player", "music", "Play {a song|music|a track}; {Start|Starts} {playing |}{a piece of music|the given song}; {Music|Song} player",
           [("song", ["song", "title", "track", "music"], "string", "{Song|Track} {title|name}")], {"song": "title"},
           "play <song>{ for me|}; put on <song>; {I want|I'd like} to hear <song>; {can you|could you|please} play <song>{?|}; start <song>; {play the song|play the track|turn on} <song>; music: <song>; let me {hear|listen to} <song>"),
    _other("light", "turn_on_light light_on switch_light lights_on", "lights", "{Turn|Switch} on {the|a} light{ in a room|}; {Lights|Lamp} {control|on}; {Light|Lamp} switch of a room",
           [("room", ["room", "where", "area", "location"], "string", "{Room|Which room|Name of the room}")], {"room": "room"},
           "{turn|switch} on the {light|lights|lamp} in the <room>; {light|lights} on in the <room>; {it's|it is} {too |}dark in the <room>{, help|}; <room> {light|lights} on{ please|}; {can you|could you} light up the <room>?; make the <room> bright; I need light in the <room>"),
    _other("translate", "translate_text translate translator to_language", "translation", "Translate {a |}text {into|to} {a|another} language; {Text|Language} translation; {Says|Gives} a text in another language",
           [("text", ["text", "input", "sentence", "phrase"], "string", "{Text|What} to translate"), ("language", ["language", "lang", "target", "to"], "string", "{Target |}language")],
           {"text": "phrase", "language": "language"},
           "translate \"<text>\" {to|into} <language>; {what is|what's} \"<text>\" in <language>?; how do {you|I} say \"<text>\" in <language>?; say \"<text>\" in <language>; <language> for \"<text>\"{?|}; {can you|please} translate \"<text>\" to <language>{?|}; \"<text>\" in <language>, please"),
    _other("table", "book_table reserve_table restaurant_booking table_reservation", "table bookings", "{Book|Reserve} a table{ at a restaurant|}; {Restaurant|Table} {booking|reservation}; {Makes|Make} a reservation {for some people|at a restaurant}",
           [("restaurant", ["restaurant", "place", "where", "name"], "string", "{Restaurant|Name of the restaurant}"), ("people", ["people", "guests", "seats", "party_size"], "integer", "{Number of |}{people|guests}")],
           {"restaurant": "place", "people": "small"},
           "{book|reserve} a table {at|in} <restaurant> for <people>{ people|}; {book|reserve} a table for <people> at <restaurant>; a table for <people> at <restaurant>{ please|}; we are <people>, {book|reserve} <restaurant>; I {want|need} <people> seats at <restaurant>; can you get us into <restaurant>, <people> people?"),
    _other("parcel", "track_parcel parcel_status package_tracker shipment", "parcels", "Track a {parcel|package|shipment}; {Parcel|Package|Delivery} {tracking|status}; {Where|Find out where} a {parcel|package} is",
           [("number", ["number", "tracking_number", "id", "code"], "string", "{Tracking |Parcel |}number")], {"number": "serial"},
           "{track|follow} {parcel|package|my parcel} <number>; where is {my |the |}{parcel|package|shipment} <number>?; {parcel|package|tracking}: <number>; {status|location} of {parcel|package} <number>; {has|did} <number> {arrived|arrive}?; when does {parcel |package |}<number> arrive?; check the delivery <number>"),
    _other("web", "search_web web_search browse internet_search", "web search", "Search the {web|internet}; {Web|Internet|Online} search; {Look|Looks} something up {online|on the web}",
           [("query", ["query", "q", "text", "keywords"], "string", "{Search|Query} {text|words}")], {"query": "phrase"},
           "search the {web|internet} for <query>; {google|look up} <query> {online|on the web}; {find|search} <query> {online|on the internet}; web search: <query>; what does the {web|internet} say about <query>?; {can you|please} search online for <query>{?|}; look on the web for <query>"),
    _other("define", "define_word dictionary word_meaning lookup_word", "definitions", "{Define|Explain} a word; {Dictionary|Word} lookup; {Get|Returns} the {meaning|definition} of a word",
           [("word", ["word", "term", "entry", "text"], "string", "{Word|Term}{ to define| to look up|}")], {"word": "word"},
           "define <word>{ for me|}; {give|tell} me the {definition|meaning} of <word>; look up the word <word>; dictionary: <word>; {what is|what's} the {definition|meaning} of <word>?; what does the word <word> mean?; <word>, {definition|meaning}{ please|}"),
    _other("news", "get_news headlines latest_news news_feed", "news", "{Get|Fetch|Read} the {latest |}{news|headlines}{ on a topic|}; {News|Headlines} {about a topic|feed}; What {happened|is new} {about|in} a {topic|field}",
           [("topic", ["topic", "subject", "about", "category"], "string", "{Topic|Subject}{ of the news|}")], {"topic": "phrase"},
           "{what's|what is} {new|the news} {about|on} <topic>?; {news|headlines} {about|on} <topic>; {get|show|read} me {the |}{latest |}{news|headlines} {about|on} <topic>; any news {about|on} <topic>?; the latest {news|headlines} on <topic>{ please|}; {read|check} the news about <topic>"),
    _other("file", "open_file read_file view_file cat_file", "files", "{Open|Read|Show} a file; {File|Document} {reader|viewer}; {Returns|Prints} the {content|text} of a file",
           [("path", ["path", "file", "filename", "name"], "string", "{Path|File name}{ of the file|}")], {"path": "path"},
           "open {the file |}<path>; {read|show|print|cat} <path>{ for me|}; {what's|what is} in <path>?; {show|give} me the {content|contents|text} of <path>; {can you|please} open <path>{?|}; file: <path>; let me see <path>"),
    _other("event", "create_event add_event calendar_add new_appointment", "the calendar", "{Create|Add} {a calendar event|an event|an appointment}; {Calendar|Agenda} {entry|event}; {Puts|Put} {an event|something} into the calendar",
           [("title", ["title", "name", "event", "what"], "string", "{Title|Name}{ of the event|}"), ("date", ["date", "day", "when", "on"], "string", "{Date|Day}")], {"title": "title", "date": "date"},
           "{add|create} {an event|an appointment} \"<title>\" on <date>; put \"<title>\" {in|into} {my|the} calendar {on|for} <date>; calendar: \"<title>\", <date>; {schedule|plan} \"<title>\" {on|for} <date>; on <date> I have \"<title>\", {add it|note it in the calendar}; {enter|save} \"<title>\" {on|for} <date> in my calendar"),
    _other("random", "random_number roll_number dice pick_number", "random numbers", "{Draw|Get|Pick} a random number; Random number {between two numbers|generator}; {Rolls|Roll} a {number|die} {between|from} two bounds",
           [("min", ["min", "low", "from", "start"], "integer", "{Smallest|Lowest|First} number"), ("max", ["max", "high", "to", "end"], "integer", "{Largest|Highest|Last} number")], {"min": "small", "max": "large"},
           "{pick|draw|give me|choose} a {random |}number {between|from} <min> {and|to} <max>; random number <min> to <max>; {a |}random {number|integer} between <min> and <max>{ please|}; roll {a number |}from <min> to <max>; {guess|think of} a number between <min> and <max>; randomly choose between <min> and <max>"),
    _other("distance", "get_distance distance how_far route_length", "distances", "{Get|Compute|Return} the distance {between|of} two {places|cities}; {Distance|Route length} {calculator|lookup}; How far {two places are apart|it is}",
           [("from", ["from", "start", "origin", "a"], "string", "{Start|Origin|First place}"), ("to", ["to", "end", "destination", "b"], "string", "{End|Destination|Second place}")], {"from": "city", "to": "city"},
           "how far is it from <from> to <to>?; {distance|what is the distance|what's the distance} {from|between} <from> {to|and} <to>{?|}; how many {kilometers|miles} {from|between} <from> {to|and} <to>?; {measure|compute|get} the distance from <from> to <to>; is it far from <from> to <to>?; <from> to <to>, how far?"),
    _other("todo", "add_todo add_task todo_add new_task", "to-do lists", "{Add|Put} {a task|an item} {to|on} the {to-do list|list}; {To-do|Task} {list|entry}; {Remembers|Saves} a task",
           [("task", ["task", "item", "title", "text"], "string", "{Task|What to do|Item}")], {"task": "phrase"},
           "add <task> to my {to-do list|todo list|tasks|list}; put <task> on {my|the} {list|to-do list|todo list}; {new task|todo|task}: <task>; {please |}add {the task|a task|the item} <task>; I {must|have to} do <task>, {put it on the list|add it}; {my|the} list needs <task>"),
    _other("recipe", "find_recipe recipe_search cookbook get_recipe", "recipes", "{Find|Search|Get} a recipe; {Recipe|Cookbook} {search|lookup}; {How to|What to} cook with {an ingredient|something}",
           [("ingredient", ["ingredient", "with", "food", "item"], "string", "{Ingredient|Main ingredient|Food}")], {"ingredient": "label"},
           "{find|get|show me} a recipe {with|for} <ingredient>; recipe {with|for} <ingredient>{ please|}; {what can I|how do I} cook {with|from} <ingredient>?; I have <ingredient>, {find a recipe|any recipe}?; {do you have|is there} a recipe {with|for} <ingredient>?; a dish with <ingredient>{?|}"),
    _other("volume", "set_volume volume loudness adjust_sound", "the volume", "{Set|Change} the {volume|loudness}; {Volume|Sound} {control|level}; How loud {the speaker|it} is",
           [("level", ["level", "volume", "percent", "value"], "integer", "{Level|Volume}{ in percent|}")], {"level": "small"},
           "{set|turn} the {volume|sound} to <level>{ percent|}; volume <level>{ percent|}; {make|turn} it {louder|quieter|up|down}, <level> percent; {put|change} the {loudness|volume} {to|at} <level>; sound level <level>{ please|}"),
    _other("heating", "set_temperature thermostat heating_control warm_up", "the heating", "{Set|Change} the {thermostat|heating|room temperature}; {Thermostat|Heating} {control|setting}; {Heats|Heat} a room to {some|the given} degrees",
           [("room", ["room", "where", "zone", "area"], "string", "{Room|Which room}"), ("degrees", ["degrees", "temperature", "value", "target"], "integer", "{Degrees|Target temperature}")], {"room": "room", "degrees": "small"},
           "{set|turn} the {heating|thermostat} in the <room> to <degrees>{ degrees|}; {heat|warm} the <room> to <degrees>{ degrees|}; <degrees> degrees in the <room>{ please|}; make the <room> <degrees> degrees; {heating|thermostat} <room>: <degrees>"),
    _other("email", "send_email email mail_out compose_mail", "e-mail", "{Send|Write} an {e-mail|email}; {E-mail|Mail} {sender|delivery}; {Mails|Mail} {a subject|some words} to an address",
           [("address", ["address", "to", "recipient", "email"], "string", "{E-mail address|Address}"), ("subject", ["subject", "title", "text", "about"], "string", "{Subject|Text}{ of the mail|}")], {"address": "address", "subject": "phrase"},
           "{send|write} an {e-mail|email|mail} to <address>{:| about| with the subject} <subject>; {email|mail} <address>{:| about} <subject>; {compose|draft|start} an email to <address> about <subject>; e-mail for <address>: <subject>"),
    _other("movie", "find_movie movie_info film_lookup cinema", "movies", "{Find|Look up} a {movie|film}; {Movie|Film} {info|database|lookup}; {Tells|Says} {who plays in|something about} a {movie|film}",
           [("title", ["title", "movie", "film", "name"], "string", "{Title|Name}{ of the movie| of the film|}")], {"title": "title"},
           "{find|look up} the {movie|film} <title>; who {plays|stars} in {the movie |the film |}<title>?; {info|information} {on|about} the {movie|film} <title>; is <title> a good {movie|film}?; {movie|film}: <title>; when did the {movie|film} <title> come out?"),
    _other("order", "order_food place_order buy_item shop_order", "orders", "{Order|Buy} {food|an item|something}; {Shop|Food} order; {Places|Place} an order for {some pieces of |}an item",
           [("item", ["item", "product", "what", "dish"], "string", "{Item|Product|What to order}"), ("count", ["count", "quantity", "number", "pieces"], "integer", "{How many|Quantity|Number}")], {"item": "label", "count": "small"},
           "order <count> <item>{ for me|}; {buy|get} <count> <item>; {I want|I need|I'd like} to {order|buy} <count> <item>; <count> <item>, {order it|buy them}{ please|}; {can you|please} order <count> times <item>{?|}; place an order: <count> <item>"),
    _other("door", "lock_door door_lock secure_door close_lock", "doors", "{Lock|Secure} a door; Door {lock|control}; {Locks|Closes} the {given |}door",
           [("door", ["door", "which", "name", "entrance"], "string", "{Door|Which door}")], {"door": "room"},
           "lock the <door>{ door|}; {is|check that} the <door> {locked|closed}{?|}; {please |}{secure|close|lock} the <door> door; <door> door: lock; {make sure|see that} the <door> door is locked"),
    _other("train", "find_train train_times rail_search next_train", "trains", "{Find|Search} {a train|trains}{ between two cities|}; {Train|Rail} {times|timetable|connections}; When the next train leaves",
           [("from", ["from", "origin", "departure", "start"], "string", "{Departure|Start|From} {station|city}"), ("to", ["to", "destination", "arrival", "end"], "string", "{Arrival|Destination|To} {station|city}")], {"from": "city", "to": "city"},
           "{find|get me|search} a train from <from> to <to>; {when|what time} {is|does} the {next |}train from <from> to <to>{ leave|}?; {next |}train from <from> to <to>{ please|}; trains {from|between} <from> {to|and} <to>; I {need|want|have} to {go|get|travel} from <from> to <to> by train; rail connection <from> to <to>"),
    _other("photo", "find_photos photo_search pictures album_lookup", "photos", "{Find|Search} {photos|pictures}; {Photo|Picture|Album} {search|lookup}; {Shows|Show} {photos|pictures} of something",
           [("subject", ["subject", "of", "query", "what"], "string", "{Subject|What is on the picture}")], {"subject": "phrase"},
           "{show|find} me {photos|pictures|photos} of <subject>; {find|search} {my |}{photos|pictures} {of|with} <subject>; {any|do I have} {photos|pictures} of <subject>?; {photos|pictures}: <subject>; where are the {photos|pictures} {of|with} <subject>?"),
    _other("run", "run_command shell execute terminal", "running commands", "{Run|Execute} a {shell |}command; {Shell|Terminal|Command line}; {Executes|Runs} {a command|a program}{ and returns its output|}",
           [("command", ["command", "cmd", "line", "input"], "string", "{Command|Command line}{ to run|}")], {"command": "command"},
           "{run|execute} `<command>`; {run|execute|start} the command `<command>`; what {does|is the output of} `<command>`{ print|}?; {shell|terminal}: `<command>`; {can you|please} {run|execute} `<command>`{?|}; type `<command>` in the terminal"),
    _other("contact", "find_contact phone_number address_book contact_lookup", "contacts", "{Find|Look up} a {contact|phone number}; {Contact|Address book|Phone book} {lookup|search}; {Returns|Gives} the {phone number|number} of a person",
           [("person", ["person", "name", "who", "contact"], "string", "{Person|Name|Contact}")], {"person": "name"},
           "{what's|what is} the {phone |}number of <person>?; {find|look up|get} {the |}{number|contact|phone number} {of|for} <person>; how {can|do} I {reach|call} <person>?; {phone|number} of <person>{ please|}; {contact|phone book}: <person>; do you have <person>'s number?"),
    _other("sensor", "read_sensor sensor_value probe measure", "sensors", "{Read|Query} a sensor; Sensor {value|reading}; {Returns|Gives} {what|the value that} a sensor measures",
           [("sensor", ["sensor", "id", "name", "probe"], "string", "{Sensor|Sensor id|Which sensor}")], {"sensor": "serial"},
           "read {the |}sensor <sensor>; {what's|what is} the {value|reading} of {sensor |}<sensor>?; sensor <sensor>{ value| reading|}{?|}; {check|query} {the |}sensor <sensor>; what does {sensor |the sensor |}<sensor> {say|measure|show}?"),
]
