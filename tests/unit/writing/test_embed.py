"""One text, one embedding; and no embedding is no reason to lose a text."""

from tests.fakes.build import MODEL
from tests.unit.write_world import SPACE, Workshop

from scrubjay.model.draft import Draft, Edit
from scrubjay.text.passages import passages_of


async def test_one_text_for_three_entities_is_embedded_once(shop: Workshop) -> None:
    done = await shop.remember(Draft(text="Sarah of Acme likes jays", entities=("Sarah", "Acme", "jays")))
    assert shop.embedder.embedded == ["Sarah of Acme likes jays"]
    memory = await shop.get(done.id)
    assert len(await shop.store.vectors(SPACE, MODEL, [passages_of(memory)[0].hash])) == 1
    assert await shop.store.without_vectors(MODEL, limit=10) == []


async def test_a_change_of_labels_embeds_nothing(shop: Workshop) -> None:
    memory = await shop.kept("tea")
    shop.embedder.embedded.clear()
    await shop.revise(memory.id, kind="fact", tags=["drink"], pinned=True)
    assert shop.embedder.embedded == []


async def test_going_back_to_an_earlier_text_embeds_nothing(shop: Workshop) -> None:
    memory = await shop.kept("tea")
    await shop.revise(memory.id, content="coffee")
    shop.embedder.embedded.clear()
    await shop.revise(memory.id, content="tea")
    assert shop.embedder.embedded == []


async def test_only_the_new_observation_is_embedded(shop: Workshop) -> None:
    memory = await shop.kept(Draft(text="", observations=("likes tea", "hates milk")))
    shop.embedder.embedded.clear()
    await shop.revise(memory.id, Edit(add_observations=("loves jays",)))
    assert shop.embedder.embedded == ["loves jays"]


async def test_without_a_model_the_text_is_stored_and_the_caller_warned(shop: Workshop) -> None:
    shop.embedder.failing = True
    done = await shop.remember("tea")
    assert done.action == "created"
    assert "words only" in done.warnings[0]
    assert (await shop.get(done.id)).content == "tea"
    assert await shop.store.without_vectors(MODEL, limit=10) == [(SPACE, done.id)]
    revised = await shop.revise(done.id, content="coffee")
    assert "words only" in revised.warnings[0]


async def test_the_trace_tells_how_many_vectors_were_made(quick: Workshop) -> None:
    done = await quick.remember(Draft(text="", observations=("likes tea", "hates milk")))
    assert [one.outcome for one in done.trace if one.stage == "embed"] == ["2 new vectors"]
