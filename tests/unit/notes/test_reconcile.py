"""What is done about a note, for all that may have become of its file and of its memory."""

from itertools import product

import pytest

from scrubjay.notes.sync.reconcile import File, Kept, Step, decide


@pytest.mark.parametrize(("agreed", "file", "kept"), list(product([True, False], File, Kept)))
def test_there_is_a_step_for_everything(agreed: bool, file: File, kept: Kept) -> None:
    step = decide(agreed=agreed, file=file, kept=kept)
    # What somebody changed in a file is never written over, and never removed, before it was taken.
    if file is File.CHANGED:
        assert step in (Step.TAKE, Step.JOIN, Step.RESCUE, Step.CREATE, Step.ADOPT, Step.RESTORE)
    # What the store has made of a note is never thrown away because a file is gone.
    if kept is Kept.CHANGED and file is File.MISSING:
        assert step is Step.WRITE
    # Only who knew what the memory says can delete it, and only a file that was there can be deleted.
    if step is Step.TRASH:
        assert agreed
        assert file is File.MISSING
        assert kept in (Kept.SAME, Kept.RELABELLED)
    if step is Step.REMOVE:
        assert agreed
        assert file is File.SAME
        assert kept in (Kept.AWAY, Kept.GONE)


def test_where_both_are_as_they_were_nothing_is_done() -> None:
    assert decide(agreed=True, file=File.SAME, kept=Kept.SAME) is Step.NOTHING
    assert decide(agreed=False, file=File.MISSING, kept=Kept.AWAY) is Step.NOTHING
