"""Whole memories within a budget: one after the other, a long one cut at a sensible place and gone on with later."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from scrubjay.errors import InvalidInput, NotFound
from scrubjay.model.memory import Json, Memory
from scrubjay.model.results import Missing, ReadResult
from scrubjay.rpc.codec import to_json
from scrubjay.surfaces.mcp.budget import cost_of, cut, lean
from scrubjay.surfaces.mcp.cursors import foreign, pack
from scrubjay.surfaces.mcp.tool import Answer, ToolContext

# Less room than this is not worth beginning another memory in.
_LEAST = 60
# What the note about a cut and the cursor cost.
_NOTE = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """How memories are to be told, and as they are on which branch, in which version, or were at what time."""

    format: str = "markdown"
    version: int | None = None
    branch: str = ""
    as_of: str | None = None


class Pages:
    """Fills an answer with memories until its room is used up."""

    def __init__(self, room: int) -> None:
        self._room = room - _NOTE
        self._memories: list[Json] = []
        self._missing: list[Json] = []
        self._lines: list[str] = []
        self._cursor = ""

    async def fill(
        self, context: ToolContext, refs: Sequence[str], *, place: Sequence[str | int], shown: Shown
    ) -> None:
        """Read one reference after the other from a place on: (which reference, from which character, its version)."""
        first, start, seen = cast("tuple[int, int, int]", tuple(place))
        if not refs:
            raise InvalidInput("say what to read: ids, names or titles", field="ids")
        if not 0 <= first < len(refs):
            raise foreign()
        for number in range(first, len(refs)):
            if number > first and self._room < _LEAST:
                self._cursor = pack(number, 0, 0)
                return
            found = await _read(context, refs[number], shown, alone=len(refs) == 1)
            for missing in found.missing:
                self._miss(missing)
            for memory, text in zip(found.memories, found.texts, strict=True):
                _require_unchanged(memory, text, start=start, seen=seen)
                end = self._show(memory, text, start)
                if end < len(text):
                    self._cursor = pack(number, end, memory.version)
                    return
            start, seen = 0, 0

    def answer(self) -> Answer:
        """All that was read."""
        structured: dict[str, Json] = {"memories": self._memories}
        structured |= lean({"missing": self._missing, "cursor": self._cursor})
        more = [f'(more with cursor "{self._cursor}")'] if self._cursor else []
        return Answer(structured=structured, text="\n".join([*self._lines, *more]))

    def _miss(self, missing: Missing) -> None:
        near = f": did you mean {' or '.join(missing.suggestions)}?" if missing.suggestions else ""
        near = f": {missing.why}" if missing.why else near
        line = f"Nobody answers to {missing.ref[:100]!r}{near}"
        told = cast("dict[str, Json]", to_json(missing)) | {"ref": missing.ref[:100]}
        if not missing.why:
            del told["why"]
        self._lines.append(line)
        self._missing.append(told)
        self._room -= cost_of(line, told)

    def _show(self, memory: Memory, text: str, start: int) -> int:
        """Show a memory from a character on; returns where it ends."""
        head: dict[str, Json] = {"id": memory.id, "name": memory.name, "version": memory.version}
        room = self._room - cost_of("", head) - 20
        end, each = start, max(room // 2, 10)
        while True:
            end = cut(text, start=start, tokens=each)
            shown = text[start:end]
            if each <= 10 or cost_of(shown, {"text": shown}) <= room:  # noqa: PLR2004 - something must be shown
                break
            each -= max(1, each // 5)
        structured: dict[str, Json] = {**head, "text": shown}
        if start or end < len(text):
            structured |= {"from": start, "to": end, "of": len(text)}
            shown += f"\n(characters {start:,} to {end:,} of {len(text):,})"
        self._memories.append(structured)
        self._lines.append(shown)
        self._room -= cost_of(shown, structured)
        return end


async def _read(context: ToolContext, ref: str, shown: Shown, *, alone: bool) -> ReadResult:
    """One memory; of several, one that is not there as it is wanted is missing as one that is not there at all."""
    try:
        return await context.memory.read(
            ref, format=shown.format, version=shown.version, branch=shown.branch, as_of=shown.as_of
        )
    except NotFound as error:
        if alone:
            raise
        return ReadResult(memories=(), missing=(Missing(ref=ref, why=error.message),))


def _require_unchanged(memory: Memory, text: str, *, start: int, seen: int) -> None:
    if not start:
        return
    if start > len(text):
        raise foreign()
    if seen != memory.version:
        raise InvalidInput(
            f"{memory.name!r} has changed since the cursor was made",
            hint="Read it again without a cursor",
            field="cursor",
        )
