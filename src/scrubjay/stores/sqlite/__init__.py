"""The embedded record store."""

from scrubjay.stores.sqlite.store import SqliteStore
from scrubjay.stores.sqlite.upkeep import new_store_id, verify_backup

__all__ = ["SqliteStore", "new_store_id", "verify_backup"]
