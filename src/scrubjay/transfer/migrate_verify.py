"""Comparing two stores: every memory with all its versions and relations, every vector, paper and token."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field

from scrubjay.model.passage import Vector
from scrubjay.ports import RecordStore
from scrubjay.transfer.migrate_digest import Holdings, Side, in_step
from scrubjay.transfer.migrate_pages import DOCUMENTS, IDS, Damaged, DocumentKey, Page, Stage, document_page, id_pages

_VECTORS = 500
# So many differences are told, and mended; more than that is not a difference but another store.
MOST_TOLD = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """One thing that is not the same; what is no memory has no id."""

    space: str
    memory_id: str
    what: str

    def __str__(self) -> str:
        return f"{self.space}: {self.memory_id or 'a vector'} {self.what}" if self.space else self.what


@dataclass(frozen=True, slots=True, kw_only=True)
class SpaceCompared:
    """A space on both sides."""

    space: str
    source: Holdings
    target: Holdings


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """What comparing has found. `different` counts also those that are too many to be told."""

    spaces: tuple[SpaceCompared, ...]
    tokens: int
    different: int
    differences: tuple[Difference, ...]
    damaged: tuple[Damaged, ...]
    seconds: float

    @property
    def same(self) -> bool:
        """Whether the target has all that can be read of the source."""
        return not self.different and all(space.source == space.target for space in self.spaces)

    @property
    def stale(self) -> dict[str, list[str]]:
        """Memories that are there and not the same, by space."""
        found: dict[str, list[str]] = {}
        for difference in self.differences:
            if difference.memory_id and difference.memory_id not in found.setdefault(difference.space, []):
                found[difference.space].append(difference.memory_id)
        return found


async def compare_stores(
    source: RecordStore, target: RecordStore, *, report: Stage, merging: bool = False
) -> Comparison:
    """Compare everything. With `merging` the target may hold more, and names of its own for what is the same."""
    began = time.monotonic()
    spaces = sorted({*await source.spaces(), *(() if merging else await target.spaces())})
    total = 0
    for space in spaces:
        async for page in id_pages(source, space):
            total += len(page.ids)
    comparing = _Comparing(source=source, target=target, merging=merging, total=total, report=report)
    compared = [await comparing.space(space) for space in spaces]
    tokens = await comparing.tokens()
    return Comparison(
        spaces=tuple(compared),
        tokens=tokens,
        different=comparing.different,
        differences=tuple(comparing.differences),
        damaged=tuple(comparing.damaged),
        seconds=round(time.monotonic() - began, 3),
    )


@dataclass(slots=True, kw_only=True)
class _Comparing:
    """The work of comparing, and what it has found so far."""

    source: RecordStore
    target: RecordStore
    merging: bool
    total: int
    report: Stage
    done: int = 0
    different: int = 0
    differences: list[Difference] = field(default_factory=list[Difference])
    damaged: list[Damaged] = field(default_factory=list[Damaged])

    async def space(self, space: str) -> SpaceCompared:
        """One space: memories, then relations, vectors and papers, each in order."""
        ours, theirs = Side(self.source, space), Side(self.target, space)
        await self._memories(ours, theirs)
        async for page in id_pages(self.source, space):
            await self._relations(ours, theirs, page)
        for model in await self.source.models():
            await self._vectors(ours, theirs, model)
        if not self.merging:
            await self._answers(ours, theirs)
        await self._documents(ours, theirs)
        self.damaged += [Damaged(space=space, memory_id=one, why=why) for one, why in ours.damaged.items()]
        return SpaceCompared(space=space, source=ours.closed(), target=theirs.closed())

    async def tokens(self) -> int:
        """Every token with its digest; returns how many there are."""
        ours, theirs = await self.source.tokens(), {token.id: token for token in await self.target.tokens()}
        digests, known = await self.source.token_digests(), await self.target.token_digests()
        for token in ours:
            if theirs.get(token.id) != token or digests[token.id] != known.get(token.id):
                self._differs("", "", f"the token {token.id} is not the same")
        if not self.merging:
            for token_id in theirs.keys() - digests.keys():
                self._differs("", "", f"the token {token_id} is only in the target")
        return len(ours)

    async def _memories(self, ours: Side, theirs: Side) -> None:
        async def ids(side: Side, after: str) -> dict[str, None]:
            return dict.fromkeys(await side.store.ids(side.space, after=after, limit=IDS))

        after: str | None = ""
        while after is not None:
            mine = await ids(ours, after)
            other = mine if self.merging else await ids(theirs, after)
            mine, other, after = in_step(mine, other, limit=IDS)
            left = await ours.digests(list(mine), merging=self.merging)
            right = await theirs.digests([one for one in other if one not in ours.damaged], merging=self.merging)
            for memory_id in sorted({*mine, *right, *(() if self.merging else other)} - ours.damaged.keys()):
                if left.get(memory_id) != right.get(memory_id):
                    self._differs(ours.space, memory_id, _how(memory_id, left, right, theirs))
            self.done += len(mine)
            self.report("comparing", self.done, self.total)

    async def _relations(self, ours: Side, theirs: Side, page: Page) -> None:
        left = await ours.relations(page, without=ours.damaged)
        right = await theirs.relations(page, without=ours.damaged)
        if self.merging:
            right = {key: relation for key, relation in right.items() if key in left}
        ours.relate(left)
        theirs.relate(right)
        if left != right:
            unlike = {key[0] for key in left.keys() | right.keys() if left.get(key) != right.get(key)}
            for memory_id in sorted(unlike):
                self._differs(ours.space, memory_id, "has other relations in the target")

    async def _vectors(self, ours: Side, theirs: Side, model: str) -> None:
        async def vectors(side: Side, after: bytes) -> dict[bytes, Vector]:
            return await side.store.stored_vectors(side.space, model, after=after, limit=_VECTORS)

        after: bytes | None = b""
        while after is not None:
            mine = await vectors(ours, after)
            if self.merging:
                other = await theirs.store.vectors(theirs.space, model, list(mine))
                after = list(mine)[-1] if mine else None
            else:
                mine, other, after = in_step(mine, await vectors(theirs, after), limit=_VECTORS)
            left, right = ours.store_vectors(model, mine), theirs.store_vectors(model, other)
            for digest in sorted(left.keys() | right.keys()):
                if left.get(digest) != right.get(digest):
                    self._differs(ours.space, "", f"of {model} for the text {digest.hex()} is not the same")

    async def _answers(self, ours: Side, theirs: Side) -> None:
        left, right = await ours.answers(), await theirs.answers()
        if left != right:
            self._differs("", "", f"answers to idempotency keys of the space {ours.space} are not the same")

    async def _documents(self, ours: Side, theirs: Side) -> None:
        after: DocumentKey | None = ("", "")
        while after is not None:
            pages = [await document_page(side.store, side.space, after=after) for side in (ours, theirs)]
            mine, other, after = in_step(*pages, limit=DOCUMENTS)
            if self.merging:
                # What was there before under the same key has stayed.
                other = {key: mine[key] for key in other if key in mine}
            ours.file(mine)
            theirs.file(other)
            for key in sorted(mine.keys() | other.keys()):
                if mine.get(key) != other.get(key):
                    self._differs("", "", f"the paper {key[1]} in {key[0]} of the space {ours.space} is not the same")

    def _differs(self, space: str, memory_id: str, what: str) -> None:
        self.different += 1
        if len(self.differences) < MOST_TOLD:
            self.differences.append(Difference(space=space, memory_id=memory_id, what=what))


def _how(memory_id: str, left: Mapping[str, bytes], right: Mapping[str, bytes], theirs: Side) -> str:
    if memory_id in theirs.damaged:
        return "is damaged in the target"
    if memory_id not in left:
        return "is only in the target"
    return "is not the same in the target" if memory_id in right else "is not in the target"
