"""Words by which a sentence of a conversation shows whether it tells something worth keeping."""

__all__ = [
    "ASSISTANTS", "GREETINGS", "MACHINES", "PAST", "PLAIN_GERMAN", "PRAISE", "SHOWN_BY", "THANKS", "TIMES", "shown_by",
]  # fmt: skip


def shown_by(words: set[str]) -> set[str]:
    """What kinds of words there are among some: the names of the classes below."""
    shown: set[str] = set()
    for word in words & _SHOWING:
        shown.update(SHOWN_BY[word])
    return shown


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


FIRST = _words("i i'm im i've ive i'd i'll my me mine myself")
PLURAL = _words("we we're we've we'd we'll our us ours ourselves")
SECOND = _words("you you're youre you've you'd you'll your yours yourself u ur ya y'all")
# What points back to something that was said before.
BACK = _words("it it's its he he's she she's they they're them their his her him that that's this these those there")
FAMILY = _words(
    """
    mom mum mother dad father parents wife husband son sons daughter daughters kids kid children child brother brothers
    sister sisters siblings grandma grandmother grandpa grandfather grandparents granny aunt uncle cousin cousins niece
    nephew partner girlfriend boyfriend fiance fiancee family friend friends colleague colleagues boss manager coworker
    coworkers teammate teammates mentor neighbor neighbour neighbors roommate dog dogs cat cats puppy kitten pup pet
    pets baby twins
    """
)
# What people have, do for a living, and make.
OWN = _words(
    """
    job career work office studio business store shop startup company project projects degree school college university
    class classes course house home apartment flat car bike hobby hobbies book books painting paintings art team band
    garden game games script screenplay novel blog channel tournament competition concert festival trip vacation
    workshop internship interview promotion conference charity shelter volunteer volunteering certificate
    birthday wedding anniversary recipe health doctor injury surgery diet allergy allergic
    """
)
TIMES = _words(
    """
    yesterday today tonight tomorrow week weeks weekend weekends month months year years ago last recently lately
    monday tuesday wednesday thursday friday saturday sunday january february march april june july august september
    october november december morning evening afternoon night day days hour hours minute minutes since summer winter
    spring autumn next once twice until
    """
)
PAST = _words(
    """
    went got had was were did made took came saw met found gave felt left moved started began bought joined lost won
    finished visited tried decided learned learnt signed became told said wrote ran built taught attended spent helped
    worked used played watched created received passed volunteered painted planned hosted launched opened graduated
    applied completed quit adopted organized organised talked called hiked camped traveled travelled cooked baked
    discovered noticed realized realised inspired landed ended grew sent shared thought wanted loved enjoyed happened
    hit kept set brought put held heard led sold paid ate drove flew chose broke fell spoke studied participated
    interviewed submitted injured retired married divorced born raised hired fired switched migrated merged shipped
    deployed fixed caught knew stayed rode swam sang drew slept woke wore taken picked added turned needed lived
    """
)
PERFECT = _words("i've we've ive have has had been haven't hasn't having")
PLANS = _words(
    """
    plan planning plans going gonna will i'll we'll considering hoping hope thinking aiming aim want wanna wants
    determined looking goal goals dream dreams excited working trying
    """
)
THANKS = _words("thanks thank thx appreciate cheers")
GREETINGS = _words("hey hi hello bye goodbye hiya yo morning welcome")
PRAISE = _words(
    """
    wow awesome great cool nice amazing congrats congratulations sounds glad yeah yep yup yes sure totally absolutely
    definitely fantastic incredible wonderful impressive beautiful gorgeous love lovely exactly agreed true right
    awesome sweet perfect ok okay haha lol aww aw oh ah hmm good brilliant
    """
)
# With these a sentence begins that asks somebody to do something.
IMPERATIVES = _words(
    """
    let's let keep check take have stay go tell show look enjoy make please try call give chase remember hope hang
    add fix run write create update change remove delete use implement refactor explain rename move open read find help
    generate build test convert translate summarize summarise list print rewrite put set start stop send do don't be
    get come see talk feel believe trust follow think imagine consider ask wait say install deploy commit push
    """
)
# Who speaks for a program, and what is no person at all.
ASSISTANTS = _words("assistant ai bot claude chatgpt gpt copilot gemini model agent codex cursor chatbot llm")
MACHINES = _words("system tool function developer environment")
# What makes a sentence a guess or a case that is only imagined.
GUESSES = _words(
    "might may could maybe perhaps possibly probably hopefully presumably guess wonder suppose sure "
    "unsure know idea certain"
)
CASES = _words(
    "if suppose imagine assuming unless would wish i'd we'd it'd that'd could should might he'd she'd they'd you'd"
)
# With these a sentence begins that tells no more than a view.
VIEWS = _words(
    """
    it's that's this there's these they those it that such so having being seeing sounds looks must what how life
    nothing
    """
)
# With these somebody comes to something else.
ASIDES = _words("btw anyway also just recently finally actually speaking")
STANDING = _words("always never ever now time future forward remember")
# With these somebody tells what another one said, and with these begins what is asked for politely.
REPORTS = _words("say says said claim claims claimed tells told thinks believes asked wrote")
POLITE = _words("please can could would will i i'd let's let")

