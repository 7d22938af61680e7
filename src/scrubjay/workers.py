"""Heavy work: in child processes that end with their request, and with a share of the machine for each caller.

`python -m scrubjay.workers` is such a child. It is started when it is needed first, and stays a while for more work.
"""

import asyncio
import atexit
import json
import os
import subprocess
import sys
import time
from collections import Counter, deque
from collections.abc import AsyncGenerator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import ParamSpec, TypeVar, cast
from weakref import WeakKeyDictionary

from scrubjay import errors
from scrubjay.errors import ScrubjayError, TooLarge

T = TypeVar("T")
P = ParamSpec("P")
LONG_TEXT = 5_000
"""Work on more characters than this takes more than a few milliseconds."""
MEMORY_BYTES = 1 << 30
"""The memory of a child, in addition to that of the bare process."""
CPU_SECONDS = 60
"""The CPU time of one piece of work, for a child whose parent cannot stop it any more."""
_IDLE_SECONDS = 30.0
_LENGTH_BYTES = 8
# Begins an answer that is not an error.
_DONE = b"+"
_NICENESS = 10
# One for the work of a caller, and one for that of the others.
_CORES = max(2, os.cpu_count() or 1)


@dataclass(slots=True)
class Admission:
    """A request that is being served: its caller, empty for the owner, and its threads that cannot be stopped."""

    caller: str = ""
    threads: set["asyncio.Future[object]"] = field(default_factory=set["asyncio.Future[object]"])


# The default is for work without a request, which is not counted.
admission: ContextVar[Admission] = ContextVar("admission", default=Admission())  # noqa: B039
"""The request that the current task serves."""


