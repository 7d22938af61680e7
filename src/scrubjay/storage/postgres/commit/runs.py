"""The runs of a commit: calls with the same run and agent share a row."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from scrubjay.model.change import Origin
from scrubjay.storage.postgres.commit.plan import Author
from scrubjay.storage.postgres.commit.rows import Record, RowBatch
from scrubjay.storage.postgres.query import Rows
from scrubjay.storage.rows import key_of


@dataclass(slots=True)
class Runs:
    """The existing runs of a commit, and those to insert."""

    origin: Origin
    known: dict[Author, int] = field(default_factory=dict[Author, int])
    fresh: list[Author] = field(default_factory=list[Author])
    # The run that the commit undoes, and the number of its last change.
    undone: int | None = None
    undone_seq: int = 0

    @property
    def author(self) -> Author:
        """The run and agent of the commit."""
        return self.origin.run, self.origin.agent

    @property
    def number(self) -> int:
        """The number of the commit's own run, once it is reserved."""
        return self.known[self.author]

    def take_numbers(self, numbers: Sequence[int]) -> None:
        """Assign numbers to the runs to insert."""
        self.known |= dict(zip(self.fresh, numbers, strict=True))

    def put(self, document: RowBatch, *, last_seq: int) -> None:
        """Add the rows; the commit's own run becomes the newest of its agent."""
        own = self.number
        document.put(
            "runs",
            [
                {
                    "no": self.known[author],
                    "id": author[0],
                    "id_key": key_of(author[0]),
                    "agent": author[1],
                    "agent_key": key_of(author[1]),
                    "undoes": self.undone if author == self.author else None,
                    "undone": False,
                    "last_seq": last_seq if author == self.author else 0,
                }
                for author in self.fresh
            ],
        )
        updated: list[Record] = []
        if self.author not in self.fresh and last_seq:
            updated.append({"no": own, "last_seq": last_seq, "undone": False})
        if self.undone is not None:
            updated.append({"no": self.undone, "last_seq": self.undone_seq, "undone": True})
        document.put("updated_runs", updated)


def names_of(origin: Origin, authors: Sequence[Author] = ()) -> list[str]:
    """Return the names of the runs to look up."""
    return [name for name in (origin.run, origin.undoes, *(run for run, _ in authors)) if name]


def runs_of(origin: Origin, rows: Rows, authors: Sequence[Author] = ()) -> Runs:
    """Return the runs of a commit, given the rows of the runs with its names."""
    runs = Runs(origin)
    open_runs = {
        (str(name), str(agent)): int(number)
        for number, name, agent, undoes, undone, _ in rows
        if undoes is None and not undone
    }
    for author in dict.fromkeys((runs.author, *authors)):
        # An undo is always a run of its own.
        if author in open_runs and not (origin.undoes and author == runs.author):
            runs.known[author] = open_runs[author]
        else:
            runs.fresh.append(author)
    if origin.undoes:
        undoable = [(int(row[0]), int(row[5])) for row in rows if row[1] == origin.undoes and not row[4]]
        runs.undone, runs.undone_seq = max(undoable, default=(None, 0), key=lambda run: run[0] or 0)
    return runs
