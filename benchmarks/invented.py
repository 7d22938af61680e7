"""Generated sentences for a machine without data: varied, and the same on every run."""

import random

_FIRST = (
    "Adele|Bashir|Carmen|Dmitri|Esther|Farid|Gudrun|Hassan|Imogen|Jorge|Katya|Luis|Mbali|Niko|Odette|Pavel|"
    "Quentin|Rosa|Sanjay|Tilda|Umar|Vera|Walid|Xenia|Yasmin|Zoltan"
).split("|")
_ROLES = (
    "my sister|the new neighbour|our landlord|the piano teacher|a colleague from accounting|the site manager|"
    "the dentist|my running partner|the chief engineer|the librarian|our youngest intern|the vet|a former client"
).split("|")
_VERBS = (
    "rewrote|postponed|finished|lost|sold|repaired|photographed|cancelled|translated|measured|painted|inherited|"
    "reviewed|shipped|documented|borrowed|redesigned|audited|returned|catalogued|insured|benchmarked|packed"
).split("|")
_QUALITIES = (
    "old|second-hand|unfinished|blue|overdue|wooden|encrypted|handwritten|broken|annual|experimental|heavy|"
    "half-price|waterproof|bilingual|electric|noisy|quarterly|vintage|fragile|ambitious|missing"
).split("|")
_THINGS = (
    "bicycle|invoice|greenhouse|passport|parser|telescope|wedding album|tax return|sourdough starter|canoe|thesis|"
    "payment gateway|garden fence|cello|backup server|coffee grinder|rental contract|quilt|drone|vaccination record|"
    "recipe book|staircase|sailing licence|data warehouse|chess set|hearing aid|solar panel|manuscript|radiator"
).split("|")
_PLACES = (
    "Lisbon|the attic|Nairobi|a cabin near the lake|the third floor|Oaxaca|the community centre|Tromso|the harbour|"
    "a garage in Ghent|the allotment|Kyoto|the train to Vienna|the old mill|Montevideo|the north car park"
).split("|")
_REASONS = (
    "the warranty runs out|no one could read the manual|it rained for nine days|the price had doubled|"
    "her doctor advised it|two tests kept failing|the school asked for it|the battery never lasts|"
    "he is afraid of heights|the supplier went bankrupt|they expect a second child|the licence changed"
).split("|")
_FRAMES = (
    "{name}, {role}, {verb} the {quality} {thing} in {place} because {reason}.",
    "Since {month} {name} keeps the {quality} {thing} in {place}; it cost {number} euros.",
    "{role} mentioned in {month} that {name} {verb} a {quality} {thing}.",
    "I would rather not lend the {thing} to {name} again, {reason}.",
    "The {quality} {thing} from {place} weighs {number} kilos and belongs to {name}.",
    "On the {day}th of {month} we {verb} {number} of the {thing}s that {role} had left in {place}.",
    "{name} prefers the {quality} {thing} over the {other}, mostly since {reason}.",
    "Ask {name} before anyone touches the {thing} in {place}: {reason}.",
    "For {number} weeks {role} has wanted to see {place}, and {name} finally {verb} the {thing}.",
    "Our rule since {month}: a {quality} {thing} is never {verb} without {name}.",
)
_QUESTIONS = (
    "Who {verb} the {quality} {thing} in {place}?",
    "What happened to the {thing} that {name} had in {month}?",
    "Why does {name} keep a {quality} {thing} in {place}?",
    "How much did the {quality} {thing} from {place} cost {name}?",
    "What does {role} think of the {quality} {other}?",
)
_MONTHS = "January February March April May June July August September October November December".split()


def invented_sentence(source: random.Random) -> str:
    """Return a sentence worth remembering."""
    return _fill(source.choice(_FRAMES), source)


def invented_question(source: random.Random) -> str:
    """Return a question about such a sentence."""
    return _fill(source.choice(_QUESTIONS), source)


def invented_pair(source: random.Random) -> tuple[str, str]:
    """Return a sentence, and a question that it answers more or less."""
    frame, question = source.choice(_FRAMES), source.choice(_QUESTIONS[:-1])
    values = _values(source)
    return _write(frame, values), _write(question, values)


def _fill(frame: str, source: random.Random) -> str:
    return _write(frame, _values(source))


def _write(frame: str, values: dict[str, str | int]) -> str:
    filled = frame.format(**values)
    return filled[0].upper() + filled[1:]


def _values(source: random.Random) -> dict[str, str | int]:
    thing, other = source.sample(_THINGS, 2)
    return {
        "name": source.choice(_FIRST),
        "role": source.choice(_ROLES),
        "verb": source.choice(_VERBS),
        "quality": source.choice(_QUALITIES),
        "thing": thing,
        "other": other,
        "place": source.choice(_PLACES),
        "reason": source.choice(_REASONS),
        "month": source.choice(_MONTHS),
        "number": source.randint(2, 400),
        "day": source.randint(4, 20),
    }
