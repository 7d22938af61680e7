"""Writes src/scrubjay/surfaces/rest/examples.json: answers of a real server, which the OpenAPI description shows.

`python -m scripts.examples` writes the file; `make docs` does so too, and a test compares it with a new recording. Each
chapter is a short story on an empty store, with a clock of its own. Ids and paths become the same ones in every run, in
order of appearance: the first memory of a chapter has the id that the description shows in paths.
"""

import asyncio
import json
import logging
import re
import sys
import tempfile
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Generator, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from socket import socket
from typing import cast

import httpx2

from scrubjay.app import open_engine_and_store
from scrubjay.app.notes import open_notes
from scrubjay.curation.runner import CurationRunner
from scrubjay.model import identity
from scrubjay.model.caller import Caller
from scrubjay.model.memory import Json
from scrubjay.model.requests import CreateTokenRequest
from scrubjay.observability.prometheus import Metrics
from scrubjay.recalling.access_log import AccessLog
from scrubjay.settings import Settings
from scrubjay.storage.sqlite.store import SqliteStore
from scrubjay.surfaces.changes import ChangeBroadcaster
from scrubjay.surfaces.daemon.http_server import HttpServer
from scrubjay.surfaces.daemon.limiter import RequestLimiter
from scrubjay.surfaces.daemon.mcp_sessions import McpSessions
from scrubjay.surfaces.daemon.rpc_dispatch import RpcDispatcher
from scrubjay.surfaces.http.address import bind_http, http_address
from scrubjay.surfaces.rest.app import make_bare_app
from scrubjay.surfaces.rest.conflicts import EXAMPLE_CONFLICT
from scrubjay.surfaces.rest.openapi import describe_app
from scrubjay.surfaces.rest.route import EXAMPLE_ID

TARGET = Path(__file__).parents[1] / "src/scrubjay/surfaces/rest/examples.json"
_START = datetime(2026, 5, 31, 14, tzinfo=UTC)
_HOME = "/home/ada"
_REQUEST_ID = "5f0c2a9be1d34c77"
_ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")
_CONFLICT_ID = re.compile(r"\bc-[0-9a-f]{16}\b")
# Lists such as that of the built-in synonyms are cut.
_LONG, _SHOWN = 12, 3
_MAX_BODY, _SECONDS = 65_536, 1
_MARKDOWN = {"accept": "text/markdown"}
# What a clock or the system measures.
_MEASURED: dict[str, Json] = {
    "execution_time_ms": 4.2,
    "memory_used_mb": 0.25,
    "mean_ms": 4.2,
    "arithmetic": "int8 by VNNI",
    "store_bytes": 782_336,
    "disk_free_bytes": 52_428_800_000,
    "saved": 0.25,
}
Fields = dict[str, Json]
_Parts = dict[str, dict[str, Json]]


async def record() -> dict[str, dict[str, Json]]:
    """Return what was recorded: bodies and answers by operation, and problems by status."""
    recording = Recording()
    for chapter, settings in CHAPTERS.items():
        async with _open_story(recording, settings) as story:
            await chapter(story)
    return {
        "requests": dict(sorted(recording.requests.items())),
        "responses": dict(sorted(recording.responses.items())),
        "problems": dict(sorted(recording.problems.items())),
    }


@dataclass(frozen=True, slots=True)
class Recording:
    """What has been recorded so far, and the method and path of every operation."""

    operations: Mapping[str, tuple[str, str]] = field(default_factory=lambda: dict(_operations()))
    requests: Fields = field(default_factory=Fields)
    responses: dict[str, Json] = field(default_factory=Fields)
    problems: dict[str, Json] = field(default_factory=Fields)


class Clock:
    """Advances by a minute with every request, so that work in the background finds the same time in every run."""

    def __init__(self) -> None:
        self._now = _START
        self.error: Exception | None = None

    def now(self) -> datetime:
        """Return the time, or raise the error that a story has set."""
        if self.error:
            raise self.error
        return self._now

    def advance(self, by: timedelta = timedelta(minutes=1)) -> None:
        """Let time pass."""
        self._now += by


