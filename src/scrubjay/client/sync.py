"""`SyncMemoryClient`: the same verbs for programs without an event loop."""

import asyncio
import threading
from collections.abc import Callable, Coroutine, Iterator
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


def _twin(
    verb: Callable[Concatenate[MemoryClient, P], Coroutine[object, object, R]],
) -> Callable[Concatenate["SyncMemoryClient", P], R]:
    @wraps(verb)
    def call(self: "SyncMemoryClient", *arguments: P.args, **options: P.kwargs) -> R:
        return self.run(verb(self.client, *arguments, **options))

    return call


class SyncMemoryClient:
    """The twin of MemoryClient; its event loop runs in a thread of its own."""

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

    remember = _twin(MemoryClient.remember)
    recall = _twin(MemoryClient.recall)
    read = _twin(MemoryClient.read)
    revise = _twin(MemoryClient.revise)
    forget = _twin(MemoryClient.forget)
    restore = _twin(MemoryClient.restore)
    purge = _twin(MemoryClient.purge)
    relate = _twin(MemoryClient.relate)
    unrelate = _twin(MemoryClient.unrelate)
    history = _twin(MemoryClient.history)
    revert = _twin(MemoryClient.revert)
    undo = _twin(MemoryClient.undo)
    commit = _twin(MemoryClient.commit)
    branch = _twin(MemoryClient.branch)
    branches = _twin(MemoryClient.branches)
    switch = _twin(MemoryClient.switch)
    drop_branch = _twin(MemoryClient.drop_branch)
    merge_branch = _twin(MemoryClient.merge_branch)
    related = _twin(MemoryClient.related)
    graph = _twin(MemoryClient.graph)
    path = _twin(MemoryClient.path)
    conflicts = _twin(MemoryClient.conflicts)
    probe_conflicts = _twin(MemoryClient.probe_conflicts)
    scan_later = _twin(MemoryClient.scan_later)
    scan_conflicts = _twin(MemoryClient.scan_conflicts)
    resolve_conflict = _twin(MemoryClient.resolve_conflict)
    extract = _twin(MemoryClient.extract)
    context = _twin(MemoryClient.context)
    create_entities = _twin(MemoryClient.create_entities)
    update_entity = _twin(MemoryClient.update_entity)
    search_nodes = _twin(MemoryClient.search_nodes)
    get_memory_status = _twin(MemoryClient.get_memory_status)
    write_note = _twin(MemoryClient.write_note)
    read_note = _twin(MemoryClient.read_note)
    edit_note = _twin(MemoryClient.edit_note)
    search_notes = _twin(MemoryClient.search_notes)
    link_notes = _twin(MemoryClient.link_notes)
    unlink_notes = _twin(MemoryClient.unlink_notes)
    current_date = _twin(MemoryClient.current_date)
    review_note = _twin(MemoryClient.review_note)
    due_notes = _twin(MemoryClient.due_notes)
    backlinks = _twin(MemoryClient.backlinks)
    broken_links = _twin(MemoryClient.broken_links)
    note_categories = _twin(MemoryClient.note_categories)
    note_templates = _twin(MemoryClient.note_templates)
    sync_notes = _twin(MemoryClient.sync_notes)
    attach_file = _twin(MemoryClient.attach_file)
    attach_path = _twin(MemoryClient.attach_path)
    note_attachments = _twin(MemoryClient.note_attachments)
    orphaned_files = _twin(MemoryClient.orphaned_files)
    export_notes = _twin(MemoryClient.export_notes)
    import_notes = _twin(MemoryClient.import_notes)
    rules = _twin(MemoryClient.rules)
    set_rules = _twin(MemoryClient.set_rules)
    tags = _twin(MemoryClient.tags)
    add_synonyms = _twin(MemoryClient.add_synonyms)
    remove_synonyms = _twin(MemoryClient.remove_synonyms)
    preview_tags = _twin(MemoryClient.preview_tags)
    inbox = _twin(MemoryClient.inbox)
    approve = _twin(MemoryClient.approve)
    decline = _twin(MemoryClient.decline)
    jobs = _twin(MemoryClient.jobs)
    retry_job = _twin(MemoryClient.retry_job)
    cancel_job = _twin(MemoryClient.cancel_job)
    status = _twin(MemoryClient.status)
    doctor = _twin(MemoryClient.doctor)
    backup = _twin(MemoryClient.backup)
    import_lines = _twin(MemoryClient.import_lines)

    def export(self, *, format: str = FORMATS[0], progress: Progress | None = None) -> Iterator[str]:
        """Every memory of the space as JSON Lines, with its whole past; `kg` as the reference graph server keeps it."""
        lines = self.client.export(format=format, progress=progress)
        while True:
            try:
                yield self.run(anext(lines))  # type: ignore[arg-type]
            except StopAsyncIteration:
                return

    def run(self, call: Coroutine[object, object, R]) -> R:
        """Run a coroutine on the client's own loop and wait for it."""
        if self._loop is None:
            call.close()
            raise StoreError("the client is not open", hint="Use it as `with SyncMemoryClient() as memory:`")
        return asyncio.run_coroutine_threadsafe(call, self._loop).result()

    def _stop(self) -> None:
        loop, thread = self._loop, self._thread
        if loop is not None and thread is not None:
            self.run(_settle(loop))
            self._loop = self._thread = None
            loop.call_soon_threadsafe(loop.stop)
            thread.join()
            loop.close()


async def _settle(loop: asyncio.AbstractEventLoop) -> None:
    """End what the loop has begun besides our calls, as `asyncio.run` does."""
    await loop.shutdown_asyncgens()
    await loop.shutdown_default_executor()
