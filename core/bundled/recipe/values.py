"""Values for the slots of the training dialogues.

Real lists, one in four held out for evaluation, and generators of values that
no list holds: pronounceable words, tickers, codes, numbers and sentences.  A
model that meets half of its arguments for the first time has to copy them; it
cannot learn them by heart.
"""

import re
import string

from grammar import expand, split

CITIES = """Paris;London;Berlin;Madrid;Rome;Tokyo;Kyoto;Osaka;Oslo;Stockholm;Helsinki;Copenhagen;Dublin;Lisbon;Porto;Vienna;Prague;Warsaw;
Budapest;Athens;Istanbul;Ankara;Izmir;Cairo;Alexandria;Nairobi;Mombasa;Lagos;Abuja;Accra;Dakar;Tunis;Algiers;Rabat;Casablanca;Marrakesh;
Tripoli;Khartoum;Mumbai;Delhi;Chennai;Kolkata;Pune;Jaipur;Bangalore;Hyderabad;Karachi;Lahore;Islamabad;Dhaka;Bangkok;Phuket;Hanoi;Hue;
Jakarta;Bandung;Manila;Cebu;Seoul;Busan;Incheon;Beijing;Shanghai;Shenzhen;Chengdu;Wuhan;Taipei;Sydney;Melbourne;Perth;Brisbane;Adelaide;
Hobart;Darwin;Canberra;Cairns;Auckland;Wellington;Christchurch;Dunedin;Queenstown;Honolulu;Anchorage;Seattle;Portland;Denver;Austin;Dallas;
Houston;Chicago;Boston;Atlanta;Miami;Orlando;Tampa;Detroit;Cleveland;Columbus;Nashville;Memphis;Charlotte;Raleigh;Richmond;Baltimore;
Philadelphia;Pittsburgh;Buffalo;Rochester;Albany;Hartford;Providence;Milwaukee;Minneapolis;Omaha;Tulsa;Wichita;Tucson;Phoenix;Albuquerque;
Boise;Spokane;Sacramento;Oakland;Fresno;Toronto;Montreal;Vancouver;Calgary;Edmonton;Winnipeg;Ottawa;Halifax;Lima;Cusco;Bogota;Medellin;Cali;
Quito;Guayaquil;Santiago;Valparaiso;Montevideo;Asuncion;Caracas;Havana;Kingston;Nassau;Recife;Salvador;Fortaleza;Brasilia;Curitiba;Cordoba;
Rosario;Mendoza;Geneva;Zurich;Basel;Bern;Lausanne;Lugano;Munich;Hamburg;Cologne;Stuttgart;Dresden;Leipzig;Bremen;Hanover;Nuremberg;Freiburg;
Ulm;Lyon;Marseille;Nice;Bordeaux;Toulouse;Nantes;Lille;Rennes;Dijon;Turin;Milan;Naples;Venice;Florence;Bologna;Genoa;Palermo;Bari;Seville;
Valencia;Bilbao;Malaga;Granada;Zaragoza;Braga;Coimbra;Krakow;Gdansk;Wroclaw;Poznan;Lodz;Riga;Vilnius;Kaunas;Tallinn;Tartu;Kyiv;Lviv;Odesa;
Tbilisi;Yerevan;Baku;Tehran;Baghdad;Amman;Beirut;Doha;Dubai;Muscat;Riyadh;Jeddah;Kabul;Tashkent;Samarkand;Almaty;Bishkek;Kathmandu;Colombo;
Kandy;Reykjavik;Bergen;Trondheim;Tromso;Turku;Tampere;Oulu;Malmo;Gothenburg;Uppsala;Aarhus;Odense;Ghent;Bruges;Antwerp;Brussels;Liege;
Utrecht;Leiden;Rotterdam;Amsterdam;Eindhoven;Groningen;Graz;Linz;Salzburg;Innsbruck;Brno;Ostrava;Bratislava;Split;Zagreb;Dubrovnik;Ljubljana;
Belgrade;Sofia;Plovdiv;Bucharest;Skopje;Tirana;Sarajevo;Podgorica;Lusaka;Harare;Maputo;Windhoek;Gaborone;Kigali;Kampala;Durban;Pretoria;
Edinburgh;Glasgow;Aberdeen;Cardiff;Swansea;Belfast;Bristol;Leeds;Manchester;Liverpool;Sheffield;Oxford;Cambridge;York;Bath;Brighton;Cork;
Galway;Limerick;Vaduz;Valletta;Nicosia;Thimphu;Vientiane;Singapore;Macau;Male;Suva;Apia;Nuuk;Torshavn;Juneau;
New York;San Francisco;Los Angeles;Buenos Aires;Cape Town;Hong Kong;Mexico City;Rio de Janeiro;Tel Aviv;Kuala Lumpur;Santa Fe;San Diego;
Las Vegas;Addis Ababa;Porto Alegre;Sao Paulo;New Orleans;Salt Lake City;Kansas City;San Antonio;San Jose;El Paso;St. Louis;Santa Cruz;
Ho Chi Minh City;Phnom Penh;Panama City;Guatemala City;San Salvador;La Paz;Abu Dhabi;Port Louis;Dar es Salaam;Saint Petersburg;Palo Alto;
Baden-Baden;Aix-en-Provence;Stoke-on-Trent;The Hague;Luxembourg City;Nova Gorica;Novi Sad;Banja Luka;Quebec City;Long Beach;Fort Worth;
Colorado Springs;Virginia Beach;Little Rock;Baton Rouge;Des Moines;Grand Rapids;Santa Barbara;Newcastle upon Tyne;Frankfurt am Main;
Paris, Texas;Portland, Maine;Oslo, Norway;Springfield, Illinois;Lyon, France;Kobe, Japan;Zürich;München;Córdoba;Málaga;Århus"""
NAMES = """Alice Bob Carol David Emma Frank Grace Henry Irene Jack Karen Liam Maria Nina Oscar Paula Quentin Rosa Sam Tina Uma Victor
Wendy Xavier Yuki Zoe Ahmed Bianca Chen Dmitri Elena Farid Gita Hugo Ines Jonas Kofi Leila Marco Nadia Omar Priya Rafael Sofia Tomas Ulla
Viktor Wei Yasmin Zara Anders Birgit Claude Delia Ethan Fiona Gustav Hana Ivan Julia Kenji Lotte Mateo Noor Olga Pedro Ravi Sven Tara Ugo
Vera Walter Ximena Yann Zofia Mum Dad Grandma Grandpa Anna Ben Clara Daniel Eva Felix Gina Hans Iris Jan Kate Leo Mia Noah Olivia Peter
Rita Simon Theo Ursula Vince Will Yara Zack Adele Boris Cindy Doris Edgar Flora Gavin Heidi Igor Jenny Kurt Linda Moritz Nora Otto Petra
Ralf Sarah Tim Amira Bilal Chiara Diego Esther Fatima Giorgio Hiroshi Imani Joao Kamala Lars Mei Nikolai Oksana Pavel Rania Sanjay Thandi
Umberto Valeria Wanjiru Yusuf Zeynep Martha George Susan Tom Jerry Lucy Max Ruth Aaron Betty Colin Dora Eric""".split()
FULL_NAMES = """Anna Schmidt;Mr Miller;Dr Singh;Mrs Jones;my boss;my sister;my brother;the plumber;the landlord;the team;Uncle Joe;
Aunt May;Maria Lopez;John Smith;my wife;my husband;Kim Lee;Bob Brown;the office;Coach Tanaka;my dentist;Eva Novak""".replace("\n", "").split(";")
WORDS = """garden plan budget recipe holiday meeting project report invoice password wifi router birthday present shopping list book reading
music guitar piano lesson doctor dentist appointment car insurance bike repair kitchen paint bathroom leak window heating contract lease rent
tax return passport visa flight hotel train ticket concert movie series language spanish french homework exam thesis draft chapter outline idea
startup pitch deck server backup kernel compiler parser tensor gradient lantern velvet marble harbor meadow copper falcon walnut saddle orchid
thunder glacier pebble magnet rocket silver basket button carpet dragon engine feather ginger helmet island jacket kettle ladder mirror needle
oyster pencil quartz ribbon spider teapot umbrella violin wallet yogurt zipper apple banana cherry lemon mango peach plum grape melon berry
bread butter cheese milk sugar flour salt pepper soup salad rice noodle pizza pasta cake cookie coffee tea juice water beer wine dinner lunch
breakfast supper snack market store shop mall bank office school library museum theater park beach river lake mountain forest desert valley
bridge road street corner station airport harbour ship boat truck bus taxi wheel brake tire motor battery cable charger phone laptop tablet
screen keyboard mouse printer camera speaker radio lamp candle chair table sofa bed pillow blanket curtain shelf drawer closet door lock key
fence roof wall floor ceiling stairs attic basement garage yard lawn flower tree leaf branch root seed soil grass bush vine rose tulip daisy lily
dog cat horse cow sheep goat pig hen duck goose rabbit tiger lion bear wolf fox deer mouse eagle owl crow swan fish shark whale crab snail bee ant
moth beetle doctor nurse teacher student lawyer baker butcher farmer sailor pilot driver painter writer singer actor dancer player captain
king queen prince knight wizard giant ghost monster robot alien hero villain friend neighbor cousin uncle aunt nephew niece sister brother mother
father parent child baby family wedding party funeral festival parade contest game match race score team league medal prize trophy
winter spring summer autumn monday tuesday wednesday thursday friday saturday sunday january february march april june july august september
october november december morning noon evening night midnight week month year today tomorrow yesterday weekend hour minute second
red blue green yellow orange purple pink brown black white gray golden dark light bright pale small large tiny huge short long tall wide narrow
deep shallow thick thin heavy soft hard rough smooth sharp blunt wet dry hot cold warm cool fresh stale sweet sour bitter salty spicy clean dirty
empty full open closed loud quiet fast slow early late young old new ancient modern cheap expensive rich poor happy sad angry calm brave shy
proud lazy busy tired sleepy hungry thirsty sick healthy strong weak clever silly kind rude polite honest funny serious strange normal secret
public private local global north south east west left right upper lower inner outer first last next final main spare extra double single
walk run jump swim climb fly drive ride sail row ski skate dance sing play write read draw paint cook bake boil fry grill mix pour cut slice
chop peel wash clean sweep mop dust fold iron hang sew knit build fix break mend glue nail drill saw dig plant water harvest pick pack load
carry lift push pull drag throw catch kick hit miss win lose draw buy sell pay owe lend borrow save spend earn count measure weigh compare
number letter word sentence page paper folder file archive album photo picture video song melody rhythm chord album poem story novel diary
journal note memo message mail parcel package stamp envelope address map route trip tour cruise hike camp tent rope torch compass
error warning failure crash bug patch release version branch merge commit test build deploy cluster network socket packet thread queue stack
cache buffer index query table column schema token prompt model sample layer weight vector matrix kernel loss metric chart graph
planet moon star comet galaxy orbit gravity energy magnet circuit sensor laser atom molecule crystal oxygen carbon iron gold copper zinc
fever cough headache allergy vaccine bandage medicine vitamin diet weight muscle bone heart lung brain blood skin tooth knee elbow shoulder
receipt refund discount coupon loan mortgage salary pension savings account cash coin wallet purse debt profit loss stock bond fund
deadline agenda minutes summary proposal survey feedback interview resume hiring onboarding retro sprint roadmap milestone kickoff workshop
gutter chimney boiler faucet toilet shower bathtub towel soap shampoo toothbrush razor mirror comb perfume lotion sunscreen
scarf glove sweater shirt trousers skirt dress sock shoe boot sandal belt hat cap coat raincoat zipper pocket sleeve collar
hammer wrench screwdriver pliers shovel rake hose bucket broom ladder toolbox sandpaper varnish plywood gravel cement brick tile""".split()
SMALL_WORDS = """the is a my in for on we will new old not are you to at of and or but with this his her our your their it he she they
has have had was were be been can could should would may might must do does did so if then than when where why how what who which
from by about into over under again still just only very too also never always soon later now here there no yes me him them us I I'm don't
it's can't won't let's that's""".split()
TICKERS = """AAPL MSFT GOOG AMZN TSLA NVDA META NFLX INTC AMD IBM ORCL CSCO ADBE CRM UBER SHOP SPOT SONY BABA NKE DIS KO PEP MCD WMT COST
JPM BAC GS V MA PYPL T VZ BA GE F GM XOM CVX PFE MRK JNJ UL BP SAP ASML TSM QCOM TXN AVGO MU HPQ DELL NOW SNOW PLTR SQ COIN ABNB LYFT DASH
ZM DOCU OKTA NET CRWD PANW TEAM TWLO ROKU PINS SNAP RBLX EA TTWO HD LOW TGT SBUX YUM CMG MAR HLT DAL UAL LUV FDX UPS CAT DE MMM HON LMT RTX
NOC BMY LLY ABBV AMGN GILD MRNA BIIB CVS UNH PM MO BRK.A BRK.B VOD HSBC RIO BHP TM HMC NTDOY SIE BMW VOW3 AIR NESN ROG BRK""".split()
CODES = """USD EUR GBP JPY CHF CAD AUD NZD SEK NOK DKK PLN CZK HUF INR CNY KRW SGD BRL MXN ZAR TRY THB ILS RON BGN ISK HKD TWD IDR MYR PHP
VND AED SAR QAR KWD EGP MAD KES NGN GHS CLP COP PEN ARS UYU UAH GEL KZT PKR BDT LKR NPR""".split()
NOUNS = {"dollars": "USD", "euros": "EUR", "pounds": "GBP", "yen": "JPY", "francs": "CHF", "rupees": "INR", "yuan": "CNY", "pesos": "MXN",
         "dollar": "USD", "euro": "EUR", "pound": "GBP", "won": "KRW", "kronor": "SEK", "US dollars": "USD", "Swiss francs": "CHF",
         "Dollars": "USD", "Euros": "EUR", "Pounds": "GBP", "Yen": "JPY", "us dollars": "USD", "swiss francs": "CHF", "bucks": "USD", "quid": "GBP"}
