"""`recall` as of a moment gives the answer of that moment, whatever has happened since."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from functools import cached_property
from uuid import UUID

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.fakes.build import START, a_commit, a_memory, a_rewrite, an_origin, revised
from tests.new_files import NewStores
from tests.unit.harness import SPACE, Harness
from tests.unit.strategies import few_examples

from scrubjay.errors import BodyDamaged, InvalidInput
from scrubjay.lookup.references import TolerantReader
from scrubjay.model.draft import Draft
from scrubjay.model.memory import Memory, Observation, State
from scrubjay.model.query import Filter
from scrubjay.model.ranking import Ranking
from scrubjay.model.requests import Edit, RecallRequest
from scrubjay.model.results import Recalled
from scrubjay.model.timestamps import to_iso
from scrubjay.model.version import Version
from scrubjay.recalling.overlay.build import open_reader, read_changed_since
from scrubjay.recalling.overlay.overlay import Overlay, OverlayCache, OverlayKey, OverlayReader
from scrubjay.storage.sqlite import SqliteStore

# Corrections and related words depend on the words that exist now.
EXACT = Ranking(without=frozenset({"typos", "kin"}))


def passages(answer: Recalled) -> list[str]:
    return [hit.passage for hit in answer.hits]


async def recall_as_of(
    harness: Harness, query: str, at: datetime, *, contains: str = "", filter: Filter | None = None
) -> Recalled:
    return await harness.recall(RecallRequest(query=query, as_of=at, contains=contains, filter=filter or Filter()))


async def test_a_memory_has_its_text_of_that_day(harness: Harness) -> None:
    before = harness.clock.now()
    office = await harness.remember("The office is in Oslo")
    first = harness.clock.now()
    await harness.revise(office.id, content="The office is in Bergen")
    second = harness.clock.now()
    await harness.forget(office.id)
    for query in ("where is the office?", ""):
        assert passages(await recall_as_of(harness, query, before)) == []
        assert passages(await recall_as_of(harness, query, first)) == ["The office is in Oslo"]
        assert passages(await recall_as_of(harness, query, second)) == ["The office is in Bergen"]
        assert passages(await recall_as_of(harness, query, harness.clock.now())) == []
        assert passages(await harness.recall(query)) == []


async def test_a_word_that_is_gone_from_main_is_still_found(harness: Harness) -> None:
    cup = await harness.remember("Sarah drinks lapsang")
    await harness.remember("Bob keeps bees")
    then = harness.clock.now()
    await harness.revise(cup.id, content="Sarah drinks water")
    hit, *_ = (await harness.recall(RecallRequest(query="lapsang", as_of=then, explain=True))).hits
    assert hit.passage == "Sarah drinks lapsang"
    assert hit.why[0].endswith("lapsang")
    assert hit.score > 0.1


async def test_newer_memories_are_left_out_and_unchanged_ones_are_not(harness: Harness) -> None:
    await harness.remember("green tea in the morning")
    then = harness.clock.now()
    await harness.remember("black tea in the evening")
    for query in ("tea", ""):
        assert passages(await recall_as_of(harness, query, then)) == ["green tea in the morning"]
        assert passages(await recall_as_of(harness, query, then, contains="EVENING")) == []
        assert passages(await recall_as_of(harness, query, then, contains="Morning")) == ["green tea in the morning"]


async def test_filters_go_by_the_fields_of_that_day(harness: Harness) -> None:
    tea = await harness.remember(Draft(text="tea", kind="fact"))
    then = harness.clock.now()
    await harness.revise(tea.id, kind="note")
    assert passages(await recall_as_of(harness, "tea", then, filter=Filter(kind="fact"))) == ["tea"]
    assert passages(await recall_as_of(harness, "tea", then, filter=Filter(kind="note"))) == []
    assert passages(await recall_as_of(harness, "tea", then, filter=Filter(state=State.TRASHED))) == []


async def test_a_restored_memory_was_in_the_trash_then(harness: Harness) -> None:
    tea = await harness.remember("tea")
    await harness.forget(tea.id)
    then = harness.clock.now()
    await harness.restore(tea.id)
    assert passages(await recall_as_of(harness, "tea", then)) == []
    assert passages(await recall_as_of(harness, "tea", then, filter=Filter(state=State.TRASHED))) == ["tea"]


async def test_expiry_and_superseding_count_from_that_day(harness: Harness) -> None:
    day = timedelta(days=1)
    await harness.remember(Draft(text="milk in the fridge", expires_at=START + day))
    await harness.store.commit(
        a_commit(a_memory("milk from the shop", created_at=START, updated_at=START, valid_until=START + day))
    )
    harness.clock.advance(3 * day)
    assert passages(await harness.recall("milk")) == []
    assert passages(await recall_as_of(harness, "milk", START + 2 * day)) == []
    assert sorted(passages(await recall_as_of(harness, "milk", START + day / 2))) == [
        "milk from the shop",
        "milk in the fridge",
    ]


async def test_an_observation_that_was_superseded_held_before(harness: Harness) -> None:
    sarah = await harness.store_draft(Draft(text="", name="sarah", observations=("lives in Oslo", "has a dog")))
    then = harness.clock.now()
    first, dog = sarah.observations
    now = harness.clock.now()
    later = replace(
        revised(sarah), updated_at=now,
        observations=(replace(first, valid_until=now), dog, Observation(text="lives in Bergen", recorded_at=now)),
    )  # fmt: skip
    await harness.store.commit(a_commit(a_rewrite(later)))
    (hit,) = (await harness.recall(RecallRequest(query="Oslo Bergen", explain=True))).hits
    assert hit.passage == "lives in Bergen"
    assert hit.why[-1] == "observation 3 of 3"
    assert (await harness.recall("")).hits[0].passage == "has a dog; lives in Bergen"
    assert (await recall_as_of(harness, "Oslo Bergen", then)).hits[0].passage == "lives in Oslo"
    assert (await recall_as_of(harness, "", then)).hits[0].passage == "lives in Oslo; has a dog"
    assert (await harness.recall(RecallRequest(query="", contains="oslo"))).hits == ()


async def test_memories_pinned_then_come_first(harness: Harness) -> None:
    await harness.remember(Draft(text="always tea", pinned=True))
    unpinned = await harness.remember(Draft(text="once a profile", pinned=True))
    pinned = await harness.remember("a profile now")
    then = harness.clock.now()
    await harness.revise(unpinned.id, pinned=False)
    await harness.revise(pinned.id, pinned=True)
    gone = await recall_as_of(harness, "profile", then)
    assert [hit.passage for hit in gone.pinned] == ["always tea", "once a profile"]
    assert passages(gone) == ["a profile now"]


async def test_recency_and_named_days_count_from_that_day(harness: Harness) -> None:
    await harness.remember("the boiler was repaired")
    harness.clock.advance(timedelta(days=20))
    then = harness.clock.now()
    harness.clock.advance(timedelta(days=200))
    (hit,) = (
        await harness.recall(RecallRequest(query="what happened to the boiler 20 days ago?", as_of=then, explain=True))
    ).hits
    assert any(reason.startswith("date +") for reason in hit.why)
    (now,) = (await harness.recall(RecallRequest(query="boiler", explain=True))).hits
    (old,) = (await harness.recall(RecallRequest(query="boiler", as_of=then, explain=True))).hits
    standing = [next(reason for reason in hit.why if reason.startswith("standing")) for hit in (old, now)]
    assert [float(reason.split()[1]) > 0 for reason in standing] == [True, False]


async def test_pages_of_the_past_go_on_where_the_last_one_ended(harness: Harness) -> None:
    made = [await harness.remember(f"tea {number}") for number in range(8)]
    then = harness.clock.now()
    for number in (0, 3, 5):
        await harness.revise(made[number].id, content=f"milk {number}")
    await harness.forget(made[6].id)
    for query in ("tea", ""):
        seen, cursor = list[str](), ""
        while not seen or cursor:
            page = await harness.recall(RecallRequest(query=query, as_of=then, limit=3), cursor=cursor)
            seen += passages(page)
            cursor = page.cursor
        assert sorted(seen) == [f"tea {number}" for number in range(8)]
    assert seen == [f"tea {number}" for number in reversed(range(8))]
    page = await harness.recall(RecallRequest(query="tea", as_of=then, limit=3))
    for other in (RecallRequest(query="tea", limit=3), RecallRequest(query="tea", limit=3, as_of=then, branch="x")):
        with pytest.raises(InvalidInput, match="cursor"):
            await harness.recall(other, cursor=page.cursor)


async def test_an_answer_of_the_past_is_not_one_of_now(harness: Harness) -> None:
    tea = await harness.remember("green tea")
    then = harness.clock.now()
    await harness.revise(tea.id, content="black tea")
    for _ in range(2):
        assert passages(await harness.recall("tea")) == ["black tea"]
        assert passages(await recall_as_of(harness, "tea", then)) == ["green tea"]


async def test_the_past_is_read_once_until_something_changes_or_is_purged(
    harness: Harness, new_store: NewStores
) -> None:
    harness.store = store = new_store(CountingStore)
    tea = await harness.remember("green tea")
    then = harness.clock.now()
    await harness.revise(tea.id, content="black tea")
    for query in ("tea", "green", ""):
        assert passages(await recall_as_of(harness, query, then)) == ["green tea"]
    assert store.reads == [tea.id]
    harness.answers.clear()
    assert passages(await recall_as_of(harness, "tea", then)) == ["green tea"]
    assert store.reads == [tea.id] * 2


class CountingStore(SqliteStore):
    """A store that records which past versions are read."""

    @cached_property
    def reads(self) -> list[str]:
        return []

    async def versions_at(self, space: str, ids: Sequence[str], *, at: datetime) -> dict[str, Version]:
        self.reads.extend(ids)
        return await super().versions_at(space, ids, at=at)


async def test_after_a_write_only_changed_memories_are_read(harness: Harness, new_store: NewStores) -> None:
    harness.store = store = new_store(CountingStore)
    made = [await harness.store_draft(f"tea {number} of a kind") for number in range(5)]
    then = harness.clock.now()
    for memory in made[:3]:
        await harness.revise(memory.id, content="milk")
    question = RecallRequest(query="tea", as_of=then, limit=20, max_tokens=9_000, explain=True)

    async def answer_uncached() -> Recalled:
        """Answer without any cache."""
        return await Harness(store=store, clock=harness.clock).recall(question)

    assert len((await harness.recall(question)).hits) == 5
    new = await harness.store_draft("tea that is newer")
    await harness.revise(made[0].id, content="water")
    await harness.forget(made[1].id)
    await harness.revise(made[4].id, content="coffee")
    store.reads.clear()
    again = await harness.recall(question)
    assert sorted(store.reads) == sorted([new.id, made[4].id])
    assert again == await answer_uncached()
    # Another filter uses the cached versions, but not all of the passages.
    store.reads.clear()
    tagged = replace(question, filter=Filter(kind=made[0].kind))
    assert len((await harness.recall(tagged)).hits) == 5
    assert store.reads == []
    await harness.revise(made[2].id, kind="other")
    assert len((await harness.recall(tagged)).hits) == 5
    await harness.forget(made[0].id)
    await harness.purge(made[0].id, made[1].id)
    store.reads.clear()
    purged = await harness.recall(question)
    assert {hit.id for hit in purged.hits} == {memory.id for memory in made[2:]}
    assert (len(store.reads), purged) == (3, await answer_uncached())


async def test_a_late_write_is_part_of_the_past(harness: Harness) -> None:
    tea, cup = await harness.store_draft("green tea"), await harness.store_draft("a cup")
    slow = harness.clock.now()
    then = harness.clock.now()
    await harness.revise(tea.id, content="black tea")
    assert passages(await recall_as_of(harness, "tea", then)) == ["green tea", "a cup"]
    # A writer whose clock is behind: its versions are older than the cached overlay.
    late = replace(revised(await harness.get(tea.id), content="white tea"), updated_at=slow)
    await harness.store.commit(a_commit(a_rewrite(late), origin=an_origin(at=slow)))
    await harness.store.commit(a_commit(a_rewrite(replace(revised(cup, content="a mug"), updated_at=slow)),
                                      origin=an_origin(at=slow)))  # fmt: skip
    assert set(passages(await recall_as_of(harness, "tea", then))) == {"white tea", "a mug"}


def test_the_overlay_cache_is_limited_by_memories() -> None:
    cache = OverlayCache(max_memories=4)
    first, second, third = (OverlayKey(SPACE, START, "", criteria) for criteria in ("first", "second", "third"))
    for key in (first, second, third):
        cache.put(key, Overlay(memories={key.filter: a_memory(), "missing": None}), place=1)
    assert cache.get(first, place=1) is None
    assert cache.get(second, place=1) is not None
    assert cache.get(third, place=2) is None
    for requested, expected in ((first, second), (third, third), (replace(third, branch="b"), second)):
        similar = cache.find_similar(requested)
        assert similar is not None
        assert similar[0] == expected
    assert cache.find_similar(replace(third, as_of=START + timedelta(seconds=1))) is None


async def test_neighbours_are_of_that_day_too(harness: Harness) -> None:
    lines = [a_memory(text, source=replace(a_memory().source, session="s", at=START + timedelta(hours=number)))
             for number, text in enumerate(["one", "two tea", "three"])]  # fmt: skip
    await harness.store.commit(a_commit(*lines))
    harness.clock.advance(timedelta(days=1))
    then = harness.clock.now()
    await harness.revise(lines[0].id, content="other")
    (hit,) = (await harness.recall(RecallRequest(query="tea", as_of=then, around=1, limit=1))).hits
    assert [neighbour.passage for neighbour in hit.around] == ["one", "three"]


async def test_changes_beyond_the_limit_are_reported(harness: Harness) -> None:
    made = [await harness.store_draft(f"tea {number}") for number in range(4)]
    # Ids contain the time of creation, by the real clock.
    then = datetime.now(tz=START.tzinfo) + timedelta(days=1)
    harness.clock.set(then + timedelta(days=1))
    two_days = 2 * 86_400_000 << 80
    later = harness.clock.now()
    newer = a_memory("tea", id=str(UUID(int=UUID(made[0].id).int + two_days)), created_at=later, updated_at=later)
    await harness.store.commit(a_commit(newer))
    for memory in (*made, newer):
        await harness.revise(memory.id, content="milk")

    async def read_at_most(limit: int) -> OverlayReader:
        question = RecallRequest(query="tea", as_of=then)
        return await open_reader(
            question, space=SPACE, store=harness.store, now=then, max_memories=limit, cache=OverlayCache()
        )

    reader = await read_at_most(2)
    assert [memory.content for memory in await reader.get([memory.id for memory in made])] == ["tea 2", "tea 3"]
    assert reader.overlay.degraded == (
        f"2 of the memories that have changed since {to_iso(then)} are left out: at most 2 are read",
    )
    assert (await read_at_most(4)).overlay.degraded == ()


async def test_one_that_is_too_long_does_not_hide_the_others(harness: Harness) -> None:
    facts = tuple(Observation(text=f"tea {number}", recorded_at=START) for number in range(2_001))
    long, short = a_memory("", observations=facts), a_memory("tea leaves")
    await harness.store.commit(a_commit(long, short))
    harness.clock.advance(timedelta(days=1))
    then = harness.clock.now()
    for memory in (short, long):
        await harness.forget(memory.id)
    answer = await recall_as_of(harness, "tea", then)
    assert {hit.id for hit in answer.hits} == {long.id, short.id}
    assert answer.degraded == ("some memories are too long to be searched completely",)


async def test_a_damaged_version_is_reported(new_store: NewStores) -> None:
    class DamagedStore(SqliteStore):
        async def versions_at(self, space: str, ids: Sequence[str], *, at: datetime) -> dict[str, Version]:
            if torn.id in ids:
                raise BodyDamaged("version 1 is torn", memory_id=torn.id)
            return await super().versions_at(space, ids, at=at)

    harness = Harness(store=new_store(DamagedStore))
    first, torn, last = [await harness.store_draft(f"tea {number}") for number in range(3)]
    then = harness.clock.now()
    for memory in (first, torn, last):
        await harness.revise(memory.id, content="milk")
    answer = await recall_as_of(harness, "tea", then)
    assert {hit.id for hit in answer.hits} == {first.id, last.id}
    assert answer.degraded == ("version 1 is torn",)


@pytest.mark.parametrize("count", [0, 1, 2, 255, 256, 257, 300])
async def test_changed_memories_are_found_on_every_page(harness: Harness, count: int) -> None:
    made = [a_memory(created_at=START, updated_at=START + timedelta(seconds=number)) for number in range(300)]
    await harness.store.commit(a_commit(*made))
    at = START + timedelta(seconds=299 - count)
    changed = await read_changed_since(
        at, states=(State.LIVE, State.TRASHED), max_memories=1000, reader=TolerantReader(harness.store, space=SPACE)
    )
    assert list(changed.memories) == [memory.id for memory in reversed(made)][:count]
    assert changed.oldest == ({State.LIVE: made[300 - count].id} if count else {})


async def test_where_few_are_left_unchanged_they_are_found_among_many(harness: Harness) -> None:
    old = a_memory("green tea", created_at=START, updated_at=START)
    new = [
        a_memory("tea " * 3, created_at=START + timedelta(days=1), updated_at=START + timedelta(days=1))
        for _ in range(600)
    ]
    await harness.store.commit(a_commit(old, *new))
    assert [hit.id for hit in (await recall_as_of(harness, "tea", START)).hits] == [old.id]
    assert [hit.id for hit in (await recall_as_of(harness, "", START)).hits] == [old.id]


async def test_a_moment_has_a_zone(harness: Harness) -> None:
    with pytest.raises(InvalidInput, match="as_of"):
        await recall_as_of(harness, "tea", datetime(2026, 1, 1))  # noqa: DTZ001 - that it has no zone is the point


# ---- any history -----------------------------------------------------------------------

_WORDS = ("tea", "milk", "bees", "oslo", "bergen")
_ACTIONS = ("remember", "revise", "forget", "restore", "pin", "tag")
_actions = st.lists(
    st.tuples(st.sampled_from(_ACTIONS), st.integers(0, 5), st.sampled_from(_WORDS)), min_size=1, max_size=9
)


@given(actions=_actions)
@settings(few_examples, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
async def test_as_of_any_moment_it_answers_as_it_did_then(
    actions: list[tuple[str, int, str]], new_store: NewStores
) -> None:
    harness = Harness(store=new_store(), ranking=EXACT)
    questions = [RecallRequest(query=query, limit=50, max_tokens=50_000) for query in ("tea oslo", "", "bees")]
    questions.append(RecallRequest(query="", contains="e", filter=Filter(tags=("milk",)), limit=50, max_tokens=50_000))
    answered: list[tuple[datetime, list[list[str]]]] = []
    for action, which, word in actions:
        await _act(harness, action, which, word)
        answered.append(
            (harness.clock.now(), [_render(question, await harness.recall(question)) for question in questions])
        )
        # Repeated after each action: the cached overlay grows.
        moment, before = answered[0]
        assert [
            _render(question, await harness.recall(replace(question, as_of=moment))) for question in questions
        ] == before
    for moment, before in answered:
        again = [_render(question, await harness.recall(replace(question, as_of=moment))) for question in questions]
        assert again == before


def _render(question: RecallRequest, answer: Recalled) -> list[str]:
    """Render an answer; a ranking by words depends on their current frequencies, so only a list's order counts."""
    hits = [f"{hit.id} {hit.passage}" for hit in answer.hits]
    pinned = [f"pinned {hit.id} {hit.passage}" for hit in answer.pinned]
    return [*pinned, *(sorted(hits) if question.query else hits)]


