"""Conversations whose turns are known to state a fact or not: LoCoMo's file, or one made here."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from scrubjay.model.fact import Turn

_IDS = re.compile(r"D\d+:\d+")


@dataclass(frozen=True, slots=True)
class Labelled:
    """A conversation by its sessions, and the ids of the turns from which somebody took a fact."""

    sessions: tuple[tuple[Turn, ...], ...]
    telling: frozenset[str]

    @property
    def turns(self) -> tuple[Turn, ...]:
        """All turns, session after session."""
        return tuple(turn for session in self.sessions for turn in session)


def labelled(path: Path | None) -> list[Labelled]:
    """The conversations of a file in LoCoMo's form; without one, a conversation that is made."""
    if path is None:
        return [_made()]
    samples = cast("list[dict[str, object]]", json.loads(path.read_text(encoding="utf-8")))
    return [_of_sample(sample) for sample in samples]


def _of_sample(sample: Mapping[str, object]) -> Labelled:
    reported = cast("Mapping[str, Sequence[Mapping[str, str]]]", sample["conversation"])
    sessions: list[tuple[Turn, ...]] = []
    while (name := f"session_{len(sessions) + 1}") in reported:
        sessions.append(
            tuple(Turn(speaker=item["speaker"], text=item["text"], id=item["dia_id"]) for item in reported[name])
        )
    return Labelled(tuple(sessions), frozenset(_IDS.findall(json.dumps(sample["observation"]))))


def _made() -> Labelled:
    lines = [(speaker, text, tells) for _ in range(20) for speaker, text, tells in _LINES]
    turns = tuple(
        Turn(speaker=speaker, text=text, id=f"D1:{number}") for number, (speaker, text, _) in enumerate(lines, 1)
    )
    telling = frozenset(turn.id for turn, (_, _, tells) in zip(turns, lines, strict=True) if tells)
    return Labelled((turns,), telling)


_LINES = (
    ("Ira", "Hey Noor! How was your week?", False),
    ("Noor", "Busy! I started a pottery class on Monday and made my first bowl.", True),
    ("Ira", "Wow, that's so cool!", False),
    ("Noor", "Thanks! What about you, anything new?", False),
    ("Ira", "My sister moved to Lisbon last month, so I have been looking after her two cats.", True),
    ("Noor", "Aww, that is sweet of you.", False),
    ("Ira", "If I had more room I would keep them.", False),
    ("Noor", "Maybe you could find a bigger place?", False),
    ("Ira", "I decided to stay here until the lease ends in June.", True),
    ("Noor", "Sounds great, good luck with that!", False),
)
