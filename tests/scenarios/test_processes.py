"""Several processes on one data folder: none is locked out, no write is lost, and each sees the others' writes."""

import json
import subprocess
from contextlib import ExitStack
from pathlib import Path
from typing import cast

import pytest

from tests.scenarios.wiring import command, environment, open_wiring
from tests.scenarios.worker import Worker

BURST = 30
TURNS = 2


@pytest.mark.slow
def test_four_processes_write_and_read_at_once_from_the_first_moment_on(home: Path) -> None:
    """The folder does not exist yet, so that its creation is a race too."""
    with ExitStack() as stack:
        workers = [stack.enter_context(Worker(home, agent=f"agent-{number}")) for number in range(4)]
        shells = [start_command(stack, home, "remember", f"shell number {number}", "--json") for number in range(4)]
        for turn in range(TURNS):
            for number, worker in enumerate(workers):
                worker.send("burst", count=BURST, prefix=f"w{number}-{turn}")
            written = [memory_id for worker in workers for memory_id in cast("list[str]", worker.receive()["ids"])]
            assert len(set(written)) == 4 * BURST
            for worker in workers:
                worker.send("read", ids=written)
            for worker in workers:
                assert len(cast("list[str]", worker.receive()["contents"])) == 4 * BURST
        text = [finish(shell)["id"] for shell in shells]
        assert workers[0]("read", ids=text)["contents"] == [f"shell number {number}" for number in range(4)]
        for worker in workers:
            assert worker("status")["memories"] == {"live": TURNS * 4 * BURST + 4}
        assert workers[0]("doctor")["ok"]


@pytest.mark.slow
def test_one_holds_the_index_the_others_scan_and_find_the_same(home: Path) -> None:
    with Worker(home, agent="first") as first, Worker(home, agent="second") as second:
        first("burst", count=5, prefix="robin")
        assert len(cast("list[str]", first("recall", query="robin burst")["ids"])) == 5
        fresh = first("remember", text="a robin sings in the garden")["id"]
        assert index(first)["kind"] == "edge"
        assert fresh in cast("list[str]", second("recall", query="garden robin")["ids"])
        assert (index(second)["kind"], index(second)["holder"]) == ("scan", False)
        theirs = second("remember", text="the robin left the garden")["id"]
        recalled = first("recall", query="garden robin")
        assert {fresh, theirs} <= set(cast("list[str]", recalled["ids"]))
        assert recalled["degraded"] == []
        assert index(first)["lag"] == 0
        # The holder ends normally, and the next search of the other takes over.
        first.end()
        assert {fresh, theirs} <= set(cast("list[str]", second("recall", query="garden robin")["ids"]))
        assert (index(second)["kind"], index(second)["holder"], index(second)["points"]) == ("edge", True, 7)


@pytest.mark.slow
def test_a_holder_that_is_killed_is_followed_by_another(home: Path) -> None:
    with Worker(home, agent="first") as first, Worker(home, agent="second") as second:
        first("burst", count=20, prefix="robin")
        first("recall", query="robin")
        second("recall", query="robin")
        first("burst", count=20, prefix="wren")
        first.process.kill()
        first.process.wait()
        recalled = second("recall", query="wren burst", limit=50)
        assert len(cast("list[str]", recalled["ids"])) >= 20
        assert (index(second)["kind"], index(second)["points"], index(second)["problem"]) == ("edge", 40, "")
        assert second("doctor")["ok"]


@pytest.mark.slow
def test_an_edit_by_one_is_what_the_other_edits_next(home: Path) -> None:
    with Worker(home, agent="first") as first, Worker(home, agent="second") as second:
        first("remember", text="version one", name="shared")
        for version, worker in enumerate([second, first] * 5, start=2):
            assert worker("revise", id="shared", text=f"version {version}", expected_version=version - 1)
        assert first("read", ids="shared") == {"contents": ["version 11"], "versions": [11]}
        second("undo")
        second("forget", ids="shared")
        first.send("recall", query="version")
        assert first.receive()["ids"] == []


async def test_two_memories_in_one_process_share_a_folder_too(home: Path) -> None:
    async with open_wiring(home) as first, open_wiring(home) as second:
        done = await first.client().remember("the robin in the garden")
        assert [hit.id for hit in (await first.client().recall("robin")).hits] == [done.id]
        assert [hit.id for hit in (await second.client().recall("robin")).hits] == [done.id]
        assert [(await wiring.client().status()).index["holder"] for wiring in (first, second)] == [True, False]


def index(worker: Worker) -> dict[str, object]:
    return cast("dict[str, object]", worker("status")["index"])


def start_command(stack: ExitStack, home: Path, *arguments: str) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        command(*arguments),
        env=environment(home, SCRUBJAY_EMBEDDER="none"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
    )
    return stack.enter_context(process)


def finish(process: subprocess.Popen[str]) -> dict[str, str]:
    answer, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    return cast("dict[str, str]", json.loads(answer))
