"""One program: it runs in a worker, and stops wherever it calls the memory until it has its answer."""

import asyncio
import time
from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any, cast

from scrubjay.code.functions import HostError, unknown_name
from scrubjay.code.library import HOST, MODULES, PRELUDE, STATISTICS, TYPE, Library
from scrubjay.code.pool import MemoryGauge, WorkerPool
from scrubjay.code.values import NotJson, function_name, no_json, plain_in_background, shown_function
from scrubjay.errors import ScrubjayError
from scrubjay.lazy import dataclass
from scrubjay.model.code import CodeLimits
from scrubjay.model.memory import Json

if TYPE_CHECKING:
    from pydantic_monty import AsyncFunctionSnapshot, AsyncMontySession, AsyncSnapshot, MontyError

# The prelude is the first part that a worker gets, and the program the second.
_PROGRAM = "<python-input-1>"
_KILOBYTE = 1024
# The interpreter ends a program by itself, and says so better than we could.
_SLACK_SECONDS = 2.0
_SLEEP, _IMPORT = "system.sleep", "import"
_MAX_CALLED = 100
_DEEP = "<deeply nested>"
_STILL = "is still being completed"
_TIME_LIMIT = "feed time limit exceeded"
_NO_MACHINE = "programs cannot reach the machine; for files use read_file and write_file"
_HINTS = (
    ("cannot suspend in this synchronous context",
     "Call functions of the memory in a loop or a comprehension, not in map, filter, max or a sort key"),
    ("can't be awaited", "Call functions of the memory without await"),
    ("programs cannot use", "Write it in simpler Python: there are no generators and no inheritance"),
    ("ModuleNotFoundError", f"There are {', '.join(MODULES)}"),
    (_STILL, "Do not write it again: see later what is stored, or take it back with `undo`. Pass shorter lists"),
    ("took longer than", "Do less in one program: ask for less, and pass shorter lists"),
    ("at its time limit", "Compute with smaller numbers and texts"),
    ("suspension limit", "Use functions that end in _many, which take a list"),
    ("memory limit", "Keep less at a time: filter what you read, and return counts and samples"),
    ("sleep limit", "Do not wait in programs"),
    ("No module named", f"There are {', '.join(MODULES)}"),
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Execution:
    """What became of a program, before its result is made to fit."""

    value: Json = None
    stdout: str = ""
    error: str = ""
    hint: str = ""
    line: int | None = None
    milliseconds: float = 0.0
    memory_mb: float = 0.0


class _Failure(Exception):
    """The end of a program that failed."""

    def __init__(self, error: str, *, line: int | None = None) -> None:
        super().__init__(error)
        self.error = error
        self.line = line


class _Printed:
    """What a program prints, up to a limit."""

    def __init__(self, most: int) -> None:
        self._left = most
        self._parts: list[str] = []

    def __call__(self, stream: str, text: str) -> None:
        del stream  # Both are for the same reader.
        self._parts.append(text[: self._left])
        self._left = max(0, self._left - len(text))

    @property
    def text(self) -> str:
        return "".join(self._parts)


async def execute(
    code: str, *, variables: Mapping[str, Json], library: Library, pool: WorkerPool, now: datetime | None
) -> Execution:
    """Run a program. Whatever it does, it ends: with a value or an error, within its limits."""
    from pydantic_monty import ExternalModule  # noqa: PLC0415 - few processes run programs

    printed = _Printed(pool.limits.output_kb * _KILOBYTE)
    modules = {"statistics": ExternalModule({name: _placeholder(f"statistics.{name}") for name in STATISTICS})}
    value: Json = None
    failure: _Failure | None = None
    async with pool.session(now=now, modules=modules) as session:
        program = _Program(session, library, printed=printed, limits=pool.limits)
        await session.feed_run(PRELUDE, print_callback=printed)
        gauge = MemoryGauge(session.worker_pid)
        began = time.perf_counter()
        try:
            async with asyncio.timeout(pool.limits.seconds + _SLACK_SECONDS):
                value = await program.run(code, variables)
        except TimeoutError:
            failure = _Failure(program.took_longer())
        except _Failure as error:
            failure = error
        elapsed = time.perf_counter() - began
        memory = gauge.peak_mb()
    return Execution(
        value=value, stdout=printed.text, error=failure.error if failure else "",
        hint=_hint(failure.error) if failure else "", line=failure.line if failure else None,
        milliseconds=round(elapsed * 1000, 3), memory_mb=round(memory, 3),
    )  # fmt: skip


class _Program:
    """A program in a worker."""

    def __init__(
        self, session: "AsyncMontySession", library: Library, *, printed: _Printed, limits: CodeLimits
    ) -> None:  # fmt: skip
        self._session = session
        self._library = library
        self._printed = printed
        self._most = limits.output_kb * _KILOBYTE
        self._seconds = limits.seconds
        # Where a program was when it last called a function, for the errors that name no line.
        self._code = b""
        self._last_call: tuple[str, int] | None = None

    async def run(self, code: str, variables: Mapping[str, Json]) -> Json:
        """Return the value of `result`, else that of the last line; raises _Failure."""
        from pydantic_monty import MontyError  # noqa: PLC0415

        self._code = code.encode("utf-8", "replace")
        try:
            last = await self._drive(code, variables)
            result = await self._drive("result", {})
            value = last.output if result.output is None else result.output
            if isinstance(value, str):
                await self._require_text(value, "result" if result.output is not None else _last_line(code))
            return await plain_in_background(value, most=self._most, is_result=True)
        except NotJson as error:
            raise _Failure(f"ValueError: the result cannot be returned: {error}") from None
        except MontyError as error:
            text = self.took_longer() if _TIME_LIMIT in str(error) else _message(error)
            raise _Failure(text, line=_line(error)) from None
        except ValueError as error:
            # A number with thousands of digits, or a value that contains itself.
            raise _Failure(f"ValueError: the result cannot be returned: {error}") from None

    def took_longer(self) -> str:
        """Return the error of a program that took too long: the interpreter does not tell where it was."""
        where = "it had called no function"
        if self._last_call:
            name, start = self._last_call
            line = self._code.count(b"\n", 0, start) + 1
            where = f"the last call was {name} in line {line}"
        if self._library.unfinished:
            where += f", and {self._library.unfinished} {_STILL}"
        return f"TimeoutError: the program took longer than {self._seconds} s; in which line is not known, {where}"

    def _note_call(self, at: "AsyncFunctionSnapshot") -> None:
        if at.position.filename == _PROGRAM:
            self._last_call = (function_name(str(at.function_name))[:_MAX_CALLED], at.position.start)

    async def _require_text(self, value: str, name: str) -> None:
        """Refuse what is no text inside: the interpreter gives functions, modules and classes out as one.

        The type is that of a variable, since nothing of a program is computed twice.
        """
        kind = await self._drive(f"{TYPE}({name}).__name__", {}) if name.isidentifier() else None
        if kind is not None and kind.output != "str":
            raise no_json(value)

    async def _drive(self, code: str, variables: Mapping[str, Json]) -> Any:
        """Run a part to its end, and answer each of its calls."""
        from pydantic_monty import AsyncFunctionSnapshot, AsyncNameLookupSnapshot, MontyComplete  # noqa: PLC0415

        at: AsyncSnapshot = await self._session.feed_start(
            code, inputs=dict(variables), print_callback=self._printed
        )  # fmt: skip
        while not isinstance(at, MontyComplete):
            if isinstance(at, AsyncFunctionSnapshot):
                at = await self._answer(at)
            elif isinstance(at, AsyncNameLookupSnapshot):
                name = at.variable_name.removeprefix(HOST)
                at = await (at.resume(value=_placeholder(name)) if self._library.has(name) else at.resume())
            else:
                raise _Failure("RuntimeError: programs cannot wait for several calls at once")
        return at

    async def _answer(self, at: "AsyncFunctionSnapshot") -> "AsyncSnapshot":
        name = function_name(str(at.function_name))
        self._note_call(at)
        if at.is_os_function:
            if name == _IMPORT:
                return await at.resume_auto()
            if name == _SLEEP:
                # The interpreter has checked that the program may still sleep that long.
                await asyncio.sleep(float(at.args[0]))
                return await at.resume({"return_value": None})
            return await at.resume({"exc_type": "PermissionError", "message": _NO_MACHINE})
        try:
            # Both sides see plain data alone, of limited size, whatever the program has passed.
            passed = await plain_in_background([list(at.args), at.kwargs], most=self._most)
            args, kwargs = cast("tuple[list[Json], dict[str, Json]]", passed)
            if _DEEP in (*args, *kwargs.values()):
                # Near its limit the interpreter passes this in the place of every value.
                return await at.resume({"exc_type": "RecursionError", "message": "maximum recursion depth exceeded"})
            return await at.resume({"return_value": await self._library.call(name, args, kwargs)})
        except (NotJson, ValueError, RecursionError) as error:
            return await at.resume({"exc_type": "ValueError", "message": f"an argument of {name[:100]}: {error}"})
        except HostError as error:
            return await at.resume({"exc_type": cast("Any", error.kind), "message": error.message})
        except ScrubjayError as error:
            return await at.resume({"exc_type": "RuntimeError", "message": error.message})


def _last_line(code: str) -> str:
    return code.rstrip().rpartition("\n")[2].strip()


def _placeholder(name: str) -> Any:
    def function() -> None:
        raise NameError(unknown_name(name, ()))

    function.__name__ = function.__qualname__ = shown_function(name)
    return function


def _message(error: "MontyError") -> str:
    """Return an error as Python shows it, without the words of the interpreter about itself."""
    from pydantic_monty import MontyCrashedError, MontySyntaxError  # noqa: PLC0415

    if isinstance(error, MontyCrashedError):
        reason = (
            "it did not stop at its time limit, in a line that is not known"
            if error.timed_out
            else "it took too much memory, or crashed"
        )
        return f"RuntimeError: the worker of the program was ended, because {reason}"
    text = str(error)
    if isinstance(error, MontySyntaxError):
        return f"SyntaxError: {text}"
    return text.replace("The monty syntax parser does not yet support", "programs cannot use")


def _line(error: "MontyError") -> int | None:
    """Return the line of the program at which an error was raised, the innermost one."""
    traceback = cast("Any", getattr(error, "traceback", list))
    lines: list[int] = [frame.line for frame in traceback() if frame.filename == _PROGRAM]
    return lines[-1] if lines else None


def _hint(error: str) -> str:
    return next((hint for sign, hint in _HINTS if sign in error), "")
