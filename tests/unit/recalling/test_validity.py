"""A statement with an end is found until then, and not from then on."""

from datetime import timedelta

from tests.fakes.build import START, a_commit, a_memory, moment
from tests.unit.harness import SPACE, Harness

from scrubjay.model.draft import Limits
from scrubjay.model.memory import Memory, Observation
from scrubjay.model.query import TextsFound
from scrubjay.model.requests import RecallRequest, SearchTextRequest
from scrubjay.recalling.fulltext import search_text
from scrubjay.recalling.substring import contains_text, find_containing
from scrubjay.recalling.text_cache import TextCaches

END = moment(86_400)
LEASE, DOG = "rents a flat in Oslo", "has a brown dog"


def tenant(*others: str, content: str = "") -> Memory:
    """A person who rents a flat until a day, with further observations."""
    lease = Observation(text=LEASE, recorded_at=START, valid_until=END)
    more = (Observation(text=other, recorded_at=START) for other in others)
    return a_memory(content, name="sarah", observations=(lease, *more))


async def passages(harness: Harness, query: str) -> list[str]:
    return [hit.passage for hit in (await harness.recall(query)).hits]


async def search(harness: Harness, query: str) -> TextsFound:
    return await search_text(
        SearchTextRequest(query=query), spaces=(SPACE,), now=harness.clock.now(), limits=Limits(), store=harness.store,
        text_caches=TextCaches(),
    )  # fmt: skip


async def test_an_observation_is_found_until_its_end(harness: Harness) -> None:
    await harness.store.commit(a_commit(tenant(DOG)))
    assert await passages(harness, "flat in Oslo") == [LEASE]
    harness.clock.set(END)
    assert LEASE not in await passages(harness, "flat in Oslo")


async def test_a_memory_is_found_by_its_other_statements_after_one_has_ended(harness: Harness) -> None:
    await harness.store.commit(a_commit(tenant(DOG, content="Sarah likes the flat with the dog")))
    harness.clock.set(END)
    question = RecallRequest(query="flat in Oslo dog", limit=1)
    assert [hit.passage for hit in (await harness.recall(question)).hits] == ["Sarah likes the flat with the dog"]


async def test_a_lower_passage_counts_if_the_best_one_has_ended(harness: Harness) -> None:
    memories = [a_memory(f"rents a flat in Oslo, number {number}") for number in range(3)]
    await harness.store.commit(a_commit(tenant("saw a flat"), *memories))
    harness.clock.set(END)
    hits = (await harness.recall(RecallRequest(query="rents a flat in Oslo", limit=1, max_tokens=5_000))).hits
    assert len(hits) == 1
    every = (await harness.recall(RecallRequest(query="rents a flat in Oslo", limit=9, max_tokens=5_000))).hits
    assert {hit.name: hit.passage for hit in every}["sarah"] == "saw a flat"


async def test_an_answer_is_not_cached_beyond_the_end_of_an_observation(harness: Harness) -> None:
    await harness.store.commit(a_commit(tenant(DOG)))
    harness.clock.set(END - timedelta(seconds=10))
    assert await passages(harness, "flat in Oslo") == [LEASE]
    harness.clock.set(END)
    assert LEASE not in await passages(harness, "flat in Oslo")


async def test_a_memory_shown_from_its_beginning_shows_current_statements(harness: Harness) -> None:
    await harness.store.commit(a_commit(tenant(DOG)))
    assert await passages(harness, "") == [f"{LEASE}; {DOG}"]
    harness.clock.set(END)
    assert await passages(harness, "") == [DOG]


async def test_a_memory_contains_a_text_until_its_end(harness: Harness) -> None:
    memory = tenant(DOG)
    await harness.store.commit(a_commit(memory))
    assert contains_text("FLAT", memory, now=START)
    assert not contains_text("flat", memory, now=END)
    question = RecallRequest(query="", contains="a flat")
    assert [hit.id for hit in (await harness.recall(question)).hits] == [memory.id]
    matches = await find_containing(
        "a flat", state=memory.state, space=SPACE, store=harness.store, text_caches=TextCaches()
    )
    assert matches.ids == (memory.id,)
    harness.clock.set(END)
    assert (await harness.recall(question)).hits == ()


async def test_full_text_search_covers_current_statements(harness: Harness) -> None:
    await harness.store.commit(a_commit(tenant(DOG)))
    (hit,) = (await search(harness, "flat")).hits
    assert (hit.name, hit.matched, "flat" in hit.snippet) == ("sarah", ("observations",), True)
    assert [hit.name for hit in (await search(harness, "dog -Oslo")).hits] == []
    harness.clock.set(END)
    assert (await search(harness, "flat")).hits == ()
    (hit,) = (await search(harness, "dog -Oslo")).hits
    assert "flat" not in hit.snippet
