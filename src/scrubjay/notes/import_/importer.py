"""Import a folder: each file becomes a memory through the regular write path, in concurrent batches."""

import asyncio
import hashlib
from collections.abc import Awaitable, Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from scrubjay.engine import Engine
from scrubjay.errors import InvalidInput, ScrubjayError, StoreError, VaultUnavailable
from scrubjay.lazy import dataclass
from scrubjay.model.attachments import LARGEST_ATTACHMENT
from scrubjay.model.caller import Caller
from scrubjay.model.draft import Draft
from scrubjay.model.identity import is_id, new_id
from scrubjay.model.media import ATTACHMENT
from scrubjay.model.memory import Json, Memory, Method, Source, State
from scrubjay.model.notes import ImportedLink, NotesImported, SkippedFile
from scrubjay.model.requests import RulesRequest, ScanLaterRequest
from scrubjay.notes.attachments.storage import AttachmentStorage
from scrubjay.notes.import_.folder import AttachmentCopier, FolderListing, SourceFolder
from scrubjay.notes.import_.links import FileLinks, LinkIndex, NoteLinker
from scrubjay.notes.import_.manifest import EarlierImport, Manifest, folder_key, import_metadata
from scrubjay.notes.import_.parse import ParsedFile, parse_file
from scrubjay.notes.import_.write import BatchWriter, edit_for
from scrubjay.notes.markdown.aliases import ALIASES, aliases_in
from scrubjay.notes.markdown.naming import PATH_KEY, link_target, safe_path, stem_of, with_suffix
from scrubjay.notes.markdown.note import Link
from scrubjay.notes.markdown.wiki import Mention, key_of, rename_targets
from scrubjay.notes.markdown.yaml_values import flow_list
from scrubjay.notes.sync.mapping import FRONTMATTER_KEY
from scrubjay.ports import Progress
from scrubjay.text.screening.secrets import redact
from scrubjay.writing.validate import validate

if TYPE_CHECKING:
    from scrubjay.notes.vault import Vault

__all__ = ["Importer"]

# Notes of one page are embedded and stored together; meanwhile, other pages are read or stored.
_PAGE = 64
_MAX_CONCURRENT = 3
_MAX_WARNINGS = 1_000
# Of the progress, for the files that are written at the end; the rest takes most of the time, for the embedding.
_SHARE_OF_FILES = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class _File:
    """The data of a file that the import keeps in memory."""

    path: str
    digest: str
    id: str
    links: tuple[Link, ...]
    text_targets: frozenset[str] = frozenset()
    earlier: EarlierImport | None = None


@dataclass(slots=True, kw_only=True)
class _Tally:
    files: int = 0
    created: int = 0
    updated: int = 0
    unchanged: int = 0
    attachments: set[str] = field(default_factory=set[str])
    skipped: dict[str, str] = field(default_factory=dict[str, str])
    broken: dict[tuple[str, str], None] = field(default_factory=dict[tuple[str, str], None])
    warnings: list[str] = field(default_factory=list[str])
    changed: list[str] = field(default_factory=list[str])
    # The ids of the imported notes, by path.
    ids: dict[str, str] = field(default_factory=dict[str, str])


