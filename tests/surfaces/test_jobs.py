"""Jobs: list, run, retry and cancel them; and a daemon runs them with the configured model."""

import asyncio
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import cast

import httpx2
import pytest
from tests.patience import PATIENCE
from tests.surfaces.background_daemon import background_daemon
from tests.surfaces.shell import run, run_json
from tests.unit.llm.chat_server import ChatServer, Reply, json_reply

from scrubjay import MemoryClient, Settings
from scrubjay.app import open_engine
from scrubjay.jobs.queue import Queue
from scrubjay.model.caller import Caller
from scrubjay.model.draft import Draft
from scrubjay.model.job import Job, JobState
from scrubjay.model.memory import Json

NOTE = "We renewed the OAuth token of the command line for harbour."
SPACE = "default"


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with ChatServer() as opened:
        opened.default_reply = lambda _: json_reply(tags=["oauth", "token", "harbour"])
        yield opened


async def enqueue_job(settings: Settings, *, kind: str = "tags") -> Job:
    """Store a memory, and enqueue a job about it."""
    async with open_engine(settings) as engine:
        done = await engine.remember(Draft(text=NOTE, intent="new"), who=Caller(space=SPACE))
        queue = Queue(documents=engine.documents, clock=engine.clock)
        return await queue.enqueue(kind, {"memory_id": done.id}, space=SPACE)


def list_jobs() -> list[dict[str, Json]]:
    return cast("list[dict[str, Json]]", run_json("jobs", "list")["jobs"])


def test_a_job_is_listed_run_retried_and_cancelled(settings: Settings) -> None:
    assert run("jobs", "list").out.strip() == "no jobs"
    job = asyncio.run(enqueue_job(settings))
    (row,) = list_jobs()
    assert (row["id"], row["kind"], row["state"], row["tries"]) == (job.id, "tags", "waiting", 0)
    assert run_json("jobs", "run") == {"tried": 0, "elsewhere": False}
    (row,) = list_jobs()
    assert (row["state"], row["outcome"]) == ("waiting", "there is no language model")
    assert job.id in run("jobs", "list").out
    assert run_json("jobs", "retry", job.id)["action"] == "retrying"
    assert run("jobs", "cancel", job.id).out.startswith("cancelled tags")
    assert list_jobs() == []
    assert run("jobs", "retry", job.id).code != 0


def test_a_command_runs_due_jobs_with_the_configured_model(
    settings: Settings, server: ChatServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    asyncio.run(enqueue_job(settings))
    monkeypatch.setenv("SCRUBJAY_LLM", "openai:tiny")
    monkeypatch.setenv("SCRUBJAY_LLM_URL", server.url)
    assert run_json("jobs", "run") == {"tried": 1, "elsewhere": False}
    (row,) = list_jobs()
    assert (row["state"], row["outcome"]) == ("done", "tags suggested: version 2")


async def test_a_daemon_runs_at_its_start_the_jobs_left_before(settings: Settings, server: ChatServer) -> None:
    job = await enqueue_job(settings)
    chosen = replace(settings, llm="openai:tiny", llm_url=server.url)
    with background_daemon(chosen) as running:
        async with MemoryClient(settings=chosen) as client:
            done = await wait_for_job(client, job.id)
            (memory,) = (await client.read([str(job.about["memory_id"])])).memories
        assert (done.state, done.outcome) == (JobState.DONE, "tags suggested: version 2")
        assert memory.tags[-3:] == ("oauth", "token", "harbour")
        async with httpx2.AsyncClient(base_url=f"{running.http}/api/v1") as web:
            (row,) = (await web.get("/jobs")).json()["jobs"]
            assert (row["id"], row["state"]) == (job.id, "done")
            assert (await web.post(f"/jobs/{job.id}/retry")).json()["state"] == "waiting"
            assert (await web.get("/jobs", params={"limit": 0})).status_code == 422
            assert (await web.delete("/jobs/nobody")).status_code == 404
            assert (await web.delete(f"/jobs/{job.id}")).status_code in (200, 404)
        assert await asyncio.to_thread(run_json, "jobs", "run") == {"tried": 0, "elsewhere": True}


async def test_a_write_is_improved_later_and_does_not_wait(settings: Settings, server: ChatServer) -> None:
    chosen = replace(settings, llm="openai:tiny", llm_url=server.url)
    with background_daemon(chosen):
        async with MemoryClient(settings=chosen) as client:
            done = await client.remember("Renewed it for harbour.", tags=["auth"], intent="new")
            assert (done.action, done.version) == ("created", 1)
            (job,) = await client.jobs()
            assert (job.kind, job.about["memory_id"]) == ("tags", done.id)
            assert (await wait_for_job(client, job.id)).outcome == "tags suggested: version 2"
            (memory,) = (await client.read([done.id])).memories
            assert memory.tags == ("auth", "harbour")
            # The job's change is not the user's, and is undone together with the write.
            assert (await client.undo()).skipped == ()


async def test_a_write_that_waits_for_the_model_returns_its_improvements(
    settings: Settings, server: ChatServer
) -> None:
    chosen = replace(settings, llm="openai:tiny", llm_url=server.url, operation_seconds=60)
    with background_daemon(chosen):
        async with MemoryClient(settings=chosen) as client:
            done = await client.remember("Renewed it for harbour.", tags=["auth"], intent="new", wait_for_llm=True)
            (memory,) = (await client.read([done.id])).memories
            assert memory.tags == ("auth", "harbour")


async def test_a_write_succeeds_while_the_model_is_down(settings: Settings, server: ChatServer) -> None:
    server.default_reply = lambda _: Reply(status=500)
    chosen = replace(settings, llm="openai:tiny", llm_url=server.url)
    with background_daemon(chosen):
        async with MemoryClient(settings=chosen) as client:
            done = await client.remember("Renewed it for harbour.", tags=["auth"], intent="new", wait_for_llm=True)
            assert done.action == "created"
            (memory,) = (await client.read([done.id])).memories
            assert (memory.content, memory.tags) == ("Renewed it for harbour.", ("auth",))
            (job,) = await client.jobs()
            assert job.state is JobState.WAITING


async def wait_for_job(client: MemoryClient, job_id: str) -> Job:
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        job = next(job for job in await client.jobs() if job.id == job_id)
        if job.state in (JobState.DONE, JobState.FAILED):
            return job
        await asyncio.sleep(0.05)
    raise TimeoutError
