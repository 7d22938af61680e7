"""Versions, branches, and ways back."""

from collections.abc import Sequence
from dataclasses import replace

from scrubjay.conflicts.resolve import reopen
from scrubjay.engine.dependencies import Dependencies
from scrubjay.lookup.references import space_of
from scrubjay.model.branch import Branches, BranchMerged
from scrubjay.model.checks import require_text
from scrubjay.model.draft import Caller
from scrubjay.model.identity import new_id
from scrubjay.model.memory import MAIN
from scrubjay.model.results import History, Undone, Written
from scrubjay.versions import branches
from scrubjay.versions import history as history_of
from scrubjay.versions import undo as undoing
from scrubjay.versions.merge_branch import merge_branch
from scrubjay.versions.revert import revert
from scrubjay.writing.screen import redact_label


class Versions(Dependencies):
    """Versions, branches, and ways back."""

    __slots__ = ()

    async def history(
        self, ref: str, *, who: Caller, limit: int = 20, before: int | None = None, branch: str = ""
    ) -> History:
        """The versions of a memory."""
        space = await space_of(self.store, ref, spaces=who.spaces)
        return await history_of.history(ref, limit=limit, before=before, branch=branch, space=space, store=self.store)

    async def diff(self, ref: str, *, who: Caller, versions: Sequence[int | str], branch: str = "") -> History:
        """How one version became another; a branch's name stands for its newest."""
        space = await space_of(self.store, ref, spaces=who.spaces)
        return await history_of.compare(ref, versions=versions, branch=branch, space=space, store=self.store)

    async def revert(
        self, ref: str, *, who: Caller, to: int, message: str = "", branch: str = "", idempotency_key: str = ""
    ) -> Written:
        """Go back to a version, as a new one."""
        done = await revert(
            ref, to=to, message=message, branch=branch, space=who.space, origin=self._origin(who), store=self.store,
            key=idempotency_key, conflict_checker=self._conflict_checker,
        )  # fmt: skip
        await self.index.after_commit()
        return done

    async def commit(
        self, ref: str, *, who: Caller, message: str, branch: str = "", idempotency_key: str = ""
    ) -> Written:
        """A new version that says the same, with a message."""
        done = await branches.commit(
            ref, message=message, branch=branch, space=who.space, origin=self._origin(who), context=self._write_context,
            key=idempotency_key,
        )  # fmt: skip
        await self.index.after_commit()
        return done

    async def branch(
        self, ref: str, name: str, *, who: Caller, description: str = "", at: int | None = None, switch: bool = False
    ) -> Branches:
        """Begin another line of versions of a memory."""
        done = await branches.branch(
            ref, name, description=description, at=at, switch=switch, space=who.space, origin=self._origin(who),
            context=self._write_context,
        )  # fmt: skip
        await self.index.after_commit()
        return done

    async def branches(self, ref: str, *, who: Caller) -> Branches:
        """The branches of a memory."""
        space = await space_of(self.store, ref, spaces=who.spaces)
        return await branches.branches(ref, space=space, store=self.store)

    async def switch(self, ref: str, name: str, *, who: Caller) -> Branches:
        """Have a memory stand on another branch for whoever names none."""
        return await branches.switch(ref, name, space=who.space, origin=self._origin(who), store=self.store)

    async def drop_branch(self, ref: str, name: str, *, who: Caller) -> Branches:
        """Put a branch into the trash."""
        done = await branches.drop(ref, name, space=who.space, origin=self._origin(who), store=self.store)
        await self.index.after_commit()
        return done

    async def merge_branch(
        self,
        ref: str,
        name: str,
        *,
        who: Caller,
        into: str = MAIN,
        prefer: str = "",
        message: str = "",
        idempotency_key: str = "",
    ) -> BranchMerged:
        """Bring what a branch has changed into another; what clashes is told, and then nothing is done."""
        done = await merge_branch(
            ref, name, into=into, prefer=prefer, message=message, space=who.space, origin=self._origin(who),
            context=self._write_context, key=idempotency_key,
        )  # fmt: skip
        await self.index.after_commit()
        return done

    async def undo(self, *, who: Caller, run: str = "", idempotency_key: str = "") -> Undone:
        """Take back the last run of this agent, or a named one."""
        origin = replace(self._origin(who), run=new_id())
        done = await undoing.undo(
            run=redact_label(require_text(run, field="run")), agent=origin.agent, space=who.space, origin=origin,
            store=self.store, key=idempotency_key,
        )  # fmt: skip
        await reopen(done, space=who.space, store=self.store)
        await self.index.after_commit()
        return done

    async def outcome(self, runs: Sequence[str], *, who: Caller) -> dict[str, bool]:
        """Of each run, whether it has changed anything: for callers whose answer was lost."""
        found = {run: await self.store.run(who.space, redact_label(require_text(run, field="run"))) for run in runs}
        return {run: changes is not None for run, changes in found.items()}
