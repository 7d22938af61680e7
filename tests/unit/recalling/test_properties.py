"""What holds for every store and every question."""

from dataclasses import replace
from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st
from tests.unit.drawing import few
from tests.unit.workshop import Workshop

from scrubjay.model.memory import Memory, Source
from scrubjay.model.query import Filter, Question
from scrubjay.model.ranking import STAGES, Ranking
from scrubjay.recalling.budget import cost_of
from scrubjay.testing import FakeStore
from scrubjay.testing.build import START, a_commit, a_memory

WORDS = st.sampled_from("tea milk harbour boiler Sarah? 茶 été snake_case 2023 🎉".split())
texts = st.lists(WORDS, min_size=1, max_size=6).map(" ".join)


def _memory(text: str, kind: str, session: str, day: int) -> Memory:
    source = Source(session=session, at=START - timedelta(days=day))
    return a_memory(text, kind=kind, created_at=START, source=source)


def _filter(kind: str, session: str, days: int | None) -> Filter:
    return Filter(kind=kind, session=session, since=None if days is None else START - timedelta(days=days))


def _question(query: str, contains: str, around: int) -> Question:
    return Question(query=query, contains=contains, around=around, limit=100, max_tokens=1_000_000)


def _ranking(without: set[str]) -> Ranking:
    return Ranking(without=frozenset(without))


kinds, sessions = st.sampled_from(["note", "fact"]), st.sampled_from(["", "monday"])
memories = st.lists(st.builds(_memory, texts, kinds, sessions, st.integers(0, 90)), min_size=1, max_size=12)
filters = st.builds(_filter, st.sampled_from(["", "fact", "nothing"]), sessions, st.none() | st.integers(0, 90))
questions = st.tuples(
    st.builds(_question, texts | st.just(""), st.just("") | WORDS, st.integers(0, 2)),
    st.builds(_ranking, st.sets(st.sampled_from(STAGES), max_size=3)),
)


async def found(kept: list[Memory], question: Question, ranking: Ranking) -> list[str]:
    shop = Workshop(store=FakeStore(), ranking=ranking)
    await shop.store.commit(a_commit(*kept))
    return [hit.id for hit in (await shop.recall(question)).hits]


@given(memories, questions, filters)
@few
async def test_a_filter_never_widens(kept: list[Memory], asked: tuple[Question, Ranking], wanted: Filter) -> None:
    question, ranking = asked
    whole = await found(kept, question, ranking)
    narrowed = await found(kept, replace(question, filter=wanted), ranking)
    assert set(narrowed) <= set(whole)
    assert len(narrowed) == len(set(narrowed))


@given(memories, questions, st.integers(1, 300))
@few
async def test_a_budget_is_never_exceeded(kept: list[Memory], asked: tuple[Question, Ranking], most: int) -> None:
    question, ranking = asked
    shop = Workshop(store=FakeStore(), ranking=ranking)
    await shop.store.commit(a_commit(*kept))
    answer = await shop.recall(replace(question, max_tokens=most))
    assert answer.tokens == sum(map(cost_of, (*answer.pinned, *answer.hits))) <= most


@given(memories, texts)
@few
async def test_an_unrelated_memory_never_removes_an_exact_match_from_the_top(kept: list[Memory], other: str) -> None:
    exact = a_memory("the zeppelin hangar was repainted by Ottokar")
    unrelated = a_memory(f"unrelated {other}")
    question = Question(query="who repainted the zeppelin hangar?")
    assert (await found([*kept, exact, unrelated], question, Ranking()))[0] == exact.id


@given(memories, questions, st.integers(1, 4))
@few
async def test_pages_show_everything_once(kept: list[Memory], asked: tuple[Question, Ranking], limit: int) -> None:
    question, ranking = asked
    shop = Workshop(store=FakeStore(), ranking=ranking)
    await shop.store.commit(a_commit(*kept))
    whole = [hit.id for hit in (await shop.recall(question)).hits]
    shown: list[str] = []
    cursor = ""
    while not shown or cursor:
        page = await shop.recall(replace(question, limit=limit), cursor=cursor)
        shown += [hit.id for hit in page.hits]
        cursor = page.cursor
        if not page.hits:
            break
    assert shown == whole
