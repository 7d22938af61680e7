"""Facts by a language model, each checked against the turn that it names: an unsupported fact is dropped."""

import re
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from typing import cast

from scrubjay import telemetry
from scrubjay.errors import LlmUnavailable
from scrubjay.extraction.patterns import facts_of
from scrubjay.extraction.sentences import attribute_to, rejection_reason, split_sentences
from scrubjay.extraction.speakers import is_machine
from scrubjay.lazy import dataclass
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
_MAX_FACTS = 200
SCHEMA: dict[str, Json] = {
    "type": "object",
    "properties": {
        "facts": {
            "type": "array",
            "maxItems": _MAX_FACTS,
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
# One request: with more turns a model overlooks facts.
_MAX_TURNS = 40
_MAX_CHARACTERS = 8_000
_MAX_TURN_LENGTH = 4_000
# Words of a statement in the third person that the first person does not have.
_THIRD_PERSON = frozenset(
    running_terms_of("user speaker person people say said tell told has have is was does did they their his her he she")
)
# Words that give what stands after them another role than what stands before: "tea to coffee", "from Oslo to Rome".
_ROLE_WORDS = frozenset(
    "to into onto than from over under not without against before after vor statt als nach von".split()
)
_ROLE_PHRASES = {
    "instead of": "than", "rather than": "than", "in place of": "than", "anstatt": "than", "anstelle von": "than",
    "cannot": "can not", "nicht": "not", "kein": "not", "keine": "not", "keinen": "not", "never": "not",
}  # fmt: skip
# What stands after one of these has no part in the role.
_ROLE_ENDS = frozenset(
    """
    and or but in at on for with by of as because since when while so that which who if then und oder aber mit
    i you he she it we they ich du er sie es wir
    """.split()
)
# After one of these "to" begins a verb and not a role.
_INFINITIVES = frozenset(
    """
    want plan need have has had got going like love hate try decide learn hope start begin continue prefer used able
    ought wish intend agree promise refuse forget remember happy ready glad about supposed
    """.split()
)
_CHOICES = frozenset(running_terms_of("prefer preference favour favor choose chose chosen pick like love rather enjoy"))
_COMPARISONS = frozenset({"than", "statt"})
_CHOICE_WORDS = frozenset({"to", "over", "vor"})
_ROLE_TOKEN = re.compile(r"[^\W_]+(?:['\u2019][^\W_]+)?|[,.;:!?()\n\u2014\u2013]")
_NO_FACTS = ("question", "hedge", "hypothetical", "quotation")
_MAX_CONFIDENCE = 0.99


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractedFacts:
    """The facts of so many turns, with warnings."""

    facts: tuple[Fact, ...]
    turns: int
    warnings: tuple[str, ...] = ()


async def ask_model(turns: Sequence[Turn], *, llm: Llm) -> AsyncIterator[ExtractedFacts]:
    """Ask a model about some turns at a time; if it fails, read the rest by patterns."""
    dropped = read = 0
    for batch in _batches(turns):
        try:
            with telemetry.stage("extract.find"):
                answer = await llm.ask(INSTRUCTIONS, _render(batch), schema=SCHEMA)
        except LlmUnavailable as error:
            reason = error.fields.get("reason", "unknown")
            warning = f"the language model gave no answer ({reason}): the rest was read by patterns"
            rest = turns[read:]
            facts = tuple(facts_of(rest))
            yield ExtractedFacts(facts=facts, turns=len(rest), warnings=(*_warn_dropped(dropped), warning))
            return
        items = cast("list[Mapping[str, Json]]", answer["facts"])
        facts = tuple(fact for item in items if (fact := _check_fact(item, batch)) is not None)
        dropped += len(items) - len(facts)
        read += len(batch)
        yield ExtractedFacts(
            facts=facts, turns=len(batch), warnings=_warn_dropped(dropped) if read == len(turns) else ()
        )


def unsupported_reason(statement: str, turn: Turn) -> str:
    """Return why a turn does not support a statement, for people; empty when it does."""
    sources = (turn.text, turn.speaker)
    if invented := added_claims(sources, statement):
        return f"it invented {invented[0]}"
    terms = set(running_terms_of(statement))
    spoken = {term for text in sources for term in running_terms_of(text)}
    if strange := sorted(terms - spoken - _THIRD_PERSON):
        return f"it brought the word {strange[0]}"
    sentences = list(split_sentences(turn.text))
    if not terms or not sentences:
        return "it says nothing"
    source = max(sentences, key=lambda sentence: len(terms.intersection(running_terms_of(sentence.text))))
    if (reason := rejection_reason(source)) in _NO_FACTS:
        return f"it comes from a {reason}"
    if bool(claims_of(source.text).negations) != bool(claims_of(statement).negations):
        return "it lost a negation"
    return _exchanged_sides(source.text, statement)


def _exchanged_sides(source: str, statement: str) -> str:
    """Return why what stands before and after a word such as "to" or "than" is not as in the source."""
    original, rewritten = _terms_after(source), _terms_after(statement)
    if not original:
        return ""
    spoken, answered = set(running_terms_of(source)), set(running_terms_of(statement))
    all_original, all_rewritten = set[str]().union(*original.values()), set[str]().union(*rewritten.values())
    pairs = [(word, original[word], rewritten[word]) for word in original if word in rewritten]
    for word, before, after in (*pairs, ("a word such as to", all_original, all_rewritten)):
        if (after - before) & spoken and (before - after) & answered:
            return f"it exchanged what stands before and after {word}"
    is_choice = bool(spoken & _CHOICES)
    lesser = {
        term
        for word, terms in original.items()
        if word in _COMPARISONS or (is_choice and word in _CHOICE_WORDS)
        for term in terms
    }
    return "it lost what a choice was made against" if (lesser - all_rewritten) & answered else ""


def _terms_after(text: str) -> dict[str, set[str]]:
    """Return the terms after each word that gives them a role."""
    terms_by_role: dict[str, set[str]] = {}
    lowered = text.lower().replace("\u2019", "'").replace("n't", " not")
    for phrase, word in _ROLE_PHRASES.items():
        lowered = re.sub(rf"\b{phrase}\b", word, lowered)
    role = previous = ""
    for word in _ROLE_TOKEN.findall(lowered):
        if word in _ROLE_WORDS:
            role = "" if word == "to" and _takes_a_verb(previous) else word
        elif word in _ROLE_ENDS or not word[0].isalnum():
            role = ""
        elif role:
            terms_by_role.setdefault(role, set()).update(running_terms_of(word))
        previous = word
    return terms_by_role


def _takes_a_verb(word: str) -> bool:
    return word in _INFINITIVES or any(term in _INFINITIVE_TERMS for term in running_terms_of(word))


_INFINITIVE_TERMS = frozenset(running_terms_of(" ".join(_INFINITIVES)))


def _batches(turns: Sequence[Turn]) -> Iterator[Sequence[Turn]]:
    start = size = 0
    for at, turn in enumerate(turns):
        size += min(len(turn.text), _MAX_TURN_LENGTH)
        if at > start and (at - start >= _MAX_TURNS or size > _MAX_CHARACTERS):
            yield turns[start:at]
            start, size = at, min(len(turn.text), _MAX_TURN_LENGTH)
    if start < len(turns):
        yield turns[start:]


def _render(turns: Sequence[Turn]) -> str:
    lines = (
        f"{number}. {turn.speaker or 'speaker'}: {' '.join(turn.text[:_MAX_TURN_LENGTH].split())}"
        for number, turn in enumerate(turns, 1)
        if not is_machine(turn.speaker)
    )
    return "\n".join(lines)


def _check_fact(item: Mapping[str, Json], turns: Sequence[Turn]) -> Fact | None:
    """Return the fact of an answer, if its type is known and its turn supports it."""
    number, kind = cast("int", item["turn"]), str(item["type"]).strip().lower()
    statement = " ".join(str(item["statement"]).split())
    if not 1 <= number <= len(turns) or kind not in set(FactType):
        return None
    turn = turns[number - 1]
    if is_machine(turn.speaker) or unsupported_reason(statement, turn):
        return None
    entity = " ".join(str(item["entity"]).split())
    spoken = {term for text in (turn.text, turn.speaker) for term in running_terms_of(text)}
    is_supported = bool(entity) and spoken.issuperset(running_terms_of(entity))
    names_speaker = bool(turn.speaker) and turn.speaker.lower() in statement.lower()
    return Fact(
        statement=statement if names_speaker else attribute_to(turn.speaker, statement),
        type=FactType(kind),
        subject=entity if is_supported else turn.speaker,
        speaker=turn.speaker,
        turn=turn.id,
        confidence=round(min(max(float(cast("float", item["confidence"])), 0.0), _MAX_CONFIDENCE), 2),
        at=turn.at,
        method="llm",
    )


def _warn_dropped(dropped: int) -> tuple[str, ...]:
    return (f"{dropped} facts of the language model were dropped: no turn says so",) if dropped else ()
