"""What a tool is: what it takes and answers, and the desk it works at."""

from collections.abc import Awaitable, Callable, Coroutine, Mapping
from dataclasses import dataclass
from typing import Protocol, TypeVar

from scrubjay.client import MemoryClient
from scrubjay.engine import Engine
from scrubjay.errors import ScrubjayError
from scrubjay.model.draft import Caller
from scrubjay.model.grant import OWNER, Grant
from scrubjay.model.memory import Json
from scrubjay.notes.service import Notes
from scrubjay.ports import Progress

T = TypeVar("T")


async def _for_ever() -> bool:
    return True


class CallLimiter(Protocol):
    """Lets so much work in at once, for so long."""

    async def run(self, verb: str, work: Coroutine[object, object, T], *, reads: bool = False) -> T:
        """Do the work or raise Busy. Reading that nobody waits for is given up; a write that was begun is finished."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolContext:
    """Where a tool works: the memory, who calls and what is open to it, and how it tells of its progress.

    `holds` says whether all that is still open: for streams, which may outlive the token that opened them.
    """

    engine: Engine
    who: Caller
    notes: Notes | None = None
    project: str = ""
    progress: Progress | None = None
    grant: Grant = OWNER
    holds: Callable[[], Awaitable[bool]] = _for_ever

    @property
    def memory(self) -> MemoryClient:
        """The verbs, as this caller."""
        return MemoryClient.over(self.engine, self.who, notes=self.notes)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a tool says: `structured` for programs, `text` for a model (by default the same as compact JSON)."""

    structured: dict[str, Json]
    text: str = ""
    is_error: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """One tool. `input` is a JSON Schema of an object without additional properties.

    `refuses` makes an answer of what is wrong, for a dialect in which no call fails.
    """

    name: str
    title: str
    description: str
    input: Mapping[str, Json]
    output: Mapping[str, Json]
    call: Callable[[ToolContext, Mapping[str, Json]], Awaitable[Answer]]
    reads: bool = False
    destroys: bool = False
    repeatable: bool = False
    refuses: Callable[[ScrubjayError], Answer] | None = None