@dataclass(frozen=True, slots=True, kw_only=True)
class Story:
    """A server with an empty store, and the recording of its answers."""

    recording: Recording
    client: httpx2.AsyncClient
    server: HttpServer
    clock: Clock
    folder: Path
    ids: dict[str, str] = field(default_factory=dict[str, str])
    conflict_ids: dict[str, str] = field(default_factory=dict[str, str])

    async def call(
        self,
        operation: str,
        fields: Fields | None = None,
        *,
        headers: Mapping[str, str] | None = None,
        content: str | bytes | None = None,
        shown: bool = True,
        **places: str,
    ) -> Fields:
        """Send a request; its answer is the example of the operation unless there is one, or it is not `shown`."""
        response = await self.send(operation, fields, headers=headers, content=content, **places)
        response.raise_for_status()
        media_type = response.headers["content-type"].partition(";")[0]
        result: Json = response.json() if media_type == "application/json" else response.text
        if shown:
            self.keep(operation, response.status_code, media_type, result)
        return cast("Fields", result)

    async def send(
        self,
        operation: str,
        fields: Fields | None = None,
        *,
        headers: Mapping[str, str] | None = None,
        content: str | bytes | AsyncIterator[bytes] | None = None,
        **places: str,
    ) -> httpx2.Response:
        """Send a request: the fields are its body, or its query if it has another body or none."""
        self.clock.advance()
        method, path = self.recording.operations[operation]
        in_query = content is not None or method in ("GET", "DELETE")
        return await self.client.request(
            method,
            path.format(**places),
            params=cast("dict[str, str]", fields) if in_query else None,
            json=None if in_query else fields,
            headers=headers,
            content=content,
        )

    def keep(self, operation: str, status: int, media_type: str, result: Json) -> None:
        """Record an answer unless there is one."""
        answers = cast("dict[str, Fields]", self.recording.responses.setdefault(operation, {}))
        answers.setdefault(str(status), {}).setdefault(media_type, self.stable(result))

    async def problem(self, status: int, response: Awaitable[httpx2.Response]) -> None:
        """Record the problem of a response."""
        answer = await response
        if answer.status_code != status:
            raise ValueError(f"{answer.status_code} instead of {status}: {answer.text}")
        self.recording.problems[str(status)] = self.stable(answer.json() | {"request_id": _REQUEST_ID})

    def stable(self, value: Json) -> Json:
        """Return a value without what differs from run to run."""
        if isinstance(value, dict):
            if "wall" in value:
                # What there is on this machine.
                return {"wall": "bubblewrap", "seconds": 30, "memory_mb": 256}
            return {name: _MEASURED.get(name) or self.stable(member) for name, member in value.items()}
        if isinstance(value, list):
            return [self.stable(item) for item in (value[:_SHOWN] if len(value) > _LONG else value)]
        if isinstance(value, str):
            text = value.replace(str(self.folder), _HOME)
            return _CONFLICT_ID.sub(self._conflict_id, _ID.sub(self._id, text))
        return round(value, 2) if isinstance(value, float) else value

    def _id(self, match: re.Match[str]) -> str:
        first, number, *rest = EXAMPLE_ID.split("-")
        changed = f"{int(number, base=16) + 97 * len(self.ids):x}"
        return self.ids.setdefault(match[0], "-".join([first, changed, *rest]))

    def _conflict_id(self, match: re.Match[str]) -> str:
        first, number = EXAMPLE_CONFLICT.removeprefix("c-"), len(self.conflict_ids)
        return self.conflict_ids.setdefault(match[0], f"c-{int(first, base=16) + number:x}")


