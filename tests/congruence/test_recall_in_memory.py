"""Recall answers the same from the rows that the store keeps in memory as from those that it reads each time."""

import asyncio
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any, Self

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.fakes.build import START, a_commit, a_memory, a_write
from tests.new_files import new_stores
from tests.patience import PATIENCE
from tests.unit.harness import SPACE, Harness
from tests.unit.strategies import few_examples

from scrubjay.model.draft import Draft
from scrubjay.model.memory import Memory, Source, State, Tier
from scrubjay.model.passage import AROUND, StoredPassage
from scrubjay.model.query import Facet, Filter
from scrubjay.model.requests import RecallRequest
from scrubjay.model.results import Recalled
from scrubjay.model.timestamps import to_micros
from scrubjay.ports import TermStatistics
from scrubjay.recalling.answer_cache import AnswerCache
from scrubjay.storage.sqlite import SqliteStore, lexicon_cache, passage_table
from scrubjay.storage.sqlite.commit import touch
from scrubjay.storage.sqlite.connection import connect
from scrubjay.storage.sqlite.lexicon_cache import LexiconCache
from scrubjay.storage.sqlite.passage_table import PassageTable
from scrubjay.storage.sqlite.reindex import PAGE_SIZE
from scrubjay.storage.sqlite.rows import Freshness

WORDS = "tea milk harbour boiler Sarah? été 2023 green meeting teapot".split()
sessions = st.sampled_from(["", "monday", "tuesday"])
texts = st.lists(st.sampled_from(WORDS), min_size=1, max_size=8).map(" ".join)
days = st.integers(0, 400)
FILTERS = [
    Filter(), Filter(kind="note"), Filter(session="monday"), Filter(since=START - timedelta(days=100)),
    Filter(entity="sarah"), Filter(state=State.ARCHIVED),
]  # fmt: skip
kinds = st.sampled_from(["note", "fact"])
tags = st.lists(st.sampled_from(["work", "home", "trip"]), min_size=1, max_size=2, unique=True).map(tuple)
categories = st.sampled_from(["work", "work/meetings", "home"])
projects = st.sampled_from(["kettle", "boat"])
scopes = st.sampled_from(["team", "personal"])
tiers = st.sampled_from(Tier)
times = st.integers(-20, 420).map(lambda days: START - timedelta(days=days))
few_labels = st.fixed_dictionaries(
    {}, optional={
        "kind": kinds, "tags": tags, "category": categories, "project": projects, "scope": scopes, "tier": tiers,
    },
)  # fmt: skip
# A condition on each part of a memory that an index has; with more than three of them nothing would be found.
conditions: list[st.SearchStrategy[tuple[str, Any]]] = [
    st.tuples(st.just(name), values)
    for name, values in {
        "kind": kinds, "tags": tags, "any_tags": tags, "category": categories, "project": projects | st.just("*"),
        "scope": scopes, "tier": tiers.map(str), "session": sessions, "since": times, "until": times,
        "entity": st.just("sarah"), "state": st.sampled_from([State.LIVE, State.ARCHIVED]),
    }.items()
]  # fmt: skip
filters = st.sampled_from(FILTERS) | st.lists(st.one_of(conditions), max_size=3).map(
    lambda listed: Filter(**dict(listed))
).filter(lambda chosen: not chosen.since or not chosen.until or chosen.since < chosen.until)


@dataclass(frozen=True, kw_only=True)
class Step:
    """One thing that happens to the store, or a question; `by_other`: in another process."""

    kind: str
    text: str
    session: str
    labels: Mapping[str, Any]
    days: int
    at: int
    filter: Filter
    by_other: bool


steps = st.lists(
    st.builds(
        Step,
        kind=st.sampled_from([
            "ask", "ask", "write", "revise", "move", "label", "forget", "touch", "purge", "damage", "fill"
        ]),
        text=texts, session=sessions, labels=few_labels, days=days, at=st.integers(0, 99), filter=filters,
        by_other=st.booleans(),
    ),
    min_size=4, max_size=16,
)  # fmt: skip


