"""The verbs of branches over a workshop's store, on one memory called `tea`."""

from dataclasses import dataclass, replace

from tests.unit.workshop import SPACE, Workshop

from scrubjay.branches import branch_id, on_branch
from scrubjay.branching import lines
from scrubjay.branching.joining import merge_branch
from scrubjay.history.reverting import revert
from scrubjay.history.undo import undo
from scrubjay.history.versions import compare, history
from scrubjay.model.branch import Branches, Joined
from scrubjay.model.change import Action, Origin
from scrubjay.model.draft import Draft, Edit
from scrubjay.model.memory import Json, Memory
from scrubjay.model.results import History, Undone, Written
from scrubjay.ports import Commit, Write
from scrubjay.references import resolve
from scrubjay.text.passages import passages_of

TEA = Draft(text="Tea is green. It is hot. Good.", name="tea", observations=("no milk", "one cup"), tags=("drink",))


@dataclass(kw_only=True)
class Orchard:
    """Somebody who works on the branches of a memory."""

    shop: Workshop
    agent: str = "tester"

    @property
    def origin(self) -> Origin:
        return self.shop.origin(agent=self.agent)

    async def plant(self, draft: Draft = TEA) -> Memory:
        return await self.shop.kept(draft)

    # ---- branches ----

    async def branch(
        self, name: str = "draft", ref: str = "tea", *, at: int | None = None, switch: bool = False, about: str = ""
    ) -> Branches:
        return await lines.branch(
            ref, name, description=about, at=at, switch=switch, space=SPACE, origin=self.origin, desk=self.shop.desk
        )

    async def branches(self, ref: str = "tea") -> Branches:
        return await lines.branches(ref, space=SPACE, store=self.shop.store)

    async def names(self) -> list[str]:
        return [one.name for one in (await self.branches()).branches]

    async def switch(self, name: str, ref: str = "tea") -> Branches:
        return await lines.switch(ref, name, space=SPACE, origin=self.origin, store=self.shop.store)

    async def drop(self, name: str = "draft", ref: str = "tea") -> Branches:
        return await lines.drop(ref, name, space=SPACE, origin=self.origin, store=self.shop.store)

    async def merge(
        self, name: str = "draft", *, into: str = "main", prefer: str = "", message: str = "", key: str = ""
    ) -> Joined:
        return await merge_branch(
            "tea", name, into=into, prefer=prefer, message=message, space=SPACE, origin=self.origin,
            desk=self.shop.desk, key=key,
        )  # fmt: skip

    # ---- versions ----

    async def commit(self, message: str, *, ref: str = "tea", branch: str = "", key: str = "") -> Written:
        return await lines.commit(
            ref, message=message, branch=branch, space=SPACE, origin=self.origin, desk=self.shop.desk, key=key
        )

    async def write(self, branch: str = "", **changed: Json) -> Written:
        return await self.shop.revise("tea", Edit(fields=changed, branch=branch))

    async def add(self, *facts: str, branch: str = "") -> Written:
        return await self.shop.revise("tea", Edit(add_observations=facts, branch=branch))

    async def remove(self, *facts: str, branch: str = "") -> Written:
        return await self.shop.revise("tea", Edit(remove_observations=facts, branch=branch))

    async def end(self, fact: str, *, branch: str = "") -> None:
        """Have an observation hold no longer, as the settling of a conflict does."""
        record, origin = await self.record(branch), self.origin
        facts = tuple(replace(one, valid_until=origin.at) if one.text == fact else one for one in record.observations)
        ended = replace(record, observations=facts, version=record.version + 1, updated_at=origin.at)
        write = Write(memory=ended, base=record.version, action=Action.RESOLVED, passages=passages_of(ended))
        await self.shop.store.commit(Commit(space=SPACE, origin=origin, writes=(write,)))

    async def revert(self, to: int, *, ref: str = "tea", branch: str = "", key: str = "") -> Written:
        return await revert(
            ref, to=to, message="", branch=branch, space=SPACE, origin=self.origin, store=self.shop.store, key=key,
            lookout=self.shop.desk.lookout,
        )  # fmt: skip

    async def undo(self) -> Undone:
        return await undo(run="", agent=self.agent, space=SPACE, origin=self.origin, store=self.shop.store)

    async def history(self, *, branch: str = "", limit: int = 50, before: int | None = None) -> History:
        return await history("tea", limit=limit, before=before, branch=branch, space=SPACE, store=self.shop.store)

    async def numbers(self, *, branch: str = "") -> list[int]:
        return [one.number for one in (await self.history(branch=branch)).versions]

    async def diff(self, *versions: int | str, branch: str = "") -> dict[str, tuple[str, ...]]:
        found = await compare("tea", versions=versions, branch=branch, space=SPACE, store=self.shop.store)
        return {one.field: one.lines for one in found.diff}

    # ---- what there is ----

    async def record(self, branch: str = "") -> Memory:
        return await on_branch(self.shop.store, await resolve(self.shop.store, "tea", space=SPACE), branch)

    async def shadow(self, name: str = "draft") -> Memory:
        """A branch's record, in whatever state."""
        trunk = await resolve(self.shop.store, "tea", space=SPACE)
        return await self.shop.get(branch_id(trunk.id, name))

    async def facts(self, branch: str = "") -> list[str]:
        return [one.text for one in (await self.record(branch)).observations if one.valid_until is None]