async def _memories(story: Story) -> None:
    """Remember, find, change, export and forget memories."""
    fields: Fields = {"title": "How to reach Sarah", "kind": "preference", "entities": ["Sarah"], "tags": ["contact"]}
    fields["text"] = "Sarah prefers voice calls to mail"
    reach = str((await story.call("remember", fields))["id"])
    await story.call("remember", fields)
    person: Fields = {"text": "A colleague", "name": "sarah", "title": "Sarah", "kind": "person"}
    sarah = str((await story.call("remember", person, shown=False))["id"])
    await story.call("relate", {"target": "sarah"}, id=reach)
    await story.call("relate", {"target": "sarah", "strength": 0.8}, id=reach)
    await story.call("read", id=reach)
    await story.call("read", id=reach, headers=_MARKDOWN)
    await story.call("read_many", {"ids": ["how-to-reach-sarah", "how-to-reach-sara"], "format": "markdown"})
    await story.call("list_memories", {"limit": 1})
    await story.call("search", {"q": "how does Sarah like to be reached?"})
    await story.call("search_by_body", {"query": "how does Sarah like to be reached?"})
    await story.call("links", id=reach)
    await story.call("related", id=reach)
    await story.call("graph", {"id": "how-to-reach-sarah"})
    await story.call("path", {"from": "how-to-reach-sarah", "to": "sarah"})
    await story.call("revise", {"title": "How to reach Sarah Lee"}, id=reach)
    await story.call("confirm", id=reach)
    await story.call("confirm_many", {"ids": ["sarah"]})
    await story.call("due")
    await story.call("summarize", {"kind": "person"})
    await story.call("summarize", {"kind": "person"}, headers=_MARKDOWN)
    await story.call("versions", {"limit": 1}, id=reach)
    await story.call("diff", {"from": "1", "to": "2"}, id=reach)
    lines = await story.call("export")
    await story.call("import", {"space": "copy"}, content=str(lines))
    story.recording.requests["import"] = story.stable(str(lines))
    await story.call("revert", {"to": 1}, id=reach)
    await story.call("undo", {})
    await story.call("commit", {"message": "As agreed with Sarah"}, id=reach)
    await story.call("unrelate", {"target": "sarah"}, id=reach)
    for operation in ("forget", "restore", "forget", "purge"):
        await story.call(operation, id=reach)
    for operation in ("forget_many", "restore_many", "forget_many", "purge_many"):
        await story.call(operation, {"ids": [sarah]})
    items: Json = [{"text": "The office closes at six"}, {"txt": "The office opens at nine"}]
    await story.call("remember_many", {"items": items})


async def _sessions(story: Story) -> None:
    """Write during a session, extract facts from its log, and start the next one."""
    task: Fields = {"text": "The printer on floor two jams on thick envelopes.", "session_hint": "printer"}
    await story.call("smart_write", task)
    await story.call("smart_write", task | {"text": "Feeding single sheets helps.", "intent": "continue"})
    await story.call("extract", {"text": "Sarah: I prefer voice calls to mail."})
    await story.call("context")
    await story.call("context", headers=_MARKDOWN)


async def _branches(story: Story) -> None:
    """Try a change on a branch, and merge it."""
    fields: Fields = {"text": "Sarah prefers voice calls to mail", "title": "How to reach Sarah"}
    reach = str((await story.call("remember", fields, shown=False))["id"])
    await story.call("branch", {"name": "draft", "description": "What if she moves?"}, id=reach)
    await story.call("branches", id=reach)
    await story.call("switch", id=reach, name="draft")
    await story.call("revise", {"tags": ["contact"]}, shown=False, id=reach)
    await story.call("merge_branch", {}, id=reach, name="draft")
    await story.call("drop_branch", id=reach, name="draft")


async def _conflicts(story: Story) -> None:
    """Find that two memories contradict each other, and resolve it."""
    await story.call("set_rules", {"conflicts": "off"}, shown=False)
    for name, text in (("where-sarah-lives", "Sarah lives in Berlin."), ("sarah-moved", "Sarah lives in Paris.")):
        await story.call("remember", {"text": text, "name": name, "entities": ["Sarah"]}, shown=False)
    await story.call("scan_conflicts", {})
    (conflict,) = cast("list[Fields]", (await story.call("conflicts"))["conflicts"])
    await story.call("conflict", id=str(conflict["id"]))
    decision: Fields = {"strategy": "supersede", "notes": "She moved in May"}
    await story.call("resolve_conflict", decision, id=str(conflict["id"]))


