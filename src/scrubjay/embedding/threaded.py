"""Runs a local model in one thread of its own, so that the event loop never waits for it."""

import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol

from scrubjay.model.media import Media
from scrubjay.model.passage import Vector
from scrubjay.ports import Profile


class LocalModel(Protocol):
    """A model in this process. All calls come from one thread."""

    def load(self) -> Profile:
        """Load the model unless it is loaded; raises EmbeddingUnavailable."""
        ...

    def encode(self, texts: Sequence[str]) -> list[Vector]:
        """Unit vectors of texts that have their prefix; loads the model if need be."""
        ...

    def unload(self) -> None:
        """Let go of the weights."""
        ...


class SeeingModel(LocalModel, Protocol):
    """A model in this process that has media in the same space as its texts."""

    def encode_media(self, items: Sequence[Media]) -> list[Vector | None]:
        """Unit vectors of media, None for what cannot be read; loads the model if need be."""
        ...


class ThreadedEncoder:
    """An encoder over a local model."""

    def __init__(self, model: LocalModel) -> None:
        self._model = model
        self._profile: Profile | None = None
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="scrubjay-embedding")

    async def profile(self) -> Profile:
        profile = self._profile
        if profile is None:
            profile = await asyncio.get_running_loop().run_in_executor(self._thread, self._model.load)
            self._profile = profile
        return profile

    async def encode(self, texts: Sequence[str], *, query: bool) -> list[Vector]:
        profile = await self.profile()
        prefix = profile.query_prefix if query else profile.text_prefix
        prefixed = [prefix + text for text in texts]
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._model.encode, prefixed)

    async def close(self) -> None:
        """Let go of the model once the thread is done with what it has begun."""
        await asyncio.get_running_loop().run_in_executor(self._thread, self._model.unload)
        self._thread.shutdown(wait=False)


class ThreadedSeer(ThreadedEncoder):
    """The same over a model that sees; texts and media take turns in its thread."""

    def __init__(self, model: SeeingModel) -> None:
        super().__init__(model)
        self._seer = model

    async def encode_media(self, items: Sequence[Media]) -> list[Vector | None]:
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._seer.encode_media, items)
