"""Import a folder: each file becomes a memory through the regular write path, in concurrent batches."""

import asyncio
import hashlib
from collections.abc import Awaitable, Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from scrubjay.engine import Engine
from scrubjay.errors import InvalidInput, ScrubjayError, StoreError, VaultUnavailable
from scrubjay.model.draft import Caller, Draft
from scrubjay.model.identity import is_id, new_id
from scrubjay.model.media import ATTACHMENT
from scrubjay.model.memory import Json, Memory, Method, Source, State
from scrubjay.notes.attachments.results import LARGEST_ATTACHMENT
from scrubjay.notes.attachments.storage import AttachmentStorage
from scrubjay.notes.import_.batch_write import BatchWriter, StoredDraft
from scrubjay.notes.import_.files import CopiedEmbeds, AttachmentCopier
from scrubjay.notes.import_.folder import SourceFolder, FolderListing
from scrubjay.notes.import_.link_index import LinkIndex
from scrubjay.notes.import_.links import Linker
from scrubjay.notes.import_.manifest import EarlierImport, Manifest, folder_key, import_metadata
from scrubjay.notes.import_.parse import ParsedFile, parse_file
from scrubjay.notes.import_.results import ImportedLink, NotesImported, SkippedFile
from scrubjay.notes.import_.update import edit_for
from scrubjay.notes.markdown.note import Link
from scrubjay.notes.sync.mapping import FRONTMATTER_KEY
from scrubjay.ports import Progress
from scrubjay.writing.validate import validate

if TYPE_CHECKING:
    from scrubjay.notes.vault import Vault

__all__ = ["Importer"]

# Notes of one page are embedded and stored together; meanwhile, other pages are read or stored.
_PAGE = 64
_AT_ONCE = 3
_MOST_WARNINGS = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class _Card:
    """The data of a file that the import keeps in memory."""

    path: str
    digest: str
    id: str
    links: tuple[Link, ...]
    typed: frozenset[str] = frozenset()
    before: EarlierImport | None = None


@dataclass(slots=True, kw_only=True)
class _Tally:
    found: int = 0
    created: int = 0
    updated: int = 0
    unchanged: int = 0
    files: set[str] = field(default_factory=set[str])
    skipped: dict[str, str] = field(default_factory=dict[str, str])
    broken: dict[tuple[str, str], None] = field(default_factory=dict[tuple[str, str], None])
    warnings: list[str] = field(default_factory=list[str])
    changed: list[str] = field(default_factory=list[str])
    # The ids of the imported notes, by path.
    ids: dict[str, str] = field(default_factory=dict[str, str])


