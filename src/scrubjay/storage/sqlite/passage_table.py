"""The passages that recalls have read, in memory: as tuples, and as columns for ranking.

A row is read as by `stored_passages`, once, and dropped when the change log says that its session has changed. SQLite
tells whether anything was committed since, by this process or another one; mostly nothing was, and no row is read.
After some recalls of a space, the rest of it is read page by page between requests; a large one only so.
"""

from collections import Counter
from collections.abc import Iterable, Sequence

import apsw
import numpy as np
from numpy.typing import NDArray

from scrubjay.model.memory import State
from scrubjay.model.passage import AROUND, PASSAGES_PER_MEMORY, PassageColumns, PassageList, StoredPassage
from scrubjay.storage.sqlite.lexicon import passage_count
from scrubjay.storage.sqlite.neighbours import RankedRow, json_list, ranked_rows, session_rows
from scrubjay.storage.sqlite.rows import Freshness, data_version, log_state, read_touches, space_number

Integers = NDArray[np.int64]
# Some 1.7 kB each. A full table is emptied: the next recalls fill it again with what they need.
_MAX_ROWS = 196_608
_MIN_ROWS = 1_024
# A space with more passages is read from the store.
_LARGEST_SPACE = 131_072
# One with more than so many, until all of it is here: recalls would read more than they need, and seldom the same.
_LARGEST_READ = 16_384
# After so many changes the table is emptied, instead of reading them one by one.
_MAX_CHANGES = 1_000
# A session of at most so many passages is read as a whole: one passage after the other would be needed soon.
_MAX_SESSION = 128
# After so many recalls for which rows were missing, the rest of the space is read, so many memories at once.
_MANY_LOADS = 16
_PAGE = 64
_MEMORIES = "SELECT group_concat(no) FROM memories INDEXED BY memories_recent WHERE space_no = ? AND state = 0"
# The columns of the integers; then the rows around a passage that was requested, nearest first.
_NUMBER, _SPACE, _DATE, _ASKS, _TIER, _CONFIRMED, _ACCESSES, _COUNTED, _SPEAKER, _START, _END = range(11)
_FIRST_AROUND = 11
_WIDTH = _FIRST_AROUND + 2 * AROUND
_NOWHERE = (-1,) * (2 * AROUND)
_DROPPED = StoredPassage(id=-1, memory_id="", observation=None, start=0, end=0, hash=b"", terms="")
_CHANGED = """SELECT DISTINCT c.memory_no, coalesce(p.session_key, p.id) FROM changes c
    LEFT JOIN passages p ON p.id = c.memory_no * ?2 WHERE c.seq > ?1"""