@given(
    st.lists(st.tuples(texts, sessions, days, few_labels), min_size=2, max_size=10),
    steps,
    st.sampled_from([8, 24, 65_536]),
    st.sampled_from([5, 65_536]),
    st.sampled_from([0, 65_536]),
    st.sampled_from([1, 2, 16]),
    st.sampled_from([1, 3, 16]),
    st.sampled_from([0, 2, 8]),
)
@few_examples
async def test_rows_in_memory_give_the_answers_of_rows_that_are_read(
    first: list[tuple[str, str, int, Mapping[str, Any]]],
    happening: list[Step],
    max_rows: int,
    largest_space: int,
    largest_read: int,
    many_loads: int,
    many_misses: int,
    few_uses: int,
) -> None:
    async with new_stores() as stores:
        fast = stores()
        slow, other = _open(fast), _open(fast)
        # It reads every row.
        slow._table = slow._lexicon = slow._repeated = None
        # In some examples so small that it is emptied again and again, or not used from a number of passages on.
        fast._table = table = PassageTable(
            Freshness(),
            max_rows=max_rows,
            largest_space=largest_space,
            largest_read=largest_read,
            many_loads=many_loads,
            page=2,
        )
        fast._lexicon = LexiconCache(Freshness(), many_misses=many_misses, few_uses=few_uses)
        stored = {memory.id: memory for memory in (_memory(*values) for values in first)}
        await fast.commit(a_commit(*stored.values()))
        for step in happening:
            if step.kind == "ask":
                await _ask(step, fast, slow)
            elif step.kind == "fill":
                fast._fill(table)
            elif step.kind == "damage":
                # The rows are of other passages than the table thinks, or of another space.
                table._integers[:, step.at % 2] += 1 + step.days
            else:
                await _change(step, stored, other if step.by_other else fast)
        for step in happening[-2:]:
            await _ask(step, fast, slow)
        await slow.close()
        await other.close()


async def _ask(step: Step, fast: SqliteStore, slow: SqliteStore) -> None:
    question = RecallRequest(query=step.text, filter=step.filter, limit=5, explain=True)
    answers = []
    for store in (fast, slow):
        harness = Harness(store=store, answers=AnswerCache(0))
        # Another day, or one before all memories: the clock may have been wrong.
        harness.clock.set(START + timedelta(days=step.days - 200))
        answers.append(await harness.recall(question))
    assert answers[0] == answers[1]


async def _change(step: Step, stored: dict[str, Memory], store: SqliteStore) -> None:
    if step.kind == "write" or not stored:
        memory = _memory(step.text, step.session, step.days, step.labels)
        await store.commit(a_commit(memory))
        stored[memory.id] = memory
        return
    memory = list(stored.values())[step.at % len(stored)]
    if step.kind == "touch":
        await store.touch(SPACE, [memory.id], at=START)
    elif step.kind == "purge":
        del stored[memory.id]
        await store.purge(SPACE, [memory.id], origin=Harness(store=store).origin())
    else:
        changed = {
            "revise": replace(memory, content=step.text),
            "move": replace(memory, source=replace(memory.source, session=step.session)),
            "label": replace(memory, **step.labels),
            "forget": replace(memory, state=State.LIVE if memory.state is State.ARCHIVED else State.ARCHIVED),
        }[step.kind]
        changed = replace(changed, version=memory.version + 1)
        await store.commit(a_commit(a_write(changed, base=memory.version)))
        stored[memory.id] = changed


def _memory(text: str, session: str, days_ago: int, labels: Mapping[str, Any]) -> Memory:
    source = Source(session=session, at=START - timedelta(days=days_ago))
    return replace(a_memory(text, kind="note", source=source, entity="sarah" if "Sarah" in text else ""), **labels)


def _open(store: SqliteStore) -> SqliteStore:
    """Open the same file once more, as another process does."""
    return SqliteStore(store.path, connect(store.path), key="", readers=1, page=PAGE_SIZE)