SIGNS = {"$": "USD", "€": "EUR", "£": "GBP"}
ZONES = """UTC GMT CET CEST EST EDT PST PDT MST CST IST JST KST BST AEST HKT Europe/Paris Europe/London Europe/Berlin Asia/Tokyo Asia/Seoul
Asia/Kolkata America/New_York America/Chicago America/Denver America/Los_Angeles Africa/Cairo Africa/Lagos Australia/Sydney Pacific/Auckland
Europe/Rome Asia/Dubai America/Lima America/Bogota Europe/Oslo Asia/Manila Europe/Madrid Europe/Vienna Asia/Bangkok Africa/Nairobi Asia/Taipei
America/Toronto America/Sao_Paulo America/Mexico_City Europe/Athens Europe/Helsinki Europe/Lisbon Asia/Shanghai Asia/Singapore Asia/Jakarta
Pacific/Honolulu Atlantic/Reykjavik Africa/Johannesburg Australia/Perth Asia/Karachi Asia/Tehran UTC+2 UTC-5 UTC+9 GMT+1 GMT-3""".split()
LABELS = """tea;eggs;pasta;laundry;stretching;nap;pizza;rice;bread;standup;coffee;oven;workout;reading;piano;parking;soup;cake;dishwasher;
homework;meditation;plank;break;meeting;call;walk;potatoes;cookies;chicken;beans;steak;noodles;roast;dough;face mask;hair dye;focus time;
washing machine;tomato sauce;green tea;boiled eggs;power nap;guitar practice;phone call;dog walk;lunch break;quiz;speech;exam;debate;
chess game;sauna;ice bath;cold brew;jam;lentils""".replace("\n", "").split(";")
CONDITIONS = ("sunny cloudy rainy windy foggy snowy clear stormy overcast misty humid hazy icy freezing drizzly".split()
              + ["partly cloudy", "light rain", "heavy snow", "clear sky"])