class Importer:
    """Imports a folder into one space. With a vault, it also writes note files and stores attachments there."""

    def __init__(self, engine: Engine, *, who: Caller, vault: "Vault | None" = None, largest: int = 0) -> None:
        self._engine = engine
        self._who = replace(who, run=who.run or new_id(), also=())
        self._vault = vault
        self._largest = largest or LARGEST_ATTACHMENT

    async def take(
        self, folder: Path, *, category: str = "", dry_run: bool = False, progress: Progress | None = None
    ) -> NotesImported:
        """Import new and changed files; another run continues an interrupted one."""
        origin = await asyncio.to_thread(SourceFolder, folder)
        self._require_elsewhere(origin.root)
        survey = await asyncio.to_thread(origin.survey)
        run = _Run(engine=self._engine, who=self._who, origin=origin, category=category, tell=progress or _silent)
        run.tally.skipped |= dict(survey.odd)
        cards = await run.read(survey)
        storage = (
            AttachmentStorage(self._vault.root, largest=self._largest)
            if self._vault is not None and not dry_run
            else None
        )
        run.files = AttachmentCopier(origin, atlas=run.atlas, storage=storage)
        await run.take(cards, dry_run=dry_run)
        linker = Linker(self._engine, who=self._who, atlas=run.atlas, ids=run.tally.ids, dry_run=dry_run)
        existing = [card for card in cards if card.path in run.tally.ids]
        linked = await linker.link([(card.path, card.links, card.typed) for card in existing])
        run.tally.broken |= dict.fromkeys(linker.broken)
        if not dry_run:
            await self._settle(run)
            if self._vault is None and run.tally.files:
                run.tally.warnings.append("this space has no folder of notes, so no attachment was stored")
        return _report(run, linked=linked, dry_run=dry_run)

    async def _settle(self, run: "_Run") -> None:
        """Register the attachments of the imported notes and write the note files."""
        if self._vault is None:
            return
        attachments = self._vault.attachments
        changed = run.tally.changed
        total = run.tally.found + len(changed)
        for start in range(0, len(changed), _PAGE):
            page = changed[start : start + _PAGE]
            try:
                if attachments is not None and run.tally.files:
                    memories = await self._engine.store.get(self._who.space, page)
                    for memory in memories.values():
                        if "![[" in memory.content:
                            run.warn((await attachments.take_embeds(memory, memory.content)).warnings, memory.label)
                await self._vault.sync_notes(page)
            except (VaultUnavailable, StoreError):
                raise
            except ScrubjayError as error:
                run.warn((f"notes are stored, but their files are not up to date: {error}",), "")
            run.tell(run.tally.found + start + len(page), total)

    def _require_elsewhere(self, root: Path) -> None:
        own = self._vault.root if self._vault is not None else None
        if own is not None and (root == own or root in own.parents or own in root.parents):
            raise InvalidInput(
                f"{root} overlaps with the folder of notes", field="folder",
                hint="Scrubjay synchronises that folder anyway; run `scrubjay notes sync` to do it now",
            )  # fmt: skip


