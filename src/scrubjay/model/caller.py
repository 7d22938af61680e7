"""Who calls, and in which space."""

from dataclasses import dataclass

from scrubjay.errors import InvalidInput
from scrubjay.model.checks import require_text, require_texts


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """The agent that calls, and its space. `run` names a series of calls that `undo` takes back together.

    Reads include the spaces in `also`; writes go to `space` alone.
    """

    space: str = "default"
    agent: str = ""
    run: str = ""
    also: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Refuse names that a store cannot hold."""
        for name in ("space", "agent", "run"):
            require_text(getattr(self, name), field=name)
        if not self.space.strip():
            raise InvalidInput("a space needs a name", hint="The default is `default`", field="space")
        require_texts(self.also, field="also")
        if "*" in self.spaces:
            raise InvalidInput("* means all spaces and cannot be the name of one", hint="Name one space", field="space")

    @property
    def spaces(self) -> tuple[str, ...]:
        """The spaces it reads, its own first."""
        return tuple(dict.fromkeys((self.space, *self.also)))