LENGTHS = "miles feet inches yards kilometers centimeters millimeters furlongs".split() + ["nautical miles", "light years"]
WEIGHTS = "pounds ounces grams stones tons carats milligrams grains".split() + ["short tons", "troy ounces"]
LANGUAGES = "French German Spanish Italian Polish Dutch Greek Turkish Arabic Hindi Japanese Korean Chinese Swedish Finnish Czech Welsh Latin".split()
SENTENCES = """I will be {late|early|there|home|ready|back}{ at <n>| soon| by <n>| in <n> minutes|}|
the <w> is {ready|done|broken|late|here|gone|on fire|cold}|{can|could} you bring {the|a|some|my} <w>?|don't forget {the|your} <w>|
see you {at <n>|soon|tomorrow|on friday|at the <w>}|happy birthday{!| <c>!|}|{thanks|thank you} for the <w>|
the {meeting|call|<w>} {moved|is moved|was moved} to {friday|monday|<n>|noon|room <n>}|call me {when you can|at <n>|about the <w>|back}|
{dinner|lunch|breakfast|the <w>} is {at <n>|ready|served}|I {found|lost|bought|sold|left|need|forgot} {the|your|my|a} <w>|
we {won|lost|need} the <w>|{good luck|well done|all the best} {today|with the <w>|tomorrow}|are you {coming|home|free|ready}{ at <n>| today| tomorrow|}?|
please {buy|bring|check|water|feed|fix|return} the <w>|it's {raining|late|about the <w>|<w> time}|my <w> is {new|broken|at the <w>|better now}|
I'm {on my way|running late|at the <w>|in <c>|<n> minutes away}|meet me at the {<w>|station|corner|<w> shop}|
the {train|bus|flight} is {delayed|late|on time|<n> minutes late}|did you {see|read|find|take} the <w>?|{no|yes}, {the <w> is <w>|I can|not today}|
what a <w>{!|}|let's {go|eat|meet|talk} {at <n>|tomorrow|about the <w>|in <c>}|{sorry|oops}, {wrong <w>|I forgot the <w>|no <w> today}|
<n> {people|guests|boxes|<w>} are {coming|here|enough}|landing in {an hour|<n> minutes|<c>}|order <n> <w>|
the code is <n>|room <n> is {free|taken|yours}|I love {the|your} <w> <w>|hello from <c>{!|}"""
HELD_SENTENCES = """the keys are {under|behind} the <w>|we ran out of <w>|practice {starts|ends} at <n>|who took my <w>?|your <w> just arrived|
I can pick you up at <n>|save me a <w>|tell nobody about the <w>|grandma says hi|let's skip the <w>|rehearsal got cancelled|
the <w> costs <n> dollars|send me the <w> please|I fixed the <w>!|it won't work without a <w>|back in <n>"""

