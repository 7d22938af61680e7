"""Runs a local model in its own thread, so that the event loop never waits for it."""

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol

from scrubjay.model.media import Media
from scrubjay.model.passage import Vector
from scrubjay.ports import Profile


class LocalModel(Protocol):
    """A model in this process. All calls come from the same thread, or from a few if its maker says so."""

    def load(self) -> Profile:
        """Load the model unless it is loaded; raises EmbeddingUnavailable."""
        ...

    def encode(self, texts: Sequence[str]) -> list[Vector]:
        """Return the unit vectors of texts that have their prefix; loads the model if necessary."""
        ...

    def unload(self) -> None:
        """Release the weights."""
        ...


class LocalMediaModel(LocalModel, Protocol):
    """A model in this process that embeds media into the same space as texts."""

    def encode_media(self, items: Sequence[Media]) -> list[Vector | None]:
        """Return the unit vectors of media, None for unreadable ones; loads the model if necessary."""
        ...


Encode = Callable[[Sequence[str]], list[Vector]]


class ThreadedEncoder:
    """An encoder over a local model; `encode_alone` is its way to compute one text while no other waits."""

    def __init__(self, model: LocalModel, *, threads: int = 1, encode_alone: Encode | None = None) -> None:
        self._model = model
        self._profile: Profile | None = None
        self._encode_alone = encode_alone
        self._thread = ThreadPoolExecutor(max_workers=threads, thread_name_prefix="scrubjay-embedding")

    async def profile(self) -> Profile:
        profile = self._profile
        if profile is None:
            profile = await asyncio.get_running_loop().run_in_executor(self._thread, self._model.load)
            self._profile = profile
        return profile

    async def encode(self, texts: Sequence[str], *, query: bool) -> list[Vector]:
        prefixed = _prefixed(texts, await self.profile(), query=query)
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._model.encode, prefixed)

    def encode_now(self, text: str, *, query: bool) -> Vector | None:
        """Return the vector of a text without a thread; None if the model is not loaded, or needs its own thread."""
        if self._profile is None or self._encode_alone is None:
            return None
        (vector,) = self._encode_alone(_prefixed([text], self._profile, query=query))
        return vector

    async def encode_alone(self, text: str, *, query: bool) -> Vector:
        """Return the vector of a text in a thread, as fast as the model can while no other text waits."""
        prefixed = _prefixed([text], await self.profile(), query=query)
        encode = self._encode_alone or self._model.encode
        (vector,) = await asyncio.get_running_loop().run_in_executor(self._thread, encode, prefixed)
        return vector

    async def close(self) -> None:
        """Release the model once the thread has finished its current call."""
        await asyncio.get_running_loop().run_in_executor(self._thread, self._model.unload)
        self._thread.shutdown(wait=False)


def _prefixed(texts: Sequence[str], profile: Profile, *, query: bool) -> list[str]:
    prefix = profile.query_prefix if query else profile.text_prefix
    return [prefix + text for text in texts]


class ThreadedMediaEncoder(ThreadedEncoder):
    """An encoder over a local model for media; texts and media take turns in its thread."""

    def __init__(self, model: LocalMediaModel) -> None:
        super().__init__(model)
        self._media_model = model

    async def encode_media(self, items: Sequence[Media]) -> list[Vector | None]:
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._media_model.encode_media, items)
