"""Versions, branches, and ways back."""

from collections.abc import Sequence

from scrubjay.client.connection import Connection
from scrubjay.model.branch import Branches, BranchMerged
from scrubjay.model.memory import MAIN
from scrubjay.model.results import History, Undone, Written


class ClientVersions(Connection):
    """Versions, branches, and ways back."""

    async def history(
        self,
        id: str,
        *,
        limit: int = 20,
        before: int | None = None,
        diff: Sequence[int | str] | None = None,
        branch: str = "",
    ) -> History:
        """The versions of a memory, newest first; with `diff=[a, b]`, how a became b.

        A branch's name stands for its newest version.
        """
        if diff is not None:
            return await self._open.diff(id, who=self._who, versions=diff, branch=branch)
        return await self._open.history(id, who=self._who, limit=limit, before=before, branch=branch)

    async def revert(
        self, id: str, *, to: int, message: str = "", branch: str = "", idempotency_key: str = ""
    ) -> Written:
        """Go back to a version, as a new one."""
        return await self._open.revert(
            id, who=self._who, to=to, message=message, branch=branch, idempotency_key=idempotency_key
        )

    async def undo(self, *, run: str = "", idempotency_key: str = "") -> Undone:
        """Take back the last change of this agent, or a named run."""
        return await self._open.undo(who=self._who, run=run, idempotency_key=idempotency_key)

    async def commit(self, id: str, *, message: str, branch: str = "", idempotency_key: str = "") -> Written:
        """A new version that says the same, with a message."""
        return await self._open.commit(
            id, who=self._who, message=message, branch=branch, idempotency_key=idempotency_key
        )

    async def branch(
        self, id: str, name: str, *, description: str = "", at: int | None = None, switch: bool = False
    ) -> Branches:
        """Begin another line of versions of a memory; what is done there is not seen on main."""
        return await self._open.branch(id, name, who=self._who, description=description, at=at, switch=switch)

    async def branches(self, id: str) -> Branches:
        """The branches of a memory, and the one it is switched to."""
        return await self._open.branches(id, who=self._who)

    async def switch(self, id: str, name: str) -> Branches:
        """Have a memory stand on another branch for whoever names none."""
        return await self._open.switch(id, name, who=self._who)

    async def drop_branch(self, id: str, name: str) -> Branches:
        """Put a branch into the trash."""
        return await self._open.drop_branch(id, name, who=self._who)

    async def merge_branch(
        self, id: str, name: str, *, into: str = MAIN, prefer: str = "", message: str = "", idempotency_key: str = ""
    ) -> BranchMerged:
        """Bring what a branch has changed into another; what clashes is told, and then nothing is done.

        `prefer` settles clashes: `ours` is what `into` says, `theirs` what the branch says.
        """
        return await self._open.merge_branch(
            id, name, who=self._who, into=into, prefer=prefer, message=message, idempotency_key=idempotency_key
        )
