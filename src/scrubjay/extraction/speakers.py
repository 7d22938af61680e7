"""The speakers of a chat log: the user, programs, and other people; and how far the words of each are trusted."""

import re
from collections.abc import Sequence
from functools import lru_cache

from scrubjay.errors import InvalidInput
from scrubjay.extraction.json_log import Conversation
from scrubjay.extraction.sentences import FACT_WORDS
from scrubjay.lazy import dataclass
from scrubjay.model.memory import Trust
from scrubjay.text.fuzzy import close_labels

__all__ = ["ASSISTANTS", "MACHINES", "Speakers", "is_assistant", "is_machine", "speakers_of"]

ASSISTANTS = FACT_WORDS.words("assistants")
MACHINES = FACT_WORDS.words("machines")
_WORD = re.compile(r"[a-z]+")
# One of these words in a name makes it the name of a program.
_PROGRAMS = frozenset(("assistant", "ai", "bot", "chatbot", "llm", "chatgpt"))
# The name that logs have for their user.
_USER = "user"
_MAX_LISTED = 5


@dataclass(frozen=True, slots=True)
class Speakers:
    """The people in a log, and those who are the user. Unless the log is `trusted`, no person counts as the user."""

    people: frozenset[str]
    users: frozenset[str]
    trusted: bool = True

    def trust(self, speaker: str) -> Trust:
        """Return how far a speaker is trusted: other people no more than a document."""
        if not self.trusted or is_assistant(speaker):
            return Trust.AGENT
        return Trust.USER if speaker in self.users else Trust.DOCUMENT

    @property
    def warning(self) -> str:
        """A warning if people speak and none of them is known to be the user; otherwise empty."""
        if self.users or not self.people or not self.trusted:
            return ""
        return f"no speaker of the log counts as you: say which one you are with `me` ({_list_names(self.people)})"


def speakers_of(conversations: Sequence[Conversation], *, me: str = "", trusted: bool = True) -> Speakers:
    """Return the speakers. The user is `me`, else the speaker called user, else the only person in the log."""
    every = {turn.speaker for conversation in conversations for turn in conversation.turns}
    people = frozenset(speaker for speaker in every if not is_machine(speaker) and not is_assistant(speaker))
    if me:
        return Speakers(people, _find_speaker(me, people), trusted)
    if _USER in people:
        return Speakers(people, frozenset((_USER,)), trusted)
    named = people - {""}
    # Two people who talk to each other may both be someone else.
    is_alone = len(named) <= 1 if any(map(is_assistant, every)) else not named
    return Speakers(people, people if is_alone else frozenset(), trusted)


@lru_cache(maxsize=256)
def is_assistant(speaker: str) -> bool:
    """Return whether a speaker is a program that answers people."""
    words = _WORD.findall(speaker.lower())
    return not _PROGRAMS.isdisjoint(words) or (len(words) == 1 and words[0] in ASSISTANTS)


@lru_cache(maxsize=256)
def is_machine(speaker: str) -> bool:
    """Return whether a turn has no speaker: the setup of a program, and the results of its tools."""
    return speaker.strip().lower() in MACHINES


def _find_speaker(me: str, people: frozenset[str]) -> frozenset[str]:
    matches = frozenset(person for person in people if person.casefold() == me.strip().casefold())
    if not matches:
        close = close_labels(me, sorted(people), limit=1)
        hint = f"Did you mean {close[0]}?" if close else f"The speakers are: {_list_names(people)}"
        raise InvalidInput(f"no speaker of the log is called {me[:100]!r}", hint=hint, field="me", value=me[:100])
    return matches


def _list_names(people: frozenset[str]) -> str:
    names = sorted(person or "a speaker without a name" for person in people)
    more = len(names) - _MAX_LISTED
    return ", ".join(names[:_MAX_LISTED]) + (f" and {more:,} more" if more > 0 else "") or "none"
