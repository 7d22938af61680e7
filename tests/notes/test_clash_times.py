"""Of a file and a memory that clash, the one that was written last is the newer, whenever the file was read."""

import os
import time
from pathlib import Path

import pytest

from tests.notes.vaults import AGENT, Desk

HOUR = 3600.0


async def test_a_file_that_was_saved_before_the_agent_wrote_is_the_older(desk: Desk) -> None:
    one, path = await _agreed(desk)
    _save(desk, path, "The file's word.")
    _pause()
    await desk.edit(one, content="The agent's word.")
    _pause()
    assert await _superseded(desk, one) == "The agent's word."


async def test_a_file_that_was_saved_after_the_agent_wrote_is_the_newer(desk: Desk) -> None:
    one, path = await _agreed(desk)
    await desk.edit(one, content="The agent's word.")
    _pause()
    _save(desk, path, "The file's word.")
    assert await _superseded(desk, one) == "The file's word."


@pytest.mark.parametrize("shift", [-HOUR, HOUR], ids=["before what it was made of", "in the future"])
async def test_a_time_that_cannot_be_does_not_count(desk: Desk, shift: float) -> None:
    one, path = await _agreed(desk)
    await desk.edit(one, content="The agent's word.")
    _save(desk, path, "The file's word.")
    os.utime(path, (time.time() + shift, time.time() + shift))
    # It counts from when it is read.
    assert await _superseded(desk, one) == "The file's word."


async def test_what_is_written_to_the_file_of_a_branch_counts_from_then(desk: Desk) -> None:
    one, path = await _agreed(desk)
    await desk.edit(one, content="The agent's word.")
    _pause()
    _save(desk, path, "The file's word.")
    await desk.sync()
    _save(desk, path, "The file's last word.", before="The file's word.")
    _pause()
    await desk.edit(one, content="The agent's last word.")
    _pause()
    assert await _superseded(desk, one) == "The agent's last word."


async def _agreed(desk: Desk) -> tuple[str, Path]:
    one = await desk.write("Nobody's word.", title="One")
    await desk.sync()
    _pause()
    return one, await desk.file(one)


def _save(desk: Desk, path: Path, text: str, *, before: str = "Nobody's word.") -> None:
    desk.save(path, path.read_text().replace(before, text))


def _pause() -> None:
    # The times of files are coarser than the clock.
    time.sleep(0.02)


async def _superseded(desk: Desk, one: str) -> str:
    """What the memory says when the newer has taken the place of the older; the file says the same."""
    await desk.sync()
    (conflict,) = await desk.engine.conflicts(who=AGENT)
    await desk.engine.resolve_conflict(conflict.id, who=AGENT, strategy="supersede")
    await desk.sync()
    content = (await desk.get(one)).content
    assert content in (await desk.file(one)).read_text()
    return content
