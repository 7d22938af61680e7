"""Conversations whose turns are labelled as facts or not: LoCoMo's file, or a generated one."""

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
    """A conversation by its sessions, and the ids of its turns with facts."""

    sessions: tuple[tuple[Turn, ...], ...]
    fact_turns: frozenset[str]

    @property
    def turns(self) -> tuple[Turn, ...]:
        """All turns, session after session."""
        return tuple(turn for session in self.sessions for turn in session)


def load_labelled(path: Path | None) -> list[Labelled]:
    """Read the conversations of a file in LoCoMo's format; without a file, generate one conversation."""
    if path is None:
        return [_generated()]
    samples = cast("list[dict[str, object]]", json.loads(path.read_text(encoding="utf-8")))
    return [_from_sample(sample) for sample in samples]


def _from_sample(sample: Mapping[str, object]) -> Labelled:
    conversation = cast("Mapping[str, Sequence[Mapping[str, str]]]", sample["conversation"])
    sessions: list[tuple[Turn, ...]] = []
    while (name := f"session_{len(sessions) + 1}") in conversation:
        sessions.append(
            tuple(Turn(speaker=turn["speaker"], text=turn["text"], id=turn["dia_id"]) for turn in conversation[name])
        )
    return Labelled(tuple(sessions), frozenset(_IDS.findall(json.dumps(sample["observation"]))))


def _generated() -> Labelled:
    lines = [(speaker, text, states_fact) for _ in range(20) for speaker, text, states_fact in _LINES]
    turns = tuple(
        Turn(speaker=speaker, text=text, id=f"D1:{number}") for number, (speaker, text, _) in enumerate(lines, 1)
    )
    fact_turns = frozenset(turn.id for turn, (_, _, states_fact) in zip(turns, lines, strict=True) if states_fact)
    return Labelled((turns,), fact_turns)


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