async def _jobs(story: Story) -> None:
    """Leave a scan to the server."""
    job = str((await story.call("scan_later", {"after": 3600}))["id"])
    await story.call("jobs")
    await story.call("retry_job", id=job)
    await story.call("cancel_job", id=job)


async def _curation(story: Story) -> None:
    """Let a memory grow old, and curate the space."""
    await story.call("remember", {"text": "Sarah parked on level three", "name": "parking"}, shown=False)
    story.clock.advance(timedelta(days=40))
    await story.call("curate", {"jobs": ["tiers"]})
    await story.call("curations", {"limit": "1"})
    await story.call("prune", {"days": 30, "dry_run": True})
    await story.call("usage", {"days": "7"})
    await story.call("health", {"days": "7"})


async def _programs(story: Story) -> None:
    """Compute over memories."""
    for name, text in (("sarah", "Sarah prefers voice calls"), ("pau", "Pau prefers mail"), ("kim", "Kim is away")):
        await story.call("remember", {"text": text, "name": name, "kind": "person"}, shown=False)
    code = "found = search_nodes('person', limit=1000)\nresult = [p['name'] for p in found if word in str(p)]"
    await story.call("run_code", {"code": code, "context_vars": {"word": "prefers"}})
    source = (
        "def count_kind(kind: str):\n    return len([m for m in search_nodes('', limit=10000) if m['type'] == kind])"
    )
    skill: Fields = {"name": "count_kind", "source": source, "description": "Count the memories of a kind"}
    await story.call("save_skill", {**skill, "tags": ["report"], "example": {"kind": "person"}})
    await story.call("run_skill", {"arguments": {"kind": "person"}}, name="count_kind")
    await story.call("load_skill", name="count_kind")
    await story.call("list_skills")


async def _rules(story: Story) -> None:
    """Change rules and synonyms, and approve what an agent has written."""
    await story.call("rules")
    await story.call("set_rules", {"gate": "report", "window_days": 14, "never": ["do not remember*"]})
    await story.call("remember", {"text": "Sarah pays by card", "tags": ["paying"]}, shown=False)
    await story.call("add_synonyms", {"tag": "payment", "variants": ["payments-fix", "paying"]})
    await story.call("tags")
    await story.call("preview_tags", {"tags": ["auth-fix", "oauth", "cli"]})
    await story.call("remove_synonyms", {"variant": "paying"})
    await story.call("set_rules", {"review": "all"}, shown=False)
    for text in ("Sarah prefers voice calls to mail", "Sarah dislikes voice calls"):
        await story.call("remember", {"text": text}, shown=False)
    await story.call("inbox", {"limit": 1})
    await story.call("approve", {"ids": ["sarah-prefers-voice-calls-to-mail"]})
    await story.call("decline", {"ids": ["sarah-dislikes-voice-calls"]})


async def _notes(story: Story) -> None:
    """Write, link, review, search and export notes."""
    content = "# Sarah\n\nShe prefers voice calls to mail, says [[Pau]].\n"
    fields: Fields = {"title": "How to reach Sarah", "content": content, "tags": ["contact"], "category": "people"}
    note = str((await story.call("write_note", fields))["id"])
    others = (("Sarah", "A colleague."), ("Paul", "He knows [[How to reach Sarah]]."))
    for title, text in others:
        await story.call("write_note", {"title": title, "content": text, "category": "people"}, shown=False)
    await story.call("link_notes", {"target": "Sarah", "text": "who she is"}, id=note)
    await story.call("read_note", id=note)
    await story.call("backlinks", id=note)
    await story.call("broken_links")
    await story.call("search_notes", {"q": "voice calls"})
    await story.call("note_categories")
    await story.call("note_templates")
    for kind in ("md", "json", "csv", "html"):
        await story.call("export_note", {"format": kind}, id=note)
    await story.call("current_date", {"timezone": "Europe/Berlin"})
    await story.call("edit_note", {"category": "people/friends"}, id=note)
    await story.call("unlink_notes", {"target": "Sarah"}, id=note)
    await story.call("sync_notes")
    story.clock.advance(timedelta(days=97))
    await story.call("due_notes", {"limit": 1})
    await story.call("review_note", id=note)


