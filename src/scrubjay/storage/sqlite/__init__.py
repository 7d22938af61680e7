"""The embedded record store."""

from scrubjay.storage.sqlite.store import SqliteStore
from scrubjay.storage.sqlite.upkeep import new_store_id, verify_backup

__all__ = ["SqliteStore", "new_store_id", "verify_backup"]