class Importer:
    """Imports a folder into a space. With a vault, it also writes note files and stores attachments there."""

    def __init__(self, engine: Engine, *, who: Caller, vault: "Vault | None" = None, largest: int = 0) -> None:
        self._engine = engine
        self._who = replace(who, run=who.run or new_id(), also=())
        self._vault = vault
        self._largest = largest or LARGEST_ATTACHMENT

    async def import_folder(
        self, folder: Path, *, category: str = "", dry_run: bool = False, progress: Progress | None = None
    ) -> NotesImported:
        """Import new and changed files; another run continues an interrupted one."""
        source = await asyncio.to_thread(SourceFolder, folder)
        own = self._vault.root if self._vault is not None else None
        if own is not None and (source.root == own or source.root in own.parents or own in source.root.parents):
            raise InvalidInput(
                f"{source.root} overlaps with the folder of notes", field="folder",
                hint="Scrubjay synchronises that folder anyway; run `scrubjay notes sync` to do it now",
            )  # fmt: skip
        listing = await asyncio.to_thread(source.list_files)
        storage = (
            AttachmentStorage(self._vault.root, largest=self._largest)
            if self._vault is not None and not dry_run
            else None
        )
        index = LinkIndex()
        run = _Run(
            engine=self._engine, who=self._who, folder=source, category=category, index=index,
            copier=AttachmentCopier(source, index=index, storage=storage),
            taken=await self._vault.taken_paths() if self._vault is not None else None,
            report_progress=progress or (lambda _done, _total: None),
        )  # fmt: skip
        run.tally.skipped |= dict(listing.skipped)
        files = await run.read(listing)
        await run.store(files, dry_run=dry_run)
        linker = NoteLinker(self._engine, who=self._who, index=index, ids=run.tally.ids, dry_run=dry_run)
        linked = await linker.link(
            [
                FileLinks(path=file.path, links=file.links, text_targets=file.text_targets)
                for file in files
                if file.path in run.tally.ids
            ]
        )
        run.tally.broken |= dict.fromkeys(linker.broken)
        if not dry_run:
            await self._write_files(run, broken=linker.broken)
            run.report(files_left=0)
            if self._vault is None and run.tally.attachments:
                run.tally.warnings.append("this space has no folder of notes, so no attachment was stored")
        return _result(run, linked=linked, dry_run=dry_run)

    async def _write_files(self, run: "_Run", *, broken: Iterable[tuple[str, str]]) -> None:
        """Register the attachments of the imported notes and write the note files; `broken` are links to no note."""
        if self._vault is None:
            return
        attachments = self._vault.attachments
        changed = run.tally.changed
        unresolved: dict[str, set[str]] = {}
        for path, target in broken:
            unresolved.setdefault(run.tally.ids[path], set()).add(key_of(target))
        for start in range(0, len(changed), _PAGE):
            page = changed[start : start + _PAGE]
            try:
                if attachments is not None and run.tally.attachments:
                    memories = await self._engine.reader.get(self._who.space, page)
                    for memory in memories.values():
                        if "![[" in memory.content:
                            run.warn(
                                (await attachments.take_embeds(memory, memory.content, who=self._who)).warnings,
                                memory.label,
                            )
                await self._vault.sync_notes(page, broken=unresolved)
            except (VaultUnavailable, StoreError):
                raise
            except ScrubjayError as error:
                run.warn((f"notes are stored, but their files are not up to date: {error}",), "")
            run.report(files_left=len(changed) - start - len(page))


