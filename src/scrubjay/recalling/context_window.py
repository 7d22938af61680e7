"""Fourth stage: candidates with the passages around them, since the words around a statement help to find it."""

from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from scrubjay.model.passage import SPOKEN, StoredPassage
from scrubjay.recalling.candidates import AROUND

Floats = NDArray[np.float32]
Positions = NDArray[np.intp]
# The weight of a word so many passages before and after a candidate where several people speak. Among passages of one
# speaker it is multiplied by `_MONOLOGUE`, since they do not answer each other.
_BEFORE = (0.75, 0.45, 0.3, 0.15)
_AFTER = (0.6, 0.36, 0.24, 0.12)
_FADING = np.array((*_BEFORE, *_AFTER), dtype=np.float32)
_MONOLOGUE = 0.6
# A longer neighbour counts as if it had so many terms: otherwise it would drown the candidate.
_MAX_NEIGHBOUR_TERMS = 8.0
# The context of a passage with more terms than this counts less: it speaks for itself.
_MAX_OWN_TERMS = 40.0
# A passage right after another speaker's question answers it: the words of the question are nearly its own.
_REPLY_WEIGHT, _MAX_QUESTION_TERMS = 1.2, 12.0
_NO_NEIGHBOURS = (-1,) * AROUND
# Neighbours this close to a candidate become candidates: they may be the answer without any word of the question.
_CANDIDATE_REACH = 1
_SPACE, _NEWLINE = b" \n"
# A word is looked up by so many of its first bytes, as one integer; a shorter one is padded with zeros.
_PREFIX_BYTES = 8
_PREFIX_MASKS = np.array([(1 << 8 * size) - 1 for size in range(_PREFIX_BYTES + 1)], dtype=np.uint64)
# A prime: some hundred words are spread over so many slots, so that few other words share one with them.
_SLOTS = 4093


class TermCounter:
    """Counts terms in many texts at once; the terms of a text are separated by one space."""

    def __init__(self, texts: Sequence[str]) -> None:
        # One buffer with a line for each text: splitting each text would cost more than everything else.
        self._data = "\n".join(texts).encode("utf-8", "surrogatepass") + b"\n"
        self._ends = np.flatnonzero(np.frombuffer(self._data, dtype=np.uint8) <= _SPACE)
        self._starts = np.concatenate(([0], self._ends[:-1] + 1))
        last_terms = np.flatnonzero(np.frombuffer(self._data, dtype=np.uint8)[self._ends] == _NEWLINE)
        # The terms of each text end before this position among all terms.
        self._text_ends = last_terms + 1 if texts else last_terms[:0]

    @property
    def lengths(self) -> Floats:
        """The number of terms in each text."""
        counts = np.diff(self._text_ends, prepend=0)
        is_empty = self._starts[self._text_ends - 1] == self._ends[self._text_ends - 1]
        return np.where((counts == 1) & is_empty, 0, counts).astype(np.float32)

    def count(self, terms: Sequence[str]) -> Floats:
        """Return how often each term occurs in each text: one row for each term."""
        row_of = {term.encode("utf-8", "surrogatepass"): row for row, term in enumerate(terms)}
        positions = self._positions_of(row_of)
        starts, ends = self._starts[positions].tolist(), self._ends[positions].tolist()
        words = (self._data[start:end] for start, end in zip(starts, ends, strict=True))
        rows = np.array([row_of.get(word, -1) for word in words], dtype=np.intp)
        texts = np.searchsorted(self._text_ends, positions, side="right")
        size = len(self._text_ends)
        cells = (rows * size + texts)[rows >= 0]
        return np.bincount(cells, minlength=len(terms) * size).reshape(len(terms), size).astype(np.float32)

    def _positions_of(self, terms: Iterable[bytes]) -> Positions:
        """Return the positions of words that may be one of the terms: their first bytes hash to the same slot."""
        # Overlapping integers: each begins one byte after the one before.
        integers = np.ndarray(len(self._data), dtype="<u8", buffer=self._data + bytes(_PREFIX_BYTES), strides=(1,))
        prefixes = integers[self._starts] & _PREFIX_MASKS[np.minimum(self._ends - self._starts, _PREFIX_BYTES)]
        searched = np.array([int.from_bytes(term[:_PREFIX_BYTES], "little") for term in terms], dtype=np.uint64)
        is_searched = np.zeros(_SLOTS, dtype=np.bool_)
        is_searched[searched % _SLOTS] = True
        return np.flatnonzero(is_searched[prefixes % _SLOTS])


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextWindow:
    """Passages as rows, of which the first `len(neighbours)` are candidates.

    `neighbours` has the positions of the rows around each candidate, -1 where there is none, and `shares` the weight of
    a word in each of them. `numbers` are the ids of the rows, `lengths` their numbers of terms, and `speaker_of` their
    speakers, as positions in `speakers`. `replies` is how far a candidate answers the row before it. The first
    `searched_count` candidates were found by a search; the others are next to them.
    """

    rows: tuple[StoredPassage, ...]
    numbers: Positions
    searched_count: int
    neighbours: Positions
    shares: Floats
    counter: TermCounter
    lengths: Floats
    replies: Floats
    speaker_of: Positions
    speakers: tuple[str, ...]

    @property
    def candidates(self) -> tuple[StoredPassage, ...]:
        """The rows that can be results."""
        return self.rows[: len(self.neighbours)]

    @property
    def weighted_lengths(self) -> Floats:
        """The length of each candidate with its weighted context."""
        return self.lengths[: len(self.neighbours)] + (self.shares * self.lengths[self.neighbours]).sum(axis=1)

    @property
    def questions(self) -> list[StoredPassage]:
        """The rows that candidates reply to."""
        return [self.rows[position] for position in set(self.neighbours[self.replies > 0, 0].tolist())]


