"""The embedding model in use: its embedder and its index, which change together while requests go on."""

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

from scrubjay.cancelling import cancel
from scrubjay.errors import InvalidInput, ScrubjayError, StaleVersion
from scrubjay.indexing.backfill import backfill
from scrubjay.indexing.reembed import build_beside, embed_all
from scrubjay.lazy import dataclass
from scrubjay.model.document import Document
from scrubjay.model.media import Media
from scrubjay.model.memory import Json
from scrubjay.model.passage import Vector
from scrubjay.model.query import Filter
from scrubjay.model.results import Reembedded
from scrubjay.ports import Clock, DocumentStore, Embedder, MediaSource, Profile, Progress, RecordStore

if TYPE_CHECKING:
    from scrubjay.engine.dependencies import EngineIndex

_log = logging.getLogger(__name__)
_SPACE, _COLLECTION, _KEY = "", "embedding", "model"
_PROBE = "Scrub jays remember what they hid, where and when."
# Requests that began with the former model end with it, and other servers notice the change within this time.
_GRACE_SECONDS = 60.0
# An import is large if so many memories have no vector, and at least this part of the store.
_BULK = 1_000
_BULK_SHARE = 4

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
    """The model that `reembed` has chosen, the settings that it replaces, and since when.

    A temporary one is in use only until the vectors of the settings' model are complete. If that of the settings is
    chosen itself, this says since when.
    """

    choice: Choice
    replaces: Choice
    at: datetime | None = None
    temporary: bool = False

    def holds_for(self, settings: Choice) -> bool:
        """Return whether it replaces these settings. The default, `bundled`, was `minilm` in earlier versions."""
        was = {**settings, "embedder": "minilm"} if settings.get("embedder") == "bundled" else settings
        return self.replaces in (settings, was)


async def read_chosen_model(documents: DocumentStore) -> ChosenModel | None:
    """Return the model that `reembed` has chosen, if any."""
    return _chosen_model(await documents.document(_SPACE, _COLLECTION, _KEY))


def _chosen_model(document: Document | None) -> ChosenModel | None:
    if document is None:
        return None
    choice, replaces = document.value.get("choice"), document.value.get("replaces")
    return ChosenModel(
        choice=choice if isinstance(choice, dict) else {}, replaces=replaces if isinstance(replaces, dict) else {},
        at=document.at, temporary=document.value.get("temporary") is True,
    )  # fmt: skip


async def write_chosen_model(
    documents: DocumentStore, chosen: ChosenModel | None, *, now: datetime,
    unless: Callable[[ChosenModel | None], bool] = lambda _: False,
) -> bool:  # fmt: skip
    """Choose a model for every process that uses the store, or none: then their settings decide.

    Changes nothing, and returns False, if `unless` is true of the model that is chosen so far.
    """
    if chosen is None:
        return await documents.delete_document(_SPACE, _COLLECTION, _KEY)
    value: dict[str, Json] = {"choice": dict(chosen.choice), "replaces": dict(chosen.replaces)}
    if chosen.temporary:
        value["temporary"] = True
    while True:
        earlier = await documents.document(_SPACE, _COLLECTION, _KEY)
        if unless(_chosen_model(earlier)):
            return False
        document = Document(space=_SPACE, collection=_COLLECTION, key=_KEY, value=value, at=now)
        with suppress(StaleVersion):
            await documents.put_document(document, base=earlier.version if earlier else None)
            return True


class _OvertakenError(Exception):
    """Another process has chosen a model while this one was about to change to another by itself."""


