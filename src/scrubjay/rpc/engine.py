"""`RemoteEngine`: the engine's verbs, done by a daemon. Whoever calls cannot tell it from an engine of their own."""

import os
from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import cast

from scrubjay.graph.jsonl import FORMATS
from scrubjay.model.draft import Caller, Draft, Edit, Selection
from scrubjay.model.job import Job
from scrubjay.model.memory import Json, Memory
from scrubjay.model.query import Question, SearchText, TextsFound
from scrubjay.model.relation import LINK
from scrubjay.model.results import (
    DoctorReport,
    Outcome,
    ReadResult,
    Recalled,
    Related,
    Remembered,
    Status,
    Undone,
    Written,
)
from scrubjay.model.rules import Rules
from scrubjay.model.tags import TagPreview, TagTable
from scrubjay.model.token import NewToken, Token, TokenRequest
from scrubjay.model.transfer import Imported, Lines, Progress
from scrubjay.rpc.codec import from_json, to_json_without_defaults
from scrubjay.rpc.noting import Noting


class RemoteEngine(Noting):
    """Calls a daemon; tries again when that is safe, and tells what is known when it is not."""

    async def remember(self, draft: Draft, *, who: Caller) -> Remembered:
        """Store a text, once, under every entity it is about."""
        return await self._write("remember", Remembered, who, draft=draft)

    async def recall(self, question: Question, *, who: Caller, cursor: str = "") -> Recalled:
        """Find what answers a question."""
        return await self._read("recall", Recalled, who, question=question, cursor=cursor)

    async def search_text(self, asked: SearchText, *, who: Caller) -> TextsFound:
        """Find the memories that have words, beginnings of words and phrases."""
        return await self._told("search_text", TextsFound, who, asked=asked)

    async def read(
        self,
        refs: Sequence[str],
        *,
        who: Caller,
        format: str = "markdown",
        version: int | None = None,
        branch: str = "",
        as_of: datetime | None = None,
    ) -> ReadResult:
        """Whole memories by id, name or title."""
        return await self._read(
            "read", ReadResult, who, refs=refs, format=format, version=version, branch=branch, as_of=as_of
        )

    async def revise(self, ref: str, edit: Edit, *, who: Caller) -> Written:
        """Change a memory; the state before stays a version."""
        return await self._write("revise", Written, who, ref=ref, edit=edit)

    async def forget(self, selection: Selection, *, who: Caller) -> Outcome:
        """Put memories into the trash."""
        return await self._write("forget", Outcome, who, selection=selection)

    async def restore(self, selection: Selection, *, who: Caller) -> Outcome:
        """Take memories out of the trash."""
        return await self._write("restore", Outcome, who, selection=selection)

    async def purge(self, selection: Selection, *, who: Caller) -> Outcome:
        """Destroy what is in the trash."""
        return await self._write("purge", Outcome, who, selection=selection)

    async def relate(
        self,
        source: str,
        target: str,
        *,
        who: Caller,
        relation: str = LINK,
        text: str = "",
        strength: float = 0.5,
        metadata: Mapping[str, Json] | None = None,
    ) -> Related:
        """Set an edge between two memories."""
        return await self._write(
            "relate", Related, who, source=source, target=target, relation=relation, text=text, strength=strength,
            metadata=metadata,
        )  # fmt: skip

    async def unrelate(self, source: str, target: str, *, who: Caller, relation: str = LINK) -> Related:
        """Remove an edge."""
        return await self._write("unrelate", Related, who, source=source, target=target, relation=relation)

    async def undo(self, *, who: Caller, run: str = "", idempotency_key: str = "") -> Undone:
        """Take back the last run of this agent, or a named one."""
        return await self._write("undo", Undone, who, run=run, idempotency_key=idempotency_key)

    async def rules(self, *, who: Caller) -> Rules:
        """What becomes of what is written into a space."""
        return cast("Rules", from_json(Rules, await self._try("rules", {}, who)))

    async def set_rules(self, changes: Mapping[str, Json], *, who: Caller) -> Rules:
        """Change rules of a space; null gives one back to the default."""
        # Done twice it is still done.
        return cast("Rules", from_json(Rules, await self._try("set_rules", {"changes": dict(changes)}, who)))

    async def tags(self, *, who: Caller, limit: int = 200) -> TagTable:
        """The tags of a space, and what stands for what."""
        return cast("TagTable", from_json(TagTable, await self._try("tags", {"limit": limit}, who)))

    async def add_synonyms(self, tag: str, variants: Sequence[str], *, who: Caller) -> TagTable:
        """Have other words stand for a tag from now on."""
        told = await self._try("add_synonyms", {"tag": tag, "variants": to_json_without_defaults(variants)}, who)
        return cast("TagTable", from_json(TagTable, told))

    async def remove_synonyms(self, variants: Sequence[str], *, who: Caller) -> TagTable:
        """Have words stand for themselves again."""
        return cast(
            "TagTable",
            from_json(
                TagTable, await self._try("remove_synonyms", {"variants": to_json_without_defaults(variants)}, who)
            ),
        )

    async def preview_tags(self, tags: Sequence[str], *, who: Caller, text: str = "") -> TagPreview:
        """What would become of tags, and which would be suggested for a text."""
        told = await self._try("preview_tags", {"tags": to_json_without_defaults(tags), "text": text}, who)
        return cast("TagPreview", from_json(TagPreview, told))

    async def inbox(self, *, who: Caller, limit: int = 50) -> tuple[Memory, ...]:
        """What waits for a person's yes."""
        told = await self._try("inbox", {"limit": limit}, who)
        return cast("tuple[Memory, ...]", from_json(tuple[Memory, ...], told))

    async def approve(self, selection: Selection, *, who: Caller) -> Outcome:
        """Keep what waits."""
        return await self._write("approve", Outcome, who, selection=selection)

    async def decline(self, selection: Selection, *, who: Caller) -> Outcome:
        """Put what waits into the trash."""
        return await self._write("decline", Outcome, who, selection=selection)

    async def jobs(self, *, who: Caller, limit: int = 50) -> tuple[Job, ...]:
        """The work that is left for later, and what came of it."""
        told = await self._try("jobs", {"limit": limit}, who)
        return cast("tuple[Job, ...]", from_json(tuple[Job, ...], told))

    async def retry_job(self, job_id: str, *, who: Caller) -> Job:
        """Have a job done again that failed."""
        return cast("Job", from_json(Job, await self._try("retry_job", {"job_id": job_id}, who)))

    async def cancel_job(self, job_id: str, *, who: Caller) -> Job:
        """Have a job not done after all."""
        return cast("Job", from_json(Job, await self._try("cancel_job", {"job_id": job_id}, who, is_write=True)))

    async def status(self, *, who: Caller) -> Status:
        """Health and sizes."""
        return cast("Status", from_json(Status, await self._try("status", {}, who)))

    async def doctor(self, *, who: Caller, deep: bool = False, repair: bool = False) -> DoctorReport:
        """Look at everything, after repairing what can be when asked."""
        told = await self._try("doctor", {"deep": deep, "repair": repair}, who, is_write=True)
        return cast("DoctorReport", from_json(DoctorReport, told))

    async def backup(self, target: Path, *, progress: Progress | None = None) -> Path:
        """Copy the store to a file on the daemon's machine while it is in use; tells where that is."""
        # Its working folder is another.
        arguments: dict[str, Json] = {"target": os.path.abspath(target)}  # noqa: ASYNC240, PTH100 - touches no file
        return Path(str(await self._try("backup", arguments, Caller(), is_write=True, progress=progress)))

    async def create_token(self, wish: TokenRequest) -> NewToken:
        """Let somebody in by HTTP; the secret is told here and never again."""
        told = await self._try("create_token", {"wish": to_json_without_defaults(wish)}, Caller(), is_write=True)
        return cast("NewToken", from_json(NewToken, told))

    async def tokens(self) -> tuple[Token, ...]:
        """All tokens, oldest first, also those that open nothing any more."""
        return cast("tuple[Token, ...]", from_json(tuple[Token, ...], await self._try("tokens", {}, Caller())))

    async def revoke_token(self, ref: str) -> Token:
        """End a token by its id or name, at once and for good."""
        # Done twice it is still done.
        return cast("Token", from_json(Token, await self._try("revoke_token", {"ref": ref}, Caller())))

    def export(self, *, who: Caller, format: str = FORMATS[0], progress: Progress | None = None) -> AsyncIterator[str]:
        """The lines of an export of a space: all there is, or its knowledge graph as the reference server keeps it."""
        return self._line.pull("export", {"format": format}, who=who, progress=progress)

    async def import_(self, lines: Lines, *, who: Caller, progress: Progress | None = None) -> Imported:
        """Take in an export; vectors follow by `embed_missing`."""
        return cast(
            "Imported", from_json(Imported, await self._line.push("import_", lines(), who=who, progress=progress))
        )

    async def embed_missing(self, *, progress: Progress | None = None) -> int:
        """Embed what has no vector yet."""
        return cast("int", await self._try("embed_missing", {}, Caller(), is_write=True, progress=progress))
