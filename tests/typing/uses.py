"""Uses of the clients, with the types that a program sees: pyright and mypy check them, and nothing runs."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from typing import assert_type

from scrubjay import Filter, Hit, Memory, MemoryClient, Recalled, Remembered, Source, SyncMemoryClient
from scrubjay.model.attachments import Attached
from scrubjay.model.conflict import ConflictDetails
from scrubjay.model.memory import Json
from scrubjay.model.requests import RecallRequest, RememberManyRequest, RememberRequest, ReviseRequest, StatusRequest
from scrubjay.model.results import ReadResult, RememberedItem, RememberedMany, Status, Written
from scrubjay.model.transfer import Imported


def report(done: int, total: int) -> None:
    """Receive the progress of a long call."""


async def use_the_client() -> None:
    async with MemoryClient(url="http://127.0.0.1:7272", token="…", space="work") as memory:
        assert_type(memory, MemoryClient)
        done = await memory.remember(
            "Sarah prefers voice calls",
            entities=["Sarah"],
            tags=("contact",),
            intent="new",
            expires_at="2026-06-30",
            remind_at=datetime(2026, 5, 31, tzinfo=UTC),
            source={"session": "s-1"},
            metadata={"ticket": "A-1", "parts": [1, 2]},
        )
        assert_type(done, Remembered)
        assert_type(done.ids, tuple[str, ...])
        await memory.remember("Tea at four", source=Source(session="s-1"))

        many = await memory.remember_many([{"text": "tea"}, {"text": "coffee", "tags": ["drinks"]}], progress=report)
        assert_type(many, RememberedMany)
        assert_type(many.items[0], RememberedItem)
        assert_type(many.items[0].result, Remembered | None)
        await memory.remember_many([RememberRequest(text="tea"), {"text": "coffee"}], atomic=True)

        recalled = await memory.recall("how does Sarah like to be reached?", limit=5, tier="semantic", detail="full")
        assert_type(recalled, Recalled)
        assert_type(recalled.hits, tuple[Hit, ...])
        assert_type(recalled.hits[0].memory, Memory | None)

        revised = await memory.revise(done.id, text="Sarah prefers mail", expected_version=done.version)
        assert_type(revised, Written)
        assert_type(await memory.read(done.id, as_of="2026-05-31"), ReadResult)
        assert_type(await memory.read([done.id, "how-to-reach-sarah"]), ReadResult)
        assert_type(await memory.conflicts(), tuple[ConflictDetails, ...])
        assert_type(await memory.attach_path("a-note", Path("plan.pdf")), Attached)
        assert_type(await memory.add("tea", tags=["drinks"]), Remembered)
        assert_type(await memory.search("tea", limit=5), Recalled)
        assert_type(await memory.get_all(limit=3), list[Memory])
        assert_type(memory.recall_all("tea", tags=["drinks"]), AsyncIterator[Hit])
        assert_type(memory.export(include=["documents"]), AsyncIterator[str])
        assert_type(await memory.import_lines(Path("memory.jsonl")), Imported)


async def call_requests(memory: MemoryClient) -> None:
    assert_type(await memory.call(RememberRequest(text="tea")), Remembered)
    assert_type(await memory.call(RecallRequest(query="tea", filter=Filter(tags=("drinks",)))), Recalled)
    assert_type(await memory.call(RecallRequest.of(query="tea", tags=["drinks"])), Recalled)
    assert_type(await memory.call(ReviseRequest(id="tea", text="green tea")), Written)
    assert_type(await memory.call(StatusRequest()), Status)
    batch = RememberManyRequest(items=(RememberRequest(text="tea"),))
    assert_type(await memory.call(batch, progress=report), RememberedMany)


def use_the_synchronous_client() -> None:
    values: dict[str, Json] = {"ticket": "A-1"}
    with SyncMemoryClient(path=Path("store"), space="work") as memory:
        assert_type(memory, SyncMemoryClient)
        assert_type(memory.remember("tea", metadata=values), Remembered)
        assert_type(memory.remember_many([{"text": "tea"}]).counts, dict[str, int])
        assert_type(memory.recall("tea").hits[0].passage, str)
        assert_type(memory.revise("tea", text="green tea"), Written)
        assert_type(memory.call(RecallRequest(query="tea")), Recalled)
        assert_type(memory.get("tea"), Memory)
        assert_type(list(memory.recall_all("tea")), list[Hit])
        assert_type(list(memory.export()), list[str])