async def _act(harness: Harness, action: str, which: int, word: str) -> None:
    ids = sorted(await harness.store.ids(SPACE, limit=100))
    if action == "remember" or not ids:
        await harness.remember(f"{word} and bread")
        return
    memory: Memory = await harness.get(ids[which % len(ids)])
    edits: dict[str, Callable[[], Awaitable[object]]] = {
        "revise": lambda: harness.revise(memory.id, content=f"{word} and honey"),
        "tag": lambda: harness.revise(memory.id, Edit(fields={"tags": [word]})),
        "pin": lambda: harness.revise(memory.id, pinned=not memory.pinned),
        "forget": lambda: harness.forget(memory.id),
        "restore": lambda: harness.restore(memory.id),
    }
    if (action == "restore") == (memory.state is State.TRASHED):
        await edits[action]()


def test_the_overlay_cache_is_limited_by_moments() -> None:
    cache = OverlayCache(max_memories=5, max_overlays=3)
    keys = [OverlayKey(SPACE, START + timedelta(days=number), "", "") for number in range(11)]
    for key in keys[:9]:
        cache.put(key, Overlay(memories={str(key): None}), place=1)
    assert [key for key in keys if cache.get(key, place=1)] == keys[6:9]
    cache.put(keys[9], Overlay(memories=dict.fromkeys("abcd")), place=1)
    assert [key for key in keys if cache.get(key, place=1)] == keys[8:10]
    cache.put(keys[10], Overlay(memories=dict.fromkeys("abcdef")), place=1)
    assert not any(cache.get(key, place=1) for key in keys)
