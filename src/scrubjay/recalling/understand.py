"""First stage: what is asked, in the terms of the index."""

from dataclasses import dataclass

from scrubjay.errors import InvalidInput, TooLarge
from scrubjay.model.draft import Limits
from scrubjay.model.given import require_flag, require_whole
from scrubjay.model.memory import Tier, Trust
from scrubjay.model.query import Question
from scrubjay.text.tokens import terms_of

# More words than this in a question are context, not things to look for; the rarest decide anyway.
_MOST_TERMS = 64
# The model reads no further than this.
_LONGEST_EMBEDDED = 2000
DETAILS = ("concise", "full")


@dataclass(frozen=True, slots=True, kw_only=True)
class Understood:
    """A question with its terms, and the text to embed."""

    question: Question
    terms: tuple[str, ...]
    text: str


def understand(question: Question, *, limits: Limits) -> Understood:
    """Check a question and take it apart; any text is a question, operators and quotes are just text."""
    _check(question, limits=limits)
    text = question.query.replace("\x00", " ").encode("utf-8", "replace").decode().strip()
    terms = tuple(dict.fromkeys(terms_of(text)))[:_MOST_TERMS]
    return Understood(question=question, terms=terms, text=text[:_LONGEST_EMBEDDED])


def _check(question: Question, *, limits: Limits) -> None:
    if not isinstance(question.query, str):
        raise InvalidInput(f"query must be a text, not {type(question.query).__name__}", field="query")
    size = len(question.query.encode("utf-8", "replace"))
    if size > limits.query_bytes:
        raise TooLarge(
            f"query has {size:,} bytes; the limit is {limits.query_bytes:,}",
            hint="Ask for less at once",
            field="query",
            limit=limits.query_bytes,
        )
    require_whole(question.limit, field="limit", most=limits.results)
    require_whole(question.max_tokens, field="max_tokens")
    require_flag(question.explain, field="explain")
    if question.detail not in DETAILS:
        raise InvalidInput(f"detail must be one of {', '.join(DETAILS)}, not {question.detail!r}", field="detail")
    wanted = question.filter
    for name, choices in (("tier", Tier), ("trust", Trust)):
        value = getattr(wanted, name)
        if value and value.lower() not in tuple(choices):
            raise InvalidInput(f"{name} must be one of {', '.join(choices)}, not {value!r}", field=name)
    if wanted.since and wanted.until and wanted.since >= wanted.until:
        raise InvalidInput("since must be before until", field="since")
