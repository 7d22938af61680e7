"""What is being done and how long it takes, told to whoever observes; that is nobody, unless a daemon says so.

Names and labels are words of our code. What callers say, texts and spaces among it, never goes through here.
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
# Without the underscore and the dots that tokens have: nobody's secret becomes an id.
_GIVEN_ID = re.compile(r"[A-Za-z0-9-]{8,64}")

request_id: ContextVar[str] = ContextVar("request_id", default="")
"""The request that is being worked on; empty outside of one."""
trace_parent: ContextVar[str] = ContextVar("trace_parent", default="")
"""The span of a caller in another process that this work belongs to, as W3C's `traceparent` writes it."""


class Observer(Protocol):
    """Whoever wants to know. It is called from any thread, and must be quick."""

    @property
    def from_the_beginning(self) -> bool:
        """Whether it wants to hear of beginnings too, which costs every stage a little."""
        ...

    def began(self, span: "Span", /) -> object:
        """Something begins; what is returned comes back at its end."""
        ...

    def ended(self, span: "Span", mark: object, /) -> None:
        """It is over: `seconds` and `outcome` are known."""
        ...

    def counted(self, name: str, amount: int, labels: Mapping[str, str], /) -> None:
        """Something happened so many times."""
        ...


class Span:
    """A stretch of work, from the beginning of a `with` block to its end."""

    # What is known later is set later: there are many of these.
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
        self._marks = [_told(observer.began, self) for observer in observers] if _from_the_beginning else _NO_MARKS
        self._began = perf_counter()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.seconds = perf_counter() - self._began
        if not self.outcome:
            self.outcome = "ok" if error is None else _outcome(error)
        # There are as many marks as observers, or no end of none.
        for observer, mark in zip(self._observers, self._marks, strict=False):
            _told(observer.ended, self, mark)


class Request(Span):
    """The whole of a request. It has an id, its own or the one that it came in with; set `outcome` to say more."""

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
            # Work that is thrown away at the very end is ended in another context.
            with suppress(ValueError):
                request_id.reset(self._token)


def stage(name: str) -> AbstractContextManager[object]:
    """Times a block; the name is `path.stage`, as in `recall.lexical`."""
    return Span(name) if _observers else _UNSEEN


def request(verb: str) -> Request:
    """Times a request. The verb must be one of a known few, since it becomes a label."""
    return Request(verb)


def took(name: str, seconds: float) -> None:
    """Tell of a stage that was timed otherwise, as when it began in another thread."""
    if _observers:
        span = Span(name)
        span.seconds, span.outcome = seconds, "ok"
        for observer in _observers:
            _told(observer.ended, span, None)


def count(name: str, amount: int = 1, **labels: str) -> None:
    """Tell that something happened."""
    for observer in _observers:
        _told(observer.counted, name, amount, labels)


def gauge(name: str, read: Callable[[], float]) -> Callable[[], None]:
    """Offer a value to whoever looks, until what is returned is called."""
    global _gauges  # noqa: PLW0603 - replaced as a whole, so that readers need no lock
    offer = (name, read)
    with _changing:
        _gauges = (*_gauges, offer)

    def withdraw() -> None:
        global _gauges  # noqa: PLW0603
        with _changing:
            _gauges = tuple(gauge for gauge in _gauges if gauge is not offer)

    return withdraw


def gauges() -> dict[str, float]:
    """What is on offer now; values of one name add up."""
    found: dict[str, float] = {}
    for name, read in _gauges:
        found[name] = found.get(name, 0.0) + (_told(read) or 0.0)
    return found


@contextmanager
def observe(observer: Observer) -> Generator[None]:
    """Tell somebody of all that is done in this process while the block lasts."""
    with _changing:
        _tell_only(*_observers, observer)
    try:
        yield
    finally:
        with _changing:
            place = next(place for place, one in enumerate(_observers) if one is observer)
            _tell_only(*_observers[:place], *_observers[place + 1 :])
            # Whoever comes next is complained of anew.
            _complaints.clear()


@contextmanager
def arriving(*, given: str = "", traceparent: str = "") -> Generator[str]:
    """A request comes in from elsewhere: gives its id, which is the one it came with if that is a plain one."""
    chosen = given if _GIVEN_ID.fullmatch(given) else new_request_id()
    tokens = request_id.set(chosen), trace_parent.set(traceparent)
    try:
        yield chosen
    finally:
        with suppress(ValueError):
            request_id.reset(tokens[0])
            trace_parent.reset(tokens[1])


def new_request_id() -> str:
    """An id that no other request has."""
    return secrets.token_hex(8)


class _Unseen:
    """A stage that nobody looks at."""

    __slots__ = ()

    def __enter__(self) -> None:
        return None

    def __exit__(self, *_: object) -> None:
        return None


def _outcome(error: BaseException) -> str:
    return "gone" if isinstance(error, CancelledError | GeneratorExit) else "error"


def _tell_only(*observers: Observer) -> None:
    # Replaced as a whole, so that readers need no lock.
    global _observers, _from_the_beginning
    _observers, _from_the_beginning = observers, any(observer.from_the_beginning for observer in observers)


def _told(deed: Callable[..., T], *arguments: object) -> T | None:
    """Call an observer, which may fail as it likes: the work goes on."""
    try:
        return deed(*arguments)
    except Exception as error:  # noqa: BLE001 - the edge of somebody else's job
        name = getattr(deed, "__qualname__", type(deed).__name__)
        # Once: it would say the same at every stage of every request.
        if name not in _complaints:
            _complaints.add(name)
            _log.warning("an observer failed", extra={"fields": {"observer": name, "error": type(error).__name__}})
        return None


_UNSEEN = _Unseen()
_NO_MARKS: Iterable[object] = repeat(None)
_changing = threading.Lock()
_complaints: set[str] = set()
_observers: tuple[Observer, ...] = ()
_from_the_beginning = False
_gauges: tuple[tuple[str, Callable[[], float]], ...] = ()
