"""Whose word a turn is: the user's own, a program's, or that of somebody else."""

from collections.abc import Sequence
from dataclasses import dataclass

from scrubjay.errors import InvalidInput
from scrubjay.extraction.exports import Conversation
from scrubjay.extraction.subjects import is_assistant, is_machine
from scrubjay.model.memory import Trust
from scrubjay.text.fuzzy import close_labels

__all__ = ["Speakers", "speakers_of"]

# What a log calls whoever it was written for.
_USER = "user"
_MOST_NAMED = 5


@dataclass(frozen=True, slots=True)
class Speakers:
    """Who speaks in a log, and which of them the user is. Unless it is trusted, nobody's word is the user's."""

    people: frozenset[str]
    users: frozenset[str]
    trusted: bool = True

    def trust(self, speaker: str) -> Trust:
        """How far somebody's word is trusted: what others say to the user is no more than what is written somewhere."""
        if not self.trusted or is_assistant(speaker):
            return Trust.AGENT
        return Trust.USER if speaker in self.users else Trust.DOCUMENT

    @property
    def warning(self) -> str:
        """What to say where people speak and none of them is known to be the user; empty where one is."""
        if self.users or not self.people or not self.trusted:
            return ""
        return f"nobody's word in it counts as your own: say which of them you are with `me` ({_named(self.people)})"


def speakers_of(talks: Sequence[Conversation], *, me: str = "", trusted: bool = True) -> Speakers:
    """Who speaks; the user is who is named, else who is called so, or is alone with a program or with nobody's name."""
    everybody = {turn.speaker for talk in talks for turn in talk.turns}
    people = frozenset(one for one in everybody if not is_machine(one) and not is_assistant(one))
    if me:
        return Speakers(people, _called(me, people), trusted)
    named = people - {""}
    with_program = any(map(is_assistant, everybody))
    if _USER in people:
        return Speakers(people, frozenset((_USER,)), trusted)
    # Two people who talk to each other may both be somebody else.
    alone = len(named) <= 1 if with_program else not named
    return Speakers(people, people if alone else frozenset(), trusted)


def _called(me: str, people: frozenset[str]) -> frozenset[str]:
    found = frozenset(one for one in people if one.casefold() == me.strip().casefold())
    if not found:
        near = close_labels(me, sorted(people), limit=1)
        hint = f"Did you mean {near[0]}?" if near else f"These speak: {_named(people)}"
        raise InvalidInput(f"nobody called {me[:100]!r} speaks in it", hint=hint, field="me", value=me[:100])
    return found


def _named(people: frozenset[str]) -> str:
    names = sorted(one or "somebody without a name" for one in people)
    more = len(names) - _MOST_NAMED
    return ", ".join(names[:_MOST_NAMED]) + (f" and {more:,} more" if more > 0 else "") or "nobody"
