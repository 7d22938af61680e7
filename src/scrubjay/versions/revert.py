"""`revert` to a version: a new one that says the same. Nothing is rewritten."""

from dataclasses import dataclass, replace

from scrubjay.errors import BodyDamaged, NameTaken, StaleVersion
from scrubjay.idempotency import IdempotentRequest, idempotent_request
from scrubjay.lookup.branches import OWN_FIELDS, on_branch, require_open, too_fast, version_of
from scrubjay.lookup.references import resolve
from scrubjay.model.change import Action, Origin
from scrubjay.model.checks import require_integer, require_remark
from scrubjay.model.document import Document
from scrubjay.model.memory import MAIN, Json, Memory
from scrubjay.model.results import Written
from scrubjay.ports import Commit, RecordStore
from scrubjay.text.screening.secrets import redact
from scrubjay.versions.merged_parts import parts_after, rewrite, told
from scrubjay.writing.recheck import ConflictChecker

# Somebody else may be faster; to go back to a version means the same whatever came since.
_TRIES = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class _Errand:
    """What a revert has to do, and with whom."""

    to: int
    why: str
    origin: Origin
    store: RecordStore
    ask: IdempotentRequest
    conflict_checker: ConflictChecker | None
    # Whether the name it had then is another's now.
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
    """A new version with the content of an older one; what that does not go with by now is found by a job."""
    require_integer(to, field="to")
    require_remark(message, field="message")
    asked: dict[str, Json] = {"verb": "revert", "ref": ref, "to": to, "message": message}
    ask = idempotent_request(key, asked | ({"branch": branch} if branch else {}))
    why = redact(message)[0] or f"back to version {to}"
    errand = _Errand(to=to, why=why, origin=origin, store=store, ask=ask, conflict_checker=conflict_checker)
    for _ in range(_TRIES):
        if (known := await ask.find_answer(store, space=space)) is not None:
            return Written.from_json(known)
        memory = await _standing(ref, to, branch=branch, space=space, store=store)
        try:
            return await _revert(memory, errand)
        except StaleVersion:
            continue
        except NameTaken:
            if errand.keeps_name:
                raise
            errand = replace(errand, keeps_name=True)
    raise too_fast(ref)


async def _standing(ref: str, to: int, *, branch: str, space: str, store: RecordStore) -> Memory:
    """What is to go back to a version, as it is now."""
    try:
        return await require_open(store, await on_branch(store, await resolve(store, ref, space=space), branch))
    except BodyDamaged as damaged:
        if branch not in ("", MAIN):
            raise
        return await _stand_in(damaged, to, space=space, store=store)


async def _revert(memory: Memory, errand: _Errand) -> Written:
    origin, store = errand.origin, errand.store
    wanted = (await version_of(memory, errand.to, store=store)).memory
    own = {name: getattr(memory, name) for name in OWN_FIELDS}
    own |= {"version": memory.version + 1, "updated_at": max(origin.at, memory.updated_at)}
    renamed: list[str] = []
    if errand.keeps_name:
        renamed = [f"another memory is called {wanted.name!r} by now: this one keeps its name"]
        own["name"] = memory.name
    reverted = replace(wanted, **own)
    write = rewrite(reverted, base=memory.version, action=Action.REVERTED, message=errand.why)
    parts, remarks = await parts_after(memory, reverted, origin=origin, store=store)
    documents: tuple[Document, ...] = ()
    if errand.conflict_checker is not None:
        conflict_report = await errand.conflict_checker.check_later(
            reverted, write.passages, before=memory, origin=origin
        )
        documents = conflict_report.documents(at=origin.at)
    answer = replace(told(write), action="updated", warnings=(*renamed, *remarks))
    commit = Commit(
        space=memory.space, origin=origin, writes=(write, *parts), documents=documents,
        once=errand.ask.once(answer.as_json),
    )  # fmt: skip
    first = errand.ask.first(await store.commit(commit))
    return answer if first is None else Written.from_json(first)


async def _stand_in(damaged: BodyDamaged, to: int, *, space: str, store: RecordStore) -> Memory:
    """The version to go back to, in place of a newest one that cannot be read: reverting is its cure."""
    memory_id, number = str(damaged.fields["memory_id"]), damaged.fields["version"]
    sound = await store.version(space, memory_id, to)
    if sound is None or not isinstance(number, int):
        raise damaged
    return replace(sound.memory, version=number)