@pytest.mark.parametrize("largest_read", [0, 65_536])
async def test_a_space_that_is_often_asked_is_read_between_requests(
    largest_read: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with new_stores() as stores:
        fast = stores()
        slow = _open(fast)
        slow._table = slow._lexicon = slow._repeated = None
        fast._table = table = PassageTable(Freshness(), largest_read=largest_read, many_loads=4)
        words, each = ["tea", "milk", "harbour", "boiler", "green", "meeting"], 200
        memories = [_memory(f"{word} {number}", "", number % 300, {}) for word in words for number in range(each)]
        await fast.commit(a_commit(*memories))
        numpy = ScarceNumpy(first=0)
        monkeypatch.setattr(passage_table, "np", numpy)
        for is_scarce in (True, False):
            for word in words[:4]:
                await _ask(replace(_QUESTION, text=word), fast, slow)
            assert table.is_filling
            # Of a space that is large, recalls read what they need from the store until then.
            assert len(table) > 0 or not largest_read
            async with asyncio.timeout(PATIENCE):
                with numpy.scarce() if is_scarce else nullcontext():
                    while table.is_filling:  # noqa: ASYNC110 - the work of a timer
                        await asyncio.sleep(0.01)
            # Without memory for more all is dropped, and the next recalls begin again.
            assert len(table) == (0 if is_scarce else len(memories))
        await fast.commit(a_commit(_memory("tea in the harbour", "", 0, {})))
        for word in words:
            await _ask(replace(_QUESTION, text=word), fast, slow)
        # What is new is read by the recall that needs it.
        assert len(table) == len(memories) + 1
        await slow.close()


@pytest.mark.parametrize(("max_rows", "has_room"), [(3, False), (4, True)])
async def test_a_space_is_read_between_requests_only_if_there_is_room(max_rows: int, *, has_room: bool) -> None:
    async with new_stores() as stores:
        fast = stores()
        slow = _open(fast)
        slow._table = slow._lexicon = slow._repeated = None
        fast._table = table = PassageTable(Freshness(), max_rows=max_rows, largest_read=0, many_loads=1)
        await fast.commit(a_commit(*(_memory(f"tea {number}", "", number, {}) for number in range(4))))
        await _ask(replace(_QUESTION, text="tea"), fast, slow)
        fast._fill(table)
        assert len(table) == (4 if has_room else 0)
        await slow.close()


async def test_what_was_written_later_is_not_among_the_words_around_a_passage_of_the_past() -> None:
    async with new_stores() as stores:
        fast = stores()
        slow = _open(fast)
        slow._table = slow._lexicon = slow._repeated = None
        texts = ["green tea", "hot milk", "new kettle", "boiler", "old teapot"]
        old, *new = (_memory(text, "monday", 9 - place, {}) for place, text in enumerate(texts))
        earlier = START - timedelta(days=2)
        await fast.commit(a_commit(replace(old, created_at=earlier, updated_at=earlier)))
        await fast.commit(a_commit(*new))
        question = RecallRequest(query="teapot for green tea", as_of=START - timedelta(days=1), explain=True)
        # The last of them has words of the question, and is not adjacent.
        answer = await _answer(question, fast)
        assert [hit.id for hit in answer.hits] == [old.id]
        assert answer == await _answer(question, slow)
        await slow.close()


async def test_a_turn_beside_a_match_replies_to_a_question_that_no_search_has_found() -> None:
    async with new_stores() as stores:
        fast = stores()
        slow = _open(fast)
        slow._table = slow._lexicon = slow._repeated = None
        # Each is nearer to the question than the first turn, which is therefore read only as a neighbour.
        texts = [f"zebra copper dune ember flint grove {number}" for number in range(200)]
        others = [Draft(text=text, intent="new", source=Source(at=START - timedelta(days=9))) for text in texts]
        question = "Ann: how about the copper anchor lantern beside the old harbour window?"
        texts = [question, "Bob: rather blue.", "Ann: quokka quokka."]
        turns = [
            Draft(text=text, intent="new", source=Source(session="monday", at=START - timedelta(days=9 - place)))
            for place, text in enumerate(texts)
        ]
        await Harness(store=fast).remember_many([*others, *turns])
        request = RecallRequest(query="zebra copper quokka?", min_score=0.0, explain=True)
        answer = await _answer(request, fast)
        (reply,) = [hit for hit in answer.hits if hit.passage == texts[1]]
        assert any(reason.startswith("reply") for reason in reply.why)
        assert answer == await _answer(request, slow)
        await slow.close()


async def _answer(question: RecallRequest, store: SqliteStore) -> Recalled:
    return await Harness(store=store, answers=AnswerCache(0)).recall(question)


async def test_an_access_that_is_stored_while_counts_are_read_again_is_counted_once() -> None:
    async with new_stores() as stores:
        fast = stores()
        other = _open(fast)
        fast._table = table = PassageTable(Freshness())
        first, second = _memory("green tea", "", 1, {}), _memory("hot milk", "", 1, {})
        await fast.commit(a_commit(first, second))
        numbers = await fast.passage_numbers(SPACE, [first.id, second.id])
        await fast.stored_passages(SPACE, numbers, around=AROUND)
        # After another process has counted, the counts of all rows have to be read again; here that of the second is.
        await other.touch(SPACE, [second.id], at=START)
        fast._fill(table)
        await fast.stored_passages(SPACE, numbers[1:], around=AROUND)
        # In the same turn, this process stores an access to the first, whose count is read before the table has it.
        with fast._connection:
            touches, touched = touch(fast._connection, SPACE, [first.id], at=to_micros(START))
        await fast.stored_passages(SPACE, numbers[:1], around=AROUND)
        table.count_accesses(touched, touches=touches)
        (passage,) = await fast.stored_passages(SPACE, numbers[:1], around=AROUND)
        assert passage.accesses == 1
        await other.close()


async def test_counts_are_not_read_again_after_a_recall_has_seen_own_accesses_before_the_table_was_told() -> None:
    async with new_stores() as stores:
        fast = stores()
        fast._table = table = PassageTable(Freshness())
        first, second = _memory("green tea", "", 1, {}), _memory("hot milk", "", 1, {})
        await fast.commit(a_commit(first, second))
        numbers = await fast.passage_numbers(SPACE, [first.id, second.id])
        await fast.stored_passages(SPACE, numbers, around=AROUND)
        for stored in (1, 2):
            with fast._connection:
                touches, touched = touch(fast._connection, SPACE, [first.id, second.id], at=to_micros(START))
            # A recall of the first sees that something was counted, and reads its count again.
            await asyncio.sleep(0)
            await fast.stored_passages(SPACE, numbers[:1], around=AROUND)
            table.count_accesses(touched, touches=touches)
            # Outside of a transaction: nothing is to be read.
            present = fast._readers.run_one(table.passages, SPACE, numbers)
            assert present is not None
            assert [passage.accesses for passage in present] == [stored, stored]


class ScarceNumpy:
    """NumPy for a module; from one of its calls in a block on, there is no memory for arrays until the block ends."""

    def __init__(self, *, first: int) -> None:
        self.calls = 0
        self._first = first
        self._is_scarce = False

    @contextmanager
    def scarce(self) -> Generator[None]:
        self._is_scarce = True
        try:
            yield
        finally:
            self._is_scarce = False

    def __getattr__(self, name: str) -> object:
        attribute: object = getattr(np, name)
        # Types and constants are as they are.
        if isinstance(attribute, type) or not callable(attribute):
            return attribute

        def call(*arguments: object, **options: object) -> Any:
            made: Any = attribute(*arguments, **options)
            self.calls += self._is_scarce
            if self._is_scarce and self.calls > self._first and np.size(made):
                raise MemoryError
            return made

        return call


class PoorStore(SqliteStore):
    """A store that lacks memory while it reads from its caches; they are small, so that they grow and read much."""

    numpy: ScarceNumpy

    @classmethod
    def on(cls, store: SqliteStore, *, numpy: ScarceNumpy) -> Self:
        """Open the file of a store once more."""
        poor = cls(store.path, connect(store.path), key="", readers=1, page=PAGE_SIZE)
        poor.numpy = numpy
        poor._lexicon = LexiconCache(Freshness(), many_misses=3, few_uses=0)
        return poor

    async def lexical_candidates(
        self, space: str, terms: Sequence[str], filter: Filter, *, limit: int
    ) -> list[tuple[int, float]]:
        with self.numpy.scarce():
            return await super().lexical_candidates(space, terms, filter, limit=limit)

    async def term_statistics(self, space: str, terms: Sequence[str], *, state: State) -> TermStatistics:
        with self.numpy.scarce():
            return await super().term_statistics(space, terms, state=state)

    async def stored_passages(self, space: str, ids: Sequence[int], *, around: int = 0) -> list[StoredPassage]:
        with self.numpy.scarce():
            return await super().stored_passages(space, ids, around=around)

    async def known_facets(self, space: str, facets: Sequence[Facet], *, state: State) -> dict[Facet, int]:
        with self.numpy.scarce():
            return await super().known_facets(space, facets, state=state)


async def test_without_memory_for_rows_the_answers_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    async with new_stores() as stores:
        slow = stores()
        slow._table = slow._lexicon = slow._repeated = None
        first, calls = 0, 1
        # Each call in turn is the first that finds no memory.
        while first < calls:
            numpy = ScarceNumpy(first=first)
            for module in (passage_table, lexicon_cache):
                monkeypatch.setattr(module, "np", numpy)
            poor = PoorStore.on(slow, numpy=numpy)
            await _write_and_ask(poor, slow)
            await poor.close()
            first, calls = first + 1, numpy.calls
    assert first > 20


async def _write_and_ask(poor: SqliteStore, slow: SqliteStore) -> None:
    """Ask about memories, of which some are written in between: the caches follow."""
    for text in ("tea milk", "meeting 2023 tea"):
        await slow.commit(a_commit(_memory(text, "monday", len(text), {"tags": ("work",)})))
        for condition in (Filter(), Filter(any_tags=("work", "home"))):
            await _ask(replace(_QUESTION, text=text, filter=condition), poor, slow)


_QUESTION = Step(kind="ask", text="", session="", labels={}, days=200, at=0, filter=Filter(), by_other=False)
