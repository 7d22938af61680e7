"""Words of change and of opposite states, for telling when two statements cannot both hold."""

from scrubjay.text.claims.claim_words import AXES, NEGATIONS

__all__ = [
    "BEINGS", "CHANGES", "COMPARING", "DENIALS", "DETERMINERS", "FAILINGS", "HABITS", "LABELS", "LIGHT", "LISTING",
    "MODALS", "ONCE", "OTHERS", "PREPOSITIONS", "TURNS", "VERBS", "is_quality", "opposite",
]  # fmt: skip

# What says that something does not hold, or not any more.
DENIALS = NEGATIONS | frozenset(
    """
    refuse refuses refused refusing quit quits quitting formerly previously anymore discontinued discontinues abandoned
    abandons ain't
    """.split()
)
# They say no only of what follows: he failed to come; the build fails is the opposite of that it passes.
FAILINGS = frozenset("fail fails failed failing".split())
# After these "used to" means a habit or a purpose: she is used to it.
BEINGS = frozenset("is are was were be been being am get gets got gotten getting become became it's i'm".split())
# Small words that stand for no state here: what goes to a place comes from another, and both are told of.
_BARRED = frozenset(
    """
    to into onto from he she with without on off up down over above under below before after more less most least
    first last second seconds minute minutes hour hours day days week weeks month months year years decade decades
    left right one read reads write writes wrote written never always run runs running ran
    """.split()
)
# Between two things they say which of them is the one: tea over coffee.
COMPARING = frozenset("over than instead rather".split())
# A number after one of these says which one is meant; another number is another thing, and not another value.
LABELS = frozenset(
    """
    task step item ticket issue invoice order chapter section part page round game match episode season lesson question
    bug pr case test phase sprint milestone day week night no nr number row line figure table note entry record memory
    commit build job run message turn session level grade room unit article exercise problem volume track appendix point
    """.split()
)
# They add nothing to what is said.
LIGHT = frozenset(
    """
    own owns owned possess possesses currently really quite still already actually always need needs must again
    yet either
    """.split()
)
# Who is meant where no name stands, but for the one whose memory it is.
OTHERS = {"he": "he", "his": "he", "she": "she", "her": "she", "they": "they", "their": "they", "you": "you"}
# What may be, or is to be, is not what is.
MODALS = frozenset("will would could should may might must can plan plans planned want wants wanted hope hopes".split())
# Small words of which one is the opposite of the other.
TURNS = {
    word: other
    for pair in ("on off", "in out", "up down", "before after", "more less", "over under", "above below", "most least")
    for word, other in (pair.split(), reversed(pair.split()))
}
# What leads to a value: another of these leads to another kind of value.
PREPOSITIONS = frozenset("in at on for with to from by of as into about without during".split())
DETERMINERS = frozenset("the my our this your his her their its a an".split())
# What happens once: here another day or place is no second time.
ONCE = frozenset("born died founded established graduated incorporated".split())
# They tell of the value that holds from now on, if `to` follows.
CHANGES = frozenset(
    """
    moved relocated changed switched migrated upgraded downgraded updated set bumped raised lowered increased decreased
    reduced postponed rescheduled pushed delayed shifted renamed extended shortened converted
    """.split()
)
# What these tell of may be one of many, even a figure: supports 3.11, and 3.12 as well.
LISTING = frozenset(
    """
    support supports supported accept accepts accepted include includes included contain contains offer offers provide
    provides mention mentions list lists know knows like likes love loves enjoy enjoys dislike dislikes hate hates avoid
    avoids speak speaks visit visits read reads watch watches collect collects teach teaches learn learns learning
    compatible tested interested available
    """.split()
)
# What is done on these is done on others, too.
HABITS = frozenset(f"{day}s" for day in "monday tuesday wednesday thursday friday saturday sunday".split())
# With one of these a statement may begin that does not say whom it is about.
VERBS = frozenset(
    """
    accept add allow answer ask attend avoid become believe belong bring build buy call care carry change check choose
    collect come commit configure contain cook cost create deal deploy depend develop dislike do drink drive earn eat
    enable enjoy expect expose feel find fix fly follow format forget get give go grow hate have hear help hire hold
    hope identify include indent install keep know lead learn leave let like listen live log love maintain make manage
    mean meet mention merge move need offer own paint pay plan play prefer prioritise prioritize publish push put
    read receive recommend refuse release rely remember rent reply report require reside return ride run save say see
    seem sell send serve set share sing sleep smoke speak spend stand start stay store struggle study suffer suggest
    support swim take talk teach tell tend test think travel trust try turn understand use value visit volunteer wait
    wake walk want watch wear weigh win wish work write
    """.split()
)
_QUALITIES = frozenset(
    """
    fine ok okay great nice ready simple complex large small big huge tiny long short high low late early busy free
    tired important useful difficult hard soft weak strong stable flaky clean dirty tight loose unknown clear obvious
    correct wrong broken new old different same common rare critical urgent serious funny smart angry sick healthy rich
    poor due close near far unclear here there down up out back over done gone
    """.split()
)
_QUALITY_ENDINGS = ("ful", "able", "ible", "ous", "less", "ing", "ly")
_STATES = """
    married/single unmarried divorced
    employed/jobless
    alive living/dead deceased died
    full/empty
    hire hires hired/fire fires fired
    join joins joined/leave leaves left quit quits
    remember remembers remembered/forget forgets forgot
    early/late
    present/absent
    easy/hard difficult
    strong/weak
    healthy/sick ill
    rich/poor
    good/bad
    quiet/loud noisy
    continue continues continued continuing keep keeps kept/stop stops stopped stopping quit quits abandoned
    agree agrees agreed/disagree disagrees disagreed
    vegetarian vegan/carnivore
    adore adores love loves like likes enjoy enjoys/detest detests hate hates dislike dislikes avoid avoids
    clean/dirty
    fast quick/slow
    permanent/temporary
    manual manually/automatic automatically
    local/remote
    internal/external
    complete completed finished done/incomplete unfinished pending
    broken/working fixed
    wet/dry
    warm/cool
    tall/short
    heavy/lightweight
    wide/narrow
    deep/shallow
    possible/impossible
    confident/insecure doubtful
    excited/bored
    thrilled delighted pleased/disappointed upset
    proud/ashamed
    calm relaxed/nervous anxious
    supportive/critical
    agreed/refused declined
    encourage encourages encouraged/discourage discourages discouraged
    succeed succeeds succeeded successful/fail fails failed unsuccessful
    long longer lengthy/short shorter brief
    concise brief terse/detailed verbose thorough
    single/double
    full/part partial
    sunny/rainy
    writable/read-only readonly
    fixed/variable
    even/odd
    hourly/daily/weekly/monthly/yearly annual annually
    beginner novice/expert
    introvert introverted/extrovert extroverted
    up/down
    electric/diesel/petrol/hybrid
    running/stopped
"""
# Of each word the axes that it is on, and at which end.
_OPPOSITES = {
    word: {number: end for number, line in enumerate(_STATES.strip().splitlines())
           for end, words in enumerate(line.split("/")) if word in words.split()}
    for word in _STATES.replace("/", " ").split()
}  # fmt: skip
_NO_AXES: dict[int, int] = {}


def opposite(one: str, other: str) -> bool:
    """Whether two words are at different ends of something."""
    if one == other or one in _BARRED or other in _BARRED:
        return False
    first, second = AXES.get(one), AXES.get(other)
    if first is not None and second is not None and first[0] == second[0]:
        return first[1] != second[1]
    ends, others = _OPPOSITES.get(one), _OPPOSITES.get(other, _NO_AXES)
    return bool(ends) and any(others.get(axis, end) != end for axis, end in ends.items())


def is_quality(word: str) -> bool:
    """Whether a word tells how something is, and not what."""
    return word in _QUALITIES or word in AXES or word in _OPPOSITES or word.endswith(_QUALITY_ENDINGS)
