"""The similarity gate: what is written may be said already, or belong to what its session has said so far."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta

from scrubjay.detection.neighbours import MOST_COMPARED, NearbyPassage, NeighbourLookup, NeighbourSet, Searcher, look_up
from scrubjay.model.conflict import Strategy
from scrubjay.model.memory import Flag, Memory, State, Trust
from scrubjay.model.passage import Passage, Vector
from scrubjay.model.results import Similar
from scrubjay.model.rules import Rules
from scrubjay.ports import Profile
from scrubjay.text.claims.compare import compare
from scrubjay.text.claims.extract import claims_of, find_differences
from scrubjay.text.claims.statements import statements_of
from scrubjay.text.passages import text_of
from scrubjay.text.tokens import running_terms_of, terms_of
from scrubjay.writing.similarity_score import Sameness, at_most, exchanged, overlap, sameness

__all__ = ["GateDecision", "look_around"]

_MOST_REPORTED = 5
# So far below the threshold a memory is still worth telling of.
_WORTH_TELLING = 0.1
# An index may keep its vectors with fewer digits; its cosines are off by a tenth of this at most.
_INEXACT = 0.02
# What one word that both have is worth in a session, in cosine, and how many of them count.
_SHARED_WORD = 0.03
_MOST_SHARED = 3
# Under one title the vectors are alike whatever is said: then the words must be, too.
_ENOUGH_WORDS = 0.6
# Two sentences with so many words in common that they are about one thing.
_ABOUT_ONE_THING = 0.6
_MOST_STATEMENTS = 40
_LONGEST_STATEMENT = 4_000
_LONGEST_DIFFERENCE = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class GateDecision:
    """Into which memory the incoming one is to be merged, if into any, and why; and what is like it besides."""

    into: Memory | None = None
    similarity: float | None = None
    similar: tuple[Similar, ...] = ()
    why: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Gate:
    """How the gate is set for one write."""

    rules: Rules
    profile: Profile | None
    intent: str = "auto"
    session_hint: str = ""

    @property
    def same(self) -> float:
        """From which similarity on two texts say the same."""
        return self.rules.same or (self.profile.same if self.profile else 1.0)

    @property
    def related(self) -> float:
        """From which relatedness on what one session says belongs together."""
        return self.profile.related if self.profile else 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Judged:
    memory: Memory
    of_session: bool
    eligible: bool
    sameness: Sameness
    relatedness: float
    # Too thin to stand by itself, and of no other kind than what its session has said.
    leans: bool = False


async def look_around(
    incoming: Memory,
    passages: Sequence[Passage],
    vectors: Mapping[bytes, Vector],
    *,
    rules: Rules,
    intent: str,
    session_hint: str,
    space: str,
    store: NeighbourLookup,
    index: Searcher,
    profile: Profile | None,
) -> GateDecision:
    """Whether something stored says the same already, or is what the session was about.

    `vectors` are those just made, by the hashes of their passages; the others are read from the store. Without a
    profile there is no model, and only what continues a session is found.
    """
    gate = _Gate(rules=rules, profile=profile, intent=intent, session_hint=session_hint)
    if rules.gate == "off" and intent != "continue":
        return GateDecision(why="the gate is off")
    session = gate.session_hint or (incoming.source.session if gate.intent == "continue" else "")
    window = timedelta(days=rules.window_days if rules.gate != "off" else 0)
    around = NeighbourSet(space=space, store=store, index=index, model=profile.model if profile else "")
    since = incoming.date - window if window else None
    least = gate.same - _WORTH_TELLING
    nearby, problem = await look_up(
        passages, vectors, around=around, session=session, since=since,
        worth=lambda cosine: at_most(cosine + _INEXACT) >= least,
    )  # fmt: skip
    judged = [_judge(incoming, passages, one, least=least) for one in nearby if one.memory.state is State.LIVE]
    decision = _decide(incoming, judged, gate=gate)
    return replace(decision, why=problem) if problem and decision.into is None else decision


def _decide(incoming: Memory, judged: Sequence[_Judged], *, gate: _Gate) -> GateDecision:
    chosen, why = _chosen(judged, gate=gate)
    if chosen is not None and gate.intent != "continue" and (gate.rules.gate == "report" or gate.intent == "new"):
        chosen, why = None, f"{why}, but {'new was asked for' if gate.intent == 'new' else 'it is only reported'}"
    similar = tuple(_reported(incoming, judged, chosen, gate=gate))
    if chosen is None:
        return GateDecision(similar=similar, why=why)
    return GateDecision(into=chosen.memory, similarity=chosen.sameness.similarity, similar=similar, why=why)


def _chosen(judged: Sequence[_Judged], *, gate: _Gate) -> tuple[_Judged | None, str]:
    fitting = [one for one in judged if one.eligible]
    of_session = [one for one in fitting if one.of_session]
    if gate.intent == "continue":
        if of_session:
            return max(of_session, key=lambda one: one.memory.updated_at), "it continues what the session has said"
        return None, "the session has nothing to continue"
    alike = [one for one in fitting if one.sameness.similarity >= gate.same]
    same = [one for one in alike if not one.sameness.differs]
    if same:
        best = max(same, key=lambda one: one.sameness.similarity)
        return best, f"it says the same, similarity {best.sameness.similarity:.2f}"
    related = [one for one in of_session if one.relatedness >= gate.related or one.leans]
    if related:
        best = max(related, key=lambda one: one.relatedness)
        return best, "it belongs to what its session has said"
    if alike:
        return None, f"what is alike differs: {'; '.join(alike[0].sameness.differs)}"
    return None, "nothing says the same"


def _reported(incoming: Memory, judged: Iterable[_Judged], chosen: _Judged | None, *, gate: _Gate) -> Iterable[Similar]:
    ordered = sorted(judged, key=lambda one: one.sameness.similarity, reverse=True)
    told = 0
    for one in ordered:
        clashes = _contradictions(incoming, one.memory) if one is chosen else one.sameness.differs
        near = one.sameness.similarity >= gate.same - _WORTH_TELLING
        if told == _MOST_REPORTED or not (near if one is not chosen else clashes):
            continue
        told += 1
        yield Similar(
            id=one.memory.id,
            name=one.memory.name,
            similarity=round(one.sameness.similarity, 4),
            differs=_cut("; ".join(clashes)),
        )


def _judge(incoming: Memory, passages: Sequence[Passage], nearby: NearbyPassage, *, least: float) -> _Judged:
    memory = nearby.memory
    return _Judged(
        memory=memory,
        of_session=nearby.of_session,
        eligible=_eligible(incoming, memory, of_session=nearby.of_session),
        sameness=_sameness(incoming, passages, nearby, least=least),
        relatedness=_relatedness(incoming, nearby),
        leans=Flag.THIN in incoming.flags and incoming.kind == nearby.memory.kind,
    )


def _eligible(incoming: Memory, memory: Memory, *, of_session: bool) -> bool:
    """Whether one may be merged into the other at all, whatever they say."""
    both = ("project", "scope")
    return (
        not (incoming.group or memory.group or incoming.pinned or memory.pinned)
        and Flag.SUSPICIOUS not in (*incoming.flags, *memory.flags)
        and incoming.state is State.LIVE
        and memory.holds(incoming.date)
        # A memory has one relevance: a draft that asks for its own is stored apart.
        and incoming.relevance in (1.0, memory.relevance)
        # What a person said must not seem to say what stands in a document.
        and not (incoming.source.trust is Trust.DOCUMENT and memory.source.trust is Trust.USER)
        # In one session it is plain whom a note is about that names nobody.
        and ((of_session and "" in (incoming.entity, memory.entity)) or _alike(incoming, memory, "entity"))
        and all(
            "" in (getattr(incoming, name), getattr(memory, name)) or _alike(incoming, memory, name) for name in both
        )
        and (incoming.expires_at, incoming.remind_at) == (memory.expires_at, memory.remind_at)
    )


def _alike(incoming: Memory, memory: Memory, name: str) -> bool:
    return getattr(incoming, name).casefold() == getattr(memory, name).casefold()


def _sameness(incoming: Memory, passages: Sequence[Passage], nearby: NearbyPassage, *, least: float) -> Sameness:
    """All of the incoming text must be said: the passage that is said least decides."""
    if not nearby.cosines or len(passages) > MOST_COMPARED:
        return Sameness(similarity=0.0)
    nearest = min(at_most(max(row)) for row in nearby.cosines)
    if nearest < least:
        # Too far to be told of: their words need not be read.
        return Sameness(similarity=nearest)
    said = [
        _best(text_of(incoming, one.observation, one.start, one.end), nearby.texts, row)
        for one, row in zip(passages, nearby.cosines, strict=False)
    ]
    weakest = min(said, key=lambda one: one.similarity)
    differs = tuple(dict.fromkeys(difference for one in said for difference in one.differs))
    if incoming.title and incoming.title == nearby.memory.title and not differs:
        texts = (
            " ".join(nearby.texts),
            " ".join((incoming.content, *(observation.text for observation in incoming.observations))),
        )
        if (
            overlap(*(tuple(dict.fromkeys(running_terms_of(text)))[: MOST_COMPARED * 20] for text in texts))
            < _ENOUGH_WORDS
        ):
            return Sameness(similarity=0.0)
    return Sameness(similarity=weakest.similarity, differs=differs)


def _best(text: str, others: Sequence[str], cosines: Sequence[float]) -> Sameness:
    at = max(range(len(others)), key=cosines.__getitem__)
    found = sameness(text, others[at], cosine=cosines[at])
    if found.differs:
        return found
    # What cannot both hold must not become one text.
    clash = compare(text, others[at], cosine=cosines[at])
    contradicts = clash is not None and clash.suggested is Strategy.SUPERSEDE
    return replace(found, differs=clash.differs) if clash and contradicts else found


def _relatedness(incoming: Memory, nearby: NearbyPassage) -> float:
    if not nearby.of_session or not nearby.cosines:
        return 0.0
    shared = _header_terms(incoming) & _header_terms(nearby.memory)
    return max(nearby.cosines[0]) + _SHARED_WORD * min(len(shared), _MOST_SHARED)


def _header_terms(memory: Memory) -> set[str]:
    texts = (
        memory.title,
        memory.content[:4000],
        *memory.tags,
        *(observation.text for observation in memory.observations[:20]),
    )
    return set(terms_of("\n".join(texts)))


def _contradictions(incoming: Memory, memory: Memory) -> tuple[str, ...]:
    """What one says otherwise than the other of the same thing."""
    known = [(set(running_terms_of(statement)), statement) for statement in _statements(memory)]
    found: dict[str, None] = {}
    for statement in _statements(incoming):
        terms = set(running_terms_of(statement))
        for others, other in known:
            if len(terms & others) >= _ABOUT_ONE_THING * max(1, len(terms), len(others)):
                clashes = find_differences(claims_of(statement), claims_of(other))
                found.update(dict.fromkeys(clashes or exchanged(statement, other, strictly=True)))
    return tuple(found)


def _statements(memory: Memory) -> tuple[str, ...]:
    found = (*statements_of(memory.content), *(observation.text for observation in memory.observations))
    return tuple(one[:_LONGEST_STATEMENT] for one in found[:_MOST_STATEMENTS])


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST_DIFFERENCE else f"{text[:_LONGEST_DIFFERENCE]}\u2026"
