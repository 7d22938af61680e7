"""The verbs of skills: save, list, load and run them."""

from collections.abc import Mapping
from dataclasses import field
from typing import Annotated

from scrubjay.lazy import dataclass
from scrubjay.model.arguments import Arg, Request
from scrubjay.model.code import CodeResult
from scrubjay.model.memory import Json
from scrubjay.model.query import LABEL
from scrubjay.model.skill import SavedSkill, Skill

__all__ = ["ListSkillsRequest", "LoadSkillRequest", "RunSkillRequest", "SaveSkillRequest"]

_SOURCE = "def count_kind(kind: str):\n    return len(search_nodes(kind, limit=10000))"
SkillName = Annotated[str, Arg("Name of the skill.", example="count_kind", length=LABEL, positional=True)]
Tags = Annotated[tuple[str, ...], Arg("Tag; repeatable.", length=LABEL, items=64, flags="--tag -t")]


@dataclass(frozen=True, slots=True, kw_only=True)
class SaveSkillRequest(Request[SavedSkill]):
    """Save a function as a skill, or the next version of one, after it was run with its example.

    The example is run for real: what it writes is stored.
    """

    name: Annotated[
        str,
        Arg(
            "Name, which is that of the function.",
            example="count_kind",
            brief="that of the function",
            length=LABEL,
            positional=True,
        ),
    ]
    source: Annotated[
        str,
        Arg(
            "Python source that defines the function. Default: that of the present version.",
            example=_SOURCE,
            brief="Python that defines the function",
        ),
    ] = ""
    description: Annotated[
        str,
        Arg(
            "What it does, by which `recall` finds it. Default: the documentation of the function.",
            example="Count the memories of a kind",
            brief="recall finds it by this",
            length=20_000,
        ),
    ] = ""
    tags: Tags = ()
    example: Annotated[
        Mapping[str, Json] | None,
        Arg("Arguments to try it with, by name.", example={"kind": "decision"}, brief="arguments to try it with"),
    ] = None
    draft: Annotated[bool, Arg("Save it without running it.", brief="do not run it")] = False
    from_memory: Annotated[
        str,
        Arg(
            "Id or name of a procedure in words, such as curation makes, that becomes this skill. Without a source the "
            "skill returns its steps.",
            brief="procedure in words that becomes this skill",
            length=LABEL,
            metavar="MEMORY",
        ),
    ] = ""
    expected_version: Annotated[
        int | None, Arg("Refuse to save if the skill is at another version.", minimum=1)
    ] = None  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class ListSkillsRequest(Request[tuple[Skill, ...]]):
    """Return the skills with their runs, mean time and success rate; those whose runs fail are marked."""

    query: Annotated[
        str, Arg("What it should do; without it, the latest first.", length=10_000, positional=True, is_searched=True)
    ] = ""
    tags: Tags = ()
    limit: Annotated[int, Arg("Maximum number of skills.", maximum=1_000, flags="--limit -n")] = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadSkillRequest(Request[Skill]):
    """Return a skill with its source."""

    name: SkillName


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSkillRequest(Request[CodeResult]):
    """Run a skill, and return what it computed."""

    name: SkillName
    arguments: Annotated[
        Mapping[str, Json],
        Arg("Its arguments, by name.", example={"kind": "decision"}, flags="--args", metavar="JSON"),
    ] = field(default_factory=dict[str, Json])
    max_tokens: Annotated[
        int, Arg("Token budget of the result; what does not fit is stored.", maximum=100_000)
    ] = 2000  # fmt: skip
