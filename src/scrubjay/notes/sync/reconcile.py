"""What is to be done about one note, by what became of its file and of its memory since they last agreed."""

from enum import StrEnum

__all__ = ["File", "Kept", "Step", "decide"]


class File(StrEnum):
    """A note's file, beside what it was when both agreed."""

    MISSING = "missing"
    SAME = "same"
    CHANGED = "changed"


class Kept(StrEnum):
    """A note's memory, beside what it was when both agreed.

    `RELABELLED`: it says the same, but its file would be called or linked otherwise. `AWAY`: it is there and not alive,
    as in the trash. `GONE`: it was purged.
    """

    SAME = "same"
    RELABELLED = "relabelled"
    CHANGED = "changed"
    AWAY = "away"
    GONE = "gone"


class Step(StrEnum):
    """What follows."""

    NOTHING = "nothing"
    # Store to file, file to store, and both ways.
    WRITE = "write"
    TAKE = "take"
    JOIN = "join"
    # The file was deleted: so is the memory. The memory was: so is the file, or what it says is kept first.
    TRASH = "trash"
    REMOVE = "remove"
    RESCUE = "rescue"
    # There is a file of a memory that nobody knows to have one, of one that is not alive, or of none.
    ADOPT = "adopt"
    RESTORE = "restore"
    CREATE = "create"
    # Neither is there any more.
    DROP = "drop"


_AGREED: dict[tuple[File, Kept], Step] = {
    (File.SAME, Kept.SAME): Step.NOTHING,
    (File.SAME, Kept.RELABELLED): Step.WRITE,
    (File.SAME, Kept.CHANGED): Step.WRITE,
    (File.SAME, Kept.AWAY): Step.REMOVE,
    (File.SAME, Kept.GONE): Step.REMOVE,
    (File.CHANGED, Kept.SAME): Step.TAKE,
    (File.CHANGED, Kept.RELABELLED): Step.JOIN,
    (File.CHANGED, Kept.CHANGED): Step.JOIN,
    (File.CHANGED, Kept.AWAY): Step.RESCUE,
    (File.CHANGED, Kept.GONE): Step.CREATE,
    (File.MISSING, Kept.SAME): Step.TRASH,
    (File.MISSING, Kept.RELABELLED): Step.TRASH,
    # Who deleted the file did not know what it says now.
    (File.MISSING, Kept.CHANGED): Step.WRITE,
    (File.MISSING, Kept.AWAY): Step.DROP,
    (File.MISSING, Kept.GONE): Step.DROP,
}
_UNKNOWN: dict[Kept, Step] = {
    Kept.SAME: Step.ADOPT,
    Kept.RELABELLED: Step.ADOPT,
    Kept.CHANGED: Step.ADOPT,
    Kept.AWAY: Step.RESTORE,
    Kept.GONE: Step.CREATE,
}


def decide(*, agreed: bool, file: File, kept: Kept) -> Step:
    """The step for one note; `agreed` is whether both sides have ever been known to say the same."""
    if agreed:
        return _AGREED[file, kept]
    if file is not File.MISSING:
        return _UNKNOWN[kept]
    if kept is Kept.GONE:
        return Step.DROP
    return Step.NOTHING if kept is Kept.AWAY else Step.WRITE