@dataclass(slots=True, kw_only=True)
class _Run:
    """One import."""

    engine: Engine
    who: Caller
    origin: SourceFolder
    category: str
    tell: Progress
    atlas: LinkIndex = field(default_factory=LinkIndex)
    tally: _Tally = field(default_factory=_Tally)
    files: AttachmentCopier | None = None

    async def read(self, survey: FolderListing) -> list[_Card]:
        """Read every file and match it with earlier imports."""
        folder = folder_key(self.origin.root)
        existing = await Manifest.load(self.engine.store, space=self.who.space, folder=folder)
        self.tally.found = len(survey.notes)
        self.tell(0, self.tally.found)
        for path in survey.files:
            self.atlas.add_file(path)
        listed = dict.fromkeys(survey.notes)
        cards: list[_Card] = []
        for start in range(0, len(survey.notes), _PAGE):
            page = survey.notes[start : start + _PAGE]
            cards += await asyncio.to_thread(self._cards, page)
        results = [replace(card, before=existing.at(card.path, card.digest, listed=listed)) for card in cards]
        return await self._by_id(results)

    async def take(self, cards: Sequence[_Card], *, dry_run: bool) -> None:
        """Store new and changed notes."""
        done = self.tally.found - len(cards)
        keeper = BatchWriter(self.engine, who=self.who)

        async def take_page(page: Sequence[_Card]) -> None:
            nonlocal done
            drafts: dict[str, Draft] = {}
            for card in page:
                with self._skipping(card.path):
                    draft = await self._take(card, dry_run=dry_run)
                    drafts |= {card.path: draft} if draft is not None else {}
            for path, stored in (await keeper.keep(drafts)).items() if not dry_run else ():
                self._record(path, stored)
            done += len(page)
            self.tell(done, self.tally.found)

        try:
            await _run_concurrently([cards[start : start + _PAGE] for start in range(0, len(cards), _PAGE)], take_page)
        finally:
            # Also after an interruption: another run does not check notes that already exist.
            if keeper.is_to_be_looked_at:
                await self._scan_conflicts_later()

    async def _scan_conflicts_later(self) -> None:
        """Schedule a conflict scan of the new notes, unless the rules turn it off."""
        if (await self.engine.rules(who=self.who)).conflicts != "off":
            await self.engine.scan_later(who=self.who)

    @contextmanager
    def _skipping(self, path: str) -> Generator[None]:
        """Report an error of one file without stopping the import."""
        try:
            yield
        except StoreError:
            raise
        except ScrubjayError as error:
            self.tally.skipped[path] = str(error)

    def warn(self, warnings: Iterable[str], path: str) -> None:
        """Add warnings about a file."""
        self.tally.warnings += [f"{path}: {warning}" if path else warning for warning in warnings]

    def _cards(self, paths: Iterable[str]) -> list[_Card]:
        return [card for path in paths if (card := self._card(path))]

    def _card(self, path: str) -> _Card | None:
        try:
            data = self.origin.read(path)
            parsed = parse_file(data, path=path, category=self.category)
        except ScrubjayError as error:
            self.tally.skipped[path] = error.message
            return None
        self.atlas.add_note(path, (*parsed.aliases, parsed.note.title))
        if not parsed.note.content.strip() and not any(observation.strip() for observation in parsed.note.observations):
            self.tally.skipped[path] = "it is empty"
            return None
        self.warn(parsed.warnings, path)
        own = parsed.note.id.lower()
        return _Card(
            path=path, digest=hashlib.sha256(data).hexdigest(), id=own if is_id(own) else "", links=parsed.links,
            typed=parsed.typed,
        )  # fmt: skip

    async def _by_id(self, cards: Sequence[_Card]) -> list[_Card]:
        """Match files without an earlier import by their ids; of two with the same id, the first keeps it."""
        seen: set[str] = {card.before.id for card in cards if card.before}
        results: list[_Card] = []
        for start in range(0, len(cards), _PAGE):
            page = cards[start : start + _PAGE]
            ids = [card.id for card in page if card.id and card.before is None]
            there = await self.engine.store.get(self.who.space, ids) if ids else {}
            for card in page:
                if card.before is not None or not card.id:
                    results.append(replace(card, id=""))
                elif card.id in seen:
                    self.warn((f"another file has its id {card.id}: it gets a new one",), card.path)
                    results.append(replace(card, id=""))
                else:
                    seen.add(card.id)
                    memory = there.get(card.id)
                    before = EarlierImport(id=card.id, path="", digest="", state=memory.state) if memory else None
                    results.append(replace(card, before=before))
        return results

    async def _take(self, card: _Card, *, dry_run: bool) -> Draft | None:
        """Update the note of a known file, or return the draft of a new one."""
        before = card.before
        if before is not None and before.state is not State.LIVE:
            self.tally.skipped[card.path] = f"its note is {before.state.value}: restore it with `scrubjay restore`"
            return None
        if before is not None and before.digest == card.digest and before.path == card.path:
            self.tally.unchanged += 1
            self.tally.ids[card.path] = before.id
            return None
        data = await asyncio.to_thread(self.origin.read, card.path)
        digest = hashlib.sha256(data).hexdigest()
        parsed = await asyncio.to_thread(parse_file, data, path=card.path, category=self.category)
        assert self.files is not None
        embeds = await self.files.embedded(parsed.note.content, path=card.path)
        self._count(embeds, card.path)
        parsed = replace(parsed, note=replace(parsed.note, content=embeds.content))
        if before is not None:
            await self._update(card, before, parsed, digest, dry_run=dry_run)
            return None
        draft = self._draft(card, parsed, digest)
        validate(draft, limits=self.engine.limits)
        if dry_run:
            self.tally.created += 1
            # A placeholder that no real id equals.
            self.tally.ids[card.path] = f"/{card.path}"
        return draft

    def _record(self, path: str, stored: StoredDraft) -> None:
        self.warn(stored.warnings, path)
        if stored.id:
            self.tally.created += 1
            self.tally.ids[path] = stored.id
            self.tally.changed.append(stored.id)
        else:
            self.tally.skipped[path] = stored.problem

    async def _update(self, card: _Card, before: EarlierImport, parsed: ParsedFile, digest: str, *, dry_run: bool) -> None:
        memory = (await self.engine.store.get(self.who.space, [before.id]))[before.id]
        facts = self._facts(card, parsed, digest, memory)
        edit, clashes = await edit_for(memory, parsed, facts=facts, path=card.path, engine=self.engine)
        if clashes:
            self.tally.skipped[card.path] = f"the file and its note both changed: {', '.join(clashes)}"
            return
        self.tally.ids[card.path] = memory.id
        if edit is None:
            self.tally.unchanged += 1
            return
        self.tally.updated += 1
        if not dry_run:
            done = await self.engine.revise(memory.id, edit, who=self.who)
            self.warn(done.warnings, card.path)
            self.tally.changed.append(memory.id)

    def _draft(self, card: _Card, parsed: ParsedFile, digest: str) -> Draft:
        note = parsed.note
        most = self.engine.limits.tags
        if len(note.tags) > most:
            self.warn((f"only the first {most} of its {len(note.tags)} tags are kept",), card.path)
        return Draft(
            text=note.content, id=card.id, title=note.title, kind="" if note.kind == ATTACHMENT else note.kind,
            observations=tuple(observation for observation in note.observations if observation.strip()),
            tags=note.tags[:most],
            category=note.category, intent="new", fixed=True, pinned=note.pinned,
            source=Source(method=Method.IMPORT, agent=self.who.agent, at=note.created_at),
            metadata=self._facts(card, parsed, digest, None),
        )  # fmt: skip

    def _facts(self, card: _Card, parsed: ParsedFile, digest: str, memory: Memory | None) -> dict[str, Json]:
        facts: dict[str, Json] = dict(memory.metadata) if memory is not None else {}
        facts |= {FRONTMATTER_KEY: parsed.note.extra} if parsed.note.extra else {}
        facts |= {"aliases": list(parsed.aliases)} if parsed.aliases else {}
        version = memory.version + 1 if memory is not None else 1
        return facts | import_metadata(
            folder=folder_key(self.origin.root), path=card.path, digest=digest, version=version
        )  # fmt: skip

    def _count(self, embeds: CopiedEmbeds, path: str) -> None:
        self.tally.files |= set(embeds.files)
        self.tally.broken |= dict.fromkeys((path, target) for target in embeds.missing)
        self.warn(embeds.warnings, path)


