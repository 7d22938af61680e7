"""Every error of the public interface, and its codes for shells, HTTP clients and agents.

ScrubjayError
├── InvalidInput            the request is invalid: change it
│   ├── TooLarge            over a limit that the message names
│   ├── Rejected            a rule of the space rejects the text
│   ├── NoteUnreadable      a file is not a readable note; the message gives the line and the reason
│   └── PathRefused         the path of a note leaves the folder, or passes through a file
├── NotFound                no such memory; the error suggests similar names
├── Ambiguous               the reference matches several memories
├── Conflict                the request is valid, but the store has changed
│   ├── StaleVersion        the memory changed after the version that the caller read
│   ├── NameTaken           another live memory has this name
│   ├── WrongState          the memory's state does not allow it
│   ├── KeyReused           one idempotency key, two different requests
│   └── FileChanged         the file of the note changed after it was read
├── StoreError              the record store failed
│   ├── StoreBusy           another writer holds the lock for too long: retry
│   ├── StoreReadOnly       the folder or file cannot be written
│   ├── DiskFull            the disk is full
│   ├── StoreTooNew         written by a newer Scrubjay
│   ├── StoreDamaged        the file is not a valid database
│   ├── WrongKey            the store is encrypted, and the key is wrong
│   ├── BodyDamaged         a memory fails its checksum
│   └── StoreInUse          the action needs exclusive use of the store
├── EmbeddingUnavailable    no vectors can be computed; lexical search still works
├── IndexUnavailable        the vector index cannot be used; it can be rebuilt
├── RerankingUnavailable    the cross-encoder cannot be used; recall returns its own order
├── LlmUnavailable          no language model gives a valid answer; memories stay unimproved
├── VaultUnavailable        the folder of notes cannot be used; memories are safe in the store
├── Busy                    too many requests at once, or a request took too long: retry later
├── NotAdmitted             the request has no valid token
├── NotAllowed              the caller lacks the right
├── TooManyRequests         over the limit of requests per minute: retry later
├── TooSlow                 the request did not arrive in time
├── KeysUnavailable         the keys for checking tokens cannot be fetched: retry
├── DaemonUnavailable       the daemon cannot be reached, or went away during a call
└── DaemonRunning           another daemon serves this data folder
"""

import re
from collections.abc import Mapping
from pathlib import PurePath
from typing import ClassVar, Self

from scrubjay.lazy import dataclass

Field = str | int | float | bool | None | tuple[str, ...]


class ScrubjayError(Exception):
    """The base class: a message, a hint about what to do next, and details as fields."""

    code: ClassVar[str] = "error"

    def __init__(self, message: str, *, hint: str = "", **fields: Field) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.fields = fields

    def __str__(self) -> str:
        return f"{self.message}. {self.hint}" if self.hint else self.message

    def without_places(self) -> Self:
        """Return the error for callers elsewhere: without the address of the database, or the folder of a file."""
        message, hint, fields = self.message, self.hint, dict(self.fields)
        for name in ("server", "path"):
            place = fields.get(name)
            if isinstance(place, str) and (name == "server" or PurePath(place).is_absolute()):
                shown = "the database" if name == "server" else PurePath(place).name
                message, hint = message.replace(place, shown), hint.replace(place, shown)
                del fields[name]
        return type(self)(message, hint=hint, **fields)

    def renamed(self, names: Mapping[str, str]) -> Self:
        """Return the error with other names of arguments: as its field, as the subject, and in `code` of the hint."""
        hint = re.sub(r"`(\w+)`", lambda match: f"`{names.get(match[1], match[1])}`", self.hint)
        old = self.fields.get("field")
        if not isinstance(old, str) or (new := _rename(old, names)) == old:
            return type(self)(self.message, hint=hint, **self.fields)
        # "kind must be …", "2,000 tags are too many", "…: the text is empty".
        subject = re.compile(rf"(^(?:[\d,]+ )?|\bthe (?=\w+ is )){re.escape(old)}(?!\w)")
        message = subject.sub(lambda match: match[1] + new, self.message, count=1)
        return type(self)(message, hint=hint, **{**self.fields, "field": new})


class InvalidInput(ScrubjayError):
    code = "invalid_input"


class TooLarge(InvalidInput):
    code = "too_large"


class Rejected(InvalidInput):
    code = "rejected"


class PathRefused(InvalidInput):
    code = "path_refused"


class NoteUnreadable(InvalidInput):
    code = "note_unreadable"


class NotFound(ScrubjayError):
    code = "not_found"


class Ambiguous(ScrubjayError):
    code = "ambiguous"


class Conflict(ScrubjayError):
    code = "conflict"


class StaleVersion(Conflict):
    code = "stale_version"


class NameTaken(Conflict):
    code = "name_taken"


class WrongState(Conflict):
    code = "wrong_state"


class KeyReused(Conflict):
    code = "key_reused"


class FileChanged(Conflict):
    code = "file_changed"


class StoreError(ScrubjayError):
    code = "store_error"


