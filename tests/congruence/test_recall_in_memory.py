"""Recall answers the same from the rows that the store keeps in memory as from those that it reads each time."""

from dataclasses import dataclass, replace
from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st
from tests.fakes.build import START, a_commit, a_memory, a_write
from tests.new_files import new_stores
from tests.unit.harness import SPACE, Harness
from tests.unit.strategies import few_examples

from scrubjay.model.memory import Memory, Source, State
from scrubjay.model.query import Filter
from scrubjay.model.requests import RecallRequest
from scrubjay.recalling.answer_cache import AnswerCache
from scrubjay.storage.sqlite import SqliteStore
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


@dataclass(frozen=True, kw_only=True)
class Step:
    """One thing that happens to the store, or a question; `by_other`: in another process."""

    kind: str
    text: str
    session: str
    days: int
    at: int
    filter: Filter
    by_other: bool


steps = st.lists(
    st.builds(
        Step, kind=st.sampled_from(["ask", "ask", "write", "revise", "move", "forget", "touch", "purge", "damage"]),
        text=texts, session=sessions, days=days, at=st.integers(0, 99), filter=st.sampled_from(FILTERS),
        by_other=st.booleans(),
    ),
    min_size=4, max_size=16,
)  # fmt: skip


@given(
    st.lists(st.tuples(texts, sessions, days), min_size=2, max_size=10),
    steps,
    st.sampled_from([8, 24, 65_536]),
    st.sampled_from([5, 65_536]),
    st.sampled_from([1, 3, 16]),
    st.sampled_from([0, 2, 8]),
)
@few_examples
async def test_rows_in_memory_give_the_answers_of_rows_that_are_read(
    first: list[tuple[str, str, int]],
    happening: list[Step],
    max_rows: int,
    largest_space: int,
    many_misses: int,
    few_uses: int,
) -> None:
    async with new_stores() as stores:
        fast = stores()
        slow, other = _open(fast), _open(fast)
        # It reads every row.
        slow._table = slow._lexicon = slow._repeated = None
        # In some examples so small that it is emptied again and again, or not used from a number of passages on.
        fast._table = table = PassageTable(Freshness(), max_rows=max_rows, largest_space=largest_space)
        fast._lexicon = LexiconCache(Freshness(), many_misses=many_misses, few_uses=few_uses)
        stored = {memory.id: memory for memory in (_memory(*values) for values in first)}
        await fast.commit(a_commit(*stored.values()))
        for step in happening:
            if step.kind == "ask":
                await _ask(step, fast, slow)
            elif step.kind == "damage":
                # The rows are of other passages than the table thinks.
                table._integers[:, 0] += 1
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
        memory = _memory(step.text, step.session, step.days)
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
            "forget": replace(memory, state=State.LIVE if memory.state is State.ARCHIVED else State.ARCHIVED),
        }[step.kind]
        changed = replace(changed, version=memory.version + 1)
        await store.commit(a_commit(a_write(changed, base=memory.version)))
        stored[memory.id] = changed


def _memory(text: str, session: str, days_ago: int) -> Memory:
    source = Source(session=session, at=START - timedelta(days=days_ago))
    return a_memory(text, kind="note", source=source, entity="sarah" if "Sarah" in text else "")


def _open(store: SqliteStore) -> SqliteStore:
    """Open the same file once more, as another process does."""
    return SqliteStore(store.path, connect(store.path), key="", readers=1, page=PAGE_SIZE)
