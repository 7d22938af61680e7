"""`recall` with `as_of`: what was answered on a day is answered as of that day, whatever has happened since."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.fakes import FakeStore
from tests.fakes.build import START, a_commit, a_memory, a_rewrite, an_origin, revised
from tests.unit.strategies import few
from tests.unit.write_world import SPACE, Workshop

from scrubjay.errors import BodyDamaged, InvalidInput
from scrubjay.lookup.references import SoundReader
from scrubjay.model.draft import Draft, Edit
from scrubjay.model.memory import Memory, Observation, State
from scrubjay.model.query import Filter, Question
from scrubjay.model.ranking import Ranking
from scrubjay.model.results import Recalled
from scrubjay.model.timestamps import to_iso
from scrubjay.model.version import Version
from scrubjay.recalling.overlay.as_of import bygone
from scrubjay.recalling.overlay.overlay import Overlay, OverlayKey, OverlayReader, Overlays
from scrubjay.recalling.overlay.reader import open_reader

# Words that are taken for others depend on which words there are by now.
EXACT = Ranking(without=frozenset({"typos", "kin"}))


def passages(found: Recalled) -> list[str]:
    return [hit.passage for hit in found.hits]


async def asked(
    shop: Workshop, query: str, at: datetime, *, contains: str = "", filter: Filter | None = None
) -> Recalled:
    return await shop.recall(Question(query=query, as_of=at, contains=contains, filter=filter or Filter()))


async def test_a_memory_says_what_it_said_on_that_day(shop: Workshop) -> None:
    before = shop.clock.now()
    office = await shop.remember("The office is in Oslo")
    first = shop.clock.now()
    await shop.revise(office.id, content="The office is in Bergen")
    second = shop.clock.now()
    await shop.forget(office.id)
    for query in ("where is the office?", ""):
        assert passages(await asked(shop, query, before)) == []
        assert passages(await asked(shop, query, first)) == ["The office is in Oslo"]
        assert passages(await asked(shop, query, second)) == ["The office is in Bergen"]
        assert passages(await asked(shop, query, shop.clock.now())) == []
        assert passages(await shop.recall(query)) == []


async def test_a_word_that_nothing_has_any_more_is_still_known(shop: Workshop) -> None:
    cup = await shop.remember("Sarah drinks lapsang")
    await shop.remember("Bob keeps bees")
    then = shop.clock.now()
    await shop.revise(cup.id, content="Sarah drinks water")
    hit, *_ = (await shop.recall(Question(query="lapsang", as_of=then, explain=True))).hits
    assert hit.passage == "Sarah drinks lapsang"
    assert hit.why[0].endswith("lapsang")
    assert hit.score > 1


async def test_what_was_written_later_is_not_told_and_what_was_not_changed_is(shop: Workshop) -> None:
    await shop.remember("green tea in the morning")
    then = shop.clock.now()
    await shop.remember("black tea in the evening")
    for query in ("tea", ""):
        assert passages(await asked(shop, query, then)) == ["green tea in the morning"]
        assert passages(await asked(shop, query, then, contains="EVENING")) == []
        assert passages(await asked(shop, query, then, contains="Morning")) == ["green tea in the morning"]


async def test_it_was_found_by_what_it_was_filed_under_then(shop: Workshop) -> None:
    tea = await shop.remember(Draft(text="tea", kind="fact"))
    then = shop.clock.now()
    await shop.revise(tea.id, kind="note")
    assert passages(await asked(shop, "tea", then, filter=Filter(kind="fact"))) == ["tea"]
    assert passages(await asked(shop, "tea", then, filter=Filter(kind="note"))) == []
    assert passages(await asked(shop, "tea", then, filter=Filter(state=State.TRASHED))) == []


async def test_what_is_restored_was_in_the_trash_then(shop: Workshop) -> None:
    tea = await shop.remember("tea")
    await shop.forget(tea.id)
    then = shop.clock.now()
    await shop.restore(tea.id)
    assert passages(await asked(shop, "tea", then)) == []
    assert passages(await asked(shop, "tea", then, filter=Filter(state=State.TRASHED))) == ["tea"]


async def test_expiry_and_superseding_count_from_that_day(shop: Workshop) -> None:
    day = timedelta(days=1)
    await shop.remember(Draft(text="milk in the fridge", expires_at=START + day))
    await shop.store.commit(
        a_commit(a_memory("milk from the shop", created_at=START, updated_at=START, valid_until=START + day))
    )
    shop.clock.advance(3 * day)
    assert passages(await shop.recall("milk")) == []
    assert passages(await asked(shop, "milk", START + 2 * day)) == []
    assert sorted(passages(await asked(shop, "milk", START + day / 2))) == ["milk from the shop", "milk in the fridge"]


async def test_an_observation_that_was_superseded_held_before(shop: Workshop) -> None:
    sarah = await shop.kept(Draft(text="", name="sarah", observations=("lives in Oslo", "has a dog")))
    then = shop.clock.now()
    first, dog = sarah.observations
    now = shop.clock.now()
    later = replace(
        revised(sarah), updated_at=now,
        observations=(replace(first, valid_until=now), dog, Observation(text="lives in Bergen", recorded_at=now)),
    )  # fmt: skip
    await shop.store.commit(a_commit(a_rewrite(later)))
    (hit,) = (await shop.recall(Question(query="Oslo Bergen", explain=True))).hits
    assert hit.passage == "lives in Bergen"
    assert hit.why[-1] == "observation 3 of 3"
    assert (await shop.recall("")).hits[0].passage == "has a dog; lives in Bergen"
    assert (await asked(shop, "Oslo Bergen", then)).hits[0].passage == "lives in Oslo"
    assert (await asked(shop, "", then)).hits[0].passage == "lives in Oslo; has a dog"
    assert (await shop.recall(Question(query="", contains="oslo"))).hits == ()


async def test_what_was_pinned_then_comes_first(shop: Workshop) -> None:
    await shop.remember(Draft(text="always tea", pinned=True))
    unpinned = await shop.remember(Draft(text="once a profile", pinned=True))
    pinned = await shop.remember("a profile now")
    then = shop.clock.now()
    await shop.revise(unpinned.id, pinned=False)
    await shop.revise(pinned.id, pinned=True)
    gone = await asked(shop, "profile", then)
    assert [hit.passage for hit in gone.pinned] == ["always tea", "once a profile"]
    assert passages(gone) == ["a profile now"]


async def test_recency_and_yesterday_count_from_that_day(shop: Workshop) -> None:
    await shop.remember("the boiler was mended")
    shop.clock.advance(timedelta(days=1))
    then = shop.clock.now()
    shop.clock.advance(timedelta(days=200))
    (hit,) = (
        await shop.recall(Question(query="what happened to the boiler yesterday?", as_of=then, explain=True))
    ).hits
    assert any(one.startswith("date +") for one in hit.why)
    (now,) = (await shop.recall("boiler")).hits
    (old,) = (await asked(shop, "boiler", then)).hits
    assert old.score > now.score


async def test_pages_of_the_past_go_on_where_the_last_one_ended(shop: Workshop) -> None:
    made = [await shop.remember(f"tea {number}") for number in range(8)]
    then = shop.clock.now()
    for number in (0, 3, 5):
        await shop.revise(made[number].id, content=f"milk {number}")
    await shop.forget(made[6].id)
    for query in ("tea", ""):
        seen, cursor = list[str](), ""
        while not seen or cursor:
            page = await shop.recall(Question(query=query, as_of=then, limit=3), cursor=cursor)
            seen += passages(page)
            cursor = page.cursor
        assert sorted(seen) == [f"tea {number}" for number in range(8)]
    assert seen == [f"tea {number}" for number in reversed(range(8))]
    page = await shop.recall(Question(query="tea", as_of=then, limit=3))
    for other in (Question(query="tea", limit=3), Question(query="tea", limit=3, as_of=then, branch="x")):
        with pytest.raises(InvalidInput, match="cursor"):
            await shop.recall(other, cursor=page.cursor)


async def test_an_answer_of_the_past_is_not_one_of_now(shop: Workshop) -> None:
    tea = await shop.remember("green tea")
    then = shop.clock.now()
    await shop.revise(tea.id, content="black tea")
    for _ in range(2):
        assert passages(await shop.recall("tea")) == ["black tea"]
        assert passages(await asked(shop, "tea", then)) == ["green tea"]


async def test_the_past_is_read_once_until_something_changes_or_is_purged(quick: Workshop) -> None:
    quick.store = store = Counting()
    tea = await quick.remember("green tea")
    then = quick.clock.now()
    await quick.revise(tea.id, content="black tea")
    for query in ("tea", "green", ""):
        assert passages(await asked(quick, query, then)) == ["green tea"]
    assert store.reads == [tea.id]
    quick.answers.clear()
    assert passages(await asked(quick, "tea", then)) == ["green tea"]
    assert store.reads == [tea.id] * 2


class Counting(FakeStore):
    """Knows of which memories the past was read."""

    def __init__(self) -> None:
        super().__init__()
        self.reads: list[str] = []

    async def versions_at(self, space: str, ids: Sequence[str], *, at: datetime) -> dict[str, Version]:
        self.reads += ids
        return await super().versions_at(space, ids, at=at)


async def test_after_a_write_only_what_has_changed_is_read(quick: Workshop) -> None:
    quick.store = store = Counting()
    made = [await quick.kept(f"tea {number} of a kind") for number in range(5)]
    then = quick.clock.now()
    for one in made[:3]:
        await quick.revise(one.id, content="milk")
    question = Question(query="tea", as_of=then, limit=20, max_tokens=9_000, explain=True)

    async def first_asked() -> Recalled:
        """As somebody answers who has kept nothing."""
        return await Workshop(store=store, clock=quick.clock).recall(question)

    assert len((await quick.recall(question)).hits) == 5
    new = await quick.kept("tea that is newer")
    await quick.revise(made[0].id, content="water")
    await quick.forget(made[1].id)
    await quick.revise(made[4].id, content="coffee")
    store.reads.clear()
    again = await quick.recall(question)
    assert sorted(store.reads) == sorted([new.id, made[4].id])
    assert again == await first_asked()
    # Another filter, and what was kept for this one is not of use for all of it.
    store.reads.clear()
    tagged = replace(question, filter=Filter(kind=made[0].kind))
    assert len((await quick.recall(tagged)).hits) == 5
    assert store.reads == []
    await quick.revise(made[2].id, kind="other")
    assert len((await quick.recall(tagged)).hits) == 5
    await quick.forget(made[0].id)
    await quick.purge(made[0].id, made[1].id)
    store.reads.clear()
    purged = await quick.recall(question)
    assert {hit.id for hit in purged.hits} == {one.id for one in made[2:]}
    assert (len(store.reads), purged) == (3, await first_asked())


async def test_who_writes_late_what_was_said_before_is_heard(quick: Workshop) -> None:
    tea, cup = await quick.kept("green tea"), await quick.kept("a cup")
    slow = quick.clock.now()
    then = quick.clock.now()
    await quick.revise(tea.id, content="black tea")
    assert passages(await asked(quick, "tea", then)) == ["green tea", "a cup"]
    # A clock that is behind: its versions are older than what was told.
    late = replace(revised(await quick.get(tea.id), content="white tea"), updated_at=slow)
    await quick.store.commit(a_commit(a_rewrite(late), origin=an_origin(at=slow)))
    await quick.store.commit(a_commit(a_rewrite(replace(revised(cup, content="a mug"), updated_at=slow)),
                                      origin=an_origin(at=slow)))  # fmt: skip
    assert set(passages(await asked(quick, "tea", then))) == {"white tea", "a mug"}


def test_no_more_of_the_past_is_kept_than_may_be() -> None:
    asides = Overlays(most=4)
    first, second, third = (OverlayKey(SPACE, START, "", wanted) for wanted in ("first", "second", "third"))
    for key in (first, second, third):
        asides.put(key, Overlay(told={key.wanted: a_memory(), "nobody": None}), place=1)
    assert asides.get(first, place=1) is None
    assert asides.get(second, place=1) is not None
    assert asides.get(third, place=2) is None
    for asked_for, found in ((first, second), (third, third), (replace(third, branch="b"), second)):
        like = asides.like(asked_for)
        assert like is not None
        assert like[0] == found
    assert asides.like(replace(third, at=START + timedelta(seconds=1))) is None


async def test_what_is_said_around_it_is_of_that_day_too(shop: Workshop) -> None:
    lines = [a_memory(text, source=replace(a_memory().source, session="s", at=START + timedelta(hours=number)))
             for number, text in enumerate(["one", "two tea", "three"])]  # fmt: skip
    await shop.store.commit(a_commit(*lines))
    shop.clock.advance(timedelta(days=1))
    then = shop.clock.now()
    await shop.revise(lines[0].id, content="other")
    (hit,) = (await shop.recall(Question(query="tea", as_of=then, around=1, limit=1))).hits
    assert [one.passage for one in hit.around] == ["one", "three"]


async def test_more_changes_than_can_be_read_are_said(quick: Workshop) -> None:
    made = [await quick.kept(f"tea {number}") for number in range(4)]
    # Ids tell when they were made, by the real clock.
    then = datetime.now(tz=START.tzinfo) + timedelta(days=1)
    quick.clock.set(then + timedelta(days=1))
    two_days = 2 * 86_400_000 << 80
    later = quick.clock.now()
    newer = a_memory("tea", id=str(UUID(int=UUID(made[0].id).int + two_days)), created_at=later, updated_at=later)
    await quick.store.commit(a_commit(newer))
    for one in (*made, newer):
        await quick.revise(one.id, content="milk")

    async def at_most(most: int) -> OverlayReader:
        question = Question(query="tea", as_of=then)
        return await open_reader(question, space=SPACE, store=quick.store, now=then, most=most, asides=Overlays())

    reader = await at_most(2)
    assert [memory.content for memory in await reader.get([one.id for one in made])] == ["tea 2", "tea 3"]
    assert reader.aside.degraded == (f"2 more memories have changed since {to_iso(then)} than are read as they were",)
    assert (await at_most(4)).aside.degraded == ()


async def test_one_that_is_too_long_does_not_hide_the_others(quick: Workshop) -> None:
    facts = tuple(Observation(text=f"tea {number}", recorded_at=START) for number in range(2_001))
    long, short = a_memory("", observations=facts), a_memory("tea leaves")
    await quick.store.commit(a_commit(long, short))
    quick.clock.advance(timedelta(days=1))
    then = quick.clock.now()
    for one in (short, long):
        await quick.forget(one.id)
    found = await asked(quick, "tea", then)
    assert {hit.id for hit in found.hits} == {long.id, short.id}
    assert found.degraded == ("some of what was said is too long to be searched whole",)


async def test_a_version_that_cannot_be_read_is_told_as_a_problem() -> None:
    class Torn(FakeStore):
        async def versions_at(self, space: str, ids: Sequence[str], *, at: datetime) -> dict[str, Version]:
            if torn.id in ids:
                raise BodyDamaged("version 1 is torn", memory_id=torn.id)
            return await super().versions_at(space, ids, at=at)

    shop = Workshop(store=Torn())
    first, torn, last = [await shop.kept(f"tea {number}") for number in range(3)]
    then = shop.clock.now()
    for one in (first, torn, last):
        await shop.revise(one.id, content="milk")
    found = await asked(shop, "tea", then)
    assert {hit.id for hit in found.hits} == {first.id, last.id}
    assert found.degraded == ("version 1 is torn",)


@pytest.mark.parametrize("count", [0, 1, 2, 255, 256, 257, 300])
async def test_the_changed_are_found_whichever_page_they_end_on(quick: Workshop, count: int) -> None:
    made = [a_memory(created_at=START, updated_at=START + timedelta(seconds=number)) for number in range(300)]
    await quick.store.commit(a_commit(*made))
    at = START + timedelta(seconds=299 - count)
    past = await bygone(at, states=(State.LIVE, State.TRASHED), most=1000, reader=SoundReader(quick.store, space=SPACE))
    assert list(past.then) == [memory.id for memory in reversed(made)][:count]
    assert past.last == ({State.LIVE: made[300 - count].id} if count else {})


async def test_where_few_are_left_unchanged_they_are_found_among_many(quick: Workshop) -> None:
    old = a_memory("green tea", created_at=START, updated_at=START)
    new = [
        a_memory("tea " * 3, created_at=START + timedelta(days=1), updated_at=START + timedelta(days=1))
        for _ in range(600)
    ]
    await quick.store.commit(a_commit(old, *new))
    assert [hit.id for hit in (await asked(quick, "tea", START)).hits] == [old.id]
    assert [hit.id for hit in (await asked(quick, "", START)).hits] == [old.id]


@pytest.mark.parametrize("moment", ["2026-01-01", datetime(2026, 1, 1)])  # noqa: DTZ001 - that it has no zone is the point
async def test_a_moment_has_a_zone(quick: Workshop, moment: datetime) -> None:
    with pytest.raises(InvalidInput, match="as_of"):
        await asked(quick, "tea", moment)


# ---- whatever has happened ------------------------------------------------------------------------

_WORDS = ("tea", "milk", "bees", "oslo", "bergen")
_DEEDS = ("remember", "revise", "forget", "restore", "pin", "tag")
_deeds = st.lists(
    st.tuples(st.sampled_from(_DEEDS), st.integers(0, 5), st.sampled_from(_WORDS)), min_size=1, max_size=9
)


@given(_deeds)
@few
async def test_as_of_any_moment_it_answers_as_it_did_then(deeds: list[tuple[str, int, str]]) -> None:
    shop = Workshop(store=FakeStore(), ranking=EXACT)
    questions = [Question(query=query, limit=50, max_tokens=50_000) for query in ("tea oslo", "", "bees")]
    questions.append(Question(query="", contains="e", filter=Filter(tags=("milk",)), limit=50, max_tokens=50_000))
    answered: list[tuple[datetime, list[list[str]]]] = []
    for deed, which, word in deeds:
        await _do(shop, deed, which, word)
        answered.append((shop.clock.now(), [_told(await shop.recall(question)) for question in questions]))
        # Asked again after each deed: what was kept before is added to.
        moment, before = answered[0]
        assert [_told(await shop.recall(replace(question, as_of=moment))) for question in questions] == before
    for moment, before in answered:
        again = [_told(await shop.recall(replace(question, as_of=moment))) for question in questions]
        assert again == before


def _told(found: Recalled) -> list[str]:
    """What was told; ranked by words, the order goes by how common these are by now."""
    hits = [f"{hit.id} {hit.passage}" for hit in found.hits]
    pinned = [f"pinned {hit.id} {hit.passage}" for hit in found.pinned]
    return [*pinned, *(hits if found.hits and not found.hits[0].score else sorted(hits))]


async def _do(shop: Workshop, deed: str, which: int, word: str) -> None:
    ids = sorted(await shop.store.ids(SPACE, limit=100))
    if deed == "remember" or not ids:
        await shop.remember(f"{word} and bread")
        return
    memory: Memory = await shop.get(ids[which % len(ids)])
    ways: dict[str, Callable[[], Awaitable[object]]] = {
        "revise": lambda: shop.revise(memory.id, content=f"{word} and honey"),
        "tag": lambda: shop.revise(memory.id, Edit(fields={"tags": [word]})),
        "pin": lambda: shop.revise(memory.id, pinned=not memory.pinned),
        "forget": lambda: shop.forget(memory.id),
        "restore": lambda: shop.restore(memory.id),
    }
    if (deed == "restore") == (memory.state is State.TRASHED):
        await ways[deed]()


def test_of_many_moments_the_last_few_are_kept() -> None:
    asides = Overlays(most=5, moments=3)
    keys = [OverlayKey(SPACE, START + timedelta(days=number), "", "") for number in range(11)]
    for key in keys[:9]:
        asides.put(key, Overlay(told={str(key): None}), place=1)
    assert [key for key in keys if asides.get(key, place=1)] == keys[6:9]
    asides.put(keys[9], Overlay(told=dict.fromkeys("abcd")), place=1)
    assert [key for key in keys if asides.get(key, place=1)] == keys[8:10]
    asides.put(keys[10], Overlay(told=dict.fromkeys("abcdef")), place=1)
    assert not any(asides.get(key, place=1) for key in keys)
