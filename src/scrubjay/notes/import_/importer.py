"""Imports: each file of a folder becomes a memory through the one way that all writes take, many at once."""

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
from scrubjay.notes.import_.batch_write import Keeper, Kept
from scrubjay.notes.import_.files import Embeds, Files
from scrubjay.notes.import_.folder import Origin, Survey
from scrubjay.notes.import_.link_index import Atlas
from scrubjay.notes.import_.links import Linker
from scrubjay.notes.import_.manifest import Before, Known, folder_key, marks
from scrubjay.notes.import_.parse import Understood, understood
from scrubjay.notes.import_.results import ImportedLink, NotesImported, Skipped
from scrubjay.notes.import_.update import edit_for
from scrubjay.notes.markdown.note import Link
from scrubjay.notes.sync.mapping import FRONTMATTER_KEY
from scrubjay.ports import Progress
from scrubjay.writing.validate import validate

if TYPE_CHECKING:
    from scrubjay.notes.vault import Vault

__all__ = ["Importer"]

# So many are embedded and stored together; while one page is embedded, another is read or stored.
_PAGE = 64
_AT_ONCE = 3
_MOST_WARNINGS = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class _Card:
    """What is kept in mind of every file."""

    path: str
    digest: str
    id: str
    links: tuple[Link, ...]
    typed: frozenset[str] = frozenset()
    before: Before | None = None


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
    # The ids of the notes that the files are now, by their paths.
    ids: dict[str, str] = field(default_factory=dict[str, str])


class Importer:
    """Takes a folder into one space. With the vault of that space, files are written and attachments kept there."""

    def __init__(self, engine: Engine, *, who: Caller, vault: "Vault | None" = None, largest: int = 0) -> None:
        self._engine = engine
        self._who = replace(who, run=who.run or new_id(), also=())
        self._vault = vault
        self._largest = largest or LARGEST_ATTACHMENT

    async def take(
        self, folder: Path, *, category: str = "", dry_run: bool = False, progress: Progress | None = None
    ) -> NotesImported:
        """Take in what is new or has changed; what was cut off is gone on with by another run."""
        origin = await asyncio.to_thread(Origin, folder)
        self._require_elsewhere(origin.root)
        survey = await asyncio.to_thread(origin.survey)
        run = _Run(engine=self._engine, who=self._who, origin=origin, category=category, tell=progress or _silent)
        run.tally.skipped |= dict(survey.odd)
        cards = await run.read(survey)
        depot = (
            AttachmentStorage(self._vault.root, largest=self._largest)
            if self._vault is not None and not dry_run
            else None
        )
        run.files = Files(origin, atlas=run.atlas, depot=depot)
        await run.take(cards, dry_run=dry_run)
        linker = Linker(self._engine, who=self._who, atlas=run.atlas, ids=run.tally.ids, dry_run=dry_run)
        existing = [card for card in cards if card.path in run.tally.ids]
        linked = await linker.link([(card.path, card.links, card.typed) for card in existing])
        run.tally.broken |= dict.fromkeys(linker.broken)
        if not dry_run:
            await self._settle(run)
            if self._vault is None and run.tally.files:
                run.tally.warnings.append("there is no folder of notes for this space: no attachment was kept")
        return _report(run, linked=linked, dry_run=dry_run)

    async def _settle(self, run: "_Run") -> None:
        """Have what was embedded be known as such, and all files be written."""
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
                run.warn((f"it is stored, and its file is not in step yet: {error}",), "")
            run.tell(run.tally.found + start + len(page), total)

    def _require_elsewhere(self, root: Path) -> None:
        own = self._vault.root if self._vault is not None else None
        if own is not None and (root == own or root in own.parents or own in root.parents):
            raise InvalidInput(
                f"{root} is, has or is in the folder of notes itself", field="folder",
                hint="What lies there is kept in step: `scrubjay notes sync` looks at it now",
            )  # fmt: skip


