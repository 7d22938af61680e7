"""`commit`, `branch`, `switch`, `branches` and the dropping of one."""

from dataclasses import replace

from scrubjay.errors import InvalidInput, NameTaken, NotFound, StaleVersion
from scrubjay.idempotency import idempotent_request
from scrubjay.lookup.branches import (
    COLLECTION,
    LINES,
    branch_id,
    branch_of,
    branches_of,
    current_branch,
    first_page,
    line_of,
    on_branch,
    require_live,
    switched_to,
    too_fast,
    trunk_of,
)
from scrubjay.lookup.references import resolve
from scrubjay.model.branch import Branch, Branches, normalize_branch_name, require_branch_name
from scrubjay.model.change import Action, Origin
from scrubjay.model.checks import require_flag, require_integer, require_remark, require_text
from scrubjay.model.document import Document
from scrubjay.model.memory import MAIN, Json, Memory, State
from scrubjay.model.results import Written
from scrubjay.ports import Commit, RecordStore, Write
from scrubjay.text.screening.secrets import redact
from scrubjay.writing.context import WriteContext
from scrubjay.writing.embed import embed_new, slice_memory
from scrubjay.writing.revise import commit_version, open_record

# Somebody else may be faster; each time what there is is looked at anew.
_TRIES = 20
_PAGE = 100
# So many characters of their ids a memory and its branches have in common.
_SHARED = 13


async def commit(
    ref: str, *, message: str, branch: str, space: str, origin: Origin, context: WriteContext, key: str
) -> Written:
    """A new version that says the same, with a message."""
    if not require_remark(message, field="message").strip():
        raise InvalidInput("a commit needs a message", hint="Say what this version is", field="message")
    ask = idempotent_request(key, {"verb": "commit", "ref": ref, "message": message, "branch": branch})
    remark = redact(message)[0]
    for _ in range(_TRIES):
        if (known := await ask.find_answer(context.store, space=space)) is not None:
            return Written.from_json(known)
        memory = await open_record(ref, branch=branch, space=space, context=context)
        marked = replace(memory, version=memory.version + 1, updated_at=max(origin.at, memory.updated_at))
        try:
            return await commit_version(
                marked,
                action=Action.COMMITTED,
                message=remark,
                origin=origin,
                context=context,
                request=ask,
                reported_action="committed",
            )
        except StaleVersion:
            continue
    raise too_fast(ref)


async def branch(
    ref: str,
    name: str,
    *,
    description: str,
    at: int | None,
    switch: bool,
    space: str,
    origin: Origin,
    context: WriteContext,
) -> Branches:
    """Begin a line of versions at the newest version of main, or at an older one."""
    name = require_branch_name(name)
    remark = redact(require_remark(description, field="description"))[0]
    require_flag(switch, field="switch")
    if at is not None:
        require_integer(at, field="at")
    for _ in range(_TRIES):
        trunk = await _live(ref, space=space, store=context.store)
        begun, base = await _begun(trunk, name, at=at, origin=origin, store=context.store)
        passages = await slice_memory(begun)
        # An older version may have been embedded by another model, or not at all.
        embedded, _ = await embed_new(
            [(begun, passages)], space=space, vector_store=context.store, embedder=context.embedder
        )
        write = Write(memory=begun, base=base, action=Action.BRANCHED, passages=passages, message=remark)
        # One of this name may have gone while the memory was switched to it.
        expected = name if switch else MAIN if await switched_to(context.store, trunk) == name else ""
        documents = (_document(trunk, expected, origin=origin),) if expected else ()
        documents = (*documents, first_page(begun, description=remark, origin=origin))
        try:
            # Who purges the memory meanwhile purges what branches there are: there may be no other afterwards.
            await context.store.commit(
                Commit(
                    space=space, origin=origin, writes=(write,), expected=((trunk.id, trunk.version),),
                    embedded=embedded, documents=documents,
                )
            )  # fmt: skip
        except StaleVersion:
            continue
        return await _told(trunk, store=context.store)
    raise too_fast(ref)


async def branches(ref: str, *, space: str, store: RecordStore) -> Branches:
    """The branches of a memory, main first, then by their names."""
    return await _told(await trunk_of(store, await resolve(store, ref, space=space)), store=store)


async def switch(ref: str, name: str, *, space: str, origin: Origin, store: RecordStore) -> Branches:
    """Have a memory stand on another branch for whoever names none."""
    trunk = await _live(ref, space=space, store=store)
    record = await on_branch(store, trunk, require_named(name))
    await _file(_document(trunk, branch_of(record), origin=origin), store=store)
    return await _told(trunk, store=store)


