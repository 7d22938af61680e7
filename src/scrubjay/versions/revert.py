"""`revert`: store a new version with the content of an older one. No version is rewritten."""

from dataclasses import replace

from scrubjay.errors import BodyDamaged, NameTaken, StaleVersion
from scrubjay.idempotency import IdempotentRequest, idempotent_request
from scrubjay.lazy import dataclass
from scrubjay.lookup.branches import OWN_FIELDS, keeps_changing, on_branch, require_open, version_of
from scrubjay.lookup.references import resolve
from scrubjay.model.change import Action, Origin
from scrubjay.model.checks import require_integer, require_remark
from scrubjay.model.document import Document
from scrubjay.model.memory import MAIN, Json, Memory
from scrubjay.model.results import Written
from scrubjay.ports import Commit, RecordStore
from scrubjay.text.screening.secrets import redact
from scrubjay.versions.merged_parts import revert_parts, version_write, written
from scrubjay.writing.recheck import ConflictChecker

# A revert means the same whatever versions came since.
_MAX_ATTEMPTS = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class _RevertRequest:
    """The arguments and dependencies of a revert."""

    to: int
    message: str
    origin: Origin
    store: RecordStore
    idempotency: IdempotentRequest
    conflict_checker: ConflictChecker | None
    # Another memory has the name of that version now.
    keeps_name: bool = False


async def revert(
    ref: str,
    *,
    to: int,
    message: str,
    branch: str = "",
    space: str,
    origin: Origin,
    store: RecordStore,
    key: str = "",
    conflict_checker: ConflictChecker | None = None,
) -> Written:
    """Store a new version with the content of an older one; a job checks it for conflicts."""
    require_integer(to, field="to")
    require_remark(message, field="message")
    arguments: dict[str, Json] = {"verb": "revert", "ref": ref, "to": to, "message": message}
    idempotency = idempotent_request(key, arguments | ({"branch": branch} if branch else {}))
    request = _RevertRequest(
        to=to, message=redact(message)[0] or f"back to version {to}", origin=origin, store=store,
        idempotency=idempotency, conflict_checker=conflict_checker,
    )  # fmt: skip
    for _ in range(_MAX_ATTEMPTS):
        if (earlier := await idempotency.find_answer(store, space=space)) is not None:
            return Written.from_json(earlier)
        memory = await _open_record(ref, to, branch=branch, space=space, store=store)
        try:
            return await _revert(memory, request)
        except StaleVersion:
            continue
        except NameTaken:
            if request.keeps_name:
                raise
            request = replace(request, keeps_name=True)
    raise keeps_changing(ref)


async def _open_record(ref: str, to: int, *, branch: str, space: str, store: RecordStore) -> Memory:
    """Return the record to revert, as it is now."""
    try:
        return await require_open(store, await on_branch(store, await resolve(store, ref, space=space), branch))
    except BodyDamaged as damaged:
        if branch not in ("", MAIN):
            raise
        return await _replacement(damaged, to, space=space, store=store)


async def _revert(memory: Memory, request: _RevertRequest) -> Written:
    origin, store = request.origin, request.store
    target = (await version_of(memory, request.to, store=store)).memory
    own = {name: getattr(memory, name) for name in OWN_FIELDS}
    own |= {"version": memory.version + 1, "updated_at": max(origin.at, memory.updated_at)}
    warnings: list[str] = []
    if request.keeps_name:
        warnings = [f"another memory is called {target.name!r} by now: this one keeps its name"]
        own["name"] = memory.name
    reverted = replace(target, **own)
    write = version_write(reverted, base=memory.version, action=Action.REVERTED, message=request.message)
    parts, remarks = await revert_parts(memory, reverted, origin=origin, store=store)
    documents: tuple[Document, ...] = ()
    if request.conflict_checker is not None:
        report = await request.conflict_checker.check_later(reverted, write.passages, before=memory, origin=origin)
        documents = report.documents(at=origin.at)
    answer = replace(written(write.memory), action="updated", warnings=(*warnings, *remarks))
    commit = Commit(
        space=memory.space, origin=origin, writes=(write, *parts), documents=documents,
        once=request.idempotency.record(answer.as_json),
    )  # fmt: skip
    earlier = request.idempotency.earlier_answer(await store.commit(commit))
    return answer if earlier is None else Written.from_json(earlier)


async def _replacement(damaged: BodyDamaged, to: int, *, space: str, store: RecordStore) -> Memory:
    """Return the target version in place of a newest one that cannot be read: a revert repairs it."""
    memory_id, number = str(damaged.fields["memory_id"]), damaged.fields["version"]
    version = await store.version(space, memory_id, to)
    if version is None or not isinstance(number, int):
        raise damaged
    return replace(version.memory, version=number)