@dataclass(slots=True, kw_only=True)
class _Run:
    """A run of an import."""

    engine: Engine
    who: Caller
    folder: SourceFolder
    category: str
    index: LinkIndex
    copier: AttachmentCopier
    report_progress: Progress
    # The keys of the paths of existing notes; None if the notes of the space have no files.
    taken: set[str] | None = None
    # The paths of the new files, by those of the imported ones.
    paths: dict[str, str] = field(default_factory=dict[str, str])
    tally: _Tally = field(default_factory=_Tally)

    async def read(self, listing: FolderListing) -> list[_File]:
        """Read every file and match it with earlier imports."""
        key = folder_key(self.folder.root)
        manifest = await Manifest.load(self.engine.reader, space=self.who.space, folder=key)
        self.tally.files = len(listing.notes)
        self.report(stored=0)
        for path in listing.files:
            self.index.add_file(path)
        paths = dict.fromkeys(listing.notes)
        files: list[_File] = []
        for start in range(0, len(listing.notes), _PAGE):
            files += await asyncio.to_thread(self._read_files, listing.notes[start : start + _PAGE])
        matched = [replace(file, earlier=manifest.find(file.path, file.digest, listed=paths)) for file in files]
        if self.taken is not None:
            self._choose_paths(matched, key=key, taken=self.taken)
        return await self._match_ids(matched)

    async def store(self, files: Sequence[_File], *, dry_run: bool) -> None:
        """Store new and changed notes."""
        done = self.tally.files - len(files)
        writer = BatchWriter(self.engine, who=self.who)

        async def store_page(page: Sequence[_File]) -> None:
            nonlocal done
            drafts: dict[str, Draft] = {}
            for file in page:
                with self._skipping(file.path):
                    draft = await self._update_or_draft(file, dry_run=dry_run)
                    drafts |= {file.path: draft} if draft is not None else {}
            for path, stored in (await writer.store(drafts)).items() if not dry_run else ():
                self.warn(stored.warnings, path)
                if stored.id:
                    self.tally.created += 1
                    self.tally.ids[path] = stored.id
                    self.tally.changed.append(stored.id)
                else:
                    self.tally.skipped[path] = stored.problem
            done += len(page)
            self.report(stored=done)

        try:
            await _run_concurrently([files[start : start + _PAGE] for start in range(0, len(files), _PAGE)], store_page)
        finally:
            # Also after an interruption: another run does not check notes that already exist.
            if writer.needs_scan and (await self.engine.rules(RulesRequest(), who=self.who)).conflicts != "off":
                await self.engine.scan_later(ScanLaterRequest(), who=self.who)

    def report(self, *, stored: int | None = None, files_left: int = 0) -> None:
        """Report the progress in notes, of a total that stays the same so that the remaining time can be estimated."""
        total = self.tally.files
        share = 0.0 if self.taken is None else _SHARE_OF_FILES
        if stored is not None:
            self.report_progress(int(stored * (1 - share)), total)
        else:
            self.report_progress(total - int(total * share * files_left / max(1, len(self.tally.changed))), total)

    def warn(self, warnings: Iterable[str], path: str) -> None:
        """Add warnings about a file."""
        self.tally.warnings += [f"{path}: {warning}" if path else warning for warning in warnings]

    @contextmanager
    def _skipping(self, path: str) -> Generator[None]:
        """Report an error of one file without stopping the import."""
        try:
            yield
        except StoreError:
            raise
        except ScrubjayError as error:
            self.tally.skipped[path] = str(error)

    def _read_files(self, paths: Iterable[str]) -> list[_File]:
        files: list[_File] = []
        for path in paths:
            try:
                data = self.folder.read(path)
                parsed = parse_file(data, path=path, category=self.category)
            except ScrubjayError as error:
                self.tally.skipped[path] = error.message
                continue
            note = parsed.note
            self.index.add_note(path, (*parsed.aliases, note.title))
            if not note.content.strip() and not any(observation.strip() for observation in note.observations):
                self.tally.skipped[path] = "it is empty"
                continue
            self.warn(parsed.warnings, path)
            own_id = note.id.lower()
            files.append(
                _File(
                    path=path, digest=hashlib.sha256(data).hexdigest(), id=own_id if is_id(own_id) else "",
                    links=parsed.links, text_targets=parsed.text_targets,
                )
            )  # fmt: skip
        return files

    def _choose_paths(self, files: Iterable[_File], *, key: str, taken: set[str]) -> None:
        """Choose the path of each new file: its own below the category, so that links by file names still resolve."""
        for file in files:
            if file.earlier is not None:
                self.paths |= {file.path: file.earlier.file} if file.earlier.file else {}
                continue
            chosen = safe_path(f"{self.category}/{file.path}" if self.category else file.path)
            chosen = with_suffix(chosen, f"{key} {file.path}") if key_of(chosen) in taken else chosen
            taken.add(key_of(chosen))
            self.paths[file.path] = chosen

    def _with_new_names(self, parsed: ParsedFile, path: str) -> ParsedFile:
        """Return a note with the new names of notes in its links, and its old name as an alias if it has another."""

        def new_target(mention: Mention) -> str | None:
            other = self.index.find_note(mention.target, source=path)
            if other is None or other not in self.paths or stem_of(other) == stem_of(self.paths[other]):
                return None
            return link_target(self.paths[other]) if "/" in mention.target else stem_of(self.paths[other])

        note = replace(parsed.note, content=rename_targets(parsed.note.content, new_target))
        old = stem_of(path)
        if path in self.paths and stem_of(self.paths[path]) != old and not aliases_in(note.extra):
            note = replace(note, extra=f"{note.extra}{ALIASES}: {flow_list((old,))}\n")
            return replace(parsed, note=note, aliases=tuple(dict.fromkeys((*parsed.aliases, old))))
        return replace(parsed, note=note)

    async def _match_ids(self, files: Sequence[_File]) -> list[_File]:
        """Match files without an earlier import by their ids; of two with the same id, the first keeps it."""
        seen: set[str] = {file.earlier.id for file in files if file.earlier}
        matched: list[_File] = []
        for start in range(0, len(files), _PAGE):
            page = files[start : start + _PAGE]
            ids = [file.id for file in page if file.id and file.earlier is None]
            existing = await self.engine.reader.get(self.who.space, ids) if ids else {}
            for file in page:
                if file.earlier is not None or not file.id:
                    matched.append(replace(file, id=""))
                elif file.id in seen:
                    self.warn((f"another file has its id {file.id}: it gets a new one",), file.path)
                    matched.append(replace(file, id=""))
                else:
                    seen.add(file.id)
                    memory = existing.get(file.id)
                    earlier = EarlierImport(id=file.id, path="", digest="", state=memory.state) if memory else None
                    matched.append(replace(file, earlier=earlier))
        return matched

    async def _update_or_draft(self, file: _File, *, dry_run: bool) -> Draft | None:
        """Update the note of an earlier import, or return the draft of a new note."""
        earlier = file.earlier
        if earlier is not None and earlier.state is not State.LIVE:
            self.tally.skipped[file.path] = f"its note is {earlier.state.value}: restore it with `scrubjay restore`"
            return None
        if earlier is not None and earlier.digest == file.digest and earlier.path == file.path:
            self.tally.unchanged += 1
            self.tally.ids[file.path] = earlier.id
            return None
        data = await asyncio.to_thread(self.folder.read, file.path)
        digest = hashlib.sha256(data).hexdigest()
        parsed = await asyncio.to_thread(parse_file, data, path=file.path, category=self.category)
        embeds = await self.copier.copy_embeds(parsed.note.content, path=file.path)
        self.tally.attachments |= set(embeds.files)
        self.tally.broken |= dict.fromkeys((file.path, target) for target in embeds.missing)
        self.warn(embeds.warnings, file.path)
        parsed = replace(parsed, note=replace(parsed.note, content=embeds.content))
        parsed = self._with_new_names(parsed, file.path)
        if earlier is not None:
            await self._update(file, earlier, parsed, digest, dry_run=dry_run)
            return None
        draft = self._draft(file, parsed, digest)
        validate(draft, limits=self.engine.limits)
        if dry_run:
            await self._warn_of_secrets(draft.text, file.path)
            self.tally.created += 1
            # A placeholder that no real id equals.
            self.tally.ids[file.path] = f"/{file.path}"
        return draft

    async def _update(
        self, file: _File, earlier: EarlierImport, parsed: ParsedFile, digest: str, *, dry_run: bool
    ) -> None:
        memory = (await self.engine.reader.get(self.who.space, [earlier.id]))[earlier.id]
        metadata = self._metadata(file, parsed, digest, memory)
        edit, clashes = await edit_for(memory, parsed, facts=metadata, path=file.path, engine=self.engine)
        if clashes:
            self.tally.skipped[file.path] = f"the file and its note both changed: {', '.join(clashes)}"
            return
        self.tally.ids[file.path] = memory.id
        if edit is None:
            self.tally.unchanged += 1
            return
        self.tally.updated += 1
        if dry_run:
            await self._warn_of_secrets(parsed.note.content, file.path)
        else:
            done = await self.engine.apply_edit(memory.id, edit, who=self.who)
            self.warn(done.warnings, file.path)
            self.tally.changed.append(memory.id)

    async def _warn_of_secrets(self, text: str, path: str) -> None:
        """Name the secrets that an import would take out of a text."""
        kinds = redact(text)[1]
        if kinds and (await self.engine.rules(RulesRequest(), who=self.who)).secrets != "off":
            self.warn((f"it would redact {', '.join(dict.fromkeys(kinds))}",), path)

    def _draft(self, file: _File, parsed: ParsedFile, digest: str) -> Draft:
        note = parsed.note
        max_tags = self.engine.limits.tags
        if len(note.tags) > max_tags:
            self.warn((f"only the first {max_tags} of its {len(note.tags)} tags are kept",), file.path)
        return Draft(
            text=note.content, id=file.id, title=note.title, kind="" if note.kind == ATTACHMENT else note.kind,
            observations=tuple(observation for observation in note.observations if observation.strip()),
            tags=note.tags[:max_tags],
            category=note.category, intent="new", fixed=True, pinned=note.pinned,
            source=Source(method=Method.IMPORT, agent=self.who.agent, at=note.created_at),
            metadata=self._metadata(file, parsed, digest, None),
        )  # fmt: skip

    def _metadata(self, file: _File, parsed: ParsedFile, digest: str, memory: Memory | None) -> dict[str, Json]:
        metadata: dict[str, Json] = dict(memory.metadata) if memory is not None else {}
        metadata |= {FRONTMATTER_KEY: parsed.note.extra} if parsed.note.extra else {}
        metadata |= {"aliases": list(parsed.aliases)} if parsed.aliases else {}
        version = memory.version + 1 if memory is not None else 1
        if memory is None and file.path in self.paths:
            metadata[PATH_KEY] = self.paths[file.path]
        return metadata | import_metadata(
            folder=folder_key(self.folder.root), path=file.path, digest=digest, version=version
        )


