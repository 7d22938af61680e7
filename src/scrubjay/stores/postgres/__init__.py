"""The record store on PostgreSQL."""

from scrubjay.stores.postgres.address import Address
from scrubjay.stores.postgres.restoring import restore_backup
from scrubjay.stores.postgres.store import PostgresStore

__all__ = ["Address", "PostgresStore", "restore_backup"]
