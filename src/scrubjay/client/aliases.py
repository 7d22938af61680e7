"""The verbs under the names of other memory libraries, and of tools, for programs that know those."""

from itertools import islice
from typing import Literal

from scrubjay.client.verbs import AsyncVerbs, SyncVerbs
from scrubjay.model.branch import Branches, BranchMerged
from scrubjay.model.checks import require_integer, require_text
from scrubjay.model.conflict import ConflictDetails
from scrubjay.model.fact import Extracted
from scrubjay.model.memory import Memory
from scrubjay.model.results import History, Outcome, Undone, Written

_PAGE = 100
_MAX_PAGE = 1_000


class AsyncAliases(AsyncVerbs):
    """The names of other libraries and of the toolset `enhanced`, with the results of the verbs."""

    add = AsyncVerbs.remember
    search = AsyncVerbs.recall
    delete = AsyncVerbs.forget
    execute_code = AsyncVerbs.run_code

    async def get(self, id: str) -> Memory:
        """Return one memory, as `read` does; raises NotFound if there is none."""
        return (await self.read(require_text(id, field="id"))).memories[0]

    async def get_all(
        self, *, entity: str = "", agent: str = "", session: str = "", limit: int | None = None
    ) -> list[Memory]:
        """Return the memories, newest first, up to `limit` of them; `recall_all` has more conditions."""
        memories: list[Memory] = []
        page = _page_size(limit)
        if limit == 0:
            return memories
        async for hit in self.recall_all(entity=entity, agent=agent, session=session, detail="full", page=page):
            memories += [hit.memory] if hit.memory is not None else []
            if len(memories) == limit:
                break
        return memories

    async def update(self, id: str, text: str, *, message: str = "") -> Written:
        """Replace the text of a memory, as `revise` does; the previous text remains as a version."""
        return await self.revise(id, text=text, message=message)

    async def memory_commit(self, entity_name: str, message: str) -> Written:
        """Give the current version of an entity a message, as `commit` with `label` does."""
        return await self.commit(entity_name, message=message, label=True)

    async def memory_diff(self, entity_name: str, version1: int, version2: int) -> History:
        """Compare two versions of an entity, as `history` does; the result is in `diff`."""
        return await self.history(entity_name, diff=[version1, version2])

    async def memory_revert(self, entity_name: str, version: int) -> Written:
        """Restore a version of an entity as a new one, as `revert` does."""
        return await self.revert(entity_name, to=version)

    async def memory_branch(self, entity_name: str, branch_name: str, description: str = "") -> Branches:
        """Create a branch of an entity and switch to it, as `branch` does."""
        return await self.branch(entity_name, branch_name, description=description, switch=True)

    async def memory_confirm(self, entity_name: str) -> Outcome:
        """Confirm that an entity still holds, as `confirm` does."""
        return await self.confirm(entity_name)

    async def memory_undo(self, run: str = "") -> Undone:
        """Undo the last change of this agent, or a run, as `undo` does."""
        return await self.undo(run=run)

    async def memory_branches(self, entity_name: str) -> Branches:
        """Return the branches of an entity, as `branches` does."""
        return await self.branches(entity_name)

    async def memory_merge_branch(
        self,
        entity_name: str,
        branch_name: str,
        into: str = "main",
        *,
        prefer: Literal["", "ours", "theirs"] = "",
        message: str = "",
    ) -> BranchMerged:
        """Merge a branch of an entity into another, as `merge_branch` does."""
        return await self.merge_branch(entity_name, branch_name, into=into, prefer=prefer, message=message)

    async def memory_drop_branch(self, entity_name: str, branch_name: str) -> Branches:
        """Move a branch of an entity to the trash, as `drop_branch` does."""
        return await self.drop_branch(entity_name, branch_name)

    async def auto_extract_facts(
        self, conversation_text: str, session_id: str = "", *, auto_store: bool = True
    ) -> Extracted:
        """Return the facts of a conversation, and store them, as `extract` does."""
        return await self.extract(conversation_text, session=session_id, store=auto_store)

    async def detect_conflicts(self, entity_name: str) -> tuple[ConflictDetails, ...]:
        """Return the conflicts of an entity, as `conflicts` does."""
        return await self.conflicts(id=entity_name)