# words that read as part of the request when a query or a label begins or ends with them
# added later: all of them for training, so that the cut of the lists above stays what it was
MORE = {
    "city": """Bremerhaven;Kiel;Mainz;Trier;Augsburg;Regensburg;Potsdam;Erfurt;Weimar;Avignon;Grenoble;Reims;Metz;Nancy;Perugia;Siena;Pisa;Verona;Trieste;
Girona;Toledo;Salamanca;Cadiz;Evora;Faro;Sintra;Plzen;Olomouc;Kosice;Szeged;Pecs;Cluj;Iasi;Varna;Burgas;Patras;Corfu;Rhodes;Bursa;Konya;Aqaba;Haifa;
Aswan;Luxor;Fez;Agadir;Zanzibar;Arusha;Lilongwe;Bamako;Niamey;Cotonou;Kumasi;Surat;Kochi;Goa;Varanasi;Agra;Indore;Quetta;Galle;Pokhara;Yangon;Mandalay;
Chiang Mai;Da Nang;Surabaya;Davao;Sapporo;Nagoya;Nara;Daegu;Xiamen;Harbin;Kunming;Ulaanbaatar;Vladivostok;Geelong;Townsville;Hamilton;Nelson;Hilo;
Fairbanks;Tacoma;Eugene;Reno;Flagstaff;Santa Monica;Amarillo;Lubbock;Mobile;Savannah;Charleston;Knoxville;Louisville;Cincinnati;Toledo, Ohio;Ann Arbor;
Madison;Duluth;Fargo;Cedar Falls;Regina;Saskatoon;Moncton;Oaxaca;Puebla;Merida;Tijuana;San Pedro Sula;Cartagena;Arequipa;Trujillo;Sucre;Manaus;Belem;
Natal;Ushuaia;Punta Arenas;Stanley;Inverness;Dundee;St Andrews;Plymouth;Exeter;Newcastle;King's Lynn;L'Aquila;Val d'Isere;St. Gallen;St. John's;Sierre""",
    "name": """Agnes Albert Alfred Alma Andre Angela Antonio Arthur Astrid Aurora Barbara Basil Beatrice Bernard Bruno Camila Carlos Cecilia Chloe Conrad Cyrus
Dana Dario Desmond Dominic Edith Edwin Eleni Elsa Emil Erika Ernesto Esme Eugene Felicia Fernando Flavia Freddie Gabriel Gemma Gerald Gloria Greta Hamid
Harriet Hassan Helga Ibrahim Ilse Ingrid Isaac Jamal Jasper Joan Joseph Judith Kai Kerstin Khalid Lara Laszlo Leona Lorenzo Luis Lydia Magnus Malik Margot
Matilda Melissa Milan Mona Naomi Nelson Niko Nina-Marie O'Neil Odette Oliver Pablo Patrick Pearl Philip Pia Ramon Rebecca Renata Rhys Roland Rosalind Rupert
Salma Samir Selma Serge Sienna Silvia Stella Tamara Tatiana Teodor Thelma Tobias Trevor Uwe Vanessa Viola Wanda Warren Wilma Xenia Yolanda Yvonne Zelda""",
    "full": """my teacher;my neighbour;the doctor;the babysitter;the neighbours;my mum;my daughter;my son;the caterer;the landlady;my coach;our lawyer;Professor Lang;
Dr Okafor;Miss Bell;Mr O'Brien;Aunt Clara;Uncle Ted;Lisa from work;Tom the plumber;Ana Ruiz;Peter van Dyke;Mary-Ann Holt;the whole family;the book club""",
    "word": """acorn adapter album alley almond amber anchor anthem apricot arch archive armor arrow asphalt aunt avocado award axle bagel balcony balloon bamboo bandana
barrel basil beacon bench biscuit blender blizzard blossom blueprint boulder bracelet bracket brochure bronze buffet bumper bunker button cabin cactus calendar
camel candy cannon canvas caravan cardigan cargo carrot cartoon cashier cathedral cedar celery cellar ceramic champion channel chapel charity checkout cheetah
cinnamon circus clarinet cliff clinic clover cockpit coconut colony column compost concrete confetti cottage cotton cradle crayon cricket crown crumb cube
cupboard cushion customs cyclone dagger dairy deck delivery denim dentist depot detour diamond dolphin domino donkey dough drum dustbin earring easel
eclipse elevator emerald envelope escalator fabric falafel ferry fiddle firewood flamingo flannel flute forge fountain freezer fudge fuel furnace gallery garlic
gazelle generator giraffe glue goggles granite grapefruit gravy greenhouse guitar gull gym hallway hamster handle hedge heron highway hinge honey hook hurdle
icicle inbox ink insulation invitation ivory jar jewel jigsaw jungle kayak kennel kiosk kite kiwi koala label lace lagoon lasagna latch lavender lawnmower
ledger lemonade letterbox lever library licence lighthouse lily lime locker lodge luggage lunchbox macaroni magazine mango manual maple marathon marker mattress
meteor microphone mill mint mitten mosaic mosque moss motel motor mousetrap mural mushroom mustard napkin nectar nest nursery oatmeal octopus olive onion opera
orchard otter outlet overcoat paddle padlock pamphlet pancake panda panel parachute parsley passenger pasture patio pavement peanut pelican pension pepper
permit petal petrol piano pier pigeon pillar pine pineapple pipe pirate platform playground plaza plug plumbing pocket podium poncho porch postcard postman
pottery prairie pretzel prism projector propeller pump pumpkin puppet puzzle pyramid quilt quiver raccoon radish raft railing raisin ramp raspberry recorder
referee remote rental reservoir restaurant rhubarb rifle rink roof rooster rotor rubber rudder rug saffron sail salmon saloon sapphire sausage scaffold scanner
scooter sculpture seagull seatbelt seminar shed sheriff shield shutter sidewalk signal silk siren skateboard sled slipper socket spatula speaker spinach sponge
squirrel stadium staircase stapler statue steam stencil stool stove strawberry studio submarine suitcase sunflower swimsuit syrup tablecloth tadpole tailor
tambourine tandem tangerine tapestry tariff tavern telescope terrace thermos thimble throne ticket tinsel toaster tofu tomato tongs tornado tractor trailer
trampoline tray trolley trombone trumpet tugboat tunnel turbine turnip turtle tuxedo typewriter unicorn vacuum vanilla vase vault vehicle verandah vinegar
voucher waffle wagon waiter walrus wardrobe warehouse waterfall weasel whistle widget willow windmill wizardry wreath yacht yarn yeast zebra zucchini""",
    "label": """rice pudding;mum's cake;second break;quick shower;the ferry;lamb;porridge;bagels;sourdough;pie crust;risotto;the dryer;bath time;bedtime;story time;
game night;push-ups;squats;yoga;cool down;warm up;violin;drawing;vocabulary;revision;deep work;inbox;daily sync;one-on-one;school run;pick-up;bus stop;
car wash;phone charge;hair mask;nail polish;glue;paint drying;first coat;varnish;marinade;espresso;hot chocolate;chai;iced tea;gnocchi;ravioli;dumplings;
toast;bacon;pancakes;waffles;ham;fish fingers;chips;goulash;chili;stew;curry;popcorn;jelly;muffins;scones;quiche;lasagne;leg day;round 2;set 3;act 1""",
    "ticker": """ACN ADP ADSK AMAT ANET APD AZN BBVA BIDU BKNG BLK BUD CB CI CL CME COF CSX CTAS DHR DOW DUK ECL EL EMR EQIX ETN EXC FCX FTNT GIS GLW HCA HUM
ICE INTU ISRG ITW KHC KLAC KMB KR LIN LRCX MCO MET MMC MSCI NEM NSC NXPI ORLY OXY PANW PGR PLD PNC PSX REGN ROP ROST SCHW SHW SLB SNPS SO SPG SYK TDG
TEL TFC TJX TRV USB VRTX WBA WDAY WM XEL ZTS RDS.A BF.B ADS ALV BAS BAYN CON DBK EOAN FRE HEI IFX LIN MUV2 RWE VNA ENI ENEL ISP SAN TEF ITX ORA BNP""",
    "zone": """WET EET MSK AKST HST ACST AWST NZST SGT PHT WIB EAT CAT WAT SAST BRT ART CLT COT PET AST NST Europe/Prague Europe/Warsaw Europe/Zurich Europe/Dublin
Europe/Istanbul Europe/Kyiv Europe/Riga Asia/Almaty Asia/Baghdad Asia/Colombo Asia/Dhaka Asia/Hong_Kong Asia/Kathmandu Asia/Riyadh Asia/Tashkent Asia/Yerevan
America/Anchorage America/Caracas America/Havana America/Phoenix America/Santiago America/Vancouver America/Winnipeg Africa/Accra Africa/Algiers Africa/Tunis
Atlantic/Azores Indian/Maldives Pacific/Fiji Pacific/Guam Australia/Darwin Australia/Hobart UTC+1 UTC+5 UTC+8 UTC-3 UTC-8 UTC+5:30 GMT+4 GMT-7 GMT+10""",
    "sentence": """{you|we} {left|forgot} {your|the} <w> {in|on|under|at} the <w>|{the|our} <w> {starts|begins|ends|opens|closes} at {<n>|noon|half past <n>}|
I can't {come|make it|find the <w>|open the <w>} {today|tomorrow|because of the <w>|until <n>}|{we're|they're} {waiting|standing} {at|near|behind} the <w>|
there's {a|no|some} <w> {left|in the <w>|at home|for you}|{that's|it's} {fine|great|too late|a bad idea|ok with me}|who {has|took|wants} {the|my|a} <w>?|
{can|could} we {meet|talk|call|eat} {at <n>|later|on monday|near the <w>}?|{pick|bring} up {the|some} <w> {on your way|before <n>|from the <w>}|
{the|your} <w>, the <w> and the <w> {are|were} {here|gone|ready}|if {it rains|you're late|the <w> is closed}, {take the <w>|call me|wait at the <w>}|
{I've|we've} {sent|paid|packed|booked|cancelled} the <w>|{don't|do not} {touch|open|sell|move|wash} the <w>|{please |}{lock|close|open} the <w> {at <n>|when you leave}|
{my|the} {flight|train|boat} {leaves|lands|arrives} at <n>{, gate <n>|, platform <n>|}|{the|our} {address|door code|table|seat} is {<w> <n>|<n>|<n> <w> street}|
{how|where} {is|was} the <w>?|{what|when} do you {need|want|do} {the <w>|on friday}?|I {won't|will} be {there|home|at the <w>} {before|after} <n>|
{you're|she's|he's} {right|welcome|late|in the <w>|on the list}|{great|good} {news|idea}, the <w> {works|is back|arrived}|{ok|fine|sure}, see you {then|at <n>|in <c>}|
{it|the <w>} costs <n> {dollars|euros|each}|{leave|put} the <w> {at|by|next to|under} the <w>|everyone {likes|loves|hates|missed} {the|your} <w>|
{we'll|I'll} {bring|cook|pay|drive|be late}, {don't worry|you choose|the <w> is on me}|{let me|please} know {if|when} {you arrive|the <w> is done|it's over}""",
}