class Shares:
    """Turns at heavy work: as many as there are processors, at most half of them for one caller but the owner."""

    def __init__(self, size: int = _CORES) -> None:
        self._size = size
        self._running: Counter[str] = Counter()
        # In the order in which the callers get their next turn.
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {}

    @asynccontextmanager
    async def turn(self) -> AsyncGenerator[None]:
        """Wait for a turn of the current caller, and hold it for a block."""
        caller = admission.get().caller
        await self.take(caller)
        try:
            yield
        finally:
            self.give_back(caller)

    async def take(self, caller: str) -> None:
        """Wait for a turn."""
        if self._has_room(caller) and caller not in self._waiting:
            self._running[caller] += 1
            return
        turn = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(caller, deque()).append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if not turn.cancelled():
                # It was cancelled just after it had got its turn.
                self.give_back(caller)
            raise

    def give_back(self, caller: str) -> None:
        """End a turn, which goes to the next caller in a circle."""
        self._running[caller] -= 1
        if not self._running[caller]:
            del self._running[caller]
        for other in list(self._waiting):
            if self._has_room(other):
                self._give_turn(other)

    def _has_room(self, caller: str) -> bool:
        most = max(1, self._size // 2) if caller else self._size
        return self._running.total() < self._size and self._running[caller] < most

    def _give_turn(self, caller: str) -> None:
        """Give a turn to the first request of a caller that still waits, and move the caller to the end."""
        turns = self._waiting.pop(caller)
        while turns and turns[0].cancelled():
            turns.popleft()
        if turns:
            turns.popleft().set_result(None)
            self._running[caller] += 1
        if turns:
            self._waiting[caller] = turns


_shares: WeakKeyDictionary[asyncio.AbstractEventLoop, Shares] = WeakKeyDictionary()
_text_shares: WeakKeyDictionary[asyncio.AbstractEventLoop, Shares] = WeakKeyDictionary()


def shares() -> Shares:
    """Return the turns of the running event loop."""
    return _shares.setdefault(asyncio.get_running_loop(), Shares())


async def offload(size: int, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Do work on so many characters: at once if they are few, else in a thread, for all wait for the event loop.

    It takes a second at most, so that its turns are not those of heavy work.
    """
    if size <= LONG_TEXT:
        return work(*args, **kwargs)
    turns = _text_shares.setdefault(asyncio.get_running_loop(), Shares())
    return await _run_in_turn(turns, partial(work, *args, **kwargs))


async def run_in_thread(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Do heavy work in a thread, in its caller's turn. Threads cannot be stopped: it keeps the turn until its end."""
    return await _run_in_turn(shares(), partial(work, *args, **kwargs))


async def _run_in_turn(turns: Shares, work: Callable[[], T]) -> T:
    current = admission.get()
    await turns.take(current.caller)
    thread = asyncio.ensure_future(asyncio.to_thread(work))

    def end(_: "asyncio.Future[T]") -> None:
        turns.give_back(current.caller)
        current.threads.discard(cast("asyncio.Future[object]", thread))

    thread.add_done_callback(end)
    current.threads.add(cast("asyncio.Future[object]", thread))
    return await asyncio.shield(thread)


async def run_in_child(work: Callable[[bytes], bytes], data: bytes) -> bytes:
    """Do heavy work in a child process, in its caller's turn. A cancelled call kills the child.

    `work` is a function of a module. Raises its errors, and TooLarge if it needs too much memory or time.
    """
    name = f"{work.__module__}:{work.__qualname__}\n".encode()
    async with shares().turn():
        child = _idle.pop() if _idle else _Child()
        exchange = asyncio.get_running_loop().run_in_executor(_threads, child.exchange, name + data)
        try:
            answer = await asyncio.shield(exchange)
        except asyncio.CancelledError:
            child.kill()
            # The killed child closes its pipe, which ends the thread.
            await asyncio.wait({exchange})
            raise
        if answer is None:
            raise TooLarge(
                f"this takes more than {MEMORY_BYTES >> 20:,} MB of memory or {CPU_SECONDS} s of computing",
                hint="Split it into smaller parts",
            )
        _keep(child)
    if answer.startswith(_DONE):
        return answer[len(_DONE) :]
    failure = json.loads(answer)
    kind = getattr(errors, failure["kind"], None)
    if kind is None:
        raise RuntimeError(f"{failure['kind']}: {failure['message']}")
    raise kind(failure["message"], hint=failure["hint"], **failure["fields"])


class _Child:
    """A child process, which does one piece of work at a time."""

    def __init__(self) -> None:
        self.used_at = 0.0
        self._process: subprocess.Popen[bytes] | None = None
        self._is_killed = False

    def exchange(self, request: bytes) -> bytes | None:
        """Send a request and return the answer; None if the child died of it. Blocks."""
        process = self._process
        if process is None or process.poll() is not None:
            process = self._start()
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(len(request).to_bytes(_LENGTH_BYTES, "big") + request)
            process.stdin.flush()
            length = process.stdout.read(_LENGTH_BYTES)
            answer = process.stdout.read(int.from_bytes(length, "big"))
        except OSError:
            length = answer = b""
        if len(length) < _LENGTH_BYTES or len(answer) < int.from_bytes(length, "big"):
            self.close()
            return None
        return answer

    def kill(self) -> None:
        """End the child at once."""
        self._is_killed = True
        if self._process is not None:
            self._process.kill()

    def close(self) -> None:
        """End the child and wait for its end, which takes a moment."""
        self.kill()
        if self._process is not None:
            # Its pipe may be broken.
            with suppress(OSError), self._process:
                pass

    def _start(self) -> "subprocess.Popen[bytes]":
        command = (sys.executable, "-P", "-m", __name__)
        self._process = subprocess.Popen(  # noqa: S603 - our own program
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True
        )
        if self._is_killed:
            self._process.kill()
        return self._process


_idle: list[_Child] = []
# They only wait for their children.
_threads = ThreadPoolExecutor(_CORES, thread_name_prefix="scrubjay-workers")


@atexit.register
def close_idle() -> None:
    """End the children that wait for work."""
    while _idle:
        _idle.pop().close()


def _keep(child: _Child) -> None:
    """Keep a child for more work, for a while."""
    child.used_at = time.monotonic()
    _idle.append(child)

    def end() -> None:
        if child in _idle and time.monotonic() - child.used_at >= _IDLE_SECONDS:
            _idle.remove(child)
            child.close()

    asyncio.get_running_loop().call_later(_IDLE_SECONDS, end)


def main() -> None:
    """Do the work that arrives on standard input, piece by piece, until its end."""
    requests, answers = sys.stdin.buffer, os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    # Whatever a library prints must not become part of an answer.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    restrict_process()
    while length := requests.read(_LENGTH_BYTES):
        allow_cpu_seconds()
        reply = answer_request(requests.read(int.from_bytes(length, "big")))
        answers.write(len(reply).to_bytes(_LENGTH_BYTES, "big") + reply)
        answers.flush()


def restrict_process() -> None:
    """Limit the memory and the priority of this process, and forbid it to write files."""
    if sys.platform == "win32":
        return
    import resource  # noqa: PLC0415 - not available on Windows

    os.nice(_NICENESS)
    limits = [(resource.RLIMIT_FSIZE, 0)]
    with suppress(OSError):
        taken = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0]) * resource.getpagesize()
        limits.append((resource.RLIMIT_AS, taken + MEMORY_BYTES))
    for limit, value in limits:
        with suppress(ValueError, OSError):
            resource.setrlimit(limit, (value, value))


def allow_cpu_seconds() -> None:
    """Have the system end this process if its next piece of work takes too long."""
    if sys.platform == "win32":
        return
    import resource  # noqa: PLC0415 - not available on Windows

    used = resource.getrusage(resource.RUSAGE_SELF)
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_CPU, (int(used.ru_utime + used.ru_stime) + CPU_SECONDS, hard))


def answer_request(request: bytes) -> bytes:
    """Do one piece of work, and return its result or its error for the parent."""
    name, _, data = request.partition(b"\n")
    module, _, function = name.decode().partition(":")
    try:
        return _DONE + getattr(import_module(module), function)(data)
    except MemoryError:
        # Out of memory, this process can promise nothing any more.
        os._exit(1)
    except Exception as error:  # noqa: BLE001 - the edge of the process
        hint, fields = (error.hint, error.fields) if isinstance(error, ScrubjayError) else ("", {})
        message = error.message if isinstance(error, ScrubjayError) else str(error)
        failure = {"kind": type(error).__name__, "message": message, "hint": hint, "fields": fields}
        return json.dumps(failure).encode()


if __name__ == "__main__":
    main()
