"""Many linked notes that change at the same time: prefetched states must not be stale."""

from scrubjay.model.requests import RelateRequest
from scrubjay.notes.sync.state import StatePrefetch
from tests.scenarios.notes.harness import AGENT, VaultHarness

MANY = 40


async def test_notes_that_are_renamed_together_use_the_new_names(harness: VaultHarness) -> None:
    def text(number: int, word: str) -> str:
        return f"See [[{word} {(number + 1) % MANY}]] and [[{word} {number // 2 if number else 7}]]."

    ids = [await harness.write(text(number, "Note"), title=f"Note {number}") for number in range(MANY)]
    await harness.sync()
    assert await harness.vault.drift() == ()
    for number, note_id in enumerate(ids):
        await harness.edit(note_id, title=f"Name {number}", category="new" if number % 3 else "")
    # Once, as the vault does while it follows the store.
    await harness.vault.sync_changes()
    for number, note_id in enumerate(ids):
        assert (await harness.get(note_id)).content == text(number, "Name")
        assert text(number, "Name") in (await harness.file(note_id)).read_text()
    assert await harness.vault.drift() == ()


async def test_notes_that_are_deleted_together_leave_no_links(harness: VaultHarness) -> None:
    ids = [await harness.write(f"Text {number}.", title=f"Note {number}") for number in range(MANY)]
    for note_id, other in zip(ids, [*ids[1:], ids[0]], strict=True):
        await harness.engine.relate(RelateRequest(source=note_id, target=other), who=AGENT)
    await harness.sync()
    for note_id in ids[::2]:
        await harness.forget(note_id)
    await harness.vault.sync_changes()
    assert len(harness.files()) == MANY // 2
    assert not [name for name in harness.files() if "[[" in (harness.root / name).read_text()]
    for note_id in ids[::2]:
        await harness.restore(note_id)
    await harness.vault.sync_changes()
    assert all((harness.root / name).read_text().count("[[") == 2 for name in harness.files())
    assert await harness.vault.drift() == ()


async def test_a_prefetched_state_is_loaded_again_after_a_change(harness: VaultHarness) -> None:
    note_id, other, third = [await harness.write(f"{name}.", title=name) for name in ("One", "Two", "Three")]
    await harness.engine.relate(RelateRequest(source=note_id, target=other), who=AGENT)
    await harness.sync()
    prefetch = StatePrefetch(harness.vault._context)
    states = await prefetch.load([note_id, other, third])
    assert await prefetch.get(third) is states[third]
    # A note shows the titles of the notes that it links to.
    await harness.edit(other, title="Second")
    assert (await prefetch.get(note_id)).linked[0].text == "Second"
    assert (await prefetch.get(other)).require_shown().title == "Second"
    states = await prefetch.load([note_id, other, third])
    assert await prefetch.get(note_id) is states[note_id]
    # A prefetched state is handed out once; the next request loads it again.
    assert await prefetch.get(note_id) is not states[note_id]
    await harness.engine.relate(RelateRequest(source=third, target=other), who=AGENT)
    assert len((await prefetch.get(third)).linked) == 1
    assert len((await prefetch.get(other)).linked) == 2