class ModelSwitch:
    """Holds the model in use. `embedder` and `index` always stand for the current one.

    `choose` makes a choice from what a user names, `open_model` opens it; `settings` are the choice of this process. A
    request takes `current` once, and so never mixes two models. A `temporary` model is in use until `complete` has made
    the vectors of the settings' model. `bulk` names one for large imports, which is fast and less exact.
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
        temporary: bool = False,
        bulk: str = "",
        grace: float = _GRACE_SECONDS,
    ) -> None:
        self.current = current
        self.choice = choice
        self._unfinished = asyncio.Event()
        self._set_temporary(to=temporary)
        self.embedder = CurrentEmbedder(self)
        self.index = CurrentIndex(self)
        self._settings = settings
        self._choose = choose
        self._open_model = open_model
        self._store = store
        self._clock = clock
        self._bulk = bulk
        self._grace = grace
        self._turn = asyncio.Lock()
        self._retiring: dict[RetiringModel, asyncio.Task[None]] = {}
        self._listeners: list[Callable[[], None]] = []

    @property
    def former(self) -> list[ModelInUse]:
        """The models that requests may still use which began with them."""
        return [former.model for former in self._retiring]

    @property
    def is_temporary(self) -> bool:
        """Whether the model in use stands in for that of the settings, whose vectors are not complete yet."""
        return self._unfinished.is_set()

    @property
    def settings_model(self) -> str:
        """The embedder of the settings, with the name of its model if it has one."""
        return ":".join(str(part) for part in (self._settings.get("embedder"), self._settings.get("model")) if part)

    async def settled_since(self) -> datetime | None:
        """Return since when the model in use is the chosen one; None if it may be on its way out, or never changed."""
        chosen = await read_chosen_model(self._store)
        if chosen is None or chosen.temporary or chosen.choice != self.choice or self._turn.locked():
            return None
        return chosen.at

    async def wait_until_temporary(self) -> None:
        """Wait until a model is in use that stands in for that of the settings."""
        await self._unfinished.wait()

    def on_change(self, listener: Callable[[], None]) -> None:
        """Call a function after each change of the model."""
        self._listeners.append(listener)

    async def reembed(
        self, model: str, *, url: str = "", dimension: int = 0, temporary: bool = False,
        progress: Progress | None = None,
    ) -> Reembedded:  # fmt: skip
        """Make the vectors and the index of a model, then use it; until then, and after an error, nothing changes."""
        async with self._turn:
            return await self._change(
                self._choose(self.choice, model, url, dimension), temporary=temporary, progress=progress
            )  # fmt: skip

    async def stand_in(self, *, finish: bool, progress: Progress | None = None) -> int:
        """After a large import, use the fast model until the vectors of the other are made.

        With `finish`, make those of the settings' model instead: there is no daemon that does it afterwards. Returns
        the number of memories if the model has changed: all of them are embedded then.
        """
        try:
            changed = await (self.finish(progress=progress) if finish else self._use_bulk_model(progress=progress))
        except ScrubjayError as error:
            # The memories are stored, and the model in use can embed them.
            _log.warning("the embedding model has not changed", extra={"fields": {"error": error.code}})
            return 0
        if changed is None:
            return 0
        spaces = await self._store.spaces()
        return sum([sum((await self._store.statistics(space)).memories.values()) for space in spaces])

    async def finish(self, *, progress: Progress | None = None) -> Reembedded | None:
        """Make the vectors of the settings' model if another one stands in for it, then use it."""
        async with self._turn:
            return await self._change_by_itself(self._settings, progress=progress) if self.is_temporary else None

    async def _use_bulk_model(self, *, progress: Progress | None) -> Reembedded | None:
        # A model that a user has chosen stays.
        if not self._bulk or self.choice != self._settings:
            return None
        model = (await self.current.embedder.profile()).model
        many = max(_BULK, await self._store.point_count(model) // _BULK_SHARE)
        if len(await self._store.without_vectors(model, limit=many)) < many:
            return None
        async with self._turn:
            # Another call may have changed the model meanwhile.
            if self.choice != self._settings:
                return None
            choice = self._choose(self.choice, self._bulk, "", 0)
            return await self._change_by_itself(choice, temporary=True, progress=progress)

    async def _change_by_itself(
        self, choice: Choice, *, temporary: bool = False, progress: Progress | None
    ) -> Reembedded | None:
        """Change the model without a request, unless another process has chosen one meanwhile: then follow it."""
        if not self._is_overtaken(await read_chosen_model(self._store), choice, temporary=temporary):
            with suppress(_OvertakenError):
                return await self._change(choice, temporary=temporary, automatic=True, progress=progress)
        await self._follow()
        return None

    def _is_overtaken(self, stored: ChosenModel | None, choice: Choice, *, temporary: bool) -> bool:
        return self._meaning(stored) not in ((self.choice, self.is_temporary), (choice, temporary))

    def _meaning(self, stored: ChosenModel | None) -> tuple[Choice, bool]:
        """Return the model that is to be used, and whether it is temporary."""
        holds = stored is not None and stored.holds_for(self._settings)
        return (stored.choice, stored.temporary) if stored is not None and holds else (self._settings, False)

    async def _change(
        self, choice: Choice, *, temporary: bool = False, automatic: bool = False, progress: Progress | None
    ) -> Reembedded:
        new = self._take_back(choice) or self._open_model(choice)
        try:
            previous = await _model_name(self.current.embedder)
            profile = await new.embedder.profile()
            await self._require_same_dimension(profile)
            if profile.model == previous:
                return await self._complete(new, choice, profile, temporary=temporary, progress=progress)
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
            await self._write_choice(choice, temporary=temporary, automatic=automatic)
        except BaseException:
            await self._discard(new)
            raise
        self._use(new, choice, temporary=temporary)
        # What was written between the last look and the change.
        await self._embed_rest()
        return Reembedded(model=profile.model, previous=previous, vectors=vectors)

    async def follow(self) -> bool:
        """Change to the model that another process has chosen; returns whether there was a change."""
        async with self._turn:
            return await self._follow()

    async def _follow(self) -> bool:
        choice, temporary = self._meaning(await read_chosen_model(self._store))
        if choice == self.choice:
            self._set_temporary(to=temporary)
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
        self._use(new, choice, temporary=temporary)
        return True

    async def close(self) -> None:
        """Close the current model and former ones."""
        for former, task in list(self._retiring.items()):
            await cancel(task)
            await self._discard(former.model)
        self._retiring.clear()
        await _close(self.current)

    def _set_temporary(self, *, to: bool) -> None:
        if to:
            self._unfinished.set()
        else:
            self._unfinished.clear()

    def _use(self, new: ModelInUse, choice: Choice, *, temporary: bool = False) -> None:
        former = RetiringModel(model=self.current, choice=self.choice)
        self.current, self.choice = new, choice
        self._set_temporary(to=temporary)
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

    async def _write_choice(self, choice: Choice, *, temporary: bool = False, automatic: bool = False) -> None:
        chosen = ChosenModel(choice=choice, replaces=self._settings, temporary=temporary)
        if not await write_chosen_model(
            self._store, chosen, now=self._clock.now(),
            unless=lambda stored: automatic and self._is_overtaken(stored, choice, temporary=temporary),
        ):  # fmt: skip
            raise _OvertakenError

    async def _complete(
        self, new: ModelInUse, choice: Choice, profile: Profile, *, temporary: bool, progress: Progress | None
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
            if self.is_temporary and not temporary:
                # A user who names it wants to keep it.
                await self._write_choice(choice)
                self._set_temporary(to=False)
        else:
            await self._write_choice(choice, temporary=temporary)
            self._use(replace(new, index=self.current.index), choice, temporary=temporary)
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