EDGES = set("""please pls plz thx thanks thank now today tomorrow tonight right moment asap quick quickly you me my the a an of for in on at to from with
about into by and or if is are be was it that this and then also for as out up over under what which how who when where do does did can could would
should will may might must i we he she they minutes minute min mins timer called named note notes message text saying says""".split())

ONSETS = "b c d f g h j k l m n p r s t v w z br ch cl dr fr gr kr pl pr sh sl st th tr qu sk".split()
NUCLEI = "a e i o u a e i o u a e i o ai ea ou ie oo y".split()
CODAS = ["", "", "", "", "n", "r", "l", "s", "m", "k", "t", "nd", "rn", "th", "x", "ck", "ss", "p", "d"]


def top_parts(text):
    """The parts of a text cut at the bars outside of braces."""
    parts, depth = [""], 0
    for ch in text.replace("\n", ""):
        depth += (ch == "{") - (ch == "}")
        if ch == "|" and depth == 0:
            parts.append("")
        else:
            parts[-1] += ch
    return parts


def _lists():
    cut = {"city": CITIES.replace("\n", "").split(";"), "name": NAMES, "full": FULL_NAMES, "word": WORDS, "ticker": TICKERS, "code": CODES,
           "zone": ZONES, "label": LABELS}
    lists = {kind: split(values) for kind, values in cut.items()}
    lists["sentence"] = (top_parts(SENTENCES), top_parts(HELD_SENTENCES))
    for kind, text in MORE.items():
        parts = (top_parts(text) if kind == "sentence" else text.replace("\n", "").split(";") if ";" in text else text.split())
        known = set(lists[kind][0]) | set(lists[kind][1])
        lists[kind] = (lists[kind][0] + [part for part in dict.fromkeys(parts) if part not in known], lists[kind][1])
    return lists


