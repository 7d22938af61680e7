"""The folder of notes on disk, the ledger of what was agreed, and the watch over it."""
