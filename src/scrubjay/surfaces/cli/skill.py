"""`scrubjay skill`: save, show, change and run procedures."""

import json
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from scrubjay.client import MemoryClient
from scrubjay.errors import InvalidInput
from scrubjay.lazy import dataclass
from scrubjay.model.requests import (
    ListSkillsRequest,
    LoadSkillRequest,
    RunSkillRequest,
    SaveSkillRequest,
)
from scrubjay.model.skill import SavedSkill, Skill
from scrubjay.surfaces.cli.command import Make, plain, verb
from scrubjay.surfaces.cli.console import align, shorten
from scrubjay.surfaces.cli.options import read_stdin

app = typer.Typer()
skill_app = typer.Typer(help="Procedures that can be run.", no_args_is_help=True)
app.add_typer(skill_app, name="skill")

_HEAD = ("SKILL", "RUNS", "MEAN", "SUCCESS", "STATE", "DESCRIPTION")
_MAX_CELL = 60
_FILE = Annotated[
    Path | None,
    typer.Option("--file", "-f", metavar="FILE", help="File with the Python source; `-` reads standard input."),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillTable:
    """Skills, one a line."""

    skills: tuple[Skill, ...]

    def __str__(self) -> str:
        rows = [
            (
                skill.signature, f"{skill.runs:,}", "-" if skill.mean_ms is None else f"{skill.mean_ms:,.1f} ms",
                "-" if skill.success_rate is None else f"{skill.success_rate:.0%}", _state(skill),
                shorten(skill.description, limit=_MAX_CELL),
            )
            for skill in self.skills
        ]  # fmt: skip
        return "\n".join(align([_HEAD, *rows])) if rows else "no skills"


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillView:
    """One skill with its source."""

    skill: Skill

    def __str__(self) -> str:
        return "\n".join(_lines(self.skill))


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedView:
    """What became of a skill that was saved."""

    saved: SavedSkill

    def __str__(self) -> str:
        saved = self.saved
        state = " as a draft" if saved.draft else ""
        lines = [f"{saved.action} {saved.signature}, version {saved.version}{state}"]
        return "\n".join([*lines, *(f"warning: {warning}" for warning in saved.warnings)])


@verb(skill_app, begins=True, omits=("source",))
async def save(client: MemoryClient, make: Make[SaveSkillRequest], *, file: _FILE = None) -> SavedView:
    """Save a function as a skill, after it was run with its example.

    What the example writes is stored; `undo` takes it back.
    """
    return SavedView(saved=await client.call(make(source=_read_source(file))))


@verb(skill_app, name="edit", omits=("source", "from_memory"))
async def edit(client: MemoryClient, make: Make[SaveSkillRequest], *, file: _FILE = None) -> SavedView:
    """Change a skill; the previous state stays as a version.

    Options that you leave out keep their values. `scrubjay skill show NAME --source` prints the source to change.
    """
    request = make(source=_read_source(file))
    if not (request.source or request.description or request.tags or request.example is not None):
        raise InvalidInput("say what to change", hint="Give --file, --description, --tag or --example")
    skill = await client.load_skill(request.name)
    version = request.expected_version or skill.version
    return SavedView(saved=await client.call(replace(request, name=skill.name, expected_version=version)))


@verb(skill_app)
async def show(
    client: MemoryClient,
    make: Make[LoadSkillRequest],
    *,
    source: Annotated[bool, typer.Option("--source", help="Print only the source.")] = False,
) -> SkillView | str:
    """Show a skill with its source."""
    skill = await client.call(make())
    return skill.source if source else SkillView(skill=skill)


plain(
    skill_app,
    ListSkillsRequest,
    """List the skills with their runs, mean time and success rate.

    A skill is marked as failing if three or more of its last ten runs failed.
    """,
    shown=lambda skills: SkillTable(skills=skills),
)
plain(skill_app, RunSkillRequest, "Run a skill, and print what it returns.")


def _state(skill: Skill) -> str:
    return "failing" if skill.failing else "draft" if skill.draft else "-"


def _lines(skill: Skill) -> Iterator[str]:
    state = "" if _state(skill) == "-" else f", {_state(skill)}"
    yield f"{skill.signature}  version {skill.version}{state}"
    if skill.tags:
        yield f"tags: {', '.join(skill.tags)}"
    if skill.runs:
        yield f"runs: {skill.runs:,}, {skill.mean_ms:,.1f} ms each, {skill.success_rate:.0%} successful"
    if skill.example is not None:
        yield f"example: {json.dumps(skill.example, ensure_ascii=False)}"
    yield from ("", skill.description, "", skill.source)


def _read_source(file: Path | None) -> str:
    if file is None:
        return ""
    if str(file) == "-":
        return "" if sys.stdin is None else read_stdin()
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise InvalidInput(
            f"{file} cannot be read: {why}", hint="Check the path; - reads standard input", path=str(file)
        ) from None
