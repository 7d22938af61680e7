"""Moving house: all that one store holds goes to another, can be interrupted anywhere, and is compared at the end."""

import time
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime

from scrubjay.errors import Conflict, InvalidInput, ScrubjayError
from scrubjay.model.change import Origin
from scrubjay.ports import RecordStore
from scrubjay.transfer.migrate_pages import Damaged, DocumentKey, Stage, document_page, id_pages, known_among, unheard
from scrubjay.transfer.migrate_space import Carried, Carrier
from scrubjay.transfer.migrate_verify import Comparison, compare_stores

AGENT = "migration"
_PAGE = 1_000
_PURGED = 500
_GO_ON = "Run the same command again: it goes on where it stopped"


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """From where to where. Unless `merging`, the target must be empty or an unfinished copy of this source."""

    source: RecordStore
    target: RecordStore
    now: Callable[[], datetime]
    merging: bool = False
    report: Stage = unheard

    @property
    def origin(self) -> Origin:
        """Who moves: nobody that `undo` goes by. The run names the source, so that a half-made copy is known again."""
        return Origin(at=self.now(), run=f"{AGENT}-{self.source.store_id}", agent=AGENT)


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved:
    """What a move has brought over; `known` was there already. `rate` is memories a second, without comparing."""

    memories: int
    known: int
    relations: int
    vectors: int
    answers: int
    documents: int
    tokens: int
    renamed: tuple[str, ...]
    damaged: tuple[Damaged, ...]
    seconds: float
    rate: float
    # How many changes the source has seen meanwhile.
    changed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SpacePlan:
    """What there is of a space to move; `known` memories are in the target already."""

    space: str
    memories: int
    known: int
    versions: int
    relations: int
    vectors: dict[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What a move would bring over."""

    spaces: tuple[SpacePlan, ...]
    tokens: int


async def move_house(move: Move) -> tuple[Moved, Comparison]:
    """Bring everything over that is not there yet, then compare; what has changed since an earlier try is renewed."""
    await require_fit(move)
    before = await move.source.last_seq()
    async with _told_how_to_go_on():
        carried, seconds = await _bring_over(move)
        compared = await _compared(move)
        if compared.stale and not move.merging and await is_own_copy(move):
            await _take_away(move, compared)
            more, longer = await _bring_over(move)
            carried, seconds = _together(carried, more), seconds + longer
            compared = await _compared(move)
        changed = await move.source.last_seq() - before
    told = Moved(
        memories=carried.memories,
        known=carried.known,
        relations=carried.relations,
        vectors=carried.vectors,
        answers=carried.answers,
        documents=carried.documents,
        tokens=carried.tokens,
        renamed=tuple(carried.renamed),
        damaged=tuple(carried.damaged),
        seconds=seconds,
        rate=round(carried.memories / seconds, 1) if seconds else 0.0,
        changed=changed,
    )
    return told, compared


async def plan_move(source: RecordStore, target: RecordStore | None) -> Plan:
    """What would be moved; nothing is. Without a target there is none yet."""
    plans: list[SpacePlan] = []
    # The space without a name holds papers of the whole store: moved, too, but nobody's.
    for space in filter(None, await source.spaces()):
        memories = known = 0
        async for page in id_pages(source, space):
            memories += len(page.ids)
            known += len(await known_among(target, space, page)) if target else 0
        sizes = await source.statistics(space)
        plans.append(
            SpacePlan(
                space=space, memories=memories, known=known, versions=sizes.versions, relations=sizes.relations,
                vectors=dict(sizes.vectors),
            )
        )  # fmt: skip
    return Plan(spaces=tuple(plans), tokens=len(await source.tokens()))


async def require_fit(move: Move) -> None:
    """Refuse to move a store to itself, or into one that holds something else."""
    if move.source.store_id == move.target.store_id:
        raise InvalidInput(
            "both are the same store, or one is a plain copy of the other's files", hint="Name another store with --to"
        )
    if not move.merging and not await is_own_copy(move):
        raise Conflict(
            "the target holds something that is not of this source",
            hint="Choose an empty store, or give --into-existing to add to what is there",
        )


async def is_own_copy(move: Move) -> bool:
    """Whether the target is empty, or nobody but a move from this very source has written to it."""
    ours, after = move.origin.run, 0
    while page := await move.target.changes(after=after, limit=_PAGE):
        if any(change.run != ours for change in page):
            return False
        after = page[-1].seq
    # Papers leave no trace in the log.
    if not after and not await _has_known_papers(move):
        return False
    known = await move.source.token_digests()
    return (await move.target.token_digests()).items() <= known.items()


async def _has_known_papers(move: Move) -> bool:
    """Whether the target has no paper that the source does not have just so."""
    for space in await move.target.spaces():
        after: DocumentKey = ("", "")
        while page := await document_page(move.target, space, after=after):
            for after, document in page.items():
                if await move.source.document(space, *after) != document:
                    return False
    return True


async def _bring_over(move: Move) -> tuple[Carried, float]:
    began, total = time.monotonic(), 0
    spaces = await move.source.spaces()
    for space in spaces:
        async for page in id_pages(move.source, space):
            total += len(page.ids)
    carrier = Carrier(
        source=move.source, target=move.target, origin=move.origin, total=total, report=move.report,
        renewing=not move.merging, carried=Carried(),
    )  # fmt: skip
    for space in spaces:
        await carrier.space(space)
    await carrier.tokens()
    return carrier.carried, round(time.monotonic() - began, 3)


async def _take_away(move: Move, compared: Comparison) -> None:
    """Purge what is there and not the same, so that it can be brought over anew."""
    for space, ids in compared.stale.items():
        for start in range(0, len(ids), _PURGED):
            await move.target.purge(space, ids[start : start + _PURGED], origin=move.origin)


async def _compared(move: Move) -> Comparison:
    return await compare_stores(move.source, move.target, merging=move.merging, report=move.report)


def _together(first: Carried, second: Carried) -> Carried:
    """What two rounds have brought over; what the second found damaged, or renamed, is how it is now."""
    return Carried(
        memories=first.memories + second.memories,
        # What was renewed had been there.
        known=max(0, first.known - second.memories),
        relations=first.relations + second.relations,
        vectors=first.vectors + second.vectors,
        answers=first.answers + second.answers,
        documents=first.documents + second.documents,
        tokens=first.tokens + second.tokens,
        renamed=second.renamed,
        damaged=second.damaged,
    )


@asynccontextmanager
async def _told_how_to_go_on() -> AsyncGenerator[None]:
    try:
        yield
    except ScrubjayError as error:
        error.hint = f"{error.hint.rstrip('.')}. {_GO_ON}" if error.hint else _GO_ON
        raise
