"""Programs that run beside the memory: their limits, and what becomes of them."""

from dataclasses import field, fields
from typing import Self

from scrubjay.errors import InvalidInput
from scrubjay.lazy import dataclass
from scrubjay.model.memory import Json


def _limit(default: int, most: int) -> int:
    return field(default=default, metadata={"most": most})


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeLimits:
    """The limits of one program; `workers` is the number of programs that run at once."""

    seconds: int = _limit(30, 30)
    memory_mb: int = _limit(256, 500)
    calls: int = _limit(10_000, 100_000)
    sleep_seconds: int = _limit(5, 30)
    recursion: int = _limit(500, 1_000)
    source_kb: int = _limit(256, 1_000)
    output_kb: int = _limit(1_000, 10_000)
    workspace_kb: int = _limit(10_000, 100_000)
    workers: int = _limit(4, 64)

    def __post_init__(self) -> None:
        """Refuse limits that cannot work, or that are above what was found safe."""
        for limit in fields(self):
            value, most = getattr(self, limit.name), limit.metadata["most"]
            if not 1 <= value <= most:
                raise InvalidInput(f"the limit {limit.name} must be from 1 to {most:,}, not {value:,}")

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read limits such as `seconds=10,calls=500`; those that are left out keep their defaults."""
        values: dict[str, int] = {}
        names = [limit.name for limit in fields(cls)]
        for part in filter(None, (part.strip() for part in text.split(","))):
            name, _, number = (side.strip() for side in part.partition("="))
            if name not in names or not number.isdecimal():
                raise InvalidInput(f"{part[:60]!r} is not a limit", hint=f"Write NAME=NUMBER, of {', '.join(names)}")
            values[name] = int(number)
        return cls(**values)


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeResult:
    """What became of a program: the value of `result` or of its last line, what it printed, or its error.

    A result that exceeds the token budget is stored: `result` has its first part, `total` is the number of its items
    (of a list), entries (of an object) or characters, and `handle` with `next` as offset returns the next part. `run`
    names the changes that the program has made, for `undo`; `calls` counts its calls of the memory.
    """

    success: bool
    result: Json = None
    stdout: str = ""
    error: str = ""
    hint: str = ""
    line: int | None = None
    execution_time_ms: float = 0.0
    memory_used_mb: float = 0.0
    calls: int = 0
    run: str = ""
    handle: str = ""
    total: int | None = None
    next: int | None = None

    @property
    def ok(self) -> bool:
        """Whether the program succeeded, for exit codes."""
        return self.success
