"""Skills: procedures that can be run. A skill is a memory whose text ends with its source."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from hashlib import sha256
from typing import Self, cast

from scrubjay.errors import InvalidInput
from scrubjay.lazy import dataclass
from scrubjay.model.document import Document
from scrubjay.model.memory import Json, Memory
from scrubjay.model.timestamps import parse_moment, to_iso

KIND = "skill"
"""The kind of a memory that is a skill."""
METADATA = "skill"
"""The key under which its metadata has what belongs to the skill."""
RUNS = "skill-runs"
"""The collection of documents that count the runs of skills; counting makes no version."""

_BACKTICKS = re.compile(r"`{3,}")
_FENCE = re.compile(r"`{3,}\s*")
_DIGEST_LENGTH = 16
# It fails if so many of its last runs did: one failure may be the fault of its arguments.
_RECENT = 10
_FAILURES = 3
_TYPES: dict[str, tuple[type, ...]] = {
    "str": (str,), "int": (int,), "float": (int, float), "bool": (bool,), "list": (list, tuple), "dict": (dict,),
}  # fmt: skip
_IN_WORDS = {
    "str": "a text", "int": "a whole number", "float": "a number", "bool": "true or false", "list": "a list",
    "dict": "an object",
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillParameter:
    """A parameter of a skill: its annotation and its default as the source has them; without a default it is needed."""

    name: str
    type: str = ""
    default: str = ""

    def __str__(self) -> str:
        named = f"{self.name}: {self.type}" if self.type else self.name
        return f"{named} = {self.default}" if self.default else named

    def check(self, value: object) -> None:
        """Raise InvalidInput for a value that is not of the type of the annotation, if that is a plain one."""
        expected = self.type.partition("[")[0].strip()
        is_wrong = expected in _TYPES and not isinstance(value, _TYPES[expected])
        # For Python a boolean is a number.
        if is_wrong or (isinstance(value, bool) and expected in ("int", "float")):
            raise InvalidInput(
                f"{self.name} must be {_IN_WORDS[expected]}, not {type(value).__name__}", field="arguments"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillRuns:
    """What is counted of the runs of a skill; `recent` has a sign for each of the last ones of its present source."""

    space: str
    memory_id: str
    digest: str = ""
    runs: int = 0
    failures: int = 0
    total_ms: float = 0.0
    recent: str = ""
    last_run: datetime | None = None
    version: int = 0

    def with_run(self, *, success: bool, milliseconds: float, digest: str, at: datetime) -> Self:
        """Return the counts after one more run of a source."""
        recent = self.recent if digest == self.digest else ""
        return replace(
            self, digest=digest, runs=self.runs + 1, failures=self.failures + (not success),
            total_ms=self.total_ms + milliseconds, recent=(recent + ("+" if success else "-"))[-_RECENT:], last_run=at,
        )  # fmt: skip

    def is_failing(self, digest: str) -> bool:
        """Whether the success rate of a source has fallen: of its last ten runs three or more failed."""
        return digest == self.digest and self.recent.count("-") >= _FAILURES

    def document(self, *, at: datetime) -> Document:
        """Return the document that stores it; a purge of the memory deletes it."""
        value: dict[str, Json] = {
            "about": {"memory_id": self.memory_id}, "digest": self.digest, "runs": self.runs,
            "failures": self.failures, "total_ms": self.total_ms, "recent": self.recent,
            "last_run": None if self.last_run is None else to_iso(self.last_run),
        }  # fmt: skip
        return Document(
            space=self.space, collection=RUNS, key=self.memory_id, value=value, version=self.version or 1, at=at
        )

    @classmethod
    def from_document(cls, document: Document) -> Self:
        """Read stored counts."""
        value, last_run = document.value, document.value["last_run"]
        return cls(
            space=document.space, memory_id=document.key, digest=str(value["digest"]), runs=cast("int", value["runs"]),
            failures=cast("int", value["failures"]), total_ms=cast("float", value["total_ms"]),
            recent=str(value["recent"]), version=document.version,
            last_run=None if last_run is None else parse_moment(str(last_run), field="last_run"),
        )  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Skill:
    """A skill. `draft`: its present source was not tried with the example; `failing`: its success rate has fallen.

    In a list it has no source.
    """

    id: str
    name: str
    version: int
    description: str
    parameters: tuple[SkillParameter, ...] = ()
    tags: tuple[str, ...] = ()
    # The arguments of the example.
    example: Mapping[str, Json] | None = None
    draft: bool = False
    failing: bool = False
    runs: int = 0
    mean_ms: float | None = None
    success_rate: float | None = None
    last_run: datetime | None = None
    source: str = ""

    @property
    def signature(self) -> str:
        """How it is called."""
        return f"{self.name}({', '.join(map(str, self.parameters))})"

    @property
    def digest(self) -> str:
        """The digest of its source."""
        return digest_of(self.source)

    def require_arguments(self, arguments: Mapping[str, Json]) -> None:
        """Raise InvalidInput for arguments that are missing, unknown or of the wrong type."""
        parameters = {parameter.name: parameter for parameter in self.parameters}
        for name, value in arguments.items():
            if name not in parameters:
                raise InvalidInput(
                    f"{self.name} has no parameter {name[:100]!r}", hint=f"It is called as {self.signature}",
                    field="arguments",
                )  # fmt: skip
            parameters[name].check(value)
        for name, parameter in parameters.items():
            if name not in arguments and not parameter.default:
                raise InvalidInput(
                    f"{self.name} needs {name}", hint=f"It is called as {self.signature}", field="arguments"
                )

    def with_runs(self, runs: SkillRuns | None) -> Self:
        """Return it with what was counted of its runs."""
        if runs is None or not runs.runs:
            return self
        return replace(
            self, runs=runs.runs, mean_ms=round(runs.total_ms / runs.runs, 2), last_run=runs.last_run,
            success_rate=round(1 - runs.failures / runs.runs, 3), failing=runs.is_failing(self.digest),
        )  # fmt: skip

    @classmethod
    def of_memory(cls, memory: Memory) -> Self | None:
        """Return the skill of a memory; None for one that is no skill, or has no source any more."""
        description, source = split_content(memory.content)
        about = memory.metadata.get(METADATA)
        if memory.kind != KIND or not source or not isinstance(about, dict):
            return None
        example, listed = about.get("example"), about.get("parameters")
        return cls(
            id=memory.id, name=memory.name, version=memory.version, description=description, tags=memory.tags,
            parameters=tuple(_parameters(listed if isinstance(listed, list) else [])), source=source,
            example=example if isinstance(example, dict) else None,
            draft=about.get("tried") != digest_of(source),
        )  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedSkill:
    """The result of `save_skill`: `created`, `updated` or `unchanged`; `result` is what its example returned."""

    action: str
    id: str
    name: str
    version: int
    signature: str = ""
    draft: bool = False
    result: Json = None
    warnings: tuple[str, ...] = ()


def is_skill(memory: Memory) -> bool:
    """Whether a memory is a skill; others may have its kind, such as what a person can do."""
    return memory.kind == KIND and isinstance(memory.metadata.get(METADATA), dict)


def compose_content(description: str, source: str) -> str:
    """Return the text of a skill: its description, and its source as a block of code."""
    longest = max((len(run) for run in _BACKTICKS.findall(source)), default=2)
    fence = "`" * (longest + 1)
    return f"{description.strip()}\n\n{fence}python\n{source}\n{fence}"


def split_content(content: str) -> tuple[str, str]:
    """Return the description and the source of the text of a skill: its last block of code; empty without one."""
    lines = content.split("\n")
    end = next((number for number in range(len(lines) - 1, 0, -1) if _FENCE.fullmatch(lines[number])), 0)
    opening = f"{lines[end].rstrip()}python"
    # The source has no fence of this length: the nearest opening is its own.
    for number in range(end - 1, -1, -1):
        if lines[number].rstrip() == opening:
            return "\n".join(lines[:number]).strip(), "\n".join(lines[number + 1 : end])
    return content.strip(), ""


def digest_of(source: str) -> str:
    """Return a short digest, by which a source is known again."""
    return sha256(source.encode()).hexdigest()[:_DIGEST_LENGTH]


def skill_metadata(
    source: str, parameters: Sequence[SkillParameter], *, example: Mapping[str, Json] | None, is_tried: bool
) -> dict[str, Json]:
    """Return what the metadata of a skill says about its source."""
    listed: list[Json] = [
        {"name": each.name, "type": each.type, "default": each.default} for each in parameters
    ]  # fmt: skip
    tried = digest_of(source) if is_tried else ""
    return {"parameters": listed, "example": None if example is None else dict(example), "tried": tried}


def _parameters(listed: Sequence[Json]) -> list[SkillParameter]:
    return [
        SkillParameter(
            name=str(each.get("name", "")), type=str(each.get("type", "")), default=str(each.get("default", ""))
        )
        for each in listed
        if isinstance(each, dict)
    ]
