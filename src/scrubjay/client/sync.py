"""`SyncMemoryClient`: the verbs of MemoryClient for programs without an event loop."""

import asyncio
import threading
from collections.abc import Callable, Coroutine, Iterator, Sequence
from functools import wraps
from pathlib import Path
from types import TracebackType
from typing import Concatenate, ParamSpec, Self, TypeVar

from scrubjay.client import MemoryClient
from scrubjay.errors import StoreError
from scrubjay.graph.jsonl import FORMATS
from scrubjay.model.transfer import Progress
from scrubjay.settings import Settings

P = ParamSpec("P")
R = TypeVar("R")


def _blocking(
    verb: Callable[Concatenate[MemoryClient, P], Coroutine[object, object, R]],
) -> Callable[Concatenate["SyncMemoryClient", P], R]:
    @wraps(verb)
    def call(self: "SyncMemoryClient", *arguments: P.args, **options: P.kwargs) -> R:
        return self.run(verb(self.client, *arguments, **options))

    return call


class SyncMemoryClient:
    """The synchronous MemoryClient; its event loop runs in a thread of its own."""

    def __init__(
        self,
        *,
        path: str | Path | None = None,
        url: str = "",
        token: str | None = None,
        space: str | None = None,
        agent: str | None = None,
        run: str = "",
        settings: Settings | None = None,
    ) -> None:
        self.client = MemoryClient(
            path=path, url=url, token=token, space=space, agent=agent, run=run, settings=settings
        )
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    def __enter__(self) -> Self:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="scrubjay-client", daemon=True)
        self._thread.start()
        try:
            self.run(self.client.__aenter__())
        except BaseException:
            self._stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self.run(self.client.__aexit__(kind, error, trace))
        finally:
            self._stop()

    remember = _blocking(MemoryClient.remember)
    recall = _blocking(MemoryClient.recall)
    read = _blocking(MemoryClient.read)
    revise = _blocking(MemoryClient.revise)
    forget = _blocking(MemoryClient.forget)
    restore = _blocking(MemoryClient.restore)
    purge = _blocking(MemoryClient.purge)
    relate = _blocking(MemoryClient.relate)
    unrelate = _blocking(MemoryClient.unrelate)
    history = _blocking(MemoryClient.history)
    revert = _blocking(MemoryClient.revert)
    undo = _blocking(MemoryClient.undo)
    commit = _blocking(MemoryClient.commit)
    branch = _blocking(MemoryClient.branch)
    branches = _blocking(MemoryClient.branches)
    switch = _blocking(MemoryClient.switch)
    drop_branch = _blocking(MemoryClient.drop_branch)
    merge_branch = _blocking(MemoryClient.merge_branch)
    related = _blocking(MemoryClient.related)
    graph = _blocking(MemoryClient.graph)
    path = _blocking(MemoryClient.path)
    conflicts = _blocking(MemoryClient.conflicts)
    probe_conflicts = _blocking(MemoryClient.probe_conflicts)
    scan_later = _blocking(MemoryClient.scan_later)
    scan_conflicts = _blocking(MemoryClient.scan_conflicts)
    resolve_conflict = _blocking(MemoryClient.resolve_conflict)
    extract = _blocking(MemoryClient.extract)
    context = _blocking(MemoryClient.context)
    create_entities = _blocking(MemoryClient.create_entities)
    update_entity = _blocking(MemoryClient.update_entity)
    search_nodes = _blocking(MemoryClient.search_nodes)
    get_memory_status = _blocking(MemoryClient.get_memory_status)
    write_note = _blocking(MemoryClient.write_note)
    read_note = _blocking(MemoryClient.read_note)
    edit_note = _blocking(MemoryClient.edit_note)
    search_notes = _blocking(MemoryClient.search_notes)
    link_notes = _blocking(MemoryClient.link_notes)
    unlink_notes = _blocking(MemoryClient.unlink_notes)
    current_date = _blocking(MemoryClient.current_date)
    review_note = _blocking(MemoryClient.review_note)
    due_notes = _blocking(MemoryClient.due_notes)
    backlinks = _blocking(MemoryClient.backlinks)
    broken_links = _blocking(MemoryClient.broken_links)
    note_categories = _blocking(MemoryClient.note_categories)
    note_templates = _blocking(MemoryClient.note_templates)
    sync_notes = _blocking(MemoryClient.sync_notes)
    attach_file = _blocking(MemoryClient.attach_file)
    attach_path = _blocking(MemoryClient.attach_path)
    note_attachments = _blocking(MemoryClient.note_attachments)
    orphaned_files = _blocking(MemoryClient.orphaned_files)
    export_notes = _blocking(MemoryClient.export_notes)
    import_notes = _blocking(MemoryClient.import_notes)
    rules = _blocking(MemoryClient.rules)
    set_rules = _blocking(MemoryClient.set_rules)
    tags = _blocking(MemoryClient.tags)
    add_synonyms = _blocking(MemoryClient.add_synonyms)
    remove_synonyms = _blocking(MemoryClient.remove_synonyms)
    preview_tags = _blocking(MemoryClient.preview_tags)
    inbox = _blocking(MemoryClient.inbox)
    approve = _blocking(MemoryClient.approve)
    decline = _blocking(MemoryClient.decline)
    jobs = _blocking(MemoryClient.jobs)
    retry_job = _blocking(MemoryClient.retry_job)
    cancel_job = _blocking(MemoryClient.cancel_job)
    status = _blocking(MemoryClient.status)
    doctor = _blocking(MemoryClient.doctor)
    backup = _blocking(MemoryClient.backup)
    import_lines = _blocking(MemoryClient.import_lines)

    def export(
        self, *, format: str = FORMATS[0], include: Sequence[str] = (), progress: Progress | None = None
    ) -> Iterator[str]:
        """Return all memories with their versions as JSON Lines; `kg` is the format of the reference graph server.

        `include` adds sections: `documents`, `answers` (of idempotency keys) and `vectors`.
        """
        lines = self.client.export(format=format, include=include, progress=progress)
        while True:
            try:
                yield self.run(anext(lines))  # type: ignore[arg-type]
            except StopAsyncIteration:
                return

    def run(self, call: Coroutine[object, object, R]) -> R:
        """Run a coroutine on the event loop of the client and wait for it."""
        if self._loop is None:
            call.close()
            raise StoreError("the client is not open", hint="Use it as `with SyncMemoryClient() as memory:`")
        return asyncio.run_coroutine_threadsafe(call, self._loop).result()

    def _stop(self) -> None:
        loop, thread = self._loop, self._thread
        if loop is not None and thread is not None:
            self.run(_shut_down(loop))
            self._loop = self._thread = None
            loop.call_soon_threadsafe(loop.stop)
            thread.join()
            loop.close()


async def _shut_down(loop: asyncio.AbstractEventLoop) -> None:
    """Shut down generators and executors of the loop, as `asyncio.run` does."""
    await loop.shutdown_asyncgens()
    await loop.shutdown_default_executor()
