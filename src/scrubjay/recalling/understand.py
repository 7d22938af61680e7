"""First stage: parse the question into the terms of the index."""

import re
from collections.abc import Mapping
from dataclasses import field
from datetime import datetime
from itertools import pairwise

from scrubjay.errors import InvalidInput, TooLarge
from scrubjay.lazy import dataclass
from scrubjay.model.checks import (
    require_flag,
    require_fraction,
    require_integer,
    require_moment,
    require_text,
    wrong_type,
)
from scrubjay.model.draft import Limits
from scrubjay.model.memory import Tier, Trust
from scrubjay.model.ranking import Ranking
from scrubjay.model.requests import RecallRequest
from scrubjay.text.dates.phrases import find_dates
from scrubjay.text.dates.spans import DateSpan
from scrubjay.text.languages import ENGLISH, QUESTION_WORDS, dates_in_english, language_of, stop_words_of
from scrubjay.text.tokens import question_terms, running_terms_of, terms_of

# A longer text contains context besides the question, which is at its beginning or at its end.
_MAX_TERMS = 64
_MAX_PHRASES = 8
# The embedder reads no further.
_MAX_EMBEDDED = 2000
# More neighbours cost tokens and do not make an answer clearer.
MAX_AROUND = 10
DETAILS = ("concise", "full")
# Words alone look for the passages that contain them, not for a reply to them.
_QUESTION = re.compile(
    "[?\uff1f\u061f]|^(?:(?:and|but|so|please|tell me|say) )?(?:what|when|where|which|who|whom|whose|why|how|did|do"
    "|does|is|are|was|were|will|would|can|could|should|has|have|had)\\b",
    re.IGNORECASE,
)
_HAS_WORD = re.compile(r"[^\W_]")
_QUOTED = re.compile(
    '"([^"]{2,300})"|\u201c([^\u201d]{2,300})\u201d|\u00ab([^\u00bb]{2,300})\u00bb|\u300c([^\u300d]{2,300})\u300d'
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedQuery:
    """A question with its terms, and the text to embed.

    `other_stems` has, by a term, its stems in other languages, which count in passages without the term. `pairs` are
    adjacent terms and `phrases` are quoted, both as terms joined by spaces. `spans` are the named days.
    """

    question: RecallRequest
    text: str
    terms: tuple[str, ...] = ()
    other_stems: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    language: str = ""
    pairs: tuple[str, ...] = ()
    phrases: tuple[str, ...] = ()
    spans: tuple[DateSpan, ...] = ()
    is_question: bool = True

    @property
    def is_english(self) -> bool:
        """Whether it is in English, or too short to say."""
        return self.language in ("", ENGLISH)


def understand(question: RecallRequest, *, limits: Limits, ranking: Ranking, now: datetime) -> ParsedQuery:
    """Check and parse a question; every text is a valid one, since operators are just text."""
    _check(question, limits=limits)
    text = question.query.replace("\x00", " ").encode("utf-8", "replace").decode().strip()
    language = language_of(text)
    all_terms, other_stems = question_terms(text, language)
    if not all_terms and not _HAS_WORD.search(text):
        text = ""  # Punctuation alone asks nothing.
    terms = tuple(dict.fromkeys(all_terms))
    if len(terms) > _MAX_TERMS:
        terms = (*terms[: _MAX_TERMS // 2], *terms[-_MAX_TERMS // 2 :])
    return ParsedQuery(
        question=question,
        text=text[:_MAX_EMBEDDED],
        terms=terms,
        other_stems={term: other_stems[term] for term in terms if term in other_stems},
        language=language,
        pairs=_pairs(text, language) if ranking.uses("pairs") else (),
        phrases=_phrases(text) if ranking.uses("phrases") else (),
        spans=_spans(text, language, today=question.today or now) if ranking.uses("dates") else (),
        is_question=_is_question(text[:_MAX_EMBEDDED]),
    )


def _spans(text: str, language: str, *, today: datetime) -> tuple[DateSpan, ...]:
    return find_dates(dates_in_english(text, language), today=today)


def _pairs(text: str, language: str) -> tuple[str, ...]:
    terms = running_terms_of(text)[:_MAX_TERMS]
    is_foreign = language not in ("", ENGLISH)
    frequent = set(terms_of(" ".join(stop_words_of(language)))) if is_foreign else set[str]()
    pairs = (pair for pair in pairwise(terms) if pair[0] != pair[1] and frequent.isdisjoint(pair))
    return tuple(dict.fromkeys(map(" ".join, pairs)))


def _is_question(text: str) -> bool:
    return _QUESTION.search(text) is not None or text.partition(" ")[0].lower() in QUESTION_WORDS


def _phrases(text: str) -> tuple[str, ...]:
    quotes = ("".join(quote.groups(default="")) for quote in _QUOTED.finditer(text))
    phrases = (" ".join(running_terms_of(quote)) for quote in quotes)
    return tuple(dict.fromkeys(phrase for phrase in phrases if phrase))[:_MAX_PHRASES]


def _check(question: RecallRequest, *, limits: Limits) -> None:
    for name in ("query", "contains"):
        value = getattr(question, name)
        if not isinstance(value, str):
            raise wrong_type(name, "a text", value)
        size = len(value.encode("utf-8", "replace"))
        if size > limits.query_bytes:
            raise TooLarge(
                f"{name} has {size:,} bytes; the limit is {limits.query_bytes:,}",
                hint="Ask a shorter question",
                field=name,
                limit=limits.query_bytes,
            )
    require_integer(question.limit, field="limit", most=limits.results)
    require_integer(question.token_budget, field="max_tokens")
    require_integer(question.around, field="around", least=0, most=MAX_AROUND)
    require_flag(question.explain, field="explain")
    if question.min_score is not None:
        require_fraction(question.min_score, field="min_score")
    require_moment(question.today, field="today")
    require_moment(question.as_of, field="as_of")
    require_text(question.branch, field="branch")
    if question.detail not in DETAILS:
        raise InvalidInput(f"detail must be one of {', '.join(DETAILS)}, not {question.detail!r}", field="detail")
    criteria = question.filter
    for name, choices in (("tier", Tier), ("trust", Trust)):
        value = getattr(criteria, name)
        if value and value.lower() not in tuple(choices):
            raise InvalidInput(f"{name} must be one of {', '.join(choices)}, not {value!r}", field=name)
    if criteria.since and criteria.until and criteria.since >= criteria.until:
        raise InvalidInput(
            "since must be before until", hint="Give an earlier `since`, or a later `until`", field="since"
        )
