"""What all verbs of notes work with: the engine, the folder if there is one, and the way from a name to a file."""

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from scrubjay.engine import Engine
from scrubjay.errors import Ambiguous, InvalidInput, NotFound, ScrubjayError
from scrubjay.model.checks import require_text
from scrubjay.model.draft import Caller
from scrubjay.notes.markdown.naming import SUFFIX, id_in, link_target
from scrubjay.notes.queries.links import aliased
from scrubjay.notes.vault_provider import VaultProvider

if TYPE_CHECKING:
    from pathlib import Path

    from scrubjay.notes.vault import Vault

__all__ = ["NotesContext", "no_note", "told_as_notes"]

_FOUND_BY = "Find it with search_mem, `scrubjay notes search` or `GET /api/v1/notes/search`"
_DROPPED_BY = "Give it some content; to drop it, delete its file, or `scrubjay forget` it"

Filed = tuple[Mapping[str, str], tuple[str, ...]]
"""Where files are, by the id of their note, and what kept them from being in step."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NotesContext:
    """Where notes are worked on. Without a cabinet, and in other spaces than its own, there are no files."""

    engine: Engine
    vaults: VaultProvider | None = None

    async def _ref(self, identifier: str, *, who: Caller) -> str:
        """What the engine finds a note by: also for a link and for the name of a file."""
        ref = require_text(identifier, field="identifier").strip()
        if ref.startswith("[[") and ref.endswith("]]"):
            ref = ref[2:-2].partition("|")[0].partition("#")[0].strip()
        if not ref or any([await self.engine.store.find(space, ref) for space in who.spaces]):
            return ref
        stem = link_target(ref).rpartition("/")[2]
        own = "" if stem == ref and not id_in(ref) else id_in(stem) or await self._at(ref, space=who.space)
        return own or await self._aliased(ref, who=who) or stem

    async def _aliased(self, ref: str, *, who: Caller) -> str:
        """The note that has something for another name, in the first of the caller's spaces in which one has."""
        for space in who.spaces:
            found = await aliased(ref, engine=self.engine, space=space)
            if len(found) > 1:
                raise Ambiguous(
                    f"{len(found)} notes have the other name {ref[:100]!r}",
                    hint=f"Say which by id: {', '.join(found)}", ref=ref[:200], matches=found,
                )  # fmt: skip
            if found:
                return found[0]
        return ""

    async def _at(self, path: str, *, space: str) -> str:
        """The note whose file is at a path, with the folder's own or within it."""
        vault = await self._vault(space)
        if vault is None:
            return ""
        inside = path.removeprefix(f"{vault.root}/")
        return await vault.at(inside) or await vault.at(f"{link_target(inside)}{SUFFIX}")

    def _folder(self, space: str) -> "Path | None":
        return self.vaults.folder if self.vaults is not None and self.vaults.space == space else None

    async def _vault(self, space: str, *, make: bool = False) -> "Vault | None":
        if self.vaults is None or self.vaults.space != space:
            return None
        return await self.vaults.vault(make=make)

    async def _paths(self, ids: Sequence[str], *, space: str) -> Mapping[str, str]:
        vault = await self._vault(space) if ids else None
        if vault is None:
            return {}
        return {memory_id: str(path) for memory_id, path in (await vault.paths_of(ids)).items()}

    async def _filed(self, ids: Sequence[str], *, space: str) -> Filed:
        """Have the files of some notes written. What is stored is stored, so a file that cannot be is a warning."""
        vault = await self._vault(space, make=True) if ids else None
        if vault is None:
            problem = self.vaults.problem if ids and self.vaults is not None and self.vaults.space == space else ""
            return {}, (f"it is stored, and has no file: {problem}",) if problem else ()
        news = self.vaults.take_news() if self.vaults is not None else ()
        try:
            await vault.settle(ids)
        except ScrubjayError as error:
            problem = f"it is stored, and its file is not in step yet: {error}"
            return await self._paths(ids, space=space), (*news, problem)
        paths = await self._paths(ids, space=space)
        lost = [id_ for id_ in ids if id_ not in paths]
        if not lost or not vault.follows:
            return paths, news
        problems = [problem for problem in await vault.problems() if any(memory_id in problem for memory_id in lost)]
        problem = f"it is stored, and its file is not: {'; '.join(problems) or 'scrubjay doctor says more'}"
        return paths, (*news, problem)


@contextmanager
def told_as_notes(what: str = "note", *, hint: str = _FOUND_BY) -> Generator[None]:
    """What nobody answers to is told of as a note, and looked for as one; nor is a verb named that is none of notes."""
    try:
        yield
    except NotFound as error:
        ref, names = error.fields.get("ref"), error.fields.get("suggestions")
        if isinstance(ref, str) and isinstance(names, tuple):
            raise no_note(ref, names, what=what, hint=hint) from error
        raise
    except InvalidInput as error:
        if "`forget`" not in error.hint:
            raise
        raise InvalidInput(error.message.replace("memory", what), hint=_DROPPED_BY, **error.fields) from error


def no_note(identifier: str, names: Sequence[str], *, what: str = "note", hint: str = _FOUND_BY) -> NotFound:
    """The error for a note that is not there, with the names most like it."""
    hint = f"Did you mean {' or '.join(names)}?" if names else hint
    return NotFound(
        f"no {what} answers to {identifier[:100]!r}", hint=hint, ref=identifier[:200], suggestions=tuple(names)
    )
