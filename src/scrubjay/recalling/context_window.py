"""Fourth stage: candidates with the passages around them, since the words around a statement help to find it."""

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from scrubjay.lazy import dataclass
from scrubjay.model.passage import AROUND, SPOKEN, PassageColumns, StoredPassage

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
# In a passage's sequence of neighbours: the places of the passage and of those next to it, and the places around each.
_CENTRES = [2 * AROUND, *(2 * AROUND + step * side for step in range(1, _CANDIDATE_REACH + 1) for side in (-1, 1))]
_STEPS = [*range(-1, -AROUND - 1, -1), *range(1, AROUND + 1)]
_WINDOWS = np.add.outer(_CENTRES, _STEPS)
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

    passages: Sequence[StoredPassage]
    columns: PassageColumns
    order: Positions
    numbers: Positions
    searched_count: int
    neighbours: Positions
    shares: Floats
    lengths: Floats
    replies: Floats
    speaker_of: Positions

    @property
    def rows(self) -> tuple[StoredPassage, ...]:
        """All passages, in the order of the rows."""
        return tuple(self._passages_at(self.order))

    @property
    def candidates(self) -> tuple[StoredPassage, ...]:
        """The rows that can be results."""
        return tuple(self._passages_at(self.candidate_order))

    @property
    def candidate_order(self) -> Positions:
        """The positions of the candidates in `passages` and `columns`."""
        return self.order[: len(self.neighbours)]

    @property
    def speakers(self) -> tuple[str, ...]:
        """The speakers of all rows."""
        return self.columns.speakers

    @property
    def weighted_lengths(self) -> Floats:
        """The length of each candidate with its weighted context."""
        return self.lengths[: len(self.neighbours)] + (self.shares * self.lengths[self.neighbours]).sum(axis=1)

    @property
    def questions(self) -> list[StoredPassage]:
        """The rows that candidates reply to."""
        return [self.row(position) for position in set(self.neighbours[self.replies > 0, 0].tolist())]

    def rows_at(self, positions: Positions) -> list[StoredPassage]:
        """Return the passages of some rows."""
        return self._passages_at(self.order[positions])

    def row(self, position: int) -> StoredPassage:
        """Return the passage of a row."""
        return self.passages[int(self.order[position])]

    def _passages_at(self, positions: Positions) -> list[StoredPassage]:
        listed: list[int] = positions.tolist()
        return [self.passages[position] for position in listed]


def build_window(
    passages: Sequence[StoredPassage],
    neighbours: Sequence[StoredPassage],
    *,
    columns: PassageColumns | None = None,
    is_question: bool = True,
) -> ContextWindow:
    """Return the passages, those right beside them, and the rest of their context, in this order.

    `columns` are those of both, if the store has returned them. Only for a question do passages count as replies.
    """
    searched_count, both = len(passages), [*passages, *neighbours]
    columns = columns or make_columns(both, searched_count=searched_count)
    around, centres = _surroundings(columns.around)
    windows = _choose_windows(around, centres, columns.numbers, searched_count=searched_count)
    nearest = centres[windows]
    is_rest = np.ones(len(both), dtype=np.bool_)
    is_rest[:searched_count] = is_rest[nearest] = False
    order = np.concatenate([np.arange(searched_count), nearest, np.flatnonzero(is_rest)])
    numbers, lengths = columns.numbers[order], columns.terms.lengths[order]
    # The rows of the passages; the last entry stands for a missing one.
    row_of = np.full(len(both) + 1, -1)
    row_of[order] = np.arange(len(both))
    positions = row_of[np.concatenate([around[:searched_count], around[windows]])]
    # The last entry stands for a missing row.
    speaker_of = np.append(columns.speaker_of[order], 0)
    effective_speakers = speaker_of if is_question else np.zeros_like(speaker_of)
    replies = _replies(columns.asks[order], positions, effective_speakers)
    context_share = np.minimum(1.0, _MAX_OWN_TERMS / np.maximum(lengths[: len(positions)], 1.0))
    return ContextWindow(
        passages=both,
        columns=columns,
        order=order,
        numbers=numbers,
        searched_count=searched_count,
        neighbours=positions,
        shares=_shares(positions, effective_speakers, lengths, replies) * context_share[:, None],
        lengths=lengths,
        replies=replies * context_share,
        speaker_of=speaker_of[:-1],
    )


