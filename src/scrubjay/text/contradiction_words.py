"""Words of change and of opposite states, for telling when two statements cannot both hold."""

from scrubjay.text.claim_words import AXES, NEGATIONS

__all__ = ["BEINGS", "COMPARING", "DENIALS", "LABELS", "LIGHT", "MODALS", "OTHERS", "TURNS", "opposite"]

# What says that something does not hold, or not any more.
DENIALS = NEGATIONS | frozenset(
    """
    fail fails failed failing refuse refuses refused refusing quit quits quitting formerly previously anymore
    discontinued discontinues abandoned abandons ain't
    """.split()
)
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
    commit build job run message turn session level grade room unit article exercise problem volume track appendix
    """.split()
)
# They add nothing to what is said.
LIGHT = frozenset("own owns owned possess possesses currently really quite still already actually".split())
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
_STATES = """
    married/single unmarried divorced
    employed/jobless
    alive living/dead deceased
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
"""
_OPPOSITES = {
    word: {(f"s{number}", end) for number, line in enumerate(_STATES.strip().splitlines())
           for end, words in enumerate(line.split("/")) if word in words.split()}
    for word in _STATES.replace("/", " ").split()
}  # fmt: skip


def opposite(one: str, other: str) -> bool:
    """Whether two words are at different ends of something."""
    if one == other or one in _BARRED or other in _BARRED:
        return False
    first, second = AXES.get(one), AXES.get(other)
    if first is not None and second is not None and first[0] == second[0]:
        return first[1] != second[1]
    ends, others = dict(_OPPOSITES.get(one, ())), dict(_OPPOSITES.get(other, ()))
    return any(others.get(axis, end) != end for axis, end in ends.items())