@dataclass(slots=True, kw_only=True)
class _Run:
    """One import."""

    engine: Engine
    who: Caller
    origin: Origin
    category: str
    tell: Progress
    atlas: Atlas = field(default_factory=Atlas)
    tally: _Tally = field(default_factory=_Tally)
    files: Files | None = None

    async def read(self, survey: Survey) -> list[_Card]:
        """Look into every file, and find out which are known."""
        folder = folder_key(self.origin.root)
        existing = await Known.load(self.engine.store, space=self.who.space, folder=folder)
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
        """Store what is new or has changed."""
        done = self.tally.found - len(cards)
        keeper = Keeper(self.engine, who=self.who)

        async def some(page: Sequence[_Card]) -> None:
            nonlocal done
            drafts: dict[str, Draft] = {}
            for card in page:
                with self._skipping(card.path):
                    draft = await self._take(card, dry_run=dry_run)
                    drafts |= {card.path: draft} if draft is not None else {}
            for path, stored in (await keeper.keep(drafts)).items() if not dry_run else ():
                self._note(path, stored)
            done += len(page)
            self.tell(done, self.tally.found)

        try:
            await _at_once([cards[start : start + _PAGE] for start in range(0, len(cards), _PAGE)], some)
        finally:
            # Also after it was cut off: what is there is not looked at by another run.
            if keeper.is_to_be_looked_at:
                await self._have_looked_at()

    async def _have_looked_at(self) -> None:
        """Have somebody look later for what the new notes do not go with."""
        if (await self.engine.rules(who=self.who)).conflicts != "off":
            await self.engine.scan_later(who=self.who)

    @contextmanager
    def _skipping(self, path: str) -> Generator[None]:
        """What is wrong with one file is told, and holds up no other."""
        try:
            yield
        except StoreError:
            raise
        except ScrubjayError as error:
            self.tally.skipped[path] = str(error)

    def warn(self, warnings: Iterable[str], path: str) -> None:
        """Note something that somebody should know."""
        self.tally.warnings += [f"{path}: {warning}" if path else warning for warning in warnings]

    def _cards(self, paths: Iterable[str]) -> list[_Card]:
        return [card for path in paths if (card := self._card(path))]

    def _card(self, path: str) -> _Card | None:
        try:
            data = self.origin.read(path)
            reported = understood(data, path=path, category=self.category)
        except ScrubjayError as error:
            self.tally.skipped[path] = error.message
            return None
        self.atlas.add_note(path, (*reported.aliases, reported.note.title))
        if not reported.note.content.strip() and not any(
            observation.strip() for observation in reported.note.observations
        ):
            self.tally.skipped[path] = "it is empty"
            return None
        self.warn(reported.warnings, path)
        own = reported.note.id.lower()
        return _Card(
            path=path, digest=hashlib.sha256(data).hexdigest(), id=own if is_id(own) else "", links=reported.links,
            typed=reported.typed,
        )  # fmt: skip

    async def _by_id(self, cards: Sequence[_Card]) -> list[_Card]:
        """Those that no path is known of may tell their ids; of two with the same, the first has it."""
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
                    self.warn((f"another file has its id {card.id}: it gets one of its own",), card.path)
                    results.append(replace(card, id=""))
                else:
                    seen.add(card.id)
                    memory = there.get(card.id)
                    before = Before(id=card.id, path="", digest="", state=memory.state) if memory else None
                    results.append(replace(card, before=before))
        return results

    async def _take(self, card: _Card, *, dry_run: bool) -> Draft | None:
        """Do what a file asks for, except for one that is new: what that is to be is told."""
        before = card.before
        if before is not None and before.state is not State.LIVE:
            self.tally.skipped[card.path] = f"its note is {before.state.value}: bring it back with `scrubjay restore`"
            return None
        if before is not None and before.digest == card.digest and before.path == card.path:
            self.tally.unchanged += 1
            self.tally.ids[card.path] = before.id
            return None
        data = await asyncio.to_thread(self.origin.read, card.path)
        digest = hashlib.sha256(data).hexdigest()
        reported = await asyncio.to_thread(understood, data, path=card.path, category=self.category)
        assert self.files is not None
        embeds = await self.files.embedded(reported.note.content, path=card.path)
        self._count(embeds, card.path)
        reported = replace(reported, note=replace(reported.note, content=embeds.content))
        if before is not None:
            await self._update(card, before, reported, digest, dry_run=dry_run)
            return None
        draft = self._draft(card, reported, digest)
        validate(draft, limits=self.engine.limits)
        if dry_run:
            self.tally.created += 1
            # No id is like this: it stands for the one that the note would get.
            self.tally.ids[card.path] = f"/{card.path}"
        return draft

    def _note(self, path: str, kept: Kept) -> None:
        self.warn(kept.warnings, path)
        if kept.id:
            self.tally.created += 1
            self.tally.ids[path] = kept.id
            self.tally.changed.append(kept.id)
        else:
            self.tally.skipped[path] = kept.problem

    async def _update(self, card: _Card, before: Before, told: Understood, digest: str, *, dry_run: bool) -> None:
        memory = (await self.engine.store.get(self.who.space, [before.id]))[before.id]
        facts = self._facts(card, told, digest, memory)
        edit, clashes = await edit_for(memory, told, facts=facts, path=card.path, engine=self.engine)
        if clashes:
            self.tally.skipped[card.path] = f"both it and its note were changed: {', '.join(clashes)}"
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

    def _draft(self, card: _Card, told: Understood, digest: str) -> Draft:
        note = told.note
        most = self.engine.limits.tags
        if len(note.tags) > most:
            self.warn((f"of its {len(note.tags)} tags the first {most} are kept",), card.path)
        return Draft(
            text=note.content, id=card.id, title=note.title, kind="" if note.kind == ATTACHMENT else note.kind,
            observations=tuple(observation for observation in note.observations if observation.strip()),
            tags=note.tags[:most],
            category=note.category, intent="new", fixed=True, pinned=note.pinned,
            source=Source(method=Method.IMPORT, agent=self.who.agent, at=note.created_at),
            metadata=self._facts(card, told, digest, None),
        )  # fmt: skip

    def _facts(self, card: _Card, told: Understood, digest: str, memory: Memory | None) -> dict[str, Json]:
        facts: dict[str, Json] = dict(memory.metadata) if memory is not None else {}
        facts |= {FRONTMATTER_KEY: told.note.extra} if told.note.extra else {}
        facts |= {"aliases": list(told.aliases)} if told.aliases else {}
        version = memory.version + 1 if memory is not None else 1
        return facts | marks(
            folder=folder_key(self.origin.root), path=card.path, digest=digest, version=version
        )  # fmt: skip

    def _count(self, embeds: Embeds, path: str) -> None:
        self.tally.files |= set(embeds.files)
        self.tally.broken |= dict.fromkeys((path, target) for target in embeds.missing)
        self.warn(embeds.warnings, path)


