"""Random commits leave the same rows in every store, and fail for the same reasons."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from tests.fakes.build import MODEL, START, an_origin, moment, vectors_for
from tests.postgres import a_database, address_of

from scrubjay.errors import ScrubjayError
from scrubjay.model.change import Action
from scrubjay.model.identity import new_id
from scrubjay.model.memory import Memory, State
from scrubjay.model.query import Filter
from scrubjay.model.relation import Relation
from scrubjay.model.version import MemoryHistory, Version
from scrubjay.ports import Commit, Edge, IdempotencyRecord, RecordStore, Write
from scrubjay.storage.postgres import PostgresStore
from scrubjay.storage.sqlite import SqliteStore
from scrubjay.text.passages import passages_of
from scrubjay.text.tokens import terms_of

SPACE = "default"
_SLOTS = st.integers(0, 4)
_TEXTS = ("acorns under the oak", "the jay hides acorns", "a river in winter", "tea. " * 400, "")
_KINDS = ("note", "fact")


@dataclass(frozen=True, kw_only=True)
class WriteStep:
    """The next version of the memory in a slot; `behind` versions behind the stored one, if that exists."""

    slot: int
    text: str
    name: int
    state: State
    kind: str
    behind: int


@dataclass(frozen=True, kw_only=True)
class CommitStep:
    """A commit, or one of the other writes to a store."""

    verb: str
    writes: list[WriteStep]
    edges: list[tuple[int, int, str, bool]]
    expected: list[tuple[int, int]]
    key: int | None
    is_embedded: bool
    run: int
    undoes: int | None


write_steps = st.builds(
    WriteStep, slot=_SLOTS, text=st.sampled_from(_TEXTS), name=st.integers(0, 5), kind=st.sampled_from(_KINDS),
    state=st.sampled_from((State.LIVE, State.LIVE, State.LIVE, State.TRASHED)), behind=st.sampled_from((0,) * 9 + (1,)),
)  # fmt: skip
commit_steps = st.builds(
    CommitStep,
    verb=st.sampled_from(("commit",) * 8 + ("adopt", "purge", "vectors", "vectors")),
    writes=st.lists(write_steps, max_size=4),
    edges=st.lists(st.tuples(_SLOTS, _SLOTS, st.sampled_from(("likes", "Likes")), st.booleans()), max_size=2),
    expected=st.lists(st.tuples(_SLOTS, st.sampled_from((0,) * 7 + (1,))), max_size=1),
    key=st.one_of(st.none(), st.none(), st.integers(0, 3)),
    is_embedded=st.booleans(), run=st.integers(0, 4), undoes=st.one_of(st.none(), st.none(), st.integers(0, 4)),
)  # fmt: skip


class Slots:
    """The memories that the steps write, as they are stored now; every store gets the same ids."""

    def __init__(self) -> None:
        self._ids = [new_id() for _ in range(5)]
        self._stored: dict[str, Memory] = {}
        self._moments = count(1)

    @property
    def ids(self) -> list[str]:
        return self._ids

    def accept(self, stored: Sequence[Memory]) -> None:
        self._stored = {memory.id: memory for memory in stored}

    def writes(self, steps: Sequence[WriteStep]) -> tuple[Write, ...]:
        """Return writes that build on the stored memories and on each other."""
        memories, writes = dict(self._stored), list[Write]()
        for step in steps:
            at, memory_id = moment(next(self._moments)), self._ids[step.slot]
            before = memories.get(memory_id)
            memory = Memory(
                id=memory_id, space=SPACE, name=f"name-{step.name}", content=step.text, kind=step.kind,
                state=step.state, created_at=before.created_at if before else at, updated_at=at,
                version=before.version + 1 if before else 1,
            )  # fmt: skip
            memories[memory_id] = memory
            base = before.version - step.behind if before else None
            action = Action.REVISED if before else Action.CREATED
            writes.append(Write(memory=memory, base=base, action=action, passages=passages_of(memory)))
        return tuple(writes)

    def edge(self, source: int, target: int, kind: str, present: bool) -> Edge:
        relation = Relation(
            source=self._ids[source].upper(), target=self._ids[target], type=kind, created_at=START,
            text=f"at {next(self._moments)}",
        )  # fmt: skip
        return Edge(relation=relation, present=present)

    def expected(self, slot: int, behind: int) -> tuple[str, int]:
        stored = self._stored.get(self._ids[slot])
        return self._ids[slot], stored.version - behind if stored else 1


def commit_of(step: CommitStep, slots: Slots) -> Commit:
    writes = slots.writes(step.writes)
    origin = an_origin(
        run=f"run-{step.run}", at=moment(1000), undoes="" if step.undoes is None else f"run-{step.undoes}"
    )
    return Commit(
        space=SPACE,
        origin=origin,
        writes=writes,
        expected=tuple(slots.expected(*pair) for pair in step.expected),
        edges=tuple(slots.edge(*edge) for edge in step.edges),
        embedded=vectors_for(write.memory for write in writes) if step.is_embedded else None,
        once=None
        if step.key is None
        else IdempotencyRecord(key=f"key-{step.key}", digest=bytes([len(writes)]), answer=f"{len(writes)} writes"),
    )


async def apply(store: RecordStore, verb: str, commit: Commit) -> str:
    """Apply a step; return its outcome, the same in every store."""
    memories = [write.memory for write in commit.writes]
    try:
        if verb == "commit":
            done = await store.commit(commit)
            assert done.seq == await store.last_seq()
            return f"{done.answer}"
        if verb == "adopt":
            histories = [_history(memory) for memory in {memory.id: memory for memory in memories}.values()]
            return f"{await store.adopt(SPACE, histories, origin=commit.origin)}"
        ids = [memory.id for memory in memories]
        if verb == "purge":
            return f"{await store.purge(SPACE, ids, origin=commit.origin)}"
        await store.store_vectors(SPACE, vectors_for(memories), memory_ids=ids, origin=commit.origin)
    except ScrubjayError as error:
        return f"{type(error).__name__} {error} {sorted(error.fields.items())}"
    return "stored"


def _history(memory: Memory) -> MemoryHistory:
    versions = [
        Version(
            number=number, memory=replace(memory, version=number), parent=number - 1 or None, action="revised",
            created_at=memory.updated_at, run=f"run-{number % 2}", agent="elsewhere",
        )
        for number in range(1, memory.version + 1)
    ]  # fmt: skip
    return MemoryHistory(memory=memory, versions=tuple(versions))


async def rows_of(store: RecordStore, ids: Sequence[str]) -> dict[str, object]:
    """Return everything that a commit writes, in a form that does not depend on the store."""
    every_term = [term for text in _TEXTS for term in terms_of(text)]
    passages = {passage.hash for text in _TEXTS for passage in passages_of(_memory(text))}
    statistics = await store.statistics(SPACE)
    runs = [await store.run(SPACE, f"run-{number}") for number in range(5)]
    return {
        "memories": await store.get(SPACE, ids),
        "versions": {memory_id: await store.versions(SPACE, memory_id, limit=99) for memory_id in ids},
        "relations": sorted(await store.relations(SPACE, ids), key=lambda relation: relation.key),
        "names": [[handle.id for handle in await store.find(SPACE, f"name-{number}")] for number in range(6)],
        "changes": [
            replace(change, seq=0, number=0, relation=change.relation)
            for change in await store.changes_in(SPACE, after=0, limit=999)
        ],
        "last_run": await _run_id(store),
        "runs": [None if run is None else (run.id, run.agent, len(run.changes)) for run in runs],
        "terms": [await store.term_statistics(SPACE, every_term, state=state) for state in State],
        "spelling": [await store.terms_with_prefix(SPACE, "", state=state, limit=99) for state in State],
        "similar": await store.similar_terms(SPACE, "acrons", state=State.LIVE, limit=9),
        "facets": [sorted(await store.facet_values(SPACE, "kind", state=state, limit=9)) for state in State],
        "listed": [await store.list_ids(SPACE, Filter(state=state, kind="fact"), limit=9) for state in State],
        "embedded": await store.embedded(SPACE, MODEL, sorted(passages)),
        "missing": sorted(await store.without_vectors(MODEL, limit=99)),
        "points": await store.point_count(MODEL),
        "counts": (statistics.memories, statistics.versions, statistics.relations),
        "problems": await store.check(deep=True),
    }


async def _run_id(store: RecordStore) -> str | None:
    run = await store.last_run(SPACE, agent="tester")
    return None if run is None else run.id


def _memory(text: str) -> Memory:
    return Memory(id=new_id(), space=SPACE, name="", content=text, created_at=START, updated_at=START)


@settings(
    max_examples=6,
    deadline=None,
    derandomize=True,
    database=None,
    phases=[Phase.generate],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.function_scoped_fixture],
)
@given(steps=st.lists(commit_steps, min_size=4, max_size=25))
async def test_commits_leave_the_same_rows_in_every_store(tmp_path: Path, steps: list[CommitStep]) -> None:
    slots = Slots()
    async with a_database() as name:
        sqlite = await SqliteStore.open(tmp_path / f"{new_id()}.db", readers=1)
        postgres = await PostgresStore.open(address_of(name))
        try:
            for step in steps:
                commit = commit_of(step, slots)
                first, second = [await apply(store, step.verb, commit) for store in (sqlite, postgres)]
                assert first == second, step
                slots.accept(list((await sqlite.get(SPACE, slots.ids)).values()))
            ours, theirs = [await rows_of(store, slots.ids) for store in (sqlite, postgres)]
            for part, rows in ours.items():
                assert rows == theirs[part], part
            assert ours["problems"] == []
        finally:
            await sqlite.close()
            await postgres.close()
