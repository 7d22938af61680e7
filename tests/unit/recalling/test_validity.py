"""A statement with an end is found until then, and not from then on."""

from datetime import timedelta

from tests.fakes.build import START, a_commit, a_memory, moment
from tests.unit.write_world import SPACE, Workshop

from scrubjay.model.draft import Limits
from scrubjay.model.memory import Memory, Observation
from scrubjay.model.query import Question, SearchText, TextsFound
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


async def passages(shop: Workshop, query: str) -> list[str]:
    return [hit.passage for hit in (await shop.recall(query)).hits]


async def search(shop: Workshop, query: str) -> TextsFound:
    return await search_text(
        SearchText(query=query), spaces=(SPACE,), now=shop.clock.now(), limits=Limits(), store=shop.store,
        text_caches=TextCaches(),
    )  # fmt: skip


async def test_an_observation_is_found_until_its_end(shop: Workshop) -> None:
    await shop.store.commit(a_commit(tenant(DOG)))
    assert await passages(shop, "flat in Oslo") == [LEASE]
    shop.clock.set(END)
    assert LEASE not in await passages(shop, "flat in Oslo")


async def test_a_memory_is_found_by_its_other_statements_after_one_has_ended(shop: Workshop) -> None:
    await shop.store.commit(a_commit(tenant(DOG, content="Sarah likes the flat with the dog")))
    shop.clock.set(END)
    question = Question(query="flat in Oslo dog", limit=1)
    assert [hit.passage for hit in (await shop.recall(question)).hits] == ["Sarah likes the flat with the dog"]


async def test_a_lower_passage_counts_if_the_best_one_has_ended(quick: Workshop) -> None:
    memories = [a_memory(f"rents a flat in Oslo, number {number}") for number in range(3)]
    await quick.store.commit(a_commit(tenant("saw a flat"), *memories))
    quick.clock.set(END)
    hits = (await quick.recall(Question(query="rents a flat in Oslo", limit=1, max_tokens=5_000))).hits
    assert len(hits) == 1
    every = (await quick.recall(Question(query="rents a flat in Oslo", limit=9, max_tokens=5_000))).hits
    assert {hit.name: hit.passage for hit in every}["sarah"] == "saw a flat"


async def test_an_answer_is_not_cached_beyond_the_end_of_an_observation(shop: Workshop) -> None:
    await shop.store.commit(a_commit(tenant(DOG)))
    shop.clock.set(END - timedelta(seconds=10))
    assert await passages(shop, "flat in Oslo") == [LEASE]
    shop.clock.set(END)
    assert LEASE not in await passages(shop, "flat in Oslo")


async def test_a_memory_shown_from_its_beginning_shows_current_statements(shop: Workshop) -> None:
    await shop.store.commit(a_commit(tenant(DOG)))
    assert await passages(shop, "") == [f"{LEASE}; {DOG}"]
    shop.clock.set(END)
    assert await passages(shop, "") == [DOG]


async def test_a_memory_contains_a_text_until_its_end(shop: Workshop) -> None:
    memory = tenant(DOG)
    await shop.store.commit(a_commit(memory))
    assert contains_text("FLAT", memory, now=START)
    assert not contains_text("flat", memory, now=END)
    question = Question(query="", contains="a flat")
    assert [hit.id for hit in (await shop.recall(question)).hits] == [memory.id]
    matches = await find_containing(
        "a flat", state=memory.state, space=SPACE, store=shop.store, text_caches=TextCaches()
    )
    assert matches.ids == (memory.id,)
    shop.clock.set(END)
    assert (await shop.recall(question)).hits == ()


async def test_full_text_search_covers_current_statements(shop: Workshop) -> None:
    await shop.store.commit(a_commit(tenant(DOG)))
    (hit,) = (await search(shop, "flat")).hits
    assert (hit.name, hit.matched, "flat" in hit.snippet) == ("sarah", ("observations",), True)
    assert [hit.name for hit in (await search(shop, "dog -Oslo")).hits] == []
    shop.clock.set(END)
    assert (await search(shop, "flat")).hits == ()
    (hit,) = (await search(shop, "dog -Oslo")).hits
    assert "flat" not in hit.snippet
