"""Store the new notes of an import in batches: screened and embedded together, checked for conflicts later."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from scrubjay.engine import Engine
from scrubjay.errors import NameTaken, ScrubjayError, StoreError
from scrubjay.model.draft import Caller, Draft
from scrubjay.model.identity import new_id
from scrubjay.model.memory import Flag
from scrubjay.text.slug import add_suffix
from scrubjay.writing.batch import MAX_CONFLICT_CHECKS, Batch, NewMemory
from scrubjay.writing.compose import derived_name

__all__ = ["BatchWriter", "StoredDraft"]

_MESSAGE = "imported from a folder"


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredDraft:
    """The result of storing a draft: its id, or the problem."""

    id: str = ""
    problem: str = ""
    warnings: tuple[str, ...] = ()


class BatchWriter:
    """Stores drafts in batches, or one by one if a rule of the space requires review."""

    def __init__(self, engine: Engine, *, who: Caller) -> None:
        self._engine = engine
        self._who = who
        self._names: set[str] = set()
        # Whether some notes were stored without a conflict check.
        self.is_to_be_looked_at = False

    async def keep(self, drafts: Mapping[str, Draft]) -> dict[str, StoredDraft]:
        """Store drafts by path; one that cannot be stored does not affect the others."""
        if not drafts:
            return {}
        if (await self._engine.rules(who=self._who)).review != "none":
            return {path: await self._store_single(draft) for path, draft in drafts.items()}
        try:
            return await self._store_batch({path: self._new(draft) for path, draft in drafts.items()})
        except StoreError:
            raise
        except ScrubjayError:
            return {path: await self._store_single(draft) for path, draft in drafts.items()}

    async def _store_batch(self, new: dict[str, NewMemory]) -> dict[str, StoredDraft]:
        try:
            await self._write(new)
        except NameTaken:
            # A name is taken: each note gets a name that ends in a part of its id.
            new = {path: _add_id_to_name(item) for path, item in new.items()}
            await self._write(new)
        made = await self._engine.store.get(self._who.space, [item.id for item in new.values()])
        redacted = {item.id for item in made.values() if Flag.REDACTED in item.flags}
        return {
            path: StoredDraft(id=item.id, warnings=("a secret was redacted",) if item.id in redacted else ())
            for path, item in new.items()
        }

    async def _write(self, new: Mapping[str, NewMemory]) -> None:
        await self._engine.write_batch(Batch(new=tuple(new.values()), message=_MESSAGE), who=self._who)
        self.is_to_be_looked_at |= len(new) > MAX_CONFLICT_CHECKS

    async def _store_single(self, draft: Draft) -> StoredDraft:
        try:
            done = await self._engine.remember(draft, who=self._who)
        except StoreError:
            raise
        except ScrubjayError as error:
            return StoredDraft(problem=str(error))
        return StoredDraft(id=done.id, problem="; ".join(done.warnings) or "a rule refused it", warnings=done.warnings)

    def _new(self, draft: Draft) -> NewMemory:
        own = draft.id or new_id()
        name = derived_name(draft, "")
        name = add_suffix(name, own) if name in self._names else name
        self._names.add(name)
        return NewMemory(draft=replace(draft, id=own, name=name), id=own)


def _add_id_to_name(new: NewMemory) -> NewMemory:
    name = new.draft.name
    own = add_suffix("", new.id)
    return new if name.endswith(own) else replace(new, draft=replace(new.draft, name=f"{name}{own}"))
