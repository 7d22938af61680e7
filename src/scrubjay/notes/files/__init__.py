"""The folder of notes on disk, the ledger of its last synchronized state, and the watcher of its changes."""