_ENGLISH = {
    "first": FIRST, "plural": PLURAL, "second": SECOND, "family": FAMILY, "things": OWN, "time": TIMES, "past": PAST,
    "perfect": PERFECT, "plan": PLANS, "thanks": THANKS, "guess": GUESSES, "case": CASES, "aside": ASIDES,
    "standing": STANDING, "praise": PRAISE, "greeting": GREETINGS, "back": BACK, "view": VIEWS,
    "imperative": IMPERATIVES, "reports": REPORTS, "polite": POLITE,
}  # fmt: skip
# German, but for what is an English word as well.
PLAIN_GERMAN = _words(
    """
    ich mir mich mein meine meinen meiner meinem meines wir uns unser unsere unseren unserer unserem du dir dich dein
    deine deinen deiner er sie es ihm ihn ihr ihnen ihre sein seine seinen der das dem des ein eine einen einer
    einem und oder aber nicht kein keine keinen ist sind bist habe haben hatte hatten wird werden wurde worden mit
    für auf aus bei nach von vom zum zur im zu über unter auch noch nur schon sehr dass wenn weil als wie wo dann doch
    mal ja nein jetzt hier da sich kann muss
    """
)
_GERMAN = {
    "first": "ich mir mich mein meine meinen meiner meinem meines",
    "plural": "wir uns unser unsere unseren unserer unserem",
    "second": "du dir dich dein deine deinen deiner euch euer eure",
    "back": "er sie es das dies diese dieser dieses",
    "family": "frau mann mutter vater eltern sohn tochter bruder schwester kinder freund freundin chefin hund katze",
    "time": "gestern heute vorgestern woche wochen monat monate monaten jahr jahre jahren seit letzte letzten letztes "
    "letzter montag dienstag mittwoch donnerstag freitag samstag sonntag januar februar märz mai juni juli oktober "
    "dezember abend nachmittag",
    "perfect": "habe haben hatte hatten",
    "plan": "möchte möchten werde",
    "thanks": "danke dankeschön",
    "greeting": "hallo moin tschüss servus guten",
    "praise": "klasse prima genau stimmt klar schön",
    "guess": "vielleicht eventuell wahrscheinlich vermutlich möglicherweise womöglich hoffentlich glaube ahnung weiß "
    "weiss sicher",
    "case": "falls angenommen würde würden hätte hätten wäre wären könnte könnten müsste müssten sollte sollten",
    "standing": "immer nie niemals jetzt sofort zukunft nun",
    "imperative": "schreib schreibe erstelle zeig zeige prüfe lösche füge ändere mach mache erkläre übersetze verwende "
    "nutze benutze antworte nimm nenn nenne teste öffne starte",
    "reports": "sagt sagte meint meinte behauptet behauptete erzählt erzählte findet schrieb",
    "polite": "bitte kannst könntest würdest können könnten ich lass",
    # Its nouns are written with a capital, and are no names.
    "german": "ich nicht und ist für auf wir sind haben habe kein keine keinen mein meine meinen meiner auch eine "
    "einen unser unsere unseren",
}
_CLASSES = _ENGLISH | {name: _ENGLISH.get(name, frozenset[str]()) | _words(words) for name, words in _GERMAN.items()}
SHOWN_BY = {
    word: tuple(name for name, words in _CLASSES.items() if word in words)
    for word in frozenset[str]().union(*_CLASSES.values())
}
_SHOWING = frozenset(SHOWN_BY)
