"""Conflict detection: compare the new statements of a memory with stored ones."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from datetime import datetime
from itertools import islice

from scrubjay.detection.advice import RankedStatement, advise, is_one_statement
from scrubjay.detection.boilerplate import Boilerplate, StatementPlace, find_boilerplate, is_formal
from scrubjay.detection.candidates import (
    READ_FROM,
    Candidate,
    CandidateSearch,
    NewStatement,
    agree,
    most_words_in_common,
    nearest_statements,
    search_candidates,
    select_candidates,
    share_place,
)
from scrubjay.detection.describe import (
    MemoryStatement,
    StatementTable,
    compare_statements,
    date_of,
    have_different_subjects,
    is_named_after,
    source_of,
)
from scrubjay.detection.neighbours import EmbeddedMemory, NeighbourSource
from scrubjay.lazy import dataclass
from scrubjay.model.change import Origin
from scrubjay.model.conflict import ConflictRecord, ConflictType, Strategy
from scrubjay.model.memory import Memory, Method, State
from scrubjay.model.passage import Passage
from scrubjay.ports import Profile
from scrubjay.text.claims.compare import Finding, compare_lists, overlap_ratio
from scrubjay.text.claims.pairs import (
    MAX_TEXT,
    Closeness,
    DatedStatement,
    PairJudgement,
    PairLabel,
    PairShares,
    are_statements,
    judge_pair,
    may_be_change_or_same,
    must_differ,
)
from scrubjay.text.claims.parse import parse_statement
from scrubjay.text.claims.statements import statements_of
from scrubjay.workers import offload

__all__ = ["Detection", "count_exceeds", "detect"]

# A write with more new statements is a document; a job compares the rest.
_MAX_NEW = 8
_MAX_CONFLICTS = 10
_MAX_CONTENT = 20_000
_MAX_STATEMENT = 2_000
# Of a memory's own observations the latest are compared, and of those the nearest in words.
_MAX_OWN = 200
_MAX_OWN_COMPARED = 4
# Longer lists of observations are not compared as a whole.
_MAX_LIST = 10_000
_MIN_OVERLAP = 2
# From this probability on a change takes effect at once, if its source may say so.
_AT_ONCE = 0.7
# The gate never merges statements that differ; detection does not look at that, so it asks for more similarity.
_SAME_MARGIN = 0.08
# A model that reads two statements together is asked about so many at once, which costs as much as embedding five
# texts. What a statement changes or repeats is hardly ever farther away.
_MAX_READ = 3
Shares = dict[tuple[int, str], PairShares]
"""What a model says of a new statement, by its number, and a stored memory, by its id."""
_SEVERITY = (ConflictType.CONTRADICTION, ConflictType.DUPLICATE, ConflictType.UPDATE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Detection:
    """The conflicts of a memory, the most severe first, and the statements that they are about.

    `changes` are the ids of those where the memory itself says that something has changed. `boilerplate` are
    statements, of this and of other memories, that so many notes have that two of them make no conflict. `readings` are
    what a model says that has read the memory together with others, by their ids.
    """

    conflicts: tuple[ConflictRecord, ...] = ()
    boilerplate: frozenset[StatementPlace] = frozenset()
    changes: frozenset[str] = frozenset()
    statements: StatementTable = field(default_factory=dict[tuple[str, str], MemoryStatement])
    readings: Mapping[str, PairShares] = field(default_factory=dict[str, PairShares])


async def detect(
    written: EmbeddedMemory, *, before: Memory | None = None, source: NeighbourSource, origin: Origin
) -> Detection:
    """Return the conflicts of a memory that is being written; with `before`, of its new statements only."""
    memory, now = written.memory, origin.at
    if memory.state is not State.LIVE or (memory.valid_until is not None and memory.valid_until <= now):
        return Detection()
    size = memory.characters + (before.characters if before else 0)
    new = await offload(size, _first_new_statements, memory, written.passages, before=before, now=now)
    if not new:
        return Detection()
    search = await search_candidates(new, written=written, source=source, now=now)
    shares = await _ask(new, search, memory=memory, source=source, now=now)
    size += sum([other.characters for other in search.memories.values()])
    detected = await offload(size, _compare, new, search, shares, written=written, before=before, origin=origin)
    if not shares:
        return detected
    return replace(detected, readings={memory_id: reading for (_, memory_id), reading in reversed(shares.items())})


async def _ask(
    new: Sequence[NewStatement], search: CandidateSearch, *, memory: Memory, source: NeighbourSource, now: datetime
) -> Shares:
    """Ask the model about the nearest statements, all at once; by the number of a new one and the other's memory."""
    near: list[tuple[float, tuple[int, str], DatedStatement, DatedStatement]] = []
    reads_pairs = source.has_pair_model and memory.source.method is not Method.IMPORT
    for number, statement in enumerate(new if reads_pairs else ()):
        if statement.statement.observation is None and number > 0:
            continue  # A short text is judged as a whole, together with its first statement.
        text = _whole_text(memory, statement.statement)
        for other, against, cosine in nearest_statements(search, number, now=now):
            earlier = _whole_text(other, against)
            is_near = cosine is not None and cosine >= READ_FROM
            if cosine is not None and is_near and are_statements(text, earlier) and share_place(memory, other):
                pair = _dated(other, earlier), _dated(memory, text)
                near.append((-cosine, (number, other.id), *pair))
    nearest = sorted(near, key=lambda each: each[:2])[:_MAX_READ]
    judged = await source.judge([(older, newer) for _, _, older, newer in nearest])
    return {key: shares for (_, key, _, _), shares in zip(nearest, judged, strict=False)}


