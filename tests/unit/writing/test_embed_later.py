"""The end of a long text is embedded later: the text and a job for it are stored in one commit."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from tests.fakes.build import MODEL
from tests.unit.harness import SPACE, Harness

from scrubjay.detection.neighbours import MAX_COMPARED
from scrubjay.model.draft import Draft
from scrubjay.model.job import COLLECTION, EMBEDDING, Job
from scrubjay.model.requests import Edit
from scrubjay.text.passages import passages_of
from scrubjay.writing.many import embed_drafts, write_together
from scrubjay.writing.pipeline import remember

# So many passages are embedded while the caller waits.
AT_ONCE = 16_000


def pages(count: int, *, of: str = "harbour") -> str:
    """Return a text of so many passages, all different."""
    return "\n\n".join(f"Page {number} of the {of} book. {f'word{number} ' * 100}".strip() for number in range(count))


@pytest.fixture
def harness(harness: Harness) -> Harness:
    """The write path of a server that runs jobs."""
    harness.defers = True
    return harness


async def left(harness: Harness) -> set[str]:
    """Return the memories that jobs will embed."""
    jobs = [
        Job.from_document(document)
        for document in await harness.store.documents(SPACE, COLLECTION, after="", limit=100)
    ]
    return {str(job.about["memory_id"]) for job in jobs if job.kind == EMBEDDING}


def embedded(texts: Sequence[str]) -> int:
    return sum(map(len, texts))


async def test_only_the_beginning_of_a_long_text_is_embedded_before_the_answer(harness: Harness) -> None:
    done = await harness.remember(pages(60))
    passages = passages_of(await harness.get(done.id))
    made = harness.embedder.embedded
    assert AT_ONCE - 1_000 < embedded(made) <= AT_ONCE
    assert MAX_COMPARED < len(made) < len(passages)
    # The first passages, by which the whole text is compared.
    hashes = await harness.store.embedded(SPACE, MODEL, [passage.hash for passage in passages])
    assert hashes == {passage.hash for passage in passages[: len(made)]}
    assert any("its end is found by its words only" in warning for warning in done.warnings)
    assert [(decision.outcome, decision.why) for decision in done.trace if decision.stage == "embed"] == [
        (f"{len(made)} new vectors", "the others follow")
    ]
    assert await left(harness) == {done.id}
    assert await harness.store.without_vectors(MODEL, limit=10) == [(SPACE, done.id)]


async def test_the_end_of_a_long_text_is_found_by_its_words_at_once(harness: Harness) -> None:
    done = await harness.remember(pages(60))
    recalled = await harness.recall("word59")
    assert [hit.id for hit in recalled.hits] == [done.id]


@pytest.mark.parametrize("draft", [Draft(text=pages(15)), Draft(text="", observations=("likes tea", "hates milk"))])
async def test_a_short_text_is_embedded_whole(harness: Harness, draft: Draft) -> None:
    done = await harness.remember(draft)
    assert done.warnings == ()
    assert await left(harness) == set()
    assert await harness.store.without_vectors(MODEL, limit=10) == []


async def test_many_short_texts_count_by_their_length_and_not_by_their_number(harness: Harness) -> None:
    await harness.remember(Draft(text="", observations=tuple(f"lamp {number} burns oil" for number in range(300))))
    assert len(harness.embedder.embedded) == 300
    assert await left(harness) == set()


async def test_without_jobs_a_long_text_is_embedded_whole(harness: Harness) -> None:
    harness.defers = False
    done = await harness.remember(pages(60))
    assert done.warnings == ()
    assert await left(harness) == set()
    assert await harness.store.without_vectors(MODEL, limit=10) == []


async def test_each_record_of_a_long_text_has_a_job_and_a_dry_run_none(harness: Harness) -> None:
    draft = Draft(text=pages(40), entities=("Ada", "Bo", "Cy"))
    await harness.remember(replace(draft, dry_run=True))
    assert await left(harness) == set()
    done = await harness.remember(draft)
    assert await left(harness) == set(done.ids)


async def test_a_memory_that_becomes_long_is_embedded_later_too(harness: Harness) -> None:
    memory = await harness.store_draft("The harbour book.")
    harness.embedder.embedded.clear()
    done = await harness.revise(memory.id, content=pages(60))
    assert embedded(harness.embedder.embedded) <= AT_ONCE
    assert any("its end is found by its words only" in warning for warning in done.warnings)
    assert await left(harness) == {memory.id}


async def test_a_new_passage_of_a_long_memory_is_embedded_at_once(harness: Harness) -> None:
    harness.defers = False
    memory = await harness.store_draft(Draft(text=pages(60)))
    harness.defers = True
    harness.embedder.embedded.clear()
    done = await harness.revise(memory.id, Edit(add_observations=("The lighthouse is red.",)))
    assert harness.embedder.embedded == ["The lighthouse is red."]
    assert done.warnings == ()
    assert await left(harness) == set()


async def test_a_long_text_and_the_memory_it_continues_are_both_embedded_later(harness: Harness) -> None:
    first = await harness.remember(Draft(text=pages(60), session_hint="s", intent="continue"))
    harness.embedder.embedded.clear()
    done = await harness.remember(Draft(text=pages(60, of="river"), session_hint="s", intent="continue"))
    assert done.merged_into == first.id
    assert embedded(harness.embedder.embedded) <= AT_ONCE
    assert len(done.warnings) == 1
    lacking = {memory_id for _, memory_id in await harness.store.without_vectors(MODEL, limit=10)}
    assert len(lacking) == 2
    assert await left(harness) == lacking


async def test_of_several_drafts_no_more_is_begun_than_is_embedded_at_once(harness: Harness) -> None:
    drafts = [Draft(text=pages(40, of=name)) for name in ("harbour", "river")]
    embedded_drafts = await embed_drafts(drafts, space=SPACE, origin=harness.origin(), context=harness.context)
    async with write_together(embedded_drafts, space=SPACE, context=harness.context) as context:
        outcomes = [await remember(draft, space=SPACE, origin=harness.origin(), context=context) for draft in drafts]
    made = harness.embedder.embedded
    assert len(set(made)) == len(made)
    assert AT_ONCE < embedded(made) <= 2 * AT_ONCE
    assert await left(harness) == {outcome.answer.id for outcome in outcomes}
