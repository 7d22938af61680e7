"""The embedding model as a choice: that of the settings, until `reembed` chooses another for the store."""

import logging
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path

from scrubjay.app.indexes import make_index
from scrubjay.app.models import EMBEDDERS, make_embedder, model_name
from scrubjay.app.notes_location import notes_location
from scrubjay.app.stores import is_encrypted
from scrubjay.embedding.profiles import BUNDLED
from scrubjay.engine.model_switch import (
    Choice,
    ModelInUse,
    ModelSwitch,
    read_chosen_model,
    write_chosen_model,
)
from scrubjay.errors import InvalidInput, ScrubjayError
from scrubjay.model.memory import Json
from scrubjay.ports import Clock, MediaSource, RecordStore
from scrubjay.settings import Settings

_log = logging.getLogger(__name__)
# The embedders whose model has a folder, or a server with an address.
_SERVERS = ("openai", "voyage")


async def open_models(settings: Settings, store: RecordStore, *, clock: Clock) -> ModelSwitch:
    """Return the model that `reembed` has chosen, if the settings are still those that it replaced; else theirs."""
    own = choice_of(settings)
    choice = await _chosen(own, store, clock=clock)
    try:
        current = _open_model(settings, store, choice)
    except ScrubjayError as error:
        if choice == own:
            raise
        _log.warning("the chosen embedding model cannot be used", extra={"fields": {"error": error.code}})
        choice, current = own, _open_model(settings, store, own)
    return ModelSwitch(
        current, choice=choice, settings=own, choose=_choose, open_model=partial(_open_model, settings, store),
        store=store, clock=clock,
    )  # fmt: skip


def choice_of(settings: Settings) -> dict[str, Json]:
    """Return the model of the settings."""
    return {
        "embedder": settings.embedder, "model": settings.embedding_model, "url": settings.embedding_url,
        "dimension": settings.embedding_dimension,
    }  # fmt: skip


async def _chosen(own: Choice, store: RecordStore, *, clock: Clock) -> Choice:
    chosen = await read_chosen_model(store)
    if chosen is None or chosen.replaces == own:
        return chosen.choice if chosen is not None else own
    if chosen.choice == own:
        # The settings name it themselves now: from here on they decide.
        with suppress(ScrubjayError):
            await write_chosen_model(store, None, now=clock.now())
    return own


def _choose(current: Choice, named: str, url: str, dimension: int) -> dict[str, Json]:
    """Return the choice that a user names; a name alone is a model of the current embedder."""
    kind, _, name = named.strip().partition(":")
    if kind not in EMBEDDERS:
        kind, name = str(current.get("embedder")), named.strip()
    if kind == "none":
        raise InvalidInput("without an embedder there are no vectors", hint="Name a model", field="model")
    if kind == "minilm":
        if name not in ("", BUNDLED):
            raise InvalidInput(
                f"there is no model {name[:100]!r}: minilm is one model, and needs no name",
                hint="Name the embedder too, as in sentence-transformers:NAME or openai:NAME; "
                f"the embedders are {', '.join(EMBEDDERS)}",
                field="model",
            )
        name = ""
    if url and kind not in _SERVERS:
        raise InvalidInput(f"the embedder {kind!r} has no address", hint="Leave out the address", field="url")
    if kind in _SERVERS and not url and kind == current.get("embedder"):
        url = str(current.get("url", ""))
    if kind == "onnx":
        name = str(Path(name).expanduser().absolute()) if name else ""
    return {"embedder": kind, "model": name, "url": url, "dimension": dimension}


def _open_model(settings: Settings, store: RecordStore, choice: Mapping[str, Json]) -> ModelInUse:
    own = choice_of(settings)
    chosen = replace(
        settings, embedder=str(choice.get("embedder", "")), embedding_model=str(choice.get("model", "")),
        embedding_url=str(choice.get("url", "")), embedding_dimension=int(str(choice.get("dimension") or 0)),
    )  # fmt: skip
    embedder = make_embedder(chosen)
    # The index of the model of the settings is in the folder itself, and so where every version looks for it.
    folder = "" if dict(choice) == own else f"{model_name(chosen)}@{chosen.embedding_dimension or ''}"
    index = make_index(chosen, store, embedder, model=folder)
    return ModelInUse(embedder=embedder, index=index, media_source=_media_source(chosen))


def _media_source(settings: Settings) -> MediaSource | None:
    """Return the images of the notes, if the model embeds images."""
    if settings.embedder != "clip" or (is_encrypted(settings) and not settings.notestore_path):
        return None
    from scrubjay.notes.attachments.storage import NoteMedia  # noqa: PLC0415 - few models embed images

    return NoteMedia(notes_location(settings).folder)
