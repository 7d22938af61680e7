"""How values look on the way in and out: ids are texts, as everywhere."""

from psycopg import adapters
from psycopg.abc import Buffer
from psycopg.adapt import AdaptersMap, Loader
from psycopg.pq import Format

from scrubjay.storage.rows import id_text


class _WrittenId(Loader):
    """An id as the server writes it."""

    format = Format.TEXT

    def load(self, data: Buffer) -> str:
        return bytes(data).decode()


class _PackedId(Loader):
    """An id in 16 bytes."""

    format = Format.BINARY

    def load(self, data: Buffer) -> str:
        return id_text(bytes(data))


class Adapting:
    """What connections are made with."""

    def __init__(self) -> None:
        self._adapters = AdaptersMap(adapters)
        for loader in (_WrittenId, _PackedId):
            self._adapters.register_loader("uuid", loader)

    @property
    def adapters(self) -> AdaptersMap:
        """The translations that connections use."""
        return self._adapters

    @property
    def connection(self) -> None:
        """They belong to no connection."""
        return