async def _run_concurrently(
    pages: Iterable[Sequence[_Card]], work: Callable[[Sequence[_Card]], Awaitable[None]]
) -> None:
    """Process pages concurrently; the first error ends all."""
    waiting = iter(pages)

    async def work_through() -> None:
        for page in waiting:
            await work(page)

    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(_AT_ONCE):
                group.create_task(work_through())
    except BaseExceptionGroup as errors:
        raise errors.exceptions[0] from None


def _report(run: _Run, *, linked: int, dry_run: bool) -> NotesImported:
    tally = run.tally
    warnings = list(dict.fromkeys(tally.warnings))
    more = [f"and {len(warnings) - _MOST_WARNINGS:,} more"] if len(warnings) > _MOST_WARNINGS else []
    return NotesImported(
        folder=str(run.origin.root), found=tally.found, created=tally.created, updated=tally.updated,
        unchanged=tally.unchanged, linked=linked, attachments=len(tally.files),
        skipped=tuple(SkippedFile(path=path, reason=reason) for path, reason in sorted(tally.skipped.items())),
        broken_links=tuple(ImportedLink(path=path, target=target) for path, target in sorted(tally.broken)),
        warnings=(*warnings[:_MOST_WARNINGS], *more), dry_run=dry_run,
    )  # fmt: skip


def _silent(done: int, total: int) -> None:
    del done, total
