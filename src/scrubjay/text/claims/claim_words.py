"""Words that carry a claim: numbers, negations, states with their opposites, units and days."""

from scrubjay.text.dates.tokens import MONTHS, WEEKDAYS
from scrubjay.text.words import STOP_WORDS

__all__ = [
    "AFFIXES", "AXES", "CURRENCIES", "DAY_WORDS", "LEADING", "MAGNITUDES", "MONTH_NAMES", "NEGATIONS", "NEVER_NAMES",
    "NUMBER_WORDS", "PERIODS", "PLACES", "UNITS",
]  # fmt: skip

_UP_TO_TWENTY = """
    zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen
    eighteen nineteen twenty
    """.split()
_ORDINALS = "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth".split()
_TENS = "thirty forty fifty sixty seventy eighty ninety".split()
NUMBER_WORDS = {
    **{word: str(number) for number, word in enumerate(_UP_TO_TWENTY)},
    **{word: f"{number}th" for number, word in enumerate(_ORDINALS, 1)},
    **{word: str(number * 10) for number, word in enumerate(_TENS, 3)},
    "hundred": "100",
    "thousand": "1000",
    "million": "1000000",
    "billion": "1000000000",
    "once": "1",
    "twice": "2",
    "thrice": "3",
    "half": "0.5",
    "dozen": "12",
}
# Written after a figure, they multiply it; the single letters only where they touch it or a currency is named.
MAGNITUDES = {
    "dozen": 12,
    "hundred": 10**2,
    **dict.fromkeys(("k", "thousand"), 10**3),
    **dict.fromkeys(("m", "mn", "mio", "million"), 10**6),
    **dict.fromkeys(("b", "bn", "billion"), 10**9),
    **dict.fromkeys(("t", "tn", "trillion"), 10**12),
}
CURRENCIES = {
    **dict.fromkeys(("$", "usd", "us$", "dollar", "dollars", "buck", "bucks"), "usd"),
    **dict.fromkeys(("\u20ac", "eur", "euro", "euros"), "eur"),
    **dict.fromkeys(("\u00a3", "gbp", "pound", "pounds", "quid"), "gbp"),
    **dict.fromkeys(("\u00a5", "jpy", "yen"), "jpy"),
    **dict.fromkeys(("chf", "franc", "francs"), "chf"),
}
_UNIT_FORMS = """
    %: percent percentage pct
    point: points pt pts
    ms: millisecond milliseconds msec
    second: seconds sec secs s
    minute: minutes min mins
    hour: hours hr hrs h
    day: days
    week: weeks wk wks
    month: months
    year: years yr yrs
    decade: decades
    time: times x
    byte: bytes
    kb: kilobyte kilobytes kib
    mb: megabyte megabytes mib
    gb: gigabyte gigabytes gib
    tb: terabyte terabytes tib
    mm: millimetre millimeters millimetres millimeter
    cm: centimetre centimeters centimetres centimeter
    metre: metres meter meters m
    km: kilometre kilometres kilometer kilometers kms
    mile: miles mi
    foot: feet ft
    inch: inches
    gram: grams g
    kg: kilo kilos kilogram kilograms
    pound: lb lbs
    litre: litres liter liters l
    ml: millilitre millilitres milliliter milliliters
    am: a.m
    pm: p.m
"""
UNITS = {
    form: unit.strip()
    for unit, forms in (line.split(":") for line in _UNIT_FORMS.strip().splitlines())
    for form in (unit.strip(), *forms.split())
}
NEGATIONS = frozenset(
    """
    not no non never none nobody nothing nowhere neither nor cannot without hardly barely scarcely unable lack lacks
    lacking lacked stop stops stopped stopping cease ceases ceased unlikely except cant dont doesnt didnt isnt wasnt
    werent wont wouldnt couldnt shouldnt hasnt havent hadnt aint
    nicht kein keine keinen keinem keiner keines nie niemals nichts niemand ohne
    """.split()
)
# Before a word they make its opposite.
AFFIXES = ("un", "in", "im", "il", "ir", "dis", "non", "de", "anti")
# The ends of an axis: a text that names one and another that names the other cannot both be right.
_AXES = """
    enable enables enabled enabling/disable disables disabled disabling
    on/off
    before/after
    more/less fewer
    most/least fewest
    increase increases increased increasing increasingly/decrease decreases decreased decreasing
    rise rises rose risen rising grow grows grew grown/fall falls fell fallen falling shrink shrinks shrank
    left/right
    buy buys bought buying/sell sells sold selling
    up/down
    above over/below under
    open opens opened/close closes closed
    start starts started begin begins began begun/end ends ended finish finishes finished
    accept accepts accepted/reject rejects rejected decline declines declined
    allow allows allowed permit permits permitted/forbid forbids forbidden deny denies denied block blocks blocked
    add adds added/remove removes removed delete deletes deleted
    win wins won/lose loses lost
    pass passes passed succeed succeeds succeeded/fail fails failed
    true/false
    minimum min/maximum max
    first/last
    love loves loved like likes liked enjoy enjoys enjoyed/hate hates hated dislike dislikes disliked
    always/never
    with/without
    to into onto/from
    higher/lower
    larger bigger/smaller
    faster/slower
    earlier/later
    better/worse
    north northern/south southern/east eastern/west western/northwest nw/northeast ne/southwest sw/southeast se
    man men boy boys he male/woman women girl girls she female
    public/private
    required mandatory/optional
    synchronous sync/asynchronous async
    old older/new newer young younger
    import imports imported/export exports exported
    push pushes pushed/pull pulls pulled
    read reads/write writes wrote written
    upgrade upgrades upgraded/downgrade downgrades downgraded
    arrive arrives arrived/leave leaves
    inside indoors/outside outdoors
    cheap cheaper/expensive dearer
    hot/cold
    light/dark
    black/white/red/green/blue/yellow/orange/purple/pink/brown tan beige/gray grey/silver/golden gold
    stand stands standing stood/sit sits sitting sat/lie lies lying laying/run runs running ran/walk walks walking
    approved approve approves/refused
    online/offline
    husband/wife
    father dad/mother mom mum
    brother/sister
    son/daughter
    uncle/aunt
    morning/afternoon/evening/night
    spring/summer/autumn/winter
    second seconds/minute minutes/hour hours/day days/week weeks/month months/year years/decade decades
    active/inactive
    valid/invalid
    safe/unsafe
    happy/unhappy sad
    able/unable
"""
# Of each such word, its axis and at which end of it it stands.
AXES = {
    word: (number, end)
    for number, line in enumerate(_AXES.strip().splitlines())
    for end, words in enumerate(line.split("/"))
    for word in words.split()
}
MONTH_NAMES = {number: name.capitalize() for name, number in sorted(MONTHS.items(), key=lambda one: len(one[0]))}
DAY_WORDS = frozenset(
    """
    today yesterday tomorrow tonight noon midnight daily weekly monthly yearly hourly annually annual recently
    christmas easter halloween thanksgiving weekend weekends
    """.split()
) | frozenset(WEEKDAYS)  # fmt: skip
LEADING = frozenset("last next this past previous coming upcoming every each".split())
PERIODS = frozenset(
    """
    day week month year weekend quarter decade century hour minute summer winter spring autumn fall morning afternoon
    evening night season semester term
    """.split()
) | frozenset(WEEKDAYS) | frozenset(MONTHS)  # fmt: skip
# Who comes from somewhere, or what is of there, by the name of the place.
_PLACES = """
    afghanistan: afghan afghans
    africa: african africans
    america: american americans us usa
    argentina: argentine argentinian argentines
    asia: asian asians
    australia: australian australians aussie
    austria: austrian austrians
    belgium: belgian belgians
    brazil: brazilian brazilians
    britain: british briton britons uk
    bulgaria: bulgarian bulgarians
    canada: canadian canadians
    chile: chilean chileans
    china: chinese
    colombia: colombian colombians
    croatia: croatian croatians croat
    cuba: cuban cubans
    cyprus: cypriot cypriots
    czechia: czech czechs
    denmark: danish dane danes
    egypt: egyptian egyptians
    england: english
    ethiopia: ethiopian ethiopians
    europe: european europeans
    finland: finnish finn finns
    france: french
    germany: german germans
    greece: greek greeks
    hungary: hungarian hungarians
    iceland: icelandic
    india: indian indians
    indonesia: indonesian indonesians
    iran: iranian iranians
    iraq: iraqi iraqis
    ireland: irish
    israel: israeli israelis
    italy: italian italians
    japan: japanese
    jordan: jordanian jordanians
    kenya: kenyan kenyans
    korea: korean koreans
    lebanon: lebanese
    libya: libyan libyans
    malaysia: malaysian malaysians
    mexico: mexican mexicans
    morocco: moroccan moroccans
    netherlands: dutch holland
    nigeria: nigerian nigerians
    norway: norwegian norwegians
    pakistan: pakistani pakistanis
    palestine: palestinian palestinians
    peru: peruvian peruvians
    philippines: filipino filipinos philippine
    poland: polish pole poles
    portugal: portuguese
    romania: romanian romanians
    russia: russian russians
    scotland: scottish scot scots
    serbia: serbian serbians serb serbs
    spain: spanish spaniard spaniards
    sudan: sudanese
    sweden: swedish swede swedes
    switzerland: swiss
    syria: syrian syrians
    taiwan: taiwanese
    thailand: thai
    tunisia: tunisian tunisians
    turkey: turkish turk turks
    ukraine: ukrainian ukrainians
    venezuela: venezuelan venezuelans
    vietnam: vietnamese
    wales: welsh
    yemen: yemeni yemenis
"""
PLACES = {
    form: place.strip()
    for place, forms in (line.split(":") for line in _PLACES.strip().splitlines())
    for form in forms.split()
}
_TITLES = "mr mrs ms miss dr prof sir madam lord lady president minister senator governor king queen prince".split()
# Written with a capital letter for where they stand, not for what they mean.
NEVER_NAMES = STOP_WORDS | NEGATIONS | frozenset(NUMBER_WORDS) | frozenset(_TITLES) | frozenset(
    """
    i'm i've i'd i'll it's that's there's he's she's we're they're you're let's what's here's who's although though
    however since despite besides yes ok okay please today yesterday tomorrow recently currently finally later
    meanwhile still also another every per via upon within among between against around across toward towards whether
    """.split()
)  # fmt: skip
