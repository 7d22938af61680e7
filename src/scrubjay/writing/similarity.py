"""The similarity gate: a write may repeat a stored memory, or belong to what its session has said so far."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import timedelta

from scrubjay.detection.neighbours import MAX_COMPARED, EmbeddedMemory, NearbyMemory, ReadCache, find_neighbours
from scrubjay.lazy import dataclass
from scrubjay.model.conflict import Strategy
from scrubjay.model.labels import mark_of_all
from scrubjay.model.memory import Flag, Memory, State, Trust
from scrubjay.model.passage import Passage
from scrubjay.model.results import Similar
from scrubjay.model.rules import Rules
from scrubjay.model.skill import is_skill
from scrubjay.ports import Profile
from scrubjay.text.claims.compare import compare
from scrubjay.text.claims.extract import claims_of, find_differences
from scrubjay.text.claims.pairs import value_differences
from scrubjay.text.claims.statements import statements_of
from scrubjay.text.passages import text_of
from scrubjay.text.tokens import running_terms_of, terms_of
from scrubjay.workers import offload
from scrubjay.writing.similarity_score import TextSimilarity, compare_texts, exchanged_word, max_similarity, overlap

__all__ = ["GateDecision", "compare_whole", "decide", "least_cosine"]

_MAX_REPORTED = 5
# A memory so far below the threshold is still reported as similar.
_REPORT_MARGIN = 0.1
# How far from `related` to `same` a text must be to belong to what its session has said.
_BELONGS = 0.1
# An index may store vectors with fewer digits; its cosines are off by at most a tenth of this.
_INDEX_ERROR = 0.02
# The worth in cosine of one common word in a session, and how many of them count.
_SHARED_WORD = 0.03
_MAX_SHARED = 3
# Under one title vectors are near whatever the text says: then the words must match too.
_MIN_TITLED_OVERLAP = 0.6
# Two sentences with such a share of common words are about one thing.
_SAME_TOPIC = 0.6
_MAX_STATEMENTS = 40
_MAX_STATEMENT = 4_000
# Of a document the beginning is compared.
_MAX_CONTENT = 20_000
_MAX_DIFFERENCE = 300
_HALVINGS = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class GateDecision:
    """The memory to merge into, if any, and why; and the similar memories to report."""

    target: Memory | None = None
    similarity: float | None = None
    similar: tuple[Similar, ...] = ()
    why: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Gate:
    """The settings of the gate for one write."""

    rules: Rules
    profile: Profile | None
    intent: str

    @property
    def same(self) -> float:
        """The similarity from which two texts say the same."""
        return self.rules.same or (self.profile.same if self.profile else 1.0)

    @property
    def related(self) -> float:
        """The relatedness from which texts of one session belong together: clearly above that of any two texts."""
        if self.profile is None:
            return 1.0
        return self.profile.related + _BELONGS * (self.profile.same - self.profile.related)

    @property
    def reported(self) -> float:
        """The similarity from which a memory is reported."""
        return self.same - _REPORT_MARGIN


@dataclass(frozen=True, slots=True, kw_only=True)
class _Comparison:
    """A stored memory compared with the incoming one."""

    memory: Memory
    is_of_session: bool
    texts: TextSimilarity
    relatedness: float
    # The incoming text is too thin to be a memory of its own, and of the same kind.
    is_fragment: bool

    @property
    def similarity(self) -> float:
        return self.texts.similarity


async def decide(
    written: EmbeddedMemory, *, rules: Rules, intent: str, session: str, cache: ReadCache
) -> GateDecision:  # fmt: skip
    """Decide whether a stored memory says the same already, or is what the session was about.

    Without a model only a memory of the session is found.
    """
    if rules.gate == "off" and intent != "continue":
        return GateDecision(why="the gate is off")
    incoming, gate = written.memory, _Gate(rules=rules, profile=written.profile, intent=intent)
    window, least = timedelta(days=rules.window_days if rules.gate != "off" else 0), gate.reported
    neighbours, problem = await find_neighbours(
        written,
        cache=cache,
        session=session or (incoming.source.session if intent == "continue" else ""),
        since=incoming.date - window if window else None,
        is_relevant=lambda cosine: max_similarity(cosine + _INDEX_ERROR) >= least,
    )
    size = incoming.characters + sum([neighbour.memory.characters for neighbour in neighbours])
    decision = await offload(size, _decide, incoming, written.passages, neighbours, gate=gate)
    return replace(decision, why=problem) if problem and decision.target is None else decision


def compare_whole(
    incoming: Memory, passages: Sequence[Passage], nearby: NearbyMemory, *, rules: Rules, profile: Profile
) -> float | None:
    """Return how similar a stored memory is that says all that another does, by the rules of the gate; else None."""
    gate = _Gate(rules=rules, profile=profile, intent="auto")
    comparison = _compare(incoming, passages, nearby, gate=gate)
    is_same = comparison.similarity >= gate.same and not comparison.texts.differs
    return comparison.similarity if is_same and _is_eligible(incoming, comparison) else None


def least_cosine(*, rules: Rules, profile: Profile) -> float:
    """Return the cosine below which two texts cannot say the same."""
    same = _Gate(rules=rules, profile=profile, intent="auto").same
    low, high = 0.0, 1.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if max_similarity(middle) >= same else (middle, high)
    return low


def _decide(
    incoming: Memory, passages: Sequence[Passage], neighbours: Sequence[NearbyMemory], *, gate: _Gate
) -> GateDecision:
    comparisons = [
        _compare(incoming, passages, neighbour, gate=gate)
        for neighbour in neighbours
        if neighbour.memory.state is State.LIVE
    ]
    chosen, why = _choose(incoming, comparisons, gate=gate)
    if chosen is not None and gate.intent != "continue" and (gate.rules.gate == "report" or gate.intent == "new"):
        chosen, why = None, f"{why}, but {'the intent is new' if gate.intent == 'new' else 'it is only reported'}"
    similar = tuple(_report(incoming, comparisons, chosen, gate=gate))
    if chosen is None:
        return GateDecision(similar=similar, why=why)
    return GateDecision(target=chosen.memory, similarity=chosen.similarity, similar=similar, why=why)


def _choose(
    incoming: Memory, comparisons: Sequence[_Comparison], *, gate: _Gate
) -> tuple[_Comparison | None, str]:  # fmt: skip
    of_session = [
        comparison for comparison in comparisons if comparison.is_of_session and _is_eligible(incoming, comparison)
    ]
    if gate.intent == "continue":
        if not of_session:
            return None, "the session has nothing to continue"
        latest = max(of_session, key=lambda comparison: comparison.memory.updated_at)
        return latest, "it continues what the session has said"
    least = gate.same
    alike = [
        comparison
        for comparison in comparisons
        if comparison.similarity >= least and _is_eligible(incoming, comparison)
    ]
    same = [comparison for comparison in alike if not comparison.texts.differs]
    if same:
        best = max(same, key=lambda comparison: comparison.similarity)
        return best, f"it says the same, similarity {best.similarity:.2f}"
    related = [
        comparison for comparison in of_session if comparison.relatedness >= gate.related or comparison.is_fragment
    ]
    if related:
        best = max(related, key=lambda comparison: comparison.relatedness)
        return best, "it belongs to what its session has said"
    if alike:
        return None, f"the similar memory differs: {'; '.join(alike[0].texts.differs)}"
    return None, "nothing says the same"


def _report(
    incoming: Memory, comparisons: Iterable[_Comparison], chosen: _Comparison | None, *, gate: _Gate
) -> Iterable[Similar]:
    """Return the similar memories, the most similar first; of the chosen one only its differences."""
    count, least = 0, gate.reported
    for comparison in sorted(comparisons, key=lambda comparison: comparison.similarity, reverse=True):
        is_chosen = comparison is chosen
        differs = _contradictions(incoming, comparison.memory) if is_chosen else comparison.texts.differs
        is_reported = bool(differs) if is_chosen else comparison.similarity >= least
        if count >= _MAX_REPORTED or not is_reported:
            continue
        count += 1
        text = "; ".join(differs)
        yield Similar(
            id=comparison.memory.id,
            name=comparison.memory.name,
            similarity=round(comparison.similarity, 4),
            differs=text if len(text) <= _MAX_DIFFERENCE else f"{text[:_MAX_DIFFERENCE]}\u2026",
            mark=mark_of_all(comparison.memory),
        )


def _compare(incoming: Memory, passages: Sequence[Passage], nearby: NearbyMemory, *, gate: _Gate) -> _Comparison:
    return _Comparison(
        memory=nearby.memory,
        is_of_session=nearby.is_of_session,
        texts=_compare_passages(incoming, passages, nearby, least=gate.reported),
        relatedness=_relatedness(incoming, nearby),
        is_fragment=Flag.THIN in incoming.flags and incoming.kind == nearby.memory.kind,
    )


def _is_eligible(incoming: Memory, comparison: _Comparison) -> bool:
    """Check whether one may be merged into the other at all, whatever they say."""
    memory = comparison.memory
    return (
        not (incoming.group or memory.group or incoming.pinned or memory.pinned)
        # Its source is run: two programs that look alike are not one.
        and not (is_skill(incoming) or is_skill(memory))
        and Flag.SUSPICIOUS not in (*incoming.flags, *memory.flags)
        and incoming.state is State.LIVE
        and memory.holds(incoming.date)
        # A memory has one relevance: a draft with another one is stored by itself.
        and incoming.relevance in (1.0, memory.relevance)
        # A statement from a document must not appear as the user's.
        and not (incoming.source.trust is Trust.DOCUMENT and memory.source.trust is Trust.USER)
        # Within a session the subject of a note without an entity is clear.
        and (
            (comparison.is_of_session and "" in (incoming.entity, memory.entity)) or _equals(incoming, memory, "entity")
        )
        and all(
            "" in (getattr(incoming, name), getattr(memory, name)) or _equals(incoming, memory, name)
            for name in ("project", "scope")
        )
        and (incoming.expires_at, incoming.remind_at) == (memory.expires_at, memory.remind_at)
    )


def _equals(incoming: Memory, memory: Memory, name: str) -> bool:
    return getattr(incoming, name).casefold() == getattr(memory, name).casefold()


def _compare_passages(
    incoming: Memory, passages: Sequence[Passage], nearby: NearbyMemory, *, least: float
) -> TextSimilarity:
    """Compare passage by passage; the least similar passage decides, for the memory must say all of the text."""
    if not nearby.cosines or len(passages) > MAX_COMPARED:
        return TextSimilarity(similarity=0.0)
    most = min(max_similarity(max(row)) for row in nearby.cosines)
    if most < least:
        # Too far to be reported: the words need not be compared.
        return TextSimilarity(similarity=most)
    # Of a memory of the session the answer shows the similarity even where it is low.
    least = -1.0 if nearby.is_of_session else least
    scores = [
        _best(text_of(incoming, passage.observation, passage.start, passage.end), nearby.texts, row, least=least)
        for passage, row in zip(passages, nearby.cosines, strict=False)
    ]
    differs = tuple(dict.fromkeys(difference for score in scores for difference in score.differs))
    if incoming.title and incoming.title == nearby.memory.title and not differs:
        own = " ".join((incoming.content, *(observation.text for observation in incoming.observations)))
        terms = (
            tuple(dict.fromkeys(running_terms_of(text)))[: MAX_COMPARED * 20] for text in (" ".join(nearby.texts), own)
        )
        if overlap(*terms) < _MIN_TITLED_OVERLAP:
            return TextSimilarity(similarity=0.0)
    return TextSimilarity(similarity=min(score.similarity for score in scores), differs=differs)


def _best(text: str, others: Sequence[str], cosines: Sequence[float], *, least: float) -> TextSimilarity:
    at = max(range(len(others)), key=cosines.__getitem__)
    score = compare_texts(text, others[at], cosine=cosines[at], least=least)
    if score.differs or score.similarity < least:
        return score
    # A contradiction must not become one text.
    finding = compare(text, others[at], cosine=cosines[at])
    contradicts = finding is not None and finding.suggested is Strategy.SUPERSEDE
    return replace(score, differs=finding.differs) if finding and contradicts else score


def _relatedness(incoming: Memory, nearby: NearbyMemory) -> float:
    if not nearby.is_of_session or not nearby.cosines:
        return 0.0
    shared = _topic_terms(incoming) & _topic_terms(nearby.memory)
    return max(nearby.cosines[0]) + _SHARED_WORD * min(len(shared), _MAX_SHARED)


def _topic_terms(memory: Memory) -> set[str]:
    texts = (
        memory.title,
        memory.content[:4000],
        *memory.tags,
        *(observation.text[:4000] for observation in memory.observations[:20]),
    )
    return set(terms_of("\n".join(texts)))


def _contradictions(incoming: Memory, memory: Memory) -> tuple[str, ...]:
    """Return the differences of statements about the same thing."""
    stored = [(set(running_terms_of(statement)), statement) for statement in _statements(memory)]
    differences: dict[str, None] = {}
    for statement in _statements(incoming):
        terms = set(running_terms_of(statement))
        for other_terms, other in stored:
            if len(terms & other_terms) >= _SAME_TOPIC * max(1, len(terms), len(other_terms)):
                differs = find_differences(claims_of(statement), claims_of(other)) or value_differences(
                    statement, other
                )
                differences.update(dict.fromkeys(differs or exchanged_word(statement, other, is_strict=True)))
    return tuple(differences)


def _statements(memory: Memory) -> tuple[str, ...]:
    texts = (
        *statements_of(memory.content[:_MAX_CONTENT]),
        *(observation.text for observation in memory.observations[:_MAX_STATEMENTS]),
    )
    return tuple(text[:_MAX_STATEMENT] for text in texts[:_MAX_STATEMENTS])
