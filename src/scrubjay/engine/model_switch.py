"""The embedding model in use: its embedder and its index, which change together while requests go on."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING

from scrubjay.errors import InvalidInput, ScrubjayError, StaleVersion
from scrubjay.indexing.backfill import backfill
from scrubjay.indexing.reembed import build_beside, embed_all
from scrubjay.model.document import Document
from scrubjay.model.media import Media
from scrubjay.model.memory import Json
from scrubjay.model.passage import Vector
from scrubjay.model.query import Filter
from scrubjay.model.results import Reembedded
from scrubjay.ports import Clock, DocumentStore, Embedder, MediaSource, Profile, Progress, RecordStore

if TYPE_CHECKING:
    from scrubjay.engine.dependencies import EngineIndex

_SPACE, _COLLECTION, _KEY = "", "embedding", "model"
_PROBE = "Scrub jays remember what they hid, where and when."
# Requests that began with the former model end with it, and other servers notice the change within this time.
_GRACE_SECONDS = 60.0

Choice = Mapping[str, Json]
"""The settings of a model, as they are stored: the embedder, and the name, address and dimension of the model."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ModelInUse:
    """A model: its embedder, the index of its vectors, and the pictures that it sees."""

    embedder: Embedder
    index: "EngineIndex"
    media_source: MediaSource | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RetiringModel:
    """A former model, which requests may still use that began with it."""

    model: ModelInUse
    choice: Choice


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenModel:
    """The model that `reembed` has chosen, the settings that it replaces, and since when."""

    choice: Choice
    replaces: Choice
    at: datetime | None = None


async def read_chosen_model(documents: DocumentStore) -> ChosenModel | None:
    """Return the model that `reembed` has chosen, if any."""
    document = await documents.document(_SPACE, _COLLECTION, _KEY)
    if document is None:
        return None
    choice, replaces = document.value.get("choice"), document.value.get("replaces")
    return ChosenModel(
        choice=choice if isinstance(choice, dict) else {}, replaces=replaces if isinstance(replaces, dict) else {},
        at=document.at,
    )  # fmt: skip


async def write_chosen_model(documents: DocumentStore, chosen: ChosenModel | None, *, now: datetime) -> None:
    """Choose a model for every process that uses the store, or none: then their settings decide."""
    if chosen is None:
        await documents.delete_document(_SPACE, _COLLECTION, _KEY)
        return
    value: dict[str, Json] = {"choice": dict(chosen.choice), "replaces": dict(chosen.replaces)}
    while True:
        earlier = await documents.document(_SPACE, _COLLECTION, _KEY)
        document = Document(space=_SPACE, collection=_COLLECTION, key=_KEY, value=value, at=now)
        with suppress(StaleVersion):
            await documents.put_document(document, base=earlier.version if earlier else None)
            return