class SyncAliases(SyncVerbs):
    """The names of other libraries and of the toolset `enhanced`, with the results of the verbs."""

    add = SyncVerbs.remember
    search = SyncVerbs.recall
    delete = SyncVerbs.forget
    execute_code = SyncVerbs.run_code

    def get(self, id: str) -> Memory:
        """Return one memory, as `read` does; raises NotFound if there is none."""
        return self.read(require_text(id, field="id")).memories[0]

    def get_all(
        self, *, entity: str = "", agent: str = "", session: str = "", limit: int | None = None
    ) -> list[Memory]:
        """Return the memories, newest first, up to `limit` of them; `recall_all` has more conditions."""
        hits = self.recall_all(entity=entity, agent=agent, session=session, detail="full", page=_page_size(limit))
        return [hit.memory for hit in islice(hits, limit) if hit.memory is not None]

    def update(self, id: str, text: str, *, message: str = "") -> Written:
        """Replace the text of a memory, as `revise` does; the previous text remains as a version."""
        return self.revise(id, text=text, message=message)

    def memory_commit(self, entity_name: str, message: str) -> Written:
        """Give the current version of an entity a message, as `commit` with `label` does."""
        return self.commit(entity_name, message=message, label=True)

    def memory_diff(self, entity_name: str, version1: int, version2: int) -> History:
        """Compare two versions of an entity, as `history` does; the result is in `diff`."""
        return self.history(entity_name, diff=[version1, version2])

    def memory_revert(self, entity_name: str, version: int) -> Written:
        """Restore a version of an entity as a new one, as `revert` does."""
        return self.revert(entity_name, to=version)

    def memory_branch(self, entity_name: str, branch_name: str, description: str = "") -> Branches:
        """Create a branch of an entity and switch to it, as `branch` does."""
        return self.branch(entity_name, branch_name, description=description, switch=True)

    def memory_confirm(self, entity_name: str) -> Outcome:
        """Confirm that an entity still holds, as `confirm` does."""
        return self.confirm(entity_name)

    def memory_undo(self, run: str = "") -> Undone:
        """Undo the last change of this agent, or a run, as `undo` does."""
        return self.undo(run=run)

    def memory_branches(self, entity_name: str) -> Branches:
        """Return the branches of an entity, as `branches` does."""
        return self.branches(entity_name)

    def memory_merge_branch(
        self,
        entity_name: str,
        branch_name: str,
        into: str = "main",
        *,
        prefer: Literal["", "ours", "theirs"] = "",
        message: str = "",
    ) -> BranchMerged:
        """Merge a branch of an entity into another, as `merge_branch` does."""
        return self.merge_branch(entity_name, branch_name, into=into, prefer=prefer, message=message)

    def memory_drop_branch(self, entity_name: str, branch_name: str) -> Branches:
        """Move a branch of an entity to the trash, as `drop_branch` does."""
        return self.drop_branch(entity_name, branch_name)

    def auto_extract_facts(self, conversation_text: str, session_id: str = "", *, auto_store: bool = True) -> Extracted:
        """Return the facts of a conversation, and store them, as `extract` does."""
        return self.extract(conversation_text, session=session_id, store=auto_store)

    def detect_conflicts(self, entity_name: str) -> tuple[ConflictDetails, ...]:
        """Return the conflicts of an entity, as `conflicts` does."""
        return self.conflicts(id=entity_name)


def _page_size(limit: int | None) -> int:
    """Return how many memories to ask for at once; raise InvalidInput if the limit is no number of memories."""
    return _PAGE if limit is None else min(require_integer(limit, field="limit", least=0) or _PAGE, _MAX_PAGE)
