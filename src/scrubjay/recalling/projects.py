"""The project counts: the caller's own facts come first, then those of no project, then those of others, marked.

A fact of another project that speaks of "this repository", "the service" or "we" means that one: it never answers here.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import field
from functools import lru_cache
from typing import Self

from scrubjay.lazy import dataclass
from scrubjay.model.memory import Memory
from scrubjay.model.query import facet
from scrubjay.model.ranking import Weights
from scrubjay.model.requests import RecallRequest

_WORD = re.compile(r"[^\W_]+")
# The path of a folder stands for the repository in it; `owner/name` is a name.
_PATH = re.compile(r"[/~.]|[a-z]:[\\/]|\\\\", re.IGNORECASE)
# Words that mean the project in which they are said.
_THINGS = (
    "app(?:lication)?|api|backend|build|code(?:base)?|frontend|library|module|package|pipeline|project|repo(?:sitory)?"
    "|service|site|system|team|worker|workspace"
)
_OWN_WORDS = re.compile(
    rf"\b(?:we|us|ours?|here|(?:this|the) (?:{_THINGS})|wir|uns|unser\w*|hier|nous|notre|nos|ici"
    r"|ce (?:d[ée]p[ôo]t|projet|service)|nosotr[oa]s|nuestr[oa]s?|aqu[ií]|este (?:repositorio|proyecto|servicio)|noi"
    r"|nostr[oaie]|n[óo]s|noss[oa]s?|wij|onze?|(?:dieses|dit) (?:projekt|project|repo\w*))\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectOrder:
    """How memories stand to the project of the caller, and to those that the question names.

    Without a project all are equal. `text` is the question.
    """

    project: str = ""
    text: str = ""
    _question: str = field(init=False, default="")

    def __post_init__(self) -> None:
        """Give the names the form in which they are compared."""
        object.__setattr__(self, "project", _key(self.project))
        object.__setattr__(self, "_question", _words(self.text))

    @classmethod
    def of(cls, question: RecallRequest) -> Self:
        """Return the order of a question; one that names its projects by a filter asks about those alone."""
        return cls(project="" if question.filter.project else question.from_project, text=question.query)

    def mark(self, memory: Memory) -> str:
        """Return the project of a memory, unless it is the caller's."""
        return "" if _key(memory.project) == self.project else memory.project

    def is_foreign(self, memory: Memory) -> bool:
        """Whether a memory is of another project than the caller's, and the question does not name that one."""
        return bool(self.project and self.mark(memory)) and not self._names(memory.project)

    def means_another(self, memory: Memory, text: str) -> bool:
        """Whether a text speaks of another project as its own, without the name of that project."""
        return (
            self.is_foreign(memory)
            and _OWN_WORDS.search(text) is not None
            and _words(_folder(memory.project)) not in _words(text)
        )

    def scores(self, memories: Iterable[Memory], weights: Weights) -> Mapping[str, float]:
        """Return what the project of each memory adds to its score, by the project."""
        projects = {memory.project for memory in memories}
        if not self.project:
            return dict.fromkeys(projects, 0.0)
        # A question that names other projects asks about those, and not about the caller's.
        first = {_key(project) for project in projects if self._names(project)} or {self.project}
        return {
            project: 0.0 if _key(project) in first
            else weights.general if _key(project) in ("", self.project)
            else weights.foreign
            for project in projects
        }  # fmt: skip

    def _names(self, project: str) -> bool:
        words = _words(_folder(project))
        return bool(words.strip()) and words in self._question


# Each hit has a project, and a space has few.
@lru_cache(maxsize=1_024)
def _key(project: str) -> str:
    return facet("", _folder(project)).removeprefix("=")


def _folder(project: str) -> str:
    """Return the name of a project, or of the folder whose path it is."""
    name = project.strip()
    return re.split(r"[\\/]+", name.rstrip("\\/"))[-1] if _PATH.match(name) else name


def _words(text: str) -> str:
    """Return the words of a text with a space on either side: `payout-worker` is found as `Payout Worker`."""
    return f" {' '.join(_WORD.findall(text.casefold()))} "