async def _at_once(pages: Iterable[Sequence[_Card]], work: Callable[[Sequence[_Card]], Awaitable[None]]) -> None:
    """Do the same with many, so many at a time; the first that fails ends all."""
    waiting = iter(pages)

    async def one_by_one() -> None:
        for page in waiting:
            await work(page)

    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(_AT_ONCE):
                group.create_task(one_by_one())
    except BaseExceptionGroup as errors:
        raise errors.exceptions[0] from None


def _report(run: _Run, *, linked: int, dry_run: bool) -> NotesImported:
    tally = run.tally
    warnings = list(dict.fromkeys(tally.warnings))
    more = [f"and {len(warnings) - _MOST_WARNINGS:,} more"] if len(warnings) > _MOST_WARNINGS else []
    return NotesImported(
        folder=str(run.origin.root), found=tally.found, created=tally.created, updated=tally.updated,
        unchanged=tally.unchanged, linked=linked, attachments=len(tally.files),
        skipped=tuple(Skipped(path=path, reason=why) for path, why in sorted(tally.skipped.items())),
        broken_links=tuple(ImportedLink(path=path, target=target) for path, target in sorted(tally.broken)),
        warnings=(*warnings[:_MOST_WARNINGS], *more), dry_run=dry_run,
    )  # fmt: skip


def _silent(done: int, total: int) -> None:
    del done, total