class ModelSwitch:
    """Holds the model in use. `embedder` and `index` always stand for the current one.

    `choose` makes a choice from what a user names, `open_model` opens it; `settings` are the choice of this process. A
    request takes `current` once, and so never mixes two models.
    """

    def __init__(
        self,
        current: ModelInUse,
        *,
        choice: Choice,
        settings: Choice,
        choose: Callable[[Choice, str, str, int], Choice],
        open_model: Callable[[Choice], ModelInUse],
        store: RecordStore,
        clock: Clock,
        grace: float = _GRACE_SECONDS,
    ) -> None:
        self.current = current
        self.choice = choice
        self.embedder = CurrentEmbedder(self)
        self.index = CurrentIndex(self)
        self._settings = settings
        self._choose = choose
        self._open_model = open_model
        self._store = store
        self._clock = clock
        self._grace = grace
        self._turn = asyncio.Lock()
        self._retiring: dict[RetiringModel, asyncio.Task[None]] = {}
        self._listeners: list[Callable[[], None]] = []

    @property
    def former(self) -> list[ModelInUse]:
        """The models that requests may still use which began with them."""
        return [former.model for former in self._retiring]

    def on_change(self, listener: Callable[[], None]) -> None:
        """Call a function after each change of the model."""
        self._listeners.append(listener)

    async def reembed(
        self, model: str, *, url: str = "", dimension: int = 0, progress: Progress | None = None
    ) -> Reembedded:
        """Make the vectors and the index of a model, then use it; until then, and after an error, nothing changes."""
        async with self._turn:
            choice = self._choose(self.choice, model, url, dimension)
            new = self._take_back(choice) or self._open_model(choice)
            try:
                previous = await _model_name(self.current.embedder)
                profile = await new.embedder.profile()
                await self._require_same_dimension(profile)
                if profile.model == previous:
                    return await self._complete(new, choice, profile, progress=progress)
                (probe,) = await new.embedder.embed([_PROBE])
                vectors = await embed_all(
                    store=self._store, embedder=new.embedder, clock=self._clock, media_source=new.media_source,
                    progress=progress,
                )  # fmt: skip
                await build_beside(
                    new.index, probe, store=self._store, embedder=new.embedder, clock=self._clock,
                    media_source=new.media_source,
                )  # fmt: skip
                # From here on every process uses the new model, also after a crash.
                await self._write_choice(choice)
            except BaseException:
                await self._discard(new)
                raise
            self._use(new, choice)
            # What was written between the last look and the change.
            await self._embed_rest()
            return Reembedded(model=profile.model, previous=previous, vectors=vectors)

    async def follow(self) -> bool:
        """Change to the model that another process has chosen; returns whether there was a change."""
        async with self._turn:
            chosen = await read_chosen_model(self._store)
            applies = chosen is not None and chosen.replaces == self._settings
            choice = chosen.choice if chosen is not None and applies else self._settings
            if choice == self.choice:
                return False
            new = self._take_back(choice) or self._open_model(choice)
            try:
                (probe,) = await new.embedder.embed([_PROBE])
                await build_beside(
                    new.index, probe, store=self._store, embedder=new.embedder, clock=self._clock,
                    media_source=new.media_source,
                )  # fmt: skip
            except BaseException:
                await _close(new)
                raise
            self._use(new, choice)
            return True

    async def close(self) -> None:
        """Close the current model and former ones."""
        for former, task in list(self._retiring.items()):
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            await self._discard(former.model)
        self._retiring.clear()
        await _close(self.current)

    def _use(self, new: ModelInUse, choice: Choice) -> None:
        former = RetiringModel(model=self.current, choice=self.choice)
        self.current, self.choice = new, choice
        for listener in self._listeners:
            listener()
        self._retiring[former] = asyncio.create_task(self._retire(former))

    def _take_back(self, choice: Choice) -> ModelInUse | None:
        """Return a former model that is still open: two indexes of one model would be in each other's way."""
        for former, task in list(self._retiring.items()):
            if former.choice == choice:
                task.cancel()
                del self._retiring[former]
                return former.model
        return None

    async def _retire(self, former: "RetiringModel") -> None:
        await asyncio.sleep(self._grace)
        # Requests that began before the change, and other servers, may have written vectors of the former model only.
        await self._embed_rest()
        self._retiring.pop(former, None)
        await self._discard(former.model)

    async def _discard(self, model: ModelInUse) -> None:
        if model.index is not self.current.index:
            with suppress(ScrubjayError):
                await model.index.discard()
        await model.embedder.close()

    async def _write_choice(self, choice: Choice) -> None:
        chosen = None if choice == self._settings else ChosenModel(choice=choice, replaces=self._settings)
        await write_chosen_model(self._store, chosen, now=self._clock.now())

    async def _complete(
        self, new: ModelInUse, choice: Choice, profile: Profile, *, progress: Progress | None
    ) -> Reembedded:
        """Embed what the model in use has not embedded; it may come from another address now."""
        before = await self._store.point_count(profile.model)
        await backfill(
            store=self._store, embedder=new.embedder, clock=self._clock, media_source=new.media_source,
            progress=progress,
        )  # fmt: skip
        await self.current.index.after_commit()
        await new.index.close()
        if choice == self.choice:
            await new.embedder.close()
        else:
            await self._write_choice(choice)
            self._use(replace(new, index=self.current.index), choice)
        vectors = max(0, await self._store.point_count(profile.model) - before)
        return Reembedded(model=profile.model, previous=profile.model, vectors=vectors)

    async def _embed_rest(self) -> None:
        # The next check of the vectors finds what this one could not embed.
        with suppress(ScrubjayError):
            await backfill(
                store=self._store, embedder=self.current.embedder, clock=self._clock,
                media_source=self.current.media_source,
            )  # fmt: skip
            await self.current.index.after_commit()

    async def _require_same_dimension(self, profile: Profile) -> None:
        stored = (await self._store.models()).get(profile.model, profile.dimension)
        if stored != profile.dimension:
            raise InvalidInput(
                f"model {profile.model!r} has {stored} dimensions in this store, and {profile.dimension} now",
                hint="Give the changed model another name",
                model=profile.model,
            )


class CurrentEmbedder:
    """The embedder of the model in use."""

    def __init__(self, models: ModelSwitch) -> None:
        self._models = models

    async def profile(self) -> Profile:
        """Return the profile of the model in use."""
        return await self._models.current.embedder.profile()

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        """Return the vectors of texts to store, in order."""
        return await self._models.current.embedder.embed(texts)

    async def embed_query(self, text: str) -> Vector:
        """Return the vector of a question."""
        return await self._models.current.embedder.embed_query(text)

    async def embed_media(self, items: Sequence[Media]) -> list[Vector | None]:
        """Return the vectors of media, in order."""
        return await self._models.current.embedder.embed_media(items)

    async def close(self) -> None:
        """Do nothing: the switch closes its models."""


class CurrentIndex:
    """The index of the model in use."""

    def __init__(self, models: ModelSwitch) -> None:
        self._models = models

    async def search(self, space: str, vector: Vector, filter: Filter, *, limit: int) -> list[tuple[int, float]]:
        """Return the passages nearest to a vector."""
        return await self._models.current.index.search(space, vector, filter, limit=limit)

    async def open(self) -> None:
        """Open the index."""
        await self._models.current.index.open()

    async def after_commit(self) -> None:
        """Apply the newest commits."""
        await self._models.current.index.after_commit()

    async def after_purge(self) -> None:
        """Remove purged points, also from the index of a former model."""
        await self._models.current.index.after_purge()
        for former in self._models.former:
            await former.index.after_purge()

    async def rebuild(self) -> None:
        """Build the index again."""
        await self._models.current.index.rebuild()

    async def settle(self) -> None:
        """Wait for a running build."""
        await self._models.current.index.settle()

    async def lag(self) -> int:
        """Return the number of changes that it has not applied."""
        return await self._models.current.index.lag()

    async def describe(self) -> dict[str, str | int | bool]:
        """Return its kind and its progress."""
        return await self._models.current.index.describe()

    async def discard(self) -> None:
        """Do nothing: the switch discards former indexes."""

    async def close(self) -> None:
        """Do nothing: the switch closes its models."""


async def _model_name(embedder: Embedder) -> str:
    try:
        return (await embedder.profile()).model
    except ScrubjayError:
        # A model that is gone is a reason to use another one.
        return ""


async def _close(model: ModelInUse) -> None:
    await model.index.close()
    await model.embedder.close()
