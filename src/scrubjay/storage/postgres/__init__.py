"""The record store on PostgreSQL."""

from scrubjay.storage.postgres.backup import restore_backup
from scrubjay.storage.postgres.connection import Address
from scrubjay.storage.postgres.store import PostgresStore

__all__ = ["Address", "PostgresStore", "restore_backup"]
