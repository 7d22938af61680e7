"""The branch verbs over a harness' store, for one memory called `tea`."""

from dataclasses import dataclass, replace

from tests.unit.harness import SPACE, Harness

from scrubjay.lookup.branches import branch_id, on_branch
from scrubjay.lookup.references import resolve
from scrubjay.model.branch import Branches, BranchMerged
from scrubjay.model.change import Action, Origin
from scrubjay.model.draft import Draft
from scrubjay.model.memory import Json, Memory
from scrubjay.model.requests import Edit
from scrubjay.model.results import History, Undone, Written
from scrubjay.ports import Commit, Write
from scrubjay.text.passages import passages_of
from scrubjay.versions import branches
from scrubjay.versions.history import compare, history
from scrubjay.versions.merge_branch import merge_branch
from scrubjay.versions.revert import revert
from scrubjay.versions.undo import undo
from scrubjay.writing.recheck import ConflictChecker

TEA = Draft(text="Tea is green. It is hot. Good.", name="tea", observations=("no milk", "one cup"), tags=("drink",))


@dataclass(kw_only=True)
class BranchEditor:
    """Works on the branches of a memory."""

    harness: Harness
    agent: str = "tester"

    @property
    def origin(self) -> Origin:
        return self.harness.origin(agent=self.agent)

    async def plant(self, draft: Draft = TEA) -> Memory:
        return await self.harness.store_draft(draft)

    # ---- branches ----

    async def branch(
        self, name: str = "draft", ref: str = "tea", *, at: int | None = None, switch: bool = False, about: str = ""
    ) -> Branches:
        return await branches.branch(
            ref,
            name,
            description=about,
            at=at,
            switch=switch,
            space=SPACE,
            origin=self.origin,
            context=self.harness.context,
        )

    async def branches(self, ref: str = "tea") -> Branches:
        return await branches.branches(ref, space=SPACE, store=self.harness.store)

    async def names(self) -> list[str]:
        return [branch.name for branch in (await self.branches()).branches]

    async def switch(self, name: str, ref: str = "tea") -> Branches:
        return await branches.switch(ref, name, space=SPACE, origin=self.origin, store=self.harness.store)

    async def drop(self, name: str = "draft", ref: str = "tea") -> Branches:
        return await branches.drop(ref, name, space=SPACE, origin=self.origin, store=self.harness.store)

    async def merge(
        self, name: str = "draft", *, into: str = "main", prefer: str = "", message: str = "", key: str = ""
    ) -> BranchMerged:
        return await merge_branch(
            "tea", name, into=into, prefer=prefer, message=message, space=SPACE, origin=self.origin,
            context=self.harness.context, key=key,
        )  # fmt: skip

    # ---- versions ----

    async def commit(self, message: str, *, ref: str = "tea", branch: str = "", key: str = "") -> Written:
        return await branches.commit(
            ref, message=message, branch=branch, space=SPACE, origin=self.origin, context=self.harness.context,
            key=key, label=False,
        )  # fmt: skip

    async def write(self, branch: str = "", **changed: Json) -> Written:
        return await self.harness.revise("tea", Edit(fields=changed, branch=branch))

    async def add(self, *facts: str, branch: str = "") -> Written:
        return await self.harness.revise("tea", Edit(add_observations=facts, branch=branch))

    async def remove(self, *facts: str, branch: str = "") -> Written:
        return await self.harness.revise("tea", Edit(remove_observations=facts, branch=branch))

    async def end(self, fact: str, *, branch: str = "") -> None:
        """End an observation, as resolving a conflict does."""
        record, origin = await self.record(branch), self.origin
        facts = tuple(
            replace(observation, valid_until=origin.at) if observation.text == fact else observation
            for observation in record.observations
        )
        ended = replace(record, observations=facts, version=record.version + 1, updated_at=origin.at)
        write = Write(memory=ended, base=record.version, action=Action.RESOLVED, passages=passages_of(ended))
        await self.harness.store.commit(Commit(space=SPACE, origin=origin, writes=(write,)))

    async def revert(self, to: int, *, ref: str = "tea", branch: str = "", key: str = "") -> Written:
        return await revert(
            ref, to=to, message="", branch=branch, space=SPACE, origin=self.origin, store=self.harness.store, key=key,
            conflict_checker=ConflictChecker(self.harness.context),
        )  # fmt: skip

    async def undo(self) -> Undone:
        return await undo(run="", agent=self.agent, space=SPACE, origin=self.origin, store=self.harness.store)

    async def history(self, *, branch: str = "", limit: int = 50, before: int | None = None) -> History:
        return await history("tea", limit=limit, before=before, branch=branch, space=SPACE, store=self.harness.store)

    async def numbers(self, *, branch: str = "") -> list[int]:
        return [version.number for version in (await self.history(branch=branch)).versions]

    async def diff(self, *versions: int | str, branch: str = "") -> dict[str, tuple[str, ...]]:
        difference = await compare("tea", versions=versions, branch=branch, space=SPACE, store=self.harness.store)
        return {change.field: change.lines for change in difference.diff}

    # ---- state ----

    async def record(self, branch: str = "") -> Memory:
        return await on_branch(self.harness.store, await resolve(self.harness.store, "tea", space=SPACE), branch)

    async def shadow(self, name: str = "draft") -> Memory:
        """Return the record of a branch in any state."""
        trunk = await resolve(self.harness.store, "tea", space=SPACE)
        return await self.harness.get(branch_id(trunk.id, name))

    async def facts(self, branch: str = "") -> list[str]:
        return [
            observation.text
            for observation in (await self.record(branch)).observations
            if observation.valid_until is None
        ]
