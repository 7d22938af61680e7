"""The same question is answered from the cache as long as the answer is the same."""

from datetime import timedelta

from tests.fakes.build import a_commit, a_memory
from tests.unit.harness import SPACE, Harness

from scrubjay.model.draft import Draft
from scrubjay.model.query import Filter
from scrubjay.model.requests import RecallRequest
from scrubjay.writing import synonyms


async def test_the_same_question_gets_the_very_same_answer(harness: Harness) -> None:
    await harness.store_draft("jays hide acorns")
    first = await harness.recall("acorns")
    assert await harness.recall("acorns") is first
    for other in (
        RecallRequest(query="acorns", limit=3),
        RecallRequest(query="acorns", explain=True),
        RecallRequest(query="jays"),
    ):
        assert await harness.recall(other) is not first
    assert await harness.recall("acorns", filter=Filter(kind="note")) is not first


async def test_every_change_of_the_space_makes_it_a_new_question(harness: Harness) -> None:
    jay = await harness.store_draft("jays hide acorns")
    for change in (
        lambda: harness.store_draft("more acorns"),
        lambda: harness.revise(jay.id, content="jays eat acorns"),
        lambda: harness.forget(jay.id),
        lambda: harness.restore(jay.id),
    ):
        before = await harness.recall("acorns")
        await change()
        after = await harness.recall("acorns")
        assert after is not before
        assert [hit.passage for hit in after.hits] != [hit.passage for hit in before.hits]


async def test_changes_of_other_spaces_do_not_matter(harness: Harness) -> None:
    await harness.store_draft("jays hide acorns")
    first = await harness.recall("acorns")
    await harness.store.commit(a_commit(a_memory("acorns of another space", space="elsewhere")))
    assert await harness.recall("acorns") is first


async def test_an_answer_ends_when_one_of_its_memories_expires(harness: Harness) -> None:
    await harness.store_draft(Draft(text="acorns for a while", expires_at=harness.clock.now() + timedelta(seconds=20)))
    await harness.store_draft("acorns for ever")
    assert len((await harness.recall("acorns")).hits) == 2
    harness.clock.advance(timedelta(seconds=19))
    assert len((await harness.recall("acorns")).hits) == 2
    harness.clock.advance(timedelta(seconds=1))
    assert [hit.passage for hit in (await harness.recall("acorns")).hits] == ["acorns for ever"]


async def test_an_answer_ends_when_one_of_its_memories_is_superseded(harness: Harness) -> None:
    end = harness.clock.now() + timedelta(seconds=20)
    await harness.store.commit(a_commit(a_memory("acorns for a while", valid_until=end)))
    assert len((await harness.recall("acorns")).hits) == 1
    harness.clock.set(end)
    assert (await harness.recall("acorns")).hits == ()


async def test_a_degraded_answer_is_not_cached(harness: Harness) -> None:
    await harness.store_draft("jays hide acorns")
    degraded = await harness.recall(RecallRequest(query="acorns", max_tokens=1))
    assert degraded.degraded
    assert await harness.recall(RecallRequest(query="acorns", max_tokens=1)) is not degraded


async def test_whole_memories_are_always_read(harness: Harness) -> None:
    jay = await harness.store_draft("jays hide acorns")
    question = RecallRequest(query="acorns", detail="full")
    await harness.recall(question)
    await harness.store.touch(SPACE, [jay.id], at=harness.clock.now())
    memory = (await harness.recall(question)).hits[0].memory
    assert memory is not None
    assert memory.access_count == 1


async def test_a_new_synonym_of_a_tag_holds_for_the_next_question(harness: Harness) -> None:
    await harness.store_draft(Draft(text="jays hide acorns", tags=("bird",)))
    for criteria in (Filter(tags=("vogel",)), Filter(any_tags=("oiseau",))):
        assert (await harness.recall("acorns", filter=criteria)).hits == ()
        variants = (*criteria.tags, *criteria.any_tags)
        await synonyms.add("bird", variants, space=SPACE, store=harness.store, now=harness.clock.now())
        assert len((await harness.recall("acorns", filter=criteria)).hits) == 1
