"""Spans, counters and gauges for observers; only a daemon installs observers.

Names and labels are constants of the code. Data of callers, such as texts and spaces, never passes through here.
"""

import logging
import re
import secrets
import threading
from asyncio import CancelledError
from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from contextvars import ContextVar, Token
from itertools import repeat
from time import perf_counter
from types import TracebackType
from typing import Protocol, Self, TypeVar

T = TypeVar("T")
_log = logging.getLogger(__name__)
# Without underscores and dots, which tokens have, so that a secret never becomes an id.
_REQUEST_ID = re.compile(r"[A-Za-z0-9-]{8,64}")

request_id: ContextVar[str] = ContextVar("request_id", default="")
"""The current request; empty outside a request."""
trace_parent: ContextVar[str] = ContextVar("trace_parent", default="")
"""The parent span in another process, in the W3C `traceparent` format."""

_held_counts: ContextVar[list[tuple[str, int, Mapping[str, str]]] | None] = ContextVar("held_counts", default=None)


class Observer(Protocol):
    """Receives telemetry. It is called from any thread, and must be fast."""

    @property
    def needs_starts(self) -> bool:
        """Whether it also receives the starts of spans, which adds a cost to every stage."""
        ...

    def on_start(self, span: "Span", /) -> object:
        """Receive the start of a span; `on_end` gets the returned value."""
        ...

    def on_end(self, span: "Span", mark: object, /) -> None:
        """Receive the end of a span, with `seconds` and `outcome`."""
        ...

    def on_count(self, name: str, amount: int, labels: Mapping[str, str], /) -> None:
        """Receive a count of events."""
        ...


class Span:
    """A timed block of work."""

    # Attributes are set late, because there are many spans.
    __slots__ = ("_began", "_marks", "_observers", "name", "outcome", "seconds")
    is_request = False
    seconds: float
    _began: float
    _observers: "tuple[Observer, ...]"
    _marks: Iterable[object]

    def __init__(self, name: str) -> None:
        self.name = name
        self.outcome = ""

    def __enter__(self) -> Self:
        observers = self._observers = _observers
        self._marks = [_notify(observer.on_start, self) for observer in observers] if _needs_starts else _NO_MARKS
        self._began = perf_counter()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.seconds = perf_counter() - self._began
        if not self.outcome:
            self.outcome = "ok" if error is None else _outcome(error)
        # There is one mark per observer, or an endless iterator of None.
        for observer, mark in zip(self._observers, self._marks, strict=False):
            _notify(observer.on_end, self, mark)


class RequestSpan(Span):
    """A whole request, with the id of its caller or a new one; set `outcome` to override the default."""

    __slots__ = ("_token",)
    is_request = True

    def __init__(self, verb: str) -> None:
        super().__init__(verb)
        self._token: Token[str] | None = None

    def __enter__(self) -> Self:
        if not request_id.get():
            self._token = request_id.set(new_request_id())
        return super().__enter__()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        super().__exit__(kind, error, trace)
        if _log.isEnabledFor(logging.DEBUG):
            fields = {"verb": self.name, "outcome": self.outcome, "ms": round(self.seconds * 1000, 3)}
            _log.debug("served", extra={"fields": fields})
        if self._token is not None:
            # Work that is discarded at exit ends in another context.
            with suppress(ValueError):
                request_id.reset(self._token)


def stage(name: str) -> AbstractContextManager[object]:
    """Time a block; the name is `path.stage`, as in `recall.lexical`."""
    return Span(name) if _observers else _NULL_SPAN


def request(verb: str) -> RequestSpan:
    """Time a request. The verb becomes a label, so it must come from a fixed set."""
    return RequestSpan(verb)


def record_stage(name: str, seconds: float) -> None:
    """Report a stage that was timed elsewhere, for example across threads."""
    if _observers:
        span = Span(name)
        span.seconds, span.outcome = seconds, "ok"
        for observer in _observers:
            _notify(observer.on_end, span, None)


