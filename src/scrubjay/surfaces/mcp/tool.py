"""The types of a tool: its declaration, the context it runs in and the result it returns."""

from collections.abc import Awaitable, Callable, Coroutine, Mapping
from dataclasses import field
from typing import Protocol, TypeVar

from scrubjay.client import MemoryClient
from scrubjay.engine import Engine
from scrubjay.errors import ScrubjayError
from scrubjay.lazy import dataclass
from scrubjay.model.caller import OWNER, Caller, Grant
from scrubjay.model.memory import Json
from scrubjay.notes.service import Notes
from scrubjay.ports import Progress

T = TypeVar("T")


async def _always() -> bool:
    return True


class CallLimiter(Protocol):
    """Limits how many calls run at once, and for how long."""

    async def run(
        self, verb: str, work: Coroutine[object, object, T], *, caller: str = "", reads: bool = False
    ) -> T:  # fmt: skip
        """Do the work or raise Busy. An abandoned read is cancelled; a write that has begun is finished."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolContext:
    """The engine, the caller with its grant, and the callback for progress.

    `still_allowed` says whether the grant is still valid: a stream may outlive the token that opened it.
    """

    engine: Engine
    who: Caller
    notes: Notes | None = None
    project: str = ""
    progress: Progress | None = None
    grant: Grant = OWNER
    still_allowed: Callable[[], Awaitable[bool]] = _always

    @property
    def memory(self) -> MemoryClient:
        """The verbs, as this caller."""
        return MemoryClient.over(self.engine, self.who, notes=self.notes)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult:
    """The result of a call: `structured` for programs, `text` for a model (by default the same as compact JSON)."""

    structured: dict[str, Json]
    text: str = ""
    is_error: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """One tool. `input` is a JSON Schema of an object without additional properties.

    `names` maps the engine's names of arguments to this tool's, where they differ: handlers read arguments by it, and
    errors are reworded by it. `verbs` lists the verbs that hints may name and this tool carries out, each with what to
    add to the tool's name. `on_error` makes a result of an error, for toolsets whose calls never fail. `remark` is
    for the page of the tools alone: models pay for each word.
    """

    name: str
    title: str
    description: str
    input: Mapping[str, Json]
    output: Mapping[str, Json]
    call: Callable[[ToolContext, Mapping[str, Json]], Awaitable[ToolResult]]
    read_only: bool = False
    destructive: bool = False
    idempotent: bool = False
    names: Mapping[str, str] = field(default_factory=dict[str, str])
    verbs: Mapping[str, str] = field(default_factory=dict[str, str])
    remark: str = ""
    on_error: Callable[[ScrubjayError], ToolResult] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StaticResource:
    """A resource of a toolset: it has an address of its own and describes the whole space, not one memory."""

    uri: str
    name: str
    title: str
    description: str
    mime_type: str
    read: Callable[[ToolContext], Awaitable[str]]
