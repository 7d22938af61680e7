"""Scrubbing: reads stored bodies in turn, a part at a time, so that damage is found before the text is needed."""

from collections.abc import Awaitable, Callable, Mapping
from collections.abc import Set as AbstractSet
from contextlib import suppress

from scrubjay.errors import ScrubjayError
from scrubjay.lazy import dataclass
from scrubjay.model.document import Document
from scrubjay.model.memory import Json
from scrubjay.ports import Clock, DamagedBody, RecordStore

# A damaged body is a document about its memory, so that a purge of the memory removes it too.
_DAMAGE = "damaged_bodies"
_PROGRESS, _KEY = "scrub", "bodies"
# So many memories are read at a time; users' requests come in between.
_PAGE = 100
_MAX_LISTED = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Scrubbed:
    """How many bodies were read, all damaged ones that are known, and whether the end of the space was reached."""

    read: int = 0
    damaged: tuple[DamagedBody, ...] = ()
    ended: bool = False


async def scrub(
    space: str,
    *,
    bodies: int,
    store: RecordStore,
    clock: Clock,
    pause: Callable[[], Awaitable[None]] | None = None,
    dry_run: bool = False,
) -> Scrubbed:
    """Read the next bodies of a space, at least so many unless it ends before, and record the damaged ones.

    The next call goes on where this one ends, and after the end from the start. Known damage is looked at again. A dry
    run stores nothing, and the next call reads the same bodies.
    """
    progress = await store.document(space, _PROGRESS, _KEY)
    after = str(progress.value.get("after", "")) if progress else ""
    read, last = 0, after
    detected: dict[str, DamagedBody] = {}
    while read < bodies and (ids := await store.ids(space, after=last, limit=_PAGE)):
        checked = await store.check_bodies(space, ids)
        detected |= {_key(body): body for body in checked.damaged}
        read, last = read + max(1, checked.read), ids[-1]
        if pause is not None:
            await pause()
    ended = read < bodies
    earlier = await known_damage(space, store=store)
    again = await store.check_bodies(space, list({body.memory_id for body in earlier})) if earlier else None
    now = {_key(body): body for body in (again.damaged if again else ())} | detected
    damaged = tuple(now[key] for key in sorted(now))
    if dry_run:
        return Scrubbed(read=read, damaged=damaged, ended=ended)
    await _record(space, now, earlier={_key(body) for body in earlier}, store=store, clock=clock)
    place = "" if ended else last
    if place != after:
        document = Document(space=space, collection=_PROGRESS, key=_KEY, value={"after": place}, at=clock.now())
        # A store that cannot be written to can still be read: the next call reads the same part again.
        with suppress(ScrubjayError):
            await store.put_document(document, base=progress.version if progress else None)
    return Scrubbed(read=read, damaged=damaged, ended=ended)


async def known_damage(space: str, *, store: RecordStore) -> tuple[DamagedBody, ...]:
    """Return the damaged bodies that were found earlier."""
    documents = await store.documents(space, _DAMAGE, limit=_MAX_LISTED)
    return tuple(_body_of(document) for document in documents)


async def _record(
    space: str, now: Mapping[str, DamagedBody], *, earlier: AbstractSet[str], store: RecordStore, clock: Clock
) -> None:
    """Store what is damaged now, and drop what is sound again or gone."""
    with suppress(ScrubjayError):
        for key, body in now.items():
            if key not in earlier and len(earlier) < _MAX_LISTED:
                value: dict[str, Json] = {
                    "why": body.why, "about": {"memory_id": body.memory_id},
                }  # fmt: skip
                document = Document(space=space, collection=_DAMAGE, key=key, value=value, at=clock.now())
                await store.put_document(document, base=None)
        for key in earlier - now.keys():
            await store.delete_document(space, _DAMAGE, key)


def _key(body: DamagedBody) -> str:
    return f"{body.memory_id} {body.version}"


def _body_of(document: Document) -> DamagedBody:
    memory_id, _, version = document.key.partition(" ")
    return DamagedBody(memory_id=memory_id, version=int(version), why=str(document.value.get("why", "")))