def count(name: str, amount: int = 1, **labels: str) -> None:
    """Report a number of events."""
    held = _held_counts.get()
    if held is not None:
        held.append((name, amount, labels))
        return
    for observer in _observers:
        _notify(observer.on_count, name, amount, labels)


@contextmanager
def hold_counts() -> Generator[None]:
    """Report the events of a block at its end, and none of them if it fails: then they did not happen."""
    held: list[tuple[str, int, Mapping[str, str]]] = []
    token = _held_counts.set(held)
    try:
        yield
    finally:
        with suppress(ValueError):
            _held_counts.reset(token)
    for name, amount, labels in held:
        count(name, amount, **labels)


def gauge(name: str, read: Callable[[], float]) -> Callable[[], None]:
    """Register a gauge; the returned function removes it."""
    global _gauges  # noqa: PLW0603 - replaced as a whole, so that readers need no lock
    entry = (name, read)
    with _changing:
        _gauges = (*_gauges, entry)

    def remove() -> None:
        global _gauges  # noqa: PLW0603
        with _changing:
            _gauges = tuple(gauge for gauge in _gauges if gauge is not entry)

    return remove


def gauges() -> dict[str, float]:
    """Return the current values of the gauges; values of one name add up."""
    values: dict[str, float] = {}
    for name, read in _gauges:
        values[name] = values.get(name, 0.0) + (_notify(read) or 0.0)
    return values


@contextmanager
def observe(observer: Observer) -> Generator[None]:
    """Report everything that happens in this process to an observer while the block lasts."""
    with _changing:
        _set_observers(*_observers, observer)
    try:
        yield
    finally:
        with _changing:
            index = next(index for index, current in enumerate(_observers) if current is observer)
            _set_observers(*_observers[:index], *_observers[index + 1 :])
            # Failures of the next observer are logged again.
            _failed.clear()


@contextmanager
def incoming_request(*, caller_id: str = "", traceparent: str = "") -> Generator[str]:
    """Set the id of an incoming request: that of the caller if it is valid, else a new one."""
    chosen = caller_id if _REQUEST_ID.fullmatch(caller_id) else new_request_id()
    tokens = request_id.set(chosen), trace_parent.set(traceparent)
    try:
        yield chosen
    finally:
        with suppress(ValueError):
            request_id.reset(tokens[0])
            trace_parent.reset(tokens[1])


def new_request_id() -> str:
    """Return a new, unique request id."""
    return secrets.token_hex(8)


class _NullSpan:
    """A stage without observers."""

    __slots__ = ()

    def __enter__(self) -> None:
        return None

    def __exit__(self, *_: object) -> None:
        return None


def _outcome(error: BaseException) -> str:
    return "gone" if isinstance(error, CancelledError | GeneratorExit) else "error"


def _set_observers(*observers: Observer) -> None:
    # Replaced as a whole, so that readers need no lock.
    global _observers, _needs_starts
    _observers, _needs_starts = observers, any(observer.needs_starts for observer in observers)


def _notify(callback: Callable[..., T], *arguments: object) -> T | None:
    """Call an observer; its failure never stops the work."""
    try:
        return callback(*arguments)
    except Exception as error:  # noqa: BLE001 - the boundary to foreign code
        name = getattr(callback, "__qualname__", type(callback).__name__)
        # Logged once: it would fail at every stage of every request.
        if name not in _failed:
            _failed.add(name)
            _log.warning("an observer failed", extra={"fields": {"observer": name, "error": type(error).__name__}})
        return None


_NULL_SPAN = _NullSpan()
_NO_MARKS: Iterable[object] = repeat(None)
_changing = threading.Lock()
_failed: set[str] = set()
_observers: tuple[Observer, ...] = ()
_needs_starts = False
_gauges: tuple[tuple[str, Callable[[], float]], ...] = ()