def _whole_text(memory: Memory, statement: MemoryStatement) -> str:
    is_part = statement.observation is not None or len(memory.content) > MAX_TEXT
    return statement.text if is_part else memory.content


def _dated(memory: Memory, text: str) -> DatedStatement:
    return DatedStatement(text=text, date=memory.date, subject=memory.entity, project=memory.project)


def count_exceeds(
    most: int = _MAX_NEW, *, memory: Memory, passages: Sequence[Passage], before: Memory | None, now: datetime
) -> bool:
    """Check whether a memory has more new statements than so many; by default, than `detect` compares."""
    if len(statements_of(memory.content[:_MAX_CONTENT])) + len(memory.observations) <= most:
        return False
    return next(islice(_new_statements(memory, passages, before=before, now=now), most, None), None) is not None


def _first_new_statements(
    memory: Memory, passages: Sequence[Passage], *, before: Memory | None, now: datetime
) -> list[NewStatement]:
    return list(islice(_new_statements(memory, passages, before=before, now=now), _MAX_NEW))


def _compare(
    new: Sequence[NewStatement], search: CandidateSearch, shares: Shares, *, written: EmbeddedMemory,
    before: Memory | None, origin: Origin,
) -> Detection:  # fmt: skip
    """Compare the new statements with the candidates."""
    of_content = [statement.statement.text for statement in new if statement.statement.observation is None]
    boilerplate = find_boilerplate(written.memory, of_content, search.memories)
    candidates = select_candidates(search, new, memory=written.memory, now=origin.at)
    same = written.profile.same + _SAME_MARGIN if written.profile else 1.0
    comparison = _Comparison(
        memory=written.memory, same=same, origin=origin, profile=written.profile, boilerplate=boilerplate,
        shares=shares,
    )  # fmt: skip
    conflicts = list(comparison.with_lists(search.memories.values(), same_entity=frozenset(search.same_entity)))
    twins = {conflict.other for conflict in conflicts}
    for number, statement in enumerate(new):
        conflicts += comparison.with_candidates(statement.statement, candidates.get(number, []), twins=twins)
    nearest = list(comparison.with_nearest(new, search, earlier=conflicts))
    conflicts += [conflict for conflict, _ in nearest]
    changes = frozenset(conflict.id for conflict, is_change in nearest if is_change)
    # The index has the memory as it was before.
    near = (
        [before.observations[number].text for number in search.own if number < len(before.observations)]
        if before
        else []
    )
    conflicts += comparison.within_memory([statement.statement for statement in new], near=near)
    distinct = {conflict.id: conflict for conflict in sorted(conflicts, key=_severity, reverse=True)}
    one_each = _one_of_group(sorted(distinct.values(), key=_severity), search.memories)
    severest = tuple(islice(one_each, _MAX_CONFLICTS))
    others = {conflict.other for conflict in severest}
    statements = {(written.memory.id, statement.statement.key): statement.statement for statement in new if severest}
    statements |= {
        (candidate.memory.id, candidate.statement.key): candidate.statement
        for compared in candidates.values()
        for candidate in compared
        if candidate.memory.id in others
    }
    return Detection(
        conflicts=severest, statements=statements, changes=changes, boilerplate=boilerplate.places
    )  # fmt: skip