def build_window(
    passages: Sequence[StoredPassage], neighbours: Sequence[StoredPassage], *, is_question: bool = True
) -> ContextWindow:
    """Return the passages, those right beside them, and the rest of their context, in this order.

    Only for a question do passages count as replies to each other.
    """
    searched_count = len(passages)
    around, centres = _surroundings(passages)
    unused = {passage.id: passage for passage in neighbours}
    windows = _choose_windows(around, centres, unused)
    nearest = [unused.pop(number) for number in centres[windows].tolist()]
    rows = (*passages, *nearest, *unused.values())
    numbers = np.array([row.id for row in rows], dtype=np.int64)
    counter = TermCounter([row.terms for row in rows])
    lengths = counter.lengths
    positions = _find_positions(np.concatenate([around[:searched_count], around[windows]]), numbers)
    speaker_of, speakers = _speakers(rows)
    effective_speakers = speaker_of if is_question else np.zeros_like(speaker_of)
    replies = _replies(rows, positions, effective_speakers)
    context_share = np.minimum(1.0, _MAX_OWN_TERMS / np.maximum(lengths[: len(positions)], 1.0))
    return ContextWindow(
        rows=rows,
        numbers=numbers,
        searched_count=searched_count,
        neighbours=positions,
        shares=_shares(positions, effective_speakers, lengths, replies) * context_share[:, None],
        counter=counter,
        lengths=lengths,
        replies=replies * context_share,
        speaker_of=speaker_of[:-1],
        speakers=speakers,
    )


def _surroundings(passages: Sequence[StoredPassage]) -> tuple[Positions, Positions]:
    """Return the numbers around each passage, then around its next neighbours, and the number at each centre.

    Nearest first, those before and then those after; -1 where there is no passage or it was not read.
    """
    sequences = [
        (
            *_NO_NEIGHBOURS[len(passage.before) :],
            *reversed(passage.before),
            passage.id,
            *passage.after,
            *_NO_NEIGHBOURS[len(passage.after) :],
        )
        for passage in passages
    ]
    sequence = np.full((len(sequences), 4 * AROUND + 1), -1, dtype=np.int64)
    sequence[:, AROUND : 3 * AROUND + 1] = np.array(sequences, dtype=np.int64).reshape(len(sequences), 2 * AROUND + 1)
    before, after = -np.arange(1, AROUND + 1), np.arange(1, AROUND + 1)
    columns = np.concatenate([before, after])
    centres = [2 * AROUND, *(2 * AROUND + step * side for step in range(1, _CANDIDATE_REACH + 1) for side in (-1, 1))]
    around = np.concatenate([sequence[:, centre + columns] for centre in centres])
    return around, np.concatenate([sequence[:, centre] for centre in centres])


def _choose_windows(around: Positions, centres: Positions, numbers: Container[int]) -> list[int]:
    """Return one window for each of the numbers, the one with the most neighbours, in the order of the numbers."""
    best: dict[int, tuple[int, int]] = {}
    neighbour_counts = (around >= 0).sum(axis=1).tolist()
    for window, (number, count) in enumerate(zip(centres.tolist(), neighbour_counts, strict=True)):
        if number in numbers and (number not in best or count > best[number][0]):
            best[number] = count, window
    return [best[number][1] for number in sorted(best)]


def _find_positions(searched: Positions, numbers: Positions) -> Positions:
    """Return the positions of searched values among some numbers; -1 for those that are missing."""
    if not len(numbers):
        return searched
    order = np.argsort(numbers)
    positions = order[np.minimum(np.searchsorted(numbers, searched, sorter=order), len(numbers) - 1)]
    return np.where(numbers[positions] == searched, positions, -1)


def _replies(rows: Sequence[StoredPassage], positions: Positions, speaker_of: Positions) -> Floats:
    """Return 1 for each candidate right after a question of another speaker."""
    is_asking = np.array([*[row.asks & ~SPOKEN for row in rows], 0]) > 0
    previous, speakers = positions[:, 0], speaker_of[: len(positions)]
    # An unknown speaker is not another one. The last entry stands for the missing row before a first one.
    is_other = (speaker_of[previous] > 0) & (speakers > 0) & (speaker_of[previous] != speakers)
    return (is_asking[previous] & is_other).astype(np.float32)


def _speakers(rows: Sequence[StoredPassage]) -> tuple[Positions, tuple[str, ...]]:
    """Return the speaker of each row as a position among all speakers; 0 if unknown, and for the missing row."""
    names = [row.who for row in rows]
    speakers = tuple(dict.fromkeys(("", *names)))
    position_of = {name: position for position, name in enumerate(speakers)}
    return np.array([*map(position_of.__getitem__, names), 0], dtype=np.intp), speakers


def _shares(positions: Positions, speaker_of: Positions, lengths: Floats, replies: Floats) -> Floats:
    is_present = positions >= 0
    neighbours, candidates = speaker_of[positions], speaker_of[: len(positions), None]
    is_other = (neighbours > 0) & (candidates > 0) & (neighbours != candidates)
    neighbour_lengths = np.maximum(lengths[positions], 1.0)
    shares = np.where(is_present, _FADING * np.minimum(1.0, _MAX_NEIGHBOUR_TERMS / neighbour_lengths), 0.0)
    shares *= np.where(is_other.any(axis=1), 1.0, _MONOLOGUE)[:, None]
    question_shares = _REPLY_WEIGHT * replies * np.minimum(1.0, _MAX_QUESTION_TERMS / neighbour_lengths[:, 0])
    shares[:, 0] = np.maximum(shares[:, 0], question_shares)
    return shares.astype(np.float32)