async def drop(ref: str, name: str, *, space: str, origin: Origin, store: RecordStore) -> Branches:
    """Put a branch into the trash; a memory that was switched to it stands on main again."""
    if require_named(name) == MAIN:
        raise InvalidInput("main cannot be dropped", hint="`forget` drops the whole memory", field="branch")
    for _ in range(_TRIES):
        trunk = await _live(ref, space=space, store=store)
        record = await on_branch(store, trunk, name)
        current = await current_branch(store, trunk)
        at = max(origin.at, record.updated_at)
        gone = replace(record, state=State.TRASHED, version=record.version + 1, updated_at=at)
        write = Write(
            memory=gone, base=record.version, action=Action.TRASHED, passages=await slice_memory(gone),
            message=f"branch {record.branch} dropped",
        )  # fmt: skip
        documents = (_document(trunk, MAIN, origin=origin),) if current == record.branch else ()
        try:
            await store.commit(Commit(space=space, origin=origin, writes=(write,), documents=documents))
        except StaleVersion:
            continue
        return await _told(trunk, store=store)
    raise too_fast(ref)


async def _live(ref: str, *, space: str, store: RecordStore) -> Memory:
    """The memory itself, which must be alive to have branches."""
    return require_live(await trunk_of(store, await resolve(store, ref, space=space)))


async def _begun(
    trunk: Memory, name: str, *, at: int | None, origin: Origin, store: RecordStore
) -> tuple[Memory, int | None]:
    """The first version of a branch, and the version it is written over where the name was used before."""
    found = None if at is None else await store.version(trunk.space, trunk.id, at)
    if at is not None and found is None:
        raise NotFound(
            f"{trunk.name!r} has no version {at} on {MAIN!r}",
            hint=f"Its versions go from 1 to {trunk.version}",
            memory_id=trunk.id,
            version=at,
        )
    shadow = branch_id(trunk.id, name)
    known = (await store.get(trunk.space, [shadow])).get(shadow)
    if known is not None and known.state is State.BRANCHED:
        raise NameTaken(
            f"{trunk.name!r} has a branch {name!r} already",
            hint="Choose another name, switch to it, or drop it first",
            name=name,
            id=trunk.id,
        )
    start, fork = (trunk, trunk.version) if found is None else (found.memory, found.number)
    begun = replace(
        start, id=shadow, space=trunk.space, created_at=trunk.created_at, state=State.BRANCHED, merged_into="",
        version=max(fork, known.version if known else 0) + 1, branch=name, trunk=trunk.id, forked=fork,
        # Records that share a group are found together: a branch is none of them.
        group="", updated_at=max(origin.at, trunk.updated_at), access_count=0, last_accessed=None,
    )  # fmt: skip
    return begun, known.version if known else None


async def _told(trunk: Memory, *, store: RecordStore) -> Branches:
    now = (await store.get(trunk.space, [trunk.id])).get(trunk.id, trunk)
    main = Branch(
        name=MAIN, version=now.version, created_at=now.created_at, updated_at=now.updated_at, agent=now.source.agent
    )
    records = await branches_of(store, [now]) if now.state is State.LIVE else []
    pages = await _pages(now, store=store) if records else {}
    current = await switched_to(store, now)
    return Branches(
        id=now.id,
        name=now.name,
        current=current if current in {record.branch for record in records} else MAIN,
        branches=(main, *[await _branch(record, pages.get(record.id), store=store) for record in records]),
    )


async def _pages(trunk: Memory, *, store: RecordStore) -> dict[str, Document]:
    """What was filed when each branch was begun: their ids sort beside the memory's own, so they lie together."""
    found: dict[str, Document] = {}
    after = beginning = trunk.id[:_SHARED]
    while page := await store.documents(trunk.space, LINES, after=after, limit=_PAGE):
        found |= {document.key: document for document in page if document.key.startswith(beginning)}
        after = page[-1].key
        if len(page) < _PAGE or not after.startswith(beginning):
            break
    return found


async def _branch(record: Memory, page: Document | None, *, store: RecordStore) -> Branch:
    """A branch as its first page tells of it; what came from elsewhere has none, or an older one."""
    if page is not None and "description" in page.value:
        description, agent, at = str(page.value["description"]), str(page.value.get("agent", "")), page.at
    else:
        first = await store.version(record.space, record.id, (await line_of(store, record)).start)
        description, agent, at = (first.message, first.agent, first.created_at) if first else ("", "", None)
    return Branch(
        name=record.branch,
        version=record.version,
        forked=record.forked,
        description=description,
        created_at=at,
        updated_at=record.updated_at,
        agent=agent,
    )


def _document(trunk: Memory, current: str, *, origin: Origin) -> Document:
    value: dict[str, Json] = {"current": current, "about": {"memory_id": trunk.id}}
    return Document(space=trunk.space, collection=COLLECTION, key=trunk.id, value=value, at=origin.at)


async def _file(document: Document, *, store: RecordStore) -> None:
    for _ in range(_TRIES):
        known = await store.document(document.space, document.collection, document.key)
        try:
            await store.put_document(document, base=known.version if known else None)
        except StaleVersion:
            continue
        return
    raise too_fast(document.key)


def require_named(name: str, *, field: str = "branch") -> str:
    """The name of a branch that there should be, in the one way it is spelled."""
    if not require_text(name, field=field):
        raise InvalidInput(f"{field} must name a branch", hint="`branches` lists those there are", field=field)
    return normalize_branch_name(name)