class PassageTable:
    """Rows of passages by number, of all spaces. It is used by one thread, with one connection."""

    def __init__(
        self,
        freshness: Freshness,
        *,
        max_rows: int = _MAX_ROWS,
        largest_space: int = _LARGEST_SPACE,
        largest_read: int = _LARGEST_READ,
        many_loads: int = _MANY_LOADS,
        page: int = _PAGE,
    ) -> None:
        self._freshness = freshness
        self._max_rows = max_rows
        self._largest_space = largest_space
        self._largest_read = largest_read
        self._many_loads = many_loads
        self._page = page
        self._version = -1
        self._cursor = 0
        self._upkeep = ""
        self._touches = 0
        self._counting = 0
        # The last storing of accesses, if all rows of the counting before it are short of that one alone.
        self._unexplained = -1
        self.clear()

    def __len__(self) -> int:
        return len(self._row_of)

    def clear(self) -> None:
        """Drop all rows."""
        # By the number of the space: for how many recalls rows were missing, and the memories that are still to be read
        # between requests, none once all were.
        self._loads: Counter[int] = Counter()
        self._rest: dict[int, list[int]] = {}
        self._row_of: dict[int, int] = {}
        self._session_of: dict[int, int] = {}
        self._numbers_of: dict[int, list[int]] = {}
        # Each as it was requested, with its neighbours, and as a neighbour of others; None if it never was requested.
        self._requested: list[StoredPassage | None] = []
        self._plain: list[StoredPassage] = []
        # Empty ones: after an allocation has failed, there may be no room for others.
        self._integers: Integers = np.zeros((0, _WIDTH), dtype=np.int64)
        self._relevances: NDArray[np.float64] = np.zeros(0)
        # -1 between two calls.
        self._position_of: NDArray[np.intp] = np.full(0, -1)
        self._terms = _Terms()
        self._speakers: dict[str, int] = {"": 0}
        self._speaker_names = [""]

    def passages(self, connection: apsw.Connection, space: str, ids: Sequence[int]) -> PassageList | None:
        """Return passages of a space by id, then the neighbours that they name; None if some has to be read first."""
        space_no = space_number(connection, space)
        if space_no is None or not self._row_of or self._version != self._freshness.version(connection):
            return None
        return self._assemble(space_no, sorted(set(ids)))

    def load(self, connection: apsw.Connection, space: str, ids: Sequence[int]) -> PassageList | None:
        """Read the rows that are missing, in a transaction, and return the same; None if they have no place here."""
        space_no = space_number(connection, space)
        count = 0 if space_no is None else passage_count(connection, space, state=State.LIVE)
        if space_no is None or count > self._largest_space:
            return None
        self._follow(connection)
        numbers = sorted(set(ids))
        missing = self._missing(numbers)
        if missing:
            self._loads[space_no] += 1
            if self._loads[space_no] == self._many_loads and len(self._plain) + count <= self._max_rows:
                ((joined,),) = connection.execute(_MEMORIES, (space_no,)).fetchall()
                # The newest at the end, which is read first.
                self._rest[space_no] = list(map(int, joined.split(",")))[::-1] if joined else []
            if count > self._largest_read and self._rest.get(space_no) != []:
                return None
            if not self._read(connection, missing, space_no=space_no):
                self.clear()
                return None
            numbers = [number for number in numbers if number in self._row_of]
        return self._assemble(space_no, numbers, connection=connection)

    @property
    def is_filling(self) -> bool:
        """Whether there is more to read between requests."""
        return any(self._rest.values())

    def fill(self, connection: apsw.Connection) -> None:
        """Read some more rows of a space that is often asked, in a transaction."""
        self._follow(connection)
        for space_no, memories in self._rest.items():
            if not memories:
                continue
            first_passages = [memory * PASSAGES_PER_MEMORY for memory in memories[-self._page :]]
            del memories[-self._page :]
            missing = self._missing(first_passages)
            if missing and not self._read(connection, missing, space_no=space_no):
                del self._rest[space_no]
            return

    def count_accesses(self, memories: Sequence[int], *, touches: int) -> None:
        """Count one access to each of some memories, which this process has just stored.

        If another process has stored some meanwhile, all counts are read again. A recall may have seen that some were
        stored before this is called: the rows that it has not read again are still short of these.
        """
        if touches not in (self._touches + 1, self._unexplained):
            return
        is_seen = touches == self._unexplained
        for memory in memories:
            for number in self._numbers_of.get(self._session_of.get(memory, 0), ()):
                if number // PASSAGES_PER_MEMORY == memory and (row := self._row_of.get(number)) is not None:
                    if is_seen and self._integers[row, _COUNTED] == self._counting:
                        continue
                    self._set_accesses(row, int(self._integers[row, _ACCESSES]) + 1)
        if is_seen:
            counted = self._integers[: len(self._plain), _COUNTED]
            counted[counted == self._counting - 1] = self._counting
        self._touches, self._unexplained = touches, -1

    def _read(self, connection: apsw.Connection, numbers: Sequence[int], *, space_no: int) -> bool:
        """Read passages with their sessions and neighbours; return False if there is no room for them."""
        requested = session_rows(connection, space_no, numbers, around=AROUND, at_most=_MAX_SESSION)
        rest = set(numbers).difference([row.passage.id for row in requested])
        requested += ranked_rows(connection, space_no, rest, around=AROUND) if rest else []
        named = {number for row in requested for number in (*row.passage.before, *row.passage.after)}
        others = named.difference(self._row_of, [row.passage.id for row in requested])
        neighbours = ranked_rows(connection, space_no, others, around=0) if others else []
        if len(self._plain) + len(requested) + len(neighbours) > self._max_rows:
            return False
        # All at once: a passage without its neighbours would not be dropped when one of them changes.
        self._add([*requested, *neighbours], space_no=space_no)
        self._add_neighbours([row.passage for row in requested])
        return True

    def _missing(self, numbers: Sequence[int]) -> list[int]:
        row_of, requested = self._row_of, self._requested
        return [number for number in numbers if (row := row_of.get(number)) is None or requested[row] is None]

    def _follow(self, connection: apsw.Connection) -> None:
        """Drop the sessions that have changed since the last call."""
        version = data_version(connection)
        if version == self._version:
            return
        seq, upkeep = log_state(connection)
        touches = read_touches(connection)
        if touches != self._touches:
            self._unexplained = touches if touches == self._touches + 1 else -1
            self._touches = touches
            self._counting += 1
        if not 0 <= seq - self._cursor <= _MAX_CHANGES or upkeep != self._upkeep:
            self.clear()
        elif seq > self._cursor and self._row_of:
            changed = connection.execute(_CHANGED, (self._cursor, PASSAGES_PER_MEMORY)).fetchall()
            sessions = {session for _, session in changed} | {self._session_of.get(number) for number, _ in changed}
            self._drop(session for session in sessions if session is not None)
        self._version, self._cursor, self._upkeep = version, seq, upkeep

    def _drop(self, sessions: Iterable[int]) -> None:
        for session in sessions:
            for number in self._numbers_of.pop(session, ()):
                self._session_of.pop(number // PASSAGES_PER_MEMORY, None)
                if (row := self._row_of.pop(number, None)) is not None:
                    self._plain[row], self._requested[row] = _DROPPED, None

    def _add(self, rows: Sequence[RankedRow], *, space_no: int) -> None:
        first = len(self._plain)
        integers: list[tuple[int, ...]] = []
        for passage, session in rows:
            if passage.id in self._row_of:
                continue
            start, end = self._terms.add(passage.terms)
            speaker = self._speakers.setdefault(passage.who, len(self._speakers))
            if speaker == len(self._speaker_names):
                self._speaker_names.append(passage.who)
            integers.append((
                passage.id, space_no, passage.date, passage.asks, passage.tier, passage.confirmed or passage.date,
                passage.accesses, self._counting, speaker, start, end, *_NOWHERE,
            ))  # fmt: skip
            self._row_of[passage.id] = len(self._plain)
            self._requested.append(None)
            self._plain.append(passage._replace(before=(), after=()) if passage.before or passage.after else passage)
            self._numbers_of.setdefault(session, []).append(passage.id)
            self._session_of[passage.id // PASSAGES_PER_MEMORY] = session
        end = len(self._plain)
        self._reserve(end)
        if integers:
            self._integers[first:end] = integers
            self._relevances[first:end] = [passage.relevance for passage in self._plain[first:]]

    def _add_neighbours(self, passages: Sequence[StoredPassage]) -> None:
        """Note the rows around passages, after all of them were added."""
        row_of = self._row_of
        around: list[list[int]] = []
        for passage in passages:
            row = row_of[passage.id]
            before, after = ([row_of[number] for number in side] for side in (passage.before, passage.after))
            around.append([*before, *_NOWHERE[len(before) : AROUND], *after, *_NOWHERE[len(after) : AROUND]])
            accesses = self._plain[row].accesses
            self._requested[row] = passage if passage.accesses == accesses else passage._replace(accesses=accesses)
        if around:
            self._integers[[row_of[passage.id] for passage in passages], _FIRST_AROUND:] = around

    def _reserve(self, count: int) -> None:
        if count > len(self._integers):
            more = max(count, 2 * len(self._integers), _MIN_ROWS) - len(self._integers)
            self._integers = np.concatenate([self._integers, np.zeros((more, _WIDTH), dtype=np.int64)])
            self._relevances = np.concatenate([self._relevances, np.zeros(more)])
            self._position_of = np.full(len(self._integers), -1)

    def _rows_of(self, numbers: Sequence[int]) -> list[int] | None:
        try:
            return [self._row_of[number] for number in numbers]
        except KeyError:
            return None

    def _assemble(
        self, space_no: int, numbers: list[int], *, connection: apsw.Connection | None = None
    ) -> PassageList | None:
        listed = self._rows_of(numbers)
        if not listed:
            return None
        rows = np.array(listed)
        requested = [passage for row in listed if (passage := self._requested[row]) is not None]
        own = self._integers.take(rows, axis=0)
        if len(requested) < len(numbers) or (own[:, _SPACE] != space_no).any():
            return None
        if own[:, _NUMBER].tolist() != numbers:
            # Damaged: the store has the same, and the next recalls fill the table again.
            self.clear()
            return None
        around = own[:, _FIRST_AROUND:]
        every = self._with_others(rows, around)
        # The positions of all rows in the list; the last entry, which no row has, stands for none.
        self._position_of[every] = np.arange(len(every))
        positions = np.where(around >= 0, self._position_of[around], -1)
        self._position_of[every] = -1
        integers = self._integers.take(every, axis=0)
        if (integers[:, _COUNTED] != self._counting).any():
            if connection is None:
                # Outside of its transaction there may be newer ones, of accesses that `count_accesses` adds later.
                return None
            self._read_accesses(connection, every)
            integers = self._integers.take(every, axis=0)
        # The speakers of these rows alone; the unknown one is always the first.
        is_speaker = np.zeros(len(self._speaker_names), dtype=np.intp)
        is_speaker[integers[:, _SPEAKER]] = is_speaker[0] = 1
        columns = PassageColumns(
            numbers=integers[:, _NUMBER],
            dates=integers[:, _DATE],
            asks=integers[:, _ASKS],
            tiers=integers[:, _TIER],
            relevances=self._relevances[every],
            confirmed=integers[:, _CONFIRMED],
            accesses=integers[:, _ACCESSES],
            speaker_of=(is_speaker.cumsum() - 1)[integers[:, _SPEAKER]],
            speakers=tuple(map(self._speaker_names.__getitem__, is_speaker.nonzero()[0].tolist())),
            around=positions,
            terms=_TermRows(self._terms, integers[:, _START], integers[:, _END]),
        )
        others: list[int] = every[len(listed) :].tolist()
        return PassageList([*requested, *map(self._plain.__getitem__, others)], columns)

    def _with_others(self, rows: NDArray[np.intp], around: Integers) -> NDArray[np.intp]:
        """Return the rows, and then those around them that are not among them, each once."""
        position_of = self._position_of
        others = around[around >= 0]
        places = np.arange(len(others))
        # The last place of each; of the rows themselves none.
        position_of[others] = places
        position_of[rows] = -1
        others = others[position_of[others] == places]
        position_of[others] = -1
        return np.concatenate([rows, others])

    def _read_accesses(self, connection: apsw.Connection, every: NDArray[np.intp]) -> None:
        """Read the counts again after another process has counted accesses: the log does not tell of which memories."""
        stale = every[self._integers[every, _COUNTED] != self._counting]
        if not len(stale):
            return
        memories, place_of = np.unique(self._integers[stale, _NUMBER] // PASSAGES_PER_MEMORY, return_inverse=True)
        # SQLite joins them to one row: each row would wait for the interpreter.
        ((joined,),) = connection.execute(
            """SELECT group_concat(coalesce(m.access_count, 0))
               FROM json_each(?) listed LEFT JOIN memories m ON m.no = listed.value""",
            (json_list(memories.tolist()),),
        ).fetchall()
        accesses = np.fromstring(joined, dtype=np.int64, sep=",")[place_of]
        changed = accesses != self._integers[stale, _ACCESSES]
        self._integers[stale, _COUNTED] = self._counting
        for row, count in zip(stale[changed].tolist(), accesses[changed].tolist(), strict=True):
            self._set_accesses(row, count)

    def _set_accesses(self, row: int, count: int) -> None:
        self._integers[row, _ACCESSES] = count
        self._plain[row] = self._plain[row]._replace(accesses=count)
        if (requested := self._requested[row]) is not None:
            self._requested[row] = requested._replace(accesses=count)


class _Terms:
    """The terms of all rows as numbers, one after the other."""

    def __init__(self) -> None:
        self.number_of: dict[str, int] = {}
        self.numbers: NDArray[np.int32] = np.zeros(0, dtype=np.int32)
        self._used = 0

    def add(self, terms: str) -> tuple[int, int]:
        """Add the terms of a row; return where they begin and end."""
        number_of = self.number_of
        numbers = [number_of.setdefault(term, len(number_of)) for term in terms.split(" ")] if terms else []
        start, end = self._used, self._used + len(numbers)
        if end > len(self.numbers):
            more = max(end, 2 * len(self.numbers), _MIN_ROWS) - len(self.numbers)
            self.numbers = np.concatenate([self.numbers, np.zeros(more, dtype=np.int32)])
        self.numbers[start:end] = numbers
        self._used = end
        return start, end


class _TermRows:
    """The terms of some rows."""

    def __init__(self, terms: _Terms, starts: Integers, ends: Integers) -> None:
        self._number_of, self._numbers = terms.number_of, terms.numbers
        self._starts, self._sizes = starts, ends - starts

    @property
    def lengths(self) -> NDArray[np.float32]:
        """The number of terms of each row."""
        return self._sizes.astype(np.float32)

    def count(self, terms: Sequence[str]) -> NDArray[np.float32]:
        """Return how often each term occurs in each row: one row for each term."""
        size, row_ends = len(self._sizes), self._sizes.cumsum()
        numbers = [self._number_of.get(term, -1) for term in terms]
        # The last entry stands for terms that no row has.
        slot_of = np.full(len(self._number_of) + 1, -1, dtype=np.int32)
        slot_of[numbers] = np.arange(len(terms))
        slot_of[-1] = -1
        total = int(row_ends[-1]) if size else 0
        places = np.arange(total)
        places += (self._starts - row_ends + self._sizes).repeat(self._sizes)
        slots = slot_of.take(self._numbers.take(places))
        matches = (slots >= 0).nonzero()[0]
        cells = slots[matches] * size + row_ends.searchsorted(matches, side="right")
        counts = np.bincount(cells, minlength=len(terms) * size)
        return counts.reshape(len(terms), size).astype(np.float32)
