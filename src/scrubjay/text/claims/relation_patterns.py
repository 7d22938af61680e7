"""How relations are told that have one value at a time, that such a value is over, and that it was changed."""

import re
from functools import cache
from typing import NamedTuple

from scrubjay.text.claims.opposites import CHANGES
from scrubjay.text.claims.relation_words import ATTRIBUTES, KINSHIP, ROLES, SETTLED

__all__ = ["CHANGED", "ENDED", "HELD", "IN_CHANGED", "SINGLE", "WAYS", "RelationPattern"]


class RelationPattern(NamedTuple):
    """A relation, a pattern of how it is told, and whether what else is told may differ: she lives there with a dog.

    The pattern has a `value`, and may have `who`, `how` and `rest`. One of the `words` is in all that it fits, in lower
    case: where none of them is, which takes little time to see, it need not be tried.
    """

    relation: str
    expression: str
    loose: bool
    words: tuple[str, ...]

    @property
    def pattern(self) -> re.Pattern[str]:
        """Compiled when it is first tried: all together take longer than some processes live."""
        return _compiled(self.expression)


@cache
def _compiled(expression: str) -> re.Pattern[str]:
    return re.compile(expression)


def _one_of(words: frozenset[str]) -> str:
    return f"(?:{'|'.join(sorted(words, key=lambda word: (-len(word), word)))})"


_SOMEBODY = r"(?:(?P<who>[\w'./ -]{1,50}?) )?"
_SOMETHING = r"(?P<who>[\w'./ -]{1,50}?)"
_NAME = r"[A-Z][\w'.&+#-]*(?:,? (?:of |the |and |de )?(?:[A-Z][\w'.&+#-]*|\d[\w.]*)){0,3}"
_NAMED = rf"(?P<value>{_NAME})"
# A name, or what can only be an address, a version or a file.
_MARKED = rf"(?P<value>{_NAME}|[\w./:-]*[\d_/@][\w./:@-]*)"
_ANY = r"(?P<value>[\w'.@/+#-]+(?: [\w'.@/+#:-]+){0,3}?)"
_REST = (
    r"(?P<rest>(?:[,;(]| (?:in|on|at|for|with|since|because|and|but|when|while|during|over|from|as|to|by|after|before"
    r"|near|last|this|next|every|if|of|instead|until|unless|who|which|that)\b).*)?$"
)
_DOES = rf"^{_SOMEBODY}(?i:(?:has|have|had|is|are|am) )?"
_IS = r"(?i:is|are|am|will be|has become|became)"
_A = r"(?:an? |the |our |my )?"
_THEIR = r"(?:my|his|her|their|our|the)"
_TO = rf"(?:(?:was|were|is|has been|have been|got|will be) )?{_one_of(CHANGES)}(?: \w+){{0,2}}? to"
_BECOMES = rf"(?:{_IS}|=|{_TO})"
_QUALIFIED = r"(?:favou?rite|preferred|default|main|primary|current|maximum|minimum|max|min|official|chosen)"
_OF = r"(?: (?:of|for|in|on) (?:the |our |my |this )?[\w'-]+(?: [\w'-]+)?)?"
_ATTRIBUTE = rf"(?:[\w'./-]+ ){{0,5}}?(?i:{_QUALIFIED} [\w-]+(?: [\w-]+)?|{_one_of(ATTRIBUTES | ROLES)}){_OF}"
_OWNED = r"(?i:the|my|our|this|his|her|their|[\w-]+'s)"
_OWNED_THING = rf"(?P<who>{_OWNED} [\w' -]{{2,40}}?)"
_PLACED = r"(?P<how>(?:in|at|on|from|by|with) )?"
_ROLE = rf"(?P<who>the [\w' -]{{2,50}}?|{_OWNED} (?:[\w-]+ )?{_one_of(ROLES)}{_OF})"
_JOB = r"(?:started|(?:started|got|took|has|accepted) an? (?:new )?(?:job|position|role)) (?:at|with)"
_LEFT = r"(?:left|quit|resigned from|was fired from|was laid off (?:by|from)|retired from)"
_NEXT = r"(?:and|to|for) (?:joined |join |started at |work at |work for )?"
_LOSES = r"(?:sold|lost|gave away|got rid of|cancell?ed|returned|closed|deleted|removed)"
_STYLE = r"(?:indent|write|format|document|comment|answer|reply|respond|speak|sign|encode)(?: [\w-]+)?"
_END = r"[.!]?$"
# What has its place somewhere, and may move as people do.
_SEATS = (
    "office", "headquarters", "shop", "store", "school", "studio", "laboratory", "lab", "warehouse", "factory",
    "clinic", "bakery", "restaurant", "data center", "data centre",
)  # fmt: skip
_PASTIMES = r"plays?|drinks?|eats?|smokes?|takes?|uses?|does|do|practi[cs]es?|studies|study|learns?"
_IN_IS = (" is ", " are ", " am ", " will be ", " has become ", " became ")
_IN_BECOMES = (*_IN_IS, " = ", " to ")