LISTS = _lists()


def words_of(texts):
    """All words of a list of texts, in the case in which they stand, each once."""
    words = {}
    for text in texts:
        for word in re.findall(r"[A-Za-z][A-Za-z'+-]*[A-Za-z]|[A-Za-z]", text):
            words[word] = None
    return list(words)


class Values:
    """Draws slot values.  held: only from the held-out parts of the lists;
    random: only invented ones; corpus: more words to be copied."""

    def __init__(self, rng, *, held=False, random=False, corpus=()):
        self.rng = rng
        self.held = held
        self.random = random
        known = {word.lower() for word in corpus}
        self.words = list(dict.fromkeys(LISTS["word"][0] + SMALL_WORDS + list(corpus)))
        # a word of the corpus may be a token of its own: it must be copied in training, so it is not held out
        self.held_words = [word for word in LISTS["word"][1] if word not in known]

    def listed(self, kind):
        if self.held and kind == "word":
            return self.rng.choice(self.held_words)
        return self.rng.choice(LISTS[kind][1 if self.held else 0])

    def invented(self):
        return self.random or (not self.held and self.rng.random() < 0.5)

    def invent(self, capital=False, syllables=0):
        r = self.rng
        n = syllables or r.choice((1, 2, 2, 2, 3, 3))
        word = "".join([r.choice(ONSETS) + r.choice(NUCLEI) + r.choice(CODAS) for _ in range(n)])
        return word.capitalize() if capital else word

    def word(self):
        """One lower or mixed case word."""
        r = self.rng
        if self.random or (not self.held and r.random() < 0.3):
            return self.invent(r.random() < 0.1)
        if self.held:
            return self.listed("word")
        word = r.choice(self.words)
        return word if r.random() < 0.93 else word.capitalize()

    def content_word(self):
        """A word that may stand at the edge of a phrase."""
        while True:
            word = self.word()
            if word.lower() not in EDGES and "'" not in word:
                return word

    def city(self):
        r = self.rng
        if self.invented():
            name = self.invent(True)
            if r.random() < 0.18:
                name += r.choice((" ", " ", " ", "-", ", ")) + self.invent(True)
            return name
        if not self.held and r.random() < 0.08:
            return " ".join(self.content_word().capitalize() for _ in range(r.choice((1, 2))))
        return self.listed("city")

    def name(self):
        r = self.rng
        if self.invented():
            name = self.invent(True, r.choice((1, 2, 2)))
            return name + " " + self.invent(True) if r.random() < 0.12 else name
        if not self.held and r.random() < 0.08:
            return self.content_word().capitalize()
        return self.listed("full" if r.random() < 0.12 else "name")

    def ticker(self):
        r = self.rng
        if self.invented():
            if r.random() < 0.4:
                letters = r.sample(string.ascii_uppercase, r.choice((1, 2, 2, 3)))
                return "".join(r.choice(letters) for _ in range(r.randint(2, 5)))
            return "".join(r.choice(string.ascii_uppercase) for _ in range(r.randint(1, 5)))
        return self.listed("ticker")

    def code(self):
        r = self.rng
        if self.invented():
            letters = string.ascii_uppercase if r.random() < 0.7 else r.sample(string.ascii_uppercase, 2)
            return "".join(r.choice(letters) for _ in range(3))
        return self.listed("code")

    def zone(self):
        r = self.rng
        if r.random() < 0.5:
            return self.city()
        if self.invented():
            return r.choice((self.invent(True) + "/" + self.invent(True), "UTC" + r.choice("+-") + str(r.randint(0, 12)),
                             "".join(r.choice(string.ascii_uppercase) for _ in range(r.randint(3, 4)))))
        return self.listed("zone")

    def label(self):
        r = self.rng
        if self.invented():
            return " ".join(self.content_word() if r.random() < 0.5 else self.invent() for _ in range(r.choice((1, 1, 2))))
        return self.listed("label")

    def site(self):
        """A host name as it stands in a link."""
        host = self.invent() if self.invented() else self.word().lower().replace("'", "")
        return host + self.rng.choice((".com", ".org", ".net", ".io", ".dev", ".co.uk", "-app.com", ".example.org"))

    def url(self):
        r = self.rng
        path = "/".join(self.invent() for _ in range(r.choice((0, 1, 1, 2))))
        return r.choice(("https://", "https://", "http://", "https://www.")) + self.site() + ("/" + path if path else "")

    def sqlcmd(self):
        r = self.rng
        form = r.choice(("SELECT * FROM <w>", "SELECT <w> FROM <w>", "select count(*) from <w>", "DELETE FROM <w> WHERE <w> = <n>", "UPDATE <w> SET <w> = <n>",
                         "SELECT <w>, <w> FROM <w> LIMIT <n>", "select * from <w> where <w> > <n>", "DROP TABLE <w>"))
        while "<w>" in form:
            form = form.replace("<w>", re.sub(r"[^a-z]", "", self.word().lower()) or "data", 1)
        return form.replace("<n>", self.number(3))

    def unit(self):
        return self.rng.choice(LENGTHS)

    def wunit(self):
        return self.rng.choice(WEIGHTS)

    def square(self):
        """A square of a chess board."""
        return self.rng.choice("abcdefgh") + self.rng.choice("12345678")

    def number(self, top=4):
        """A number as it is typed: integers of up to `top` digits, repeated digits often."""
        r = self.rng
        n = r.randint(1, top)
        if r.random() < 0.2:
            digits = r.sample("0123456789", min(2, n))
            text = "".join(r.choice(digits) for _ in range(n)).lstrip("0")
            return text or "100"
        return str(r.randint(1, 10 ** n - 1))

    def decimal(self, top=4):
        return self.number(top) + "." + str(self.rng.randint(1, 9)) if self.rng.random() < 0.7 else self.number(top) + "." + str(
            self.rng.randint(0, 9)) + str(self.rng.randint(1, 9))

    def phrase(self, most=5):
        """One to `most` words that say nothing: a query, a title, a note."""
        r = self.rng
        n = min(most, r.choice((1, 1, 1, 2, 2, 2, 3, 3, 4, 5)))
        words = [self.content_word()] + [self.word() for _ in range(n - 2)] + ([self.content_word()] if n > 1 else [])
        if r.random() < 0.06:
            words[r.randrange(n)] = self.number(3)
        return " ".join(words)

    def sentence(self):
        """A message text: half from a grammar, half words in no order."""
        r = self.rng
        if r.random() < 0.5 and not self.random:
            form = expand(self.listed("sentence"), r)
            form = form.replace("<n>", self.number(2)) if "<n>" in form else form
            while "<w>" in form:
                form = form.replace("<w>", self.word(), 1)
            form = form.replace("<c>", self.city()) if "<c>" in form else form
            return form[0].upper() + form[1:] if r.random() < 0.3 else form
        words = []
        for _ in range(r.randint(2, 9)):
            x = r.random()
            words.append(r.choice(SMALL_WORDS) if x < 0.35 else self.number(3) if x < 0.42 else self.name() if x < 0.46 else self.word())
        text = " ".join(words)
        x = r.random()
        if x < 0.1 and len(words) > 3:
            cut = r.randint(1, len(words) - 1)
            text = " ".join(words[:cut]) + ", " + " ".join(words[cut:])
        return text + r.choice("?!.") if r.random() < 0.15 else text


