"""`commit`, `branch`, `switch`, `branches`, and dropping a branch."""

from dataclasses import replace

from scrubjay.errors import InvalidInput, NameTaken, NotFound, StaleVersion
from scrubjay.idempotency import idempotent_request
from scrubjay.lookup.branches import (
    CURRENT_COLLECTION,
    START_COLLECTION,
    branch_document,
    branch_id,
    branch_of,
    branch_versions,
    branches_of,
    current_branch,
    keeps_changing,
    on_branch,
    require_live,
    switched_to,
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
from scrubjay.text.screening.secrets import redact, require_no_secret
from scrubjay.writing.context import WriteContext
from scrubjay.writing.embed import embed_new, slice_memory
from scrubjay.writing.revise import commit_version, open_record

_MAX_ATTEMPTS = 20
_PAGE = 100
# The ids of a memory and its branches have a prefix of this length in common.
_SHARED_PREFIX = 13


async def commit(
    ref: str, *, message: str, branch: str, space: str, origin: Origin, context: WriteContext, key: str, label: bool
) -> Written:
    """Store a new version with the same content and a message, or add the message to the current version."""
    if not require_remark(message, field="message").strip():
        raise InvalidInput("a commit needs a message", hint="Describe this version", field="message")
    if label:
        return await _label(ref, redact(message)[0], branch=branch, space=space, context=context)
    request = idempotent_request(key, {"verb": "commit", "ref": ref, "message": message, "branch": branch})
    remark = redact(message)[0]
    for _ in range(_MAX_ATTEMPTS):
        if (earlier := await request.find_answer(context.store, space=space)) is not None:
            return Written.from_json(earlier)
        memory = await open_record(ref, branch=branch, space=space, context=context)
        committed = replace(memory, version=memory.version + 1, updated_at=max(origin.at, memory.updated_at))
        try:
            return await commit_version(
                committed,
                action=Action.COMMITTED,
                message=remark,
                origin=origin,
                context=context,
                request=request,
                reported_action="committed",
            )
        except StaleVersion:
            continue
    raise keeps_changing(ref)


async def _label(ref: str, remark: str, *, branch: str, space: str, context: WriteContext) -> Written:
    """Add a message to the current version of a memory; one that it has already is not repeated."""
    for _ in range(_MAX_ATTEMPTS):
        memory = await open_record(ref, branch=branch, space=space, context=context)
        (version,) = await context.store.versions(space, memory.id, limit=1)
        is_new = remark not in version.message.split("; ")
        joined = require_remark("; ".join(filter(None, (version.message, remark))), field="message")
        if not is_new or await context.store.label(
            space, memory.id, version.number, before=version.message, message=joined
        ):
            return Written(
                action="labelled" if is_new else "unchanged", id=memory.trunk or memory.id, name=memory.name,
                version=version.number, branch=branch_of(memory),
            )  # fmt: skip
    raise keeps_changing(ref)


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
    """Start a branch at the newest version of main, or at an older one."""
    name = require_no_secret(require_branch_name(name), field="branch")
    remark = redact(require_remark(description, field="description"))[0]
    require_flag(switch, field="switch")
    if at is not None:
        require_integer(at, field="at")
    for _ in range(_MAX_ATTEMPTS):
        trunk = await _live(ref, space=space, store=context.store)
        record, base = await _first_record(trunk, name, at=at, origin=origin, store=context.store)
        passages = await slice_memory(record)
        # An older version may have been embedded by another model, or not at all.
        embedded, _ = await embed_new(
            [(record, passages)], space=space, vector_store=context.store, embedder=context.embedder
        )
        write = Write(memory=record, base=base, action=Action.BRANCHED, passages=passages, message=remark)
        # A dropped branch of this name may still be the current one.
        current = name if switch else MAIN if await switched_to(context.store, trunk) == name else ""
        documents = (_current_document(trunk, current, origin=origin),) if current else ()
        documents = (*documents, branch_document(record, description=remark, origin=origin))
        try:
            # A purge of the memory removes its branches: none may be added after that.
            await context.store.commit(
                Commit(
                    space=space, origin=origin, writes=(write,), expected=((trunk.id, trunk.version),),
                    embedded=embedded, documents=documents,
                )
            )  # fmt: skip
        except StaleVersion:
            continue
        return await _list(trunk, store=context.store)
    raise keeps_changing(ref)


async def branches(ref: str, *, space: str, store: RecordStore) -> Branches:
    """List the branches of a memory, main first, then by name."""
    return await _list(await trunk_of(store, await resolve(store, ref, space=space)), store=store)


async def switch(ref: str, name: str, *, space: str, origin: Origin, store: RecordStore) -> Branches:
    """Make a branch the one that callers get who name none."""
    trunk = await _live(ref, space=space, store=store)
    record = await on_branch(store, trunk, require_branch(name))
    await _store_document(_current_document(trunk, branch_of(record), origin=origin), store=store)
    return await _list(trunk, store=store)


async def drop(ref: str, name: str, *, space: str, origin: Origin, store: RecordStore) -> Branches:
    """Move a branch to the trash; a memory that was switched to it is switched to main."""
    if require_branch(name) == MAIN:
        raise InvalidInput("main cannot be dropped", hint="`forget` drops the whole memory", field="branch")
    for _ in range(_MAX_ATTEMPTS):
        trunk = await _live(ref, space=space, store=store)
        record = await on_branch(store, trunk, name)
        current = await current_branch(store, trunk)
        at = max(origin.at, record.updated_at)
        dropped = replace(record, state=State.TRASHED, version=record.version + 1, updated_at=at)
        write = Write(
            memory=dropped, base=record.version, action=Action.TRASHED, passages=await slice_memory(dropped),
            message=f"branch {record.branch} dropped",
        )  # fmt: skip
        documents = (_current_document(trunk, MAIN, origin=origin),) if current == record.branch else ()
        try:
            await store.commit(Commit(space=space, origin=origin, writes=(write,), documents=documents))
        except StaleVersion:
            continue
        return await _list(trunk, store=store)
    raise keeps_changing(ref)


async def _live(ref: str, *, space: str, store: RecordStore) -> Memory:
    """Return the live memory of a reference: no other has branches."""
    return require_live(await trunk_of(store, await resolve(store, ref, space=space)))


async def _first_record(
    trunk: Memory, name: str, *, at: int | None, origin: Origin, store: RecordStore
) -> tuple[Memory, int | None]:
    """Return the first record of a branch, and the version that it replaces if the name was used before."""
    version = None if at is None else await store.version(trunk.space, trunk.id, at)
    if at is not None and version is None:
        raise NotFound(
            f"{trunk.name!r} has no version {at} on {MAIN!r}",
            hint=f"Its versions go from 1 to {trunk.version}",
            memory_id=trunk.id,
            version=at,
        )
    record_id = branch_id(trunk.id, name)
    former = (await store.get(trunk.space, [record_id])).get(record_id)
    if former is not None and former.state is State.BRANCHED:
        raise NameTaken(
            f"{trunk.name!r} has a branch {name!r} already",
            hint="Choose another name, switch to it, or drop it first",
            name=name,
            id=trunk.id,
        )
    start, fork = (trunk, trunk.version) if version is None else (version.memory, version.number)
    record = replace(
        start, id=record_id, space=trunk.space, created_at=trunk.created_at, state=State.BRANCHED, merged_into="",
        version=max(fork, former.version if former else 0) + 1, branch=name, trunk=trunk.id, forked=fork,
        # Records that share a group are found together: a branch is none of them.
        group="", updated_at=max(origin.at, trunk.updated_at), access_count=0, last_accessed=None,
    )  # fmt: skip
    return record, former.version if former else None


async def _list(trunk: Memory, *, store: RecordStore) -> Branches:
    now = (await store.get(trunk.space, [trunk.id])).get(trunk.id, trunk)
    main = Branch(
        name=MAIN, version=now.version, created_at=now.created_at, updated_at=now.updated_at, agent=now.source.agent
    )
    records = await branches_of(store, [now]) if now.state is State.LIVE else []
    starts = await _start_documents(now, store=store) if records else {}
    current = await switched_to(store, now)
    return Branches(
        id=now.id,
        name=now.name,
        current=current if current in {record.branch for record in records} else MAIN,
        branches=(main, *[await _branch(record, starts.get(record.id), store=store) for record in records]),
    )


async def _start_documents(trunk: Memory, *, store: RecordStore) -> dict[str, Document]:
    """Return the start documents of the branches: their ids have the memory's prefix, so that they are adjacent."""
    documents: dict[str, Document] = {}
    after = prefix = trunk.id[:_SHARED_PREFIX]
    while page := await store.documents(trunk.space, START_COLLECTION, after=after, limit=_PAGE):
        documents |= {document.key: document for document in page if document.key.startswith(prefix)}
        after = page[-1].key
        if len(page) < _PAGE or not after.startswith(prefix):
            break
    return documents


async def _branch(record: Memory, start: Document | None, *, store: RecordStore) -> Branch:
    """Describe a branch by its start document; an imported branch has none, or an older form."""
    if start is not None and "description" in start.value:
        description, agent, at = str(start.value["description"]), str(start.value.get("agent", "")), start.at
    else:
        first = await store.version(record.space, record.id, (await branch_versions(store, record)).start)
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


def _current_document(trunk: Memory, current: str, *, origin: Origin) -> Document:
    value: dict[str, Json] = {"current": current, "about": {"memory_id": trunk.id}}
    return Document(space=trunk.space, collection=CURRENT_COLLECTION, key=trunk.id, value=value, at=origin.at)


async def _store_document(document: Document, *, store: RecordStore) -> None:
    for _ in range(_MAX_ATTEMPTS):
        stored = await store.document(document.space, document.collection, document.key)
        try:
            await store.put_document(document, base=stored.version if stored else None)
        except StaleVersion:
            continue
        return
    raise keeps_changing(document.key)


def require_branch(name: str, *, field: str = "branch") -> str:
    """Check the name of an existing branch, and normalise it."""
    if not require_text(name, field=field):
        raise InvalidInput(f"{field} must name a branch", hint="`branches` lists them", field=field)
    return normalize_branch_name(name)
