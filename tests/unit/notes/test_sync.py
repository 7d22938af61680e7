"""The table of the sync: there is a step for every state of the file and the memory."""

from itertools import product

import pytest

from scrubjay.notes.sync import FileChange, MemoryChange, Step, decide


@pytest.mark.parametrize(("has_entry", "file", "memory"), list(product([True, False], FileChange, MemoryChange)))
def test_there_is_a_step_for_every_state(has_entry: bool, file: FileChange, memory: MemoryChange) -> None:
    step = decide(has_entry=has_entry, file=file, memory=memory)
    # An edit in a file is never overwritten or removed before it has been stored.
    if file is FileChange.CHANGED:
        assert step in (Step.READ, Step.MERGE, Step.RESCUE, Step.CREATE, Step.ADOPT, Step.RESTORE)
    # A change in the store is never discarded because a file is missing.
    if memory is MemoryChange.CHANGED and file is FileChange.MISSING:
        assert step is Step.WRITE
    # A deleted file trashes only a memory that the file showed, and only an unchanged file is removed.
    if step is Step.TRASH:
        assert has_entry
        assert file is FileChange.MISSING
        assert memory in (MemoryChange.SAME, MemoryChange.RELINKED)
    if step is Step.REMOVE:
        assert has_entry
        assert file is FileChange.SAME
        assert memory in (MemoryChange.INACTIVE, MemoryChange.PURGED)


def test_without_a_change_there_is_nothing_to_do() -> None:
    assert decide(has_entry=True, file=FileChange.SAME, memory=MemoryChange.SAME) is Step.NOTHING
    assert decide(has_entry=False, file=FileChange.MISSING, memory=MemoryChange.INACTIVE) is Step.NOTHING