async def _run_concurrently(
    pages: Iterable[Sequence[_File]], work: Callable[[Sequence[_File]], Awaitable[None]]
) -> None:
    """Process pages concurrently; the first error ends all."""
    waiting = iter(pages)

    async def work_through() -> None:
        for page in waiting:
            await work(page)

    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(_MAX_CONCURRENT):
                group.create_task(work_through())
    except BaseExceptionGroup as errors:
        raise errors.exceptions[0] from None


def _result(run: _Run, *, linked: int, dry_run: bool) -> NotesImported:
    tally = run.tally
    warnings = list(dict.fromkeys(tally.warnings))
    more = [f"and {len(warnings) - _MAX_WARNINGS:,} more"] if len(warnings) > _MAX_WARNINGS else []
    return NotesImported(
        folder=str(run.folder.root), found=tally.files, created=tally.created, updated=tally.updated,
        unchanged=tally.unchanged, linked=linked, attachments=len(tally.attachments),
        skipped=tuple(SkippedFile(path=path, reason=reason) for path, reason in sorted(tally.skipped.items())),
        broken_links=tuple(ImportedLink(path=path, target=target) for path, target in sorted(tally.broken)),
        warnings=(*warnings[:_MAX_WARNINGS], *more), dry_run=dry_run,
    )  # fmt: skip
