"""A log is extracted, its facts are found, extracting it again changes nothing, and undo reverts all of it."""

import json
import os
import threading
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from scrubjay.app import open_engine
from scrubjay.client import MemoryClient
from scrubjay.model.caller import Caller
from scrubjay.model.job import Job
from scrubjay.model.requests import ExtractRequest
from scrubjay.paths import database_file
from scrubjay.settings import Settings
from scrubjay.surfaces.cli import extract as command
from tests.command_line import invoke
from tests.patience import PATIENCE
from tests.unit.extraction.scripted import ScriptedModel

LOG = """[2026-05-01 10:00] Ann: Hey Ben! How are you?
[2026-05-01 10:01] Ben: Good! I moved to Lisbon last month and
started a new job at a bakery.
[2026-05-01 10:02] Ann: Wow, that's great! I always run before breakfast.
[2026-05-01 10:03] Ben: I prefer tea to coffee.
[2026-05-01 10:04] Ann: If I had time I'd visit you. Maybe in June?
"""


async def test_a_log_becomes_memories_once_and_can_be_taken_back(tmp_path: Path) -> None:
    async with open_engine(Settings.load(home=str(tmp_path), embedder="none", vector_index="scan")) as engine:
        memory = MemoryClient.over(engine, Caller(agent="reader"))
        preview = await memory.extract(LOG, store=False)
        assert [fact.fact.turn for fact in preview.facts] == ["2", "3", "4"]
        done = await memory.extract(LOG)
        assert [(fact.action, fact.fact.subject) for fact in done.facts] == [
            ("created", "Ben"),
            ("created", "Ann"),
            ("created", "Ben"),
        ]
        hits = (await memory.recall("what does Ben prefer to drink, tea?")).hits
        assert hits[0].passage == "Ben: I prefer tea to coffee."
        assert hits[0].date.isoformat() == "2026-05-01T10:03:00+00:00"
        before = await memory.status()
        again = await memory.extract(LOG)
        assert {fact.action for fact in again.facts} == {"unchanged"}
        assert (await memory.status()).versions == before.versions
        undone = await memory.undo(run=done.run)
        assert {change.id for change in undone.done} == {fact.id for fact in done.facts}
        assert (await memory.recall("tea")).hits == ()
        assert {fact.action for fact in (await memory.extract(LOG)).facts} == {"created"}


class RecordingJobs:
    """A job queue that records its jobs."""

    def __init__(self) -> None:
        self.jobs: list[Job] = []

    async def take(self, jobs: Sequence[Job], *, waits: bool) -> None:
        assert not waits
        self.jobs += jobs


async def test_later_extraction_goes_to_the_job_queue(tmp_path: Path) -> None:
    jobs_ = RecordingJobs()
    async with open_engine(Settings.load(home=str(tmp_path), embedder="none", vector_index="scan")) as engine:
        with_model = replace(engine, llm=ScriptedModel(), job_runner=jobs_)
        done = await with_model.extract(ExtractRequest(text=LOG, method="patterns"), who=Caller(agent="reader"))
    assert jobs_.jobs
    assert {str(job.about["memory_id"]) for job in jobs_.jobs} <= {fact.id for fact in done.facts}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SCRUBJAY_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("SCRUBJAY_EMBEDDER", "none")
    # A dry run makes no memory; in an empty file one begins.
    (tmp_path / "data").mkdir()
    database_file(tmp_path / "data").touch()
    return tmp_path


def test_the_command_reads_a_file_or_what_is_piped(folder: Path) -> None:
    log = folder / "chat.txt"
    log.write_text(LOG, encoding="utf-8")
    shown = invoke(["extract", str(log), "--dry-run"])
    assert shown.code == 0, shown.output
    assert "preference  Ben" in shown.output
    assert "3 facts in 5 turns, by patterns: nothing stored" in shown.output
    stored = invoke(["extract", "-", "--session", "s1", "--json"], stdin=LOG)
    assert json.loads(stored.output)["session"] == "s1"
    again = invoke(["extract", str(log), "--session", "s1"])
    assert "3 unchanged" in again.output
    assert "say which one you are with `me` (Ann, Ben)" in again.output
    mine = invoke(["extract", str(log), "--session", "s1", "--me", "ann"])
    assert "2 unchanged, 1 updated" in mine.output
    assert "warning" not in mine.output
    assert "The speakers are: Ann, Ben" in invoke(["extract", str(log), "--me", "Zoe"]).output


def test_the_command_says_what_is_wrong_with_a_file(folder: Path) -> None:
    broken = folder / "broken.json"
    broken.write_bytes(b"\x89PNG\xff")
    assert "not UTF-8" in invoke(["extract", str(broken)]).output
    broken.write_bytes(b"PK\x03\x04\x14\x00")
    assert "Unpack it" in invoke(["extract", str(broken)]).output
    broken.write_text('{"orders": [{"id": 7, "total": 12.5}]}', encoding="utf-8")
    assert "the log has no turns" in invoke(["extract", str(broken)]).output
    broken.write_text(LOG, encoding="utf-16")
    assert "3 facts" in invoke(["extract", str(broken), "--dry-run"]).output
    assert "there is no file" in invoke(["extract", str(folder / "nowhere")]).output
    assert "not valid JSON" in invoke(["extract", "-"], stdin='{"messages": [').output
    assert "is empty" in invoke(["extract", "-"], stdin="").output


def test_the_command_reads_a_pipe_with_a_name_until_its_end(folder: Path) -> None:
    pipe = folder / "pipe"
    os.mkfifo(pipe)

    def write() -> None:
        with pipe.open("w", encoding="utf-8") as stream:
            for line in LOG.splitlines(keepends=True):
                stream.write(line)
                stream.flush()

    writer = threading.Thread(target=write, daemon=True)
    writer.start()
    shown = invoke(["extract", str(pipe), "--dry-run"])
    writer.join(PATIENCE)
    assert "3 facts in 5 turns" in shown.output


def test_the_command_reads_no_more_than_the_limit(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "_MAX_BYTES", len(LOG) - 1)
    log = folder / "chat.txt"
    log.write_text(LOG, encoding="utf-8")
    for text in (invoke(["extract", str(log)]), invoke(["extract", "-"], stdin=LOG)):
        assert (text.code != 0, f"is larger than {len(LOG) - 1} bytes" in text.output) == (True, True)
    monkeypatch.setattr(command, "_MAX_BYTES", len(LOG))
    assert "3 facts" in invoke(["extract", str(log), "--dry-run"]).output
    assert "3 facts" in invoke(["extract", "-", "--dry-run"], stdin=LOG).output
    # The command reports a file that it cannot read.
    assert "cannot be read: Is a directory" in invoke(["extract", str(folder)]).output
