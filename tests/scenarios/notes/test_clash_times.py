"""Of a file and a memory that clash, the one that was written last is the newer, whenever the file was read."""

import os
import time
from pathlib import Path

import pytest

from tests.scenarios.notes.vaults import AGENT, Desk

HOUR = 3600.0


async def test_a_file_that_was_saved_before_the_agent_wrote_is_the_older(context: Desk) -> None:
    item, path = await _agreed(context)
    _save(context, path, "The file's word.")
    _pause()
    await context.edit(item, content="The agent's word.")
    _pause()
    assert await _superseded(context, item) == "The agent's word."


async def test_a_file_that_was_saved_after_the_agent_wrote_is_the_newer(context: Desk) -> None:
    item, path = await _agreed(context)
    await context.edit(item, content="The agent's word.")
    _pause()
    _save(context, path, "The file's word.")
    assert await _superseded(context, item) == "The file's word."


@pytest.mark.parametrize("shift", [-HOUR, HOUR], ids=["before what it was made of", "in the future"])
async def test_a_time_that_cannot_be_does_not_count(context: Desk, shift: float) -> None:
    item, path = await _agreed(context)
    await context.edit(item, content="The agent's word.")
    _save(context, path, "The file's word.")
    os.utime(path, (time.time() + shift, time.time() + shift))
    # It counts from when it is read.
    assert await _superseded(context, item) == "The file's word."


async def test_what_is_written_to_the_file_of_a_branch_counts_from_then(context: Desk) -> None:
    item, path = await _agreed(context)
    await context.edit(item, content="The agent's word.")
    _pause()
    _save(context, path, "The file's word.")
    await context.sync()
    _save(context, path, "The file's last word.", before="The file's word.")
    _pause()
    await context.edit(item, content="The agent's last word.")
    _pause()
    assert await _superseded(context, item) == "The agent's last word."


async def _agreed(context: Desk) -> tuple[str, Path]:
    item = await context.write("Nobody's word.", title="One")
    await context.sync()
    _pause()
    return item, await context.file(item)


def _save(context: Desk, path: Path, text: str, *, before: str = "Nobody's word.") -> None:
    context.save(path, path.read_text().replace(before, text))


def _pause() -> None:
    # The times of files are coarser than the clock.
    time.sleep(0.02)


async def _superseded(context: Desk, one: str) -> str:
    """What the memory says when the newer has taken the place of the older; the file says the same."""
    await context.sync()
    (conflict,) = await context.engine.conflicts(who=AGENT)
    await context.engine.resolve_conflict(conflict.id, who=AGENT, strategy="supersede")
    await context.sync()
    content = (await context.get(one)).content
    assert content in (await context.file(one)).read_text()
    return content
