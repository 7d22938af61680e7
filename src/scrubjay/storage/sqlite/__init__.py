"""The embedded record store."""

from scrubjay.storage.sqlite.backup import new_store_id, verify_backup
from scrubjay.storage.sqlite.store import SqliteStore

__all__ = ["SqliteStore", "new_store_id", "verify_backup"]
