"""First stage: what is asked, in the terms of the index."""

import re
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise

from scrubjay.errors import InvalidInput, TooLarge
from scrubjay.model.checks import require_flag, require_integer, require_moment, require_text, wrong_type
from scrubjay.model.draft import Limits
from scrubjay.model.memory import Tier, Trust
from scrubjay.model.query import Question
from scrubjay.model.ranking import Ranking
from scrubjay.text.dates.phrases import find_dates
from scrubjay.text.dates.spans import DateSpan
from scrubjay.text.tokens import running_terms_of, terms_of

# More words than this in a question are context, not things to look for: what is asked stands before it or after it.
_MOST_TERMS = 64
_MOST_PHRASES = 8
# The model reads no further than this.
_LONGEST_EMBEDDED = 2000
# A question is not more exact than this, and its neighbours cost tokens.
MOST_AROUND = 10
DETAILS = ("concise", "full")
# Whoever gives words alone looks for those who said them, not for an answer.
_QUESTION = re.compile(
    "[?\uff1f\u061f]|^(?:(?:and|but|so|please|tell me|say) )?(?:what|when|where|which|who|whom|whose|why|how|did|do"
    "|does|is|are|was|were|will|would|can|could|should|has|have|had)\\b",
    re.IGNORECASE,
)
_SAYS_SOMETHING = re.compile(r"[^\W_]")
_QUOTED = re.compile(
    '"([^"]{2,300})"|\u201c([^\u201d]{2,300})\u201d|\u00ab([^\u00bb]{2,300})\u00bb|\u300c([^\u300d]{2,300})\u300d'
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Understood:
    """A question with its terms, and the text to embed.

    `pairs` are terms that stand side by side, `phrases` are quoted; both as terms joined by spaces. `spans` are the
    days that are named.
    """

    question: Question
    text: str
    terms: tuple[str, ...] = ()
    pairs: tuple[str, ...] = ()
    phrases: tuple[str, ...] = ()
    spans: tuple[DateSpan, ...] = ()
    is_question: bool = True


def understand(question: Question, *, limits: Limits, ranking: Ranking, now: datetime) -> Understood:
    """Check a question and take it apart; any text is a question, operators are just text."""
    _check(question, limits=limits)
    text = question.query.replace("\x00", " ").encode("utf-8", "replace").decode().strip()
    spoken = terms_of(text)
    if not spoken and not _SAYS_SOMETHING.search(text):
        text = ""  # Nothing but punctuation asks nothing.
    terms = _beginning_and_end(tuple(dict.fromkeys(spoken)))
    return Understood(
        question=question,
        text=text[:_LONGEST_EMBEDDED],
        terms=terms,
        pairs=_pairs(running_terms_of(text)[:_MOST_TERMS]) if ranking.uses("pairs") else (),
        phrases=_phrases(text) if ranking.uses("phrases") else (),
        spans=find_dates(text, today=question.today or now) if ranking.uses("dates") else (),
        is_question=_QUESTION.search(text[:_LONGEST_EMBEDDED]) is not None,
    )


def _beginning_and_end(terms: tuple[str, ...]) -> tuple[str, ...]:
    half = _MOST_TERMS // 2
    return terms if len(terms) <= _MOST_TERMS else (*terms[:half], *terms[-half:])


def _pairs(spoken: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(f"{one} {next_one}" for one, next_one in pairwise(spoken) if one != next_one))


def _phrases(text: str) -> tuple[str, ...]:
    quoted = ("".join(found.groups(default="")) for found in _QUOTED.finditer(text))
    phrases = (" ".join(running_terms_of(phrase)) for phrase in quoted)
    return tuple(dict.fromkeys(phrase for phrase in phrases if phrase))[:_MOST_PHRASES]


def _check(question: Question, *, limits: Limits) -> None:
    for name in ("query", "contains"):
        value = getattr(question, name)
        if not isinstance(value, str):
            raise wrong_type(name, "a text", value)
        size = len(value.encode("utf-8", "replace"))
        if size > limits.query_bytes:
            raise TooLarge(
                f"{name} has {size:,} bytes; the limit is {limits.query_bytes:,}",
                hint="Ask for less at once",
                field=name,
                limit=limits.query_bytes,
            )
    require_integer(question.limit, field="limit", most=limits.results)
    require_integer(question.max_tokens, field="max_tokens")
    require_integer(question.around, field="around", least=0, most=MOST_AROUND)
    require_flag(question.explain, field="explain")
    require_moment(question.today, field="today")
    require_moment(question.as_of, field="as_of")
    require_text(question.branch, field="branch")
    if question.detail not in DETAILS:
        raise InvalidInput(f"detail must be one of {', '.join(DETAILS)}, not {question.detail!r}", field="detail")
    wanted = question.filter
    for name, choices in (("tier", Tier), ("trust", Trust)):
        value = getattr(wanted, name)
        if value and value.lower() not in tuple(choices):
            raise InvalidInput(f"{name} must be one of {', '.join(choices)}, not {value!r}", field=name)
    if wanted.since and wanted.until and wanted.since >= wanted.until:
        raise InvalidInput("since must be before until", field="since")
