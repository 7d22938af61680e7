"""Synchronization of the store and the folder of notes: the table that decides, and the state machine that reads it.

For each note, the ledger holds the last state that file and store had in common. We compare both sides with it, and
look up the step in this table. "Links" means the links or the file name that the file should have by now.

    file      memory    links     step
    --------  --------  --------  --------------------------------------------------------------------
    same      same      same      NOTHING
    same      same      changed   WRITE: the store has news for the file
    same      changed   any       WRITE
    same      inactive  any       REMOVE: the memory was deleted, so we delete the file
    same      purged    any       REMOVE
    changed   same      same      READ: the file has news for the store
    changed   same      changed   MERGE: both have news
    changed   changed   any       MERGE
    changed   inactive  any       RESCUE: keep the edit as a version of the memory, then delete the file
    changed   purged    any       CREATE: the file becomes a new memory
    missing   same      any       TRASH: the file was deleted, so we delete the memory
    missing   changed   any       WRITE: the user who deleted the file did not know this change
    missing   inactive  any       FORGET: remove the ledger entry
    missing   purged    any       FORGET

Without a ledger entry, there is nothing to compare with:

    file      memory    step
    --------  --------  --------------------------------------------------------------------
    exists    exists    ADOPT: find the version that the file shows, and merge from there
    exists    inactive  RESTORE: the file is back, so we restore the memory
    exists    none      CREATE
    none      exists    WRITE
    none      inactive  NOTHING
    none      none      FORGET

`reconciler` is the flow: it finds the state of each note (`state`), asks `decide` for the step, and performs it with
`from_files` and `to_files`. `dirty` explains how a rename reaches the notes that link to the renamed one.
"""

from enum import StrEnum

__all__ = ["FileChange", "MemoryChange", "Step", "decide"]


class FileChange(StrEnum):
    """The file of a note, compared with the ledger."""

    MISSING = "missing"
    SAME = "same"
    CHANGED = "changed"


class MemoryChange(StrEnum):
    """The memory of a note, compared with the ledger.

    `RELINKED`: the text is the same, but its file should have other links or another name. `INACTIVE`: it exists and is
    not live, as in the trash. `PURGED`: it does not exist.
    """

    SAME = "same"
    RELINKED = "relinked"
    CHANGED = "changed"
    INACTIVE = "inactive"
    PURGED = "purged"


class Step(StrEnum):
    """The action for one note; the table above gives the meanings."""

    NOTHING = "nothing"
    WRITE = "write"
    READ = "read"
    MERGE = "merge"
    TRASH = "trash"
    REMOVE = "remove"
    RESCUE = "rescue"
    ADOPT = "adopt"
    RESTORE = "restore"
    CREATE = "create"
    FORGET = "forget"


_WITH_ENTRY: dict[tuple[FileChange, MemoryChange], Step] = {
    (FileChange.SAME, MemoryChange.SAME): Step.NOTHING,
    (FileChange.SAME, MemoryChange.RELINKED): Step.WRITE,
    (FileChange.SAME, MemoryChange.CHANGED): Step.WRITE,
    (FileChange.SAME, MemoryChange.INACTIVE): Step.REMOVE,
    (FileChange.SAME, MemoryChange.PURGED): Step.REMOVE,
    (FileChange.CHANGED, MemoryChange.SAME): Step.READ,
    (FileChange.CHANGED, MemoryChange.RELINKED): Step.MERGE,
    (FileChange.CHANGED, MemoryChange.CHANGED): Step.MERGE,
    (FileChange.CHANGED, MemoryChange.INACTIVE): Step.RESCUE,
    (FileChange.CHANGED, MemoryChange.PURGED): Step.CREATE,
    (FileChange.MISSING, MemoryChange.SAME): Step.TRASH,
    (FileChange.MISSING, MemoryChange.RELINKED): Step.TRASH,
    (FileChange.MISSING, MemoryChange.CHANGED): Step.WRITE,
    (FileChange.MISSING, MemoryChange.INACTIVE): Step.FORGET,
    (FileChange.MISSING, MemoryChange.PURGED): Step.FORGET,
}


def decide(*, has_entry: bool, file: FileChange, memory: MemoryChange) -> Step:
    """Return the step for one note; `has_entry`: the ledger knows the last common state."""
    if has_entry:
        return _WITH_ENTRY[file, memory]
    is_active = memory not in (MemoryChange.INACTIVE, MemoryChange.PURGED)
    if file is FileChange.MISSING:
        if is_active:
            return Step.WRITE
        return Step.FORGET if memory is MemoryChange.PURGED else Step.NOTHING
    if is_active:
        return Step.ADOPT
    return Step.CREATE if memory is MemoryChange.PURGED else Step.RESTORE
