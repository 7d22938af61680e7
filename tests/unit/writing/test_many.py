"""`remember_many`: the same results as one `remember` after the other, with one commit for each chunk."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.new_files import NewStores, new_stores
from tests.unit.harness import PLAIN, SPACE, Harness

from scrubjay.errors import DiskFull, InvalidInput, KeyReused, TooLarge
from scrubjay.model.draft import Draft, Limits
from scrubjay.model.memory import Memory, State
from scrubjay.model.query import Filter
from scrubjay.model.results import Remembered, RememberedMany
from scrubjay.model.rules import Rules
from scrubjay.ports import Commit, Committed
from scrubjay.storage.sqlite import SqliteStore
from scrubjay.versions.undo import undo
from scrubjay.writing.many import CHUNK, MAX_ATOMIC
from scrubjay.writing.pipeline import remember


def notes(count: int, *, intent: Literal["auto", "new"] = "auto") -> list[Draft]:
    return [Draft(text=f"Note {number} is about subject {number * 7919}.", intent=intent) for number in range(count)]


def actions(many: RememberedMany) -> list[str]:
    return [item.result.action if item.result else "failed" for item in many.items]


async def live(harness: Harness) -> list[Memory]:
    ids = await harness.store.list_ids(SPACE, Filter(), limit=10_000)
    return list((await harness.store.get(SPACE, ids)).values())


async def test_every_draft_is_stored_in_order(harness: Harness) -> None:
    steps: list[tuple[int, int]] = []
    many = await harness.remember_many(notes(CHUNK + 20), progress=lambda done, total: steps.append((done, total)))
    assert actions(many) == ["created"] * (CHUNK + 20)
    assert [item.index for item in many.items] == list(range(CHUNK + 20))
    # The first and the last commits are small: nothing is stored before the model has the first vectors, and it has no
    # work while the last texts are stored.
    assert steps == [(10, 70), (30, 70), (50, 70), (60, 70), (70, 70)]
    assert {memory.content for memory in await live(harness)} == {draft.text for draft in notes(CHUNK + 20)}
    assert many.counts == {"created": CHUNK + 20}


async def test_an_empty_batch_stores_nothing(harness: Harness) -> None:
    assert await harness.remember_many([]) == RememberedMany()


async def test_a_chunk_is_one_commit_and_its_texts_are_embedded_together(harness: Harness) -> None:
    await harness.remember_many(notes(10))
    recalled = await harness.recall("subject 7919")
    assert recalled.hits
    assert len({change.run for change in await harness.store.changes(after=0, limit=100)}) == 1


async def test_a_duplicate_within_the_batch_is_reported(harness: Harness) -> None:
    many = await harness.remember_many([*notes(2), *notes(1)])
    assert actions(many) == ["created", "created", "unchanged"]
    assert many.items[2].result is not None
    assert many.items[0].result is not None
    assert many.items[2].result.id == many.items[0].result.id


async def test_a_bad_item_names_its_field_and_the_others_are_stored(harness: Harness) -> None:
    harness.limits = Limits(text_bytes=100)
    bad = [Draft(text=""), Draft(text="x" * 200), Draft(text="fine", intent="maybe")]  # type: ignore[arg-type]
    many = await harness.remember_many([*notes(1), *bad, *notes(2)[1:]])
    assert actions(many) == ["created", "failed", "failed", "failed", "created"]
    errors = [item.error for item in many.items if item.error]
    assert [(error.code, error.field) for error in errors] == [
        ("invalid_input", "text"), ("too_large", "text"), ("invalid_input", "intent"),
    ]  # fmt: skip
    assert len(await live(harness)) == 2
    assert many.counts == {"created": 2, "failed": 3}


async def test_a_name_that_is_taken_fails_alone(harness: Harness) -> None:
    named = [replace(draft, name="same") for draft in notes(3)]
    many = await harness.remember_many(named)
    assert actions(many) == ["created", "failed", "failed"]
    assert many.items[1].error is not None
    assert many.items[1].error.code == "name_taken"
    assert len(await live(harness)) == 1


async def test_an_atomic_batch_is_stored_whole_or_not_at_all(harness: Harness) -> None:
    drafts = [*notes(3), Draft(text=""), replace(notes(5)[4], intent="maybe")]
    with pytest.raises(InvalidInput) as error:
        await harness.remember_many(drafts, atomic=True)
    assert "2 of 5 drafts" in error.value.message
    assert [line.partition(":")[0] for line in error.value.fields["items"]] == ["item 3 (text)", "item 4 (intent)"]  # type: ignore[union-attr]
    assert await live(harness) == []
    assert harness.jobs == []
    assert actions(await harness.remember_many(notes(CHUNK + 1), atomic=True)) == ["created"] * (CHUNK + 1)


async def test_an_atomic_batch_with_a_rejected_draft_stores_nothing(harness: Harness) -> None:
    harness.rules = replace(PLAIN, density="reject")
    with pytest.raises(InvalidInput, match="item 1"):
        await harness.remember_many([*notes(1), Draft(text="ok")], atomic=True)
    assert await live(harness) == []


async def test_an_atomic_batch_has_a_limit(harness: Harness) -> None:
    with pytest.raises(TooLarge, match="1,001 drafts are too many"):
        await harness.remember_many(notes(MAX_ATOMIC + 1), atomic=True)


async def test_a_dry_run_stores_nothing_and_sees_its_own_duplicates(harness: Harness) -> None:
    stored = await harness.remember(notes(1)[0])
    many = await harness.remember_many([*notes(2), *notes(2)], dry_run=True)
    assert many.dry_run
    assert actions(many) == ["unchanged", "created", "unchanged", "unchanged"]
    assert [item.result.id for item in many.items if item.result] == [stored.id, "", stored.id, ""]
    assert len(await live(harness)) == 1


async def test_the_same_batch_under_one_key_gets_the_first_answer(harness: Harness) -> None:
    drafts = [*notes(3), *notes(1), Draft(text="")]
    first = await harness.remember_many(drafts, key="batch")
    again = await harness.remember_many(drafts, key="batch")
    assert actions(again) == actions(first) == ["created", "created", "created", "unchanged", "failed"]
    assert [item.result.id for item in again.items if item.result] == [
        item.result.id for item in first.items if item.result
    ]
    assert len(await live(harness)) == 3


async def test_drafts_that_are_always_new_are_stored_once_under_one_key(harness: Harness) -> None:
    drafts = notes(3, intent="new")
    await harness.remember_many(drafts, key="batch")
    await harness.remember_many(drafts, key="batch")
    assert len(await live(harness)) == 3


async def test_a_changed_batch_under_the_same_key_is_refused(harness: Harness) -> None:
    await harness.remember_many(notes(2), key="batch")
    with pytest.raises(KeyReused):
        await harness.remember_many(notes(3), key="batch")
    with pytest.raises(KeyReused):
        await harness.remember_many(notes(2), key="batch", atomic=True)
    assert len(await live(harness)) == 2


async def test_an_item_may_have_a_key_of_its_own(harness: Harness) -> None:
    keyed = Draft(text="Keyed by its caller.", idempotency_key="mine")
    first = await harness.remember(keyed)
    many = await harness.remember_many([keyed, replace(keyed, text="Another text.")])
    assert actions(many) == ["created", "failed"]
    assert many.items[0].result is not None
    assert many.items[0].result.id == first.id
    assert many.items[1].error is not None
    assert many.items[1].error.code == "key_reused"


async def test_undo_takes_back_the_whole_batch(harness: Harness) -> None:
    await harness.remember_many(notes(3))
    await undo(run="", agent="tester", space=SPACE, origin=harness.origin(run="other"), store=harness.store)
    assert await live(harness) == []


async def test_without_a_model_everything_is_stored_without_vectors(harness: Harness) -> None:
    harness.embedder.failing = True
    many = await harness.remember_many(notes(3))
    assert actions(many) == ["created"] * 3
    assert all(item.result and "without vectors" in item.result.warnings[0] for item in many.items)


async def test_single_writes_of_the_same_text_wait_for_the_batch(harness: Harness) -> None:
    harness.rules = Rules()
    drafts = notes(30)
    writing = asyncio.create_task(harness.remember_many(drafts))
    await asyncio.gather(*(harness.remember(draft) for draft in reversed(drafts)))
    assert len((await writing).items) == 30
    texts = [memory.content for memory in await live(harness)]
    assert len(texts) == len(set(texts))


class _FullDisk(SqliteStore):
    """A store whose disk is full after some commits."""

    commits_left = CHUNK + 10

    async def commit(self, commit: Commit) -> Committed:
        type(self).commits_left -= 1
        if type(self).commits_left < 0:
            raise DiskFull("no room left")
        return await super().commit(commit)


async def test_a_failing_store_keeps_whole_chunks_only(new_store: NewStores) -> None:
    harness = Harness(store=new_store(_FullDisk))
    with pytest.raises(DiskFull):
        await harness.remember_many(notes(2 * CHUNK))
    # Chunks of ten and of twenty; the next, of 35, has no room.
    assert len(await live(harness)) == 30


SUBJECTS = ("the server", "Anna", "the parrot", "our office")
STATEMENTS = (
    "{} runs in Berlin since March", "{} has moved to Lisbon", "{} is blue", "{} is not blue", "{} likes green tea",
    "{} likes green tea very much", "{} likes black tea", "{} costs 40 euros", "{} costs 45 euros",
)  # fmt: skip
texts = st.builds(str.format, st.sampled_from(STATEMENTS), st.sampled_from(SUBJECTS))
drafts_ = st.builds(
    Draft,
    text=texts,
    entities=st.sampled_from([(), (), ("Anna",), ("Anna", "Parrot")]),
    tags=st.sampled_from([(), ("tea",), ("teas", "colour"), ("colours",)]),
    name=st.sampled_from(["", "", "", "fixed-name"]),
    intent=st.sampled_from(["auto", "auto", "auto", "new"]),
    session_hint=st.sampled_from(["", "", "monday"]),
) | st.builds(Draft, text=texts, intent=st.just("continue"), session_hint=st.just("monday"))


@settings(max_examples=40, deadline=None)
@given(before=st.lists(drafts_, max_size=4), drafts=st.lists(drafts_, min_size=1, max_size=14))
def test_a_batch_equals_one_write_after_the_other(before: list[Draft], drafts: list[Draft]) -> None:
    async def compare() -> None:
        async with new_stores() as stores:
            first, second = (Harness(store=stores(), rules=Rules()) for _ in range(2))
            for harness in (first, second):
                await _remember_each(harness, before)
            one_by_one = await _remember_each(first, drafts)
            many = await second.remember_many(drafts)
            together = [item.result or (item.error.code if item.error else "") for item in many.items]
            assert _comparable(together) == _comparable(one_by_one)
            assert await _contents(second) == await _contents(first)

    asyncio.run(compare())


async def _remember_each(harness: Harness, drafts: Sequence[Draft]) -> list[Remembered | str]:
    results: list[Remembered | str] = []
    for index, draft in enumerate(drafts):
        origin = harness.origin()
        origin = replace(origin, at=origin.at + timedelta(microseconds=index))
        try:
            outcome = await remember(draft, space=SPACE, origin=origin, context=harness.context)
        except InvalidInput as error:
            results.append(error.code)
        except Exception as error:  # noqa: BLE001 - an item of a batch reports the same code
            results.append(getattr(error, "code", type(error).__name__))
        else:
            results.append(outcome.answer)
    return results


def _comparable(results: Sequence[Remembered | str]) -> list[object]:
    """Return the answers with the numbers of memories instead of their ids, and without derived names."""
    numbers: dict[str, int] = {}

    def number(memory_id: str) -> int:
        return numbers.setdefault(memory_id, len(numbers)) if memory_id else -1

    return [
        answer
        if isinstance(answer, str)
        else (
            answer.action, number(answer.id), [number(memory_id) for memory_id in answer.ids], answer.version,
            answer.tags, number(answer.merged_into), answer.similarity, answer.flags, answer.suggested_entities,
            len(answer.warnings), [(similar.similarity, similar.differs) for similar in answer.similar],
            sorted(conflict.type for conflict in answer.conflicts),
            [(decision.stage, decision.outcome) for decision in answer.trace],
        )
        for answer in results
    ]  # fmt: skip


async def _contents(harness: Harness) -> Sequence[object]:
    memories: list[Memory] = []
    for state in (State.LIVE, State.MERGED):
        ids = await harness.store.list_ids(SPACE, Filter(state=state), limit=100)
        memories += (await harness.store.get(SPACE, ids)).values()
    return sorted(
        (memory.state.value, memory.content, memory.version, memory.tags, memory.entity, memory.kind)
        for memory in memories
    )