_DWELLING = (
    (
        "lives in",
        rf"{_DOES}(?i:lives?|living|resides?|residing|based|located|stays)(?: back)? (?:in|at) {_NAMED}",
        True,
        ("live", "living", "resid", "based", "located", "stays"),
    ),
    ("lives in", rf"{_DOES}(?i:moved|relocated)(?: back)? (?:to|into) {_NAMED}", True, ("moved", "relocated")),
    ("lives in", rf"^(?P<who>{_OWNED} (?:[\w-]+ )?(?:{'|'.join(_SEATS)})) {_IS} in {_NAMED}", True, _SEATS),
    ("works for", rf"{_DOES}(?i:works?|working|employed) (?:at|for|by) {_NAMED}", True, ("work", "employed")),
    ("works for", rf"{_DOES}(?i:{_JOB}) {_NAMED}", True, ("started", "job", "position", "role")),
    ("works for", rf"{_DOES}(?i:left|quit) [\w'&. -]{{1,30}}? {_NEXT}{_NAMED}", True, ("left ", "quit ")),
    ("works for", rf"{_DOES}(?i:joined) {_NAMED}(?: (?:as|in|last|this)\b.*)?{_END}", True, ("joined",)),
)
_SINGLE = (
    *_DWELLING,
    ("lives in a", rf"{_DOES}(?i:lives?|living) in an? {_ANY}{_REST}", True, ("live", "living")),
    (
        "works as",
        rf"^{_SOMEBODY}(?i:is|are|am|works? as|became) an? {_ANY}{_REST}",
        True,
        ("is a", "are a", "am a", "as a", "became a"),
    ),
    ("works from", rf"{_DOES}(?i:works?|working) from (?:the |my |his |her )?{_ANY}{_REST}", False, ("work",)),
    ("studies at", rf"{_DOES}(?i:studies|study|studying|enrolled) (?:at|in) {_NAMED}", True, ("stud", "enrolled")),
    ("drives", rf"{_DOES}(?i:drives?) an? {_ANY}{_REST}", False, ("drive",)),
    ("is married to", rf"{_DOES}(?i:married|engaged|dating)(?: to)? {_NAMED}", True, ("married", "engaged", "dating")),
    ("comes from", rf"^{_SOMEBODY}(?i:is|are|am|comes?) from {_NAMED}", True, (" from ",)),
    ("was born in", rf"{_DOES}(?i:was |were )?(?i:born) (?:in|at) {_NAMED}", True, ("born",)),
    (
        "is called",
        rf"^{_SOMETHING}(?: name)? (?:is|are|was) (?:called|named|renamed to) {_ANY}{_REST}",
        False,
        ("called", "named"),
    ),
    ("is called", rf"^{_SOMETHING}(?:'s)? name is {_ANY}{_REST}", False, (" name is ",)),
    (
        "uses",
        rf"^(?:[\w'. -]{{1,40}}? )?(?i:uses?|using) {_ANY} (?P<how>for|as) (?P<who>[\w' -]{{2,50}}?){_END}",
        False,
        ("use", "using"),
    ),
    (
        "is",
        rf"^{_SOMETHING} {_IS} (?P<how>{_one_of(SETTLED)} (?:in|on|at|with|by|to|for)) {_A}{_ANY}{_REST}",
        False,
        tuple(sorted(SETTLED)),
    ),
    ("is", rf"^(?P<who>{_ATTRIBUTE}) {_BECOMES} {_PLACED}{_A}{_ANY}{_REST}", False, _IN_BECOMES),
    ("is", rf"^(?P<value>[A-Z][\w'-]+(?: [A-Z][\w'-]+)?) {_IS} {_ROLE}{_END}", False, _IN_IS),
    ("is", rf"^{_OWNED_THING} {_BECOMES} {_PLACED}{_A}{_MARKED}{_REST}", False, _IN_BECOMES),
    ("is", rf"^{_OWNED_THING} {_BECOMES} (?P<how>in )(?P<value>\w+ [A-Z0-9]\w*){_END}", False, _IN_BECOMES),
    ("is", rf"^(?P<who>[A-Z][\w'-]+) {_IS} (?P<how>in|at) {_NAMED}{_REST}", False, _IN_IS),
    (
        "is kin",
        rf"^(?P<who>[A-Z]\w+ {_IS} (?:my|our|his|her|[\w-]+'s)) (?P<value>{_one_of(KINSHIP)}){_END}",
        False,
        _IN_IS,
    ),
    ("prefers", rf"^{_SOMEBODY}(?i:prefers?) {_ANY}{_REST}", False, ("prefer",)),
    ("wants", rf"^{_SOMEBODY}(?i:wants?|expects?) {_ANY}{_REST}", False, ("want", "expect")),
    ("does", rf"^(?P<who>(?i:{_STYLE})) (?P<how>with|in) {_ANY}{_END}", False, (" with ", " in ")),
)
_OVER = (
    (
        "works for",
        rf"{_DOES}(?i:{_LEFT}) (?:{_THEIR} (?:job|position|role) (?:at|with) )?{_NAMED}{_END}",
        True,
        ("left ", "quit ", "resigned ", "fired ", "laid off ", "retired "),
    ),
    ("lives in", rf"{_DOES}(?i:left|moved (?:away from|out of)) {_NAMED}{_END}", True, ("left ", "moved ")),
    (
        "has",
        rf"{_DOES}(?i:{_LOSES}) {_THEIR} {_ANY}{_END}",
        True,
        ("sold ", "lost ", "gave ", "got rid", "cancel", "returned ", "closed ", "deleted ", "removed "),
    ),
    ("is in", rf"{_DOES}(?i:left|quit) the {_ANY}{_END}", True, ("left the ", "quit the ")),
    ("does", rf"{_DOES}(?i:quit|gave up|given up) {_ANY}{_END}", True, ("quit ", "gave up ", "given up ")),
)
_LASTING = (
    *_DWELLING,
    (
        "has",
        rf"^{_SOMEBODY}(?i:has|have|owns?|got|drives?|rides?) an? {_ANY}{_REST}",
        True,
        ("has a", "have a", "own a", "owns a", "got a", "drive", "ride"),
    ),
    (
        "is in",
        rf"^{_SOMEBODY}(?i:plays?|sings?|is|are|am|works?) (?:in|on) (?:an?|the) {_ANY}{_REST}",
        True,
        (" in ", " on "),
    ),
    (
        "is in",
        rf"^{_SOMEBODY}(?i:is|are|am) (?:a )?(?:part|member) of (?:an?|the) {_ANY}{_REST}",
        True,
        ("part of ", "member of "),
    ),
    (
        "does",
        rf"^{_SOMEBODY}(?i:{_PASTIMES}) {_ANY}{_REST}",
        True,
        ("play", "drink", "eat", "smoke", "take", "use", "does ", "do ", "practi", "stud", "learn"),
    ),
)
# Relations with one value, those that are over, and what such an end contradicts.
SINGLE, ENDED, HELD = (
    tuple(RelationPattern(relation, expression, loose, words) for relation, expression, loose, words in tellings)
    for tellings in (_SINGLE, _OVER, _LASTING)
)
CHANGED = re.compile(
    r"\b(?:switch\w*|mov\w+|migrat\w+|chang\w+|convert\w*|transition\w*|upgrad\w+|downgrad\w+) (?:\w+ ){0,3}?"
    r"from (?P<old>[\w.-]*\w) to (?P<new>[\w.-]*\w)"
    r"|\breplac\w+ (?P<gone>[\w.-]*\w) (?:with|by) (?P<instead>[\w.-]*\w)"
    r"|(?P<chosen>[\w.-]*\w) (?:instead of|rather than) (?P<left>[\w.-]*\w)",
    re.IGNORECASE,
)
# One of these is in all that it finds, in lower case.
IN_CHANGED = ("from ", "replac", "instead of", "rather than")
# Words of those relations that are told in ways that have none in common.
WAYS = {
    "lives in": "live lives living moved relocated resides based located wohne wohnt gezogen".split(),
    "works for": "work works working joined employed started job arbeite arbeitet".split(),
    "prefers": "prefer prefers".split(),
}
