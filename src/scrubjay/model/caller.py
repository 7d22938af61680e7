"""Who calls, in which space, and what they may do: callers, and the grants of tokens that they come from."""

from dataclasses import replace
from datetime import datetime
from enum import StrEnum

from scrubjay.errors import InvalidInput, NotAllowed
from scrubjay.lazy import dataclass
from scrubjay.model.checks import name_problem, normal_name, require_text, require_texts

ALL_SPACES = "*"
"""Means all spaces."""


class Access(StrEnum):
    """The level of access, the lowest first. Each includes those before it, except that none includes metrics.

    `agent` writes memories, as an agent: it decides nothing for the owner, and cannot write with the user's trust.
    `owner` is the owner of the data, on the machine of the store; no token has it.
    """

    METRICS = "metrics"
    READ = "read"
    AGENT = "agent"
    WRITE = "write"
    OWNER = "owner"

    def require(self, needed: "Access", *, verb: str) -> None:
        """Raise NotAllowed if a verb needs a higher level than this one: every surface calls this, and nothing else."""
        if _LEVELS.index(self) < _LEVELS.index(needed):
            need, hint = _NEEDS[needed]
            message = f"{verb} {need}" if needed is Access.OWNER else f"{verb} {need}, and you may only {_MAY[self]}"
            raise NotAllowed(message, hint=hint, verb=verb)


_LEVELS = tuple(Access)
TOKEN_LEVELS = _LEVELS[:-1]
"""The levels that a token may have."""
_MAY = {
    Access.METRICS: "read its metrics",
    Access.READ: "read it",
    Access.AGENT: "remember, revise, relate and forget",
    Access.WRITE: "write",
}
_NEEDS = {
    Access.READ: ("reads the memory", "Ask for a token that may read"),
    Access.AGENT: ("is for those who change the memory", "Ask for a token that may write"),
    Access.WRITE: ("changes or decides what no agent should", "Ask the owner to do it, or for a token that may write"),
    Access.OWNER: (
        "is only for the owner of the data, and not available over HTTP",
        "Run it on the machine itself: `scrubjay --help`",
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """The agent that calls, and its space. `run` names a series of calls that `undo` takes back together.

    Reads include the spaces in `also`; writes go to `space` alone. `any_space`: it may use every space, so that it may
    also name a new one. `sees_paths`: it may learn where the files of the store are; the holder of a token may not.
    """

    space: str = "default"
    agent: str = ""
    run: str = ""
    also: tuple[str, ...] = ()
    access: Access = Access.OWNER
    any_space: bool = True
    sees_paths: bool = True

    def __post_init__(self) -> None:
        """Give spaces the form of their names, and refuse names that a store cannot hold."""
        for name in ("space", "agent", "run"):
            require_text(getattr(self, name), field=name)
        object.__setattr__(self, "space", normal_name(self.space))
        object.__setattr__(self, "also", tuple(map(normal_name, require_texts(self.also, field="also"))))
        if not self.space:
            raise InvalidInput("a space needs a name", hint="The default is `default`", field="space")
        for space in self.spaces:
            if problem := name_problem(space):
                raise InvalidInput(f"the space {space[:100]!r} {problem}", hint="Check its name", field="space")
        if ALL_SPACES in self.spaces:
            raise InvalidInput("* means all spaces and cannot be the name of one", hint="Name one space", field="space")

    @property
    def spaces(self) -> tuple[str, ...]:
        """The spaces it reads, its own first."""
        return tuple(dict.fromkeys((self.space, *self.also)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """The rights of one caller. Requests go to the first space unless they name another.

    `id` names the token in limits and logs; empty means the owner of the data. A limit of 0 means the server's own.
    `mcp_only`: it is valid for MCP alone. `trusted_imports`: what it imports keeps its trust and its pins.
    """

    spaces: tuple[str, ...] = (ALL_SPACES,)
    access: Access = Access.WRITE
    id: str = ""
    name: str = ""
    requests_per_minute: int = 0
    body_bytes: int = 0
    expires_at: datetime | None = None
    mcp_only: bool = False
    trusted_imports: bool = False

    @property
    def allows_all_spaces(self) -> bool:
        """Whether the caller may use every space."""
        return ALL_SPACES in self.spaces

    @property
    def named_spaces(self) -> tuple[str, ...]:
        """The spaces it names."""
        return tuple(space for space in self.spaces if space != ALL_SPACES)

    @property
    def screens_imports(self) -> bool:
        """Whether its imports are screened like writes."""
        return bool(self.id) and not self.trusted_imports

    def allows(self, space: str) -> bool:
        """Whether the caller may use a space."""
        return self.allows_all_spaces or normal_name(space) in self.spaces

    def limited_to(self, space: str) -> "Grant":
        """Return the same grant for one space alone."""
        return replace(self, spaces=(self.require(space),))

    def require(self, space: str) -> str:
        """Return the space, or raise NotAllowed; the error does not reveal whether the space exists."""
        if not self.allows(space):
            raise NotAllowed(
                f"you may not use the space {space[:100]!r}",
                hint=f"You may use: {', '.join(self.named_spaces) or 'none'}",
                field="space",
            )
        return space

    def caller(self, *, space: str = "", agent: str = "", run: str = "", default: str = "default") -> Caller:
        """Return the caller in one space; without a name in the first of the grant, reading all of them.

        A token below the right to write has one name, its own: another would let it undo what others wrote, and read
        the files of their programs.
        """
        spaces = self.named_spaces
        chosen = self.require(space or (spaces[0] if spaces else default))
        name = agent if self.access in (Access.WRITE, Access.OWNER) else self.name
        return Caller(
            space=chosen, also=() if space else spaces[1:], agent=name, run=run, access=self.access,
            any_space=self.allows_all_spaces, sees_paths=not self.id,
        )  # fmt: skip


OWNER = Grant(access=Access.OWNER)
"""The owner of the data may do everything."""
