"""How the memory is, who may enter, and copies of it."""

from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from scrubjay.auth import tokens as admission
from scrubjay.engine import diagnostics
from scrubjay.engine.import_export import ImportExport
from scrubjay.errors import EmbeddingUnavailable
from scrubjay.model.draft import Caller, Selection
from scrubjay.model.results import DoctorReport, Status
from scrubjay.model.token import NewToken, Token, TokenRequest
from scrubjay.ports import Progress
from scrubjay.writing import delete


class Health(ImportExport):
    """How the memory is, who may enter, and copies of it."""

    __slots__ = ()

    async def status(self, *, who: Caller) -> Status:
        """Health and sizes."""
        found = await diagnostics.status(await self._patient(), space=who.space)
        return found if self.llm is None else replace(found, llm=await self.llm.describe())

    async def ready(self) -> None:
        """See that the store can be used, at the cost of one question; raises what is wrong."""
        await self.store.last_place("")

    async def index_problem(self) -> str:
        """Why meanings cannot be searched for as they should, if they cannot."""
        return str((await self.index.describe()).get("problem", ""))

    async def doctor(self, *, who: Caller, deep: bool = False, repair: bool = False) -> DoctorReport:
        """Look at everything, after repairing what can be when asked."""
        put_away = await self.repair(who=who) if repair else ()
        return await diagnostics.doctor(await self._patient(), space=who.space, deep=deep, put_away=put_away)

    async def repair(self, *, who: Caller) -> tuple[str, ...]:
        """Do the upkeep that is due, embed what is missing, build the index anew; tells which branches were lost.

        These go into the trash: what they say was purged perhaps, and perhaps is nowhere else.
        """
        await self.store.tidy()
        lost = await diagnostics.lost_branches(self.store, space=who.space)
        if lost:
            wanted = Selection(refs=tuple(lost), reason="its memory is gone")
            await delete.forget(wanted, space=who.space, origin=self._origin(who), store=self.store)
        await self.embed_missing()
        await self.index.rebuild()
        return tuple(lost)

    async def backup(self, target: Path, *, progress: Progress | None = None) -> Path:
        """Copy the store to a file while it is in use; tells where that is."""
        await self.store.backup(target, progress=progress)
        return target

    async def create_token(self, wish: TokenRequest) -> NewToken:
        """Let somebody in by HTTP; the secret is told here and never again."""
        return await admission.create(wish, tokens=self.store, now=self.clock.now())

    async def tokens(self) -> tuple[Token, ...]:
        """All tokens, oldest first, also those that open nothing any more."""
        return tuple(await self.store.tokens())

    async def revoke_token(self, ref: str) -> Token:
        """End a token by its id or name, at once and for good."""
        return await admission.revoke(ref, tokens=self.store, now=self.clock.now())

    async def _patient(self) -> diagnostics.Patient:
        with suppress(EmbeddingUnavailable):
            await self.index.open()
        return diagnostics.Patient(
            store=self.store, embedder=self.embedder, index=await self.index.describe(), data=self.data
        )