class StoreBusy(StoreError):
    code = "store_busy"


class StoreReadOnly(StoreError):
    code = "store_read_only"


class DiskFull(StoreError):
    code = "disk_full"


class StoreTooNew(StoreError):
    code = "store_too_new"


class StoreDamaged(StoreError):
    code = "store_damaged"


class WrongKey(StoreError):
    code = "wrong_key"


class BodyDamaged(StoreError):
    code = "body_damaged"


class StoreInUse(StoreError):
    code = "store_in_use"


class EmbeddingUnavailable(ScrubjayError):
    code = "embedding_unavailable"


class IndexUnavailable(ScrubjayError):
    code = "index_unavailable"


class RerankingUnavailable(ScrubjayError):
    code = "reranking_unavailable"


class LlmUnavailable(ScrubjayError):
    code = "llm_unavailable"


class VaultUnavailable(ScrubjayError):
    code = "vault_unavailable"


class Busy(ScrubjayError):
    code = "busy"


class NotAdmitted(ScrubjayError):
    code = "not_admitted"


class NotAllowed(ScrubjayError):
    code = "not_allowed"


class TooManyRequests(ScrubjayError):
    code = "too_many_requests"


class TooSlow(ScrubjayError):
    code = "too_slow"


class KeysUnavailable(ScrubjayError):
    code = "keys_unavailable"


class DaemonUnavailable(ScrubjayError):
    code = "daemon_unavailable"


class DaemonRunning(ScrubjayError):
    code = "daemon_running"


@dataclass(frozen=True, slots=True)
class Codes:
    """The codes of an error on each surface."""

    exit: int
    http: int
    mcp: int


# MCP codes are JSON-RPC codes: -32602 is "invalid params". Ours start at -31000, because the protocol reserves those
# from -32000 down.
CODES: dict[type[ScrubjayError], Codes] = {
    ScrubjayError: Codes(exit=1, http=500, mcp=-32603),
    InvalidInput: Codes(exit=2, http=422, mcp=-32602),
    TooLarge: Codes(exit=2, http=413, mcp=-32602),
    Rejected: Codes(exit=2, http=422, mcp=-32602),
    NoteUnreadable: Codes(exit=65, http=422, mcp=-32602),
    PathRefused: Codes(exit=2, http=422, mcp=-32602),
    NotFound: Codes(exit=3, http=404, mcp=-31001),
    Ambiguous: Codes(exit=3, http=409, mcp=-31002),
    Conflict: Codes(exit=4, http=409, mcp=-31003),
    StaleVersion: Codes(exit=4, http=412, mcp=-31004),
    NameTaken: Codes(exit=4, http=409, mcp=-31005),
    WrongState: Codes(exit=4, http=409, mcp=-31006),
    KeyReused: Codes(exit=4, http=422, mcp=-31007),
    FileChanged: Codes(exit=4, http=409, mcp=-31008),
    StoreError: Codes(exit=5, http=500, mcp=-31010),
    StoreBusy: Codes(exit=75, http=503, mcp=-31011),
    StoreReadOnly: Codes(exit=73, http=507, mcp=-31012),
    DiskFull: Codes(exit=73, http=507, mcp=-31013),
    StoreTooNew: Codes(exit=5, http=500, mcp=-31014),
    StoreDamaged: Codes(exit=65, http=500, mcp=-31015),
    WrongKey: Codes(exit=77, http=500, mcp=-31016),
    BodyDamaged: Codes(exit=65, http=500, mcp=-31017),
    StoreInUse: Codes(exit=75, http=409, mcp=-31018),
    EmbeddingUnavailable: Codes(exit=69, http=503, mcp=-31020),
    IndexUnavailable: Codes(exit=69, http=503, mcp=-31021),
    RerankingUnavailable: Codes(exit=69, http=503, mcp=-31030),
    LlmUnavailable: Codes(exit=69, http=503, mcp=-31031),
    VaultUnavailable: Codes(exit=69, http=503, mcp=-31032),
    Busy: Codes(exit=75, http=503, mcp=-31022),
    DaemonUnavailable: Codes(exit=69, http=502, mcp=-31023),
    NotAllowed: Codes(exit=77, http=403, mcp=-31025),
    NotAdmitted: Codes(exit=77, http=401, mcp=-31026),
    TooManyRequests: Codes(exit=75, http=429, mcp=-31027),
    TooSlow: Codes(exit=75, http=408, mcp=-31029),
    KeysUnavailable: Codes(exit=69, http=503, mcp=-31028),
    DaemonRunning: Codes(exit=75, http=409, mcp=-31024),
}


def codes_of(error: ScrubjayError) -> Codes:
    """Return the codes of the class of an error, or of its nearest base class in the table."""
    return next(CODES[kind] for kind in type(error).__mro__ if kind in CODES)


def _rename(field: str, names: Mapping[str, str]) -> str:
    root = re.split(r"[.\[]", field, maxsplit=1)[0]
    return names.get(field) or names.get(root, root) + field[len(root) :]
