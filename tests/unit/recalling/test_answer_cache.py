"""The same question is answered from the cache as long as the answer is the same."""

from datetime import timedelta

from tests.fakes.build import a_commit, a_memory
from tests.unit.write_world import SPACE, Workshop

from scrubjay.model.draft import Draft
from scrubjay.model.query import Filter, Question


async def test_the_same_question_gets_the_very_same_answer(shop: Workshop) -> None:
    await shop.kept("jays hide acorns")
    first = await shop.recall("acorns")
    assert await shop.recall("acorns") is first
    for other in (Question(query="acorns", limit=3), Question(query="acorns", explain=True), Question(query="jays")):
        assert await shop.recall(other) is not first
    assert await shop.recall("acorns", filter=Filter(kind="note")) is not first


async def test_every_change_of_the_space_makes_it_a_new_question(shop: Workshop) -> None:
    jay = await shop.kept("jays hide acorns")
    for change in (
        lambda: shop.kept("more acorns"),
        lambda: shop.revise(jay.id, content="jays eat acorns"),
        lambda: shop.forget(jay.id),
        lambda: shop.restore(jay.id),
    ):
        before = await shop.recall("acorns")
        await change()
        after = await shop.recall("acorns")
        assert after is not before
        assert [hit.passage for hit in after.hits] != [hit.passage for hit in before.hits]


async def test_changes_of_other_spaces_do_not_matter(shop: Workshop) -> None:
    await shop.kept("jays hide acorns")
    first = await shop.recall("acorns")
    await shop.store.commit(a_commit(a_memory("acorns of another space", space="elsewhere")))
    assert await shop.recall("acorns") is first


async def test_an_answer_ends_when_one_of_its_memories_expires(shop: Workshop) -> None:
    await shop.kept(Draft(text="acorns for a while", expires_at=shop.clock.now() + timedelta(seconds=20)))
    await shop.kept("acorns for ever")
    assert len((await shop.recall("acorns")).hits) == 2
    shop.clock.advance(timedelta(seconds=19))
    assert len((await shop.recall("acorns")).hits) == 2
    shop.clock.advance(timedelta(seconds=1))
    assert [hit.passage for hit in (await shop.recall("acorns")).hits] == ["acorns for ever"]


async def test_an_answer_ends_when_one_of_its_memories_is_superseded(shop: Workshop) -> None:
    end = shop.clock.now() + timedelta(seconds=20)
    await shop.store.commit(a_commit(a_memory("acorns for a while", valid_until=end)))
    assert len((await shop.recall("acorns")).hits) == 1
    shop.clock.set(end)
    assert (await shop.recall("acorns")).hits == ()


async def test_a_degraded_answer_is_not_cached(shop: Workshop) -> None:
    await shop.kept("jays hide acorns")
    degraded = await shop.recall(Question(query="acorns", max_tokens=1))
    assert degraded.degraded
    assert await shop.recall(Question(query="acorns", max_tokens=1)) is not degraded


async def test_whole_memories_are_always_read(shop: Workshop) -> None:
    jay = await shop.kept("jays hide acorns")
    question = Question(query="acorns", detail="full")
    await shop.recall(question)
    await shop.store.touch(SPACE, [jay.id], at=shop.clock.now())
    memory = (await shop.recall(question)).hits[0].memory
    assert memory is not None
    assert memory.access_count == 1