def make_columns(passages: Sequence[StoredPassage], *, searched_count: int) -> PassageColumns:
    """Return the columns of passages, of which the first were searched for."""
    ints = np.array(
        [
            (passage.id, passage.date, passage.asks, passage.tier, passage.confirmed or passage.date, passage.accesses)
            for passage in passages
        ],
        dtype=np.int64,
    ).reshape(len(passages), 6)
    around = np.array(
        [
            (
                *passage.before[:AROUND], *_NO_NEIGHBOURS[len(passage.before) :],
                *passage.after[:AROUND], *_NO_NEIGHBOURS[len(passage.after) :],
            )
            for passage in passages[:searched_count]
        ],
        dtype=np.int64,
    ).reshape(searched_count, 2 * AROUND)  # fmt: skip
    speaker_of, speakers = _speakers(passages)
    return PassageColumns(
        numbers=ints[:, 0],
        dates=ints[:, 1],
        asks=ints[:, 2],
        tiers=ints[:, 3],
        relevances=np.array([passage.relevance for passage in passages], dtype=np.float64),
        confirmed=ints[:, 4],
        accesses=ints[:, 5],
        speaker_of=speaker_of,
        speakers=speakers,
        around=_find_positions(around, ints[:, 0]),
        terms=TermCounter([passage.terms for passage in passages]),
    )


def _surroundings(around: Positions) -> tuple[Positions, Positions]:
    """Return the positions around each passage, then around its next neighbours, and the position at each centre.

    Nearest first, those before and then those after; -1 where there is no passage or it was not read.
    """
    sequence = np.full((len(around), 4 * AROUND + 1), -1)
    sequence[:, AROUND : 2 * AROUND] = around[:, AROUND - 1 :: -1]
    sequence[:, 2 * AROUND] = np.arange(len(around))
    sequence[:, 2 * AROUND + 1 : 3 * AROUND + 1] = around[:, AROUND:]
    return sequence[:, _WINDOWS].transpose(1, 0, 2).reshape(-1, 2 * AROUND), sequence[:, _CENTRES].T.ravel()


def _choose_windows(around: Positions, centres: Positions, numbers: Positions, *, searched_count: int) -> Positions:
    """Return one window for each neighbour, the one with the most neighbours, in the order of their numbers."""
    windows = np.flatnonzero(centres >= searched_count)
    neighbour_counts = (around[windows] >= 0).sum(axis=1)
    centre_numbers = numbers[centres[windows]]
    # The first of those with as many.
    best = np.argsort(centre_numbers * (2 * AROUND + 1) - neighbour_counts, kind="stable")
    is_first = np.ones(len(best), dtype=np.bool_)
    is_first[1:] = centre_numbers[best[1:]] != centre_numbers[best[:-1]]
    return windows[best[is_first]]


def _find_positions(searched: Positions, numbers: Positions) -> Positions:
    """Return the positions of searched values among some numbers; -1 for those that are missing."""
    if not len(numbers):
        return searched
    order = np.argsort(numbers)
    positions = order[np.minimum(np.searchsorted(numbers, searched, sorter=order), len(numbers) - 1)]
    return np.where(numbers[positions] == searched, positions, -1)


def _replies(asks: Positions, positions: Positions, speaker_of: Positions) -> Floats:
    """Return 1 for each candidate right after a question of another speaker."""
    is_asking = np.append(asks & ~SPOKEN, 0) > 0
    previous, speakers = positions[:, 0], speaker_of[: len(positions)]
    # An unknown speaker is not another one. The last entry stands for the missing row before a first one.
    is_other = (speaker_of[previous] > 0) & (speakers > 0) & (speaker_of[previous] != speakers)
    return (is_asking[previous] & is_other).astype(np.float32)


def _speakers(passages: Sequence[StoredPassage]) -> tuple[Positions, tuple[str, ...]]:
    """Return the speaker of each passage as a position among all speakers; 0 if unknown."""
    names = [passage.who for passage in passages]
    speakers = tuple(dict.fromkeys(("", *names)))
    position_of = {name: position for position, name in enumerate(speakers)}
    return np.array([position_of[name] for name in names], dtype=np.intp), speakers


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