# Cities and names in other scripts; one in four is kept for evaluation.
_CITIES = """東京 大阪 京都 札幌 北京 上海 广州 深圳 서울 부산 인천 대구 Москва Казань Новосибирск Самара Київ Львів Харків Одеса София Пловдив Београд Минск Αθήνα Πάτρα Θεσσαλονίκη Λάρισα
القاهرة دبي بيروت الرياض ירושלים חיפה दिल्ली मुंबई কলকাতা ঢাকা กรุงเทพ เชียงใหม่ თბილისი Երևան Zürich Malmö Reykjavík Łódź Kraków Győr Plzeň Chișinău İzmir Đà Nẵng São Paulo Århus"""
_NAMES = """Иван Мария Ольга Сергей Дмитрий Наташа Андрій Оксана Νίκος Μαρία Γιώργος Ελένη 田中 佐藤 鈴木 健太 さくら 王伟 李娜 张敏 김민준 박서연 이지훈 محمد فاطمة أحمد ليلى דוד שרה רחל
राज प्रिया अनिता สมชาย ნინო Արամ José Zoë Søren Jürgen Åsa Łukasz Žofia Šárka Ağa Nguyễn Thị François Renée"""
OTHER_CITIES, HELD_OTHER_CITIES = split(_CITIES.replace("Đà Nẵng", "Đà_Nẵng").replace("São Paulo", "São_Paulo").split())
OTHER_NAMES, HELD_OTHER_NAMES = split(_NAMES.split())
OTHER_CITIES, HELD_OTHER_CITIES = ([c.replace("_", " ") for c in cs] for cs in (OTHER_CITIES, HELD_OTHER_CITIES))
