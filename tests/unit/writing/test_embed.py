"""A text is embedded once; a failed embedding does not lose the text."""

from tests.fakes.build import MODEL
from tests.unit.harness import SPACE, Harness

from scrubjay.model.draft import Draft
from scrubjay.model.requests import Edit
from scrubjay.text.passages import passages_of


async def test_one_text_for_three_entities_is_embedded_once(harness: Harness) -> None:
    done = await harness.remember(Draft(text="Sarah of Acme likes jays", entities=("Sarah", "Acme", "jays")))
    assert harness.embedder.embedded == ["Sarah of Acme likes jays"]
    memory = await harness.get(done.id)
    assert len(await harness.store.vectors(SPACE, MODEL, [passages_of(memory)[0].hash])) == 1
    assert await harness.store.without_vectors(MODEL, limit=10) == []


async def test_a_change_of_labels_embeds_nothing(harness: Harness) -> None:
    memory = await harness.store_draft("tea")
    harness.embedder.embedded.clear()
    await harness.revise(memory.id, kind="fact", tags=["drink"], pinned=True)
    assert harness.embedder.embedded == []


async def test_going_back_to_an_earlier_text_embeds_nothing(harness: Harness) -> None:
    memory = await harness.store_draft("tea")
    await harness.revise(memory.id, content="coffee")
    harness.embedder.embedded.clear()
    await harness.revise(memory.id, content="tea")
    assert harness.embedder.embedded == []


async def test_only_the_new_observation_is_embedded(harness: Harness) -> None:
    memory = await harness.store_draft(Draft(text="", observations=("likes tea", "hates milk")))
    harness.embedder.embedded.clear()
    await harness.revise(memory.id, Edit(add_observations=("loves jays",)))
    assert harness.embedder.embedded == ["loves jays"]


async def test_without_a_model_the_text_is_stored_and_the_caller_warned(harness: Harness) -> None:
    harness.embedder.failing = True
    done = await harness.remember("tea")
    assert done.action == "created"
    assert "words only" in done.warnings[0]
    assert (await harness.get(done.id)).content == "tea"
    assert await harness.store.without_vectors(MODEL, limit=10) == [(SPACE, done.id)]
    revised = await harness.revise(done.id, content="coffee")
    assert "words only" in revised.warnings[0]


async def test_the_trace_tells_how_many_vectors_were_made(harness: Harness) -> None:
    done = await harness.remember(Draft(text="", observations=("likes tea", "hates milk")))
    assert [decision.outcome for decision in done.trace if decision.stage == "embed"] == ["2 new vectors"]
