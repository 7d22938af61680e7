"""Facts by a language model, each checked against what was said: what does not stand there is dropped."""

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from scrubjay import telemetry
from scrubjay.errors import LlmUnavailable
from scrubjay.extraction.patterns import facts_of
from scrubjay.extraction.sentences import rejection_reason, split_sentences
from scrubjay.extraction.subjects import attribute_to, is_machine
from scrubjay.model.fact import Fact, FactType, Turn
from scrubjay.model.memory import Json
from scrubjay.ports import Llm
from scrubjay.text.claims.extract import added_claims, claims_of
from scrubjay.text.tokens import running_terms_of

__all__ = ["ExtractedFacts", "ask_model", "unsupported_reason"]

INSTRUCTIONS = """You pick out of a conversation the facts that are worth remembering for months.
The material has one turn a line: its number, who speaks, what is said. Answer with one field, facts, a list.
Each fact has: turn, the number of its turn; type, one of preference, requirement, habit, decision, event, identity;
entity, whom or what it is about; statement, one sentence that can be understood alone, in the words of the turn, with
the speaker's name for "I"; confidence, from 0 to 1.
Leave out questions, guesses, wishes, what is only imagined, quotations, greetings, thanks, praise and orders.
Keep every number, date, name and every "not" exactly as it is written. Say nothing that is not in the turn."""
_MOST_FACTS = 200
SCHEMA: dict[str, Json] = {
    "type": "object",
    "properties": {
        "facts": {
            "type": "array",
            "maxItems": _MOST_FACTS,
            "items": {
                "type": "object",
                "properties": {
                    "turn": {"type": "integer"},
                    "type": {"type": "string", "enum": list[Json](FactType)},
                    "entity": {"type": "string", "maxLength": 300},
                    "statement": {"type": "string", "maxLength": 2_000},
                    "confidence": {"type": "number"},
                },
                "required": ["turn", "type", "entity", "statement", "confidence"],
                "additionalProperties": False,
            },
        }
    },
    "required": ["facts"],
    "additionalProperties": False,
}
# What is asked at once: so much is read with care still.
_MOST_TURNS = 40
_MOST_CHARACTERS = 8_000
_LONGEST_TURN = 4_000
# What a statement in the third person has and the first person has not.
_GLUE = frozenset(
    running_terms_of("user speaker person people say said tell told has have is was does did they their his her he she")
)
_NO_FACTS = ("question", "hedge", "hypothetical", "quotation")
_MOST_SURE = 0.99


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractedFacts:
    """The facts of so many turns, and what went wrong."""

    facts: tuple[Fact, ...]
    turns: int
    warnings: tuple[str, ...] = ()


async def ask_model(turns: Sequence[Turn], *, llm: Llm) -> AsyncIterator[ExtractedFacts]:
    """Ask a model, some turns at a time; where it fails, the rest is read by patterns."""
    dropped = read = 0
    for some in _portions(turns):
        try:
            with telemetry.stage("extract.find"):
                answer = await llm.ask(INSTRUCTIONS, _rendered(some), schema=SCHEMA)
        except LlmUnavailable as error:
            warning = f"the language model gave no answer ({error.fields.get('reason', 'unknown')}): read by patterns"
            rest = turns[read:]
            yield ExtractedFacts(facts=tuple(facts_of(rest)), turns=len(rest), warnings=(*_told(dropped), warning))
            return
        told = cast("list[Mapping[str, Json]]", answer["facts"])
        founded = tuple(fact for one in told if (fact := _founded(one, some)) is not None)
        dropped += len(told) - len(founded)
        read += len(some)
        yield ExtractedFacts(facts=founded, turns=len(some), warnings=_told(dropped) if read == len(turns) else ())


def unsupported_reason(statement: str, turn: Turn) -> str:
    """Why a statement is not what was said in a turn, for people; empty when it is."""
    beside = (turn.text, turn.speaker)
    if new := added_claims(beside, statement):
        return f"it invented {new[0]}"
    terms = set(running_terms_of(statement))
    known = {term for text in beside for term in running_terms_of(text)}
    if strange := sorted(terms - known - _GLUE):
        return f"it brought the word {strange[0]}"
    sentences = list(split_sentences(turn.text))
    if not terms or not sentences:
        return "it says nothing"
    source = max(sentences, key=lambda one: len(terms.intersection(running_terms_of(one.text))))
    if (reason := rejection_reason(source)) in _NO_FACTS:
        return f"it comes from a {reason}"
    if bool(claims_of(source.text).negations) != bool(claims_of(statement).negations):
        return "it lost a negation"
    return ""


def _portions(turns: Sequence[Turn]) -> Iterator[Sequence[Turn]]:
    start = size = 0
    for at, turn in enumerate(turns):
        size += min(len(turn.text), _LONGEST_TURN)
        if at > start and (at - start >= _MOST_TURNS or size > _MOST_CHARACTERS):
            yield turns[start:at]
            start, size = at, min(len(turn.text), _LONGEST_TURN)
    if start < len(turns):
        yield turns[start:]


def _rendered(turns: Sequence[Turn]) -> str:
    lines = (
        f"{number}. {turn.speaker or 'speaker'}: {' '.join(turn.text[:_LONGEST_TURN].split())}"
        for number, turn in enumerate(turns, 1)
        if not is_machine(turn.speaker)
    )
    return "\n".join(lines)


def _founded(told: Mapping[str, Json], turns: Sequence[Turn]) -> Fact | None:
    """The fact that an answer tells, if it is one of ours and was said."""
    number, kind = cast("int", told["turn"]), str(told["type"]).strip().lower()
    statement = " ".join(str(told["statement"]).split())
    if not 1 <= number <= len(turns) or kind not in set(FactType):
        return None
    turn = turns[number - 1]
    if is_machine(turn.speaker) or unsupported_reason(statement, turn):
        return None
    entity = " ".join(str(told["entity"]).split())
    is_said = bool(entity) and not _is_unfounded(entity, turn)
    named = bool(turn.speaker) and turn.speaker.lower() in statement.lower()
    return Fact(
        statement=statement if named else attribute_to(turn.speaker, statement),
        type=FactType(kind),
        subject=entity if is_said else turn.speaker,
        speaker=turn.speaker,
        turn=turn.id,
        confidence=round(min(max(float(cast("float", told["confidence"])), 0.0), _MOST_SURE), 2),
        at=turn.at,
        method="llm",
    )


def _is_unfounded(entity: str, turn: Turn) -> bool:
    """Whether a turn says nothing of what a fact is said to be about."""
    known = {term for text in (turn.text, turn.speaker) for term in running_terms_of(text)}
    return not known.issuperset(running_terms_of(entity))


def _told(dropped: int) -> tuple[str, ...]:
    return (f"{dropped} facts of the language model were dropped: nobody said so",) if dropped else ()
