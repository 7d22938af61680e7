"""How a client comes to an engine, and leaves it."""

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from scrubjay.client.connect import ConnectionTarget
from scrubjay.errors import InvalidInput, StoreError
from scrubjay.model.checks import wrong_type
from scrubjay.model.draft import Caller
from scrubjay.model.memory import Json, Source
from scrubjay.model.snapshot import source_from_json
from scrubjay.rpc.engine import RemoteEngine
from scrubjay.settings import Settings

if TYPE_CHECKING:
    from scrubjay.engine import Engine
    from scrubjay.notes.service import Notes


class Connection:
    """A client that is open while its context is; its verbs are added by those that derive from it."""

    def __init__(
        self,
        *,
        path: str | Path | None = None,
        url: str = "",
        token: str | None = None,
        space: str | None = None,
        agent: str | None = None,
        run: str = "",
        settings: Settings | None = None,
    ) -> None:
        chosen = settings or Settings.load(home=str(path) if path else None, space=space, agent=agent)
        chosen = chosen.with_given(token=token)
        if path and url:
            raise InvalidInput("a client goes to a folder or to an address", hint="Give path or url", field="url")
        home = str(path) if path else chosen.home
        self._settings = replace(chosen, home=home, space=space or chosen.space, agent=agent or chosen.agent)
        self._who = Caller(space=self._settings.space, agent=self._settings.agent, run=run)
        names_space = space is not None or self._settings.space != Settings().space
        self._way = ConnectionTarget(settings=self._settings, url=url, alone=path is not None, names_space=names_space)
        self._engine: Engine | RemoteEngine | None = None
        self._notes: Notes | None = None
        self._opening_notes = asyncio.Lock()

    async def __aenter__(self) -> Self:
        self._engine = await self._way.enter()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._engine = self._notes = None
        await self._way.leave()

    @property
    def _open(self) -> "Engine | RemoteEngine":
        if self._engine is None:
            raise StoreError("the client is not open", hint="Use it as `async with MemoryClient() as memory:`")
        return self._engine

    async def _noting(self) -> "Notes | RemoteEngine":
        """Whoever does the verbs of notes: a daemon, or a desk over the engine here, set up when it is first needed."""
        engine = self._open
        if isinstance(engine, RemoteEngine):
            return engine
        async with self._opening_notes:
            if self._notes is None:
                self._notes = await self._way.notes(engine)
            return self._notes

    def _source(self, given: Source | Mapping[str, Json] | None) -> Source:
        if given is not None and not isinstance(given, Source | Mapping):
            raise wrong_type("source", "an object", given)
        source = given if isinstance(given, Source) else source_from_json(dict(given or {}))
        return source if source.agent else replace(source, agent=self._who.agent)