async def _attachments(story: Story) -> None:
    """Attach a file to a note, and remove the note."""
    note = str((await story.call("write_note", {"title": "Sarah", "content": "A colleague."}, shown=False))["id"])
    fields: Fields = {"name": "Sarah at her desk.txt", "caption": "Sarah, May 2026"}
    for _ in range(2):
        await story.call("attach_file", fields, content=b"The bytes of the file", id=note)
    await story.call("note_attachments", id=note)
    await story.call("edit_note", {"content": "A colleague."}, shown=False, id=note)
    await story.call("orphaned_files")


async def _server(story: Story) -> None:
    """Ask the server how it is, and follow the changes."""
    await story.call("alive")
    await story.call("ready")
    await story.call("remember", {"text": "Sarah prefers voice calls to mail"}, shown=False)
    status = await story.call("status", shown=False)
    # Other versions of SQLite and zstd store the same in other sizes.
    cast("Fields", status["store"]).update(bytes=782_336, sqlite="3.54.0")
    cast("Fields", status["compression"]).update(stored_bytes=196, saved=0.25)
    story.keep("status", 200, "application/json", status)
    text = str(await story.call("metrics", shown=False))
    lines = [line for line in text.splitlines(keepends=True) if "scrubjay_requests_inside" in line]
    story.keep("metrics", 200, "text/plain", "".join(lines))
    async with story.client.stream("GET", "/api/v1/changes", params={"after": 0}) as response:
        event = [line async for line in _first_event(response)]
    story.keep("changes", 200, "text/event-stream", "\n".join([*event, "", ""]))


async def _first_event(response: httpx2.Response) -> AsyncIterator[str]:
    """Yield the lines of the first event of a stream, which begins with a comment."""
    is_event = False
    async for line in response.aiter_lines():
        is_event = is_event or line.startswith("id:")
        if is_event and not line:
            return
        if is_event:
            yield line


async def _refusals(story: Story) -> None:
    """Send requests that the server refuses."""
    name = "how-to-reach-sarah"
    await story.call("remember", {"text": "Sarah prefers voice calls to mail", "name": name}, shown=False)
    await story.call("remember", {"text": "A colleague", "name": "sarah"}, shown=False)
    as_json = {"content-type": "application/json"}
    await story.problem(400, story.send("remember", content='{"text": ', headers=as_json))
    await story.problem(404, story.send("read", id="how-to-reach-sara"))
    await story.problem(408, story.send("remember", content=_stalling(), headers=as_json))
    await story.problem(409, story.send("revise", {"name": name}, id="sarah"))
    await story.problem(412, story.send("revise", {"title": "Sarah"}, id=name, headers={"if-match": '"2"'}))
    await story.problem(413, story.send("remember", {"text": "x" * _MAX_BODY}))
    await story.problem(415, story.send("remember", content="A colleague", headers={"content-type": "text/plain"}))
    await story.problem(422, story.send("search", {"limit": 0}))
    await story.problem(431, story.send("search", headers={"x-long": "x" * 300_000}))


async def _tokens(story: Story) -> None:
    """Send requests to a server that requires a token."""
    request = CreateTokenRequest(name="ada", spaces=("home",), access="read", requests_per_minute=1)
    token = await story.server.dispatcher.engine.create_token(request, who=Caller())
    bearer = {"authorization": f"Bearer {token.secret}"}
    await story.problem(401, story.send("search"))
    await story.problem(403, story.send("search", {"space": "work"}, headers=bearer))
    await story.problem(429, story.send("search", headers=bearer))


async def _failures(story: Story) -> None:
    """Let the clock, the disk and the server fail, in this order."""
    story.clock.error = OSError("the clock has stopped")
    await story.problem(500, story.send("remember", {"text": "A colleague"}))
    story.clock.error = None
    connection = cast("SqliteStore", story.server.store)._connection  # noqa: SLF001 - a disk cannot be filled here
    connection.pragma("max_page_count", connection.pragma("page_count"))
    await story.problem(507, story.send("remember", {"text": " ".join(map(str, range(50_000)))}))
    await story.server.dispatcher.limiter.close(seconds=1)
    await story.problem(503, story.send("search"))


