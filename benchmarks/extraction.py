"""Measures the extraction of facts from conversations, by turn: `python -m benchmarks.extraction --data FILE`.

The file is LoCoMo's, whose `observation` names the turns with facts. Without a file, the benchmark generates a small
conversation, which shows that it runs and how fast.
"""

import argparse
import re
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from benchmarks.extraction_data import Labelled, load_labelled
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
    """Print precision, recall and F1 of each method, and its time for 100 lines."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--data", type=Path, help="a file in LoCoMo's form")
    conversations = load_labelled(options.parse_args().data)
    total = sum(len(conversation.turns) for conversation in conversations)
    fact_turns = sum(
        len(conversation.fact_turns & {turn.id for turn in conversation.turns}) for conversation in conversations
    )
    print(f"{len(conversations)} conversations, {total:,} turns, {fact_turns / total:.0%} of them state a fact\n")
    print(f"{'':38} precision  recall    F1  CPU ms per 100 lines")
    for name, finder in METHODS.items():
        precision, recall, f1 = figures(conversations, finder)
        seconds = _best_seconds(conversations, finder)
        print(f"{name:38} {precision:9.3f} {recall:7.3f} {f1:5.3f} {seconds / total * 1e5:21.2f}")


def figures(conversations: Sequence[Labelled], finder: Finder) -> tuple[float, float, float]:
    """Return precision, recall and F1 over the turns of all conversations."""
    right = returned = expected = 0
    for conversation in conversations:
        turns_found = frozenset[str]().union(*(finder(session) for session in conversation.sessions))
        right += len(turns_found & conversation.fact_turns)
        returned += len(turns_found)
        expected += len(conversation.fact_turns)
    precision, recall = right / max(1, returned), right / max(1, expected)
    return precision, recall, 2 * precision * recall / max(1e-9, precision + recall)


def by_patterns(turns: Sequence[Turn]) -> frozenset[str]:
    """Return the turns in which our patterns find a fact."""
    return frozenset(fact.turn for fact in facts_of(turns))


def by_keywords(turns: Sequence[Turn]) -> frozenset[str]:
    """Return the turns with one of a few keywords."""
    return frozenset(turn.id for turn in turns if any(word in turn.text.lower() for word in _KEYWORDS))


def by_length(turns: Sequence[Turn]) -> frozenset[str]:
    """Return the long turns in the first person that are no questions."""
    return frozenset(
        turn.id
        for turn in turns
        if len(turn.text) > _LONG and "?" not in turn.text and _FIRST_PERSON.search(turn.text.lower())
    )


METHODS: dict[str, Finder] = {
    "patterns": by_patterns,
    "a list of keywords": by_keywords,
    "first person, over 60 letters, no `?`": by_length,
}


def _best_seconds(conversations: Sequence[Labelled], finder: Finder) -> float:
    """Return the CPU seconds of all sessions, each at its best, because other programs run meanwhile."""
    return sum(
        min(_cpu_seconds(session, finder) for _ in range(_RUNS))
        for conversation in conversations
        for session in conversation.sessions
    )


def _cpu_seconds(session: Sequence[Turn], finder: Finder) -> float:
    start = time.process_time()
    finder(session)
    return time.process_time() - start


if __name__ == "__main__":
    main()
