"""In a conflict, the side that was written last is the newer, whenever the file was read."""

import os
import time
from pathlib import Path

import pytest

from scrubjay.model.requests import ConflictsRequest, ResolveConflictRequest
from tests.scenarios.notes.harness import AGENT, VaultHarness

HOUR = 3600.0


async def test_a_file_that_was_saved_before_the_agent_wrote_is_the_older(harness: VaultHarness) -> None:
    note_id, path = await _synced_note(harness)
    _save(harness, path, "The file's word.")
    _pause()
    await harness.edit(note_id, content="The agent's word.")
    _pause()
    assert await _superseded(harness, note_id) == "The agent's word."


async def test_a_file_that_was_saved_after_the_agent_wrote_is_the_newer(harness: VaultHarness) -> None:
    note_id, path = await _synced_note(harness)
    await harness.edit(note_id, content="The agent's word.")
    _pause()
    _save(harness, path, "The file's word.")
    assert await _superseded(harness, note_id) == "The file's word."


@pytest.mark.parametrize("shift", [-HOUR, HOUR], ids=["before its base version", "in the future"])
async def test_an_implausible_time_does_not_count(harness: VaultHarness, shift: float) -> None:
    note_id, path = await _synced_note(harness)
    await harness.edit(note_id, content="The agent's word.")
    _save(harness, path, "The file's word.")
    os.utime(path, (time.time() + shift, time.time() + shift))
    # Its time is then the time of the read.
    assert await _superseded(harness, note_id) == "The file's word."


async def test_an_edit_of_a_branch_file_counts_from_its_save(harness: VaultHarness) -> None:
    note_id, path = await _synced_note(harness)
    await harness.edit(note_id, content="The agent's word.")
    _pause()
    _save(harness, path, "The file's word.")
    await harness.sync()
    _save(harness, path, "The file's last word.", before="The file's word.")
    _pause()
    await harness.edit(note_id, content="The agent's last word.")
    _pause()
    assert await _superseded(harness, note_id) == "The agent's last word."


async def _synced_note(harness: VaultHarness) -> tuple[str, Path]:
    note_id = await harness.write("The first word.", title="One")
    await harness.sync()
    _pause()
    return note_id, await harness.file(note_id)


def _save(harness: VaultHarness, path: Path, text: str, *, before: str = "The first word.") -> None:
    harness.save(path, path.read_text().replace(before, text))


def _pause() -> None:
    # The times of files are coarser than the clock.
    time.sleep(0.02)


async def _superseded(harness: VaultHarness, note_id: str) -> str:
    """Return the content after the newer side has superseded the older; the file has the same."""
    await harness.sync()
    (conflict,) = await harness.engine.conflicts(ConflictsRequest(), who=AGENT)
    await harness.engine.resolve_conflict(ResolveConflictRequest(id=conflict.id, strategy="supersede"), who=AGENT)
    await harness.sync()
    content = (await harness.get(note_id)).content
    assert content in (await harness.file(note_id)).read_text()
    return content
