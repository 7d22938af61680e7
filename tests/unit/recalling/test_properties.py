"""Properties of recall for every store and every question."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st
from tests.fakes.build import START, a_commit, a_memory
from tests.new_files import new_stores
from tests.unit.harness import Harness
from tests.unit.strategies import few_examples

from scrubjay.model.memory import Json, Memory, Source
from scrubjay.model.query import Filter
from scrubjay.model.ranking import STAGES, Ranking
from scrubjay.model.requests import RecallRequest
from scrubjay.recalling.budget import cost_of
from scrubjay.recalling.collapse import passes

WORDS = st.sampled_from("tea milk harbour boiler Sarah? 茶 été snake_case 2023 🎉".split())
texts = st.lists(WORDS, min_size=1, max_size=6).map(" ".join)


@st.composite
def _memory(draw: st.DrawFn) -> Memory:
    source = Source(session=draw(sessions), at=START - timedelta(days=draw(days)))
    return a_memory(
        draw(texts), kind=draw(kinds), created_at=START, source=source,
        tags=draw(tags), entity=draw(entities), metadata=draw(labels),
    )  # fmt: skip


@st.composite
def _filter(draw: st.DrawFn) -> Filter:
    """Draw a filter with few criteria, so that some memories pass it."""
    fields = {
        "kind": kinds | st.just("nothing"), "session": sessions, "tags": tags, "any_tags": tags, "entity": entities,
        "metadata": labels,
    }  # fmt: skip
    criteria = draw(st.sets(st.sampled_from(sorted(fields)), max_size=2))
    first, last = sorted((draw(days), draw(days) + 1))
    return replace(
        Filter(since=draw(_perhaps(last)), until=draw(_perhaps(first - 1))),
        **{name: draw(fields[name]) for name in sorted(criteria)},
    )


def _perhaps(days_ago: int) -> st.SearchStrategy[datetime | None]:
    return st.none() | st.just(START - timedelta(days=days_ago))


def _question(query: str, contains: str, around: int) -> RecallRequest:
    return RecallRequest(query=query, contains=contains, around=around, limit=100, max_tokens=1_000_000)


def _ranking(without: set[str]) -> Ranking:
    return Ranking(without=frozenset(without))


kinds, sessions = st.sampled_from(["note", "fact"]), st.sampled_from(["", "monday"])
tags = st.lists(st.sampled_from(["work", "home", "日本"]), max_size=2, unique=True).map(tuple)
entities = st.sampled_from(["", "sarah", "Sarah Connor"])
_LABELS: list[dict[str, Json]] = [{}, {"n": 1}, {"n": "one"}, {"n": 1, "aliases": ["milk", "Milly"]}]
labels = st.sampled_from(_LABELS)
days = st.integers(0, 90)
memories = st.lists(_memory(), min_size=1, max_size=12)
filters = _filter()
questions = st.tuples(
    st.builds(_question, texts | st.just(""), st.just("") | WORDS, st.integers(0, 2)),
    st.builds(_ranking, st.sets(st.sampled_from(STAGES), max_size=3)),
)


async def recalled_ids(stored: list[Memory], question: RecallRequest, ranking: Ranking) -> list[str]:
    async with harness_over(stored, ranking) as harness:
        return [hit.id for hit in (await harness.recall(question)).hits]


@asynccontextmanager
async def harness_over(stored: list[Memory], ranking: Ranking) -> AsyncGenerator[Harness]:
    async with new_stores() as stores:
        harness = Harness(store=stores(), ranking=ranking)
        await harness.store.commit(a_commit(*stored))
        yield harness


@given(memories, questions, filters)
@few_examples
async def test_a_filter_never_widens(
    stored: list[Memory], drawn: tuple[RecallRequest, Ranking], filter: Filter
) -> None:
    question, ranking = drawn
    whole = await recalled_ids(stored, question, ranking)
    narrowed = await recalled_ids(stored, replace(question, filter=filter), ranking)
    assert set(narrowed) <= set(whole)
    assert len(narrowed) == len(set(narrowed))
    # A first name that no entity has alone stands for the longer names that begin with it.
    longer = {memory.entity for memory in stored if memory.entity.casefold().startswith(f"{filter.entity.casefold()} ")}
    meant = [filter, *(replace(filter, entity=entity) for entity in longer if filter.entity)]
    assert set(narrowed) <= {memory.id for memory in stored if any(passes(memory, each, now=START) for each in meant)}


@given(memories, questions, st.integers(1, 300))
@few_examples
async def test_a_budget_is_never_exceeded(
    stored: list[Memory], drawn: tuple[RecallRequest, Ranking], limit: int
) -> None:
    question, ranking = drawn
    async with harness_over(stored, ranking) as harness:
        answer = await harness.recall(replace(question, max_tokens=limit))
    assert answer.tokens == sum(map(cost_of, (*answer.pinned, *answer.hits))) <= limit


@given(memories, texts)
@few_examples
async def test_an_unrelated_memory_never_removes_an_exact_match_from_the_top(stored: list[Memory], other: str) -> None:
    exact = a_memory("the zeppelin hangar was repainted by Ottokar")
    unrelated = a_memory(f"unrelated {other}")
    question = RecallRequest(query="who repainted the zeppelin hangar?")
    assert (await recalled_ids([*stored, exact, unrelated], question, Ranking()))[0] == exact.id


@given(memories, questions, st.integers(1, 4))
@few_examples
async def test_pages_show_everything_once(
    stored: list[Memory], drawn: tuple[RecallRequest, Ranking], limit: int
) -> None:
    question, ranking = drawn
    shown: list[str] = []
    cursor = ""
    async with harness_over(stored, ranking) as harness:
        whole = [hit.id for hit in (await harness.recall(question)).hits]
        while not shown or cursor:
            page = await harness.recall(replace(question, limit=limit), cursor=cursor)
            shown += [hit.id for hit in page.hits]
            cursor = page.cursor
            if not page.hits:
                break
    assert shown == whole
