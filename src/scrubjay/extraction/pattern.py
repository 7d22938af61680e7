"""A way of saying something outright, and whom such sentences speak of."""

import re
from dataclasses import dataclass

from scrubjay.model.fact import FactType

__all__ = ["HAVE", "KIN", "LATELY", "SOMEBODY", "WHEN", "FactPattern", "way"]


@dataclass(frozen=True, slots=True)
class FactPattern:
    """A way of saying something of a type, and how sure it is that whoever says it so means it."""

    type: FactType
    pattern: re.Pattern[str]
    confidence: float
    # It is looked for in sentences with one of these words only.
    words: frozenset[str]


def way(kind: FactType, confidence: float, words: str, pattern: str) -> FactPattern:
    """A way of saying something; `words` are those without which nobody says it so."""
    return FactPattern(kind, re.compile(pattern), confidence, frozenset(words.split()))


KIN = (
    r"(?:wife|husband|partner|son|daughter|dog|cat|brother|sister|mom|mum|mother|dad|father|boss|manager|girlfriend|"
    r"boyfriend|company|employer|parents|kids|children|friend|colleague|team|uncle|aunt|cousin|niece|nephew|"
    r"grand(?:ma|pa|mother|father|parents)|fiancee?|roommate|neighbou?r|doctor|ex)"
)
# Whoever is known without what was said before: the speaker and his, or the one whose name the sentence begins with.
SOMEBODY = (
    rf"(?:\b(?:i|we|(?:my|our) (?:[\w-]+ )?{KIN}|the team)|^(?!(?:it|that|this|he|she|they|you|there|what|who|which|"
    rf"how|everything|everyone|nobody|somebody|someone|the|a|an|these|those|and|but|so|if|let's|please)\b)[^\W\d_]+)"
)
HAVE = r"(?:'ve| have|'s| has|'m| am|'re| are| is)?"
LATELY = r"(?:just |finally |recently |also |already |now |all |both |officially |actually )*"
WHEN = (
    r"(?:\b(?:mon|tues|wednes|thurs|fri|satur|sun)days?|\b(?:january|february|march|april|may|june|july|august|"
    r"september|october|november|december|tomorrow|tonight|noon|midnight|every|next (?:week|month|year)|weekly|daily)|"
    r"\b\d{1,2}(?:[:.]\d{2}\b| ?[ap]\.?m\b|th\b|st\b|nd\b|rd\b| o'clock))"
)
