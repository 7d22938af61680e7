"""The adoption of a folder that has notes already: what it would do, and doing it. See `scrubjay.notes.sync.plain`."""

import asyncio
import os
import zipfile
from dataclasses import replace
from pathlib import Path

from scrubjay.engine import Engine
from scrubjay.errors import InvalidInput
from scrubjay.model.caller import Caller
from scrubjay.model.identity import new_id
from scrubjay.model.memory import State
from scrubjay.model.notes import ImportedLink, NotesAdopted, SkippedFile
from scrubjay.model.query import Filter
from scrubjay.notes.files.folder import MAX_NOTE_BYTES, Folder
from scrubjay.notes.import_.importer import Importer
from scrubjay.notes.markdown.naming import default_path
from scrubjay.notes.sync.state import is_note
from scrubjay.notes.vault_provider import VaultProvider
from scrubjay.ports import Progress

__all__ = ["adopt", "plan", "require_adoptable"]

_PAGE = 500
_MAX_LISTED = 1_000


def require_adoptable(folder: Path, *, vaults: VaultProvider) -> None:
    """Raise InvalidInput if a folder is not there, is ours already, or could not stay the folder of notes. Blocks."""
    root, own = (os.path.realpath(path.expanduser()) for path in (folder, vaults.folder))
    if not Path(root).is_dir():
        raise InvalidInput(f"there is no folder {folder}", hint="Check the path", field="folder", path=str(folder))
    if Folder(folder).exists():
        raise InvalidInput(
            f"{folder} is a folder of notes of Scrubjay already", field="folder",
            hint="`scrubjay notes sync` synchronizes it; to use it again, name it with --notestore_path",
        )  # fmt: skip
    if root != own and os.path.commonpath((root, own)) in (root, own) and Folder(vaults.folder).exists():
        raise InvalidInput(
            f"{folder} overlaps with the folder of notes {vaults.folder}", hint="Move one of them", field="folder"
        )
    if vaults.fixed and root != own:
        raise InvalidInput(
            f"the settings name another folder of notes, {vaults.folder}",
            hint=f"Start with --notestore_path {folder} instead, which adopts it as well",
            field="folder",
        )


async def plan(
    folder: Path, *, engine: Engine, who: Caller, by_title: bool, progress: Progress | None
) -> NotesAdopted:  # fmt: skip
    """Return what an adoption would do, without doing anything."""
    counted = await Importer(engine, who=who).import_folder(folder, dry_run=True, progress=progress)
    count, names = await _unwritten(engine, who=who, by_title=by_title)
    return NotesAdopted(
        folder=str(folder), found=counted.found, adopted=counted.created + counted.updated + counted.unchanged,
        linked=counted.linked, new=count, new_files=names, skipped=counted.skipped, broken_links=counted.broken_links,
        warnings=counted.warnings, dry_run=True,
    )  # fmt: skip


async def adopt(folder: Path, *, vaults: VaultProvider, who: Caller, progress: Progress | None) -> NotesAdopted:
    """Open the folder as that of the notes and read all its notes; a later sync continues an interrupted adoption."""
    vault = await vaults.switch(folder)
    author = replace(who, run=who.run or new_id())
    synced = await vault.sync(progress=progress, author=author)
    missing = await vault.missing_links()
    paths = await vault.paths_of(list({id_ for id_, _ in missing}))
    broken = [(str(paths[id_].relative_to(vault.root)), link.target) for id_, link in missing if id_ in paths]
    copy = vault.copy
    news = [news for news in vaults.take_news() if copy is None or str(copy) not in news]
    changed = await asyncio.to_thread(_changed_since, copy, vault.root) if copy is not None else ()
    return NotesAdopted(
        folder=str(folder), found=synced.checked, adopted=synced.created, linked=vault.linked, changed=changed,
        new=synced.written, copy=str(copy or ""), warnings=(*news, *vault.take_warnings(), *synced.problems),
        skipped=tuple(SkippedFile(path=path, reason="it is empty") for path in await vault.blank_files()),
        broken_links=tuple(ImportedLink(path=path, target=target) for path, target in sorted(broken)), run=author.run,
    )  # fmt: skip


async def _unwritten(engine: Engine, *, who: Caller, by_title: bool) -> tuple[int, tuple[str, ...]]:
    """Return the number of notes of the space that become files, and the names of the first ones."""
    count, names, last = 0, list[str](), None
    while ids := await engine.reader.list_ids(who.space, Filter(state=State.LIVE), limit=_PAGE, after=last):
        notes = [memory for memory in (await engine.reader.get(who.space, ids)).values() if is_note(memory)]
        count += len(notes)
        names += [default_path(memory, by_title=by_title) for memory in notes[: _MAX_LISTED - len(names)]]
        last = ids[-1]
    return count, tuple(names)


def _changed_since(copy: Path, root: Path) -> tuple[str, ...]:
    """Return the notes of an archive whose files are not as they were. Blocks."""
    folder = Folder(root)
    with zipfile.ZipFile(copy) as archive:
        return tuple(
            name
            for name in archive.namelist()
            if folder.stat(name) is None or folder.read(name, max_bytes=MAX_NOTE_BYTES)[1] != archive.read(name)
        )
