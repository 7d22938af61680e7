"""Answers of a language model over fifty notes: almost all faithful ones are accepted, and no other one is."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.unit.curation.job_world import JobWorld, open_job_world
from tests.unit.llm.chat_server import ChatServer, json_reply

from scrubjay.curation.polish import join_statements
from scrubjay.errors import LlmUnavailable

_PEOPLE = ("Sarah", "Bo", "Chen", "Dmitri", "Elena")
_SYSTEMS = ("billing", "search", "checkout", "payroll", "mail", "login", "export", "import", "archive", "audit")
NOTES = [
    [
        f"{person} leads the {system} team in room {number + 11}.",
        f"The {system} service listens on port {8_000 + 10 * number + index}.",
        f"{person} does not work on Fridays.",
        f"The {system} backup runs nightly at 02:{10 + number}.",
        f"The retention of {system} is {30 + index} days, because auditors ask.",
    ]
    for number, system in enumerate(_SYSTEMS)
    for index, person in enumerate(_PEOPLE)
]


def _faithful(note: list[str]) -> dict[str, tuple[str, str]]:
    """Return notes and answers that say the same, by what is different."""
    text = " ".join(note)
    backup = note[3]
    at = backup.rpartition(" at ")[2].rstrip(".")
    reworded = f"At {at} the {backup.split()[1]} backup runs nightly."
    return {
        "nothing": (text, text),
        "no full stop at the end": (text, text.rstrip(".")),
        "full stops instead of lines": ("\n".join(line.rstrip(".") for line in note), text),
        "a list": (text, "\n".join(f"- {line}" for line in note)),
        "paragraphs": (text, "\n\n".join(note)),
        "the order": (text, " ".join(reversed(note))),
        "what is said twice": (f"{text} {note[0]} {note[1]}", text),
        "the first of three wordings": (
            f"{text} {reworded} {backup.replace(' nightly', '').replace('The', 'The nightly')}",
            text,
        ),
        "joined sentences": (" ".join(note[:2]), f"{note[0].rstrip('.')}, and {note[1][0].lower()}{note[1][1:]}"),
    }


def _unfaithful(note: list[str], other: list[str]) -> dict[str, tuple[str, str]]:
    """Return notes and answers that say something else, by what is different."""
    text = " ".join(note)
    return {
        "a sentence less": (text, " ".join(note[:1] + note[2:])),
        "the last sentence less": (text, " ".join(note[:-1])),
        "another figure": (text, text.replace("02:", "03:")),
        "no negation": (text, text.replace("does not work", "works")),
        "another name": (text, text.replace(note[0].split()[0], "Ingrid")),
        "a sentence more": (text, f"{text} {other[0]}"),
        "a remark": (text, f"{text} All of this is confirmed."),
        "exchanged subjects": (
            f"Ann pays Bob. {note[1]}",
            f"Bob pays Ann. {note[1]}",
        ),
        "an exchanged time": (
            f"{text} Mail is sent daily, and logs at 09:15. Mail is sent at 09:15, and logs daily.",
            f"{text} Mail is sent daily, and logs at 09:15.",
        ),
        "no reason": (text, text.replace(", because auditors ask", "")),
        "of two that differ, one": (f"{text} {note[1].replace('port 8', 'port 9')}", text),
        "nothing at all": (text, "The note is about a team."),
    }


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[tuple[JobWorld, ChatServer]]:
    with ChatServer() as server:
        async with open_job_world(tmp_path, url=server.url) as opened:
            yield opened, server


async def test_faithful_answers_are_accepted_and_others_are_not(world: tuple[JobWorld, ChatServer]) -> None:
    opened, server = world
    llm = opened.llm
    assert llm is not None

    async def is_accepted(note: str, answer: str) -> bool:
        server.script.append(json_reply(text=answer))
        try:
            return await join_statements([note], llm=llm) == answer.strip()
        except LlmUnavailable as error:
            if error.fields["reason"] != "answer":
                raise
            return False

    assert len(NOTES) == 50
    refused: list[str] = []
    accepted: list[str] = []
    for number, note in enumerate(NOTES):
        faithful, unfaithful = list(_faithful(note).items()), list(_unfaithful(note, NOTES[number - 7]).items())
        # Three of each sort for each note, in turn.
        for turn in range(3):
            name, pair = faithful[(3 * number + turn) % len(faithful)]
            refused += [] if await is_accepted(*pair) else [name]
            name, pair = unfaithful[(3 * number + turn) % len(unfaithful)]
            accepted += [name] if await is_accepted(*pair) else []
    assert accepted == []
    assert len(refused) <= 3 * len(NOTES) * 0.05, refused