async def _stalling() -> AsyncIterator[bytes]:
    yield b'{"text": '
    await asyncio.sleep(_SECONDS + 1)


# A model that their answers do not show would only take time.
_WORDS_ONLY = Settings(embedder="none", vector_index="scan")
CHAPTERS: Mapping[Callable[[Story], Awaitable[None]], Settings] = {
    _memories: Settings(),
    _sessions: Settings(),
    _branches: Settings(),
    _conflicts: Settings(),
    _jobs: _WORDS_ONLY,
    _programs: _WORDS_ONLY,
    _curation: _WORDS_ONLY,
    _rules: _WORDS_ONLY,
    _notes: Settings(),
    _attachments: _WORDS_ONLY,
    _server: Settings(),
    _refusals: replace(_WORDS_ONLY, max_body_bytes=_MAX_BODY, operation_seconds=_SECONDS),
    _tokens: replace(_WORDS_ONLY, require_token=True),
    _failures: _WORDS_ONLY,
}


@asynccontextmanager
async def _open_story(recording: Recording, settings: Settings) -> AsyncGenerator[Story]:
    """Serve an empty store until the end of the block."""
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="scrubjay-examples-")))
        settings = replace(settings, home=str(folder / "scrubjay"), notestore_path=str(folder / "notes"))
        listener = stack.enter_context(cast("socket", bind_http("127.0.0.1:0", required=True)))
        stack.enter_context(_even_ids())
        # It leaves jobs to a worker, and there is none.
        opened, store = await stack.enter_async_context(open_engine_and_store(settings, has_worker=True))
        clock = Clock()
        engine = replace(opened, clock=clock, access_log=AccessLog(None, clock=clock))
        engine = replace(engine, curator=CurationRunner(engine, store))
        notes = await stack.enter_async_context(open_notes(settings, engine))
        changes = await stack.enter_async_context(ChangeBroadcaster(store))
        # Streams end first, as in the daemon.
        stack.push_async_callback(changes.close)
        limiter = RequestLimiter(max_requests=settings.max_requests, seconds=settings.operation_seconds)
        server = HttpServer(
            dispatcher=RpcDispatcher(engine=engine, limiter=limiter, notes=notes),
            store=store,
            mcp_sessions=McpSessions(engine=engine, limiter=limiter, changes=changes, space="", tools="", notes=notes),
            metrics=Metrics(engine=engine, limiter=limiter),
            settings=settings,
        )
        await stack.enter_async_context(server.open(listener))
        client = await stack.enter_async_context(httpx2.AsyncClient(base_url=http_address(listener), timeout=60))
        yield Story(recording=recording, client=client, server=server, clock=clock, folder=folder)


@contextmanager
def _even_ids() -> Generator[None]:
    """Number ids instead of drawing them: the estimates of tokens depend on their characters."""
    draw, numbers = identity._next_number, count(0x0197F3C2_6D3E_7000_8000_000000000000)  # noqa: SLF001
    identity._next_number = lambda: next(numbers)  # noqa: SLF001
    try:
        yield
    finally:
        identity._next_number = draw  # noqa: SLF001


def _operations() -> Iterator[tuple[str, tuple[str, str]]]:
    """Yield every operation of the description with its method and path."""
    for path, methods in cast("_Parts", describe_app(make_bare_app())["paths"]).items():
        for method, operation in cast("_Parts", methods).items():
            yield str(operation["operationId"]), (method.upper(), path)


def render(recorded: Mapping[str, Json]) -> str:
    """Return the text of the file."""
    return json.dumps(recorded, indent=1, ensure_ascii=False) + "\n"


def main() -> None:
    """Write the file."""
    # The server logs the failures that the stories provoke.
    logging.disable()
    TARGET.write_text(render(asyncio.run(record())), encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
