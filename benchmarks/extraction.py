"""How well facts are found in conversations, turn by turn: `python -m benchmarks.extraction --data FILE`.

The file is LoCoMo's, whose `observation` names the turns that somebody took facts from. Without one, a small
conversation is made, which shows that it runs and how fast.
"""

import argparse
import re
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from benchmarks.extraction_data import Labelled, labelled
from scrubjay.extraction.patterns import facts_of
from scrubjay.model.fact import Turn

_RUNS = 9
_KEYWORDS = (
    "prefer", "like", "use", "need", "want", "always", "never", "require", "must", "love", "hate", "dislike", "employ",
)  # fmt: skip
_FIRST_PERSON = re.compile(r"\b(?:i|i'm|i've|i'd|i'll|im|my|me|we|our|us)\b")
_LONG = 60
Finder = Callable[[Sequence[Turn]], frozenset[str]]


def main() -> None:
    """Print precision, recall and F1 of each way, and what it takes for 100 lines."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--data", type=Path, help="a file in LoCoMo's form")
    conversations = labelled(options.parse_args().data)
    total = sum(len(conversation.turns) for conversation in conversations)
    telling = sum(
        len(conversation.telling & {turn.id for turn in conversation.turns}) for conversation in conversations
    )
    print(f"{len(conversations)} conversations, {total:,} turns, {telling / total:.0%} of them tell a fact\n")
    print(f"{'':38} precision  recall    F1  CPU ms per 100 lines")
    for name, finder in WAYS.items():
        precision, recall, f1 = figures(conversations, finder)
        spent = _seconds(conversations, finder)
        print(f"{name:38} {precision:9.3f} {recall:7.3f} {f1:5.3f} {spent / total * 1e5:21.2f}")


def figures(conversations: Sequence[Labelled], finder: Finder) -> tuple[float, float, float]:
    """Precision, recall and F1 over the turns of all conversations."""
    right = results = expected = 0
    for conversation in conversations:
        reported = frozenset[str]().union(*(finder(session) for session in conversation.sessions))
        right += len(reported & conversation.telling)
        results += len(reported)
        expected += len(conversation.telling)
    precision, recall = right / max(1, results), right / max(1, expected)
    return precision, recall, 2 * precision * recall / max(1e-9, precision + recall)


def by_patterns(turns: Sequence[Turn]) -> frozenset[str]:
    """The turns in which our patterns find a fact."""
    return frozenset(fact.turn for fact in facts_of(turns))


def by_keywords(turns: Sequence[Turn]) -> frozenset[str]:
    """The turns with one of a few words."""
    return frozenset(turn.id for turn in turns if any(word in turn.text.lower() for word in _KEYWORDS))


def by_length(turns: Sequence[Turn]) -> frozenset[str]:
    """The long turns in the first person that ask nothing."""
    return frozenset(
        turn.id
        for turn in turns
        if len(turn.text) > _LONG and "?" not in turn.text and _FIRST_PERSON.search(turn.text.lower())
    )


WAYS: dict[str, Finder] = {
    "patterns": by_patterns,
    "a list of keywords": by_keywords,
    "first person, over 60 letters, no `?`": by_length,
}


def _seconds(conversations: Sequence[Labelled], finder: Finder) -> float:
    """What all sessions take of one core, each at its best: other programs run meanwhile."""
    return sum(
        min(_spent(session, finder) for _ in range(_RUNS))
        for conversation in conversations
        for session in conversation.sessions
    )


def _spent(session: Sequence[Turn], finder: Finder) -> float:
    start = time.process_time()
    finder(session)
    return time.process_time() - start


if __name__ == "__main__":
    main()
