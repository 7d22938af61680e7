"""The record store on PostgreSQL."""

from scrubjay.storage.postgres.address import Address
from scrubjay.storage.postgres.restore import restore_backup
from scrubjay.storage.postgres.store import PostgresStore

__all__ = ["Address", "PostgresStore", "restore_backup"]