def _new_statements(
    memory: Memory, passages: Sequence[Passage], *, before: Memory | None, now: datetime
) -> Iterator[NewStatement]:
    """Return the new statements, the content's first; of many observations the last are the newest."""
    existing = set[str]()
    if before is not None:
        existing.update(observation.text for observation in before.current_observations(now))
        existing.update(statements_of(before.content[:_MAX_CONTENT]))
    by_observation = {passage.observation: passage for passage in passages if passage.start == 0}
    of_content = [passage for passage in passages if passage.observation is None and passage.start < _MAX_CONTENT]
    content = statements_of(memory.content[:_MAX_CONTENT])
    for text in content:
        if text not in existing and len(text) <= _MAX_STATEMENT and not is_formal(memory, text):
            passage = next(
                (passage for passage in of_content if text[:200] in memory.content[passage.start : passage.end]), None
            )
            yield NewStatement(statement=MemoryStatement(text=text), passage=passage, is_alone=len(content) == 1)
    order = range(len(memory.observations))
    for number in order if before is None else reversed(order):
        observation = memory.observations[number]
        if observation.holds(now) and observation.text not in existing and len(observation.text) <= _MAX_STATEMENT:
            statement = MemoryStatement(text=observation.text, observation=number)
            yield NewStatement(statement=statement, passage=by_observation.get(number), is_alone=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Comparison:
    """Compares the statements of one memory with those of others; `same` is the similarity of equal statements."""

    memory: Memory
    same: float
    origin: Origin
    profile: Profile | None = None
    boilerplate: Boilerplate = field(default_factory=Boilerplate)
    shares: Shares = field(default_factory=dict[tuple[int, str], PairShares])

    def with_lists(self, others: Iterable[Memory], *, same_entity: frozenset[str]) -> Iterator[ConflictRecord]:
        """Return a conflict for each memory whose observations are much the same."""
        mine = [observation.text for observation in self.memory.current_observations(self.origin.at)]
        for other in others if mine else ():
            theirs = [observation.text for observation in other.current_observations(self.origin.at)]
            longest = max(len(mine), len(theirs))
            if not theirs or longest > _MAX_LIST or _are_unrelated(self.memory, other):
                continue
            finding = compare_lists(mine, theirs)
            is_enough = other.id in same_entity or overlap_ratio(mine, theirs) * longest >= _MIN_OVERLAP
            if finding and is_enough:
                yield self._conflict(finding, other)

    def with_candidates(
        self, statement: MemoryStatement, candidates: Sequence[Candidate], *, twins: set[str]
    ) -> Iterator[ConflictRecord]:
        """Return the conflicts of one statement, the most severe of each other memory."""
        worst: dict[str, tuple[Finding, Candidate]] = {}
        if self._is_boilerplate(self.memory, statement):
            return
        for candidate in candidates:
            if self._is_boilerplate(candidate.memory, candidate.statement):
                continue
            text, against = map(self.boilerplate.without_heading, (statement.text, candidate.statement.text))
            finding = compare_statements(
                self.memory, text, candidate.memory, against, cosine=candidate.cosine, same=self.same
            )
            if finding is None or not self._is_relevant(finding, statement, candidate, twins=twins):
                continue
            if finding.type is ConflictType.DUPLICATE and must_differ(against, text):
                continue
            previous = worst.get(candidate.memory.id)
            if previous is None or _severity(finding) < _severity(previous[0]):
                worst[candidate.memory.id] = (finding, candidate)
        for finding, candidate in worst.values():
            yield self._conflict(finding, candidate.memory, statement=statement, against=candidate.statement)

    def with_nearest(
        self, new: Sequence[NewStatement], search: CandidateSearch, *, earlier: Sequence[ConflictRecord]
    ) -> Iterator[tuple[ConflictRecord, bool]]:
        """Return what the new statements change or say again in other words, one conflict for each other memory.

        Each comes with whether the new statement says clearly that it changes the other. `earlier` are the conflicts
        that the rules have found already.
        """
        if self.memory.source.method is Method.IMPORT:
            return  # What is imported was said elsewhere, and before: it says nothing about what is stored here.
        by_rules = {conflict.other: conflict for conflict in earlier}
        filed = set[str]()
        for number, statement in enumerate(new):
            if statement.statement.observation is None and number > 0:
                continue  # A short text is judged as a whole, together with its first statement.
            text = self._whole_or_part(self.memory, statement.statement)
            if not text:
                continue
            is_nearest, first = True, ""
            for other, against, cosine in nearest_statements(search, number, now=self.origin.at):
                # With a model, what only the words have found is not the nearest.
                if not share_place(self.memory, other) or (cosine is None and self.profile is not None):
                    continue
                earlier_text = self._whole_or_part(other, against)
                if not earlier_text:
                    continue
                is_nearest = is_nearest and first in ("", other.group or other.id)
                first = first or other.group or other.id
                conflict = by_rules.get(other.id)
                if other.id in filed or (conflict is not None and conflict.type is not ConflictType.CONTRADICTION):
                    continue
                judgement = self._judge(
                    text, other, earlier_text, cosine=cosine, is_nearest=is_nearest,
                    shares=self.shares.get((number, other.id)),
                )  # fmt: skip
                if (
                    judgement is None
                    or (finding := _finding(judgement)) is None
                    or not self._may_file(finding, statement.statement, other, against)
                ):
                    continue
                is_change = judgement.label is PairLabel.CHANGES and judgement.probability >= _AT_ONCE
                filed.add(other.id)
                ours = _most_alike(self._parts(self.memory, statement.statement), against.text)
                theirs = _most_alike(self._parts(other, against), text)
                yield conflict or self._conflict(finding, other, statement=ours, against=theirs), is_change

    def _judge(
        self, text: str, other: Memory, earlier: str, *, cosine: float | None, is_nearest: bool,
        shares: PairShares | None,
    ) -> PairJudgement | None:  # fmt: skip
        """Return what a new statement is to another one; None if it cannot be filed."""
        profile = self.profile
        closeness = Closeness(
            cosine=cosine, same=profile.same if profile else 1.0,
            related=profile.related if profile else 0.0, is_nearest=is_nearest,
        )  # fmt: skip
        if shares is None and not may_be_change_or_same(earlier, text, closeness=closeness):
            return None
        return judge_pair(_dated(other, earlier), _dated(self.memory, text), closeness=closeness, shares=shares)

    def _is_boilerplate(self, memory: Memory, statement: MemoryStatement) -> bool:
        return statement.observation is None and self.boilerplate.includes(memory, statement.text)

    def _whole_or_part(self, memory: Memory, statement: MemoryStatement) -> str:
        """Return a short content as a whole, since its sentences explain each other; else the statement.

        What a template has added says nothing, so that two notes are not alike by that.
        """
        is_part = statement.observation is not None or len(memory.content) > MAX_TEXT
        return statement.text if is_part else self.boilerplate.own_text(memory)

    def _parts(self, memory: Memory, statement: MemoryStatement) -> list[MemoryStatement]:
        if statement.observation is not None or len(memory.content) > MAX_TEXT:
            return [statement]
        own = [MemoryStatement(text=text) for text in statements_of(memory.content)]
        return [part for part in own if not self._is_boilerplate(memory, part)] or [statement]

    def _may_file(self, finding: Finding, statement: MemoryStatement, other: Memory, against: MemoryStatement) -> bool:
        """Check that the two are not of different subjects; only a change may name another entity than before."""
        is_record = statement.observation is not None or against.observation is not None
        if is_record and have_different_subjects(self.memory, statement.text, other, against.text):
            return False
        is_change = finding.type is ConflictType.CONTRADICTION and not is_record
        return is_change or agree(self.memory.entity, other.entity)

    def within_memory(self, new: Sequence[MemoryStatement], *, near: Collection[str]) -> Iterator[ConflictRecord]:
        """Return contradictions of the memory with its content, its latest observations, and those in `near`."""
        if not self.memory.observations:
            return  # The sentences of one text are not compared with each other.
        first = len(self.memory.observations) - _MAX_OWN
        own = [
            MemoryStatement(text=observation.text, observation=number)
            for number, observation in enumerate(self.memory.observations)
            if observation.holds(self.origin.at) and (number >= first or observation.text in near)
        ]
        content = [MemoryStatement(text=text) for text in statements_of(self.memory.content[:_MAX_CONTENT])]
        compared = set[frozenset[str]]()
        for statement in new:
            others = [other for other in own if other.text != statement.text]
            others += content if statement.observation is not None else []
            for other in most_words_in_common(statement, others, most=_MAX_OWN_COMPARED):
                pair = frozenset((statement.text, other.text))
                if pair in compared:
                    continue
                compared.add(pair)
                finding = compare_statements(self.memory, statement.text, self.memory, other.text)
                if finding is not None and finding.type is ConflictType.CONTRADICTION:
                    yield self._conflict(finding, self.memory, statement=statement, against=other)

    def _is_relevant(
        self, finding: Finding, statement: MemoryStatement, candidate: Candidate, *, twins: set[str]
    ) -> bool:
        other = candidate.memory
        is_contradiction = finding.type is ConflictType.CONTRADICTION
        if not is_contradiction and other.id in twins:
            return False
        if not _are_unrelated(self.memory, other):
            return not have_different_subjects(self.memory, statement.text, other, candidate.statement.text)
        # Two entities may differ, unless the statements themselves name whom they are about.
        return is_contradiction and all(
            parse_statement(text).names_another or is_named_after(memory.entity, text)
            for memory, text in ((self.memory, statement.text), (other, candidate.statement.text))
        )

    def _conflict(
        self,
        finding: Finding,
        other: Memory,
        *,
        statement: MemoryStatement | None = None,
        against: MemoryStatement | None = None,
    ) -> ConflictRecord:
        newer, older = _rank(self.memory, statement), _rank(other, against)
        if older.date > newer.date:
            newer, older = older, newer
        advice = advise(
            finding.type, confidence=finding.confidence, suggested=finding.suggested, newer=newer, older=older
        )
        return ConflictRecord(
            space=self.memory.space,
            type=finding.type,
            memory=self.memory.id,
            other=other.id,
            confidence=finding.confidence,
            # A conflict that `auto` leaves to a person stays as it is until then.
            suggested=advice.strategy or Strategy.IGNORE,
            detected_at=self.origin.at,
            statement=statement.key if statement else "",
            against=against.key if against else "",
            detected_by=self.origin.agent,
        )


def _rank(memory: Memory, statement: MemoryStatement | None) -> RankedStatement:
    number = statement.observation if statement else None
    observation = None if number is None else memory.observations[number]
    return RankedStatement(
        memory=memory,
        trust=source_of(memory, observation).trust,
        date=date_of(memory, observation),
        is_all=statement is None or is_one_statement(memory),
    )


def _one_of_group(conflicts: Iterable[ConflictRecord], others: Mapping[str, Memory]) -> Iterator[ConflictRecord]:
    """Return the conflicts, of the records of one text only one: a disagreement is one conflict."""
    seen = set[tuple[str, str, str]]()
    for conflict in conflicts:
        other = others.get(conflict.other)
        key = (conflict.statement, conflict.against, other.group if other and other.group else conflict.other)
        if key not in seen:
            seen.add(key)
            yield conflict


def _finding(judgement: PairJudgement) -> Finding | None:
    """Return a judgement as a finding that can be filed; None where both may hold."""
    # A contradiction that the rules have found is filed by them.
    is_new = judgement.label is PairLabel.CONTRADICTS and judgement.finding is None
    if judgement.label is PairLabel.CHANGES or is_new:
        kind, suggested = ConflictType.CONTRADICTION, Strategy.SUPERSEDE
    elif judgement.label is PairLabel.SAME:
        kind, suggested = ConflictType.DUPLICATE, Strategy.MERGE
    else:
        return None
    return Finding(type=kind, confidence=judgement.probability, differs=judgement.differs, suggested=suggested)


def _most_alike(parts: Sequence[MemoryStatement], text: str) -> MemoryStatement:
    """Return the part that a text is about; the first of several."""
    if len(parts) == 1:
        return parts[0]
    best = most_words_in_common(MemoryStatement(text=text), parts, most=1, least=0)
    return best[0] if best else parts[0]


def _are_unrelated(memory: Memory, other: Memory) -> bool:
    """Check whether two memories have different entities, projects or scopes."""
    return not agree(memory.entity, other.entity) or not share_place(memory, other)


def _severity(finding: Finding | ConflictRecord) -> tuple[int, float]:
    return _SEVERITY.index(finding.type), -finding.confidence
