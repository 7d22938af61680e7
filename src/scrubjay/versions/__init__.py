"""The versions of a memory: history, revert, undo, branches and their merges."""
